"""Which number blocking times and bounds of all paths hang on: small cases, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from path_models import OUT, constraint, model_of
from test_sensitivity import ALU, READ, board, cycles, mhz, ns, region

from wcetchar.engine import Following, estimate_at, estimate_given, price_vector
from wcetchar.engine.parameter_box import narrowed
from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.paths import bound_of
from wcetchar.engine.sensitivity import Sensitivity
from wcetchar.formula import parse
from wcetchar.model.access import (
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Succession,
)
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    Provenance,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
    Word,
)
from wcetchar.model.estimate import OverAllPaths
from wcetchar.model.hardware import AccessTime, HardwareProfile, Interference, Quantity, Unit
from wcetchar.model.path_model import PathModel
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, Parameter, ParameterKind, ServiceKind
from wcetchar.model.uncertainty import NoRange, UncertainCount, Uncertainty

F = Fraction
OTHER = AccessClass(".bss", Operation.READ, 32)
WHERE = SectionMap("map", {".data": "a", ".bss": "b", ".text": "a"})
N = Parameter("N", ParameterKind.STATE, 0, 20, "tasks")


def counts(vector: dict[Key, int], repetition: str = "1") -> Counts:
    return Counts((TraceSection(Blocking(), AccessVector(vector), parse(repetition)),))


def stretch(held: Counts, *joints: Joint, follows: Joint | None = None) -> BlockingStretch:
    return BlockingStretch(
        StretchKind.INTERRUPTS,
        "x",
        "y",
        held,
        goes_on_from=frozenset({follows} - {None}),  # type: ignore[arg-type]
        goes_on_in=frozenset(joints),
    )


def service(
    name: str, *stretches: BlockingStretch, parameters: tuple[Parameter, ...] = ()
) -> ServiceCharacterization:
    own = counts({READ: 1, OTHER: 1})
    return ServiceCharacterization(
        name, ServiceKind.CALL, Word.BOUND, parameters, own, stretches, stretches_known=True
    )


def kernel(
    *services: ServiceCharacterization, paths: tuple[PathModel, ...] = ()
) -> Characterization:
    return Characterization(
        Kernel("k", "1"), "armv7-m", 32, (), services, Provenance("test"), paths=paths
    )


def held(
    profile: HardwareProfile,
    *services: ServiceCharacterization,
    uncertain: dict[str, UncertainCount] | None = None,
) -> Uncertainty | NoRange:
    """How long the first service holds off interrupts."""
    off = uncertain or {}
    known = kernel(*services)
    prices = price_vector(known, profile, WHERE, [services[0].name])
    ranges = {name: range(one.low, one.high + 1) for name, one in off.items()}
    following = Following(known, prices, ranges)
    whole = estimate_given(narrowed(services[0], off), prices, {}, following, maximum=True)
    sensitivity = Sensitivity(known, [services[0].name], profile, WHERE)
    return sensitivity.of_blocking(services[0], whole, off, StretchKind.INTERRUPTS)


def ranged(found: Uncertainty | NoRange) -> Uncertainty:
    assert isinstance(found, Uncertainty)
    return found


def test_another_stretch_is_the_longest_where_numbers_are_others() -> None:
    """500 ns exactly, and 9 reads of 50 +- 10: 450 nominally, 540 at most."""
    profile = board(region("a", ns(50)), region("b", ns(50, 10)))
    one = ranged(
        held(profile, service("svc", stretch(counts({READ: 10})), stretch(counts({OTHER: 9}))))
    )
    assert (one.lowest, one.nominal, one.safe) == (500, 500, 540)
    (number,) = one.contributions
    assert (number.name, number.raises, number.lowers) == ("b read first", 40, 0)
    assert (one.systematic_low, one.systematic_high) == (500, 540)


def test_a_number_that_shows_only_where_another_is_low_too() -> None:
    """The clock of the second stretch changes nothing at nominal values; the least is at its upper
    end, where the first stretch is shorter than the second."""
    slow = replace(region("b", cycles(5, 5)), clock=mhz(100, 200))
    profile = board(region("a", ns(50, 40)), slow)
    one = ranged(
        held(profile, service("svc", stretch(counts({READ: 10})), stretch(counts({OTHER: 10}))))
    )
    period = F(1000) / 150
    assert one.nominal == 500 > 10 * 5 * period
    assert one.lowest == 10 * 5 * F(1000) / 200  # above 100, the least of the first
    assert one.safe == 900


def test_stochastic_errors_are_those_of_the_stretch_that_has_most() -> None:
    """Nine reads of 100 +- 4 stochastic, and one of 890 +- 20: roots of 12 and of 20."""
    profile = board(region("a", ns(100, 0, 4)), region("b", ns(890, 0, 20)))
    one = ranged(
        held(profile, service("svc", stretch(counts({READ: 9})), stretch(counts({OTHER: 1}))))
    )
    assert (one.nominal, one.safe) == (900, 936)
    assert one.stochastic == 20
    assert one.expected_high == 920
    short = stretch(counts({OTHER: 1}))
    profile = board(region("a", ns(100, 0, 4)), region("b", ns(100, 0, 20)))
    one = ranged(held(profile, service("svc", stretch(counts({READ: 9})), short)))
    assert one.stochastic == 12  # of 120 ns at most, which are never the longest


def test_what_goes_on_counts_linearly_and_has_the_values_that_may_be_off() -> None:
    """One read and another thread's N: 7 +- 2."""
    profile = board(region("a", ns(50, 0, 5)), region("b", ns(10)))
    first = service("svc", stretch(counts({OTHER: 1}), Joint.THREAD))
    then = service("next", stretch(counts({READ: 1}, "N"), follows=Joint.THREAD), parameters=(N,))
    off = {"N": UncertainCount(7, 2)}
    one = ranged(held(profile, first, then, uncertain=off))
    assert (one.lowest, one.nominal, one.safe) == (10 + 5 * 45, 10 + 7 * 50, 10 + 9 * 55)
    names = {c.name: c for c in one.contributions}
    assert names["N"].raises == 2 * 50
    assert names["a read first"].raises == 7 * 5
    assert one.together == 2 * 5
    assert names["a read first"].stochastic == 9 * 5  # where N is 9


def test_the_same_parameter_of_both() -> None:
    profile = board(region("a", ns(50)), region("b", ns(10)))
    first = service("svc", stretch(counts({OTHER: 1}, "N"), Joint.THREAD), parameters=(N,))
    then = service("next", stretch(counts({READ: 1}, "N"), follows=Joint.THREAD), parameters=(N,))
    one = ranged(held(profile, first, then, uncertain={"N": UncertainCount(7, 2)}))
    assert (one.lowest, one.nominal, one.safe) == (5 * 60, 7 * 60, 9 * 60)
    (number,) = one.contributions
    assert (number.name, number.raises, number.lowers) == ("N", 120, 120)


def test_what_is_not_bounded_has_no_range() -> None:
    profile = board(region("a", ns(50, 1)), region("b", ns(10)))
    found = held(profile, service("svc", stretch(counts({READ: 1}), Joint.THREAD)))
    assert isinstance(found, NoRange)
    assert "not bounded" in found.why


def test_too_many_combinations_of_what_goes_on_have_no_range() -> None:
    wide = Parameter("N", ParameterKind.STATE, 0, 2000, "tasks")
    profile = board(region("a", ns(50, 1)), region("b", ns(10)))
    first = service("svc", stretch(counts({OTHER: 1}), Joint.THREAD))
    then = service(
        "next", stretch(counts({READ: 1}, "N"), follows=Joint.THREAD), parameters=(wide,)
    )
    found = held(profile, first, then, uncertain={"N": UncertainCount(1000, 500)})
    assert isinstance(found, NoRange)
    assert "1001 combinations of N" in found.why


def test_nothing_is_blocked() -> None:
    one = ranged(held(board(region("a", ns(50, 1)), region("b", ns(1))), service("svc")))
    assert (one.lowest, one.nominal, one.safe, one.contributions) == (0, 0, 0, ())


def test_a_slower_core_that_hides_more() -> None:
    """80 cycles beside ten reads of 50 ns, of each of which 3 cycles are hidden: a core that may
    have any period from 8 to 20 ns is the fastest in between. The least is below all of these."""
    profile = board(region("a", ns(50)), region("b", ns(0)), alu=cycles(1, 1), clock=mhz(50, 125))
    core = replace(profile.core, overlap={Operation.READ: cycles(3, 3)})
    profile = replace(profile, core=core)
    one = ranged(held(profile, service("svc", stretch(counts({READ: 10, ALU: 8})))))
    times = [8 * p + 10 * max(F(0), 50 - 3 * p) for p in (F(8), F(50, 3), F(20))]
    assert min(times) == times[1]
    assert one.lowest <= min(times)
    assert one.safe >= max(times)


def test_a_slower_core_that_waits_less_often() -> None:
    """Others take 60 ns of every 10 cycles: three quarters at 8 ns a cycle, half at 12."""
    shared = Interference(ns(60), cycles(10, 10))
    profile = board(
        region("a", ns(50), refresh=shared),
        region("b", ns(1)),
        alu=cycles(1, 1),
        clock=mhz(50, 125),
    )
    one_service = service("svc", stretch(counts({ALU: 1000})))
    known = replace(kernel(one_service), successions=True)

    def at(hertz: Fraction) -> Fraction:
        core = replace(profile.core, clock=Quantity.exactly(hertz, Unit.HERTZ))
        prices = price_vector(known, replace(profile, core=core), WHERE)
        return estimate_at(one_service, prices, ()).blocking_interrupts.high

    ends = at(F(50 * 10**6)), at(F(125 * 10**6))
    between = at(F(10**9, 12))
    assert between < min(ends)
    whole = estimate_at(one_service, price_vector(known, profile, WHERE), ())
    sensitivity = Sensitivity(known, ["svc"], profile, WHERE)
    one = ranged(sensitivity.of_blocking(one_service, whole, {}, StretchKind.INTERRUPTS))
    assert one.lowest <= between
    assert one.safe >= max(ends)


# --- accesses that wait for one another -----------------------------------------------------------

WRITE = AccessClass(".data", Operation.WRITE, 32)
DIVIDE = CoreEvent(".text", EventKind.DIVIDE)


def waiting(
    profile: HardwareProfile, vector: dict[Key, int], **events: Quantity
) -> tuple[Uncertainty, HardwareProfile]:
    """How long a stretch holds off interrupts, with its profile."""
    core = replace(
        profile.core,
        events={**profile.core.events, **{EventKind[k]: one for k, one in events.items()}},
    )
    profile = replace(profile, core=core)
    one_service = service("svc", stretch(counts(vector)))
    known = successive(one_service)
    whole = estimate_at(one_service, price_vector(known, profile, WHERE), ())
    sensitivity = Sensitivity(known, ["svc"], profile, WHERE)
    found = sensitivity.of_blocking(one_service, whole, {}, StretchKind.INTERRUPTS)
    return ranged(found), profile


def successive(one: ServiceCharacterization) -> Characterization:
    return replace(kernel(one), successions=True, stalls=STALL_EDITION)


def exactly(profile: HardwareProfile, vector: dict[Key, int], **events: Fraction | int) -> F:
    """The same where these events take so many cycles."""
    own = {EventKind[kind]: Quantity.exactly(F(n), Unit.CYCLES) for kind, n in events.items()}
    core = replace(profile.core, events={**profile.core.events, **own})
    one_service = service("svc", stretch(counts(vector)))
    prices = price_vector(successive(one_service), replace(profile, core=core), WHERE)
    return estimate_at(one_service, prices, ()).blocking_interrupts.high


def test_a_wait_is_least_where_the_core_does_most_in_between() -> None:
    """A write of 10 cycles goes on behind the core, which does two instructions of 1 to 4 cycles
    meanwhile; then 10 cycles of a read. The lower end holds even where a stretch leaves the two
    out, as none of a trace does."""
    ten = Quantity.exactly(F(10), Unit.CYCLES)
    times = {one: AccessTime(ten, ten) for one in (Operation.READ, Operation.WRITE)}
    profile = board(replace(region("a", ten), times=times), region("b", ns(1)))
    profile = replace(profile, core=replace(profile.core, write_buffer=1))
    vector: dict[Key, int] = {READ: 1, Succession(WRITE, ((ALU, 2),), 0, False, READ): 1}
    one, profile = waiting(profile, vector, ALU=cycles(1, 4))
    assert exactly(profile, vector, ALU=1) == (8 + 10) * 10
    assert exactly(profile, vector, ALU=4) == (2 + 10) * 10 == one.lowest


def test_a_consecutive_access_waits_least_where_it_is_cheap_and_others_are_dear() -> None:
    """Two reads of 3 cycles, two instructions of 1 or 2 between them, and a turnaround of 4 to 6:
    6 + max(turnaround, instructions). The lower end takes each at its own least."""
    profile = board(region("a", cycles(3, 3)), region("b", ns(1)))
    vector: dict[Key, int] = {READ: 2, ALU: 2, Succession(READ, ((ALU, 2),), 0, False, READ): 1}
    off = {"ALU": cycles(1, 2), "CONSECUTIVE_ACCESS": cycles(4, 6)}
    one, profile = waiting(profile, vector, **off)
    assert exactly(profile, vector, ALU=1, CONSECUTIVE_ACCESS=4) == (6 + 4) * 10
    assert exactly(profile, vector, ALU=2, CONSECUTIVE_ACCESS=6) == (6 + 6) * 10 == one.safe
    assert one.lowest == (6 + 2 + 0) * 10
    del vector[ALU]  # the stretch begins behind them
    one, profile = waiting(profile, vector, **off)
    assert exactly(profile, vector, ALU=2, CONSECUTIVE_ACCESS=4) == 6 * 10 == one.lowest


def test_an_edge_that_is_met_between_the_ends_of_a_range() -> None:
    """Two instructions between two reads, of 3/4 to 3/2 cycles: with one cycle each they end at an
    edge of the bus; elsewhere, but at 3/2, nobody knows how far the next one is."""
    slow = replace(region("a", cycles(3, 3)), clock_divider=2)
    profile = board(slow, region("b", ns(1)))
    vector: dict[Key, int] = {READ: 2, ALU: 2, Succession(READ, ((ALU, 2),), 0, False, READ): 1}
    alu = Quantity(F(3, 4), F(5, 4), F(3, 2), Unit.CYCLES)
    one, profile = waiting(profile, vector, ALU=alu)
    low, nominal, high = (exactly(profile, vector, ALU=n) for n in (alu.low, alu.nominal, alu.high))
    assert (low, nominal, high) == (145, 155, 160)
    between = exactly(profile, vector, ALU=1)
    assert between == (12 + 2) * 10
    assert one.lowest == (12 + 2 * alu.low) * 10 <= between
    assert one.safe == high


def test_a_wait_whose_numbers_are_exact_stays_what_it_is() -> None:
    """A division is off, and none lies between the reads: 12 cycles, an instruction, a wait of 3
    cycles behind it, an edge, and 2 to 12 cycles of the division."""
    slow = replace(region("a", cycles(3, 3)), clock_divider=2)
    profile = board(slow, region("b", ns(1)), alu=cycles(1, 1))
    waits = Succession(READ, ((ALU, 1),), 0, False, READ)
    vector: dict[Key, int] = {READ: 2, ALU: 1, DIVIDE: 1, waits: 1}
    off = {"DIVIDE": cycles(2, 12), "CONSECUTIVE_ACCESS": cycles(4, 4)}
    one, profile = waiting(profile, vector, **off)
    assert one.lowest == exactly(profile, vector, DIVIDE=2) == (12 + 1 + 3 + 0 + 2) * 10
    vector = {**vector, Succession(READ, ((DIVIDE, 1),), 0, False, READ): 1}
    one, profile = waiting(profile, vector, **off)
    assert one.lowest == (12 + 1 + 3 + 0 + 2) * 10  # that one waits for nothing at 4 cycles or more
    assert one.lowest <= exactly(profile, vector, DIVIDE=4)


def test_others_that_may_come_too_often_to_be_counted() -> None:
    """Two memories are taken for 45 to 55 ns of every 100 each. At 45 that is nine tenths of the
    time; at 50 all of it, so that each of the accesses waits once instead."""
    shared = Interference(Quantity(F(45), F(46), F(55), Unit.NANOSECONDS), ns(100))
    profile = board(*(region(name, ns(50), refresh=shared) for name in ("a", "b")))
    vector: dict[Key, int] = {READ: 1, ALU: 100}
    one, profile = waiting(profile, vector, ALU=cycles(1, 1))

    def taken(ns_each: int) -> F:
        other = Interference(ns(ns_each), ns(100))
        regions = {n: replace(r, refresh=other) for n, r in profile.regions.items()}
        return exactly(replace(profile, regions=regions), vector)

    assert taken(45) > 5 * taken(50) == 5 * (50 + 50 + 1000)
    assert one.lowest == 50 + 1000 <= taken(50)


# --- all paths ------------------------------------------------------------------------------------


def two_ways(first: dict[Key, int], second: dict[Key, int], limit: str = "1") -> PathModel:
    """One node, or the other ``limit`` times."""
    model = model_of([1, 1], [(OUT, 0), (0, OUT), (OUT, 1), (1, 1), (1, OUT)], service="svc")
    fact = constraint("loop", {3: 1, 2: parse(f"1 - {limit}")})
    vectors = AccessVector(first), AccessVector(second)
    return replace(model, vectors=vectors, constraints=(fact,))


def over_all(
    profile: HardwareProfile,
    model: PathModel,
    at: dict[str, int] | None = None,
    uncertain: dict[str, UncertainCount] | None = None,
) -> tuple[Uncertainty | NoRange, F]:
    parameters = tuple(replace(N, name=name) for name in at or {})
    known = kernel(service("svc", parameters=parameters), paths=(model,))
    prices = price_vector(known, profile, WHERE)
    whole = estimate_at(known.services[0], prices, tuple((at or {}).values()))
    worst = {**(at or {}), **{name: one.high for name, one in (uncertain or {}).items()}}
    safe = bound_of(model, path_prices(known, profile, WHERE, [model]), worst).time
    over = OverAllPaths(safe, Word.BOUND, at=worst)
    sensitivity = Sensitivity(known, ["svc"], profile, WHERE)
    return sensitivity.of_paths(model, whole, uncertain or {}, over), safe


def test_another_path_is_the_dearest_where_numbers_are_others() -> None:
    profile = board(region("a", ns(50)), region("b", ns(50, 10)))
    found, safe = over_all(profile, two_ways({READ: 10}, {OTHER: 9}))
    one = ranged(found)
    assert (one.lowest, one.nominal, one.safe) == (500, 500, 540)
    assert one.safe == safe
    (number,) = one.contributions
    assert (number.name, number.raises, number.lowers) == ("b read first", 40, 0)


def test_stochastic_errors_of_paths_count_linearly() -> None:
    profile = board(region("a", ns(50, 2, 3)), region("b", ns(1)))
    one = ranged(over_all(profile, two_ways({READ: 10}, {OTHER: 9}))[0])
    assert (one.systematic_low, one.systematic_high) == (480, 520)
    assert one.stochastic == 30
    assert (one.expected_low, one.expected_high) == (one.lowest, one.safe) == (450, 550)


def test_two_stochastic_numbers_of_paths_are_no_root() -> None:
    """Either of two paths may draw its worst: neither number is the larger for both."""
    profile = board(region("a", ns(50, 0, 3)), region("b", ns(50, 0, 4)))
    one = ranged(over_all(profile, two_ways({READ: 6, OTHER: 4}, {READ: 4, OTHER: 6}))[0])
    assert (one.nominal, one.safe) == (500, 500 + 4 * 3 + 6 * 4)
    assert one.expected_high == one.safe
    assert one.expected_low == one.lowest == 500 - 6 * 3 - 4 * 4


@pytest.mark.parametrize(("name", "lowest", "safe"), [("N", 4 * 49, 6 * 51), ("M", 245, 255)])
def test_loops_of_a_parameter_that_may_be_off(name: str, lowest: int, safe: int) -> None:
    """N reads of 50 +-1 ns, N from 4 to 6 or 5; M is of no loop."""
    profile = board(region("a", ns(50, 1)), region("b", ns(50)))
    model = two_ways({READ: 1}, {READ: 1}, "N")
    found, _ = over_all(profile, model, {"N": 5, "M": 5}, {name: UncertainCount(5, 1)})
    one = ranged(found)
    assert (one.lowest, one.nominal, one.safe) == (lowest, 250, safe)
    raises = {number.name: (number.lowers, number.raises) for number in one.contributions}
    assert raises == {"a read first": (5, 5), **({"N": (50, 50)} if name == "N" else {})}


def test_too_many_values_of_a_loop_have_no_range() -> None:
    profile = board(region("a", ns(50, 1)), region("b", ns(50)))
    model = two_ways({READ: 1}, {READ: 1}, "N")
    found, _ = over_all(profile, model, {"N": 5}, {"N": UncertainCount(40, 40)})
    assert isinstance(found, NoRange)
    assert "N may have 81 combinations of values" in found.why


def test_unknown_places_are_the_dearest_wherever_numbers_are() -> None:
    nowhere = AccessClass(UNKNOWN_SECTION, Operation.READ, 32)
    profile = board(region("a", ns(50, 20)), region("b", ns(50, 10)))
    one = ranged(over_all(profile, two_ways({nowhere: 1}, {OTHER: 0}))[0])
    assert (one.lowest, one.nominal, one.safe) == (40, 50, 70)
