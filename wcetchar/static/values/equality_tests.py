"""How often a loop goes on whose test compares two values for equality.

With x_j = x_0 + j * step what is compared in iteration j = 0, 1, ... and b what it is compared
with, which the loop leaves alone, the number of j in a row with x_j != b is

    ((b - x_0) mod 2^32) / step, where the step divides it

Where what is compared is narrower, so that two numbers are the same if their low w bits are, all of
it is modulo 2^w: with step = 2^k * odd, the test fails for the first time at

    j = ((b - x_0) / 2^k) * odd^-1  (mod 2^(w - k)),   where 2^k divides b - x_0

and at the latest at j = 2^(w - k) - 1, since an odd number has an inverse there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wcetchar.model.term import Operator, Relation
from wcetchar.static.values import interval as sets
from wcetchar.static.values.count import Count
from wcetchar.static.values.counted import (
    NARROW,
    Counted,
    Distance,
    Parameters,
    Test,
    numbers_or_formulas,
)
from wcetchar.static.values.form import Form, Range, combined
from wcetchar.static.values.induction import Induction, modulo, negative
from wcetchar.static.values.state import State


def counted_by_distance(loop: Induction, parameters: Parameters, test: Test) -> Counted | None:
    """Until two are equal; ``None``: that is not known."""
    if test.relation is Relation.EQUAL:
        steps = _difference_steps(loop, test)
        if steps is not None and 0 not in steps:
            once = [Count(1)] * len(loop.entries)
            return Counted(once, once, "goes on while two are equal, one varies")
        return None
    if test.relation is not Relation.NOT_EQUAL:
        return None
    steps = _difference_steps(loop, test)
    difference = combined(((test.right, 1), (test.left, -1)))
    if steps is None or len(steps) != 1 or difference is None:
        return None
    step = -next(iter(steps))  # of right - left, which is to become 0
    if step == 0:
        return None
    numeric: list[Count] = []
    symbolic: list[Count | None] = []
    way: Distance | None = None
    for state in loop.entries:
        first = loop.at_entry(difference, state)
        if first is None:
            return None
        if step > 0:
            first = combined(((first, -1),))
            assert first is not None
        found = state.range_of_form(first)
        if found.stack or not _divides(abs(step), first, found.interval):
            return None
        most = found.interval.natural[1]
        way = Distance(first, 0, abs(step), None)
        numeric.append(Count(most // abs(step)))
        exact = parameters.at_least(state, first)
        symbolic.append(
            None if exact is None or exact[2] < 0 else Count(exact[0], exact[1], abs(step))
        )
    found_ones = numbers_or_formulas(numeric, symbolic, f"goes on by {abs(step)} until it is equal")
    return found_ones if len(loop.entries) != 1 else replace(found_ones, distance=way)


def counted_by_residue(
    loop: Induction, parameters: Parameters, test: Test, behind: Sequence[State], width: int
) -> Counted | None:
    """Until two are equal that differ in their low ``width`` bits where they differ; ``behind``:
    states behind the test where it goes on. ``None``: that is not known."""
    if test.relation is not Relation.NOT_EQUAL:
        return None
    sides = [[state.range_of_form(form) for state in behind] for form in (test.left, test.right)]
    if not _narrow([one for side in sides for one in side], width):
        return None
    difference = modulo(combined(((test.left, 1), (test.right, -1))), width)
    steps = None if difference is None else loop.steps_of(difference, width)
    if difference is None or steps is None or len(steps) != 1:
        return None
    modulus = 1 << width
    step = -next(iter(steps)) % modulus  # of right - left
    if step == 0:
        return None
    unit = step & -step
    inverse = pow(step // unit, -1, modulus // unit)
    counts: list[Count] = []
    symbolic: list[Count | None] = []
    for state in loop.entries:
        first = loop.at_entry(difference, state)
        first = modulo(first, width)
        if first is None:
            return None
        found = state.range_of_form(first)
        if found.stack or not _divides(unit, first, found.interval):
            return None
        mask = sets.number(modulus - 1)
        away = sets.calculate(Operator.AND, found.interval, mask)
        one = step // unit
        if away.single:
            counts.append(Count(away.start // unit * inverse % (modulus // unit)))
        elif one == 1 and width < 32:
            counts.append(Count(away.natural[1] // unit))
        elif one == modulus // unit - 1 and width < 32:
            back = sets.calculate(Operator.AND, sets.negative(found.interval), mask)
            counts.append(Count(back.natural[1] // unit))
        else:
            counts.append(Count(modulus // unit - 1))
        exact = None
        if one in (1, modulus // unit - 1) and width < 32:
            exact = parameters.at_least(state, first if one == 1 else negative(first))
        symbolic.append(None if exact is None or exact[2] < 0 else Count(exact[0], exact[1], unit))
    why = f"goes on by {unit * one} until the low {width} bits are equal"
    return numbers_or_formulas(counts, symbolic, why, large=NARROW)


def _difference_steps(loop: Induction, test: Test) -> frozenset[int] | None:
    """Steps of left - right."""
    difference = combined(((test.left, 1), (test.right, -1)))
    return None if difference is None else loop.steps_of(difference)


def _narrow(found: Sequence[Range], width: int) -> bool:
    """All of them are numbers of so many bits, read in one way."""
    if any(one.stack for one in found):
        return False
    if width == 32:
        return True
    natural = all(one.interval.natural[1] < 1 << width for one in found)
    half = 1 << width - 1
    signed = [one.interval.signed for one in found]
    return natural or all(-half <= low and high < half for low, high in signed)


def _divides(step: int, form: Form, found: sets.Interval) -> bool:
    """The natural number that the form stands for is a multiple of the step."""
    if step == 1:
        return True
    power = step & step - 1 == 0
    if power and all(
        number % step == 0 for number in (form.constant, *(factor for _, factor in form.tags))
    ):
        return True
    plain = found.start + found.length < sets.MODULUS
    return (plain or power) and found.start % step == 0 and found.step % step == 0
