"""Memory map of a CMSIS-SVD file (CMSIS-SVD 1.3.10, Open-CMSIS, and its schema CMSIS-SVD.xsd).

It names peripherals; memories are seldom in it. A peripheral that is derived from another has that
one's address blocks where it has none of its own, and so on; it is no array because that one is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from wcetchar.errors import did_you_mean, few, one_line
from wcetchar.model.hardware import RegionKind
from wcetchar.model.memory_map import LeftOut, MappedRange, MemoryMap, numbered, without_overlaps
from wcetchar.store.source import shown
from wcetchar.store.xml_source import Document, read_xml

MAX_BYTES: Final = 32 << 20
_NUMBER = re.compile(
    r"[+]?(?:(?P<hex>0[xX][0-9a-fA-F]{1,64})|#(?P<bits>[01]{1,64})|(?P<decimal>[0-9]{1,64}))"
    r"(?P<scale>[kmgtKMGT]?)"
)
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})|([A-Z])-([A-Z])")
_LIST = re.compile(r"[_0-9a-zA-Z]+(?:,\s*[_0-9a-zA-Z]+)*")
_MOST: Final = 4096
_SCALE: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_CHECK: Final = "correct the file, or ask its vendor for a newer one"


def load_svd(path: str | os.PathLike[str]) -> MemoryMap:
    """Peripherals with their address blocks, and the width of the bus in bits.

    Raises:
        InputError: the file cannot be read, or is no CMSIS-SVD file: names that are given twice or
            not at all, numbers that are none, arrays that do not come out, what is derived from
            nothing or from itself.
    """
    document = read_xml(
        path, MAX_BYTES, "a CMSIS-SVD file: <device>", {"registers", "vendorExtensions"}
    )
    root = document.root
    if root.tag != "device":
        raise document.error(
            root, f"begins with {shown(root.tag)}", "a CMSIS-SVD file: <device>", _CHECK
        )
    return _Device(document).memory_map()


@dataclass(frozen=True)
class _Peripheral:
    """``singles``: (name, base address) of it, or of each of an array: `UART%s` with `dim`."""

    element: Element
    name: str
    singles: Sequence[tuple[str, int]]


class _Device:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._by_name: dict[str, _Peripheral] = {}
        self._singles: set[str] = set()
        root = document.root
        width = self._number(root, "width", 0)
        self._width = width if width in (8, 16, 32, 64) else None
        # The width of addresses is not said. Buses of 32 bits have addresses of no more.
        self._end = 1 << (32 if self._width and self._width <= 32 else 64)
        if self._number(root, "addressUnitBits", 8) != 8:
            raise document.error(
                next(root.iterfind("addressUnitBits")),
                "an address is not that of a byte",
                "<addressUnitBits>8</addressUnitBits>",
                "write the regions by hand",
            )
        elements = root.findall("peripherals/peripheral")
        if not elements:
            raise document.error(
                root, "has no peripherals", "<peripherals> with a <peripheral>", _CHECK
            )
        self._peripherals = [self._peripheral(element) for element in elements]

    def memory_map(self) -> MemoryMap:
        found: list[MappedRange] = []
        left_out: list[LeftOut] = []
        taken = set(self._singles)
        for one in self._peripherals:
            blocks = self._blocks(one)
            description = " ".join(_text(one.element, "description").split())
            for name, base in one.singles:
                if not blocks:
                    left_out.append(LeftOut(f"{name}: without an address block", ((base, 1),)))
                named = False
                for start, size, usage in self._extents(one, base, blocks):
                    if not size or usage == "reserved":
                        why = "reserved" if size else "an address block of no size"
                        text = f"{name} at {start:#x}: {why}"
                        left_out.append(LeftOut(text, ((start, size or 1),)))
                        continue
                    found.append(
                        MappedRange(
                            name=numbered(name, taken) if named else name,
                            base=start,
                            size=size,
                            kind=RegionKind.PERIPHERAL,
                            writable=True,
                            executable=False,
                            source=one_line(description)[:80] or name,
                        )
                    )
                    named = True
        return MemoryMap(without_overlaps(found, left_out), tuple(left_out), bus_width=self._width)

    def _peripheral(self, element: Element) -> _Peripheral:
        name = one_line(_text(element, "name"))
        if not name:
            raise self._document.error(
                element, "a peripheral has no name", "<name>UART1</name>", _CHECK
            )
        one = _Peripheral(element, name, tuple(self._expanded(element, name)))
        singles = [single for single, _ in one.singles]
        for single in singles:
            if single in self._singles:
                other = self._by_name[single].element
                raise self._document.error(
                    element,
                    f"peripheral {shown(single)} is there twice, also in line "
                    f"{self._document.places[other].line}",
                    "a name of its own for each peripheral",
                    "give one of them another name, or delete it",
                )
            self._singles.add(single)
            self._by_name[single] = one
        self._by_name.setdefault(name, one)
        return one

    def _expanded(self, element: Element, name: str) -> Iterator[tuple[str, int]]:
        base = self._number(element, "baseAddress")
        if element.find("dim") is None:
            if "%s" in name:
                raise self._document.error(
                    element,
                    f"peripheral {shown(name)} is an array of unknown length",
                    "<dim> and <dimIncrement>, or a name without %s",
                    _CHECK,
                )
            yield name, base
            return
        count, step = self._number(element, "dim"), self._number(element, "dimIncrement")
        if not 1 <= count <= _MOST:
            raise self._document.error(
                next(element.iterfind("dim")),
                f"peripheral {shown(name)} is an array of {count}",
                f"1 to {_MOST} elements",
                _CHECK,
            )
        if count > 1 and "%s" not in name:
            raise self._document.error(
                next(element.iterfind("name")),
                f"peripheral {shown(name)} is an array whose elements have one name",
                "a name with %s, in the place of which an index stands",
                _CHECK,
            )
        for number, index in enumerate(self._indexes(element, name, count)):
            yield name.replace("[%s]", index).replace("%s", index), base + number * step

    def _indexes(self, element: Element, name: str, count: int) -> Sequence[str]:
        """What stands for `%s`: a range, a list, or 0 and so on (dimIndexType of the schema)."""
        given = element.find("dimIndex")
        if given is None:
            return [str(number) for number in range(count)]
        text = (given.text or "").strip()
        indexes: Sequence[str] = ()
        if match := _RANGE.fullmatch(text):
            first, last, begin, end = match.groups()
            if begin:
                indexes = [chr(code) for code in range(ord(begin), ord(end) + 1)]
            elif int(last) - int(first) < _MOST:
                indexes = [str(number) for number in range(int(first), int(last) + 1)]
        elif _LIST.fullmatch(text):
            indexes = re.split(r",\s*", text)
        if len(indexes) != count:
            raise self._document.error(
                given,
                f"<dimIndex> {shown(text)} of peripheral {shown(name)} does not name "
                f"{count} elements",
                "a range such as 0-3 or A-D, or a list such as A,B,C, of as many as <dim> says",
                _CHECK,
            )
        return indexes

    def _blocks(self, one: _Peripheral) -> list[Element]:
        """Its own, or those of the nearest that it is derived from that has some."""
        seen = [one]
        while not (blocks := seen[-1].element.findall("addressBlock")):
            origin = seen[-1].element.get("derivedFrom", "").strip()
            if not origin:
                break
            if origin not in self._by_name:
                raise self._document.error(
                    seen[-1].element,
                    f"peripheral {shown(seen[-1].name)} is derived from {shown(origin)}, which is "
                    "not there",
                    f"a peripheral, such as {few(list(self._by_name))}",
                    did_you_mean(origin, self._by_name) or _CHECK,
                )
            if self._by_name[origin] in seen:
                raise self._document.error(
                    one.element,
                    f"peripheral {shown(one.name)} is derived from itself: "
                    f"{few([p.name for p in seen], 6)}",
                    "a peripheral with address blocks at the end",
                    _CHECK,
                )
            seen.append(self._by_name[origin])
        return blocks

    def _extents(
        self, one: _Peripheral, base: int, blocks: Sequence[Element]
    ) -> Iterator[tuple[int, int, str]]:
        """First address, size in bytes and usage of each block."""
        for block in blocks:
            start, size = base + self._number(block, "offset"), self._number(block, "size")
            if start + size > self._end:
                raise self._document.error(
                    block,
                    f"peripheral {shown(one.name)}: {size:#x} bytes from {start:#x} on go past the "
                    "last address",
                    f"an end of {self._end:#x} at most",
                    "check <baseAddress>, <offset> and <size>",
                )
            yield start, size, _text(block, "usage")

    def _number(self, parent: Element, tag: str, default: int | None = None) -> int:
        """scaledNonNegativeInteger of the CMSIS-SVD schema."""
        element = parent.find(tag)
        if element is None:
            if default is not None:
                return default
            raise self._document.error(
                parent,
                f"<{parent.tag}> {shown(_text(parent, 'name'))} has no <{tag}>"
                if parent.find("name") is not None
                else f"<{parent.tag}> has no <{tag}>",
                f"<{tag}> with a number such as 0x400",
                _CHECK,
            )
        text = (element.text or "").strip()
        match = _NUMBER.fullmatch(text)
        if match is None:
            raise self._document.error(
                element,
                f"<{tag}> is {shown(text)}, which is not a number",
                "a number such as 0x40000000, 1024, 4k or #1010",
                _CHECK,
            )
        scale = _SCALE[match["scale"].lower()]
        if match["hex"]:
            return int(match["hex"], 16) * scale
        return int(match["bits"], 2) * scale if match["bits"] else int(match["decimal"]) * scale


def _text(element: Element, name: str) -> str:
    return (element.findtext(name) or "").strip()
