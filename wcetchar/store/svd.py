"""Memory map of a CMSIS-SVD file (CMSIS-SVD 1.3.10; the only user of defusedxml).

It names peripherals; memories are seldom in it. A peripheral that is derived from another has that
one's address blocks where it has none of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from wcetchar.errors import InputError, Location, one_line
from wcetchar.model.hardware import RegionKind
from wcetchar.model.memory_map import MappedRange, MemoryMap, without_overlaps
from wcetchar.store.source import read_text, shown

MAX_BYTES: Final = 32 << 20
_NUMBER = re.compile(r"[+]?(?:0[xX][0-9a-fA-F]+|#[01]+|[0-9]+)[kmgtKMGT]?")
_MOST: Final = 4096
_SCALE: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def load_svd(path: str | os.PathLike[str]) -> MemoryMap:
    """Peripherals with their address blocks.

    Raises:
        InputError: the file cannot be read, is no CMSIS-SVD file, or holds a number that is none.
    """
    text = read_text(path, MAX_BYTES)
    where = Location(str(path))
    try:
        root = fromstring(text, forbid_dtd=True)
    except ParseError as error:
        line, column = error.position
        raise InputError(
            f"is no XML: {one_line(str(error))}", where=Location(str(path), line, column + 1)
        ) from None
    except (DefusedXmlException, ValueError) as error:
        raise InputError(
            f"is no XML that is read here: {one_line(str(error))}",
            where=where,
            expected="a file without document type and entities",
        ) from None
    if root.tag != "device":
        raise InputError(
            f"begins with {shown(root.tag)}", where=where, expected="a CMSIS-SVD file: <device>"
        )
    peripherals = {_text(p, "name"): p for p in root.iterfind("peripherals/peripheral")}
    found: list[MappedRange] = []
    left_out: list[str] = []
    for name, peripheral in peripherals.items():
        blocks = list(peripheral.iterfind("addressBlock"))
        origin = peripheral.get("derivedFrom", "")
        if not blocks and origin:
            if origin not in peripherals:
                raise InputError(
                    f"peripheral {shown(name)} is derived from {shown(origin)}, which is not there",
                    where=where,
                )
            blocks = list(peripherals[origin].iterfind("addressBlock"))
        if not blocks:
            left_out.append(f"{one_line(name)}: without an address block")
        source = one_line(" ".join(_text(peripheral, "description").split()))[:80]
        for single, base in _singles(peripheral, name, where):
            for number, block in enumerate(blocks):
                found.append(
                    MappedRange(
                        name=one_line(f"{single}_{number}" if number else single),
                        base=base + _number(_text(block, "offset"), name, where),
                        size=_number(_text(block, "size"), name, where),
                        kind=RegionKind.PERIPHERAL,
                        writable=True,
                        executable=False,
                        source=source or single,
                    )
                )
    width = _text(root, "width")
    return MemoryMap(
        without_overlaps([one for one in found if one.size], left_out),
        tuple(left_out),
        bus_width=int(width) if width in ("8", "16", "32", "64") else None,
    )


def _singles(peripheral: Element, name: str, where: Location) -> Iterator[tuple[str, int]]:
    """(name, base address) of a peripheral, or of each of an array: `UART%s` with `dim`."""
    base = _number(_text(peripheral, "baseAddress"), name, where)
    if not _text(peripheral, "dim"):
        yield name, base
        return
    count = _number(_text(peripheral, "dim"), name, where)
    step = _number(_text(peripheral, "dimIncrement"), name, where)
    if count > _MOST:
        raise InputError(
            f"peripheral {shown(name)} is an array of {count}", where=where, expected="fewer"
        )
    names = [part.strip() for part in _text(peripheral, "dimIndex").split(",") if part.strip()]
    if len(names) != count:
        names = [str(number) for number in range(count)]
    for number, index in enumerate(names):
        yield name.replace("[%s]", index).replace("%s", index), base + number * step


def _text(element: Element, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _number(text: str, name: str, where: Location) -> int:
    """scaledNonNegativeInteger of the CMSIS-SVD schema."""
    if not _NUMBER.fullmatch(text):
        raise InputError(
            f"{shown(text)} of peripheral {shown(name)} is not a number",
            where=where,
            expected="a number such as 0x40000000",
        )
    text, scale = text.lstrip("+"), 1
    if text[-1].lower() in _SCALE and not text.lower().startswith("0x"):
        text, scale = text[:-1], _SCALE[text[-1].lower()]
    if text.startswith("#"):
        return int(text[1:], 2) * scale
    return int(text, 16 if text.lower().startswith("0x") else 10) * scale
