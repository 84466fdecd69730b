"""Operations on strided intervals against the numbers themselves: whatever two members give is a
member of the result."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from wcetchar.model.term import Operator, Relation
from wcetchar.static.values import interval as sets
from wcetchar.static.values.interval import MODULUS, Interval

EDGES = (0, 1, 2, 3, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 1 << 31, MODULUS - 1)
NUMBERS = st.one_of(
    st.integers(0, MODULUS - 1),
    st.integers(0, 300),
    st.sampled_from([(n + d) % MODULUS for n in EDGES for d in (-1, 0, 1)]),
)


@st.composite
def intervals(draw: st.DrawFn) -> tuple[Interval, int]:
    """An interval and a member of it."""
    start = draw(NUMBERS)
    step = draw(st.one_of(st.sampled_from((1, 1, 2, 4, 8, 12, 3, 5)), st.integers(1, MODULUS - 1)))
    room = (MODULUS - 1) // step
    times = draw(st.one_of(st.integers(0, min(room, 20)), st.integers(0, room)))
    found = sets.make(start, times * step, step)
    chosen = draw(st.one_of(st.integers(0, times), st.sampled_from((0, times))))
    member = (start + chosen * step) % MODULUS
    assert member in found
    return found, member


def signed(number: int) -> int:
    return number - MODULUS if number >> 31 else number


def result(operator: Operator, a: int, b: int) -> int | None:
    match operator:
        case Operator.ADD:
            return a + b
        case Operator.SUBTRACT:
            return a - b
        case Operator.MULTIPLY:
            return a * b
        case Operator.AND:
            return a & b
        case Operator.OR:
            return a | b
        case Operator.XOR:
            return a ^ b
        case Operator.SHIFT_LEFT:
            return a << min(b, 64)
        case Operator.SHIFT_RIGHT:
            return a >> b
        case Operator.SHIFT_RIGHT_SIGNED:
            return signed(a) >> b
        case Operator.LESS:
            return a < b
        case Operator.LESS_SIGNED:
            return signed(a) < signed(b)
    if b == 0:
        return None
    if operator in (Operator.DIVIDE, Operator.REMAINDER):
        return a // b if operator is Operator.DIVIDE else a % b
    x, y = signed(a), signed(b)
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return quotient if operator is Operator.DIVIDE_SIGNED else x - quotient * y


def related(a: int, relation: Relation, b: int) -> bool:
    if relation.value.endswith("s"):
        a, b = signed(a), signed(b)
    return {
        "==": a == b,
        "!=": a != b,
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
    }[relation.value.rstrip("s")]


@settings(max_examples=500)
@given(intervals(), intervals(), st.sampled_from(list(Operator)))
def test_interval_operators(
    one: tuple[Interval, int], two: tuple[Interval, int], operator: Operator
) -> None:
    value = result(operator, one[1], two[1])
    if value is not None:
        assert value % MODULUS in sets.calculate(operator, one[0], two[0])


@settings(max_examples=500)
@given(intervals(), st.sampled_from((3, 7, 15, 255, 0xFFFF, 0xFFFFFFFC, 0x80000000, 0xF0, 24)))
def test_interval_masks(one: tuple[Interval, int], mask: int) -> None:
    assert one[1] & mask in sets.calculate(Operator.AND, one[0], sets.number(mask))


@settings(max_examples=500)
@given(intervals(), NUMBERS)
@example((Interval(0, MODULUS - 1, MODULUS - 1), 0), 0)
def test_interval_with_a_constant(one: tuple[Interval, int], constant: int) -> None:
    for operator in Operator:
        value = result(operator, one[1], constant)
        if value is not None:
            assert value % MODULUS in sets.calculate(operator, one[0], sets.number(constant))
    assert one[1] * constant % MODULUS in sets.scaled(one[0], constant)


@settings(max_examples=500)
@given(intervals(), intervals())
def test_interval_join_and_meet(one: tuple[Interval, int], two: tuple[Interval, int]) -> None:
    joined = sets.join(one[0], two[0])
    assert one[1] in joined
    assert two[1] in joined
    common = sets.meet(one[0], two[0])
    for member in (one[1], two[1]):
        if member in one[0] and member in two[0]:
            assert common is not None
            assert member in common
    if sets.within(one[0], two[0]):
        assert one[1] in two[0]


@settings(max_examples=500)
@given(intervals(), intervals(), st.sampled_from(list(Relation)))
def test_interval_relations(
    one: tuple[Interval, int], two: tuple[Interval, int], relation: Relation
) -> None:
    if related(one[1], relation, two[1]):
        narrower = sets.narrowed(one[0], relation, two[0])
        assert narrower is not None
        assert one[1] in narrower
        assert sets.narrowed(two[0], relation.mirrored, one[0]) is not None
    else:
        assert related(one[1], relation.opposite, two[1])


@settings(max_examples=500)
@given(intervals())
def test_interval_bounds(one: tuple[Interval, int]) -> None:
    found, member = one
    low, high = found.natural
    assert low <= member <= high
    low, high = found.signed
    assert low <= signed(member) <= high


@settings(max_examples=500)
@given(st.integers(0, 60), st.integers(0, 12), st.integers(0, 60), st.integers(0, 12))
def test_small_intervals_are_exact(a: int, b: int, c: int, d: int) -> None:
    """Sums, and what two have in common, where nothing wraps around."""
    one, two = sets.between(a, a + b), sets.between(c, c + d)
    assert sets.add(one, two) == sets.between(a + c, a + b + c + d)
    low, high = max(a, c), min(a + b, c + d)
    assert sets.meet(one, two) == (None if low > high else sets.between(low, high))
