"""Runs a build: a program of the user's own that makes a firmware."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from wcetchar.capture.signals import deferred_signals
from wcetchar.errors import InputError, Location

_SHOWN_LINES: Final = 20
_OUTPUT_BYTES: Final = 1 << 22


def run_command(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    timeout: float,
    where: Location,
    said: Callable[[str], None],
) -> None:
    """Run a program without a shell.

    Args:
        environment: variables beside those that this process has.
        timeout: seconds after which it and what it started is ended.
        where: place of the command, for errors.
        said: gets what it wrote to both outputs (the last 4 MB), however it ended.

    Raises:
        InputError: it cannot be run, fails or does not end; the last lines of its output are in
            the details.
    """
    with tempfile.TemporaryFile() as output:
        process = None
        try:
            with deferred_signals():
                process = subprocess.Popen(
                    list(command),
                    cwd=directory,
                    env={**os.environ, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # so that what it starts can be ended with it
                )
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        except (OSError, ValueError) as error:
            missing = str(getattr(error, "filename", None)) != str(directory)
            raise InputError(
                f"the build cannot be run: {getattr(error, 'strerror', None) or error}: "
                f"{command[0] if missing else directory}",
                where=where,
                expected="a program on PATH, and a folder to run it in",
                hint="install it, or correct the command",
            ) from error
        finally:
            if process is not None:
                _end(process)
        text = _tail(output)
    said(text)
    if status != 0:
        problem = (
            f"the build did not end within {timeout:g} s"
            if status is None
            else f"the build ended with status {status}"
            if status > 0
            else f"the build was ended by signal {-status}"
        )
        raise InputError(
            problem,
            where=where,
            expected="status 0",
            hint="run it by hand: " + " ".join(command),
            details=tuple(text.splitlines()[-_SHOWN_LINES:]),
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """The program and everything in its session, if it is still there."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _OUTPUT_BYTES))
    return file.read().decode("utf-8", errors="replace")
