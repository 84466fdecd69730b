"""Times of a profile that are never below any measurement and over by the least in total.

Given for each measured row i its counts c_i,k and its largest time m_i, and for each class k its
price p_k as a linear function of the times t of the profile that are ranges::

    minimise    sum over i of w_i * (own_i(t)  -  m_i)
    subject to  own_i(t) = sum over k of c_i,k * p_k(t) >= m_i        for every row i
                low_j <= t_j <= high_j                               as the profile says
                time - overlap >= 0                                  for accesses with an overlap

with w_i = 1, or 1 / m_i for the least *relative* total. All counts are zero or more, so raising a
time never breaks a row, and there is an answer if, and only if, the upper ends are one. A row has
the prices of its own situation: the state of the caches, and whether refresh and other masters were
there.

What those take is found in a second step: the times that undisturbed rows pay are found from these
alone and stay, and what the disturbed rows take more is the others'. In one step it would be hidden
in the prices of accesses, since that makes the total less; then accesses would look slower than
they are, and waits shorter.

Where those come with periods T_j and take t_j, a row's time is no sum, but the first x with

    x = own_i(t) + sum over j of (b_i + floor(x / T_j)) * t_j

(``engine.interference``; b_i: windows that begin in the row). The right side is a step function, so
the first such x is not below m if, and only if, at the end of each of its steps, and at m,

    own_i(t) + sum over j of (b_i + steps of T_j before y) * t_j >= y       y: k * T_j < m, and m

which is linear in t again. What is minimised then is the left side at y = m_i.

Times that rows tell as sums alone, whatever was measured, are found exactly: a time is told if its
unit vector is a combination of the rows' counts.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from wcetchar.errors import NoSoundBound
from wcetchar.model.access import Key, Succession
from wcetchar.model.fitting import Fit, FittedTime, LinearPrice, LinearPrices, Place, Recurring
from wcetchar.solver import Constraint, LinearProgram, Variable, solve

_NAMED = 5
_TIGHT = Fraction(1001, 1000)
_MORE = Fraction(1, 10**6)
"""By how much a total may be larger and still count as no worse."""
_SAME = Fraction(1, 10**5)
"""The same for each step, where a time is to be one of an answer: far less than rounding adds."""


_PRIME = (1 << 61) - 1


@dataclass(frozen=True)
class Row:
    """One measured row.

    Attributes:
        label: what it is called.
        measured: the largest measured time in nanoseconds.
        prices: of its situation; ``None``: those that all rows have.
    """

    label: str
    counts: Mapping[Key, int]
    measured: Fraction
    prices: LinearPrices | None = None


@dataclass(frozen=True)
class _Cost:
    """What a row costs as a function of the times: ``own``, and what recurs meanwhile.

    Attributes:
        limits: what must not be below what, so that the row is not below its measurement; the last
            one is what the row costs if it takes no longer than that.
    """

    own: LinearPrice
    begins: int
    recurring: tuple[Recurring, ...]
    limits: tuple[tuple[Fraction, LinearPrice], ...]

    @property
    def price(self) -> LinearPrice:
        return self.limits[-1][1]

    def value(self, times: Mapping[Place, Fraction]) -> Fraction:
        each = [(one.takes.at(times), one.every) for one in self.recurring]
        begun = self.own.at(times) + self.begins * sum((t for t, _ in each), start=Fraction(0))
        time = begun
        while True:
            longer = begun + sum((t * (time // every) for t, every in each), start=Fraction(0))
            if longer == time:
                return time
            time = longer


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
    upper = {place: quantity.high for place, quantity in prices.free.items()}
    costs = [_cost(row, prices, upper) for row in rows]
    short_rows(rows, [cost.value(upper) for cost in costs])
    weights = _weights(rows, relative)
    objective = _objective(costs, weights)
    paid = {place for place, coefficient in objective.items() if coefficient}
    found = dict(upper)
    spans: dict[Place, tuple[Fraction, Fraction]] = {}
    if paid:
        program = _program(rows, costs, prices, objective, paid)
        solution = solve(program)
        found |= {place: solution.values[_name(place)] for place in paid}
        exact = dict(found)
        found = _rounded(exact, costs, prices, step, paid)
        moved = [p for p in prices.free if p in paid and found[p] - exact[p] > step / 1000]
        if len(moved) > 1:
            least = {
                place: ends[0]
                for place, ends in spans_of(program, moved, solution.objective, _SAME * step)
            }
            found = _lowered(found, _limits(costs, prices), least, step)
        if ranges:
            best = sum((c * found[p] for p, c in objective.items()), start=Fraction(0))
            spans = dict(spans_of(program, [p for p in prices.free if p in paid], best))
    counted = {place: Fraction(0) for place in prices.free}
    for row, cost in zip(rows, costs, strict=True):
        for key, count in row.counts.items():
            for place in (row.prices or prices).prices[key].coefficients:
                counted[place] += count
        for one in cost.recurring:
            for place in one.takes.coefficients:
                counted[place] += _times_of(one, cost.begins, row.measured)
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
            (cost.value(found) - row.measured for row, cost in zip(rows, costs, strict=True)),
            start=Fraction(0),
        ),
        rows=len(rows),
        tight=tuple(
            row.label
            for row, cost in zip(rows, costs, strict=True)
            if cost.price.coefficients and cost.value(found) <= row.measured * _TIGHT
        ),
        together=together([cost.price for cost in costs], [p for p in prices.free if p in paid]),
    )


def _weights(rows: Sequence[Row], relative: bool) -> list[Fraction]:
    return [1 / row.measured if relative and row.measured else Fraction(1) for row in rows]


def _objective(costs: Sequence[_Cost], weights: Sequence[Fraction]) -> dict[Place, Fraction]:
    found: dict[Place, Fraction] = {}
    for cost, weight in zip(costs, weights, strict=True):
        for place, coefficient in cost.price.coefficients.items():
            found[place] = found.get(place, Fraction(0)) + coefficient * weight
    return found


def short_rows(rows: Sequence[Row], costs: Sequence[Fraction]) -> None:
    """``costs``: of the rows at the upper ends of all ranges.

    Raises:
        NoSoundBound: some are below their measurements.
    """
    short = [(row, cost) for row, cost in zip(rows, costs, strict=True) if cost < row.measured]
    if short:
        raise NoSoundBound(
            f"the ranges of the profile allow nothing that is above {len(short)} of "
            f"{len(rows)} measurements",
            details=tuple(
                f"{row.label}: measured {float(row.measured):.1f} ns, at most {float(cost):.1f} ns"
                for row, cost in short[:_NAMED]
            ),
            expected="ranges whose upper ends are above every measurement",
            hint="widen a range, or look for what these rows have and others lack",
        )


def fit_in_turn(
    rows: Sequence[Row],
    undisturbed: Sequence[bool],
    prices: LinearPrices,
    *,
    step: Fraction = Fraction(1, 1000),
    relative: bool = False,
    ranges: bool = True,
) -> Fit:
    """As :func:`fit`, with times that undisturbed rows pay found from these alone.

    Raises:
        NoSoundBound: even the upper ends of all ranges, or then of those that are left, are below
            some measurement; names the rows.
    """
    quiet = [row for row, one in zip(rows, undisturbed, strict=True) if one]
    first = fit(quiet, prices, step=step, relative=relative, ranges=ranges)
    found = {time.place: time for time in first.times if time.counted}
    values = {place: time.value for place, time in found.items()}
    left = [
        replace(row, prices=_fixed(row.prices or prices, values))
        for row, one in zip(rows, undisturbed, strict=True)
        if not one
    ]
    second = fit(left, _fixed(prices, values), step=step, relative=relative, ranges=ranges)
    others = {time.place: time for time in second.times}
    return Fit(
        times=tuple(found.get(place) or others[place] for place in prices.free),
        excess=first.excess + second.excess,
        rows=len(rows),
        tight=(*first.tight, *second.tight),
        together=(*first.together, *second.together),
    )


def _fixed(prices: LinearPrices, values: Mapping[Place, Fraction]) -> LinearPrices:
    """With these times known."""

    def known(price: LinearPrice) -> LinearPrice:
        here = {p: c for p, c in price.coefficients.items() if p in values}
        rest = {p: c for p, c in price.coefficients.items() if p not in values}
        constant = sum((c * values[p] for p, c in here.items()), start=price.constant)
        return LinearPrice(constant, rest)

    return LinearPrices(
        {key: known(price) for key, price in prices.prices.items()},
        {place: quantity for place, quantity in prices.free.items() if place not in values},
        {label: known(price) for label, price in prices.at_least.items()},
        prices.simplified,
        tuple(Recurring(known(one.takes), one.every) for one in prices.recurring),
    )


def price_of(row: Row, prices: LinearPrices, found: Fit) -> Fraction:
    """What a row costs with the times of a fit, in nanoseconds."""
    times = {time.place: time.value for time in found.times}
    return _cost(row, prices, times).value(times)


def _cost(row: Row, prices: LinearPrices, upper: Mapping[Place, Fraction]) -> _Cost:
    """``upper``: no time is above these."""
    mine = row.prices or prices
    own = _plus(*((mine.prices[key], Fraction(count)) for key, count in row.counts.items()))
    begins = sum(
        count
        for key, count in row.counts.items()
        if isinstance(key, Succession) and key.before is None
    )
    limits = []
    later: tuple[Fraction, list[int]] | None = None
    for end in _ends(row.measured, mine.recurring, upper):
        counts = [_times_of(one, begins, end) for one in mine.recurring]
        if later is not None:
            steps = zip(mine.recurring, counts, later[1], strict=True)
            most = sum((r.takes.at(upper) * (b - a) for r, a, b in steps), start=Fraction(0))
            if most <= later[0] - end:
                continue  # what holds at the later one holds here
        takes = ((one.takes, Fraction(n)) for one, n in zip(mine.recurring, counts, strict=True))
        limits.append((end, _plus((own, Fraction(1)), *takes)))
        later = end, counts
    return _Cost(own, begins, mine.recurring, tuple(reversed(limits)))


def _ends(
    measured: Fraction, recurring: Sequence[Recurring], upper: Mapping[Place, Fraction]
) -> list[Fraction]:
    """What a row takes, and the ends of steps before that, the last one first.

    Of two ends, what holds at the later one holds at the other, if that is earlier by what can come
    between: with d their distance, at most the sum of t_j * (d / T_j + 1).
    """
    each = [(one.takes.at(upper), one.every) for one in recurring]
    share = sum((takes / every for takes, every in each), start=Fraction(0))
    once = sum((takes for takes, _ in each), start=Fraction(0))
    least = max(Fraction(0), measured - once / (1 - share))
    before = {
        every * k
        for _, every in each
        for k in range(max(1, math.ceil(least / every)), math.ceil(measured / every))
    }
    return [measured, *sorted(before, reverse=True)]


def _times_of(one: Recurring, begins: int, end: Fraction) -> int:
    """How often it comes at most in a row that has not reached ``end``."""
    return begins + max(0, math.ceil(end / one.every) - 1)


def _plus(*parts: LinearPrice | tuple[LinearPrice, Fraction]) -> LinearPrice:
    """Sum of prices, each times its factor."""
    constant = Fraction(0)
    coefficients: dict[Place, Fraction] = {}
    for part in parts:
        price, factor = part if isinstance(part, tuple) else (part, Fraction(1))
        constant += price.constant * factor
        for place, coefficient in price.coefficients.items():
            coefficients[place] = coefficients.get(place, Fraction(0)) + coefficient * factor
    return LinearPrice(constant, {p: c for p, c in coefficients.items() if c})


def together(
    prices: Iterable[LinearPrice], places: Sequence[Place]
) -> tuple[tuple[Place, ...], ...]:
    """Groups of places that the rows tell sums of alone.

    The rows are brought into reduced echelon form modulo a large prime. A column without a pivot
    belongs together with those whose pivot rows hold it. Modulo a prime a rank can only be smaller,
    so nothing is said to be told that is not.
    """
    number = {place: n for n, place in enumerate(places)}
    basis: dict[int, dict[int, int]] = {}
    seen: set[tuple[tuple[int, int], ...]] = set()
    for price in prices:
        row = {
            number[place]: c.numerator * pow(c.denominator, -1, _PRIME) % _PRIME
            for place, c in price.coefficients.items()
            if place in number
        }
        known = tuple(sorted(row.items()))
        if known in seen:
            continue
        seen.add(known)
        for pivot in sorted(basis.keys() & row.keys()):
            _less(row, basis[pivot], row.get(pivot, 0))
        if not row:
            continue
        pivot = min(row)
        inverse = pow(row[pivot], -1, _PRIME)
        row = {n: c * inverse % _PRIME for n, c in row.items()}
        for other in basis.values():
            if pivot in other:
                _less(other, row, other[pivot])
        basis[pivot] = row
    groups: list[set[int]] = []
    for free in range(len(places)):
        if free in basis:
            continue
        group = {free, *(pivot for pivot, row in basis.items() if free in row)}
        apart = [one for one in groups if not one & group]
        groups = [*apart, group.union(*(one for one in groups if one & group))]
    return tuple(tuple(places[n] for n in sorted(group)) for group in groups)


def _less(row: dict[int, int], other: Mapping[int, int], factor: int) -> None:
    """Takes ``factor`` times the other row off."""
    for n, c in other.items():
        left = (row.get(n, 0) - factor * c) % _PRIME
        if left:
            row[n] = left
        else:
            row.pop(n, None)


def _program(
    rows: Sequence[Row],
    costs: Sequence[_Cost],
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
                    f"{number}: {row.label}" + (f", {step}" if step else ""),
                    {_name(p): c for p, c in price.coefficients.items()},
                    lower=least - price.constant,
                )
                for number, (row, cost) in enumerate(zip(rows, costs, strict=True))
                for step, (least, price) in enumerate(cost.limits)
                if price.coefficients
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
    costs: Sequence[_Cost],
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
    for least, cost in _limits(costs, prices):
        while cost.at(times) < least:
            raisable = [
                place
                for place, coefficient in cost.coefficients.items()
                if coefficient > 0 and times[place] < prices.free[place].high
            ]
            # The one that does it in the fewest steps: the one that is paid most often.
            place = max(raisable, key=lambda p: (cost.coefficients[p], p))
            times[place] = min(times[place] + step, prices.free[place].high)
    return times


def _limits(costs: Sequence[_Cost], prices: LinearPrices) -> list[tuple[Fraction, LinearPrice]]:
    """Costs with what they must not be below."""
    limits = [limit for cost in costs for limit in cost.limits]
    return limits + [(Fraction(0), price) for price in prices.at_least.values()]


def _lowered(
    found: Mapping[Place, Fraction],
    limits: Sequence[tuple[Fraction, LinearPrice]],
    least: Mapping[Place, Fraction],
    step: Fraction,
) -> dict[Place, Fraction]:
    """The times without steps that nothing needs. ``least``: of what may be lowered, how far."""
    times = dict(found)
    spare = [cost.at(times) - limit for limit, cost in limits]
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


def spans_of(
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
