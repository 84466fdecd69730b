"""``wcetchar capture``: run a firmware under an emulator and record what it does."""

from __future__ import annotations

import json
from pathlib import Path

import click

from wcetchar.cli.common import json_option, progress_bar
from wcetchar.pipeline import capture as pipeline


@click.command("capture")
@click.argument("firmware", type=click.Path(dir_okay=False))
@click.option("--machine", required=True, metavar="NAME", help="Emulated board: mps2-an385.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="RUN",
    help="The trace, written whole or not at all.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="FUNCTION|0xSTART-0xEND",
    help="Leave out what executes there, an idle loop for instance; repeatable.",
)
@click.option(
    "--marked",
    type=click.Path(dir_okay=False),
    metavar="SERVICES",
    help="Record only what lies between the marks that this services file names.",
)
@click.option("--qemu", metavar="PROGRAM", help="Emulator to use instead of the machine's own.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds of real time.")
@json_option
def command(
    firmware: str,
    machine: str,
    output: str,
    exclude: tuple[str, ...],
    marked: str | None,
    qemu: str | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Run FIRMWARE on an emulated machine and write its trace.

    The firmware ends the run by a semihosting exit. Two runs give the same bytes.
    """
    request = pipeline.Request(firmware, output, machine, exclude, marked, qemu, timeout)
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
        click.echo(json.dumps(document, indent=2))
        return
    if result.console:
        click.echo(result.console.rstrip("\n"), err=True)
    click.echo(
        f"{Path(result.output).name}: {result.instructions:,} instructions, "
        f"{result.accesses:,} accesses, {result.exceptions:,} exceptions in "
        f"{result.size:,} bytes ({result.emulator})"
    )
    if result.filtered:
        click.echo(f"left out by the filter: {result.filtered:,} instructions")
