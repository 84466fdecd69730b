"""The RISC-V firmware carried out once more: registers and masks that no trace shows.

An interpreter of what ``objdump -d -M no-aliases,numeric`` prints, after the unprivileged
(20191213) and privileged (20211203) manuals; nothing of wcetchar is used. It is led by a captured
run, which says where interrupts came, and checked by it at every step: the next program counter and
the address of every access have to be those of the run. So the registers, which nobody shows, are
right.
"""

from __future__ import annotations

import operator
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from chain_listing import Line, Listing, said, sections_and_objects
from chain_stream import Data, Run, numbers

PREFIX = "riscv64-unknown-elf-"
WORD = 0xFFFFFFFF
RAM, RAM_SIZE = 0x80000000, 0x1000000
MIE, MPIE = 1 << 3, 1 << 7
INTERRUPT = 1 << 31

_LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f]{4}|[0-9a-f]{8}) *\t(\S+)(?:\t(.*))?$")
_SECTION = re.compile(r"\] (\S+) +(\S+) +([0-9a-f]{8}) ([0-9a-f]{6}) ([0-9a-f]{6}) \d\d +([A-Z]*) ")
_LOADS = {"lw": (4, False), "lh": (2, True), "lhu": (2, False), "lb": (1, True), "lbu": (1, False)}
_STORES = {"sw": 4, "sh": 2, "sb": 1}
_FORMATS = {4: "I", 2: "H", 1: "B"}
"""Of a memoryview, by bytes; in lower case they have a sign."""
_EXPANDED = {"c.lwsp": "lw", "c.lw": "lw", "c.swsp": "sw", "c.sw": "sw"}
_OTHERS = {
    "mul": "multiply", "mulhu": "multiply long", "divu": "divide", "remu": "divide",
    "ecall": "supervisor call", "ebreak": "breakpoint",
    "c.ebreak": "breakpoint", "c.unimp": "breakpoint",
}  # fmt: skip
_ENDS = ("", "x0", "x1", "x2")
"""First operands of instructions that end a block."""
_BRANCHES: dict[str, Callable[[int, int], bool]] = {
    "beq": operator.eq,
    "bne": operator.ne,
    "bltu": operator.lt,
    "bgeu": operator.ge,
    "blt": lambda a, b: _signed(a) < _signed(b),
    "bge": lambda a, b: _signed(a) >= _signed(b),
}
_ALU: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "sll": lambda a, b: a << (b & 31),
    "srl": lambda a, b: a >> (b & 31),
    "sra": lambda a, b: _signed(a) >> (b & 31),
    "sltu": lambda a, b: int(a < b),
    "slt": lambda a, b: int(_signed(a) < _signed(b)),
    "mul": operator.mul,
    "mulhu": lambda a, b: a * b >> 32,
    "divu": lambda a, b: a // b,
    "remu": lambda a, b: a % b,
}


def _signed(value: int) -> int:
    return value - (value >> 31 << 32)


def listing_of(elf: Path) -> Listing:
    lines: dict[int, Line] = {}
    for row in said(PREFIX + "objdump", "-d", "-z", "-M", "no-aliases,numeric", elf).splitlines():
        found = _LINE.match(row)
        if found is None:
            continue
        code = bytes.fromhex(found[2])[::-1]
        operands = re.split(r"[<#]", (found[4] or "").replace("\t", " "))[0].strip()
        line = Line(int(found[1], 16), len(code), code, found[3], operands)
        lines[line.address] = Line(**{**line.__dict__, **_effects(line)})
    return Listing(lines, *sections_and_objects(elf, PREFIX))


def _effects(line: Line) -> dict[str, object]:
    """What an instruction counts as: jumps that leave a return address in x1 or x5 are calls, those
    through one of them returns (unprivileged architecture, 2.5)."""
    name = _EXPANDED.get(line.mnemonic, line.mnemonic)
    part = line.operands.split(",")
    if name in _LOADS:
        return {"reads": 1, "width": _LOADS[name][0], "event": "load"}
    if name in _STORES:
        return {"writes": 1, "width": _STORES[name], "event": "store"}
    if name in _BRANCHES or name in ("c.beqz", "c.bnez"):
        return {"jumps": True, "event": "branch untaken"}
    always = {"jumps": True, "always": True}
    if name in ("c.jalr", "jalr", "c.jr", "jal", "c.j"):
        link, through = _link(name, line.operands)
        if link in ("x1", "x5"):
            return {**always, "event": "call" if name == "jal" else "call indirect"}
        return {**always, "event": "return" if through in ("x1", "x5") else "branch taken"}
    if name == "mret":
        return {**always, "event": "return"}
    if name.startswith("csr"):
        return {"event": "system register"}
    assert name in _OTHERS or part, line
    return {"event": _OTHERS.get(name, "barrier" if name == "fence" else "alu")}


def _link(name: str, operands: str) -> tuple[str, str]:
    """Registers that a jump links to and goes through."""
    if name in ("c.jalr", "c.jr"):
        return ("x1" if name == "c.jalr" else "x0"), operands
    if name == "jalr":
        link, _, base = operands.partition(",")
        return link, base.partition("(")[2].rstrip(")")
    return ("x0" if name == "c.j" else operands.partition(",")[0]), ""


@dataclass
class Block:
    """Instructions one behind the other, and how each is carried out. ``end``: behind the last."""

    pcs: array[int]
    does: list[Callable[[], int | None]]
    end: int

    def up_to(self, number: int, listing: Listing) -> Block:
        """Of its instructions the first ones."""
        end = listing.lines[self.pcs[number - 1]].end
        return Block(self.pcs[:number], self.does[:number], end)


class Interpreter:
    """Carries instructions out; ``stack``, ``link`` and ``open`` have an entry for each step, as it
    was before the instruction: stack pointer, link register, whether interrupts are let in."""

    def __init__(self, elf: Path, listing: Listing) -> None:
        self.listing = listing
        self.x = [0] * 32
        self.csr = {"mstatus": 0, "mie": 0, "mepc": 0, "mcause": 0, "mtvec": 0}
        self.memory = bytearray(RAM_SIZE)
        data = elf.read_bytes()
        load = re.search(r"([0-9a-f]{8}) \S __data_load$", said(PREFIX + "nm", elf), re.MULTILINE)
        headers = said(PREFIX + "readelf", "-SW", elf)
        for _, kind, at, offset, size, flags in _SECTION.findall(headers):
            if "A" not in flags or kind != "PROGBITS":
                continue
            # What the firmware's start copies lies where it copies it from.
            start = int(load[1] if load and "W" in flags else at, 16)
            held = data[int(offset, 16) : int(offset, 16) + int(size, 16)]
            self.memory[start - RAM : start - RAM + len(held)] = held
        self.stack, self.link = numbers(), numbers()
        self.open = bytearray()
        self.differences: list[str] = []
        self._words, self._addresses = array("B"), numbers()
        """Of each access, as a stream has them."""

    def trap(self, number: int, epc: int) -> int:
        """Returns where it leads to."""
        csr, status = self.csr, self.csr["mstatus"]
        csr["mepc"] = epc
        csr["mstatus"] = status & ~(MIE | MPIE) | (MPIE if status & MIE else 0)
        csr["mcause"] = number
        return csr["mtvec"] & ~3

    def lead(self, run: Run) -> None:
        """Carries out what a run says that was executed, and compares."""
        assert isinstance(run.data, Data)
        x, csr, pcs = self.x, self.csr, run.pcs
        blocks: dict[int, Block] = {}
        # At the start of each block, or part of one; within one they do not change.
        lengths, stack, link, is_open = numbers(), numbers(), numbers(), bytearray()
        pc, at = pcs[0], 0
        for end, entered, number in [*run.exceptions, (len(pcs), True, 0)]:
            while at < end:
                block = blocks.get(pc)
                if block is None:
                    block = blocks[pc] = self._block(pc)
                if at + len(block.does) > end:
                    block = block.up_to(end - at, self.listing)
                behind = at + len(block.does)
                if pcs[at:behind] != block.pcs or behind == at:
                    own = [*block.pcs, pc]
                    step, here = next(
                        (step, here) for step, here in enumerate(own, at) if pcs[step] != here
                    )
                    self.differences.append(
                        f"step {step}: at {pcs[step]:#x} in the run, {here:#x} here"
                    )
                    return
                lengths.append(behind - at)
                stack.append(x[2])
                link.append(x[1])
                is_open.append(csr["mstatus"] & MIE != 0)
                target = None
                for do in block.does:
                    target = do()
                x[0] = 0
                pc = block.end if target is None else target
                at = behind
            if entered:
                pc = self.trap(number, pc if number & INTERRUPT else pcs[end - 1])
        for column, seen in ((self.stack, stack), (self.link, link)):
            column.frombytes(
                np.repeat(np.frombuffer(seen, dtype=np.uint32), lengths).view(np.uint8)
            )
        self.open += np.repeat(np.frombuffer(is_open, dtype=np.uint8), lengths).tobytes()
        for name, found, here in (
            ("direction or width", run.data.words, self._words),
            ("address", run.data.addresses, self._addresses),
        ):
            if not np.array_equal(found, np.frombuffer(here, dtype=found.dtype)):
                pairs = enumerate(zip(found.tolist(), here, strict=False))
                at = next((i for i, (a, b) in pairs if a != b), min(len(found), len(here)))
                step = int(run.data.steps[at]) if at < len(found) else len(run.pcs)
                self.differences.append(f"step {step}: another {name} here")

    def _block(self, pc: int) -> Block:
        """From there on up to the first instruction that jumps, may write the stack pointer, the
        link register or a status register, or writes what stays zero."""
        found = Block(numbers(), [], pc)
        while found.end in self.listing.lines:
            line = self.listing.lines[found.end]
            found.pcs.append(line.address)
            found.does.append(self.operation(line))
            found.end = line.end
            written = line.operands.partition(",")[0].strip()
            writes = not line.writes and written in _ENDS
            if line.jumps or line.event == "system register" or writes:
                break
        return found

    # --- one instruction ---------------------------------------------------------------------

    def operation(self, line: Line) -> Callable[[], int | None]:
        """Carries the instruction out; returns where it jumps to."""
        name = _EXPANDED.get(line.mnemonic, line.mnemonic)
        part = [p.strip() for p in line.operands.split(",")] if line.operands else []
        x = self.x

        def register(text: str) -> int:
            return int(text[1:])

        def number(text: str) -> int:
            return int(text, 0)

        if name in _LOADS or name in _STORES:
            offset, base = part[1].rstrip(")").split("(")
            to, by, at = register(part[0]), number(offset), register(base)
            if name in _STORES:
                return self._store(to, at, by, _STORES[name])
            return self._load(to, at, by, *_LOADS[name])
        if name in _BRANCHES or name in ("c.beqz", "c.bnez"):
            zero = name.startswith("c.")
            test = _BRANCHES[{"c.beqz": "beq", "c.bnez": "bne"}.get(name, name)]
            one, two = register(part[0]), 0 if zero else register(part[1])
            there = int(part[-1], 16)
            return lambda: there if test(x[one], x[two]) else None
        if name in ("c.j", "jal"):
            there, link = int(part[-1], 16), 0 if name == "c.j" else register(part[0])
            return self._jump(link, line.end, lambda: there)
        if name in ("c.jr", "c.jalr", "jalr"):
            linked, through = _link(name, line.operands)
            by = number(part[1].split("(")[0]) if name == "jalr" else 0
            base_ = register(through)
            return self._jump(register(linked), line.end, lambda: x[base_] + by & WORD & ~1)
        if name.startswith("csr"):
            return self._csr(name, register(part[0]), part[1], part[2])
        if name == "mret":
            return self._mret
        if name in ("ecall", "fence", "ebreak", "c.nop"):
            return lambda: None
        return self._alu(line, name, part)

    # Each access is recorded as a stream has it; what lies outside of RAM reads as zero.

    def _load(self, to: int, at: int, by: int, size: int, signed: bool) -> Callable[[], None]:
        x, record, addressed = self.x, self._words.append, self._addresses.append
        held = memoryview(self.memory).cast(_FORMATS[size].lower() if signed else _FORMATS[size])
        shift = word = size.bit_length() - 1

        def load() -> None:
            address = x[at] + by & WORD
            record(word)
            addressed(address)
            assert not address & size - 1, "a misaligned access"
            place = address - RAM
            x[to] = held[place >> shift] & WORD if 0 <= place < RAM_SIZE else 0

        return load

    def _store(self, value: int, at: int, by: int, size: int) -> Callable[[], None]:
        x, record, addressed = self.x, self._words.append, self._addresses.append
        held = memoryview(self.memory).cast(_FORMATS[size])
        shift, every = size.bit_length() - 1, (1 << 8 * size) - 1
        word = 8 + shift

        def store() -> None:
            address = x[at] + by & WORD
            record(word)
            addressed(address)
            assert not address & size - 1, "a misaligned access"
            place = address - RAM
            if 0 <= place < RAM_SIZE:
                held[place >> shift] = x[value] & every

        return store

    def _jump(self, link: int, end: int, target: Callable[[], int]) -> Callable[[], int]:
        x = self.x

        def jump() -> int:
            found = target()
            x[link] = end
            return found

        return jump if link else target

    def _mret(self) -> int:
        status = self.csr["mstatus"]
        self.csr["mstatus"] = status & ~MIE | (MIE if status & MPIE else 0) | MPIE
        return self.csr["mepc"]

    def _csr(self, name: str, to: int, csr: str, given: str) -> Callable[[], None]:
        def access() -> None:
            value = int(given, 0) if name.endswith("i") else self.x[int(given[1:])]
            old = self.csr.setdefault(csr, 0)
            kind = name.removesuffix("i")[-1]
            self.csr[csr] = {"w": value, "s": old | value, "c": old & ~value}[kind]
            self.x[to] = old

        return access

    def _alu(self, line: Line, name: str, part: list[str]) -> Callable[[], None]:
        """Also what is compressed: c.add rd, rs is add rd, rd, rs, and so on."""
        x, to = self.x, int(part[0][1:])
        plain = name.removeprefix("c.")
        if plain in ("li", "mv", "lui", "auipc"):
            if plain == "mv":
                source = int(part[1][1:])

                def move() -> None:
                    x[to] = x[source]

                return move
            value = int(part[1], 0)
            if plain in ("lui", "auipc"):
                value = (value << 12) + (line.address if plain == "auipc" else 0)
            value &= WORD

            def put() -> None:
                x[to] = value

            return put
        if name.startswith("c.") and plain not in ("addi4spn",):
            part = [part[0], *part]
        plain = {"addi16sp": "addi", "addi4spn": "addi"}.get(plain, plain)
        if plain == "sltiu":
            plain = "sltui"
        operation = _ALU.get(plain) or _ALU[plain.removesuffix("i")]
        one, last = int(part[1][1:]), part[2]
        two, constant = (int(last[1:]), None) if last.startswith("x") else (0, int(last, 0) & WORD)

        if constant is None:

            def calculate() -> None:
                x[to] = operation(x[one], x[two]) & WORD

        elif plain == "addi":

            def calculate() -> None:
                x[to] = x[one] + constant & WORD

        else:

            def calculate() -> None:
                x[to] = operation(x[one], constant) & WORD

        return calculate
