"""The range of a figure against the figure itself wherever the numbers are, where accesses wait.

Boards and runs are those of ``test_engine_waits`` and ``test_engine_refills_and_waits``: writes
that go on behind the core, consecutive accesses, clocks of buses, refresh, lines of both caches.
Some of the board's numbers may be off, by systematic and stochastic errors; then the same
counts are priced with these numbers exactly, at points within their ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from path_models import OUT, model_of
from test_engine_refills_and_waits import ENTRY, caches_
from test_engine_refills_and_waits import _with as board_with
from test_engine_waits import PLACED, Step, buses, kernel_of, keys_of, outsides, steps

from wcetchar.engine import estimate, price_vector
from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.paths import bound_of
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.engine.sensitivity import Sensitivity
from wcetchar.errors import InputError, InputErrors
from wcetchar.model.access import AccessVector, Key
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    FetchedLines,
    SectionInfo,
    StretchKind,
    TraceSection,
    Word,
)
from wcetchar.model.estimate import OverAllPaths
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.model.path_model import PathModel
from wcetchar.model.service import SectionKind
from wcetchar.model.uncertainty import NoRange, Uncertainty

F = Fraction
MOST: Final = 4
"""Numbers that may be off."""
SHARES: Final = tuple(map(F, ("0", "1/4", "1/3", "1/2", "2/3", "3/4", "1")))
ERRORS: Final = tuple(map(F, ("0", "1/2", "1", "2", "3")))
Point = list[Fraction]
"""Of each number that may be off, the part of its range that lies below it."""


def counted(keys: list[Key]) -> Counts:
    vector = AccessVector([(key, 1) for key in keys])
    return Counts((TraceSection(Blocking(), vector),))


@dataclass(frozen=True)
class Case:
    """``whole``: stretches count all that is done between their accesses, as those of a trace."""

    known: Characterization
    whole: bool
    profile: HardwareProfile


@st.composite
def kernels(draw: st.DrawFn) -> tuple[Characterization, bool, int]:
    """A service with stretches, and its number of lines."""
    run: list[Step] = draw(st.lists(steps, min_size=1, max_size=5))
    keys = keys_of(run, counted=True)
    lines = draw(st.sampled_from((0, 0, 1, 3)))
    whole = draw(st.booleans())
    made = kernel_of(keys, counted=True)

    def stretch() -> BlockingStretch:
        if whole:
            first = draw(st.integers(0, len(run) - 1))
            own = keys_of(run[first : draw(st.integers(first + 1, len(run)))], counted=True)
        else:
            kept = draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
            own = [key for key, keep in zip(keys, kept, strict=True) if keep]
        return BlockingStretch(
            StretchKind.INTERRUPTS, "a", "b", counted(own), frozenset(), frozenset()
        )

    service = replace(
        made.services[0],
        stretches=tuple(stretch() for _ in range(draw(st.integers(0, 3)))),
        stretches_known=True,
        lines=FetchedLines(counted([ENTRY] * lines), ()),
    )
    code = SectionInfo("code", SectionKind.CODE, address=0)
    return replace(made, sections=(code,), services=(service,)), whole, lines


@st.composite
def boards(draw: st.DrawFn, lines: int) -> HardwareProfile:
    """Some numbers may be off, and some are no cycles of the core."""
    board = board_with(draw(caches_), draw(buses), draw(outsides), lines)
    overlap = draw(st.sampled_from((board.core.overlap, {})))
    board = replace(board, core=replace(board.core, overlap=overlap))
    if draw(st.booleans()):
        own = Quantity.exactly(draw(st.sampled_from((F(10**9), F(4 * 10**8)))), Unit.HERTZ)
        memory = replace(board.regions["s0"], clock=own)
        board = replace(board, regions={**board.regions, "s0": memory})
    every = [one.steps for one in inputs_of(board)]
    off = set(draw(st.lists(st.sampled_from(every), min_size=1, max_size=MOST, unique=True)))
    no_cycles = set(draw(st.lists(st.sampled_from(every), max_size=2)))

    def change(one: ProfileInput) -> Quantity:
        value, unit = one.quantity.nominal, one.quantity.unit
        if unit is Unit.CYCLES and one.steps in no_cycles:
            unit = Unit.NANOSECONDS
        if one.steps not in off:
            return Quantity.exactly(value, unit)
        if unit is Unit.HERTZ:
            less, more = draw(st.sampled_from(((1, 1), (F(1, 2), 1), (F(4, 5), F(5, 4)))))
            return Quantity(value * less, value, value * more, unit)
        low = max(F(one.steps[-1] == "every"), value - draw(st.sampled_from(ERRORS)))
        high = value + draw(st.sampled_from(ERRORS))
        noise = draw(st.sampled_from((F(0), F(1, 2), F(1)))) * min(value - low, high - value)
        return Quantity(low, value, high, unit, noise)

    return with_inputs(board, change)


def at(profile: HardwareProfile, shares: Point) -> HardwareProfile:
    left = iter(shares)

    def change(one: ProfileInput) -> Quantity:
        quantity = one.quantity
        if quantity.is_exact:
            return quantity
        value = quantity.low + next(left) * (quantity.high - quantity.low)
        return Quantity.exactly(value, quantity.unit)

    return with_inputs(profile, change)


points = st.lists(
    st.lists(st.sampled_from(SHARES), min_size=MOST, max_size=MOST), min_size=1, max_size=5
)


def points_of(profile: HardwareProfile, drawn: list[Point]) -> list[HardwareProfile]:
    """Those that were drawn, and the ends that make times less, or more, wherever one does."""
    saves = [one.saves for one in inputs_of(profile) if not one.quantity.is_exact]
    ends = [F(one) for one in saves], [F(not one) for one in saves]
    return [at(profile, shares) for shares in (*ends, *drawn)]


def is_priced(profile: HardwareProfile, of: Callable[[HardwareProfile], object]) -> bool:
    """A memory that others have all of the time is refused."""
    try:
        of(profile)
    except (InputError, InputErrors):
        return False
    return True


def is_below_safe(
    point: HardwareProfile, known: Characterization, profile: HardwareProfile
) -> bool:
    """Elsewhere less may be known than of the ranges: when a bus is asked, where numbers are no
    whole cycles, and that others come too often to be counted."""
    divided = any(region.clock_divider > 1 for region in profile.regions.values())
    whole = all(
        one.quantity.low.denominator == 1 and one.quantity.unit is not Unit.NANOSECONDS
        for one in inputs_of(point)
    )
    rates = [bool(price_vector(known, one, PLACED).rate.recurring) for one in (point, profile)]
    return (whole or not divided) and rates[0] == rates[1]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    known, whole, lines = draw(kernels())
    return Case(known, whole, draw(boards(lines)))


@settings(max_examples=60, deadline=None)
@given(cases(), points)
def test_no_figure_is_out_of_its_range_wherever_the_numbers_are(
    case: Case, drawn: list[Point]
) -> None:
    known, profile = case.known, case.profile

    def priced(one: HardwareProfile) -> tuple[Fraction, Fraction]:
        found = estimate(known, "run", one, PLACED, {})
        return found.total.high, found.interrupts_held_off.high

    assume(is_priced(profile, priced))
    whole = estimate(known, "run", profile, PLACED, {})
    (service,) = known.services
    sensitivity = Sensitivity(known, ["run"], profile, PLACED)
    held = sensitivity.of_blocking(service, whole, {}, StretchKind.INTERRUPTS)
    assert not isinstance(held, NoRange)
    ranges = sensitivity.of(service, whole, {}), held
    for point in points_of(profile, drawn):
        below = is_below_safe(point, known, profile)
        total, blocked = priced(point)
        in_range(ranges[0], total, below)
        # Lines may wait for accesses that are outside of the stretch, beyond what these are
        # charged: the less that is, the more remains.
        below = below and case.whole and profile.core.instruction_cache is None
        in_range(ranges[1], blocked, below)
    without = with_inputs(profile, lambda one: one.quantity.systematic)
    for point in points_of(without, drawn):
        for one, time in zip(ranges, priced(point), strict=True):
            assert one.systematic_low <= time


def in_range(one: Uncertainty, time: Fraction, below: bool) -> None:
    assert one.lowest <= one.systematic_low <= one.nominal <= one.safe
    assert one.lowest <= time
    assert time <= one.safe or not below


@st.composite
def path_cases(draw: st.DrawFn) -> tuple[Case, PathModel]:
    """One run or the other, on paths of their own."""
    runs = [keys_of(draw(st.lists(steps, min_size=1, max_size=3)), counted=True) for _ in "ab"]
    known, whole, lines = draw(kernels())
    entries: list[Key] = [ENTRY] * lines
    model = model_of([1, 1], [(OUT, 0), (0, OUT), (OUT, 1), (1, OUT)], service="run")
    vectors = tuple(AccessVector([(key, 1) for key in [*keys, *entries]]) for keys in runs)
    model = replace(model, vectors=vectors, successions=True, stalls=STALL_EDITION, lines=(32,))
    return Case(replace(known, paths=(model,)), whole, draw(boards(lines))), model


@settings(max_examples=20, deadline=None)
@given(path_cases(), points)
def test_no_bound_of_all_paths_is_out_of_its_range(
    drawn_case: tuple[Case, PathModel], drawn: list[Point]
) -> None:
    case, model = drawn_case
    known, profile = case.known, case.profile

    def bound(one: HardwareProfile) -> Fraction:
        return bound_of(model, path_prices(known, one, PLACED, [model]), {}).time

    assume(is_priced(profile, bound))
    whole = estimate(known, "run", profile, PLACED, {})
    sensitivity = Sensitivity(known, ["run"], profile, PLACED)
    over = OverAllPaths(bound(profile), Word.BOUND, at={})
    one = sensitivity.of_paths(model, whole, {}, over)
    assert not isinstance(one, NoRange)
    for point in points_of(profile, drawn):
        in_range(one, bound(point), is_below_safe(point, known, profile))
