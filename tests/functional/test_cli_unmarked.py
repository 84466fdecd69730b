"""`wcetchar characterize` of firmware without marks: what is said for each run, and by registers.

The traces are carried out by hand: a loop over the first argument, in execlog and in Renode's text,
with the registers that both would print.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hand_traces import AT_RESET, BEGIN, SCRIPT, instruction, registers_of
from stall_count import KINDS

from wcetchar.cli import main
from wcetchar.image import load_image

SOURCE = f"""{BEGIN}
function start
  nop
2: movs r0, #1
  bl work
  b.n 2b
.size start, .-start
function work
1: subs r0, #1
  bne 1b
  bx lr
.size work, .-work
"""
SERVICES = """schema: wcetchar/services/1
kernel: {name: loop, version: "1"}
sections:
  .text: {kind: code, linker sections: [.text]}
  .vectors: {kind: data, linker sections: [.vectors]}
  data: {kind: stack, linker sections: [.ram]}
hardware: {vector section: .vectors, main stack: data, task stack: data}
services:
  work:
    kind: call
    entries: [work]
    parameters:
      N: {kind: KIND, range: 1..40, meaning: turns}
"""
ARGUMENT = SERVICES.replace("KIND", "argument, argument: 0")
STATE = SERVICES.replace("KIND", "state")


@pytest.fixture
def elf(assemble: Callable[..., Path]) -> Path:
    return assemble(SOURCE, SCRIPT)


def steps(turns: list[int]) -> Iterator[tuple[str, int]]:
    """(instruction, r0 at its beginning) of calls with these arguments."""
    yield "nop", 0
    for n in turns:
        yield "movs", 0
        yield "bl", n
        for left in range(n, 0, -1):
            yield "subs", left
            yield "bne", left - 1
        yield "bx", 0
        yield "b", 0


def executed(elf: Path, turns: list[int]) -> Iterator[tuple[int, bytes, int]]:
    """(address, bytes, r0 at its beginning)."""
    image = load_image(str(elf))
    at = {s.name: s.address for s in image.symbols}
    start, work = at["start"], at["work"]
    places = {"nop": start, "movs": start + 2, "bl": start + 4, "b": start + 8}
    places |= {"subs": work, "bne": work + 2, "bx": work + 4}
    for name, held in steps(turns):
        yield places[name], image.read(places[name], 4 if name == "bl" else 2), held


def execlog(elf: Path, turns: list[int]) -> str:
    """Behind an instruction stands what it changed."""
    listed = list(executed(elf, turns))
    lines = []
    for (at, code, held), (_, _, after) in pairwise([*listed, listed[-1]]):
        changed = f", r0 -> 0x{after:08x}" if after != held else ""
        lines.append(f'0, 0x{at:x}, 0x{int.from_bytes(code, "little"):x}, "x"{changed}\n')
    return "".join(lines)


def renode(elf: Path, turns: list[int], registers: bool = True) -> str:
    """With an access near the beginning, which shows that accesses are tracked."""
    lines = []
    for at, code, held in executed(elf, turns):
        lines.append(instruction(at, code))
        if registers:
            lines += registers_of(held)
    lines.insert(1, AT_RESET)
    return "".join(lines)


class Place:
    """A folder with the files of a test."""

    def __init__(self, folder: Path, elf: Path) -> None:
        self.folder, self.elf = folder, elf

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def sweep(self, *turns: int) -> list[str]:
        """A trace for each number of turns, without registers."""
        return [self.write(f"n{n}.log", renode(self.elf, [n, n], False)) for n in turns]

    def characterize(self, *arguments: str, services: str = STATE) -> Result:
        file = self.write("services.yaml", services)
        self.output = self.folder / "out.json"
        self.output.unlink(missing_ok=True)
        files = ["--services", file, "-o", str(self.output)]
        return CliRunner().invoke(main, ["characterize", str(self.elf), *arguments, *files])

    def service(self, result: Result) -> dict[str, Any]:
        assert result.exit_code == 0, result.output
        (found,) = json.loads(self.output.read_text())["services"]
        return dict(found)


@pytest.fixture
def place(tmp_path: Path, elf: Path) -> Place:
    return Place(tmp_path, elf)


BESIDE = {None, "pipeline refill", *KINDS}
"""Of accesses, and of events that are no instruction's own."""


def check_formula(service: dict[str, Any]) -> None:
    """Each turn executes two instructions, and one returns."""
    for n in range(1, 41):
        total = 0
        for row in service["counts"]["rows"]:
            times = {"1": 1, "N": n, "N - 1": n - 1}[row["repetition"]]
            issued = (c for c in row["counts"] if c.get("event") not in BESIDE)
            total += times * sum(c["count"] for c in issued)
        assert total == 2 * n + 1


TURNS = (1, 2, 3, 5, 8, 13, 21, 40)


def test_a_value_for_each_run(place: Place) -> None:
    traces = place.sweep(*TURNS)
    values = [f"--set={trace}:N={n}" for trace, n in zip(traces, TURNS, strict=True)]
    service = place.service(place.characterize(*traces, *values))
    check_formula(service)
    assert service["evidence"]["windows"] == 2 * len(TURNS)
    assert service["notes"] == ["the firmware does not mark N: the value was given for each run"]


def test_a_runs_file_says_the_same(place: Place) -> None:
    traces = place.sweep(*TURNS)
    values = [f"--set={trace}:N={n}" for trace, n in zip(traces, TURNS, strict=True)]
    place.service(place.characterize(*traces, *values))
    expected = place.output.read_bytes()
    runs = "".join(f"  n{n}.log: {{work: {{N: {n}}}}}\n" for n in TURNS)
    file = place.write("runs.yaml", "schema: wcetchar/runs/1\nruns:\n" + runs)
    for given in (traces, []):
        place.service(place.characterize(*given, "--runs", file))
        assert place.output.read_bytes() == expected
    # What is set on the command line goes before it.
    wrong = runs.replace("N: 8", "N: 9")
    file = place.write("runs.yaml", "schema: wcetchar/runs/1\nruns:\n" + wrong)
    place.service(place.characterize("--runs", file, f"--set={traces[4]}:N=8"))
    assert place.output.read_bytes() == expected


@pytest.mark.parametrize("form", ["execlog", "renode"])
def test_arguments_from_registers(form: str, place: Place) -> None:
    write = {"execlog": execlog, "renode": renode}[form]
    trace = place.write("run.log", write(place.elf, [*TURNS]))
    named = ("--format", "execlog-8.2") if form == "execlog" else ()
    service = place.service(place.characterize(trace, *named, services=ARGUMENT))
    check_formula(service)
    assert service["evidence"]["windows"] == len(TURNS)
    assert "notes" not in service


def test_a_value_that_is_not_known_is_refused(place: Place) -> None:
    text = execlog(place.elf, [3, 4])
    unknown = text.replace(", r0 -> 0x00000003", "", 1)
    trace = place.write("run.log", unknown)
    result = place.characterize(trace, "--format", "execlog-8.2", services=ARGUMENT)
    assert result.exit_code == 3
    assert "the value of r0, its parameter N, is not known there" in result.stderr


def test_an_argument_needs_a_trace_with_registers(place: Place) -> None:
    (trace,) = place.sweep(3)
    result = place.characterize(trace, services=ARGUMENT)
    assert result.exit_code == 3
    assert "the trace has no register values" in result.stderr
    assert "--set" in result.stderr
    result = place.characterize(trace, "--set", "N=3", services=ARGUMENT)
    assert result.exit_code == 2
    assert "sets no parameter" in result.stderr


@pytest.mark.parametrize(
    ("values", "code", "message"),
    [
        ([], 3, "its parameter N has no value in this run"),
        (["N"], 2, "this is not [RUN:][SERVICE.]NAME=VALUE"),
        (["N=x"], 2, "this is not [RUN:][SERVICE.]NAME=VALUE"),
        (["other.log:N=1"], 2, "no trace is given as other.log"),
        (["other.log:work.N=1"], 2, "no trace is given as other.log"),
        (["other.log:=1"], 2, "this is not [RUN:][SERVICE.]NAME=VALUE"),
        (["other.log:N=x"], 2, "this is not [RUN:][SERVICE.]NAME=VALUE"),
        (["M=1"], 2, "sets no parameter"),
        (["N=1", "N=2"], 2, "contradict each other"),
        (["N=41"], 2, "N of work cannot be 41"),
    ],
)
def test_what_is_set_wrongly(values: list[str], code: int, message: str, place: Place) -> None:
    (trace,) = place.sweep(3)
    result = place.characterize(trace, *(f"--set={value}" for value in values))
    assert result.exit_code == code
    assert message in result.stderr
    assert not place.output.exists()


@pytest.mark.parametrize("value", ["N=3", "work.N=0x3", "{}:N=3", "{}:work.N=+3", " {}:N = 3 "])
def test_ways_to_set_a_value(value: str, place: Place) -> None:
    (trace,) = place.sweep(3)
    service = place.service(place.characterize(trace, "--set", value.format(trace)))
    assert service["evidence"]["fitted"] == [[3]]


def test_what_is_said_of_a_run_goes_first(place: Place) -> None:
    one, two = place.sweep(3, 4)
    result = place.characterize(one, two, "--set", f"{two}:N=4", "--set", "work.N=3")
    assert sorted(place.service(result)["evidence"]["fitted"]) == [[3], [4]]


@pytest.mark.parametrize(
    ("runs", "at", "message"),
    [
        ("  n3.log: {wrok: {N: 3}}", ":3:12: ", "there is no service 'wrok'"),
        ("  n3.log: {work: {M: 3}}", ":3:22: ", "work has no parameter 'M'"),
        ("  n3.log: {work: {N: 50}}", ":3:22: ", "N of work cannot be 50"),
        ("  n3.log: {work: {N: x}}", ":3:22: ", "cannot stand here"),
        ("  n3.log: {}", ":3:3: ", "the run `n3.log` shows no service"),
        ("  n4.log: {work: {N: 3}}", "n3.log: ", "does not name this trace"),
        ("  n3.log: {work: {N: 3}}\n  ./n3.log: {work: {N: 3}}", ":4:3: ", "are the same trace"),
    ],
)
def test_mistakes_of_a_runs_file(runs: str, at: str, message: str, place: Place) -> None:
    (trace,) = place.sweep(3)
    file = place.write("runs.yaml", f"schema: wcetchar/runs/1\nruns:\n{runs}\n")
    result = place.characterize(trace, "--runs", file)
    assert result.exit_code == 3
    assert message in result.stderr
    assert at in result.stderr


def test_neither_a_run_nor_a_runs_file(place: Place) -> None:
    result = place.characterize("--set", "N=1")
    assert result.exit_code == 2
    assert "Missing argument 'RUN...'" in result.stderr


def test_capture_between_marks_needs_marks(place: Place) -> None:
    services = place.write("services.yaml", STATE)
    command = ["capture", str(place.elf), "--machine", "mps2-an385", "--marked", services]
    result = CliRunner().invoke(main, [*command, "-o", str(place.folder / "x.trace")])
    assert result.exit_code == 3
    assert "the firmware has no marks" in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: call\n", "mark: 1\n    kind: call\n", "does not say where marks are stored"),
        ("argument: 0", "argument: 4", "argument 4 of work is not in a register"),
        ("argument: 0", "argument: -1", "cannot stand here"),
        ("kind: argument,", "kind: state,", "a parameter of kind `state` cannot be read"),
        ("kind: call", "kind: handler", "a handler has no arguments"),
        ("kind: call", "kind: activation", "an activation has no arguments"),
    ],
)
def test_mistakes_of_the_services_file(old: str, new: str, message: str, place: Place) -> None:
    trace = place.write("run.log", renode(place.elf, [3]))
    assert old in ARGUMENT
    result = place.characterize(trace, services=ARGUMENT.replace(old, new))
    assert result.exit_code == 3
    assert message in result.stderr
