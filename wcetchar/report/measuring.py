"""Measured beside expected: what is shown, and its figures as text.

Times are printed with their unit and four digits, rounded up; lower ends are rounded down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.model.interval import Interval
from wcetchar.model.measuring import Accuracy, Case, Expected, Judged, Plan
from wcetchar.report.numbers import grouped, percent

DIGITS: Final = 4
_UNITS: Final = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True)
class View:
    """``source``: what was measured, and with which clock. ``caches``: sizes in bytes, by name."""

    plan: Plan
    judged: tuple[Judged, ...]
    source: str
    notes: tuple[str, ...]
    caches: tuple[tuple[str, int], ...] = ()


def time_text(value: Fraction, *, down: bool = False) -> str:
    """``1.543 us``: four digits, rounded up, or down."""
    if value == 0:
        return "0 ns"
    size = abs(value)
    factor, unit = next(((f, u) for f, u in _UNITS if size >= f), _UNITS[-1])
    scaled = value / factor
    places = max(0, min(3, DIGITS - len(str(math.floor(abs(scaled))))))
    towards = math.floor if down else math.ceil
    return f"{grouped(Fraction(towards(scaled * 10**places), 10**places))} {unit}"


def interval_text(times: Interval | None) -> str:
    """``1 .. 2 ns``; the unit once where it is one."""
    if times is None:
        return ""
    low, high = time_text(times.low, down=True), time_text(times.high)
    if times.low == times.high:
        return high
    if low.split()[1] == high.split()[1] or times.low == 0:
        low = low.split()[0]
    return f"{low} .. {high}"


def parameter_text(case: Case) -> str:
    if case.parameter is None:
        return ""
    if case.size:
        for factor, unit in _SIZES:
            if case.parameter % factor == 0:
                return f"{case.parameter // factor} {unit}"
        return f"{case.parameter} B"
    return str(case.parameter)


def name_of(case: Case) -> str:
    """Of an operation with its parameter, for people."""
    parameter = parameter_text(case)
    return f"{case.operation}, {parameter}" if parameter else case.operation


def accuracy_text(accuracy: Accuracy) -> str:
    if accuracy.time is not None:
        return time_text(accuracy.time)
    return percent(accuracy.share or Fraction(0), 1).replace(".0 %", " %")


def predicted_text(expected: Expected | None) -> str:
    """What is predicted; of an estimate of the worst case, that it is no more than that."""
    if expected is None:
        return ""
    if expected.word is not None:
        return f"<= {time_text(expected.total.high)}"
    return interval_text(expected.total)
