"""Numbers of what accesses wait for that can be meant but seldom are.

Ranges: a core goes on behind 1 to 16 writes; buses have a half to a thirty-second of its clock.
Dynamic memories refresh a row in 0.05 to 1 us every 1.9 to 15.6 us, which is 1 to 10 % of the time;
the 32 or 64 ms of their manuals are those of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.plausible_times import bus_cycle, nanoseconds, spelled, wide
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import HardwareProfile, Interference, Region, busy
from wcetchar.model.plausibility import Finding, Severity

_LEAST_WIDTH: Final = 16
"""Bits. What is counted here are cores of 32, which move words; 8 may be two of them in bytes."""
_MOST_WRITES: Final = 16
_MOST_DIVIDED: Final = 32
_LONG_TURN: Final = 10_000
"""Nanoseconds that others have a memory for, at one go."""
_LONG_REFRESH: Final = 5_000
"""Nanoseconds: eight rows of 0.55 us, of which JESD79-4 lets as many be put off as are made up for
at one go."""
_ALL_ROWS: Final = 200_000
"""Nanoseconds from one refresh to the next; more is the time for all rows."""
_MUCH_REFRESH: Final = Fraction(1, 5)
_MUCH: Final = Fraction(1, 2)


def of_core(profile: HardwareProfile) -> Iterator[Finding]:
    """The write buffer, and how much is accessed at once."""
    if profile.core.data_width < _LEAST_WIDTH:
        yield Finding(
            ("core", "data width"),
            Severity.DEAR,
            f"an access of the core moves {profile.core.data_width} bits at most",
            "a core of 32 bits moves words: is it a number of bytes?",
        )
    if profile.core.write_buffer > _MOST_WRITES:
        yield Finding(
            ("core", "write buffer"),
            Severity.DEAR,
            f"{profile.core.write_buffer} writes may be under way behind the core",
            "a service may begin behind all of them, to the slowest memory: is it a "
            "number of bytes?",
        )


def of_region(profile: HardwareProfile, region: Region) -> Iterator[Finding]:
    """Its clock's divider, refresh and other masters."""
    where = ("regions", region.name)
    if region.clock_divider > _MOST_DIVIDED:
        yield Finding(
            (*where, "clock divider"),
            Severity.DEAR,
            f"{region.clock_divider} cycles of the core in one of the region's",
            "each access waits for such a one to begin: is it a frequency? that is `clock`",
        )
    for name, one in _named(region):
        yield from _interference(profile, region, name, one, (*where, name))
    shares = {name: busy(region, one, profile.core.clock) for name, one in _named(region)}
    total = sum(shares.values(), start=Fraction(0))
    if total > _MUCH:
        yield Finding(
            (*where, max(shares, key=lambda name: shares[name]), "every"),
            Severity.DEAR,
            f"{float(total * 100):.3g} % of the time others have the region",
            "is `every` from the beginning of one to that of the next, and in the clock of the "
            "region?",
        )
    elif shares.get("refresh", Fraction(0)) > _MUCH_REFRESH:
        yield Finding(
            (*where, "refresh", "every"),
            Severity.DEAR,
            f"the region refreshes itself {float(shares['refresh'] * 100):.3g} % of the time",
            "10 % are much: are the units right, and the clocks?",
        )


def together(profile: HardwareProfile) -> Iterator[Finding]:
    """Where shares of all regions leave nothing, each access is priced with a wait."""
    clock = profile.core.clock
    shares: dict[Place, Fraction] = {
        ("regions", region.name, name, "every"): busy(region, one, clock)
        for region in profile.regions.values()
        for name, one in _named(region)
    }
    if sum(shares.values(), start=Fraction(0)) >= 1:
        yield Finding(
            max(shares, key=lambda place: shares[place]),
            Severity.DEAR,
            "what others take of all regions comes to all of the time",
            "each access is then charged with a wait for each of them",
        )


def _named(region: Region) -> Iterator[tuple[str, Interference]]:
    for name, one in (("refresh", region.refresh), ("arbitration", region.arbitration)):
        if one is not None:
            yield name, one


def _interference(
    profile: HardwareProfile, region: Region, name: str, one: Interference, where: Place
) -> Iterator[Finding]:
    cycle = bus_cycle(profile, region)
    takes = nanoseconds(one.takes.high, one.takes.unit, cycle)
    yield from wide(one.takes, (*where, "takes"))
    if takes < cycle / 2:
        yield Finding(
            (*where, "takes"),
            Severity.TOO_LOW,
            f"{name} takes no time"
            if not takes
            else f"{name} takes {float(takes):g} ns, less than half a cycle ({float(cycle):g} ns)",
            "whoever has a memory has it for a cycle at least: is the unit right?",
        )
    elif takes > (_LONG_REFRESH if name == "refresh" else _LONG_TURN) and one.every is None:
        yield Finding(
            (*where, "takes"),
            Severity.DEAR,
            f"each access waits for {float(takes / 1000):g} us",
            "is the unit right? with `every`, waits are charged by time",
        )
    if one.every is None:
        return
    yield from wide(one.every, (*where, "every"), "lower")
    every = nanoseconds(one.every.low, one.every.unit, cycle)
    if name == "refresh" and takes > _LONG_REFRESH and every <= _ALL_ROWS:
        yield Finding(
            (*where, "takes"),
            Severity.DEAR,
            f"a refresh takes {spelled(takes)}",
            "one of a row takes less than 1 us: is the unit right?",
        )
    if name == "refresh" and every > _ALL_ROWS and takes < _LONG_TURN:
        yield Finding(
            (*where, "every"),
            Severity.TOO_LOW,
            f"{float(every / 1000):g} us from one refresh to the next",
            "is it the time in which all rows are refreshed? divide it by their number",
        )
