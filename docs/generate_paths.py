"""Writes docs/reference/freertos-paths.md: path models of the FreeRTOS services, and their bounds.

python docs/generate_paths.py [CONFIG[@BOARD] ...]

Configurations are `basic`, `whole` and `full`; what is not named stays on the page as it is.
`whole` and `full` take about half an hour of a core for each board. Formulas are looked for in
`basic`. Firmware is made in build/firmware, as by make, and its trace beside it, unless there is
one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from wcetchar import __version__, isa, store
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.observed_paths import ObservedPaths
from wcetchar.analysis.resolve import resolve
from wcetchar.image import load_image
from wcetchar.model.path_model import Origin, PathModel
from wcetchar.pipeline import worst_paths
from wcetchar.pipeline.flow_facts import PathsRequest
from wcetchar.pipeline.paths import PathModels, read, with_paths
from wcetchar.readers import open_trace
from wcetchar.report.paths_view import PathView

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "freertos-paths.md"
BUILD = ROOT / "build"
NONE = "–"
CONFIGS = ("basic", "whole", "full")
WITH_FORMULAS = ("basic",)

INTRODUCTION = """\
# FreeRTOS: bounds of all paths

<!-- Written by docs/generate_paths.py; do not edit. -->

For each service of [the firmware](../../rtos_tests/freertos/README.md) the worst path that its
[path model](../explanation/model.md) has, with the
[flow facts](flow-facts.md) that ship beside the services files (`rtos_tests/freertos/**/*.ff`; each
says why it holds). Times are in nanoseconds, at the values of the parameters at which the published
counts cost most.

`python docs/generate_paths.py` makes firmware, traces and models, and writes this page; with names
behind it (`basic`, `whole@virt`) only what they name. `whole` and `full` take about half an hour of
a core for each board.

* *facts*: of the service's model, how many are written by hand, derived by the analysis, and taken
  from what traces showed; facts about loops count once for each place that a loop is called from.
* *accesses*: of its instructions that access data, of how many a flow fact says the section, and of
  how many the analysis proves it, and of how many only traces show it.
* *mark*: the high-water mark, the published counts, priced.
* *traced*: the dearest path that traces took.
* *bound*: the dearest path that there is; an *estimate* rests on what nobody has proved.
* *unseen*: of the blocks on that path, how many no trace passed.
* *formula*: the bound as a formula of the parameters, over their whole ranges, in core cycles; of
  several pieces how many there are. In `whole` and `full` it was not looked for.
* *masked*, *held off*: the longest stretch of all paths with interrupts masked, and with preemption
  held off, and (in brackets) that of the published counts.

"""


@dataclass(frozen=True)
class Cell:
    name: str
    board: str
    machine: str
    profile: str
    section_map: str


CELLS = (
    Cell("Cortex-M3", "mps2-an385", "mps2-an385", "cortex-m3/flash-3ws", "cortex-m3/map-flash-3ws"),
    Cell("RV32IMC", "virt", "virt", "vexriscv/imc-zero-wait", "vexriscv/map-imc-zero-wait"),
)


@dataclass(frozen=True)
class Result:
    """Of a cell in a configuration: views, by which each service is a row, and times in seconds;
    ``formulas``: of all formulas, ``None``: they were not looked for."""

    views: Sequence[PathView]
    build: float
    solve: float
    formulas: float | None


def folder(cell: Cell, config: str) -> Path:
    """As of the firmware's Makefile."""
    parts = [p for p, usual in ((cell.board, "mps2-an385"), (config, "basic")) if p != usual]
    return BUILD / "firmware" / "-".join(["freertos", *parts])


def make(cell: Cell, config: str, *more: str) -> str:
    command = ["make", "-s", "-C", "rtos_tests/freertos", f"BOARD={cell.board}", f"CONFIG={config}"]
    command += more
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def captured(cell: Cell, config: str) -> tuple[Path, Path]:
    """The firmware and its trace."""
    firmware = folder(cell, config) / "freertos.elf"
    if not firmware.is_file():
        make(cell, config)
    trace = firmware.with_name("run.trace")
    if not trace.is_file():
        command = [sys.executable, "-m", "wcetchar", "capture", str(firmware)]
        command += ["--machine", cell.machine, "-o", str(trace), "--timeout", "7200"]
        subprocess.run(command, cwd=ROOT, check=True)
    return firmware, trace


def result(cell: Cell, config: str) -> Result:
    firmware, trace = captured(cell, config)
    services = store.load_services(*make(cell, config, "services").split())
    sources = (str(BUILD / "firmware" / "freertos"), str(ROOT))
    facts = read(PathsRequest(tuple(make(cell, config, "facts").split()), sources))
    image = load_image(str(firmware))
    table = isa.decode_image(image)
    seen = ObservedPaths(table)
    traces = [open_trace(str(trace), image=image, machine=None, format=None)]
    tool = f"wcetchar {__version__}"
    found = characterize(traces, image, table, services, tool=tool, paths=seen)
    resolved = resolve(services, image, table)
    began = time.perf_counter()
    found = with_paths(found, [*PathModels(resolved, seen.observed, facts).all()])
    built = time.perf_counter()
    output = BUILD / "paths" / f"{cell.board}-{config}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(store.characterization_json(found), encoding="utf-8")
    asked = worst_paths.Request(str(output), cell.profile, cell.section_map, maximum=True)
    priced = [*worst_paths.priced(asked)]
    began_solving = time.perf_counter()
    views = [*worst_paths.views(priced, asked)]
    solved = time.perf_counter()
    formulas = None
    if config in WITH_FORMULAS:
        views = [*worst_paths.views(priced, replace(asked, formula=True))]
        formulas = time.perf_counter() - solved
    return Result(views, built - began, solved - began_solving, formulas)


def facts_of(model: PathModel) -> str:
    by = Counter(constraint.origin for constraint in model.constraints)
    return " / ".join(str(by[one]) for one in (Origin.WRITTEN, Origin.AUTOMATIC, Origin.OBSERVED))


def nanoseconds(value: Fraction | None) -> str:
    return NONE if value is None else f"{float(value):,.0f}"


def ratio(view: PathView) -> float | None:
    if view.bound_ns is None or not view.high_water_mark_ns:
        return None
    return float(view.bound_ns / view.high_water_mark_ns)


def row(view: PathView) -> str:
    model, found = view.model, ratio(view)
    if model.gaps:
        word = "none: " + "; ".join(dict.fromkeys(gap.what for gap in model.gaps))
    else:
        word = NONE if view.bound_ns is None else view.word.value
    told = (model.written_accesses, model.proved_accesses, model.observed_accesses)
    passed = (
        set()
        if view.flow is None
        else {model.edges[n].target for n in view.flow.counts if model.edges[n].target >= 0}
    )
    unseen = sum(not model.nodes[n].seen for n in passed)
    return (
        "| "
        + " | ".join(
            (
                f"`{view.service}`",
                ", ".join(f"{name} = {value}" for name, value in view.parameters.items()) or NONE,
                facts_of(model),
                " / ".join(map(str, told)),
                nanoseconds(view.high_water_mark_ns),
                nanoseconds(view.traced_path_ns),
                nanoseconds(view.bound_ns),
                NONE if found is None else f"{found:.3f}",
                NONE if view.flow is None else f"{unseen} / {len(passed)}",
                *stretches(view),
                formula_of(view),
                word,
            )
        )
        + " |"
    )


def formula_of(view: PathView) -> str:
    if view.formula is None:
        return NONE
    pieces = view.formula.pieces
    return f"`{pieces[0].text}`" if len(pieces) == 1 else f"{len(pieces)} pieces"


def stretches(view: PathView) -> list[str]:
    """Masked, and held off."""
    if not view.stretches:
        return [NONE, NONE]
    return [
        f"{nanoseconds(one.bound_ns)} ({nanoseconds(one.traced_ns)})" if one.bound_ns else NONE
        for one in view.stretches
    ]


def longest(of: Result, number: int) -> str:
    """How much longer stretches of all paths are than published ones."""
    pairs = [view.stretches[number] for view in of.views if view.stretches]
    found = sorted(
        float(one.bound_ns / one.traced_ns) for one in pairs if one.traced_ns and one.bound_ns
    )
    if not found:
        return NONE
    return f"median {statistics.median(found):.3f}, largest {found[-1]:.3f} of {len(found)}"


def summary(cell: Cell, config: str, of: Result) -> str:
    ratios = sorted(found for view in of.views if (found := ratio(view)) is not None)
    words = Counter(view.word.value for view in of.views if view.bound_ns is not None)
    model = of.views[0].profile
    median = f"{statistics.median(ratios):.3f}" if ratios else NONE
    told = ", ".join(f"{count} of {word}" for word, count in sorted(words.items()))
    return (
        f"{len(of.views)} services and parts on `{model}`; figures: {told or 'none'}. "
        f"Bound / high-water mark: median {median}, largest "
        f"{f'{ratios[-1]:.3f}' if ratios else NONE}; at most 1.05: "
        f"{sum(one <= 1.05 for one in ratios)} of {len(ratios)}. Longest stretches, all paths / "
        f"published: masked {longest(of, 0)}; held off {longest(of, 1)}. All graphs and models are "
        f"made in {of.build:.1f} s, all are solved in {of.solve:.1f} s"
        f"{formulas_of(of)}, by one process.\n"
    )


def formulas_of(of: Result) -> str:
    if of.formulas is None:
        return ""
    single = sum(v.formula is not None and len(v.formula.pieces) == 1 for v in of.views)
    return (
        f", and all formulas are found in {of.formulas:.1f} s ({single} of {len(of.views)} of one "
        "piece)"
    )


def section(cell: Cell, config: str) -> str:
    """Of a cell in a configuration, without its heading."""
    of = result(cell, config)
    head = (
        "| service | at | facts | accesses | mark | traced | bound | bound / mark | unseen "
        "| masked | held off | formula | word |\n" + "|---" * 13 + "|\n"
    )
    return f"{summary(cell, config, of)}\n{head}" + "".join(row(view) + "\n" for view in of.views)


def sections(page: str) -> dict[str, str]:
    """Of a page that this wrote: heading -> what stands below it."""
    parts = (part.partition("\n") for part in page.split("\n## ")[1:])
    return {heading: text.strip() + "\n" for heading, _, text in parts}


def main() -> int:
    asked = sys.argv[1:] or CONFIGS
    written = sections(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else {}
    chosen = [
        (f"{cell.name}, `{config}`", cell, config, {config, f"{config}@{cell.board}"})
        for config in CONFIGS
        for cell in CELLS
    ]
    if unknown := set(asked) - {name for *_, names in chosen for name in names}:
        print(f"unknown: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    for heading, cell, config, names in chosen:
        if names & set(asked):
            written[heading] = section(cell, config)
            page = (f"## {one}\n\n{written[one]}\n" for one, *_ in chosen if one in written)
            PAGE.write_text((INTRODUCTION + "".join(page)).rstrip() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
