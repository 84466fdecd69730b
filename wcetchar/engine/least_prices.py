"""Prices whose sums no figure is below, wherever the numbers of a profile are in their ranges.

Most prices rise with a number, or fall where more of it saves time (``ProfileInput.saves``), and do
so throughout: they are least with each number at that end. Three do not, and are taken from the
profile with all its ranges instead::

    wait for an access before   the least at any numbers: whatever is done in between hides it, so
                                it falls with what raises all else; an edge of a clock may come at
                                once, so it costs nothing
    line of instructions        waits for no access
    all, where one of these     lower ends, nothing for lines of caches and for interference
      may be off: the clock of the core, with something that it hides or that does not keep to it;
      the clock of a memory that others use; whether others leave enough of all memories to be
      counted by how often they come

A wait of which all numbers are exact is the same everywhere, and stays what it is.

Soundness: it is not asked whether counts hold all that is done between two accesses, so a sum of
both at their least may be below all that can be. Stalls that refills hide are in the counts
(``refills``).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from wcetchar.engine.interference import NO_INTERFERENCE
from wcetchar.engine.lines import NO_CACHES
from wcetchar.engine.prices import Price, PriceVector
from wcetchar.engine.profile_inputs import inputs_of
from wcetchar.engine.variants import Priced, Variant
from wcetchar.engine.waits import CALLS, ISSUES, READS
from wcetchar.model.access import STALLS, CoreEvent, EventKind, Key, Succession
from wcetchar.model.hardware import HardwareProfile, Quantity
from wcetchar.model.interval import Interval

_OF_ALL_WAITS: Final = frozenset({EventKind.CONSECUTIVE_ACCESS, EventKind.FETCH_HELD_LATE, *ISSUES})
"""Events that a wait may hang on, wherever they happen: edges are known by some of them."""


class LeastPrices(Variant):
    """``anywhere``: the profile with the ranges in which its numbers are."""

    def __init__(self, of: Priced, anywhere: Variant) -> None:
        ends = {
            one.steps: one.quantity.high if one.saves else one.quantity.low
            for one in inputs_of(anywhere.profile)
        }
        super().__init__(of, lambda one: Quantity.exactly(ends[one.steps], one.quantity.unit))
        self._anywhere = anywhere
        self._exact = _Exact(anywhere.profile)

    def _of_services(self) -> PriceVector:
        return self._least(super()._of_services(), self._anywhere.prices)

    def _of_paths(self) -> PriceVector:
        return self._least(super()._of_paths(), self._anywhere.path_prices)

    def _least(self, own: PriceVector, anywhere: PriceVector) -> PriceVector:
        share_counts = bool(own.rate.recurring), bool(anywhere.rate.recurring)
        if len(set(share_counts)) > 1 or _rises_and_falls(anywhere.profile):
            return _lower_ends(anywhere)

        def least(key: Key, price: Price, low: Fraction) -> Price:
            if self._exact.is_waited_the_same(key):
                return price
            return Price(price.region, own.rate.applied(key, Interval(low, low, low)))

        prices = {key: least(key, price, anywhere[key].time.low) for key, price in own.items()}
        blocked = {
            key: least(key, price, anywhere.blocked.get(key, anywhere[key]).time.low)
            for key, price in own.blocked.items()
        }
        if not self._exact.lines_are_the_same(own):
            caches = own.caches.without_waits
            return replace(own, prices=prices, blocked=blocked, caches=caches)
        return replace(own, prices=prices, blocked=blocked)


class _Exact:
    """What hangs on exact numbers alone, as far as what waits for accesses does."""

    def __init__(self, profile: HardwareProfile) -> None:
        off = [one.steps for one in inputs_of(profile) if not one.quantity.is_exact]
        self._core = profile.core
        self._events = {steps[2] for steps in off if steps[:2] == ("core", "events")}
        self._all_but_events = len(self._events) == len(off)

    def is_waited_the_same(self, key: Key) -> bool:
        """Nothing is waited for before, or just as long at any numbers."""
        if isinstance(key, CoreEvent) and key.kind.is_line_entry:
            return self._all_but_events
        if not isinstance(key, Succession):
            return True
        events = (event.kind for event, _ in (*key.between, *key.then))
        kinds = {self._core.priced_as(kind) for kind in events} | _OF_ALL_WAITS
        if key.called:
            kinds |= CALLS
        if key.settled:
            kinds |= READS
        if key.called or key.settled:
            kinds |= {EventKind.PIPELINE_REFILL}
        return self._all_but_events and self._events.isdisjoint(kinds)

    def lines_are_the_same(self, prices: PriceVector) -> bool:
        steady = self._all_but_events and self._events.isdisjoint(STALLS)
        return steady and all(map(self.is_waited_the_same, prices))


def _rises_and_falls(profile: HardwareProfile) -> bool:
    """A time may do both as a clock gets slower: what it hides grows, others come less often."""
    core, regions = profile.core, profile.regions.values()
    caches = core.instruction_cache is not None or core.data_cache is not None
    shared = any(region.interferences for region in regions)
    if not core.clock.is_exact and (core.overlap or core.write_buffer or caches or shared):
        return True
    clocks = [one.clock for one in regions if one.interferences and one.clock is not None]
    return not all(clock.is_exact for clock in clocks)


def _lower_ends(prices: PriceVector) -> PriceVector:
    def low(key: Key, price: Price) -> Price:
        least = min(price.time.low, prices.blocked.get(key, price).time.low)
        return Price(price.region, Interval(least, least, least))

    paths = prices.of_paths
    return replace(
        prices,
        prices={key: low(key, price) for key, price in prices.items()},
        caches=NO_CACHES,
        rate=NO_INTERFERENCE,
        blocked={},
        of_paths=paths and replace(paths, under_way=Fraction(0), fetched_behind=Fraction(0)),
    )
