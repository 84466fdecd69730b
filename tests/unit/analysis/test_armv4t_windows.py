"""Armv4T: masks through exceptions and switches of threads, in traces that are written by hand.

The kernel's switch works as that of real ones: the registers of User mode go to the thread's frame
by ``stmdb ^``, SPSR beside them, and what the handler goes on with comes from another frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import listing
import pytest
from listing import PARAMETER, Row, batches, i, load, mark, r, w

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of, unpack
from wcetchar.errors import InputError
from wcetchar.model.service import LogicalSection, SectionKind, Service, ServiceKind
from wcetchar.model.trace import Event

SCRIPT = """
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text 0x100 : { *(.text*) }
  .data 0x100000 : { *(.data) }
  .marks 0x20010000 (NOLOAD) : { *(.marks) }
  .stack 0x200000 (NOLOAD) : { *(.stack) }
}
"""

# Every label of an instruction stands for the address in the traces.
SOURCE = """
.arm
.macro function name
  .global \\name
  .type \\name,%function
  \\name:
.endm
.section .vectors,"ax"
function vector_reset
  ldr pc, at
  ldr pc, at
function vector_swi
  ldr pc, at
  ldr pc, at
  ldr pc, at
  nop
function vector_irq
  ldr pc, at
at: .word trap
.section .marks,"aw",%nobits
.global wcet_mark
.type wcet_mark,%object
.size wcet_mark, 1024
wcet_mark: .space 1024
.section .stack,"aw",%nobits
  .space 0x1000
.section .data,"aw"
  .space 0x100
.text
function boot
  msr cpsr_c, #0x1f
function driver
  strb r0, [r4]
driver_2: strb r0, [r5]
driver_call: bl service
driver_4: strb r0, [r6]
driver_5: b driver
.size driver, .-driver
function service
  str lr, [sp, #-4]!
service_2: mrs r3, cpsr
service_3: orr r2, r3, #0xc0
service_4: msr cpsr_c, r2
service_5: swi 0
service_6: mrs r2, cpsr
service_7: bic r2, r2, #0xc0
service_8: msr cpsr_c, r2
service_9: ldr pc, [sp], #4
.size service, .-service
function irqs_only
  str lr, [sp, #-4]!
irqs_2: mrs r3, cpsr
irqs_3: orr r2, r3, #0x80
irqs_4: msr cpsr_c, r2
irqs_5: orr r2, r3, #0x40
irqs_6: msr cpsr_c, r2
irqs_7: msr cpsr_c, r3
irqs_8: msr cpsr_f, r3
irqs_9: ldr pc, [sp], #4
.size irqs_only, .-irqs_only
function calm
  str lr, [sp, #-4]!
calm_2: nop
calm_3: ldr pc, [sp], #4
.size calm, .-calm
function other
  nop
other_2: swi 0
other_3: nop
other_4: strb r0, [r1]
.size other, .-other
function trap
  stmdb lr, {r0-lr}^
trap_2: mrs r0, spsr
trap_3: str r0, [lr]
trap_4: ldmdb r1, {r0-lr}^
trap_5: ldr r0, [r1]
trap_6: msr spsr_cxsf, r0
trap_7: movs pc, lr
.size trap, .-trap
function nests
  msr cpsr_c, #0x13
nests_2: nop
nests_3: msr cpsr_c, #0x93
nests_4: movs pc, lr
.size nests, .-nests
function returns
  subs pc, lr, #4
.size returns, .-returns
"""

A, B, NEW = 0x200400, 0x200800, 0x200A00
"""Frames of threads: 15 registers below, SPSR here."""
SWI, IRQ, FIQ = 2, 6, 7
UNKNOWN, MASKED, OPEN = "unknown", "masked", "open"

SERVICES = replace(
    listing.SERVICES,
    sections=(
        LogicalSection(".text", SectionKind.CODE, linker_sections=(".text",)),
        LogicalSection(".vectors", SectionKind.CODE, linker_sections=(".vectors",)),
        LogicalSection("data", SectionKind.DATA, linker_sections=(".data",)),
        LogicalSection("stack", SectionKind.STACK, linker_sections=(".stack",)),
    ),
    services=(
        replace(listing.SERVICES.services[0], entries=("service", "irqs_only", "calm")),
        Service("tick", 8, ServiceKind.HANDLER, ("vector_irq",), exceptions=(IRQ,)),
    ),
    scheduler_lock=None,
)

Labels = dict[str, int]


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    image, table = load(assemble(SOURCE, SCRIPT, "arm7tdmi"))
    return resolve(SERVICES, image, table)


@pytest.fixture
def at(resolved: Resolved) -> Labels:
    return {s.name: s.address for s in resolved.image.symbols}


def find(resolved: Resolved, rows: list[Row], size: int = 64) -> list[Window]:
    finder = WindowFinder(resolved, "hand")
    found = list(find_windows(batches(rows, size), finder))
    assert finder.unattributed.total() + finder.attributed.total() == finder.traced
    return found


def shown(window: Window, at: Labels) -> list[tuple[str, str]]:
    """(label, interrupts) of each instruction."""
    names = {address: name for name, address in reversed(at.items())}
    return [
        (
            names[address],
            MASKED if p.blocking.interrupts else UNKNOWN if p.blocking.unknown else OPEN,
        )
        for p in window.pieces
        for kind, address in zip(p.kind.tolist(), p.address.tolist(), strict=True)
        if kind == Event.INSTRUCTION
    ]


def states(window: Window, at: Labels) -> list[str]:
    return [state for _, state in shown(window, at)]


def run(at: Labels, *names: str) -> list[Row]:
    return [i(at[name]) for name in names]


def begin(at: Labels, entry: str) -> list[Row]:
    return [
        i(at["driver"]), mark(PARAMETER, 5), i(at["driver_2"]), mark(0, 7), i(at["driver_call"]),
        i(at[entry]), w(A + 0x20),
    ]  # fmt: skip


def end(at: Labels, last: str) -> list[Row]:
    return [i(at[last]), r(A + 0x20), i(at["driver_4"]), mark(1, 7), i(at["driver_5"])]


def trap(at: Labels, number: int, saved: int, restored: int) -> list[Row]:
    """A whole exception; ``saved`` and ``restored`` are the frames of threads."""
    vector = at["vector_swi" if number == SWI else "vector_irq"]
    return [
        (Event.EXCEPTION, number, 0), i(vector), r(at["at"]),
        i(at["trap"]), *(w(saved - 60 + 4 * n) for n in range(15)),
        i(at["trap_2"]), i(at["trap_3"]), w(saved),
        i(at["trap_4"]), *(r(restored - 60 + 4 * n) for n in range(15)),
        i(at["trap_5"]), r(restored), i(at["trap_6"]), i(at["trap_7"]),
        (Event.EXCEPTION_EXIT, number, 0),
    ]  # fmt: skip


def service(at: Labels, *called: Row) -> list[Row]:
    return [
        *begin(at, "service"), *run(at, "service_2", "service_3", "service_4", "service_5"),
        *called, *run(at, "service_6", "service_7", "service_8"), *end(at, "service_9"),
    ]  # fmt: skip


WHOLE = [OPEN] * 4 + [MASKED] * 4 + [OPEN]
"""Up to the write that masks, and behind the one that lets interrupts in."""


def test_armv4t_masked_from_reset(resolved: Resolved, at: Labels) -> None:
    (window,) = find(resolved, service(at, *trap(at, SWI, A, A)))
    assert states(window, at) == [MASKED] * 8 + [OPEN]


@pytest.mark.parametrize("size", [1, 3, 64])
def test_armv4t_call_that_comes_back_to_its_thread(
    resolved: Resolved, at: Labels, size: int
) -> None:
    """swi keeps CPSR in SPSR, the handler in the frame; both come back."""
    (window,) = find(resolved, [i(at["boot"]), *service(at, *trap(at, SWI, A, A))], size)
    assert states(window, at) == WHOLE
    assert (window.switched, window.yields) == (False, 0)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_armv4t_call_that_switches_threads(resolved: Resolved, at: Labels, size: int) -> None:
    switched = [*trap(at, SWI, A, B), *run(at, "other", "other_2"), *trap(at, SWI, B, A)]
    (window,) = find(resolved, [i(at["boot"]), *service(at, *switched)], size)
    assert states(window, at) == WHOLE
    assert (window.switched, window.yields) == (True, 1)


def test_armv4t_a_frame_that_was_written_over(resolved: Resolved, at: Labels) -> None:
    for where in (A - 60, A - 4):
        switched = [
            *trap(at, SWI, A, B), i(at["other"]), i(at["other_4"]), w(where), i(at["other_2"]),
            *trap(at, SWI, B, A),
        ]  # fmt: skip
        with pytest.raises(InputError, match="inside service does not go on"):
            find(resolved, [i(at["boot"]), *service(at, *switched)])


@pytest.mark.parametrize(("where", "state"), [(A, UNKNOWN), (A + 3, UNKNOWN), (A + 4, MASKED)])
def test_armv4t_a_saved_status_that_was_written_over(
    resolved: Resolved, at: Labels, where: int, state: str
) -> None:
    switched = [
        *trap(at, SWI, A, B), i(at["other"]), i(at["other_4"]), (Event.WRITE, where, 1),
        i(at["other_2"]), *trap(at, SWI, B, A),
    ]  # fmt: skip
    (window,) = find(resolved, [i(at["boot"]), *service(at, *switched)])
    assert states(window, at) == [*WHOLE[:5], state, state, state, OPEN]


@pytest.mark.parametrize(
    ("numbers", "state"),
    [((SWI,), UNKNOWN), ((IRQ,), UNKNOWN), ((FIQ,), UNKNOWN), ((IRQ, FIQ), OPEN)],
)
def test_armv4t_interrupts_show_that_they_were_let_in(
    resolved: Resolved, at: Labels, numbers: tuple[int, ...], state: str
) -> None:
    """B began with an unknown status, which nobody has saved. One interrupt shows one bit."""
    begun = [i(at["other"]), *trap(at, SWI, A, B), *run(at, "other", "other_2")]
    taken = [row for number in numbers for row in trap(at, number, B, B)]
    calm = [*begin(at, "calm"), i(at["calm_2"]), *end(at, "calm_3")]
    (window,) = find(resolved, [i(at["boot"]), *begun, *taken, *calm])
    assert set(states(window, at)) == {state}


def test_armv4t_irq_or_fiq_masked_counts_as_both(resolved: Resolved, at: Labels) -> None:
    rows = [
        i(at["boot"]), *begin(at, "irqs_only"),
        *run(at, *(f"irqs_{n}" for n in range(2, 9))), *end(at, "irqs_9"),
    ]  # fmt: skip
    (window,) = find(resolved, rows)
    assert states(window, at) == [OPEN] * 4 + [MASKED] * 3 + [OPEN] * 2


@pytest.mark.parametrize("interrupted", [False, True])
def test_armv4t_status_that_a_nested_exception_may_have_changed(
    resolved: Resolved, at: Labels, interrupted: bool
) -> None:
    """A handler that changes the mode, or was interrupted, and returns by the SPSR of its mode: of
    which mode that is, and what it holds, is not followed."""
    inner = [(Event.EXCEPTION, IRQ, 0), i(at["returns"]), (Event.EXCEPTION_EXIT, IRQ, 0)]
    handler = [
        (Event.EXCEPTION, SWI, 0), i(at["nests"]), i(at["nests_2"]),
        *(inner if interrupted else []), i(at["nests_3"]), i(at["nests_4"]),
        (Event.EXCEPTION_EXIT, SWI, 0),
    ]  # fmt: skip
    (window,) = find(resolved, [i(at["boot"]), *service(at, *handler)])
    assert states(window, at) == [*WHOLE[:5], UNKNOWN, UNKNOWN, UNKNOWN, OPEN]


def test_armv4t_status_in_a_handler_that_was_interrupted(resolved: Resolved, at: Labels) -> None:
    """The same where it is the interrupt alone: FIQ comes where IRQ is masked."""
    inner = [(Event.EXCEPTION, FIQ, 0), i(at["returns"]), (Event.EXCEPTION_EXIT, FIQ, 0)]
    for between, state in (([], MASKED), (inner, UNKNOWN)):
        handler = [
            (Event.EXCEPTION, SWI, 0), i(at["nests_2"]), *between, i(at["nests_4"]),
            (Event.EXCEPTION_EXIT, SWI, 0),
        ]  # fmt: skip
        (window,) = find(resolved, [i(at["boot"]), *service(at, *handler)])
        assert states(window, at) == [*WHOLE[:5], state, state, state, OPEN]


def test_armv4t_handler_window(resolved: Resolved, at: Labels) -> None:
    """From the vector to the return, with no access that the handler does not make itself."""
    rows = [
        i(at["boot"]), i(at["driver_2"]), mark(0, 8), i(at["driver_4"]), *trap(at, IRQ, A, B),
        i(at["other"]), i(at["driver_4"]), mark(1, 8), i(at["driver_5"]),
    ]  # fmt: skip
    (window,) = find(resolved, rows)
    assert shown(window, at)[0] == ("vector_irq", MASKED)
    assert shown(window, at)[-1] == ("trap_7", MASKED)
    labeller = Labeller(resolved, "hand")
    counts: dict[str, int] = {}
    for packed in labeller.label(window).packed.tolist():
        key = str(key_of(unpack(packed)[1], resolved.section_names))
        counts[key] = counts.get(key, 0) + 1
    assert counts == {
        ".vectors load": 1,
        ".vectors read 32 single": 1,
        "? exception entry": 1,
        ".vectors fetch 32 first": 1,
        ".vectors pipeline refill": 1,
        ".text store multiple": 1,
        "stack write 32 first": 1,
        "stack write 32 next": 14,
        ".text system register": 2,
        ".text store": 1,
        "stack write 32 single": 1,
        ".text load multiple": 1,
        "stack read 32 first": 1,
        "stack read 32 next": 14,
        ".text load": 1,
        "stack read 32 single": 1,
        ".text return": 1,
        ".text pipeline refill": 1,
        ".text exception exit": 1,
        ".text fetch 32 first": 1,
        ".text fetch 32 next": 6,
        ".vectors indirect jump": 1,
        ".vectors fetch held late": 1,  # behind `ldr pc` lies a constant
        ".text consecutive access": 2,  # stmdb behind `ldr pc`, ldmdb behind str
        ".text system register wait": 2,
        ".text system register-use stall": 1,  # str stores what mrs has read
        ".text load-use stall of an access": 1,  # ldr through r1, which ldmdb has loaded
        ".text load-use stall of a system register": 1,  # msr of what ldr has loaded
        ".text fetch held late": 1,  # msr is behind movs pc, lr
    }


COOPERATE = """
function cooperate
  stmfd sp!, {r4-r11, lr}
cooperate_2: str sp, [r1]
cooperate_3: ldr sp, [r0]
cooperate_4: ldmfd sp!, {r4-r11, pc}
.size cooperate, .-cooperate
"""


def test_a_function_that_switches_threads(assemble: Callable[..., Path]) -> None:
    """Registers on the stacks, stack pointers in control blocks; the service waits in it."""
    image, table = load(assemble(SOURCE + COOPERATE, SCRIPT, "arm7tdmi"))
    at = {s.name: s.address for s in image.symbols}
    service = replace(SERVICES.services[0], kind=ServiceKind.BLOCKING_CALL)
    resolved = resolve(replace(SERVICES, services=(service,)), image, table)
    one, two = 0x100000, 0x100004

    def cooperate(block: int, stack: int, after: int, its: int) -> list[Row]:
        return [
            i(at["cooperate"]), *(w(stack - 36 + 4 * n) for n in range(9)),
            i(at["cooperate_2"]), w(block), i(at["cooperate_3"]), r(after),
            i(at["cooperate_4"]), *(r(its - 36 + 4 * n) for n in range(9)),
        ]  # fmt: skip

    rows = [
        i(at["boot"]), i(at["driver"]), mark(PARAMETER, 5), i(at["driver_2"]), mark(0, 7),
        i(at["driver_call"]), i(at["calm"]), w(A - 4), *cooperate(one, A - 4, two, B),
        i(at["other"]), *cooperate(two, B, one, A - 4), i(at["calm_3"]), r(A - 4),
        i(at["driver_4"]), mark(1, 7), i(at["driver_5"]),
    ]  # fmt: skip
    call, resume = find(resolved, rows)
    names = [[name for name, _ in shown(part, at)] for part in (call, resume)]
    assert names == [
        ["calm", "cooperate", "cooperate_2", "cooperate_3"],
        ["cooperate_4", "calm_3"],
    ]
