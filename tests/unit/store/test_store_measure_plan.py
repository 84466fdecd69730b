"""A plan of measurements: expectations in all their forms, and mistakes with their places."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import wcetchar
from wcetchar.errors import InputError
from wcetchar.model.interval import Interval
from wcetchar.model.measuring import Accuracy, Case, Estimated, Expected
from wcetchar.store import load_measure_plan, measure_names, parse_clock

PAGE = Path(wcetchar.__file__).resolve().parents[1] / "docs" / "reference" / "measure-file.md"
PLAN = """\
schema: wcetchar/measure/1
question: why
circumstances: none
clock: 100 MHz
accuracy: 10 %
repetitions: 7
operations:
  call:
    parameters: [0, 3]
    calls: 10
    accuracy: 5 ns
    expected: {hardware: 10..20 ns, software: 1 cycle, each: 2 ns, margin: 0..4 ns, why: counted}
  load:
    sizes: [4 KiB, 1 MiB, 8 MiB]
    repetitions: 3
    expected:
      steps:
        - {up to: 64 KiB, hardware: 2 cycles}
        - {up to: 1 MiB, hardware: 5 cycles, software: 1 ns}
        - {hardware: 80 ns}
  switch:
    expected:
      instruction: 1 cycle
      memory access: 38 cycles
      activities:
        one: {instructions: 10, memory accesses: 1}
        other: {instructions: 5}
  service:
    parameters: [13]
    expected:
      estimate: {characterization: renaux2010, service: CreateThread, profile: p, parameter: N}
  nothing: {}
"""


def cases(tmp_path: Path, text: str = PLAN, clock: str | None = None) -> dict[str, list[Case]]:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    plan = load_measure_plan(str(file), None if clock is None else parse_clock(clock))
    found: dict[str, list[Case]] = {}
    for case in plan.cases:
        found.setdefault(case.operation, []).append(case)
    return found


def totals(found: list[Case]) -> list[tuple[Fraction, Fraction]]:
    ends = []
    for case in found:
        assert isinstance(case.expected, Expected)
        ends.append((case.expected.total.low, case.expected.total.high))
    return ends


def test_every_form_of_an_expectation(tmp_path: Path) -> None:
    found = cases(tmp_path)
    assert totals(found["call"]) == [(20, 34), (26, 40)]
    call = found["call"][1]
    assert isinstance(call.expected, Expected)
    assert call.expected.hardware == Interval(Fraction(10), Fraction(15), Fraction(20))
    assert call.expected.software == Interval(Fraction(16), Fraction(16), Fraction(16))
    assert (call.calls, call.repetitions, call.accuracy) == (10, 7, Accuracy(time=Fraction(5)))
    assert call.expected.why == "counted"
    assert totals(found["load"]) == [(20, 20), (51, 51), (80, 80)]
    assert [(case.parameter, case.size) for case in found["load"]] == [
        (4096, True),
        (1 << 20, True),
        (8 << 20, True),
    ]
    assert found["load"][0].repetitions == 3
    assert found["load"][0].accuracy == Accuracy(share=Fraction(1, 10))
    assert totals(found["switch"]) == [(530, 530)]
    assert found["service"][0].expected == Estimated(
        "renaux2010", "CreateThread", "p", parameter="N"
    )
    assert found["nothing"][0].expected is None


def test_a_clock_with_a_tolerance_widens_cycles_both_ways(tmp_path: Path) -> None:
    found = cases(tmp_path, clock="50..200 MHz")
    assert totals(found["load"])[0] == (10, 40)


def test_the_shipped_plans() -> None:
    assert measure_names() == ("hu2022", "linux-host", "muller-arm9")
    (case,) = load_measure_plan("muller-arm9").cases
    assert isinstance(case.expected, Expected)
    assert case.expected.software is not None
    assert case.expected.hardware is not None
    # 3.2.5: 500 ns of instructions and 1140 ns of memory are 1640 ns, and 2 us with a margin.
    assert (case.expected.software.high, case.expected.hardware.high) == (500, 1140)
    assert (case.expected.total.low, case.expected.total.high) == (1640, 2000)
    host = {}
    for one in load_measure_plan("linux-host").cases:
        host.setdefault(one.operation, []).append(one.parameter)
    assert host["procedure call"] == list(range(8))
    assert host["memory"] == [4096 << n for n in range(15)]


@pytest.mark.parametrize(
    ("was", "is_", "line", "said"),
    [
        ("accuracy: 10 %", "accuracy: 0 %", 5, "cannot be reached"),
        ("accuracy: 10 %", "accuracy: 3 cycles", 5, "there is no clock"),
        ("accuracy: 10 %\n", "", 1, "the key `accuracy` is missing"),
        ("repetitions: 7", "repetitions: 0", 6, "greater than or equal to 1"),
        ("clock: 100 MHz\n", "", 11, "cycles of no clock"),
        ("[0, 3]", "[0, 3, 0]", 9, "is there twice"),
        ("[4 KiB, 1 MiB", "[4 KiB, 4096 B", 14, "is there twice"),
        ("sizes:", "parameters: [1]\n    sizes:", 15, "there are parameters as well"),
        ("hardware: 10..20 ns, ", "steps: [{hardware: 1 ns}], ", 12, "in two ways"),
        ("hardware: 10..20 ns, software: 1 cycle, each: 2 ns, ", "", 12, "says nothing"),
        ("parameters: [0, 3]\n", "calls: 9\n", 10, "calls"),
        ("    parameters: [0, 3]\n", "", 11, "the operation has no parameter"),
        ("        - {hardware: 80 ns}\n", "", 18, "no step is for 8388608"),
        ("{up to: 64 KiB, hardware: 2", "{hardware: 2", 18, "leaves nothing"),
        ("      instruction: 1 cycle\n", "", 23, "the key `instruction` is missing"),
        ("      memory access: 38 cycles\n", "", 23, "the key `memory access` is missing"),
        ("parameter: N}", "parameter: N}\n      margin: 1 ns", 32, "an estimate has no margin"),
        ("  nothing: {}", "  nothing: {expect: 1}", 32, "`expect` is not known"),
        ("measure/1", "measure/2", 1, "measure/2"),
    ],
)
def test_mistakes_have_their_place(
    was: str, is_: str, line: int, said: str, tmp_path: Path
) -> None:
    assert was in PLAN
    with pytest.raises(InputError) as caught:
        cases(tmp_path, PLAN.replace(was, is_, 1))
    assert f"plan.yaml:{line}:" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.skipif(not PAGE.is_file(), reason="not run from a checkout")
def test_the_example_of_the_page_reads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    found = cases(tmp_path, example)
    assert [len(one) for one in found.values()] == [2, 1, 2]
    with pytest.raises(InputError, match="`acuracy` is not known"):
        cases(tmp_path, example.replace("accuracy", "acuracy", 1))
