"""The plugin's stream, written here by an own small writer from docs/reference/trace-format.md."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.model.image import Image
from wcetchar.model.trace import CodeBytes, Event, Knowledge
from wcetchar.readers.stream import StreamReader

HEADER = {"image_sha256": "cd" * 32, "machine": "m", "emulator": "E 1", "arguments": ["-x", "y"]}
PREAMBLE = struct.pack("<8sII", b"\x89WCT\r\n\x1a\n", 1, 4)


def chain(chunks: list[tuple[bytes, bytes]], preamble: bytes = PREAMBLE) -> bytes:
    data, crc = preamble, zlib.crc32(preamble)
    for tag, payload in chunks:
        chunk = tag + struct.pack("<I", len(payload)) + payload
        crc = zlib.crc32(chunk, crc)
        data += chunk + struct.pack("<I", crc)
    return data


def head(header: object = HEADER) -> tuple[bytes, bytes]:
    return b"HEAD", json.dumps(header).encode()


def code(*definitions: tuple[int, bytes]) -> tuple[bytes, bytes]:
    rows = (struct.pack("<QI12s", a, len(c), c) for a, c in definitions)
    return b"CODE", b"".join(rows)


def events(words: list[int], operands: list[int], width: str = "I") -> tuple[bytes, bytes]:
    counts = struct.pack("<II", len(words), len(operands))
    return b"EVNT", (
        counts
        + struct.pack(f"<{len(words)}I", *words)
        + struct.pack(f"<{len(operands)}{width}", *operands)
    )


def done(*totals: int, ended: int = 1) -> tuple[bytes, bytes]:
    return b"DONE", struct.pack("<7QII", *totals, ended, 0)


WORDS = [32, 33, 2, 16, 32, 9, 17, 18, 34, 3, 10]
OPERANDS = [0x1000, 15, 0x2000, 15, 7, 0x3000, 0x4000]
DEFINITIONS = ((0x40, b"\x01\x02"), (0x42, b"\x03\x04\x05\x06"), (0x40, b"\x07\x08"))
SMALL = chain(
    [
        head(),
        code(*DEFINITIONS[:2]),
        code(DEFINITIONS[2]),
        events(WORDS[:4], OPERANDS[:2]),
        events(WORDS[4:], OPERANDS[2:]),
        done(4, 4, 1, 1, 7, 3, 3),
    ]
)
EXPECTED = [
    (Event.INSTRUCTION, 0x40, 2),
    (Event.INSTRUCTION, 0x42, 4),
    (Event.READ, 0x1000, 4),
    (Event.EXCEPTION, 15, 0),
    (Event.INSTRUCTION, 0x40, 2),
    (Event.WRITE, 0x2000, 2),
    (Event.EXCEPTION_EXIT, 15, 0),
    (Event.GAP, 7, 0),
    (Event.INSTRUCTION, 0x40, 2),
    (Event.READ, 0x3000, 8),
    (Event.WRITE, 0x4000, 4),
]


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "t.wct"

    def to_file(data: bytes) -> str:
        path.write_bytes(data)
        return str(path)

    return to_file


def rows(trace):
    return [
        row
        for b in trace.batches()
        for row in zip(b.kind.tolist(), b.address.tolist(), b.size.tolist(), strict=True)
    ]


def test_every_kind_of_event(write):
    trace = StreamReader().open(write(SMALL))
    assert rows(trace) == EXPECTED
    batch = next(iter(trace.batches()))
    assert (batch.kind.dtype, batch.address.dtype, batch.size.dtype) == (
        np.uint8,
        np.uint64,
        np.uint8,
    )


def test_info_totals_and_code(write):
    trace = StreamReader().open(write(SMALL))
    info = trace.info
    assert (info.image_sha256, info.machine, info.emulator) == ("cd" * 32, "m", "E 1")
    assert info.arguments == ("-x", "y")
    assert [loss.lacks for loss in info.losses] == [Knowledge.REGISTERS]
    for _ in range(2):  # again, from the start
        assert len(rows(trace)) == len(EXPECTED)
        totals = trace.totals
        assert (totals.instructions, totals.accesses, totals.exceptions) == (4, 4, 1)
        assert (totals.filtered, totals.undecoded, totals.complete) == (7, 0, True)
        assert totals.unread == (("accesses left out by a capture filter", 3),)
    assert trace.code == tuple(CodeBytes(a, c) for a, c in sorted(DEFINITIONS))


def test_code_lists_only_what_was_executed(write):
    data = chain([head(), code(*DEFINITIONS), events([33], []), done(1, 0, 0, 0, 0, 0, 3)])
    trace = StreamReader().open(write(data))
    list(trace.batches())
    assert trace.code == (CodeBytes(0x42, b"\x03\x04\x05\x06"),)


def test_operands_of_eight_bytes(write):
    preamble = struct.pack("<8sII", b"\x89WCT\r\n\x1a\n", 1, 8)
    data = chain(
        [
            head(),
            code((0xFFFF_FFFF_8000_0000, b"\x13\0\0\0")),
            events([32, 3], [0x1234_5678_9ABC_DEF0], "Q"),
            done(1, 1, 0, 0, 0, 0, 1),
        ],
        preamble,
    )
    assert rows(StreamReader().open(write(data))) == [
        (Event.INSTRUCTION, 0xFFFF_FFFF_8000_0000, 4),
        (Event.READ, 0x1234_5678_9ABC_DEF0, 8),
    ]


@given(st.integers(0, len(SMALL) - 1))
@settings(max_examples=400, deadline=None)
def test_truncated_anywhere(write, size):
    path = write(SMALL[:size])
    with pytest.raises(InputError) as caught:
        rows(StreamReader().open(path))
    assert caught.value.where.file == path
    assert "truncated" in caught.value.message or size == 0


@given(st.integers(0, len(SMALL) - 1), st.integers(1, 255))
@settings(max_examples=500, deadline=None)
def test_any_changed_byte_is_found(write, place, change):
    data = bytearray(SMALL)
    data[place] ^= change
    with pytest.raises(InputError):
        rows(StreamReader().open(write(bytes(data))))


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_arbitrary_bytes_behind_a_good_header(write, tail):
    with pytest.raises(InputError):
        rows(StreamReader().open(write(chain([head()]) + tail)))


def test_chunks_lost_doubled_or_swapped(write):
    frames = split(SMALL)
    for other in (
        [*frames[:3], *frames[4:]],
        [*frames[:4], frames[3], *frames[4:]],
        [*frames[:3], frames[4], frames[3], *frames[5:]],
    ):
        with pytest.raises(InputError, match="damaged"):
            rows(StreamReader().open(write(PREAMBLE + b"".join(other))))


def split(data: bytes) -> list[bytes]:
    frames, place = [], len(PREAMBLE)
    while place < len(data):
        end = place + 12 + struct.unpack_from("<I", data, place + 4)[0]
        frames.append(data[place:end])
        place = end
    return frames


TOTALS = (4, 4, 1, 1, 7, 3, 3)


@pytest.mark.parametrize("which", [0, 1, 2, 3, 4, 6])
def test_wrong_totals(write, which):
    totals = [total + (i == which) for i, total in enumerate(TOTALS)]
    data = chain([head(), code(*DEFINITIONS), events(WORDS, OPERANDS), done(*totals)])
    with pytest.raises(InputError, match="totals"):
        rows(StreamReader().open(write(data)))


BODY = [code(*DEFINITIONS), events(WORDS, OPERANDS)]


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([head(), *BODY, done(*TOTALS, ended=0)], "exit call"),
        ([head(), *BODY, done(*TOTALS), events([32], [])], "follows the end record"),
        ([head(), *BODY, (b"DONE", b"")], "malformed end record"),
        ([head(), *BODY, (b"WHAT", b"")], "unknown chunk"),
        ([head(), events([32], [])], "undefined instruction"),
        ([head(), *BODY, events([35], [])], "undefined instruction"),
        ([head(), *BODY, events([5], [1])], "malformed event"),
        ([head(), *BODY, events([19], [1])], "malformed event"),
        ([head(), *BODY, events([2], [])], "malformed event"),
        ([head(), *BODY, events([32], [1])], "malformed event"),
        ([head(), *BODY, events([], [])], "malformed event"),
        ([head(), *BODY, (b"EVNT", b"\1\0\0\0")], "malformed event"),
        ([head(), *BODY, (b"EVNT", struct.pack("<II", 2, 0) + b"\0" * 4)], "malformed event"),
        ([head(), code((0, b""))], "malformed definitions"),
        ([head(), (b"CODE", b"\0" * 23)], "malformed definitions"),
        ([head(), (b"CODE", struct.pack("<QI12s", 0, 13, b""))], "malformed definitions"),
        ([(b"HEAD", b"{")], "malformed header"),
        ([(b"HEAD", b"\xff")], "malformed header"),
        ([(b"HEAD", b"[" * 100_000)], "malformed header"),
        ([head([])], "malformed header"),
        ([head({"arguments": [1]})], "malformed header"),
        ([code(*DEFINITIONS)], "malformed header"),
    ],
)
def test_malformed_but_with_good_checksums(write, chunks, message):
    with pytest.raises(InputError, match=message):
        rows(StreamReader().open(write(chain(chunks))))


def test_foreign_files(write, tmp_path):
    reader = StreamReader()
    for data in (
        b"",
        b"\x7fELF" + b"\0" * 60,
        b"0, 0x46, 0x102e9c1",
        SMALL[:4] + b"\n" + SMALL[5:],
    ):
        assert not reader.recognises(data, "x.wct")
        with pytest.raises(InputError, match="not a trace"):
            reader.open(write(data))
    assert reader.recognises(SMALL, "any.name")
    with pytest.raises(InputError, match="cannot be read"):
        reader.open(str(tmp_path / "absent"))


def test_newer_version(write):
    preamble = struct.pack("<8sII", b"\x89WCT\r\n\x1a\n", 2, 4)
    with pytest.raises(InputError, match="version 2"):
        StreamReader().open(write(chain([head()], preamble)))
    preamble = struct.pack("<8sII", b"\x89WCT\r\n\x1a\n", 1, 3)
    with pytest.raises(InputError, match="operands of 3 bytes"):
        StreamReader().open(write(chain([head()], preamble)))


def test_a_length_that_cannot_be_is_not_allocated(write):
    data = chain([head()]) + b"EVNT" + struct.pack("<I", 0xFFFFFFF0)
    with pytest.raises(InputError, match="impossible size"):
        rows(StreamReader().open(write(data)))


def image(sha256: str) -> Image:
    return Image(
        path="fw.elf",
        machine="arm",
        architecture="armv7-m",
        bits=32,
        entry=0,
        sections=(),
        symbols=(),
        code=(),
        lines=(),
        sha256=sha256,
    )


def test_image_and_machine_must_be_those_of_the_capture(write):
    path = write(SMALL)
    reader = StreamReader()
    assert reader.open(path, image=image("cd" * 32), machine="m").info.machine == "m"
    with pytest.raises(InputError, match="another image"):
        reader.open(path, image=image("ef" * 32))
    with pytest.raises(InputError, match="captured on m, not on n"):
        reader.open(path, machine="n")


streams = st.lists(
    st.one_of(
        st.tuples(st.just(Event.INSTRUCTION), st.integers(0, 9), st.just(0)),
        st.tuples(
            st.sampled_from([Event.READ, Event.WRITE]),
            st.integers(0, 2**32 - 1),
            st.sampled_from([1, 2, 4, 8, 16]),
        ),
        st.tuples(
            st.sampled_from([Event.EXCEPTION, Event.EXCEPTION_EXIT]),
            st.integers(1, 511),
            st.just(0),
        ),
        st.tuples(st.just(Event.GAP), st.integers(1, 2**32 - 1), st.just(0)),
    ),
    max_size=60,
)


@given(streams, st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read(write, stream, batch):
    """Ten instructions at 0x100, 0x102, ...; the events in chunks of any size."""
    words, expected = [], []
    for kind, value, size in stream:
        if kind is Event.INSTRUCTION:
            words.append((32 + value, None))
            expected.append((kind, 0x100 + 2 * value, 2))
        else:
            base = {
                Event.READ: 0,
                Event.WRITE: 8,
                Event.EXCEPTION: 16,
                Event.EXCEPTION_EXIT: 17,
                Event.GAP: 18,
            }[kind]
            shift = size.bit_length() - 1 if size else 0
            words.append((base + shift, value))
            expected.append((kind, value, size))
    chunks = [head(), code(*((0x100 + 2 * i, bytes([i, 0])) for i in range(10)))]
    for start in range(0, len(words), batch):
        part = words[start : start + batch]
        chunks.append(events([w for w, _ in part], [v for _, v in part if v is not None]))

    def count(*kinds: Event) -> int:
        return sum(kind in kinds for kind, _, _ in stream)

    gaps = sum(value for kind, value, _ in stream if kind is Event.GAP)
    chunks.append(
        done(
            count(Event.INSTRUCTION),
            count(Event.READ, Event.WRITE),
            count(Event.EXCEPTION),
            count(Event.EXCEPTION_EXIT),
            gaps,
            0,
            10,
        )
    )
    assert rows(StreamReader().open(write(chain(chunks)))) == expected
