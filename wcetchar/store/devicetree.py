"""Memory map of a devicetree source (Devicetree Specification v0.4).

Read is one whole, preprocessed file, such as `build/zephyr/zephyr.dts` or what `dtc -O dts` prints.

Addresses are translated through the `ranges` of every bus on the way to the root (2.3.8). By the
specification nothing below a bus without `ranges` has an address of the processor; the devicetrees
of Zephyr have most flash below such a controller, and mean the processor's addresses: Zephyr's own
reader (edtlib, `_translate`) ends there and takes the address as it is. So does this one, and says
so, but for what cannot be an address of the processor: numbers of chip-selects (no sizes), parts of
a memory, offsets into the registers of the controller."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from wcetchar.errors import few, one_line
from wcetchar.model.hardware import RegionKind
from wcetchar.model.memory_map import LeftOut, MappedRange, MemoryMap, numbered, without_overlaps
from wcetchar.store.devicetree_source import Devicetree, DTError, Node, Property, Type

_DEEP: Final = 32
_RAM: Final = frozenset({"mmio-sram", "arm,itcm", "arm,dtcm", "zephyr,memory-region", "sram"})
_FLASH: Final = frozenset({"soc-nv-flash", "cfi-flash", "jedec,spi-nor"})
_PARTITIONS: Final = frozenset({"fixed-partitions", "fixed-subpartitions", "fixed-layout"})
_CHOSEN_FLASH: Final = "zephyr,flash"
_CHOSEN: Final = (
    _CHOSEN_FLASH,
    "zephyr,sram",
    "zephyr,itcm",
    "zephyr,dtcm",
    "zephyr,ccm",
    "zephyr,ocm",
    "zephyr,ipc_shm",
)
"""Memories in which Zephyr places sections (Zephyr's Devicetree API, chosen nodes)."""
_NO_NUMBER: Final = (Type.STRING, Type.STRINGS, Type.PATH)


def load_devicetree(path: str | os.PathLike[str]) -> MemoryMap:
    """Memories and enabled peripherals that have addresses of the processor, and its clock in Hz.

    Raises:
        InputError: the file cannot be read, is no preprocessed devicetree source, or has a `reg`,
            `ranges` or number of cells that says no addresses.
    """
    return _Reader(Devicetree(path)).memory_map()


class _Reader:
    def __init__(self, tree: Devicetree) -> None:
        self._tree = tree
        self._chosen = self._chosen_nodes()

    def memory_map(self) -> MemoryMap:
        found: list[MappedRange] = []
        left_out: list[LeftOut] = []
        without: dict[str, Node] = {}
        nodes = [n for n in self._nodes(self._tree.root, 0) if self._is_of_interest(n)]
        taken = {_name(node) for node in nodes}
        named: set[str] = set()
        for node in nodes:
            name = _name(node)
            extents = list(self._extents(node))
            status = self._texts(node, "status") or ["okay"]
            if status[0] not in ("okay", "ok"):
                # Without addresses: it is on the bus of its neighbours, and nobody uses it.
                left_out.append(LeftOut(f"{name}: status {one_line(status[0])}"))
                continue
            for base, size, bus in extents:
                if isinstance(base, str):
                    left_out.append(LeftOut(f"{self._with_role(node, name)}: {base}"))
                    break
                if not size:
                    left_out.append(LeftOut(f"{name} at {base:#x}: of no size", ((base, 1),)))
                    continue
                own = numbered(name, taken) if name in named else name
                named.add(name)
                found.append(self._range(node, own, base, size))
                if bus is not None:
                    without[own] = bus
        ranges = without_overlaps(found, left_out)
        clock = self._clock(left_out)
        return MemoryMap(ranges, tuple(left_out), clock, assumed=_assumed(ranges, without))

    def _nodes(self, node: Node, depth: int) -> Iterator[Node]:
        if depth > _DEEP:
            raise self._tree.error(
                node, f"more than {_DEEP} nodes lie in each other", "fewer", "check the file"
            )
        yield node
        for child in node.nodes.values():
            yield from self._nodes(child, depth + 1)

    def _is_of_interest(self, node: Node) -> bool:
        """Whether it has a `reg` that is not that of a processor or a partition. Partitions lie in
        their flash, and are no memories of their own."""
        parent = node.parent
        if "reg" not in node.props or parent is None or parent.name == "cpus":
            return False
        return all(_PARTITIONS.isdisjoint(self._texts(up, "compatible")) for up in _above(node))

    def _chosen_nodes(self) -> dict[Node, str]:
        """Memories by what they are chosen for: what is chosen for data too is no flash."""
        found: dict[Node, str] = {}
        chosen = self._tree.root.nodes.get("chosen")
        for role in reversed(_CHOSEN):
            if chosen is not None and role in chosen.props:
                prop = chosen.props[role]
                try:
                    found.setdefault(prop.to_path(), role)
                except DTError:
                    raise self._tree.error(
                        prop,
                        f"`{role}` of /chosen names no node",
                        "a label such as &flash0, or a path",
                        "name a node of the tree, or leave the line out",
                    ) from None
        return found

    def _with_role(self, node: Node, name: str) -> str:
        return f"{name} ({self._chosen[node]})" if node in self._chosen else name

    def _is_flash(self, node: Node) -> bool:
        if not _FLASH.isdisjoint(self._texts(node, "compatible")):
            return True
        return self._chosen.get(node) == _CHOSEN_FLASH and not self._is_ram(node)

    def _is_ram(self, node: Node) -> bool:
        if "memory" in self._texts(node, "device_type"):
            return True
        if not _RAM.isdisjoint(self._texts(node, "compatible")):
            return True
        return self._chosen.get(node, _CHOSEN_FLASH) != _CHOSEN_FLASH

    def _is_memory(self, node: Node) -> bool:
        return self._is_flash(node) or self._is_ram(node)

    def _range(self, node: Node, name: str, base: int, size: int) -> MappedRange:
        memory = self._is_memory(node)
        compatible = self._texts(node, "compatible")
        return MappedRange(
            name=name,
            base=base,
            size=size,
            kind=RegionKind.MEMORY if memory else RegionKind.PERIPHERAL,
            writable=not self._is_flash(node),
            executable=memory,
            source=one_line(node.path + (f" ({', '.join(compatible)})" if compatible else "")),
        )

    def _texts(self, node: Node, name: str) -> list[str]:
        if name not in node.props:
            return []
        try:
            return list(node.props[name].to_strings())
        except DTError:
            raise self._tree.error(
                node.props[name],
                f"`{name}` of {node.path} is no text",
                f'text in quotes: {name} = "...";',
                "write it so",
            ) from None

    def _cells(self, node: Node, name: str, default: int) -> int:
        if name not in node.props:
            return default
        prop = node.props[name]
        if prop.type is not Type.NUM:
            raise self._tree.error(
                prop,
                f"`{name}` of {node.path} is no number",
                f"{name} = <{default}>; or another number of cells",
                "write it so",
            )
        return int(prop.to_num())

    def _widths(self, bus: Node) -> tuple[int, int]:
        """Cells of an address and of a size (2.3.5)."""
        return self._cells(bus, "#address-cells", 2), self._cells(bus, "#size-cells", 1)

    def _groups(self, prop: Property, *widths: int) -> Iterator[tuple[int, ...]]:
        """Groups of numbers of so many cells each."""
        raw, step = prop.value, 4 * sum(widths)
        if prop.type in _NO_NUMBER or not step or len(raw) % step:
            raise self._tree.error(
                prop,
                f"`{prop.name}` of {prop.node.path} does not fit its numbers of cells",
                f"groups of {' + '.join(map(str, widths))} cells",
                "compare it with #address-cells and #size-cells of the nodes around it: where they "
                "are not given these are 2 and 1",
            )
        for at in range(0, len(raw), step):
            group, start = [], at
            for width in widths:
                group.append(int.from_bytes(raw[start : start + 4 * width], "big"))
                start += 4 * width
            yield tuple(group)

    def _extents(self, node: Node) -> Iterator[tuple[int | str, int, Node | None]]:
        """Of each entry of `reg`: its base as the processor sees it, or why it does not; its size
        in bytes; the bus without `ranges` that it was taken from as it is."""
        prop = node.props["reg"]
        address, size = self._widths(node.parent)
        if not prop.value:
            raise self._tree.error(
                prop,
                f"`reg` of {node.path} is empty",
                "an address, and a size where #size-cells is not 0",
                "write it, or leave `reg` out",
            )
        for base, length in self._groups(prop, address, size):
            self._check_end(prop, base, length, address)
            place, bus = self._translated(node, base, length)
            if isinstance(place, int):
                self._check_end(prop, place, length, self._widths(self._tree.root)[0])
            yield place, length, bus

    def _check_end(self, prop: Property, base: int, size: int, cells: int) -> None:
        if base + size > 1 << 32 * cells:
            raise self._tree.error(
                prop,
                f"`reg` of {prop.node.path}: {size:#x} bytes from {base:#x} on go past the last "
                "address",
                f"an end of {1 << 32 * cells:#x} at most, since an address has {cells} cells",
                "check base, size and #address-cells",
            )

    def _translated(self, node: Node, base: int, size: int) -> tuple[int | str, Node | None]:
        """An address on a bus as one of the root (2.3.8): an empty `ranges` maps one to one."""
        bus = node.parent
        while bus.parent is not None:
            if "ranges" not in bus.props:
                why = self._not_the_processors(bus, base, size, self._is_memory(node))
                return (why, None) if why else (base, bus)
            if bus.props["ranges"].value:
                address, length = self._widths(bus)
                for child, above, extent in self._groups(
                    bus.props["ranges"], address, self._widths(bus.parent)[0], length
                ):
                    if child <= base and base + size <= child + extent:
                        base += above - child
                        break
                else:
                    return f"outside what `ranges` of {bus.path} maps", None
            bus = bus.parent
        return base, None

    def _not_the_processors(self, bus: Node, base: int, size: int, memory: bool) -> str | None:
        """Why an address below a bus without `ranges` is not to be taken as it is."""
        address, sizes = self._widths(bus)
        if not sizes:
            return f"{bus.path} has no sizes: its addresses are no memory's"
        if address > 2:
            return f"{bus.path} has addresses of {address} cells, which are not the processor's"
        owner = next((up for up in (bus, *_above(bus)) if "reg" in up.props), None)
        if owner is None:
            return None
        if self._is_memory(owner):
            return f"a part of {owner.path}"
        windows = list(self._extents(owner))
        if any(isinstance(start, str) for start, _, _ in windows):
            return f"below {owner.path}, whose own addresses are not the processor's"
        if not memory and any(base + size <= length for _, length, _ in windows):
            return f"{bus.path} has no `ranges`, and this reads as an offset into its registers"
        return None

    def _clock(self, left_out: list[LeftOut]) -> int | None:
        """Of the first processor that states one, of 32 or 64 bits (3.8.1)."""
        cpus = self._tree.root.nodes.get("cpus")
        for node in cpus.nodes.values() if cpus is not None else ():
            if "clock-frequency" not in node.props:
                continue
            prop = node.props["clock-frequency"]
            if prop.type in _NO_NUMBER or len(prop.value) not in (4, 8):
                raise self._tree.error(
                    prop,
                    f"`clock-frequency` of {node.path} is no frequency",
                    "Hz in one cell or two, such as <72000000>",
                    "correct it, or leave it out and give --clock",
                )
            hertz = int.from_bytes(prop.value, "big")
            if not hertz:  # what a boot program is to fill in
                left_out.append(LeftOut(f"clock-frequency of {node.path}: 0 Hz says none"))
            return hertz or None
        return None


def _name(node: Node) -> str:
    return str(node.labels[0] if node.labels else node.name)


def _above(node: Node) -> Iterator[Node]:
    """The parent, its parent and so on."""
    while (node := node.parent) is not None:
        yield node


def _assumed(ranges: tuple[MappedRange, ...], without: dict[str, Node]) -> tuple[str, ...]:
    """What was taken as it is, by the bus that has no `ranges`."""
    names: dict[str, list[str]] = {}
    for one in ranges:
        if one.name in without:
            names.setdefault(without[one.name].path, []).append(one.name)
    return tuple(
        f"{few(found, 6)}: {bus} has no `ranges`, so the address is taken as the processor's, as "
        "Zephyr does"
        for bus, found in names.items()
    )
