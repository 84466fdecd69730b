"""The bound of a path model as formulas of its parameters, each over a part of their ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.errors import InputError
from wcetchar.model.characterization import Word
from wcetchar.model.expression import Expression


@dataclass(frozen=True)
class FormulaPiece:
    """``expression`` holds where each parameter lies in its range, both ends included."""

    ranges: Mapping[str, tuple[int, int]]
    expression: Expression

    def holds(self, values: Mapping[str, int]) -> bool:
        return all(low <= values[name] <= high for name, (low, high) in self.ranges.items())


@dataclass(frozen=True)
class BoundFormula:
    """
    Attributes:
        service: published name.
        unit: what the formulas are multiples of, in nanoseconds.
        pieces: one for each value of the ranges.
        points: values at which the bound was solved and proved: all that there are.
        word: the weakest of the bounds.
    """

    service: str
    unit: Fraction
    pieces: tuple[FormulaPiece, ...]
    points: int
    word: Word

    def at(
        self, values: Mapping[str, int], evaluate: Callable[[Expression, Mapping[str, int]], int]
    ) -> Fraction:
        """In nanoseconds.

        Raises:
            InputError: the values lie outside of what it was proved for.
        """
        for piece in self.pieces:
            if all(name in values for name in piece.ranges) and piece.holds(values):
                return self.unit * evaluate(piece.expression, values)
        at = ", ".join(f"{name}={value}" for name, value in values.items())
        raise InputError(
            f"the bound of {self.service} has no formula at {at or 'no values'}",
            expected="values in the ranges that it was solved for",
            hint="solve the bound at these values",
        )
