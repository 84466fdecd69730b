"""Time-driven access to a shared bus: slots, what they guarantee, and who has the bus when.

Requests are issued at fixed times, so that no two devices ask for the bus at once (Schoenberg and
others, Performance and Bus Transfer Influences, 1998, on a SCSI bus). A request for a cluster of c
bytes holds the bus in some of its phases, and leaves it to others in the rest, when it seeks::

    slot         = sum of the phases that hold the bus
    transfer     = what the phase takes that moves the data
    guaranteed   = c / slot                          bytes in a second, if the bus is never idle
    utilisation  = transfer / slot                   never above 1
    needed       = ceil((slot + free) / slot)        devices, with which it is never idle

free: all phases that leave the bus to others, of the device with the longest. In its slot a device
first ends the request that it began in its slot before (it reconnects, and moves the data), and
then begins the next one, so all that it does on the bus is in one piece, and a round of n devices
is back at the first one after::

    round        = max(n * slot, slot + free)
    of each      = c / round                         bytes in a second

That needs the phases without the bus to follow one another (the first phase follows the last). A
device that leaves the bus in the middle of its data, to come back for more, is told as one that
keeps it: it holds its slot, and each disconnect and reconnect is a phase of it (``for each``).

Backwards, what is known of a device elsewhere tells what its phases must take: ``implied_by``.

Inputs: a device, times in nanoseconds, bytes. All is exact. Soundness: that no phase takes longer
is the promise of who gives the times; a guaranteed bandwidth is one for as long as each device is
asked for no more than one cluster in a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.shared_device import SECOND, Figure, Phase, SharedDevice


@dataclass(frozen=True)
class Timing:
    """Of requests for ``cluster`` bytes; times in nanoseconds."""

    cluster: int
    slot: Fraction
    transfer: Fraction
    free: Fraction

    @property
    def guaranteed(self) -> Fraction:
        """Bytes in a second."""
        return SECOND * self.cluster / self.slot

    @property
    def utilisation(self) -> Fraction:
        return self.transfer / self.slot

    @property
    def needed(self) -> int:
        return int(-(-(self.slot + self.free) // self.slot))

    def round(self, devices: int) -> Fraction:
        return max(devices * self.slot, self.slot + self.free)

    def of_each(self, devices: int) -> Fraction:
        """Bytes in a second that each of so many devices moves."""
        return SECOND * self.cluster / self.round(devices)


@dataclass(frozen=True)
class Use:
    """One phase of one request of a device, ``begins`` and ``ends`` in nanoseconds."""

    device: str
    request: int
    phase: str
    held: bool
    begins: Fraction
    ends: Fraction


@dataclass(frozen=True)
class Implied:
    """What phases must take where a figure holds, in nanoseconds.

    Attributes:
        overhead: all that holds the bus beside the transfer.
        free: what leaves the bus to others: more than the first, and no more than the second.
    """

    overhead: Fraction | None = None
    free: tuple[Fraction, Fraction] | None = None


def timing_of(device: SharedDevice, cluster: int) -> Timing:
    """Raises ``ValueError``: there is nothing to move, or nothing that moves it."""
    transfer = sum((p.time(cluster) for p in device.phases if p.data), start=Fraction(0))
    if cluster < 1 or not transfer:
        raise ValueError(f"a request for {cluster} bytes, moved in {transfer} ns")
    slot = sum((p.time(cluster) for p in device.phases if p.held), start=Fraction(0))
    names: list[str | None] = [*device.devices] or [None]
    free = max(
        sum((_time(device, name, p, cluster) for p in device.phases if not p.held), Fraction(0))
        for name in names
    )
    return Timing(cluster, slot, transfer, free)


def names_of(device: SharedDevice, count: int) -> tuple[str, ...]:
    """The devices of the file; else so many that are alike."""
    return tuple(device.devices) or tuple(str(number) for number in range(1, count + 1))


def schedule(
    device: SharedDevice, cluster: int, names: Sequence[str], rounds: int
) -> Iterator[Use]:
    """Who does what when, each device one request in a round. In the first round no request ends,
    so each slot stands empty until the first one of it begins; in the last one none begins.

    Raises:
        ValueError: no device, or fewer than two rounds: no request would end.
    """
    if not names or rounds < 2:
        raise ValueError(f"{len(names)} devices, {rounds} rounds")
    timing = timing_of(device, cluster)
    begin, rest = _parts(device.phases)
    ending = sum((p.time(cluster) for p in rest if p.held), start=Fraction(0))
    for round_ in range(rounds):
        for place, name in enumerate(names):
            now = round_ * timing.round(len(names)) + place * timing.slot
            if round_:
                yield from _uses(device, name, round_ - 1, _held(rest), now, cluster)
            if round_ < rounds - 1:
                free = [p for p in (*begin, *rest) if not p.held]
                yield from _uses(
                    device, name, round_, [*_held(begin), *free], now + ending, cluster
                )


def implied_by(device: SharedDevice, figure: Figure) -> Implied:
    """What the phases beside the transfer must take; of a number of devices with the slots of
    ``device`` as they are."""
    timing = timing_of(device, figure.cluster)
    if figure.guaranteed is not None:
        return Implied(SECOND * figure.cluster / figure.guaranteed - timing.transfer)
    if figure.utilisation is not None:
        return Implied(timing.transfer / figure.utilisation - timing.transfer)
    assert figure.devices is not None
    last = (figure.devices - 1) * timing.slot
    return Implied(free=(max(Fraction(0), last - timing.slot), last))


def _parts(phases: Sequence[Phase]) -> tuple[Sequence[Phase], Sequence[Phase]]:
    """What a request begins with in one slot, and the rest, from the first phase on in which the
    bus is free; what holds it there waits for the next slot."""
    free = next((n for n, one in enumerate(phases) if not one.held), len(phases))
    return phases[:free], phases[free:]


def _held(phases: Sequence[Phase]) -> list[Phase]:
    return [one for one in phases if one.held]


def _uses(
    device: SharedDevice,
    name: str,
    request: int,
    phases: Sequence[Phase],
    now: Fraction,
    cluster: int,
) -> Iterator[Use]:
    for phase in phases:
        ends = now + _time(device, name, phase, cluster)
        yield Use(name, request, phase.name, phase.held, now, ends)
        now = ends


def _time(device: SharedDevice, name: str | None, phase: Phase, cluster: int) -> Fraction:
    of_device = device.devices.get(name, {}) if name is not None else {}
    return phase.time(cluster) if phase.held else of_device.get(phase.name, phase.time(cluster))
