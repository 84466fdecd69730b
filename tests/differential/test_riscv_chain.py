"""The published characterization of the RISC-V firmware against an independent count of its run.

See ``chain_oracle`` for what is counted, ``riscv_run`` for where registers and masks come from.
Every window is compared, at every value of every parameter.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from chain_made import Counted
from chain_published import ALL_INTERRUPTS, by_key, counts_at
from riscv_chain_made import Made, services_document

pytest_plugins = ("riscv_chain_made",)
pytestmark = pytest.mark.firmware

NAMES = list(services_document()["services"])


@pytest.fixture
def published(riscv_made: Made) -> dict[str, Any]:
    return riscv_made.published


@pytest.fixture
def windows(riscv_made: Made) -> list[Counted]:
    return riscv_made.windows


def service_of(published: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [s for s in published["services"] if s["name"] == name]
    assert isinstance(found, dict)
    return found


def values_of(service: dict[str, Any], values: tuple[int, ...]) -> dict[str, int]:
    names = [parameter["name"] for parameter in service.get("parameters", [])]
    return dict(zip(names, values, strict=True))


def test_the_run_can_be_carried_out_once_more(riscv_made: Made) -> None:
    """Every program counter, and address, width and direction of every access."""
    assert riscv_made.differences == []
    assert riscv_made.instructions > 1_000_000


def test_every_value_of_every_riscv_parameter_has_a_window(windows: list[Counted]) -> None:
    seen: dict[str, list[tuple[int, ...]]] = {}
    for window in windows:
        seen.setdefault(window.service, []).append(window.values)
    for name, service in services_document()["services"].items():
        spans = [p["range"].split("..") for p in service.get("parameters", {}).values()]
        ranges = [range(int(low), int(high) + 1) for low, high in spans]
        assert seen[name] == list(product(*ranges)), name


def test_riscv_conservation(riscv_made: Made) -> None:
    total = riscv_made.instructions
    stated = riscv_made.published["conservation"]
    attributed = {entry["name"]: entry["instructions"] for entry in stated["attributed"]}
    expected: Counter[str] = Counter()
    for window in riscv_made.windows:
        expected[window.service] += len(window.steps)
    assert attributed == expected
    elsewhere = {entry["name"]: entry["instructions"] for entry in stated["unattributed"]}
    inside = {
        name: service["exceptions"][0]
        for name, service in services_document()["services"].items()
        if "exceptions" in service
    }
    inside["xSemaphoreGiveFromISR_waiter"] = 0x80000003
    rest = riscv_made.in_traps.copy()
    for name, number in inside.items():
        rest[number] -= expected[name]
    for number, count in rest.items():
        assert elsewhere.pop(f"exception {number}", 0) == count
    assert stated["traced"] == total
    assert sum(elsewhere.values()) == total - sum(expected.values()) - sum(rest.values())


@pytest.mark.parametrize("name", NAMES)
def test_riscv_counts_are_those_of_the_oracle(
    published: dict[str, Any], windows: list[Counted], name: str
) -> None:
    """Accesses and events, each under its own blocking form: whether MIE was set is what the
    interpreter's mstatus says."""
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
def test_riscv_stretches_cover_those_of_the_oracle(
    published: dict[str, Any], windows: list[Counted], name: str
) -> None:
    """Every real stretch is within a published one, class by class, and none is published that is
    no stretch of some window."""
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


def test_handlers_are_masked_as_a_whole(windows: list[Counted]) -> None:
    """From trap entry to mret, both included."""
    handlers = [w for w in windows if w.service.startswith(("tick_", "context_switch"))]
    assert len(handlers) == 18
    for window in handlers:
        assert set(window.forms) == {(ALL_INTERRUPTS, True)}
