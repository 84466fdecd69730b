"""Execution traces of Renode in binary, versions 4 (releases up to 1.16.1) and 5; may be gzipped.

Little-endian. Header: ``ReTrace``, u8 version, u8 width of a program counter in bytes (0: none),
u8 whether opcodes are recorded. If they are, version 4 goes on with u8 multi-ISA flag, u8 length
and the text "triple model"; version 5 with u8 count and that many texts, each after its u8 length;
more than one means multi-ISA. There each block has a prefix: u8 instruction set, u64 number of
instructions. A record is the program counter, then u8 length and the opcode in memory order, then
items up to one of type 0:

====  =====================================================================================
type  contents
====  =====================================================================================
1     memory: u8 operation (0 I/O read, 1 I/O write, 2 read, 3 write, 4 fetch), u64 virtual
      address, u64 value, u64 physical address
2     vector configuration: u64, u64
3     atomic: u8 after, u8 width (2: words, 3: double words), u8 funct5, then rd, rs1, rs2 and
      the memory's value, each of that width
4     registers: u8 before, u8 count, each u8 length, name, u8 size, value
====  =====================================================================================

Addresses are the physical ones, as program counters are. Where Renode could not disassemble an
instruction, the rest of its block is missing: in multi-ISA traces with program counters that shows
(the block has fewer records than its prefix says) and becomes an UNDECODED event; in others it
leaves no sign, which is a stated loss.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image
from wcetchar.model.trace import Event, EventBatch, Knowledge, Loss, Trace, TraceInfo
from wcetchar.readers.columns import Text
from wcetchar.readers.encoding import CodeMap, SizeAt
from wcetchar.readers.files import blocks, plain_head, read_head
from wcetchar.readers.recording import CodeSeen, RecordedTrace
from wcetchar.readers.registers import COUNTED, NO_REGISTERS, register_number, register_numbers
from wcetchar.readers.renode_text import NO_ACCESSES, NO_PC, RENODE_LOSSES

_MAGIC: Final = b"ReTrace"
_HEAD_BYTES: Final = 1 << 16
_MAX_RECORD: Final = 1 << 22
"""No record is longer: 255 registers of 255 bytes, some items; the limit bounds memory."""

_OPERATIONS: Final = (Event.READ, Event.WRITE, Event.READ, Event.WRITE, None)
_FETCH: Final = 4

_LOST_BLOCKS = Loss(
    Knowledge.END,
    "a trace that stops between two records is not recognised as cut short; and where Renode could"
    " not disassemble an instruction, the rest of its block is missing without a sign",
)
_END = Loss(Knowledge.END, "a trace that stops between two records is not recognised as cut short")
_NO_OPCODES = Loss(
    Knowledge.OPCODES,
    "the trace cannot be checked against the image; lengths are the image's, or unknown without",
)


@dataclass(frozen=True)
class Header:
    """``texts``: "triple model" of each instruction set; ``size``: of the header in bytes."""

    version: int
    pc_width: int
    opcodes: bool
    texts: tuple[str, ...]
    multi: bool
    size: int


class _Short(Exception):
    """The data ends inside a record."""


def _wrong(
    path: str, offset: int, message: str, expected: str, hint: str | None = None
) -> InputError:
    return InputError(
        f"{message}, at byte {offset}", where=Location(path), expected=expected, hint=hint
    )


def read_header(path: str, head: bytes) -> Header:
    """Raises InputError for a damaged header or a version that is not known."""
    if not head.startswith(_MAGIC):
        raise _wrong(path, 0, "no binary trace of Renode", "the signature ReTrace")
    try:
        version, width, opcodes = head[7], head[8], head[9]
        if version not in (4, 5):
            raise _wrong(path, 7, f"version {version} of Renode's binary trace", "version 4 or 5")
        if width > 8 or opcodes > 1 or (width == 0 and not opcodes):
            raise _wrong(
                path,
                8,
                f"a program counter of {width} bytes, opcode flag {opcodes}",
                "a width up to 8 and a flag of 0 or 1, not both 0",
            )
        at = 10
        texts: list[str] = []
        multi = False
        if opcodes:
            count = head[at]
            at += 1
            if version == 4:
                if count > 1:
                    raise _wrong(path, at - 1, f"multi-ISA flag {count}", "0 or 1")
                multi, count = bool(count), 1
            else:
                multi = count > 1
            for _ in range(count):
                text = head[at + 1 : at + 1 + head[at]]
                if len(text) < head[at]:
                    raise IndexError
                texts.append(text.decode("ascii", "backslashreplace"))
                at += 1 + len(text)
    except IndexError:
        raise _wrong(
            path, len(head), "the header is cut short", "a whole header of Renode's binary trace"
        ) from None
    return Header(version, width, bool(opcodes), tuple(texts), multi, at)


class RenodeBinaryReader:
    @property
    def name(self) -> str:
        return "renode-binary"

    def recognises(self, head: bytes, path: str) -> bool:
        return plain_head(head).startswith(_MAGIC)

    def open(self, path: str, *, image: Image | None = None, machine: str | None = None) -> Trace:
        """Open a trace; reads its first 64 KiB.

        Raises:
            InputError: the header is damaged, or of a version other than 4 and 5.
        """
        head = read_head(path, _HEAD_BYTES)
        header = read_header(path, head)
        losses = [*RENODE_LOSSES]
        whole_blocks = header.multi and header.pc_width
        losses.append(_END if whole_blocks else _LOST_BLOCKS)
        code = CodeMap(image)
        names = register_numbers(code)
        events = _Run(path, header, code, names).kinds_in(head)
        if not events & {Event.READ, Event.WRITE}:
            losses += NO_ACCESSES
        if Event.REGISTER not in events:
            losses.append(NO_REGISTERS)
        if not header.pc_width:
            losses.append(NO_PC)
        if not header.opcodes:
            losses.append(_NO_OPCODES)
        info = TraceInfo(
            path,
            self.name,
            tuple(losses),
            machine=machine,
            emulator=f"Renode, trace version {header.version}",
            arguments=header.texts,
        )
        return _RenodeBinaryTrace(info, header, code)


class _RenodeBinaryTrace(RecordedTrace):
    def __init__(self, info: TraceInfo, header: Header, code: CodeMap) -> None:
        super().__init__(info)
        self._header = header
        self._code_map = code

    def _run(self, registers: bool) -> _Run:
        names = register_numbers(self._code_map) if registers else None
        return _Run(self.info.path, self._header, self._code_map, names)


class _Run:
    """Runs of records of the usual shape (2- or 4-byte opcodes, memory items only) are found by
    one regular expression and taken apart by columns; any other record is read by itself."""

    def __init__(
        self, path: str, header: Header, code: CodeMap, registers: Mapping[str, int] | None
    ) -> None:
        self.code = CodeSeen()
        self._registers = registers
        self.unread: Counter[str] = Counter()
        self._path = path
        self._header = header
        self._size_at = SizeAt(code)
        pc = b".{%d}" % header.pc_width
        opcode = b"\x02..|\x04...." if header.opcodes else b""
        items = b"(?:\x01[\x00-\x04].{24})*+"
        self._record = re.compile(pc + b"(" + opcode + b")(" + items + b")\x00", re.DOTALL)
        self._records = re.compile(
            b"(?>" + pc + b"(?:" + opcode + b")" + items + b"\x00)*+", re.DOTALL
        )
        self._left = 0  # records that the multi-ISA block still has to give
        self._next: int | None = None  # address of the record that must follow within the block

    def kinds_in(self, head: bytes) -> set[int]:
        """Kinds of event in the whole records at the beginning of the trace."""
        size = self._header.size
        batches, _ = self._take(head[size:], size)
        return {kind for batch in batches for kind in np.unique(batch.kind).tolist()}

    def events(self) -> Iterator[EventBatch]:
        rest = b""
        offset = 0
        skip = self._header.size
        for block in blocks(self._path):
            data = rest + block
            if skip:
                data, skip = data[skip:], 0
                offset = self._header.size
            batches, used = self._take(data, offset)
            yield from batches
            rest = data[used:]
            offset += used
            if len(rest) > _MAX_RECORD:
                raise _wrong(
                    self._path, offset, "a record without an end", f"at most {_MAX_RECORD} bytes"
                )
        if rest or self._left:
            raise _wrong(
                self._path,
                offset + len(rest),
                f"the trace is cut short: a record or block begins at byte {offset} and does not"
                " end",
                "whole records up to the end of the file",
                "record the trace again, and let Renode end by itself",
            )

    def _take(self, data: bytes, offset: int) -> tuple[list[EventBatch], int]:
        """(events of the whole records in ``data``, bytes used); ``offset`` is that of ``data``
        in the trace."""
        batches: list[EventBatch] = []
        at = 0
        fast = not self._header.multi
        while at < len(data):
            if fast:
                match = self._records.match(data, at)
                assert match is not None
                if match.end() > at:
                    batches.append(self._columns(data[at : match.end()]))
                    at = match.end()
                    continue
            rows: list[tuple[int, int, int]] = []
            end = at
            try:
                # Odd records tend to come together: read a few before trying columns again.
                for _ in range(4096 if self._header.multi else 16):
                    if end >= len(data):
                        break
                    end = self._one(data, end, offset, rows)
            except _Short:
                pass
            if rows:
                columns = [np.array(column) for column in zip(*rows, strict=True)]
                batches.append(
                    EventBatch(
                        columns[0].astype(np.uint8),
                        np.array([row[1] for row in rows], dtype=np.uint64),
                        columns[2].astype(np.uint8),
                    )
                )
            if end == at:
                break
            at = end
        return batches, at

    def _columns(self, data: bytes) -> EventBatch:
        """Events of a run of records of the usual shape."""
        header = self._header
        found = self._record.findall(data)
        width = header.pc_width
        code_size = np.fromiter((len(o) for o, _ in found), dtype=np.int64, count=len(found))
        item_size = np.fromiter((len(i) for _, i in found), dtype=np.int64, count=len(found))
        total = width + code_size + item_size + 1
        start = np.cumsum(total) - total
        text = Text(data)
        pc = text.words(start)
        pc = pc & np.uint64((1 << 8 * width) - 1)
        if header.opcodes:
            size = (code_size - 1).astype(np.uint8)
            mask = np.where(size == 2, np.uint64(0xFFFF), np.uint64(0xFFFFFFFF))
            if width:
                self.code.add(pc, text.words(start + width + 1) & mask, size)
        else:
            size = self._size_at(pc)
        items = item_size // 26
        owner = np.repeat(np.arange(len(found)), items)
        order = np.arange(len(owner)) - np.repeat(np.cumsum(items) - items, items)
        item = (start + width + code_size)[owner] + 26 * order
        operation = text.bytes[item + 1]
        count = 1 + items
        first = np.cumsum(count) - count
        kind = np.zeros(int(count.sum()), dtype=np.uint8)
        address = np.zeros(len(kind), dtype=np.uint64)
        sizes = np.zeros(len(kind), dtype=np.uint8)
        address[first], sizes[first] = pc, size
        place = first[owner] + 1 + order
        kind[place] = np.where(operation & 1, int(Event.WRITE), int(Event.READ))
        address[place] = text.words(item + 18)
        fetches = place[operation == _FETCH]
        if len(fetches):
            self.unread["instruction fetches"] += len(fetches)
            keep = np.ones(len(kind), dtype=np.bool_)
            keep[fetches] = False
            return EventBatch(kind[keep], address[keep], sizes[keep])
        return EventBatch(kind, address, sizes)

    def _one(self, data: bytes, at: int, offset: int, rows: list[tuple[int, int, int]]) -> int:
        """Append the events of one record to ``rows``; returns where it ends.

        Raises:
            _Short: the data ends inside the record; nothing is appended or changed.
        """
        header = self._header
        width = header.pc_width
        start = at
        left, following = self._left, self._next
        lost: int | None = None
        if header.multi:
            if (
                left
                and width
                and following is not None
                and int.from_bytes(_cut(data, at, width), "little") != following
            ):
                lost, left = following, 0
            if not left:
                prefix = _cut(data, at, 9)
                left = int.from_bytes(prefix[1:], "little")
                if not left or (header.version == 5 and prefix[0] >= len(header.texts)):
                    raise _wrong(
                        self._path,
                        offset + at,
                        f"a block of instruction set {prefix[0]} with {left} instructions",
                        "a known instruction set and at least one instruction",
                    )
                at += 9
        pc = int.from_bytes(_cut(data, at, width), "little")
        at += width
        code = b""
        if header.opcodes:
            length = _cut(data, at, 1)[0]
            if not 1 <= length <= 16:
                raise _wrong(
                    self._path, offset + at, f"an opcode of {length} bytes", "1 to 16 bytes"
                )
            code = _cut(data, at + 1, length)
            at += 1 + length
        size = len(code) or int(self._size_at(np.array([pc], dtype=np.uint64))[0])
        mine: list[tuple[int, int, int]] = []
        unread: Counter[str] = Counter()
        if lost is not None:
            mine.append((int(Event.UNDECODED), lost, 0))
        mine.append((int(Event.INSTRUCTION), pc, size))
        while (item := _cut(data, at, 1)[0]) != 0:
            at = self._item(item, data, at, offset, mine, unread)
        at += 1
        assert at > start
        rows += mine
        self.unread.update(unread)
        if width and code:
            self.code.add_one(pc, code)
        if header.multi:
            self._left = left - 1
            self._next = pc + len(code) if width else None
        return at

    def _item(
        self,
        item: int,
        data: bytes,
        at: int,
        offset: int,
        mine: list[tuple[int, int, int]],
        unread: Counter[str],
    ) -> int:
        if item == 1:
            operation, _, _, physical = struct.unpack("<BQQQ", _cut(data, at + 1, 25))
            if operation > _FETCH:
                raise _wrong(self._path, offset + at + 1, f"memory operation {operation}", "0 to 4")
            kind = _OPERATIONS[operation]
            if kind is None:
                unread["instruction fetches"] += 1
            else:
                mine.append((int(kind), physical, 0))
            return at + 26
        if item == 2:
            _cut(data, at + 1, 16)
            unread["vector configurations"] += 1
            return at + 17
        if item == 3:
            width = {2: 4, 3: 8}.get(_cut(data, at + 1, 3)[1])
            if width is None:
                raise _wrong(
                    self._path, offset + at + 2, f"an atomic of width {data[at + 2]}", "2 or 3"
                )
            _cut(data, at + 4, 4 * width)
            unread["operands of atomics"] += 1
            return at + 4 + 4 * width
        if item == 4:
            return self._registers_at(data, at, mine, unread)
        raise _wrong(self._path, offset + at, f"an item of type {item}", "a type from 0 to 4")

    def _registers_at(
        self, data: bytes, at: int, mine: list[tuple[int, int, int]], unread: Counter[str]
    ) -> int:
        """An item of registers; those from before the instruction go in front of it."""
        before, count = _cut(data, at + 1, 2)
        at += 3
        for _ in range(count):
            name = _cut(data, at + 1, _cut(data, at, 1)[0])
            at += 1 + len(name)
            value = _cut(data, at + 1, _cut(data, at, 1)[0])
            at += 1 + len(value)
            number = None
            if self._registers is not None and before:
                number = register_number(self._registers, name.decode("ascii", "replace"))
            if number is None or len(value) > 8:
                unread[COUNTED] += 1
            else:
                row = (int(Event.REGISTER), int.from_bytes(value, "little"), number)
                place = next(i for i, r in enumerate(mine) if r[0] == Event.INSTRUCTION)
                mine.insert(place, row)
        return at


def _cut(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise _Short
    return data[at : at + size]
