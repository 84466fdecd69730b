"""docs/zephyr_figures.py and docs/generate_zephyr.py on cells by hand."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from wcetchar.formula import parse
from wcetchar.model.characterization import Evidence, TablePoint
from wcetchar.store import characterization_json, load_characterization

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(DOCS))
    return runpy.run_path(str(DOCS / "zephyr_figures.py"))


STRETCHES: dict[str, list[Any]] = {"longest_interrupts": [], "longest_preemption": []}


def service(
    name: str, sections: list[tuple[str, str, int]], *parameters: str, form: str = "formula"
) -> dict[str, Any]:
    return {
        "service": name,
        "form": form,
        "parameters": list(parameters),
        "sections": [list(section) for section in sections],
        "windows": 3,
        "word": "high-water mark",
    }


def cell(folder: Path, name: str, services: list[dict[str, Any]], reach: set[str]) -> None:
    (folder / name).mkdir(parents=True)
    summary = {"services": services, "not_characterized": [], **STRETCHES}
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
    there[1]["word"] = "estimate"
    arm, other = tmp_path / "arm", tmp_path / "other"
    cell(arm, "mps2-an385+dumb+services", here, {"same", "table"})
    cell(other, "qemu_cortex_m3+dumb+services", there, set())
    script["main"]([arm, other])
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "mps2-an385, dumb: 1,234 instructions; 2 of 5 services and parts access kernel.lists; "
        "15 windows",
        "qemu_cortex_m3, dumb: 1,234 instructions; 0 of 5 services and parts access kernel.lists; "
        "15 windows",
        "dumb: 3 of 5 services and parts have other instructions on qemu_cortex_m3 than on "
        "mps2-an385, 1 are written otherwise",
        # seven of ten, and not rounded up
        "2 cells: 10 services and parts, 7 by exact formula (70.0 %), 2 by table, 1 estimates, "
        "0 not at all",
    ]


def test_pages_are_written_from_the_folder_of_a_campaign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    generator = import_module("generate_zephyr")
    pages = tmp_path / "pages"
    shutil.copytree(DOCS / "reference", pages)
    monkeypatch.setattr(generator, "PAGES", pages)
    before = {name: (pages / name).read_text() for name in generator.OF_PAGES}
    cells = {name: generator.cells_of(name) for name in generator.OF_PAGES}
    (riscv,) = {cell.variables["zephyr_board"] for cell in cells["zephyr-riscv.md"]}
    for made in (made for of_page in cells.values() for made in of_page):
        values = made.values
        if (values["board"], values["scheduler"]) != ("qemu_cortex_m3", "multiq"):
            folder = tmp_path / ("riscv" if values["board"] == riscv else "arm")
            name = f"of_{values['scheduler']}_{values['suite'].replace('-', '_')}"
            cell(folder, made.name, [service(name, [("N", "none", 7)], "N 1..12")], set())
    assert generator.main([str(tmp_path / "arm"), str(tmp_path / "riscv")]) == 1
    told = "zephyr.md stays as it is; not there: qemu_cortex_m3+multiq+services\n"
    assert capsys.readouterr().err == told
    assert (pages / "zephyr.md").read_text() == before["zephyr.md"]
    text = (pages / "zephyr-riscv.md").read_text()
    assert "| of_scalable_services | N 1..12 |  |  | `7*N` |\n" in text
    assert "| of_dumb_timeslicing | timeslicing | N 1..12 | `7*N` |\n" in text
    head, _, rest = before["zephyr-riscv.md"].partition("<!-- tables: begin -->\n")
    assert text.startswith(head)
    assert text.endswith(rest.partition("<!-- tables: end -->\n")[2])

    # All of it, or the count of the public calls alone.
    missing = "qemu_cortex_m3+multiq+services"
    cell(tmp_path / "arm", missing, [service("late", [("1", "none", 7)])], set())
    assert generator.main([str(tmp_path / "arm")]) == 1
    text = (pages / "zephyr.md").read_text()
    assert "| qemu_cortex_m3 | multiq | 1 | 1 | 100.0 % |" in text
    _, _, others = text.partition("Instructions on qemu_cortex_m3, where they are others than on ")
    others, _, _ = others.partition("<!-- tables: end -->")
    assert re.findall(r"^\| (\w+) \|", others, re.MULTILINE) == ["service", "late"]
    assert "| late |  |  | `7` |  |\n" in others
    assert "Longest stretches on mps2/an385 with *dumb* and *timeslicing*, in" in text
    assert "Longest stretches on qemu_cortex_m3 with *scalable*, in" in text


def test_the_count_of_public_calls_is_current(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    generator = import_module("generate_zephyr")
    before = {name: (DOCS / "reference" / name).read_text() for name in generator.OF_PAGES}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(generator, "PAGES", tmp_path)
    assert generator.main([]) == 0
    after = {name: (tmp_path / name).read_text() for name in before}
    assert after == before, "run: python docs/generate_zephyr.py"


def test_a_smaller_sweep_by_hand(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    published = load_characterization("renaux2010")
    (formula,) = published.services

    def seen(name: str, rows: Any, *values: int, points: Any = ()) -> Any:
        counts = replace(formula.counts, rows=() if points else rows, points=points)
        evidence = Evidence(len(values), tuple((value,) for value in values), ())
        return replace(formula, name=name, counts=counts, evidence=evidence)

    rows = formula.counts.rows
    fewer = tuple(
        replace(row, repetition=parse("N*(N < 4)")) if row.repetition == parse("N") else row
        for row in rows
    )
    assert fewer != rows
    table = tuple(TablePoint((n,), rows[:1]) for n in (1, 2, 3))
    less = (
        seen("same", rows, 1, 2, 3),
        seen("too low beyond", fewer, 1, 2, 3),
        seen("table", (), 1, 2, 3, points=table),
        seen("otherwise", rows[:1], 1, 2, 3),
    )
    whole = (
        seen("same", rows, 1, 3, 9),
        seen("too low beyond", rows, 1, 3, 9),
        seen("table", (), 1, 3, 9, points=(*table, TablePoint((9,), rows[:2]))),
        seen("otherwise", rows, 1, 3, 9),
    )
    files = []
    for name, services in (("less", less), ("whole", whole)):
        file = tmp_path / f"{name}.json"
        file.write_text(characterization_json(replace(published, services=services)))
        files.append(str(file))
    assert script["smaller"](*files) == (
        "3 of 4 services and parts by formula; 1 count otherwise at points of the smaller sweep; "
        "of the formulas, 2 do at points of the whole one"
    )
