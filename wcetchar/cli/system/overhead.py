"""``wcetchar system overhead``: what switching takes of a processor."""

from __future__ import annotations

import re
from fractions import Fraction

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_output,
    chosen_format,
    emit,
    format_option,
    json_option,
    maps_option,
    output_option,
    table_color,
    table_width,
    values_option,
)
from wcetchar.model.switching import LossModel
from wcetchar.pipeline import overhead as pipeline
from wcetchar.pipeline.options import read_option
from wcetchar.report import overhead as report
from wcetchar.report.sheet import FORMATS, render
from wcetchar.store import parse_clock


def _rates(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[Fraction]:
    return [_rate(text) for text in texts]


def _rate(text: str) -> Fraction:
    """Switches in a second: a number, or a frequency as system files have it; of one that may be
    off the highest counts."""
    if re.fullmatch(r"[-+0-9.]*", text):
        if not re.fullmatch(r"(?=.*[1-9])[0-9]{1,12}(\.[0-9]{1,9})?", text):
            raise click.BadParameter(f"{text!r} is no rate; it needs a number above 0, such as 500")
        return Fraction(text)
    return read_option("--rate", parse_clock, text).high


@click.command("overhead")
@click.argument("characterization", required=False, shell_complete=completing.characterizations)
@click.option(
    "rates",
    "--rate",
    multiple=True,
    default=("100", "1000", "10000"),
    show_default=True,
    metavar="RATE",
    callback=_rates,
    help="Switches in a second, such as 500 or 1kHz; of a range the upper end counts; repeatable.",
)
@click.option(
    "switches",
    "--switch",
    multiple=True,
    metavar="TIME",
    help="How long a switch takes, such as 10us; of a range the upper end counts; repeatable.",
)
@click.option(
    "profiles",
    "--profile",
    multiple=True,
    metavar="NAME|FILE",
    help="Hardware profile that prices a switch of CHARACTERIZATION; repeatable.",
    shell_complete=completing.profiles,
)
@maps_option
@click.option(
    "--service",
    default=pipeline.SWITCH,
    show_default=True,
    metavar="NAME",
    help="Service or activity of CHARACTERIZATION that switches.",
    shell_complete=completing.services,
)
@values_option
@click.option(
    "--working-set",
    metavar="FILE:NAME",
    help="What comes back into caches behind each switch, such as kaiser2008:celeron-64k-dirty.",
    shell_complete=completing.files,
)
@click.option(
    "--model",
    type=click.Choice([one.value for one in LossModel]),
    default=LossModel.FLOOD.value,
    show_default=True,
    help="How progress comes back: flood is never less (hard real time), exponential an average.",
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    characterization: str | None,
    rates: list[Fraction],
    switches: tuple[str, ...],
    profiles: tuple[str, ...],
    maps: tuple[str, ...],
    service: str,
    values: dict[str, int],
    working_set: str | None,
    model: str,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """How much of the processor's time context switches take, at each rate: switches of given
    times, or the one of CHARACTERIZATION (a name or a file) on hardware profiles. With a working
    set, beside that what is lost while it comes back into the caches behind each switch.

    \b
    Examples:
      wcetchar system overhead --switch 10us --switch 2us --rate 500 --rate 5000
      wcetchar system overhead --switch 2us --rate 1000 \\
          --working-set kaiser2008:celeron-64k-dirty
      wcetchar system overhead kernel.json --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws --rate 1000
    """
    check_output(output, [name for name in (characterization, *profiles, *maps) if name])
    chosen = chosen_format(form, as_json)
    found = pipeline.run(
        pipeline.Request(
            tuple(rates),
            switches,
            characterization,
            profiles,
            maps,
            service,
            values,
            working_set,
            LossModel(model),
        )
    )
    sheets = [report.sheet(_view(found))]
    emit(render(sheets, chosen, table_width(output), table_color(output)), output)


def _view(found: pipeline.Result) -> report.View:
    rows = tuple(
        report.Row(one.switch, "" if one.word is None else one.word.value, one.load)
        for one in found.overheads
    )
    back = found.working_set
    behind = (
        None
        if back is None
        else f"{back.name} ({back.machine}, caches {back.before} before), model {found.model.value}"
    )
    return report.View(rows, behind, found.notes)
