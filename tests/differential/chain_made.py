"""What is made of a run of the firmware, once for all tests: see chain_fixtures."""

from __future__ import annotations

import fcntl
import json
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import armv4t_oracle
import chain_listing
import chain_log
import chain_stream
import numpy as np
import riscv_run
from chain_listing import Listing
from chain_oracle import Counted, Machine, Window
from chain_stream import AT_ONCE, Data, Run
from riscv_oracle import RiscvMachine
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
    for name, keys in joined.pop("instead", {}).items():
        joined["services"][name].update(keys)
    return joined


@dataclass
class Shared:
    """A folder that all workers of one session have in common."""

    folder: Path

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """No other worker is inside of the same meanwhile."""
        with open(self.folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def made(self, name: str, make: Callable[[], T]) -> T:
        file = self.folder / f"{name}.pickle"
        with self.locked(name):
            if not file.exists():
                part = file.with_suffix(".part")
                part.write_bytes(pickle.dumps(make()))
                part.rename(file)
        found: T = pickle.loads(file.read_bytes())
        return found


@dataclass(frozen=True)
class Seen:
    """A window without its counts. ``instructions``: how many it has; ``number``: of the exception
    that it was executed in, if any."""

    service: str
    values: tuple[int, ...]
    instructions: int
    number: int | None


@dataclass
class Oracle:
    """``differences``: between the plugin's trace, objdump and a second account of the run (QEMU's
    log, or the run carried out once more), in words; without a count where there are any.
    ``windows``: in the order of the marks."""

    windows: list[Seen]
    differences: list[str]
    instructions: int
    accesses: int
    in_exceptions: Counter[int]
    """Instructions by number of the exception that was active, innermost."""
    deepest: int = 0
    """How often the scheduler was locked at once."""
    counted: dict[str, Path] = field(default_factory=dict)
    """By service, the file of its windows: those of a large firmware fill the memory."""
    _latest: tuple[str, list[Counted]] = field(default=("", []), init=False)

    def of(self, service: str) -> list[Counted]:
        """All windows of a service, in the order of the marks."""
        if service not in self.counted:
            return []
        if self._latest[0] != service:
            self._latest = (service, pickle.loads(self.counted[service].read_bytes()))
        return self._latest[1]


def command(*arguments: str | Path) -> None:
    done = subprocess.run(
        [*WCETCHAR, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Firmware:
    """One of those that rtos_tests/freertos builds."""

    board: str
    config: str = "basic"

    @property
    def name(self) -> str:
        given = (("mps2-an385", self.board), ("basic", self.config))
        return "-".join(["freertos", *(name for usual, name in given if name != usual)])

    @property
    def elf(self) -> Path:
        return ROOT / "build" / "firmware" / self.name / "freertos.elf"

    @property
    def machine(self) -> str:
        return self.board.removesuffix("-thumb")

    @property
    def services(self) -> list[str]:
        choice = (f"BOARD={self.board}", f"CONFIG={self.config}")
        made = subprocess.run(
            ["make", "-s", "--no-print-directory", "-C", SUITE, *choice, "services"],
            capture_output=True,
            text=True,
            check=True,
        )
        return [str(ROOT / name) for name in made.stdout.split()]


BOARDS = ("mps2-an385", "mps2-an386", "virt", "versatilepb", "versatilepb-thumb")
EVERY_TIME = [Firmware(board) for board in BOARDS if not board.endswith("-thumb")]
"""Of which `make test` makes what is shared; of the others the long tests do."""
FULL = [Firmware(board, "full") for board in BOARDS]
LARGE = [*FULL, *(Firmware(board, "whole") for board in ("mps2-an385", "virt"))]
"""Each takes half an hour and gigabytes of memory. `whole` has fewer services on a smaller kernel:
once for each way of masking interrupts."""


@dataclass
class Made:
    """``published``: the characterization as JSON; ``services``: the services files as one;
    ``symbols``: name -> (address, size); ``taken``: run and characterization are those of a
    campaign's cell."""

    trace: Path
    published: dict[str, Any]
    services: dict[str, Any]
    symbols: dict[str, tuple[int, int]]
    oracle: Oracle
    taken: bool = False

    @property
    def characterization(self) -> Path:
        return self.trace.with_name("published.json")


def make(
    firmware: Firmware,
    folder: Path,
    elf: Path | None = None,
    alone: AbstractContextManager[None] | None = None,
    take: Callable[[Path, Path], bool] | None = None,
) -> Made:
    """Captures, characterizes, and counts once more: that in ``alone``. ``take`` says whether the
    first two are not needed, because it put there what they would make."""
    trace, published = folder / "run.trace", folder / "published.json"
    files, elf = firmware.services, elf or firmware.elf
    taken = take is not None and take(trace, published)
    if not taken:
        command("capture", elf, "--machine", firmware.machine, "-o", trace)
        given = [word for name in files for word in ("--services", name)]
        command("characterize", elf, trace, *given, "-o", published)
    services = services_document(files)
    listing = listing_for(firmware.board, elf)
    with alone or nullcontext():
        oracle = in_a_process_of_its_own(
            counted_again, elf, listing, trace, services, folder / "counted", firmware.board
        )
    found = json.loads(published.read_text())
    return Made(trace, found, services, listing.symbols, oracle, taken)


def in_a_process_of_its_own(what: Callable[..., T], *arguments: Any) -> T:
    """Whose memory is free again when it ends."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(what, *arguments).result()


def counted_again(
    elf: Path, listing: Listing, trace: Path, services: dict[str, Any], folder: Path, board: str
) -> Oracle:
    run = chain_stream.run_in(trace)
    return make_oracle(elf, listing, run, services, folder, board)


def listing_for(board: str, elf: Path) -> Listing:
    if board == "virt":
        return riscv_run.listing_of(elf)
    return (armv4t_oracle if board.startswith("versatilepb") else chain_listing).listing_of(elf)


def make_oracle(
    elf: Path,
    listing: Listing,
    run: Run,
    services: dict[str, Any],
    folder: Path,
    board: str = "mps2-an385",
) -> Oracle:
    """``folder`` is made, for what is counted. Raises AssertionError at anything that is not
    understood."""
    folder.mkdir()
    assert isinstance(run.data, Data)
    differences = access_differences(listing, run)
    machine: Machine
    if board == "virt":
        interpreter = riscv_run.Interpreter(elf, listing)
        interpreter.lead(run)
        differences += interpreter.differences
        if not differences:
            machine = RiscvMachine(listing, interpreter, run, services)
    elif isinstance(listing, armv4t_oracle.ArmListing):
        arm_log = armv4t_oracle.log_of(elf)
        differences += _differences(listing, arm_log, run)
        if not differences:
            machine = armv4t_oracle.ArmMachine(listing, arm_log, run, services)
    else:
        log = chain_log.log_of(elf, board)
        differences += _differences(listing, log, run)
        if not differences:
            machine = Machine(listing, log, run, services)
    found = Oracle([], differences, len(run.pcs), run.data.total, _in_exceptions(run))
    if not differences:
        windows = [*machine.windows()]
        found.windows = [
            Seen(w.service, w.values, len(w.steps), machine.exception_of(w)) for w in windows
        ]
        number = Counter((window.service, window.values) for window in windows)
        by_service: dict[str, list[Window]] = {}
        for window in windows:
            by_service.setdefault(window.service, []).append(window)
        del windows
        while by_service:
            name, own = by_service.popitem()
            found.counted[name] = folder / f"{len(by_service)}.pickle"
            one = [machine.count(w, apart=number[name, w.values] > 1) for w in own]
            found.counted[name].write_bytes(pickle.dumps(one))
        found.deepest = machine.deepest
    return found


def _differences(listing: Listing, log: chain_log.Log, run: Run) -> list[str]:
    found = []
    if log.pcs == run.pcs:
        log.pcs = run.pcs  # and the other gigabyte is free
    else:
        pairs = enumerate(zip(log.pcs, run.pcs, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), "end")
        found.append(f"the executed instructions differ from step {at} on")
    if log.exceptions != run.exceptions:
        found.append("the exceptions differ")
    for address, code in log.code.items():
        if listing.lines[address].code != code:
            found.append(f"{address:#x} is {code.hex()} in the log")
    return found


def access_differences(listing: Listing, run: Run) -> list[str]:
    """Accesses of the run that are not what the mnemonics say: how many, and each one's width and
    direction. A predicated instruction may have made none."""
    assert isinstance(run.data, Data)
    found: list[str] = []
    for start in range(0, len(run.pcs), AT_ONCE):
        pcs = np.array(run.pcs[start : start + AT_ONCE], dtype=np.uint32)
        ends = np.searchsorted(run.data.steps, np.array([start, start + len(pcs)], dtype=np.uint32))
        steps = run.data.steps[slice(*ends)] - np.uint32(start)
        addresses, of = np.unique(pcs, return_inverse=True)
        lines = [listing.lines[address] for address in addresses.tolist()]
        assert not any(line.reads and line.writes for line in lines)
        number = np.array([line.reads + line.writes for line in lines])[of]
        widths = [max(line.width, 1).bit_length() - 1 for line in lines]
        word = np.array([8 * (line.writes > 0) for line in lines]) + np.array(widths)
        may_fail = np.array([line.predicated for line in lines])[of]
        made = np.bincount(steps, minlength=len(pcs))
        wrong = (made != number) & ~(may_fail & (made == 0))
        wrong[steps[run.data.words[slice(*ends)] != word[of[steps]]]] = True
        found += (
            f"step {start + step}, {lines[of[step]]}: {run.data.at(start + step)}"
            for step in np.flatnonzero(wrong).tolist()
        )
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
