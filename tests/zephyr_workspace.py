"""Tests that build the Zephyr application in a workspace of the reader's:
``pytest_plugins = ("zephyr_workspace",)``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

APPLICATION = Path(__file__).resolve().parents[1] / "rtos_tests" / "zephyr"

Build = Callable[[str, str | None], Path]


@pytest.fixture(scope="session")
def zephyr_base() -> Path:
    """Of the workspace."""
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE is not set: these tests need a Zephyr workspace of yours")
    return Path(os.environ["ZEPHYR_BASE"])


@pytest.fixture(scope="module")
def build(zephyr_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Configures and builds for a board, with a configuration beside prj.conf; the ELF file."""
    assert zephyr_base
    for program in ("cmake", "ninja"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")

    def build(board: str, configuration: str | None) -> Path:
        folder = tmp_path_factory.mktemp("zephyr")
        options = [f"-DBOARD={board}"]
        if configuration is not None:
            options.append(f"-DEXTRA_CONF_FILE={configuration}")
        for command in (
            ["cmake", "-GNinja", "-S", str(APPLICATION), "-B", str(folder), *options],
            ["ninja", "-C", str(folder)],
        ):
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=1800, check=False
            )
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return folder / "zephyr" / "zephyr.elf"

    return build
