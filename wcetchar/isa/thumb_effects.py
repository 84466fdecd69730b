"""What each Armv6-M and Armv7-M Thumb instruction does: one row for each mnemonic.

Source: Armv7-M Architecture Reference Manual (DDI 0403E), A7.7 "Alphabetical list of Armv7-M Thumb
instructions" and B5.2 "Armv7-M system instructions"; Armv6-M Architecture Reference Manual
(DDI 0419E), A6.7. Timing classes follow the instruction groups of the Cortex-M3 Technical Reference
Manual (100165), table 3-1.

A row lists the *forms* of operands of the 16-bit encodings (``narrow``) and of the 32-bit ones
(``wide``); no form, no such encoding. An instruction that fits no form is not decoded. A form has
one letter for each operand:

=====  ==============================================================================
``d``  register that is written; ``D``: may be sp
``s``  register that is read; ``S``: may be sp; ``a``: may be any, pc too
``b``  register that is read and written; ``R``: may be any, pc too
``A``  register that is written; may be any, pc too
``P``  sp, written; ``p``: read; ``B``: read and written
``v``  register that is read, shifted left by at most 3
``#``  immediate
``t``  branch target
``m``  memory operand
``w``  base register of a multiple transfer, written too when it carries ``!``
``L``  register list
``y``  special register that is read; ``Y``: that is written
``i``  interrupt mask bits (cps)
``o``  barrier option
``c``  condition
=====  ==============================================================================

Where the manual calls a choice of registers UNPREDICTABLE, no form allows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from wcetchar.model.access import EventKind as K
from wcetchar.model.instruction import Flow


class InIT(StrEnum):
    """Where inside an IT block an instruction may stand; anywhere else is UNPREDICTABLE."""

    ANYWHERE = "anywhere"
    LAST = "only as the last"
    NEVER = "never"
    UNCONDITIONAL = "anywhere, and executed whatever the condition"


class Moves(Enum):
    """How the destination follows from the source, where that is worth following."""

    VALUE = "the register or constant itself"
    INVERTED = "the constant, inverted"
    SPECIAL = "a special register"


@dataclass(frozen=True, slots=True)
class Memory:
    """Data accesses. ``count`` 0: one for each register of the list."""

    width: int
    reads: bool = False
    writes: bool = False
    count: int = 1
    burst: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """One row.

    ``armv6m``: lengths in bytes of the encodings that Armv6-M has.
    ``implied``: registers that are written and read beside the operands (sp of a push).
    ``links``: lr is written.
    """

    mnemonic: str
    issue: K
    narrow: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    memory: Memory | None = None
    flow: Flow = Flow.NEXT
    in_it: InIT = InIT.ANYWHERE
    moves: Moves | None = None
    armv6m: tuple[int, ...] = (2,)
    conditional: bool = False
    links: bool = False
    implied: int | None = None

    @property
    def sets_flags(self) -> bool:
        """The name ends in S. In an IT block the 16-bit encoding has no S and sets no flags."""
        return self.mnemonic in _WITH_S


R8, R16, R32 = (Memory(width, reads=True) for width in (8, 16, 32))
W8, W16, W32 = (Memory(width, writes=True) for width in (8, 16, 32))
R_PAIR = Memory(32, reads=True, count=2, burst=True)
W_PAIR = Memory(32, writes=True, count=2, burst=True)
R_LIST = Memory(32, reads=True, count=0, burst=True)
W_LIST = Memory(32, writes=True, count=0, burst=True)

V7M: Final = ()
BOTH: Final = (2, 4)
WIDE: Final = (4,)

SP: Final = 13

TWO = ("ds#", "dss")
"""Wide data processing: a register and a modified immediate or a shifted register."""

_ROWS: tuple[Effect, ...] = (
    # Addition and subtraction. sp as destination only with sp as first source.
    Effect("adds", K.ALU, ("dss", "ds#", "b#"), ("dSs", "dS#", "Ppv", "Pp#")),
    Effect("add", K.ALU, ("Ra", "dS#", "ASa", "B#"), ("dSs", "dS#", "Ppv", "Pp#")),
    Effect("addw", K.ALU, (), ("dS#", "Pp#", "da#")),
    Effect("subs", K.ALU, ("dss", "ds#", "b#"), ("dSs", "dS#", "Ppv", "Pp#")),
    Effect("sub", K.ALU, ("B#",), ("dSs", "dS#", "Ppv", "Pp#")),
    Effect("subw", K.ALU, (), ("dS#", "Pp#", "da#")),
    Effect("adr", K.ALU, ("d#",)),  # the wide one is named addw or subw
    Effect("adcs", K.ALU, ("bs",), TWO),
    Effect("adc", K.ALU, (), TWO),
    Effect("sbcs", K.ALU, ("bs",), TWO),
    Effect("sbc", K.ALU, (), TWO),
    Effect("rsbs", K.ALU, ("ds#",), TWO),
    Effect("rsb", K.ALU, (), TWO),
    # Logic.
    Effect("ands", K.ALU, ("bs",), TWO),
    Effect("and", K.ALU, (), TWO),
    Effect("orrs", K.ALU, ("bs",), TWO),
    Effect("orr", K.ALU, (), TWO),
    Effect("eors", K.ALU, ("bs",), TWO),
    Effect("eor", K.ALU, (), TWO),
    Effect("bics", K.ALU, ("bs",), TWO),
    Effect("bic", K.ALU, (), TWO),
    Effect("orns", K.ALU, (), TWO),
    Effect("orn", K.ALU, (), TWO),
    # Moves.
    Effect("movs", K.ALU, ("ds", "d#"), ("ds", "d#"), moves=Moves.VALUE),
    Effect("mov", K.ALU, ("Aa",), ("dS", "Ds", "d#"), moves=Moves.VALUE),
    Effect("movw", K.ALU, (), ("d#",), moves=Moves.VALUE),
    Effect("movt", K.ALU, (), ("b#",)),
    Effect("mvns", K.ALU, ("ds",), ("ds", "d#"), moves=Moves.INVERTED),
    Effect("mvn", K.ALU, (), ("ds", "d#"), moves=Moves.INVERTED),
    # Shifts.
    Effect("lsls", K.ALU, ("ds#", "bs"), TWO),
    Effect("lsl", K.ALU, (), TWO),
    Effect("lsrs", K.ALU, ("ds#", "bs"), TWO),
    Effect("lsr", K.ALU, (), TWO),
    Effect("asrs", K.ALU, ("ds#", "bs"), TWO),
    Effect("asr", K.ALU, (), TWO),
    Effect("rors", K.ALU, ("bs",), TWO),
    Effect("ror", K.ALU, (), TWO),
    Effect("rrxs", K.ALU, (), ("ds",)),
    Effect("rrx", K.ALU, (), ("ds",)),
    # Comparisons.
    Effect("cmp", K.ALU, ("s#", "SS"), ("S#", "Ss")),
    Effect("cmn", K.ALU, ("ss",), ("S#", "Ss")),
    Effect("tst", K.ALU, ("ss",), ("s#", "ss")),
    Effect("teq", K.ALU, (), ("s#", "ss")),
    # Bit fields, saturation, extension, reversal.
    Effect("bfi", K.ALU, (), ("bs##",)),
    Effect("bfc", K.ALU, (), ("b##",)),
    Effect("ubfx", K.ALU, (), ("ds##",)),
    Effect("sbfx", K.ALU, (), ("ds##",)),
    Effect("ssat", K.ALU, (), ("d#s",)),
    Effect("usat", K.ALU, (), ("d#s",)),
    Effect("sxtb", K.ALU, ("ds",), ("ds",)),
    Effect("sxth", K.ALU, ("ds",), ("ds",)),
    Effect("uxtb", K.ALU, ("ds",), ("ds",)),
    Effect("uxth", K.ALU, ("ds",), ("ds",)),
    Effect("rev", K.ALU, ("ds",), ("ds",)),
    Effect("rev16", K.ALU, ("ds",), ("ds",)),
    Effect("revsh", K.ALU, ("ds",), ("ds",)),
    Effect("rbit", K.ALU, (), ("ds",)),
    Effect("clz", K.ALU, (), ("ds",)),
    # Multiplication and division.
    Effect("muls", K.MULTIPLY, ("dss",)),
    Effect("mul", K.MULTIPLY, (), ("dss",)),
    Effect("mla", K.MULTIPLY_ACCUMULATE, (), ("dsss",)),
    Effect("mls", K.MULTIPLY_ACCUMULATE, (), ("dsss",)),
    Effect("umull", K.MULTIPLY_LONG, (), ("ddss",)),
    Effect("smull", K.MULTIPLY_LONG, (), ("ddss",)),
    Effect("umlal", K.MULTIPLY_LONG, (), ("bbss",)),
    Effect("smlal", K.MULTIPLY_LONG, (), ("bbss",)),
    Effect("udiv", K.DIVIDE, (), ("dss",)),
    Effect("sdiv", K.DIVIDE, (), ("dss",)),
    # Loads. A load into pc is a jump, or a return when it pops.
    Effect("ldr", K.LOAD, ("dm",), ("Am",), R32),
    Effect("ldrb", K.LOAD, ("dm",), ("dm",), R8),
    Effect("ldrh", K.LOAD, ("dm",), ("dm",), R16),
    Effect("ldrsb", K.LOAD, ("dm",), ("dm",), R8),
    Effect("ldrsh", K.LOAD, ("dm",), ("dm",), R16),
    Effect("ldrt", K.LOAD, (), ("dm",), R32),
    Effect("ldrbt", K.LOAD, (), ("dm",), R8),
    Effect("ldrht", K.LOAD, (), ("dm",), R16),
    Effect("ldrsbt", K.LOAD, (), ("dm",), R8),
    Effect("ldrsht", K.LOAD, (), ("dm",), R16),
    Effect("ldrd", K.LOAD_MULTIPLE, (), ("ddm",), R_PAIR),
    Effect("ldm", K.LOAD_MULTIPLE, ("wL",), ("wL",), R_LIST),
    Effect("ldmdb", K.LOAD_MULTIPLE, (), ("wL",), R_LIST),
    Effect("pop", K.LOAD_MULTIPLE, ("L",), ("L",), R_LIST, implied=SP),
    # Stores.
    Effect("str", K.STORE, ("sm",), ("Sm",), W32),
    Effect("strb", K.STORE, ("sm",), ("sm",), W8),
    Effect("strh", K.STORE, ("sm",), ("sm",), W16),
    Effect("strt", K.STORE, (), ("sm",), W32),
    Effect("strbt", K.STORE, (), ("sm",), W8),
    Effect("strht", K.STORE, (), ("sm",), W16),
    Effect("strd", K.STORE_MULTIPLE, (), ("ssm",), W_PAIR),
    Effect("stm", K.STORE_MULTIPLE, ("wL",), ("wL",), W_LIST),
    Effect("stmdb", K.STORE_MULTIPLE, (), ("wL",), W_LIST),
    Effect("push", K.STORE_MULTIPLE, ("L",), ("L",), W_LIST, implied=SP),
    # Exclusives. A store that fails makes no access; one is counted.
    Effect("ldrex", K.LOAD_EXCLUSIVE, (), ("dm",), R32),
    Effect("ldrexb", K.LOAD_EXCLUSIVE, (), ("dm",), R8),
    Effect("ldrexh", K.LOAD_EXCLUSIVE, (), ("dm",), R16),
    Effect("strex", K.STORE_EXCLUSIVE, (), ("dsm",), W32),
    Effect("strexb", K.STORE_EXCLUSIVE, (), ("dsm",), W8),
    Effect("strexh", K.STORE_EXCLUSIVE, (), ("dsm",), W16),
    Effect("clrex", K.HINT, (), ("",)),
    # Branches. Whether bx, mov pc and loads into pc return is decided in thumb.py.
    Effect("b", K.BRANCH_TAKEN, ("t",), ("t",), flow=Flow.JUMP, in_it=InIT.LAST),
    Effect(
        "b<c>",
        K.BRANCH_UNTAKEN,
        ("t",),
        ("t",),
        flow=Flow.JUMP,
        in_it=InIT.NEVER,
        conditional=True,
    ),
    Effect(
        "cbz",
        K.BRANCH_UNTAKEN,
        ("st",),
        flow=Flow.JUMP,
        in_it=InIT.NEVER,
        conditional=True,
        armv6m=V7M,
    ),
    Effect(
        "cbnz",
        K.BRANCH_UNTAKEN,
        ("st",),
        flow=Flow.JUMP,
        in_it=InIT.NEVER,
        conditional=True,
        armv6m=V7M,
    ),
    Effect("bl", K.CALL, (), ("t",), flow=Flow.CALL, in_it=InIT.LAST, links=True, armv6m=WIDE),
    Effect("blx", K.CALL_INDIRECT, ("S",), flow=Flow.CALL_INDIRECT, in_it=InIT.LAST, links=True),
    Effect("bx", K.BRANCH_TAKEN, ("S",), flow=Flow.JUMP_INDIRECT, in_it=InIT.LAST),
    Effect("tbb", K.BRANCH_TABLE, (), ("m",), R8, flow=Flow.JUMP_TABLE, in_it=InIT.LAST),
    Effect("tbh", K.BRANCH_TABLE, (), ("m",), R16, flow=Flow.JUMP_TABLE, in_it=InIT.LAST),
    # Exceptions.
    Effect("svc", K.SUPERVISOR_CALL, ("#",), flow=Flow.SUPERVISOR_CALL),
    Effect("bkpt", K.BREAKPOINT, ("#",), flow=Flow.STOP, in_it=InIT.UNCONDITIONAL),
    Effect("udf", K.BREAKPOINT, ("#",), ("#",), flow=Flow.STOP, armv6m=BOTH),
    # System.
    Effect("mrs", K.SYSTEM_REGISTER, (), ("dy",), moves=Moves.SPECIAL, armv6m=WIDE),
    Effect("msr", K.SYSTEM_REGISTER, (), ("Ys",), armv6m=WIDE),
    Effect("cpsie", K.INTERRUPT_MASK, ("i",), in_it=InIT.NEVER),
    Effect("cpsid", K.INTERRUPT_MASK, ("i",), in_it=InIT.NEVER),
    Effect("dsb", K.BARRIER, (), ("o", "#"), armv6m=WIDE),
    Effect("dmb", K.BARRIER, (), ("o", "#"), armv6m=WIDE),
    Effect("isb", K.BARRIER, (), ("o", "#"), armv6m=WIDE),
    # Hints. Reserved ones (hint, esb, csdb) execute as nop; the preloads do on the Cortex-M3.
    Effect("it", K.HINT, ("c",), in_it=InIT.NEVER, armv6m=V7M),
    Effect("nop", K.HINT, ("",), ("",)),
    Effect("yield", K.HINT, ("",), ("",)),
    Effect("sev", K.HINT, ("",), ("",)),
    Effect("hint", K.HINT, ("#",), ("#",)),
    Effect("esb", K.HINT, (), ("",)),
    Effect("csdb", K.HINT, (), ("",)),
    Effect("dbg", K.HINT, (), ("#",)),
    Effect("pld", K.HINT, (), ("m",)),
    Effect("pli", K.HINT, (), ("m",)),
    Effect("wfi", K.WAIT, ("",), ("",)),
    Effect("wfe", K.WAIT, ("",), ("",)),
)

EFFECTS: Final = {row.mnemonic: row for row in _ROWS}

_WITH_S: Final = frozenset(
    row.mnemonic for row in _ROWS if row.mnemonic.endswith("s") and row.mnemonic[:-1] in EFFECTS
)

SYNONYMS: Final = {"trap": ("udf", "#0xfe"), "dfb": ("dsb", "#12")}
"""Names that capstone gives to one encoding of an instruction, and what they stand for."""

UNNAMED: Final = {b"\xf9\xde": ("udf", "#0xf9")}
"""Encodings of Armv6-M and Armv7-M that capstone 5 does not decode."""

CONDITIONS: Final = (
    "eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al",
)  # fmt: skip
"""Condition codes by number (DDI 0403E, A7.3)."""

SPECIAL_REGISTERS: Final = {
    "apsr": 0,
    "iapsr": 1,
    "eapsr": 2,
    "xpsr": 3,
    "ipsr": 5,
    "epsr": 6,
    "iepsr": 7,
    "msp": 8,
    "psp": 9,
    "primask": 16,
    "basepri": 17,
    "basepri_max": 18,
    "faultmask": 19,
    "control": 20,
}
"""SYSm encoding of each special register (DDI 0403E, B5.1.1)."""

NOT_IN_ARMV6M: Final = frozenset({"basepri", "basepri_max", "faultmask"})

STACK_POINTERS: Final = frozenset({"msp", "psp"})
"""mrs of them reads what may be sp."""

SETS_STACK_POINTER: Final = frozenset({"msp", "psp", "control"})
"""msr to them may change sp: which of the two is sp depends on CONTROL and the mode."""
