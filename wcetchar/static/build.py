"""The path model of one service, or of a part of one, out of the graph of all its paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wcetchar.model.access import (
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
)
from wcetchar.model.characterization import STALL_EDITION, Blocking, Place
from wcetchar.model.instruction import ExceptionModel
from wcetchar.model.path_model import (
    OUTSIDE,
    FlowConstraint,
    Gap,
    Origin,
    PathEdge,
    PathModel,
    PathNode,
    TracedPath,
    Unproved,
)
from wcetchar.static.expand import Expanded
from wcetchar.static.history import NO_RUN
from wcetchar.static.lines import is_line_entry
from wcetchar.static.loop_constraints import Bound, LoopKey, call_constraints, constraints
from wcetchar.static.masking.forms import forms
from wcetchar.static.sections import DataSections
from wcetchar.static.vectors import Vectors

ASSUMPTIONS = (
    "instructions are executed as the program has them: interrupts and other threads that run in "
    "between are activities of their own",
    "accesses of instructions that no trace showed misaligned are aligned",
)


@dataclass(frozen=True)
class Trail:
    """A traced path.

    Attributes:
        values: of the service's parameters, in their order.
        links: numbers of those that it took, in order.
        vector: what it counted.
    """

    values: tuple[int, ...]
    links: Sequence[int]
    vector: AccessVector


@dataclass(frozen=True)
class Frames:
    """What the hardware does around a handler by itself: at its first instruction, and at its last.

    ``exit``: by number of the logical section that the last instruction lies in.
    """

    entry: AccessVector
    exit: Callable[[str], AccessVector]


def frames(model: ExceptionModel, exceptions: Iterable[int], stack: str, vectors: str) -> Frames:
    """``exceptions``: numbers of those that the handler serves, none: it serves all; ``stack``:
    section of the stack that the frame is on; ``vectors``: of the vector table."""

    def words(operation: Operation) -> list[tuple[Key, int]]:
        return [
            (AccessClass(stack, operation, 32, Pattern.FIRST), min(model.frame_words, 1)),
            (AccessClass(stack, operation, 32, Pattern.NEXT), max(model.frame_words - 1, 0)),
        ]

    # What entry discards was fetched for whatever was interrupted, wherever that lies.
    entry: list[tuple[Key, int]] = [
        (CoreEvent(UNKNOWN_SECTION, model.entry(exceptions)), 1),
        *words(Operation.WRITE),
        (AccessClass(vectors, Operation.READ, 32, Pattern.SINGLE), model.vector_reads),
    ]
    return Frames(
        AccessVector(entry),
        lambda section: AccessVector(
            [(CoreEvent(section, EventKind.EXCEPTION_EXIT), 1), *words(Operation.READ)]
        ),
    )


def path_model(
    name: str,
    found: Expanded,
    vectors: Vectors,
    sections: DataSections,
    bounds: Mapping[LoopKey, Sequence[Bound]],
    name_of: Callable[[LoopKey], str],
    *,
    facts: Iterable[FlowConstraint] = (),
    gaps: Iterable[Gap] = (),
    unproved: Iterable[Unproved] = (),
    trails: Sequence[Trail] = (),
    turned: Mapping[LoopKey, Mapping[tuple[tuple[str, int], ...], int]],
    frames: Frames | None = None,
    assumptions: Sequence[str] = (),
    exceptions: ExceptionModel,
) -> PathModel:
    """
    Args:
        name: that the service, or the part, is published under.
        sections: which data accesses go to.
        bounds, name_of, turned: of loops, see ``loop_constraints``.
        facts: constraints over the links of ``found``, by number.
        gaps: why there is no bound, beside loops without one.
        unproved: what traces alone say, or nobody.
        trails: of traced paths.
        assumptions: beside those of every model.
        frames: of a handler; what it returns from is an exception.
        exceptions: of the instruction set.
    """
    numbers: dict[AccessVector, int] = {}
    seen = {link for trail in trails for link in trail.links}
    unknown: dict[str, None] = {}
    passed = {found.links[number].target for number in seen}
    # Also of what the handler jumps to, which returns for it.
    ends = {link.source for link in found.links if link.target == OUTSIDE}
    blockings: dict[Blocking, int] = {}
    held = forms(found, exceptions)
    runs = _Runs(found, vectors, numbers)
    nodes = []
    for number, (step, vector) in enumerate(
        zip(found.steps, vectors.of(found, sections.of), strict=True)
    ):
        function = found.function_of(step.context)
        block = function.blocks[step.block]
        rows = found.program.table.instructions
        place, end = (found.program.place_of(rows[i].address) for i in (block.first, block.last))
        if any(_is_unknown(key) for key in vector):
            unknown[_named(place)] = None
        if frames is not None and step.history.begins:
            vector += frames.entry
        if frames is not None and number in ends:
            section = found.program.section_names[int(found.program.code_section[block.last])]
            vector += frames.exit(section)
        own = numbers.setdefault(vector, len(numbers))
        form = blockings.setdefault(held[number], len(blockings))
        into, out = runs.of(number) if held[number].holds_preemption else (None, None)
        nodes.append(PathNode(own, form, place, end, number in passed, into, out))
    told = sections.told(accessing(found))
    edges = tuple(
        PathEdge(link.source, link.target, seen=number in seen)
        for number, link in enumerate(found.links)
    )
    all_constraints = [*facts, *call_constraints(found)]
    all_gaps = [*gaps]
    for one in constraints(found, bounds, name_of, turned):
        if isinstance(one, Gap):
            all_gaps.append(one)
        else:
            all_constraints.append(one)
    counted = trails if vectors.lines else [_without_lines(trail) for trail in trails]
    traced = tuple(
        TracedPath(values, numbers.setdefault(vector, len(numbers)))
        for values, vector in _traced(counted)
    )
    return PathModel(
        name,
        tuple(numbers),
        tuple(blockings) or (Blocking(),),
        tuple(nodes),
        edges,
        tuple(all_constraints),
        tuple(all_gaps),
        traced,
        (*ASSUMPTIONS, *assumptions),
        tuple(unknown),
        told[Origin.AUTOMATIC],
        told[Origin.WRITTEN],
        told[Origin.OBSERVED],
        tuple(unproved),
        stalls=STALL_EDITION,
        lines=vectors.lines,
        follows_masks=found.masking is not None,
    )


def _without_lines(trail: Trail) -> Trail:
    """Of a model that does not count entries of lines."""
    left = AccessVector(pair for pair in trail.vector.items() if not is_line_entry(pair[0]))
    return Trail(trail.values, trail.links, left)


class _Runs:
    """Of steps: vectors of what a stretch fetches more that begins or ends there: words across its
    edge, and the line that it begins in."""

    def __init__(self, found: Expanded, vectors: Vectors, numbers: dict[AccessVector, int]) -> None:
        self._found, self._vectors, self._numbers = found, vectors, numbers
        self._ends = {n for n, step in enumerate(found.steps) if step.taken}
        self._ends |= {link.source for link in found.links if link.target == OUTSIDE}

    def of(self, number: int) -> tuple[int | None, int | None]:
        step = self._found.steps[number]
        block = self._found.function_of(step.context).blocks[step.block]
        before: list[tuple[Key, int]] = []
        if not step.history.begins:
            before += self._vectors.loaded(block.first)
        if step.history.phase != NO_RUN:
            before += self._vectors.across(block.first, ends=False)
        behind: list[tuple[Key, int]] = []
        if number not in self._ends:
            behind += self._vectors.across(block.last, ends=True)
        return self._number(before), self._number(behind)

    def _number(self, pairs: list[tuple[Key, int]]) -> int | None:
        more = AccessVector(pairs)
        return self._numbers.setdefault(more, len(self._numbers)) if more else None


def _traced(trails: Sequence[Trail]) -> Iterator[tuple[tuple[int, ...], AccessVector]]:
    """What traced paths counted, those left out that count nothing more than another one."""
    found: dict[tuple[int, ...], list[AccessVector]] = {}
    for trail in trails:
        known = found.setdefault(trail.values, [])
        if not any(_holds(one, trail.vector) for one in known):
            known[:] = [one for one in known if not _holds(trail.vector, one)]
            known.append(trail.vector)
    for values in sorted(found):
        for vector in found[values]:
            yield values, vector


def _holds(one: AccessVector, other: AccessVector) -> bool:
    """The one counts nothing less than the other."""
    return all(one.get(key, 0) >= count for key, count in other.items())


def accessing(found: Expanded) -> set[int]:
    """Table indices of the instructions that make data accesses."""
    rows = found.program.table.instructions
    blocks = {found.function_of(step.context).blocks[step.block] for step in found.steps}
    return {
        index
        for block in blocks
        for index in range(block.first, block.last + 1)
        if index not in block.skipped and rows[index].memory is not None
    }


def _is_unknown(key: object) -> bool:
    return isinstance(key, AccessClass) and key.section == UNKNOWN_SECTION


def _named(place: Place) -> str:
    at = f" ({place.file}:{place.line})" if place.line else ""
    return f"{place.function}+{place.offset}{at}" if place.offset else f"{place.function}{at}"
