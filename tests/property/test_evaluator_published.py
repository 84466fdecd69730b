"""The page's evaluator on published characterizations, at random numbers and values."""

from __future__ import annotations

import random

import pytest
from evaluator_cases import Both, compared
from needs import need


@pytest.fixture(autouse=True)
def node() -> None:
    need("node", "nodejs")


@pytest.mark.parametrize("platform", ["platform1", "platform2", "platform3"])
def test_it_finds_what_the_estimate_finds(platform: str) -> None:
    """Prices of the founding paper's platforms are sums, so no number is outside."""
    both = Both.of_files("renaux2010", f"renaux2010/{platform}", f"renaux2010/map{platform[-1]}")
    inside, reasons = compared(both, both.random_cases(60, random.Random(1)))
    assert (inside, reasons) == (60, [])


def test_where_caches_load_lines() -> None:
    both = Both.of_files("muller2007", "muller2007/cached", "muller2007/map")
    inside, reasons = compared(both, both.random_cases(60, random.Random(1)))
    assert inside > 30
    assert set(reasons) <= {
        "what lines of caches take at these values of parameters is not in this file"
    }
