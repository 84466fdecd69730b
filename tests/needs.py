"""What a test needs of the machine; without it the test says so and is skipped."""

from __future__ import annotations

import shutil

import pytest


def need(program: str, package: str) -> None:
    """Skips the test where a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (Debian package {package})")
