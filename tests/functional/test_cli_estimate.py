"""``wcetchar estimate`` from files to output and exit code."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from wcetchar import formula
from wcetchar.cli import main
from wcetchar.model.access import AccessClass, AccessVector, CoreEvent, EventKind, Operation
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Evidence,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
    Word,
)
from wcetchar.model.service import (
    Kernel,
    Parameter,
    ParameterKind,
    Part,
    SectionKind,
    ServiceKind,
)
from wcetchar.store import characterization_json

PROFILE = """\
schema: wcetchar/hardware-profile/1
name: board
description: a board of a test
core:
  name: core
  clock: 100 MHz
  events:
    alu: 1 cycles
    load: 2 cycles
regions:
  flash:
    kind: memory
    bus width: 32
    fetch: 30 ns
    read: 30 ns
  sram:
    kind: memory
    bus width: 32
    read: 7 ns
    write: 10 ns
"""
MAP = """\
schema: wcetchar/section-map/1
name: placed
sections:
  .text: flash
  .data: sram
parameters:
  N: 4
"""


def row(text: str, blocking: Blocking, fetches: int, alu: int, loads: int) -> TraceSection:
    return TraceSection(
        blocking,
        AccessVector(
            {
                AccessClass(".text", Operation.FETCH, 32): fetches,
                AccessClass(".data", Operation.READ, 32): loads,
                CoreEvent(".text", EventKind.ALU): alu,
                CoreEvent(".text", EventKind.LOAD): loads,
            }
        ),
        formula.parse(text),
    )


def published() -> Characterization:
    n = Parameter("N", ParameterKind.STATE, 1, 16, "free blocks")
    m = Parameter("M", ParameterKind.ARGUMENT, 0, 8, "bytes")
    masked = Blocking(interrupts=True)
    walk = ServiceCharacterization(
        "walk",
        ServiceKind.CALL,
        Word.HIGH_WATER_MARK,
        (n,),
        Counts((row("1", Blocking(), 5, 8, 1), row("N - 1", masked, 2, 3, 1))),
        (
            BlockingStretch(
                StretchKind.INTERRUPTS,
                "walk+4",
                "walk+20",
                Counts((row("N - 1", masked, 2, 3, 1),)),
            ),
        ),
        evidence=Evidence(3, ((1,), (2,), (4,)), ((8,),)),
    )
    copy = ServiceCharacterization(
        "copy",
        ServiceKind.CALL,
        Word.BOUND,
        (m,),
        Counts((row("max(M, 8 - M)", Blocking(), 1, 1, 1),)),
    )
    return Characterization(
        Kernel("k", "1"),
        "armv7-m",
        32,
        (SectionInfo(".text", SectionKind.CODE), SectionInfo(".data", SectionKind.DATA)),
        (walk, copy),
        Provenance("test"),
    )


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.json").write_text(characterization_json(published()))
    Path("board.yaml").write_text(PROFILE)
    Path("map.yaml").write_text(MAP)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["estimate", *arguments])


WALK = ("k.json", "--profile", "board.yaml", "--map", "map.yaml", "--service", "walk")
COPY = ("k.json", "--profile", "board.yaml", "--map", "map.yaml", "--service", "copy")


def estimated(*arguments: str) -> list[dict[str, Any]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert list(document) == ["schema_version", "estimates"]
    found: list[dict[str, Any]] = document["estimates"]
    return found


# One row of each kind by hand: 5 fetches, 8 ALU, 1 load; then 2, 3, 1 for each of N - 1.
ONCE = 5 * 30 + 8 * 10 + 1 * (20 + 7)
EACH = 2 * 30 + 3 * 10 + 1 * (20 + 7)


def test_the_json_document() -> None:
    (found,) = estimated(*WALK)
    assert found["service"] == "walk"
    assert found["parameters"] == {"N": 4}
    assert found["word"] == "high-water mark"
    assert found["total_ns"] == ONCE + 3 * EACH
    assert isinstance(found["total_ns"], int)
    assert found["total_cycles"] == pytest.approx((ONCE + 3 * EACH) / 10)
    assert found["blocking_ns"] == {"interrupts": 3 * EACH, "preemption": 3 * EACH}
    assert found["profile"] == "board"
    assert found["range_ns"] == dict.fromkeys(("low", "nominal", "high"), ONCE + 3 * EACH)
    assert found["rows"][1] == {
        "section": "2",
        "repetition": "N - 1",
        "repetitions": 3,
        "blocking": "all interrupts",
        "counts": {
            ".text fetch 32 single": 2,
            ".data read 32 single": 1,
            ".text alu": 3,
            ".text load": 1,
        },
        "ns": 3 * EACH,
    }
    assert {name: (c["count"], c["ns"]) for name, c in found["columns"].items()} == {
        ".text fetch 32 single": (5 + 3 * 2, 30 * (5 + 3 * 2)),
        ".data read 32 single": (1 + 3, 7 * (1 + 3)),
        ".text alu": (8 + 3 * 3, 10 * (8 + 3 * 3)),
        ".text load": (1 + 3, 20 * (1 + 3)),
    }


def test_set_comes_before_the_map_and_an_unobserved_value_is_an_estimate() -> None:
    (found,) = estimated(*WALK, "--set", "N=5")
    assert found["total_ns"] == ONCE + 4 * EACH
    assert found["word"] == "estimate"
    (found,) = estimated(*WALK, "--set", "N=0x8")
    assert (found["parameters"], found["word"]) == ({"N": 8}, "high-water mark")


def test_all_services_and_maximum_only_for_what_nothing_sets() -> None:
    found = estimated("k.json", "--profile", "board.yaml", "--map", "map.yaml", "--maximum")
    assert [(e["service"], e["parameters"]) for e in found] == [
        ("walk", {"N": 4}),  # the map says so
        ("copy", {"M": 0}),  # 8 at both ends; the smaller value of the two
    ]
    assert any("whole range of M" in note for note in found[1]["notes"])
    assert found[1]["word"] == "bound"
    (found_one,) = estimated(*COPY, "--maximum", "--set", "M=5")
    assert found_one["parameters"] == {"M": 5}


def test_several_profiles_with_one_map_or_one_each() -> None:
    Path("slow.yaml").write_text(PROFILE.replace("board\n", "slow\n").replace("30 ns", "300 ns"))
    Path("swap.yaml").write_text(MAP.replace("N: 4", "N: 1"))
    both = ("k.json", "--profile", "board.yaml", "--profile", "slow.yaml", "--service", "walk")
    slow_once, slow_each = ONCE + 5 * 270, EACH + 2 * 270
    found = estimated(*both, "--map", "map.yaml")
    assert [(e["profile"], e["total_ns"]) for e in found] == [
        ("board", ONCE + 3 * EACH),
        ("slow", slow_once + 3 * slow_each),
    ]
    found = estimated(*both, "--map", "map.yaml", "--map", "swap.yaml")
    assert [e["total_ns"] for e in found] == [ONCE + 3 * EACH, slow_once]


def test_the_default_map_of_a_profile() -> None:
    with_map = PROFILE + "default map:\n  .text: flash\n  .data: sram\n"
    Path("board.yaml").write_text(with_map)
    (found,) = estimated("k.json", "--profile", "board.yaml", "--service", "copy", "--set", "M=8")
    assert found["total_ns"] == 8 * (30 + 10 + 27)


def test_the_table_shows_what_the_json_has() -> None:
    text = run(*WALK).stdout
    assert "walk on board (map placed), N=4" in text
    assert "N - 1 = 3" in text
    assert f"total {ONCE + 3 * EACH} ns (high-water mark)" in text
    assert f"blocks interrupts for {3 * EACH} ns (high-water mark): walk+4 to walk+20" in text
    assert ".text fetch 32 single" in text.split("costs most")[1]
    assert all(len(line) <= 120 for line in text.splitlines())
    assert "\x1b" not in text


def test_csv_and_markdown_have_the_same_total() -> None:
    total = str(ONCE + 3 * EACH)
    lines = list(csv.DictReader(io.StringIO(run(*WALK, "--format", "csv").stdout)))
    assert [line["ns"] for line in lines if line["line"] == "total"] == [total]
    assert sum(int(line["ns"]) for line in lines if line["line"] == "section") == int(total)
    assert sum(int(line["ns"]) for line in lines if line["line"] == "class") == int(total)
    assert {line["word"] for line in lines} == {"high-water mark"}
    markdown = run(*WALK, "--format", "markdown").stdout
    assert f"**{total} ns** (high-water mark)" in markdown


def test_output_goes_to_a_file_and_an_error_leaves_the_old_one() -> None:
    result = run(*WALK, "--json", "-o", "out.json")
    assert (result.exit_code, result.output) == (0, "")
    written = Path("out.json").read_text()
    assert written == run(*WALK, "--json").stdout
    assert run(*WALK, "--json", "-o", "out.json", "--set", "N=99").exit_code == 3
    assert Path("out.json").read_text() == written
    assert run(*WALK, "-o", "nowhere/out.json").exit_code == 3


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "json"])
def test_the_same_inputs_give_the_same_bytes(form: str) -> None:
    assert run(*WALK, "--format", form).stdout == run(*WALK, "--format", form).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("k.json",), 2, "--profile"),
        ((*WALK, "--map", "map.yaml"), 2, "section maps"),
        ((*WALK, "--json", "--format", "csv"), 2, "--json"),
        ((*WALK, "--format", "pdf"), 2, "pdf"),
        ((*WALK, "--set", "N"), 2, "NAME=VALUE"),
        ((*WALK, "--set", "N=many"), 2, "NAME=VALUE"),
        ((*WALK, "--set", "=3"), 2, "NAME=VALUE"),
        ((*WALK, "--set", "N=1", "--set", "N=2"), 2, "two values"),
        (("k.json", "--profile", "board.yaml"), 2, "no default map"),
        ((*WALK, "--set", "M=1"), 3, "no selected service has a parameter M"),
        ((*WALK, "--set", "N=17"), 3, "from 1 to 16: free blocks"),
        ((*WALK, "--service", "wlak"), 3, "walk, copy"),
        (COPY, 3, "needs a value for M (bytes)"),
        (("nothing.json", "--profile", "board.yaml", "--map", "map.yaml"), 3, "nothing.json"),
        (("k.json", "--profile", "nothing", "--map", "map.yaml"), 3, "nothing"),
        (("k.json", "--profile", "board.yaml", "--map", "nothing"), 3, "nothing"),
        (("board.yaml", "--profile", "board.yaml", "--map", "map.yaml"), 3, "board.yaml"),
    ],
)
def test_errors(arguments: tuple[str, ...], code: int, said: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_section_without_a_region_is_told_with_its_place() -> None:
    Path("map.yaml").write_text(MAP.replace("  .text: flash\n", ""))
    result = run(*WALK)
    assert result.exit_code == 3
    assert "map.yaml:4:" in result.stderr
    assert ".text" in result.stderr


def test_a_wrong_placement_is_told_with_its_place() -> None:
    Path("map.yaml").write_text(MAP.replace(".text: flash", ".text: sram"))
    result = run(*WALK)
    assert result.exit_code == 3
    assert "map.yaml:4:" in result.stderr
    assert "fetch" in result.stderr
    assert "walk" in result.stderr


def test_a_region_that_is_not_there_is_told_with_its_place() -> None:
    Path("map.yaml").write_text(MAP.replace(".data: sram", ".data: sdram"))
    result = run(*WALK)
    assert result.exit_code == 3
    assert "map.yaml:5:" in result.stderr


def test_a_missing_event_is_told_with_its_place() -> None:
    Path("board.yaml").write_text(PROFILE.replace("    load: 2 cycles\n", ""))
    result = run(*WALK)
    assert result.exit_code == 3
    assert "board.yaml:7:" in result.stderr or "board.yaml:8:" in result.stderr
    assert "load" in result.stderr


def test_a_value_of_the_map_out_of_range_is_told_with_its_place() -> None:
    Path("map.yaml").write_text(MAP.replace("N: 4", "N: 40"))
    result = run(*WALK)
    assert result.exit_code == 3
    assert "map.yaml:7:" in result.stderr
    assert "from 1 to 16" in result.stderr


def test_names_of_strangers_cannot_drive_the_terminal() -> None:
    Path("map.yaml").write_text(MAP.replace("name: placed", 'name: "a\\e[2Jb"'))
    result = run(*WALK)
    assert "\x1b" not in result.output


def test_the_installed_program() -> None:
    """One real process: what a shell sees."""
    command = [sys.executable, "-c", "from wcetchar.cli import main; main()", "estimate"]
    good = subprocess.run([*command, *WALK, "--json"], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["estimates"][0]["total_ns"] == ONCE + 3 * EACH
    bad = subprocess.run(
        [*command, *WALK, "--set", "N=0"], capture_output=True, text=True, check=False
    )
    assert (bad.returncode, bad.stdout) == (3, "")
    assert "from 1 to 16" in bad.stderr


def test_a_section_that_is_nearly_one_of_the_characterization() -> None:
    """A default would stand in for the one that was meant."""
    Path("board.yaml").write_text(PROFILE + "default map:\n  .text: flash\n  .data: sram\n")
    Path("map.yaml").write_text(MAP.replace("  .data: sram", "  .dta: sram"))
    result = run(*WALK)
    assert result.exit_code == 3
    assert result.stderr.startswith("map.yaml:5:9: the characterization of k has no section .dta")
    assert "did you mean `.data`?" in result.stderr


def test_a_value_that_several_services_need_is_asked_for_once() -> None:
    twice = published()
    walk, copy = twice.services
    others = [replace(walk, name=f"walk{n}") for n in range(6)]
    Path("k.json").write_text(characterization_json(replace(twice, services=(walk, copy, *others))))
    Path("map.yaml").write_text(MAP.partition("parameters:")[0])
    result = run("k.json", "--profile", "board.yaml", "--map", "map.yaml")
    assert result.exit_code == 3
    assert "7 services need a value for N: walk, walk0, walk1, walk2 and 3 more" in result.stderr
    assert "copy needs a value for M" in result.stderr
    assert result.stderr.count("next: --set") == 2
    assert "map.yaml" not in result.stderr


def test_the_name_of_a_call_that_is_cut_stands_for_its_parts() -> None:
    whole = published()
    walk, copy = whole.services
    names = []
    for part in (Part.UNTIL_SWITCH, Part.UNTIL_RETURN):
        names.append(replace(walk, name=part.of("walk"), kind=ServiceKind.BLOCKING_CALL, part=part))
    Path("k.json").write_text(characterization_json(replace(whole, services=(*names, copy))))
    both = ("k.json", "--profile", "board.yaml", "--map", "map.yaml", "--set", "N=2")
    found = estimated(*both, "--service", "walk")
    assert [one["service"] for one in found] == ["walk/call", "walk/resume"]
    found = estimated(*both, "--service", "walk", "--service", "walk/call")
    assert [one["service"] for one in found] == ["walk/call", "walk/resume"]
    assert [one["service"] for one in estimated(*both, "--service", "walk/resume")] == [
        "walk/resume"
    ]
