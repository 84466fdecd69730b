"""What may name a parameter: of services files, which declare them, and of characterizations."""

from __future__ import annotations

import re
from typing import Final

from wcetchar.model.expression import Function
from wcetchar.store.source import shown

IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def parameter_name_mistake(name: str) -> str | None:
    """Why ``name`` cannot name a parameter in a formula, or ``None``."""
    if not IDENTIFIER.fullmatch(name):
        return f"{shown(name)} cannot name a parameter"
    if name in {function.value for function in Function}:
        return f"{shown(name)} is the name of a function of formulas"
    return None
