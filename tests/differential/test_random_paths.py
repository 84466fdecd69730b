"""Path models of random small programs against runs with every input.

For each instruction set and degree of optimisation, programs of three kinds (``path_programs``) in
one firmware (``path_firmware``). What is demanded of their models stands in ``path_checks``: every
path that an input takes is one of the model's, counts the same, keeps to all constraints, and is
not dearer than the bound, at several prices; of programs without infeasible paths one is as dear.
Models that were made when one input had been seen have the paths of all others. Facts that some
input does not keep to are refused.

A failing program is printed with its seed and its facts; the folder of the run has its sources.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from statistics import median

import pytest
from path_checks import check_facts, check_unseen, checked
from path_firmware import TARGETS, Target, run
from path_programs import Kind, program

OPTIMISATIONS = ("-O1", "-O2", "-Os")
BY_NAME = {target.name: target for target in TARGETS}


def _seed(*parts: object) -> int:
    return zlib.crc32(" ".join(map(str, parts)).encode()) % 10**6


def _check(target: Target, optimisation: str, kind: Kind, count: int, folder: Path) -> None:
    first = _seed(target.name, optimisation, kind.value)
    programs = [program(first + number, kind, number) for number in range(count)]
    ran = run(target, optimisation, programs, folder)
    # What bounds the loops of the compiler's runtime is not known: what was seen is taken.
    models, ratios = checked(ran, observed=kind is not Kind.GENERAL)
    assert len(ratios) == count
    assert all(ratio.bound >= ratio.seen for ratio in ratios)
    said = f"{len(ratios)} {kind.value} programs: median of bound / seen "
    print(said + f"{median(ratio.bound / ratio.seen for ratio in ratios):.3f}")
    tried = check_facts(ran, models, first, wrong=2)
    assert sum(number for what, number in tried.items() if what.startswith("wrong")) >= count
    if kind is Kind.GENERAL:
        assert check_unseen(ran, models.facts) >= 0.4 * count
        check_unseen(ran, models.facts, depth=first % 3)


@pytest.mark.parametrize(
    ("name", "optimisation"),
    [
        ("thumb2", "-O2"),
        pytest.param("thumb1", "-Os", marks=pytest.mark.long),
        pytest.param("arm", "-O2", marks=pytest.mark.long),
        ("thumb-armv4t", "-O1"),
        ("rv32imc", "-Os"),
    ],
)
@pytest.mark.parametrize(("kind", "count"), [(Kind.EXACT, 6), (Kind.GENERAL, 4)])
def test_some(name: str, optimisation: str, kind: Kind, count: int, tmp_path: Path) -> None:
    _check(BY_NAME[name], optimisation, kind, count, tmp_path)


@pytest.mark.parametrize("name", ["thumb1", "arm"])
def test_the_runtime_of_the_compiler(name: str, tmp_path: Path) -> None:
    _check(BY_NAME[name], "-O2", Kind.RUNTIME, 3, tmp_path)


COUNTS = {Kind.EXACT: 24, Kind.GENERAL: 32, Kind.RUNTIME: 12}


@pytest.mark.long
@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("optimisation", OPTIMISATIONS)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_thousand(name: str, optimisation: str, kind: Kind, tmp_path: Path) -> None:
    _check(BY_NAME[name], optimisation, kind, COUNTS[kind], tmp_path)


def test_they_are_a_thousand() -> None:
    assert sum(COUNTS.values()) * len(OPTIMISATIONS) * len(BY_NAME) >= 1000
