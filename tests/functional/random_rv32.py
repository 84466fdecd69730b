"""Random programs for RV32IMC on a bench in RTL: what no compiler would put side by side.

Operands are chosen from few registers and accesses from few words, so that neighbours depend on
each other in every way: results that are overwritten before they are used, loops of one to six
instructions, branches over a few, calls of short functions, jumps through registers, accesses of
system registers, divisions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

SCRIPT = """
ENTRY(_start)
SECTIONS {
  .text 0x80000200 : { *(.text) }
  wcet_mark 0x80500000 : { wcet_mark = .; LONG(0) }
}
"""
_REGISTERS = ("a0", "a1", "a2", "a3", "a4", "a5", "t0", "t1", "t2", "s2", "s3")
_DATA, _MORE, _STACK, _CODE = "s0", "s1", "sp", "s4"
_BEGIN = f"""
.option norelax
.globl _start
_start:
  li {_STACK}, 0x80408000
  li {_DATA}, 0x80400000
  li {_MORE}, 0x80401000
  li {_CODE}, 0x80000200
  csrw mstatus, zero
"""
_END = """
  fence
  li a0, 0x20
  la a1, exit_block
  .balign 4
  .option push
  .option norvc
  slli x0, x0, 0x1f
  ebreak
  srai x0, x0, 7
  .option pop
forever:
  j forever
"""
_BEHIND = """
  .balign 4
exit_block:
  .word 0x20026, 0
"""
ENDS = _END + _BEHIND
"""What ends a program on the bench."""


class _Writer:
    def __init__(self, seed: int, system: int) -> None:
        self.random, self.share_of_system = random.Random(seed), system
        self.labels = 0

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def register(self) -> str:
        return self.random.choice(_REGISTERS)

    def one_of(self, *choices: str) -> str:
        return self.random.choice(choices)

    def plain(self) -> str:
        """An instruction that does not transfer control."""
        shares = (
            (self.load, 22),
            (self.store, 18),
            (self.constant, 2),
            (self.computed, 35),
            (self.shifted, 6),
            (self.multiplied, 6),
            (self.divided, 1),
            (self.system, self.share_of_system),
            (lambda: "fence", 1),
            (lambda: "nop", 3),
        )
        kinds, weights = zip(*shares, strict=True)
        (write,) = self.random.choices(kinds, weights)
        return str(write())

    def place(self, size: int) -> str:
        base = self.one_of(_DATA, _DATA, _DATA, _MORE, _STACK)
        word = self.random.choice((0, 0, 4, 8, 12, 32, 36))
        return f"{word + size * self.random.randrange(4 // size)}({base})"

    def load(self) -> str:
        name, size = self.random.choice((("lw", 4),) * 3 + (("lbu", 1), ("lb", 1), ("lh", 2)))
        return f"{name} {self.register()}, {self.place(size)}"

    def store(self) -> str:
        name, size = self.random.choice((("sw", 4),) * 3 + (("sb", 1), ("sh", 2)))
        return f"{name} {self.register()}, {self.place(size)}"

    def constant(self) -> str:
        return f"lw {self.register()}, {4 * self.random.randrange(8)}({_CODE})"

    def computed(self) -> str:
        to = self.register()
        of = self.random.choice((to, self.register()))
        if self.random.random() < 0.5:
            return f"addi {to}, {of}, {self.random.choice((1, -1, 3, 100, 1000))}"
        return f"{self.one_of('add', 'sub', 'xor', 'and', 'or')} {to}, {of}, {self.register()}"

    def shifted(self) -> str:
        name = self.one_of("slli", "srli", "srai")
        return f"{name} {self.register()}, {self.register()}, {self.random.randrange(1, 31)}"

    def multiplied(self) -> str:
        name = self.one_of("mul", "mul", "mulh")
        return f"{name} {self.register()}, {self.register()}, {self.register()}"

    def divided(self) -> str:
        name = self.one_of("divu", "rem")
        return f"{name} {self.register()}, {self.register()}, {self.register()}"

    def system(self) -> str:
        return self.one_of(
            f"csrr {self.register()}, mscratch",
            f"csrw mscratch, {self.register()}",
            "csrsi mstatus, 0",
            "csrci mstatus, 8",
        )

    def several(self, low: int, high: int) -> Iterator[str]:
        for _ in range(self.random.randint(low, high)):
            yield self.plain()

    def condition(self, to: str) -> str:
        if self.random.random() < 0.3:
            return f"{self.one_of('beqz', 'bnez')} {self.register()}, {to}"
        name = self.one_of("beq", "bne", "bltu", "bge")
        return f"{name} {self.register()}, {self.register()}, {to}"

    def forward(self) -> Iterator[str]:
        """Over two instructions or more, for whether a branch to the next one was taken is told by
        nothing; there may be another such in between."""
        to = self.label()
        yield f"j {to}" if self.random.random() < 0.2 else self.condition(to)
        yield from self.several(2, 3)
        if self.random.random() < 0.3:
            yield from self.forward()
        yield f"{to}:"

    def loop(self) -> Iterator[str]:
        begin, body = self.label(), list(self.several(0, 6))
        body.insert(self.random.randint(0, len(body)), "addi s5, s5, -1")
        yield f"li s5, {self.random.randint(2, 3)}"
        yield f"{begin}:"
        yield from body
        yield self.one_of(f"bnez s5, {begin}", f"bne s5, zero, {begin}", f"blt zero, s5, {begin}")

    def call(self, functions: int) -> Iterator[str]:
        to = f"f{self.random.randrange(functions)}"
        behind = self.label()
        yield from self.random.choice(
            (
                (f"jal ra, {to}",),
                (f"call {to}",),
                (f"la s6, {behind}", "jr s6", self.plain(), f"{behind}:"),
            )
        )


def program(seed: int, pieces: int = 3000, functions: int = 8, system: int = 2) -> str:
    """Assembler source. The same seed gives the same program. ``system``: of some 96 instructions
    that transfer no control so many access system registers."""
    writer = _Writer(seed, system)
    lines = [_BEGIN]
    lines += [f"li {name}, {writer.random.randrange(1, 1000)}" for name in _REGISTERS]
    for _ in range(pieces):
        kind = writer.random.random()
        if kind < 0.80:
            lines.append(writer.plain())
        elif kind < 0.90:
            lines += writer.forward()
        elif kind < 0.96:
            lines += writer.loop()
        else:
            lines += writer.call(functions)
    lines.append(_END)
    for number in range(functions):
        lines += [f"f{number}:", *writer.several(1, 5), "ret", *writer.several(2, 4)]
    return "\n".join([*lines, _BEHIND])
