"""``wcetchar system sweep --each`` against ``system check`` on files that say the numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from wcetchar.cli import main
from wcetchar.store.names import profile_path

SVG = "{http://www.w3.org/2000/svg}"
FILE = """\
schema: wcetchar/system/1
name: two tasks
kernel: {context switch: 2 us, time slice: 10 ms, slowdown: 1}
tasks:
  control: {priority: 2, period: 2000 us, deadline: 1 ms, wcet: 300 us, slowdown: 1.5,
    uses: [{resource: "7", wcet: 20 us, times: 1}]}
  log: {priority: 1, period: 50 ms, wcet: 12 ms, jitter: 11 us, holds off: {preemption: 40 us},
    suspended: {time: 17 us, times: 2}, uses: [{resource: "7", wcet: 30 us, times: 3}]}
interrupts:
  uart: {priority: 1, rate: 10 kHz, wcet: 4 us}
"""
AT_10_PERCENT = {
    "kernel.context switch": ("switch: 2 us", "switch: 2.2 us"),
    "kernel.time slice": ("slice: 10 ms", "slice: 9 ms"),
    "kernel.slowdown": ("slowdown: 1}", "slowdown: 1.1}"),
    "tasks.control.period": ("2000 us", "1800 us"),
    "tasks.control.deadline": ("1 ms", "0.9 ms"),
    "tasks.control.wcet": ("300 us", "330 us"),
    "tasks.control.slowdown": ("1.5", "1.65"),
    "tasks.control.uses.0.wcet": ("wcet: 20 us", "wcet: 22 us"),
    "tasks.control.uses.0.times": ("times: 1}", "times: 2}"),
    "tasks.log.period": ("50 ms", "45 ms"),
    "tasks.log.wcet": ("12 ms", "13.2 ms"),
    "tasks.log.jitter": ("11 us", "12.1 us"),
    "tasks.log.holds off.preemption": ("40 us", "44 us"),
    "tasks.log.suspended.time": ("17 us", "18.7 us"),
    "tasks.log.suspended.times": ("times: 2}", "times: 4}"),
    "tasks.log.uses.0.wcet": ("wcet: 30 us", "wcet: 33 us"),
    "tasks.log.uses.0.times": ("times: 3}", "times: 6}"),
    "interrupts.uart.rate": ("10 kHz", "11 kHz"),
    "interrupts.uart.wcet": ("4 us}", "4.4 us}"),
}
"""All numbers that are amounts: what the file says of each, before and then."""
PRICED = """\
schema: wcetchar/system/1
name: priced
kernel: {characterization: renaux2010, profile: PROFILE, map: renaux2010/map1,
  context switch: 1 us, set: {N: 5}}
tasks:
  maker: {priority: 1, period: 2 ms, wcet: 100 us, calls: [{service: CreateThread, times: 2}]}
"""


def call(verb: str, *arguments: object) -> Result:
    return CliRunner().invoke(main, ["system", verb, *map(str, arguments)])


def swept(*arguments: object) -> dict[str, Any]:
    done = call("sweep", *arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def checked(file: Path) -> dict[str, dict[str, Any]]:
    done = call("check", file, "--json")
    assert done.exit_code in (0, 1), done.output
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


def slack(row: dict[str, Any]) -> float:
    return float(row["deadline_ns"]) - float(row["response_ns"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "system.yaml"
    file.write_text(FILE)
    return file


def test_every_number_as_a_check_of_a_file_that_says_so(file: Path, tmp_path: Path) -> None:
    found = swept(file, "--each", "10%")
    before = checked(file)
    priced = [row for row in found["rows"] if row["outcome"] == "priced"]
    assert {row["number"] for row in priced} == set(AT_10_PERCENT)
    assert len(priced) == 3 * len(AT_10_PERCENT)
    other = tmp_path / "other.yaml"
    changed = set()
    for number, (old, new) in AT_10_PERCENT.items():
        assert FILE.count(old) == 1, old
        other.write_text(FILE.replace(old, new))
        after = checked(other)
        rows = {row["name"]: row for row in priced if row["number"] == number}
        assert set(rows) == {"control", "log", "uart"}
        for name, row in rows.items():
            assert row["slack_ns"] == pytest.approx(slack(after[name]), abs=0.0011)
            by = slack(after[name]) - slack(before[name])
            assert row["slack_change_ns"] == pytest.approx(by, abs=0.0011)
            assert row["met"] == after[name]["met"]
            assert row["slack_change_ns"] <= 0
            if by:
                changed.add(number)
        point = next(one for one in found["points"] if one["number"] == number)
        least = min(rows.values(), key=lambda row: row["slack_ns"])
        assert point["slack_ns"] == least["slack_ns"]
    assert len(changed) >= 13
    slacks = [point["slack_ns"] for point in found["points"]]
    assert slacks == sorted(slacks)


def test_numbers_that_are_no_amounts_are_left_out(file: Path) -> None:
    found = swept(file, "--each", "10%")
    left_out = {row["number"]: row["why"] for row in found["rows"] if row["outcome"] == "left out"}
    assert left_out == dict.fromkeys(
        ("tasks.control.priority", "tasks.log.priority", "interrupts.uart.priority"),
        "it is a place in an order, and no amount",
    )


def test_numbers_of_the_profile_and_parameters(tmp_path: Path) -> None:
    file, profile = tmp_path / "system.yaml", tmp_path / "mine.yaml"
    whole = Path(profile_path("renaux2010/platform1")).read_text()
    profile.write_text(whole)
    file.write_text(PRICED.replace("PROFILE", "mine.yaml"))
    found = swept(file, "--each", "25%")
    (times,) = (r for r in found["rows"] if r["number"] == "tasks.maker.calls.0.times")
    file.write_text(PRICED.replace("PROFILE", "mine.yaml").replace("times: 2", "times: 4"))
    assert times["slack_ns"] == pytest.approx(slack(checked(file)["maker"]), abs=0.0011)
    (more,) = (r for r in found["rows"] if r["number"] == "kernel.set.N")
    file.write_text(PRICED.replace("PROFILE", "mine.yaml").replace("N: 5", "N: 10"))
    assert more["slack_ns"] == pytest.approx(slack(checked(file)["maker"]), abs=0.0011)
    file.write_text(PRICED.replace("PROFILE", "mine.yaml"))
    changed = 0
    for row in found["rows"]:
        if row["number"].startswith("regions.") and row["number"].endswith(".fetch"):
            region = row["number"].split(".")[1]
            where = whole.index(f"{region}:")
            there = re.compile(r"fetch: " + re.escape(row["from"]))
            match = there.search(whole, where)
            assert match is not None
            text = whole[: match.start()] + f"fetch: {row['to']}" + whole[match.end() :]
            profile.write_text(text)
            assert row["slack_ns"] == pytest.approx(slack(checked(file)["maker"]), abs=0.0011)
            changed += row["slack_change_ns"] < 0
    assert changed


def test_a_period_that_its_interrupt_does_not_allow_is_refused_with_the_reason(file: Path) -> None:
    file.write_text(FILE.replace("deadline: 1 ms", "released by: uart, deadline: 1 ms"))
    found = swept(file, "--each", "7%")
    refused = {row["number"]: row for row in found["rows"] if row["outcome"] == "refused"}
    assert set(refused) == {"tasks.control.period", "interrupts.uart.rate"}
    assert "no multiple of those of `uart`" in refused["tasks.control.period"]["why"]
    done = call("sweep", file, "--each", "7%")
    spread = " ".join(done.output.split())
    assert "refused: tasks.control.period from 2000 us to 1860 us: the period and" in spread


def test_overload_is_a_result(file: Path) -> None:
    file.write_text(FILE.replace("12 ms", "34 ms"))
    found = swept(file, "--each", "40%")
    (row,) = (r for r in found["rows"] if r["number"] == "tasks.log.wcet" and r["name"] == "log")
    assert row["slack_ns"] is None
    assert row["slack_change_ns"] is None
    assert row["met"] is False
    assert row["why"] == "no bound"
    assert found["points"][0]["slack_ns"] is None
    done = call("sweep", file, "--each", "40%")
    assert re.search(r"tasks.log.wcet .* no  log +no bound", done.output)


def test_nothing_changes_with_a_share_of_nothing(file: Path) -> None:
    found = swept(file, "--each", "0%")
    assert all(not row["slack_change_ns"] for row in found["rows"])
    done = call("sweep", file, "--each", "0%", "--plot", file.parent / "none.svg")
    assert done.exit_code == 2
    assert "no number changes anything" in done.output


def test_forms_and_bars(file: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "bars.svg"
    done = call("sweep", file, "--each", "10%", "--plot", drawn)
    assert done.exit_code == 0, done.output
    assert "The tightest with each number" in done.output
    assert "Slack of log, " in done.output
    root = ElementTree.parse(drawn).getroot()
    assert list(root.iter(f"{SVG}rect"))
    for form in ("markdown", "csv"):
        done = call("sweep", file, "--each", "10%", "--format", form)
        assert done.exit_code == 0, done.output
        assert "tasks.log.wcet" in done.output


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--each", "10%", "--vary", "tasks.log.wcet=1ms"], 2, "--each and --vary are two"),
        (["--each", "10%", "--solve", "tasks.log.wcet=1ms"], 2, "--each and --solve are two"),
        (["--each", "ten"], 3, "is not a percentage"),
        (["--each", "200%"], 3, "leaves nothing of it"),
    ],
)
def test_mistakes(file: Path, options: list[str], code: int, message: str) -> None:
    done = call("sweep", file, *options)
    assert done.exit_code == code, done.output
    assert message in " ".join(done.output.split())
    assert "Traceback" not in done.output
