"""What summaries say of functions, against calls of them in unicorn: what they write, which
registers they keep, what they give back, which addresses they put somewhere."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("unicorn")

from loop_check import Checked, argument
from loop_programs import LEVELS, MISSING, TARGETS, functions, passing
from loop_runs import STACK, STACK_SIZE, Step

from wcetchar.static.values.effects import Summary
from wcetchar.static.values.form import Form
from wcetchar.static.values.summary import summary_of

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

WORD = 0xFFFFFFFF
NEAR = 64
"""Bytes around an address that are of what it points to."""


@dataclass
class Call:
    function: int
    step: int
    back: int


class Calls:
    """Looks at every call that ends in a run."""

    def __init__(self, program: Checked) -> None:
        self.program = program
        self.summaries = {
            address: summary
            for address, values in program.values.items()
            if (summary := summary_of(values)) is not None
        }
        self.roles = program.table.registers
        self.seen: Counter[str] = Counter()

    def run(self, rng: random.Random, runs: int) -> None:
        program = self.program
        for function in program.given:
            for _ in range(runs):
                given = tuple(argument(rng, kind, small=True) for kind in function.types)
                coin = (program.coin, rng.choice((0, 1, 2, rng.getrandbits(32))))
                entry = program.image.symbol(function.name).address
                program.machine.run(entry, given, coin, 5000, lambda _: True)
                try:
                    self.check()
                except AssertionError as failure:
                    where = f"{program.elf} {function.name}{given} coin {coin[1]}"
                    raise AssertionError(f"{where}\n{function.source}\n{failure}") from failure

    def check(self) -> None:
        steps = self.program.machine.steps
        open_calls: list[Call] = []
        link, sp = self.roles.links[0], self.roles.stack_pointer
        for number, step in enumerate(steps):
            while open_calls and step.address == open_calls[-1].back:
                call = open_calls.pop()
                before = steps[call.step].registers
                if step.registers[sp] == before[sp]:
                    self.returned(call, before, step, number)
            if step.address in self.program.values:
                back = step.registers[link] & ~1
                known = open_calls and open_calls[-1].function == step.address
                if not (known and open_calls[-1].back == back):  # else a loop goes to its entry
                    open_calls.append(Call(step.address, number, back))

    def returned(self, call: Call, before: tuple[int, ...], after: Step, end: int) -> None:
        summary = self.summaries.get(call.function)
        if summary is None:
            return
        name = self.program.values[call.function].graph.name
        self.seen["calls"] += 1
        for register, value in enumerate(after.registers):
            if summary.kept >> register & 1:
                assert value == before[register], f"{name} keeps {register}: {before} {after}"
                self.seen["kept"] += 1
            given = summary.results.get(register)
            if given is None:
                continue
            self.seen["results"] += 1
            if given.form is not None:
                assert value == evaluate(given.form, before), f"{name}: {register} {given}"
                self.seen["forms"] += 1
            else:
                assert value in given.interval, f"{name}: {register} is {value:#x}, {given}"
        stores = self.program.machine.stores
        first = bisect_left(stores, (call.step, 0, 0, 0))
        for step, address, size, value in stores[first:]:
            if step >= end:
                break
            if STACK <= address < before[self.roles.stack_pointer]:
                continue
            self.seen["stores"] += 1
            assert self.says(summary, address, size, before), f"{name} writes {address:#x}"
            self.leaked(name, summary, value, before)

    def says(self, summary: Summary, address: int, size: int, before: tuple[int, ...]) -> bool:
        if summary.anywhere:
            return True
        self.seen["known stores"] += 1
        for written in summary.writes:
            base = 0 if written.base is None else before[written.base]
            around = range(written.size - size + 1)
            if any((address - base - away) & WORD in written.interval for away in around):
                return True
        return False

    def leaked(self, name: str, summary: Summary, value: int, before: tuple[int, ...]) -> None:
        """A stored address of the stack is near to one that leaks, if it is near to one."""
        if not STACK <= value < STACK + STACK_SIZE:
            return
        near = [n for n, held in enumerate(before) if abs(value - held) < NEAR]
        near = [n for n in near if n in self.roles.arguments]
        if near:
            self.seen["stored addresses"] += 1
            assert any(summary.leaks >> n & 1 for n in near), f"{name} stores {value:#x}: {before}"


def evaluate(form: Form, before: tuple[int, ...]) -> int:
    total = form.constant
    for tag, factor in form.tags:
        total += before[tag.place[1]] * factor
    return total & WORD


def checked(folder: Path, target: str, level: str, seed: int, count: int) -> Counter[str]:
    rng = random.Random(f"summaries {target} {level} {seed}")
    given = [*passing(rng, count), *functions(rng, 0)]
    calls = Calls(Checked(folder, target, level, given))
    calls.run(rng, 4)
    return calls.seen


@pytest.mark.parametrize("target", TARGETS)
def test_summaries(target: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for level in ("-O0", "-O2"):
        seen += checked(tmp_path, target, level, 0, count=8)
    assert seen["calls"] > 100, seen
    for what in ("kept", "results", "forms", "known stores", "stored addresses"):
        assert seen[what] > 0, seen


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", TARGETS)
def test_more_summaries(target: str, level: str, seed: int, tmp_path: Path) -> None:
    checked(tmp_path, target, level, 100 + seed, count=12)
