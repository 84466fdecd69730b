"""Estimates beside measurements: the tables, then one line for each platform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.report.jsondoc import text_of as json_text
from wcetchar.report.numbers import for_json, grouped, nearest_tenth
from wcetchar.report.terminal import estimate_parts, notes_part, text_of
from wcetchar.report.view import EstimateView


@dataclass(frozen=True)
class Compared:
    """One estimate and the time measured on the real hardware.

    ``overestimation_percent`` is exact; it is printed to the nearest tenth.
    """

    name: str
    view: EstimateView
    measured_ns: Fraction
    overestimation_percent: Fraction


def render(platforms: Sequence[Compared], source: str, width: int, color: bool) -> str:
    """Each platform's table, then estimated and measured times beside each other."""
    parts: list[RenderableType] = []
    for platform in platforms:
        parts.extend(estimate_parts(platform.view, width))
        parts.append("")
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("platform")
    for name in ("estimated ns", "measured ns", "overestimation"):
        table.add_column(name, justify="right")
    for platform in platforms:
        table.add_row(
            Text(one_line(platform.name)),
            grouped(platform.view.total.high),
            grouped(platform.measured_ns),
            f"{float(nearest_tenth(platform.overestimation_percent)):.1f} %",
        )
    parts.append(table)
    parts.append("")
    parts.extend(notes_part(dict.fromkeys(note for p in platforms for note in p.view.notes)))
    parts.append(Text(f"measured: {one_line(source)}"))
    return text_of(parts, width, color)


def document(platforms: Sequence[Compared]) -> str:
    """The JSON document; percentages to the nearest tenth."""
    return json_text(
        {
            "platforms": [
                {
                    "name": platform.name,
                    "estimated_ns": for_json(platform.view.total.high),
                    "measured_ns": for_json(platform.measured_ns),
                    "overestimation_percent": float(nearest_tenth(platform.overestimation_percent)),
                }
                for platform in platforms
            ]
        }
    )
