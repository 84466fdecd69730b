"""How JSON Schemas say what a quantity may look like, for editors.

A schema refuses nothing that the readers of ``quantity`` accept; it knows the units of each kind,
which the keyword ``x-units`` also names, but not that ends and tolerances fit each other.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import WithJsonSchema

from wcetchar.store.quantity import COUNT_SHAPE, ERRORS, KIND, NUMBER, SIGN, Dimension, units_of

UNITS: Final = "x-units"
"""Of a schema: the units that a text ends with."""
MESSAGE: Final = "patternErrorMessage"
"""What the language server for YAML says in the place of the pattern."""
_CYCLES: Final = ("cycle", "cycles")


def pattern(units: tuple[str, ...]) -> str:
    """Of a quantity in one of these units, with white space around it."""
    unit = "(?:" + "|".join(units) + ")"
    return (
        rf"^\s*{NUMBER}(?:\s*\.\.\s*{NUMBER})?\s*{unit}"
        rf"(?:\s*{SIGN}\s*{NUMBER}\s*(?:{unit}|%)(?:\s+(?:{KIND}))?){{0,{ERRORS}}}\s*$"
    )


def quantity_schema(dimension: Dimension, *examples: str, clock: bool = True) -> WithJsonSchema:
    """``clock``: one is known, so that a time may be in cycles."""
    return WithJsonSchema(quantity_text(dimension, *examples, clock=clock))


def quantity_text(dimension: Dimension, *examples: str, clock: bool = True) -> dict[str, Any]:
    """As :func:`quantity_schema`, for a part of another schema."""
    units = tuple(unit for unit in units_of(dimension) if clock or unit not in _CYCLES)
    shown = [unit for unit in units if unit not in ("μs", "cycle")]
    such = f", such as `{examples[0]}`" if examples else ""
    return {
        "type": "string",
        "pattern": pattern(units),
        MESSAGE: f"a {dimension.value} in {', '.join(shown)}{such}",
        "examples": list(examples),
        UNITS: shown,
    }


def percent_schema(*examples: str) -> WithJsonSchema:
    return WithJsonSchema(percent_text(*examples))


def percent_text(*examples: str) -> dict[str, Any]:
    """As :func:`percent_schema`, for a part of another schema."""
    return {
        "type": "string",
        "pattern": rf"^\s*{NUMBER}\s*%\s*$",
        MESSAGE: f"a percentage such as `{examples[0]}`",
        "examples": list(examples),
        UNITS: ["%"],
    }


def factor_schema(*examples: float) -> WithJsonSchema:
    """A decimal factor from 1 on; quoted, it is text."""
    text = {"type": "string", "pattern": r"^[1-9][0-9]{0,8}(\.[0-9]{1,9})?$"}
    number = {"type": "number", "minimum": 1, "examples": list(examples)}
    return WithJsonSchema({"anyOf": [number, text]})


COUNT_PATTERN: Final = rf"^\s*{COUNT_SHAPE}\s*$"
"""Of a count that may have errors."""
