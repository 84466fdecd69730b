"""``wcetchar estimate --maximum``, and values that may be off: the bound of all paths, against
estimates at every value."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_cli_estimate import MAP
from test_sweep_command import BOARD
from test_system_all_paths import with_paths

from wcetchar.cli import main
from wcetchar.store import characterization_json

WALK = ("k.json", "--profile", "board.yaml", "--map", "map.yaml", "--service", "walk")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.json").write_text(characterization_json(with_paths()))
    Path("board.yaml").write_text(BOARD)
    Path("map.yaml").write_text(MAP.replace("flash", "code flash").replace("\n  N: 4", " {}"))


def estimated(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["estimate", *WALK, *arguments, "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["estimates"]
    assert isinstance(found, dict)
    return found


def bound(*arguments: str) -> tuple[Fraction, str]:
    over = estimated(*arguments)["over_all_paths"]
    return Fraction(str(over["bound_ns"])), over["word"]


def test_a_maximum_is_that_of_all_values() -> None:
    every = [bound("--set", f"N={n}") for n in range(1, 17)]
    assert bound("--maximum") == max(every)
    assert len({word for _, word in every}) == 1


def test_what_may_be_off_has_a_range_over_all_paths() -> None:
    text = Path("map.yaml").read_text().replace("parameters: {}", "parameters: {N: 5 +- 2}")
    Path("map.yaml").write_text(text)
    found = estimated("--uncertainty")["uncertainty"]["over_all_paths"]
    every = [bound("--set", f"N={n}")[0] for n in range(3, 8)]
    assert Fraction(str(found["safe_ns"])) == max(every) == every[-1]
    assert found["lowest_ns"] < min(every)
    assert any(one["name"] == "N" for one in found["numbers"])
