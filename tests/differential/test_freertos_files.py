"""The services files of every board and configuration of the FreeRTOS suite, read as one: marks and
names of one are not taken by another. No firmware is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wcetchar import store

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "rtos_tests" / "freertos"
BOARDS = sorted(folder.name for folder in (SUITE / "boards").iterdir() if folder.is_dir())
CONFIGURATIONS = sorted(file.stem for file in (SUITE / "config").glob("*.yaml"))
HEAPS = sorted(file.stem for file in (SUITE / "heaps").glob("*.yaml"))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(
    "chosen",
    [*(f"CONFIG={name}" for name in CONFIGURATIONS), *(f"HEAP={name}" for name in HEAPS)],
)
def test_the_files_of_a_firmware_are_one(board: str, chosen: str) -> None:
    if chosen == "CONFIG=tickless" and not board.startswith("mps2"):
        pytest.skip("the port has no tickless idle")
    done = subprocess.run(
        ["make", "-s", "-C", str(SUITE), f"BOARD={board}", chosen, "services"],
        capture_output=True,
        text=True,
        check=True,
    )
    services = store.load_services(*(str(ROOT / name) for name in done.stdout.split())).services
    marks = [service.mark for service in services if service.mark is not None]
    assert len(services) >= 10
    assert len(marks) == len(set(marks))
