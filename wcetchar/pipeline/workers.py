"""Runs tasks in processes of their own, some at a time.

A process for each task, so that one that is killed or crashes takes nothing else with it. Whatever
ends this process ends them: an exception terminates them, and where this process itself is killed
outright, Linux sends them SIGTERM (``PR_SET_PDEATHSIG``).
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any, Final, Generic, TypeVar

from wcetchar.capture.signals import deferred_signals

Task = TypeVar("Task")
Result = TypeVar("Result")
Work = Callable[[Task, Callable[[str], None]], Result]
"""What a process does: ``work(task, say)``; it calls ``say`` with what it is at."""

_PR_SET_PDEATHSIG: Final = 1
_SECONDS_TO_END: Final = 10.0


@dataclass(frozen=True)
class Lost:
    """A process that gave no result: ended by a signal, or by a defect of its code."""

    reason: str
    details: str = ""


@dataclass
class _Running(Generic[Task]):
    task: Task
    process: SpawnProcess
    results: Connection
    outcome: Any = None


def run_all(
    tasks: Iterable[Task],
    work: Work[Task, Result],
    jobs: int,
    on_stage: Callable[[Task, str], None],
    on_done: Callable[[Task, Result | Lost], None],
) -> None:
    """Run ``work`` on every task, at most ``jobs`` at a time, begun in the order given.

    ``work`` is a function of a module, and tasks and results can be pickled. ``on_stage`` and
    ``on_done`` are called here, in the order in which things happen.
    """
    context = multiprocessing.get_context("spawn")  # no thread of ours is copied into it
    waiting = list(tasks)[::-1]
    running: list[_Running[Task]] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_main, args=(work, task, sender, os.getpid()), daemon=False
                )
                with deferred_signals():
                    process.start()
                    running.append(_Running(task, process, receiver))
                sender.close()
            ready = wait([one.results for one in running])
            for one in [one for one in running if one.results in ready]:
                try:
                    kind, value = one.results.recv()
                except EOFError:
                    running.remove(one)
                    on_done(one.task, _result(one))
                    continue
                if kind == "stage":
                    on_stage(one.task, value)
                else:
                    one.outcome = value
    finally:
        _end(running)


def _result(one: _Running[Task]) -> Any:
    one.process.join()
    one.results.close()
    if one.outcome is not None:
        return one.outcome
    code = one.process.exitcode or 0
    if code < 0:
        return Lost(f"its process was ended by {_signal_name(-code)}")
    return Lost(f"its process ended with status {code} and gave no result")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end(running: list[_Running[Task]]) -> None:
    """Let each clean up, and kill what does not."""
    for one in running:
        one.process.terminate()
    for one in running:
        one.process.join(_SECONDS_TO_END)
        if one.process.is_alive():
            one.process.kill()
            one.process.join()
        one.results.close()


def _main(work: Work[Any, Any], task: Any, results: Connection, parent: int) -> None:
    """Begin of a process."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent decides
    with contextlib.suppress(OSError, AttributeError):  # another system than Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit(128 + signal.SIGTERM)
    try:
        outcome = work(task, lambda text: results.send(("stage", text)))
    except Exception as error:
        outcome = Lost(f"a defect of wcetchar: {error!r}", traceback.format_exc())
    results.send(("done", outcome))
