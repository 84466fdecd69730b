"""``wcetchar sweep`` from files to output, picture and exit code, against ``wcetchar estimate``."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from sweep_files import document, run, write_files

from wcetchar.cli import main

SVG = "{http://www.w3.org/2000/svg}"
BOARD = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  name: core
  clock: 100 MHz +- 1 %
  events: {alu: 1 cycles, load: 2 cycles}
  overlap: {fetch: 1 cycle}
regions:
  code flash:
    kind: memory
    bus width: 16
    fetch: {first: 30 ns, next: 25 ns}
    read: 30 ns
  sram:
    kind: memory
    bus width: 32
    clock divider: 2
    read: 2 cycles
    write: 10 ns
"""
FILES = ("k.json", "--profile", "board.yaml", "--map", "map.yaml")
WALK = (*FILES, "--service", "walk")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(BOARD)


def estimated(board: str, *arguments: str, files: Sequence[str] = FILES) -> dict[str, Any]:
    """The first service of an estimate, on a board of its own."""
    Path("other.yaml").write_text(board)
    changed = ["other.yaml" if one == "board.yaml" else one for one in files]
    done = CliRunner().invoke(main, ["estimate", *changed, *arguments, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)["estimates"][0]
    return found


def test_by_hand() -> None:
    """A walk at N counts 5 + 2 * (N - 1) fetches, 8 + 3 * (N - 1) ALU events, N loads of which each
    reads; a fetch takes 30 ns, a read 7."""
    found = document(
        *("k.json", "--profile", "plain.yaml", "--map", "plain-map.yaml", "--service", "walk"),
        *("--vary", "N=1,3", "--vary", "core.clock=50MHz,100MHz"),
    )
    expected = [
        (n, clock, 30 * (5 + 2 * (n - 1)) + 7 * n + cycle * (8 + 3 * (n - 1) + 2 * n))
        for n in (1, 3)
        for clock, cycle in ((50, 20), (100, 10))
    ]
    rows = found["rows"]
    assert [(r["N"], r["core.clock_MHz"], r["total_ns"]) for r in rows] == expected
    masked = 2 * (60 + 7 + 10 * 5)
    assert [r["interrupts_ns"] for r in rows] == [0, 0, 2 * (60 + 7 + 20 * 5), masked]
    (by_n, by_clock) = found["changes"]
    assert (by_n["least_ns_per_unit"], by_n["most_ns_per_unit"]) == (117, 167)
    # Ten cycles shorten by 10 ns over 50 MHz at N = 1, twenty at N = 3.
    assert (by_clock["least_ns_per_unit"], by_clock["most_ns_per_unit"]) == (-4, -2)


def test_every_point_is_the_estimates() -> None:
    widths, clocks, ns = (8, 16, 32), ("8", "33.333", "100"), (1, 2, 5, 16)
    found = document(
        *WALK,
        *("--vary", "regions.code_flash.bus-width=8,16,32"),
        *("--vary", "N=1,2,5,16"),
        *("--vary", "core.clock=8,33.333,100MHz"),
        *("--vary", "regions.code flash.fetch.next=0.5,40ns"),
    )
    points = itertools.product(widths, ns, clocks, ("0.5", "40"))
    for row, (width, n, clock, following) in zip(found["rows"], points, strict=True):
        board = BOARD.replace("bus width: 16", f"bus width: {width}", 1)
        board = board.replace("100 MHz +- 1 %", f"{clock} MHz").replace("25 ns", f"{following} ns")
        one = estimated(board, "--service", "walk", "--set", f"N={n}")
        assert row["total_ns"] == one["total_ns"]
        assert row["interrupts_ns"] == one["blocking_ns"].get("interrupts", 0)
        assert row["word"] == one["word"]


def test_short_forms_have_a_first_and_a_next() -> None:
    for way, change in (
        ("regions.code flash.read.first", "read: {first: 55 ns, next: 30 ns}"),
        ("regions.code flash.read", "read: 55 ns"),
    ):
        row = document(*WALK, "--set", "N=3", "--vary", f"{way}=55ns")["rows"][0]
        one = estimated(BOARD.replace("read: 30 ns", change), "--service", "walk", "--set", "N=3")
        assert row["total_ns"] == one["total_ns"]
    both = document(*WALK, "--set", "N=3", "--vary", "regions.code flash.fetch=55ns")["rows"][0]
    one = estimated(
        BOARD.replace("{first: 30 ns, next: 25 ns}", "55 ns"),
        *("--service", "walk", "--set", "N=3"),
    )
    assert both["total_ns"] == one["total_ns"]


def test_a_service_without_the_parameter_has_one_row() -> None:
    found = document(*FILES, "--vary", "N=1..3")
    assert [(r["service"], r["N"]) for r in found["rows"]] == [
        *(("walk", n) for n in (1, 2, 3)),
        ("copy", None),
    ]


def test_all_forms_say_the_same() -> None:
    asked = (*FILES, "--vary", "N=1,7", "--vary", "core.clock=8MHz..24MHz/4")
    rows = document(*asked)["rows"]
    done = run(*asked, "--format", "csv")
    read = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(read[0]) == list(rows[0])
    for text, row in zip(read, rows, strict=True):
        assert text == {
            key: ""
            if value is None
            else f"{value:.3f}".rstrip("0").rstrip(".")
            if not isinstance(value, str)
            else value
            for key, value in row.items()
        }
    assert [row["core.clock_MHz"] for row in rows[:4]] == [8, 13.333, 18.666, 24]
    assert "| walk | 7 | 13.333 |" in run(*asked, "--format", "markdown").stdout
    assert run(*asked, "--format", "csv").stdout == done.stdout


def test_the_picture_has_a_line_for_each_value_of_the_second_axis(tmp_path: Path) -> None:
    plot = tmp_path / "out.svg"
    done = run(
        *WALK,
        *("--vary", "core.clock=8MHz..128MHz*2", "--vary", "N=1,16"),
        *("--plot", plot, "--budget", "2us"),
    )
    assert done.exit_code == 0, done.output
    root = ElementTree.fromstring(plot.read_text())
    names = [line.findtext(f"{SVG}title") for line in root.iter(f"{SVG}polyline")]
    assert names == ["walk, N=1", "walk, N=16"] * 2
    texts = {text.text for text in root.iter(f"{SVG}text")}
    assert {"core.clock MHz", "budget 2 us", "execution time, at most"} <= texts


def test_the_slowest_memory_by_halving() -> None:
    """Between the two values there is nothing that a file of the same step could say."""
    files = ("k.json", "--profile", "plain.yaml", "--map", "plain-map.yaml", "--service", "walk")
    found = document(*files, "--solve", "regions.flash.fetch=1..500ns", "--budget", "777ns")
    (row,) = found["rows"]
    # At N = 4: 11 fetches, 4 reads of 7 ns, 17 ALU events and 4 loads of 20 ns.
    thousandths = (777 - 4 * 7 - 250) * 1000 // 11
    assert row["regions.flash.fetch_ns"] == thousandths / 1000 == 45.363
    assert (row["beyond_ns"], found["method"], found["step"]) == (777.004, "halving", 0.001)
    assert found["tried"] < 30
    listed = document(*files, "--solve", "regions.flash.fetch=10,45,46,90ns", "--budget", "777ns")
    assert listed["rows"][0]["regions.flash.fetch_ns"] == 45


@pytest.mark.parametrize("budget", [500, 900, 1500, 3000, 5000])
@pytest.mark.parametrize(
    ("axis", "smallest"),
    [
        ("core.clock=5..60MHz", True),
        ("regions.code flash.bus width=8,16,32,64", True),
        ("regions.sram.clock divider=1..9", False),
        ("core.overlap.fetch=0..6cycles", True),
        ("core.events.alu=0..20cycles", False),
        ("regions.code flash.fetch.first=1..90ns/30", False),
        ("N=1..16", False),
    ],
)
def test_what_is_solved_is_what_trying_all_values_finds(
    axis: str, smallest: bool, budget: int
) -> None:
    fixed = () if axis.startswith("N") else ("--set", "N=6")
    rows = document(*WALK, *fixed, "--vary", axis)["rows"]
    key = list(rows[0])[1]
    holding = [row for row in rows if row["total_ns"] <= budget]
    code = 0 if holding else 1
    asked = (*WALK, *fixed, "--solve", axis, "--budget", f"{budget}ns")
    found = document(*asked, code=code)
    (solved,) = found["rows"]
    if not holding:
        assert solved[key] is None
        assert "keeps the budget: walk" in run(*asked).output
        return
    best = holding[0] if smallest else holding[-1]
    assert (solved[key], solved["total_ns"]) == (best[key], best["total_ns"])
    cheaper = [r for r in rows if (r[key] < best[key] if smallest else r[key] > best[key])]
    dearer = [r for r in rows if (r[key] > best[key] if smallest else r[key] < best[key])]
    following = (cheaper[-1] if smallest else cheaper[0]) if cheaper else None
    assert solved["beyond_ns"] == (following["total_ns"] if following else None)
    failing = [row[key] for row in dearer if row["total_ns"] > budget]
    said = found["failing"][0]["values"] if found["failing"] else []
    assert said == failing


def test_a_higher_clock_that_fails_is_told() -> None:
    """A fetch of 30 ns hides one cycle, and nothing else takes cycles: the faster the clock, the
    less is hidden."""
    board = BOARD.replace("alu: 1 cycles, load: 2 cycles", "alu: 0 cycles, load: 0 cycles")
    Path("board.yaml").write_text(
        board.replace("2 cycles", "1 ns").replace("divider: 2", "divider: 1")
    )
    asked = (*WALK, "--set", "N=1", "--solve", "core.clock=20..60MHz", "--budget", "60ns")
    found = document(*asked)
    assert found["rows"][0]["core.clock_MHz"] == 20
    (failing,) = found["failing"]
    assert failing["values"][-1] == 60
    text = run(*asked).stdout
    assert "the budget fails at" in text
    assert "nevertheless" in text


def test_solved_over_another_axis(tmp_path: Path) -> None:
    plot = tmp_path / "out.svg"
    asked = (*WALK, "--vary", "N=1..5", "--solve", "core.clock=5..200MHz", "--budget", "1us")
    rows = document(*asked, "--plot", plot)["rows"]
    assert [row["N"] for row in rows] == [1, 2, 3, 4, 5]
    clocks = [row["core.clock_MHz"] for row in rows]
    assert clocks == sorted(clocks)
    root = ElementTree.fromstring(plot.read_text())
    assert [line.findtext(f"{SVG}title") for line in root.iter(f"{SVG}polyline")] == ["walk"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "nothing is varied"),
        (("--vary", "N"), 2, "not NAME=VALUES"),
        (("--vary", "N="), 3, "a value missing"),
        (("--vary", "N=soon"), 3, "no value and no range"),
        (("--vary", "N=4..1"), 3, "is empty"),
        (("--vary", "N=1.5"), 3, "whole"),
        (("--vary", "N=1ns"), 3, "has no unit"),
        (("--vary", "N=0..3"), 3, "out of range: 0"),
        (("--vary", "N=1..17"), 3, "N from 1 to 16"),
        (("--vary", "N=1..9/1"), 3, "2 at least"),
        (("--vary", "N=1..9*1"), 3, "a factor of 2"),
        (("--vary", "Nn=1..3"), 3, "did you mean `N`"),
        (("--vary", "N=1", "--vary", "N=2"), 2, "given twice"),
        (("--vary", "N=1", "--set", "N=2"), 2, "by --set"),
        (("--vary", "core.clok=8MHz"), 3, "core.clock"),
        (("--vary", "core.clock=8"), 3, "at core.clock = 8: "),
        (("--vary", "core.clock=8kg"), 3, "not a unit"),
        (("--vary", "core.clock=8MHz,9"), 3, "have no unit"),
        (("--vary", "core.clock=8MHz,9ns"), 3, "mixes"),
        (("--vary", "core.clock=8ns"), 3, "not a unit of frequency"),
        (("--vary", "core.clock=0..1MHz"), 3, "clock"),
        (("--vary", "core.name=1"), 3, "no number"),
        (("--set", "N=1", "--vary", "regions.code flash.bus width=8..10"), 3, "`9` bits"),
        (("--vary", "core.clock=1..99999999999kHz"), 3, "1,000,000 at most"),
        (("--set", "N=1", "--vary", "core.clock=1..99999kHz"), 3, "10,000 at most"),
        (
            (
                "--vary",
                "regions.code flash.fetch=1ns",
                "--vary",
                "regions.code flash.fetch.next=1ns",
            ),
            2,
            "are one number",
        ),
        (("--vary", "core.clock=8MHz"), 3, "or --vary it"),
        (("--vary", "N=1", "--solve", "core.clock=1..2MHz"), 2, "belong together"),
        (("--vary", "N=1", "--budget", "1us"), 2, "belong together"),
        (("--vary", "N=1", "--solve", "core.clock=1..2MHz", "--budget", "1 cycle"), 3, "--budget"),
        (("--vary", "N=1", "--solve", "N=1..2", "--budget", "1us"), 2, "given twice"),
        (("--vary", "N=1", "--plot", "-"), 2, "a file of its own"),
        (("--set", "N=1", "--vary", "core.clock=1..29kHz/29", "--plot", "board.yaml"), 2, "input"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run(*WALK, *arguments)
    assert done.exit_code == code, done.output
    assert said in done.output
    assert not done.stdout


def test_too_many_points_for_a_table() -> None:
    many = (*WALK, "--vary", "N=1..16", "--vary", "core.clock=1..1000MHz/700")
    done = run(*many)
    assert done.exit_code == 2
    assert "--format csv" in done.output
    assert len(run(*many, "--format", "csv").stdout.splitlines()) == 16 * 700 + 1


def test_a_mistake_of_the_file_has_its_place() -> None:
    Path("board.yaml").write_text(BOARD.replace("30 ns\n", "30 sn\n"))
    done = run(*WALK, "--vary", "N=1..3")
    assert done.exit_code == 3
    assert "board.yaml:13:" in done.output
