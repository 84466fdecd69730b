"""Slots on a shared bus as plain rows: terminal, Markdown, CSV and JSON. What is guaranteed is
rounded down, times are rounded up."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, low_for_json, plain, rounded_down
from wcetchar.report.terminal import table_of, text_of

SCHEMA: Final = "wcetchar/device/1"
_US, _MS, _KIB, _MB = 1000, 10**6, 1024, 10**6
_SHOWN: Final = 32
"""Slots that a table lists."""
_TIMINGS: Final = tuple(
    (name, True)
    for name in (
        "cluster KiB",
        "slot us",
        "of these data us",
        "utilisation %",
        "guaranteed MB/s",
        "saturated by",
        "devices",
        "round ms",
        "each MB/s",
        "all MB/s",
    )
)
_FIGURES: Final = (
    ("cluster KiB", True),
    ("figure", False),
    ("said", True),
    ("by the phases", True),
    ("implies", False),
    ("note", False),
)
_SLOTS: Final = (
    ("device", False),
    ("slot from us", True),
    ("to us", True),
    ("without the bus to us", True),
    ("waits us", True),
    ("next slot us", True),
)


@dataclass(frozen=True)
class Timing:
    """Of one size of a cluster: times in nanoseconds, bandwidths in bytes in a second.

    Attributes:
        needed: devices that saturate the bus.
        devices: how many there are, of which each has ``each``, once in a ``round``.
    """

    cluster: int
    slot: Fraction
    transfer: Fraction
    free: Fraction
    guaranteed: Fraction
    utilisation: Fraction
    needed: int
    devices: int
    round: Fraction
    each: Fraction


@dataclass(frozen=True)
class Figure:
    """``said`` elsewhere, ``found`` by the phases, both of ``what``; ``implies``: in words."""

    cluster: int
    what: str
    said: Fraction
    found: Fraction
    implies: str
    note: str


@dataclass(frozen=True)
class Slot:
    """One slot of a device, in nanoseconds from the begin of a round; ``ready``: when it has done
    what it does without the bus."""

    device: str
    begins: Fraction
    ends: Fraction
    ready: Fraction
    next: Fraction


@dataclass(frozen=True)
class View:
    """``slots``: of the first cluster; ``None``: there are too many devices to list them."""

    source: str
    bandwidth: Fraction
    timings: tuple[Timing, ...]
    figures: tuple[Figure, ...]
    slots: tuple[Slot, ...] | None


def terminal(view: View, width: int, color: bool) -> str:
    parts: list[RenderableType] = [table_of(_TIMINGS, _timings(view))]
    if view.figures:
        parts += [Text(""), table_of(_FIGURES, _figures(view))]
    if view.slots:
        parts += [Text(""), table_of(_SLOTS, _slots(view))]
    return text_of([*parts, *(Text(line) for line in _lines(view))], width, color)


def markdown(view: View) -> str:
    lines = [*table_lines(_TIMINGS, _timings(view)), ""]
    if view.figures:
        lines += [*table_lines(_FIGURES, _figures(view)), ""]
    if view.slots:
        lines += [*table_lines(_SLOTS, _slots(view)), ""]
    return "\n".join([*lines, *(f"* {escaped(line)}" for line in _lines(view))]) + "\n"


def as_csv(view: View) -> str:
    """Cluster by cluster."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    fields = list(_timing(view.timings[0]))
    writer.writerow(fields)
    for one in view.timings:
        writer.writerow([spreadsheet_text(str(value)) for value in _timing(one).values()])
    return stream.getvalue()


def as_json(view: View) -> str:
    """One document, with stable keys."""
    figures: list[dict[str, Any]] = [
        {
            "cluster_bytes": one.cluster,
            "figure": one.what,
            "said": for_json(one.said),
            "found": low_for_json(one.found),
            "implies": one.implies,
            "note": one.note,
        }
        for one in view.figures
    ]
    slots: list[dict[str, Any]] = [
        {
            "device": one.device,
            "begins_ns": for_json(one.begins),
            "ends_ns": for_json(one.ends),
            "ready_ns": for_json(one.ready),
            "next_ns": for_json(one.next),
        }
        for one in view.slots or ()
    ]
    document = {
        "schema": SCHEMA,
        "source": view.source,
        "bandwidth_bytes_per_s": for_json(view.bandwidth),
        "clusters": [_timing(one) for one in view.timings],
        "figures": figures,
        "slots": None if view.slots is None else slots,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def implied(overhead: Fraction | None, free: tuple[Fraction, Fraction] | None) -> str:
    """What phases must take where a figure holds."""
    if overhead is not None:
        return f"{grouped(overhead / _US)} us beside the data"
    if free is None:
        return ""
    least, most = free
    return f"without the bus above {grouped(least / _MS)}, up to {grouped(most / _MS)} ms"


def _timing(one: Timing) -> dict[str, int | float]:
    return {
        "cluster_bytes": one.cluster,
        "slot_ns": for_json(one.slot),
        "transfer_ns": for_json(one.transfer),
        "free_ns": for_json(one.free),
        "utilisation_percent": low_for_json(100 * one.utilisation),
        "guaranteed_bytes_per_s": low_for_json(one.guaranteed),
        "devices_needed": one.needed,
        "devices": one.devices,
        "round_ns": for_json(one.round),
        "each_bytes_per_s": low_for_json(one.each),
    }


def _down(value: Fraction) -> str:
    return grouped(rounded_down(value))


def _timings(view: View) -> Sequence[Sequence[str]]:
    return [
        [
            grouped(Fraction(one.cluster, _KIB)),
            grouped(one.slot / _US),
            grouped(one.transfer / _US),
            _down(100 * one.utilisation),
            _down(one.guaranteed / _MB),
            grouped(one.needed),
            grouped(one.devices),
            grouped(one.round / _MS),
            _down(one.each / _MB),
            _down(one.devices * one.each / _MB),
        ]
        for one in view.timings
    ]


def _figures(view: View) -> Sequence[Sequence[str]]:
    return [
        [
            grouped(Fraction(one.cluster, _KIB)),
            one.what,
            grouped(one.said),
            _down(one.found),
            one.implies,
            one_line(one.note),
        ]
        for one in view.figures
    ]


def _slots(view: View) -> Sequence[Sequence[str]]:
    return [
        [
            one_line(one.device),
            *(grouped(time / _US) for time in (one.begins, one.ends, one.ready)),
            grouped((one.next - one.ready) / _US),
            grouped(one.next / _US),
        ]
        for one in (view.slots or ())[:_SHOWN]
    ]


def _lines(view: View) -> list[str]:
    lines = []
    if view.slots is None:
        lines.append("there are too many devices to list their slots")
    elif len(view.slots) > _SHOWN:
        lines.append(f"and {len(view.slots) - _SHOWN} more slots")
    if any(one.devices < one.needed for one in view.timings):
        lines.append("with fewer devices than saturate it, the bus is idle while all of them seek")
    lines.append(
        f"bus of {plain(view.bandwidth / _MB)} MB/s; guaranteed as long as no phase takes longer, "
        "and each device has one request in a round"
    )
    return [*lines, f"source: {one_line(view.source)}"]
