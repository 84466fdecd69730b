"""Times of a hardware profile written back into its file, everything else left as it is.

Comments, order and spelling of a hand-written file are its author's. So the text is kept, and only
the value at the place of a time is replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ruamel.yaml import YAML
from ruamel.yaml.events import MappingEndEvent, MappingStartEvent, ScalarEvent

from wcetchar.errors import InputError, Location
from wcetchar.model.access import Operation
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import Unit
from wcetchar.store.based_on import BASED_ON
from wcetchar.store.names import profile_path
from wcetchar.store.profile import OTHER_EVENTS
from wcetchar.store.source import read_text, shown
from wcetchar.store.yaml_source import MAX_BYTES, parse_yaml


@dataclass(frozen=True)
class _Value:
    start: int
    end: int


@dataclass(frozen=True)
class ProfileText:
    """The text of a profile that :func:`load_profile` could read, and where its times stand."""

    path: str
    text: str
    _values: Mapping[Place, _Value]

    def same(self) -> dict[Place, Place]:
        """Places of the model that are one value of the file: `fetch: 14 ns` is first and next, and
        `other events` is every event that has no time of its own."""
        found: dict[Place, Place] = {}
        for place in self._values:
            if (
                len(place) == 3
                and place[0] == "regions"
                and place[2] in {o.value for o in Operation}
            ):
                found[(*place, "first")] = found[(*place, "next")] = place
        if ("core", "other events") in self._values:
            for kind in OTHER_EVENTS:
                own = ("core", "events", kind.value)
                if own not in self._values:
                    found[own] = ("core", "other events")
        return found

    def with_times(self, times: Mapping[Place, tuple[Fraction, Unit]]) -> str:
        """The text with these values; decimals, so a value must be one.

        Raises:
            InputError: a place is none of the file's, or a value is no decimal.
        """
        changes: list[tuple[_Value, str]] = []
        for place, (value, unit) in times.items():
            at = self._values.get(place)
            if at is None:
                raise InputError(f"has no time at {'.'.join(place)}", where=Location(self.path))
            changes.append((at, f"{decimal(value)} {_unit(value, unit)}"))
        text = self.text
        for at, new in sorted(changes, key=lambda change: -change[0].start):
            text = text[: at.start] + new + text[at.end :]
        return text


def load_profile_text(name_or_path: str) -> ProfileText:
    """The text of a profile, by shipped name or path; it must be one that can be read.

    Raises:
        InputError: it cannot be read, or takes times from another file.
    """
    path = profile_path(name_or_path)
    text = read_text(path, MAX_BYTES)
    values = dict(_values(text))
    base = values.get((BASED_ON,))
    if base is not None:
        raise InputError(
            "not all of its times stand in it: it is based on "
            f"{shown(text[base.start : base.end])}",
            where=parse_yaml(text, path).where((BASED_ON,), key=True),
            expected="a profile that says all of its times itself",
            hint="write those here that the other one says, and leave this line out; or change the "
            "other one",
        )
    return ProfileText(path, text, values)


def decimal(value: Fraction) -> str:
    """Exactly, with as few digits as it takes.

    Raises:
        InputError: it is no decimal.
    """
    digits, scaled = 0, value
    while scaled.denominator != 1:
        scaled, digits = scaled * 10, digits + 1
        if digits > 30:
            raise InputError(f"{value} is no decimal", expected="a decimal of at most 30 digits")
    whole = f"{abs(scaled.numerator):0{digits + 1}d}"
    sign = "-" if value < 0 else ""
    return sign + (f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole)


def _unit(value: Fraction, unit: Unit) -> str:
    return "cycle" if unit is Unit.CYCLES and value == 1 else unit.value


def _values(text: str) -> Iterator[tuple[Place, _Value]]:
    """Every scalar value of nested mappings with the keys that lead to it."""
    keys: list[str] = []
    is_key: list[bool] = []
    for event in YAML(pure=True).parse(text):
        if isinstance(event, MappingStartEvent):
            is_key.append(True)
        elif isinstance(event, MappingEndEvent):
            is_key.pop()
            if is_key:
                keys.pop()
                is_key[-1] = True
        elif isinstance(event, ScalarEvent) and is_key:
            if is_key[-1]:
                keys.append(str(event.value))
                is_key[-1] = False
            else:
                yield tuple(keys), _Value(event.start_mark.index, event.end_mark.index)
                keys.pop()
                is_key[-1] = True
