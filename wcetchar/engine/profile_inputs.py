"""The numbers that a hardware profile says: each by itself, found wherever a profile holds one.

A number is a :class:`Quantity` with the steps that lead to it: names of fields, and keys of
mappings. Nothing lists them, so what a profile can say in future is found as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, TypeVar

from wcetchar.model.hardware import HardwareProfile, Quantity, Unit

_T = TypeVar("_T")
Step = Any
"""Name of a field, or key of a mapping."""
_WORDS: Final = {"events": "event", "in_vain_saves": "instruction cache in vain saves"}
"""Of fields of a core that have another name in a profile."""


@dataclass(frozen=True)
class ProfileInput:
    """``name``: in the words of the profile, such as ``core clock``, ``core event load``,
    ``flash read first``, ``flash line refill``."""

    steps: tuple[Step, ...]
    name: str
    quantity: Quantity

    @property
    def saves(self) -> bool:
        """More of it makes times shorter: frequencies, periods of interference, what is hidden."""
        in_core = self.steps[0] == "core" and self.steps[1] in ("overlap", "in_vain_saves")
        return self.quantity.unit is Unit.HERTZ or in_core or self.steps[-1] == "every"


def inputs_of(profile: HardwareProfile) -> tuple[ProfileInput, ...]:
    """All numbers, in the order of the profile's fields."""
    return tuple(
        ProfileInput(steps, _name(steps), quantity) for steps, quantity in _quantities(profile, ())
    )


def with_inputs(
    profile: HardwareProfile, change: Callable[[ProfileInput], Quantity]
) -> HardwareProfile:
    """The same profile with another quantity in the place of each."""
    return _changed(profile, (), lambda steps, q: change(ProfileInput(steps, _name(steps), q)))


def _quantities(
    value: object, steps: tuple[Step, ...]
) -> Iterator[tuple[tuple[Step, ...], Quantity]]:
    if isinstance(value, Quantity):
        yield steps, value
        return
    for step, inner in _inside(value):
        yield from _quantities(inner, (*steps, step))


def _inside(value: object) -> Iterator[tuple[Step, object]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value))


def _changed(
    value: _T, steps: tuple[Step, ...], change: Callable[[tuple[Step, ...], Quantity], Quantity]
) -> _T:
    made: Any = value
    if isinstance(value, Quantity):
        made = change(steps, value)
    elif isinstance(value, Mapping):
        made = {key: _changed(inner, (*steps, key), change) for key, inner in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        inside = {step: _changed(inner, (*steps, step), change) for step, inner in _inside(value)}
        made = replace(value, **inside)
    found: _T = made
    return found


def _name(steps: tuple[Step, ...]) -> str:
    """Names of regions are the profile's; what has an underscore is a field of ours."""
    if steps[0] == "regions":
        region, *rest = steps[1:]
        return " ".join([str(region), *(_word(step) for step in rest if step != "times")])
    return " ".join(_WORDS.get(step, _word(step)) for step in steps)


def _word(step: Step) -> str:
    return str(step).replace("_", " ")
