"""Lines that the caches of a core load, of instructions and of data, priced beside the counts.

    time = sum over caches of what its lines take

Each cache says by itself which lines a service loads (``refills``, ``data_lines``); a core waits
for one after the other at most, so what they take adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from wcetchar.engine.data_lines import DataLinePrices
from wcetchar.engine.refills import Loaded, RefillPrices, Refills
from wcetchar.model.characterization import BlockingStretch, ServiceCharacterization
from wcetchar.model.interval import NO_TIME, Interval

LinePrices = RefillPrices | DataLinePrices
"""Of the lines of one cache."""


@dataclass(frozen=True)
class LoadedLines:
    """What a service loads, by cache, in the order of :class:`Caches`."""

    of: tuple[Refills, ...] = ()

    @property
    def total(self) -> Interval:
        return sum((one.total for one in self.of), start=Interval())

    @property
    def unhidden(self) -> Interval:
        """What a part of the service may wait."""
        return sum((one.unhidden for one in self.of), start=Interval())

    @property
    def exact(self) -> bool:
        """As observed at these parameter values."""
        return all(one.exact for one in self.of)


NO_LINES = LoadedLines()
LinesAt = Callable[[tuple[int, ...]], LoadedLines]
"""What a service loads, at values of its parameters."""
StretchTime = Callable[[tuple[int, ...], LoadedLines], Interval]
"""What lines take that a stretch loads, at values of the parameters and with those of its
service."""


@dataclass(frozen=True)
class Caches:
    """Those whose lines are told one by one; nothing, where the core has none."""

    of_core: tuple[LinePrices, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.of_core)

    @property
    def of_instructions_alone(self) -> bool:
        return all(isinstance(one, RefillPrices) for one in self.of_core)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(note for prices in self.of_core for note in prices.notes)

    def of(self, service: ServiceCharacterization, values: tuple[int, ...]) -> LoadedLines:
        """All that a service loads at ``values`` of its parameters.

        Raises:
            InputError: the counts do not hold there.
        """
        return LoadedLines(tuple(prices.of(service, values) for prices in self.of_core))

    def at(self, service: ServiceCharacterization) -> LinesAt | None:
        """What a service loads, each value of the parameters tried once; ``None``: no cache."""
        return cache(partial(self.of, service)) if self else None

    @property
    def of_followers(self) -> Caches:
        """Of what goes on with a service, which has used the caches meanwhile."""
        return Caches(tuple(prices.of_followers for prices in self.of_core))

    @property
    def without_waits(self) -> Caches:
        """Lines wait for no access before them."""
        return Caches(tuple(one.without_waits for one in self.of_core))

    def of_stretch(self, service: ServiceCharacterization, stretch: BlockingStretch) -> StretchTime:
        each = [prices.of_stretch(service, stretch) for prices in self.of_core]

        def time(values: tuple[int, ...], whole: LoadedLines) -> Interval:
            own = (of(values, one.unhidden) for of, one in zip(each, whole.of, strict=True))
            return sum(own, start=Interval())

        return time

    def of_follower(
        self, service: ServiceCharacterization, stretch: BlockingStretch | None
    ) -> Loaded:
        """Of what goes on with another activity; without a stretch all of a service."""
        each = [prices.of_follower(service, stretch) for prices in self.of_core]
        used = frozenset(name for one in each for name in one.used)
        return Loaded(lambda values: sum((one.at(values) for one in each), start=NO_TIME), used)


NO_CACHES = Caches()
