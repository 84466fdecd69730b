"""Which number an estimate hangs on: small cases, worked by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from wcetchar.engine import estimate_given, price_vector
from wcetchar.engine.parameter_box import narrowed
from wcetchar.engine.profile_inputs import inputs_of, with_inputs
from wcetchar.engine.sensitivity import Sensitivity
from wcetchar.errors import InputError
from wcetchar.formula import parse
from wcetchar.model.access import (
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
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
    Interference,
    Quantity,
    Region,
    RegionKind,
    Unit,
)
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, Parameter, ParameterKind, ServiceKind
from wcetchar.model.uncertainty import Contribution, UncertainCount, Uncertainty
from wcetchar.store import load_profile, profile_names

F = Fraction
READ = AccessClass(".data", Operation.READ, 32)
WIDE = AccessClass(".data", Operation.READ, 64)
ALU = CoreEvent(".text", EventKind.ALU)


def ns(nominal: int, systematic: int = 0, stochastic: int = 0) -> Quantity:
    by = systematic + stochastic
    return Quantity(F(nominal - by), F(nominal), F(nominal + by), Unit.NANOSECONDS, F(stochastic))


def cycles(low: int, high: int) -> Quantity:
    return Quantity(F(low), F(low + high) / 2, F(high), Unit.CYCLES)


def mhz(low: int, high: int) -> Quantity:
    return Quantity(F(low * 10**6), F((low + high) * 500_000), F(high * 10**6), Unit.HERTZ)


def region(name: str, read: Quantity, **beside: object) -> Region:
    times = {Operation.READ: AccessTime(read, read)}
    return Region(name, RegionKind.MEMORY, 32, times, **beside)  # type: ignore[arg-type]


def board(
    *regions: Region, alu: Quantity | None = None, clock: Quantity | None = None
) -> HardwareProfile:
    events = {EventKind.ALU: alu or ns(0)}
    core = Core("core", clock or mhz(100, 100), events)
    return HardwareProfile("board", "", core, {one.name: one for one in regions})


def uncertainty(
    profile: HardwareProfile,
    counts: dict[Key, int],
    repetition: str = "1",
    count: UncertainCount | None = None,
    successions: bool = False,
) -> Uncertainty:
    parameters = (Parameter("N", ParameterKind.STATE, 0, 20, "tasks"),) if count else ()
    uncertain = {"N": count} if count else {}
    row = TraceSection(Blocking(), AccessVector(counts), parse(repetition))
    service = ServiceCharacterization(
        "svc", ServiceKind.CALL, Word.BOUND, parameters, Counts((row,)), stretches_known=False
    )
    characterization = Characterization(
        Kernel("k", "1"),
        "armv7-m",
        32,
        (),
        (service,),
        Provenance("test"),
        successions=successions,
    )
    where = SectionMap("map", {".data": next(iter(profile.regions))})
    prices = price_vector(characterization, profile, where)
    whole = estimate_given(narrowed(service, uncertain), prices, {}, maximum=count is not None)
    found = Sensitivity(characterization, ["svc"], profile, where).of(service, whole, uncertain)
    assert found.safe == whole.total.high
    return found


def only(found: Uncertainty) -> Contribution:
    (one,) = found.contributions
    return one


def test_systematic_errors_count_n_times() -> None:
    found = uncertainty(board(region("ram", ns(50, 4))), {READ: 9})
    assert (found.lowest, found.nominal, found.safe) == (9 * 46, 9 * 50, 9 * 54)
    assert (found.expected_low, found.expected_high, found.stochastic) == (9 * 46, 9 * 54, 0)
    assert only(found).name == "ram read first"
    assert (only(found).raises, only(found).systematic, only(found).stochastic) == (36, 36, 0)
    assert found.idle == 1  # `next` has the same error, and nothing comes in bursts


def test_stochastic_errors_count_as_their_root_and_the_safe_end_takes_all() -> None:
    found = uncertainty(board(region("ram", ns(50, 0, 4))), {READ: 9})
    assert (found.safe, found.nominal) == (9 * 54, 9 * 50)
    assert found.stochastic == 3 * 4  # the root of nine times 16
    assert (found.expected_low, found.expected_high) == (450 - 12, 450 + 12)
    assert (only(found).raises, only(found).systematic, only(found).stochastic) == (36, 0, 12)


def test_both_kinds_of_one_number() -> None:
    found = uncertainty(board(region("ram", ns(50, 3, 4))), {READ: 9})
    assert (found.systematic_low, found.systematic_high) == (450 - 27, 450 + 27)
    assert (found.expected_high, found.safe) == (450 + 27 + 12, 450 + 27 + 36)
    assert (only(found).raises, only(found).systematic) == (63, 27)


def test_beats_of_one_access_have_one_error() -> None:
    """Four accesses of one beat and one of two, whose beats are two numbers: first and next."""
    found = uncertainty(board(region("ram", ns(50, 0, 2))), {READ: 4, WIDE: 1})
    first, following = sorted(found.contributions, key=lambda one: one.name)
    assert (first.name, following.name) == ("ram read first", "ram read next")
    assert first.stochastic**2 >= 5 * 4 > (first.stochastic - F(1, 10**6)) ** 2
    assert following.stochastic == 2
    slow = Region("ram", RegionKind.MEMORY, 8, {Operation.READ: AccessTime(ns(50), ns(50, 0, 2))})
    (of_next,) = uncertainty(board(slow), {READ: 4}).contributions
    assert of_next.stochastic == 2 * 3 * 2  # the root of four accesses, each of three such beats


def test_numbers_are_ranked_and_independent_ones_meet_as_a_root() -> None:
    found = uncertainty(board(region("ram", ns(50, 0, 4)), alu=ns(10, 0, 4)), {READ: 9, ALU: 16})
    assert [(c.name, c.raises, c.stochastic) for c in found.contributions] == [
        ("core event alu", 64, 16),
        ("ram read first", 36, 12),
    ]
    assert found.stochastic == 20  # the root of 256 and 144
    assert found.together == 0


def test_a_clock_and_its_cycles_do_more_together() -> None:
    profile = board(region("ram", ns(0)), alu=cycles(2, 4), clock=mhz(80, 125))
    found = uncertainty(profile, {ALU: 1})
    period = F(1000) / F("102.5")
    assert found.nominal == 3 * period
    by_name = {one.name: one for one in found.contributions}
    assert by_name["core event alu"].raises == period
    assert by_name["core clock"].raises == 3 * (F(1000) / 80 - period)
    assert by_name["core clock"].lowers == 3 * (period - 8)  # the fast end lowers
    assert (found.lowest, found.safe) == (2 * 8, 4 * F(1000) / 80)
    assert found.together == F(1000) / 80 - period  # the fourth cycle, at the slow end


def test_what_another_number_hides_contributes_nothing_by_itself() -> None:
    """An access to an unknown place costs the dearer of two memories."""
    anywhere = AccessClass(UNKNOWN_SECTION, Operation.READ, 32)
    profile = board(region("near", ns(40, 5)), region("far", ns(40, 5)))
    found = uncertainty(profile, {anywhere: 1})
    assert [(c.name, c.raises, c.lowers) for c in found.contributions] == [
        ("far read first", 5, 0),
        ("near read first", 5, 0),
    ]
    assert found.together == -5  # whichever is dearer, the other is not paid for
    hidden = uncertainty(board(region("near", ns(40, 5)), region("far", ns(90))), {anywhere: 1})
    assert (hidden.contributions, hidden.safe, hidden.idle) == ((), 90, 2)


def test_edges_of_a_clock_are_no_error() -> None:
    """What nobody can measure better is in the nominal figure already."""
    found = uncertainty(board(region("ram", ns(50, 1), clock_divider=4)), {READ: 2})
    assert found.nominal == 2 * (50 + 3 * 10)
    assert found.safe == found.nominal + 2


def test_interference_counts_with_its_interval() -> None:
    takes = Quantity(F(4), F(5), F(8), Unit.NANOSECONDS)
    ram = region("ram", ns(50), refresh=Interference(takes))
    found = uncertainty(board(ram), {READ: 3})
    assert (found.nominal, found.safe, found.lowest) == (165, 174, 162)
    assert only(found).name == "ram refresh takes"


def test_whole_interferences_come_whole_times() -> None:
    """350 ns of reading at most, 310 nominally: with those that come, four and five of 10 ns."""
    every = Quantity.exactly(100, Unit.NANOSECONDS)
    refresh = Interference(Quantity.exactly(10, Unit.NANOSECONDS), every)
    ram = region("ram", ns(31, 4), refresh=refresh)
    found = uncertainty(board(ram), {READ: 10}, successions=True)
    assert (found.nominal, found.safe) == (310 + 3 * 10, 350 + 3 * 10)
    assert only(found).raises == 40


@pytest.mark.parametrize(
    ("repetition", "count", "figures"),
    [
        # lowest, nominal, safe; of one read of 50 ns, N times and the like
        ("N", UncertainCount(10, 2), (400, 500, 600)),
        ("N", UncertainCount(10, 2, 3), (250, 500, 750)),
        ("20 - N", UncertainCount(10, 2), (400, 500, 600)),
        ("max(N, 20 - N)", UncertainCount(10, 2), (500, 500, 600)),
        ("max(0, 2 - max(N - 10, 10 - N))", UncertainCount(9, 2), (0, 50, 100)),
    ],
)
def test_counts_may_be_off(
    repetition: str, count: UncertainCount, figures: tuple[int, int, int]
) -> None:
    found = uncertainty(board(region("ram", ns(50))), {READ: 1}, repetition, count)
    assert (found.lowest, found.nominal, found.safe) == figures
    assert only(found).name == "N"
    assert only(found).stochastic == 50 * count.stochastic
    assert found.together == 0


def test_counts_and_prices_do_more_together() -> None:
    found = uncertainty(board(region("ram", ns(50, 5))), {READ: 1}, "N", UncertainCount(10, 2))
    assert (found.nominal, found.safe, found.together) == (500, 12 * 55, 2 * 5)
    assert [(c.name, c.raises) for c in found.contributions] == [("N", 100), ("ram read first", 50)]


def test_a_count_beyond_its_range_is_refused() -> None:
    for count in (UncertainCount(19, 2), UncertainCount(1, 1, 1)):
        with pytest.raises(InputError, match="can be out of range with its errors") as caught:
            uncertainty(board(region("ram", ns(50))), {READ: 1}, "N", count)
        assert "from 0 to 20" in (caught.value.expected or "")


@pytest.mark.parametrize("name", profile_names())
def test_every_number_of_a_profile_is_found_and_named_once(name: str) -> None:
    profile = load_profile(name)
    numbers = inputs_of(profile)
    assert with_inputs(profile, lambda one: one.quantity) == profile
    assert len({one.name for one in numbers}) == len(numbers)
    assert sum(one.quantity is profile.core.clock for one in numbers) == 1
    assert all("_" not in one.name and one.name.strip() == one.name for one in numbers)
