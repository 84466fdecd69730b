"""Estimate against measurement: who is safe, and by how much.

For each service and each set of parameter values the *largest* measured time m stands against the
upper end e of the estimate::

    overestimation = (e - m) / m        unsafe: e < m

Measured cycles become time by the slowest clock that the profile allows: the slower the clock, the
longer a measured number of cycles took, while the estimate's upper end is one for every clock of
the profile. So a row that is safe here is safe. Input: estimates and measurements in nanoseconds,
exact. Output: fractions, exact.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from fractions import Fraction

from wcetchar.model.validation import Compared, Comparison, Spread


def compare(rows: Sequence[Compared]) -> Comparison:
    """Count what is unsafe and how much the rest is over. There is at least one row."""
    known = sorted(row.overestimation for row in rows if row.overestimation is not None)
    unsafe = tuple(row for row in rows if row.unsafe)
    return Comparison(
        rows=tuple(rows),
        measurements=sum(row.count for row in rows),
        unsafe=unsafe,
        spread=Spread(known[0], statistics.median(known), known[-1]) if known else None,
        worst=min(unsafe, key=_order) if unsafe else max(rows, key=_order),
    )


def _order(row: Compared) -> tuple[Fraction, Fraction]:
    over = row.overestimation
    return (over if over is not None else row.excess, row.excess)
