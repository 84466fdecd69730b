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
    # The nearest place around it: `fetch: 1 ns` has no `first` of its own.
    places = store.Locator(profile)
    return Checked(found, tuple((places.locate(*one.place), one) for one in findings))
