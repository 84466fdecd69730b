"""Fit the times of a profile to measurements, check it on rows left out, and write the profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from wcetchar import store
from wcetchar.engine.linear import linear_prices, tied
from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.model.fitting import Fit, LinearPrices
from wcetchar.model.validation import Compared, Comparison
from wcetchar.pipeline import validate as validating
from wcetchar.validation import compare
from wcetchar.validation.fitting import Row, fit, price_of

DEFAULT_HOLD_OUT: Final = 5


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
    """

    text: str
    profile: str
    section_map: str
    fit: Fit
    before: Comparison
    after: Comparison
    check: Comparison | None
    simplified: bool


def run(request: Request) -> FittedProfile:
    """Fit on most rows and check the others, then fit on all.

    Raises:
        InputError: files that cannot be used, a profile without a range, a range of a clock.
        NoSoundBound: the ranges do not allow what was measured.
    """
    measured = validating.measured_rows(request.measured)
    platform = measured.platform
    profile_text = store.load_profile_text(request.measured.profile)
    keys = dict.fromkeys(c.key for row in measured.rows for c in row.estimate.columns)
    try:
        prices = tied(
            linear_prices(
                platform.prices.profile,
                platform.section_map,
                measured.fetch_width,
                keys,
                measured.joint,
            ),
            profile_text.same(),
        )
    except InputErrors:
        raise
    except InputError as error:
        error.where = error.where or Location(profile_text.path)
        raise
    if not prices.free:
        raise InputError(
            "holds no range among the times that the measured services need: nothing to fit",
            where=Location(profile_text.path),
            expected="ranges such as `1..8 cycles` where the value is to be found",
            hint="wcetchar validate holds measurements against a profile as it is",
        )
    rows = [_row(row) for row in measured.rows]
    left_out = _left_out(measured.rows, request.hold_out)

    def fitted(chosen: Sequence[Row], ranges: bool) -> Fit:
        return fit(chosen, prices, step=request.step, relative=request.relative, ranges=ranges)

    check = None
    if left_out:
        first = fitted([r for n, r in enumerate(rows) if n not in left_out], False)
        check = compare([_with(measured.rows[n], rows[n], prices, first) for n in sorted(left_out)])
    final = fitted(rows, request.ranges)
    text = profile_text.with_times({t.place: (t.value, t.unit) for t in final.times if t.counted})
    return FittedProfile(
        text=text,
        profile=platform.prices.profile.name,
        section_map=platform.section_map.name,
        fit=final,
        before=compare(measured.rows),
        after=compare(
            [_with(one, row, prices, final) for one, row in zip(measured.rows, rows, strict=True)]
        ),
        check=check,
        simplified=bool(prices.simplified),
    )


def _row(row: Compared) -> Row:
    values = ", ".join(f"{name}={value}" for name, value in row.estimate.parameters.items())
    label = row.estimate.service + (f" at {values}" if values else "")
    return Row(
        label=f"{label} ({row.label})" if row.label else label,
        counts={column.key: column.count for column in row.estimate.columns},
        measured=row.most,
    )


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


def _with(compared: Compared, row: Row, prices: LinearPrices, found: Fit) -> Compared:
    """The row as the fitted times price it."""
    total = price_of(row, prices, found)
    estimate = replace(
        compared.estimate,
        total=replace(compared.estimate.total, low=Fraction(0), nominal=total, high=total),
    )
    return replace(compared, estimate=estimate)
