"""The worst path of a service as plain rows; ``paths_text``, ``paths_dot``, ``paths_html`` and
``paths_json`` only lay them out.

With x_e the counts of the flow, a block is passed as often as its entering edges are taken, costs
its price each time, and its share is that part of the whole. Shares are exact and add up to 1,
with what the bound has beside its blocks (a row of its own). Names and source lines come from
files of strangers; here they lose whatever a terminal would act on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from wcetchar.errors import one_line
from wcetchar.model.characterization import Place, Word
from wcetchar.model.path_model import OUTSIDE, Flow, Origin, PathModel
from wcetchar.report.paths_activations import Activation, activations_of
from wcetchar.report.paths_formula import FormulaRows
from wcetchar.report.paths_stretches import StretchRow


@dataclass(frozen=True)
class PathView:
    """One service, priced.

    Attributes:
        word: what ``bound_ns`` is. A model with gaps has no bound.
        high_water_mark_ns: largest that was observed.
        traced_path_ns: price of the dearest path that traces took.
        bound_ns: price of the dearest flow, at least what its blocks cost.
        flow: the dearest one, ``None`` where there is none.
        node_costs: of one passage of each node, in ns.
        sources: (file, line) -> text, of as many lines as are known.
        binding: labels of the constraints that hold the flow down.
        stretches: the longest in which something is held off; empty: not known.
        formula: the bound as formulas of the parameters; ``None``: it was not asked for.
    """

    service: str
    profile: str
    section_map: str
    parameters: Mapping[str, int]
    word: Word
    model: PathModel
    node_costs: Sequence[Fraction]
    high_water_mark_ns: Fraction | None = None
    traced_path_ns: Fraction | None = None
    bound_ns: Fraction | None = None
    flow: Flow | None = None
    sources: Mapping[tuple[str, int], str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    binding: Sequence[str] = ()
    stretches: tuple[StretchRow, ...] = ()
    formula: FormulaRows | None = None


@dataclass(frozen=True)
class Line:
    """A source line; ``place`` is ``file:line``, or what else says where it is."""

    place: str
    number: int
    text: str = ""


@dataclass(frozen=True)
class BlockRow:
    """One node. ``count``, ``total_ns`` and ``share`` (of 1) are ``None`` without a flow.

    ``lines``: where it begins and, if that is another line, where it ends.
    """

    number: int
    activation: int
    function: str
    lines: tuple[Line, ...]
    blocking: str
    seen: bool
    each_ns: Fraction
    count: int | None
    total_ns: Fraction | None
    share: Fraction | None

    @property
    def place(self) -> str:
        return self.lines[0].place

    @property
    def source(self) -> str:
        return self.lines[0].text

    @property
    def on_path(self) -> bool:
        return bool(self.count)


@dataclass(frozen=True)
class EdgeRow:
    """One edge; ``source`` and ``target`` are numbers of nodes or ``OUTSIDE``."""

    number: int
    source: int
    target: int
    seen: bool
    count: int | None

    @property
    def on_path(self) -> bool:
        return bool(self.count)


@dataclass(frozen=True)
class Coverage:
    """How much of the worst path traces exercised."""

    blocks: int
    blocks_seen: int
    edges: int
    edges_seen: int


@dataclass(frozen=True)
class DifferenceRow:
    """An edge of the worst path that no trace took. ``first``: traces came to where it begins, so
    it is where a missing test has to turn off."""

    edge: int
    function: str
    begin: Line
    to_function: str
    end: Line
    count: int
    first: bool


@dataclass(frozen=True)
class ActivationRow:
    """One activation of a function, by the calls that lead to it.

    Attributes:
        calls: names of the functions from the service to it, its own last.
        entered: how often it is entered from outside, ``None`` without a flow.
        own_ns, total_ns: without and with what it calls.
        share: of ``total_ns``.
    """

    number: int
    parent: int | None
    function: str
    calls: tuple[str, ...]
    entered: int | None
    own_ns: Fraction | None
    total_ns: Fraction | None
    share: Fraction | None


@dataclass(frozen=True)
class BindingRow:
    """``origin`` is empty where the model has no such constraint."""

    label: str
    origin: str
    because: str
    place: str


@dataclass(frozen=True)
class GapRow:
    what: str
    where: str
    fact: str


@dataclass(frozen=True)
class PathRows:
    """Everything that is shown of one service.

    Attributes:
        blocks: in the order of the model's nodes.
        edges, activations: in the order of their numbers.
        whole_ns: what shares are of: the bound, or the blocks' sum where there is none.
        beside_ns: of ``whole_ns``, what is in no block.
        differs: edges of the worst path that traces never took, ``first`` ones first.
        facts: constraints of the model by origin.
        below: the high-water mark is above the bound: one of the two is wrong.
        stretches: the longest in which something is held off.
        formula: the bound as formulas; ``None``: it was not asked for.
    """

    service: str
    profile: str
    section_map: str
    parameters: tuple[tuple[str, int], ...]
    word: Word
    high_water_mark_ns: Fraction | None
    traced_path_ns: Fraction | None
    bound_ns: Fraction | None
    has_flow: bool
    blocks: tuple[BlockRow, ...]
    edges: tuple[EdgeRow, ...]
    activations: tuple[ActivationRow, ...]
    whole_ns: Fraction
    beside_ns: Fraction
    coverage: Coverage | None
    differs: tuple[DifferenceRow, ...]
    facts: Mapping[Origin, int]
    binding: tuple[BindingRow, ...]
    gaps: tuple[GapRow, ...]
    notes: tuple[str, ...]
    below: bool
    stretches: tuple[StretchRow, ...] = ()
    formula: FormulaRows | None = None

    @property
    def at(self) -> str:
        """``N=13, size=4``, or nothing."""
        return ", ".join(f"{name}={value}" for name, value in self.parameters)

    @property
    def ratio(self) -> Fraction | None:
        """Bound over high-water mark."""
        if self.bound_ns is None or not self.high_water_mark_ns:
            return None
        return self.bound_ns / self.high_water_mark_ns

    @property
    def title(self) -> str:
        """What the dearest figure is called: only a bound is called one."""
        return "bound" if self.word is Word.BOUND else f"dearest path ({self.word.value})"

    @property
    def dearest(self) -> tuple[BlockRow, ...]:
        """Blocks of the worst path, the dearest first."""
        on_path = [row for row in self.blocks if row.on_path]
        return tuple(sorted(on_path, key=lambda row: (-(row.total_ns or 0), row.number)))

    @property
    def never_passed(self) -> tuple[BlockRow, ...]:
        """Blocks of the worst path that no trace passed."""
        return tuple(row for row in self.blocks if row.on_path and not row.seen)


def rows_of(view: PathView) -> PathRows:
    """Raises ValueError where the parts do not fit each other: then nothing can be shown."""
    model, counts = view.model, _edge_counts(view)
    passed = _node_counts(model, counts) if counts is not None else None
    costs = [Fraction(cost) for cost in view.node_costs]
    totals = None if passed is None else [n * c for n, c in zip(passed, costs, strict=True)]
    inside = sum(totals or (), start=Fraction(0))
    whole = inside if view.bound_ns is None or totals is None else view.bound_ns
    if whole < inside:
        raise ValueError(f"{view.service}: the blocks of the flow cost more than the whole")
    activations, of = activations_of(model)
    blocks = tuple(
        BlockRow(
            number=number,
            activation=of[number],
            function=function_name(node.place),
            lines=_lines(number, node.place, node.end, view.sources),
            blocking=one_line(str(model.blockings[node.blocking])),
            seen=node.seen,
            each_ns=costs[number],
            count=None if passed is None else passed[number],
            total_ns=None if totals is None else totals[number],
            share=None if totals is None else _share(totals[number], whole),
        )
        for number, node in enumerate(model.nodes)
    )
    edges = tuple(
        EdgeRow(n, e.source, e.target, e.seen, None if counts is None else counts.get(n, 0))
        for n, e in enumerate(model.edges)
    )
    mark = view.high_water_mark_ns
    return PathRows(
        service=one_line(view.service),
        profile=one_line(view.profile),
        section_map=one_line(view.section_map),
        parameters=tuple((one_line(n), v) for n, v in view.parameters.items()),
        word=view.word,
        high_water_mark_ns=mark,
        traced_path_ns=view.traced_path_ns,
        bound_ns=view.bound_ns,
        has_flow=counts is not None,
        blocks=blocks,
        edges=edges,
        activations=_activations(activations, blocks, edges, whole),
        whole_ns=whole,
        beside_ns=whole - inside,
        coverage=None if counts is None else _coverage(blocks, edges),
        differs=_differs(blocks, edges),
        facts={o: sum(c.origin is o for c in model.constraints) for o in Origin},
        binding=tuple(_binding(model, label) for label in view.binding),
        gaps=tuple(GapRow(one_line(g.what), one_line(g.where), _text(g.fact)) for g in model.gaps),
        notes=tuple(one_line(note) for note in (*view.notes, *_assumed(model))),
        below=mark is not None and view.bound_ns is not None and mark > view.bound_ns,
        stretches=view.stretches,
        formula=view.formula,
    )


def function_name(place: Place) -> str:
    return one_line(place.function) or "(unknown function)"


def _edge_counts(view: PathView) -> Mapping[int, int] | None:
    """Checked: what does not fit would be shown as a figure that is wrong."""
    model = view.model
    if len(view.node_costs) != len(model.nodes):
        raise ValueError(f"{view.service}: {len(view.node_costs)} costs, {len(model.nodes)} nodes")
    if any(cost < 0 for cost in view.node_costs):
        raise ValueError(f"{view.service}: a block costs less than nothing")
    if model.gaps and view.word is Word.BOUND:
        raise ValueError(f"{view.service}: a model with gaps has no bound")
    known = range(OUTSIDE, len(model.nodes))
    for edge in model.edges:
        if edge.source not in known or edge.target not in known:
            raise ValueError(f"{view.service}: an edge of a node that is not there")
    if view.flow is None:
        return None
    for number, count in view.flow.counts.items():
        if number not in range(len(model.edges)) or count < 0:
            raise ValueError(f"{view.service}: edge {number} is taken {count} times")
    return view.flow.counts


def _node_counts(model: PathModel, counts: Mapping[int, int]) -> list[int]:
    entering, leaving = [0] * len(model.nodes), [0] * len(model.nodes)
    for number, count in counts.items():
        edge = model.edges[number]
        if edge.target != OUTSIDE:
            entering[edge.target] += count
        if edge.source != OUTSIDE:
            leaving[edge.source] += count
    if entering != leaving:
        raise ValueError(f"{model.service}: the flow does not leave a block as often as it enters")
    return entering


def _share(part: Fraction, whole: Fraction) -> Fraction:
    return part / whole if whole else Fraction(0)


def _text(text: str) -> str:
    """Facts may have several lines."""
    return "\n".join(one_line(line) for line in text.splitlines())


def _assumed(model: PathModel) -> list[str]:
    found = [f"assumed: {text}" for text in model.assumptions]
    return found + [f"section not known: {text}" for text in model.unknown_accesses]


def _lines(
    number: int, begin: Place, end: Place, sources: Mapping[tuple[str, int], str]
) -> tuple[Line, ...]:
    first, last = _line(begin, number, sources), _line(end, number, sources)
    other = end.line and (begin.function, begin.file) == (end.function, end.file)
    return (first, last) if other and first.place != last.place else (first,)


def _line(place: Place, number: int, sources: Mapping[tuple[str, int], str]) -> Line:
    if place.line:
        where = (place.file, place.line)
        inlined = (place.inlined_file or place.file, place.inlined_line)
        deepest = inlined if place.inlined_line else where
        shown = f"{place.file}:{place.line}"
        if place.inlined_line:
            shown += f" (inlined {inlined[0]}:{inlined[1]})"
        text = one_line(sources.get(deepest, "").strip().expandtabs())
        return Line(one_line(shown), deepest[1], text)
    if place.function:
        return Line(one_line(f"{place.function}+{place.offset:#x}"), 0)
    return Line(f"block {number}", 0)


def _coverage(blocks: Sequence[BlockRow], edges: Sequence[EdgeRow]) -> Coverage:
    passed = [row for row in blocks if row.on_path]
    taken = [row for row in edges if row.on_path]
    return Coverage(
        len(passed), sum(row.seen for row in passed), len(taken), sum(row.seen for row in taken)
    )


def _differs(blocks: Sequence[BlockRow], edges: Sequence[EdgeRow]) -> tuple[DifferenceRow, ...]:
    found = []
    for edge in edges:
        if edge.seen or not edge.on_path:
            continue
        source = blocks[edge.source] if edge.source != OUTSIDE else None
        target = blocks[edge.target] if edge.target != OUTSIDE else None
        found.append(
            DifferenceRow(
                edge=edge.number,
                function=source.function if source else "",
                begin=source.lines[-1] if source else Line("entry", 0),
                to_function=target.function if target else "",
                end=target.lines[0] if target else Line("exit", 0),
                count=edge.count or 0,
                first=source is None or source.seen,
            )
        )
    return tuple(sorted(found, key=lambda row: not row.first))


def _activations(
    found: Sequence[Activation],
    blocks: Sequence[BlockRow],
    edges: Sequence[EdgeRow],
    whole: Fraction,
) -> tuple[ActivationRow, ...]:
    calls: list[tuple[str, ...]] = []
    for one in found:  # parents come first
        name = one_line(one.function) or "(unknown function)"
        calls.append((*(calls[one.parent] if one.parent is not None else ()), name))
    own = [Fraction(0)] * len(found)
    for block in blocks:
        own[block.activation] += block.total_ns or 0
    total = list(own)
    for number in reversed(range(len(found))):
        parent = found[number].parent
        if parent is not None:
            total[parent] += total[number]

    def around(node: int) -> list[int]:
        """The activation of a node and those that it is in, from the innermost on."""
        at = None if node == OUTSIDE else blocks[node].activation
        numbers = []
        while at is not None:
            numbers.append(at)
            at = found[at].parent
        return numbers

    entered = [0] * len(found)
    for edge in edges:
        if edge.count and OUTSIDE in (edge.source, edge.target):
            for number in around(edge.target):
                entered[number] += edge.count
        elif edge.count and blocks[edge.source].activation != blocks[edge.target].activation:
            left = set(around(edge.source))
            for number in around(edge.target):
                entered[number] += 0 if number in left else edge.count
    flows = any(block.count is not None for block in blocks)
    return tuple(
        ActivationRow(
            number=number,
            parent=one.parent,
            function=calls[number][-1],
            calls=calls[number],
            entered=entered[number] if flows else None,
            own_ns=own[number] if flows else None,
            total_ns=total[number] if flows else None,
            share=_share(total[number], whole) if flows else None,
        )
        for number, one in enumerate(found)
    )


def _binding(model: PathModel, label: str) -> BindingRow:
    for constraint in model.constraints:
        if constraint.label == label:
            return BindingRow(
                one_line(label),
                constraint.origin.value,
                one_line(constraint.because),
                one_line(constraint.place),
            )
    return BindingRow(one_line(label), "", "", "")
