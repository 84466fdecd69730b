"""A profile that fits itself, on board A: `make fit`.

    python rtl_boards/fit.py [--work FOLDER] [--bench FILE] [--alone]
        [--characterization FILE --measured FILE]

Builds the micro-benchmarks, captures and characterizes them, runs the same ELF file on board A with
ideal caches, measures each, makes a skeleton of a profile from the board's devicetree alone, and
fits its times. Then FreeRTOS (configuration `basic`), of which the fit has seen nothing, is held
against the fitted profile, and against the one that was written by hand from the Verilog. Ends with
status 1 if anything took longer than its figure.

`--alone`: without FreeRTOS. `--characterization` and `--measured`: of FreeRTOS, as `make validate`
leaves them (build/rtl/validate/basic.json, basic/imc-a-ideal-0/total.csv), not made anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import kept
import validate
from validate import ROOT, run, wcetchar

SUITE = ROOT / "rtos_tests" / "microbench"
SERVICES = SUITE / "services.yaml"
PLACES = SUITE / "boards" / "virt" / "map.yaml"
BOARD = ROOT / "rtl_boards" / "boards" / "a.yaml"
DEVICETREE = BOARD.with_suffix(".dts")
HAND_MADE = validate.REFERENCE.profile
STEP = "1"
"""What clocks drive takes whole cycles; a fraction is what takes now more and now less."""


def measured_by(bench: Path, work: Path) -> Path:
    """The micro-benchmarks on the board: each is measured as caches are, and once more. The second
    times are those of a core that has its code in the cache, whatever the first were."""
    elf = work / "microbench" / "microbench.elf"
    folder = work / "run"
    folder.mkdir(parents=True, exist_ok=True)
    files = validate.written(folder, "retired", "refills")
    run([bench, BOARD, elf, "--caches", "ideal", "-o", folder / "marks.csv", *files])
    file = work / "measured.csv"
    script = ROOT / "rtl_boards" / "measurements.py"
    cut = ("--program", elf, "--trap-handler", "mb_trap", "--services", SERVICES)
    run([sys.executable, script, folder, *cut, "--label", "cold", "--label", "warm", "-o", file])
    header, *lines = file.read_text(encoding="utf-8").splitlines()
    label = header.split(",").index("label")
    chosen = [line for line in lines if line.split(",")[label] == "warm"]
    warm = work / "warm.csv"
    warm.write_text("\n".join([header, *chosen, ""]), encoding="utf-8")
    return warm


def fitted(bench: Path, work: Path) -> tuple[Path, dict[str, Any]]:
    """The fitted profile, and what `profile fit` says of it."""
    run(["make", "-s", "-C", SUITE, f"BUILD={work / 'microbench'}"])
    elf, trace = work / "microbench" / "microbench.elf", work / "microbench.trace"
    published, skeleton = work / "microbench.json", work / "skeleton.yaml"
    profile = work / "fitted.yaml"
    wcetchar("capture", elf, "--machine", "virt", "-o", trace)
    wcetchar("characterize", elf, trace, "--services", SERVICES, "-o", published)
    measured = measured_by(bench, work)
    options = ("--devicetree", DEVICETREE, "--to-fit", "--each-peripheral")
    wcetchar("profile", "init", "vexriscv-fitted", *options, "-o", skeleton)
    given = ("--characterization", published, "--profile", skeleton, "--map", PLACES)
    said = wcetchar("profile", "fit", measured, *given, "--step", STEP, "--json", "-o", profile)
    found: dict[str, Any] = json.loads(said)
    return profile, found


def freertos(work: Path) -> tuple[Path, Path]:
    """Characterization of `basic`, and what its services take on the same board."""
    validate.WORK = work
    cell = validate.REFERENCE
    program = validate.program_of("basic")
    published = validate.characterizations(program, [cell])[cell.counted]
    folder = validate.simulated(cell, program)
    validate.measure(folder, program.cuts, "total")
    return published, kept.table(folder, "total")


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
            lines.append(f"{place:<52}{one['found']:>8}  {least}..{most}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "rtl" / "fit")
    parser.add_argument("--bench", type=Path, default=ROOT / "build" / "rtl" / "bench-imc")
    parser.add_argument("--alone", action="store_true", help="without FreeRTOS")
    parser.add_argument("--characterization", type=Path, help="of FreeRTOS, made before")
    parser.add_argument("--measured", type=Path, help="times of it on board A, measured before")
    options = parser.parse_args()
    if (options.characterization is None) != (options.measured is None):
        parser.error("--characterization and --measured belong together")
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    profile, found = fitted(options.bench.resolve(), work)
    print("\n".join(_times(found)))
    print(f"\nmicro-benchmarks, fitted: {_spread(found['after'])}")
    print(f"left out of a first fit: {_spread(found['check'])}")
    unsafe = found["after"]["unsafe"]
    if not options.alone:
        made = options.characterization is None
        published, measured = (
            freertos(work) if made else (options.characterization, options.measured)
        )
        for name, prices in (("fitted", profile), ("made by hand", HAND_MADE)):
            given = ("--profile", prices, "--map", validate.REFERENCE.section_map)
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
