"""What each Armv4T instruction of Arm state (A32) does: one row for each mnemonic and form.

Source: Arm Architecture Reference Manual (DDI 0100I), A3 "The Arm Instruction Set", A4.1
"Alphabetical list of Arm instructions" as far as they are marked "all versions" or "version 4 and
above", A5 "Arm Addressing Modes". Timing classes follow ARM7TDMI Technical Reference Manual r4p1
(DDI 0210C), chapter 6 "Instruction cycle timings".

A row has the encoding behind the condition field, most significant bit first, and says which
registers it reads and writes by the letters of its fields:

===============  ==========================================================================
``d n m s l h``  register numbers
``S``            flags are set
``P U W``        pre-indexed, upwards, base written back
``x yy``         amount and kind of a shift
``i k``          immediate; ``k`` its rotation
``r``            register list
``f``            fields of a status register, ``R`` its choice (1: SPSR)
===============  ==========================================================================

Bits that the manual prints as should-be-zero or should-be-one are constant here, and where it calls
a choice of registers UNPREDICTABLE in version 4, ``no_pc``, ``distinct`` or ``arm_apply`` refuses
it. Coprocessor instructions have no rows: an ARM7TDMI has no coprocessor and takes the undefined
instruction exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from wcetchar.model.access import EventKind as K
from wcetchar.model.instruction import Flow


@dataclass(frozen=True, slots=True)
class Memory:
    """Data accesses. ``count`` 0: one for each register of the list."""

    width: int
    reads: bool = False
    writes: bool = False
    count: int = 1


@dataclass(frozen=True)
class Effect:
    """One row.

    Attributes:
        encoding: bits 27 to 0.
        operands: as an assembler writes them; ``{d}`` is a register, ``{shift}`` the second operand
            of data processing, ``{address}`` the memory operand.
        writes, reads: letters of the register fields that are written and read, beside those of the
            memory operand.
        no_pc: letters of the fields that must not be 15.
        distinct: groups of letters whose fields must be different registers.
        indexed: ``P U W`` say how the base is used.
    """

    mnemonic: str
    issue: K
    encoding: str
    operands: str = ""
    writes: str = ""
    reads: str = ""
    no_pc: str = ""
    distinct: tuple[str, ...] = ()
    memory: Memory | None = None
    flow: Flow = Flow.NEXT
    indexed: bool = False
    compares: bool = False

    @cached_property
    def bits(self) -> str:
        """One letter or digit for each of the 28 bits."""
        found = self.encoding.replace(" ", "")
        if len(found) != 28:
            raise ValueError(f"{self.mnemonic}: {found!r} has {len(found)} bits")
        return found

    @cached_property
    def mask(self) -> int:
        return int("".join("1" if letter in "01" else "0" for letter in self.bits), 2)

    @cached_property
    def value(self) -> int:
        return int("".join("1" if letter == "1" else "0" for letter in self.bits), 2)

    @cached_property
    def _fields(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        letters = dict.fromkeys(letter for letter in self.bits if letter not in "01")
        return tuple(
            (letter, tuple(27 - at for at, found in enumerate(self.bits) if found == letter))
            for letter in letters
        )

    def fields(self, code: int) -> dict[str, int] | None:
        """Values of the fields of an encoding, ``None`` where it is not one of this row."""
        if (code ^ self.value) & self.mask:
            return None
        found = {}
        for letter, places in self._fields:
            number = 0
            for place in places:
                number = number << 1 | code >> place & 1
            found[letter] = number
        return found


DATA: Final = (
    *("and", "eor", "sub", "rsb", "add", "adc", "sbc", "rsc"),
    *("tst", "teq", "cmp", "cmn", "orr", "mov", "bic", "mvn"),
)
"""Data processing by opcode (A3.4.1)."""
COMPARES: Final = frozenset({"tst", "teq", "cmp", "cmn"})
MOVES: Final = frozenset({"mov", "mvn"})


def _data(number: int) -> tuple[Effect, ...]:
    """The three forms of the second operand (A5.1): constant, register shifted by a constant, and
    register shifted by a register, which takes a cycle more (ARM7TDMI TRM, 6.5)."""
    name = DATA[number]
    compares, moves = name in COMPARES, name in MOVES
    opcode = f"{number:04b}"
    first = "0000" if moves else "nnnn"
    to = "0000" if compares else "dddd"
    flags = "1" if compares else "S"
    operands = ", ".join((*(() if compares else ("{d}",)), *(() if moves else ("{n}",)), "{shift}"))
    writes = "" if compares else "d"
    reads = "" if moves else "n"
    no_pc = "".join(letter for letter in ("d", "n") if letter in first + to) + "sm"
    return (
        Effect(
            *(name, K.ALU, f"001{opcode}{flags} {first} {to} kkkkiiiiiiii", operands),
            writes=writes,
            reads=reads,
            compares=compares,
        ),
        Effect(
            *(name, K.ALU, f"000{opcode}{flags} {first} {to} xxxxxyy0mmmm", operands),
            writes=writes,
            reads=reads + "m",
            compares=compares,
        ),
        Effect(
            *(name, K.SHIFT_BY_REGISTER, f"000{opcode}{flags} {first} {to} ssss0yy1mmmm", operands),
            writes=writes,
            reads=reads + "ms",
            no_pc=no_pc,
            compares=compares,
        ),
    )


def _multiply_long(name: str, issue: K, opcode: str, reads: str) -> Effect:
    return Effect(
        *(name, issue, f"00001{opcode}S hhhh llll ssss 1001 mmmm", "{l}, {h}, {m}, {s}"),
        writes="lh",
        reads=reads,
        no_pc="hlsm",
        distinct=("hlm",),
    )


def _word_or_byte(name: str, memory: Memory) -> tuple[Effect, ...]:
    """Addressing mode 2 (A5.2). P = 0 and W = 1 is the form with user mode's permissions."""
    issue = K.LOAD if memory.reads else K.STORE
    byte, load = int(memory.width == 8), int(memory.reads)
    no_pc = "d" if memory.width == 8 else ""
    return tuple(
        Effect(
            *(name, issue, f"01{form}PU{byte}W{load} nnnn dddd {offset}", "{d}, {address}"),
            writes="d" if memory.reads else "",
            reads="d" if memory.writes else "",
            no_pc=no_pc + ("m" if form else ""),
            memory=memory,
            indexed=True,
        )
        for form, offset in ((0, "iiiiiiiiiiii"), (1, "xxxxxyy0mmmm"))
    )


def _half(name: str, memory: Memory, opcode: str) -> tuple[Effect, ...]:
    """Addressing mode 3 (A5.3): halfwords and signed bytes."""
    issue = K.LOAD if memory.reads else K.STORE
    load = int(memory.reads)
    return tuple(
        Effect(
            *(name, issue, f"000PU{form}W{load} nnnn dddd {high} 1{opcode}1 {low}"),
            "{d}, {address}",
            writes="d" if memory.reads else "",
            reads="d" if memory.writes else "",
            no_pc="d" if form else "dm",
            memory=memory,
            indexed=True,
        )
        for form, high, low in ((1, "iiii", "iiii"), (0, "0000", "mmmm"))
    )


def _multiple(name: str, memory: Memory) -> tuple[Effect, ...]:
    """Addressing mode 4 (A5.4); the second row is the form with ``^``."""
    issue = K.LOAD_MULTIPLE if memory.reads else K.STORE_MULTIPLE
    load = int(memory.reads)
    return tuple(
        Effect(
            *(name, issue, f"100PU{user}W{load} nnnn rrrrrrrrrrrrrrrr", "{list}" + mark),
            no_pc="n",
            memory=memory,
            indexed=True,
        )
        for user, mark in ((0, ""), (1, "^"))
    )


R8, R16, R32 = (Memory(width, reads=True) for width in (8, 16, 32))
W8, W16, W32 = (Memory(width, writes=True) for width in (8, 16, 32))
RW8, RW32 = (Memory(width, reads=True, writes=True) for width in (8, 32))
R_LIST, W_LIST = Memory(32, reads=True, count=0), Memory(32, writes=True, count=0)

_ROWS: Final = (
    *(row for number in range(16) for row in _data(number)),
    Effect(
        *("mul", K.MULTIPLY, "0000000S dddd 0000 ssss 1001 mmmm", "{d}, {m}, {s}"),
        writes="d",
        reads="ms",
        no_pc="dsm",
        distinct=("dm",),
    ),
    Effect(
        *("mla", K.MULTIPLY_ACCUMULATE, "0000001S dddd nnnn ssss 1001 mmmm"),
        "{d}, {m}, {s}, {n}",
        writes="d",
        reads="msn",
        no_pc="dnsm",
        distinct=("dm",),
    ),
    _multiply_long("umull", K.MULTIPLY_LONG, "00", "ms"),
    _multiply_long("umlal", K.MULTIPLY_ACCUMULATE_LONG, "01", "lhms"),
    _multiply_long("smull", K.MULTIPLY_LONG, "10", "ms"),
    _multiply_long("smlal", K.MULTIPLY_ACCUMULATE_LONG, "11", "lhms"),
    Effect(
        *("swp", K.SWAP, "00010000 nnnn dddd 0000 1001 mmmm", "{d}, {m}, [{n}]"),
        writes="d",
        reads="m",
        no_pc="ndm",
        distinct=("nm", "nd"),
        memory=RW32,
    ),
    Effect(
        *("swpb", K.SWAP, "00010100 nnnn dddd 0000 1001 mmmm", "{d}, {m}, [{n}]"),
        writes="d",
        reads="m",
        no_pc="ndm",
        distinct=("nm", "nd"),
        memory=RW8,
    ),
    *_word_or_byte("ldr", R32),
    *_word_or_byte("ldrb", R8),
    *_word_or_byte("str", W32),
    *_word_or_byte("strb", W8),
    *_half("ldrh", R16, "01"),
    *_half("ldrsb", R8, "10"),
    *_half("ldrsh", R16, "11"),
    *_half("strh", W16, "01"),
    *_multiple("ldm", R_LIST),
    *_multiple("stm", W_LIST),
    Effect("b", K.BRANCH_TAKEN, "1010 iiiiiiiiiiiiiiiiiiiiiiii", "{target}", flow=Flow.JUMP),
    Effect("bl", K.CALL, "1011 iiiiiiiiiiiiiiiiiiiiiiii", "{target}", flow=Flow.CALL),
    Effect(
        *("bx", K.BRANCH_TAKEN, "00010010 1111 1111 1111 0001 mmmm", "{m}"),
        reads="m",
        flow=Flow.JUMP_INDIRECT,
    ),
    Effect(
        *("swi", K.SUPERVISOR_CALL, "1111 iiiiiiiiiiiiiiiiiiiiiiii", "#{i}"),
        flow=Flow.SUPERVISOR_CALL,
    ),
    Effect(
        *("mrs", K.SYSTEM_REGISTER, "00010R00 1111 dddd 000000000000", "{d}, {status}"),
        writes="d",
        no_pc="d",
    ),
    Effect(
        *("msr", K.SYSTEM_REGISTER, "00010R10 ffff 1111 00000000 mmmm", "{status}, {m}"),
        reads="m",
        no_pc="m",
    ),
    Effect("msr", K.SYSTEM_REGISTER, "00110R10 ffff 1111 kkkkiiiiiiii", "{status}, {shift}"),
    # Undefined in every version (A3.16.4); compilers end what must not be reached with it.
    Effect("udf", K.BREAKPOINT, "0111 1111 iiiiiiiiiiii 1111 iiii", "#{i}", flow=Flow.STOP),
)

ROWS: Final = tuple(_ROWS)

CONDITIONS: Final = (
    *("eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc"),
    *("hi", "ls", "ge", "lt", "gt", "le", "", None),
)
"""Condition codes by number (A3.2); 14 is "always", 15 UNPREDICTABLE in version 4."""

SHIFTS: Final = ("lsl", "lsr", "asr", "ror")
MODES: Final = {(0, 0): "da", (0, 1): "ia", (1, 0): "db", (1, 1): "ib"}
"""Addressing mode of a multiple transfer by P and U (A5.4.1)."""
