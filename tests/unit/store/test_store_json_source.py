"""JSON text into plain data: places and refusals."""

from __future__ import annotations

import json

import pytest

from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.store import json_source
from wcetchar.store.json_source import parse_json


def test_data_and_places() -> None:
    text = '{\n "a": [1, {"b": "x\\"}]"}, []],\n  "c\\u0041" : null\n}\n'
    source = parse_json(text, "f.json")
    assert source.data == json.loads(text)
    assert source.where(("a",)) == Location("f.json", 2, 7)
    assert source.where(("a",), key=True) == Location("f.json", 2, 2)
    assert source.where(("a", 1, "b")) == Location("f.json", 2, 17)
    assert source.where(("a", 2)) == Location("f.json", 2, 27)
    assert source.where(("a", 3)) == Location("f.json", 2, 7)
    assert source.where(("cA",), key=True) == Location("f.json", 3, 3)
    assert source.where(("none",)) == Location("f.json", 1, 1)


def test_every_duplicate_key_is_named() -> None:
    source = parse_json('{"a": 1,\n "b": {"c": 1, "c": 2},\n "a": 2}', "f")
    with pytest.raises(InputErrors) as caught:
        source.fail_on_mistakes()
    assert [(str(e.where), e.message) for e in caught.value.errors] == [
        ("f:2:16", "the key `c` is given twice; it first stands at f:2:8"),
        ("f:3:2", "the key `a` is given twice; it first stands at f:1:2"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ("[NaN]", "NaN is not a JSON value"),
        ("[Infinity]", "is not a JSON value"),
        ("[" + "1" * 5000 + "]", "a number of 5000 digits"),
        ("[" * 40 + "]" * 40, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('"\x01"', "not valid JSON"),
    ],
)
def test_what_is_no_json(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_json(text, "f")


def test_brackets_in_text_do_not_count() -> None:
    text = json.dumps(["[" * 100 + '"' + "{" * 100, "\\", '\\"['])
    assert parse_json(text, "f").data == json.loads(text)


def test_a_float_stays_text() -> None:
    assert parse_json("[1.5, 1e5]", "f").data == ["1.5", "1e5"]


def test_a_truncated_file_says_where() -> None:
    with pytest.raises(InputError) as caught:
        parse_json('{"a": 1,\n "b": ', "f")
    assert caught.value.where is not None
    assert caught.value.where.line == 2


def test_size_is_bounded(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(json_source, "MAX_BYTES", 10)
    path = tmp_path_factory.mktemp("json") / "f.json"
    path.write_text("[1, 2, 3, 4]")
    with pytest.raises(InputError, match="larger than 10 bytes"):
        json_source.read_json(str(path))
