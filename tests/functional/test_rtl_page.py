"""The page that `make validate` writes: of results that are made up."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rtl_bench import ROOT
from rtl_by_hand import module

A, B = "imc, board A, caches ideal", "imc, board B, caches cold"
COMMAND = "python rtl_boards/validate.py --write page.md"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    return module(monkeypatch, "page")


def cell(pages: Any, name: str) -> Any:
    import cells

    [found] = [one for one in cells.CELLS if one.name == name]
    return found


def row(service: str, measured: float, estimated: float, **parameters: int) -> dict[str, Any]:
    return {
        "service": service,
        "parameters": parameters,
        "measured_ns": measured,
        "estimated_ns": estimated,
        "unsafe": measured > estimated,
    }


def report(*rows: dict[str, Any], calls: int = 0) -> dict[str, Any]:
    """As ``wcetchar validate --json`` has it."""
    unsafe = sum(one["unsafe"] for one in rows)
    return {"measurements": calls or len(rows), "unsafe": unsafe, "rows": list(rows)}


def result(pages: Any, name: str, *rows: dict[str, Any], **more: Any) -> Any:
    fields = {
        "configuration": "basic",
        "report": report(*rows),
        "masked": report(row("s", 100, 100)),
        "left_out": [],
        "masked_left_out": [],
        **more,
    }
    return pages.Result(cell=cell(pages, name), **fields)


def of(*percents: float) -> list[dict[str, Any]]:
    return [row(f"s{n}", 1000, 1000 + 10 * value) for n, value in enumerate(percents)]


@pytest.mark.parametrize(
    ("state", "percents", "missed"),
    [
        (A, [0, 0, 2], []),
        (A, [0, 0, 2.1], ["worst"]),
        (A, [2, 2, 2], []),  # no median of its own there
        (A, [0, 0, -0.1], ["unsafe"]),
        (B, [0, 3, 10], []),
        (B, [0, 3.1, 10], ["median"]),
        (B, [0, 3, 10.1], ["worst"]),
        (B, [0, 2, 4, 10], []),  # in the middle of two
        (B, [0, 2, 4.2, 10], ["median"]),
        (B, [-1, 50, 60], ["unsafe", "median", "worst"]),
        (B, [], ["median", "worst"]),  # nothing was measured
        (A, [], ["worst"]),
    ],
)
def test_goals_of_a_state(pages: Any, state: str, percents: list[float], missed: list[str]) -> None:
    one = result(pages, state, *of(*percents))
    assert pages.missed(one.cell, one.report) == missed
    shown = ", ".join(f"not {name}" for name in missed) or "met"
    assert pages._summary(one, one.report).endswith(f" | {shown} |")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(0), "0.0 %"),
        (Fraction(2), "2.0 %"),
        (Fraction(201, 100), "2.1 %"),  # above a goal of 2
        (Fraction(22, 10), "2.2 %"),
        (Fraction(1, 10**6), "0.1 %"),
        (Fraction(-1, 10**6), "-0.1 %"),  # unsafe
        (Fraction(-1234, 100), "-12.4 %"),
        (None, "-"),
    ],
)
def test_percentages_never_look_better_than_they_are(
    pages: Any, value: Fraction | None, shown: str
) -> None:
    assert pages.percent(value) == shown


def made_up(pages: Any) -> list[Any]:
    return [
        result(
            pages,
            A,
            row("vTaskDelay", 1000, 1010, D=1),
            row("vTaskDelay", 2000, 2020, D=2),
            row("tick_interrupt", 500, 500, W=1),
            row("tick_interrupt", 900, 909, W=9),
            row("tick_interrupt", 600, 612, W=2),
            row("context_switch", 2690, 2750),
            left_out=[("traps inside", 1200)],
            masked_left_out=[("is a handler, masked as a whole", 3), ("masks no interrupts", 2)],
        ),
        result(
            pages,
            B,
            row("vTaskDelay", 1000, 1010, D=1),
            row("vTaskDelay", 1000, 1010, D=3),
            row("context_switch", 2000, 2010),
            runs=12,
        ),
        result(
            pages,
            B,
            row("xTaskCreate", 3000, 2999, N=1),
            row("xTaskCreate", 3000, 3000, N=2),
            configuration="full",
            masked=report(row("xTaskCreate", 70, 70), calls=9),
        ),
    ]


def test_totals(pages: Any) -> None:
    lines = pages.page(made_up(pages), COMMAND).splitlines()
    [said] = [line for line in lines if "calls measured" in line]
    assert said == (
        "**11 calls measured** (goal: 10,000: not met), **1 unsafe** (goal: none: not met), "
        "**1 of 3 states** meet all goals of a state for calls."
    )
    # Of `basic` seven different rows of three services.
    assert "| basic | calls | 3 | 7 | 9 | 0 | 2 | 1 |" in lines
    assert "| basic | masked stretches | 1 | 1 | 2 | 0 | 2 | 2 |" in lines
    assert "| full | calls | 1 | 2 | 2 | 1 | 1 | 0 |" in lines
    assert "| full | masked stretches | 1 | 1 | 9 | 0 | 1 | 1 |" in lines


def test_the_goal_of_calls(pages: Any) -> None:
    for calls, met in (9_999, "not met"), (10_000, "met"):
        one = result(pages, A, report=report(row("s", 10, 10), calls=calls))
        said = f"**{calls:,} calls measured** (goal: 10,000: {met}), **0 unsafe** (goal: none: met)"
        assert said in pages.page([one], COMMAND)


def test_what_is_masked_too_long_is_unsafe_at_the_top(pages: Any) -> None:
    one = result(pages, A, row("s", 10, 10), masked=report(row("s", 100, 90)))
    assert "**1 unsafe** (goal: none: not met), **1 of 1 states**" in pages.page([one], COMMAND)


def test_a_state(pages: Any) -> None:
    text = pages.page(made_up(pages), COMMAND)
    table, masked = text.split("How long services mask interrupts")
    assert f"| basic | {A} | 6 | 6 | 0 | 0.0 % | 1.0 % | 2.3 % | not worst |" in table
    assert f"| basic | {B} | 3 | 3 | 0 | 0.5 % | 1.0 % | 1.0 % | met |" in table
    assert f"| full | {B} | 2 | 2 | 1 | -0.1 % | -0.1 % | 0.0 % | not unsafe |" in table
    assert f"| full | {B} | 9 | 1 | 0 | 0.0 % | 0.0 % | 0.0 % | met |" in masked
    own = text.split(f"## basic: {A}")[1].split("\n## ")[0]
    assert own == (
        """

1 of 6 rows are exact to the cycle; 1 are over by more than 2 %. The furthest over \
of each service, the first ten:

| service | at | measured ns | estimated ns | over |
|---|---|--:|--:|--:|
| `context_switch` |  | 2,690 | 2,750 | 2.3 % |
| `tick_interrupt` | W = 2 | 600 | 612 | 2.0 % |
| `vTaskDelay` | D = 1 | 1,000 | 1,010 | 1.0 % |

Switches and interrupts, each where it took the longest:

| service | at | measured ns | estimated ns | over | rows | the furthest over |
|---|---|--:|--:|--:|--:|--:|
| `context_switch` |  | 2,690 | 2,750 | 2.3 % | 1 | 2.3 % |
| `tick_interrupt` | W = 9 | 900 | 909 | 1.0 % | 3 | 2.0 % |

Invocations that were not measured: 1,200 because it traps inside.

Masked stretches that were not measured: 3 because it is a handler, masked as a whole; \
2 because it masks no interrupts.
"""
    )


def test_ten_of_each_state(pages: Any) -> None:
    text = pages.page([result(pages, B, *of(*range(20)))], COMMAND)
    own = re.findall(r"^\| `s(\d+)` \|", text.split("\n## ")[1], re.M)
    assert own == [str(n) for n in range(19, 9, -1)]
    assert "Switches and interrupts" not in text


def test_what_takes_no_time(pages: Any) -> None:
    text = pages.page([result(pages, B, row("s", 0, 10), row("t", 100, 101))], COMMAND)
    assert "| `s` |  | 0 | 10 | - |" in text
    assert f"| basic | {B} | 2 | 2 | 0 | 1.0 % | 1.0 % | 1.0 % | met |" in text


def test_what_the_page_says_of_itself(pages: Any) -> None:
    text = pages.page(made_up(pages), COMMAND)
    head = text.split("| configuration |")[0]
    assert head.startswith("# FreeRTOS on the boards in RTL\n")
    assert f"`{COMMAND}`" in head
    assert "(12 of `basic`, 1 of `full`)" in head
    for goal in ("at least 10,000", "at most 2 %", "at most 3 %", "at most 10 %"):
        assert goal in head, goal
    assert (ROOT / "docs" / "explanation" / "rtl.md").exists()  # which the page links to


@pytest.mark.parametrize(("unsafe", "status"), [(False, None), (True, 1)])
def test_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pages: Any,
    unsafe: bool,
    status: int | None,
) -> None:
    """To the page and to standard output, with all states that were chosen; also where something
    is unsafe, which ends it with status 1."""
    validate = module(monkeypatch, "validate")
    asked = []

    def results(
        name: str, cells: list[Any], runs: int, jobs: int, anew: bool, paths: bool
    ) -> list[Any]:
        asked.append((name, [one.name for one in cells], runs, jobs, anew, paths))
        return [result(pages, A, row("s", 10, 9 if unsafe else 10), configuration=name)]

    monkeypatch.setattr(validate, "validate", results)
    monkeypatch.setattr(validate, "WORK", tmp_path / "work")
    file = tmp_path / "page.md"
    words = ["--only", A, "--jobs", "3", "--anew", "--write", str(file)]
    monkeypatch.setattr(sys, "argv", ["validate.py", *words])
    if status is None:
        validate.main()
    else:
        with pytest.raises(SystemExit) as ended:
            validate.main()
        assert ended.value.code == status
    assert asked == [("basic", [A], 12, 3, True, False), ("full", [A], 2, 3, True, False)]
    text = file.read_text()
    assert capsys.readouterr().out == f"{text}\n"
    assert f"`python rtl_boards/validate.py --only '{A}' --jobs 3 --anew --write {file}`" in text
    assert f"## full: {A}" in text
