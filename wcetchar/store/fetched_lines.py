"""What caches are priced by, in the characterization file.

A footprint is text, since there are many: ``0+12 40+8`` is bytes 0..11 and 40..47 of a section, and
``3x2 10x5`` says that line 3 is entered twice, line 10 five times. In the same way ``0x3 2x1`` are
three lines in vain that begin to be loaded with a transfer of control, and one two cycles before;
and ``1:33x0`` says that line 1 is never entered where line 33 was since its last entry. Behind the
stalls that a line hides, ``3:12 0:7`` are accesses, by how many instructions before and the number
of their succession in the file; before them ``in vain 2`` says that the line is one in vain::

    "footprints": [
      {
        "points": [[0], [1]],
        "ranges": {".text": "0+12 40+8"},
        "repeated": {"32": {".text": "1x2"}},
        "hidden": {"32": {".text": {"consecutive access + load-use stall; 3:12 0:7": 1}}},
        "in_vain": {"32": {".text": "0x1"}},
        "behind": {"32": {".text": {".text": "1:33x0"}}}
      }
    ]
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from wcetchar.errors import InputError
from wcetchar.model.access import (
    ALONE,
    LINE_ENTRIES,
    OPERAND_STALLS,
    Succession,
)
from wcetchar.model.characterization import (
    CodeRange,
    EnteredLine,
    FetchedLines,
    Footprint,
    HiddenStalls,
    LineAfter,
    LinesInVain,
    StretchCode,
)
from wcetchar.store.checking import Integer, JsonModel, in_place, list_at, mapping_at
from wcetchar.store.line_pairs import LineSize, PairsBySize, plain_pairs, to_pairs
from wcetchar.store.source import Source, Steps, shown

_PLACE, _SIZE, _TIMES = "-?[0-9]{1,12}", r"\+[0-9]{1,12}", "x[0-9]{1,18}"
Ranges = Annotated[str, Field(pattern=f"^{_PLACE}{_SIZE}( {_PLACE}{_SIZE})*$")]
Numbers = Annotated[str, Field(pattern=f"^{_PLACE}( {_PLACE})*$")]
Lines = Annotated[str, Field(pattern=f"^{_PLACE}{_TIMES}( {_PLACE}{_TIMES})*$")]
Value = Annotated[Integer, Field(ge=-((1 << 63) - 1), le=(1 << 63) - 1)]
ENTRY_EVENTS = frozenset(kind.value for pair in LINE_ENTRIES.values() for kind in pair)
_T = TypeVar("_T")
_AND, _THEN = " + ", "; "
_ACCESS = f"[0-{ALONE}]:(0|[1-9][0-9]{{0,11}})"
_ACCESSES = f"{_ACCESS}( {_ACCESS})*"
_STALLS = {kind.value: kind for kind in OPERAND_STALLS}
_IN_VAIN = re.compile("in vain (0|[1-9][0-9]{0,2})")


def _once(text: str) -> str:
    before = [number for number, _ in _pairs(text)]
    if before != sorted(set(before)):
        raise InputError(f"`{text}` is not in order", expected="each number of cycles once")
    return text


_CYCLES, _LINES = "[0-9]{1,3}", "x[1-9][0-9]{0,17}"
InVain = Annotated[
    str,
    Field(pattern=f"^{_CYCLES}{_LINES}( {_CYCLES}{_LINES})*$"),
    AfterValidator(in_place(_once)),
]


def _stalls(text: str) -> str:
    stalls, apart, accesses = text.partition(_THEN)
    if apart and not re.fullmatch(_ACCESSES, accesses):
        raise InputError(
            f"`{accesses}` are no accesses while a line is loaded",
            expected=f"such as `3:12 0:7`: instructions before it, 0 to {ALONE}, and numbers "
            "of successions",
        )
    names = stalls.split(_AND) if stalls else []
    if names and _IN_VAIN.fullmatch(names[0]):
        del names[0]
        if not names and not apart:
            raise InputError(
                f"`{text}` hides nothing", expected="stalls or accesses, or the line in `in_vain`"
            )
    for name in names:
        if name not in _STALLS:
            raise InputError(
                f"`{name}` is no stall of an operand",
                expected="stalls such as `load-use stall`, with ` + `",
            )
    if names != sorted(names):  # the same in another order would be counted beside it
        found = f"`{_AND.join(names)}`"
        raise InputError(f"{found} is not in order", expected=f"`{_AND.join(sorted(names))}`")
    if not text:
        raise InputError("nothing is waited for", expected="stalls, accesses, or no such group")
    return text


StallNames = Annotated[str, AfterValidator(in_place(_stalls))]
RangesBySection = Annotated[
    dict[str, Ranges],
    Field(
        description="logical section to what is fetched of it: `0+12 40+8` is bytes 0..11, 40..47"
    ),
]
Wild = Annotated[
    Value, Field(ge=0, description="transfers of control that may fetch from anywhere")
]


class FootprintDoc(JsonModel):
    """Code that is fetched at some points of the parameters."""

    points: list[list[Value]] = Field(description="values of the parameters, each a point")
    ranges: RangesBySection
    repeated: dict[LineSize, dict[str, Lines]] = Field(
        default_factory=dict,
        description="bytes of a line to section to lines that are entered more than once: `3x2` is "
        "line 3, twice; lines are counted from the one that the section begins in",
    )
    wild: Wild = 0
    hidden: dict[LineSize, dict[str, dict[StallNames, Annotated[Value, Field(ge=1)]]]] = Field(
        default_factory=dict,
        description="bytes of a line to section to what the first instruction of a line and the "
        "one before it wait for (`consecutive access + load-use stall`) to how many such lines; "
        "behind `; `, of the instructions before a line, those that are farther from it first, how "
        "many before it they are, and the number of an access's succession (`3:12 0:7`); 0: "
        "of the line's first instruction, or the first access behind that; 7: it may come before "
        "the line is asked for; 8: a write that is the last access before it, or what the window "
        "accesses first; 9: of an instruction that enters a line itself, the access alone. Behind "
        "`in vain 2` all of that is of lines that are loaded in vain, two cycles before control "
        "is transferred",
    )
    in_vain: dict[LineSize, dict[str, InVain]] = Field(
        default_factory=dict,
        description="bytes of a line to section to lines that are loaded in vain, and with which "
        "nothing else goes on: `2x3` are three, two cycles before control is transferred",
    )
    behind: PairsBySize = Field(
        default_factory=dict,
        description="bytes of a line to section to section: `3:35x2` is line 3 of the first, "
        "entered twice where line 35 of the second was since its last entry; of two that are not "
        "told, each entry of the second may be in between",
    )

    after: dict[LineSize, dict[str, Numbers]] = Field(
        default_factory=dict,
        description="of a stretch, bytes of a line to section to lines that are fetched for what "
        "comes after it alone: `3 17`; counted as in `repeated`",
    )

    def to_model(self, successions: Sequence[Succession]) -> Footprint:
        return Footprint(
            tuple(tuple(point) for point in self.points),
            _code_ranges(self.ranges),
            tuple(
                sorted(
                    EnteredLine(size, section, number, entries)
                    for size, section, text in _flat(self.repeated)
                    for number, entries in _pairs(text)
                )
            ),
            self.wild,
            tuple(
                sorted(
                    (
                        _hidden(size, section, text, lines, successions)
                        for size, section, found in _flat(self.hidden)
                        for text, lines in found.items()
                    ),
                    key=lambda group: group.order,
                )
            ),
            tuple(
                sorted(
                    LinesInVain(size, section, before, lines)
                    for size, section, text in _flat(self.in_vain)
                    for before, lines in _pairs(text)
                )
            ),
            to_pairs(self.behind),
            tuple(
                sorted(
                    LineAfter(size, section, int(number))
                    for size, section, text in _flat(self.after)
                    for number in text.split()
                )
            ),
        )


class MaskedByDoc(JsonModel):
    """The last byte of an instruction."""

    section: str = Field(description="logical section")
    byte: Value = Field(description="bytes behind the section's address")


class StretchCodeDoc(JsonModel):
    """Code that is fetched while something is blocked, at any values of the parameters."""

    ranges: RangesBySection
    wild: Wild = 0
    masked_by: MaskedByDoc | None = Field(
        None,
        description="where the instruction ends that masks interrupts for the stretch, whose line "
        "was loaded before; absent: it need not have been",
    )
    footprints: list[FootprintDoc] = Field(
        default_factory=list, description="of it, what is fetched point by point"
    )

    def to_model(self, successions: Sequence[Succession]) -> StretchCode:
        return StretchCode(
            _code_ranges(self.ranges),
            self.wild,
            None if self.masked_by is None else (self.masked_by.section, self.masked_by.byte),
            tuple(one.to_model(successions) for one in self.footprints),
        )


def _code_ranges(found: Mapping[str, str]) -> tuple[CodeRange, ...]:
    return tuple(
        CodeRange(section, start, start + size)
        for section, text in sorted(found.items())
        for start, size in _pairs(text)
    )


def _flat(found: Mapping[LineSize, Mapping[str, _T]]) -> Iterator[tuple[int, str, _T]]:
    for size, sections in found.items():
        for section, one in sections.items():
            yield int(size), section, one


def _hidden(
    size: int, section: str, text: str, lines: int, successions: Sequence[Succession]
) -> HiddenStalls:
    stalls, _, accesses = text.partition(_THEN)
    names = stalls.split(_AND) if stalls else []
    vain = _IN_VAIN.fullmatch(names[0]) if names else None
    kinds = tuple(sorted(_STALLS[name] for name in names[vain is not None :]))
    found = (word.split(":") for word in accesses.split())
    return HiddenStalls(
        size,
        section,
        kinds,
        lines,
        tuple((int(before), successions[int(number)]) for before, number in found),
        None if vain is None else int(vain[1]),
    )


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    for word in text.split():
        first, second = re.split(r"[+x]", word)
        yield int(first), int(second)


def plain_footprints(
    lines: FetchedLines, number: Callable[[Succession], int]
) -> list[dict[str, Any]]:
    """The footprints as plain data; ``number``: of a succession, in the file."""
    return [_plain(footprint, number) for footprint in lines.footprints]


def plain_code(code: StretchCode, number: Callable[[Succession], int]) -> dict[str, Any]:
    """The code of a stretch as plain data; ``number``: of a succession, in the file."""
    data: dict[str, Any] = {"ranges": _plain_ranges(code.ranges)}
    if code.wild:
        data["wild"] = code.wild
    if code.masked_by is not None:
        section, byte = code.masked_by
        data["masked_by"] = {"section": section, "byte": byte}
    if code.footprints:
        data["footprints"] = [_plain(footprint, number) for footprint in code.footprints]
    return data


def _plain_ranges(found: Iterable[CodeRange]) -> dict[str, str]:
    ranges: dict[str, list[str]] = defaultdict(list)
    for one in found:
        ranges[one.section].append(f"{one.start}+{one.end - one.start}")
    return {section: " ".join(words) for section, words in ranges.items()}


def _plain(footprint: Footprint, number: Callable[[Succession], int]) -> dict[str, Any]:
    repeated = _texts((x.size, x.section, x.number, x.entries) for x in footprint.repeated)
    in_vain = _texts((x.size, x.section, x.before, x.lines) for x in footprint.in_vain)
    data: dict[str, Any] = {
        "points": [list(point) for point in footprint.points],
        "ranges": _plain_ranges(footprint.ranges),
    }
    if repeated:
        data["repeated"] = repeated
    if footprint.wild:
        data["wild"] = footprint.wild
    hidden: dict[str, dict[str, dict[str, int]]] = {}
    for group in footprint.hidden:
        found = hidden.setdefault(str(group.size), {}).setdefault(group.section, {})
        vain = () if group.in_vain is None else (f"in vain {group.in_vain}",)
        text = _AND.join((*vain, *group.stalls))
        if group.accesses:
            text += _THEN + " ".join(f"{before}:{number(key)}" for before, key in group.accesses)
        found[text] = group.lines
    if hidden:
        data["hidden"] = hidden
    if in_vain:
        data["in_vain"] = in_vain
    if footprint.behind:
        data["behind"] = plain_pairs(footprint.behind)
    after: dict[str, dict[str, str]] = {}
    for line in footprint.after:
        found_after = after.setdefault(str(line.size), {})
        found_after[line.section] = f"{found_after.get(line.section, '')} {line.number}".strip()
    if after:
        data["after"] = after
    return data


def _texts(rows: Iterable[tuple[int, str, int, int]]) -> dict[str, dict[str, str]]:
    """Bytes of a line to section to pairs of numbers as text."""
    words: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for size, section, first, second in rows:
        words[size][section].append(f"{first}x{second}")
    return {
        str(size): {section: " ".join(found) for section, found in sections.items()}
        for size, sections in words.items()
    }


def check_lines(source: Source) -> None:
    """What no schema says: events of other tables, points that stand twice or have other
    parameters, sections without an address."""
    placed = {
        s.get("name")
        for s in list_at(source.data, "sections")
        if isinstance(s, dict) and isinstance(s.get("name"), str) and s.get("address") is not None
    }
    for index, service in enumerate(list_at(source.data, "services")):
        parameters = len(list_at(service, "parameters"))
        for number, stretch in enumerate(list_at(service, "stretches")):
            of_stretch: Steps = ("services", index, "stretches", number, "code")
            _check_stretch(source, of_stretch, mapping_at(stretch, "code"), placed, parameters)
        lines = mapping_at(service, "lines")
        if not lines:
            continue
        at: Steps = ("services", index, "lines")
        for steps, section, event in _counted(mapping_at(lines, "entries")):
            if event not in ENTRY_EVENTS:
                source.report(
                    (*at, "entries", *steps),
                    f"{shown(event)} is no line entry",
                    expected="events such as `line entry 32`",
                )
            elif section not in placed:
                source.report(
                    (*at, "entries", *steps),
                    f"the section {shown(section)} has no address",
                    expected="an address with each section that lines are entered in",
                )
        _check_footprints(source, at, lines, placed, parameters)


def _check_stretch(
    source: Source, at: Steps, code: Mapping[str, Any], placed: Collection[Any], parameters: int
) -> None:
    _check_ranges(source, at, code, placed)
    masked_by = mapping_at(code, "masked_by")
    if masked_by and masked_by.get("section") not in placed:
        source.report(
            (*at, "masked_by", "section"),
            f"the section {shown(masked_by.get('section'))} has no address",
            expected="an address with each section that is fetched from",
        )
    _check_footprints(source, at, code, placed, parameters)


def _check_footprints(
    source: Source, at: Steps, found: Any, placed: Collection[Any], parameters: int
) -> None:
    seen: set[tuple[Any, ...]] = set()
    for number, footprint in enumerate(list_at(found, "footprints")):
        here: Steps = (*at, "footprints", number)
        _check_ranges(source, here, footprint, placed)
        _check_accesses(source, here, mapping_at(footprint, "hidden"))
        _check_fetched(source, here, footprint)
        check_points(source, here, footprint, parameters, seen)


def _check_fetched(source: Source, at: Steps, found: Any) -> None:
    """Reports lines of sections that nothing is fetched from."""
    ranges = mapping_at(found, "ranges")
    for key in ("hidden", "in_vain", "behind", "after"):
        for line, sections in mapping_at(found, key).items():
            for section in sections if isinstance(sections, dict) else ():
                others = mapping_at(sections, section) if key == "behind" else ()
                for names in [(section,), *((section, other) for other in others)]:
                    if names[-1] not in ranges:
                        source.report(
                            (*at, key, line, *names),
                            f"nothing is fetched from the section {shown(names[-1])}",
                            expected="a section of `ranges`",
                        )


def _check_accesses(source: Source, at: Steps, hidden: Mapping[str, Any]) -> None:
    """Reports accesses whose succession there is not, or which end a window."""
    declared = list_at(source.data, "successions")
    named = (
        (line, section, text)
        for line in hidden
        for section in mapping_at(hidden, line)
        for text in mapping_at(hidden, line, section)
    )
    for steps in named:
        for number in re.findall(r":([0-9]+)", steps[-1].partition(_THEN)[2]):
            known = int(number) < len(declared) and declared[int(number)]
            if not isinstance(known, dict) or known.get("access") is None:
                source.report(
                    (*at, "hidden", *steps),
                    f"there is no succession {number} with an access",
                    expected=f"a number below {len(declared)}, of one that ends with an access",
                    key=True,
                )


def check_points(
    source: Source, at: Steps, footprint: Any, parameters: int, seen: set[tuple[Any, ...]]
) -> None:
    """Reports points of a footprint without a value for each parameter, and those among ``seen``,
    of which they are from now on."""
    for count, point in enumerate(list_at(footprint, "points")):
        here: Steps = (*at, "points", count)
        if isinstance(point, list) and len(point) != parameters:
            source.report(
                here,
                f"{len(point)} values for {parameters} parameters",
                expected="one value for each parameter",
            )
        elif isinstance(point, list) and tuple(map(str, point)) in seen:
            source.report(here, "this point has a footprint", expected="each point once")
        elif isinstance(point, list):
            seen.add(tuple(map(str, point)))


def _check_ranges(source: Source, at: Steps, found: Any, placed: Collection[Any]) -> None:
    for section in mapping_at(found, "ranges"):
        if section not in placed:
            source.report(
                (*at, "ranges", section),
                f"the section {shown(section)} has no address",
                expected="an address with each section that is fetched from",
            )


def _counted(entries: Mapping[str, Any]) -> Iterator[tuple[Steps, Any, Any]]:
    for key in ("rows", "points"):
        for number, item in enumerate(list_at(entries, key)):
            rows: list[tuple[Steps, Any]] = [((key, number), item)]
            if key == "points":
                found = enumerate(list_at(item, "rows"))
                rows = [((key, number, "rows", n), row) for n, row in found]
            for steps, row in rows:
                for place, count in enumerate(list_at(row, "counts")):
                    if isinstance(count, dict):
                        where = (*steps, "counts", place)
                        yield where, count.get("section"), count.get("event")
