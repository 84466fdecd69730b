"""Memories and peripherals of a chip, as a devicetree or a CMSIS-SVD file names them."""

from __future__ import annotations

from dataclasses import dataclass

from wcetchar.model.hardware import RegionKind


@dataclass(frozen=True)
class MappedRange:
    """One range of addresses.

    Attributes:
        name: as the file calls it; unique.
        base, size: in bytes.
        writable: whether stores can have effect; code flash is read and fetched only.
        executable: whether code can lie there.
        source: what the file says of it, for a comment: its node, compatible, description.
    """

    name: str
    base: int
    size: int
    kind: RegionKind
    writable: bool
    executable: bool
    source: str


@dataclass(frozen=True)
class MemoryMap:
    """``ranges`` do not overlap. ``left_out``: what was not taken, and why, for a comment."""

    ranges: tuple[MappedRange, ...]
    left_out: tuple[str, ...]
    clock_hz: int | None = None
    bus_width: int | None = None


def without_overlaps(ranges: list[MappedRange], left_out: list[str]) -> tuple[MappedRange, ...]:
    """By address; of ranges that share an address the memory, then the first, stays."""
    kept: list[MappedRange] = []
    for one in sorted(
        ranges, key=lambda r: (r.kind is not RegionKind.MEMORY, r.base, -r.size, r.name)
    ):
        rival = next(
            (k for k in kept if one.base < k.base + k.size and k.base < one.base + one.size), None
        )
        if rival is None:
            kept.append(one)
        else:
            left_out.append(f"{one.name} at {one.base:#x}: shares addresses with {rival.name}")
    return tuple(sorted(kept, key=lambda r: r.base))
