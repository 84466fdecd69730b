"""Random small C programs, each a function of an input, with what is known of their loops.

Of three kinds. *Exact* ones have no path that no input takes: each condition is a bit of the input
of its own, and loops go round as often as bits of their own say. *General* ones have whatever
control flow C has, with bounds of loops as flow facts in the language. *Runtime* ones divide and
multiply, also numbers of 64 bits, which calls the compiler's runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

BITS = 6
INPUTS = 1 << BITS


class Kind(StrEnum):
    EXACT = "exact"
    GENERAL = "general"
    RUNTIME = "runtime"


@dataclass(frozen=True)
class LineFact:
    """A loop bound; ``lower``: the same that is too low by one, and so wrong if the loop goes round
    that often."""

    text: str
    lower: str


@dataclass(frozen=True)
class Program:
    """
    Attributes:
        entry: name of its function, ``unsigned entry(unsigned x)``.
        facts: about its loops, calls and recursion.
        parameter: facts are formulas of the parameter X, which is the input.
        uniform: exact, and without loops. (Of a loop a flow may have its rounds apart from the way
            into it, or all rounds of several entries behind one of them: as many, but what hangs on
            what was executed before can be dearer so.)
    """

    seed: int
    kind: Kind
    number: int
    entry: str
    text: str
    facts: tuple[LineFact, ...]
    others: tuple[str, ...]
    parameter: bool
    uniform: bool

    @property
    def file(self) -> str:
        return f"p{self.number}.c"

    def shown(self) -> str:
        facts = "\n".join([*(fact.text for fact in self.facts), *self.others])
        return f"/* seed {self.seed}, {self.kind.value} */\n{self.text}\n/* facts:\n{facts}\n*/"


def program(seed: int, kind: Kind, number: int) -> Program:
    """``number``: it has names of its own among the programs of a firmware."""
    return _Maker(Random(f"{kind.value} {seed}"), kind, number).program(seed)


@dataclass
class _Function:
    """One that is being written. ``bits``: of its argument that have not been used."""

    name: str
    bits: list[int]
    result: bool = True
    depth: int = 0
    loops: int = 0
    indices: list[str] = field(default_factory=list)
    passes: int = 1
    """How often what is being written is executed, about."""


class _Maker:
    def __init__(self, random: Random, kind: Kind, number: int) -> None:
        self.random, self.kind, self.number = random, kind, number
        self.lines: list[str] = []
        self.facts: list[LineFact] = []
        self.others: list[str] = []
        self.helpers: list[tuple[str, int]] = []
        self.leaves: list[str] = []
        self.tables: list[tuple[str, list[str]]] = []
        self.recursive: list[str] = []
        self.uniform = True
        self.masks = False
        self.parameter = kind is Kind.GENERAL and random.random() < 0.25
        self.names = 0
        self.indent = 0

    def program(self, seed: int) -> Program:
        k = self.number
        self.line(f"static unsigned m_{k}[8];")
        self.line(f"static volatile unsigned v_{k}[8];")
        table = ", ".join(str(self.random.randrange(100)) for _ in range(8))
        self.line(f"static const unsigned char t_{k}[8] = {{{table}}};")
        exact = self.kind is Kind.EXACT
        self.masks = self.kind is not Kind.RUNTIME and self.random.random() < 0.5
        if self.masks:
            self.mask_functions()
        if self.random.random() < 0.6:
            self.leaf_functions()
        if not exact and self.random.random() < 0.3:
            self.recursion()
        for _ in range(self.random.choice([0, 1, 1, 2])):
            self.helper()
        bits = [*range(BITS)]
        self.random.shuffle(bits)
        entry = _Function(f"e_{k}", bits)
        self.open(f"ENTRY unsigned e_{k}(unsigned x)")
        self.line("unsigned a = x;")
        self.block(entry, self.random.randrange(3, 9))
        self.end(entry)
        self.close()
        return Program(
            seed,
            self.kind,
            k,
            f"e_{k}",
            "\n".join(self.lines) + "\n",
            tuple(self.facts),
            tuple(self.others),
            self.parameter,
            exact and self.uniform,
        )

    # --- text ---

    def line(self, text: str) -> int:
        """Its number in the file."""
        self.lines.append("    " * self.indent + text)
        return len(self.lines)

    def open(self, text: str) -> int:
        number = self.line(text + " {")
        self.indent += 1
        return number

    def close(self, more: str = "") -> int:
        self.indent -= 1
        return self.line("}" + more)

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def bound(self, line: int, limit: str, lower: str) -> None:
        place = f"loop at p{self.number}.c:{line}: at most "
        self.facts.append(LineFact(place + limit, place + lower))

    # --- functions ---

    def leaf_functions(self) -> None:
        """Functions that are called through a table."""
        k = self.number
        names = []
        size = self.random.choice([2, 4])
        for n in range(size):
            name = f"l_{k}_{n}"
            self.open(f"ALONE unsigned {name}(unsigned a)")
            for _ in range(self.random.randrange(0, 3)):
                self.simple(["a"])
            self.line(f"return a * {self.random.randrange(3, 99)}u + {n};")
            self.close()
            names.append(name)
        self.leaves = names
        table = f"f_{k}"
        word = self.random.choice(["const", "volatile"])  # only a constant one is read statically
        self.line(f"static unsigned (*{word} {table}[{size}])(unsigned) = {{{', '.join(names)}}};")
        self.tables.append((table, names))

    def helper(self) -> None:
        k, n = self.number, len(self.helpers)
        name = f"h_{k}_{n}"
        used = self.random.choice([0, 1, 1, 2])
        apart = self.random.choice(["APART", "APART", "ALONE"])
        self.open(f"{apart} unsigned {name}(unsigned x, unsigned a)")
        own = _Function(name, [*range(used)])
        self.block(own, self.random.randrange(1, 5))
        self.end(own)
        self.close()
        self.helpers.append((name, used))

    def recursion(self) -> None:
        k = self.number
        name = f"r_{k}"
        self.open(f"ALONE unsigned {name}(unsigned n, unsigned x, unsigned a)")
        self.open("if (n == 0)")
        self.line("return a ^ x;")
        self.close()
        own = _Function(name, [])
        self.block(own, self.random.randrange(0, 3))
        self.line(f"a = {name}(n - 1, x + 1, a) ^ (a >> 3);")
        if self.random.random() < 0.3:
            self.open("if (x & 1)")
            self.line(f"a ^= {name}(n >> 1, x * 5, a);")
            self.close()
        self.simple(["a", "x"])
        self.line("return a;")
        self.close()
        self.recursive.append(name)

    def end(self, function: _Function) -> None:
        """Returns, perhaps by another function's return."""
        calls = [n for n, (_, used) in enumerate(self.helpers) if used <= len(function.bits)]
        roll = self.random.random()
        if calls and roll < 0.3:
            self.line(f"return {self.call(function, self.random.choice(calls))};")
        elif self.leaves and roll < 0.4:
            self.line(f"return {self.random.choice(self.leaves)}(a);")
        elif self.tables and roll < 0.5 and self.index(function, 0):
            number = self.line(f"return {self.indirect(function)};")
            self.targets(number)
        else:
            self.line("return a;")

    # --- statements ---

    def block(self, function: _Function, budget: int) -> None:
        while budget > 0:
            budget -= self.statement(function, budget)

    def statement(self, function: _Function, budget: int) -> int:
        """Writes one; what it took of the budget."""
        ways: list[tuple[int, Callable[[_Function, int], int | None]]] = [
            (3, self.plain),
            (5, self.choice),
            (2, self.switch),
            (4, self.loop),
            (2, self.called),
            (1, self.through_table),
            (1, self.early),
        ]
        if self.kind is not Kind.EXACT:
            ways += [(2, self.ternary), (1, self.deep)]
        if self.kind is Kind.RUNTIME:
            ways += [(8, self.runtime)]
        if self.masks:
            ways += [(5, self.masked)]
        while True:
            way = self.random.choices([w for _, w in ways], [n for n, _ in ways])[0]
            if function.depth > 3 and way not in (self.plain, self.called, self.runtime):
                way = self.plain
            taken = way(function, budget)
            if taken is not None:
                return taken

    def plain(self, function: _Function, budget: int) -> int | None:
        self.simple(["a", "x", *function.indices])
        return 1

    def simple(self, values: list[str]) -> None:
        k, one, two = self.number, self.random.choice(values), self.random.choice(values)
        c = self.random.randrange(1, 300)
        if self.kind is not Kind.EXACT and self.random.random() < 0.1:
            # A hook that is empty: both ways of the branch lead to the next instruction.
            self.line(f'if ({one} {self.random.choice("<>")} {c}) __asm volatile("");')
            return
        self.line(
            self.random.choice(
                [
                    f"a += {one} * {c}u;",
                    f"a ^= {one} << {c % 7} | {two} >> 3;",
                    f"m_{k}[{one} & 7] = a;",
                    f"a += m_{k}[{one} & 7];",
                    f"v_{k}[{c % 8}] = {one} + {c};",
                    f"a -= v_{k}[{c % 8}];",
                    f"a = a * 5 + t_{k}[{one} & 7];",
                    f"a = (a << 7 | a >> 25) + {one};",
                    f"((volatile unsigned char *)v_{k})[{one} & 31] = a;",
                    '__asm volatile("nop");',
                    "BARRIER();",
                ]
            )
        )

    # --- critical sections ---

    def mask_functions(self) -> None:
        """As ports of kernels have them: a counter of critical sections, and functions that mask
        and give back what was before."""
        k = self.number
        self.line(f"static volatile unsigned n_{k};")
        self.line(f"APART void enter_{k}(void) {{ MASK(); n_{k}++; }}")
        self.line(f"APART void leave_{k}(void) {{ if (--n_{k} == 0) UNMASK(); }}")
        self.line(f"APART unsigned save_{k}(void) {{ unsigned s = SAVE(); MASK(); return s; }}")
        self.line(f"APART void restore_{k}(unsigned s) {{ RESTORE(s); }}")
        self.others.append(f"at entry n_{k} == 0")

    def masked(self, function: _Function, budget: int) -> int | None:
        """What masks interrupts, and in the end leaves them as they were; nothing returns inside
        of it."""
        if function.depth > 3:
            return None
        k, old = self.number, self.name("s")
        way = self.random.randrange(5)
        begin, end = [
            ("MASK();", "UNMASK();"),
            (f"unsigned {old} = SAVE(); MASK();", f"RESTORE({old});"),
            (f"enter_{k}();", f"leave_{k}();"),
            (f"unsigned {old} = save_{k}();", f"restore_{k}({old});"),
            (f"unsigned {old} = SAVE();", f"RESTORE({old});"),
        ][way]
        self.line(begin)
        values = ["a", "x", *function.indices]
        with self.nested(function, loop=True):
            self.simple(values)
            condition = None if self.kind is Kind.EXACT else self.condition(function)
            if condition is not None:
                self.open(f"if ({condition})")
                # Masks and what is saved of them may differ from here on.
                self.line("MASK();" if way in (1, 3, 4) else f"enter_{k}(); leave_{k}();")
                self.simple(values)
                self.close()
            if self.random.random() < 0.4:
                self.masked(function, budget)
            self.called(function, budget)
            self.simple(values)
        self.line(end)
        if self.random.random() < 0.3:
            self.simple(values)
        return 3

    # --- conditions ---

    def condition(self, function: _Function) -> str | None:
        if self.kind is Kind.EXACT:
            return self.bit_condition(function)
        k, c = self.number, self.random.randrange(INPUTS)
        values = ["a", "x", "x", *function.indices]
        one = self.random.choice(values)
        return self.random.choice(
            [
                f"{one} & {1 << self.random.randrange(6)}",
                f"x > {c}",
                f"x == {c}",
                f"(int)x - {c} < 0",
                f"({one} ^ x) & 3",
                f"m_{k}[{one} & 7] & 1",
                f"x < {c} && {one} & 1",
                f"x & 1 || {one} == {c}",
                f"x < {c} && (x & 4 || {one} & 2)",
                f"(a >> {self.random.randrange(31)} & 1) == (x & 1)",
                f"hide({one}) & 1",
                f"(signed char)a > (int){one}",
            ]
        )

    def bit_condition(self, function: _Function) -> str | None:
        # What is chosen in a loop is the same each time round, which the flow does not show.
        if function.loops or not function.bits:
            return None
        bit = function.bits.pop()
        return self.random.choice(
            [f"x & {1 << bit}", f"!(x & {1 << bit})", f"x >> {bit} & 1", f"hide(x) & {1 << bit}"]
        )

    @contextmanager
    def nested(self, function: _Function, *, loop: bool = False, index: str = "") -> Iterator[None]:
        function.depth += 1
        function.loops += loop
        if index:
            function.indices.append(index)
        yield
        if index:
            function.indices.remove(index)
        function.loops -= loop
        function.depth -= 1

    # --- choices ---

    def choice(self, function: _Function, budget: int) -> int | None:
        condition = self.condition(function)
        if condition is None:
            return None
        taken = 1
        self.open(f"if ({condition})")
        with self.nested(function):
            taken += self.part(function, budget - taken)
        while budget > taken and self.random.random() < 0.25:
            more = self.condition(function)
            if more is None:
                break
            self.indent -= 1
            self.line(f"}} else if ({more}) {{")
            self.indent += 1
            with self.nested(function):
                taken += self.part(function, budget - taken)
        if self.random.random() < 0.5:
            self.indent -= 1
            self.line("} else {")
            self.indent += 1
            with self.nested(function):
                taken += self.part(function, budget - taken)
        self.close()
        return taken

    def part(self, function: _Function, budget: int) -> int:
        size = self.random.randrange(1, max(2, min(budget, 4) + 1))
        self.block(function, size)
        return size

    def switch(self, function: _Function, budget: int) -> int | None:
        k = self.number
        if self.kind is Kind.EXACT:
            if function.loops or not {0, 1, 2} <= {*function.bits}:
                return None
            low = 3 if {3, 4, 5} <= {*function.bits} else 0
            for bit in range(low, low + 3):
                function.bits.remove(bit)
            value, cases, others = f"x >> {low} & 7", [*range(7)], True
        else:
            size = self.random.randrange(3, 12)
            value = self.random.choice(["x", "x & 15", "a & 7", "(x >> 2) - 1", "hide(x) & 7"])
            cases = sorted(self.random.sample(range(16), size))
            if self.random.random() < 0.7:
                cases = [*range(cases[0], cases[0] + size)]
            others = self.random.random() < 0.5
        self.open(f"switch ({value})")
        depth = function.depth
        for case in cases:
            self.line(f"case {case}:")
            self.indent += 1
            if self.random.random() < 0.3 and self.kind is not Kind.EXACT:
                with self.nested(function):
                    self.statement(function, 2)
            else:
                # Different ones, or else the compiler makes a table of values.
                self.line(
                    self.random.choice(
                        [f"v_{k}[{case % 8}] = a;", f"a = a * {case + 3} + v_{k}[0];"]
                    )
                )
            if self.kind is Kind.EXACT or self.random.random() < 0.8:
                self.line("break;")
            self.indent -= 1
        if others:
            self.line("default:")
            self.line(f"    a -= v_{k}[7];")
        function.depth = depth
        self.close()
        return 3

    def ternary(self, function: _Function, budget: int) -> int | None:
        condition = self.condition(function)
        one, two = (self.random.choice(["a", "x", *function.indices]) for _ in range(2))
        self.line(f"a += ({condition}) ? {one} * 3 : {two} ^ 5;")
        return 1

    def early(self, function: _Function, budget: int) -> int | None:
        if function.loops and self.kind is Kind.EXACT:
            return None
        condition = self.condition(function)
        if condition is None:
            return None
        self.open(f"if ({condition})")
        with self.nested(function):
            self.plain(function, 1)
            self.end(function) if self.kind is not Kind.EXACT else self.line("return a;")
        self.close()
        return 1

    # --- loops ---

    def loop(self, function: _Function, budget: int) -> int | None:
        if function.loops >= 2 or function.passes > 60:
            return None
        ways = [self.counted, self.counted, self.bit_counted, self.down]
        if self.kind is not Kind.EXACT:
            ways += [self.hidden, self.hidden, self.do_while, self.shrinking, self.triangle]
            ways += [self.pointer]
            if self.parameter and function.name.startswith("e_"):
                ways += [self.by_parameter] * 3
        return self.random.choice(ways)(function, budget)

    def body(self, function: _Function, budget: int, index: str, passes: int) -> int:
        self.uniform = False
        before = function.passes
        function.passes *= max(1, passes)
        with self.nested(function, loop=True, index=index):
            taken = self.part(function, max(1, budget - 1))
            if self.kind is not Kind.EXACT and self.random.random() < 0.3:
                condition = self.condition(function)
                word = self.random.choice(["break", "break", "continue"])
                self.open(f"if ({condition})")
                self.line(f"{word};")
                self.close()
                if self.random.random() < 0.7:
                    self.plain(function, 1)
        function.passes = before
        return taken + 1

    def counted(self, function: _Function, budget: int) -> int | None:
        count, step = self.random.randrange(1, 7), self.random.choice([1, 1, 2, 3])
        i = self.name("i")
        kind = self.random.choice(["unsigned", "int"])
        self.open(f"for ({kind} {i} = 0; {i} < {count * step}; {i} += {step})")
        taken = self.body(function, budget, i, count)
        self.close()
        return taken

    def down(self, function: _Function, budget: int) -> int | None:
        count = self.random.randrange(1, 7)
        i = self.name("i")
        head = self.random.choice(
            [
                f"for (int {i} = {count}; {i} > 0; {i}--)",
                f"for (unsigned {i} = {count}; {i} != 0; {i}--)",
                f"for (int {i} = {2 * count}; {i} >= 0; {i} -= 2)",
            ]
        )
        self.open(head)
        taken = self.body(function, budget, i, count)
        self.close()
        return taken

    def bit_counted(self, function: _Function, budget: int) -> int | None:
        """As often as bits of the input say, which the code shows."""
        i = self.name("i")
        if self.kind is Kind.EXACT:
            if function.loops or not function.bits:
                return None
            bit = function.bits.pop()
            count, most = f"(x >> {bit} & 1)", 1
            if bit + 1 in function.bits:
                function.bits.remove(bit + 1)
                count, most = f"(x >> {bit} & 3)", 3
        else:
            most = self.random.choice([1, 3, 7])
            count = self.random.choice([f"(x & {most})", f"(a & {most})", f"(x >> 2 & {most})"])
        self.open(f"for (unsigned {i} = 0; {i} < {count}; {i}++)")
        taken = self.body(function, budget, i, most)
        self.close()
        return taken

    def hidden(self, function: _Function, budget: int) -> int | None:
        """As often as bits of the input say, which the code does not show."""
        i, n = self.name("i"), self.name("n")
        most = self.random.choice([1, 2, 3, 5])
        value = self.random.choice(["x", "a", "(x >> 1)"])
        count = f"{value} & {most}" if most in (1, 3) else f"{value} % {most + 1}"
        if self.kind is Kind.GENERAL and most in (2, 5):
            count = f"{value} & 7" if most == 5 else f"t_{self.number}[{value} & 7] & 3"
            most = 7 if most == 5 else 3
        self.line(f"unsigned {n} = hide({count});")
        head = self.random.choice(
            [
                f"for (unsigned {i} = 0; {i} < {n}; {i}++)",
                f"for (unsigned {i} = {n}; {i} > 0; {i}--)",
                f"for (int {i} = 1; {i} <= (int){n}; {i}++)",
            ]
        )
        number = self.open(head)
        self.bound(number, str(most), str(most - 1))
        taken = self.body(function, budget, i, most)
        self.close()
        return taken

    def do_while(self, function: _Function, budget: int) -> int | None:
        n = self.name("n")
        most = self.random.choice([1, 3, 7])
        self.line(f"unsigned {n} = hide((x & {most}) + 1);")
        self.open("do")
        before = len(self.facts)
        with self.nested(function, loop=True, index=n):
            passes = function.passes
            function.passes *= most
            taken = self.part(function, max(1, budget - 1))
            function.passes = passes
        number = self.close(f" while (--{n});")
        self.bound(number, str(most), str(most - 1))
        del before
        return taken + 1

    def shrinking(self, function: _Function, budget: int) -> int | None:
        n = self.name("n")
        if self.random.random() < 0.5:
            self.line(f"unsigned {n} = x & 15;")
        else:
            self.line(f"unsigned {n} = hide(x & 15);")
        number = self.open(f"while ({n})")
        self.bound(number, "4", "3")
        taken = self.body_without_jumps(function, budget, n, 4)
        self.line(f"{n} >>= 1;")
        self.close()
        return taken

    def body_without_jumps(self, function: _Function, budget: int, index: str, passes: int) -> int:
        before = function.passes
        function.passes *= max(1, passes)
        with self.nested(function, loop=True, index=index):
            taken = self.part(function, max(1, budget - 1))
        function.passes = before
        return taken + 1

    def triangle(self, function: _Function, budget: int) -> int | None:
        if function.loops:
            return None
        i, j, n = self.name("i"), self.name("j"), self.name("n")
        self.line(f"unsigned {n} = hide(x & 3);")
        outer = self.open(f"for (unsigned {i} = 0; {i} < {n}; {i}++)")
        inner = self.open(f"for (unsigned {j} = 0; {j} < {i}; {j}++)")
        self.bound(outer, "3", "2")
        self.bound(inner, "2", "1")
        if self.random.random() < 0.5 and function.name.startswith("e_"):
            self.bound(inner, "3 in total", "2 in total")
        with self.nested(function, loop=True, index=i), self.nested(function, loop=True, index=j):
            passes = function.passes
            function.passes *= 3
            self.block(function, self.random.randrange(1, 3))
            function.passes = passes
        self.close()
        self.close()
        return 3

    def pointer(self, function: _Function, budget: int) -> int | None:
        p, k = self.name("p"), self.number
        count = self.random.randrange(1, 7)
        self.open(f"for (unsigned *{p} = m_{k}; {p} != m_{k} + {count}; {p}++)")
        self.line(f"a += *{p};")
        taken = self.body(function, budget, f"*{p}", count)
        self.close()
        return taken

    def by_parameter(self, function: _Function, budget: int) -> int | None:
        i = self.name("i")
        most = self.random.randrange(2, 6)
        if self.random.random() < 0.5:
            number = self.open(f"for (unsigned {i} = 0; {i} < hide(x) && {i} < {most}; {i}++)")
            self.bound(number, f"min(X, {most})", f"max(0, min(X, {most}) - 1)")
        else:
            number = self.open(f"for (unsigned {i} = 0; {i} * 8 < hide(x); {i}++)")
            self.bound(number, "ceil(X/8)", "max(0, ceil(X/8) - 1)")
            most = 8
        taken = self.body(function, budget, i, most)
        self.close()
        return taken

    # --- calls ---

    def call(self, function: _Function, number: int) -> str:
        name, used = self.helpers[number]
        if self.kind is Kind.EXACT:
            # Bits that follow one another, of the argument that only this call has.
            for low in range(BITS):
                bits = range(low, low + used)
                if all(bit in function.bits for bit in bits):
                    for bit in bits:
                        function.bits.remove(bit)
                    shift = self.random.choice([f"x >> {low}", f"hide(x >> {low})"])
                    return f"{name}({shift}, a)"
            return "a"
        return f"{name}({self.random.choice(['x', 'a', 'x >> 2', 'hide(a)', 'x + 1'])}, a)"

    def called(self, function: _Function, budget: int) -> int | None:
        if function.passes > 30:
            return None
        calls = [n for n, (_, used) in enumerate(self.helpers) if used <= len(function.bits)]
        if self.kind is not Kind.EXACT:
            calls = [*range(len(self.helpers))]
        if function.loops and self.kind is Kind.EXACT:
            calls = [n for n in calls if not self.helpers[n][1]]
        if not calls:
            return None
        self.line(f"a ^= {self.call(function, self.random.choice(calls))};")
        return 1

    def index(self, function: _Function, loops: int) -> bool:
        """A call through the table is possible here."""
        size = len(self.tables[0][1])
        if self.kind is not Kind.EXACT:
            return True
        if loops:
            return False
        bits = (size - 1).bit_length()
        return any(all(low + n in function.bits for n in range(bits)) for low in range(BITS))

    def indirect(self, function: _Function) -> str:
        table, names = self.tables[0]
        size = len(names)
        if self.kind is not Kind.EXACT:
            value = self.random.choice(["x", "a", "x >> 1"])
            return f"{table}[{value} & {size - 1}](a)"
        bits = (size - 1).bit_length()
        for low in range(BITS):
            if all(low + n in function.bits for n in range(bits)):
                for n in range(bits):
                    function.bits.remove(low + n)
                return f"{table}[x >> {low} & {size - 1}](a)"
        raise AssertionError("no bits are left")

    def through_table(self, function: _Function, budget: int) -> int | None:
        if not self.tables or function.passes > 30 or not self.index(function, function.loops):
            return None
        self.targets(self.line(f"a += {self.indirect(function)};"))
        return 1

    def targets(self, line: int) -> None:
        self.others.append(f"call at p{self.number}.c:{line}: {', '.join(self.tables[0][1])}")

    def deep(self, function: _Function, budget: int) -> int | None:
        if not self.recursive or function.loops or function.name in self.recursive:
            return None
        most = self.random.choice([1, 3])
        value = self.random.choice(["x", "a"])
        self.line(f"a += {self.recursive[0]}(hide({value} & {most}), x, a);")
        fact = f"recursion of {self.recursive[0]}: at most "
        # The largest of all calls holds.
        known = [f for f in self.facts if f.text.startswith(fact)]
        for one in known:
            self.facts.remove(one)
        most = max([most, *(int(f.text.removeprefix(fact)) - 1 for f in known)])
        self.facts.append(LineFact(f"{fact}{most + 1}", f"{fact}{most}"))
        return 1

    # --- the compiler's runtime ---

    def runtime(self, function: _Function, budget: int) -> int | None:
        if function.passes > 12:
            return None
        k, one = self.number, self.random.choice(["a", "x"])
        self.line(
            self.random.choice(
                [
                    f"a += a / ({one} | 1);",
                    f"a ^= a % ({one} + 7);",
                    f"a += (unsigned)((int)a / ((int){one} - 9 | 1));",
                    f"a += (unsigned)((int)a % ((int){one} + 3));",
                    f"a += (unsigned)((unsigned long long)a * {one} * 0x123456789ull >> 16);",
                    f"a ^= (unsigned)(((unsigned long long)a << 20) / ({one} + 5));",
                    f"a -= (unsigned)(((unsigned long long)a << 33 | {one}) % 1000003);",
                    f"a += (unsigned)(((unsigned long long)a << 32 | x) >> ({one} & 63));",
                    "a += (unsigned)((long long)(int)a * 77 / ((int)x - 31 | 1));",
                    f"v_{k}[1] = a / 10;",
                    f"a += (unsigned)(((unsigned long long)a << {one} | 3) > 0x100000007ull);",
                    f"a += __builtin_popcount({one}) + __builtin_clz(a | 1);",
                ]
            )
        )
        return 1
