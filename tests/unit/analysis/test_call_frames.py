"""Functions inside of one another: by hand, and of random kernels against a machine that knows its
stack pointer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import random_kernel
from listing import SCRIPT, SERVICES, SOURCE, load
from test_windows_random import found, kernel
from tiny_machine import Step

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.call_frames import Functions, call_frames
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.model.image import Image
from wcetchar.model.invocation import CallFrame


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    return resolve(SERVICES, *load(assemble(SOURCE, SCRIPT)))


def frames(
    resolved: Resolved, addresses: Sequence[int], calls: tuple[int, ...] = ()
) -> list[tuple[str, int, int, int, int]]:
    """Name, first, last, caller and site."""
    at = {one.address: number for number, one in enumerate(resolved.table.instructions)}
    index = np.array([at[address] for address in addresses])
    ends = [resolved.table.instructions[i].end for i in index.tolist()]
    taken = np.array([a != b for a, b in zip(addresses[1:], ends, strict=False)] + [True])
    made = call_frames(index, taken, calls, resolved, Functions(resolved))
    return [(f.function.name, f.first, f.last, f.caller, f.site) for f in made]


def test_calls_and_returns(resolved: Resolved) -> None:
    executed = [0x10C, 0x10E, 0x118, 0x11A, 0x128, 0x12A, 0x11E, 0x120, 0x12C, 0x130, 0x124]
    assert frames(resolved, executed) == [
        ("service", 0, 10, -1, -1),
        ("lock", 4, 5, 0, 3),
        ("unlock", 8, 9, 0, 7),
    ]


def test_begins_inside_of_calls(resolved: Resolved) -> None:
    """A part that goes on in a function that an earlier part has called."""
    assert frames(resolved, [0x12A, 0x11E, 0x120, 0x12C], calls=(0x11E,)) == [
        ("service", 0, 3, -1, -1),
        ("lock", 0, 0, 0, -1),
        ("unlock", 3, 3, 0, 2),
    ]


def test_falls_through_and_comes_back(resolved: Resolved) -> None:
    """Into another function without a call, and back: an inner frame. The return ends both."""
    executed = [0x11A, 0x128, 0x12C, 0x128, 0x12A, 0x11E]
    assert frames(resolved, executed) == [
        ("service", 0, 5, -1, -1),
        ("lock", 1, 4, 0, 0),
        ("unlock", 2, 2, 1, 1),
    ]
    assert frames(resolved, [0x11A, 0x128, 0x12C, 0x130, 0x11E])[1:] == [
        ("lock", 1, 3, 0, 0),
        ("unlock", 2, 3, 1, 1),
    ]


def test_a_loop_is_no_call(resolved: Resolved) -> None:
    executed = [0x112, 0x114, 0x116, 0x112, 0x114, 0x116, 0x118]
    assert frames(resolved, executed) == [("service", 0, 6, -1, -1)]


def depths(steps: Sequence[Step], image: Image, calls: set[int]) -> list[int]:
    """Before each step, how many calls have not returned: they end where control and stack pointer
    are back."""
    open_calls: list[tuple[int, int]] = []
    result = []
    for number, step in enumerate(steps):
        if open_calls and (step.pc, step.sp) == open_calls[-1]:
            open_calls.pop()
        result.append(len(open_calls))
        follows = steps[number + 1].pc if number + 1 < len(steps) else -1
        if step.pc in calls and follows != step.pc + calls_length(image, step.pc):
            open_calls.append((step.pc + calls_length(image, step.pc), step.sp))
    return result


def calls_length(image: Image, address: int) -> int:
    """Of an instruction that calls: `bl` has four bytes, `blx` with a register two."""
    return 4 if image.read(address, 2)[1] & 0xF8 == 0xF0 else 2


def inside(made: Sequence[CallFrame], position: int) -> list[CallFrame]:
    return [one for one in made if one.first <= position <= one.last]


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed: int, assemble: Callable[..., Path]) -> None:
    machine = kernel(seed, assemble)
    resolved = resolve(SERVICES, machine.image, machine.table)
    labeller, functions = Labeller(resolved, "random"), Functions(resolved)
    calls = {i.address for i in machine.table.instructions if i.text.startswith(("bl ", "blx "))}
    windows, _ = found(machine, 64)
    for window, steps in zip(windows, random_kernel.windows(machine), strict=True):
        labelled = labeller.label(window)
        made = call_frames(labelled.index, labelled.taken, window.calls, resolved, functions)
        truth = depths(steps, machine.image, calls)
        called = [
            one
            for one in made
            if one.site >= 0 and steps[one.site].pc in calls and one.first == one.site + 1
        ]
        for position, (step, depth) in enumerate(zip(steps, truth, strict=True)):
            around = inside(made, position)
            assert len([one for one in around if one in called]) == depth
            function = machine.image.function_at(step.pc)
            assert function is not None
            assert around[-1].function.name == function.name
            assert around[0] is made[0]
        for number, one in enumerate(made):
            assert (one.caller == -1) == (number == 0)
            if number:
                outer = made[one.caller]
                assert outer.first <= one.site < one.first <= one.last <= outer.last
