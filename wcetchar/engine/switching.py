"""What switching costs: the switches themselves, and working sets that come back into caches.

*Load.* A switch takes t, and there are n of them in a second: n * t of each second are lost
(Muller, Modeling and Analysis: Measuring, 3.2.1 and 3.2.11).

*Loss behind a switch.* With r(t) the progress of what was switched to at 0, r_sust the sustained
one and f(t) = r(t) / r_sust (Kaiser, Empirische Ermittlung Cache-bedingter Umschaltverluste,
GI/ITG 2008)::

    W(t) = t * r_sust - integral from 0 to t of r(x) dx          absolute, as work
    O(t) = 1 - 1/t * integral from 0 to t of f(x) dx             relative

and, of a working set that begins with the progress f_0 and is back after t_sust::

    flood         f(t) = f_0 before t_sust, 1 from then on       never less: hard real time
    exponential   f(t) = 1 + (f_0 - 1) * exp(-k * t)             on average: soft real time

Work is told as the time that it takes at sustained progress, W(t) / r_sust in nanoseconds::

    flood         (1 - f_0) * min(t, t_sust)
    exponential   (1 - f_0) / k * (1 - exp(-k * t))

Neither is ever more than (1 - f_0) / k, and with k = 1 / t_sust that is the same for both.

Exact for ``flood``; of ``exponential`` a fraction that is never below and by less than 1e-12 of
itself above. Soundness: that f_0 is the least progress, and t_sust no shorter than it takes, are
the profile's promises; what was measured on one machine says nothing of another.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from wcetchar.model.switching import SECOND, Load, Loss, LossModel, WorkingSet

_ABOVE: Final = 1 + Fraction(1, 10**12)
"""More than what ``exp`` is off."""


def progress(working_set: WorkingSet, model: LossModel, time: Fraction) -> Fraction:
    """f(t), ``time`` nanoseconds behind a switch; of ``exponential`` never above, as what is lost
    is never below."""
    if model is LossModel.FLOOD:
        return working_set.least if time < working_set.settles else Fraction(1)
    left = Fraction(math.exp(-float(time / _constant(working_set)))) * _ABOVE
    return 1 - (1 - working_set.least) * min(Fraction(1), left)


def loss_at(working_set: WorkingSet, model: LossModel, time: Fraction) -> Loss:
    """W, O and f at ``time`` nanoseconds behind a switch, more than 0."""
    return Loss(
        working_set,
        model,
        time,
        progress(working_set, model, time),
        lost(working_set, model, time),
        relative_loss(working_set, model, time),
    )


def lost(working_set: WorkingSet, model: LossModel, time: Fraction) -> Fraction:
    """W(t) / r_sust in nanoseconds, for ``time`` nanoseconds from the switch on.

    Raises:
        ValueError: the time is negative.
    """
    if time < 0:
        raise ValueError(f"a time behind a switch, not {time}")
    missing = 1 - working_set.least
    if model is LossModel.FLOOD:
        return missing * min(time, working_set.settles)
    constant = _constant(working_set)
    gone = Fraction(-math.expm1(-float(time / constant)))
    return missing * min(time, min(Fraction(1), gone * _ABOVE) * constant)


def relative_loss(working_set: WorkingSet, model: LossModel, time: Fraction) -> Fraction:
    """O(t) over the first ``time`` nanoseconds, more than 0."""
    return lost(working_set, model, time) / time


def load(
    rate: Fraction,
    switch: Fraction,
    working_set: WorkingSet | None = None,
    model: LossModel = LossModel.FLOOD,
) -> Load:
    """Of ``rate`` switches in a second, each ``switch`` nanoseconds long; what is switched to has
    ``working_set``. As much time lies between any two as between all others: W bends down, so with
    the same number of switches at other times no more is lost.

    Raises:
        ValueError: the rate is not above 0, or the switch takes less than nothing.
    """
    if rate <= 0 or switch < 0:
        raise ValueError(f"{rate} switches in a second, each of {switch} ns")
    between = max(Fraction(0), SECOND / rate - switch)
    behind = Fraction(0) if working_set is None else lost(working_set, model, between)
    return Load(rate, switch, rate * switch, rate * behind)


def _constant(working_set: WorkingSet) -> Fraction:
    return working_set.settles if working_set.constant is None else working_set.constant
