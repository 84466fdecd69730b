"""Bounds of path models behind a caller's writes, against a core and a bus that are stepped.

A path model counts no successions: the core is taken to wait for each write itself. Those that are
under way when a path begins are the caller's; when what is held off begins, they are of before it.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st
from path_models import OUT, model_of
from test_engine_waits import (
    PLACED,
    Bus,
    Outside,
    Step,
    beginnings,
    board_of,
    buses,
    kernel_of,
    keys_of,
    load,
    outsides,
    simulated,
    steps,
    store,
    worst,
)

from wcetchar.engine.path_blocking import longest_blocking
from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.paths import bound_of
from wcetchar.engine.prices import PriceVector
from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import STALL_EDITION, StretchKind
from wcetchar.model.path_model import PathModel


def straight(run: list[Step], held: range) -> PathModel:
    """A node for each step; in those of ``held`` interrupts are masked."""
    vectors = []
    for number in range(len(run)):
        keys = keys_of(run[: number + 1], False)[len(keys_of(run[:number], False)) :]
        vectors.append(AccessVector([(key, 1) for key in keys]))
    nodes = range(len(run))
    edges = [(OUT, 0), *((n, n + 1) for n in nodes[:-1]), (len(run) - 1, OUT)]
    model = model_of([0 for _ in run], edges, blocked=held)
    return replace(model, vectors=tuple(vectors), stalls=STALL_EDITION)


def prices(bus: Bus, run: list[Step], outside: Outside | None, model: PathModel) -> PriceVector:
    kernel = kernel_of(keys_of(run, False), False)
    return path_prices(kernel, board_of(bus, outside), PLACED, [model])


def longest(bus: Bus, run: list[Step], outside: Outside | None, held: range) -> int:
    """From the first step of ``held`` to the last one, over how the run may begin."""
    return max(
        simulated(bus, run[: held.stop], *begins, outside, offset)
        - simulated(bus, run[: held.start], *begins, outside, offset)
        for *begins, offset in beginnings(bus, outside)
    )


@st.composite
def held_in_runs(draw: st.DrawFn) -> tuple[list[Step], range]:
    run = draw(st.lists(steps, min_size=1, max_size=6))
    first = draw(st.integers(0, len(run) - 1))
    return run, range(first, draw(st.integers(first, len(run) - 1)) + 1)


@settings(max_examples=150, deadline=None)
@given(buses, held_in_runs(), outsides)
@example(Bus((4, 1), (2, 1), 1, 1), ([load()], range(1)), None)
@example(Bus((4, 1), (2, 1), 0, 1), ([store(), load()], range(1, 2)), None)
@example(Bus((6, 1), (1, 1), 1, 3), ([store(), store(), store(), load(1)], range(3, 4)), None)
@example(Bus((3, 1), (1, 1), 1, 2), ([load(2)], range(1)), Outside(0, 9))
@example(Bus((1, 1), (2, 2), 1, 2), ([load()], range(1)), None)
@example(Bus((1, 1), (1, 1), 4, 0), ([load(), load(1)], range(1, 2)), None)
@example(Bus((1, 1), (1, 1), 2, 1), ([load(1)] * 6, range(1, 2)), None)
def test_no_path_and_nothing_held_off_takes_longer(
    bus: Bus, held_in_run: tuple[list[Step], range], outside: Outside | None
) -> None:
    run, held = held_in_run
    model = straight(run, held)
    at = prices(bus, run, outside, model)
    assert worst(bus, run, outside) <= bound_of(model, at, {}).time
    assert (
        longest(bus, run, outside, held)
        <= longest_blocking(model, at, {}, StretchKind.INTERRUPTS).time
    )


def test_behind_the_slowest_write_it_is_reached() -> None:
    """A write of 8 cycles and 1 until the edge: a path that reads at once waits for all of it but
    the cycle in which it was issued."""
    bus, run = Bus((4, 1), (2, 1), 0, 1), [load()]
    model = straight(run, range(1))
    assert bound_of(model, prices(bus, run, None, model), {}).time - worst(bus, run, None) <= 2
