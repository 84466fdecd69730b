"""``wcetchar system check`` from files to output, picture and exit code."""

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

FILE = """\
schema: wcetchar/system/1
name: two tasks
kernel: {context switch: 1..2 us, time slice: none}
tasks:
  control: {priority: 2, period: 2 ms, deadline: 1 ms, wcet: 300 us, slowdown: 1.5,
    uses: [{resource: bus, wcet: 20 us}]}
  log: {priority: 1, period: 50 ms, wcet: 12 ms, holds off: {preemption: 40 us},
    uses: [{resource: bus, wcet: 30 us}]}
interrupts:
  uart: {priority: 1, rate: 10 kHz, wcet: 4 us}
"""
PRICED = """\
schema: wcetchar/system/1
name: priced
kernel:
  characterization: renaux2010
  profile: renaux2010/platform1
  map: renaux2010/map1
  context switch: 1 us
tasks:
  maker:
    {priority: 1, period: 50 ms, wcet: 1 ms, calls: [
      {service: CreateThread, set: {N: 13}, times: 2}]}
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "system.yaml"
    file.write_text(FILE)
    return file


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["system", "check", *map(str, arguments)])


def document(*arguments: object, code: int = 0) -> dict[str, Any]:
    done = call(*arguments, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_by_hand(file: Path) -> None:
    """control: 450 of its own, two switches and two more for the lock, but for the last one away;
    40 held off and 30 locked out by log; a uart each 100, six of them."""
    found = document(file)
    rows = {row["name"]: row for row in found["rows"]}
    control = 450 + 3 * 2 + 40 + 30 + 6 * 4
    assert rows["control"]["response_ns"] == control * 1000
    assert rows["control"]["blocking_ns"] == 70_000
    assert rows["control"]["slack_ns"] == 1_000_000 - control * 1000
    assert rows["control"]["largest_part"] == "own code"
    assert rows["uart"]["response_ns"] == 6000  # behind a switch, which may mask it
    assert rows["log"]["response_ns"] > 12_000_000
    parts = {(p["part"], p["who"]): p["ns"] for p in found["parts"]["control"]}
    assert parts[("locked out by", "log (bus)")] == 30_000
    assert parts[("interrupted by", "uart")] == 24_000
    assert sum(parts.values()) == control * 1000
    assert found["met"] is True
    assert found["word"] is None
    assert found["simulated_hyperperiod"] is True
    for row in rows.values():
        assert 0 < row["simulated_ns"] <= row["response_ns"]


def test_services_are_priced_as_estimate_says(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(PRICED)
    found = document(file)
    (row,) = found["rows"]
    words = ("renaux2010", "--profile", "renaux2010/platform1", "--map", "renaux2010/map1")
    asked = ["estimate", *words, "--service", "CreateThread", "--set", "N=13", "--json"]
    priced = json.loads(CliRunner().invoke(main, asked).stdout)["estimates"][0]
    parts = {p["part"]: p["ns"] for p in found["parts"]["maker"]}
    assert parts["kernel services"] == pytest.approx(2 * priced["total_ns"], abs=0.002)
    assert found["word"] == priced["word"]
    assert row["response_ns"] == pytest.approx(sum(parts.values()), abs=0.01)
    other = document(file, "--profile", "renaux2010/platform3", "--map", "renaux2010/map3")
    assert other["rows"][0]["response_ns"] != row["response_ns"]


def test_what_a_service_masks_holds_off_more_urgent_ones(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    urgent = "  urgent: {priority: 2, period: 50 ms, wcet: 1 ms}\n"
    file.write_text(PRICED + urgent)
    found = document(file)
    parts = {p["part"]: (p["ns"], p["who"]) for p in found["parts"]["urgent"]}
    words = ("renaux2010", "--profile", "renaux2010/platform1", "--map", "renaux2010/map1")
    asked = ["estimate", *words, "--service", "CreateThread", "--set", "N=13", "--json"]
    priced = json.loads(CliRunner().invoke(main, asked).stdout)["estimates"][0]
    longest = max(priced["blocking_ns"].values())
    assert parts["held off by"] == (pytest.approx(longest, abs=0.001), "maker")


def test_a_missed_deadline_is_exit_1(file: Path) -> None:
    file.write_text(FILE.replace("deadline: 1 ms", "deadline: 500 us"))
    done = call(file)
    assert done.exit_code == 1
    assert "control: the deadline is missed by 50 us at worst" in done.stdout
    assert "deadlines can be missed: control" in done.output
    rows = list(csv.DictReader(io.StringIO(call(file, "--format", "csv").stdout)))
    assert [(row["name"], row["met"]) for row in rows] == [
        ("uart", "true"),
        ("control", "false"),
        ("log", "true"),
    ]


def test_parts_and_markdown(file: Path) -> None:
    text = call(file, "--parts", "--format", "markdown").stdout
    assert "| control | own code | 450 |" in text
    assert "| control | held off by log | 40 |" in text
    assert "What responses are made of" not in call(file).stdout


def test_the_picture(file: Path, tmp_path: Path) -> None:
    plot = tmp_path / "run.svg"
    done = call(file, "--timeline", plot, "--until", "3ms")
    assert done.exit_code == 0, done.output
    root = ElementTree.fromstring(plot.read_text())
    titles = [t.text or "" for bar in root.iter(f"{SVG}rect") for t in bar.iter(f"{SVG}title")]
    assert "control: runs from 6 to 36 us, holding bus" in titles
    marks = [t.text or "" for t in root.iter(f"{SVG}title")]
    assert "control: released at 2,000 us" in marks
    assert not [mark for mark in marks if "released at 4,000" in mark]
    assert not [bar for bar in root.iter() if bar.attrib.get("class") == "missed"]


def test_hostile_names_stay_text(file: Path, tmp_path: Path) -> None:
    file.write_text(FILE.replace("  control:", '  "<b>=1+1</b>":'))
    plot = tmp_path / "run.svg"
    done = call(file, "--format", "csv", "--timeline", plot)
    assert done.exit_code == 0, done.output
    assert "<b>" not in plot.read_text()
    file.write_text(FILE.replace("  control:", '  "=1+1":'))
    rows = list(csv.DictReader(io.StringIO(call(file, "--format", "csv").stdout)))
    assert not any(row["name"].startswith("=") for row in rows)


@pytest.mark.parametrize(
    ("was", "is_", "line", "said"),
    [
        ("period: 2 ms, ", "", 5, "a deadline without a period"),
        ("rate: 10 kHz, ", "", 10, "how often"),
        ("rate: 10 kHz", "rate: 10 kHz, period: 1 ms", 10, "say the same"),
        ("period: 2 ms", "period: 0 ms", 5, "no time at all"),
        ("period: 2 ms", "period: 2 cycles", 5, "there is no clock"),
        ("slowdown: 1.5", "slowdown: 0.5", 5, "no slowdown"),
        ("priority: 2", "released by: timer, priority: 2", 5, "no interrupt of this system"),
        ("priority: 2", "released by: uart, jitter: 0.1 ms, priority: 2", 0, ""),
        ("period: 2 ms", "released by: uart, period: 2.05 ms", 5, "no multiple"),
        ("wcet: 20 us", "wcet: 400 us", 6, "longer than its own code"),
        ("wcet: 20 us", "wcet: 20 us, within: other", 6, "passes on no"),
        ("wcet: 12 ms, ", "", 8, "longer than its own code"),
        ("time slice: none", "time slice: 0 ms", 3, "no time at all"),
        ("time slice: none", "time slices: none", 3, "time slice"),
        ("wcet: 4 us", "wcet: 4 us, calls: [{service: xQueueSendFromISR}]", 3, "what they take"),
        ("wcet: 20 us", "wcet: 20 us, calls: [{service: xSemaphoreTake}]", 3, "what they take"),
        ("wcet: 4 us", "wcet: 0 us", 10, "takes no time"),
        ("  uart", "  log", 10, "a task and an interrupt"),
        ("system/1", "system/7", 1, "system/7"),
        ("1..2 us", "about 2 us", 3, "no time, and there is no characterization"),
        ("1..2 us", ".5 us", 3, "no time, and there is no characterization"),
        ("resource: bus", 'resource: ""', 6, "cannot stand here"),
        ("  uart", '  ""', 10, "cannot stand here"),
        ("period: 2 ms", 'released by: "", period: 2 ms', 5, "cannot stand here"),
    ],
)
def test_mistakes_have_their_place(was: str, is_: str, line: int, said: str, file: Path) -> None:
    assert was in FILE
    text = FILE.replace(was, is_, 1)
    file.write_text(text)
    done = call(file)
    if not line:
        assert done.exit_code == 0, done.output
        return
    assert done.exit_code == 3, done.output
    assert f"{file}:{line}:" in done.output
    assert said in done.output
    assert not done.stdout


def test_whether_tasks_take_turns_has_to_be_said(file: Path) -> None:
    alike = FILE.replace("priority: 2", "priority: 1")
    file.write_text(alike.replace(", time slice: none", ""))
    done = call(file)
    assert done.exit_code == 3
    assert f"{file}:7:" in done.output
    assert "is as urgent as" in done.output
    file.write_text(alike.replace("time slice: none", "time slice: 1 ms"))
    parts = document(file, code=1)["parts"]["log"]
    assert "switches at the ends of slices" in {part["part"] for part in parts}


def test_above_the_kernel_is_above_what_it_masks(file: Path) -> None:
    file.write_text(FILE + "  fast: {priority: 1, period: 1 ms, wcet: 1 us, above kernel: true}\n")
    done = call(file)
    assert done.exit_code == 3
    assert f"{file}:11:" in done.output
    assert "not more urgent than those that it masks" in done.output


def test_the_background_is_below_all(file: Path) -> None:
    background = "  idle: {priority: 1, wcet: 1 us}\n"
    text = FILE.replace("interrupts:", background + "interrupts:")
    file.write_text(text)
    done = call(file)
    assert done.exit_code == 3
    assert "runs in the background" in done.output
    file.write_text(text.replace("idle: {priority: 1", "idle: {priority: 0"))
    assert [row["name"] for row in document(file)["rows"]] == ["uart", "control", "log"]


def test_more_than_all_of_the_time(file: Path) -> None:
    file.write_text(FILE.replace("wcet: 12 ms", "wcet: 40 ms"))
    done = call(file)
    assert done.exit_code == 3
    assert f"{file}:5:" in done.output
    assert "of the processor's time" in done.output
    assert "log 80.0 %" in done.output
    assert not done.stdout


def test_locks_in_a_circle(file: Path) -> None:
    text = FILE.replace("time slice: none", "time slice: none, inheritance: transitive")
    one = "uses: [{resource: bus, wcet: 20 us}, {resource: disk, wcet: 1 us, within: bus}]"
    other = "uses: [{resource: disk, wcet: 30 us}, {resource: bus, wcet: 1 us, within: disk}]"
    text = text.replace("uses: [{resource: bus, wcet: 20 us}]", one)
    nested = text
    file.write_text(nested)
    assert call(file).exit_code == 0
    file.write_text(text.replace("uses: [{resource: bus, wcet: 30 us}]", other))
    done = call(file)
    assert done.exit_code == 3
    assert "in a circle" in done.output


def test_mistakes_of_calls_are_at_the_calls(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    two = (
        PRICED
        + "  other: {priority: 2, period: 50 ms, calls: [\n"
        + "    {service: CreateThread, set: {N: 13}}]}\n"
    )
    for was, is_, said in (
        ("{N: 13}", "{N: -1}", "-1"),
        ("{N: 13}", "{N: 13, M: 1}", "no selected service has a parameter M"),
        ("service: CreateThread", "service: CreateThreads", "CreateThreads"),
    ):
        file.write_text(two.replace(was, is_))
        done = call(file)
        assert done.exit_code == 3, done.output
        assert f"{file}:11:" in done.output, (is_, done.output)
        assert f"{file}:13:" in done.output, (is_, done.output)
        assert said in done.output
    file.write_text(PRICED.replace("  profile: renaux2010/platform1\n", ""))
    assert "there is no hardware profile" in call(file).output
    file.write_text(PRICED.replace("platform1", "platform7"))
    assert "no such hardware profile" in call(file).output


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--until", "1ms"), 2, "there is none"),
        (("--timeline", "-"), 2, "a file of its own"),
        (("--timeline", "x.svg", "--until", "0us"), 2, "nothing to draw"),
        (("--timeline", "x.svg", "--until", "soon"), 3, "--until"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str, file: Path) -> None:
    done = call(file, *arguments)
    assert done.exit_code == code, done.output
    assert said in done.output
    assert not done.stdout


def test_times_need_not_be_whole(file: Path) -> None:
    file.write_text(FILE.replace("wcet: 300 us", "wcet: 300.0000001 us").replace("1.5", "1.333"))
    found = document(file)
    rows = {row["name"]: row for row in found["rows"]}
    own = next(p for p in found["parts"]["control"] if p["part"] == "own code")
    exact = Fraction("300000.0001") * Fraction("1.333")
    assert 0 <= Fraction(str(own["ns"])) - exact < Fraction(1, 1000)
    assert rows["control"]["simulated_ns"] <= rows["control"]["response_ns"]


def test_own_code_may_be_characterized(tmp_path: Path) -> None:
    """As a service of another file: its time is own code, and what it blocks counts."""
    file = tmp_path / "system.yaml"
    code = "code: {characterization: renaux2010, service: CreateThread, set: {N: 20}}"
    file.write_text(
        PRICED.partition("tasks:")[0]
        + f"tasks:\n  mine: {{priority: 1, period: 50 ms, {code}}}\n"
        + "  urgent: {priority: 2, period: 50 ms, wcet: 1 ms}\n"
    )
    found = document(file)
    words = ("renaux2010", "--profile", "renaux2010/platform1", "--map", "renaux2010/map1")
    asked = ["estimate", *words, "--service", "CreateThread", "--set", "N=20", "--json"]
    priced = json.loads(CliRunner().invoke(main, asked).stdout)["estimates"][0]
    mine = {p["part"]: p["ns"] for p in found["parts"]["mine"]}
    assert mine["own code"] == pytest.approx(priced["total_ns"], abs=0.001)
    urgent = {p["part"]: p["ns"] for p in found["parts"]["urgent"]}
    held = max(priced["blocking_ns"].values())
    assert urgent["held off by"] == pytest.approx(held, abs=0.001)


def test_a_wait_within_a_section_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    call_of = "{service: CreateThread, set: {N: 13}, gives way: "
    for way, code in (("release", 3), ("wait", 3), ("lock", 0), ("more urgent", 0)):
        section = f"uses: [{{resource: r, calls: [{call_of}{way}}}]}}]"
        file.write_text(PRICED + f"  other: {{priority: 2, period: 50 ms, {section}}}\n")
        done = call(file)
        assert done.exit_code == code, (way, done.output)
        if code:
            assert "other waits while it holds r" in done.output
            assert f"{file}:12:" in done.output


def test_sections_within_one_are_no_longer_than_it(file: Path) -> None:
    inner = "uses: [{resource: bus, wcet: 20 us}, {resource: disk, wcet: 21 us, within: bus}]"
    text = FILE.replace("time slice: none", "time slice: none, inheritance: transitive")
    file.write_text(text.replace("uses: [{resource: bus, wcet: 20 us}]", inner))
    done = call(file)
    assert done.exit_code == 3
    assert "take longer than itself" in done.output


def test_what_a_characterized_handler_masks_holds_others_off(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    of_it = "service: CreateThread, set: {N: 13}"
    found = []
    for work in (f"calls: [{{{of_it}}}]", f"code: {{characterization: renaux2010, {of_it}}}"):
        file.write_text(
            PRICED.replace("  context", "  nested interrupts: true\n  context")
            + f"interrupts:\n  low: {{priority: 1, period: 10 ms, {work}}}\n"
            + "  high: {priority: 2, period: 10 ms, wcet: 1 us}\n"
        )
        rows = {row["name"]: row for row in document(file)["rows"]}
        found.append(rows["high"]["response_ns"])
    assert found[0] == found[1] > 50_000


def test_slowdown_is_of_characterized_code_as_well(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    code = "code: {characterization: renaux2010, service: CreateThread, set: {N: 13}}"
    found = []
    for factor in ("1", "2"):
        file.write_text(
            PRICED.partition("tasks:")[0]
            + f"tasks:\n  mine: {{priority: 1, period: 50 ms, slowdown: {factor}, {code}}}\n"
        )
        parts = {p["part"]: p["ns"] for p in document(file)["parts"]["mine"]}
        found.append(parts["own code"])
    assert found[1] == pytest.approx(2 * found[0], abs=0.01)


def test_slack_is_never_shown_larger_than_it_is(file: Path) -> None:
    file.write_text(FILE.replace("wcet: 12 ms", "wcet: 12.0000000004 ms"))
    row = next(row for row in document(file)["rows"] if row["name"] == "log")
    assert row["response_ns"] + row["slack_ns"] <= row["deadline_ns"] + 0.0011
    exact = Fraction(str(row["response_ns"])) + Fraction(str(row["slack_ns"]))
    assert exact - row["deadline_ns"] in (0, Fraction(0))


def test_only_the_background_or_only_interrupts(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    head = "schema: wcetchar/system/1\nname: x\ntasks:\n  idle: {priority: 0, wcet: 1 us}\n"
    file.write_text(head)
    done = call(file)
    assert done.exit_code == 3
    assert "no task has a period" in done.output
    file.write_text(head + "interrupts:\n  i: {priority: 1, period: 1 ms, wcet: 1 us}\n")
    assert [row["name"] for row in document(file)["rows"]] == ["i"]


def test_far_too_many_jobs_have_no_bound(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(
        "schema: wcetchar/system/1\nname: x\nkernel: {time slice: none}\ntasks:\n"
        "  a: {priority: 2, period: 1 s, wcet: 0.9 s}\n"
        "  b: {priority: 1, period: 1 us, wcet: 0.05 us}\n"
    )
    done = call(file)
    assert done.exit_code == 1
    assert "b: no bound" in done.stdout


def test_calls_in_sections_alone_need_a_characterization(file: Path) -> None:
    text = FILE.replace("time slice: none", "time slice: none, profile: rv32/two-stage")
    file.write_text(text.replace("wcet: 20 us", "wcet: 20 us, calls: [{service: xSemaphoreTake}]"))
    done = call(file)
    assert done.exit_code == 3, done.output
    assert f"{file}:3:" in done.output
    assert "nothing says what they take" in done.output
