"""A row of the A32 table applied to the fields of one instruction: what it does.

Inputs: an :class:`~wcetchar.isa.arm_effects.Effect` and the values of its encoding's fields.
Output: :class:`Facts`, which hold for every address and whatever the condition; ``arm`` adds both.

Caveats. Code is taken to run in a privileged mode: in User mode a write to the control bits of CPSR
has no effect (DDI 0100I, A4.1.39). Registers 8 to 14 are banked, so whatever may change the mode
counts as writing all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wcetchar.isa.arm_effects import MOVES, Effect
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import (
    Arithmetic,
    Calculation,
    Copy,
    Flow,
    MaskRegister,
    MaskWrite,
    MemoryEffect,
    Test,
    Transfer,
)

SP, LR, PC = 13, 14, 15
WORD: Final = 0xFFFFFFFF
_CORE: Final = 0x7FFF
"""Masks over registers leave out pc."""
BANKED: Final = sum(1 << number for number in range(8, 15))
_CONTROL, _FLAGS = 1, 8  # of the fields that msr writes

Fields = Mapping[str, int]

_MASKS: Final = (
    (MaskRegister.CPSR_I, MaskRegister.SPSR_I),
    (MaskRegister.CPSR_F, MaskRegister.SPSR_F),
)
RESTORED: Final = tuple(MaskWrite(now, mask_register=saved) for now, saved in _MASKS)
"""An exception return moves SPSR to CPSR (A2.6)."""


class Unexplained(Exception):
    """The manual calls the encoding UNPREDICTABLE in version 4; the text says why."""


@dataclass(slots=True)
class Facts:
    """What an instruction does apart from where it stands.

    ``target`` is relative to its address.
    """

    mnemonic: str
    issue: EventKind
    flow: Flow
    target: int | None = None
    memory: MemoryEffect | None = None
    masks: tuple[MaskWrite, ...] = ()
    copy: Copy | None = None
    arithmetic: Arithmetic | None = None
    test: Test | None = None
    defs: int = 0
    uses: int = 0
    sets_flags: bool = False


def constant_of(fields: Fields) -> int | None:
    """The constant of data processing: 8 bits, rotated right by twice ``k`` (A5.1.3)."""
    if "k" not in fields:
        return None
    value, rotation = fields["i"], 2 * fields["k"]
    return (value >> rotation | value << 32 - rotation) & WORD


def apply(row: Effect, fields: Fields) -> Facts:
    """Facts of one instruction.

    Raises:
        Unexplained: the manual calls the encoding UNPREDICTABLE.
    """
    _check(row, fields)
    facts = Facts(row.mnemonic, row.issue, row.flow)
    for letter in row.writes:
        facts.defs |= 1 << fields[letter]
    for letter in row.reads:
        facts.uses |= 1 << fields[letter]
    if row.memory is not None:
        if row.indexed:
            _base(row, fields, facts)
        _memory(row, fields, facts)
    if row.mnemonic in ("b", "bl"):
        offset = fields["i"] << 2
        facts.target = 8 + (offset - (1 << 26) if offset >> 25 else offset)
        facts.defs |= 1 << LR if row.mnemonic == "bl" else 0
    elif row.mnemonic in ("mrs", "msr"):
        _status(row, fields, facts)
    elif row.writes and row.memory is None:
        _data(row, fields, facts)
    if row.compares:
        facts.sets_flags = True
        constant = constant_of(fields)
        if row.mnemonic == "cmp" and constant is not None and fields["n"] != PC:
            facts.test = Test(fields["n"], constant)
    _control(row, fields, facts)
    facts.defs &= _CORE
    facts.uses &= _CORE
    return facts


def _check(row: Effect, fields: Fields) -> None:
    for letter in row.no_pc:
        if fields.get(letter) == PC:
            raise Unexplained(f"{row.mnemonic!r} with pc here is UNPREDICTABLE")
    for group in row.distinct:
        if len({fields[letter] for letter in group}) < len(group):
            raise Unexplained(f"{row.mnemonic!r} that names one register twice is UNPREDICTABLE")


# --- memory ---------------------------------------------------------------------------------------


def _base(row: Effect, fields: Fields, facts: Facts) -> None:
    """Base and index of addressing modes 2 and 3, base of mode 4."""
    assert row.memory is not None
    base, pre, write_back = fields["n"], fields["P"], fields["W"]
    single = row.memory.count == 1
    if single and not pre:
        if write_back and (row.memory.width == 16 or row.mnemonic == "ldrsb"):
            raise Unexplained(f"{row.mnemonic!r} with P = 0 and W = 1 is UNPREDICTABLE")
        if write_back:
            facts.mnemonic += "t"  # with the permissions of User mode; it indexes like the others
            if fields["d"] == PC:
                raise Unexplained(f"{facts.mnemonic!r} of pc is UNPREDICTABLE")
        write_back = 1
    facts.uses |= 1 << base
    if "m" in fields:
        facts.uses |= 1 << fields["m"]
    if not write_back:
        return
    facts.defs |= 1 << base
    if base == PC:
        raise Unexplained(f"{row.mnemonic!r} that writes back pc is UNPREDICTABLE")
    if single and base in (fields["d"], fields.get("m")):
        raise Unexplained(f"{row.mnemonic!r} that writes its base back and uses it otherwise")


def _memory(row: Effect, fields: Fields, facts: Facts) -> None:
    spec = row.memory
    assert spec is not None
    if spec.count == 0:
        elements = _listed(row, fields, facts)
    elif spec.reads and spec.writes:
        facts.uses |= 1 << fields["n"]
        elements = [fields["d"], fields["m"]]
    else:
        elements = [fields["d"]]
    both = spec.reads and spec.writes
    facts.memory = MemoryEffect(
        width=spec.width,
        reads=1 if both else len(elements) if spec.reads else 0,
        writes=1 if both else len(elements) if spec.writes else 0,
        burst=spec.count == 0,
        transfers=tuple(Transfer(number) for number in elements),
        base=fields["n"],
        index=fields.get("m") if row.indexed else None,
    )


def _listed(row: Effect, fields: Fields, facts: Facts) -> list[int | None]:
    """The registers of a multiple transfer (A4.1.20 to A4.1.22, A4.1.97 and A4.1.98)."""
    assert row.memory is not None
    numbers = [number for number in range(16) if fields["r"] >> number & 1]
    base, write_back, reads = fields["n"], fields["W"], row.memory.reads
    if not numbers:
        raise Unexplained(f"{row.mnemonic!r} of no register is UNPREDICTABLE")
    if write_back and base in numbers and (reads or base != numbers[0]):
        raise Unexplained(f"{row.mnemonic!r} that writes its base back and transfers it")
    listed = sum(1 << number for number in numbers)
    if reads:
        facts.defs |= listed
    else:
        facts.uses |= listed
    if "^" not in row.operands or (reads and PC in numbers):
        return list(numbers)
    # Registers of User mode. Which of them are those of the current mode is not known.
    if write_back:
        raise Unexplained(f"{row.mnemonic!r} of User mode's registers with ! is UNPREDICTABLE")
    facts.uses |= facts.defs
    return [number if number < 8 or number == PC else None for number in numbers]


# --- registers ------------------------------------------------------------------------------------


def _data(row: Effect, fields: Fields, facts: Facts) -> None:
    """Data processing and multiplications: flags, and values that are easy to follow."""
    facts.sets_flags = bool(fields["S"])
    to = fields.get("d", PC)
    if to == PC:
        return
    if facts.sets_flags:
        facts.test = Test(to, 0)
    constant = constant_of(fields)
    match row.mnemonic:
        case "mov" if constant is not None:
            facts.copy = Copy(to, constant=constant)
        case "mvn" if constant is not None:
            facts.copy = Copy(to, constant=~constant & WORD)
        case "mov" if "x" in fields and not fields["x"] and not fields["y"]:
            if fields["m"] != PC:
                facts.copy = Copy(to, source=fields["m"])
        case _:
            facts.arithmetic = _arithmetic(row, fields, to)


_CALCULATIONS: Final = {
    "and": Calculation.AND,
    "bic": Calculation.AND,
    "orr": Calculation.OR,
    "add": Calculation.ADD,
    "sub": Calculation.ADD,
}


def _arithmetic(row: Effect, fields: Fields, to: int) -> Arithmetic | None:
    """Calculations with a constant, or with a register that is not shifted."""
    source, constant = fields.get("n", PC), constant_of(fields)
    unshifted = fields.get("x", 1) == 0 and fields.get("y") == 0
    if row.mnemonic == "mov" and fields.get("y") == 0 and "x" in fields and fields["m"] != PC:
        return Arithmetic(to, Calculation.SHIFT_LEFT, fields["m"], constant=fields["x"])
    calculation = _CALCULATIONS.get(row.mnemonic)
    if calculation is None or source == PC:
        return None
    if constant is not None:
        if row.mnemonic == "bic":
            constant = ~constant & WORD
        elif row.mnemonic == "sub":
            constant = -constant & WORD
        return Arithmetic(to, calculation, source, constant=constant)
    if unshifted and row.mnemonic in ("and", "orr", "add") and fields["m"] != PC:
        return Arithmetic(to, calculation, source, other=fields["m"])
    return None


def _status(row: Effect, fields: Fields, facts: Facts) -> None:
    """mrs and msr (A4.1.38, A4.1.39)."""
    saved = fields["R"]
    if row.mnemonic == "mrs":
        facts.copy = Copy(fields["d"], mask_register=_MASKS[0][saved])
        return
    if not fields["f"]:
        raise Unexplained("'msr' of no field")
    if fields["f"] & _FLAGS and not saved:
        facts.sets_flags = True
    if fields["f"] & _CONTROL:
        constant = constant_of(fields)
        source = None if constant is not None else fields["m"]
        facts.masks = tuple(MaskWrite(pair[saved], constant, source) for pair in _MASKS)
        if not saved:
            facts.defs |= BANKED
            facts.uses |= BANKED


# --- control --------------------------------------------------------------------------------------


def _control(row: Effect, fields: Fields, facts: Facts) -> None:
    """Writes of pc. A load into pc stays a load; everything else issues as a branch, which takes
    the same time (ARM7TDMI TRM, 6.2, 6.4 and 6.5)."""
    if row.mnemonic == "bx":
        returns = fields["m"] == LR
        if fields["m"] == PC:
            # It stays in Arm state and goes on behind the next instruction.
            facts.flow, facts.target = Flow.JUMP, 8
            return
    elif row.memory is not None and row.memory.reads and row.memory.count == 0:
        if not fields["r"] >> PC & 1:
            return
        returns = True
        if "^" in row.operands:
            _restores(facts)
    elif row.memory is not None:
        if not row.memory.reads or fields["d"] != PC:
            return
        returns = fields["n"] == SP and not fields["P"]
    elif "d" in row.writes and fields.get("d") == PC:
        moved = row.mnemonic in MOVES and "x" in fields and not fields["x"] and not fields["y"]
        returns = moved and row.mnemonic == "mov" and fields["m"] == LR
        if fields.get("S"):
            returns = True
            _restores(facts)
        facts.issue = EventKind.BRANCH_TAKEN
    else:
        return
    facts.flow = Flow.RETURN if returns else Flow.JUMP_INDIRECT
    if returns and facts.memory is None:
        facts.issue = EventKind.RETURN


def _restores(facts: Facts) -> None:
    facts.masks = RESTORED
    facts.sets_flags = True
    facts.defs |= BANKED
    facts.uses |= BANKED
