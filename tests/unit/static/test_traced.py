"""Traced paths held against facts and models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flow_programs import built
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import CheckFailed
from wcetchar.formula import parse
from wcetchar.model.access import (
    LINE_ENTRIES,
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
)
from wcetchar.model.characterization import Blocking
from wcetchar.model.expression import ONE
from wcetchar.model.flow_fact import Targets
from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import FlowConstraint, Origin, PathEdge, PathModel, PathNode
from wcetchar.static import traced
from wcetchar.static.facts import parse_facts
from wcetchar.static.flow.register_calls import register_calls
from wcetchar.static.lines import is_line_entry
from wcetchar.static.traced import check_constraints, check_counts, check_targets


def path(n: int) -> ObservedPath:
    none = np.zeros(0, dtype=bool)
    return ObservedPath("walk", (n,), np.zeros(0, dtype=np.int64), none, none, AccessVector())


def relation(limit: str) -> FlowConstraint:
    """Link 7 is taken that often at most, and link 8 counts against it."""
    coefficients = {7: ONE, 8: parse("0 - 1")}
    return FlowConstraint(
        "count(f) <= ...", coefficients, parse(limit), Origin.WRITTEN, "", "a.ff:3"
    )


@pytest.mark.parametrize(
    ("trail", "n", "kept"),
    [
        ([7, 7, 9], 2, True),
        ([7, 7, 7, 9], 2, False),
        ([7, 7, 7, 9], 3, True),
        ([7, 7, 8, 7], 2, True),
    ],
)
def test_relations(trail: list[int], n: int, kept: bool) -> None:
    trails = [(path(8), [7]), (path(n), trail)]
    if kept:
        check_constraints(trails, ["N"], (relation("N"),))
        return
    with pytest.raises(CheckFailed, match=f"at N={n}") as caught:
        check_constraints(trails, ["N"], (relation("N"),))
    assert "a.ff:3" in (caught.value.expected or "")


READ_OBJECT = AccessClass("objects", Operation.READ, 32, Pattern.SINGLE)
READ_LISTS = AccessClass("lists", Operation.READ, 32, Pattern.SINGLE)
READ_STACK = AccessClass("stack", Operation.READ, 32, Pattern.SINGLE)
JOINT = {"lists": ("data", "objects")}


def model(counted: AccessClass) -> PathModel:
    vectors = (AccessVector([(counted, 1)]),)
    edges = (PathEdge(-1, 0), PathEdge(0, -1))
    return PathModel("walk", vectors, (Blocking(),), (PathNode(0),), edges)


def test_a_joint_section_counts_what_traces_saw_of_its_parts() -> None:
    seen = replace(path(1), vector=AccessVector([(READ_OBJECT, 1)]))
    trails = [(seen, [0, 1])]
    check_counts(model(READ_OBJECT), trails, JOINT, frozenset())
    check_counts(model(READ_LISTS), trails, JOINT, frozenset())
    with pytest.raises(CheckFailed, match="counts otherwise"):
        check_counts(model(READ_STACK), trails, JOINT, frozenset())
    with pytest.raises(CheckFailed, match="counts otherwise"):
        check_counts(model(READ_LISTS), trails, {}, frozenset())


def test_a_trace_that_goes_elsewhere(tmp_path: Path) -> None:
    source = "f: bx r0\ng: bx lr\nh: bx lr\n"
    table = built(tmp_path, "v6m", source).table
    f, g, h = (
        next(n for n, row in enumerate(table.instructions) if row.address == a)
        for a in (0x1000, 0x1002, 0x1004)
    )
    (fact,) = parse_facts("jump at f: g", "a.ff").facts
    assert isinstance(fact, Targets)
    for to, goes in ((g, True), (h, False)):
        index, none = np.array([f, to]), np.zeros(2, dtype=bool)
        seen = ObservedPath("walk", (), index, ~none, none, AccessVector())
        if goes:
            check_targets([seen], [(fact, {f}, {g})], hex, table, register_calls(table))
            continue
        with pytest.raises(CheckFailed, match="goes from 0x1000 to 0x1004"):
            check_targets([seen], [(fact, {f}, {g})], hex, table, register_calls(table))


KEYS = st.sampled_from(
    [
        *(AccessClass(s, Operation.READ, 32, Pattern.SINGLE) for s in ("lists", "data", "objects")),
        AccessClass(UNKNOWN_SECTION, Operation.READ, 32, Pattern.SINGLE),
        READ_STACK,
        CoreEvent(".text", EventKind.ALU),
        *(CoreEvent(".text", kind) for kind in LINE_ENTRIES[32]),
    ]
)
VECTORS = st.dictionaries(KEYS, st.integers(1, 2), max_size=3).map(AccessVector)


@given(st.data())
def test_many_paths_at_once_are_held_against_counts_as_each_alone(data: st.DataObject) -> None:
    """What the fast way lets pass, the slow one does, too; and what both count differs at all."""
    lines = data.draw(st.sampled_from([(), (32,)]))
    vectors = [
        AccessVector((key, n) for key, n in one.items() if lines or not is_line_entry(key))
        for one in data.draw(st.lists(VECTORS, min_size=1, max_size=3))
    ]
    nodes = tuple(PathNode(n) for n in range(len(vectors)))
    edges = (*(PathEdge(-1, n) for n in range(len(nodes))), PathEdge(0, -1))
    made = PathModel("walk", tuple(vectors), (Blocking(),), nodes, edges, lines=lines)
    trail = data.draw(st.lists(st.integers(0, len(edges) - 1), max_size=4))
    true = sum((vectors[n] for n in trail if n < len(nodes)), AccessVector())
    seen = replace(path(1), vector=data.draw(st.one_of(st.just(true), VECTORS)))
    if not traced._Alike(made, {"data": "lists", "objects": "lists"})(seen, trail):
        return
    with pytest.MonkeyPatch.context() as slowly:
        slowly.setattr(traced._Alike, "__call__", lambda *_: False)
        check_counts(made, [(seen, trail)], JOINT, frozenset())


def test_the_fast_way_is_taken() -> None:
    vector = AccessVector([(READ_LISTS, 1), (READ_STACK, 2)])
    made = replace(model(READ_LISTS), vectors=(vector,))
    seen = replace(path(1), vector=AccessVector([(READ_OBJECT, 1), (READ_STACK, 2)]))
    alike = traced._Alike(made, {"data": "lists", "objects": "lists"})
    assert alike(seen, [0, 1])
    assert not alike(seen, [0, 0, 1])
    assert not alike(replace(seen, vector=vector + vector), [0, 1])
    assert alike(replace(seen, vector=AccessVector()), [])
