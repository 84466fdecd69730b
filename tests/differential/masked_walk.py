"""How long interrupts were held off in a whole run, from the raw trace and objdump's text alone.

The mask is simulated here, over all threads and handlers, with nothing of wcetchar: by the
instructions that write it, the exceptions that the trace shows, and the words of memory that a
switch saves it to and restores it from. Only what the firmware's ports of FreeRTOS do is
understood; anything else is an assertion that fails.

Interrupts that are let in and masked again with fewer than ``TOO_CLOSE`` instructions between, or
by a supervisor call, count as held off all the time; not so where one was taken there, or where a
handler's return let them in.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from chain_stream import ENTRY, EXIT, decode

TOO_CLOSE = 2
_LINE = re.compile(r"^ *([0-9a-f]+):\t[0-9a-f ]+?\t(\S+)(?:\t([^@;<]*))?")
_FUNCTION = re.compile(r"^([0-9a-f]+) <(\S+)>:")


@dataclass(frozen=True)
class Text:
    """One instruction as objdump prints it."""

    mnemonic: str
    operands: str
    function: str
    before: str
    following: str


@dataclass(frozen=True)
class Run:
    """Instructions first..last of the trace (inclusive), all of them with interrupts held off."""

    first: int
    last: int

    @property
    def instructions(self) -> int:
        return self.last - self.first + 1

    def after(self, step: int | None) -> bool:
        return step is not None and self.first >= step


@dataclass
class Stream:
    """``words``: the events of the trace; ``operands``: of those below 32, in order; ``addresses``:
    of each definition."""

    words: npt.NDArray[np.uint32]
    operands: npt.NDArray[np.uint32]
    addresses: list[int]


def stream_of(path: Path) -> Stream:
    found = decode(path)
    words, operands = (np.frombuffer(one, dtype=np.uint32) for one in (found.words, found.operands))
    return Stream(words, operands, [address for address, _ in found.definitions])


def listing_of(elf: Path, prefix: str) -> dict[int, Text]:
    command = [f"{prefix}objdump", "-d", "-z", str(elf)]
    if prefix.startswith("riscv"):
        command[2:2] = ["-M", "no-aliases"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows, function = [], ""
    for row in said.splitlines():
        begins = _FUNCTION.match(row)
        if begins:
            function = begins[2]
        found = _LINE.match(row)
        if found and not found[2].startswith("."):
            operands = (found[3] or "").split(" # ")[0].strip()
            rows.append((int(found[1], 16), found[2], operands, function))
    words = ["", *(f"{mnemonic} {operands}" for _, mnemonic, operands, _ in rows), ""]
    return {
        address: Text(mnemonic, operands, function, words[number], words[number + 2])
        for number, (address, mnemonic, operands, function) in enumerate(rows)
    }


class Walk:
    """Goes through a trace and simulates the mask; see ``RiscvWalk``, ``ArmWalk``, ``MWalk``."""

    prefix = "arm-none-eabi-"

    def __init__(self, elf: Path, trace: Path) -> None:
        self.texts = listing_of(elf, self.prefix)
        self.stream = stream = stream_of(trace)
        self.masked = self.at_reset()
        self.runs: list[Run] = []
        self._begun: int | None
        self._noticed = False
        """An interrupt that waited has been taken since interrupts were let in."""
        self.startup: int | None = None
        """Step at which interrupts were let in for the first time."""
        wanted = np.array(
            [32 + n for n, a in enumerate(stream.addresses) if self.matters(self.texts[a])],
            dtype=np.uint32,
        )
        words = stream.words
        is_step = words >= 32
        # Number of the step of an instruction's word, plus 1. In 32 bits: there are gigabytes.
        self._steps = np.cumsum(is_step, dtype=np.uint32)
        stops = np.flatnonzero((words == ENTRY) | (words == EXIT) | np.isin(words, wanted))
        self._begun = 0 if self.masked else None
        for position in stops.tolist():
            word = int(words[position])
            before = self.masked
            if word in (ENTRY, EXIT):
                number = self._operand(position)
                self._noticed |= word == ENTRY and self.is_interrupt(number)
                (self.entered if word == ENTRY else self.left)(number)
                step = int(self._steps[position])
            else:
                self.executed(self.texts[stream.addresses[word - 32]], position)
                step = int(self._steps[position])
            if self.masked != before:
                self._changed(step)
            self._noticed |= word == EXIT
        if self.masked:
            self._changed(int(self._steps[-1]))

    def _changed(self, step: int) -> None:
        """From ``step`` on it is otherwise."""
        if self.masked and self._begun is None:
            self._begun = step
            # What masks again is let in itself.
            if self.runs and not self._noticed and step - self.runs[-1].last - 1 <= TOO_CLOSE:
                self._begun = self.runs.pop().first
        else:
            assert self._begun is not None
            if self.startup is None:
                self.startup = step
            if step > self._begun:
                self.runs.append(Run(self._begun, step - 1))
            self._begun, self._noticed = None, False

    def _operand(self, position: int) -> int:
        """That of a word which has one."""
        return int(self.stream.operands[position - int(self._steps[position])])

    def accesses(self, position: int) -> list[int]:
        """Addresses of the accesses of the instruction at a position of the words."""
        found = []
        while self.stream.words[position + 1] < 16:
            position += 1
            found.append(self._operand(position))
        return found

    def functions(self, run: Run) -> dict[str, int]:
        """What is executed in a run: function -> instructions."""
        ends = np.array([run.first + 1, run.last + 1], dtype=self._steps.dtype)
        low, high = np.searchsorted(self._steps, ends).tolist()
        words = self.stream.words[low : high + 1]
        numbers, counts = np.unique(words[words >= 32] - 32, return_counts=True)
        found: dict[str, int] = {}
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            name = self.texts[self.stream.addresses[number]].function
            found[name] = found.get(name, 0) + count
        return found

    def at_reset(self) -> bool:
        raise NotImplementedError

    def matters(self, text: Text) -> bool:
        raise NotImplementedError

    def executed(self, text: Text, position: int) -> None:
        raise NotImplementedError

    def is_interrupt(self, number: int) -> bool:
        raise NotImplementedError

    def entered(self, number: int) -> None:
        raise NotImplementedError

    def left(self, number: int) -> None:
        raise NotImplementedError


_RISCV_THREADS = ("pxPortInitialiseStack", "xPortStartFirstTask")


class RiscvWalk(Walk):
    """``mstatus``: MIE and MPIE. A trap moves MIE to MPIE and clears it, mret moves it back."""

    prefix = "riscv64-unknown-elf-"

    def at_reset(self) -> bool:
        self.mpie = False
        self.read: tuple[bool, bool, str, str] | None = None
        self.loaded: dict[str, int] = {}
        self.saved: dict[int, tuple[bool, bool]] = {}
        return True

    def matters(self, text: Text) -> bool:
        if text.mnemonic.startswith("csr") and "mstatus" in text.operands:
            return True
        if text.mnemonic in ("c.swsp", "sw", "c.sw", "c.lwsp", "lw", "c.lw"):
            beside = text.before if "sw" in text.mnemonic else text.following
            return "mstatus" in beside or text.function in _RISCV_THREADS
        return text.mnemonic == "mret"

    def executed(self, text: Text, position: int) -> None:
        name, operands = text.mnemonic, text.operands.split(",")
        if name == "mret":
            self.masked, self.mpie = not self.mpie, True
        elif "sw" in name:
            if self.read is not None and operands[0] == self.read[2]:
                (at,) = self.accesses(position)
                mie, mpie, _, function = self.read
                # A new thread: MIE is cleared, MPIE set.
                new = function == _RISCV_THREADS[0]
                self.saved[at] = (False, True) if new else (mie, mpie)
                self.read = None
        elif "lw" in name:
            (at,) = self.accesses(position)
            self.loaded[operands[0]] = at
        elif name == "csrrs" and operands[2] == "zero":
            self.read = (not self.masked, self.mpie, operands[0], text.function)
        elif name == "csrrw":
            assert operands[0] == "zero", text
            mie, self.mpie = self.saved[self.loaded[operands[2]]]
            # The first thread begins with MIE set, which is added behind the load.
            self.masked = not (mie or text.function == _RISCV_THREADS[1])
        else:
            assert name in ("csrrci", "csrrsi", "csrrc", "csrrs"), text
            assert operands[0] == "zero", text
            if name.endswith("i"):
                assert operands[2] == "8", text
            self.masked = name.startswith("csrrc")

    def entered(self, number: int) -> None:
        self.mpie, self.masked = not self.masked, True

    def left(self, number: int) -> None:
        pass

    def is_interrupt(self, number: int) -> bool:
        return number >= 1 << 31


class ArmWalk(Walk):
    """CPSR.I: every exception sets it and keeps CPSR in SPSR; the return moves it back."""

    def at_reset(self) -> bool:
        self.spsr: list[bool] = []
        self.read: str | None = None
        self.loaded: dict[str, int] = {}
        self.saved: dict[int, bool] = {}
        self.last = ("", 0)
        return True

    def matters(self, text: Text) -> bool:
        if text.mnemonic.startswith(("mrs", "msr")):
            return True
        return text.following.startswith("msr") or text.before.startswith("mrs")

    def executed(self, text: Text, position: int) -> None:
        name, operands = text.mnemonic, text.operands
        if name.startswith("mrs"):
            self.read = operands.split(", ")[1].lower()
        elif name in ("stmdb", "stmfd", "push", "str"):
            if self.read == "spsr":
                (at,) = self.accesses(position)
                self.saved[at] = self.spsr[-1]
        elif name.startswith("msr"):
            target = operands.split(",")[0].lower()
            before, at = self.last
            if target.startswith("spsr"):
                # What was never saved is a new thread's: it lets interrupts in.
                self.spsr[-1:] = [self.saved.get(at, False)]
            elif "#" in operands:
                self.masked = int(operands.split("#")[1]) & 0x80 != 0
            elif before.startswith(("orr", "bic")):
                self.masked = before.startswith("orr")
            else:
                raise AssertionError((text, before))
        else:
            found = self.accesses(position)
            self.last = (name, found[0] if found else 0)

    def entered(self, number: int) -> None:
        self.spsr.append(self.masked)
        self.masked = True

    def left(self, number: int) -> None:
        self.masked = self.spsr.pop()

    def is_interrupt(self, number: int) -> bool:
        return number in (6, 7)


class MWalk(Walk):
    """BASEPRI: raised where barriers follow; elsewhere set back to what the function had kept in
    the register, and to 0 if it had kept nothing. PRIMASK: `cpsid i` and `cpsie i`."""

    def at_reset(self) -> bool:
        self.kept: dict[tuple[str, str], bool] = {}
        self.basepri = self.primask = False
        return False

    def matters(self, text: Text) -> bool:
        if text.mnemonic in ("cpsid", "cpsie"):
            return text.operands != "f" or text.mnemonic == "cpsid"
        return text.mnemonic in ("msr", "mrs") and "basepri" in text.operands.lower()

    def executed(self, text: Text, position: int) -> None:
        one, _, two = text.operands.partition(", ")
        if text.mnemonic.startswith("cps"):
            assert text.operands == "i", text
            self.primask = text.mnemonic == "cpsid"
        elif text.mnemonic == "mrs":
            self.kept[text.function, one] = self.basepri
        elif text.following.startswith(("isb", "dsb")):
            self.basepri = True
        else:
            self.basepri = self.kept.pop((text.function, two), False)
        self.masked = self.basepri or self.primask

    def entered(self, number: int) -> None:
        pass

    def left(self, number: int) -> None:
        pass

    def is_interrupt(self, number: int) -> bool:
        return number > 11


def walk_of(board: str, elf: Path, trace: Path) -> Any:
    kind = {"virt": RiscvWalk, "versatilepb": ArmWalk, "versatilepb-thumb": ArmWalk}
    return kind.get(board, MWalk)(elf, trace)
