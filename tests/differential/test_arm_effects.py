"""The A32 table against execution on unicorn's TI925T (QEMU's translator, which shares no code).

Each instruction is run on random registers, flags and memory; what it did must be what the table
says: accesses, changed registers, the influence of registers, control flow, copies, mask bits.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

pytest.importorskip("unicorn")

from arm_machine import CODE_SIZE, F_BIT, I_BIT, SUPERVISOR, Machine, State
from arm_shapes import draw
from unicorn_machine import CODE, Outcome

from wcetchar.isa import decode_arm
from wcetchar.isa.arm_effects import CONDITIONS, ROWS
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Calculation, Flow, Instruction, MaskRegister

NOT_EXECUTED = {"swi", "udf"}
"""They raise an exception, and unicorn stops before anything is to be seen."""

BANKED = (13, 14)
"""What depends on the mode, where nothing enters FIQ mode."""


def holds(condition: str, flags: int) -> bool:
    n, z, c, v = (bool(flags >> bit & 1) for bit in (3, 2, 1, 0))
    return {
        "eq": z, "ne": not z, "hs": c, "lo": not c, "mi": n, "pl": not n, "vs": v, "vc": not v,
        "hi": c and not z, "ls": not c or z, "ge": n == v, "lt": n != v, "gt": not z and n == v,
        "le": z or n != v, "": True,
    }[condition]  # fmt: skip


def random_state(rng: random.Random) -> State:
    """Word-aligned registers; no access may hit the code or wrap around the address space."""
    registers = [rng.choice((rng.getrandbits(30), rng.getrandbits(5))) << 2 for _ in range(15)]
    registers = [0x4000_0000 | r & 0x3FFF_FFFF if r > 0x1000 else r for r in registers]
    masks = rng.choice((0, I_BIT, F_BIT, I_BIT | F_BIT))
    saved = rng.choice((0, I_BIT, F_BIT, I_BIT | F_BIT)) | SUPERVISOR
    return State(registers, rng.getrandbits(4), SUPERVISOR | masks, saved)


def prepare(instruction: Instruction, state: State, rng: random.Random) -> State:
    """Registers that the instruction can do with."""
    registers = list(state.registers)
    if instruction.memory is not None:
        base = instruction.memory.base
        registers = [
            r if r > 0x1000 or number != base else 1 << 30 | rng.getrandbits(28) << 2
            for number, r in enumerate(registers)
        ]
    if instruction.text.startswith("msr") and instruction.mask and instruction.mask.source:
        # A valid mode: whatever the bits of the masks, it stays in Supervisor mode.
        source = instruction.mask.source
        registers[source] = registers[source] & 0xF000_00C0 | rng.choice((0, 0x40, 0x80, 0xC0)) | 19
    return State(registers, state.flags, state.control, state.spsr)


def name_of(instruction: Instruction) -> tuple[str, ...]:
    """Row and form of an encoding: the mnemonic, and which bits of the row are constant."""
    code = int.from_bytes(instruction.code, "little")
    row = next(row for row in ROWS if row.fields(code) is not None)
    return row.mnemonic, row.encoding


def samples() -> list[int]:
    """Encodings of every row, unconditional ones and others."""
    rng = random.Random(50)
    found: dict[tuple[str, ...], list[int]] = {}
    for _ in range(40_000):
        code = draw(rng)
        instruction = decode_arm(code.to_bytes(4, "little"), 0)
        if not isinstance(instruction, Instruction):
            continue
        name = name_of(instruction)
        returns = instruction.flow is Flow.RETURN and instruction.memory is None
        if returns and instruction.masks and name[0] not in ("sub", "mov"):
            continue  # QEMU takes these for jumps, unlike the manual
        if name[0] == "msr" and "k" in name[1] and instruction.masks:
            # Only valid modes can be written.
            code = code & 0xFFFF_F000 | rng.choice((0x13, 0x53, 0x93, 0xD3))
        if name[0] in NOT_EXECUTED or len(found.setdefault(name, [])) >= 24:
            continue
        found[name].append(code)
    rows = {(row.mnemonic, row.encoding) for row in ROWS if row.mnemonic not in NOT_EXECUTED}
    assert set(found) == rows, "rows that no sample covers"
    assert min(len(codes) for codes in found.values()) >= 6
    return [code for codes in found.values() for code in codes]


CODES = samples()


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine(seed=9)


def decode_at(code: int, address: int) -> Instruction:
    found = decode_arm(code.to_bytes(4, "little"), address)
    assert isinstance(found, Instruction), (hex(code), found)
    return found


def jumped(instruction: Instruction, after: Outcome) -> bool:
    """The target need not be memory: unicorn then stops there with an error."""
    outside = not CODE <= after.pc < CODE + CODE_SIZE
    assert after.error is None or outside, after
    return after.pc != instruction.end


def check(instruction: Instruction, before: State, after: Outcome) -> None:
    """One execution whose condition held."""
    assert instruction.defs >> 15 == instruction.uses >> 15 == 0
    mode_changed = after.state.control & 0x1F != before.control & 0x1F
    for n, (old, new) in enumerate(zip(before.registers, after.state.registers, strict=True)):
        if old != new:
            assert instruction.defs >> n & 1, f"r{n} changed"
    if not instruction.sets_flags:
        assert after.state.flags == before.flags
    assert not mode_changed
    check_flow(instruction, before, after)
    check_accesses(instruction, before, after)
    check_values(instruction, before, after)
    check_masks(instruction, before, after)


def check_flow(instruction: Instruction, before: State, after: Outcome) -> None:
    went = jumped(instruction, after)
    match instruction.flow:
        case Flow.NEXT:
            assert not went
            assert after.error is None
        case Flow.JUMP | Flow.CALL:
            assert after.pc == instruction.target
        case _:
            assert after.pc % 2 == 0
    if instruction.flow is Flow.CALL:
        assert after.state.registers[14] == instruction.end
    if instruction.flow in (Flow.NEXT, Flow.JUMP, Flow.CALL):
        return
    if instruction.text.startswith("bx"):
        assert after.pc == before.registers[instruction.uses.bit_length() - 1]
    elif instruction.memory is not None:
        last = after.accesses[-1]
        assert instruction.memory.transfers[-1].register == 15
        assert after.pc == last.value & ~3


def check_accesses(instruction: Instruction, before: State, after: Outcome) -> None:
    memory, accesses = instruction.memory, after.accesses
    if memory is None:
        assert not accesses
        return
    assert [access.write for access in accesses] == [False] * memory.reads + [True] * memory.writes
    assert {8 * access.size for access in accesses} == {memory.width}
    assert len(memory.transfers) == len(accesses)
    assert memory.burst == instruction.issue.name.endswith("MULTIPLE")
    step = 0 if memory.reads and memory.writes else memory.width // 8
    first = accesses[0].address
    assert [a.address for a in accesses] == [first + step * i for i in range(len(accesses))]
    base = instruction.address if memory.base == 15 else before.registers[memory.base or 0]
    inner = instruction.text.partition("[")[2].partition("]")[0]
    if "," not in inner or "#" in inner.split(",")[1]:
        assert abs(first - base) < 4096 + 8
    for transfer, access in zip(memory.transfers, accesses, strict=True):
        number = transfer.register
        if number is None or number == 15:
            continue
        low = (1 << memory.width) - 1
        if access.write:
            assert access.value == before.registers[number] & low
        else:
            assert after.state.registers[number] & low == access.value
    if "^" not in instruction.text:
        assert None not in [transfer.register for transfer in memory.transfers]


def check_values(instruction: Instruction, before: State, after: Outcome) -> None:
    """What the table says of results that can be followed."""
    copy, registers = instruction.copy, after.state.registers
    if copy is not None:
        if copy.constant is not None:
            assert registers[copy.destination] == copy.constant
        elif copy.source is not None:
            assert registers[copy.destination] == before.registers[copy.source]
        else:
            saved = copy.mask_register is MaskRegister.SPSR_I
            value = before.spsr if saved else before.flags << 28 | before.control
            assert copy.mask_register is not None
            bits = I_BIT | F_BIT
            assert copy.mask_register.bits & bits
            assert registers[copy.destination] & bits == value & bits
    if instruction.arithmetic is not None:
        done = instruction.arithmetic
        one = before.registers[done.source]
        two = done.constant if done.other is None else before.registers[done.other]
        assert two is not None
        assert (
            registers[done.destination]
            == 0xFFFFFFFF
            & {
                Calculation.ADD: one + two,
                Calculation.AND: one & two,
                Calculation.OR: one | two,
                Calculation.SHIFT_LEFT: one << two if done.calculation.name == "SHIFT_LEFT" else 0,
            }[done.calculation]
        )
    test = instruction.test
    if test is not None:
        values = before.registers if instruction.text.startswith("cmp") else registers
        assert bool(after.state.flags & 4) == (values[test.register] == test.constant)
        assert test.equal_when_taken is None


def check_masks(instruction: Instruction, before: State, after: Outcome) -> None:
    state = {"cpsr": before.control, "spsr": before.spsr}
    for write in instruction.masks:
        register, _, bit = write.register.value.partition(".")
        assert write.bits == {"i": I_BIT, "f": F_BIT}[bit]
        if write.constant is not None:
            value = write.constant
        elif write.source is not None:
            value = before.registers[write.source]
        else:
            assert write.mask_register is not None
            value = {"cpsr": before.control, "spsr": before.spsr}[
                write.mask_register.value.partition(".")[0]
            ]
        state[register] = state[register] & ~write.bits | value & write.bits
    assert after.state.control & (I_BIT | F_BIT) == state["cpsr"] & (I_BIT | F_BIT)
    assert after.state.spsr & (I_BIT | F_BIT) == state["spsr"] & (I_BIT | F_BIT)


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
        instruction.address, 4, State(registers, before.flags, before.control, before.spsr)
    )
    assert again.pc == after.pc
    assert again.accesses == after.accesses
    assert again.state.flags == after.state.flags
    assert again.state.control == after.state.control
    for n in range(15):
        if instruction.defs >> n & 1:
            assert again.state.registers[n] == after.state.registers[n]
        else:
            assert again.state.registers[n] == registers[n]


def test_arm_effects_of_single_instructions(machine: Machine) -> None:
    rng = random.Random(51)
    executed: Counter[bool] = Counter()
    for code in CODES:
        address = machine.place(code.to_bytes(4, "little"))
        instruction = decode_at(code, address)
        for _ in range(2):
            before = prepare(instruction, random_state(rng), rng)
            after = machine.run(address, 4, before)
            taken = holds(instruction.condition, before.flags)
            executed[taken] += 1
            try:
                if taken:
                    check(instruction, before, after)
                else:
                    assert instruction.conditional
                    assert after.accesses == []
                    assert after.state == before
                    assert after.pc == instruction.end
                check_influence(machine, instruction, before, after, rng)
            except AssertionError as failure:
                raise AssertionError(f"{instruction}\n{before}\n{after}\n{failure}") from failure
    assert min(executed.values()) > 300


def test_arm_predicate_makes_nothing_certain() -> None:
    """What holds of a conditional instruction must hold where it is skipped, too."""
    for code in CODES:
        for number, condition in enumerate(CONDITIONS[:14]):
            if number % 5:
                continue
            always = decode_at(code & 0x0FFFFFFF | 0xE0000000, 0x1000)
            sometimes = decode_at(code & 0x0FFFFFFF | number << 28, 0x1000)
            assert (always.conditional, sometimes.conditional) == (False, True)
            assert sometimes.condition == condition
            assert sometimes.defs == always.defs
            assert sometimes.uses == always.uses | always.defs
            assert sometimes.copy is sometimes.test is sometimes.arithmetic is None
            assert sometimes.flow is always.flow
            assert (sometimes.issue, always.issue) in {
                (always.issue, always.issue),
                (EventKind.BRANCH_UNTAKEN, EventKind.BRANCH_TAKEN),
            }


def test_arm_exception_returns_restore_the_status(machine: Machine) -> None:
    """``movs pc, lr``, ``subs pc, lr, #4`` and ``ldm ..., {.., pc}^``, into another mode."""
    for code in (0xE1B0F00E, 0xE25EF004, 0xE8FD8000, 0xE8DDF0F0 & ~0x2000):
        address = machine.place(code.to_bytes(4, "little"))
        instruction = decode_at(code, address)
        assert instruction.flow is Flow.RETURN
        for saved in (0x10, 0x1F, 0x90, 0xDF):
            before = State(
                [0x4000_0000 + 0x100 * n for n in range(15)], 5, SUPERVISOR | I_BIT, saved
            )
            after = machine.run(address, 4, before)
            assert after.state.control == saved
            assert [str(w.register.value) for w in instruction.masks] == ["cpsr.i", "cpsr.f"]
            changed = {
                n
                for n, (old, new) in enumerate(
                    zip(before.registers, after.state.registers, strict=True)
                )
                if old != new
            }
            assert changed <= {n for n in range(15) if instruction.defs >> n & 1}
