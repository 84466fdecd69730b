"""Graphs of hand-written Arm state and Thumb programs of Armv4T, expected values by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import built

from wcetchar.model.flow import OpenKind
from wcetchar.model.instruction import Flow


def arm(name: str) -> str:
    return f".arm\n.global {name}\n.type {name}, %function\n{name}:\n"


def thumb(name: str) -> str:
    return f".thumb\n.global {name}\n.type {name}, %function\n.thumb_func\n{name}:\n"


def test_returns_calls_and_tail_calls(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "arm",
        arm("f")
        + """
        push {r4, lr}
        cmp r0, #0
a:      popeq {r4, pc}
b:      blne g
c:      mov lr, pc
        bx r4
d:      pop {r4, lr}
        b h
        """
        + arm("g")
        + "cmp r0, #0\nga: moveq pc, lr\ngb: bx lr\n"
        + arm("h")
        + "str lr, [sp, #-4]!\nldr pc, [sp], #4\n",
    )
    graph = program.graph("f")
    f, g, h = (program.function(graph, name) for name in "fgh")
    # The two instructions have opposite conditions: one of them has an effect.
    assert program.blocks(f, f.returns) == {"a"}
    assert ("a", "call", "g") not in program.calls(f)
    assert ("d", "tail", "h") in program.calls(f)
    assert [o.kind for o in f.open] == [OpenKind.CALL]
    assert program.blocks(g, g.returns) == {"ga", "gb"}
    assert len(h.returns) == 1


def test_conditions_that_are_each_others_inverse(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "arm",
        arm("f")
        + "cmp r0, #0\nstreq r1, [r0]\nldrne r2, [r0]\nstreq r1, [r0, #4]\naddne r2, #1\nbx lr\n",
    )
    f = program.function(program.graph("f"), "f")
    rows = program.table.instructions
    assert {
        tuple(rows[n].text.split()[0] for n in range(b.first, b.last + 1) if n not in b.skipped)
        for b in f.blocks
        if b.skipped
    } == {("streq", "streq"), ("ldrne", "addne")}


def test_conditions_that_overlap_are_decided_independently(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "arm",
        arm("f")
        + "cmp r0, #0\nstreq r1, [r0]\nstrhi r1, [r0]\nstreq r1, [r0]\nstrhi r1, [r0]\n"
        + "strmi r2, [r0]\nbx lr\n",
    )
    f = program.function(program.graph("f"), "f")
    rows = program.table.instructions
    ways = set()

    def walk(number: int, way: str) -> None:
        block = f.blocks[number]
        for n in range(block.first, block.last + 1):
            if rows[n].conditional:
                way += "-" if n in block.skipped else "x"
        if number in f.returns:
            ways.add(way)
        for edge in f.successors[number]:
            walk(edge.target, way)

    for entry in f.entries:
        walk(entry, "")
    assert ways == {e + h + e + h + m for e in "x-" for h in "x-" for m in "x-"}


def test_jump_tables(tmp_path: Path) -> None:
    for jump, table in (
        ("ldrls pc, [pc, r0, lsl #2]\nn: b out", ".word a, b, out"),
        ("addls pc, pc, r0, lsl #2\nn: b out", "b a\nb b\nb out"),
        (
            "bhi out\nldr r1, =t\nldr r1, [r1, r0, lsl #2]\nmov pc, r1\n.pool\nt: .word a, b, out",
            "",
        ),
    ):
        program = built(
            tmp_path,
            "arm",
            arm("f") + f"cmp r0, #2\n{jump}\n{table}\na: nop\nb: nop\nout: bx lr\n",
        )
        f = program.function(program.graph("f"), "f")
        assert not f.open, jump
        rows = program.table.instructions
        reached = {rows[n].address for b in f.blocks for n in range(b.first, b.last + 1)}
        assert {program.at(goal) for goal in ("a", "b", "out")} <= reached, jump
        if jump.startswith(("ldrls", "addls")):
            assert program.at("n") in reached


def test_an_index_that_is_masked_by_a_register(tmp_path: Path) -> None:
    masked = {
        "mov r3, #3\nand r3, r0, r3\n": "abcd",
        "mov r3, #3\nmov r2, #1\nbic r3, r3, r2\n": "c",
        "mov r3, #3\nmov r3, r3, lsr r1\n": "abcd",
        "bic r3, r0, #0xfe\nbic r3, r3, #0xff00\n": "",
        "mvn r3, #0\nbic r3, r3, #0xfc\nbic r3, r3, #0xff00\nbic r3, r3, #0xff0000\n"
        "bic r3, r3, #0xff000000\nand r3, r0, r3\n": "abcd",
        "and r3, r0, r1\n": "",
        "mov r2, #3\nand r3, r0, r2, lsl r1\n": "",
        "mov r3, r0, lsr r1\n": "",
    }
    for text, goals in masked.items():
        program = built(
            tmp_path,
            "arm",
            arm("f")
            + text
            + "ldr r2, =t\njump: ldr pc, [r2, r3, lsl #2]\n"
            + "a: nop\nb: nop\nc: nop\nd: bx lr\n.pool\nt: .word a, b, c, d\n",
        )
        f = program.function(program.graph("f"), "f")
        assert bool(f.open) == (not goals), text
        assert {goal for _, goal in program.goals(f, "jump")} == {*goals}, text


def test_exception_returns(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "arm",
        arm("f")
        + "sub lr, lr, #4\npush {r0, lr}\nldmfd sp!, {r0, pc}^\n"
        + arm("g")
        + "subs pc, lr, #4\n"
        + arm("h")
        + "bx lr\n"
        + arm("odd")
        + "add lr, lr, #4\nbx lr\n",
    )
    graph = program.graph("f", "g", "h", "odd")
    returns = {n: program.function(graph, n).exception_return for n in ("f", "g", "h", "odd")}
    assert returns == {"f": True, "g": True, "h": False, "odd": False}
    assert program.function(graph, "odd").open[0].kind is OpenKind.JUMP
    assert not program.function(graph, "odd").returns


def test_interworking(tmp_path: Path) -> None:
    """Veneers of the linker, returns by ``pop {rN}; bx rN``, and calls by a register."""
    program = built(
        tmp_path,
        "thumb",
        thumb("f")
        + """
        push {r4, lr}
        bl armed
fb:     bl via
fc:     pop {r4}
        pop {r1}
        bx r1
via:    bx r3
        """
        + arm("armed")
        + "push {lr}\nbl thumbed\nab: pop {lr}\nbx lr\n"
        + thumb("thumbed")
        + "push {r0, lr}\nadd sp, #4\npop {r2}\nbx r2\n"
        + thumb("wrong")
        + "push {r0, lr}\npop {r2}\nadd sp, #4\nbx r2\n",
    )
    graph = program.graph("f", "wrong")
    f = program.function(graph, "f")
    assert not f.open
    assert len(f.returns) == 1
    assert len(f.transfers) == 2
    names = {found.name for found in graph.functions.values()}
    assert {"armed", "thumbed", "__armed_from_thumb", "__thumbed_from_arm"} <= names
    thumbed = program.function(graph, "thumbed")
    assert len(thumbed.returns) == 1
    wrong = program.function(graph, "wrong")
    assert [o.kind for o in wrong.open] == [OpenKind.JUMP]
    assert not wrong.returns


def test_far_jumps_of_thumb_code(tmp_path: Path) -> None:
    """bl inside of a function jumps; where lr is returned to, control goes on behind it."""
    program = built(
        tmp_path,
        "thumb",
        thumb("f")
        + "push {lr}\ncmp r0, #0\nbne on\njump: bl far\non: movs r0, #1\nfar: pop {r3}\nbx r3\n"
        + ".size f, .-f\n"
        + thumb("g")
        + "push {r4, lr}\ncall: bl inner\nback: pop {r4}\npop {r3}\nbx r3\ninner: nop\nbx lr\n"
        + ".size g, .-g\n",
    )
    graph = program.graph("f", "g")
    f, g = program.function(graph, "f"), program.function(graph, "g")
    assert ("jump", "taken", "far") in program.edges(f)
    assert not f.transfers
    assert not f.open
    assert program.blocks(f, f.returns) == {"far"}
    assert {("g", "taken", "inner"), ("inner", "taken", "back")} == program.edges(g)
    assert program.blocks(g, g.returns) == {"back"}


def test_switches_of_thumb_code(tmp_path: Path) -> None:
    """libgcc's helpers return through the table behind the call."""
    for name, table in (
        ("uqi", ".byte (a-t)/2, (b-t)/2, (out-t)/2, 9"),
        ("sqi", ".byte (a-t)/2, (b-t)/2, (out-t)/2, 9"),
        ("uhi", ".short (a-t)/2, (b-t)/2, (out-t)/2"),
        ("shi", ".short (a-t)/2, (b-t)/2, (out-t)/2"),
        ("si", ".align 2\nt4: .word a-t4, b-t4, out-t4"),
    ):
        program = built(
            tmp_path,
            "v6m",
            ".global f\n.type f, %function\n.thumb_func\nf: push {r4, lr}\ncmp r0, #2\nbhi out\n"
            f"case: bl __gnu_thumb1_case_{name}\nt: {table}\n.align 1\n"
            "a: nop\nb: nop\nout: pop {r4, pc}\n",
            more=["-lgcc"],
        )
        graph = program.graph("f")
        f = program.function(graph, "f")
        assert not f.open, name
        assert program.goals(f, "case") == {("returned", goal) for goal in ("a", "b", "out")}
        assert program.calls(f) == {("case", "call", f"__gnu_thumb1_case_{name}")}


@pytest.mark.parametrize("target", ["v6m", "thumb"])
@pytest.mark.parametrize("name", ["uqi", "sqi", "uhi", "shi", "si"])
def test_what_the_helpers_for_switches_keep(tmp_path: Path, target: str, name: str) -> None:
    """The mask of the index lives in r1 while the loop goes through the helper; and libgcc's code
    indeed saves what it uses."""
    table = {
        "qi": ".byte (a-t)/2, (b-t)/2, (out-t)/2, (a-t)/2",
        "hi": ".short (a-t)/2, (b-t)/2, (out-t)/2, (a-t)/2",
        "si": ".align 2\nt4: .word a-t4, b-t4, out-t4, a-t4",
    }[name[-2:]]
    program = built(
        tmp_path,
        target,
        ".thumb\n.global f\n.type f, %function\n.thumb_func\n"
        "f: push {r4, r5, r6, lr}\nmovs r5, r0\nmovs r1, #3\n"
        "loop: movs r0, r5\nands r0, r1\n"
        f"case: bl __gnu_thumb1_case_{name}\nt: {table}\n.align 1\n"
        "a: adds r5, #1\nb loop\nb: adds r5, #2\nb loop\n"
        "out: pop {r4, r5, r6}\npop {r1}\nbx r1\n",
        more=["-lgcc"],
    )
    f = program.function(program.graph("f"), "f")
    assert not f.open
    assert program.goals(f, "case") == {("returned", goal) for goal in ("a", "b", "out")}
    rows = program.table.instructions
    begin = program.at(f"__gnu_thumb1_case_{name}")
    first = next(n for n, row in enumerate(rows) if row.address == begin)
    last = next(n for n in range(first, len(rows)) if rows[n].flow is not Flow.NEXT)
    names = program.table.registers.names
    sp, lr, r0, r1 = (1 << names.index(name) for name in ("sp", "lr", "r0", "r1"))
    save, restore = rows[first], rows[last - 1]
    assert save.text.startswith("push")
    assert restore.text == save.text.replace("push", "pop")
    changed = 0
    for row in rows[first : last + 1]:
        changed |= row.defs
    saved = restore.defs & (r0 | r1)
    assert changed & 0x7FFF & ~(saved | sp | lr) == 0


def test_a_vector_that_may_be_rewritten_is_no_constant(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "arm",
        arm("f")
        + "ldr pc, 1f\n"
        + arm("g")
        + "ldr pc, 2f\n1: .word h\n.type vector, %object\n.size vector, 4\nvector:\n2: .word h\n"
        + arm("h")
        + "bx lr\n",
    )
    graph = program.graph("f", "g")
    assert {goal for _, _, goal in program.calls(program.function(graph, "f"))} == {"h"}
    assert [o.kind for o in program.function(graph, "g").open] == [OpenKind.JUMP]
