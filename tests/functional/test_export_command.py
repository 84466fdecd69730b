"""`wcetchar export`: a dozen instructions whose traces are written by hand, and FreeRTOS, on
several profiles; what viewers read is what `wcetchar estimate` says of the same."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hand_traces import AT_RESET, BEGIN, SCRIPT, instruction, registers_of
from needs import need
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from wcetchar.cli import main
from wcetchar.image import load_image
from wcetchar.report import execution

ROOT = Path(__file__).resolve().parents[2]
SOURCE = f"""{BEGIN}
function start
  nop
2: bl work
  b.n 2b
.size start, .-start
function work
  push {{r4, lr}}
1: bl step
  subs r0, #1
  bne 1b
  pop {{r4, pc}}
.size work, .-work
function step
  ldr r3, [r1]
  str r3, [r1, #32]
  bx lr
.size step, .-step
"""
SERVICES = """schema: wcetchar/services/1
kernel: {name: loop, version: "1"}
sections:
  .text: {kind: code, linker sections: [.text]}
  .vectors: {kind: data, linker sections: [.vectors]}
  data: {kind: stack, linker sections: [.ram]}
hardware: {vector section: .vectors, main stack: data, task stack: data}
services:
  work:
    kind: call
    entries: [work]
    parameters:
      N: {kind: KIND, range: 1..40, meaning: turns}
"""
STATE, ARGUMENT = "state", "argument, argument: 0"
MAP = """schema: wcetchar/section-map/1
name: m
sections: {.text: CODE, .vectors: CODE, data: DATA}
"""
OWN = """schema: wcetchar/hardware-profile/1
name: own
description: of a test
based on: cortex-m3/flash-3ws
core:
  CORE
regions:
  REGIONS
"""
CACHES = OWN.replace(
    "CORE",
    "instruction cache: {line: 16, size: 64 B, ways: 2, replacement: lru, "
    "fetches ahead: {behind: 22, speculative: 12}}\n"
    "  data cache: {line: 16, size: 64 B, ways: 2, replacement: lru}",
).replace(
    "REGIONS",
    "flash: {fetch: 1 cycle, line refill: 10 cycles}\n"
    "  sram: {load miss penalty: 7 cycles, write: 3 cycles}",
)
BUSY = OWN.replace("CORE", "write buffer: 1").replace(
    "REGIONS",
    "flash: {refresh: {every: 113 cycles, takes: 6 cycles}}\n  sram: {clock divider: 2}",
)
TURNS = (1, 2, 3, 5, 8)
STACK = 0x20000F00
RAM = 0x20000100


class Place:
    """A folder with the files of a test."""

    def __init__(self, folder: Path, elf: Path) -> None:
        self.folder, self.elf = folder, elf
        self.image = load_image(str(elf))
        self.at = {s.name: s.address for s in self.image.symbols}

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def trace(self, n: int) -> str:
        """Two calls with this argument, in Renode's text."""
        lines: list[str] = []

        def step(address: int, length: int, r0: int, *accesses: str) -> None:
            lines.append(instruction(address, self.image.read(address, length)))
            lines.extend(accesses)
            lines.extend(registers_of(r0))

        start, work, inner = (self.at[name] for name in ("start", "work", "step"))
        step(start, 2, n, AT_RESET)
        for _ in range(2):
            step(start + 2, 4, n)
            step(
                work,
                2,
                n,
                *(f"MemoryWrite with address 0x{STACK + k:X}, value 0x0\n" for k in (0, 4)),
            )
            for left in range(n, 0, -1):
                step(work + 2, 4, left)
                step(inner, 2, left, f"MemoryRead with address 0x{RAM:X}, value 0x0\n")
                step(inner + 2, 2, left, f"MemoryWrite with address 0x{RAM + 32:X}, value 0x0\n")
                step(inner + 4, 2, left)
                step(work + 6, 2, left)
                step(work + 8, 2, left - 1)
            step(
                work + 10,
                2,
                0,
                *(f"MemoryRead with address 0x{STACK + k:X}, value 0x0\n" for k in (0, 4)),
            )
            step(start + 6, 2, 0)
        return self.write(f"n{n}.log", "".join(lines))

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    def inputs(self, kind: str = STATE) -> list[str]:
        traces = [self.trace(n) for n in TURNS]
        given = [str(self.elf), *traces]
        given += ["--services", self.write("services.yaml", SERVICES.replace("KIND", kind))]
        if kind == STATE:
            given += [f"--set={t}:N={n}" for t, n in zip(traces, TURNS, strict=True)]
        return given

    def hardware(self, profile: str = "cortex-m3/flash-3ws", code: str = "flash") -> list[str]:
        if "\n" in profile:
            profile = self.write("profile.yaml", profile)
        return [
            "--profile",
            profile,
            "--map",
            self.write(
                "map.yaml",
                MAP.replace("CODE", code).replace(
                    "DATA", "data sram" if code == "code sram" else "sram"
                ),
            ),
        ]

    def export(self, form: str, *options: str, hardware: list[str] | None = None) -> Result:
        self.output = self.folder / f"out.{form}"
        self.output.unlink(missing_ok=True)
        given = options if "--services" in options else (*self.inputs(), *options)
        return self.run(
            *("export", *given, *(hardware or self.hardware())),
            *("--format", form, "-o", str(self.output)),
        )


@pytest.fixture
def place(tmp_path: Path, assemble: Callable[..., Path]) -> Place:
    return Place(tmp_path, assemble(SOURCE, SCRIPT))


def annotated(file: Path, *options: str) -> str:
    need("callgrind_annotate", "valgrind")
    done = subprocess.run(
        ["callgrind_annotate", "--threshold=100", "--show-percs=no", *options, str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def total(text: str) -> int:
    """The program's, of the first event."""
    match = re.search(r"^ *([\d,]+) .*PROGRAM TOTALS$", text, re.MULTILINE)
    assert match is not None
    return int(match[1].replace(",", ""))


PROFILES = [
    ("cortex-m3/flash-3ws", "flash"),
    ("cortex-m3/flash-3ws", "code ram"),
    ("cortex-m3/zero-wait-sram", "code sram"),
    (CACHES, "flash"),
    (BUSY, "flash"),
]


@pytest.mark.parametrize(
    ("profile", "code"), PROFILES, ids=["flash", "ram", "sram", "caches", "busy"]
)
def test_totals_are_those_of_estimates(place: Place, profile: str, code: str) -> None:
    hardware = place.hardware(profile, code)
    counted = ["--successions", "--data-lines", "16"] if "\n" in profile else []
    known = str(place.folder / "kernel.json")
    done = place.run("characterize", *place.inputs(), *counted, "-o", known)
    assert done.exit_code == 0, done.output
    for n in TURNS:
        done = place.run("estimate", known, *hardware, "--set", f"N={n}", "--json")
        assert done.exit_code == 0, done.output
        (estimate,) = json.loads(done.stdout)["estimates"]
        expected = Fraction(str(estimate["total_ns"])) * 1000
        done = place.export("callgrind", *counted, "--set", f"N={n}", hardware=hardware)
        assert done.exit_code == 0, done.output
        text = annotated(place.output, "--auto=no")
        assert total(text) == expected
        assert (profile is CACHES) == ("lines that caches load" in text)
    done = place.export("callgrind", *counted, hardware=hardware)
    assert total(annotated(place.output, "--auto=no")) == expected  # the dearest is the last


def test_source_lines(place: Place) -> None:
    """By the assembler's source, which the program's debug information names."""
    done = place.export("callgrind", "--set", "N=5")
    assert done.exit_code == 0, done.output
    text = annotated(place.output, "--auto=yes", f"--include={place.folder}", "--show=Instructions")
    lines = {
        match[2].strip(): int(match[1].replace(",", ""))
        for match in re.finditer(r"^ *([\d,]+) +([^=\d\s].*|1: .*)$", text, re.MULTILINE)
        if not match[2].startswith(("PROGRAM", "events", "???"))
    }
    assert {line: n for line, n in lines.items() if ":[" not in line and "test.s" not in line} == {
        "push {r4, lr}": 1,
        "1: bl step": 5,
        "subs r0, #1": 5,
        "bne 1b": 5,
        "pop {r4, pc}": 1,
        "ldr r3, [r1]": 5,
        "str r3, [r1, #32]": 5,
        "bx lr": 5,
    }
    assert re.search(r"=> \S*test\.s:step \(5x\)", text)


def speedscope_names(place: Place) -> list[str]:
    return [profile["name"] for profile in json.loads(place.output.read_text())["profiles"]]


def test_which_invocations(place: Place) -> None:
    """A value chooses; all are shown where that is asked for, equal ones as well."""
    assert place.export("speedscope").exit_code == 0
    assert speedscope_names(place) == ["work N=8"]
    assert place.export("speedscope", "--set", "N=3").exit_code == 0
    assert speedscope_names(place) == ["work N=3"]
    assert place.export("speedscope", "--set", "work.N=3", "--all").exit_code == 0
    assert speedscope_names(place) == ["work N=3"] * 2
    assert place.export("speedscope", "--all", "--service", "work").exit_code == 0
    assert speedscope_names(place) == [f"work N={n}" for n in TURNS for _ in range(2)]
    # Of an argument the value is read from registers, and chooses all the same.
    assert place.export("speedscope", *place.inputs(ARGUMENT), "--set", "N=2").exit_code == 0
    assert speedscope_names(place) == ["work N=2"]


def test_perfetto(place: Place) -> None:
    assert place.export("perfetto", "--all").exit_code == 0
    trace = protos.Trace()
    trace.ParseFromString(place.output.read_bytes())
    names = [p.track_event.name for p in trace.packet if p.track_event.name]
    expected: list[str] = []
    for n in TURNS:
        expected += [f"work N={n}", "work", *["step"] * n] * 2
    assert names == expected
    times = [p.timestamp for p in trace.packet if p.HasField("track_event")]
    assert times == sorted(times)
    # Each trace is a run of its own, with threads of its own.
    tracks = [p.track_descriptor.name for p in trace.packet if p.HasField("track_descriptor")]
    assert tracks[1:] == [f"thread {n + 1}" for n in range(len(TURNS))]


def refused(result: Result, code: int, *words: str) -> None:
    assert result.exit_code == code, result.output
    for word in words:
        assert word in result.output


def test_what_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(
        place.export("callgrind", "--service", "wrok"), 3, "no service wrok", "did you mean `work`"
    )
    refused(
        place.export("callgrind", "--set", "N=4"),
        3,
        "with these values",
        "seen were work with N: 1, 2, 3, 5, 8",
    )
    refused(place.export("callgrind", "--set", "M=4"), 2, "no service has a parameter M")
    refused(place.export("callgrind", "--set", "N=x"), 2, "--set N=x")
    refused(place.export("callgrind", "--set", "N=2", "--set", "N=3"), 2, "contradict")
    hardware = place.hardware(code="nowhere")
    refused(place.export("callgrind", hardware=hardware), 3, "map.yaml", "region nowhere")
    hardware = place.hardware(BUSY)
    refused(place.export("callgrind", hardware=hardware), 3, "profile.yaml", "--successions")
    refused(
        place.run(
            "export",
            str(place.elf),
            "--services",
            "x",
            "--profile",
            "y",
            "--format",
            "dot",
            "-o",
            "z",
        ),
        2,
    )
    both = place.inputs()
    given = ["export", *both, *place.hardware(), "--format", "perfetto", "-o"]
    refused(place.run(*given, "-"), 2, "perfetto needs a file")
    refused(place.run(*given, both[1]), 2, "is also an input")
    assert not place.output.exists()
    monkeypatch.setattr(execution, "MOST_SLICES", 9)
    refused(place.export("perfetto"), 2, "9 can be shown", "--service")
    assert not place.output.exists()
    assert place.export("callgrind").exit_code == 0
    assert place.export("speedscope", "--set", "N=5").exit_code == 0


def test_on_standard_output(place: Place) -> None:
    given = ["export", *place.inputs(), *place.hardware(), "-o", "-"]
    told = place.run(*given, "--format", "speedscope")
    assert json.loads(told.stdout)["profiles"][0]["unit"] == "nanoseconds"
    assert place.run(*given, "--format", "callgrind").stdout.startswith("# callgrind format\n")


# --- FreeRTOS ---------------------------------------------------------------------------------

SUITE = ROOT / "rtos_tests" / "freertos"
FILES = tuple(
    str(SUITE / name)
    for name in ("services.yaml", "config/basic.yaml", "boards/mps2-an385/image.yaml")
)
DEMO = ROOT / "build" / "demo"
HARDWARE = ("--profile", "cortex-m3/flash-3ws", "--map", "cortex-m3/map-flash-3ws")


def invoked(*words: str) -> str:
    result = CliRunner().invoke(main, [*words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def freertos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Firmware, its trace and its characterization, as `make demo` makes them."""
    elf = ROOT / "build" / "firmware" / "freertos" / "freertos.elf"
    if not elf.exists():
        pytest.skip(f"{elf} is not built")
    need("qemu-system-arm", "qemu-system-arm")
    folder = tmp_path_factory.mktemp("export")
    trace, known = str(folder / "freertos.trace"), str(folder / "freertos.json")
    files = [word for name in FILES for word in ("--services", name)]
    invoked("capture", str(elf), "--machine", "mps2-an385", "-o", trace)
    invoked("characterize", str(elf), trace, *files, "-o", known)
    return {"given": [str(elf), trace, *files], "known": known, "folder": folder}


@pytest.mark.firmware
@pytest.mark.long
def test_every_service_of_freertos(freertos: dict[str, Any]) -> None:
    """The dearest invocation is as dear as the estimate at its values, or less where windows there
    differ; for most services at all values."""
    output = freertos["folder"] / "all.json"
    invoked("export", *freertos["given"], *HARDWARE, "--format", "speedscope", "-o", str(output))
    services = json.loads(Path(freertos["known"]).read_text())["services"]
    differ = {s["name"] for s in services if any("differed at" in n for n in s.get("notes", ()))}
    profiles = json.loads(output.read_text())["profiles"]
    assert {p["name"].partition(" ")[0] for p in profiles} == {s["name"] for s in services}
    equal = 0
    for profile in profiles:
        name, _, at = profile["name"].partition(" ")
        values = [f"--set={value}" for value in at.split(", ") if value]
        told = invoked(
            "estimate", freertos["known"], *HARDWARE, "--service", name, *values, "--json"
        )
        (estimate,) = json.loads(told)["estimates"]
        high = estimate["total_ns"]
        assert profile["endValue"] <= high
        assert profile["endValue"] == high or name in differ
        equal += profile["endValue"] == high
    assert equal >= len(profiles) - len(differ)
    assert equal > len(profiles) / 2


@pytest.mark.firmware
def test_freertos_in_kcachegrinds_own_tool(freertos: dict[str, Any]) -> None:
    """The figure of the tutorial, by source line."""
    output = freertos["folder"] / "callgrind.out"
    chosen = ["--service", "xTaskCreate", "--set", "N=13"]
    invoked(
        *("export", *freertos["given"], *HARDWARE, *chosen),
        *("--format", "callgrind", "-o", str(output)),
    )
    text = annotated(output, "--auto=no", "--tree=calling")
    assert total(text) == 55_138_889
    assert "=" not in text.split("PROGRAM TOTALS")[0].split("Profiled target")[1].split("\n")[0]
    assert re.search(r"heap_4\.c:pvPortMalloc \(2x\)", text)


@pytest.mark.firmware
def test_a_timeline_of_freertos(freertos: dict[str, Any]) -> None:
    """Calls that another thread cuts, and the switches between them, in their order."""
    output = freertos["folder"] / "freertos.perfetto-trace"
    chosen = ["--service", "vTaskDelay", "--service", "context_switch", "--all"]
    invoked(
        *("export", *freertos["given"], *HARDWARE, *chosen),
        *("--format", "perfetto", "-o", str(output)),
    )
    trace = protos.Trace()
    trace.ParseFromString(output.read_bytes())
    names = [p.track_event.name.split(" ")[0] for p in trace.packet if p.track_event.name]
    assert {"vTaskDelay/call", "vTaskDelay/resume", "context_switch"} <= set(names)
    assert {"interrupts held off", "preemption held off", "vTaskSuspendAll"} <= {
        p.track_event.name for p in trace.packet
    }
    tracks = [p.track_descriptor.name for p in trace.packet if p.HasField("track_descriptor")]
    assert {"thread 1", "handlers"} <= set(tracks)
