"""Calls of random kernels without marks against a machine that knows its stack pointers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import SERVICES, batches
from test_windows_random import kernel
from tiny_machine import Machine, Step

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.model.service import Service, ServiceKind
from wcetchar.model.trace import Event


def truth(
    machine: Machine, calls: set[str], handlers: set[str]
) -> tuple[list[tuple[str, list[Step]]], Counter[tuple[str, str]], Counter[str]]:
    """Windows by stack pointer and return address; calls inside others; calls without an end."""
    entries = {machine.labels[name]: name for name in calls}
    vectors = {machine.labels[name]: name for name in handlers}
    done: list[tuple[str, list[Step]]] = []
    inside: Counter[tuple[str, str]] = Counter()
    open_: dict[int, tuple[str, list[Step]]] = {}
    before: set[int] = set()
    for step in machine.steps:
        known = step.owner in before
        if step.owner in open_:
            name, steps = open_[step.owner]
            if name in calls and (steps[0].pc, step.pc, step.sp) == (
                machine.labels[name], steps[0].back, steps[0].sp,
            ):  # fmt: skip
                done.append(open_.pop(step.owner))
        if not known and step.owner < 0 and step.pc in vectors:
            open_[step.owner] = (vectors[step.pc], [])
        elif known and step.pc in entries:
            name = entries[step.pc]
            outer, _ = open_.setdefault(step.owner, (name, []))
            if outer != name:
                inside[outer, name] += 1
        if step.owner in open_:
            open_[step.owner][1].append(step)
        before.add(step.owner)
    alive = {state[0] for state in machine.nested} | {machine.owner}
    for owner in [o for o in open_ if o < 0 and o not in alive]:
        done.append(open_.pop(owner))
    return done, inside, Counter(name for name, _ in open_.values())


def addresses(window: Window) -> list[int]:
    return [a for p in window.pieces for a in p.address[p.kind == Event.INSTRUCTION].tolist()]


@pytest.mark.parametrize("seed", range(100, 140))
def test_windows_are_what_was_called(seed: int, assemble: Callable[..., Path]) -> None:
    machine = kernel(seed, assemble)
    dice = random.Random(seed)
    callable_ = ["service", *sorted(n for n in machine.labels if n.startswith("helper_"))]
    calls = {name for name in [*callable_, "lock"] if dice.random() < 0.6} or {"service"}
    handlers = {name for name in ("tick", "other") if dice.random() < 0.5}
    services = [Service(name, None, ServiceKind.CALL, (name,)) for name in sorted(calls)]
    services += [Service(name, None, ServiceKind.HANDLER, (name,)) for name in sorted(handlers)]
    file = replace(SERVICES, marks=None, services=tuple(services))
    finder = WindowFinder(resolve(file, machine.image, machine.table), "random")
    size = (1, 3, 64, 1000)[seed % 4]
    found = list(find_windows(batches(machine.rows, size), finder))
    done, inside, unfinished = truth(machine, calls, handlers)
    expected = Counter((name, tuple(step.pc for step in steps)) for name, steps in done)
    assert Counter((w.service.name, tuple(addresses(w))) for w in found) == expected
    assert done
    assert finder.inside == inside
    assert Counter({name: n for (name, _), n in finder.given_up.items()}) == unfinished
    instructions = sum(row[0] == Event.INSTRUCTION for row in machine.rows)
    assert finder.traced == instructions
    assert finder.attributed.total() + finder.unattributed.total() == instructions
    assert finder.attributed.total() == sum(len(addresses(w)) for w in found)
