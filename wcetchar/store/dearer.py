"""Which way each number of a hardware profile, or of a system file, is the dearer one.

A number is dearer where it makes an access, an event or a job slower, or asks for them more often:

========================  ======================================================================
what it is                dearer by a share s
========================  ======================================================================
a time, a rate            times 1 + s
a clock, a period,        times 1 - s: what is faster, comes less often or saves time with a
what hides time           larger number
a width, a size, a count  whole by nature, and mostly a power of two: twice or half as much,
                          whatever the share; with a share of 0 it stays: nothing changes at all
========================  ======================================================================

A tolerance and an interval are scaled with their number. Which way is the dearer one is said of the
number, not of the results: where an access comes to another edge of a divided clock, a total may
fall all the same. Rules go by the keys of the files; a number that none of them is of is left out,
and said to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Final

from wcetchar.store.quantity import decimal_text, scaled_text
from wcetchar.store.source import PlainInt, Steps


@dataclass(frozen=True)
class Dearer:
    """``before``: as the file says it. ``after``: as a file would say it; ``None``: it is left out,
    and ``why`` says why. ``change``: such as ``+10 %``, ``-10 %``, ``x 2``, ``/ 2``."""

    steps: Steps
    before: str
    after: str | None
    change: str = ""
    why: str = ""


class Rule(Enum):
    """What makes a number dearer."""

    MORE = "a share more"
    LESS = "a share less"
    TWICE = "twice as much"
    HALF = "half as much"
    TEXT = "it is no number, whatever it looks like"
    PLACE = "it says where a memory lies, and not what that costs"
    ORDER = "it is a place in an order, and no amount"
    BEGIN = "the analysis takes all releases together, whenever the first one is"


Rules = Mapping[tuple[str, ...], Rule]
"""By the first keys of a way to a number; ``*``: any key, or any place in a list."""
_ANY: Final = "*"

PROFILE_RULES: Final[Rules] = {
    ("schema",): Rule.TEXT,
    ("name",): Rule.TEXT,
    ("description",): Rule.TEXT,
    ("default map",): Rule.TEXT,
    ("core", "name"): Rule.TEXT,
    ("core", "clock"): Rule.LESS,
    ("core", "events", _ANY): Rule.MORE,
    ("core", "other events"): Rule.MORE,
    ("core", "overlap", _ANY): Rule.LESS,
    ("core", "discarded fetches", _ANY): Rule.TWICE,
    ("core", "least width", _ANY): Rule.TWICE,
    ("core", "data width"): Rule.HALF,
    ("core", "write buffer"): Rule.HALF,
    ("core", "instruction cache", "line"): Rule.HALF,
    ("core", "instruction cache", "size"): Rule.HALF,
    ("core", "instruction cache", "ways"): Rule.HALF,
    ("core", "instruction cache", "replacement"): Rule.TEXT,
    ("core", "instruction cache", "hides accesses"): Rule.HALF,
    ("core", "instruction cache", "in vain saves"): Rule.LESS,
    ("core", "instruction cache", "fetches ahead", "behind"): Rule.TWICE,
    ("core", "instruction cache", "fetches ahead", "speculative"): Rule.TWICE,
    ("core", "data cache", "line"): Rule.HALF,
    ("core", "data cache", "size"): Rule.HALF,
    ("core", "data cache", "ways"): Rule.HALF,
    ("core", "data cache", "replacement"): Rule.TEXT,
    ("core", "data cache", "load behind store"): Rule.MORE,
    ("regions", _ANY, "kind"): Rule.TEXT,
    ("regions", _ANY, "note"): Rule.TEXT,
    ("regions", _ANY, "bus width"): Rule.HALF,
    ("regions", _ANY, "clock"): Rule.LESS,
    ("regions", _ANY, "clock divider"): Rule.TWICE,
    ("regions", _ANY, "refresh", "takes"): Rule.MORE,
    ("regions", _ANY, "refresh", "every"): Rule.LESS,
    ("regions", _ANY, "arbitration", "takes"): Rule.MORE,
    ("regions", _ANY, "arbitration", "every"): Rule.LESS,
    ("regions", _ANY, "base"): Rule.PLACE,
    ("regions", _ANY, "size"): Rule.PLACE,
    ("regions", _ANY, "fetch"): Rule.MORE,
    ("regions", _ANY, "read"): Rule.MORE,
    ("regions", _ANY, "write"): Rule.MORE,
    ("regions", _ANY, "access"): Rule.MORE,
    ("regions", _ANY, "line refill"): Rule.MORE,
    ("regions", _ANY, "load miss penalty"): Rule.MORE,
}
_CALL: Final[Rules] = {
    ("service",): Rule.TEXT,
    ("set", _ANY): Rule.TWICE,
    ("times",): Rule.TWICE,
    ("gives way",): Rule.TEXT,
}
_ACTIVITY: Final[Rules] = {
    ("priority",): Rule.ORDER,
    ("period",): Rule.LESS,
    ("rate",): Rule.MORE,
    ("deadline",): Rule.LESS,
    ("offset",): Rule.BEGIN,
    ("jitter",): Rule.MORE,
    ("wcet",): Rule.MORE,
    ("slowdown",): Rule.MORE,
    ("working set",): Rule.TEXT,
    ("code", "characterization"): Rule.TEXT,
    ("code", "service"): Rule.TEXT,
    ("code", "set", _ANY): Rule.TWICE,
    **{("calls", _ANY, *keys): rule for keys, rule in _CALL.items()},
}
_TASK: Final[Rules] = {
    **_ACTIVITY,
    ("released by",): Rule.TEXT,
    ("uses", _ANY, "resource"): Rule.TEXT,
    ("uses", _ANY, "within"): Rule.TEXT,
    ("uses", _ANY, "wcet"): Rule.MORE,
    ("uses", _ANY, "times"): Rule.TWICE,
    **{("uses", _ANY, "calls", _ANY, *keys): rule for keys, rule in _CALL.items()},
    ("holds off", "preemption"): Rule.MORE,
    ("holds off", "interrupts"): Rule.MORE,
    ("holds off", "all interrupts"): Rule.MORE,
    ("suspended", "time"): Rule.MORE,
    ("suspended", "times"): Rule.TWICE,
}
SYSTEM_RULES: Final[Rules] = {
    ("schema",): Rule.TEXT,
    ("name",): Rule.TEXT,
    ("kernel", "characterization"): Rule.TEXT,
    ("kernel", "profile"): Rule.TEXT,
    ("kernel", "map"): Rule.TEXT,
    ("kernel", "set", _ANY): Rule.TWICE,
    ("kernel", "context switch"): Rule.MORE,
    ("kernel", "slowdown"): Rule.MORE,
    **{("kernel", "deferred", _ANY, *keys): rule for keys, rule in _CALL.items()},
    ("kernel", "tick"): Rule.TEXT,
    ("kernel", "inheritance"): Rule.TEXT,
    ("kernel", "time slice"): Rule.LESS,
    **{("tasks", _ANY, *keys): rule for keys, rule in _TASK.items()},
    **{("interrupts", _ANY, *keys): rule for keys, rule in _ACTIVITY.items()},
}


def of_profile(numbers: Iterable[tuple[Steps, object]], share: Fraction) -> list[Dearer]:
    """All numbers among ``numbers``, in their order. ``share``: from 0 to below 1.

    Raises:
        ValueError: the share is not, or has no finite decimal form.
    """
    return list(_dearer(numbers, PROFILE_RULES, share))


def of_system(numbers: Iterable[tuple[Steps, object]], share: Fraction) -> list[Dearer]:
    """As of :func:`of_profile`."""
    return list(_dearer(numbers, SYSTEM_RULES, share))


def rule_of(steps: Steps, rules: Rules) -> Rule | None:
    """``None``: none is of such a number."""
    for keys, rule in rules.items():
        if len(keys) <= len(steps) and all(
            key in (_ANY, step) for key, step in zip(keys, steps, strict=False)
        ):
            return rule
    return None


def smaller_is_dearer(steps: Steps, rules: Rules) -> bool:
    """``False``: the larger one is, or nothing says which."""
    return rule_of(steps, rules) in (Rule.LESS, Rule.HALF)


def _dearer(
    numbers: Iterable[tuple[Steps, object]], rules: Rules, share: Fraction
) -> Iterator[Dearer]:
    if not 0 <= share < 1:
        raise ValueError(f"a number cannot be {share} less")
    for steps, value in numbers:
        rule = rule_of(steps, rules)
        if rule is Rule.TEXT:
            continue
        before = value.text if isinstance(value, PlainInt) else str(value)
        if rule is None:
            yield Dearer(steps, before, None, why="nothing says which way it is the dearer one")
        elif rule in (Rule.PLACE, Rule.ORDER, Rule.BEGIN):
            yield Dearer(steps, before, None, why=rule.value)
        elif isinstance(value, int) and value < 0:
            yield Dearer(steps, before, None, why="it is negative: less may be the dearer way")
        else:
            yield _changed(steps, before, value, rule, share)


def _changed(steps: Steps, before: str, value: object, rule: Rule, share: Fraction) -> Dearer:
    if rule in (Rule.MORE, Rule.LESS):
        sign = "+" if rule is Rule.MORE else "-"
        factor = 1 + share if rule is Rule.MORE else 1 - share
        after = scaled_text(before, factor)
        return Dearer(steps, before, after, f"{sign}{decimal_text(100 * share)} %")
    change = "x 2" if rule is Rule.TWICE else "/ 2"
    if not share:
        return Dearer(steps, before, before, "none")
    if isinstance(value, int):
        return Dearer(steps, before, str(value * 2 if rule is Rule.TWICE else value // 2), change)
    factor = Fraction(2) if rule is Rule.TWICE else Fraction(1, 2)
    return Dearer(steps, before, scaled_text(before, factor), change)
