"""``wcetchar system loss``: what is lost behind a switch, over the time since."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    emit,
    format_option,
    json_option,
    output_option,
    table_color,
    table_width,
)
from wcetchar.pipeline import loss as pipeline
from wcetchar.report import loss as report
from wcetchar.report.sheet import FORMATS, render


@click.command("loss")
@click.option(
    "working_sets",
    "--working-set",
    multiple=True,
    required=True,
    metavar="FILE:NAME",
    help="What comes back into caches, such as kaiser2008:celeron-64k-dirty; repeatable.",
    shell_complete=completing.files,
)
@click.option(
    "times",
    "--at",
    multiple=True,
    metavar="TIME",
    help="Time since the switch, such as 100us; repeatable. Default: some around those in which "
    "the working sets come back.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Also draw all three over the time, SVG.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    working_sets: tuple[str, ...],
    times: tuple[str, ...],
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """What is lost behind a switch while a working set comes back into the caches, by both models:
    progress, of the sustained one; absolute loss, as time; relative loss, of the time since the
    switch.

    \b
    Examples:
      wcetchar system loss --working-set kaiser2008:celeron-64k-dirty --plot loss.svg
      wcetchar system loss --working-set kaiser2008:celeron-16k-dirty \\
          --working-set our-sets.yaml:control --at 100us --at 1ms
    """
    check_files(output, {"--plot": plot}, [text.rpartition(":")[0] for text in working_sets])
    chosen = chosen_format(form, as_json)
    found = pipeline.run(pipeline.Request(working_sets, times, plot is not None))
    sheet = report.sheet(found.losses)
    emit(render([sheet], chosen, table_width(output), table_color(output)), output)
    if plot is not None:
        emit(report.chart(found.picture), plot)
