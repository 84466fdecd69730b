"""JSON Schemas for editors: they are draft-07, explain each key, and fit every file that ships."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import editor_yaml
import pytest
from editor_yaml import ROOT, SCHEMAS, mistakes, modeline, name_of, plain, quoted, stated, validator
from jsonschema import Draft7Validator
from pydantic import Field

from wcetchar.store import document, schema_files
from wcetchar.store.checking import JsonModel, YamlModel
from wcetchar.store.draft07 import draft07, undescribed
from wcetchar.store.schema_files import FOLDER

FILES = editor_yaml.yaml_files()
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
QUOTED = [(page, *one) for page in PAGES for one in quoted(page)]


def schema(name: str) -> dict[str, Any]:
    found = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def nodes(value: Any, way: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All mappings of a schema, those that hold keys of files among them."""
    if isinstance(value, dict):
        yield way, value
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        if isinstance(one, dict | list):
            yield from nodes(one, f"{way}/{key}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_draft_07(name: str) -> None:
    found = schema(name)
    assert found["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(found)
    later = {"$defs", "prefixItems", "dependentRequired", "unevaluatedProperties", "$anchor"}
    for way, node in nodes(found):
        if way.endswith("/properties"):
            continue
        assert later.isdisjoint(node), way
        assert "$ref" not in node or len(node) == 1, f"{way}: draft-07 ignores what is beside it"
        if "$ref" in node:
            target = re.fullmatch(r"#/definitions/(\w+)", node["$ref"])
            assert target is not None, way
            assert target[1] in found["definitions"], way


def test_each_bears_its_name_and_version() -> None:
    identifiers = {name: schema(name)["$id"] for name in SCHEMAS}
    assert len(set(identifiers.values())) == len(SCHEMAS)
    forms = {value for key, value in vars(document).items() if key.isupper()}
    assert len(forms) == len(SCHEMAS) - 2  # a characterization has none, services have two
    for name, identifier in identifiers.items():
        said = schema(name).get("properties", {}).get("schema", {}).get("const")
        if name == "hardware-profile":
            said = schema(name)["then"]["properties"]["schema"]["const"]
        if name == "characterization":
            said = "wcetchar/characterization/1"
        else:
            assert said in forms
        assert identifier.removesuffix("/part").replace("urn:wcetchar:", "wcetchar/") == said


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_key_is_explained(name: str) -> None:
    """Looked for without what looks for it when schemas are made."""
    found = schema(name)
    assert found["title"]
    assert found["description"]
    keys = 0
    for way, node in nodes(found):
        if way.endswith(("/properties", "/definitions")):
            for key, one in node.items():
                keys += 1
                assert one["title"], f"{way}/{key}"
                assert len(one["description"]) >= len("why"), f"{way}/{key}"
    assert keys > 1


@pytest.mark.parametrize("name", SCHEMAS)
def test_defaults_and_examples_are_what_their_keys_take(name: str) -> None:
    whole = validator(name)
    for way, node in nodes(schema(name)):
        if way.endswith("/properties"):
            continue
        here = whole.evolve(schema=node)
        for one in [*node.get("examples", []), *([node["default"]] if "default" in node else [])]:
            assert [error.message for error in here.iter_errors(one)] == [], f"{way}: {one!r}"


def test_a_key_of_which_nothing_is_said_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class _Inner(YamlModel):
        """It is explained."""

        silent: int

    class _Whole(YamlModel):
        """It is explained as well."""

        said: Annotated[int, Field(description="a number")] = 1
        inner: _Inner = Field(description="more")

    found = draft07(_Whole.model_json_schema(by_alias=True), by_hand=True)
    assert list(undescribed(found)) == ["/properties/inner/properties/silent"]
    monkeypatch.setitem(schema_files.DOCUMENTS, "budget", _Whole)
    with pytest.raises(ValueError, match=r"budget: nothing is said of .*silent"):
        schema_files.schema_texts()


def test_what_is_translated() -> None:
    class _Part(JsonModel):
        """A part."""

    class _Whole(JsonModel):
        """A ``whole``, over
        two lines."""

        may_be: _Part | None = Field(None, description="a part, or nothing")
        kind: Literal["x"] = Field(description="always the same")

    whole = _Whole.model_json_schema()
    one = draft07(whole, by_hand=True)
    assert one["description"] == "A `whole`, over two lines."
    assert one["properties"]["may_be"] == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
        "description": "a part, or nothing",
        "title": "May be",
    }
    other = draft07(whole, by_hand=False)
    assert other["definitions"]["_Part"]["description"] == "A part."
    assert other["properties"]["may_be"] == {
        "anyOf": [{"$ref": "#/definitions/_Part"}, {"type": "null"}],
        "default": None,
        "description": "a part, or nothing",
        "title": "May be",
    }
    with pytest.raises(ValueError, match="prefixItems has no translation"):
        draft07({"prefixItems": []}, by_hand=True)
    with pytest.raises(ValueError, match="B holds itself"):
        draft07(
            {"$defs": {"B": {"items": {"$ref": "#/$defs/B"}}}, "$ref": "#/$defs/B"}, by_hand=True
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_editor_finds_the_schema_of_a_file_and_no_mistake_in_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    said, where = stated(text), modeline(text)
    assert said is not None, "it is none of wcetchar's: say so in tests/editor_yaml.py"
    assert where is not None, f"the first line is no modeline for {said}"
    target = (path.parent / where).resolve()
    assert target.parent == FOLDER
    assert target.stem in SCHEMAS
    assert target.stem.removesuffix("-part") == name_of(said)
    assert mistakes(target.stem, plain(text)) == []


def test_files_that_are_not_wcetchars_are_there() -> None:
    for name in editor_yaml.NONE:
        assert stated((ROOT / name).read_text(encoding="utf-8")) is None


def test_there_are_files_of_every_kind() -> None:
    """In the repository, or in its pages."""
    texts = [*(path.read_text(encoding="utf-8") for path in FILES), *(one[2] for one in QUOTED)]
    names = {name_of(said) for text in texts if (said := stated(text))}
    assert names | {"characterization", "services-part"} == set(SCHEMAS)


@pytest.mark.parametrize(
    ("page", "line", "text", "alone"), QUOTED, ids=[f"{p.stem}:{n}" for p, n, _, _ in QUOTED]
)
def test_an_editor_finds_no_mistake_in_what_a_page_shows(
    page: Path, line: int, text: str, alone: bool
) -> None:
    said, where = stated(text), modeline(text)
    assert said is not None
    if alone:
        assert where is not None, f"{page.relative_to(ROOT)}:{line}: no modeline"
    if where is not None:
        assert (page.parent / where).resolve() == FOLDER / f"{name_of(said)}.json"
    found = mistakes(name_of(said), plain(text))
    if found and not alone and said.startswith("wcetchar/services/"):
        found = mistakes("services-part", plain(text))  # what a command takes may be a part
    assert found == []
