"""A campaign as plain rows, as its index (JSON) and as a table: one row for each cell, and below it
what is not by formula, with each reason once for all cells that share it.

The index holds no times and nothing of the machine that it was made on but the messages of cells
that failed: two runs that made the same give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.trace import Knowledge
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.summary import length_text, published, share, stretch_lines
from wcetchar.report.terminal import text_of

SCHEMA_VERSION: Final = 2
KIND: Final = "wcetchar campaign"

DONE: Final = "done"
FAILED: Final = "failed"
PENDING: Final = "pending"

_FIGURES: Final = (
    *("services", "by formula", "by table", "estimates", "not at all", "left out"),
    *("windows", "instructions"),
)

_REASONS: Final = {
    "table": ("no exact formula was found",),
    "estimate": (
        "it makes a supervisor call, whose handler",
        "among the calls that are not counted may be whole ones",
        "its thread was not always switched in and away at one place",
        f"the trace has no {Knowledge.ADDRESSES.value}",
        "the trace has instructions outside of this service that were not decoded",
    ),
}
"""How notes begin that say why a service is a table or an estimate. What others say holds for
services by formula as well."""

_T = TypeVar("_T")

_Told = tuple[str, list[tuple[int, str]]]
"""A heading, and below it how many there are of what."""


@dataclass(frozen=True)
class CellRow:
    """One cell. ``status``: ``done``, ``failed``, or ``pending`` where it was never made.

    Attributes:
        traces: files that it was made from, by their names in its folder.
        by_formula: how many services have exact formulas that are no estimates.
        by_table: (service, reason) of those that are published by a table.
        estimates: the same of those whose counts are an estimate, by formula or by table.
        not_characterized: the same of those that the firmware should show and does not.
        left_out: (reason, calls of the kernel that are no services).
        longest_interrupts, longest_preemption: as the summary's JSON has them.
    """

    cell: str
    values: tuple[tuple[str, str], ...]
    status: str
    kernel: str = ""
    architecture: str = ""
    firmware_sha256: str | None = None
    traces: tuple[str, ...] = ()
    by_formula: int = 0
    by_table: tuple[tuple[str, str], ...] = ()
    estimates: tuple[tuple[str, str], ...] = ()
    not_characterized: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()
    windows: int = 0
    traced: int = 0
    longest_interrupts: tuple[Mapping[str, Any], ...] = ()
    longest_preemption: tuple[Mapping[str, Any], ...] = ()
    exit_code: int = 0
    error: str = ""

    @property
    def services(self) -> int:
        counted = (self.by_table, self.estimates, self.not_characterized)
        return self.by_formula + sum(map(len, counted))

    @property
    def calls_left_out(self) -> int:
        return sum(len(calls) for _, calls in self.left_out)


@dataclass(frozen=True)
class Index:
    """A campaign; ``axes`` with their values, ``cells`` in the order of the campaign file."""

    campaign: str
    tool: str
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    cells: tuple[CellRow, ...]

    @property
    def done(self) -> list[CellRow]:
        return [row for row in self.cells if row.status == DONE]


def row_of(
    cell: str,
    values: Mapping[str, str],
    *,
    summary: Mapping[str, Any] | None,
    firmware_sha256: str | None,
    traces: Sequence[str] = (),
    error: tuple[int, str] | None,
) -> CellRow:
    """The row of a cell. ``summary``: the JSON of its characterization's summary, if it is done;
    ``traces``: names of the files that it was made from; ``error``: exit code and message, if it
    failed.

    Raises:
        KeyError: the summary lacks what it always had. Notes and calls that are left out may be
            missing: a record may be older than they are.
    """
    named = tuple(values.items())
    if error is not None:
        code, message = error
        return CellRow(cell, named, FAILED, exit_code=code, error=message)
    if summary is None:
        return CellRow(cell, named, PENDING)
    services = summary["services"]
    found: dict[str, list[tuple[str, str]]] = {"formula": [], "table": [], "estimate": []}
    for service in services:
        how = published(service["form"], service["word"])
        found[how].append((service["service"], _reason(how, service.get("notes", ()))))
    return CellRow(
        cell,
        named,
        DONE,
        kernel=summary["kernel"],
        architecture=summary["architecture"],
        firmware_sha256=firmware_sha256,
        traces=tuple(traces),
        by_formula=len(found["formula"]),
        by_table=tuple(found["table"]),
        estimates=tuple(found["estimate"]),
        not_characterized=tuple((m["service"], m["reason"]) for m in summary["not_characterized"]),
        left_out=tuple((m["because"], tuple(m["calls"])) for m in summary.get("left_out", ())),
        windows=sum(s["windows"] for s in services),
        traced=summary["traced"],
        longest_interrupts=tuple(summary["longest_interrupts"]),
        longest_preemption=tuple(summary["longest_preemption"]),
    )


def _reason(how: str, notes: Sequence[str]) -> str:
    """Why a service is published so, by its notes; where none is known as a reason, by all."""
    reasons = [note for note in notes if note.startswith(_REASONS.get(how, ()))]
    return "; ".join(reasons or notes) or "no reason is noted"


def document(index: Index) -> str:
    """The index, ``campaign.json``, with a newline at its end."""
    done = index.done
    content = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "campaign": index.campaign,
        "tool": index.tool,
        "axes": {name: list(values) for name, values in index.axes},
        "services": {
            "all": sum(row.services for row in done),
            "by_formula": sum(row.by_formula for row in done),
            "by_table": sum(len(row.by_table) for row in done),
            "estimates": sum(len(row.estimates) for row in done),
            "not_at_all": sum(len(row.not_characterized) for row in done),
        },
        "calls_left_out": sum(row.calls_left_out for row in done),
        "cells": [_cell(row) for row in index.cells],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(row: CellRow) -> dict[str, Any]:
    head: dict[str, Any] = {"cell": row.cell, "values": dict(row.values), "status": row.status}
    if row.status == FAILED:
        return {
            **head,
            "log": f"{row.cell}/log.txt",
            "exit_code": row.exit_code,
            "error": row.error,
        }
    if row.status == PENDING:
        return head
    return {
        **head,
        "characterization": f"{row.cell}/characterization.json",
        "traces": [f"{row.cell}/{name}" for name in row.traces],
        "log": f"{row.cell}/log.txt",
        "kernel": row.kernel,
        "architecture": row.architecture,
        "firmware_sha256": row.firmware_sha256,
        "services": {
            "all": row.services,
            "by_formula": row.by_formula,
            "by_table": len(row.by_table),
            "estimates": len(row.estimates),
            "not_at_all": len(row.not_characterized),
        },
        "calls_left_out": row.calls_left_out,
        "by_table": [name for name, _ in row.by_table],
        "estimates": [name for name, _ in row.estimates],
        "reasons": dict((*row.by_table, *row.estimates)),
        "not_characterized": [
            {"service": name, "reason": reason} for name, reason in row.not_characterized
        ],
        "left_out": [{"because": because, "calls": calls} for because, calls in row.left_out],
        "windows": row.windows,
        "traced": row.traced,
        "longest_interrupts": list(row.longest_interrupts),
        "longest_preemption": list(row.longest_preemption),
    }


def render(index: Index, width: int = 120, color: bool = False) -> str:
    """The table of the cells, what is not by formula, the longest stretches, and what failed.

    ``width`` in columns; the table may be wider: of what it holds, architectures alone give way.
    """
    done = index.done
    head = text_of([Text(one_line(index.campaign), style="bold")], width, color)
    parts: list[RenderableType] = [""]
    if done:
        parts += [Text(_share(done)), ""]
    for heading, counted in _told(index):
        parts.append(Text(heading))
        for number, text in counted:
            line = Table.grid(padding=(0, 2, 0, 0))
            line.add_column(justify="right", min_width=5)
            line.add_column()
            line.add_row(f"{number:,}", Text(text))
            parts.append(line)
    for title, key in (
        ("longest stretches with interrupts masked", "longest_interrupts"),
        ("longest stretches with preemption held off", "longest_preemption"),
    ):
        for row in done:
            rows = getattr(row, key)
            if rows or row is done[0]:
                parts.append("")
            heading = f"{row.cell}: {title}" + (", in instructions:" if rows else ": none")
            parts.append(Text(heading, style="bold"))
            parts += [part for stretch in rows for part in stretch_lines(stretch)]
    failed = [row for row in index.cells if row.status == FAILED]
    if failed:
        parts.append("")
    parts += [
        Text(f"failed: {row.cell}: {one_line(row.error.splitlines()[0] if row.error else '')}")
        for row in failed
    ]
    return head + _table_text(index, width, color) + text_of(parts, width, color)


def markdown(index: Index) -> str:
    """The same as Markdown tables (the GitHub dialect)."""
    done = index.done
    lines = [f"## {escaped(index.campaign)}", ""]
    rows = [
        [
            row.cell,
            row.status,
            row.architecture,
            *(_figures([row]) if row in done else [""] * len(_FIGURES)),
        ]
        for row in index.cells
    ]
    rows.append(["all cells", f"{len(done)} done", "", *_figures(done)])
    headings = [("cell", False), ("status", False), ("architecture", False)]
    lines += [*table_lines([*headings, *((h, True) for h in _FIGURES)], rows)]
    if done:
        lines += ["", f"{_share(done)}."]
    told: list[str] = []
    for heading, counted in _told(index):
        told.append(f"* {escaped(heading)}")
        told += [f"  * **{number:,}** {escaped(text)}" for number, text in counted]
    told += [
        f"* {escaped(row.cell)}: failed: {escaped(one_line(row.error))}"
        for row in index.cells
        if row.status == FAILED
    ]
    lines += ["", *told] if told else []
    columns = [("instructions", True), ("service", False), ("at", False), ("from", False)]
    columns.append(("to", False))
    for row in done:
        for title, stretches in (
            ("interrupts masked", row.longest_interrupts),
            ("preemption held off", row.longest_preemption),
        ):
            lines += ["", f"### {escaped(row.cell)}: longest stretches with {title}", ""]
            lines += (
                table_lines(columns, [_cells(s) for s in stretches]) if stretches else ["None."]
            )
    return "\n".join(lines) + "\n"


def _told(index: Index) -> Iterator[_Told]:
    """What is not by formula, each reason once; and the calls that are left out."""
    done = index.done
    for what, key in (
        ("by table", "by_table"),
        ("estimates", "estimates"),
        ("not at all", "not_characterized"),
    ):
        reasons: dict[str, dict[str, list[str]]] = {}
        for row in done:
            for service, reason in getattr(row, key):
                reasons.setdefault(reason, {}).setdefault(row.cell, []).append(service)
        for reason, of in reasons.items():
            shared = _shared((tuple(services), cell) for cell, services in of.items())
            yield (
                f"{what}: {reason}",
                [
                    (len(services), f"in {_where(cells, index)}: {', '.join(services)}")
                    for services, cells in shared.items()
                ],
            )
    having = [row.cell for row in done if row.left_out]
    if having:
        totals = _shared((row.calls_left_out, row.cell) for row in done if row.left_out)
        groups = _shared((group, row.cell) for row in done for group in row.left_out)
        yield (
            "left out, calls of the kernel that are no services: "
            + "; ".join(f"{n:,} in {_where(cells, index)}" for n, cells in totals.items()),
            [
                (len(calls), why if cells == having else f"in {_where(cells, index)}: {why}")
                for (why, calls), cells in groups.items()
            ],
        )


def _shared(pairs: Iterable[tuple[_T, str]]) -> dict[_T, list[str]]:
    """What cells have -> those that have it."""
    found: dict[_T, list[str]] = {}
    for what, cell in pairs:
        found.setdefault(what, []).append(cell)
    return found


def _where(cells: Sequence[str], index: Index) -> str:
    """Some of the cells that are done, in words."""
    if len(cells) == 1:
        return cells[0]
    whole = len(index.done) == len(index.cells)
    others = [row.cell for row in index.done if row.cell not in cells]
    if not others:
        return "each cell" if whole else "each cell that is done"
    if whole and len(others) < len(cells):
        return f"each cell but {', '.join(others)}"
    return f"each of {', '.join(cells)}"


def _cells(stretch: Mapping[str, Any]) -> list[str]:
    at = ", ".join(f"{name}={value}" for name, value in stretch["parameters"].items())
    more = f", and in {len(stretch['also_in'])} more" if stretch["also_in"] else ""
    places = [stretch["begin"]["text"], stretch["end"]["text"]]
    return [length_text(stretch), stretch["service"] + more, at, *places]


def _table_text(index: Index, width: int, color: bool) -> str:
    table = _table(index)
    if _needs(table) > width:
        _, _, architecture, *_ = table.columns
        architecture.max_width = len("architecture")
    return text_of([table], max(width, _needs(table)), color)


def _needs(table: Table) -> int:
    """Columns of text that it fills where nothing has to give way."""
    console = Console(width=1 << 16)
    return Measurement.get(console, console.options, table).maximum


def _table(index: Index) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("cell")
    table.add_column("status")
    table.add_column("architecture")
    for heading in _FIGURES:
        table.add_column(heading.replace(" ", "\n", 1), justify="right")
    for row in index.cells:
        figures = _figures([row]) if row.status == DONE else [""] * len(_FIGURES)
        table.add_row(Text(row.cell), row.status, Text(row.architecture), *figures)
    done = index.done
    if len(index.cells) > 1:
        table.add_section()
        states = [
            f"{sum(row.status == status for row in index.cells)} {status}"
            for status in (DONE, FAILED, PENDING)
            if any(row.status == status for row in index.cells)
        ]
        table.add_row("all cells", ", ".join(states), "", *_figures(done))
    return table


def _figures(rows: Sequence[CellRow]) -> list[str]:
    return [
        f"{sum(values):,}"
        for values in (
            [row.services for row in rows],
            [row.by_formula for row in rows],
            [len(row.by_table) for row in rows],
            [len(row.estimates) for row in rows],
            [len(row.not_characterized) for row in rows],
            [row.calls_left_out for row in rows],
            [row.windows for row in rows],
            [row.traced for row in rows],
        )
    ]


def _share(rows: Sequence[CellRow]) -> str:
    formula, services = sum(r.by_formula for r in rows), sum(r.services for r in rows)
    return f"by exact formula: {formula:,} of {services:,} services ({share(formula, services)})"
