"""``wcetchar system slowdown``: how much longer services take under bus load."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from wcetchar import store
from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    emit,
    format_option,
    json_option,
    map_option,
    maximum_option,
    output_option,
    progress_bar,
    table_color,
    table_width,
    values_option,
)
from wcetchar.errors import UsageError
from wcetchar.pipeline import measured_slowdown
from wcetchar.pipeline import slowdown as pipeline
from wcetchar.pipeline.options import read_above_zero
from wcetchar.report import measured_slowdown as of_measured
from wcetchar.report import slowdown as report
from wcetchar.report.sheet import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wcetchar.model.slowdown import BusLoad
    from wcetchar.report.slowdown import Points


@click.command("slowdown")
@click.argument("characterization", required=False, shell_complete=completing.characterizations)
@click.option(
    "--profile",
    metavar="NAME|FILE",
    help="Hardware profile of CHARACTERIZATION.",
    shell_complete=completing.profiles,
)
@map_option
@click.option(
    "services",
    "--service",
    multiple=True,
    metavar="NAME",
    help="Only this service, or application of --measured; repeatable.",
    shell_complete=completing.services,
)
@values_option
@maximum_option
@click.option(
    "--load",
    metavar="BANDWIDTH",
    help="What other masters take of a bus, such as 36MB/s (10^6 bytes in a second).",
)
@click.option(
    "--capacity",
    metavar="BANDWIDTH",
    help="What these masters would get of that bus if nobody else used it.",
)
@click.option(
    "--burst",
    metavar="TIME",
    help="How long they have the bus at once at most, beyond their share: then a bound as well.",
)
@click.option(
    "bus",
    "--bus",
    multiple=True,
    metavar="REGION",
    help="Region of the profile behind that bus; repeatable. Default: those with `arbitration`.",
)
@click.option(
    "--measured",
    metavar="NAME|FILE",
    help="Slowdowns that were measured, such as schoenberg, in the place of CHARACTERIZATION.",
    shell_complete=completing.files,
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Also write F_sd over the load as a picture, SVG.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    characterization: str | None,
    profile: str | None,
    section_map: str | None,
    services: tuple[str, ...],
    values: dict[str, int],
    maximum: bool,
    load: str | None,
    capacity: str | None,
    burst: str | None,
    bus: tuple[str, ...],
    measured: str | None,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """How much longer services of CHARACTERIZATION (a name or a file) take while other masters use
    their bus: the slowdown factor F_sd, loaded over alone. Other masters are those of the profile
    (its `arbitration`), and a load in bytes in a second: by an average model, which is an estimate,
    and with --burst at most.

    With --measured instead: factors that were measured, the share of their time that applications
    are on the bus by them, and what the model says of bus time.

    \b
    Examples:
      wcetchar system slowdown kernel.json --profile vexriscv/imc-board-b-shared
      wcetchar system slowdown renaux2010 --profile renaux2010/platform1 \\
          --map renaux2010/map1 --set N=13 --load 36MB/s --capacity 150MB/s \\
          --bus "sdram heap" --bus "sdram stack"
      wcetchar system slowdown --measured schoenberg
    """
    inputs = [name for name in (characterization, profile, section_map, measured) if name]
    check_files(output, {"--plot": plot}, inputs)
    chosen = chosen_format(form, as_json)
    took = None if load is None else read_above_zero("--load", store.parse_bandwidth, load)
    whole = (
        None if capacity is None else read_above_zero("--capacity", store.parse_bandwidth, capacity)
    )
    if measured is not None:
        beside = {
            "CHARACTERIZATION": characterization is not None,
            "--profile": profile is not None,
            "--map": section_map is not None,
            "--set": bool(values),
            "--maximum": maximum,
            "--burst": burst is not None,
            "--bus": bool(bus),
        }
        for name, is_given in beside.items():
            if is_given:
                raise UsageError(f"{name} means nothing with --measured")
        text, picture = _measured(
            measured_slowdown.Request(measured, services, took, whole), chosen, output, plot
        )
    elif characterization is None or profile is None:
        raise UsageError(
            "nothing says what is slowed down",
            expected="CHARACTERIZATION --profile NAME, or --measured NAME",
        )
    else:
        bursts = None if burst is None else read_above_zero("--burst", store.parse_time, burst)
        request = pipeline.Request(
            characterization,
            profile,
            section_map,
            services,
            values,
            maximum,
            _load(took, whole, bursts, bus, plot),
            bus,
            plot is not None,
        )
        text, picture = _priced(request, chosen, output)
    if plot is not None:
        assert picture is not None
        emit(picture, plot)
    emit(text, output)


def _load(
    load: Fraction | None,
    capacity: Fraction | None,
    burst: Fraction | None,
    bus: tuple[str, ...],
    plot: str | None,
) -> BusLoad | None:
    if load is not None and capacity is not None:
        return measured_slowdown.bus_load(load, capacity, burst)
    if load is not None or capacity is not None:
        raise UsageError(
            "a load takes a share of a capacity, and there is one of the two",
            expected="both --load and --capacity",
        )
    for name, is_given in (("--burst", burst is not None), ("--bus", bool(bus)), ("--plot", plot)):
        if is_given:
            raise UsageError(
                f"{name} belongs to a load, and there is none", expected="--load and --capacity"
            )
    return None


def _priced(request: pipeline.Request, chosen: str, output: str | None) -> tuple[str, str | None]:
    with progress_bar("pricing", ""):
        found = pipeline.run(request)
    rows = tuple(
        report.Row(
            one.service, one.parameters, one.under, one.slowdown, one.word.value, one.bus_share
        )
        for one in found.rows
    )
    view = report.View(found.profile, found.section_map, rows, request.load, found.notes)
    if chosen == "json":
        text = report.as_json(view)
    elif chosen == "csv":
        text = report.as_csv(view)
    elif chosen == "markdown":
        text = report.markdown(view)
    else:
        text = report.terminal(view, table_width(output), table_color(output))
    picture = None
    if request.load is not None and request.lines:
        title = f"Slowdown on {found.profile}: estimates by an average"
        picture = report.svg(title, found.lines, request.load.load, {})
    return text, picture


def _measured(
    request: measured_slowdown.Request, chosen: str, output: str | None, plot: str | None
) -> tuple[str, str | None]:
    found = measured_slowdown.run(request)
    view = of_measured.View(
        found.measured.source,
        tuple((row.application, row.bus_share) for row in found.rows),
        found.load,
        found.taken,
        found.by,
        found.capacity,
        found.of_bus_time,
        tuple(of_measured.Predicted(p.name, p.capacity, p.factor) for p in found.predicted),
    )
    if chosen == "json":
        text = of_measured.as_json(view)
    elif chosen == "csv":
        text = of_measured.as_csv(view)
    elif chosen == "markdown":
        text = of_measured.markdown(view)
    else:
        text = of_measured.terminal(view, table_width(output), table_color(output))
    picture = None
    if plot is not None:
        if found.load is None:
            raise UsageError("there is no load to plot over", expected="--load BANDWIDTH")
        lines: Mapping[str, Points] = measured_slowdown.lines(found)
        factors = {row.application.name: row.application.factor for row in found.rows}
        title = "Slowdown as measured (dots), and by the model (lines)"
        picture = report.svg(title, lines, found.load, factors)
    return text, picture
