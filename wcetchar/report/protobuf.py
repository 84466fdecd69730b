"""The wire format of protocol buffers, as far as a trace of slices needs it.

https://protobuf.dev/programming-guides/encoding/: a message is a sequence of fields, each a number
with a type, and a value: a whole number of variable length, or bytes behind their length.
"""

from __future__ import annotations

_VARINT, _BYTES = 0, 2


def _varint(number: int) -> bytes:
    """Seven bits in a byte, the lowest first; all but the last have the highest bit set."""
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{number} is no whole number of 64 bits")
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def field(number: int, value: int | str | bytes) -> bytes:
    """A field: a whole number, a text, or a message.

    Raises:
        ValueError: a number that does not fit.
    """
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data
