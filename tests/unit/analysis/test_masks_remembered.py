"""What the window search remembers of values, and for how long, whatever the batches are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from listing import SCRIPT, SERVICES, SOURCE, Row, batches, call, i, load

from wcetchar.analysis.resolve import resolve
from wcetchar.analysis.windows import WindowFinder
from wcetchar.model.trace import Event

MORE = """
.global lost
.type lost,%function
lost:
r1: movs r0, #0
r2: bl leaf
r3: nop
r4: .short 0xde01
r5: msr basepri, r0
r6: bx lr
.size lost, .-lost
.type leaf,%function
leaf: bx lr
.size leaf, .-leaf
.global busy
.type busy,%function
busy: b busy
.size busy, .-busy
.global raise
.type raise,%function
raise:
s1: mrs r4, basepri
s2: movs r0, #0x40
s3: msr basepri, r0
s4: nop
s5: msr basepri, r4
s6: bx lr
.size raise, .-raise
"""
Blockings = Callable[[Sequence[str | Row], int], list[str]]


@pytest.fixture
def blockings(assemble: Callable[..., Path]) -> Blockings:
    """Of the pieces of a service's window that comes behind instructions and other events."""
    image, table = load(assemble(SOURCE + MORE, SCRIPT))
    at = {symbol.name: symbol.address for symbol in image.symbols}

    def run(before: Sequence[str | Row], size: int) -> list[str]:
        rows = [i(at[one]) if isinstance(one, str) else one for one in before]
        finder = WindowFinder(resolve(SERVICES, image, table), "x")
        found = [w for b in batches([*rows, *call(1)], size) for w in finder.feed(b)]
        return [str(piece.blocking) for piece in found[0].pieces]

    run.undecoded = (Event.UNDECODED, at["r4"], 0)  # type: ignore[attr-defined]
    return run


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("before", [["r1"], ["r1", "r2", "leaf", "r3"]])
def test_nothing_is_followed_across_what_is_not_known(
    blockings: Blockings, before: list[str], size: int
) -> None:
    """An instruction that the table does not know may have changed r0, also behind a return."""
    undecoded: Row = blockings.undecoded  # type: ignore[attr-defined]
    assert "unknown" in blockings([*before, undecoded, "r5", "r6"], size)[0]
    assert "unknown" not in blockings([*before, "r5", "r6"], size)[0]


@pytest.mark.parametrize("times", [32_000, 33_000, 70_000])
@pytest.mark.parametrize("size", [1 << 12, 1 << 16])
def test_a_mask_that_is_read_behind_much_else(blockings: Blockings, times: int, size: int) -> None:
    """That what came long before is forgotten takes nothing from what was read just now."""
    raised = [f"s{n}" for n in range(1, 7)]
    assert blockings(["busy"] * times + raised, size)[0] == "none"
