"""Times of a profile that are never below any measurement and over by the least in total.

Given for each measured row i its counts c_i,k and its largest time m_i, and for each class k its
price p_k as a linear function of the times t of the profile that are ranges::

    minimise    sum over i of w_i * (sum over k of c_i,k * p_k(t)  -  m_i)
    subject to  sum over k of c_i,k * p_k(t) >= m_i                  for every row i
                low_j <= t_j <= high_j                               as the profile says
                time - overlap >= 0                                  for accesses with an overlap

with w_i = 1, or 1 / m_i for the least *relative* total. All counts are zero or more, so raising a
time never breaks a row, and there is an answer if, and only if, the upper ends are one.

The solver's answer is rounded up to a step and each row is checked again exactly; a row that is
still short by the solver's tolerance has its times raised by further steps. Where several times are
paid together, rounding each of them up is more than is needed: then each, the most paid first, is
lowered again by as many steps as all rows allow, but to nothing that it is not in some answer. A
time that no row pays
stays at the upper end of its range. The result is never below the rows it was made from; of other
rows it says nothing, which is why some are left out and used as a check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.errors import NoSoundBound
from wcetchar.model.access import Key
from wcetchar.model.fitting import Fit, FittedTime, LinearPrice, LinearPrices, Place
from wcetchar.solver import Constraint, LinearProgram, Variable, solve

_NAMED = 5
_TIGHT = Fraction(1001, 1000)
_MORE = Fraction(1, 10**6)
"""By how much a total may be larger and still count as no worse."""
_SAME = Fraction(1, 10**5)
"""The same for each step, where a time is to be one of an answer: far less than rounding adds."""


@dataclass(frozen=True)
class Row:
    """One measured row: what it is called, its counts, and the largest measured time in ns."""

    label: str
    counts: Mapping[Key, int]
    measured: Fraction


def fit(
    rows: Sequence[Row],
    prices: LinearPrices,
    *,
    step: Fraction = Fraction(1, 1000),
    relative: bool = False,
    ranges: bool = True,
) -> Fit:
    """Find the times. ``step``: what values are rounded up to, in each time's own unit.

    Raises:
        NoSoundBound: even the upper ends of all ranges are below some measurement; names the rows.
    """
    costs = [_cost(row, prices) for row in rows]
    upper = {place: quantity.high for place, quantity in prices.free.items()}
    short = [
        (row, value)
        for row, cost in zip(rows, costs, strict=True)
        if (value := _value(cost, upper)) < row.measured
    ]
    if short:
        raise NoSoundBound(
            f"the ranges of the profile allow nothing that is above {len(short)} of "
            f"{len(rows)} measurements",
            details=tuple(
                f"{row.label}: measured {float(row.measured):.1f} ns, at most {float(value):.1f} ns"
                for row, value in short[:_NAMED]
            ),
            expected="ranges whose upper ends are above every measurement",
            hint="widen a range, or look for what these rows have and others lack",
        )
    weights = [1 / row.measured if relative and row.measured else Fraction(1) for row in rows]
    objective: dict[Place, Fraction] = {}
    for cost, weight in zip(costs, weights, strict=True):
        for place, coefficient in cost.coefficients.items():
            objective[place] = objective.get(place, Fraction(0)) + coefficient * weight
    paid = {place for place, coefficient in objective.items() if coefficient}
    found = dict(upper)
    spans: dict[Place, tuple[Fraction, Fraction]] = {}
    if paid:
        program = _program(rows, costs, prices, objective, paid)
        solution = solve(program)
        found |= {place: solution.values[_name(place)] for place in paid}
        exact = dict(found)
        found = _rounded(exact, rows, costs, prices, step, paid)
        moved = [p for p in prices.free if p in paid and found[p] - exact[p] > step / 1000]
        if len(moved) > 1:
            least = {
                place: ends[0]
                for place, ends in _spans(program, moved, solution.objective, _SAME * step)
            }
            found = _lowered(found, _limits(rows, costs, prices), least, step)
        if ranges:
            best = sum((c * found[p] for p, c in objective.items()), start=Fraction(0))
            spans = dict(_spans(program, [p for p in prices.free if p in paid], best))
    counted = {place: Fraction(0) for place in prices.free}
    for row in rows:
        for key, count in row.counts.items():
            for place in prices.prices[key].coefficients:
                counted[place] += count
    return Fit(
        times=tuple(
            FittedTime(
                place=place,
                given=quantity,
                value=found[place],
                unit=quantity.unit,
                least=spans[place][0] if place in spans else None,
                most=spans[place][1] if place in spans else None,
                counted=counted[place],
            )
            for place, quantity in prices.free.items()
        ),
        excess=sum(
            (_value(cost, found) - row.measured for row, cost in zip(rows, costs, strict=True)),
            start=Fraction(0),
        ),
        rows=len(rows),
        tight=tuple(
            row.label
            for row, cost in zip(rows, costs, strict=True)
            if cost.coefficients and _value(cost, found) <= row.measured * _TIGHT
        ),
    )


def price_of(row: Row, prices: LinearPrices, found: Fit) -> Fraction:
    """What a row costs with the times of a fit, in nanoseconds."""
    return _value(_cost(row, prices), {time.place: time.value for time in found.times})


def _cost(row: Row, prices: LinearPrices) -> LinearPrice:
    """What a row costs, as a function of the times."""
    constant = Fraction(0)
    coefficients: dict[Place, Fraction] = {}
    for key, count in row.counts.items():
        price = prices.prices[key]
        constant += price.constant * count
        for place, coefficient in price.coefficients.items():
            coefficients[place] = coefficients.get(place, Fraction(0)) + coefficient * count
    return LinearPrice(constant, {p: c for p, c in coefficients.items() if c})


def _value(cost: LinearPrice, times: Mapping[Place, Fraction]) -> Fraction:
    return cost.constant + sum(
        (c * times[place] for place, c in cost.coefficients.items()), start=Fraction(0)
    )


def _program(
    rows: Sequence[Row],
    costs: Sequence[LinearPrice],
    prices: LinearPrices,
    objective: Mapping[Place, Fraction],
    paid: set[Place],
) -> LinearProgram:
    places = [place for place in prices.free if place in paid]
    return LinearProgram(
        variables=tuple(
            Variable(_name(place), prices.free[place].low, prices.free[place].high)
            for place in places
        ),
        constraints=(
            *(
                Constraint(
                    f"{number}: {row.label}",
                    {_name(p): c for p, c in cost.coefficients.items()},
                    lower=row.measured - cost.constant,
                )
                for number, (row, cost) in enumerate(zip(rows, costs, strict=True))
                if cost.coefficients
            ),
            *(
                Constraint(
                    label,
                    {_name(p): c for p, c in price.coefficients.items()},
                    lower=-price.constant,
                )
                for label, price in prices.at_least.items()
                if set(price.coefficients) <= paid
            ),
        ),
        objective={_name(p): c for p, c in objective.items() if c},
    )


def _rounded(
    found: Mapping[Place, Fraction],
    rows: Sequence[Row],
    costs: Sequence[LinearPrice],
    prices: LinearPrices,
    step: Fraction,
    paid: set[Place],
) -> dict[Place, Fraction]:
    """Up to the step, and further where a row is still short. The upper ends hold, so this ends."""
    # What is above a multiple by no more than the solver's tolerance is that multiple.
    slack = step / 1000
    times = dict(found)
    for place in paid:
        whole = math.ceil((found[place] - slack) / step) * step
        times[place] = min(max(whole, prices.free[place].low), prices.free[place].high)
    for least, cost in _limits(rows, costs, prices):
        while _value(cost, times) < least:
            raisable = [
                place
                for place, coefficient in cost.coefficients.items()
                if coefficient > 0 and times[place] < prices.free[place].high
            ]
            # The one that does it in the fewest steps: the one that is paid most often.
            place = max(raisable, key=lambda p: (cost.coefficients[p], p))
            times[place] = min(times[place] + step, prices.free[place].high)
    return times


def _limits(
    rows: Sequence[Row], costs: Sequence[LinearPrice], prices: LinearPrices
) -> list[tuple[Fraction, LinearPrice]]:
    """Costs with what they must not be below."""
    limits = [*zip((row.measured for row in rows), costs, strict=True)]
    return limits + [(Fraction(0), price) for price in prices.at_least.values()]


def _lowered(
    found: Mapping[Place, Fraction],
    limits: Sequence[tuple[Fraction, LinearPrice]],
    least: Mapping[Place, Fraction],
    step: Fraction,
) -> dict[Place, Fraction]:
    """The times without steps that nothing needs. ``least``: of what may be lowered, how far."""
    times = dict(found)
    spare = [_value(cost, times) - limit for limit, cost in limits]
    paid: dict[Place, list[tuple[int, Fraction]]] = {place: [] for place in least}
    for number, (_, cost) in enumerate(limits):
        for place in cost.coefficients.keys() & least.keys():
            paid[place].append((number, cost.coefficients[place]))
    for place in sorted(least, key=lambda p: (-sum(c for _, c in paid[p]), p)):
        room = [spare[number] / c for number, c in paid[place] if c > 0]
        # What is below by no more than the solver's tolerance is not below.
        less = min([times[place] - least[place] + step / 1000, *room]) // step * step
        if less > 0:
            times[place] -= less
            for number, coefficient in paid[place]:
                spare[number] -= less * coefficient
    return times


def _spans(
    program: LinearProgram, places: Sequence[Place], best: Fraction, more: Fraction = _MORE
) -> Iterator[tuple[Place, tuple[Fraction, Fraction]]]:
    """How far each time can go while the total stays as small: two programs for each."""
    total = Constraint("the total stays", program.objective, upper=best * (1 + more))
    for place in places:
        ends = []
        for sign in (1, -1):
            moved = LinearProgram(
                program.variables,
                (*program.constraints, total),
                {_name(place): Fraction(sign)},
            )
            ends.append(solve(moved).values[_name(place)])
        yield place, (ends[0], ends[1])


def _name(place: Place) -> str:
    return ".".join(place)
