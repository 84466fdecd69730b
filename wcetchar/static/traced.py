"""Traced paths held against a service's graph: whatever does not fit is a mistake, and no bound.

Each path must be one of the graph's, count there what the trace counted, go round no loop more
often than is said of it, and access no section that facts exclude.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from wcetchar import formula
from wcetchar.errors import CheckFailed
from wcetchar.model.access import UNKNOWN_SECTION, AccessClass, Key, Operation
from wcetchar.model.expression import Number
from wcetchar.model.flow_fact import Accesses, Targets
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import FlowConstraint, Origin, PathModel
from wcetchar.static.contexts import has_stack
from wcetchar.static.expand import Expanded
from wcetchar.static.facts.proposals import Observed, proposal
from wcetchar.static.lines import is_elsewhere, is_line_entry
from wcetchar.static.loop_constraints import (
    Bound,
    LoopKey,
    passes,
    turned_on,
    turned_within,
    turns,
)
from wcetchar.static.replay import Astray, Replay
from wcetchar.static.sections import DataSections

Trails = list[tuple[ObservedPath, list[int]]]
"""Observed paths, each with the links that it took, in order."""
Point = tuple[tuple[str, int], ...]
"""Values of parameters, by name."""
Counts = Counter[Key]


def replayed(found: Expanded, paths: Sequence[ObservedPath], place: Callable[[int], str]) -> Trails:
    """The links that each path takes; ``place``: an address for people.

    Raises:
        CheckFailed: a path is none of the graph's.
    """
    replay = Replay(found)
    trails: Trails = []
    rows = found.program.table.instructions
    for path in paths:
        trail = replay.trail(path)
        if isinstance(trail, Astray):
            at = min(trail.position, len(path.index) - 1)
            places = [place(rows[int(i)].address) for i in path.index[max(at - 1, 0) : at + 1]]
            raise CheckFailed(
                f"{path.service}: a traced path is no path of the model: behind "
                + " comes ".join(places),
                expected="a model that has every path that was seen, and holds off what it does",
                hint="a flow fact leaves it out that is wrong, or control flow or a mask was not "
                "understood",
            )
        trails.append((path, trail))
    return trails


def check_targets(
    paths: Sequence[ObservedPath],
    targets: Iterable[tuple[Targets, Collection[int], Collection[int]]],
    place: Callable[[int], str],
    table: InstructionTable,
    through: Mapping[int, int],
) -> None:
    """No traced path goes from an indirect call or jump to where facts say that it does not.

    Args:
        targets: facts, with table indices of what goes and of where to.
        through: as of ``register_calls``.

    Raises:
        CheckFailed: one does.
    """
    for fact, sources, to in targets:
        by_call = [index for index in sources if index in through]
        for path in paths:
            here, there = path.index[:-1], path.index[1:]
            goes = np.isin(here, [*sources]) & path.taken[:-1] & ~np.isin(there, [*to])
            if by_call:
                # What is called comes behind the routine's jump.
                calls = np.isin(here, by_call)
                goes[calls] = False
                goes[1:] |= calls[:-1] & ~np.isin(there[1:], [*to])
            if goes.any():
                at = int(np.flatnonzero(goes)[0])
                one, other = (table.instructions[int(path.index[n])].address for n in (at, at + 1))
                raise CheckFailed(
                    f"{path.service}: a trace goes from {place(one)} to {place(other)}",
                    expected=f"one of the targets that {fact.where} names",
                    hint="the flow fact is wrong",
                )


def turned_in(
    found: Expanded, trails: Trails, names: Sequence[str]
) -> dict[tuple[int, int], dict[Point, int]]:
    """By context and number of a loop that traces entered: how often they went round it at most,
    for one entry. ``names``: of the service's parameters."""
    passed = passes(turns(found))
    most: dict[tuple[int, int], dict[Point, int]] = defaultdict(dict)
    for path, trail in trails:
        point = tuple(zip(names, path.values, strict=True))
        for key, turned in turned_on(trail, passed).items():
            most[key][point] = max(most[key].get(point, 0), turned.each)
    return most


def by_loop(
    found: Expanded, turned: Mapping[tuple[int, int], Mapping[Point, int]]
) -> dict[LoopKey, dict[Point, int]]:
    """The same for all contexts of a loop together."""
    result: dict[LoopKey, dict[Point, int]] = defaultdict(dict)
    for (context, loop), seen in turned.items():
        known = result[found.contexts[context].function, loop]
        for point, count in seen.items():
            known[point] = max(known.get(point, 0), count)
    return result


def observed_bounds(
    found: Expanded,
    turned: Mapping[tuple[int, int], Mapping[Point, int]],
    known: Mapping[LoopKey, Sequence[Bound]],
) -> dict[LoopKey, list[Bound]]:
    """Of loops without a bound, in each context in which traces entered them, as traces showed it:
    a formula that meets it, else the largest. What is said of one call stack holds of all that have
    more between its functions, so these are looked at, too."""
    result: dict[LoopKey, list[Bound]] = defaultdict(list)
    same: dict[LoopKey, dict[tuple[int, ...], dict[Point, int]]] = defaultdict(dict)
    for (context, loop), seen in turned.items():
        one = found.contexts[context]
        if not known.get((one.function, loop)):
            most = same[one.function, loop].setdefault(one.stack, {})
            _raise(most, seen)
    for key, stacks in same.items():
        for stack in stacks:
            most = {}
            for other, seen in stacks.items():
                if has_stack(other, stack):
                    _raise(most, seen)
            points = [Observed(dict(point), count) for point, count in most.items()]
            limit = proposal(points) or Number(max(most.values()))
            result[key].append(Bound(limit, Origin.OBSERVED, called=stack))
    return result


def _raise(most: dict[Point, int], seen: Mapping[Point, int]) -> None:
    for point, count in seen.items():
        most[point] = max(most.get(point, 0), count)


def check_bounds(
    found: Expanded,
    trails: Trails,
    names: Sequence[str],
    bounds: Mapping[LoopKey, Sequence[Bound]],
    name_of: Callable[[LoopKey], str],
) -> None:
    """
    Raises:
        CheckFailed: a path goes round a loop more often than is said of it.
    """
    loops = turns(found)
    passed = passes(loops)
    for path, trail in trails:
        values = dict(zip(names, path.values, strict=True))
        for (context, loop), turned in turned_on(trail, passed).items():
            one = found.contexts[context]
            for bound in bounds.get((one.function, loop), ()):
                if not bound.holds(one.stack):
                    continue
                limit = formula.evaluate(bound.limit, values)
                times = turned.total if bound.total else turned.each
                if bound.within is not None:
                    times = turned_within(trail, loops, loop, (context, bound.within))
                if times > max(limit, 0):
                    at = ", ".join(f"{k}={v}" for k, v in values.items())
                    raise CheckFailed(
                        f"{path.service}: a trace goes round the loop at "
                        f"{name_of((one.function, loop))} {times} times"
                        + (f" at {at}" if at else ""),
                        expected=f"at most {limit}, by "
                        + (bound.place or f"the analysis ({bound.because})"),
                        hint="the flow fact is wrong" if bound.place else None,
                    )


def check_constraints(
    trails: Trails, names: Sequence[str], constraints: Sequence[FlowConstraint]
) -> None:
    """``constraints``: of facts.

    Raises:
        CheckFailed: a path does not keep to what a fact says of counts.
    """
    for path, trail in trails:
        taken = Counter(trail)
        values = dict(zip(names, path.values, strict=True))
        for one in constraints:
            counted = sum(
                formula.evaluate(coefficient, values) * taken[link]
                for link, coefficient in one.coefficients.items()
                if taken[link]
            )
            limit = formula.evaluate(one.limit, values)
            if counted > limit:
                at = ", ".join(f"{k}={v}" for k, v in values.items())
                raise CheckFailed(
                    f"{path.service}: a trace contradicts a flow fact"
                    + (f" at {at}" if at else ""),
                    expected=f"{one.label}, by {one.place}",
                    details=(f"{counted} where {limit} is allowed",),
                    hint="the flow fact is wrong",
                )


def check_sections(
    service: str,
    facts: Mapping[int, Accesses],
    own: Mapping[int, frozenset[str]],
    told: DataSections,
    joint: Mapping[str, Collection[str]],
    place: Callable[[int], str],
    table: InstructionTable,
) -> None:
    """Traced accesses went where facts say, as far as these are what is taken.

    Args:
        facts, own: by table index, what is said of an access, and where those of the service went.
        joint: sections that are either of others.
        place: an address for people.

    Raises:
        CheckFailed: one went elsewhere.
    """
    for index, fact in facts.items():
        allowed = {*fact.sections}.union(*(joint.get(one, ()) for one in fact.sections))
        strange = own.get(index, frozenset()) - allowed
        if strange and told.origins.get(index) is Origin.WRITTEN:
            at = place(table.instructions[index].address)
            raise CheckFailed(
                f"{service}: a trace accesses {', '.join(sorted(strange))} at {at}",
                expected=f"{', '.join(fact.sections)}, by {fact.where}",
                hint="the flow fact is wrong, or says it of too much",
            )


def check_counts(
    model: PathModel,
    trails: Trails,
    joint: Mapping[str, Collection[str]],
    misaligned: frozenset[int],
) -> None:
    """
    Args:
        joint: sections that are either of others; where the model names one of these, a trace may
            have seen one of its parts.
        misaligned: table indices of accesses that may be; each counts as all that it may be.

    Raises:
        CheckFailed: what the model counts along a path is not what the trace counted.
    """
    parts = {part: name for name, parts in joint.items() for part in parts}
    alike = _Alike(model, parts)
    for path, trail in trails:
        if alike(path, trail):
            continue
        targets = (model.edges[link].target for link in trail)
        total = Counter(model.nodes[target].vector for target in targets if target >= 0)
        counted: Counts = Counter()
        for vector, number in total.items():
            for key, count in model.vectors[vector].items():
                counted[key] += count * number
        seen: Counts = Counter(path.vector)
        counted, seen = _without_elsewhere(model, path, counted, seen)
        if counted == seen:
            continue
        if any(key.section == UNKNOWN_SECTION for key in counted):
            counted, seen = _blind(counted), _blind(seen)
        else:
            counted, seen = _joined(counted, parts), _joined(seen, parts)
        if misaligned & set(path.index.tolist()) and all(
            counted.get(key, 0) >= number for key, number in seen.items()
        ):
            continue  # such an access counts as all that it may be
        if counted != seen:
            told = "; ".join(
                f"{key}: {seen.get(key, 0)} in the trace, {counted.get(key, 0)} in the model"
                for key in {**seen, **counted}
                if seen.get(key, 0) != counted.get(key, 0)
            )
            raise CheckFailed(
                f"{path.service}: a traced path counts otherwise than its model: {told}",
                expected="the same counts",
            )


class _Alike:
    """Whether a path counts in the model what its trace counted, where no section is unknown: the
    same as :func:`check_counts` finds, of many paths at once. No says nothing.

    Shapes: the matrix is (vectors of the model, kinds of counts), accesses to parts of a joint
    section taken as ones to that.
    """

    def __init__(self, model: PathModel, parts: Mapping[str, str]) -> None:
        self._model, self._parts = model, parts
        self._columns: dict[Key, int] = {}
        self._known: dict[Key, int | None] = {}
        counted: list[tuple[int, int, int]] = []
        for row, vector in enumerate(model.vectors):
            for key, count in vector.items():
                column = self._known.get(key)
                if column is None:
                    joint = _of_joint(key, parts)
                    column = self._columns.setdefault(joint, len(self._columns))
                    self._known[key] = column
                counted.append((row, column, count))
        self._matrix = np.zeros((len(model.vectors), len(self._columns)), dtype=np.int64)
        if counted:
            rows, columns, counts = np.array(counted, dtype=np.int64).T
            np.add.at(self._matrix, (rows, columns), counts)
        unknown = [key.section == UNKNOWN_SECTION for key in self._columns]
        self._unknown = np.array(unknown, dtype=np.bool_)
        self._elsewhere = np.array([is_elsewhere(key) for key in self._columns], dtype=np.bool_)
        self._vector = np.array(
            [model.nodes[edge.target].vector if edge.target >= 0 else -1 for edge in model.edges],
            dtype=np.int64,
        )

    def __call__(self, path: ObservedPath, trail: Sequence[int]) -> bool:
        vectors = self._vector[np.asarray(trail, dtype=np.intp)]
        total = np.bincount(vectors[vectors >= 0], minlength=len(self._matrix))
        counted = total @ self._matrix
        if counted[self._unknown].any():
            return False
        seen = [0] * len(counted)
        known = self._known
        for key, count in path.vector.items():
            column = known[key] if key in known else self._column(key)
            if column is not None:
                seen[column] += count
            elif self._model.lines or not is_line_entry(key):
                return False
        more = counted - np.array(seen, dtype=np.int64)
        return not more[~self._elsewhere].any() and bool((more[self._elsewhere] >= 0).all())

    def _column(self, key: Key) -> int | None:
        column = self._known[key] = self._columns.get(_of_joint(key, self._parts))
        return column


def _of_joint(key: Key, parts: Mapping[str, str]) -> Key:
    """An access to a part of a joint section as one to that."""
    if isinstance(key, AccessClass) and key.section in parts:
        return replace(key, section=parts[key.section])
    return key


def _without_elsewhere(
    model: PathModel, path: ObservedPath, counted: Counts, seen: Counts
) -> tuple[Counts, Counts]:
    """Without entries of lines that there can be at another address, of which a model may count
    more; and of traces without any that the model does not count.

    Raises:
        CheckFailed: it counts fewer.
    """
    if not model.lines:
        return counted, Counter({k: n for k, n in seen.items() if not is_line_entry(k)})
    for key, number in seen.items():
        if is_elsewhere(key) and counted.get(key, 0) < number:
            raise CheckFailed(
                f"{path.service}: a traced path counts more than its model: {key}: {number} in "
                f"the trace, {counted.get(key, 0)} in the model",
                expected="at least as many",
            )
    one, other = (
        Counter({key: number for key, number in counts.items() if not is_elsewhere(key)})
        for counts in (counted, seen)
    )
    return one, other


def _joined(counts: Counts, parts: Mapping[str, str]) -> Counts:
    """Accesses to parts of a joint section as ones to that."""
    found: Counts = Counter()
    for key, number in counts.items():
        found[_of_joint(key, parts)] += number
    return found


def _blind(counts: Counts) -> Counts:
    """Data accesses of no section: which they reach is not known of all."""
    found: Counts = Counter()
    for key, number in counts.items():
        if isinstance(key, AccessClass) and key.operation is not Operation.FETCH:
            key = replace(key, section=UNKNOWN_SECTION)
        found[key] += number
    return found
