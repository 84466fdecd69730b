"""``wcetchar campaign``: a matrix of firmware, characterized in parallel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from wcetchar.cli import completing
from wcetchar.cli.common import (
    chosen_format,
    emit,
    format_option,
    json_option,
    say,
    table_color,
    table_width,
)
from wcetchar.errors import UsageError, WcetcharError, one_line
from wcetchar.pipeline import campaign as pipeline
from wcetchar.pipeline.cell import Outcome, Plan
from wcetchar.report import matrix
from wcetchar.report.terminal import text_of

FORMATS = ("table", "markdown", "json")


class CellsFailed(WcetcharError):
    """Some cells failed; the exit code is that of the first."""


@click.command("campaign")
@click.argument("campaign", shell_complete=completing.files)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    help="Where the cells' folders and the index campaign.json go. [required but for --dry-run]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="AXIS=VALUE|CELL",
    help="Only these cells; * and ? match anything. Repeatable: values of one axis are "
    "alternatives, axes go together.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Cells that are made at a time. Default: the processor's cores.",
)
@click.option("--dry-run", is_flag=True, help="List the cells and run nothing.")
@format_option(FORMATS)
@json_option
def command(
    campaign: str,
    output: str | None,
    only: tuple[str, ...],
    jobs: int | None,
    dry_run: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Build, capture and characterize every cell of the matrix that CAMPAIGN spans (a YAML file:
    axes such as board, configuration and heap, and what to do for each combination).

    FOLDER/CELL/ gets firmware.elf, run.trace, characterization.json and log.txt, FOLDER the index
    campaign.json. A build runs each time and decides itself what is new; after it, a cell whose
    firmware, services files, options, emulator and wcetchar are as they were is not made again. A
    run that ends early is taken up where it stopped.

    A cell that fails stops no other; the exit code is then that of the first that failed. Counts
    are of services and instructions; nothing here is time.

    \b
    The campaign file names programs that run with your rights: use only files that you trust.

    \b
    Examples:
      wcetchar campaign campaign.yaml -o results --jobs 2
      wcetchar campaign campaign.yaml --dry-run --only board=mps2-an385
    """
    form = chosen_format(form, as_json)
    request = pipeline.Request(campaign, output or "results", only, jobs or pipeline.cores())
    if dry_run:
        plans = pipeline.plans(request)
        emit(pipeline.listing_json(campaign, plans) if form == "json" else _listing(plans), None)
        return
    if not output:
        raise UsageError("there is no folder for the results", hint="-o FOLDER, or --dry-run")
    with _shown() as progress:
        result = pipeline.run(request, progress)
    if form == "json":
        text = matrix.document(result.index)
    elif form == "markdown":
        text = matrix.markdown(result.index)
    else:
        text = matrix.render(result.index, table_width(None), table_color(None))
    emit(text, None)
    if result.failures:
        error = CellsFailed(
            f"{len(result.failures)} of {progress.cells} cells failed: "
            + ", ".join(failure.cell for failure in result.failures),
            hint=f"{output}/CELL/log.txt has what each said; what succeeded is not made again",
        )
        error.exit_code = result.failures[0].exit_code
        raise error


def _listing(plans: tuple[Plan, ...]) -> str:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    axes = [axis for axis, _ in plans[0].values]
    for heading in ("cell", *axes, "machine"):
        table.add_column(Text(heading))
    for plan in plans:
        table.add_row(*(Text(t) for t in (plan.name, *(v for _, v in plan.values), plan.machine)))
    return text_of([table, Text(f"cells: {len(plans)}")], table_width(None), table_color(None))


class _Progress(pipeline.Progress):
    """A bar on a terminal; elsewhere a line on standard error for each cell that is done."""

    def __init__(self, bar: Progress) -> None:
        self.cells = 0
        self._bar = bar
        self._task = bar.add_task("campaign", total=None, at="")
        self._stages: dict[str, str] = {}
        self._done = 0

    def begins(self, cells: int) -> None:
        self.cells = cells
        self._bar.update(self._task, total=cells)

    def stage(self, cell: str, stage: str) -> None:
        self._stages[cell] = stage
        self._show()

    def done(self, cell: str, outcome: Outcome) -> None:
        self._stages.pop(cell, None)
        self._done += 1
        self._bar.update(self._task, completed=self._done)
        self._show()
        traces = outcome.made.count("trace")
        made = [f"{traces} traces" if traces > 1 else "trace"] if traces else []
        made += [what for what in outcome.made if what != "trace"]
        what = "made " + " and ".join(made) if made else "up to date"
        if outcome.exit_code:
            what = f"failed: {outcome.message}"
        text = f"[{self._done}/{self.cells}] {cell}: {what}"
        if self._bar.disable:
            say(text)
        else:
            for line in text.splitlines():
                self._bar.console.print(Text(one_line(line)), highlight=False)

    def _show(self) -> None:
        at = ", ".join(f"{cell} {stage}" for cell, stage in self._stages.items())
        self._bar.update(self._task, at=one_line(at))


@contextlib.contextmanager
def _shown() -> Iterator[_Progress]:
    console = Console(stderr=True)
    with Progress(
        TextColumn("campaign"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[at]}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        yield _Progress(bar)
