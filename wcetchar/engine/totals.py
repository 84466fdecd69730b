"""The upper end of a time over parameters: what :func:`estimate_at` finds, for many values at once.

    total(q) = sum over repetitions r of  r(q) * (sum of the vectors of r's rows) . prices

Rows of one repetition are priced together and only once, for the formulas are what takes time where
many values are tried.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from wcetchar import formula
from wcetchar.engine.counts import (
    Counted,
    count,
    counts_something,
    looked_up,
    supervisor_calls,
    used_parameters,
)
from wcetchar.engine.lines import LinesAt
from wcetchar.engine.prices import PriceVector
from wcetchar.errors import InputError
from wcetchar.model.characterization import Counts, ServiceCharacterization
from wcetchar.model.expression import ONE, Expression

if TYPE_CHECKING:  # of many values at once alone; one set of values needs no columns
    import numpy as np
    from numpy.typing import NDArray

_INT64: Final = 2**63 - 1


@dataclass(frozen=True)
class Times:
    """Exact times, ``ticks / per_ns`` nanoseconds each: int64, or Python integers where these may
    not suffice."""

    ticks: NDArray[Any]
    per_ns: int

    def per(self, per_ns: int) -> NDArray[Any]:
        """The same in other ticks, of which there is a whole number in each."""
        from wcetchar.formula.columns import magnitude_of

        factor = per_ns // self.per_ns
        most = max(magnitude_of(self.ticks), 1)
        wide = self.ticks.astype(object) if factor * most > _INT64 else self.ticks
        return wide * factor


def total_of(
    service: ServiceCharacterization, prices: PriceVector, lines: LinesAt | None
) -> Totals:
    """Of a whole service; ``lines``: what it loads."""
    names = tuple(parameter.name for parameter in service.parameters)
    loaded = None if lines is None else lambda values: lines(values).total.high
    return Totals(service.counts, names, prices, service.name, lines=loaded)


class Totals:
    """The safe end of the time of ``counts`` in nanoseconds, at given values of ``names``.

    ``what`` names the counts in errors. ``rest`` is added wherever something is counted at all,
    and ``per_call`` for each supervisor call but the ``last``. ``lines`` is the time of those that
    are loaded, at the values.
    """

    def __init__(
        self,
        counts: Counts,
        names: tuple[str, ...],
        prices: PriceVector,
        what: str,
        rest: Fraction = Fraction(0),
        per_call: Fraction = Fraction(0),
        last: int = 0,
        lines: Callable[[tuple[int, ...]], Fraction] | None = None,
    ) -> None:
        self.counts = counts
        self.names = names
        self.prices = prices
        self.what = what
        self.rest = rest
        self.per_call = per_call
        self.last = last
        self.lines = lines
        self.coefficients: dict[Expression, Fraction] = {}
        """Price of all rows of one repetition, for counts that are formulas; without the rest."""
        for row in counts.rows:
            price = self.coefficients.get(row.repetition, Fraction(0))
            self.coefficients[row.repetition] = price + prices.time_of(row.vector).high
        self._table: dict[tuple[bool, tuple[int, ...]], Fraction] = {}
        # Which lines are loaded may depend on any of them.
        used = used_parameters(counts, names) if lines is None else names
        self.used = tuple(i for i, name in enumerate(names) if name in used)
        """Places in ``names`` of the parameters that the time can depend on."""
        self._known: dict[tuple[int, ...], Fraction] = {}
        """Of formulas: times by the values of these."""

    def __call__(self, values: tuple[int, ...]) -> Fraction:
        """The time at ``values``, in the order of ``names``.

        Raises:
            InputError: the counts do not hold there.
        """
        if not self.counts.is_formula or self.lines is not None:
            return self._time(values)
        key = tuple([values[i] for i in self.used])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._time(values)
        return known

    def at_all(self, points: Sequence[tuple[int, ...]]) -> Times:
        """The times at all of these values: as :meth:`__call__` of each, in columns where the
        counts are formulas.

        Raises:
            InputError: the counts do not hold somewhere.
        """
        import numpy as np

        keys: dict[tuple[int, ...], int] = {}
        chosen = (tuple([values[i] for i in self.used]) for values in points)
        place = [keys.setdefault(key, len(keys)) for key in chosen]
        found = self._in_columns(lambda: _columns(list(keys), len(self.used)), len(keys))
        if found is not None:
            return Times(found.ticks[np.array(place, dtype=np.intp)], found.per_ns)
        return exact_times([self(values) for values in points])

    def over(self, values: Mapping[str, Sequence[int]]) -> Times:
        """The times at all combinations of values, of every name: an array with a dimension for
        each name of ``values``, of length 1 where the time does not depend on it.

        Raises:
            InputError: the counts do not hold somewhere.
        """
        used = {self.names[i] for i in self.used}
        chosen = {name: each if name in used else each[:1] for name, each in values.items()}
        shape = tuple(len(each) for each in chosen.values())
        mine = [name for name in self.names if name in used]

        def columns() -> list[NDArray[np.int64]]:
            import numpy as np

            axes = [np.array(each, dtype=np.int64) for each in chosen.values()]
            meshed = dict(zip(chosen, np.meshgrid(*axes, indexing="ij"), strict=True))
            return [meshed[name].ravel() for name in mine]

        found = self._in_columns(columns, math.prod(shape))
        if found is None:
            order = [list(chosen).index(name) for name in self.names]
            points = itertools.product(*chosen.values())
            times = [self(tuple([point[i] for i in order])) for point in points]
            found = exact_times(times)
        return Times(found.ticks.reshape(shape), found.per_ns)

    def _in_columns(
        self, columns_of: Callable[[], Sequence[NDArray[np.int64]]], length: int
    ) -> Times | None:
        """At values of the parameters that are used; ``None``: only one by one."""
        if not self.counts.is_formula or self.lines is not None or self.prices.rate.recurring:
            return None
        import numpy as np

        names = [self.names[i] for i in self.used]
        calls: Counter[Expression] = Counter()
        counting = {row.repetition for row in self.counts.rows if row.vector}
        for row in self.counts.rows:
            calls[row.repetition] += row.vector.supervisor_calls
        prices = [*self.coefficients.values(), self.rest, self.per_call]
        per_ns = math.lcm(*(price.denominator for price in prices))
        own, called = _Sum(length), _Sum(length)
        happens = np.zeros(length, dtype=np.bool_)
        try:
            columns = dict(zip(names, columns_of(), strict=True))
            columns[""] = np.zeros(length, dtype=np.int64)  # gives constants their shape
            for repetition, price in self.coefficients.items():
                repeated = formula.evaluate_many(repetition, columns)
                if (repeated < 0).any():
                    return None  # which refuses, and says why
                own.add(repeated, int(price * per_ns))
                called.add(repeated, calls[repetition])
                if repetition in counting:
                    happens |= repeated > 0
        except (InputError, OverflowError):
            return None  # larger than what columns hold
        if self.per_call:
            more = np.maximum(called.total - self.last, 0)
            own.add(more, int(self.per_call * per_ns))
        # Where nothing is counted at all there is nothing that the rest could follow.
        own.add(happens.astype(np.int64), int(self.rest * per_ns))
        return Times(own.total, per_ns)

    def _time(self, values: tuple[int, ...]) -> Fraction:
        own, rate = self._own(values), self.prices.rate
        beside = self.rest or self.lines is not None
        if beside and not own and not counts_something(self._at(values)):
            return own
        if self.lines is not None:
            own += self.lines(values) * rate.factor
        own = rate.settled(own)
        if self.per_call:
            calls = supervisor_calls(self._at(values)) - self.last
            own += self.per_call * max(0, calls)
        return own + self.rest

    @property
    def line(self) -> Mapping[Expression, Fraction] | None:
        """Price of each repetition, the rest included; ``None`` where that is no sum of such."""
        summed = self.counts.is_formula and not self.per_call and self.lines is None
        if not summed or self.prices.rate.recurring:
            return None
        if not self.rest:
            return self.coefficients
        once = self.coefficients.get(ONE, Fraction(0))
        # Else there may be nothing to add it to.
        return {**self.coefficients, ONE: once + self.rest} if once else None

    def _own(self, values: tuple[int, ...]) -> Fraction:
        if self.counts.is_formula:
            at = dict(zip(self.names, values, strict=True))
            repeated = [(formula.evaluate(r, at), price) for r, price in self.coefficients.items()]
            if all(repetitions >= 0 for repetitions, _ in repeated):
                return sum((r * price for r, price in repeated), start=Fraction(0))
            return self._counted(values)  # which refuses, and says why
        key = looked_up(self.counts, values)
        if key not in self._table:
            self._table[key] = self._counted(values)
        return self._table[key]

    def _counted(self, values: tuple[int, ...]) -> Fraction:
        rows = self._at(values).rows
        return sum((self.prices.time_of_row(row).high for row in rows), start=Fraction(0))

    def _at(self, values: tuple[int, ...]) -> Counted:
        return count(self.counts, self.names, values, self.what)


def _columns(keys: Sequence[tuple[int, ...]], names: int) -> list[NDArray[np.int64]]:
    import numpy as np

    return list(np.array(keys, dtype=np.int64).reshape(len(keys), names).T)


def exact_times(times: Sequence[Fraction]) -> Times:
    import numpy as np

    per_ns = math.lcm(*(time.denominator for time in times))
    return Times(np.array([int(time * per_ns) for time in times], dtype=object), per_ns)


class _Sum:
    """Of columns, each times a number: int64 as long as nothing can wrap, then Python integers."""

    def __init__(self, length: int) -> None:
        import numpy as np

        self.total: NDArray[Any] = np.zeros(length, dtype=np.int64)
        self._most = 0

    def add(self, column: NDArray[Any], factor: int) -> None:
        from wcetchar.formula.columns import magnitude_of

        self._most += max(magnitude_of(column), 1) * abs(factor)
        if self._most > _INT64:
            self.total, column = self.total.astype(object), column.astype(object)
        self.total = self.total + column * factor
