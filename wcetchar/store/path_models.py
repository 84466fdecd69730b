"""Path models in the characterization file.

They share tables, since blocks are many and alike: ``keys`` are what is counted, ``vectors`` count
them (``0x2 5x1``: key 0 twice, key 5 once), and each model names the vectors that it uses. Nodes
and edges are rows of numbers, without the zeros at their ends::

    "paths": {
     "keys": [{"section": ".text", "event": "alu"}],
     "vectors": ["0x2"],
     "models": [
      {
       "service": "allocate",
       "vectors": [0],
       "blockings": [{}, {"preemption": true}],
       "places": [{"function": "pvPortMalloc", "offset": 4}],
       "nodes": [[0], [0, 1, 1, 1, 1]],
       "edges": [[-1, 0], [0, 1], [1, 1], [1, -1]],
       "constraints": [
        {"label": "loop", "coefficients": {"1": "-N", "2": "1"}, "limit": "0", "origin": "written"}
       ]
      }
     ]
    }

A node is [vector, blocking, place, end, seen, run in, run out], numbers of the model's own lists;
places, and the last two, vectors, are counted from 1, 0 is none. An edge is [source, target, seen];
-1 is outside. A traced path is a vector, and the values of the service's parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from wcetchar import formula
from wcetchar.errors import InputError
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import STALL_EDITION
from wcetchar.model.path_model import (
    NOWHERE,
    OUTSIDE,
    FlowConstraint,
    Gap,
    Origin,
    PathEdge,
    PathModel,
    PathNode,
    TracedPath,
    Unproved,
)
from wcetchar.store.access_doc import (
    BlockingDoc,
    Boolean,
    Count,
    PlaceDoc,
    SuccessionDoc,
    Value,
    Width,
    plain_access,
    plain_blocking,
    plain_place,
    plain_succession,
    sparse,
)
from wcetchar.store.checking import Integer, JsonModel, list_at, mapping_at
from wcetchar.store.source import Source, Steps, shown

Index = Annotated[Integer, Field(ge=0, le=10**7)]
Vector = Annotated[
    str, Field(pattern="^([0-9]{1,8}x[1-9][0-9]{0,18}( [0-9]{1,8}x[1-9][0-9]{0,18})*)?$")
]
Edge = Annotated[str, Field(pattern="^(0|[1-9][0-9]{0,7})$")]
"""Number of an edge, as the key of a JSON object."""
Node = Annotated[list[Index], Field(min_length=1, max_length=7)]
Ends = Annotated[
    list[Annotated[Integer, Field(ge=OUTSIDE, le=10**7)]], Field(min_length=2, max_length=3)
]


class KeyDoc(JsonModel):
    """What is counted: an access class, a core event, or a succession."""

    section: str | None = Field(None, description="logical section")
    operation: Operation | None = Field(None, description="of an access")
    width: Width | None = Field(None, description="in bits; 0: unknown")
    pattern: Pattern | None = Field(None, description="of an access")
    event: EventKind | None = Field(None, description="core event")
    succession: SuccessionDoc | None = Field(None, description="two accesses, one behind the other")

    def key(self) -> Key | None:
        """``None``: it is none of these, or several."""
        access = (self.operation, self.width, self.pattern)
        if self.succession is not None:
            alone = self.section is None and self.event is None and access == (None, None, None)
            return self.succession.to_model() if alone else None
        if self.section is None:
            return None
        if self.event is not None:
            return CoreEvent(self.section, self.event) if access == (None, None, None) else None
        if self.operation is None or self.width is None or self.pattern is None:
            return None
        return AccessClass(self.section, self.operation, self.width, self.pattern)


class ConstraintDoc(JsonModel):
    """sum of coefficients times how often the edges are taken <= limit; formulas."""

    label: str = Field(description="what it is and where, for people")
    coefficients: dict[Edge, str] = Field(description="number of an edge to a formula")
    limit: str = Field(description="a formula")
    origin: Origin = Field(description="automatic, written or observed")
    because: str = Field("", description="the reason that the fact gives")
    place: str = Field("", description="of the fact in its file, for people")
    each: Boolean = Field(False, description="it holds for each entry of a loop by itself")

    def to_model(self) -> FlowConstraint:
        return FlowConstraint(
            self.label,
            {int(edge): formula.parse(text) for edge, text in self.coefficients.items()},
            formula.parse(self.limit),
            self.origin,
            self.because,
            self.place,
            self.each,
        )


class SeenDoc(JsonModel):
    """How often traces went round a loop, at most, at values of the parameters."""

    values: dict[str, Integer] = Field(description="values of the parameters")
    count: Count = Field(description="rounds, at most")


class GapDoc(JsonModel):
    """Why the flow has no bound."""

    what: str = Field(description="what is missing")
    where: str = Field(description="for people")
    place: PlaceDoc | None = Field(None, description="for programs; absent: not known")
    fact: str = Field("", description="a flow fact that would close it, to be filled in")
    observed: list[SeenDoc] = Field(
        default_factory=list, description="how often traces went round the loop for one entry"
    )

    def to_model(self) -> Gap:
        return Gap(
            self.what,
            self.where,
            self.place.to_model() if self.place else NOWHERE,
            self.fact,
            tuple((tuple(one.values.items()), one.count) for one in self.observed),
        )


class UnprovedDoc(JsonModel):
    """What traces alone say, or nobody."""

    fact: str = Field(description="the flow fact that would say it, up to its place")
    place: PlaceDoc | None = Field(None, description="for programs; absent: not known")
    seen: list[str] = Field(
        default_factory=list, description="what would follow, as far as traces showed"
    )

    def to_model(self) -> Unproved:
        place = self.place.to_model() if self.place else NOWHERE
        return Unproved(self.fact, place, tuple(self.seen))


class PathModelDoc(JsonModel):
    """Every path that a service, or a part of it, can take."""

    service: str = Field(description="its published name")
    vectors: list[Index] = Field(description="numbers of vectors of all models")
    blockings: list[BlockingDoc] = Field(description="what nodes hold off")
    places: list[PlaceDoc] = Field(
        default_factory=list, description="where the instructions of nodes lie"
    )
    nodes: list[Node] = Field(
        description="vector, blocking, place, end, seen, run in, run out; numbers of the lists "
        "above, places and the vectors of runs from 1"
    )
    edges: list[Ends] = Field(description="source, target, seen; -1: outside")
    constraints: list[ConstraintDoc] = Field(
        default_factory=list, description="how often edges are taken, one beside the other"
    )
    gaps: list[GapDoc] = Field(default_factory=list, description="what is missing for a bound")
    traced: list[Annotated[list[Value], Field(min_length=1)]] = Field(
        default_factory=list,
        description="paths that traces took: vector, values of the service's parameters",
    )
    assumptions: list[str] = Field(default_factory=list, description="what the model holds under")
    unknown_accesses: list[str] = Field(
        default_factory=list, description="accesses that go where nobody says"
    )
    accesses: Annotated[list[Count], Field(min_length=3, max_length=3)] = Field(
        default=[0, 0, 0],
        description="instructions whose accesses go to a known section: by proof, by a flow fact, "
        "as far as traces showed",
    )
    unproved: list[UnprovedDoc] = Field(
        default_factory=list, description="accesses and jumps that go where only traces say"
    )
    stalls: Annotated[Integer, Field(ge=0, le=STALL_EDITION)] = Field(
        0, description="edition of the definitions by which stalls are counted"
    )
    successions: Boolean = Field(False, description="which access follows which is counted")
    lines: list[Count] = Field(
        default_factory=list, description="bytes of a line, for each of which entries are counted"
    )

    follows_masks: Boolean = Field(
        False, description="nodes say what is held off on every path; else nobody looked"
    )

    def to_model(self, vectors: Sequence[AccessVector]) -> PathModel:
        places = [NOWHERE, *(place.to_model() for place in self.places)]
        nodes = (row + [0] * (7 - len(row)) for row in self.nodes)
        return PathModel(
            service=self.service,
            vectors=tuple(vectors[number] for number in self.vectors),
            blockings=tuple(one.to_model() for one in self.blockings),
            nodes=tuple(
                PathNode(
                    vector,
                    blocking,
                    places[place],
                    places[end],
                    bool(seen),
                    run_in - 1 if run_in else None,
                    run_out - 1 if run_out else None,
                )
                for vector, blocking, place, end, seen, run_in, run_out in nodes
            ),
            edges=tuple(PathEdge(row[0], row[1], bool(row[2:] and row[2])) for row in self.edges),
            constraints=tuple(one.to_model() for one in self.constraints),
            gaps=tuple(one.to_model() for one in self.gaps),
            traced=tuple(TracedPath(tuple(row[1:]), row[0]) for row in self.traced),
            assumptions=tuple(self.assumptions),
            unknown_accesses=tuple(self.unknown_accesses),
            proved_accesses=self.accesses[0],
            written_accesses=self.accesses[1],
            observed_accesses=self.accesses[2],
            unproved=tuple(one.to_model() for one in self.unproved),
            stalls=self.stalls,
            successions=self.successions,
            lines=tuple(self.lines),
            follows_masks=self.follows_masks,
        )


class PathsDoc(JsonModel):
    """Path models, and what they share."""

    keys: list[KeyDoc] = Field(description="what vectors count")
    vectors: list[Vector] = Field(description="`0x2 5x1`: key 0 twice, key 5 once")
    models: list[PathModelDoc] = Field(description="of services and of parts of services")

    def to_models(self) -> tuple[PathModel, ...]:
        keys = [one.key() for one in self.keys]
        vectors = [
            AccessVector((key, count) for n, count in _pairs(text) if (key := keys[n]) is not None)
            for text in self.vectors
        ]
        return tuple(model.to_model(vectors) for model in self.models)


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    for word in text.split():
        number, count = word.split("x")
        yield int(number), int(count)


def plain_paths(models: Sequence[PathModel]) -> dict[str, Any]:
    """Path models as plain data; empty where there are none."""
    if not models:
        return {}
    keys: dict[Key, int] = {}
    vectors: dict[str, int] = {}

    def number_of(vector: AccessVector) -> int:
        pairs = sorted((keys.setdefault(key, len(keys)), n) for key, n in vector.items())
        return vectors.setdefault(" ".join(f"{k}x{n}" for k, n in pairs), len(vectors))

    plain = [_plain(model, [number_of(vector) for vector in model.vectors]) for model in models]
    return {"keys": [_key(key) for key in keys], "vectors": [*vectors], "models": plain}


def _key(key: Key) -> dict[str, Any]:
    if isinstance(key, Succession):
        return {"succession": plain_succession(key)}
    if isinstance(key, CoreEvent):
        return {"section": key.section, "event": key.kind.value}
    return plain_access(key)


def _plain(model: PathModel, vectors: list[int]) -> dict[str, Any]:
    places = {NOWHERE: 0}
    rows = [
        [
            node.vector,
            node.blocking,
            places.setdefault(node.place, len(places)),
            places.setdefault(node.end, len(places)),
            int(node.seen),
            0 if node.run_in is None else node.run_in + 1,
            0 if node.run_out is None else node.run_out + 1,
        ]
        for node in model.nodes
    ]
    accesses = [model.proved_accesses, model.written_accesses, model.observed_accesses]
    data = {
        "service": model.service,
        "vectors": vectors,
        "blockings": [plain_blocking(one) for one in model.blockings],
        "places": [plain_place(place) for place in [*places][1:]],
        "nodes": [_trimmed(row, 1) for row in rows],
        "edges": [_trimmed([e.source, e.target, int(e.seen)], 2) for e in model.edges],
        "constraints": [_constraint(one) for one in model.constraints],
        "gaps": [
            sparse(
                {
                    "what": gap.what,
                    "where": gap.where,
                    "place": plain_place(gap.place),
                    "fact": gap.fact,
                    "observed": [
                        {"values": dict(point), "count": count} for point, count in gap.observed
                    ],
                },
                "place",
                "fact",
                "observed",
            )
            for gap in model.gaps
        ],
        "traced": [[one.vector, *one.values] for one in model.traced],
        "assumptions": [*model.assumptions],
        "unknown_accesses": [*model.unknown_accesses],
        "accesses": accesses if any(accesses) else [],
        "unproved": [
            sparse(
                {"fact": one.fact, "place": plain_place(one.place), "seen": [*one.seen]},
                "place",
                "seen",
            )
            for one in model.unproved
        ],
        "stalls": model.stalls,
        "successions": model.successions,
        "lines": [*model.lines],
        "follows_masks": model.follows_masks,
    }
    always = ("service", "vectors", "blockings", "nodes", "edges")
    return sparse(data, *(key for key in data if key not in always))


def _trimmed(row: list[int], least: int) -> list[int]:
    while len(row) > least and not row[-1]:
        row.pop()
    return row


def _constraint(one: FlowConstraint) -> dict[str, Any]:
    data = {
        "label": one.label,
        "coefficients": {
            str(edge): formula.to_text(one.coefficients[edge]) for edge in sorted(one.coefficients)
        },
        "limit": formula.to_text(one.limit),
        "origin": one.origin.value,
        "because": one.because,
        "place": one.place,
        "each": one.each,
    }
    return sparse(data, "because", "place", "each")


def check_paths(source: Source) -> None:
    """What no schema says: numbers of what is not there, sections that are not declared, formulas,
    services that stand twice."""
    paths = mapping_at(source.data, "paths")
    declared = [s.get("name") for s in list_at(source.data, "sections") if isinstance(s, dict)]
    _check_keys(source, paths, {*filter(_is_text, declared), "?"})
    parameters = {
        service.get("name"): tuple(
            p["name"]
            for p in list_at(service, "parameters")
            if isinstance(p, dict) and _is_text(p.get("name"))
        )
        for service in list_at(source.data, "services")
        if isinstance(service, dict) and _is_text(service.get("name"))
    }
    seen: set[str] = set()
    for number, model in enumerate(list_at(paths, "models")):
        at: Steps = ("paths", "models", number)
        name = mapping_at(model).get("service")
        if isinstance(name, str):
            if name in seen:
                source.report(
                    (*at, "service"),
                    f"the paths of {shown(name)} are given twice",
                    expected="each service once",
                )
            seen.add(name)
            if name not in parameters:
                source.report(
                    (*at, "service"),
                    f"there is no service {shown(name)}",
                    expected="the name of one of `services`",
                )
        names = parameters.get(name, ()) if isinstance(name, str) else ()
        _check_numbers(source, at, model, len(list_at(paths, "vectors")))
        _check_traced(source, at, model, names)
        _check_constraints(source, at, model, names)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _check_keys(source: Source, paths: Mapping[str, Any], declared: Collection[Any]) -> None:
    keys = list_at(paths, "keys")
    for number, key in enumerate(keys):
        if not isinstance(key, dict):
            continue
        at: Steps = ("paths", "keys", number)
        kinds = [*(k for k in ("operation", "event", "succession") if key.get(k) is not None)]
        whole = all(key.get(k) is not None for k in ("section", "width", "pattern"))
        extra = any(key.get(k) is not None for k in ("width", "pattern"))
        if (
            len(kinds) != 1
            or (kinds == ["operation"] and not whole)
            or (kinds != ["operation"] and extra)
            or ((key.get("section") is None) != (kinds == ["succession"]))
        ):
            source.report(
                at,
                "this is no access, no event and no succession",
                expected='"section" with "operation", "width" and "pattern", or with "event"; or '
                '"succession"',
            )
        for steps, one in _of_key(key):
            section = one.get("section")
            if isinstance(section, str) and section not in declared:
                source.report(
                    (*at, *steps, "section"),
                    f"the section {shown(section)} is not declared",
                    expected="a section of `sections`",
                )
    for number, text in enumerate(list_at(paths, "vectors")):
        used = [word.split("x")[0] for word in text.split()] if isinstance(text, str) else []
        numbers = [int(word) for word in used if word.isascii() and word.isdecimal()]
        if numbers != sorted(set(numbers)) or any(n >= len(keys) for n in numbers):
            source.report(
                ("paths", "vectors", number),
                f"{shown(text)} counts keys twice, in another order, or such that are not there",
                expected=f"numbers below {len(keys)} in order, each once",
            )


def _of_key(key: dict[str, Any]) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Whatever of a key has a section."""
    yield (), key
    for part in ("before", "access"):
        yield ("succession", part), mapping_at(key, "succession", part)
    for number, event in enumerate(list_at(key, "succession", "between")):
        yield ("succession", "between", number), mapping_at(event)


def _check_numbers(source: Source, at: Steps, model: Any, vectors: int) -> None:
    sizes = (
        ("vector", len(list_at(model, "vectors"))),
        ("blocking", len(list_at(model, "blockings"))),
        ("place", len(list_at(model, "places")) + 1),
        ("place", len(list_at(model, "places")) + 1),
        ("such mark", 2),
        ("vector", len(list_at(model, "vectors")) + 1),
        ("vector", len(list_at(model, "vectors")) + 1),
    )
    nodes = len(list_at(model, "nodes"))
    for number, vector in enumerate(list_at(model, "vectors")):
        _below(source, (*at, "vectors", number), vector, vectors, "vector")
    for number, row in enumerate(list_at(model, "nodes")):
        steps: Steps = (*at, "nodes", number)
        if not isinstance(row, list):
            continue
        for index, (value, (what, size)) in enumerate(zip(row, sizes, strict=False)):
            _below(source, (*steps, index), value, size, what)
        if len(row) == 1 and not sizes[1][1]:
            _below(source, (*steps, 0), 0, 0, "blocking")
    for number, row in enumerate(list_at(model, "edges")):
        for index, value in enumerate(row if isinstance(row, list) else ()):
            of, size = ("node", nodes) if index < 2 else ("such mark", 2)
            _below(source, (*at, "edges", number, index), value, size, of)


def _check_traced(source: Source, at: Steps, model: Any, names: tuple[str, ...]) -> None:
    vectors = len(list_at(model, "vectors"))
    for number, row in enumerate(list_at(model, "traced")):
        if isinstance(row, list) and row:
            steps: Steps = (*at, "traced", number)
            _below(source, (*steps, 0), row[0], vectors, "vector")
            if isinstance(row[0], int) and row[0] < 0:
                source.report((*steps, 0), f"there is no vector {row[0]}", expected="at least 0")
            if len(row) != len(names) + 1:
                source.report(
                    steps,
                    f"{len(row) - 1} values",
                    expected=f"a vector and {len(names)} values, of "
                    + (", ".join(names) or "no parameter"),
                )


def _below(source: Source, steps: Steps, value: Any, size: int, what: str) -> None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= size:
        source.report(steps, f"there is no {what} {value}", expected=f"a number below {size}")


def _check_constraints(source: Source, at: Steps, model: Any, names: tuple[str, ...]) -> None:
    edges = len(list_at(model, "edges"))
    for number, one in enumerate(list_at(model, "constraints")):
        steps: Steps = (*at, "constraints", number)
        for edge, text in mapping_at(one, "coefficients").items():
            here: Steps = (*steps, "coefficients", edge)
            if edge.isascii() and edge.isdecimal() and int(edge[:9]) >= edges:
                source.report(
                    here,
                    f"there is no edge {shown(edge)}",
                    expected=f"a number below {edges}",
                    key=True,
                )
            _check_formula(source, here, text, names)
        _check_formula(source, (*steps, "limit"), mapping_at(one).get("limit"), names)


def _check_formula(source: Source, steps: Steps, text: Any, names: tuple[str, ...]) -> None:
    if not isinstance(text, str):
        return
    try:
        formula.parse(text, names=names)
    except InputError as error:
        source.report(steps, error.message, expected=error.expected, hint=error.hint)
