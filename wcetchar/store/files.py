"""Reading bounded files and writing whole ones."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from wcetchar.errors import InputError, Location


def write_atomically(path: str | os.PathLike[str], data: bytes | str | Iterable[str]) -> None:
    """Write ``data`` to ``path`` whole or not at all; text, or its parts, is written as UTF-8.

    The bytes go to a temporary file in the same folder, reach the disk and take the name in one
    rename, so a killed run leaves the old file. A symbolic link is followed, not replaced. The
    permissions of an existing file are kept; a new one gets what the umask leaves of 0666.

    Raises:
        InputError: the folder is missing or not writable, or the path is a folder.
    """
    target = Path(os.path.realpath(path))
    parts = [data] if isinstance(data, bytes | str) else data
    payload = (part.encode("utf-8") if isinstance(part, str) else part for part in parts)
    if target.is_dir():
        raise InputError("is a folder, not a file", where=Location(str(path)))
    if target.exists() and not target.is_file():
        # A device or pipe (/dev/stdout) has no name to take over; it can only be written to.
        try:
            with target.open("wb") as stream:
                stream.writelines(payload)
        except OSError as error:
            raise _unwritable(path, error) from error
        return
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(payload)
            stream.flush()
            os.fchmod(stream.fileno(), _mode(target))
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    _sync_folder(target.parent)


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        # The umask can only be read by setting it.
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable; file systems that cannot sync a folder are left alone."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unwritable(path: str | os.PathLike[str], error: OSError) -> InputError:
    return InputError(
        f"cannot be written: {error.strerror or error}",
        where=Location(str(path)),
        expected="a file in a folder that exists and is writable",
        hint="create the folder or choose another path",
    )
