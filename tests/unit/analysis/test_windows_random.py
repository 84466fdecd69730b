"""Windows of random kernels against a machine that knows its threads, stack pointers and masks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import random_kernel
from listing import SERVICES, batches
from tiny_machine import SCRIPT, Machine

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import resolve
from wcetchar.analysis.windows import WindowFinder
from wcetchar.model.characterization import Blocking
from wcetchar.model.trace import Event


def found(machine: Machine, size: int) -> tuple[list[Window], WindowFinder]:
    resolved = resolve(SERVICES, machine.image, machine.table)
    finder = WindowFinder(resolved, "random")
    windows: list[Window] = []
    for batch in batches(machine.rows, size):
        windows += finder.feed(batch)
    return windows, finder


def events(window: Window) -> list[tuple[int, int, int, Blocking]]:
    return [
        (k, a, s, piece.blocking)
        for piece in window.pieces
        for k, a, s in zip(
            piece.kind.tolist(), piece.address.tolist(), piece.size.tolist(), strict=True
        )
    ]


def kernel(seed: int, assemble: Callable[..., Path], steps: int = 1500) -> Machine:
    program = random_kernel.Author(seed).program()
    return random_kernel.run(seed, assemble(program.source(), SCRIPT), program, steps, 0.04)


@pytest.mark.parametrize("seed", range(40))
def test_windows_are_what_the_machine_did(seed: int, assemble: Callable[..., Path]) -> None:
    machine = kernel(seed, assemble)
    truth = random_kernel.windows(machine)
    windows, finder = found(machine, (1, 3, 64, 1000)[seed % 4])
    assert len(windows) == len(truth)
    for window, steps in zip(windows, truth, strict=True):
        seen = events(window)
        expected = [
            row
            for step in steps
            for row in [(Event.INSTRUCTION, step.pc), *((k, a) for k, a, _ in step.accesses)]
        ]
        assert [(k, a) for k, a, _, _ in seen] == expected
        forms = [b for k, _, _, b in seen if k == Event.INSTRUCTION]
        for step, form in zip(steps, forms, strict=True):
            assert form.preemption == step.locked, hex(step.pc)
            if form.unknown:
                continue
            priority = None if step.primask else step.basepri or None
            assert (form.interrupts, form.priority) == (bool(step.primask), priority), hex(step.pc)
    instructions = sum(row[0] == Event.INSTRUCTION for row in machine.rows)
    assert finder.traced == instructions
    tallied = sum(finder.attributed.values()) + sum(finder.unattributed.values())
    assert tallied == instructions
