"""``wcetchar measure expect``: what a plan needs and expects, before anything is measured."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_output,
    chosen_format,
    emit,
    format_option,
    json_option,
    output_option,
    table_color,
    table_width,
)
from wcetchar.cli.measure.options import clock_option, only_option
from wcetchar.pipeline import measure as pipeline
from wcetchar.report import measuring_text as report
from wcetchar.report.sheet import FORMATS


@click.command("expect")
@click.argument("plan", shell_complete=completing.plans)
@only_option
@clock_option("Clock of cycles in expectations, such as 168MHz. Default: the plan's.")
@format_option(FORMATS)
@json_option
@output_option
def command(
    plan: str,
    only: tuple[str, ...],
    clock: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Steps 1 and 2: the accuracy that PLAN needs (a file or a shipped name) and the time that it
    expects of each operation, by its model of hardware and software or as an estimate of a
    characterization. An expectation that is written down first cannot be fitted to the result.
    What others reported of an operation, where the plan has it, is held against that.

    \b
    Examples:
      wcetchar measure expect muller-arm9
      wcetchar measure expect hu2022
      wcetchar measure expect linux-host --only memory --clock 3GHz
    """
    chosen = chosen_format(form, as_json)
    check_output(output, [plan])
    read, cases = pipeline.expectations(pipeline.Request(plan, clock, only))
    reports = pipeline.reports(cases)
    if chosen == "json":
        text = report.expected_json(read, cases, reports)
    elif chosen == "csv":
        text = report.expected_csv(cases, reports)
    elif chosen == "markdown":
        text = report.expected_markdown(read, cases, reports)
    else:
        width, color = table_width(output), table_color(output)
        text = report.expected_terminal(read, cases, reports, width, color)
    emit(text, output)
