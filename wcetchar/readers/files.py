"""Bytes of a trace file, plain or gzipped, in pieces of bounded size, and the error for them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from wcetchar.errors import InputError, Location
from wcetchar.readers.columns import Positions, positions

CHUNK_BYTES: Final = 1 << 19
MAX_LINE_BYTES: Final = 1 << 16
"""A longer line belongs to no trace format; the limit keeps memory bounded on foreign files."""

_GZIP_MAGIC = b"\x1f\x8b"


def plain_head(head: bytes) -> bytes:
    """First bytes of a file as its reader sees them: unpacked if they are gzipped, ``b""`` if
    they only claim to be."""
    if not head.startswith(_GZIP_MAGIC):
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, len(head) * 4)
    except zlib.error:
        return b""


def _open(path: str) -> BinaryIO:
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == _GZIP_MAGIC
        return gzip.open(path, "rb") if packed else open(path, "rb")  # type: ignore[return-value]
    except OSError as error:
        raise InputError(
            f"the trace cannot be read: {error.strerror}",
            where=Location(path),
            expected="a readable trace file",
        ) from error


def blocks(path: str, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Contents in pieces of at most ``size`` bytes.

    Raises:
        InputError: the file cannot be read, or its gzip stream is damaged or cut short; the
            message says after how many unpacked bytes.
    """
    done = 0
    with _open(path) as file:
        while True:
            try:
                block = file.read(size)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise InputError(
                    f"the gzip stream is damaged or cut short after byte {done} of its contents",
                    where=Location(path),
                    expected="a complete gzip file",
                    hint="record the trace again, and let the emulator end by itself",
                ) from error
            except OSError as error:
                raise InputError(
                    f"the trace cannot be read after byte {done}: {error.strerror}",
                    where=Location(path),
                ) from error
            if not block:
                return
            done += len(block)
            yield block


def read_head(path: str, size: int) -> bytes:
    """First ``size`` bytes of the (unpacked) contents."""
    head = b""
    for block in blocks(path, size):
        head += block
        if len(head) >= size:
            break
    return head[:size]


@dataclass(frozen=True)
class Lines:
    """Whole lines of a text file: ``data`` ends with a newline; ``first`` is the number of its
    first line, counted from 1; ``ends`` are the places of the newlines."""

    path: str
    data: bytes
    first: int
    ends: Positions

    def at(self, index: int) -> Location:
        """Location of the start of the line with this index in ``data``."""
        return Location(self.path, self.first + index, 1)

    def line(self, index: int) -> bytes:
        return self.data.split(b"\n", index + 1)[index]


def lines(path: str, expected: str, size: int = CHUNK_BYTES) -> Iterator[Lines]:
    """The file in pieces of whole lines.

    Raises:
        InputError: the last line is not ended by a newline (the run was cut off), or a line is
            longer than MAX_LINE_BYTES.
    """
    rest = b""
    number = 1
    for block in blocks(path, size):
        end = block.rfind(b"\n") + 1
        if end:
            data = rest + block[:end]
            ends = positions(data, ord("\n"))
            yield Lines(path, data, number, ends)
            number += len(ends)
            rest = block[end:]
        else:
            rest += block
        if len(rest) > MAX_LINE_BYTES:
            raise InputError(
                f"a line of more than {MAX_LINE_BYTES} bytes",
                where=Location(path, number, 1),
                expected=expected,
            )
    if rest:
        raise InputError(
            "the last line is cut off: no newline ends it",
            where=Location(path, number, len(rest) + 1),
            expected=expected,
            hint="record the trace again, and let the emulator end by itself",
        )


def malformed(
    where: Location, text: bytes, expected: str, column: int = 1, hint: str | None = None
) -> InputError:
    """The error for a line that does not fit its format at ``column``."""
    shown = text[:80].decode("ascii", "backslashreplace")
    return InputError(
        f"a line that does not fit the format: {shown!r}",
        where=Location(where.file, where.line, column),
        expected=expected,
        hint=hint,
    )
