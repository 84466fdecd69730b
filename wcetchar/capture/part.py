"""A trace while it is written: a hidden file beside its place, ``.NAME.PID.part``.

It takes the name of the trace only when it is complete. Whatever ends the capture removes it,
except a signal that nothing can catch; so the next capture to the same place removes every part
that nobody writes any more. Who writes one holds a lock on it, and so does the emulator, which
inherits the open file: a lock that can be taken means that both are gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from wcetchar.errors import InputError, Location


def unwritable(output: Path, reason: str) -> InputError:
    """The error for a trace that cannot be written."""
    return InputError(
        f"the trace cannot be written: {reason}",
        where=Location(str(output)),
        expected="a file in an existing folder that can be written",
        hint="choose another path, or make room",
    )


@contextlib.contextmanager
def part_of(output: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """The part of a trace, open for writing, and gone afterwards unless it was renamed.

    Raises:
        InputError: it cannot be made, or ``output`` is no regular file: renaming would put a file
            in the place of a folder or device.
    """
    target = Path(os.path.realpath(output))
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_ISREG(target.stat().st_mode):
            raise unwritable(output, "it is a folder or a device, not a file")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    _remove_stale(target)
    try:
        file = open(part, "wb")  # noqa: SIM115 - closed below, before the part is removed
    except OSError as error:
        raise unwritable(output, error.strerror or str(error)) from error
    try:
        with file:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield part, file
    finally:
        part.unlink(missing_ok=True)


def _remove_stale(target: Path) -> None:
    """Parts of captures that were killed."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9]+\.part")
    with contextlib.suppress(OSError):
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_if_unlocked(entry.path)


def _remove_if_unlocked(path: str) -> None:
    # What cannot be opened or locked is left alone: it may be somebody else's.
    with contextlib.suppress(OSError), open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
