"""A decoder of the plugin's stream, written from docs/reference/trace-format.md alone.

It takes the file apart in memory and checks nothing but what it needs; a writer puts a changed run
back into a valid file, so that a change is judged by what it says and not by a checksum.
"""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


def decode(path: Path) -> Stream:
    data = path.read_bytes()
    at, found = 16, Stream()
    while at < len(data):
        tag, size = struct.unpack_from("<4sI", data, at)
        payload = data[at + 8 : at + 8 + size]
        at += 12 + size
        if tag == b"HEAD":
            found.header = json.loads(payload)
        elif tag == b"CODE":
            for address, length, code in struct.iter_unpack("<QI12s", payload):
                found.definitions.append((address, code[:length]))
        elif tag == b"EVNT":
            n, m = struct.unpack_from("<II", payload)
            assert len(payload) == 8 + 4 * (n + m)
            found.words.frombytes(payload[8 : 8 + 4 * n])
            found.operands.frombytes(payload[8 + 4 * n :])
    return found


ENTRY, EXIT = 16, 17
AT_ONCE = 1 << 24
"""Of columns with some hundred million rows, so many are converted at a time."""

Accesses = list[tuple[bool, int, int]]
Column = npt.NDArray[Any]


class Data(Mapping[int, Accesses]):
    """Accesses by the index of their instruction: as a dictionary of lists, but in columns.

    Attributes:
        steps, words, addresses: one entry for each access: index of its instruction, its word in
            the stream, its address.
    """

    def __init__(self, count: int, steps: Column, words: Column, addresses: Column) -> None:
        self.steps = steps.astype(np.uint32)
        starts = np.zeros(count + 1, dtype=np.uint32)
        np.cumsum(np.bincount(steps, minlength=count), out=starts[1:], dtype=np.uint32)
        # One element of an array is had faster than one of numpy's; both have the same memory.
        self._starts, self._words, self._addresses = array("I"), array("B"), array("I")
        self._starts.frombytes(starts.view(np.uint8))
        self._words.frombytes(words.astype(np.uint8).view(np.uint8))
        self._addresses.frombytes(addresses.astype(np.uint32).view(np.uint8))
        self.words = np.frombuffer(self._words, dtype=np.uint8)
        self.addresses = np.frombuffer(self._addresses, dtype=np.uint32)

    @classmethod
    def of(cls, count: int, accesses: Mapping[int, Accesses]) -> Data:
        rows = [
            (step, 8 * write + size.bit_length() - 1, address)
            for step, found in accesses.items()
            for write, size, address in found
        ]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return cls(count, columns[0], columns[1], columns[2])

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


def run_of(stream: Stream) -> Run:
    found = np.frombuffer(stream.words, dtype=np.uint32)
    operands = np.frombuffer(stream.operands, dtype=np.uint32)
    addresses = np.array([address for address, _ in stream.definitions], dtype=np.uint32)
    pcs = numbers()
    for start in range(0, len(found), AT_ONCE):
        words = found[start : start + AT_ONCE]
        pcs.frombytes(addresses[words[words >= 32] - 32].view(np.uint8))
    places = np.flatnonzero(found < 32)
    before = places - np.arange(len(places))  # instructions before each event with an operand
    others = found[places]
    del places
    assert len(others) == len(operands)
    assert ((others < 16) | (others == ENTRY) | (others == EXIT)).all()
    is_access = others < 16
    data = Data(len(pcs), before[is_access] - 1, others[is_access], operands[is_access])
    rest = ~is_access
    exceptions = [
        (at, word == ENTRY, number)
        for at, word, number in zip(
            before[rest].tolist(), others[rest].tolist(), operands[rest].tolist(), strict=True
        )
    ]
    return Run(pcs, data, exceptions)


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
