"""Slowdowns that were measured: which share of their time applications are on the bus, and what the
model of a load says of bus time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar import store
from wcetchar.engine.slowdown import bus_share_of, stretch, taken_of
from wcetchar.errors import InputError, Location, UsageError, did_you_mean
from wcetchar.model.slowdown import Application, BusLoad, MeasuredSlowdowns

_POINTS: Final = 64
"""So many that they are drawn without dots, which are for what was measured."""


@dataclass(frozen=True)
class Request:
    """``measured``: a path or a shipped name. ``applications``: by name; empty means all. ``load``
    and ``capacity``, bytes in a second: ``None``: what the file says, or tells."""

    measured: str
    applications: tuple[str, ...] = ()
    load: Fraction | None = None
    capacity: Fraction | None = None


@dataclass(frozen=True)
class Row:
    """``bus_share``: b, above 1 where no share explains the factor; ``None``: it is not known what
    others take of the bus."""

    application: Application
    bus_share: Fraction | None


@dataclass(frozen=True)
class Predicted:
    """Of bus time alone, if others' capacity were that bandwidth. ``factor``: ``None``: the load
    would be all of it, or more."""

    name: str
    capacity: Fraction
    factor: Fraction | None


@dataclass(frozen=True)
class Result:
    """``taken``: u, and ``by`` what it is known. ``of_bus_time``: what was measured of an
    application that is nothing but bus time."""

    measured: MeasuredSlowdowns
    rows: tuple[Row, ...]
    load: Fraction | None
    taken: Fraction | None
    by: str
    of_bus_time: Application | None
    predicted: tuple[Predicted, ...]

    @property
    def capacity(self) -> Fraction | None:
        """That of others' transfers, by what they take."""
        return self.load / self.taken if self.load and self.taken else None


def run(request: Request) -> Result:
    """What the file says, application by application.

    Raises:
        UsageError: a capacity without a load.
        InputError: a file that cannot be used; no such application; a load of all of the capacity.
    """
    measured = store.load_slowdowns(request.measured)
    load = request.load or measured.load
    of_bus_time = next((one for one in measured.applications if one.only_bus_time), None)
    taken, by = None, ""
    if request.capacity is not None:
        if load is None:
            raise UsageError(
                "a capacity says what others take of the bus beside their load",
                expected="--load, or `load:` in the file of slowdowns",
            )
        taken, by = bus_load(load, request.capacity).taken, "the load and the capacity"
    elif of_bus_time is not None:
        taken, by = taken_of(of_bus_time.factor), f"the slowdown of {of_bus_time.name}"
    rows = tuple(
        Row(one, None if taken is None else bus_share_of(one.factor, taken))
        for one in _chosen(measured, request.applications)
    )
    predicted = tuple(
        Predicted(name, one, stretch(load / one) if load < one else None)
        for name, one in measured.bandwidths.items()
        if load is not None
    )
    return Result(measured, rows, load, taken, by, of_bus_time, predicted)


def bus_load(load: Fraction, capacity: Fraction, burst: Fraction | None = None) -> BusLoad:
    """What two options say.

    Raises:
        InputError: nothing of the bus is left.
    """
    if load >= capacity:
        raise InputError(
            "others take all of the bus, or more: nothing is left for the core",
            where=Location("--load"),
            expected="less than --capacity",
        )
    return BusLoad(load, capacity, burst)


def lines(result: Result) -> Mapping[str, tuple[tuple[Fraction, Fraction], ...]]:
    """By the model, (bytes in a second that others take, F_sd) of each application that it
    explains."""
    capacity = result.capacity
    if capacity is None or result.taken is None:
        return {}
    shares = sorted({result.taken, *(result.taken * n / _POINTS for n in range(_POINTS + 1))})
    return {
        row.application.name: tuple(
            (share * capacity, 1 + row.bus_share * (stretch(share) - 1)) for share in shares
        )
        for row in result.rows
        if row.bus_share is not None and row.bus_share <= 1
    }


def _chosen(measured: MeasuredSlowdowns, names: tuple[str, ...]) -> tuple[Application, ...]:
    known = {one.name: one for one in measured.applications}
    for name in names:
        if name not in known:
            raise InputError(
                f"there is no application {name}",
                where=Location("--service"),
                expected=f"one of {', '.join(known)}",
                hint=did_you_mean(name, known),
            )
    return tuple(known[name] for name in dict.fromkeys(names)) or measured.applications
