"""The ways through services that traces show, each once.

Inputs: windows and their rows (:class:`Labelled`). Output: an :class:`Observed`, which path models
are held against: each path must be one of the model's, and count what the model says of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.joint import JointSections
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.repetition import Packed, packed_counts
from wcetchar.analysis.resolve import Resolved
from wcetchar.counting.columns import (
    FLOW,
    INSTRUCTION_BITS,
    KIND,
    OPERATION,
    PATTERN,
    SECTION_SHIFT,
    SUCCESSION,
    WIDTH_OF_BYTES,
    Codes,
    access_code,
    key_of,
    unpack,
)
from wcetchar.model.access import AccessVector, CoreEvent, EventKind, Operation, Pattern
from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.model.masks import MaskState
from wcetchar.model.observed import Observed, ObservedPath

_INDIRECT = tuple(FLOW[flow] for flow in (Flow.CALL_INDIRECT, Flow.JUMP_INDIRECT, Flow.JUMP_TABLE))


@dataclass
class _Path:
    name: str
    values: tuple[int, ...]
    index: Codes
    taken: npt.NDArray[np.bool_]
    accessed: npt.NDArray[np.bool_]
    counts: Packed
    entered: Mapping[int, int]
    exception: bool
    from_handler: bool
    masks: MaskState
    lock: int
    in_handler: bool
    blocking: Codes
    windows: int = 1


def _frame(path: _Path, resolved: Resolved) -> Counter[tuple[int, int]]:
    """What the hardware does by itself around a handler: of its first and last instruction, how
    many of each packed class."""
    found: Counter[tuple[int, int]] = Counter()
    if not path.exception:
        return found
    model, services = resolved.table.exceptions, resolved.services
    first, last = int(path.index[0]), int(path.index[-1])
    stack = services.main_stack if path.from_handler else services.task_stack
    for index, section, operation, pattern, number in (
        (first, stack, Operation.WRITE, Pattern.FIRST, min(model.frame_words, 1)),
        (first, stack, Operation.WRITE, Pattern.NEXT, model.frame_words - 1),
        (last, stack, Operation.READ, Pattern.FIRST, min(model.frame_words, 1)),
        (last, stack, Operation.READ, Pattern.NEXT, model.frame_words - 1),
        (first, services.vector_section, Operation.READ, Pattern.SINGLE, model.vector_reads),
    ):
        if section is not None and number > 0:
            at = np.array([resolved.section_names.index(section)])
            word = np.array([WIDTH_OF_BYTES[4]])
            code = access_code(at, OPERATION[operation], word, np.array([PATTERN[pattern]]))
            found[index, int(code[0])] += number
    return found


class ObservedPaths:
    """Collects windows."""

    def __init__(self, table: InstructionTable) -> None:
        self._table = table
        self._paths: dict[tuple[object, ...], _Path] = {}
        self._targets: dict[int, set[int]] = defaultdict(set)
        self._blockings: Sequence[Blocking] = ()
        flow = np.array([FLOW[i.flow] for i in table.instructions])
        self._indirect = np.isin(flow, _INDIRECT)
        self._accesses = np.array([i.memory is not None for i in table.instructions])
        self.observed = Observed((), {}, frozenset(), {})

    def add(self, window: Window, labelled: Labelled, blockings: Sequence[Blocking]) -> None:
        """One more window; ``blockings``: by number, of all windows so far."""
        self._blockings = blockings
        code = labelled.packed >> INSTRUCTION_BITS
        # Fetches and core events are no data accesses; those of the hardware have no instruction's.
        data = (code & (1 << 8 | SUCCESSION) == 0) & (code >> 5 & 7 != OPERATION[Operation.FETCH])
        accessed = np.zeros(len(labelled.index), dtype=bool)
        accessed[labelled.position[data]] = True
        # What the hardware does for the first and the last instruction of a handler is not theirs.
        accessed &= self._accesses[labelled.index]
        key = (
            window.name,
            window.values,
            labelled.index.tobytes(),
            labelled.taken.tobytes(),
            accessed.tobytes(),
            np.sort(labelled.packed).tobytes(),
            window.masks,
            window.lock,
            window.in_handler,
            labelled.blocking.tobytes(),
        )
        known = self._paths.get(key)
        if known is not None:
            known.windows += 1
            return
        self._paths[key] = _Path(
            window.name,
            window.values,
            labelled.index.astype(np.int64),
            labelled.taken.copy(),
            accessed,
            packed_counts(labelled.packed),
            dict(labelled.entered.codes),
            window.exception is not None,
            window.from_handler,
            window.masks,
            window.lock,
            window.in_handler,
            labelled.blocking.astype(np.int64),
        )
        index = labelled.index
        left = np.flatnonzero(self._indirect[index[:-1]] & labelled.taken[:-1])
        for at in left.tolist():
            here, there = (self._table.instructions[int(index[i])] for i in (at, at + 1))
            self._targets[here.address].add(there.address)

    def settle(self, joint: JointSections, resolved: Resolved) -> None:
        """To be called once, behind the last window: ``joint`` tells sections apart as for the
        published counts. The result is ``observed``."""
        self.observed = self._finish(joint, resolved)

    def _finish(self, joint: JointSections, resolved: Resolved) -> Observed:
        section_names = resolved.section_names
        sections: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        misaligned: set[int] = set()
        paths = []
        forms = tuple(self._blockings)
        event = KIND[EventKind.UNALIGNED_ACCESS]
        for path in self._paths.values():
            counts = joint.settled(path.counts, None) if joint else path.counts
            total: dict[int, int] = defaultdict(int)
            frame = _frame(path, resolved)
            for packed, number in counts.items():
                _, code, index = unpack(packed)
                if code & SUCCESSION:
                    continue
                total[code] += number
                if code >> 8 & 1:
                    if code & 0xFF == event:
                        misaligned.add(index)
                elif code >> 5 & 7 != OPERATION[Operation.FETCH]:
                    at = code >> SECTION_SHIFT
                    if at < len(section_names) and number > frame[index, code]:
                        sections[path.name][index].add(section_names[at])
            counted = [*total.items(), *path.entered.items()]
            keys = ((key_of(code, section_names), number) for code, number in counted)
            paths.append(
                ObservedPath(
                    path.name,
                    path.values,
                    path.index,
                    path.taken,
                    path.accessed,
                    AccessVector(
                        (key, number)
                        for key, number in keys
                        if not (isinstance(key, CoreEvent) and key.kind.is_of_data_cache)
                    ),
                    path.windows,
                    path.exception,
                    path.masks,
                    path.lock,
                    path.in_handler,
                    path.blocking,
                    forms,
                )
            )
        return Observed(
            tuple(paths),
            {
                name: {index: frozenset(found) for index, found in own.items()}
                for name, own in sections.items()
            },
            frozenset(misaligned),
            {address: tuple(sorted(found)) for address, found in self._targets.items()},
        )
