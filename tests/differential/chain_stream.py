"""A decoder of the plugin's stream, written from docs/reference/trace-format.md alone.

It takes the file apart in memory and checks nothing but what it needs; a writer puts a changed run
back into a valid file, so that a change is judged by what it says and not by a checksum.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Stream:
    """``events``: (word, operand) pairs; ``definitions``: (address, bytes), by number."""

    header: dict[str, object]
    definitions: list[tuple[int, bytes]]
    words: list[int]
    operands: list[int]


def decode(path: Path) -> Stream:
    data = path.read_bytes()
    at, found = 16, Stream({}, [], [], [])
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
            numbers = struct.unpack_from(f"<{n + m}I", payload, 8)
            found.words += numbers[:n]
            found.operands += numbers[n:]
    return found


ENTRY, EXIT = 16, 17


@dataclass
class Run:
    """A whole run in parallel lists.

    Attributes:
        pcs: address of each executed instruction.
        data: accesses of each instruction that made any: index -> (is write, bytes, address).
        exceptions: (index of the next instruction, entered, number), in order.
    """

    pcs: list[int]
    data: dict[int, list[tuple[bool, int, int]]]
    exceptions: list[tuple[int, bool, int]]


def run_of(stream: Stream) -> Run:
    run = Run([], {}, [])
    operands = iter(stream.operands)
    addresses = [address for address, _ in stream.definitions]
    pcs, data = run.pcs, run.data
    for word in stream.words:
        if word >= 32:
            pcs.append(addresses[word - 32])
            continue
        operand = next(operands)
        if word < 16:
            access = (word >= 8, 1 << (word & 7), operand)
            data.setdefault(len(pcs) - 1, []).append(access)
        else:
            assert word in (ENTRY, EXIT), word
            run.exceptions.append((len(pcs), word == ENTRY, operand))
    return run


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
