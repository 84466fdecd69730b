"""Threads that a function switches, in a thread or in a handler: traces of it by hand.

The kernel keeps registers and the stack pointer in the thread's control block: the return address,
the mask and the stack pointer are its first words. ``switch`` saves, loads and returns, wherever it
is called. What each thread executes is listed by labels; nothing here runs the code under test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import listing
import pytest
import stall_count
from listing import FUNCTION, HandTrace, Row, batches, i, load, mark, r, sections, w
from riscv_listing import SCRIPT, SERVICES, Labels

from wcetchar.analysis import history
from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import stretches
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of, unpack
from wcetchar.errors import InputError
from wcetchar.model.access import CoreEvent
from wcetchar.model.characterization import Joint, StretchKind
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import Part, SchedulerLock, Service, ServiceKind, ServicesFile
from wcetchar.model.trace import Event

SOURCE = (
    sections(0x10000, 0x1000)
    + FUNCTION
    + """
function boot
  csrsi mstatus, 8
boot_2: ret
.size boot, .-boot
function driver
  sb x0, 0(s0)
driver_call: jal service
driver_3: sb x0, 0(s1)
driver_4: nop
driver_5: j driver
.size driver, .-driver
function service
  csrrci s0, mstatus, 8
service_2: jal switch
service_3: csrs mstatus, s0
service_4: ret
.size service, .-service
function calm
  nop
calm_2: nop
calm_3: ret
.size calm, .-calm
function other
  nop
other_2: csrci mstatus, 8
other_3: jal switch
other_4: csrsi mstatus, 8
other_5: j other
.size other, .-other
function switch
  sw s0, 4(a1)
switch_2: sw sp, 8(a1)
switch_3: lw sp, 8(a0)
switch_4: lw s0, 4(a0)
switch_5: ret
.size switch, .-switch
function second_switch
  lw sp, 8(a0)
second_2: ret
.size second_switch, .-second_switch
function trap
  csrr t0, mstatus
trap_2: sw t0, 4(sp)
trap_3: jal switch
trap_4: lw t0, 4(sp)
trap_5: csrw mstatus, t0
trap_6: mret
.size trap, .-trap
function begins
  mret
.size begins, .-begins
function keep
  sw sp, 0(a0)
keep_2: ret
.size keep, .-keep
function back
  lw sp, 0(a0)
back_2: ret
.size back, .-back
function lock
  ret
.size lock, .-lock
function unlock
  ret
.size unlock, .-unlock
"""
)

DATA = 0x80400000
A, B, C = DATA, DATA + 64, DATA + 128
"""Control blocks."""
JUMP = DATA + 256
STACK_A, STACK_B = 0x80500400, 0x80500800
TIMER, SOFTWARE = 0x80000007, 0x80000003

Loaded = tuple[Image, InstructionTable]


def services(kind: ServiceKind) -> ServicesFile:
    return replace(
        SERVICES,
        services=(
            Service("service", 7, kind, ("service", "calm")),
            Service("tick", 8, ServiceKind.HANDLER, ("trap",), exceptions=(TIMER,)),
        ),
        scheduler_lock=SchedulerLock(("lock",), ("unlock",)),
    )


@pytest.fixture
def loaded(assemble_riscv: Callable[[str, str], Path]) -> Loaded:
    return load(assemble_riscv(SOURCE, SCRIPT))


@pytest.fixture
def at(loaded: Loaded) -> Labels:
    return {s.name: s.address for s in loaded[0].symbols}


@pytest.fixture
def blocking(loaded: Loaded) -> Resolved:
    return resolve(services(ServiceKind.BLOCKING_CALL), *loaded)


@pytest.fixture
def call(loaded: Loaded) -> Resolved:
    return resolve(services(ServiceKind.CALL), *loaded)


def find(resolved: Resolved, rows: list[Row], size: int = 64) -> list[Window]:
    finder = WindowFinder(resolved, "hand")
    found = list(find_windows(batches(rows, size), finder))
    assert finder.unattributed.total() + finder.attributed.total() == finder.traced
    return found


def run(at: Labels, *names: str) -> list[Row]:
    return [i(at[name]) for name in names]


def switch(at: Labels, before: int, after: int) -> list[Row]:
    return [
        i(at["switch"]), w(before + 4), i(at["switch_2"]), w(before + 8),
        i(at["switch_3"]), r(after + 8), i(at["switch_4"]), r(after + 4), i(at["switch_5"]),
    ]  # fmt: skip


def begin(at: Labels, value: int = 7) -> list[Row]:
    return [i(at["driver"]), mark(0, value), i(at["driver_call"])]


def end(at: Labels, value: int = 7) -> list[Row]:
    return [i(at["driver_3"]), mark(1, value), i(at["driver_4"])]


def yields(at: Labels, *meanwhile: Row) -> list[Row]:
    """A calls the service, which switches to ``B`` and is gone back to."""
    return [
        *begin(at), *run(at, "service", "service_2"), *switch(at, A, B), *meanwhile,
        *run(at, "service_3", "service_4"), *end(at),
    ]  # fmt: skip


def starts(at: Labels) -> list[Row]:
    """B is new: it begins with an mret that no trap belongs to, and switches back by itself."""
    return [*run(at, "begins", "other", "other_2", "other_3"), *switch(at, B, A)]


def again(at: Labels) -> list[Row]:
    """B goes on behind its own switch, and switches back."""
    names = ("other_4", "other_5", "other", "other_2", "other_3")
    return [*run(at, *names), *switch(at, B, A)]


def interrupted(at: Labels, number: int, before: int, after: int) -> list[Row]:
    """A trap whose handler switches."""
    return [
        (Event.EXCEPTION, number, 0), i(at["trap"]), i(at["trap_2"]), w(STACK_A + 4),
        i(at["trap_3"]), *switch(at, before, after),
    ]  # fmt: skip


def leaves(at: Labels, number: int | None = None) -> list[Row]:
    told: list[Row] = [] if number is None else [(Event.EXCEPTION_EXIT, number, 0)]
    return [
        i(at["trap_4"]), r(STACK_A + 4), *run(at, "trap_5", "trap_6"), *told,
    ]  # fmt: skip


def shown(window: Window, at: Labels) -> list[tuple[str, str]]:
    """(label, interrupts) of each instruction."""
    names = {address: name for name, address in reversed(at.items())}
    return [
        (
            names[address],
            "masked" if p.blocking.interrupts else "?" if p.blocking.unknown else "open",
        )
        for p in window.pieces
        for kind, address in zip(p.kind.tolist(), p.address.tolist(), strict=True)
        if kind == Event.INSTRUCTION
    ]


UNTIL = [
    ("service", "open"), ("service_2", "masked"), ("switch", "masked"), ("switch_2", "masked"),
    ("switch_3", "masked"),
]  # fmt: skip
RESUMED = [
    ("switch_4", "masked"), ("switch_5", "masked"), ("service_3", "masked"), ("service_4", "open"),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_a_call_is_cut_behind_the_load_of_the_stack_pointer(
    blocking: Resolved, at: Labels, size: int
) -> None:
    """What restores A's registers is A's own. The mask that the service goes on with was kept in a
    register, which the switch kept in A's control block."""
    rows = [i(at["boot"]), *yields(at, *starts(at)), *yields(at, *again(at))]
    first, second, third, fourth = find(blocking, rows, size)
    for part, whole in ((first, UNTIL), (second, RESUMED), (third, UNTIL), (fourth, RESUMED)):
        assert shown(part, at) == whole
        assert part.exact
    assert [w.part for w in (first, second)] == [Part.UNTIL_SWITCH, Part.UNTIL_RETURN]
    assert first.name == "service/call"
    assert [str(held) for held in first.held] == ["all interrupts"]


@pytest.mark.parametrize(
    ("meanwhile", "known"), [([], True), ([w(A + 64)], True), ([w(A + 4)], False)]
)
def test_a_mask_is_known_however_long_its_thread_waited(
    blocking: Resolved,
    at: Labels,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: list[Row],
    known: bool,
) -> None:
    """B runs for so long that what ran while A did is kept no longer, but that it wrote."""
    monkeypatch.setattr(history, "_REMEMBERED", 4)
    waits = [i(at["boot"]), *yields(at, *starts(at))]
    long = [*run(at, "other_4", "other_5"), *run(at, "other", *["other_5", "other"] * 20)]
    back = [*run(at, "other_2", "other_3"), *switch(at, B, A)]
    _, _, until, resumed = find(blocking, [*waits, *yields(at, *long, *meanwhile, *back)])
    assert shown(until, at) == UNTIL
    assert shown(resumed, at) == [*RESUMED[:3], ("service_4", "open" if known else "?")]


def test_a_thread_that_was_interrupted_goes_on_in_its_handler(
    blocking: Resolved, at: Labels
) -> None:
    """B switches to A's handler, which returns to where A was interrupted. That mret is A's."""
    preempted = [
        *begin(at), *run(at, "calm", "calm_2"), *interrupted(at, TIMER, A, B),
        *run(at, "begins", "other", "other_2", "other_3"), *switch(at, B, A),
    ]  # fmt: skip
    for told in (None, TIMER, SOFTWARE):  # whoever takes exceptions to nest may tell another one
        rows = [
            i(at["boot"]), *preempted, *leaves(at, told), i(at["calm_3"]), *end(at),
            *yields(at, *again(at)),
        ]  # fmt: skip
        first, second, third, _ = find(blocking, rows)
        assert [w.part for w in (first, second)] == [Part.UNTIL_SWITCH, Part.UNTIL_RETURN]
        assert shown(first, at) == [("calm", "open"), ("calm_2", "open")]
        assert shown(second, at) == [("calm_3", "open")]
        assert not first.exact
        assert shown(third, at) == UNTIL


def test_a_handler_goes_on_with_a_thread_that_waits_in_a_function(
    blocking: Resolved, at: Labels
) -> None:
    """A waits in the service; B is interrupted, and the handler switches to A. B's trap is left
    much later, after one of A's own."""
    preempted = [
        i(at["begins"]), i(at["other"]), (Event.EXCEPTION, TIMER, 0), i(at["trap"]),
        i(at["trap_2"]), w(STACK_B + 4), i(at["trap_3"]), *switch(at, B, A),
    ]  # fmt: skip
    own = [
        (Event.EXCEPTION, SOFTWARE, 0), *run(at, "trap", "trap_2"), w(STACK_A + 4),
        *leaves(at, SOFTWARE),
    ]  # fmt: skip
    back = [
        *begin(at), *run(at, "service", "service_2"), *switch(at, A, B),
        i(at["trap_4"]), r(STACK_B + 4), *run(at, "trap_5", "trap_6"),
        *run(at, "other_2", "other_3"), *switch(at, B, A), *run(at, "service_3", "service_4"),
        *end(at),
    ]  # fmt: skip
    windows = find(blocking, [i(at["boot"]), *yields(at, *preempted), *own, *back])
    assert [shown(window, at) for window in windows] == [UNTIL, RESUMED, UNTIL, RESUMED]


def test_a_handler_that_switches_is_one_window(call: Resolved, at: Labels) -> None:
    """Its instructions before and after; what it held off went on in between."""
    rows = [
        i(at["boot"]), i(at["driver"]), mark(0, 8), i(at["driver_call"]), *run(at, "calm"),
        *interrupted(at, TIMER, A, B), *starts(at), *leaves(at), *run(at, "calm_2", "calm_3"),
        *end(at, 8),
    ]  # fmt: skip
    (tick,) = find(call, rows)
    expected = [
        "trap",
        "trap_2",
        "trap_3",
        "switch",
        "switch_2",
        "switch_3",
        "switch_4",
        "switch_5",
    ]
    expected += ["trap_4", "trap_5", "trap_6"]
    assert shown(tick, at) == [(name, "masked") for name in expected]
    assert (tick.switched, len(tick.held)) == (True, 1)


def joined(
    window: Window, resolved: Resolved, at: Labels
) -> list[tuple[str, str, Joint | None, Joint | None]]:
    """First and last instruction of each masked stretch, and what it goes on from and in."""
    names = {address: name for name, address in reversed(at.items())}
    table, labeller = resolved.table.instructions, Labeller(resolved, "hand")
    return [
        (names[table[s.begin].address], names[table[s.end].address], s.goes_on_from, s.goes_on_in)
        for s in stretches(
            window,
            labeller.label(window),
            labeller.blockings,
            labeller.is_call,
            labeller.exceptions,
        )
        if s.kind is StretchKind.INTERRUPTS
    ]


def test_what_a_switch_holds_off_goes_on_in_the_other_thread(
    blocking: Resolved, call: Resolved, at: Labels
) -> None:
    ends = ("service_2", "switch_3", None, Joint.THREAD)
    begins = ("switch_4", "service_3", Joint.THREAD, None)
    rows = [i(at["boot"]), *yields(at, *starts(at))]
    first, second = find(blocking, rows)
    assert joined(first, blocking, at) == [ends]
    assert joined(second, blocking, at) == [begins]
    (whole,) = find(call, rows)
    assert joined(whole, call, at) == [ends, begins]


def test_a_handler_that_switches_holds_off_on_both_sides(call: Resolved, at: Labels) -> None:
    """Its return to the thread that it interrupted lets interrupts in."""
    rows = [
        i(at["boot"]), i(at["driver"]), mark(0, 8), i(at["driver_call"]), *run(at, "calm"),
        *interrupted(at, TIMER, A, B), *starts(at), *leaves(at), *run(at, "calm_2", "calm_3"),
        *end(at, 8),
    ]  # fmt: skip
    (tick,) = find(call, rows)
    assert joined(tick, call, at) == [
        ("trap", "switch_3", None, Joint.THREAD),
        ("switch_4", "trap_6", Joint.THREAD, None),
    ]


def test_a_call_that_is_switched_away_is_counted_as_one(call: Resolved, at: Labels) -> None:
    (window,) = find(call, [i(at["boot"]), *yields(at, *starts(at))])
    assert shown(window, at) == UNTIL + RESUMED
    assert window.switched


def stalls(window: Window, resolved: Resolved) -> Counter[str]:
    labelled = Labeller(resolved, "hand").label(window)
    names = resolved.section_names
    keys = (key_of(unpack(code)[1], names) for code in labelled.packed.tolist())
    kinds = (key.kind.value for key in keys if isinstance(key, CoreEvent))
    return Counter(kind for kind in kinds if kind in stall_count.KINDS)


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_what_goes_on_waits_for_the_load_that_switched(
    blocking: Resolved, call: Resolved, at: Labels, size: int
) -> None:
    """Between the two parts of a call nothing is executed but what the other thread does up to that
    load, so that the parts wait for what the call as a whole does: by hand, four of its accesses
    are next to another one, and one of them is the second part's first."""
    rows = [i(at["boot"]), *yields(at, *starts(at))]
    first, second = find(blocking, rows, size)
    (whole,) = find(call, rows, size)
    assert stalls(first, blocking) + stalls(second, blocking) == stalls(whole, call)
    consecutive = "consecutive access"
    assert stalls(first, blocking)[consecutive] == 2
    assert stalls(second, blocking)[consecutive] == 1


def test_so_it_does_if_it_is_interrupted_first(blocking: Resolved, at: Labels) -> None:
    """A window is counted as it is without interrupts."""
    interrupt = [
        (Event.EXCEPTION, SOFTWARE, 0), *run(at, "trap", "trap_2"), w(STACK_A + 4),
        *leaves(at, SOFTWARE),
    ]  # fmt: skip
    own = starts(at)[-3:]  # A's: what restores its registers
    rows = [i(at["boot"]), *yields(at, *starts(at)[:-3], *interrupt, *own)]
    _, second = find(blocking, rows)
    assert shown(second, at) == RESUMED
    assert stalls(second, blocking)["consecutive access"] == 1


@pytest.fixture
def helper(loaded: Loaded) -> Resolved:
    only = replace(
        services(ServiceKind.CALL),
        services=(Service("helper", 9, ServiceKind.ACTIVATION, ("other",)),),
    )
    return resolve(only, *loaded)


def activates(at: Labels) -> list[Row]:
    """B begins, and is switched in once more between the marks."""
    return [
        i(at["boot"]), i(at["service_2"]), *switch(at, A, B), *starts(at), i(at["service_3"]),
        i(at["driver"]), mark(0, 9), i(at["service_2"]), *switch(at, A, B), *again(at),
        i(at["service_3"]), *end(at, 9),
    ]  # fmt: skip


def test_an_activation_waits_for_it_too(helper: Resolved, at: Labels) -> None:
    (window,) = find(helper, activates(at))
    # switch_4, then switch_2 and switch_3
    assert stalls(window, helper)["consecutive access"] == 3


@pytest.mark.parametrize("written", [A + 8, A + 6, A + 10])
def test_a_stack_pointer_that_was_written_over(
    blocking: Resolved, at: Labels, written: int
) -> None:
    rows = yields(at, *run(at, "begins", "other"), w(written), *starts(at)[2:])
    with pytest.raises(InputError, match="inside service does not go on"):
        find(blocking, [i(at["boot"]), *rows])


def test_a_thread_that_does_not_go_on_where_it_was_is_another_one(
    blocking: Resolved, at: Labels
) -> None:
    """Another function took the stack pointer from A's control block."""
    wrong = [*starts(at)[:-5], i(at["second_switch"]), r(A + 8), i(at["second_2"])]
    with pytest.raises(InputError, match="inside service does not go on"):
        find(blocking, [i(at["boot"]), *yields(at, *wrong)])


def test_nor_does_a_thread_in_whose_handler_that_happens(blocking: Resolved, at: Labels) -> None:
    inside = [*begin(at), *run(at, "calm")]
    wrong = [
        *interrupted(at, TIMER, A, B), *starts(at)[:-5], i(at["second_switch"]), r(A + 8),
        i(at["second_2"]),
    ]  # fmt: skip
    with pytest.raises(InputError, match="inside service does not go on"):
        find(blocking, [i(at["boot"]), *inside, *wrong])


def test_a_thread_that_nobody_knows_is_a_new_one(blocking: Resolved, at: Labels) -> None:
    with pytest.raises(InputError, match="end mark of service without its begin mark"):
        find(blocking, [i(at["boot"]), *yields(at)])


def test_its_own_stack_pointer_is_no_switch(call: Resolved, at: Labels) -> None:
    """As setjmp and longjmp, or a function that borrows another stack, do it."""
    rows = [
        i(at["boot"]), *begin(at), *run(at, "calm", "keep"), w(JUMP), *run(at, "keep_2", "back"),
        r(JUMP), *run(at, "back_2", "calm_2", "calm_3"), *end(at),
    ]  # fmt: skip
    (window,) = find(call, rows)
    assert len(shown(window, at)) == 7
    assert not window.switched


def test_a_stack_pointer_that_another_one_still_uses(call: Resolved, at: Labels) -> None:
    """B takes what A kept for itself, while A waits elsewhere: not to be told."""
    rows = [
        i(at["boot"]), i(at["keep"]), w(JUMP), i(at["keep_2"]), i(at["service_2"]),
        *switch(at, A, B), *run(at, "begins", "keep"), w(JUMP + 8),
        *run(at, "keep_2", "back"), r(JUMP), i(at["back_2"]),
    ]  # fmt: skip
    with pytest.raises(InputError, match="which was not switched away there"):
        find(call, rows)


def test_the_first_stack_is_left_without_being_kept(call: Resolved, at: Labels) -> None:
    """What started the kernel goes on as its first thread."""
    rows = [i(at["boot"]), i(at["back"]), r(DATA + 512), i(at["back_2"]), *begin(at)]
    (window,) = find(call, [*rows, *run(at, "calm", "calm_2", "calm_3"), *end(at)])
    assert len(shown(window, at)) == 3


def test_each_thread_has_its_own_scheduler_lock(blocking: Resolved, at: Labels) -> None:
    """A waits although it holds the scheduler; then others run, and A holds it again."""
    holds = [i(at["driver_call"]), i(at["lock"]), i(at["driver_3"])]
    rows = [i(at["boot"]), *holds, *yields(at, *starts(at)), *begin(at)]
    rows += [*run(at, "service", "service_2"), *switch(at, A, B), *again(at)]
    rows += [*run(at, "service_3", "service_4"), *end(at)]
    windows = find(blocking, rows)
    assert all(piece.blocking.preemption for window in windows for piece in window.pieces)
    # What goes on with another thread is the mask: that thread holds no lock.
    assert [str(held) for held in windows[0].held] == ["all interrupts"]
    assert str(windows[0].end.blocking) == "all interrupts"
    free = [i(at["driver_call"]), i(at["unlock"]), i(at["driver_3"])]
    (*_, until, after) = find(blocking, [*rows, *free, *yields(at, *again(at))])
    assert not any(p.blocking.preemption for window in (until, after) for p in window.pieces)


def test_the_parts_are_published_with_what_they_hold(loaded: Loaded, at: Labels) -> None:
    """Counted by hand: three stores and the load of the stack pointer; then one load."""
    trace = HandTrace([i(at["boot"]), *yields(at, *starts(at)), *yields(at, *again(at))])
    only = services(ServiceKind.BLOCKING_CALL)
    found = characterize([trace], *loaded, replace(only, services=only.services[:1]), tool="test")
    call, resume = found.services
    assert (call.name, resume.name) == ("service/call", "service/resume")
    assert call.notes == (
        "a function switches threads with all interrupts held off; what the other thread does "
        "until it lets them in adds to that stretch",
    )
    assert resume.notes == (
        "it goes on with all interrupts held off; what the other thread did since then adds to "
        "that stretch",
    )


COOPERATE = """
.global cooperate
.type cooperate,%function
cooperate:
  str sp, [r1]
cooperate_2: ldr sp, [r0]
cooperate_3: bx lr
.size cooperate, .-cooperate
"""


def test_a_thumb_function_switches_threads_too(assemble: Callable[..., Path]) -> None:
    """In a thread; a handler of that profile goes on with another thread through its frame."""
    image, table = load(assemble(listing.SOURCE + COOPERATE, listing.SCRIPT))
    at = {s.name: s.address for s in image.symbols}
    service, tick = listing.SERVICES.services
    blocking = replace(service, kind=ServiceKind.BLOCKING_CALL)
    resolved = resolve(replace(listing.SERVICES, services=(blocking, tick)), image, table)
    one, two = listing.TABLE, listing.TABLE + 4

    def cooperate(before: int, after: int) -> list[Row]:
        return [
            i(at["cooperate"]), w(before), i(at["cooperate_2"]), r(after), i(at["cooperate_3"]),
        ]  # fmt: skip

    rows = [
        i(0x100), mark(listing.PARAMETER, 1), i(0x102), mark(0, 7), i(0x104),
        i(0x10C), w(listing.STACK - 8), w(listing.STACK - 4), *cooperate(one, two),
        i(0x126), *cooperate(two, one), i(0x124), r(listing.STACK - 8), r(listing.STACK - 4),
        i(0x108), mark(1, 7), i(0x10A),
    ]  # fmt: skip
    call, resume = find(resolved, rows)
    executed = [
        [a for p in part.pieces for k, a in zip(p.kind, p.address, strict=True) if k == 0]
        for part in (call, resume)
    ]
    assert executed == [
        [0x10C, at["cooperate"], at["cooperate_2"]],
        [at["cooperate_3"], 0x124],
    ]
    handler: list[Row] = [(Event.EXCEPTION, 15, 0), i(0x134), *cooperate(one, two)]
    assert find(resolved, [i(0x100), *handler, (Event.EXCEPTION_EXIT, 15, 0), i(0x102)]) == []


def test_an_activation_is_what_a_thread_does_between_two_switches(
    helper: Resolved, at: Labels
) -> None:
    """B's, from behind the load that went on with it to its own load of A's stack pointer."""
    (window,) = find(helper, activates(at))
    expected = ["switch_4", "switch_5", "other_4", "other_5", "other", "other_2", "other_3"]
    assert [name for name, _ in shown(window, at)] == [*expected, "switch", "switch_2", "switch_3"]
    assert window.exact
