"""What a hardware profile and a section map make of access classes and events, and sums of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from wcetchar.engine.counts import CountedRow
from wcetchar.engine.interference import NO_INTERFERENCE, Rate
from wcetchar.engine.lines import NO_CACHES, Caches
from wcetchar.model.access import AccessVector, CoreEvent, Key, Succession
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.interval import NO_TIME, Interval
from wcetchar.model.section_map import SectionMap


@dataclass(frozen=True)
class Price:
    """What one access or event costs, in nanoseconds, and where."""

    region: str
    time: Interval


@dataclass(frozen=True)
class OfPaths:
    """What prices of path models rest on (``path_prices``).

    Attributes:
        successions, stalls: are priced as counted.
        line: bytes of lines of instructions whose entries are priced; ``None``: none are cached.
        under_way: what a path, or a stretch of it, waits for writes of before it at most, in
            nanoseconds; it is in no other price.
        fetched_behind: likewise, what a stretch waits for lines of what comes behind it.
        cheapest: of what lies in an unknown section, the upper end in the cheapest region.
    """

    successions: bool
    stalls: int
    line: int | None
    under_way: Fraction
    fetched_behind: Fraction
    cheapest: Mapping[Key, Fraction]


@dataclass(frozen=True)
class PriceVector(Mapping[Key, Price]):
    """Prices of every class that the priced services touch, and what was assumed for them."""

    profile: HardwareProfile
    section_map: SectionMap
    prices: Mapping[Key, Price]
    notes: tuple[str, ...] = ()
    caches: Caches = NO_CACHES
    """Of lines that caches load, but for loads that are priced one by one."""
    rate: Rate = NO_INTERFERENCE
    """What refresh and other masters add, which the prices hold their share of."""
    blocked: Mapping[Key, Price] = field(default_factory=dict)
    """Prices that are others where what is blocked is priced."""
    of_paths: OfPaths | None = None
    """They hold for path models, too, each key by itself."""

    def __getitem__(self, key: Key) -> Price:
        return self.prices[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.prices)

    def __len__(self) -> int:
        return len(self.prices)

    @property
    def under_way(self) -> Fraction:
        """What each path, and each stretch of one, takes beside what it counts, in nanoseconds."""
        return self.of_paths.under_way if self.of_paths is not None else Fraction(0)

    @property
    def fetched_behind(self) -> Fraction:
        """The same of stretches alone."""
        return self.of_paths.fetched_behind if self.of_paths is not None else Fraction(0)

    def priced(self, vector: AccessVector) -> AccessVector:
        """Without stalls that the profile does not price: its times of instructions hold them; and
        without successions in which nothing waits, and loads that cost nothing more."""
        return AccessVector(
            (key, count) for key, count in vector.items() if not self._is_left_out(key)
        )

    def _is_left_out(self, key: Key) -> bool:
        if isinstance(key, Succession):
            return not self.prices[key].time.high
        if isinstance(key, CoreEvent) and key.kind.is_of_data_cache:
            return not self.prices[key].time.high
        return (
            isinstance(key, CoreEvent)
            and key.kind.is_stall
            and not self.profile.core.prices(key.kind)
        )

    @cached_property
    def in_stretches(self) -> PriceVector:
        """Of what is blocked: how long that lasts, whatever ran before it."""
        if not self.blocked:
            return self
        return replace(self, prices={**self.prices, **self.blocked}, blocked={})

    def time_of(self, vector: AccessVector) -> Interval:
        """Counts times prices, summed, in nanoseconds."""
        denominator, numerators = self._numerators
        low = nominal = high = 0
        for key, count in vector.items():
            if count < 0:
                raise ValueError(f"a count cannot be negative: {key}: {count}")
            price = numerators[key]
            low += price[0] * count
            nominal += price[1] * count
            high += price[2] * count
        return Interval(
            Fraction(low, denominator), Fraction(nominal, denominator), Fraction(high, denominator)
        )

    def time_of_row(self, row: CountedRow) -> Interval:
        """Of all its repetitions, in nanoseconds."""
        return self.time_of(row.vector).scaled(row.repetitions)

    def time_of_window(self, rows: Iterable[CountedRow], lines: Interval = NO_TIME) -> Interval:
        """Of all that is counted between its begin and its end, and of the lines that are loaded
        meanwhile; interference comes whole times."""
        counted = sum(map(self.time_of_row, rows), start=Interval())
        return self.rate.of_window(counted + self.rate.shared(lines))

    @cached_property
    def _numerators(self) -> tuple[int, dict[Key, tuple[int, int, int]]]:
        """One denominator of all times, and their numerators over it: sums of whole numbers take a
        tenth of what sums of fractions do."""
        times = {key: price.time for key, price in self.prices.items()}
        ends = {key: (time.low, time.nominal, time.high) for key, time in times.items()}
        denominator = math.lcm(1, *(end.denominator for each in ends.values() for end in each))

        def over(end: Fraction) -> int:
            return end.numerator * (denominator // end.denominator)

        return denominator, {
            key: (over(low), over(nominal), over(high))
            for key, (low, nominal, high) in ends.items()
        }
