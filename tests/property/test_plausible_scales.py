"""A time that is a unit off is always asked about, one that is a little off never is.

Profiles are the shipped ones, each number of which has its source. Zeros stay zeros, so they are
left out; and so is what may be as long as that: waking up, and how seldom another master comes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine.plausibility import implausible
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.model.access import EventKind
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.model.plausibility import Finding
from wcetchar.store import load_profile, profile_names

OUTSIDE = {EventKind.WAIT, EventKind.BREAKPOINT}
IN_CYCLES = "cortex-m3/zero-wait-sram"


@cache
def shipped(name: str) -> HardwareProfile:
    return load_profile(name)


profiles = st.sampled_from(profile_names()).map(shipped)
clocks = st.integers(1_000_000, 499_000_000).map(lambda hertz: Quantity.exactly(hertz, Unit.HERTZ))


def _at(clock: Quantity) -> HardwareProfile:
    """All of its times are cycles, so that it is as plausible with any clock."""
    profile = shipped(IN_CYCLES)
    return replace(profile, core=replace(profile.core, clock=clock))


def _times(profile: HardwareProfile) -> list[ProfileInput]:
    return [
        one
        for one in inputs_of(profile)
        if one.quantity.unit is not Unit.HERTZ
        and one.quantity.high
        and one.steps[-1] not in OUTSIDE
        and one.steps[-2:] != ("arbitration", "every")
    ]


def _scaled(profile: HardwareProfile, one: ProfileInput, factor: Fraction) -> HardwareProfile:
    def change(other: ProfileInput) -> Quantity:
        q = other.quantity
        if other.steps != one.steps:
            return q
        ends = (q.low, q.nominal, q.high)
        return Quantity(*(end * factor for end in ends), q.unit, q.stochastic * factor)

    return with_inputs(profile, change)


def _is_of(finding: Finding, one: ProfileInput) -> bool:
    """At the number, or at the other one of `takes` and `every`."""
    place = [step.replace("_", " ") for step in one.steps if step != "times"]
    if place[-1] in ("takes", "every"):
        return list(finding.place[:-1]) == place[:-1]
    return finding.place[-1] == place[-1] and finding.place[0] == place[0]


@given(st.one_of(profiles, clocks.map(_at)), st.integers(1000, 10**9), st.data())
def test_a_thousand_times_as_long_is_asked_about(
    profile: HardwareProfile, factor: int, data: st.DataObject
) -> None:
    one = data.draw(st.sampled_from(_times(profile)))
    found = implausible(_scaled(profile, one, Fraction(factor)))
    assert any(_is_of(finding, one) for finding in found), one


@given(
    st.one_of(profiles, clocks.map(_at)),
    st.fractions(1, 4, max_denominator=1000).filter(lambda factor: factor < 4),
    st.data(),
)
def test_less_than_four_times_as_long_has_no_wrong_unit(
    profile: HardwareProfile, factor: Fraction, data: st.DataObject
) -> None:
    """It may have less than what it should not be below, such as `next` above `first`."""
    one = data.draw(st.sampled_from(_times(profile)))
    found = implausible(_scaled(profile, one, factor))
    assert not [finding for finding in found if "unit" in finding.hint], one


@given(profiles.filter(lambda one: bool(_cycles(one))), st.integers(1000, 10**9), st.data())
def test_nanoseconds_in_the_place_of_cycles_are_asked_about(
    profile: HardwareProfile, factor: int, data: st.DataObject
) -> None:
    """A thousandth of what it was in cycles of the core, and less, is less than half a cycle."""
    one = data.draw(st.sampled_from(_cycles(profile)))
    short = one.quantity.high / profile.core.clock.nominal * 10**9 / factor

    def change(other: ProfileInput) -> Quantity:
        same = other.steps == one.steps
        return Quantity.exactly(short, Unit.NANOSECONDS) if same else other.quantity

    found = implausible(with_inputs(profile, change))
    assert any(_is_of(finding, one) for finding in found), one


def _cycles(profile: HardwareProfile) -> list[ProfileInput]:
    """Less than nothing to speak of is no slip where it is saved."""
    return [
        one
        for one in _times(profile)
        if one.quantity.unit is Unit.CYCLES and one.steps[-1] != "in_vain_saves"
    ]
