"""Graphs of hand-written Thumb programs for M-profile, expected values by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import built

from wcetchar.model.flow import OpenKind


def function(name: str) -> str:
    return f".global {name}\n.type {name}, %function\n.thumb_func\n{name}:\n"


def test_branches_calls_and_returns(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        function("f")
        + """
        push {r4, lr}
        cmp r0, #0
        beq zero
plus:   bl g
back:   cbz r0, zero
more:   b plus
zero:   pop {r4, pc}
        """
        + function("g")
        + "bx lr\n",
    )
    graph = program.graph("f")
    f = program.function(graph, "f")
    assert program.edges(f) == {
        ("f", "taken", "zero"),
        ("f", "next", "plus"),
        ("plus", "returned", "back"),
        ("back", "taken", "zero"),
        ("back", "next", "more"),
        ("more", "taken", "plus"),
    }
    assert program.calls(f) == {("plus", "call", "g")}
    assert program.blocks(f, f.returns) == {"zero"}
    assert program.blocks(f, f.entries) == {"f"}
    (loop,) = f.loops
    assert program.block(f, loop.header) == "plus"
    assert program.blocks(f, loop.members) == {"plus", "back", "more"}
    assert len(loop.entries) == 1
    assert len(loop.back) == 1
    assert f.name == "f"
    assert not f.open
    assert set(graph.functions) == {program.at("f"), program.at("g")}


def test_a_branch_to_the_next_instruction_is_one_edge(tmp_path: Path) -> None:
    program = built(tmp_path, "v7m", function("f") + "cmp r0, #0\nbeq on\non: bx lr\n")
    assert program.edges(program.function(program.graph("f"), "f")) == {("f", "taken", "on")}


def test_tail_calls_falling_into_the_next_function_and_recursion(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        function("f")
        + "cmp r0, #1\nft: beq g\nbn: b.w h\n"
        + function("g")
        + "adds r0, #1\n"
        + function("h")
        + "push {lr}\nbl g\nhr: pop {pc}\n",
    )
    graph = program.graph("f")
    f, g, h = (program.function(graph, name) for name in "fgh")
    assert program.calls(f) == {("ft", "tail", "g"), ("bn", "tail", "h")}
    # The branch that is not taken has a block of its own outcome.
    assert program.edges(f) == {
        ("f", "next", "ft"),
        ("f", "next", "ft!"),
        ("ft!", "next", "bn"),
    }
    assert program.blocks(f, f.entries) == {"f"}
    assert program.calls(g) == {("g", "tail", "h")}
    assert program.calls(h) == {("h", "call", "g")}
    # h calls g, which ends in h: nothing of the two ever returns.
    assert graph.recursive == {program.at("g"), program.at("h")}


def test_nothing_returns_from_what_does_not(tmp_path: Path) -> None:
    source = (
        function("f")
        + "push {lr}\ncbz r0, bad\nok: pop {pc}\nbad: bl dies\nbehind: .short 0xde00\n"
        + function("dies")
        + "push {lr}\nbl spins\ndr: pop {pc}\n"
        + function("spins")
        + "b spins\n"
        + function("given")
        + "bl maybe\nnone: bx lr\n"
        + function("maybe")
        + "bx lr\n"
    )
    program = built(tmp_path, "v7m", source)
    graph = program.graph("f", "given", no_return=["maybe"])
    f, dies, given = (program.function(graph, name) for name in ("f", "dies", "given"))
    assert program.edges(f) == {("f", "taken", "bad"), ("f", "next", "ok")}
    assert program.edges(dies) == set()
    assert program.edges(given) == set()
    spins = program.function(graph, "spins")
    assert program.edges(spins) == {("spins", "taken", "spins")}
    assert len(spins.loops) == 1
    assert spins.loops[0].entries == ()


def test_predicated_instructions_have_one_outcome_together(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        function("f")
        + """
        push {r4, lr}
        cmp r0, #0
        it ne
        addne r1, #1
alu:    itete eq
one:    ldreq r2, [r0]
        strne r3, [r0]
        addeq r1, #1
        popne {r4, pc}
rest:   bx lr
        """,
    )
    f = program.function(program.graph("f"), "f")
    rows = program.table.instructions
    split = [b for b in f.blocks if b.skipped]
    found = {
        tuple(rows[n].text.split()[0] for n in range(b.first, b.last + 1) if n not in b.skipped)
        for b in split
    }
    # addne belongs to the same flags, so its outcome is decided with the others.
    assert found == {("it", "addne"), ("addne", "itete", "strne", "popne")} - {("it", "addne")} | {
        ("itete", "ldreq", "addeq")
    }
    assert len(f.returns) == 2
    going_on = [e for e in f.edges if rows[f.blocks[e.target].first].address == program.at("rest")]
    assert len(going_on) == 1
    assert "popne" not in {
        rows[n].text.split()[0]
        for n in range(f.blocks[going_on[0].source].first, f.blocks[going_on[0].source].last + 1)
        if n not in f.blocks[going_on[0].source].skipped
    }


def test_flags_that_change_make_outcomes_independent(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        function("f")
        + """
        cmp r0, #0
        it eq
        ldreq r2, [r0]
        cmp r1, #0
        it eq
        ldreq r3, [r1]
        bx lr
        """,
    )
    f = program.function(program.graph("f"), "f")
    ways = set()

    def walk(number: int, way: tuple[bool, ...]) -> None:
        block = f.blocks[number]
        for n in range(block.first, block.last + 1):
            if program.table.instructions[n].conditional:
                way = (*way, n not in block.skipped)
        if number in f.returns:
            ways.add(way)
        for edge in f.successors[number]:
            walk(edge.target, way)

    for entry in f.entries:
        walk(entry, ())
    assert ways == {(a, b) for a in (False, True) for b in (False, True)}


def test_predicated_calculations_are_not_split(tmp_path: Path) -> None:
    program = built(
        tmp_path, "v7m", function("f") + "cmp r0, #0\nite ne\nmovne r0, #1\nmoveq r0, #2\nbx lr\n"
    )
    f = program.function(program.graph("f"), "f")
    assert len(f.blocks) == 1
    assert not f.blocks[0].skipped


TABLES = """
        cmp r0, #3
        bhi other
jump:   {jump}
{table}
a:      movs r0, #1
b:      movs r0, #2
c:      movs r0, #3
other:  bx lr
"""
TBB = ("tbb [pc, r0]", "1: .byte (a-1b)/2, (b-1b)/2, (c-1b)/2, (a-1b)/2, 77, 78\n.align 1")
TBH = ("tbh [pc, r0, lsl #1]", "1: .short (a-1b)/2, (b-1b)/2, (c-1b)/2, (a-1b)/2, 777")
ADR = ("ldr pc, [r2, r0, lsl #2]", ".align 2\nt: .word a+1, b+1, c+1, a+1, 0x12345")
LITERAL = (
    "ldr pc, [r2, r0, lsl #2]\n.align 2\n1: .word t",
    "t: .word a+1, b+1, c+1, a+1",
)


@pytest.mark.parametrize(
    ("jump", "table", "before"),
    [(*TBB, ""), (*TBH, ""), (*ADR, "adr r2, t"), (*LITERAL, "ldr r2, 1f")],
)
def test_jump_tables(tmp_path: Path, jump: str, table: str, before: str) -> None:
    source = function("f") + before + TABLES.format(jump=jump, table=table)
    program = built(tmp_path, "v7m", source)
    f = program.function(program.graph("f"), "f")
    assert not f.open
    assert program.goals(f, "jump") == {("taken", goal) for goal in "abc"}


def test_a_table_whose_index_is_not_bounded_is_open(tmp_path: Path) -> None:
    # On one way the comparison is passed by; on the other the index changes behind it.
    for text in (
        "cbz r1, jump\ncmp r0, #1\nbhi out\n",
        "cmp r0, #1\nbhi out\nadd r0, r1\n",
        "cmp r1, #1\nbhi out\n",
        "cmp r0, #1\nbls out\n",
        "cmp r0, #1\nbgt out\n",
    ):
        program = built(
            tmp_path,
            "v7m",
            function("f")
            + text
            + "jump: tbb [pc, r0]\n1: .byte (out-1b)/2, (on-1b)/2\non: nop\nout: bx lr\n",
        )
        f = program.function(program.graph("f"), "f")
        assert [(o.kind, o.address) for o in f.open] == [(OpenKind.JUMP, program.at("jump"))], text
        assert "bound" in f.open[0].why or "goes" in f.open[0].why or "go to" in f.open[0].why
        # Given from outside, it is closed.
        f = program.function(program.graph("f", targets={"jump": ["on", "out"]}), "f")
        assert not f.open
        assert program.goals(f, "jump") == {("taken", "on"), ("taken", "out")}


@pytest.mark.parametrize("machine", ["v6m", "v7m"])
def test_an_index_that_is_masked_by_a_register(tmp_path: Path, machine: str) -> None:
    """As GCC 12 has it for ``switch (x & 3)`` on Armv6-M, where no instruction has the constant.
    The register that is shifted by, or that is not the constant, may be anything."""
    masked = {
        "movs r3, #3\nands r3, r0\n": "abcd",
        "movs r3, #1\nands r0, r3\nmov r3, r0\n": "ab",
        "movs r3, #3\nmovs r2, #1\nbics r3, r2\n": "c",
        "movs r3, #3\nands r3, r0\nmovs r2, #1\nbics r3, r2\n": "ac",
        "movs r3, #2\nands r3, r0\nands r3, r1\n": "abc",
        "movs r3, #2\nlsrs r3, r0\n": "abc",
        "movs r3, #1\nands r3, r0\nbics r3, r1\n": "ab",
        "mov r3, r0\nands r3, r1\n": "",
        "mov r3, r0\nbics r3, r1\n": "",
        "mov r3, r0\nmovs r2, #3\nbics r3, r2\n": "",
        "mov r3, r0\nmovs r2, #30\nlsrs r3, r2\n": "",
    }
    if machine == "v7m":
        masked |= {
            "movs r1, #3\nand.w r3, r0, r1\n": "abcd",
            "bic.w r3, r0, #0xfffffffc\n": "abcd",
            "movs r1, #2\nlsr.w r3, r1, r0\n": "abc",
            "mvn r1, #2\nbic.w r3, r0, r1\n": "ac",
            "movs r1, #1\nand.w r3, r0, r1, lsl #1\n": "",
            "movs r1, #2\nlsl.w r3, r1, r0\n": "",
        }
    for text, goals in masked.items():
        program = built(
            tmp_path,
            machine,
            function("f")
            + text
            + "lsls r3, r3, #2\nldr r2, =t\nldr r3, [r2, r3]\njump: mov pc, r3\n"
            + "a: nop\nb: nop\nc: nop\nd: bx lr\n.pool\n"
            + ".section .rodata\n.align 2\nt: .word a, b, c, d\n",
        )
        f = program.function(program.graph("f"), "f")
        assert bool(f.open) == (not goals), text
        found = {goal for kind, goal in program.goals(f, "jump") if kind == "taken"}
        assert found == {*goals}, text


def test_the_bound_may_come_from_far_away(tmp_path: Path) -> None:
    """Through a spilled copy, a masked value, and a comparison in another block."""
    for text in (
        "push {r4, lr}\nsub sp, #8\nstr r0, [sp, #4]\nldr r3, [sp, #4]\ncmp r3, #2\nbhi out\n"
        "cbz r1, 2f\nadds r1, #1\n2: ldr r0, [sp, #4]\n",
        "push {r4, lr}\nsub sp, #8\nand r0, r0, #1\n",
        "push {r4, lr}\nsub sp, #8\nubfx r0, r0, #3, #1\nadds r0, #1\n",
        "push {r4, lr}\nsub sp, #8\nuxtb r4, r0\nmovs r2, #2\ncmp r2, r4\nblo out\n"
        "bl g\nmov r0, r4\n",
    ):
        program = built(
            tmp_path,
            "v7m",
            function("f")
            + text
            + "jump: tbb [pc, r0]\n1: .byte (a-1b)/2, (b-1b)/2, (out-1b)/2, 99\n"
            + "a: nop\nb: nop\nout: add sp, #8\npop {r4, pc}\n"
            + function("g")
            + "bx lr\n",
        )
        f = program.function(program.graph("f"), "f")
        assert not f.open, text
        goals = program.goals(f, "jump")
        assert goals <= {("taken", "a"), ("taken", "b"), ("taken", "out")}
        assert ("taken", "b") in goals


def test_indirect_calls(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        function("f")
        + """
        push {r4, lr}
known:  ldr r3, =g
        blx r3
open:   ldr r3, [r0]
call:   blx r3
done:   pop {r4, pc}
        .pool
        """
        + function("g")
        + "bx lr\n"
        + function("h")
        + "bx lr\n",
    )
    graph = program.graph("f")
    f = program.function(graph, "f")
    assert program.calls(f) == {("f", "call", "g")}
    assert [o.kind for o in f.open] == [OpenKind.CALL]
    assert [t.complete for t in f.transfers] == [True, False]
    assert ("open", "returned", "done") in program.edges(f)
    graph = program.graph("f", targets={"call": ["g", "h"]})
    f = program.function(graph, "f")
    assert not f.open
    assert program.calls(f) == {("f", "call", "g"), ("open", "call", "g"), ("open", "call", "h")}


def test_a_choice_of_functions(tmp_path: Path) -> None:
    """What may be called are the functions that are chosen from, and nothing between them."""
    program = built(
        tmp_path,
        "v7m",
        function("f")
        + "push {r4, lr}\nldr r3, =g\ncbz r0, call\nldr r3, =h\ncbz r1, call\nldr r3, =k\n"
        + "call: blx r3\ndone: pop {r4, pc}\n.pool\n"
        + "".join(function(name) + "nop\nbx lr\n" for name in "gikhj"),
    )
    f = program.function(program.graph("f"), "f")
    assert {goal for _, _, goal in program.calls(f)} == {"g", "h", "k"}
    assert not f.open


def test_ends_that_are_open(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        function("data")
        + "b 1f\n.align 2\n1: .word 1\n"
        + function("inside")
        + "cmp r0, #0\nbeq 1f+2\n1: mov.w r0, #1\nbx lr\n"
        + function("falls")
        + "nop\n.align 2\n.word 1\n"
        + function("cond")
        + "cmp r0, #0\nb 2f\nit eq\n2: moveq r0, #1\nbx lr\n",
    )
    graph = program.graph("data", "inside", "falls", "cond")
    kinds = {
        name: [o.kind for o in program.function(graph, name).open]
        for name in ("data", "inside", "falls", "cond")
    }
    assert kinds == {
        "data": [OpenKind.NO_FUNCTION],
        "inside": [OpenKind.NO_FUNCTION],
        "falls": [OpenKind.FALLS_OUT],
        "cond": [OpenKind.NO_FUNCTION],
    }


def test_supervisor_calls_and_stops(tmp_path: Path) -> None:
    program = built(
        tmp_path, "v7m", function("f") + "svc 0\nn: cbz r0, s\nr: bx lr\ns: udf #0\nbehind: nop\n"
    )
    f = program.function(program.graph("f"), "f")
    assert program.edges(f) == {("f", "next", "n"), ("n", "taken", "s"), ("n", "next", "r")}
    assert program.blocks(f, f.stops) == {"s"}
    assert program.blocks(f, f.returns) == {"r"}


def test_what_is_never_executed(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        function("f")
        + "push {lr}\ncbz r0, bad\nok: cmp r0, #3\nit eq\nhere: bleq g\nrest: pop {pc}\n"
        + "bad: nop\nbl g\nbr: b ok\n"
        + function("g")
        + "bx lr\n",
    )
    f = program.function(program.graph("f", never=["bad"]), "f")
    assert "bad" not in program.blocks(f, range(len(f.blocks)))
    assert ("f", "next", "ok") in program.edges(f)
    # A predicated instruction is passed without effect.
    f = program.function(program.graph("f", never=["here"]), "f")
    assert program.calls(f) == {("bad", "call", "g")}
    assert f.returns


def test_labels_of_assembly_code(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "v7m",
        ".global first\nfirst: cmp r0, #0\nbne local\n.thumb_func\nbl second\nf2: bx lr\n"
        "local: b first\n.global second\n.thumb_func\nsecond: bl inner\ns2: bx lr\ninner: bx lr\n",
    )
    graph = program.graph("first")
    first, second = program.function(graph, "first"), program.function(graph, "second")
    assert ("local", "taken", "first") in program.edges(first)
    assert first.name == "first"
    assert program.calls(second) == {("second", "call", "inner")}
    assert program.function(graph, "inner").returns


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("v6m", "movs r3, #3\n ands r0, r3\n lsls r0, r0, #2\n ldr r2, [r1, r0]\n mov pc, r2"),
        ("v6m", "movs r3, #3\n ands r3, r0\n lsls r0, r3, #2\n ldr r2, [r1, r0]\n mov pc, r2"),
        ("v7m", "movs r3, #3\n and.w r0, r3, r0\n lsls r0, r0, #2\n ldr r2, [r1, r0]\n mov pc, r2"),
        ("arm", "mov r3, #3\n and r0, r3, r0\n mov r0, r0, lsl #2\n ldr pc, [r1, r0]"),
    ],
)
def test_an_index_masked_by_a_register(tmp_path: Path, target: str, code: str) -> None:
    state = "" if target == "arm" else ".thumb_func\n"
    mark = "" if target == "arm" else "+1"
    source = f"""
    .global f
    {state}
    .type f, %function
    f:  ldr r1, =table
        {code}
    a:  bx lr
    b:  bx lr
    c:  bx lr
    d:  bx lr
    .pool
    .size f, . - f
    .section .rodata
    .p2align 2
    table: .word a{mark}, b{mark}, c{mark}, d{mark}
    """
    program = built(tmp_path, target, source)
    function = program.function(program.graph("f"), "f")
    assert not function.open
    goals = {program.block(function, edge.target) for edge in function.edges}
    assert goals == {"a", "b", "c", "d"}
