"""A hardware profile to be filled in: what is known stands there, what is the designer's says TODO.

`TODO` is no time, so a skeleton cannot be priced by mistake: reading it names each line that is
still open. For `wcetchar profile fit` the times are ranges instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from wcetchar.errors import InputError, Location
from wcetchar.model.access import EventKind
from wcetchar.model.hardware import RegionKind
from wcetchar.model.memory_map import MappedRange, MemoryMap
from wcetchar.store.names import profile_path
from wcetchar.store.source import read_text
from wcetchar.store.yaml_source import MAX_BYTES

TODO: Final = "TODO"
_SCHEMA: Final = "wcetchar/hardware-profile/1"
_PLAIN_KEY = re.compile(r"[A-Za-z_.][A-Za-z0-9_.@ -]*[A-Za-z0-9_]|[A-Za-z_]")
_RANGE_EVENT: Final = "0..40 cycles"
_RANGE_ACCESS: Final = "1..200 cycles"


def skeleton(
    name: str,
    memory_map: MemoryMap,
    sources: Sequence[str],
    *,
    core: str | None = None,
    clock: str | None = None,
    to_fit: bool = False,
    each_peripheral: bool = False,
) -> str:
    """The text of a profile.

    Args:
        sources: names of the files that ``memory_map`` comes from, for a comment.
        core: shipped name or path of a profile whose core is taken, comments and all.
        clock: of the core, as a profile has it; otherwise what the memory map says, or TODO.
        to_fit: ranges in the place of TODO, for ``wcetchar profile fit``.
        each_peripheral: a region for each peripheral, not one for each part of the address space.

    Raises:
        InputError: ``core`` cannot be read or has no block `core:`.
    """
    if clock is None:
        clock = TODO if memory_map.clock_hz is None else _hertz(memory_map.clock_hz)
    access = _RANGE_ACCESS if to_fit else TODO
    lines = [
        "# Skeleton of a hardware profile (reference/hardware-profile). Every TODO is yours:",
        "# until it is replaced, the file is refused with the line. Write the source of each",
        "# number behind it.",
        f"schema: {_SCHEMA}",
        f"name: {_scalar(name)}",
        "description: TODO",
        *(_events(clock, to_fit) if core is None else _core_of(core, clock)),
        "regions:",
    ]
    if sources:
        lines.append(f"  # From {', '.join(sources)}. Times are full times of one access of the")
        lines.append("  # bus's width: the first of a burst (or a single one), each further one.")
    ranges = memory_map.ranges if each_peripheral else _together(memory_map.ranges)
    width = memory_map.bus_width or 32
    for one in ranges:
        lines += _region(one, width, access)
    if not ranges:
        lines += _region(
            MappedRange("memory", 0, 0, RegionKind.MEMORY, True, True, "a memory"), width, access
        )
    if memory_map.left_out:
        lines.append("# Left out:")
        lines += [f"#   {text}" for text in memory_map.left_out]
    return "\n".join(lines) + "\n"


def _events(clock: str, to_fit: bool) -> Iterator[str]:
    yield "core:"
    yield "  name: TODO"
    yield f"  clock: {clock}"
    yield "  # Time of each event beside the accesses that it makes. Leave out what the core does"
    yield "  # not have; what costs nothing is `0 cycles`."
    yield "  events:"
    for kind in EventKind:
        if not (kind.value.startswith("float") or kind.is_stall or kind.is_of_cache):
            yield f"    {kind.value}: {_RANGE_EVENT if to_fit else TODO}"
    yield "  # Stalls, if the times above do not hold them (docs/reference/hardware-profile.md):"
    for kind in EventKind:
        if kind.is_stall and not kind.is_realigned:
            yield f"    # {kind.value}: {TODO}"
    yield "  # How much of each access is hidden behind what executes meanwhile: claim what the"
    yield "  # manual grants."
    yield "  # overlap: {fetch: 1 cycle}"
    yield "  # Fetches that may be under way for nothing when control goes elsewhere."
    yield "  # discarded fetches: {pipeline refill: 1}"


def _core_of(profile: str, clock: str) -> Iterator[str]:
    """The block `core:` of another profile, with another clock."""
    path = profile_path(profile)
    lines = read_text(path, MAX_BYTES).splitlines()
    begin = next((n for n, line in enumerate(lines) if line.startswith("core:")), None)
    if begin is None:
        raise InputError(
            "has no block `core:`", where=Location(path), expected="a hardware profile"
        )
    yield f"# The core is that of {profile}: its comments say where the numbers come from."
    yield lines[begin]
    for line in lines[begin + 1 :]:
        if line and not line.startswith((" ", "#")):
            return
        if re.match(r"  clock:", line):
            line = f"  clock: {clock}"
        yield line


def _together(ranges: Sequence[MappedRange]) -> tuple[MappedRange, ...]:
    """Peripherals that follow each other within 256 MiB as one region: a bus, not a device."""
    found: list[MappedRange] = []
    names: list[list[str]] = []
    for one in ranges:
        last = found[-1] if found else None
        if (
            last is not None
            and one.kind is last.kind is RegionKind.PERIPHERAL
            and one.base >> 28 == last.base >> 28
        ):
            names[-1].append(one.name)
            found[-1] = MappedRange(
                f"peripherals {last.base >> 28:x}",
                last.base,
                one.base + one.size - last.base,
                last.kind,
                True,
                False,
                _listed(names[-1]),
            )
        else:
            found.append(one)
            names.append([one.name])
    return tuple(found)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return shown + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _region(one: MappedRange, width: int, access: str) -> Iterator[str]:
    burst = f"{{first: {access}, next: {access}}}"
    yield f"  # {one.source}"
    yield f"  {_scalar(one.name)}:"
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


def _scalar(text: str) -> str:
    """As a YAML scalar; quoted where plain text could be read as something else."""
    if _PLAIN_KEY.fullmatch(text) and text.lower() not in ("true", "false", "null", "yes", "no"):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
