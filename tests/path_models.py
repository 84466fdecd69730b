"""Path models for tests, in which a node costs as many nanoseconds as is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.prices import PriceVector
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import Blocking, Characterization, Provenance
from wcetchar.model.expression import Expression, Negate, Number
from wcetchar.model.hardware import Core, HardwareProfile, Quantity, Unit
from wcetchar.model.path_model import (
    FlowConstraint,
    Origin,
    PathEdge,
    PathModel,
    PathNode,
)
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel

OUT = -1
NANOSECOND = CoreEvent(".text", EventKind.ALU)
CHARACTERIZATION = Characterization(Kernel("K", "1"), "armv7-m", 32, (), (), Provenance("test"))
PROFILE = HardwareProfile(
    "board",
    "",
    Core(
        "core",
        Quantity(Fraction(10**9), Fraction(10**9), Fraction(10**9), Unit.HERTZ),
        {EventKind.ALU: Quantity(Fraction(1), Fraction(1), Fraction(1), Unit.CYCLES)},
    ),
    {},
)


def constraint(
    label: str,
    coefficients: Mapping[int, int | Expression],
    limit: int | Expression = 0,
    origin: Origin = Origin.AUTOMATIC,
    each: bool = False,
) -> FlowConstraint:
    return FlowConstraint(
        label, {e: number(c) for e, c in coefficients.items()}, number(limit), origin, each=each
    )


def number(value: int | Expression) -> Expression:
    if not isinstance(value, int):
        return value
    return Number(value) if value >= 0 else Negate(Number(-value))


def model_of(
    costs: Sequence[int],
    edges: Iterable[tuple[int, int]],
    constraints: Iterable[FlowConstraint] = (),
    blocked: Iterable[int] = (),
    service: str = "s",
) -> PathModel:
    """``blocked``: nodes with interrupts masked."""
    held = set(blocked)
    return PathModel(
        service,
        tuple(AccessVector({NANOSECOND: cost}) for cost in costs),
        (Blocking(), Blocking(interrupts=True)),
        tuple(PathNode(n, int(n in held)) for n in range(len(costs))),
        tuple(PathEdge(source, target) for source, target in edges),
        tuple(constraints),
        follows_masks=True,
    )


def prices_of(*models: PathModel) -> PriceVector:
    return path_prices(CHARACTERIZATION, PROFILE, SectionMap("map", {}), models)


@dataclass
class Structured:
    """A program of sequences, choices and loops, with its dearest time by the recursion that its
    structure allows: the sum, the larger one, the product."""

    random: Random
    most: int = 6
    costs: list[int] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    constraints: list[FlowConstraint] = field(default_factory=list)

    def model(
        self, size: int, service: str = "s", blocked: Iterable[int] = ()
    ) -> tuple[PathModel, int]:
        """With about ``size`` nodes, and the time of its dearest path."""
        first, last, cost = self.block(size)
        self.edges += [(OUT, first), (last, OUT)]
        return model_of(self.costs, self.edges, self.constraints, blocked, service), cost

    def block(self, size: int) -> tuple[int, int, int]:
        """First node, last node, and what it takes from before the one to behind the other."""
        if size < 4:
            cost = self.random.randrange(1, 50)
            node = self.node(cost)
            return node, node, cost
        kind = self.random.choice(["sequence", "sequence", "choice", "loop"])
        if kind == "loop":
            head, first, last, inner = self.node(self.random.randrange(1, 9)), *self.block(size - 2)
            after = self.node(1)
            passes = self.random.randrange(self.most)
            enter = self.node(2)
            entry = self.edge(enter, head)
            self.edge(head, first)
            back = self.edge(last, head)
            self.edge(head, after)
            self.constraints.append(
                constraint(f"loop {head}", {back: 1, entry: -passes}, each=True)
            )
            return enter, after, 2 + self.costs[head] * (passes + 1) + inner * passes + 1
        cut = self.random.randrange(1, size - 1)
        one, other = self.block(cut), self.block(size - cut)
        if kind == "sequence":
            self.edge(one[1], other[0])
            return one[0], other[1], one[2] + other[2]
        fork, join = self.node(1), self.node(1)
        for first, last, _ in (one, other):
            self.edge(fork, first)
            self.edge(last, join)
        return fork, join, 2 + max(one[2], other[2])

    def node(self, cost: int) -> int:
        self.costs.append(cost)
        return len(self.costs) - 1

    def edge(self, source: int, target: int) -> int:
        self.edges.append((source, target))
        return len(self.edges) - 1
