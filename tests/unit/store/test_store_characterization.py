"""Characterizations: the canonical text, and what is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Conservation,
    Counts,
    Evidence,
    NotCharacterized,
    Place,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
    TraceProvenance,
    TraceSection,
    Word,
)
from wcetchar.model.expression import Binary, BinaryOperator, Name, Number
from wcetchar.model.service import (
    Kernel,
    LeftOut,
    Parameter,
    ParameterKind,
    SectionKind,
    ServiceKind,
)
from wcetchar.store import characterization, characterization_json, load_characterization

TEXT_FETCH = AccessClass(".text", Operation.FETCH, 32, Pattern.FIRST)
HEAP_WRITE = AccessClass("heap", Operation.WRITE, 0)
CALL = CoreEvent(".text", EventKind.CALL)
BEGINS = Succession(None, ((CALL, 2),), 1, False, HEAP_WRITE)
ENDS = Succession(HEAP_WRITE, (), 0, True, None)
ROW = TraceSection(
    Blocking(priority=0, preemption=True),
    AccessVector({CALL: 1, TEXT_FETCH: 3, HEAP_WRITE: 2, BEGINS: 1, ENDS: 4}),
    Binary(BinaryOperator.SUBTRACT, Name("N"), Number(1)),
)
POINT_ROW = replace(ROW, repetition=Number(1), blocking=Blocking(interrupts=True, unknown=True))
FULL = Characterization(
    kernel=Kernel("K", "1", {"b": "2", "a": "1"}),
    architecture="armv7-m",
    fetch_width=32,
    sections=(
        SectionInfo("heap", SectionKind.DATA, 'the "heap" — é'),
        SectionInfo(".text", SectionKind.CODE),
    ),
    services=(
        ServiceCharacterization(
            name="z",
            kind=ServiceKind.CALL,
            word=Word.HIGH_WATER_MARK,
            parameters=(Parameter("N", ParameterKind.STATE, 1, 16, "free blocks"),),
            counts=Counts(rows=(ROW,)),
            stretches=(
                BlockingStretch(
                    StretchKind.INTERRUPTS,
                    "a+4",
                    "b",
                    Counts(rows=(ROW,)),
                    Place("a", 4, "a.c", 7),
                    Place(),
                ),
                BlockingStretch(
                    StretchKind.PREEMPTION,
                    "",
                    "",
                    Counts(points=(TablePoint((1,), (POINT_ROW,)), TablePoint((2,), ()))),
                ),
            ),
            description="d",
            worst_state="w",
            evidence=Evidence(7, ((1,), (2,)), ((3,),)),
            notes=("n", ""),
        ),
        ServiceCharacterization(
            name="a",
            kind=ServiceKind.HANDLER,
            word=Word.BOUND,
            parameters=(),
            counts=Counts(),
            stretches_known=False,
        ),
    ),
    provenance=Provenance(
        "wcetchar 0.1.0",
        "0" * 64,
        "",
        None,
        (TraceProvenance("plugin", None, "mps2-an385", ("-icount", "0"), ()),),
    ),
    conservation=Conservation(10, 5, 0, (("z", 7),), (("boot", 3),)),
    assumptions=("x",),
    successions=True,
    left_out=(LeftOut("it is inline", ("b", "a")), LeftOut("odd — é", ("c",))),
    not_characterized=(NotCharacterized("y", "no trace shows it"), NotCharacterized("x", "")),
)


@pytest.fixture
def write(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("characterization") / "c.json"

    def write(content: Any) -> str:
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return str(path)

    return write


def mistakes(path: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        load_characterization(path)
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else [caught.value]
    return [(str(e.where).removeprefix(path + ":"), e.message) for e in errors]


def test_what_is_written_reads_back(write) -> None:
    text = characterization_json(FULL)
    again = load_characterization(write(text))
    assert again == FULL
    assert characterization_json(again) == text


@pytest.mark.parametrize(("written", "edition"), [(False, 0), (True, 1), (1, 1), (2, 2)])
def test_the_edition_of_stalls(write, written: Any, edition: int) -> None:
    """True stands in files from before there were editions."""
    found = load_characterization(write(_set(plain(), "stalls", written)))
    assert found.stalls == edition
    assert json.loads(characterization_json(found)).get("stalls", 0) == edition


def test_what_is_too_large_to_be_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    text = characterization_json(FULL)
    size = len(text.encode())
    monkeypatch.setattr(characterization, "MAX_BYTES", size)
    assert characterization_json(FULL) == text
    monkeypatch.setattr(characterization, "MAX_BYTES", size - 1)
    with pytest.raises(InputError, match=f"has {size:,} bytes") as caught:
        characterization_json(FULL)
    assert "the largest services are" in str(caught.value.hint)


def test_the_text_is_canonical() -> None:
    text = characterization_json(FULL)
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")
    shuffled = replace(
        FULL,
        kernel=Kernel("K", "1", {"a": "1", "b": "2"}),
        services=(
            replace(
                FULL.services[0],
                counts=Counts(
                    rows=(
                        replace(
                            ROW,
                            vector=AccessVector(
                                [(ENDS, 4), (HEAP_WRITE, 1), (TEXT_FETCH, 3), (CALL, 1)]
                            )
                            + AccessVector({BEGINS: 1, HEAP_WRITE: 1}),
                        ),
                    )
                ),
            ),
            FULL.services[1],
        ),
    )
    assert characterization_json(shuffled) == text
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    first = lines.index(
        '{"section": ".text", "operation": "fetch", "width": 32, "pattern": "first", "count": 3}'
    )
    assert lines[first + 1 : first + 3] == [
        '{"section": ".text", "event": "call", "count": 1}',
        '{"section": "heap", "operation": "write", "width": 0, "pattern": "single", "count": 2}',
    ]
    data = json.loads(text)
    assert data["kind"] == "wcetchar characterization"
    assert data["schema_version"] == 1
    assert list(data["kernel"]["configuration"]) == ["a", "b"]
    assert data["services"][0]["counts"]["rows"][0]["repetition"] == "N - 1"
    assert data["services"][0]["counts"]["rows"][0]["blocking"] == {
        "priority": 0,
        "preemption": True,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: replace(
                c,
                services=(
                    replace(
                        c.services[1],
                        counts=Counts(rows=(TraceSection(Blocking(), AccessVector({CALL: -1})),)),
                    ),
                ),
            ),
            "`-1` cannot stand here",
        ),
        (lambda c: replace(c, sections=c.sections[:1]), "the section `.text` is not declared"),
        (lambda c: replace(c, services=c.services * 2), "the service `z` is given twice"),
        (
            lambda c: replace(c, conservation=replace(c.conservation, traced=11)),
            "11 instructions were traced, but the parts add up to 10",
        ),
        (
            lambda c: replace(c, not_characterized=(NotCharacterized("z", "why"),)),
            "the service `z` is characterized",
        ),
        (
            lambda c: replace(c, not_characterized=c.not_characterized * 2),
            "the service `y` is given twice",
        ),
        (lambda c: replace(c, fetch_width=24), "`24` is not known here"),
        (lambda c: replace(c, architecture="\ud800"), "`\\ud800` holds half a character"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(change: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        characterization_json(change(FULL))
    assert message in str(caught.value)


def plain() -> dict[str, Any]:
    return copy.deepcopy(json.loads(characterization_json(FULL)))


def _set(data: Any, path: str, value: Any) -> Any:
    *steps, last = [int(s) if s.isdigit() else s for s in path.split("/")]
    for step in steps:
        data = data[step]
    if value is _set:
        del data[last]
    else:
        data[last] = value
    return data


ROWS = "services/0/counts/rows/0"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("stalls", 3, "3"),
        (f"{ROWS}/repetition", "M", "M"),
        (f"{ROWS}/repetition", "N +", ""),
        (f"{ROWS}/repetition", "__import__('os')", ""),
        (f"{ROWS}/repetition", 1, "`1` cannot stand here"),
        (f"{ROWS}/counts/0/count", -1, "`-1` cannot stand here"),
        (f"{ROWS}/counts/0/count", 0, "a count of zero"),
        (f"{ROWS}/counts/0/count", True, "`true` cannot stand here"),
        (f"{ROWS}/counts/0/count", "1", "`1` cannot stand here"),
        (f"{ROWS}/counts/0/count", 1.0, "`1.0` cannot stand here"),
        (f"{ROWS}/counts/0/count", 2**63, "cannot stand here"),
        (f"{ROWS}/counts/0/width", 24, "`24` is not known here"),
        (f"{ROWS}/counts/0/width", False, "`false` cannot stand here"),
        (f"{ROWS}/counts/0/width", _set, "neither of an access nor of an event"),
        (f"{ROWS}/counts/0/event", "call", "an event has no operation"),
        (f"{ROWS}/counts/1/event", "cal", "`cal` is not known here"),
        (f"{ROWS}/counts/0/section", "stack", "the section `stack` is not declared"),
        (f"{ROWS}/counts/0/operation", "fetc", "`fetc` is not known here"),
        (f"{ROWS}/counts/0/extra", 1, "the key `extra` is not known here"),
        (f"{ROWS}/successions/2", 1, "there is no succession 2"),
        (f"{ROWS}/successions/x", 1, "`x` cannot stand here"),
        (f"{ROWS}/successions/0", 0, "a count of zero"),
        (f"{ROWS}/successions/0", -1, "`-1` cannot stand here"),
        ("successions/0/before/section", "stack", "the section `stack` is not declared"),
        ("successions/1/between/0/section", "stack", "the section `stack` is not declared"),
        ("successions/1/between/0/event", "cal", "`cal` is not known here"),
        ("successions/1", {"before": 1}, "`1` cannot stand here"),
        ("successions", _set, "there is no succession 0"),
        (f"{ROWS}/blocking/interrupts", 1, "`1` cannot stand here"),
        (f"{ROWS}/blocking/priority", 256, "`256` cannot stand here"),
        ("services/0/counts/points", [], "rows or points"),
        ("services/0/counts", {}, "rows or points"),
        ("services/0/counts", {"points": []}, "there is no point"),
        ("services/0/word", "guess", "`guess` is not known here"),
        ("services/0/parameters/0/name", "1N", "`1N` cannot name a parameter"),
        ("services/0/parameters/0/minimum", 17, "the minimum 17 is above the maximum 16"),
        ("services/0/evidence/fitted/0", [1, 2], "2 values for 1 parameters"),
        ("services/0/stretches/1/counts/points/0/values", [2], "does not come after"),
        ("services/0/stretches/1/counts/points/0/values", [], "0 values for 1 parameters"),
        ("services/0/stretches/1/counts/points/0/rows/0/repetition", "2", "in a table of points"),
        ("services/0/stretches/1/counts/points/0/rows/0/repetition", "N", ""),
        ("sections/0/name", ".text", "the section `.text` is given twice"),
        ("provenance/image_sha256", "xyz", "cannot stand here"),
        ("provenance", _set, "the key `provenance` is missing"),
        ("conservation/attributed/0/instructions", 8, "the parts add up to 11"),
        ("kernel/configuration/a", 1, "`1` cannot stand here"),
        ("fetch_width", 0, "`0` is not known here"),
        ("services", {}, "a mapping cannot stand here"),
    ],
)
def test_one_mistake(write, path: str, value: Any, message: str) -> None:
    data = plain()
    _set(data, path, value)
    found = mistakes(write(data))
    assert any(message in text for _, text in found), found
    assert all(place for place, _ in found)


def test_all_mistakes_come_at_once_in_place(write) -> None:
    data = plain()
    _set(data, f"{ROWS}/counts/0/count", -1)
    _set(data, f"{ROWS}/repetition", "M")
    _set(data, "services/1/word", "bounds")
    _set(data, "archtecture", "x")
    path = write(data)
    lines = Path(path).read_text().splitlines()
    found = mistakes(path)
    assert len(found) == 4
    for (place, _), mark in zip(found, ['"M"', "-1", '"bounds"', '"archtecture"'], strict=True):
        line, column = (int(part) for part in place.split(":"))
        assert lines[line - 1][column - 1 :].startswith(mark)


def test_a_class_that_is_counted_twice(write) -> None:
    data = plain()
    counts = data["services"][0]["counts"]["rows"][0]["counts"]
    counts.append(dict(counts[0]))
    assert [m for _, m in mistakes(write(data))] == ["this class is counted twice in one row"]


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ({}, "is not a characterization", "characterize"),
        ([], "is not a characterization", "characterize"),
        ({"kind": "other"}, "is not a characterization", "characterize"),
        ({"kind": "wcetchar characterization"}, "of schema version `null`", "again"),
        (
            {"kind": "wcetchar characterization", "schema_version": 2, "new": 1},
            "of schema version `2`",
            "use a newer wcetchar",
        ),
        ({"kind": "wcetchar characterization", "schema_version": True}, "`true`", "again"),
        ({"kind": "wcetchar characterization", "schema_version": "1"}, "`1`", "again"),
    ],
)
def test_another_kind_of_file_gets_one_message(
    write, content: Any, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_characterization(write(content))
    assert not isinstance(caught.value, InputErrors)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_the_unknown_section_needs_no_declaration(write) -> None:
    data = plain()
    _set(data, f"{ROWS}/counts/2/section", "?")
    assert "?" in load_characterization(write(data)).services[0].counts.rows[0].vector.sections
