"""What an access waits for the one before it, for edges, refresh and others, by hand.

At 1 GHz a cycle is 1 ns. Reads and writes are hidden for a cycle, and an access right behind
another one costs one more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from test_pricing import at, cycles, hertz, kernel, ns, profile, region

from wcetchar.engine import PricingError, price_vector
from wcetchar.engine.linear import is_linear, linear_prices
from wcetchar.engine.pricer import Pricer
from wcetchar.model.access import (
    AccessClass,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import STALL_EDITION
from wcetchar.model.hardware import (
    AccessTime,
    DataCache,
    HardwareProfile,
    Interference,
    Quantity,
    Region,
    Unit,
)
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import SectionMap

READ, WRITE = Operation.READ, Operation.WRITE
ALU, JUMP = (CoreEvent("code", kind) for kind in (EventKind.ALU, EventKind.RETURN))
CONSECUTIVE = CoreEvent("code", EventKind.CONSECUTIVE_ACCESS)
EXIT = CoreEvent("code", EventKind.EXCEPTION_EXIT)
LOADED, STORED = (AccessClass("s", operation, 32) for operation in (READ, WRITE))
PLACED = SectionMap("map", {"s": "ram", "code": "ram"})


def ram(first: int, *, divider: int = 1, width: int = 32, **beside: Interference) -> Region:
    time = at(cycles(first), cycles(1))
    one = region("ram", {READ: time, WRITE: time}, width)
    return replace(one, clock_divider=divider, **beside)


def board(*regions: Region, buffer: int = 1, least: int = 0) -> HardwareProfile:
    made = profile(
        *regions,
        clock=hertz(10**9),
        events={
            EventKind.ALU: cycles(1),
            EventKind.LOAD: cycles(1),
            EventKind.STORE: cycles(1),
            EventKind.RETURN: cycles(3),
            EventKind.CONSECUTIVE_ACCESS: cycles(1),
            EventKind.FETCH_HELD_LATE: cycles(1),
            EventKind.EXCEPTION_EXIT: cycles(0),
        },
        overlap={READ: cycles(1), WRITE: cycles(1)},
    )
    core = replace(
        made.core,
        write_buffer=buffer,
        data_width=32,
        least_width={READ: least} if least else {},
    )
    return replace(made, core=core)


def priced(key: Key, on: HardwareProfile, counted: bool = True) -> Interval:
    counts = replace(kernel(key), stalls=STALL_EDITION, successions=counted)
    flash = {"f": "flash"} if "flash" in on.regions else {}
    placed = replace(PLACED, sections={**PLACED.sections, **flash})
    return price_vector(counts, on, placed)[key].time


def high(key: Key, on: HardwareProfile, counted: bool = True) -> Fraction:
    return priced(key, on, counted).high


def behind(
    before: AccessClass | None,
    access: AccessClass | None,
    *between: tuple[CoreEvent, int],
    late: int = 0,
    more: bool = False,
) -> Succession:
    return Succession(before, between, late, more, access)


def test_a_write_costs_its_core_nothing_and_the_next_access_waits() -> None:
    on = board(ram(6))
    assert high(STORED, on) == 0
    assert high(LOADED, on) == 5
    # Written in 6 cycles, one of them behind the store itself; the bus is free one later.
    assert high(behind(STORED, LOADED, (CONSECUTIVE, 1)), on) == 6 + 1 - 1 - 1
    assert high(behind(STORED, STORED, (ALU, 4)), on) == 6 + 1 - 1 - 4
    assert high(behind(STORED, STORED, (ALU, 9)), on) == 0
    assert high(behind(LOADED, STORED, (CONSECUTIVE, 1)), on) == 0
    # What is not known was written right before; what a call leaves is its caller's, but what a
    # handler leaves is its own.
    assert high(behind(None, LOADED, (ALU, 2)), on) == 6 + 1 - 1 - 2
    assert priced(behind(None, LOADED, (ALU, 2)), on).low == 0
    assert high(behind(STORED, None, (ALU, 2)), on) == 0
    assert high(behind(STORED, None, (ALU, 2), (EXIT, 1)), on) == 6 + 1 - 1 - 2


def test_several_writes_may_be_under_way() -> None:
    """All of them where a window begins; within it each is waited for, as if there were but one."""
    on = board(ram(6), buffer=3)
    assert high(STORED, on) == 0
    assert high(behind(None, LOADED, (ALU, 2)), on) == 3 * (6 + 1) - 1 - 2
    assert high(behind(STORED, LOADED, (CONSECUTIVE, 1)), on) == 6 + 1 - 1 - 1
    assert high(behind(STORED, None, (ALU, 2), (EXIT, 1)), on) == 6 + 1 - 1 - 2
    assert high(behind(STORED, LOADED, (JUMP, 3), late=4), on) == 4


def test_a_queue_makes_up_for_what_a_second_write_waits() -> None:
    """Where the core has no access for longer than a write takes, behind the two."""

    def waited(then: int, on: HardwareProfile, late: int = 0) -> Fraction:
        pair = behind(STORED, STORED, (ALU, 2), late=late)
        return high(replace(pair, then=((ALU, then),) if then else ()), on)

    on = board(ram(6), buffer=2)
    # The second one waits for 6 + 1 - 1 - 2, and is over 6 behind itself.
    assert [waited(n, on) for n in (0, 6, 7, 9, 10, 16)] == [4, 4, 3, 1, 0, 0]
    assert waited(16, board(ram(6), buffer=3)) == 0
    assert waited(16, on, late=1) == 1
    assert [waited(n, board(ram(6), buffer=1)) for n in (0, 16)] == [4, 4]
    # Instructions from where writes go may wait for both of them.
    both = ram(6)
    fetched = replace(both, times={**both.times, Operation.FETCH: both.times[READ]})
    assert waited(16, board(fetched, buffer=2)) == 4


def test_transfers_may_be_held_for_as_long_as_all_writes_take() -> None:
    """Behind a short write a long one may be under way, whose wait is made up for."""
    on = board(ram(2), replace(ram(12), name="slow"), buffer=2)
    assert high(behind(STORED, LOADED, (ALU, 9), late=9), on) == 9
    assert high(behind(STORED, LOADED, (ALU, 40), late=40), on) == 2 * (12 + 1) - 1
    assert high(behind(STORED, LOADED, (ALU, 40), late=40), board(ram(2), buffer=1)) == 2 - 1


def test_the_low_end_of_what_a_queue_makes_up_for_is_behind_the_most() -> None:
    on = board(ram(6), buffer=2)
    several = Quantity(Fraction(1), Fraction(2), Fraction(3), Unit.CYCLES)
    on = replace(on, core=replace(on.core, events={**on.core.events, EventKind.ALU: several}))
    pair = replace(behind(STORED, STORED, (CONSECUTIVE, 1)), then=((ALU, 3),))
    # 5 without the queue; 3, 6 and 9 cycles then, where 6 are what the second takes. What is least
    # is behind the longest of them, and so is what is charged beside it.
    assert high(replace(pair, then=()), on) == 5
    assert priced(pair, on) == Interval(Fraction(2), Fraction(2), Fraction(2))
    cheap = replace(on, core=replace(on.core, events={**on.core.events, EventKind.ALU: cycles(1)}))
    assert high(pair, cheap) == 5


def test_behind_a_switch_that_read_last_no_write_is_under_way() -> None:
    for buffer in (0, 1, 3):
        on = board(ram(6), buffer=buffer)
        for access in (LOADED, STORED):
            begins = replace(behind(None, access, (ALU, 1)), settled=1)
            assert priced(begins, on) == Interval()
            # Right behind the read, its turnaround is left.
            assert high(replace(begins, between=()), on) == (1 if buffer else 0)
    # When the memory's clock begins is not known, though.
    divided = board(ram(6, divider=4))
    assert high(replace(behind(None, LOADED, (ALU, 2)), settled=1), divided) == 3
    # What others take of the memory, the switch has waited for.
    shared = board(ram(6, arbitration=Interference(cycles(5), None)))
    assert high(behind(None, LOADED), shared) == 6 + 1 - 1 + 5
    assert high(replace(behind(None, LOADED, (ALU, 1)), settled=1), shared) == 0


def test_behind_a_switch_whose_reads_may_hit_writes_go_on() -> None:
    """They were begun before its last reads, each of which takes a cycle at least."""

    def cached(on: HardwareProfile) -> HardwareProfile:
        lines = replace(on.regions["ram"], load_miss_penalty=cycles(9))
        core = replace(on.core, data_cache=DataCache(CacheGeometry(32, 4)))
        return replace(on, core=core, regions={**on.regions, "ram": lines})

    def waited(reads: int, on: HardwareProfile) -> Fraction:
        return high(replace(behind(None, STORED, (ALU, 2)), settled=reads), on)

    on = cached(board(ram(6), buffer=2))
    assert [waited(n, on) for n in (1, 5, 10, 11, 16)] == [2 * 7 - 1 - 2 - 1, 6, 1, 0, 0]
    assert waited(1, board(ram(6), buffer=2)) == 0
    shared = cached(board(ram(6, arbitration=Interference(cycles(5), None)), buffer=2))
    assert [waited(n, shared) for n in (5, 20, 21)] == [6 + 2 * 5, 1, 0]
    assert waited(1, cached(board(ram(6), buffer=0))) == 0


def test_without_a_write_buffer_the_core_waits_itself() -> None:
    on = board(ram(6), buffer=0)
    for counted in (True, False):
        assert high(STORED, on, counted) == 5
    assert high(behind(STORED, LOADED, (CONSECUTIVE, 1)), on) == 0
    assert high(behind(None, LOADED, (ALU, 2)), on) == 0


def test_bursts_are_waited_for() -> None:
    on = board(ram(6))
    first, following = (AccessClass("s", WRITE, 32, p) for p in (Pattern.FIRST, Pattern.NEXT))
    assert (high(first, on), high(following, on)) == (5, 0)
    assert high(behind(following, LOADED, (ALU, 1)), on) == 0


def test_a_late_transfer_behind_a_write_may_be_held() -> None:
    """By an access that was fetched in vain; that is hidden while the write is waited for."""
    on = board(ram(6))
    assert high(behind(STORED, LOADED, (JUMP, 3), late=1), on) == 1
    assert high(behind(STORED, LOADED, (JUMP, 1), late=1), on) == 6 + 1 - 1 - 3
    assert high(behind(STORED, None, (JUMP, 3), late=2), on) == 2
    assert high(behind(STORED, LOADED, (JUMP, 3), late=1), board(ram(1))) == 0
    assert high(behind(LOADED, LOADED, (JUMP, 3), late=1), on) == 0


@pytest.mark.parametrize("divider", [2, 3, 4])
def test_the_edge_of_a_divided_clock(divider: int) -> None:
    on = board(ram(3, divider=divider))
    assert high(LOADED, on) == 3 * divider - 1
    assert high(LOADED, on, counted=True) + divider - 1 == high(
        LOADED, board(ram(3, divider=divider), buffer=0), counted=False
    )
    for work in range(1, 9):
        # The read ended with a cycle of the bus; so many cycles later the next one is asked for.
        assert high(behind(LOADED, LOADED, (ALU, work)), on) == -work % divider
    # The write is waited for, and one cycle later the next access is asked for.
    work = 2
    left = 3 * divider + 1 - 1 - work
    assert high(behind(STORED, LOADED, (ALU, work)), on) == left + divider - 1
    # Here it is not: when it ended is not known.
    assert high(behind(STORED, LOADED, (ALU, 50)), on) == divider - 1
    for unknown in (
        behind(LOADED, LOADED, (ALU, divider), more=True),
        behind(LOADED, LOADED),
        behind(AccessClass("f", READ, 32), LOADED, (ALU, divider)),
    ):
        two = board(ram(3, divider=divider), region("flash", {READ: at(cycles(2))}))
        assert high(unknown, two) >= divider - 1


def test_the_edge_behind_another_bus_is_not_known() -> None:
    """Two divided clocks need not have their edges at once, though both are of a third."""
    on = board(ram(3, divider=3), replace(ram(3, divider=3), name="flash"))
    there = AccessClass("f", READ, 32)
    for work in range(1, 9):
        assert high(behind(LOADED, LOADED, (ALU, work)), on) == -work % 3
        assert high(behind(there, LOADED, (ALU, work)), on) == 2


def test_what_is_left_of_a_turnaround_is_charged_where_nobody_knows_what_went_before() -> None:
    """Of four cycles the very next instruction waits for all, which is counted; one that is a cycle
    later for three. Further accesses of one instruction find nothing of it."""
    events = board(ram(3)).core.events
    longer = {**events, EventKind.CONSECUTIVE_ACCESS: cycles(4)}
    for turnaround, left in ((events, 0), (longer, 3)):
        one = board(ram(3), buffer=0)
        on = replace(one, core=replace(one.core, events=turnaround))
        assert high(LOADED, on, counted=False) == 2 + left
        assert high(STORED, on, counted=False) == 2 + left
        burst = AccessClass("s", READ, 32, Pattern.NEXT)
        assert high(burst, on, counted=False) == 0
        assert high(LOADED, on) == 2
        for work in range(1, 6):
            assert high(behind(LOADED, LOADED, (ALU, work)), on) == max(0, left + 1 - work)


def test_a_time_in_ns_is_what_it_says_on_a_divided_clock_too() -> None:
    slow = ram(3, divider=4)
    times = {READ: at(ns(7), cycles(1)), WRITE: at(ns(7))}
    assert high(LOADED, board(replace(slow, times=times))) == 7 - 1
    narrow = replace(slow, times=times, bus_width=16)
    assert high(LOADED, board(narrow)) == 7 + 4 - 1


def test_edges_are_not_known_where_fetches_wait() -> None:
    slow = replace(ram(3, divider=2), times={**ram(3).times, Operation.FETCH: at(cycles(9))})
    on = board(slow)
    fetch = AccessClass("code", Operation.FETCH, 32, Pattern.FIRST)
    key = behind(LOADED, LOADED, (ALU, 2))
    counts = replace(kernel(key, fetch), stalls=STALL_EDITION, successions=True)
    assert price_vector(counts, on, PLACED)[key].time.high == 1
    assert high(key, on) == 0


SUCCESSIONS = [
    behind(before, access, *between, late=late, more=more)
    for before in (None, LOADED, STORED, AccessClass("s", WRITE, 32, Pattern.NEXT))
    for access in (None, LOADED, STORED, AccessClass("s", READ, 8))
    for between in ((), ((ALU, 1),), ((ALU, 3),), ((JUMP, 2), (EXIT, 1)), ((CONSECUTIVE, 1),))
    for late in (0, 1, 3)
    for more in (False, True)
]


@pytest.mark.parametrize("buffer", [0, 1])
@pytest.mark.parametrize("divider", [1, 2, 3])
@pytest.mark.parametrize("turnaround", [0, 1, 3])
@pytest.mark.parametrize("first", [1, 6])
def test_the_dearest_of_all_that_lead_to_an_access_is_never_cheaper(
    buffer: int, divider: int, turnaround: int, first: int
) -> None:
    on = board(ram(first, divider=divider), buffer=buffer)
    events = {**on.core.events, EventKind.CONSECUTIVE_ACCESS: cycles(turnaround)}
    on = replace(on, core=replace(on.core, events=events))
    for one in SUCCESSIONS:
        assert one.dearest.is_dearest
        assert high(one, on) <= high(one.dearest, on), one


def test_instructions_that_take_longer_than_what_they_hide() -> None:
    on = board(ram(3, divider=2))
    slow = replace(on, core=replace(on.core, events={**on.core.events, EventKind.LOAD: cycles(2)}))
    key, load = behind(LOADED, LOADED, (ALU, 2)), CoreEvent("code", EventKind.LOAD)
    counts = replace(kernel(key, load), stalls=STALL_EDITION, successions=True)
    assert price_vector(counts, on, PLACED)[key].time.high == 0
    assert price_vector(counts, slow, PLACED)[key].time.high == 1


def spread(low: int, high: int) -> Quantity:
    return Quantity(Fraction(low), Fraction(low + high, 2), Fraction(high), Unit.CYCLES)


def test_a_write_of_which_less_may_be_hidden_is_waited_for_longer() -> None:
    """What a store hides of its write is a number of its own: its least is what the wait needs."""
    on = board(ram(6))
    core = replace(on.core, overlap={**on.core.overlap, WRITE: spread(0, 3)})
    off = replace(on, core=core)
    for key, whole in (
        (behind(STORED, LOADED, (ALU, 1)), 6 + 1 - 1),
        (behind(None, LOADED, (ALU, 2)), 6 + 1 - 2),
    ):
        assert priced(key, off).high == whole
        for hidden in range(4):
            exact = {**on.core.overlap, WRITE: cycles(hidden)}
            one = high(key, replace(on, core=replace(on.core, overlap=exact)))
            assert one == whole - hidden
            assert priced(key, off).low <= one


def test_the_low_end_of_a_wait_is_behind_the_most_that_is_done_in_between() -> None:
    """A write of 5 or 6 cycles, and behind it an instruction of 1 to 3."""
    on = board(replace(ram(6), times={WRITE: AccessTime(spread(5, 6), spread(5, 6))}))
    core = replace(on.core, events={**on.core.events, EventKind.ALU: spread(1, 3)})
    found = priced(behind(STORED, STORED, (ALU, 1)), replace(on, core=core))
    assert (found.low, found.high) == (5 + 1 - 1 - 3, 6 + 1 - 1 - 3)


def test_an_edge_is_known_only_where_all_is_hidden_whatever_the_numbers() -> None:
    """A load that takes a cycle or two, of which one or two are hidden: with two and one, the next
    access is asked for a cycle later than what is between says."""
    on = board(ram(3, divider=2))
    events = {**on.core.events, EventKind.LOAD: spread(1, 2)}
    core = replace(on.core, events=events, overlap={**on.core.overlap, READ: spread(1, 2)})
    key, load = behind(LOADED, LOADED, (ALU, 2)), CoreEvent("code", EventKind.LOAD)
    counts = replace(kernel(key, load), stalls=STALL_EDITION, successions=True)
    assert price_vector(counts, on, PLACED)[key].time.high == 0
    assert price_vector(counts, replace(on, core=core), PLACED)[key].time.high == 1


def test_the_least_width_of_an_access() -> None:
    byte = AccessClass("s", READ, 8)
    assert high(byte, board(ram(3, width=16), buffer=0)) == 2
    assert high(byte, board(ram(3, width=16), buffer=0, least=32)) == 3
    assert high(AccessClass("s", WRITE, 8), board(ram(3, width=16), buffer=0, least=32)) == 2
    # What may be a read is as wide as one.
    either = replace(ram(3, width=16), times={Operation.ACCESS: at(cycles(3), cycles(1))})
    unknown = AccessClass("s", Operation.ACCESS, 8)
    assert high(unknown, board(either, buffer=0)) == 2
    assert high(unknown, board(either, buffer=0, least=32)) == 3


def test_refresh_has_its_share_of_every_price_and_comes_once_at_a_beginning() -> None:
    """6 of 60 cycles: 9/10 are left. The low end does without."""
    refresh = Interference(cycles(6), cycles(60))
    on = board(ram(4, refresh=refresh))
    assert priced(LOADED, on) == Interval(Fraction(3), Fraction(10, 3), Fraction(10, 3))
    assert high(ALU, on) == Fraction(10, 9)
    assert high(behind(None, LOADED, (ALU, 9)), on) == Fraction(60, 9)
    assert high(behind(LOADED, LOADED, (ALU, 9)), on) == 0
    both = board(ram(4, refresh=refresh, arbitration=Interference(cycles(12), cycles(120))))
    assert high(ALU, both) == Fraction(10, 8)
    assert high(behind(None, None), both) == Fraction(180, 8)
    # Cycles are the region's.
    assert high(
        behind(None, None, (ALU, 99)), board(ram(1, divider=2, refresh=refresh))
    ) == Fraction(120, 9)


def test_without_a_period_or_a_beginning_each_access_waits() -> None:
    on = board(ram(4, arbitration=Interference(cycles(12))))
    assert priced(LOADED, on) == Interval(Fraction(3), Fraction(3), Fraction(15))
    assert high(STORED, on) == 12
    assert high(ALU, on) == 1
    assert high(behind(None, None), on) == 0
    # A write that is under way waits as well, and the first access with it.
    assert high(behind(None, LOADED), on) == 12 + 4 + 1 - 1
    assert high(behind(STORED, LOADED), on) == 4 + 1 - 1
    assert high(behind(None, None, more=True), on) == 12 + 4 + 1 - 1
    two = board(ram(4, arbitration=Interference(cycles(12))), buffer=2)
    assert high(behind(None, LOADED), two) == 2 * (12 + 4 + 1) - 1
    none = board(ram(4, arbitration=Interference(cycles(12))), buffer=0)
    assert high(behind(None, LOADED), none) == 0
    # So does a line, of a window without any access: behind two writes, for each of which 12 go by.
    counts = replace(kernel(LOADED), stalls=STALL_EDITION, successions=True)
    waits = Pricer(two, PLACED, counts, [LOADED]).waits_of_refills()
    assert waits.longest(two.regions["ram"]) == 2 * (12 + 4)
    assert waits.behind(behind(None, None), two.regions["ram"]) == 2 * (12 + 4)
    assert waits.line(two.regions["ram"]).high == 12
    refreshed = board(ram(4, refresh=Interference(cycles(6), cycles(60))), buffer=0)
    assert high(LOADED, refreshed, counted=False) == 9
    assert high(ALU, refreshed, counted=False) == 1
    # Two memories, each for more than half of the time: no share of all time is left.
    flash = replace(ram(4, refresh=Interference(cycles(31), cycles(60))), name="flash")
    halves = board(ram(4, refresh=Interference(cycles(30), cycles(60))), flash)
    assert high(LOADED, halves) == 33
    assert high(ALU, halves) == 1


def test_a_memory_that_is_never_free_is_a_mistake() -> None:
    """Nothing would ever be done; and one turn at an access says otherwise."""
    whole = Interference(cycles(60), cycles(60))
    half = Interference(cycles(30), cycles(60))
    for beside, named in (
        ({"refresh": whole}, "refresh"),
        ({"arbitration": replace(whole, takes=ns(61))}, "arbitration"),
        ({"refresh": half, "arbitration": replace(half, takes=cycles(31))}, "arbitration"),
    ):
        for counted in (False, True):
            on = board(ram(4, **beside), buffer=0)
            with pytest.raises(PricingError, match="all of the time") as refused:
                priced(LOADED, on, counted)
            assert refused.value.file == "profile"
            assert refused.value.keys == ("regions", "ram", named, "every")
    # Cycles are the region's: 31 of them are 62 ns.
    slow = ram(4, divider=2, refresh=Interference(cycles(31), ns(60)))
    with pytest.raises(PricingError, match="all of the time"):
        priced(LOADED, board(slow, buffer=0))
    assert high(LOADED, board(ram(4, refresh=Interference(cycles(31), ns(60))), buffer=0)) > 3


def test_a_write_buffer_needs_to_know_where_windows_begin() -> None:
    with pytest.raises(PricingError, match="does not count successions") as refused:
        priced(LOADED, board(ram(6)), counted=False)
    assert "--successions" in str(refused.value.expected)


def test_what_waits_is_no_sum_of_times() -> None:
    assert not is_linear(board(ram(6)))
    assert not is_linear(board(ram(6, divider=2), buffer=0))
    plain = board(ram(6, width=16), buffer=0, least=32)
    assert is_linear(plain)
    found = linear_prices(plain, PLACED, 32, [AccessClass("s", READ, 8), behind(None, LOADED)])
    assert [price.constant for price in found.prices.values()] == [6, 0]
