"""Path models of small assembler programs, with paths that are written down in place of a trace."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from flow_programs import Program, built
from path_models import NANOSECOND, prices_of

from wcetchar import store
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.engine.paths import bound_of
from wcetchar.model.access import AccessVector, CoreEvent
from wcetchar.model.characterization import Word
from wcetchar.model.instruction import Flow
from wcetchar.model.masks import MaskState
from wcetchar.model.observed import Observed, ObservedPath
from wcetchar.model.path_model import PathModel
from wcetchar.pipeline.paths import PathModels, Request
from wcetchar.static.facts import parse_facts

SERVICES = """\
schema: wcetchar/services/1
kernel: {name: x, version: "1"}
marks: {symbol: wcet_mark, values: VALUES}
sections:
  .text: {kind: code, linker sections: [.text]}
  .data: {kind: data, linker sections: [.data]}
  .stack: {kind: stack, symbols: [stk]}
hardware: {task stack: .stack, main stack: .stack, vector section: .data}
services:
"""
DATA = """
.data
.global wcet_mark
.type wcet_mark, %object
.size wcet_mark, 4 * VALUES
wcet_mark: .space 4 * VALUES
.global stk
.type stk, %object
.size stk, 64
stk: .space 64
"""


@dataclass(frozen=True)
class Bound:
    """In instructions."""

    time: int
    word: Word


@dataclass
class Firmware:
    """Services by their names, with what the services file says of each."""

    made: Program
    resolved: Resolved
    monkeypatch: pytest.MonkeyPatch

    def at(self, label: str) -> str:
        """A place in a flow fact."""
        return hex(self.made.at(label))

    def path(
        self, service: str, *runs: tuple[str, str], values: Sequence[int] = ()
    ) -> ObservedPath:
        """One that goes through these runs of instructions, from label to label, both included."""
        rows = self.made.table.instructions
        number = {row.address: n for n, row in enumerate(rows)}
        index = [
            n
            for first, last in runs
            for n in range(number[self.made.at(first)], number[self.made.at(last)] + 1)
        ]
        taken = [one + 1 != after for one, after in itertools.pairwise(index)]
        ends = rows[index[-1]].flow
        taken.append(ends not in (Flow.NEXT, Flow.SUPERVISOR_CALL))
        return ObservedPath(
            service,
            tuple(values),
            np.array(index),
            np.array(taken),
            np.array([rows[n].memory is not None for n in index]),
            AccessVector(()),
            masks=MaskState(),
        )

    def models(
        self,
        facts: str,
        *paths: ObservedPath,
        targets: Mapping[int, tuple[int, ...]] | None = None,
    ) -> dict[str, PathModel]:
        """By service or part; ``targets``: where traces saw indirect calls and jumps go."""
        stated = parse_facts(facts, "x.ff").facts
        observed = Observed(paths, {}, frozenset(), targets or {})
        # The paths are given without what they count.
        self.monkeypatch.setattr("wcetchar.pipeline.paths.check_counts", lambda *_: None)
        models = PathModels(self.resolved, observed, Request(stated)).all()
        return {built.model.service: built.model for built in models}

    def bounds(self, facts: str, *paths: ObservedPath, **values: int) -> dict[str, Bound]:
        """By service or part."""
        return {name: longest(model, values) for name, model in self.models(facts, *paths).items()}


def longest(model: PathModel, values: dict[str, int]) -> Bound:
    assert not model.gaps, model.gaps
    counts = [
        sum(n for key, n in one.items() if isinstance(key, CoreEvent) and key.kind.is_issue)
        for one in model.vectors
    ]
    counted = replace(model, vectors=tuple(AccessVector({NANOSECOND: n}) for n in counts))
    found = bound_of(counted, prices_of(counted), values)
    assert found.time is not None
    return Bound(int(found.time), found.word)


def firmware(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    source: str,
    services: str = "  s: {mark: 1, kind: blocking call, entries: [f]}\n",
    values: int = 4,
) -> Firmware:
    """``services``: of the services file; ``values``: that a parameter may have."""
    made = built(folder, target, source + DATA.replace("VALUES", str(values)))
    (folder / "services.yaml").write_text(SERVICES.replace("VALUES", str(values)) + services)
    loaded = store.load_services(str(folder / "services.yaml"))
    return Firmware(made, resolve(loaded, made.image, made.table), monkeypatch)
