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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import Flow, Instruction, MaskRegister, MaskWrite, Test

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


def value_of(register: int, history: Iterable[Step], address: int | None = None) -> int | None:
    """Value of a register after the given steps (newest first), ``None`` where it is unknown.

    ``address`` is that of the instruction which comes next and uses the register.

    Beside assignments, a branch that was decided by a comparison tells a value: after ``cbnz r3``
    fell through, r3 is 0.
    """
    wanted: int | None = register
    slot: int | None = None  # when set, the value is followed through this memory address
    branches = _Branches(address)
    for step in islice(history, SEARCH_LIMIT):
        instruction = step.instruction
        equal = branches.test(instruction)
        if slot is not None:
            if not any(w and abs(a - slot) < 4 for a, w in step.accesses):
                continue
            wanted, slot = _stored_to(step, slot), None
            if wanted is None:
                return None
            # The stored register has the value from before this instruction, which a store with
            # write-back of its own base would be the only one to change.
            continue
        if wanted is None:
            return None
        if equal is not None and equal.register == wanted:
            return equal.constant
        if not instruction.defs >> wanted & 1:
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


class _Branches:
    """What executed branches tell about registers, met from the newest step backwards."""

    def __init__(self, newer: int | None) -> None:
        self._newer = newer  # address of the step that came after
        self._zero_flag = False  # a later branch showed that the Z flag was set here

    def test(self, instruction: Instruction) -> Test | None:
        """The test of this instruction, where it is known to have found equality.

        For one that sets flags, the equality holds after it; for a branch, from before it on. In
        neither case does anything in between change the register unseen, since the search stops at
        whatever writes it.
        """
        newer, self._newer = self._newer, instruction.address
        test = instruction.test
        if instruction.flow is Flow.JUMP and instruction.conditional and newer is not None:
            if instruction.target == instruction.end:
                return None
            taken = newer == instruction.target
            if not taken and newer != instruction.end:
                return None
            if test is not None and test.equal_when_taken is not None:
                return test if test.equal_when_taken == taken else None
            if instruction.condition in ("eq", "ne"):
                self._zero_flag |= (instruction.condition == "eq") == taken
            return None
        if instruction.sets_flags:
            known, self._zero_flag = self._zero_flag, False
            return test if known and not instruction.conditional else None
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


def apply(
    state: MaskState, write: MaskWrite, history: Iterable[Step], address: int | None = None
) -> MaskState:
    """State after the mask write of the instruction at ``address``; ``history`` is what ran
    before it, newest first."""
    if write.constant is not None:
        return state.written(write.register, write.constant)
    value = None if write.source is None else value_of(write.source, history, address)
    return state.written(write.register, value)
