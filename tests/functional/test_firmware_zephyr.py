"""The Zephyr application: its files agree with each other and, in a Zephyr workspace, it
builds, its checks hold, and its trace is characterized with the rules that ship.

Sources are read by plain patterns, sections and symbols by readelf, so nothing here rests on the
toolchain's own readers."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from wcetchar.cli import main
from wcetchar.store import load_services

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "rtos_tests" / "zephyr"
SCHEDULERS = ("dumb", "scalable", "multiq")
OPTIONS = ("irq-offload", "timeslicing", "tickless")
"""Options of the kernel that have a services file of their own, in the place of services.yaml."""
BOARDS = {"mps2/an385": "mps2-an385", "qemu_cortex_m3": "lm3s6965evb", "qemu_riscv32": "virt"}

Yaml = dict[str, Any]
Build = Callable[[str, str | None], Path]


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


# ---- in a workspace -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Configures and builds for a board, with a configuration beside prj.conf; the ELF file."""
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE is not set: these tests need a Zephyr workspace of yours")
    for program in ("cmake", "ninja"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")

    def build(board: str, configuration: str | None) -> Path:
        folder = tmp_path_factory.mktemp("zephyr")
        options = [f"-DBOARD={board}"]
        if configuration is not None:
            options.append(f"-DEXTRA_CONF_FILE={configuration}")
        for command in (
            ["cmake", "-GNinja", "-S", str(SOURCE), "-B", str(folder), *options],
            ["ninja", "-C", str(folder)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return folder / "zephyr" / "zephyr.elf"

    return build


def captured(elf: Path, machine: str, trace: Path) -> None:
    arguments = ["capture", str(elf), "--machine", machine, "-o", str(trace)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert re.search(r"done: \d+ invocations", result.output), result.output


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


@pytest.mark.firmware
def test_the_trace_is_characterized(build: Build, tmp_path: Path) -> None:
    elf, trace, out = build("mps2/an385", None), tmp_path / "run.trace", tmp_path / "out.json"
    captured(elf, "mps2-an385", trace)
    given = [part for name in files("dumb") for part in ("--services", name)]
    done = CliRunner().invoke(
        main, ["characterize", str(elf), str(trace), *given, "-o", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    published = json.loads(out.read_text())
    names = {service["name"].split("/")[0] for service in published["services"]}
    assert names == set(document("services.yaml")["services"])
    for service in published["services"]:
        if service["name"] in TABLES:
            continue
        assert "formula" in service["counts"] or "rows" in service["counts"], service["name"]
        assert not any("value is not known" in note for note in service.get("notes", ())), service[
            "name"
        ]
    copied = next(s for s in published["services"] if s["name"] == "k_msgq_peek")
    assert moves(copied, "storage", "read") == {"1": 0, "S": 1}
    assert moves(copied, "caller.data", "write") == {"1": 0, "S": 1}
    summary = {s["service"]: s["sections"] for s in json.loads(done.stdout)["services"]}
    for name, function in STRAIGHT.items():
        assert sum(count for _, _, count in summary[name]) == listed(elf, function), name


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


TABLES = {
    "k_event_post_waiters_switch/call",  # its formula has one term more than are tried
    "k_pipe_put_block/resume",  # in one window a mask is not known, see docs/reference/zephyr.md
}
"""Parts that no formula was found for."""

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
def test_every_function_of_the_kernel_is_driven_or_has_a_reason() -> None:
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE is not set: these tests need a Zephyr workspace of yours")
    header = Path(os.environ["ZEPHYR_BASE"], "include", "zephyr", "kernel.h").read_text()
    declared = re.compile(
        r"^(?:static |__syscall |inline |extern )*[\w *]*?\b(k_[a-z0-9_]+)\(", re.M
    )
    functions = set(declared.findall(header))
    assert len(functions) > 150
    reasons = {
        f
        for group in (
            *document("not-characterized.yaml")["left out"],
            *document("stands-for.yaml")["stands for"],
        )
        for f in group["calls"]
    }
    called = set(re.findall(r"\b(k_[a-z0-9_]+)\(", driver()))
    in_comments = {"k_fifo_get"}
    assert functions - called - reasons <= in_comments
    assert reasons <= functions
