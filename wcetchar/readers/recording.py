"""What every reader's trace has in common: tallies, and the distinct instructions seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from wcetchar.model.trace import CodeBytes, Event, EventBatch, TraceInfo, TraceTotals

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

MAX_BATCH: Final = 1 << 16


class CodeSeen:
    """Distinct (address, bytes) pairs.

    A direct-mapped table by address lets a vector comparison pass over everything that was seen
    before; only the rest goes through Python.
    """

    def __init__(self) -> None:
        self._pairs: set[tuple[int, bytes]] = set()
        self._grow(1 << 12)

    def _grow(self, slots: int) -> None:
        self._mask = np.uint64(slots - 1)
        self._address = np.full(slots, np.uint64(0xFFFFFFFFFFFFFFFF), dtype=np.uint64)
        self._code = np.zeros(slots, dtype=np.uint64)

    def add_one(self, address: int, code: bytes) -> None:
        if code:
            self._pairs.add((address, code))

    def add(self, address: Words, code: Words, size: Bytes) -> None:
        """Record instructions; ``code`` holds their bytes as little-endian numbers. Those of
        unknown size are passed over."""
        slot = ((address >> np.uint64(1)) & self._mask).astype(np.int64)
        new = np.flatnonzero((self._address[slot] != address) | (self._code[slot] != code))
        while len(new):
            # One row for each slot; rows that repeat it then compare equal and drop out.
            rows = new[np.unique(slot[new], return_index=True)[1]]
            for at, word, n in zip(
                address[rows].tolist(), code[rows].tolist(), size[rows].tolist(), strict=True
            ):
                if n:
                    self._pairs.add((at, word.to_bytes(8, "little")[:n]))
            self._address[slot[rows]] = address[rows]
            self._code[slot[rows]] = code[rows]
            seen = (self._address[slot[new]] == address[new]) & (self._code[slot[new]] == code[new])
            new = new[~seen]
        if len(self._pairs) > len(self._code) // 2 and len(self._code) < 1 << 20:
            self._grow(len(self._code) * 4)

    def items(self) -> tuple[CodeBytes, ...]:
        return tuple(CodeBytes(address, code) for address, code in sorted(self._pairs))


class Run(Protocol):
    """One pass over a trace file."""

    code: CodeSeen
    unread: Counter[str]

    def events(self) -> Iterator[EventBatch]: ...


class RecordedTrace:
    """A trace whose events come from a fresh :class:`Run` for each pass. None of the formats here
    has an end record, so ``totals.complete`` is ``None``."""

    def __init__(self, info: TraceInfo) -> None:
        self._info = info
        self._totals = TraceTotals()
        self._code: tuple[CodeBytes, ...] = ()

    @property
    def info(self) -> TraceInfo:
        return self._info

    @property
    def totals(self) -> TraceTotals:
        return self._totals

    @property
    def code(self) -> tuple[CodeBytes, ...]:
        return self._code

    def _run(self, registers: bool) -> Run:
        """``registers``: with REGISTER events, where the format has them."""
        raise NotImplementedError

    def batches(self, *, registers: bool = False) -> Iterator[EventBatch]:
        run = self._run(registers)
        tally = np.zeros(len(Event), dtype=np.int64)
        for batch in run.events():
            tally += np.bincount(batch.kind, minlength=len(Event))
            for start in range(0, len(batch), MAX_BATCH):
                part = slice(start, start + MAX_BATCH)
                yield EventBatch(batch.kind[part], batch.address[part], batch.size[part])
        self._totals = TraceTotals(
            instructions=int(tally[Event.INSTRUCTION]),
            accesses=int(tally[[Event.READ, Event.WRITE, Event.ACCESS]].sum()),
            exceptions=int(tally[Event.EXCEPTION]),
            undecoded=int(tally[Event.UNDECODED]),
            complete=None,
            unread=tuple(sorted(run.unread.items())),
        )
        self._code = run.code.items()
