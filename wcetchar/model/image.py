"""A firmware image: sections, symbols, source lines and code ranges, without its file format."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from wcetchar.errors import InputError, Location


@dataclass(frozen=True)
class Section:
    """A section that occupies memory at run time (ELF: SHF_ALLOC). ``data`` is empty for zero
    initialised ones."""

    name: str
    address: int
    size: int
    writable: bool
    executable: bool
    data: bytes = field(repr=False)
    alignment: int = 1

    @property
    def end(self) -> int:
        return self.address + self.size

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.end


@dataclass(frozen=True)
class Symbol:
    """A function or object. ``address`` has the Thumb bit removed. ``size`` 0: not stated."""

    name: str
    address: int
    size: int
    kind: str
    """``function``, ``object`` or ``other``."""
    section: str | None
    local: bool
    weak: bool = False

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.address + self.size


@dataclass(frozen=True)
class SourceLine:
    """The line table says: from this address on, this file and line."""

    address: int
    file: str
    line: int


@dataclass(frozen=True)
class InlinedCall:
    """Addresses start..end hold a function that was inlined where ``file`` calls it in ``line``
    (0: not known). ``depth`` is 1 for a call by the function that has the addresses, 2 for one by a
    function that was inlined itself, and so on. ``name`` is the inlined function's in the source;
    empty: not known."""

    start: int
    end: int
    depth: int
    file: str
    line: int
    name: str = ""


@dataclass(frozen=True)
class CodeRange:
    """Addresses that hold instructions (ELF for Arm: between mapping symbols $t or $a and the
    next). ``state`` is ``thumb``, ``arm`` or ``riscv``."""

    start: int
    end: int
    state: str


@dataclass(frozen=True)
class Image:
    """Everything that later floors need to know about an executable.

    Attributes:
        machine: ``arm`` or ``riscv``.
        architecture: as the file states it, e.g. ``armv7-m``, ``armv6s-m``, with floating point
            ``armv7e-m+fp``; ``""`` if it does not.
        sha256: of the loadable contents (addresses and bytes of every loaded segment, in order).
        build_id: GNU build-id in hex, where there is one.
        inlined: what the debug information says of inlined calls, in any order.
        bits: 32 or 64.
    """

    path: str
    machine: str
    architecture: str
    bits: int
    entry: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    code: tuple[CodeRange, ...]
    lines: tuple[SourceLine, ...] = field(repr=False)
    sha256: str
    build_id: str | None = None
    inlined: tuple[InlinedCall, ...] = field(default=(), repr=False)

    @cached_property
    def _by_name(self) -> dict[str, list[Symbol]]:
        found: dict[str, list[Symbol]] = {}
        for symbol in self.symbols:
            found.setdefault(symbol.name, []).append(symbol)
        return found

    def find(self, name: str) -> tuple[Symbol, ...]:
        """All symbols of that name (several only when some are local)."""
        return tuple(self._by_name.get(name, ()))

    def symbol(self, name: str) -> Symbol:
        """The one symbol of that name.

        Raises:
            InputError: the image is stripped, has no such symbol, or several at different
                addresses.
        """
        where = Location(self.path)
        if not self.symbols:
            raise InputError(
                f"symbol {name!r} was looked for, but the image has no symbols",
                where=where,
                expected="an executable with its symbol table",
                hint="link without -s and do not strip the file",
            )
        found = self.find(name)
        if not found:
            raise InputError(
                f"there is no symbol {name!r}",
                where=where,
                expected="a function or object of that name",
                hint="look at the image's symbols; a static function may have been inlined",
            )
        if len({symbol.address for symbol in found}) > 1:
            places = ", ".join(f"0x{symbol.address:08x}" for symbol in found)
            raise InputError(
                f"symbol {name!r} is ambiguous: it stands at {places}",
                where=where,
                expected="one symbol of that name",
                hint="name another symbol, or rename one of the static functions",
            )
        return found[0]

    @cached_property
    def _section_starts(self) -> tuple[list[int], list[Section]]:
        ordered = sorted((s for s in self.sections if s.size), key=lambda s: s.address)
        return [s.address for s in ordered], ordered

    def section_at(self, address: int) -> Section | None:
        starts, ordered = self._section_starts
        i = bisect_right(starts, address) - 1
        return ordered[i] if i >= 0 and address in ordered[i] else None

    @cached_property
    def _functions(self) -> tuple[list[int], list[Symbol]]:
        ordered = sorted(
            (s for s in self.symbols if s.kind == "function"),
            key=lambda s: (s.address, s.local, s.weak, s.name),
        )
        unique = [s for i, s in enumerate(ordered) if i == 0 or s.address != ordered[i - 1].address]
        return [s.address for s in unique], unique

    def function_at(self, address: int) -> Symbol | None:
        """The function that an address lies in; one without a stated size reaches to the next."""
        starts, functions = self._functions
        i = bisect_right(starts, address) - 1
        if i < 0:
            return None
        symbol = functions[i]
        return symbol if symbol.size == 0 or address in symbol else None

    def label_at(self, address: int) -> Symbol | None:
        """The function that an address lies in, or the label before it in the same section:
        assembly code that nothing declares a function. Good enough to name a place for people."""
        function = self.function_at(address)
        section = self.section_at(address)
        if function is not None or section is None or not section.executable:
            return function
        starts, labels = self._labels
        i = bisect_right(starts, address) - 1
        if i < 0 or labels[i].kind == "function" or labels[i].address not in section:
            return None
        return labels[i]

    @cached_property
    def _labels(self) -> tuple[list[int], list[Symbol]]:
        ordered = sorted(
            (s for s in self.symbols if s.kind in ("function", "other") and not s.local),
            key=lambda s: (s.address, s.kind, s.weak, s.name),
        )
        return [s.address for s in ordered], ordered

    @cached_property
    def _line_starts(self) -> list[int]:
        return [line.address for line in self.lines]

    def line_at(self, address: int) -> SourceLine | None:
        """The line table's entry for an address; entries are sorted by address, and one with
        line 0 ends a sequence."""
        i = bisect_right(self._line_starts, address) - 1
        return self.lines[i] if i >= 0 and self.lines[i].line > 0 else None

    @cached_property
    def _inlined(self) -> tuple[list[int], list[tuple[InlinedCall, ...]]]:
        """Addresses from which on other calls hold than before, and these calls."""
        changes: dict[int, tuple[list[InlinedCall], list[InlinedCall]]] = {}
        for call in self.inlined:
            changes.setdefault(call.start, ([], []))[0].append(call)
            changes.setdefault(call.end, ([], []))[1].append(call)
        starts, held, now = sorted(changes), [], list[InlinedCall]()
        for address in starts:
            begin, end = changes[address]
            now = sorted([c for c in now if c not in end] + begin, key=lambda c: -c.depth)
            held.append(tuple(now))
        return starts, held

    def inlined_at(self, address: int) -> tuple[InlinedCall, ...]:
        """Inlined calls that an address is inside of, the innermost first."""
        starts, held = self._inlined
        i = bisect_right(starts, address) - 1
        return held[i] if i >= 0 else ()

    def read(self, address: int, size: int) -> bytes:
        """Initialised contents at an address.

        Raises:
            InputError: the range is not inside one section's stored contents.
        """
        section = self.section_at(address)
        if section is not None:
            offset = address - section.address
            data = section.data[offset : offset + size]
            if len(data) == size:
                return data
        raise InputError(
            f"0x{address:08x}..0x{address + size:08x} has no stored contents",
            where=Location(self.path),
            expected="an address inside a loaded section",
        )
