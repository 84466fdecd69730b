"""Which way a number of a profile makes a machine cheaper to build, and whether totals follow it.

A machine is *cheaper* with a slower memory, a lower clock, a narrower bus, a smaller cache: with
what makes times dearer (``store.dearer``). Of parameters, more is asked of it the larger they are;
so is of a system the shorter its periods and deadlines. ``rises`` says that the total never falls
from each value to the next cheaper one. Else all values have to be tried: a rising clock, say,
shortens cycles, but with them what of a memory's nanoseconds they hide, and an access can come to
another edge of a divided clock.

It is taken to rise where the price of every access is a sum and a maximum of terms that do, and
nothing else hangs on the number:

* times of accesses to a region, its line refill and load miss penalty: no clock is divided, and no
  write buffer works beside a cache of lines;
* times of core events: no successions are counted, which say what waits for what;
* the core's clock: all times are cycles of it, so that the total is proportional to its period.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.engine.profile_inputs import inputs_of
from wcetchar.model.access import Operation
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile, Unit
from wcetchar.store.dearer import PROFILE_RULES, Rules, smaller_is_dearer
from wcetchar.store.source import Steps

_OPERATIONS: Final = frozenset(operation.value for operation in Operation)
_OF_LINES: Final = ("line refill", "load miss penalty")


def smaller_is_cheaper(steps: Steps | None, rules: Rules = PROFILE_RULES) -> bool:
    """``steps``: to a number that the rules are of; ``None``: a parameter."""
    return steps is not None and smaller_is_dearer(steps, rules)


def rises(steps: Steps, profile: HardwareProfile, characterization: Characterization) -> bool:
    """The total never falls from a value to the next cheaper one."""
    core = profile.core
    if any(region.clock_divider != 1 for region in profile.regions.values()):
        return False
    if steps == ("core", "clock"):
        regions = profile.regions.values()
        in_cycles = all(
            one.quantity.unit is Unit.CYCLES or one.steps == ("core", "clock")
            for one in inputs_of(profile)
        )
        return in_cycles and all(region.clock is None for region in regions)
    if steps[:2] == ("core", "events"):
        return not characterization.successions
    of_region = len(steps) >= 3 and steps[0] == "regions"
    if not of_region or not (steps[2] in _OPERATIONS or steps[2] in _OF_LINES):
        return False
    caches = core.instruction_cache is not None or core.data_cache is not None
    return not (core.write_buffer and caches)


def last_that_holds(count: int, holds: Callable[[int], bool]) -> int | None:
    """The last of the numbers from 0 to ``count - 1`` that holds, by halving, where none does
    behind one that does not. It and the next one were both asked for, and so were both ends.
    ``None``: 0 does not hold."""
    first, all_of_them = holds(0), holds(count - 1)
    if not first:
        return None
    if all_of_them:
        return count - 1
    last, fails = 0, count - 1
    while fails - last > 1:
        middle = (last + fails) // 2
        if holds(middle):
            last = middle
        else:
            fails = middle
    return last


@dataclass(frozen=True)
class EvenValues(Sequence[Fraction]):
    """From the first to the last, none of which is kept."""

    first: Fraction
    last: Fraction
    step: Fraction

    def __len__(self) -> int:
        return math.floor((self.last - self.first) / self.step) + 1

    def __getitem__(self, place: int) -> Fraction:  # type: ignore[override]
        return self.first + place * self.step
