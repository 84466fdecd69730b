"""Begin a hardware profile: from another one's core, a devicetree source, a CMSIS-SVD file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from wcetchar.model.cache import CacheGeometry
from wcetchar.model.memory_map import MemoryMap, numbered, without_overlaps
from wcetchar.store.devicetree import load_devicetree
from wcetchar.store.profile_skeleton import skeleton
from wcetchar.store.shipped_schemas import with_modeline
from wcetchar.store.svd import load_svd


@dataclass(frozen=True)
class Request:
    """See :func:`wcetchar.store.profile_skeleton.skeleton`. ``output``: where it is to lie."""

    name: str
    core: str | None = None
    clock: str | None = None
    devicetree: str | None = None
    svd: str | None = None
    to_fit: bool = False
    stalls: bool = True
    each_peripheral: bool = False
    instruction_cache: CacheGeometry | None = None
    data_cache: CacheGeometry | None = None
    output: str | None = None


def run(request: Request) -> str:
    """The text of the skeleton.

    Raises:
        InputError: a file cannot be read, or is not what it should be.
    """
    maps = []
    if request.devicetree is not None:
        maps.append(load_devicetree(request.devicetree))
    if request.svd is not None:
        maps.append(load_svd(request.svd))
    files = [f for f in (request.devicetree, request.svd) if f is not None]
    text = skeleton(
        request.name,
        _joined(maps),
        [os.path.basename(file) for file in files],
        core=request.core,
        clock=request.clock,
        to_fit=request.to_fit,
        stalls=request.stalls,
        each_peripheral=request.each_peripheral,
        instruction_cache=request.instruction_cache,
        data_cache=request.data_cache,
    )
    return with_modeline(text, "hardware-profile", request.output)


def _joined(maps: list[MemoryMap]) -> MemoryMap:
    """What the first file says stays where both say something of an address."""
    left_out = [text for one in maps for text in one.left_out]
    ranges = without_overlaps([r for one in maps for r in one.ranges], left_out)
    taken = {one.name for one in ranges}
    named: set[str] = set()
    unique = []
    for one in ranges:
        name = numbered(one.name, taken) if one.name in named else one.name
        named.add(name)
        unique.append(replace(one, name=name))
    return MemoryMap(
        tuple(unique),
        tuple(left_out),
        next((one.clock_hz for one in maps if one.clock_hz is not None), None),
        next((one.bus_width for one in maps if one.bus_width is not None), None),
        tuple(text for one in maps for text in one.assumed),
    )
