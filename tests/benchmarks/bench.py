"""``make bench``: speeds and sizes, as ratios taken in one run.

Prints a Markdown table for each group of measurements, or for those that are named; ``--write
FILE`` also puts each between its markers in a page. Absolute figures depend on the machine; the
ratios hold much better, since both sides ran moments apart. ``matrix`` compiles and characterizes
every firmware of the campaign, in build/bench-campaign, with two jobs, which takes hours; the other
groups take minutes. Each table says how long its group took.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import growth
import numpy as np
from datasheet import DEMO, datasheet
from growth import Row
from questions import questions
from start_up import start_up

from wcetchar.capture import CaptureRequest, CaptureResult, run
from wcetchar.image import load_image
from wcetchar.model.trace import Event
from wcetchar.readers import open_trace

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FREERTOS = ROOT / "build/firmware/freertos/freertos.elf"
SUITE = ROOT / "rtos_tests/freertos"
SERVICES = [
    word
    for name in ("services.yaml", "config/basic.yaml", "boards/mps2-an385/image.yaml")
    for word in ("--services", str(SUITE / name))
]
BEGIN, END = "<!-- make bench writes {} from here -->", "<!-- {} to here -->"
NEED_FIRMWARE = {"matrix", "freertos"}


def build(folder: Path, outer: int, inner: int, loops: int | None = None) -> Path:
    """The long firmware: about outer * (6 * inner) instructions; ``loops``: of its service, which
    has three instructions each, rather than 1..16."""
    elf = folder / f"long-{outer}-{inner}-{loops}.elf"
    sizes = f"-Wa,--defsym,OUTER={outer},--defsym,INNER={inner}"
    sizes += f",--defsym,LOOPS={loops}" if loops else ""
    command = ["arm-none-eabi-gcc", "-nostdlib", "-mcpu=cortex-m3", "-mthumb", sizes]
    command += ["-T", str(HERE / "long.ld"), str(HERE / "long.s"), "-o", str(elf)]
    subprocess.run(command, check=True)
    return elf


def capture(elf: Path, output: Path) -> CaptureResult:
    return run(CaptureRequest(elf, load_image(str(elf)).sha256, output))


def timed(action: Callable[[], object], repeat: int = 3) -> float:
    """Seconds of the quickest of several runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def processor_times(*actions: Callable[[], object], repeat: int = 5) -> list[float]:
    """Processor seconds of the quickest run of each of several actions of this process, which take
    turns, so that whatever else the machine does meets all of them alike."""
    best = [float("inf")] * len(actions)
    for _ in range(repeat):
        for i, action in enumerate(actions):
            start = time.process_time()
            action()
            best[i] = min(best[i], time.process_time() - start)
    return best


def plain_run(elf: Path, arguments: tuple[str, ...]) -> None:
    """The same run without the plugin and without the log that it reads."""
    words = list(arguments)
    at = words.index("-d")
    del words[at : at + 2]
    subprocess.run(
        [*words, "-kernel", str(elf)],
        check=True,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def read_all(path: Path, **how: str) -> int:
    """Events of a trace, its instructions printed by nobody."""
    return sum(len(batch) for batch in open_trace(str(path), **how).batches())


def write_execlog(trace: Path, log: Path, instructions: int) -> None:
    """The first instructions of a trace as QEMU 8.2's execlog would have written them."""
    opened = open_trace(str(trace))
    for _ in opened.batches():
        pass
    codes = {c.address: c.code for c in opened.code}
    left = instructions
    with log.open("w") as file:
        line = ""
        for batch in opened.batches():
            rows = zip(
                batch.kind.tolist(), batch.address.tolist(), batch.size.tolist(), strict=True
            )
            for kind, address, _ in rows:
                if kind == Event.INSTRUCTION:
                    file.write(line)
                    left -= 1
                    if left < 0:
                        return
                    code = codes[address]
                    word = int.from_bytes(code, "little")
                    line = f'0, 0x{address:x}, 0x{word:x}, "instruction"\n'
                elif kind in (Event.READ, Event.WRITE):
                    what = "load" if kind == Event.READ else "store"
                    line = f"{line[:-1]}, {what}, 0x{address:08x}, RAM\n"


def write_qemu_log(elf: Path, arguments: tuple[str, ...], log: Path) -> None:
    """The same run as QEMU's own log, without the plugin."""
    words = list(arguments)
    at = words.index("-d")
    words[at : at + 2] = ["-d", "in_asm,exec,nochain,int", "-D", str(log)]
    subprocess.run(
        [*words, "-kernel", str(elf)],
        check=True,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def naive_blocks(log: Path) -> int:
    """A first script for QEMU's log: the instructions of every executed block."""
    events = 0
    listing = 0
    length: dict[str, int] = {}
    with log.open() as file:
        for line in file:
            if line.startswith("Trace 0: "):
                parts = line.split()
                block = parts[2]
                int(parts[3].split("/")[1], 16)
                if listing:
                    length[block] = listing
                    listing = 0
                events += length[block]
            elif line.startswith("0x"):
                int(line.split(":")[0], 16)
                listing += 1
    return events


def naive(log: Path) -> int:
    """What a first script would do: split each line and convert its numbers."""
    events = 0
    with log.open() as file:
        for line in file:
            parts = line.rstrip("\n").split(", ")
            int(parts[1], 16)
            int(parts[2], 16)
            events += 1
            for i in range(4, len(parts) - 1, 3):
                int(parts[i + 1], 16)
                events += 1
    return events


def peak_memory(*command: str) -> float:
    """MB of resident memory that a command needs at most."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return usage.ru_maxrss / 1024


def traces(folder: Path, large: int) -> list[Row]:
    """Capturing, reading, and characterizing by the instruction."""
    found = []
    outer = 200
    elf = build(folder, outer, large // 5 // (6 * outer))
    trace = folder / "long.wct"
    results: list[CaptureResult] = []
    with_plugin = timed(lambda: results.append(capture(elf, trace)))
    result = results[-1]
    without = timed(lambda: plain_run(elf, result.arguments))
    count = result.instructions
    found.append(("capture, instructions a second", f"{count / with_plugin / 1e6:.1f} M", ""))
    found.append(("the same run without the plugin", f"{count / without / 1e6:.1f} M", ""))
    found.append(("capture takes, times that", f"{with_plugin / without:.2f}", ""))
    found.append(("bytes an instruction on disk", f"{result.size / count:.2f}", ""))
    events = read_all(trace)
    reading = timed(lambda: read_all(trace))
    found.append(("plugin stream, events a second", f"{events / reading / 1e6:.1f} M", "30 M"))
    log = folder / "execlog.txt"
    write_execlog(trace, log, 1_000_000)
    how = {"format": "execlog-8.2"}
    text_events = read_all(log, **how)
    ours, split = processor_times(lambda: read_all(log, **how), lambda: naive(log))
    assert naive(log) == text_events
    lines = timed(lambda: subprocess.run(["wc", "-l", log], check=True, stdout=subprocess.DEVNULL))
    found.append(("execlog text, events a second", f"{text_events / ours / 1e6:.2f} M", ""))
    found.append(("times a Python split loop", f"{split / ours:.1f}", "5"))
    found.append(("of the speed of `wc -l`", f"{lines / ours:.4f}", ""))
    blocks = folder / "qemu.log"
    write_qemu_log(build(folder, 1000, 200), result.arguments, blocks)
    block_events = read_all(blocks, format="qemu-log")
    ours, split = processor_times(
        lambda: read_all(blocks, format="qemu-log"), lambda: naive_blocks(blocks), repeat=3
    )
    found.append(("QEMU's own log, events a second", f"{block_events / ours / 1e6:.2f} M", ""))
    found.append(("times a Python split loop", f"{split / ours:.1f}", ""))
    return found + memory(folder, large)


def memory(folder: Path, large: int) -> list[Row]:
    """Peak memory of a whole characterization, on a short and on a long trace, and where windows
    are as long as they may be."""
    found = []
    runs = [
        (f"characterize {size / 1e6:.0f} M instructions", build(folder, 100, size // 600))
        for size in (large // 10, large)
    ]
    runs.append(("characterize windows of 1 M instructions", build(folder, 4, 1, 349_000)))
    for what, elf in runs:
        trace = folder / "memory.wct"
        size = capture(elf, trace).instructions
        command = (*WCETCHAR, "characterize", str(elf), str(trace), "--services")
        start = time.perf_counter()
        peak = peak_memory(*command, str(HERE / "long.yaml"), "-o", str(folder / "long.json"))
        took = time.perf_counter() - start
        found.append((f"{what}, peak memory", f"{peak:.0f} MB", "500 MB"))
        found.append(("  instructions a second", f"{size / took / 1e6:.1f} M", ""))
        trace.unlink()
    return found


WCETCHAR = (sys.executable, "-m", "wcetchar")


def freertos(folder: Path) -> list[Row]:
    """From firmware to characterization."""
    trace, output = folder / "freertos.wct", folder / "freertos.json"
    capturing = (*WCETCHAR, "capture", str(FREERTOS), "--machine", "mps2-an385", "-o", str(trace))
    counting = (*WCETCHAR, "characterize", str(FREERTOS), str(trace), *SERVICES)

    def quiet(command: tuple[str, ...]) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    hardware = ("--profile", "cortex-m3/flash-3ws", "--map", "cortex-m3/map-flash-3ws")
    comparing = (*WCETCHAR, "compare", str(output), str(output), *hardware)
    first = timed(lambda: quiet(capturing))
    second = timed(lambda: quiet((*counting, "-o", str(output))))
    third = timed(lambda: quiet(comparing))
    start = timed(lambda: quiet((*WCETCHAR, "--version")))
    rows_of_full = []
    full = ROOT / "build/campaign/mps2-an385+full/characterization.json"
    if full.exists():
        large = (*WCETCHAR, "compare", str(full), str(full), *hardware)
        took = timed(lambda: quiet(large), repeat=1)
        name = "FreeRTOS `full`: compare of two characterizations, whole process"
        rows_of_full.append((name, f"{took:.1f} s", ""))
    return [
        ("FreeRTOS: capture, whole process", f"{first:.2f} s", ""),
        ("FreeRTOS: characterize, whole process", f"{second:.2f} s", ""),
        ("FreeRTOS: compare of two characterizations, whole process", f"{third:.2f} s", ""),
        *rows_of_full,
        ("  `wcetchar --version`, of characterize", f"{start / second:.3f}", ""),
    ]


def machine() -> str:
    """What it was measured on."""
    cpu = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
    qemu = subprocess.run(["qemu-system-arm", "--version"], capture_output=True, text=True)
    return (
        f"{os.cpu_count()} cores of {cpu}; Python {sys.version.split()[0]}, numpy "
        f"{np.__version__}, {qemu.stdout.splitlines()[0]}; {time.strftime('%Y-%m-%d')}."
    )


def table(group: Callable[[Path], list[Row]], folder: Path) -> str:
    begin = time.perf_counter()
    measured = group(folder)
    seconds = time.perf_counter() - begin
    took = f"{seconds:.0f} s" if seconds < 180 else f"{seconds / 60:.0f} min"
    lines = ["| measured | figure | aim |", "|---|---:|---:|"]
    lines += [f"| {what} | {figure} | {aim} |" for what, figure, aim in measured]
    return "\n".join(lines) + f"\n\nIn {took} on {machine()}"


def write(page: Path, group: str, text: str) -> None:
    """Between the group's markers."""
    begin, end = BEGIN.format(group), END.format(group)
    head, found, rest = page.read_text().partition(begin)
    _, ended, tail = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"{page}: expected the lines '{begin}' and '{end}'")
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}")


def main() -> None:
    groups: dict[str, Callable[[Path], list[Row]]] = {
        "traces": lambda folder: traces(folder, options.large),
        "matrix": lambda folder: growth.matrix(folder, timed),
        "freertos": freertos,
        "growth": growth.growth,
        "questions": questions,
        "start-up": start_up,
        "datasheet": datasheet,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", nargs="*", help=f"of {', '.join(groups)}; all if none is named")
    parser.add_argument("--write", type=Path, help="page to put the tables into")
    parser.add_argument("--large", type=int, default=100_000_000, help="instructions, at most")
    options = parser.parse_args()
    for program in ("qemu-system-arm", "arm-none-eabi-gcc", "wc"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not installed")
    unknown = [name for name in options.group if name not in groups]
    if unknown:
        parser.error(f"there is no group '{unknown[0]}'; there are: {', '.join(groups)}")
    chosen = options.group or list(groups)
    if NEED_FIRMWARE.intersection(chosen) and not FREERTOS.exists():
        raise SystemExit(f"{FREERTOS} is not built; run: make firmware")
    if "datasheet" in chosen and not DEMO.exists():
        raise SystemExit(f"{DEMO} is not there; run: make demo")
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="wcetchar-bench-") as folder:
            text = table(groups[name], Path(folder))
        print(f"{name}:\n\n{text}\n", flush=True)
        if options.write:
            write(options.write, name, text)


if __name__ == "__main__":
    main()
