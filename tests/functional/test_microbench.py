"""The micro-benchmarks: all by formula, and their instructions as counted by hand."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from needs import need

from wcetchar.cli import main
from wcetchar.model.characterization import Characterization
from wcetchar.model.service import ServiceKind
from wcetchar.store import load_characterization, load_services

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "rtos_tests" / "microbench"

BODY = {
    "alu": 1,
    "divide": 1,
    "shift_use": 2,
    "load_use_later": 3,
    "load_load": 2,
    "untaken_forward": 2,
    "taken_forward": 1,
    "call": 2,
    "call_indirect": 2,
    "jump": 1,
    "jump_across": 3,
    "jump_system": 2,
    "jump_system_across": 3,
    "alu_mixed": 2,
    "fence": 2,
    "divide_use": 2,
    "load_branch": 2,
    "jump_indirect": 5,
    "taken_system": 2,
    "fall_across": 5,
    "save_restore": 10,
    "copy": 4,
}
"""Instructions executed in one of the eight copies of a turn, by the listing."""
BEFORE = {
    "divide": 2,
    "divide_use": 2,
    "call_indirect": 2,
    "load_constant": 2,
    "load_address": 1,
    "taken_short": 1,
    "fall_across": 2,
}
"""Instructions before the loop."""


@pytest.fixture(scope="module")
def characterized(tmp_path_factory: pytest.TempPathFactory) -> Characterization:
    need("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf")
    need("qemu-system-riscv32", "qemu-system-misc")
    folder = tmp_path_factory.mktemp("microbench")
    subprocess.run(["make", "-s", "-C", SUITE, f"BUILD={folder}"], check=True)
    elf, trace, result = (str(folder / n) for n in ("microbench.elf", "run.trace", "c.json"))
    for command in (
        ["capture", elf, "--machine", "virt", "-o", trace],
        ["characterize", elf, trace, "--services", str(SUITE / "services.yaml"), "-o", result],
    ):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    document = json.loads(Path(result).read_text())
    assert "not_characterized" not in document or not document["not_characterized"]
    return load_characterization(result)


def test_everything_is_a_formula(characterized: Characterization) -> None:
    assert len(characterized.services) == 77
    assert all(service.counts.is_formula for service in characterized.services)


@pytest.mark.parametrize("name", sorted(BODY))
def test_instructions_by_hand(characterized: Characterization, name: str) -> None:
    """8 turns of the body, then two instructions of the loop, N times; then the return."""
    service = next(s for s in characterized.services if s.name == name)
    from wcetchar import formula

    for n in (1, 2, 7, 16):
        counted = sum(
            row.vector.instructions * formula.evaluate(row.repetition, {"N": n})
            for row in service.counts.rows
        )
        assert counted == BEFORE.get(name, 0) + n * (8 * BODY[name] + 2) + 1


def test_the_driver_runs_what_the_services_file_lists() -> None:
    every = load_services(str(SUITE / "services.yaml")).services
    services = [s for s in every if s.kind is not ServiceKind.HANDLER]
    listed = [
        (s.entries[0], s.mark, s.parameters[0].maximum if s.parameters else 0) for s in services
    ]
    text = (SUITE / "driver.c").read_text()
    driven = re.findall(r"\{(\w+), (\d+), (\d+)\}", text)
    assert [(name, int(mark), int(turns)) for name, mark, turns in driven] == listed
    source = (SUITE / "boards" / "virt" / "services.S").read_text()
    assert [f"mb_{name}" for name in re.findall(r"^    service (\w+)$", source, re.M)] == [
        name for name, _, _ in listed
    ]


def test_the_driver_runs_the_cases_of_the_handlers() -> None:
    handlers = {
        s.name: (s.mark, *(p.maximum + 1 for p in s.parameters))
        for s in load_services(str(SUITE / "services.yaml")).services
        if s.kind is ServiceKind.HANDLER
    }
    text = (SUITE / "driver.c").read_text()
    number = {name: int(n) for name, n in re.findall(r"#define (\w+) (\d+)u?\n", text)}
    calls = re.search(r"calls\[\] = \{\n(.*?)\};", text, re.S)
    assert calls is not None
    source = (SUITE / "boards" / "virt" / "services.S").read_text()
    bodies = re.findall(r"^    interrupted(?: turn_\w+|_across_lines)$", source, re.M)
    assert handlers == {
        "switch": (number["SWITCH"], calls[1].count(",")),
        "interrupt": (number["INTERRUPT"], number["INTERRUPTED"], 4),
    }
    assert len(bodies) == number["INTERRUPTED"]
