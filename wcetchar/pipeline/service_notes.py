"""Notes of estimates, each once, with those that it is of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wcetchar.errors import few
from wcetchar.model.estimate import Estimate


def owners(estimates: Iterable[Estimate]) -> dict[str, list[str]]:
    """Services by note, of what goes on with them as well; each once, as first met."""
    found: dict[str, dict[str, None]] = {}
    for one in estimates:
        chains = (one.interrupts_chain, one.preemption_chain)
        gaps = (gap for chain in chains if chain is not None for gap in chain.gaps)
        for note in (*one.notes, *gaps):
            found.setdefault(note, {})[one.service] = None
    return {note: list(of) for note, of in found.items()}


def told(note: str, of: Sequence[str], every: int) -> str:
    """The note, with a few of its services where it is not of all, which are so many."""
    return note if len(of) == every else f"{few(of)}: {note}"
