"""Lines of blocking stretches: of listings, and of stretches that are written by hand."""

from __future__ import annotations

import copy
import gc
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from listing import HandTrace
from test_meanwhile import ONE, made

from wcetchar.analysis import published_stretches
from wcetchar.analysis.blocking import Stretch
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.collector import Code
from wcetchar.analysis.line_entries import Entered, Hidden, LineEntries
from wcetchar.analysis.stretch_lines import StretchLines
from wcetchar.counting.columns import Columns
from wcetchar.model.access import EventKind
from wcetchar.model.characterization import (
    Footprint,
    HiddenStalls,
    Joint,
    ServiceCharacterization,
    StretchCode,
    StretchKind,
)

Assemble = Callable[[str, str], Path]
MASKS, LETS_IN = "csrrci x0, mstatus, 8", "csrrsi x0, mstatus, 8"
BODY = (
    "nop", "lw a0, 0(s0)", "addi a2, a2, 1", "lw a1, 8(s0)", "addi a2, a2, 1",
    "lw a3, 12(s0)", "nop", "sw a4, 16(s0)", "nop", "nop",
)  # fmt: skip
"""Behind what masks, in the second instruction of a line of eight: the store enters the next."""


LINE = (LETS_IN, *["nop"] * 7)
"""Before: hardware begins with interrupts masked."""


def of(
    assemble: Assemble, rows: Sequence[str], executed: Sequence[int] | None = None
) -> tuple[ServiceCharacterization, StretchCode, Footprint]:
    """A service, and the only stretch of it that begins by itself; behind a line of eight
    instructions, which come before those that are ``executed``."""
    program, trace = made(
        assemble,
        (*LINE, *rows),
        None if executed is None else [*range(8), *(8 + number for number in executed)],
    )
    found = characterize([HandTrace(trace)], *program, ONE, tool="test", successions=True)
    (service,) = found.services
    (code,) = (
        stretch.code
        for stretch in service.stretches
        if stretch.kind is StretchKind.INTERRUPTS and not stretch.goes_on_from
    )
    assert code is not None
    (footprint,) = code.footprints
    return service, code, footprint


def groups(footprint: Footprint, size: int = 32) -> list[HiddenStalls]:
    return [one for one in footprint.hidden if one.size == size]


def befores(group: HiddenStalls) -> list[int]:
    return [before for before, _ in group.accesses]


def test_a_stretch_hides_what_it_waits_for_itself(assemble_riscv: Assemble) -> None:
    """The line that the store enters, as in the service, which is no longer: and none of the line
    of what masks. The first load has no access before it that would be the stretch's."""
    service, code, footprint = of(assemble_riscv, [MASKS, *BODY, LETS_IN, *["nop"] * 3, "ret"])
    assert code.masked_by == (".text", code.ranges[0].start - 1)
    (own,) = groups(footprint)
    assert befores(own) == [6, 4, 2, 0]
    assert own.accesses[0][1].before is None
    assert service.lines is not None
    (whole,) = service.lines.footprints
    assert [befores(one) for one in groups(whole) if befores(one)[0] == 6] == [befores(own)]


def test_what_was_waited_for_before_a_stretch_is_not_its_own(assemble_riscv: Assemble) -> None:
    """What masks is the last instruction of its line, behind all loads."""
    rows = ["nop", *BODY[:6], MASKS, *BODY[7:], LETS_IN, *["nop"] * 3, "ret"]
    _, code, footprint = of(assemble_riscv, rows)
    assert code.masked_by == (".text", code.ranges[0].start - 1)
    # The store enters the next line, and with it the stretch begins.
    assert [befores(one) for one in groups(footprint)] == [[8, 0]]


@pytest.mark.parametrize(
    ("behind", "after"),
    [
        # The next three instructions reach into one more line of 16 bytes.
        (["nop"] * 4, {(16, 3)}),
        # Behind a jump come three that it has fetched in vain, and two of where it goes to.
        (["j . + 64", *["nop"] * 18], {(16, 3), (16, 7), (32, 3)}),
    ],
)
def test_what_comes_after_a_stretch(
    assemble_riscv: Assemble, behind: list[str], after: set[tuple[int, int]]
) -> None:
    """What masks begins a line; the last instruction of the stretch is the twelfth from there."""
    executed = [*range(13), *range(28, 32)] if behind[0] != "nop" else None
    _, code, footprint = of(assemble_riscv, [MASKS, *BODY, LETS_IN, *behind, "ret"], executed)
    assert code.masked_by is not None
    begin = code.masked_by[1] - 3
    found = {(one.size, one.number - begin // one.size) for one in footprint.after}
    assert {one for one in found if one[0] <= 32} == after


@pytest.mark.parametrize(("between", "told"), [(2, False), (3, True)])
def test_behind_a_short_stretch_what_was_written_before_may_be_held_up(
    assemble_riscv: Assemble, between: int, told: bool
) -> None:
    """The instruction that lets interrupts in is the last one of its line of 16 bytes."""
    rows = [*["nop"] * (6 - between), MASKS, *["nop"] * between, LETS_IN, *["nop"] * 4, "ret"]
    _, _, footprint = of(assemble_riscv, rows)
    assert any(one.size == 16 for one in footprint.after) is told


def test_what_the_last_instruction_fetches_in_vain_is_not_needed(assemble_riscv: Assemble) -> None:
    """A return in the last word of a line; and one before it, in the same way."""
    rows = ["nop"] * 6 + ["jalr x0, 0(ra)"] * 2 + ["nop"] * 16
    image, table = made(assemble_riscv, (*rows, "ret"))[0]
    (service,) = (s.address for s in image.symbols if s.name == "service")
    first = next(n for n, one in enumerate(table.instructions) if one.address == service)
    index = np.arange(first, first + 8)
    columns = Columns(table)
    lines = LineEntries(columns, np.zeros(len(table), dtype=np.int64))
    address = np.array([table.instructions[n].address for n in index])
    taken = np.array([False] * 6 + [True, True])
    found = lines.lines_of(index, address, address + 4, taken)
    begin = service // 32
    assert found[32] == {begin, begin + 1}  # in vain for the one before
    taken = np.array([False] * 7 + [True])
    found = lines.lines_of(index, address, address + 4, taken)
    assert found[32] == {begin}


def test_a_stretch_is_left_out_only_if_another_one_hides_no_more(assemble_riscv: Assemble) -> None:
    """Called twice. At first it comes to the second line behind a load that it waits for, and goes
    round once more; then it jumps there at once. So the first one does all that the second does and
    more, but the line is hidden in it alone."""
    rows = (
        "jal ra, 1f", "nop", "jal ra, 1f", "nop", "ret", "nop", "nop", "nop",
        "1: " + MASKS, "beqz a0, . + 28", "nop", "nop", "nop", "lw a3, 0(s0)", "nop",
        "add a4, a3, a3",
        "nop", "nop", "bnez a1, . - 36", LETS_IN, "nop", "nop", "nop", "jalr x0, 0(ra)",
    )  # fmt: skip
    to_the_end = [*range(16, 24)]
    rounds = [*range(8, 19), 9, *to_the_end]
    executed = [0, *rounds, 1, 2, 8, 9, *to_the_end, 3, 4]
    program, trace = made(
        assemble_riscv, (*LINE, *rows), [*range(8), *(8 + number for number in executed)]
    )
    found = characterize([HandTrace(trace)], *program, ONE, tool="test")
    kept = [
        stretch
        for stretch in found.services[0].stretches
        if stretch.kind is StretchKind.INTERRUPTS and not stretch.goes_on_from
    ]
    assert len(kept) == 2
    hides = [any(g.size == 32 for g in s.code.footprints[0].hidden) for s in kept if s.code]
    assert sorted(hides) == [False, True]


@pytest.mark.parametrize(
    ("masked_by", "told"), [({7}, (".text", 7)), ({None}, None), ({7, None}, None), ({3, 7}, None)]
)
def test_a_line_is_there_if_each_occurrence_finds_it(
    masked_by: set[int | None], told: tuple[str, int] | None
) -> None:
    lines = SimpleNamespace(ranges=lambda pairs: frozenset())
    labeller: Any = SimpleNamespace(lines=lines, joint=None, successions=None)
    places: Any = SimpleNamespace(ranges=lambda found: (), byte_at=lambda at: (".text", at))
    found = published_stretches._code(Code(masked_by=masked_by), labeller, places)
    assert found.masked_by == told


class Lines:
    """In the place of ``LineEntries``."""

    def __init__(self, buffered: bool = False, vain: bool = False) -> None:
        self.buffered, self._vain = buffered, vain

    def fetches_in_vain(self, pair: int) -> bool:
        return self._vain and pair == 2 * 12


def labelled(**more: Any) -> Any:
    """Four instructions; the third one begins a stretch."""
    kept = {"end": [4, 8, 12, 16], "apart": [], "taken": [False] * 4, **more}
    waits = SimpleNamespace(
        address=np.array([0, 4, 8, 12]), end=np.array(kept["end"]), apart=np.array(kept["apart"])
    )
    return SimpleNamespace(
        index=np.array([11, 12, 13, 14]), taken=np.array(kept["taken"]), waits=waits
    )


@pytest.mark.parametrize(
    ("window", "stretch", "lines", "found"),
    [
        ({}, {}, {}, 7),
        ({}, {"first": 0}, {}, None),
        ({}, {"kind": StretchKind.PREEMPTION}, {}, None),
        ({}, {"goes_on_from": Joint.HANDLER}, {}, None),
        ({"apart": [2]}, {}, {}, None),
        ({"apart": [1, 3]}, {}, {}, 7),
        # What led to the stretch is elsewhere.
        ({"taken": [False, True, False, False]}, {}, {}, None),
        ({"end": [4, 6, 12, 16]}, {}, {}, None),
        # It may have fetched what takes its own line away, or came out of a buffer.
        ({}, {}, {"vain": True}, None),
        ({}, {}, {"buffered": True}, None),
    ],
)
def test_the_line_of_what_masks(
    window: dict[str, Any], stretch: dict[str, Any], lines: dict[str, Any], found: int | None
) -> None:
    given = {"kind": StretchKind.INTERRUPTS, "first": 2, "last": 3, "begin": 13, "end": 14}
    one = Stretch(**{**given, **stretch})
    stretches = StretchLines(Lines(**lines))  # type: ignore[arg-type]
    assert stretches.masked_by(labelled(**window), one) == found


def entered(
    lines: dict[int, int], hidden: dict[int, Hidden], after: Iterable[int] = (), wild: int = 0
) -> Entered:
    turns: Any = defaultdict(Counter, {32: Counter({(1, 2): 3})})
    return Entered(
        Counter(),
        frozenset(),
        {32: Counter(lines)},
        wild,
        {32: dict(hidden)},
        turns,
        {32: frozenset(after)},
    )


USE, BUS = EventKind.LOAD_USE_STALL, EventKind.CONSECUTIVE_ACCESS


def test_what_is_joined_stays_as_it_is() -> None:
    """Other stretches have the same."""
    stretches = StretchLines(Lines())  # type: ignore[arg-type]
    one = entered({1: 2, 2: 1}, {1: Hidden((USE,)), 2: Hidden((BUS, USE))}, {2})
    other = entered({2: 3, 3: 1}, {2: Hidden((BUS,)), 3: Hidden((USE,))}, {3})
    before = copy.deepcopy((one, other))
    both = stretches.joined(one, other)
    assert (one, other) == before
    assert both.lines == {32: Counter({1: 2, 2: 3, 3: 1})}
    assert both.first == {32: {1: Hidden((USE,)), 2: Hidden((BUS,)), 3: Hidden((USE,))}}
    # Line 2 is loaded for the other one.
    assert both.after == {32: frozenset({3})}
    assert stretches.joined(one, other) is both
    assert stretches.joined(both, other) is both
    assert stretches.joined(both, one) is both


def test_what_was_joined_is_kept() -> None:
    """Else what comes later may have its name, and get what is not its own."""
    stretches = StretchLines(Lines())  # type: ignore[arg-type]
    one, other = entered({1: 2}, {}), entered({2: 3}, {})
    kept = [weakref.ref(one), weakref.ref(other)]
    stretches.joined(one, other)
    del one, other
    gc.collect()
    assert all(ref() is not None for ref in kept)


@pytest.mark.parametrize(
    ("one", "other", "as_much"),
    [
        (({1: 1}, {}), ({1: 1}, {}), True),
        (({1: 2, 4: 1}, {}), ({1: 1}, {}), True),
        (({1: 1}, {}), ({1: 2}, {}), False),
        (({1: 1}, {}), ({1: 1, 4: 1}, {}), False),
        # What is hidden of a line that both load.
        (({1: 1}, {1: Hidden((USE,))}), ({1: 1}, {1: Hidden((USE,))}), True),
        (({1: 1}, {1: Hidden((USE,))}), ({1: 1}, {1: Hidden()}), False),
        (({1: 1}, {1: Hidden()}), ({1: 1}, {1: Hidden((USE,))}), True),
        (({1: 1}, {1: Hidden((USE,))}), ({1: 1}, {1: Hidden((BUS, USE))}), False),
        # Of one that the other one does not load.
        (({1: 1, 4: 1}, {4: Hidden((USE,))}), ({1: 1}, {}), True),
        # Of one that the other one finds there, though it enters it.
        (({1: 1}, {1: Hidden((USE,))}), ({1: 1}, {}), True),
        (({1: 1}, {}, {1}), ({1: 1}, {}), False),
        (({1: 1}, {}, {1}), ({1: 1}, {}, {1}), True),
        (({1: 1, 4: 1}, {}, {4}), ({1: 1}, {}), True),
        (({1: 1}, {}), ({1: 1}, {}, {1}), True),
        # There it may hold up an access, and nothing is hidden then.
        (({1: 1}, {1: Hidden((USE,))}), ({1: 1}, {1: Hidden()}, {1}), False),
        (({1: 1}, {}, set(), 1), ({1: 1}, {}), True),
        (({1: 1}, {}), ({1: 1}, {}, set(), 1), False),
    ],
)
def test_which_of_two_is_never_cheaper(one: Any, other: Any, as_much: bool) -> None:
    assert entered(*one).loads_as_much(entered(*other)) is as_much


def test_turns_that_are_more_are_dearer() -> None:
    one, other = entered({1: 1}, {}), entered({1: 1}, {})
    other.behind[32][2, 1] = 1
    assert not one.loads_as_much(other)
    assert other.loads_as_much(one)
