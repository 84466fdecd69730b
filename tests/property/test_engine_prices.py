"""Prices and totals against a simulation that knows nothing of intervals.

The simulation takes one concrete value of every quantity and walks through the beats of one
access. Every quantity enters a price monotonically, and the periods linearly, so the extremes lie
at corners: trying all corners must give exactly the price's two ends.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.engine import estimate, price_vector
from wcetchar.formula import parse
from wcetchar.model.access import (
    UNKNOWN_SECTION,
    WIDTHS,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
)
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    Counts,
    Provenance,
    ServiceCharacterization,
    TraceSection,
    Word,
)
from wcetchar.model.hardware import (
    AccessTime,
    Core,
    HardwareProfile,
    Quantity,
    Region,
    RegionKind,
    Unit,
)
from wcetchar.model.section_map import Assumption, SectionMap
from wcetchar.model.service import Kernel, Parameter, ParameterKind, ServiceKind

KINDS = (EventKind.ALU, EventKind.BRANCH_TAKEN, EventKind.LOAD)
SECTIONS = (".text", ".data", ".stack")


def values(largest: int) -> st.SearchStrategy[tuple[Fraction, Fraction, Fraction]]:
    one = st.fractions(min_value=0, max_value=largest, max_denominator=4)
    return st.tuples(one, one, one).map(lambda v: tuple(sorted(v)))  # type: ignore[arg-type, return-value]


quantities = st.builds(
    lambda v, unit: Quantity(*v, unit),
    values(9),
    st.sampled_from((Unit.CYCLES, Unit.NANOSECONDS)),
)
clocks = st.builds(
    lambda v: Quantity(*sorted(v), Unit.HERTZ),
    st.tuples(*[st.sampled_from([Fraction(10**6 * m) for m in (40, 100, 125, 250)])] * 3),
)
access_times = st.builds(AccessTime, quantities, quantities)


@st.composite
def regions(draw: st.DrawFn, name: str, complete: bool) -> Region:
    required = (Operation.FETCH, Operation.READ, Operation.WRITE) if complete else ()
    operations = {*required, *draw(st.sets(st.sampled_from(Operation)))}
    return Region(
        name,
        RegionKind.MEMORY,
        draw(st.sampled_from((8, 16, 32, 64))),
        {operation: draw(access_times) for operation in sorted(operations)},
        draw(st.none() | clocks),
    )


@st.composite
def profiles(draw: st.DrawFn) -> HardwareProfile:
    # The first region permits everything, so that whatever is placed in it has a price.
    found = [draw(regions("r0", True)), *(draw(regions(f"r{i}", False)) for i in (1, 2))]
    overlaps = draw(st.sets(st.sampled_from(Operation)))
    core = Core(
        "core",
        draw(clocks),
        {kind: draw(quantities) for kind in KINDS},
        {operation: draw(quantities) for operation in sorted(overlaps)},
        draw(st.dictionaries(st.sampled_from(KINDS), st.integers(0, 3))),
    )
    return HardwareProfile("board", "", core, {region.name: region for region in found})


accesses = st.builds(
    lambda section, operation, width, pattern: AccessClass(
        section,
        Operation.FETCH if pattern is Pattern.REALIGNED else operation,
        width,
        pattern,
    ),
    st.sampled_from((*SECTIONS, UNKNOWN_SECTION)),
    st.sampled_from(Operation),
    st.sampled_from(WIDTHS),
    st.sampled_from(Pattern),
)
events = st.builds(
    CoreEvent, st.sampled_from((*SECTIONS, "", UNKNOWN_SECTION)), st.sampled_from(KINDS)
)
keys: st.SearchStrategy[Key] = accesses | events
maps = st.builds(
    lambda aligned: SectionMap(
        "map",
        dict.fromkeys(SECTIONS, "r0"),
        assumptions=frozenset({Assumption.CODE_ALIGNMENT} if aligned else ()),
    ),
    st.booleans(),
)


def kernel(
    *rows: TraceSection, parameters: tuple[Parameter, ...] = (), fetch_width: int = 32
) -> Characterization:
    service = ServiceCharacterization(
        "svc", ServiceKind.CALL, Word.BOUND, parameters, Counts(rows), stretches_known=False
    )
    return Characterization(
        Kernel("k", "1"), "armv7-m", fetch_width, (), (service,), Provenance("test")
    )


@dataclass(frozen=True)
class Corner:
    """Which end of each quantity holds; the same quantity has one value within an access."""

    first: str
    following: str
    hidden: str
    own: str
    core_clock: str
    bus_clock: str


CORNERS = [Corner(*ends) for ends in itertools.product(("low", "high"), repeat=6)]


def concrete(quantity: Quantity, end: str, hertz: Fraction) -> Fraction:
    value: Fraction = getattr(quantity, end)
    return value if quantity.unit is Unit.NANOSECONDS else value * 10**9 / hertz


def simulated(
    region: Region, time: AccessTime, bits: int, burst: bool, c: Corner, core: Core
) -> Fraction:
    """Nanoseconds of one access, beat by beat, with nothing hidden."""
    hertz: Fraction = getattr(core.clock, c.core_clock)
    if region.clock is not None:
        hertz = getattr(region.clock, c.bus_clock)
    passed, moved = Fraction(0), 0
    while moved < bits:
        if moved == 0 and not burst:
            passed += concrete(time.first, c.first, hertz)
        else:
            passed += concrete(time.next, c.following, hertz)
        moved += region.bus_width
    return passed


def possible_prices(key: Key, profile: HardwareProfile, section_map: SectionMap) -> list[Fraction]:
    """Every price that the key can have, one for each corner and each thing that is not known."""
    core = profile.core
    found = []
    everywhere = list(profile.regions.values())
    home = [profile.regions[section_map.sections[key.section]]] if key.section in SECTIONS else []
    for c in CORNERS:
        hertz: Fraction = getattr(core.clock, c.core_clock)
        if isinstance(key, CoreEvent):
            own = concrete(core.events[key.kind], c.own, hertz)
            thrown_away = core.discarded_fetches.get(key.kind, 0)
            places = [r for r in home or everywhere if Operation.FETCH in r.times]
            for r in places:
                one = simulated(r, r.times[Operation.FETCH], 32, False, c, core)
                found.append(own + thrown_away * one)
            continue
        if key.pattern is Pattern.REALIGNED and section_map.assumptions:
            return [Fraction(0)]
        burst = key.pattern in (Pattern.NEXT, Pattern.REALIGNED)
        for r in home or everywhere:
            ways: list[tuple[Operation, Operation]] = [(key.operation, key.operation)]
            if key.operation is Operation.ACCESS:
                both = (Operation.READ, Operation.WRITE)
                if Operation.ACCESS not in r.times:
                    ways = [(o, o) for o in both]
                elif Operation.ACCESS not in core.overlap:
                    ways = [(Operation.ACCESS, o) for o in both]
            for timed_as, hidden_as in ways:
                if timed_as not in r.times:
                    continue
                for bits in (key.width,) if key.width else (8, 16, 32, 64):
                    full = simulated(r, r.times[timed_as], bits, burst, c, core)
                    if hidden_as in core.overlap:
                        full -= concrete(core.overlap[hidden_as], c.hidden, hertz)
                    found.append(max(Fraction(0), full))
    return found


@given(profiles(), maps, keys)
@settings(max_examples=100, deadline=None)
def test_a_price_is_exactly_what_its_quantities_allow(
    profile: HardwareProfile, section_map: SectionMap, key: Key
) -> None:
    row = TraceSection(Blocking(), AccessVector({key: 1}))
    price = price_vector(kernel(row), profile, section_map)[key].time
    expected = possible_prices(key, profile, section_map)
    assert price.high == max(expected)
    assert price.low == min(expected)
    assert price.low <= price.nominal <= price.high


vectors = st.dictionaries(keys, st.integers(0, 50), max_size=6).map(AccessVector)
REPETITIONS = {"1": lambda n: 1, "N": lambda n: n, "max(N - 1, 0)": lambda n: max(n - 1, 0)}
row_lists = st.lists(
    st.tuples(vectors, st.sampled_from(sorted(REPETITIONS)), st.booleans()), max_size=4
)
N = Parameter("N", ParameterKind.STATE, 0, 20, "anything")


def sections(rows: list[tuple[AccessVector, str, bool]]) -> list[TraceSection]:
    return [TraceSection(Blocking(interrupts=b), v, parse(text)) for v, text, b in rows]


@given(profiles(), maps, row_lists, st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_rows_columns_and_total_agree_with_a_plain_sum(
    profile: HardwareProfile,
    section_map: SectionMap,
    rows: list[tuple[AccessVector, str, bool]],
    n: int,
) -> None:
    characterization = kernel(*sections(rows), parameters=(N,))
    found = estimate(characterization, "svc", profile, section_map, {"N": n})
    expected = blocking = Fraction(0)
    for vector, text, masked in rows:
        for key, count in vector.items():
            part = max(possible_prices(key, profile, section_map)) * count * REPETITIONS[text](n)
            expected += part
            blocking += part if masked else 0
    assert found.total.high == expected
    assert found.blocking_interrupts.high == blocking
    assert sum(row.time.high for row in found.rows) == expected
    assert sum(column.time.high for column in found.columns) == expected
    assert sum(row.time.low for row in found.rows) == found.total.low
    assert sum(column.time.low for column in found.columns) == found.total.low


def dearer(quantity: Quantity, by: Fraction) -> Quantity:
    return replace(quantity, high=quantity.high + by)


@given(
    profiles(),
    maps,
    row_lists,
    st.sampled_from(("first", "next", "event", "discarded", "overlap", "clock")),
    st.fractions(min_value=0, max_value=5, max_denominator=3),
    st.sampled_from(Operation),
    st.sampled_from(KINDS),
)
@settings(max_examples=100, deadline=None)
def test_slower_hardware_never_lowers_a_total(
    profile: HardwareProfile,
    section_map: SectionMap,
    rows: list[tuple[AccessVector, str, bool]],
    what: str,
    by: Fraction,
    operation: Operation,
    kind: EventKind,
) -> None:
    core, region = profile.core, profile.regions["r0"]
    slower = profile
    if what in ("first", "next") and operation in region.times:
        time = region.times[operation]
        changed = replace(time, **{what: dearer(getattr(time, what), by)})
        slower_region = replace(region, times={**region.times, operation: changed})
        slower = replace(profile, regions={**profile.regions, "r0": slower_region})
    elif what == "event":
        events = {**core.events, kind: dearer(core.events[kind], by)}
        slower = replace(profile, core=replace(core, events=events))
    elif what == "discarded":
        more = {**core.discarded_fetches, kind: core.discarded_fetches.get(kind, 0) + 1}
        slower = replace(profile, core=replace(core, discarded_fetches=more))
    elif what == "overlap":
        less = {o: q for o, q in core.overlap.items() if o is not operation}
        if operation is not Operation.ACCESS:
            slower = replace(profile, core=replace(core, overlap=less))
    elif what == "clock" and not core.overlap:
        clock = replace(core.clock, low=core.clock.low / (1 + by))
        slower = replace(profile, core=replace(core, clock=clock))
    characterization = kernel(*sections(rows), parameters=(N,))
    before = estimate(characterization, "svc", profile, section_map, {"N": 7})
    after = estimate(characterization, "svc", slower, section_map, {"N": 7})
    assert after.total.high >= before.total.high
    assert after.blocking_preemption.high >= before.blocking_preemption.high


@given(profiles(), maps, row_lists, st.integers(1, 9))
@settings(max_examples=25, deadline=None)
def test_totals_scale_with_time(
    profile: HardwareProfile,
    section_map: SectionMap,
    rows: list[tuple[AccessVector, str, bool]],
    factor: int,
) -> None:
    """Every nanosecond ``factor`` times as long and every clock as slow: so is every total."""

    def scaled(quantity: Quantity) -> Quantity:
        if quantity.unit is Unit.CYCLES:
            return quantity
        by = Fraction(factor) if quantity.unit is Unit.NANOSECONDS else Fraction(1, factor)
        low, nominal, high = (v * by for v in (quantity.low, quantity.nominal, quantity.high))
        return Quantity(low, nominal, high, quantity.unit)

    core = profile.core
    slower = replace(
        profile,
        core=replace(
            core,
            clock=scaled(core.clock),
            events={k: scaled(q) for k, q in core.events.items()},
            overlap={k: scaled(q) for k, q in core.overlap.items()},
        ),
        regions={
            name: replace(
                region,
                clock=region.clock and scaled(region.clock),
                times={
                    o: AccessTime(scaled(t.first), scaled(t.next)) for o, t in region.times.items()
                },
            )
            for name, region in profile.regions.items()
        },
    )
    characterization = kernel(*sections(rows), parameters=(N,))
    before = estimate(characterization, "svc", profile, section_map, {"N": 3})
    after = estimate(characterization, "svc", slower, section_map, {"N": 3})
    assert after.total.high == before.total.high * factor
    assert after.total.low == before.total.low * factor
    assert after.total_cycles == before.total_cycles


@given(profiles(), maps, vectors, st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_repeating_is_adding(
    profile: HardwareProfile, section_map: SectionMap, vector: AccessVector, a: int, b: int
) -> None:
    def total(*counted: AccessVector) -> Fraction:
        rows = [TraceSection(Blocking(), v) for v in counted]
        return estimate(kernel(*rows), "svc", profile, section_map, {}).total.high

    assert total(vector.scaled(a + b)) == total(vector.scaled(a), vector.scaled(b))
