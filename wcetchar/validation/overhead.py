"""What measuring itself takes, from measurements of nothing.

A measurement between two marks holds, beside the call, the instructions of the marks and whatever
leads to the call. The same is measured around a function that does nothing. Of these times the
*least* is subtracted from every other one::

    overhead = max(0, min over i of (empty_i - estimate of the empty function))

Soundness: subtracting too much would hide an estimate that is too low. Each measurement holds an
overhead of its own, at least the least that was ever seen if the measured program and state of the
caches are the same; and what the empty function itself takes is taken at the upper end of its
estimate, so that the rest is never more than the overhead. The figures that remain are therefore
never below the truth as long as the empty function was measured often enough to show its best case,
and its own estimate is not too low: that is of the profile that is held against measurements. A
function that does nothing has few prices to be wrong in; marks alone have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from wcetchar.errors import InputError
from wcetchar.model.validation import Overhead


def overhead_of(service: str, measured: Iterable[Fraction], function: Fraction) -> Overhead:
    """The overhead that measurements of ``service`` show, all in nanoseconds.

    Raises:
        InputError: there is no such measurement.
    """
    times = sorted(measured)
    if not times:
        raise InputError(
            f"there is no measurement of {service}, which is to show what measuring takes",
            expected="at least one line of that service",
        )
    return Overhead(
        service, len(times), times[0], times[-1], function, max(Fraction(0), times[0] - function)
    )
