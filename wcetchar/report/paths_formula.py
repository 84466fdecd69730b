"""A bound as formulas of the parameters, as rows of text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from wcetchar import formula
from wcetchar.errors import one_line
from wcetchar.model.path_formula import BoundFormula
from wcetchar.report.numbers import grouped


@dataclass(frozen=True)
class PieceRow:
    """``where``: the values that it holds for, for people; empty: it depends on none. ``text``: in
    multiples of the unit."""

    where: str
    ranges: tuple[tuple[str, int, int], ...]
    text: str


@dataclass(frozen=True)
class FormulaRows:
    """
    Attributes:
        unit_ns: what the formulas are multiples of.
        points: values at which the bound was solved.
        word: the weakest of the bounds.
    """

    unit_ns: Fraction
    pieces: tuple[PieceRow, ...]
    points: int
    word: str

    @property
    def unit(self) -> str:
        return f"{grouped(self.unit_ns)} ns"


def formula_rows(found: BoundFormula) -> FormulaRows:
    pieces = []
    for piece in found.pieces:
        ranges = tuple((one_line(name), *ends) for name, ends in piece.ranges.items())
        where = ", ".join(
            f"{name} = {low}" if low == high else f"{low} <= {name} <= {high}"
            for name, low, high in ranges
        )
        pieces.append(PieceRow(where, ranges, formula.to_text(piece.expression)))
    return FormulaRows(found.unit, tuple(pieces), found.points, found.word.value)
