"""Registers that instructions write and read, from objdump's text: what ``stall_count`` needs.

By the manuals (Armv7-M ARM, DDI 0403, A7; Arm ARM, DDI 0100, A4 and A7; RISC-V unprivileged
architecture 20191213); nothing of wcetchar is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from chain_listing import CONDITIONS, Line, registers
from stall_count import One

Program = dict[int, One]

# --- Arm, both states -----------------------------------------------------------------------------

_NUMBERS = {
    **{f"r{n}": n for n in range(16)},
    "sb": 9,
    "sl": 10,
    "fp": 11,
    "ip": 12,
    "sp": 13,
    "lr": 14,
    "pc": 15,
}
SP, LR, PC = 13, 14, 15
_BANKED = frozenset(range(8, 15))
"""Registers that another processor mode may have of its own."""
_REGISTER = re.compile(r"\b(" + "|".join(sorted(_NUMBERS, key=len)[::-1]) + r")\b")
_SHIFTS = {"lsl", "lsr", "asr", "ror", "rrx"}
_COMPARES = {"cmp", "cmn", "tst", "teq"}
_IN_PLACE = {
    *("add", "sub", "adc", "sbc", "and", "orr", "eor", "bic", "orn", "mul"),
    *_SHIFTS,
}
"""Names of which two operands mean that the first one is read, too."""
_KEEPS = {"movt", "bfi", "bfc"}
_TWO = {"umull", "smull"}
_TWO_KEPT = {"umlal", "smlal"}
_NOTHING = {"b", "cpsie", "cpsid", "dsb", "dmb", "isb", "nop", "it", "svc", "bkpt", "udf", "wfi"}


@dataclass
class _Effect:
    defs: set[int] = field(default_factory=set)
    uses: set[int] = field(default_factory=set)
    shift: bool = False
    loaded: set[int] = field(default_factory=set)
    place: set[int] = field(default_factory=set)


def _all(text: str) -> set[int]:
    return {_NUMBERS[name] for name in _REGISTER.findall(text)}


def _name(line: Line) -> str:
    """Without what says that flags are set."""
    name = line.mnemonic
    plain = name.removesuffix("s")
    return plain if plain in _IN_PLACE | _SHIFTS | {"mov", "mvn", "rsb", "neg", "rsc"} else name


def _arm_effect(line: Line) -> _Effect:
    name, operands = _name(line), line.operands
    found = _Effect()
    first, _, rest = operands.partition(", ")
    if name in _NOTHING or (name[0] == "b" and name[1:] in CONDITIONS):
        return found
    if name.startswith("v"):
        _float(name, operands, found)
    elif "{" in operands:
        _multiple(line, found)
    elif line.reads or line.writes:
        _memory(line, operands, found)
    elif name in ("bl", "blx"):
        found.defs = {LR}
        found.uses = _all(operands) if name == "blx" else set()
    elif name in ("bx", "cbz", "cbnz") or name in _COMPARES:
        found.uses = _all(operands.split("<")[0])
    elif name in ("mrs", "msr"):
        _special(name, first, rest, found)
    else:
        # With pc as destination, S is no setting of flags: the saved status register is restored.
        _data(name, operands, line.jumps and name != line.mnemonic, found)
    if line.predicated:  # without effect the old value stays
        found.uses |= found.defs
    for listed in (found.defs, found.uses, found.place):
        listed.discard(PC)
    return found


def _data(name: str, operands: str, restores: bool, found: _Effect) -> None:
    parts = operands.split(", ")
    if parts[-1].split(" ")[0] in _SHIFTS:  # the operand before it is shifted
        amount = parts.pop()
        found.uses |= _all(amount)
        found.shift = name == "mov"
    found.shift |= name in _SHIFTS
    if restores:
        found.defs |= _BANKED
        found.uses |= _BANKED
    results = 2 if name in _TWO | _TWO_KEPT else 1
    for part in parts[:results]:
        found.defs |= _all(part)
    for part in parts[results:]:
        found.uses |= _all(part)
    if (name in _IN_PLACE and len(parts) == 2) or name in _KEEPS | _TWO_KEPT:
        found.uses |= found.defs


def _memory(line: Line, operands: str, found: _Effect) -> None:
    transferred, _, place = operands.partition("[")
    inside, _, behind = place.partition("]")
    names = _REGISTER.findall(transferred)
    found.place = _all(inside) | _all(behind)
    found.uses |= found.place
    if behind.startswith(("!", ",")):
        found.defs |= _all(inside.partition(",")[0])
    for number, name in enumerate(names):
        one = {_NUMBERS[name]}
        result = line.reads and not (line.writes and number)  # swp reads into the first
        result = result or (line.event == "store exclusive" and not number)
        if result:
            found.defs |= one
            found.loaded |= one if line.event != "store exclusive" else set()
        else:
            found.uses |= one


def _multiple(line: Line, found: _Effect) -> None:
    base, _, listed = line.operands.partition("{")
    own = {_NUMBERS[name] for name in registers("{" + listed)}
    if line.reads:
        found.defs |= own
        found.loaded = set(own)
    else:
        found.uses |= own
    found.place = _all(base) or {SP}
    user = listed.endswith("^")
    if user and PC not in own:  # which of them the current mode has is not known
        found.uses |= found.defs
        found.loaded -= _BANKED
    if user and PC in own and line.reads:
        found.defs |= _BANKED
        found.uses |= _BANKED
    found.uses |= _all(base) or {SP}
    if not base or "!" in base:
        found.defs |= _all(base) or {SP}


def _special(name: str, first: str, rest: str, found: _Effect) -> None:
    if name == "mrs":
        found.defs = _all(first)
        if rest.lower() in ("msp", "psp"):
            found.uses = {SP}
        return
    found.uses = _all(rest)
    register, _, fields = first.lower().partition("_")
    if register in ("msp", "psp", "control"):
        found.defs = {SP}
        found.uses |= {SP}
    if register == "cpsr" and ("c" in fields or not fields):
        found.defs = set(_BANKED)
        found.uses |= _BANKED


def _float(name: str, operands: str, found: _Effect) -> None:
    """Core registers alone."""
    if name.startswith(("vldm", "vstm", "vpush", "vpop")):
        base = operands.partition("{")[0]
        found.uses = found.place = _all(base) or {SP}
        found.defs = (_all(base) or {SP}) if not base or "!" in base else set()
    elif name.startswith(("vldr", "vstr")):
        found.uses = found.place = _all(operands)
    elif name.startswith(("vmov", "vmrs")) and _REGISTER.match(operands):
        first, second, *_ = [*operands.split(", "), ""]
        found.defs = _all(first) | (_all(second) if name.startswith("vmov") else set())
    else:
        found.uses = _all(operands)


def arm(lines: Mapping[int, Line], states: Mapping[int, tuple[int, int]] | None = None) -> Program:
    """``states``: by address, (unit, granule) of fetches; without, words of halfwords."""
    found: Program = {}
    for address, line in lines.items():
        effect = _arm_effect(line)
        unit, granule = (4, 2) if states is None else states[address]
        found[address] = One(
            address,
            line.length,
            line.event,
            frozenset(effect.defs),
            frozenset(effect.uses),
            frozenset(effect.loaded),
            frozenset(effect.place),
            access=line.reads + line.writes > 0,
            shift=effect.shift,
            jumps=line.jumps,
            target=_target(line),
            leads=_leads(line),
            conditional=line.predicated or line.event == "branch untaken",
            unit=unit,
            granule=granule,
        )
    return found


def _target(line: Line) -> int | None:
    if line.mnemonic == "bx" and line.operands == "pc":  # into Arm state, or what stays there
        return line.address + 4 & ~3 if line.length == 2 else line.address + 8
    branch = line.mnemonic[0] == "b" and line.event in ("call", "branch untaken", "branch taken")
    if not branch and line.mnemonic not in ("cbz", "cbnz"):
        return None
    found = re.search(r"\b([0-9a-f]+)(?: <[^>]*>)?$", line.operands)
    return int(found[1], 16) if found and line.mnemonic not in ("bx", "blx") else None


def _leads(line: Line) -> str:
    """Of a transfer through a register or memory."""
    if not line.jumps or _target(line) is not None:
        return ""
    if line.event == "call indirect":
        return "call"
    pops = "{" in line.operands or re.match(r"pc, \[(sp|r13)\], ", line.operands)
    return "return" if line.event == "return" or pops else "jump"


# --- RISC-V ---------------------------------------------------------------------------------------

_X = re.compile(r"\bx(\d+)\b")
_PLACE = re.compile(r"\(x(\d+)\)")


def riscv(lines: Mapping[int, Line]) -> Program:
    """Of text without aliases, registers by number."""
    return {address: _riscv(line) for address, line in lines.items()}


def _riscv(line: Line) -> One:
    name = line.mnemonic.removeprefix("c.")
    numbers = [int(n) for n in _X.findall(line.operands)]
    compressed = line.mnemonic.startswith("c.")
    in_place = compressed and name not in (
        *("mv", "li", "lui", "lw", "lwsp", "addi4spn", "jr", "jalr", "beqz", "bnez"),
    )
    defs: list[int] = []
    uses = numbers
    if line.event in ("alu", "load", "multiply", "multiply long", "divide", "system register"):
        defs, uses = numbers[:1], numbers if in_place else numbers[1:]
    elif name in ("jal", "jalr") and not compressed:
        defs, uses = numbers[:1], numbers[1:]
    elif line.mnemonic == "c.jalr" or line.mnemonic == "c.jal":
        defs = [1]
    direct = (line.jumps and name in ("j", "jal")) or line.event == "branch untaken"
    leads = {"call indirect": "call", "return": "return"}.get(line.event, "jump")
    accesses = line.reads + line.writes > 0
    return One(
        line.address,
        line.length,
        line.event,
        frozenset(defs) - {0},
        frozenset(uses) - {0},
        loaded=frozenset(defs) if line.reads else frozenset(),
        place=frozenset(map(int, _PLACE.findall(line.operands)) if accesses else ()) - {0},
        access=accesses,
        shift=name in ("sll", "slli", "srl", "srli", "sra", "srai"),
        jumps=line.jumps,
        target=int(line.operands.split(",")[-1], 16) if direct else None,
        leads="" if direct or not line.jumps else leads,
        conditional=line.event == "branch untaken",
    )
