"""A campaign file -> a folder with a characterization for each cell, and an index of all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import fnmatch
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wcetchar import __version__, capture, store
from wcetchar.errors import InputError, InputErrors, Location, UsageError, did_you_mean, several
from wcetchar.model.campaign import Campaign, Cell, expand
from wcetchar.pipeline import cell as cells
from wcetchar.pipeline.workers import Lost, run_all
from wcetchar.report import matrix

INDEX: Final = "campaign.json"


@dataclass(frozen=True)
class Request:
    """What ``wcetchar campaign`` is asked for.

    Attributes:
        output: folder of the cells; its own folder exists.
        only: patterns that choose cells, see :func:`chosen`; none: all.
        jobs: cells that are made at a time.
    """

    campaign: str
    output: str
    only: tuple[str, ...] = ()
    jobs: int = 1


class Progress:
    """What a run tells while it goes on; the command line shows it."""

    def begins(self, cells: int) -> None: ...

    def stage(self, cell: str, stage: str) -> None: ...

    def done(self, cell: str, outcome: cells.Outcome) -> None: ...


@dataclass(frozen=True)
class Failure:
    cell: str
    exit_code: int
    message: str


@dataclass(frozen=True)
class Result:
    """``failures`` in the order of the cells."""

    index: matrix.Index
    failures: tuple[Failure, ...]


def plans(request: Request) -> tuple[cells.Plan, ...]:
    """The chosen cells, with everything filled in. Nothing is run and nothing written.

    Raises:
        InputError: the campaign file has mistakes, or names a machine that there is not.
        UsageError: no cell is chosen.
    """
    return _plans(request, store.load_campaign(request.campaign))


def run(request: Request, progress: Progress) -> Result:
    """Make what is missing or out of date.

    A cell that fails stops no other. The index is written anew after each cell.

    Raises:
        InputError: as :func:`plans`; the folder cannot be used, or another run uses it; an
            environment variable that the build needs is not set.
        UsageError: no cell is chosen.
    """
    campaign = store.load_campaign(request.campaign)
    chosen_plans = _plans(request, campaign)
    _check_needs(campaign)
    output = Path(request.output)
    with _owned(output):
        failures: dict[str, Failure] = {}
        waiting = {plan.name for plan in chosen_plans}

        def write_index() -> matrix.Index:
            index = _index(campaign, output, failures, waiting)
            store.write_atomically(output / INDEX, matrix.document(index))
            return index

        def finished(plan: cells.Plan, outcome: cells.Outcome | Lost) -> None:
            if isinstance(outcome, Lost):
                outcome = _lost(plan, outcome)
            waiting.discard(plan.name)
            if outcome.exit_code:
                failures[plan.name] = Failure(plan.name, outcome.exit_code, outcome.message)
            write_index()
            progress.done(plan.name, outcome)

        progress.begins(len(chosen_plans))
        write_index()
        run_all(
            chosen_plans,
            cells.make,
            request.jobs,
            lambda plan, stage: progress.stage(plan.name, stage),
            finished,
        )
        index = write_index()
    in_order = [failures[plan.name] for plan in chosen_plans if plan.name in failures]
    return Result(index, tuple(in_order))


def _lost(plan: cells.Plan, lost: Lost) -> cells.Outcome:
    with contextlib.suppress(InputError):
        text = f"{lost.reason}\n{lost.details}"
        store.write_atomically(Path(plan.folder) / cells.LOG, text.rstrip("\n") + "\n")
    return cells.Outcome(InputError.exit_code, lost.reason)


def chosen(campaign: Campaign, only: Sequence[str]) -> list[Cell]:
    """Cells that ``--only`` chooses: of ``AXIS=VALUE`` one for each axis that is named has to
    hold, and of the other patterns, which name cells (with ``*`` and ``?``), one.

    Raises:
        UsageError: an axis or value that is not there, or nothing is chosen.
    """
    axes = {axis.name: axis for axis in campaign.axes}
    wanted: dict[str, list[str]] = {}
    names = []
    for pattern in only:
        name, equals, value = pattern.partition("=")
        if not equals:
            names.append(pattern)
        elif name not in axes:
            raise UsageError(
                f"--only {pattern}: there is no axis {name!r}",
                expected="one of " + ", ".join(axes),
                hint=did_you_mean(name, axes),
            )
        elif not fnmatch.filter(axes[name].values, value):
            raise UsageError(
                f"--only {pattern}: the axis {name} has no value {value!r}",
                expected="one of " + ", ".join(axes[name].values),
                hint=did_you_mean(value, axes[name].values),
            )
        else:
            wanted.setdefault(name, []).append(value)
    found = [
        cell
        for cell in campaign.cells()
        if all(_matches(cell.values[axis], values) for axis, values in wanted.items())
        and (not names or _matches(cell.name, names))
    ]
    if not found:
        raise UsageError(
            "no cell matches " + " ".join(f"--only {pattern}" for pattern in only),
            hint="--dry-run lists them",
        )
    return found


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


def _plans(request: Request, campaign: Campaign) -> tuple[cells.Plan, ...]:
    home = Path(os.path.abspath(campaign.path)).parent
    output = Path(os.path.abspath(request.output))
    tool = cells.tool_identity()
    known = [machine.name for machine in capture.MACHINES]
    problems: dict[str, InputError] = {}
    found = []
    for cell in chosen(campaign, request.only):
        variables = {
            **cell.variables,
            "cell": cell.name,
            "output": str(output / cell.name),
            "jobs": str(cores()),
        }

        def filled(text: str, variables: dict[str, str] = variables) -> str:
            return expand(text, variables)

        machine = filled(campaign.machine)
        if machine not in known:
            problems.setdefault(
                machine,
                InputError(
                    f"there is no machine {machine!r}, which cell {cell.name} names",
                    where=campaign.where("machine"),
                    expected="one of " + ", ".join(known),
                    hint=did_you_mean(machine, known),
                ),
            )
        build = campaign.build
        found.append(
            cells.Plan(
                name=cell.name,
                values=tuple(cell.values.items()),
                folder=str(output / cell.name),
                firmware=str(home / filled(campaign.firmware)),
                services=tuple(
                    store.services_path(filled(path), home) for path in campaign.services_of(cell)
                ),
                machine=machine,
                build_lock=str(output / ".build.lock"),
                tool=tool,
                where=(campaign.where("build", "command"), campaign.where("firmware")),
                command=tuple(filled(word) for word in build.command) if build else (),
                directory=str(home / filled(build.directory)) if build else "",
                environment={k: filled(v) for k, v in build.environment.items()} if build else {},
                build_timeout=build.timeout if build else 0,
                exclude=tuple(filled(text) for text in campaign.leave_out),
                until=None if campaign.until is None else filled(campaign.until),
                marked=campaign.marked,
                runs=tuple(_run_of(campaign, variables, point) for point in campaign.points()),
                partial=campaign.partial,
                timeout=campaign.timeout,
            )
        )
    if len(problems) > 1:
        raise InputErrors(list(problems.values()))
    for problem in problems.values():
        raise problem
    return tuple(found)


def _run_of(
    campaign: Campaign, variables: Mapping[str, str], point: Mapping[str, str]
) -> cells.Run:
    """A run of a cell's firmware with the values of a point of the sweep."""

    def filled(texts: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(f"{k}={expand(text, {**variables, **point})}" for k, text in texts.items())

    return cells.Run(
        cells.trace_name(point),
        initialize=filled(campaign.initial),
        assignments=filled(campaign.values),
    )


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _index(
    campaign: Campaign, output: Path, failures: dict[str, Failure], waiting: set[str]
) -> matrix.Index:
    rows = []
    for cell in campaign.cells():
        record = cells.record_of(output / cell.name)
        failure = failures.get(cell.name)
        if failure is not None:
            error: tuple[int, str] | None = (failure.exit_code, failure.message)
            summary = None
        else:
            error = None
            summary = _summary(record) if cell.name not in waiting else None
        try:
            row = matrix.row_of(
                cell.name,
                cell.values,
                summary=summary,
                firmware_sha256=_firmware(record) if summary else None,
                traces=tuple(record["traces"]) if summary else (),
                error=error,
            )
        except (KeyError, TypeError, ValueError):
            # A record that another wcetchar wrote, of a cell that --only leaves out.
            row = matrix.row_of(
                cell.name, cell.values, summary=None, firmware_sha256=None, error=None
            )
        rows.append(row)
    return matrix.Index(
        campaign=campaign.name,
        tool=f"wcetchar {__version__}",
        axes=tuple((axis.name, tuple(axis.values)) for axis in campaign.axes),
        cells=tuple(rows),
    )


def _summary(record: dict[str, Any]) -> dict[str, Any] | None:
    stage = record.get("characterization")
    summary = stage.get("summary") if isinstance(stage, dict) else None
    return summary if isinstance(summary, dict) else None


def _firmware(record: dict[str, Any]) -> str | None:
    with contextlib.suppress(KeyError, TypeError):
        return str(next(iter(record["traces"].values()))["inputs"]["firmware"])
    return None


def _check_needs(campaign: Campaign) -> None:
    """Before anything runs, rather than in every cell's log."""
    needs = campaign.build.needs if campaign.build else {}
    missing = [
        InputError(
            f"{name} is not set in the environment, and the build needs it",
            where=campaign.where("build", "needs", name),
            expected=meaning,
            hint=f"export {name}=...",
        )
        for name, meaning in needs.items()
        if not os.environ.get(name)
    ]
    if missing:
        raise several(missing)


@contextlib.contextmanager
def _owned(output: Path) -> Iterator[None]:
    """The folder of a campaign, made if need be, for one run at a time."""
    where = Location(str(output))
    try:
        output.mkdir(exist_ok=True)
        descriptor = os.open(output / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(
            f"cannot be used: {error.strerror or error}",
            where=where,
            expected="a folder that can be written, or a new name in one",
            hint="choose another path",
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise InputError(
                "another campaign is writing to this folder",
                where=where,
                expected="one run at a time",
                hint="wait for it, or choose another folder",
            ) from None
        yield
    finally:
        os.close(descriptor)


def listing(found: Sequence[cells.Plan]) -> list[dict[str, Any]]:
    """The cells as plain data, for ``--dry-run``."""
    return [
        {
            "cell": plan.name,
            "values": dict(plan.values),
            "machine": plan.machine,
            "firmware": plan.firmware,
            "services": list(plan.services),
            "build": list(plan.command),
            "directory": plan.directory,
            "environment": dict(plan.environment),
        }
        for plan in found
    ]


def listing_json(campaign: str, found: Sequence[cells.Plan]) -> str:
    document = {
        "schema_version": matrix.SCHEMA_VERSION,
        "campaign": campaign,
        "cells": listing(found),
    }
    return json.dumps(document, indent=2) + "\n"
