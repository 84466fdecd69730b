"""What the manuals of some cores say of them, held against a profile that names the core.

Sources are Technical Reference Manuals. Of Cortex-M3 (ARM DDI 0337, revision I) and Cortex-M4 (ARM
DDI 0439B): 3.3.1, P, the refill, takes 1 to 3 cycles; 3.9.1, the first instruction of an interrupt
comes 12 cycles later where no memory waits, of which 8 writes and a read of the vector are
accesses, which a profile prices beside. Of ARM7TDMI (ARM DDI 0210C): 6.2, a branch takes 2S + 1N,
one of which is its own fetch. The manuals of RISC-V give no times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from wcetchar.engine.plausible_times import nanoseconds, spelled
from wcetchar.engine.time import periods
from wcetchar.model.access import EventKind
from wcetchar.model.hardware import Core
from wcetchar.model.plausibility import Finding, Severity


class _Least(NamedTuple):
    """Cycles that events of a core take at least. ``discards``: fetches that they throw away, of a
    cycle at least each, are among them."""

    core: re.Pattern[str]
    kinds: tuple[EventKind, ...]
    cycles: int
    discards: bool
    says: str


_REFILL: Final = (EventKind.PIPELINE_REFILL,)
_ENTRIES: Final = (EventKind.EXCEPTION_ENTRY, EventKind.SUPERVISOR_CALL_ENTRY)
# Numbers that go on are other cores: Cortex-M33, Cortex-M35P.
_M3_AND_M4: Final = re.compile(r"cortex.?m[34](?!\d)", re.IGNORECASE)
_KNOWN: Final = (
    _Least(_M3_AND_M4, _REFILL, 1, False, "its manual has 1 to 3 cycles (3.3.1, P)"),
    _Least(
        _M3_AND_M4,
        _ENTRIES,
        3,
        False,
        "its manual has 12 cycles where no memory waits (3.9.1), 9 of which are accesses",
    ),
    _Least(
        re.compile("arm7tdmi", re.IGNORECASE),
        _REFILL,
        2,
        True,
        "its manual has two fetches in vain (6.2): `discarded fetches: {pipeline refill: 2}`",
    ),
)


def of_known_core(core: Core) -> Iterator[Finding]:
    """Events that take less than the manual of the core says."""
    cycle = periods(core.clock).nominal
    for known in _KNOWN:
        named = known.core.search(core.name)
        if named is None:
            continue
        for kind in known.kinds:
            if kind not in core.events:
                continue
            quantity = core.events[kind]
            taken = nanoseconds(quantity.high, quantity.unit, cycle)
            in_vain = core.discarded_fetches.get(kind, 0) if known.discards else 0
            least = cycle * known.cycles
            if taken + cycle * in_vain < least:
                yield Finding(
                    ("core", "events", kind.value),
                    Severity.TOO_LOW,
                    f"{spelled(taken)} beside its accesses, less than {spelled(least)}, which a "
                    f"{named.group()} takes",
                    known.says,
                )
