"""Tasks in processes of their own: results, losses, limits, and what an error leaves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from wcetchar.pipeline.workers import Lost, run_all

Say = Callable[[str], None]


def square(task: int, say: Say) -> int:
    say(f"squares {task}")
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == 4:
        raise KeyError("no such thing")
    if task == 5:
        os._exit(7)
    return task * task


def test_each_task_ends_with_a_result_or_a_reason() -> None:
    done: dict[int, int | Lost] = {}
    stages: list[tuple[int, str]] = []
    run_all(range(7), square, 2, lambda task, text: stages.append((task, text)), done.__setitem__)
    assert sorted(done) == list(range(7))
    assert [done[n] for n in (0, 1, 2, 6)] == [0, 1, 4, 36]
    assert done[3] == Lost("its process was ended by SIGKILL")
    assert done[5] == Lost("its process ended with status 7 and gave no result")
    failed = done[4]
    assert isinstance(failed, Lost)
    assert "KeyError" in failed.reason
    assert "in square" in failed.details
    assert sorted(stages) == [(n, f"squares {n}") for n in range(7)]


def overlap(task: tuple[int, str], say: Say) -> int:
    """Most files that lie in the folder while this task's own does."""
    number, folder = task
    own = Path(folder, str(number))
    own.touch()
    most = 0
    for _ in range(20):
        most = max(most, len(os.listdir(folder)))
        time.sleep(0.01)
    own.unlink()
    return most


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_more_run_at_a_time_than_asked_for(jobs: int, tmp_path: Path) -> None:
    found: list[int | Lost] = []
    tasks = [(n, str(tmp_path)) for n in range(4)]
    run_all(tasks, overlap, jobs, lambda *_: None, lambda _, result: found.append(result))
    assert len(found) == 4
    assert all(isinstance(most, int) and 1 <= most <= jobs for most in found)


def sleep(task: str, say: Say) -> None:
    try:
        Path(task).write_text(str(os.getpid()))
        say("sleeps")
        time.sleep(60)
    finally:
        Path(task).unlink()


def test_an_error_ends_what_runs_and_lets_it_clean_up(tmp_path: Path) -> None:
    file = tmp_path / "sleeper"
    pids = []

    def stage(task: str, text: str) -> None:
        pids.append(int(file.read_text()))
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run_all([str(file)], sleep, 1, stage, lambda *_: None)
    assert not file.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_an_interrupt_while_one_is_started_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, begun = SpawnProcess.start, []

    def interrupted(self: SpawnProcess) -> None:
        start(self)
        begun.append(self)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(SpawnProcess, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all([str(tmp_path / "sleeper")], sleep, 1, lambda *_: None, lambda *_: None)
    (one,) = begun
    assert not one.is_alive()
