"""Ranges of every figure of an estimate, against the figure itself at corners of what the numbers
can be and at points in between: totals, how long something is held off, and bounds of all paths."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_engine_paths import models, paths
from test_engine_prices import N, dearer, kernel, maps, sections, vectors
from test_engine_sensitivity import noisy_profiles

from wcetchar.engine import Following, estimate, estimate_given, price_vector
from wcetchar.engine.parameter_box import narrowed
from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.paths import bound_of
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.engine.sensitivity import Sensitivity
from wcetchar.errors import NoSoundBound
from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    StretchKind,
    Word,
)
from wcetchar.model.estimate import Estimate, OverAllPaths
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.model.path_model import PathModel
from wcetchar.model.section_map import SectionMap
from wcetchar.model.uncertainty import NoRange, UncertainCount, Uncertainty

Rows = list[tuple[AccessVector, str, bool]]
counts = st.builds(UncertainCount, st.integers(4, 9), st.integers(0, 1), st.integers(0, 1))
SLOW: Final = (HealthCheck.too_slow,)
"""Profiles are large to draw."""
FIGURES: Final = ("total", "interrupts", "preemption")
rows = st.lists(
    st.tuples(
        vectors, st.sampled_from(("1", "N", "max(N - 1, 0)", "max(12 - N, 0)")), st.booleans()
    ),
    min_size=1,
    max_size=2,
)


@st.composite
def kernels(draw: st.DrawFn) -> Characterization:
    """A service with several stretches, some of which another thread goes on with."""
    made = kernel(*sections(draw(rows)), parameters=(N,))
    (service,) = made.services

    def stretch(goes_on_from: Joint | None, may_go_on: bool) -> BlockingStretch:
        goes_on = may_go_on and draw(st.booleans())
        return BlockingStretch(
            draw(st.sampled_from(StretchKind)),
            "a",
            "b",
            Counts(tuple(sections(draw(rows)))),
            goes_on_from=frozenset({goes_on_from} - {None}),  # type: ignore[arg-type]
            goes_on_in=frozenset({Joint.THREAD} if goes_on else ()),
        )

    own = tuple(stretch(None, True) for _ in range(draw(st.integers(0, 3))))
    following = replace(
        service,
        name="next",
        stretches=(
            replace(stretch(Joint.THREAD, False), kind=StretchKind.INTERRUPTS),
            stretch(Joint.THREAD, False),
        ),
        stretches_known=True,
    )
    known = draw(st.booleans())
    service = replace(service, stretches=own if known else (), stretches_known=known)
    return replace(made, services=(service, following))


@dataclass(frozen=True)
class Ranges:
    whole: Estimate
    of: dict[str, Uncertainty]


def ranges(
    kernel: Characterization, profile: HardwareProfile, where: SectionMap, count: UncertainCount
) -> Ranges:
    service = kernel.services[0]
    prices = price_vector(kernel, profile, where, ["svc"])
    given_values = {"N": count.nominal} if count.is_exact else {}
    following = Following(kernel, prices, {"N": range(count.low, count.high + 1)})
    within = narrowed(service, {"N": count})
    whole = estimate_given(within, prices, given_values, following, not count.is_exact)
    values = {"N": count.nominal} if count.is_exact else {}
    sensitivity = Sensitivity(kernel, ["svc"], profile, where, values)
    found = {"total": sensitivity.of(service, whole, {"N": count})}
    for kind in StretchKind:
        one = sensitivity.of_blocking(service, whole, {"N": count}, kind)
        assert not isinstance(one, NoRange), one.why
        found[kind.value] = one
    return Ranges(whole, found)


def figures(found: Estimate) -> dict[str, Fraction]:
    held = found.interrupts_held_off.high, found.preemption_held_off.high
    return dict(zip(FIGURES, (found.total.high, *held), strict=True))


def corners(profile: HardwareProfile) -> Iterator[HardwareProfile]:
    off = [one for one in inputs_of(profile) if not one.quantity.is_exact]
    for ends in itertools.product((Fraction(0), Fraction(1)), repeat=len(off)):
        yield at(profile, ends)


def at(profile: HardwareProfile, shares: Iterable[Fraction]) -> HardwareProfile:
    """Each number that may be off that far on from the lower end of its range."""
    left = iter(shares)

    def change(one: ProfileInput) -> Quantity:
        quantity = one.quantity
        if quantity.is_exact:
            return quantity
        value = quantity.low + next(left) * (quantity.high - quantity.low)
        return Quantity.exactly(value, quantity.unit)

    return with_inputs(profile, change)


shares = st.lists(st.fractions(0, 1, max_denominator=6), min_size=6, max_size=6)
points = st.lists(shares, max_size=4)


@given(noisy_profiles(), maps, kernels(), counts, points)
@settings(max_examples=12, deadline=None, suppress_health_check=SLOW)
def test_each_figure_is_in_its_range_wherever_the_numbers_are(
    profile: HardwareProfile,
    where: SectionMap,
    kernel: Characterization,
    count: UncertainCount,
    inside: list[list[Fraction]],
) -> None:
    found = ranges(kernel, profile, where, count)
    assert {name: one.safe for name, one in found.of.items()} == figures(found.whole)
    for point in (*corners(profile), *(at(profile, shares) for shares in inside)):
        for n in (count.low, count.nominal, count.high):
            priced = estimate(kernel, "svc", point, where, {"N": n})
            for name, time in figures(priced).items():
                one = found.of[name]
                assert one.lowest <= time <= one.safe, (name, n)


@given(noisy_profiles(), maps, kernels(), counts)
@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
def test_figures_of_ranges_are_in_order(
    profile: HardwareProfile, where: SectionMap, kernel: Characterization, count: UncertainCount
) -> None:
    for one in ranges(kernel, profile, where, count).of.values():
        in_order(one)


def in_order(one: Uncertainty) -> None:
    assert one.lowest <= one.expected_low <= one.systematic_low <= one.nominal
    assert one.nominal <= one.systematic_high <= one.expected_high <= one.safe
    for part in one.contributions:
        assert 0 <= part.systematic <= part.raises <= one.safe - one.nominal
        assert 0 <= part.lowers <= one.nominal - one.lowest
        assert 0 <= part.stochastic <= one.stochastic
    assert one.nominal + sum(p.raises for p in one.contributions) + one.together == one.safe


@given(noisy_profiles(), maps, kernels(), points)
@settings(max_examples=12, deadline=None, suppress_health_check=SLOW)
def test_what_is_expected_covers_systematic_errors_and_one_stochastic_one(
    profile: HardwareProfile,
    where: SectionMap,
    kernel: Characterization,
    inside: list[list[Fraction]],
) -> None:
    """Systematic errors anywhere, and beside them one access or event in the whole run that is
    priced as dear as it can be: no root is below a single error."""
    found = ranges(kernel, profile, where, UncertainCount(6))
    without = with_inputs(profile, lambda one: one.quantity.systematic)
    for point in (*corners(without), *(at(without, shares) for shares in inside)):
        for name, time in figures(estimate(kernel, "svc", point, where, {"N": 6})).items():
            one = found.of[name]
            assert one.expected_low <= time <= one.expected_high
            assert one.systematic_low <= time <= one.systematic_high


@given(
    noisy_profiles(),
    maps,
    kernels(),
    counts,
    st.fractions(min_value=0, max_value=5, max_denominator=3),
    st.integers(0, 5),
)
@settings(max_examples=12, deadline=None, suppress_health_check=SLOW)
def test_a_larger_error_never_makes_a_range_narrower(
    profile: HardwareProfile,
    where: SectionMap,
    kernel: Characterization,
    count: UncertainCount,
    by: Fraction,
    which: int,
) -> None:
    off = [
        one
        for one in inputs_of(profile)
        if not one.quantity.is_exact and one.quantity.unit is not Unit.HERTZ
    ]
    steps = off[which].steps if which < len(off) else None

    def worse(one: ProfileInput) -> Quantity:
        return dearer(one.quantity, by) if one.steps == steps else one.quantity

    before = ranges(kernel, profile, where, count).of
    after = ranges(kernel, with_inputs(profile, worse), where, count).of
    for name, one in before.items():
        assert after[name].safe >= one.safe
        assert after[name].lowest <= one.lowest
        assert after[name].nominal == one.nominal
        assert after[name].systematic_high >= one.systematic_high


@st.composite
def priced_models(draw: st.DrawFn) -> PathModel:
    model = draw(models())
    return replace(
        model,
        service="svc",
        vectors=tuple(draw(vectors) for _ in model.vectors),
    )


@given(noisy_profiles(), maps, priced_models(), points)
@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
def test_the_bound_of_all_paths_is_in_its_range(
    profile: HardwareProfile, where: SectionMap, model: PathModel, inside: list[list[Fraction]]
) -> None:
    """Against the bound, and against paths one by one."""
    made = replace(kernel(*sections([(AccessVector(), "1", False)])), paths=(model,))
    try:
        safe = bound_of(model, path_prices(made, profile, where, [model]), {}).time
    except NoSoundBound:
        return
    whole = estimate(made, "svc", profile, where, {})
    over = OverAllPaths(safe, Word.BOUND, at={})
    one = Sensitivity(made, ["svc"], profile, where).of_paths(model, whole, {}, over)
    assert isinstance(one, Uncertainty)
    in_order(one)
    assert one.safe == safe
    every = {passes(model, path) for path in itertools.islice(paths(model), 3000)}
    for point in (*corners(profile), *(at(profile, shares) for shares in inside)):
        prices = path_prices(made, point, where, [model])
        assert one.lowest <= bound_of(model, prices, {}).time <= safe
        times = [prices.time_of(model.vectors[node.vector]).high for node in model.nodes]
        for path in every:
            assert sum(times[node] * count for node, count in path) <= safe


def passes(model: PathModel, path: list[int]) -> tuple[tuple[int, int], ...]:
    """How often a path passes each node."""
    targets = Counter(model.edges[number].target for number in path)
    return tuple(sorted((node, count) for node, count in targets.items() if node >= 0))
