"""Interrupt latency on the boards, held against the published figures.

    python rtl_boards/latency.py CHARACTERIZATION --program ELF --services FILE ...
        [--state NAME ...] [--every CYCLES] [--phase CYCLE] [--each N] [--work FOLDER]

In a run of the program the line of an interrupt rises at many points of time: every so many cycles,
and in each cycle right before stretches with interrupts masked, of each kind the longest ones
(`rises.py`). The bench does so in copies of the board, so one run shows them all, and none disturbs
it. Measured is from the line's rise until the first instruction of the trap handler retires. The
figure is the longest blocking of interrupts, over all services and activities at the worst values
of their parameters, chains included (`wcetchar estimate --maximum`), with what `entry.py` adds.

Each stretch inside of a service is also held against that service's own blocking, at its values of
the parameters: the longest wait for it, less what `entry.py` adds, goes to `wcetchar validate
--metric interrupts`.

Handlers of the program's own interrupts are no activities of the kernel: what waits for one of them
is left out, and counted. Where a program masks interrupts again before two more instructions, this
core takes none in between, and two stretches are one to an interrupt, as they are published: such
places are printed.

The characterization is one with --successions and --data-lines 32, which the data cache of board D
needs (`validate.py` makes it). A latency above its figure ends with status 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import rises
from cells import CELLS, PLACED, Cell
from entry import LATCHED, STAGES, Entry, entry_of
from measurements import TRAP_HANDLER, Row, write
from rises import Stretch
from validate import made_map, wcetchar
from windows import Codes, Program, Run, Window, cut, load

from wcetchar import store
from wcetchar.errors import WcetcharError
from wcetchar.model.service import ServicesFile

ROOT = Path(__file__).resolve().parents[1]
BUILT = Path(os.environ.get("WCETCHAR_RTL", ROOT / "build" / "rtl"))
STATES = (
    "imc, board A, caches ideal",
    "imc, board B, caches ideal, jitter, second master",
    "imc, board C, caches ideal",
    "imc, board C, caches ideal, refresh",
    "imc, board C, caches ideal, refresh, second master",
    "imc, board A, caches cold",
    "imc, board B, caches cold",
    "imc, board C, caches cold",
    "imc, board C, caches cold, refresh, second master",
    "imac, board D, caches ideal",
    f"imac-cached, board D, caches ideal, empty data; {PLACED}",
    f"imac-cached, board D, caches cold; {PLACED}",
    f"imac-cached, board D, caches cold, jitter, second master; {PLACED}",
)
"""Those of `validate.py` that are measured if none is named: all that makes an access wait, and
both caches empty where a service begins."""
REFERENCE = STATES[0]
NOT_ENABLED, NEVER_TAKEN = 0, 0xFFFFFFFF
"""What the bench says in the place of a cycle."""
APPLICATION = "freertos_risc_v_application_interrupt_handler"
"""Executed by the handlers of the program's own interrupts."""
SOON = (4, 6)
"""A line that rises so many cycles before what masks interrupts retires waits for all of it, where
the pipeline holds nothing that is slow."""


@dataclass(frozen=True)
class Blocking:
    """The longest, in cycles; ``service``: whose; ``word``: what the figure is."""

    cycles: int
    service: str
    word: str


def map_of(cell: Cell, characterization: Path) -> Path | str:
    return made_map(cell, characterization) if cell.makes_a_map else cell.section_map


def blocking(characterization: Path, cell: Cell) -> Blocking:
    words = ("--profile", cell.profile, "--map", map_of(cell, characterization))
    words = (*words, "--maximum", "--json")
    found = Blocking(0, "none", "none")
    for one in json.loads(wcetchar("estimate", characterization, *words))["estimates"]:
        chain = one["blocking_chains"].get("interrupts", {})
        if chain.get("not_bounded"):
            sys.exit(
                f"{one['service']}: how long interrupts are masked is not bounded: "
                f"{'; '.join(chain['not_bounded'])}"
            )
        time = Fraction(one["blocking_ns"].get("interrupts", 0), 10**9) * one["core_clock_hz"]
        if math.ceil(time) > found.cycles:
            word = chain.get("word", one["word"])
            found = Blocking(math.ceil(time), one["service"], word)
    return found


def bench(cell: Cell, program: str, marks: Path, *options: str | Path) -> None:
    marks.parent.mkdir(parents=True, exist_ok=True)
    board = ROOT / "rtl_boards" / "boards" / f"{cell.board}.yaml"
    core = BUILT / f"bench-{cell.core}"
    command = [core, board, program, "--caches", cell.caches, *cell.beside, "-o", marks, *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def undisturbed(cell: Cell, program: str, folder: Path) -> Run:
    files = ("--retired", folder / "retired", "--refills", folder / "refills")
    bench(cell, program, folder / "marks.csv", *files)
    return load(folder)


@dataclass(frozen=True)
class Waits:
    """Interrupts by the cycle in which the line ``rose``, and ``waited`` for how many. ``unknown``:
    how many more there were before the program had enabled the interrupt, or that were never taken
    until it ended."""

    rose: Codes
    waited: Codes
    unknown: int

    def only(self, which: rises.Flags) -> Waits:
        return Waits(self.rose[which], self.waited[which], self.unknown)


def measured(cell: Cell, program: str, folder: Path, at: Codes) -> Waits:
    np.unique(at[at >= 0]).astype("<u4").tofile(folder / "rises")
    files = ("--interrupts", folder / "rises", "--latencies", folder / "latencies")
    bench(cell, program, folder / "again.csv", *files)
    if (folder / "again.csv").read_bytes() != (folder / "marks.csv").read_bytes():
        sys.exit(f"{folder}: interrupts have disturbed the run")
    rose, entered = np.fromfile(folder / "latencies", dtype="<u4").reshape(-1, 2).T.astype(np.int64)
    known = (entered != NOT_ENABLED) & (entered != NEVER_TAKEN)
    return Waits(rose[known], (entered - rose)[known], int((~known).sum()))


def inside(windows: Iterable[Window], found: list[Stretch]) -> list[tuple[Window, list[Stretch]]]:
    """Stretches that begin and end in a window, of those that have any."""
    firsts = np.array([one.first for one in found], dtype=np.int64)
    rows = []
    for window in windows:
        low, high = np.searchsorted(firsts, [window.first, window.last])
        own = [one for one in found[low:high] if one.last <= window.last]
        if own:
            rows.append((window, own))
    return rows


@dataclass(frozen=True)
class State:
    """A run, and what is looked at in it. ``aimed``: stretches before which each cycle is tried;
    ``of_services``: those of each window that is not a handler's."""

    cell: Cell
    folder: Path
    program: Program
    run: Run
    entry: Entry
    found: list[Stretch]
    aimed: list[Stretch]
    of_services: list[tuple[Window, list[Stretch]]]

    def is_trap(self, one: Stretch) -> bool:
        return int(self.run.address[one.first]) == self.program.trap_handler

    @property
    def early(self) -> int:
        """Cycles before a stretch in which a line that rises may have to wait for it."""
        return LATCHED + STAGES + self.entry.near

    def points(self) -> Iterator[int]:
        """Cycles in which the line is to rise, those that are aimed."""
        for one in self.aimed:
            # Before the handler's first instruction retires lies what an entry takes.
            trap = self.is_trap(one) * (self.entry.entry + self.entry.lines)
            yield from rises.before(self.run, one, range(-1, self.early + trap + 1))
        for _, own in self.of_services:
            for one in own:
                yield from rises.before(self.run, one, SOON)

    def longest_waits(self, waits: Waits) -> dict[Stretch, int]:
        """For each stretch that is looked at but handlers."""
        at = dict(zip(waits.rose.tolist(), waits.waited.tolist(), strict=True))
        tried = range(-1, self.early + 1)
        return {
            one: max(at.get(cycle, 0) for cycle in rises.before(self.run, one, tried))
            for one in {*self.aimed, *(one for _, own in self.of_services for one in own)}
            if not self.is_trap(one)
        }

    def length(self, one: Stretch) -> int:
        return int(self.run.cycle[one.last] - self.run.cycle[one.first])


def state(options: argparse.Namespace, services: ServicesFile, cell: Cell, reference: Run) -> State:
    folder = options.work / cell.folder
    program = Program(options.program, services, TRAP_HANDLER)
    run = reference if cell.name == REFERENCE else undisturbed(cell, options.program, folder)
    of = rises.changes(program, run)
    for (let_in, masks), times in sorted(rises.too_close(run, of).items()):
        print(
            f"{cell.name}: {let_in:#x} lets interrupts in and {masks:#x} masks them, {times:,} "
            "times: too close for this core to take one: the stretches on both sides are one",
            file=sys.stderr,
        )
    found = list(rises.stretches(of))
    windows = [
        window
        for window in cut(program, run, reference).windows
        if int(run.address[window.first]) != program.trap_handler
    ]
    entry = entry_of(store.load_profile(cell.profile), program, run, of)
    aimed = rises.longest_of_each_kind(run, found, options.each)
    return State(cell, folder, program, run, entry, found, aimed, inside(windows, found))


@dataclass(frozen=True)
class Held:
    """Latencies of a state against its figure. ``beyond``: how much longer one waited than its
    stretch takes, at most ``beside``; ``services``: values of services, ``above`` of these."""

    interrupts: int
    median: float
    longest: int
    figure: int
    beyond: int
    beside: int
    services: int
    above: int

    @property
    def is_above(self) -> bool:
        return self.longest > self.figure or self.beyond > self.beside or self.above > 0


def hold(options: argparse.Namespace, services: ServicesFile, it: State) -> Held:
    regular = np.arange(options.phase, int(it.run.cycle[-1]), options.every, dtype=np.int64)
    points = np.concatenate([regular, np.fromiter(it.points(), dtype=np.int64)])
    waits = measured(it.cell, options.program, it.folder, points)
    own = rises.through(it.run, it.found, it.program.symbols[APPLICATION])
    behind = rises.waits_for(it.run, own, waits.rose, waits.rose + waits.waited)
    waits = waits.only(~behind)
    masked = blocking(options.characterization, it.cell)
    print(
        f"{it.cell.name}: blocking {masked.cycles} of {masked.service} ({masked.word}), {it.entry};"
        f" not held against it: {int(behind.sum())} interrupts behind the program's own, "
        f"{waits.unknown} that the program has not enabled or not taken",
        file=sys.stderr,
    )
    longest = it.longest_waits(waits)
    rows: list[Row] = [
        (window.service, window.values, max(1, max(longest[o] for o in own) - it.entry.beside))
        for window, own in it.of_services
    ]
    names = sorted({p.name for s in services.services for p in s.parameters})
    file = it.folder / "interrupts.csv"
    write(str(file), rows, names, [""])
    prices = map_of(it.cell, options.characterization)
    words = ("--profile", it.cell.profile, "--map", prices, "--metric", "interrupts")
    against = wcetchar(
        *("validate", options.characterization, *words, "--measured", file, "--json"), ok=(0, 1)
    )
    report = json.loads(against)
    return Held(
        interrupts=len(waits.rose),
        median=float(np.median(waits.waited)),
        longest=int(waits.waited.max()),
        figure=it.entry.figure(masked.cycles),
        beyond=max(wait - it.length(one) for one, wait in longest.items()),
        beside=it.entry.beside,
        services=len(report["rows"]),
        above=report["unsafe"],
    )


HEAD = (
    "| state | interrupts | median | longest | figure | beyond a stretch | at most "
    "| services at their values | above |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def row(name: str, one: Held) -> str:
    return (
        f"| {name} | {one.interrupts:,} | {one.median:.0f} | {one.longest:,} | {one.figure:,} | "
        f"{one.beyond} | {one.beside} | {one.services:,} | {one.above} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("characterization", type=Path)
    parser.add_argument("--program", required=True, help="the ELF file that runs")
    parser.add_argument("--services", action="append", required=True)
    parser.add_argument("--state", action="append", choices=STATES, help="all, if none is given")
    parser.add_argument("--every", type=int, default=4999, help="cycles between interrupts")
    parser.add_argument("--phase", type=int, default=0, help="cycle of the first of these")
    parser.add_argument("--each", type=int, default=5, help="stretches of each kind")
    parser.add_argument("--work", type=Path, default=BUILT / "latency", help="folder of runs")
    options = parser.parse_args()
    # `wcetchar` runs in the project's folder.
    options.characterization, options.work = (
        options.characterization.resolve(),
        options.work.resolve(),
    )
    if options.every < 1 or options.each < 1 or options.phase < 0:
        parser.error("--every and --each: at least 1; --phase: at least 0")
    by_name = {cell.name: cell for cell in CELLS}
    services = store.load_services(*options.services)
    cell = by_name[REFERENCE]
    reference = undisturbed(cell, options.program, options.work / cell.folder)
    print(HEAD, flush=True)
    above = False
    for name in options.state or STATES:
        held = hold(options, services, state(options, services, by_name[name], reference))
        print(row(name, held), flush=True)  # each takes minutes
        above |= held.is_above
    if above:
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except WcetcharError as error:
        sys.exit(str(error))
