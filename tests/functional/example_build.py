"""The small FreeRTOS application of integrations/example, built and priced by make, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import need

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "integrations" / "example"
KERNEL = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
WCETCHAR = Path(sys.executable).parent / "wcetchar"
SECTIONS = {
    "text": "flash",
    "vectors": "flash",
    "const": "flash",
    "data": "sram",
    "heap": "sram",
    "stack.task": "sram",
    "stack.main": "sram",
    "scs": "scs",
}
"""Where its sections lie on cortex-m3/flash-3ws, as its link.ld has it."""


def run(*command: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A program, beside the command line of this environment, and not as a part of `make test`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    path = f"{WCETCHAR.parent}{os.pathsep}{inherited.get('PATH', '')}"
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**inherited, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run("make", "-s", "-C", EXAMPLE, f"BUILD={folder}", f"WCETCHAR={WCETCHAR}", *words)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where make has built, characterized and priced the example, and what it printed."""
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    need("qemu-system-arm", "qemu-system-arm")
    if not (KERNEL / "tasks.c").is_file():
        pytest.skip("the kernel's source is not there: make -C rtos_tests/freertos kernel")
    folder = tmp_path_factory.mktemp("make")
    done = make(folder, "wcet-estimate")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout
