"""Terms over values that are sets: one instruction's calculation on everything that it may meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wcetchar.model.term import Constant, Operation, Operator, RegisterValue, Term
from wcetchar.static.values import interval as sets
from wcetchar.static.values.form import (
    Form,
    Place,
    Range,
    Tag,
    Value,
    combined,
    congruent,
    low_bits,
)
from wcetchar.static.values.interval import ANY, MODULUS, WORD, Interval
from wcetchar.static.values.state import ANYTHING, State, constant

STACK_ALIGNMENT: Final = 4
"""What the stack pointer is a multiple of at entry: words are pushed (AAPCS32, 6.2.1.1; RISC-V
psABI, "Integer Calling Convention": 16)."""
ALIGNED: Final = f"the stack pointer is a multiple of {STACK_ALIGNMENT} where a function is entered"


@dataclass(frozen=True, slots=True)
class Result:
    """``form`` ``None``: it is not a sum of what is known."""

    form: Form | None
    range: Range


def value_of(result: Result, state: State, index: int, place: Place) -> Value:
    """What a place holds behind the instruction ``index``, which has that result."""
    form = result.form
    if form is None:
        return state.named(Tag("set", index, place), result.range)
    plain = not form.tags or form.tag is not None
    return Value(form, None if plain else result.range)


class Evaluation:
    """``leaks`` becomes true where a calculation on a stack address has a result that is not known
    to be one any more; ``assumed`` gets what was taken for granted."""

    def __init__(self, state: State, assumed: set[str]) -> None:
        self._state, self._assumed = state, assumed
        self.leaks = False

    def of(self, term: Term) -> Result:
        match term:
            case Constant(value):
                return Result(Form(value), Range(sets.number(value)))
            case RegisterValue(number):
                held = self._state.registers[number]
                return Result(held.form, self._state.range(held))
            case Operation(operator, left, right):
                return self.calculate(operator, self.of(left), self.of(right))
        raise AssertionError(term)

    def calculate(self, operator: Operator, a: Result, b: Result) -> Result:
        form = self._form(operator, a, b)
        found = self._range(operator, a.range, b.range, kept=form is not None)
        if form is not None:
            known = self._state.range_of_form(form)
            if known.stack == found.stack:
                common = sets.meet(known.interval, found.interval)
                found = known if common is None else Range(common, found.stack)
            elif found == ANYTHING:
                found = known
        if found.interval.single and not found.stack:
            return Result(Form(found.interval.start), found)
        if form is None and not found.stack:
            form = self._low_bits(operator, a, b)
            tag = None if form is None else form.tag
            if tag is not None:
                old = self._state.ranges.get(tag, found)
                common = None if old.stack else sets.meet(old.interval, found.interval)
                found = found if common is None else Range(common)
                self._state.ranges[tag] = found
        return Result(form, found)

    def _low_bits(self, operator: Operator, a: Result, b: Result) -> Form | None:
        """Part of a sum, which is the same whenever it is taken out."""
        found = self._extracted(operator, a, b)
        if found is None:
            return None
        form, width, signed = found
        return low_bits(congruent(form, width) or form, width, signed)

    def _extracted(self, operator: Operator, a: Result, b: Result) -> tuple[Form, int, bool] | None:
        """The sum of which a mask, or a shift back of what was shifted to the left, gives the low
        bits; how many, and whether they are extended by their sign."""
        if operator is Operator.AND:
            for one, other in ((a, b), (b, a)):
                mask = one.range.interval.start
                known = one.range.interval.single and not one.range.stack and mask & mask + 1 == 0
                if known and mask and other.form is not None and not other.range.stack:
                    return other.form, mask.bit_length(), False
            return None
        amount = _amount(b)
        if operator not in (Operator.SHIFT_RIGHT, Operator.SHIFT_RIGHT_SIGNED) or not amount:
            return None
        form = None if a.range.stack else _divided(a.form, 1 << amount)
        if form is None or self._state.range_of_form(form).stack:
            return None
        return form, 32 - amount, operator is Operator.SHIFT_RIGHT_SIGNED

    def _whole(self, form: Form, width: int, signed: bool) -> Form | None:
        """A sum whose low bits, extended, are all of it, and the same as those of the form."""
        for one in (form, congruent(form, width)):
            if one is None:
                continue
            known = self._state.range_of_form(one)
            if known.stack:
                continue
            if signed:
                low, high = known.interval.signed
                if -(1 << width - 1) <= low and high < 1 << width - 1:
                    return one
            elif known.interval.natural[1] < 1 << width:
                return one
        return None

    # --- forms ---

    def _form(self, operator: Operator, a: Result, b: Result) -> Form | None:
        part = self._extracted(operator, a, b)
        whole = None if part is None else self._whole(*part)
        if whole is not None:
            return whole
        match operator:
            case Operator.ADD | Operator.SUBTRACT if a.form is not None and b.form is not None:
                sign = 1 if operator is Operator.ADD else -1
                return combined(((a.form, 1), (b.form, sign)))
            case Operator.MULTIPLY:
                for one, other in ((a, b), (b, a)):
                    if one.range.interval.single and not one.range.stack and other.form is not None:
                        return combined(((other.form, one.range.interval.start),))
            case Operator.AND:
                for one, other in ((a, b), (b, a)):
                    mask = one.range
                    if mask.interval.single and not mask.stack and _keeps(mask, other.range):
                        if other.range.stack and mask.interval.start != WORD:
                            self._assumed.add(ALIGNED)
                        return other.form
            case Operator.OR | Operator.XOR:
                for one, other in ((a, b), (b, a)):
                    if one.range == Range(sets.number(0)):
                        return other.form
                if operator is Operator.OR and _disjoint(a.range, b.range):
                    return self._form(Operator.ADD, a, b)
            case Operator.SHIFT_LEFT if _amount(b) is not None and a.form is not None:
                return combined(((a.form, 1 << (_amount(b) or 0)),))
            case Operator.SHIFT_RIGHT | Operator.SHIFT_RIGHT_SIGNED if _amount(b) == 0:
                return a.form
        return None

    # --- ranges ---

    def _range(self, operator: Operator, a: Range, b: Range, *, kept: bool) -> Range:
        if not a.stack and not b.stack:
            return Range(sets.calculate(operator, a.interval, b.interval))
        match operator:
            case Operator.ADD if not (a.stack and b.stack):
                return Range(sets.add(a.interval, b.interval), stack=True)
            case Operator.SUBTRACT if a.stack:
                return Range(sets.add(a.interval, sets.negative(b.interval)), stack=not b.stack)
            case Operator.LESS | Operator.LESS_SIGNED:
                return Range(sets.between(0, 1))
            case Operator.AND | Operator.OR | Operator.XOR if kept:
                return a if a.stack else b
        self.leaks = True
        known = [ANY if one.stack else one.interval for one in (a, b)]
        return Range(sets.calculate(operator, known[0], known[1]))


def _divided(form: Form | None, unit: int) -> Form | None:
    """A sum of which the given one is ``unit`` times as much, modulo 2^32."""
    if form is None:
        return None
    numbers = [form.constant, *(factor for _, factor in form.tags)]
    if any(number % unit for number in numbers):
        return None
    parts = [sets.signed_of(number) // unit for number in numbers]
    return Form(
        parts[0] % MODULUS,
        tuple((tag, part % MODULUS) for (tag, _), part in zip(form.tags, parts[1:], strict=True)),
    )


def _amount(b: Result) -> int | None:
    """Of a shift."""
    single = b.range.interval.single and not b.range.stack
    return b.range.interval.start if single and b.range.interval.start < 32 else None


def _keeps(by: Range, found: Range) -> bool:
    """``and`` with the mask leaves every one of the numbers as it is."""
    mask = by.interval.start
    low = mask ^ WORD
    if low & low + 1 == 0:  # it clears low bits
        unit = low + 1
        if found.stack and unit > STACK_ALIGNMENT:
            return False
        return found.interval.start % unit == 0 and found.interval.step % unit == 0
    return not found.stack and mask & mask + 1 == 0 and found.interval.natural[1] <= mask


def _disjoint(a: Range, b: Range) -> bool:
    """They have no bit in common."""
    if a.stack or b.stack:
        return False
    for one, two in ((a.interval, b.interval), (b.interval, a.interval)):
        unit = _unit(one)
        if unit and two.natural[1] < unit:
            return True
    return False


def _unit(found: Interval) -> int:
    """A power of two that divides all of them."""
    bits = found.start | found.step
    return bits & -bits


def loaded(evaluation: Evaluation, value: Value, state: State, width: int, signed: bool) -> Result:
    """What a load makes of a stored value: its low ``width`` bits, extended."""
    given = Result(value.form, state.range(value))
    if width == 32:
        return given
    if not signed:
        mask = _constant((1 << width) - 1)
        return evaluation.calculate(Operator.AND, given, mask)
    amount = _constant(32 - width)
    moved = evaluation.calculate(Operator.SHIFT_LEFT, given, amount)
    return evaluation.calculate(Operator.SHIFT_RIGHT_SIGNED, moved, amount)


def stored(evaluation: Evaluation, value: Value, state: State, width: int) -> Result:
    """What a store leaves in memory, as a natural number."""
    given = Result(value.form, state.range(value))
    if width == 32 or given.range.stack:
        return given
    return evaluation.calculate(Operator.AND, given, _constant((1 << width) - 1))


def _constant(number: int) -> Result:
    value = constant(number)
    return Result(value.form, Range(sets.number(number)))


def unknown_of(width: int, signed: bool) -> Range:
    """What a load of so many bits can give."""
    if width >= 32:
        return ANYTHING
    if signed:
        return Range(sets.between(-(1 << width - 1), (1 << width - 1) - 1))
    return Range(sets.between(0, (1 << width) - 1))
