"""``wcetchar system slices``: time slices of round-robin, losses against delay."""

from __future__ import annotations

from fractions import Fraction

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
from wcetchar.errors import CheckFailed, UsageError
from wcetchar.pipeline import slices as pipeline
from wcetchar.pipeline.options import read_option
from wcetchar.report import slices as report
from wcetchar.report.sheet import FORMATS, render
from wcetchar.store import parse_percent


@click.command("slices")
@click.argument("partitions", shell_complete=completing.files)
@click.option(
    "slices",
    "--slice",
    multiple=True,
    metavar="TIME",
    help="A time slice, such as 1ms; repeatable. Default: some of the range.",
)
@click.option(
    "--from",
    "first",
    default=pipeline.FIRST,
    show_default=True,
    metavar="TIME",
    help="Of the range.",
)
@click.option(
    "--to", "last", default=pipeline.LAST, show_default=True, metavar="TIME", help="Of the range."
)
@click.option(
    "--limit",
    metavar="PERCENT",
    help="Of the time that may be lost: also say from which time slice on no more is, of the time "
    "of all together and of each partition's own, in steps of 1 us up to the end of the range; "
    "exit 1 if there is none for one of the two.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Also draw losses and waits over the range, SVG.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    partitions: str,
    slices: tuple[str, ...],
    first: str,
    last: str,
    limit: str | None,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """What the partitions of a file (a path, or a shipped name such as kaiser2008) lose in
    virtual-time round-robin behind switches, and how long each is without the processor at most.
    Longer slices lose less, and make others wait longer.

    \b
    Examples:
      wcetchar system slices kaiser2008 --limit 8% --plot slices.svg
      wcetchar system slices partitions.yaml --slice 500us --slice 2ms
    """
    check_files(output, {"--plot": plot}, [partitions])
    chosen = chosen_format(form, as_json)
    share = None if limit is None else _share(limit)
    asked = pipeline.Request(partitions, slices, first, last, share, plot is not None)
    found = pipeline.run(asked)
    shortest = found.least, found.least_each
    sheet = report.sheet(found.cycles, found.scheduler, share, *shortest, found.most)
    emit(render([sheet], chosen, table_width(output), table_color(output)), output)
    if plot is not None:
        emit(report.chart(found.picture, share, *shortest), plot)
    if share is not None and found.least is None:
        raise CheckFailed(f"more than {limit} is lost at every time slice of the range")
    if share is not None and found.least_each is None:
        raise CheckFailed(
            f"a partition loses more than {limit} of its time at every time slice of the range"
        )


def _share(text: str) -> Fraction:
    share = read_option("--limit", parse_percent, text)
    if not 0 < share < 1:
        raise UsageError(f"--limit {text} is no share", expected="more than 0 %, less than 100 %")
    return share
