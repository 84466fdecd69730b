"""Random path models in a characterization: what is written reads back, and has one text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_store_characterization_roundtrip import BLOCKING, COUNT, TEXT, expressions, few

from wcetchar.model.access import (
    WIDTHS,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import (
    Characterization,
    Counts,
    Place,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    Word,
)
from wcetchar.model.path_model import (
    FlowConstraint,
    Gap,
    Origin,
    PathEdge,
    PathModel,
    PathNode,
    TracedPath,
    Unproved,
)
from wcetchar.model.service import Kernel, Parameter, ParameterKind, SectionKind, ServiceKind
from wcetchar.store import characterization_json, load_characterization

SECTIONS = (".text", "heap")
NAMES = ("N", "M")
NATURAL = st.integers(0, 2**40)
places = st.builds(Place, TEXT, NATURAL, TEXT, NATURAL, TEXT, NATURAL)
accesses = st.builds(
    AccessClass,
    st.sampled_from((*SECTIONS, "?")),
    st.sampled_from(Operation),
    st.sampled_from(WIDTHS),
    st.sampled_from(Pattern),
)
events = st.builds(CoreEvent, st.sampled_from(SECTIONS), st.sampled_from(EventKind))
between = st.dictionaries(events, st.integers(1, 1000), max_size=2)
successions = st.builds(
    Succession,
    st.none() | accesses,
    between.map(lambda found: tuple(found.items())),
    st.integers(0, 1000),
    st.booleans(),
    st.none() | accesses,
)
vectors = st.dictionaries(accesses | events | successions, COUNT, max_size=4).map(AccessVector)


points = st.fixed_dictionaries({name: st.integers(0, 9) for name in NAMES})
seen = st.tuples(points.map(lambda found: tuple(found.items())), NATURAL)


@st.composite
def models(draw: st.DrawFn, service: str) -> PathModel:
    kept = draw(st.lists(vectors, min_size=1, max_size=3).map(tuple))
    blockings = draw(st.lists(BLOCKING, min_size=1, max_size=2).map(tuple))
    nodes = draw(
        few(
            st.builds(
                PathNode,
                st.integers(0, len(kept) - 1),
                st.integers(0, len(blockings) - 1),
                places,
                places,
                st.booleans(),
            ),
            5,
        )
    )
    end = st.integers(-1, len(nodes) - 1)
    edges = draw(few(st.builds(PathEdge, end, end, st.booleans()), 6))
    coefficients: st.SearchStrategy[dict[int, object]] = st.just({})
    if edges:
        coefficients = st.dictionaries(st.integers(0, len(edges) - 1), expressions(NAMES))
    constraints = st.builds(
        FlowConstraint,
        TEXT,
        coefficients,
        expressions(NAMES),
        st.sampled_from(Origin),
        TEXT,
        TEXT,
        st.booleans(),
    )
    traced = st.builds(
        TracedPath,
        st.tuples(*(st.integers(0, 9) for _ in NAMES)),
        st.integers(0, len(kept) - 1),
    )
    return PathModel(
        service,
        kept,
        blockings,
        nodes,
        edges,
        draw(few(constraints)),
        draw(few(st.builds(Gap, TEXT, TEXT, places, TEXT, few(seen, 2)), 2)),
        draw(few(traced, 2)),
        draw(few(TEXT)),
        draw(few(TEXT)),
        *draw(st.tuples(NATURAL, NATURAL, NATURAL)),
        draw(few(st.builds(Unproved, TEXT, places, few(TEXT)), 2)),
        draw(st.integers(0, 2)),
        draw(st.booleans()),
        draw(few(st.sampled_from((16, 32)), 2)),
    )


def characterization(paths: tuple[PathModel, ...], names: tuple[str, ...]) -> Characterization:
    parameters = tuple(Parameter(n, ParameterKind.STATE, 0, 9, "") for n in NAMES)
    return Characterization(
        Kernel("K", "1"),
        "armv7-m",
        32,
        tuple(SectionInfo(name, SectionKind.CODE) for name in SECTIONS),
        tuple(
            ServiceCharacterization(n, ServiceKind.CALL, Word.BOUND, parameters, Counts())
            for n in names
        ),
        Provenance(""),
        paths=paths,
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paths") / "c.json"


@settings(max_examples=60)
@given(st.tuples(models("a"), models("b/call")), st.integers(0, 2))
def test_round_trip(path: Path, paths: tuple[PathModel, ...], kept: int) -> None:
    original = characterization(paths[:kept], ("a", "b/call"))
    text = characterization_json(original)
    assert ("paths" in json.loads(text)) == bool(kept)
    path.write_bytes(text.encode())
    again = load_characterization(str(path))
    assert again.paths == original.paths
    assert characterization_json(again) == text
