"""Arm state (A32) of Armv4T: bytes -> :class:`~wcetchar.model.instruction.Instruction`.

The encodings are regular, and each row of the table (``arm_effects``) carries its own, so that they
are decoded here: which of them are UNPREDICTABLE in version 4 is not to be had from decoders of the
whole architecture. Whatever no row explains becomes an ``Undecodable`` with a reason.

Every instruction has a condition (DDI 0100I, A3.2). A call through a register takes two of them in
version 4: ``mov lr, pc`` and what writes pc behind it; ``arm_image`` joins them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from wcetchar.isa.arm_apply import PC, SP, Facts, Fields, Unexplained, apply, constant_of
from wcetchar.isa.arm_effects import CONDITIONS, MODES, ROWS, SHIFTS, Effect
from wcetchar.isa.arm_values import values as value_terms
from wcetchar.isa.thumb_values import Values
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import (
    ARM_REGISTERS,
    FetchUnit,
    Flow,
    Instruction,
    Undecodable,
)

ARMV4T: Final = "armv4t"
FETCH: Final = FetchUnit(bytes=4, granule=4)
"""In Arm state the ARM7TDMI fetches words (TRM r4p1, DDI 0210C, table 6-1: MAS is that of the
instruction's width)."""

LENGTH: Final = 4
_NAMES: Final = ARM_REGISTERS.names


@dataclass(frozen=True, slots=True)
class _Decoded:
    """One encoding, apart from its address."""

    text: str
    facts: Facts
    condition: str
    values: Values

    def text_at(self, address: int) -> str:
        target = self.facts.target
        if target is None or self.facts.mnemonic == "bx":
            return self.text
        return f"{self.text} #{address + target & 0xFFFFFFFF:#x}"


@dataclass(frozen=True, slots=True)
class _Refused:
    text: str
    reason: str


class ArmDecoder:
    """Decodes each distinct encoding once."""

    def __init__(self) -> None:
        self._known: dict[int, _Decoded | _Refused] = {}

    def decode(self, code: bytes, address: int) -> Instruction | Undecodable:
        """One instruction.

        Args:
            code: at least its own four bytes, in memory order; further ones are ignored.
            address: where it stands, a multiple of 4.
        """
        if len(code) < LENGTH:
            return Undecodable(
                address, bytes(code), "", "the code range ends inside an instruction"
            )
        code = bytes(code[:LENGTH])
        number = int.from_bytes(code, "little")
        decoded = self._known.get(number)
        if decoded is None:
            decoded = self._known[number] = _encoding(number)
        if isinstance(decoded, _Refused):
            return Undecodable(address, code, decoded.text, decoded.reason)
        facts = decoded.facts
        predicated = bool(decoded.condition)
        values = decoded.values.at(address + 8)
        memory = facts.memory
        if memory is not None and values.address is not memory.address:
            memory = replace(memory, address=values.address)
        issue = facts.issue
        if predicated and facts.flow is Flow.JUMP:
            issue = EventKind.BRANCH_UNTAKEN
        return Instruction(
            address=address,
            length=LENGTH,
            code=code,
            text=decoded.text_at(address),
            issue=issue,
            flow=facts.flow,
            conditional=predicated,
            target=None if facts.target is None else address + facts.target & 0xFFFFFFFF,
            memory=memory,
            mask=facts.masks[0] if facts.masks else None,
            copy=None if predicated else facts.copy,
            arithmetic=None if predicated else facts.arithmetic,
            defs=facts.defs,
            # Where the condition fails, the old destination is the result.
            uses=facts.uses | facts.defs if predicated else facts.uses,
            further_masks=facts.masks[1:],
            test=None if predicated else facts.test,
            sets_flags=facts.sets_flags,
            condition=decoded.condition,
            fetch=FETCH,
            shift=facts.mnemonic.startswith("mov")
            and any(f", {s}" in decoded.text for s in (*SHIFTS, "rrx")),
            assignments=values.assignments,
            comparison=None if predicated else values.comparison,
        )


@cache
def decoder() -> ArmDecoder:
    """The shared decoder."""
    return ArmDecoder()


def decode_arm(code: bytes, address: int) -> Instruction | Undecodable:
    """One A32 instruction; see :meth:`ArmDecoder.decode`."""
    return decoder().decode(code, address)


@cache
def _rows() -> Mapping[int, list[Effect]]:
    """Rows by bits 27 to 25 of the encoding."""
    buckets: dict[int, list[Effect]] = defaultdict(list)
    for row in ROWS:
        for top in range(8):
            if not (top << 25 ^ row.value) & row.mask & 0x0E000000:
                buckets[top].append(row)
    return buckets


def _encoding(code: int) -> _Decoded | _Refused:
    condition = CONDITIONS[code >> 28]
    if condition is None:
        return _Refused("", "condition 15 is UNPREDICTABLE in Armv4T; later versions use it")
    for row in _rows()[code >> 25 & 7]:
        fields = row.fields(code)
        if fields is not None:
            break
    else:
        return _Refused("", _undecoded_reason(code))
    if row.flow is Flow.STOP and condition:
        return _Refused(row.mnemonic, "an undefined instruction that is conditional")
    try:
        facts = apply(row, fields)
    except Unexplained as refusal:
        return _Refused(row.mnemonic, str(refusal))
    values = value_terms(row, fields, constant_of(fields), facts.memory)
    if facts.memory is not None:
        signed = row.mnemonic.startswith("ldrs")
        facts.memory = replace(facts.memory, address=values.address, signed=signed)
    return _Decoded(_text(row, fields, facts, condition), facts, condition, values)


def _undecoded_reason(code: int) -> str:
    top = code >> 24 & 0xF
    if 0xC <= top <= 0xE:
        return "a coprocessor instruction; the ARM7TDMI has no coprocessor"
    if code & 0x0F900080 == 0x01000080 or code & 0x0F900010 == 0x01000010:
        return "not an Armv4T instruction; later versions have more"
    return "not an Armv4T instruction, or one with reserved bits that are wrong"


# --- text -----------------------------------------------------------------------------------------


def _text(row: Effect, fields: Fields, facts: Facts, condition: str) -> str:
    name, operands = facts.mnemonic, row.operands
    if row.memory is not None and row.memory.count == 0:
        mode = MODES[fields["P"], fields["U"]]
        usual = fields["n"] == SP and fields["W"] and "^" not in operands
        if usual and (name, mode) in _STACK:
            name = _STACK[name, mode]
        else:
            name += "" if mode == "ia" else mode
            operands = f"{_NAMES[fields['n']]}{'!' if fields['W'] else ''}, {operands}"
    if fields.get("S") and not row.compares:
        name += "s"
    shown = operands.format(
        **{letter: _NAMES[fields[letter]] for letter in "dnmslh" if fields.get(letter, 16) < 16},
        i=f"{fields.get('i', 0):#x}",
        shift=_shift(fields),
        address=_address(fields),
        list=_list(fields),
        status=_status(row, fields),
        target="",
    )
    return f"{name}{condition} {shown}".rstrip()


_STACK: Final = {("ldm", "ia"): "pop", ("stm", "db"): "push"}


def _shift(fields: Fields) -> str:
    """The second operand of data processing (A5.1)."""
    constant = constant_of(fields)
    if constant is not None:
        return f"#{constant:#x}"
    if "m" not in fields:
        return ""
    return _NAMES[fields["m"]] + _amount(fields)


def _amount(fields: Fields) -> str:
    kind = SHIFTS[fields["y"]] if "y" in fields else ""
    if not kind:
        return ""
    if "x" not in fields:
        return f", {kind} {_NAMES[fields['s']]}"
    amount = fields["x"]
    if not amount:
        if kind == "lsl":
            return ""
        if kind == "ror":
            return ", rrx"
        amount = 32
    return f", {kind} #{amount}"


def _address(fields: Fields) -> str:
    if "P" not in fields or "d" not in fields:
        return ""
    sign = "" if fields["U"] else "-"
    if "m" in fields:
        offset = f", {sign}{_NAMES[fields['m']]}{_amount(fields)}"
    else:
        offset = f", #{sign}{fields['i']:#x}"
    base = _NAMES[fields["n"]]
    if fields["P"]:
        return f"[{base}{offset}]{'!' if fields['W'] else ''}"
    return f"[{base}]{offset}"


def _list(fields: Fields) -> str:
    listed = fields.get("r", 0)
    return "{" + ", ".join(_NAMES[n] for n in range(PC + 1) if listed >> n & 1) + "}"


def _status(row: Effect, fields: Fields) -> str:
    if "R" not in fields:
        return ""
    name = "spsr" if fields["R"] else "cpsr"
    if "f" not in fields:
        return name
    return name + "_" + "".join(c for i, c in enumerate("fsxc") if fields["f"] >> 3 - i & 1)
