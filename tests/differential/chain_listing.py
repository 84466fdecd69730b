"""What the firmware's instructions do, from the text of ``arm-none-eabi-objdump -d`` alone.

Nothing of wcetchar is used here: the text is split by columns, and mnemonics are looked up in the
tables below, which follow the Armv7-M Architecture Reference Manual (DDI 0403), chapter A7.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

CONDITIONS = re.findall("..", "eqnecsccmiplvsvchilsgeltgtle")
_LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f]{4}(?: [0-9a-f]{4})?) *\t(\S+)(?:\t(.*))?$")
_SECTION = re.compile(r"\] (\S+) +\S+ +([0-9a-f]{8}) [0-9a-f]{6} ([0-9a-f]{6}) \d\d +([A-Z]*) ")

# Bytes of one element.
LOADS = {"ldr": 4, "ldrb": 1, "ldrh": 2, "ldrsb": 1, "ldrsh": 2}
STORES = {"str": 4, "strb": 1, "strh": 2}
BARRIERS = {"dmb", "dsb", "isb"}
OTHERS = {
    "nop": "hint",
    "it": "hint",
    "wfi": "wait",
    "mul": "multiply",
    "muls": "multiply",
    "mla": "multiply accumulate",
    "mls": "multiply accumulate",
    "umull": "multiply long",
    "smull": "multiply long",
    "udiv": "divide",
    "sdiv": "divide",
    "mrs": "system register",
    "msr": "system register",
    "svc": "supervisor call",
    "bkpt": "breakpoint",
    "vadd.f32": "float",
    "vmov": "float transfer",
    "vmrs": "float transfer",
    "vmsr": "float transfer",
}
ALU = re.findall(
    r"\w+",
    "adc adcs add adds and ands asr asrs bfc bfi bic bics clz cmn cmp eor eors lsl lsls lsr lsrs"
    " mov movs movt movw mvn mvns neg negs orn orr orrs rev ror rsb rsbs sbc sbcs sbfx sub subs"
    " sxtb sxth teq tst ubfx uxtab uxtb uxth",
)


@dataclass(frozen=True)
class Line:
    """One instruction.

    Attributes:
        condition: of one inside an IT block (``predicated``), else empty.
        reads, writes: elements that it transfers when it takes effect; ``width`` in bytes of each.
        jumps: it can send control elsewhere; ``always``: it does whenever it takes effect.
        event: what it counts as; of a conditional branch, when it is not taken.
    """

    address: int
    length: int
    code: bytes
    mnemonic: str
    operands: str
    condition: str = ""
    reads: int = 0
    writes: int = 0
    width: int = 0
    jumps: bool = False
    always: bool = False
    event: str = "alu"

    @property
    def predicated(self) -> bool:
        return self.condition != ""

    @property
    def end(self) -> int:
        return self.address + self.length


@dataclass(frozen=True)
class Listing:
    """``sections``: name -> (address, size); ``objects``: (name, address, size) of each symbol,
    functions of assembly without a size among them."""

    lines: dict[int, Line]
    sections: dict[str, tuple[int, int]]
    objects: list[tuple[str, int, int]] = field(default_factory=list)

    @cached_property
    def symbols(self) -> dict[str, tuple[int, int]]:
        """name -> (address, size)."""
        return {name: (address, size) for name, address, size in self.objects}

    def section_of(self, address: int) -> str:
        for name, (start, size) in self.sections.items():
            if start <= address < start + size:
                return name
        return ""


def listing_of(elf: Path) -> Listing:
    lines: dict[int, Line] = {}
    predicated = 0
    for row in said("arm-none-eabi-objdump", "-d", "-z", elf).splitlines():
        found = _LINE.match(row)
        if found is None or found[3].startswith("."):
            continue
        mnemonic, operands = found[3], (found[4] or "").split("\t")[0].strip()
        mnemonic = re.sub(r"\.[wn]$", "", mnemonic)
        inside = predicated > 0
        predicated = max(0, predicated - 1)
        condition = ""
        if re.fullmatch("it[te]{0,3}", mnemonic):
            predicated, mnemonic = len(mnemonic) - 1, "it"
        elif inside:
            mnemonic, condition = mnemonic[:-2], mnemonic[-2:]
            assert condition in CONDITIONS, row
        halves = [int(half, 16).to_bytes(2, "little") for half in found[2].split()]
        line = Line(
            int(found[1], 16), 2 * len(halves), b"".join(halves), mnemonic, operands, condition
        )
        lines[line.address] = Line(**{**line.__dict__, **_effects(line)})
    return Listing(lines, *sections_and_objects(elf))


def sections_and_objects(
    elf: Path, prefix: str = "arm-none-eabi-"
) -> tuple[dict[str, tuple[int, int]], list[tuple[str, int, int]]]:
    sections = {
        name: (int(at, 16), int(size, 16))
        for name, at, size, flags in _SECTION.findall(said(prefix + "readelf", "-SW", elf))
        if "A" in flags
    }
    objects = []
    for row in said(prefix + "nm", "-S", elf).splitlines():
        part = row.split()
        if len(part) == 4:
            objects.append((part[3], int(part[0], 16), int(part[1], 16)))
        elif len(part) == 3 and part[1] in "tT":
            objects.append((part[2], int(part[0], 16), 0))
    return sections, objects


def said(tool: str, *arguments: str | Path) -> str:
    command = [tool, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def registers(operands: str) -> list[str]:
    """Names in a register list; ranges are spelled out (of s registers as of r registers)."""
    found = []
    for part in operands[operands.index("{") + 1 : operands.index("}")].split(","):
        low, _, high = part.strip().partition("-")
        if high:
            found += [f"r{n}" for n in range(int(low[1:]), int(high[1:]) + 1)]
        else:
            found.append(low)
    return found


def _effects(line: Line) -> dict[str, object]:
    name, operands = line.mnemonic, line.operands
    if name in LOADS:
        jump = operands.startswith("pc,")
        return {
            "reads": 1,
            "width": LOADS[name],
            "jumps": jump,
            "always": jump,
            "event": "load",
        }
    if name in STORES:
        return {"writes": 1, "width": STORES[name], "event": "store"}
    if name == "ldrd":
        return {"reads": 2, "width": 4, "event": "load multiple"}
    if name == "strd":
        return {"writes": 2, "width": 4, "event": "store multiple"}
    if name in ("ldmia", "ldmdb", "ldm", "pop"):
        names = registers(operands)
        jump = "pc" in names
        return {
            "reads": len(names),
            "width": 4,
            "jumps": jump,
            "always": jump,
            "event": "load multiple",
        }
    if name in ("vldmia", "vstmdb", "vpop", "vpush"):
        load = name in ("vldmia", "vpop")
        words = len(registers(operands)) * (2 if "{d" in operands else 1)
        kind = "load" if load else "store"
        return {
            "reads" if load else "writes": words,
            "width": 4,
            "event": f"float {kind} multiple",
        }
    if name in ("stmia", "stmdb", "stm", "push"):
        return {"writes": len(registers(operands)), "width": 4, "event": "store multiple"}
    if name in ("tbb", "tbh"):
        width = 1 if name == "tbb" else 2
        table = {"reads": 1, "width": width, "event": "branch table"}
        return {**table, "jumps": True, "always": True}
    if name == "bl":
        return {"jumps": True, "always": True, "event": "call"}
    if name == "blx":
        return {"jumps": True, "always": True, "event": "call indirect"}
    if name == "bx":
        event = "return" if operands == "lr" else "branch taken"
        return {"jumps": True, "always": True, "event": event}
    if name == "b":
        return {"jumps": True, "always": True, "event": "branch taken"}
    if name in ("cbz", "cbnz") or (name[0] == "b" and name[1:] in CONDITIONS):
        return {"jumps": True, "event": "branch untaken"}
    if name in BARRIERS:
        return {"event": "barrier"}
    if name in ("cpsie", "cpsid"):
        return {"event": "interrupt mask"}
    if name in OTHERS:
        return {"event": OTHERS[name]}
    assert name in ALU, f"{line.address:x}: {name} {operands}"
    assert not operands.startswith("pc,"), f"{line.address:x}: {name} {operands}"
    return {"event": "alu"}
