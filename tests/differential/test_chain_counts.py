"""The published characterization of the real firmware against an independent count of its run.

The count comes from the text of objdump, QEMU's own log (no plugin) and nm and readelf; the
plugin's stream, read by a decoder of these tests, gives addresses of accesses. See chain_oracle.
Every one of the 442 windows is compared, at every value of every parameter: those that the formulas
were fitted to and those that were held out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chain_compare
import chain_log
import chain_stream
import pytest
from chain_compare import service_of, values_of
from chain_listing import Listing
from chain_made import Oracle, access_differences, services_document
from chain_published import by_key, counts_at, evaluate

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

NAMES = [part for _, part in chain_compare.parts_of(services_document())]


# ---- the run -----------------------------------------------------------------------------------


def test_both_runs_had_the_same_arguments(capture: Path) -> None:
    header = chain_stream.decode(capture).header
    assert header["arguments"] == ["qemu-system-arm", *chain_log.ARGUMENTS, "-d", "int"]


def test_a_run_is_read_chunk_by_chunk(capture: Path, run: chain_stream.Run) -> None:
    """As from the whole stream."""
    whole = chain_stream.run_of(chain_stream.decode(capture))
    assert (run.pcs, run.exceptions) == (whole.pcs, whole.exceptions)
    assert isinstance(run.data, chain_stream.Data)
    assert isinstance(whole.data, chain_stream.Data)
    for one, other in zip(run.data.columns, whole.data.columns, strict=True):
        assert (one == other).all()
    for step in range(0, len(run.pcs), 97):
        assert run.data.at(step) == whole.data.at(step)


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

    def differences(accesses: list[tuple[bool, int, int]]) -> list[str]:
        data = chain_stream.Data.of(1, {0: accesses})
        return access_differences(listing, chain_stream.Run([run.pcs[step]], data, []))

    for accesses in changed:
        assert len(differences(accesses)) == 1, accesses
    assert differences(run.data[step]) == []


# ---- windows -----------------------------------------------------------------------------------


def test_every_value_of_every_parameter_has_a_window(
    oracle: Oracle, services: dict[str, Any], published: dict[str, Any]
) -> None:
    assert list(chain_compare.values(oracle, services, published)) == []


def test_conservation(oracle: Oracle, published: dict[str, Any]) -> None:
    """Instructions of each service and of each exception are those that the oracle finds."""
    assert list(chain_compare.conservation(oracle, published)) == []


# ---- counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_the_oracle(
    oracle: Oracle, published: dict[str, Any], name: str
) -> None:
    assert list(chain_compare.counts(service_of(published, name), oracle.of(name))) == []


def test_loads_and_stores_by_hand(
    oracle: Oracle, published: dict[str, Any], listing: Listing, run: chain_stream.Run
) -> None:
    """vListInsert and xSemaphoreTake once more, without the oracle's counting: mnemonics alone."""
    for name in ("vListInsert", "xSemaphoreTake"):
        service = service_of(published, name)
        for window in oracle.of(name):
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


@pytest.mark.parametrize("name", NAMES)
def test_blocking_stretches_are_those_of_the_oracle(
    oracle: Oracle, published: dict[str, Any], listing: Listing, name: str
) -> None:
    service = service_of(published, name)
    begins = chain_compare.begins_of(published)
    found = chain_compare.stretches(service, oracle.of(name), listing.symbols, begins)
    assert list(found) == []


# ---- the tests' own tools ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "value"),
    [("1", 1), ("N - 1", 6), ("2*N + 3", 17), ("ceil(N/4)", 2), ("floor(N/4)", 1), ("N == 7", 1)],
)
def test_formulas_are_evaluated(formula: str, value: int) -> None:
    assert evaluate(formula, {"N": 7}) == value
