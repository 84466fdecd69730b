"""Which instructions, if a core carries them out once more, find all that they fetch then in an
instruction cache whose ways have ``APART`` bytes or more, whatever that holds beside.

A load that is carried out again (``EventKind.LOAD_BEHIND_STORE``) is fetched again, and so is what
was fetched behind it. All that was in the cache a few cycles ago, and only what was fetched since
can have replaced it. Let F be all bytes that the fetch unit may touch from the load on until the
load is known to be carried out again: its own, and of each path on which up to ``AHEAD``
instructions behind it are decoded, what these and the next one take. If F begins and ends within
``NEAR`` bytes, its lines begin within less than ``APART``, so no two of them share a set, nothing
of F was replaced by F, and the second time finds it all. What is touched the second time
alone is what goes on from there, and counted as ever.

A *near* instruction is one whose F is known, of one section, and within ``NEAR`` bytes. Of direct
transfers both ways count, so nothing hangs on what is predicted or already known. Where control
goes that is transferred through a register is not known, but no such transfer takes effect before
the load is carried out again if it is decoded ``SLOW`` instructions behind it. F is not known
behind a trap, and where something is no code. ``AHEAD``: the load takes effect in the last of five
stages, three behind the decoder (``fetch_ahead``), and the other transfer in the last but one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import Codes
from wcetchar.counting.front_end import LOADS
from wcetchar.model.cache import APART, LINE_BYTES
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

NEAR: Final = APART - max(LINE_BYTES)
AHEAD: Final = 3
SLOW: Final = 2
_DIRECT: Final = frozenset({Flow.NEXT, Flow.JUMP, Flow.CALL})
_TRAPS: Final = frozenset({Flow.SUPERVISOR_CALL, Flow.STOP})


def near(table: InstructionTable, section: Codes) -> npt.NDArray[np.bool_]:
    """By index of the table; False of what is no load. ``section``: of each instruction."""
    found = np.zeros(len(table.instructions), dtype=bool)
    if table.buffer is not None:  # fetches ahead by bytes
        return found
    at = {one.address: index for index, one in enumerate(table.instructions)}
    for index, one in enumerate(table.instructions):
        if one.issue in LOADS:
            touched = _touched(table.instructions, at, index)
            found[index] = touched is not None and _is_near(table, section, touched)
    return found


def _touched(
    instructions: Sequence[Instruction], at: Mapping[int, int], load: int
) -> set[int] | None:
    """Indices of what has a part in F; ``None``: it is not known."""
    found, decoded = {load}, {load}
    for number in range(AHEAD + 1):
        ways: set[int] = set()
        for one in (instructions[index] for index in decoded):
            if one.flow in _TRAPS or (one.flow not in _DIRECT and number < SLOW):
                return None
            ways.add(one.end)
            if one.flow in _DIRECT and one.target is not None:
                ways.add(one.target)
        if not ways <= at.keys():
            return None
        decoded = {at[way] for way in ways}
        found |= decoded
    return found


def _is_near(table: InstructionTable, section: Codes, touched: set[int]) -> bool:
    all_of = [table.instructions[index] for index in touched]
    first, end = min(one.address for one in all_of), max(one.end for one in all_of)
    return end - first <= NEAR and len({int(section[index]) for index in touched}) == 1
