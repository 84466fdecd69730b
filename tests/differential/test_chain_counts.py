"""The published characterization of the real firmware against an independent count of its run.

The count comes from the text of objdump, QEMU's own log (no plugin) and nm and readelf; the
plugin's stream, read by a decoder of these tests, gives addresses of accesses. See chain_oracle.
Every one of the 443 windows is compared, at every value of every parameter: those that the formulas
were fitted to and those that were held out.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import chain_log
import chain_stream
import pytest
from chain_listing import Listing
from chain_made import Oracle, access_differences, services_document
from chain_oracle import Key
from chain_published import by_key, counts_at, evaluate

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

NAMES = list(services_document()["services"])
BESIDE = {"pipeline refill", "exception entry", "exception exit"}


def service_of(published: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [s for s in published["services"] if s["name"] == name]
    assert isinstance(found, dict)
    return found


def values_of(service: dict[str, Any], values: tuple[int, ...]) -> dict[str, int]:
    names = [parameter["name"] for parameter in service.get("parameters", [])]
    return dict(zip(names, values, strict=True))


def instructions(counts: Counter[Key]) -> int:
    return sum(n for key, n in counts.items() if len(key) == 2 and key[1] not in BESIDE)


# ---- the run -----------------------------------------------------------------------------------


def test_both_runs_had_the_same_arguments(capture: Path) -> None:
    header = chain_stream.decode(capture).header
    assert header["arguments"] == ["qemu-system-arm", *chain_log.ARGUMENTS, "-d", "int"]


def test_the_trace_is_qemus_own_log_and_the_listing(oracle: Oracle) -> None:
    """Every executed instruction and every exception in its place; number, width and direction of
    every access by the mnemonic."""
    assert oracle.differences == []
    assert oracle.instructions > 1_000_000
    assert oracle.accesses > 500_000


def test_a_changed_access_would_be_seen(listing: Listing, run: chain_stream.Run) -> None:
    step = next(s for s in run.data if not listing.lines[run.pcs[s]].predicated)
    (write, size, address), *others = run.data[step]
    changed: list[list[tuple[bool, int, int]]] = [
        [],
        [(write, size, address)] * 2 + others,
        [(not write, size, address), *others],
        [(write, 3 - size // 2, address), *others],
    ]
    for accesses in changed:
        one = chain_stream.Run([run.pcs[step]], {0: accesses}, [])
        assert len(access_differences(listing, one)) == 1, accesses
    same = chain_stream.Run([run.pcs[step]], {0: run.data[step]}, [])
    assert access_differences(listing, same) == []


# ---- windows -----------------------------------------------------------------------------------


def test_every_value_of_every_parameter_has_a_window(
    oracle: Oracle, services: dict[str, Any]
) -> None:
    seen: dict[str, list[tuple[int, ...]]] = {}
    for window in oracle.windows:
        seen.setdefault(window.service, []).append(window.values)
    for name, service in services["services"].items():
        spans = [p["range"].split("..") for p in service.get("parameters", {}).values()]
        ranges = [range(int(low), int(high) + 1) for low, high in spans]
        assert seen[name] == list(product(*ranges)), name


def test_conservation(oracle: Oracle, published: dict[str, Any]) -> None:
    """Instructions of each service and of each exception are those that the oracle finds."""
    stated = published["conservation"]
    attributed = {entry["name"]: entry["instructions"] for entry in stated["attributed"]}
    expected: Counter[str] = Counter()
    for window in oracle.windows:
        expected[window.service] += len(window.steps)
    assert attributed == expected
    elsewhere = {entry["name"]: entry["instructions"] for entry in stated["unattributed"]}
    by_number = oracle.in_exceptions.copy()
    for name, number in (
        ("tick_interrupt", 15),
        ("tick_interrupt_wrap", 15),
        ("context_switch", 14),
        ("xSemaphoreGiveFromISR_waiter", 16),
    ):
        by_number[number] -= expected[name]
    for number, count in by_number.items():
        assert elsewhere.pop(f"exception {number}") == count
    assert stated["traced"] == oracle.instructions
    threads = sum(elsewhere.values())
    assert threads == oracle.instructions - sum(expected.values()) - sum(by_number.values())


# ---- counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_the_oracle(
    oracle: Oracle, published: dict[str, Any], name: str
) -> None:
    """Accesses by logical section, operation, width and pattern, core events by section, each
    under its own blocking form, at every value."""
    service = service_of(published, name)
    windows = [window for window in oracle.windows if window.service == name]
    assert service["evidence"]["windows"] == len(windows)
    for window in windows:
        stated = counts_at(service["counts"], values_of(service, window.values))
        differing = {
            key: (stated[key], window.counts[key])
            for key in stated.keys() | window.counts.keys()
            if stated[key] != window.counts[key]
        }
        assert differing == {}, f"{name} at {window.values}: (published, counted)"


@pytest.mark.parametrize("name", NAMES)
def test_every_executed_instruction_is_one_event(
    oracle: Oracle, published: dict[str, Any], name: str
) -> None:
    """By the plainest of all counts: how many instructions the window has."""
    service = service_of(published, name)
    for window in oracle.windows:
        if window.service == name:
            stated = counts_at(service["counts"], values_of(service, window.values))
            assert instructions(by_key(stated)) == len(window.steps)


def test_loads_and_stores_by_hand(
    oracle: Oracle, published: dict[str, Any], listing: Listing, run: chain_stream.Run
) -> None:
    """vListInsert and xSemaphoreTake once more, without the oracle's counting: mnemonics alone."""
    for name in ("vListInsert", "xSemaphoreTake"):
        service = service_of(published, name)
        for window in oracle.windows:
            if window.service != name:
                continue
            lines = [listing.lines[run.pcs[step]] for step in window.steps]
            assert not any(line.predicated for line in lines)
            reads = writes = 0
            for line in lines:
                if line.mnemonic.startswith("ldr"):
                    reads += 2 if line.mnemonic == "ldrd" else 1
                elif line.mnemonic.startswith("str"):
                    writes += 2 if line.mnemonic == "strd" else 1
                elif line.mnemonic in ("pop", "ldmia"):
                    reads += 1 + line.operands.count(",") - ("sp!" in line.operands)
                elif line.mnemonic in ("push", "stmdb"):
                    writes += 1 + line.operands.count(",") - ("sp!" in line.operands)
            stated = by_key(counts_at(service["counts"], values_of(service, window.values)))
            assert sum(n for k, n in stated.items() if k[1] == "read") == reads
            assert sum(n for k, n in stated.items() if k[1] == "write") == writes


# ---- stretches ---------------------------------------------------------------------------------


_PLACE = re.compile(r"(\S+?)(?:\+(\d+))? \([^)]*\)(?:, called at (\S+?)(?:\+(\d+))? \([^)]*\))?")


def addresses_of(listing: Listing, place: str) -> tuple[int, int | None]:
    """``function+offset (file:line), called at function+offset (file:line)`` -> addresses."""
    found = _PLACE.fullmatch(place)
    assert found is not None, place
    own = listing.symbols[found[1]][0] + int(found[2] or 0)
    return own, listing.symbols[found[3]][0] + int(found[4] or 0) if found[3] else None


@pytest.mark.parametrize("name", NAMES)
def test_blocking_stretches_cover_those_of_the_oracle(
    oracle: Oracle, published: dict[str, Any], listing: Listing, name: str
) -> None:
    """Every real stretch is within a published one, class by class; a published one is a real one.

    Where a window has several stretches between the same places by the same calls, the published
    one is their elementwise maximum: by instruction, which can be more than by class, never less.
    """
    service = service_of(published, name)
    for window in oracle.windows:
        if window.service != name:
            continue
        values = values_of(service, window.values)
        stated = []
        for s in service.get("stretches", []):
            ends = addresses_of(listing, s["begin"]) + addresses_of(listing, s["end"])
            stated.append(((s["kind"], *ends), by_key(counts_at(s["counts"], values))))
        for real in window.stretches:
            covered = [p for p, held in stated if p[0] == real.kind and real.counts <= held]
            assert covered, f"{real.place} at {values}"
        for place, held in stated:
            found = [real.counts for real in window.stretches if real.place == place]
            if not found:
                assert not held, f"{place} at {values}"
                continue
            # Stretches of one place that were reached by different calls are published apart.
            assert any(counts <= held for counts in found), f"{place} at {values}"
            assert held <= sum(found, Counter())
            if all(counts == found[0] for counts in found):
                assert held == found[0], f"{place} at {values}"


# ---- the tests' own tools ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "value"),
    [("1", 1), ("N - 1", 6), ("2*N + 3", 17), ("ceil(N/4)", 2), ("floor(N/4)", 1), ("N == 7", 1)],
)
def test_formulas_are_evaluated(formula: str, value: int) -> None:
    assert evaluate(formula, {"N": 7}) == value
