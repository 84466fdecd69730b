"""Virtual-time round-robin over partitions: what they lose at a time slice, how long each waits.

Of partitions with shares S_i, in the order of these, the largest first, one runs for a slice Q at a
time (Nieh, Vaill, Zhong, Virtual-Time Round-Robin: An O(1) Proportional Share Scheduler, USENIX ATC
2001, 3). Each has a virtual finishing time, which a slice moves on by Q / S_i, and a counter of
S_i slices in a cycle of sum S_i; queue virtual time moves on by Q / sum S_i. Behind a partition the
next one of the order runs, if it has more slices left than that one, or else if::

    finishing time of the next - queue virtual time behind its slice < Q / S of the next

else the first one. A cycle gives each partition S_i slices, and then it repeats itself, so one
cycle says all.

Each slice begins with the scheduler, t_s. Where another partition ran before, the working set
comes back from then on (``switching``); where the same one goes on, its progress goes on as well.
So over a run of n slices in a row n * t_s + W(n * (Q - t_s)) are lost. Kaiser (GI/ITG 2008)
simulated this for three virtual machines.

*Delay bound*: the longest time that a partition is without the processor. Behind its slice come g
slices of others, and then the scheduler again, in its own next one; so with the most that g is::

    delay = max g * Q + t_s

which is t_s of one that is alone, too. It grows with Q as losses shrink: the compromise that a time
slice is. Caveat: what holds off the scheduler itself comes on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from wcetchar.engine.switching import lost
from wcetchar.model.switching import Cycle, Partition, Shared


def order_of(shares: Sequence[int]) -> tuple[int, ...]:
    """Which runs in each slice of a cycle, by its place in ``shares``.

    Raises:
        ValueError: there is none, or a share is below 1.
    """
    if not shares or min(shares) < 1:
        raise ValueError(f"shares are whole numbers from 1 on, not {list(shares)}")
    queue = sorted(range(len(shares)), key=lambda place: -shares[place])
    total = sum(shares)
    finishing = [Fraction(1, share) for share in shares]  # in slices
    left = list(shares)
    at = 0
    order = []
    for number in range(1, total + 1):
        running = queue[at]
        order.append(running)
        finishing[running] += Fraction(1, shares[running])
        left[running] -= 1
        following = at + 1
        if following < len(queue):
            behind = queue[following]
            queue_time = Fraction(number + 1, total)
            late = finishing[behind] - queue_time < Fraction(1, shares[behind])
            if not (left[behind] > left[running] or late):
                following = len(queue)
        at = following % len(queue)
    return tuple(order)


def cycle_of(partitions: Sequence[Partition], slice_: Fraction, scheduler: Fraction) -> Cycle:
    """One cycle with slices of ``slice_`` nanoseconds, of which the scheduler takes ``scheduler``.

    Raises:
        ValueError: the scheduler takes all of a slice, or the shares are none.
    """
    if not 0 <= scheduler < slice_:
        raise ValueError(f"a scheduler that takes {scheduler} ns of a slice of {slice_} ns")
    order = order_of([one.share for one in partitions])
    return Cycle(
        slice_,
        order,
        tuple(
            _shared(partition, place, order, slice_, scheduler)
            for place, partition in enumerate(partitions)
        ),
    )


def least_slice(
    partitions: Sequence[Partition],
    scheduler: Fraction,
    limit: Fraction,
    most: Fraction,
    step: Fraction,
    each: bool = False,
) -> Fraction | None:
    """The shortest time slice, of those that are a multiple of ``step``, at which not more than
    ``limit`` of the processor's time is lost, or with ``each`` of any partition's own; ``None``: it
    is longer than ``most``. A longer slice never loses more: of each run of slices W(t) / t and the
    scheduler's share both shrink."""

    def lost_at(slices: int) -> Fraction:
        cycle = cycle_of(partitions, slices * step, scheduler)
        return cycle.largest if each else cycle.loss

    low, high = int(scheduler // step), int(most // step)
    if high <= low or lost_at(high) > limit:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if lost_at(middle) > limit:
            low = middle
        else:
            high = middle
    return high * step


def _shared(
    partition: Partition, place: int, order: Sequence[int], slice_: Fraction, scheduler: Fraction
) -> Shared:
    mine = [number for number, one in enumerate(order) if one == place]
    time = len(mine) * slice_
    taken = len(mine) * scheduler
    if len(mine) == len(order):  # never switched away
        return Shared(partition, time, taken, scheduler)
    behind = Fraction(0)
    gaps = []
    for number, following in zip(mine, [*mine[1:], mine[0] + len(order)], strict=True):
        gaps.append(following - number - 1)
    for run in _runs(gaps):
        if partition.working_set is not None:
            useful = run * (slice_ - scheduler)
            behind += lost(partition.working_set, partition.model, useful)
    return Shared(partition, time, taken + behind, max(gaps) * slice_ + scheduler)


def _runs(gaps: Sequence[int]) -> list[int]:
    """Lengths of the runs of slices in a row, of gaps behind each, round the cycle."""
    last = max(number for number, gap in enumerate(gaps) if gap)
    runs, length = [], 0
    for gap in (*gaps[last + 1 :], *gaps[: last + 1]):
        length += 1
        if gap:
            runs.append(length)
            length = 0
    return runs
