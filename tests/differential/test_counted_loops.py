"""Bounds of loops, values and addresses that the analysis derives, against runs of random programs
in unicorn: for every core and level of optimization."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("unicorn")
pytest.importorskip("wcetchar.static.flow.graph")

from loop_check import Checked
from loop_programs import LEVELS, MISSING, TARGETS, functions, narrow, nested, passing

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def checked(
    folder: Path, target: str, level: str, seed: int, count: int, runs: int, plain: bool = False
) -> Checked:
    rng = random.Random(f"{target} {level} {seed}")
    program = Checked(folder, target, level, functions(rng, count, plain=plain))
    program.check(rng, runs, most=20_000 if plain else 6000, watched=400, small=plain)
    return program


@pytest.mark.parametrize("target", TARGETS)
def test_counted_loops(target: str, tmp_path: Path) -> None:
    """Many of these loops have no bound: they need not end, or a called function may know the
    frame."""
    seen: Counter[str] = Counter()
    for seed, level in enumerate(LEVELS):
        seen += checked(tmp_path, target, level, seed, count=3, runs=4).seen
    assert seen["bounded"] > seen["loops"] // 4
    assert seen["compared"] > 0
    assert seen["known values"] > 1000


@pytest.mark.parametrize(
    "level",
    [pytest.param(n, marks=[] if n in ("-O0", "-O2") else pytest.mark.long) for n in LEVELS],
)
@pytest.mark.parametrize("target", TARGETS)
def test_plain_loops(target: str, level: str, tmp_path: Path) -> None:
    """Nearly every one is bounded, and always exactly, where a run ends."""
    program = checked(tmp_path, target, level, 7, count=4, runs=3, plain=True)
    assert program.seen["bounded"] >= 0.9 * program.seen["loops"], program.missed
    # Those of deep nests go on for too long to be seen to the end.
    assert program.seen["exact"] == program.seen["compared"] > 0


def narrow_ones(folder: Path, target: str, level: str, seed: int, count: int) -> Checked:
    rng = random.Random(f"narrow {target} {level} {seed}")
    program = Checked(folder, target, level, narrow(rng, count))
    program.check(rng, 6, most=6000, watched=300)
    return program


@pytest.mark.parametrize("target", TARGETS)
def test_narrow_counters_until_they_are_equal(target: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    missed: list[str] = []
    for level in LEVELS:
        program = narrow_ones(tmp_path, target, level, 0, count=6)
        seen += program.seen
        missed += program.missed
    assert seen["bounded"] > 0.8 * seen["loops"], missed
    assert seen["exact"] > seen["compared"] // 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", TARGETS)
def test_more_narrow_counters(target: str, level: str, seed: int, tmp_path: Path) -> None:
    narrow_ones(tmp_path, target, level, 100 + seed, count=12)


def nested_ones(folder: Path, target: str, level: str, seed: int, count: int) -> Checked:
    rng = random.Random(f"nested {target} {level} {seed}")
    program = Checked(folder, target, level, nested(rng, count))
    program.check(rng, 6, most=8000, watched=300, small=True)
    return program


@pytest.mark.parametrize("target", TARGETS)
def test_loops_that_depend_on_the_loop_around(target: str, tmp_path: Path) -> None:
    """Each time that the outer one is entered, the inner one has a bound for all together."""
    seen: Counter[str] = Counter()
    for level in ("-O0", "-O2"):
        seen += nested_ones(tmp_path, target, level, 0, count=8).seen
    assert seen["totals"] > 0
    assert seen["exact totals"] > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", TARGETS)
def test_more_nested_loops(target: str, level: str, seed: int, tmp_path: Path) -> None:
    nested_ones(tmp_path, target, level, 100 + seed, count=12)


def handing_over(folder: Path, target: str, level: str, seed: int, count: int) -> Checked:
    rng = random.Random(f"passing {target} {level} {seed}")
    program = Checked(folder, target, level, passing(rng, count))
    program.check(rng, 4, most=6000, watched=400, small=True)
    return program


@pytest.mark.parametrize("target", TARGETS)
def test_variables_whose_address_is_handed_over(target: str, tmp_path: Path) -> None:
    """Counters beside them are followed where what is called leaves them alone."""
    seen: Counter[str] = Counter()
    for level in ("-O0", "-O1"):
        seen += handing_over(tmp_path, target, level, 0, count=8).seen
    assert seen["bounded"] > seen["loops"] // 4
    assert seen["compared"] > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", TARGETS)
def test_more_variables_handed_over(target: str, level: str, seed: int, tmp_path: Path) -> None:
    handing_over(tmp_path, target, level, 100 + seed, count=12)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", TARGETS)
def test_more_counted_loops(target: str, level: str, seed: int, tmp_path: Path) -> None:
    checked(tmp_path, target, level, 100 + seed, count=12, runs=8)
