"""The whole of a sweep against the estimates of files that say each point, where others go on with
what services block and depend on swept parameters as well."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_chains import kernels

from wcetchar.model.characterization import Characterization
from wcetchar.model.sweep import WORDS
from wcetchar.pipeline import estimate, sweep
from wcetchar.store import characterization_json

BOARD = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  name: core
  clock: {clock} MHz
  events: {{alu: 1 cycle, supervisor call: {call} cycles}}
regions:
  r: {{kind: memory, bus width: 32, fetch: 1 cycle}}
default map: {{.text: r}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("swept")


@given(
    kernels,
    st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, 50), min_size=1, max_size=2, unique=True),
    st.permutations(range(2)),
)
@settings(max_examples=60)
def test_each_point(
    folder: Path, kernel: Characterization, ns: list[int], calls: list[int], order: list[int]
) -> None:
    published, board = folder / "k.json", folder / "board.yaml"
    published.write_text(characterization_json(kernel))
    board.write_text(BOARD.format(clock=80, call=1))
    vary = (
        "N=" + ",".join(map(str, ns)),
        "core.events.supervisor call=" + ",".join(f"{one} cycles" for one in calls),
    )
    asked = sweep.Request(str(published), str(board), None, tuple(vary[k] for k in order))
    found = sweep.run(asked)
    for n in ns:
        for call in calls:
            board.write_text(BOARD.format(clock=80, call=call))
            asked_once = estimate.Request(str(published), (str(board),), values={"N": n})
            for surface, one in zip(found.surfaces, estimate.run(asked_once), strict=True):
                place = tuple(
                    axis.numbers.index({"N": n}.get(axis.name, call)) for axis in found.axes
                )
                assert surface.total.at(place) == one.total.high
                assert surface.interrupts.at(place) == one.interrupts_held_off.high
                assert surface.preemption.at(place) == one.preemption_held_off.high
                assert WORDS[surface.words[place]] is one.word
