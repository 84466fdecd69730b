"""A profile that fits itself, on a board in RTL: `make fit`.

    python rtl_boards/fit.py [--board a|a-shared|b|c|d|d-posted] [--work FOLDER] [--bench FILE]
        [--alone] [--characterization FILE --measured FILE]

Builds the micro-benchmarks, captures and characterizes them, runs the same ELF file on the board in
each of the situations that tell its prices, measures each, makes a skeleton of a profile from the
devicetree and the geometry of the caches alone, and fits its times. Then FreeRTOS (configuration
`basic`), of which the fit has seen nothing, is held against the fitted profile, and against the one
that was written by hand from the Verilog. Ends with status 1 if anything took longer than its
figure.

| board | situations |
|---|---|
| `a` | no wait states, all code in the cache |
| `a-shared` | the same, undisturbed, and with a second master who takes what he can of the data |
| `b` | slow flash, with the instruction cache cold and warm |
| `c` | one slow memory of 16 bits at half the clock for code and data, as `b` |
| `d` | as `b`, and with a data cache: both caches cold, data alone, and both warm |
| `d-posted` | the same, of a core that is known to go on while two writes are under way |

`--alone`: without FreeRTOS. `--characterization` and `--measured`: of FreeRTOS on board A, as
`make validate` leaves them (build/rtl/validate/basic.json, basic/imc-a-ideal-0/total.csv), not made
anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kept
import validate
from cells import CELLS, Cell
from validate import ROOT, run, wcetchar

SUITE = ROOT / "rtos_tests" / "microbench"
SERVICES = SUITE / "services.yaml"
PLACES = SUITE / "boards" / "virt" / "map.yaml"
BOARDS = ROOT / "rtl_boards" / "boards"
ONE_MEMORY = BOARDS / "c.dts"
"""Of board C; those of the others lie at the same addresses as on board A."""
STEP = "1"
"""What clocks drive takes whole cycles; a fraction is what takes now more and now less."""
GEOMETRY = "32,4 KiB,1"
"""Of both caches, from the Verilog."""


@dataclass(frozen=True)
class Situation:
    """A run of the micro-benchmarks. ``options``: of the bench. ``time``: which of the two times
    that each is measured counts, ``None``: both; the second is that of caches that hold what the
    first has used. ``said``: of its label, to `profile fit`."""

    label: str
    options: tuple[str, ...]
    time: int | None = None
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """What is fitted. ``caches``: options of `profile init`; ``replaced``: lines of the skeleton
    and what the designer writes in their place; ``cell``: of FreeRTOS."""

    core: str
    board: str
    cell: str
    situations: tuple[Situation, ...]
    caches: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    counted: tuple[str, ...] = ()
    devicetree: Path = BOARDS / "a.dts"


def _cache(*known: str) -> str:
    """As the skeleton has it, with what the designer knows beside."""
    return f"{{{', '.join(('line: 32', 'size: 4 KiB', 'ways: 1', *known))}}}"


HIDING = _cache("hides stalls: true", "in vain saves: 1 cycle")


def _posting(writes: int) -> str:
    """Lines of a core that goes on while so many writes are under way, and reads whole words."""
    return f"  write buffer: {writes}\n  data width: 32\n  least width: {{read: 32}}\n"


def _states(label: str, instructions: str, data: str | None = None) -> tuple[str, ...]:
    words = ("--instruction-cache", f"{label}={instructions}")
    return words if data is None else (*words, "--data-cache", f"{label}={data}")


COLD_AND_WARM = (
    Situation("cold", ("--caches", "cold"), said=_states("cold", "cold")),
    Situation("warm", ("--caches", "ideal"), said=_states("warm", "warm")),
)
"""Of a core with an instruction cache."""
FITTED = {
    "a": Fitted(
        "imc",
        "a",
        validate.REFERENCE.name,
        # The second times are those of a core that has its code in the cache, whatever the first
        # were.
        (Situation("warm", ("--caches", "ideal"), 1),),
    ),
    "a-shared": Fitted(
        "imc",
        "a",
        "imc, board A, caches ideal, second master, busiest",
        (
            Situation("quiet", ("--caches", "ideal"), said=("--undisturbed", "quiet")),
            Situation("busy", ("--caches", "ideal", "--second-master", "--busiest", "any")),
        ),
        replaced=(
            (
                "    base: 0x80400000",
                "    base: 0x80400000\n    arbitration: {every: 24 cycles, takes: 0..20 cycles}",
            ),
        ),
        counted=("--successions",),
    ),
    "b": Fitted(
        "imc",
        "b",
        "imc, board B, caches cold",
        COLD_AND_WARM,
        ("--instruction-cache", GEOMETRY),
        (
            (
                f"  instruction cache: {_cache()}",
                # It goes on while a line is loaded.
                f"{_posting(1)}  instruction cache: {HIDING}",
            ),
        ),
        ("--successions",),
    ),
    "c": Fitted(
        "imc",
        "c",
        "imc, board C, caches cold",
        COLD_AND_WARM,
        ("--instruction-cache", GEOMETRY),
        # What the designer knows: one write goes on behind the core, which reads whole words; the
        # memory has 16 bits and half the core's clock.
        (
            (
                "  instruction cache: ",
                f"{_posting(1)}  instruction cache: ",
            ),
            (
                "    bus width: 32    # assumed\n    base: 0x80000000",
                "    bus width: 16\n    clock divider: 2\n    base: 0x80000000",
            ),
        ),
        ("--successions",),
        ONE_MEMORY,
    ),
    "d": Fitted(
        "imac-cached",
        "d",
        "imac-cached, board D, caches cold; by lines that are placed",
        (
            Situation("cold", ("--caches", "cold"), said=_states("cold", "cold", "cold")),
            Situation(
                "data", ("--caches", "ideal", "--empty-data"), said=_states("data", "warm", "cold")
            ),
            Situation("warm", ("--caches", "ideal"), 1, _states("warm", "warm", "warm")),
        ),
        ("--instruction-cache", GEOMETRY, "--data-cache", GEOMETRY),
        # The core carries a load out again that is right behind a store to the same bytes.
        (
            (
                f"  data cache: {_cache()}",
                f"  data cache: {_cache('load behind store: 0..40 cycles')}",
            ),
        ),
        ("--data-lines", "32"),
    ),
}
_D = FITTED["d"]
FITTED["d-posted"] = replace(
    _D,
    # What its designer knows beside: two writes go on behind the core, and what lines hide.
    replaced=(
        *_D.replaced,
        (
            f"  instruction cache: {_cache()}",
            f"{_posting(2)}  accesses in vain: false\n  instruction cache: {HIDING}",
        ),
    ),
    counted=(*_D.counted, "--successions"),
)


def measured_in(fitted: Fitted, situation: Situation, bench: Path, work: Path) -> Iterator[str]:
    """Lines of the table of measurements, the heading first."""
    elf, reference = work / "microbench" / "microbench.elf", work / "run"
    folder = work / situation.label
    folder.mkdir(parents=True, exist_ok=True)
    files = validate.written(folder, "retired", "refills")
    board = BOARDS / f"{fitted.board}.yaml"
    run([bench, board, elf, *situation.options, "-o", folder / "marks.csv", *files])
    file = work / f"{situation.label}.csv"
    script = ROOT / "rtl_boards" / "measurements.py"
    cut = ("--program", elf, "--trap-handler", "mb_trap", "--services", SERVICES)
    of = () if folder == reference else ("--reference", reference)
    named = ("--label", "first", "--label", "second")
    run([sys.executable, script, folder, *of, *cut, *named, "-o", file])
    header, *lines = file.read_text(encoding="utf-8").splitlines()
    label = header.split(",").index("label")
    yield header
    for line in lines:
        cells = line.split(",")
        if situation.time is None or cells[label] == named[1::2][situation.time]:
            yield ",".join([*cells[:label], situation.label, *cells[label + 1 :]])


def measured_by(fitted: Fitted, bench: Path, work: Path) -> Path:
    """The micro-benchmarks on the board, in all situations."""
    elf = work / "microbench" / "microbench.elf"
    folder = work / "run"
    folder.mkdir(parents=True, exist_ok=True)
    files = validate.written(folder, "retired", "refills")
    reference = bench.with_name("bench-imc") if fitted.core != "imc" else bench
    board = BOARDS / "a.yaml"
    run([reference, board, elf, "--caches", "ideal", "-o", folder / "marks.csv", *files])
    tables = [[*measured_in(fitted, one, bench, work)] for one in fitted.situations]
    lines = [tables[0][0], *(line for table in tables for line in table[1:])]
    file = work / "measured.csv"
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return file


def placed(fitted: Fitted, published: Path, work: Path) -> Path:
    """The section map, with where all lies: it is that image which runs."""
    sections = json.loads(published.read_text(encoding="utf-8"))["sections"]
    text = PLACES.read_text(encoding="utf-8").replace(
        "assumptions: [code alignment]", "assumptions: [code alignment, data alignment]"
    )
    if fitted.devicetree == ONE_MEMORY:
        text = text.replace(": code\n", ": external\n").replace(": data\n", ": external\n")
    begins = [f"  {one['name']}: {one['address']:#x}" for one in sections if "address" in one]
    file = work / "map.yaml"
    file.write_text("\n".join([text.rstrip(), "addresses:", *begins, ""]), encoding="utf-8")
    return file


def skeleton_of(fitted: Fitted, work: Path) -> Path:
    file = work / "skeleton.yaml"
    options = ("--devicetree", fitted.devicetree, "--to-fit", "--each-peripheral", *fitted.caches)
    wcetchar("profile", "init", "vexriscv-fitted", *options, "-o", file)
    text = file.read_text(encoding="utf-8")
    for old, new in fitted.replaced:
        if text.count(old) != 1:
            sys.exit(f"{file}: no single line {old!r}")
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return file


def fit(fitted: Fitted, bench: Path, work: Path) -> tuple[Path, dict[str, Any]]:
    """The fitted profile, and what `profile fit` says of it."""
    run(["make", "-s", "-C", SUITE, f"BUILD={work / 'microbench'}"])
    elf, trace = work / "microbench" / "microbench.elf", work / "microbench.trace"
    published, profile = work / "microbench.json", work / "fitted.yaml"
    wcetchar("capture", elf, "--machine", "virt", "-o", trace)
    wcetchar("characterize", elf, trace, "--services", SERVICES, *fitted.counted, "-o", published)
    measured = measured_by(fitted, bench, work)
    skeleton = skeleton_of(fitted, work)
    section_map = placed(fitted, published, work) if fitted.caches else PLACES
    said = [word for one in fitted.situations for word in one.said]
    given = ("--characterization", published, "--profile", skeleton, "--map", section_map)
    answer = wcetchar(
        *("profile", "fit", measured, *given, "--step", STEP, *said, "--json", "-o", profile)
    )
    found: dict[str, Any] = json.loads(answer)
    return profile, found


def freertos(cell: Cell, work: Path) -> tuple[Path, Path, Path | str]:
    """Characterization of `basic`, what its services take on the same board, and its map."""
    validate.WORK = work
    program = validate.program_of("basic")
    published = validate.characterizations(program, [cell])[cell.counted]
    folder = validate.simulated(validate.REFERENCE, program)
    if cell != validate.REFERENCE:
        folder = validate.simulated(cell, program)
    validate.measure(folder, program.cuts, "total")
    section_map = validate.made_map(cell, published) if cell.makes_a_map else cell.section_map
    return published, kept.table(folder, "total"), section_map


def _spread(one: dict[str, Any]) -> str:
    rows = len(one["rows"]) if isinstance(one["rows"], list) else one["rows"]
    over = one["overestimation_percent"]
    return (
        f"{one['unsafe']} of {rows:,} rows unsafe; over: least {over['minimum']:.1f} %, "
        f"median {over['median']:.1f} %, most {over['maximum']:.1f} %"
    )


def _times(found: dict[str, Any]) -> list[str]:
    lines = [f"{'time':<52}{'cycles':>8}  could be"]
    for one in found["times"]:
        if one["paid"]:
            least, most = one["could_be"]
            place = ": ".join(one["place"][1:])
            # Where prices are no sums it is not looked for.
            span = "" if least is None else f"  {least}..{most}"
            lines.append(f"{place:<52}{one['found']:>8}{span}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", choices=FITTED, default="a")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--alone", action="store_true", help="without FreeRTOS")
    parser.add_argument("--characterization", type=Path, help="of FreeRTOS, made before")
    parser.add_argument("--measured", type=Path, help="times of it on board A, measured before")
    options = parser.parse_args()
    if (options.characterization is None) != (options.measured is None):
        parser.error("--characterization and --measured belong together")
    if options.characterization is not None and options.board != "a":
        parser.error("--characterization and --measured are of board A")
    fitted = FITTED[options.board]
    (cell,) = (one for one in CELLS if one.name == fitted.cell)
    name = "fit" if options.board == "a" else f"fit-{options.board}"
    work = (options.work or ROOT / "build" / "rtl" / name).resolve()
    bench = (options.bench or ROOT / "build" / "rtl" / f"bench-{fitted.core}").resolve()
    work.mkdir(parents=True, exist_ok=True)
    profile, found = fit(fitted, bench, work)
    print("\n".join(_times(found)))
    print(f"\nmicro-benchmarks, fitted: {_spread(found['after'])}")
    print(f"left out of a first fit: {_spread(found['check'])}")
    unsafe = found["after"]["unsafe"]
    if not options.alone:
        section_map: Path | str = cell.section_map
        if options.characterization is None:
            published, measured, section_map = freertos(cell, work)
        else:
            published, measured = options.characterization, options.measured
        for name, prices in (("fitted", profile), ("made by hand", cell.profile)):
            given = ("--profile", prices, "--map", section_map)
            said = wcetchar(
                "validate", published, *given, "--measured", measured, "--json", ok=(0, 1)
            )
            report = json.loads(said)
            print(f"FreeRTOS basic, {name}: {_spread(report)}")
            unsafe += report["unsafe"] if prices is profile else 0
    print(f"the profile: {profile}")
    if unsafe:
        sys.exit(1)


if __name__ == "__main__":
    main()
