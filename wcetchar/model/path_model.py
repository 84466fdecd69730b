"""A path model: every path that a service can take, as a flow of counts without code or addresses.

The second view of a service beside its table. *Nodes* are basic blocks, each in the contexts in
which it costs something else; an execution is a path from ``entry`` edges to ``exit`` edges, and a
node counts its vector each time that it is passed. With x_e, how often the path takes edge e,

    sum of x_e over entry edges        = 1 = sum of x_e over exit edges
    sum over edges into a node         = sum over edges out of it
    sum of coefficient_e(p) * x_e     <= limit(p)        for each constraint, at parameter values p

holds for every execution at p. So the dearest flow at an integrator's prices is a bound. Source:
Y.-T. S. Li and S. Malik, "Performance Analysis of Embedded Software Using Implicit Path
Enumeration", DAC 1995.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import Blocking, Place
from wcetchar.model.expression import Expression

NOWHERE = Place()
OUTSIDE = -1
"""Number of the node that stands for what is before an entry edge and behind an exit edge."""


class Origin(StrEnum):
    """Who says that a constraint holds."""

    AUTOMATIC = "automatic"
    """The analysis proved it."""
    WRITTEN = "written"
    """A flow fact that somebody wrote."""
    OBSERVED = "observed"
    """A flow fact that was taken from what traces showed, and that nobody proved."""


@dataclass(frozen=True)
class PathNode:
    """Passed once, it counts ``vectors[vector]``.

    Attributes:
        vector: number of the vector in the model.
        blocking: number of the blocking form in the model.
        place: where its first instruction stands, for people.
        end: where its last one stands.
        seen: traces passed it.
        run_in, run_out: number of the vector of what a stretch that begins here, or ends here, can
            fetch more at some address of the code, where a run of sequential instructions goes on
            into the node, or out of it; ``None``: nothing.
    """

    vector: int
    blocking: int = 0
    place: Place = NOWHERE
    end: Place = NOWHERE
    seen: bool = False
    run_in: int | None = None
    run_out: int | None = None


@dataclass(frozen=True)
class PathEdge:
    """From node ``source`` to node ``target``; ``OUTSIDE`` for one of them: an entry or an exit.
    ``seen``: traces took it."""

    source: int
    target: int
    seen: bool = False


@dataclass(frozen=True)
class FlowConstraint:
    """sum of coefficients[e] * x_e <= limit, e the number of an edge; all are formulas of the
    service's parameters.

    Attributes:
        label: says for people what it is and where, e.g. ``loop at heap_4.c:210 in pvPortMalloc``.
        because: why it holds; empty where it is proved.
        place: of the fact in its file, ``file:line``, for people; empty where it is proved.
        each: it also holds each time: between an edge with a negative coefficient -n and the next
            such edge of a path, the positive ones add up to n at most, and before the first such
            edge to 0. So it is where n bounds the passes of a loop for each of its entries. The
            limit is 0 then.
    """

    label: str
    coefficients: Mapping[int, Expression]
    limit: Expression
    origin: Origin
    because: str = ""
    place: str = ""
    each: bool = False


@dataclass(frozen=True)
class Gap:
    """Why the flow of a service has no bound.

    ``what``: e.g. ``loop without a bound``, ``indirect call``; ``place`` and ``where`` say where,
    for programs and for people; ``fact``: a flow fact that would close it, to be filled in: of a
    loop, without its bound; of a jump, without its targets. ``observed``: values of parameters
    (name, value), and how often traces went round the loop there at most, for one entry.
    """

    what: str
    where: str
    place: Place = NOWHERE
    fact: str = ""
    observed: tuple[tuple[tuple[tuple[str, int], ...], int], ...] = ()


@dataclass(frozen=True)
class Unproved:
    """What traces alone say, or nobody: with it a figure is an estimate, or dearer than need be.

    ``fact``: the flow fact that would say it, without what follows the place, e.g. ``access at
    xQueueReceive+0xe``. ``seen``: what would follow, as far as traces showed: logical sections, or
    places of code.
    """

    fact: str
    place: Place = NOWHERE
    seen: tuple[str, ...] = ()


@dataclass(frozen=True)
class TracedPath:
    """What a path that traces took counts, in all: ``vectors[vector]`` of the model; ``values``: of
    the service's parameters, in their order."""

    values: tuple[int, ...]
    vector: int


@dataclass(frozen=True)
class PathModel:
    """Of one service, or of one part of it.

    Attributes:
        service: the published name.
        vectors: each once.
        blockings: each once.
        nodes, edges: edges refer to nodes by number.
        constraints: over edges.
        gaps: what is missing; empty: the dearest flow is a bound.
        traced: paths that traces took; of two at the same values of which one counts nothing less
            than the other, that one.
        assumptions: what was taken for granted beside the facts.
        unknown_accesses: accesses of unknown section in ``vectors``, by place, for people.
        proved_accesses, written_accesses, observed_accesses: instructions whose data accesses go to
            the section that ``vectors`` name by the value analysis, by a flow fact, and as far as
            traces showed; with one of the last a figure is no bound.
        unproved: data accesses and indirect calls and jumps of which no flow fact says where they
            go, nor the analysis.
        stalls, successions: what ``vectors`` count, as of ``Characterization``.
        lines: bytes of a cache's line, for each of which ``vectors`` count line entries.
        follows_masks: nodes say what is held off on every path; otherwise nobody looked.
    """

    service: str
    vectors: tuple[AccessVector, ...]
    blockings: tuple[Blocking, ...]
    nodes: tuple[PathNode, ...]
    edges: tuple[PathEdge, ...]
    constraints: tuple[FlowConstraint, ...] = ()
    gaps: tuple[Gap, ...] = ()
    traced: tuple[TracedPath, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown_accesses: tuple[str, ...] = ()
    proved_accesses: int = 0
    written_accesses: int = 0
    observed_accesses: int = 0
    unproved: tuple[Unproved, ...] = ()
    stalls: int = 0
    successions: bool = False
    lines: tuple[int, ...] = ()
    follows_masks: bool = False

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """Numbers of entry edges."""
        return tuple(n for n, edge in enumerate(self.edges) if edge.source == OUTSIDE)

    @cached_property
    def exits(self) -> tuple[int, ...]:
        """Numbers of exit edges."""
        return tuple(n for n, edge in enumerate(self.edges) if edge.target == OUTSIDE)


@dataclass(frozen=True)
class Flow:
    """A flow through a path model, at values of the parameters.

    ``counts``: number of an edge -> how often it is taken; edges that are not are left out.
    """

    parameters: Mapping[str, int]
    counts: Mapping[int, int]
