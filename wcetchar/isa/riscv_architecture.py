"""Which RISC-V extensions an image uses, from the architecture string of its attributes.

Source: RISC-V ELF psABI, "Attributes", Tag_RISCV_arch; The RISC-V Instruction Set Manual, Volume I,
chapter 27 "ISA Extension Naming Conventions": ``rv32``, a base letter, single letters, then names
of several letters divided by underscores, each with a version such as ``2p1``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

CONTAINS: Final = {
    # The privileged architecture, without which there are no interrupts, requires Zicsr (Volume II,
    # chapter 2), and not every compiler names it.
    "i": frozenset({"i", "zicsr"}),
    "m": frozenset({"m", "zmmul"}),
    "a": frozenset({"zaamo", "zalrsc"}),
    "c": frozenset({"zca"}),
    "zmmul": frozenset({"zmmul"}),
    "zaamo": frozenset({"zaamo"}),
    "zalrsc": frozenset({"zalrsc"}),
    "zca": frozenset({"zca"}),
    "zicsr": frozenset({"zicsr"}),
    "zifencei": frozenset({"zifencei"}),
    # The counters and timers are registers, which Zicsr reaches.
    "zicntr": frozenset({"zicsr"}),
    "zihpm": frozenset({"zicsr"}),
}
"""Extensions that are decoded, and the smallest ones that they consist of (those of the tables)."""

SUPPORTED: Final = "rv32i with any of m, a, c, zicsr, zifencei"

_REFUSED: Final = {
    "e": "the base with 16 registers (RV32E)",
    "f": "the floating-point extension F",
    "d": "the floating-point extension D",
    "q": "the floating-point extension Q",
    "v": "the vector extension V",
    "g": "the floating-point extensions F and D, which G contains",
    "h": "the hypervisor extension H",
}

_SINGLE: Final = re.compile(r"([a-wy])(?:([0-9]+)(?:p([0-9]+))?)?")
_NAMED: Final = re.compile(r"([zsx][a-z0-9]+?)(?:([0-9]+)p([0-9]+))?")


class Refused(ValueError):
    """An architecture that is not decoded; the text says why."""


def extensions_of(architecture: str) -> frozenset[str]:
    """The smallest extensions that an architecture string consists of.

    Raises:
        Refused: another width than 32 bits, an extension without rows, or a string that is not
            one of the naming conventions.
    """
    text = architecture.lower()
    if not text.startswith("rv32"):
        wide = re.match(r"rv(64|128)", text)
        raise Refused(
            f"it is for {wide[1]}-bit registers (RV{wide[1]}), which is not supported"
            if wide
            else f"{architecture!r} is no architecture string of RISC-V"
        )
    found: set[str] = set()
    for name, version in _names(architecture, text.removeprefix("rv32")):
        if name not in CONTAINS:
            what = _REFUSED.get(name, f"the extension {name.capitalize()}")
            raise Refused(f"it uses {what}; that is not supported")
        if not found and name != "i":
            raise Refused(f"{architecture!r} names no base")
        found |= CONTAINS[name]
        if name == "i" and version is not None and version <= (2, 0):
            # Up to version 2.0, the base had fence.i itself (Volume I, preface).
            found |= CONTAINS["zifencei"]
    if not found:
        raise Refused(f"{architecture!r} names no base")
    return frozenset(found)


def _names(architecture: str, text: str) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Each extension with its version; ``None``: not stated."""
    for part in text.split("_"):
        match = _NAMED.fullmatch(part)
        if match is not None:
            yield match[1], (int(match[2]), int(match[3])) if match[2] else None
            continue
        position = 0
        while position < len(part):
            match = _SINGLE.match(part, position)
            if match is None:
                raise Refused(f"{architecture!r} is not understood from {part[position:]!r} on")
            yield match[1], (int(match[2]), int(match[3] or 0)) if match[2] else None
            position = match.end()
