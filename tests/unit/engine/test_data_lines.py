"""Loads that miss where the map says where data lie: each figure by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from test_data_cache import (
    COUNTED,
    LOAD,
    OWN,
    PROMISED,
    READS,
    board,
    characterized,
    lines,
)
from test_pricing import cycles

from wcetchar.engine import PricingError, estimate, price_vector, worst_parameters
from wcetchar.engine.chains import Following
from wcetchar.engine.versus import Side, versus
from wcetchar.errors import InputError
from wcetchar.model.access import AccessVector, CoreEvent, EventKind, Succession
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    Counts,
    DataFootprint,
    LineBehind,
    SectionInfo,
    TraceSection,
    UsedLine,
    UsedLines,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.expression import Name
from wcetchar.model.hardware import Interference
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import Parameter, ParameterKind, Part, SectionKind
from wcetchar.model.versus import Basis, Verdict

SETS = 8
"""Of the board's cache, with lines of 32 bytes."""
MISS = 140


def line(number: int, loads: int, fresh: int | None = None, section: str = "heap") -> UsedLine:
    return UsedLine(32, section, number, loads, min(1, loads) if fresh is None else fresh)


def uses(
    *found: UsedLine,
    apart: int = 0,
    words: int = 0,
    blocked: UsedLines | None = None,
    vector: AccessVector = COUNTED,
    behind: tuple[LineBehind, ...] = (),
) -> Characterization:
    """COUNTED has six line loads, eight in what is blocked, which is all of it."""
    plain = characterized(vector)
    used = UsedLines(found, (("stack", words),) if words else (), apart, behind)
    (service,) = plain.services
    stretch = replace(service.stretches[0], data=blocked or used)
    service = replace(service, data=(DataFootprint(((),), used),), stretches=(stretch,))
    sections = (
        SectionInfo("heap", SectionKind.DATA, "", 0x100),
        SectionInfo("stack", SectionKind.STACK, "", 0x1000),
    )
    return replace(plain, services=(service,), sections=sections)


def at(
    heap: int | None = 0x100, state: CacheState = CacheState.COLD, stack: int | None = None
) -> SectionMap:
    addresses = {"heap": heap, "stack": stack}
    return SectionMap(
        "map",
        {"heap": "ram", "stack": "ram", ".text": "tcm"},
        assumptions=PROMISED,
        addresses={name: a for name, a in addresses.items() if a is not None},
        data_cache=state,
    )


def estimated(known: Characterization, where: SectionMap, ways: int = 1) -> Estimate:
    found = estimate(known, "svc", board(ways), where, {})
    assert found.total.high == sum(row.time.high for row in found.rows)
    assert found.total.high == sum(column.time.high for column in found.columns)
    return found


def misses(known: Characterization, where: SectionMap, ways: int = 1) -> int:
    extra = (estimated(known, where, ways).total.high - OWN) / MISS
    assert extra.denominator == 1
    return int(extra)


def test_lines_that_have_room_are_loaded_once() -> None:
    known = uses(line(0, 3), line(1, 2), line(2, 0))
    found = estimated(known, at())
    assert found.total.high == OWN + 2 * MISS
    assert {c.key for c in found.columns if isinstance(c.key, CoreEvent)} == {LOAD, lines(1)}
    (column,) = (c for c in found.columns if c.key == lines(1))
    assert (column.region, column.count) == ("ram", 2)
    assert found.total.low == OWN


def test_two_lines_of_one_set_take_turns() -> None:
    # 0 and 8 share a set: the first goes when the other is loaded, twice.
    assert misses(uses(line(0, 3), line(SETS, 1)), at()) == 2 + 1
    assert misses(uses(line(0, 3), line(SETS, 2)), at()) == 3 + 2
    assert misses(uses(line(0, 3), line(SETS, 2)), at(), ways=2) == 2
    # A store takes no line away where a set holds one; it may keep its own where it holds more.
    assert misses(uses(line(0, 3), line(SETS, 0)), at()) == 1
    third = uses(line(0, 3), line(SETS, 2), line(2 * SETS, 0))
    assert misses(third, at(), ways=2) == 3 + 1  # by counts: four with two ways


def told(again: int, other: int, times: int, section: str = "heap") -> LineBehind:
    return LineBehind(32, ("heap", again), (section, other), times)


def test_a_line_is_loaded_again_behind_loads_of_its_set_alone() -> None:
    """As told; of two that are not told, behind each load of the other, and no more often than
    it is loaded at all."""
    both = line(0, 3), line(SETS, 3)
    assert misses(uses(*both), at()) == 3 + 3
    assert misses(uses(*both, behind=(told(0, SETS, 1),)), at()) == 2 + 3
    assert misses(uses(*both, behind=(told(0, SETS, 1), told(SETS, 0, 0))), at()) == 2 + 1
    assert misses(uses(*both, behind=(told(0, SETS, 9),)), at()) == 3 + 3
    one = line(0, 5), line(SETS, 1)
    assert misses(uses(*one, behind=(told(0, SETS, 3),)), at()) == 2 + 1
    # Two of one set with room for both, or of two sets: nothing to tell.
    assert misses(uses(*both, behind=(told(0, SETS, 1),)), at(), ways=2) == 2
    assert misses(uses(line(0, 3), line(1, 3), behind=(told(0, 1, 2),)), at()) == 2
    # Of three, what is not told of two of them.
    three = line(0, 4), line(SETS, 2), line(2 * SETS, 2)
    known = uses(*three, behind=(told(0, SETS, 0), told(0, 2 * SETS, 1)))
    assert misses(known, at()) == 6  # by counts, that is: 2 + 2 + 2 by lines
    warm = at(state=CacheState.WARM)
    assert misses(uses(*both, behind=(told(0, SETS, 1), told(SETS, 0, 1))), warm) == 2 + 2


def test_what_is_told_of_two_lines_holds_wherever_they_lie() -> None:
    stack = line(0, 2, section="stack")
    known = uses(line(0, 3), stack, behind=(told(0, 0, 1, "stack"),))
    assert misses(known, at(stack=0x1000)) == 2 + 2
    assert misses(known, at(heap=0x1100, stack=0x2000)) == 2 + 2
    assert misses(known, at(stack=0x1020)) == 2
    # Another size of lines says nothing of this one.
    other = (replace(told(0, 0, 1, "stack"), size=64),)
    assert misses(uses(line(0, 3), stack, behind=other), at(stack=0x1000)) == 3 + 2


def test_never_more_than_by_counts() -> None:
    assert misses(uses(line(0, 9), line(SETS, 9)), at()) == 6
    # Values that were not observed have no footprint.
    known = uses(line(0, 1))
    (service,) = known.services
    range_ = Parameter("n", ParameterKind.ARGUMENT, 0, 3, "number")
    seen = DataFootprint(((1,),), UsedLines((line(0, 1),)))
    known = replace(known, services=(replace(service, parameters=(range_,), data=(seen,)),))
    figures = [estimate(known, "svc", board(), at(), {"n": n}).total.high - OWN for n in range(4)]
    assert figures == [6 * MISS, MISS, 6 * MISS, 6 * MISS]
    prices = price_vector(known, board(), at())
    assert worst_parameters(known.services[0], prices, {}).total == {"n": 0}


def test_data_of_unknown_place_may_take_any_line_away() -> None:
    lost = line(0, 2, section="stack")
    known = uses(line(0, 3), line(1, 1), lost)
    # Each of its two loads misses, and takes line 0 away, which is loaded twice more.
    assert misses(known, at()) == 2 + 2 + 2
    note = "stack may lie in any set of the data cache"
    assert note in estimated(known, at()).notes
    # In line 8 it shares no set with the others; in line 0 and 1 it does.
    assert misses(known, at(stack=0x1040)) == 3
    assert misses(known, at(stack=0x1000)) == 3 + 1 + 2
    assert note not in estimated(known, at(stack=0x1040)).notes
    # With two ways there is room for one of each set and that one; not with two of a set.
    assert misses(known, at(), ways=2) == 2 + 2
    assert misses(uses(line(0, 2), line(SETS, 1), lost), at(), ways=2) == 4  # by counts


def test_words_that_hardware_reads_miss() -> None:
    assert misses(uses(line(0, 3), words=2), at()) == 1 + 2
    # In a warm cache they may take away what is there; that is no more than in a cold one.
    warm = at(state=CacheState.WARM)
    assert misses(uses(line(0, 1), line(1, 1), line(2, 1), words=1), warm) == 1 + 1
    assert misses(uses(line(0, 3), words=2), warm) == 1 + 2


def test_in_a_warm_cache_is_what_has_room() -> None:
    warm = at(state=CacheState.WARM)
    known = uses(line(0, 3), line(1, 2))
    found = estimated(known, warm)
    assert found.total.high == OWN
    assert any("holds what the service loads" in note for note in found.notes)
    # An interrupt may have run before something is blocked.
    assert found.blocking_interrupts.high == OWN + 2 * MISS
    assert misses(uses(line(0, 3), line(SETS, 1), line(1, 4)), warm) == 3
    # Another thread takes all of it away.
    assert misses(uses(line(0, 3, 2), line(1, 1), apart=1), warm) == 3
    assert misses(uses(line(0, 3, 2), line(1, 1), apart=1), at()) == 3


def test_what_is_blocked_begins_with_nothing() -> None:
    blocked = UsedLines((line(0, 2), line(1, 1), line(2, 1)))
    known = uses(line(0, 2), line(1, 1), line(2, 1), line(3, 1), blocked=blocked)
    found = estimated(known, at())
    assert found.total.high == OWN + 4 * MISS
    assert found.blocking_interrupts.high == OWN + 3 * MISS
    # Of all windows together it may use more than this one, which loads no less than its parts.
    blocked = UsedLines(tuple(line(n, 1) for n in range(6)))
    known = uses(line(0, 2), line(1, 1), blocked=blocked)
    assert estimated(known, at()).blocking_interrupts.high == OWN + 2 * MISS
    blocking = price_vector(known, board(), at())
    assert worst_parameters(known.services[0], blocking, {}).interrupts == {}


def test_at_values_that_were_not_observed_a_stretch_is_counted() -> None:
    """It may walk over more objects than those whose lines were seen."""
    known = uses(line(0, 1))
    (service,) = known.services
    range_ = Parameter("n", ParameterKind.STATE, 0, 8, "objects")
    objects = AccessVector({LOAD: 1, READS: 1, lines(1): 1})
    counts = Counts((TraceSection(Blocking(), objects, Name("n")),))
    seen = tuple(
        DataFootprint(((n,),), UsedLines(tuple(line(m, 1) for m in range(n)))) for n in range(4)
    )
    (stretch,) = service.stretches
    stretch = replace(stretch, counts=counts, data=UsedLines(tuple(line(m, 1) for m in range(3))))
    service = replace(service, parameters=(range_,), counts=counts, data=seen, stretches=(stretch,))
    known = replace(known, services=(service,))
    for n in range(9):
        found = estimate(known, "svc", board(), at(), {"n": n})
        assert found.total.high == found.blocking_interrupts.high == n * (20 + MISS)


def test_what_goes_on_behind_a_switch_is_not_warm() -> None:
    known = uses(line(0, 3), line(1, 2))
    (service,) = known.services
    warm = at(state=CacheState.WARM)
    for part, expected in ((Part.UNTIL_SWITCH, 0), (Part.UNTIL_RETURN, 2)):
        cut = replace(known, services=(replace(service, part=part),))
        assert misses(cut, warm) == expected


def test_a_line_of_unknown_place_may_have_the_place_of_one_that_is_warm() -> None:
    """Loads of a, b, a, where b was loaded last before."""
    known = uses(line(0, 2), line(1, 1), line(2, 1), line(0, 1, section="stack"))
    assert misses(known, at(state=CacheState.WARM)) == 1 + 2
    assert misses(known, at()) == 3 + 1 + 1


def test_what_misses_holds_up_what_comes_next_until_it_is_refreshed_once_more() -> None:
    busy = replace(board().regions["tcm"], refresh=Interference(cycles(3), cycles(20)))
    hardware = replace(board(), regions={**board().regions, "tcm": busy})
    known = uses(line(0, 1))
    known = replace(known, successions=True)
    plain = estimate(known, "svc", board(), at(), {}).total.high
    begins = Succession(None, (), 0, False, None)
    (service,) = known.services
    (row,) = service.counts.rows
    row = replace(row, vector=AccessVector({**row.vector, begins: 1}))
    known = replace(known, services=(replace(service, counts=Counts((row,))),))
    found = estimate(known, "svc", hardware, at(), {})
    # Each 200 ns, for 30 ns: as often as it can come until all is done.
    time = plain
    while time != (time := plain + 30 * (time // 200 + 1)):
        pass
    assert found.total.high == time > plain + 30
    assert estimate(known, "svc", hardware, at(state=CacheState.WARM), {}).total.high < time


def test_a_stretch_of_unknown_data_is_counted_by_loads() -> None:
    known = uses(line(0, 1), line(1, 1), line(2, 1))
    (service,) = known.services
    (stretch,) = service.stretches
    other = replace(service, stretches=(replace(stretch, data=None),))
    found = estimate(replace(known, services=(other,)), "svc", board(), at(), {})
    assert found.blocking_interrupts.high == OWN + 3 * MISS  # no more than its service
    other = replace(service, data=None, stretches=(replace(stretch, data=None),))
    known = replace(known, services=(other, replace(service, name="another")))
    found = estimate(known, "svc", board(), at(), {})
    assert found.total.high == OWN + 6 * MISS
    assert found.blocking_interrupts.high == OWN + 6 * MISS


def test_an_instruction_that_accesses_one_of_two_sections_is_counted_by_the_dearer() -> None:
    vector = AccessVector({LOAD: 2, READS: 2, lines(1, section="lists"): 2})
    known = uses(line(0, 2), line(1, 0, section="stack"), vector=vector)
    lists = SectionInfo("lists", SectionKind.DATA, "", None, ("heap", "stack"))
    known = replace(known, sections=(*known.sections, lists))

    def total(where: SectionMap) -> Fraction:
        return estimate(known, "svc", board(), where, {}).total.high

    # Only where both lie somewhere, it is known to be the one that was seen.
    assert total(at()) == 40 + 2 * MISS
    assert total(at(stack=0x1000)) == 40 + MISS
    flash = {"heap": "ram", "stack": "flash", ".text": "tcm"}
    assert total(replace(at(), sections=flash)) == 40 + 2 * 230
    uncached = {"heap": "tcm", "stack": "flash", ".text": "tcm"}
    assert total(replace(at(stack=0x1000), sections=uncached)) == 40 + 2 * 230


def test_sections_that_are_moved_keep_their_lines() -> None:
    known = uses(line(0, 2), line(0, 2, section="stack"))
    assert misses(known, at(0x120, stack=0x1000)) == 2
    with pytest.raises(PricingError, match="heap lies otherwise in lines of 32 bytes") as error:
        estimated(known, at(0x110))
    assert error.value.keys == ("addresses", "heap")
    # The heap ends in the line in which the stack begins.
    shared = uses(line(2, 2), line(0, 2, section="stack"))
    begins = {"heap": 0x100, "stack": 0x150}
    sections = tuple(replace(s, address=begins.get(s.name)) for s in shared.sections)
    shared = replace(shared, sections=sections)
    assert misses(shared, at(0x100, stack=0x150)) == 1
    assert misses(shared, at(0x200, stack=0x250)) == 1
    with pytest.raises(PricingError, match="heap and stack shared a line of 32 bytes") as error:
        estimated(shared, at(0x100, stack=0x250))
    assert "80 bytes" in str(error.value)
    # Lines that come together only now: each may push itself out, in turns.
    assert misses(known, at(0x100, stack=0x100)) == 1 + 1


def test_a_warm_cache_needs_to_know() -> None:
    known, warm = uses(line(0, 1)), at(state=CacheState.WARM)
    with pytest.raises(PricingError, match="where data lie is not said") as error:
        estimated(known, at(None, state=CacheState.WARM))
    assert "heap" in str(error.value)
    with pytest.raises(PricingError, match="does not say which lines of data") as error:
        estimated(characterized(), warm)
    assert "--data-lines" in str(error.value)
    with pytest.raises(PricingError, match="otherwise than where they were") as error:
        estimated(known, replace(warm, assumptions=frozenset()))
    assert "`data alignment`" in str(error.value)


def test_lines_that_are_not_told_are_refused() -> None:
    """Else a footprint without them would be the cheapest."""
    others = line(0, 3, section="stack")
    for found in ((), (replace(line(0, 3), size=64),)):
        assert misses(uses(*found), at()) == 6
    for found in ((line(0, 0),), (others,)):
        with pytest.raises(InputError, match="no such line is told"):
            estimated(uses(*found), at(stack=0x1000))
    blocked = UsedLines(())
    with pytest.raises(InputError, match="no such line is told"):
        estimated(uses(line(0, 3), blocked=blocked), at())


def test_without_addresses_loads_are_priced_one_by_one() -> None:
    known = uses(line(0, 1))
    assert misses(known, at(None)) == 6
    assert price_vector(known, board(), at(None)).caches.of_core == ()


def test_sides_are_compared_by_the_lines_that_they_load() -> None:
    """One load of a line against three, in a service, and in what it blocks."""
    sides, made = [], []
    for known in (uses(line(0, 1)), uses(line(0, 2), line(1, 1))):
        prices = price_vector(known, board(), at())
        following = Following(known, prices, {})
        sides.append(Side(known.services[0], prices, following))
        made.append(estimate(known, "svc", board(), at(), {}, prices))
    total, interrupts, _ = versus(sides, [], 1)
    (against,) = total.against
    assert against.worst.times == tuple(one.total.high for one in made)
    assert against.verdict is Verdict.NEVER_FASTER
    assert against.basis is Basis.EVERY_POINT
    (against,) = interrupts.against
    assert against.worst.times == tuple(one.blocking_interrupts.high for one in made)


def test_what_a_load_behind_a_store_takes_stays() -> None:
    behind = CoreEvent("heap", EventKind.LOAD_BEHIND_STORE)
    vector = AccessVector({LOAD: 2, READS: 2, lines(1): 2, behind: 1})
    known = uses(line(0, 2), vector=vector)
    found = estimate(known, "svc", board(again=7), at(), {})
    assert found.total.high == 40 + 70 + MISS


def test_blocking_without_stretches_is_that_of_a_cold_cache() -> None:
    known = uses(line(0, 3), line(1, 2))
    (service,) = known.services
    counts = Counts((TraceSection(Blocking(interrupts=True), COUNTED),))
    old = replace(service, counts=counts, stretches=(), stretches_known=False)
    warm = at(state=CacheState.WARM)
    found = estimate(replace(known, services=(old,)), "svc", board(), warm, {})
    assert found.total.high == OWN
    assert found.blocking_interrupts.high == OWN + 2 * MISS
