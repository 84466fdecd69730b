"""``wcetchar measure`` from a plan and readings to output and exit code."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from wcetchar.cli import main

PLAN = """\
schema: wcetchar/measure/1
question: why
circumstances: none
accuracy: 10 %
operations:
  call: {calls: 10, expected: {hardware: 80..120 ns, software: 20 ns}}
  load:
    sizes: [4 KiB, 64 KiB]
    expected: {steps: [{up to: 32 KiB, hardware: 10 ns}, {hardware: 100 ns}]}
"""
HEADING = "operation,parameter,calls,start_outer_ns,start_inner_ns,end_inner_ns,end_outer_ns\n"


def lines(operation: str, parameter: str, calls: int, inner: list[int]) -> str:
    return "".join(f"{operation},{parameter},{calls},0,5,{5 + n},{10 + n}\n" for n in inner)


GOOD = (
    HEADING
    + lines("call", "", 10, [1205, 1206, 1204, 1205, 1205, 1207, 1205, 9005])
    + lines("load", "4096", 100, [1005, 1006] * 4)
    + lines("load", "65536", 100, [30005, 30006] * 4)
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(PLAN)
    Path("r.csv").write_text(GOOD)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["measure", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(*arguments, "--json").stdout)
    return found


def test_a_table_has_the_columns_of_the_procedure_and_words() -> None:
    done = call("target", "plan.yaml", "r.csv")
    assert done.exit_code == 0, done.output
    for heading in ("hardware", "software", "predicted", "average", "deviation", "verdict"):
        assert heading in done.stdout
    assert "1 of 3 agree with what was expected, 1 more but for the longest run" in done.stdout
    assert "load, 64 KiB: slower than expected by a factor of 3" in done.stdout
    assert "call: 1 of 8 runs are outliers, the longest 900 ns in repetition 8" in done.stdout
    assert "with them the average is 217.6 ns" in " ".join(done.stdout.split())
    assert "a single call may have taken longer" in " ".join(done.stdout.split())
    assert "usable if that can be explained" in done.stdout


def test_the_judged_figures_stand_between_the_prediction_and_the_verdict() -> None:
    """The average of all runs, 217.6 ns, is not what agrees with 100 to 140 ns."""
    text = call("target", "plan.yaml", "r.csv", "--format", "markdown").stdout
    heading, _, row = [line for line in text.splitlines() if line.startswith("|")][:3]
    names, cells = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in (heading, row)
    )
    at = names.index("predicted")
    assert names[at:] == ["predicted", "result", "longest", "verdict"]
    assert cells[at:-1] == ["100 .. 140 ns", "120.1 ns", "900 ns"]
    assert cells[-1].startswith("agrees")
    assert "217.6 ns" not in row
    assert "217.6 ns" in text


def test_json_has_stable_keys_and_exact_figures() -> None:
    found = document("target", "plan.yaml", "r.csv")
    assert found["schema"] == "wcetchar/measuring/1"
    one, small, large = found["rows"]
    assert (one["predicted_low_ns"], one["predicted_high_ns"]) == (100, 140)
    assert one["overhead_median_ns"] == 10
    assert one["subtracted_ns"] == 5
    assert one["maximum_ns"] == 900
    assert one["result_ns"] == pytest.approx(120.03, abs=0.01)
    assert one["outlier_runs"] == [{"repetition": 8, "ns": 900}]
    assert one["calls"] == 10
    assert (small["verdict"], large["verdict"]) == ("agrees", "slower")
    assert large["factor"] == pytest.approx(3, abs=0.001)
    assert all(row["usable"] for row in found["rows"])
    from wcetchar.report.measuring_text import FIELDS

    assert set(one) == {*FIELDS, "verdicts", "in_words", "outlier_runs"}


def test_csv_and_markdown_say_the_same() -> None:
    rows = list(
        csv.DictReader(io.StringIO(call("target", "plan.yaml", "r.csv", "--format", "csv").stdout))
    )
    of_json = document("target", "plan.yaml", "r.csv")["rows"]
    for row, other in zip(rows, of_json, strict=True):
        assert float(row["result_ns"]) == other["result_ns"]
        assert row["verdict"] == other["verdict"]
        assert row["usable"] == "true"
    text = call("target", "plan.yaml", "r.csv", "--format", "markdown").stdout
    assert "| load | 64 KiB | 100 ns | 0 ns |" in text


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ([5] * 9, "nothing is left of what was measured"),
        ([1205, 1206, 1207], "too few to know anything of noise"),
        ([15, 16] * 5, "the clock is too coarse"),
        ([600, 1800] * 5, "the spread is too large"),
        ([20005] * 9, "slower than expected by a factor of 14.3"),
        ([95, 94] * 9, "faster than expected by a factor of"),
    ],
)
def test_what_is_not_to_be_used_ends_with_1_and_is_printed(inner: list[int], said: str) -> None:
    Path("r.csv").write_text(HEADING + lines("call", "", 10, inner) + lines("call2", "", 1, []))
    done = call("target", "plan.yaml", "r.csv", "--only", "call")
    assert done.exit_code == 1, done.output
    assert "1 of 1 results cannot be used as they are" in done.stderr
    assert said in done.stderr
    assert said in done.stdout
    assert document("target", "plan.yaml", "r.csv")["rows"][0]["usable"] is False


def test_a_longest_run_that_nobody_explains_ends_with_1() -> None:
    """Expected 0.9 to 1.1 us, and one run of 21 us among runs of 1 us."""
    plan = (
        "schema: wcetchar/measure/1\nquestion: q\ncircumstances: c\naccuracy: 10 %\noperations:\n"
        "  send: {expected: {hardware: 0.9..1.1 us}}\n"
    )
    Path("plan.yaml").write_text(plan)
    Path("r.csv").write_text(HEADING + lines("send", "", 1, [1005, 1007] * 10 + [21005]))
    done = call("target", "plan.yaml", "r.csv")
    assert done.exit_code == 1, done.output
    said = "agrees, but the longest run is 19.1 times the expectation (21 us in repetition 21, "
    assert said in " ".join(done.stdout.split())
    assert "agrees, but longest x 19.1" in done.stdout
    assert said in done.stderr
    assert "measure that apart, or explain it" in done.stderr
    (row,) = document("target", "plan.yaml", "r.csv")["rows"]
    assert row["verdicts"] == ["longest run far slower", "agrees", "outliers"]
    assert row["longest_factor"] == pytest.approx(21000 / 1100, abs=0.001)
    Path("plan.yaml").write_text(plan + "interruption: 20 us\n")
    done = call("target", "plan.yaml", "r.csv")
    assert done.exit_code == 0, done.output
    assert "agrees, longest x 19.1" in done.stdout
    assert "1 of 1 agree with what was expected\n" in done.stdout
    (row,) = document("target", "plan.yaml", "r.csv")["rows"]
    assert row["verdicts"] == ["agrees", "interrupted", "outliers"]
    assert row["interruption_ns"] == 20000
    assert "an interruption may take 20 us of a reading: send" in call("expect", "plan.yaml").stdout


@pytest.mark.parametrize(
    ("expected", "inner", "said"),
    [
        # 300 us round a counter of 256 us: 44 are left, and nothing of it shows.
        ("{hardware: 290..310 us}", [49, 50], "may take 310 us by the plan"),
        # 44 us that were foreseen are 44 us.
        ("{hardware: 40..50 us}", [49, 50], None),
        # More than half of a round, without anything to hold it against.
        ("", [140, 141], "a reading took"),
    ],
)
def test_a_counter_that_may_have_gone_round(
    expected: str, inner: list[int], said: str | None
) -> None:
    head = PLAN[: PLAN.index("  call:")]
    what = f"{{expected: {expected}}}" if expected else "{}"
    Path("plan.yaml").write_text(f"{head}  call: {what}\n")
    text = HEADING.replace("_ns", "_cycles") + lines("call", "", 1, inner * 9)
    Path("r.csv").write_text("# clock: 1 MHz\n# bits: 8\n" + text)
    done = call("target", "plan.yaml", "r.csv")
    verdicts = document("target", "plan.yaml", "r.csv")["rows"][0]["verdicts"]
    if said is None:
        assert done.exit_code == 0, done.output
        assert "counter too narrow" not in verdicts
    else:
        assert done.exit_code == 1
        assert verdicts[0] == "counter too narrow"
        assert "the counter begins anew after 256 us" in done.stderr
        assert said in done.stderr


def test_what_was_not_measured_is_said() -> None:
    Path("r.csv").write_text(HEADING + lines("call", "", 10, [1205, 1206] * 5))
    assert document("target", "plan.yaml", "r.csv")["notes"] == [
        "not measured: load at 4096",
        "not measured: load at 65536",
        "fewer repetitions than the plan asks for: call (10 of 1,000)",
    ]


def test_cycles_are_of_the_slowest_clock() -> None:
    text = GOOD.replace("_ns", "_cycles")
    Path("r.csv").write_text(text)
    done = call("target", "plan.yaml", "r.csv")
    assert done.exit_code == 3
    assert "nothing says how long one is" in done.output
    found = document("target", "plan.yaml", "r.csv", "--clock", "500..1000 MHz", "--only", "call")
    assert found["rows"][0]["maximum_ns"] == 1800
    assert found["rows"][0]["systematic_ns"] > found["rows"][0]["result_ns"] / 2
    Path("r.csv").write_text("# clock: 1 GHz\n" + text)
    assert document("target", "plan.yaml", "r.csv")["rows"][0]["maximum_ns"] == 900


def test_the_staircase() -> None:
    Path("r.csv").write_text("# cache: L1, 32 KiB\n" + GOOD)
    done = call("target", "plan.yaml", "r.csv", "--plot", "p.svg")
    assert done.exit_code == 0, done.output
    text = Path("p.svg").read_text()
    titles = [one.text or "" for one in ElementTree.fromstring(text).iter() if one.text]
    assert any("measured: 10" in title and "at 4 KiB" in title for title in titles)
    assert "predicted, at most: 100 ns at 64 KiB" in titles
    assert "L1" in titles
    refused = call("target", "plan.yaml", "r.csv", "--only", "call", "--plot", "p.svg")
    assert refused.exit_code == 3
    assert "measured at several sizes" in refused.output


def test_an_expectation_from_a_characterization_is_what_estimate_says() -> None:
    Path("plan.yaml").write_text(
        "schema: wcetchar/measure/1\nquestion: q\ncircumstances: c\naccuracy: 10 %\noperations:\n"
        "  CreateThread:\n    parameters: [13]\n    expected:\n      estimate: {characterization: "
        "renaux2010, service: CreateThread, profile: renaux2010/platform1, map: renaux2010/map1, "
        "parameter: N}\n"
    )
    estimate = CliRunner().invoke(
        main,
        [
            *("estimate", "renaux2010", "--profile", "renaux2010/platform1"),
            *("--map", "renaux2010/map1", "--service", "CreateThread", "--set", "N=13", "--json"),
        ],
    )
    priced = json.loads(estimate.stdout)["estimates"][0]
    (row,) = document("expect", "plan.yaml")["rows"]
    assert row["predicted_high_ns"] == priced["total_ns"]
    assert row["word"] == priced["word"]
    high = priced["total_ns"]
    Path("r.csv").write_text(HEADING + lines("CreateThread", "13", 1, [int(high * 0.9)] * 9))
    assert call("target", "plan.yaml", "r.csv").exit_code == 0
    Path("r.csv").write_text(HEADING + lines("CreateThread", "13", 1, [int(high * 1.01)] * 9))
    above = call("target", "plan.yaml", "r.csv")
    assert above.exit_code == 1
    assert "at worst" in above.stderr
    # Ten calls of 0.9 of the estimate on the average say nothing of the longest of them.
    Path("r.csv").write_text(HEADING + lines("CreateThread", "13", 10, [int(high * 9)] * 9))
    averaged = call("target", "plan.yaml", "r.csv")
    assert "CreateThread, 13: a reading holds 10 calls" in averaged.stdout
    assert "one of them may have taken longer than their average" in " ".join(
        averaged.stdout.split()
    )
    Path("plan.yaml").write_text(
        Path("plan.yaml").read_text().replace("parameter: N}", "parameter: M}")
    )
    refused = call("expect", "plan.yaml")
    assert refused.exit_code == 3
    assert "M" in refused.output


def test_expectations_in_every_format() -> None:
    table = call("expect", "muller-arm9").stdout
    assert "1.14 us    500 ns  1.64 .. 2 us" in table
    (row,) = document("expect", "muller-arm9")["rows"]
    assert (row["hardware_high_ns"], row["software_high_ns"]) == (1140, 500)
    (of_csv,) = csv.DictReader(io.StringIO(call("expect", "muller-arm9", "--format=csv").stdout))
    assert of_csv["predicted_low_ns"] == "1640"
    assert "| context switch |" in call("expect", "muller-arm9", "--format", "markdown").stdout


def test_what_others_reported_is_held_against_their_predictions() -> None:
    """Hu, Sreepathy, Kharbanda 2022, tables of 4.1.3 to 4.1.5: predicted, average, deviation."""
    rows = {row["operation"]: row for row in document("expect", "hu2022")["rows"]}
    thread, process = rows["thread, created and run"], rows["process, created and run"]
    switch, processes = rows["switch of threads"], rows["switch of processes"]
    assert (thread["predicted_high_ns"], thread["reported_ns"]) == (150_000, 115_000)
    assert (process["predicted_high_ns"], process["reported_ns"]) == (500_000, 1_085_000)
    assert (switch["reported_ns"], switch["reported_deviation_ns"]) == (2608, 1180)
    verdicts = [row["reported_verdict"] for row in (thread, process, switch, processes)]
    assert verdicts == ["agrees", "slower", "faster", "far slower"]
    assert process["reported_factor"] == pytest.approx(1085 / 500)
    assert switch["reported_factor"] == pytest.approx(10 / 2.608, abs=0.001)
    assert switch["reported_error_ns"] == pytest.approx(2 * 1180 / 1000)
    assert thread["reported_error_ns"] is None
    # One run of all the time and the others of none have the largest deviation.
    least = thread["reported_repetitions_at_least"]
    assert 115 * (least - 1) ** 0.5 < 671_512 <= 115 * least**0.5
    shown = " ".join(call("expect", "hu2022").stdout.split())
    assert "takes 34,096,663 repetitions or more" in shown
    assert "is it what all of them took, 1.371 us each?" in shown
    assert call("expect", "hu2022").exit_code == 0
    assert (
        "| switch of threads | 10 us | 2.608 us |"
        in call("expect", "hu2022", "--format=markdown").stdout
    )
    (row,) = csv.DictReader(
        io.StringIO(call("expect", "hu2022", "--only", "switch of threads", "--format=csv").stdout)
    )
    assert row["reported_verdict"] == "faster"


@pytest.mark.parametrize(
    ("reported", "verdict", "code"),
    [
        # Of 5 runs with the average 100 the deviation is at most 100 * sqrt(5) = 223.6.
        ("{average: 100 ns, deviation: 223 ns, repetitions: 5}", "too wide", 0),
        ("{average: 100 ns, deviation: 224 ns, repetitions: 5}", "impossible", 0),
        ("{average: 100 ns, deviation: 1 ns, repetitions: 5}", "agrees", 0),
        ("{average: 0 ns}", None, 3),
        ("{deviation: 1 ns}", None, 3),
    ],
)
def test_what_others_reported_is_held_against_itself(
    reported: str, verdict: str | None, code: int
) -> None:
    head = PLAN[: PLAN.index("  call:")]
    Path("plan.yaml").write_text(
        f"{head}  call: {{expected: {{hardware: 100 ns}}, reported: {reported}}}\n"
    )
    done = call("expect", "plan.yaml")
    assert done.exit_code == code, done.output
    if verdict is not None:
        assert document("expect", "plan.yaml")["rows"][0]["reported_verdict"] == verdict
    Path("plan.yaml").write_text(f"{head}  call: {{parameters: [1], reported: {reported}}}\n")
    assert "an operation of its own for each value" in call("expect", "plan.yaml").output


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("target", "plan.yaml"), 2, "READINGS"),
        (("target", "nothing", "r.csv"), 3, "no such plan of measurements"),
        (("target", "plan.yaml", "none.csv"), 3, "cannot be read"),
        (("target", "plan.yaml", "r.csv", "--only", "lode"), 3, "did you mean `load`?"),
        (("target", "plan.yaml", "r.csv", "--clock", "fast"), 3, "--clock: `fast`"),
        (("target", "muller-arm9", "r.csv"), 3, "r.csv:2: the plan has no operation call"),
        (("target", "plan.yaml", "r.csv", "--plot", "-"), 2, "a file of its own"),
        (("target", "plan.yaml", "r.csv", "--plot", "o", "-o", "o"), 2, "a file of its own"),
        (("target", "plan.yaml", "r.csv", "-o", "r.csv"), 2, "also an input"),
        (("target", "plan.yaml", "r.csv", "--plot", "no/p.svg"), 3, "no/p.svg"),
        (("host", "plan.yaml"), 3, "plan.yaml:6:"),
        (("expect", "plan.yaml", "--json", "--format", "csv"), 2, "contradict"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    done = call(*arguments)
    assert done.exit_code == code, done.output
    assert said in done.output
    assert not done.stdout
    assert Path("r.csv").read_text() == GOOD


def test_a_cpu_that_is_not_there_is_a_mistake_of_the_option() -> None:
    done = call("host", "--cpu", "999", "--only", "loop")
    assert done.exit_code == 3
    assert "--cpu: CPU 999 is not there, or not allowed" in done.output
    assert "expected: one of " in done.output
    assert "leave the operation out" not in done.output


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("procedure call: {parameters: [3, 8]}", "is of 0 to 7 arguments"),
        ("procedure call: {}", "is of 0 to 7 arguments"),
        ("loop: {parameters: [1, 2]}", "loop has no parameter"),
        ("thread switch: {parameters: [5000], calls: 2}", "is of 1 to 4096 bytes"),
        ("process switch: {parameters: [1], calls: 3}", "an even number of calls"),
        ("memory: {sizes: [64 B]}", "is of 128 bytes"),
    ],
)
def test_what_this_machine_cannot_be_measured_at_has_its_place(operation: str, said: str) -> None:
    head = PLAN[: PLAN.index("  call:")]
    Path("plan.yaml").write_text(f"{head}  {operation}\n")
    done = call("host", "plan.yaml")
    assert done.exit_code == 3
    assert "plan.yaml:6:" in done.output
    assert said in done.output


def test_names_of_strangers_stay_text() -> None:
    hostile = "=1+1\x1b[2J"
    Path("plan.yaml").write_text(
        "schema: wcetchar/measure/1\nquestion: '=q'\ncircumstances: c\naccuracy: 10 %\n"
        'operations:\n  "=1+1\\e[2J": {expected: {hardware: 1200 ns}}\n'
    )
    text = "# machine: =m\x1b[2J\n" + HEADING + lines(hostile, "", 1, [1205] * 9)
    Path("r.csv").write_text(text)
    for form in ("table", "csv", "markdown"):
        done = call("target", "plan.yaml", "r.csv", "--format", form)
        assert done.exit_code == 0, done.output
        assert "\x1b" not in done.stdout
        if form == "csv":
            assert done.stdout.splitlines()[1].startswith("'=1+1")


def test_neither_a_compiler_nor_linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = call("host", "--only", "loop")
    assert done.exit_code == 3
    assert "no C compiler" in done.output
    assert "apt-get install gcc libc6-dev" in done.output
    monkeypatch.setattr("sys.platform", "darwin")
    done = call("host", "--only", "loop")
    assert done.exit_code == 3
    assert "only Linux can be measured here" in done.output
    assert set(os.listdir(tmp_path)) == {"plan.yaml", "r.csv"}
