"""A row of the effect table applied to operands: what one instruction does, wherever it stands.

Inputs: an :class:`~wcetchar.isa.thumb_effects.Effect` and the operands of one instruction.
Output: a :class:`Facts`, which holds for every address and outside an IT block; ``thumb`` adds
the address and the predicate.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wcetchar.isa.thumb_effects import (
    SETS_STACK_POINTER,
    SP,
    SPECIAL_REGISTERS,
    STACK_POINTERS,
    Effect,
    Moves,
)
from wcetchar.isa.thumb_operands import (
    Address,
    Float,
    FloatImmediate,
    FloatList,
    Immediate,
    Operand,
    Register,
    RegisterList,
    Word,
)
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import (
    Copy,
    Flow,
    MaskRegister,
    MaskWrite,
    MemoryEffect,
    Transfer,
)

LR, PC = 14, 15
_GENERAL = frozenset({*range(13), LR})
_CORE = 0x7FFF
"""Masks over registers leave out pc."""

_MASKS = {register.value: register for register in MaskRegister}
_PSR_PARTS = ("_nzcvqg", "_nzcvq", "_g")
_CPS_BITS = {"i": MaskRegister.PRIMASK, "f": MaskRegister.FAULTMASK}


class Unexplained(Exception):
    """No row of the table explains an instruction; the text says why."""


@dataclass(slots=True)
class Facts:
    """What an instruction does apart from where it stands."""

    issue: EventKind
    flow: Flow
    target: int | None = None
    memory: MemoryEffect | None = None
    masks: tuple[MaskWrite, ...] = ()
    copy: Copy | None = None
    defs: int = 0
    uses: int = 0
    special: str | None = None
    """The special register that mrs or msr names."""
    sets_flags: bool = False
    """It writes the flags by name (vmrs), whatever its row says."""


@dataclass(slots=True)
class _Roles:
    """Operands sorted by what they are to the instruction."""

    defs: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    data: list[int] = field(default_factory=list)
    """Registers before the memory operand, in order: what a load fills and a store empties."""
    memory: Address | None = None
    base: Register | None = None
    listed: tuple[int, ...] = ()
    float_words: int = 0
    """Words of the floating-point registers that a load fills or a store empties."""


def apply(row: Effect, length: int, operands: tuple[Operand, ...]) -> Facts:
    """Facts of one instruction.

    Args:
        row: its row of the table.
        length: of the encoding in bytes, 2 or 4.
        operands: with branch targets relative to the instruction's own address.

    Raises:
        Unexplained: the operands fit no form of the row, or the manual calls them UNPREDICTABLE.
    """
    forms = row.narrow if length == 2 else row.wide
    form = _form(row, length, operands)
    if form is None:
        raise Unexplained(
            f"{row.mnemonic!r} has no {8 * length}-bit form with these operands"
            if forms
            else f"{row.mnemonic!r} has no {8 * length}-bit encoding"
        )
    facts = Facts(row.issue, row.flow)
    roles = _roles(form, operands, facts)
    _memory(row, length, roles, facts)
    if row.implied is not None:
        roles.defs.append(row.implied)
        roles.uses.append(row.implied)
    if row.links:
        roles.defs.append(LR)
    if facts.special is not None:
        _special(row, roles, facts)
    if row.issue is EventKind.INTERRUPT_MASK:
        facts.masks = _cps(row, operands)
    facts.copy = _copy(row, operands, facts)
    _control(row, roles, facts)
    if len(set(roles.defs)) < len(roles.defs):
        raise Unexplained(f"{row.mnemonic!r} that writes one register twice is UNPREDICTABLE")
    facts.defs = sum({1 << number for number in roles.defs}) & _CORE
    facts.uses = sum({1 << number for number in roles.uses}) & _CORE
    return facts


def fits(row: Effect, length: int, operands: tuple[Operand, ...]) -> bool:
    """The row has a form for these operands."""
    return _form(row, length, operands) is not None


def _form(row: Effect, length: int, operands: tuple[Operand, ...]) -> str | None:
    forms = row.narrow if length == 2 else row.wide
    return next((form for form in forms if _fits(form, operands, length)), None)


def _fits(form: str, operands: tuple[Operand, ...], length: int) -> bool:
    return len(form) == len(operands) and all(
        _fits_one(role, operand, length) for role, operand in zip(form, operands, strict=True)
    )


def _fits_one(role: str, operand: Operand, length: int) -> bool:
    match operand:
        case Register(number, shift, amount, writeback):
            if role == "w":
                return not shift and number != PC
            if writeback or (shift and (length == 2 or role not in "sv")):
                return False
            match role:
                case "d" | "s" | "b":
                    return number in _GENERAL
                case "v":
                    return number in _GENERAL and (not shift or (shift == "lsl" and amount <= 3))
                case "D" | "S":
                    return number != PC
                case "P" | "p" | "B":
                    return number == SP
                case _:
                    return role in "aAR"
        case Immediate(value) if role == "k":
            return 0 <= value <= 32
        case Immediate():
            return role in "#t"
        case Address():
            return role == "m"
        case RegisterList():
            return role == "L"
        case Float(number, double, half):
            if number >= (16 if double else 32):
                return False
            return role == ("x" if half is not None else "F" if double else "f")
        case FloatList(first, count, double):
            return role == ("Q" if double else "q") and first + count <= (16 if double else 32)
        case FloatImmediate():
            return role == "n"
        case Word(text) if role in "gG":
            return text == ("fpscr" if role == "g" else "apsr_nzcv")
        case Word():
            return role in "yYioc"


def _roles(form: str, operands: tuple[Operand, ...], facts: Facts) -> _Roles:
    roles = _Roles()
    for role, operand in zip(form, operands, strict=True):
        match operand:
            case Register(number) if role == "w":
                roles.base = operand
                roles.uses.append(number)
                if operand.writeback:
                    roles.defs.append(number)
            case Register(number):
                roles.data.append(number)
                if role in "dDAbRPB":
                    roles.defs.append(number)
                if role in "sSabRpBv":
                    roles.uses.append(number)
            case Immediate(value) if role == "t":
                facts.target = value
            case Address(base, index, writeback):
                roles.memory = operand
                roles.uses.append(base)
                if index is not None:
                    roles.uses.append(index)
                if writeback:
                    roles.defs.append(base)
            case RegisterList(numbers):
                roles.listed = numbers
            case Word(text) if role in "yY":
                facts.special = text
            case Word() if role == "G":
                facts.sets_flags = True
            case Float() | FloatList():
                roles.float_words = operand.words
            case _:
                pass
    return roles


def _memory(row: Effect, length: int, roles: _Roles, facts: Facts) -> None:
    address, spec = roles.memory, row.memory
    if address is not None and address.index is not None and address.index not in _GENERAL:
        raise Unexplained(f"{row.mnemonic!r} with sp or pc as index is UNPREDICTABLE")
    if spec is None:
        return
    if roles.memory is not None:
        _check_address(row, roles)
        base = roles.memory.base
        if row.flow is Flow.JUMP_TABLE:
            elements: tuple[int | None, ...] = (None,)
        elif roles.float_words:
            elements = (None,) * roles.float_words
        elif spec.writes:
            elements = tuple(roles.data[-spec.count :])
        else:
            elements = tuple(roles.data[: spec.count])
    else:
        base = SP if roles.base is None else roles.base.number
        if roles.float_words:
            elements = (None,) * roles.float_words
        else:
            elements = _check_list(row, length, roles)
        (roles.defs if spec.reads else roles.uses).extend(roles.listed)
    facts.memory = MemoryEffect(
        width=spec.width,
        reads=len(elements) if spec.reads else 0,
        writes=len(elements) if spec.writes else 0,
        # A doubleword is two words, one after the other.
        burst=spec.burst or roles.float_words > 1,
        transfers=tuple(Transfer(number) for number in elements),
        base=base,
        index=None if roles.memory is None else roles.memory.index,
    )


def _check_address(row: Effect, roles: _Roles) -> None:
    """What the manual calls UNPREDICTABLE of registers in and beside a memory operand."""
    address = roles.memory
    assert address is not None
    assert row.memory is not None
    table = row.flow is Flow.JUMP_TABLE
    exclusive = row.issue in (EventKind.LOAD_EXCLUSIVE, EventKind.STORE_EXCLUSIVE)
    if address.base == PC and (
        row.memory.writes
        or exclusive
        or address.writeback
        or (address.index is not None and not table)
    ):
        raise Unexplained(f"{row.mnemonic!r} with pc as base is UNPREDICTABLE in this form")
    if table and address.base == SP:
        raise Unexplained(f"{row.mnemonic!r} with sp as base is UNPREDICTABLE")
    if address.writeback and address.base in roles.data:
        raise Unexplained(f"{row.mnemonic!r} that writes its base back and transfers it")
    if row.issue is EventKind.STORE_EXCLUSIVE and roles.data[0] in (
        *roles.data[1:],
        address.base,
    ):
        raise Unexplained(f"{row.mnemonic!r} whose result is also its operand is UNPREDICTABLE")


def _check_list(row: Effect, length: int, roles: _Roles) -> tuple[int, ...]:
    """The list, unless the manual calls it UNPREDICTABLE (A7.7, ldm, stm, push and pop)."""
    listed = roles.listed
    if length == 4:
        if len(listed) < 2:
            raise Unexplained(f"32-bit {row.mnemonic!r} of fewer than two registers")
        if SP in listed or (LR in listed and PC in listed):
            raise Unexplained(f"{row.mnemonic!r} with sp, or with lr and pc, in its list")
        if roles.base is not None and roles.base.writeback and roles.base.number in listed:
            raise Unexplained(f"{row.mnemonic!r} that writes its base back and transfers it")
    if row.memory is not None and row.memory.writes and PC in listed:
        raise Unexplained(f"{row.mnemonic!r} with pc in its list is UNPREDICTABLE")
    return listed


def _special(row: Effect, roles: _Roles, facts: Facts) -> None:
    """mrs and msr: which stack pointer is sp depends on the mode, so both count as sp."""
    name = facts.special or ""
    writes = row.moves is None
    if writes and name.partition("_")[0].endswith("psr"):
        # What they write of it; _g and _nzcvqg only with the DSP extension (thumb_encodings).
        name = next((name.removesuffix(p) for p in _PSR_PARTS if name.endswith(p)), name)
    if name not in SPECIAL_REGISTERS:
        raise Unexplained(f"special register {name!r} is not one of Armv7-M")
    facts.special = name
    if writes and name in SETS_STACK_POINTER:
        # Only one of the two is sp, so the old value may stay: it is read as well.
        roles.defs.append(SP)
        roles.uses.append(SP)
    if not writes and name in STACK_POINTERS:
        roles.uses.append(SP)
    if writes and name in _MASKS:
        facts.masks = (MaskWrite(_MASKS[name], source=roles.data[0]),)


def _cps(row: Effect, operands: tuple[Operand, ...]) -> tuple[MaskWrite, ...]:
    bits = operands[0]
    assert isinstance(bits, Word)
    if not set(bits.text) <= set(_CPS_BITS):
        raise Unexplained(f"{row.mnemonic!r} that names neither PRIMASK nor FAULTMASK")
    constant = 1 if row.mnemonic == "cpsid" else 0
    return tuple(
        MaskWrite(register, constant=constant)
        for bit, register in _CPS_BITS.items()
        if bit in bits.text
    )


def _copy(row: Effect, operands: tuple[Operand, ...], facts: Facts) -> Copy | None:
    match row.moves, operands:
        case (Moves.VALUE, (Register(to), Register(number, ""))) if PC not in (to, number):
            return Copy(to, source=number)
        case (Moves.VALUE, (Register(to), Immediate(value))):
            return Copy(to, constant=value & 0xFFFFFFFF)
        case (Moves.INVERTED, (Register(to), Immediate(value))):
            return Copy(to, constant=~value & 0xFFFFFFFF)
        case (Moves.SPECIAL, (Register(to), _)) if facts.special in _MASKS:
            mask = _MASKS[facts.special]
            # BASEPRI_MAX is another way to write BASEPRI; read, it is BASEPRI (B5.2.2).
            if mask is MaskRegister.BASEPRI_MAX:
                mask = MaskRegister.BASEPRI
            return Copy(to, mask_register=mask)
        case _:
            return None


def _control(row: Effect, roles: _Roles, facts: Facts) -> None:
    """Writes of pc: a return, or a jump whose target stands in a register or in memory.

    A move or an addition into pc issues as a taken branch: the core refills its pipeline as it
    does for bx (Cortex-M3 TRM, table 3-1: "Move, to PC" and "Add, to PC" cost 1 + P like a
    branch). A load into pc stays a load.
    """
    if row.flow is Flow.JUMP_INDIRECT:
        returns = roles.data == [LR]
    elif PC in roles.defs:
        address = roles.memory
        returns = (
            bool(roles.listed)
            or (row.moves is Moves.VALUE and roles.uses == [LR])
            or (address is not None and address.base == SP and address.writeback)
        )
        if facts.memory is None:
            facts.issue = EventKind.BRANCH_TAKEN
    else:
        return
    facts.flow = Flow.RETURN if returns else Flow.JUMP_INDIRECT
    if returns and facts.memory is None:
        facts.issue = EventKind.RETURN
