"""What is made of one run of the RISC-V firmware, once for all tests."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chain_stream
import pytest
from chain_made import SUITE, Counted, Shared, access_differences, command
from riscv_oracle import RiscvMachine
from riscv_run import Interpreter, listing_of
from ruamel.yaml import YAML

ELF = SUITE.parents[1] / "build" / "firmware" / "freertos-virt" / "freertos.elf"
FILES = tuple(
    str(SUITE / name) for name in ("services.yaml", "config/basic.yaml", "boards/virt/image.yaml")
)


def services_document() -> dict[str, Any]:
    """The services files as one document, put together without the toolchain's own reader."""
    joined: dict[str, Any] = {}
    for name in FILES:
        for key, value in YAML(typ="safe", pure=True).load(Path(name)).items():
            if isinstance(value, dict):
                joined.setdefault(key, {}).update(value)
            else:
                joined[key] = value
    return joined


@dataclass
class Made:
    """``differences``: between the run, its second execution and objdump, in words; ``in_traps``:
    instructions by number of the trap."""

    trace: Path
    published: dict[str, Any]
    windows: list[Counted]
    differences: list[str]
    in_traps: Counter[int]
    instructions: int


def _folder(factory: pytest.TempPathFactory) -> Shared:
    if not ELF.exists():
        pytest.skip(f"{ELF.name} of the board virt is not built (make BOARD=virt)")
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "riscv-chain"
    folder.mkdir(exist_ok=True)
    return Shared(folder)


@pytest.fixture(scope="session")
def riscv_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shared = _folder(tmp_path_factory)

    def make() -> Path:
        trace = shared.folder / "run.trace"
        command("capture", ELF, "--machine", "virt", "-o", trace)
        return trace

    return shared.made("trace", make)


@pytest.fixture(scope="session")
def riscv_made(riscv_trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    shared = _folder(tmp_path_factory)
    return shared.made("made", lambda: _make(riscv_trace))


def _make(trace: Path) -> Made:
    published = trace.with_name("published.json")
    given = [word for name in FILES for word in ("--services", name)]
    command("characterize", ELF, trace, *given, "-o", published)
    listing, run = listing_of(ELF), chain_stream.run_of(chain_stream.decode(trace))
    interpreter = Interpreter(ELF, listing, run)
    made = Made(trace, json.loads(published.read_text()), [], [], Counter(), len(run.pcs))
    made.differences = interpreter.differences + access_differences(listing, run)
    if interpreter.differences:
        return made
    machine = RiscvMachine(listing, interpreter, run, services_document())
    for window in machine.windows():
        counts, stretches = machine.count(window)
        forms = [machine.blocking(step) for step in window.steps]
        made.windows.append(
            Counted(window.service, window.values, window.steps, forms, counts, stretches)
        )
    for segment in machine.segments:
        if isinstance(segment.owner, int):
            made.in_traps[machine.number_of(segment)] += segment.end - segment.start
    return made
