"""The index of a campaign and its renderings, from summaries written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wcetchar.report import matrix


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
        {"service": "a", "form": "formula", "word": "high-water mark", "windows": 3},
        {"service": "b", "form": "formula", "word": "bound", "windows": 4},
        {"service": "c_d", "form": "table", "word": "high-water mark", "windows": 5},
        {"service": "g", "form": "formula", "word": "estimate", "windows": 1},
        {"service": "h", "form": "table", "word": "estimate", "windows": 1},
    ],
    "not_characterized": [{"service": "e", "reason": "no trace"}],
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
    assert done["longest_interrupts"] == SUMMARY["longest_interrupts"]
    assert (failed["status"], failed["exit_code"], failed["log"]) == ("failed", 3, "2/log.txt")
    assert "characterization" not in failed
    assert pending == {"cell": "3", "values": {"x": "3"}, "status": "pending"}


def test_the_table_says_the_same(index: matrix.Index) -> None:
    text = matrix.render(index, width=140)
    lines = [line.split() for line in text.splitlines()]
    assert ["1", "done", "armv7-m", "6", "2", "1", "2", "1", "14", "5,000"] in lines
    assert ["2", "failed"] in lines
    assert ["3", "pending"] in lines
    assert "all cells  1 done, 1 failed, 1 pending" in text
    assert "\nby exact formula: 2 of 6 services (33.3 %)\n" in text
    assert "1: by table: c_d" in text
    assert "1: estimate: g\n1: estimate: h\n" in text
    assert "1: not at all: e: no trace" in text
    assert "1: longest stretches with preemption held off: none" in text
    assert "    1,234  a at N=3, and in 1 more\n           from f+2 (k.c:7)\n" in text
    assert "failed: 2: c.yaml:1:2: it\\x1b failed" in text
    assert "\x1b" not in text


def test_markdown_says_the_same(index: matrix.Index) -> None:
    text = matrix.markdown(index)
    assert text.startswith("## my \\| kernel\n\n| cell | status |")
    assert "| 1 | done | armv7-m | 6 | 2 | 1 | 2 | 1 | 14 | 5,000 |" in text
    assert "\nby exact formula: 2 of 6 services (33.3 %).\n" in text
    assert "* 1: by table: c\\_d" in text
    assert "* 1: estimate: g\n" in text
    assert "* 2: failed: c.yaml:1:2: it\\\\x1b failed" in text
    assert "| 1,234 | a, and in 1 more | N=3 | f+2 (k.c:7) | f+2 (k.c:7) |" in text
    assert "\nNone.\n" in text
    assert "\n\n\n" not in text


def test_a_summary_without_its_keys_is_refused() -> None:
    with pytest.raises(KeyError):
        matrix.row_of("1", {}, summary={"kernel": "K"}, firmware_sha256=None, error=None)
