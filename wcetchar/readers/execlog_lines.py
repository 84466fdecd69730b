"""Lines of QEMU's execlog plugin as columns (contrib/plugins/execlog.c, QEMU 7.2 to 10).

``cpu, 0xPC, 0xOPCODE, "disassembly"``, then any number of ``, load|store, 0xADDRESS`` each with
``, DEVICE`` where a whole system is emulated, then any number of ``, REGISTER -> 0xVALUE``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.errors import InputError, Location
from wcetchar.model.trace import Event
from wcetchar.readers.columns import Positions, Text, Words, word_has
from wcetchar.readers.files import Lines, malformed
from wcetchar.readers.registers import COUNTED

EXPECTED: Final = (
    'cpu, 0xPC, 0xOPCODE, "disassembly"[, load|store, 0xADDRESS[, DEVICE]]...[, REG -> 0xVALUE]...'
)
_RAM, _NVIC, _OTHER = 1, 2, 0

_HEAD = re.compile(rb'(\d+), 0x([0-9a-f]{1,16}), 0x([0-9a-f]{1,8}), "([^"]*)"')
_ACCESS = re.compile(
    rb", (load|store), 0x([0-9a-f]{1,16})(?:, (?!(?:load|store), 0x)(?![^,]* -> 0x)([^,]+))?"
)
_REGISTER = re.compile(rb", ([^,]+) -> 0x([0-9a-f]+)")


def looks_like(line: bytes) -> bool:
    """Whether a line begins as execlog's lines do."""
    return _HEAD.match(line) is not None


@dataclass
class Accesses:
    """Data accesses of a piece of text: the line each belongs to, its place among the line's
    accesses, and what it is."""

    line: Positions
    order: Positions
    kind: npt.NDArray[np.uint8]
    address: Words
    device: npt.NDArray[np.uint8]


@dataclass
class Columns:
    """One piece of text. ``valid`` is false for lines that hold no instruction (empty ones),
    ``fresh`` for those whose instruction was seen before."""

    valid: npt.NDArray[np.bool_]
    fresh: npt.NDArray[np.bool_]
    pc: Words
    opcode: Words
    accesses: Accesses
    registers: list[tuple[int, int, int]] = field(default_factory=list)
    """Line, number and value of the registers that lines print, in order of the lines."""
    unread: Counter[str] = field(default_factory=Counter)


class _Found:
    """Accesses as they are found, in arrays of one round each."""

    def __init__(self) -> None:
        self.parts: list[tuple[Positions, Positions, npt.NDArray[np.uint8], Words, Positions]] = []

    def joined(self) -> Accesses:
        if not self.parts:
            none = np.zeros(0, dtype=np.int64)
            few = np.zeros(0, dtype=np.uint8)
            return Accesses(none, none, few, np.zeros(0, dtype=np.uint64), few)
        columns = [np.concatenate(column) for column in zip(*self.parts, strict=True)]
        line, order, kind, address, device = columns
        return Accesses(
            line, order, kind.astype(np.uint8), address.astype(np.uint64), device.astype(np.uint8)
        )


class _KnownHeads:
    """Line heads that were parsed before, by their first 32 characters.

    Nearly every line repeats one that came before up to its addresses. The 32 characters hold
    processor, address and opcode in full; what is kept for them is used only if the disassembly
    again ends at the same place.
    """

    SLOTS: Final = 1 << 16
    _MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)

    def __init__(self) -> None:
        self._keys = np.zeros((self.SLOTS, 4), dtype=np.uint64)
        self.pc = np.zeros(self.SLOTS, dtype=np.uint64)
        self.opcode = np.zeros(self.SLOTS, dtype=np.uint64)
        self.length = np.zeros(self.SLOTS, dtype=np.int64)

    def find(self, text: Text) -> tuple[Positions, Words, npt.NDArray[np.bool_]]:
        """(slot, the 32 characters as four words, whether the slot holds them) of each line."""
        words = text.words32(text.starts)
        mixed = words[:, 0] * np.uint64(self._MIX[0])
        for i in range(1, 4):
            mixed ^= words[:, i] * np.uint64(self._MIX[i])
        slot = (mixed >> np.uint64(48)).astype(np.int64)
        keys = _rows_of_four(self._keys)[slot].view(np.uint64).reshape(-1, 4)
        hit = keys[:, 0] == words[:, 0]
        for i in range(1, 4):
            hit &= keys[:, i] == words[:, i]
        return slot, words, hit

    def add(
        self, slot: Positions, words: Words, pc: Words, opcode: Words, length: Positions
    ) -> None:
        slot, first = np.unique(slot, return_index=True)
        self._keys[slot] = words[first]
        self.pc[slot] = pc[first]
        self.opcode[slot] = opcode[first]
        self.length[slot] = length[first]


def _rows_of_four(keys: Words) -> npt.NDArray[np.void]:
    """Rows of four words as one item each: these are fetched faster than four columns."""
    return keys.view("V32").reshape(-1)


class Parser:
    """Parses pieces of one execlog file; all lines must be of one processor."""

    def __init__(self, registers: Mapping[str, int] | None = None) -> None:
        """``registers``: numbers of those that are wanted; ``None``: none, they are counted."""
        self.cpu: bytes | None = None
        self._known = _KnownHeads()
        self._registers = registers

    def parse(self, lines: Lines) -> Columns:
        """Raises InputError with line and column for what does not fit the format."""
        text = Text(lines.data, lines.ends)
        count = len(text.starts)
        if self.cpu is None:
            first = next((i for i in range(count) if text.starts[i] < text.ends[i]), None)
            if first is not None:
                match = _HEAD.match(lines.data, int(text.starts[first]))
                self.cpu = match[1] if match else None
        slot, words, hit = self._known.find(text)
        tail = text.starts + self._known.length[slot]
        hit &= (tail <= text.ends) & (text.bytes[tail - 1] == ord('"'))
        columns = Columns(
            np.ones(count, dtype=np.bool_),
            ~hit,
            self._known.pc[slot],
            self._known.opcode[slot],
            _Found().joined(),
        )
        new = np.flatnonzero(~hit)
        slow = np.zeros(count, dtype=np.bool_)
        if len(new):
            good = self._heads(text, new, columns, tail)
            slow[new[~good]] = True
            keep = new[good]
            self._known.add(
                slot[keep],
                words[keep],
                columns.pc[keep],
                columns.opcode[keep],
                tail[keep] - text.starts[keep],
            )
        found = _Found()
        rows = np.flatnonzero(~slow & (tail < text.ends))
        self._tails(text, rows, tail[rows], found, slow)
        for row in np.flatnonzero(slow):
            self._slow(lines, text, int(row), columns, found)
        columns.accesses = found.joined()
        return columns

    def _heads(
        self, text: Text, rows: Positions, columns: Columns, tail: Positions
    ) -> npt.NDArray[np.bool_]:
        """Everything up to the closing quote of some lines. Returns which of them have the usual
        shape."""
        prefix = (self.cpu or b"0") + b", 0x"
        starts = text.starts[rows]
        good = text.has(starts, prefix[:8])
        at = starts + len(prefix)
        columns.pc[rows], digits = text.hex(at)
        good &= (digits > 0) & (digits < 17)
        at = at + digits
        good &= text.has(at, b", 0x")
        at = at + 4
        columns.opcode[rows], digits = text.hex(at)
        good &= (digits > 0) & (digits < 9)
        at = at + digits
        good &= text.has(at, b', "')
        at = at + 3
        # A disassembly holds no quotes: the next one closes it.
        quotes = np.append(text.find(ord('"')), len(text.data))
        at = np.minimum(at, len(text.data))
        close = quotes[np.searchsorted(quotes, at)]
        good &= close < text.ends[rows]
        tail[rows] = np.where(good, close + 1, starts)
        return good

    @staticmethod
    def _tails(
        text: Text, rows: Positions, at: Positions, found: _Found, slow: npt.NDArray[np.bool_]
    ) -> None:
        """Accesses behind the disassembly, one per line and round."""
        commas: Positions | None = None
        arrows: Positions | None = None
        order = 0
        parts = []
        while len(rows):
            word = text.words(at)
            load = word_has(word, b", load, ")
            store = word_has(word, b", store,")
            at = at + 10 + store
            good = (load | store) & text.has(at - 3, b" 0x")
            address, digits = text.hex(at)
            good &= (digits > 0) & (digits < 17)
            at = at + digits
            ends = text.ends[rows]
            word = text.words(at)
            more = word_has(word, b", load, ") | word_has(word, b", store,")
            ram = word_has(word, b", RAM,") | word_has(word, b", RAM\n")
            next_at = np.where(ram, at + 5, at)
            device = np.where(ram, _RAM, _OTHER)
            other = np.flatnonzero(good & ~more & ~ram & (at < ends))
            if len(other):
                if commas is None:
                    commas = np.append(text.find(ord(",")), len(text.data))
                name = at[other]
                good[other] &= text.has(name, b", ")
                nvic = text.has(name, b", nvic_s") & text.has(name + 8, b"ysregs")
                device[other[nvic]] = _NVIC
                ends_here = commas[np.searchsorted(commas, name + 2)]
                if arrows is None:
                    arrows = np.append(text.find(ord(">")), len(text.data))
                # No device but a register: user-mode logs name no devices.
                good[other] &= arrows[np.searchsorted(arrows, name)] >= np.minimum(
                    ends_here, ends[other]
                )
                next_at[other] = np.minimum(ends_here, ends[other])
            kind = np.where(load, int(Event.READ), int(Event.WRITE)).astype(np.uint8)
            slow[rows[~good]] = True
            parts.append((rows, np.full(len(rows), order), kind, address, device))
            going = good & (next_at < ends)
            rows, at = rows[going], next_at[going]
            order += 1
        odd = slow.any()
        for line, place, kind, address, device in parts:
            keep = ~slow[line] if odd else slice(None)
            found.parts.append((line[keep], place[keep], kind[keep], address[keep], device[keep]))

    def _slow(self, lines: Lines, text: Text, row: int, columns: Columns, found: _Found) -> None:
        """One line that is not of the usual shape: registers, an odd device name, or an error."""
        line = lines.data[int(text.starts[row]) : int(text.ends[row])]
        where = Location(lines.path, lines.first + row)
        if not line:
            # execlog ends with an empty line for each processor that never ran.
            columns.valid[row] = False
            columns.unread["empty lines"] += 1
            return
        head = _HEAD.match(line)
        if head is None:
            raise malformed(where, line, EXPECTED, _column(line))
        if head[1] != self.cpu:
            raise InputError(
                f"instructions of processor {head[1].decode()} among those of processor"
                f" {(self.cpu or b'?').decode()}",
                where=Location(lines.path, lines.first + row, 1),
                expected="a trace of one processor",
                hint="split the log by its first column",
            )
        columns.pc[row] = int(head[2], 16)
        columns.opcode[row] = int(head[3], 16)
        at = head.end()
        order = 0
        while access := _ACCESS.match(line, at):
            kind = Event.READ if access[1] == b"load" else Event.WRITE
            name = access[3] or b""
            device = _RAM if name == b"RAM" else _NVIC if name == b"nvic_sysregs" else _OTHER
            found.parts.append(
                (
                    np.array([row]),
                    np.array([order]),
                    np.array([kind], dtype=np.uint8),
                    np.array([int(access[2], 16)], dtype=np.uint64),
                    np.array([device]),
                )
            )
            order += 1
            at = access.end()
        while register := _REGISTER.match(line, at):
            self._register(register, row, columns, where)
            at = register.end()
        if at != len(line):
            raise malformed(where, line, EXPECTED, at + 1)

    def _register(
        self, found: re.Match[bytes], row: int, columns: Columns, where: Location
    ) -> None:
        number = None
        if self._registers is not None:
            number = self._registers.get(found[1].decode("ascii", "replace").lower())
        if number is None:
            columns.unread[COUNTED] += 1
            return
        if len(found[2]) not in (8, 10):
            raise InputError(
                f"the value of {found[1].decode('ascii', 'replace')} has {len(found[2])} digits",
                where=Location(where.file, where.line, found.start() + 1),
                expected="8 digits for a register of 32 bits (QEMU 9.0: 10)",
                hint="only cores of 32 bits can be read here",
            )
        columns.registers.append((row, number, int(found[2][-8:], 16)))


def _column(line: bytes) -> int:
    """Column at which a line stops being the beginning of an instruction."""
    parts = (rb"\d+, ", rb"0x[0-9a-f]{1,16}, ", rb"0x[0-9a-f]{1,8}, ", rb'"[^"]*"')
    at = 0
    for part in parts:
        match = re.compile(part).match(line, at)
        if match is None:
            break
        at = match.end()
    return at + 1


def is_ram(accesses: Accesses) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = accesses.device == _RAM
    return found


def is_nvic(accesses: Accesses) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = accesses.device == _NVIC
    return found
