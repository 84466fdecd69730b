"""``wcetchar measure host``: this machine, measured."""

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
)
from wcetchar.cli.measure.options import (
    clock_option,
    only_option,
    plot_option,
    show,
)
from wcetchar.pipeline import measure as pipeline
from wcetchar.report.sheet import FORMATS


@click.command("host")
@click.argument("plan", default="linux-host", shell_complete=completing.plans)
@only_option
@click.option(
    "--repetitions",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Readings of each operation, in the place of the plan's.",
)
@click.option(
    "--counter",
    is_flag=True,
    help="Read the processor's counter of cycles instead of CLOCK_MONOTONIC_RAW.",
)
@click.option(
    "--cpu",
    type=click.IntRange(0, 1023),
    metavar="N",
    help="Pin everything to this one. Default: the first that is allowed.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1, 86400),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="How long measuring may take.",
)
@clock_option("Clock of cycles in expectations, such as 3GHz. Default: the plan's.")
@click.option(
    "--readings",
    metavar="FILE",
    help="Also keep the readings, for `wcetchar measure target`.",
    shell_complete=completing.files,
)
@plot_option
@format_option(FORMATS)
@json_option
@output_option
def command(
    plan: str,
    only: tuple[str, ...],
    repetitions: int | None,
    counter: bool,
    cpu: int | None,
    timeout: float,
    clock: str | None,
    readings: str | None,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Measure this Linux machine by PLAN (by default the shipped `linux-host`): procedure calls
    with 0 to 7 arguments, system calls, processes and threads from their creation to their end,
    switches of processes and threads through blocking pipes, and loads from memory over the size of
    the working set. Times are of one call; a C program reads the clock around each, built on first
    use, pinned to one processor.

    Ends with exit code 1 if a result is not to be used as it is: too coarse, too wide, nothing left
    of it, or another order of magnitude than expected, the result or its longest run beyond the
    `interruption` that the plan allows. Slower or faster by less ends with 0.

    \b
    Examples:
      wcetchar measure host
      wcetchar measure host --only memory --plot staircase.svg --readings memory.csv
      wcetchar measure host --counter --only "procedure call" --repetitions 2000 --json
    """
    chosen = chosen_format(form, as_json)
    check_files(output, {"--plot": plot, "--readings": readings}, [plan])
    request = pipeline.Request(plan, clock, only, repetitions)
    result = pipeline.host(request, counter=counter, cpu=cpu, timeout=timeout)
    if readings is not None:
        emit(result.text, readings)
    show(result, chosen, output, plot)
