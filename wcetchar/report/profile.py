"""A hardware profile in words: what it says about the core and each memory, and what looks odd."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import Location, one_line
from wcetchar.model.access import Operation
from wcetchar.model.hardware import HardwareProfile, Quantity, Region, Unit
from wcetchar.model.plausibility import Finding, Severity
from wcetchar.report.jsondoc import text_of as json_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped
from wcetchar.report.terminal import table_of, text_of

ACCESS_COLUMNS = (
    ("memory", False),
    ("operation", False),
    ("one word, ns", True),
    ("core cycles", True),
    ("next word, ns", True),
    ("MB/s in a burst", True),
)
_WORD = 32


@dataclass(frozen=True)
class ProfileView:
    """``words``: sentences about the core; ``rows``: a line for each region and operation, upper
    ends; ``findings``: (place, severity, text, hint)."""

    heading: str
    words: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    findings: tuple[tuple[str, str, str, str], ...]
    document: dict[str, object]


def view_of(
    profile: HardwareProfile, findings: Sequence[tuple[Location | None, Finding]]
) -> ProfileView:
    clock = profile.core.clock
    period = Fraction(10**9) / clock.low
    heading = (
        f"{one_line(profile.name)}: {one_line(profile.core.name)} at {_megahertz(clock)}, "
        f"a cycle is {grouped(period)} ns"
    )
    timed = tuple(_timed(profile, period))
    found = tuple(
        (
            str(where) if where is not None else ": ".join(finding.place),
            finding.severity.value,
            one_line(finding.text),
            one_line(finding.hint),
        )
        for where, finding in findings
    )
    return ProfileView(
        heading=heading,
        words=tuple(_words(profile)),
        rows=tuple(
            (
                one_line(region.name),
                operation.value,
                grouped(first),
                grouped(first / period),
                grouped(following),
                "-" if not following else f"{float(Fraction(4000) / following):.1f}",
            )
            for region, operation, first, following in timed
        ),
        findings=found,
        document={
            "kind": "wcetchar profile",
            "profile": one_line(profile.name),
            "core": one_line(profile.core.name),
            "cycle_ns": for_json(period),
            "accesses": [
                {
                    "region": one_line(region.name),
                    "operation": operation.value,
                    "word_ns": for_json(first),
                    "next_word_ns": for_json(following),
                }
                for region, operation, first, following in timed
            ],
            "findings": [
                {"place": place, "if_wrong": severity, "text": text, "hint": hint}
                for place, severity, text, hint in found
            ],
        },
    )


def terminal(view: ProfileView, width: int = 120, color: bool = False) -> str:
    table = table_of(ACCESS_COLUMNS, view.rows)
    parts: list[RenderableType] = [Text(view.heading, style="bold")]
    parts += [Text(sentence) for sentence in view.words]
    parts += ["", table, ""]
    parts += [Text(line) for line in _found(view)]
    return text_of(parts, width, color)


def markdown(view: ProfileView) -> str:
    lines = [f"## {escaped(view.heading)}", ""]
    lines += [f"* {escaped(sentence)}" for sentence in view.words]
    lines += ["", *table_lines(ACCESS_COLUMNS, view.rows), ""]
    lines += [f"* {escaped(line)}" for line in _found(view)]
    return "\n".join(lines) + "\n"


def document(view: ProfileView) -> str:
    """The JSON document of ``--json``."""
    return json_text(view.document)


def _found(view: ProfileView) -> Iterator[str]:
    if not view.findings:
        yield "nothing implausible was found"
    for place, severity, text, hint in view.findings:
        effect = (
            "estimates are too low if that is wrong"
            if severity == Severity.TOO_LOW
            else "estimates are dear, or not possible"
        )
        yield f"{place}: {text} ({effect}): {hint}"


def _words(profile: HardwareProfile) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for kind, quantity in profile.core.events.items():
        groups.setdefault(_time(quantity), []).append(kind.value)
    for time, kinds in groups.items():
        yield f"{time} beside its accesses: {', '.join(kinds)}"
    for operation, quantity in profile.core.overlap.items():
        yield f"{_time(quantity)} of each {operation.value} is hidden behind what executes then"
    if Operation.FETCH not in profile.core.overlap:
        yield "every fetch is paid in full: nothing is hidden behind what executes then"
    cache = profile.core.instruction_cache
    if cache is not None:
        ways = "direct mapped" if cache.ways == 1 else f"{cache.ways} ways, LRU"
        yield f"instruction cache of {cache.size} bytes in lines of {cache.line}, {ways}"
        if profile.core.refills_hide_stalls:
            yield "while a line is loaded, operands arrive that instructions before it wait for"
        if profile.core.refills_hide_accesses:
            yield (
                "while a line is loaded, data accesses to other memories are waited for that the "
                f"{profile.core.refills_hide_accesses} instructions before it make"
            )
        if profile.core.in_vain_saves is not None:
            yield (
                f"a line that is loaded in vain costs {_time(profile.core.in_vain_saves)} less, "
                "and what it began before control went elsewhere"
            )
        ahead = profile.core.fetches_ahead
        if ahead is not None:
            yield (
                f"it fetches {ahead.behind} bytes ahead at most, and {ahead.speculative} at the "
                "target of a branch that need not be taken"
            )
    for region in profile.regions.values():
        if region.line_refill is not None:
            yield f"{_time(region.line_refill)} to load a line from {one_line(region.name)}"
    data = profile.core.data_cache
    if data is not None:
        geometry = data.geometry
        ways = "direct mapped" if geometry.ways == 1 else f"{geometry.ways} ways, LRU"
        yield (
            f"data cache of {geometry.size} bytes in lines of {geometry.line}, {ways}, that stores "
            "go through"
        )
        if data.load_behind_store is not None:
            yield (
                f"{_time(data.load_behind_store)} for a load right behind a store to the same bytes"
            )
    for region in profile.regions.values():
        if region.load_miss_penalty is not None:
            yield (
                f"{_time(region.load_miss_penalty)} more for a load from {one_line(region.name)} "
                "that misses"
            )
    for kind, count in profile.core.discarded_fetches.items():
        fetches = "one fetch" if count == 1 else f"{count} fetches"
        yield f"each {kind.value} may wait for {fetches} of no use any more"
    for operation, width in profile.core.least_width.items():
        yield f"a {operation.value} moves {width} bits at least"
    if profile.core.write_buffer:
        writes = profile.core.write_buffer
        under_way = "a write is" if writes == 1 else f"{writes} writes are"
        yield f"the core goes on while {under_way} under way, and its next access waits"
        if not profile.core.accesses_in_vain:
            yield "no access is made that was fetched in vain"
    for region in profile.regions.values():
        if region.clock_divider > 1:
            yield (
                f"{one_line(region.name)} has a cycle for {region.clock_divider} of the core's, "
                "and begins accesses with it"
            )
        for why, one in (
            ("refreshes itself", region.refresh),
            ("is another's", region.arbitration),
        ):
            if one is not None:
                often = "at any access" if one.every is None else f"every {_time(one.every)}"
                yield f"{one_line(region.name)} {why} for {_time(one.takes)}, {often}"


def _timed(
    profile: HardwareProfile, period: Fraction
) -> Iterator[tuple[Region, Operation, Fraction, Fraction]]:
    """(region, operation, ns of one word, ns of the next in a burst), upper ends."""
    for region in profile.regions.values():
        of_bus = period if region.clock is None else Fraction(10**9) / region.clock.low
        of_bus *= region.clock_divider
        for operation, time in region.times.items():
            hits = profile.core.caches(region, operation)
            own = period if hits else of_bus
            beats = 1 if hits else math.ceil(Fraction(_WORD, region.bus_width))
            first, following = (
                q.high * (own if q.unit is Unit.CYCLES else 1) for q in (time.first, time.next)
            )
            yield region, operation, first + (beats - 1) * following, beats * following


def _time(quantity: Quantity) -> str:
    unit = quantity.unit.value
    if quantity.low == quantity.high:
        one = unit.removesuffix("s") if unit == "cycles" and quantity.high == 1 else unit
        return f"{grouped(quantity.high)} {one}"
    return f"{grouped(quantity.low)} to {grouped(quantity.high)} {unit}"


def _megahertz(clock: Quantity) -> str:
    low, high = (float(value) / 1e6 for value in (clock.low, clock.high))
    return f"{low:g} MHz" if low == high else f"{low:g} to {high:g} MHz"
