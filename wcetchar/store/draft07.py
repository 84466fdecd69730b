"""What pydantic says of a document (JSON Schema, draft 2020-12) as draft-07, for editors.

Draft-07 is what editors and checkers of YAML know best. It calls ``$defs`` ``definitions`` and
ignores all that stands beside a ``$ref``, which goes into ``allOf``. Of a key whose value is a
``$ref`` the language server for YAML shows what is said of the definition, not of the key; so
schemas of what people write have the definitions in their places. Each key has a title, for a list
of keys, and a description, for who points at it.

Source: json-schema.org, "Draft 2019-09 Release Notes", "Draft 2020-12 Release Notes", which say
what has another name since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from wcetchar.store.shapes import UNITS

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_OLD: Final = "#/$defs/"
_NEW: Final = "#/definitions/"
_NULL: Final = {"type": "null"}
_VALUES: Final = ("default", "const", "enum", "examples")
_UNKNOWN: Final = ("prefixItems", "dependentRequired", "dependentSchemas", "unevaluatedProperties")
"""Of later drafts, and of no document so far."""


_CHOICES: Final = ("anyOf", "oneOf")
_SAID: Final = ("title", "description")


def draft07(schema: Mapping[str, Any], *, by_hand: bool) -> dict[str, Any]:
    """A schema of a whole document.

    Args:
        by_hand: of YAML that people write: no value may be ``null``, and definitions stand where
            they are used.

    Raises:
        ValueError: it has a keyword that is not translated, or a definition that holds itself.
    """
    if not by_hand:
        whole = _translated(schema, by_hand)
    else:
        definitions = schema.get("$defs", {})
        rest = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
        whole = _translated(_in_place(rest, definitions, ()), by_hand)
    assert isinstance(whole, dict)
    return whole


def _in_place(schema: Any, definitions: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    if isinstance(schema, list):
        return [_in_place(one, definitions, within) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {key: _in_place(one, definitions, within) for key, one in schema.items()}
    reference = found.pop("$ref", None)
    if not isinstance(reference, str):
        return found
    name = reference.removeprefix(_OLD)
    if name in within:
        raise ValueError(f"{name} holds itself")
    definition = _in_place(definitions[name], definitions, (*within, name))
    return {**_titled(definition, _words(name)), **found}


def _translated(schema: Any, by_hand: bool) -> Any:
    if isinstance(schema, list):
        return [_translated(one, by_hand) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    for keyword in _UNKNOWN:
        if keyword in schema:
            raise ValueError(f"{keyword} has no translation into draft-07 here")
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "$defs":
            found["definitions"] = {
                _name(name): _titled(_translated(one, by_hand), _words(name))
                for name, one in value.items()
            }
        elif keyword == "properties":
            found[keyword] = {
                key: _titled(_translated(one, by_hand), key) for key, one in value.items()
            }
        elif keyword == "patternProperties":
            found[keyword] = {name: _translated(one, by_hand) for name, one in value.items()}
        elif keyword == "$ref":
            found[keyword] = _NEW + _name(value.removeprefix(_OLD))
        elif keyword == "description":
            found[keyword] = " ".join(value.replace("``", "`").split())
        elif keyword in _VALUES:
            found[keyword] = value
        elif keyword != "discriminator":  # that one is of OpenAPI
            found[keyword] = _translated(value, by_hand)
    return _reference(_said_once(_something(found)) if by_hand else found)


def undescribed(schema: Any, way: str = "") -> Iterator[str]:
    """Ways to keys without a title or a description of their own, in all of a schema."""
    if isinstance(schema, list):
        for number, one in enumerate(schema):
            yield from undescribed(one, f"{way}/{number}")
    elif isinstance(schema, Mapping):
        for keyword, value in schema.items():
            if keyword in ("properties", "definitions"):
                for key, one in value.items():
                    here = f"{way}/{keyword}/{key}"
                    if not all(one.get(said, "").strip() for said in ("title", "description")):
                        yield here
                    yield from undescribed(one, here)
            elif keyword not in _VALUES:
                yield from undescribed(value, f"{way}/{keyword}")


def _something(schema: dict[str, Any]) -> dict[str, Any]:
    """Without what a YAML file cannot say, or need not."""
    default = schema.get("default")
    if default in (None, "", [], {}):
        schema.pop("default", None)
    elif isinstance(default, str) and default.isdecimal():  # a fraction
        schema["default"] = f"{default} ns" if UNITS in schema else int(default)
    choices = [one for one in schema.get("anyOf", ()) if one != _NULL]
    if "anyOf" in schema:
        schema["anyOf"] = choices
    if len(choices) == 1:
        del schema["anyOf"]
        schema = {**choices[0], **schema}
    return schema


def _said_once(schema: dict[str, Any]) -> dict[str, Any]:
    """What is said of a key is not said of what may stand there, for editors show that instead."""
    if "description" not in schema:
        return schema
    for keyword in _CHOICES:
        if keyword in schema:
            schema[keyword] = [
                {said: value for said, value in one.items() if said not in _SAID}
                for one in schema[keyword]
            ]
    return schema


def _reference(schema: dict[str, Any]) -> dict[str, Any]:
    """Nothing beside a ``$ref``."""
    if "$ref" in schema and len(schema) > 1:
        reference = {"$ref": schema.pop("$ref")}
        schema = {"allOf": [reference], **schema}
    return schema


def _titled(schema: Any, title: str) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    return _reference({**schema, "title": title[:1].upper() + title[1:].replace("_", " ")})


def _name(definition: str) -> str:
    return definition.removesuffix("Doc").replace("DocChanged", "Changed")


def _words(definition: str) -> str:
    """`AccessTimeDoc` -> `Access time`."""
    words = re.findall(r"[A-Z][a-z]*|[a-z]+", _name(definition))
    return " ".join(words).lower()
