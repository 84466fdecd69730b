"""Whatever a file holds, only InputError comes out, and it names the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import wcetchar
from wcetchar.errors import InputError, InputErrors
from wcetchar.store import (
    load_characterization,
    load_map,
    load_measure_plan,
    load_measurements,
    load_partitions,
    load_profile,
    load_services,
    load_shared_device,
    load_slowdowns,
    load_system,
    load_working_sets,
)
from wcetchar.store.yaml_source import parse_yaml

ROOT = Path(wcetchar.__file__).resolve().parent
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
YAML_LOADERS: dict[str, Callable[[str], object]] = {
    "wcetchar/hardware-profile/1": load_profile,
    "wcetchar/section-map/1": load_map,
    "wcetchar/services/1": load_services,
    "wcetchar/measure/1": load_measure_plan,
    "wcetchar/measured/1": load_measurements,
    "wcetchar/working-sets/1": load_working_sets,
    "wcetchar/system/1": load_system,
    "wcetchar/partitions/1": load_partitions,
    "wcetchar/slowdowns/1": load_slowdowns,
    "wcetchar/shared-device/1": load_shared_device,
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "file"


def read(load: Callable[[str], object], path: Path, content: bytes) -> None:
    """Load ``content``; whatever fails must fail as an InputError that names the file."""
    path.write_bytes(content)
    failure: InputError | None = None
    try:
        load(str(path))
    except InputError as error:
        failure = error
    if failure is None:
        return
    single = failure.errors if isinstance(failure, InputErrors) else (failure,)
    assert isinstance(failure, InputErrors) == (len(single) > 1)
    assert all(error.where is not None and error.where.file == str(path) for error in single)
    assert all(line.isprintable() for line in str(failure).split("\n"))


@SETTINGS
@given(st.binary(max_size=300))
def test_arbitrary_bytes(path: Path, content: bytes) -> None:
    for load in (*YAML_LOADERS.values(), load_characterization):
        read(load, path, content)


@SETTINGS
@given(st.text(alphabet="ab:-,[]{}#&*!|>'\"%@`?<~01.\\ \n\t", max_size=80))
def test_text_that_is_nearly_yaml(path: Path, content: str) -> None:
    for schema, load in YAML_LOADERS.items():
        read(load, path, f"schema: {schema}\n{content}".encode())


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 300)
    | st.floats()
    | st.sampled_from(["memory", "14 ns", "1..3 cycles", "0 MHz", "code", "1..16", "N", "read"])
    | st.text(max_size=8)
)
KEYS = st.sampled_from(
    [
        "name",
        "core",
        "clock",
        "events",
        "alu",
        "regions",
        "kind",
        "bus width",
        "base",
        "size",
        "fetch",
        "read",
        "first",
        "next",
        "default",
        "sections",
        "parameters",
        "services",
        "mark",
        "entries",
        "range",
        "meaning",
        "kernel",
        "marks",
        "symbol",
        "values",
        "channels",
        "begin",
        "end",
        "hardware",
        "symbols",
        "counts",
        "rows",
        "points",
        "repetition",
        "blocking",
        "count",
        "section",
        "operation",
        "width",
        "pattern",
        "event",
        "word",
        "stretches",
        "evidence",
        "provenance",
        "traces",
    ]
) | st.text(max_size=6)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@SETTINGS
@given(st.dictionaries(KEYS, TREES, max_size=8))
@example(tree={"[key]": 0})
@example(tree={"sections": {"[key]": 0}, "services": {"[key]": {"[key]": []}}})
def test_trees_of_any_shape(path: Path, tree: dict[str, Any]) -> None:
    for schema, load in YAML_LOADERS.items():
        # JSON is YAML, but for NaN, which is text there.
        read(load, path, json.dumps({**tree, "schema": schema}).encode())
    head = {"kind": "wcetchar characterization", "schema_version": 1}
    read(load_characterization, path, json.dumps({**tree, **head}).encode())


def _replace_somewhere(data: Any, choose: Callable[[int], int], value: object) -> Any:
    """A copy of ``data`` with ``value`` in place of one of its nodes."""
    nodes: list[tuple[Any, Any]] = []
    data = json.loads(json.dumps(data))
    todo = [data]
    while todo:
        container = todo.pop()
        keys = container.keys() if isinstance(container, dict) else range(len(container))
        for key in keys:
            nodes.append((container, key))
            if isinstance(container[key], (dict, list)):
                todo.append(container[key])
    container, key = nodes[choose(len(nodes))]
    container[key] = value
    return data


CHARACTERIZATION = json.loads((ROOT / "store" / "published" / "renaux2010.json").read_text())
PROFILE = parse_yaml((ROOT / "hwprofiles" / "cortex-m3" / "flash-3ws.yaml").read_text(), "p").data


@SETTINGS
@given(st.data(), TREES)
def test_good_files_with_one_foreign_value(path: Path, data: st.DataObject, value: object) -> None:
    for load, good in ((load_characterization, CHARACTERIZATION), (load_profile, PROFILE)):
        changed = _replace_somewhere(good, lambda n: data.draw(st.integers(0, n - 1)), value)
        read(load, path, json.dumps(changed).encode())


@pytest.mark.parametrize("value", [[], {}, None, [[]]], ids=repr)
def test_every_node_of_a_good_file_replaced(path: Path, value: object) -> None:
    for load, good in ((load_characterization, CHARACTERIZATION), (load_profile, PROFILE)):
        chosen: list[int] = []
        _replace_somewhere(good, lambda n, chosen=chosen: chosen.append(n) or 0, value)
        for node in range(chosen[0]):
            changed = _replace_somewhere(good, lambda _, node=node: node, value)
            read(load, path, json.dumps(changed).encode())


@SETTINGS
@given(st.data())
def test_good_files_cut_anywhere(path: Path, data: st.DataObject) -> None:
    for load, name in (
        (load_characterization, "store/published/renaux2010.json"),
        (load_profile, "hwprofiles/renaux2010/platform3.yaml"),
    ):
        content = (ROOT / name).read_bytes()
        read(load, path, content[: data.draw(st.integers(0, len(content) - 2))])


@SETTINGS
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6),
        st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)
        | st.integers(-(10**30), 10**30)
        | st.booleans(),
        max_size=6,
    )
)
def test_quoted_text_and_integers_are_read_as_written(tree: dict[str, Any]) -> None:
    text = json.dumps(tree, ensure_ascii=False)
    source = parse_yaml(text, "f")
    assert source.mistakes == []
    assert source.data == tree
