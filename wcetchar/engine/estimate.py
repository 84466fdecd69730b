"""Counts times prices: the estimate of one service.

    total = sum over trace sections of repetition * (vector . prices)

Everything stays exact. The word of the result is the weakest of what it rests on:

* a ``bound`` stays a bound, a ``high-water mark`` stays one where its counts were observed (or
  checked) at just these parameter values, and is an ``estimate`` at any others;
* a value from the envelope of a table is an ``estimate``.

Blocking time is the longest stretch of its kind, not the sum of the blocking rows, and beside it
the longest chain of stretches that begins with one of its own (``blocking``, ``chains``). A stretch
with masked interrupts holds off preemption as well.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from wcetchar.engine.blocking import blocking_at
from wcetchar.engine.chains import Following
from wcetchar.engine.counts import Counted, count, values_of
from wcetchar.engine.pricing import PriceVector, price_vector
from wcetchar.errors import InputError
from wcetchar.model.access import Key, key_order
from wcetchar.model.characterization import (
    Characterization,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.estimate import Estimate, EstimateColumn, EstimateRow
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import SectionMap


def estimate(
    characterization: Characterization,
    service: str,
    profile: HardwareProfile,
    section_map: SectionMap,
    parameters: Mapping[str, int],
    prices: PriceVector | None = None,
) -> Estimate:
    """Price ``service`` at ``parameters``; ``prices`` saves pricing the same map again.

    Raises:
        InputError: the service is not there, a parameter is missing, unknown or out of range, the
            counts do not hold at these values, or something that is counted has no price.
    """
    found = service_named(characterization, service)
    values = values_of(found, parameters)
    if prices is None:
        prices = price_vector(characterization, profile, section_map, [service])
    return estimate_at(found, prices, values, Following(characterization, prices, parameters))


def service_named(characterization: Characterization, name: str) -> ServiceCharacterization:
    """The service of that name.

    Raises:
        InputError: the characterization has none.
    """
    for service in characterization.services:
        if service.name == name:
            return service
    names = [service.name for service in characterization.services]
    close = difflib.get_close_matches(name, names, 1)
    raise InputError(
        f"the characterization of {characterization.kernel.name} has no service {name}",
        expected=f"one of {', '.join(names)}" if names else "a characterization with services",
        hint=f"did you mean {close[0]!r}?" if close else None,
    )


def estimate_at(
    service: ServiceCharacterization,
    prices: PriceVector,
    values: tuple[int, ...],
    following: Following | None = None,
) -> Estimate:
    """The estimate at ``values``, in the order of the service's parameters and in their range.

    ``following``: what may go on with what the service blocks; without it, that is not known.
    """
    names = tuple(parameter.name for parameter in service.parameters)
    counted = count(service.counts, names, values, service.name)
    rows = tuple(
        EstimateRow(
            section=str(number),
            repetition=row.repetition,
            repetitions=row.repetitions,
            blocking=str(row.blocking),
            vector=prices.priced(row.vector),
            time=prices.time_of(row.vector).scaled(row.repetitions),
        )
        for number, row in enumerate(counted.rows, start=1)
    )
    interrupts, preemption = (
        blocking_at(service, counted, prices, values, kind, following)
        for kind in (StretchKind.INTERRUPTS, StretchKind.PREEMPTION)
    )
    word, reasons = _word(service, values, counted.exact, interrupts.exact and preemption.exact)
    return Estimate(
        service=service.name,
        profile=prices.profile.name,
        parameters=dict(zip(names, values, strict=True)),
        word=word,
        total=sum((row.time for row in rows), start=Interval()),
        core_clock_hz=prices.profile.core.clock.low,
        rows=rows,
        columns=_columns(counted, prices),
        blocking_interrupts=interrupts.time,
        blocking_preemption=preemption.time,
        notes=tuple(
            dict.fromkeys(
                (*service.notes, *reasons, *interrupts.notes, *preemption.notes, *prices.notes)
            )
        ),
        section_map=prices.section_map.name,
        interrupts_stretch=interrupts.where,
        preemption_stretch=preemption.where,
        interrupts_chain=interrupts.with_word(word),
        preemption_chain=preemption.with_word(word),
    )


def _columns(counted: Counted, prices: PriceVector) -> tuple[EstimateColumn, ...]:
    totals: dict[Key, int] = {}
    for row in counted.rows:
        for key, number in prices.priced(row.vector).items():
            totals[key] = totals.get(key, 0) + number * row.repetitions
    return tuple(
        EstimateColumn(
            key=key,
            region=prices[key].region,
            count=totals[key],
            price=prices[key].time,
            time=prices[key].time.scaled(totals[key]),
        )
        for key in sorted(totals, key=key_order)
    )


def _word(
    service: ServiceCharacterization, values: tuple[int, ...], exact: bool, stretches_exact: bool
) -> tuple[Word, tuple[str, ...]]:
    """What the result is, and why it is less than what the service was published as."""
    if not exact:
        return Word.ESTIMATE, ("not observed at these values: taken from larger observed ones",)
    if not stretches_exact:
        return Word.ESTIMATE, ("blocking was not observed at these values",)
    if service.word is not Word.HIGH_WATER_MARK or not service.parameters:
        return service.word, ()
    observed = {*service.evidence.fitted, *service.evidence.held_out}
    observed.update(point.values for point in service.counts.points)
    if values in observed:
        return service.word, ()
    return Word.ESTIMATE, ("not observed at these values: taken from the fitted formulas",)
