"""What is known of the mask registers, and what writes do to them.

Armv7-M Architecture Reference Manual (DDI 0403), B1.4.3 (special-purpose mask registers) and
B5.2.3 (MSR: a write to BASEPRI_MAX takes effect only if it raises the masking). RISC-V Privileged
Architecture (20211203), 3.1.6.1 (``mstatus``) and 3.1.9 (``mie``).

Soundness: a register that gets a value which is not known is *unknown*, and unknown counts as
masked until a known value is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from wcetchar.model.bits import NOTHING, WORD, Bits, calculated
from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import (
    Calculation,
    ExceptionModel,
    MaskOperation,
    MaskRegister,
    MaskWrite,
)

_AT_FIRST = {
    MaskRegister.PRIMASK: Bits(0, 1),
    MaskRegister.FAULTMASK: Bits(0, 1),
    MaskRegister.BASEPRI: Bits(0, 0xFF),
    # What no instruction set resets otherwise lets interrupts in: an instruction set has only some
    # of these registers.
    MaskRegister.MSTATUS_MIE: Bits(1 << 3, 1 << 3),
    MaskRegister.MSTATUS_MPIE: NOTHING,
    MaskRegister.MIE: NOTHING,
    MaskRegister.CPSR_I: Bits(0, 1 << 7),
    MaskRegister.CPSR_F: Bits(0, 1 << 6),
    MaskRegister.SPSR_I: NOTHING,
    MaskRegister.SPSR_F: NOTHING,
}
_REGISTERS = tuple(_AT_FIRST)
_WHOLLY = (
    MaskRegister.PRIMASK,
    MaskRegister.FAULTMASK,
    MaskRegister.MSTATUS_MIE,
    MaskRegister.CPSR_I,
    MaskRegister.CPSR_F,
)
"""Registers of one bit that holds all interrupts off, or lets them in. (Of Armv4T the one holds off
IRQ and the other FIQ: as if each did both.)"""
_FIELDS = {
    MaskRegister.MSTATUS_MIE: MaskRegister.MSTATUS_MPIE,
    MaskRegister.CPSR_I: MaskRegister.CPSR_F,
    MaskRegister.SPSR_I: MaskRegister.SPSR_F,
}
"""Fields that a read of the register shows beside the one that names it; no other bit is known."""


def _target(register: MaskRegister) -> MaskRegister:
    return MaskRegister.BASEPRI if register is MaskRegister.BASEPRI_MAX else register


@dataclass(frozen=True)
class MaskState:
    """What is known of the mask registers.

    Attributes:
        values: of each of ``_REGISTERS``; what was written without being known is not known.
        let_in: bits of ``mie`` that were ever set, or may have been. One that is cleared later
            holds its interrupt off; one that never was set has none.
    """

    values: tuple[Bits, ...] = tuple(_AT_FIRST.values())
    let_in: int = 0

    @cached_property
    def _hash(self) -> int:
        return hash((self.values, self.let_in))

    def __hash__(self) -> int:
        """Kept: states are looked up at each event that may change one."""
        return self._hash

    def __getitem__(self, register: MaskRegister) -> Bits:
        return self.values[_REGISTERS.index(_target(register))]

    @classmethod
    def at_reset(cls, model: ExceptionModel) -> MaskState:
        """The state that the hardware begins in."""
        state = cls()
        for write in model.reset_masks:
            state = state.after(write)
        return state

    def written(
        self,
        register: MaskRegister,
        value: int | Bits | None,
        operation: MaskOperation = MaskOperation.WRITE,
    ) -> MaskState:
        """State after a write; ``None``: a value that could not be followed."""
        target = _target(register)
        given = NOTHING if value is None else value if isinstance(value, Bits) else Bits(value)
        given, old = given.only(target.bits), self[target]
        if register is MaskRegister.BASEPRI_MAX:
            new = _raised(old, given)
        elif operation is MaskOperation.SET:
            new = calculated(Calculation.OR, old, given).only(target.bits)
        elif operation is MaskOperation.CLEAR:
            rest = Bits(given.clear, given.known)
            new = calculated(Calculation.AND, old, rest).only(target.bits)
        else:
            new = given
        state = self._with(target, new)
        if target is MaskRegister.MIE and operation is not MaskOperation.CLEAR:
            return replace(state, let_in=self.let_in | WORD & ~given.clear)
        return state

    def after(self, write: MaskWrite, held: Bits = NOTHING) -> MaskState:
        """State after what an instruction does to one register; ``held``: what is known of the
        register that it writes the value of."""
        if write.mask_register is not None:
            return self.copied(write.register, write.mask_register)
        if write.constant is not None:
            return self.written(write.register, write.constant, write.operation)
        return self.written(write.register, None if write.source is None else held, write.operation)

    def copied(self, register: MaskRegister, source: MaskRegister) -> MaskState:
        """State after the one bit of ``source`` went to that of ``register``."""
        given = self[source]
        known = register.bits if given.known & source.bits else 0
        return self._with(register, Bits(known if given.value & source.bits else 0, known))

    def interrupted(self) -> MaskState:
        """An interrupt was taken: where that was not known, interrupts were let in."""
        if self[MaskRegister.MSTATUS_MIE].known:
            return self
        bit = MaskRegister.MSTATUS_MIE.bits
        return self._with(MaskRegister.MSTATUS_MIE, Bits(bit, bit))

    def _with(self, register: MaskRegister, new: Bits) -> MaskState:
        at = _REGISTERS.index(register)
        return replace(self, values=(*self.values[:at], new, *self.values[at + 1 :]))

    def read(self, register: MaskRegister) -> Bits:
        """What a read of the register gives; of those with fields two bits at most are known."""
        found = self[register]
        if register in _FIELDS:
            other = self[_FIELDS[register]]
            return Bits(found.value | other.value, found.known | other.known)
        return Bits(found.value, found.known | WORD & ~register.bits)

    def value(self, register: MaskRegister) -> int | None:
        """Value of a register or field, ``None`` where some of it is unknown."""
        target = _target(register)
        found = self[target]
        return found.value if found.known == target.bits else None

    def blocking(self, preemption: bool) -> Blocking:
        """The blocking form under this state."""
        return self._held_off if preemption else self._masked

    @cached_property
    def _masked(self) -> Blocking:
        return self._blocking(preemption=False)

    @cached_property
    def _held_off(self) -> Blocking:
        return self._blocking(preemption=True)

    def _blocking(self, *, preemption: bool) -> Blocking:
        held = [
            (self[register].clear if register.enables else self[register].value) != 0
            for register in _WHOLLY
        ]
        mie = self[MaskRegister.MIE]
        # Of several interrupts one may be held off: as if all were.
        everything = any(held) or bool(self.let_in & mie.clear)
        unknown = any(
            self[register].known != register.bits for register in (*_WHOLLY, MaskRegister.BASEPRI)
        ) or bool(self.let_in & ~mie.known)
        priority = self.value(MaskRegister.BASEPRI)
        return Blocking(
            interrupts=everything,
            priority=priority if priority and not everything else None,
            preemption=preemption,
            unknown=unknown and not everything,
        )


def _raised(old: Bits, given: Bits) -> Bits:
    """BASEPRI after a write to BASEPRI_MAX: never lower than before, and an unknown value stays
    unknown."""
    bits = MaskRegister.BASEPRI.bits
    if given.known != bits:
        return NOTHING
    if old.known != bits or given.value == 0:
        return old
    return given if old.value == 0 else Bits(min(given.value, old.value), bits)
