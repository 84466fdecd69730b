"""Which price, or which count, explains a row that is off.

Let row r be over (or under) by x_r, with the counts c_r,k and prices p_k of its classes k. One
class alone explains the row if its price were ``p_k - x_r / c_r,k``. That price is possible if it
is not below zero. Of all possible classes the one is named that makes all rows together most nearly
right::

    k* = argmin over k of  sum over rows i of | x_i - c_i,k * x_r / c_r,k |

A wrong price is wrong in every row that pays it, so what merely happens to be large in the row does
badly in the others. It is a hint where to look, not a proof: two prices can be wrong at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from wcetchar.model.validation import Compared, Explanation


def explain(row: Compared, rows: Sequence[Compared]) -> Explanation | None:
    """What explains ``row`` best; ``None`` if no single class can."""
    counts = [{column.key: column.count for column in one.estimate.columns} for one in rows]
    before = sum((abs(one.excess) for one in rows), start=Fraction(0))
    best: Explanation | None = None
    for column in row.estimate.columns:
        if not column.count:
            continue
        change = row.excess / column.count
        if column.price.high < change:
            continue  # nothing costs less than no time
        rest = [
            one.excess - of.get(column.key, 0) * change
            for one, of in zip(rows, counts, strict=True)
        ]
        after = sum((abs(one) for one in rest), start=Fraction(0))
        if best is not None and (best.after, str(best.key)) <= (after, str(column.key)):
            continue
        best = Explanation(
            key=column.key,
            region=column.region,
            count=column.count,
            price=column.price.high,
            would_be=column.price.high - change,
            count_would_be=(
                column.count - row.excess / column.price.high if column.price.high else None
            ),
            before=before,
            after=after,
            unsafe_after=sum(1 for one in rest if one < 0),
        )
    return best
