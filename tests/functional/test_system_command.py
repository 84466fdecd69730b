"""``wcetchar system`` from files to output and exit code."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_cli_estimate import MAP, PROFILE, published

from wcetchar import store
from wcetchar.cli import main
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import Blocking, Counts, TraceSection, Word
from wcetchar.model.expression import Number
from wcetchar.store import characterization_json

ALU = CoreEvent(".text", EventKind.ALU)

RENAUX = ("renaux2010", "--profile", "renaux2010/platform1", "--map", "renaux2010/map1")
FILE = """\
schema: wcetchar/working-sets/1
source: by hand
working sets:
  one: {machine: m, size: 4 KiB, before: dirty, least progress: 25 %, settles: 40 us +- 25 %}
"""


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["system", "overhead", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_priced_switch_is_what_estimate_says_with_its_word() -> None:
    found = document(*RENAUX, "--service", "CreateThread", "--set", "N=13", "--rate", "500")
    estimate = CliRunner().invoke(
        main, ["estimate", *RENAUX, "--service", "CreateThread", "--set", "N=13", "--json"]
    )
    priced = json.loads(estimate.stdout)["estimates"][0]
    (row,) = found["rows"]
    assert row["switch"] == "CreateThread on renaux2010/platform1"
    assert row["switch_ns"] == priced["total_ns"]
    assert row["word"] == priced["word"]
    assert row["load_percent"] == pytest.approx(500 * priced["total_ns"] / 1e7, rel=1e-3)


def test_of_a_range_the_upper_end_counts_and_loads_round_up() -> None:
    (row,) = document("--switch", "1..3 us", "--rate", "0.7")["rows"]
    assert (row["switch_ns"], row["switching_ns_per_s"]) == (3000, 2100)
    assert row["load_percent"] == 0.001  # 0.00021, never 0
    assert row["word"] == "given"


def test_a_rate_is_a_number_or_a_frequency() -> None:
    rates = ("--rate", "1kHz", "--rate", "10 kHz +- 10 %", "--rate", "2.5")
    found = document("--switch", "1us", *rates)
    assert [row["switches_per_s"] for row in found["rows"]] == [1000, 11_000, 2.5]


def test_of_a_service_in_parts_the_sum_is_told(tmp_path: Path) -> None:
    """Parts as of a call that another thread cuts: they take 30 and 12 cycles of 10 ns."""
    kernel = published()
    parts = [
        replace(
            kernel.services[1],
            name=f"wait/{part}",
            parameters=(),
            word=word,
            counts=Counts((TraceSection(Blocking(), AccessVector({ALU: cycles}), Number(1)),)),
        )
        for part, cycles, word in (("call", 30, Word.BOUND), ("resume", 12, Word.HIGH_WATER_MARK))
    ]
    for name, text in (
        ("k.json", characterization_json(replace(kernel, services=tuple(parts)))),
        ("board.yaml", PROFILE),
        ("map.yaml", MAP.partition("parameters")[0]),
    ):
        (tmp_path / name).write_text(text)
    files = (f"{tmp_path}/k.json", "--map", f"{tmp_path}/map.yaml")
    board = ("--profile", f"{tmp_path}/board.yaml")
    rows = document(*files, *board, "--service", "wait", "--rate", "1kHz")["rows"]
    found = {row["switch"]: (row["switch_ns"], row["word"]) for row in rows}
    assert len(rows) == 3
    assert found == {
        "wait/call on board": (300, "bound"),
        "wait/resume on board": (120, "high-water mark"),
        "wait, one of each part, on board": (420, "high-water mark"),
    }
    twice = document(*files, *board, *board, "--service", "wait", "--rate", "1kHz")["rows"]
    assert {row["switch_ns"] for row in twice} == {300, 120, 420}


def test_a_working_set_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "sets.yaml"
    file.write_text(FILE)
    found = document("--switch", "10us", "--rate", "1000", "--working-set", f"{file}:one")
    (row,) = found["rows"]
    assert row["loss_ns_per_s"] == 1000 * 0.75 * 50_000
    assert found["behind"] == "one (m, caches dirty before), model flood"
    soft = document(
        *("--switch", "10us", "--rate", "1000", "--working-set", f"{file}:one"),
        *("--model", "exponential"),
    )
    # Nearly all of it is back after 1 ms.
    assert 0.999 < soft["rows"][0]["loss_ns_per_s"] / row["loss_ns_per_s"] <= 1


def test_csv_and_markdown_say_the_same(tmp_path: Path) -> None:
    words = ("--switch", "10us", "--rate", "500", "--rate", "200000")
    rows = list(csv.DictReader(io.StringIO(call(*words, "--format", "csv").stdout)))
    assert [row["load_percent"] for row in rows] == ["0.5", "200"]
    assert [row["loss_ns_per_s"] for row in rows] == ["", ""]
    text = call(*words, "--format", "markdown").stdout
    assert "| given | 500 | 10 | 5 | 0.5 | given |" in text
    assert "nothing is left" in text
    file = tmp_path / "out.csv"
    assert call(*words, "--format", "csv", "-o", str(file)).exit_code == 0
    assert list(csv.DictReader(file.open())) == rows


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "nothing says how long a switch takes"),
        (("--profile", "renaux2010/platform1"), 2, "nothing says"),
        (("--switch", "1us", "--profile", "renaux2010/platform1"), 2, "there is none"),
        (("--switch", "1us", "--rate", "0"), 2, "above 0"),
        (("--switch", "1us", "--rate", "-5"), 2, "above 0"),
        (("--switch", "1us", "--rate", "0 kHz"), 3, "can be zero"),
        (("--switch", "1us", "--rate", "1ms"), 3, "--rate"),
        (("--switch", "3 cycles"), 3, "there is no clock"),
        (("--switch", "soon"), 3, "--switch"),
        (("--switch", "1us", "--working-set", "kaiser2008"), 3, "FILE:NAME"),
        (("--switch", "1us", "--working-set", "kaiser2008:x"), 3, "no working set"),
        (("--switch", "1us", "--working-set", "nothing:x"), 3, "no such file of working sets"),
        ((*RENAUX,), 3, "context_switch"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    done = call(*arguments)
    assert done.exit_code == code, done.output
    assert said in done.output
    assert not done.stdout


@pytest.mark.parametrize(
    ("was", "is_", "line", "said"),
    [
        ("25 %,", "0 %,", 4, "not a progress"),
        ("25 %,", "101 %,", 4, "not a progress"),
        ("25 %,", "0.25,", 4, "not a percentage"),
        ("40 us +- 25 %", "3 cycles", 4, "there is no clock"),
        ("40 us +- 25 %", "0 us", 4, "not how long"),
        ("size: 4 KiB, ", "", 4, "size"),
        ("before", "after", 4, "after"),
        ("  one: {", "  one: {x: 1, ", 4, "x"),
        ("working-sets/1", "working-sets/2", 1, "working-sets/2"),
    ],
)
def test_mistakes_in_a_file_have_their_place(
    was: str, is_: str, line: int, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "sets.yaml"
    file.write_text(FILE.replace(was, is_, 1))
    done = call("--switch", "1us", "--working-set", f"{file}:one")
    assert done.exit_code == 3
    assert f"{file}:{line}:" in done.output
    assert said in done.output


def test_no_working_set_at_all(tmp_path: Path) -> None:
    file = tmp_path / "sets.yaml"
    file.write_text("schema: wcetchar/working-sets/1\nsource: none\nworking sets: {}\n")
    done = call("--switch", "1us", "--working-set", f"{file}:one")
    assert done.exit_code == 3
    assert "there is no working set" in done.output


def test_the_published_working_sets() -> None:
    """Kaiser 2008, table of results: f_0 and t_sust."""
    rows = {
        ("celeron", 16, "dirty"): ("0.11", 22),
        ("celeron", 32, "dirty"): ("0.11", 43),
        ("celeron", 64, "dirty"): ("0.09", 85),
        ("celeron", 16, "invalidated"): ("0.17", 12),
        ("celeron", 32, "invalidated"): ("0.18", 20),
        ("celeron", 64, "invalidated"): ("0.20", 35),
        ("pentium-m", 16, "dirty"): ("0.09", 25),
        ("pentium-m", 32, "dirty"): ("0.08", 38),
        ("pentium-m", 64, "dirty"): ("0.12", 91),
        ("pentium-m", 16, "invalidated"): ("0.17", 16),
        ("pentium-m", 32, "invalidated"): ("0.12", 29),
        ("pentium-m", 64, "invalidated"): ("0.21", 55),
    }
    found = store.load_working_sets("kaiser2008").working_sets
    assert {one.name: (one.least, one.settles, one.size, one.before) for one in found} == {
        f"{machine}-{size}k-{before}": (Fraction(least), settles * 1000, size << 10, before)
        for (machine, size, before), (least, settles) in rows.items()
    }
