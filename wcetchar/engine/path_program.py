"""The integer program of a worst path as a whole, for other solvers: nothing is left out or joined
as it is before it is solved here (``network``).

    maximise    sum over edges e of  price(node that e leads to) * x_e      in nanoseconds,
                and what is under way when a path begins for its entry (``path_prices``)
    subject to  one entry and one exit; what enters a node leaves it; each constraint of the model

Source: Y.-T. S. Li and S. Malik, "Performance Analysis of Embedded Software Using Implicit Path
Enumeration", DAC 1995. Interference comes whole times on top (``paths``).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from wcetchar.engine.paths import at_values
from wcetchar.engine.prices import PriceVector
from wcetchar.model.path_model import OUTSIDE, PathModel
from wcetchar.solver import Constraint, LinearProgram, Variable


def program_of(model: PathModel, prices: PriceVector, values: Mapping[str, int]) -> LinearProgram:
    """To be maximised. ``prices`` and ``values`` as of :func:`wcetchar.engine.paths.bound_of`;
    the variable ``x7`` is how often edge 7 is taken.

    Raises:
        InputError, NoSoundBound: as there, but not that nothing bounds it.
    """
    at = at_values(model, prices, values)
    names = [f"x{number}" for number in range(len(model.edges))]
    one = Fraction(1)
    through: list[dict[str, Fraction]] = [{} for _ in model.nodes]
    for name, edge in zip(names, model.edges, strict=True):
        for node, sign in ((edge.target, 1), (edge.source, -1)):
            if node != OUTSIDE:
                through[node][name] = through[node].get(name, Fraction(0)) + sign
    rows = [
        Constraint("one entry", {names[n]: one for n in model.entries}, one, one),
        Constraint("one exit", {names[n]: one for n in model.exits}, one, one),
    ]
    for number, coefficients in enumerate(through):
        zero = Fraction(0)
        place = model.nodes[number].place
        where = f" ({place.function}, {place.file}:{place.line})" if place.function else ""
        rows.append(Constraint(f"node {number}{where}", coefficients, zero, zero))
    for number, limit in enumerate(at.limits):
        column = {
            names[edge]: Fraction(found[number])
            for edge, found in enumerate(at.columns)
            if found.get(number)
        }
        if column:
            upper = Fraction(limit.limit)
            rows.append(Constraint(limit.label, column, upper=upper))
    costs = {
        name: at.times[edge.target] + (prices.under_way if edge.source == OUTSIDE else 0)
        for name, edge in zip(names, model.edges, strict=True)
        if edge.target != OUTSIDE
    }
    return LinearProgram(tuple(Variable(name, integer=True) for name in names), tuple(rows), costs)
