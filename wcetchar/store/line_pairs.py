"""Pairs of lines of a cache that take turns, in the characterization file.

By bytes of a line, section and section; as text, since there are many: ``3:35x2`` is line 3 of the
first section, used twice where line 35 of the second was since its last use::

    "behind": {"32": {".text": {".text": "3:35x2 3:67x0"}}}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from wcetchar.errors import InputError
from wcetchar.model.characterization import LineBehind
from wcetchar.store.checking import in_place

LineSize = Literal["16", "32", "64", "128"]
_LINE: Final = "(?:0|-?[1-9][0-9]{0,11})"
_PAIR: Final = f"{_LINE}:{_LINE}x[0-9]{{1,18}}"
_PAIRS: Final = f"^{_PAIR}( {_PAIR})*$"


def _checked(text: str) -> str:
    before: tuple[int, int] | None = None
    for again, other, _ in _split(text):
        if before is not None and (again, other) <= before:
            raise InputError(
                f"{again}:{other} stands behind {before[0]}:{before[1]}",
                expected="each two lines once, in order",
            )
        before = again, other
    return text


LinePairs = Annotated[str, Field(pattern=_PAIRS), AfterValidator(in_place(_checked))]
PairsBySize = dict[LineSize, dict[str, dict[str, LinePairs]]]


def _split(text: str) -> Iterator[tuple[int, int, int]]:
    for word in text.split(" "):
        again, other, times = map(int, re.split("[:x]", word))
        yield again, other, times


def line_pairs(text: object) -> list[tuple[int, int]]:
    """The lines of a text that may be none; what is wrong with it is reported elsewhere."""
    if not isinstance(text, str) or not re.fullmatch(_PAIRS, text):
        return []
    return [(again, other) for again, other, _ in _split(text)]


def to_pairs(
    found: Mapping[LineSize, Mapping[str, Mapping[str, str]]],
) -> tuple[LineBehind, ...]:
    """In order."""
    return tuple(
        sorted(
            LineBehind(int(size), (section, again), (other, number), times)
            for size, sections in found.items()
            for section, others in sections.items()
            for other, text in others.items()
            for again, number, times in _split(text)
        )
    )


def plain_pairs(pairs: Iterable[LineBehind]) -> dict[str, dict[str, dict[str, str]]]:
    """As plain data."""
    words: dict[str, dict[str, dict[str, list[str]]]] = {}
    for one in pairs:
        of_size = words.setdefault(str(one.size), {}).setdefault(one.again[0], {})
        of_both = of_size.setdefault(one.other[0], [])
        of_both.append(f"{one.again[1]}:{one.other[1]}x{one.times}")
    return {
        size: {
            section: {other: " ".join(found) for other, found in sorted(others.items())}
            for section, others in sections.items()
        }
        for size, sections in words.items()
    }
