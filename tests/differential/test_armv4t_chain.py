"""The published characterization of the Armv4T firmware against an independent count of its run.

See ``chain_oracle`` for what is counted, ``armv4t_oracle`` for where registers and masks come from.
Every window is compared, at every value of every parameter.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import armv4t_oracle as oracle
import chain_stream
import pytest
from chain_made import SUITE, Counted, Shared, access_differences, command, services_document
from chain_published import ALL_INTERRUPTS, by_key, counts_at

pytestmark = pytest.mark.firmware

BOARDS = ("versatilepb", "versatilepb-thumb")


def files(board: str) -> tuple[str, ...]:
    names = ("services.yaml", "config/basic.yaml", f"boards/{board}/image.yaml")
    return tuple(str(SUITE / name) for name in names)


SERVICES = services_document(files("versatilepb"))
NAMES = list(SERVICES["services"])
Made = tuple[dict[str, Any], list[Counted], list[str], Counter[int], int]


@pytest.fixture(scope="session", params=BOARDS)
def armv4t_made(tmp_path_factory: pytest.TempPathFactory, request: Any) -> Made:
    """The published document; windows, differences, instructions by exception and in all."""
    board = request.param
    elf = SUITE.parents[1] / "build" / "firmware" / f"freertos-{board}" / "freertos.elf"
    if not elf.exists():
        pytest.skip(f"{elf.name} of the board {board} is not built (make BOARD={board})")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"{board}-chain"
    folder.mkdir(exist_ok=True)
    return Shared(folder).made("made", lambda: _make(elf, board, folder))


def _make(elf: Path, board: str, folder: Path) -> Made:
    trace, published, text = folder / "run.trace", folder / "published.json", folder / "qemu.log"
    command("capture", elf, "--machine", "versatilepb", "-o", trace)
    given = [word for name in files(board) for word in ("--services", name)]
    command("characterize", elf, trace, *given, "-o", published)
    listing, run = oracle.listing_of(elf), chain_stream.run_of(chain_stream.decode(trace))
    oracle.record(elf, text)
    log = oracle.read(text)
    text.unlink()
    differences = access_differences(listing, run)
    if log.pcs != run.pcs:
        at = next((i for i, (a, b) in enumerate(zip(log.pcs, run.pcs)) if a != b), "end")  # noqa: B905
        differences.append(f"the executed instructions differ from step {at} on")
    if log.exceptions != run.exceptions:
        differences.append("the exceptions differ")
    if differences:
        return {}, [], differences, Counter(), len(run.pcs)
    machine = oracle.ArmMachine(listing, log, run, SERVICES)
    for step, pc in enumerate(run.pcs[:-1]):
        line = listing.lines[pc]
        if line.mnemonic == "msr" and "CPSR" in line.operands:
            assert machine.block_ends_behind(step), "what CPSR is behind msr is not in the log"
    windows = []
    for window in machine.windows():
        counts, stretches = machine.count(window)
        forms = [machine.blocking(step) for step in window.steps]
        windows.append(
            Counted(window.service, window.values, window.steps, forms, counts, stretches)
        )
    inside: Counter[int] = Counter()
    for segment in machine.segments:
        if isinstance(segment.owner, int):
            inside[machine.number_of(segment)] += segment.end - segment.start
    return json.loads(published.read_text()), windows, differences, inside, len(run.pcs)


@pytest.fixture
def published(armv4t_made: Made) -> dict[str, Any]:
    return armv4t_made[0]


@pytest.fixture
def windows(armv4t_made: Made) -> list[Counted]:
    return armv4t_made[1]


def service_of(published: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [s for s in published["services"] if s["name"] == name]
    assert isinstance(found, dict)
    return found


def values_of(service: dict[str, Any], values: tuple[int, ...]) -> dict[str, int]:
    names = [parameter["name"] for parameter in service.get("parameters", [])]
    return dict(zip(names, values, strict=True))


def test_armv4t_trace_is_qemus_own_run(armv4t_made: Made) -> None:
    """Every program counter and exception by QEMU's log; accesses as the mnemonics say."""
    assert armv4t_made[2] == []
    assert armv4t_made[4] > 1_000_000


def test_every_value_of_every_armv4t_parameter_has_a_window(windows: list[Counted]) -> None:
    seen: dict[str, list[tuple[int, ...]]] = {}
    for window in windows:
        seen.setdefault(window.service, []).append(window.values)
    for name, service in SERVICES["services"].items():
        spans = [p["range"].split("..") for p in service.get("parameters", {}).values()]
        ranges = [range(int(low), int(high) + 1) for low, high in spans]
        assert seen[name] == list(product(*ranges)), name


def test_armv4t_conservation(armv4t_made: Made) -> None:
    published, windows, _, inside, total = armv4t_made
    stated = published["conservation"]
    attributed = {entry["name"]: entry["instructions"] for entry in stated["attributed"]}
    expected: Counter[str] = Counter()
    for window in windows:
        expected[window.service] += len(window.steps)
    assert attributed == expected
    elsewhere = {entry["name"]: entry["instructions"] for entry in stated["unattributed"]}
    rest = inside.copy()
    for name, service in SERVICES["services"].items():
        if "exceptions" in service:
            rest[service["exceptions"][0]] -= expected[name]
    rest[6] -= expected["xSemaphoreGiveFromISR_waiter"]
    for number, count in rest.items():
        assert elsewhere.pop(f"exception {number}", 0) == count
    assert stated["traced"] == total
    assert sum(elsewhere.values()) == total - sum(expected.values()) - sum(rest.values())


@pytest.mark.parametrize("name", NAMES)
def test_armv4t_counts_are_those_of_the_oracle(
    published: dict[str, Any], windows: list[Counted], name: str
) -> None:
    """Accesses and events, each under its own blocking form: whether I or F was set is what QEMU's
    CPSR says."""
    service = service_of(published, name)
    mine = [window for window in windows if window.service == name]
    assert service["evidence"]["windows"] == len(mine)
    for window in mine:
        stated = counts_at(service["counts"], values_of(service, window.values))
        differing = {
            key: (stated[key], window.counts[key])
            for key in stated.keys() | window.counts.keys()
            if stated[key] != window.counts[key]
        }
        assert differing == {}, f"{name} at {window.values}: (published, counted)"


@pytest.mark.parametrize("name", NAMES)
def test_armv4t_stretches_cover_those_of_the_oracle(
    published: dict[str, Any], windows: list[Counted], name: str
) -> None:
    service = service_of(published, name)
    for window in windows:
        if window.service != name:
            continue
        values = values_of(service, window.values)
        stated = [
            (s["kind"], by_key(counts_at(s["counts"], values)))
            for s in service.get("stretches", [])
        ]
        for real in window.stretches:
            assert any(k == real.kind and real.counts <= held for k, held in stated), real.place
        for kind, held in stated:
            longest = [s.counts for s in window.stretches if s.kind == kind]
            assert not held or any(counts <= held for counts in longest)


def test_armv4t_handlers_are_masked_as_a_whole(windows: list[Counted]) -> None:
    """From the vector to the exception return, both included."""
    handlers = [w for w in windows if w.service.startswith(("tick_", "context_switch"))]
    assert len(handlers) == 18
    for window in handlers:
        assert set(window.forms) == {(ALL_INTERRUPTS, True)}


def test_armv4t_lock_by_hand(published: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """vTaskSuspendAll is, in either state: ldr r2, =...; ldr r3, [r2]; add; str; bx lr."""
    width = "16" if "thumb" in request.node.name else "32"
    counts = by_key(counts_at(service_of(published, "vTaskSuspendAll")["counts"], {}))
    assert counts == {
        (".text", "load"): 2,
        (".text", "alu"): 1,
        (".text", "store"): 1,
        (".text", "return"): 1,
        (".text", "pipeline refill"): 1,
        (".text", "fetch", width, "first"): 1,
        (".text", "fetch", width, "next"): 4,
        (".text", "read", "32", "single"): 1,
        ("kernel.data", "read", "32", "single"): 1,
        ("kernel.data", "write", "32", "single"): 1,
    }
