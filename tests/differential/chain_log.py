"""QEMU's own account of the same run: ``-d in_asm,exec,nochain,int,cpu``, without any plugin.

``in_asm`` lists what a block holds, ``exec`` says when it is entered, ``int`` where exceptions come
and go, and ``cpu`` prints the registers at each block's start: the stack pointer tells threads
apart, which a trace without registers cannot.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from time import sleep
from typing import IO

import numpy as np
from chain_stream import numbers

# As wcetchar.capture runs it, spelled out again: the run must be the very same one.
CORES = {"mps2-an385": "cortex-m3", "mps2-an386": "cortex-m4"}
ARGUMENTS = (
    *("-M", "mps2-an385", "-cpu", "cortex-m3"),
    *("-nodefaults", "-no-user-config", "-nic", "none", "-display", "none"),
    *("-no-reboot", "-icount", "shift=5,sleep=off"),
    *("-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"),
    *("-semihosting-config", "enable=on,target=native,chardev=console,arg=firmware"),
)


ITEMS = "in_asm,exec,nochain,int,cpu"


@contextmanager
def started(command: list[str]) -> Iterator[IO[bytes]]:
    """QEMU with its log to be read as it is written: it has a gigabyte or more."""
    reading, writing = os.pipe()
    with suppress(OSError):  # more than a user may have
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIECE)
    process = subprocess.Popen(
        [*command, "-D", f"/proc/self/fd/{writing}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(writing,),
    )
    os.close(writing)
    try:
        with open(reading, "rb", buffering=0) as log:
            yield log
        assert process.wait(60) == 0
    finally:
        process.kill()


def command_of(
    elf: Path, items: str = ITEMS, *more: str, board: str = "mps2-an385", log: Path | None = None
) -> list[str]:
    machine = ("-M", board, "-cpu", CORES[board])
    command = ["qemu-system-arm", *machine, *ARGUMENTS[4:], *more, "-d", items]
    return [*command, *(("-D", str(log)) if log else ()), "-kernel", str(elf)]


def record(elf: Path, log: Path, items: str = ITEMS, *more: str) -> None:
    subprocess.run(
        command_of(elf, items, *more, log=log),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=600,
    )


_ITEM = re.compile(
    rb"^(?:IN: .*\n(?P<listing>(?:0x.*\n)+)"
    rb"|Stopped execution of TB chain before 0x[0-9a-f]+ \[(?P<stopped>[0-9a-f]+)\].*"
    rb"|cpu_io_recompile: rewound execution of TB to (?P<rewound>[0-9a-f]+)"
    rb"|\.\.\.taking pending nonsecure exception (?P<entered>\d+)"
    rb"|Exception return: magic PC (?P<magic>[0-9a-f]+) previous exception (?P<left>\d+)"
    rb"|(?:\.\.\.(?:loading|loaded|successful|tailchaining|handling)|Taking|Loaded reset|-----).*"
    rb"|)\n",
    re.MULTILINE,
)

Block = list[int | None]
"""Addresses of a block's instructions; ``None``: half of one that is listed later."""
Trace = tuple[bytes, bytes, bytes, bytes]
"""QEMU's own address of a block that is entered, its first instruction's in eight digits, the
registers, and the lines behind these that are no trace."""


def traces(registers: bytes) -> re.Pattern[bytes]:
    """All lines of a block that is entered, and those up to the next one."""
    return re.compile(
        rb"^Trace 0: (0x[0-9a-f]+) \[[0-9a-f]+/([0-9a-f]{8})/.*\n"
        + registers
        + rb".*\n((?:(?!Trace 0: ).*\n)*)",
        re.MULTILINE,
    )


_FIELD = len("R00=00000000 ")
_PIECE = 1 << 20
_WORTHWHILE = 1 << 15
"""Bytes for which a call of the system is no waste."""


class Log:
    """A run in parallel columns. What is not understood in the log raises AssertionError.

    Attributes:
        pcs: address of each executed instruction.
        first: index of the first instruction of each executed block.
        exceptions: (index of the next instruction, entered, number), in order.
        returns: EXC_RETURN of each exception that was left, by index of the next instruction.
        code: bytes of each instruction, as ``in_asm`` listed them.
    """

    item = _ITEM
    trace = traces(rb"((?s:R00=.{203}\n))XPSR=")
    registers_shown = 16

    def __init__(self) -> None:
        self.pcs = numbers()
        self.first = numbers()
        self.exceptions: list[tuple[int, bool, int]] = []
        self.returns: dict[int, int] = {}
        self.code: dict[int, bytes] = {}
        self._cpu: list[bytes] = []
        self._known = TemporaryFile()  # noqa: SIM115 (as long as the log itself)
        # By QEMU's own address of the block: its instructions, its first one's in digits, and the
        # instructions without those that are ``None``.
        self._blocks: dict[bytes, Block] = {}
        self._begins: dict[bytes, bytes] = {}
        self._own: dict[bytes, array[int]] = {}
        self._listed: dict[bytes, Block] = {}  # by start, the newest listing
        # The block that was entered, until it is known to have run; ``None``: none was.
        self._pending: Block | None = None
        self._pending_cpu = b""

    # --- reading -----------------------------------------------------------------------------

    def read(self, log: IO[bytes]) -> None:
        rest: list[bytes] = []
        size = 0
        while piece := log.read(_PIECE):
            rest.append(piece)
            size += len(piece)
            if len(piece) < _WORTHWHILE:  # QEMU writes line by line
                sleep(0.001)
            if size >= _PIECE:
                text = b"".join(rest)
                end = text.rfind(b"\nTrace 0: ") + 1
                self._take(text[:end])
                rest, size = [text[end:]], len(text) - end
        self._take(b"".join(rest))
        self._ran(self._pending)
        self._keep_registers()
        self._known.flush()
        shape = (len(self.first), self.registers_shown)
        # Gigabytes, of which few are asked for; but the stack pointer and the link register often.
        self.registers = np.memmap(self._known, dtype=np.uint32, mode="r", shape=shape)
        self._columns = [numbers(), numbers()]
        for column, number in zip(self._columns, (13, 14), strict=True):
            column.frombytes(np.ascontiguousarray(self.registers[:, number]).view(np.uint8))

    def _take(self, text: bytes) -> None:
        """Up to where the next block is entered."""
        begin = text.find(b"\nTrace 0: ") + 1
        if not text.startswith(b"Trace 0: "):
            self._others(text[:begin] if begin else text)
            text = text[begin:] if begin else b""
        found: list[Trace] = self.trace.findall(text)
        # So nothing lies between them: each one goes up to the next line that begins so.
        assert len(found) == text.count(b"\nTrace 0: ") + bool(text), text[:200]
        assert text[-1:] in (b"\n", b""), text[-200:]
        start = 0
        for end, (*_, others) in enumerate(found, 1):
            if others:
                self._entered(found[start:end])
                self._others(others)
                start = end
        self._entered(found[start:])
        self._keep_registers()

    def _entered(self, found: list[Trace]) -> None:
        """One block after the other, with nothing between them: all but the last have run."""
        if not found:
            return
        blocks, pcs, registers, _ = zip(*found, strict=True)
        if len(found) > 1 and not self._listed.keys().isdisjoint(pcs):
            for one in found:
                self._entered([one])
            return
        if pcs[0] in self._listed:
            rows = self._blocks[blocks[0]] = self._listed.pop(pcs[0])
            assert self.begins_at(rows[0], int(pcs[0], 16))
            self._begins[blocks[0]] = pcs[0]
            self._own[blocks[0]] = numbers([row for row in rows if row is not None])
        assert (*map(self._begins.__getitem__, blocks),) == pcs
        self._ran(self._pending)
        ran = [*map(self._own.__getitem__, blocks[:-1])]
        if not all(ran):  # nothing but half of an instruction
            self._cpu += [cpu for cpu, own in zip(registers, ran, strict=False) if own]
            ran = [own for own in ran if own]
        else:
            self._cpu += registers[:-1]
        if ran:
            self.first.extend(accumulate(map(len, ran[:-1]), initial=len(self.pcs)))
            self.pcs.frombytes(b"".join(ran))
        self._pending, self._pending_cpu = self._blocks[blocks[-1]], registers[-1]

    def _others(self, text: bytes) -> None:
        """What is between blocks."""
        at = 0
        while at < len(text):
            found = self.item.match(text, at)
            assert found is not None, text[at : at + 200]
            at = found.end()
            if found["listing"]:
                self._listed[found["listing"][2:10]] = self.rows(found["listing"])
            elif found["stopped"]:
                # The block was entered, but nothing of it ran.
                assert self._pending is not None
                assert self.begins_at(self._pending[0], int(found["stopped"], 16))
                self._ran([])
            elif found["rewound"]:
                # It ran up to the instruction named here.
                assert self._pending is not None
                self._ran(self._pending[: self._pending.index(int(found["rewound"], 16))])
            else:
                self.other(found)

    def _ran(self, part: Block | None) -> None:
        own = [pc for pc in part or () if pc is not None]
        if own:
            self.first.append(len(self.pcs))
            self._cpu.append(self._pending_cpu)
            self.pcs.extend(own)
        self._pending = None

    def _keep_registers(self) -> None:
        """Hexadecimal digits to numbers, all at once."""
        if not self._cpu:
            return
        text = np.frombuffer(b"".join(self._cpu), dtype=np.uint8)
        fields = text.reshape(len(self._cpu), self.registers_shown, _FIELD)
        assert (fields[:, :, 3] == ord("=")).all()
        found = bytes.fromhex(fields[:, :, 4:12].tobytes().decode())
        assert len(found) == 4 * len(self._cpu) * self.registers_shown
        values = np.frombuffer(found, dtype=">u4").astype(np.uint32)
        self._known.write(values.tobytes())
        self._cpu = []

    def begins_at(self, first: int | None, pc: int) -> bool:
        return first == pc

    def rows(self, text: bytes) -> Block:
        found: Block = []
        for row in text.splitlines():
            address = int(row[2:10], 16)
            halves = row[12:22].decode().split()
            self.code[address] = b"".join(bytes.fromhex(half)[::-1] for half in halves)
            found.append(address)
        return found

    def other(self, found: re.Match[bytes]) -> None:
        """Exceptions."""
        if not (found["entered"] or found["left"]):
            return
        self._ran(self._pending)
        number = int(found["entered"] or found["left"])
        self.exceptions.append((len(self.pcs), bool(found["entered"]), number))
        if found["left"]:
            self.returns[len(self.pcs)] = int(found["magic"], 16)

    # --- asking ------------------------------------------------------------------------------

    def starts_block(self, index: int) -> bool:
        block = bisect_left(self.first, index)
        return block < len(self.first) and self.first[block] == index

    def register(self, index: int, number: int) -> int:
        """A register at the start of the first block from instruction ``index`` on."""
        block = bisect_left(self.first, index)
        if number in (13, 14):
            return self._columns[number - 13][block]
        return int(self.registers[block, number])


def log_of(elf: Path, board: str = "mps2-an385") -> Log:
    log = Log()
    with started(command_of(elf, board=board)) as text:
        log.read(text)
    return log
