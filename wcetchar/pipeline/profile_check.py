"""Explain a hardware profile, and look for what is implausible in it."""

from __future__ import annotations

from dataclasses import dataclass

from wcetchar import store
from wcetchar.engine.plausibility import implausible
from wcetchar.errors import Location
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.plausibility import Finding


@dataclass(frozen=True)
class Checked:
    """``findings``: each with its place in the file."""

    profile: HardwareProfile
    findings: tuple[tuple[Location, Finding], ...]


def run(profile: str) -> Checked:
    """Raises:
    InputError: the profile cannot be read.
    """
    found = store.load_profile(profile)
    findings = tuple(implausible(found))
    if not findings:
        return Checked(found, ())
    places = store.Locator(profile)
    placed = ((_place(places, one), one) for one in findings)
    # What is wrong with the time of all other events is said once, not of each.
    said = {(place, one.text, one.hint): (place, one) for place, one in placed}
    return Checked(found, tuple(said.values()))


def _place(places: store.Locator, finding: Finding) -> Location:
    """The nearest place around it: `fetch: 1 ns` has no `first` of its own, and an event that the
    file does not name has the time of `other events`."""
    place = places.locate(*finding.place)
    *around, _ = finding.place
    if around == ["core", "events"] and place == places.locate(*around):
        return places.locate("core", "other events")
    return place
