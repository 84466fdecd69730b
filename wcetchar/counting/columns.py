"""The instruction table as columns, and access classes as small integers.

Counting works on packed integers, so that a window of some thousand events is counted by a few
numpy calls; :func:`key_of` turns them back into the model's keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wcetchar.model.access import (
    UNKNOWN_SECTION,
    WIDTHS,
    AccessClass,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.instruction import FetchUnit, Flow, InstructionTable

FLOWS = tuple(Flow)
KINDS = tuple(EventKind)
OPERATIONS = tuple(Operation)
PATTERNS = tuple(Pattern)

FLOW = {flow: number for number, flow in enumerate(FLOWS)}
KIND = {kind: number for number, kind in enumerate(KINDS)}
OPERATION = {operation: number for number, operation in enumerate(OPERATIONS)}
PATTERN = {pattern: number for number, pattern in enumerate(PATTERNS)}

WIDTH_OF_BYTES = np.zeros(256, dtype=np.int64)
"""Bytes -> index into WIDTHS; widths that are no class stay 0, unknown."""
for _number, _width in enumerate(WIDTHS):
    WIDTH_OF_BYTES[_width // 8] = _number

SECTION_SHIFT = 9
"""In a packed class, what is above is the number of the section."""
NO_SECTION = 4095
"""Packed section number of :data:`UNKNOWN_SECTION`."""

Codes = npt.NDArray[np.int64]


class Columns:
    """Static facts of each instruction of a table, one array per fact."""

    def __init__(self, table: InstructionTable) -> None:
        self.table = table
        rows = table.instructions
        self.length = np.array([i.length for i in rows], dtype=np.int64)
        self.flow = np.array([FLOW[i.flow] for i in rows], dtype=np.int64)
        self.issue = np.array([KIND[i.issue] for i in rows], dtype=np.int64)
        self.floats = np.array([i.issue.is_float for i in rows], dtype=bool)
        self.conditional = np.array([i.conditional for i in rows], dtype=bool)
        self.target = np.array([-1 if i.target is None else i.target for i in rows], dtype=np.int64)
        fetches = [i.fetch or FetchUnit(table.fetch_bytes, table.granule) for i in rows]
        self.fetch_bytes = np.array([f.bytes for f in fetches], dtype=np.int64)
        self.granule = np.array([f.granule for f in fetches], dtype=np.int64)
        effects = [i.memory for i in rows]
        self.reads = np.array([e.reads if e else 0 for e in effects], dtype=np.int64)
        self.writes = np.array([e.writes if e else 0 for e in effects], dtype=np.int64)
        self.bytes = np.array([e.width // 8 if e else 0 for e in effects], dtype=np.int64)
        self.burst = np.array([e.burst if e else False for e in effects], dtype=bool)

    @cached_property
    def transfers_control(self) -> npt.NDArray[np.bool_]:
        """Instructions that can send control elsewhere than to the next one."""
        still = [FLOW[Flow.NEXT], FLOW[Flow.SUPERVISOR_CALL], FLOW[Flow.STOP]]
        return ~np.isin(self.flow, still)


def access_code(section: Codes, operation: int, width: Codes, pattern: Codes) -> Codes:
    """Packed access classes; ``width`` is an index into WIDTHS."""
    return (section << SECTION_SHIFT) | (operation << 5) | (width << 2) | pattern


def event_code(section: Codes, kind: Codes | int) -> Codes:
    """Packed core events."""
    return (section << SECTION_SHIFT) | (1 << 8) | kind


CODE_BITS = 26
INSTRUCTION_BITS = 24
SUCCESSION = 1 << CODE_BITS - 1
"""In a packed class: the rest is the number of a succession (``successions``)."""


def key_of(
    code: int, section_names: tuple[str, ...], successions: Sequence[Succession] = ()
) -> Key:
    """The access class, core event or succession behind a packed code."""
    if code & SUCCESSION:
        return successions[code & ~SUCCESSION]
    number = code >> SECTION_SHIFT
    section = UNKNOWN_SECTION if number == NO_SECTION else section_names[number]
    if code >> 8 & 1:
        return CoreEvent(section, KINDS[code & 0xFF])
    return AccessClass(
        section, OPERATIONS[code >> 5 & 7], WIDTHS[code >> 2 & 7], PATTERNS[code & 3]
    )


def pack(blocking: Codes, code: Codes, instruction: Codes) -> Codes:
    """(blocking number, code, table index) in one integer."""
    packed = blocking << CODE_BITS  # and on in its memory: windows may be long
    packed |= code
    packed <<= INSTRUCTION_BITS
    packed |= instruction
    return packed


def unpack(packed: int) -> tuple[int, int, int]:
    """Inverse of :func:`pack`."""
    return (
        packed >> (CODE_BITS + INSTRUCTION_BITS),
        packed >> INSTRUCTION_BITS & ((1 << CODE_BITS) - 1),
        packed & ((1 << INSTRUCTION_BITS) - 1),
    )


def is_realigned(packed: Codes) -> npt.NDArray[np.bool_]:
    """Which packed codes are realigned fetches."""
    code = packed >> INSTRUCTION_BITS
    access = code & (1 << 8 | SUCCESSION) == 0
    found: npt.NDArray[np.bool_] = access & (code & 3 == PATTERN[Pattern.REALIGNED])
    return found


def is_succession(packed: Codes) -> npt.NDArray[np.bool_]:
    """Which packed codes are successions."""
    found: npt.NDArray[np.bool_] = packed >> INSTRUCTION_BITS & SUCCESSION != 0
    return found
