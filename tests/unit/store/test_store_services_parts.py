"""Several services files read as one: what joins, and where mistakes stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.store import load_services
from wcetchar.store.schema_files import schema_texts

COMMON = """\
schema: wcetchar/services/1
kernel:
  name: FreeRTOS
  version: V11
  configuration: {PRIORITIES: 5}
marks: {symbol: wcet_mark, values: 64}
services:
  create: {mark: 1, kind: call, entries: [create]}
"""
BOARD = """\
schema: wcetchar/services/1
kernel:
  configuration:
    port: CM3
sections:
  .text: {kind: code, linker sections: [.text]}
  stack: {kind: stack, linker sections: [.stack]}
hardware: {vector section: .text, main stack: stack, task stack: stack}
services:
  tick: {mark: 2, kind: handler, entries: [tick]}
"""
WHOLE = """\
schema: wcetchar/services/1
kernel: {name: FreeRTOS, version: V11, configuration: {PRIORITIES: 5, port: CM3}}
marks: {symbol: wcet_mark, values: 64}
sections:
  .text: {kind: code, linker sections: [.text]}
  stack: {kind: stack, linker sections: [.stack]}
hardware: {vector section: .text, main stack: stack, task stack: stack}
services:
  create: {mark: 1, kind: call, entries: [create]}
  tick: {mark: 2, kind: handler, entries: [tick]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("parts"))


def written(**texts: str) -> tuple[str, ...]:
    for name, text in texts.items():
        Path(f"{name}.yaml").write_text(text)
    return tuple(f"{name}.yaml" for name in texts)


def mistakes(**texts: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_services(*written(**texts))
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else [caught.value]
    return [f"{error.where}: {error.message}" for error in errors]


def test_the_parts_say_what_one_file_says() -> None:
    (whole,) = written(whole=WHOLE)
    found, expected = load_services(*written(a=COMMON, b=BOARD)), load_services(whole)
    assert found.path == "a.yaml"
    for name in ("kernel", "marks", "sections", "services", "scheduler_lock", "vector_section"):
        assert getattr(found, name) == getattr(expected, name)
    assert [s.name for s in load_services("b.yaml", "a.yaml").services] == ["tick", "create"]


def test_everything_keeps_its_place() -> None:
    found = load_services(*written(a=COMMON, b=BOARD))
    assert found.where("services", "create", "entries", 0) == Location("a.yaml", 8, 43)
    assert found.where("services", "tick", "entries", 0) == Location("b.yaml", 10, 44)
    assert found.where("sections", "stack") == Location("b.yaml", 7, 3)
    assert found.where("kernel", "configuration", "port") == Location("b.yaml", 4, 11)
    assert found.where("kernel", "name") == Location("a.yaml", 3, 9)
    assert found.where("services", "tick", "parameters", "N") == Location("b.yaml", 10, 3)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "  tick:",
            "  create:",
            [
                "a.yaml:8:3: the key `create` is given twice, again at b.yaml:10:3",
                "b.yaml:10:3: the key `create` is given twice, first at a.yaml:8:3",
            ],
        ),
        (
            "    port: CM3",
            "    PRIORITIES: 6",
            [
                "a.yaml:5:19: the key `PRIORITIES` is given twice, again at b.yaml:4:5",
                "b.yaml:4:5: the key `PRIORITIES` is given twice, first at a.yaml:5:19",
            ],
        ),
        (
            "sections:\n",
            "marks: {symbol: other, values: 8}\nsections:\n",
            [
                "a.yaml:6:1: the key `marks` is given twice, again at b.yaml:5:1",
                "b.yaml:5:1: the key `marks` is given twice, first at a.yaml:6:1",
            ],
        ),
        (
            "kernel:\n",
            "kernel:\n  name: other\n",
            [
                "a.yaml:3:3: the key `name` is given twice, again at b.yaml:3:3",
                "b.yaml:3:3: the key `name` is given twice, first at a.yaml:3:3",
            ],
        ),
        (
            "mark: 2, kind: handler",
            "mark: 1, kind: handler",
            ["b.yaml:10:16: the mark 1 of `tick` is taken; it first stands at a.yaml:8:18"],
        ),
        (
            "mark: 2, kind: handler",
            "mark: 64, kind: interrupt",
            [
                "b.yaml:10:16: the mark 64 does not fit a channel of 64 values",
                "b.yaml:10:26: `interrupt` is not known here",
            ],
        ),
        (
            "hardware: {vector section: .text, main stack: stack, task stack: stack}\n",
            "hardware: {vector section: .txt}\n",
            ["b.yaml:8:28: there is no logical section `.txt`"],
        ),
        ("    port: CM3", "    port:", ["b.yaml:4:5: there is no value"]),
        (
            "sections:\n",
            "sections:\n  .text: 1\n",
            [
                "b.yaml:6:10: `1` cannot stand here",
                "b.yaml:7:3: the key `.text` is given twice; it first stands at b.yaml:6:3",
            ],
        ),
    ],
)
def test_a_mistake_stands_in_its_own_file(old: str, new: str, expected: list[str]) -> None:
    assert old in BOARD
    assert mistakes(a=COMMON, b=BOARD.replace(old, new, 1)) == expected


def test_mistakes_of_both_files_are_told_at_once() -> None:
    found = mistakes(a=COMMON.replace("kind: call", "kind: cal"), b=BOARD.replace("code", "cod"))
    assert found == [
        "a.yaml:8:27: `cal` is not known here",
        "b.yaml:6:17: `cod` is not known here",
    ]


def test_each_file_says_what_it_is() -> None:
    nameless = BOARD.replace("schema: wcetchar/services/1\n", "")
    assert mistakes(a=COMMON, b=nameless) == ["b.yaml:1:1: the file does not say what it is"]
    other = BOARD.replace("services/1", "services/2")
    assert mistakes(a=nameless, b=other) == [
        "a.yaml:1:1: the file does not say what it is",
        "b.yaml:1:9: the file is of schema `wcetchar/services/2`",
    ]


def test_the_same_file_twice_is_a_mistake() -> None:
    (path,) = written(a=WHOLE)
    with pytest.raises(InputErrors, match="given twice"):
        load_services(path, path)


def test_the_schema_of_a_part_asks_for_nothing_but_the_schema() -> None:
    part = json.loads(schema_texts()["services-part.json"])
    whole = json.loads(schema_texts()["services.json"])
    assert part["required"] == ["schema"]
    assert "required" not in part["properties"]["kernel"]
    chosen = {"instead", "configuration instead", "only services"}
    assert whole["properties"].keys() == part["properties"].keys() - chosen
    assert "required" not in part["properties"]["instead"]["additionalProperties"]
    assert whole["properties"]["kernel"]["required"] == ["name", "version"]


INSTEAD = """\
schema: wcetchar/services/1
instead:
  tick:
    entries: [trap]
    exceptions: [0x80000007]
"""


def test_keys_of_a_service_are_given_instead_of_those_in_another_file() -> None:
    for order in ("abc", "cab"):
        paths = written(**{name: {"a": COMMON, "b": BOARD, "c": INSTEAD}[name] for name in order})
        found = load_services(*paths)
        tick = next(s for s in found.services if s.name == "tick")
        assert (tick.mark, tick.kind, tick.entries) == (2, "handler", ("trap",))
        assert tick.exceptions == (0x80000007,)
        assert found.where("services", "tick", "entries", 0) == Location("c.yaml", 4, 15)
        assert found.where("services", "tick", "mark") == Location("b.yaml", 10, 16)


def test_what_cannot_be_given_instead() -> None:
    rest = {"a": COMMON, "b": BOARD}
    assert mistakes(**rest, c=INSTEAD.replace("tick", "tock")) == [
        "c.yaml:3:3: `tock` stands in no other file"
    ]
    assert mistakes(**rest, c=INSTEAD.replace("entries: [trap]", "entry: [trap]")) == [
        "c.yaml:4:5: the key `entry` is not known here"
    ]
    again = "schema: wcetchar/services/1\ninstead: {tick: {entries: [other]}}\n"
    assert mistakes(**rest, c=INSTEAD, d=again) == [
        "c.yaml:4:5: the key `entries` is given twice, again at d.yaml:2:18",
        "d.yaml:2:18: the key `entries` is given twice, first at c.yaml:4:5",
    ]
    assert mistakes(**rest, c="schema: wcetchar/services/1\ninstead: [tick]\n") == [
        "c.yaml:2:1: this is no mapping"
    ]
    alone = WHOLE + "instead: {tick: {entries: [trap]}}\n"
    assert mistakes(a=alone) == ["a.yaml:11:1: the key `instead` is not known here"]
