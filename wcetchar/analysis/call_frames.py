"""Which function runs inside of which while a window lasts.

Inputs: the instructions of a window in their order, and where the calls return to that an earlier
part of the invocation has left open. Output: frames, which nest (:class:`CallFrame`).

A call opens a frame. It ends where control comes back to the instruction behind the call, and with
it end all frames that were opened since. Control that reaches another function without a call (a
jump at a function's end, code that falls through, a part that the compiler has put elsewhere) opens
a frame that ends with the one that it came from; where it comes back to a function that it left so,
that one goes on.

Which function an instruction belongs to is what symbols say. Code before the first symbol of its
linker section is named by the section.

Caveat: frames name costs for people, and no time depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.resolve import Resolved
from wcetchar.counting.columns import FLOW, Codes
from wcetchar.model.instruction import Flow
from wcetchar.model.invocation import CallFrame, Function

_CALLS = (FLOW[Flow.CALL], FLOW[Flow.CALL_INDIRECT])
_RETURNS = (FLOW[Flow.RETURN], FLOW[Flow.JUMP_INDIRECT])


@dataclass
class _Open:
    """``returns``: where its call returns to; ``None``: it was not called."""

    function: Function
    returns: int | None
    first: int
    caller: int
    site: int
    number: int
    last: int = -1


class Functions:
    """Functions of an image, by address."""

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved
        self._at: dict[int, Function] = {}
        self._known: dict[int, Function] = {}

    def at(self, address: int) -> Function:
        """The function that an address belongs to."""
        found = self._at.get(address)
        if found is None:
            found = self._at[address] = self._found(address)
        return found

    def _found(self, address: int) -> Function:
        image = self._resolved.image
        label = image.label_at(address)
        if label is None:
            section = image.section_at(address)
            if section is None:
                return Function(address, f"0x{address:08x}")
            return Function(section.address, f"code of {section.name}")
        if label.address not in self._known:
            place = self._resolved.place_of(label.address)
            self._known[label.address] = Function(label.address, label.name, place.file, place.line)
        return self._known[label.address]


def call_frames(
    index: Codes,
    taken: npt.NDArray[np.bool_],
    calls: Sequence[int],
    resolved: Resolved,
    functions: Functions,
) -> tuple[CallFrame, ...]:
    """Frames of a window, in the order in which they begin, outer ones before inner ones.

    Args:
        index: table index of each instruction.
        taken: whether it sent control elsewhere.
        calls: where the calls return to that were open before, the outermost first.
    """
    instructions = resolved.table.instructions
    numbers, place = np.unique(index, return_inverse=True)
    found = [functions.at(instructions[i].address) for i in numbers.tolist()]
    own = np.unique([one.address for one in found], return_inverse=True)[1][place]
    flows = np.array([FLOW[instructions[i].flow] for i in numbers.tolist()])[place]
    may = np.isin(flows, (*_CALLS, *_RETURNS)) & taken
    stops = np.flatnonzero(may[:-1] | (own[1:] != own[:-1]))
    frames = _Frames()
    outer = [functions.at(max(0, to)) for to in calls]
    inner = [*outer[1:], found[place[0]]] if calls else []
    frames.open((outer[0] if outer else found[place[0]]), None, 0, -1)
    for to, function in zip(calls, inner, strict=True):
        frames.open(function, to, 0, -1)
    for at in stops.tolist():
        here, there = (instructions[int(index[i])] for i in (at, at + 1))
        function, flow = found[place[at + 1]], int(flows[at])
        if taken[at] and flow in _CALLS:
            frames.open(function, here.end, at + 1, at)
        elif taken[at] and flow in _RETURNS and frames.back_to(there.address, at):
            pass
        elif function != frames.top.function and not frames.back_in(function, at):
            frames.open(function, None, at + 1, at)
    return frames.finished(len(index) - 1)


class _Frames:
    """Frames that are open, and all that there are."""

    def __init__(self) -> None:
        self._stack: list[_Open] = []
        self._all: list[_Open] = []

    @property
    def top(self) -> _Open:
        return self._stack[-1]

    def open(self, function: Function, returns: int | None, first: int, site: int) -> None:
        caller = self.top.number if self._stack else -1
        frame = _Open(function, returns, first, caller, site, len(self._all))
        self._stack.append(frame)
        self._all.append(frame)

    def _close(self, left: int, last: int) -> None:
        """All but the first ``left`` end."""
        for frame in self._stack[left:]:
            frame.last = last
        del self._stack[left:]

    def back_to(self, address: int, last: int) -> bool:
        """Control came back behind a call; whether it did."""
        for depth in range(len(self._stack) - 1, 0, -1):
            if self._stack[depth].returns == address:
                self._close(depth, last)
                return True
        return False

    def back_in(self, function: Function, last: int) -> bool:
        """Control came back to a function that it left without a call; whether it did."""
        for depth in range(len(self._stack) - 1, -1, -1):
            frame = self._stack[depth]
            if frame.function == function:
                self._close(depth + 1, last)
                return True
            if frame.returns is not None:
                return False
        return False

    def finished(self, last: int) -> tuple[CallFrame, ...]:
        self._close(0, last)
        return tuple(CallFrame(f.function, f.first, f.last, f.caller, f.site) for f in self._all)
