"""A signal that ends this program, exactly while another has been started: it is ended, too."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from test_capture_runs import FOREVER

from wcetchar.capture import CaptureRequest, run
from wcetchar.capture.command import run_command
from wcetchar.capture.signals import deferred_signals
from wcetchar.errors import Location

SIGNALS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: SystemExit, signal.SIGHUP: SystemExit}


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """As the command line sets them."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = [(number, signal.signal(number, end)) for number in (signal.SIGTERM, signal.SIGHUP)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.fixture(params=SIGNALS, ids=lambda number: number.name)
def started(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Processes begun; the signal comes as soon as each runs, before its caller gets it."""
    pids: list[int] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **extra: Any) -> None:
            super().__init__(*args, **extra)
            (command,) = args
            if command[0] == "sleep" or "-plugin" in command:  # no compiler, no --version
                pids.append(self.pid)
                signal.raise_signal(request.param)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    return pids


ENDS = pytest.raises((KeyboardInterrupt, SystemExit))


def ended(pids: list[int]) -> None:
    (pid,) = pids
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_build_is_ended(started: list[int], tmp_path: Path) -> None:
    with ENDS:
        run_command(
            ["sleep", "1000"],
            directory=tmp_path,
            environment={},
            timeout=1000,
            where=Location("campaign.yaml"),
            said=lambda text: None,
        )
    ended(started)


def test_an_emulator_is_ended(
    qemu: str, request_for: Callable[..., CaptureRequest], started: list[int]
) -> None:
    request = request_for(FOREVER)
    with ENDS:
        run(request)
    ended(started)
    assert not request.output.exists()


def inside(number: int, reached: list[str], error: Exception | None = None) -> None:
    with deferred_signals():
        signal.raise_signal(number)
        reached.append("the end of the block")
        if error is not None:
            raise error


@pytest.mark.parametrize("number", SIGNALS)
def test_it_is_raised_when_the_block_has_ended(number: signal.Signals) -> None:
    before, reached = signal.getsignal(number), list[str]()
    with pytest.raises(SIGNALS[number]):
        inside(number, reached)
    assert reached
    assert signal.getsignal(number) is before


def test_an_error_of_the_block_is_not_lost() -> None:
    error = ValueError("of the block")
    with pytest.raises(KeyboardInterrupt) as caught:
        inside(signal.SIGINT, [], error)
    assert caught.value.__context__ is error


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_signals():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
