"""Tables of public calls on the generated pages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "docs"))

from counted_calls import BY_ANOTHER, CHARACTERIZED, NOT, Group, calls_table

GROUPS = [
    Group(CHARACTERIZED, "driven", 6),
    Group(NOT, "for a | reason\n of", 1),
    Group(BY_ANOTHER, "the same_function", 2),
    Group(NOT, "another", 0),
]


def test_every_call_is_in_the_table_once() -> None:
    assert calls_table(GROUPS, 9).splitlines()[2:] == [
        "| **6** | **characterized** | **66.6 %** | |",
        "| 6 | | | driven |",
        "| **2** | **another service stands for it** | **22.2 %** | |",
        "| 2 | | | the same\\_function |",
        "| **1** | **not characterized** | **11.1 %** | |",
        "| 1 | | | for a \\| reason of |",
        "| 0 | | | another |",
        "| **9** | **all** | **100 %** | |",
    ]


def test_a_call_that_is_in_no_group_is_seen() -> None:
    with pytest.raises(ValueError, match="9 calls are in groups, but the headers have 10"):
        calls_table(GROUPS, 10)
