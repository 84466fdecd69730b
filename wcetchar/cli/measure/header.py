"""``wcetchar measure header``: what firmware includes to make readings."""

from __future__ import annotations

import click

from wcetchar.cli.common import check_output, emit, output_option
from wcetchar.pipeline import measure as pipeline


@click.command("header")
@output_option
def command(output: str | None) -> None:
    """Write `wcet_measure.h`, one C header without a library (Apache-2.0). It reads the counter of
    cycles of Armv7-M and Armv8-M cores (DWT) and of RISC-V (mcycle), or a timer that you name,
    around an operation, and prints readings when all are taken. Its first lines say how it is used.

    \b
    Example:
      wcetchar measure header -o wcet_measure.h
    """
    check_output(output, [])
    emit(pipeline.header(), output)
