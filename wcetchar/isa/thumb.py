"""Thumb of Armv4T, Armv6-M, Armv7-M and Armv7E-M: bytes ->
:class:`~wcetchar.model.instruction.Instruction`.

capstone names an instruction and its operands; what it does is our own table
(``thumb_effects``; ``thumb_dsp`` and ``thumb_fp`` for the two extensions), and the encodings that
the manual calls UNPREDICTABLE are refused (``thumb_encodings``). Whatever no row explains becomes
an ``Undecodable`` with a reason.

IT blocks follow the ITSTATE of the manual (DDI 0403E, A7.3.3): bits 7:4 the condition of the next
instruction, bits 3:0 how many follow; 0 outside a block. Instructions are decoded one by one, so
that capstone, which would keep that state itself, never has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import capstone

from wcetchar.isa import thumb_armv4t
from wcetchar.isa.thumb_apply import Facts, Unexplained, apply, fits
from wcetchar.isa.thumb_dsp import DSP_EFFECTS
from wcetchar.isa.thumb_effects import (
    CONDITIONS,
    EFFECTS,
    NOT_IN_ARMV6M,
    SYNONYMS,
    UNNAMED,
    Effect,
    InIT,
)
from wcetchar.isa.thumb_encodings import violated
from wcetchar.isa.thumb_fp import FP_EFFECTS
from wcetchar.isa.thumb_operands import Immediate, Operand, Register, parse
from wcetchar.isa.thumb_values import Values
from wcetchar.isa.thumb_values import values as value_terms
from wcetchar.model.instruction import Flow, Instruction, Test, Undecodable

ARMV4T: Final = "armv4t"
ARMV6M: Final = "armv6-m"
ARMV7M: Final = "armv7-m"
ARMV7EM: Final = "armv7e-m"
"""With the DSP extension."""
ARMV7EM_FP: Final = "armv7e-m+fp"
"""With the DSP extension and FPv4-SP-D16."""

COMPARISONS: Final = frozenset({"cmp", "cmn", "tst", "teq"})
"""Instructions that set flags and nothing else."""


_SHIFTS: Final = frozenset({"lsl", "lsr", "asr", "ror", "rrx"})


@dataclass(frozen=True, slots=True)
class _Decoded:
    """One encoding, apart from its address and its predicate."""

    row: Effect
    facts: Facts
    name: str
    suffix: str
    operands: str
    test: Test | None
    values: Values

    def text(self, address: int, condition: str, length: int) -> str:
        name = self.name
        if condition and self.row.in_it is not InIT.UNCONDITIONAL:
            if length == 2 and self.row.sets_flags:
                name = name[:-1]
            name += condition
        operands = self.operands
        if self.facts.target is not None:
            target = f"#{(address + self.facts.target) & 0xFFFFFFFF:#x}"
            operands = f"{operands.rpartition('#')[0]}{target}"
        return f"{name}{self.suffix} {operands}".rstrip()


@dataclass(frozen=True, slots=True)
class _Refused:
    text: str
    reason: str


class ThumbDecoder:
    """Decodes each distinct encoding once. ``architecture``: ``ARMV4T``, ``ARMV6M``, ``ARMV7M``,
    ``ARMV7EM`` or ``ARMV7EM_FP``."""

    def __init__(self, architecture: str = ARMV7M) -> None:
        self._v4t = architecture == ARMV4T
        self._v6m = architecture == ARMV6M
        self._dsp = architecture in (ARMV7EM, ARMV7EM_FP)
        self._fp = architecture == ARMV7EM_FP
        self._capstone = capstone.Cs(
            capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS
        )
        self._known: dict[bytes, _Decoded | _Refused] = {}

    def decode(self, code: bytes, address: int, it_state: int = 0) -> Instruction | Undecodable:
        """One instruction.

        Args:
            code: at least its own bytes, in memory order; further ones are ignored.
            address: where it stands, even.
            it_state: ITSTATE before it; 0 outside an IT block.
        """
        switch = thumb_armv4t.bx_pc(code, address) if self._v4t else None
        if switch is not None:
            return switch
        length = instruction_length(code)
        if length == 0 or len(code) < length:
            # Its bytes, all the same: who walks a range goes on behind them.
            return Undecodable(
                address, bytes(code), "", "the code range ends inside an instruction"
            )
        code = bytes(code[:length])
        decoded = self._known.get(code)
        if decoded is None:
            decoded = self._known[code] = self._encoding(code)
        if isinstance(decoded, _Refused):
            return Undecodable(address, code, decoded.text, decoded.reason)
        row, facts = decoded.row, decoded.facts
        condition = CONDITIONS[min(it_state >> 4, 14)] if it_state & 0xF else ""
        text = decoded.text(address, condition, length)
        if condition:
            place = _in_it(row, facts)
            if place is InIT.NEVER or (place is InIT.LAST and it_state & 0xF != 8):
                return Undecodable(
                    address,
                    code,
                    text,
                    f"{row.mnemonic!r} may stand in an IT block {place.value} (UNPREDICTABLE)",
                )
        predicated = bool(condition) and row.in_it is not InIT.UNCONDITIONAL
        masks = facts.masks
        values = decoded.values.at(address + 4)
        memory = facts.memory
        if memory is not None and values.address is not memory.address:
            memory = replace(memory, address=values.address)
        return Instruction(
            address=address,
            length=length,
            code=code,
            text=text,
            issue=facts.issue,
            flow=facts.flow,
            conditional=predicated or row.conditional,
            target=None if facts.target is None else (address + facts.target) & 0xFFFFFFFF,
            memory=memory,
            mask=masks[0] if masks else None,
            copy=None if predicated else facts.copy,
            defs=facts.defs,
            # Where the condition fails, the old destination is the result.
            uses=facts.uses | facts.defs if predicated else facts.uses,
            further_masks=masks[1:],
            test=None if predicated else decoded.test,
            sets_flags=row.sets_flags
            or decoded.name in COMPARISONS
            or facts.special is not None
            or facts.sets_flags,
            condition=condition or (decoded.name[1:] if row.mnemonic == "b<c>" else ""),
            fetch=thumb_armv4t.FETCH if self._v4t else None,
            shift=row.mnemonic.removesuffix("s") in _SHIFTS,
            assignments=values.assignments,
            comparison=None if predicated else values.comparison,
        )

    def _encoding(self, code: bytes) -> _Decoded | _Refused:
        length = len(code)
        found = next(self._capstone.disasm_lite(code, 0, 1), None)
        if found is not None and found[1] == length:
            mnemonic, operand_text = found[2], found[3]
        elif code in UNNAMED:
            mnemonic, operand_text = UNNAMED[code]
        else:
            return _Refused("", _undecoded_reason(code))
        text = f"{mnemonic} {operand_text}".rstrip()
        name, dot, width = mnemonic.partition(".")
        if name in SYNONYMS:
            name, operand_text = SYNONYMS[name]
        rows = self._rows(mnemonic, name)
        if not rows:
            return _Refused(text, self._unknown_reason(name, code))
        rule = violated(_as_number(code), length, dsp=self._dsp)
        if rule is not None:
            return _Refused(text, f"UNPREDICTABLE encoding ({rule})")
        try:
            operands = parse(operand_text)
            row = next((row for row in rows if fits(row, length, operands)), rows[0])
            facts = apply(row, length, operands)
        except Unexplained as refusal:
            return _Refused(text, str(refusal))
        except ValueError as refusal:
            return _Refused(text, f"the operand {str(refusal)!r} is not understood")
        if self._v6m and (
            length not in row.armv6m
            or facts.special in NOT_IN_ARMV6M
            or any(write.register.value in NOT_IN_ARMV6M for write in facts.masks)
        ):
            return _Refused(text, "not an Armv6-M instruction")
        if self._v4t:
            older = thumb_armv4t.refusal(row.mnemonic, code)
            if older is not None:
                return _Refused(text, older)
            facts.issue = thumb_armv4t.issue(code, facts.issue)
        test = _test(row, name, operands)
        memory = facts.memory
        values = value_terms(row, name, operands, memory, aligns_stack=not self._v4t)
        if memory is not None:
            signed = row.mnemonic.startswith("ldrs")
            facts.memory = replace(memory, address=values.address, signed=signed)
        return _Decoded(row, facts, name, dot + width, operand_text, test, values)

    def _rows(self, mnemonic: str, name: str) -> tuple[Effect, ...]:
        """The rows that can explain a mnemonic; ``name`` is without data types and width."""
        row = _row(name)
        if row is None and self._dsp:
            row = DSP_EFFECTS.get(name)
        if row is None and self._fp:
            return FP_EFFECTS.get(mnemonic, ())
        return () if row is None else (row,)

    def _unknown_reason(self, name: str, code: bytes) -> str:
        if name in DSP_EFFECTS:
            return f"{name!r} belongs to the DSP extension, which the image's core has not"
        if name.startswith(("v", "fldm", "fstm")):
            if self._fp:
                return f"{name!r} with these data types is not an instruction of FPv4-SP-D16"
            return (
                f"{name!r} belongs to the floating-point extension, which the image's core has not"
            )
        if _as_number(code) >> 26 & 0b111011 == 0b111011:
            return f"{name!r} is a coprocessor instruction; those are not supported"
        return f"no row of the effect table explains {name!r}"


@cache
def decoder(architecture: str) -> ThumbDecoder:
    """The shared decoder of an architecture."""
    return ThumbDecoder(architecture)


def decode_thumb(
    code: bytes, address: int, it_state: int = 0, *, architecture: str = ARMV7M
) -> Instruction | Undecodable:
    """One Thumb instruction; see :meth:`ThumbDecoder.decode`."""
    return decoder(architecture).decode(code, address, it_state)


def instruction_length(code: bytes) -> int:
    """Length in bytes by the first halfword (DDI 0403E, A5.1); 0 where there is none."""
    if len(code) < 2:
        return 0
    return 4 if code[1] >> 3 in (0b11101, 0b11110, 0b11111) else 2


def it_state_after(instruction: Instruction | Undecodable, it_state: int) -> int:
    """ITSTATE after an instruction (DDI 0403E, A7.3.3, ITAdvance)."""
    code = instruction.code
    if len(code) == 2 and code[1] == 0xBF and code[0] & 0xF and it_state == 0:
        return code[0] if isinstance(instruction, Instruction) else 0
    return it_state & 0xE0 | (it_state & 0xF) << 1 & 0x1F if it_state & 0x7 else 0


def _test(row: Effect, name: str, operands: Sequence[Operand]) -> Test | None:
    """What a compare-and-branch tests, or what the Z flag says of a register afterwards."""
    first = operands[0] if operands else None
    if not isinstance(first, Register) or first.number > 14:
        return None
    if name in ("cbz", "cbnz"):
        return Test(first.number, 0, equal_when_taken=name == "cbz")
    if name == "cmp":
        second = operands[1]
        if not isinstance(second, Immediate):
            return None
        return Test(first.number, second.value & 0xFFFFFFFF)
    # Z is set exactly when the 32-bit result that goes to the first operand is zero; the long
    # multiplications, which have two results, do not set flags in Thumb.
    return Test(first.number, 0) if row.sets_flags else None


def _row(name: str) -> Effect | None:
    row = EFFECTS.get(name)
    if row is None:
        if name.startswith("b") and name[1:] in CONDITIONS:
            return EFFECTS["b<c>"]
        if name.startswith("it") and set(name[2:]) <= {"t", "e"}:
            return EFFECTS["it"]
    return row


def _in_it(row: Effect, facts: Facts) -> InIT:
    if row.in_it is InIT.ANYWHERE and facts.flow in (Flow.RETURN, Flow.JUMP_INDIRECT):
        return InIT.LAST
    return row.in_it


def _as_number(code: bytes) -> int:
    number = int.from_bytes(code[:2], "little")
    return number << 16 | int.from_bytes(code[2:], "little") if len(code) == 4 else number


def _undecoded_reason(code: bytes) -> str:
    if len(code) == 4 and _as_number(code) >> 26 & 0b111011 == 0b111011:
        return "a coprocessor encoding, or a floating-point one that the core has not"
    return "not an Armv7-M instruction"
