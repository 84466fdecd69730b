"""From counts at parameter values to the published table: trace sections with repetitions.

Input: per point (values of the parameters) a sparse count of (blocking, key, instruction).
Each instruction's count is a function of the parameters. Instructions with the same function
share a repetition, so fitting every distinct count vector exactly (``fit``) and splitting the
formula into multiplicity times repetition (``decompose``) groups them into trace sections:

    count(p) = sum over rows of repetition_row(p) * vector_row

as in the founding paper's table (Renaux, de Goes, Linhares 2010, section 5.1). Where single
instructions have no exact formula but their sum over an access class does (one of two branches is
taken by parity, say), the sum is fitted. Where that fails too there is no formula: the observed
values are published as they are. In each case of a parameter whose values are cases
(``cases``) formulas are looked for on their own.

Soundness: a formula is used only if it meets every observed point exactly, points that were not
used to fit included.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from wcetchar import formula
from wcetchar.analysis.cases import Cases, Point, Row
from wcetchar.analysis.fitting import decompose, fit, hold_out_points
from wcetchar.analysis.successions import Successions
from wcetchar.counting.columns import (
    CODE_BITS,
    INSTRUCTION_BITS,
    SUCCESSION,
    key_of,
    unpack,
)
from wcetchar.model.access import AccessVector, Key
from wcetchar.model.characterization import Blocking, Counts, TablePoint, TraceSection
from wcetchar.model.expression import ONE, Expression
from wcetchar.model.service import Parameter

Packed = dict[int, int]
"""Packed (blocking, code, instruction) -> count."""


class PackedPoints(MutableMapping[Point, Packed]):
    """Counts by point. A kernel's windows have some hundred million together, so they are kept as
    arrays: of what is counted, once for all points at which that is the same, and of counts, no
    wider than the largest. What is read is a copy."""

    def __init__(self) -> None:
        self._kept: dict[Point, tuple[npt.NDArray[np.int64], npt.NDArray[np.integer]]] = {}
        self._codes: dict[bytes, npt.NDArray[np.int64]] = {}

    def __getitem__(self, point: Point) -> Packed:
        codes, counts = self._kept[point]
        return dict(zip(codes.tolist(), counts.tolist(), strict=True))

    def __setitem__(self, point: Point, counts: Packed) -> None:
        number = len(counts)
        codes = np.fromiter(counts.keys(), dtype=np.int64, count=number)
        often = np.fromiter(counts.values(), dtype=np.int64, count=number)
        self._kept[point] = (
            self._codes.setdefault(codes.tobytes(), codes),
            often.astype(np.min_scalar_type(often.max(initial=0))),
        )

    def __delitem__(self, point: Point) -> None:
        del self._kept[point]

    def __iter__(self) -> Iterator[Point]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


@dataclass
class Observations:
    """Counts by point; of several windows at one point the elementwise maximum is kept."""

    windows: int = 0
    points: PackedPoints = field(default_factory=PackedPoints)
    differing: set[Point] = field(default_factory=set)
    """Points at which two windows differed: their maximum belongs to no single window."""

    def add(self, values: Point, counts: Packed) -> None:
        self.windows += 1
        known = self.points.get(values)
        if known is None:
            self.points[values] = counts
        elif known != counts:
            self.differing.add(values)
            self.points[values] = {
                code: max(known.get(code, 0), counts.get(code, 0)) for code in known | counts
            }


def packed_counts(packed: np.ndarray) -> Packed:
    """Counts of equal entries."""
    codes, counts = np.unique(packed, return_counts=True)
    return dict(zip(codes.tolist(), counts.tolist(), strict=True))


def publish(
    observations: Mapping[Point, Packed],
    parameters: Sequence[Parameter],
    blockings: Sequence[Blocking],
    section_names: tuple[str, ...],
    successions: Successions | None = None,
) -> Counts:
    """Counts as exact formulas where every one of them has one, else as a table of points."""
    points = sorted(observations)
    formulas = _over_cases(observations, parameters, successions)
    names = _Names(section_names, successions)
    if formulas is None:
        return Counts(
            points=tuple(
                TablePoint(
                    point,
                    counted_once(observations[point], blockings, section_names, successions).rows,
                )
                for point in points
            )
        )
    return Counts(rows=_rows(formulas, blockings, names))


def counted_once(
    counts: Packed,
    blockings: Sequence[Blocking],
    section_names: tuple[str, ...],
    successions: Successions | None = None,
) -> Counts:
    """What was counted at one point, whatever its parameters are."""
    names = _Names(section_names, successions)
    return Counts(rows=_rows([(c, n, ONE) for c, n in counts.items()], blockings, names))


def evidence_points(
    points: Sequence[Point], parameters: Sequence[Parameter]
) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """(fitted, held out), as :func:`publish` used them."""
    cases = Cases(parameters)
    fitted: list[Point] = []
    held: list[Point] = []
    for case, free in cases.split(dict.fromkeys(points)).items():
        for found, kept in zip(hold_out_points(sorted(free)), (fitted, held), strict=True):
            kept += (cases.joined(case, point) for point in found)
    return tuple(sorted(fitted)), tuple(sorted(held))


def _over_cases(
    observations: Mapping[Point, Packed],
    parameters: Sequence[Parameter],
    successions: Successions | None,
) -> list[Row] | None:
    """Rows for every count, ``None`` where there is no formula."""
    cases = Cases(parameters)
    rows: dict[Point, list[Row]] = {}
    for case, observed in cases.split(observations).items():
        found = _formulas(observed, sorted(observed), cases.free, successions) if observed else []
        if found is None:
            return None
        rows[case] = found
    return list(cases.together(rows))


def _formulas(
    observations: Mapping[Point, Packed],
    points: Sequence[Point],
    parameters: Sequence[Parameter],
    successions: Successions | None,
) -> list[Row] | None:
    """Rows for every count, ``None`` where there is no formula."""
    names = [p.name for p in parameters]
    ranges = [(p.minimum, p.maximum) for p in parameters]
    if any(
        p.minimum < p.maximum and len({point[i] for point in points}) == 1
        for i, p in enumerate(parameters)
    ):
        return None  # one value of a parameter does not even show that it does not matter
    formulas = _formulas_at(tuple(names), tuple(points), tuple(ranges))
    columns: dict[int, list[int]] = defaultdict(lambda: [0] * len(points))
    for i, point in enumerate(points):
        for code, count in observations[point].items():
            columns[code][i] = count
    found: list[Row] = []
    leftover: dict[int, list[int]] = defaultdict(lambda: [0] * len(points))
    for code, counts in sorted(columns.items()):
        rows = formulas.rows(tuple(counts))
        if rows is None:
            blocking, key, _ = unpack(code)
            total = leftover[(blocking << CODE_BITS) | key]
            for i, count in enumerate(counts):
                total[i] += count
        else:
            found += [(code, n, r) for n, r in rows]
    # What lies between two accesses may depend on a parameter, even if how many there are does not:
    # then all that lead to one access are taken for the dearest of them.
    dearest: dict[int, list[int]] = defaultdict(lambda: [0] * len(points))
    for joined, total in sorted(leftover.items()):
        rows = formulas.rows(tuple(total))
        if rows is not None:
            found += [(joined << INSTRUCTION_BITS, n, r) for n, r in rows]
        elif successions is not None and joined & SUCCESSION:
            key = joined & (1 << CODE_BITS) - 1
            summed = dearest[joined - key | successions.dearest(key)]
            for i, count in enumerate(total):
                summed[i] += count
        else:
            return None
    for joined, total in sorted(dearest.items()):
        rows = formulas.rows(tuple(total))
        if rows is None:
            return None
        found += [(joined << INSTRUCTION_BITS, n, r) for n, r in rows]
    return found


class _Formulas:
    """Of counts at the same points of the same parameters. Most counts occur again: in other cases,
    stretches and classes."""

    def __init__(
        self,
        names: tuple[str, ...],
        points: tuple[Point, ...],
        ranges: tuple[tuple[int, int], ...],
    ) -> None:
        self._names, self._points, self._ranges = names, points, ranges
        self._known: dict[tuple[int, ...], tuple[tuple[int, Expression], ...] | None] = {}

    def rows(self, counts: tuple[int, ...]) -> tuple[tuple[int, Expression], ...] | None:
        """Multiplicities and repetitions; ``None``: there is no formula."""
        if counts not in self._known:
            expression = fit(self._names, self._points, counts, ranges=self._ranges)
            self._known[counts] = (
                None if expression is None else decompose(expression, self._names, self._ranges)
            )
        return self._known[counts]


_formulas_at = lru_cache(maxsize=32)(_Formulas)


@dataclass(frozen=True)
class _Names:
    """What packed classes stand for."""

    sections: tuple[str, ...]
    successions: Successions | None

    def key(self, code: int) -> Key:
        return key_of(code, self.sections, self.successions.keys if self.successions else ())


def _rows(
    counts: Sequence[Row],
    blockings: Sequence[Blocking],
    names: _Names,
) -> tuple[TraceSection, ...]:
    """Groups (packed, multiplicity, repetition) into rows: once first, unblocked first."""
    grouped: dict[tuple[bool, str, Blocking], dict[Key, int]] = defaultdict(dict)
    expressions: dict[str, Expression] = {}
    once = formula.to_text(ONE)
    for packed, multiplicity, repetition in counts:
        blocking, code, _ = unpack(packed)
        text = once if repetition is ONE else formula.to_text(repetition)
        expressions[text] = repetition
        row = grouped[(repetition != ONE, text, blockings[blocking])]
        key = names.key(code)
        row[key] = row.get(key, 0) + multiplicity
    return tuple(
        TraceSection(blocking, AccessVector(vector), expressions[text])
        for (_, text, blocking), vector in sorted(
            grouped.items(), key=lambda item: (item[0][0], item[0][1], _order(item[0][2]))
        )
    )


def _order(blocking: Blocking) -> tuple[bool, bool, int, bool, bool, bool]:
    return (
        blocking.holds_preemption,
        blocking.masks,
        -1 if blocking.priority is None else blocking.priority,
        blocking.preemption,
        blocking.interrupts,
        blocking.unknown,
    )
