"""Totals at many values at once against each by itself, and the largest against a plain search."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar import formula
from wcetchar.engine.prices import Price, PriceVector
from wcetchar.engine.totals import Totals
from wcetchar.errors import InputError
from wcetchar.model.access import AccessVector, CoreEvent, EventKind, Key
from wcetchar.model.characterization import Blocking, Counts, TablePoint, TraceSection
from wcetchar.model.interval import Interval

NAMES = ("N", "M", "K")
KEYS: tuple[Key, ...] = tuple(
    CoreEvent(".text", kind) for kind in (EventKind.ALU, EventKind.BRANCH_TAKEN, EventKind.LOAD)
)
SUPERVISOR_CALL: Key = CoreEvent(".text", EventKind.SUPERVISOR_CALL)
"""What a handler is called by; of no price of its own here."""
TEXTS = (
    "1",
    "0",
    "N",
    "M*N",
    "N*N*K",
    "max(0, N - 3)",
    "ceil(N/3)",
    "floor(log2(N + 1))",
    "N > M",
    "2*(K == 2)",
    "N - 4",
    "100000*N*N*N*N",
)
prices = st.fractions(min_value=0, max_value=50, max_denominator=36)
huge = st.sampled_from([Fraction(10**15), Fraction(10**19 + 1, 7)])
points = st.tuples(*[st.integers(0, 6)] * 3)


def vectors() -> st.SearchStrategy[AccessVector]:
    counts = st.dictionaries(st.sampled_from([*KEYS, SUPERVISOR_CALL]), st.integers(0, 9))
    return counts.map(AccessVector)


def rows() -> st.SearchStrategy[tuple[TraceSection, ...]]:
    repetition = st.sampled_from(TEXTS).map(formula.parse)
    row = st.builds(TraceSection, st.just(Blocking()), vectors(), repetition)
    return st.lists(row, max_size=5).map(tuple)


@st.composite
def totals(draw: st.DrawFn) -> Totals:
    if draw(st.booleans()):
        counts = Counts(rows=draw(rows()))
    else:
        grid = draw(st.lists(points, min_size=1, max_size=4, unique=True))
        once = st.builds(TraceSection, st.just(Blocking()), vectors())
        table = st.lists(once, max_size=3).map(tuple)
        top = (6, 6, 6)
        counts = Counts(points=tuple(TablePoint(p, draw(table)) for p in {*grid, top}))
    time = st.one_of(prices, huge)
    each = {key: draw(time) for key in (*KEYS, SUPERVISOR_CALL)}
    known = {key: Price("ram", Interval(one, one, one)) for key, one in each.items()}
    vector = PriceVector(None, None, known)  # type: ignore[arg-type]  (only prices are read)
    rest, per_call = draw(st.sampled_from([Fraction(0), Fraction(7, 3)])), draw(prices)
    lines = draw(st.sampled_from([None, lambda values: Fraction(values[0], 5)]))
    last = draw(st.integers(0, 1))
    return Totals(counts, NAMES, vector, "s", rest, per_call, last, lines)


@given(st.lists(totals(), min_size=1, max_size=3), st.lists(points, min_size=1, max_size=12))
@settings(max_examples=300)
def test_times_in_columns_are_those_of_each_point(
    found: list[Totals], at: list[tuple[int, int, int]]
) -> None:
    for total in found:
        try:
            alone = [total(values) for values in at]
        except InputError:
            alone = None
        try:
            together = total.at_all(at)
        except InputError:
            assert alone is None
            continue
        assert alone is not None
        assert [Fraction(int(one), together.per_ns) for one in together.ticks] == alone
        finer = together.per(together.per_ns * 6)
        assert [Fraction(int(one), together.per_ns * 6) for one in finer] == alone
