"""Bounds of path models as formulas: solved at every value, then written as short as can be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from wcetchar import formula
from wcetchar.analysis.fitting import fit
from wcetchar.engine.piecewise import Solved, affine_pieces, solve_everywhere
from wcetchar.engine.prices import PriceVector
from wcetchar.model.expression import Binary, BinaryOperator, Expression, Name, Negate, Number
from wcetchar.model.path_formula import BoundFormula, FormulaPiece
from wcetchar.model.path_model import PathModel
from wcetchar.model.service import Parameter, ParameterKind


def formula_of(
    model: PathModel, parameters: tuple[Parameter, ...], prices: PriceVector
) -> BoundFormula:
    """Over the declared ranges of a service's parameters. Each case is by itself.

    Raises:
        NoSoundBound, InputError: as of :func:`wcetchar.engine.piecewise.solve_everywhere`.
    """
    ranges = {p.name: (p.minimum, p.maximum) for p in parameters}
    solved = solve_everywhere(model, prices, ranges)
    cases = [p.name for p in parameters if p.kind is ParameterKind.CASE and p.name in solved.ranges]
    unit = _unit(solved, prices.profile.core.clock.low)
    pieces = tuple(
        FormulaPiece({**dict(zip(cases, ((v, v) for v in case), strict=True)), **piece}, expression)
        for case in product(*(_values(solved.ranges[name]) for name in cases))
        for piece, expression in _of_case(solved, dict(zip(cases, case, strict=True)), unit)
    )
    found = BoundFormula(model.service, unit, _together(pieces), len(solved.times), solved.word)
    for point, time in solved.times.items():
        values = dict(zip(solved.ranges, point, strict=True))
        assert found.at(values, formula.evaluate) == time
    return found


def _values(ends: tuple[int, int]) -> range:
    return range(ends[0], ends[1] + 1)


def _unit(solved: Solved, clock: Fraction) -> Fraction:
    """A cycle of the core's slowest clock, where all are multiples of it."""
    cycle = Fraction(10**9) / clock
    if all((time / cycle).denominator == 1 for time in solved.times.values()):
        return cycle
    return Fraction(1, math.lcm(1, *(time.denominator for time in solved.times.values())))


def _of_case(
    solved: Solved, case: Mapping[str, int], unit: Fraction
) -> Iterator[tuple[dict[str, tuple[int, int]], Expression]]:
    """Ranges of the other parameters, and the formula there."""
    others = {name: ends for name, ends in solved.ranges.items() if name not in case}
    times = {
        tuple(point[n] for n, name in enumerate(solved.ranges) if name in others): int(time / unit)
        for point, time in solved.times.items()
        if all(point[n] == case[name] for n, name in enumerate(solved.ranges) if name in case)
    }
    if len(set(times.values())) == 1:
        yield others, Number(next(iter(times.values())))
        return
    found = fit([*others], [*times], [*times.values()], ranges=[*others.values()])
    # A formula that was found is exact at every value: there are no others.
    if found is not None:
        yield others, found
        return
    *fixed, along = others
    for values in product(*(_values(others[name]) for name in fixed)):
        line = [(v, Fraction(times[(*values, v)])) for v in _values(others[along])]
        rest = {name: (v, v) for name, v in zip(fixed, values, strict=True)}
        for piece in affine_pieces(line):
            yield (
                {**rest, along: (piece.low, piece.high)},
                _affine(along, int(piece.constant), int(piece.slope)),
            )


def _affine(name: str, constant: int, slope: int) -> Expression:
    if not slope:
        return _number(constant)
    term: Expression = Name(name)
    if slope != 1:
        term = Binary(BinaryOperator.MULTIPLY, _number(slope), term)
    if not constant:
        return term
    if constant < 0:
        return Binary(BinaryOperator.SUBTRACT, term, Number(-constant))
    return Binary(BinaryOperator.ADD, Number(constant), term)


def _number(value: int) -> Expression:
    return Number(value) if value >= 0 else Negate(Number(-value))


def _together(pieces: tuple[FormulaPiece, ...]) -> tuple[FormulaPiece, ...]:
    """Neighbours with the same formula, one: they differ in the range of one parameter alone."""
    found: list[FormulaPiece] = []
    for piece in pieces:
        joined = _joined(found[-1], piece) if found else None
        if joined is not None:
            found[-1] = joined
        else:
            found.append(piece)
    return tuple(found) if len(found) == len(pieces) else _together(tuple(found))


def _joined(one: FormulaPiece, other: FormulaPiece) -> FormulaPiece | None:
    if one.expression != other.expression or one.ranges.keys() != other.ranges.keys():
        return None
    differing = [name for name in one.ranges if one.ranges[name] != other.ranges[name]]
    if len(differing) != 1:
        return None
    (name,) = differing
    (low, end), (start, high) = one.ranges[name], other.ranges[name]
    if end + 1 != start:
        return None
    return FormulaPiece({**one.ranges, name: (low, high)}, one.expression)
