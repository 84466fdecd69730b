"""What a data cache adds: loads that miss, times what a miss takes.

The cache is read-allocate and written through, a store that hits updates its line, and nothing
takes lines away but loads: one that misses takes ``load miss penalty`` of its region more than one
that hits, a store takes what it takes anyway. The map says what the cache
holds when a service begins:

* ``always miss``: every read of a cached region misses. Or it hits and is carried out again because
  of a store right before it, whichever takes longer.
* ``cold``: anything but what the service needs. Line loads miss (``analysis.line_loads``), others
  hit. Needs the promise that data share lines as in the trace; without it, always miss. Where the
  map says where data lie as well, the lines that are used tell what misses (``data_lines``).
* ``warm``: what the service loads. Needs all of that.

While something is blocked, loads miss as well that hit only thanks to what was loaded before that
began: an interrupt may have run between.

Regions without a ``load miss penalty`` are not cached.

Soundness: nothing else uses the cache while a service runs. What an interrupt or another thread
makes it load again is not in the figures, but for what is blocked and was loaded before that began;
where preemption alone is held off, an interrupt may run inside, and is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property

from wcetchar.engine.errors import PricingError, not_a_time
from wcetchar.engine.regions import region_span
from wcetchar.engine.time import in_nanoseconds, span_of
from wcetchar.model.access import (
    CARRIED_OUT_AGAIN,
    LINE_LOADS,
    WAYS_OF_LINE_LOADS,
    EventKind,
    Operation,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile, Region
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import Assumption, CacheState, SectionMap

_NONE = Interval()


class DataCachePrices:
    """Prices of loads for one profile and map; nothing, where the core has no data cache.

    Raises:
        PricingError: the characterization does not count what is needed.
    """

    def __init__(
        self,
        profile: HardwareProfile,
        section_map: SectionMap,
        characterization: Characterization,
        waits: Callable[[Region], Interval],
    ) -> None:
        """``waits``: what a line may wait for that is loaded from a region, in nanoseconds."""
        self._profile = profile
        self._waits = waits
        self._cache = profile.core.data_cache
        state = section_map.data_cache
        self.warm = self._cache is not None and state is CacheState.WARM
        """And where the lines that are used lie is known."""
        self._asked = self._cache is not None and state is not CacheState.ALWAYS_MISS
        self.cold = self._asked and Assumption.DATA_ALIGNMENT in section_map.assumptions
        self.by_lines = False
        """Loads that miss are told from the lines that are used, not one by one."""
        if self._cache is None:
            return
        if self.cold and self._cache.geometry.line not in characterization.data_lines:
            line = self._cache.geometry.line
            raise PricingError(
                f"the characterization of {characterization.kernel.name} does not say which loads "
                f"may miss in a data cache with lines of {line} bytes",
                expected=f"a characterization made with --data-lines {line}",
                hint="or `data cache: always miss` in the section map",
                file="map",
                keys=("data cache",),
            )
        if self.warm and not self.cold:
            raise PricingError(
                "the data cache is warm, but data may lie in lines otherwise than where they were "
                "characterized",
                expected="`data alignment` among the assumptions",
                hint="promise it if it holds, or `data cache: always miss`",
                file="map",
                keys=("data cache",),
            )
        known = any(service.data is not None for service in characterization.services)
        if self.warm and not known:
            raise PricingError(
                f"the characterization of {characterization.kernel.name} does not say which lines "
                "of data services use, and the data cache is warm",
                expected="a characterization that was made anew with --data-lines",
                hint="or `data cache: cold`",
                file="map",
                keys=("data cache",),
            )
        self.by_lines = (
            self.cold and known and (self.warm or self._is_placed(section_map, characterization))
        )

    def _is_placed(self, section_map: SectionMap, characterization: Characterization) -> bool:
        """The map says of some data that services use where they lie."""
        return any(
            line.section in section_map.addresses
            for service in characterization.services
            for footprint in service.data or ()
            for line in footprint.used.lines
            if line.size == self.geometry.line
        )

    @property
    def geometry(self) -> CacheGeometry:
        assert self._cache is not None
        return self._cache.geometry

    def notes(self) -> Iterator[str]:
        """What the prices assume."""
        if self._cache is None:
            return
        regions = self._profile.regions.values()
        past = [
            r.name for r in regions if r.load_miss_penalty is None and Operation.READ in r.times
        ]
        if past:
            yield f"loads from {', '.join(sorted(past))} go past the data cache"
        if not self.cold:
            yield "data cache: each load of what it may hold counts as a miss"
            if self._asked:
                yield (
                    "data may lie in lines otherwise than where they were characterized: with "
                    "`data alignment` promised, a cold data cache is priced by the lines that are "
                    "loaded"
                )
            return
        before = "" if self.warm else "before, it may hold anything, and "
        yield (
            f"assumed: nothing but the service uses the data cache meanwhile; {before}what is "
            "blocked begins with it empty; what an interrupt or another thread makes it load again "
            "is not in the figures"
        )
        yield f"assumed, as the section map promises: {Assumption.DATA_ALIGNMENT.value}"

    def of_read(self, region: Region) -> Interval:
        """What a read takes beside its own time, if each of them misses."""
        penalty = self.penalty(region)
        if penalty is None or self.cold:
            return _NONE
        return penalty.larger(self._again())

    def of_event(self, kind: EventKind, region: Region, blocked: bool) -> Interval:
        """What a load takes more that is counted as of this kind; ``blocked``: in what is
        blocked."""
        penalty = self.penalty(region)
        if penalty is None or not self.cold:
            return _NONE
        if kind in CARRIED_OUT_AGAIN:
            return self._again()
        if self.by_lines:
            return _NONE
        loaded, emptied = self.counted
        return penalty if kind is loaded or (blocked and kind is emptied) else _NONE

    @cached_property
    def counted(self) -> tuple[EventKind, EventKind]:
        """Line loads of this cache, and those that are so only where something is blocked."""
        assert self._cache is not None
        geometry = self._cache.geometry
        ways = max(w for w in WAYS_OF_LINE_LOADS if w <= geometry.ways)
        return LINE_LOADS[geometry.line, ways]

    def penalty(self, region: Region) -> Interval | None:
        """What a load takes more that misses; ``None``: the region is not cached."""
        if self._cache is None or region.load_miss_penalty is None:
            return None
        span = region_span(self._profile, region, region.load_miss_penalty, "load miss penalty")
        return self._from_zero(in_nanoseconds(span, self._profile.core.clock) + self._waits(region))

    def _again(self) -> Interval:
        """Of a load that hits and is carried out once more."""
        assert self._cache is not None
        quantity = self._cache.load_behind_store
        if quantity is None:
            return _NONE
        wrong = not_a_time(self._profile.name, "core", "data cache", "load behind store")
        return self._from_zero(
            in_nanoseconds(span_of(quantity, None, wrong), self._profile.core.clock)
        )

    @staticmethod
    def _from_zero(time: Interval) -> Interval:
        """It may hit all the same."""
        return Interval(Fraction(0), time.nominal, time.high)
