"""Budget files: what they say, and mistakes with their places."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from wcetchar.errors import InputError, Location
from wcetchar.model.budget import Budgets, Figure
from wcetchar.model.characterization import Word
from wcetchar.store import load_budgets, schema_files

FILE = """\
schema: wcetchar/budget/1
description: of a test
profile: board.yaml
map: cortex-m3/map-flash-3ws
set: {N: 13}
maximum: true
baseline: old.json
may grow: 5 %
word: high-water mark
budgets:
  - service: xTaskCreate
    set: {N: 4, S: -1}
    total: 40 us
    interrupts: 1.5 us
    may grow: 0 %
    maximum: false
    word: bound
  - {service: "xQueue*", but: [xQueueCreate], preemption: 10 us +- 1 us}
  - {service: "?"}
"""


def load(tmp_path: Path, text: str = FILE) -> Budgets:
    file = tmp_path / "budgets.yaml"
    file.write_text(text)
    return load_budgets(str(file))


def mistakes(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as raised:
        load(tmp_path, text)
    return str(raised.value).replace(f"{tmp_path}/", "")


def test_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "board.yaml").write_text("")
    found = load(tmp_path)
    create, queues, all_short = found.budgets
    assert found.profile == str(tmp_path / "board.yaml")
    assert found.section_map == "cortex-m3/map-flash-3ws"  # a name: no such file is there
    assert found.baseline == "old.json"
    assert found.values == {"N": 13}
    assert found.may_grow == Fraction(1, 20)
    assert create.at_most == {Figure.TOTAL: 40_000, Figure.INTERRUPTS: 1500}
    assert create.values == {"N": 4, "S": -1}
    assert (create.may_grow, create.maximum, create.word) == (0, False, Word.BOUND)
    # Of a time with a tolerance the end that is safe for a budget.
    assert queues.at_most == {Figure.PREEMPTION: 9000}
    assert (queues.may_grow, queues.maximum, queues.word) == (None, True, Word.HIGH_WATER_MARK)
    assert queues.but == ("xQueueCreate",)
    assert [one.is_pattern for one in found.budgets] == [False, True, True]
    assert all_short.at_most == {}


def test_places(tmp_path: Path) -> None:
    found = load(tmp_path)
    file = str(tmp_path / "budgets.yaml")
    create, queues, _ = found.budgets
    assert create.place("total") == Location(file, 13, 12)
    assert create.place("set S") == Location(file, 12, 20)
    assert create.place("preemption", "may grow") == Location(file, 15, 15)
    assert create.place("preemption") == create.places[""] == Location(file, 11, 5)
    assert queues.place("but xQueueCreate") == Location(file, 18, 32)
    assert found.places["set N"] == Location(file, 5, 10)


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("total: 40 us", "total: 40", "13:12", "has no unit"),
        ("total: 40 us", "total: 40 cycles", "13:12", "there is no clock"),
        ("total: 40 us", "totl: 40 us", "13:5", "did you mean `total`?"),
        ("total: 40 us", "total: -40 us", "13:12", "negative"),
        ("total: 40 us", "total:", "13:5", "there is no value"),
        ("may grow: 0 %", "may grow: 0", "15:15", "is not a percentage"),
        ("may grow: 0 %", "may grow: -5 %", "15:15", "is not a percentage"),
        ("word: bound", "word: bounds", "17:11", "did you mean `bound`?"),
        ("S: -1", "S: a", "12:20", "a whole number"),
        ("maximum: false", "maximum: perhaps", "16:14", "true or false"),
        ('service: "?"', 'service: ""', "19:15", "something that is not empty"),
        ('  - {service: "?"}', "  - {total: 1 us}", "19:5", "the key `service` is missing"),
        ("but: [xQueueCreate]", "but: xQueueCreate", "18:31", "a list"),
        ('service: "xQueue*"', "service: xQueueSend", "18:27", "left out of a pattern"),
        ('service: "?"', 'service: "?", word: bound', "19:20", "a word is asked of figures"),
        ("budget/1", "budget/2", "1:9", "`wcetchar/budget/1`"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, place: str, said: str) -> None:
    assert FILE.count(old) == 1
    text = mistakes(tmp_path, FILE.replace(old, new))
    assert text.startswith(f"budgets.yaml:{place}: ")
    assert said in text


def test_a_budget_that_permits_everything(tmp_path: Path) -> None:
    text = FILE.replace("may grow: 5 %\n", "")
    assert mistakes(tmp_path, text).startswith("budgets.yaml:18:5: this budget permits everything")
    # Growth of its own is something.
    load(tmp_path, text.replace('service: "?"', 'service: "?", may grow: 1 %'))


def test_no_budgets(tmp_path: Path) -> None:
    assert "budgets.yaml:2:10" in mistakes(tmp_path, "schema: wcetchar/budget/1\nbudgets: []\n")


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    text = mistakes(tmp_path, FILE.replace("40 us", "40").replace("1.5 us", "fast"))
    assert re.findall(r"^budgets.yaml:(\d+)", text, re.MULTILINE) == ["13", "14"]


def test_the_schema_for_editors_permits_what_is_read_and_refuses_mistakes() -> None:
    schema = Draft7Validator(json.loads(schema_files.schema_texts()["budget.json"]))
    plain = YAML(typ="safe", pure=True).load(FILE)
    assert [error.message for error in schema.iter_errors(plain)] == []
    for change in ({"total": 4}, {"may grow": 5}, {"word": "bounds"}, {"totl": "1 us"}):
        budgets = [{**plain["budgets"][0], **change}]
        assert not schema.is_valid({**plain, "budgets": budgets})
