"""What the outcome of a conditional branch, or of a condition on flags, tells of two values."""

from __future__ import annotations

from typing import Final

from wcetchar.model.instruction import Instruction
from wcetchar.model.term import ZERO, Comparison, RegisterValue, Relation
from wcetchar.static.values.evaluate import Evaluation
from wcetchar.static.values.form import Form, Value, combined
from wcetchar.static.values.state import Flags, constant

Outcome = tuple[Value, Relation, Value]
"""That the one value is so related to the other."""


def outcome(
    evaluation: Evaluation, flags: Flags | None, instruction: Instruction, *, taken: bool
) -> Outcome | None:
    """What is true where the conditional branch at the end of a block goes there; ``evaluation``
    and ``flags`` of the state before it. ``None``: that is not known."""
    comparison = instruction.comparison
    if comparison is not None and comparison.taken is not None:
        sides = [evaluation.of(term) for term in (comparison.left, comparison.right)]
        forms = [side.form for side in sides]
        if forms[0] is None or forms[1] is None:
            return None
        relation = comparison.taken
        found: Outcome | None = (
            Value(forms[0], sides[0].range),
            relation,
            Value(forms[1], sides[1].range),
        )
    else:
        found = flags_say(flags, instruction.condition)
    if found is None or taken:
        return found
    return found[0], found[1].opposite, found[2]


def flags_say(flags: Flags | None, condition: str) -> Outcome | None:
    """What is true where an Arm condition holds."""
    if flags is None or not condition:
        return None
    given = _SIDES if flags.difference else _RESULT
    found = given.holds(condition)
    if found is None:
        return None
    left, relation, right = found
    if left == _SIDES.left:
        return flags.left, relation, flags.right if right == _SIDES.right else constant(0)
    # The sign of a difference.
    form = _difference(flags.left.form, flags.right.form)
    return None if form is None else (Value(form), relation, constant(0))


def _difference(left: Form, right: Form) -> Form | None:
    return combined(((left, 1), (right, -1)))


def _sides(difference: bool) -> Comparison:
    return Comparison(
        RegisterValue(0), RegisterValue(1) if difference else ZERO, difference=difference
    )


_SIDES: Final = _sides(True)
_RESULT: Final = _sides(False)
