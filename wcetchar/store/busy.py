"""A memory that others have all of the time is a mistake of its profile: the core would never have
a turn, and there is no telling what its accesses wait for."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from wcetchar.errors import InputError
from wcetchar.model.hardware import Interference, Quantity, Region, RegionKind, busy
from wcetchar.store.checking import mapping_at
from wcetchar.store.quantity import Dimension, parse_quantity
from wcetchar.store.source import PlainInt, Source, shown

_KINDS: Final = ("refresh", "arbitration")


def check_busy(source: Source) -> None:
    """Report each memory of a profile that refresh and other masters leave no time. What cannot be
    read is reported elsewhere."""
    clock = _read(mapping_at(source.data, "core").get("clock"), Dimension.FREQUENCY)
    for name, region in mapping_at(source.data, "regions").items():
        if not isinstance(region, dict) or clock is None:
            continue
        own = None
        if "clock" in region:
            own = _read(region["clock"], Dimension.FREQUENCY)
            if own is None:
                continue
        divider = region.get("clock divider", 1)
        if not isinstance(divider, (int, PlainInt)) or divider < 1:
            continue
        bus = Region(name, RegionKind.MEMORY, 8, {}, clock=own, clock_divider=int(divider))
        shares = {
            kind: busy(bus, one, clock)
            for kind in _KINDS
            if (one := _interference(region.get(kind))) is not None
        }
        total = sum(shares.values(), start=Fraction(0))
        if total >= 1:
            worst = max(shares, key=lambda kind: shares[kind])
            both = " and ".join(kind for kind, share in shares.items() if share)
            source.report(
                ("regions", name, worst, "every"),
                f"the region {shown(name)} is never free: {both} can take "
                f"{float(total * 100):.4g} % of the time",
                expected="`takes` that leave the core time until the next one begins",
                hint="leave `every` out if others go on and on, but the core has its turn behind "
                "each of them: then each access waits for `takes`",
            )


def _interference(value: object) -> Interference | None:
    if not isinstance(value, dict):
        return None
    takes = _read(value.get("takes"), Dimension.TIME)
    every = _read(value.get("every"), Dimension.TIME)
    if takes is None or every is None or every.low <= 0:
        return None
    return Interference(takes, every)


def _read(value: object, dimension: Dimension) -> Quantity | None:
    try:
        return parse_quantity(value, dimension)
    except InputError:
        return None
