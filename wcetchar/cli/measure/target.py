"""``wcetchar measure target``: readings of a target, or kept ones of a host."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    format_option,
    json_option,
    output_option,
)
from wcetchar.cli.measure.options import (
    clock_option,
    only_option,
    plot_option,
    show,
)
from wcetchar.pipeline import measure as pipeline
from wcetchar.report.sheet import FORMATS


@click.command("target")
@click.argument("plan", shell_complete=completing.plans)
@click.argument("readings", shell_complete=completing.files)
@clock_option(
    "Clock of the cycles in READINGS and in expectations, such as 168MHz or `8MHz +- 1 %`. "
    "Default: as the files say."
)
@only_option
@plot_option
@format_option(FORMATS)
@json_option
@output_option
def command(
    plan: str,
    readings: str,
    clock: str | None,
    only: tuple[str, ...],
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Steps 3 to 7 on READINGS, a CSV file of readings of a clock around operations, held against
    what PLAN (a file or a shipped name) needs and expects. Firmware makes such readings with the C
    header that `wcetchar measure header` writes; those of `measure host --readings` are of the same
    form. Times are of one call; cycles become time by the slowest clock that is allowed.

    Ends with exit code 1 if a result is not to be used as it is, as `measure host`.

    \b
    Examples:
      wcetchar measure target plan.yaml readings.csv --clock 168MHz
      wcetchar measure target linux-host memory.csv --only memory --plot staircase.svg
    """
    chosen = chosen_format(form, as_json)
    check_files(output, {"--plot": plot}, [plan, readings])
    result = pipeline.target(pipeline.Request(plan, clock, only), readings)
    show(result, chosen, output, plot)
