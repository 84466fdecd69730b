"""The Zephyr application on RISC-V: its files agree with those of the other boards and, in a Zephyr
workspace, its trace is characterized with the rules that ship."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from test_firmware_zephyr import SCHEDULERS, SOURCE, STRAIGHT, captured, document, moves

from wcetchar.cli import main
from wcetchar.store import load_services

if TYPE_CHECKING:
    from zephyr_workspace import Build

pytest_plugins = ("zephyr_workspace",)

TIMER, SOFTWARE = 0x80000007, 0x80000003


def files(scheduler: str) -> list[str]:
    names = ("services.yaml", "sections-riscv.yaml", "riscv.yaml", f"sched-{scheduler}.yaml")
    return [str(SOURCE / name) for name in names]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_on_riscv_the_kernel_does_the_same_otherwise(scheduler: str) -> None:
    arm = [str(SOURCE / n) for n in ("services.yaml", "sections.yaml", f"sched-{scheduler}.yaml")]
    here, there = load_services(*files(scheduler)), load_services(*arm)
    assert [(s.name, s.mark, s.parameters) for s in here.services] == [
        (s.name, s.mark, s.parameters) for s in there.services
    ]
    differing = {a.name: a for a, b in zip(here.services, there.services, strict=True) if a != b}
    assert set(differing) == set(document("riscv.yaml")["instead"])
    handlers = {name for name, service in differing.items() if name != "context_switch"}
    assert {s.name for s in there.services if s.kind == "handler"} == {*handlers, "context_switch"}
    for name in handlers:
        service = differing[name]
        assert (service.kind, service.entries) == ("handler", ("_isr_wrapper",))
        assert service.exceptions == ((SOFTWARE,) if name == "interrupt" else (TIMER,))


def listed_riscv(elf: Path, function: str) -> int:
    """Instructions of a function as objdump lists them."""
    objdump = shutil.which("riscv64-unknown-elf-objdump") or pytest.skip("no binutils for RISC-V")
    listing = subprocess.run(
        [objdump, "-d", f"--disassemble={function}", str(elf)],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout
    return len(re.findall(r"^\s*[0-9a-f]+:\s+(?:[0-9a-f]{4}){1,2}\s", listing, re.M))


@pytest.mark.firmware
def test_the_trace_of_riscv_is_characterized(build: Build, tmp_path: Path) -> None:
    elf, trace, out = build("qemu_riscv32", None), tmp_path / "run.trace", tmp_path / "out.json"
    captured(elf, "virt", trace)
    given = [part for name in files("dumb") for part in ("--services", name)]
    done = CliRunner().invoke(
        main, ["characterize", str(elf), str(trace), *given, "-o", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    published = json.loads(out.read_text())
    for service in published["services"]:
        assert not any("value is not known" in note for note in service.get("notes", ())), service[
            "name"
        ]
    copied = next(s for s in published["services"] if s["name"] == "k_msgq_peek")
    assert moves(copied, "storage", "read") == {"1": 0, "S": 1}
    assert moves(copied, "caller.data", "write") == {"1": 0, "S": 1}
    summary = {s["service"]: s["sections"] for s in json.loads(done.stdout)["services"]}
    switch = [summary[f"context_switch/{part}"] for part in ("call", "resume")]
    expected = {name: f for name, f in STRAIGHT.items() if name != "context_switch"}
    for name, function in expected.items():
        assert sum(count for _, _, count in summary[name]) == listed_riscv(elf, function), name
    both = sum(count for part in switch for _, _, count in part)
    assert both == listed_riscv(elf, "z_riscv_switch")


@pytest.mark.long
@pytest.mark.firmware
def test_trees_of_riscv_are_characterized(build: Build, tmp_path: Path) -> None:
    """130 million instructions. The functions of the tree keep an array of variable length, for
    which they put the stack pointer away, in interrupts too."""
    elf = build("qemu_riscv32", "overlay-sched-scalable.conf")
    trace, out = tmp_path / "run.trace", tmp_path / "out.json"
    captured(elf, "virt", trace)
    given = [part for name in files("scalable") for part in ("--services", name)]
    done = CliRunner().invoke(
        main, ["characterize", str(elf), str(trace), *given, "-o", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    unknown = [
        service["name"]
        for service in json.loads(out.read_text())["services"]
        if any("value is not known" in note for note in service.get("notes", ()))
    ]
    assert not unknown
    summary = json.loads(done.stdout)
    assert (summary["undecoded"], summary["not_characterized"]) == (0, [])
    assert summary["by_formula"] >= 0.9 * len(summary["services"])
