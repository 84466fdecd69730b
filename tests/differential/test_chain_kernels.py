"""Windows, counts, masks and blocking stretches of random RISC-V kernels, counted in two ways.

Threads are switched by traps, calls for a switch are made with and without interrupts masked, masks
nest, the timer interrupts at random places, also inside the functions that mask and lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import riscv_kernel
from chain_made import services_document
from chain_oracle import Counted
from riscv_run import listing_of
from riscv_simulated import Name, Simulator, Truth, batches, found_by_wcetchar, named, resolved_of

pytest_plugins = ("chain_fixtures",)
Assemble = Callable[[str, str], Path]
Windows = dict[Name, list[Counted]]


def differs(mine: Counted, truth: Counted) -> str:
    """What differs, in a word."""
    if mine.forms != truth.forms:
        return "masks"
    if mine.counts != truth.counts:
        return "counts"
    both = [
        sorted((kind, sorted(counts.items())) for kind, counts in side.stretches)
        for side in (mine, truth)
    ]
    return "" if both[0] == both[1] else "stretches"


def windows(seed: int, length: int, assemble: Assemble, folder: Path) -> tuple[Windows, Windows]:
    """By wcetchar, and by the independent count."""
    elf = assemble(riscv_kernel.Author(seed).source(), riscv_kernel.SCRIPT)
    services = folder / "services.yaml"
    services.write_text(riscv_kernel.SERVICES)
    listing = listing_of(elf)
    simulator = Simulator(elf, listing, seed, (0.01, 0.03, 0.1)[seed % 3])
    run = simulator.go(length)
    machine = Truth(listing, simulator, run, services_document([str(services)]))
    truth: Windows = {}
    for window in machine.windows():
        truth.setdefault(named(machine, window), []).append(machine.count(window))
    parts = batches(run, (1, 7, 64, 1000)[seed % 4])
    return found_by_wcetchar(resolved_of(elf, services), parts), truth


def check(seed: int, length: int, assemble: Assemble, folder: Path) -> Counter[str]:
    """Compares all windows; returns their number by service."""
    found, truth = windows(seed, length, assemble, folder)
    both = [{name: len(held) for name, held in side.items()} for side in (found, truth)]
    assert both[0] == both[1]
    number: Counter[str] = Counter()
    for name, held in found.items():
        for mine, other in zip(held, truth[name], strict=True):
            assert differs(mine, other) == "", f"seed {seed}, {name[:2]}"
            number[name[0]] += 1
    return number


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed: int, assemble_riscv: Assemble, tmp_path: Path) -> None:
    assert check(seed, 5000, assemble_riscv, tmp_path)


def test_a_thread_that_executes_nothing(assemble_riscv: Assemble, tmp_path: Path) -> None:
    """Between its being switched in and away. The other thread's call is cut there all the same."""
    assert check(134, 20_000, assemble_riscv, tmp_path)["wait/between"] == 12


def test_an_interrupt_switches_away_where_a_supervisor_call_came_back(
    assemble_riscv: Assemble, tmp_path: Path
) -> None:
    """Before the next instruction; what was masked right before the call reaches to it."""
    assert check(137, 20_000, assemble_riscv, tmp_path)["service"] > 9


@pytest.mark.long
@pytest.mark.parametrize("seeds", range(100, 400, 20))
def test_many_random_kernels(seeds: int, assemble_riscv: Assemble, tmp_path: Path) -> None:
    number: Counter[str] = Counter()
    for seed in range(seeds, seeds + 20):
        number += check(seed, 20_000, assemble_riscv, tmp_path)
    parts = {"service", "tick", "switch", "wait/call", "wait/between", "wait/resume"}
    assert set(number) == parts
    assert number.total() > 500


def test_a_difference_would_be_seen(assemble_riscv: Assemble, tmp_path: Path) -> None:
    """In each window that has any: one instruction under another mask, one count more, a stretch
    that is longer, or none."""
    _, truth = windows(6, 5000, assemble_riscv, tmp_path)
    seen: Counter[str] = Counter()
    for one in (held[0] for held in truth.values()):
        assert differs(one, one) == ""
        (mask, preemption), *rest = one.forms
        seen[differs(replace(one, forms=[(mask, not preemption), *rest]), one)] += 1
        more = one.counts + Counter(list(one.counts)[:1])
        seen[differs(replace(one, counts=more), one)] += 1
        for kind, counts in one.stretches[:1]:
            longer = [(kind, counts + Counter(list(counts)[:1])), *one.stretches[1:]]
            seen[differs(replace(one, stretches=longer), one)] += 1
            seen[differs(replace(one, stretches=one.stretches[1:]), one)] += 1
    assert set(seen) == {"masks", "counts", "stretches"}
    assert min(seen.values()) > 5
