"""Fields of text lines as numpy columns.

A Python loop that splits lines costs about a microsecond a line. Here one field of many lines is
handled by a few vector operations: eight characters at a time are fetched as one little-endian
64-bit word from an unaligned view of the text, compared with literals, and hexadecimal digits are
folded into a number inside the word.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_PADDING: Final = 32


def _bytes8(value: int) -> np.uint64:
    return np.uint64(value * 0x0101010101010101)


_HIGH = _bytes8(0x80)
_LOW7 = _bytes8(0x7F)
_FROM_0 = _bytes8(0x80 - 0x30)
_FROM_COLON = _bytes8(0x80 - 0x3A)
_FROM_A = _bytes8(0x80 - 0x61)
_FROM_G = _bytes8(0x80 - 0x67)
_LOWER = _bytes8(0x20)
_NIBBLE = _bytes8(0x0F)
_ONE = _bytes8(0x01)
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_QUADS = np.uint64(0x0000FFFF0000FFFF)
_HALF = np.uint64(0xFFFFFFFF)


def _u(value: int) -> np.uint64:
    return np.uint64(value)


class Text:
    """Text of whole lines with its line bounds.

    Attributes:
        starts, ends: position of each line's first character and of its newline.
    """

    def __init__(self, data: bytes) -> None:
        padded = data + bytes(_PADDING)
        self.data = data
        self.bytes = np.frombuffer(padded, dtype=np.uint8)
        self._words: Words = np.ndarray(
            (len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,)
        )
        self.ends: Positions = np.flatnonzero(self.bytes[: len(data)] == 10)
        self.starts: Positions = np.empty_like(self.ends)
        if len(self.ends):
            self.starts[0] = 0
            self.starts[1:] = self.ends[:-1] + 1

    def find(self, character: int) -> Positions:
        """Positions of a character, ascending."""
        return np.flatnonzero(self.bytes[: len(self.data)] == character)

    def words(self, at: Positions) -> Words:
        """Eight characters from each position, the first in the lowest byte."""
        return self._words[at]

    def has(self, at: Positions, literal: bytes) -> Mask:
        """Whether ``literal`` (1 to 8 characters) stands at each position."""
        return word_has(self._words[at], literal)

    def hex(self, at: Positions) -> tuple[Words, Positions]:
        """Number at each position, and how many digits it has: 0 if there is none, 17 if there
        are more than 16. Digits may be of either case."""
        value, digits = _hex8(self._words[at])
        full = np.flatnonzero(digits == 8)
        if len(full):
            low, more = _hex8(self._words[at[full] + 8])
            if more.any():
                longer = more > 0
                rows, low, more = full[longer], low[longer], more[longer]
                value[rows] = (value[rows] << (_u(4) * more.astype(np.uint64))) | low
                digits[rows] += more
                over = rows[more == 8]
                if len(over):
                    _, rest = _hex8(self._words[at[over] + 16])
                    digits[over] += rest > 0
        return value, digits


def word_has(words: Words, literal: bytes) -> Mask:
    """Whether each word begins with ``literal`` (1 to 8 characters)."""
    wanted = int.from_bytes(literal, "little")
    mask = _u((1 << 8 * len(literal)) - 1)
    found: Mask = (words & mask) == _u(wanted)
    return found


def _hex8(word: Words) -> tuple[Words, Positions]:
    """Leading hexadecimal number of eight characters, and its number of digits (0 to 8)."""
    # Range checks on all eight bytes at once: adding 0x80 - c to a byte below 0x80 sets its top
    # bit exactly when the byte is at least c, and carries nothing into its neighbour.
    seven = word & _LOW7
    lower = seven | _LOWER
    digit = (seven + _FROM_0) & ~(seven + _FROM_COLON)
    letter = (lower + _FROM_A) & ~(lower + _FROM_G)
    other = (~(digit | letter) | word) & _HIGH
    first = other & (~other + _u(1))
    # The place of a single bit is the exponent of its float: exact, and cheaper than a search.
    exponent = (first.astype(np.float64).view(np.uint64) >> _u(52)).astype(np.int64)
    digits = np.where(first == 0, 8, (exponent - 1030) >> 3)
    shift = (_u(64) - (digits << 3).astype(np.uint64)) & _u(63)
    nibbles = (word & _NIBBLE) + (((word >> _u(6)) & _ONE) * _u(9))
    v = nibbles << shift
    v = ((v << _u(4)) | (v >> _u(8))) & _PAIRS
    v = ((v << _u(8)) | (v >> _u(16))) & _QUADS
    v = ((v << _u(16)) | (v >> _u(32))) & _HALF
    return v, digits
