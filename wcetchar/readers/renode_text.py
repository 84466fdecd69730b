"""Execution traces of Renode as text (``CreateExecutionTracing NAME FILE FORMAT``).

One line for each instruction, in one of four formats, then the lines that belong to it:

* PC: ``0x8000``
* Opcode: ``0xE321F0D3``
* PCAndOpcode: ``0x2: 0xF3808811`` (a 32-bit Thumb instruction with its first halfword on top)
* Disassembly: ``0x00010000:   e1a00000       mov r0, r0``, a symbol in brackets may follow
* ``MemoryWrite with address 0xE000, value 0x30000``; where an MMU translates,
  ``0xVIRTUAL => 0xPHYSICAL``: the physical one is taken, because the printed program counters are
  physical too
* ``Couldn't disassemble opcode at PC 0x..``: the rest of the block is missing
* `` Pre: R0: 0x0 | SP / R13: 0x20001000``: registers at the beginning of the instruction, and
  ``Post:`` at its end (TrackRegisters). What an interrupt in between does to them is not printed,
  so only those before an instruction become events, if they are asked for, and hold for it alone
* vector configuration and operands of atomics, which are no events

PC and Opcode look alike. They are told apart by what cannot be: an odd number or a leading zero is
no program counter; a number that is neither of four nor of eight digits, or that no instruction set
encodes so, is no opcode; with an image, program counters must lie in its code and opcodes must
stand there. Where that leaves both, ``renode-text`` refuses, and the format has to be named:
``renode-pc`` or ``renode-opcode``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image
from wcetchar.model.trace import Event, EventBatch, Knowledge, Loss, Trace, TraceInfo
from wcetchar.readers.columns import Positions, Text, Words
from wcetchar.readers.encoding import CodeMap, InstructionSet, SizeAt, little_endian
from wcetchar.readers.files import Lines, lines, malformed, plain_head, read_head
from wcetchar.readers.recording import CodeSeen, RecordedTrace
from wcetchar.readers.registers import (
    COUNTED,
    NO_REGISTERS,
    before_instructions,
    joined,
    register_number,
    register_numbers,
    split_at_last_instruction,
)

_HEAD_BYTES: Final = 1 << 16


class Format(Enum):
    """Value: the spelling of an instruction's line, for errors."""

    PC = "0xPC"
    OPCODE = "0xOPCODE"
    BOTH = "0xPC: 0xOPCODE"
    DISASSEMBLY = "0xPC:   OPCODE disassembly"


_NUMBER = re.compile(rb"0x([0-9A-Fa-f]+)")
_BOTH = re.compile(rb"0x([0-9A-Fa-f]+): 0x([0-9A-Fa-f]+)")
_DISASSEMBLY = re.compile(rb"0x([0-9A-Fa-f]+):   ([0-9A-Fa-f]+)(?: .*)?")
_MEMORY = re.compile(
    rb"(MemoryIORead|MemoryIOWrite|MemoryRead|MemoryWrite|InsnFetch) with address"
    rb" 0x([0-9A-Fa-f]+)(?: => 0x([0-9A-Fa-f]+))?, value 0x([0-9A-Fa-f]+)"
)
_UNDECODED = re.compile(rb"Couldn't disassemble opcode at PC 0x([0-9A-Fa-f]+)")
_VECTOR = re.compile(rb"Vector configured to VL: 0x[0-9A-Fa-f]+, VTYPE: 0x[0-9A-Fa-f]+")
_REGISTERS = re.compile(rb"( Pre|Post): .*: 0x[0-9A-Fa-f]+")
_REGISTER = re.compile(r"([^:|]+): 0x([0-9A-Fa-f]+)")
_ATOMIC = re.compile(rb"AMO operands (before|after) - RD: 0x.*")

_OTHERS = (
    (_VECTOR, "vector configurations"),
    (_REGISTERS, COUNTED),
    (_ATOMIC, "operands of atomics"),
)

_KINDS: Final = {
    b"MemoryRead": Event.READ,
    b"MemoryIORead": Event.READ,
    b"MemoryWrite": Event.WRITE,
    b"MemoryIOWrite": Event.WRITE,
}

NO_ACCESSES = (
    Loss(
        Knowledge.ADDRESSES,
        "no data access stands near the beginning: accesses were probably not tracked"
        " (TrackMemoryAccesses); their number comes from the instruction table, their sections are"
        " unknown unless the instruction fixes them",
    ),
    Loss(Knowledge.DIRECTIONS, "no data access is in the trace"),
)
RENODE_LOSSES = (
    Loss(
        Knowledge.WIDTHS,
        "widths come from the instruction table; an access of an instruction that is not in it is"
        " priced at the dearest width",
    ),
    Loss(
        Knowledge.EXCEPTIONS,
        "exception entry and exit show only as a change of the program counter; handlers are found"
        " from their addresses, and the hardware's own stacking is not in the trace",
    ),
)
NO_PC = Loss(
    Knowledge.PROGRAM_COUNTERS,
    "nothing says where an instruction lies: no service can be found in the trace, only totals",
)
_NO_OPCODES = Loss(
    Knowledge.OPCODES,
    "the trace cannot be checked against the image; lengths are the image's, or unknown without",
)
_NO_SET = Loss(
    Knowledge.OPCODES,
    "without an image the instruction set is not known, so neither is the order of the printed"
    " bytes; the trace cannot be checked against an image",
)
_END = Loss(Knowledge.END, "a trace that stops between two lines is not recognised as cut short")


class RenodeTextReader:
    """``form``: the format where it is named, ``None`` where it is to be found."""

    def __init__(self, form: Format | None = None) -> None:
        self._form = form

    @property
    def name(self) -> str:
        names = {Format.PC: "renode-pc", Format.OPCODE: "renode-opcode"}
        return names.get(self._form, "renode-text") if self._form else "renode-text"

    def recognises(self, head: bytes, path: str) -> bool:
        """Only ``renode-text`` claims: the other two are for choosing by name."""
        rows = plain_head(head).split(b"\n")[:-1]
        if self._form is not None or not rows:
            return False
        return _instruction(rows[0]) and all(_instruction(row) or _other(row) for row in rows)

    def open(self, path: str, *, image: Image | None = None, machine: str | None = None) -> Trace:
        """Open a trace; reads its first 64 KiB to find the format.

        Raises:
            InputError: the first line is no instruction, or PC and Opcode cannot be told apart.
        """
        head = read_head(path, _HEAD_BYTES)
        rows = head.split(b"\n")
        rows = rows[:-1] if len(rows) > 1 else rows
        form = self._form or _format(path, rows, image)
        code = CodeMap(image)
        losses = [*RENODE_LOSSES, _END]
        if not any(row.startswith(b"Memory") for row in rows):
            losses += NO_ACCESSES
        if register_numbers(code) is None or not any(row.startswith(b" Pre: ") for row in rows):
            losses.append(NO_REGISTERS)
        if form is Format.OPCODE:
            losses.append(NO_PC)
        if form is Format.PC:
            losses.append(_NO_OPCODES)
        elif not code.known:
            losses.append(_NO_SET)
        info = TraceInfo(path, self.name, tuple(losses), machine=machine)
        return _RenodeTextTrace(info, form, code)


def _instruction(row: bytes) -> bool:
    return any(p.fullmatch(row) is not None for p in (_NUMBER, _BOTH, _DISASSEMBLY))


def _other(row: bytes) -> bool:
    patterns = (_MEMORY, _UNDECODED, *(pattern for pattern, _ in _OTHERS))
    return any(p.fullmatch(row) is not None for p in patterns)


def _format(path: str, rows: list[bytes], image: Image | None) -> Format:
    for index, row in enumerate(rows):
        if _BOTH.fullmatch(row):
            return Format.BOTH
        if _DISASSEMBLY.fullmatch(row):
            return Format.DISASSEMBLY
        if _NUMBER.fullmatch(row):
            break
        if not _other(row):
            spellings = " or ".join(form.value for form in Format)
            raise malformed(Location(path, index + 1), row, spellings)
    numbers = [found[1] for row in rows if (found := _NUMBER.fullmatch(row))]
    pc, opcode = _can_be_pc(numbers, image), _can_be_opcode(numbers, image)
    if pc != opcode:
        return Format.PC if pc else Format.OPCODE
    problem = "can be both" if pc else "are neither"
    raise InputError(
        f"the numbers in this trace {problem}: program counters or opcodes",
        where=Location(path),
        expected="a trace in Renode's format PC or Opcode",
        hint="say which one it is with --trace-format renode-pc or renode-opcode, or give the image"
        " that ran",
    )


def _can_be_pc(numbers: list[bytes], image: Image | None) -> bool:
    code = CodeMap(image)
    for digits in set(numbers):
        value = int(digits, 16)
        if value & 1 or (digits.startswith(b"0") and digits != b"0"):
            return False
        if image is not None and not code.code_at(value):
            return False
    return True


def _can_be_opcode(numbers: list[bytes], image: Image | None) -> bool:
    if any(len(digits) not in (4, 8) for digits in numbers):
        return False
    if image is not None:
        return set(numbers) <= _opcodes(image)
    return all(any(_encodes(digits, s) for s in InstructionSet) for digits in numbers)


def _opcodes(image: Image) -> set[bytes]:
    """Every instruction of the image, as Renode prints it."""
    code = CodeMap(image)
    found = set()
    for span in image.code:
        at = span.start
        while at < span.end:
            data = code.code_at(at)
            if not data:
                break
            halves = [data[:2], data[2:]] if code.at(at) is InstructionSet.THUMB else [data]
            found.add(
                b"".join(b"%0*X" % (2 * len(h), int.from_bytes(h, "little")) for h in halves if h)
            )
            at += len(data)
    return found


def _encodes(digits: bytes, instruction_set: InstructionSet) -> bool:
    """Whether an instruction of this length can be printed so."""
    value = int(digits, 16)
    if instruction_set is InstructionSet.A32:
        return len(digits) == 8
    if instruction_set is InstructionSet.RISCV:
        return (value & 3 == 3) == (len(digits) == 8)
    first = value >> 16 if len(digits) == 8 else value
    return (first >= 0xE800) == (len(digits) == 8)


class _RenodeTextTrace(RecordedTrace):
    def __init__(self, info: TraceInfo, form: Format, code: CodeMap) -> None:
        super().__init__(info)
        self._form = form
        self._code_map = code

    def _run(self, registers: bool) -> _RenodeTextRun:
        names = register_numbers(self._code_map) if registers else None
        return _RenodeTextRun(self.info.path, self._form, self._code_map, names)


class _RenodeTextRun:
    """Each line is one event or none; all lines of the usual shapes are parsed at once."""

    def __init__(
        self, path: str, form: Format, code: CodeMap, registers: Mapping[str, int] | None
    ) -> None:
        self.code = CodeSeen()
        self._registers = registers
        self.unread: Counter[str] = Counter()
        self._path = path
        self._form = form
        self._map = code
        self._size_at = SizeAt(code)

    def events(self) -> Iterator[EventBatch]:
        if self._registers is None:
            for piece in lines(self._path, self._form.value):
                yield self._piece(piece)
            return
        waiting: EventBatch | None = None
        for piece in lines(self._path, self._form.value):
            batch = self._piece(piece)
            whole = batch if waiting is None else joined(waiting, batch)
            # What the last instruction goes with may stand in the next piece.
            done, waiting = split_at_last_instruction(whole)
            yield before_instructions(done)
        if waiting is not None:
            yield before_instructions(waiting)

    def _piece(self, piece: Lines) -> EventBatch:
        """Events of a piece; each stands where its line does."""
        registers: list[tuple[int, int, int]] = []  # line, number and value
        text = Text(piece.data, piece.ends)
        count = len(text.starts)
        kind = np.full(count, 255, dtype=np.uint8)
        address = np.zeros(count, dtype=np.uint64)
        size = np.zeros(count, dtype=np.uint8)
        slow = np.ones(count, dtype=np.bool_)
        number = text.has(text.starts, b"0x")
        rows = np.flatnonzero(number)
        good, pc, opcode, length = self._instructions(text, rows)
        rows = rows[good]
        slow[rows] = False
        kind[rows] = Event.INSTRUCTION
        address[rows], size[rows] = self._record(pc[good], opcode[good], length[good])
        rows = np.flatnonzero(~number & text.has(text.starts, b"Memory"))
        good, kinds, addresses = self._accesses(text, rows)
        rows = rows[good]
        slow[rows] = False
        kind[rows], address[rows] = kinds[good], addresses[good]
        for row in np.flatnonzero(slow):
            line = piece.data[int(text.starts[row]) : int(text.ends[row])]
            where = Location(self._path, piece.first + int(row), 1)
            found = self._slow(line, where)
            if self._registers is not None and line.startswith(b" Pre: "):
                registers += [(int(row), *pair) for pair in self._values(line, where)]
            elif found is not None:
                kind[row], address[row] = found
        if len(kind) and piece.first == 1 and kind[0] in (Event.READ, Event.WRITE):
            raise malformed(Location(self._path, 1), piece.line(0), self._form.value)
        keep = kind != 255
        batch = EventBatch(kind[keep], address[keep], size[keep])
        if not registers:
            return batch
        if piece.first == 1 and not (kind[: registers[0][0]] != 255).any():
            raise malformed(Location(self._path, 1), piece.line(0), self._form.value)
        lines_, numbers, values = zip(*registers, strict=True)
        behind = np.cumsum(keep)[np.array(lines_)]
        return EventBatch(
            np.insert(batch.kind, behind, np.uint8(Event.REGISTER)),
            np.insert(batch.address, behind, np.array(values, dtype=np.uint64)),
            np.insert(batch.size, behind, np.array(numbers, dtype=np.uint8)),
        )

    def _values(self, line: bytes, where: Location) -> Iterator[tuple[int, int]]:
        """Number and value of each core register in a line of registers."""
        assert self._registers is not None
        for part in line[len(b" Pre: ") :].decode("ascii", "replace").split(" | "):
            found = _REGISTER.fullmatch(part)
            if found is None:
                raise malformed(where, line, " Pre: NAME: 0xVALUE | NAME: 0xVALUE ...")
            number = register_number(self._registers, found[1])
            if number is None:
                self.unread[COUNTED] += 1
            else:
                yield number, int(found[2], 16)

    def _instructions(
        self, text: Text, rows: Positions
    ) -> tuple[npt.NDArray[np.bool_], Words, Words, npt.NDArray[np.uint8]]:
        """(well-formed, program counter, opcode as printed, its length in bytes)."""
        at = text.starts[rows] + 2
        first, digits = text.hex(at)
        good = (digits > 0) & (digits < 17)
        at = at + digits
        none = np.zeros(len(rows), dtype=np.uint64)
        if self._form is Format.PC:
            good &= at == text.ends[rows]
            return good, first, none, np.zeros(len(rows), dtype=np.uint8)
        if self._form is not Format.OPCODE:
            joint = b": 0x" if self._form is Format.BOTH else b":   "
            good &= text.has(at, joint)
            at = np.minimum(at + 4, len(text.data))
            opcode, digits = text.hex(at)
            at = at + digits
        else:
            opcode, first = first, none
        end = at == text.ends[rows]
        if self._form is Format.DISASSEMBLY:
            end |= text.has(at, b" ")
        good &= end & (digits > 0) & (digits < 17) & (digits & 1 == 0)
        return good, first, opcode, (digits >> 1).astype(np.uint8)

    def _record(
        self, pc: Words, opcode: Words, length: npt.NDArray[np.uint8]
    ) -> tuple[Words, npt.NDArray[np.uint8]]:
        if self._form is Format.PC:
            return pc, self._size_at(pc)
        if self._form is not Format.OPCODE and self._map.known:
            only = self._map.only
            if only is not None:
                self.code.add(pc, little_endian(opcode, length, only), length)
            else:
                for chosen in self._map.sets:
                    here = self._map.is_set(pc, chosen)
                    code = little_endian(opcode[here], length[here], chosen)
                    self.code.add(pc[here], code, length[here])
        return pc, length

    @staticmethod
    def _accesses(
        text: Text, rows: Positions
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint8], Words]:
        start = text.starts[rows]
        word = start + 6
        io = text.has(word, b"IO")
        word = word + 2 * io
        read = text.has(word, b"Read")
        write = text.has(word, b"Write")
        at = word + 4 + write
        good = (read | write) & text.has(at, b" with ad") & text.has(at + 8, b"dress 0x")
        address, digits = text.hex(at + 16)
        good &= (digits > 0) & (digits < 17)
        at = np.minimum(at + 16 + digits, len(text.data))
        good &= text.has(at, b", value ") & text.has(at + 8, b"0x")
        _, digits = text.hex(at + 10)
        good &= (digits > 0) & (digits < 17) & (at + 10 + digits == text.ends[rows])
        kind = np.where(write, int(Event.WRITE), int(Event.READ)).astype(np.uint8)
        return good, kind, address

    def _slow(self, line: bytes, where: Location) -> tuple[int, int] | None:
        if access := _MEMORY.fullmatch(line):
            if access[1] == b"InsnFetch":
                self.unread["instruction fetches"] += 1
                return None
            return int(_KINDS[access[1]]), int(access[3] or access[2], 16)
        if lost := _UNDECODED.fullmatch(line):
            return int(Event.UNDECODED), int(lost[1], 16)
        for pattern, name in _OTHERS:
            if pattern.fullmatch(line):
                if self._registers is None or not line.startswith(b" Pre: "):
                    self.unread[name] += 1
                return None
        raise malformed(
            where, line, f"{self._form.value}, or a memory access, registers or the like"
        )
