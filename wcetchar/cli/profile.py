"""``wcetchar profile``: hardware profiles that fit themselves, explain themselves, or begin."""

from __future__ import annotations

from fractions import Fraction

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_output,
    chosen_format,
    emit,
    format_option,
    json_option,
    only_services_option,
    output_option,
    progress_bar,
    table_color,
    table_width,
)
from wcetchar.cli.situations import overhead_options, situation_options, situations_of
from wcetchar.errors import CheckFailed, InputError, UsageError
from wcetchar.model.cache import LINE_BYTES, CacheGeometry


@click.group("profile")
def command() -> None:
    """Make hardware profiles and look into them: begin one (`init`), find its times from
    measurements (`fit`), read it back in words, in ns and core cycles (`check`).

    \b
    Examples:
      wcetchar profile init my-board --devicetree build/zephyr/zephyr.dts -o my-board.yaml
      wcetchar profile check my-board.yaml
    """


@command.command("fit", short_help="Find the times of a profile from measurements.")
@click.argument("measurements", shell_complete=completing.files)
@click.option(
    "--characterization",
    required=True,
    metavar="NAME|FILE",
    help="What was measured; its counts are what the times are found from.",
    shell_complete=completing.characterizations,
)
@click.option(
    "--profile",
    required=True,
    metavar="NAME|FILE",
    help="Profile to begin with: times that are ranges, such as 1..8 cycles, are found in them.",
    shell_complete=completing.profiles,
)
@click.option(
    "section_map",
    "--map",
    metavar="NAME|FILE",
    help="Section map of what was measured. Default: the profile's own.",
    shell_complete=completing.maps,
)
@overhead_options
@situation_options
@only_services_option
@click.option(
    "--hold-out",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    metavar="N",
    help="Leave every N-th row of each service out of a first fit and check it there; 0: none.",
)
@click.option(
    "--step",
    type=click.Choice(["1", "0.1", "0.01", "0.001"]),
    default="0.001",
    show_default=True,
    help="Round each time up to a multiple of this, in its own unit.",
)
@click.option(
    "--relative", is_flag=True, help="Least total of percentages, rather than of nanoseconds."
)
@click.option(
    "--ranges/--no-ranges",
    default=True,
    show_default=True,
    help="Find how far each time could be moved without a worse total, where prices are sums of "
    "times.",
)
@format_option(["table", "markdown", "json"])
@json_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the profile with the times that were found.",
    shell_complete=completing.files,
)
def fit(
    measurements: str,
    characterization: str,
    profile: str,
    section_map: str | None,
    overhead: str | None,
    marks_alone: bool,
    instruction_cache: tuple[str, ...],
    data_cache: tuple[str, ...],
    undisturbed: tuple[str, ...],
    services: tuple[str, ...],
    hold_out: int,
    step: str,
    relative: bool,
    ranges: bool,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Find the times of a hardware profile from MEASUREMENTS (CSV, as for `wcetchar validate`):
    never below any of them, and over by the least in total. Times that the profile gives exactly
    stay; each range is narrowed to one value. Comments and order of the file stay as they are.

    A first fit leaves rows out and is checked on them; what is written is fitted to all rows.

    Of caches it finds what lines take (`line refill`, `load miss penalty`) from measurements with
    the cache cold and warm; their geometry stands in the profile. Of refresh and other masters it
    finds what each takes, where the profile says how often they come.

    A write buffer, a divided clock and what lines hide or save are the profile's to say. With one
    of them the pricer is asked what each row costs; then it is not proven that no other times are
    less in total.

    \b
    Examples:
      wcetchar profile fit board.csv --characterization kernel.json \\
          --profile skeleton.yaml --map map.yaml --overhead empty_call -o board.yaml
      wcetchar profile fit board.csv --characterization kernel.json --profile skeleton.yaml \\
          --map map.yaml --instruction-cache emptied=cold --instruction-cache again=warm
    """
    from wcetchar.pipeline import fit as pipeline
    from wcetchar.pipeline.validate import Request as Measured
    from wcetchar.report import fit as report
    from wcetchar.store import with_modeline

    inputs = (
        measurements,
        characterization,
        profile,
        *((section_map,) if section_map else ()),
    )
    check_output(output, inputs)
    chosen = chosen_format(form, as_json)
    request = pipeline.Request(
        Measured(
            characterization,
            profile,
            section_map,
            measurements,
            overhead,
            marks_alone,
            services,
            situations=situations_of(instruction_cache, data_cache, undisturbed),
        ),
        hold_out,
        Fraction(step),
        relative,
        ranges,
    )
    with progress_bar("fitting", ""):
        result = pipeline.run(request)
    view = report.view_of(
        result.profile,
        result.section_map,
        result.fit,
        result.before,
        result.after,
        result.check,
        result.simplified,
        result.dearer,
        result.copied,
    )
    if chosen == "json":
        text = report.document(view)
    elif chosen == "markdown":
        text = report.markdown(view)
    else:
        text = report.terminal(view, table_width(None), table_color(None))
    if output is not None:
        emit(with_modeline(result.text, "hardware-profile", output, add=False), output)
        if output == "-":
            return
    emit(text, None)


@command.command("check", short_help="Explain a profile in words, and warn of the implausible.")
@click.argument("profile", shell_complete=completing.profiles)
@click.option("--strict", is_flag=True, help="End with exit code 1 if anything is implausible.")
@format_option(["table", "markdown", "json"])
@json_option
@output_option
def check(profile: str, strict: bool, form: str | None, as_json: bool, output: str | None) -> None:
    """Explain PROFILE (a name or a file) in words: what instructions and accesses take, and what a
    word costs from each memory, in ns and core cycles; then what looks like a slip (a unit, a zero
    that was forgotten, cycles of the wrong clock), with its line.

    \b
    Example:
      wcetchar profile check cortex-m3/flash-3ws
    """
    from wcetchar.pipeline import profile_check as pipeline
    from wcetchar.report import profile as report

    check_output(output, (profile,))
    chosen = chosen_format(form, as_json)
    checked = pipeline.run(profile)
    view = report.view_of(checked.profile, checked.findings)
    if chosen == "json":
        text = report.document(view)
    elif chosen == "markdown":
        text = report.markdown(view)
    else:
        text = report.terminal(view, table_width(output), table_color(output))
    emit(text, output)
    if strict and view.findings:
        raise CheckFailed(f"{len(view.findings)} numbers of {profile} are implausible")


@command.command("init", short_help="Begin a profile: a commented skeleton.")
@click.argument("name")
@click.option(
    "--core",
    metavar="NAME|FILE",
    help="Take the core of this profile, such as cortex-m3/flash-3ws, with what it has from "
    "others that it is based on. Default: all is open.",
    shell_complete=completing.profiles,
)
@click.option("--clock", metavar="FREQUENCY", help='Clock of the core, such as "72 MHz".')
@click.option(
    "--devicetree",
    metavar="FILE",
    help="Regions from a preprocessed devicetree source, such as build/zephyr/zephyr.dts.",
    shell_complete=completing.files,
)
@click.option(
    "--svd",
    metavar="FILE",
    help="Regions from a CMSIS-SVD file: peripherals.",
    shell_complete=completing.files,
)
@click.option(
    "--to-fit", is_flag=True, help="Ranges in the place of TODO, for `wcetchar profile fit`."
)
@click.option(
    "--stalls/--no-stalls",
    default=True,
    show_default=True,
    help="With --to-fit: ranges of stalls too. Without, the times of instructions hold them; for "
    "characterizations that do not count stalls.",
)
@click.option(
    "--each-peripheral",
    is_flag=True,
    help="A region for each peripheral, rather than one for those that lie together.",
)
@click.option(
    "--instruction-cache",
    metavar="LINE,SIZE,WAYS",
    help="The core has this one, such as 32,4 KiB,1: bytes of a line, of all, lines of a set.",
)
@click.option("--data-cache", metavar="LINE,SIZE,WAYS", help="The same of data.")
@output_option
def init(
    name: str,
    core: str | None,
    clock: str | None,
    devicetree: str | None,
    svd: str | None,
    to_fit: bool,
    stalls: bool,
    each_peripheral: bool,
    instruction_cache: str | None,
    data_cache: str | None,
    output: str | None,
) -> None:
    """Write a commented skeleton of a hardware profile called NAME. Regions and their addresses
    come from a devicetree source or a CMSIS-SVD file; latencies are left for you and say TODO, so
    that reading the file names each line that is still open. Where the files name no memory, there
    is one without addresses.

    \b
    Examples:
      wcetchar profile init my-board --core cortex-m3/flash-3ws --clock "72 MHz" \\
          --devicetree build/zephyr/zephyr.dts -o my-board.yaml
      wcetchar profile init my-soc --svd soc.svd --to-fit --instruction-cache "32,4 KiB,1" \\
          -o my-soc.yaml
    """
    from wcetchar.pipeline import profile_init as pipeline

    inputs = tuple(f for f in (core, devicetree, svd) if f is not None)
    check_output(output, inputs)
    emit(
        pipeline.run(
            pipeline.Request(
                name,
                core,
                clock,
                devicetree,
                svd,
                to_fit,
                stalls,
                each_peripheral,
                _geometry("--instruction-cache", instruction_cache),
                _geometry("--data-cache", data_cache),
                output,
            )
        ),
        output,
    )


def _geometry(option: str, text: str | None) -> CacheGeometry | None:
    """Raises:
    UsageError: it is no geometry.
    """
    if text is None:
        return None
    # Only here: it reads the units of a profile.
    from wcetchar.store import parse_size

    parts = [part.strip() for part in text.split(",")]
    try:
        line, size, ways = int(parts[0]), parse_size(parts[1]), int(parts[2])
        if len(parts) != 3 or line not in LINE_BYTES or ways < 1 or size % (line * ways):
            raise ValueError(text)
        return CacheGeometry(line, size // (line * ways), ways)
    except (ValueError, IndexError, InputError):
        raise UsageError(
            f"{option} {text!r} is no geometry of a cache",
            expected="LINE,SIZE,WAYS such as `32,4 KiB,1`, with lines of "
            f"{', '.join(map(str, LINE_BYTES))} bytes, and sets that are a power of two",
        ) from None
