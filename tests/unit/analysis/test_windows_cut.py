"""Calls that another thread cuts: what belongs to which part, by traces written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import END, SCRIPT, SERVICES, STACK, TABLE, HandTrace, Row, i, load, mark, r, w
from test_windows_threads import (
    ONE,
    SOURCE,
    TWO,
    Labels,
    begin,
    copying_tick,
    end,
    enter,
    find,
    leave,
    pcs,
    switched,
)

from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.errors import InputError
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import Part, ServiceKind, ServicesFile

Loaded = tuple[Image, InstructionTable]

BEFORE = ("service", "service_2", "copied")
AFTER = ("copied_2", "copied_3", "service_3", "service_4")


def services(kind: ServiceKind) -> ServicesFile:
    service, tick = SERVICES.services
    return replace(SERVICES, services=(replace(service, kind=kind), tick))


@pytest.fixture
def loaded(assemble: Callable[..., Path]) -> Loaded:
    return load(assemble(SOURCE, SCRIPT))


@pytest.fixture
def at(loaded: Loaded) -> Labels:
    return {s.name: s.address for s in loaded[0].symbols}


@pytest.fixture
def blocking(loaded: Loaded) -> Resolved:
    return resolve(services(ServiceKind.BLOCKING_CALL), *loaded)


@pytest.fixture
def final(loaded: Loaded) -> Resolved:
    return resolve(services(ServiceKind.FINAL_CALL), *loaded)


def until_switch(at: Labels, value: int = 5) -> list[Row]:
    return [*begin(at, value), *enter(at), i(at["copied"]), w(STACK - 16), w(STACK - 12)]


def from_resume(at: Labels) -> list[Row]:
    return [
        i(at["copied_2"]), w(TABLE), i(at["copied_3"]), r(STACK - 16), r(STACK - 12),
        *leave(at), *end(at),
    ]  # fmt: skip


def there_and_back(at: Labels) -> list[Row]:
    return [*switched(at, ONE, TWO), i(at["lock"]), *switched(at, TWO, ONE)]


def addresses(at: Labels, names: tuple[str, ...]) -> list[int]:
    return [at[name] for name in names]


@pytest.mark.parametrize("size", [1, 2, 7, 500])
def test_cut_where_another_thread_runs(blocking: Resolved, at: Labels, size: int) -> None:
    rows = [*until_switch(at), *there_and_back(at), *from_resume(at)]
    (one, two), finder = find(blocking, rows, size)
    assert (one.part, two.part) == (Part.UNTIL_SWITCH, Part.UNTIL_RETURN)
    assert (one.name, two.name) == ("service/call", "service/resume")
    assert (pcs(one), pcs(two)) == (addresses(at, BEFORE), addresses(at, AFTER))
    assert one.values == two.values == (5,)
    assert not one.switched
    assert not two.switched
    # Seven own instructions; the switches and the other thread are no part of the service.
    assert finder.attributed == {"service": 7}
    assert finder.attributed.total() + finder.unattributed.total() == finder.traced


def test_interrupts_do_not_cut(blocking: Resolved, at: Labels) -> None:
    """Nor does a switch handler that goes on with the same thread."""
    same = switched(at, ONE, ONE)
    rows = [
        *until_switch(at), *copying_tick(at), *same, *there_and_back(at), *copying_tick(at), *same,
        *from_resume(at),
    ]  # fmt: skip
    (one, two), _ = find(blocking, rows)
    assert (pcs(one), pcs(two)) == (addresses(at, BEFORE), addresses(at, AFTER))


def test_several_switches(blocking: Resolved, at: Labels) -> None:
    rest = from_resume(at)
    rows = [
        *until_switch(at), *there_and_back(at),
        *there_and_back(at),  # switched away again at once: nothing was executed in between
        *rest[:2], *there_and_back(at), *rest[2:3], *there_and_back(at), *rest[3:],
    ]  # fmt: skip
    # The reads of copied_3 come behind a switch here, which no core does; only pcs are looked at.
    found, _ = find(blocking, rows)
    assert [w.name for w in found] == [
        "service/call", "service/between", "service/between", "service/resume",
    ]  # fmt: skip
    assert [pcs(w) for w in found] == [
        addresses(at, part)
        for part in (BEFORE, ("copied_2",), ("copied_3",), ("service_3", "service_4"))
    ]


def test_switched_away_right_behind_a_return(blocking: Resolved, at: Labels) -> None:
    """That of the call: it had ended before. That of a function which it called: it goes on."""
    begun = [*until_switch(at), *there_and_back(at)]
    returned = [*from_resume(at)[:-3], *there_and_back(at), *end(at)]
    found, finder = find(blocking, [*begun, *returned])
    assert [w.name for w in found] == ["service/call", "service/resume"]
    assert [pcs(w) for w in found] == [addresses(at, BEFORE), addresses(at, AFTER)]
    assert finder.attributed == {"service": 7}
    inner = from_resume(at)
    found, _ = find(blocking, [*begun, *inner[:5], *there_and_back(at), *inner[5:]])
    assert [w.name for w in found] == ["service/call", "service/between", "service/resume"]
    parts = (BEFORE, ("copied_2", "copied_3"), ("service_3", "service_4"))
    assert [pcs(w) for w in found] == [addresses(at, part) for part in parts]
    assert found[2].calls == ()
    with pytest.raises(InputError, match="no other thread ran in between"):
        find(blocking, [*until_switch(at), *returned])


def test_a_blocking_call_that_does_not_block(blocking: Resolved, at: Labels) -> None:
    with pytest.raises(InputError, match="no other thread ran in between"):
        find(blocking, [*until_switch(at), *from_resume(at)])


def test_a_final_call(final: Resolved, at: Labels) -> None:
    """The other thread leaves the end mark."""
    rows = [*until_switch(at), *switched(at, ONE, TWO), *end(at), i(at["lock"])]
    (window,), finder = find(final, rows)
    assert window.name == "service/call"
    assert pcs(window) == addresses(at, BEFORE)
    assert finder.attributed == {"service": 3}


def test_a_final_call_again_in_the_memory_of_the_first(final: Resolved, at: Labels) -> None:
    once = [*until_switch(at), *switched(at, ONE, TWO), *end(at), *switched(at, TWO, ONE)]
    found, _ = find(final, [*once, i(at["start"]), *once[1:], i(at["lock"])])
    assert [pcs(window) for window in found] == [addresses(at, BEFORE)] * 2


def test_a_final_call_that_is_marked_wrongly(final: Resolved, at: Labels) -> None:
    gone = [*until_switch(at), *switched(at, ONE, TWO)]
    with pytest.raises(InputError, match="ends before the end mark of service"):
        find(final, gone)
    with pytest.raises(InputError, match="without its begin mark"):
        find(final, [*gone, *end(at), i(at["start_4"]), mark(END, 7)])
    with pytest.raises(InputError, match="a second begin mark of service"):
        find(final, [*gone, *begin(at)])
    with pytest.raises(InputError, match="service returned"):
        find(final, [*until_switch(at), *from_resume(at)])
    with pytest.raises(InputError, match="without its begin mark"):
        find(final, [*until_switch(at), i(at["start_4"]), mark(END, 7)])


def test_published(loaded: Loaded, at: Labels) -> None:
    rows = [
        row
        for value in range(1, 17)
        for row in (*until_switch(at, value), *there_and_back(at), *from_resume(at))
    ]
    file = services(ServiceKind.BLOCKING_CALL)
    result = characterize([HandTrace(rows)], *loaded, file, tool="test", partial=True)
    assert [(s.name, s.part, s.kind) for s in result.services] == [
        ("service/call", Part.UNTIL_SWITCH, ServiceKind.BLOCKING_CALL),
        ("service/resume", Part.UNTIL_RETURN, ServiceKind.BLOCKING_CALL),
    ]
    assert [n.name for n in result.not_characterized] == ["tick"]
    assert result.conservation.holds
    for service in result.services:
        assert service.counts.is_formula
        assert service.evidence.windows == 16
        assert any("the parts' sum" in note for note in service.notes)


def test_a_part_that_no_trace_shows(loaded: Loaded, at: Labels) -> None:
    """The trace of a final call is no trace of a blocking one."""
    rows = [*until_switch(at), *switched(at, ONE, TWO), i(at["lock"])]
    file = services(ServiceKind.BLOCKING_CALL)
    with pytest.raises(InputError, match="ends inside service"):
        characterize([HandTrace(rows)], *loaded, file, tool="test", partial=True)
