"""The FreeRTOS firmware: it builds, it is the same everywhere, its checks hold and can fail, and
the services files say what the ELF and the sources say. Symbols and sections are read by readelf
and objdump, the sources by plain patterns, so nothing here rests on the toolchain's own readers."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from wcetchar.engine import price_vector
from wcetchar.engine.pricing import TIME_ASLEEP
from wcetchar.model.characterization import Blocking, StretchKind, Word
from wcetchar.pipeline import capture as capturing
from wcetchar.pipeline import characterize as characterizing
from wcetchar.store import load_map, load_profile, load_services

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "rtos_tests" / "freertos"
KERNEL = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
NO_KERNEL = 5
FILES = {
    "basic": (),
    "whole": ("more.yaml", "activities.yaml", "boards/armv7m.yaml", "boards/critical.yaml"),
    "full": (
        *("more.yaml", "activities.yaml", "timer_task.yaml"),
        *("boards/armv7m.yaml", "boards/critical.yaml"),
    ),
    "timers": (),
    "tickless": (),
    "watch": (),
}
"""By configuration, services files beside services.yaml, the configuration's and the board's."""
CONFIGURATIONS = tuple(FILES)
RUN = tuple(
    pytest.param(one, marks=[] if one in ("basic", "full") else pytest.mark.long) for one in FILES
)

pytestmark = pytest.mark.firmware


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def shell(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
        check=False,
    )


def make(source: Path, build: Path, *goals: str) -> subprocess.CompletedProcess[str]:
    environment = {"FREERTOS_KERNEL": str(kernel_source())}
    return shell(tool("make"), "-s", "-C", source, f"BUILD={build}", *goals, **environment)


def kernel_source() -> Path:
    """The kernel as a user gives it, or as it is fetched; without either the test is skipped."""
    given = os.environ.get("FREERTOS_KERNEL")
    if given:
        return Path(given)
    fetched = shell(SOURCE / "fetch_kernel.sh", KERNEL)
    if fetched.returncode == NO_KERNEL:
        pytest.skip(fetched.stderr.splitlines()[0])
    assert fetched.returncode == 0, fetched.stderr
    return KERNEL


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``built(configuration)``: a folder with both variants of the firmware."""
    tool("arm-none-eabi-gcc")

    @cache
    def folder(configuration: str) -> Path:
        folder = tmp_path_factory.mktemp("firmware")
        done = make(SOURCE, folder, f"CONFIG={configuration}", "all", "check-elf")
        assert done.returncode == 0, done.stderr
        return folder

    return folder


@pytest.fixture(scope="module")
def build(built: Callable[[str], Path]) -> Path:
    return built("basic")


@pytest.fixture(scope="module")
def elf(build: Path) -> Path:
    return build / "freertos.elf"


@cache
def services_of(configuration: str) -> dict[str, Any]:
    """The services files of a configuration as one."""
    more = FILES[configuration]
    names = ("services.yaml", *more, f"config/{configuration}.yaml", "boards/mps2-an385/image.yaml")
    joined: dict[str, Any] = {}
    for name in names:
        for key, value in YAML(typ="safe", pure=True).load(SOURCE / name).items():
            if key == "kernel":
                joined.setdefault("configuration", {}).update(value["configuration"])
            elif isinstance(value, dict):
                assert not joined.get(key, {}).keys() & value.keys()
                joined.setdefault(key, {}).update(value)
    for name, keys in joined.pop("instead", {}).items():
        joined["services"][name] |= keys
    return joined


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return services_of("basic")


@dataclass(frozen=True)
class Symbol:
    address: int
    size: int
    kind: str
    binding: str


@pytest.fixture(scope="module")
def symbols(elf: Path) -> dict[str, Symbol]:
    return symbols_of(elf)


def symbols_of(elf: Path) -> dict[str, Symbol]:
    listed = shell(tool("arm-none-eabi-readelf"), "-sW", elf).stdout
    found = {}
    for line in listed.splitlines():
        part = line.split()
        if len(part) == 8 and part[0].rstrip(":").isdigit():
            found[part[7]] = Symbol(int(part[1], 16), int(part[2], 0), part[3], part[4])
    return found


def sections(elf: Path) -> dict[str, tuple[int, int]]:
    """Address and size of every section that occupies memory."""
    listed = shell(tool("arm-none-eabi-readelf"), "-SW", elf).stdout
    rows = re.findall(
        r"\] (\S+) +\S+ +([0-9a-f]{8}) [0-9a-f]{6} ([0-9a-f]{6}) \d\d +([A-Z]*) ", listed
    )
    return {name: (int(at, 16), int(size, 16)) for name, at, size, flags in rows if "A" in flags}


def disassembly(elf: Path, function: str) -> str:
    return shell(
        tool("arm-none-eabi-objdump"), "-d", "--no-show-raw-insn", f"--disassemble={function}", elf
    ).stdout


def defines(path: Path, prefix: str) -> dict[str, str]:
    return dict(
        re.findall(rf"^#define ({prefix}\w+) ([^\s/]+)", path.read_text(), flags=re.MULTILINE)
    )


def run(elf: Path) -> subprocess.CompletedProcess[str]:
    return shell(
        tool("qemu-system-arm"),
        *("-M", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", "null"),
        *("-semihosting-config", "enable=on,target=native", "-icount", "shift=5"),
        *("-kernel", elf),
    )


def said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


LENGTHS = {2, 64}  # bytes
DELAYED = {1, 2, 3, 5, 12}
WAITING = {0, 1, 2, 3, 5, 6}
STACKS = {32, 33, 34, 35, 38, 47, 64, 77, 96}  # a quarter of words
THREE_AT_ONCE = {(5, 2, 3), (2, 5, 5), (6, 3, 1), (1, 5, 2), (3, 6, 5), (6, 6, 6)}


def is_driven(point: dict[str, int]) -> bool:
    """Where a call that waits has several parameters, not every combination is driven: each by
    itself, from its least value to its greatest, and these together."""
    length, waiting = point.get("S", 2), point.get("W", 1)
    if point["D"] == 1 and waiting == 1:
        return True
    return length in LENGTHS and point["D"] in DELAYED and waiting in WAITING


def is_driven_of_three(point: dict[str, int]) -> bool:
    """Where three numbers of tasks act at once: all small values, each by itself, and a few."""
    at = point["D"], point["M"], point["U"]
    alone = sum(mine != least for mine, least in zip(at, (1, 1, 0), strict=True)) == 1
    return max(at) <= 3 or alone or at in THREE_AT_ONCE


def is_driven_stack(point: dict[str, int]) -> bool:
    """All sizes where few blocks, or the most, are free."""
    return point["W"] == 32 or (point["N"] in {1, 2, 5, 16} and point["W"] in STACKS)


def is_among_few(point: dict[str, int]) -> bool:
    """Whether cases behind the first are driven there."""
    length = point.get("S", point.get("B", 1))
    if length > 8 and length % 16 > 1 and length != 63:
        return False
    if point.keys() == {"C", "T", "D"}:
        return point["C"] not in {3, 4} and point["D"] != 3
    return point.keys() != {"M", "U"} or not {point["M"], point["U"]} & {3, 4}


def values(service: dict[str, Any]) -> int:
    """In how many points of its parameters a service is to be driven."""
    ranges: dict[str, range] = {}
    cases = {}
    for name, parameter in service.get("parameters", {}).items():
        low, high = parameter["range"].split("..")
        of = cases if parameter["kind"] == "case" else ranges
        of[name] = range(int(low), int(high) + 1)
    points = [dict(zip(ranges, point, strict=True)) for point in product(*ranges.values())]
    if ranges.get("D") == range(1, 13) and ranges.keys() & {"S", "W"}:
        points = [point for point in points if is_driven(point)]
    if ranges.keys() == {"D", "M", "U"}:
        points = [point for point in points if is_driven_of_three(point)]
    if ranges.get("W") == range(32, 97):
        points = [point for point in points if is_driven_stack(point)]
    number = prod(len(of) for of in cases.values())
    return len(points) + (number - 1) * sum(map(is_among_few, points))


# Driven again with other neighbours in lists (driver/neighbours.c): calls that ready a task, alone
# and between others; two that create one; the tick that wakes the timers' task; and what ends
# another task's waiting.
AGAIN = {"whole": 3 * 8 + 2, "full": 3 * 8 + 2 + 1 + 3}


def invocations(configuration: str) -> int:
    services = services_of(configuration)["services"]
    return sum(map(values, services.values())) + AGAIN.get(configuration, 0)


# ---- the run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", RUN)
def test_every_value_of_every_service_is_driven_once(
    built: Callable[[str], Path], configuration: str
) -> None:
    done = run(built(configuration) / "freertos.elf")
    assert done.returncode == 0, said(done)
    assert f"done: {invocations(configuration)} invocations" in said(done)


@pytest.mark.parametrize("configuration", RUN)
def test_the_kernels_own_assertions_hold(built: Callable[[str], Path], configuration: str) -> None:
    done = run(built(configuration) / "freertos-check.elf")
    assert done.returncode == 0, said(done)


@pytest.mark.long
def test_stretches_of_tickless_idle(built: Callable[[str], Path], tmp_path: Path) -> None:
    """Instructions with interrupts masked, counted by hand in what objdump lists of gcc 12.2.1: up
    to the first `cpsie`, which lets the waking interrupt in, and from the second `cpsid` to the
    last `cpsie`."""
    elf, trace = built("tickless") / "freertos.elf", tmp_path / "run.trace"
    capturing.run(capturing.Request(str(elf), str(trace), "mps2-an385"))
    names = ("services.yaml", "config/tickless.yaml", "boards/mps2-an385/image.yaml")
    files = tuple(str(SOURCE / name) for name in names)
    found = characterizing.run(characterizing.Request(str(elf), (str(trace),), files))
    stretches = {
        service.name: [
            sum(row.vector.instructions for row in stretch.counts.rows)
            for stretch in service.stretches
            if stretch.kind is StretchKind.INTERRUPTS
        ]
        for service in found.services
    }
    name = "vPortSuppressTicksAndSleep"
    # 19 of eTaskConfirmSleepModeStatus and 51 of its own; 13 of vTaskStepTick and 27 or 33.
    assert stretches[name] == [70, 40]
    assert stretches[f"{name}_tick"] == [70, 46]
    assert stretches[f"{name}_aborted"] == [17]
    word = [service.word for service in found.services if service.name.startswith(name)]
    assert word == [Word.HIGH_WATER_MARK] * 3
    # The idle task's lock until interrupts are masked: 5 of vTaskSuspendAll, 16 of its own with the
    # call of the port's function, 9 that stand for that, 2 with the call of xTaskResumeAll, 4 of
    # this and 2 of vPortEnterCritical.
    for service in found.services:
        if service.name.startswith("idle_sleep"):
            rows = service.counts.rows
            locked = [row for row in rows if row.blocking == Blocking(preemption=True)]
            assert [row.vector.instructions for row in locked] == [38]
            assert service.word is Word.HIGH_WATER_MARK
    for board in ("zero-wait-sram", "flash-3ws", "external-16bit"):
        profile = load_profile(f"cortex-m3/{board}")
        prices = price_vector(found, profile, load_map(f"cortex-m3/map-{board}"))
        assert prices.notes.count(TIME_ASLEEP) == 1


def test_a_port_without_tickless_idle(tmp_path: Path) -> None:
    for board in ("virt", "versatilepb", "versatilepb-thumb"):
        done = make(SOURCE, tmp_path, f"BOARD={board}", "CONFIG=tickless")
        assert done.returncode != 0
        assert f"the port of '{board}' has no tickless idle" in done.stderr


def test_make_tells_the_services_files() -> None:
    for configuration in CONFIGURATIONS:
        done = shell(tool("make"), "-s", "-C", SOURCE, f"CONFIG={configuration}", "services")
        files = [ROOT / name for name in done.stdout.split()]
        found = load_services(*map(str, files))
        assert {s.name for s in found.services} == services_of(configuration)["services"].keys()


def test_the_readme_counts_services_and_invocations() -> None:
    readme = (SOURCE / "README.md").read_text()
    for configuration in CONFIGURATIONS:
        services = services_of(configuration)["services"]
        row = f"| `{configuration}` | {len(services)} | {invocations(configuration):,} |"
        assert row in readme


@pytest.mark.parametrize(
    ("file", "right", "wrong", "message"),
    [
        ("heap.c", "holes_take(&holes, n - 1, 1);", "holes_take(&holes, n, 1);", "== n"),
        ("time.c", "vTaskDelay(2)", "vTaskDelay(3)", "before + 2"),
        ("wcet_mark.h", "WCET_VALUES 4096u", "WCET_VALUES 8u", "out of range"),
    ],
)
def test_a_wrong_state_fails_the_run(
    tmp_path: Path, file: str, right: str, wrong: str, message: str
) -> None:
    tool("arm-none-eabi-gcc")
    copy = shutil.copytree(SOURCE, tmp_path / "rtos_tests" / "freertos")
    path = next(copy.rglob(file))
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong))
    done = make(copy, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    done = run(tmp_path / "out" / "freertos.elf")
    assert done.returncode == 2
    assert message in said(done)


def test_initial_data_is_loaded_beside_the_code(elf: Path) -> None:
    """As in flash: the program copies and clears its data itself, and restarts correctly."""
    listed = shell(tool("arm-none-eabi-readelf"), "-lW", elf).stdout
    loads = re.findall(r"LOAD +0x\w+ 0x\w+ (0x\w+) (0x\w+) ", listed)
    assert loads
    assert all(int(size, 0) == 0 or int(at, 0) < 0x400000 for at, size in loads)


# ---- the file -----------------------------------------------------------------------------------


def test_the_same_bytes_in_another_folder(build: Path, tmp_path: Path) -> None:
    deep = tmp_path / "some" / "where"
    copy = shutil.copytree(SOURCE, deep / "rtos_tests" / "freertos")
    kernel = shutil.copytree(kernel_source(), deep / "kernel")
    done = shell(
        tool("make"), "-s", "-C", copy, f"BUILD={deep / 'out'}", FREERTOS_KERNEL=str(kernel)
    )
    assert done.returncode == 0, done.stderr
    first, second = (
        hashlib.sha256((folder / "freertos.elf").read_bytes()).hexdigest()
        for folder in (build, deep / "out")
    )
    assert first == second


def test_no_path_of_the_building_machine(elf: Path, build: Path) -> None:
    content = elf.read_bytes()
    for path in (ROOT, build, kernel_source(), Path.home()):
        assert str(path).encode() not in content


def test_sections_are_those_that_are_meant(elf: Path, services: dict[str, Any]) -> None:
    named = {
        name
        for section in services["sections"].values()
        for name in section.get("linker sections", [])
    }
    drivers = {".driver_text", ".driver_rodata", ".driver_data", ".driver_bss"}
    assert set(sections(elf)) == named | drivers | {".wcet_mark", ".note.gnu.build-id"}


def test_the_driver_is_kept_apart(elf: Path, symbols: dict[str, Symbol]) -> None:
    def inside(symbol: str, section: str) -> bool:
        at, size = sections(elf)[section]
        return at <= symbols[symbol].address & ~1 < at + size

    for function in ("Reset_Handler", "driver_main", "driver_task", "measure_heap", "board_tick"):
        assert inside(function, ".driver_text"), function
    for function in ("xTaskCreate", "xQueueReceive", "pvPortMalloc", "memcpy"):
        assert inside(function, ".text"), function
    for function in ("xPortPendSVHandler", "vListInsert", "xTaskIncrementTick"):
        assert inside(function, ".fast_text"), function
    for name in ("ucHeap", "xStart"):
        assert inside(name, ".heap"), name
    for name in ("pxCurrentTCB", "pxReadyTasksLists", "xTickCount"):
        assert inside(name, ".kernel_bss"), name


def test_memcpy_does_not_call_itself(elf: Path) -> None:
    for function in ("memcpy", "memset"):
        assert not re.search(r"\bb[l]?(\.w|\.n)?\s+\w+ <mem(cpy|set)>", disassembly(elf, function))


# ---- services files -----------------------------------------------------------------------------


def test_mark_ids_are_those_of_the_header() -> None:
    header = defines(SOURCE / "driver" / "service_ids.h", "SERVICE_")
    found = {
        f"SERVICE_{name.upper()}": str(service["mark"])
        for configuration in CONFIGURATIONS
        for name, service in services_of(configuration)["services"].items()
    }
    for name in ("riscv", "armv4t", "thumb"):
        document = YAML(typ="safe", pure=True).load(SOURCE / "boards" / f"{name}.yaml")
        for service, described in document["services"].items():
            key, mark = f"SERVICE_{service.upper()}", str(described["mark"])
            assert found.setdefault(key, mark) == mark
    assert found == header


@pytest.mark.parametrize("board", ["virt", "versatilepb", "versatilepb-thumb"])
def test_other_boards_have_services_for_interrupts(board: str) -> None:
    """In `whole` and `full`, by `make services` and in the campaign."""
    campaign = YAML(typ="safe", pure=True).load(SOURCE / "campaign.yaml")
    for configuration in CONFIGURATIONS[:3]:
        given = (f"BOARD={board}", f"CONFIG={configuration}", "services")
        done = shell(tool("make"), "-s", "-C", SOURCE, *given)
        files = {Path(word).relative_to("rtos_tests/freertos") for word in done.stdout.split()}
        names = {s.name for s in load_services(*(str(SOURCE / file) for file in files)).services}
        own = {"interrupt_minimal", "interrupt_switch", "context_switch_interrupt"}
        if board != "virt":
            own |= {"vPortEnterCritical", "vPortExitCritical"}
        if board == "versatilepb-thumb":
            own |= {"vPortDisableInterruptsFromThumb", "vPortEnableInterruptsFromThumb"}
        assert names & own == (own if configuration != "basic" else set())
        here = {"board": board, "config": configuration}
        further = {
            Path(file)
            for group in campaign["further services"]
            for file in group["files"]
            if all(here[a] in ([v] if isinstance(v, str) else v) for a, v in group["cells"].items())
        }
        always = {"services.yaml", f"config/{configuration}.yaml", f"boards/{board}/image.yaml"}
        assert further == files - set(map(Path, always))


def test_marks_are_those_of_the_header(
    services: dict[str, Any], symbols: dict[str, Symbol]
) -> None:
    header = {
        name: int(value.rstrip("u"))
        for name, value in defines(SOURCE / "wcet_mark.h", "WCET_[CV]").items()
    }
    marks = services["marks"]
    assert marks["values"] == header["WCET_VALUES"]
    assert marks["channels"] == {
        "begin": header["WCET_CHANNEL_BEGIN"],
        "end": header["WCET_CHANNEL_END"],
        "first parameter": header["WCET_CHANNEL_PARAMETER"],
    }
    array = symbols[marks["symbol"]]
    assert array.size == header["WCET_CHANNELS"] * header["WCET_VALUES"]


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_entries_are_functions_of_the_kernel(
    built: Callable[[str], Path], configuration: str
) -> None:
    elf = built(configuration) / "freertos.elf"
    symbols = symbols_of(elf)
    code = [sections(elf)[name] for name in (".text", ".fast_text")]
    of_application = sections(elf)[".caller_text"]
    for name, service in services_of(configuration)["services"].items():
        if name == "interrupt_minimal":
            continue
        for entry in service["entries"]:
            symbol = symbols[entry]
            if entry == f"application_{name}":  # holds a macro of the kernel alone
                at, size = of_application
                assert at <= symbol.address < at + size, f"{name}: {entry}"
                continue
            own = "LOCAL" if entry.startswith("prv") else "GLOBAL"
            if entry == "vPortSuppressTicksAndSleep":
                own = "WEAK"  # the application may have its own
            assert (symbol.kind, symbol.binding) == ("FUNC", own), f"{name}: {entry}"
            assert any(at <= symbol.address < at + size for at, size in code), f"{name}: {entry}"


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_handlers_are_those_of_the_vector_table(
    built: Callable[[str], Path], configuration: str
) -> None:
    elf, services = built(configuration) / "freertos.elf", services_of(configuration)
    symbols = symbols_of(elf)
    dump = shell(tool("arm-none-eabi-objdump"), "-s", "-j", ".vectors", elf).stdout
    words = [
        int.from_bytes(bytes.fromhex(word), "little")
        for line in dump.splitlines()
        if re.match(r" [0-9a-f]{4,8} ", line)
        for word in line[6:41].split()
    ]
    expected = {"tick_interrupt": 15, "tick_interrupt_wrap": 15, "context_switch": 14}
    if configuration in ("whole", "full"):
        expected |= {"interrupt_minimal": 17, "context_switch_interrupt": 14}
    handlers = {n: s for n, s in services["services"].items() if s["kind"] == "handler"}
    assert set(handlers) == set(expected)
    for name, number in expected.items():
        assert words[number] == symbols[handlers[name]["entries"][0]].address | 1


def test_the_scheduler_is_locked_by_calls_alone(elf: Path, services: dict[str, Any]) -> None:
    assert services["scheduler lock"] == {"lock": ["vTaskSuspendAll"], "unlock": ["xTaskResumeAll"]}
    for function in ("vTaskDelay", "pvPortMalloc", "vPortFree", "xQueueReceive"):
        assert re.search(r"\sbl\s+\w+ <vTaskSuspendAll>", disassembly(elf, function)), function
        assert re.search(r"\sb(l|\.w)\s+\w+ <xTaskResumeAll>", disassembly(elf, function)), function


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_configuration_is_that_of_the_header(configuration: str) -> None:
    files = ("FreeRTOSConfig.h", f"config/{configuration}.h", "boards/mps2-an385/board_config.h")
    header = {
        name: value
        for file in files
        for prefix in ("config", "INCLUDE_")
        for name, value in defines(SOURCE / file, prefix).items()
    }
    stated = services_of(configuration)["configuration"]
    for name, value in stated.items():
        if not name.startswith(("config", "INCLUDE_")) or name == "configASSERT":
            continue
        expected = header[name].replace("TICK_TYPE_WIDTH_", "").replace("_BITS", "")
        if expected == "(configMAX_PRIORITIES":
            expected = str(int(header["configMAX_PRIORITIES"]) - 1)
        assert int(value) == int(expected, 0), name


def test_the_page_says_what_the_services_files_say() -> None:
    """Its figures are compared by a test of make test-long."""
    text = (ROOT / "docs" / "reference" / "freertos-services.md").read_text()
    services = services_of("full")["services"]
    sections = dict(
        re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    )
    assert sections.keys() == services.keys()
    assert f"configuration `full`: {len(services)} services" in text
    for name, service in services.items():
        section = sections[name]
        assert service["description"][1:] in section, name
        assert service["worst state"][1:] in section, name
        for parameter, said in service.get("parameters", {}).items():
            low, high = said["range"].split("..")
            assert f"* `{parameter}` = {low}..{high} ({said['kind']}): {said['meaning']}" in section


# ---- the kernel's source ------------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder of programs for PATH that has what the script needs, and no cargo."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "sed", "awk", "dirname", "mkdir", "mktemp", "rm", "mv"):
        (folder / name).symlink_to(tool(name))
    return folder


def fetch(bare: Path, target: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    nothing = {"FREERTOS_KERNEL": "", "CARGO": "", "HOME": str(target.parent), "PATH": str(bare)}
    return shell(SOURCE / "fetch_kernel.sh", target, **{**nothing, **environment})


def test_without_cargo_the_script_says_what_to_install(bare: Path, tmp_path: Path) -> None:
    done = fetch(bare, tmp_path / "kernel")
    assert done.returncode == NO_KERNEL
    assert "cargo-web" in done.stderr
    assert "FREERTOS_KERNEL=" in done.stderr
    assert not (tmp_path / "kernel").exists()


@pytest.mark.parametrize("version", ["0.66.0", "1.84.1", ""])
def test_an_old_cargo_is_not_used(bare: Path, tmp_path: Path, version: str) -> None:
    cargo = bare / "cargo"
    cargo.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "cargo {version} (x)" && exit 0\nexit 9\n'
    )
    cargo.chmod(0o755)
    assert fetch(bare, tmp_path / "kernel").returncode == NO_KERNEL


def test_a_failed_fetch_leaves_nothing(bare: Path, tmp_path: Path) -> None:
    cargo = bare / "cargo"
    cargo.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "cargo 1.85.0 (x)" && exit 0\nexit 9\n'
    )
    cargo.chmod(0o755)
    done = fetch(bare, tmp_path / "out" / "kernel")
    assert done.returncode == NO_KERNEL
    assert list((tmp_path / "out").iterdir()) == []


def test_another_kernel_version_is_refused(bare: Path, tmp_path: Path) -> None:
    header = tmp_path / "old" / "include" / "task.h"
    header.parent.mkdir(parents=True)
    header.write_text('#define tskKERNEL_VERSION_NUMBER "V10.4.3"\n')
    done = fetch(bare, tmp_path / "kernel", FREERTOS_KERNEL=str(tmp_path / "old"))
    assert done.returncode == 1
    assert "V10.4.3" in done.stderr


def test_a_given_kernel_is_taken(tmp_path: Path, bare: Path) -> None:
    done = fetch(bare, tmp_path / "kernel", FREERTOS_KERNEL=str(kernel_source()))
    assert done.returncode == 0, done.stderr
