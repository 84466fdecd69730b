"""For tests of the datasheet in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium
from datasheet_files import write_files


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def datasheet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of `datasheet_files` lie in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_files()
