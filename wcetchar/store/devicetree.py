"""Memory map of a devicetree source (Devicetree Specification v0.4; the only user of devicetree).

Read is one whole, preprocessed file, such as `build/zephyr/zephyr.dts` or what `dtc -O dts` prints.
Addresses are translated through the `ranges` of every bus on the way to the root (2.3.8)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from devicetree.dtlib import DT, DTError, Node

from wcetchar.errors import InputError, Location, one_line
from wcetchar.model.hardware import RegionKind
from wcetchar.model.memory_map import LeftOut, MappedRange, MemoryMap, without_overlaps
from wcetchar.store.source import read_text

MAX_BYTES: Final = 4 << 20
_DEEP: Final = 32

_RAM: Final = ("mmio-sram", "arm,itcm", "arm,dtcm", "zephyr,memory-region", "sram")
_FLASH: Final = ("soc-nv-flash", "cfi-flash", "jedec,spi-nor")


def load_devicetree(path: str | os.PathLike[str]) -> MemoryMap:
    """Memories and enabled peripherals that have addresses of the processor.

    Raises:
        InputError: the file cannot be read or is no preprocessed devicetree source.
    """
    text = read_text(path, MAX_BYTES)
    for token, what in (
        ("#include", "is not preprocessed"),
        ("/include/", "includes another file"),
        ("/incbin/", "includes another file"),
    ):
        at = text.find(token)
        if at >= 0:
            raise InputError(
                f"{what}: {token}",
                where=Location(str(path), text.count("\n", 0, at) + 1),
                expected="one whole devicetree source, such as build/zephyr/zephyr.dts",
                hint="dtc -I dtb -O dts prints the source of a compiled one",
            )
    # The reader opens files by itself; it gets the text that was checked.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checked.dts"
        copy.write_text(text, encoding="utf-8")
        try:
            tree = DT(str(copy))
            return _memory_map(tree)
        except (DTError, RecursionError) as error:
            message = one_line(str(error)).replace(str(copy), "").lstrip(": ")
            line, _, rest = message.partition(" ")
            number = line.split(":")[0]
            where = Location(str(path), int(number)) if number.isdigit() else Location(str(path))
            raise InputError(
                rest.removeprefix("parse error: ") if number.isdigit() else message,
                where=where,
                expected="a devicetree source",
            ) from None


def _memory_map(tree: DT) -> MemoryMap:
    found: list[MappedRange] = []
    left_out: list[LeftOut] = []
    for node in _nodes(tree.root, 0):
        if "reg" not in node.props or node.parent is None:
            continue
        status = node.props["status"].to_string() if "status" in node.props else "okay"
        compatible = node.props["compatible"].to_strings() if "compatible" in node.props else []
        if node.parent.name == "cpus" or _is_partition(node):
            continue
        name = node.labels[0] if node.labels else node.name
        if status not in ("okay", "ok"):
            left_out.append(LeftOut(f"{name}: status {status}"))
            continue
        for number, (base, size) in enumerate(_extents(node)):
            if base is None:
                if number == 0:
                    left_out.append(LeftOut(f"{name}: its addresses are not the processor's"))
                break
            if not size:
                continue
            found.append(
                _range(node, compatible, f"{name}_{number}" if number else name, base, size)
            )
    unique: list[MappedRange] = []
    seen: set[str] = set()
    for one in found:
        if one.name in seen:
            left_out.append(LeftOut(f"{one.name} at {one.base:#x}: a second one of that name"))
            continue
        seen.add(one.name)
        unique.append(one)
    return MemoryMap(without_overlaps(unique, left_out), tuple(left_out), _clock(tree))


def _nodes(node: Node, depth: int) -> Iterator[Node]:
    if depth > _DEEP:
        raise RecursionError("more than 32 nodes lie in each other")
    yield node
    for child in node.nodes.values():
        yield from _nodes(child, depth + 1)


def _range(node: Node, compatible: list[str], name: str, base: int, size: int) -> MappedRange:
    device_type = node.props["device_type"].to_string() if "device_type" in node.props else ""
    flash = any(c in _FLASH for c in compatible)
    ram = device_type == "memory" or any(c in _RAM for c in compatible)
    source = node.path + (f" ({', '.join(compatible)})" if compatible else "")
    return MappedRange(
        name=name,
        base=base,
        size=size,
        kind=RegionKind.MEMORY if flash or ram else RegionKind.PERIPHERAL,
        writable=not flash,
        executable=flash or ram,
        source=one_line(source),
    )


def _is_partition(node: Node) -> bool:
    """Partitions lie in their flash, and are no memories of their own."""
    parent = node.parent
    return (
        parent is not None
        and "compatible" in parent.props
        and "fixed-partitions" in parent.props["compatible"].to_strings()
    )


def _cells(node: Node, name: str, default: int) -> int:
    return int(node.props[name].to_num()) if name in node.props else default


def _numbers(raw: bytes, *widths: int) -> Iterator[tuple[int, ...]]:
    """Groups of numbers of so many cells each."""
    step = 4 * sum(widths)
    for at in range(0, len(raw) - step + 1, step) if step else ():
        group, start = [], at
        for width in widths:
            group.append(int.from_bytes(raw[start : start + 4 * width], "big"))
            start += 4 * width
        yield tuple(group)


def _extents(node: Node) -> Iterator[tuple[int | None, int]]:
    """(base, size) of each entry of `reg` as the processor sees it; ``None``: it does not."""
    parent = node.parent
    assert parent is not None
    address, size = _cells(parent, "#address-cells", 2), _cells(parent, "#size-cells", 1)
    for base, length in _numbers(node.props["reg"].value, address, size):
        yield _translated(parent, base, length), length


def _translated(bus: Node, base: int, size: int) -> int | None:
    """An address on a bus as one of the root (2.3.8): an empty `ranges` maps one to one, none at
    all nothing."""
    while bus.parent is not None:
        if "ranges" not in bus.props:
            return None
        raw = bus.props["ranges"].value
        if raw:
            widths = (
                _cells(bus, "#address-cells", 2),
                _cells(bus.parent, "#address-cells", 2),
                _cells(bus, "#size-cells", 1),
            )
            for child, above, length in _numbers(raw, *widths):
                if child <= base and base + size <= child + length:
                    base += above - child
                    break
            else:
                return None
        bus = bus.parent
    return base


def _clock(tree: DT) -> int | None:
    """Of the first processor, where it is stated."""
    if not tree.has_node("/cpus"):
        return None
    for node in tree.get_node("/cpus").nodes.values():
        if "clock-frequency" in node.props:
            return int(node.props["clock-frequency"].to_num())
    return None
