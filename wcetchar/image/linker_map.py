"""Reads a linker map of GNU ld (``-Wl,-Map,FILE``) for what a stripped ELF file lacks: names.

The map's part "Linker script and memory map" has output sections at the beginning of a line, each
with its address and size; below it indented by one space the input sections, whose names end in
that of a function or object where each has a section of its own (``-ffunction-sections``,
``-fdata-sections``); and below these global symbols, each behind its address. What is taken from
it are symbols alone: sections and their addresses stand in the ELF file, with which the map has to
agree.

Source: GNU ld manual, "Command-line Options", ``-Map``; ld/ldlang.c, ``print_input_section``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image, Symbol

MAX_BYTES: Final = 256 << 20

_BEGIN: Final = "Linker script and memory map"
_NUMBERS: Final = r"\s+0x(?P<address>[0-9a-f]{1,16})\s+0x(?P<size>[0-9a-f]{1,16})\b"
_OUTPUT: Final = re.compile(rf"(?P<name>[^\s*]\S*){_NUMBERS}")
_INPUT: Final = re.compile(rf" (?P<name>[^\s*]\S*){_NUMBERS}\s+\S")
_NAME: Final = re.compile(r" ?[^\s*(][^\s(]*")
_SYMBOL: Final = re.compile(r" +0x(?P<address>[0-9a-f]{1,16}) +(?P<name>[A-Za-z_][\w.$]*)")
# GCC: functions by how often they run; constants that the linker merges have no names.
_KIND: Final = re.compile(r"(?:unlikely|startup|exit|hot)\.(?=.)")
_MERGED: Final = re.compile(r"(?:.*\.)?(?:str\d+\.\d+|cst\d+)")


def with_linker_map(image: Image, path: str) -> Image:
    """``image``, with symbols that it lacks and that its linker map names.

    Raises:
        InputError: the map cannot be read, is no map of GNU ld, or one of another link.
    """
    where = Location(path)
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise InputError(
                "the linker map is too large", where=where, expected=f"{MAX_BYTES} bytes at most"
            )
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            where=where,
            expected="the linker map of the application",
            hint="link with -Wl,-Map,FILE",
        ) from error
    lines = text.splitlines()
    if _BEGIN not in lines:
        raise InputError(
            "this is no linker map of GNU ld",
            where=where,
            expected=f"a line {_BEGIN!r}",
            hint="link with -Wl,-Map,FILE; maps of other linkers are not read",
        )
    begin = lines.index(_BEGIN) + 1
    outputs: dict[str, tuple[int, int, int]] = {}
    symbols: list[Symbol] = []
    known = {symbol.name for symbol in image.symbols}
    output = ""
    for number, line in _joined(lines, begin):
        if match := _OUTPUT.match(line):
            placed = int(match["address"], 16), int(match["size"], 16), number
            output = match["name"]
            outputs.setdefault(output, placed)
            continue
        for name, address, size in _named(line):
            section = image.section_at(address)
            # What is not loaded, such as debug information, has addresses from 0 on.
            if section is not None and section.name == output and name not in known:
                kind = "function" if section.executable else "object"
                symbols.append(Symbol(name, address, size, kind, section.name, local=size > 0))
    _check(image, outputs, path)
    return replace(image, symbols=(*image.symbols, *_once(symbols)))


def _joined(lines: list[str], begin: int) -> Iterator[tuple[int, str]]:
    """Lines from ``begin`` on with their numbers, from 1; a long name stands on a line of its
    own."""
    name, at = "", 0
    for number, line in enumerate(lines[begin:], begin + 1):
        if name and line.startswith("  "):
            yield at, f"{name} {line}"
            name = ""
        elif _NAME.fullmatch(line):
            name, at = line, number
        else:
            name = ""
            yield number, line


def _named(line: str) -> Iterator[tuple[str, int, int]]:
    """Name, address and size of what a line names; size 0: not told."""
    if match := _INPUT.match(line):
        size = int(match["size"], 16)
        _, _, name = match["name"].removeprefix(".").partition(".")
        name = _KIND.sub("", name, count=1)
        if size and name and not _MERGED.fullmatch(name):
            yield name, int(match["address"], 16), size
    elif match := _SYMBOL.fullmatch(line):
        yield match["name"], int(match["address"], 16), 0


def _once(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Of a global function both its section and its symbol are named: the one with a size."""
    best: dict[tuple[str, int], Symbol] = {}
    for symbol in symbols:
        at = symbol.name, symbol.address
        if at not in best or symbol.size > best[at].size:
            best[at] = symbol
    return sorted(best.values(), key=lambda s: (s.address, s.name))


def _check(image: Image, outputs: dict[str, tuple[int, int, int]], path: str) -> None:
    """The map and the ELF file are of one link."""
    for section in image.sections:
        address, size, number = outputs.get(section.name, (-1, -1, 0))
        if (address, size) == (section.address, section.size):
            continue
        told = f"0x{address:x} with 0x{size:x} bytes" if number else "nowhere"
        raise InputError(
            f"the linker map has section {section.name} at {told}, and {image.path} at "
            f"0x{section.address:x} with 0x{section.size:x} bytes",
            where=Location(path, number or None),
            expected="the map that the linker wrote together with this ELF file",
        )
