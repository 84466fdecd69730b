"""Where functions begin, and what they are called.

A function begins at a function symbol, and at a global label of assembly code that nothing declares
a function; these are *boundaries*: control that gets there from elsewhere has gone to another
function. Whatever else is called (a local label, code without any symbol) is a function as well,
but it does not cut others that hold it. Where a function ends follows from its flow.

Cold parts that GCC splits off (``f.cold``) are no functions: control goes back and forth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wcetchar.model.image import Symbol
from wcetchar.static.flow.code import Code

_COLD: Final = ".cold"
CASES: Final = {
    "__gnu_thumb1_case_sqi": (1, True),
    "__gnu_thumb1_case_uqi": (1, False),
    "__gnu_thumb1_case_shi": (2, True),
    "__gnu_thumb1_case_uhi": (2, False),
    "__gnu_thumb1_case_si": (4, True),
}
"""Helpers of libgcc (config/arm/lib1funcs.S) for switches in Thumb code of Armv4T and Armv6-M:
bytes of an entry, and whether it has a sign. They are called with an index in r0, and return
through the table that lies behind the call."""


class Functions:
    """Functions of an image.

    Attributes:
        boundaries: addresses.
        ends: where sized function symbols end and nothing else begins.
        helpers: of ``CASES``, by address.
        handlers: functions that a vector table of M-profile names, reset excluded.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        image = code.image
        names: dict[int, Symbol] = {}
        covered: list[Symbol] = []
        for symbol in sorted(image.symbols, key=_rank):
            if symbol.kind == "function" and symbol.size:
                covered.append(symbol)
            if symbol.address not in code.at or not _begins(symbol):
                continue
            names.setdefault(symbol.address, symbol)
        self.boundaries: frozenset[int] = frozenset(names)
        self._symbols = names
        starts = {symbol.address for symbol in covered}
        self.ends = frozenset(s.address + s.size for s in covered) - starts - self.boundaries
        counts: dict[str, int] = {}
        for symbol in names.values():
            counts[symbol.name] = counts.get(symbol.name, 0) + 1
        self._counts = counts
        self.helpers: Mapping[int, tuple[int, bool]] = {
            symbol.address: CASES[symbol.name]
            for symbol in image.symbols
            if symbol.name in CASES and symbol.kind != "object"
        }
        self.handlers = frozenset() if code.riscv or code.interworks else _handlers(code)

    def name(self, address: int) -> str:
        """The name of the function that begins at an address; unique."""
        symbol = self._symbols.get(address)
        if symbol is not None:
            many = self._counts[symbol.name] > 1
            return f"{symbol.name}@{address:#x}" if many else symbol.name
        around = self._code.image.label_at(address)
        if around is None or around.address == address:
            local = [s for s in self._code.image.symbols if s.address == address and s.name]
            if local:
                return f"{min(s.name for s in local)}@{address:#x}"
            return f"{address:#x}"
        return f"{self.name(around.address)}+{address - around.address:#x}"

    def range_of(self, address: int) -> range:
        """Addresses of the sized function symbol that an address lies in; empty: of none."""
        symbol = self._code.image.function_at(address)
        if symbol is None or not symbol.size:
            return range(0)
        return range(symbol.address, symbol.address + symbol.size)


def _rank(symbol: Symbol) -> tuple[int, bool, bool, bool, str]:
    """Functions before labels, global before local, strong before weak: the first name counts."""
    return symbol.address, symbol.kind != "function", symbol.local, symbol.weak, symbol.name


def _begins(symbol: Symbol) -> bool:
    if symbol.kind == "function":
        return not _is_cold(symbol.name)
    return symbol.kind == "other" and not symbol.local and symbol.section is not None


def _is_cold(name: str) -> bool:
    head, found, rest = name.rpartition(_COLD)
    return bool(found and head) and rest.lstrip(".").isdigit() | (not rest)


def _handlers(code: Code) -> frozenset[int]:
    """Handlers that the vector table names (DDI 0403E, B1.5.3): its second word is the address of
    the reset handler, which is where the image begins; those behind are handlers."""
    image = code.image
    found = set[int]()
    for section in image.sections:
        if section.writable or len(section.data) < 8:
            continue
        words = memoryview(section.data[: len(section.data) & ~3]).cast("I")
        if words[1] != image.entry | 1:
            continue
        for word in words[2:]:
            if word and (not word & 1 or word & ~1 not in code.at):
                break
            if word:
                found.add(word & ~1)
    return frozenset(found)
