"""Prices of single classes, each computed by hand from the definition of its profile entry."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.engine import PricingError, price_vector
from wcetchar.engine.prices import Price, PriceVector
from wcetchar.engine.pricing import TIME_ASLEEP
from wcetchar.errors import InputError, InputErrors
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
    Blocking,
    Characterization,
    Counts,
    Provenance,
    SectionInfo,
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
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import Assumption, SectionMap
from wcetchar.model.service import Kernel, SectionKind, ServiceKind

FETCH, READ, WRITE, ACCESS = (
    Operation.FETCH,
    Operation.READ,
    Operation.WRITE,
    Operation.ACCESS,
)


def ns(
    low: int | Fraction, nominal: int | Fraction | None = None, high: int | Fraction | None = None
) -> Quantity:
    nominal = low if nominal is None else nominal
    high = nominal if high is None else high
    return Quantity(Fraction(low), Fraction(nominal), Fraction(high), Unit.NANOSECONDS)


def cycles(low: int, high: int | None = None) -> Quantity:
    return Quantity(
        Fraction(low), Fraction(low), Fraction(low if high is None else high), Unit.CYCLES
    )


def hertz(low: int, nominal: int | None = None, high: int | None = None) -> Quantity:
    nominal = low if nominal is None else nominal
    return Quantity(
        Fraction(low), Fraction(nominal), Fraction(nominal if high is None else high), Unit.HERTZ
    )


def at(first: Quantity, following: Quantity | None = None) -> AccessTime:
    return AccessTime(first, following or first)


def region(
    name: str,
    times: Mapping[Operation, AccessTime],
    bus_width: int = 32,
    clock: Quantity | None = None,
) -> Region:
    return Region(name, RegionKind.MEMORY, bus_width, times, clock)


def profile(
    *regions: Region,
    clock: Quantity | None = None,
    events: Mapping[EventKind, Quantity] | None = None,
    overlap: Mapping[Operation, Quantity] | None = None,
    discarded: Mapping[EventKind, int] | None = None,
    default_map: Mapping[str, str] | None = None,
) -> HardwareProfile:
    core = Core("core", clock or hertz(100_000_000), events or {}, overlap or {}, discarded or {})
    return HardwareProfile("board", "", core, {r.name: r for r in regions}, default_map or {})


def kernel(*keys: Key, fetch_width: int = 32, sections: tuple[str, ...] = ()) -> Characterization:
    row = TraceSection(Blocking(), AccessVector(dict.fromkeys(keys, 1)))
    service = ServiceCharacterization("svc", ServiceKind.CALL, Word.BOUND, (), Counts((row,)))
    infos = tuple(SectionInfo(name, SectionKind.DATA) for name in sections)
    return Characterization(
        Kernel("k", "1"), "armv7-m", fetch_width, infos, (service,), Provenance("test")
    )


def price(
    key: Key, board: HardwareProfile, *assumptions: Assumption, fetch_width: int = 32, **places: str
) -> Interval:
    placed = SectionMap("map", places, assumptions=frozenset(assumptions))
    return price_vector(kernel(key, fetch_width=fetch_width), board, placed)[key].time


def exactly(value: int | Fraction) -> Interval:
    return Interval(Fraction(value), Fraction(value), Fraction(value))


@pytest.mark.parametrize(
    ("width", "pattern", "bus", "expected"),
    [
        (32, Pattern.SINGLE, 32, 70),
        (8, Pattern.SINGLE, 32, 70),  # narrower than the bus is still one access
        (32, Pattern.SINGLE, 16, 70 + 20),
        (32, Pattern.FIRST, 8, 70 + 3 * 20),
        (64, Pattern.FIRST, 16, 70 + 3 * 20),
        (32, Pattern.NEXT, 32, 20),
        (32, Pattern.NEXT, 16, 2 * 20),
        (64, Pattern.NEXT, 8, 8 * 20),
        (32, Pattern.NEXT, 24, 2 * 20),  # a started beat is a whole one
        (16, Pattern.NEXT, 64, 20),
        (0, Pattern.SINGLE, 32, 70 + 20),  # unknown: dearest is 64 bits in two beats
        (0, Pattern.NEXT, 8, 8 * 20),
    ],
)
def test_beats(width: int, pattern: Pattern, bus: int, expected: int) -> None:
    board = profile(region("sdram", {READ: at(ns(70), ns(20))}, bus))
    found = price(AccessClass("s", READ, width, pattern), board, s="sdram")
    assert (found.nominal, found.high) == (expected, expected)
    assert found.low == (expected if width else (70 if pattern is Pattern.SINGLE else 20))


def test_cycles_are_of_the_regions_clock_and_of_the_core_without_one() -> None:
    slow = region("slow", {READ: at(cycles(3))}, clock=hertz(50_000_000))
    fast = region("fast", {READ: at(cycles(3))})
    board = profile(slow, fast, clock=hertz(72_000_000))
    key = AccessClass("s", READ, 32)
    assert price(key, board, s="slow") == exactly(60)
    assert price(key, board, s="fast") == exactly(Fraction(3_000, 72))


def test_the_slowest_clock_is_the_dearest() -> None:
    board = profile(
        region("m", {READ: at(cycles(2, 3))}), clock=hertz(80_000_000, 100_000_000, 125_000_000)
    )
    found = price(AccessClass("s", READ, 32), board, s="m")
    assert found == Interval(Fraction(2 * 8), Fraction(2 * 10), Fraction(3 * Fraction(25, 2)))


def test_overlap_hides_part_of_an_access_and_never_more_than_all() -> None:
    board = profile(
        region("flash", {FETCH: at(ns(50), ns(5))}, bus_width=16), overlap={FETCH: cycles(1)}
    )
    # One fetch of 32 bits is two beats of 16, and one overlap of one cycle of 10 ns.
    assert price(AccessClass("t", FETCH, 32), board, t="flash") == exactly(50 + 5 - 10)
    assert price(AccessClass("t", FETCH, 16), board, t="flash") == exactly(50 - 10)
    assert price(AccessClass("t", FETCH, 32, Pattern.NEXT), board, t="flash") == exactly(0)
    assert price(AccessClass("t", FETCH, 16, Pattern.NEXT), board, t="flash") == exactly(0)


def test_overlap_with_tolerances_is_safe_on_both_ends() -> None:
    board = profile(region("m", {READ: at(ns(40, 50, 60))}), overlap={READ: ns(5, 10, 30)})
    assert price(AccessClass("s", READ, 32), board, s="m") == Interval(
        Fraction(10), Fraction(40), Fraction(55)
    )


def test_a_clocks_tolerance_is_not_paid_twice() -> None:
    # Zero wait states: the cycle of the access is the cycle of the event, whatever its length.
    clock = hertz(90_000_000, 100_000_000, 110_000_000)
    same = profile(region("m", {READ: at(cycles(1))}), overlap={READ: cycles(1)}, clock=clock)
    assert price(AccessClass("s", READ, 32), same, s="m") == exactly(0)
    # A bus with a clock of its own is not in step with the core.
    other = profile(
        region("m", {READ: at(cycles(1))}, clock=clock), overlap={READ: cycles(1)}, clock=clock
    )
    slow, fast = Fraction(1000, 90), Fraction(1000, 110)
    assert price(AccessClass("s", READ, 32), other, s="m") == Interval(
        Fraction(0), Fraction(0), slow - fast
    )


def test_more_overlap_than_cycles_takes_from_the_nanoseconds_at_the_shortest_period() -> None:
    board = profile(
        region("m", {READ: at(ns(100))}, clock=None),
        overlap={READ: cycles(2)},
        clock=hertz(80_000_000, 100_000_000, 125_000_000),
    )
    assert price(AccessClass("s", READ, 32), board, s="m") == Interval(
        Fraction(75), Fraction(80), Fraction(84)
    )


def test_unknown_direction_is_the_dearer_one_unless_the_region_says() -> None:
    times = {READ: at(ns(10, 20, 80)), WRITE: at(ns(30, 40, 50))}
    key = AccessClass("s", ACCESS, 32)
    derived = price(key, profile(region("m", times)), s="m")
    assert derived == Interval(Fraction(10), Fraction(40), Fraction(80))
    stated = profile(region("m", times | {ACCESS: at(ns(35))}))
    assert price(key, stated, s="m") == exactly(35)


def test_unknown_direction_where_only_reading_is_possible_is_a_read() -> None:
    board = profile(region("rom", {FETCH: at(ns(1)), READ: at(ns(14))}))
    assert price(AccessClass("s", ACCESS, 32), board, s="rom") == exactly(14)


def test_unknown_direction_has_only_the_smaller_overlap_for_sure() -> None:
    board = profile(region("m", {ACCESS: at(ns(50))}), overlap={READ: ns(20)})
    assert price(AccessClass("s", ACCESS, 32), board, s="m") == Interval(
        Fraction(30), Fraction(50), Fraction(50)
    )
    both = profile(region("m", {READ: at(ns(50)), WRITE: at(ns(45))}), overlap={READ: ns(20)})
    assert price(AccessClass("s", ACCESS, 32), both, s="m") == Interval(
        Fraction(30), Fraction(45), Fraction(45)
    )


def test_a_fetch_that_alignment_may_add_costs_a_next_unless_promised_away() -> None:
    board = profile(region("flash", {FETCH: at(ns(50), ns(30))}), overlap={FETCH: ns(10)})
    key = AccessClass("t", FETCH, 32, Pattern.REALIGNED)
    assert price(key, board, t="flash") == exactly(20)
    assert price(key, board, Assumption.CODE_ALIGNMENT, t="flash") == exactly(0)


def test_an_unknown_section_is_the_dearest_region_that_permits_the_operation() -> None:
    board = profile(
        region("sram", {READ: at(ns(10)), WRITE: at(ns(10))}),
        region("flash", {FETCH: at(ns(90)), READ: at(ns(90))}),
        region("uart", {READ: at(ns(40)), WRITE: at(ns(60))}),
    )
    assert price(AccessClass("?", READ, 32), board) == Interval(
        Fraction(10), Fraction(90), Fraction(90)
    )
    assert price(AccessClass("?", WRITE, 32), board) == Interval(
        Fraction(10), Fraction(60), Fraction(60)
    )
    vector = price_vector(
        kernel(AccessClass("?", WRITE, 32)), board, SectionMap("map", {"s": "sram"})
    )
    assert any("unknown addresses" in note for note in vector.notes)


def test_that_the_time_asleep_is_in_no_figure_is_told() -> None:
    board = profile(
        region("flash", {FETCH: at(ns(50))}),
        events={EventKind.WAIT: cycles(2), EventKind.HINT: cycles(1)},
        discarded={EventKind.WAIT: 1},
    )
    placed = SectionMap("map", {"t": "flash"})
    for kind, told in ((EventKind.WAIT, 1), (EventKind.HINT, 0)):
        notes = price_vector(kernel(CoreEvent("t", kind)), board, placed).notes
        assert notes.count(TIME_ASLEEP) == told
    # What the core takes for it is.
    assert price(CoreEvent("t", EventKind.WAIT), board, t="flash") == exactly(50 + 2 * 10)


def test_a_core_event_pays_for_discarded_fetches_in_full() -> None:
    board = profile(
        region("flash", {FETCH: at(ns(50), ns(30))}, bus_width=16),
        region("sram", {READ: at(ns(10)), WRITE: at(ns(10))}),
        region("itcm", {FETCH: at(ns(5))}),
        events={EventKind.BRANCH_TAKEN: cycles(1), EventKind.ALU: cycles(1)},
        overlap={FETCH: ns(10)},
        discarded={EventKind.BRANCH_TAKEN: 2},
    )
    taken = EventKind.BRANCH_TAKEN
    # Fetches of 32 bits over a bus of 16: first and next, twice, with no overlap.
    assert price(CoreEvent("t", taken), board, t="flash") == exactly(10 + 2 * 80)
    assert price(CoreEvent("t", taken), board, fetch_width=16, t="flash") == exactly(10 + 2 * 50)
    assert price(CoreEvent("t", taken), board, t="itcm") == exactly(10 + 2 * 5)
    dearest = Interval(Fraction(10 + 2 * 5), Fraction(10 + 2 * 80), Fraction(10 + 2 * 80))
    assert price(CoreEvent("", taken), board) == dearest
    assert price(CoreEvent("?", taken), board) == dearest
    assert price(CoreEvent("t", taken), board, t="sram") == dearest  # nothing is fetched there
    # Without discarded fetches the section does not matter, placed or not.
    assert price(CoreEvent("nowhere", EventKind.ALU), board) == exactly(10)


def test_a_map_overrides_the_profiles_default() -> None:
    board = profile(
        region("slow", {READ: at(ns(90))}),
        region("fast", {READ: at(ns(10))}),
        default_map={"s": "slow", "r": "fast"},
    )
    assert price(AccessClass("s", READ, 8), board) == exactly(90)
    assert price(AccessClass("s", READ, 8), board, s="fast") == exactly(10)


def refused(
    board: HardwareProfile, keys: list[Key], places: Mapping[str, str] | None = None
) -> InputError:
    with pytest.raises(InputError) as caught:
        price_vector(kernel(*keys), board, SectionMap("map", places or {}))
    return caught.value


def test_all_unmapped_sections_are_named_at_once() -> None:
    board = profile(region("m", {READ: at(ns(1)), FETCH: at(ns(1))}))
    keys: list[Key] = [AccessClass(s, READ, 8) for s in (".b", ".a", ".b", ".c")]
    error = refused(board, keys, {".c": "m"})
    assert ".a, .b" in error.message
    assert ".c" not in error.message
    assert error.hint
    assert isinstance(error, PricingError)
    assert (error.file, error.keys) == ("map", ("sections",))


def test_an_unmapped_section_with_discarded_fetches_is_refused() -> None:
    board = profile(
        region("m", {FETCH: at(ns(1))}),
        events={EventKind.CALL: cycles(1)},
        discarded={EventKind.CALL: 1},
    )
    assert ".text" in refused(board, [CoreEvent(".text", EventKind.CALL)]).message


def test_a_region_that_is_not_there_is_refused_even_if_nothing_uses_it() -> None:
    board = profile(region("m", {READ: at(ns(1))}))
    error = refused(board, [AccessClass("s", READ, 8)], {"s": "m", "other": "sdarm"})
    assert "sdarm" in error.message
    assert "board" in error.message
    assert isinstance(error, PricingError)
    assert error.keys == ("sections", "other")


def test_an_operation_that_is_not_possible_names_service_section_and_region() -> None:
    board = profile(region("flash", {FETCH: at(ns(1)), READ: at(ns(1))}))
    error = refused(
        board, [AccessClass(".data", WRITE, 8), AccessClass(".data", WRITE, 32)], {".data": "flash"}
    )
    for word in ("svc", ".data", "flash", "write"):
        assert word in error.message
    assert not isinstance(error, InputErrors), "two widths are one mistake"


@pytest.mark.parametrize("operation", list(Operation))
def test_no_region_at_all_permits_the_operation(operation: Operation) -> None:
    board = profile(region("void", {}))
    assert operation.value in refused(board, [AccessClass("?", operation, 8)]).message


def test_an_event_without_a_time_is_refused_with_event_and_profile() -> None:
    error = refused(profile(region("m", {})), [CoreEvent("t", EventKind.DIVIDE)])
    assert "divide" in error.message
    assert "board" in error.message
    assert error.hint
    assert isinstance(error, PricingError)
    assert (error.file, error.keys) == ("profile", ("core", "events"))


def test_discarded_fetches_need_a_fetchable_region() -> None:
    board = profile(
        region("ram", {READ: at(ns(1))}),
        events={EventKind.CALL: cycles(1)},
        discarded={EventKind.CALL: 1},
    )
    assert "fetch" in refused(board, [CoreEvent("", EventKind.CALL)]).message


def test_every_mistake_is_reported_at_once() -> None:
    board = profile(region("rom", {READ: at(ns(1))}))
    error = refused(
        board,
        [
            CoreEvent("t", EventKind.ALU),
            AccessClass("d", WRITE, 8),
            AccessClass("x", READ, 8),
        ],
        {"d": "rom", "y": "nowhere"},
    )
    assert isinstance(error, InputErrors)
    assert len(error.errors) == 4


@pytest.mark.parametrize(
    "board",
    [
        profile(region("m", {READ: at(ns(-1, 0, 1))})),
        profile(region("m", {READ: at(hertz(1))})),
        profile(region("m", {READ: at(cycles(1))}), clock=hertz(0, 1, 1)),
        profile(region("m", {READ: at(cycles(1))}), clock=ns(1)),
        profile(region("m", {READ: at(cycles(1))}, clock=hertz(0, 1, 1))),
        profile(region("m", {READ: at(cycles(1))}, clock=ns(1))),
        profile(region("m", {READ: at(ns(1))}, bus_width=0)),
        profile(region("m", {READ: at(ns(1))}), overlap={READ: ns(-1)}),
        profile(region("m", {READ: at(ns(1))}), discarded={EventKind.CALL: -1}),
    ],
)
def test_what_is_no_time_is_refused(board: HardwareProfile) -> None:
    assert "board" in str(refused(board, [AccessClass("s", READ, 8)], {"s": "m"})) or "bus" in str(
        refused(board, [AccessClass("s", READ, 8)], {"s": "m"})
    )


def test_only_the_chosen_services_have_to_be_priced() -> None:
    known = kernel(AccessClass("s", READ, 8))
    stranger = ServiceCharacterization(
        "other",
        ServiceKind.CALL,
        Word.BOUND,
        (),
        Counts((TraceSection(Blocking(), AccessVector({AccessClass("x", READ, 8): 1})),)),
    )
    both = Characterization(
        known.kernel,
        known.architecture,
        32,
        (),
        (*known.services, stranger),
        known.provenance,
    )
    board = profile(region("m", {READ: at(ns(1))}))
    placed = SectionMap("map", {"s": "m"})
    assert len(price_vector(both, board, placed, ["svc"])) == 1
    with pytest.raises(InputError, match="x"):
        price_vector(both, board, placed)


def test_a_map_that_places_what_is_not_there_is_told() -> None:
    board = profile(region("m", {READ: at(cycles(1))}))
    vector = price_vector(
        kernel(AccessClass("s", READ, 8), sections=("unused",)),
        board,
        SectionMap("map", {"s": "m", "unused": "m", ".txet": "m"}),
    )
    (note,) = vector.notes
    assert ".txet" in note
    assert "unused" not in note


ends = st.lists(st.fractions(0, 50, max_denominator=720), min_size=3, max_size=3).map(sorted)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ends, st.integers(0, 10**12)), max_size=6))
def test_a_time_is_the_sum_of_counts_times_prices(parts: list[tuple[list[Fraction], int]]) -> None:
    """Exactly, whatever the denominators."""
    keys = [CoreEvent(f"s{number}", EventKind.ALU) for number in range(len(parts))]
    made = {
        key: Price("core", Interval(*times)) for key, (times, _) in zip(keys, parts, strict=True)
    }
    prices = PriceVector(profile(), SectionMap("m", {}), made)
    vector = AccessVector({key: count for key, (_, count) in zip(keys, parts, strict=True)})
    found = prices.time_of(vector)
    for place, end in enumerate((found.low, found.nominal, found.high)):
        assert end == sum((Fraction(times[place]) * n for times, n in parts), Fraction(0))


def test_what_has_no_price_has_no_time() -> None:
    prices = PriceVector(profile(), SectionMap("m", {}), {})
    assert prices.time_of(AccessVector()) == Interval()
    with pytest.raises(KeyError):
        prices.time_of(AccessVector({CoreEvent("t", EventKind.ALU): 1}))
