"""The page's evaluator against the estimate on random hardware and kernels, at other numbers."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
import test_engine_refills_and_waits as refills
import test_engine_waits as waits
from evaluator_cases import QUICK, Both, InMemory, compared
from hypothesis import given
from hypothesis import strategies as st
from needs import need
from test_engine_figures import kernels
from test_engine_prices import kernel, maps, profiles, vectors

from wcetchar.errors import InputError
from wcetchar.formula import names as formula_names
from wcetchar.formula import parse
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Evidence,
    Joint,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
    TraceSection,
    Word,
)
from wcetchar.model.expression import ONE
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Parameter, ParameterKind, ServiceKind

seeds = st.integers(0, 10**6)


@pytest.fixture(autouse=True, scope="module")
def node() -> None:
    need("node", "nodejs")


def agree(
    known: Characterization, profile: HardwareProfile, where: SectionMap, seed: int
) -> tuple[int, list[str]]:
    try:
        both = Both(known, InMemory(profile), where)
    except InputError:
        return 0, []  # no estimate either
    return compared(both, both.random_cases(12, random.Random(seed), of_each=2))


@given(kernels(), profiles(), maps, seeds)
@QUICK
def test_stretches_chains_and_intervals(
    known: Characterization, profile: HardwareProfile, where: SectionMap, seed: int
) -> None:
    _, reasons = agree(known, profile, where, seed)
    # What nothing is decided by is always inside; tolerances can come to less than nothing.
    assert all("recorded" not in reason for reason in reasons), Counter(reasons)


@given(
    waits.buses,
    refills.caches_,
    st.lists(st.tuples(waits.steps, refills.lines), min_size=1, max_size=6),
    waits.outsides,
    seeds,
)
@QUICK
def test_lines_of_an_instruction_cache_behind_writes(
    bus: waits.Bus,
    caches: refills.Caches,
    run: list[tuple[waits.Step, refills.Line | None]],
    outside: waits.Outside | None,
    seed: int,
) -> None:
    known, profile = refills.described(bus, caches, run, outside)
    agree(known, profile, waits.PLACED, seed)


PARAMETERS = (
    Parameter("N", ParameterKind.STATE, 0, 6, "tasks that wait"),
    Parameter("c", ParameterKind.CASE, 0, 1, "who goes on"),
)
GRID = tuple((n, c) for n in (0, 2, 6) for c in (0, 1))
FORMULAS = ("1", "N", "max(N - 1, 0)", "ceil((N + 2)/3)", "floor(log2(N + 1))*2", "c*(N > 3)")
joints = st.none() | st.frozensets(st.sampled_from(Joint))
blockings = st.sampled_from(
    (Blocking(), Blocking(interrupts=True), Blocking(preemption=True), Blocking(priority=64))
)


@st.composite
def counts(draw: st.DrawFn) -> Counts:
    """Formulas, or a table; with supervisor calls."""
    calls = AccessVector({CoreEvent(".text", EventKind.SUPERVISOR_CALL): draw(st.integers(0, 2))})

    def row(repetition: str) -> TraceSection:
        return TraceSection(draw(blockings), draw(vectors) + calls, parse(repetition))

    if draw(st.booleans()):
        some = st.lists(st.sampled_from(FORMULAS), min_size=1, max_size=3)
        return Counts(tuple(map(row, draw(some))))
    kept = GRID[: draw(st.integers(3, len(GRID)))]
    return Counts(points=tuple(TablePoint(values, (row("1"), row("1"))) for values in kept))


@st.composite
def linked(draw: st.DrawFn) -> Characterization:
    """Services that go on with what others block, by whatever way."""
    services = []
    for name in "abc":
        stretches = tuple(
            BlockingStretch(
                draw(st.sampled_from(StretchKind)),
                f"{name}+{place}",
                "its end",
                draw(counts()),
                goes_on_from=draw(joints),
                goes_on_in=draw(joints),
            )
            for place in range(draw(st.integers(0, 3)))
        )
        services.append(
            ServiceCharacterization(
                name,
                ServiceKind.CALL,
                draw(st.sampled_from(Word)),
                PARAMETERS if draw(st.booleans()) else PARAMETERS[:1],
                Counts(),
                stretches,
                evidence=Evidence(fitted=tuple(GRID[: draw(st.integers(0, 4))])),
                notes=(f"of {name}",),
                stretches_known=draw(st.booleans()),
            )
        )
        services[-1] = replace(services[-1], counts=draw(counts()))
    services = [one if len(one.parameters) == 2 else _without_case(one) for one in services]
    return replace(kernel(), services=tuple(services))


def _without_case(service: ServiceCharacterization) -> ServiceCharacterization:
    """Counts of the other parameter alone."""

    def less(one: Counts) -> Counts:
        rows = tuple(
            row if formula_names(row.repetition) <= {"N"} else replace(row, repetition=ONE)
            for row in one.rows
        )
        first = {point.values[:1]: replace(point, values=point.values[:1]) for point in one.points}
        return Counts(rows, tuple(first.values()))

    seen = dict.fromkeys(values[:1] for values in service.evidence.fitted)
    return replace(
        service,
        counts=less(service.counts),
        stretches=tuple(replace(one, counts=less(one.counts)) for one in service.stretches),
        evidence=Evidence(fitted=tuple(seen)),
    )


@given(linked(), profiles(), maps, st.integers(0, 8), seeds)
@QUICK
def test_tables_cases_and_supervisor_calls(
    known: Characterization, profile: HardwareProfile, where: SectionMap, n: int, seed: int
) -> None:
    calls = {EventKind.SUPERVISOR_CALL: Quantity.exactly(3, Unit.CYCLES)}
    core = replace(profile.core, events={**profile.core.events, **calls})
    where = replace(where, parameters={"N": n})
    agree(known, replace(profile, core=core), where, seed)


@given(
    waits.buses, st.lists(waits.steps, min_size=1, max_size=8), waits.outsides, st.booleans(), seeds
)
@QUICK
def test_write_buffers_divided_clocks_and_interference(
    bus: waits.Bus,
    run: list[waits.Step],
    outside: waits.Outside | None,
    counted: bool,
    seed: int,
) -> None:
    known = waits.kernel_of(waits.keys_of(run, counted), counted)
    agree(known, waits.board_of(bus, outside), waits.PLACED, seed)
