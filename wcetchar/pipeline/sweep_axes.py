"""Axes of a sweep as options give them: ``NAME=VALUES``, of a parameter or a number of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wcetchar.errors import InputError, Location, UsageError, did_you_mean
from wcetchar.model.characterization import ServiceCharacterization
from wcetchar.model.sweep import Axis
from wcetchar.pipeline.options import read_option
from wcetchar.store.document_numbers import way_of
from wcetchar.store.source import Steps, shown
from wcetchar.store.swept_values import SweptValues, parse_swept


@dataclass(frozen=True)
class AskedAxis:
    """``option``: that asks for it; ``steps``: of the number in its file, ``None``: it is a
    parameter."""

    option: str
    axis: Axis
    values: SweptValues
    steps: Steps | None

    def text(self, place: int) -> str:
        """The value as a file or a command line says it."""
        return self.values.text(self.axis.numbers[place])


Advance = Callable[[int, int], None]
"""Told how many combinations, points or numbers are done, of how many."""


class Numbers(Protocol):
    """Files whose numbers can be replaced. ``kind``: what messages call them."""

    @property
    def kind(self) -> str: ...

    def named(self, way: str) -> Steps: ...


def asked_axis(option: str, text: str, parameters: Iterable[str], files: Numbers) -> AskedAxis:
    """Read ``NAME=VALUES``.

    Raises:
        UsageError: it has no name or no values.
        InputError: neither a parameter nor a number of the files has that name, or the values
            cannot be read.
    """
    name, equals, values_text = (part.strip() for part in text.partition("="))
    if not name or not equals:
        raise UsageError(f"{option} {text} is not NAME=VALUES", expected=f"{option} N=1..16")
    known = sorted(set(parameters))
    steps = None if name in known else _steps(option, name, known, files)
    values = read_option(option, parse_swept, values_text)
    if steps is None and values.unit:
        raise InputError(
            f"{name} is a parameter, which has no unit",
            where=Location(option),
            expected=f"whole numbers, such as {name}=1..16",
        )
    shown_name = name if steps is None else way_of(steps)
    axis = Axis(shown_name, values.unit, values.numbers, steps is not None)
    return AskedAxis(option, axis, values, steps)


def _steps(option: str, name: str, parameters: Sequence[str], files: Numbers) -> Steps:
    try:
        return files.named(name)
    except InputError as error:
        near = did_you_mean(name, parameters)
        if "." in name and not near:
            error.where = Location(option)
            raise
        raise InputError(
            f"no selected service has a parameter {shown(name)}, nor has the {files.kind} such a "
            "number",
            where=Location(option),
            expected=f"a parameter ({', '.join(parameters) or 'there is none'}), or "
            + (error.expected or ""),
            hint=near,
        ) from None


def refuse_twice(axes: Sequence[AskedAxis], values: Mapping[str, int]) -> None:
    """Refuses axes of one number, and parameters that have a value beside.

    Raises:
        UsageError: there are such.
    """
    for place, one in enumerate(axes):
        for other in axes[:place]:
            same = one.axis.name == other.axis.name
            within = one.steps is not None and other.steps is not None and not same
            if within:
                assert one.steps is not None
                assert other.steps is not None
                length = min(len(one.steps), len(other.steps))
                within = one.steps[:length] == other.steps[:length]
            if same or within:
                what = one.axis.name if same else f"{other.axis.name} and {one.axis.name}"
                raise UsageError(
                    f"{what} {'is given twice' if same else 'are one number'}",
                    expected="each number on one axis",
                )
        if one.steps is None and one.axis.name in values:
            raise UsageError(
                f"{one.axis.name} has a value by --set, and values by {one.option}",
                expected="one of the two",
            )


def refuse_out_of_range(
    axes: Sequence[AskedAxis], services: Iterable[ServiceCharacterization]
) -> None:
    """Refuses values that a parameter cannot have in a service.

    Raises:
        InputError: there are such.
    """
    for asked in axes:
        if asked.steps is not None:
            continue
        for service in services:
            for one in service.parameters:
                if one.name != asked.axis.name:
                    continue
                least, most = asked.axis.numbers[0], asked.axis.numbers[-1]
                if least < one.minimum or most > one.maximum:
                    beyond = least if least < one.minimum else most
                    raise InputError(
                        f"{one.name} of {service.name} ({one.meaning}) is out of range: {beyond}",
                        where=Location(asked.option),
                        expected=f"{one.name} from {one.minimum} to {one.maximum}",
                        hint="outside of this range the service was not characterized",
                    )
