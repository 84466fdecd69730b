"""The page of FreeRTOS services has the figures that its firmware gives."""

from __future__ import annotations

import os
import runpy
import subprocess
from pathlib import Path

import pytest
from chain_made import command

from wcetchar.store import load_characterization

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "rtos_tests" / "freertos"
KERNEL = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
COMPILER = "12.2.1"  # the figures hold for the code that this version makes

pytestmark = [pytest.mark.firmware, pytest.mark.long]


def test_the_page_is_current(firmware: Path, tmp_path: Path) -> None:
    gcc = subprocess.run(
        ["arm-none-eabi-gcc", "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    if gcc.stdout.strip() != COMPILER:
        pytest.skip(f"arm-none-eabi-gcc {gcc.stdout.strip()}, the page's figures are of {COMPILER}")
    make = ["make", "-s", "-C", str(SUITE), "CONFIG=full", f"BUILD={tmp_path}"]
    kernel = {"FREERTOS_KERNEL": os.environ.get("FREERTOS_KERNEL", str(KERNEL))}
    subprocess.run(make, check=True, capture_output=True, env={**os.environ, **kernel})
    listed = subprocess.run([*make, "services"], check=True, capture_output=True, text=True)
    elf, trace, result = (tmp_path / name for name in ("freertos.elf", "run.trace", "run.json"))
    command("capture", elf, "--machine", "mps2-an385", "-o", trace)
    services = [word for name in listed.stdout.split() for word in ("--services", ROOT / name)]
    command("characterize", elf, trace, *services, "-o", result)
    generator = runpy.run_path(str(ROOT / "docs" / "generate_services.py"))
    committed = (ROOT / "docs" / "reference" / "freertos-services.md").read_text(encoding="utf-8")
    expected = generator["page"](load_characterization(str(result)))
    assert committed == expected, "run: python docs/generate_services.py"
