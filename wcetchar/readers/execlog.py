"""Logs of QEMU's execlog plugin.

Three names share the line format of :mod:`wcetchar.readers.execlog_lines`:

* ``execlog-7.2``: QEMU before 8.2. RAM addresses carry the RAM block's offset, which is undone by
  the table of machines; a machine that is not in it is refused.
* ``execlog-8.2``: QEMU 8.2 and later, addresses as they are.
* ``execlog``: decides between the two, which needs the machine: the log is read up to the first
  RAM access whose address is RAM under one reading alone. A log without such an access is refused
  unless both readings agree on all of its addresses.

Opcodes are the instruction's bytes as one little-endian number. Up to QEMU 8.2 the plugin reads
four bytes whatever the length, so that what stands above a 16-bit instruction is chance; the
length comes from the first halfword. For that the instruction set must be known, from the image
or the machine; else lengths and bytes are a stated loss.

A store-exclusive is logged as a load and a store of one address, because QEMU makes it a compare
and exchange. The load is not the processor's: it is left out, and counted in ``totals.unread``.
Newer QEMU (10.0 does, 7.2 does not) logs the two words of LDRD and STRD as one access, without its
width: it is read as the two.

From QEMU 9.0 on the plugin can log registers (``reg=*``): behind an instruction those that it has
changed, with what they hold when the next one begins. So a register holds what was printed last.
The program counter is an exception: it is what it was where QEMU last stored it, and is not read.
QEMU 9.0 prints each value with one byte too many in front, which is chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image
from wcetchar.model.instruction import ARM_REGISTERS
from wcetchar.model.machine import Machine, machine_named, machine_names
from wcetchar.model.trace import Event, EventBatch, Knowledge, Loss, Trace, TraceInfo
from wcetchar.readers import execlog_lines
from wcetchar.readers.encoding import (
    CodeMap,
    InstructionSet,
    lengths,
    store_exclusive,
    two_words,
)
from wcetchar.readers.execlog_lines import EXPECTED, Accesses, Columns, Parser, is_nvic, is_ram
from wcetchar.readers.files import Lines, lines, plain_head, read_head
from wcetchar.readers.physical import OffsetUndone, Verdict, in_ram, judge
from wcetchar.readers.recording import CodeSeen, RecordedTrace, Words
from wcetchar.readers.registers import NO_REGISTERS, register_numbers

_HEAD_BYTES = 1 << 16
PHANTOM_LOADS = "loads logged for a store-exclusive"
JOINED_WORDS = "second words of two that are logged as one access"
SHARED_ADDRESSES = "addresses that two RAM blocks share in print, taken for the one in use"

_LOSSES = (
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
    Loss(
        Knowledge.END,
        "a log that stops between two lines is not recognised as cut short",
    ),
)


class ExeclogReader:
    """``version`` is ``"7.2"``, ``"8.2"`` or ``None`` for the one that decides."""

    def __init__(self, version: str | None) -> None:
        self._version = version

    @property
    def name(self) -> str:
        return "execlog" if self._version is None else f"execlog-{self._version}"

    def recognises(self, head: bytes, path: str) -> bool:
        """The two versions cannot be told apart by the first lines: only ``execlog`` claims."""
        first = plain_head(head).lstrip(b"\n").split(b"\n", 1)[0]
        return self._version is None and execlog_lines.looks_like(first)

    def open(self, path: str, *, image: Image | None = None, machine: str | None = None) -> Trace:
        """Open a log; ``execlog`` reads as much of it as it needs to decide on the version.

        Raises:
            InputError: the machine is needed and not given or not known, the log fits neither
                version, or it fits both and they differ.
        """
        known = machine_named(machine)
        version = self._version or _decide(path, machine, known)
        undo: OffsetUndone | None = None
        losses = list(_LOSSES)
        if version == "7.2":
            if known is None:
                raise _machine_needed(path, machine)
            undo = OffsetUndone(known, image)
        code = CodeMap(image, InstructionSet(known.state) if known else None)
        if not code.known:
            losses.append(
                Loss(
                    Knowledge.OPCODES,
                    "without an image or a known machine the instruction set is not known, so"
                    " neither are lengths and bytes: the trace cannot be checked against an image,"
                    " and a store-exclusive keeps the load that QEMU logs for it, one too many",
                )
            )
        if register_numbers(code) is None or b" -> 0x" not in read_head(path, _HEAD_BYTES):
            losses.append(NO_REGISTERS)
        info = TraceInfo(
            path,
            f"execlog-{version}",
            tuple(losses),
            machine=machine,
            registers_persist=True,
        )
        return _ExeclogTrace(info, code, known, undo)


def _register_numbers(code: CodeMap) -> Mapping[str, int] | None:
    """Without the program counter, which QEMU does not keep up to date."""
    numbers = register_numbers(code)
    if numbers is None or InstructionSet.RISCV in code.sets:
        return numbers
    return {
        name: number for name, number in numbers.items() if number != ARM_REGISTERS.program_counter
    }


def _machine_needed(path: str, machine: str | None) -> InputError:
    return InputError(
        "RAM addresses in an execlog of QEMU before 8.2 carry an offset that depends on the machine"
        + (
            f", and {machine!r} is not in the table"
            if machine
            else ", and the machine is not known"
        ),
        where=Location(path),
        expected=f"one of the machines {machine_names()}",
        hint="say which machine it was with --machine; a log of QEMU 8.2 or later needs"
        " --format execlog-8.2 instead",
    )


def _decide(path: str, machine: str | None, known: Machine | None) -> str:
    """Version by the addresses of RAM accesses: ``7.2`` or ``8.2``."""
    if known is None:
        raise _machine_needed(path, machine)
    same = True
    undo = OffsetUndone(known, None)
    parser = Parser()
    for piece in lines(path, EXPECTED):
        accesses = parser.parse(piece).accesses
        rows = is_ram(accesses)
        ram = accesses.address[rows]
        if not len(ram):
            continue
        verdict = judge(ram, known)
        if verdict is Verdict.OFFSET:
            return "7.2"
        if verdict is Verdict.PLAIN:
            return "8.2"
        if verdict is Verdict.NEITHER:
            wrong = int(accesses.line[rows][0])
            raise InputError(
                f"RAM accesses at addresses where {known.name} has none, printed either way",
                where=Location(path, piece.first + wrong),
                expected=f"a log of a run on {known.name}",
                hint="check --machine",
            )
        undone, sure, _ = undo(ram)
        same = same and bool(sure.all()) and bool((undone == ram).all())
    if same:
        # Both readings agree on every address; the later one needs no table.
        return "8.2"
    raise InputError(
        "the log fits QEMU before 8.2 (RAM addresses with an offset) and later ones alike",
        where=Location(path),
        expected="a RAM access that only one of them can have printed",
        hint="say which one it was with --trace-format execlog-7.2 or --trace-format execlog-8.2",
    )


class _ExeclogTrace(RecordedTrace):
    def __init__(
        self, info: TraceInfo, code: CodeMap, machine: Machine | None, undo: OffsetUndone | None
    ) -> None:
        super().__init__(info)
        self._code_map = code
        self._machine = machine
        self._undo = undo

    def _run(self, registers: bool) -> _ExeclogRun:
        names = _register_numbers(self._code_map) if registers else None
        return _ExeclogRun(self.info.path, self._code_map, self._machine, self._undo, names)


@dataclass
class _Addresses:
    """Puts the printed addresses of a piece right, in place."""

    path: str
    machine: Machine | None
    undo: OffsetUndone | None
    unread: Counter[str]

    def correct(self, accesses: Accesses, first_line: int) -> None:
        if self.machine is None:
            return
        ram = np.flatnonzero(is_ram(accesses))
        printed = accesses.address[ram]
        if self.undo is None:
            good = in_ram(printed, self.machine)
            if not good.all():
                row = ram[int(np.argmin(good))]
                raise self._wrong(int(accesses.address[row]), first_line + int(accesses.line[row]))
            return
        address, known, shared = self.undo(printed)
        if shared.any():
            self.unread[SHARED_ADDRESSES] += int(shared.sum())
        if not known.all():
            at = int(np.argmin(known))
            row = ram[at]
            line = first_line + int(accesses.line[row])
            if shared[at]:
                raise InputError(
                    f"0x{int(printed[at]):08x} stands for two blocks of RAM alike on"
                    f" {self.machine.name}",
                    where=Location(self.path, line),
                    expected="an image that uses only one of them",
                    hint="give the image, or record with the project's own plugin",
                )
            raise self._wrong(int(printed[at]), line)
        accesses.address[ram] = address
        for device in self.machine.devices:
            moved = (
                is_nvic(accesses)
                & (accesses.address >= np.uint64(device.start + device.shift))
                & (accesses.address < np.uint64(device.end + device.shift))
            )
            accesses.address[moved] -= np.uint64(device.shift)

    def _wrong(self, address: int, line: int) -> InputError:
        assert self.machine is not None
        return InputError(
            f"a RAM access at 0x{address:08x}, where {self.machine.name} has no RAM",
            where=Location(self.path, line),
            expected="addresses of QEMU "
            + ("8.2 or later" if self.undo is None else "before 8.2, with the RAM block's offset"),
            hint="check --machine, and the version of QEMU that made the log",
        )


class _ExeclogRun:
    def __init__(
        self,
        path: str,
        code: CodeMap,
        machine: Machine | None,
        undo: OffsetUndone | None,
        registers: Mapping[str, int] | None,
    ) -> None:
        self.code = CodeSeen()
        self._registers = registers
        self.unread: Counter[str] = Counter()
        self._path = path
        self._map = code
        self._addresses = _Addresses(path, machine, undo, self.unread)

    def events(self) -> Iterator[EventBatch]:
        parser = Parser(self._registers)
        for piece in lines(self._path, EXPECTED):
            columns = parser.parse(piece)
            self.unread.update(columns.unread)
            yield self._batch(piece, columns)

    def _sizes(self, pc: Words, opcode: Words) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        only = self._map.only
        if only is not None:
            return lengths(opcode, only)
        size = np.zeros(len(pc), dtype=np.uint8)
        if self._map.known:
            for chosen in self._map.sets:
                rows = self._map.is_set(pc, chosen)
                size[rows] = lengths(opcode[rows], chosen)
        return size

    def _batch(self, piece: Lines, columns: Columns) -> EventBatch:
        size = self._sizes(columns.pc, columns.opcode)
        bits = size.astype(np.uint64) << np.uint64(3)
        code = columns.opcode & ((np.uint64(1) << bits) - np.uint64(1))
        valid = columns.valid
        new = valid & columns.fresh
        if new.any():
            self.code.add(columns.pc[new], code[new], size[new])
        accesses = columns.accesses
        self._addresses.correct(accesses, piece.first)
        accesses = self._with_second_words(accesses, code)
        count = np.bincount(accesses.line, minlength=len(valid)).astype(np.int64)
        keep = self._without_phantoms(accesses, count, code)
        width = count + valid
        start = np.cumsum(width) - width
        total = int(width.sum())
        kind = np.zeros(total, dtype=np.uint8)
        address = np.zeros(total, dtype=np.uint64)
        sizes = np.zeros(total, dtype=np.uint8)
        address[start[valid]] = columns.pc[valid]
        sizes[start[valid]] = size[valid]
        place = start[accesses.line] + 1 + accesses.order
        kind[place] = accesses.kind
        address[place] = accesses.address
        ends = start + width
        if keep is not None:
            left = np.ones(total, dtype=np.bool_)
            left[place[~keep]] = False
            ends = np.concatenate(([0], np.cumsum(left)))[ends]
            kind, address, sizes = kind[left], address[left], sizes[left]
        if columns.registers:
            rows, numbers, values = zip(*columns.registers, strict=True)
            behind = ends[np.array(rows)]
            kind = np.insert(kind, behind, np.uint8(Event.REGISTER))
            address = np.insert(address, behind, np.array(values, dtype=np.uint64))
            sizes = np.insert(sizes, behind, np.array(numbers, dtype=np.uint8))
        return EventBatch(kind, address, sizes)

    def _with_second_words(self, accesses: Accesses, code: Words) -> Accesses:
        """With the second word of two that are printed as one access."""
        alone = np.bincount(accesses.line, minlength=len(code)) == 1
        alone[alone] = two_words(code[alone], self._map.only)
        more = np.flatnonzero(alone[accesses.line])
        if not len(more):
            return accesses
        self.unread[JOINED_WORDS] += len(more)
        return Accesses(
            np.concatenate((accesses.line, accesses.line[more])),
            np.concatenate((accesses.order, accesses.order[more] + 1)),
            np.concatenate((accesses.kind, accesses.kind[more])),
            np.concatenate((accesses.address, accesses.address[more] + np.uint64(4))),
            np.concatenate((accesses.device, accesses.device[more])),
        )

    def _without_phantoms(
        self, accesses: Accesses, count: np.ndarray[tuple[int], np.dtype[np.int64]], code: Words
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
        """Which accesses to keep; ``None``: all. A store-exclusive loses its load only where a
        store of the same address, and nothing else, follows it."""
        exclusive = count == 2
        exclusive[exclusive] = store_exclusive(code[exclusive], self._map.only)
        if not exclusive.any():
            return None
        rows = np.flatnonzero(exclusive[accesses.line])
        rows = rows[np.lexsort((accesses.order[rows], accesses.line[rows]))]
        first, second = rows[0::2], rows[1::2]
        phantom = first[
            (accesses.kind[first] == Event.READ)
            & (accesses.kind[second] == Event.WRITE)
            & (accesses.address[first] == accesses.address[second])
        ]
        if not len(phantom):
            return None
        self.unread[PHANTOM_LOADS] += len(phantom)
        keep = np.ones(len(accesses.line), dtype=np.bool_)
        keep[phantom] = False
        return keep
