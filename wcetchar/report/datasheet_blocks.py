"""A datasheet in words and tables, which text, Markdown and the page lay out.

All three have the same cells, so a figure cannot be another one in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.report.datasheet import Datasheet, Difference, Hardware, Priced, ServiceRows, Side
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.profile import ACCESS_COLUMNS
from wcetchar.report.view import BlockingView, EstimateView, SectionView, column_cells

Columns = tuple[tuple[str, bool], ...]
"""(heading, whether it holds numbers)."""


@dataclass(frozen=True)
class Heading:
    """``level``: 1 for the whole document, 2 for its parts, 3 for services, 4 for their parts."""

    level: int
    text: str


@dataclass(frozen=True)
class Line:
    """``label: text``."""

    key: str
    label: str
    text: str


@dataclass(frozen=True)
class Lines:
    key: str
    label: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """``key``: what it is, for programs."""

    key: str
    label: str
    columns: Columns
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Line | Lines | Table

SECTIONS: Columns = (
    ("section", False),
    ("repetition", False),
    ("times", True),
    ("blocking", False),
    ("ns", True),
)
MEMORIES: Columns = (("memory", False), ("ns", True), ("share", True))
CLASSES: Columns = (
    ("class", False),
    ("memory", False),
    ("count", True),
    ("ns each", True),
    ("ns", True),
    ("share", True),
)
SERVICES: Columns = (
    ("service", False),
    ("hardware", False),
    ("at", False),
    ("total ns", True),
    ("word", False),
    ("blocks interrupts ns", True),
    ("word", False),
    ("blocks preemption ns", True),
    ("word", False),
)
LONGEST: Columns = (
    ("longest", False),
    ("service", False),
    ("ns", True),
    ("word", False),
    ("at", False),
    ("hardware", False),
)
DIFFERENCES: Columns = (
    ("service", False),
    ("hardware", False),
    ("figure", False),
    ("here ns", True),
    ("word", False),
    ("at", False),
    ("there ns", True),
    ("word", False),
    ("at", False),
    ("difference ns", True),
    ("difference", True),
)
NOT_THE_SAME = "not at the same values"


def blocks_of(sheet: Datasheet) -> Iterator[Block]:
    """The whole document."""
    yield Heading(1, f"{sheet.title}: datasheet")
    for side in sheet.sides:
        yield from side_blocks(side, "" if sheet.against is None else f" of {side.label}")
    for hardware in sheet.hardware:
        yield from hardware_blocks(hardware)
    if sheet.hardware:
        yield Heading(2, "Services")
        yield longest_table(sheet)
        yield services_table(sheet, sheet.base)
    if sheet.against is not None:
        yield Heading(2, f"{sheet.base.label} against {sheet.against.label}")
        yield differences_table(sheet)
    for service in sheet.base.services:
        yield Heading(3, service.name)
        yield from service_blocks(service)
        for hardware, priced in zip(sheet.hardware, service.priced, strict=True):
            yield Heading(4, f"{service.name} on {hardware.label}")
            yield from priced_blocks(priced)


def side_blocks(side: Side, of: str) -> Iterator[Block]:
    yield Heading(2, f"Kernel{of}")
    yield Table("facts", "", (("", False), ("", False)), side.facts)
    for title, key, facts in (
        ("configuration", "configuration", side.configuration),
        ("provenance", "provenance", side.provenance),
        ("not characterized", "missing", side.missing),
    ):
        if facts:
            yield Table(key, title, (("", False), ("", False)), facts)
    columns = (("linker section", False), ("kind", False), ("meaning", False))
    yield Table("linker sections", "linker sections", columns, side.sections)
    if side.assumptions:
        yield Lines("assumptions", "assumed", side.assumptions)
    for because, calls in side.left_out:
        yield Line("left out", f"left out, {because}", ", ".join(calls))


def hardware_blocks(hardware: Hardware) -> Iterator[Block]:
    yield Heading(2, f"Hardware: {hardware.label}")
    if hardware.description:
        yield Line("description", "", hardware.description)
    yield Line("map", "section map", hardware.section_map)
    yield Line("core", "", hardware.about.heading)
    if hardware.about.words:
        yield Lines("words", "", hardware.about.words)
    yield Table("accesses", "times of accesses, upper ends", ACCESS_COLUMNS, hardware.about.rows)
    places: Columns = (("linker section", False), ("memory", False))
    yield Table("places", "where sections lie", places, hardware.places)


def services_table(sheet: Datasheet, side: Side) -> Table:
    rows = []
    for service in side.services:
        for hardware, priced in zip(sheet.hardware, service.priced, strict=True):
            view = priced.view
            cells = [service.name, hardware.label, view.at]
            cells += [grouped(view.total.high), view.word.value]
            for part in view.blocking:
                cells += [f"{at_least(part)}{grouped(part.ns)}{elsewhere(part)}", part.word.value]
            rows.append(tuple(cells))
    return Table("services", "", SERVICES, tuple(rows))


def longest_table(sheet: Datasheet) -> Table:
    """On each hardware the service with the longest total, and those that hold off longest."""
    rows = []
    for number, hardware in enumerate(sheet.hardware):
        views = [service.priced[number].view for service in sheet.base.services]
        for figure, name in enumerate(FIGURES):
            found = [figure_of(view, figure) for view in views]
            place = max(range(len(found)), key=lambda n: found[n][0])
            ns, word, at, _ = found[place]
            more = any(one[3] for one in found)
            cells = (f"{'at least ' * more}{grouped(ns)}", word, at, hardware.label)
            rows.append((name, views[place].service, *cells))
    return Table("longest", "", LONGEST, tuple(rows))


def differences_table(sheet: Datasheet) -> Table:
    rows: list[tuple[str, ...]] = []
    for one in sheet.differences:
        hardware = sheet.hardware[one.hardware].label
        rows += (_difference(one, hardware, figure) for figure in range(len(FIGURES)))
    return Table("differences", "", DIFFERENCES, tuple(rows))


FIGURES = ("total", "blocks interrupts", "blocks preemption")


def figure_of(view: EstimateView, figure: int) -> tuple[Fraction, str, str, bool]:
    """Time in ns, word, at which values, and whether it may be longer; of ``FIGURES``."""
    if figure == 0:
        return view.total.high, view.word.value, view.at, False
    part = view.blocking[figure - 1]
    return part.ns, part.word.value, part.at or view.at, bool(part.gaps)


def _difference(one: Difference, hardware: str, figure: int) -> tuple[str, ...]:
    cells = [one.service, hardware, FIGURES[figure]]
    found = []
    for view in (one.base, one.other):
        if view is None:
            cells += ["", "not there", ""]
            continue
        ns, word, at, more = figure_of(view, figure)
        cells += [f"{'at least ' * more}{grouped(ns)}", word, at]
        found.append((ns, at))
    if len(found) < 2:
        return (*cells, "", "")
    (here, here_at), (there, there_at) = found
    if here_at != there_at:
        return (*cells, "", NOT_THE_SAME)
    return (*cells, signed(there - here), change(here, there))


def signed(value: Fraction) -> str:
    """With its sign; away from zero where it is rounded."""
    return f"+{grouped(value)}" if value > 0 else f"-{grouped(-value)}" if value else "0"


def change(here: Fraction, there: Fraction) -> str:
    if here == there:
        return "equal"
    if not here:
        return "new"
    sign = "+" if there > here else "-"
    return f"{sign}{percent(abs(there - here), here)}"


def service_blocks(service: ServiceRows) -> Iterator[Block]:
    """What was characterized, on whatever hardware."""
    whole = service.part == "whole"
    yield Line("kind", "what", service.kind if whole else f"{service.kind}: {service.part}")
    if service.description:
        yield Line("description", "description", service.description)
    if service.worst_state:
        yield Line("worst state", "worst state", service.worst_state)
    if service.place:
        yield Line("place", "source", service.place)
    rests = f"{service.counts} ({service.word})"
    yield Line("counts", "counts", f"{rests}; {service.evidence}" if service.evidence else rests)
    if service.parameters:
        columns = (("parameter", False), ("kind", False), ("range", False), ("meaning", False))
        rows = tuple((p.name, p.kind, p.range, p.meaning) for p in service.parameters)
        yield Table("parameters", "parameters", columns, rows)
    if service.published:
        columns = (
            ("section", False),
            ("repetition", False),
            ("blocking", False),
            ("one repetition counts", False),
        )
        rows = tuple(
            (
                row.section,
                row.repetition,
                row.blocking,
                ", ".join(f"{count:,} {name}" for name, count in row.counts),
            )
            for row in service.published
        )
        yield Table("published", "trace sections", columns, rows)
    if service.stretches:
        columns = (("held off", False), ("from", False), ("to", False), ("repetition", False))
        rows = tuple((s.kind, s.begin, s.end, s.repetitions) for s in service.stretches)
        yield Table("stretches", "stretches that hold something off", columns, rows)


def priced_blocks(priced: Priced) -> Iterator[Block]:
    view = priced.view
    yield Line("total", "total", total_text(view))
    if view.total.low != view.total.high:
        yield Line(
            "tolerances",
            "with the stated tolerances",
            f"from {grouped(view.total.low)} ns, nominally {grouped(view.total.nominal)} ns",
        )
    if view.paths is not None:
        yield Line("paths", "over all paths", paths_text(priced))
    yield Line("formula", "formula", priced.formula)
    items = [item for part in view.blocking for item in blocking_lines(part)]
    yield Lines("blocking", "holds off", tuple(items))
    yield Table(
        "sections", "cost by trace section", SECTIONS, tuple(map(section_cells, view.sections))
    )
    yield Table(
        "memories",
        "cost by memory",
        MEMORIES,
        tuple(
            (row.name, grouped(row.ns), percent(row.ns, view.total.high)) for row in priced.regions
        ),
    )
    yield Table(
        "classes",
        "cost by access and event",
        CLASSES,
        tuple(column_cells(view)),
    )
    if view.notes:
        yield Lines("notes", "notes", view.notes)
    yield Line("command", "the same figures", priced.command)


def total_text(view: EstimateView) -> str:
    at = f", at {view.at}" if view.at else ""
    return (
        f"{grouped(view.total.high)} ns ({view.word.value}), "
        f"{grouped(view.total_cycles)} core cycles{at}"
    )


def paths_text(priced: Priced) -> str:
    """The bound of all paths, and of which values."""
    paths = priced.view.paths
    if paths is None:
        return ""
    return f"{paths.text}{all_values(priced) if paths.ns is not None else ''}"


def all_values(priced: Priced) -> str:
    """Of a figure that is the largest of several values."""
    return f", at all values of {', '.join(priced.searched)}" if priced.searched else ""


def section_cells(row: SectionView) -> tuple[str, ...]:
    return row.section, row.repetition, grouped(row.repetitions), row.blocking, grouped(row.ns)


def blocking_lines(part: BlockingView) -> Iterator[str]:
    where = f": {part.where}" if part.where and not part.links else ""
    behind = ", with what goes on after it" if part.links else ""
    yield (
        f"{part.kind} for {at_least(part)}{grouped(part.ns)} ns ({part.word.value})"
        f"{elsewhere(part)}{behind}{where}"
    )
    for link in part.links:
        at = f" at {link.at}" if link.at else ""
        yield f"{grouped(link.ns)} ns of it {link.service}{at}: {link.where}"
    for gap in part.gaps:
        yield f"not bounded: {gap}"
    if part.links:
        yield f"its own longest stretch: {grouped(part.own_ns)} ns: {part.own_where}"


def at_least(part: BlockingView) -> str:
    return "at least " if part.gaps else ""


def elsewhere(part: BlockingView) -> str:
    """Of a figure that belongs to other values than the total."""
    return f", at {part.at}" if part.at else ""


def of_kind(blocks: Sequence[Block], key: str) -> Table:
    """The table of that key."""
    return next(block for block in blocks if isinstance(block, Table) and block.key == key)
