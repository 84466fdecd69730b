"""Lines of data that services use, in the characterization file: read, written, refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_store_characterization import FULL, mistakes

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.characterization import (
    Characterization,
    DataFootprint,
    LineBehind,
    SectionInfo,
    UsedLine,
    UsedLines,
)
from wcetchar.model.service import SectionKind
from wcetchar.store import characterization_json, load_characterization

USED = UsedLines(
    (
        UsedLine(16, "heap", 0, 7, 2),
        UsedLine(32, "heap", 0, 3, 1),
        UsedLine(32, "heap", 4, 1, 1),
        UsedLine(32, "heap", 7, 0, 0),
        UsedLine(32, "heap", 9, 5, 2),
        UsedLine(32, "heap", 10, 2, 2),
        UsedLine(32, "stack", 10**12 - 1, 10**18 - 1, 10**18 - 1),
    ),
    (("heap", 2), ("stack", 8)),
    apart=1,
)
TWO = UsedLines(
    (
        UsedLine(16, "heap", 0, 7, 2),
        UsedLine(16, "heap", 64, 9, 1),
        UsedLine(32, "heap", 0, 3, 1),
        UsedLine(32, "heap", 32, 4, 1),
        UsedLine(32, "stack", 32, 3, 1),
    ),
    behind=(
        LineBehind(16, ("heap", 0), ("heap", 64), 10**18 - 1),
        LineBehind(32, ("heap", 0), ("heap", 32), 2),
        LineBehind(32, ("heap", 0), ("stack", 32), 1),
        LineBehind(32, ("heap", 32), ("stack", 32), 0),
        LineBehind(32, ("stack", 32), ("heap", 0), 2),
    ),
)
"""Some lines are loaded behind others."""
LESS = UsedLines((UsedLine(32, "heap", 1, 6, 1),))
BLOCKED = UsedLines((UsedLine(32, "stack", 5, 2, 1),), apart=3)
FOOTPRINTS = (DataFootprint(((1,), (2,)), USED), DataFootprint(((-3,),), LESS))


def with_data(
    data: tuple[DataFootprint, ...] | None, blocked: UsedLines | None
) -> Characterization:
    """Of a service, and of the first of its stretches."""
    service = FULL.services[0]
    first, *others = service.stretches
    service = replace(service, data=data, stretches=(replace(first, data=blocked), *others))
    return replace(
        FULL,
        data_lines=(16, 32),
        sections=(
            SectionInfo("heap", SectionKind.DATA, address=0x20000010),
            SectionInfo("stack", SectionKind.STACK, address=0),
            SectionInfo(".text", SectionKind.CODE),
        ),
        services=(service, *FULL.services[1:]),
    )


@pytest.mark.parametrize("blocked", [None, UsedLines(()), BLOCKED, USED, TWO])
@pytest.mark.parametrize(
    "data",
    [
        None,
        (),
        (DataFootprint((), UsedLines(())),),
        FOOTPRINTS,
        FOOTPRINTS[1:],
        (DataFootprint(((1,),), TWO),),
    ],
)
def test_what_is_used_reads_back(
    data: tuple[DataFootprint, ...] | None, blocked: UsedLines | None, tmp_path: Path
) -> None:
    """What is not known stays apart from what uses nothing."""
    known = with_data(data, blocked)
    text = characterization_json(known)
    path = tmp_path / "c.json"
    path.write_text(text)
    again = load_characterization(str(path))
    assert again == known
    assert characterization_json(again) == text
    service = json.loads(text)["services"][0]
    assert ("data" in service) == (data is not None)
    assert ("data" in service["stretches"][0]) == (blocked is not None)


def test_how_it_is_written() -> None:
    """The first loads are told where they are not the usual one, and nothing that is empty."""
    service = json.loads(characterization_json(with_data(FOOTPRINTS, BLOCKED)))["services"][0]
    assert service["data"] == [
        {
            "points": [[1], [2]],
            "lines": {
                "16": {"heap": "0x7/2"},
                "32": {
                    "heap": "0x3 4x1 7x0 9x5/2 10x2/2",
                    "stack": "999999999999x999999999999999999/999999999999999999",
                },
            },
            "words": {"heap": 2, "stack": 8},
            "apart": 1,
        },
        {"points": [[-3]], "lines": {"32": {"heap": "1x6"}}},
    ]
    assert service["stretches"][0]["data"] == {"lines": {"32": {"stack": "5x2"}}, "apart": 3}


def test_how_loads_behind_other_lines_are_written() -> None:
    (one,) = json.loads(characterization_json(with_data((DataFootprint((), TWO),), None)))[
        "services"
    ][0]["data"]
    assert one["behind"] == {
        "16": {"heap": {"heap": "0:64x999999999999999999"}},
        "32": {
            "heap": {"heap": "0:32x2", "stack": "0:32x1 32:32x0"},
            "stack": {"heap": "32:0x2"},
        },
    }


def test_usual_first_loads_may_be_written(tmp_path: Path) -> None:
    """Which is nothing else, and has one text when it is written again."""
    known = with_data(FOOTPRINTS, BLOCKED)
    text = characterization_json(known)
    path = tmp_path / "c.json"
    path.write_text(_changed(text, '"0x3 4x1 7x0', '"0x3/1 4x1/1 7x0/0'))
    again = load_characterization(str(path))
    assert again == known
    assert characterization_json(again) == text


@pytest.mark.parametrize(
    "used",
    [
        UsedLines((UsedLine(32, "heap", -1, 1, 1),)),
        UsedLines((UsedLine(32, "heap", 1, 1, 2),)),
        UsedLines((UsedLine(32, "heap", 1, 2, 0),)),
        UsedLines((UsedLine(32, "heap", 1, 1, 1), UsedLine(32, "heap", 1, 2, 1))),
        UsedLines((UsedLine(32, "heap", 10**12, 1, 1),)),
        UsedLines((UsedLine(32, "heap", 1, 10**18, 1),)),
        UsedLines((UsedLine(64, "heap", 1, 1, 1),)),
        UsedLines((UsedLine(32, ".text", 1, 1, 1),)),
        UsedLines((), (("heap", 0),)),
        UsedLines((), apart=-1),
        replace(TWO, behind=(LineBehind(32, ("heap", 0), ("heap", 32), -1),)),
        replace(TWO, behind=(LineBehind(32, ("heap", 0), ("heap", 32), 1),) * 2),
        replace(TWO, behind=(LineBehind(64, ("heap", 0), ("heap", 32), 1),)),
        replace(TWO, behind=(LineBehind(16, ("stack", 0), ("heap", 32), 1),)),
        replace(TWO, behind=(LineBehind(16, ("heap", 0), ("stack", 32), 1),)),
        replace(TWO, behind=(LineBehind(16, ("heap", 0), ("heap", 65), 1),)),
        replace(TWO, behind=(LineBehind(16, ("heap", 1), ("heap", 64), 1),)),
    ],
)
def test_what_could_not_be_read_back_is_not_written(used: UsedLines) -> None:
    with pytest.raises((InputError, InputErrors)):
        characterization_json(with_data((DataFootprint(((1,),), used),), None))
    with pytest.raises((InputError, InputErrors)):
        characterization_json(with_data(None, used))


# ---- what is refused -----------------------------------------------------------------------------

HEAP = '"heap": "1x6"'
"""In a service."""
STACK = '"stack": "5x2"'
"""In a stretch."""
WORDS = '"words": {"heap": 2, "stack": 8}'
SIXTEEN = '"16": {"heap": "0x7/2"}'
POINT = "[[-3]]"


def _changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def refused(old: str, new: str, folder: Path) -> list[str]:
    """What is said of a file in which ``new`` stands for ``old``; all of it at the place that ``^``
    marks there."""
    text = _changed(characterization_json(with_data(FOOTPRINTS, BLOCKED)), old, new)
    before, _ = text.split("^")
    path = folder / "c.json"
    path.write_text(text.replace("^", ""))
    found = mistakes(str(path))
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert {place for place, _ in found} == {f"{line}:{column}"}
    return [message for _, message in found]


def line_text(text: str) -> list[tuple[str, str]]:
    """A text of lines, in the service and in the stretch."""
    return [(HEAP, f'"heap": ^"{text}"'), (STACK, f'"stack": ^"{text}"')]


WRONG_LINES = {
    "4x1 3x1": "line 3 stands behind line 4",
    "0x1 3x1 3x2": "line 3 stands behind line 3",
    "3x1 5x2/3": "line 5 is loaded 2 times, 3 of them first",
    "3x0/1": "line 3 is loaded 0 times, 1 of them first",
    "3x2/0": "line 3 is loaded 2 times, 0 of them first",
}


@pytest.mark.parametrize("text", WRONG_LINES)
def test_lines_that_cannot_be(text: str, tmp_path: Path) -> None:
    for old, new in line_text(text):
        assert refused(old, new, tmp_path) == [WRONG_LINES[text]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "3",
        "x1",
        "3x",
        "3x1/",
        "3x1/1/1",
        "3+1",
        "-1x1",
        "03x1",
        "3x-1",
        "3x1.0",
        "3X1",
        " 3x1",
        "3x1 ",
        "3x1  4x1",
        "3x1,4x1",
        "3x1\\n",
        "3x1\\t4x1",
        "٣x1",
        "1000000000000x1",
        "3x1000000000000000000",
        "3x1/1000000000000000000",
    ],
)
def test_a_text_that_says_no_lines(text: str, tmp_path: Path) -> None:
    for old, new in line_text(text):
        (message,) = refused(old, new, tmp_path)
        assert message.endswith("cannot stand here")


PAIR = '"heap": "0:64x999999999999999999"'


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ('"heap": ^"0:64x1 0:64x2"', "0:64 stands behind 0:64"),
        ('"heap": ^"64:0x1 0:64x2"', "0:64 stands behind 64:0"),
        ('"heap": ^"0:64"', "`0:64` cannot stand here"),
        ('"heap": ^"0:64x1000000000000000000"', None),
        ('"heap": ^"0:-64x1"', "line -64 of `heap` is not told"),
        ('"heap": ^"0:64x1,64:0x1"', None),
        ('"heap": ^"0:65x1"', "line 65 of `heap` is not told"),
        ('"heap": ^"7:64x1"', "line 7 of `heap` is not told"),
        ('"stack": ^"0:64x1"', "line 64 of `stack` is not told"),
        ('"heap": ^[]', "a list cannot stand here"),
    ],
)
def test_two_lines_that_cannot_be(new: str, said: str | None, tmp_path: Path) -> None:
    text = characterization_json(with_data((DataFootprint(((1,),), TWO),), None))
    text = _changed(text, PAIR, new)
    before, _ = text.split("^")
    path = tmp_path / "c.json"
    path.write_text(text.replace("^", ""))
    ((place, message),) = mistakes(str(path))
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert place == f"{line}:{column}"
    assert message == said if said else message.endswith("cannot stand here")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (SIXTEEN, '"64": ^{"heap": "0x7/2"}', "lines of `64` bytes are not counted"),
        (f'"32": {{{STACK}}}', f'"64": ^{{{STACK}}}', "lines of `64` bytes are not counted"),
        (HEAP, '".text": ^"1x6"', "the section `.text` has no address"),
        (STACK, '".text": ^"5x2"', "the section `.text` has no address"),
        (HEAP, '"nowhere": ^"1x6"', "the section `nowhere` has no address"),
        (HEAP, '"?": ^"1x6"', "the section `?` has no address"),
        (HEAP, '"heap": ^6', "`6` cannot stand here"),
        (POINT, "[^[]]", "0 values for 1 parameters"),
        (POINT, "[^[3, 4]]", "2 values for 1 parameters"),
        (POINT, "[[3], ^[4, 5]]", "2 values for 1 parameters"),
        (POINT, "[[-3], ^[-3]]", "this point has a footprint"),
        (POINT, "[[3], ^[2]]", "this point has a footprint"),  # in the other footprint
        (POINT, "[[^true]]", "`true` cannot stand here"),
        (POINT, '[[^"3"]]', "`3` cannot stand here"),
        (POINT, "[[^3.0]]", "`3.0` cannot stand here"),
        (POINT, f"[[^{1 << 63}]]", f"`{1 << 63}` cannot stand here"),
        (POINT, "[^3]", "`3` cannot stand here"),
        (POINT, "^{}", "a mapping cannot stand here"),
        ('{"points": [[-3]], "lines"', '^{"lines"', "the key `points` is missing"),
        (WORDS, '"words": {"heap": ^0, "stack": 8}', "`0` cannot stand here"),
        (WORDS, '"words": {"heap": ^-2, "stack": 8}', "`-2` cannot stand here"),
        (WORDS, '"words": {"heap": ^true, "stack": 8}', "`true` cannot stand here"),
        (WORDS, f'"words": {{"heap": ^{1 << 63}}}', f"`{1 << 63}` cannot stand here"),
        (WORDS, '"words": ^[]', "a list cannot stand here"),
        ('"apart": 1', '"apart": ^-1', "`-1` cannot stand here"),
        ('"apart": 3', '"apart": ^"3"', "`3` cannot stand here"),
        ('"apart": 1', '^"aparts": 1', "the key `aparts` is not known here"),
        ('"apart": 3', '^"aparts": 3', "the key `aparts` is not known here"),
        ('"apart": 3', '^"points": [[1]]', "the key `points` is not known here"),  # of a stretch
    ],
)
def test_one_mistake(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert refused(old, new, tmp_path) == [said]


def test_a_size_that_no_line_has(tmp_path: Path) -> None:
    text = characterization_json(with_data(FOOTPRINTS, BLOCKED))
    path = tmp_path / "c.json"
    path.write_text(_changed(text, '"16": {', '"48": {'))
    assert "`48` is not known here" in [message for _, message in mistakes(str(path))]


def test_what_the_sections_and_sizes_of_the_file_lack_is_missed_everywhere(tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads(characterization_json(with_data(FOOTPRINTS, BLOCKED)))
    del document["data_lines"]
    del document["sections"][1]["address"]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document, indent=1))
    messages = sorted(message for _, message in mistakes(str(path)))
    assert messages == [
        "lines of `16` bytes are not counted",
        *["lines of `32` bytes are not counted"] * 3,
        *["the section `stack` has no address"] * 2,
    ]


def test_a_point_of_another_service_is_another_point(tmp_path: Path) -> None:
    known = with_data(FOOTPRINTS, None)
    others = tuple(replace(s, data=(DataFootprint(((),), LESS),)) for s in known.services[1:])
    known = replace(known, services=(known.services[0], *others))
    path = tmp_path / "c.json"
    path.write_text(characterization_json(known))
    assert load_characterization(str(path)) == known


def test_sections_that_are_no_places_are_refused(tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads(characterization_json(with_data(FOOTPRINTS, BLOCKED)))
    path = tmp_path / "c.json"

    def said() -> list[str]:
        path.write_text(json.dumps(document, indent=1))
        return [message for _, message in mistakes(str(path))]

    document["services"][0]["data"][0]["words"] = {"nowhere": 3}
    assert said() == ["the section `nowhere` is not declared"]
    document["services"][0]["data"][0]["words"] = {}
    # One that is either of several does not lie anywhere itself.
    document["sections"][1]["either_of"] = ["heap", ".text"]
    assert "the section `stack` has no address" in said()
    del document["sections"][1]["either_of"]
    document["sections"][2]["name"] = ["x"]
    assert "a list cannot stand here" in said()
