"""Fixtures that many tests share. Tests that need a compiler or emulator say so when they skip."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from needs import need

# The same examples on every run, and none fails for being slow: a change is judged by what it
# changed. `HYPOTHESIS_PROFILE=explore` draws new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

ROOT = Path(__file__).resolve().parents[1]
FIRMWARE = ROOT / "build" / "firmware" / "freertos" / "freertos.elf"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves long tests out unless they are asked for: ``pytest -m long``."""
    if "long" in config.getoption("markexpr"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item.get_closest_marker("long") is None]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Raises pytest.UsageError where tests of a group would not stay on one worker: pytest-xdist
    3.8 adds ``@group`` to the name of a test, which pytest 9.2 ignores; without it each worker
    makes everything that a group shares, and the larger configurations do not fit into memory."""
    if not getattr(session.config.option, "loadgroup", False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            raise pytest.UsageError(
                f"{item.nodeid} is in a group that pytest {pytest.__version__} does not tell "
                "pytest-xdist of; install the versions that constraints.txt names"
            )


@pytest.fixture
def assemble(tmp_path: Path) -> Callable[..., Path]:
    """``assemble(source, script)``: links an assembler source for Cortex-M3, returns the ELF."""
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")

    def build(source: str, script: str | None = None, cpu: str = "cortex-m3") -> Path:
        file = tmp_path / "test.s"
        file.write_text(".syntax unified\n.thumb\n" + source)
        elf = tmp_path / "test.elf"
        command = ["arm-none-eabi-gcc", f"-mcpu={cpu}", "-mthumb", "-g", "-nostdlib", "-static"]
        if script is not None:
            (tmp_path / "test.ld").write_text(script)
            command += ["-T", str(tmp_path / "test.ld")]
        subprocess.run([*command, str(file), "-o", str(elf)], check=True, cwd=tmp_path)
        return elf

    return build


@pytest.fixture
def assemble_riscv(tmp_path: Path) -> Callable[[str, str], Path]:
    """``assemble_riscv(source, script)``: links an assembler source for RV32IMC."""
    compiler = "riscv64-unknown-elf-gcc"
    need(compiler, "gcc-riscv64-unknown-elf")

    def build(source: str, script: str) -> Path:
        (tmp_path / "test.s").write_text(source)
        (tmp_path / "test.ld").write_text(script)
        options = ["-march=rv32imc_zicsr", "-mabi=ilp32", "-mno-relax", "-Wl,--no-relax"]
        link = ["-nostdlib", "-static", "-T", "test.ld", "test.s", "-o", "test.elf"]
        subprocess.run([compiler, *options, *link], check=True, cwd=tmp_path)
        return tmp_path / "test.elf"

    return build


@pytest.fixture(scope="session")
def firmware() -> Path:
    """The FreeRTOS firmware that `make test` builds."""
    if not FIRMWARE.exists():
        pytest.skip(f"{FIRMWARE.relative_to(ROOT)} is not built (make firmware)")
    return FIRMWARE
