"""Systems with each number of their hardware, and of themselves, a share dearer, one at a time.

As :mod:`wcetchar.pipeline.each_number` for services: each value is read as a file that says it, and
the system is analysed as ``wcetchar system check`` does. What is refused stands in the result with
the reason: a period that is no whole number of that of the interrupt which releases the task, say.
"""

from __future__ import annotations

from fractions import Fraction

from wcetchar.errors import InputError
from wcetchar.model.each_number import NotPriced, SystemEach, SystemEffect
from wcetchar.pipeline.each_number import changed, left_out, refused
from wcetchar.pipeline.sweep_axes import Advance
from wcetchar.pipeline.system_sweep import OpenedSystem, Request


def run(request: Request, share: Fraction, advance: Advance | None = None) -> SystemEach:
    """All responses with each number dearer by ``share``; ``request``: without axes.

    Raises:
        InputError: a file or a name cannot be used, with its place.
    """
    opened = OpenedSystem(request)
    before = opened.point(())
    dearer = opened.dearer(share)
    effects: list[SystemEffect] = []
    not_priced: list[NotPriced] = []
    for done, one in enumerate(dearer):
        if one.after is None:
            not_priced.append(left_out(one))
        else:
            try:
                point = opened.point_with({one.steps: one.after})
            except InputError as error:
                not_priced.append(refused(one, error))
            else:
                effects.append(SystemEffect(changed(one), point))
        if advance is not None:
            advance(done + 1, len(dearer))
    effects.sort(key=_tightest_first)
    return SystemEach(
        *opened.names, share, before, tuple(effects), tuple(not_priced), opened.notes()
    )


def _tightest_first(one: SystemEffect) -> tuple[bool, Fraction, str]:
    slack = one.point.tightest.slack
    return slack is not None, slack or Fraction(0), one.number.name
