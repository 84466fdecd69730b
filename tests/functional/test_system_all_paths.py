"""What holds over all paths counts wherever a service is a part of something: overhead, slowdown.

A walk of N - 1 turns whose traces never showed a branch behind the loop; the path model has it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from path_models import OUT, constraint
from test_cli_estimate import EACH, MAP, ONCE, PROFILE, published

from wcetchar import formula
from wcetchar.cli import main
from wcetchar.model.access import AccessClass, AccessVector, CoreEvent, EventKind, Operation
from wcetchar.model.characterization import Blocking, Characterization
from wcetchar.model.path_model import Gap, PathEdge, PathModel, PathNode
from wcetchar.store import characterization_json

BRANCH = 2 * 30 + 5 * 10
"""Two fetches and five cycles, in ns, that no trace showed."""
WALK = ("k.json", "--profile", "board.yaml", "--map", "map.yaml", "--service", "walk")
LOAD = ("--load", "36MB/s", "--capacity", "90MB/s", "--bus", "flash")


def with_paths(**more: Any) -> Characterization:
    """``more``: of the model of walk."""
    found = published()
    once, each = (section.vector for section in found.services[0].counts.rows)
    fetch, alu = AccessClass(".text", Operation.FETCH, 32), CoreEvent(".text", EventKind.ALU)
    model = PathModel(
        "walk",
        (once, each, AccessVector({fetch: 2, alu: 5}), AccessVector({})),
        (Blocking(),),
        tuple(PathNode(vector, 0) for vector in range(4)),
        tuple(
            PathEdge(*ends)
            for ends in ((OUT, 0), (0, 1), (1, 1), (1, 2), (0, 2), (1, 3), (0, 3), (2, 3), (3, OUT))
        ),
        (constraint("turns", {1: 1, 2: 1}, formula.parse("N - 1")),),
    )
    return replace(found, paths=(replace(model, **more),))


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.json").write_text(characterization_json(with_paths()))
    Path("board.yaml").write_text(PROFILE)
    Path("map.yaml").write_text(MAP)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def document(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def without_a_bound() -> None:
    gap = Gap("loop without a bound", "walk+4")
    Path("k.json").write_text(characterization_json(with_paths(gaps=(gap,))))


def test_what_estimate_says() -> None:
    (found,) = document("estimate", *WALK)["estimates"]
    assert found["total_ns"] == ONCE + 3 * EACH
    assert found["over_all_paths"]["bound_ns"] == ONCE + 3 * EACH + BRANCH


def test_a_switch_takes_what_holds_over_all_paths() -> None:
    found = document("system", "overhead", *WALK, "--rate", "1000")
    (row,) = found["rows"]
    assert (row["switch_ns"], row["word"]) == (ONCE + 3 * EACH + BRANCH, "bound")
    assert any("over all paths" in note for note in found["notes"])
    without_a_bound()
    found = document("system", "overhead", *WALK, "--rate", "1000")
    (row,) = found["rows"]
    assert (row["switch_ns"], row["word"]) == (ONCE + 3 * EACH, "high-water mark")
    assert any("no bound over all paths" in note for note in found["notes"])


def test_paths_are_priced_under_load_as_well() -> None:
    """A fetch takes 30 ns alone, 50 where others have 40 % of the bus, and with a burst of 6 ns
    waits for 10 more; thirteen of them are in the longest path."""
    alone = ONCE + 3 * EACH + BRANCH
    fetches = 5 + 3 * 2 + 2
    average, most = document("system", "slowdown", *WALK, *LOAD, "--burst", "6ns")["rows"]
    assert average["alone_ns"] == most["alone_ns"] == alone
    assert average["loaded_ns"] == alone + 20 * fetches
    assert (average["word"], most["word"]) == ("estimate", "bound")
    # Less than 6 ns more than all of it, on 60 % of the bus.
    assert most["loaded_ns"] == alone + 30 * fetches < (alone + 6) / 0.6


def test_other_masters_wait_over_all_paths() -> None:
    shared = PROFILE.replace("read: 30 ns\n", "read: 30 ns\n    arbitration: {takes: 8 ns}\n", 1)
    Path("board.yaml").write_text(shared)
    (row,) = document("system", "slowdown", *WALK)["rows"]
    alone = ONCE + 3 * EACH + BRANCH
    assert (row["alone_ns"], row["loaded_ns"]) == (alone, alone + 8 * (5 + 3 * 2 + 2))
    assert row["word"] == "bound"


def test_without_a_bound_published_rows_count_and_a_note_says_so() -> None:
    without_a_bound()
    found = document("system", "slowdown", *WALK, *LOAD, "--burst", "6ns")
    assert {row["alone_ns"] for row in found["rows"]} == {ONCE + 3 * EACH}
    assert [row["word"] for row in found["rows"]] == ["estimate", "high-water mark"]
    assert any("no bound over all paths" in note for note in found["notes"])
