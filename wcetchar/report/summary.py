"""What a characterization holds, as plain rows and as a table: one row for each service."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.formula import to_text
from wcetchar.model.characterization import (
    Characterization,
    Counts,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
    Word,
)
from wcetchar.report.longest import LongStretch, longest_stretches
from wcetchar.report.terminal import text_of

JSON_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ServiceRow:
    """``form`` is ``formula`` or ``table``, ``word`` what counts are; ``sections`` are its trace
    sections as (repetition, blocking, instructions for one repetition); of a table, those of its
    largest point."""

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
    """``conservation`` is (where, instructions) and adds up to ``traced``; ``not_characterized``
    is (service, reason), ``left_out`` (reason, calls that are no services). ``stretches_unknown``:
    services of which only totals were published."""

    kernel: str
    architecture: str
    services: tuple[ServiceRow, ...]
    traced: int
    filtered: int
    undecoded: int
    conservation: tuple[tuple[str, int], ...]
    conserved: bool
    not_characterized: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]
    longest_interrupts: tuple[LongStretch, ...]
    longest_preemption: tuple[LongStretch, ...]
    stretches_unknown: int

    @property
    def by_formula(self) -> int:
        """Services with exact formulas that are no estimates."""
        return sum(published(row.form, row.word) == "formula" for row in self.services)

    @property
    def by_table(self) -> int:
        """Services with tables of observed values that are no estimates."""
        return sum(published(row.form, row.word) == "table" for row in self.services)

    @property
    def estimates(self) -> int:
        """Services whose counts are an estimate, by formula or by table."""
        return len(self.services) - self.by_formula - self.by_table

    @property
    def wanted(self) -> int:
        """Services of the vendor's list, characterized or not."""
        return len(self.services) + len(self.not_characterized)


def published(form: str, word: str) -> str:
    """How a service is counted: ``formula``, ``table`` or ``estimate``."""
    return form if word != Word.ESTIMATE.value else "estimate"


def share(part: int, whole: int) -> str:
    """Percent, rounded down: what it says is reached is reached."""
    tenths = 1000 * part // whole if whole else 0
    return f"{tenths // 10}.{tenths % 10} %"


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
        not_characterized=tuple(
            (one_line(missing.name), one_line(missing.reason))
            for missing in characterization.not_characterized
        ),
        left_out=tuple(
            (one_line(one.because), tuple(map(one_line, one.calls)))
            for one in characterization.left_out
        ),
        longest_interrupts=longest_stretches(characterization, StretchKind.INTERRUPTS),
        longest_preemption=longest_stretches(characterization, StretchKind.PREEMPTION),
        stretches_unknown=sum(not s.stretches_known for s in characterization.services),
    )


def _row(service: ServiceCharacterization) -> ServiceRow:
    counts = service.counts
    rows = counts.rows if counts.is_formula else largest_point(counts).rows
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


def largest_point(counts: Counts) -> TablePoint:
    """The point of a table with the most instructions, of equals the last: a table has no
    repetitions, so this point stands for it. It need not be the last."""
    return max(counts.points, key=lambda p: (sum(r.vector.instructions for r in p.rows), p.values))


def json_of(summary: Summary) -> str:
    """The summary as one JSON document."""
    document: dict[str, Any] = {"schema_version": JSON_SCHEMA_VERSION, **asdict(summary)}
    document["by_formula"] = summary.by_formula
    document["by_table"] = summary.by_table
    document["estimates"] = summary.estimates
    document["not_characterized"] = [
        {"service": name, "reason": reason} for name, reason in summary.not_characterized
    ]
    document["left_out"] = [
        {"because": because, "calls": calls} for because, calls in summary.left_out
    ]
    for key in ("longest_interrupts", "longest_preemption"):
        document[key] = [stretch_json(row) for row in getattr(summary, key)]
    return json.dumps(document, indent=2) + "\n"


def stretch_json(stretch: LongStretch) -> dict[str, Any]:
    """One of the longest stretches, as every ``--json`` has it."""
    return {**asdict(stretch), "parameters": dict(stretch.parameters)}


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
            f"services: {summary.wanted}, {summary.by_formula} by exact formula "
            f"({share(summary.by_formula, summary.wanted)}), "
            f"{summary.by_table} by table of observed values, {summary.estimates} estimates, "
            f"{len(summary.not_characterized)} not at all"
        ),
        *(Text(f"not at all: {name}: {why}") for name, why in summary.not_characterized),
        *_left_out(summary),
        "",
        *stretch_parts(summary),
    ]
    for row in summary.services:
        parts += [Text(f"{row.service}: {note}") for note in row.notes]
    parts.append(_conservation(summary))
    return text_of(parts, width, color)


def _left_out(summary: Summary) -> Iterator[Text]:
    """What the vendor says of calls that are no services."""
    if summary.left_out:
        number = sum(len(calls) for _, calls in summary.left_out)
        yield Text(f"calls of the kernel that are no services: {number}")
    for because, calls in summary.left_out:
        yield Text(f"{len(calls):>5}  {because}")


def stretch_parts(summary: Summary) -> Iterator[RenderableType]:
    """The longest stretches of both kinds."""
    for title, rows in (
        ("longest stretches with interrupts masked", summary.longest_interrupts),
        ("longest stretches with preemption held off", summary.longest_preemption),
    ):
        yield Text(f"{title}, in instructions:" if rows else f"{title}: none", style="bold")
        for row in rows:
            yield from stretch_lines(stretch_json(row))
        yield ""
    if summary.stretches_unknown:
        yield Text(
            f"of {summary.stretches_unknown} services no stretches were published, only totals"
        )
        yield ""


def stretch_lines(stretch: Mapping[str, Any]) -> Iterator[RenderableType]:
    """One of the longest stretches, as :func:`stretch_json` has it."""
    at = ", ".join(f"{name}={value}" for name, value in stretch["parameters"].items())
    more = f", and in {len(stretch['also_in'])} more" if stretch["also_in"] else ""
    where = f" at {at}" if at else ""
    # A campaign's index may be older than what goes on with stretches.
    whole = stretch.get("whole", stretch["instructions"])
    at_least = "at least " if stretch.get("not_bounded") else ""
    yield Text(f"{whole:>9,}  {at_least}{stretch['service']}{where}{more}")
    if stretch.get("follows"):
        yield Padding(Text(sum_text(stretch)), (0, 0, 0, 11))
    for word, key in (("from", "begin"), ("to", "end")):
        yield Padding(Text(f"{word} {stretch[key]['text']}"), (0, 0, 0, 15 - len(word)))


def length_text(stretch: Mapping[str, Any]) -> str:
    """How many instructions a stretch is, as far as they are known, and what they are the sum
    of."""
    # A campaign's index may be older than what goes on with stretches.
    whole = stretch.get("whole", stretch["instructions"])
    at_least = "at least " if stretch.get("not_bounded") else ""
    parts = f" = {sum_text(stretch)}" if stretch.get("follows") else ""
    return f"{at_least}{whole:,}{parts}"


def sum_text(stretch: Mapping[str, Any]) -> str:
    """What the instructions of a stretch that others go on with are the sum of."""
    parts = [f"{stretch['instructions']:,}"]
    parts += [f"{row['instructions']:,} of {row['service']}" for row in stretch["follows"]]
    return " + ".join(parts)


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
