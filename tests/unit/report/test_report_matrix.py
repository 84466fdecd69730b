"""The index of a campaign and its renderings, from summaries written by hand."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import wcetchar
from wcetchar.report import matrix

NO_FORMULA = "no exact formula was found: the observed values are published"
CUT = "the cut lies where the emulator took the exception that switched"
CALLS = "it makes a supervisor call, whose handler is an activity of its own"
NOT_DECODED = "the trace has instructions outside of this service that were not decoded: so"


def stretch(service: str, also: list[str]) -> dict[str, Any]:
    place = {"text": "f+2 (k.c:7)", "function": "f", "offset": 2, "file": "k.c", "line": 7}
    return {
        "kind": "interrupts",
        "instructions": 1234,
        "service": service,
        "parameters": {"N": 3},
        "begin": place,
        "end": place,
        "also_in": also,
    }


SUMMARY: dict[str, Any] = {
    "kernel": "K 1",
    "architecture": "armv7-m",
    "by_formula": 9,  # by a version that counted estimates with them
    "services": [
        {
            "service": "a",
            "form": "formula",
            "word": "high-water mark",
            "windows": 3,
            "notes": [CUT],
        },
        {"service": "b", "form": "formula", "word": "bound", "windows": 4},
        {
            "service": "c_d",
            "form": "table",
            "word": "high-water mark",
            "windows": 5,
            "notes": [NO_FORMULA, CUT],
        },
        {
            "service": "g",
            "form": "formula",
            "word": "estimate",
            "windows": 1,
            "notes": [CALLS, CUT, NOT_DECODED],
        },
        {"service": "h", "form": "table", "word": "estimate", "windows": 1},
    ],
    "not_characterized": [{"service": "e", "reason": "no trace"}],
    "left_out": [
        {"because": "it is a macro", "calls": ["m", "n"]},
        {"because": "it ends the_run", "calls": ["o"]},
    ],
    "traced": 5000,
    "longest_interrupts": [stretch("a", ["b"])],
    "longest_preemption": [],
}


@pytest.fixture
def index() -> matrix.Index:
    return matrix.Index(
        "my | kernel",
        "t",
        (("x", ("1", "2", "3")),),
        (
            matrix.row_of("1", {"x": "1"}, summary=SUMMARY, firmware_sha256="ab", error=None),
            matrix.row_of(
                "2",
                {"x": "2"},
                summary=None,
                firmware_sha256=None,
                error=(3, "c.yaml:1:2: it\x1b failed\n  expected: more"),
            ),
            matrix.row_of("3", {"x": "3"}, summary=None, firmware_sha256=None, error=None),
        ),
    )


def test_every_service_is_counted(index: matrix.Index) -> None:
    document = json.loads(matrix.document(index))
    assert document["services"] == {
        "all": 6,
        "by_formula": 2,
        "by_table": 1,
        "estimates": 2,
        "not_at_all": 1,
    }
    done, failed, pending = document["cells"]
    assert done["services"] == document["services"]
    assert (done["by_table"], done["windows"], done["traced"]) == (["c_d"], 14, 5000)
    assert done["estimates"] == ["g", "h"]
    assert done["reasons"] == {
        "c_d": NO_FORMULA,
        "g": f"{CALLS}; {NOT_DECODED}",
        "h": "no reason is noted",
    }
    assert done["left_out"] == SUMMARY["left_out"]
    assert (document["calls_left_out"], done["calls_left_out"]) == (3, 3)
    assert done["longest_interrupts"] == SUMMARY["longest_interrupts"]
    assert (failed["status"], failed["exit_code"], failed["log"]) == ("failed", 3, "2/log.txt")
    assert "characterization" not in failed
    assert pending == {"cell": "3", "values": {"x": "3"}, "status": "pending"}


def test_the_table_says_the_same(index: matrix.Index) -> None:
    text = matrix.render(index, width=160)
    lines = [line.split() for line in text.splitlines()]
    assert ["1", "done", "armv7-m", "6", "2", "1", "2", "1", "3", "14", "5,000"] in lines
    assert ["2", "failed"] in lines
    assert ["3", "pending"] in lines
    assert "all cells  1 done, 1 failed, 1 pending" in text
    assert "\nby exact formula: 2 of 6 services (33.3 %)\n" in text
    assert f"\nby table: {NO_FORMULA}\n    1  in 1: c_d\n" in text
    assert f"\nestimates: {CALLS}; {NOT_DECODED}\n    1  in 1: g\n" in text
    assert "\nestimates: no reason is noted\n    1  in 1: h\n" in text
    assert "\nnot at all: no trace\n    1  in 1: e\n" in text
    left_out = "\nleft out, calls of the kernel that are no services: 3 in 1\n"
    assert f"{left_out}    2  it is a macro\n    1  it ends the_run\n" in text
    assert CUT not in text
    assert "1: longest stretches with preemption held off: none" in text
    assert "    1,234  a at N=3, and in 1 more\n           from f+2 (k.c:7)\n" in text
    assert "failed: 2: c.yaml:1:2: it\\x1b failed" in text
    assert "\x1b" not in text


def test_markdown_says_the_same(index: matrix.Index) -> None:
    text = matrix.markdown(index)
    assert text.startswith("## my \\| kernel\n\n| cell | status |")
    assert "| 1 | done | armv7-m | 6 | 2 | 1 | 2 | 1 | 3 | 14 | 5,000 |" in text
    assert "\nby exact formula: 2 of 6 services (33.3 %).\n" in text
    assert f"\n\n* by table: {NO_FORMULA}\n  * **1** in 1: c\\_d\n* estimates: " in text
    left_out = "\n* left out, calls of the kernel that are no services: 3 in 1\n"
    assert f"{left_out}  * **2** it is a macro\n  * **1** it ends the\\_run\n" in text
    assert "* 2: failed: c.yaml:1:2: it\\\\x1b failed" in text
    assert "| 1,234 | a, and in 1 more | N=3 | f+2 (k.c:7) | f+2 (k.c:7) |" in text
    assert "\nNone.\n" in text
    assert "\n\n\n" not in text


def row(
    cell: str, tables: list[str], left_out: dict[str, list[str]], reason: str = NO_FORMULA
) -> matrix.CellRow:
    services = [
        {"service": name, "form": "table", "word": "bound", "windows": 1, "notes": [reason]}
        for name in tables
    ]
    groups = [{"because": why, "calls": calls} for why, calls in left_out.items()]
    summary = {**SUMMARY, "services": services, "left_out": groups, "not_characterized": []}
    return matrix.row_of(cell, {}, summary=summary, firmware_sha256=None, error=None)


def told(*cells: matrix.CellRow) -> list[str]:
    """What stands between the share of formulas and the longest stretches."""
    text = matrix.render(matrix.Index("k", "t", (), cells), width=100)
    return text.partition(" %)\n\n")[2].partition("\n\n")[0].splitlines()


def test_cells_share_a_reason_that_is_told_once() -> None:
    macros, last = {"it is a macro": ["m", "n"]}, {"it ends the run": ["o"]}
    cells = (
        row("A", ["s", "t"], {}),
        row("B", ["s"], macros | last),
        row("C", ["s", "t"], macros),
        row("D", ["s", "t"], macros | {"it ends the run": ["o", "p"]}),
    )
    assert told(*cells) == [
        f"by table: {NO_FORMULA}",
        "    2  in each cell but B: s, t",
        "    1  in B: s",
        "left out, calls of the kernel that are no services: 3 in B; 2 in C; 4 in D",
        "    2  it is a macro",
        "    1  in B: it ends the run",
        "    2  in D: it ends the run",
    ]
    # What is not done has nothing to tell, and is not among "each cell".
    pending = matrix.row_of("E", {}, summary=None, firmware_sha256=None, error=None)
    assert told(*cells, pending)[1] == "    2  in each of A, C, D: s, t"
    assert told(cells[0], cells[2], pending)[1] == "    2  in each cell that is done: s, t"
    assert told(cells[0], cells[2])[1] == "    2  in each cell: s, t"
    assert told(cells[0], cells[1])[1:3] == ["    2  in A: s, t", "    1  in B: s"]


def test_a_table_without_a_known_reason_tells_all_its_notes() -> None:
    assert told(row("A", ["s"], {}, "it is late"))[0] == "by table: it is late"


def test_long_lists_stay_behind_their_number() -> None:
    names = [f"service_{number:02}" for number in range(30)]
    first, *others = told(row("A", names, {}))[1:]
    assert first.startswith("   30  in A: service_00, ")
    assert len(others) > 1
    assert all(line.startswith("       service_") for line in others)
    assert max(map(len, others)) <= 100


def test_names_and_figures_are_whole_in_a_narrow_table(index: matrix.Index) -> None:
    summary = SUMMARY | {"architecture": "rv32" + "i" * 40, "traced": 1_515_349_940}
    cell = "board+a-configuration-with-a-long-name"
    done = matrix.row_of(cell, {}, summary=summary, firmware_sha256=None, error=None)
    text = matrix.render(matrix.Index("k", "t", (), (done, *index.cells[1:])), width=60)
    (line,) = [line for line in text.splitlines() if line.startswith(f"{cell}  ")]
    assert line.split()[:3] == [cell, "done", "rv32iiiiiii…"]
    assert line.split()[3:] == ["6", "2", "1", "2", "1", "3", "14", "1,515,349,940"]
    assert text.count("…") == 1


def test_reasons_are_in_the_words_of_the_analysis() -> None:
    folder = Path(wcetchar.__file__).parent / "analysis"
    words = [
        node.value
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value
    ]
    for how, beginnings in matrix._REASONS.items():
        for beginning in beginnings:
            assert any(
                text.startswith(beginning) or (len(text) > 15 and beginning.startswith(text))
                for text in words
            ), (how, beginning)
    # Whatever else makes an estimate needs its reason among them.
    source = (folder / "characterize.py").read_text(encoding="utf-8")
    assert source.count("word = Word.ESTIMATE\n") == len(matrix._REASONS["estimate"])


def test_a_summary_without_its_keys_is_refused() -> None:
    with pytest.raises(KeyError):
        matrix.row_of("1", {}, summary={"kernel": "K"}, firmware_sha256=None, error=None)
