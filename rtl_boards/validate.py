"""FreeRTOS on the boards in RTL, held against its published figures: `make validate`.

    python rtl_boards/validate.py [--config basic|whole|full|timers ...] [--only TEXT ...]
        [--all] [--runs N] [--jobs N] [--write PAGE]

For each configuration: build it for the board `virt`, capture and characterize it; run the same ELF
file on each board in each of its states; measure each service; `wcetchar validate`. Ends with
status 1 if anything took longer than its figure. What is made stays in build/rtl/validate.

`full` is run in the states alone in which no memory refreshes itself and no other master asks,
unless `--all` is said: one run takes minutes, and those states need several.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "rtos_tests" / "freertos"
EMPTY = "--empty-data"
EMPTY_MASKED = "--empty-masked"
"""The same, and empty where the program masks interrupts: what is masked is measured so."""
WARM = "--warm-data"
"""With the lines there that a service loads from, where they fit."""
WORK = ROOT / "build" / "rtl" / "validate"
CONFIGURATIONS = ("basic", "full")


@dataclass(frozen=True)
class Cell:
    """A core on a board in a state of its caches, and what prices it.

    ``beside``: of what the board can do beside, what it does; options of the bench. ``counted``:
    options of the characterization. ``prices``: which ones, where the state has several.
    ``placed``: the map says of all sections that they lie where they were characterized.
    """

    core: str
    board: str
    caches: str
    profile: str
    section_map: str
    beside: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    prices: str = ""
    placed: bool = False

    @property
    def makes_a_map(self) -> bool:
        """What the shipped map does not say is added to it."""
        return self.placed or self.caches == "warm"

    @property
    def name(self) -> str:
        words = [one.removeprefix("--").replace("-", " ") for one in self.beside]
        state = ", ".join(
            [f"{self.core}, board {self.board.upper()}, caches {self.caches}", *words]
        )
        return f"{state}; {self.prices}" if self.prices else state

    @property
    def varies(self) -> bool:
        """Runs differ, by what the board does beside."""
        return bool(set(self.beside) - {EMPTY, WARM})

    @property
    def folder(self) -> str:
        return "".join([f"{self.core}-{self.board}-{self.caches}", *self.beside])


BUSY = ("--second-master", "--busiest")
DISTURBANCES: dict[str, dict[tuple[str, ...], str]] = {
    "a": {(): "", BUSY[:1]: "-shared", BUSY: "-shared"},
    "b": {(): "", ("--jitter", *BUSY[:1]): "-shared", ("--jitter", *BUSY): "-shared"},
    "c": {
        (): "",
        ("--refresh",): "-refresh",
        ("--refresh", *BUSY[:1]): "-shared",
        ("--refresh", *BUSY): "-shared",
    },
}
DISTURBANCES["d"] = DISTURBANCES["b"]
"""What each board can do beside, and what its profile is called then."""
IDEAL = {"a": "zero-wait", "b": "board-b", "c": "board-c"}
CACHED = {"a": "cached", "b": "board-b-cached", "c": "board-c-cached"}
"""Profiles and maps of `imc`, where each line of instructions is there, and with those it loads."""


def _imc(caches: str) -> Iterator[Cell]:
    """In all that the boards can do beside, with caches of instructions that are ideal, so that
    what is left are waits of data accesses; empty where a service begins; or hold what it needs."""
    for board, kind in (IDEAL if caches == "ideal" else CACHED).items():
        for beside, profile in DISTURBANCES[board].items():
            names = (f"vexriscv/imc-{kind}{profile}", f"vexriscv/map-imc-{kind}")
            yield Cell("imc", board, caches, *names, beside)


def _board_d(
    prices: str, *beside: str, profile: str = "", placed: bool = False, caches: str = "ideal"
) -> Cell:
    """With a data cache, as the program leaves it, or empty where a service begins; with ``cold``
    caches both are, with ``warm`` ones and ``WARM`` both hold what it needs."""
    cached = "" if caches == "ideal" else "-cached"
    names = (f"vexriscv/imac-board-d{cached}{profile}", f"vexriscv/map-imac-board-d{cached}")
    counted = () if profile == "-always-miss" else ("--data-lines", "32")
    return Cell("imac-cached", "d", caches, *names, beside, counted, prices, placed)


def _uncached() -> Iterator[Cell]:
    """With a data cache that all accesses go past."""
    for beside, profile in DISTURBANCES["d"].items():
        names = (f"vexriscv/imac-board-d-uncached{profile}", "vexriscv/map-imac-board-d")
        yield Cell("imac", "d", "ideal", *names, beside)


def _placed() -> Iterator[Cell]:
    """With data that lie where they were characterized, and caches whose contents are known.

    Not with warm data where another master asks: the core goes on so fast then that an interrupt
    that the program raises, by a store behind two others, comes behind where the suite's driver
    expects it.
    """
    for caches, known in (("ideal", EMPTY), ("cold", "")):
        for disturbed, profile in DISTURBANCES["d"].items():
            beside = (known, *disturbed) if known else disturbed
            yield _board_d(PLACED, *beside, profile=profile, placed=True, caches=caches)
    for caches in ("ideal", "warm"):
        yield _board_d(PLACED, WARM, placed=True, caches=caches)


LINES, PLACED = "by lines", "by lines that are placed"
REFERENCE = Cell("imc", "a", "ideal", "vexriscv/imc-zero-wait", "vexriscv/map-imc-zero-wait")
CELLS = (
    *_imc("ideal"),
    *_imc("cold"),
    *_imc("warm"),
    *_uncached(),
    _board_d("as if no load hit", profile="-always-miss"),
    _board_d(LINES),
    _board_d(PLACED, placed=True),
    _board_d(LINES, EMPTY),
    _board_d(LINES, caches="cold"),
    *_placed(),
)

PHASES = {"basic": 12, "full": 2}
"""In how many runs a service meets what memories and other masters do by themselves, refresh at
another time in each: what is measured is the longest."""
JOBS = {"basic": os.cpu_count() or 1, "full": 1}
"""Runs at once: to cut one of `full` into services takes ten gigabytes."""
BUSIEST = ("any", "waited", *map(str, range(10)))
"""Which accesses of the core a second master gets in the way of, run by run: a service begins some
accesses behind a mark."""
STEP = 131
"""Cycles from one phase to the next: prime, so that they spread over what repeats itself."""
SCRIPTS = {"total": "measurements.py", "interrupts": "masked.py"}
"""What measures a run, by the metric."""


@dataclass(frozen=True)
class Run:
    """``left_out``: why invocations were not measured, with how many."""

    files: dict[str, Path]
    left_out: Counter[str]


@dataclass(frozen=True)
class Result:
    """``masked``: the same of how long interrupts were masked."""

    configuration: str
    cell: Cell
    report: dict[str, Any]
    masked: dict[str, Any]
    left_out: list[tuple[str, int]]


def run(command: Sequence[str | Path], *, ok: tuple[int, ...] = (0,)) -> tuple[str, str]:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in ok:
        sys.exit(f"{' '.join(words)}\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
    return done.stdout, done.stderr


def wcetchar(*words: str | Path, ok: tuple[int, ...] = (0,)) -> str:
    return run([sys.executable, "-m", "wcetchar", *words], ok=ok)[0]


@dataclass(frozen=True)
class Program:
    """What runs: a configuration of the suite. ``services``: the options that name its services."""

    configuration: str
    elf: Path
    services: tuple[str, ...]

    @property
    def work(self) -> Path:
        return WORK / self.configuration

    @property
    def reference(self) -> Path:
        return self.work / f"{REFERENCE.folder}-0"

    @property
    def cuts(self) -> tuple[str | Path, ...]:
        """Options of what cuts a run into services."""
        return ("--program", self.elf, "--reference", self.reference, *self.services)

    def before_warm(self, cell: Cell) -> Path:
        """Folder of what an earlier run of the cell's board, in which nothing disturbs, says of
        caches that hold what a service needs: ``full`` of instructions, ``lines`` of data."""
        return self.work / f"{cell.core}-{cell.board}-before-{cell.caches}"


def program_of(configuration: str) -> Program:
    make: list[str | Path] = ["make", "-s", "-C", SUITE, "BOARD=virt", f"CONFIG={configuration}"]
    run(make)
    services = [
        word for name in run([*make, "services"])[0].split() for word in ("--services", name)
    ]
    suffix = "" if configuration == "basic" else f"-{configuration}"
    elf = ROOT / "build" / "firmware" / f"freertos-virt{suffix}" / "freertos.elf"
    return Program(configuration, elf, tuple(services))


def characterizations(program: Program, cells: Sequence[Cell]) -> dict[tuple[str, ...], Path]:
    """One for each of what the cells want to be counted."""
    trace = WORK / f"{program.configuration}.trace"
    wcetchar("capture", program.elf, "--machine", "virt", "-o", trace)
    published = {}
    for counted in dict.fromkeys(cell.counted for cell in cells):
        file = WORK / f"{program.configuration}{''.join(counted)}.json"
        options = (*program.services, "--successions", *counted)
        wcetchar("characterize", program.elf, trace, *options, "-o", file)
        published[counted] = file
    return published


def bench(cell: Cell, program: Program, folder: Path, *options: str | Path) -> None:
    """Runs a program on the cell's board, into a folder that is made."""
    folder.mkdir(parents=True, exist_ok=True)
    board = ROOT / "rtl_boards" / "boards" / f"{cell.board}.yaml"
    core = ROOT / "build" / "rtl" / f"bench-{cell.core}"
    run([core, board, program.elf, "-o", folder / "marks.csv", *options])


def _kept(folder: Path, *names: str) -> list[str | Path]:
    """Options of the bench that write these files."""
    return [word for name in names for word in (f"--{name}", folder / name)]


def run_before_warm(cell: Cell, program: Program) -> None:
    folder = program.before_warm(cell)
    data = WARM in cell.beside
    caches = ("cold",) if cell.caches == "warm" else (cell.caches, EMPTY)
    kept = ("retired", "refills", "emptied", *(["data"] if data else []))
    bench(cell, program, folder, "--caches", *caches, *_kept(folder, *kept))
    run([sys.executable, ROOT / "rtl_boards" / "warm.py", folder, *program.cuts])
    _forget(folder, *kept)


def _forget(folder: Path, *names: str) -> None:
    """What retired is a gigabyte."""
    for name in names or ("retired", "refills"):
        (folder / name).unlink()


def simulated(cell: Cell, program: Program, number: int = 0, masked: bool = False) -> Path:
    """Folder of a run: marks.csv, retired and refills."""
    folder = program.work / f"{cell.folder}-{number}{'-masked' if masked else ''}"
    before = program.before_warm(cell)
    of_options: dict[str, list[str | Path]] = {
        WARM: [before / "lines"],
        # Which accesses.
        "--busiest": [BUSIEST[number % len(BUSIEST)]],
    }
    beside: list[str | Path] = []
    for word in cell.beside:
        beside += [EMPTY_MASKED if masked and word == EMPTY else word, *of_options.get(word, [])]
    if cell.caches == "warm":
        beside += ["--full", before / "full"]
    kept = _kept(folder, "retired", "refills")
    phase = ("--phase", str(number * STEP))
    bench(cell, program, folder, *kept, "--caches", cell.caches, *phase, *beside)
    return folder


def measured_run(cell: Cell, program: Program, number: int) -> Run:
    folder = simulated(cell, program, number)
    found = measure(folder, program.cuts)
    _forget(folder)
    if EMPTY in cell.beside:
        folder = simulated(cell, program, number, masked=True)
        found.files["interrupts"] = measure(folder, program.cuts).files["interrupts"]
        _forget(folder)
    return found


def validate(configuration: str, cells: Sequence[Cell], phases: int, jobs: int) -> list[Result]:
    program = program_of(configuration)
    published = characterizations(program, cells)
    by_folder = {cell.folder: cell for cell in cells}  # cells that differ in prices run once
    warm = {(c.core, c.board, c.caches): c for c in cells if c.caches == "warm" or WARM in c.beside}
    of_reference = measure(simulated(REFERENCE, program), program.cuts)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda cell: run_before_warm(cell, program), warm.values()))
        runs = {
            folder: [of_reference]
            if folder == REFERENCE.folder
            else [
                pool.submit(measured_run, cell, program, n)
                for n in range(phases if cell.varies else 1)
            ]
            for folder, cell in by_folder.items()
        }
        measured = {
            folder: [one if isinstance(one, Run) else one.result() for one in found]
            for folder, found in runs.items()
        }
        _forget(program.reference)
        rows = {cell: [one.files for one in measured[cell.folder]] for cell in cells}
        reports = {
            (cell, metric): pool.submit(
                _against,
                published[cell.counted],
                cell,
                [files[metric] for files in rows[cell]],
                metric,
            )
            for cell in cells
            for metric in SCRIPTS
        }
    return [
        Result(
            configuration,
            cell,
            reports[cell, "total"].result(),
            reports[cell, "interrupts"].result(),
            sum((one.left_out for one in measured[cell.folder]), start=Counter()).most_common(),
        )
        for cell in cells
    ]


def measure(folder: Path, program: Sequence[str | Path]) -> Run:
    files, said = {}, {}
    for metric, script in SCRIPTS.items():
        files[metric] = folder / f"{metric}.csv"
        script_of = ROOT / "rtl_boards" / script
        said[metric] = run([sys.executable, script_of, folder, *program, "-o", files[metric]])[1]
    return Run(files, _left_out(said["total"]))


def _against(published: Path, cell: Cell, runs: Sequence[Path], metric: str) -> dict[str, Any]:
    """All runs, held against the published figures."""
    measured = runs[0].parent.with_name(f"{cell.folder}-{metric}.csv")
    header, *lines = runs[0].read_text(encoding="utf-8").splitlines()
    for one in runs[1:]:
        head, *more = one.read_text(encoding="utf-8").splitlines()
        assert head == header
        lines += more
    measured.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    section_map = made_map(cell, published) if cell.makes_a_map else cell.section_map
    report = wcetchar(
        *("validate", published, "--profile", cell.profile, "--map", section_map),
        *("--measured", measured, "--metric", metric, "--json"),
        ok=(0, 1),
    )
    found: dict[str, Any] = json.loads(report)
    return found


def made_map(cell: Cell, published: Path) -> Path:
    """The cell's map, with what its caches hold; and, of one that is placed, that all sections lie
    where they were characterized: it is that image which runs."""
    shipped = ROOT / "wcetchar" / "hwprofiles" / f"{cell.section_map}.yaml"
    text = shipped.read_text(encoding="utf-8")
    if cell.placed:
        sections = json.loads(published.read_text(encoding="utf-8"))["sections"]
        begins = [f"  {s['name']}: 0x{s['address']:x}" for s in sections if "address" in s]
        lines = [line for line in text.splitlines() if not line.startswith("addresses:")]
        text = "\n".join([*lines, "addresses:", *begins, ""])
    if cell.caches == "warm":
        text = text.replace("instruction cache: cold", "instruction cache: warm")
    if WARM in cell.beside:
        text = text.replace("data cache: cold", "data cache: warm")
    state = "warm" if WARM in cell.beside else "cold"
    name = f"{published.stem}-{cell.core}-{cell.board}-{cell.caches}-{state}-map.yaml"
    file = published.with_name(name)
    file.write_text(text, encoding="utf-8")
    return file


def _left_out(said: str) -> Counter[str]:
    """Why invocations were left out, with how many."""
    found: Counter[str] = Counter()
    for line in said.splitlines():
        if line.startswith("left out: "):
            count, reason = line.rsplit(", ", 1)[1].split(" times: ")
            found[reason] += int(count)
    return found


def _summary(result: Result, report: dict[str, Any]) -> str:
    over = report["overestimation_percent"]
    return (
        f"| {result.configuration} | {result.cell.name} | {report['measurements']:,} | "
        f"{len(report['rows']):,} | {report['unsafe']} | {over['minimum']:.1f} % | "
        f"{over['median']:.1f} % | {over['maximum']:.1f} % |"
    )


def page(results: list[Result]) -> str:
    lines = [
        "# FreeRTOS on the boards in RTL",
        "",
        "Written by `make validate` (`python rtl_boards/validate.py --write "
        "docs/reference/rtl-validation.md`); what the columns",
        "mean, and what was left out and why: [the boards](../explanation/rtl.md). With jitter, "
        "refresh or a second master,",
        f"each service of `basic` is measured in {PHASES['basic']} runs, at other phases of these; "
        "the longest is held against the estimate.",
        "`full` is measured where none of these disturb "
        f"(with `--all` in these states too, in {PHASES['full']} runs each).",
        "",
        "| configuration | core, board, state | measured calls | rows | unsafe | least over |"
        " median | most |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    table = lines[-2:]
    lines += [_summary(result, result.report) for result in results]
    lines += ["", "How long services mask interrupts, of all that let them in again:", "", *table]
    lines += [_summary(result, result.masked) for result in results]
    for result in results:
        lines += ["", f"## {result.configuration}: {result.cell.name}", ""]
        rows = result.report["rows"]
        exact = sum(1 for row in rows if row["estimated_ns"] == row["measured_ns"])
        two = sum(1 for row in rows if row["overestimation_percent"] > 2)
        lines += [
            f"{exact:,} of {len(rows):,} rows are exact to the cycle; {two} are over by more than "
            "2 %. The furthest over of each service, the first ten:",
            "",
            "| service | at | measured ns | estimated ns | over |",
            "|---|---|--:|--:|--:|",
        ]
        worst: dict[str, dict[str, Any]] = {}
        for row in sorted(rows, key=lambda row: -float(row["overestimation_percent"])):
            worst.setdefault(row["service"], row)
        for row in list(worst.values())[:10]:
            at = ", ".join(f"{name} = {value}" for name, value in row["parameters"].items())
            lines.append(
                f"| `{row['service']}` | {at} | {row['measured_ns']:,} | "
                f"{row['estimated_ns']:,} | {row['overestimation_percent']:.1f} % |"
            )
        if result.left_out:
            reasons = "; ".join(f"{count} because it {why}" for why, count in result.left_out)
            lines += ["", f"Invocations that were not measured: {reasons}."]
    return "\n".join(lines) + "\n"


def cells_of(configuration: str, only: Sequence[str], everything: bool) -> list[Cell]:
    """The states that a configuration is run in. A whole name is that state alone, no other whose
    name goes on behind it."""
    names = {cell.name for cell in CELLS}
    chosen = [
        cell
        for cell in CELLS
        if any(text == cell.name if text in names else text in cell.name for text in only)
    ]
    quiet = configuration == "full" and not everything
    return [cell for cell in chosen if not (quiet and cell.varies)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", action="append", help="basic and full, if none is given")
    parser.add_argument("--write", metavar="PAGE", help="write the table to this page of docs")
    parser.add_argument("--only", action="append", help="boards and states whose names hold this")
    parser.add_argument("--all", action="store_true", help="`full` in every state: hours")
    parser.add_argument("--runs", type=int, help="of a state that varies, fewer than the page has")
    parser.add_argument("--jobs", type=int, help="runs at once")
    options = parser.parse_args()
    if options.runs is not None and (options.write or options.runs < 1):
        parser.error("--runs: at least one; the page is of all of them, so not with --write")
    chosen = {
        name: cells_of(name, options.only or [""], options.all)
        for name in options.config or CONFIGURATIONS
    }
    if not any(chosen.values()):
        sys.exit(f"no board and state holds {' or '.join(options.only)}; or try --all")
    WORK.mkdir(parents=True, exist_ok=True)
    results = [
        one
        for name, cells in chosen.items()
        if cells
        for one in validate(
            name, cells, options.runs or PHASES.get(name, 1), options.jobs or JOBS.get(name, 1)
        )
    ]
    text = page(results)
    print(text)
    if options.write:
        Path(options.write).write_text(text, encoding="utf-8")
    if any(one["unsafe"] for result in results for one in (result.report, result.masked)):
        sys.exit(1)


if __name__ == "__main__":
    main()
