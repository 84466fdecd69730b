"""What pydantic says of a document (JSON Schema, draft 2020-12) as draft-07, for editors.

Draft-07 is what editors and checkers of YAML know best. It calls ``$defs`` ``definitions`` and
ignores all that stands beside a ``$ref``, which goes into ``allOf`` here. Each key has a title, for
a list of keys, and a description, for who points at it.

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
_UNKNOWN: Final = ("prefixItems", "dependentRequired", "dependentSchemas", "unevaluatedProperties")
"""Of later drafts, and of no document so far."""


def draft07(schema: Any, *, nothing: bool) -> Any:
    """A schema of a document, or a part of one.

    Args:
        nothing: ``null`` may stand for a value that is left out; a YAML file may not say it.

    Raises:
        ValueError: it has a keyword that is not translated.
    """
    if isinstance(schema, list):
        return [draft07(one, nothing=nothing) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    for keyword in _UNKNOWN:
        if keyword in schema:
            raise ValueError(f"{keyword} has no translation into draft-07 here")
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "$defs":
            found["definitions"] = {
                _name(name): _titled(draft07(one, nothing=nothing), _words(name))
                for name, one in value.items()
            }
        elif keyword == "properties":
            found[keyword] = {
                key: _titled(draft07(one, nothing=nothing), key) for key, one in value.items()
            }
        elif keyword == "$ref":
            found[keyword] = _NEW + _name(value.removeprefix(_OLD))
        elif keyword == "description":
            found[keyword] = " ".join(value.replace("``", "`").split())
        elif keyword == "discriminator":
            pass  # of OpenAPI
        elif keyword in ("patternProperties", "default", "const", "enum", "examples"):
            found[keyword] = (
                {name: draft07(one, nothing=nothing) for name, one in value.items()}
                if keyword == "patternProperties"
                else value
            )
        else:
            found[keyword] = draft07(value, nothing=nothing)
    return _reference(found if nothing else _something(found))


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
            elif keyword not in ("default", "const", "enum", "examples"):
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
