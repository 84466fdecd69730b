"""Goes on with what is known of masks and locks, block by block and call by call.

What a mask register gets is followed forwards along the path: from where it was read (``mrs``,
``csrr``) through registers, stack slots and calls, with the constants that the value analysis
knows; variables whose value at the entry a flow fact gives (``at entry uxCriticalNesting == 0``)
are followed the same way, and where a branch depends on one the path goes only where it says.
A trace's masks are followed backwards (``analysis.masks``), so each checks the other.

Soundness: what is not followed is not known, and counts as masked. A branch is decided only where
both sides of its comparison are known as a whole. Taken for granted, and listed: the procedure call
standard, and that only accesses at its own address write to a variable that is followed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from wcetchar.model.bits import NOTHING, Bits
from wcetchar.model.characterization import Blocking
from wcetchar.model.flow import BasicBlock, FunctionGraph
from wcetchar.model.instruction import Flow, Instruction, MaskRegister
from wcetchar.model.masks import MaskState
from wcetchar.model.term import Constant, Operation, RegisterValue, Term
from wcetchar.static.masking import effects
from wcetchar.static.masking.effects import Effects, Loaded, Store
from wcetchar.static.masking.held import HELD_OFF, MOST_LOCKS, Frame, Hold, Place, frame_of
from wcetchar.static.masking.liveness import live_registers
from wcetchar.static.program import Program
from wcetchar.static.values.analysis import Values

ASSUMED: Final = (
    "functions keep to the procedure call standard, and what is followed of masks is not written "
    "to through pointers"
)
_LEFT, _RIGHT, _DIFFERENCE = ("f", 0), ("f", 1), ("f", 2)
_WORD, _MASK = 1, 2
"""What a value follows from: a variable that is followed, a mask register."""
_MOST_OF_A_WORD: Final = 256
"""Beyond, a variable that is followed is not known any more: so a loop that counts it up ends."""


@dataclass(frozen=True)
class Through:
    """Behind a block.

    Attributes:
        taken: whether the branch at its end is, where that is known.
        switches: another thread may run right here.
    """

    hold: int
    taken: bool | None = None
    switches: bool = False


class Masking:
    """Numbers what is known, as it appears. Shared by all services of a program.

    Args:
        values: of each function.
        lock, unlock: table indices of functions that lock the scheduler, and that unlock it.
        requests: table indices of instructions that ask for a switch of threads, which happens
            right behind them: what is not a supervisor call, as soon as it is not masked.
    """

    def __init__(
        self,
        program: Program,
        values: Mapping[int, Values],
        lock: Collection[int] = (),
        unlock: Collection[int] = (),
        requests: Collection[int] = (),
    ) -> None:
        self._program = program
        self._requests = frozenset(requests)
        self._rows = program.table.instructions
        self._roles = program.table.registers
        self._effects = Effects(program.table, values)
        self._lock, self._unlock = frozenset(lock), frozenset(unlock)
        self.holds: list[Hold] = []
        self._numbers: dict[Hold, int] = {}
        self._through: dict[tuple[int, int, int], Through | None] = {}
        self._by_masks: set[tuple[int, int, int]] = set()
        self._late = program.table.exceptions.unnoticed + 1
        """Instructions that a core may execute before an interrupt that was let in."""
        self._live: dict[int, tuple[frozenset[int], ...]] = {}
        kept = self._roles.saved_by_callee
        self._kept = frozenset(n for n in range(kept.bit_length()) if kept >> n & 1)

    def number(self, hold: Hold) -> int:
        known = self._numbers.get(hold)
        if known is None:
            known = self._numbers[hold] = len(self.holds)
            self.holds.append(hold)
        return known

    def blocking(self, hold: int) -> Blocking:
        return self.holds[hold].blocking

    def begin(
        self, function: int, masks: MaskState, lock: int, handler: bool, words: Mapping[int, int]
    ) -> int:
        """Where a service begins with its function; ``words``: by address, what variables hold."""
        followed = tuple(sorted((at, Bits(value)) for at, value in words.items()))
        hold = Hold(masks, lock, handler, followed)
        return self.number(self._entered(hold, function))

    def forgotten(self, hold: int) -> int:
        """Where too much is told apart: nothing is known any more, nor of the functions that are
        being executed. So what recursion tells apart ends, and what contexts that share their
        callers do."""
        one = self.holds[hold]
        masks = one.masks
        for register in MaskRegister:
            masks = masks.written(register, None)
        words = tuple((at, NOTHING) for at, _ in one.words)
        lock = MOST_LOCKS if self._lock or self._unlock else one.lock
        return self.number(replace(one, masks=masks, lock=lock, words=words, frames=(Frame(),)))

    def resumed(self, hold: int, functions: Collection[int]) -> int:
        """Where a thread goes on that was switched away; ``functions``: that it is in, by address.
        A lock is over then, but for that of a lock function that is being executed."""
        one = self.holds[hold]
        locking = sum(self._first(function) in self._lock for function in functions)
        frames = tuple(replace(frame, unlocks=0) for frame in one.frames)
        return self.number(replace(one, lock=locking, frames=frames, pending=0))

    # --- calls ------------------------------------------------------------------------------------

    def called(self, hold: int, function: int, *, tail: bool, caller: int, index: int) -> int:
        """At a function's first instruction: called, or jumped to, by ``caller`` with the
        instruction of this table index."""
        one = self.holds[hold]
        *outer, frame = one.frames
        handed = {
            place: bits
            for place, bits in frame.known
            if place[0] == "r" and place[1] in self._roles.arguments
        }
        if tail:
            frames = (*outer, frame_of(handed, frame.unlocks, frame.from_masks))
        else:
            escaped = self._effects.escaped(caller, index)
            kept = {
                place: bits
                for place, bits in frame.known
                if (place[0] == "r" and place[1] in self._kept) or (place[0] == "s" and not escaped)
            }
            frames = (
                *outer,
                frame_of(kept, frame.unlocks, frame.from_masks),
                frame_of(handed, from_masks=frame.from_masks),
            )
        return self.number(self._entered(replace(one, frames=frames), function))

    def returned(self, hold: int) -> int:
        """Behind the call that the innermost function returns to."""
        one = self.holds[hold]
        *outer, frame = one.frames
        lock = one.lock if one.lock >= MOST_LOCKS else max(0, one.lock - frame.unlocks)
        results = {
            place: bits
            for place, bits in frame.known
            if place[0] == "r" and place[1] in self._roles.arguments[:2]
        }
        if not outer:
            last = frame_of(results, from_masks=frame.from_masks)
            return self.number(replace(one, lock=lock, frames=(last,)))
        caller = outer[-1]
        read = {place for place in caller.from_masks if place not in results} | {
            place for place in frame.from_masks if place in results
        }
        frames = (*outer[:-1], frame_of(dict(caller.known) | results, caller.unlocks, read))
        return self.number(replace(one, lock=lock, frames=frames))

    def _first(self, function: int) -> int:
        graph = self._program.graph.functions[function]
        return graph.blocks[graph.entries[0]].first

    def _entered(self, hold: Hold, function: int) -> Hold:
        first = self._first(function)
        if first in self._lock:
            hold = replace(hold, lock=min(hold.lock + 1, MOST_LOCKS))
        if first in self._unlock:
            *outer, frame = hold.frames
            hold = replace(hold, frames=(*outer, replace(frame, unlocks=frame.unlocks + 1)))
            # It was locked before the service began, and is until this returns.
            pending = sum(one.unlocks for one in hold.frames)
            hold = replace(hold, lock=max(hold.lock, min(pending, MOST_LOCKS)))
        return hold

    # --- blocks -----------------------------------------------------------------------------------

    def through(self, function: FunctionGraph, number: int, hold: int) -> Through | None:
        """Behind a block; ``None``: what is known contradicts the outcomes that it stands for."""
        key = function.address, number, hold
        if key not in self._through:
            walk = _Walk(self._effects, function.address, self.holds[hold])
            self._through[key] = self._behind(walk, function, number, self.holds[hold])
            if walk.by_masks:
                self._by_masks.add(key)
        return self._through[key]

    def decides_by_masks(self, function: FunctionGraph, number: int, hold: int) -> bool:
        """Where control goes behind a block, or what it does, is known from what a mask register
        had."""
        self.through(function, number, hold)
        return (function.address, number, hold) in self._by_masks

    def _behind(
        self, walk: _Walk, function: FunctionGraph, number: int, hold: Hold
    ) -> Through | None:
        block = function.blocks[number]
        for index in range(block.first, block.last + 1):
            if not self._step(walk, block, index):
                return None
        last = self._rows[block.last]
        branches = effects.is_branch(last) and block.last not in block.skipped
        branches &= last.target != last.end  # else both ways are the same
        taken = walk.decided(last, block.last) if branches else None
        known = walk.known
        live = self._live_behind(function)[number]
        flags = len(self._roles.names)
        known = {
            place: bits
            for place, bits in known.items()
            if place[0] == "s" or (flags if place[0] == "f" else place[1]) in live
        }
        *outer, frame = hold.frames
        frames = (*outer, frame_of(known, frame.unlocks, walk.from_masks))
        words = tuple(sorted(walk.words.items(), key=lambda pair: pair[0]))
        after = replace(hold, masks=walk.masks, words=words, frames=frames)
        after, switches = self._switched(hold, after, block)
        return Through(self.number(after), taken, switches)

    def _switched(self, before: Hold, after: Hold, block: BasicBlock) -> tuple[Hold, bool]:
        """Whether another thread may run behind a block, and what is pending then.

        A core may execute a few instructions more before it takes what was let in. If it is masked
        again by one of these, the switch waits on; so the path that goes on has it pending for as
        long as that.
        """
        asked = block.last in self._requests and block.last not in block.skipped
        if after.handler or not (asked or after.pending):
            return after, False
        if asked and self._rows[block.last].flow is Flow.SUPERVISOR_CALL:
            return after, True
        left = self._late
        if not asked and before.pending != HELD_OFF:
            left = before.pending - (block.last - block.first + 1)
            if left < 0:
                return replace(after, pending=0), False  # it has happened
        form = after.masks.blocking(preemption=False)
        if form.interrupts or form.priority is not None:
            return replace(after, pending=HELD_OFF), False
        lets_in = bool(self._rows[block.last].masks)
        return replace(after, pending=HELD_OFF if form.unknown else left), asked or lets_in

    def _live_behind(self, function: FunctionGraph) -> tuple[frozenset[int], ...]:
        known = self._live.get(function.address)
        if known is None:
            known = self._live[function.address] = live_registers(function, self._program.table)
        return known

    def _step(self, walk: _Walk, block: BasicBlock, index: int) -> bool:
        """One instruction; false: it is not executed so."""
        row = self._rows[index]
        if not row.conditional or effects.is_branch(row):
            walk.execute(row, index)
            return True
        holds = walk.condition(row)
        if index in block.skipped:
            return holds is not True
        if row.memory is not None or row.flow is not Flow.NEXT:
            # A block in which it is skipped stands beside this one.
            if holds is False:
                return False
            walk.execute(row, index)
        elif holds:
            walk.execute(row, index)
        elif holds is None:
            walk.perhaps(row)
        return True


class _Walk:
    """Goes through one block."""

    def __init__(self, effects: Effects, function: int, hold: Hold) -> None:
        self._effects, self._function = effects, function
        self.masks = hold.masks
        self.known = dict(hold.frames[-1].known)
        self.from_masks = set(hold.frames[-1].from_masks)
        """Of these places; and perhaps others, of which nothing is known."""
        self.words = dict(hold.words)
        self.by_masks = False
        """Something was decided by what a mask register had."""

    def execute(self, row: Instruction, index: int) -> None:
        effect = self._effects.of(self._function, index)
        found = [(register, self._value(source, index)) for register, source in effect.sets]
        compared = self._compared(row, index) if row.sets_flags else None
        stored = [(store, self._stored(store, index)) for store in effect.stores]
        for write in row.masks:
            held = NOTHING if write.source is None else self.register(write.source, index)
            self.masks = self.masks.after(write, held)
        for store, (bits, follows) in stored:
            self._store(store, bits, follows, index)
        for register in effect.forgets:
            self.known.pop(("r", register), None)
        for register, (bits, follows) in found:
            self.known.pop(("r", register), None)
            if follows and bits.known:
                self._know(("r", register), bits, follows)
        if row.sets_flags or row.flow in (Flow.CALL, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL):
            self._forget_flags()
        if compared is not None:
            flags, kinds = compared
            for place, one in flags.items():
                self._know(place, one, kinds)
        if row.flow is Flow.SUPERVISOR_CALL:
            self._supervised(index)

    def _know(self, place: Place, bits: Bits, follows: int) -> None:
        self.known[place] = bits
        if follows & _MASK:
            self.from_masks.add(place)
        else:
            self.from_masks.discard(place)

    def _supervised(self, index: int) -> None:
        """A handler passes results in registers, and may write anywhere; but one that switches
        threads only to what other threads know of."""
        if not self._effects.resumes(self._function, index):
            self.known = {}
        elif self._effects.escaped(self._function, index):
            self.known = {place: bits for place, bits in self.known.items() if place[0] == "r"}

    def perhaps(self, row: Instruction) -> None:
        """It is executed or not."""
        for write in row.masks:
            self.masks = self.masks.written(write.register, None)
        for place in [p for p in self.known if p[0] == "r" and row.defs >> p[1] & 1]:
            del self.known[place]
        if row.sets_flags:
            self._forget_flags()

    def register(self, number: int, index: int) -> Bits:
        """What is known of a register before an instruction."""
        known = self.known.get(("r", number))
        return self._effects.constant(self._function, index, number) if known is None else known

    def condition(self, row: Instruction) -> bool | None:
        """Whether a predicated instruction's condition holds."""
        flags = [self.known.get(place) for place in (_LEFT, _RIGHT, _DIFFERENCE)]
        left, right, difference = flags
        if left is None or right is None or difference is None or not row.condition:
            return None
        found = effects.outcome(left.value, right.value, bool(difference.value), row.condition)
        self.by_masks |= found is not None and _LEFT in self.from_masks
        return found

    def decided(self, row: Instruction, index: int) -> bool | None:
        """Whether the branch is taken; the walk is behind it, and it has changed no register."""
        compared = row.comparison
        if compared is None or compared.taken is None:
            return self.condition(row)
        left, right = self._value(compared.left, index), self._value(compared.right, index)
        a, b = left[0].whole, right[0].whole
        if a is None or b is None or not left[1] | right[1]:
            return None
        self.by_masks |= bool((left[1] | right[1]) & _MASK)
        return effects.holds(a, compared.taken, b)

    def _value(self, source: Term | Loaded | MaskRegister, index: int) -> tuple[Bits, int]:
        """What is known of it, and of what kinds of what is followed it follows from; 0: of
        none."""
        match source:
            case MaskRegister():
                return self.masks.read(source), _MASK
            case Loaded(("m", at)):
                return (self.words[at], _WORD) if at in self.words else (NOTHING, 0)
            case Loaded(place):
                return self._known(place) or (NOTHING, 0)
            case Constant(value):
                return Bits(value), 0
            case RegisterValue(number):
                constant = self._effects.constant(self._function, index, number)
                return self._known(("r", number)) or (constant, 0)
            case Operation(operator, left, right):
                if not self._follows(left) and not self._follows(right):
                    return NOTHING, 0
                one, two = self._value(left, index), self._value(right, index)
                return effects.combined(operator, one[0], two[0]), one[1] | two[1]
        raise AssertionError(source)

    def _known(self, place: Place) -> tuple[Bits, int] | None:
        bits = self.known.get(place)
        if bits is None:
            return None
        return bits, _MASK if place in self.from_masks else _WORD

    def _follows(self, term: Term) -> bool:
        match term:
            case RegisterValue(number):
                return ("r", number) in self.known
            case Operation(_, left, right):
                return self._follows(left) or self._follows(right)
        return False

    def _compared(self, row: Instruction, index: int) -> tuple[dict[Place, Bits], int] | None:
        compared = row.comparison
        if compared is None or compared.taken is not None:
            return None
        left, right = self._value(compared.left, index), self._value(compared.right, index)
        follows = left[1] | right[1]
        if left[0].whole is None or right[0].whole is None or not follows:
            return None
        bits = {_LEFT: left[0], _RIGHT: right[0], _DIFFERENCE: Bits(compared.difference)}
        return bits, follows

    def _forget_flags(self) -> None:
        for place in (_LEFT, _RIGHT, _DIFFERENCE):
            self.known.pop(place, None)

    def _stored(self, store: Store, index: int) -> tuple[Bits, int]:
        if store.register is None or store.size != 4:
            return NOTHING, 0
        return self._value(RegisterValue(store.register), index)

    def _store(self, store: Store, bits: Bits, follows: int, index: int) -> None:
        if store.place is None:
            self._store_somewhere(store, index)
            return
        space, at = store.place
        if space == "s":
            for near in range(at - 3, at + store.size):
                self.known.pop(("s", near), None)
            if follows and bits.known:
                self._know(("s", at), bits, follows)
            return
        for near in range(at - 3, at + store.size):
            if near in self.words:
                self.words[near] = bits if near == at and store.size == 4 else NOTHING
                # What a mask register had is not told apart there from what it is given.
                if self.words[near].value >= _MOST_OF_A_WORD or follows & _MASK:
                    self.words[near] = NOTHING

    def _store_somewhere(self, store: Store, index: int) -> None:
        first, count = store.among or (0, 1 << 32)

        def may_hit(address: int) -> bool:
            return (address - first) % (1 << 32) < count or (first - address) % (1 << 32) < 4

        if store.on_stack:
            self.known = {p: b for p, b in self.known.items() if p[0] != "s" or not may_hit(p[1])}
            return
        # Of a pointer that may lead anywhere it is taken for granted that it does not lead there.
        for word in self.words if store.among else ():
            if may_hit(word):
                self.words[word] = NOTHING
        if self._effects.escaped(self._function, index):
            self.known = {p: b for p, b in self.known.items() if p[0] != "s"}
