"""What the verbs of ``measure`` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from wcetchar.cli import completing
from wcetchar.cli.common import emit, table_color, table_width
from wcetchar.errors import CheckFailed, InputError
from wcetchar.model.hardware import Unit
from wcetchar.model.measuring import UNUSABLE
from wcetchar.pipeline import measure as pipeline
from wcetchar.report import measuring_plot, measuring_text
from wcetchar.report.measuring import View, name_of
from wcetchar.report.measuring_words import in_words

_SHOWN: Final = 20
_F = TypeVar("_F", bound=Callable[..., Any])

only_option = click.option(
    "only", "--only", multiple=True, metavar="NAME", help="Only this operation; repeatable."
)


def clock_option(text: str) -> Callable[[_F], _F]:
    return click.option("--clock", metavar="FREQUENCY", help=text)


def plot_option(function: _F) -> _F:
    return click.option(
        "--plot",
        metavar="FILE",
        help="Also draw operations over sizes, such as memory, as a picture, SVG.",
        shell_complete=completing.files,
    )(function)


def show(result: pipeline.Result, chosen: str, output: str | None, plot: str | None) -> None:
    """Print what was measured.

    Raises:
        CheckFailed: a result is not to be used as it is.
        InputError: ``plot``, and nothing was measured at several sizes.
    """
    view = _view(result)
    if plot is not None:
        if not measuring_plot.has_sizes(view):
            raise InputError(
                "nothing was measured at several sizes, so there is no picture",
                expected="an operation with `sizes` in the plan, such as memory of linux-host",
            )
        emit(measuring_plot.svg(view), plot)
    if chosen == "json":
        text = measuring_text.as_json(view)
    elif chosen == "csv":
        text = measuring_text.as_csv(view)
    elif chosen == "markdown":
        text = measuring_text.markdown(view)
    else:
        text = measuring_text.terminal(view, table_width(output), table_color(output))
    emit(text, output)
    bad = [one for one in view.judged if not one.usable]
    if bad:
        raise CheckFailed(
            f"{len(bad)} of {len(view.judged)} results cannot be used as they are",
            details=tuple(
                f"{name_of(one.case)}: {said.fact}; {said.advice}"
                for one in bad[:_SHOWN]
                for said in in_words(one)
                if said.verdict in UNUSABLE
            ),
        )


def _view(result: pipeline.Result) -> View:
    readings = result.readings
    if result.clock is not None:
        low, nominal, high = (float(hertz) / 1e6 for hertz in result.clock)
        apart = "" if low == high else f" ({low:g} to {high:g})"
        clock = f"a counter of cycles at {nominal:g} MHz{apart}"
    else:
        clock = "a clock in nanoseconds"
    assert (result.clock is None) == (readings.unit is not Unit.CYCLES)
    where = readings.machine or readings.path
    return View(result.plan, result.judged, f"{where}, {clock}", result.notes, readings.caches)
