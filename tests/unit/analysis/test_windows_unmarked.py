"""Services without marks: traces written by hand, windows counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import (
    FUNCTION,
    SCRIPT,
    SERVICES,
    STACK,
    TABLE,
    HandTrace,
    Row,
    batches,
    i,
    load,
    r,
    sections,
    w,
)

from wcetchar.analysis import recorder
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.unmarked import NEVER
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.errors import InputError
from wcetchar.model.run import RunValues
from wcetchar.model.service import Parameter, ParameterKind, Service, ServiceKind
from wcetchar.model.trace import Event, Knowledge, Loss, TraceFilter

SOURCE = (
    """
.section .vectors,"a"
  .word 0x20021000, main+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, switch+1, tick+1, tail+1
"""
    + sections()
    + FUNCTION
    + """
function main
  bl outer
main_2: bl inner
main_3: bl wrapper
main_4: bl again
main_5: b.n main
.size main, .-main
function outer
  push {r4, lr}
outer_2: bl inner
outer_3: pop {r4, pc}
.size outer, .-outer
function inner
  nop
inner_2: bx lr
.size inner, .-inner
function wrapper
  nop
wrapper_2: b.w inner
.size wrapper, .-wrapper
function again
  subs r0, #1
again_2: bne again
again_3: bx lr
.size again, .-again
function tick
  push {r4, lr}
tick_2: bl inner
tick_3: pop {r4, pc}
.size tick, .-tick
function tail
  nop
tail_2: b.w inner
.size tail, .-tail
function switch
  stmdb r0!, {r4-r11}
switch_2: ldmia.w r1!, {r4-r11}
switch_3: bx lr
.size switch, .-switch
"""
)

ENTER, LEAVE = Event.EXCEPTION, Event.EXCEPTION_EXIT
Labels = dict[str, int]


def service(name: str, *parameters: Parameter, entry: str | None = None) -> Service:
    kind = ServiceKind.HANDLER if name == "tick" else ServiceKind.CALL
    return Service(name, None, kind, (entry or name,), parameters)


class Kernel:
    """The linked source; rows of its functions, by label."""

    def __init__(self, elf: Path) -> None:
        self.image, self.table = load(elf)
        self.at: Labels = {s.name: s.address for s in self.image.symbols}

    def resolved(self, *services: Service) -> Resolved:
        lock = None
        file = replace(SERVICES, marks=None, services=services, scheduler_lock=lock)
        return resolve(file, self.image, self.table)

    def run(self, *labels: str | Row) -> list[Row]:
        return [i(self.at[x]) if isinstance(x, str) else x for x in labels]

    @property
    def outer(self) -> list[Row]:
        """A call of outer, from its first instruction to its return."""
        at = STACK - 8
        return self.run(
            "outer", w(at), w(at + 4), "outer_2", "inner", "inner_2", "outer_3", r(at), r(at + 4)
        )

    @property
    def tick(self) -> list[Row]:
        at = STACK - 64
        rows = self.run("tick", w(at), w(at + 4), "tick_2", "inner", "inner_2", "tick_3")
        return [(ENTER, 15, 0), *rows, r(at), r(at + 4), (LEAVE, 15, 0)]


@pytest.fixture
def kernel(assemble: Callable[..., Path]) -> Kernel:
    return Kernel(assemble(SOURCE, SCRIPT))


def find(
    resolved: Resolved,
    rows: list[Row],
    size: int = 7,
    *,
    run: RunValues | None = None,
    persist: bool = False,
    has_exceptions: bool = True,
) -> tuple[list[Window], WindowFinder]:
    """Windows, after the check that every instruction is in one place."""
    finder = WindowFinder(
        resolved, "hand", run=run, registers_persist=persist, has_exceptions=has_exceptions
    )
    windows = list(find_windows(batches(rows, size), finder))
    tallied = finder.attributed.total() + finder.unattributed.total()
    assert tallied == finder.traced == sum(kind == Event.INSTRUCTION for kind, _, _ in rows)
    assert finder.attributed.total() == sum(sizes(windows))
    return windows, finder


def sizes(windows: list[Window]) -> list[int]:
    """Instructions of each window."""
    return [sum(int((p.kind == Event.INSTRUCTION).sum()) for p in w.pieces) for w in windows]


def names(windows: list[Window]) -> list[str]:
    return [window.service.name for window in windows]


@pytest.mark.parametrize("size", [1, 3, 64])
def test_each_call_is_a_window(kernel: Kernel, size: int) -> None:
    rows = kernel.run("main") + kernel.outer + kernel.run("main_2", "inner", "inner_2")
    rows += kernel.run("main_3", "wrapper", "wrapper_2", "inner", "inner_2", "main_4")
    windows, finder = find(kernel.resolved(service("outer"), service("inner")), rows, size)
    # The jump from the wrapper is an entry; the call inside outer is outer's.
    assert names(windows) == ["outer", "inner", "inner"]
    assert sizes(windows) == [5, 2, 2]
    assert finder.inside == {("outer", "inner"): 1}
    assert not finder.given_up


def test_a_loop_back_to_the_entry_is_no_call(kernel: Kernel) -> None:
    rows = kernel.run("main_4", "again", "again_2", "again", "again_2", "again_3", "main_5")
    windows, finder = find(kernel.resolved(service("again")), rows)
    assert sizes(windows) == [5]
    assert finder.unattributed == {"thread 0": 2}


def test_a_recursive_call_stays_in_its_window(kernel: Kernel) -> None:
    rows = kernel.run("main") + kernel.outer
    resolved = kernel.resolved(replace(service("outer"), entries=("outer", "inner")))
    windows, finder = find(resolved, [*rows, *kernel.run("main_2")])
    assert sizes(windows) == [5]
    assert not finder.inside


def test_handlers_have_windows_of_their_own(kernel: Kernel) -> None:
    outer = kernel.outer
    rows = kernel.run("main") + outer[:3] + kernel.tick + outer[3:] + kernel.run("main_2")
    windows, finder = find(kernel.resolved(service("outer"), service("tick")), rows)
    assert names(windows) == ["tick", "outer"]
    assert sizes(windows) == [5, 5]
    assert [window.exception for window in windows] == [15, None]
    # A service that a handler calls is a window in the handler, inside of outer's or not.
    windows, finder = find(kernel.resolved(service("outer"), service("inner")), rows)
    assert names(windows) == ["inner", "outer"]
    assert finder.inside == {("outer", "inner"): 1}
    assert finder.unattributed["exception 15"] == 3


def test_handlers_that_share_an_entry_are_told_apart_by_the_exception(kernel: Kernel) -> None:
    tick = service("tick")
    services = (
        replace(tick, exceptions=(15,)),
        replace(tick, name="other", exceptions=(16, 17)),
        replace(tick, name="third", exceptions=(18,)),
    )
    again = [(kind, 17 if kind in (ENTER, LEAVE) else at, size) for kind, at, size in kernel.tick]
    unasked = [(kind, 9 if kind in (ENTER, LEAVE) else at, size) for kind, at, size in kernel.tick]
    rows = kernel.run("main") + kernel.tick + again + unasked + kernel.run("outer")
    windows, finder = find(kernel.resolved(*services), rows)
    assert names(windows) == ["tick", "other"]
    assert finder.unattributed["exception 9"] == 5
    trace = HandTrace(rows)
    with pytest.raises(InputError, match="tick and more are entered at the same place"):
        characterized(kernel, (*services, replace(tick, name="more")), trace)
    found = characterized(kernel, services, trace, partial=True)
    assert [s.name for s in found.services] == ["tick", "other"]


def test_a_tail_call_of_a_handler_ends_with_it(kernel: Kernel) -> None:
    rows = kernel.run("main", (ENTER, 16, 0), "tail", "tail_2", "inner", "inner_2", (LEAVE, 16, 0))
    windows, finder = find(kernel.resolved(service("inner")), rows + kernel.outer)
    assert sizes(windows) == [2, 2]
    assert finder.unattributed["exception 16"] == 2


def test_a_handler_that_leaves_without_returning_gives_no_window(kernel: Kernel) -> None:
    cut = kernel.run("main") + kernel.tick[:6] + [(LEAVE, 15, 0)] + kernel.outer
    windows, finder = find(kernel.resolved(service("inner")), [*cut, *kernel.run("main_2")])
    assert sizes(windows) == [2]
    assert finder.given_up == {("inner", "the exception handler returned inside it"): 1}
    assert finder.unattributed["inner, no whole call"] == 1


def test_a_handler_as_a_call_is_refused(kernel: Kernel) -> None:
    wrong = Service("ticks", None, ServiceKind.CALL, ("tick",))
    with pytest.raises(InputError, match="ticks handles exception 15") as error:
        find(kernel.resolved(wrong), kernel.run("main") + kernel.tick)
    assert "kind: handler" in str(error.value)


def test_a_handler_that_is_called_gives_no_window(kernel: Kernel) -> None:
    handler = Service("inner", None, ServiceKind.HANDLER, ("inner",))
    windows, finder = find(kernel.resolved(handler), kernel.run("main") + kernel.outer)
    assert not windows
    assert [key[0] for key in finder.given_up] == ["inner"]


def test_what_never_returns_gives_no_window(kernel: Kernel) -> None:
    rows = kernel.run("main") + kernel.outer[:5]
    windows, finder = find(kernel.resolved(service("outer")), rows)
    assert not windows
    assert finder.given_up == {("outer", NEVER): 1}
    assert finder.unattributed == {"thread 0": 1, "outer, no whole call": 3}
    assert not finder.attributed
    # Nor does the call before it change.
    windows, finder = find(kernel.resolved(service("outer")), kernel.run("main") + kernel.outer)
    assert finder.given_up == {("outer", NEVER): 1}  # its return is not shown either
    windows, finder = find(
        kernel.resolved(service("outer")),
        kernel.run("main") + kernel.outer + kernel.run("main_2") + rows,
    )
    assert sizes(windows) == [5]


def test_an_entry_without_a_call(kernel: Kernel) -> None:
    rows = [(Event.GAP, 9, 0), *kernel.outer, *kernel.run("main_2", "inner", "inner_2", "main_3")]
    windows, finder = find(kernel.resolved(service("outer"), service("inner")), rows)
    assert names(windows) == ["inner", "inner"]
    ((name, reason), count), *others = finder.given_up.items()
    assert (name, count, others) == ("outer", 1, [])
    assert "does not show the call" in reason


def switched(kernel: Kernel, saved: int, restored: int) -> list[Row]:
    """PendSV saves a thread's registers below one address and restores another's."""
    rows = [(ENTER, 14, 0), i(kernel.at["switch"]), *(w(saved + 4 * k) for k in range(8))]
    rows += [i(kernel.at["switch_2"]), *(r(restored + 4 * k) for k in range(8))]
    return [*rows, i(kernel.at["switch_3"]), (LEAVE, 14, 0)]


def test_threads(kernel: Kernel) -> None:
    one, two, three = STACK - 128, STACK - 512, STACK - 256
    outer = kernel.outer
    rows = kernel.run("main") + outer[:3] + switched(kernel, one, two)
    # The other thread starts: nothing called its function, but what it calls has windows.
    rows += kernel.run("again", "again_2", "again_3", "main_2", "inner", "inner_2", "main_3")
    rows += switched(kernel, two, one) + outer[3:] + kernel.run("main_2", "inner")
    rows += switched(kernel, three, two) + kernel.run("wrapper")
    resolved = kernel.resolved(service("outer"), service("inner"), service("again"))
    windows, finder = find(resolved, rows)
    assert names(windows) == ["inner", "outer"]
    assert sizes(windows) == [2, 5]
    assert windows[1].switched
    assert finder.given_up[("inner", NEVER)] == 1
    assert sum(finder.given_up.values()) == 2  # and the thread's own function


def test_a_deleted_thread_leaves_no_window(kernel: Kernel) -> None:
    one, two = STACK - 128, STACK - 512
    outer = kernel.outer
    rows = kernel.run("main") + outer[:3] + switched(kernel, one, two)
    rows += kernel.run("wrapper") + switched(kernel, one, two) + kernel.run("wrapper")
    windows, finder = find(kernel.resolved(service("outer")), rows)
    assert not windows
    assert finder.given_up == {("outer", NEVER): 1}


def kinds(*found: tuple[str, ServiceKind]) -> tuple[Service, ...]:
    """Services that share the entry outer."""
    return tuple(Service(name, None, kind, ("outer",)) for name, kind in found)


BLOCKING = ("outer_blocks", ServiceKind.BLOCKING_CALL)
FINAL = ("outer_ends", ServiceKind.FINAL_CALL)
PLAIN = ("outer", ServiceKind.CALL)


def two_calls(kernel: Kernel) -> list[Row]:
    """A call that is switched away after its first instruction, and one that is not."""
    one, two = STACK - 128, STACK - 512
    outer = kernel.outer
    rows = kernel.run("main") + outer[:3] + switched(kernel, one, two) + kernel.run("wrapper")
    rows += switched(kernel, two, one) + outer[3:] + kernel.run("main_2", "inner", "inner_2")
    return rows + kernel.run("main_3", "main") + outer + kernel.run("main_2")


@pytest.mark.parametrize("size", [1, 5, 64])
def test_a_blocking_call_is_cut(kernel: Kernel, size: int) -> None:
    rows = two_calls(kernel)
    windows, finder = find(kernel.resolved(*kinds(BLOCKING)), rows, size)
    assert [window.name for window in windows] == ["outer_blocks/call", "outer_blocks/resume"]
    assert sizes(windows) == [1, 4]
    ((name, reason),) = finder.given_up
    assert name == "outer_blocks"
    assert "no other thread ran" in reason
    # A service of kind call has the calls that are not cut.
    windows, finder = find(kernel.resolved(*kinds(PLAIN, BLOCKING)), rows, size)
    names = ["outer_blocks/call", "outer_blocks/resume", "outer"]
    assert [window.name for window in windows] == names
    assert sizes(windows) == [1, 4, 5]
    assert not finder.given_up
    assert finder.attributed == {"outer_blocks": 5, "outer": 5}


@pytest.mark.parametrize("size", [1, 5, 64])
def test_a_final_call_never_goes_on(kernel: Kernel, size: int) -> None:
    """It does after the first switch, which only interrupts it; not after the last."""
    one, two = STACK - 128, STACK - 512
    rows = two_calls(kernel) + kernel.run("main") + kernel.outer[:4]
    rows += switched(kernel, one, two) + kernel.run("wrapper")
    windows, finder = find(kernel.resolved(*kinds(FINAL)), rows, size)
    assert [window.name for window in windows] == ["outer_ends/call"]
    assert sizes(windows) == [2]
    (((name, _), count),) = finder.given_up.items()
    assert (name, count) == ("outer_ends", 2)
    windows, finder = find(kernel.resolved(*kinds(FINAL, PLAIN)), rows, size)
    assert [window.name for window in windows] == ["outer", "outer", "outer_ends/call"]
    assert sizes(windows) == [5, 5, 2]
    assert not finder.given_up


def test_a_blocking_call_that_never_goes_on(kernel: Kernel) -> None:
    rows = kernel.run("main") + kernel.outer[:3] + switched(kernel, STACK - 128, STACK - 512)
    windows, finder = find(kernel.resolved(*kinds(BLOCKING)), [*rows, *kernel.run("wrapper")])
    assert [window.name for window in windows] == ["outer_blocks/call"]
    assert [name for name, _ in finder.given_up] == ["outer_blocks"]


def test_a_window_is_bounded(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "LONGEST_WINDOW", 20)
    loop = kernel.run("main_4", "again", *["again_2", "again"] * 30, "again_2", "again_3")
    rows = loop + kernel.run("main_5", "main_4", "again", "again_2", "again_3", "main_5")
    windows, finder = find(kernel.resolved(service("again")), rows)
    assert sizes(windows) == [3]
    assert finder.unattributed["again, no whole call"] == 63
    assert finder.missed == {"again"}
    # A longer call than the largest window: that is no high-water mark.
    (again,) = characterized(kernel, (service("again"),), HandTrace(rows)).services
    assert again.word.value == "estimate"
    assert any("longer than those that are" in note for note in again.notes)


def test_a_trace_without_exceptions(kernel: Kernel) -> None:
    tick = kernel.tick[1:-1]
    outer = kernel.outer
    rows = kernel.run("main") + outer[:3] + tick + outer[3:] + kernel.run("main_2", "inner")
    rows += kernel.run("inner_2", "main_3") + outer
    resolved = kernel.resolved(service("outer"), service("inner"))
    windows, finder = find(resolved, rows, has_exceptions=False)
    assert names(windows) == ["inner"]
    assert {name for name, _ in finder.given_up} == finder.missed == {"outer"}
    # Between calls a handler does no harm, but what it calls is not told apart.
    rows = kernel.run("main") + outer + kernel.run("main_2", "inner", "inner_2", "main_3")
    rows += kernel.run("wrapper") + tick + kernel.run("wrapper_2", "inner", "inner_2", "main_4")
    windows, finder = find(resolved, rows, has_exceptions=False)
    assert names(windows) == ["outer", "inner", "inner"]
    assert [name for name, _ in finder.given_up] == ["inner"]
    assert finder.missed == {"inner"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(Event.GAP, 9, 0)], "left out 9 instructions inside outer"),
        ([i(0x8000)], "unknown instruction at 0x00008000"),
    ],
)
def test_what_cannot_be_counted_is_an_error(kernel: Kernel, rows: list[Row], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find(kernel.resolved(service("outer")), kernel.run("main") + kernel.outer[:3] + rows)


# --- parameter values --------------------------------------------------------------------------


def value(register: int, number: int) -> Row:
    return (Event.REGISTER, number, register)


N = Parameter("N", ParameterKind.STATE, 1, 16, "state")
ARGUMENT = Parameter("SIZE", ParameterKind.ARGUMENT, -8, 64, "bytes", argument=1)


def test_values_of_a_run(kernel: Kernel) -> None:
    resolved = kernel.resolved(service("outer", N))
    rows = kernel.run("main") + kernel.outer + kernel.run("main_2")
    windows, _ = find(resolved, rows, run=RunValues(None, {"outer": {"N": 13}}))
    assert [window.values for window in windows] == [(13,)]
    with pytest.raises(InputError, match="parameter N has no value") as error:
        find(resolved, rows)
    assert "--set hand:outer.N=VALUE" in str(error.value)
    windows, finder = find(resolved, rows, run=RunValues(frozenset(), {}))
    assert not windows
    assert not finder.given_up


@pytest.mark.parametrize("size", [1, 2, 64])
@pytest.mark.parametrize("persist", [True, False])
def test_an_argument_is_what_the_register_holds_at_the_entry(
    kernel: Kernel, size: int, persist: bool
) -> None:
    resolved = kernel.resolved(service("outer", ARGUMENT))
    outer = kernel.outer
    rows = [value(1, 5), *kernel.run("main"), value(0, 9), value(1, 40), *outer[:1]]
    rows += [value(1, 7), *outer[1:], value(1, 3), *kernel.run("main_2")]
    windows, _ = find(resolved, rows, size, persist=persist)
    assert [window.values for window in windows] == [(40,)]
    negative = [*kernel.run("main"), value(1, 0xFFFFFFFE), *outer, *kernel.run("main_2")]
    windows, _ = find(resolved, negative, size, persist=persist)
    assert [window.values for window in windows] == [(-2,)]


@pytest.mark.parametrize("size", [1, 2, 64])
def test_a_value_persists_where_every_change_is_shown(kernel: Kernel, size: int) -> None:
    resolved = kernel.resolved(service("outer", ARGUMENT))
    rows = [value(1, 5), *kernel.run("main"), *kernel.outer, *kernel.run("main_2")]
    windows, _ = find(resolved, rows, size, persist=True)
    assert [window.values for window in windows] == [(5,)]
    with pytest.raises(InputError, match="the value of r1, its parameter SIZE, is not known"):
        find(resolved, rows, size, persist=False)


@pytest.mark.parametrize("size", [1, 2, 64])
@pytest.mark.parametrize("kind", [Event.GAP, Event.UNDECODED])
def test_nothing_persists_over_what_is_missing(kernel: Kernel, size: int, kind: Event) -> None:
    resolved = kernel.resolved(service("outer", ARGUMENT))
    rows = [value(1, 5), (kind, 9, 0), *kernel.run("main"), *kernel.outer]
    with pytest.raises(InputError, match="is not known"):
        find(resolved, rows, size, persist=True)
    known = [(kind, 9, 0), value(1, 6), *kernel.run("main"), *kernel.outer, *kernel.run("main_2")]
    windows, _ = find(resolved, known, size, persist=True)
    assert [window.values for window in windows] == [(6,)]


def test_a_value_out_of_range(kernel: Kernel) -> None:
    resolved = kernel.resolved(service("outer", ARGUMENT))
    rows = [value(1, 65), *kernel.run("main"), *kernel.outer]
    with pytest.raises(InputError, match="in r1 is 65") as error:
        find(resolved, rows, persist=True)
    assert "-8..64" in str(error.value)


def test_an_argument_on_the_stack_is_refused(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="argument 4 of outer is not in a register") as error:
        kernel.resolved(service("outer", replace(ARGUMENT, argument=4)))
    assert "r0..r3" in str(error.value)


# --- whole characterizations ---------------------------------------------------------------------


def characterized(kernel: Kernel, services: tuple[Service, ...], *traces: HandTrace, **more):
    file = replace(SERVICES, marks=None, services=services, scheduler_lock=None)
    return characterize(traces, kernel.image, kernel.table, file, tool="test", **more)


def test_what_is_told_of_calls(kernel: Kernel) -> None:
    rows = kernel.run("main") + kernel.outer + kernel.run("main_2", "inner", "inner_2", "main")
    rows[-1:] = kernel.run("main_3", "wrapper", "wrapper_2", "inner", "inner_2", "main_4", "again")
    rows += kernel.run("again_2", "again_3", "main_5", "main") + kernel.outer[:3]
    found = characterized(kernel, (service("outer"), service("inner")), HandTrace(rows))
    outer, inner = found.services
    assert outer.notes == (
        f"1 call is not counted: {NEVER}",
        "calls of other services inside it are counted here: inner (1)",
    )
    assert inner.notes == ("its calls inside other services are counted there: outer (1)",)
    assert (outer.evidence.windows, inner.evidence.windows) == (1, 2)
    assert outer.word.value == "high-water mark"
    assert found.conservation is not None
    assert found.conservation.holds


def test_only_inside_is_no_figure(kernel: Kernel) -> None:
    rows = kernel.run("main") + kernel.outer + kernel.run("main_2")
    services = (service("outer"), service("inner"))
    with pytest.raises(InputError, match="no trace shows inner") as error:
        characterized(kernel, services, HandTrace(rows))
    assert "counted there: outer (1)" in str(error.value)
    found = characterized(kernel, services, HandTrace(rows), partial=True)
    (missing,) = found.not_characterized
    assert missing.name == "inner"
    assert "counted there: outer (1)" in missing.reason
    only = [RunValues(frozenset({"inner"}))]
    with pytest.raises(InputError, match="no trace shows outer"):
        characterized(kernel, services, HandTrace(rows), runs=only)
    found = characterized(kernel, services, HandTrace(rows), runs=only, partial=True)
    assert [s.name for s in found.services] == ["inner"]


def test_a_sweep_over_runs_gives_a_formula(kernel: Kernel) -> None:
    traces, runs = [], []
    for n in range(1, 9):
        loop = ["again", "again_2"] * n
        traces.append(HandTrace(kernel.run("main_4", *loop, "again_3", "main_5")))
        runs.append(RunValues(None, {"again": {"N": n}}))
    swept = service("again", replace(N, maximum=8))
    (found,) = characterized(kernel, (swept,), *traces, runs=runs).services
    assert found.counts.is_formula
    assert found.notes == ("the firmware does not mark N: the value was given for each run",)


def test_services_that_share_an_entry(kernel: Kernel) -> None:
    services = (service("outer"), service("outer_worst", entry="outer"))
    trace = HandTrace(kernel.run("main") + kernel.outer + kernel.run("main_2"))
    with pytest.raises(InputError, match="outer and outer_worst are entered at the same place"):
        characterized(kernel, services, trace)
    runs = [RunValues(frozenset({name})) for name in ("outer", "outer_worst")]
    found = characterized(kernel, services, trace, trace, runs=runs)
    assert [s.name for s in found.services] == ["outer", "outer_worst"]


def test_an_argument_needs_registers(kernel: Kernel) -> None:
    trace = HandTrace(kernel.run("main"), losses=(Loss(Knowledge.REGISTERS, "none"),))
    with pytest.raises(InputError, match="SIZE of outer is read from an argument register"):
        characterized(kernel, (service("outer", ARGUMENT),), trace)


def test_a_filter_must_show_the_entries(kernel: Kernel) -> None:
    trace = HandTrace(kernel.run("main") + kernel.outer + kernel.run("main_2"))
    trace.info = replace(trace.info, filter=TraceFilter(between_marks=True))
    with pytest.raises(InputError, match="may have left out calls of outer"):
        characterized(kernel, (service("outer"),), trace)


def test_marks_and_no_marks_in_one_file(kernel: Kernel) -> None:
    """Between its marks a marked service is as before; elsewhere the function is the other's."""
    mark = TABLE + 0x10000
    rows = kernel.run("main", *kernel.outer, "main_2", w(mark + 7, 1), "main")
    rows += [*kernel.outer, *kernel.run("main_2", w(mark + 256 + 7, 1), "inner", "inner_2")]
    services = (
        Service("outer_marked", 7, ServiceKind.CALL, ("outer",)),
        service("outer"),
        service("inner"),
    )
    file = replace(SERVICES, services=services, scheduler_lock=None)
    resolved = resolve(file, kernel.image, kernel.table)
    windows, finder = find(resolved, [*rows, *kernel.run("main_3")])
    assert names(windows) == ["outer", "outer_marked", "inner"]
    assert finder.inside == {("outer", "inner"): 1, ("outer_marked", "inner"): 1}
    with pytest.raises(InputError, match="begin mark of outer_marked inside a call of outer"):
        find(resolved, [*kernel.run("main"), *kernel.outer[:3], w(mark + 7, 1)])
