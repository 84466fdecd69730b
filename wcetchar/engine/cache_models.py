"""What each model of a cache says that a service loads, whatever state the map speaks of.

For comparison with exact replay (``caches.replay``): *always miss*, *cold* and *warm* beside each
other, as lines, and as lines times what one of them takes. Hidden stalls, accesses that are under
way behind the core and the share of interference are left out of these times, so that they can be
held against a replay that is priced in the same way::

    time = sum over sections of  lines(section) * price(section)

A state that the files do not allow is told with the reason instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from wcetchar.engine.counts import count
from wcetchar.engine.data_lines import data_line_prices, load_prices
from wcetchar.engine.errors import PricingError
from wcetchar.engine.lines import LinePrices
from wcetchar.engine.pricer import Pricer
from wcetchar.engine.pricing import keys_of
from wcetchar.engine.refills import RefillPrices, refill_prices
from wcetchar.model.access import UNKNOWN_SECTION, AccessClass, CoreEvent, Key, Operation
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.replayed import CacheKind, Loads
from wcetchar.model.section_map import Assumption, CacheState, SectionMap

Says = Callable[[ServiceCharacterization, tuple[int, ...]], Loads]
"""What a model says of a service at values of its parameters; raises InputError where its counts do
not hold."""
_NO_PROMISE = "the section map does not promise `data alignment`"


@dataclass(frozen=True)
class CacheModels:
    """The models of one cache.

    Attributes:
        price: logical section that is cached -> what a line takes that is loaded from there, in
            nanoseconds.
        says: the models that can be priced.
        unpriced: why the others cannot.
    """

    kind: CacheKind
    geometry: CacheGeometry
    price: Mapping[str, Fraction]
    says: Mapping[CacheState, Says]
    unpriced: Mapping[CacheState, str]


def cache_models(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    services: Sequence[ServiceCharacterization],
) -> tuple[CacheModels, ...]:
    """Of each cache of the core that holds anything of the characterization's sections.

    Raises:
        InputError: the profile cannot be used.
    """
    found = (
        _of_instructions(characterization, profile, section_map, services),
        _of_data(characterization, profile, section_map),
    )
    return tuple(one for one in found if one is not None)


def _of_instructions(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    services: Sequence[ServiceCharacterization],
) -> CacheModels | None:
    def prices(state: CacheState) -> RefillPrices | None:
        # The other cache's state is no matter here, and what it lacks no reason.
        asked = replace(section_map, instruction_cache=state, data_cache=CacheState.ALWAYS_MISS)
        waits = Pricer(profile, asked, characterization, ()).waits_of_refills()
        return refill_prices(characterization, profile, asked, services, waits)

    always = prices(CacheState.ALWAYS_MISS)
    if always is None:
        return None
    says, unpriced = _each(lambda state: _says_by_lines(prices(state)))
    return CacheModels(CacheKind.INSTRUCTIONS, always.geometry, _high(always), says, unpriced)


def _of_data(
    characterization: Characterization, profile: HardwareProfile, section_map: SectionMap
) -> CacheModels | None:
    if profile.core.data_cache is None:
        return None

    def pricer(state: CacheState) -> Pricer:
        asked = replace(section_map, data_cache=state, instruction_cache=CacheState.ALWAYS_MISS)
        return Pricer(profile, asked, characterization, ())

    plain = pricer(CacheState.ALWAYS_MISS)
    sections = dict.fromkeys(section.name for section in characterization.sections)
    for service in characterization.services:
        sections.update((key.section, None) for key in keys_of(service) if _is_read(key))
    prices = load_prices(plain.data_cache, plain.placement, sections)
    if not prices.keys() - {UNKNOWN_SECTION}:
        return None
    price = {section: time.high for section, (_, time) in prices.items()}

    def says(state: CacheState) -> Says:
        if state is CacheState.ALWAYS_MISS:
            return _counted(price, _is_read)
        if Assumption.DATA_ALIGNMENT not in section_map.assumptions:
            raise PricingError(_NO_PROMISE, file="map", keys=("assumptions",))
        own = pricer(state)
        lines = data_line_prices(own.data_cache, characterization, own.placement, own.map)
        if lines is not None:
            return _says_by_lines(lines)
        loaded, _ = own.data_cache.counted
        return _counted(price, lambda key: isinstance(key, CoreEvent) and key.kind is loaded)

    priced, unpriced = _each(says)
    geometry = profile.core.data_cache.geometry
    return CacheModels(CacheKind.DATA, geometry, price, priced, unpriced)


def _each(
    says: Callable[[CacheState], Says],
) -> tuple[dict[CacheState, Says], dict[CacheState, str]]:
    priced: dict[CacheState, Says] = {}
    unpriced: dict[CacheState, str] = {}
    for state in CacheState:
        try:
            priced[state] = says(state)
        except PricingError as error:
            unpriced[state] = error.message
    return priced, unpriced


def _high(prices: LinePrices) -> dict[str, Fraction]:
    return {section: time.high for section, (_, time) in prices.price.items()}


def _says_by_lines(prices: LinePrices | None) -> Says:
    assert prices is not None
    price = _high(prices)
    return lambda service, values: _loads(prices.of(service, values).misses.items(), price)


def _counted(price: Mapping[str, Fraction], counts: Callable[[Key], bool]) -> Says:
    def says(service: ServiceCharacterization, values: tuple[int, ...]) -> Loads:
        names = tuple(parameter.name for parameter in service.parameters)
        rows = count(service.counts, names, values, service.name).rows
        return _loads(
            (
                (key.section, number * row.repetitions)
                for row in rows
                for key, number in row.vector.items()
                if counts(key) and key.section in price
            ),
            price,
        )

    return says


def _is_read(key: Key) -> bool:
    return isinstance(key, AccessClass) and key.operation in (Operation.READ, Operation.ACCESS)


def _loads(misses: Iterable[tuple[str, int]], price: Mapping[str, Fraction]) -> Loads:
    found = [(number, price[section] * number) for section, number in misses]
    return Loads(sum(n for n, _ in found), sum((t for _, t in found), start=Fraction(0)))
