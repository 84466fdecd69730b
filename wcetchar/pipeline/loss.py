"""What is lost behind a switch, over the time since: working sets by both models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar import store
from wcetchar.engine.switching import loss_at
from wcetchar.errors import InputError, Location
from wcetchar.model.switching import Loss, LossModel, WorkingSet
from wcetchar.pipeline.decades import DRAWN, LISTED, between
from wcetchar.pipeline.options import read_option


@dataclass(frozen=True)
class Request:
    """``working_sets``: ``FILE:NAME``, one at least. ``times``: since the switch, as text of a
    time; none: some around those in which the working sets come back. ``picture``: as many as a
    line of a picture needs, beside."""

    working_sets: tuple[str, ...]
    times: tuple[str, ...] = ()
    picture: bool = False


@dataclass(frozen=True)
class Result:
    """Working set by working set, model by model, in the order of time."""

    losses: tuple[Loss, ...]
    picture: tuple[Loss, ...]


def run(request: Request) -> Result:
    """Raises:
    InputError: there is no such working set; a time is none, or is not above 0.
    """
    texts = dict.fromkeys(request.working_sets)
    found = [read_option("--working-set", store.load_working_set, text) for text in texts]
    times = {_time(text) for text in request.times}
    ends = _ends(found)
    return Result(
        _over(found, sorted(times) or between(*ends, LISTED)),
        _over(found, _drawn(found, ends)) if request.picture else (),
    )


def _time(text: str) -> Fraction:
    time = read_option("--at", store.parse_time, text)
    if time <= 0:
        raise InputError(
            f"{text} is no time behind a switch",
            where=Location("--at"),
            expected="a time above 0, such as 10us",
        )
    return time


def _ends(found: Sequence[WorkingSet]) -> tuple[Fraction, Fraction]:
    """From a power of ten, a tenth at most of the shortest that one takes to come back, to one of
    ten times the longest at least."""
    times = [one.settles if one.constant is None else one.constant for one in found]
    times += [one.settles for one in found]
    return _power(math.floor, min(times) / 10), _power(math.ceil, max(times) * 10)


def _drawn(found: Sequence[WorkingSet], ends: tuple[Fraction, Fraction]) -> list[Fraction]:
    """With those where a line of `flood` bends."""
    return sorted({*between(*ends, DRAWN), *(one.settles for one in found)})


def _power(rounded: Callable[[float], int], time: Fraction) -> Fraction:
    return Fraction(10) ** rounded(math.log10(time))


def _over(found: Sequence[WorkingSet], times: Sequence[Fraction]) -> tuple[Loss, ...]:
    return tuple(
        loss_at(one, model, time) for one in found for model in LossModel for time in times
    )
