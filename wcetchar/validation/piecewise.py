"""Times of a profile whose prices are no sums of them, found from piece to piece of these prices.

What a row i costs at times t is what the pricer itself says of it, price_i(t) (the *judge*), and
m_i is the longest that it was measured to take::

    minimise    sum over i of w_i * price_i(t)
    subject to  price_i(t) >= m_i          for every row i
                low_j <= t_j <= high_j     as the profile says
                time - overlap >= 0        for accesses with an overlap

Prices are sums of pieces such as ``max(0, write - what goes on meanwhile)``. Near a point p, which
lies on one piece, ``price_i(t) = price_i(p) + g_i . (t - p)`` with slopes g; and where a price is
convex, as most are, it is nowhere below that. So the program with the pieces at p in the place of
the prices is linear, and its answer mostly holds (convex-concave procedure: A. L. Yuille and A.
Rangarajan, Neural Computation 15(4), 2003). The judge says what rows cost there. A row that is
short for all that has its piece there in the program instead, and if that says the same, as much
more is demanded of it; then the same from the answer on, until the total falls no more. It begins
at the upper ends of all ranges, where regions are slow and the core is fast, so that it hides
nothing, and with slow regions and the core that was found; the answer that is the least in total
counts.

Then once more in whole steps, as an integer program; times with many of them are rounded up. It is
solved by no more than so many nodes, so the answer is the same on every machine.

A price may fall where a time is raised, by counts of several calls that do not go together. No time
is raised for that: what is minimised counts slopes above zero alone. A time that no row
pays where it was found, but would from some higher value on, is raised up to there: that it takes
less nobody has seen.

What is proven: the judge says of each row that it costs no less than it was measured to take. What
is not: that no other times are less in total.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from wcetchar.model.fitting import Fit, FittedTime, LinearPrice, LinearPrices, Place
from wcetchar.model.hardware import Quantity
from wcetchar.solver import Constraint, LinearProgram, Unsolvable, Variable, solve
from wcetchar.validation.fitting import Row, short_rows, together

Times = Mapping[Place, Fraction]
Slopes = Mapping[Place, Fraction]


class Judge(Protocol):
    """Says what rows cost, in nanoseconds."""

    def at(self, times: Times) -> Sequence[Fraction]:
        """Of all rows."""

    def sloped(self, times: Times) -> tuple[Sequence[Fraction], Sequence[Slopes]]:
        """The same, and what one of each time's units adds there."""


_ROUNDS: Final = 20
_DEMANDS: Final = 6
"""Programs that one piece is solved by, before what is short is looked at from its answer."""
_FINE: Final = 1024
"""Parts of a step that times have before they are whole steps."""
_MOST_STEPS: Final = 1000
"""Of a range: with more of them a step more is next to nothing, and times are rounded up."""
_NODES: Final = 20_000
_SLACK: Final = Fraction(1, 1000)
_SCATTERED, _PRIME = 7919, 1_048_573
"""Powers of the one, modulo the other: few sums of some are those of others."""
_SAME: Final = Fraction(1, 10**6)
"""A total that falls by no more than that is no better."""
_TIGHT: Final = Fraction(1001, 1000)


@dataclass(frozen=True)
class _Piece:
    """What rows cost near some times, as linear functions; ``whole``: of all, with their weights,
    what one of a time's units adds, without what it takes off."""

    prices: Sequence[LinearPrice]
    whole: Slopes


def fit_by(
    judge: Judge,
    rows: Sequence[Row],
    prices: LinearPrices,
    units: Mapping[Place, Fraction],
    *,
    step: Fraction = Fraction(1, 1000),
    relative: bool = False,
) -> Fit:
    """Find the times.

    Args:
        judge: of just these rows, in their order.
        prices: the times that are looked for, and what must not fall below zero.
        units: of the times, in nanoseconds.
        step: what values are rounded up to, in each time's own unit.

    Raises:
        NoSoundBound: the upper ends of all ranges are below some measurement. Names the rows.
    """
    search = _Search(judge, rows, prices, step, relative)
    upper = {place: quantity.high for place, quantity in prices.free.items()}
    short_rows(rows, search.costs(upper))
    bare = {p: q.high if p[0] == "regions" else q.low for p, q in prices.free.items()}
    grain = step / _FINE
    fine = min((search.descended(t, grain, whole=False) for t in (upper, bare)), key=search.total)
    slow = {p: upper[p] if p[0] == "regions" else value for p, value in fine.items()}
    fine = min((fine, search.descended(slow, grain, whole=False)), key=search.total)
    found = search.descended(fine, step, whole=True)
    if search.total(upper) <= search.total(found):
        found = upper
    return search.fit(search.unhidden(found), units)


class _Search:
    def __init__(
        self,
        judge: Judge,
        rows: Sequence[Row],
        prices: LinearPrices,
        step: Fraction,
        relative: bool,
    ) -> None:
        self._judge, self._rows, self._free, self._step = judge, rows, prices.free, step
        self._at_least = prices.at_least
        self._weights = [
            1 / row.measured if relative and row.measured else Fraction(1) for row in rows
        ]
        self._known: dict[tuple[Fraction, ...], Sequence[Fraction]] = {}
        self._pieces: dict[tuple[Fraction, ...], _Piece] = {}

    def costs(self, times: Times) -> Sequence[Fraction]:
        key = tuple(times[place] for place in self._free)
        if key not in self._known:
            self._known[key] = self._judge.at(times)
        return self._known[key]

    def total(self, times: Times) -> Fraction:
        costs = zip(self.costs(times), self._weights, strict=True)
        return sum((cost * weight for cost, weight in costs), start=Fraction(0))

    def holds(self, times: Times) -> bool:
        if any(price.at(times) < 0 for price in self._at_least.values()):
            return False
        return not self._short(times)

    def _short(self, times: Times) -> Mapping[int, Fraction]:
        """Rows that cost too little, and by how much."""
        costs = zip(self.costs(times), self._rows, strict=True)
        return {n: row.measured - c for n, (c, row) in enumerate(costs) if c < row.measured}

    def descended(self, times: Times, grain: Fraction, *, whole: bool) -> Times:
        """In multiples of the grain, as far down as programs lead from ``times``; they hold."""
        upper = {place: quantity.high for place, quantity in self._free.items()}
        rounded: Times = {place: self._up(place, value, grain) for place, value in times.items()}
        best: Times = next(one for one in (rounded, upper) if self.holds(one))
        times, seen = rounded, [rounded]
        up = True
        for _ in range(_ROUNDS):
            found = self._answer(times, grain, whole=whole, up=up)
            if found is None or found in seen or not self._is_better(found, best):
                # Where two sums are the same, what is above is one of them, and below the other.
                if not up:
                    break
                times, up = best, False
                continue
            seen.append(found)
            times, up = found, True
            if self.holds(found):
                best = found
        return best

    def _is_better(self, found: Times, best: Times) -> bool:
        """Or does not hold, and may lead to what is."""
        return not self.holds(found) or self.total(found) < self.total(best) * (1 - _SAME)

    def _answer(self, times: Times, grain: Fraction, *, whole: bool, up: bool) -> Times | None:
        """Of the piece at ``times``; rows may be short for all that is demanded of them. ``None``:
        the program has no answer, or nothing is paid."""
        piece = self.piece(times, up)
        prices, demands = list(piece.prices), [row.measured for row in self._rows]
        found = None
        for _ in range(_DEMANDS):
            program = self._program(piece.whole, prices, demands, times, grain if whole else None)
            if not program.objective:
                break
            try:
                values = solve(program, nodes=_NODES).values
            except Unsolvable:
                break
            factor = grain if whole else 1
            found = {
                place: self._up(place, values[_name(place)] * factor, grain)
                if _name(place) in values
                else self._up(place, times[place], grain)
                for place in self._free
            }
            short = self._short(found)
            if not short:
                break
            for n, by in short.items():
                if prices[n].at(found) > self._rows[n].measured - by:
                    prices[n] = self.piece(found).prices[n]
                else:
                    demands[n] += by
        return found

    def _up(self, place: Place, value: Fraction, grain: Fraction) -> Fraction:
        """To a multiple of the grain, within the range. What is above one by no more than the
        solver's tolerance is that multiple; whether rows hold there is asked anyway."""
        quantity = self._free[place]
        whole = math.ceil(value / grain - _SLACK) * grain
        return min(max(whole, quantity.low), quantity.high)

    def piece(self, times: Times, up: bool = True) -> _Piece:
        """The piece above, or below, of ``times``: at a point so near that nothing else lies
        between, with all times moved by amounts that have nothing to do with one another."""
        tiny = self._step / (_FINE * _PRIME)
        at = {}
        for number, (place, quantity) in enumerate(self._free.items()):
            more = tiny * pow(_SCATTERED, number + 1, _PRIME)
            room = times[place] < quantity.high if up else times[place] > quantity.low
            # At the end of a range there is the other side alone.
            at[place] = times[place] + (more if up == room else -more)
        key = tuple(at.values())
        if key not in self._pieces:
            self._pieces[key] = self._made(at)
        return self._pieces[key]

    def _made(self, at: Times) -> _Piece:
        prices, whole = [], dict[Place, Fraction]()
        for base, slopes, weight in zip(*self._judge.sloped(at), self._weights, strict=True):
            start = base - sum((g * at[p] for p, g in slopes.items()), start=Fraction(0))
            prices.append(LinearPrice(start, {p: g for p, g in slopes.items() if g}))
            for place, slope in slopes.items():
                if slope > 0:
                    whole[place] = whole.get(place, Fraction(0)) + slope * weight
        return _Piece(prices, whole)

    def _program(
        self,
        whole: Slopes,
        prices: Sequence[LinearPrice],
        demands: Sequence[Fraction],
        times: Times,
        step: Fraction | None,
    ) -> LinearProgram:
        """``times``: of what is not paid. ``step``: the variables are numbers of it, and whole."""
        moved = {place for place in self._free if place in whole}
        unit = Fraction(1) if step is None else step
        least: dict[tuple[tuple[Place, Fraction], ...], tuple[str, Fraction]] = {}
        floors = [(label, price, Fraction(0)) for label, price in self._at_least.items()]
        costs = zip(self._rows, prices, demands, strict=True)
        for label, price, demand in (*((r.label, p, d) for r, p, d in costs), *floors):
            known = {p: times[p] for p in price.coefficients if p not in moved}
            rest = demand - price.constant
            rest -= sum((price.coefficients[p] * v for p, v in known.items()), start=Fraction(0))
            of = tuple((p, c * unit) for p, c in sorted(price.coefficients.items()) if p in moved)
            # Many rows differ in nothing but what they are demanded.
            if of and (of not in least or least[of][1] < rest):
                least[of] = label, rest
        return LinearProgram(
            tuple(
                _variable(place, self._free[place], unit, whole=step is not None)
                for place in self._free
                if place in moved
            ),
            tuple(
                Constraint(f"{n}: {label}", {_name(p): c for p, c in of}, lower=rest)
                for n, (of, (label, rest)) in enumerate(least.items())
            ),
            {_name(p): whole[p] * unit for p in self._free if p in moved},
        )

    def unhidden(self, times: Times) -> Times:
        """Times that no row tells from higher ones, as high as that."""
        found = dict(times)
        for place, quantity in self._free.items():
            steps = math.floor((quantity.high - found[place]) / self._step)
            if steps and not self.piece(found).whole.get(place):
                found[place] += self._step * self._unpaid(found, place, steps)
        return found if self.holds(found) and self.total(found) <= self.total(times) else times

    def _unpaid(self, times: Times, place: Place, steps: int) -> int:
        """By how many steps, of so many, the time can be raised and all rows cost the same."""
        last, more = 0, steps + 1
        while more - last > 1:
            middle = min(max(1, last * 2), steps) if more > steps else (last + more) // 2
            if middle == last:
                break
            there = {**times, place: times[place] + self._step * middle}
            if self.costs(there) == self.costs(times):
                last = middle
            else:
                more = middle
        return last

    def fit(self, times: Times, units: Mapping[Place, Fraction]) -> Fit:
        """What was found."""
        below = self.piece(times, up=False)
        counted = dict.fromkeys(self._free, Fraction(0))
        # Paid is as well what rows pay where it is more, or less.
        for prices in zip(*(piece.prices for piece in self._pieces.values()), strict=True):
            for place in {place for price in prices for place in price.coefficients}:
                slope = max(abs(price.coefficients.get(place, Fraction(0))) for price in prices)
                counted[place] += slope / units[place]
        pairs = list(zip(self.costs(times), self._rows, below.prices, strict=True))
        return Fit(
            times=tuple(
                FittedTime(
                    place=place,
                    given=quantity,
                    value=times[place],
                    unit=quantity.unit,
                    least=None,
                    most=None,
                    counted=counted[place],
                )
                for place, quantity in self._free.items()
            ),
            excess=sum((cost - row.measured for cost, row, _ in pairs), start=Fraction(0)),
            rows=len(self._rows),
            tight=tuple(
                row.label
                for cost, row, price in pairs
                if price.coefficients and cost <= row.measured * _TIGHT
            ),
            together=together(below.prices, [p for p in self._free if p in below.whole]),
            judged=True,
        )


def _variable(place: Place, range_of: Quantity, unit: Fraction, *, whole: bool) -> Variable:
    low, high = range_of.low / unit, range_of.high / unit
    if not whole or high - low > _MOST_STEPS:
        return Variable(_name(place), low, high)
    return Variable(_name(place), Fraction(math.ceil(low)), Fraction(math.ceil(high)), integer=True)


def _name(place: Place) -> str:
    return ".".join(place)
