"""``wcetchar system device``: what a shared bus guarantees that is given in slots of time."""

from __future__ import annotations

from fractions import Fraction

import click

from wcetchar import store
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
from wcetchar.errors import UsageError
from wcetchar.pipeline import device as pipeline
from wcetchar.pipeline.options import read_above_zero
from wcetchar.report import device as report
from wcetchar.report import slots_timeline
from wcetchar.report.sheet import FORMATS


@click.command("device")
@click.argument("device", shell_complete=completing.files)
@click.option(
    "clusters",
    "--cluster",
    multiple=True,
    metavar="SIZE",
    help="Data of one request, such as 128KiB, in the place of those of the file; repeatable.",
)
@click.option(
    "--devices",
    type=click.IntRange(1, pipeline.MOST),
    metavar="N",
    help="How many devices there are. Default: those of the file, or as many as saturate the bus.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Also write who has the bus when as a picture, SVG.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    device: str,
    clusters: tuple[str, ...],
    devices: int | None,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Time-driven access to a shared bus: DEVICE (a name or a file) says the phases of a request,
    and in which of them the bus is held. For each size of a cluster: how long a slot is, the
    bandwidth that is guaranteed, how many devices saturate the bus; and for the first size, which
    device has it when. What the file says of it elsewhere is held against that.

    \b
    Examples:
      wcetchar system device schoenberg-restricted
      wcetchar system device disks.yaml --cluster 64KiB --cluster 1MiB --devices 4 --plot slots.svg
    """
    check_files(output, {"--plot": plot}, (device,))
    chosen = chosen_format(form, as_json)
    sizes = tuple(int(read_above_zero("--cluster", store.parse_size, one)) for one in clusters)
    found = pipeline.run(pipeline.Request(device, sizes, devices))
    if plot is not None and found.slots.uses is None:
        raise UsageError("there are too many devices to draw", expected="--devices N")
    view = _view(found)
    if chosen == "json":
        text = report.as_json(view)
    elif chosen == "csv":
        text = report.as_csv(view)
    elif chosen == "markdown":
        text = report.markdown(view)
    else:
        text = report.terminal(view, table_width(output), table_color(output))
    if plot is not None:
        bars = [
            slots_timeline.Bar(u.device, u.request, u.phase, u.held, u.begins, u.ends)
            for u in found.slots.uses or ()
        ]
        size = f"{found.slots.timing.cluster:,} bytes"
        emit(slots_timeline.svg(f"{found.slots.devices} devices, requests for {size}", bars), plot)
    emit(text, output)


def _view(found: pipeline.Result) -> report.View:
    timings = tuple(
        report.Timing(
            one.cluster,
            one.slot,
            one.transfer,
            one.free,
            one.guaranteed,
            one.utilisation,
            one.needed,
            count,
            one.round(count),
            one.of_each(count),
        )
        for one, count in zip(found.timings, found.counts, strict=True)
    )
    return report.View(
        found.device.source,
        found.device.bandwidth,
        timings,
        tuple(map(_figure, found.checked)),
        _slots(found.slots),
    )


def _figure(one: pipeline.Checked) -> report.Figure:
    figure = one.figure
    what, unit = "devices", 1
    if figure.guaranteed is not None:
        what, unit = "guaranteed MB/s", 10**6
    said, found = one.said / unit, one.found / unit
    if figure.utilisation is not None:
        what, said, found = "utilisation %", 100 * said, 100 * found
    implies = report.implied(one.implied.overhead, one.implied.free)
    return report.Figure(figure.cluster, what, said, found, implies, figure.note)


def _slots(slots: pipeline.Slots) -> tuple[report.Slot, ...] | None:
    """Of the second round, in which requests end and begin."""
    if slots.uses is None:
        return None
    timing, round_ = slots.timing, slots.timing.round(slots.devices)
    ready: dict[str, Fraction] = {}
    for use in slots.uses:
        ready.setdefault(use.device, Fraction(0))
        if use.request == 1 and not use.held:
            ready[use.device] = use.ends - round_
    found = []
    for place, (name, done) in enumerate(ready.items()):
        begins, ends = place * timing.slot, (place + 1) * timing.slot
        found.append(report.Slot(name, begins, ends, max(done, ends), begins + round_))
    return tuple(found)
