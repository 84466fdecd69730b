"""Lines of comma-separated values, each value with its place."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wcetchar.errors import InputError, Location, one_line
from wcetchar.store.source import shown

MAX_BYTES: Final = 64 * 1024 * 1024
MAX_CELL: Final = 4096


@dataclass(frozen=True)
class Cell:
    text: str
    where: Location


def lines(text: str, path: str) -> Iterator[list[Cell]]:
    """The cells of each line that says something. Empty lines, and lines that begin with ``#``, are
    left out.

    Raises:
        InputError: a line is none of comma-separated values, or a value is too long.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            (row,) = csv.reader([line], strict=True)
        except (csv.Error, ValueError) as error:
            raise InputError(
                f"is no line of comma-separated values: {one_line(str(error))}",
                where=Location(path, number, 1),
                expected="values between commas, on one line",
            ) from None
        column, cells = 1, []
        for cell in row:
            if len(cell) > MAX_CELL:
                raise InputError(
                    f"a value has more than {MAX_CELL} characters",
                    where=Location(path, number, column),
                )
            cells.append(Cell(cell.strip(), Location(path, number, column)))
            quoted = line[column - 1 : column] == '"'
            column += len(cell) + 1 + (2 + cell.count('"') if quoted else 0)
        yield cells


def columns_of(cells: list[Cell], mistakes: list[InputError]) -> list[str]:
    """Names of a heading; those that are empty or there twice are noted."""
    seen: set[str] = set()
    for cell in cells:
        if not cell.text:
            mistakes.append(InputError("a column has no heading", where=cell.where))
        elif cell.text in seen:
            mistakes.append(
                InputError(f"column {shown(cell.text)} is there twice", where=cell.where)
            )
        seen.add(cell.text)
    return [cell.text for cell in cells]
