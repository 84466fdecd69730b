"""The three models of a cache beside each other: each figure by hand."""

from __future__ import annotations

from dataclasses import replace

import test_data_cache as of_data
import test_data_lines as of_lines
import test_refills as of_code

from wcetchar.engine.cache_models import CacheModels, cache_models
from wcetchar.model.characterization import Characterization, EnteredLine, FetchedLines
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.replayed import CacheKind
from wcetchar.model.section_map import CacheState, SectionMap

ALWAYS, COLD, WARM = CacheState.ALWAYS_MISS, CacheState.COLD, CacheState.WARM


def models(known: Characterization, board: HardwareProfile, placed: SectionMap) -> CacheModels:
    (found,) = cache_models(known, board, placed, known.services)
    return found


def lines(found: CacheModels, known: Characterization) -> dict[CacheState, int]:
    """Checked to be priced at the one price that there is."""
    each = {state: says(known.services[0], ()) for state, says in found.says.items()}
    price = max(found.price[section] for section in (".text", "heap") if section in found.price)
    assert all(loads.time == loads.lines * price for loads in each.values())
    return {state: loads.lines for state, loads in each.items()}


def test_code_by_all_three_whatever_the_map_says() -> None:
    often = (EnteredLine(32, ".text", 0, 6), EnteredLine(32, ".text", 4, 2))
    footprint = of_code.footprint(0, 1, 4, repeated=often)
    known = of_code.characterized(FetchedLines(of_code.formula(50, 9), (footprint,)))
    for state in CacheState:
        found = models(known, of_code.board(), of_code.where_it_was(state))
        assert found.kind is CacheKind.INSTRUCTIONS
        # Lines 0 and 4 share a set: min(6, 1 + 2) and min(2, 1 + 6); line 1 is alone.
        assert lines(found, known) == {ALWAYS: 50, COLD: 3 + 2 + 1, WARM: 3 + 2}


def test_without_addresses_code_always_misses() -> None:
    known = of_code.characterized(FetchedLines(of_code.formula(5, 2), (of_code.footprint(0),)))
    placed = replace(of_code.where_it_was(ALWAYS), addresses={})
    found = models(known, of_code.board(), placed)
    assert lines(found, known) == {ALWAYS: 7}
    assert found.unpriced.keys() == {COLD, WARM}
    assert "where .text begins is not said" in found.unpriced[COLD]


def test_data_that_are_placed() -> None:
    """Ten reads; lines 0 and 8 share a set, and line 1 is alone."""
    known = of_lines.uses(of_lines.line(0, 2), of_lines.line(of_lines.SETS, 1), of_lines.line(1, 2))
    found = models(known, of_data.board(), of_lines.at())
    assert found.kind is CacheKind.DATA
    assert lines(found, known) == {ALWAYS: 10, COLD: 2 + 1 + 1, WARM: 2 + 1}


def test_data_that_are_not_placed_are_counted() -> None:
    known = of_data.characterized()
    found = models(known, of_data.board(ways=2), of_data.placed(ALWAYS))
    assert lines(found, known) == {ALWAYS: 10, COLD: 4}
    assert "--data-lines" in found.unpriced[WARM] or "which lines" in found.unpriced[WARM]


def test_data_without_the_promise_always_miss() -> None:
    known = of_data.characterized()
    found = models(known, of_data.board(), of_data.placed(COLD, frozenset()))
    assert lines(found, known) == {ALWAYS: 10}
    assert "does not promise" in found.unpriced[COLD]


def test_what_is_not_cached_has_no_models() -> None:
    known = of_data.characterized()
    placed = of_data.placed(place="tcm")
    assert cache_models(known, of_data.board(), placed, known.services) == ()
