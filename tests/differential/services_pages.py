"""The pages of FreeRTOS services (docs/generate_services.py), read."""

from __future__ import annotations

import re
import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("freertos-services.md", "freertos-services-more.md")


@cache
def generator() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "generate_services.py"))


@cache
def boards() -> dict[str, Any]:
    """docs/generate_figures.py, which imports its neighbours."""
    folder = str(ROOT / "docs")
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(ROOT / "docs" / "generate_figures.py"))
    finally:
        sys.path.remove(folder)


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")


def parts(text: str, level: int) -> dict[str, list[str]]:
    """What stands under each heading of a level, up to the next of it or of a higher one."""
    found: dict[str, list[str]] = {}
    pieces = re.split(rf"^(#{{1,{level}}}) (.*)\n", text, flags=re.MULTILINE)
    for mark, heading, body in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        if len(mark) == level:
            found.setdefault(heading, []).append(body)
    return found


def cells_of_the_page() -> dict[str, str]:
    return {heading: body for heading, (body,) in parts(page(PAGES[1]), 2).items()}
