"""What is implausible about a profile."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wcetchar.model.fitting import Place


class Severity(StrEnum):
    """``TOO_LOW``: if it is a mistake, estimates come out too low. ``DEAR``: they would be dearer
    than they need be, or the profile cannot price everything."""

    TOO_LOW = "too low"
    DEAR = "dear"


@dataclass(frozen=True)
class Finding:
    """One thing that a designer should look at again; ``place`` is in the profile's file."""

    place: Place
    severity: Severity
    text: str
    hint: str
