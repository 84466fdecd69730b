"""Numbers of shipped profiles made dearer: just that one, by just the share, and no sum falls."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from wcetchar import store
from wcetchar.engine import Following, estimate_given, price_vector
from wcetchar.engine.profile_inputs import inputs_of
from wcetchar.errors import InputError
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile, Quantity
from wcetchar.pipeline.solve_order import smaller_is_cheaper
from wcetchar.store.dearer import PROFILE_RULES, SYSTEM_RULES, Dearer, Rules, rule_of
from wcetchar.store.names import profile_names
from wcetchar.store.profile import ProfileDoc
from wcetchar.store.profile_numbers import ProfileNumbers
from wcetchar.store.quantity import scaled_text
from wcetchar.store.system import SystemDoc

PROFILES = profile_names()
SHARES = st.integers(1, 99_999).map(lambda n: Fraction(n, 100_000))
RENAUX = [(f"renaux2010/platform{n}", f"renaux2010/map{n}") for n in (1, 2, 3)]
ends = ("low", "nominal", "high", "stochastic")


@cache
def numbers_of(name: str) -> ProfileNumbers:
    return ProfileNumbers(name)


@pytest.mark.parametrize("name", PROFILES)
def test_a_share_of_nothing_is_the_same_profile(name: str) -> None:
    """So whatever is priced on it is the same, to the last digit."""
    numbers = numbers_of(name)
    before = numbers.with_values({})
    dearer = numbers.dearer(Fraction(0))
    assert len(dearer) > 3
    for one in dearer:
        if one.after is not None:
            assert numbers.with_values({one.steps: one.after}) == before


@given(st.sampled_from(PROFILES), SHARES, st.data())
def test_one_number_changes_by_just_the_share(
    name: str, share: Fraction, data: st.DataObject
) -> None:
    numbers = numbers_of(name)
    of_share = [one for one in numbers.dearer(share) if one.change.endswith("%")]
    one = data.draw(st.sampled_from(of_share))
    factor = 1 + share if one.change[0] == "+" else 1 - share
    assert one.change[1:] == f"{float(100 * share):g} %"
    assert one.after is not None
    before = {one.steps: one.quantity for one in inputs_of(numbers.with_values({}))}
    try:
        changed = numbers.with_values({one.steps: one.after})
    except InputError:
        # Others would have the memory all of the time.
        assert one.steps[-2] in ("refresh", "arbitration")
        return
    after = {one.steps: one.quantity for one in inputs_of(changed)}
    assert before.keys() == after.keys()
    moved = [steps for steps in before if before[steps] != after[steps]]
    for steps in moved:
        assert _scaled(before[steps], factor) == after[steps]
    assert moved or _stands_for_none(one)


def _stands_for_none(one: Dearer) -> bool:
    """`other events` where `events` has them all, or 0 of something."""
    return one.steps[-1] == "other events" or one.before.startswith("0 ")


def _scaled(quantity: Quantity, factor: Fraction) -> Quantity:
    low, nominal, high, stochastic = (getattr(quantity, end) * factor for end in ends)
    return Quantity(low, nominal, high, quantity.unit, stochastic)


@given(st.sampled_from(RENAUX), SHARES, st.integers(0, 200))
def test_a_dearer_number_never_lowers_a_sum(
    names: tuple[str, str], share: Fraction, n: int
) -> None:
    """These platforms have neither divided clocks nor caches nor write buffers."""
    profile, section_map = names
    characterization = store.load_characterization("renaux2010")
    numbers = numbers_of(profile)
    before = _total(characterization, numbers.with_values({}), section_map, n)
    for one in numbers.dearer(share):
        if one.after is None:
            continue
        try:
            changed = numbers.with_values({one.steps: one.after})
        except InputError:
            continue  # half of the narrowest bus
        after = _total(characterization, changed, section_map, n)
        assert after >= before, one


def _total(
    characterization: Characterization, profile: HardwareProfile, section_map: str, n: int
) -> Fraction:
    found = store.load_map(section_map)
    prices = price_vector(characterization, profile, found)
    (service,) = characterization.services
    following = Following(characterization, prices, {"N": n})
    return estimate_given(service, prices, {"N": n}, following).total.high


@pytest.mark.parametrize("name", PROFILES)
def test_directions_are_those_of_cheaper_machines(name: str) -> None:
    """Where ``--solve`` looks for the smallest value, less is dearer."""
    for one in numbers_of(name).dearer(Fraction(1, 10)):
        if one.after is None:
            continue
        assert smaller_is_cheaper(one.steps) == (one.change[0] in "-/"), one


def _ways(model: type[BaseModel], steps: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """To all leaves of a document; ``*`` for keys that are free and for places in lists."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        yield from _leaves(field.annotation, (*steps, key))


def _leaves(kind: object, steps: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from _ways(kind, steps)
        return
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict:
        yield from _leaves(inner[1], (*steps, "*"))
    elif origin is list:
        yield from _leaves(inner[0], (*steps, "*"))
    elif origin is typing.Annotated:
        yield from _leaves(inner[0], steps)
    elif any(_has_model(one) for one in inner):
        for one in inner:
            if _has_model(one):
                yield from _leaves(one, steps)
    elif kind is not bool:
        yield steps


def _has_model(kind: object) -> bool:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return True
    return any(map(_has_model, typing.get_args(kind)))


@pytest.mark.parametrize(
    ("model", "rules"), [(ProfileDoc, PROFILE_RULES), (SystemDoc, SYSTEM_RULES)]
)
def test_all_that_a_file_can_say_has_a_rule(model: type[BaseModel], rules: Rules) -> None:
    ways = list(_ways(model))
    assert len(ways) > 30
    for way in ways:
        assert rule_of(way, rules) is not None, way
    assert {keys for keys in rules if any(way[: len(keys)] == keys for way in ways)} == set(rules)


@given(
    st.sampled_from(["ns", "cycles", "MHz"]),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 99),
    SHARES,
)
def test_scaled_texts(unit: str, first: int, more: int, percent: int, share: Fraction) -> None:
    assert scaled_text(f"{first} {unit}", 1 + share).endswith(f" {unit}")
    text = scaled_text(f"{first}..{first + more} {unit} +- {percent} % stochastic", 1 - share)
    low, _, rest = text.partition("..")
    high, _, end = rest.partition(f" {unit} ")
    assert Fraction(low) == first * (1 - share)
    assert Fraction(high) == (first + more) * (1 - share)
    assert end == f"+- {percent} % stochastic"
