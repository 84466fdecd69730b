"""A second graph of a program, from the text that objdump prints: which instruction goes to which.

Shares nothing with the toolchain: mnemonics, operands and symbols are read from the listing. Jumps
through tables are not followed by it (their targets are given); returns and calls show by their
form.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_LINE = re.compile(r"^\s*([0-9a-f]+):\t([0-9a-f]+(?: [0-9a-f]{4})?)\s*\t(.*)$")
_SYMBOL = re.compile(r"^([0-9a-f]{8}) <(.*)>:$")
_CONDITIONS = "eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_ARM = re.compile(
    rf"^(b|bl|bx|blx|pop|ldmia|ldmfd|ldm|ldr|mov|movs|subs|add|tbb|tbh|cbz|cbnz|svc|bkpt|udf|swi)"
    rf"({_CONDITIONS})?(?:\.[nw])?\t(.*)$"
)


@dataclass(frozen=True)
class Line:
    address: int
    length: int
    text: str

    @property
    def end(self) -> int:
        return self.address + self.length


@dataclass
class Going:
    """Where one instruction sends control."""

    next: bool = True
    jumps: tuple[int, ...] = ()
    call: int | None = None
    calls_unknown: bool = False
    returns: bool = False
    table: bool = False


@dataclass
class Found:
    """A function: successors of each instruction inside it, calls, tail calls, returns."""

    successors: dict[int, set[int]] = field(default_factory=dict)
    calls: set[tuple[int, int]] = field(default_factory=set)
    tails: set[tuple[int, int]] = field(default_factory=set)
    returns: set[int] = field(default_factory=set)
    leaves: bool = False
    """It runs into what is no code."""


class Listing:
    """``objdump -d`` of a file."""

    def __init__(self, file: Path, *, riscv: bool, thumb1: bool = False) -> None:
        prefix = "riscv64-unknown-elf" if riscv else "arm-none-eabi"
        options = ["-M", "no-aliases"] if riscv else ["-M", "reg-names-std"]
        out = subprocess.run(
            [f"{prefix}-objdump", "-d", *options, file], check=True, capture_output=True, text=True
        ).stdout
        self.riscv, self.thumb1 = riscv, thumb1
        self.lines: dict[int, Line] = {}
        for text in out.splitlines():
            match = _LINE.match(text)
            if match and not match[3].startswith("."):
                length = len(match[2].replace(" ", "")) // 2
                address = int(match[1], 16)
                self.lines[address] = Line(address, length, match[3])
        self.starts: dict[int, str] = {}
        self.sizes: dict[int, int] = {}
        symbols = subprocess.run(
            [f"{prefix}-readelf", "-sW", file], check=True, capture_output=True, text=True
        ).stdout
        for text in symbols.splitlines():
            words = text.split()
            if len(words) < 8 or not words[0][:-1].isdigit() or words[6] in ("UND", "ABS"):
                continue
            function = words[3] == "FUNC"
            label = words[3] == "NOTYPE" and words[4] != "LOCAL" and not words[7].startswith("$")
            address = int(words[1], 16) & (~1 if not riscv else ~0)
            if (function or label) and address in self.lines:
                self.starts.setdefault(address, words[7])
                if function:
                    self.sizes[address] = max(self.sizes.get(address, 0), int(words[2], 0))
        self._ordered = sorted(self.sizes)

    def going(self, line: Line) -> Going:
        return self._riscv(line) if self.riscv else self._arm(line)

    def _riscv(self, line: Line) -> Going:
        name, _, rest = line.text.partition("\t")
        operands = rest.partition("#")[0].split(" <")[0].split(",")
        last = operands[-1].strip()
        if name in ("beq", "bne", "blt", "bge", "bltu", "bgeu", "c.beqz", "c.bnez"):
            return Going(jumps=(int(last, 16),))
        if name == "c.j" or (name == "jal" and operands[0] == "zero"):
            return Going(next=False, jumps=(int(last, 16),))
        if name in ("c.jal", "jal"):
            return Going(call=int(last, 16))
        if name in ("c.jr", "c.jalr", "jalr"):
            links = name == "c.jalr" or (name == "jalr" and operands[0] == "ra")
            place = re.search(r"(-?\d*)\(?([a-z]+\d*)\)?$", last)
            assert place is not None
            base = place[2]
            if not links and base == "ra":
                return Going(next=False, returns=True)
            # The address that objdump works out from the instruction before.
            shown = re.search(r"# ([0-9a-f]+)", rest)
            if name == "jalr" and shown:
                target = int(shown[1], 16)
                return Going(call=target) if links else Going(next=False, jumps=(target,))
            return Going(calls_unknown=True) if links else Going(next=False, table=True)
        if name == "mret":
            return Going(next=False, returns=True)
        if name in ("c.ebreak", "ebreak", "c.unimp", "unimp"):
            return Going(next=False)
        return Going()

    def _arm(self, line: Line) -> Going:
        match = _ARM.match(line.text)
        if match is None:
            return Going()
        name, condition, rest = match[1], match[2], match[3].partition("@")[0].strip()
        may = condition is not None
        target = re.search(r"([0-9a-f]+) <", rest)
        if name in ("cbz", "cbnz"):
            assert target is not None
            return Going(jumps=(int(target[1], 16),))
        if name == "b":
            assert target is not None
            return Going(next=may, jumps=(int(target[1], 16),))
        if name == "bl":
            assert target is not None
            return self._link(line, int(target[1], 16))
        if name == "blx":
            return Going(calls_unknown=True)
        if name == "bx" and rest == "pc":
            ahead = 4 if line.length == 2 else 8
            return Going(next=False, jumps=(line.address + ahead,))
        if self._behind_link(line) and (name == "bx" or (name in ("mov", "ldr") and "pc" in rest)):
            return Going(calls_unknown=True)
        returns = (
            (name == "bx" and (rest == "lr" or self._popped(line, rest)))
            or (name in ("pop", "ldmia", "ldmfd", "ldm") and "pc" in rest)
            or (name in ("mov", "movs") and rest == "pc, lr")
            or (name == "subs" and rest.startswith("pc, lr"))
            or (name == "ldr" and re.match(r"pc, \[sp\], #4", rest) is not None)
        )
        if returns:
            return Going(next=may, returns=True)
        if name in ("tbb", "tbh", "bx") or rest.startswith("pc,"):
            return Going(next=may, table=True)
        if name in ("bkpt", "udf"):
            return Going(next=False)
        return Going()

    def _link(self, line: Line, target: int) -> Going:
        if self.thumb1 and line.length == 4 and "\t" in line.text:
            start = max((s for s in self._ordered if s <= line.address), default=0)
            inside = start < target < start + self.sizes.get(start, 0)
            mixed = self.lines.get(target)
            is_thumb = mixed is not None and self.lines[start].length == 2
            if inside and is_thumb and not self.lines[target].text.startswith("bx\t"):
                return Going(next=False, jumps=(target,))
        return Going(call=target)

    def _behind_link(self, line: Line) -> bool:
        before = self.lines.get(line.address - 4)
        return (
            before is not None
            and before.end == line.address
            and bool(re.match(r"mov(..)?\tlr, pc", before.text))
        )

    def _popped(self, line: Line, register: str) -> bool:
        """``pop {rN}; bx rN`` of interworking Thumb code."""
        before = self.lines.get(line.address - 2)
        return self.thumb1 and before is not None and before.text == f"pop\t{{{register}}}"

    def functions(self, entries: list[int], tables: Mapping[int, set[int]]) -> dict[int, Found]:
        """Every function that entries reach; ``tables`` gives targets of other jumps."""
        returning: set[int] = set()
        while True:
            found: dict[int, Found] = {}
            waiting = list(entries)
            while waiting:
                address = waiting.pop()
                if address not in found:
                    found[address] = self._function(address, returning, tables)
                    waiting += [callee for _, callee in found[address].calls]
                    waiting += [callee for _, callee in found[address].tails]
            now = {
                address
                for address, function in found.items()
                if function.returns
                or function.leaves
                or any(goal in returning for _, goal in function.tails)
            }
            if now <= returning:
                return found
            returning |= now

    def _function(self, entry: int, returning: set[int], tables: Mapping[int, set[int]]) -> Found:
        found = Found()
        waiting = [entry]
        while waiting:
            address = waiting.pop()
            if address in found.successors:
                continue
            line = self.lines[address]
            going = self.going(line)
            goals: set[int] = set()
            found.successors[address] = goals
            reached = list(going.jumps)
            if going.table:
                known = tables.get(address)
                if known is None:
                    found.returns.add(address)  # it may go anywhere, and so return
                reached += sorted(known or ())
            follows = going.next
            if going.call is not None:
                found.calls.add((address, going.call))
                follows = going.call in returning or self._predicated(line)
            if going.returns:
                found.returns.add(address)
            if follows and line.end in self.lines:
                reached.append(line.end)
            elif follows:
                found.leaves = True
            for goal in reached:
                if goal in self.starts and goal != entry:
                    found.tails.add((address, goal))
                else:
                    goals.add(goal)
                    waiting.append(goal)
        return found

    def _predicated(self, line: Line) -> bool:
        return not self.riscv and re.match(rf"bl({_CONDITIONS})\t", line.text) is not None
