"""docs/howto/zephyr-application.md: in a Zephyr workspace, its commands print what it quotes.

Without one: its files can be read, and it names machines and parts that there are."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from needs import need_compiler_of_the_pages
from test_docs_examples import ROOT, blocks, furnish, missing_lines, shell

from wcetchar.model.machine import MACHINES
from wcetchar.store import load_services

PAGE = ROOT / "docs" / "howto" / "zephyr-application.md"
EXAMPLE = ROOT / "docs" / "howto" / "zephyr-example"
SUITE = ROOT / "rtos_tests" / "zephyr"
BOARDS = {"mps2/an385", "qemu_cortex_m3", "qemu_riscv32"}


def test_the_page_names_machines_and_section_rules_that_there_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \| `(\S+)` \| `--services (\S+)` \|$", text, re.MULTILINE)
    assert {board for board, _, _ in rows} == BOARDS
    known = {machine.name: machine for machine in MACHINES}
    for board, machine, part in rows:
        on_riscv = known[machine].image_machine == "riscv"
        assert on_riscv is ("riscv" in board)
        found = load_services(str(EXAMPLE / "services.yaml"), part)
        assert ("scs" in {section.name for section in found.sections}) is not on_riscv


def test_each_entry_is_a_function_that_is_not_inlined() -> None:
    source = (EXAMPLE / "src" / "main.c").read_text(encoding="utf-8")
    apart = set(re.findall(r"^__attribute__\(\(noinline\)\) \w+ (\w+)\(", source, re.MULTILINE))
    services = load_services(str(EXAMPLE / "services.yaml"), "zephyr-cortex-m").services
    entries = {entry for service in services for entry in service.entries}
    kernel = {"z_impl_k_sem_give", "z_arm_pendsv", "sys_clock_isr"}
    assert entries - kernel == apart


def test_on_riscv_the_kernel_switches_and_ticks_as_the_suite_says() -> None:
    names = [str(EXAMPLE / name) for name in ("services.yaml", "riscv.yaml")]
    here = {s.name: s for s in load_services(*names, "zephyr-riscv").services}
    suite = [str(SUITE / name) for name in ("services.yaml", "riscv.yaml", "sched-dumb.yaml")]
    there = {s.name: s for s in load_services(*suite, "zephyr-riscv").services}
    for name in ("context_switch", "tick"):
        mine, theirs = here[name], there[name]
        assert (mine.kind, mine.entries) == (theirs.kind, theirs.entries)
        assert mine.exceptions == theirs.exceptions


@pytest.mark.firmware
def test_in_a_workspace_the_commands_print_what_the_page_quotes(tmp_path: Path) -> None:
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE is not set: this test needs a Zephyr workspace of yours")
    if shutil.which("west") is None:
        pytest.skip("west is not installed")
    need_compiler_of_the_pages()
    furnish(tmp_path)
    text = PAGE.read_text(encoding="utf-8").replace(" in a workspace -->", " -->")
    output = ""
    checked = 0
    for block in blocks(text):
        if block.what == "run":
            output, status = shell(block.body, tmp_path, timeout=1500)
            assert status == 0, output
        elif block.what == "output":
            missing = missing_lines(block.body, output)
            assert missing is None, f"not in the output:\n{missing}\n--- it is\n{output}"
            checked += 1
    assert checked == 2
