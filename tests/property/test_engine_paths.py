"""Bounds of path models against every path, every flow, and the recursion over a structure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from path_models import OUT, Structured, constraint, model_of, prices_of

from wcetchar import formula
from wcetchar.engine.path_blocking import longest_blocking
from wcetchar.engine.path_envelope import envelope
from wcetchar.engine.path_order import no_dearer, undominated
from wcetchar.engine.paths import at_values, bound_of
from wcetchar.errors import NoSoundBound
from wcetchar.model.characterization import StretchKind, Word
from wcetchar.model.path_model import PathModel
from wcetchar.pipeline.all_paths import over_all_paths

MOST = 2
"""How often an edge is taken: so there are not too many paths."""


@st.composite
def models(draw: st.DrawFn) -> PathModel:
    nodes = draw(st.integers(1, 4))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=5))
    edges += [(OUT, n) for n in draw(st.lists(node, min_size=1, max_size=2, unique=True))]
    edges += [(n, OUT) for n in draw(st.lists(node, min_size=1, max_size=2, unique=True))]
    edge = st.integers(0, len(edges) - 1)
    facts = [constraint(f"edge {n}", {n: 1}, MOST) for n in range(len(edges))]
    for number in range(draw(st.integers(0, 2))):
        coefficients = draw(st.dictionaries(edge, st.integers(-2, 2), min_size=1, max_size=3))
        limit = draw(st.integers(0, 3))
        facts.append(constraint(f"fact {number}", coefficients, limit))
    if draw(st.booleans()):
        back, entry = draw(st.lists(edge, min_size=2, max_size=2, unique=True))
        passes = draw(st.integers(0, 2))
        facts.append(constraint("loop", {back: 1, entry: -passes}, each=True))
    costs = draw(st.lists(st.integers(0, 20), min_size=nodes, max_size=nodes))
    return model_of(costs, edges, facts, draw(st.sets(node)))


@st.composite
def loops(draw: st.DrawFn) -> PathModel:
    """A loop that is entered and bounded each time, some of its nodes blocked, and edges beside."""
    edges = [(OUT, 0), (0, 1), (1, 2), (2, 1), (2, 3), (3, OUT), (2, 2)]
    node = st.integers(0, 3)
    edges += draw(st.lists(st.tuples(node, node | st.just(OUT)), max_size=2))
    back = draw(st.sampled_from([{6: 1}, {3: 1}, {3: 1, 6: 1}, {6: 2}]))
    entry = draw(st.sampled_from([{1: -1}, {1: -2}, {1: -2, len(edges) - 1: -1}]))
    facts = [constraint(f"edge {n}", {n: 1}, MOST) for n in range(len(edges))]
    facts.append(constraint("loop", {**back, **entry}, each=True))
    costs = draw(st.lists(st.integers(1, 20), min_size=4, max_size=4))
    return model_of(
        costs, edges, facts, draw(st.sampled_from([{2}, {1, 2}, {2, 3}, {0, 2}, {0, 1, 2}]))
    )


def paths(model: PathModel) -> Iterator[list[int]]:
    """Every path as its edges, that fulfils the constraints, also each time where they say so."""

    def walk(path: list[int], at: int) -> Iterator[list[int]]:
        if at == OUT and path:
            yield [*path]
            return
        for number, edge in enumerate(model.edges):
            if edge.source == at and path.count(number) < MOST:
                path.append(number)
                yield from walk(path, edge.target)
                path.pop()

    for path in walk([], OUT):
        if all(holds(model, path, n) for n in range(len(model.constraints))):
            yield path


def value(expression: object) -> int:
    text = str(expression)
    operand = getattr(expression, "operand", None)
    return -value(operand) if operand is not None else int(getattr(expression, "value", text))


def holds(model: PathModel, path: list[int], number: int) -> bool:
    fact = model.constraints[number]
    coefficients = {e: value(c) for e, c in fact.coefficients.items()}
    if sum(coefficients.get(edge, 0) for edge in path) > value(fact.limit):
        return False
    left = 0
    for edge in path if fact.each else ():
        coefficient = coefficients.get(edge, 0)
        left = -coefficient if coefficient < 0 else left - coefficient
        if left < 0:
            return False
    return True


def cost(model: PathModel, edges: list[int]) -> int:
    targets = (model.edges[n].target for n in edges)
    vectors = (model.vectors[model.nodes[t].vector] for t in targets if t != OUT)
    return sum(sum(vector.values()) for vector in vectors)


def flows(model: PathModel) -> Iterator[tuple[int, ...]]:
    """Every flow, path or not."""
    for counts in itertools.product(range(MOST + 1), repeat=len(model.edges)):
        if sum(c for c, e in zip(counts, model.edges, strict=True) if e.source == OUT) != 1:
            continue
        sums = [0] * len(model.nodes)
        for count, edge in zip(counts, model.edges, strict=True):
            for node, sign in ((edge.target, 1), (edge.source, -1)):
                if node != OUT:
                    sums[node] += sign * count
        if any(sums):
            continue
        if all(
            sum(value(c) * counts[e] for e, c in fact.coefficients.items()) <= value(fact.limit)
            for fact in model.constraints
        ):
            yield counts


@given(models())
def test_against_every_path_and_every_flow(model: PathModel) -> None:
    best = max((cost(model, path) for path in paths(model)), default=None)
    expected = [
        sum(cost(model, [n]) * count for n, count in enumerate(counts)) for counts in flows(model)
    ]
    try:
        found = bound_of(model, prices_of(model), {})
    except NoSoundBound:
        assert best is None
        return
    assert found.time == found.reached
    assert found.time <= max(expected)
    if best is not None:
        assert found.time >= best
    counts = tuple(found.flow.counts.get(n, 0) for n in range(len(model.edges)))
    assert counts in set(flows(model))
    assert sum(cost(model, [n]) * c for n, c in enumerate(counts)) == found.time
    assert sum(found.node_times[n] * c for n, c in found.passed.items()) == found.time
    assert found.vector.instructions == found.time
    connected = all(edge.source in _between(model) | {OUT} for edge in model.edges)
    if connected:
        assert found.time == max(expected)
    for number, fact in enumerate(model.constraints):
        total = sum(value(c) * counts[e] for e, c in fact.coefficients.items())
        touched = any(value(c) and counts[e] for e, c in fact.coefficients.items())
        assert (number in found.binding) == (touched and total == value(fact.limit))


def _between(model: PathModel) -> set[int]:
    """Nodes on some walk from an entry to an exit."""
    ahead, back = {OUT}, {OUT}
    for _ in model.nodes:
        ahead |= {e.target for e in model.edges if e.source in ahead}
        back |= {e.source for e in model.edges if e.target in back}
    return ahead & back


@given(models() | loops())
def test_stretches_against_those_of_every_path(model: PathModel) -> None:
    best = None
    for path in paths(model):
        best = max(best or 0, *(cost(model, part) for part in _stretches(model, path)), 0)
    try:
        found = longest_blocking(model, prices_of(model), {}, StretchKind.INTERRUPTS)
    except NoSoundBound:
        assert best is None
        return
    assert found.time == found.reached
    if best is not None:
        assert found.time >= best
    assert (found.begin is None) == (found.end is None)
    if found.begin is None:
        assert not found.time
    else:
        assert found.flow.counts[found.begin] >= 1
        assert found.vector.instructions == found.time


def _stretches(model: PathModel, path: list[int]) -> Iterator[list[int]]:
    """Edges into nodes that block, one behind the other."""
    part: list[int] = []
    for number in path:
        target = model.edges[number].target
        if target != OUT and model.blockings[model.nodes[target].blocking].masks:
            part.append(number)
        else:
            yield part
            part = []
    yield part


@given(st.integers(0, 10**6), st.integers(1, 60))
def test_structured_programs_are_exact(seed: int, size: int) -> None:
    model, expected = Structured(Random(seed)).model(size)
    found = bound_of(model, prices_of(model), {})
    assert found.time == found.reached == expected
    assert found.word is Word.BOUND


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_a_program_that_blocks_all_along_is_one_stretch(seed: int, size: int) -> None:
    program = Structured(Random(seed))
    model, expected = program.model(size)
    blocked = model_of(program.costs, program.edges, program.constraints, range(len(program.costs)))
    found = longest_blocking(blocked, prices_of(model), {}, StretchKind.PREEMPTION)
    assert found.time == expected


def test_a_loop_that_may_be_entered_again_is_not_used_up_in_one_stretch() -> None:
    """Nodes: 0 outer loop, 1 inner loop (masked), 2 its body (masked), outer twice, inner 5.

    Each time that the inner loop is entered: 1 ns, and 5 times 11 ns. Without `each` the stretch
    may have the passes of all entries."""
    edges = [(OUT, 0), (0, 1), (1, 2), (2, 1), (1, 0), (0, OUT)]
    outer = constraint("outer", {4: 1, 0: -2}, each=True)
    times = {}
    for each in (False, True):
        inner = constraint("inner", {3: 1, 1: -5}, each=each)
        model = model_of([1, 1, 10], edges, [outer, inner], blocked=[1, 2])
        times[each] = longest_blocking(model, prices_of(model), {}, StretchKind.INTERRUPTS).time
    assert times[True] == 1 + 5 * 11
    assert times[False] == 1 + 10 * 11


def test_a_stretch_that_begins_inside_a_loop() -> None:
    """Node 1 is a loop's head that does not block, 2 masks, and goes round 2 -> 2 by itself: the
    loop is entered at 0 -> 1, but passes of 2 -> 2 are bounded by that entry."""
    edges = [(OUT, 0), (0, 1), (1, 2), (2, 2), (2, OUT)]
    inner = constraint("inner", {3: 1, 1: -3}, each=True)
    model = model_of([1, 1, 10], edges, [inner], blocked=[2])
    found = longest_blocking(model, prices_of(model), {}, StretchKind.INTERRUPTS)
    assert found.time == 40
    assert (found.begin, found.end) == (2, 4)
    assert found.notes == ("interrupts can still be blocked when it returns",)


@pytest.mark.parametrize("size", [5, 50, 300])
def test_stretches_of_structured_programs_are_no_longer_than_all(size: int) -> None:
    random = Random(size)
    program = Structured(random)
    model, expected = program.model(size)
    blocked = {n for n in range(len(program.costs)) if random.random() < 0.7}
    masked = model_of(program.costs, program.edges, program.constraints, blocked)
    found = longest_blocking(masked, prices_of(model), {}, StretchKind.INTERRUPTS)
    assert max(program.costs[n] for n in found.passed) <= found.time <= expected


OF_N = ["N", "-N", "3 - N", "(N == 2)", "2 * N"]
OF_TWO = [*OF_N, "M", "2 - M", "N * M", "N - M", "(N == M)"]


@st.composite
def of_a_parameter(draw: st.DrawFn, shifts: list[str] = OF_N) -> PathModel:
    """Of one constraint or several the limit, or a coefficient, rises or falls with N from 0 to 3;
    limits of single edges are wide, so that these bind."""
    found = draw(loops() | models())
    texts = st.sampled_from(shifts)
    changed = []
    for one in found.constraints:
        coefficients, limit = dict(one.coefficients), one.limit
        if one.label.startswith("edge"):
            limit = formula.parse("9")
        elif draw(st.booleans()):
            edge = draw(st.sampled_from([*coefficients]))
            shift = f"{formula.to_text(coefficients[edge])} + {draw(texts)}"
            coefficients[edge] = formula.parse(shift)
        elif not one.each:
            limit = formula.parse(f"{formula.to_text(limit)} + {draw(texts)}")
        changed.append(replace(one, coefficients=coefficients, limit=limit))
    return replace(found, constraints=tuple(changed))


@given(of_a_parameter(), st.randoms(use_true_random=False))
def test_what_is_no_dearer_takes_no_longer(model: PathModel, random: Random) -> None:
    prices = prices_of(model)
    bounds: dict[int, list[Fraction]] = {}
    for n in range(4):
        try:
            bounds[n] = [bound_of(model, prices, {"N": n}).time]
            bounds[n] += (
                longest_blocking(model, prices, {"N": n}, kind).time for kind in StretchKind
            )
        except NoSoundBound:
            bounds.pop(n, None)  # contradictory, or without an end
    points = [{"N": n} for n in bounds]
    random.shuffle(points)
    at = {n: at_values(model, prices, {"N": n}) for n in bounds}
    for a in bounds:
        for b in bounds:
            if no_dearer(at[a], at[b]):
                assert all(x <= y for x, y in zip(bounds[a], bounds[b], strict=True))
    left = [point["N"] for point in undominated(model, prices, points)]
    for number in range(3 if bounds else 0):
        longest = max(one[number] for one in bounds.values())
        assert max(bounds[n][number] for n in left) == longest


@given(of_a_parameter(OF_TWO))
def test_nothing_in_a_box_is_dearer_than_its_envelope(model: PathModel) -> None:
    prices = prices_of(model)
    found = envelope(model, {"N": range(4), "M": range(3)})
    assert found is not None

    def times(of: PathModel, at: dict[str, int]) -> list[Fraction] | None:
        try:
            bound = bound_of(of, prices, at).time
            stretches = [longest_blocking(of, prices, at, kind).time for kind in StretchKind]
        except NoSoundBound:
            return None  # contradictory, or without an end
        return [bound, *(stretches if found.alike else ())]

    every = {
        (n, m): one
        for n, m in itertools.product(range(4), range(3))
        if (one := times(model, {"N": n, "M": m})) is not None
    }
    above = times(found.model, {})
    if above is None:
        # Nothing is possible anywhere, or something has no end in the envelope alone.
        return
    for one in every.values():
        assert all(x <= y for x, y in zip(one, above, strict=True))
    if found.at is not None:
        assert every[found.at["N"], found.at["M"]] == above


def test_an_envelope_by_hand() -> None:
    """The inner loop is entered N - M + 1 times and goes round M times each time."""
    edges = [(OUT, 0), (0, 1), (1, 1), (1, 0), (0, OUT)]
    outer = constraint("outer", {1: 1}, formula.parse("N - M + 1"))
    inner = constraint("inner", {2: 1, 1: formula.parse("-M")})
    model = model_of([1, 10], edges, [outer, inner])
    prices = prices_of(model)

    def total(entered: int, rounds: int) -> int:
        return 1 + entered * (10 + rounds * 10 + 1)

    assert bound_of(model, prices, {"N": 5, "M": 2}).time == total(4, 2)
    one = envelope(model, {"N": range(6), "M": range(2, 3)})
    assert one is not None
    assert one.at == {"N": 5, "M": 2}
    assert bound_of(one.model, prices, {}).time == total(4, 2)
    both = envelope(model, {"N": range(3, 6), "M": range(1, 3)})
    assert both is not None
    assert both.at is None
    assert bound_of(both.model, prices, {}).time == total(5, 2)
    assert envelope(model, {"N": range(1 << 20), "M": range(2)}) is None
    assert both.alike
    idle = envelope(model, {"N": range(3, 6), "M": range(2)})
    assert idle is not None
    assert not idle.alike, "the inner loop does not go round at M = 0"


@pytest.mark.parametrize("most", [1, 256])
@given(model=of_a_parameter(OF_TWO))
def test_the_dearest_of_a_box(model: PathModel, most: int) -> None:
    """``most``: how many points are looked at one by one."""
    prices = prices_of(model)
    box = {"N": range(4), "M": range(3)}
    points = [{"N": n, "M": m} for n, m in itertools.product(*box.values())]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wcetchar.engine.path_order.MOST_POINTS", most)
        over = over_all_paths(model, prices, box)
    assert over is not None
    if over.time is None:
        return  # it is contradictory somewhere, or without an end
    bounds: list[list[Fraction]] = []
    for point in points:
        try:
            bounds.append([bound_of(model, prices, point).time])
        except NoSoundBound:
            continue
        bounds[-1] += (longest_blocking(model, prices, point, kind).time for kind in StretchKind)
    total, *held = map(max, zip(*bounds, strict=True))
    assert over.time >= total
    longest = [over.interrupts or 0, over.preemption or 0]
    assert all(one >= other for one, other in zip(longest, held, strict=True))
    if over.at is not None:
        assert over.time == total == bound_of(model, prices, over.at).time
        assert longest == held
