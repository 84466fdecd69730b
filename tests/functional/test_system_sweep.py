"""``wcetchar system sweep`` against ``system check`` on files that say the numbers themselves."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wcetchar.cli import main

FILE = """\
schema: wcetchar/system/1
name: two tasks
kernel: {context switch: 2 us, time slice: none}
tasks:
  control: {priority: 2, period: CONTROL us, deadline: 1 ms, wcet: 300 us, slowdown: 1.5,
    uses: [{resource: bus, wcet: 20 us}]}
  log: {priority: 1, period: 50 ms, wcet: LOG us, holds off: {preemption: 40 us},
    uses: [{resource: bus, wcet: BUS us, times: TIMES}]}
interrupts:
  uart: {priority: 1, rate: 10 kHz, wcet: 4 us}
"""
GIVEN = {"CONTROL": 2000, "LOG": 12000, "BUS": 30, "TIMES": 1}
WAYS = {
    "CONTROL": "tasks.control.period",
    "LOG": "tasks.log.wcet",
    "BUS": "tasks.log.uses.0.wcet",
    "TIMES": "tasks.log.uses.0.times",
}
SHARED = """\
schema: wcetchar/system/1
name: two of the same priority
kernel: {context switch: 2 us, time slice: none}
tasks:
  one: {priority: 1, period: 10 ms, deadline: 2100 us, wcet: 1 ms}
  other: {priority: 1, period: 10 ms, deadline: 2100 us, wcet: 1 ms}
"""
PRICED = """\
schema: wcetchar/system/1
name: priced
kernel:
  characterization: renaux2010
  profile: PROFILE
  map: renaux2010/map1
  context switch: 1 us
  set: {COMMON}
tasks:
  maker:
    {priority: 1, period: 2 ms, wcet: 100 us, calls: [
      {service: CreateThread, times: 2}]}
"""
SVG = "{http://www.w3.org/2000/svg}"


def call(verb: str, *arguments: object) -> Result:
    return CliRunner().invoke(main, ["system", verb, *map(str, arguments)])


def swept(*arguments: object, code: int = 0) -> dict[str, Any]:
    done = call("sweep", *arguments, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def checked(file: Path, *arguments: object) -> dict[str, dict[str, Any]] | None:
    """By name; ``None``: more than all of the processor's time is needed."""
    done = call("check", file, *arguments, "--json")
    if done.exit_code not in (0, 1):
        assert "of the processor's time" in done.output, done.output
        return None
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


def text(**numbers: int) -> str:
    found = FILE
    for name, value in {**GIVEN, **numbers}.items():
        found = found.replace(name, str(value))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "system.yaml"
    file.write_text(text())
    return file


def same(row: dict[str, Any], other: dict[str, Any]) -> None:
    assert row["response_ns"] == other["response_ns"]
    assert row["deadline_ns"] == other["deadline_ns"]
    assert row["met"] == other["met"]
    assert row["largest_part"] == other["largest_part"]
    if other["slack_ns"] != "missed":
        assert row["slack_ns"] == other["slack_ns"]


def test_each_point_is_what_check_says_of_a_file_with_these_numbers(
    file: Path, tmp_path: Path
) -> None:
    found = swept(
        file, "--vary", "tasks.control.period=700,900,2000us", "--vary", "tasks.log.wcet=1..8ms/4"
    )
    assert [axis["name"] for axis in found["axes"]] == ["tasks.control.period", "tasks.log.wcet"]
    logs = found["axes"][1]["values"]
    assert len(found["rows"]) == 3 * 3 * 4
    other = tmp_path / "other.yaml"
    for control, log in itertools.product((700, 900, 2000), logs):
        other.write_text(text(CONTROL=control).replace("wcet: 12000 us", f"wcet: {log} ms"))
        expected = checked(other)
        assert expected is not None
        here = [
            row
            for row in found["rows"]
            if row["tasks.control.period_us"] == control and row["tasks.log.wcet_ms"] == log
        ]
        assert {row["name"] for row in here} == {"control", "log", "uart"}
        for row in here:
            same(row, expected[row["name"]])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.data(),
    st.lists(st.sampled_from(sorted(WAYS)), min_size=1, max_size=2, unique=True),
)
def test_random_axes(tmp_path: Path, data: st.DataObject, names: list[str]) -> None:
    within = {"CONTROL": (400, 9000), "LOG": (90, 40000), "BUS": (0, 30), "TIMES": (1, 3)}
    axes = {}
    for name in names:
        numbers = st.integers(*within[name])
        axes[name] = sorted(data.draw(st.sets(numbers, min_size=1, max_size=3)))
    file = tmp_path / "random.yaml"
    file.write_text(text())
    options: list[str] = []
    for name, values in axes.items():
        unit = "" if name == "TIMES" else "us"
        options += ["--vary", f"{WAYS[name]}={','.join(map(str, values))}{unit}"]
    found = swept(file, *options)
    points = list(itertools.product(*axes.values()))
    assert [tuple(point["at"]) for point in found["points"]] == points
    for at, point in zip(points, found["points"], strict=True):
        file.write_text(text(**dict(zip(axes, at, strict=True))))
        expected = checked(file)
        rows = found["rows"][found["points"].index(point) :: len(points)]
        assert len(rows) == 3
        if expected is None:
            assert point["load_percent"] > 100
            assert not point["met"]
            continue
        for row in rows:
            same(row, expected[row["name"]])
        assert point["met"] == all(row["met"] for row in expected.values())
        slacks = [row["slack_ns"] for row in rows]
        if None not in slacks:
            assert point["slack_ns"] == min(slacks)


def test_profile_and_parameters_as_check_on_a_profile_that_says_so(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    profile = tmp_path / "mine.yaml"
    profile.write_text(_in_cycles())
    file.write_text(PRICED.replace("PROFILE", "mine.yaml").replace("COMMON", "N: 5"))
    found = swept(file, "--vary", "core.clock=20,40MHz", "--vary", "N=1,13")
    assert found["profile"]
    for row in found["rows"]:
        clock, n = row["core.clock_MHz"], row["N"]
        profile.write_text(_in_cycles().replace("clock: 72 MHz", f"clock: {clock} MHz"))
        file.write_text(PRICED.replace("PROFILE", "mine.yaml").replace("COMMON", f"N: {n}"))
        expected = checked(file)
        assert expected is not None
        same(row, expected["maker"])
    assert len({row["response_ns"] for row in found["rows"]}) == 4


def test_parameters_of_calls_that_say_them_are_numbers_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    stated = PRICED.replace("PROFILE", "renaux2010/platform1").replace("{COMMON}", "{}")
    stated = stated.replace("times: 2", "set: {N: 13}, times: 2")
    file.write_text(stated)
    done = call("sweep", file, "--vary", "N=1,2")
    assert done.exit_code == 3
    assert "--vary: no selected service has a parameter `N`" in done.output
    found = swept(file, "--vary", "tasks.maker.calls.0.set.N=1,13")
    file.write_text(stated.replace("N: 13", "N: 1"))
    expected = checked(file)
    assert expected is not None
    same(found["rows"][0], expected["maker"])


def test_overloaded_points_are_missed_and_not_refused(file: Path) -> None:
    found = swept(file, "--vary", "tasks.control.period=200us,2000us")
    first, second = found["points"]
    assert first["load_percent"] > 100
    assert not first["met"]
    assert first["slack_ns"] is None
    assert second["met"]
    log = next(row for row in found["rows"] if row["name"] == "log")
    assert log["response_ns"] == "none"
    assert log["slack_ns"] is None
    done = call("sweep", file, "--vary", "tasks.control.period=200us,2000us")
    assert re.search(r"200 .* no  control +no bound|200 .* no  log +no bound", done.output)


def test_changes_are_those_between_neighbours(file: Path) -> None:
    found = swept(file, "--vary", "tasks.log.uses.0.wcet=10,20,40us")
    rows = [row for row in found["rows"] if row["name"] == "control"]
    steps = [
        Fraction(after["slack_ns"] - before["slack_ns"]) / width
        for (before, after), width in zip(itertools.pairwise(rows), (10, 20), strict=True)
    ]
    change = next(one for one in found["changes"] if one["name"] == "control")
    assert change["least_ns_per_unit"] == min(steps)
    assert change["most_ns_per_unit"] == max(steps)
    assert min(steps) < 0


def test_tables(file: Path) -> None:
    done = call("sweep", file, "--vary", "tasks.control.period=900,2000us")
    assert done.exit_code == 0
    assert "The tightest at each point" in done.output
    assert "What each unit does" in done.output
    done = call("sweep", file, "--vary", "tasks.control.period=900,2000us", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.output)))
    assert len(rows) == 6
    assert rows[0]["tasks.control.period_us"] == "900"


@pytest.mark.parametrize(
    ("number", "values", "smallest"),
    [
        ("tasks.control.period", "460..2000us/30", True),
        ("tasks.control.deadline", "100..900us/30", True),
        ("tasks.control.wcet", "30..900us/30", False),
        ("interrupts.uart.rate", "1..200kHz/30", False),
        ("tasks.log.uses.0.wcet", "30..900us/30", False),
        ("kernel.time slice", "20..800us/40", True),
    ],
)
def test_solved_is_the_last_that_check_lets_pass(
    file: Path, number: str, values: str, smallest: bool
) -> None:
    if number == "kernel.time slice":
        sliced = "time slice: 100 us, tick: none"
        file.write_text(SHARED.replace("time slice: none", sliced))
    solved = swept(file, "--solve", f"{number}={values}")
    every = swept(file, "--vary", f"{number}={values}")
    (row,) = solved["rows"]
    key = next(key for key in every["rows"][0] if key.startswith(number))
    met = {
        value: all(one["met"] for one in every["rows"] if one[key] == value)
        for value in every["axes"][0]["values"]
    }
    assert set(met.values()) == {True, False}, "nothing to solve"
    holding = [value for value, holds in met.items() if holds]
    best = min(holding) if smallest else max(holding)
    assert solved["sense"] == ("least" if smallest else "largest")
    assert row[key] == best
    ordered = sorted(met, reverse=smallest)
    assert row[next(k for k in row if k.startswith("beyond"))] == (
        ordered[ordered.index(best) + 1] if best != ordered[-1] else None
    )
    dearer = ordered[: ordered.index(best)]
    failing = sorted(value for value in dearer if not met[value])
    assert [one["values"] for one in solved["failing"]] == ([failing] if failing else [])


def test_clocks_are_solved_by_halving_where_all_is_cycles(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(PRICED.replace("PROFILE", "profile.yaml").replace("COMMON", "N: 13"))
    (tmp_path / "profile.yaml").write_text(_in_cycles())
    solved = swept(file, "--solve", "core.clock=1..60MHz", "--map", "renaux2010/map1")
    (row,) = solved["rows"]
    least = row["core.clock_MHz"]
    every = swept(
        file,
        "--map",
        "renaux2010/map1",
        "--vary",
        f"core.clock={least - 0.001:.3f},{least:.3f}MHz",
    )
    assert [point["met"] for point in every["points"]] == [False, True]
    assert row["slack_ns"] == every["points"][1]["slack_ns"]
    assert solved["method"] == "halving"


def _in_cycles() -> str:
    """A copy of a shipped profile with all its times in cycles."""
    from wcetchar.store.names import profile_path

    whole = Path(profile_path("renaux2010/platform1")).read_text()
    return re.sub(r"\b(\d+(?:\.\d+)?) ns\b", "2 cycles", whole)


def test_nothing_holds(file: Path) -> None:
    solved = swept(file, "--solve", "tasks.control.deadline=1..5us", code=1)
    (row,) = solved["rows"]
    assert row["tasks.control.deadline_us"] is None
    assert row["misses"] == "control"
    assert row["missed_by_ns"] > 0


def test_pictures(file: Path, tmp_path: Path) -> None:
    file.write_text(text().replace("control:", '"<b>&":').replace("two tasks", "<i>"))
    drawn = tmp_path / "slack.svg"
    done = call("sweep", file, "--vary", "tasks.log.wcet=1..8ms/4", "--plot", drawn)
    assert done.exit_code == 0, done.output
    root = ElementTree.parse(drawn).getroot()
    assert len(root.findall(f".//{SVG}polyline")) == 3
    assert any("<b>&" in (one.text or "") for one in root.iter(f"{SVG}title"))
    arguments = ["--vary", "tasks.log.wcet=1..8ms/4", "--solve", "interrupts.uart.rate=1..99kHz/9"]
    done = call("sweep", file, *arguments, "--plot", drawn)
    assert done.exit_code == 0, done.output
    root = ElementTree.parse(drawn).getroot()
    assert len(root.findall(f".//{SVG}polyline")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing is varied"),
        (["--vary", "tasks.control.period"], "is not NAME=VALUES"),
        (["--vary", "tasks.controll.period=1ms"], "has no number"),
        (["--vary", "core.clock=1MHz"], "has no number"),
        (["--vary", "tasks.control.period=0ms"], "can be no time at all"),
        (["--vary", "tasks.control.period=1..5"], "period"),
        (["--vary", "tasks.log.uses.0.wcet=1..20ms"], "take longer than its own code"),
        (["--vary", "tasks.control.slowdown=1ms"], "no slowdown"),
        (["--vary", "tasks.log.wcet=1..20000us"], "too many to analyse"),
        (["--solve", "tasks.log.wcet=1..20000us"], "too many to try"),
        (["--vary", "tasks.log.wcet=1ms", "--vary", "tasks.log.wcet=2ms"], "given twice"),
        (["--vary", "tasks.log.wcet=1ms", "--solve", "tasks.log.wcet=2ms"], "given twice"),
        (["--solve", "tasks.log.wcet=2ms", "--plot", "x.svg"], "--plot needs an axis"),
    ],
)
def test_mistakes(file: Path, options: list[str], message: str) -> None:
    done = call("sweep", file, *options)
    assert done.exit_code in (2, 3), done.output
    assert message in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_mistakes_at_a_point_name_it(file: Path) -> None:
    done = call(
        "sweep", file, "--vary", "tasks.control.period=1,2ms", "--vary", "tasks.log.wcet=1,20us"
    )
    assert done.exit_code == 3
    assert "at tasks.control.period = 1 ms, tasks.log.wcet = 1 us: " in done.output


def test_two_ways_that_are_spelled_alike(file: Path) -> None:
    more = "  a-b: {priority: 3, period: 20 ms, wcet: 1 us}\n"
    more += "  a b: {priority: 4, period: 20 ms, wcet: 1 us}\n"
    file.write_text(text().replace("interrupts:", more + "interrupts:"))
    assert call("sweep", file, "--vary", "tasks.a-b.wcet=1,2us").exit_code == 0
    done = call("sweep", file, "--vary", "tasks.a_b.wcet=1,2us")
    assert done.exit_code == 3
    assert "is the way to 2 numbers" in done.output


def test_circles_are_refused(file: Path) -> None:
    inner = "kernel: {inheritance: transitive, context switch: 2 us, time slice: none}"
    circle = text().replace("kernel: {context switch: 2 us, time slice: none}", inner)
    circle = circle.replace(
        "uses: [{resource: bus, wcet: 20 us}]",
        "uses: [{resource: bus, wcet: 20 us}, {resource: disk, wcet: 1 us, within: bus}]",
    ).replace(
        "uses: [{resource: bus, wcet: 30 us, times: 1}]",
        "uses: [{resource: disk, wcet: 20 us}, {resource: bus, wcet: 1 us, within: disk}]",
    )
    file.write_text(circle)
    done = call("sweep", file, "--vary", "tasks.log.wcet=1ms")
    assert done.exit_code == 3
    assert "in a circle" in done.output
