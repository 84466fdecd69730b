"""Fit the times of a profile to measurements, check it on rows left out, and write the profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Final

from wcetchar import store
from wcetchar.engine.data_lines import DataLinePrices
from wcetchar.engine.linear import linear_prices, tied, together
from wcetchar.errors import InputError, InputErrors, Location, NoSoundBound, several
from wcetchar.model.access import FIRST_STALLS, NO_MORE_THAN, SECOND_STALLS, EventKind, Key
from wcetchar.model.fitting import Fit, LinearPrices, Place
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.model.section_map import Assumption, CacheState
from wcetchar.model.validation import Compared, Comparison
from wcetchar.pipeline import validate as validating
from wcetchar.pipeline.fitters import Asked, fitter_of
from wcetchar.pipeline.situations import DATA_CACHE, INSTRUCTION_CACHE, Situations
from wcetchar.validation import compare
from wcetchar.validation.fitting import Row

DEFAULT_HOLD_OUT: Final = 5
_TAKES: Final = "takes"
_OF_INSTRUCTIONS: Final = ("line refill",)
_OF_DATA: Final = ("load miss penalty", "load behind store")
_BY_SITUATION: Final = (*_OF_INSTRUCTIONS, *_OF_DATA, _TAKES)
"""Times that are paid in some situations and not in others."""
_NAMED: Final = 5
_EVENTS: Final = ("core", "events")


@dataclass(frozen=True)
class Request:
    """What to fit. ``measured``: see :class:`wcetchar.pipeline.validate.Request`.

    Attributes:
        hold_out: every n-th row of each service is left out of a first fit and checked; 0: none.
        step: values are rounded up to its multiples, in the unit of each time.
        relative: the least total of relative overestimations rather than of nanoseconds.
        ranges: find for each time how far it could be moved.
    """

    measured: validating.Request
    hold_out: int = DEFAULT_HOLD_OUT
    step: Fraction = Fraction(1, 1000)
    relative: bool = False
    ranges: bool = True


@dataclass(frozen=True)
class FittedProfile:
    """What a fit comes to.

    Attributes:
        text: the profile's file with the times that were found from all rows.
        before, after: all rows at the upper ends of the ranges, and with the times found.
        check: the rows that were left out, with the times that the others gave; ``None``
            where none were.
        simplified: whether a price is the dearest of several and one of them was taken.
        dearer: rows that the written profile prices above the sums that were fitted.
        copied: times that no row pays, and which others they have been given.
    """

    text: str
    profile: str
    section_map: str
    fit: Fit
    before: Comparison
    after: Comparison
    check: Comparison | None
    simplified: bool
    dearer: int
    copied: Mapping[Place, Place]


def run(request: Request) -> FittedProfile:
    """Fit on most rows and check the others, then fit on all.

    Raises:
        InputError: files that cannot be used, a profile without a range, a range of a clock.
        NoSoundBound: the ranges do not allow what was measured.
    """
    measured = validating.measured_rows(request.measured)
    platform = measured.platform
    profile_text = store.load_profile_text(request.measured.profile)
    try:
        each = _prices(measured, profile_text.same())
    except InputErrors:
        raise
    except InputError as error:
        error.where = error.where or Location(profile_text.path)
        raise
    prices = together(each.values())
    if not prices.free:
        raise InputError(
            "holds no range among the times that the measured services need: nothing to fit",
            where=Location(profile_text.path),
            expected="ranges such as `1..8 cycles` where the value is to be found",
            hint="wcetchar validate holds measurements against a profile as it is",
        )
    rows = [
        _row(row, each[id(there)])
        for row, there in zip(measured.rows, measured.platforms, strict=True)
    ]
    left_out = _left_out(measured.rows, request.hold_out)

    quiet = [row.label in request.measured.situations.undisturbed for row in measured.rows]
    waits = [place for place in prices.free if place[-1] == _TAKES]
    _refuse_waits_alone(waits, quiet, profile_text.path)
    disturbed = any(r.interferences for r in platform.prices.profile.regions.values())
    if disturbed:
        _refuse_disturbed(rows, quiet, profile_text.path)
    _refuse_unsaid_states(measured, request.measured.situations)
    _refuse_uncertain_lines(measured, request.measured.measured)
    _refuse_no_check(left_out, request, len(rows))

    fitter = fitter_of(
        measured,
        rows,
        prices,
        profile_text.same(),
        Asked(request.step, request.relative, disturbed and not all(quiet), quiet),
    )
    check = None
    if left_out:
        first = fitter.fit([n for n in range(len(rows)) if n not in left_out], False)
        costs = fitter.costs(sorted(left_out), first)
        others = [measured.rows[n] for n in sorted(left_out)]
        check = compare([_with(row, cost) for row, cost in zip(others, costs, strict=True)])
    everything = range(len(rows))
    final = fitter.fit(everything, request.ranges)
    costs = fitter.costs(everything, final)
    _refuse_nothing_near(final, costs, rows, request.measured.measured)
    _refuse_sums(final, profile_text.path)
    _refuse_few_rows(rows, request.measured.measured)
    times, copied = times_found(final, platform.prices.profile.core.events)
    text = profile_text.with_times(times)
    after, dearer = _priced_again(request, text, profile_text.path, costs)
    return FittedProfile(
        text=text,
        profile=platform.prices.profile.name,
        section_map=platform.section_map.name,
        fit=final,
        before=compare(measured.rows),
        after=after,
        check=check,
        simplified=bool(prices.simplified) and not final.judged,
        dearer=dearer,
        copied=copied,
    )


def times_found(
    fit: Fit, events: Mapping[EventKind, Quantity]
) -> tuple[dict[Place, tuple[Fraction, Unit]], dict[Place, Place]]:
    """Times that some row pays, and those of events that are a case of another one
    (``NO_MORE_THAN``). Such a one that no row pays has the time of the other, where that is known
    by itself; and the other is no less than any case of it, nor a first stall than a second one.
    ``events``: of the profile.

    Returns:
        The times; and of which others those are that no row pays.
    """
    found = {time.place: (time.value, time.unit) for time in fit.times if time.counted}
    in_sums = {place for group in fit.together for place in group}
    copied: dict[Place, Place] = {}

    def value(kind: EventKind) -> tuple[Fraction, Unit] | None:
        place, given = (*_EVENTS, kind.value), events.get(kind)
        if place in found or given is None:
            return None if place in in_sums else found.get(place)
        if given.low == given.high:
            return given.high, given.unit
        other = NO_MORE_THAN.get(kind)
        time = None if other is None else value(other)
        if other is None or time is None or time[1] is not given.unit:
            return None
        found[place] = max(time[0], given.low), given.unit
        copied[place] = (*_EVENTS, other.value)
        return found[place]

    for case, other in (*NO_MORE_THAN.items(), *product(SECOND_STALLS, FIRST_STALLS)):
        value(case)
        mine, others = (*_EVENTS, case.value), (*_EVENTS, other.value)
        if mine in found and others in found and found[mine][1] is found[others][1]:
            found[others] = max(found[mine], found[others], key=lambda time: time[0])
    return found, copied


def _prices(
    measured: validating.MeasuredRows, same: Mapping[Place, Place]
) -> dict[int, LinearPrices]:
    """Of each situation, by the id of its platform."""
    characterization = measured.characterization
    keys: dict[int, dict[Key, None]] = {}
    platforms = {id(one): one for one in measured.platforms}
    for row, platform in zip(measured.rows, measured.platforms, strict=True):
        found = keys.setdefault(id(platform), {})
        found.update(dict.fromkeys(column.key for column in row.estimate.columns))
    return {
        number: tied(
            linear_prices(
                platform.prices.profile,
                platform.section_map,
                characterization.fetch_width,
                keys[number],
                characterization.joint,
                successions=characterization.successions,
            ),
            same,
        )
        for number, platform in platforms.items()
    }


def _row(row: Compared, prices: LinearPrices) -> Row:
    return Row(
        label=_row_name(row),
        counts={column.key: column.count for column in row.estimate.columns},
        measured=row.most,
        prices=prices,
    )


def _paid(row: Row) -> set[Place]:
    """Times that are to be found, and that a row pays."""
    assert row.prices is not None
    of_counts = (row.prices.prices[key].coefficients for key, count in row.counts.items() if count)
    waits = (one.takes.coefficients for one in row.prices.recurring)
    return {place for one in (*of_counts, *waits) for place in one}


def _refuse_no_check(left_out: frozenset[int], request: Request, rows: int) -> None:
    """Raises:
    InputError: rows were to be left out, and there are too few of each service.
    """
    if left_out or not request.hold_out:
        return
    raise InputError(
        f"no service has {request.hold_out} rows, of which one could be left out: nothing would "
        f"check what {rows} rows are fitted to",
        where=Location(request.measured.measured),
        expected=f"{request.hold_out} rows and more of some service, at other values of its "
        "parameters",
        hint="--hold-out 2 leaves out every second one; --hold-out 0 goes without a check",
    )


def _refuse_few_rows(rows: Sequence[Row], path: str) -> None:
    """Raises:
    InputError: there are fewer rows than times that they pay, so that sums alone are told.
    """
    paid = {place for row in rows for place in _paid(row)}
    if len(rows) < len(paid):
        raise InputError(
            f"{len(rows)} rows do not tell {len(paid)} times from one another: "
            f"{', '.join(_named(place) for place in sorted(paid)[:_NAMED])}"
            + (" ..." if len(paid) > _NAMED else ""),
            where=Location(path),
            expected="as many rows as times, or more, of services that differ in what they do",
            hint="measure more; or give some of the times exactly",
        )


def _refuse_disturbed(rows: Sequence[Row], quiet: Sequence[bool], path: str) -> None:
    """What might have come is charged to a row, whether it did or not: what is left for other times
    would be too little.

    Raises:
        InputError: times are paid by no row that was measured without refresh and other masters.
    """
    told = {place for row, one in zip(rows, quiet, strict=True) if one for place in _paid(row)}
    paid = {place for row in rows for place in _paid(row) if place[-1] != _TAKES}
    mistakes = [
        InputError(
            f"{_named(place)} is to be found, and no row that pays it was measured without refresh "
            "and other masters: what these might take, and did not, would be taken off it",
            where=store.locate(path, *place),
            expected="--undisturbed LABEL, of rows that were measured so",
            hint="measure once more without them; or give the time exactly",
        )
        for place in sorted(paid - told)
    ]
    if mistakes:
        raise several(mistakes)


def _refuse_nothing_near(
    found: Fit, costs: Sequence[Fraction], rows: Sequence[Row], path: str
) -> None:
    """Raises:
    InputError: all times are at the lower ends of their ranges, and no measurement holds them
        there.
    """
    paid = [time for time in found.times if time.counted]
    if found.tight or not paid or any(time.value > time.given.low for time in paid):
        return
    over = min(
        (cost / row.measured for cost, row in zip(costs, rows, strict=True) if row.measured),
        default=None,
    )
    if over is None:
        return
    raise InputError(
        "no measurement holds any time up: all are at the lower ends of their ranges, and with "
        f"these the nearest row is over by {float(over - 1):.1%}",
        where=Location(path, 1),
        expected="measurements that some of the ranges allow to be met",
        hint="is the unit in the heading right? Or begin the ranges lower",
    )


def _refuse_unsaid_states(measured: validating.MeasuredRows, situations: Situations) -> None:
    """To take lines for loaded that were there is safe in an estimate. In a fit it is the other way
    round: the more are counted, the less is left for all that is to be found.

    Raises:
        InputError: of some rows it is not said what a cache held, or it is said of data that may
            lie in other lines.
    """
    labels = dict.fromkeys(row.label for row in measured.rows)
    core = measured.platform.prices.profile.core
    mistakes = []
    for option, said, cache in (
        (INSTRUCTION_CACHE, situations.instruction_cache, core.instruction_cache),
        (DATA_CACHE, situations.data_cache, core.data_cache),
    ):
        if cache is None:
            continue
        unsaid = [label for label in labels if label not in said]
        if unsaid:
            mistakes.append(
                InputError(
                    "times are to be found, and it is not said what the cache held when "
                    + (
                        f"calls labelled {', '.join(unsaid)} began"
                        if any(unsaid)
                        else "calls without a label began"
                    ),
                    where=Location(option),
                    expected=f"{option} {unsaid[0]}=STATE, and so for each label",
                    hint="of calls that find none of their lines, `cold`",
                )
            )
    promised = Assumption.DATA_ALIGNMENT in measured.platform.section_map.assumptions
    known = any(state is not CacheState.ALWAYS_MISS for state in situations.data_cache.values())
    if known and not promised:
        mistakes.append(
            InputError(
                "data may lie in lines otherwise than where they were characterized, so each load "
                "would count as a miss",
                where=Location(DATA_CACHE),
                expected="`data alignment` among the assumptions of the section map",
                hint="measure the image that was characterized, and promise it",
            )
        )
    if mistakes:
        raise several(mistakes)


def _refuse_uncertain_lines(measured: validating.MeasuredRows, path: str) -> None:
    """As above: where more lines count than those that were loaded.

    Raises:
        InputError: code lies otherwise than where it was characterized, or which lines are loaded
            was not observed at the values of some rows.
    """
    for platform in measured.platforms:
        for cache in platform.prices.caches.of_core:
            if isinstance(cache, DataLinePrices):
                continue  # `data alignment` says so
            moved = [section for section in sorted(cache.price) if not cache.in_place(section)]
            if moved:
                raise InputError(
                    f"times are to be found, and it is not said that {', '.join(moved)} "
                    "lies in the same lines as where it was characterized",
                    where=Location(measured.platform.map_file or measured.platform.profile_file),
                    expected="under `addresses`: where each section of code that is cached begins",
                    hint="measure the image that was characterized",
                )
    unknown = [
        row
        for row, platform in zip(measured.rows, measured.platforms, strict=True)
        if not platform.prices.caches.of(
            measured.services[row.estimate.service], tuple(row.estimate.parameters.values())
        ).exact
    ]
    if unknown:
        raise InputError(
            f"which lines {len(unknown)} rows load was not observed at their values, "
            f"{_row_name(unknown[0])} among them",
            where=Location(path, unknown[0].line),
            expected="measurements at values of the parameters that were observed",
            hint="characterize with traces of these; or --service NAME leaves them out",
        )


def _refuse_waits_alone(waits: Sequence[Place], undisturbed: Sequence[bool], path: str) -> None:
    """What refresh or another master takes, without rows in which it is not there: it would be
    taken for what accesses take, or the other way round.

    Raises:
        InputError: naming each.
    """
    if not waits or (any(undisturbed) and not all(undisturbed)):
        return
    rows = "without it" if not any(undisturbed) else "with it"
    raise several(
        [
            InputError(
                f"{_named(place)} is to be found, and no row was measured {rows}",
                where=store.locate(path, *place),
                expected="rows of both kinds; --undisturbed LABEL says which were measured without",
                hint="or one value, from the memory's own data",
            )
            for place in waits
        ]
    )


def _refuse_sums(found: Fit, path: str) -> None:
    """A price of lines, or of what waits, that is known in sums alone. In another situation there
    are other numbers of these, and what of the sum is left may be too little.

    Raises:
        InputError: naming all of which it is so.
    """
    mistakes = [
        InputError(
            f"these measurements do not tell {_named(place)} from "
            f"{', '.join(_named(other) for other in group if other != place)}",
            where=store.locate(path, *place),
            expected="rows from which each of them can be told",
            hint="measure the same services with other numbers of these, such as with caches both "
            "cold and warm, or with what disturbs and without; or give one of the times exactly",
        )
        for group in found.together
        for place in group
        if place[-1] in _BY_SITUATION
    ]
    if mistakes:
        raise several(mistakes)


def _named(place: Place) -> str:
    return ": ".join(place)


def _priced_again(
    request: Request,
    text: str,
    path: str,
    costs: Sequence[Fraction],
) -> tuple[Comparison, int]:
    """All rows as the text that is written prices them, and how many of them dearer than what was
    found says: ``costs``.

    Raises:
        NoSoundBound: it prices one of them below its measurement.
    """
    again = validating.measured_rows(request.measured, store.parse_profile(text, path))
    after = compare(again.rows)
    if after.unsafe:
        raise NoSoundBound(
            f"with these times {len(after.unsafe)} of {len(costs)} rows load other lines, and are "
            "below their measurements",
            details=tuple(_row_name(one) for one in after.unsafe[:_NAMED]),
            expected="prices of lines that leave the same lines the dearest",
            hint="narrow the ranges of `line refill` and `load miss penalty`",
        )
    dearer = sum(
        compared.estimated > cost for compared, cost in zip(again.rows, costs, strict=True)
    )
    return after, dearer


def _row_name(row: Compared) -> str:
    values = ", ".join(f"{name}={value}" for name, value in row.estimate.parameters.items())
    label = row.estimate.service + (f" at {values}" if values else "")
    return f"{label} ({row.label})" if row.label else label


def _left_out(rows: Sequence[Compared], every: int) -> frozenset[int]:
    """Every n-th row of each service in the order of the file, the first n - 1 kept: services that
    have fewer rows are only fitted, or nothing would be known of what they alone do."""
    if every < 1:
        return frozenset()
    seen: dict[str, int] = {}
    chosen = set()
    for number, row in enumerate(rows):
        seen[row.estimate.service] = seen.get(row.estimate.service, 0) + 1
        if seen[row.estimate.service] % every == 0:
            chosen.add(number)
    return frozenset(chosen)


def _with(compared: Compared, total: Fraction) -> Compared:
    """The row as the fitted times price it."""
    estimate = replace(
        compared.estimate,
        total=replace(compared.estimate.total, low=Fraction(0), nominal=total, high=total),
    )
    return replace(compared, estimate=estimate)
