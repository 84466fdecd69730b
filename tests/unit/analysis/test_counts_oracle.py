"""Counts and blocking stretches against an oracle that goes through a window event by event."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from count_oracle import Key, Oracle
from listing import SERVICES
from test_windows_random import events, found, kernel

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import rows_of, stretches
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.counting.columns import key_of, unpack
from wcetchar.model.access import AccessClass
from wcetchar.model.characterization import Blocking, StretchKind
from wcetchar.model.service import ServicesFile


def key(code: int, resolved: Resolved) -> Key:
    found = key_of(code, resolved.section_names)
    if isinstance(found, AccessClass):
        return (found.section, found.operation.value, str(found.width), found.pattern.value)
    return (found.section, found.kind.value)


def counted(packed: Any, labeller: Labeller, resolved: Resolved) -> Counter[Any]:
    rows = [unpack(p) for p in packed.tolist()]
    return Counter((labeller.blockings[b], key(code, resolved)) for b, code, _ in rows)


def split(counts: Counter[Any]) -> tuple[Counter[Any], int]:
    """(without realigned fetches, how many those are)."""
    plain = Counter({k: n for k, n in counts.items() if k[1][-1] != "realigned"})
    return plain, sum(counts.values()) - sum(plain.values())


def fetches(counts: Counter[Any]) -> int:
    return sum(n for (_, k), n in counts.items() if k[1] == "fetch")


def check(window: Window, labeller: Labeller, resolved: Resolved, oracle: Oracle) -> None:
    labelled: Labelled = labeller.label(window)
    done = oracle.executed(events(window))
    services: ServicesFile = resolved.services
    frame = None
    if window.exception is not None:
        frame = services.main_stack if window.from_handler else services.task_stack
    plain, realigned = split(counted(labelled.packed, labeller, resolved))
    assert plain == oracle.count(done, frame)
    needed = [oracle.fetched(done, shift) for shift in oracle.shifts()]
    assert realigned == oracle.realigned(done, needed, 0, len(done) - 1)
    assert fetches(plain) + realigned >= max(map(sum, needed))
    for kind in StretchKind:
        holds = [held(one.blocking, kind) for one in done]
        mine = [
            s
            for s in stretches(
                window, labelled, labeller.blockings, labeller.is_call, labeller.exceptions
            )
            if s.kind is kind
        ]
        assert [(s.first, s.last) for s in mine] == oracle.stretches(done, holds)
        for stretch in mine:
            rows = counted(rows_of(labelled, stretch), labeller, resolved)
            plain, realigned = split(rows)
            assert realigned == oracle.realigned(done, needed, stretch.first, stretch.last)
            for at_shift in needed:
                wanted = sum(at_shift[stretch.first : stretch.last + 1])
                assert fetches(plain) + realigned >= wanted
            if frame is None:
                without = Counter({k: n for k, n in plain.items() if k[1][1] != "fetch"})
                part = range(stretch.first, stretch.last + 1)
                expected = oracle.count(done, within=part)
                assert without == Counter({k: n for k, n in expected.items() if k[1][1] != "fetch"})


def held(blocking: Any, kind: StretchKind) -> bool:
    assert isinstance(blocking, Blocking)
    masked = blocking.interrupts or blocking.unknown or blocking.priority is not None
    return masked or (kind is StretchKind.PREEMPTION and blocking.preemption)


@pytest.mark.parametrize("seed", range(100, 116))
@pytest.mark.parametrize("fetch_bytes", [4, 2, 8])
def test_random_kernels(seed: int, fetch_bytes: int, assemble: Callable[..., Path]) -> None:
    machine = kernel(seed, assemble, 600)
    machine.table = dataclasses.replace(machine.table, fetch_bytes=fetch_bytes)
    resolved = resolve(SERVICES, machine.image, machine.table)
    labeller = Labeller(resolved, "random")
    oracle = Oracle(machine.image, machine.table, SERVICES)
    windows, _ = found(machine, 64)
    for window in windows[:8]:
        check(window, labeller, resolved, oracle)
