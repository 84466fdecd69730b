"""One cell of a campaign: build, capture, characterize; nothing that is there already twice.

A cell's folder holds ``firmware.elf`` (what was built), ``run.trace`` (in a sweep one
``run-NAME=VALUE.trace`` for each run), ``characterization.json``, ``log.txt`` and ``cell.json``.
The last one says what the others were made from, as hashes. What is in the folder belongs together:
when the firmware changes, what was made from the old one goes first. Every file gets its name only
when it is whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import wcetchar
from wcetchar import capture, store
from wcetchar.errors import CheckFailed, InputError, Location, WcetcharError
from wcetchar.pipeline import capture as capturing
from wcetchar.pipeline import characterize as characterizing
from wcetchar.report import summary

FIRMWARE: Final = "firmware.elf"
TRACE: Final = "run.trace"
CHARACTERIZATION: Final = "characterization.json"
LOG: Final = "log.txt"
RECORD: Final = "cell.json"
RECORD_VERSION: Final = 2

_UNUSED_ROOMS: Final = ("cli", "engine", "validation", "hwprofiles")
"""Rooms whose code no cell depends on."""


@dataclass(frozen=True)
class Run:
    """One run of a cell's firmware.

    Attributes:
        trace: name of its file.
        initialize: what variables hold when it starts, as ``wcetchar capture`` has them.
        assignments: values of parameters of services without marks in this run, without its name.
    """

    trace: str = TRACE
    initialize: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A cell with nothing left to be filled in. Paths are absolute; times in seconds.

    Attributes:
        folder: of the cell.
        build_lock: file that is locked while a firmware is built and taken over: cells may share
            a folder for their builds.
        tool: what identifies the code that makes it (:func:`tool_identity`).
        where: place of the build command, and of the firmware's name, in the campaign file.
    """

    name: str
    values: tuple[tuple[str, str], ...]
    folder: str
    firmware: str
    services: tuple[str, ...]
    machine: str
    build_lock: str
    tool: str
    where: tuple[Location, Location]
    command: tuple[str, ...] = ()
    directory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    build_timeout: int = 3600
    exclude: tuple[str, ...] = ()
    until: str | None = None
    marked: bool = False
    runs: tuple[Run, ...] = (Run(),)
    partial: bool = False
    timeout: int = 600


def trace_name(point: Mapping[str, str]) -> str:
    """Name of the trace of a run with these values of the sweep."""
    if not point:
        return TRACE
    return "run-" + ",".join(f"{name}={value}" for name, value in point.items()) + ".trace"


@dataclass(frozen=True)
class Outcome:
    """``made``: what had to be made; empty where all was there. ``exit_code`` 0: it is done."""

    exit_code: int = 0
    message: str = ""
    made: tuple[str, ...] = ()


def tool_identity() -> str:
    """SHA-256 over the package's own files that a cell depends on, and the versions of the
    libraries that it requires: a disassembler's next version may decode what this one did not."""
    root = Path(wcetchar.__file__).resolve().parent
    digest = hashlib.sha256()
    for library in sorted(_required()):
        digest.update(f"{library} {metadata.version(library)}\n".encode())
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if name.parts[0] in _UNUSED_ROOMS or path.suffix not in (".py", ".c", ".lark"):
            continue
        digest.update(f"{name.as_posix()} {_sha256(path)}\n".encode())
    return digest.hexdigest()


def _required() -> Iterator[str]:
    """Names of the libraries that the package needs, its extras left out."""
    for requirement in metadata.requires("wcetchar") or ():
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if name is not None and "extra ==" not in requirement:
            yield name[0]


def make(plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Bring a cell up to date. Raises nothing that a user's files can cause: see the outcome."""
    log: list[str] = []
    made: list[str] = []
    try:
        _make(plan, say, log, made)
        outcome = Outcome(made=tuple(made))
    except WcetcharError as error:
        log.append(f"failed: {error}")
        outcome = Outcome(error.exit_code, str(error), tuple(made))
    except OSError as error:  # its folder: full, gone, not ours
        where = Location(str(error.filename or plan.folder))
        problem = InputError(f"cannot be used: {error.strerror or error}", where=where)
        log.append(f"failed: {problem}")
        outcome = Outcome(problem.exit_code, str(problem), tuple(made))
    if made or outcome.exit_code:
        with contextlib.suppress(WcetcharError):  # what has no room for its log has failed already
            store.write_atomically(Path(plan.folder) / LOG, "\n".join(log).rstrip("\n") + "\n")
    return outcome


def record_of(folder: Path) -> dict[str, Any]:
    """``cell.json`` of a folder; empty where there is none that can be used."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if isinstance(record, dict) and record.get("schema_version") == RECORD_VERSION:
            return record
    return {}


def _make(plan: Plan, say: Callable[[str], None], log: list[str], made: list[str]) -> None:
    folder = Path(plan.folder)
    folder.mkdir(parents=True, exist_ok=True)
    say("waits to build" if plan.command else "takes the firmware")
    with _locked(plan.build_lock):
        if plan.command:
            say("builds")
            log.append("$ " + " ".join(plan.command))
            _build(plan, log)
        firmware = _firmware(plan)
    say("looks what is there")
    services = [_services(path) for path in plan.services]
    record = record_of(folder)
    base = {"tool": plan.tool, "firmware": hashlib.sha256(firmware).hexdigest()}
    if not _is(folder / FIRMWARE, base):
        _remove(folder, RECORD, CHARACTERIZATION, *(path.name for path in folder.glob("*.trace")))
        record = {}
        store.write_atomically(folder / FIRMWARE, firmware)
    record = _captured(plan, record, _shared(plan, base, services), say, log, made)
    wanted = {
        **base,
        "traces": {name: one["sha256"] for name, one in record["traces"].items()},
        "services": services,
        "values": [list(run.assignments) for run in plan.runs],
        "partial": plan.partial,
    }
    if _stands(record.get("characterization"), wanted, folder / CHARACTERIZATION):
        log.append(f"{CHARACTERIZATION} is up to date")
        return
    say("characterizes")
    _forget_characterization(folder, record)
    made.append("characterization")
    found = _characterize(plan, folder)
    log.append(summary.render(found))
    record["characterization"] = {
        "inputs": wanted,
        "sha256": _sha256(folder / CHARACTERIZATION),
        "summary": json.loads(summary.json_of(found)),
    }
    _write(folder, record)


def _shared(plan: Plan, base: Mapping[str, str], services: list[str]) -> dict[str, Any]:
    """What every run of a cell is made from."""
    return {
        **base,
        "machine": plan.machine,
        "emulator": capture.emulator_version(plan.machine),
        "exclude": list(plan.exclude),
        "until": plan.until,
        "marked": services if plan.marked else [],
    }


def _captured(
    plan: Plan,
    record: dict[str, Any],
    shared: Mapping[str, Any],
    say: Callable[[str], None],
    log: list[str],
    made: list[str],
) -> dict[str, Any]:
    """The cell's record once every run has its trace, and there is none beside them."""
    folder = Path(plan.folder)
    known = record.get("traces", {})
    record = {**record, "schema_version": RECORD_VERSION, "traces": {}}
    missing = []
    for run in plan.runs:
        wanted = {**shared, "initialize": list(run.initialize)}
        if _stands(known.get(run.trace), wanted, folder / run.trace):
            log.append(f"{run.trace} is up to date")
            record["traces"][run.trace] = known[run.trace]
        else:
            missing.append((run, wanted))
    if not missing and len(known) == len(plan.runs):
        return record
    _forget_characterization(folder, record)
    wanted_names = {run.trace for run in plan.runs}
    _remove(folder, *(p.name for p in folder.glob("*.trace") if p.name not in wanted_names))
    for number, (run, wanted) in enumerate(missing, 1):
        say("captures" + (f" {number} of {len(missing)}" if len(missing) > 1 else ""))
        _remove(folder, run.trace)
        made.append("trace")
        log.append(_capture(plan, run, folder))
        record["traces"][run.trace] = {"inputs": wanted, "sha256": _sha256(folder / run.trace)}
        _write(folder, record)
    return record


def _forget_characterization(folder: Path, record: dict[str, Any]) -> None:
    """Before anything that it was made from changes."""
    record.pop("characterization", None)
    _write(folder, record)
    _remove(folder, CHARACTERIZATION)


def _values(plan: Plan, folder: Path) -> tuple[str, ...]:
    """Assignments for ``characterize``; of several runs each by its trace."""
    return tuple(
        assignment if len(plan.runs) == 1 else f"{folder / run.trace}:{assignment}"
        for run in plan.runs
        for assignment in run.assignments
    )


def _build(plan: Plan, log: list[str]) -> None:
    capture.run_command(
        plan.command,
        directory=Path(plan.directory),
        environment=plan.environment,
        timeout=plan.build_timeout,
        where=plan.where[0],
        said=log.append,
    )


def _firmware(plan: Plan) -> bytes:
    try:
        return Path(plan.firmware).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(
            f"there is no firmware {plan.firmware}: {getattr(error, 'strerror', None) or error}",
            where=plan.where[1],
            expected="the file that the build makes" if plan.command else "a file",
            hint="correct the name" + (", or the build's command" if plan.command else ""),
        ) from error


def _services(path: str) -> str:
    """Hash of a services file, which is read properly later."""
    try:
        return _sha256(Path(path))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}",
            where=Location(path),
            expected="a readable services file",
        ) from error


def _capture(plan: Plan, run: Run, folder: Path) -> str:
    result = capturing.run(
        capturing.Request(
            firmware=str(folder / FIRMWARE),
            output=str(folder / run.trace),
            machine=plan.machine,
            exclude=plan.exclude,
            services=plan.services if plan.marked else (),
            initialize=run.initialize,
            until=plan.until,
            timeout=plan.timeout,
        )
    )
    return (
        f"{result.console}\n{result.instructions:,} instructions, {result.accesses:,} accesses, "
        f"{result.exceptions:,} exceptions in {result.size:,} bytes ({result.emulator})"
    )


def _characterize(plan: Plan, folder: Path) -> summary.Summary:
    characterization = characterizing.run(
        characterizing.Request(
            firmware=str(folder / FIRMWARE),
            traces=tuple(str(folder / run.trace) for run in plan.runs),
            services=plan.services,
            values=_values(plan, folder),
            partial=plan.partial,
        )
    )
    found = summary.summary_of(characterization)
    if not found.conserved:
        raise CheckFailed(
            "the instructions in windows and outside do not add up to the trace's length",
            hint="this is a defect of wcetchar; nothing was written",
        )
    store.write_atomically(folder / CHARACTERIZATION, store.characterization_json(characterization))
    return found


def _stands(stage: object, inputs: Mapping[str, Any], output: Path) -> bool:
    """``output``, whose part of the record this is, was made from these inputs, and nothing
    happened to it since."""
    if not isinstance(stage, dict) or stage.get("inputs") != inputs:
        return False
    with contextlib.suppress(OSError):
        return _sha256(output) == stage.get("sha256")
    return False


def _is(firmware: Path, base: Mapping[str, str]) -> bool:
    with contextlib.suppress(OSError):
        return _sha256(firmware) == base["firmware"]
    return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _write(folder: Path, record: Mapping[str, Any]) -> None:
    store.write_atomically(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Held by one process at a time, and by none that is gone."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
