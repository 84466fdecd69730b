"""The slowest memory, or the lowest clock, with which a budget holds: a sheet and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from wcetchar.model.solved import Solution, Solved
from wcetchar.report import picture
from wcetchar.report.chart import Line, Panel
from wcetchar.report.numbers import for_json, grouped, plain
from wcetchar.report.over_axes import MOST_DRAWN, MOST_LINES, line_name, over_axis
from wcetchar.report.sheet import Column, Sheet, Value, text_column

SCHEMA: Final = "wcetchar/solve/1"
_NAMED: Final = 3


def sheet(found: Solution) -> Sheet:
    """A row for each service and combination of the other axes."""
    axis = found.axis
    word = "least" if found.smallest else "largest"
    columns = (
        text_column("service", "service"),
        *(Column(one.heading, one.key) for one in found.axes),
        Column(f"{word} {axis.heading}", axis.key),
        Column("total ns", "total_ns"),
        Column("fails at", f"beyond_{axis.unit}" if axis.unit else "beyond"),
        Column("with ns", "beyond_ns"),
        text_column("word", "word"),
    )
    rows: list[tuple[Value, ...]] = [
        (one.service, *one.numbers, one.number, one.time, one.beyond, one.time_beyond, _word(one))
        for one in found.solved
    ]
    document = {
        "axis": axis.name,
        "unit": axis.unit,
        "sense": word,
        "budget_ns": for_json(found.budget),
        "method": "halving" if found.halved else "all values",
        "step": None if found.step is None else for_json(found.step),
        "tried": found.tried,
        "over_all_paths": list(found.over_all_paths),
        "failing": [
            {"service": one.service, "values": [for_json(x) for x in one.failing]}
            for one in found.solved
            if one.failing
        ],
        "notes": list(found.notes),
    }
    lines = (*_lines(found), *found.notes)
    return Sheet(SCHEMA, columns, tuple(rows), lines, document)


def chart(found: Solution) -> str:
    """What was solved over the first of the other axes; a line for each service and value of the
    rest.

    Raises:
        ValueError: nothing was solved, or there are more lines than a picture can show.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in found.solved:
        first, *rest = one.numbers
        if one.number is None or first is None:
            continue
        name = line_name(one.service, found.axes[1:], rest)
        lines.setdefault(name, []).append((float(first), float(one.number)))
    longest = max((len(points) for points in lines.values()), default=0)
    if not lines:
        raise ValueError("nothing holds the budget")
    if len(lines) > MOST_LINES or longest > MOST_DRAWN:
        raise ValueError(
            f"{len(lines)} lines of up to {longest:,} points; a picture shows {MOST_LINES} of "
            f"{MOST_DRAWN:,}"
        )
    unit = found.axis.unit
    panel = Panel(
        f"{'least' if found.smallest else 'largest'} {found.axis.heading}",
        [Line(name, points) for name, points in lines.items()],
        lambda y: f"{y:g} {unit}".rstrip(),
    )
    budget = picture.nanoseconds(float(found.budget))
    return over_axis(f"Within a budget of {budget}", found.axes[0], [panel])


def _lines(found: Solution) -> Sequence[str]:
    unit = f" {found.axis.unit}" if found.axis.unit else ""
    steps = "the values given" if found.step is None else f"steps of {plain(found.step)}{unit}"
    word = "least" if found.smallest else "largest"
    paths = " over all paths" if found.over_all_paths else ""
    lines = [
        f"the {word} {found.axis.name} with which the total{paths} keeps {grouped(found.budget)} "
        f"ns, in {steps}"
    ]
    if found.over_all_paths:
        names = ", ".join(found.over_all_paths[:_NAMED])
        more = len(found.over_all_paths) - _NAMED
        lines.append(
            f"of {names}{f' and {more} more' if more > 0 else ''} the total is what path models "
            "bound, and never less than that of the published rows"
        )
    if found.halved:
        lines.append(
            f"found by halving, {found.tried:,} values evaluated: it never falls on the way"
        )
    else:
        lines.append(f"all {found.tried:,} values were evaluated: it may rise and fall on the way")
    lines += [_failing(one, unit) for one in found.solved if one.failing]
    return lines


def _failing(one: Solved, unit: str) -> str:
    listed = ", ".join(_number(x) for x in one.failing[:_NAMED])
    more = len(one.failing) - _NAMED
    rest = f" and {more:,} more" if more > 0 else ""
    at = ", ".join(_number(x) for x in one.numbers if x is not None)
    where = f" at {at}" if at else ""
    return f"{one.service}{where}: the budget fails at {listed}{rest}{unit} nevertheless"


def _word(one: Solved) -> str:
    return "" if one.word is None else one.word.value


def _number(value: Fraction) -> str:
    return plain(value)
