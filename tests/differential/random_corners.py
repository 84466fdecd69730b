"""Price vectors that no hardware has: in each, one thing alone costs, or hardly anything else.

A state of the kernel that is dearest on one profile need not be on another, where fetches cost
more and transfers of control less. Profiles that price all instructions alike, all fetches alike,
all accesses to data alike, and transfers at no more than ``DEAR`` instructions, or at one more
fetch, are sums of these with weights that are not negative. A published figure that is at least as
dear as a call in each corner is so on every such profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from random_windows import Vector

from wcetchar.engine import Price, PriceVector
from wcetchar.engine.pricing import keys_of
from wcetchar.model.access import AccessClass, CoreEvent, EventKind, Key, Operation
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import Core, HardwareProfile, Quantity, Unit
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import SectionMap

NOTHING = (
    HardwareProfile("corner", "", Core("corner", Quantity.exactly(1, Unit.HERTZ), {}), {}),
    SectionMap("corner", {}),
)


def _instructions(key: Key) -> int:
    return int(isinstance(key, CoreEvent) and key.kind.is_issue)


def _fetches(key: Key) -> int:
    return int(isinstance(key, AccessClass) and key.operation is Operation.FETCH)


def _data(key: Key) -> int:
    """Of words: a wider access is two."""
    if not isinstance(key, AccessClass) or key.operation is Operation.FETCH:
        return 0
    return max(1, key.width // 32)


def _is_transfer(key: Key) -> bool:
    return isinstance(key, CoreEvent) and key.kind is EventKind.PIPELINE_REFILL


DEAR = 4
"""Instructions that a transfer of control costs beside the one that makes it: a pipeline that is
longer than those of all profiles that ship."""


def _transfers(key: Key) -> int:
    return _instructions(key) + DEAR * _is_transfer(key)


def _discarded(key: Key) -> int:
    return _fetches(key) + _is_transfer(key)


LISTS = ("kernel.data", "kernel.objects")
"""Where the heads of the kernel's lists lie, and their items: whose neighbour an item is decides
which of the two is accessed."""
JOINT = "kernel.lists"


def _of_section(section: str) -> Callable[[Key], int]:
    return lambda key: _data(key) if key.section in (section, JOINT) else 0


CORNERS: dict[str, Callable[[Key], int]] = {
    "only instructions": _instructions,
    "only fetches": _fetches,
    "only data accesses": _data,
    "dear transfers": _transfers,
    "fetches in vain": _discarded,
    **{f"only {section}": _of_section(section) for section in LISTS},
}


def prices(published: Characterization, corner: str) -> PriceVector:
    """What every class of ``published`` costs in a corner."""
    price = CORNERS[corner]
    keys: Iterable[Key] = (key for service in published.services for key in keys_of(service))
    at = {key: Fraction(price(key)) for key in keys}
    return PriceVector(
        *NOTHING, {key: Price("", Interval(one, one, one)) for key, one in at.items()}
    )


def of_run(corner: str) -> Callable[[Vector], Fraction]:
    """Prices of whatever a run counts."""
    price = CORNERS[corner]
    return lambda vector: Fraction(sum(price(key) * n for key, n in vector.items()))
