"""The JSON Schemas that are shipped, and the line by which an editor finds one.

They are files of the package (``schemas/``), made by :mod:`wcetchar.store.schema_files`.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wcetchar.errors import InputError, did_you_mean
from wcetchar.store.checking import one_of
from wcetchar.store.names import PACKAGE
from wcetchar.store.source import shown

SCHEMAS: Final = PACKAGE / "store" / "schemas"
_MODELINE: Final = re.compile(r"# yaml-language-server: \$schema=\S+\n")
_VERSION: Final = re.compile(r"wcetchar/([a-z-]+)/[0-9]+")


@dataclass(frozen=True)
class ShippedSchema:
    """``states``: what the key ``schema`` of a file says, empty where a file has no such key."""

    name: str
    states: str
    description: str
    path: str


def schema_names() -> tuple[str, ...]:
    """Sorted."""
    return tuple(sorted(path.stem for path in SCHEMAS.glob("*.json")))


def schema_path(name: str) -> Path:
    """Of a schema by its name, or by what a file states (``wcetchar/budget/1``).

    Raises:
        InputError: there is none; without a place.
    """
    stated = _VERSION.fullmatch(name)
    found = SCHEMAS / f"{stated[1] if stated else name}.json"
    names = schema_names()
    # A version that no schema is of is none of its name.
    if found.stem not in names or (stated and _shipped(found).states != name):
        raise InputError(
            f"there is no schema {shown(name)}",
            expected=one_of(names),
            hint=did_you_mean(found.stem, names),
        )
    return found


def schema_text(name: str) -> str:
    """Raises as :func:`schema_path`."""
    return schema_path(name).read_text(encoding="utf-8")


def shipped_schemas() -> tuple[ShippedSchema, ...]:
    """All, by name."""
    return tuple(_shipped(schema_path(name)) for name in schema_names())


def with_modeline(text: str, name: str, output: str | None, *, add: bool = True) -> str:
    """A YAML file with the schema of that name in its first line, for editors.

    Args:
        output: where the file is to lie, from where the path to the schema leads; ``None`` and
            ``-``: the current folder.
        add: where the text has no such line yet.
    """
    has_one = _MODELINE.match(text) is not None
    if not has_one and not add:
        return text
    folder = os.getcwd()
    if output is not None and output != "-":
        folder = os.path.dirname(os.path.realpath(output))
    try:
        where = Path(os.path.relpath(schema_path(name), folder)).as_posix()
    except ValueError:  # another drive
        where = schema_path(name).as_uri()
    line = f"# yaml-language-server: $schema={where.replace(' ', '%20')}\n"
    return line + (_MODELINE.sub("", text, count=1) if has_one else text)


def _shipped(path: Path) -> ShippedSchema:
    schema = json.loads(path.read_text(encoding="utf-8"))
    version = str(schema["$id"]).removeprefix("urn:wcetchar:").removesuffix("/part")
    states = "" if "schema_version" in schema.get("properties", {}) else f"wcetchar/{version}"
    return ShippedSchema(path.stem, states, str(schema["description"]), str(path))
