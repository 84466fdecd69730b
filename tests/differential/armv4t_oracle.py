"""The independent count of ``chain_oracle`` for Armv4T in both states: objdump's text, QEMU's log.

QEMU prints CPSR at the start of every block, and every write of it ends one: whether I or F was set
is read there, where wcetchar follows values through registers, frames and status registers.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chain_listing import CONDITIONS, Line, Listing, registers
from chain_log import Log
from chain_oracle import Key, Machine, Segment, Window
from chain_published import ALL_INTERRUPTS
from chain_stream import Run

# --- the listing ----------------------------------------------------------------------------------

_LINE = re.compile(
    r"^ *([0-9a-f]+):\t([0-9a-f]{8}|[0-9a-f]{4}(?: [0-9a-f]{4})?) *\t(\S+)(?:\t(.*))?$"
)
_SECTION = re.compile(r"\] (\S+) +\S+ +([0-9a-f]{8}) [0-9a-f]{6} ([0-9a-f]{6}) \d\d +([A-Z]*) ")
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
    for row in _said("objdump", "-d", "-z", "-M", "reg-names-std", elf).splitlines():
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
    sections = {
        name: (int(at, 16), int(size, 16))
        for name, at, size, flags in _SECTION.findall(_said("readelf", "-SW", elf))
        if "A" in flags
    }
    rows = [row.split() for row in _said("nm", "-S", elf).splitlines()]
    symbols = {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}
    return ArmListing(lines, sections, symbols, frozenset(thumb))


def _said(tool: str, *arguments: str | Path) -> str:
    command = [f"arm-none-eabi-{tool}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


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
    effects |= {"mnemonic": name, "jumps": jump, "always": jump}
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
    *("-M", "versatilepb", "-cpu", "ti925t", "-m", "128M", "-audiodev", "none,id=none"),
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
    rb"^(?:Trace 0: (?P<block>0x[0-9a-f]+) \[[0-9a-f]+/(?P<pc>[0-9a-f]{8})/.*\n"
    rb"(?P<cpu>(?:R\d\d=.*\n){4})PSR=.*"
    rb"|IN: .*\n(?P<listing>(?:0x.*\n)+)"
    rb"|Stopped execution of TB chain before 0x[0-9a-f]+ \[(?P<stopped>[0-9a-f]+)\].*"
    rb"|cpu_io_recompile: rewound execution of TB to (?P<rewound>[0-9a-f]+)"
    rb"|Taking exception (?P<taken>\d+) \[.*"
    rb"|(?P<left>Exception return from AArch32) .*"
    rb"|(?:\.\.\.(?:from|with|handling)|AArch32 mode switch|-----).*"
    rb"|)\n",
    re.MULTILINE,
)


@dataclass
class ArmLog(Log):
    """With the status register; ``returns`` and ``code`` stay empty."""

    def masked(self, block: int) -> bool:
        """I or F at the start of a block, by its number."""
        at = self.cpu[block] + 4 * 52
        assert self.text[at : at + 4] == b"PSR="
        return bool(int(self.text[at + 4 : at + 12], 16) & I_AND_F)


def record(elf: Path, log: Path) -> None:
    command = ["qemu-system-arm", *ARGUMENTS, "-d", "in_asm,exec,nochain,int,cpu", "-D", str(log)]
    subprocess.run(
        [*command, "-device", f"loader,cpu-num=0,file={elf}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=600,
    )


_ROW = re.compile(rb"0x([0-9a-f]{8}):  ([0-9a-f]{8}|[0-9a-f]{4}(?: [0-9a-f]{4})?)(?: |$)")
PREFIX, SUFFIX = 0b11110, 0b11111
"""Bits 15 to 11 of the halves of a Thumb ``bl``."""


def _rows(text: bytes) -> list[int | None]:
    """Addresses of a block's instructions. Of a call whose halves lie on two pages the first half
    is none (``None``), and the second has the address of the whole."""
    found: list[int | None] = []
    for row in text.splitlines():
        parts = _ROW.match(row)
        assert parts is not None, row
        address = int(parts[1], 16)
        half = int(parts[2], 16) >> 11 if len(parts[2]) == 4 else 0
        found.append(None if half == PREFIX else address - 2 if half == SUFFIX else address)
    return found


def read(path: Path) -> ArmLog:
    """Raises AssertionError at anything in the log that is not understood."""
    text = path.read_bytes()
    log = ArmLog(text)
    pcs = log.pcs
    blocks: dict[bytes, list[int | None]] = {}
    listed: dict[int, list[int | None]] = {}
    # The block that was entered, until it is known to have run; ``None``: none was.
    pending: list[int | None] | None = None
    active: list[int] = []
    at = 0

    def ran(part: list[int | None] | None) -> None:
        nonlocal pending
        pending = None
        if part is None:
            return
        own = [pc for pc in part if pc is not None]
        pcs.extend(own)
        if not own:
            del log.first[-1:], log.cpu[-1:]

    while at < len(text):
        found = _ITEM.match(text, at)
        assert found is not None, text[at : at + 200]
        at = found.end()
        if found["block"]:
            ran(pending)
            pc = int(found["pc"], 16)
            if pc in listed:
                blocks[found["block"]] = listed.pop(pc)
            pending = blocks[found["block"]]
            assert pending[0] in (pc, pc - 2, None)
            log.first.append(len(pcs))
            log.cpu.append(found.start("cpu"))
        elif found["listing"]:
            listed[int(found["listing"][2:10], 16)] = _rows(found["listing"])
        elif found["stopped"]:
            assert pending is not None
            ran([])
        elif found["rewound"]:
            assert pending is not None
            ran(pending[: pending.index(int(found["rewound"], 16))])
        elif found["taken"] and int(found["taken"]) != SEMIHOSTING:
            ran(pending)
            active.append(VECTORS[int(found["taken"])])
            log.exceptions.append((len(pcs), True, active[-1]))
        elif found["left"]:
            ran(pending)
            if active:  # the first task is started by a return, too
                log.exceptions.append((len(pcs), False, active.pop()))
    ran(pending)
    return log


# --- the count ------------------------------------------------------------------------------------


class ArmMachine(Machine):
    """No frame, fetches of words in Arm state and of halfwords in Thumb state, interrupts masked by
    CPSR."""

    log: ArmLog
    listing: ArmListing

    def __init__(
        self, listing: ArmListing, log: ArmLog, run: Run, services: dict[str, Any]
    ) -> None:
        super().__init__(listing, log, run, {"hardware": {}, **services})

    def _masks(self) -> Iterator[tuple[int, int]]:
        before = None
        for block, step in enumerate(self.log.first):
            masked = self.log.masked(block)
            if masked != before:
                yield step, ALL_INTERRUPTS if masked else 0
            before = masked

    def number_of(self, segment: Segment) -> int:
        """Number of the exception that the segment is of."""
        assert isinstance(segment.owner, int)
        return self.run.exceptions[segment.owner][2]

    def _handler(self, name: str, values: tuple[int, ...], mark: int) -> Window:
        numbers = self.services[name]["exceptions"]
        first = next(
            segment
            for segment in self.segments
            if segment.start > mark
            and isinstance(segment.owner, int)
            and self.number_of(segment) in numbers
        )
        assert self.run.pcs[first.start] == self._entry(name)
        assert self.run.pcs[first.start] in {4 * number for number in numbers}
        return Window(name, values, list(self.follow(first.start)), exception=True)

    def _frame(self, steps: list[int]) -> Iterator[tuple[int, Key]]:
        first, last = steps[0], steps[-1]
        yield first, ("?", "exception entry")
        yield last, (self.section(self.run.pcs[last]), "exception exit")

    def _rows(self, window: Window, runs: list[list[int]]) -> Iterator[tuple[int, Key]]:
        for step, key in super()._rows(window, []):
            yield step, key
        for run in runs:
            for number, step in enumerate(run):
                line = self.line(step)
                where, thumb = self.section(line.address), line.address in self.listing.thumb
                accesses = self.run.data.get(step, [])
                jumped = line.jumps and step == run[-1]
                yield step, (where, self._event(line, jumped, bool(accesses)))
                yield from ((step, key) for key in self._accesses(line, accesses))
                width = 2 if thumb else 4
                for part in range(0, line.length, width):
                    pattern = "next" if number or part else "first"
                    yield step, (where, "fetch", str(8 * width), pattern)
            yield run[-1], (self.section(self.run.pcs[run[-1]]), "pipeline refill")

    def _realigned(self, run: list[int], part: list[int]) -> list[Key]:
        return []

    def _called(self, own: Iterable[int], step: int) -> int | None:
        return None

    def block_ends_behind(self, step: int) -> bool:
        """QEMU ends a block behind the instruction."""
        at = bisect_left(self.log.first, step + 1)
        return at < len(self.log.first) and self.log.first[at] == step + 1
