"""What is written to the mask registers: values of registers followed along the executed path.

The value that ``msr basepri, r0`` writes decides whether interrupts are held off or let in again.
A trace carries no registers, so the value is followed backwards along the executed instructions:
through constants, register copies, reads of a mask register, and through memory, where a load's
address was stored to before; if another thread or handler was the last to store there, along what
that one executed.

Soundness: what cannot be followed is not known, and the mask register is *unknown* then
(``model.masks``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from wcetchar.model.bits import NOTHING, Bits, calculated
from wcetchar.model.instruction import Arithmetic, Flow, Instruction, Test

SEARCH_LIMIT = 16384
"""Instructions that are searched backwards before a value counts as unknown."""
NESTING_LIMIT = 8
"""Calculations, and stores by others, that may lead to one another."""


_JUMP, _SUPERVISOR_CALL = Flow.JUMP, Flow.SUPERVISOR_CALL
"""Looking at the members of an enumeration takes long."""


Access = tuple[int, int, bool]
"""Address, size in bytes (0: unknown), whether it writes (an unknown direction does not)."""

Undisturbed = Callable[[int, int, int], bool]
"""(address of a word, older, newer place): nobody else wrote to it between the two places."""


Recall = Callable[[int, int], Bits]
"""(address of a word, place): what is known of it."""


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
    mask_value: Bits | None = None
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


def forgotten(word: int, place: int) -> Bits:
    """Where nothing is known of memory that no steps show."""
    return NOTHING


def value_of(
    register: int,
    history: Iterable[Step],
    address: int | None = None,
    undisturbed: Undisturbed = alone,
    writer: Writer = nobody,
) -> int | None:
    """Value of a register after the given steps, ``None`` where it is not wholly known; see
    :class:`Follower`."""
    return Follower(history, address, undisturbed, writer).register(register).whole


class Follower:
    """Follows the values of registers backwards.

    Beside assignments, a branch that was decided by a comparison tells a value: after ``cbnz r3``
    fell through, r3 is 0. A word that another thread or handler wrote last is followed there: a
    kernel may keep a thread's mask in its control block and restore it in the switch.

    Args:
        history: the executed steps, newest first.
        address: that of the instruction which comes next and uses the register.
        undisturbed: whether others wrote to a word in between.
        writer: the steps of whoever wrote a word last.
        recall: what is known, at a place, of a word of memory, however long ago it was written.
        zero: the register that is always zero.
    """

    def __init__(
        self,
        history: Iterable[Step],
        address: int | None = None,
        undisturbed: Undisturbed = alone,
        writer: Writer = nobody,
        recall: Recall = forgotten,
        zero: int | None = None,
    ) -> None:
        self._history = iter(history)
        self._steps: list[Step] = []
        self._address = address
        self._undisturbed = undisturbed
        self._writer = writer
        self._recall = recall
        self._zero = zero

    def register(self, register: int) -> Bits:
        """What is known of a register after all steps."""
        return self._register(register, 0, NESTING_LIMIT)

    def _from(self, at: int) -> Iterator[tuple[int, Step]]:
        """Steps from number ``at`` on, which are made as far as they are needed."""
        while at < SEARCH_LIMIT:
            if at == len(self._steps):
                following = next(self._history, None)
                if following is None:
                    return
                self._steps.append(following)
            yield at, self._steps[at]
            at += 1

    def _register(self, register: int, at: int, depth: int) -> Bits:
        wanted = register
        loaded: Step | None = None
        slot = 0  # of a load: the value is followed through this memory address
        branches = _Branches(self._steps[at - 1].instruction.address if at else self._address)
        if wanted == self._zero:
            return Bits(0)
        for number, step in self._from(at):
            instruction = step.instruction
            equal = branches.test(instruction)
            if instruction.flow is _SUPERVISOR_CALL:
                # Its handler passes results in the stacked registers, and may write anywhere.
                return NOTHING
            if loaded is not None:
                if not any(_overlaps(access, slot, instruction) for access in step.accesses):
                    continue
                if not self._undisturbed(slot, step.place, loaded.place):
                    break
                stored = _stored_to(step, slot)
                if stored is None:
                    return NOTHING
                if stored == self._zero:
                    return Bits(0)
                wanted, loaded = stored, None
                # The stored register has the value from before this instruction, which a store
                # with write-back of its own base would be the only one to change.
                continue
            if equal is not None and equal.register == wanted:
                return Bits(equal.constant)
            if not instruction.defs >> wanted & 1:
                continue
            if instruction.conditional:
                return NOTHING
            if instruction.arithmetic is not None:
                return self._calculated(instruction.arithmetic, number + 1, depth)
            copy = instruction.copy
            if copy is not None and copy.destination == wanted:
                if copy.constant is not None:
                    return Bits(copy.constant)
                if copy.mask_register is not None:
                    read = step.mask_value
                    return NOTHING if read is None else read
                assert copy.source is not None
                wanted = copy.source
                continue
            word = _loaded_from(step, wanted)
            if word is None:
                return NOTHING
            recalled = self._recall(word, step.place)
            if recalled.known:
                return recalled
            slot, loaded = word, step
        return NOTHING if loaded is None else self._written(slot, loaded, depth)

    def _written(self, slot: int, loaded: Step, depth: int) -> Bits:
        """What whoever was the last to write to a word stored there."""
        if depth == 0:
            return NOTHING
        theirs = Follower(
            self._writer(slot, loaded), None, disturbed, self._writer, self._recall, self._zero
        )
        _, write = next(theirs._from(0), (0, None))
        if write is None or write.instruction.flow is Flow.SUPERVISOR_CALL:
            return NOTHING
        stored = _stored_to(write, slot)
        return NOTHING if stored is None else theirs._register(stored, 1, depth - 1)

    def _calculated(self, arithmetic: Arithmetic, at: int, depth: int) -> Bits:
        """What is known of a result, from its operands before step number ``at``."""
        if depth == 0:
            return NOTHING
        one = self._register(arithmetic.source, at, depth - 1)
        if arithmetic.other is not None:
            two = self._register(arithmetic.other, at, depth - 1)
        else:
            assert arithmetic.constant is not None
            two = Bits(arithmetic.constant)
        return calculated(arithmetic.calculation, one, two)


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
        if instruction.flow is _JUMP and instruction.conditional and newer is not None:
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
