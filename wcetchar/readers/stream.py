"""The stream of wcetchar's own QEMU plugin; the format is docs/reference/trace-format.md.

Every event is one word; a word is an index into a table of columns that grows with the file's
definitions, so a chunk of 65,536 events is decoded by three table look-ups of numpy. Nothing in
the file is trusted: each chunk carries a checksum that continues the one before it, lengths are
bounded, and the totals of the end record must be those of the events that were read.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

import numpy as np
import numpy.typing as npt

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image
from wcetchar.model.service import AddressRange
from wcetchar.model.trace import (
    CodeBytes,
    Event,
    EventBatch,
    TraceFilter,
    TraceInfo,
    TraceTotals,
)
from wcetchar.readers.registers import NO_REGISTERS

NAME: Final = "wcetchar"
MAGIC: Final = b"\x89WCT\r\n\x1a\n"
VERSION: Final = 1

_PREAMBLE: Final = struct.Struct("<8sII")  # magic, version, bytes of an operand
_FRAME: Final = struct.Struct("<4sI")  # tag, bytes of the payload
_CRC: Final = struct.Struct("<I")
_COUNTS: Final = struct.Struct("<II")  # words, operands
_DONE: Final = struct.Struct("<QQQQQQQII")
_ENDS: Final = (1, 2)  # by the exit call, or where the capture was told to
_MAX_PAYLOAD: Final = 1 << 24
_MAX_WORDS: Final = 1 << 16
_DEFINITION: Final = np.dtype([("address", "<u8"), ("length", "<u4"), ("code", "u1", (12,))])

FIRST_INSTRUCTION: Final = 32
"""Words below it are events of their own kind; from it on, word - 32 numbers a definition."""

_READ, _WRITE, _EXCEPTION, _EXCEPTION_EXIT, _GAP = 0, 8, 16, 17, 18
_WIDTHS: Final = (1, 2, 4, 8, 16)
_UNKNOWN: Final = [
    word
    for word in range(FIRST_INSTRUCTION)
    if word not in (_EXCEPTION, _EXCEPTION_EXIT, _GAP)
    and not any(0 <= word - base < len(_WIDTHS) for base in (_READ, _WRITE))
]
_AGAIN: Final = "capture it again; an interrupted or damaged trace cannot be used"


def _reserved_columns() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Kind and size of the words below FIRST_INSTRUCTION."""
    kind = np.full(FIRST_INSTRUCTION, Event.INSTRUCTION, dtype=np.uint8)
    size = np.zeros(FIRST_INSTRUCTION, dtype=np.uint8)
    for shift, width in enumerate(_WIDTHS):
        kind[_READ + shift], kind[_WRITE + shift] = Event.READ, Event.WRITE
        size[_READ + shift] = size[_WRITE + shift] = width
    kind[_EXCEPTION] = Event.EXCEPTION
    kind[_EXCEPTION_EXIT] = Event.EXCEPTION_EXIT
    kind[_GAP] = Event.GAP
    return kind, size


class _Table:
    """Columns of every word that the file has defined so far."""

    def __init__(self) -> None:
        self.kind, self.size = _reserved_columns()
        self.address = np.zeros(FIRST_INSTRUCTION, dtype=np.uint64)
        self.used = np.zeros(FIRST_INSTRUCTION, dtype=np.bool_)
        self.code: list[bytes] = []

    def __len__(self) -> int:
        return len(self.kind)

    def define(self, payload: bytes) -> bool:
        """Append definitions; False where they are malformed."""
        new = np.frombuffer(payload, dtype=_DEFINITION)
        lengths = new["length"]
        if len(new) == 0 or bool(np.any((lengths == 0) | (lengths > 12))):
            return False
        self.kind = np.append(self.kind, np.full(len(new), Event.INSTRUCTION, dtype=np.uint8))
        self.size = np.append(self.size, lengths.astype(np.uint8))
        self.address = np.append(self.address, new["address"].astype(np.uint64))
        self.used = np.append(self.used, np.zeros(len(new), dtype=np.bool_))
        codes = new["code"].tobytes()
        self.code += [codes[12 * i : 12 * i + int(n)] for i, n in enumerate(lengths)]
        return True

    def executed(self) -> tuple[CodeBytes, ...]:
        numbers = np.nonzero(self.used[FIRST_INSTRUCTION:])[0]
        order = sorted(
            (int(self.address[FIRST_INSTRUCTION + n]), self.code[n]) for n in numbers.tolist()
        )
        return tuple(CodeBytes(address, code) for address, code in order)


class _Chunks:
    """The chunks of an open file, each checked; raises InputError at the first wrong byte."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file = file
        self._path = path
        self._crc = 0
        self.offset = 0
        self.operand_bytes = 4

    def error(self, what: str, expected: str, hint: str = _AGAIN) -> InputError:
        return InputError(
            f"{what} (at byte {self.offset})",
            where=Location(self._path),
            expected=expected,
            hint=hint,
        )

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            self.offset += len(data)
            raise self.error("the trace is truncated", "a trace that ends with an end record")
        return data

    def preamble(self) -> None:
        data = self._file.read(_PREAMBLE.size)
        if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
            raise self.error(
                "not a trace of wcetchar's capture",
                "a file that `wcetchar capture` wrote",
                "name the file that was given to --output",
            )
        if len(data) != _PREAMBLE.size:
            self.offset = len(data)
            raise self.error("the trace is truncated", "a trace that ends with an end record")
        _, version, self.operand_bytes = _PREAMBLE.unpack(data)
        if version != VERSION:
            raise self.error(
                f"the trace is of format version {version}",
                f"version {VERSION}",
                "use the wcetchar that captured it, or capture it again with this one",
            )
        if self.operand_bytes not in (4, 8):
            raise self.error(f"operands of {self.operand_bytes} bytes", "4 or 8")
        self._crc = zlib.crc32(data)
        self.offset = len(data)

    def next(self) -> tuple[bytes, bytes]:
        """Tag and payload of the next chunk."""
        frame = self._read(_FRAME.size)
        tag, size = _FRAME.unpack(frame)
        if size > _MAX_PAYLOAD:
            raise self.error("a chunk of impossible size", f"at most {_MAX_PAYLOAD} bytes")
        payload = self._read(size)
        (stored,) = _CRC.unpack(self._read(_CRC.size))
        crc = zlib.crc32(payload, zlib.crc32(frame, self._crc))
        if crc != stored:
            raise self.error("the trace is damaged", "a chunk whose checksum holds")
        self._crc = crc
        self.offset += _FRAME.size + size + _CRC.size
        return tag, payload

    def at_end(self) -> bool:
        return not self._file.read(1)


@dataclass
class _Counts:
    """What was read, in the order of the end record."""

    instructions: int = 0
    accesses: int = 0
    exceptions: int = 0
    exits: int = 0
    filtered: int = 0

    def add(
        self,
        instructions: int,
        words: npt.NDArray[np.uint32],
        operands: npt.NDArray[np.unsignedinteger],
    ) -> bool:
        """Count a chunk: its instructions, and its other words with their operands.

        Returns: False where a word is unknown.
        """
        found = np.bincount(words, minlength=FIRST_INSTRUCTION)
        if bool(found[_UNKNOWN].any()):
            return False
        self.instructions += instructions
        self.accesses += int(found[:_EXCEPTION].sum())
        self.exceptions += int(found[_EXCEPTION])
        self.exits += int(found[_EXCEPTION_EXIT])
        if found[_GAP]:
            self.filtered += sum(operands[words == _GAP].tolist())
        return True

    def as_tuple(self) -> tuple[int, ...]:
        return (self.instructions, self.accesses, self.exceptions, self.exits, self.filtered)


class StreamTrace:
    """An opened stream; see :class:`wcetchar.model.trace.Trace`."""

    def __init__(self, path: str, info: TraceInfo) -> None:
        self._path = path
        self._info = info
        self._totals = TraceTotals()
        self._code: tuple[CodeBytes, ...] = ()

    @property
    def info(self) -> TraceInfo:
        return self._info

    @property
    def totals(self) -> TraceTotals:
        return self._totals

    @property
    def code(self) -> tuple[CodeBytes, ...]:
        return self._code

    def batches(self, *, registers: bool = False) -> Iterator[EventBatch]:
        """All events, one batch a chunk; there are no registers among them.

        Raises:
            InputError: the file is truncated or damaged, or its totals are not those of its
                events. The batches before that place have then been yielded.
        """
        with _open(self._path) as file:
            chunks = _Chunks(file, self._path)
            chunks.preamble()
            chunks.next()  # the header; it was read when the trace was opened
            table = _Table()
            counts = _Counts()
            while True:
                tag, payload = chunks.next()
                if tag == b"EVNT":
                    yield _decode(chunks, table, counts, payload)
                elif tag == b"CODE":
                    if len(payload) % _DEFINITION.itemsize or not table.define(payload):
                        raise chunks.error("malformed definitions", "instructions of 1 to 12 bytes")
                elif tag == b"DONE":
                    self._finish(chunks, table, counts, payload)
                    return
                else:
                    raise chunks.error(f"an unknown chunk {tag!r}", "CODE, EVNT or DONE")

    def _finish(self, chunks: _Chunks, table: _Table, counts: _Counts, payload: bytes) -> None:
        if len(payload) != _DONE.size:
            raise chunks.error("a malformed end record", f"{_DONE.size} bytes")
        *totals, ended, _ = _DONE.unpack(payload)
        if ended not in _ENDS:
            raise chunks.error(
                "the capture ended neither by the firmware's exit call nor where it was told to",
                "a finished run",
            )
        seen = (*counts.as_tuple(), totals[5], len(table) - FIRST_INSTRUCTION)
        if seen != tuple(totals):
            raise chunks.error(
                "the totals of the end record are not those of the events", f"{tuple(totals)}"
            )
        if not chunks.at_end():
            raise chunks.error("something follows the end record", "the end of the file")
        self._code = table.executed()
        left_out = totals[5]
        self._totals = TraceTotals(
            instructions=counts.instructions,
            accesses=counts.accesses,
            exceptions=counts.exceptions,
            filtered=counts.filtered,
            complete=True,
            unread=(("accesses left out by a capture filter", left_out),) if left_out else (),
        )


def _decode(chunks: _Chunks, table: _Table, counts: _Counts, payload: bytes) -> EventBatch:
    if len(payload) < _COUNTS.size:
        raise chunks.error("a malformed event chunk", "its two counts")
    n_words, n_operands = _COUNTS.unpack_from(payload)
    width = chunks.operand_bytes
    if (
        not 0 < n_words <= _MAX_WORDS
        or len(payload) != _COUNTS.size + 4 * n_words + width * n_operands
    ):
        raise chunks.error("a malformed event chunk", "as many events as it announces")
    words = np.frombuffer(payload, dtype="<u4", count=n_words, offset=_COUNTS.size)
    operands = np.frombuffer(
        payload, dtype=f"<u{width}", count=n_operands, offset=_COUNTS.size + 4 * n_words
    )
    if int(words.max()) >= len(table):
        raise chunks.error("an event of an undefined instruction", "definitions before their use")
    places = np.flatnonzero(words < FIRST_INSTRUCTION)
    if len(places) != n_operands or not counts.add(n_words - n_operands, words[places], operands):
        raise chunks.error("a malformed event chunk", "known events, each with its operand")
    index = words.astype(np.intp)
    address = table.address[index]
    address[places] = operands
    table.used[index] = True
    return EventBatch(kind=table.kind[index], address=address, size=table.size[index])


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(
            f"the trace cannot be read: {error.strerror}",
            where=Location(path),
            expected="a readable trace file",
        ) from error


def _text(header: dict[str, object], key: str) -> str | None:
    value = header.get(key)
    return value if isinstance(value, str) else None


def _header(chunks: _Chunks) -> tuple[dict[str, object], tuple[str, ...]]:
    tag, payload = chunks.next()
    try:
        header = json.loads(payload.decode("utf-8")) if tag == b"HEAD" else None
    except (ValueError, RecursionError):
        header = None
    arguments = header.get("arguments", []) if isinstance(header, dict) else None
    if not isinstance(header, dict) or not (
        isinstance(arguments, list) and all(isinstance(a, str) for a in arguments)
    ):
        raise chunks.error("a malformed header", "a JSON object with the provenance")
    return header, tuple(arguments)


def _filter(arguments: tuple[str, ...], path: str) -> TraceFilter:
    """The capture's filter, from the plugin arguments that the header carries."""

    def ranges(name: str) -> tuple[AddressRange, ...]:
        found = []
        for argument in arguments:
            if not argument.startswith(f"{name}="):
                continue
            for text in argument[len(name) + 1 :].split("+"):
                low, _, high = text.partition("-")
                try:
                    found.append(AddressRange(int(low, 0), int(high, 0)))
                except ValueError:
                    raise InputError(
                        f"the header's filter {argument!r} is malformed",
                        where=Location(path),
                        expected=f"{name}=START-END+...",
                        hint=_AGAIN,
                    ) from None
        return tuple(found)

    return TraceFilter(ranges("exclude"), ranges("keep"), bool(ranges("start") or ranges("stop")))


class StreamReader:
    """Reader of the plugin's stream. The format states everything except registers, which plugin
    API 1 does not show."""

    name = NAME

    def recognises(self, head: bytes, path: str) -> bool:
        """By the magic; ``path`` does not matter."""
        return head.startswith(MAGIC)

    def open(
        self, path: str, *, image: Image | None = None, machine: str | None = None
    ) -> StreamTrace:
        """Read the header.

        Raises:
            InputError: not such a file, another format version, a damaged header, or ``image`` or
                ``machine`` is not what the trace was captured with.
        """
        with _open(path) as file:
            chunks = _Chunks(file, path)
            chunks.preamble()
            header, arguments = _header(chunks)
        info = TraceInfo(
            path=path,
            format=NAME,
            losses=(NO_REGISTERS,),
            image_sha256=_text(header, "image_sha256"),
            machine=_text(header, "machine"),
            emulator=_text(header, "emulator"),
            arguments=arguments,
            filter=_filter(arguments, path),
        )
        if image is not None and info.image_sha256 not in (None, image.sha256):
            raise InputError(
                f"the trace is of another image than {image.path}",
                where=Location(path),
                expected=f"a trace of the image with hash {image.sha256}",
                hint="capture the firmware as it is now, or name the one that was captured",
            )
        if machine is not None and info.machine not in (None, machine):
            raise InputError(
                f"the trace was captured on {info.machine}, not on {machine}",
                where=Location(path),
                expected=f"a trace of {machine}",
                hint="leave the machine out; this format states it",
            )
        return StreamTrace(path, info)
