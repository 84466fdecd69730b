"""Activations of a thread: what belongs to one, and what is refused, by traces written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import BEGIN, END, PARAMETER, SCRIPT, SERVICES, TABLE, HandTrace, Row, i, load, mark, w
from test_windows_threads import (
    ONE,
    SOURCE,
    TWO,
    Labels,
    copying_tick,
    exception,
    find,
    pcs,
    switched,
)

from wcetchar.analysis.activations import cut_at_one_place
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.errors import InputError
from wcetchar.model.characterization import Characterization, Word
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import Service, ServiceKind, ServicesFile
from wcetchar.model.trace import Event

# `outer` leaves the marks; `worker` is the other thread, which waits in `wait`.
THREADS = (
    SOURCE
    + """
function outer
  strb r0, [r4]
outer_2: strb r0, [r5]
outer_3: nop
outer_4: strb r0, [r6]
outer_5: b.n outer
.size outer, .-outer
function worker
  nop
worker_2: bl wait
worker_3: nop
worker_4: b.n worker_2
.size worker, .-worker
function wait
  str r0, [r1]
wait_2: nop
wait_3: bx lr
.size wait, .-wait
"""
)
AGAIN = ("wait_2", "wait_3", "worker_3", "worker_4", "worker_2", "wait")
"""One activation."""

Loaded = tuple[Image, InstructionTable]


def services(mark: int | None = 7) -> ServicesFile:
    service, *_ = SERVICES.services
    values = service.parameters if mark is not None else ()
    worker = Service("work", mark, ServiceKind.ACTIVATION, ("worker",), values)
    inner = replace(service, name="inner", mark=9, entries=("wait",), parameters=())
    return replace(SERVICES, services=(worker, inner))


@pytest.fixture
def loaded(assemble: Callable[..., Path]) -> Loaded:
    return load(assemble(THREADS, SCRIPT))


@pytest.fixture
def at(loaded: Loaded) -> Labels:
    return {s.name: s.address for s in loaded[0].symbols}


@pytest.fixture
def marked(loaded: Loaded) -> Resolved:
    return resolve(services(), *loaded)


@pytest.fixture
def unmarked(loaded: Loaded) -> Resolved:
    return resolve(services(None), *loaded)


def to_worker(at: Labels) -> list[Row]:
    return switched(at, ONE, TWO)


def to_outer(at: Labels) -> list[Row]:
    return switched(at, TWO, ONE)


def waits(at: Labels) -> list[Row]:
    return [i(at["worker_2"]), i(at["wait"]), w(TABLE)]


def started(at: Labels) -> list[Row]:
    """The worker begins, and waits."""
    first = [i(at["outer_5"]), *to_worker(at), i(at["worker"])]
    return [*first, *waits(at), *to_outer(at)]


def activation(at: Labels) -> list[Row]:
    return [i(at[name]) for name in AGAIN[:4]] + waits(at)


def begin(at: Labels, value: int = 5) -> list[Row]:
    return [i(at["outer"]), mark(PARAMETER, value), i(at["outer_2"]), mark(BEGIN, 7)]


def end(at: Labels) -> list[Row]:
    return [i(at["outer_3"]), i(at["outer_4"]), mark(END, 7), i(at["outer_5"])]


def measured(at: Labels, rows: list[Row], value: int = 5) -> list[Row]:
    return [*begin(at, value), *to_worker(at), *rows, *to_outer(at), *end(at)]


def addresses(at: Labels, names: tuple[str, ...]) -> list[int]:
    return [at[name] for name in names]


@pytest.mark.parametrize("size", [1, 2, 7, 500])
def test_from_being_switched_in_until_being_switched_away(
    marked: Resolved, at: Labels, size: int
) -> None:
    rows = [*started(at), *measured(at, activation(at)), *measured(at, activation(at), 6)]
    (one, two), finder = find(marked, rows, size)
    assert [one.name, two.name] == ["work", "work"]
    assert [one.values, two.values] == [(5,), (6,)]
    assert pcs(one) == pcs(two) == addresses(at, AGAIN)
    # The call that it waits in is still open when it goes on.
    assert one.calls == (at["worker_3"],)
    assert finder.attributed == {"work": 12}
    assert finder.attributed.total() + finder.unattributed.total() == finder.traced


def test_what_others_do_meanwhile_is_no_part(marked: Resolved, at: Labels) -> None:
    """Nor does a switch that goes on with the same thread end it."""
    rows = activation(at)
    disturbed = [*rows[:2], *copying_tick(at), *switched(at, TWO, TWO), *rows[2:]]
    (window,), _ = find(marked, [*started(at), *measured(at, disturbed)])
    assert pcs(window) == addresses(at, AGAIN)


def test_switched_away_before_its_first_instruction(marked: Resolved, at: Labels) -> None:
    twice = [*to_outer(at), *to_worker(at), *activation(at)]
    (window,), _ = find(marked, [*started(at), *measured(at, twice)])
    assert pcs(window) == addresses(at, AGAIN)


def test_two_activations_between_marks(marked: Resolved, at: Labels) -> None:
    rows = [
        *started(at), *begin(at), *to_worker(at), *activation(at), *to_outer(at), i(at["outer_3"]),
        *to_worker(at),
    ]  # fmt: skip
    with pytest.raises(InputError, match="switched in a second time between its marks"):
        find(marked, rows)


def test_the_thread_must_be_known(marked: Resolved, at: Labels) -> None:
    with pytest.raises(InputError, match="no thread of work was switched in between") as caught:
        find(marked, measured(at, activation(at)))
    assert caught.value.hint == "the trace must show that thread from its start on"
    with pytest.raises(InputError, match="no thread of work was switched in between"):
        find(marked, [*started(at), *begin(at), *end(at)])


@pytest.mark.parametrize("lost", [(Event.GAP, 3, 0), (Event.UNDECODED, 0x7000, 0)])
def test_a_thread_of_which_a_part_is_lost(marked: Resolved, at: Labels, lost: Row) -> None:
    """What the trace leaves out may be the return of the thread's function."""
    away = to_outer(at)
    rows = [*started(at)[: -len(away)], lost, *away, *measured(at, activation(at))]
    with pytest.raises(InputError, match="no thread of work was switched in between"):
        find(marked, rows)


def test_who_leaves_the_marks(marked: Resolved, at: Labels) -> None:
    inside = [i(at["wait_2"]), mark(END, 7)]
    with pytest.raises(InputError, match="end mark of work before it returned"):
        find(marked, [*started(at), *begin(at), *to_worker(at), *inside])
    by_handler = exception(15, i(at["tick"]), mark(END, 7))
    with pytest.raises(InputError, match="before its thread was switched away"):
        find(marked, [*started(at), *begin(at), *to_worker(at), i(at["wait_2"]), *by_handler])
    itself = [i(at["wait_2"]), mark(PARAMETER, 5), i(at["wait_3"]), mark(BEGIN, 7)]
    with pytest.raises(InputError, match="leaves its begin mark itself"):
        find(marked, [*started(at), i(at["outer"]), *to_worker(at), *itself])
    with pytest.raises(InputError, match="ends before the end mark of work"):
        find(marked, [*started(at), *begin(at), *to_worker(at), *activation(at), *to_outer(at)])
    with pytest.raises(InputError, match="a second begin mark of work"):
        find(marked, [*started(at), *begin(at), i(at["outer_3"]), *begin(at)])
    with pytest.raises(InputError, match="ends inside work"):
        find(marked, [*started(at), *begin(at), *to_worker(at), *activation(at)])


def test_a_call_inside_an_activation(marked: Resolved, at: Labels) -> None:
    inner = [i(at["wait_2"]), mark(BEGIN, 9)]
    with pytest.raises(InputError, match="begin mark of inner inside an activation of work"):
        find(marked, [*started(at), *begin(at), *to_worker(at), *inner])


def test_an_activation_inside_a_call(marked: Resolved, at: Labels) -> None:
    first = [i(at["outer_5"]), *to_worker(at), i(at["worker"]), mark(BEGIN, 9)]
    with pytest.raises(InputError, match="the thread of work is switched in inside inner"):
        find(marked, [*first, *waits(at), *to_outer(at), *begin(at), *to_worker(at)])


def test_a_trace_without_exceptions(marked: Resolved, unmarked: Resolved, at: Labels) -> None:
    with pytest.raises(InputError, match="the trace does not show exceptions"):
        find(marked, begin(at), has_exceptions=False)
    found, finder = find(unmarked, [i(at["worker"]), *waits(at)], has_exceptions=False)
    assert not found
    assert [reason for _, reason in finder.given_up] == [
        "the trace does not show exceptions, so not when a thread is switched in"
    ]


def test_the_function_returns(marked: Resolved, at: Labels) -> None:
    """A function that was called: what comes after its return is not the service's any more."""
    called = [i(at["outer_5"]), *to_worker(at), i(at["task"]), i(at["start_call"])]
    entered = [*called, i(at["worker"]), *waits(at), *to_outer(at)]
    (window,), _ = find(marked, [*entered, *measured(at, activation(at))])
    assert pcs(window) == addresses(at, AGAIN)
    left = [i(at["wait_2"]), i(at["wait_3"]), i(at["start_4"])]
    with pytest.raises(InputError, match="the function of the thread of work returned"):
        find(marked, [*entered, *begin(at), *to_worker(at), *left])
    with pytest.raises(InputError, match="no thread of work was switched in"):
        find(marked, [
            *entered, i(at["outer"]), *to_worker(at), *left, *to_outer(at), i(at["outer_2"]),
            i(at["outer_3"]), *measured(at, [i(at["start_5"])]),
        ])  # fmt: skip


# ---- without marks ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 500])
def test_every_activation_where_there_are_no_marks(
    unmarked: Resolved, at: Labels, size: int
) -> None:
    there = [i(at["outer_3"]), *to_worker(at)]
    rows = [
        *started(at), *there, *activation(at), *to_outer(at), *there, *activation(at),
        *to_outer(at), *there, i(at["wait_2"]),
    ]  # fmt: skip
    found, finder = find(unmarked, rows, size)
    first = addresses(at, ("worker", "worker_2", "wait"))
    assert [pcs(w) for w in found] == [first, addresses(at, AGAIN), addresses(at, AGAIN)]
    assert dict(finder.given_up) == {
        ("work", "the trace ended before its thread was switched away"): 1
    }
    assert finder.attributed == {"work": 15}
    assert finder.attributed.total() + finder.unattributed.total() == finder.traced


def test_a_thread_that_is_lost_is_said(unmarked: Resolved, at: Labels) -> None:
    rows = [
        *started(at), i(at["outer_3"]), *to_worker(at), *activation(at), *to_outer(at),
        i(at["outer_4"]), w(TWO), *to_worker(at), i(at["wait_2"]),
    ]  # fmt: skip
    found, finder = find(unmarked, rows)
    assert len(found) == 2
    ((_, reason),) = finder.given_up
    assert "does not show whether the thread is still the same" in reason


# ---- what is published --------------------------------------------------------------------------


def published(loaded: Loaded, rows: list[Row], mark: int | None = 7) -> Characterization:
    return characterize([HandTrace(rows)], *loaded, services(mark), tool="test", partial=True)


def test_published(loaded: Loaded, at: Labels) -> None:
    rows = started(at)
    for value in range(1, 17):
        rows += measured(at, activation(at), value)
    result = published(loaded, rows)
    (work,) = result.services
    assert (work.name, work.kind, work.word) == (
        "work", ServiceKind.ACTIVATION, Word.HIGH_WATER_MARK,
    )  # fmt: skip
    assert work.counts.is_formula
    assert work.evidence.windows == 16
    assert result.conservation.holds
    assert [n.name for n in result.not_characterized] == ["inner"]


def test_an_activation_that_another_thread_interrupts(loaded: Loaded, at: Labels) -> None:
    """Each part of it would be too little."""
    there = [i(at["outer_3"]), *to_worker(at)]
    whole = [*there, *activation(at), *to_outer(at)]
    rows = activation(at)
    parts = [*there, *rows[:3], *to_outer(at), *there, *rows[3:], *to_outer(at)]
    (work,) = published(loaded, [*started(at), *whole, *whole], None).services
    assert work.word is Word.HIGH_WATER_MARK
    (work,) = published(loaded, [*started(at), *whole, *parts], None).services
    assert work.word is Word.ESTIMATE
    assert any("not always switched in and away at one place" in note for note in work.notes)


def test_cut_at_one_place(loaded: Loaded, at: Labels) -> None:
    table = {x.address: x for x in loaded[1].instructions}
    wait, wait_2, worker, leaves, jumps = (
        table[at[name]] for name in ("wait", "wait_2", "worker", "wait_3", "worker_4")
    )
    assert cut_at_one_place([wait_2], [wait], ())
    assert cut_at_one_place([wait_2, worker], [wait], [worker.address])
    assert cut_at_one_place([worker], [wait], [worker.address])
    assert not cut_at_one_place([wait_2, worker], [wait], ())
    assert not cut_at_one_place([wait_2], [wait, worker], ())
    assert not cut_at_one_place([worker], [wait], ())
    # Where it goes on is not known from the instruction alone.
    assert not cut_at_one_place([worker], [leaves], [worker.address])
    assert not cut_at_one_place([table[at["worker_2"]]], [jumps], ())
