"""What the dearest path of a service takes, by its path model and at an integrator's prices.

    bound = max over flows x of  under way + sum over edges e of  price(node that e leads to) * x_e

with what is under way when a path begins (``path_prices``). ``network`` solves it and proves that
nothing is dearer; every path is a flow, so no path takes more. Prices are multiplied out to whole
numbers first. Interference (refresh, other masters) comes whole times and once at the beginning, on
top of the dearest flow: the time of a window grows with the sum of its prices (``interference``),
so the dearest flow is the longest, too.

Caveats: a model with gaps has no bound, and is refused. Constraints that were only observed make an
*estimate*. Whatever the facts are wrong in, the bound is wrong in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar import formula
from wcetchar.engine.network import (
    Arc,
    Contradictory,
    DearestFlow,
    Endless,
    Limit,
    dearest_flow,
)
from wcetchar.engine.prices import PriceVector
from wcetchar.errors import NoSoundBound
from wcetchar.model.access import AccessVector, Key
from wcetchar.model.characterization import Place, Word
from wcetchar.model.path_bound import PathBound
from wcetchar.model.path_model import OUTSIDE, Flow, Origin, PathModel

_SHOWN = 5


@dataclass(frozen=True)
class At:
    """A path model at values of its parameters and at prices.

    Attributes:
        columns: by number of an edge: number of a constraint -> coefficient.
        limits: of the constraints.
        times: upper end of the price of each node, in nanoseconds.
        run_in, run_out: the same of what a stretch fetches more that begins, or ends, in it.
        scale: times are multiples of 1 / scale.
        share: what node times are multiplied by so that interference comes whole times.
    """

    model: PathModel
    prices: PriceVector
    values: Mapping[str, int]
    columns: tuple[Mapping[int, int], ...]
    limits: tuple[Limit, ...]
    times: tuple[Fraction, ...]
    run_in: tuple[Fraction, ...]
    run_out: tuple[Fraction, ...]
    scale: int

    def cost(self, node: int) -> int:
        return 0 if node == OUTSIDE else int(self.times[node] * self.scale)

    def edge_cost(self, source: int, target: int) -> int:
        """Of an edge, with what is under way where it is an entry."""
        more = self.prices.under_way if source == OUTSIDE else 0
        return self.cost(target) + int(more * self.scale)

    def begin_cost(self, node: int) -> int:
        """Beside ``cost``, where a stretch begins in the node."""
        return int((self.run_in[node] + self.prices.under_way) * self.scale)

    def end_cost(self, node: int) -> int:
        """Beside ``cost``, where a stretch ends in the node."""
        return int((self.run_out[node] + self.prices.fetched_behind) * self.scale)

    def time(self, cost: int) -> Fraction:
        """Of a window that costs so much."""
        return self.prices.rate.of_path(Fraction(cost, self.scale))

    def vector(self, passed: Mapping[int, int]) -> AccessVector:
        counted: dict[int, int] = {}
        for node, count in passed.items():
            number = self.model.nodes[node].vector
            counted[number] = counted.get(number, 0) + count
        total: dict[Key, int] = {}
        for number, count in counted.items():
            for key, one in self.model.vectors[number].items():
                total[key] = total.get(key, 0) + one * count
        return AccessVector(total)


def bound_of(model: PathModel, prices: PriceVector, values: Mapping[str, int]) -> PathBound:
    """The dearest flow through ``model``; ``prices`` are of ``path_prices``, ``values`` by name of
    the parameters that its constraints use.

    Raises:
        InputError: a value is missing, or a formula fails.
        NoSoundBound: the model has gaps, or counts what is not priced; its constraints contradict
            each other, or do not bound it.
    """
    at = at_values(model, prices, values)
    arcs = [
        Arc(edge.source, edge.target, at.edge_cost(edge.source, edge.target), column)
        for edge, column in zip(model.edges, at.columns, strict=True)
    ]
    found = solved(at, arcs, range(len(model.edges)))
    assert found.counts is not None
    passed = passes(model, found.counts)
    time = at.time(found.bound)
    share = time * at.scale / found.bound if found.bound else Fraction(1)
    vector = at.vector(passed)
    word, notes = word_of(model, found.needed)
    return PathBound(
        service=model.service,
        profile=prices.profile.name,
        section_map=prices.section_map.name,
        word=word,
        time=time,
        reached=at.time(found.cost),
        flow=Flow(dict(values), found.counts),
        passed=passed,
        node_times=tuple(one * share for one in at.times),
        vector=prices.priced(vector),
        unknown=_unknown(vector, prices) * share,
        binding=_binding(at, found.counts),
        needed=tuple(sorted(found.needed)),
        notes=(*notes, *(f"assumed: {one}" for one in model.assumptions), *prices.notes),
        core_clock_hz=prices.profile.core.clock.low,
    )


def at_values(model: PathModel, prices: PriceVector, values: Mapping[str, int]) -> At:
    """The model with numbers in the place of formulas and vectors.

    Raises:
        InputError, NoSoundBound: as of :func:`bound_of`.
    """
    _check_gaps(model)
    _check_edges(model)
    _check_prices(model, prices)
    columns: list[dict[int, int]] = [{} for _ in model.edges]
    limits = []
    for number, constraint in enumerate(model.constraints):
        for edge, coefficient in constraint.coefficients.items():
            columns[edge][number] = formula.evaluate(coefficient, values)
        limits.append(Limit(constraint.label, formula.evaluate(constraint.limit, values)))
    of_vectors = [prices.time_of(vector).high for vector in model.vectors]
    times = tuple(of_vectors[node.vector] for node in model.nodes)
    runs_in, runs_out = (
        (
            tuple(Fraction(0) if number is None else of_vectors[number] for number in numbers)
            for numbers in zip(*((node.run_in, node.run_out) for node in model.nodes), strict=True)
        )
        if model.nodes
        else ((), ())
    )
    beside = prices.under_way, prices.fetched_behind
    scale = math.lcm(1, *(time.denominator for time in {*beside, *of_vectors}))
    return At(model, prices, values, tuple(columns), tuple(limits), times, runs_in, runs_out, scale)


def solved(
    at: At, arcs: Sequence[Arc], edges: Sequence[int], more: Sequence[Limit] = ()
) -> DearestFlow:
    """The dearest flow of arcs, each of which stands for an edge of the model; ``more``: limits
    beside those of the model.

    Raises:
        NoSoundBound: there is none, or no bound.
    """
    model = at.model
    try:
        found = dearest_flow(arcs, (*at.limits, *more))
    except Endless as error:
        raise _endless(model, (edges[n] for n in error.arcs)) from error
    except Contradictory as error:
        named = [(*at.limits, *more)[n].label for n in error.limits]
        raise NoSoundBound(
            f"no path through {model.service} fulfils all facts at {_values(at.values)}: "
            + ("; ".join(named) if named else "none leads from an entry to an exit"),
            expected="facts that do not contradict each other",
            hint="one of these is wrong; or the service is not called with these values",
        ) from error
    if found.counts is None:
        raise NoSoundBound(
            f"no path through {model.service} was found that fulfils all facts in whole numbers",
            expected="facts that a path can fulfil",
            hint="look for flow facts that cannot hold together",
        )
    return found


def passes(model: PathModel, counts: Mapping[int, int]) -> dict[int, int]:
    """How often each node is passed by a flow."""
    passed: dict[int, int] = {}
    for number, count in counts.items():
        target = model.edges[number].target
        if target != OUTSIDE:
            passed[target] = passed.get(target, 0) + count
    return dict(sorted(passed.items()))


def word_of(model: PathModel, needed: Iterable[int]) -> tuple[Word, tuple[str, ...]]:
    """What a figure of this model is, and why; ``needed``: constraints that it rests on."""
    observed = [n for n, c in enumerate(model.constraints) if c.origin is Origin.OBSERVED]
    notes = []
    if observed:
        used = len({*observed} & {*needed})
        notes.append(
            f"{len(observed)} facts were observed and never proved; the figure rests on {used} of "
            "them"
        )
    if model.observed_accesses:
        notes.append(
            f"of {model.observed_accesses} instructions only traces say which section they access"
        )
    return Word.ESTIMATE if notes else Word.BOUND, tuple(notes)


def _unknown(vector: AccessVector, prices: PriceVector) -> Fraction:
    assert prices.of_paths is not None
    cheapest = prices.of_paths.cheapest
    more = (n * (prices[k].time.high - cheapest[k]) for k, n in vector.items() if k in cheapest)
    return sum(more, start=Fraction(0))


def _binding(at: At, counts: Mapping[int, int]) -> tuple[int, ...]:
    sums = [0] * len(at.limits)
    for edge, count in counts.items():
        for number, coefficient in at.columns[edge].items():
            sums[number] += coefficient * count
    touched = {n for edge in counts for n, c in at.columns[edge].items() if c}
    return tuple(n for n in sorted(touched) if sums[n] == at.limits[n].limit)


def gaps_of(model: PathModel) -> str:
    """Why it has no bound at any prices; empty: it may have one."""
    if not model.gaps:
        return ""
    shown = "; ".join(f"{gap.what} at {gap.where}" for gap in model.gaps[:_SHOWN])
    rest = len(model.gaps) - _SHOWN
    return f"{model.service} has no bound: {shown}" + (f" and {rest} more" if rest > 0 else "")


def _check_gaps(model: PathModel) -> None:
    if not model.gaps:
        return
    facts = [gap.fact for gap in model.gaps if gap.fact]
    raise NoSoundBound(
        gaps_of(model),
        expected="a path model without gaps",
        hint=f"a flow fact such as `{facts[0]}`, from the vendor of the kernel" if facts else None,
    )


def _check_edges(model: PathModel) -> None:
    """Of a model that was not read from a file, which is checked there."""
    nodes, edges = len(model.nodes), len(model.edges)
    if any(not OUTSIDE <= end < nodes for e in model.edges for end in (e.source, e.target)):
        raise ValueError(f"{model.service}: an edge ends at a node that is not there")
    if any(not 0 <= e < edges for c in model.constraints for e in c.coefficients):
        raise ValueError(f"{model.service}: a constraint has an edge that is not there")
    numbers = [
        n for node in model.nodes for n in (node.vector, node.run_in or 0, node.run_out or 0)
    ]
    if any(not 0 <= number < len(model.vectors) for number in numbers):
        raise ValueError(f"{model.service}: a node has a vector that is not there")


def _check_prices(model: PathModel, prices: PriceVector) -> None:
    """They are of what this model counts."""
    of = prices.of_paths
    if of is None or any(key not in prices for vector in model.vectors for key in vector):
        raise ValueError(f"the prices are not those of the path model of {model.service}")
    missing = [
        what
        for what, is_missing in (
            ("successions", of.successions and not model.successions),
            ("stalls", model.stalls < of.stalls),
            (
                f"entries of lines of {of.line} bytes",
                of.line is not None and of.line not in model.lines,
            ),
        )
        if is_missing
    ]
    if missing:
        raise NoSoundBound(
            f"the path model of {model.service} does not count {missing[0]}, which are priced",
            expected="prices that were made for this model",
        )


def _endless(model: PathModel, edges: Iterable[int]) -> NoSoundBound:
    places = dict.fromkeys(
        _place(model.nodes[target].place) or f"node {target}"
        for number in edges
        for target in (model.edges[number].target,)
        if target != OUTSIDE
    )
    shown = [*places][:_SHOWN]
    rest = len(places) - len(shown)
    return NoSoundBound(
        f"nothing bounds a loop of {model.service} through {', '.join(shown)}"
        + (f" and {rest} more" if rest > 0 else ""),
        expected="a bound of each loop",
        hint="a flow fact `loop at PLACE: at most N`, from the vendor of the kernel",
    )


def _place(place: Place) -> str:
    line = f" ({place.file}:{place.line})" if place.file else ""
    return f"{place.function}+{place.offset:#x}{line}" if place.function else line.strip(" ()")


def _values(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "no parameters"
