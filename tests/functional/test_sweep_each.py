"""``wcetchar sweep --each`` against ``wcetchar estimate`` on profiles that say the numbers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from sweep_files import document, run, write_files
from test_system_all_paths import with_paths

from wcetchar.cli import main
from wcetchar.errors import InputError
from wcetchar.model.estimate import Estimate
from wcetchar.pipeline import estimate
from wcetchar.store import characterization_json

SVG = "{http://www.w3.org/2000/svg}"
BOARD = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  name: core
  clock: 100 MHz +- 1 %
  events: {alu: 1..3 cycles, load: 2 cycles +- 1 cycle}
  overlap: {fetch: 1 cycle}
  discarded fetches: {load: 1, exception entry: 0}
regions:
  code flash:
    kind: memory
    base: 0x08000000
    size: 64 KiB
    bus width: 16
    fetch: {first: 30 ns, next: 25 ns}
    read: 31 ns
    note: 14 ns
  sram:
    kind: memory
    bus width: 32
    clock divider: 2
    read: 2.5 cycles
    write: 10 ns +- 5 %
"""
AT_10_PERCENT = {
    "core.clock": ("clock: 100 MHz +- 1 %", "clock: 90 MHz +- 1 %", "-10 %"),
    "core.events.alu": ("1..3 cycles", "1.1..3.3 cycles", "+10 %"),
    "core.events.load": ("2 cycles +- 1 cycle", "2.2 cycles +- 1.1 cycle", "+10 %"),
    "core.overlap.fetch": ("{fetch: 1 cycle}", "{fetch: 0.9 cycle}", "-10 %"),
    "core.discarded fetches.load": ("load: 1,", "load: 2,", "x 2"),
    "core.discarded fetches.exception entry": ("entry: 0", "entry: 0", "x 2"),
    "regions.code flash.bus width": ("bus width: 16", "bus width: 8", "/ 2"),
    "regions.code flash.fetch.first": ("first: 30 ns", "first: 33 ns", "+10 %"),
    "regions.code flash.fetch.next": ("next: 25 ns", "next: 27.5 ns", "+10 %"),
    "regions.code flash.read": ("31 ns", "34.1 ns", "+10 %"),
    "regions.sram.bus width": ("bus width: 32", "bus width: 16", "/ 2"),
    "regions.sram.clock divider": ("clock divider: 2", "clock divider: 4", "x 2"),
    "regions.sram.read": ("2.5 cycles", "2.75 cycles", "+10 %"),
    "regions.sram.write": ("10 ns +- 5 %", "11 ns +- 5 %", "+10 %"),
}
"""All numbers of the board: what a file says of each, before and then."""
FILES = ("k.json", "--profile", "board.yaml", "--map", "map.yaml")
NUMBERS = ("--set", "N=3", "--set", "M=3")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(BOARD)


def estimated(board: str) -> dict[str, dict[str, Any]]:
    """By service."""
    Path("other.yaml").write_text(board)
    files = ["other.yaml" if one == "board.yaml" else one for one in FILES]
    done = CliRunner().invoke(main, ["estimate", *files, *NUMBERS, "--json"])
    assert done.exit_code == 0, done.output
    return {one["service"]: one for one in json.loads(done.stdout)["estimates"]}


def test_by_hand() -> None:
    """A walk at N = 3 is 9 fetches of 30 ns, 14 ALU events of 10 ns, 3 loads of 20 ns with a read
    of 7 ns each; a twentieth more or less. 4 fetches, 6 ALU events and 2 loads of it are masked."""
    files = ("k.json", "--profile", "plain.yaml", "--map", "plain-map.yaml", "--service", "walk")
    found = document(*files, "--set", "N=3", "--each", "5 %")
    (before,) = found["services"]
    assert before["total_ns"] == 9 * 30 + 14 * 10 + 3 * (20 + 7)
    assert before["interrupts_ns"] == 2 * (60 + 30 + 27)
    rows = {row["number"]: row for row in found["rows"]}
    for number, total, interrupts in (
        ("regions.flash.fetch", 13.5, 6),
        ("core.events.alu", 7, 3),
        ("core.events.load", 3, 2),
        ("regions.sram.read", 1.05, 0.7),
        ("regions.flash.read", 0, 0),
    ):
        assert rows[number]["total_change_ns"] == total
        assert rows[number]["interrupts_change_ns"] == interrupts
    # 200 ns are cycles, 120 of them masked; each is 1 / 0.95 as long.
    assert rows["core.clock"]["to"] == "95 MHz"
    assert rows["core.clock"]["total_change_ns"] == pytest.approx(200 / 19, abs=0.001)
    assert rows["core.clock"]["interrupts_change_ns"] == pytest.approx(100 / 19, abs=0.001)
    # 32 bits need two accesses of 16.
    assert rows["regions.flash.bus width"]["total_change_ns"] == 270
    totals = [row["total_change_ns"] for row in found["rows"] if row["outcome"] == "priced"]
    assert totals == sorted(totals, reverse=True)


def test_every_number_as_an_estimate_of_a_profile_that_says_so() -> None:
    found = document(*FILES, *NUMBERS, "--each", "10%")
    before = estimated(BOARD)
    assert {row["number"] for row in found["rows"] if row["outcome"] == "priced"} == set(
        AT_10_PERCENT
    )
    effects = 0
    for number, (old, new, change) in AT_10_PERCENT.items():
        assert BOARD.count(old) == 1
        after = estimated(BOARD.replace(old, new))
        rows = [row for row in found["rows"] if row["number"] == number]
        assert [row["service"] for row in rows] == ["walk", "copy"]
        for row in rows:
            one, other = before[row["service"]], after[row["service"]]
            assert row["to"] in new
            assert row["change"] == change
            total = other["total_ns"] - one["total_ns"]
            assert row["total_change_ns"] == pytest.approx(total, abs=0.0011)
            share = 100 * total / one["total_ns"]
            assert row["total_change_percent"] == pytest.approx(share, abs=0.0011)
            for kind in ("interrupts", "preemption"):
                by = other["blocking_ns"].get(kind, 0) - one["blocking_ns"].get(kind, 0)
                assert row[f"{kind}_change_ns"] == pytest.approx(by, abs=0.0011)
            assert row["word"] == other["word"]
            effects += bool(total)
    assert effects >= 12


def test_bounds_over_all_paths() -> None:
    """Where they are more than the published rows, they count."""
    Path("k.json").write_text(characterization_json(with_paths()))
    found = document(*FILES, "--set", "N=3", "--service", "walk", "--each", "10%")

    def safe(board: str) -> tuple[float, str]:
        one = estimated(board)["walk"]
        over = one["over_all_paths"]
        assert over["bound_ns"] > one["total_ns"]
        return over["bound_ns"], over["word"]

    before, _ = safe(BOARD)
    assert found["services"][0]["total_ns"] == before
    changes = []
    for number, (old, new, _) in AT_10_PERCENT.items():
        after, word = safe(BOARD.replace(old, new))
        (row,) = (row for row in found["rows"] if row["number"] == number)
        assert row["total_change_ns"] == pytest.approx(after - before, abs=0.0011)
        assert row["word"] == word
        changes.append(after - before)
    assert sum(map(bool, changes)) >= 5
    assert any("the bound over all paths counts" in note for note in found["notes"])


def test_as_between_two_points_of_a_sweep() -> None:
    """Which evaluates all points in columns."""
    found = document(*FILES, *NUMBERS, "--each", "20%")
    way = "regions.code flash.fetch.next"
    points = document(*FILES, *NUMBERS, "--vary", f"{way}=25,30ns")["rows"]
    for row in found["rows"]:
        if row["number"] == way:
            before, after = (one for one in points if one["service"] == row["service"])
            for kind in ("total", "interrupts", "preemption"):
                by = after[f"{kind}_ns"] - before[f"{kind}_ns"]
                assert row[f"{kind}_change_ns"] == pytest.approx(by, abs=0.0011)


def test_services_are_each_in_order_and_sums_of_what_changes_nothing() -> None:
    done = run(*FILES, *NUMBERS, "--each", "10%")
    assert done.exit_code == 0, done.output
    assert done.output.index("walk:") < done.output.index("copy:")
    found = document(*FILES, *NUMBERS, "--each", "10%")
    for service in ("walk", "copy"):
        own = [row for row in found["rows"] if row["service"] == service]
        keys = ("total_change_ns", "interrupts_change_ns", "preemption_change_ns")
        idle = [row for row in own if not any(row[key] for key in keys)]
        assert idle
        assert f"{len(idle)} more numbers change nothing of {service};" in done.output
    spread = " ".join(done.output.split())
    assert "left out: regions.code flash.base, regions.code flash.size: it says where" in spread
    assert "note" not in done.output


def test_refused_values_stand_there_with_their_reason() -> None:
    narrow = BOARD.replace("bus width: 32", "bus width: 8")
    busy = "    bus width: 8\n    refresh: {takes: 1 us, every: 1.05 us}\n"
    Path("board.yaml").write_text(narrow.replace("    bus width: 8\n", busy))
    found = document(*FILES, *NUMBERS, "--each", "10%")
    refused = {r["number"]: r for r in found["rows"] if r["outcome"] == "refused"}
    assert set(refused) == {
        "regions.sram.bus width",
        "regions.sram.refresh.takes",
        "regions.sram.refresh.every",
    }
    assert refused["regions.sram.bus width"]["to"] == "4"
    assert "cannot be `4` bits wide" in refused["regions.sram.bus width"]["why"]
    assert "never free" in refused["regions.sram.refresh.every"]["why"]
    assert refused["regions.sram.refresh.every"]["total_change_ns"] is None
    done = run(*FILES, *NUMBERS, "--each", "10%")
    spread = " ".join(done.output.split())
    assert "refused: regions.sram.bus width from 8 to 4: a bus cannot be `4` bits wide" in spread
    left_out = {r["number"] for r in found["rows"] if r["outcome"] == "left out"}
    assert left_out == {"regions.code flash.base", "regions.code flash.size"}


def test_what_one_service_cannot_have_is_refused_for_it_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = document(*FILES, *NUMBERS, "--each", "10%")

    class Refusing(estimate.Opened):
        def at(self, service: str, values: Mapping[str, int]) -> tuple[Estimate, ...]:
            flash = self.profile.regions["code flash"]
            if service == "copy" and flash.bus_width == 8:
                raise InputError("copy needs more", expected="16 bits")
            return super().at(service, values)

    monkeypatch.setattr(estimate, "Opened", Refusing)
    found = document(*FILES, *NUMBERS, "--each", "10%")
    (row,) = (row for row in found["rows"] if row["outcome"] == "refused")
    assert row["service"] == "copy"
    assert row["number"] == "regions.code flash.bus width"
    assert row["why"] == "copy needs more (expected: 16 bits)"
    walks = [[r for r in one["rows"] if r["service"] == "walk"] for one in (both, found)]
    assert walks[0] == walks[1]
    done = run(*FILES, *NUMBERS, "--each", "10%")
    assert "refused with copy: regions.code flash.bus width from 16 to 8: " in done.output


def test_nothing_changes_with_a_share_of_nothing() -> None:
    found = document(*FILES, *NUMBERS, "--each", "0%")
    for row in found["rows"]:
        if row["outcome"] == "priced":
            assert row["total_change_ns"] == row["interrupts_change_ns"] == 0
            assert row["preemption_change_ns"] == 0
    done = run(*FILES, *NUMBERS, "--each", "0%")
    assert f"{len(AT_10_PERCENT)} numbers change nothing of walk;" in done.output


def test_forms() -> None:
    found = document(*FILES, *NUMBERS, "--each", "10%")
    assert found["schema"] == "wcetchar/sweep-each/1"
    assert found["share_percent"] == 10
    done = run(*FILES, *NUMBERS, "--each", "10%", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.output)))
    assert len(rows) == len(found["rows"])
    for row, other in zip(rows, found["rows"], strict=True):
        assert row["number"] == other["number"]
        assert row["outcome"] == other["outcome"]
        if other["total_change_ns"] is not None:
            assert float(row["total_change_ns"]) == other["total_change_ns"]
    done = run(*FILES, *NUMBERS, "--each", "10%", "--format", "markdown")
    assert done.output.startswith("## walk: ")
    assert "| core.clock | 100 MHz +- 1 % | -10 % | 90 MHz +- 1 % |" in done.output


def test_bars() -> None:
    done = run(*FILES, *NUMBERS, "--each", "10%", "--plot", "bars.svg")
    assert done.exit_code == 0, done.output
    found = document(*FILES, *NUMBERS, "--each", "10%")
    root = ElementTree.parse("bars.svg").getroot()
    drawn = [float(one.get("width", "")) for one in root.iter(f"{SVG}rect")]
    assert len(drawn) == sum(bool(row["total_change_ns"]) for row in found["rows"])
    assert drawn == sorted(drawn, reverse=True)
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert "walk: regions.code flash.bus width (/ 2)" in texts
    done = run(*FILES, *NUMBERS, "--each", "0%", "--plot", "none.svg")
    assert done.exit_code == 2
    assert "no number changes anything" in done.output


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--each", "10%", "--vary", "N=1"], 2, "--each and --vary are two questions"),
        (["--each", "10%", "--solve", "N=1..4"], 2, "--each and --solve are two questions"),
        (["--each", "10%", "--budget", "1us"], 2, "--each and --budget are two questions"),
        (["--each", "10"], 3, "is not a percentage"),
        (["--each", "-10%"], 3, "is not a percentage"),
        (["--each", "1e1%"], 3, "is not a percentage"),
        (["--each", "100%"], 3, "leaves nothing of it"),
        (["--each", "10%", "--set", "Q=1"], 3, "no selected service has a parameter Q"),
        (["--each", "10%", "--service", "run"], 3, "run"),
        ([], 2, "or --each SHARE"),
    ],
)
def test_mistakes(options: list[str], code: int, message: str) -> None:
    done = run(*FILES, *NUMBERS, *options)
    assert done.exit_code == code, done.output
    assert message in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_a_value_that_is_missing() -> None:
    done = run(*FILES, "--each", "10%")
    assert done.exit_code == 3
    assert "N" in done.output
