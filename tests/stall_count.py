"""Stalls counted a second time, one executed instruction after the other.

Shares nothing with ``wcetchar.analysis`` and nothing with any instruction set: what instructions do
comes in as :class:`One`, from objdump's text (tests/differential) or from the instruction table
(tests/unit/analysis). The definitions are those of docs/explanation/model.md, section "Stalls".
Where they speak of another address, every address is tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

LOADS = {
    *("load", "load multiple", "load exclusive", "store exclusive", "swap"),
    *("float load", "float load multiple"),
}
"""Beside those that load: a store exclusive has its result from memory, too."""
MULTIPLIES = {
    *("multiply", "multiply accumulate", "multiply long", "multiply accumulate long"),
}
SYSTEM = {"system register", "interrupt mask"}
SERIAL = SYSTEM | {"barrier", "wait", "supervisor call", "breakpoint"}
REALIGNED = (
    *("crossing target realigned", "crossing fall-through realigned"),
    *("fetch held early realigned", "fetch held late realigned"),
)
KINDS = {
    *("load-use stall", "load-use stall of an access", "load-use stall of a system register"),
    *("second load-use stall", "second load-use stall behind an access"),
    *("second use stall behind a transfer", "multiply-use stall", "second multiply-use stall"),
    *("shift-use stall", "system register-use stall", "consecutive access"),
    "divide-use stall",
    "address-use stall",
    *("system register wait", "system register wait behind a transfer"),
    *("system register wait across words", "system register wait behind a transfer realigned"),
    "indirect jump",
    *("forward branch taken", "backward branch untaken", "crossing target"),
    *("crossing fall-through", "fetch held early", "fetch held late", *REALIGNED),
}


@dataclass(frozen=True)
class One:
    """An instruction.

    Attributes:
        event: what it counts as; of a conditional branch, when it is not taken.
        defs, uses: registers that it writes and reads; one that is predicated reads what it writes.
        loaded: of the written ones, those that come from memory.
        place: registers that the address of its accesses is made of.
        access: it makes data accesses, if it has an effect.
        jumps: it can send control elsewhere, supervisor calls excepted.
        target: of a direct jump or call.
        leads: of other transfers, "call", "return" or "jump".
        conditional: it may have no effect, or is a conditional branch.
        unit, granule: bytes of a fetch, and what addresses of instructions are multiples of.
    """

    address: int
    length: int
    event: str
    defs: frozenset[Hashable] = frozenset()
    uses: frozenset[Hashable] = frozenset()
    loaded: frozenset[Hashable] = frozenset()
    place: frozenset[Hashable] = frozenset()
    access: bool = False
    shift: bool = False
    jumps: bool = False
    target: int | None = None
    leads: str = ""
    conditional: bool = False
    unit: int = 4
    granule: int = 2

    @property
    def end(self) -> int:
        return self.address + self.length

    @property
    def loads(self) -> bool:
        return self.event in LOADS

    @property
    def multiplies(self) -> bool:
        return self.event in MULTIPLIES

    @property
    def late(self) -> bool:
        return (
            self.loads
            or self.multiplies
            or self.event in SYSTEM
            or self.event == "divide"
            or self.shift
        )

    @property
    def branches(self) -> bool:
        """It is a direct transfer that happens or does not."""
        return self.jumps and self.conditional and self.target is not None

    @property
    def backward(self) -> bool:
        return self.target is not None and self.target <= self.address

    @property
    def predicted(self) -> bool:
        """The decoder sends control to its target by itself."""
        return self.jumps and self.target is not None and (not self.conditional or self.backward)

    @property
    def predicated(self) -> bool:
        return self.conditional and not self.branches

    def crosses(self, shift: int) -> bool:
        low, high = self.address + shift, self.end - 1 + shift
        return low // self.unit != high // self.unit


class FetchUnit:
    """Delivers a word a cycle; all code lies ``shift`` bytes higher than it does."""

    def __init__(self, code: Mapping[int, One], shift: int) -> None:
        self._code, self._shift = code, shift
        self._early: dict[int, bool] = {}
        self._late: dict[tuple[int, bool], bool] = {}

    def early(self, one: One) -> bool:
        if one.address not in self._early:
            self._early[one.address] = self._full(one.end)
        return self._early[one.address]

    def late(self, one: One, waits_behind: bool) -> bool:
        """``waits_behind``: what is behind it waits for what was loaded before it."""
        key = (one.address, waits_behind)
        if key not in self._late:
            held = self._fell_through(one) if one.predicted else self._two_behind(one)
            behind = self._code.get(one.end)
            if waits_behind and behind is not None:
                held = held or self._full(behind.end)
            self._late[key] = held
        return self._late[key]

    def _full(self, address: int) -> bool:
        """While this instruction is before the decoder, the word that it ends in holds another one
        behind it."""
        one = self._code.get(address)
        if one is None:
            return True
        room = -(one.end + self._shift) % one.unit
        if not room:
            return False
        behind = self._code.get(one.end)
        return behind is None or behind.length <= room

    def _two_behind(self, transfer: One) -> bool:
        first = self._code.get(transfer.end)
        if first is None or first.event in SERIAL:
            return True
        if first.predicted:
            there = self._code.get(first.target) if first.target is not None else None
            if there is None:
                return True
            return not there.crosses(self._shift) and self._full(there.address)
        second = self._code.get(first.end)
        if second is None:
            return True
        if first.late and first.defs & second.uses:
            return True
        return self._full(second.end)

    def _fell_through(self, branch: One) -> bool:
        assert branch.target is not None
        there = self._code.get(branch.target)
        if there is None:
            return True
        at_target = self._full(there.address)
        if there.crosses(self._shift):
            return at_target
        return self._full(there.end) or (at_target and self._full(branch.end))


class StallCount:
    """Counts stalls of windows of one program."""

    def __init__(self, code: Mapping[int, One]) -> None:
        self._code = code
        self._units: dict[int, FetchUnit] = {}

    def of(self, done: Sequence[tuple[One, bool]]) -> Iterator[tuple[int, str]]:
        """(position, kind) of each.

        Args:
            done: the executed instructions of a window in their own order, and whether each sent
                control elsewhere, or is one behind which the core fetches anew.
        """
        for k, (one, jumped) in enumerate(done):
            before, jumped_before = done[k - 1] if k else (None, True)
            found = [
                *self._next(before, one),
                *self._second(done[k - 2][0] if k > 1 else None, before, jumped_before, one),
                *self._address(done, k, one),
                *self._branch(one, jumped and one.jumps),
                *self._system(done[k - 1] if k else None, one),
                *self._crossing(before, jumped_before, one),
                *self._held(done, k, one, jumped),
            ]
            for kind in found:
                assert kind in KINDS, kind
                yield k, kind

    def count(self, done: Sequence[tuple[One, bool]]) -> Counter[str]:
        return Counter(kind for _, kind in self.of(done))

    def _next(self, before: One | None, one: One) -> Iterator[str]:
        if before is None:
            return
        used = bool(before.defs & one.uses)
        waits = False
        if used and before.loads:
            if one.event in SYSTEM:
                yield "load-use stall of a system register"
            elif one.access:
                waits = True
                yield "load-use stall of an access"
            else:
                yield "load-use stall"
        if one.access and before.access and not waits:
            yield "consecutive access"
        if used and before.multiplies:
            yield "multiply-use stall"
        if used and before.event == "divide":
            yield "divide-use stall"
        if used and before.shift:
            yield "shift-use stall"
        if used and before.event in SYSTEM:
            yield "system register-use stall"

    def _second(
        self, first: One | None, between: One | None, jumped: bool, one: One
    ) -> Iterator[str]:
        if between is None:
            if one.uses:  # what the caller loaded is not known
                yield "second use stall behind a transfer"
            return
        if first is None:
            return
        needed = first.defs & one.uses
        if not between.predicated:
            needed -= between.uses
            longer = (between.loads or between.multiplies) and between.defs & one.uses
            if (jumped and between.jumps) or longer:
                needed -= between.defs
        if not needed or not (first.loads or first.multiplies):
            return
        if jumped and between.jumps:
            yield "second use stall behind a transfer"
            return
        if first.loads:
            access = between.access
            yield "second load-use stall behind an access" if access else "second load-use stall"
        if first.multiplies:
            yield "second multiply-use stall"

    def _address(self, done: Sequence[tuple[One, bool]], k: int, one: One) -> Iterator[str]:
        while k and done[k - 1][0].event == "hint":
            k -= 1
        if k and one.event != "hint":
            before = done[k - 1][0]
            if (before.defs - before.loaded) & one.place:
                yield "address-use stall"

    def _branch(self, one: One, jumped: bool) -> Iterator[str]:
        if one.branches:
            if jumped and not one.backward:
                yield "forward branch taken"
            if not jumped and one.backward:
                yield "backward branch untaken"

        if jumped and one.leads == "jump":
            yield "indirect jump"

    def _system(self, before: tuple[One, bool] | None, one: One) -> Iterator[str]:
        if one.event not in SYSTEM:
            return
        if before is not None:
            transfer, jumped = before
            late = transfer.jumps and (transfer.predicted != jumped)
            if late and (jumped or transfer.branches):
                return
            if not (transfer.jumps and jumped):
                yield "system register wait"
                return
        if one.crosses(0):
            yield "system register wait across words"
            yield "system register wait behind a transfer realigned"
        else:
            yield "system register wait behind a transfer"

    def _crossing(self, before: One | None, jumped: bool, one: One) -> Iterator[str]:
        kind = "crossing target"
        if not jumped:
            assert before is not None
            if not before.branches or not before.backward:
                return
            kind = "crossing fall-through"
        if one.crosses(0):
            yield kind
        elif any(one.crosses(shift) for shift in range(0, one.unit, one.granule)):
            yield f"{kind} realigned"

    def _held(
        self, done: Sequence[tuple[One, bool]], k: int, one: One, jumped: bool
    ) -> Iterator[str]:
        jumped = jumped and one.jumps
        wrongly = one.branches and one.backward and not jumped
        if not jumped and not wrongly:
            return
        early = jumped and one.predicted
        if early:
            held = [self._unit(s).early(one) for s in range(0, one.unit, one.granule)]
        else:
            waits_behind = k > 0 and self._waits_behind(done[k - 1][0], one)
            held = [self._unit(s).late(one, waits_behind) for s in range(0, one.unit, one.granule)]
        kind = "fetch held early" if early else "fetch held late"
        if held[0]:
            yield kind
        elif any(held):
            yield f"{kind} realigned"

    def _waits_behind(self, before: One, transfer: One) -> bool:
        behind = self._code.get(transfer.end)
        if behind is None or transfer.predicted:
            return False
        return (before.loads or before.multiplies) and bool(before.defs & behind.uses)

    def _unit(self, shift: int) -> FetchUnit:
        if shift not in self._units:
            self._units[shift] = FetchUnit(self._code, shift)
        return self._units[shift]
