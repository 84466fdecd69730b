"""The campaign over Zephyr's boards and schedulers, without a workspace."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from bad_input import process, refused
from click.testing import CliRunner

from wcetchar.cli import main
from wcetchar.model.campaign import Campaign, Cell, expand
from wcetchar.model.machine import MACHINES
from wcetchar.store import load_campaign, load_services

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "rtos_tests" / "zephyr"
FILE = SUITE / "campaign.yaml"
PAGES = [ROOT / "docs" / "reference" / name for name in ("zephyr.md", "zephyr-riscv.md")]
BOARDS = ("mps2/an385", "qemu_cortex_m3", "qemu_riscv32")
SCHEDULERS = ("dumb", "multiq", "scalable")


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return load_campaign(str(FILE))


def board_and_scheduler(cell: Cell) -> tuple[str, str]:
    """As the pages' tables name them."""
    suite = cell.values["suite"]
    option = "" if suite == "services" else f", {suite}"
    return cell.variables["zephyr_board"], cell.values["scheduler"] + option


def test_the_cells_are_those_of_the_pages(campaign: Campaign) -> None:
    cells = {board_and_scheduler(cell) for cell in campaign.cells()}
    rows = set()
    for page in PAGES:
        table = page.read_text().partition("<!-- tables: begin -->")[2].partition("\n\n")[0]
        rows |= set(re.findall(r"^\| ([\w/]+) \| (\w+(?:, [\w-]+)?) \| \d", table, re.MULTILINE))
    assert len(rows) >= 10
    assert rows <= cells
    assert cells - rows <= set(product(BOARDS, SCHEDULERS))
    assert set(product(BOARDS, SCHEDULERS)) <= cells


def test_every_cell_has_files_that_are_one_services_file(campaign: Campaign) -> None:
    sizes = {}
    for cell in campaign.cells():
        files = [SUITE / expand(file, cell.variables) for file in campaign.services_of(cell)]
        assert all(file.is_file() for file in files), cell.name
        found = load_services(*map(str, files))
        sizes[cell.name] = len(found.services)
        by_name = {service.name: service for service in found.services}
        on_riscv = cell.values["board"] == "qemu_riscv32"
        if cell.values["suite"] == "services":
            assert by_name["tick"].exceptions == ((0x80000007,) if on_riscv else ())
    assert sizes["mps2-an385+dumb+services"] == sizes["qemu_riscv32+dumb+services"] > 200
    assert sizes["mps2-an385+scalable+services"] == sizes["mps2-an385+dumb+services"] + 3


def test_every_overlay_is_there_and_one_of_two_is_empty(campaign: Campaign) -> None:
    for cell in campaign.cells():
        overlays = [cell.variables["scheduler_overlay"], cell.variables["suite_overlay"]]
        assert "" in overlays
        for overlay in filter(None, overlays):
            assert (SUITE / overlay).is_file()
        assert cell.variables["machine"] in {machine.name for machine in MACHINES}
    assert campaign.build is not None
    assert campaign.build.command[:2] == ("west", "build")


def test_each_cell_builds_in_a_folder_of_its_own(campaign: Campaign) -> None:
    assert campaign.build is not None
    at = campaign.build.command.index("--build-dir")
    assert campaign.build.command[at + 1] == "{output}/build"
    assert campaign.firmware.startswith("{output}/build/")


def test_a_missing_workspace_is_told_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    runner = CliRunner()
    made = tmp_path / "out"
    result = runner.invoke(main, ["campaign", str(FILE), "-o", str(made)])
    refused(result, 3, "campaign.yaml:", "ZEPHYR_BASE is not set", "west workspace", "export")
    assert not made.exists()
    # What the cells are can be seen without one.
    listed = process("campaign", FILE, "--dry-run")
    assert listed.returncode == 0
    assert "cells: 13" in listed.stdout
