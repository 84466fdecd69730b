"""Figures against each other: verdicts by hand, and against every estimate of small ranges."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar import formula
from wcetchar.engine import estimate_at, price_vector
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.versus import Side, common_ranges, versus
from wcetchar.errors import InputError
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Evidence,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
    TraceSection,
    Word,
)
from wcetchar.model.hardware import Core, HardwareProfile, Quantity, Region, RegionKind, Unit
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, Parameter, ParameterKind, SectionKind, ServiceKind
from wcetchar.model.versus import Basis, Metric, MetricVersus, Range, Verdict

NS = 10
"""What one instruction costs."""
FREE = Blocking()
MASKED = Blocking(interrupts=True)
LOCKED = Blocking(preemption=True)


def row(repetition: str, instructions: int, blocking: Blocking = FREE) -> TraceSection:
    vector = AccessVector({CoreEvent(".text", EventKind.ALU): instructions})
    return TraceSection(blocking, vector, formula.parse(repetition))


def rows(*parts: tuple[str, int], blocking: Blocking = FREE) -> Counts:
    return Counts(rows=tuple(row(*part, blocking) for part in parts))


def table(points: Mapping[int, int]) -> Counts:
    return Counts(points=tuple(TablePoint((n,), (row("1", c),)) for n, c in sorted(points.items())))


def stretch(kind: StretchKind, *parts: tuple[str, int]) -> BlockingStretch:
    return BlockingStretch(kind, "a", "b", rows(*parts))


def service(
    counts: Counts,
    *stretches: BlockingStretch,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    evidence: Evidence | None = None,
    known: bool = True,
) -> ServiceCharacterization:
    names = {"N": (0, 10)} if ranges is None else ranges
    return ServiceCharacterization(
        name="s",
        kind=ServiceKind.CALL,
        word=Word.HIGH_WATER_MARK,
        parameters=tuple(
            Parameter(name, ParameterKind.STATE, low, high, "m")
            for name, (low, high) in names.items()
        ),
        counts=counts,
        stretches=stretches,
        evidence=evidence or Evidence(),
        stretches_known=known,
    )


def priced(found: ServiceCharacterization) -> PriceVector:
    cycles = Quantity.exactly(1, Unit.CYCLES)
    clock = Quantity.exactly(10**8, Unit.HERTZ)
    profile = HardwareProfile(
        name="p",
        description="",
        core=Core(name="c", clock=clock, events={EventKind.ALU: cycles}),
        regions={"r": Region("r", RegionKind.MEMORY, 32, {})},
    )
    characterization = Characterization(
        Kernel("k", "1"),
        "a",
        32,
        (SectionInfo(".text", SectionKind.CODE),),
        (found,),
        Provenance("t"),
    )
    return price_vector(characterization, profile, SectionMap("m", {".text": "r"}))


def compared(
    *services: ServiceCharacterization, fixed: Mapping[str, int] | None = None
) -> dict[Metric, MetricVersus]:
    sides = [Side(s, priced(s)) for s in services]
    ranges = common_ranges(services, fixed or {})
    return {m.metric: m for m in versus(sides, ranges, 0)}


def total(*services: ServiceCharacterization) -> MetricVersus:
    return compared(*services)[Metric.TOTAL]


def test_equal_is_said_of_equal_times_however_they_are_written() -> None:
    found = total(service(rows(("N", 3), ("1", 2))), service(rows(("N + 1", 2), ("N", 1))))
    (against,) = found.against
    assert (against.verdict, against.basis) == (Verdict.EQUAL, Basis.EVERY_POINT)
    assert (found.size, against.checked, found.best, found.complete) == (11, 11, (11, 11), 11)


def test_one_point_of_a_range_decides() -> None:
    # Alike but at N = 7, inside of the range: no corner shows it.
    found = total(service(rows(("1", 5))), service(rows(("1", 5), ("N == 7", 1))))
    (against,) = found.against
    assert (against.verdict, against.slower, against.faster) == (Verdict.NEVER_FASTER, 1, 0)
    assert against.worst.values == (7,)
    assert against.worst.times == (50, 60)
    assert found.best == (11, 10)


def test_of_too_many_observed_points_the_highest_are_not_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More than can be tried, and the one is slower from N = 185 on alone."""
    monkeypatch.setattr("wcetchar.engine.versus.LARGEST_GRID", 20)
    ranges = {"N": (0, 200)}
    seen = table({n: 6 if n >= 185 else 1 for n in range(201)})
    found = total(service(rows(("1", 5)), ranges=ranges), service(seen, ranges=ranges))
    (against,) = found.against
    assert against.checked == 20
    assert (against.verdict, against.slower, against.faster) == (Verdict.DEPENDS, 2, 18)
    assert against.worst.times == (50, 60)


def test_crossing_lines_depend_on_the_parameter() -> None:
    found = total(service(rows(("1", 20))), service(rows(("N", 4))))
    (against,) = found.against
    assert (against.verdict, against.slower, against.faster) == (Verdict.DEPENDS, 5, 5)
    assert against.worst.values == (10,)
    assert [corner.times for corner in found.corners] == [(200, 0), (200, 400)]
    assert found.best == (6, 6)


def test_the_worst_point_is_so_relative_to_the_base() -> None:
    found = total(service(rows(("1", 1), ("N", 1))), service(rows(("1", 2), ("N", 1))))
    (against,) = found.against
    assert against.worst.values == (0,)
    nothing = total(service(rows(("N", 1))), service(rows(("N", 1), ("N == 0", 1))))
    assert nothing.against[0].worst.values == (0,)  # from nothing to something


def test_a_range_that_cannot_be_tried_is_decided_by_formulas() -> None:
    wide = {"N": (0, 10**6)}
    base = service(rows(("1", 9), ("N", 3)), ranges=wide)
    for parts, verdict in (
        ((("N", 3), ("1", 8)), Verdict.NEVER_SLOWER),
        ((("N", 3), ("1", 9)), Verdict.EQUAL),
        ((("N", 3), ("1", 9), ("N == 77", 1)), Verdict.NEVER_FASTER),
    ):
        found = total(base, service(rows(*parts), ranges=wide))
        (against,) = found.against
        assert (against.verdict, against.basis) == (verdict, Basis.FORMULAS)
        assert found.size == 10**6 + 1


def test_what_formulas_do_not_decide_is_said_of_the_points_alone() -> None:
    wide = {"N": (0, 10**6)}
    evidence = Evidence(3, ((5,), (6,)), ((7,),))
    base = service(rows(("N", 3)), ranges=wide, evidence=evidence)
    other = service(rows(("N", 2), ("min(N, 100)", 1)), ranges=wide)
    (against,) = total(base, other).against
    assert (against.basis, against.checked) == (Basis.SOME_POINTS, 5)  # two corners, three observed
    assert (against.slower, against.faster) == (0, 1)


def test_fitted_evidence_decides_the_word() -> None:
    base = service(rows(("1", 5)), evidence=Evidence(1, ((7,),), ()))
    other = service(rows(("1", 5), ("N == 7", 1)), evidence=Evidence(1, ((6,),), ()))
    (against,) = total(base, other).against
    assert against.words == (Word.HIGH_WATER_MARK, Word.ESTIMATE)


def test_ranges_are_cut_to_what_all_have() -> None:
    base = service(rows(("N", 3)), ranges={"N": (0, 10)})
    other = service(rows(("N", 3), ("N == 3", 5), ("M", 1)), ranges={"N": (4, 20), "M": (1, 2)})
    assert common_ranges([base, other], {}) == (Range("N", 4, 10), Range("M", 1, 2))
    found = total(base, other)
    assert (found.size, found.against[0].slower) == (14, 14)
    fixed = compared(base, other, fixed={"N": 4})[Metric.TOTAL]
    assert [corner.values for corner in fixed.corners] == [(4, 1), (4, 2)]
    with pytest.raises(InputError, match=r"N=3 is not in 4\.\.10"):
        common_ranges([base, other], {"N": 3})
    apart = service(rows(("N", 3)), ranges={"N": (11, 12)})
    with pytest.raises(InputError, match="have no value in common"):
        common_ranges([base, apart], {})


def test_a_table_has_figures_only_as_far_as_it_was_observed() -> None:
    base, other = service(rows(("1", 5))), service(table({0: 4, 5: 5}))
    (against,) = total(base, other).against
    assert (against.checked, against.basis) == (6, Basis.SOME_POINTS)
    assert (against.verdict, against.slower, against.faster) == (Verdict.NEVER_SLOWER, 0, 1)
    beyond = service(rows(("1", 5)), ranges={"N": (6, 10)})
    assert total(beyond, other).against == ()


def test_a_formula_that_turns_negative_has_no_figure_there() -> None:
    base, other = service(rows(("1", 5))), service(rows(("N - 3", 2)))
    (against,) = total(base, other).against
    assert (against.checked, against.basis) == (8, Basis.SOME_POINTS)


def test_blocking_is_the_longest_stretch_of_its_kind() -> None:
    interrupts, preemption = StretchKind.INTERRUPTS, StretchKind.PREEMPTION
    base = service(rows(("1", 50)), stretch(interrupts, ("1", 4)), stretch(preemption, ("N", 2)))
    other = service(rows(("1", 50)), stretch(interrupts, ("1", 3)), stretch(preemption, ("1", 9)))
    found = compared(base, other)
    assert found[Metric.TOTAL].against[0].verdict is Verdict.EQUAL
    assert found[Metric.INTERRUPTS].against[0].verdict is Verdict.NEVER_SLOWER
    (against,) = found[Metric.PREEMPTION].against
    # max(4, 2 N) against 9 instructions
    assert (against.slower, against.faster) == (5, 6)
    assert against.where == ("a to b", "a to b")
    assert found[Metric.TOTAL].against[0].where == ("", "")
    none = service(rows(("1", 50)))
    (against,) = compared(none, base)[Metric.INTERRUPTS].against
    assert (against.verdict, against.worst.times) == (Verdict.NEVER_FASTER, (0, 40))
    assert against.where == ("", "a to b")


def test_blocking_by_formulas_needs_each_stretch_below_one() -> None:
    wide = {"N": (0, 10**6)}
    kind = StretchKind.INTERRUPTS

    def verdict(one: list[tuple[str, int]], two: list[tuple[str, int]]) -> tuple[Verdict, Basis]:
        base = service(rows(), *(stretch(kind, part) for part in one), ranges=wide)
        other = service(rows(), *(stretch(kind, part) for part in two), ranges=wide)
        (against,) = compared(base, other)[Metric.INTERRUPTS].against
        return against.verdict, against.basis

    assert verdict([("N", 3), ("1", 9)], [("1", 8), ("N", 3)]) == (
        Verdict.NEVER_SLOWER,
        Basis.FORMULAS,
    )
    assert verdict([], [("N", 3)]) == (Verdict.NEVER_FASTER, Basis.FORMULAS)
    assert verdict([("N", 3)], [])[0] is Verdict.NEVER_SLOWER
    assert verdict([("N", 3)], [("N + 1", 2)])[1] is Basis.SOME_POINTS


def test_three_sides_and_who_is_best() -> None:
    found = total(
        service(rows(("1", 5))), service(rows(("N", 1))), service(rows(("1", 4), ("N == 0", 9)))
    )
    assert [a.side for a in found.against] == [1, 2]
    assert found.best == (0, 5, 6 + 1)
    assert found.complete == 11


LEAVES = ["1", "N", "M", "N*M", "max(N - 2, 0)", "ceil(N/3)", "M == 1", "floor(log2(N + 1))"]
parts = st.lists(st.tuples(st.sampled_from(LEAVES), st.integers(0, 9)), max_size=4)
blockings = st.sampled_from([FREE, MASKED, LOCKED, Blocking(priority=3)])
SMALL = {"N": (0, 4), "M": (1, 3)}


@st.composite
def services(draw: st.DrawFn) -> ServiceCharacterization:
    found = [row(text, number, draw(blockings)) for text, number in draw(parts)]
    kinds = draw(st.lists(st.tuples(st.sampled_from(list(StretchKind)), parts), max_size=3))
    return service(
        Counts(rows=tuple(found)),
        *(stretch(kind, *some) for kind, some in kinds),
        ranges=SMALL,
        known=draw(st.booleans()),
    )


@settings(max_examples=60, deadline=None)
@given(services(), services())
def test_every_figure_is_that_of_an_estimate(
    one: ServiceCharacterization, two: ServiceCharacterization
) -> None:
    found = compared(one, two)
    points = list(itertools.product(range(5), range(1, 4)))
    estimates = [[estimate_at(s, priced(s), point) for point in points] for s in (one, two)]
    for metric, read in (
        (Metric.TOTAL, lambda e: e.total.high),
        (Metric.INTERRUPTS, lambda e: e.blocking_interrupts.high),
        (Metric.PREEMPTION, lambda e: e.blocking_preemption.high),
    ):
        times = [[read(e) for e in side] for side in estimates]
        (against,) = found[metric].against
        assert against.slower == sum(b > a for a, b in zip(*times, strict=True))
        assert against.faster == sum(b < a for a, b in zip(*times, strict=True))
        at = dict(zip(points, zip(*times, strict=True), strict=True))
        assert at[against.worst.values] == against.worst.times
        for corner in found[metric].corners:
            assert at[corner.values] == corner.times
        changes = [(b - a) / a for a, b in at.values() if a]
        base, other = against.worst.times
        if base and not any(b and not a for a, b in at.values()):
            assert (other - base) / base == max(changes)


@settings(max_examples=60, deadline=None)
@given(services(), services(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**3))))
def test_what_formulas_decide_holds_everywhere(
    one: ServiceCharacterization, two: ServiceCharacterization, points: list[tuple[int, int]]
) -> None:
    wide = {"N": (0, 10**6), "M": (1, 10**3)}
    pair = [
        service(s.counts, *s.stretches, ranges=wide, known=s.stretches_known) for s in (one, two)
    ]
    found = compared(*pair)
    for metric, read in (
        (Metric.TOTAL, lambda e: e.total.high),
        (Metric.INTERRUPTS, lambda e: e.blocking_interrupts.high),
        (Metric.PREEMPTION, lambda e: e.blocking_preemption.high),
    ):
        (against,) = found[metric].against
        if against.basis is not Basis.FORMULAS:
            continue
        for point in [*points, *itertools.product(range(4), range(1, 4))]:
            base, other = (read(estimate_at(s, priced(s), point)) for s in pair)
            if against.verdict is Verdict.EQUAL:
                assert base == other
            elif against.verdict is Verdict.NEVER_SLOWER:
                assert other <= base
            else:
                assert against.verdict is Verdict.NEVER_FASTER
                assert other >= base
