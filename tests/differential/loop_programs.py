"""Random C functions with counted loops, built for every supported core.

``functions(rng, count)`` gives their source: counters of several types that go up or down by steps,
limits that are constants, arguments or outer counters, tests at the top and at the bottom, breaks,
calls, arrays on the stack, pointers, shifts. Not every loop of them can be bounded.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ARM, RISCV = "arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"
MISSING = [name for name in (ARM, RISCV) if shutil.which(name) is None]

TARGETS = {
    "cortex-m3": [ARM, "-mcpu=cortex-m3", "-mthumb"],
    "cortex-m0": [ARM, "-mcpu=cortex-m0", "-mthumb"],
    "arm7tdmi": [ARM, "-mcpu=arm7tdmi", "-marm"],
    "rv32imc": [RISCV, "-march=rv32imc_zicsr", "-mabi=ilp32", "-mno-relax"],
}
LEVELS = ("-O0", "-O1", "-Os", "-O2")

LAYOUT = """
ENTRY(start)
SECTIONS {
  . = 0x10000; .text : { *(.text*) } .rodata : { *(.rodata*) *(.srodata*) }
  . = 0x20000000; .data : { *(.data*) *(.sdata*) } .bss : { *(.sbss*) *(.bss*) *(COMMON) }
  /DISCARD/ : { *(.ARM.exidx*) *(.comment) }
}
"""

PROLOGUE = """
typedef unsigned int u32; typedef int s32; typedef unsigned short u16; typedef short s16;
typedef unsigned char u8; typedef signed char s8;
volatile u32 sink, coin;
#define HOOK __asm volatile("" ::: "memory");
u32 table[64]; u8 bytes[256];
const u32 fixed[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__attribute__((noinline)) u32 leaf(u32 x) { sink = x; return x ^ coin; }
__attribute__((noinline)) void fill(u32 *p, u32 n) { p[0] = n; p[1] = sink; }
u32 *kept; u32 pair[2];
__attribute__((noinline)) void keep(u32 *p) { kept = p; }
__attribute__((noinline)) void poke(u32 n) { if (kept) { *kept += n & 1; kept = 0; } }
__attribute__((noinline)) void bump(u32 *p) { *p += coin & 1; }
__attribute__((noinline)) u32 *same(u32 *p) { sink = *p; return p; }
__attribute__((noinline)) u32 *next(u32 *p, u32 n) { while (n & 3) { p++; n--; } return p; }
__attribute__((noinline)) void walk(u32 *p, u32 n) { for (n &= 7; n; n--) *p++ = coin; }
__attribute__((noinline)) void deep(u32 **p) { **p += coin & 1; }
__attribute__((noinline)) void put(u32 *a, u32 **b) { *b = a; }
__attribute__((noinline)) u32 peek(const u32 *p) { return p[0] & 7; }
__attribute__((noinline)) void relay(u32 *p) { bump(p); walk(pair, 2); }
__attribute__((noinline)) void middle(u32 n) { u32 own[4] = {0}; own[n & 3] = n; bump(&own[1]);
 sink = own[1]; }
__attribute__((noinline)) u32 many(u32 a, u32 b, u32 c, u32 d, u32 *e, u32 f)
{ *e += (a ^ b ^ c ^ d) & f & 1; return f; }
void *memset(void *p, int c, u32 n) { u8 *q = p; while (n--) *q++ = c; return p; }
void *memcpy(void *p, const void *s, u32 n)
{ u8 *q = p; const u8 *r = s; while (n--) *q++ = *r++; return p; }
void start(void) { for (;;); }
"""

_TYPES = ("u32", "s32", "u16", "s16", "u8", "s8")


@dataclass(frozen=True)
class Function:
    name: str
    source: str
    types: tuple[str, ...]
    """Of its arguments."""


class _Writer:
    def __init__(self, rng: random.Random, name: str, plain: bool) -> None:
        self.rng, self.name, self.plain = rng, name, plain
        self.types = tuple(rng.choice(("u32", "u32", "s32", *_TYPES)) for _ in range(3))
        if plain:
            self.types = ("u32", "u32", "u32")
        self.count = 0
        self.local = not plain and rng.random() < 0.3
        self.array = "u32 buffer[8]; buffer[0] = 0;"
        self.counters: list[str] = []

    def function(self) -> Function:
        body = "".join(self.loop(1) for _ in range(self.rng.choice((1, 1, 2))))
        local = self.array if self.local else ""
        use = "sink = buffer[3];" if self.local else ""
        if self.local and self.rng.random() < 0.4:
            local += "fill(buffer, 3);"
        arguments = ", ".join(f"{kind} {n}" for kind, n in zip(self.types, "abc", strict=True))
        text = f"void {self.name}({arguments})\n{{ {local}\n{body}{use} }}\n"
        return Function(self.name, text, self.types)

    def fresh(self) -> str:
        self.count += 1
        return f"i{self.count}"

    def limit(self) -> str:
        rng = self.rng
        given = [str(rng.randrange(1, 24)), "a", "b", "c"]
        if self.counters:
            given += [self.counters[-1]] * 2
        found = rng.choice(given)
        if rng.random() < 0.15:
            found = f"({found} + {rng.randrange(1, 5)})"
        return found

    def statement(self, counter: str) -> str:
        rng = self.rng
        given = [
            f"sink = {counter};",
            f"table[{counter} & 63] += {rng.randrange(9)};",
            f"bytes[(u8){counter}] = {rng.randrange(9)};",
            f"sink = fixed[{counter} & 15];",
            "sink = coin;",
            f"if (coin == {rng.randrange(3)}) break;",
            f"if (coin & 1) continue_{self.name}({counter});",
            # A hook that is empty: a branch to the instruction behind it.
            f"if ({counter} {rng.choice('<>')} {rng.randrange(9)}) HOOK",
        ]
        if self.local:
            given.append(f"buffer[{counter} & 7] = coin;")
        if rng.random() < 0.2:
            given = [f"leaf({counter});"]
        text = rng.choice(given)
        return text.replace(f"continue_{self.name}", "leaf")

    def body(self, counter: str, depth: int) -> str:
        text = self.statement(counter)
        if depth < 3 and self.rng.random() < 0.45:
            self.counters.append(counter)
            text += "\n" + self.loop(depth + 1)
            self.counters.pop()
            if self.rng.random() < 0.5:
                text += self.statement(counter)
        return text

    def loop(self, depth: int) -> str:
        if self.plain:
            return self.plain_loop(depth)
        kinds = (self.up, self.up, self.up, self.down, self.bottom, self.pointer, self.shift)
        kinds += (self.while_, self.chosen, self.two)
        return self.rng.choice(kinds)(depth)

    def plain_loop(self, depth: int) -> str:
        """One that is left only at its test, and whose bound is exact."""
        rng, i = self.rng, self.fresh()
        limit = rng.choice((str(rng.randrange(2, 24)), rng.choice("abc")))
        step = rng.choice((1, 1, 2, 3)) if limit.isdigit() else 1
        body = f"sink = {i}; table[{i} & 63] += 3;"
        if depth < 3 and rng.random() < 0.4:
            body += self.plain_loop(depth + 1)
        kind = rng.choice(("s32", "u32")) if limit.isdigit() else "u32"
        given = [
            f"for ({kind} {i} = 0; {i} < {limit}; {i} += {step}) {{ {body} }}\n",
            f"for ({kind} {i} = {limit}; {i} > 0; {i}--) {{ {body} }}\n",
            f"{{ u32 {i} = {limit}; while ({i}--) {{ {body} }} }}\n",
            f"for (u32 *{i} = table; {i} != table + {rng.randrange(2, 60)}; {i}++) *{i} += coin;\n",
            f"for (u8 {i} = 3; {i} < {rng.randrange(5, 200)}; {i}++) {{ {body} }}\n",
            f"{{ s16 {i} = 0; do {{ {body} {i}++; }} while ({i} < {rng.randrange(2, 40)}); }}\n",
        ]
        return rng.choice(given)

    def up(self, depth: int) -> str:
        rng, i = self.rng, self.fresh()
        first = rng.choice(("0", "0", "1", str(rng.randrange(5)), "b"))
        step = rng.choice((1, 1, 1, 2, 3, 4))
        relation = rng.choice(("<", "<", "<=", "!="))
        return (
            f"for ({rng.choice(_TYPES)} {i} = {first}; {i} {relation} {self.limit()};"
            f" {i} += {step}) {{ {self.body(i, depth)} }}\n"
        )

    def down(self, depth: int) -> str:
        rng, i = self.rng, self.fresh()
        last = rng.choice(("0", "0", "1", "3"))
        relation = rng.choice((">", ">", ">=", "!="))
        step = rng.choice((1, 1, 2))
        return (
            f"for ({rng.choice(_TYPES)} {i} = {self.limit()}; {i} {relation} {last};"
            f" {i} -= {step}) {{ {self.body(i, depth)} }}\n"
        )

    def bottom(self, depth: int) -> str:
        rng, i = self.rng, self.fresh()
        step = rng.choice(("++", " += 2"))
        test = rng.choice((f"{i} < {self.limit()}", f"{i} != {self.limit()}"))
        return (
            f"{{ {rng.choice(_TYPES)} {i} = 0; do {{ {self.body(i, depth)} {i}{step}; }}"
            f" while ({test}); }}\n"
        )

    def while_(self, depth: int) -> str:
        i = self.fresh()
        return (
            f"{{ {self.rng.choice(_TYPES)} {i} = {self.limit()};"
            f" while ({i}--) {{ {self.body(i, depth)} }} }}\n"
        )

    def pointer(self, depth: int) -> str:
        rng, p = self.rng, self.fresh()
        count = rng.choice((str(rng.randrange(1, 30)), "(a & 31)", "(u8)b"))
        relation = rng.choice(("<", "!="))
        return (
            f"for (u32 *{p} = table, *e{p} = table + {count}; {p} {relation} e{p}; {p}++)"
            f" {{ *{p} += coin; {'if (coin == 9) break;' if rng.random() < 0.3 else ''} }}\n"
        )

    def shift(self, depth: int) -> str:
        i = self.fresh()
        amount = self.rng.choice((1, 1, 2, 4))
        value = self.rng.choice(("a", "b", "(c & 255)"))
        return f"{{ u32 {i} = {value}; while ({i}) {{ sink = {i}; {i} >>= {amount}; }} }}\n"

    def chosen(self, depth: int) -> str:
        i = self.fresh()
        return (
            f"{{ u32 {i} = 0; while ({i} < {self.rng.randrange(2, 30)}) {{ {self.statement(i)}"
            f" if (coin & 1) {i} += 2; else {i}++; }} }}\n"
        )

    def two(self, depth: int) -> str:
        i, j = self.fresh(), self.fresh()
        return (
            f"for (s32 {i} = 0, {j} = {self.rng.randrange(3, 20)}; {i} < {j}; {i}++, {j}--)"
            f" {{ {self.statement(i)} }}\n"
        )


class _Passing(_Writer):
    """Loops whose counters, and arrays beside them, lie in the frame, with calls that get their
    addresses."""

    def __init__(self, rng: random.Random, name: str) -> None:
        super().__init__(rng, name, plain=False)
        self.local = True
        self.array = "u32 buffer[8] = {0};"
        self.variables: list[str] = []

    def statement(self, counter: str) -> str:
        rng = self.rng
        any_of = rng.choice([*self.counters, counter])
        address = f"(u32 *)&{any_of}" if any_of in self.variables else "&buffer[2]"
        given = [
            f"leaf({counter});",
            f"sink = peek(buffer + ({counter} & 3));",
            f"bump({address});",
            f"relay({rng.choice((address, 'buffer + 5'))});",
            f"walk(buffer, {rng.choice((counter, '3'))});",
            f"middle({counter});",
            f"buffer[same({address})[0] & 7] = 1;",
            f"*next(buffer, {counter}) += 1;",
            f"{{ u32 *q = {address}; deep(&q); }}",
            f"{{ u32 *q; put({address}, &q); *q += coin & 1; }}",
            f"many(1, {counter}, 3, coin, {address}, {counter});",
            f"keep({address}); leaf(1); poke(coin);",
            f"{{ u32 *q = buffer; for (u32 k = 0; k < 4; k++) *q++ = {counter}; }}",
            f"buffer[{counter} & 7] = peek({address});",
            f"sink = {counter};",
        ]
        return rng.choice(given)

    def loop(self, depth: int) -> str:
        rng, i = self.rng, self.fresh()
        self.variables.append(i)
        limit = rng.choice((str(rng.randrange(2, 12)), "(a & 15)", "peek(buffer)"))
        return (
            f"for (u32 {i} = 0; {i} < {limit}; {i} += {rng.choice((1, 1, 2, 3))})"
            f" {{ {self.body(i, depth)} }}\n"
        )


class _Narrow(_Writer):
    """Loops that go on until a narrow counter, which may wrap around, equals something."""

    def loop(self, depth: int) -> str:
        rng, i = self.rng, self.fresh()
        kind, width = rng.choice((("u8", 8), ("u8", 8), ("s8", 8), ("u16", 16), ("s16", 16)))
        step = rng.choice((1, 1, -1, -1, 2, -2, 3, 4, -5, 7, 6))
        first = rng.choice((0, 0, 5, rng.getrandbits(width)))
        last = first + step * rng.randrange(2, 120)
        limit: object = f"(({kind}){last})"
        if width == 8 and step in (1, -1) and rng.random() < 0.5:
            limit = f"(({kind})a)"
        body = f"sink = {i}; {f'leaf({i});' if rng.random() < 0.2 else ''}"
        more = f"{i} += {step};"
        return rng.choice(
            (
                f"for ({kind} {i} = {first}; {i} != {limit}; {more[:-1]}) {{ {body} }}\n",
                f"{{ {kind} {i} = {first}; do {{ {body} {more} }} while ({i} != {limit}); }}\n",
            )
        )


class _Nested(_Writer):
    """Loops whose limits, or first values, are counters of the loop around them."""

    def function(self) -> Function:
        self.types = (self.rng.choice(("u32", "u32", "s32")), "u32", "u32")
        return super().function()

    def loop(self, depth: int) -> str:
        rng, i = self.rng, self.fresh()
        kind = self.types[0]
        outer = self.counters[-1] if self.counters else None
        given = [str(rng.randrange(0, 12)), "a", "a"]
        low, high = rng.choice(("0", "0", "1", "2")), rng.choice(given)
        if outer is not None:
            if rng.random() < 0.5:
                high = rng.choice((outer, outer, f"{outer} + 1", f"{outer} * 2"))
            else:
                low = rng.choice((outer, f"{outer} + 1"))
        self.counters.append(i)
        body = f"sink = {i};"
        if rng.random() < 0.2:
            body += "if (coin == 1) break;"
        if depth < 2 or (depth < 3 and rng.random() < 0.3):
            body += self.loop(depth + 1)
        self.counters.pop()
        step = rng.choice((1, 1, 1, 2, 3))
        return rng.choice(
            (
                f"for ({kind} {i} = {low}; {i} < {high}; {i} += {step}) {{ {body} }}\n",
                f"for ({kind} {i} = {low}; {i} <= {high}; {i} += {step}) {{ {body} }}\n",
                f"for ({kind} {i} = {high}; {i} > {low}; {i}--) {{ {body} }}\n",
                f"for ({kind} {i} = {low}; {i} != {high}; {i}++)"
                f" {{ if ({i} > 30) break; {body} }}\n",
            )
        )


def nested(rng: random.Random, count: int) -> list[Function]:
    """All of them end soon where the first argument is small."""
    return [_Nested(rng, f"f{n}", plain=False).function() for n in range(count)]


def narrow(rng: random.Random, count: int) -> list[Function]:
    """All of these loops end, and have bounds that are exact for constants."""
    return [_Narrow(rng, f"f{n}", plain=False).function() for n in range(count)]


def passing(rng: random.Random, count: int) -> list[Function]:
    """Functions that hand addresses of their variables over."""
    return [_Passing(rng, f"f{n}").function() for n in range(count)]


def functions(rng: random.Random, count: int, *, plain: bool = False) -> list[Function]:
    """``plain``: only loops whose bounds are to be found, and exact."""
    return [_Writer(rng, f"f{n}", plain).function() for n in range(count)]


def build(folder: Path, target: str, level: str, given: list[Function]) -> Path:
    source, script, elf = folder / "loops.c", folder / "loops.ld", folder / "loops.elf"
    source.write_text(PROLOGUE + "".join(function.source for function in given))
    script.write_text(LAYOUT)
    options = [level, "-w", "-ffreestanding", "-nostdlib", "-static", "-fno-inline"]
    options += ["-fwrapv", "-Wl,--build-id=none", "-T", str(script)]
    command = [*TARGETS[target], *options, str(source), "-o", str(elf), "-lgcc"]
    subprocess.run(command, check=True, capture_output=True)
    return elf
