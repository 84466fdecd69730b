"""`wcetchar characterize --paths`, `paths`, `check` and `estimate` on a dozen instructions.

What is executed is written out by hand, with the registers that an emulator would print; the bound
of each path can be counted by hand, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import highspy
import pytest
from click.testing import CliRunner, Result
from hand_traces import AT_RESET, BEGIN, SCRIPT, instruction, registers_of

from wcetchar import formula
from wcetchar.cli import main
from wcetchar.image import load_image

SOURCE = f"""{BEGIN}
function start
  movs r1, #0
2: bl work
  b.n 2b
.size start, .-start
function work
  cbz r1, 1f
  .rept 9
  nop
  .endr
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
PROFILE = "cortex-m3/zero-wait-sram"
MAP = """schema: wcetchar/section-map/1
name: m
sections: {.text: code sram, .vectors: code sram, data: data sram}
"""
TURNS = (1, 2, 3, 5, 8, 13, 21, 40)


class Place:
    """A folder with the files of a test; r1 is zero in every traced call."""

    def __init__(self, folder: Path, elf: Path) -> None:
        self.folder, self.elf = folder, elf

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def trace(self, n: int) -> str:
        """Two calls with this argument, in Renode's text."""
        image = load_image(str(self.elf))
        at = {s.name: s.address for s in image.symbols}
        start, work = at["start"], at["work"]
        steps: list[tuple[int, int, int]] = [(start, 2, n)]
        for _ in range(2):
            steps += [(start + 2, 4, n), (work, 2, n)]
            for left in range(n, 0, -1):
                steps += [(work + 20, 2, left), (work + 22, 2, left - 1)]
            steps += [(work + 24, 2, 0), (start + 6, 2, 0)]
        lines = []
        for address, length, held in steps:
            lines += [instruction(address, image.read(address, length)), *registers_of(held)]
        lines.insert(1, AT_RESET)
        return self.write(f"n{n}.log", "".join(lines))

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    def inputs(self, kind: str, facts: str | None) -> list[str]:
        traces = [self.trace(n) for n in TURNS]
        given = [str(self.elf), *traces]
        given += ["--services", self.write("services.yaml", SERVICES.replace("KIND", kind))]
        if kind == "state":
            given += [f"--set={t}:N={n}" for t, n in zip(traces, TURNS, strict=True)]
        if facts is not None:
            given += ["--facts", self.write("facts.ff", facts)]
        return given

    def characterize(self, kind: str = "state", facts: str | None = None) -> Result:
        self.output = self.folder / "out.json"
        self.output.unlink(missing_ok=True)
        options = ["--paths", "-o", str(self.output)]
        return self.run("characterize", *self.inputs(kind, facts), *options)

    @property
    def hardware(self) -> list[str]:
        return ["--profile", PROFILE, "--map", self.write("map.yaml", MAP)]

    def worst(self, n: int) -> dict[str, Any]:
        told = self.run("paths", str(self.output), *self.hardware, "--set", f"N={n}", "--json")
        assert told.exit_code == 0, told.output
        (found,) = json.loads(told.stdout)["services"]
        return dict(found)


@pytest.fixture
def place(tmp_path: Path, assemble: Callable[..., Path]) -> Place:
    return Place(tmp_path, assemble(SOURCE, SCRIPT))


FACT = 'loop at work+20: at most N - 1 because "it counts down from N"\n'


def model(place: Place) -> dict[str, Any]:
    (found,) = json.loads(place.output.read_text())["paths"]["models"]
    return dict(found)


def test_a_loop_without_a_bound_is_a_gap_and_the_template_has_it(place: Place) -> None:
    done = place.characterize()
    assert done.exit_code == 0, done.output
    (gap,) = model(place)["gaps"]
    assert gap["what"] == "loop without a bound"
    assert {(x["values"]["N"], x["count"]) for x in gap["observed"]} == {(n, n - 1) for n in TURNS}
    told = place.run("paths", str(place.output), "--template")
    assert told.exit_code == 0, told.output
    assert '# observed loop at test.s:"bne 1b" in work: at most N - 1' in told.stdout
    # Filled in, it is a fact.
    filled = told.stdout.replace("# observed loop", "loop")
    assert place.characterize(facts=filled).exit_code == 0
    assert "gaps" not in model(place)


def test_bound_by_a_fact(place: Place) -> None:
    assert place.characterize(facts=FACT).exit_code == 0
    for n in (1, 7, 40):
        found = place.worst(n)
        assert found["parameters"] == {"N": n}
        # cbz, nine nops, N turns of two, bx; traces never saw the nops.
        instructions = sum(block["count"] * len_of for block, len_of in _instructions(place, found))
        assert instructions == 1 + 9 + 2 * n + 1


def _instructions(place: Place, found: dict[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """Blocks of the worst path, with how many instructions each has."""
    paths = json.loads(place.output.read_text())["paths"]
    issues = {
        number
        for number, key in enumerate(paths["keys"])
        if key.get("event") in ("alu", "hint", "branch taken", "branch untaken", "return")
    }
    own = model(place)
    for number, block in enumerate(found["blocks"]):
        if block["count"]:
            text = paths["vectors"][own["vectors"][own["nodes"][number][0]]]
            pairs = (word.split("x") for word in text.split())
            yield block, sum(int(count) for key, count in pairs if int(key) in issues)


def test_an_argument_bounds_its_loop_by_itself(place: Place) -> None:
    assert place.characterize("argument, argument: 0").exit_code == 0
    assert "gaps" not in model(place)
    constraints = model(place)["constraints"]
    assert {one["origin"] for one in constraints} == {"automatic"}
    # Each time that the loop is entered; 39 by the range of N.
    limits = {text for one in constraints for text in one["coefficients"].values()} - {"1"}
    assert limits == {"-max(0, N - 1)", "-39"}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (FACT.replace("N - 1", "N - 2"), "goes round the loop"),
        ("never work+20\n", "no path of the model"),
        ("count(work+20) <= 3\n", ""),
    ],
)
def test_a_fact_that_a_trace_contradicts(place: Place, facts: str, said: str) -> None:
    done = place.characterize(facts=facts)
    assert done.exit_code == 1
    assert said in done.output
    assert not place.output.exists()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ("loop at start: at most 3\n", "names no loop"),
        ("service works { never work }\n", "did you mean `work`?"),
        ("loop at work+20: at most M\n", "work has no parameter M"),
        ("access at work: nowhere\n", "there is no logical section nowhere"),
        ("never nothing\n", "nothing"),
        ("never start\n", "reaches its place"),
        ("count(start) <= 3\n", "reaches its place"),
        ("exclusive start, start+2\n", "reaches its place"),
        ("at entry nothing == 0\n", "no variable is called nothing"),
        ("where present loop at work+20: at most M\n", "work has no parameter M"),
        ("loop at work+20: at most\n", "facts.ff:1"),
    ],
)
def test_mistakes_have_a_place(place: Place, facts: str, said: str) -> None:
    done = place.characterize(facts=facts)
    assert done.exit_code == 3, done.output
    assert "facts.ff:1:" in done.output
    assert said in done.output
    assert not place.output.exists()


def test_what_another_program_has(place: Place) -> None:
    """A file that several programs share says more than one of them has."""
    others = (
        "never nothing",
        "never start",
        "loop at start: at most 3",
        "count(nothing) <= 3",
        "count(each start) <= 3",
        "exclusive start, nothing",
        "no return from nothing",
        "recursion of nothing: at most 2",
        "access at nothing: data",
        "write at start: data",
        "jump at work: work",
        "at entry nothing == 0",
    )
    shared = "where present {\n" + "\n".join(others) + "\n}\n"
    shared += "service works { where present never work }\n"
    assert place.characterize(facts=FACT + shared).exit_code == 0
    assert place.worst(7)["parameters"] == {"N": 7}
    # What the program has is held against traces all the same.
    done = place.characterize(facts="where present never work+20\n")
    assert done.exit_code == 1
    assert "no path of the model" in done.output


def test_check_replays_and_prices(place: Place) -> None:
    arguments = place.inputs("state", FACT)
    told = place.run("check", *arguments, *place.hardware, "--json")
    assert told.exit_code == 0, told.output
    (row,) = json.loads(told.stdout)["services"]
    assert (row["windows"], row["priced_at"], row["missing_facts"]) == (16, len(TURNS), 0)
    wrong = place.inputs("state", FACT.replace("N - 1", "N - 2"))
    assert place.run("check", *wrong, *place.hardware).exit_code == 1


def test_check_is_told_the_format_of_traces(place: Place) -> None:
    arguments = place.inputs("state", FACT)
    assert place.run("check", *arguments, "--trace-format", "renode-text").exit_code == 0
    done = place.run("check", *arguments, "--trace-format", "renode-txt")
    assert done.exit_code == 3
    assert "there is no trace format 'renode-txt'" in done.output
    assert place.run("check", *arguments, "--trace-format", "execlog-8.2").exit_code == 3


def test_the_dearest_path_stands_beside_the_estimate(place: Place) -> None:
    assert place.characterize(facts=FACT).exit_code == 0
    given = ["estimate", str(place.output), *place.hardware, "--set", "N=5", "--json"]
    told = place.run(*given)
    assert told.exit_code == 0, told.output
    (found,) = json.loads(told.stdout)["estimates"]
    assert found["over_all_paths"]["bound_ns"] >= found["total_ns"]
    assert place.characterize().exit_code == 0
    (found,) = json.loads(place.run(*given).stdout)["estimates"]
    assert found["over_all_paths"]["bound_ns"] is None
    assert "loop" in found["over_all_paths"]["why"]


def test_the_integer_program_for_another_solver(place: Place) -> None:
    """Its optimum is the bound: read and solved without anything of this program."""
    assert place.characterize(facts=FACT).exit_code == 0
    given = ["paths", str(place.output), *place.hardware, "--set", "N=5"]
    (found,) = json.loads(place.run(*given, "--json").stdout)["services"]
    file = place.folder / "work.lp"
    done = place.run(*given, "--format", "lp", "-o", str(file))
    assert done.exit_code == 0, done.output
    assert "\\ loop " in file.read_text()
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(file)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getInfo().objective_function_value == pytest.approx(found["bound_ns"], abs=0.01)


def test_the_bound_as_a_formula(place: Place) -> None:
    """Meets the bound at each value by itself."""
    assert place.characterize(facts=FACT).exit_code == 0
    given = ["paths", str(place.output), *place.hardware]
    (found,) = json.loads(place.run(*given, "--set", "N=5", "--formula", "--json").stdout)[
        "services"
    ]
    (piece,) = found["formula"]["pieces"]
    unit = found["formula"]["unit_ns"]
    low, high = piece["ranges"]["N"]
    assert found["formula"]["solved_at"] == high - low + 1
    for n in range(low, high + 1):
        (one,) = json.loads(place.run(*given, "--set", f"N={n}", "--json").stdout)["services"]
        value = formula.evaluate(formula.parse(piece["formula"]), {"N": n})
        assert value * unit["numerator"] / unit["denominator"] == pytest.approx(
            one["bound_ns"], abs=0.01
        )
    assert piece["formula"] in place.run(*given, "--set", "N=5", "--formula").stdout


def test_the_longest_stretches_stand_beside_the_published_ones(place: Place) -> None:
    assert place.characterize(facts=FACT).exit_code == 0
    given = ["paths", str(place.output), *place.hardware, "--set", "N=5"]
    (found,) = json.loads(place.run(*given, "--json").stdout)["services"]
    stretches = {one["kind"]: one for one in found["longest_stretches"]}
    assert set(stretches) == {"interrupts", "preemption"}
    # Nothing in the program masks anything.
    assert all(one["ns"] == one["traced_ns"] == 0 for one in stretches.values())
    assert "interrupts masked" in place.run(*given).stdout


def test_what_cannot_be_shown(place: Place) -> None:
    assert (
        place.run(
            "characterize", *place.inputs("state", None), "-o", str(place.folder / "o.json")
        ).exit_code
        == 0
    )
    told = place.run("paths", str(place.folder / "o.json"), *place.hardware)
    assert told.exit_code == 3
    assert "made with --paths" in told.output
    assert place.characterize(facts=FACT).exit_code == 0
    assert place.run("paths", str(place.output)).exit_code == 2
    page = place.folder / "page.html"
    shown = place.run(
        "paths", str(place.output), *place.hardware, "--set=N=5", "--format=html", "-o", str(page)
    )
    assert shown.exit_code == 0, shown.output
    assert "<svg" in page.read_text()
