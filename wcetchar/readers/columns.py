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

_PADDING: Final = 256


def _bytes8(value: int) -> np.uint64:
    return np.uint64(value * 0x0101010101010101)


_HIGH = _bytes8(0x80)
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_QUADS = np.uint64(0x0000FFFF0000FFFF)
_HALF = np.uint64(0xFFFFFFFF)


def _u(value: int) -> np.uint64:
    return np.uint64(value)


_IS_HEX = np.zeros(256, dtype=np.bool_)
_IS_HEX[list(b"0123456789abcdefABCDEF")] = True
_NIBBLES: Final = bytes(int(chr(c), 16) if _IS_HEX[c] else 0x80 for c in range(256))
"""Character -> value of the digit, 0x80 for what is none."""


def positions(data: bytes, character: int) -> Positions:
    """Positions of a character in ``data``, ascending."""
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == character)


class Text:
    """Text of whole lines with its line bounds.

    Attributes:
        starts, ends: position of each line's first character and of its newline.
    """

    def __init__(self, data: bytes, ends: Positions | None = None) -> None:
        """``ends`` spares the search for newlines where it was made before."""
        padded = data + bytes(_PADDING)
        self.data = data
        self.bytes = np.frombuffer(padded, dtype=np.uint8)
        self._words: Words = np.ndarray(
            (len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,)
        )
        self._words32: npt.NDArray[np.void] = np.ndarray(
            (len(padded) - 31,), dtype="V32", buffer=padded, strides=(1,)
        )
        self.ends: Positions = positions(data, 10) if ends is None else ends
        self.starts: Positions = np.empty_like(self.ends)
        if len(self.ends):
            self.starts[0] = 0
            self.starts[1:] = self.ends[:-1] + 1

    def find(self, character: int) -> Positions:
        """Positions of a character, ascending."""
        return positions(self.data, character)

    def words(self, at: Positions) -> Words:
        """Eight characters from each position, the first in the lowest byte."""
        return self._words[at]

    def words32(self, at: Positions) -> Words:
        """32 characters from each position as four words, shape (len(at), 4). Fetching them as one
        item takes half the time of four fetches."""
        return self._words32[at].view("<u8").reshape(-1, 4)

    def has(self, at: Positions, literal: bytes) -> Mask:
        """Whether ``literal`` (1 to 8 characters) stands at each position."""
        return word_has(self._words[at], literal)

    def hex(self, at: Positions) -> tuple[Words, Positions]:
        """Number at each position, and how many digits it has: 0 if there is none, 17 if there
        are more than 16. Digits may be of either case."""
        value, digits = _hex8(self._words[at])
        full = np.flatnonzero((digits == 8) & _IS_HEX[self.bytes[at + 8]])
        if len(full):
            low, more = _hex8(self._words[at[full] + 8])
            value[full] = (value[full] << (_u(4) * more.astype(np.uint64))) | low
            digits[full] += more
            over = full[more == 8]
            digits[over] += _IS_HEX[self.bytes[at[over] + 16]]
        return value, digits


def word_has(words: Words, literal: bytes) -> Mask:
    """Whether each word begins with ``literal`` (1 to 8 characters)."""
    wanted = int.from_bytes(literal, "little")
    mask = _u((1 << 8 * len(literal)) - 1)
    found: Mask = (words & mask) == _u(wanted)
    return found


def _hex8(word: Words) -> tuple[Words, Positions]:
    """Leading hexadecimal number of eight characters, and its number of digits (0 to 8)."""
    nibbles: Words = np.frombuffer(word.tobytes().translate(_NIBBLES), dtype="<u8")
    # Lowest flag of a character that is no digit; its place is the exponent of its float, which is
    # exact and cheaper than a search. In place, because temporaries cost more than sums.
    flags = nibbles & _HIGH
    first = ~flags
    first += _u(1)
    first &= flags
    digits = first.astype(np.float64).view(np.int64)
    digits >>= 52
    digits -= 1030
    digits >>= 3
    digits[flags == 0] = 8
    other = digits.view(np.uint64) << _u(3)
    np.subtract(_u(64), other, out=other)
    other &= _u(63)
    value = nibbles << other
    for shift, mask in ((8, _PAIRS), (16, _QUADS), (32, _HALF)):
        np.right_shift(value, _u(shift), out=other)
        value <<= _u(shift // 2)
        value |= other
        value &= mask
    return value, digits


class KnownLines:
    """Numbers of lines that were seen before, by their first ``length`` characters.

    A table of slots points into columns that hold the characters in full, so that a line is either
    found with certainty or not at all; two lines that fall on one slot push each other out.
    """

    SLOTS: Final = 1 << 18
    LINES: Final = 1 << 16
    _FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)

    def __init__(self, length: int) -> None:
        self.length = length
        words = (length + 7) // 8
        self._masks = [_u((1 << 64) - 1)] * words
        if length % 8:
            self._masks[-1] = _u((1 << 8 * (length % 8)) - 1)
        self._place = np.zeros(self.SLOTS, dtype=np.int32)
        # Place 0 stays empty: no line consists of zero bytes.
        self._keys: list[Words] = [np.zeros(self.LINES, dtype=np.uint64) for _ in range(words)]
        self._numbers: Positions = np.full(self.LINES, -1, dtype=np.int64)
        self._used = 1

    def _slot(self, words: list[Words]) -> Positions:
        mixed = words[0] * _u(self._FACTORS[0])
        for i, word in enumerate(words[1:], 1):
            mixed ^= word * _u(self._FACTORS[i % 4] >> i)
        mixed *= _u(self._FACTORS[0])
        return (mixed >> _u(46)).astype(np.int64)

    def _of(self, text: Text, starts: Positions) -> list[Words]:
        return [text.words(starts + 8 * i) & mask for i, mask in enumerate(self._masks)]

    def find(self, text: Text, rows: slice) -> Positions:
        """Number of each line, -1 where it is not known."""
        starts = text.starts[rows]
        words = self._of(text, starts)
        place = self._place[self._slot(words)]
        found = self._numbers[place]
        for key, word in zip(self._keys, words, strict=True):
            found[key[place] != word] = -1
        # What a shorter line was compared by belongs to the next line.
        found[starts + self.length > text.ends[rows]] = -1
        return found

    def set(self, line: bytes, number: int) -> None:
        """Make a line known, or with -1 unknown."""
        if len(line) < self.length:
            return
        text = Text(line + b"\n")
        words = self._of(text, text.starts)
        slot = int(self._slot(words)[0])
        place = int(self._place[slot])
        if any(key[place] != word[0] for key, word in zip(self._keys, words, strict=True)):
            if number < 0:
                return
            if self._used == self.LINES:
                self._place[:] = 0
                self._used = 1
            place = self._place[slot] = self._used
            self._used += 1
            for key, word in zip(self._keys, words, strict=True):
                key[place] = word[0]
        self._numbers[place] = number
