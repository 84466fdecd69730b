"""The longest stretches of a whole characterization, by executed instructions.

A characterization has no times, so length is counted in instructions, at the parameter values that
were observed (where none are published: at the corners of the parameters' ranges). Which stretch
takes longest on given hardware is for `wcetchar estimate` to say.

Where another activity goes on with what a stretch holds off, the instructions of the longest that
can follow are added (``model/chain``), and stretches are ranked by the whole.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from wcetchar import formula
from wcetchar.errors import one_line
from wcetchar.model.access import AccessVector
from wcetchar.model.chain import FOLLOWED, Candidate, Chains, Gap
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    Place,
    ServiceCharacterization,
    StretchKind,
)
from wcetchar.model.expression import Expression

SHOWN = 5

Measure = Callable[[AccessVector], int]


def _instructions(vector: AccessVector) -> int:
    return vector.instructions


def _supervisor_calls(vector: AccessVector) -> int:
    return vector.supervisor_calls


@dataclass(frozen=True)
class PlaceRow:
    """``text`` is for people and also says which call led here; ``None``: not known.
    ``inlined_file`` and ``inlined_line``: of the code that was inlined at the line."""

    text: str
    function: str | None
    offset: int | None
    file: str | None
    line: int | None
    inlined_file: str | None = None
    inlined_line: int | None = None


@dataclass(frozen=True)
class LongStretch:
    """A stretch at the parameter values where it executes most instructions.

    Attributes:
        whole: its instructions and those of all that goes on with it; ``follows`` names these.
        not_bounded: why it can be more.
        also_in: further services in which a stretch begins and ends at these places.
    """

    kind: str
    instructions: int
    service: str
    parameters: tuple[tuple[str, int], ...]
    begin: PlaceRow
    end: PlaceRow
    also_in: tuple[str, ...]
    whole: int = 0
    follows: tuple[FollowRow, ...] = ()
    not_bounded: tuple[str, ...] = ()


@dataclass(frozen=True)
class FollowRow:
    """What goes on with a stretch, or a handler that is called inside of it."""

    service: str
    instructions: int


def longest_stretches(
    characterization: Characterization, kind: StretchKind, shown: int = SHOWN
) -> tuple[LongStretch, ...]:
    """The longest stretches of a kind, each place once, the longest first."""
    following = _Following(characterization, kind)
    found: dict[tuple[str, str], list[LongStretch]] = {}
    for service in characterization.services:
        for stretch in service.stretches:
            if stretch.kind is kind:
                row = following.added(_longest(service, stretch), service, stretch)
                found.setdefault((row.begin.text, row.end.text), []).append(row)
    rows = []
    for same in found.values():
        same.sort(key=lambda row: (-row.whole, row.service))
        others = tuple(sorted({row.service for row in same} - {same[0].service}))
        rows.append(replace(same[0], also_in=others))
    rows.sort(key=lambda row: (-row.whole, row.service, row.begin.text, row.end.text))
    return tuple(rows[:shown])


class _Following:
    """What can go on with stretches of one kind, in instructions."""

    def __init__(self, characterization: Characterization, kind: StretchKind) -> None:
        handlers = [FollowRow("", 0)]
        candidates = []
        for service in characterization.services:
            stretches = [s for s in service.stretches if s.kind is kind]
            if any(Joint.HANDLER in (s.goes_on_from or ()) for s in stretches):
                whole, _ = _most(service, service.counts, _instructions)
                handlers.append(FollowRow(one_line(service.name), whole))
        self._handler = max(handlers, key=lambda row: row.instructions)
        for service in characterization.services:
            for stretch in service.stretches:
                if stretch.kind is not kind or not (stretch.goes_on_from or frozenset()) & FOLLOWED:
                    continue
                length, _ = _most(service, stretch.counts, _instructions)
                length += _inner_calls(service, stretch) * self._handler.instructions
                candidates.append(
                    Candidate(
                        FollowRow(one_line(service.name), length),
                        Fraction(length),
                        stretch.goes_on_from or frozenset(),
                        stretch.goes_on_in or frozenset(),
                    )
                )
        self._chains = Chains(candidates)

    def added(
        self, row: LongStretch, service: ServiceCharacterization, stretch: BlockingStretch
    ) -> LongStretch:
        """The row with all that goes on with its stretch."""
        rest = self._chains.after(stretch.goes_on_in or ())
        calls = _inner_calls(service, stretch)
        follows = rest.items
        gaps = [gap.value for gap in Gap if gap in rest.gaps]
        if calls:
            inside = FollowRow(self._handler.service, calls * self._handler.instructions)
            follows = (inside, *follows) if self._handler.service else follows
            gaps += [] if self._handler.service else [Gap.NO_HANDLER.value]
        return replace(
            row,
            whole=row.instructions + sum(f.instructions for f in follows),
            follows=follows,
            not_bounded=tuple(dict.fromkeys(gaps)),
        )


def _inner_calls(service: ServiceCharacterization, stretch: BlockingStretch) -> int:
    """Supervisor calls inside a stretch at most that come back to it."""
    if stretch.goes_on_in is None:
        return 0
    most, _ = _most(service, stretch.counts, _supervisor_calls)
    return max(0, most - (Joint.HANDLER in (stretch.goes_on_in or ())))


def _longest(service: ServiceCharacterization, stretch: BlockingStretch) -> LongStretch:
    most, values = _most(service, stretch.counts, _instructions)
    names = tuple(parameter.name for parameter in service.parameters)
    return LongStretch(
        kind=stretch.kind.value,
        instructions=most,
        service=one_line(service.name),
        parameters=tuple((one_line(n), v) for n, v in zip(names, values, strict=True)),
        begin=_place(stretch.begin, stretch.begin_place),
        end=_place(stretch.end, stretch.end_place),
        also_in=(),
    )


def _most(
    service: ServiceCharacterization, counts: Counts, what: Measure
) -> tuple[int, tuple[int, ...]]:
    """The largest sum of something over the points of a service, and the first where it is."""
    names = tuple(parameter.name for parameter in service.parameters)
    if counts.is_formula:
        # Many rows have the same repetition; each formula is evaluated once for a point.
        times: Counter[Expression] = Counter()
        for row in counts.rows:
            times[row.repetition] += what(row.vector)
        weighted = [(repetition, number) for repetition, number in times.items() if number]
        sums = {
            values: _sum(weighted, dict(zip(names, values, strict=True)))
            for values in _points(service)
        }
    else:
        sums = {
            point.values: sum(what(row.vector) for row in point.rows) for point in counts.points
        }
    values = max(sorted(sums), key=sums.__getitem__)
    return sums[values], values


def _points(service: ServiceCharacterization) -> Iterator[tuple[int, ...]]:
    observed = [*service.evidence.fitted, *service.evidence.held_out]
    observed += [point.values for point in service.counts.points]
    yield from observed or itertools.product(
        *(sorted({p.minimum, p.maximum}) for p in service.parameters)
    )


def _sum(weighted: Iterable[tuple[Expression, int]], at: Mapping[str, int]) -> int:
    return sum(formula.evaluate(repetition, at) * number for repetition, number in weighted)


def _place(text: str, place: Place | None) -> PlaceRow:
    place = place or Place()
    known = bool(place.function)
    return PlaceRow(
        text=one_line(text),
        function=one_line(place.function) if known else None,
        offset=place.offset if known else None,
        file=one_line(place.file) or None,
        line=place.line or None,
        inlined_file=one_line(place.inlined_file) or None,
        inlined_line=place.inlined_line or None,
    )
