"""``wcetchar capture``: run a firmware under an emulator and record what it does."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from wcetchar.cli import completing
from wcetchar.cli.common import check_output, emit, json_option, progress_bar, say
from wcetchar.errors import did_you_mean, one_line
from wcetchar.pipeline import capture as pipeline

_NO_NAME = ""  # --machine without a name behind it


def _machine(ctx: click.Context, param: click.Parameter, name: str | None) -> str:
    if name is not None and name in pipeline.MACHINES:
        return name
    listed = "\n".join(f"  {machine}: {what}" for machine, what in pipeline.MACHINES.items())
    problem = f"there is no machine {name!r}" if name else "it needs a name"
    meant = did_you_mean(name, pipeline.MACHINES) if name else None
    problem += f" ({meant})" if meant else ""
    raise click.BadParameter(f"{problem}; the machines there are:\n{listed}")


def _seconds(ctx: click.Context, param: click.Parameter, seconds: float) -> float:
    if math.isnan(seconds) or seconds <= 0:
        raise click.BadParameter(f"{seconds:g} is no time; it needs a number of seconds above 0")
    return seconds


@click.command("capture")
@click.argument("firmware", shell_complete=completing.files)
@click.option(
    "--machine",
    is_flag=False,
    flag_value=_NO_NAME,
    callback=_machine,
    metavar="NAME",
    help=f"Emulated board: {', '.join(pipeline.MACHINES)}. Without a name, lists them.  [required]",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="RUN",
    help="The trace, written whole or not at all.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="FUNCTION|0xSTART-0xEND",
    help="Leave out what executes there, an idle loop for instance (END not included); repeatable.",
)
@click.option(
    "--marked",
    multiple=True,
    metavar="SERVICES",
    help="Record only what lies between the marks that this services file names. Given several "
    "times, the files are read as one.",
)
@click.option(
    "--initialize",
    multiple=True,
    metavar="VARIABLE=VALUE",
    help="What a variable of FIRMWARE holds when it starts, instead of its initial value in the "
    "file; repeatable. The variable has 1, 2, 4 or 8 bytes.",
)
@click.option(
    "--until",
    metavar="FUNCTION[:TIMES]",
    help="Where the run ends, of firmware that does not end it: before FUNCTION executes for the "
    "TIMES-th time (the first).",
)
@click.option("--qemu", metavar="PROGRAM", help="Emulator to use instead of the machine's own.")
@click.option(
    "--timeout",
    default=600.0,
    show_default=True,
    callback=_seconds,
    metavar="SECONDS",
    help="Real time after which the run is given up.",
)
@json_option
def command(
    firmware: str,
    machine: str,
    output: str,
    exclude: tuple[str, ...],
    marked: tuple[str, ...],
    initialize: tuple[str, ...],
    until: str | None,
    qemu: str | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Run FIRMWARE (a linked ELF file) on an emulated machine and write its trace: instructions,
    data addresses with widths and directions, exceptions.

    The firmware ends the run by the semihosting call SYS_EXIT with status 0; or the run ends where
    --until says. Two runs give the same bytes. What the firmware prints is shown on standard error.

    \b
    Semihosting lets firmware open, write and remove files of this machine with
    your rights: run only firmware that you trust.

    A run that is interrupted or fails leaves an older RUN as it was. One that is killed outright
    can leave a hidden file .RUN.*.part beside it; the next capture to RUN removes it.

    \b
    Example:
      wcetchar capture firmware.elf --machine mps2-an385 -o firmware.trace
    """
    check_output(output, (firmware, *marked))
    request = pipeline.Request(
        firmware, output, machine, exclude, marked, initialize, qemu, timeout, until
    )
    with progress_bar("capturing", "bytes") as advance:
        result = pipeline.run(request, advance)
    if as_json:
        document = {
            "schema_version": 1,
            "trace": str(result.output),
            "emulator": result.emulator,
            "arguments": list(result.arguments),
            "instructions": result.instructions,
            "accesses": result.accesses,
            "exceptions": result.exceptions,
            "filtered": result.filtered,
            "bytes": result.size,
            "console": result.console,
        }
        emit(json.dumps(document, indent=2) + "\n", None)
        return
    say(result.console)
    text = (
        f"{one_line(Path(result.output).name)}: {result.instructions:,} instructions, "
        f"{result.accesses:,} accesses, {result.exceptions:,} exceptions in "
        f"{result.size:,} bytes ({one_line(result.emulator)})\n"
    )
    if result.filtered:
        text += f"left out by the filter: {result.filtered:,} instructions\n"
    emit(text, None)
