"""The page of what `validate.py` measured, against what was published."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cells import Cell

GOAL_OF_CALLS = 10_000
"""Measured, of all states together."""
BOARD_A = 2
"""Percent that no service may be over on board A, where no memory waits."""
MEDIAN, MOST = 3, 10
"""Percent that half of the services, and the worst, may be over on the others."""
NAMED = ("context_switch", "tick_interrupt", "interrupt_")
"""What a reader looks for first: services whose names begin so."""
WORST = 10

Report = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """``report``: of the services' times; ``masked``: of how long they mask interrupts. ``runs``:
    of how many they are. What was not measured, and why, with how many."""

    configuration: str
    cell: Cell
    report: Report
    masked: Report
    left_out: list[tuple[str, int]]
    masked_left_out: list[tuple[str, int]]
    runs: int = 1


def over(row: Row) -> Fraction | None:
    """Percent, exact; ``None``: nothing was measured to take any time."""
    measured, estimated = (Fraction(str(row[f"{what}_ns"])) for what in ("measured", "estimated"))
    return (estimated - measured) * 100 / measured if measured else None


def percents(report: Report) -> list[Fraction]:
    """Of all rows, in ascending order."""
    return sorted(one for row in report["rows"] if (one := over(row)) is not None)


def percent(value: Fraction | None) -> str:
    """Rounded away from zero: what is over a goal, or below what was measured, is seen to be."""
    if value is None:
        return "-"
    tenths = math.ceil(abs(value) * 10)
    return f"{'-' if value < 0 else ''}{tenths // 10}.{tenths % 10} %"


def missed(cell: Cell, report: Report) -> list[str]:
    """The goals that a state does not meet: `unsafe`, `median`, `worst`."""
    found = ["unsafe"] if report["unsafe"] else []
    rows = percents(report)
    if cell.board == "a":
        limits = {"worst": (rows[-1:], BOARD_A)}
    else:
        limits = {"median": ([statistics.median(rows)] if rows else [], MEDIAN)}
        limits["worst"] = (rows[-1:], MOST)
    return found + [name for name, (value, most) in limits.items() if not value or value[0] > most]


def _summary(result: Result, report: Report) -> str:
    rows = percents(report)
    shown = (rows[0], statistics.median(rows), rows[-1]) if rows else (None, None, None)
    goals = missed(result.cell, report)
    return (
        f"| {result.configuration} | {result.cell.name} | {report['measurements']:,} | "
        f"{len(report['rows']):,} | {report['unsafe']} | {' | '.join(map(percent, shown))} | "
        f"{', '.join(f'not {name}' for name in goals) or 'met'} |"
    )


def _measured(of: Iterable[tuple[Result, Report]]) -> int:
    """Of a state against which several prices are held each call was measured once."""
    once = {(result.configuration, result.cell.folder): one for result, one in of}
    return sum(one["measurements"] for one in once.values())


def _total(what: str, configuration: str, of: Sequence[tuple[Result, Report]]) -> str:
    rows = {
        (row["service"], *sorted(row["parameters"].items())) for _, one in of for row in one["rows"]
    }
    return (
        f"| {configuration} | {what} | {len({row[0] for row in rows}):,} | {len(rows):,} | "
        f"{_measured(of):,} | {sum(one['unsafe'] for _, one in of)} | "
        f"{len(of)} | {sum(not missed(result.cell, one) for result, one in of)} |"
    )


def _totals(results: Sequence[Result]) -> Iterator[str]:
    calls = _measured((result, result.report) for result in results)
    unsafe = sum(one["unsafe"] for result in results for one in (result.report, result.masked))
    pairs = [
        ("calls", [(result, result.report) for result in results]),
        ("masked stretches", [(result, result.masked) for result in results]),
    ]
    states = [missed(result.cell, result.report) for result in results]
    yield from (
        f"**{calls:,} calls measured** (goal: {GOAL_OF_CALLS:,}: "
        f"{'met' if calls >= GOAL_OF_CALLS else 'not met'}), **{unsafe} unsafe** (goal: none: "
        f"{'not met' if unsafe else 'met'}), **{states.count([])} of {len(states)} states** meet "
        "all goals of a state for calls.",
        "",
        "| configuration | of | services | rows | measured | unsafe | states | all met in |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    )
    for configuration in dict.fromkeys(result.configuration for result in results):
        for what, of in pairs:
            own = [(result, one) for result, one in of if result.configuration == configuration]
            yield _total(what, configuration, own)


def _head(results: Sequence[Result], command: str) -> Iterator[str]:
    runs: Counter[str] = Counter()
    for result in results:
        runs[result.configuration] = max(runs[result.configuration], result.runs)
    most = ", ".join(f"{count} of `{name}`" for name, count in runs.items())
    yield from (
        "# FreeRTOS on the boards in RTL",
        "",
        f"Written by `{command}`; what the columns mean, and what was left out and why: [the "
        "boards](../explanation/rtl.md).",
        "With jitter, refresh or a second master a state is measured in several runs, at other "
        f"phases of these and with other seeds ({most}); the",
        "longest time of each service is held against the estimate. Percentages are rounded away "
        "from zero.",
        "",
        "The goals:",
        "",
        f"* nothing is unsafe, which is to take longer than its figure, among at least "
        f"{GOAL_OF_CALLS:,} measured calls;",
        f"* on board A each service is over by at most {BOARD_A} % (else `not worst`);",
        f"* on the others half of the services are over by at most {MEDIAN} % (else `not median`), "
        f"and each by at most {MOST} % (else",
        "  `not worst`).",
        "",
        "How long interrupts are masked is held against the same.",
        "",
    )


def _line(row: Row) -> str:
    return f"{_at(row)} | {row['measured_ns']:,} | {row['estimated_ns']:,} | {percent(over(row))} |"


def _at(row: Row) -> str:
    return ", ".join(f"{name} = {value}" for name, value in row["parameters"].items())


def _further(row: Row) -> Fraction:
    """What is over by the most comes last; of what takes no time that is all of it."""
    value = over(row)
    return Fraction(10**9) if value is None else value


def _named(rows: Iterable[Row]) -> Iterator[str]:
    own = sorted(
        (row for row in rows if row["service"].startswith(NAMED)),
        key=lambda row: (row["measured_ns"], _further(row)),
    )
    longest = {row["service"]: row for row in own}
    if not longest:
        return
    yield from (
        "",
        "Switches and interrupts, each where it took the longest:",
        "",
        "| service | at | measured ns | estimated ns | over | rows | the furthest over |",
        "|---|---|--:|--:|--:|--:|--:|",
    )
    for name, row in sorted(longest.items()):
        all_of = [one for one in own if one["service"] == name]
        furthest = percent(over(max(all_of, key=_further)))
        yield f"| `{name}` | {_line(row)} {len(all_of)} | {furthest} |"


def _reasons(what: str, left_out: Sequence[tuple[str, int]]) -> Iterator[str]:
    if left_out:
        reasons = "; ".join(f"{count:,} because it {why}" for why, count in left_out)
        yield from ("", f"{what}: {reasons}.")


def _details(result: Result) -> Iterator[str]:
    rows = result.report["rows"]
    exact = sum(row["estimated_ns"] == row["measured_ns"] for row in rows)
    two = sum(_further(row) > 2 for row in rows)
    yield from (
        "",
        f"## {result.configuration}: {result.cell.name}",
        "",
        f"{exact:,} of {len(rows):,} rows are exact to the cycle; {two} are over by more than 2 %. "
        "The furthest over of each service, the first ten:",
        "",
        "| service | at | measured ns | estimated ns | over |",
        "|---|---|--:|--:|--:|",
    )
    worst: dict[str, Row] = {}
    for row in sorted(rows, key=_further, reverse=True):
        worst.setdefault(row["service"], row)
    for row in [*worst.values()][:WORST]:
        yield f"| `{row['service']}` | {_line(row)}"
    yield from _named(rows)
    yield from _reasons("Invocations that were not measured", result.left_out)
    yield from _reasons("Masked stretches that were not measured", result.masked_left_out)


def page(results: Sequence[Result], command: str) -> str:
    """``command``: what it was made by."""
    table = (
        "| configuration | core, board, state | measured calls | rows | unsafe | least over |"
        " median | most | goals |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|",
    )
    lines = [*_head(results, command), *_totals(results), "", *table]
    lines += [_summary(result, result.report) for result in results]
    lines += ["", "How long services mask interrupts, of all that let them in again:", "", *table]
    lines += [_summary(result, result.masked) for result in results]
    for result in results:
        lines += _details(result)
    return "\n".join(lines) + "\n"
