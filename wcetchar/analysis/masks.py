"""Which interrupts are masked: mask registers followed along the executed path.

Armv7-M Architecture Reference Manual (DDI 0403), B1.4.3 (special-purpose mask registers) and
B5.2.3 (MSR: a write to BASEPRI_MAX takes effect only if it raises the masking).

The value that ``msr basepri, r0`` writes decides whether interrupts are held off or let in again.
A trace carries no registers, so the value is followed backwards along the executed instructions:
through constants, register copies, reads of a mask register, and through memory where a load's
address was stored to before.

Soundness: whatever cannot be followed makes the register *unknown*, and unknown counts as masked
until a known value is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import Instruction, MaskRegister, MaskWrite

SEARCH_LIMIT = 4096
"""Instructions that are searched backwards before a value counts as unknown."""


@dataclass(frozen=True)
class MaskState:
    """Values of the mask registers; ``unknown`` names those that could not be followed."""

    primask: int = 0
    faultmask: int = 0
    basepri: int = 0
    unknown: frozenset[MaskRegister] = field(default_factory=frozenset)

    def written(self, register: MaskRegister, value: int | None) -> MaskState:
        """State after a write; ``None``: a value that could not be followed."""
        target = MaskRegister.BASEPRI if register is MaskRegister.BASEPRI_MAX else register
        if value is None:
            return replace(self, unknown=self.unknown | {target})
        if register is MaskRegister.BASEPRI_MAX:
            # It takes effect only where it raises: never lower than what was there before, and an
            # unknown value stays unknown.
            if target in self.unknown or value == 0:
                return self
            raised = value if self.basepri == 0 else min(value, self.basepri)
            return replace(self, basepri=raised)
        known = self.unknown - {target}
        if register is MaskRegister.PRIMASK:
            return replace(self, primask=value & 1, unknown=known)
        if register is MaskRegister.FAULTMASK:
            return replace(self, faultmask=value & 1, unknown=known)
        return replace(self, basepri=value & 0xFF, unknown=known)

    def value(self, register: MaskRegister) -> int | None:
        """What a read of the register gives, ``None`` where that is unknown."""
        target = MaskRegister.BASEPRI if register is MaskRegister.BASEPRI_MAX else register
        if target in self.unknown:
            return None
        return {
            MaskRegister.PRIMASK: self.primask,
            MaskRegister.FAULTMASK: self.faultmask,
            MaskRegister.BASEPRI: self.basepri,
        }[target]

    def blocking(self, preemption: bool) -> Blocking:
        """The blocking form under this state."""
        everything = bool(self.primask or self.faultmask)
        return Blocking(
            interrupts=everything,
            priority=self.basepri if self.basepri and not everything else None,
            preemption=preemption,
            unknown=bool(self.unknown) and not everything,
        )


@dataclass(frozen=True)
class Step:
    """One executed instruction of a thread or handler with its data accesses (address, writes)."""

    instruction: Instruction
    accesses: Sequence[tuple[int, bool]]
    mask_value: int | None = None
    """What a read of a mask register gave at this step; only meaningful for such a read."""


def value_of(register: int, history: Sequence[Step]) -> int | None:
    """Value of a register after the given steps (newest first), ``None`` where it is unknown."""
    wanted: int | None = register
    slot: int | None = None  # when set, the value is followed through this memory address
    for step in history[:SEARCH_LIMIT]:
        instruction = step.instruction
        if slot is not None:
            if not any(w and abs(a - slot) < 4 for a, w in step.accesses):
                continue
            wanted, slot = _stored_to(step, slot), None
            if wanted is None:
                return None
            # The stored register has the value from before this instruction, which a store with
            # write-back of its own base would be the only one to change.
            continue
        if wanted is None or not instruction.defs >> wanted & 1:
            continue
        if instruction.conditional:
            return None
        copy = instruction.copy
        if copy is not None and copy.destination == wanted:
            if copy.constant is not None:
                return copy.constant
            if copy.mask_register is not None:
                return step.mask_value
            wanted = copy.source
            continue
        slot = _loaded_from(step, wanted)
        if slot is None:
            return None
    return None


def _stored_to(step: Step, address: int) -> int | None:
    """Register whose word the step stored at ``address``; ``None`` for any other store there
    (narrower, overlapping), whose value is not followed."""
    effect = step.instruction.memory
    if effect is None or effect.width != 32 or len(step.accesses) != len(effect.transfers):
        return None
    for (found, is_write), transfer in zip(step.accesses, effect.transfers, strict=True):
        if is_write and found == address:
            return transfer.register
    return None


def _loaded_from(step: Step, register: int) -> int | None:
    """Address that a load filled the register from, ``None`` where that is not a plain word."""
    effect = step.instruction.memory
    if effect is None or effect.width != 32 or len(step.accesses) != len(effect.transfers):
        return None
    for (address, is_write), transfer in zip(step.accesses, effect.transfers, strict=True):
        if transfer.register == register and not is_write:
            return address
    return None


def apply(state: MaskState, write: MaskWrite, history: Sequence[Step]) -> MaskState:
    """State after an instruction's mask write; ``history`` is what ran before it."""
    if write.constant is not None:
        return state.written(write.register, write.constant)
    value = None if write.source is None else value_of(write.source, history)
    return state.written(write.register, value)
