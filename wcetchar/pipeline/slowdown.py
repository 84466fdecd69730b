"""How much other masters slow services down: those of a profile, and a load on a bus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Final

from wcetchar import store
from wcetchar.engine import bus_load, slowdown
from wcetchar.errors import InputError, Location, UsageError, did_you_mean
from wcetchar.model.characterization import Word
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.slowdown import BusLoad, Slowdown
from wcetchar.pipeline import estimate as estimating
from wcetchar.pipeline.all_paths import safe_notes

PLOTTED: Final = Fraction(4, 5)
"""Of a bus, that is plotted; beyond it everything rises steeply."""
_POINTS: Final = 32


@dataclass(frozen=True)
class _Figure:
    """Of a service in a situation, in nanoseconds. ``over_all_paths``: by its path model."""

    time: Fraction
    word: Word
    over_all_paths: bool


_Figures = tuple[_Figure, ...]
"""Service by service."""


@dataclass(frozen=True)
class Request:
    """What to slow down. Files are given by path or by the name of a shipped one.

    Attributes:
        section_map: ``None``: the profile's own.
        services, values, maximum: as of ``estimate``.
        load: of other masters than the profile's; ``None``: those alone.
        bus: regions behind the bus that the load is on; none: what the profile shares.
        lines: how F_sd grows with the load as well.
    """

    characterization: str
    profile: str
    section_map: str | None = None
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    maximum: bool = False
    load: BusLoad | None = None
    bus: tuple[str, ...] = ()
    lines: bool = False


@dataclass(frozen=True)
class Row:
    """One service in one situation, beside its time alone.

    ``bus_share``: b of a load's model; ``None`` in other situations.
    """

    service: str
    parameters: Mapping[str, int]
    under: str
    slowdown: Slowdown
    word: Word
    bus_share: Fraction | None = None


@dataclass(frozen=True)
class Result:
    """``lines``: service -> (bytes in a second that others take, F_sd)."""

    profile: str
    section_map: str
    rows: tuple[Row, ...]
    lines: Mapping[str, tuple[tuple[Fraction, Fraction], ...]]
    notes: tuple[str, ...]


def run(request: Request) -> Result:
    """Service by service, each in every situation that is asked for; over all paths in each, where
    there are path models.

    Raises:
        UsageError: nothing says what other masters do.
        InputError: as of ``estimate``; there is no such region.
    """
    asked = estimating.Request.on_one(
        request.characterization,
        request.profile,
        request.section_map,
        request.services,
        request.values,
        request.maximum,
    )
    characterization = store.load_characterization(request.characterization)
    prepared = estimating.prepare(asked, characterization)
    platform = prepared.chosen[0][2]
    profile = platform.prices.profile
    bus = _bus(request, profile)

    def on(change: Callable[[HardwareProfile], HardwareProfile]) -> tuple[Estimate, ...]:
        return estimating.estimates_on(asked, prepared, change)

    idle = on(bus_load.alone)
    alone = _figures(idle)
    situations: list[tuple[str, _Figures, bool, bool]] = []
    notes = [note for one in idle for note in (*one.notes, *safe_notes(one))]
    if bus_load.shared_regions(profile):
        names = " and ".join(bus_load.shared_regions(profile))
        # Both hold: others come so often in the whole time, and hold up an access once each.
        often, each = _figures(on(lambda p: p)), _figures(on(bus_load.waiting))
        situations.append((f"other masters of {names}", _lesser(often, each), False, False))
    load = request.load
    lines: dict[str, tuple[tuple[Fraction, Fraction], ...]] = {}
    if load is not None:

        def loaded(taken: Fraction) -> _Figures:
            return _figures(on(lambda p: bus_load.stretched(bus_load.alone(p), bus, taken)))

        situations.append((f"load on {' and '.join(bus)}", loaded(load.taken), True, True))
        if load.burst is not None:
            longest = partial(bus_load.in_bursts, bus=bus, taken=load.taken, burst=load.burst)
            waits = _figures(on(lambda p: longest(bus_load.alone(p))))
            refreshed = any(profile.regions[name].refresh is not None for name in bus)
            times = _at_most(alone, waits, load, refreshed)
            situations.append((f"load on {' and '.join(bus)}, at most", times, False, True))
        if request.lines:
            lines = _lines(idle, load, loaded)
    notes += [
        f"{one.service}: {under}, published rows count, for there is no bound over all paths"
        for under, times, _, _ in situations
        for one, own, found in zip(idle, alone, times, strict=True)
        if own.over_all_paths and not found.over_all_paths
    ]
    rows = [
        _row(one, under, times[number], average, load if of_load else None)
        for number, one in enumerate(idle)
        for under, times, average, of_load in situations
    ]
    shown = idle[0].section_map
    return Result(profile.name, shown, tuple(rows), lines, tuple(dict.fromkeys(notes)))


def _bus(request: Request, profile: HardwareProfile) -> tuple[str, ...]:
    """The regions that the load is on."""
    shared = bus_load.shared_regions(profile)
    for name in request.bus:
        if name not in profile.regions:
            raise InputError(
                f"profile {profile.name} has no region {name}",
                expected=f"one of {', '.join(profile.regions)}",
                where=Location("--bus"),
                hint=did_you_mean(name, profile.regions),
            )
    if request.load is None and not shared:
        raise UsageError(
            f"profile {profile.name} has no other master, and nothing says what one would take",
            expected="a region with `arbitration`, or --load with --capacity",
        )
    if request.load is not None and not (request.bus or shared):
        raise UsageError(
            f"nothing says what of profile {profile.name} lies behind the bus that others load",
            expected=f"--bus REGION, one of {', '.join(profile.regions)}; repeatable",
        )
    return tuple(dict.fromkeys(request.bus)) or shared


def _figures(estimates: tuple[Estimate, ...]) -> _Figures:
    return tuple(
        _Figure(
            one.safe_time,
            one.safe_word,
            one.over_all_paths is not None and one.over_all_paths.time is not None,
        )
        for one in estimates
    )


def _lesser(first: _Figures, second: _Figures) -> _Figures:
    """Of two that hold; one that is of published rows alone is none where the other is over all
    paths."""

    def order(one: _Figure) -> tuple[bool, Fraction]:
        return not one.over_all_paths, one.time

    return tuple(min(pair, key=order) for pair in zip(first, second, strict=True))


def _at_most(alone: _Figures, waits: _Figures, load: BusLoad, refreshed: bool) -> _Figures:
    """By what others have of the whole time, and by what each access waits; the latter does not
    hold where the memory refreshes itself meanwhile, but a service without an access has none."""
    burst = load.burst
    assert burst is not None
    whole = tuple(replace(own, time=slowdown.at_most(own.time, load.taken, burst)) for own in alone)
    lesser = _lesser(whole, waits)
    return tuple(
        by_time if refreshed and each.time > own.time else either
        for own, by_time, each, either in zip(alone, whole, waits, lesser, strict=True)
    )


def _row(one: Estimate, under: str, found: _Figure, average: bool, load: BusLoad | None) -> Row:
    alone, time = one.safe_time, found.time
    if time > alone == 0:
        raise InputError(
            f"{one.service} takes no time alone, and {under} it does: no factor says that",
            expected="a service whose own time is above 0",
            where=Location("--service"),
        )
    # Nothing gets faster; where bounds are made in two ways, the looser one may be of the time
    # alone.
    slower = Slowdown(alone, max(alone, time))
    share = slowdown.bus_share_of(slower.factor, load.taken) if load and average else None
    word = Word.ESTIMATE if average else one.safe_word.weakest(found.word)
    return Row(one.service, one.parameters, under, slower, word, share)


def _lines(
    idle: tuple[Estimate, ...], load: BusLoad, loaded: Callable[[Fraction], _Figures]
) -> dict[str, tuple[tuple[Fraction, Fraction], ...]]:
    end = max(PLOTTED, load.taken)
    shares = sorted({load.taken, *(end * n / _POINTS for n in range(_POINTS + 1))})
    points: dict[str, list[tuple[Fraction, Fraction]]] = {one.service: [] for one in idle}
    for share in shares:
        for one, found in zip(idle, loaded(share), strict=True):
            row = _row(one, "under load", found, False, None)
            points[one.service].append((share * load.capacity, row.slowdown.factor))
    return {name: tuple(line) for name, line in points.items()}
