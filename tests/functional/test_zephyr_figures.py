"""docs/zephyr_figures.py on cells by hand."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(DOCS))
    return runpy.run_path(str(DOCS / "zephyr_figures.py"))


def service(
    name: str, sections: list[tuple[str, str, int]], *parameters: str, form: str = "formula"
) -> dict[str, Any]:
    return {
        "service": name,
        "form": form,
        "parameters": list(parameters),
        "sections": [list(section) for section in sections],
        "windows": 3,
    }


def cell(folder: Path, name: str, services: list[dict[str, Any]], reach: set[str]) -> None:
    (folder / name).mkdir()
    summary = {"services": services}
    # As tests/unit/pipeline/test_pipeline_cell.py has it.
    record = {"characterization": {"summary": summary}}
    (folder / name / "cell.json").write_text(json.dumps(record))
    published = []
    for one in services:
        section = "kernel.lists" if one["service"] in reach else "kernel.data"
        rows = [{"repetition": "1", "counts": [{"section": section}, {"event": "alu"}]}]
        counts = {"points": [{"rows": rows}]} if one["form"] == "table" else {"rows": rows}
        published.append({"name": one["service"], "counts": counts})
    document = {"services": published, "conservation": {"traced": 1234}}
    (folder / name / "characterization.json").write_text(json.dumps(document))


def test_figures_by_hand(
    script: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = [
        service("same", [("1", "none", 5)]),
        service("otherwise", [("N", "none", 2), ("1", "none", 3)], "N 1..12"),
        service("more", [("N", "none", 2)], "N 1..12"),
        # Differs at the greatest value of many alone.
        service("last", [("R == 3", "none", 1)], "R 1..3", "S 1..40", "L 1..40"),
        service("table", [("1", "none", 7)], "N 1..3", form="table"),
    ]
    there = [
        service("same", [("1", "none", 5)]),
        service("otherwise", [("N + N", "none", 1), ("3", "none", 1)], "N 1..12"),
        service("more", [("N", "none", 2), ("N > 11", "none", 1)], "N 1..12"),
        service("last", [("0", "none", 1)], "R 1..3", "S 1..40", "L 1..40"),
        service("table", [("1", "none", 8)], "N 1..3", form="table"),
    ]
    cell(tmp_path, "mps2-an385+dumb+services", here, {"same", "table"})
    cell(tmp_path, "qemu_cortex_m3+dumb+services", there, set())
    script["main"](tmp_path)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "mps2-an385, dumb: 1,234 instructions; 2 of 5 services and parts access kernel.lists; "
        "15 windows",
        "qemu_cortex_m3, dumb: 1,234 instructions; 0 of 5 services and parts access kernel.lists; "
        "15 windows",
        "dumb: 3 of 5 services and parts have other instructions on qemu_cortex_m3 than on "
        "mps2-an385, 1 are written otherwise",
    ]
