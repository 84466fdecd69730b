"""Plain rows of an estimate. The renderers beside this only lay them out.

Names come from files of strangers; here they lose whatever a terminal would act on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.errors import one_line
from wcetchar.model.access import AccessClass, Key, Pattern, Succession
from wcetchar.model.characterization import Word
from wcetchar.model.estimate import Chain, Estimate, EstimateColumn
from wcetchar.model.interval import Interval
from wcetchar.model.uncertainty import Uncertainties
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.uncertainty import shown

PAPER_COLUMNS: Final = 12
"""A table with more columns than this is grouped by section and operation."""

CONTRIBUTORS: Final = 5


@dataclass(frozen=True)
class SectionView:
    """One trace section; ``counts`` are for one repetition, ``ns`` for all, ``groups`` are the
    counts of one repetition under the headings of :attr:`EstimateView.groups`."""

    section: str
    repetition: str
    repetitions: int
    blocking: str
    counts: tuple[tuple[str, int], ...]
    groups: tuple[int, ...]
    ns: Fraction


@dataclass(frozen=True)
class ColumnView:
    """One access class or core event over the whole service."""

    name: str
    region: str
    count: int
    price_ns: Fraction
    ns: Fraction


@dataclass(frozen=True)
class GroupView:
    """One column of the printed table: a class, or classes that were put together.

    ``price_ns`` is ``None`` where classes of different prices were put together.
    """

    heading: tuple[str, ...]
    count: int
    price_ns: Fraction | None
    ns: Fraction


@dataclass(frozen=True)
class LinkView:
    """One stretch of a chain; ``at`` as of an estimate."""

    service: str
    where: str
    parameters: tuple[tuple[str, int], ...]
    ns: Fraction

    @property
    def at(self) -> str:
        return _at(self.parameters)


@dataclass(frozen=True)
class BlockingView:
    """How long something is held off once it is.

    Attributes:
        ns: of the longest chain that begins in the service, or stretch where nothing follows one.
        own_ns, own_where: the longest stretch of the service's own.
        links: of the chain, the service's own stretch first; empty: nothing follows.
        gaps: why it may be longer.
        values: of parameters at which it is so long; ``None``: those of the estimate.
    """

    kind: str
    ns: Fraction
    word: Word
    own_ns: Fraction
    own_where: str
    links: tuple[LinkView, ...] = ()
    gaps: tuple[str, ...] = ()
    values: tuple[tuple[str, int], ...] | None = None

    @property
    def at(self) -> str:
        """``N=13``, where that is not the estimate's own, or nothing."""
        return _at(self.values or ())

    @property
    def where(self) -> str:
        """Begin and end of what comes first."""
        return self.links[0].where if self.links else self.own_where


@dataclass(frozen=True)
class PathsView:
    """The dearest path that there is; ``ns`` is ``None`` where there is no bound, and ``why`` says
    why."""

    ns: Fraction | None
    word: Word
    why: str
    interrupts_ns: Fraction | None = None
    preemption_ns: Fraction | None = None

    @property
    def text(self) -> str:
        """Behind "over all paths"."""
        if self.ns is None:
            return f"no bound: {self.why}"
        text = f"{grouped(self.ns)} ns ({self.word.value})"
        for what, ns in (("interrupts", self.interrupts_ns), ("preemption", self.preemption_ns)):
            text += "" if ns is None else f", {what} blocked {grouped(ns)} ns at most"
        return text


@dataclass(frozen=True)
class EstimateView:
    """One estimate. ``total`` keeps its interval; every other time is the safe end, in ns."""

    service: str
    profile: str
    section_map: str
    parameters: tuple[tuple[str, int], ...]
    word: Word
    total: Interval
    total_cycles: Fraction
    core_clock_hz: Fraction
    sections: tuple[SectionView, ...]
    columns: tuple[ColumnView, ...]
    groups: tuple[GroupView, ...]
    grouped: bool
    contributors: tuple[ColumnView, ...]
    blocking: tuple[BlockingView, ...]
    notes: tuple[str, ...]
    paths: PathsView | None = None
    uncertainty: Uncertainties | None = None

    @property
    def at(self) -> str:
        """``N=13, size=4``, or nothing."""
        return _at(self.parameters)


def view_of(estimate: Estimate) -> EstimateView:
    """The rows of one estimate; sections and columns keep their order."""
    headings = {column.key: _heading(column.key) for column in estimate.columns}
    together = len(estimate.columns) > PAPER_COLUMNS
    if together:
        headings = {key: _group_heading(key) for key in headings}
    order = list(dict.fromkeys(headings.values()))
    return EstimateView(
        service=one_line(estimate.service),
        profile=one_line(estimate.profile),
        section_map=one_line(estimate.section_map),
        parameters=tuple((one_line(n), v) for n, v in estimate.parameters.items()),
        word=estimate.word,
        total=estimate.total,
        total_cycles=estimate.total_cycles,
        core_clock_hz=estimate.core_clock_hz,
        sections=tuple(
            SectionView(
                section=one_line(row.section),
                repetition=one_line(row.repetition),
                repetitions=row.repetitions,
                blocking=one_line(row.blocking),
                counts=tuple((class_name(key), count) for key, count in row.vector.items()),
                groups=tuple(_grouped(row.vector, headings, order)),
                ns=row.time.high,
            )
            for row in estimate.rows
        ),
        columns=tuple(_column(column) for column in estimate.columns),
        groups=tuple(
            _group(heading, [c for c in estimate.columns if headings[c.key] == heading])
            for heading in order
        ),
        grouped=together,
        contributors=tuple(
            _column(column)
            for column in sorted(estimate.columns, key=lambda c: -c.time.high)[:CONTRIBUTORS]
            if column.time.high
        ),
        blocking=(
            _blocking(
                "interrupts",
                estimate.word,
                estimate.blocking_interrupts,
                estimate.interrupts_stretch,
                estimate.interrupts_chain,
                _elsewhere(estimate, estimate.interrupts_at),
            ),
            _blocking(
                "preemption",
                estimate.word,
                estimate.blocking_preemption,
                estimate.preemption_stretch,
                estimate.preemption_chain,
                _elsewhere(estimate, estimate.preemption_at),
            ),
        ),
        notes=tuple(one_line(note) for note in estimate.notes),
        paths=None
        if (over := estimate.over_all_paths) is None
        else PathsView(over.time, over.word, one_line(over.why), over.interrupts, over.preemption),
        uncertainty=None if estimate.uncertainty is None else shown(estimate.uncertainty),
    )


def views_of(estimates: Iterable[Estimate]) -> tuple[EstimateView, ...]:
    return tuple(view_of(estimate) for estimate in estimates)


def _blocking(
    kind: str,
    word: Word,
    own: Interval,
    where: str,
    chain: Chain | None,
    values: tuple[tuple[str, int], ...] | None,
) -> BlockingView:
    if chain is None:
        return BlockingView(kind, own.high, word, own.high, one_line(where), values=values)
    links = tuple(
        LinkView(
            one_line(link.service),
            one_line(link.where),
            tuple((one_line(n), v) for n, v in link.parameters.items()),
            link.time.high,
        )
        for link in chain.links
    )
    gaps = tuple(one_line(gap) for gap in chain.gaps)
    return BlockingView(
        kind, chain.time.high, chain.word, own.high, one_line(where), links, gaps, values
    )


def _elsewhere(
    estimate: Estimate, values: Mapping[str, int] | None
) -> tuple[tuple[str, int], ...] | None:
    """Values of parameters that are not those of the total; ``None``: they are."""
    if values is None or values == estimate.parameters:
        return None
    return tuple((one_line(name), value) for name, value in values.items())


def _at(parameters: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters)


def column_cells(view: EstimateView) -> list[tuple[str, ...]]:
    """For each class: name, region, count, ns each, ns and share of the total, as text."""
    return [
        (
            column.name,
            column.region,
            grouped(column.count),
            grouped(column.price_ns),
            grouped(column.ns),
            percent(column.ns, view.total.high),
        )
        for column in view.columns
    ]


def class_name(key: Key) -> str:
    """The name of a class in every report: ``.text fetch 32 single``, ``.text branch taken``."""
    return one_line(str(key).strip())


def _column(column: EstimateColumn) -> ColumnView:
    return ColumnView(
        name=class_name(column.key),
        region=one_line(column.region),
        count=column.count,
        price_ns=column.price.high,
        ns=column.time.high,
    )


def _heading(key: Key) -> tuple[str, ...]:
    section = one_line(key.section)
    if isinstance(key, Succession):
        return (section, "waits")
    if not isinstance(key, AccessClass):
        return (section or "core", *key.kind.value.split(" "))
    width = str(key.width) if key.width else "?"
    pattern = () if key.pattern is Pattern.SINGLE else (key.pattern.value,)
    return (section, key.operation.value, width, *pattern)


def _group_heading(key: Key) -> tuple[str, ...]:
    if isinstance(key, AccessClass):
        return (one_line(key.section), key.operation.value)
    if isinstance(key, Succession):
        return (one_line(key.section), "waits")
    return ("core", "events")


def _grouped(
    vector: Mapping[Key, int],
    headings: Mapping[Key, tuple[str, ...]],
    order: list[tuple[str, ...]],
) -> list[int]:
    sums = dict.fromkeys(order, 0)
    for key, count in vector.items():
        sums[headings[key]] += count
    return [sums[heading] for heading in order]


def _group(heading: tuple[str, ...], columns: list[EstimateColumn]) -> GroupView:
    prices = {column.price.high for column in columns}
    return GroupView(
        heading=heading,
        count=sum(column.count for column in columns),
        price_ns=prices.pop() if len(prices) == 1 else None,
        ns=sum((column.time.high for column in columns), start=Fraction(0)),
    )
