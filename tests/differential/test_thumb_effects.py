"""The effect table against execution on unicorn's Cortex-M3 (QEMU's translator, not capstone).

Encodings come from the transcription of the manual in ``thumb_patterns`` and from the 16-bit space.
Each is run on random registers, flags and memory; what it did must be what the table says:
accesses, changed registers, the influence of registers, control flow, copies, mask registers.
"""

from __future__ import annotations

import random
import struct
from collections import Counter

import pytest

pytest.importorskip("unicorn")

from thumb_machine import Machine, State
from thumb_patterns import PATTERNS
from unicorn_machine import CODE, Access, Outcome

from wcetchar.isa import decode_thumb
from wcetchar.isa.thumb_effects import EFFECTS
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, Instruction

NOT_EXECUTED = {
    # They raise an exception, and unicorn stops before anything is to be seen.
    "svc",
    "bkpt",
    "udf",
    # Executed by test_thumb_it_blocks.
    "it",
}

STOPS_UNICORN = ("yield", "wfe", "wfi")
"""Executed, but unicorn gives up the processor behind them."""

CONDITION_HOLDS = (
    lambda n, z, c, v: z,
    lambda n, z, c, v: not z,
    lambda n, z, c, v: c,
    lambda n, z, c, v: not c,
    lambda n, z, c, v: n,
    lambda n, z, c, v: not n,
    lambda n, z, c, v: v,
    lambda n, z, c, v: not v,
    lambda n, z, c, v: c and not z,
    lambda n, z, c, v: not c or z,
    lambda n, z, c, v: n == v,
    lambda n, z, c, v: n != v,
    lambda n, z, c, v: not z and n == v,
    lambda n, z, c, v: z or n != v,
    lambda n, z, c, v: True,
)


def holds(condition: int, flags: int) -> bool:
    n, z, c, v = (bool(flags >> bit & 1) for bit in (3, 2, 1, 0))
    return CONDITION_HOLDS[condition](n, z, c, v)


def random_state(rng: random.Random) -> State:
    """Word-aligned registers: unaligned multiple and exclusive accesses would fault. Targets of
    bx and blx must be odd, which ``prepare`` sees to."""
    # Small differences as well, for branches on zero and for divisions.
    registers = [rng.choice((rng.getrandbits(30), rng.getrandbits(5))) << 2 for _ in range(15)]
    # No access may hit the code or wrap around the address space.
    registers = [0x2000_0000 | r & 0x5FFF_FFFF if r > 0x1000 else r for r in registers]
    masks = {
        "primask": rng.getrandbits(1),
        "basepri": rng.getrandbits(8),
        "faultmask": rng.getrandbits(1),
    }
    return State(registers, rng.getrandbits(4), masks)


def prepare(instruction: Instruction, state: State, rng: random.Random) -> State:
    """Registers that the instruction can do with: odd targets, valid CONTROL."""
    registers = list(state.registers)
    if instruction.memory is not None:
        # Addresses that can be mapped: neither code nor the very end of the address space.
        registers = [
            r if r > 0x1000 else r | rng.getrandbits(14) << 16 | 1 << 30 for r in registers
        ]
    name = instruction.text.split()[0]
    to_pc = instruction.flow in (Flow.JUMP_INDIRECT, Flow.RETURN, Flow.CALL_INDIRECT)
    if to_pc and instruction.memory is None and name.startswith("b"):
        registers = [r | 1 if instruction.uses >> n & 1 else r for n, r in enumerate(registers)]
        registers[13] &= ~3
    return State(registers, state.flags, state.masks)


def samples() -> list[bytes]:
    rng = random.Random(20)
    codes = []
    hints = 0
    for pattern in PATTERNS:
        drawn: Counter[str] = Counter()
        for _ in range(200):
            code, fields = pattern.fill(rng)
            name = pattern.name_of(fields)
            if name == "hint":  # hundreds of patterns of one kind
                hints += 1
            if pattern.allowed(fields) and drawn[name] < 4 and (name != "hint" or hints < 4):
                codes.append(struct.pack("<HH", code >> 16, code & 0xFFFF))
                drawn[name] += 1
        assert drawn or hints >= 4, pattern.bits
    narrow: dict[tuple[str, int], list[bytes]] = {}
    for halfword in range(0xE800):
        code = struct.pack("<H", halfword)
        found = decode_thumb(code, 0)
        if isinstance(found, Instruction):
            # A mnemonic may have several encodings: the top bits tell them apart.
            narrow.setdefault((found.text.split()[0], halfword >> 10), []).append(code)
    for same in narrow.values():
        codes.extend(rng.sample(same, min(6, len(same))))
    return codes


@pytest.fixture(scope="module")
def machine() -> Machine:
    machine = Machine(seed=7)
    # Literal pools reach 4 KiB back.
    machine.memory.code_at = CODE + 0x2000
    return machine


def row_name(instruction: Instruction) -> str:
    name = instruction.text.split()[0].partition(".")[0]
    if name.startswith("it") and name not in EFFECTS:
        return "it"
    return name if name in EFFECTS else "b<c>"


def decode_at(code: bytes, address: int, it_state: int = 0) -> Instruction:
    found = decode_thumb(code, address, it_state)
    assert isinstance(found, Instruction), (code.hex(), found)
    return found


def check(instruction: Instruction, before: State, after: Outcome) -> None:
    """One execution whose condition held."""
    changed = sum(
        1 << n
        for n, (old, new) in enumerate(zip(before.registers, after.state.registers, strict=True))
        if old != new
    )
    assert changed & ~instruction.defs == 0, "a register changed that is not in defs"
    check_flow(instruction, before, after)
    check_accesses(instruction, before, after)
    check_masks(instruction, before, after)
    check_flags(instruction, before, after)
    copy = instruction.copy
    if copy is not None:
        if copy.constant is not None:
            expected = copy.constant
        elif copy.source is not None:
            expected = before.registers[copy.source]
        else:
            assert copy.mask_register is not None
            expected = before.masks[copy.mask_register.value]
        assert after.state.registers[copy.destination] == expected


def check_flags(instruction: Instruction, before: State, after: Outcome) -> None:
    zero = bool(after.state.flags & 4)
    if not instruction.sets_flags:
        assert zero == bool(before.flags & 4)
    test = instruction.test
    if test is None:
        return
    if test.equal_when_taken is None:
        assert instruction.sets_flags
        result = after.state.registers[test.register]
        # sp drops the low bits of what is written to it, the flags do not.
        assert test.register == 13 or zero == (result == test.constant)
    else:
        taken = after.pc == instruction.target
        if instruction.target != instruction.end:
            equal = before.registers[test.register] == test.constant
            assert taken == (equal == test.equal_when_taken)


def check_flow(instruction: Instruction, before: State, after: Outcome) -> None:
    flow = instruction.flow
    if flow is Flow.NEXT:
        assert after.error is None or instruction.text.startswith(STOPS_UNICORN)
        assert after.pc == instruction.end
    elif flow is Flow.JUMP and instruction.conditional:
        assert after.pc in (instruction.end, instruction.target)
    elif flow in (Flow.JUMP, Flow.CALL):
        assert after.pc == instruction.target
    elif flow is Flow.JUMP_TABLE:
        assert after.pc == instruction.address + 4 + 2 * after.accesses[0].value
    elif instruction.memory is not None:
        # The last word of a list is pc.
        assert after.pc == after.accesses[-1].value & ~1
    elif instruction.text.startswith("add"):
        pass
    else:
        read = {before.registers[n] & ~1 for n in range(15) if instruction.uses >> n & 1}
        assert after.pc in read or instruction.text == "mov pc, pc"
    if flow in (Flow.CALL, Flow.CALL_INDIRECT):
        assert after.state.registers[14] == instruction.end | 1


def check_accesses(instruction: Instruction, before: State, after: Outcome) -> None:
    accesses, memory = after.accesses, instruction.memory
    if instruction.issue is EventKind.STORE_EXCLUSIVE:
        # Without a load before it the store fails; the comparison that QEMU makes is no access.
        accesses = [access for access in accesses if access.write]
        assert memory is not None
        assert len(accesses) <= memory.writes == 1
        if not accesses:
            return
    if memory is None:
        assert not accesses
        return
    assert [access.write for access in accesses] == [False] * memory.reads + [True] * memory.writes
    assert {8 * access.size for access in accesses} == {memory.width}
    first = accesses[0].address
    step = memory.width // 8
    assert [a.address for a in accesses] == [first + step * i for i in range(len(accesses))]
    assert len(memory.transfers) == len(accesses)
    pair = instruction.issue in (EventKind.FLOAT_LOAD, EventKind.FLOAT_STORE) and len(accesses) == 2
    assert memory.burst == (pair or instruction.issue.name.endswith("MULTIPLE"))
    check_base(instruction, before, accesses)
    for transfer, access in zip(memory.transfers, accesses, strict=True):
        number = transfer.register
        if number is None or number == 15:
            continue
        low = (1 << memory.width) - 1
        if access.write:
            written_back = instruction.defs >> number & 1
            if not (written_back and memory.burst):
                # A base that is in the list may be stored before or after it changes.
                assert access.value == before.registers[number] & low
        else:
            loaded = after.state.registers[number]
            keep = low & ~3 if number == 13 else low
            assert loaded & keep == access.value & keep


def check_base(instruction: Instruction, before: State, accesses: list[Access]) -> None:
    """The base is what the addresses follow: near its value, unless an index is added."""
    memory = instruction.memory
    assert memory is not None
    assert memory.base is not None
    inner = instruction.text.partition("[")[2].partition("]")[0].split(",")
    if len(inner) > 1 and not inner[1].strip().startswith("#"):
        return
    base = instruction.address if memory.base == 15 else before.registers[memory.base]
    assert abs(accesses[0].address - base) < 4096 + 8


def check_masks(instruction: Instruction, before: State, after: Outcome) -> None:
    expected = dict(before.masks)
    for write in instruction.masks:
        if write.constant is not None:
            value = write.constant
        else:
            assert write.source is not None
            value = before.registers[write.source]
        match write.register.value:
            case "basepri":
                expected["basepri"] = value & 0xFF
            case "basepri_max":
                value, old = value & 0xFF, expected["basepri"]
                if value and (not old or value < old):
                    expected["basepri"] = value
            case name:
                expected[name] = value & 1
    assert after.state.masks == expected


def check_influence(
    machine: Machine, instruction: Instruction, before: State, after: Outcome, rng: random.Random
) -> None:
    """Registers outside ``uses`` get other values: nothing that the instruction does may change."""
    other = random_state(rng)
    registers = [
        old if instruction.uses >> n & 1 else new
        for n, (old, new) in enumerate(zip(before.registers, other.registers, strict=True))
    ]
    again = machine.run(
        instruction.address, instruction.length, State(registers, before.flags, before.masks)
    )
    assert again.pc == after.pc
    assert again.accesses == after.accesses
    assert again.state.masks == after.state.masks
    assert again.state.flags == after.state.flags
    for n in range(15):
        if instruction.defs >> n & 1:
            assert again.state.registers[n] == after.state.registers[n]
        else:
            assert again.state.registers[n] == registers[n]


CODES = samples()


def test_thumb_effects_of_single_instructions(machine: Machine) -> None:
    rng = random.Random(21)
    executed: Counter[tuple[str, int]] = Counter()
    for code in CODES:
        address = machine.place(code)
        instruction = decode_at(code, address)
        name = row_name(instruction)
        if name in NOT_EXECUTED:
            continue
        for _ in range(2):
            before = prepare(instruction, random_state(rng), rng)
            after = machine.run(address, len(code), before)
            try:
                check(instruction, before, after)
                check_influence(machine, instruction, before, after, rng)
            except AssertionError as failure:
                raise AssertionError(f"{instruction}\n{before}\n{after}\n{failure}") from failure
        executed[name, len(code)] += 1
    wanted = {
        (row.mnemonic, length)
        for row in EFFECTS.values()
        for length, forms in ((2, row.narrow), (4, row.wide))
        if forms and row.mnemonic not in NOT_EXECUTED
    }
    assert wanted - set(executed) == set(), "rows that no execution covers"


def test_thumb_it_blocks(machine: Machine) -> None:
    """One instruction under ``it``: skipped it does nothing, executed it does what it does alone,
    and what the decoder says of it holds for both."""
    rng = random.Random(22)
    skipped = taken = 0
    for code in CODES:
        alone = decode_at(code, 0)
        if row_name(alone) in NOT_EXECUTED or EFFECTS[row_name(alone)].in_it.value == "never":
            continue
        condition = rng.randrange(14)
        it_state = condition << 4 | 8
        address = machine.place(code)
        inside = decode_at(code, address, it_state)
        assert inside.conditional
        assert inside.copy is None
        assert inside.defs & ~inside.uses == 0
        before = prepare(inside, random_state(rng), rng)
        before.it = it_state
        after = machine.run(address, len(code), before)
        try:
            if holds(condition, before.flags):
                taken += 1
                check(inside, before, after)
            else:
                skipped += 1
                assert after.accesses == []
                assert after.state == State(before.registers, before.flags, before.masks)
                assert after.pc == inside.end
        except AssertionError as failure:
            raise AssertionError(f"{inside}\n{before}\n{after}\n{failure}") from failure
    assert min(skipped, taken) > len(CODES) // 4


def test_thumb_it_patterns(machine: Machine) -> None:
    """Which of four instructions a block executes, for every IT instruction and all flags."""
    from wcetchar.isa.thumb import it_state_after

    increments = [struct.pack("<H", 0x3001 + (n << 8)) for n in range(4)]  # adds rn, #1
    for first in range(15):
        for mask in range(1, 16):
            it = struct.pack("<H", 0xBF00 | first << 4 | mask)
            found = decode_thumb(it, 0)
            if not isinstance(found, Instruction):
                assert first == 14
                continue
            address = machine.place(it + b"".join(increments))
            state = it_state_after(found, 0)
            conditions: list[int | None] = []
            for code in increments:
                instruction = decode_at(code, 0, state)
                assert instruction.conditional == bool(state & 0xF)
                conditions.append(state >> 4 if state & 0xF else None)
                state = it_state_after(instruction, state)
            assert state == 0
            for flags in range(16):
                before = State([0x100] * 15, flags)
                after = machine.run(address, 10, before, instructions=5)
                executed = [value == 0x101 for value in after.state.registers[:4]]
                # In a block the 16-bit adds leaves the flags alone; behind it it sets them, but
                # the conditions that still matter are then all behind us.
                assert executed == [
                    condition is None or holds(condition, flags) for condition in conditions
                ], (it.hex(), flags)


def test_thumb_store_exclusive_that_succeeds(machine: Machine) -> None:
    for load, store in (
        ("51e8000f", "41e80023"),  # ldrex r0, [r1]; strex r3, r2, [r1]
        ("d1e84f0f", "c1e8432f"),  # ldrexb r0, [r1]; strexb r3, r2, [r1]
        ("d1e85f0f", "c1e8532f"),  # ldrexh r0, [r1]; strexh r3, r2, [r1]
    ):
        address = machine.place(bytes.fromhex(load + store))
        instruction = decode_at(bytes.fromhex(store), address + 4)
        before = State([0x2000_0000 + 0x100 * n for n in range(15)])
        after = machine.run(address, 8, before, instructions=2)
        assert after.state.registers[3] == 0
        writes = [access for access in after.accesses if access.write]
        assert instruction.memory is not None
        assert [8 * access.size for access in writes] == [instruction.memory.width]
        assert instruction.memory.transfers[0].register == 2
        low = (1 << instruction.memory.width) - 1
        assert writes[0].value == before.registers[2] & low
