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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from wcetchar import formula
from wcetchar.engine.blocking import blocking_at
from wcetchar.engine.chains import Following
from wcetchar.engine.counts import Counted, check_values, count, values_of
from wcetchar.engine.interference import Rate
from wcetchar.engine.lines import LinePrices
from wcetchar.engine.maximum import worst_parameters
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import price_vector
from wcetchar.engine.refills import Refills
from wcetchar.errors import InputError, did_you_mean
from wcetchar.model.access import AccessVector, Key, key_order
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.estimate import Estimate, EstimateColumn, EstimateRow
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import ParameterKind

_LINES_NOT_OBSERVED = "which lines of code are fetched was not observed at these values"


def estimate(
    characterization: Characterization,
    service: str,
    profile: HardwareProfile,
    section_map: SectionMap,
    parameters: Mapping[str, int],
    prices: PriceVector | None = None,
) -> Estimate:
    """Price ``service`` at ``parameters``; ``prices`` saves pricing the same map again. Of cases
    that are not given the dearest is taken.

    Raises:
        InputError: the service is not there, a parameter is missing, unknown or out of range, the
            counts do not hold at these values, or something that is counted has no price.
    """
    found = service_named(characterization, service)
    check_values(found, parameters)
    if prices is None:
        prices = price_vector(characterization, profile, section_map, [service])
    following = Following(characterization, prices, parameters)
    return estimate_given(found, prices, parameters, following)


def service_named(characterization: Characterization, name: str) -> ServiceCharacterization:
    """The service of that name.

    Raises:
        InputError: the characterization has none.
    """
    for service in characterization.services:
        if service.name == name:
            return service
    names = [service.name for service in characterization.services]
    raise InputError(
        f"the characterization of {characterization.kernel.name} has no service {name}",
        expected=f"one of {', '.join(names)}" if names else "a characterization with services",
        hint=did_you_mean(name, names),
    )


def estimate_given(
    service: ServiceCharacterization,
    prices: PriceVector,
    given: Mapping[str, int],
    following: Following | None = None,
    maximum: bool = False,
) -> Estimate:
    """The estimate at the values that are given. Of cases that are not it is that of the dearest,
    and with ``maximum`` the largest over the range of all that is not given; beside it stands the
    longest blocking, wherever in that range it is.

    Raises:
        InputError: a value is missing, unknown or out of range, the counts do not hold there, or
            there are too many combinations to try.
    """
    if not maximum:
        check_values(service, given)
    searched = [p for p in service.parameters if p.name not in given]
    if not searched:
        return estimate_at(service, prices, values_of(service, given), following)
    worst = worst_parameters(service, prices, given, following)
    total = estimate_at(service, prices, values_of(service, worst.total), following)
    interrupts, preemption = (
        total
        if values == worst.total
        else estimate_at(service, prices, values_of(service, values), following)
        for values in (worst.interrupts, worst.preemption)
    )
    ranges = ", ".join(p.name for p in searched if p.kind is not ParameterKind.CASE)
    notes = [*total.notes, *([f"largest total over the whole range of {ranges}"] if ranges else [])]
    notes += (
        f"{p.name} = {worst.total[p.name]} is the dearest case of all ({p.meaning})"
        for p in searched
        if p.kind is ParameterKind.CASE and p.minimum < p.maximum
    )
    for what, values in (("interrupts", worst.interrupts), ("preemption", worst.preemption)):
        if values != worst.total:
            at = ", ".join(f"{p.name}={values[p.name]}" for p in searched)
            notes.append(f"blocks {what} longest at {at}")
    return replace(
        total,
        blocking_interrupts=interrupts.blocking_interrupts,
        interrupts_stretch=interrupts.interrupts_stretch,
        blocking_preemption=preemption.blocking_preemption,
        preemption_stretch=preemption.preemption_stretch,
        interrupts_chain=interrupts.interrupts_chain,
        preemption_chain=preemption.preemption_chain,
        notes=tuple(dict.fromkeys(notes)),
        interrupts_at=interrupts.parameters,
        preemption_at=preemption.parameters,
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
    counted = _happens(service, count(service.counts, names, values, service.name))
    times = [prices.time_of_row(row) for row in counted.rows]
    lines = prices.caches.of(service, values)
    share = _whole_interferences([*times, prices.rate.shared(lines.total)], prices)
    rows = tuple(
        EstimateRow(
            section=str(number),
            repetition=row.repetition,
            repetitions=row.repetitions,
            blocking=str(row.blocking),
            vector=prices.priced(row.vector),
            time=_spread(time, share),
        )
        for number, (row, time) in enumerate(zip(counted.rows, times, strict=True), start=1)
    )
    interrupts, preemption = (
        blocking_at(service, counted, prices, values, kind, following, lines)
        for kind in (StretchKind.INTERRUPTS, StretchKind.PREEMPTION)
    )
    word, reasons = _word(service, values, counted.exact, interrupts.exact and preemption.exact)
    columns = _columns(rows, prices, share)
    spread = partial(_of_lines, prices.rate, share)
    for of_cache, loaded in zip(prices.caches.of_core, lines.of, strict=True):
        rows += (_loaded_row(of_cache, loaded, len(rows) + 1, spread),)
        columns += _loaded_columns(of_cache, loaded, spread)
    if not lines.exact and word is not Word.ESTIMATE:
        word, reasons = Word.ESTIMATE, (*reasons, _LINES_NOT_OBSERVED)
    return Estimate(
        service=service.name,
        profile=prices.profile.name,
        parameters=dict(zip(names, values, strict=True)),
        word=word,
        total=sum((row.time for row in rows), start=Interval()),
        core_clock_hz=prices.profile.core.clock.low,
        rows=rows,
        columns=columns,
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


def _of_lines(rate: Rate, share: Fraction, time: Interval) -> Interval:
    """The time of lines with its share of interference, which comes whole times."""
    return _spread(rate.shared(time), share)


def _loaded_row(
    prices: LinePrices, loaded: Refills, number: int, spread: Callable[[Interval], Interval]
) -> EstimateRow:
    """The row of all lines that a cache loads; what of the service they hold up is not told."""
    vector = AccessVector((prices.key(s), n) for s, n in loaded.misses.items() if n)
    return EstimateRow(str(number), "1", 1, str(Blocking()), vector, spread(loaded.total))


def _loaded_columns(
    prices: LinePrices, loaded: Refills, spread: Callable[[Interval], Interval]
) -> tuple[EstimateColumn, ...]:
    return tuple(
        EstimateColumn(
            key=prices.key(section),
            region=prices.price[section][0],
            count=number,
            price=spread(prices.price[section][1]),
            time=spread(loaded.time[section]),
        )
        for section, number in sorted(loaded.misses.items())
        if number
    )


def _happens(service: ServiceCharacterization, counted: Counted) -> Counted:
    """Without the rows of cases that do not hold."""
    cases = {p.name for p in service.parameters if p.kind is ParameterKind.CASE}
    if not cases:
        return counted
    rows = tuple(
        row
        for row in counted.rows
        if row.repetitions or not cases & formula.names(formula.parse(row.repetition))
    )
    return replace(counted, rows=rows)


def _whole_interferences(times: Iterable[Interval], prices: PriceVector) -> Fraction:
    """By what to multiply each price, so that refresh and other masters come whole times."""
    total = sum((time.high for time in times), start=Fraction(0))
    return prices.rate.settled(total) / total if total else Fraction(1)


def _spread(time: Interval, share: Fraction) -> Interval:
    return time if share == 1 else time.up_to(time.high * share)


def _columns(
    rows: tuple[EstimateRow, ...], prices: PriceVector, share: Fraction
) -> tuple[EstimateColumn, ...]:
    totals: dict[Key, int] = {}
    for row in rows:
        for key, number in row.vector.items():
            totals[key] = totals.get(key, 0) + number * row.repetitions
    return tuple(
        EstimateColumn(
            key=key,
            region=prices[key].region,
            count=totals[key],
            price=_spread(prices[key].time, share),
            time=_spread(prices[key].time, share).scaled(totals[key]),
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
    return Word.ESTIMATE, (
        "not observed at these values: taken from the fitted formulas",
        *_beyond(service, values, observed),
    )


def _beyond(
    service: ServiceCharacterization, values: tuple[int, ...], observed: Collection[tuple[int, ...]]
) -> Iterator[str]:
    """Which values lie outside of all that were observed. There a formula is more of a guess than
    between them: nothing was seen on that side."""
    for parameter, value, seen in zip(
        service.parameters, values, zip(*observed, strict=True), strict=False
    ):
        if not min(seen) <= value <= max(seen):
            yield (
                f"{parameter.name} = {value} lies beyond what was observed, {min(seen)} to "
                f"{max(seen)}: there the formulas may be too low"
            )
