"""Path models in a characterization file: what they look like, and mistakes at their place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import Blocking, Place
from wcetchar.model.expression import Name, Negate, Number
from wcetchar.model.path_model import (
    FlowConstraint,
    Origin,
    PathEdge,
    PathModel,
    PathNode,
    Unproved,
)
from wcetchar.store import characterization_json, load_characterization
from wcetchar.store.schema_files import FOLDER

PATHS: dict[str, Any] = {
    "keys": [{"section": ".text", "event": "alu"}],
    "vectors": ["0x2", "0x5"],
    "models": [
        {
            "service": "allocate",
            "vectors": [1, 0],
            "blockings": [{}, {"preemption": True}],
            "places": [{"function": "pvPortMalloc", "offset": 4}],
            "nodes": [[0], [1, 1, 1, 0, 1]],
            "edges": [[-1, 0], [0, 1], [1, 1, 1], [1, -1]],
            "constraints": [
                {
                    "label": "loop",
                    "coefficients": {"1": "-N", "2": "1"},
                    "limit": "0",
                    "origin": "written",
                    "each": True,
                }
            ],
            "unproved": [
                {
                    "fact": "access at pvPortMalloc+0x4",
                    "place": {"function": "pvPortMalloc", "offset": 4},
                    "seen": ["heap"],
                },
                {"fact": "call at pvPortMalloc+0x6"},
            ],
        }
    ],
}
FILE: dict[str, Any] = {
    "kind": "wcetchar characterization",
    "schema_version": 1,
    "kernel": {"name": "K", "version": "1"},
    "architecture": "armv7-m",
    "fetch_width": 32,
    "sections": [{"name": ".text", "kind": "code"}],
    "services": [
        {
            "name": "allocate",
            "kind": "call",
            "word": "bound",
            "parameters": [
                {"name": "N", "kind": "state", "minimum": 1, "maximum": 16, "meaning": "blocks"}
            ],
            "counts": {"rows": []},
            "stretches_known": True,
        }
    ],
    "paths": PATHS,
    "provenance": {"tool": "test"},
}
ALU = CoreEvent(".text", EventKind.ALU)
MODEL = PathModel(
    "allocate",
    (AccessVector({ALU: 5}), AccessVector({ALU: 2})),
    (Blocking(), Blocking(preemption=True)),
    (PathNode(0), PathNode(1, 1, Place("pvPortMalloc", 4), seen=True)),
    (PathEdge(-1, 0), PathEdge(0, 1), PathEdge(1, 1, True), PathEdge(1, -1)),
    (
        FlowConstraint(
            "loop", {1: Negate(Name("N")), 2: Number(1)}, Number(0), Origin.WRITTEN, each=True
        ),
    ),
    unproved=(
        Unproved("access at pvPortMalloc+0x4", Place("pvPortMalloc", 4), ("heap",)),
        Unproved("call at pvPortMalloc+0x6"),
    ),
)


def write(folder: Path, content: Any) -> str:
    path = folder / "c.json"
    path.write_text(json.dumps(content, indent=1))
    return str(path)


def test_a_file_by_hand(tmp_path: Path) -> None:
    found = load_characterization(write(tmp_path, FILE))
    assert found.paths == (MODEL,)
    schema = json.loads((FOLDER / "characterization.json").read_text())
    jsonschema.validate(FILE, schema)
    again = json.loads(characterization_json(found))["paths"]
    # Vectors are numbered anew, in the order in which models use them.
    assert again["vectors"] == ["0x5", "0x2"]
    assert again["models"] == [{**PATHS["models"][0], "vectors": [0, 1]}]


def test_a_file_without_paths_reads_as_before(tmp_path: Path) -> None:
    old = {key: value for key, value in FILE.items() if key != "paths"}
    assert load_characterization(write(tmp_path, old)).paths == ()


def _model(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda paths: paths["models"][0].update(changed)


def _constraint(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda paths: paths["models"][0]["constraints"][0].update(changed)


def _paths(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda paths: paths.update(changed)


MISTAKES: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_model(service="free"), "there is no service `free`"),
    (_model(vectors=[1, 2]), "there is no vector 2"),
    (_model(nodes=[[0], [2]]), "there is no vector 2"),
    (_model(nodes=[[0], [0, 2]]), "there is no blocking 2"),
    (_model(nodes=[[0], [0, 0, 2]]), "there is no place 2"),
    (_model(nodes=[[0], [0, 0, 0, 0, 2]]), "there is no such mark 2"),
    (_model(nodes=[[0], [-1]]), "-1"),
    (_model(nodes=[[0], []]), "cannot stand here"),
    (_model(blockings=[]), "there is no blocking 0"),
    (_model(edges=[[-1, 0], [0, 1], [1, 1], [1, 2]]), "there is no node 2"),
    (_model(edges=[[-2, 0], [0, 1], [1, 1], [1, -1]]), "-2"),
    (_model(edges=[[-1, True], [0, 1], [1, 1], [1, -1]]), "true"),
    (_model(stalls=3), "3"),
    (_model(unknown=1), "`unknown` is not known here"),
    (_constraint(coefficients={"4": "1"}), "there is no edge `4`"),
    (_constraint(coefficients={"01": "1"}), "01"),
    (_constraint(coefficients={"1": "M"}), "M"),
    (_constraint(limit="1 +"), "1 +"),
    (_constraint(origin="guessed"), "guessed"),
    (_paths(keys=[{"section": "heap", "event": "alu"}]), "`heap` is not declared"),
    (_paths(keys=[{"section": ".text", "event": "alu", "width": 8}]), "no access, no event"),
    (_paths(keys=[{"section": ".text", "operation": "read", "width": 8}]), "no access, no event"),
    (_paths(keys=[{"event": "alu"}]), "no access, no event"),
    (_paths(keys=[{"section": ".text", "succession": {}}]), "no access, no event"),
    (
        _paths(keys=[{"succession": {"between": [{"section": "x", "event": "alu", "count": 1}]}}]),
        "`x` is not declared",
    ),
    (_paths(vectors=["0x2", "1x5"]), "not there"),
    (_paths(vectors=["0x2 0x2", "0x5"]), "twice"),
    (_paths(vectors=["0x0", "0x5"]), "0x0"),
    (_paths(models=[*PATHS["models"], *PATHS["models"]]), "given twice"),
]


@pytest.mark.parametrize(("change", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_told_with_their_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    content = json.loads(json.dumps(FILE))
    change(content["paths"])
    with pytest.raises(InputError) as caught:
        load_characterization(write(tmp_path, content))
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else (caught.value,)
    assert any(message in str(error) for error in errors), str(caught.value)
    assert all(error.where is not None and error.where.line for error in errors)
