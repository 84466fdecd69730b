"""``wcetchar sweep --solve`` over all paths, against ``wcetchar estimate`` at each value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from test_cli_estimate import MAP, PROFILE
from test_sweep_command import BOARD
from test_system_all_paths import with_paths

from wcetchar.cli import main
from wcetchar.engine.path_ratios import times_as_dear
from wcetchar.model.characterization import Word
from wcetchar.model.estimate import OverAllPaths
from wcetchar.model.path_model import Gap
from wcetchar.pipeline.solve import _Solver, _Taken
from wcetchar.pipeline.sweep import SweptServices
from wcetchar.store import characterization_json

WALK = ("k.json", "--profile", "board.yaml", "--map", "map.yaml", "--service", "walk")
HIDES = BOARD.replace("load: 2 cycles", "load: 0 cycles").replace("{fetch: 1", "{fetch: 2")
"""The faster the clock, the less of a fetch is hidden."""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.json").write_text(characterization_json(with_paths()))
    Path("board.yaml").write_text(BOARD)
    Path("map.yaml").write_text(MAP.replace("flash", "code flash").replace("\n  N: 4", " {}"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def taken(*arguments: str) -> tuple[Fraction, str, bool]:
    """What estimate says of walk: the larger of both, its word, and whether it is of all paths."""
    done = run("estimate", *arguments, "--json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["estimates"]
    over = found["over_all_paths"]
    most = max(found["total_ns"], over["bound_ns"])
    return most, over["word"], over["bound_ns"] > found["total_ns"]


AXES: Mapping[str, tuple[str, list[Any], bool, Callable[[str, Any], str]]] = {
    "clock": (
        "core.clock=5..40MHz",
        [*range(5, 41)],
        True,
        lambda b, x: b.replace("100 MHz +- 1 %", f"{x} MHz"),
    ),
    "width": (
        "regions.code flash.bus width=8,16,32,64",
        [8, 16, 32, 64],
        True,
        lambda b, x: b.replace("bus width: 16", f"bus width: {x}"),
    ),
    "fetch": (
        "regions.code flash.fetch.first=10,20,30,31,40,90ns",
        [10, 20, 30, 31, 40, 90],
        False,
        lambda b, x: b.replace("first: 30 ns", f"first: {x} ns"),
    ),
}


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("clock", BOARD),
        ("clock", HIDES),
        ("width", BOARD),
        ("fetch", BOARD),
    ],
    ids=lambda one: one.partition("\n")[0],
)
def test_what_is_solved_holds_over_all_paths(name: str, board: str) -> None:
    axis, values, smallest, on = AXES[name]
    Path("board.yaml").write_text(board)
    figures = []
    for value in values:
        Path("other.yaml").write_text(on(board, value))
        files = ("k.json", "--profile", "other.yaml", "--map", "map.yaml", "--service", "walk")
        figures.append(taken(*files, "--set", "N=6"))
    assert all(more for _, _, more in figures)  # totals alone keep more
    order = range(len(values))[:: -1 if smallest else 1]
    times = sorted({int(time) for time, _, _ in figures})
    for budget in times[:: max(1, len(times) // 12)]:
        holding = [k for k in order if figures[k][0] <= budget]
        asked = (*WALK, "--set", "N=6", "--solve", axis, "--budget", f"{budget}ns")
        done = run("sweep", *asked, "--json")
        assert done.exit_code == (0 if holding else 1), done.output
        found = json.loads(done.stdout)
        (row,) = found["rows"]
        assert found["over_all_paths"] == ["walk"]
        if not holding:
            assert row["total_ns"] is None
            continue
        best = holding[-1]
        solved = next(v for k, v in row.items() if k.startswith(axis.split("=")[0]))
        assert solved == values[best]
        assert (row["total_ns"], row["word"]) == figures[best][:2]
        following = order.index(best) + 1
        beyond = figures[order[following]][0] if following < len(order) else None
        assert row["beyond_ns"] == beyond
        failing = sorted(values[k] for k in order[: order.index(best)] if figures[k][0] > budget)
        assert (found["failing"][0]["values"] if found["failing"] else []) == failing


def test_few_of_many_values_are_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where prices fall with the clock, a value between two that hold does."""
    Path("board.yaml").write_text(BOARD.replace("{fetch: 1 cycle}", "{fetch: 0 cycles}"))
    asked: list[int] = []
    whole = SweptServices.over_all_paths

    def counted(self: SweptServices, *arguments: Any) -> OverAllPaths | None:
        asked.append(1)
        return whole(self, *arguments)

    monkeypatch.setattr(SweptServices, "over_all_paths", counted)
    words = (*WALK, "--set", "N=6", "--solve", "core.clock=5..999MHz/500", "--budget", "1500ns")
    found = json.loads(run("sweep", *words, "--json").stdout)
    assert (found["method"], found["tried"]) == ("all values", 500)
    assert found["rows"][0]["word"] == "bound"
    assert len(asked) < 40


def test_a_parameter_is_solved_over_all_paths() -> None:
    figures = [taken(*WALK, "--set", f"N={n}")[0] for n in range(1, 17)]
    for budget in (figures[0], figures[6] - 1, figures[6], figures[15]):
        asked = (*WALK, "--solve", "N=1..16", "--budget", f"{float(budget)}ns", "--json")
        (row,) = json.loads(run("sweep", *asked).stdout)["rows"]
        assert row["N"] == max(n for n, time in enumerate(figures, 1) if time <= budget)
        assert row["total_ns"] == figures[row["N"] - 1]


def test_the_finest_step_is_held_over_all_paths() -> None:
    """At N = 4 eleven fetches are traced, thirteen in the longest path, and five cycles more."""
    Path("plain.yaml").write_text(PROFILE)
    Path("plain-map.yaml").write_text(MAP)
    files = ("k.json", "--profile", "plain.yaml", "--map", "plain-map.yaml", "--service", "walk")
    asked = (*files, "--solve", "regions.flash.fetch=1..500ns", "--budget", "777ns")
    found = json.loads(run("sweep", *asked, "--json").stdout)
    (row,) = found["rows"]
    assert row["regions.flash.fetch_ns"] == (777 - 28 - 250 - 50) * 1000 // 13 / 1000
    assert (found["method"], row["word"]) == ("halving", "bound")
    assert "over all paths" in " ".join(run("sweep", *asked).stdout.split())


def test_without_a_bound_the_total_is_held_and_a_note_says_so() -> None:
    gaps = (Gap("loop without a bound", "walk+4"),)
    Path("k.json").write_text(characterization_json(with_paths(gaps=gaps)))
    asked = (*WALK, "--set", "N=6", "--solve", "core.clock=5..40MHz", "--budget", "2us")
    found = json.loads(run("sweep", *asked, "--json").stdout)
    assert found["over_all_paths"] == []
    assert any("no bound over all paths" in note for note in found["notes"])


times = st.lists(st.integers(0, 50), min_size=3, max_size=3)


class Tabled(_Solver):
    """Of a service ``walk`` whose vectors take what a table says at each value."""

    def __init__(self, table: list[list[int]], paths: list[list[int]], budget: int) -> None:
        self.table, self.budget = table, Fraction(budget)
        self.bounds = [
            max(sum(t * n for t, n in zip(each, path, strict=True)) for path in paths)
            for each in table
        ]
        (walk, *_) = with_paths().services
        self.swept = SimpleNamespace(services=[walk], models={"walk": None})  # type: ignore[assignment]

    def _vector_times(
        self, number: int, place: tuple[int, ...], k: int
    ) -> NDArray[np.float64] | None:
        return np.array(self.table[k], dtype=np.float64)


@given(st.lists(times, min_size=1, max_size=12), st.lists(times, min_size=1), st.data())
def test_what_is_told_without_solving_is_so(
    table: list[list[int]], paths: list[list[int]], data: st.DataObject
) -> None:
    """Prices that rise and fall along the values, in whatever order."""
    if data.draw(st.booleans()):
        table = sorted(table)
    budget = data.draw(st.sampled_from(Tabled(table, paths, 0).bounds))
    solver = Tabled(table, paths, budget)
    within = data.draw(st.sets(st.integers(0, len(table) - 1)).map(sorted))

    def taken(k: int) -> _Taken:
        bound = Fraction(solver.bounds[k])
        return _Taken(bound, Word.BOUND, bound)

    found = solver._holding(0, (), within, taken)
    assert found == [k for k in within if solver.bounds[k] <= budget]


@given(times, times, times)
def test_no_sum_is_more_times_as_dear(one: list[int], other: list[int], counts: list[int]) -> None:
    """Prices in thirds, which floating point does not have."""
    found = times_as_dear(*(np.array([t / 3 for t in each]) for each in (one, other)))
    dear, cheap = (
        sum(Fraction(t, 3) * n for t, n in zip(each, counts, strict=True)) for each in (one, other)
    )
    if found is None:
        assert any(a and not b for a, b in zip(one, other, strict=True))
    else:
        assert dear <= found * cheap
