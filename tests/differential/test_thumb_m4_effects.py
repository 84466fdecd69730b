"""What Armv7E-M has beside Armv7-M, executed on unicorn's Cortex-M4: accesses, changed registers,
the influence of registers, flags. As ``test_thumb_effects`` does it for the rest."""

from __future__ import annotations

import random
import struct
from collections import Counter
from dataclasses import replace

import pytest

pytest.importorskip("unicorn")

from test_thumb_effects import check, check_influence, holds, prepare, random_state
from thumb_m4_patterns import DSP, FP
from thumb_machine import Machine, State
from thumb_patterns import Pattern
from unicorn_machine import CODE, Access, Outcome

from wcetchar.isa import decode_thumb
from wcetchar.isa.thumb import ARMV7EM_FP
from wcetchar.isa.thumb_dsp import DSP_EFFECTS
from wcetchar.isa.thumb_fp import FP_EFFECTS
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Instruction

ISSUE = {
    "vdiv": EventKind.FLOAT_DIVIDE,
    "vsqrt": EventKind.FLOAT_SQUARE_ROOT,
    "vldr": EventKind.FLOAT_LOAD,
    "vstr": EventKind.FLOAT_STORE,
    "vldm": EventKind.FLOAT_LOAD_MULTIPLE,
    "vpop": EventKind.FLOAT_LOAD_MULTIPLE,
    "vstm": EventKind.FLOAT_STORE_MULTIPLE,
    "vpus": EventKind.FLOAT_STORE_MULTIPLE,
}
"""By the first letters of the name, longest first; from the manual's tables, not from the rows."""


@pytest.fixture(scope="module")
def machine() -> Machine:
    machine = Machine(seed=9, m4=True)
    machine.memory.code_at = CODE + 0x2000
    return machine


def samples(patterns: list[Pattern], rng: random.Random, each: int) -> list[tuple[str, bytes]]:
    found = []
    for pattern in patterns:
        drawn: Counter[str] = Counter()
        for _ in range(400):
            code, fields = pattern.fill(rng)
            name = pattern.name_of(fields)
            if pattern.allowed(fields) and drawn[name] < each:
                found.append((name, struct.pack("<HH", code >> 16, code & 0xFFFF)))
                drawn[name] += 1
        assert drawn, pattern.bits
    return found


def decode(code: bytes, address: int, it_state: int = 0) -> Instruction:
    found = decode_thumb(code, address, it_state, architecture=ARMV7EM_FP)
    assert isinstance(found, Instruction), (code.hex(), found)
    return found


def state_for(instruction: Instruction, rng: random.Random) -> State:
    state = prepare(instruction, random_state(rng), rng)
    floats = [struct.unpack("<I", struct.pack("<f", rng.uniform(-99, 99)))[0] for _ in range(32)]
    return replace(state, floats=floats)


def in_words(outcome: Outcome) -> Outcome:
    """unicorn reports a doubleword as one access; the core makes two."""
    words = []
    for access in outcome.accesses:
        if access.size == 8:
            low, high = access.value & 0xFFFFFFFF, access.value >> 32
            words += [
                Access(access.write, access.address, 4, low),
                Access(access.write, access.address + 4, 4, high),
            ]
        else:
            words.append(access)
    return replace(outcome, accesses=words)


class Words(Machine):
    """A machine whose accesses are words."""

    def run(self, address: int, size: int, state: State, instructions: int = 1) -> Outcome:
        # check_influence gives other core registers, and none of the others.
        if not state.floats:
            state = replace(state, floats=self.last_floats)
        self.last_floats = state.floats
        return in_words(super().run(address, size, state, instructions))


@pytest.fixture(scope="module")
def words() -> Machine:
    machine = Words(seed=9, m4=True)
    machine.memory.code_at = CODE + 0x2000
    return machine


def check_float(name: str, instruction: Instruction, before: State, after: Outcome) -> None:
    assert instruction.issue.is_float
    wanted = next((kind for start, kind in ISSUE.items() if name.startswith(start)), None)
    if wanted is not None:
        assert instruction.issue is wanted
    memory = instruction.memory
    if memory is None:
        assert instruction.issue.name.partition("_")[2] in (
            *("", "MULTIPLY_ACCUMULATE", "DIVIDE", "SQUARE_ROOT", "TRANSFER", "TRANSFER_PAIR"),
        )
        return
    assert all(transfer.register is None for transfer in memory.transfers)
    values = [access.value for access in after.accesses]
    bank = before.floats if memory.writes else after.state.floats
    places = [i for i in range(33 - len(values)) if bank[i : i + len(values)] == values]
    assert places, "what is transferred are registers that follow one another"


def run_all(machine: Machine, sampled: list[tuple[str, bytes]], seed: int) -> set[str]:
    rng = random.Random(seed)
    executed = set()
    for name, code in sampled:
        address = machine.place(code)
        instruction = decode(code, address)
        for _ in range(2):
            before = state_for(instruction, rng)
            after = machine.run(address, 4, before)
            try:
                assert after.error is None
                check(instruction, before, after)
                if name in FP_EFFECTS:
                    check_float(name, instruction, before, after)
                check_influence(machine, instruction, before, after, rng)
            except AssertionError as failure:
                raise AssertionError(f"{instruction}\n{before}\n{after}\n{failure}") from failure
        executed.add(name)
    return executed


def test_dsp_effects_of_single_instructions(words: Machine) -> None:
    sampled = [s for s in samples(DSP, random.Random(50), 6) if s[0] != "msr"]
    assert run_all(words, sampled, 51) == set(DSP_EFFECTS)


def test_fp_effects_of_single_instructions(words: Machine) -> None:
    assert run_all(words, samples(FP, random.Random(52), 12), 53) == set(FP_EFFECTS)


def test_m4_instructions_in_it_blocks(words: Machine) -> None:
    """Skipped they do nothing at all, not even to floating-point registers."""
    rng = random.Random(54)
    skipped = taken = 0
    for name, code in samples([*DSP, *FP], rng, 2):
        if name == "msr":
            continue
        condition = rng.randrange(14)
        address = words.place(code)
        inside = decode(code, address, condition << 4 | 8)
        assert inside.conditional
        assert inside.defs & ~inside.uses == 0
        before = replace(state_for(inside, rng), it=condition << 4 | 8)
        after = words.run(address, 4, before)
        if holds(condition, before.flags):
            taken += 1
            check(inside, before, after)
        else:
            skipped += 1
            assert after.accesses == []
            assert after.state == replace(before, it=0)
            assert after.pc == inside.end
    assert min(skipped, taken) > 100
