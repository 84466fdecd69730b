"""FreeRTOS on the boards in RTL, held against its published figures: `make validate`.

    python rtl_boards/validate.py [--config basic|whole|full|timers ...] [--only TEXT ...]
        [--all] [--runs N] [--jobs N] [--anew] [--paths] [--write PAGE]

For each configuration: build it for the board `virt`, capture and characterize it; run the same ELF
file on each board in each of its states; measure each service; `wcetchar validate`. Ends with
status 1 if anything took longer than its figure. What is made stays in build/rtl/validate (or where
WCETCHAR_RTL is, in place of build/rtl); what was measured there is taken as it is (`kept.py`), so
that what was ended goes on where it stopped, unless the core, the board, the program, its services
or what measures it have changed, or `--anew` is said.

`full` is run in the states alone in which no memory refreshes itself and no other master asks,
unless `--all` is said: one run takes minutes, and those states need several.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import kept
from cells import (
    BUSIEST,
    EMPTY,
    EMPTY_MASKED,
    PHASES,
    REFERENCE,
    STEP,
    WARM,
    Cell,
    cells_of,
)
from page import Result, page

from wcetchar import store
from wcetchar.image import load_image

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "rtos_tests" / "freertos"
BUILT = Path(os.environ.get("WCETCHAR_RTL", ROOT / "build" / "rtl"))
WORK = BUILT / "validate"
CONFIGURATIONS = ("basic", "full")
JOBS = {"basic": os.cpu_count() or 1, "full": 1}
"""Runs at once: to cut one of `full` into services takes ten gigabytes."""
MOST_CYCLES = (1 << 32) - 1
"""Of a run: cycles are written down in 32 bits."""
SCRIPTS = {"total": "measurements.py", "interrupts": "masked.py"}
"""What measures a run, by the metric."""
SAYS = (
    *(ROOT / "rtl_boards" / name for name in (*SCRIPTS.values(), "windows.py")),
    *sorted((ROOT / "wcetchar" / "isa").rglob("*.py")),
    *sorted((ROOT / "wcetchar" / "image").rglob("*.py")),
)
"""What is measured of a run hangs on these."""
SAYS_WARM = ROOT / "rtl_boards" / "warm.py"
"""And on this one where a cache is warm."""


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

    @cached_property
    def driver(self) -> range:
        """Where the code lies that calls services, and that interrupts come to. Caches that are
        warm hold what a service needs, and nothing of this: a handler waits for its lines."""
        (section,) = (s for s in load_image(str(self.elf)).sections if s.name == ".driver_text")
        return range(section.address, section.address + section.size)

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


def characterizations(
    program: Program, cells: Sequence[Cell], paths: bool = False
) -> dict[tuple[str, ...], Path]:
    """One for each of what the cells want to be counted; ``paths``: with path models."""
    more: list[str | Path] = []
    if paths:
        make = ["make", "-s", "-C", SUITE, "BOARD=virt", f"CONFIG={program.configuration}"]
        facts = run([*make, "facts"])[0].split()
        sources = (ROOT / "build" / "firmware" / "freertos", ROOT)
        more = ["--paths", *(word for name in facts for word in ("--facts", name))]
        more += [word for folder in sources for word in ("--sources", folder)]
    trace = WORK / f"{program.configuration}.trace"
    wcetchar("capture", program.elf, "--machine", "virt", "-o", trace)
    published = {}
    for counted in dict.fromkeys(cell.counted for cell in cells):
        kind = "-paths" if paths else ""
        file = WORK / f"{program.configuration}{kind}{''.join(counted)}.json"
        options = (*program.services, "--successions", *counted, *more)
        wcetchar("characterize", program.elf, trace, *options, "-o", file)
        published[counted] = file
    return published


def on_board(cell: Cell) -> tuple[Path, Path]:
    """The bench with the cell's core, and the cell's board."""
    return BUILT / f"bench-{cell.core}", ROOT / "rtl_boards" / "boards" / f"{cell.board}.yaml"


def bench(cell: Cell, program: Program, folder: Path, *options: str | Path) -> None:
    """Runs a program on the cell's board, into a folder that is made."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ("-o", folder / "marks.csv", "--limit", str(MOST_CYCLES))
    run([*on_board(cell), program.elf, *words, *options])


def written(folder: Path, *names: str) -> list[str | Path]:
    """Options of the bench that write these files."""
    return [word for name in names for word in (f"--{name}", folder / name)]


def run_before_warm(cell: Cell, program: Program) -> None:
    folder = program.before_warm(cell)
    data = WARM in cell.beside
    caches = ("cold",) if cell.caches == "warm" else (cell.caches, EMPTY)
    names = ("retired", "refills", "emptied", *(["data"] if data else []))
    bench(cell, program, folder, "--caches", *caches, *written(folder, *names))
    cache = store.load_profile(cell.profile).core.instruction_cache
    sets = ("--sets", str(cache.sets)) if cache else ()
    run([sys.executable, ROOT / "rtl_boards" / "warm.py", folder, *program.cuts, *sets])
    _forget(folder, *names)


def _forget(folder: Path, *names: str) -> None:
    """What retired is a gigabyte."""
    for name in names or ("retired", "refills"):
        (folder / name).unlink()


def _folder(cell: Cell, program: Program, number: int) -> Path:
    return program.work / f"{cell.folder}-{number}"


def _options(cell: Cell, program: Program, number: int, masked: bool = False) -> list[str | Path]:
    """What tells the bench the cell's state."""
    before = program.before_warm(cell)
    of_options: dict[str, list[str | Path]] = {
        WARM: [before / "lines"],
        # Which accesses.
        "--busiest": [BUSIEST[number % len(BUSIEST)]],
    }
    words: list[str | Path] = ["--caches", cell.caches, "--phase", str(number * STEP)]
    words += ["--seed", str(number + 1)]
    for word in cell.beside:
        words += [word, *of_options.get(word, [])]
    if masked and cell.empties:
        words.append(EMPTY_MASKED)
    if cell.caches == "warm":
        words += ["--full", before / "full"]
        words += [
            "--absent-from",
            str(program.driver.start),
            "--absent-to",
            str(program.driver.stop),
        ]
    return words


def simulated(cell: Cell, program: Program, number: int = 0, masked: bool = False) -> Path:
    """Folder of a run: marks.csv, retired and refills."""
    folder = _folder(cell, program, number)
    folder = folder.with_name(f"{folder.name}-masked") if masked else folder
    options = _options(cell, program, number, masked)
    bench(cell, program, folder, *written(folder, "retired", "refills"), *options)
    return folder


def _key(cell: Cell, program: Program, number: int) -> str:
    """Of all that a run and what is measured of it hang on; what is warm follows from the same."""
    both = (_options(cell, program, number, masked) for masked in (False, True))
    words = [word.name if isinstance(word, Path) else word for one in both for word in one]
    services = [ROOT / word for word in program.services if word != "--services"]
    ran = (*on_board(cell), *on_board(REFERENCE), program.elf)
    warm = [SAYS_WARM] if cell.warm else []
    return kept.key_of(words, [*ran, *services, *SAYS, *warm])


def measured_run(cell: Cell, program: Program, number: int) -> kept.Run:
    """Keeps what it measures. The reference has been run, and is needed further on."""
    folder, key = _folder(cell, program, number), _key(cell, program, number)
    kept.forget(folder)
    if cell.folder != REFERENCE.folder:
        simulated(cell, program, number)
    left_out = measure(folder, program.cuts)
    if cell.folder != REFERENCE.folder:
        _forget(folder)
    if cell.empties:
        other = simulated(cell, program, number, masked=True)
        left_out |= measure(other, program.cuts, "interrupts")
        kept.table(other, "interrupts").replace(kept.table(folder, "interrupts"))
        _forget(other)
    return kept.keep(folder, key, left_out)


def measured(
    program: Program, cells: Sequence[Cell], phases: int, jobs: int, anew: bool
) -> dict[str, list[kept.Run]]:
    """All runs of each cell, by its folder: those that were kept, and the others now."""
    by_folder = {cell.folder: cell for cell in cells}  # cells that differ in prices run once
    runs: dict[str, list[kept.Run | None]] = {}
    for folder, cell in by_folder.items():
        numbers = range(phases if cell.varies else 1)
        runs[folder] = [
            None if anew else kept.taken(_folder(cell, program, n), _key(cell, program, n))
            for n in numbers
        ]
    missing = [(folder, n) for folder, of in runs.items() for n, one in enumerate(of) if not one]
    total = sum(len(of) for of in runs.values())
    print(f"{program.configuration}: {total} runs, {total - len(missing)} kept", file=sys.stderr)
    if missing:
        simulated(REFERENCE, program)
        needed = [by_folder[folder] for folder, _ in missing]
        warm = {(c.core, c.board, c.caches): c for c in needed if c.warm}
        pool = ThreadPoolExecutor(jobs)
        try:
            list(pool.map(lambda cell: run_before_warm(cell, program), warm.values()))
            begun = {
                (folder, n): pool.submit(measured_run, by_folder[folder], program, n)
                for folder, n in missing
            }
            for one in wait(begun.values(), return_when=FIRST_EXCEPTION).done:
                one.result()  # raises what went wrong
            for (folder, n), one in begun.items():
                runs[folder][n] = one.result()
        finally:
            pool.shutdown(cancel_futures=True)  # where one fails, no other begins
        _forget(program.reference)
    return {folder: [one for one in of if isinstance(one, kept.Run)] for folder, of in runs.items()}


def validate(
    configuration: str,
    cells: Sequence[Cell],
    phases: int,
    jobs: int,
    anew: bool = False,
    paths: bool = False,
) -> list[Result]:
    for core, _ in (on_board(REFERENCE), *map(on_board, cells)):
        if not core.exists():
            name = core.name.removeprefix("bench-")
            sys.exit(f"{core}: No such file: {core.name}; next: make -C rtl_boards CORE={name}")
    program = program_of(configuration)
    published = characterizations(program, cells, paths)
    runs = measured(program, cells, phases, jobs, anew)

    def report(cell: Cell, metric: str) -> dict[str, Any]:
        tables = [one.files[metric] for one in runs[cell.folder]]
        return _against(published[cell.counted], cell, tables, metric, paths)

    def left_out(cell: Cell, metric: str) -> list[tuple[str, int]]:
        counts = (one.left_out[metric] for one in runs[cell.folder])
        return sum(counts, start=Counter[str]()).most_common()

    pairs = [(cell, metric) for cell in cells for metric in SCRIPTS]
    with ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(pairs, pool.map(lambda pair: report(*pair), pairs), strict=True))
    return [
        Result(
            configuration,
            cell,
            found[cell, "total"],
            found[cell, "interrupts"],
            left_out(cell, "total"),
            left_out(cell, "interrupts"),
            len(runs[cell.folder]),
        )
        for cell in cells
    ]


def measure(folder: Path, cuts: Sequence[str | Path], *metrics: str) -> dict[str, Counter[str]]:
    """Writes a table for each metric, all if none is named; why invocations were left out."""
    left_out = {}
    for metric in metrics or SCRIPTS:
        script = ROOT / "rtl_boards" / SCRIPTS[metric]
        half = folder / f"{metric}.half"
        left_out[metric] = _left_out(run([sys.executable, script, folder, *cuts, "-o", half])[1])
        half.replace(kept.table(folder, metric))
    return left_out


def _against(
    published: Path, cell: Cell, runs: Sequence[Path], metric: str, paths: bool
) -> dict[str, Any]:
    """All runs, held against the published figures, or the bounds of ``paths``."""
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
        *(("--over-all-paths",) if paths else ()),
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
    for count, reason in re.findall(r"^left out: .*?, (\d+) times: (.*)$", said, re.M):
        found[reason] += int(count)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", action="append", help="basic and full, if none is given")
    parser.add_argument("--write", metavar="PAGE", help="write the table to this page of docs")
    parser.add_argument("--only", action="append", help="boards and states whose names hold this")
    parser.add_argument("--all", action="store_true", help="`full` in every state: hours")
    parser.add_argument(
        "--runs", type=int, help="of each state that varies; the page says how many"
    )
    parser.add_argument("--jobs", type=int, help="runs at once")
    parser.add_argument("--anew", action="store_true", help="take nothing that was kept")
    parser.add_argument(
        "--paths", action="store_true", help="bounds of all paths, in place of published figures"
    )
    options = parser.parse_args()
    if options.paths and options.write:
        parser.error("--write: the page is of published figures")
    if options.runs is not None and options.runs < 1:
        parser.error("--runs: at least one")
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
            name,
            cells,
            options.runs or PHASES.get(name, 1),
            options.jobs or JOBS.get(name, 1),
            options.anew,
            options.paths,
        )
    ]
    text = page(results, shlex.join(["python", "rtl_boards/validate.py", *sys.argv[1:]]))
    print(text)
    if options.write:
        Path(options.write).write_text(text, encoding="utf-8")
    if any(one["unsafe"] for result in results for one in (result.report, result.masked)):
        sys.exit(1)


if __name__ == "__main__":
    main()
