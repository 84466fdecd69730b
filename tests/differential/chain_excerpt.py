"""Parts of a run as steps that the writers of every format take."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from chain_listing import Listing
from chain_stream import Run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "readers"))

from trace_writers import READ, WRITE, Data, Step

__all__ = ["READ", "WRITE", "Data", "Step", "marked", "steps"]


def steps(listing: Listing, run: Run, parts: Iterable[Sequence[int]]) -> list[Step]:
    """The instructions of ``parts`` (indices into the run), one part behind the other, with the
    exceptions that fall between two of them."""
    enters: dict[int, int] = {}
    leaves: dict[int, int] = {}
    for at, entered, number in run.exceptions:
        if entered:
            enters[at] = number
        else:
            leaves[at - 1] = number
    found = []
    for part in parts:
        for index in part:
            line = listing.lines[run.pcs[index]]
            data = tuple(
                Data(WRITE if write else READ, address, size, _device(address))
                for write, size, address in run.data.get(index, ())
            )
            text = f"{line.mnemonic} {line.operands}".strip()
            entered, left = enters.get(index, 0), leaves.get(index, 0)
            found.append(Step(line.address, line.code, text, data, entered, left))
    return found


def _device(address: int) -> str:
    return "nvic_sysregs" if address >> 28 == 0xE else "RAM"


def marked(listing: Listing, run: Run, services: dict[str, object]) -> dict[str, list[range]]:
    """Per service the parts from its first parameter's mark, or its begin mark, to its end mark."""
    marks = services["marks"]
    assert isinstance(marks, dict)
    names = {s["mark"]: name for name, s in services["services"].items()}  # type: ignore[attr-defined]
    base, size = listing.symbols[marks["symbol"]]
    channels = marks["channels"]
    start: int | None = None
    found: dict[str, list[range]] = {}
    for index, accesses in run.data.items():
        for write, _, address in accesses:
            if write and base <= address < base + size:
                channel, value = divmod(address - base, marks["values"])
                if start is None:
                    start = index
                if channel == channels["end"]:
                    found.setdefault(names[value], []).append(range(start, index + 1))
                    start = None
    return found
