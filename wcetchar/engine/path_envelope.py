"""A path model at many values of its parameters at once.

With p a point of a box of values, c_e(p) the coefficients of a constraint and L(p) its limit::

    c_e = min over p of c_e(p)      L = max over p of L(p)
    sum of c_e * x_e  <=  sum of c_e(p) * x_e  <=  L(p)  <=  L

for counts x_e are not negative: each flow that is possible at any point is one of this *envelope*,
so nothing in the box is dearer than its bound. Where a point has all of these coefficients and
limits itself, the envelope is the model at that point, and its bound is reached there. What is said
of stretches that hold something off hangs on signs, and on which limits are 0 (``path_order``): it
holds of the envelope where these are the same at all points.

Each formula is evaluated at all values of the parameters that it uses: none is supposed to rise, or
to fall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wcetchar import formula
from wcetchar.engine.parameter_box import Box
from wcetchar.model.expression import Expression, Negate, Number
from wcetchar.model.path_model import FlowConstraint, PathModel

MOST_EVALUATED: Final = 1 << 20
"""Points at which one formula is evaluated."""


@dataclass(frozen=True)
class Envelope:
    """
    Attributes:
        model: without parameters.
        at: a point that the envelope is the model of; ``None``: none was found.
        alike: signs are the same everywhere, so that stretches have this envelope too.
    """

    model: PathModel
    at: Mapping[str, int] | None
    alike: bool


def envelope(model: PathModel, box: Box) -> Envelope | None:
    """``None``: a formula has too many values.

    Args:
        box: values of all parameters that the constraints use, and perhaps of others.

    Raises:
        InputError: one is missing, or a formula fails at some point.
    """
    found = _Search(box)
    constraints = []
    for one in model.constraints:
        limit = found.extreme(one.limit, largest=True)
        coefficients = {e: found.extreme(c, largest=False) for e, c in one.coefficients.items()}
        if limit is None or None in coefficients.values():
            return None
        constraints.append(_constant(one, coefficients, limit))
    return Envelope(replace(model, constraints=tuple(constraints)), found.point(), found.alike)


class _Search:
    """Extremes of formulas, and where all of them are."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._within = {name: np.ones(len(values), dtype=bool) for name, values in box.items()}
        self._known: dict[tuple[Expression, bool], int | None] = {}
        self.alike = True

    def extreme(self, expression: Expression, largest: bool) -> int | None:
        """``None``: there are too many points."""
        key = expression, largest
        if key not in self._known:
            self._known[key] = self._found(expression, largest)
        return self._known[key]

    def point(self) -> Mapping[str, int] | None:
        """One at which all formulas that were asked for are at their extremes."""
        if not all(within.any() for within in self._within.values()):
            return None
        last = {
            name: self._box[name][int(np.flatnonzero(within)[-1])]
            for name, within in self._within.items()
        }
        for (expression, _), value in self._known.items():
            if formula.evaluate(expression, last) != value:
                return None
        return last

    def _found(self, expression: Expression, largest: bool) -> int | None:
        names = sorted(formula.names(expression) & self._box.keys())
        sizes = tuple(len(self._box[name]) for name in names)
        if math.prod(sizes) > MOST_EVALUATED:
            return None
        if not names:
            return formula.evaluate(expression, {})
        values = formula.evaluate_many(expression, dict(self._columns(names))).reshape(sizes)
        found = values.max() if largest else values.min()
        self.alike &= bool((np.sign(values) == np.sign(found)).all())
        there = values == found
        for axis, name in enumerate(names):
            others = tuple(n for n in range(len(names)) if n != axis)
            self._within[name] &= there.any(axis=others)
        return int(found)

    def _columns(self, names: list[str]) -> Iterator[tuple[str, NDArray[np.int64]]]:
        axes = [np.array(self._box[name], dtype=np.int64) for name in names]
        for name, column in zip(names, np.meshgrid(*axes, indexing="ij"), strict=True):
            yield name, column.ravel()


def _constant(
    one: FlowConstraint, coefficients: Mapping[int, int | None], limit: int
) -> FlowConstraint:
    known = {edge: _number(value) for edge, value in coefficients.items() if value is not None}
    return replace(one, coefficients=known, limit=_number(limit))


def _number(value: int) -> Expression:
    return Number(value) if value >= 0 else Negate(Number(-value))
