"""Registers that functions preserve, or do not: by what they do, and not by what they should do.
Counters of a loop in ``f`` around a call of ``h``; expected values by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import Program, built

from wcetchar.formula import to_text
from wcetchar.static.proofs import analysed
from wcetchar.static.values import Values
from wcetchar.static.values.calls import CONVENTION
from wcetchar.static.values.effects import Given, Summary, either
from wcetchar.static.values.form import Form
from wcetchar.static.values.interval import ANY, between
from wcetchar.static.values.loop_bounds import derive_bounds
from wcetchar.static.values.summary import summary_of

R4, SP = 4, 13


def functions(**bodies: str) -> str:
    return "".join(
        f".global {name}\n.type {name}, %function\n{name}:\n{body}\n.size {name}, .-{name}\n"
        for name, body in bodies.items()
    )


class Made:
    def __init__(self, made: Program, entry: str = "f") -> None:
        self.made = made
        self.graph = made.graph(entry)
        self.values = analysed(self.graph, made.image, made.table)

    def of(self, name: str) -> Values:
        return self.values[self.made.at(name)]

    def summary(self, name: str) -> Summary:
        found = summary_of(self.of(name))
        assert found is not None
        return found

    def bounds(self, name: str = "f") -> list[str]:
        return [to_text(bound.limit) for bound in derive_bounds(self.of(name)).values()]


COUNTS = "push {r4, lr}\nmovs r4, #5\n1: bl h\nsubs r4, #1\nbne 1b\npop {r4, pc}"
KEEP = "ldr r3, =0x20000000\nstr r0, [r3]\nbx lr\n.ltorg"
ANYWHERE = "ldr r3, =0x20000000\nldr r3, [r3]\nstr r3, [r3]\nbx lr\n.ltorg"
# Its frame is known elsewhere, and somebody writes to where nobody knows.
ESCAPES = (
    "push {{r4, r5, lr}}\nsub sp, #12\nadd r0, sp, #4\nbl keep\nbl anywhere\nmovs r4, #1\n{}\n"
    "add sp, #12\npop {{r4, r5, pc}}"
)


def thumb(folder: Path, h: str, f: str = COUNTS) -> Made:
    put = "str r1, [r0]\nbx lr"
    source = functions(f=f, h=h, keep=KEEP, anywhere=ANYWHERE, put=put)
    return Made(built(folder, "v7m", source))


@pytest.mark.parametrize(
    ("h", "given"),
    [
        # As many as a variable says.
        (
            "ldr r4, =0x20000000\nldr r5, [r4]\nsubs r5, #1\nstr r5, [r4]\nite gt\nmovgt r4, #5\n"
            "movle r4, #1\nbx lr\n.ltorg",
            None,
        ),
        ("cmp r1, #50\nbhs 2f\nadds r1, #1\nadds r4, #1\n2: bx lr", Given(None, ANY, 1 << R4)),
        # On one of two ways out.
        ("push {r4, lr}\ncbz r0, 2f\nmovs r4, #9\npop {r3, pc}\n2: pop {r4, pc}", None),
        # What it saves, and what it loads again, is not the same.
        ("push {r4, r5, lr}\nldr r4, [sp, #4]\nldr r5, [sp]\nadd sp, #8\npop {pc}", None),
        ("push {r4, lr}\nadds r4, #1\nstr r4, [sp]\npop {r4, pc}", None),
        # It is known that a store may go there.
        (ESCAPES.format("str r0, [sp, #12]"), None),
        (ESCAPES.format("strb r0, [sp, #15]"), None),
        (ESCAPES.format("and r1, r1, #3\nstr r0, [sp, r1, lsl #2]"), None),
        (ESCAPES.format("add r0, sp, #12\nbl put"), None),
    ],
)
def test_what_is_seen_to_change_is_not_kept(h: str, given: Given | None, tmp_path: Path) -> None:
    made = thumb(tmp_path, h)
    assert made.bounds() == []
    found = made.summary("h")
    assert not found.kept >> R4 & 1
    assert R4 in found.results
    if given is not None:
        assert found.results[R4] == given
    # Who calls it saves it, and so does what is called by that.
    assert made.summary("f").kept >> R4 & 1


def test_what_it_changes_to_is_known(tmp_path: Path) -> None:
    made = thumb(tmp_path, "movs r4, #1\nbx lr")
    assert made.summary("h").results[R4] == Given(Form(1), between(1, 1), 0)
    assert made.bounds() == ["0"]


@pytest.mark.parametrize(
    ("h", "proved"),
    [
        ("push {r4, lr}\nmovs r4, #9\npop {r4, pc}", True),
        # Beside what it is known to write.
        (ESCAPES.format("nop"), False),
        (ESCAPES.format("str r0, [sp, #8]"), False),
        (ESCAPES.format("and r1, r1, #1\nstr r0, [sp, r1, lsl #2]"), False),
        # Through another register, on another way, in another slot.
        (ESCAPES.format("ldr r3, [sp, #12]\nstr r3, [sp, #16]\nmov r5, r3\nmov r4, r5"), False),
        (
            "push {r4, lr}\nsub sp, #8\nmov r0, sp\nbl keep\nbl anywhere\ncbz r0, 2f\nmovs r4, #9\n"
            "2: add sp, #8\npop {r4, pc}",
            False,
        ),
    ],
)
def test_what_is_saved_and_loaded_again_is_kept(h: str, proved: bool, tmp_path: Path) -> None:
    """Also where a store may hit it of which it is not known where it goes: that is assumed."""
    made = thumb(tmp_path, h)
    found = made.summary("h")
    assert found.kept >> R4 & 1
    assert R4 not in found.results
    assert (CONVENTION not in found.assumptions) == proved
    assert made.bounds() == ["4"]


def test_functions_of_which_nothing_is_known_keep_to_the_convention(tmp_path: Path) -> None:
    made = thumb(tmp_path, "push {r4, lr}\ncbz r0, 2f\nsubs r0, #1\nbl h\n2: pop {r4, pc}")
    assert made.of("h").graph.address in made.graph.recursive
    assert made.bounds() == ["4"]
    assert CONVENTION in made.of("f").assumptions


def test_one_of_two_functions_changes_it() -> None:
    keeps, changes = Summary(kept=1 << R4), Summary(results={R4: Given(Form(1))})
    assert either([keeps, changes]).results[R4].form is None


def test_a_function_that_does_not_return_says_nothing(tmp_path: Path) -> None:
    made = thumb(tmp_path, "cbz r0, 2f\nb stop\n2: bx lr\nstop: movs r4, #1\nb stop")
    assert made.bounds() == ["4"]


def test_registers_of_another_mode(tmp_path: Path) -> None:
    """What writes the mode bits may change banks; it returns in the mode that it was called in."""
    h = "push {r0}\nmrs r0, cpsr\norr r0, r0, #192\nmsr cpsr_fc, r0\npop {r0}\nbx lr"
    f = "push {r8, lr}\nmov r8, #5\n1: bl h\nsubs r8, r8, #1\nbne 1b\npop {r8, lr}\nbx lr"
    made = Made(built(tmp_path, "arm", functions(f=f, h=h)))
    found = made.summary("h")
    assert found.kept >> 8 & 1
    assert found.kept >> SP & 1
    assert CONVENTION in found.assumptions
    assert made.bounds() == ["4"]


LOOPS = """
volatile double d; volatile float e; volatile int n; volatile unsigned long long u;
__attribute__((noinline)) void part(int a, int b, int c, int x)
{ for (int i = 0; i < 3; i++) { d = d * x; e = d; u = u / (a + b); n = d; g(a + i, b, c); } }
int f(void) { for (int i = 0; i < 7; i++) part(i, n, i * n, n); return n; }
"""
CALLED = "__attribute__((noinline)) void g(int a, int b, int c) { n = a + b * c; }\n"


@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("v7m", ["-O2"]),
        ("v6m", ["-Os"]),
        ("arm", ["-O2"]),
        ("thumb", ["-Os"]),
        ("riscv", ["-O2"]),
        ("riscv", ["-Os", "-msave-restore"]),
    ],
)
def test_routines_of_the_compiler(target: str, more: list[str], tmp_path: Path) -> None:
    """Counters in registers across them are followed."""
    first, rest = LOOPS.split("\n__attr", 1)
    source = f"{first}\n{CALLED}__attr{rest}"
    made = Made(built(tmp_path, target, source, c=True, more=more))
    assert made.bounds("f") == ["6"]
    assert made.bounds("part") == ["2"]
