"""Random small RISC-V kernels: three threads, switches by traps, critical sections, a lock.

Everything is assembler that a bare ``virt`` could start. Threads are switched as ports of real
kernels do it: registers, ``mepc`` and ``mstatus`` go to the thread's stack, the stack pointer to
its control block, handlers run on a stack of their own. A call for a switch (``ecall``) always goes
on with the next thread, the timer's interrupt sometimes, and never while the scheduler is locked.
"""

from __future__ import annotations

import random
from collections.abc import Callable

SCRIPT = """
SECTIONS {
  .text 0x80000000 : { *(.text*) }
  .data 0x80400000 : { *(.data) }
  .marks 0x80410000 (NOLOAD) : { *(.marks) }
  .stacks 0x80500000 (NOLOAD) : { *(.stacks) }
}
"""

SERVICES = """
schema: wcetchar/services/1
kernel: {name: random, version: "1"}
marks: {symbol: wcet_mark, values: 256, channels: {begin: 0, end: 1, first parameter: 2}}
scheduler lock: {lock: [lock], unlock: [unlock]}
sections:
  .text: {kind: code, linker sections: [.text], meaning: code}
  data: {kind: data, linker sections: [.data], meaning: data}
  stack: {kind: stack, linker sections: [.stacks], meaning: stacks}
  clint: {kind: peripheral, address ranges: [{base: 0x02000000, size: 64 KiB}], meaning: timer}
services:
  service:
    mark: 7
    kind: call
    entries: [service]
    parameters: {N: {kind: argument, range: 1..3, meaning: thread}}
  wait: {mark: 8, kind: blocking call, entries: [wait]}
  tick: {mark: 9, kind: handler, entries: [trap], exceptions: [0x80000007]}
  switch: {mark: 10, kind: handler, entries: [trap], exceptions: [11]}
"""

TIMER, CALL = 0x80000007, 11
THREADS = ("stack_a", "stack_b", "idle_stack")
KEPT = [1, *range(5, 20)]
"""Registers of threads. Handlers use x28 beside them."""
MEPC, MSTATUS = 4 * len(KEPT), 4 * len(KEPT) + 4
FRAME = 80
Lines = list[str]

HEADER = """
.section .marks,"aw",%nobits
.global wcet_mark
.type wcet_mark,%object
.size wcet_mark, 1280
wcet_mark: .space 1280
.section .data,"aw"
variables: .space 256
current: .word blocks
blocks: .space 16
locks: .word 0
critical: .word 0
ticks: .word 0
"""


def stack(name: str) -> str:
    return f"""
.section .stacks,"aw",%nobits
.type {name},%object
.size {name}, 1024
{name}: .space 1024
"""


class Author:
    """Writes random functions; each may call those before it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.known: list[str] = []
        """Functions that may be called anywhere."""
        self._labels = 0

    def label(self) -> str:
        self._labels += 1
        return f"label_{self._labels}"

    def source(self) -> str:
        functions = {}
        for number in range(2):
            name = f"helper_{number}"
            functions[name] = self.framed(self.block(1, self.harmless))
            self.known.append(name)
        functions |= self.kernel()
        for number in range(self.rng.randint(1, 2)):
            name = f"masking_{number}"
            functions[name] = self.framed(self.block(2, self.masking))
            self.known.append(name)
        functions["service"] = self.framed(self.block(3, self.anything), tail=True)
        functions["wait"] = self.framed(
            [*self.block(1, self.masking), "ecall", *self.block(1, self.masking)]
        )
        text = "".join(
            f".p2align {2 if name == 'trap' else self.rng.randint(1, 2)}\n"
            f".global {name}\n.type {name},%function\n{name}:\n"
            + "\n".join(lines)
            + f"\n.size {name}, .-{name}\n"
            for name, lines in functions.items()
        )
        stacks = "".join(stack(name) for name in (*THREADS, "handlers_area"))
        entry = "\n".join(self.start())
        start = f".text\n.global _start\n.type _start,%function\n_start:\n{entry}\n"
        return HEADER + stacks + start + ".size _start, .-_start\n" + text

    # --- the kernel --------------------------------------------------------------------------

    def start(self) -> Lines:
        lines = ["la gp, variables", "la t0, trap", "csrw mtvec, t0", "la t1, blocks"]
        lines += ["li t0, 0x80", "csrw mie, t0", "li t2, 0x1880"]
        for number, name in enumerate(THREADS):
            lines += [
                f"la t0, {name} + {1024 - FRAME}",
                f"sw t0, {4 * number}(t1)",
                f"la t3, thread_{number}",
                f"sw t3, {MEPC}(t0)",
                f"sw t2, {MSTATUS}(t0)",
            ]
        return [*lines, "j restore"]

    def kernel(self) -> dict[str, Lines]:
        frame = [(register, 4 * number) for number, register in enumerate(KEPT)]
        trap = [f"addi sp, sp, -{FRAME}", *(f"sw x{r}, {at}(sp)" for r, at in frame)]
        trap += ["csrr t0, mstatus", f"sw t0, {MSTATUS}(sp)", "csrr t1, mepc", "csrr t2, mcause"]
        trap += ["bltz t2, 1f", "addi t1, t1, 4", "1:", f"sw t1, {MEPC}(sp)"]
        trap += ["la t0, current", "lw t0, 0(t0)", "sw sp, 0(t0)", "la sp, handlers_area + 1024"]
        trap += ["bltz t2, 2f", "jal on_call", "j restore", "2: jal on_tick", "j restore"]
        restore = ["la t0, current", "lw t0, 0(t0)", "lw sp, 0(t0)"]
        restore += [f"lw t0, {MSTATUS}(sp)", "csrw mstatus, t0", f"lw t0, {MEPC}(sp)"]
        restore += ["csrw mepc, t0", *(f"lw x{r}, {at}(sp)" for r, at in frame)]
        # The next of three control blocks.
        following = ["la t0, current", "lw t1, 0(t0)", "addi t1, t1, 4", "la t2, blocks + 12"]
        following += ["bne t1, t2, 3f", "la t1, blocks", "3:", "sw t1, 0(t0)"]
        often = self.rng.choice([1, 1, 3])
        on_tick = [*self.block(1, self.harmless), "la t0, ticks", "lw t1, 0(t0)", "addi t1, t1, 1"]
        on_tick += ["sw t1, 0(t0)", "li t2, 0x02004000", "li t3, -1", "sw t3, 4(t2)"]
        on_tick += ["la t0, locks", "lw t0, 0(t0)", "bnez t0, 4f", f"andi t1, t1, {often}"]
        on_tick += ["bnez t1, 4f", *following, "4:"]
        lock = ["la t0, locks", "lw t1, 0(t0)", "addi t1, t1, 1", "sw t1, 0(t0)"]
        unlock = ["la t0, locks", "lw t1, 0(t0)", "addi t1, t1, -1", "sw t1, 0(t0)"]
        yields = ["bnez t1, 5f", "ecall", "5:"] if self.rng.random() < 0.5 else []
        enter = ["csrci mstatus, 8", "la t0, critical", "lw t1, 0(t0)", "addi t1, t1, 1"]
        leave = ["la t0, critical", "lw t1, 0(t0)", "addi t1, t1, -1", "sw t1, 0(t0)"]
        leave += ["bnez t1, 6f", "csrsi mstatus, 8", "6:"]
        return {
            "trap": trap,
            "restore": [*restore, f"addi sp, sp, {FRAME}", "mret"],
            "on_call": self.framed([*self.block(1, self.harmless), *following]),
            "on_tick": self.framed(on_tick),
            "lock": self.framed(lock) if self.rng.random() < 0.5 else [*lock, "ret"],
            "unlock": self.framed([*unlock, *yields]),
            "enter": [*enter, "sw t1, 0(t0)", "ret"],
            "leave": [*leave, "ret"],
            **{f"thread_{number}": self.thread(number) for number in range(len(THREADS))},
        }

    def thread(self, number: int) -> Lines:
        rng = self.rng
        lines = [f"again_{number}:", *self.mark(2, number + 1)]
        lines += self.call_between(7, ["jal service"])
        if rng.random() < 0.7:
            lines += self.call_between(8, ["jal wait"])
        if rng.random() < 0.3:
            lines += ["jal service"]  # one that is not marked
        if rng.random() < 0.5:
            lines += ["jal lock", "nop", "jal unlock"]
        if number == 0:
            lines += self.call_between(10, ["ecall"])
            # Until the timer has interrupted somebody.
            waits = ["la t0, ticks", "lw t1, 0(t0)", "7:", "lw t2, 0(t0)", "beq t1, t2, 7b"]
            lines += self.call_between(9, waits)
        return [*lines, f"j again_{number}"]

    @staticmethod
    def mark(channel: int, value: int) -> Lines:
        return [f"la t0, wcet_mark + {256 * channel + value}", "sb x0, 0(t0)"]

    def call_between(self, number: int, lines: Lines) -> Lines:
        return [*self.mark(0, number), *lines, *self.mark(1, number)]

    # --- functions ---------------------------------------------------------------------------

    def framed(self, body: Lines, *, tail: bool = False) -> Lines:
        """Slots 0 and 4 of the frame are for masks, 8 for anything."""
        saved = ["ra", "s1", "s2", "s3"]
        lines = ["addi sp, sp, -32", *(f"sw {r}, {12 + 4 * n}(sp)" for n, r in enumerate(saved))]
        lines += [*body, *(f"lw {r}, {12 + 4 * n}(sp)" for n, r in enumerate(saved))]
        lines += ["addi sp, sp, 32"]
        if tail and self.rng.random() < 0.4:
            name = self.rng.choice(self.known)
            return [*lines, self.rng.choice([f"j {name}", f"tail {name}"])]
        return [*lines, "ret"]

    def block(self, depth: int, kinds: Callable[[int], list[Callable[[int], Lines]]]) -> Lines:
        lines: Lines = []
        for _ in range(self.rng.randint(1, 3)):
            maker = self.rng.choice(kinds(depth))
            lines += maker(depth - 1)
        return lines

    def harmless(self, depth: int) -> list[Callable[[int], Lines]]:
        """What handlers may do as well."""
        self._inside = self.harmless
        found = [self.simple, self.simple, self.accesses, self.jumps]
        return found + ([self.loop, self.branch] if depth > 0 else [])

    def masking(self, depth: int) -> list[Callable[[int], Lines]]:
        self._inside = self.masking
        found = [self.simple, self.accesses, self.jumps]
        if depth > 0:
            found += [self.loop, self.branch, self.masked, self.masked_saved, self.critical]
            found += [self.calls, self.timer_off]
        return found

    def anything(self, depth: int) -> list[Callable[[int], Lines]]:
        self._inside = self.anything
        found = self.masking(depth)
        self._inside = self.anything
        found += [self.switch, self.switch_masked]
        return found + ([self.locked, self.locked] if depth > 0 else [])

    def simple(self, depth: int) -> Lines:
        rng = self.rng
        kinds = ["nop", "fence", "addi a0, a0, 3", "mul a1, a0, a2", "mv a2, a0", "lui a3, 0x12345",
                 "add a0, a0, a2", "xor a1, a1, a0", "slli a2, a0, 3", "li a4, 7"]  # fmt: skip
        return [rng.choice(kinds) for _ in range(rng.randint(1, 4))]

    def accesses(self, depth: int) -> Lines:
        rng, found = self.rng, []
        for _ in range(rng.randint(1, 3)):
            size = rng.choice([1, 2, 4])
            at = rng.randrange(0, 64, size)
            name = {1: ["lb", "lbu", "sb"], 2: ["lh", "lhu", "sh"], 4: ["lw", "lw", "sw"]}[size]
            found.append(f"{rng.choice(name)} a{rng.randint(0, 3)}, {at}(gp)")
            if rng.random() < 0.3:
                found.append(rng.choice(["sw a0, 8(sp)", "lw a1, 8(sp)"]))
        return found

    def jumps(self, depth: int) -> Lines:
        """To the very next instruction, or over one."""
        end = self.label()
        way = self.rng.choice(["j {}", "beqz a0, {}", "bne a1, a2, {}", "la t2, {}\njr t2"])
        over = self.rng.choice([[], ["nop"], ["lui a3, 0x12345"]])
        return [way.format(end), *over, f"{end}:"]

    def branch(self, depth: int) -> Lines:
        """On something that differs from time to time."""
        end = self.label()
        test = ["lw t1, 60(gp)", "addi t1, t1, 1", "sw t1, 60(gp)", "andi t1, t1, 1"]
        return [*test, f"beqz t1, {end}", *self.block(depth, self._inside), f"{end}:"]

    def loop(self, depth: int) -> Lines:
        begin, counter = self.label(), "s1" if depth > 0 else "s3"
        inside, times = self.block(0, self._inside), self.rng.randint(1, 3)
        return [f"li {counter}, {times}", f"{begin}:", *inside,
                f"addi {counter}, {counter}, -1", f"bnez {counter}, {begin}"]  # fmt: skip

    def calls(self, depth: int) -> Lines:
        name = self.rng.choice(self.known)
        return self.rng.choice([[f"jal {name}"], [f"call {name}"], [f"la t2, {name}", "jalr t2"]])

    # --- masks -------------------------------------------------------------------------------

    def masked(self, depth: int) -> Lines:
        return ["csrci mstatus, 8", *self.block(depth, self._inside), "csrsi mstatus, 8"]

    def masked_saved(self, depth: int) -> Lines:
        """What was before is put back: nested masks stay."""
        inside = self._inside
        way = self.rng.randrange(4)
        if way == 0:
            begin, end = ["csrrci s2, mstatus, 8"], ["csrw mstatus, s2"]
        elif way == 1:
            begin = ["csrrci s2, mstatus, 8", "andi s2, s2, 8"]
            end = ["csrs mstatus, s2"]
        else:
            slot = self.rng.choice([0, 4])
            begin = ["li t1, 8", "csrrc t0, mstatus, t1", f"sw t0, {slot}(sp)"]
            end = [f"lw t0, {slot}(sp)", "csrw mstatus, t0"]
        # What is inside must not use the same place.
        return [*begin, *self.block(0, self.harmless if way < 2 else inside), *end]

    def critical(self, depth: int) -> Lines:
        inside = self.block(depth, self.harmless)
        if self.rng.random() < 0.5:
            inside = ["jal enter", *inside, "jal leave", *self.simple(0)]
        return ["jal enter", *inside, "jal leave"]

    def timer_off(self, depth: int) -> Lines:
        return ["li t0, 0x80", "csrc mie, t0", *self.block(0, self.harmless), "li t0, 0x80",
                "csrs mie, t0"]  # fmt: skip

    # --- switches and the scheduler lock -----------------------------------------------------

    def switch(self, depth: int) -> Lines:
        return ["ecall"]

    def switch_masked(self, depth: int) -> Lines:
        return ["csrci mstatus, 8", *self.simple(0), "ecall", *self.simple(0), "csrsi mstatus, 8"]

    def locked(self, depth: int) -> Lines:
        inside = self.block(depth, self.masking)
        self._inside = self.anything
        if self.rng.random() < 0.4:
            inside = ["jal lock", *inside, "jal unlock", *self.simple(0)]
        return ["jal lock", *inside, "jal unlock"]
