"""YAML text into plain data: places, and everything that is refused."""

from __future__ import annotations

import pytest

from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.store import yaml_source
from wcetchar.store.yaml_source import parse_yaml, read_yaml


def test_data_and_places() -> None:
    text = "# comment\na: 1\nb: {c: text, d: [x, 0x10]}\ne:\n  - f: 'null'\n  - 'q'\n"
    source = parse_yaml(text, "f.yaml")
    assert source.data == {"a": 1, "b": {"c": "text", "d": ["x", 16]}, "e": [{"f": "null"}, "q"]}
    assert source.where(("a",)) == Location("f.yaml", 2, 4)
    assert source.where(("a",), key=True) == Location("f.yaml", 2, 1)
    assert source.where(("b", "d", 1)) == Location("f.yaml", 3, 21)
    assert source.where(("e", 0, "f"), key=True) == Location("f.yaml", 5, 5)
    assert source.where(("e", 0, "missing", "below")) == Location("f.yaml", 5, 5)
    assert source.where(()) == Location("f.yaml", 2, 1)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("0x1F", 31),
        ("0o17", 15),
        ("true", True),
        ("False", False),
        ("'~'", "~"),
        ('""', ""),
        ("1.50", "1.50"),
        ("1e3", "1e3"),
        ("no", "no"),
        ("V11.2.0", "V11.2.0"),
        ("1..16", "1..16"),
        ("2001-01-01", "2001-01-01"),
        ("'010'", "010"),
        ('"12:30"', "12:30"),
        ("'true'", "true"),
        (".inf", ".inf"),
    ],
)
def test_scalars(scalar: str, value: object) -> None:
    source = parse_yaml(f"a: {scalar}\n", "f.yaml")
    assert source.mistakes == []
    assert source.data == {"a": value}
    assert isinstance(source.data, dict)
    assert isinstance(source.data["a"], bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("scalar", "says"),
    [
        ("010", "leading zero"),
        ("-007", "leading zero"),
        ("08", "leading zero"),
        ("00.5", "leading zero"),
        ("12:30", "base-60"),
        ("1:02:03", "base-60"),
        ("190:20:30.15", "base-60"),
        ("1_000", "underscores"),
        ("0x1_0", "underscores"),
        ("0b101", "is a number in YAML 1.1"),
        ("-0x10", "is a number in YAML 1.1"),
        ("9" * 41, "too many digits"),
        ("!!int 3", "tag"),
        ("!!python/object/apply:os.system [ls]", "tag"),
        ("&x 3", "anchor"),
        ("~", "there is no value"),
        ("null", "there is no value"),
    ],
)
def test_what_reads_two_ways_is_refused_in_place(scalar: str, says: str) -> None:
    source = parse_yaml(f"ok: 1\na: {scalar}\n", "f.yaml")
    with pytest.raises(InputError, match=says) as caught:
        source.fail_on_mistakes()
    assert caught.value.where == Location("f.yaml", 2, 4)
    assert caught.value.hint


def test_an_alias_is_refused() -> None:
    source = parse_yaml("a: &x {b: 1}\nc: *x\nd: {<<: 1}\n".replace("d: {<<: 1}\n", ""), "f")
    with pytest.raises(InputErrors) as caught:
        source.fail_on_mistakes()
    assert [(str(e.where), "alias" in e.message) for e in caught.value.errors] == [
        ("f:1:4", False),
        ("f:2:4", True),
    ]


def test_merge_keys_and_empty_keys_are_refused() -> None:
    for text in ("<<: {a: 1}\n", "? \n: 1\n", "~: 1\n", "? [a]\n: 1\n", "*x : 1\n", "&a b: 1\n"):
        with pytest.raises(InputError):
            parse_yaml(text, "f").fail_on_mistakes()


def test_laughs_stay_few() -> None:
    text = "a0: &a0 [x, x]\n"
    for level in range(1, 30):
        text += f"a{level}: &a{level} [*a{level - 1}, *a{level - 1}]\n"
    with pytest.raises(InputErrors):
        parse_yaml(text, "f").fail_on_mistakes()


def test_every_duplicate_is_named_with_both_places() -> None:
    source = parse_yaml("a: 1\nb:\n  c: 1\n  c: {x: 010}\n  c: 2\na: 2\n", "f")
    with pytest.raises(InputErrors) as caught:
        source.fail_on_mistakes()
    assert [(str(e.where), e.message) for e in caught.value.errors] == [
        ("f:4:3", "the key `c` is given twice; it first stands at f:3:3"),
        ("f:5:3", "the key `c` is given twice; it first stands at f:3:3"),
        ("f:6:1", "the key `a` is given twice; it first stands at f:1:1"),
    ]
    assert source.data == {"a": 1, "b": {"c": 1}}


def test_keys_that_differ_only_in_quotes_are_duplicates() -> None:
    with pytest.raises(InputError, match="given twice"):
        parse_yaml("1: a\n'1': b\n", "f").fail_on_mistakes()


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("a: [1\n", "not valid YAML", (2, 1)),
        ("a: b: c\n", "not valid YAML", (1, 5)),
        ("a: \t- b\n", "not valid YAML", None),
        ("a: @x\n", "not valid YAML", (1, 4)),
        ("--- \na: 1\n---\nb: 1\n", "second document", (3, 1)),
        ("%YAML 1.1\n---\na: 1\n", "YAML 1.1", (2, 1)),
        ("", "is empty", (1, 1)),
        ("# only a comment\n", "is empty", (1, 1)),
        ("\x00", "not valid YAML", None),
        ('a: "\\UFFFFFFFF"\n', "not valid YAML", None),
    ],
)
def test_what_is_no_yaml(text: str, says: str, place: tuple[int, int] | None) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_yaml(text, "f.yaml")
    assert caught.value.where is not None
    assert caught.value.where.file == "f.yaml"
    if place:
        assert (caught.value.where.line, caught.value.where.column) == place


def test_yaml_1_2_may_be_asked_for() -> None:
    assert parse_yaml("%YAML 1.2\n---\na: 1\n", "f").data == {"a": 1}


def test_depth_is_bounded() -> None:
    depth = yaml_source.MAX_DEPTH
    assert parse_yaml("[" * depth + "]" * depth, "f").mistakes == []
    for text in ("[" * (depth + 1) + "]" * (depth + 1), "[" * 100_000):
        with pytest.raises(InputError, match=r"nested too deeply|not valid YAML"):
            parse_yaml(text, "f")


def test_nodes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_source, "MAX_NODES", 10)
    with pytest.raises(InputError, match="too many values") as caught:
        parse_yaml("[1, 1, 1, 1, 1,\n 1, 1, 1, 1, 1]", "f")
    assert caught.value.where == Location("f", 2, 14)


def test_size_is_bounded(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("yaml") / "large.yaml"
    path.write_bytes(b"#" * (yaml_source.MAX_BYTES + 1))
    with pytest.raises(InputError, match="larger than"):
        read_yaml(str(path))


def test_bytes_that_are_not_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("yaml") / "latin1.yaml"
    path.write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(InputError, match="0xe9 is not UTF-8") as caught:
        read_yaml(str(path))
    assert caught.value.where == Location(str(path), 2, 4)
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml(str(path)).data == {"a": 1}


def test_a_missing_file_and_a_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("yaml")
    for path in (folder, folder / "missing", "a\x00b"):
        with pytest.raises(InputError, match="cannot be read"):
            read_yaml(str(path))


def test_a_message_shows_nothing_unprintable() -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml('"\\e[31m\\n": 1\n"\\e[31m\\n": 2\n', "f").fail_on_mistakes()
    assert "\x1b" not in str(caught.value)
    assert "\\x1b[31m\\n" in str(caught.value)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InputErrors) as caught:
        parse_yaml('a: "\\ud800"\n"\\udc00": 1\n', "f").fail_on_mistakes()
    assert [str(e.where) for e in caught.value.errors] == ["f:1:4", "f:2:1"]


def test_mistakes_are_cut_at_a_hundred() -> None:
    text = "".join(f"k{i}: 010\n" for i in range(150))
    with pytest.raises(InputErrors) as caught:
        parse_yaml(text, "f").fail_on_mistakes()
    assert len(caught.value.errors) == 101
    assert caught.value.errors[-1].message == "and further mistakes"


def test_folded_text_has_nothing_but_its_words() -> None:
    source = parse_yaml("a: >-\n  one\n  two\n\n  three\nb: >\n  four\n  five\n", "f")
    assert source.data == {"a": "one two\nthree", "b": "four five\n"}
