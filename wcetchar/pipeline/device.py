"""A device on a bus that is given in slots of time: what it guarantees, and when who has it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar import store
from wcetchar.engine.time_driven import (
    Implied,
    Timing,
    Use,
    implied_by,
    names_of,
    schedule,
    timing_of,
)
from wcetchar.errors import InputError, Location, UsageError
from wcetchar.model.shared_device import Figure, SharedDevice

MOST: Final = 1000
"""Devices whose slots are listed."""
ROUNDS: Final = 3
"""Of which the first begins requests, and the last ends them."""


@dataclass(frozen=True)
class Request:
    """``clusters``: in bytes; empty: those of the file. ``devices``: how many there are; ``None``:
    those of the file, or as many as saturate the bus."""

    device: str
    clusters: tuple[int, ...] = ()
    devices: int | None = None


@dataclass(frozen=True)
class Checked:
    """A figure of the file beside what its phases come to, in the figure's unit: bytes in a second,
    a share, devices."""

    figure: Figure
    found: Fraction
    implied: Implied

    @property
    def said(self) -> Fraction:
        figure = self.figure
        one = (figure.guaranteed, figure.utilisation, figure.devices)
        return Fraction(next(value for value in one if value is not None))


@dataclass(frozen=True)
class Slots:
    """A schedule of requests for ``timing.cluster`` bytes. ``uses``: ``None``: there are too many
    devices to list them."""

    timing: Timing
    devices: int
    uses: tuple[Use, ...] | None


@dataclass(frozen=True)
class Result:
    """``counts``: devices that the bandwidths of each are for, cluster by cluster."""

    device: SharedDevice
    timings: tuple[Timing, ...]
    counts: tuple[int, ...]
    checked: tuple[Checked, ...]
    slots: Slots


def run(request: Request) -> Result:
    """Cluster by cluster, and the schedule of the first one.

    Raises:
        UsageError: a number of devices beside those that the file names.
        InputError: a file that cannot be used.
    """
    device = store.load_shared_device(request.device)
    if request.devices is not None and device.devices:
        raise UsageError(
            "the file names its devices one by one", expected="no --devices beside them"
        )
    if request.devices is not None and request.devices > MOST:
        raise InputError(
            f"{request.devices} devices are too many to list",
            where=Location("--devices"),
            expected=f"at most {MOST}",
        )
    timings = tuple(timing_of(device, one) for one in request.clusters or device.clusters)
    counts = tuple(request.devices or len(device.devices) or one.needed for one in timings)
    return Result(
        device,
        timings,
        counts,
        tuple(_checked(device, one) for one in device.figures),
        _slots(device, timings[0], counts[0]),
    )


def _slots(device: SharedDevice, timing: Timing, count: int) -> Slots:
    uses = None
    if count <= MOST:
        uses = tuple(schedule(device, timing.cluster, names_of(device, count), ROUNDS))
    return Slots(timing, count, uses)


def _checked(device: SharedDevice, figure: Figure) -> Checked:
    timing = timing_of(device, figure.cluster)
    found = Fraction(timing.needed)
    if figure.guaranteed is not None:
        found = timing.guaranteed
    elif figure.utilisation is not None:
        found = timing.utilisation
    return Checked(figure, found, implied_by(device, figure))
