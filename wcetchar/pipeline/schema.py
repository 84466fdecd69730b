"""JSON Schemas of the files, for editors and checkers."""

from __future__ import annotations

from typing import Final

from wcetchar.report.sheet import Sheet, render, text_column
from wcetchar.store.shipped_schemas import schema_path, schema_text, shipped_schemas

_LIST: Final = "wcetchar/schemas/1"
_COLUMNS: Final = (
    text_column("schema", "name"),
    text_column("the file says", "states"),
    text_column("what it is", "description"),
    text_column("", "path"),
)


def one(name: str, *, where: bool = False) -> str:
    """The text of a schema; ``where``: the path of its file.

    Raises:
        InputError: there is none of that name.
    """
    return f"{schema_path(name)}\n" if where else schema_text(name)


def listed(form: str, width: int, color: bool) -> str:
    """All schemas; ``form``: of ``wcetchar.report.sheet.FORMATS``."""
    rows = tuple(
        (found.name, found.states or None, found.description, found.path)
        for found in shipped_schemas()
    )
    return render([Sheet(_LIST, _COLUMNS, rows)], form, width, color)
