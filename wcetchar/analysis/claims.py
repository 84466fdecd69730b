"""What logical sections claim of an image, by their rules.

Inputs: rules (:class:`LogicalSection`) and an :class:`Image`.
Output: :class:`Claim`, each a range of addresses and the rule that claims it.
Soundness: a symbol that is missing or ambiguous, a linker section that the image lacks, and an
address that two rules of the same rank claim are mistakes, all of which are noted.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image, Section, Symbol
from wcetchar.model.service import LogicalSection


@dataclass(frozen=True)
class Claim:
    """A logical section claims start <= address < end by a rule of some rank (lower wins)."""

    start: int
    end: int
    rank: int
    section: int
    rule: str
    where: Location
    """Place of the rule in the services file."""


SYMBOL: Final = 0
RANGE: Final = 1
LINKER: Final = 2


class Claims:
    """Looks the names of rules up in an image; every one that is not right is noted.

    Args:
        where: place of what stands under some keys, as of ``ServicesFile.where``.
        mistakes: what is noted goes there.
    """

    def __init__(
        self, image: Image, where: Callable[..., Location], mistakes: list[InputError]
    ) -> None:
        self._image = image
        self._where = where
        self._mistakes = mistakes

    def note(self, where: Location, message: str, expected: str, hint: str | None) -> None:
        self._mistakes.append(InputError(message, where=where, expected=expected, hint=hint))

    def symbol(self, name: str, what: str, where: Location) -> Symbol | None:
        """The one symbol of that name; ``None``: a mistake, noted at ``where``."""
        try:
            return self._image.symbol(name)
        except InputError as error:
            known = {s.name for s in self._image.symbols} - {name}
            close = [] if self._image.find(name) else difflib.get_close_matches(name, known, 1)
            self.note(
                where,
                f"{what}: {error.message} ({self._image.path})",
                error.expected or "a symbol of the image",
                f"did you mean {close[0]!r}?" if close else error.hint,
            )
            return None

    def of(self, section: LogicalSection, number: int) -> list[Claim]:
        """What a logical section claims."""
        at = ("sections", section.name)
        found = []
        for i, name in enumerate(section.symbols):
            where = self._where(*at, "symbols", i)
            symbol = self.symbol(name, f"section {section.name!r}", where)
            if symbol is not None and symbol.size == 0:
                self.note(
                    where,
                    f"symbol {name!r} of section {section.name!r} has no size",
                    "an object with a size",
                    "give an address range, or .size in the assembler source",
                )
            elif symbol is not None:
                end = symbol.address + symbol.size
                rule = f"symbol {name}"
                found.append(Claim(symbol.address, end, SYMBOL, number, rule, where))
        for i, span in enumerate(section.ranges):
            where = self._where(*at, "address ranges", i)
            rule = f"range 0x{span.start:08x}"
            found.append(Claim(span.start, span.end, RANGE, number, rule, where))
        for i, name in enumerate(section.linker_sections):
            where = self._where(*at, "linker sections", i)
            present = [s for s in self._image.sections if s.name == name]
            if not present:
                known = list(dict.fromkeys(s.name for s in self._image.sections))
                close = difflib.get_close_matches(name, known, 1)
                self.note(
                    where,
                    f"logical section {section.name!r} names linker section {name!r}, "
                    f"which the image {self._image.path} does not have",
                    "one of " + ", ".join(known),
                    f"did you mean {close[0]!r}?"
                    if close
                    else "objdump -h lists the sections of an image; empty ones are not linked",
                )
            found += _linker_claims(present, number, where)
        for i, name in enumerate(section.optional):
            where = self._where(*at, "optional linker sections", i)
            present = [s for s in self._image.sections if s.name == name]
            found += _linker_claims(present, number, where)
        return found

    def check_overlaps(self, sections: Sequence[LogicalSection], claims: Sequence[Claim]) -> None:
        """No address is claimed by two rules of the same rank. A claim's section is a number of
        ``sections``."""
        for rank in (SYMBOL, RANGE, LINKER):
            ordered = sorted((c for c in claims if c.rank == rank), key=lambda c: (c.start, c.end))
            furthest: Claim | None = None
            for claim in ordered:
                if furthest is not None and claim.start < furthest.end:
                    names = [sections[c.section].name for c in (furthest, claim)]
                    self.note(
                        claim.where,
                        f"logical sections {names[0]!r} ({furthest.rule}, {furthest.where}) and "
                        f"{names[1]!r} ({claim.rule}) both claim 0x{claim.start:08x}",
                        "rules that do not overlap",
                        "leave the address to one of them",
                    )
                if furthest is None or claim.end > furthest.end:
                    furthest = claim


def _linker_claims(present: list[Section], number: int, where: Location) -> list[Claim]:
    return [
        Claim(s.address, s.end, LINKER, number, f"linker section {s.name}", where) for s in present
    ]


def flatten(claims: Sequence[Claim], *, rules_apart: bool = False) -> list[tuple[int, int, Claim]]:
    """Cuts overlapping claims of different rank into disjoint ranges of addresses, in order, each
    with the claim that has it; what meets and is of one section is one range, unless it is by
    several rules and these are to be kept apart."""
    points = sorted({c.start for c in claims} | {c.end for c in claims})
    found: list[tuple[int, int, Claim]] = []
    for low, high in pairwise(points):
        covering = [c for c in claims if c.start <= low and high <= c.end]
        if not covering:
            continue
        best = min(covering, key=lambda c: c.rank)
        start, end, last = found[-1] if found else (low, -1, best)
        alike = last is best if rules_apart else last.section == best.section
        if end == low and alike:
            found[-1] = (start, high, last)
        else:
            found.append((low, high, best))
    return found
