"""Lines of data that services use, in the characterization file.

They are text, since there are many: ``0x3 4x1 7x0 9x5/2`` says that line 0 of a section may have to
be loaded three times where a set of the cache holds one line, line 4 once, line 7 never (it is
stored to alone), line 9 five times; and that of these one is a first load, but for line 9 two, and
none for line 7::

    "data": [
      {
        "points": [[0], [1]],
        "lines": {"32": {"kernel.data": "0x3 4x1 7x0 9x5/2"}},
        "behind": {"32": {"kernel.data": {"heap": "0:130x2 9:11x0"}}},
        "words": {"stack.main": 8},
        "apart": 1
      }
    ]

``behind``: of ``kernel.data``, line 0 is loaded twice where line 130 of ``heap`` was loaded since
its last load, and line 9 never behind line 11.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from wcetchar.errors import InputError
from wcetchar.model.characterization import DataFootprint, UsedLine, UsedLines
from wcetchar.store.checking import Integer, JsonModel, in_place, list_at, mapping_at
from wcetchar.store.fetched_lines import Value, check_points
from wcetchar.store.line_pairs import (
    LineSize,
    PairsBySize,
    line_pairs,
    plain_pairs,
    to_pairs,
)
from wcetchar.store.source import Source, Steps, shown

_LINE = "(?:0|[1-9][0-9]{0,11})x[0-9]{1,18}(?:/[0-9]{1,18})?"
_LINES = f"^{_LINE}( {_LINE})*$"


def _checked(text: str) -> str:
    before = -1
    for number, loads, fresh in _lines(text):
        if number <= before:
            raise InputError(
                f"line {number} stands behind line {before}", expected="each line once, in order"
            )
        if fresh > loads or (loads and not fresh):
            raise InputError(
                f"line {number} is loaded {loads} times, {fresh} of them first",
                expected="at least one first load where there is a load, and no more than loads",
            )
        before = number
    return text


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    for word in text.split(" "):
        number, loads, *fresh = map(int, re.split("[x/]", word))
        yield number, loads, fresh[0] if fresh else min(loads, 1)


Lines = Annotated[str, Field(pattern=_LINES), AfterValidator(in_place(_checked))]
Count = Annotated[Integer, Field(ge=1, le=(1 << 63) - 1)]


class UsedLinesDoc(JsonModel):
    """Data that are used while something is blocked, at any values of the parameters."""

    lines: dict[LineSize, dict[str, Lines]] = Field(
        default_factory=dict,
        description="bytes of a line to section to lines that are used: `3x2` is line 3, loaded "
        "twice where a set holds one line, and once where all have room; `3x5/2` five times, and "
        "twice; `3x0` is stored to alone; lines are counted from the one that the section begins "
        "in",
    )
    behind: PairsBySize = Field(
        default_factory=dict,
        description="bytes of a line to section to section: `3:7x2` is line 3 of the first, "
        "loaded twice where line 7 of the second was loaded since its last load; two that are not "
        "told count as loaded behind each load of the second",
    )
    words: dict[str, Count] = Field(
        default_factory=dict,
        description="section to words that hardware reads by itself, at addresses not known",
    )
    apart: Annotated[Integer, Field(ge=0, le=(1 << 63) - 1)] = Field(
        0, description="places behind which another thread or a handler ran"
    )

    def to_model(self) -> UsedLines:
        return UsedLines(
            tuple(
                sorted(
                    UsedLine(int(size), section, *line)
                    for size, sections in self.lines.items()
                    for section, text in sections.items()
                    for line in _lines(text)
                )
            ),
            tuple(sorted(self.words.items())),
            self.apart,
            to_pairs(self.behind),
        )


class DataFootprintDoc(UsedLinesDoc):
    """Data that are used at some points of the parameters."""

    points: list[list[Value]] = Field(description="values of the parameters, each a point")

    def to_footprint(self) -> DataFootprint:
        return DataFootprint(tuple(tuple(point) for point in self.points), self.to_model())


def plain_data(footprints: Iterable[DataFootprint]) -> list[dict[str, Any]]:
    """The footprints as plain data."""
    return [
        {"points": [list(point) for point in one.points], **plain_used(one.used)}
        for one in footprints
    ]


def plain_used(used: UsedLines) -> dict[str, Any]:
    """The same without points."""
    words: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line in used.lines:
        usual = line.fresh == min(line.loads, 1)
        fresh = "" if usual else f"/{line.fresh}"
        words[line.size][line.section].append(f"{line.number}x{line.loads}{fresh}")
    data: dict[str, Any] = {}
    if words:
        data["lines"] = {
            str(size): {section: " ".join(found) for section, found in sections.items()}
            for size, sections in words.items()
        }
    if used.behind:
        data["behind"] = plain_pairs(used.behind)
    if used.words:
        data["words"] = dict(used.words)
    if used.apart:
        data["apart"] = used.apart
    return data


def check_used_lines(source: Source) -> None:
    """What no schema says: sizes that are not counted, sections without an address, points that
    stand twice or have other parameters."""
    named = {
        s["name"]: s
        for s in list_at(source.data, "sections")
        if isinstance(s, dict) and isinstance(s.get("name"), str)
    }
    # One that is either of several is not placed itself.
    placed = {
        name for name, s in named.items() if s.get("address") is not None and not s.get("either_of")
    }
    sizes = {str(size) for size in list_at(source.data, "data_lines")}
    for index, service in enumerate(list_at(source.data, "services")):
        for number, stretch in enumerate(list_at(service, "stretches")):
            of_stretch: Steps = ("services", index, "stretches", number, "data")
            _check(source, of_stretch, mapping_at(stretch, "data"), sizes, placed, named)
        parameters = len(list_at(service, "parameters"))
        seen: set[tuple[Any, ...]] = set()
        for number, footprint in enumerate(list_at(service, "data")):
            at: Steps = ("services", index, "data", number)
            _check(source, at, footprint, sizes, placed, named)
            check_points(source, at, footprint, parameters, seen)


def _check(
    source: Source,
    at: Steps,
    found: Any,
    sizes: Collection[str],
    placed: Collection[str],
    named: Collection[str],
) -> None:
    for section in mapping_at(found, "words"):
        if section not in named:
            source.report(
                (*at, "words", section),
                f"the section {shown(section)} is not declared",
                expected="a section of `sections`",
            )
    for size, sections in mapping_at(found, "lines").items():
        if size not in sizes:
            source.report(
                (*at, "lines", size),
                f"lines of {shown(size)} bytes are not counted",
                expected="a size of `data_lines`",
            )
        for section in sections if isinstance(sections, dict) else ():
            if section not in placed:
                source.report(
                    (*at, "lines", size, section),
                    f"the section {shown(section)} has no address",
                    expected="an address with each section whose data are used",
                )
    for size, sections in mapping_at(found, "behind").items():
        told = {
            section: {number for number, _, _ in _lines(text)}
            for section, text in mapping_at(found, "lines", size).items()
            if isinstance(text, str) and re.fullmatch(_LINES, text)
        }
        for section, others in sections.items() if isinstance(sections, dict) else ():
            for other, text in others.items() if isinstance(others, dict) else ():
                one = _untold(text, told.get(section, set()), told.get(other, set()))
                if one is not None:
                    of_first, number = one
                    name = section if of_first else other
                    source.report(
                        (*at, "behind", size, section, other),
                        f"line {number} of {shown(name)} is not told",
                        expected=f"lines that stand in `lines` for {size} bytes",
                    )


def _untold(
    text: object, first: Collection[int], second: Collection[int]
) -> tuple[bool, int] | None:
    """The first line of two that is not told, and whether it is that which is loaded again."""
    for again, other in line_pairs(text):
        if again not in first:
            return True, again
        if other not in second:
            return False, other
    return None
