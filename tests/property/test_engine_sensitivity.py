"""How far a figure hangs on numbers, against the pricer at every corner of what they can be."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from test_engine_prices import N, dearer, kernel, maps, profiles, row_lists, sections

from wcetchar.engine import estimate, estimate_given, price_vector
from wcetchar.engine.parameter_box import narrowed
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.engine.sensitivity import Sensitivity
from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import Characterization
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.model.section_map import SectionMap
from wcetchar.model.uncertainty import UncertainCount, Uncertainty

Rows = list[tuple[AccessVector, str, bool]]
counts = st.builds(UncertainCount, st.integers(4, 9), st.integers(0, 2), st.integers(0, 2))
MOST = 6
"""Numbers with errors: a corner is one of two to the power of these."""


@st.composite
def noisy_profiles(draw: st.DrawFn) -> HardwareProfile:
    """Few numbers that may be off, some of them each time anew."""
    profile = draw(profiles())
    numbers = [one for one in inputs_of(profile) if not one.quantity.is_exact]
    chosen = {one.steps for one in draw(st.permutations(numbers))[:MOST]}

    def change(one: ProfileInput) -> Quantity:
        quantity = one.quantity
        if one.steps not in chosen:
            return Quantity.exactly(quantity.nominal, quantity.unit)
        if quantity.unit is Unit.HERTZ:
            return quantity
        inner = min(quantity.nominal - quantity.low, quantity.high - quantity.nominal)
        part = draw(st.sampled_from((Fraction(0), Fraction(1, 2), Fraction(1))))
        return replace(quantity, stochastic=inner * part)

    return with_inputs(profile, change)


def found(
    rows: Rows, profile: HardwareProfile, section_map: SectionMap, count: UncertainCount
) -> tuple[Characterization, Estimate, Uncertainty]:
    characterization = kernel(*sections(rows), parameters=(N,))
    (service,) = characterization.services
    prices = price_vector(characterization, profile, section_map)
    given_values = {"N": count.nominal} if count.is_exact else {}
    within = narrowed(service, {"N": count})
    whole = estimate_given(within, prices, given_values, maximum=not count.is_exact)
    sensitivity = Sensitivity(characterization, ["svc"], profile, section_map)
    return characterization, whole, sensitivity.of(service, whole, {"N": count})


@given(noisy_profiles(), maps, row_lists, counts)
@settings(max_examples=40, deadline=None)
def test_the_safe_end_is_never_below_any_corner(
    profile: HardwareProfile, section_map: SectionMap, rows: Rows, count: UncertainCount
) -> None:
    """All numbers at either end, all values of the parameter, priced one by one."""
    characterization, whole, uncertainty = found(rows, profile, section_map, count)
    assert uncertainty.safe == whole.total.high
    off = [one for one in inputs_of(profile) if not one.quantity.is_exact]
    assert len(off) <= MOST
    totals = []
    for ends in itertools.product(("low", "high"), repeat=len(off)):
        at = {one.steps: end for one, end in zip(off, ends, strict=True)}
        point = with_inputs(
            profile,
            lambda one, at=at: Quantity.exactly(
                getattr(one.quantity, at.get(one.steps, "nominal")), one.quantity.unit
            ),
        )
        for n in (count.low, count.high):
            priced = estimate(characterization, "svc", point, section_map, {"N": n})
            totals.append(priced.total.high)
    assert max(totals) <= uncertainty.safe
    assert uncertainty.lowest <= min(totals)
    if profile.core.clock.is_exact or not profile.core.overlap:
        assert uncertainty.lowest == min(totals)


@given(noisy_profiles(), maps, row_lists, counts)
@settings(max_examples=60, deadline=None)
def test_figures_are_in_order(
    profile: HardwareProfile, section_map: SectionMap, rows: Rows, count: UncertainCount
) -> None:
    _, _, one = found(rows, profile, section_map, count)
    assert one.lowest <= one.expected_low <= one.systematic_low <= one.nominal
    assert one.nominal <= one.systematic_high <= one.expected_high <= one.safe
    assert one.stochastic**2 <= sum(c.stochastic for c in one.contributions) ** 2
    for part in one.contributions:
        assert 0 <= part.systematic <= part.raises <= one.safe - one.nominal
        assert 0 <= part.lowers <= one.nominal - one.lowest
        assert 0 <= part.stochastic <= one.safe - one.nominal
        assert part.stochastic <= one.stochastic
    raised = [part.raises for part in one.contributions]
    assert raised == sorted(raised, reverse=True)
    assert one.nominal + sum(raised) + one.together == one.safe


@given(noisy_profiles(), maps, row_lists)
@settings(max_examples=40, deadline=None)
def test_where_prices_are_sums_contributions_add_up(
    profile: HardwareProfile, section_map: SectionMap, rows: Rows
) -> None:
    """Clocks are exact, nothing is hidden, and each place, direction and width is known: then the
    figure is linear in every number."""

    def without_clocks(one: ProfileInput) -> Quantity:
        if one.quantity.unit is not Unit.HERTZ:
            return one.quantity
        return Quantity.exactly(one.quantity.nominal, Unit.HERTZ)

    plain = with_inputs(profile, without_clocks)
    plain = replace(
        plain,
        core=replace(plain.core, overlap={}),
        regions={"r0": plain.regions["r0"]},
    )
    known = [
        (
            AccessVector(
                {
                    key: number
                    for key, number in vector.items()
                    if getattr(key, "width", 1) and getattr(key, "operation", "") != "access"
                }
            ),
            repetition,
            blocked,
        )
        for vector, repetition, blocked in rows
    ]
    _, _, one = found(known, plain, section_map, UncertainCount(5))
    assert one.together == 0
    assert sum((part.raises for part in one.contributions), Fraction(0)) == one.safe - one.nominal


@given(
    noisy_profiles(),
    maps,
    row_lists,
    counts,
    st.fractions(min_value=0, max_value=5, max_denominator=3),
    st.integers(0, MOST - 1),
)
@settings(max_examples=40, deadline=None)
def test_a_larger_error_is_never_less(
    profile: HardwareProfile,
    section_map: SectionMap,
    rows: Rows,
    count: UncertainCount,
    by: Fraction,
    which: int,
) -> None:
    off = [
        one
        for one in inputs_of(profile)
        if not one.quantity.is_exact and one.quantity.unit is not Unit.HERTZ
    ]
    chosen = off[which].steps if which < len(off) else None
    worse = with_inputs(
        profile, lambda one: dearer(one.quantity, by) if one.steps == chosen else one.quantity
    )
    _, _, before = found(rows, profile, section_map, count)
    _, _, after = found(rows, worse, section_map, count)
    assert after.safe >= before.safe
    assert after.nominal == before.nominal
    assert after.systematic_high >= before.systematic_high
