"""The floating-point part of exception frames: when the hardware writes it and reads it back.

Armv7-M Architecture Reference Manual (DDI 0403E), B1.5.6 to B1.5.8, B1.5.7 for lazy preservation,
B3.2.21 for FPCCR. A context that has executed a floating-point instruction has CONTROL.FPCA set.
Interrupting it makes an extended frame: beside the eight words there is room for s0 to s15, FPSCR
and a word that is never accessed. With FPCCR.LSPEN = 1, as after reset, entry writes none of the 17
words (FPCCR.LSPACT = 1); the first floating-point instruction that anybody executes before the
return does, whoever it belongs to. The return reads them back if they were written; else the
registers still hold them. With LSPEN = 0 entry writes and the return reads them always.

Inputs: the events of each context in order, exceptions, switches of threads. Output: for each open
window the hardware's own transfers (:class:`FloatFrame`), which no trace shows.

What is not certain is taken as the dearer case, so that there are never too few transfers:

* a predicated instruction without accesses counts as executed;
* a context of which the trace does not show the whole past counts as one that used floating point;
* where the firmware writes FPCCR and the services file does not say what it chose, both ways are
  counted: the words are written on entry, and once more by a floating-point instruction of a
  handler that interrupted this one.

Assumed: a thread that begins has not used floating point (EXC_RETURN bit 4 is set in the frame that
software prepares), and nothing but a floating-point instruction sets CONTROL.FPCA.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import Context, ExtendedFrame, FloatFrame, OpenWindow
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import FloatContext
from wcetchar.model.trace import Event, EventBatch

FPCCR: Final = 0xE000EF34

ASSUMPTION: Final = (
    "a thread begins without floating-point context, and nothing but floating-point instructions "
    "gives it one (CONTROL.FPCA); the floating-point part of an exception frame is written "
)
_HOW: Final = {
    FloatContext.LAZY: "by the first floating-point instruction of a handler (FPCCR.LSPEN = 1)",
    FloatContext.AT_ENTRY: "on entry (FPCCR.LSPEN = 0)",
    None: "as FPCCR says after reset; where the firmware writes it, as in the dearer case",
}


def uses_floating_point(table: InstructionTable) -> bool:
    """Exception frames can have a floating-point part."""
    return table.exceptions.float_words > 0 and any(i.issue.is_float for i in table.instructions)


def assumption(stacking: FloatContext | None) -> str:
    """What a characterization of an image that uses floating point says of it."""
    return ASSUMPTION + _HOW[stacking]


class FloatContexts:
    """Follows CONTROL.FPCA and FPCCR.LSPACT through a trace.

    Args:
        entry: where execution begins; a trace that begins elsewhere has a past.
        stacking: what the services file says of FPCCR.
        has_addresses: the trace shows data accesses, and so whether predicated ones were made.
    """

    def __init__(
        self,
        table: InstructionTable,
        entry: int,
        stacking: FloatContext | None,
        *,
        has_addresses: bool = True,
    ) -> None:
        self._table = table
        self._entry = entry
        # Negative indices stand for what is no instruction of the table: they reach these.
        self._float = np.zeros(len(table) + 2, dtype=bool)
        self._float[: len(table)] = [i.issue.is_float for i in table.instructions]
        self._has_addresses = has_addresses
        self._stated = stacking is not None
        self._lazy = stacking is not FloatContext.AT_ENTRY
        self._at_entry = stacking is FloatContext.AT_ENTRY
        self._awaited: list[ExtendedFrame] = []
        """Extended frames whose words are not written yet. LSPACT is one bit; several can only
        stand here where a context counts as one that used floating point without being known to."""
        self._begun = False

    def begin(self, batch: EventBatch) -> None:
        """A new batch of events: does the firmware write FPCCR?"""
        if self._stated or self._at_entry:
            return
        writes = (batch.kind == Event.WRITE) | (batch.kind == Event.ACCESS)
        if (writes & (batch.address >= FPCCR) & (batch.address < FPCCR + 4)).any():
            self._at_entry = True

    def lost(self, context: Context) -> None:
        """Instructions of a context ran that the trace does not show, perhaps of floating point."""
        context.used_float = True
        for frame in self._awaited:
            frame.written = True

    def executed(
        self,
        context: Context,
        kind: npt.NDArray[np.uint8],
        address: npt.NDArray[np.uint64],
        index: npt.NDArray[np.int32],
    ) -> None:
        """Consecutive own events of a context, before they become a piece of its window."""
        if not self._begun:
            first = np.flatnonzero(index != -1)
            if len(first):
                self._begun = True
                context.used_float |= int(address[first[0]]) != self._entry
        if context.unsure_float is not None:
            position, context.unsure_float = context.unsure_float, None
            if kind[0] in (Event.READ, Event.WRITE, Event.ACCESS):
                self._use(context, position)
        if context.used_float and not self._awaited:
            return
        for i in np.flatnonzero(self._float[index]).tolist():
            instruction = self._table.instructions[int(index[i])]
            position = _length(context.window) + int((index[:i] >= 0).sum())
            if instruction.conditional and instruction.memory is not None and self._has_addresses:
                if i + 1 == len(kind):
                    context.unsure_float = position
                    break
                if kind[i + 1] not in (Event.READ, Event.WRITE, Event.ACCESS):
                    continue
            self._use(context, position)
            break

    def _use(self, context: Context, position: int) -> None:
        """A context executes a floating-point instruction, its window's ``position``-th."""
        context.used_float = True
        for frame in self._awaited:
            frame.written = True
            if context.window is not None and frame.counted_for is not context:
                context.window.float_frames.append(FloatFrame(position, True, frame.on_main_stack))
        self._awaited.clear()

    def entered(self, interrupted: Context, handler: Context) -> None:
        """An exception is taken."""
        interrupted.extended = None
        if not interrupted.used_float:
            return
        frame = ExtendedFrame(on_main_stack=interrupted.exception is not None)
        interrupted.extended = frame
        if self._at_entry:
            frame.written = True
            frame.counted_for = handler
        if self._lazy:
            self._awaited.append(frame)

    def opened(self, window: OpenWindow, handler: Context, interrupted: Context) -> None:
        """The window of a handler opens with its first instruction."""
        frame = interrupted.extended
        if frame is not None and frame.counted_for is handler:
            window.float_frames.append(FloatFrame(0, True, frame.on_main_stack))

    def left(self, window: OpenWindow | None, after: Context) -> None:
        """A handler returns, and ``after`` goes on. ``window``: the handler's, if one is open."""
        if not after.used_float:
            return
        frame, after.extended = after.extended, None
        if frame is not None and frame in self._awaited:
            self._awaited.remove(frame)
        # Without a frame of its own nothing is known of what it was interrupted with.
        written = frame is None or frame.written
        if written and window is not None:
            window.float_frames.append(
                FloatFrame(_length(window) - 1, False, after.exception is not None)
            )


def _length(window: OpenWindow | None) -> int:
    """Instructions of a window so far."""
    return 0 if window is None else sum(int((p.index >= 0).sum()) for p in window.pieces)
