"""The RISC-V effect table against execution on unicorn (QEMU's translator).

Encodings come from the transcription of the manual in ``riscv_patterns`` and from the 16-bit space.
Each is run on random registers, control registers and memory; what it did must be what the table
says: accesses, changed registers, the influence of registers, control flow, copies, masks.
"""

from __future__ import annotations

import random
import struct
from collections import Counter

import pytest

pytest.importorskip("unicorn")

from riscv_machine import CODE_SIZE, CSRS, MACHINE_MODE, Machine, State
from riscv_patterns import PATTERNS, Pattern, manual
from unicorn_machine import CODE, Access, Outcome

from wcetchar.isa import decode_riscv
from wcetchar.isa.riscv_compressed import COMPRESSED
from wcetchar.isa.riscv_effects import EFFECTS
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import (
    Calculation,
    Flow,
    Instruction,
    MaskOperation,
    MaskRegister,
)

TRAPS = (Flow.STOP, Flow.SUPERVISOR_CALL)
"""Unicorn stops at the exception that they raise."""

NUMBERS = {"mstatus": 0x300, "mie": 0x304, "mscratch": 0x340, "mepc": 0x341}
WORD = 0xFFFFFFFF


def decode_at(code: bytes, address: int) -> Instruction:
    found = decode_riscv(code, address)
    assert isinstance(found, Instruction), (code.hex(), found)
    return found


def row_name(instruction: Instruction) -> str:
    name = instruction.text.split()[0]
    for ordering in (".aqrl", ".aq", ".rl"):
        name = name.removesuffix(ordering)
    return name


def samples() -> list[bytes]:
    rng = random.Random(50)
    codes = []
    for pattern in PATTERNS:
        drawn: set[int] = set()
        for _ in range(200):
            code = pattern.fill(rng)
            if "c" in pattern.bits:
                # Only registers that this machine has, and whose value does not change by itself.
                code = code & 0xFFFFF | rng.choice(list(NUMBERS.values())) << 20
            # The last page of the address space cannot be mapped here.
            above = code & 0x5F == 0x03 and code >> 15 & 31 == 0 and code >> 31
            if manual(code) == pattern.name and len(drawn) < 8 and not above:
                drawn.add(code)
        assert drawn, pattern.name
        if "d" in pattern.bits and "c" not in pattern.bits:
            drawn |= {code for code in neutral(pattern, rng) if manual(code) == pattern.name}
        codes += [struct.pack("<I", code) for code in sorted(drawn)]
    narrow: dict[str, list[bytes]] = {}
    for halfword in range(0x10000):
        if halfword & 3 != 3:
            code = struct.pack("<H", halfword)
            found = decode_riscv(code, 0)
            if isinstance(found, Instruction):
                narrow.setdefault(row_name(found), []).append(code)
    for same in narrow.values():
        codes += rng.sample(same, min(12, len(same)))
    return codes


def neutral(pattern: Pattern, rng: random.Random) -> list[int]:
    """Encodings with x0 or the constant 0 as each operand, which a copy may be told of."""
    codes = []
    for letter in "sti":
        zero = int("".join("1" if field == letter else "0" for field in pattern.bits), 2)
        if zero and pattern.value & 0x5F != 0x03:  # no load or store
            code = pattern.fill(rng) & ~zero
            codes.append(code & ~(31 << 7) | rng.randrange(1, 32) << 7)
    return codes


CODES = samples()


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine(seed=8)


def random_state(rng: random.Random) -> State:
    """Word-aligned registers: unaligned atomic accesses would fault. No access may hit the code or
    wrap around the address space."""
    registers = [0x2000_0000 | rng.getrandbits(28) << 2 & 0x5FFF_FFFC for _ in range(32)]
    # Small values and equal ones too, for branches and divisions.
    registers = [rng.choice((n, n, rng.getrandbits(3) << 2)) for n in registers]
    registers[0] = 0
    status = rng.getrandbits(2) << 3 & 8 | rng.getrandbits(1) << 7 | MACHINE_MODE
    csrs = {
        "mstatus": status,
        "mie": rng.getrandbits(32),
        "mepc": rng.getrandbits(31) << 1,
        "mscratch": rng.getrandbits(32),
    }
    return State(registers, csrs)


def prepare(instruction: Instruction, state: State, rng: random.Random) -> State:
    registers = list(state.registers)
    if instruction.memory is not None:
        registers = [n if n > 64 or i == 0 else n | 0x4000_0000 for i, n in enumerate(registers)]
    return State(registers, state.csrs)


def immediate(instruction: Instruction) -> int:
    """Bits 31:20 of an I-type encoding, signed; compressed jumps have none."""
    if instruction.length == 2:
        return 0
    number = int.from_bytes(instruction.code, "little") >> 20
    return number - (number >> 11 << 12)


def check(instruction: Instruction, before: State, after: Outcome, writable: int) -> None:
    if instruction.flow in TRAPS:
        assert after.error is not None
        assert after.state.registers == before.registers
        assert not after.accesses
        return
    assert after.error is None
    changed = sum(
        1 << n
        for n, (old, new) in enumerate(zip(before.registers, after.state.registers, strict=True))
        if old != new
    )
    assert changed & ~instruction.defs == 0, "a register changed that is not in defs"
    assert instruction.defs & 1 == instruction.uses & 1 == 0
    check_flow(instruction, before, after)
    check_accesses(instruction, before, after)
    check_masks(instruction, before, after, writable)
    check_values(instruction, before, after)


def check_flow(instruction: Instruction, before: State, after: Outcome) -> None:
    flow = instruction.flow
    if row_name(instruction) == "mret":
        assert flow is Flow.RETURN
        assert after.pc == before.csrs["mepc"]
        return
    if flow is Flow.NEXT:
        assert after.pc == instruction.end
    elif flow is Flow.JUMP and instruction.conditional:
        assert after.pc in (instruction.end, instruction.target)
        test = instruction.test
        if test is not None and instruction.target != instruction.end:
            equal = before.registers[test.register] == test.constant
            taken = after.pc == instruction.target
            assert taken == (equal == test.equal_when_taken)
    elif flow in (Flow.JUMP, Flow.CALL):
        assert after.pc == instruction.target
    else:
        base = sum(before.registers[n] for n in range(32) if instruction.uses >> n & 1)
        assert instruction.uses.bit_count() <= 1
        assert after.pc == base + immediate(instruction) & WORD & ~1
    if flow is not Flow.NEXT and instruction.defs:
        # Whatever register it is, a jump leaves the return address there.
        assert after.state.registers[instruction.defs.bit_length() - 1] == instruction.end
        calls = flow in (Flow.CALL, Flow.CALL_INDIRECT)
        assert calls == (instruction.defs in (1 << 1, 1 << 5))
    elif flow is not Flow.NEXT:
        assert flow not in (Flow.CALL, Flow.CALL_INDIRECT)


def check_accesses(instruction: Instruction, before: State, after: Outcome) -> None:
    accesses, memory = after.accesses, instruction.memory
    if instruction.issue is EventKind.STORE_EXCLUSIVE:
        # Without a reservation it fails; the read of QEMU's comparison is no access.
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
    assert len({access.address for access in accesses}) == 1
    assert not memory.burst
    assert len(memory.transfers) == len(accesses)
    assert memory.base is not None
    assert (accesses[0].address - before.registers[memory.base] + 2048) & WORD < 4096
    for transfer, access in zip(memory.transfers, accesses, strict=True):
        low = (1 << memory.width) - 1
        number = transfer.register
        if number is None:
            # Nothing is filled, or something was computed.
            assert row_name(instruction).startswith("amo") or not instruction.defs
        elif access.write:
            assert access.value == before.registers[number] & low
        else:
            assert after.state.registers[number] & low == access.value


def check_masks(instruction: Instruction, before: State, after: Outcome, writable: int) -> None:
    """``writable``: bits of mie that this machine has."""
    places = {
        MaskRegister.MSTATUS_MIE: ("mstatus", 1 << 3),
        MaskRegister.MSTATUS_MPIE: ("mstatus", 1 << 7),
        MaskRegister.MIE: ("mie", WORD),
    }
    expected = dict(before.csrs)
    for write in instruction.masks:
        name, bits = places[write.register]
        assert write.bits == bits
        old = expected[name]
        if write.mask_register is not None:
            other, other_bits = places[write.mask_register]
            value = bits if before.csrs[other] & other_bits else 0
        elif write.constant is not None:
            value = write.constant
        else:
            assert write.source is not None
            value = before.registers[write.source]
        match write.operation:
            case MaskOperation.WRITE:
                new = value & bits
            case MaskOperation.SET:
                new = (old | value) & bits
            case MaskOperation.CLEAR:
                new = old & ~value & bits
        expected[name] = old & ~bits | new
    assert after.state.csrs["mstatus"] & 0x88 == expected["mstatus"] & 0x88
    assert after.state.csrs["mie"] & writable == expected["mie"] & writable


def check_values(instruction: Instruction, before: State, after: Outcome) -> None:
    copy, arithmetic = instruction.copy, instruction.arithmetic
    if copy is not None:
        assert instruction.defs == 1 << copy.destination
        found = after.state.registers[copy.destination]
        if copy.constant is not None:
            assert found == copy.constant
        elif copy.source is not None:
            assert found == before.registers[copy.source]
        else:
            assert copy.mask_register is not None
            name = {MaskRegister.MSTATUS_MIE: "mstatus", MaskRegister.MIE: "mie"}
            assert found == before.csrs[name[copy.mask_register]]
    if arithmetic is not None:
        assert copy is None
        assert instruction.defs == 1 << arithmetic.destination
        first, second = before.registers[arithmetic.source], arithmetic.constant
        if arithmetic.other is not None:
            assert second is None
            second = before.registers[arithmetic.other]
        assert second is not None
        expected = {
            Calculation.ADD: first + second,
            Calculation.AND: first & second,
            Calculation.OR: first | second,
            # By a register: the lowest five bits of it (Unprivileged ISA, 2.4.2).
            Calculation.SHIFT_LEFT: first << (second & 31),
        }[arithmetic.calculation]
        assert after.state.registers[arithmetic.destination] == expected & WORD


def check_influence(
    machine: Machine, instruction: Instruction, before: State, after: Outcome, rng: random.Random
) -> None:
    """Registers outside ``uses`` get other values: nothing that the instruction does may change."""
    other = random_state(rng)
    registers = [
        old if instruction.uses >> n & 1 else new
        for n, (old, new) in enumerate(zip(before.registers, other.registers, strict=True))
    ]
    again = machine.run(instruction.address, State(registers, before.csrs))
    assert again.pc == after.pc
    assert again.accesses == after.accesses
    assert again.state.csrs == after.state.csrs
    for n in range(32):
        if instruction.defs >> n & 1:
            assert again.state.registers[n] == after.state.registers[n]
        else:
            assert again.state.registers[n] == registers[n]


def usable(instruction: Instruction, after: Outcome) -> bool:
    """False where an access lies at the end of a page or in the code: the machine would split it
    or has other contents there."""
    if instruction.flow in TRAPS:
        return True
    return all(
        access.address % 0x1000 <= 0x1000 - access.size
        and not CODE <= access.address < CODE + CODE_SIZE
        for access in after.accesses
    )


def test_riscv_effects_of_single_instructions(machine: Machine) -> None:
    rng = random.Random(51)
    all_ones = State([0] * 32, dict.fromkeys(CSRS, WORD))
    writable = machine.run(machine.place(b"\x01\x00"), all_ones).state.csrs["mie"]
    assert writable >> 3 & writable >> 7 & writable >> 11 & 1
    executed: Counter[str] = Counter()
    for code in CODES:
        address = machine.place(code)
        instruction = decode_at(code, address)
        for _ in range(2):
            before = prepare(instruction, random_state(rng), rng)
            before.csrs["mie"] &= writable
            after = machine.run(address, before)
            if not usable(instruction, after):
                continue
            try:
                check(instruction, before, after, writable)
                if instruction.flow not in TRAPS:
                    check_influence(machine, instruction, before, after, rng)
            except AssertionError as failure:
                raise AssertionError(f"{instruction}\n{before}\n{after}\n{failure}") from failure
            executed[row_name(instruction)] += 1
    assert {*EFFECTS, *COMPRESSED} - set(executed) == set(), "rows that no execution covers"


def test_riscv_reservation(machine: Machine) -> None:
    """A store-conditional behind its load-reserved makes the one write that is counted."""
    rng = random.Random(52)
    for ordering in range(4):
        load = 0x1000_2000 | 10 << 15 | 11 << 7 | 0x2F | ordering << 25  # lr.w a1, (a0)
        store = 0x1800_2000 | 12 << 20 | 10 << 15 | 13 << 7 | 0x2F | ordering << 25
        address = machine.place(struct.pack("<II", load, store))
        pair = [decode_at(struct.pack("<I", code), address) for code in (load, store)]
        assert [i.memory.reads for i in pair if i.memory] == [1, 0]
        assert [i.memory.writes for i in pair if i.memory] == [0, 1]
        before = random_state(rng)
        before.registers[10] |= 0x4000_0000
        after = machine.run(address, before, instructions=2)
        assert after.error is None
        assert after.state.registers[13] == 0, "the store failed"
        writes = [access for access in after.accesses if access.write]
        assert writes == [Access(True, before.registers[10], 4, before.registers[12])]
        assert after.accesses[0] == Access(
            False, before.registers[10], 4, after.state.registers[11]
        )


def test_riscv_branches_tell_what_they_tested(machine: Machine) -> None:
    """Each way of beq and bne with x0 on either side, for a register that is zero and one that is
    not."""
    cases = 0
    for funct, name in ((0, "beq"), (1, "bne")):
        for first, second in ((5, 0), (0, 5)):
            code = struct.pack("<I", second << 20 | first << 15 | funct << 12 | 8 << 8 | 0x63)
            address = machine.place(code)
            instruction = decode_at(code, address)
            test = instruction.test
            assert test is not None
            assert (test.register, test.constant) == (5, 0)
            for value in (0, 1, WORD):
                state = State([0] * 5 + [value] + [7] * 26, {})
                taken = machine.run(address, state).pc == instruction.target
                assert taken == ((value == 0) == test.equal_when_taken), name
                cases += 1
    assert cases == 12
