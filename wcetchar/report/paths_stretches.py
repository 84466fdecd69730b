"""The longest stretches over all paths in which something is held off, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.errors import one_line
from wcetchar.model.characterization import Place, StretchKind, Word
from wcetchar.model.path_bound import PathStretch
from wcetchar.model.path_model import OUTSIDE, PathModel


@dataclass(frozen=True)
class StretchRow:
    """``bound_ns``: none is longer, where ``word`` is bound; 0: nothing is held off on any path.

    Attributes:
        traced_ns: the longest that is published of what traces showed; ``None``: not known.
        begin, end: where, for people; empty without a stretch.
    """

    kind: str
    word: Word
    traced_ns: Fraction | None
    bound_ns: Fraction
    begin: str = ""
    end: str = ""
    notes: tuple[str, ...] = ()

    @property
    def held_off(self) -> str:
        """What the figure is of."""
        masks = self.kind == StretchKind.INTERRUPTS.value
        return "interrupts masked" if masks else "preemption held off"


def stretch_rows(
    model: PathModel, stretches: Sequence[tuple[PathStretch, Fraction | None]]
) -> tuple[StretchRow, ...]:
    """Each with the longest that is published of its kind, in nanoseconds."""
    return tuple(_row(model, stretch, traced) for stretch, traced in stretches)


def _row(model: PathModel, stretch: PathStretch, traced: Fraction | None) -> StretchRow:
    begin = end = ""
    if stretch.begin is not None and stretch.end is not None:
        first, last = model.edges[stretch.begin], model.edges[stretch.end]
        begin = _named(model.nodes[first.target].place)
        end = _named(model.nodes[last.source].end)
        if first.source == OUTSIDE:
            begin += ", where it begins"
        if last.target == OUTSIDE:
            end += ", where it ends"
    notes = tuple(one_line(note) for note in stretch.notes)
    return StretchRow(stretch.kind.value, stretch.word, traced, stretch.time, begin, end, notes)


def _named(place: Place) -> str:
    at = f" ({place.file}:{place.line})" if place.line else ""
    offset = f"+{place.offset:#x}" if place.offset else ""
    return one_line(f"{place.function or '?'}{offset}{at}")
