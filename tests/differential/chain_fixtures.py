"""Fixtures of the tests of the whole chain: one run of the firmware, and everything made of it.

Each part is made once per test session, also where several pytest workers run: whoever comes first
makes it, under a lock, in the session's own folder. What takes longer is marked ``long`` and only
run by ``pytest -m long tests/differential``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import chain_cell
import chain_stream
import pytest
from chain_listing import Listing, listing_of
from chain_made import (
    LARGE,
    SERVICES,
    Firmware,
    Made,
    Oracle,
    Shared,
    command,
    make,
    make_oracle,
    services_document,
)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "chain"
    folder.mkdir(exist_ok=True)
    return Shared(folder)


@pytest.fixture(scope="session")
def services() -> dict[str, Any]:
    return services_document()


@pytest.fixture(scope="session")
def listing(firmware: Path, shared: Shared) -> Listing:
    return shared.made("listing", lambda: listing_of(firmware))


@pytest.fixture(scope="session")
def capture(firmware: Path, shared: Shared) -> Path:
    """The trace of the whole run, by ``wcetchar capture``."""

    def make() -> Path:
        path = shared.folder / "freertos.trace"
        command("capture", firmware, "--machine", "mps2-an385", "-o", path)
        return path

    return shared.made("capture", make)


@pytest.fixture(scope="session")
def run(capture: Path, shared: Shared) -> chain_stream.Run:
    return shared.made("run", lambda: chain_stream.run_in(capture))


@pytest.fixture(scope="session")
def published(firmware: Path, capture: Path, shared: Shared) -> dict[str, Any]:
    """The characterization of the whole run, by ``wcetchar characterize``, as JSON."""

    def make() -> dict[str, Any]:
        path = shared.folder / "freertos.json"
        services = [word for name in SERVICES for word in ("--services", name)]
        command("characterize", firmware, capture, *services, "-o", path)
        document: dict[str, Any] = json.loads(path.read_text())
        return document

    return shared.made("published", make)


@pytest.fixture(scope="session")
def oracle(
    firmware: Path,
    listing: Listing,
    run: chain_stream.Run,
    services: dict[str, Any],
    shared: Shared,
) -> Oracle:
    folder = shared.folder / "counted"
    return shared.made("oracle", lambda: make_oracle(firmware, listing, run, services, folder))


@pytest.fixture(scope="session")
def made(shared: Shared, request: pytest.FixtureRequest) -> Made:
    """What is made of the firmware that the test names as the fixture's parameter."""
    found = made_of(request.param, shared)
    source = f"of {chain_cell.folder_of(request.param)}" if found.taken else "made anew"
    print(f"{request.param.name}: run and characterization {source}")
    return found


@pytest.fixture(scope="session")
def riscv_trace(shared: Shared) -> Path:
    return made_of(Firmware("virt"), shared).trace


def made_of(firmware: Firmware, shared: Shared) -> Made:
    if not firmware.elf.exists():
        choice = f"BOARD={firmware.board} CONFIG={firmware.config}"
        pytest.skip(f"{firmware.name} is not built (make -C rtos_tests/freertos {choice})")

    def make_it() -> Made:
        folder = shared.folder / firmware.name
        folder.mkdir()
        # A large run takes gigabytes of memory while it is counted.
        alone = shared.locked("large") if firmware in LARGE else None
        cell, files = chain_cell.folder_of(firmware), firmware.services
        return make(
            firmware,
            folder,
            alone=alone,
            take=lambda *to: chain_cell.taken(cell, firmware.elf, files, firmware.machine, *to),
        )

    return shared.made(firmware.name, make_it)
