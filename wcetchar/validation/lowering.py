"""Times of a profile whose prices are no sums of them, found by lowering under the pricer's eyes.

Given what each row i costs at times t, price_i(t), as the pricer itself says it (the *judge*), and
its largest measured time m_i::

    minimise    sum over i of w_i * (price_i(t) - m_i)
    subject to  price_i(t) >= m_i      for every row i
                low_j <= t_j <= high_j as the profile says
                time - overlap >= 0    for accesses with an overlap

Prices are sums of pieces such as ``max(0, write - what goes on meanwhile)``. At a point p that lies
on one piece, with slopes g, ``price_i(p) + g_i . (t - p)`` is linear; and where a price is convex,
as most are, it is nowhere above the price, so the answer of the linear program that has it in the
place of the price is no answer below a measurement. So (convex-concave procedure: A. L. Yuille and
A. Rangarajan, Neural Computation 15(4), 2003): solve, go there as far as the judge allows and the
total falls, and begin anew. It starts at the lower ends of the ranges, where what goes on hides
little, at the upper ends, where accesses hide little, and at what is the least in total where each
write is waited for; the least total of all counts.

Then all is rounded up to the step, and raised where the judge finds a row short; and each time, the
most paid first, is lowered by as many steps as all rows allow, again and again until none can be.
A time that changes nothing where it is lowered is not told by any row from there on: it goes up to
where the rows begin to pay it.

What is proven: with the times found no row that was used costs less than it was measured to take,
and none of the times could be one step lower alone without a row coming out too low, or without
nothing changing; the judge has said so of each. What is not: that no other times are less in total.
That raising a time never lowers a price holds where slopes are not negative, and is checked at each
point that is visited, and for a step more of each time at the end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from wcetchar.errors import NoSoundBound
from wcetchar.model.fitting import Fit, FittedTime, LinearPrice, LinearPrices, Place
from wcetchar.solver import Constraint, LinearProgram, Solution, Unsolvable, Variable, solve
from wcetchar.validation.fitting import Row, short_rows, spans_of, together, value_of

Times = Mapping[Place, Fraction]


class Judge(Protocol):
    """Says what rows cost, in nanoseconds."""

    def at(self, times: Times, chosen: Sequence[int] | None = None) -> Sequence[Fraction]:
        """Of all, or of those of these numbers."""

    def sloped(self, times: Times) -> tuple[Sequence[Fraction], Sequence[Mapping[Place, Fraction]]]:
        """Of all, and what one of each time's units adds to them there."""


_ROUNDS: Final = 40
_HALVINGS: Final = 6
_ASTRAY: Final = 8
"""Programs from a start that does not hold, by which one has to lead to where all rows do."""
_FINE: Final = 1024
"""Parts of a step that the search goes by before it rounds."""
_SCATTERED, _PRIME = 7919, 1_048_573
"""Powers of the one, modulo the other: few sums of some are those of others."""
_SAME: Final = Fraction(1, 10**6)
"""A total that falls by no more than that is no better."""
_NAMED: Final = 5
_TIGHT: Final = Fraction(1001, 1000)


@dataclass(frozen=True)
class _Piece:
    """What rows cost near ``at``: ``base`` there, and nanoseconds for one of a time's units."""

    at: Times
    base: Sequence[Fraction]
    slopes: Sequence[Mapping[Place, Fraction]]

    def price(self, row: int) -> LinearPrice:
        slopes = self.slopes[row]
        start = sum((g * self.at[p] for p, g in slopes.items()), start=Fraction(0))
        return LinearPrice(self.base[row] - start, slopes)


def fit_by(
    judge: Judge,
    rows: Sequence[Row],
    prices: LinearPrices,
    starts: Iterable[Times],
    units: Mapping[Place, Fraction],
    *,
    step: Fraction = Fraction(1, 1000),
    relative: bool = False,
    ranges: bool = True,
) -> Fit:
    """Find the times.

    Args:
        judge: of just these rows, in their order.
        prices: the times that are looked for, and what must not fall below zero.
        units: of the times, in nanoseconds.
        starts: to begin at, beside the ends of the ranges; they need not hold.
        step: what values are rounded up to, in each time's own unit.

    Raises:
        NoSoundBound: even the upper ends of all ranges are below some measurement; or raising a
            time makes a row cheaper. Names the rows.
    """
    search = _Search(judge, rows, prices, step, relative)
    upper = {place: quantity.high for place, quantity in prices.free.items()}
    short_rows(rows, search.costs(upper))
    lower = {place: quantity.low for place, quantity in prices.free.items()}
    best: Times = upper
    for start in itertools.chain([lower], starts, [upper]):
        found = search.descended(start)
        if found is not None and search.total(found) < search.total(best):
            best = found
    found = search.settled(best)
    return search.fit(found, units, ranges)


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

    def costs(self, times: Times) -> Sequence[Fraction]:
        key = tuple(times[place] for place in self._free)
        if key not in self._known:
            self._known[key] = self._judge.at(times)
        return self._known[key]

    def total(self, times: Times) -> Fraction:
        costs = zip(self.costs(times), self._weights, strict=True)
        return sum((cost * weight for cost, weight in costs), start=Fraction(0))

    def holds(self, times: Times) -> bool:
        if any(value_of(price, times) < 0 for price in self._at_least.values()):
            return False
        costs = self.costs(times)
        return all(c >= row.measured for c, row in zip(costs, self._rows, strict=True))

    def _between(self, one: Times, other: Times, share: Fraction) -> Times:
        if share == 1:
            return other
        return {p: self._up(p, one[p] + (other[p] - one[p]) * share, _FINE) for p in self._free}

    def _up(self, place: Place, value: Fraction, parts: int = 1) -> Fraction:
        """To a multiple of the step, or of a part of it; within the range."""
        grain = self._step / parts
        # What is above a multiple by no more than the solver's tolerance is that multiple.
        slack = self._step / 1000 if parts == 1 else Fraction(0)
        raised = math.ceil((value - slack) / grain) * grain
        quantity = self._free[place]
        return min(max(raised, quantity.low), quantity.high)

    def descended(self, times: Times) -> Times | None:
        """As far down as linear programs lead; ``None``: they lead nowhere that holds."""
        held = self.holds(times)
        for number in range(_ROUNDS):
            answer = self._solved(self.piece(times), times)
            if answer is None:
                break
            if not held:
                if number == _ASTRAY:
                    return None
                times, held = answer, self.holds(answer)
                continue
            share = Fraction(1)
            for _ in range(_HALVINGS):
                there = self._between(times, answer, share)
                if self.holds(there) and self.total(there) < self.total(times) * (1 - _SAME):
                    break
                share /= 2
            else:
                break
            times = there
        return times if held else None

    def piece(self, times: Times, up: bool = True) -> _Piece:
        """The piece above, or below, of ``times``: at a point so near that nothing else lies
        between, with all times moved by amounts that have nothing to do with one another.

        Raises:
            NoSoundBound: raising a time makes a row cheaper.
        """
        tiny = self._step / (_FINE * _PRIME)
        at = {}
        for number, (place, quantity) in enumerate(self._free.items()):
            more = tiny * pow(_SCATTERED, number + 1, _PRIME)
            room = times[place] < quantity.high if up else times[place] > quantity.low
            # At the end of a range there is the other side alone.
            at[place] = times[place] + (more if up == room else -more)
        base, slopes = self._judge.sloped(at)
        for place in self._free:
            falling = [n for n, one in enumerate(slopes) if one.get(place, 0) < 0]
            if falling:
                raised = self._judge.at({**at, place: at[place] + tiny}, falling)
                cheaper = [n for n, cost in zip(falling, raised, strict=True) if cost < base[n]]
                if cheaper:
                    raise _cheaper(place, [self._rows[n].label for n in cheaper])
        # Where two sums are the same after all, the slopes may be those of either.
        rising = [{place: g for place, g in one.items() if g > 0} for one in slopes]
        return _Piece(at, base, rising)

    def _solved(self, piece: _Piece, times: Times) -> Times | None:
        """Of the linear program of a piece; ``None``: it has no answer, or nothing is paid."""
        program = self._program(piece)
        if not program.objective:
            return None
        try:
            solution: Solution = solve(program)
        except Unsolvable:
            return None
        found = {
            place: self._up(place, solution.values.get(_name(place), times[place]), _FINE)
            for place in self._free
        }
        # What no row pays here may be paid elsewhere.
        return {p: v if _name(p) in solution.values else times[p] for p, v in found.items()}

    def _objective(self, piece: _Piece) -> dict[Place, Fraction]:
        found: dict[Place, Fraction] = {}
        for slopes, weight in zip(piece.slopes, self._weights, strict=True):
            for place, slope in slopes.items():
                found[place] = found.get(place, Fraction(0)) + slope * weight
        return found

    def _program(self, piece: _Piece) -> LinearProgram:
        objective = self._objective(piece)
        paid = [place for place in self._free if place in objective]
        prices = [piece.price(n) for n in range(len(self._rows))]
        rows = (
            Constraint(
                f"{number}: {row.label}",
                {_name(p): c for p, c in price.coefficients.items()},
                lower=row.measured - price.constant,
            )
            for number, (row, price) in enumerate(zip(self._rows, prices, strict=True))
            if price.coefficients
        )
        floors = (
            Constraint(
                label, {_name(p): c for p, c in price.coefficients.items()}, lower=-price.constant
            )
            for label, price in self._at_least.items()
            if price.coefficients.keys() <= set(paid)
        )
        return LinearProgram(
            tuple(Variable(_name(p), self._free[p].low, self._free[p].high) for p in paid),
            (*rows, *floors),
            {_name(p): c for p, c in objective.items()},
        )

    def settled(self, times: Times) -> Times:
        """In whole steps, none of which is more than all rows allow."""
        piece = self.piece(times)
        rounded = {place: self._up(place, times[place]) for place in self._free}
        times = self._raised(rounded, piece)
        # What rounding has moved first: the others are as a program has found them.
        moved = [p for p in self._free if times[p] > piece.at[p]]
        for places in (moved, *[list(self._free)] * _ROUNDS):
            below = self.piece(times, up=False)
            lower = self._lowered(times, self._order(below, places), below)
            before, times = times, self._unhidden(lower, below)
            if places is not moved and times == before:
                break
        return times

    def _order(self, piece: _Piece, places: Iterable[Place]) -> list[Place]:
        paid = self._objective(piece)
        return sorted(places, key=lambda p: (-paid.get(p, Fraction(0)), p))

    def _raised(self, times: Times, piece: _Piece) -> Times:
        """Until no row is short; the upper ends hold, so this ends."""
        found = dict(times)
        while not self.holds(found):
            short = [
                n
                for n, (cost, row) in enumerate(zip(self.costs(found), self._rows, strict=True))
                if cost < row.measured
            ]
            slopes: dict[Place, Fraction] = {}
            for n in short[:1]:
                slopes = dict(piece.slopes[n])
            for price in self._at_least.values():
                if value_of(price, found) < 0:
                    slopes = dict(price.coefficients)
            raisable = [p for p in slopes if slopes[p] > 0 and found[p] < self._free[p].high]
            raisable = raisable or [p for p in self._free if found[p] < self._free[p].high]
            if not raisable:
                raise NoSoundBound(
                    "rows come out too low at the upper ends of ranges alone",
                    details=tuple(self._rows[n].label for n in short[:_NAMED]),
                )
            place = max(raisable, key=lambda p: (slopes.get(p, Fraction(0)), p))
            found[place] = min(found[place] + self._step, self._free[place].high)
        return found

    def _lowered(self, times: Times, places: Sequence[Place], piece: _Piece) -> Times:
        """Each as far as all rows allow and the total falls. ``piece``: below ``times``."""
        found = self._lowered_by(times, places, piece)
        if self.holds(found):
            return found
        # Not convex: whatever is lowered, all rows are asked for.
        found = times
        for place in places:
            steps = math.floor((found[place] - self._free[place].low) / self._step)
            lowest = self._farthest(found, place, -self._step, steps, self._is_less)
            found = {**found, place: lowest}
        return found

    def _is_less(self, there: Times, before: Times) -> bool:
        return self.holds(there) and self.total(there) < self.total(before)

    def _lowered_by(self, times: Times, places: Sequence[Place], piece: _Piece) -> Times:
        """No row costs less than the piece says where prices are convex, so what it allows is not
        asked for again; rows that it does not allow are."""
        found = dict(times)
        least = [piece.price(n) for n in range(len(self._rows))]
        spare = [
            value_of(price, found) - row.measured
            for price, row in zip(least, self._rows, strict=True)
        ]
        paying: dict[Place, list[int]] = {place: [] for place in self._free}
        for n, slopes in enumerate(piece.slopes):
            for place in slopes:
                paying[place].append(n)
        for place in places:
            if not paying[place]:
                continue
            room = (found[place] - self._free[place].low) // self._step
            for price in self._at_least.values():
                slope = price.coefficients.get(place, Fraction(0))
                if slope > 0:
                    room = min(room, value_of(price, found) / slope // self._step)
            while room > 0:
                allowed = min(spare[n] / piece.slopes[n][place] for n in paying[place])
                steps = min(room, max(1, allowed // self._step))
                there = {**found, place: found[place] - steps * self._step}
                after = {
                    n: spare[n] - piece.slopes[n][place] * steps * self._step for n in paying[place]
                }
                doubted = [n for n in sorted(after, key=lambda n: after[n]) if after[n] < 0]
                if not self._hold(there, doubted):
                    break
                found = there
                room -= steps
                spare = [after.get(n, rest) for n, rest in enumerate(spare)]
        return found

    def _hold(self, times: Times, rows: Sequence[int]) -> bool:
        """These rows, the first one before the others: one that is short is enough."""
        for some in (rows[:1], rows[1:]):
            if some:
                costs = self._judge.at(times, some)
                if any(c < self._rows[n].measured for c, n in zip(costs, some, strict=True)):
                    return False
        return True

    def _unhidden(self, times: Times, piece: _Piece) -> Times:
        """Times that nothing tells from higher ones, as high as that. ``piece``: below."""
        found = dict(times)
        paid = self._objective(piece)
        for place in self._free:
            steps = math.floor((self._free[place].high - found[place]) / self._step)
            if steps > 0 and place not in paid:
                found[place] = self._farthest(found, place, self._step, steps, self._is_same)
        return found

    def _is_same(self, there: Times, before: Times) -> bool:
        return self.costs(there) == self.costs(before)

    def _farthest(
        self,
        times: Times,
        place: Place,
        by: Fraction,
        steps: int,
        good: Callable[[Times, Times], bool],
    ) -> Fraction:
        """The farthest value that is good, of those that are reached without one that is not."""

        def at(number: int) -> Times:
            return {**times, place: times[place] + by * number}

        if steps <= 0 or not good(at(1), times):
            return times[place]
        last, bad = 1, steps + 1
        while bad - last > 1:
            middle = min(last * 2, steps) if bad == steps + 1 else (last + bad) // 2
            if middle == last:
                break
            if good(at(middle), times):
                last = middle
            else:
                bad = middle
        return times[place] + by * last

    def fit(self, times: Times, units: Mapping[Place, Fraction], ranges: bool) -> Fit:
        """What was found. ``ranges``: on the piece that it lies on."""
        higher = self.piece(times)
        piece = self.piece(times, up=False)
        paid = self._objective(piece)
        counted: dict[Place, Fraction] = dict.fromkeys(self._free, Fraction(0))
        # Paid is as well what the rows would pay if it were more.
        for below, above in zip(piece.slopes, higher.slopes, strict=True):
            for place in below.keys() | above.keys():
                slope = max(below.get(place, Fraction(0)), above.get(place, Fraction(0)))
                counted[place] += slope / units[place]
        program = self._program(piece)
        places = [p for p in self._free if p in paid]
        spans: dict[Place, tuple[Fraction, Fraction]] = {}
        if ranges and program.objective:
            best = sum((c * times[p] for p, c in paid.items()), start=Fraction(0))
            spans = dict(spans_of(program, places, best))
        costs = self.costs(times)
        pairs = list(zip(costs, self._rows, strict=True))
        return Fit(
            times=tuple(
                FittedTime(
                    place=place,
                    given=quantity,
                    value=times[place],
                    unit=quantity.unit,
                    least=spans[place][0] if place in spans else None,
                    most=spans[place][1] if place in spans else None,
                    counted=counted[place],
                )
                for place, quantity in self._free.items()
            ),
            excess=sum((cost - row.measured for cost, row in pairs), start=Fraction(0)),
            rows=len(self._rows),
            tight=tuple(
                row.label
                for n, (cost, row) in enumerate(pairs)
                if piece.slopes[n] and cost <= row.measured * _TIGHT
            ),
            together=together([piece.price(n) for n in range(len(self._rows))], places),
            judged=True,
        )


def _cheaper(place: Place, rows: Sequence[str]) -> NoSoundBound:
    return NoSoundBound(
        f"raising {': '.join(place)} makes {len(rows)} rows cheaper, so its least value says "
        "nothing",
        details=tuple(rows[:_NAMED]),
        expected="prices that rise with each time that is looked for",
        hint="give it exactly",
    )


def _name(place: Place) -> str:
    return ".".join(place)
