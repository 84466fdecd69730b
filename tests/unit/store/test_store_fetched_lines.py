"""Lines of a characterization, caches of a profile and of a map: read, written, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_store_characterization import BEGINS, FULL

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.access import ALONE, OPERAND_STALLS, AccessVector, CoreEvent, EventKind
from wcetchar.model.cache import LINE_BYTES, CacheGeometry
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    CodeRange,
    Counts,
    EnteredLine,
    FetchedLines,
    Footprint,
    HiddenStalls,
    LineAfter,
    LineBehind,
    LinesInVain,
    SectionInfo,
    StretchCode,
    TraceSection,
)
from wcetchar.model.section_map import CacheState
from wcetchar.model.service import SectionKind
from wcetchar.store import characterization_json, load_characterization, load_map, load_profile
from wcetchar.store.access_doc import plain_succession

ENTRY = CoreEvent(".text", EventKind.LINE_ENTRY_32)
USE = EventKind.LOAD_USE_STALL
BEGINS_AS_TEXT = plain_succession(BEGINS)
LINES = FetchedLines(
    Counts((TraceSection(Blocking(), AccessVector({ENTRY: 3})),)),
    (
        Footprint(
            ((1,), (2,)),
            (CodeRange(".text", -4, 8), CodeRange(".text", 40, 44)),
            (EnteredLine(16, ".text", 2, 5), EnteredLine(32, ".text", -1, 2)),
            wild=1,
            hidden=(
                HiddenStalls(32, ".text", (USE,), 2),
                HiddenStalls(32, ".text", (USE, USE), 1),
                HiddenStalls(64, ".text", (), 2, ((7, BEGINS), (0, BEGINS))),
                HiddenStalls(64, ".text", (USE,), 3),
                HiddenStalls(64, ".text", (USE,), 1, ((3, BEGINS),)),
                HiddenStalls(64, ".text", (USE,), 2, in_vain=0),
                HiddenStalls(64, ".text", (USE,), 1, ((9, BEGINS),), in_vain=2),
            ),
            in_vain=(LinesInVain(16, ".text", 0, 4), LinesInVain(16, ".text", 2, 1)),
            behind=(
                LineBehind(32, (".text", -1), (".text", 31), 1),
                LineBehind(32, (".text", 3), (".text", 35), 0),
            ),
        ),
        Footprint(((3,),), (CodeRange(".text", 0, 2),)),
    ),
)


def with_lines(lines: FetchedLines) -> Characterization:
    sections = (FULL.sections[0], SectionInfo(".text", SectionKind.CODE, address=0))
    return replace(
        FULL,
        sections=sections,
        services=(replace(FULL.services[0], lines=lines), *FULL.services[1:]),
    )


def read(text: str, folder: Path) -> Characterization:
    path = folder / "c.json"
    path.write_text(text)
    return load_characterization(str(path))


AFTER = (
    LineAfter(16, ".text", -1),
    LineAfter(16, ".text", 2),
    LineAfter(32, ".text", 1),
)
CODE = StretchCode(
    (CodeRange(".text", -4, 8), CodeRange(".text", 40, 44)),
    wild=2,
    masked_by=(".text", -5),
    footprints=(replace(LINES.footprints[0], after=AFTER), LINES.footprints[1]),
)


def with_code(code: StretchCode) -> Characterization:
    known = with_lines(LINES)
    service = known.services[0]
    first, *others = service.stretches
    service = replace(service, stretches=(replace(first, code=code), *others))
    return replace(known, services=(service, *known.services[1:]))


@pytest.mark.parametrize("code", [CODE, replace(CODE, wild=0), StretchCode(())])
def test_the_code_of_a_stretch_reads_back(code: StretchCode, tmp_path: Path) -> None:
    known = with_code(code)
    text = characterization_json(known)
    assert read(text, tmp_path).services == known.services
    written = json.loads(text)["services"][0]["stretches"][0]["code"]
    assert written["ranges"] == ({".text": "-4+12 40+4"} if code.ranges else {})
    if code.footprints:
        assert written["masked_by"] == {"section": ".text", "byte": -5}
        first, second = written["footprints"]
        assert first["after"] == {"16": {".text": "-1 2"}, "32": {".text": "1"}}
        assert second == {"points": [[3]], "ranges": {".text": "0+2"}}


def footprinted(**more: Any) -> dict[str, Any]:
    """The code of a stretch with one footprint, of which some is otherwise."""
    one = {"points": [[1]], "ranges": {".text": "0+4"}, **more}
    return {"ranges": {".text": "0+4"}, "footprints": [one]}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ({"ranges": {"heap": "0+4"}}, "the section `heap` has no address"),
        ({"ranges": {".text": "0+4"}, "wild": -1}, "greater than or equal to 0"),
        ({"ranges": {".text": "0-4"}}, "match"),
        ({"wild": 1}, "ranges"),
        ({"ranges": {}, "lines": 3}, "lines"),
        ({"ranges": {}, "masked_by": {"section": "heap", "byte": 3}}, "`heap` has no address"),
        ({"ranges": {}, "masked_by": {"section": ".text"}}, "byte"),
        (footprinted(ranges={"heap": "0+4"}), "the section `heap` has no address"),
        (footprinted(points=[[1, 2]]), "2 values for 1 parameters"),
        (footprinted(points=[[1], [1]]), "this point has a footprint"),
        (footprinted(after={"32": {"heap": "3"}}), "nothing is fetched from the section `heap`"),
        (footprinted(after={"32": {".text": "3x1"}}), "match"),
        (footprinted(after={"48": {".text": "3"}}), "48"),
        (footprinted(hidden={"32": {".text": {"; 3:99": 1}}}), "no succession 99"),
        (footprinted(in_vain={"32": {"heap": "0x1"}}), "nothing is fetched from the section"),
    ],
)
def test_code_that_is_none(code: dict[str, Any], said: str, tmp_path: Path) -> None:
    document = json.loads(characterization_json(with_code(CODE)))
    document["services"][0]["stretches"][0]["code"] = code
    with pytest.raises((InputError, InputErrors)) as caught:
        read(json.dumps(document), tmp_path)
    assert said in str(caught.value)


def test_lines_read_back(tmp_path: Path) -> None:
    known = with_lines(LINES)
    text = characterization_json(known)
    assert read(text, tmp_path).services == known.services
    assert read(text, tmp_path).sections == known.sections
    written = json.loads(text)
    (number,) = [n for n, one in enumerate(written["successions"]) if one == BEGINS_AS_TEXT]
    assert written["services"][0]["lines"]["footprints"] == [
        {
            "points": [[1], [2]],
            "ranges": {".text": "-4+12 40+4"},
            "repeated": {"16": {".text": "2x5"}, "32": {".text": "-1x2"}},
            "wild": 1,
            "hidden": {
                "32": {
                    ".text": {"load-use stall": 2, "load-use stall + load-use stall": 1},
                },
                "64": {
                    ".text": {
                        f"; 7:{number} 0:{number}": 2,
                        "load-use stall": 3,
                        f"load-use stall; 3:{number}": 1,
                        "in vain 0 + load-use stall": 2,
                        f"in vain 2 + load-use stall; 9:{number}": 1,
                    }
                },
            },
            "in_vain": {"16": {".text": "0x4 2x1"}},
            "behind": {"32": {".text": {".text": "-1:31x1 3:35x0"}}},
        },
        {"points": [[3]], "ranges": {".text": "0+2"}},
    ]


RANGES = st.lists(
    st.builds(
        lambda a, n: CodeRange(".text", a, a + n), st.integers(-99, 9999), st.integers(1, 99)
    ),
    min_size=1,
    max_size=4,
    unique=True,
).map(tuple)
REPEATED = st.lists(
    st.builds(
        EnteredLine,
        st.sampled_from(LINE_BYTES),
        st.just(".text"),
        st.integers(-9, 999),
        st.integers(2, 2**40),
    ),
    max_size=4,
    unique_by=lambda line: (line.size, line.number),
).map(lambda lines: tuple(sorted(lines)))


HIDDEN = st.dictionaries(
    st.tuples(
        st.sampled_from(LINE_BYTES),
        st.lists(st.sampled_from(sorted(OPERAND_STALLS)), min_size=1, max_size=4)
        .map(sorted)
        .map(tuple),
        st.just(-1) | st.integers(0, 999),
    ),
    st.tuples(st.integers(1, 2**40), st.lists(st.integers(0, ALONE), max_size=3)),
    max_size=4,
).map(
    lambda groups: tuple(
        HiddenStalls(
            size,
            ".text",
            stalls,
            lines,
            tuple((before, BEGINS) for before in far),
            None if in_vain < 0 else in_vain,
        )
        for (size, stalls, in_vain), (lines, far) in sorted(groups.items())
    )
)
IN_VAIN = st.dictionaries(
    st.tuples(st.sampled_from(LINE_BYTES), st.integers(0, 9)), st.integers(1, 2**40), max_size=4
).map(lambda groups: tuple(sorted(LinesInVain(s, ".text", b, n) for (s, b), n in groups.items())))


BEHIND = st.dictionaries(
    st.tuples(st.sampled_from(LINE_BYTES), st.integers(-9, 999), st.integers(-9, 999)),
    st.integers(0, 2**40),
    max_size=4,
).map(
    lambda pairs: tuple(
        sorted(LineBehind(s, (".text", a), (".text", b), n) for (s, a, b), n in pairs.items())
    )
)


@given(RANGES, REPEATED, st.integers(0, 9), HIDDEN, IN_VAIN, BEHIND)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_footprint_reads_back(
    tmp_path: Path,
    ranges: Any,
    repeated: Any,
    wild: int,
    hidden: Any,
    in_vain: Any,
    behind: Any,
) -> None:
    footprint = Footprint(((1,),), ranges, repeated, wild, hidden, in_vain, behind)
    lines = replace(LINES, footprints=(footprint,))
    known = with_lines(lines)
    assert read(characterization_json(known), tmp_path).services == known.services


Change = Callable[[dict[str, Any]], None]


def _lines(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["services"][0]["lines"]
    return found


def _hides(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _lines(document)["footprints"][0]["hidden"]["64"][".text"]
    return found


def _hiding(text: str) -> Change:
    """With such a group of one line."""
    return lambda document: _hides(document).update({text: 1})


def _ending(document: dict[str, Any]) -> int:
    """Number of the first succession at which a window ends."""
    return next(n for n, one in enumerate(document["successions"]) if "access" not in one)


def _behind(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _lines(document)["footprints"][0]["behind"]["32"][".text"]
    return found


WRONG: dict[str, tuple[Change, str]] = {
    "a range without bytes": (
        lambda d: _lines(d)["footprints"][0]["ranges"].update({".text": "4"}),
        "match",
    ),
    "a section without an address": (
        lambda d: d["sections"][1].pop("address"),
        "has no address",
    ),
    "a point twice": (
        lambda d: _lines(d)["footprints"][1].update(points=[[1]]),
        "this point has a footprint",
    ),
    "a point of other parameters": (
        lambda d: _lines(d)["footprints"][1].update(points=[[1, 2]]),
        "2 values for 1 parameters",
    ),
    "another event": (
        lambda d: _lines(d)["entries"]["rows"][0]["counts"][0].update(event="load"),
        "is no line entry",
    ),
    "a size that is none": (
        lambda d: _lines(d)["footprints"][0]["repeated"].update({"48": {".text": "1x2"}}),
        "48",
    ),
    "a stall that is none": (
        lambda d: _lines(d)["footprints"][0]["hidden"]["32"][".text"].update(load=1),
        "`load` is no stall of an operand",
    ),
    "stalls of a fetch": (
        lambda d: _lines(d)["footprints"][0]["hidden"]["32"][".text"].update(
            {"fetch held late": 1}
        ),
        "`fetch held late` is no stall of an operand",
    ),
    "lines in vain that begin after control is transferred": (
        lambda d: _lines(d)["footprints"][0]["in_vain"]["16"].update({".text": "-2x1"}),
        "match",
    ),
    "lines in vain counted twice": (
        lambda d: _lines(d)["footprints"][0]["in_vain"]["16"].update({".text": "2x1 2x1"}),
        "each number of cycles once",
    ),
    "stalls of no line": (
        lambda d: _hides(d).update({"load-use stall": 0}),
        "greater than or equal to 1",
    ),
    "stalls in another order": (
        _hiding("shift-use stall + load-use stall"),
        "expected: `load-use stall + shift-use stall`",
    ),
    "stalls of nothing": (
        _hiding(""),
        "nothing is waited for",
    ),
    "a line in vain with which nothing goes on": (
        _hiding("in vain 2"),
        "`in vain 2` hides nothing",
    ),
    "a line in vain behind what it hides": (
        _hiding("load-use stall + in vain 2"),
        "`in vain 2` is no stall of an operand",
    ),
    "a line in vain without how long before": (
        _hiding("in vain + load-use stall"),
        "`in vain` is no stall of an operand",
    ),
    "an access behind no number": (
        _hiding("load-use stall; 3"),
        "`3` are no accesses while a line is loaded",
    ),
    "an access that is too far off": (
        _hiding("; 10:0"),
        "`10:0` are no accesses while a line is loaded",
    ),
    "an access that there is not": (
        _hiding("; 3:0 1:99"),
        "there is no succession 99 with an access",
    ),
    "an access where the window ends": (
        lambda d: _hides(d).update({f"; 1:{_ending(d)}": 1}),
        "with an access",
    ),
    "lines in vain of a section that is not fetched from": (
        lambda d: _lines(d)["footprints"][0]["in_vain"].update({"32": {".data": "0x1"}}),
        "nothing is fetched from the section",
    ),
    "lines that take turns, told twice": (
        lambda d: _behind(d).update({".text": "3:35x0 3:35x1"}),
        "3:35 stands behind 3:35",
    ),
    "lines that take turns without how often": (
        lambda d: _behind(d).update({".text": "3:35"}),
        "match",
    ),
    "lines that take turns with those of a section that is not fetched from": (
        lambda d: _behind(d).update({".data": "3:35x1"}),
        "nothing is fetched from the section `.data`",
    ),
    "a repetition that is no formula": (
        lambda d: _lines(d)["entries"]["rows"][0].update(repetition="M"),
        "M",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    change, said = WRONG[name]
    document = json.loads(characterization_json(with_lines(LINES)))
    change(document)
    with pytest.raises((InputError, InputErrors)) as caught:
        read(json.dumps(document), tmp_path)
    assert said in str(caught.value)


PROFILE = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  name: core
  clock: 100 MHz
  instruction cache: {line: 32, size: 4 KiB, ways: 1}
regions:
  flash: {kind: memory, bus width: 32, fetch: 1 cycle, line refill: 9..11 cycles}
"""


def profile(folder: Path, text: str) -> Any:
    path = folder / "p.yaml"
    path.write_text(text)
    return load_profile(str(path))


NO_GEOMETRY = [
    ("line: 32", "line: 48", "`48` bytes long"),
    ("ways: 1", "ways: 4", "which line of a set is replaced"),
    ("ways: 1", "ways: 4, replacement: random", "`random` is not known"),
    ("4 KiB", "3 KiB", "power of two"),
]
"""Of caches of either kind: what is replaced by what, and what is said of it."""


def test_a_cache_of_a_profile(tmp_path: Path) -> None:
    found = profile(tmp_path, PROFILE)
    assert not found.core.refills_hide_stalls
    assert found.core.in_vain_saves is None
    more = PROFILE.replace("ways: 1", "ways: 1, hides stalls: true, in vain saves: 1 cycle")
    core = profile(tmp_path, more).core
    assert core.refills_hide_stalls
    assert core.in_vain_saves is not None
    assert (core.in_vain_saves.high, core.in_vain_saves.unit.value) == (1, "cycles")
    assert found.core.instruction_cache == CacheGeometry(32, 128)
    assert found.regions["flash"].line_refill.high == 11
    ways = PROFILE.replace("ways: 1", "ways: 4, replacement: lru")
    assert profile(tmp_path, ways).core.instruction_cache == CacheGeometry(32, 32, 4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        *NO_GEOMETRY,
        ("4 KiB", "16 B", "power of two"),
        (", line refill: 9..11 cycles", "", "no region says"),
        ("  instruction cache: {line: 32, size: 4 KiB, ways: 1}\n", "", "no instruction cache"),
        ("clock: 100 MHz", "clock: 100 MHz\n  events: {line entry 32: 1 cycle}", "no price of"),
    ],
)
def test_caches_that_are_none(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in PROFILE
    with pytest.raises((InputError, InputErrors)) as caught:
        profile(tmp_path, PROFILE.replace(old, new))
    assert said in str(caught.value)


MAP = """\
schema: wcetchar/section-map/1
name: mine
sections: {.text: flash}
addresses: {.text: 0x80000000}
instruction cache: cold
"""


def test_a_cache_of_a_map(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(MAP)
    found = load_map(str(path))
    assert (found.addresses, found.instruction_cache) == ({".text": 1 << 31}, CacheState.COLD)
    path.write_text(MAP.replace("cold", "hot"))
    with pytest.raises(InputError, match="the state `hot` of a cache is not known"):
        load_map(str(path))
    path.write_text(MAP.replace("0x80000000", "-4"))
    with pytest.raises(InputError, match="not an address"):
        load_map(str(path))
