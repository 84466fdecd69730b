"""A campaign as plain rows, as its index (JSON) and as a table: one row for each cell.

The index holds no times and nothing of the machine that it was made on but the messages of cells
that failed: two runs that made the same give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.summary import length_text, published, share, stretch_lines
from wcetchar.report.terminal import text_of

SCHEMA_VERSION: Final = 2
KIND: Final = "wcetchar campaign"

DONE: Final = "done"
FAILED: Final = "failed"
PENDING: Final = "pending"

_FIGURES: Final = (
    *("services", "by formula", "by table", "estimates", "not at all"),
    *("windows", "instructions"),
)


@dataclass(frozen=True)
class CellRow:
    """One cell. ``status``: ``done``, ``failed``, or ``pending`` where it was never made.

    Attributes:
        traces: files that it was made from, by their names in its folder.
        by_formula: how many services have exact formulas that are no estimates.
        by_table: services that are published by a table.
        estimates: those whose counts are an estimate, by formula or by table.
        not_characterized: (service, reason).
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
    by_table: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ()
    not_characterized: tuple[tuple[str, str], ...] = ()
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


@dataclass(frozen=True)
class Index:
    """A campaign; ``axes`` with their values, ``cells`` in the order of the campaign file."""

    campaign: str
    tool: str
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    cells: tuple[CellRow, ...]


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
    failed."""
    named = tuple(values.items())
    if error is not None:
        code, message = error
        return CellRow(cell, named, FAILED, exit_code=code, error=message)
    if summary is None:
        return CellRow(cell, named, PENDING)
    services = summary["services"]
    names: dict[str, list[str]] = {"formula": [], "table": [], "estimate": []}
    for service in services:
        names[published(service["form"], service["word"])].append(service["service"])
    return CellRow(
        cell,
        named,
        DONE,
        kernel=summary["kernel"],
        architecture=summary["architecture"],
        firmware_sha256=firmware_sha256,
        traces=tuple(traces),
        by_formula=len(names["formula"]),
        by_table=tuple(names["table"]),
        estimates=tuple(names["estimate"]),
        not_characterized=tuple((m["service"], m["reason"]) for m in summary["not_characterized"]),
        windows=sum(s["windows"] for s in services),
        traced=summary["traced"],
        longest_interrupts=tuple(summary["longest_interrupts"]),
        longest_preemption=tuple(summary["longest_preemption"]),
    )


def document(index: Index) -> str:
    """The index, ``campaign.json``, with a newline at its end."""
    done = [row for row in index.cells if row.status == DONE]
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
        "by_table": list(row.by_table),
        "estimates": list(row.estimates),
        "not_characterized": [
            {"service": name, "reason": reason} for name, reason in row.not_characterized
        ],
        "windows": row.windows,
        "traced": row.traced,
        "longest_interrupts": list(row.longest_interrupts),
        "longest_preemption": list(row.longest_preemption),
    }


def render(index: Index, width: int = 120, color: bool = False) -> str:
    """The table of the cells, what is not by formula, the longest stretches, and what failed."""
    done = [row for row in index.cells if row.status == DONE]
    parts: list[RenderableType] = [Text(one_line(index.campaign), style="bold"), _table(index), ""]
    if done:
        parts += [Text(_share(done)), ""]
    for row in index.cells:
        parts += [Text(f"{row.cell}: by table: {name}") for name in row.by_table]
        parts += [Text(f"{row.cell}: estimate: {name}") for name in row.estimates]
        parts += [
            Text(f"{row.cell}: not at all: {name}: {why}") for name, why in row.not_characterized
        ]
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
    return text_of(parts, width, color)


def markdown(index: Index) -> str:
    """The same as Markdown tables (the GitHub dialect)."""
    done = [row for row in index.cells if row.status == DONE]
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
    if any(
        row.by_table or row.estimates or row.not_characterized or row.error for row in index.cells
    ):
        lines.append("")
    for row in index.cells:
        lines += [f"* {escaped(row.cell)}: by table: {escaped(name)}" for name in row.by_table]
        lines += [f"* {escaped(row.cell)}: estimate: {escaped(name)}" for name in row.estimates]
        lines += [
            f"* {escaped(row.cell)}: not at all: {escaped(name)}: {escaped(why)}"
            for name, why in row.not_characterized
        ]
        if row.status == FAILED:
            lines.append(f"* {escaped(row.cell)}: failed: {escaped(one_line(row.error))}")
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


def _cells(stretch: Mapping[str, Any]) -> list[str]:
    at = ", ".join(f"{name}={value}" for name, value in stretch["parameters"].items())
    more = f", and in {len(stretch['also_in'])} more" if stretch["also_in"] else ""
    places = [stretch["begin"]["text"], stretch["end"]["text"]]
    return [length_text(stretch), stretch["service"] + more, at, *places]


def _table(index: Index) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    # Names of cells tell them apart: other columns give way first.
    table.add_column("cell", min_width=max((len(row.cell) for row in index.cells), default=0))
    table.add_column("status")
    table.add_column("architecture")
    for heading in _FIGURES:
        table.add_column(heading, justify="right")
    for row in index.cells:
        figures = _figures([row]) if row.status == DONE else [""] * len(_FIGURES)
        table.add_row(Text(row.cell), row.status, Text(row.architecture), *figures)
    done = [row for row in index.cells if row.status == DONE]
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
            [row.windows for row in rows],
            [row.traced for row in rows],
        )
    ]


def _share(rows: Sequence[CellRow]) -> str:
    formula, services = sum(r.by_formula for r in rows), sum(r.services for r in rows)
    return f"by exact formula: {formula:,} of {services:,} services ({share(formula, services)})"
