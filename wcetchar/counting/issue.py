"""One issue event for each instruction, and a refill of the pipeline where one is behind it.

A conditional branch that did not fall through counts as taken, a predicated load, store or transfer
that had no effect as skipped. An event carries the section that the instruction may have fetched
from in vain: its own, and of a branch that fell through its target's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import FLOW, KIND, Codes, Columns, event_code
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow

Flags = npt.NDArray[np.bool_]


def issue_events(
    columns: Columns,
    index: Codes,
    taken: Flags,
    accessed: Flags,
    section: Codes,
    target_section: Codes,
) -> Iterator[tuple[Codes, Codes]]:
    """Packed classes, each with the instruction (0..n-1) that it is counted for.

    Args:
        index: table index of each instruction, in the order of execution.
        taken: it sent control elsewhere than to the next one; of the last one, too.
        accessed: it made a data access; true where that is not known.
        section: of the instruction.
        target_section: by table index: that of a direct branch's target, else its own.
    """
    issue = columns.issue[index].copy()
    conditional = columns.conditional[index]
    jump = columns.flow[index] == FLOW[Flow.JUMP]
    transfers = columns.transfers_control[index]
    issue[jump & conditional & taken] = KIND[EventKind.BRANCH_TAKEN]
    issue[jump & conditional & ~taken] = KIND[EventKind.BRANCH_UNTAKEN]
    promised = columns.reads[index] + columns.writes[index]
    no_effect = conditional & ~accessed & (promised > 0)
    no_effect |= conditional & transfers & ~jump & ~taken
    issue[no_effect] = KIND[EventKind.SKIPPED]
    # A branch that falls through may have had its target fetched.
    fetched = np.where(jump & conditional & ~taken, target_section[index], section)
    yield event_code(fetched, issue), np.arange(len(index))
    refill = np.flatnonzero(taken | is_barrier(columns, index))
    yield event_code(section[refill], KIND[EventKind.PIPELINE_REFILL]), refill


def is_barrier(columns: Columns, index: Codes) -> Flags:
    """What follows it is fetched anew."""
    found: Flags = columns.issue[index] == KIND[EventKind.BARRIER]
    return found
