"""``wcetchar demo``: the published example, in an empty folder, with nothing installed beside."""

from __future__ import annotations

import click

from wcetchar.cli.common import (
    check_output,
    emit,
    json_option,
    output_option,
    table_color,
    table_width,
)
from wcetchar.pipeline import demo as pipeline
from wcetchar.report import comparison
from wcetchar.report.view import view_of


@click.command("demo")
@json_option
@output_option
def command(as_json: bool, output: str | None) -> None:
    """Price the published CreateThread service on three boards, beside what was measured.

    Needs neither compiler nor emulator. Times are in ns. The characterization, the three hardware
    profiles and the section maps come with this package and go through the same code as every
    other estimate.

    \b
    Example:
      wcetchar demo --json
    """
    check_output(output, ())
    demo = pipeline.run()
    platforms = [
        comparison.Compared(
            name=platform.name,
            view=view_of(platform.estimate),
            measured_ns=platform.measured_ns,
            overestimation_percent=platform.overestimation_percent,
        )
        for platform in demo.platforms
    ]
    if as_json:
        text = comparison.document(platforms)
    else:
        text = comparison.render(platforms, demo.source, table_width(output), table_color(output))
    emit(text, output)
