"""The longest stretches of a whole characterization, by executed instructions.

A characterization has no times, so length is counted in instructions, at the parameter values that
were observed (where none are published: at the corners of the parameters' ranges). Which stretch
takes longest on given hardware is for `wcetchar estimate` to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from wcetchar import formula
from wcetchar.errors import one_line
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    Counts,
    Place,
    ServiceCharacterization,
    StretchKind,
)

SHOWN = 5


@dataclass(frozen=True)
class PlaceRow:
    """``text`` is for people and also says which call led here; ``None``: not known."""

    text: str
    function: str | None
    offset: int | None
    file: str | None
    line: int | None


@dataclass(frozen=True)
class LongStretch:
    """A stretch at the parameter values where it executes most instructions. ``also_in``: further
    services in which a stretch begins and ends at these places."""

    kind: str
    instructions: int
    service: str
    parameters: tuple[tuple[str, int], ...]
    begin: PlaceRow
    end: PlaceRow
    also_in: tuple[str, ...]


def longest_stretches(
    characterization: Characterization, kind: StretchKind, shown: int = SHOWN
) -> tuple[LongStretch, ...]:
    """The longest stretches of a kind, each place once, the longest first."""
    found: dict[tuple[str, str], list[LongStretch]] = {}
    for service in characterization.services:
        for stretch in service.stretches:
            if stretch.kind is kind:
                row = _longest(service, stretch)
                found.setdefault((row.begin.text, row.end.text), []).append(row)
    rows = []
    for same in found.values():
        same.sort(key=lambda row: (-row.instructions, row.service))
        first = same[0]
        others = tuple(sorted({row.service for row in same} - {first.service}))
        rows.append(
            LongStretch(
                first.kind,
                first.instructions,
                first.service,
                first.parameters,
                first.begin,
                first.end,
                others,
            )
        )
    rows.sort(key=lambda row: (-row.instructions, row.service, row.begin.text, row.end.text))
    return tuple(rows[:shown])


def _longest(service: ServiceCharacterization, stretch: BlockingStretch) -> LongStretch:
    names = tuple(parameter.name for parameter in service.parameters)
    lengths = {
        values: _instructions(stretch.counts, names, values)
        for values in _points(service, stretch.counts)
    }
    values = max(sorted(lengths), key=lengths.__getitem__)
    return LongStretch(
        kind=stretch.kind.value,
        instructions=lengths[values],
        service=one_line(service.name),
        parameters=tuple((one_line(n), v) for n, v in zip(names, values, strict=True)),
        begin=_place(stretch.begin, stretch.begin_place),
        end=_place(stretch.end, stretch.end_place),
        also_in=(),
    )


def _points(service: ServiceCharacterization, counts: Counts) -> Iterator[tuple[int, ...]]:
    if not counts.is_formula:
        yield from (point.values for point in counts.points)
        return
    observed = [*service.evidence.fitted, *service.evidence.held_out]
    observed += [point.values for point in service.counts.points]
    yield from observed or itertools.product(
        *(sorted({p.minimum, p.maximum}) for p in service.parameters)
    )


def _instructions(counts: Counts, names: tuple[str, ...], values: tuple[int, ...]) -> int:
    if counts.is_formula:
        at = dict(zip(names, values, strict=True))
        return sum(
            formula.evaluate(row.repetition, at) * row.vector.instructions for row in counts.rows
        )
    point = next(point for point in counts.points if point.values == values)
    return sum(row.vector.instructions for row in point.rows)


def _place(text: str, place: Place | None) -> PlaceRow:
    place = place or Place()
    known = bool(place.function)
    return PlaceRow(
        text=one_line(text),
        function=one_line(place.function) if known else None,
        offset=place.offset if known else None,
        file=one_line(place.file) or None,
        line=place.line or None,
    )
