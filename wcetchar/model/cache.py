"""A cache as its hardware manual describes it: lines, sets, ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LINE_BYTES = (16, 32, 64, 128)
"""Sizes of lines that a characterization counts for."""
APART: Final = 1024
"""Bytes: no way of a cache that is meant is smaller. Lines that are closer share no set of such a
one as long as they lie to each other as where they were characterized."""


@dataclass(frozen=True)
class CacheGeometry:
    """``line`` in bytes; a line at address a lies in set (a / line) mod ``sets``. With more than
    one way, the line that was used longest ago is replaced (LRU).

    Raises:
        ValueError: not powers of two, or no such cache.
    """

    line: int
    sets: int
    ways: int = 1

    def __post_init__(self) -> None:
        for name, number in (("line", self.line), ("sets", self.sets)):
            if number < 1 or number & (number - 1):
                raise ValueError(f"{name} is {number}, expected a power of two")
        if self.ways < 1:
            raise ValueError(f"a cache has one way at least, not {self.ways}")

    @property
    def size(self) -> int:
        """In bytes."""
        return self.line * self.sets * self.ways

    def set_of(self, line: int) -> int:
        """The set of a line's number (its address / ``line``)."""
        return line % self.sets
