"""Estimates as tables on a terminal: one row for each trace section, as in the published tables."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wcetchar.model.uncertainty import NoRange
from wcetchar.report import uncertainty
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.view import BlockingView, EstimateView, GroupView, SectionView

_BLOCKING_WIDTH = 20
_GAP = 2  # between two columns


def render(views: Iterable[EstimateView], width: int = 120, color: bool = False) -> str:
    """Tables of every estimate, and a summary where there are several.

    ``width`` in columns: a table that is wider continues below itself. Without ``color`` the text
    is plain, and the same on every machine.
    """
    shown = tuple(views)
    parts: list[RenderableType] = []
    for view in shown:
        parts.extend(estimate_parts(view, width))
        parts.extend(notes_part(view.notes))
        parts.append("")
    if len(shown) > 1:
        parts += [_summary(shown), "", *longest_parts(shown)]
    return text_of(parts, width, color)


def summary(views: Iterable[EstimateView], width: int = 120, color: bool = False) -> str:
    """One line a service: total and blocking times on each profile, in whole nanoseconds (up)."""
    shown = tuple(views)
    profiles = tuple(dict.fromkeys((view.profile, view.section_map) for view in shown))
    services: dict[str, list[EstimateView]] = {}
    for view in shown:
        services.setdefault(view.service, []).append(view)
    parts: list[RenderableType] = []
    for title, column in (
        ("total ns", 0),
        ("blocks interrupts ns", 1),
        ("blocks preemption ns", 2),
    ):
        table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
        table.add_column(title, no_wrap=True)
        table.add_column("at", no_wrap=True)
        for profile, section_map in profiles:
            heading = profile if len({p for p, _ in profiles}) == len(profiles) else section_map
            table.add_column(Text(heading), justify="right", overflow="fold")
        table.add_column("word", no_wrap=True)
        for service, group in services.items():
            times = {
                (view.profile, view.section_map): (
                    view.total.high,
                    *(part.ns for part in view.blocking),
                )[column]
                for view in group
            }
            table.add_row(
                Text(service),
                Text(" / ".join(dict.fromkeys(view.at for view in group))),
                *(grouped(math.ceil(times[key])) if key in times else "" for key in profiles),
                Text(" / ".join(dict.fromkeys(view.word.value for view in group))),
            )
        parts += [table, ""]
    parts += _uncertainties(shown)
    if len(services) > 1:
        parts += [*longest_parts(shown), ""]
    parts += [Text(note) for note in _shared_notes(services)]
    return text_of(parts, width, color)


def _uncertainties(views: Sequence[EstimateView]) -> list[RenderableType]:
    """A table of each figure, and what has no range."""
    tables: dict[str, list[list[str]]] = {}
    without: dict[str, None] = {}
    for view in views:
        if view.uncertainty is None:
            continue
        figures = [("total", view.uncertainty.total), *uncertainty.figures(view.uncertainty)]
        for name, one in figures:
            if isinstance(one, NoRange):
                where = f"{view.service} on {view.profile}"
                without[f"{where}: {name}: no range: {one.why}"] = None
            elif one.safe or name == "total":
                cells = [view.service, view.profile, *uncertainty.summary_cells(one)]
                tables.setdefault(name, []).append(cells)
    parts: list[RenderableType] = []
    for name, rows in tables.items():
        heading = "uncertainty of the total" if name == "total" else f"uncertainty: {name}"
        columns = [(heading, False), ("profile", False), *uncertainty.SUMMARY]
        parts += [table_of(columns, rows), ""]
    if without:
        parts += [*map(Text, without), ""]
    return parts


def _shared_notes(services: dict[str, list[EstimateView]]) -> Iterator[str]:
    """Each note once; one that is not of all services names those that it is of."""
    owners: dict[str, dict[str, None]] = {}
    for service, group in services.items():
        for view in group:
            for note in view.notes:
                owners.setdefault(note, {})[service] = None
    for note, names in owners.items():
        of = "" if len(names) == len(services) else f" ({', '.join(names)})"
        yield f"note{of}: {note}"


def table_of(columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> Table:
    """A table; ``columns`` are (heading, whether it holds numbers), as of Markdown's."""
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading, number in columns:
        table.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def text_of(parts: Iterable[RenderableType], width: int, color: bool) -> str:
    """What rich makes of ``parts``, without spaces at the ends of lines."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    for part in parts:
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def estimate_parts(view: EstimateView, width: int) -> Iterator[RenderableType]:
    """Heading, table, total, blocking and what costs most, of one estimate."""
    at = f", {view.at}" if view.at else ""
    yield Text(f"{view.service} on {view.profile} (map {view.section_map}){at}", style="bold")
    for number, columns in enumerate(_chunks(view, width)):
        yield _table(view, columns, with_time=number == 0)
    if view.grouped:
        yield Text(
            "columns are grouped by section and operation; the other formats have every class"
        )
    yield Text.assemble(
        ("total ", ""),
        (f"{grouped(view.total.high)} ns", "bold"),
        f" ({view.word.value}), {grouped(view.total_cycles)} core cycles",
    )
    if view.total.low != view.total.high:
        yield Text(
            f"  with the stated tolerances from {grouped(view.total.low)} ns, nominally "
            f"{grouped(view.total.nominal)} ns"
        )
    if view.paths is not None:
        yield Text(f"over all paths {view.paths.text}")
    for part in view.blocking:
        yield from _blocking(part)
    if view.contributors:
        yield _contributors(view)
    if view.uncertainty is not None:
        yield from uncertainty.parts(view.uncertainty)


def _blocking(part: BlockingView) -> Iterator[RenderableType]:
    if not part.links:
        where = f": {part.where}" if part.where else ""
        yield Text(f"blocks {part.kind} for {grouped(part.ns)} ns ({part.word.value}){where}")
        return
    at_least = "at least " if part.gaps else ""
    yield Text(
        f"blocks {part.kind} for {at_least}{grouped(part.ns)} ns ({part.word.value}), with what "
        "goes on after it:"
    )
    for link in part.links:
        at = f" at {link.at}" if link.at else ""
        yield Padding(Text(f"{grouped(link.ns)} ns {link.service}{at}: {link.where}"), (0, 0, 0, 2))
    for gap in part.gaps:
        yield Padding(Text(f"not bounded: {gap}"), (0, 0, 0, 2))
    own = f"its own longest stretch: {grouped(part.own_ns)} ns: {part.own_where}"
    yield Padding(Text(own), (0, 0, 0, 2))


def longest_parts(views: Sequence[EstimateView]) -> Iterator[RenderableType]:
    """Of several services: how long each kind is held off at most, on each profile."""
    platforms = dict.fromkeys((view.profile, view.section_map) for view in views)
    for profile, section_map in platforms:
        mine = [v for v in views if (v.profile, v.section_map) == (profile, section_map)]
        for number, kind in enumerate(part.kind for part in mine[0].blocking):
            view = max(mine, key=lambda v: v.blocking[number].ns)
            part = view.blocking[number]
            where = f" on {profile} (map {section_map})" if len(platforms) > 1 else ""
            gaps = any(v.blocking[number].gaps for v in mine)
            chain = ", then ".join((view.service, *(link.service for link in part.links[1:])))
            yield Text(
                f"longest that {kind} {'are' if kind.endswith('s') else 'is'} held off by these"
                f"{where}: {'at least ' if gaps else ''}{grouped(part.ns)} ns"
                f" ({part.word.value}): {chain}"
            )


def notes_part(notes: Iterable[str]) -> Iterator[RenderableType]:
    """What the figures rest on, one line each."""
    for note in notes:
        yield Text(f"note: {note}")


def _table(view: EstimateView, columns: Sequence[int], with_time: bool) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("sec", no_wrap=True)
    table.add_column("rep", no_wrap=True)
    table.add_column("blocking", max_width=_BLOCKING_WIDTH)
    if with_time:
        table.add_column("ns", justify="right", no_wrap=True)
    groups = [view.groups[i] for i in columns]
    for group in groups:
        table.add_column(Text("\n".join(group.heading)), justify="right", no_wrap=True)

    def add(left: Sequence[str], time: str, cells: Iterable[str]) -> None:
        row = [*left, *([time] if with_time else []), *cells]
        table.add_row(*(Text(cell) for cell in row))

    for row in view.sections:
        add(
            [row.section, _repetition(row), row.blocking],
            grouped(row.ns),
            [grouped(row.groups[i]) for i in columns],
        )
    table.add_section()
    add(["all", "", ""], "", [grouped(group.count) for group in groups])
    if not view.grouped:
        add(["ns each", "", ""], "", [_price(group) for group in groups])
    add(["ns", "", ""], grouped(view.total.high), [grouped(group.ns) for group in groups])
    return table


def _price(group: GroupView) -> str:
    return "" if group.price_ns is None else grouped(group.price_ns)


def _chunks(view: EstimateView, width: int) -> Iterator[list[int]]:
    """Columns that fit beside each other, in order; at least one each."""
    left = _left_width(view)
    # The first table has the times of the rows as well.
    used = left + max(len(grouped(view.total.high)), len("ns")) + _GAP
    chunk: list[int] = []
    for index, group in enumerate(view.groups):
        cells = (*group.heading, grouped(group.count), grouped(group.ns), _price(group))
        wide = max(len(cell) for cell in cells) + _GAP
        if chunk and used + wide > width:
            yield chunk
            chunk, used = [], left
        chunk.append(index)
        used += wide
    yield chunk


def _left_width(view: EstimateView) -> int:
    """Columns taken by section, repetition and blocking."""
    sections = [len("sec"), *(len(row.section) for row in view.sections)]
    repetitions = [len("rep"), *(len(_repetition(row)) for row in view.sections)]
    blocking = [len("blocking"), *(len(row.blocking) for row in view.sections)]
    return max(sections) + max(repetitions) + min(_BLOCKING_WIDTH, max(blocking)) + 3 * _GAP


def _repetition(row: SectionView) -> str:
    """The formula, and what it comes to where that is not the same."""
    number = str(row.repetitions)
    return number if row.repetition == number else f"{row.repetition} = {number}"


def _contributors(view: EstimateView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("costs most")
    table.add_column("in")
    table.add_column("count", justify="right")
    table.add_column("ns", justify="right")
    table.add_column("share", justify="right")
    for column in view.contributors:
        table.add_row(
            Text(column.name),
            Text(column.region),
            grouped(column.count),
            grouped(column.ns),
            percent(column.ns, view.total.high),
        )
    return table


def _summary(views: Sequence[EstimateView]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for name in ("service", "profile", "at"):
        table.add_column(name)
    for name in ("total ns", "blocks interrupts ns", "blocks preemption ns"):
        table.add_column(name, justify="right")
    table.add_column("word")
    for view in views:
        table.add_row(
            Text(view.service),
            Text(view.profile),
            Text(view.at),
            grouped(view.total.high),
            *(grouped(part.ns) for part in view.blocking),
            view.word.value,
        )
    return table
