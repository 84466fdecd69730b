"""What the instruction tables say is computed, against execution on unicorn: values of registers,
addresses, loaded values and what conditions compare.

Encodings are those of the tests of effects (every row of every table) and every distinct one of the
FreeRTOS firmware that is built; registers are random, with corners.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import arm_machine
import pytest
import riscv_machine
import thumb_machine
from term_values import Unsaid, evaluate, related
from unicorn_machine import CODE, Outcome

pytest.importorskip("unicorn")

import test_arm_effects
import test_riscv_effects
import test_thumb_effects

from wcetchar.image import load_image
from wcetchar.isa import decode_arm, decode_image, decode_riscv, decode_thumb
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, Instruction

ROOT = Path(__file__).resolve().parents[2]
WORD = 0xFFFFFFFF
CORNERS = (0, 1, 2, 31, 32, 33, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 1 << 31, WORD, WORD - 1)
CONDITIONS = ("eq", "ne", "hs", "lo", "mi", "pl", "hi", "ls", "ge", "lt", "gt", "le")

UNSAID = {
    "thumb": {
        "adcs", "adc", "sbcs", "sbc", "rors", "ror", "rrxs", "rrx", "ssat", "usat", "rev", "rev16",
        "revsh", "rbit", "clz", "umull", "smull", "umlal", "smlal", "mrs", "msr", "bl", "blx",
    },
    "arm": {
        "rotation", "adc", "sbc", "rsc", "umull", "smull", "umlal", "smlal", "mrs", "msr", "bl",
    },
    "riscv": {
        "mulh", "mulhu", "mulhsu", "csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci", "jal",
        "jalr", "c.jal", "c.jalr",
    },
}  # fmt: skip
"""Mnemonics that write a register of which nothing is said, whatever the operands."""


def values(rng: random.Random) -> list[int]:
    """Of 32 registers."""
    drawn = (rng.getrandbits(32), rng.getrandbits(8), rng.choice(CORNERS))
    return [rng.choice((rng.getrandbits(32), *drawn[1:])) for _ in range(32)]


def check(instruction: Instruction, before: Any, after: Outcome[Any], seen: Counter[str]) -> None:
    """One execution whose condition held."""
    old, new = before.registers, after.state.registers
    exclusive = instruction.issue is EventKind.STORE_EXCLUSIVE
    for assignment in instruction.assignments:
        assert instruction.defs >> assignment.register & 1
        try:
            assert new[assignment.register] == evaluate(assignment.value, old)
        except Unsaid:
            continue
        seen["assigned"] += 1
    memory = instruction.memory
    if memory is not None and after.accesses and not (exclusive and not after.accesses[-1].write):
        assert memory.address is not None, "no address"
        first = next(a for a in after.accesses if not exclusive or a.write)
        assert first.address == evaluate(memory.address, old)
        seen["addressed"] += 1
        reads = [access for access in after.accesses if not access.write]
        for transfer, access in zip(memory.transfers, reads, strict=False):
            if transfer.register not in (None, 15) and memory.reads:
                value = access.value
                if memory.signed and value >> memory.width - 1:
                    value |= WORD >> memory.width << memory.width
                if transfer.register != 13:
                    assert new[transfer.register] == value
                    seen["loaded"] += 1
    check_comparison(instruction, before, after, seen)


def check_comparison(
    instruction: Instruction, before: Any, after: Outcome[Any], seen: Counter[str]
) -> None:
    comparison = instruction.comparison
    if comparison is None:
        return
    old = before.registers
    if comparison.taken is not None:
        assert instruction.flow is Flow.JUMP
        left, right = evaluate(comparison.left, old), evaluate(comparison.right, old)
        if instruction.target != instruction.end:
            taken = after.pc == instruction.target
            assert taken == related(left, comparison.taken, right)
            seen[f"taken {comparison.taken} {taken}"] += 1
        return
    assert instruction.sets_flags
    for condition in CONDITIONS:
        found = comparison.holds(condition)
        if found is None:
            assert not comparison.difference
            continue
        left, relation, right = found
        holds = test_arm_effects.holds(condition, after.state.flags)
        assert holds == related(evaluate(left, old), relation, evaluate(right, old)), condition
        seen[f"{condition} {comparison.difference} {holds}"] += 1


def firmware(*names: str) -> Iterable[Instruction]:
    """Of the firmware that is built, 1,500 encodings."""
    found: dict[bytes, Instruction] = {}
    for name in names:
        elf = ROOT / "build" / "firmware" / name / "freertos.elf"
        if elf.exists():
            for instruction in decode_image(load_image(elf)).instructions:
                found.setdefault(instruction.code, instruction)
    return random.Random(1).sample(list(found.values()), min(1500, len(found)))


def silent_name(instruction: Instruction) -> str:
    """Its mnemonic; of A32, whose names carry conditions, that of its row."""
    if instruction.fetch is not None and instruction.fetch.bytes == 4:
        name = test_arm_effects.name_of(instruction)[0]
        rotation = re.search(r", (ror [^#]|rrx)", instruction.text)
        return "rotation" if rotation else name
    return instruction.text.split()[0].partition(".w")[0]


def run(
    kind: str,
    codes: Iterable[bytes],
    place: Callable[[bytes], int],
    execute: Callable[[Instruction, random.Random], tuple[Any, Outcome[Any]] | None],
    decode: Callable[[bytes, int], Any],
) -> Counter[str]:
    rng = random.Random(77)
    seen: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    for code in codes:
        address = place(code)
        instruction = decode(code, address)
        if not isinstance(instruction, Instruction):
            continue
        said = {a.register for a in instruction.assignments}
        leaves = instruction.flow is Flow.RETURN  # with registers of another mode
        if instruction.memory is None and instruction.defs and not said and not leaves:
            silent[silent_name(instruction)] += 1
        for _ in range(2):
            done = execute(instruction, rng)
            if done is None:
                continue
            before, after = done
            try:
                check(instruction, before, after, seen)
            except AssertionError as failure:
                raise AssertionError(f"{instruction}\n{before}\n{after}\n{failure}") from failure
    assert set(silent) <= UNSAID[kind]
    return seen


def thumb_codes() -> Iterable[bytes]:
    yield from test_thumb_effects.CODES
    for instruction in firmware("freertos", "freertos-versatilepb-thumb"):
        if instruction.length == 2 or instruction.fetch is None or instruction.fetch.bytes == 2:
            yield instruction.code


def test_thumb_terms() -> None:
    machine = thumb_machine.Machine(seed=11)
    machine.memory.code_at = CODE + 0x2000

    def execute(instruction: Instruction, rng: random.Random) -> Any:
        name = test_thumb_effects.row_name(instruction)
        if name in test_thumb_effects.NOT_EXECUTED or instruction.text.startswith(
            test_thumb_effects.STOPS_UNICORN
        ):
            return None
        before = test_thumb_effects.prepare(instruction, test_thumb_effects.random_state(rng), rng)
        if instruction.flow is Flow.NEXT and instruction.memory is None and name != "msr":
            before.registers[:13] = values(rng)[:13]
        if instruction.conditional and instruction.comparison is not None:
            before.registers[:8] = [rng.choice((0, 0, n)) for n in values(rng)[:8]]
        after = machine.run(instruction.address, instruction.length, before)
        if instruction.conditional and instruction.condition:
            return None
        return before, after

    seen = run("thumb", thumb_codes(), machine.place, execute, decode_thumb)
    assert min(seen[name] for name in ("assigned", "addressed", "loaded")) > 300
    for condition in CONDITIONS:
        for holds in (True, False):
            assert seen[f"{condition} True {holds}"] > 5
    assert min(seen[f"taken {r} {t}"] for r in ("==", "!=") for t in (True, False)) > 0


def test_arm_terms() -> None:
    machine = arm_machine.Machine(seed=12)
    codes = [code.to_bytes(4, "little") for code in test_arm_effects.CODES]
    codes += [
        instruction.code
        for instruction in firmware("freertos-versatilepb")
        if instruction.fetch is not None and instruction.fetch.bytes == 4
    ]

    def execute(instruction: Instruction, rng: random.Random) -> Any:
        if instruction.text.startswith(("swi", "svc", "udf", "msr")):
            return None
        before = test_arm_effects.prepare(instruction, test_arm_effects.random_state(rng), rng)
        if instruction.flow is Flow.NEXT and instruction.memory is None:
            before.registers[:13] = values(rng)[:13]
        after = machine.run(instruction.address, 4, before)
        if not test_arm_effects.holds(instruction.condition, before.flags):
            return None
        if instruction.flow is Flow.RETURN and instruction.masks:
            return None
        return before, after

    seen = run("arm", codes, machine.place, execute, decode_arm)
    assert min(seen[name] for name in ("assigned", "addressed", "loaded")) > 300
    for condition in CONDITIONS:
        for holds in (True, False):
            assert seen[f"{condition} True {holds}"] > 5


def test_riscv_terms() -> None:
    machine = riscv_machine.Machine(seed=13)
    codes = [*test_riscv_effects.CODES, *(i.code for i in firmware("freertos-virt"))]

    def execute(instruction: Instruction, rng: random.Random) -> Any:
        if instruction.flow in test_riscv_effects.TRAPS or instruction.text.startswith("wfi"):
            return None
        before = test_riscv_effects.prepare(instruction, test_riscv_effects.random_state(rng), rng)
        plain = instruction.flow is Flow.NEXT or instruction.conditional
        if plain and instruction.memory is None and "csr" not in instruction.text:
            before.registers[1:] = values(rng)[1:]
        after = machine.run(instruction.address, before)
        return (before, after) if test_riscv_effects.usable(instruction, after) else None

    seen = run("riscv", codes, machine.place, execute, decode_riscv)
    assert min(seen[name] for name in ("assigned", "addressed", "loaded")) > 100
    for relation in ("==", "!=", "<", ">=", "<s", ">=s"):
        assert min(seen[f"taken {relation} {taken}"] for taken in (True, False)) > 0
