"""Linear prices are the prices of the engine, once their times stand in the profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine import price_vector
from wcetchar.engine.linear import linear_prices
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
)
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    Characterization,
    Counts,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    TraceSection,
    Word,
)
from wcetchar.model.fitting import Place
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
from wcetchar.model.service import Kernel, SectionKind, ServiceKind

F = Fraction
CYCLES = st.builds(
    lambda low, more, unit: Quantity(F(low), F(low), F(low + more), unit),
    st.integers(2, 6),
    st.integers(0, 6),
    st.sampled_from([Unit.CYCLES, Unit.NANOSECONDS]),
)
TIME = st.builds(AccessTime, CYCLES, CYCLES)


def _exactly(hertz: int) -> Quantity:
    return Quantity.exactly(hertz, Unit.HERTZ)


REGION = st.builds(
    lambda width, times, clock: (width, times, clock),
    st.sampled_from([8, 16, 32]),
    st.fixed_dictionaries(dict.fromkeys((Operation.FETCH, Operation.READ, Operation.WRITE), TIME)),
    st.none() | st.sampled_from([_exactly(36_000_000), _exactly(7_000_000)]),
)
KEYS: list[Key] = [
    AccessClass(".text", Operation.FETCH, 32, Pattern.FIRST),
    AccessClass(".text", Operation.FETCH, 32, Pattern.NEXT),
    AccessClass(".text", Operation.FETCH, 32, Pattern.REALIGNED),
    AccessClass("data", Operation.READ, 8),
    AccessClass("data", Operation.WRITE, 64),
    AccessClass("data", Operation.READ, 32, Pattern.NEXT),
    CoreEvent(".text", EventKind.ALU),
    CoreEvent(".text", EventKind.PIPELINE_REFILL),
    CoreEvent(".text", EventKind.LOAD_USE_STALL),
    CoreEvent(".text", EventKind.CROSSING_TARGET),
    CoreEvent(".text", EventKind.CROSSING_TARGET_REALIGNED),
    CoreEvent(".text", EventKind.FETCH_HELD_LATE_REALIGNED),
]
STALLS = (EventKind.LOAD_USE_STALL, EventKind.CROSSING_TARGET, EventKind.FETCH_HELD_LATE)


def _profile(
    code: tuple, data: tuple, events: Mapping[EventKind, Quantity], overlap: int, discarded: int
) -> HardwareProfile:
    regions = {
        name: Region(name, RegionKind.MEMORY, width, times, clock)
        for name, (width, times, clock) in (("code", code), ("data", data))
    }
    return HardwareProfile(
        "p",
        "",
        Core(
            "c",
            _exactly(72_000_000),
            events,
            {Operation.FETCH: Quantity.exactly(overlap, Unit.CYCLES)} if overlap else {},
            dict.fromkeys((EventKind.PIPELINE_REFILL, EventKind.CROSSING_TARGET), discarded)
            if discarded
            else {},
        ),
        regions,
    )


def _fixed(profile: HardwareProfile, times: Mapping[Place, Fraction]) -> HardwareProfile:
    """The profile with each range at the value that ``times`` gives."""

    def at(quantity: Quantity, place: Place) -> Quantity:
        return Quantity.exactly(times.get(place, quantity.high), quantity.unit)

    return replace(
        profile,
        core=replace(
            profile.core,
            events={
                kind: at(q, ("core", "events", kind.value))
                for kind, q in profile.core.events.items()
            },
        ),
        regions={
            name: replace(
                region,
                times={
                    operation: AccessTime(
                        at(time.first, ("regions", name, operation.value, "first")),
                        at(time.next, ("regions", name, operation.value, "next")),
                    )
                    for operation, time in region.times.items()
                },
            )
            for name, region in profile.regions.items()
        },
    )


def _characterization() -> Characterization:
    counts = Counts(rows=(TraceSection(Blocking(), AccessVector(dict.fromkeys(KEYS, 1))),))
    service = ServiceCharacterization(
        name="f", kind=ServiceKind.CALL, word=Word.ESTIMATE, parameters=(), counts=counts
    )
    return Characterization(
        kernel=Kernel("k", "1", {}),
        architecture="a",
        fetch_width=32,
        sections=(SectionInfo(".text", SectionKind.CODE), SectionInfo("data", SectionKind.DATA)),
        services=(service,),
        provenance=Provenance("test"),
        stalls=STALL_EDITION,
    )


@given(
    REGION,
    REGION,
    st.fixed_dictionaries(
        dict.fromkeys((EventKind.ALU, EventKind.PIPELINE_REFILL), CYCLES),
        optional=dict.fromkeys(STALLS, CYCLES),
    ),
    st.integers(0, 1),
    st.integers(0, 2),
    st.booleans(),
    st.data(),
)
def test_linear_prices_are_the_prices(
    code: tuple,
    data: tuple,
    events: dict[EventKind, Quantity],
    overlap: int,
    discarded: int,
    aligned: bool,
    draw: st.DataObject,
) -> None:
    profile = _profile(code, data, events, overlap, discarded)
    promised = frozenset({Assumption.CODE_ALIGNMENT} if aligned else ())
    section_map = SectionMap("m", {".text": "code", "data": "data"}, assumptions=promised)
    linear = linear_prices(profile, section_map, 32, KEYS)
    times = {
        place: draw.draw(st.fractions(q.low, q.high, max_denominator=8))
        for place, q in linear.free.items()
    }
    fixed = price_vector(_characterization(), _fixed(profile, times), section_map)
    for price in linear.at_least.values():
        value = price.constant + sum(c * times[p] for p, c in price.coefficients.items())
        if value < 0:
            return  # the times of 2 ns and more may still be below an overlap
    for key in KEYS:
        price = linear.prices[key]
        value = price.constant + sum(c * times[p] for p, c in price.coefficients.items())
        assert value == fixed[key].time.high, key
