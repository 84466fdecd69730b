"""How time grows with the number of services and of sweep points, and what the FreeRTOS matrix
takes on one core and on two: the second half of ``make bench``."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ruamel.yaml import YAML

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WCETCHAR = (sys.executable, "-m", "wcetchar")
SUITE = ROOT / "rtos_tests" / "freertos"
KERNEL = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
JOBS = 2
"""Of the matrix, on machines that have as many cores."""

Row = tuple[str, str, str]
"""What is measured, its figure, and the aim if there is one."""

HEAD = """
 .syntax unified
 .cpu cortex-m3
 .thumb
 .section .vectors, "a"
 .word 0x20010000, reset + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
 .section .marks, "aw", %nobits
 .global wcet_mark
 .type wcet_mark, %object
 .size wcet_mark, 12288
wcet_mark: .space 12288
 .section .ram, "aw", %nobits
 .space 64
 .text
 .macro function name
 .p2align 2
 .type \\name, %function
 .global \\name
\\name:
 .endm
 function reset
 ldr r4, =0x20000000
"""
CALLS = """
 ldr r7, ={points}
1: ldr r5, =wcet_mark
 add r1, r5, #8192
 strb r7, [r1, r7]
 ldr r1, =wcet_mark + {mark}
 strb r1, [r1]
 mov r0, r7
 bl service{mark}
 ldr r1, =wcet_mark + 4096 + {mark}
 strb r1, [r1]
 subs r7, #1
 bne 1b
 b 2f
 .pool
2:
"""
LAST = """
 movs r0, #0x18
 ldr r1, =0x20026
 bkpt 0xab
 .pool
 .size reset, . - reset
"""
SERVICE = """
 function service{mark}
 push {{r4, lr}}
 cpsid i
1: str r0, [r4, #8]
 subs r0, #1
 bne 1b
 cpsie i
 ldr r0, [r4]
 pop {{r4, pc}}
 .size service{mark}, . - service{mark}
"""
SERVICES = """
  service{mark}:
    mark: {mark}
    kind: call
    entries: [service{mark}]
    parameters:
      N: {{kind: argument, range: 1..{points}, meaning: loops}}
"""


def made(folder: Path, services: int, points: int) -> tuple[Path, Path]:
    """A firmware with so many services, each called at so many points, and its services file."""
    marks = range(1, services + 1)
    source = HEAD + "".join(CALLS.format(points=points, mark=mark) for mark in marks) + LAST
    source += "".join(SERVICE.format(mark=mark) for mark in marks)
    assembler, elf = folder / "sweep.s", folder / f"sweep-{services}-{points}.elf"
    assembler.write_text(source)
    command = ["arm-none-eabi-gcc", "-nostdlib", "-mcpu=cortex-m3", "-mthumb"]
    command += ["-T", str(HERE / "long.ld"), str(assembler), "-o", str(elf)]
    subprocess.run(command, check=True)
    yaml = folder / f"sweep-{services}-{points}.yaml"
    head = (HERE / "long.yaml").read_text().partition("  service:")[0]
    head = head.replace("values: 256", "values: 4096")
    yaml.write_text(
        head + "".join(SERVICES.format(mark=mark, points=points) for mark in marks).lstrip("\n")
    )
    return elf, yaml


def processor_seconds(*command: str) -> float:
    """Processor time of a command and what it starts."""
    before = _of_children()
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=quiet, stderr=quiet, stdin=quiet)
    return _of_children() - before


def _of_children() -> float:
    """Processor time of all commands that have ended, and of what these started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def characterizing(folder: Path, services: int, points: int) -> float:
    elf, yaml = made(folder, services, points)
    trace = folder / "sweep.trace"
    capture = (*WCETCHAR, "capture", str(elf), "--machine", "mps2-an385", "-o", str(trace))
    subprocess.run(capture, check=True, capture_output=True)
    command = (*WCETCHAR, "characterize", str(elf), str(trace), "--services", str(yaml))
    output = ("-o", str(folder / "sweep.json"))
    return min(processor_seconds(*command, *output) for _ in range(2))


def growth(folder: Path) -> list[Row]:
    """Processor time of characterizing, as multiples of what ten services at 16 points take."""
    base = characterizing(folder, 10, 16)
    found = [("characterize 10 services at 16 points each", f"{base:.2f} s", "")]
    for services, points in ((40, 16), (160, 16), (10, 64), (10, 256), (10, 1024)):
        took = characterizing(folder, services, points)
        what = f"  {services} services at {points} points, times that"
        found.append((what, f"{took / base:.1f}", ""))
    return found


def compiled_anew(folder: Path) -> Path:
    """The FreeRTOS campaign, but each cell's firmware is built in the cell's own folder: whatever
    build/firmware has, a new cell is compiled."""
    yaml = YAML()
    campaign = yaml.load(SUITE / "campaign.yaml")
    make, *words = campaign["build"]["command"]
    campaign["build"]["command"] = [make, "-C", str(SUITE), *words, "BUILD={output}/firmware"]
    campaign["firmware"] = "{output}/firmware/freertos.elf"
    for files in (campaign, *campaign["further services"]):
        key = "services" if files is campaign else "files"
        files[key] = [str(SUITE / file) for file in files[key]]
    made = folder / "campaign.yaml"
    yaml.dump(campaign, made)
    return made


def matrix(folder: Path, timed: Callable[..., float]) -> list[Row]:
    """The FreeRTOS campaign, from sources to tables: every cell once, into build/bench-campaign
    (that of `make campaign` stays as it is); and the configuration `basic` of every board, with one
    job and with two. Each firmware is compiled anew; only the kernel's source is there. It takes
    hours, so that its processor time is said, too, which hangs less on what the machine does
    beside."""
    jobs = min(JOBS, os.cpu_count() or 1)
    campaign = compiled_anew(folder)
    kernel = os.environ | {"FREERTOS_KERNEL": os.environ.get("FREERTOS_KERNEL") or str(KERNEL)}

    def run(number: int, output: Path, *only: str, again: bool = False) -> None:
        if not again:
            shutil.rmtree(output, ignore_errors=True)
        command = (*WCETCHAR, "campaign", str(campaign), "-o", str(output), "--jobs", str(number))
        subprocess.run((*command, *only), check=True, capture_output=True, cwd=ROOT, env=kernel)

    whole, basic = ROOT / "build" / "bench-campaign", ("--only", "config=basic")
    before = _of_children()
    took = timed(lambda: run(jobs, whole), repeat=1)
    used = _of_children() - before
    everything = len(list(whole.glob("*/characterization.json")))
    output = folder / "matrix"
    alone = timed(lambda: run(1, output, *basic), repeat=1)
    together = timed(lambda: run(jobs, output, *basic), repeat=1)
    nothing = timed(lambda: run(jobs, output, *basic, again=True), repeat=1)
    cells = len(list(output.glob("*/characterization.json")))
    return [
        (f"FreeRTOS, sources to tables of {everything} firmware, {jobs} jobs", f"{took:.0f} s", ""),
        ("  processor time of all", f"{used:.0f} s", ""),
        (f"FreeRTOS `basic` on {cells} boards, {jobs} jobs", f"{together:.1f} s", ""),
        ("  one job takes, times that", f"{alone / together:.2f}", ""),
        ("  when nothing has changed, times that", f"{nothing / together:.3f}", ""),
    ]
