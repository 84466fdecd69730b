"""``wcetchar check``: traced invocations against the path models, or services against budgets."""

from __future__ import annotations

from typing import Final

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    emit,
    format_option,
    json_option,
    output_option,
    progress_bar,
    table_color,
    table_width,
)
from wcetchar.errors import CheckFailed, UsageError, few

FORMATS: Final = ("table", "csv", "markdown", "json")
_NAMED: Final = 8
"""Services that the error names at most."""


@click.command("check")
@click.argument(
    "subject", metavar="FIRMWARE|CHARACTERIZATION", shell_complete=completing.characterizations
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=completing.files)
@click.option(
    "--budget",
    metavar="FILE",
    help="Hold the services of a characterization against the budgets of this file.",
    shell_complete=completing.files,
)
@click.option(
    "--baseline",
    metavar="NAME|FILE",
    help="Earlier characterization that growth is held against, in the place of the budget file's.",
    shell_complete=completing.characterizations,
)
@click.option(
    "--junit",
    metavar="FILE",
    help="Also write each budget as a test case, JUnit XML.",
    shell_complete=completing.files,
)
@click.option(
    "--sarif",
    metavar="FILE",
    help="Also write failures with their places, SARIF 2.1.0.",
    shell_complete=completing.files,
)
@click.option(
    "summary",
    "--markdown",
    metavar="FILE",
    help="Also write a summary for a pull request.",
    shell_complete=completing.files,
)
@click.option(
    "--services",
    multiple=True,
    metavar="NAME|FILE",
    help="The vendor's services file; files that are given several times are read as one.",
    shell_complete=completing.section_rules,
)
@click.option(
    "values",
    "--set",
    multiple=True,
    metavar="[RUN:]NAME=VALUE",
    help="Value of a parameter that the firmware does not mark, in one run or all; repeatable.",
    shell_complete=completing.parameters,
)
@click.option(
    "runs_file",
    "--runs",
    metavar="FILE",
    help="Runs file, as of characterize.",
    shell_complete=completing.files,
)
@click.option(
    "--trace-format",
    metavar="NAME",
    help="Trace format, where content is ambiguous, as of characterize.",
)
@click.option("--machine", metavar="NAME", help="Emulated machine, where no trace says it.")
@click.option("--partial", is_flag=True, help="Leave out services that no trace shows.")
@click.option(
    "facts",
    "--facts",
    multiple=True,
    metavar="FILE",
    help="Flow facts; repeatable.",
    shell_complete=completing.files,
)
@click.option(
    "sources",
    "--sources",
    multiple=True,
    metavar="FOLDER",
    help="Where the source files are that flow facts name by text, or that results are to name "
    "from the current folder; repeatable.",
)
@click.option(
    "depth",
    "--call-depth",
    type=click.IntRange(0),
    metavar="N",
    help="Tell contexts apart by their last N calls only. Default: by all.",
)
@click.option(
    "--profile",
    metavar="NAME|FILE",
    help="Price each traced path, and its bound, on this profile; or services, in the place of the "
    "budget file's.",
    shell_complete=completing.profiles,
)
@click.option(
    "section_map",
    "--map",
    metavar="NAME|FILE",
    help="Section map. Default: the profile's own.",
    shell_complete=completing.maps,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    subject: str,
    runs: tuple[str, ...],
    budget: str | None,
    baseline: str | None,
    junit: str | None,
    sarif: str | None,
    summary: str | None,
    services: tuple[str, ...],
    values: tuple[str, ...],
    runs_file: str | None,
    trace_format: str | None,
    machine: str | None,
    partial: bool,
    facts: tuple[str, ...],
    sources: tuple[str, ...],
    depth: int | None,
    profile: str | None,
    section_map: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Replay every invocation that the RUNs (traces of FIRMWARE) show against the path models: each
    must be a path of its model that flow facts permit, count what the model says, and, with a
    profile, cost no more than the bound. Anything else is an error with exit code 1.

    With --budget, hold the services of CHARACTERIZATION (a name or a file) against budgets: time,
    and how long interrupts and preemption are held off, over all paths where that is known. Exit
    code 1 where one is over its budget, has no figure, or grew against a baseline by more than it
    may.

    \b
    Examples:
      wcetchar check firmware.elf firmware.trace --services services.yaml \\
          --facts kernel.ff --sources src --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws
      wcetchar check kernel.json --budget budgets.yaml --baseline released.json \\
          --junit budgets.xml --sarif budgets.sarif --markdown summary.md
    """
    of_budgets: dict[str, object] = {
        "--baseline": baseline,
        "--junit": junit,
        "--sarif": sarif,
        "--markdown": summary,
        "--format": form,
        "--output": output,
    }
    of_replay: dict[str, object] = {
        "RUN": runs,
        "--services": services,
        "--set": values,
        "--runs": runs_file,
        "--trace-format": trace_format,
        "--machine": machine,
        "--partial": partial,
        "--facts": facts,
        "--call-depth": depth is not None,
    }
    if budget is None:
        _refuse(of_budgets, "is of budgets", "--budget FILE")
        if not services:
            raise UsageError(
                "what the traces are held against, or what services may take, is not given",
                expected="--services FILE and traces, or --budget FILE",
            )
        if not runs and runs_file is None:
            raise click.UsageError("Missing argument 'RUN...'.")
        known = (runs_file, trace_format, machine)
        replay = (subject, runs, services, values, known, partial, facts, sources, depth)
        _replay(*replay, profile, section_map, as_json)
        return
    _refuse(of_replay, "is of replaying traces", "a characterization, and no traces")
    further = {"--junit": junit, "--sarif": sarif, "--markdown": summary}
    given = [name for name in (subject, budget, baseline, profile, section_map) if name]
    check_files(output, further, given)
    hardware = (profile, section_map, baseline, sources)
    _budgets(subject, budget, hardware, further, chosen_format(form, as_json), output)


def _refuse(options: dict[str, object], what: str, expected: str) -> None:
    for option, value in options.items():
        if value:
            raise UsageError(f"{option} {what}", expected=expected)


def _budgets(
    characterization: str,
    file: str,
    hardware: tuple[str | None, str | None, str | None, tuple[str, ...]],
    further: dict[str, str | None],
    form: str,
    output: str | None,
) -> None:
    from wcetchar.pipeline import budget as pipeline
    from wcetchar.report import budget, budget_markdown, junit, sarif

    with progress_bar("pricing", "services") as advance:
        checked = pipeline.run(pipeline.Request(characterization, file, *hardware), advance)
    if form == "markdown":
        text = budget_markdown.markdown(checked)
    else:
        text = budget.render(checked, form, table_width(output), table_color(output))
    makers = {
        "--junit": junit.document,
        "--sarif": sarif.document,
        "--markdown": budget_markdown.markdown,
    }
    written = [(makers[option](checked), place) for option, place in further.items() if place]
    emit(text, output)
    for document, place in written:
        emit(document, place)
    if checked.failed:
        failed = list(dict.fromkeys(one.service for one in checked.failed))
        raise CheckFailed(f"{budget.headline(checked)}: {few(failed, _NAMED)}")


def _replay(
    firmware: str,
    runs: tuple[str, ...],
    services: tuple[str, ...],
    values: tuple[str, ...],
    known: tuple[str | None, str | None, str | None],
    partial: bool,
    facts: tuple[str, ...],
    sources: tuple[str, ...],
    depth: int | None,
    profile: str | None,
    section_map: str | None,
    as_json: bool,
) -> None:
    """``known``: runs file, format and machine of the traces."""
    from wcetchar.pipeline import characterize as characterization
    from wcetchar.pipeline import check as pipeline
    from wcetchar.pipeline.flow_facts import PathsRequest
    from wcetchar.report import checked

    runs_file, trace_format, machine = known
    request = characterization.Request(
        firmware,
        runs,
        services,
        format=trace_format,
        machine=machine,
        partial=partial,
        values=values,
        runs=runs_file,
        paths=PathsRequest(facts, sources, depth),
    )
    with progress_bar("replaying", "instructions") as advance:
        found = pipeline.run(request, profile, section_map, advance)
    rows = [
        checked.Row(one.service, one.windows, one.points, one.closest, one.at, one.gaps)
        for one in found
    ]
    text = (
        checked.as_json(rows)
        if as_json
        else checked.render(rows, table_width(None), table_color(None))
    )
    emit(text, None)
