"""Which interrupts are masked: mask registers followed along the executed path.

Armv7-M Architecture Reference Manual (DDI 0403), B1.4.3 (special-purpose mask registers) and
B5.2.3 (MSR: a write to BASEPRI_MAX takes effect only if it raises the masking).

The value that ``msr basepri, r0`` writes decides whether interrupts are held off or let in again.
A trace carries no registers, so the value is followed backwards along the executed instructions:
through constants, register copies, reads of a mask register, and through memory, where a load's
address was stored to before; if another thread or handler was the last to store there, along what
that one executed.

Soundness: whatever cannot be followed makes the register *unknown*, and unknown counts as masked
until a known value is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import (
    Flow,
    Instruction,
    MaskOperation,
    MaskRegister,
    MaskWrite,
    Test,
)

SEARCH_LIMIT = 4096
"""Instructions that are searched backwards before a value counts as unknown."""


_FOLLOWED = (MaskRegister.PRIMASK, MaskRegister.FAULTMASK, MaskRegister.BASEPRI)
"""Registers whose values are followed; any other is unknown as soon as it is written."""


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
        if value is None or target not in _FOLLOWED:
            return replace(self, unknown=self.unknown | {target})
        if register is MaskRegister.BASEPRI_MAX:
            # It takes effect only where it raises: never lower than what was there before, and an
            # unknown value stays unknown.
            priority = value & 0xFF
            if target in self.unknown or priority == 0:
                return self
            raised = priority if self.basepri == 0 else min(priority, self.basepri)
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
        if target in self.unknown or target not in _FOLLOWED:
            return None
        return {
            MaskRegister.PRIMASK: self.primask,
            MaskRegister.FAULTMASK: self.faultmask,
            MaskRegister.BASEPRI: self.basepri,
        }[target]

    def blocking(self, preemption: bool) -> Blocking:
        """The blocking form under this state."""
        everything = any(
            value and register not in self.unknown
            for register, value in (
                (MaskRegister.PRIMASK, self.primask),
                (MaskRegister.FAULTMASK, self.faultmask),
            )
        )
        known = self.basepri and MaskRegister.BASEPRI not in self.unknown
        return Blocking(
            interrupts=everything,
            priority=self.basepri if known and not everything else None,
            preemption=preemption,
            unknown=bool(self.unknown) and not everything,
        )


Access = tuple[int, int, bool]
"""Address, size in bytes (0: unknown), whether it writes (an unknown direction does not)."""

Undisturbed = Callable[[int, int, int], bool]
"""(address of a word, older, newer place): nobody else wrote to it between the two places."""


@dataclass(frozen=True)
class Step:
    """One executed instruction of a thread or handler with its data accesses.

    Attributes:
        mask_value: what a read of a mask register gave at this step; only meaningful for a read.
        place: among the pieces of all threads and handlers, see ``history``.
        position: of the instruction in its piece.
    """

    instruction: Instruction
    accesses: Sequence[Access]
    mask_value: int | None = None
    place: int = 0
    position: int = 0


Writer = Callable[[int, Step], Iterable[Step]]
"""(address of a word, a step): what the thread or handler that was the last to write to the word
before the step had executed until then, newest first, the write included. Nothing where that is
not known."""


def alone(word: int, older: int, newer: int) -> bool:
    """Where there is no other thread and no handler."""
    return True


def disturbed(word: int, older: int, newer: int) -> bool:
    """Where somebody may have written."""
    return False


def nobody(word: int, step: Step) -> Iterable[Step]:
    """Where it is not known who wrote."""
    return ()


def value_of(
    register: int,
    history: Iterable[Step],
    address: int | None = None,
    undisturbed: Undisturbed = alone,
    writer: Writer = nobody,
) -> int | None:
    """Value of a register after the given steps (newest first), ``None`` where it is unknown.

    ``address`` is that of the instruction which comes next and uses the register.

    Beside assignments, a branch that was decided by a comparison tells a value: after ``cbnz r3``
    fell through, r3 is 0. A word that another thread or handler wrote last is followed there: a
    kernel may keep a thread's mask in its control block and restore it in the switch.
    """
    wanted: int | None = register
    slot: int | None = None  # when set, the value is followed through this memory address
    loaded: Step | None = None  # the load that took it from there
    branches = _Branches(address)
    path = iter(history)
    for _ in range(SEARCH_LIMIT):
        step = next(path, None)
        if step is None:
            if slot is None or loaded is None:
                return None
            # Not written by these steps: whoever was the last to write is looked up once.
            path, loaded = iter(writer(slot, loaded)), None
            branches, undisturbed = _Branches(None), disturbed
            continue
        instruction = step.instruction
        equal = branches.test(instruction)
        if instruction.flow is Flow.SUPERVISOR_CALL:
            # Its handler passes results in the stacked registers, and may write anywhere.
            return None
        if slot is not None:
            if not any(_overlaps(access, slot, instruction) for access in step.accesses):
                if loaded is None:
                    return None  # the writer's first step has to be the write
                continue
            if loaded is not None and not undisturbed(slot, step.place, loaded.place):
                path = iter(())
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
        slot, loaded = _loaded_from(step, wanted), step
        if slot is None:
            return None
    return None


def _overlaps(access: Access, word: int, instruction: Instruction) -> bool:
    """The access may have written to the word. Where its size is unknown, or several elements
    may have been taken for one, it is as long as all elements of the instruction."""
    address, size, writes = access
    effect = instruction.memory
    if effect is None:
        return writes
    longest = max(size, 1)
    if size == 0 or size * 8 != effect.width:
        longest = max(size, effect.width // 8 * max(effect.reads + effect.writes, 1))
    return writes and address < word + 4 and address + longest > word


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
    for register, found, is_write in _words(step):
        if is_write and found == address:
            return register
    return None


def _loaded_from(step: Step, register: int) -> int | None:
    """Address that a load filled the register from, ``None`` where that is not a plain word."""
    for filled, address, is_write in _words(step):
        if filled == register and not is_write:
            return address
    return None


def _words(step: Step) -> list[tuple[int | None, int, bool]]:
    """(register, address, written) of each word that a step transferred; none where the accesses
    are not simply the elements of the instruction."""
    effect = step.instruction.memory
    if effect is None or effect.width != 32 or len(step.accesses) != len(effect.transfers):
        return []
    if any(size not in (0, 4) for _, size, _ in step.accesses):
        return []
    in_order = sorted(step.accesses)
    return [
        (transfer.register, address, writes)
        for transfer, (address, _, writes) in zip(effect.transfers, in_order, strict=True)
    ]


def apply(
    state: MaskState,
    write: MaskWrite,
    history: Iterable[Step],
    address: int | None = None,
    undisturbed: Undisturbed = alone,
    writer: Writer = nobody,
) -> MaskState:
    """State after the mask write of the instruction at ``address``; ``history`` is what ran
    before it, newest first."""
    if write.operation is not MaskOperation.WRITE or write.mask_register is not None:
        return state.written(write.register, None)
    if write.constant is not None:
        return state.written(write.register, write.constant)
    value = None
    if write.source is not None:
        value = value_of(write.source, history, address, undisturbed, writer)
    return state.written(write.register, value)
