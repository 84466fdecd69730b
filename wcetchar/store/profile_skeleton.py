"""A hardware profile to be filled in: what is known stands there, what is the designer's says TODO.

`TODO` is no time, so a skeleton cannot be priced by mistake: reading it names each line that is
still open. For `wcetchar profile fit` the times are ranges instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from wcetchar.errors import InputError, few, one_line
from wcetchar.model.access import NO_MORE_THAN, EventKind
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.hardware import RegionKind
from wcetchar.model.memory_map import LeftOut, MappedRange, MemoryMap
from wcetchar.store.profile import OTHER_EVENTS
from wcetchar.store.profile_core import CoreText, core_text, scalar
from wcetchar.store.quantity import Dimension, parse_quantity

TODO: Final = "TODO"
_SCHEMA: Final = "wcetchar/hardware-profile/1"
_RANGE_EVENT: Final = "0..40 cycles"
_RANGE_ENTRY: Final = "0..200 cycles"
"""Of an exception's entry where lines of instructions are loaded: it waits for some in vain."""
_RANGE_STALL: Final = "0..20 cycles"
_RANGE_ACCESS: Final = "1..200 cycles"
_MOST_BETWEEN: Final = 64 << 10
"""Bytes between two peripherals of one region: the buses of microcontrollers leave less free."""
_OF_CACHES: Final = (
    "  # The core has a cache. Where it holds what lies in a region, `fetch` or `read` is a hit's,",
    "  # and `line refill` or `load miss penalty` what one that misses takes more. Leave these out",
    "  # elsewhere.",
)
_OF_WAITS: Final = (
    "  # Beside its times a region may have, and without a word has not:",
    "  #   clock divider: 2",
    "  #   refresh: {every: 512 cycles, takes: 6 cycles}",
    "  #   arbitration: {every: 118 cycles, takes: 18 cycles}",
    "  # A bus of a fraction of the core's clock, a memory that refreshes itself, another master.",
    "  # Leave `every` out where it is not known: each access waits then.",
)
_OF_CORES: Final = (
    "  # What the core has beside, and without a word has not. Of what it has, leave out what",
    "  # only makes it faster and you do not know (a write buffer, caches).",
    "  # data width: 32",
    "  # least width: {read: 32}",
    "  # write buffer: 1",
    "  # instruction cache: {line: 32, size: 4 KiB, ways: 1}",
    "  # data cache: {line: 32, size: 4 KiB, ways: 1}",
)
"""Keys that a designer would not look for; what `profile fit` cannot find is not among them."""


def skeleton(
    name: str,
    memory_map: MemoryMap,
    sources: Sequence[str],
    *,
    core: str | None = None,
    clock: str | None = None,
    to_fit: bool = False,
    stalls: bool = True,
    each_peripheral: bool = False,
    instruction_cache: CacheGeometry | None = None,
    data_cache: CacheGeometry | None = None,
) -> str:
    """The text of a profile.

    Args:
        sources: names of the files that ``memory_map`` comes from, for a comment.
        core: shipped name or path of a profile whose core is taken, comments and all, with what
            it has from profiles that it is based on.
        clock: of the core, as a profile has it; otherwise what the memory map says, or TODO.
        to_fit: ranges in the place of TODO, for ``wcetchar profile fit``.
        stalls: with ``to_fit``, of stalls as well; only a characterization that counts them can be
            priced then.
        instruction_cache, data_cache: that the core has; ``None``: as ``core``, else none.
        each_peripheral: a region for each peripheral, not one for each part of the address space.

    Raises:
        InputError: ``clock`` is none; ``core`` cannot be read, has no block `core:`, or has what
            cannot be fitted and is to be, or a cache that is given as well.
    """
    given = {"instruction cache": instruction_cache, "data cache": data_cache}
    caches = {name: geometry for name, geometry in given.items() if geometry is not None}
    if clock is None and memory_map.clock_hz is not None:
        clock = _hertz(memory_map.clock_hz)
    if clock is not None:
        _check_clock(clock)
    access = _RANGE_ACCESS if to_fit else TODO
    if core is None:
        cached = instruction_cache is not None
        cores = CoreText(tuple(_events(clock or TODO, to_fit, stalls, cached)), False, False)
    else:
        cores = core_text(core, clock, TODO, to_fit=to_fit)
    cores = _with_caches(cores, caches, to_fit)
    lines = [
        "# Skeleton of a hardware profile (reference/hardware-profile). Every TODO is yours:",
        "# until it is replaced, the file is refused with the line. Write the source of each",
        "# number behind it.",
        f"schema: {_SCHEMA}",
        f"name: {scalar(name)}",
        "description: TODO",
        *cores.lines,
        "regions:",
    ]
    if sources:
        lines.append(
            f"  # From {one_line(', '.join(sources))}. Times are full times of one access of the"
        )
        lines.append("  # bus's width: the first of a burst (or a single one), each further one.")
    if not to_fit:
        lines += _OF_WAITS
    if cores.cached_code or cores.cached_data:
        lines += _OF_CACHES
    ranges = memory_map.ranges if each_peripheral else _together(memory_map)
    width = memory_map.bus_width or 32
    for one in (*_missing(ranges), *ranges):
        lines += _region(one, width, access, cores)
    for title, texts in (
        ("Assumed", memory_map.assumed),
        ("Left out", [one.text for one in memory_map.left_out]),
    ):
        if texts:
            lines.append(f"# {title}:")
            lines += [f"#   {text}" for text in texts]
    return "\n".join(lines) + "\n"


def _with_caches(cores: CoreText, caches: Mapping[str, CacheGeometry], to_fit: bool) -> CoreText:
    own = {"instruction cache": cores.cached_code, "data cache": cores.cached_data}
    for name in caches:
        if own[name]:
            raise InputError(
                f"the core that is taken has a {name} of its own",
                expected="one of the two",
                hint="change its geometry in the skeleton",
            )
    lines = list(cores.lines)
    for name, geometry in caches.items():
        ways = str(geometry.ways) + (", replacement: lru" if geometry.ways > 1 else "")
        lines.append(
            f"  {name}: {{line: {geometry.line}, size: {_size(geometry.size)}, ways: {ways}}}"
        )
    return CoreText(
        tuple(line for line in lines if caches.keys().isdisjoint(_commented(line))),
        cores.cached_code or "instruction cache" in caches,
        cores.cached_data or "data cache" in caches,
    )


def _commented(line: str) -> tuple[str, ...]:
    """The key that a comment shows how to write."""
    return (line.strip(" #").partition(":")[0],) if line.lstrip().startswith("#") else ()


def _check_clock(clock: str) -> None:
    try:
        parse_quantity(clock, Dimension.FREQUENCY)
    except InputError as error:
        message = f"the clock that was asked for: {error.message}"
        raise InputError(message, expected=error.expected, hint=error.hint) from None


def _missing(ranges: Sequence[MappedRange]) -> Iterator[MappedRange]:
    """A memory for code or data where the ranges have no place for it."""
    memories = [one for one in ranges if one.kind is RegionKind.MEMORY]
    code = any(one.executable for one in memories)
    data = any(one.writable for one in memories)
    if code and data:
        return
    name = "data memory" if code else "memory"
    names = {one.name for one in ranges}
    while name in names:
        name += " of the board"
    what = "data" if code else "code and data"
    yield MappedRange(
        name,
        0,
        0,
        RegionKind.MEMORY,
        writable=True,
        executable=True,
        source=f"a memory for {what}, of which the files say nothing: write one for each that the "
        "board has, with base and size"
        if ranges
        else "a memory",
    )


def _events(clock: str, to_fit: bool, stalls: bool, cached: bool) -> Iterator[str]:
    ranges = {EventKind.EXCEPTION_ENTRY: _RANGE_ENTRY} if cached else {}
    yield "core:"
    yield "  name: TODO"
    yield f"  clock: {clock}"
    yield "  # Time of each event beside the accesses that it makes. Leave out what the core does"
    yield "  # not have; what costs nothing is `0 cycles`."
    yield "  events:"
    for kind in OTHER_EVENTS:
        if not kind.value.startswith("float"):
            yield f"    {kind.value}: {ranges.get(kind, _RANGE_EVENT) if to_fit else TODO}"
    call = EventKind.SUPERVISOR_CALL_ENTRY.value
    if to_fit and cached:
        yield f"    {call}: {_RANGE_ENTRY}"
    else:  # no line in vain makes them differ, and calls tell more than a few interrupts
        yield f"    # {call}: {TODO}, if less than `exception entry`"
    fitted = to_fit and stalls
    yield (
        "    # Stalls: what an instruction waits because of its neighbours."
        if fitted
        else "  # Stalls, if the times above do not hold them (docs/reference/hardware-profile.md):"
    )
    for kind in EventKind:
        if kind.is_stall and not kind.is_realigned and (fitted or kind not in NO_MORE_THAN):
            yield f"    {kind.value}: {_RANGE_STALL}" if fitted else f"    # {kind.value}: {TODO}"
    if to_fit:
        # Not a claim here: measurements hold up the sum of an instruction and its accesses. Without
        # it each access would cost a cycle at least, beside the instruction's own.
        yield "  # An access of one cycle costs nothing beside its instruction; what it takes"
        yield "  # longer is found: measurements hold the sums up."
        yield "  overlap: {fetch: 1 cycle, read: 1 cycle, write: 1 cycle}"
    else:
        yield "  # How much of each access is hidden behind what executes meanwhile: claim what the"
        yield "  # manual grants."
        yield "  # overlap: {fetch: 1 cycle}"
    yield "  # Fetches that may be under way for nothing when control goes elsewhere."
    yield "  # discarded fetches: {pipeline refill: 1}"
    if not to_fit:
        yield from _OF_CORES


def _together(memory_map: MemoryMap) -> tuple[MappedRange, ...]:
    """Peripherals that follow each other as one region: a bus, not a device.

    Within the same 256 MiB, with no more than 64 KiB between two of them, and nothing there that
    was left out: it may be of another kind, or absent."""
    groups: list[list[MappedRange]] = []
    for one in memory_map.ranges:
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and one.kind is last.kind is RegionKind.PERIPHERAL
            and one.base >> 28 == last.base >> 28
            and one.base - (last.base + last.size) <= _MOST_BETWEEN
            and not _is_touched(last.base + last.size, one.base, memory_map.left_out)
        ):
            groups[-1].append(one)
        else:
            groups.append([one])
    buses = Counter(group[0].base >> 28 for group in groups if len(group) > 1)
    return tuple(
        group[0] if len(group) == 1 else _bus(group, buses[group[0].base >> 28] > 1)
        for group in groups
    )


def _is_touched(start: int, end: int, left_out: Sequence[LeftOut]) -> bool:
    return any(
        base < end and start < base + size for one in left_out for base, size in one.addresses
    )


def _bus(group: Sequence[MappedRange], one_of_several: bool) -> MappedRange:
    """Called by the first digit of its address where that is enough."""
    first, last = group[0], group[-1]
    return MappedRange(
        f"peripherals {first.base if one_of_several else first.base >> 28:x}",
        first.base,
        last.base + last.size - first.base,
        first.kind,
        True,
        False,
        few([one.name for one in group], 6),
    )


def _region(one: MappedRange, width: int, access: str, core: CoreText) -> Iterator[str]:
    burst = f"{{first: {access}, next: {access}}}"
    yield f"  # {one.source}"
    yield f"  {scalar(one.name)}:"
    yield f"    kind: {one.kind.value}"
    yield f"    bus width: {width}    # assumed"
    if one.size:
        yield f"    base: {one.base:#x}"
        yield f"    size: {_size(one.size)}"
    memory = one.kind is RegionKind.MEMORY
    if one.executable:
        yield f"    fetch: {burst}"
    yield f"    read: {burst if memory else access}"
    if one.writable:
        yield f"    write: {burst if memory else access}"
    if memory and one.executable and core.cached_code:
        yield f"    line refill: {access}"
    if memory and core.cached_data:
        yield f"    load miss penalty: {access}"


def _size(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def _hertz(clock: int) -> str:
    for unit, factor in (("MHz", 10**6), ("kHz", 10**3)):
        if clock % factor == 0:
            return f"{clock // factor} {unit}"
    return f"{clock} Hz"
