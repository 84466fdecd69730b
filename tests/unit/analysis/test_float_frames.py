"""Floating-point parts of exception frames, on traces written by hand: who saves them, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import (
    BEGIN,
    END,
    FUNCTION,
    SCRIPT,
    SERVICES,
    STACK,
    TABLE,
    Row,
    batches,
    i,
    load,
    mark,
    r,
    sections,
    w,
)

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.contexts import FloatFrame, Window
from wcetchar.analysis.floating_point import FPCCR
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of, unpack
from wcetchar.model.access import AccessClass, CoreEvent
from wcetchar.model.service import FloatContext, Service, ServiceKind
from wcetchar.model.trace import Event

SOURCE = (
    """
.cpu cortex-m4
.fpu fpv4-sp-d16
.section .vectors,"a"
  .word 0x20021000, start+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, switch+1, quiet+1
  .word float+1, maybe+1, doubles+1
"""
    + sections()
    + FUNCTION
    + """
function start
  strb r0, [r4]
start_call: bl service
start_end: strb r0, [r6]
start_float: vmul.f32 s0, s0, s0
start_fpccr: str r0, [r1]
start_loop: b.n start
.size start, .-start
function service
  nop
service_2: vadd.f32 s1, s1, s1
service_3: bx lr
.size service, .-service
function quiet
  nop
quiet_2: nop
quiet_3: bx lr
.size quiet, .-quiet
function float
  nop
float_2: vadd.f32 s0, s0, s0
float_3: vadd.f32 s0, s0, s0
float_4: bx lr
.size float, .-float
function maybe
  it eq
maybe_2: vstmdbeq r0!, {s16-s17}
maybe_3: bx lr
.size maybe, .-maybe
function doubles
  vpush {d8, d9}
doubles_2: vldr d0, [r0]
doubles_3: vpop {d8, d9}
doubles_4: bx lr
.size doubles, .-doubles
function switch
  stmdb r0!, {r4-r11}
switch_2: ldmia.w r1!, {r4-r11}
switch_3: bx lr
.size switch, .-switch
"""
)

Labels = dict[str, int]
ONE, TWO = STACK - 64, STACK - 512

TASK, MAIN = False, True
SAVE, RESTORE = True, False


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    image, table = load(assemble(SOURCE, SCRIPT, "cortex-m4"))
    assert image.architecture == "armv7e-m+fp"
    assert image.entry == image.symbol("start").address
    service = replace(SERVICES.services[0], parameters=())
    handlers = [
        Service(name, number, ServiceKind.HANDLER, (name,))
        for number, name in enumerate(("quiet", "float", "maybe", "switch", "doubles"), 8)
    ]
    return resolve(
        replace(SERVICES, services=(service, *handlers), scheduler_lock=None), image, table
    )


@pytest.fixture
def at(resolved: Resolved) -> Labels:
    return {s.name: s.address for s in resolved.image.symbols}


def stated(resolved: Resolved, context: FloatContext) -> Resolved:
    services = replace(resolved.services, float_context=context)
    return resolve(services, resolved.image, resolved.table)


def frames(
    resolved: Resolved, rows: list[Row], size: int = 64, *, has_addresses: bool = True
) -> dict[str, list[tuple[int, bool, bool]]]:
    """By service: what its windows hold of floating-point frames."""
    found: dict[str, list[tuple[int, bool, bool]]] = {}
    for window in windows(resolved, rows, size, has_addresses=has_addresses):
        held = [(f.position, f.write, f.on_main_stack) for f in window.float_frames]
        found.setdefault(window.service.name, []).extend(held)
    return found


def windows(
    resolved: Resolved, rows: list[Row], size: int = 64, *, has_addresses: bool = True
) -> list[Window]:
    finder = WindowFinder(resolved, "hand", has_addresses=has_addresses)
    return list(find_windows(batches(rows, size), finder))


def armed(at: Labels, *names: str) -> list[Row]:
    """The start of a run, with begin marks of handlers."""
    numbers = {"quiet": 8, "float": 9, "maybe": 10, "switch": 11, "doubles": 12}
    return [i(at["start"]), *(mark(BEGIN, numbers[name]) for name in names)]


def over(at: Labels, *names: str) -> list[Row]:
    numbers = {"quiet": 8, "float": 9, "maybe": 10, "switch": 11, "doubles": 12}
    return [i(at["start"]), *(mark(END, numbers[name]) for name in names)]


def exception(number: int, *rows: Row) -> list[Row]:
    return [(Event.EXCEPTION, number, 0), *rows, (Event.EXCEPTION_EXIT, number, 0)]


def quiet(at: Labels, *inside: Row) -> list[Row]:
    return exception(15, i(at["quiet"]), *inside, i(at["quiet_2"]), i(at["quiet_3"]))


def floating(at: Labels, *inside: Row) -> list[Row]:
    return exception(
        16, i(at["float"]), i(at["float_2"]), *inside, i(at["float_3"]), i(at["float_4"])
    )


def maybe(at: Labels, *accesses: Row) -> list[Row]:
    return exception(17, i(at["maybe"]), i(at["maybe_2"]), *accesses, i(at["maybe_3"]))


def switched(at: Labels, saved: int, restored: int) -> list[Row]:
    return exception(
        14,
        i(at["switch"]),
        *(w(saved + 4 * k) for k in range(8)),
        i(at["switch_2"]),
        *(r(restored + 4 * k) for k in range(8)),
        i(at["switch_3"]),
    )


def use(at: Labels) -> list[Row]:
    return [i(at["start_float"])]


SIZES = pytest.mark.parametrize("size", [1, 2, 3, 64])


@SIZES
def test_nothing_is_saved_of_a_thread_without_floating_point(
    resolved: Resolved, at: Labels, size: int
) -> None:
    rows = [*armed(at, "quiet", "float"), *quiet(at), *floating(at), *over(at, "quiet", "float")]
    assert frames(resolved, rows, size) == {"quiet": [], "float": []}


@SIZES
def test_the_first_instruction_of_a_handler_saves(
    resolved: Resolved, at: Labels, size: int
) -> None:
    rows = [
        *armed(at, "quiet", "float"), *use(at), *quiet(at), *floating(at), *quiet(at),
        *over(at, "quiet", "float"),
    ]  # fmt: skip
    assert frames(resolved, rows, size) == {
        "quiet": [],
        "float": [(1, SAVE, TASK), (3, RESTORE, TASK)],
    }


@SIZES
def test_a_handler_within_a_handler_saves_for_the_thread(
    resolved: Resolved, at: Labels, size: int
) -> None:
    """The outer one gives the registers back, for the inner one interrupted a context without."""
    rows = [
        *armed(at, "quiet", "float"), *use(at), *quiet(at, *floating(at)),
        *over(at, "quiet", "float"),
    ]  # fmt: skip
    assert frames(resolved, rows, size) == {
        "float": [(1, SAVE, TASK)],
        "quiet": [(2, RESTORE, TASK)],
    }


def test_a_handler_with_floating_point_is_saved_on_the_main_stack(
    resolved: Resolved, at: Labels
) -> None:
    """Twice the same handler, the second time within the first."""
    inner = floating(at)
    rows = [*armed(at, "float"), *use(at), *floating(at, *inner), *over(at, "float")]
    assert frames(resolved, rows) == {
        "float": [
            (1, SAVE, MAIN), (3, RESTORE, MAIN),
            (1, SAVE, TASK), (3, RESTORE, TASK),
        ]
    }  # fmt: skip
    # without floating point in the inner one, nothing of the outer one is written
    rows = [
        *armed(at, "float", "quiet"), *use(at), *floating(at, *quiet(at)),
        *over(at, "float", "quiet"),
    ]  # fmt: skip
    assert frames(resolved, rows) == {
        "float": [(1, SAVE, TASK), (3, RESTORE, TASK)],
        "quiet": [],
    }


@SIZES
def test_a_predicated_instruction_saves_where_it_has_accesses(
    resolved: Resolved, at: Labels, size: int
) -> None:
    accesses = [w(ONE), w(ONE + 4)]
    rows = [*armed(at, "maybe"), *use(at), *maybe(at), *over(at, "maybe")]
    assert frames(resolved, rows, size) == {"maybe": []}
    rows = [*armed(at, "maybe"), *use(at), *maybe(at, *accesses), *over(at, "maybe")]
    assert frames(resolved, rows, size) == {"maybe": [(1, SAVE, TASK), (2, RESTORE, TASK)]}


def test_without_addresses_a_predicated_instruction_counts_as_executed(
    resolved: Resolved, at: Labels
) -> None:
    rows = [*armed(at, "maybe"), *use(at), *maybe(at), *over(at, "maybe")]
    assert frames(resolved, rows, has_addresses=False) == {
        "maybe": [(1, SAVE, TASK), (2, RESTORE, TASK)]
    }


def test_a_predicated_instruction_makes_a_context_only_where_it_is_executed(
    resolved: Resolved, at: Labels
) -> None:
    """The outer handler's own context: extended only after a transfer that took place."""
    for accesses, expected in (
        ([], [(1, SAVE, TASK)]),
        ([w(ONE), w(ONE + 4)], [(1, SAVE, MAIN), (3, RESTORE, MAIN)]),
    ):
        outer = exception(
            17, i(at["maybe"]), i(at["maybe_2"]), *accesses, *floating(at), i(at["maybe_3"])
        )
        rows = [*armed(at, "float"), *use(at), *outer, *over(at, "float")]
        assert frames(resolved, rows) == {"float": expected}


def test_saved_on_entry(resolved: Resolved, at: Labels) -> None:
    rows = [
        *armed(at, "quiet", "float"), *use(at), *quiet(at), *quiet(at, *floating(at)),
        *over(at, "quiet", "float"),
    ]  # fmt: skip
    both = [(0, SAVE, TASK), (2, RESTORE, TASK)]
    assert frames(stated(resolved, FloatContext.AT_ENTRY), rows) == {
        "quiet": both * 2,
        "float": [],
    }


def test_the_dearer_of_both_where_the_firmware_chooses(resolved: Resolved, at: Labels) -> None:
    chosen = [i(at["start_fpccr"]), w(FPCCR)]
    rows = [
        *armed(at, "quiet", "float"), *use(at), *chosen, *quiet(at), *quiet(at, *floating(at)),
        *floating(at), *over(at, "quiet", "float"),
    ]  # fmt: skip
    found = frames(resolved, rows)
    both = [(0, SAVE, TASK), (2, RESTORE, TASK)]
    assert found["quiet"] == both * 2
    # once inside the other, which may have left it the work, and once by itself
    assert found["float"] == [(1, SAVE, TASK), (0, SAVE, TASK), (3, RESTORE, TASK)]
    # the services file says which
    assert frames(stated(resolved, FloatContext.LAZY), rows)["quiet"] == [(2, RESTORE, TASK)]


@pytest.mark.parametrize("past", ["begins elsewhere", "gap"])
def test_an_unknown_past_may_have_used_floating_point(
    resolved: Resolved, at: Labels, past: str
) -> None:
    rows = [*armed(at, "float"), *floating(at), *over(at, "float")]
    if past == "gap":
        rows.insert(1, (Event.GAP, 5, 0))
    else:
        rows.insert(0, i(at["start_loop"]))
    assert frames(resolved, rows) == {"float": [(1, SAVE, TASK), (3, RESTORE, TASK)]}


def test_what_was_saved_in_a_gap_is_given_back(resolved: Resolved, at: Labels) -> None:
    """A handler that the filter left out interrupts ``quiet``, and may have saved."""
    hidden = exception(16, (Event.GAP, 4, 0))
    rows = [*armed(at, "quiet"), *use(at), *quiet(at, *hidden), *over(at, "quiet")]
    assert frames(resolved, rows) == {"quiet": [(2, RESTORE, TASK)]}


@SIZES
def test_threads_keep_what_they_are(resolved: Resolved, at: Labels, size: int) -> None:
    """A thread that used floating point goes on as such, one that did not as well. A switch that
    does not save the registers by itself leaves that to the first instruction, whose ever it is."""
    call = [i(at["start"]), mark(BEGIN, 7), i(at["start_call"]), i(at["service"])]
    done = [i(at["service_2"]), i(at["service_3"]), i(at["start_end"]), mark(END, 7)]
    rows = [
        *armed(at, "switch"), *use(at), *switched(at, ONE, TWO),
        # a fresh thread: it saves the first one's registers inside its own call
        *call, *quiet(at), *done,
        # back to the first one: its registers were written, so they are read
        *switched(at, TWO, ONE), i(at["start_fpccr"]), w(TABLE),
        # and again to the second, which has registers now, that nobody wrote meanwhile
        *switched(at, ONE, TWO), *over(at, "switch"),
    ]  # fmt: skip
    assert frames(resolved, rows, size) == {
        "service": [(1, SAVE, TASK)],
        "switch": [(2, RESTORE, TASK)],
    }


def test_a_save_is_a_burst_of_seventeen_words(resolved: Resolved, at: Labels) -> None:
    rows = [*armed(at, "float"), *use(at), *floating(at), *over(at, "float")]
    (window,) = windows(resolved, rows)
    assert window.float_frames == (FloatFrame(1, True, False), FloatFrame(3, False, False))
    labeller = Labeller(resolved, "hand")
    counted: dict[str, int] = {}
    for packed in labeller.label(window).packed.tolist():
        key = key_of(unpack(packed)[1], resolved.section_names)
        if isinstance(key, CoreEvent) and "float context" in key.kind:
            counted[key.kind.value] = counted.get(key.kind.value, 0) + 1
        if isinstance(key, AccessClass) and key.section == "stack":
            counted[str(key)] = counted.get(str(key), 0) + 1
    assert counted == {
        "float context save": 1,
        "float context restore": 1,
        # eight words of the basic frame and seventeen more, each a burst
        "stack write 32 first": 2,
        "stack write 32 next": 7 + 16,
        "stack read 32 first": 2,
        "stack read 32 next": 7 + 16,
    }


@pytest.mark.parametrize(("step", "size"), [(4, 4), (8, 8), (4, 0), (8, 0)])
def test_doublewords_are_two_words_however_an_emulator_shows_them(
    resolved: Resolved, at: Labels, step: int, size: int
) -> None:
    """One access for each word or each register, with its width or without."""
    saved = [(ONE - 16 + k, size) for k in range(0, 16, step)]
    rows = exception(
        18,
        i(at["doubles"]),
        *(w(address, size) for address, size in saved),
        i(at["doubles_2"]),
        *(r(TABLE + k, size) for k in range(0, 8, step)),
        i(at["doubles_3"]),
        *(r(address, size) for address, size in saved),
        i(at["doubles_4"]),
    )
    (window,) = windows(resolved, [*armed(at, "doubles"), *rows, *over(at, "doubles")])
    counted: Counter[str] = Counter()
    for packed in Labeller(resolved, "hand").label(window).packed.tolist():
        key = key_of(unpack(packed)[1], resolved.section_names)
        if isinstance(key, AccessClass) and key.section in ("stack", "data"):
            counted[str(key)] += 1
    assert counted == {
        "data read 32 first": 1,
        "data read 32 next": 1,
        # eight words of the frame and four of the two registers
        "stack write 32 first": 2,
        "stack write 32 next": 7 + 3,
        "stack read 32 first": 2,
        "stack read 32 next": 7 + 3,
    }


def test_images_without_floating_point_have_no_such_frames(
    assemble: Callable[..., Path], resolved: Resolved
) -> None:
    source = SOURCE.replace(".fpu fpv4-sp-d16", "")
    for name in ("vmul.f32 s0, s0, s0", "vadd.f32 s1, s1, s1", "vadd.f32 s0, s0, s0"):
        source = source.replace(name, "nop.w")
    source = source.replace("vpush {d8, d9}", "nop").replace("vpop {d8, d9}", "nop")
    source = source.replace("vldr d0, [r0]", "nop").replace(
        "vstmdbeq r0!, {s16-s17}", "stmdbeq r0!, {r1, r2}"
    )
    image, table = load(assemble(source, SCRIPT, "cortex-m4"))
    assert image.architecture == "armv7e-m"
    assert table.exceptions.float_words == 0
    found = WindowFinder(resolve(resolved.services, image, table), "hand")
    assert found._floats is None
