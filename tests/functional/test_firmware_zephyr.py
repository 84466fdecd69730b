"""The Zephyr application: its files agree with each other and, in a Zephyr workspace, it
builds, its checks hold, and its trace is characterized with the rules that ship.

Sources are read by plain patterns, sections and symbols by readelf, so nothing here rests on the
toolchain's own readers."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from wcetchar.cli import main
from wcetchar.model.characterization import ServiceCharacterization
from wcetchar.store import load_characterization, load_services

if TYPE_CHECKING:
    from zephyr_workspace import Build

pytest_plugins = ("zephyr_workspace",)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from generate_zephyr import call_groups  # noqa: E402
from zephyr_figures import counted_at, driven  # noqa: E402

SOURCE = ROOT / "rtos_tests" / "zephyr"
SCHEDULERS = ("dumb", "scalable", "multiq")
OPTIONS = ("irq-offload", "timeslicing", "tickless")
"""Options of the kernel that have a services file of their own, in the place of services.yaml."""
BOARDS = {"mps2/an385": "mps2-an385", "qemu_cortex_m3": "lm3s6965evb", "qemu_riscv32": "virt"}

Yaml = dict[str, Any]


def files(scheduler: str) -> list[str]:
    names = ("services.yaml", "sections.yaml", f"sched-{scheduler}.yaml")
    return [str(SOURCE / name) for name in names]


def document(name: str) -> Yaml:
    loaded: Yaml = YAML(typ="safe", pure=True).load(SOURCE / name)
    return loaded


def driver() -> str:
    return "\n".join(path.read_text() for path in sorted((SOURCE / "src").glob("*.c")))


def ids() -> dict[str, int]:
    text = (SOURCE / "src" / "service_ids.h").read_text()
    return {n: int(v) for n, v in re.findall(r"#define SERVICE_(\w+) (\d+)", text)}


# ---- without a workspace --------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_files_are_one_services_file(scheduler: str) -> None:
    found = load_services(*files(scheduler))
    assert {s.name for s in found.services} == set(described(scheduler))
    assert found.kernel.configuration[f"CONFIG_SCHED_{scheduler.upper()}"] == "y"


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        ("3.7.1", True),
        ("3.7.0", True),
        ("3.7.2-rc1", True),
        ("4.0.0", False),
        ("3.70.0", False),
        ("3.6.99", False),
        ("13.7.1", False),
        ("", False),
        (None, False),
    ],
)
def test_another_version_of_the_kernel_is_refused(version: str | None, taken: bool) -> None:
    cmake = shutil.which("cmake") or pytest.skip("cmake is not installed")
    given = [] if version is None else [f"-DKERNEL_VERSION_STRING={version}"]
    run = subprocess.run(
        [cmake, *given, "-P", str(SOURCE / "version.cmake")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (run.returncode == 0) is taken, run.stderr
    if taken:
        assert not run.stderr
    else:
        said = " ".join(run.stderr.split())
        assert "expected: Zephyr 3.7 " in said
        assert "next: point ZEPHYR_BASE at" in said


def test_the_version_is_checked_and_that_of_the_services_file_is_taken() -> None:
    build = (SOURCE / "CMakeLists.txt").read_text()
    found, check = build.index("find_package(Zephyr"), build.index("/version.cmake)")
    assert found < check < build.index("project(")
    taken = re.search(r"set\(wcet_versions (.+)\)", (SOURCE / "version.cmake").read_text())
    version = str(document("services.yaml")["kernel"]["version"])
    assert taken
    assert version.rpartition(".")[0] in taken[1].split()


def described(scheduler: str) -> Yaml:
    """Services by name."""
    own: Yaml = document(f"sched-{scheduler}.yaml").get("services", {})
    return {**document("services.yaml")["services"], **own}


def options() -> Yaml:
    """Services of all options by name."""
    return {n: s for option in OPTIONS for n, s in document(f"{option}.yaml")["services"].items()}


@pytest.mark.parametrize("option", OPTIONS)
def test_the_files_of_an_option_are_one_services_file(option: str) -> None:
    names = (f"{option}.yaml", "sections.yaml", "sched-dumb.yaml")
    own = document(f"{option}.yaml")
    found = load_services(*(str(SOURCE / name) for name in names))
    assert {s.name for s in found.services} == set(own["services"])
    assert own["marks"] == document("services.yaml")["marks"]
    lines = (SOURCE / f"overlay-{option}.conf").read_text().splitlines()
    stated = own["kernel"]["configuration"]
    changed = dict(line.split("=") for line in lines if line.startswith("CONFIG_"))
    assert {n: v for n, v in changed.items() if n in stated}
    assert all(stated[n] == v for n, v in changed.items() if n in stated)


def test_on_riscv_a_slice_ends_with_the_same_interrupt_as_a_tick() -> None:
    names = ("timeslicing.yaml", "riscv-timeslicing.yaml", "sections-riscv.yaml", "sched-dumb.yaml")
    (handler,) = (
        s for s in load_services(*(str(SOURCE / n) for n in names)).services if s.kind == "handler"
    )
    ticks = document("riscv.yaml")["instead"]["tick"]
    assert (list(handler.entries), list(handler.exceptions)) == (
        ticks["entries"],
        ticks["exceptions"],
    )


def test_marks_are_those_of_the_driver() -> None:
    services = described("scalable") | options()
    assert {name.upper(): service["mark"] for name, service in services.items()} == ids()
    assert (
        f"WCET_VALUES={document('services.yaml')['marks']['values']}u"
        in (SOURCE / "CMakeLists.txt").read_text()
    )


def test_every_service_is_described_and_driven() -> None:
    text = driver()
    for name, service in (described("scalable") | options()).items():
        assert all(service[key] for key in ("description", "worst state")), name
        assert re.search(rf"\bSERVICE_{name.upper()}\b", text), name


def test_what_wakes_several_threads_also_wakes_a_more_urgent_one() -> None:
    several = {
        name: f"{service['description']} {service['worst state']}"
        for name, service in described("dumb").items()
        if {"W", "K"} & set(service.get("parameters", ()))
    }
    switching = {name.removesuffix("_switch") for name in several if name.endswith("_switch")}
    others = {name for name, text in several.items() if re.search(r"less\s+urgent than", text)}
    never = {"k_thread_abort"}  # the driver checks that it does not switch
    assert len(switching) > 10
    assert others == switching | never


def test_every_configuration_is_a_test_case() -> None:
    cases = document("testcase.yaml")["tests"]
    named = [a for case in cases.values() for a in (case or {}).get("extra_args", [])]
    overlays = {f"EXTRA_CONF_FILE={path.name}" for path in SOURCE.glob("overlay-*.conf")}
    assert set(named) == overlays


def test_the_page_lists_every_service() -> None:
    page = (ROOT / "docs" / "reference" / "zephyr.md").read_text()
    listed = {name.split("/")[0] for name in re.findall(r"^\| (\w+(?:/\w+)?) \|.*`", page, re.M)}
    assert set(described("scalable")) | set(options()) <= listed


def test_the_page_of_worst_states_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page = runpy.run_path(str(ROOT / "docs" / "generate_zephyr_services.py"))["page"]()
    committed = (ROOT / "docs" / "reference" / "zephyr-services.md").read_text(encoding="utf-8")
    assert committed == page, "run: python docs/generate_zephyr_services.py"
    listed = re.findall(r"^\*\*`(\w+)`\*\*", page, re.M)
    assert sorted(listed) == sorted({*described("scalable"), *options()})


def test_what_stands_for_a_call_is_driven() -> None:
    services = described("dumb")
    called = {entry.removeprefix("z_impl_") for s in services.values() for entry in s["entries"]}
    for group in document("stands-for.yaml")["stands for"]:
        assert set(group["calls"].values()) <= called
        assert not set(group["calls"]) & called


READY, WAITING, TIMEOUTS, BYTES, LENGTH = (
    "READY_THREADS",
    "WAITING_THREADS",
    "TIMEOUTS",
    "ITEM_BYTES",
    "LIST_LENGTH",
)
SWEPT = {
    ("R", "ready threads, the caller among them"): (READY, 1),
    ("R", "ready threads, the interrupted one among them"): (READY, 1),
    ("E", "ready threads of the caller's own priority"): (READY, 0),
    ("E", "ready threads no less urgent than the caller itself is"): (READY, 0),
    ("E", "other ready threads of the caller's priority"): (READY, 0),
    ("E", "ready threads of the interrupted one's priority"): (READY, 0),
    ("L", "timeouts that come no later"): (TIMEOUTS, 0),
    ("L", "timeouts that come before the end of the next slice"): (TIMEOUTS, 0),
    ("K", "timers that come at this tick"): (TIMEOUTS, 0),
    ("K", "threads that wake up at this tick"): (WAITING, 0),
    ("K", "timers that expire at this tick"): (WAITING, 0),
    ("K", "work items that come at this tick"): (WAITING, 0),
    ("W", "threads that wait already"): (WAITING, 0),
    ("W", "threads that wait for the mutex"): (WAITING, 0),
    ("W", "threads that wait for its end"): (WAITING, 0),
    ("W", "threads that wait for other events"): (WAITING, 0),
    ("W", "threads that wait for a message of another thread"): (WAITING, 0),
    ("W", "threads that poll already, whatever it is"): (WAITING, 0),
    ("W", "threads that wait to read"): (WAITING, 0),
    ("W", "threads that wait to write"): (WAITING, 0),
    ("W", "threads that are woken"): (WAITING, 0),
    ("W", "other threads that are woken"): (WAITING, -1),
    ("N", "receivers that the message is not for"): (WAITING, -1),
    ("S", "size in bytes"): (BYTES, 0),
    ("S", "bytes that fit"): (BYTES, 0),
    ("S", "size of the message in bytes"): (BYTES, 0),
    ("N", "blocks"): (LENGTH, 0),
    ("N", "elements in the queue"): (LENGTH, 0),
    ("N", "work items in the queue"): (LENGTH, 0),
    ("N", "work items that wait"): (LENGTH, 0),
}
"""Which symbol of Kconfig sets how far a parameter is swept, and how much further than it."""

FIXED = {
    ("N", "events"),
    ("N", "lists: the heap has at most 8 * 2^N bytes"),
    ("M", "events that it waits for already"),
    ("N", "messages of other senders"),
    ("N", "messages of other senders that are looked at before"),
    ("N", "threads in the tree"),
    ("N", "threads in the tree before"),
    ("N", "units of eight bytes in the old block"),
    ("P", "events of others on the object"),
}
"""Parameters that are always swept to the end of their range."""


def farthest(service: str, parameter: str, meaning: str, sweep: dict[str, int]) -> int | None:
    """The greatest value that is driven; ``None``: that of the declared range."""
    if (parameter, meaning) in FIXED:
        return None
    symbol, more = SWEPT[parameter, meaning]
    # One of the threads that may wait writes, and is not woken by the call.
    refill = parameter == "W" and service.startswith("k_pipe_get_refill_waiters")
    return sweep[symbol] + more - refill


def sweep_symbols() -> dict[str, tuple[int, int, int]]:
    """(least, greatest, default) of each symbol of the sweep."""
    found = re.findall(
        r"^config WCET_(\w+)\n\tint .*\n\trange (\d+) (\d+)\n\tdefault (\d+)\n",
        (SOURCE / "Kconfig").read_text(),
        re.M,
    )
    return {name: (int(least), int(most), int(default)) for name, least, most, default in found}


def test_the_sweep_of_kconfig_ends_where_the_declared_ranges_do() -> None:
    symbols = sweep_symbols()
    assert set(symbols) == {READY, WAITING, TIMEOUTS, BYTES, LENGTH}
    # More than the default would leave the ranges of the services files.
    assert all(least < most == default for least, most, default in symbols.values())
    defaults = {name: default for name, (_, _, default) in symbols.items()}
    seen = set()
    for service, described_as in (described("scalable") | options()).items():
        for name, parameter in described_as.get("parameters", {}).items():
            least, greatest = map(int, parameter["range"].split(".."))
            seen.add((name, parameter["meaning"]))
            end = farthest(service, name, parameter["meaning"], defaults)
            assert end in (None, greatest), (service, name)
            assert least < greatest
    assert seen == {*SWEPT, *FIXED}


def test_the_driver_uses_every_symbol_of_the_sweep() -> None:
    symbols = set(sweep_symbols())
    header = (SOURCE / "src" / "driver.h").read_text()
    limits = {
        symbol: limit
        for limit, symbol in re.findall(r"#define (\w+) \(\(unsigned\)CONFIG_WCET_(\w+)\)", header)
    }
    assert set(limits) == symbols
    text = driver()
    loops = re.compile(r"for \(unsigned (\w+) = \d; \1 <=? (\w+)")
    ends = {end for _, end in loops.findall(text)}
    assert set(limits.values()) <= ends
    # An unknown symbol is 0 in a condition of the preprocessor, without a word.
    used = set(re.findall(r"\bCONFIG_WCET_(\w+)", text + header))
    assert used == symbols | {"OPTION"}


# ---- in a workspace -------------------------------------------------------------------------


def captured(elf: Path, machine: str, trace: Path) -> int:
    """The number of invocations that the driver counts at its end."""
    arguments = ["capture", str(elf), "--machine", machine, "-o", str(trace)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    done = re.search(r"done: (\d+) invocations", result.output)
    assert done, result.output
    return int(done[1])


@dataclass(frozen=True)
class Characterized:
    elf: Path
    published: Path
    summary: Yaml
    invocations: int

    def services(self) -> list[Yaml]:
        found: list[Yaml] = json.loads(self.published.read_text())["services"]
        return found


Characterize = Callable[..., Characterized]


@pytest.fixture(scope="module")
def characterized(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Characterize:
    """Builds for mps2/an385, captures and characterizes with a scheduler, each once."""

    @cache
    def characterize(scheduler: str, *configurations: str) -> Characterized:
        folder = tmp_path_factory.mktemp("characterized")
        trace, out = folder / "run.trace", folder / "out.json"
        own = () if scheduler == "dumb" else (f"overlay-sched-{scheduler}.conf",)
        elf = build("mps2/an385", ";".join((*own, *configurations)) or None)
        invocations = captured(elf, BOARDS["mps2/an385"], trace)
        given = [part for name in files(scheduler) for part in ("--services", name)]
        done = CliRunner().invoke(
            main, ["characterize", str(elf), str(trace), *given, "-o", str(out), "--json"]
        )
        assert done.exit_code == 0, done.output
        trace.unlink()  # a gigabyte with trees
        return Characterized(elf, out, json.loads(done.stdout), invocations)

    return characterize


@pytest.mark.firmware
@pytest.mark.parametrize(
    ("board", "configuration"),
    [
        ("mps2/an385", "overlay-assert.conf"),
        ("mps2/an385", "overlay-sched-scalable.conf"),
        ("mps2/an385", "overlay-sched-multiq.conf"),
        ("mps2/an385", "overlay-assert.conf;overlay-irq-offload.conf"),
        ("mps2/an385", "overlay-assert.conf;overlay-timeslicing.conf"),
        ("mps2/an385", "overlay-assert.conf;overlay-tickless.conf"),
        ("qemu_cortex_m3", None),
        ("qemu_riscv32", "overlay-assert.conf"),
    ],
)
def test_every_check_holds(
    build: Build, tmp_path: Path, board: str, configuration: str | None
) -> None:
    captured(build(board, configuration), BOARDS[board], tmp_path / "run.trace")


def unknown_masks(run: Characterized) -> list[str]:
    return [
        service["name"]
        for service in run.services()
        if any("value is not known" in note for note in service.get("notes", ()))
    ]


@pytest.mark.firmware
@pytest.mark.xdist_group("zephyr dumb")
def test_the_trace_is_characterized(characterized: Characterize) -> None:
    run = characterized("dumb")
    published = run.services()
    names = {service["name"].split("/")[0] for service in published}
    assert names == set(document("services.yaml")["services"])
    assert (run.summary["by_table"], run.summary["estimates"]) == (0, 0)
    assert run.summary["by_formula"] == len(published) > 300
    assert (run.summary["undecoded"], run.summary["not_characterized"]) == (0, [])
    assert not unknown_masks(run)
    copied = next(s for s in published if s["name"] == "k_msgq_peek")
    assert moves(copied, "storage", "read") == {"1": 0, "S": 1}
    assert moves(copied, "caller.data", "write") == {"1": 0, "S": 1}
    summary = {s["service"]: s["sections"] for s in run.summary["services"]}
    for name, function in STRAIGHT.items():
        assert sum(count for _, _, count in summary[name]) == listed(run.elf, function), name


@pytest.mark.long
@pytest.mark.firmware
@pytest.mark.parametrize(
    "scheduler",
    [
        "multiq",
        pytest.param("scalable", marks=pytest.mark.xdist_group("zephyr scalable")),
    ],
)
def test_another_scheduler_is_characterized(characterized: Characterize, scheduler: str) -> None:
    """With trees 120 million instructions."""
    run = characterized(scheduler)
    names = {service["name"].split("/")[0] for service in run.services()}
    assert names == set(described(scheduler))
    assert (run.summary["undecoded"], run.summary["not_characterized"]) == (0, [])
    assert run.summary["estimates"] == 0
    assert not unknown_masks(run)
    # Of the services that change the trees several times in one call no worst case is known.
    least = 0.9 if scheduler == "scalable" else 1
    assert run.summary["by_formula"] >= least * len(run.services())
    summary = {s["service"]: s["sections"] for s in run.summary["services"]}
    for name in ("k_timer_init", "context_switch"):
        counted = sum(count for _, _, count in summary[name])
        assert counted == listed(run.elf, STRAIGHT[name]), name


def not_driven(service: ServiceCharacterization) -> Iterator[str]:
    """The notes that there have to be on ranges that were not driven to their ends."""
    for number, parameter in enumerate(service.parameters):
        seen = {values[number] for values in driven(service)}
        if (min(seen), max(seen)) != (parameter.minimum, parameter.maximum):
            yield (
                f"{parameter.name} was observed from {min(seen)} to {max(seen)} only, of "
                f"{parameter.minimum}..{parameter.maximum}"
            )


@pytest.mark.firmware
@pytest.mark.parametrize(
    ("scheduler", "sweep"),
    [
        pytest.param(
            "dumb",
            {READY: 4, WAITING: 4, TIMEOUTS: 4, BYTES: 8, LENGTH: 4},
            marks=pytest.mark.xdist_group("zephyr dumb"),
        ),
        # Enough ready threads for formulas, and not so many as to show what a tree of nine adds.
        pytest.param(
            "scalable",
            {READY: 7, WAITING: 6, TIMEOUTS: 8, BYTES: 20, LENGTH: 8},
            marks=[pytest.mark.long, pytest.mark.xdist_group("zephyr scalable")],
        ),
    ],
)
def test_a_smaller_sweep_counts_the_same(
    characterized: Characterize, tmp_path: Path, scheduler: str, sweep: dict[str, int]
) -> None:
    assert set(sweep) == set(sweep_symbols())
    smaller = tmp_path / "smaller.conf"
    smaller.write_text("".join(f"CONFIG_WCET_{name}={to}\n" for name, to in sweep.items()))
    less, whole = characterized(scheduler, str(smaller)), characterized(scheduler)
    assert less.invocations < 0.7 * whole.invocations
    assert less.summary["not_characterized"] == []
    there = {s.name: s for s in load_characterization(str(whole.published)).services}
    formulas = 0
    for service in load_characterization(str(less.published)).services:
        assert service.parameters == there[service.name].parameters
        for number, parameter in enumerate(service.parameters):
            name, _, _ = service.name.partition("/")
            end = farthest(name, parameter.name, parameter.meaning, sweep) or parameter.maximum
            assert max(values[number] for values in driven(service)) == end, (name, parameter)
        said = {note for note in service.notes if "was observed from" in note}
        assert said == set(not_driven(service)), service.name
        formulas += service.counts.is_formula
        for values in driven(service):
            expected = counted_at(there[service.name], values)
            if expected is None:  # the whole sweep has a table there, without this point
                assert not there[service.name].counts.is_formula
                continue
            assert counted_at(service, values) == expected, (service.name, values)
    assert formulas > 0.8 * len(there)
    beyond_is_no_high_water_mark(less.published, sweep[READY] + 1)


def beyond_is_no_high_water_mark(published: Path, ready: int) -> None:
    """A formula that holds as far as it was driven may be too low beyond: with trees it is, where
    one more level begins."""
    common = [
        *("estimate", str(published), "--profile", "cortex-m3/flash-3ws"),
        *("--map", str(SOURCE / "map-cortex-m3-flash-3ws.yaml"), "--json", "--service"),
    ]
    for value, word in ((ready, "high-water mark"), (ready + 1, "estimate")):
        done = CliRunner().invoke(main, [*common, "k_sem_give_waiter", "--set", f"R={value}"])
        assert done.exit_code == 0, done.output
        (one,) = json.loads(done.stdout)["estimates"]
        assert one["word"] == word
        told = any(
            f"R = {value} lies beyond what was observed, 1 to {ready}" in n for n in one["notes"]
        )
        assert told is (word == "estimate")
    done = CliRunner().invoke(main, [*common, "k_sem_reset", "--set", "W=1", "--set", "R=11"])
    assert done.exit_code == 3, done.output
    assert "lies beyond the observed values" in done.stderr


@pytest.mark.firmware
@pytest.mark.parametrize("option", OPTIONS)
def test_the_trace_of_an_option_is_characterized(build: Build, tmp_path: Path, option: str) -> None:
    elf, trace, out = (
        build("mps2/an385", f"overlay-{option}.conf"),
        tmp_path / "run.trace",
        tmp_path / "out.json",
    )
    captured(elf, "mps2-an385", trace)
    names = (f"{option}.yaml", "sections.yaml", "sched-dumb.yaml")
    given = [part for name in names for part in ("--services", str(SOURCE / name))]
    done = CliRunner().invoke(
        main, ["characterize", str(elf), str(trace), *given, "-o", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert {s["service"].split("/")[0] for s in summary["services"]} == set(
        document(f"{option}.yaml")["services"]
    )
    assert (summary["by_table"], summary["not_characterized"]) == (0, [])


STRAIGHT = {
    "k_mutex_init": "z_impl_k_mutex_init",
    "k_condvar_init": "z_impl_k_condvar_init",
    "k_stack_init": "k_stack_init",
    "k_msgq_init": "k_msgq_init",
    "k_msgq_get_attrs": "z_impl_k_msgq_get_attrs",
    "k_timer_init": "k_timer_init",
    "k_poll_event_init": "k_poll_event_init",
    "k_poll_signal_check": "z_impl_k_poll_signal_check",
    "k_poll_signal_reset": "z_impl_k_poll_signal_reset",
    "k_thread_priority_get": "z_impl_k_thread_priority_get",
    "context_switch": "z_arm_pendsv",
}
"""Services that execute one function from its first instruction to its last one."""


def listed(elf: Path, function: str) -> int:
    """Instructions of a function as objdump lists them, without its constants."""
    objdump = shutil.which("arm-none-eabi-objdump") or pytest.skip("binutils are not installed")
    listing = subprocess.run(
        [objdump, "-d", f"--disassemble={function}", str(elf)],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout
    lines = [line for line in listing.splitlines() if re.match(r"\s+[0-9a-f]+:\s", line)]
    return sum(".word" not in line for line in lines)


def moves(service: Yaml, section: str, operation: str) -> dict[str, int]:
    """Single accesses of eight bits to a section, by repetition: a byte is read and written for
    each byte of an item (the loop of the minimal libc's memcpy)."""
    found = dict.fromkeys(("1", "S"), 0)
    for row in service["counts"]["rows"]:
        for count in row["counts"]:
            if (count["section"], count.get("operation"), count.get("width")) == (
                section,
                operation,
                8,
            ):
                found[row["repetition"]] += count["count"]
    return found


@pytest.mark.firmware
def test_every_function_of_the_kernel_is_driven_or_has_a_reason(zephyr_base: Path) -> None:
    header = (zephyr_base / "include" / "zephyr" / "kernel.h").read_text()
    functions = set(
        re.findall(
            r"^(?:static |__syscall |inline |extern )*[\w *]*?\b(k_[a-z0-9_]+)\(", header, re.M
        )
    )
    macros = set(re.findall(r"^#define (k_[a-z0-9_]+)\(", header, re.M))
    assert len(functions) > 150
    assert {"k_fifo_put", "k_fifo_get", "k_lifo_put", "k_lifo_get"} < macros
    named = [name for _, _, names in call_groups() for name in names]
    assert len(named) == len(set(named))
    assert set(named) == functions | macros
