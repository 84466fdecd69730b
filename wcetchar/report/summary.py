"""What a characterization holds, as plain rows and as a table: one row for each service."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.formula import to_text
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.report.terminal import text_of

JSON_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ServiceRow:
    """``form`` is ``formula`` or ``table``; ``sections`` are its trace sections as
    (repetition, blocking, instructions for one repetition)."""

    service: str
    parameters: tuple[str, ...]
    form: str
    word: str
    sections: tuple[tuple[str, str, int], ...]
    windows: int
    fitted: int
    held_out: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """``conservation`` is (where, instructions) and adds up to ``traced``."""

    kernel: str
    architecture: str
    services: tuple[ServiceRow, ...]
    traced: int
    filtered: int
    undecoded: int
    conservation: tuple[tuple[str, int], ...]
    conserved: bool

    @property
    def by_formula(self) -> int:
        return sum(row.form == "formula" for row in self.services)


def summary_of(characterization: Characterization) -> Summary:
    """Rows of a characterization."""
    conservation = characterization.conservation
    kernel = characterization.kernel
    parts = (*conservation.attributed, *conservation.unattributed) if conservation else ()
    return Summary(
        kernel=one_line(f"{kernel.name} {kernel.version}".strip()),
        architecture=one_line(characterization.architecture),
        services=tuple(_row(service) for service in characterization.services),
        traced=conservation.traced if conservation else 0,
        filtered=conservation.filtered if conservation else 0,
        undecoded=conservation.undecoded if conservation else 0,
        conservation=tuple((one_line(name), count) for name, count in parts),
        conserved=conservation is None or conservation.holds,
    )


def _row(service: ServiceCharacterization) -> ServiceRow:
    counts = service.counts
    # A table has no repetitions: its largest point stands for it.
    rows = counts.rows if counts.is_formula else counts.points[-1].rows
    return ServiceRow(
        service=one_line(service.name),
        parameters=tuple(
            f"{one_line(p.name)} {p.minimum}..{p.maximum}" for p in service.parameters
        ),
        form="formula" if counts.is_formula else "table",
        word=service.word.value,
        sections=tuple(
            (one_line(to_text(r.repetition)), one_line(str(r.blocking)), r.vector.instructions)
            for r in rows
        ),
        windows=service.evidence.windows,
        fitted=len(service.evidence.fitted),
        held_out=len(service.evidence.held_out),
        notes=tuple(one_line(note) for note in service.notes),
    )


def json_of(summary: Summary) -> str:
    """The summary as one JSON document."""
    document: dict[str, Any] = {"schema_version": JSON_SCHEMA_VERSION, **asdict(summary)}
    document["by_formula"] = summary.by_formula
    return json.dumps(document, indent=2) + "\n"


def render(summary: Summary, width: int = 120, color: bool = False) -> str:
    """A table of the services, then where every traced instruction went."""
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("service", "parameters", "form", "repetition", "blocking"):
        table.add_column(heading)
    for heading in ("instructions", "windows", "fitted", "held out"):
        table.add_column(heading, justify="right")
    for row in summary.services:
        first = True
        for repetition, blocking, instructions in row.sections:
            left = (row.service, ", ".join(row.parameters), row.form) if first else ("", "", "")
            right = (
                (str(row.windows), str(row.fitted), str(row.held_out)) if first else ("", "", "")
            )
            cells = (*left, repetition, blocking, f"{instructions:,}", *right)
            table.add_row(*(Text(cell) for cell in cells))
            first = False
    parts: list[RenderableType] = [
        Text(f"{summary.kernel} on {summary.architecture}", style="bold"),
        table,
        Text(
            f"services: {len(summary.services)}, {summary.by_formula} by exact formula, "
            f"{len(summary.services) - summary.by_formula} by table of observed values"
        ),
        "",
    ]
    for row in summary.services:
        parts += [Text(f"{row.service}: {note}") for note in row.notes]
    parts.append(_conservation(summary))
    return text_of(parts, width, color)


def _conservation(summary: Summary) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("where every traced instruction went")
    table.add_column("instructions", justify="right")
    for name, count in summary.conservation:
        table.add_row(Text(name), f"{count:,}")
    table.add_section()
    verdict = "all, as traced" if summary.conserved else "NOT what was traced"
    table.add_row(f"sum ({verdict})", f"{sum(c for _, c in summary.conservation):,}")
    table.add_row("left out by the capture's filter", f"{summary.filtered:,}")
    table.add_row("of the above, not decodable", f"{summary.undecoded:,}")
    return table
