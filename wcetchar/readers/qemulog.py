"""QEMU's own log: ``-d in_asm,exec,nochain,int -D FILE``, QEMU 7.2 and later.

``in_asm`` lists a block's instructions once, when it is translated; ``exec`` prints a ``Trace``
line each time that a block is entered. ``nochain`` is needed: without it, blocks that jump to each
other directly print nothing (QEMU then logs ``Linking TBs``, which is refused). Between them stand
the lines of ``int``. A block can be entered and not be executed, or only in part:

* ``Stopped execution of TB chain before``: nothing of the block ran (an interrupt was pending, or
  the instruction budget of ``-icount`` was used up).
* ``cpu_io_recompile: rewound execution of TB to PC``: it ran up to the instruction that the next
  ``Trace`` line begins with, which is executed in a block of its own. PC is that instruction, too,
  but for QEMU 7.2 on RISC-V, which prints where the block begins.
* A fault inside it. RISC-V logs the ``epc``; the faulting instruction counts as executed. On
  M-profile the log does not say where: the whole block is counted, which can only be too many, and
  ``totals.unread`` says how many instructions that concerns. Interrupts are only taken between
  blocks; SVC, BKPT and exception returns end one.

On M-profile ``...taking pending (non)secure exception N`` is an exception's entry (tail-chained or
not) and ``Exception return: ... previous exception N`` its exit. RISC-V logs no exits; entries are
numbered as mcause, with bit 31 for interrupts.

Register dumps (``-d cpu``) are counted and not read: without data addresses nothing can be
characterized that would need an argument.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image
from wcetchar.model.machine import Machine, machine_named
from wcetchar.model.trace import Event, EventBatch, Knowledge, Loss, Trace, TraceInfo
from wcetchar.readers.columns import KnownLines, Text
from wcetchar.readers.encoding import CodeMap, InstructionSet
from wcetchar.readers.files import Lines, lines, malformed, plain_head, read_head
from wcetchar.readers.qemu_blocks import Block, EventTable, block_from_image
from wcetchar.readers.recording import CodeSeen, RecordedTrace
from wcetchar.readers.registers import NO_REGISTERS

Numbers = npt.NDArray[np.int64]

EXPECTED: Final = "a line of QEMU's log for -d in_asm,exec,nochain,int"
_HEAD_BYTES: Final = 1 << 16
_MAX_KNOWN_LINES: Final = 1 << 17
_LOOKED_UP: Final = 4096
"""Lines looked up at once. A new translation of a block has the rest of them looked up again."""

_TRACE = re.compile(
    rb"Trace (\d+): 0x[0-9a-f]{1,16} \[([0-9a-f]{1,16})/([0-9a-f]{1,16})/([0-9a-f]{1,16})"
    rb"/([0-9a-f]{1,16})\](?: .*)?"
)
_LISTED = re.compile(rb"0x([0-9a-f]+):  ([0-9a-f]{8}|[0-9a-f]{4}(?: [0-9a-f]{4})?)(?:\s{2,}.*|\s*)")
_STOPPED = re.compile(rb"Stopped execution of TB chain before 0x[0-9a-f]+ \[([0-9a-f]+)\](?: .*)?")
_REWOUND = re.compile(rb"cpu_io_recompile: rewound execution of TB to ([0-9a-f]+)")
_TAKING = re.compile(rb"Taking exception (\d+) \[(.*)\] on CPU (\d+)")
_ENTRY = re.compile(rb"\.\.\.taking pending (?:non)?secure exception (\d+)")
_RETURN = re.compile(rb"Exception return: magic PC [0-9a-f]+ previous exception (\d+)")
_RISCV = re.compile(
    rb"riscv_cpu_do_interrupt: hart:(\d+), async:(\d+), cause:([0-9a-f]+), epc:0x([0-9a-f]+),.*"
)
# Of -d cpu, which stand behind each Trace line.
_DUMP = re.compile(
    rb"R\d\d=[0-9a-f]{8}(?: R\d\d=[0-9a-f]{8})*|X?PSR=[0-9a-f]{8} .*"
    rb"| [a-zV][a-z0-9/]* +[0-9a-zA-Z=].*"  # RISC-V
)
_OPENINGS = (b"IN:", b"----------------", b"Trace ", b"Loaded reset ", b"Taking exception ")
_KNOWN_INT = (b"...", b"Loaded reset ", b"Priv:", b"Exception return", b"AArch")

# QEMU's internal exception numbers (target/arm/cpu.h, EXCP_*) of exceptions that strike between
# blocks or at a block's last instruction; any other can cut a block short.
_AT_BLOCK_END: Final = frozenset({1, 2, 3, 5, 6, 7, 8, 11, 13, 14, 15, 16, 17})

WHOLE_BLOCKS: Final = "instructions of blocks that a fault cut short, counted whole"

_LOSSES = (
    Loss(
        Knowledge.ADDRESSES,
        "data accesses are not logged at all: their number, widths and directions come from the"
        " instruction table, and their sections are unknown unless the instruction fixes them",
    ),
    Loss(Knowledge.WIDTHS, "no data access is logged"),
    Loss(Knowledge.DIRECTIONS, "no data access is logged"),
    NO_REGISTERS,
    Loss(
        Knowledge.END,
        "a log that stops between two lines is not recognised as cut short, and the last block is"
        " counted whole",
    ),
)
_NO_INT = Loss(
    Knowledge.EXCEPTIONS,
    "the log does not begin with a line of -d int: exception entry and exit may show only as a"
    " change of the program counter",
)
_NO_EXIT = Loss(
    Knowledge.EXCEPTIONS, "QEMU logs no exception exits on RISC-V: handlers end at their mret"
)


_NO_ARM = Loss(
    Knowledge.EXCEPTIONS,
    "of cores other than M-profile, exception entries are logged without what they lead to, and"
    " returns only where they change the mode: neither is read",
)


def _is_armv4t(image: Image | None, machine: Machine | None) -> bool:
    """A core with the exceptions of the classic Arm architecture."""
    if image is not None:
        return image.machine == "arm" and any(r.state == "arm" for r in image.code)
    return machine is not None and machine.state == "arm"


class QemuLogReader:
    @property
    def name(self) -> str:
        return "qemu-log"

    def recognises(self, head: bytes, path: str) -> bool:
        text = plain_head(head).lstrip(b"\n")
        return text.startswith(_OPENINGS)

    def open(self, path: str, *, image: Image | None = None, machine: str | None = None) -> Trace:
        """Open a log. The image is needed for blocks that were translated before logging began.

        Raises:
            InputError: the file cannot be read.
        """
        head = read_head(path, _HEAD_BYTES)
        losses = list(_LOSSES)
        known = machine_named(machine)
        if (image is not None and image.machine == "riscv") or b"\nPriv: " in head:
            losses.append(_NO_EXIT)
        elif _is_armv4t(image, known):
            losses.append(_NO_ARM)
        elif not any(word in head for word in (b"Loaded reset ", b"Taking exception ")):
            losses.append(_NO_INT)
        code = CodeMap(image, InstructionSet(known.state) if known else None)
        return _QemuLogTrace(TraceInfo(path, self.name, tuple(losses), machine=machine), code)


class _QemuLogTrace(RecordedTrace):
    def __init__(self, info: TraceInfo, code: CodeMap) -> None:
        super().__init__(info)
        self._code_map = code

    def _run(self, registers: bool) -> _QemuLogRun:
        return _QemuLogRun(self.info.path, self._code_map)


class _QemuLogRun:
    """Equal ``Trace`` lines are looked up whole, many at a time, so that each distinct one is
    parsed once; the number that is found is that of the block in the event table."""

    def __init__(self, path: str, code: CodeMap) -> None:
        self.code = CodeSeen()
        self.unread: Counter[str] = Counter()
        self._path = path
        self._map = code
        self._table = EventTable()
        self._known: dict[bytes, int] = {}
        self._stale = False
        self._lines_at: dict[int, list[bytes]] = {}
        self._blocks: dict[bytes, Block] = {}
        self._translated: dict[int, Block] = {}
        self._listing: list[tuple[int, bytes]] | None = None
        self._pending: int | None = None
        self._rewound: int | None = None
        self._heads: KnownLines | None = None
        self._out: list[Numbers] = []
        self._single: list[int] = []
        self._where = Location(path)

    def events(self) -> Iterator[EventBatch]:
        for piece in lines(self._path, EXPECTED):
            self._piece(piece)
            yield from self._batch()
        self._finish_pending()
        yield from self._batch()

    def _batch(self) -> Iterator[EventBatch]:
        self._flush()
        if self._out:
            yield self._table.expand(np.concatenate(self._out))
            self._out = []

    def _piece(self, piece: Lines) -> None:
        text = Text(piece.data, piece.ends)
        at = 0
        while at < len(text.starts):
            self._stale = False
            end = min(at + _LOOKED_UP, len(text.starts))
            numbers = self._lookup(text, at, end)
            done = 0
            for row in np.flatnonzero(numbers < 0).tolist():
                self._append(numbers[done:row])
                line = piece.data[text.starts[at + row] : text.ends[at + row]]
                number = self._known.get(line)  # the table of lines may have lost it
                if number is None:
                    self._where = Location(self._path, piece.first + at + row, 1)
                    self._other(line)
                else:
                    self._goes_on(self._table.block_of(number).start)
                    self._pending = number
                done = row + 1
                if self._stale:
                    break
            else:
                self._append(numbers[done:])
                done = end - at
            at += done

    def _lookup(self, text: Text, start: int, end: int) -> Numbers:
        if self._heads is None:
            return np.full(end - start, -1, dtype=np.int64)
        return self._heads.find(text, slice(start, end))

    def _append(self, numbers: Numbers) -> None:
        """Blocks entered one after the other; what becomes of the last one is not known yet."""
        if len(numbers):
            self._goes_on(self._table.block_of(int(numbers[0])).start)
            self._flush()
            self._out.append(numbers[:-1])
            self._pending = int(numbers[-1])

    def _other(self, line: bytes) -> None:
        """Any line but a ``Trace`` line that was seen before."""
        if line.startswith(b"0x"):
            self._instruction(line)
            return
        if self._listing is not None and not line.startswith((b"IN:", b"Priv:")):
            self._end_listing()
        if not line or line.startswith(b"----------------"):
            return
        if line.startswith(b"IN:"):
            self._end_listing()
            self._listing = []
        elif line.startswith(b"Trace "):
            self._trace(line)
        elif line.startswith(b"Stopped execution"):
            self._stopped(self._match(_STOPPED, line))
        elif line.startswith(b"cpu_io_recompile"):
            self._taken_back(self._match(_REWOUND, line))
        elif line.startswith(b"Taking exception"):
            self._taking(self._match(_TAKING, line))
        elif line.startswith(b"...taking pending"):
            entry = self._match(_ENTRY, line)
            self._finish_pending()
            self._put(self._table.event(Event.EXCEPTION, int(entry[1])))
        elif line.startswith(b"Exception return: magic"):
            back = self._match(_RETURN, line)
            self._finish_pending()
            self._put(self._table.event(Event.EXCEPTION_EXIT, int(back[1])))
        elif line.startswith(b"riscv_cpu_do_interrupt"):
            self._riscv(self._match(_RISCV, line))
        elif line.startswith(b"Linking TBs"):
            raise InputError(
                "the log was recorded without nochain: blocks that follow each other directly are"
                " missing",
                where=self._where,
                expected="a log of -d in_asm,exec,nochain,int",
                hint="record it again with nochain",
            )
        elif line.startswith(_KNOWN_INT):
            self.unread["lines about an exception or a state"] += 1
        elif _DUMP.fullmatch(line):
            self.unread["lines of register dumps"] += 1
        else:
            raise malformed(
                self._where,
                line,
                EXPECTED,
                hint="record the log with these four items only, and the firmware's output"
                " elsewhere",
            )

    def _match(self, pattern: re.Pattern[bytes], line: bytes) -> re.Match[bytes]:
        found = pattern.fullmatch(line)
        if found is None:
            raise malformed(self._where, line, EXPECTED)
        return found

    # Listings of in_asm.

    def _instruction(self, line: bytes) -> None:
        found = _LISTED.fullmatch(line)
        if found is None or self._listing is None:
            raise malformed(
                self._where,
                line,
                "0xADDRESS:  BYTES  disassembly, in a listing that begins with IN:",
                hint="QEMU must have been built with a disassembler for the target",
            )
        address = int(found[1], 16)
        halves = found[2].split()
        if len(halves) == 2:
            data = b"".join(int(half, 16).to_bytes(2, "little") for half in halves)
        else:
            data = int(halves[0], 16).to_bytes(len(halves[0]) // 2, "little")
        if self._listing:
            before, code = self._listing[-1]
            if before + len(code) != address:
                raise malformed(
                    self._where, line, f"the instruction at 0x{before + len(code):08x}", 3
                )
        self._listing.append((address, data))

    def _end_listing(self) -> None:
        listing, self._listing = self._listing, None
        if not listing:
            return
        start = listing[0][0]
        block = Block(start, tuple(a for a, _ in listing), tuple(c for _, c in listing))
        self._translated[start] = block
        # Blocks at this address are being translated anew: what they stood for is out of date.
        for line in self._lines_at.pop(start, ()):
            self._known.pop(line, None)
            if self._heads is not None:
                self._heads.set(line, -1)
            self._stale = True

    # Lines of exec.

    def _trace(self, line: bytes) -> None:
        found = self._match(_TRACE, line)
        if found[1] != b"0":
            raise InputError(
                f"a block of processor {found[1].decode()}",
                where=self._where,
                expected="a log of one processor",
                hint="run the machine with one processor",
            )
        pc = int(found[3], 16)
        self._goes_on(pc)
        key = found[0][found.start(2) : found.end(5)]
        block = self._translated.pop(pc, None)
        if block is None:
            block = self._blocks.get(key) or block_from_image(pc, int(found[5], 16), self._map)
        if block is None:
            raise InputError(
                f"the block at 0x{pc:08x} was translated before logging began, and its"
                " instructions are not known",
                where=self._where,
                expected="an IN: listing of the block, or an image with Thumb code there",
                hint="log from the start with in_asm, or give the image",
            )
        self._blocks[key] = block
        for address, code in zip(block.addresses, block.codes, strict=True):
            self.code.add_one(address, code)
        if len(self._known) >= _MAX_KNOWN_LINES:
            # Host addresses change when QEMU's code buffer is emptied, so lines can pile up.
            self._known.clear()
            self._lines_at.clear()
            self._heads = None
            self._stale = True
        self._pending = self._table.block(block)
        self._known[line] = self._pending
        if self._heads is None:
            # All of it up to the bracket: host address, address and state of the block.
            self._heads = KnownLines(found.end(5) + 1)
            self._stale = True
        self._heads.set(line, self._pending)
        self._lines_at.setdefault(pc, []).append(line)

    def _goes_on(self, pc: int) -> None:
        """A block at ``pc`` is entered: what became of the one before?"""
        if self._rewound is not None:
            self._take_back(pc)
        self._finish_pending()

    def _finish_pending(self) -> None:
        if self._rewound is not None:
            block = self._entered
            if block is not None and self._rewound == block.start and len(block) > 1:
                raise InputError(
                    f"how far the block at 0x{block.start:08x} was executed is not known",
                    where=self._where,
                    expected="a Trace line behind `rewound execution`",
                    hint="the log ends too soon, or lines of it are missing",
                )
            self._take_back(self._rewound)
        if self._pending is not None:
            self._put(self._pending)
            self._pending = None

    def _put(self, number: int) -> None:
        self._single.append(number)

    def _flush(self) -> None:
        if self._single:
            self._out.append(np.array(self._single, dtype=np.int64))
            self._single = []

    @property
    def _entered(self) -> Block | None:
        """The block of the last ``Trace`` line, while what became of it is not known."""
        return None if self._pending is None else self._table.block_of(self._pending)

    def _stopped(self, found: re.Match[bytes]) -> None:
        pc = int(found[1], 16)
        block = self._entered
        if block is None or block.start != pc:
            raise InputError(
                f"the block at 0x{pc:08x} was not executed, but was not entered either",
                where=self._where,
                expected="a Trace line of that block before it",
                hint="record the log with exec and nochain from the start",
            )
        self._pending = None
        self.unread["blocks entered and not executed"] += 1

    def _taken_back(self, found: re.Match[bytes]) -> None:
        pc = int(found[1], 16)
        block = self._entered
        if block is None or pc not in block.addresses:
            raise self._not_before(pc)
        self._rewound = pc
        self.unread["blocks broken off for a device access"] += 1

    def _take_back(self, pc: int) -> None:
        """The entered block ran up to ``pc``."""
        self._rewound = None
        block = self._entered
        part = block.before(pc) if block is not None else None
        if part is None:
            raise self._not_before(pc)
        self._cut(part)

    def _not_before(self, pc: int) -> InputError:
        return InputError(
            f"execution was taken back to 0x{pc:08x}, which is not in the block before",
            where=self._where,
            expected="a Trace line of a block with that instruction",
        )

    def _cut(self, part: Block) -> None:
        self._pending = None
        if len(part):
            self._put(self._table.block(part))

    # Lines of int.

    def _taking(self, found: re.Match[bytes]) -> None:
        if found[3] != b"0":
            raise malformed(self._where, found[0], "exceptions of CPU 0 only")
        number = int(found[1])
        block = self._entered
        if number not in _AT_BLOCK_END and block is not None and len(block) > 1:
            self.unread[WHOLE_BLOCKS] += len(block)
        self._finish_pending()
        self.unread["lines about an exception or a state"] += 1

    def _riscv(self, found: re.Match[bytes]) -> None:
        asynchronous = found[2] != b"0"
        epc = int(found[4], 16)
        block = self._entered
        if block is not None and epc not in block.addresses and epc >> 32 == 0xFFFFFFFF:
            epc &= 0xFFFFFFFF  # QEMU 11.1 extends the sign of addresses of 32 bits
        if block is not None and not asynchronous and epc in block.addresses:
            self._cut(block.first(block.addresses.index(epc) + 1))
        self._finish_pending()
        cause = int(found[3], 16) & 0x7FFFFFFF
        self._put(self._table.event(Event.EXCEPTION, cause | (0x80000000 if asynchronous else 0)))
