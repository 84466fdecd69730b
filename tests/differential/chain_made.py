"""What is made of one run of the firmware, once for all tests: see chain_fixtures."""

from __future__ import annotations

import fcntl
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import chain_log
from chain_listing import Listing
from chain_oracle import Blocking, Counts, Machine, Stretch
from chain_stream import Run
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "rtos_tests" / "freertos"
SERVICES = tuple(
    str(SUITE / name)
    for name in ("services.yaml", "config/basic.yaml", "boards/mps2-an385/image.yaml")
)
WCETCHAR = (sys.executable, "-c", "from wcetchar.cli import main; main()")

T = TypeVar("T")


def services_document(files: Sequence[str] = SERVICES) -> dict[str, Any]:
    """The services files as one document, put together without the toolchain's own reader."""
    joined: dict[str, Any] = {}
    for name in files:
        for key, value in YAML(typ="safe", pure=True).load(Path(name)).items():
            if isinstance(value, dict):
                joined.setdefault(key, {}).update(value)
            else:
                joined[key] = value
    return joined


@dataclass
class Shared:
    """A folder that all workers of one session have in common."""

    folder: Path

    def made(self, name: str, make: Callable[[], T]) -> T:
        file = self.folder / f"{name}.pickle"
        with open(self.folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                part = file.with_suffix(".part")
                part.write_bytes(pickle.dumps(make()))
                part.rename(file)
        found: T = pickle.loads(file.read_bytes())
        return found


@dataclass
class Counted:
    """One window as the oracle sees it; ``forms``: the blocking form at each of its steps."""

    service: str
    values: tuple[int, ...]
    steps: list[int]
    forms: list[Blocking]
    counts: Counts
    stretches: list[Stretch]


@dataclass
class Oracle:
    """``differences``: between QEMU's log, the plugin's trace and objdump, in words."""

    windows: list[Counted]
    differences: list[str]
    instructions: int
    accesses: int
    in_exceptions: Counter[int]
    """Instructions by number of the exception that was active, innermost."""


def command(*arguments: str | Path) -> None:
    done = subprocess.run(
        [*WCETCHAR, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def make_oracle(
    firmware: Path,
    folder: Path,
    listing: Listing,
    run: Run,
    services: dict[str, Any],
    board: str = "mps2-an385",
) -> Oracle:
    path = folder / f"{board}.log"
    chain_log.record(firmware, path, board=board)
    log = chain_log.read(path)
    path.unlink()
    machine = Machine(listing, log, run, services)
    windows = []
    for window in machine.windows():
        counts, stretches = machine.count(window)
        forms = [machine.blocking(step) for step in window.steps]
        windows.append(
            Counted(window.service, window.values, window.steps, forms, counts, stretches)
        )
    return Oracle(
        windows,
        _differences(listing, log, run),
        len(run.pcs),
        sum(map(len, run.data.values())),
        _in_exceptions(run),
    )


def _differences(listing: Listing, log: chain_log.Log, run: Run) -> list[str]:
    found = []
    if log.pcs != run.pcs:
        at = next(
            (i for i, (a, b) in enumerate(zip(log.pcs, run.pcs, strict=False)) if a != b), "end"
        )
        found.append(f"the executed instructions differ from step {at} on")
    if log.exceptions != run.exceptions:
        found.append("the exceptions differ")
    for address, code in log.code.items():
        if listing.lines[address].code != code:
            found.append(f"{address:#x} is {code.hex()} in the log")
    return found + access_differences(listing, run)


def access_differences(listing: Listing, run: Run) -> list[str]:
    """Accesses of the run that are not what the mnemonics say."""
    found = []
    for step, pc in enumerate(run.pcs):
        line = listing.lines[pc]
        accesses = run.data.get(step, [])
        if line.predicated and not accesses:
            continue
        kinds = [(write, size) for write, size, _ in accesses]
        expected = [(False, line.width)] * line.reads + [(True, line.width)] * line.writes
        if kinds != expected:
            found.append(f"step {step}, {line}: {accesses}")
    return found


def _in_exceptions(run: Run) -> Counter[int]:
    found: Counter[int] = Counter()
    nested: list[int] = []
    start = 0
    for at, entered, number in run.exceptions:
        if nested:
            found[nested[-1]] += at - start
        start = at
        if entered:
            nested.append(number)
        else:
            assert nested.pop() == number
    return found
