"""Interrupts, and the switches that they ask for, on every board: counted by hand in what objdump
lists of gcc 12.2 (`-O2`), and by the independent count of ``chain_oracle``.

The firmware is that of `whole`, but calls nothing else (`ONLY=interrupts`); the kernel's code is
the same.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chain_compare
import pytest
from chain_compare import service_of
from chain_made import BOARDS, ROOT, SUITE, Firmware, Made, Shared, make
from chain_oracle import ALL_INTERRUPTS
from chain_published import Counts, by_key, counts_at
from needs import need
from ruamel.yaml import YAML

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

KERNEL = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
IN_HANDLERS = ("virt", "versatilepb", "versatilepb-thumb")
"""Where a handler that asks for a switch makes it itself."""
ARMV4T = ("versatilepb", "versatilepb-thumb")
DRIVEN = (
    *("context_switch", "context_switch_interrupt", "interrupt_minimal", "interrupt_switch"),
    *("vPortEnterCritical", "vPortExitCritical"),
    *("vPortDisableInterruptsFromThumb", "vPortEnableInterruptsFromThumb"),
    *("taskYIELD", "portYIELD_FROM_ISR"),
)

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Alone(Firmware):
    """Its services files are the board's, with the services that are driven."""

    folder: Path = Path()

    @property
    def services(self) -> list[str]:
        files = []
        yaml = YAML(typ="safe", pure=True)
        for path in map(Path, super().services):
            document = yaml.load(path)
            if "services" in document:
                kept = {n: s for n, s in document["services"].items() if n in DRIVEN}
                document = {**document, "services": kept}
                if not kept:
                    del document["services"]
            files.append(self.folder / f"{len(files)}-{path.name}")
            yaml.dump(document, files[-1])
        return [str(file) for file in files]


def made_of(board: str, shared: Shared) -> Made:
    for program in (
        ("riscv64-unknown-elf-gcc", "qemu-system-riscv32")
        if board == "virt"
        else ("arm-none-eabi-gcc", "qemu-system-arm")
    ):
        need(program, program)
    kernel = Path(os.environ.get("FREERTOS_KERNEL", KERNEL))
    if not kernel.exists():
        pytest.skip("the kernel's source is not there (make firmware)")

    def build() -> Made:
        folder = shared.folder / f"interrupts-{board}"
        given = (f"BOARD={board}", "CONFIG=whole", "ONLY=interrupts", f"BUILD={folder}")
        environment = {**os.environ, "FREERTOS_KERNEL": str(kernel)}
        done = subprocess.run(
            ["make", "-s", "-C", SUITE, *given, "all", "check-elf", "run-check"],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return make(Alone(board, "whole", folder), folder, folder / "freertos.elf")

    return shared.made(f"interrupts-{board}", build)


@pytest.fixture
def made(request: pytest.FixtureRequest, shared: Shared) -> Made:
    return made_of(request.param, shared)


def each(*boards: str) -> Any:
    rows = [
        pytest.param(
            board,
            id=board,
            marks=[pytest.mark.xdist_group(f"only-{board}")]
            # Of the two that differ in floating point alone, and of the two instruction sets of
            # one board, one.
            + ([pytest.mark.long] if board in ("versatilepb-thumb", "mps2-an385") else []),
        )
        for board in boards
    ]
    return pytest.mark.parametrize("made", rows, indirect=True)


def board_of(request: pytest.FixtureRequest) -> str:
    board = request.node.callspec.params["made"]
    assert isinstance(board, str)
    return board


def published(made: Made, name: str, passed: int = 0) -> Counter[Key]:
    """Counts of a service; on Armv4T, with ``passed`` priorities without a ready task."""
    return by_key(counts(made, name, passed))


def counts(made: Made, name: str, passed: int = 0) -> Counts:
    service = service_of(made.published, name)
    values = {p["name"]: passed for p in service.get("parameters", [])}
    return counts_at(service["counts"], values)


def instructions(found: Counter[Key]) -> int:
    return chain_compare.instructions(found)


def forms(made: Made, name: str) -> dict[tuple[bool, bool], int]:
    """Instructions by whether interrupts, and whether preemption, are held off."""
    found: dict[tuple[bool, bool], int] = {}
    for row in service_of(made.published, name)["counts"]["rows"]:
        form = (bool(row["blocking"].get("interrupts")), bool(row["blocking"].get("preemption")))
        issued = sum(
            entry["count"]
            for entry in row["counts"]
            if "event" in entry and entry["event"] not in chain_compare.BESIDE
        )
        found[form] = found.get(form, 0) + issued
    return found


# ---- against the second count -------------------------------------------------------------------


@each(*BOARDS)
def test_every_window_is_the_oracles(made: Made) -> None:
    assert chain_compare.all_of(made) == []


@each(*BOARDS)
def test_all_are_exact_formulas(made: Made) -> None:
    for service in made.published["services"]:
        assert "rows" in service["counts"], service["name"]
        assert service["word"] == "high-water mark", service["name"]
    drives = set(made.services["services"])
    assert {s["name"].partition("/")[0] for s in made.published["services"]} == drives


# ---- by hand ------------------------------------------------------------------------------------

SWITCHED = {
    # 35 of vTaskSwitchContext, where the list's end is passed; 14 of __clzsi2 for a priority from
    # 16 on.
    "virt": lambda passed: 35 + 14,
    # 4 up to the branch to 0x20, 12 up to the branch over the search, 16 from there on. The search:
    # 4 for each priority, and the shift behind it.
    "versatilepb": lambda passed: 4 + 12 + 16 + (4 * passed + 1 if passed else 0),
    # 5, 11, 10, 8 and 3 of the five stretches between branches. The search: 2 before, 5 for each
    # priority, and the shift behind it.
    "versatilepb-thumb": lambda passed: 5 + 11 + 10 + 8 + 3 + (5 * passed + 3 if passed else 0),
}
MINIMAL = {
    # The trap handler: 40 up to the test of mcause, of them 28 stores of registers; 4 for the
    # handlers' stack, 4 that tell the tick, 2 of the call, 1 back; 41 up to mret, of them 28 loads
    # of registers. The application's: 5 and a return.
    "virt": (40 + 4 + 4 + 2 + 1 + 41, 5 + 1),
    # The vector; 24 up to the call, 6 of what it calls, 12 up to the return.
    "versatilepb": (1, 24 + 6 + 12),
    "versatilepb-thumb": (1, 24 + 6 + 12),
    # bx lr
    "mps2-an385": (0, 1),
    "mps2-an386": (0, 1),
}
SECTION = {"virt": ".fast_text", "versatilepb": ".vectors", "versatilepb-thumb": ".vectors"}


@each(*BOARDS)
def test_minimal_interrupt(made: Made, request: pytest.FixtureRequest) -> None:
    board, found = board_of(request), published(made, "interrupt_minimal")
    own, applications = MINIMAL[board]
    inside = Counter({key: n for key, n in found.items() if key[0] == "caller.text"})
    assert instructions(inside) == applications
    assert instructions(found) == own + applications
    assert found["?", "exception entry"] + found.get(("caller.text", "exception entry"), 0) == 1
    # Of handlers: all interrupts, but on Cortex-M, where more urgent ones get in.
    assert set(forms(made, "interrupt_minimal")) == {(board in IN_HANDLERS, True)}


@each(*IN_HANDLERS)
def test_switch_in_an_interrupt(made: Made, request: pytest.FixtureRequest) -> None:
    board = board_of(request)
    for passed in range(20):
        found = published(made, "context_switch_interrupt", passed)
        assert instructions(found) == SWITCHED[board](passed)
    assert set(forms(made, "context_switch_interrupt")) == {(True, True)}


MORE = {
    # What the handler executes to call, in the place of a return: auipc and jr.
    "virt": Counter({"alu": 1}),
    # push, bl, pop
    "versatilepb": Counter({"store": 1, "call": 1, "load": 1}),
    # and the linker's veneer: ldr, bx
    "versatilepb-thumb": Counter({"store": 1, "call": 1, "load": 2, "indirect jump": 1}),
}


# The part alone allows for a caller that loads, right before the call, one of the registers that
# its first instruction pushes. Here a veneer stands before it.
ALLOWED: dict[str, dict[Key, int]] = {
    "virt": {},
    "versatilepb": {},
    "versatilepb-thumb": {(".fast_text", "second use stall behind a transfer"): -1},
}


@each(*IN_HANDLERS)
def test_the_parts_add_up(made: Made, request: pytest.FixtureRequest) -> None:
    """As the services files say: the whole is the sum, and what the handler executes to call.
    Everything outside of the handler's own code and stack is the sum to the last access and
    stall."""
    board = board_of(request)
    for passed in range(20):
        whole = published(made, "interrupt_switch", passed)
        parts = published(made, "interrupt_minimal")
        parts.update(published(made, "context_switch_interrupt", passed))
        more = Counter(whole)
        more.subtract(parts)
        own = ("caller.text", "stack.main")
        assert {key: n for key, n in more.items() if n and key[0] not in own} == ALLOWED[board]
        expected = sum(MORE[board].values())
        assert instructions(whole) == instructions(parts) + expected
    assert set(forms(made, "interrupt_switch")) == {(True, True)}


@each(*IN_HANDLERS)
def test_switches_are_masked_from_entry_to_return(made: Made) -> None:
    """One stretch each, which is all of it; the part's joins that of its caller."""
    for name in ("interrupt_minimal", "interrupt_switch", "context_switch_interrupt"):
        service = service_of(made.published, name)
        assert [s["kind"] for s in service["stretches"]] == ["interrupts", "preemption"]
        for stretch in service["stretches"]:
            assert stretch["counts"] == service["counts"]
            inside = name == "context_switch_interrupt"
            assert stretch["goes_on_from"] == (["caller"] if inside else [])
            assert stretch["goes_on_in"] == (["caller"] if inside else ["thread"])
        windows = made.oracle.of(name)
        assert windows
        assert all(set(w.forms) == {(ALL_INTERRUPTS, True)} for w in windows)


@each(*ARMV4T)
def test_critical_sections_of_armv4t(made: Made) -> None:
    """Masked behind the `msr` that masks, and up to the one that lets interrupts in."""
    # stmfd, mrs, orr, msr; ldmfd, two loads, add, str, bx
    assert forms(made, "vPortEnterCritical") == {(False, False): 4, (True, False): 6}
    # 10 up to the second conditional return, stmfd, mrs, bic, msr; ldmfd, bx
    assert forms(made, "vPortExitCritical") == {(True, False): 14, (False, False): 2}


@each("versatilepb-thumb")
def test_masking_from_thumb(made: Made) -> None:
    # stmdb, mrs, orr, msr; ldmia, bx
    assert forms(made, "vPortDisableInterruptsFromThumb") == {(False, False): 4, (True, False): 2}
    assert forms(made, "vPortEnableInterruptsFromThumb") == {(True, False): 4, (False, False): 2}


REQUESTED = {
    # ecall or swi, and the return
    "virt": (1, 1),
    "versatilepb": (1, 1),
    "versatilepb-thumb": (1, 1),
    # Two constants and the store; dsb, isb and the return. The emulator looks for what is pending
    # behind the isb at the latest.
    "mps2-an385": (3, 3),
    "mps2-an386": (3, 3),
}


@each(*BOARDS)
def test_the_request_of_a_switch(made: Made, request: pytest.FixtureRequest) -> None:
    """Of a task; nothing is held off."""
    parts = [f"taskYIELD/{part}" for part in ("call", "resume")]
    issued = [instructions(published(made, part)) for part in parts]
    assert sum(issued) == sum(REQUESTED[board_of(request)])
    assert issued[0] >= REQUESTED[board_of(request)][0]
    for part in parts:
        assert set(forms(made, part)) == {(False, False)}


@each(*BOARDS)
def test_the_request_of_a_switch_by_a_handler(made: Made, request: pytest.FixtureRequest) -> None:
    """Where the switch is a handler of its own; elsewhere it is a call, which has a service."""
    named = {service["name"] for service in made.published["services"]}
    assert ("portYIELD_FROM_ISR" in named) == (board_of(request) not in IN_HANDLERS)
    if "portYIELD_FROM_ISR" not in named:
        return
    # cbz, two constants, str, dsb, isb, bx; or cbz and bx, with the jump taken
    wanted, none = (by_key(counts(made, "portYIELD_FROM_ISR", case)) for case in range(2))
    assert (instructions(wanted), instructions(none)) == (7, 2)
    assert wanted["caller.text", "store"] == wanted["scs", "write", "32", "single"] == 1
    assert wanted["caller.text", "barrier"] == 2
    assert not {key for key in none if key[0] == "scs"}
    assert {preempted for _, preempted in forms(made, "portYIELD_FROM_ISR")} == {True}


@each("virt", "versatilepb")
def test_ports_that_mask_in_line_have_no_functions_for_it(made: Made) -> None:
    symbols = {name for name in made.symbols if name.startswith("vPort")}
    assert not any("FromThumb" in name for name in symbols)
    critical = {"vPortEnterCritical", "vPortExitCritical"}
    assert symbols & critical in (critical, set())
    named = {service["name"] for service in made.published["services"]}
    assert named & critical == symbols & critical
