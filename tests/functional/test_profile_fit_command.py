"""``wcetchar profile fit``: measurements made with a known profile give that profile back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wcetchar.cli import main
from wcetchar.store import load_profile_text

PROFILE = "renaux2010/platform3"
MAP = "renaux2010/map3"


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def measured(tmp_path: Path) -> str:
    """What the true profile says for CreateThread at N = 1..30, in whole ns (up)."""
    lines = ["service,N,ns"]
    for n in range(1, 31):
        result = _invoke(
            "estimate",
            "renaux2010",
            "--profile",
            PROFILE,
            "--map",
            MAP,
            "--set",
            f"N={n}",
            "--json",
        )
        (estimate,) = json.loads(result.stdout)["estimates"]
        lines.append(f"CreateThread,{n},{estimate['total_ns']}")
    path = tmp_path / "m.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _skeleton(folder: Path, ranges: str) -> str:
    """The true profile with every time of its regions as a range."""
    text = load_profile_text(PROFILE).text
    changed = re.sub(r"(first|next|fetch|read|write): \d+ ns", rf"\1: {ranges}", text)
    assert changed != text
    path = folder / "skeleton.yaml"
    path.write_text(changed)
    return str(path)


def _fit(measured: str, skeleton: str, *options: str) -> Result:
    return _invoke(
        "profile",
        "fit",
        measured,
        "--characterization",
        "renaux2010",
        "--profile",
        skeleton,
        "--map",
        MAP,
        *options,
    )


def test_the_fitted_profile_is_never_below_and_hardly_over(tmp_path: Path, measured: str) -> None:
    skeleton = _skeleton(tmp_path, "1..900 ns")
    fitted = tmp_path / "fitted.yaml"
    result = _fit(measured, skeleton, "-o", str(fitted), "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["after"]["unsafe"] == 0
    assert document["after"]["overestimation_percent"]["maximum"] <= 0.1
    assert document["check"]["rows"] == 6
    assert document["check"]["overestimation_percent"]["maximum"] <= 0.1
    again = _invoke(
        "validate",
        "renaux2010",
        "--profile",
        str(fitted),
        "--map",
        MAP,
        "--measured",
        measured,
        "--json",
    )
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["overestimation_percent"]["maximum"] <= 0.1
    assert fitted.read_text().count("#") == Path(skeleton).read_text().count("#")


def test_what_cannot_be_reached_is_exit_4_and_nothing_is_written(
    tmp_path: Path, measured: str
) -> None:
    fitted = tmp_path / "fitted.yaml"
    result = _fit(measured, _skeleton(tmp_path, "1..3 ns"), "-o", str(fitted))
    assert result.exit_code == 4
    assert "CreateThread at N=1" in result.stderr
    assert not fitted.exists()


def test_a_profile_without_a_range_has_nothing_to_fit(measured: str) -> None:
    result = _fit(measured, PROFILE)
    assert result.exit_code == 3
    assert "nothing to fit" in result.stderr


def test_a_range_of_the_clock_is_refused(tmp_path: Path, measured: str) -> None:
    path = Path(_skeleton(tmp_path, "1..900 ns"))
    path.write_text(re.sub(r"clock: (\d+) MHz", r"clock: \1 MHz +- 1 %", path.read_text()))
    result = _fit(measured, str(path))
    assert result.exit_code == 3
    assert "core.clock is a range" in result.stderr


def test_tables_say_what_holds_the_times_up(tmp_path: Path, measured: str) -> None:
    skeleton = _skeleton(tmp_path, "1..900 ns")
    plain = _fit(measured, skeleton).stdout
    assert "these rows hold the times up: CreateThread at N=" in plain
    assert "do not tell" in plain  # one service cannot part all prices
    assert "fitted: 0 of 30 rows unsafe" in plain
    marked = _fit(measured, skeleton, "--format", "markdown").stdout
    assert "fitted: 0 of 30 rows unsafe" in marked
