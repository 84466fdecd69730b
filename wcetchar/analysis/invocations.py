"""Single invocations of services, as they are shown instruction by instruction.

Inputs: traces, a :class:`Resolved`, and which windows are wanted. Output: an :class:`Invocation`
for each of these, in the order in which they end. What is counted of it is what ``characterize``
counts of the same window, so the price of these counts is what an estimate at its values would be
if no other window there had counted more.

A window that executes and counts the same as one of its service before is left out where ``each``
is not asked for: at whatever values of the parameters, it would be shown the same.

Caveat: which sections a joint section's accesses are told apart by depends on all windows of the
traces (``joint``), so where there are any, all are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import stretches
from wcetchar.analysis.call_frames import Functions, call_frames
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.cut_trace import CutTrace
from wcetchar.analysis.joint import JointSections
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.published_lines import Places, published_lines
from wcetchar.analysis.repetition import counted_once, packed_counts
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.used_lines import Used, published_footprints
from wcetchar.counting.columns import key_of, unpack
from wcetchar.errors import InputError, Location
from wcetchar.model.access import Key
from wcetchar.model.characterization import (
    DataFootprint,
    Evidence,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.invocation import CallFrame, HeldOff, Interruption, Invocation, Segment
from wcetchar.model.run import RunValues
from wcetchar.model.trace import Knowledge, Trace

MOST_INSTRUCTIONS: Final = 1 << 21
"""Instructions of all invocations together that are kept; some 200 bytes each."""


@dataclass(frozen=True)
class _Kept:
    window: Window
    labelled: Labelled
    frames: tuple[CallFrame, ...]
    held: tuple[HeldOff, ...]
    segments: tuple[Segment, ...]
    run: int


class Invocations:
    """Collects invocations, trace by trace."""

    def __init__(
        self,
        resolved: Resolved,
        wanted: Callable[[Window], bool],
        *,
        each: bool = False,
        successions: bool = False,
        data_lines: Sequence[int] = (),
        most: int = MOST_INSTRUCTIONS,
    ) -> None:
        """``each``: those that are as others before, too; ``most``: instructions that are kept;
        others as of ``characterize``."""
        self._resolved, self._wanted, self._each = resolved, wanted, each
        self._successions, self._data_lines = successions, tuple(data_lines)
        self._joint = JointSections(resolved)
        self._functions = Functions(resolved)
        self._places = Places(resolved)
        self._labeller: Labeller | None = None
        self._kept: list[_Kept] = []
        self._known: set[tuple[object, ...]] = set()
        self._instructions, self._most = 0, most
        self._losses: set[str] = set()
        self._runs = 0
        self.left_out = 0
        """Windows that are as one before."""

    def add(
        self, trace: Trace, run: RunValues, progress: Callable[[int], None] | None = None
    ) -> None:
        """Takes all windows of a trace.

        Raises:
            InputError: as of ``characterize``; more instructions than are kept.
        """
        cut = CutTrace(trace, self._resolved, run)
        labeller = Labeller(
            self._resolved,
            trace.info.path,
            has_addresses=trace.info.knows(Knowledge.ADDRESSES),
            successions=self._successions,
            data_lines=self._data_lines,
            joint=self._joint,
        )
        if self._labeller is not None:
            labeller.adopt(self._labeller)
        self._labeller = labeller
        for window in cut.windows():
            wanted = self._wanted(window)
            if wanted or self._joint:
                labelled = labeller.label(window)
                if wanted:
                    self._add(window, labelled, labeller, trace)
                del labelled
            if progress is not None:
                progress(cut.finder.traced)
        lost = (loss.consequence for loss in trace.info.losses if loss.lacks is Knowledge.ADDRESSES)
        self._losses |= {f"the trace has no {Knowledge.ADDRESSES.value}: {why}" for why in lost}
        self._runs += 1

    def _add(self, window: Window, labelled: Labelled, labeller: Labeller, trace: Trace) -> None:
        if not self._each and not self._data_lines:
            counted = np.sort(labelled.packed).tobytes()
            key = (window.name, labelled.index.tobytes(), labelled.taken.tobytes(), counted)
            if key in self._known:
                self.left_out += 1
                return
            self._known.add(key)
        self._instructions += len(labelled.index)
        if self._instructions > self._most:
            raise InputError(
                f"the invocations that are asked for have more than {self._most:,} instructions",
                where=Location(trace.info.path),
                expected="so many at most, all together",
                hint="ask for fewer services (--service), or for one value (--set)"
                + (", or for the dearest invocations alone (without --all)" if self._each else ""),
            )
        calls = window.calls
        self._kept.append(
            _Kept(
                # What its batch holds must not stay in memory with it.
                replace(window, pieces=()),
                labelled,
                call_frames(labelled.index, labelled.taken, calls, self._resolved, self._functions),
                tuple(_held(window, labelled, labeller)),
                tuple(_segments(window)),
                self._runs,
            )
        )

    def finished(self) -> Iterator[Invocation]:
        """All that were collected, once all traces have been taken."""
        if self._labeller is None:
            return
        for number, kept in enumerate(self._kept, start=1):
            yield self._finished(number, kept, self._labeller)

    def _finished(self, number: int, kept: _Kept, labeller: Labeller) -> Invocation:
        window, labelled, resolved = kept.window, kept.labelled, self._resolved
        packed = labelled.packed
        if self._joint:
            codes, place = np.unique(packed, return_inverse=True)
            settled = [self._joint.settled_one(c, labeller.successions) for c in codes.tolist()]
            packed = np.array(settled, dtype=np.int64)[place]
        names = resolved.section_names
        known = labeller.successions.keys if labeller.successions is not None else ()
        codes, place = np.unique(packed, return_inverse=True)
        numbers: dict[Key, int] = {}
        of = [
            numbers.setdefault(key_of(unpack(code)[1], names, known), len(numbers))
            for code in codes.tolist()
        ]
        table = resolved.table.instructions
        return Invocation(
            service=window.name,
            values=window.values,
            counted=ServiceCharacterization(
                name=f"{window.name}, invocation {number}",
                kind=window.service.kind,
                part=window.part,
                word=Word.ESTIMATE if self._losses else Word.HIGH_WATER_MARK,
                parameters=window.service.parameters,
                counts=counted_once(
                    packed_counts(packed), labeller.blockings, names, labeller.successions
                ),
                evidence=Evidence(1, (window.values,)),
                notes=tuple(sorted(self._losses)),
                lines=published_lines(
                    {window.values: labelled.entered},
                    window.service.parameters,
                    self._places,
                    self._joint,
                    labeller.successions,
                ),
                data=self._footprints(window, labelled),
            ),
            address=np.array([table[i].address for i in labelled.index.tolist()], dtype=np.int64),
            keys=tuple(numbers),
            key=np.array(of, dtype=np.int64)[place],
            position=labelled.position,
            frames=kept.frames,
            held=kept.held,
            segments=kept.segments,
            run=kept.run,
            thread=window.context,
            in_handler=window.in_handler,
        )

    def _footprints(self, window: Window, labelled: Labelled) -> tuple[DataFootprint, ...] | None:
        if labelled.data is None:
            return None
        used = Used()
        used.include(labelled.data.used(0, len(labelled.index) - 1))
        return published_footprints(
            {window.values: used}, self._resolved.section_names, self._places.begins
        )


def _held(window: Window, labelled: Labelled, labeller: Labeller) -> Iterator[HeldOff]:
    """The longest stretches of each kind; parts of others are left out."""
    found = stretches(window, labelled, labeller.blockings, labeller.is_call, labeller.exceptions)
    spans = sorted({(one.kind, one.first, -one.last) for one in found})
    for kind in StretchKind:
        until = -1
        for _, first, last in (span for span in spans if span[0] is kind):
            if -last > until:
                until = -last
                yield HeldOff(kind, first, until)


def _segments(window: Window) -> Iterator[Segment]:
    begins = window.begins.tolist()
    cuts = {cut.pieces: cut.switched for cut in window.cuts}
    before: int | None = None
    for number, piece in enumerate(window.pieces):
        if before is None:
            yield Segment(begins[number], piece.serial)
        elif piece.serial != before + 1:
            behind = Interruption.INTERRUPT
            if number in cuts:
                behind = Interruption.THREAD if cuts[number] else Interruption.SUPERVISOR_CALL
            yield Segment(begins[number], piece.serial, behind)
        before = piece.serial
