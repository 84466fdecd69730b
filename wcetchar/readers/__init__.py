"""Trace formats, one file each: byte stream -> event batches.

A reader says whether a file is its own by the file's first bytes, and opens it as a
:class:`~wcetchar.model.trace.Trace`. Registration is explicit: the tuple :data:`READERS`.
"""

from __future__ import annotations

import os
import stat
from typing import Final, Protocol

from wcetchar.errors import InputError, Location, did_you_mean
from wcetchar.model.image import Image
from wcetchar.model.trace import Trace
from wcetchar.readers.execlog import ExeclogReader
from wcetchar.readers.qemulog import QemuLogReader
from wcetchar.readers.renode_binary import RenodeBinaryReader
from wcetchar.readers.renode_text import Format, RenodeTextReader
from wcetchar.readers.stream import StreamReader

HEAD_BYTES: Final = 65536
"""How much of a file a reader is shown, as stored (that is, still compressed)."""


class Reader(Protocol):
    """One trace format."""

    @property
    def name(self) -> str:
        """Name of the format, as ``--trace-format`` takes it and ``TraceInfo.format`` states it."""
        ...

    def recognises(self, head: bytes, path: str) -> bool:
        """True when the file is of this format; ``head`` is its first HEAD_BYTES bytes or fewer.

        Decides by content, never by the name alone, and raises nothing.
        """
        ...

    def open(self, path: str, *, image: Image | None = None, machine: str | None = None) -> Trace:
        """Open a trace; reads no more of it than its reader needs to know the format for certain.

        Args:
            image: the program that ran, where known: gives what the format leaves out.
            machine: the emulated machine, where the user names it (``mps2-an385``).

        Raises:
            InputError: the header is damaged, or the format needs ``image`` or ``machine``.
        """
        ...


READERS: Final[tuple[Reader, ...]] = (
    StreamReader(),
    ExeclogReader(None),
    ExeclogReader("7.2"),
    ExeclogReader("8.2"),
    QemuLogReader(),
    RenodeTextReader(),
    RenodeTextReader(Format.PC),
    RenodeTextReader(Format.OPCODE),
    RenodeBinaryReader(),
)
"""Every format there is. A file must be claimed by exactly one. Those that stand for one reading of
an ambiguous format claim nothing and are chosen by name."""


def open_trace(
    path: str,
    *,
    image: Image | None = None,
    machine: str | None = None,
    format: str | None = None,
) -> Trace:
    """Open a trace with the reader that claims it, or with the one that ``format`` names.

    Raises:
        InputError: the file cannot be read, no reader or more than one claims it, there is no
            such format, or the reader refuses the file.
    """
    names = ", ".join(reader.name for reader in READERS)
    where = Location(path)
    if format is not None and format not in [reader.name for reader in READERS]:
        raise InputError(
            f"there is no trace format {format!r}",
            where=where,
            expected=f"one of {names}",
            hint=did_you_mean(format, [reader.name for reader in READERS]),
        )
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the trace cannot be read: {getattr(error, 'strerror', None) or error}",
            where=where,
            expected="a readable trace file",
            hint="check the path; `wcetchar capture` writes traces",
        ) from error
    if not regular:
        raise InputError(
            "this is no file but a folder, a device or a pipe",
            where=where,
            expected="a readable trace file",
            hint="a trace is read more than once: write it to a file first",
        )
    for reader in READERS:
        if reader.name == format:
            return reader.open(path, image=image, machine=machine)
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise InputError(
            f"the trace cannot be read: {error.strerror}",
            where=where,
            expected="a readable trace file",
            hint="check its permissions",
        ) from error
    claims = [reader for reader in READERS if reader.recognises(head, path)]
    if len(claims) == 1:
        return claims[0].open(path, image=image, machine=machine)
    if claims:
        raise InputError(
            "more than one trace format fits: " + ", ".join(reader.name for reader in claims),
            where=where,
            expected="a trace of one known format",
            hint="say which one it is with --trace-format",
        )
    raise InputError(
        "the file is empty" if not head else "no trace format fits",
        where=where,
        expected=f"a trace of one of the formats {names}",
        hint=_hint(head),
    )


def _hint(head: bytes) -> str:
    """What to do with a file that begins so, and is of no format."""
    if not head:
        return "capture it again, or look at what should have written it"
    if head.startswith(b"\x1f\x8b"):
        return "unpack it first; of gzipped traces only text and Renode's binary are read"
    return "say which one it is with --trace-format, if it is one of these"
