"""Sections that are either of others, in services files and characterizations: what is read and
what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_store_characterization import FULL, plain
from test_store_characterization import mistakes as characterization_mistakes
from test_store_services import mistakes

from wcetchar.errors import InputError
from wcetchar.model.characterization import SectionInfo
from wcetchar.model.service import LogicalSection, SectionKind
from wcetchar.store import characterization_json, load_characterization, load_services

GOOD = """\
schema: wcetchar/services/1
kernel: {name: FreeRTOS, version: 11.20}
marks: {symbol: wcet_mark, values: 64}
sections:
  .text: {kind: code, linker sections: [.text]}
  lists: {kind: data, either of: [heap, data, seven], meaning: neighbours}
  heap: {kind: data, symbols: [ucHeap]}
  data: {kind: data, optional linker sections: [.data]}
  seven: {kind: data, symbols: [seven]}
  eight: {kind: data, symbols: [eight]}
  rest: {kind: data, symbols: [more]}
  stack: {kind: stack, linker sections: [.stack]}
hardware: {vector section: .text, main stack: stack, task stack: stack}
services:
  tick: {mark: 2, kind: handler, entries: [SysTick_Handler]}
"""
EITHER = "either of: [heap, data, seven]"
REST = "symbols: [more]"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.yaml"


def test_a_section_that_is_either_of_others(path: Path) -> None:
    path.write_text(GOOD)
    found = {section.name: section for section in load_services(str(path)).sections}
    assert found["lists"] == LogicalSection(
        "lists", SectionKind.DATA, meaning="neighbours", either_of=("heap", "data", "seven")
    )
    assert [name for name in found if found[name].either_of] == ["lists"]


def test_its_parts_may_stand_in_another_file(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "board.yaml"
    lines = GOOD.splitlines(keepends=True)
    path.write_text("".join([*lines[:5], *lines[6:]]))
    other.write_text(f"schema: wcetchar/services/1\nsections:\n{lines[5]}")
    found = load_services(str(path), str(other)).sections
    assert found[-1].either_of == ("heap", "data", "seven")


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        (EITHER, "either of: [heap]", "6:23", "there is one alone"),
        (EITHER, "either of: []", "6:10", "nothing belongs to the logical section `lists`"),
        (EITHER, "either of: heap", "6:34", "`heap` cannot stand here"),
        *(
            (EITHER, f"{EITHER}, {rule}", "6:55", "`lists` is either of others")
            for rule in (
                "symbols: [more]",
                "linker sections: [.more]",
                "optional linker sections: [.more]",
                "address ranges: [{base: 0x1000, size: 4 KiB}]",
            )
        ),
        *(
            ("lists: {kind: data", f"lists: {{kind: {kind}", "6:17", "`lists` is either of others")
            for kind in ("code", "stack", "peripheral")
        ),
        (EITHER, "either of: [heap, dat]", "6:41", "`dat` is no section of data"),
        (EITHER, "either of: [heap, .text]", "6:41", "`.text` is no section of data"),
        (EITHER, "either of: [stack, heap]", "6:35", "`stack` is no section of data"),
        (EITHER, "either of: [heap, lists]", "6:41", "`lists` is no section of data"),
        (EITHER, "either of: [heap, [data]]", "6:41", "a list cannot stand here"),
        (EITHER, "either of: [heap, heap]", "6:41", "`heap` is listed twice"),
        (REST, "either of: [eight, heap]", "11:41", "`heap` is listed twice; it first stands at"),
        (REST, "either of: [lists, eight]", "11:34", "`lists` is no section of data with rules of"),
        ("task stack: stack", "task stack: lists", "6:10", "the hardware itself touches"),
        ("main stack: stack", "main stack: lists", "6:10", "the hardware itself touches"),
        ("vector section: .text", "vector section: lists", "6:10", "the hardware itself touches"),
    ],
)
def test_one_mistake_is_found_in_place(
    path: Path, old: str, new: str, place: str, message: str
) -> None:
    assert GOOD.count(old) == 1
    path.write_text(GOOD.replace(old, new))
    found = mistakes(str(path))
    assert any(at == place and message in text for at, text in found), found


def test_where_it_first_stands(path: Path) -> None:
    path.write_text(GOOD.replace(REST, "either of: [data, seven]"))
    found = mistakes(str(path))
    assert [at for at, _ in found] == ["11:34", "11:40"]
    assert [text.partition("; ")[2] for _, text in found] == [
        f"it first stands at {path}:6:41",
        f"it first stands at {path}:6:47",
    ]


JOINT = replace(
    FULL,
    sections=(
        SectionInfo("lists", SectionKind.DATA, "m", either_of=("heap", ".text")),
        *FULL.sections,
    ),
)


def test_a_characterization_with_one(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    text = characterization_json(JOINT)
    path.write_text(text)
    found = load_characterization(str(path))
    assert found == JOINT
    assert found.joint == {"lists": ("heap", ".text")}
    assert characterization_json(found) == text
    assert json.loads(text)["sections"] == [
        {"name": "lists", "kind": "data", "meaning": "m", "either_of": ["heap", ".text"]},
        *plain()["sections"],
    ]
    assert "either_of" not in characterization_json(FULL)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ('"heep"', "`heep` is no section that is placed"),
        ('"lists"', "`lists` is no section that is placed"),
        ('"joint"', "`joint` is no section that is placed"),
        ('"?"', "`?` is no section that is placed"),
        ("1", "`1` cannot stand here"),
        ('["heap"]', "a list cannot stand here"),
        ("{}", "a mapping cannot stand here"),
    ],
)
def test_a_part_that_a_characterization_cannot_have(
    tmp_path: Path, part: str, message: str
) -> None:
    other = SectionInfo("joint", SectionKind.DATA, either_of=("heap", ".text"))
    text = characterization_json(replace(JOINT, sections=(*JOINT.sections, other)))
    before, _, behind = text.partition('["heap", ".text"]')
    path = tmp_path / "c.json"
    path.write_text(f'{before}["heap", {part}]{behind}')
    line, column = before.count("\n") + 1, len(before.splitlines()[-1]) + len('["heap", ') + 1
    assert (f"{line}:{column}", message) in characterization_mistakes(str(path))


def test_one_that_could_not_be_read_back_is_not_written() -> None:
    with pytest.raises(InputError, match="`heap` is no section that is placed"):
        characterization_json(replace(JOINT, sections=JOINT.sections[:1] + JOINT.sections[2:]))


def test_what_is_no_name_of_an_event_is_a_mistake_beside_line_loads(tmp_path: Path) -> None:
    document = plain()
    document["data_lines"] = [32]
    row = document["services"][0]["counts"]["rows"][0]
    read = {"section": "heap", "operation": "read", "width": 32, "pattern": "single", "count": 4}
    for event in (["x"], {"x": 1}):
        row["counts"] = [read, {"section": "heap", "event": event, "count": 1}]
        path = tmp_path / "c.json"
        path.write_text(json.dumps(document))
        found = [text for _, text in characterization_mistakes(str(path))]
        assert any("cannot stand here" in text or "is not known here" in text for text in found)
        assert any("no `line load 32 x1` is counted" in text for text in found)


def test_names_may_read_as_numbers(path: Path) -> None:
    path.write_text(GOOD.replace("seven", "7"))
    assert ("heap", "data", "7") in {s.either_of for s in load_services(str(path)).sections}
    path.write_text(GOOD.replace("  lists:", "  9:").replace("task stack: stack", "task stack: 9"))
    with pytest.raises(InputError, match="the hardware itself touches"):
        load_services(str(path))
