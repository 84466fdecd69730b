"""Where a stretch goes on in another activity: by a tiny RISC-V kernel, written out by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from listing import MARK, Row, batches, i, load, mark
from riscv_listing import (
    CALL,
    SCRIPT,
    SERVICES,
    SOURCE,
    STACK_A,
    STACK_B,
    TIMER,
    A,
    B,
    Labels,
    begin,
    end,
    run,
    trap,
)

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import noticed, stretches
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.model.characterization import Joint, StretchKind
from wcetchar.model.service import SchedulerLock, ServiceKind, ServicesFile
from wcetchar.model.trace import Event

READS = 6
"""Of a trap of the listing: instructions behind its last write, with one beside."""
ON_A, ON_B = (A, STACK_A), (B, STACK_B)
Shown = tuple[str, str, Joint | None, Joint | None]


def resolved_by(assemble: Callable[[str, str], Path], services: ServicesFile) -> Resolved:
    image, table = load(assemble(SOURCE, SCRIPT))
    return resolve(services, image, table)


@pytest.fixture
def resolved(assemble_riscv: Callable[[str, str], Path]) -> Resolved:
    return resolved_by(assemble_riscv, SERVICES)


def labels(resolved: Resolved) -> Labels:
    return {s.name: s.address for s in resolved.image.symbols}


def find(resolved: Resolved, rows: list[Row], size: int = 64) -> tuple[list[Window], WindowFinder]:
    finder = WindowFinder(resolved, "hand")
    return list(find_windows(batches(rows, size), finder)), finder


def shown(
    window: Window, resolved: Resolved, kind: StretchKind = StretchKind.INTERRUPTS
) -> list[Shown]:
    """(first, last, goes on from, goes on in) of each stretch."""
    names = {address: name for name, address in reversed(labels(resolved).items())}
    labeller = Labeller(resolved, "hand")
    labelled = labeller.label(window)
    table = resolved.table.instructions
    return [
        (names[table[s.begin].address], names[table[s.end].address], s.goes_on_from, s.goes_on_in)
        for s in stretches(
            window, labelled, labeller.blockings, labeller.is_call, labeller.exceptions
        )
        if s.kind is kind
    ]


def rows(at: Labels, *called: Row, before: str = "boot") -> list[Row]:
    return [
        i(at[before]), *begin(at), *run(at, "service_2", "service_3"), *called,
        i(at["service_4"]), i(at["service_5"]), (Event.READ, STACK_A + 12, 4), i(at["service_6"]),
        *end(at),
    ]  # fmt: skip


def switches(at: Labels) -> list[Row]:
    """A is switched away by its call, and B lets interrupts in and gives the processor back."""
    return [
        *trap(at, CALL, ON_A, ON_B), *run(at, "other", "other_2"), *trap(at, CALL, ON_B, ON_A),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 3, 64])
@pytest.mark.parametrize("kind", StretchKind)
def test_a_switch_ends_one_stretch_and_begins_another(
    resolved: Resolved, size: int, kind: StretchKind
) -> None:
    """csrci takes effect behind itself: ecall and what comes after it are masked."""
    at = labels(resolved)
    (window,), _ = find(resolved, rows(at, *switches(at)), size)
    assert shown(window, resolved, kind) == [
        ("service_3", "service_3", None, Joint.HANDLER),
        ("service_4", "service_4", Joint.THREAD, None),
    ]


def test_a_handler_that_comes_back_is_inside(resolved: Resolved) -> None:
    """It might have switched: what ran up to the call is a stretch as well, and what ran behind it
    another thread may be switched in to."""
    at = labels(resolved)
    (window,), _ = find(resolved, rows(at, *trap(at, CALL, ON_A, ON_A)))
    assert shown(window, resolved) == [
        ("service_3", "service_4", None, None),
        ("service_3", "service_3", None, Joint.HANDLER),
        ("service_4", "service_4", Joint.THREAD, None),
    ]


@pytest.mark.parametrize("switched", [*itertools.product((False, True), repeat=3)])
def test_each_of_several_calls_might_switch(
    assemble_riscv: Callable[[str, str], Path], switched: tuple[bool, ...]
) -> None:
    """Wherever handlers switch of those that came back: what is executed in one go then is part of
    a stretch that goes on from there, and in there, too. Where one did switch, nothing is both."""
    calls = ["service_3", "second", "third"]
    source = SOURCE.replace(
        "service_3: ecall\n", "".join(f"{one}: ecall\n{one}_nop: nop\n" for one in calls)
    )
    resolved = resolved_by(lambda _, script: assemble_riscv(source, script), SERVICES)
    at = labels(resolved)
    came = dict(zip(calls, switched, strict=True))
    called = [
        row
        for one, away in came.items()
        for row in (
            *run(at, one),
            *(switches(at) if away else trap(at, CALL, ON_A, ON_A)),
            *run(at, f"{one}_nop"),
        )
    ]
    behind = [
        i(at["boot"]), *begin(at), *run(at, "service_2"), *called, i(at["service_4"]),
        i(at["service_5"]), (Event.READ, STACK_A + 12, 4), i(at["service_6"]), *end(at),
    ]  # fmt: skip
    (window,), _ = find(resolved, behind)
    order = [*itertools.chain.from_iterable((one, f"{one}_nop") for one in calls), "service_4"]
    published = [
        (order.index(first), order.index(last) + 1, before, after)
        for first, last, before, after in shown(window, resolved)
    ]
    cuts = [2 * n + 1 for n in range(3)]
    away = {cut for cut, one in zip(cuts, switched, strict=True) if one}
    for first, last in itertools.combinations((0, *cuts, len(order)), 2):
        if away & set(range(first + 1, last)):
            continue
        joints = Joint.THREAD if first else None, Joint.HANDLER if last < len(order) else None
        assert any(f <= first and last <= e and joints == tuple(j) for f, e, *j in published)
    for first, last, *_ in published:
        assert not away & set(range(first + 1, last))
    assert len(set(published)) == len(published)


def test_a_lock_of_the_scheduler_is_over_behind_a_switch(
    assemble_riscv: Callable[[str, str], Path],
) -> None:
    """A call from a thread that holds it comes back. Had its handler switched, the thread would go
    on without the lock, as long as interrupts are masked."""
    source = SOURCE.replace("service_2: csrci", "locked: jal lock\nservice_2: csrci").replace(
        "service_5: lw", "nop_1: nop\nunlocked: jal unlock\nservice_5: lw"
    )
    for name in ("lock", "unlock"):
        source += f"function {name}\n nop\n{name}_2: ret\n.size {name}, .-{name}\n"
    services = replace(SERVICES, scheduler_lock=SchedulerLock(("lock",), ("unlock",)))
    resolved = resolved_by(lambda _, script: assemble_riscv(source, script), services)
    at = labels(resolved)
    behind = [
        i(at["boot"]), *begin(at), *run(at, "locked", "lock", "lock_2", "service_2", "service_3"),
        *trap(at, CALL, ON_A, ON_A),
        *run(at, "service_4", "nop_1", "unlocked", "unlock", "unlock_2", "service_5"),
        (Event.READ, STACK_A + 12, 4), i(at["service_6"]), *end(at),
    ]  # fmt: skip
    (window,), _ = find(resolved, behind)
    tail = "service_4", "service_4", Joint.THREAD, None
    assert shown(window, resolved, StretchKind.PREEMPTION) == [
        ("lock", "unlock_2", None, None),
        ("lock", "service_3", None, Joint.HANDLER),
        tail,
    ]
    assert shown(window, resolved)[-1] == tail


def test_an_interrupt_is_its_own_activity(resolved: Resolved) -> None:
    """Taken where interrupts are let in, it is neither a cut nor goes on with anything."""
    at = labels(resolved)
    calm = [
        i(at["boot"]), i(at["driver"]), mark(0, 8), *begin(at, "calm"), i(at["calm_2"]),
        *trap(at, TIMER, ON_A, ON_A),
        i(at["calm_3"]), (Event.READ, STACK_A + 12, 4), i(at["calm_4"]), *end(at),
        i(at["driver_4"]), mark(1, 8),
    ]  # fmt: skip
    (handler, call), finder = find(resolved, calm)
    assert shown(call, resolved) == []
    assert shown(handler, resolved) == [("trap", "trap_11", None, None)]
    assert finder.switching == set()


def test_parts_of_a_blocking_call(assemble_riscv: Callable[[str, str], Path]) -> None:
    service, *others = SERVICES.services
    blocking = replace(service, kind=ServiceKind.BLOCKING_CALL)
    resolved = resolved_by(assemble_riscv, replace(SERVICES, services=(blocking, *others)))
    at = labels(resolved)
    (first, rest), _ = find(resolved, rows(at, *switches(at)))
    assert shown(first, resolved) == [("service_3", "service_3", None, Joint.HANDLER)]
    assert shown(rest, resolved) == [("service_4", "service_4", Joint.THREAD, None)]


@pytest.mark.parametrize("last", [Event.READ, Event.WRITE, Event.ACCESS])
@pytest.mark.parametrize("size", [1, 3, 64])
def test_whether_a_switch_read_last(
    assemble_riscv: Callable[[str, str], Path], last: Event, size: int
) -> None:
    """Told of what goes on behind a switch, and behind a handler that came back."""
    service, *others = SERVICES.services
    blocking = replace(service, kind=ServiceKind.BLOCKING_CALL)
    resolved = resolved_by(assemble_riscv, replace(SERVICES, services=(blocking, *others)))
    at = labels(resolved)

    def ended(rows: list[Row]) -> list[Row]:
        *others, returns, left = rows
        return [*others, returns, (last, STACK_A + 4, 4), left]

    found = find(resolved, rows(at, *ended(switches(at))), size)[0]
    assert [window.behind_reads for window in found] == [
        {},
        {0: READS} if last is Event.READ else {},
    ]
    resolved = resolved_by(assemble_riscv, SERVICES)
    (window,), _ = find(resolved, rows(at, *ended(trap(at, CALL, ON_A, ON_A))), size)
    assert window.behind_reads == ({3: READS} if last is Event.READ else {})


def between(count: int, masks: str) -> tuple[str, list[str]]:
    """The service lets interrupts in and masks them again ``count`` nops later, or calls the
    supervisor; labels of what is executed behind its ``service_2``."""
    nops = [f"nop_{n}" for n in range(count)]
    code = "service_3: csrsi mstatus, 8\n" + "".join(f"{one}: nop\n" for one in nops)
    again = ["again"] if masks != "ecall" else []
    code += "again: csrci mstatus, 8\n" if again else ""
    source = SOURCE.replace("service_3: ecall\n", code + "call: ecall\n")
    return source, ["service_2", "service_3", *nops, *again, "call"]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_interrupts_are_let_in_too_shortly(
    assemble_riscv: Callable[[str, str], Path], count: int
) -> None:
    """What masks again is let in, and so is what lies between; a core looks behind two of those."""
    source, executed = between(count, "csrci")
    resolved = resolved_by(lambda _, script: assemble_riscv(source, script), SERVICES)
    at = labels(resolved)
    behind = [
        i(at["boot"]), *begin(at), *run(at, *executed), *trap(at, CALL, ON_A, ON_A),
        i(at["service_4"]), i(at["service_5"]), (Event.READ, STACK_A + 12, 4), i(at["service_6"]),
        *end(at),
    ]  # fmt: skip
    (window,), _ = find(resolved, behind)
    first, whole = ("service_3", "call"), ("service_3", "service_4")
    behind_it = "service_4", "service_4", Joint.THREAD, None
    expected = [(*whole, None, None), (*first, None, Joint.HANDLER), behind_it]
    if count == 2:
        expected = [
            ("service_3", "service_3", None, None),
            ("call", "service_4", None, None),
            ("call", "call", None, Joint.HANDLER),
            behind_it,
        ]
    assert shown(window, resolved) == expected


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_supervisor_call_masks_as_soon(
    assemble_riscv: Callable[[str, str], Path], count: int
) -> None:
    """The call is let in, and its handler is not: the handler goes on with the stretch before. What
    it comes back to lets interrupts in as it returns."""
    source, executed = between(count, "ecall")
    resolved = resolved_by(lambda _, script: assemble_riscv(source, script), SERVICES)
    at = labels(resolved)
    for there in (trap(at, CALL, ON_A, ON_A), switches(at)):
        behind = [
            i(at["boot"]), *begin(at), *run(at, *executed), *there,
            i(at["service_4"]), i(at["service_5"]), (Event.READ, STACK_A + 12, 4),
            i(at["service_6"]), *end(at),
        ]  # fmt: skip
        (window,), finder = find(resolved, behind)
        last = ("service_3", None) if count == 2 else ("call", Joint.HANDLER)
        assert shown(window, resolved) == [("service_3", last[0], None, last[1])]
        # That handler is in no window here, and is told.
        assert finder.outside[Joint.HANDLER] >= 11


@given(st.lists(st.booleans(), max_size=24), st.sets(st.integers(1, 24)), st.integers(-1, 3))
def test_what_is_noticed_by_definition(held: list[bool], traps: set[int], unnoticed: int) -> None:
    """An instruction is held off as well if, no further from each other than that, one that is held
    off comes before it, and one, or a trap's handler, behind it."""
    trapped = {at for at in traps if at <= len(held)}
    found = noticed(np.array(held, dtype=bool), trapped, unnoticed)
    ends = {k for k, one in enumerate(held) if one} | trapped
    for k, one in enumerate(found.tolist()):
        pairs = [
            (j, m)
            for j in range(k)
            for m in range(k + 1, k + unnoticed + 3)
            if held[j] and m in ends and m - j - 1 <= unnoticed + 1 and not any(held[j + 1 : m])
        ]
        assert one == (held[k] or bool(pairs))


def test_the_handler_of_a_supervisor_call(resolved: Resolved) -> None:
    """It goes on from the call, and with a thread that it resumes masked; B it resumes as B was."""
    at = labels(resolved)
    opened, closed = [i(at["driver"]), mark(0, 9)], [i(at["driver_4"]), mark(1, 9)]
    windows, finder = find(resolved, [*opened, *rows(at, *switches(at)), *closed])
    first, second = (w for w in windows if w.service.name == "switch")
    # What B begins with is not known, and counts as masked.
    assert shown(first, resolved) == [("trap", "trap_11", Joint.HANDLER, Joint.THREAD)]
    assert shown(second, resolved) == [("trap", "trap_11", Joint.HANDLER, Joint.THREAD)]
    (entry,) = (n for n, s in resolved.entries.items() if any(x.name == "switch" for x in s))
    assert finder.switching == {(entry, CALL)}
    assert any(blocking.interrupts for blocking in finder.resumed)


def test_called_and_left_masked(resolved: Resolved) -> None:
    """Whoever calls with interrupts masked goes on with that."""
    at = labels(resolved)
    calm = [
        i(at["boot"]), *run(at, "service_2"), *begin(at, "calm"), i(at["calm_2"]),
        i(at["calm_3"]), (Event.READ, STACK_A + 12, 4), i(at["calm_4"]), *end(at),
    ]  # fmt: skip
    (window,), _ = find(resolved, calm)
    assert shown(window, resolved) == [("calm", "calm_4", Joint.CALLER, Joint.CALLER)]


def test_what_goes_on_outside_of_services_is_measured(resolved: Resolved) -> None:
    """The handler has 11 instructions; the thread that it goes on with is masked for one more. In a
    window, a service has it."""
    at = labels(resolved)
    _, inside = find(resolved, rows(at, *switches(at)))
    assert inside.outside == {Joint.HANDLER: 11}
    unmarked = [row for row in rows(at, *switches(at)) if row[1] not in (MARK + 7, MARK + 256 + 7)]
    windows, outside = find(resolved, unmarked)
    assert windows == []
    assert outside.outside == {Joint.HANDLER: 11, Joint.THREAD: 1}
