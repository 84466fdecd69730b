"""Who was the last to write to each word of memory, long ago.

The latest pieces of all threads and handlers are kept as they are (``history``). Of older ones only
this is: for each word, who was the last to write there and when, and when anybody else was. That is
enough to say whether a word is still what one of them stored, however long it has been switched
away since: a kernel keeps the interrupt mask of a thread that waits in its saved registers.

Size: an entry for each word of memory that is ever written to. Caveat: an access of unknown
direction counts as a write, one of unknown size as eight bytes long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wcetchar.analysis.contexts import Piece
from wcetchar.model.trace import Event

_LONGEST = 8
"""Bytes that an access of unknown size may have."""


class LastWrites:
    """The last writes of pieces that ran one after the other."""

    def __init__(self) -> None:
        # aligned word -> (owner, serial number of its piece, that of the last by others or -1)
        self._words: dict[int, tuple[int, int, int]] = {}

    def add(self, pieces: Sequence[tuple[int, Piece]]) -> None:
        """Pieces with the numbers of their contexts, in order, which ran after all before."""
        if not pieces:
            return
        kind = np.concatenate([piece.kind for _, piece in pieces])
        at = np.flatnonzero((kind == Event.WRITE) | (kind == Event.ACCESS))
        start = np.concatenate([piece.address for _, piece in pieces])[at].astype(np.int64)
        size = np.concatenate([piece.size for _, piece in pieces])[at].astype(np.int64)
        lengths = [len(piece.kind) for _, piece in pieces]
        piece = np.repeat(np.arange(len(pieces)), lengths)[at]
        end = start + np.where(size == 0, _LONGEST, size)
        first = start >> 2
        spans = ((end - 1) >> 2) - first + 1
        within = np.arange(spans.sum()) - np.repeat(np.cumsum(spans) - spans, spans)
        word, piece = np.repeat(first, spans) + within, np.repeat(piece, spans)
        owner = np.array([number for number, _ in pieces])[piece]
        # Of each owner the last write to each word, in the order in which they were.
        order = np.lexsort((piece, owner, word))
        word, owner, piece = word[order], owner[order], piece[order]
        last = np.ones(len(order), dtype=np.bool_)
        last[:-1] = (word[1:] != word[:-1]) | (owner[1:] != owner[:-1])
        word, owner, piece = word[last], owner[last], piece[last]
        order = np.argsort(piece, kind="stable")
        for w, o, p in zip(
            word[order].tolist(), owner[order].tolist(), piece[order].tolist(), strict=True
        ):
            before = self._words.get(w, (o, -1, -1))
            by_others = before[2] if before[0] == o else before[1]
            self._words[w] = (o, pieces[p][1].serial, by_others)

    def last(self, word: int) -> tuple[int, int]:
        """Who was the last to write to four bytes from ``word`` on, and the serial number of the
        piece; (-1, -1) where nobody did."""
        found = (-1, -1)
        for aligned in (word >> 2, (word + 3) >> 2):
            last = self._words.get(aligned)
            if last is not None and last[1] > found[1]:
                found = last[0], last[1]
        return found

    def by_others(self, owner: int, word: int) -> int:
        """Serial number of the last piece in which anybody but ``owner`` wrote to four bytes from
        ``word`` on, -1 where nobody did."""
        found = -1
        for aligned in (word >> 2, (word + 3) >> 2):
            last = self._words.get(aligned)
            if last is not None:
                found = max(found, last[1] if last[0] != owner else last[2])
        return found
