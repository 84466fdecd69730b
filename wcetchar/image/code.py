"""Which addresses hold instructions and which hold data, from mapping symbols.

ELF for the Arm Architecture (IHI 0044), 4.5.5: ``$t`` Thumb, ``$a`` Arm, ``$d`` data, each also
with a suffix ``.anything``; valid from its address to the next mapping symbol of its section.
RISC-V ELF psABI: ``$x`` code (an ISA string may follow), ``$d`` data.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from wcetchar.model.image import CodeRange, Section

_STATES = {
    "arm": {"$t": "thumb", "$a": "arm", "$d": None},
    "riscv": {"$x": "riscv", "$d": None},
}


def code_ranges(
    sections: tuple[Section, ...],
    raw_symbols: list[Any],
    machine: str,
    executable: Container[int],
) -> tuple[CodeRange, ...]:
    """Code ranges of all executable sections, sorted by address.

    Args:
        raw_symbols: pyelftools' symbols, mapping symbols included.
        executable: numbers of those sections in the file. Others have mapping symbols too
            (assemblers write ``$d`` into .debug_frame), whose values are no addresses.
    """
    states = _STATES[machine]
    marks: dict[int, str | None] = {}
    for symbol in raw_symbols:
        name = symbol.name
        if name[:2] not in states or symbol["st_shndx"] not in executable:
            continue
        if len(name) > 2 and name[2] != "." and not name.startswith("$xrv"):
            continue
        marks[symbol["st_value"]] = states[name[:2]]
    ranges: list[CodeRange] = []
    ordered = sorted(marks)
    for section in sections:
        if not section.executable:
            continue
        first = len(ranges)  # ranges of two sections stay apart even where they touch
        inside = [a for a in ordered if section.address <= a < section.end]
        if machine == "riscv" and not inside:
            # older assemblers write no mapping symbols for pure code
            ranges.append(CodeRange(section.address, section.end, "riscv"))
        if not inside:
            continue
        for start, end in zip(inside, [*inside[1:], section.end], strict=True):
            state = marks[start]
            if state is None or start == end:
                continue
            if len(ranges) > first and ranges[-1].end == start and ranges[-1].state == state:
                ranges[-1] = CodeRange(ranges[-1].start, end, state)
            else:
                ranges.append(CodeRange(start, end, state))
    return tuple(ranges)
