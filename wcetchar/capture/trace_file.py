"""The two ends of a trace file that the plugin does not write or that are needed of it: magic and
header at its begin, the end record at its end (docs/reference/trace-format.md)."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"\x89WCT\r\n\x1a\n"
VERSION: Final = 1
OPERAND_BYTES: Final = 4
BY_FIRMWARE: Final = 1
WHERE_TOLD: Final = 2

_FRAME: Final = struct.Struct("<4sI")
_DONE: Final = struct.Struct("<4sIQQQQQQQIII")


@dataclass(frozen=True)
class EndRecord:
    """Totals of a trace, as the plugin counted them.

    Attributes:
        ended: :data:`BY_FIRMWARE`, :data:`WHERE_TOLD`, or another number where the run did not end
            as it should.
    """

    instructions: int
    accesses: int
    exceptions: int
    exits: int
    filtered: int
    filtered_accesses: int
    definitions: int
    ended: int


END_BYTES: Final = _DONE.size


def opening(header: dict[str, object]) -> tuple[bytes, int]:
    """Bytes up to the end of the header chunk, and the checksum that the next chunk continues."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    payload = text.encode("ascii")
    payload += b" " * (-len(payload) % 4)  # every chunk is a multiple of four bytes
    preamble = struct.pack("<8sII", MAGIC, VERSION, OPERAND_BYTES)
    chunk = _FRAME.pack(b"HEAD", len(payload)) + payload
    crc = zlib.crc32(chunk, zlib.crc32(preamble))
    return preamble + chunk + struct.pack("<I", crc), crc


def end_record(tail: bytes) -> EndRecord | None:
    """The end record in the last END_BYTES bytes of a file; ``None`` where there is none."""
    if len(tail) != END_BYTES:
        return None
    tag, size, *values = _DONE.unpack(tail)
    if tag != b"DONE" or size != END_BYTES - _FRAME.size - 4:
        return None
    return EndRecord(
        instructions=values[0],
        accesses=values[1],
        exceptions=values[2],
        exits=values[3],
        filtered=values[4],
        filtered_accesses=values[5],
        definitions=values[6],
        ended=values[7],
    )
