"""A decoder of the plugin's stream, written from docs/reference/trace-format.md alone.

It takes the file apart and checks nothing but what it needs; a writer puts a changed run
back into a valid file, so that a change is judged by what it says and not by a checksum.
"""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def numbers(values: Sequence[int] = ()) -> array[int]:
    """Numbers of 32 bits, without a Python object for each."""
    return array("I", values)


@dataclass
class Stream:
    """``events``: (word, operand) pairs; ``definitions``: (address, bytes), by number."""

    header: dict[str, object] = field(default_factory=dict)
    definitions: list[tuple[int, bytes]] = field(default_factory=list)
    words: array[int] = field(default_factory=numbers)
    operands: array[int] = field(default_factory=numbers)


def chunks(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Tag and payload of each. The file is not read as a whole: it may have some gigabytes."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        at = 16
        while at < len(data):
            tag, size = struct.unpack_from("<4sI", data, at)
            yield tag, data[at + 8 : at + 8 + size]
            at += 12 + size


def defined(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """Address and bytes of each instruction of a CODE chunk."""
    for address, length, code in struct.iter_unpack("<QI12s", payload):
        yield address, code[:length]


def events(payload: bytes) -> tuple[bytes, bytes]:
    """Words and operands of an EVNT chunk."""
    n, m = struct.unpack_from("<II", payload)
    assert len(payload) == 8 + 4 * (n + m)
    return payload[8 : 8 + 4 * n], payload[8 + 4 * n :]


def decode(path: Path) -> Stream:
    found = Stream()
    for tag, payload in chunks(path):
        if tag == b"HEAD":
            found.header = json.loads(payload)
        elif tag == b"CODE":
            found.definitions += defined(payload)
        elif tag == b"EVNT":
            words, operands = events(payload)
            found.words.frombytes(words)
            found.operands.frombytes(operands)
    return found


ENTRY, EXIT = 16, 17
AT_ONCE = 1 << 24
"""Of columns with some hundred million rows, so many are converted at a time."""

Accesses = list[tuple[bool, int, int]]
Column = npt.NDArray[Any]


def _starts(steps: Column, count: int) -> Column:
    """How many of the ``steps``, which ascend, are less than each number up to ``count``."""
    of_step = np.zeros(count + 1, dtype=np.uint8)
    for start in range(0, len(steps), AT_ONCE):
        piece = steps[start : start + AT_ONCE]
        first = int(piece[0])
        several = np.bincount(piece - first)
        own = of_step[first + 1 : first + 1 + len(several)]
        assert (several + own < 256).all()
        own += several.astype(np.uint8)
    return np.cumsum(of_step, dtype=np.uint32)


class Data(Mapping[int, Accesses]):
    """Accesses by the index of their instruction: as a dictionary of lists, but in columns.

    Attributes:
        steps, words, addresses: one entry for each access: index of its instruction, its word in
            the stream, its address.
    """

    def __init__(self, count: int, steps: Column, words: array[int], addresses: array[int]) -> None:
        self.steps = steps
        # One element of an array is had faster than one of numpy's; both have the same memory.
        self._starts, self._words, self._addresses = numbers(), words, addresses
        self._starts.frombytes(_starts(steps, count).view(np.uint8))
        self.words = np.frombuffer(self._words, dtype=np.uint8)
        self.addresses = np.frombuffer(self._addresses, dtype=np.uint32)

    @classmethod
    def of(cls, count: int, accesses: Mapping[int, Accesses]) -> Data:
        rows = [
            (step, 8 * write + size.bit_length() - 1, address)
            for step, found in accesses.items()
            for write, size, address in found
        ]
        steps, words, addresses = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return cls(
            count, steps.astype(np.uint32), array("B", words.tolist()), numbers(addresses.tolist())
        )

    @property
    def columns(self) -> tuple[Column, Column, Column]:
        return self.steps, self.words, self.addresses

    def __getitem__(self, step: int) -> Accesses:
        found = self.at(step)
        if not found:
            raise KeyError(step)
        return found

    def at(self, step: int) -> Accesses:
        """The accesses of an instruction, which may have made none."""
        return [
            (self._words[i] >= 8, 1 << (self._words[i] & 7), self._addresses[i])
            for i in range(self._starts[step], self._starts[step + 1])
        ]

    def bounds(self, steps: Column) -> tuple[Column, Column]:
        """Of each step, its first entry in the columns, and the one behind its last."""
        starts = np.frombuffer(self._starts, dtype=np.uint32)
        return starts[steps].astype(np.int64), starts[steps + 1].astype(np.int64)

    def __contains__(self, step: object) -> bool:
        assert isinstance(step, int)
        return self._starts[step] != self._starts[step + 1]

    def __iter__(self) -> Iterator[int]:
        yield from np.unique(self.steps).tolist()

    def __len__(self) -> int:
        return len(np.unique(self.steps))

    @property
    def total(self) -> int:
        return len(self.steps)


@dataclass
class Run:
    """A whole run in parallel columns.

    Attributes:
        pcs: address of each executed instruction.
        data: accesses of each instruction that made any: index -> (is write, bytes, address).
        exceptions: (index of the next instruction, entered, number), in order.
    """

    pcs: Sequence[int]
    data: Mapping[int, Accesses]
    exceptions: list[tuple[int, bool, int]]


class _Growing:
    """A run that is put together piece by piece: what numpy makes on the way is several times as
    large as the run."""

    def __init__(self) -> None:
        self.addresses = np.zeros(0, dtype=np.uint32)
        """Of the instructions that are defined, by number."""
        self._pcs, self._steps, self._operands = numbers(), numbers(), numbers()
        self._words = array("B")
        self._exceptions: list[tuple[int, bool, int]] = []

    def add(self, words: Column, operands: Column) -> None:
        """Events of a piece, with the operands of those that have one."""
        places = np.flatnonzero(words < 32)
        assert len(places) == len(operands)
        # Instructions before each event with an operand.
        before = len(self._pcs) + places - np.arange(len(places))
        others = words[places]
        is_access = others < 16
        rest = ~is_access
        assert ((others == ENTRY) | (others == EXIT))[rest].all()
        steps = before[is_access] - 1
        self._steps.frombytes(steps.astype(np.uint32).view(np.uint8))
        self._words.frombytes(others[is_access].astype(np.uint8))
        self._operands.frombytes(operands[is_access].view(np.uint8))
        self._exceptions += [
            (step, word == ENTRY, number)
            for step, word, number in zip(
                before[rest].tolist(), others[rest].tolist(), operands[rest].tolist(), strict=True
            )
        ]
        self._pcs.frombytes(self.addresses[words[words >= 32] - 32].view(np.uint8))

    def run(self) -> Run:
        steps = np.frombuffer(self._steps, dtype=np.uint32)
        return Run(
            self._pcs, Data(len(self._pcs), steps, self._words, self._operands), self._exceptions
        )


def _addresses(definitions: Iterable[tuple[int, bytes]]) -> Column:
    return np.array([address for address, _ in definitions], dtype=np.uint32)


def run_of(stream: Stream) -> Run:
    growing, at = _Growing(), 0
    growing.addresses = _addresses(stream.definitions)
    words = np.frombuffer(stream.words, dtype=np.uint32)
    operands = np.frombuffer(stream.operands, dtype=np.uint32)
    for start in range(0, len(words), AT_ONCE):
        piece = words[start : start + AT_ONCE]
        count = int(np.count_nonzero(piece < 32))
        growing.add(piece, operands[at : at + count])
        at += count
    assert at == len(operands)
    return growing.run()


def run_in(path: Path) -> Run:
    """As ``run_of(decode(path))``, in half of the memory."""
    growing = _Growing()
    for tag, payload in chunks(path):
        if tag == b"CODE":
            own = _addresses(defined(payload))
            growing.addresses = np.concatenate([growing.addresses, own])
        elif tag == b"EVNT":
            words, operands = (np.frombuffer(part, dtype=np.uint32) for part in events(payload))
            growing.add(words, operands)
    return growing.run()


def encode(stream: Stream) -> bytes:
    """A valid file of the same events: one CODE chunk, then EVNT chunks, then the end record."""
    operands = iter(stream.operands)
    chunks = [
        (b"HEAD", json.dumps(stream.header).encode()),
        (b"CODE", b"".join(struct.pack("<QI12s", a, len(c), c) for a, c in stream.definitions)),
    ]
    for start in range(0, len(stream.words), 65536):
        words = stream.words[start : start + 65536]
        held = [next(operands) for word in words if word < 32]
        counts = struct.pack("<II", len(words), len(held))
        payload = counts + struct.pack(f"<{len(words) + len(held)}I", *words, *held)
        chunks.append((b"EVNT", payload))
    kinds = (
        sum(word >= 32 for word in stream.words),
        sum(word < 16 for word in stream.words),
        stream.words.count(ENTRY),
        stream.words.count(EXIT),
    )
    chunks.append((b"DONE", struct.pack("<7QII", *kinds, 0, 0, len(stream.definitions), 1, 0)))
    out = struct.pack("<8sII", b"\x89WCT\r\n\x1a\n", 1, 4)
    crc = zlib.crc32(out)
    for tag, payload in chunks:
        chunk = tag + struct.pack("<I", len(payload)) + payload
        crc = zlib.crc32(chunk, crc)
        out += chunk + struct.pack("<I", crc)
    return out
