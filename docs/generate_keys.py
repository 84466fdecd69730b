"""Writes the tables of keys into the reference pages, from the JSON Schemas.

python docs/generate_keys.py

A page says where: between ``<!-- keys: SCHEMA -->`` and ``<!-- end of keys -->``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wcetchar.store.schema_files import FOLDER

REFERENCE = Path(__file__).parent / "reference"
MARKED = re.compile(
    r"(?P<begin><!-- keys: (?P<name>[\w-]+)(?: only (?P<only>[\w ,-]+))? -->\n)"
    r".*?(?P<end><!-- end of keys -->\n)",
    re.DOTALL,
)
HEAD = ("| key | what stands there | unit | if left out | meaning |", "|---|---|---|---|---|")
MOST_CHOICES = 12
LARGE = 1 << 32
Schema = dict[str, Any]


def pages() -> Iterator[tuple[Path, str]]:
    """Each page that has such places, and its text as it should be."""
    for page in sorted(REFERENCE.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if MARKED.search(text):
            yield page, MARKED.sub(_filled, text)


def _filled(match: re.Match[str]) -> str:
    only = None if match["only"] is None else [key.strip() for key in match["only"].split(",")]
    body = "\n".join(tables(match["name"], only))
    return f"{match['begin']}\n{body}\n\n{match['end']}"


def tables(name: str, only: list[str] | None = None) -> Iterator[str]:
    """Lines of Markdown: one table for each mapping with keys of its own, in the order of the file.

    Args:
        only: these keys of the file itself.
    """
    schema = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    yield "Written from the JSON Schema by `docs/generate_keys.py`, as an editor shows it too"
    yield f"([how](../howto/editors.md)): `wcetchar schema {name}`."
    whole = schema.get("else", schema)
    if "then" in schema:  # what only a file that is based on another one has
        whole = {**whole, "properties": {**whole["properties"], **_only_then(schema)}}
    if only is not None:
        whole = {**whole, "properties": {key: whole["properties"][key] for key in only}}
    for ways, node in _alike(whole):
        yield ""
        if ways[0]:
            yield f"In {ways[0]}{_and_others(ways)}:"
            yield ""
        yield from HEAD
        for key, one in node["properties"].items():
            yield _row(key, one, key in node.get("required", []))


def _alike(whole: Schema) -> list[tuple[list[str], Schema]]:
    """Mappings with keys of their own, each with the ways to it: several where they are alike."""
    found: list[tuple[list[str], Schema]] = []
    todo: list[tuple[str, Schema]] = [("", whole)]
    while todo:
        way, node = todo.pop(0)
        known = [ways for ways, other in found if other["properties"] == node["properties"]]
        if known:
            known[0].append(way)
            continue
        found.append(([way], node))
        inner: list[tuple[str, Schema]] = []
        for key, one in node["properties"].items():
            inner += _mappings(one, f"`{key}` of {way}" if way else f"`{key}`")
        todo = inner + todo
    return found


def _and_others(ways: list[str]) -> str:
    keys = list(dict.fromkeys(re.findall(r"`([^`]+)`", way)[0] for way in ways))
    return f" (and {', '.join(f'`{key}`' for key in keys[1:])})" if keys[1:] else ""


def _only_then(schema: Schema) -> Schema:
    then, whole = schema["then"]["properties"], schema["else"]["properties"]
    return {key: one for key, one in then.items() if key not in whole}


def _mappings(schema: Schema, way: str) -> Iterator[tuple[str, Schema]]:
    """Mappings with keys of their own in what stands there."""
    if schema.get("properties"):
        yield way, schema
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _mappings(one, way)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _mappings(schema["additionalProperties"], f"an entry of {way}")
    if isinstance(schema.get("items"), dict):
        yield from _mappings(schema["items"], f"an item of {way}")


def _row(key: str, schema: Schema, required: bool) -> str:
    units = sorted(dict.fromkeys(_units(schema)), key=list(_units(schema)).index)
    default = "needed" if required else _value(schema["default"]) if "default" in schema else ""
    cells = (f"`{key}`", kind(schema), ", ".join(units), default, schema["description"])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _units(schema: Schema) -> Iterator[str]:
    yield from schema.get("x-units", ())
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _units(one)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from _units(schema[keyword])


def _value(value: object) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`" if value != "" else "empty"


def kind(schema: Schema) -> str:
    """What may stand there, in words."""
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if any(one.get("type") == "number" for one in choices):
        return "number from 1 on"
    if choices:
        return " or ".join(dict.fromkeys(kind(one) for one in choices))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return _one_of(schema["enum"])
    if "patternErrorMessage" in schema:
        such = ", ".join(f"`{one}`" for one in schema.get("examples", ())[:2])
        named = re.match(r"an? (.*?) (?:in|such as) ", schema["patternErrorMessage"])
        assert named is not None, schema
        return f"{named[1]}: {such}"
    of = schema.get("type")
    if of == "integer":
        return _whole(schema.get("minimum"), schema.get("maximum"))
    if of == "array":
        return f"list of {kind(schema['items'])}"
    if of == "object":
        return _mapping(schema)
    names = {"boolean": "true or false", "number": "number", "string": "text"}
    return names.get(str(of), "text")


def _mapping(schema: Schema) -> str:
    inner = schema.get("additionalProperties")
    if not isinstance(inner, dict):
        return "keys, below"
    names = schema.get("propertyNames", {}).get("enum")
    by = "by name" if names is None else f"by {_one_of(names)}"
    return f"{by}: {kind(inner)}"


def _one_of(values: list[object]) -> str:
    shown = [f"`{value}`" for value in values]
    if len(shown) > MOST_CHOICES:
        return f"one of {len(shown)} names, such as {', '.join(shown[:2])}"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _whole(least: int | None, most: int | None) -> str:
    least = None if least is None or abs(least) >= LARGE else least
    most = None if most is None or abs(most) >= LARGE else most
    if least is None and most is None:
        return "whole number"
    if most is None:
        return f"whole number from {least}"
    return f"whole number from {least} to {most:,}"


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
