"""The flow facts that ship: each board and configuration is given those that name its services."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wcetchar import store
from wcetchar.pipeline.flow_facts import PathsRequest, check_names, read_facts

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ("mps2-an385", "mps2-an386", "virt")
CONFIGS = ("basic", "timers", "watch", "tickless", "whole", "full")


def listed(board: str, config: str, what: str) -> tuple[str, ...]:
    command = [
        "make",
        "-s",
        "-C",
        "rtos_tests/freertos",
        f"BOARD={board}",
        f"CONFIG={config}",
        what,
    ]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return tuple(str(ROOT / name) for name in done.stdout.split())


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("board", BOARDS)
def test_facts_name_services_that_there_are(board: str, config: str) -> None:
    if (board, config) == ("virt", "tickless"):
        pytest.skip("the port has no tickless idle")
    services = store.load_services(*listed(board, config, "services"))
    facts = read_facts(PathsRequest(listed(board, config, "facts")).facts)
    check_names(facts, services, [section.name for section in services.sections])
    assert {Path(fact.where.file).suffix for fact in facts} == {".ff"}
