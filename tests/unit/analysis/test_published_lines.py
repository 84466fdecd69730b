"""Lines and ranges by section: where sections meet within a line, and what lies in none."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from wcetchar.analysis.line_entries import Entered, Hidden
from wcetchar.analysis.published_lines import Places
from wcetchar.model.access import EventKind, Succession
from wcetchar.model.characterization import (
    CodeRange,
    EnteredLine,
    HiddenStalls,
    LineBehind,
    LinesInVain,
)
from wcetchar.model.service import SectionKind

NONE: dict[int, Succession] = {}


def places(**starts: int) -> Places:
    """Sections of code that begin at these addresses, in order."""
    sections = [SimpleNamespace(kind=SectionKind.CODE, name=name, meaning="") for name in starts]
    resolved: Any = SimpleNamespace(
        section_names=tuple(starts),
        services=SimpleNamespace(sections=sections),
        starts=np.array(list(starts.values()), dtype=np.uint64),
        owners=np.arange(len(starts)),
    )
    return Places(resolved)


def test_a_line_of_several_sections_is_one_of_each() -> None:
    """A tiny section in the middle of a line, too."""
    found = places(a=0, b=70, c=80, d=128).repeated(
        Entered(Counter(), frozenset(), {64: Counter({1: 3, 2: 1})}, 0, {})
    )
    assert found == (
        EnteredLine(64, "a", 1, 3),
        EnteredLine(64, "b", 0, 3),
        EnteredLine(64, "c", 0, 3),
    )


def test_turns_are_told_where_they_say_more_than_entries() -> None:
    """Of lines of 64 bytes, of which every sixteenth may share a set."""
    entries = Counter({1: 4, 17: 3, 33: 1, 2: 5, 18: 2, 3: 2})
    behind = {64: Counter({(1, 17): 2, (1, 33): 1, (17, 1): 3, (33, 1): 1})}
    entered = Entered(Counter(), frozenset(), {64: entries, 16: Counter({1: 2})}, 0, {}, behind)
    assert places(a=0, b=64 * 18).behind(entered) == (
        LineBehind(64, ("a", 1), ("a", 17), 2),  # not behind 33: each entry of that is in between
        LineBehind(64, ("a", 2), ("b", 0), 0),
        LineBehind(64, ("a", 17), ("a", 1), 3),
        LineBehind(64, ("a", 17), ("b", 15), 0),
        LineBehind(64, ("b", 0), ("a", 2), 0),
    )
    # A line in which two sections meet is left out, be it the one or the other.
    assert places(a=0, b=64 * 18 + 32).behind(entered) == (
        LineBehind(64, ("a", 1), ("a", 17), 2),
        LineBehind(64, ("a", 17), ("a", 1), 3),
        LineBehind(64, ("a", 17), ("b", 15), 0),
    )


def test_ranges_count_from_their_section_and_from_the_one_before_what_is_in_none() -> None:
    found = places(a=100, b=200).ranges(
        frozenset(
            {
                (-1, 96, 104),
                (0, 190, 198),
                (0, 198, 202),
                (-1, 202, 204),
                (1, 300, 302),
                (0, 210, 212),
            }
        )
    )
    assert found == (
        CodeRange("a", -4, 4),
        CodeRange("a", 90, 102),
        CodeRange("a", 110, 112),
        CodeRange("b", 2, 4),
        CodeRange("b", 10, 12),
        CodeRange("b", 100, 102),
    )


def test_what_is_hidden_is_told_of_lines_of_one_section() -> None:
    waits = (EventKind.CONSECUTIVE_ACCESS, EventKind.LOAD_USE_STALL)
    first: dict[int, dict[int, Hidden]] = {
        64: {n: Hidden(waits) for n in range(3)}  # b begins in line 1
        | {n: Hidden(in_vain=before) for n, before in ((3, 1), (4, 1), (5, 0))}
        | {6: Hidden(), 7: Hidden(waits, in_vain=0), 8: Hidden(waits, in_vain=2)},
        16: {0: Hidden((EventKind.SHIFT_USE_STALL,))},
    }
    ranges = frozenset({(0, 0, 70), (1, 70, 600)})
    hidden, in_vain = places(a=0, b=70).hidden(
        Entered(Counter(), ranges, {}, 0, first), {"a", "b"}, NONE.__getitem__
    )
    assert hidden == (
        HiddenStalls(16, "a", (EventKind.SHIFT_USE_STALL,), 1),
        HiddenStalls(64, "a", waits, 1),
        HiddenStalls(64, "b", waits, 1),
        HiddenStalls(64, "b", waits, 1, in_vain=0),
        HiddenStalls(64, "b", waits, 1, in_vain=2),
    )
    assert in_vain == (LinesInVain(64, "b", 0, 1), LinesInVain(64, "b", 1, 2))


def test_what_is_hidden_in_a_section_that_is_not_fetched_from_is_left_out() -> None:
    """What is fetched in vain behind the end of `a` reaches into the first line of `b`."""
    first: dict[int, dict[int, Hidden]] = {16: {1: Hidden(in_vain=0)}}
    reaching = frozenset({(0, 10, 14), (0, 14, 18)})
    assert places(a=0, b=16).hidden(
        Entered(Counter(), reaching, {}, 0, first), {"a"}, NONE.__getitem__
    ) == ((), ())


def test_the_rest_of_a_line_may_be_of_a_section_that_is_not_fetched() -> None:
    """`b` begins in line 1. What is fetched in vain behind the end of `a` stays with it, and what
    jumps to `b` does not."""
    waits = (EventKind.LOAD_USE_STALL,)
    first: dict[int, dict[int, Hidden]] = {16: {0: Hidden(waits), 1: Hidden(waits)}}

    def told(*ranges: tuple[int, int, int]) -> list[tuple[str, int]]:
        entered = Entered(Counter(), frozenset(ranges), {}, 0, first)
        hidden, _ = places(a=0, b=22).hidden(entered, {"a", "b"}, NONE.__getitem__)
        return [(one.section, one.lines) for one in hidden]

    assert told((0, 0, 20)) == [("a", 2)]
    assert told((0, 0, 20), (0, 20, 26)) == [("a", 2)]
    assert told((0, 0, 20), (1, 24, 26)) == [("a", 1)]
    assert told((0, 0, 20), (-1, 24, 26)) == [("a", 1)]
    assert told((0, 0, 12), (1, 24, 26)) == [("a", 1), ("b", 1)]
