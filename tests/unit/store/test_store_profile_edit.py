"""Times written back into a profile: everything else stays, byte for byte."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.model.access import EventKind
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.store import load_profile, load_profile_text, profile_names
from wcetchar.store.names import profile_path
from wcetchar.store.profile_edit import decimal

TEXT = """\
# top
schema: wcetchar/hardware-profile/1
name: "a: b"   # quoted
core:
  name: c
  clock: 50 MHz
  other events: 0..4 cycles  # all others
  events: {load: 1..3 cycles, alu: 1 cycle}   # flow
regions:
  flash: {kind: memory, bus width: 32, fetch: {first: 1..9 cycles, next: '2 cycles'}, read: 5 ns}
  "my ram":
    kind: memory
    bus width: 16
    read: 10 ns +- 10 %   # tolerance
    write:
      first: 7..8 ns
      next: 7 ns
"""


def _write(folder: Path) -> str:
    path = folder / "p.yaml"
    path.write_text(TEXT)
    return str(path)


def test_only_the_times_change(tmp_path: Path) -> None:
    text = load_profile_text(_write(tmp_path)).with_times(
        {
            ("core", "events", "load"): (Fraction(2), Unit.CYCLES),
            ("core", "other events"): (Fraction(1), Unit.CYCLES),
            ("regions", "flash", "fetch", "first"): (Fraction(13, 4), Unit.CYCLES),
            ("regions", "flash", "fetch", "next"): (Fraction(3), Unit.CYCLES),
            ("regions", "my ram", "read"): (Fraction(21, 2), Unit.NANOSECONDS),
            ("regions", "my ram", "write", "first"): (Fraction(15, 2), Unit.NANOSECONDS),
        }
    )
    expected = TEXT
    for old, new in (
        ("load: 1..3 cycles", "load: 2 cycles"),
        ("0..4 cycles  #", "1 cycle  #"),
        ("1..9 cycles", "3.25 cycles"),
        ("'2 cycles'", "3 cycles"),
        ("10 ns +- 10 %", "10.5 ns"),
        ("7..8 ns", "7.5 ns"),
    ):
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert text == expected
    again = tmp_path / "again.yaml"
    again.write_text(text)
    profile = load_profile(str(again))
    assert profile.regions["my ram"].times
    assert profile.regions["flash"].name == "flash"


def test_what_is_one_value_in_the_file(tmp_path: Path) -> None:
    same = load_profile_text(_write(tmp_path)).same()
    assert same[("regions", "my ram", "read", "first")] == ("regions", "my ram", "read")
    assert same[("regions", "my ram", "read", "next")] == ("regions", "my ram", "read")
    assert ("regions", "my ram", "write", "first") not in same
    assert same[("core", "events", "store")] == ("core", "other events")
    assert ("core", "events", "load") not in same


def test_other_events_do_not_stand_for_what_caches_cost(tmp_path: Path) -> None:
    path = _write(tmp_path)
    same = load_profile_text(path).same()
    others = {at[2] for at in same if at[:2] == ("core", "events")}
    of_caches = {
        kind.value
        for kind in EventKind
        if kind.value.startswith(("line entry", "line load")) or "behind store" in kind.value
    }
    assert {"line entry 32", "line load 32 x1 emptied", "load behind store"} <= of_caches
    assert not others & of_caches
    # Who reads the profile takes the same for others.
    priced = {kind.value for kind in load_profile(path).core.events}
    assert others == priced - {"load", "alu"}


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no time at core\.events\.store"):
        load_profile_text(_write(tmp_path)).with_times(
            {("core", "events", "store"): (Fraction(1), Unit.CYCLES)}
        )


WHOLE = [
    name for name in profile_names() if "\nbased on:" not in Path(profile_path(name)).read_text()
]
"""Those that say all of their times themselves."""


def test_each_folder_has_a_whole_profile() -> None:
    assert {name.partition("/")[0] for name in WHOLE} == {
        name.partition("/")[0] for name in profile_names()
    }


@pytest.mark.parametrize("name", WHOLE)
def test_every_time_of_every_shipped_profile(name: str, tmp_path: Path) -> None:
    """Each range is replaced by its upper end; read again, nothing else has changed."""
    profile = load_profile(name)
    text = load_profile_text(name)
    same = text.same()
    times: dict[tuple[str, ...], Quantity] = {}
    for kind, quantity in profile.core.events.items():
        times[("core", "events", kind.value)] = quantity
    for region in profile.regions.values():
        for operation, time in region.times.items():
            times[("regions", region.name, operation.value, "first")] = time.first
            times[("regions", region.name, operation.value, "next")] = time.next
    path = tmp_path / "p.yaml"
    path.write_text(
        text.with_times({same.get(at, at): (q.high, q.unit) for at, q in times.items()})
    )
    again = load_profile(str(path))
    assert again.core.events == {
        kind: Quantity.exactly(q.high, q.unit) for kind, q in profile.core.events.items()
    }
    for region in profile.regions.values():
        for operation, time in region.times.items():
            found = again.regions[region.name].times[operation]
            assert (found.first.high, found.next.high) == (time.first.high, time.next.high)
            assert found.first.low == found.first.high
    assert (again.core.clock, again.core.overlap) == (profile.core.clock, profile.core.overlap)
    assert path.read_text().count("#") == text.text.count("#")


@given(st.integers(0, 10**9), st.integers(0, 12))
def test_decimals_are_exact(scaled: int, digits: int) -> None:
    value = Fraction(scaled, 10**digits)
    assert Fraction(decimal(value)) == value


def test_a_third_is_no_decimal() -> None:
    with pytest.raises(InputError, match="no decimal"):
        decimal(Fraction(1, 3))
