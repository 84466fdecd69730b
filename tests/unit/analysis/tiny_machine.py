"""A machine of its own for tests: a few Thumb instructions that are really carried out.

A program is a list of operations, each of which is one line of assembler. They are assembled by
the cross compiler, so that addresses and encodings are its own, and carried out here, one at a
time, with registers, memory, stack pointers, mask registers, exceptions and threads. What comes
out is a trace, and beside each step the truth that no trace shows: which thread, which masks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from listing import MARK, Row, load, sections

from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.trace import Event

DATA = 0x20000000
SHARED = DATA + 0x800  # a word that threads and handlers save masks in
STACKS = 0x20020000
THREAD_STACK = 0x400
MAIN_STACK = STACKS + 0xF000
EXCEPTION_RETURN = 0xFFFFFFFD

SCRIPT = """
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text 0x100 : { *(.text*) }
  .data 0x20000000 : { *(.data) }
  .marks 0x20010000 (NOLOAD) : { *(.marks) }
  .stack 0x20020000 (NOLOAD) : { *(.stack) }
}
"""

HEADER = sections(0x10000, 0x1000)

Do = Callable[["Machine"], "int | None"]
"""Carries an operation out; returns where control goes, ``None`` for the next one."""


@dataclass
class Op:
    """One line of assembler. ``if_zero``: predicated by eq (True) or ne (False)."""

    text: str
    do: Do
    if_zero: bool | None = None
    label: str = ""


@dataclass
class Function:
    name: str
    ops: list[Op]
    align: bool = True


@dataclass
class Step:
    """One executed instruction and the truth about it."""

    pc: int
    owner: int
    """Number of the thread, or minus the number of the exception's activation."""
    sp: int
    back: int
    """Where the link register points."""
    primask: int
    basepri: int
    locked: bool
    accesses: list[Row] = field(default_factory=list)


State = tuple[int, list[int], int, int, bool]
"""Owner, registers, pc, sp, Z flag of what does not run."""


def _list(registers: list[int]) -> str:
    names = {14: "lr", 15: "pc"}
    return "{" + ", ".join(names.get(r, f"r{r}") for r in sorted(registers)) + "}"


# --- operations -------------------------------------------------------------------------------


def plain(text: str) -> Op:
    """An instruction that changes nothing which matters here."""
    return Op(text, lambda m: None)


def constant(register: int, value: int) -> Op:
    def do(m: Machine) -> None:
        m.r[register] = value
        m.zero = value == 0

    return Op(f"movs r{register}, #{value}", do)


def copy(to: int, source: int) -> Op:
    def do(m: Machine) -> None:
        m.r[to] = m.r[source]

    return Op(f"mov r{to}, r{source}", do)


def add(register: int, value: int) -> Op:
    def do(m: Machine) -> None:
        m.r[register] = (m.r[register] + value) & 0xFFFFFFFF
        m.zero = m.r[register] == 0

    return Op(f"adds r{register}, #{value}" if value >= 0 else f"subs r{register}, #{-value}", do)


def compare(register: int, value: int) -> Op:
    def do(m: Machine) -> None:
        m.zero = m.r[register] == value

    return Op(f"cmp r{register}, #{value}", do)


def jump(label: str, if_zero: bool | None = None) -> Op:
    name = {None: "b.w", True: "beq.w", False: "bne.w"}[if_zero]

    def do(m: Machine) -> int | None:
        return m.labels[label] if if_zero in (None, m.zero) else None

    return Op(f"{name} {label}", do)


def compare_jump(register: int, label: str, if_zero: bool) -> Op:
    def do(m: Machine) -> int | None:
        return m.labels[label] if (m.r[register] == 0) == if_zero else None

    return Op(f"{'cbz' if if_zero else 'cbnz'} r{register}, {label}", do)


def call(name: str, if_zero: bool | None = None) -> Op:
    def do(m: Machine) -> int:
        m.r[14] = m.ends[m.pc] | 1
        return m.labels[name]

    suffix = {None: "", True: "eq", False: "ne"}[if_zero]
    return Op(f"bl{suffix} {name}", do, if_zero)


def call_register(name: str, register: int) -> list[Op]:
    """A call through a register; the target is set by an instruction of its own."""

    def target(m: Machine) -> None:
        m.r[register] = m.labels[name] | 1

    def do(m: Machine) -> int:
        m.r[14] = m.ends[m.pc] | 1
        return m.r[register] & ~1

    return [
        Op(f"movw r{register}, #:lower16:{name}", target),
        Op(f"blx r{register}", do),
    ]


def tail_call(name: str) -> Op:
    return Op(f"b.w {name}", lambda m: m.labels[name])


def tail_call_register(name: str, register: int) -> list[Op]:
    def target(m: Machine) -> None:
        m.r[register] = m.labels[name] | 1

    return [
        Op(f"movw r{register}, #:lower16:{name}", target),
        Op(f"bx r{register}", lambda m: m.r[register] & ~1),
    ]


def leave() -> Op:
    return Op("bx lr", lambda m: m.r[14] & ~1 if m.r[14] < 0xF0000000 else m.r[14])


def push(registers: list[int]) -> Op:
    def do(m: Machine) -> None:
        m.sp -= 4 * len(registers)
        for i, register in enumerate(sorted(registers)):
            m.store(m.sp + 4 * i, 4, m.r[register])

    return Op(f"push {_list(registers)}", do)


def pop(registers: list[int]) -> Op:
    def do(m: Machine) -> int | None:
        for i, register in enumerate(sorted(registers)):
            m.r[register] = m.load(m.sp + 4 * i, 4)
        m.sp += 4 * len(registers)
        return m.r[15] & ~1 if 15 in registers else None

    return Op(f"pop {_list(registers)}", do)


def move_stack(value: int) -> Op:
    def do(m: Machine) -> None:
        m.sp += value

    return Op(f"add sp, #{value}" if value > 0 else f"sub sp, #{-value}", do)


def to_stack(register: int, offset: int, size: int = 4) -> Op:
    name = {4: "str", 2: "strh.w", 1: "strb.w"}[size]

    def do(m: Machine) -> None:
        m.store(m.sp + offset, size, m.r[register])

    return Op(f"{name} r{register}, [sp, #{offset}]", do)


def from_stack(register: int, offset: int) -> Op:
    def do(m: Machine) -> None:
        m.r[register] = m.load(m.sp + offset, 4)

    return Op(f"ldr r{register}, [sp, #{offset}]", do)


def pair(one: int, two: int, offset: int, write: bool) -> Op:
    def do(m: Machine) -> None:
        for i, register in enumerate((one, two)):
            if write:
                m.store(m.sp + offset + 4 * i, 4, m.r[register])
            else:
                m.r[register] = m.load(m.sp + offset + 4 * i, 4)

    return Op(f"{'strd' if write else 'ldrd'} r{one}, r{two}, [sp, #{offset}]", do)


def memory(register: int, address: int, size: int, write: bool, base: int = 7) -> Op:
    """Through r7, which is taken to hold whatever address is wanted."""
    name = ("str" if write else "ldr") + {4: "", 2: "h", 1: "b"}[size]

    def do(m: Machine) -> None:
        if write:
            m.store(address, size, m.r[register])
        else:
            m.r[register] = m.load(address, size)

    return Op(f"{name} r{register}, [r{base}]", do)


def multiple(registers: list[int], address: int, write: bool) -> Op:
    def do(m: Machine) -> None:
        for i, register in enumerate(sorted(registers)):
            if write:
                m.store(address + 4 * i, 4, m.r[register])
            else:
                m.r[register] = m.load(address + 4 * i, 4)

    return Op(f"{'stmia' if write else 'ldmia'}.w r7, {_list(registers)}", do)


def masks(on: bool) -> Op:
    def do(m: Machine) -> None:
        m.primask = int(on)

    return Op("cpsid i" if on else "cpsie i", do)


def read_mask(register: int, name: str) -> Op:
    def do(m: Machine) -> None:
        m.r[register] = m.primask if name == "primask" else m.basepri

    return Op(f"mrs r{register}, {name}", do)


def write_mask(name: str, register: int, if_zero: bool | None = None) -> Op:
    def do(m: Machine) -> None:
        value = m.r[register]
        if name == "primask":
            m.primask = value & 1
            return
        raises = value & 0xFF > 0 and (m.basepri == 0 or value & 0xFF < m.basepri)
        if name == "basepri" or raises:
            m.basepri = value & 0xFF

    suffix = {None: "", True: "eq", False: "ne"}[if_zero]
    return Op(f"msr{suffix} {name}, r{register}", do, if_zero)


def predicated(op: Op, if_zero: bool) -> list[Op]:
    """An IT block of one instruction."""
    name, _, rest = op.text.partition(" ")
    suffix = "eq" if if_zero else "ne"
    base = name.removesuffix("s") if name in ("movs", "adds", "subs") else name
    base, _, wide = base.partition(".")
    text = f"{base}{suffix}{'.' + wide if wide else ''} {rest}"
    flags_kept = op.do

    def do(m: Machine) -> int | None:
        before = m.zero
        result = flags_kept(m)
        m.zero = before
        return result

    return [plain(f"it {suffix}"), Op(text, do, if_zero)]


def mark(channel: int, value: Callable[[Machine], int]) -> Op:
    def do(m: Machine) -> None:
        m.store(MARK + channel * 256 + value(m), 1, 0)

    return Op("strb r0, [r7]", do)


# --- the machine ------------------------------------------------------------------------------


@dataclass
class Program:
    """Assembled functions. ``vectors``: exception number -> handler."""

    functions: list[Function]
    vectors: dict[int, str]

    def source(self) -> str:
        last = max(self.vectors, default=1)
        words = ["0x20021000"] + [
            f"{self.vectors[n]}+1" if n in self.vectors else "0" for n in range(1, last + 1)
        ]
        lines = ['.section .vectors,"a"', ".word " + ", ".join(words), HEADER]
        for function in self.functions:
            if function.align:
                lines.append(".p2align 2")
            lines += [f".global {function.name}", f".type {function.name},%function"]
            lines.append(f"{function.name}:")
            for op in function.ops:
                lines += [f"{op.label}:"] * bool(op.label) + [f"  {op.text}"]
            lines.append(f".size {function.name}, .-{function.name}")
        return "\n".join(lines) + "\n"


class Machine:
    """Carries a program out. ``interrupt`` says, before each step, which exception is taken."""

    def __init__(self, program: Program, elf: Path) -> None:
        self.image: Image
        self.table: InstructionTable
        self.image, self.table = load(elf)
        self.labels = {s.name: s.address for s in self.image.symbols}
        self.ends = {i.address: i.end for i in self.table.instructions}
        self.at: dict[int, Op] = {}
        for function in program.functions:
            address = self.labels[function.name]
            for op in function.ops:
                self.at[address] = op
                address = self.ends[address]
        self.vectors = {n: self.labels[name] for n, name in program.vectors.items()}
        self.memory: dict[int, int] = {}
        self.r = [0] * 16
        self.pc, self.sp, self.psp = 0, STACKS + THREAD_STACK, 0
        self.zero = False
        self.primask = self.basepri = self.lock = 0
        self.owner, self.activations = 0, 0
        self.nested: list[State] = []
        self.exceptions_open: list[int] = []
        self.rows: list[Row] = []
        self.steps: list[Step] = []
        self.unlocks: list[tuple[int, int, int]] = []
        self.suspended: dict[int, State] = {}
        self.switch_to: State | None = None
        self.schedule: Callable[[Machine], int] = lambda m: m.r[0]
        """Called by the switch handler: the frame to go on with."""

    # --- memory -------------------------------------------------------------------------------

    def store(self, address: int, size: int, value: int) -> None:
        for i in range(size):
            self.memory[address + i] = value >> 8 * i & 0xFF
        row = (Event.WRITE, address, size)
        self.steps[-1].accesses.append(row)
        self.rows.append(row)

    def load(self, address: int, size: int) -> int:
        row = (Event.READ, address, size)
        self.steps[-1].accesses.append(row)
        self.rows.append(row)
        return sum(self.memory.get(address + i, 0) << 8 * i for i in range(size))

    # --- execution ----------------------------------------------------------------------------

    def step(self) -> None:
        op, pc = self.at[self.pc], self.pc
        for owner, back, sp in self.unlocks[-1:]:
            if (self.owner, pc, self.sp) == (owner, back, sp):
                self.unlocks.pop()
                self.lock -= 1
        if pc == self.labels.get("lock"):
            self.lock += 1
        if pc == self.labels.get("unlock"):
            self.unlocks.append((self.owner, self.r[14] & ~1, self.sp))
        self.steps.append(
            Step(
                pc,
                self.owner,
                self.sp,
                self.r[14] & ~1,
                self.primask,
                self.basepri,
                self.lock > 0 or self.owner < 0,
            )
        )
        self.rows.append((Event.INSTRUCTION, pc, self.ends[pc] - pc))
        self.pc = self.ends[pc]
        # a call needs its own address
        if op.if_zero in (None, self.zero):
            here, self.pc = self.pc, pc
            target = op.do(self)
            self.pc = here if target is None else target
        if self.pc >= 0xF0000000:
            self.exception_return()

    def exception(self, number: int) -> None:
        self.activations += 1
        self.nested.append((self.owner, list(self.r), self.pc, self.sp, self.zero))
        if self.owner >= 0:
            self.psp = self.sp - 32
            self.sp = MAIN_STACK
        self.owner = -self.activations
        self.exceptions_open.append(number)
        self.r[14] = EXCEPTION_RETURN
        self.pc = self.vectors[number]
        self.rows.append((Event.EXCEPTION, number, 0))

    def exception_return(self) -> None:
        number = self.exceptions_open.pop()
        self.rows.append((Event.EXCEPTION_EXIT, number, 0))
        state = self.nested.pop()
        if self.switch_to is not None and state[0] >= 0:
            state, self.switch_to = self.switch_to, None
        else:
            assert self.r[4:12] == state[1][4:12], "a handler that does not keep registers"
        self.owner, registers, self.pc, self.sp, self.zero = state
        self.r = list(registers)


def switch_handler() -> list[Op]:
    """As a port's: saves r4 to r11 below the hardware's frame, and restores another thread's."""

    def thread_pointer(m: Machine) -> None:
        m.r[0] = m.psp

    def save(m: Machine) -> None:
        m.r[0] -= 32
        for i in range(8):
            m.store(m.r[0] + 4 * i, 4, m.r[4 + i])
        m.suspended[m.r[0]] = m.nested[-1]

    def choose(m: Machine) -> None:
        m.r[1] = m.schedule(m)

    def restore(m: Machine) -> None:
        m.switch_to = m.suspended.pop(m.r[1])
        for i in range(8):
            m.r[4 + i] = m.load(m.r[1] + 4 * i, 4)

    return [
        Op("mrs r0, psp", thread_pointer),
        Op("stmdb r0!, {r4, r5, r6, r7, r8, r9, r10, r11}", save),
        Op("nop", choose),
        Op("ldmia.w r1!, {r4, r5, r6, r7, r8, r9, r10, r11}", restore),
        plain("msr psp, r1"),
        leave(),
    ]
