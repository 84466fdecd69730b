"""``wcetchar system slices`` from a file to output, picture and exit code."""

from __future__ import annotations

import csv
import io
import json
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
  one: {machine: m, size: 4 KiB, before: dirty, least progress: 50 %, settles: 40 us}
"""
FILE = """\
schema: wcetchar/partitions/1
scheduler: 1..2 us
partitions:
  control: {share: 2, working set: "sets.yaml:one"}
  logging: {share: 1, model: exponential}
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "sets.yaml").write_text(SETS)
    file = tmp_path / "partitions.yaml"
    file.write_text(FILE)
    return file


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["system", "slices", *map(str, arguments)])


def document(*arguments: object) -> dict[str, Any]:
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_by_hand(file: Path) -> None:
    """A cycle is control, logging, control: control runs twice in a row, round the cycle's end, so
    its working set comes back once in 2 * 100 us: 2 * 2 us and 20 us of them are lost. Behind
    slices of others each waits for the scheduler's 2 us in its own."""
    found = document(file, "--slice", "100us")
    assert found["scheduler_ns"] == 2000
    assert found["rows"] == [
        {"slice_ns": 100_000, "partition": "all", "lost_percent": 8.667, "delay_ns": 202_000},
        {"slice_ns": 100_000, "partition": "control", "lost_percent": 12, "delay_ns": 102_000},
        {"slice_ns": 100_000, "partition": "logging", "lost_percent": 2, "delay_ns": 202_000},
    ]


def test_one_alone_waits_for_the_scheduler_in_each_slice(file: Path) -> None:
    file.write_text(FILE.partition("  logging")[0])
    (row,) = document(file, "--slice", "100us")["rows"]
    assert (row["lost_percent"], row["delay_ns"]) == (2, 2000)


def test_the_shortest_slice_that_keeps_a_limit(file: Path) -> None:
    # (3 * 2 us + 20 us) / (3 * slice) <= 5 %: from 173.3 us on.
    found = document(file, "--slice", "1ms", "--limit", "5 %")
    assert found["shortest_slice_ns"] == 174_000
    # Control alone: (2 * 2 us + 20 us) / (2 * slice) <= 5 %: from 240 us on.
    assert found["shortest_slice_for_each_ns"] == 240_000
    assert document(file, "--slice", "1ms")["shortest_slice_ns"] is None
    done = call(file, "--to", "173us", "--limit", "5%")
    assert done.exit_code == 1
    assert "no time slice up to 173 us keeps that" in done.stdout
    assert "more than 5% is lost" in done.output
    done = call(file, "--to", "239us", "--limit", "5%")
    assert done.exit_code == 1
    assert "5 % may be lost of the time of all together: time slices from 174 us on" in done.stdout
    assert "a partition loses more than 5% of its time" in done.output
    assert call(file, "--to", "240us", "--limit", "5%").exit_code == 0


def test_the_picture(file: Path, tmp_path: Path) -> None:
    plot = tmp_path / "out.svg"
    done = call(file, "--limit", "5%", "--plot", plot)
    assert done.exit_code == 0, done.output
    root = ElementTree.fromstring(plot.read_text())
    names = [line.findtext(f"{SVG}title") for line in root.iter(f"{SVG}polyline")]
    assert names == ["all", "control", "logging"] * 2
    texts = {text.text for text in root.iter(f"{SVG}text")}
    assert {"limit 5 %", "174 us", "240 us"} <= texts


def test_all_forms_say_the_same(file: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(call(file, "--format", "csv").stdout)))
    assert [row["slice_ns"] for row in rows][::3] == [
        f"{n}000" for n in (50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
    ]
    said = document(file)["rows"]
    assert [float(row["lost_percent"]) for row in rows] == [row["lost_percent"] for row in said]
    text = call(file, "--format", "markdown").stdout
    assert "| 100 | all | 8.667 | 0.202 |" in text


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--slice", "2us"), 3, "takes all of a time slice"),
        (("--slice", "soon"), 3, "--slice"),
        (("--from", "1ms", "--to", "1ms"), 2, "span no time slices"),
        (("--limit", "0%"), 2, "no share"),
        (("--limit", "100%"), 2, "no share"),
        (("--limit", "0.1"), 3, "not a percentage"),
        (("--plot", "-"), 2, "a file of its own"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str, file: Path) -> None:
    done = call(file, *arguments)
    assert done.exit_code == code, done.output
    assert said in done.output
    assert not done.stdout


@pytest.mark.parametrize(
    ("was", "is_", "line", "said"),
    [
        ("share: 2", "share: 0", 4, "0"),
        ("share: 2", "share: 1.5", 4, "1.5"),
        ("share: 2", "share: 2000000", 4, "2000000"),
        ("share: 2, ", "", 4, "share"),
        ("sets.yaml:one", "sets.yaml:two", 4, "no working set"),
        ("sets.yaml:one", "nothing.yaml:one", 4, "no such file of working sets"),
        ("sets.yaml:one", "kaiser2008", 4, "FILE:NAME"),
        ("exponential", "flooding", 5, "flood"),
        ("1..2 us", "2 cycles", 2, "there is no clock"),
        ("scheduler", "schedular", 2, "schedular"),
        ("partitions/1", "partitions/9", 1, "partitions/9"),
    ],
)
def test_mistakes_in_a_file_have_their_place(
    was: str, is_: str, line: int, said: str, file: Path
) -> None:
    file.write_text(FILE.replace(was, is_, 1))
    done = call(file)
    assert done.exit_code == 3, done.output
    assert f"{file}:{line}:" in done.output
    assert said in done.output


def test_mistakes_in_the_other_file_have_theirs(file: Path) -> None:
    sets = file.with_name("sets.yaml")
    sets.write_text(SETS.replace("50 %", "200 %"))
    done = call(file)
    assert done.exit_code == 3
    assert "sets.yaml:4:" in done.output


def test_too_many_slices_and_none(file: Path) -> None:
    many = "\n".join(f"  p{n}: {{share: 9999}}" for n in range(20))
    file.write_text(FILE.partition("partitions:\n")[0] + "partitions:\n" + many)
    done = call(file)
    assert done.exit_code == 3
    assert "100,000 at most" in done.output
    file.write_text(FILE.partition("partitions:\n")[0] + "partitions: {}\n")
    assert "there is no partition" in call(file).output


def test_markdown_escapes_names_once(file: Path) -> None:
    file.write_text(FILE.replace("logging", "a_b|c"))
    text = call(file, "--slice", "100us", "--format", "markdown").stdout
    assert r"| a\_b\|c |" in text
