"""Characterizations that are damaged, of another version, or lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import CHARACTERIZATION, MAP, PRICE, PROFILE, process, refused, run, write
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.store import load_characterization

Change = Callable[[Any], None]


@pytest.fixture(autouse=True)
def _here(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("json"))
    write("p.yaml", PROFILE)
    write("m.yaml", MAP)


def estimate(text: str | bytes) -> Result:
    write("k.json", text)
    return run("estimate", "k.json", "--profile", "p.yaml", "--map", "m.yaml", "--json")


def changed(old: str, new: str) -> str:
    assert old in CHARACTERIZATION
    return CHARACTERIZATION.replace(old, new, 1)


def place_of(text: str) -> str:
    before = CHARACTERIZATION[: CHARACTERIZATION.index(text)]
    return f"k.json:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def test_the_good_input_is_good() -> None:
    (found,) = json.loads(estimate(CHARACTERIZATION).stdout)["estimates"]
    assert found["total_ns"] == 4 * PRICE


def test_damaged() -> None:
    for size in (1, 2, 50, len(CHARACTERIZATION) // 2, len(CHARACTERIZATION) - 3):
        refused(estimate(CHARACTERIZATION[:size]), 3, "k.json:", "not valid JSON", "generate it")
    refused(estimate(""), 3, "k.json:1:1: not valid JSON")
    refused(estimate(CHARACTERIZATION * 2), 3, "k.json:", "Extra data")
    refused(estimate(CHARACTERIZATION.encode("utf-16")), 3, "k.json:1:1: byte 0xff is not UTF-8")
    refused(estimate(b"\0" * 100), 3, "k.json:1:1: not valid JSON")


def test_another_version() -> None:
    text = changed('"schema_version": 1', '"schema_version": 2')
    place = "k.json:3:20: "
    error = refused(estimate(text), 3, "schema version `2`", "version 1", "use a newer wcetchar")
    assert error.startswith(place)
    for value in ("0", "-1", '"1"', "null", "true"):
        refused(estimate(changed('"schema_version": 1', f'"schema_version": {value}')), 3, place)


@pytest.mark.parametrize("text", ["null", "{}", "[]", '"text"', "1", '{"estimates": []}'])
def test_another_kind_of_file(text: str) -> None:
    refused(estimate(text), 3, "k.json:1:1: the file is not a characterization", "characterize")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"count": 3', '"count": -3', "`-3` cannot stand here"),
        ('"count": 3', '"count": 0', "a count of zero"),
        ('"count": 3', '"count": 3.0', "a whole number"),
        ('"count": 3', '"count": "3"', "a whole number"),
        ('"count": 3', '"count": true', "a whole number"),
        ('"count": 3', '"count": 99999999999999999999', "9223372036854775807"),
        ('"width": 32, "pattern": "single", "count": 3', '"width": 33, "count": 3', "`33`"),
        ('"repetition": "N"', '"repetition": "N +"', "formula"),
        ('"repetition": "N"', '"repetition": "M"', "formula"),
        ('"repetition": "N"', '"repetition": "__import__"', "formula"),
        ('"repetition": "N"', f'"repetition": "{"(" * 3000}N{")" * 3000}"', "formula"),
        ('"traced": 12', '"traced": 13', "the parts add up to 12"),
        ('"fetch_width": 32', '"fetch_width": 31', "`31`"),
        ('"section": "data"', '"section": "dta"', "did you mean `data`?"),
        ('"word": "high-water mark"', '"word": "bounded"', "did you mean `bound`?"),
        ('"word": "high-water mark",', '"word": "bound", "wrod": "bound",', "did you mean `word`?"),
        ('"minimum": 1', '"minimum": 7', ""),
    ],
)  # fmt: skip
def test_one_mistake(old: str, new: str, said: str) -> None:
    error = refused(estimate(changed(old, new)), 3, said)
    assert int(error.split(":")[1]) in range(1, CHARACTERIZATION.count("\n") + 1)
    assert error.startswith("k.json:")


def test_numbers_that_are_none() -> None:
    for value in ("NaN", "Infinity", "-Infinity", "9" * 5000, "-" + "9" * 41):
        error = refused(estimate(changed('"count": 3', f'"count": {value}')), 3, "not valid JSON")
        assert error.startswith(f"{place_of('3},')}: ")


def test_all_mistakes_at_once() -> None:
    text = CHARACTERIZATION
    for old, new in (
        ('"version": "1"', '"version": "1", "extra": 1'),
        ('"count": 3', '"count": -3'),
        ('"traced": 12', '"traced": 13'),
        ('"tool"', '"tooll"'),
    ):
        text = text.replace(old, new)
    error = refused(estimate(text), 3, "extra", "`-3`", "add up to 12", "did you mean `tool`?")
    lines = [int(line.split(":")[1]) for line in error.splitlines() if line.startswith("k.json")]
    assert lines == sorted(lines)
    assert len(lines) >= 4


def test_keys_given_twice() -> None:
    text = changed('"schema_version": 1,', '"schema_version": 1,\n "schema_version": 1,')
    refused(estimate(text), 3, "k.json:4:2: the key `schema_version` is given twice", "k.json:3:2")


def test_depth_and_size_are_bounded() -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000, CHARACTERIZATION[:-2] + ',"x":' + "[" * 99):
        refused(estimate(text), 3, "k.json:", "nested too deeply")
    refused(estimate('"' + "x" * (1 << 28) + '"'), 3, "k.json: is larger than")


def test_no_service() -> None:
    document = json.loads(CHARACTERIZATION)
    document["services"] = []
    del document["conservation"]
    error = refused(estimate(json.dumps(document, indent=1)), 3, "there is no service")
    assert error.startswith("k.json:")


def test_formulas_that_do_not_hold() -> None:
    text = changed('"repetition": "N"', '"repetition": "N - 100"')
    error = refused(estimate(text), 3, "is -96 at N=4", "report it to its vendor")
    assert error.startswith("k.json:12:3: ")


def test_more_values_than_can_be_tried() -> None:
    write("m.yaml", MAP.replace("parameters:\n  N: 4\n", ""))
    write("k.json", changed('"maximum": 6', f'"maximum": {10**15}'))
    result = run("estimate", "k.json", "--profile", "p.yaml", "--map", "m.yaml", "--maximum")
    refused(result, 3, "too many to try", "--set N=VALUE")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 0xFFFF), st.sampled_from('{}[]",:-0179eEtfnNI \\u\n')), max_size=4
    )
)
def test_flipped_characters_give_a_characterization_or_an_input_error(
    changes: list[tuple[int, str]],
) -> None:
    text = list(CHARACTERIZATION)
    for place, sign in changes:
        text[place * len(text) >> 16] = sign
    found = None
    path = write("flipped.json", "".join(text))
    try:
        load_characterization(str(path))
    except InputError as error:
        found = error
    assert found is None or "flipped.json" in str(found)


def test_the_program_ends_with_the_same_status() -> None:
    write("k.json", changed('"count": 3', '"count": -3'))
    options = ("--profile", "p.yaml", "--map", "m.yaml")
    refused(process("estimate", "k.json", *options), 3, "k.json:")
    assert not Path("out").exists()
