"""Time slices of virtual-time round-robin over a file's partitions: losses against delay."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar import store
from wcetchar.engine.round_robin import cycle_of, least_slice
from wcetchar.errors import InputError, Location, UsageError
from wcetchar.model.switching import Cycle, Partition
from wcetchar.pipeline.decades import DRAWN, LISTED, between
from wcetchar.pipeline.options import read_option

FIRST: Final = "50 us"
LAST: Final = "100 ms"
STEP: Final = Fraction(1000)
"""Of the slices among which the shortest is looked for, in nanoseconds."""


@dataclass(frozen=True)
class Request:
    """``slices``, ``first``, ``last``: times as text; without slices, some from first to last.
    ``limit``: share of the time that may be lost, of all together and of each partition's own.
    ``picture``: as many slices as a line of a picture needs, beside."""

    file: str
    slices: tuple[str, ...] = ()
    first: str = FIRST
    last: str = LAST
    limit: Fraction | None = None
    picture: bool = False


@dataclass(frozen=True)
class Result:
    """``least``: with the shortest slice that keeps the limit for all together; ``least_each``: for
    each partition's own time; ``None``: there is none, or no limit was given. ``most``: where the
    search ended, in nanoseconds."""

    scheduler: Fraction
    partitions: tuple[Partition, ...]
    cycles: tuple[Cycle, ...]
    picture: tuple[Cycle, ...]
    least: Cycle | None
    least_each: Cycle | None
    most: Fraction


def run(request: Request) -> Result:
    """Each slice, in the order of their lengths.

    Raises:
        InputError: as of ``store.load_partitions``; a slice is no time, or the scheduler takes all
            of it.
        UsageError: the range is empty.
    """
    found = store.load_partitions(request.file)
    first = read_option("--from", store.parse_time, request.first)
    last = read_option("--to", store.parse_time, request.last)
    if not 0 < first < last:
        raise UsageError(
            "--from and --to span no time slices", expected="a time above 0, and a longer one"
        )
    slices = {read_option("--slice", store.parse_time, text) for text in request.slices}
    if not slices:
        slices = set(between(first, last, LISTED))
        slices = {one for one in slices if one > found.scheduler}
    for one in slices:
        if one <= found.scheduler:
            raise InputError(
                f"the scheduler takes all of a time slice of {float(one):g} ns",
                where=Location("--slice"),
                expected=f"more than the scheduler's {float(found.scheduler):g} ns",
            )
    drawn = [one for one in between(first, last, DRAWN) if one > found.scheduler]

    def shortest(each: bool) -> Cycle | None:
        if request.limit is None:
            return None
        asked = request.limit, last, STEP, each
        found_slice = least_slice(found.partitions, found.scheduler, *asked)
        if found_slice is None:
            return None
        return cycle_of(found.partitions, found_slice, found.scheduler)

    return Result(
        found.scheduler,
        found.partitions,
        tuple(cycle_of(found.partitions, one, found.scheduler) for one in sorted(slices)),
        tuple(cycle_of(found.partitions, one, found.scheduler) for one in drawn)
        if request.picture
        else (),
        shortest(each=False),
        shortest(each=True),
        last,
    )
