"""``wcetchar compare``: characterizations against each other."""

from __future__ import annotations

import re
from fractions import Fraction

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    assignments,
    check_output,
    chosen_format,
    emit,
    format_option,
    json_option,
    only_services_option,
    output_option,
    progress_bar,
    say,
    table_color,
    table_width,
)
from wcetchar.errors import CheckFailed, UsageError
from wcetchar.pipeline import compare as pipeline
from wcetchar.report import versus, versus_text
from wcetchar.report.versus_text import change_text

FORMATS = ("table", "csv", "markdown", "json")
_SHOWN = 20


def _percent(ctx: click.Context, param: click.Parameter, text: str | None) -> Fraction | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text):
        raise click.BadParameter(f"{text!r} is no percentage; it needs a number, such as 0 or 2.5")
    return Fraction(text)


@click.command("compare")
@click.argument(
    "characterizations",
    nargs=-1,
    required=True,
    metavar="BASE OTHER...",
    shell_complete=completing.characterizations,
)
@click.option(
    "profiles",
    "--profile",
    multiple=True,
    metavar="NAME|FILE",
    help="Hardware profile; more than one compares on each. Without any, only counts are shown.",
    shell_complete=completing.profiles,
)
@click.option(
    "maps",
    "--map",
    multiple=True,
    metavar="NAME|FILE",
    help="Section map: one for all profiles or one for each. Default: the profile's own. Values of "
    "parameters in it are not used.",
    shell_complete=completing.maps,
)
@click.option(
    "--paired",
    is_flag=True,
    help="The profiles and maps belong to the characterizations in turn, one each: for different "
    "cores.",
)
@only_services_option
@click.option(
    "values",
    "--set",
    multiple=True,
    metavar="NAME=VALUE",
    callback=assignments,
    help="Compare at this value of a parameter instead of over its range; repeatable.",
    shell_complete=completing.parameters,
)
@click.option("--changed", is_flag=True, help="Only services that are not equal everywhere.")
@click.option(
    "--fail-if-slower",
    is_flag=False,
    flag_value="0",
    metavar="[PERCENT]",
    callback=_percent,
    help="End with exit code 1 if a service is slower or blocks longer than in BASE, by more than "
    "PERCENT (0) anywhere that was checked, or cannot be compared.",
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    characterizations: tuple[str, ...],
    profiles: tuple[str, ...],
    maps: tuple[str, ...],
    paired: bool,
    services: tuple[str, ...],
    values: dict[str, int],
    changed: bool,
    fail_if_slower: Fraction | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Hold characterizations (two versions of a kernel, two configurations, two instruction sets)
    against BASE: which service is better on which hardware, where one is slower or blocks longer,
    what only one has, and their formulas side by side. Times are in ns, safe ends.

    Parameters go over the whole range that all are characterized for. A verdict names what was
    checked: every point, or the formulas; where neither is possible, the points that were.

    \b
    Examples:
      wcetchar compare old.json new.json --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws --changed --fail-if-slower 2.5
      wcetchar compare m3.json m4.json --paired --profile m3.yaml --profile m4.yaml --json
    """
    check_output(output, (*characterizations, *profiles, *maps))
    chosen = chosen_format(form, as_json)
    if fail_if_slower is not None and not profiles:
        raise UsageError(
            "--fail-if-slower compares times, and without hardware there are none",
            hint="--profile NAME, and --map NAME",
        )
    request = pipeline.Request(characterizations, profiles, maps, paired, services, values)
    with progress_bar("comparing", "services") as advance:
        result = pipeline.run(request, advance)
    view = versus.view_of(
        result.labels, result.characterizations, result.hardware, result.services, changed
    )
    if chosen == "json":
        text = versus_text.document(view)
    elif chosen == "csv":
        text = versus_text.csv_text(view)
    elif chosen == "markdown":
        text = versus_text.markdown(view)
    else:
        text = versus_text.terminal(view, table_width(output), table_color(output))
    emit(text, output)
    if fail_if_slower is not None:
        _gate(versus.gate(view, fail_if_slower), view, fail_if_slower)


def _gate(found: versus.GateFindings, view: versus.View, percent: Fraction) -> None:
    for text in found.partly:
        say(f"not checked everywhere: {text}")
    details = [
        f"{line.service} of {line.label}{f' at {line.at}' if line.at else ''}: "
        f"{versus.METRIC_TITLES[line.metric]} {change_text(line.change)} on "
        f"{view.hardware_name(line.hardware)}{f', from {line.where}' if line.where else ''}"
        for line in found.slower
    ]
    details += [f"cannot be compared: {text}" for text in found.unknown]
    if len(details) > _SHOWN:
        details = [*details[:_SHOWN], f"and {len(details) - _SHOWN} more"]
    if details:
        allowed = f" by more than {float(percent):g} %" if percent else ""
        raise CheckFailed(
            f"{len(found.slower)} times are above the base's{allowed}, "
            f"{len(found.unknown)} cannot be compared",
            details=tuple(details),
        )
