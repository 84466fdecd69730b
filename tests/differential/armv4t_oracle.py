"""The independent count of ``chain_oracle`` for Armv4T in both states: objdump's text, QEMU's log.

QEMU prints CPSR at the start of every block, and every write of it ends one: whether I or F was set
is read there, where wcetchar follows values through registers, frames and status registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import stall_text
from chain_listing import CONDITIONS, Line, Listing, registers, said, sections_and_objects
from chain_log import Block, Log, started, traces
from chain_oracle import Key, TrapMachine, Window

# --- the listing ----------------------------------------------------------------------------------

_LINE = re.compile(
    r"^ *([0-9a-f]+):\t([0-9a-f]{8}|[0-9a-f]{4}(?: [0-9a-f]{4})?) *\t(\S+)(?:\t(.*))?$"
)
_LOADS = {"ldr": 4, "ldrb": 1, "ldrh": 2, "ldrsb": 1, "ldrsh": 2}
_STORES = {"str": 4, "strb": 1, "strh": 2}
_MULTIPLE = {"ldm": "load", "pop": "load", "stm": "store", "push": "store"}
_OTHERS = {
    "mul": "multiply",
    "mla": "multiply accumulate",
    "umull": "multiply long",
    "smull": "multiply long",
    "umlal": "multiply accumulate long",
    "smlal": "multiply accumulate long",
    "mrs": "system register",
    "msr": "system register",
    "svc": "supervisor call",
}
_ALU = (
    *("and", "eor", "sub", "rsb", "add", "adc", "sbc", "rsc", "tst", "teq", "cmp", "cmn", "orr"),
    *("mov", "bic", "mvn", "lsl", "lsr", "asr", "ror", "rrx", "nop", "neg"),
)
_NAMES = re.compile(
    r"(?P<branch>bl?x?|b)(?P<to>" + "|".join(CONDITIONS) + r")?"
    r"|(?P<multiple>ldm|stm|push|pop)(?:ia|ib|da|db|fd|fa|ed|ea)?(?P<m>" + "|".join(CONDITIONS)
    + r")?|(?P<name>" + "|".join(sorted((*_LOADS, *_STORES, *_OTHERS, *_ALU), key=len)[::-1])
    + r")(?P<s>s)?(?P<n>" + "|".join(CONDITIONS) + r")?"
)  # fmt: skip


@dataclass(frozen=True)
class ArmListing(Listing):
    """``thumb``: addresses of instructions in Thumb state."""

    thumb: frozenset[int] = frozenset()


def listing_of(elf: Path) -> ArmListing:
    lines: dict[int, Line] = {}
    thumb: set[int] = set()
    before = ""
    for row in said("arm-none-eabi-objdump", "-d", "-z", "-M", "reg-names-std", elf).splitlines():
        found = _LINE.match(row)
        if found is None or found[3].startswith("."):
            continue
        text, _, comment = f"{found[3]} {found[4] or ''}".partition("@")
        alias = re.match(r" \(([a-z]+ [^<]*)\)", comment)
        if alias:  # push and pop of one register, nop: what they stand for
            text = alias[1]
        mnemonic, _, operands = text.strip().partition(" ")
        mnemonic = mnemonic.removesuffix(".n")
        code = b"".join(bytes.fromhex(part)[::-1] for part in found[2].split())
        line = Line(int(found[1], 16), len(code), code, mnemonic, operands.strip())
        if len(found[2]) != 8:
            thumb.add(line.address)
        lines[line.address] = Line(**{**line.__dict__, **_effects(line, before)})
        before = f"{mnemonic} {operands.strip()}"
    return ArmListing(lines, *sections_and_objects(elf), frozenset(thumb))


def _effects(line: Line, before: str) -> dict[str, object]:
    found = _NAMES.fullmatch(line.mnemonic)
    assert found is not None, line
    condition = found["to"] or found["m"] or found["n"] or ""
    effects: dict[str, object] = {"condition": condition}
    calls = before == "mov lr, pc"
    if found["branch"]:
        name = found["branch"]
        effects |= {"jumps": True, "mnemonic": name, "always": True}
        if name == "b":
            event = "branch untaken" if condition else "branch taken"
            return {**effects, "condition": "", "always": not condition, "event": event}
        if name == "bl":
            return {**effects, "event": "call"}
        event = "return" if line.operands == "lr" else "branch taken"
        return {**effects, "event": "call indirect" if calls else event}
    if found["multiple"]:
        listed = registers(line.operands)
        kind = _MULTIPLE[found["multiple"]]
        jump = kind == "load" and "pc" in listed
        effects |= {"reads" if kind == "load" else "writes": len(listed), "width": 4}
        return {**effects, "jumps": jump, "always": jump, "event": f"{kind} multiple"}
    name = found["name"]
    jump = line.operands.startswith("pc,") and name not in _STORES
    effects |= {"mnemonic": name + ((jump and found["s"]) or ""), "jumps": jump, "always": jump}
    if name in _LOADS:
        return {**effects, "reads": 1, "width": _LOADS[name], "event": "load"}
    if name in _STORES:
        return {**effects, "writes": 1, "width": _STORES[name], "event": "store"}
    if name in _OTHERS:
        return {**effects, "event": _OTHERS[name]}
    if jump:
        returns = found["s"] or line.operands == "pc, lr"
        return {**effects, "event": "return" if returns else "branch taken"}
    last = line.operands.rpartition(", ")[2]
    shifts = re.match(r"(lsl|lsr|asr|ror) [rls]", last) or (
        name in ("lsl", "lsr", "asr", "ror") and not last.startswith("#")
    )
    return {**effects, "event": "shift by register" if shifts else "alu"}


# --- QEMU's log -----------------------------------------------------------------------------------

# As wcetchar.capture runs it, spelled out again: the run must be the very same one.
ARGUMENTS = (
    *(
        "-M",
        "versatilepb",
        "-cpu",
        "ti925t",
        "-m",
        "128M",
        "-audiodev",
        "none,id=none",
        "-global",
        "pl041.audiodev=none",
    ),
    *("-rtc", "base=2000-01-01T00:00:00,clock=vm"),
    *("-nodefaults", "-no-user-config", "-nic", "none", "-display", "none"),
    *("-no-reboot", "-icount", "shift=5,sleep=off"),
    *("-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"),
    *("-semihosting-config", "enable=on,target=native,chardev=console,arg=firmware"),
)
VECTORS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 7}
"""QEMU's numbers of exceptions -> vector address / 4."""
SEMIHOSTING = 16
I_AND_F = 0xC0

_ITEM = re.compile(
    rb"^(?:IN: .*\n(?P<listing>(?:0x.*\n)+)"
    rb"|Stopped execution of TB chain before 0x[0-9a-f]+ \[(?P<stopped>[0-9a-f]+)\].*"
    rb"|cpu_io_recompile: rewound execution of TB to (?P<rewound>[0-9a-f]+)"
    rb"|Taking exception (?P<taken>\d+) \[.*"
    rb"|(?P<left>Exception return from AArch32) .*"
    rb"|(?:\.\.\.(?:from|with|handling)|AArch32 mode switch|-----).*"
    rb"|)\n",
    re.MULTILINE,
)


_ROW = re.compile(rb"0x([0-9a-f]{8}):  ([0-9a-f]{8}|[0-9a-f]{4}(?: [0-9a-f]{4})?)(?: |$)")
PREFIX, SUFFIX = 0b11110, 0b11111
"""Bits 15 to 11 of the halves of a Thumb ``bl``."""
PSR = 16


class ArmLog(Log):
    """With the status register as number 16; ``returns`` and ``code`` stay empty."""

    item = _ITEM
    trace = traces(rb"((?s:R00=.{203}\n)PSR=[0-9a-f]{8} )")
    registers_shown = 17

    def __init__(self) -> None:
        super().__init__()
        self._active: list[int] = []
        self.first_threads: list[int] = []
        """Where a return from no exception led to: how the first thread is started."""

    def begins_at(self, first: int | None, pc: int) -> bool:
        return first in (pc, pc - 2, None)

    def rows(self, text: bytes) -> Block:
        """Addresses of a block's instructions. Of a call whose halves lie on two pages the first
        half is none, and the second has the address of the whole."""
        found: Block = []
        for row in text.splitlines():
            parts = _ROW.match(row)
            assert parts is not None, row
            address = int(parts[1], 16)
            half = int(parts[2], 16) >> 11 if len(parts[2]) == 4 else 0
            found.append(None if half == PREFIX else address - 2 if half == SUFFIX else address)
        return found

    def other(self, found: re.Match[bytes]) -> None:
        if found["taken"] and int(found["taken"]) != SEMIHOSTING:
            self._ran(self._pending)
            self._active.append(VECTORS[int(found["taken"])])
            self.exceptions.append((len(self.pcs), True, self._active[-1]))
        elif found["left"]:
            self._ran(self._pending)
            if self._active:
                self.exceptions.append((len(self.pcs), False, self._active.pop()))
            else:
                self.first_threads.append(len(self.pcs))

    def masked(self) -> npt.NDArray[np.bool_]:
        """I or F at the start of each block."""
        held: npt.NDArray[np.bool_] = (self.registers[:, PSR] & I_AND_F) != 0
        return held


def log_of(elf: Path) -> ArmLog:
    log = ArmLog()
    items = ("-d", "in_asm,exec,nochain,int,cpu", "-device", f"loader,cpu-num=0,file={elf}")
    with started(["qemu-system-arm", *ARGUMENTS, *items]) as text:
        log.read(text)
    return log


# --- the count ------------------------------------------------------------------------------------


def program_of(listing: ArmListing) -> stall_text.Program:
    states = {at: (2, 2) if at in listing.thumb else (4, 4) for at in listing.lines}
    return stall_text.arm(listing.lines, states)


class ArmMachine(TrapMachine):
    """No frame, fetches of words in Arm state and of halfwords in Thumb state, interrupts masked by
    CPSR."""

    supervisor_calls = frozenset({2})  # DDI 0100I, A2.6: SWI, vector 0x08
    log: ArmLog
    listing: ArmListing

    def _first_threads(self) -> list[int]:
        return self.log.first_threads

    def _masked(self) -> npt.NDArray[np.bool_]:
        masked = self.log.masked()
        first = np.frombuffer(self.log.first, dtype=np.uint32)
        writes = [
            address
            for address, line in self.listing.lines.items()
            if line.mnemonic == "msr" and "CPSR" in line.operands
        ]
        behind = np.flatnonzero(np.isin(self.pcs[:-1], writes)) + 1
        assert np.isin(behind, first).all(), "what CPSR is behind msr is not in the log"
        return np.repeat(masked, np.diff(first, append=len(self.pcs)))

    def _program(self) -> stall_text.Program:
        return program_of(self.listing)

    def _is_entry(self, window: Window) -> bool:
        numbers = self.services[window.service]["exceptions"]
        return self.run.pcs[window.steps[0]] in {4 * number for number in numbers}

    def _fetches(self, line: Line, anew: bool) -> Iterator[Key]:
        width = 2 if line.address in self.listing.thumb else 4
        for part in range(0, line.length, width):
            pattern = "next" if part or not anew else "first"
            yield self.section(line.address), "fetch", str(8 * width), pattern

    def _realigned(self, run: list[int], part: range) -> list[Key]:
        return []
