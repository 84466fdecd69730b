"""Memories and peripherals of a chip, as a devicetree or a CMSIS-SVD file names them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

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
class LeftOut:
    """What was not taken, and why, for a comment.

    ``addresses``: (base, size) in bytes, as far as the file says them. No region covers them just
    because its neighbours lie on both sides.
    """

    text: str
    addresses: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class MemoryMap:
    """What a file says of addresses.

    Attributes:
        ranges: do not overlap, and have different names.
        assumed: what was taken for granted where the file does not say it, for a comment.
        clock_hz: of the core, more than 0; ``None``: the file does not say.
        bus_width: in bits.
    """

    ranges: tuple[MappedRange, ...]
    left_out: tuple[LeftOut, ...]
    clock_hz: int | None = None
    bus_width: int | None = None
    assumed: tuple[str, ...] = ()


def without_overlaps(ranges: list[MappedRange], left_out: list[LeftOut]) -> tuple[MappedRange, ...]:
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
            text = f"{one.name} at {one.base:#x}: shares addresses with {rival.name}"
            left_out.append(LeftOut(text, ((one.base, one.size),)))
    return tuple(sorted(kept, key=lambda r: r.base))


def numbered(name: str, taken: set[str]) -> str:
    """The first of `name_1`, `name_2` ... that nothing is called yet; it is ``taken`` then."""
    free = next(text for n in count(1) if (text := f"{name}_{n}") not in taken)
    taken.add(free)
    return free
