"""``wcetchar system slowdown`` from files to output, picture and exit code."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from wcetchar.cli import main

PAPER = ("renaux2010", "--map", "renaux2010/map1", "--set", "N=13")
ALONE = (*PAPER, "--profile", "renaux2010/platform1")
LOAD = ("--load", "36MB/s", "--capacity", "90MB/s")
SHARED = """\
schema: wcetchar/hardware-profile/1
name: shared
based on: renaux2010/platform1
regions:
  sdram heap: {arbitration: {takes: 30 ns}}
  sdram constants: {arbitration: {takes: 30 ns}}
"""
FILE = """\
schema: wcetchar/slowdowns/1
source: by hand
load: 30 MB/s
bandwidths: {read: 60 MB/s, slow: 20 MB/s}
applications:
  bus: {slowdown: 2, only bus time: true}
  half: {alone: 10 ms, loaded: 15 ms, also said: [1.4]}
"""
SVG = "{http://www.w3.org/2000/svg}"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["system", "slowdown", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def shared(tmp_path: Path) -> tuple[str, ...]:
    file = tmp_path / "shared.yaml"
    file.write_text(SHARED)
    return (*PAPER, "--profile", str(file))


def test_the_other_masters_of_a_profile(shared: tuple[str, ...]) -> None:
    """CreateThread at N = 13: each access to the heap and to constants waits for 30 ns."""
    alone = json.loads(CliRunner().invoke(main, ["estimate", *ALONE, "--json"]).stdout)
    (priced,) = alone["estimates"]
    heap = sum(
        one["count"]
        for one in priced["columns"].values()
        if one["region"] in ("sdram heap", "sdram constants")
    )
    (row,) = document(*shared)["rows"]
    assert row["alone_ns"] == priced["total_ns"]
    assert row["loaded_ns"] == row["alone_ns"] + 30 * heap
    assert Fraction(row["slowdown_exact"]) == Fraction(row["loaded_ns"], row["alone_ns"])
    assert row["word"] == priced["word"]
    assert row["bus_share_percent"] is None
    assert row["under"] == "other masters of sdram constants and sdram heap"


def test_a_load_stretches_what_lies_behind_the_bus(shared: tuple[str, ...]) -> None:
    alone = json.loads(CliRunner().invoke(main, ["estimate", *ALONE, "--json"]).stdout)
    (priced,) = alone["estimates"]
    bus = sum(one["ns"] for one in priced["columns"].values() if one["region"] == "sdram stack")
    found = document(*ALONE, *LOAD, "--bus", "sdram stack")
    (row,) = found["rows"]
    # 40 % of the bus is gone: two thirds more.
    exact = 1 + Fraction(bus, priced["total_ns"]) * Fraction(2, 3)
    assert Fraction(row["slowdown_exact"]) == exact
    assert row["bus_share_percent"] == pytest.approx(100 * bus / priced["total_ns"], abs=1e-3)
    assert row["word"] == "estimate"
    assert found["load"] == {
        "bytes_per_s": 36_000_000,
        "capacity_bytes_per_s": 90_000_000,
        "burst_ns": None,
        "taken_percent": 40,
    }
    # By default, what the profile shares; the load is in the place of its other masters.
    others, loaded = document(*shared, *LOAD)["rows"]
    assert others["alone_ns"] == loaded["alone_ns"] == priced["total_ns"]
    assert others["under"] != loaded["under"] == "load on sdram constants and sdram heap"


def test_what_does_not_touch_the_bus_is_not_slowed_down(tmp_path: Path) -> None:
    """Others have a memory of their own, and all of the bus but a thousandth."""
    file = tmp_path / "apart.yaml"
    theirs = "{kind: memory, bus width: 32, read: 9 ns, write: 9 ns, arbitration: {takes: 1 s}}"
    file.write_text(SHARED[: SHARED.index("  sdram heap")] + f"  theirs: {theirs}\n")
    loaded = ("--load", "999MB/s", "--capacity", "1GB/s", "--burst", "1s")
    rows = document(*PAPER, "--profile", str(file), *loaded)["rows"]
    assert [row["under"] for row in rows] == [
        "other masters of theirs",
        "load on theirs",
        "load on theirs, at most",
    ]
    assert {row["slowdown_exact"] for row in rows} == {"1"}
    assert {row["loaded_ns"] - row["alone_ns"] for row in rows} == {0}


def test_bursts_make_a_second_figure() -> None:
    words = (*ALONE, *LOAD, "--bus", "sdram heap", "--burst", "10ns")
    average, most = document(*words)["rows"]
    assert most["loaded_ns"] > average["loaded_ns"]
    assert most["under"].endswith(", at most")
    assert most["bus_share_percent"] is None
    # A long burst: the whole time is stretched, and the burst comes once.
    _, long = document(*words[:-1], "1ms")["rows"]
    exact = (long["alone_ns"] + 10**6) / 0.6
    assert long["loaded_ns"] == pytest.approx(exact, abs=1e-3)


def test_csv_markdown_and_a_picture(tmp_path: Path) -> None:
    words = (*ALONE, *LOAD, "--bus", "sdram heap")
    (row,) = csv.DictReader(io.StringIO(call(*words, "--format", "csv").stdout))
    assert (row["service"], row["parameters"], row["word"]) == ("CreateThread", "N=13", "estimate")
    text = call(*words, "--format", "markdown").stdout
    assert f"| {row['slowdown']} |" in text
    assert "F\\_sd" in text
    assert "\\\\" not in text
    plot = tmp_path / "plot.svg"
    table = call(*words, "--plot", str(plot))
    assert table.exit_code == 0
    assert "40 % of the bus's time: an estimate by an average" in " ".join(table.stdout.split())
    root = ElementTree.fromstring(plot.read_text())
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert f"CreateThread: {float(row['slowdown']):.4g} at 36 MB/s" in titles
    assert "CreateThread: 1 at 0 B/s" in titles


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "nothing says what is slowed down"),
        (("renaux2010",), 2, "--profile"),
        (ALONE, 2, "has no other master"),
        ((*ALONE, *LOAD), 2, "--bus REGION"),
        ((*ALONE, *LOAD, "--bus", "sdram"), 3, "has no region sdram"),
        ((*ALONE, "--load", "1MB/s"), 2, "both --load and --capacity"),
        ((*ALONE, "--capacity", "1MB/s"), 2, "both --load and --capacity"),
        ((*ALONE, "--burst", "1us"), 2, "--burst belongs to a load"),
        ((*ALONE, "--bus", "sdram heap"), 2, "--bus belongs to a load"),
        ((*ALONE, "--plot", "p.svg"), 2, "--plot belongs to a load"),
        ((*ALONE, *LOAD, "--plot", "-"), 2, "a file of its own"),
        ((*ALONE, "--load", "90MB/s", "--capacity", "90MB/s"), 3, "nothing is left"),
        ((*ALONE, "--load", "91MB/s", "--capacity", "90MB/s"), 3, "less than --capacity"),
        ((*ALONE, "--load", "0MB/s", "--capacity", "90MB/s"), 3, "--load: `0MB/s` is not one"),
        ((*ALONE, "--load", "1MB/s", "--capacity", "0 MB/s"), 3, "--capacity: `0 MB/s` is not"),
        ((*ALONE, "--load", "36 MBps", "--capacity", "1 MB/s"), 3, "not a unit of bandwidth"),
        ((*ALONE, "--load", "36", "--capacity", "1 MB/s"), 3, "has no unit"),
        ((*ALONE, "--load", "1..2 MB/s", "--capacity", "9 MB/s"), 3, "is not one bandwidth"),
        ((*ALONE, *LOAD, "--burst", "0us"), 3, "--burst: 0us is nothing"),
        ((*ALONE, *LOAD, "--burst", "3 cycles"), 3, "there is no clock"),
        ((*ALONE, *LOAD, "--bus", "sdram heap", "--service", "x"), 3, "no service x"),
        (("renaux2010", "--measured", "schoenberg"), 2, "means nothing with --measured"),
        (("--measured", "schoenberg", "--bus", "x"), 2, "--bus means nothing"),
        (("--measured", "schoenberg", "--capacity", "36MB/s"), 3, "nothing is left"),
        (("--measured", "schoenberg", "--service", "dse"), 3, "did you mean `des`"),
        (("--measured", "schönberg"), 3, "no such file of slowdowns"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    done = call(*arguments)
    assert done.exit_code == code, done.output
    assert said in " ".join(done.output.split())
    assert not done.stdout


def test_measured_slowdowns_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(FILE)
    found = document("--measured", str(file))
    # Twice as long: half of the bus is gone, so 30 of 60 MB/s.
    assert (found["taken_percent"], found["capacity_bytes_per_s"]) == (50, 60_000_000)
    assert found["taken_by"] == "the slowdown of bus"
    assert [row["bus_share_percent"] for row in found["rows"]] == [100, 50]
    assert found["rows"][1]["alone_ns"] == 10**7
    assert found["rows"][1]["also_said"] == [1.4]
    assert [one["slowdown_of_bus_time"] for one in found["predicted"]] == [2, None]
    assert "without end" in call("--measured", str(file)).stdout
    # Another capacity: a third is gone, and the bus alone does not explain a factor of 2.
    other = call("--measured", str(file), "--capacity", "90MB/s", "--service", "bus").stdout
    assert "bus is slowed down by more than bus time alone would be" in other
    file.write_text(FILE.replace("load: 30 MB/s\n", "").replace(", only bus time: true", ""))
    unknown = document("--measured", str(file))
    assert [row["bus_share_percent"] for row in unknown["rows"]] == [None, None]
    assert unknown["predicted"] == []
    done = call("--measured", str(file), "--capacity", "90MB/s")
    assert (done.exit_code, "--load" in done.output) == (2, True)
    done = call("--measured", str(file), "--plot", str(tmp_path / "p.svg"))
    assert (done.exit_code, "no load to plot over" in done.output) == (2, True)


def test_the_published_slowdowns(tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    done = call("--measured", "schoenberg", "--format", "csv", "--plot", str(plot))
    rows = {row["application"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert {name: (row["slowdown"], row["bus_share_percent"]) for name, row in rows.items()} == {
        "memory": ("2.2", "100"),
        "des": ("1.09", "7.5"),
        "quicksort": ("1.22", "18.334"),
        "mpeg": ("1.36", "30"),
    }
    root = ElementTree.fromstring(plot.read_text())
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert "mpeg: 1.36 at 36 MB/s" in titles
    assert len(list(root.iter(f"{SVG}polyline"))) == len(list(root.iter(f"{SVG}circle"))) == 4
    assert "| write | 69.88 | 51.517 | 2.063 | 2.2 | -6.2 % |" in (
        call("--measured", "schoenberg", "--format", "markdown").stdout
    )


@pytest.mark.parametrize(
    ("was", "is_", "place", "said"),
    [
        ("load: 30 MB/s", "load: 0 MB/s", "3:7", "not one bandwidth above zero"),
        ("load: 30 MB/s", "load: 30 MHz", "3:7", "not a unit of bandwidth"),
        ("load: 30 MB/s", "load: 30 mb/s", "3:7", "did you mean `MB/s`"),
        ("read: 60 MB/s", "read: 0 MB/s", "4:20", "not one bandwidth above zero"),
        ("slowdown: 2,", "slowdown: 0.9,", "6:19", "not a slowdown factor"),
        ("slowdown: 2,", "slowdown: soon,", "6:19", "not a slowdown factor"),
        ("slowdown: 2,", "slowdown: 1,", "6:22", "shows no load"),
        ("slowdown: 2, ", "", "6:8", "a factor or two times"),
        ("alone: 10 ms", "slowdown: 3", "7:9", "a factor or two times"),
        ("alone: 10 ms", "alone: 0 ms", "7:17", "no time"),
        ("alone: 10 ms", "alone: 16 ms", "7:32", "less than it takes alone"),
        ("alone: 10 ms", "alone: 9..10 ms", "7:17", "not a measured time"),
        ("loaded: 15 ms", "loaded: 15 ms, only bus time: true", "7:39", "already"),
        ("also said: [1.4]", "also said: [0.4]", "7:51", "not a slowdown factor"),
    ],
)
def test_mistakes_have_their_place(
    was: str, is_: str, place: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.yaml"
    assert was in FILE
    file.write_text(FILE.replace(was, is_, 1))
    done = call("--measured", str(file))
    assert done.exit_code == 3
    assert f"{file}:{place}: " in done.output, done.output
    assert said in done.output


def test_no_application_at_all(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(FILE[: FILE.index("applications")] + "applications: {}\n")
    done = call("--measured", str(file))
    assert (done.exit_code, "there is no application" in done.output) == (3, True)
