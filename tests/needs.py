"""What a test needs of the machine; without it the test says so and is skipped."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def need(program: str, package: str) -> None:
    """Skips the test where a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (Debian package {package})")


COMPILER = "12.2.1"
"""The version of GCC that makes the code for which the documentation's figures hold."""


def need_compiler_of_the_pages() -> None:
    """Skips the test where another version of the compiler for Arm is installed, or none."""
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    done = subprocess.run(
        ["arm-none-eabi-gcc", "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    if done.stdout.strip() != COMPILER:
        pytest.skip(f"the pages' figures are of GCC {COMPILER}, not {done.stdout.strip()}")
