"""Counts of flow facts where it is not told how often a place is passed: on the larger side of a
relation no passage is missed, on the smaller side none is counted that there is not. Longest runs
are counted by hand, in instructions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from flow_programs import Program, analysed_in, built
from hand_paths import Firmware, firmware, longest

from wcetchar import formula
from wcetchar.errors import CheckFailed, InputError
from wcetchar.model.access import AccessVector
from wcetchar.model.flow_fact import Relation
from wcetchar.model.instruction import Flow
from wcetchar.model.observed import Observed, ObservedPath
from wcetchar.pipeline.paths import PathModels, Request
from wcetchar.static.apply_facts import ServiceFacts
from wcetchar.static.expand import Expanded, expand
from wcetchar.static.fact_constraints import holds_in_parts
from wcetchar.static.facts import Absent, Places, parse_facts
from wcetchar.static.facts.in_program import FactsInProgram
from wcetchar.static.replay import Replay

Build = Callable[..., Firmware]
Run = tuple[str, str]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    def made(target: str, source: str, parameters: str = "") -> Firmware:
        return firmware(
            tmp_path,
            monkeypatch,
            target,
            '.file 1 "k.c"\n.global f\n.type f, %function\nf:\n' + source,
            f"  s: {{mark: 1, kind: call, entries: [f]{parameters}}}\n",
            values=32,
        )

    return made


def bound(
    of: Firmware, facts: str, *runs: Run, depth: int | None = None, values: tuple[int, ...] = ()
) -> int:
    """In instructions; ``runs``: of the path that is traced, from label to label."""
    seen = Observed((of.path("s", *runs, values=values),), {}, frozenset(), {})
    # The path is given without what it counts.
    of.monkeypatch.setattr("wcetchar.pipeline.paths.check_counts", lambda *_: None)
    request = Request(parse_facts(facts + "\n", "x.ff").facts, depth=depth)
    (made,) = PathModels(of.resolved, seen, request).all()
    return longest(made.model, dict(zip("N", values, strict=False))).time


def counted(made: Program, found: Expanded, path: ObservedPath, fact: str) -> int:
    """The left side of a fact's constraint on a path."""
    trail = Replay(found).trail(path)
    assert isinstance(trail, list)
    taken = Counter(trail)
    return sum(
        formula.evaluate(factor, {}) * taken[link]
        for one in ServiceFacts.of(facts_in(made, fact), "s").constraints(found)
        for link, factor in one.coefficients.items()
    )


def facts_in(made: Program, text: str) -> FactsInProgram:
    places = Places(made.image, made.table, lambda _: None)
    stated = parse_facts(text + "\n", "x.ff").facts
    return FactsInProgram(stated, places, lambda name, _: made.at(name))


# Who has called, where strings of calls are cut.

CALLED = """
        push {r4, lr}
test:   cbz r0, out
        cmp r0, #9
        beq other
        bl p
        movs r4, #10
1:      bl b
        subs r4, #1
        bne 1b
out:    pop {r4, pc}
other:  bl q
        b out
.size f, .-f
.type p, %function
p:      push {r4, lr}
        bl a
        pop {r4, pc}
.size p, .-p
.type q, %function
q:      push {r4, lr}
        bl a
        pop {r4, pc}
.size q, .-q
.type a, %function
a:      bx lr
.size a, .-a
.type b, %function
b:      nop
        bx lr
.size b, .-b
"""
SHORT = (("f", "test"), ("out", "out"))


@pytest.mark.parametrize("depth", [None, 2, 1, 0])
@pytest.mark.parametrize("place", ["a called from p", "a called from f through p"])
def test_a_call_that_is_not_told_apart_allows_a_count(
    build: Build, place: str, depth: int | None
) -> None:
    """Ten calls of `b` for the one of `a`: 5 + 4 + 1 + 10 * (3 + 2) + 1 instructions."""
    made = build("v7m", CALLED)
    assert bound(made, f"count(b) <= 10*count({place})", *SHORT, depth=depth) == 61


@pytest.mark.parametrize(
    ("fact", "n"),
    [
        ("count(b) <= N*count(a called from p)", 10),
        ("count(b) + (N - 20)*count(a called from p) <= 0", 10),
        ("(N - 10)*count(b) <= (N - 1)*count(a called from p)", 11),
        ("(N - 10)*count(b) + 2 - N <= 10*(N - 10)*count(a called from p) - N + 2", 11),
    ],
)
def test_factors_of_either_sign(build: Build, fact: str, n: int) -> None:
    parameters = ", parameters: {N: {kind: state, range: 0..31, meaning: any}}"
    made = build("v7m", CALLED, parameters)
    assert bound(made, fact, *SHORT, depth=0, values=(n,)) == 61


SHARED = """
.macro function name, callees:vararg
.global \\name
.type \\name, %function
\\name: push {r4, lr}
.irp callee, \\callees
        bl \\callee
.endr
        pop {r4, pc}
.size \\name, .-\\name
.endm
        function f, p, q, q
        function p, r, b
        function q, r
        function r, a, a
        function a, b
        function b, c
.global c
.type c, %function
c:      bx lr
.size c, .-c
"""
CALLS = {"f": "pqq", "p": "rb", "q": "r", "r": "aa", "a": "b", "b": "c", "c": ""}


def strings(string: str = "f") -> Iterator[str]:
    """Functions on the call stack, each time that one is called."""
    yield string
    for callee in CALLS[string[-1]]:
        yield from strings(string + callee)


def straight(made: Program) -> ObservedPath:
    """The path of a program without branches."""
    rows, index, behind, at = made.table.instructions, list[int](), list[int](), made.at("f")
    numbers = {row.address: number for number, row in enumerate(rows)}
    while True:
        row = rows[numbers[at]]
        index.append(numbers[at])
        if row.flow is Flow.RETURN:
            if not behind:
                break
            at = behind.pop()
        elif row.flow is Flow.CALL:
            behind.append(row.end)
            at = row.target or 0
        else:
            at = row.end
    taken = np.array([rows[n].flow is not Flow.NEXT for n in index])
    accessed = np.array([rows[n].memory is not None for n in index])
    return ObservedPath("s", (), np.array(index), taken, accessed, AccessVector(()))


@pytest.mark.parametrize("depth", [None, 3, 2, 1, 0])
def test_counts_enclose_what_is_passed(tmp_path: Path, depth: int | None) -> None:
    made = built(tmp_path, "v7m", SHARED)
    found = expand(analysed_in(made, made.graph("f")), made.at("f"), depth=depth)
    path = straight(made)
    told_apart = True
    for called in ("f", "p", "q", "a", "fq", "pr", "rp", "qb", "pab", "c"):
        chain = " through ".join(called)
        for place in "arbc":
            true = sum(
                one[-1] == place and re.search(".*".join(called), one) is not None
                for one in strings()
            )
            least = counted(made, found, path, f"count({place} called from {chain}) <= 99")
            most = -counted(made, found, path, f"count({place} called from {chain}) >= 1")
            assert least <= true <= most, (called, place)
            told_apart = told_apart and least == most
    assert told_apart == (depth is None)


# Predicated instructions.

TWICE = """
        push {r4, lr}
        cmp r0, #0
test:   beq out
        cmp r0, #5
        beq other
        movs r2, #20
        cmp r0, #7
.loc 1 10
        BODY
.loc 1 30
1:      subs r2, r2, #1
        bne 1b
.loc 1 60
        b out
.loc 1 10
other:  mov r1, #2
.loc 1 50
out:    pop {r4, pc}
.size f, .-f
.type more, %function
more:   .rept 50
        nop
        .endr
        bx lr
.size more, .-more
"""
ROUND = 7 + 20 * 2 + 2
"""Instructions of the path through the loop, less those of ``BODY``."""


def twice(build: Build, body: str, target: str = "v7m") -> Firmware:
    return build(target, TWICE.replace("BODY", body.replace("; ", "\n")))


@pytest.mark.parametrize(
    ("body", "long"),
    [
        ("it eq; moveq r1, #1", 2),
        ("ite eq; moveq r1, #1; movne r1, #2", 3),
        (".loc 1 9; it eq; .loc 1 10; moveq r1, #1", 2),
        ("it eq; bleq more", 2 + 51),
        (".loc 1 9; itt eq; moveq r1, #1; .loc 1 10; beq out", 3),
    ],
)
def test_what_may_have_an_effect_allows_a_count(build: Build, body: str, long: int) -> None:
    made = twice(build, body)
    assert bound(made, "count(k.c:30) <= 20*count(k.c:10)", *SHORT) == ROUND + long


@pytest.mark.parametrize(
    "fact",
    [
        "count(k.c:10) <= 0",
        "count(k.c:10) + count(k.c:30) <= 1",
        "count(each k.c:10) <= 1",
        "never k.c:10",
        "exclusive k.c:10, k.c:60",
    ],
)
@pytest.mark.parametrize(
    "body", ["it eq; moveq r1, #1", ".loc 1 9; it eq; .loc 1 10; moveq r1, #1"]
)
def test_what_may_have_none_forbids_nothing(build: Build, body: str, fact: str) -> None:
    made = twice(build, body)
    with pytest.raises(Absent, match="whether it has an effect is not told apart") as caught:
        bound(made, fact, *SHORT)
    assert caught.value.details
    # One that several programs share is left out.
    assert bound(made, f"where present {fact}", *SHORT) == bound(made, "", *SHORT)


@pytest.mark.parametrize(
    ("target", "body", "skipped"),
    [
        ("v7m", "it eq; bleq more", 2),
        ("v7m", "itt eq; streq r1, [sp, #0]; bleq more", 3),
        ("v7m", "itt eq; addeq r1, #1; bleq more", 3),
        ("v7m", ".loc 1 9; itt eq; .loc 1 10; addeq r1, #1; bleq more", 3),
        ("arm", "addeq r1, r1, #1; bleq more", 2),
    ],
)
@pytest.mark.parametrize("fact", ["never k.c:10", "count(k.c:10) <= 0", "count(each k.c:10) <= 0"])
def test_what_a_line_does_tells_whether_it_is_passed(
    build: Build, target: str, body: str, skipped: int, fact: str
) -> None:
    """The path without the effect is left."""
    made = twice(build, body, target)
    assert bound(made, "", *SHORT) == ROUND + skipped + 51
    assert bound(made, fact, *SHORT) == ROUND + skipped


def test_what_writes_a_mask_tells_it_as_well(build: Build) -> None:
    made = twice(build, "it eq; msreq basepri, r1")
    assert bound(made, "never k.c:10", *SHORT) == ROUND + 2


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("v7m", ".loc 1 9; itt eq; moveq r1, #1; .loc 1 10; beq out"),
        ("arm", ".loc 1 9; moveq r1, #1; .loc 1 10; beq out"),
    ],
)
def test_a_branch_that_is_predicated(build: Build, target: str, body: str) -> None:
    """It is passed where it is taken; a block does not tell that."""
    made = twice(build, body, target)
    whole = bound(made, "", *SHORT)
    assert bound(made, "count(k.c:10) <= 0", *SHORT) == whole
    with pytest.raises(Absent, match="not told apart"):
        bound(made, "never k.c:10", *SHORT)


LEAVES = """
        li t0, 20
test:   beqz a0, out
.loc 1 10
        beqz a1, more
.loc 1 30
1:      addi t0, t0, -1
        bnez t0, 1b
.loc 1 50
out:    ret
.size f, .-f
.type more, %function
more:   ret
.size more, .-more
"""


def test_a_branch_that_is_not_taken_allows_a_count(build: Build) -> None:
    """It leaves the function, so that blocks tell its outcomes apart."""
    made = build("riscv", LEAVES)
    assert bound(made, "count(k.c:30) <= 20*count(k.c:10)", *SHORT) == 3 + 20 * 2 + 1


MIDDLE = """
        push {r4, lr}
        movs r2, #20
        movs r1, #9
        cmp r0, #0
test:   beq out
        cmp r0, #5
        beq known
.loc 1 10
        cmp r1, r0
        beq out
known:  movs r3, #1
        bl more
        movs r3, #1
.loc 1 30
1:      subs r2, r2, #1
        bne 1b
.loc 1 50
out:    pop {r4, pc}
.size f, .-f
.type more, %function
more:   bx lr
.size more, .-more
"""


def test_a_line_that_is_entered_in_its_middle_allows_a_count(build: Build) -> None:
    """On one path, what it tests first is known."""
    made = build("v7m", MIDDLE)
    assert bound(made, "count(k.c:30) <= 20*count(k.c:10)", *SHORT) == 7 + 2 + 4 + 40 + 1
    # Control that goes on in the line does not pass it again: not behind a branch, nor a call.
    assert bound(made, "count(k.c:30) <= 19*count(k.c:10)", *SHORT) == 7 + 2 + 4 + 38 + 1


def test_a_piece_of_a_line_allows_nothing(build: Build) -> None:
    made = twice(build, "mov r1, #1")
    for fact in ("count(k.c:30) <= 20*count(each k.c:10)", "count(k.c:30) == count(each k.c:10)"):
        with pytest.raises(InputError, match="`each` where a count is larger"):
            bound(made, fact, *SHORT)
    with pytest.raises(InputError, match="has a factor that may be negative"):
        bound(made, "(2 - 1)*count(each k.c:10) <= 5", *SHORT)


# From one place right to another.

RIGHT = """
        push {r4, lr}
        cmp r0, #0
test:   beq out
        cmp r0, #5
        beq other
.loc 1 10
        mov r1, #1
        BETWEEN
.loc 1 20
        mov r2, #20
.loc 1 30
round:  subs r2, r2, #1
back:   bne round
.loc 1 60
leave:  b out
.loc 1 10
other:  mov r1, #2
        b 9f
        nop
.loc 1 20
9:      mov r3, #2
.loc 1 50
out:    pop {r4, pc}
.size f, .-f
.type more, %function
more:   bx lr
.size more, .-more
"""


@pytest.mark.parametrize(
    ("between", "long"),
    [
        ("", 0),
        (".loc 1 15; nop", 1),
        ("bl more", 2),
        ("cpsid i; nop", 2),
        ("it eq; streq r1, [sp, #0]; nop", 3),
        ("cmp r1, #1; bne 3f; nop; 3:", 3),
    ],
)
def test_wherever_a_way_leads_it_allows_a_count(build: Build, between: str, long: int) -> None:
    """Also where both places are in one block, or others and calls lie between."""
    made = build("v7m", RIGHT.replace("BETWEEN", between.replace("; ", "\n")))
    fact = "count(k.c:30) <= 20*count(k.c:10 -> k.c:20)"
    assert bound(made, fact, *SHORT) == 7 + long + 40 + 2
    # Less those that control comes to from elsewhere.
    assert bound(made, "count(k.c:30) <= 20*count(k.c:60 -> k.c:50)", *SHORT) == 7 + long + 40 + 2


def test_a_way_within_a_block_is_counted(build: Build) -> None:
    made = build("v7m", RIGHT.replace("BETWEEN", ""))
    assert bound(made, "count(k.c:10 -> k.c:20) <= 0", *SHORT) == 4
    with pytest.raises(CheckFailed, match="contradicts"):
        bound(
            made,
            "count(k.c:10 -> k.c:20) <= 0",
            ("f", "back"),
            *[("round", "back")] * 19,
            ("leave", "leave"),
            ("out", "out"),
        )


def test_a_way_past_another_line_is_not_surely_one(build: Build) -> None:
    made = build("v7m", RIGHT.replace("BETWEEN", ".loc 1 15\nnop"))
    fact = "count(k.c:10 -> k.c:20) + count(k.c:30 -> k.c:60) <= 1"
    assert bound(made, fact, *SHORT) == bound(made, "", *SHORT)


def test_a_way_round_a_block(build: Build) -> None:
    """From the first place to the second within a block, and back with its loop."""
    made = build(
        "v7m",
        """
        movs r2, #5
test:   cbz r0, out
.loc 1 10
round:  nop
.loc 1 20
        subs r2, #1
back:   bne round
.loc 1 50
out:    bx lr
.size f, .-f
""",
    )
    path = made.path("s", ("f", "back"), *[("round", "back")] * 4, ("out", "out"))
    found = expand(analysed_in(made.made, made.made.graph("f")), made.made.at("f"))
    for fact, times in [
        ("count(k.c:10 -> k.c:20) <= 9", 5),
        ("count(k.c:20 -> k.c:10) <= 9", 4),
        ("count(k.c:20 -> k.c:50) <= 9", 1),
        ("count(k.c:10 -> k.c:20) >= 1", -5),
        ("count(k.c:20 -> k.c:10) >= 1", -4),
    ]:
        assert counted(made.made, found, path, fact) == times


# Functions that are not only where their name is.

INLINED = """
volatile int port;
__attribute__((noinline)) void work(int n) { if (n) port = 2; }
__attribute__((noinline)) void more(void) { port = 1; }
static inline __attribute__((always_inline)) void apart(int n) { work(n); }
void (*const table[])(int) = {apart};
void f(int n)
{
    apart(n);
    table[0](n);
    more();
}
"""
VARIANT = """
.global f
.type f, %function
f:      bl g
        bl g.part.0
        bl h
        bl h.cold
        nop
.size f, .-f
.irp name, g, g.part.0, h, h.cold
.global \\name
.type \\name, %function
\\name: bx lr
.size \\name, .-\\name
.endr
"""


@pytest.mark.parametrize(
    ("source", "function", "kept"),
    [
        pytest.param(INLINED, "apart", "work", id="inlined"),
        pytest.param(VARIANT, "g", "h", id="variant"),
        pytest.param(VARIANT, "g", "g.part.0", id="of itself"),
    ],
)
def test_a_function_that_the_compiler_put_elsewhere_as_well(
    tmp_path: Path, source: str, function: str, kept: str
) -> None:
    """Where it is on the larger side: what is counted is not all that the source means."""
    made = built(tmp_path, "v7m", source, c=source == INLINED, more=["-O1", "-g"])
    found = expand(analysed_in(made, made.graph("f")), made.at("f"))

    def constraints(fact: str) -> int:
        return len([*ServiceFacts.of(facts_in(made, fact), "s").constraints(found)])

    for place in (function, f"f called from {function}"):
        for fact in (f"count({kept}) <= count({place})", f"2 <= count({place})"):
            with pytest.raises(
                InputError, match=f"not every execution of {function} in the source"
            ):
                constraints(fact)
    for fact in (f"count({function}) <= 2*count({kept})", f"count({kept} called from f) >= 1"):
        assert constraints(fact) == 1


# Parts of services.


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("count(f) <= 1", True),
        ("ceil(N/4)*count(f) <= 1", False),  # N may be negative
        ("max(N, 0)*count(f) + (N > 2)*count(g) <= 1", True),
        ("N*count(f) <= 1", False),
        ("count(f) <= count(g)", False),
        ("service s/call { count(f) <= count(g) }", True),
        ("service s/call, t/call, !u { count(f) <= count(g) }", True),
        # It says nothing of s/resume.
        ("service s, s/call { count(f) <= count(g) }", False),
        ("service !s/call { count(f) <= count(g) }", False),
    ],
)
def test_what_holds_in_parts(text: str, holds: bool) -> None:
    (fact,) = parse_facts(text.replace("{", "{\n").replace("}", "\n}") + "\n", "x.ff").facts
    assert isinstance(fact, Relation)
    assert holds_in_parts(fact) == holds
