"""``wcetchar system loss`` from a file to output and picture."""

from __future__ import annotations

import csv
import io
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from wcetchar.cli import main

SETS = """\
schema: wcetchar/working-sets/1
source: by hand
working sets:
  one: {machine: m, size: 4 KiB, before: dirty, least progress: 25 %, settles: 40 us}
  two: {machine: m, size: 8 KiB, before: dirty, least progress: 50 %, settles: 90 us,
        time constant: 20 us}
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "sets.yaml"
    file.write_text(SETS)
    return file


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["system", "loss", *map(str, arguments)])


def rows(*arguments: object) -> list[dict[str, Any]]:
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def test_flood_by_hand(file: Path) -> None:
    """Three quarters of the time are lost for 40 us, and nothing from then on."""
    found = rows("--working-set", f"{file}:one", "--at", "100us", "--at", "20us", "--at", "40us")
    assert [tuple(row.values())[2:] for row in found if row["model"] == "flood"] == [
        (20_000, 25, 15_000, 75),
        (40_000, 100, 30_000, 75),
        (100_000, 100, 30_000, 30),
    ]


def test_exponential_rounds_to_the_safe_side(file: Path) -> None:
    (row,) = (
        row
        for row in rows("--working-set", f"{file}:two", "--at", "30us")
        if row["model"] == "exponential"
    )
    left = math.exp(-30 / 20)
    lost = 0.5 * 20_000 * (1 - left)
    progress = 100 * (1 - 0.5 * left)
    assert 0 <= row["lost_ns"] - lost <= 0.001
    assert 0 <= progress - row["progress_percent"] <= 0.001
    assert 0 <= row["lost_percent"] - 100 * lost / 30_000 <= 0.001


def test_without_times_there_are_some_around_the_way_back(file: Path) -> None:
    both = ("--working-set", f"{file}:one", "--working-set", f"{file}:two")
    times = {row["time_ns"] for row in rows(*both)}
    assert times == {n * 10**power for n in (1, 2, 5) for power in (3, 4, 5)} | {10**6}


def test_all_forms_say_the_same(file: Path) -> None:
    asked = ("--working-set", f"{file}:one", "--at", "20us")
    read = list(csv.DictReader(io.StringIO(call(*asked, "--format", "csv").stdout)))
    assert [row["lost_ns"] for row in read] == [f"{row['lost_ns']}" for row in rows(*asked)]
    assert "| one | flood | 20 | 25 | 15 | 75 |" in call(*asked, "--format", "markdown").stdout
    assert "one: m, caches dirty before" in call(*asked).stdout


def test_the_picture_has_three_panels(file: Path, tmp_path: Path) -> None:
    plot = tmp_path / "out.svg"
    both = ("--working-set", f"{file}:one", "--working-set", f"{file}:two")
    assert call(*both, "--plot", plot).exit_code == 0
    root = ElementTree.fromstring(plot.read_text())
    lines = [*root.iter(f"{SVG}polyline")]
    names = [f"{name}, {model}" for name in ("one", "two") for model in ("flood", "exponential")]
    assert [line.findtext(f"{SVG}title") for line in lines] == names * 3
    # Flood goes straight up where the working set is back.
    places = [tuple(map(float, p.split(","))) for p in lines[0].attrib["points"].split()]
    (rise,) = ((a, b) for a, b in pairwise(places) if a[1] != b[1])
    assert rise[0][0] == rise[1][0]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "--working-set"),
        (("--working-set", "kaiser2008"), 3, "FILE:NAME"),
        (("--working-set", "kaiser2008:x"), 3, "no working set"),
        (("--working-set", "kaiser2008:celeron-64k-dirty", "--at", "0us"), 3, "--at"),
        (("--working-set", "kaiser2008:celeron-64k-dirty", "--at", "3 cycles"), 3, "no clock"),
        (("--working-set", "kaiser2008:celeron-64k-dirty", "--plot", "-"), 2, "a file of its own"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    done = call(*arguments)
    assert done.exit_code == code, done.output
    assert said in done.output
    assert not done.stdout
