"""The instructions of a window in their order, checked to follow one another.

Inputs: the window's instruction events, the instruction table's :class:`Columns`, a
:class:`Resolved`. What follows an instruction must be one of its successors, and it must lie in a
logical section of code; anything else is an error (``accesses``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.succession import impossible_transfer
from wcetchar.counting.columns import FLOW, KIND, Codes, Columns
from wcetchar.errors import InputError, Location
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow

_NOT_ITS_TRACE = (
    "the trace is damaged, was not made with this image, lacks its exceptions, "
    "or two threads were taken for one"
)


@dataclass(frozen=True)
class Program:
    """What the windows of one trace are read with.

    Attributes:
        path: of the trace, for errors.
        has_addresses: the trace has the addresses of data accesses.
        is_code: by logical section, whether it may be executed.
    """

    resolved: Resolved
    columns: Columns
    path: str
    has_addresses: bool
    is_code: npt.NDArray[np.bool_]


class Executed:
    """The instructions of a window in order, checked to follow one another."""

    def __init__(
        self,
        window: Window,
        index: Codes,
        address: Codes,
        size: Codes,
        blocking: Codes,
        program: Program,
    ) -> None:
        self._program = program
        columns, resolved = program.columns, program.resolved
        self.index, self.address, self.blocking = index, address, blocking
        self.end = address + columns.length[index]
        self.section = resolved.code_section[index].astype(np.int64)
        self.barrier = columns.issue[index] == KIND[EventKind.BARRIER]
        where = Location(program.path)
        if not len(index):
            raise InputError(f"a window of {window.service.name} has no instruction", where=where)
        unclaimed = np.flatnonzero(self.section < 0)
        if len(unclaimed):
            raise InputError(
                f"{window.service.name} executes "
                f"{resolved.place(int(address[unclaimed[0]]))}, which lies in no logical section",
                where=resolved.services.where("sections"),
                expected="a logical section for all code of a service",
                hint="add its linker section to `sections`",
            )
        no_code = np.flatnonzero(~program.is_code[self.section])
        if len(no_code):
            section = resolved.services.sections[int(self.section[no_code[0]])]
            raise InputError(
                f"{window.service.name} executes "
                f"{resolved.place(int(address[no_code[0]]))}, which lies in {section.name}, "
                f"of kind {section.kind.value}",
                where=resolved.services.where("sections", section.name, "kind"),
                expected="kind code for what is executed",
                hint="put functions that run from RAM into a logical section of their own",
            )
        longer = np.flatnonzero((size != 0) & (size != columns.length[index]))
        if len(longer):
            i = int(longer[0])
            instruction = resolved.table.instructions[int(index[i])]
            raise InputError(
                f"{window.service.name}: `{instruction.text}` at "
                f"{resolved.place(instruction.address)} has {size[i]} bytes in the trace",
                where=where,
                expected=f"{instruction.length} bytes",
                hint=_NOT_ITS_TRACE,
            )
        following = address[1:]
        sequential = following == self.end[:-1]
        flow, target = columns.flow[index][:-1], columns.target[index][:-1]
        conditional = columns.conditional[index][:-1]
        direct = np.isin(flow, [FLOW[Flow.JUMP], FLOW[Flow.CALL]])
        good = np.where(
            columns.transfers_control[index][:-1],
            ~direct | (following == target) | (conditional & sequential),
            sequential,
        )
        good &= flow != FLOW[Flow.STOP]
        bad = np.flatnonzero(~good)
        wrong = (
            int(bad[0])
            if len(bad)
            else impossible_transfer(index, address, self.taken(), window.calls, columns, resolved)
        )
        if wrong is not None:
            raise self.goes_wrong(window, wrong)

    def goes_wrong(self, window: Window, i: int) -> InputError:
        """Control went from instruction i where it cannot have gone."""
        resolved = self._program.resolved
        instruction = resolved.table.instructions[int(self.index[i])]
        after = (
            resolved.place(int(self.address[i + 1]))
            if i + 1 < len(self.address)
            else "the end of the window"
        )
        return InputError(
            f"{window.service.name}: `{instruction.text}` at "
            f"{resolved.place(instruction.address)} is followed by {after}",
            where=Location(self._program.path),
            expected="one of its successors",
            hint=_NOT_ITS_TRACE,
        )

    def taken(self) -> npt.NDArray[np.bool_]:
        """Per instruction: control went elsewhere. The last one of a window always returned."""
        columns, index = self._program.columns, self.index
        taken: npt.NDArray[np.bool_] = columns.transfers_control[index].copy()
        conditional = columns.conditional[index][:-1]
        fell = self.address[1:] == self.end[:-1]
        # A conditional branch to the very next instruction cannot be told from one that fell
        # through; it counts as taken, which is the dearer.
        nowhere = columns.target[index][:-1] == self.end[:-1]
        taken[:-1] &= ~(conditional & fell & ~nowhere)
        return taken
