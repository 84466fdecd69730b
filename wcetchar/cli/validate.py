"""``wcetchar validate``: estimates held against measurements."""

from __future__ import annotations

import click

from wcetchar.cli.common import (
    check_output,
    chosen_format,
    emit,
    json_option,
    output_option,
    table_color,
    table_width,
)
from wcetchar.errors import CheckFailed, UsageError
from wcetchar.model.versus import Metric
from wcetchar.pipeline import validate as pipeline
from wcetchar.report import validation, validation_plot, validation_text

FORMATS = ("table", "csv", "markdown", "json")


@click.command("validate", short_help="Hold estimates against measured times.")
@click.argument("characterization")
@click.option(
    "--profile", required=True, metavar="NAME|FILE", help="Hardware profile of what was measured."
)
@click.option(
    "section_map",
    "--map",
    metavar="NAME|FILE",
    help="Section map of what was measured. Default: the profile's own.",
)
@click.option(
    "--measured",
    required=True,
    metavar="FILE",
    help="Measured times as CSV: service, parameters, and cycles, ns, us, ms or s.",
)
@click.option(
    "--overhead",
    metavar="SERVICE",
    help="Lines of this service show what measuring takes; the least of them is subtracted.",
)
@click.option(
    "services", "--service", multiple=True, metavar="NAME", help="Only this service; repeatable."
)
@click.option(
    "--metric",
    type=click.Choice([metric.value for metric in Metric]),
    default=Metric.TOTAL.value,
    show_default=True,
    help="What was measured: execution times, or the longest time that a call holds off "
    "interrupts, or preemption.",
)
@click.option("--plot", metavar="FILE", help="Also write the rows as a picture, SVG.")
@click.option(
    "form", "--format", type=click.Choice(FORMATS), help="How to print the result. Default: table."
)
@json_option
@output_option
def command(
    characterization: str,
    profile: str,
    section_map: str | None,
    measured: str,
    overhead: str | None,
    services: tuple[str, ...],
    metric: str,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Hold the estimates of CHARACTERIZATION against measured times, from any source: RTL, a cycle
    counter, an oscilloscope. Counts the unsafe rows first (measured above the estimate), then how
    far the others are over, and says which price or count explains the worst one. Times are in ns;
    measured cycles are of the core's clock, the slowest that the profile allows.

    Ends with exit code 1 if a measurement is above its estimate.

    \b
    Examples:
      wcetchar validate kernel.json --profile board.yaml --map map.yaml \\
          --measured board.csv --overhead empty_call --plot board.svg
      wcetchar validate kernel.json --profile board.yaml --measured board.csv --json
    """
    inputs = (characterization, profile, *((section_map,) if section_map else ()), measured)
    check_output(output, inputs)
    check_output(plot, inputs)
    chosen = chosen_format(form, as_json)
    if plot is not None and plot in (output, "-"):
        raise UsageError("--plot needs a file of its own")
    result = pipeline.run(
        pipeline.Request(
            characterization, profile, section_map, measured, overhead, services, Metric(metric)
        )
    )
    notes = list(result.notes)
    if result.clock_hz is not None:
        notes.append(
            f"measured cycles are taken as cycles of {float(result.clock_hz) / 1e6:g} MHz, the "
            "slowest clock of the profile"
        )
    if result.left_out:
        notes.append(f"{result.left_out} measurements of other services were left out")
    view = validation.view_of(
        result.comparison,
        result.explanation,
        result.overheads,
        result.profile,
        result.section_map,
        notes,
    )
    if chosen == "json":
        text = validation_text.document(view)
    elif chosen == "csv":
        text = validation_text.csv_text(view)
    elif chosen == "markdown":
        text = validation_text.markdown(view)
    else:
        text = validation_text.terminal(view, table_width(output), table_color(output))
    if plot is not None:
        emit(validation_plot.svg(view), plot)
    emit(text, output)
    if view.unsafe:
        raise CheckFailed(
            f"{view.unsafe} of {len(view.rows)} rows were measured above their estimate",
            details=tuple(
                f"{row.service}{f' at {row.at}' if row.at else ''}: "
                f"{validation.percent_text(row.percent)}"
                for row in view.rows[:20]
                if row.unsafe
            ),
        )
