"""Which sets have no room for what a service fetches from, on runs that are written by hand."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rtl_bench import ROOT

CALL, ENTRY, BEHIND = 0x1000, 0x2004, 0x1004
CALLED, RETURNED = 10, 60


@pytest.fixture
def full_sets(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "rtl_boards"))
    return import_module("full_sets")


def run_of(*refills: tuple[int, int, int]) -> SimpleNamespace:
    """The call, two instructions of the service and what it returns to; line, asked and loaded of
    each refill."""
    line, asked, loaded = np.array(refills, dtype=np.int64).reshape(-1, 3).T
    address = np.array([CALL, ENTRY, ENTRY + 4, BEHIND])
    cycle = np.array([CALLED, 30, RETURNED, 75])
    return SimpleNamespace(address=address, cycle=cycle, line=line, asked=asked, loaded=loaded)


WINDOW = SimpleNamespace(first=1, last=2)


@pytest.mark.parametrize(
    ("refills", "lines"),
    [
        ((), set()),
        # The entry's line may be asked for before the call retires.
        (((0x2000, 8, 20), (0x3000, 31, 42)), {0x2000, 0x3000}),
        # In vain behind the call: not the service's; behind its entry: its own.
        (((0x1020, 5, 15), (0x2000, 16, 27), (0x2020, 28, 39)), {0x2000, 0x2020}),
        (((0x1020, 5, 15), (0x2020, 28, 39)), {0x2020}),
        # Over before, and begun behind its end.
        (((0x2000, 0, 9), (0x2040, 61, 72)), set()),
        # Asked for just when it returns, and what it returns to.
        (((0x2040, 60, 71),), {0x2040}),
        (((0x1000, 58, 69),), set()),
    ],
)
def test_lines_of_a_service(
    full_sets: Any, refills: tuple[tuple[int, int, int], ...], lines: set[int]
) -> None:
    found = full_sets.lines_of(run_of(*refills), WINDOW)
    assert found == {line // 32 for line in lines}


@pytest.mark.parametrize(
    ("lines", "full"),
    [
        (set(), []),
        ({0x2000, 0x2020, 0x2FE0}, []),
        ({0x2000, 0x3000}, [0]),  # 4 KiB apart
        ({0x2FE0, 0x3FE0, 0x3000, 0x2000, 0x4000, 0x2040}, [0, 127]),
    ],
)
def test_sets_without_room(full_sets: Any, lines: set[int], full: list[int]) -> None:
    assert full_sets.full_sets({line // 32 for line in lines}) == full
