"""Graphs of hand-written RISC-V programs, expected values by hand."""

from __future__ import annotations

from pathlib import Path

from flow_programs import built

from wcetchar.model.flow import OpenKind
from wcetchar.static.flow.graph import program_graph


def function(name: str) -> str:
    return f".global {name}\n.type {name}, @function\n{name}:\n"


def test_branches_calls_and_tail_calls(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "riscv",
        function("f")
        + """
        addi sp, sp, -16
        sw ra, 12(sp)
        beqz a0, out
        call g
back:   bltu a0, a1, out
        auipc ra, 0
far:    jalr ra, %pcrel_lo(1f)(ra)
out:    lw ra, 12(sp)
        addi sp, sp, 16
        tail g
1:      nop
        """.replace("auipc ra, 0\nfar:    jalr ra, %pcrel_lo(1f)(ra)", "call h")
        .replace("        auipc ra, 0\n", "2:      auipc ra, %pcrel_hi(h)\n")
        .replace("%pcrel_lo(1f)", "%pcrel_lo(2b)")
        + function("g")
        + "ret\n"
        + function("h")
        + "bnez a0, g\nhn: ret\n",
    )
    graph = program.graph("f")
    f, h = program.function(graph, "f"), program.function(graph, "h")
    assert {(kind, goal) for _, kind, goal in program.calls(f)} == {
        ("call", "g"),
        ("call", "h"),
        ("tail", "g"),
    }
    assert not f.open
    assert not f.returns
    assert ("back", "taken", "out") in program.edges(f)
    assert program.calls(h) == {("h", "tail", "g")}
    assert program.edges(h) == {("h!", "next", "hn")}


def test_save_and_restore_routines(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "riscv",
        function("f")
        + "jal t0, __riscv_save_0\nn: call g\nb: j __riscv_restore_0\n"
        + function("g")
        + "ret\n"
        + function("bad")
        + "jal ra, __riscv_save_0\nbn: ret\n"
        + function("worse")
        + "jal t0, g\nwn: ret\n",
        more=["-lgcc"],
    )
    graph = program.graph("f", "bad", "worse")
    f = program.function(graph, "f")
    assert not f.open
    assert ("f", "returned", "n") in program.edges(f)
    assert {
        (k, goal.replace("_3", "_0").replace("_2", "_0").replace("_1", "_0"))
        for _, k, goal in program.calls(f)
    } >= {("call", "__riscv_save_0"), ("tail", "__riscv_restore_0")}
    restore = next(one for one in graph.functions.values() if one.name.startswith("__riscv_res"))
    assert not restore.open
    for name in ("bad", "worse"):
        # What is called comes back with another link register; then ra is no return address either.
        kinds = [o.kind for o in program.function(graph, name).open]
        assert OpenKind.CALL in kinds, name
        assert set(kinds) <= {OpenKind.CALL, OpenKind.JUMP}, name


def test_jump_tables(tmp_path: Path) -> None:
    absolute = "slli a0, a0, 2\nadd a0, a0, a5\nlw a0, 0(a0)\njump: jr a0\n"
    relative = "slli a0, a0, 2\nadd a0, a0, a5\nlw a0, 0(a0)\nadd a0, a0, a5\njump: jr a0\n"
    table = ".section .rodata\n.align 2\nt: .word a{x}, b{x}, out{x}, 1234\n.text\n"
    for guard in (
        "li a4, 2\nbltu a4, a0, out\n",
        "li a4, 3\nbgeu a0, a4, out\n",
        "andi a0, a0, 1\n",
        "li a4, 3\nbltu a0, a4, 5f\nj out\n5:\n",
    ):
        for base in ("lui a5, %hi(t)\naddi a5, a5, %lo(t)\n", "la a5, t\n"):
            for jump, x in ((absolute, ""), (relative, "-t")):
                source = function("f") + guard + base + jump + "a: nop\nb: nop\nout: ret\n"
                if x:  # the assembler cannot subtract across sections: keep the table in .text
                    source += ".align 2\nt: .word a-t, b-t, out-t, 1235\n"
                else:
                    source += table.format(x=x)
                program = built(tmp_path, "riscv", source)
                f = program.function(program.graph("f"), "f")
                assert not f.open, (guard, base, x)
                ends = {"a", "b"} if "andi" in guard else {"a", "b", "out"}
                assert program.goals(f, "jump") == {("taken", goal) for goal in ends}


def test_an_index_that_is_masked_where_it_is_already_an_offset(tmp_path: Path) -> None:
    """As GCC 12 has it for ``table[x >> 1 & 3]()``."""
    program = built(
        tmp_path,
        "riscv",
        function("f")
        + "slli a0, a0, 1\nandi a0, a0, 12\nla a5, t\nadd a0, a0, a5\nlw a0, 0(a0)\njump: jr a0\n"
        + "a: nop\nb: nop\nc: nop\nout: ret\n"
        + ".section .rodata\n.align 2\nt: .word a, b, c, out\n",
    )
    f = program.function(program.graph("f"), "f")
    assert not f.open
    assert program.goals(f, "jump") == {("taken", goal) for goal in ("a", "b", "c", "out")}


def test_an_index_that_is_masked_by_a_register(tmp_path: Path) -> None:
    masked = {
        "li a4, 3\nand a0, a0, a4\n": "abcd",
        "li a4, 3\nand a4, a4, a0\nmv a0, a4\n": "abcd",
        "li a4, 2\nsrl a0, a4, a0\n": "abc",
        "and a0, a0, a1\n": "",
        "srl a0, a0, a1\n": "",
    }
    for text, goals in masked.items():
        program = built(
            tmp_path,
            "riscv",
            function("f")
            + text
            + "slli a0, a0, 2\nla a5, t\nadd a0, a0, a5\nlw a0, 0(a0)\njump: jr a0\n"
            + "a: nop\nb: nop\nc: nop\nd: ret\n"
            + ".section .rodata\n.align 2\nt: .word a, b, c, d\n",
        )
        f = program.function(program.graph("f"), "f")
        assert bool(f.open) == (not goals), text
        assert {goal for _, goal in program.goals(f, "jump")} == {*goals}, text


def test_a_table_that_may_change_or_has_no_guard_is_open(tmp_path: Path) -> None:
    for guard, section in (
        ("li a4, 2\nbltu a4, a0, out\n", ".data"),
        ("", ".rodata"),
        ("li a4, 2\nblt a4, a0, out\n", ".rodata"),
    ):
        program = built(
            tmp_path,
            "riscv",
            function("f")
            + guard
            + "la a5, t\nslli a0, a0, 2\nadd a0, a0, a5\nlw a0, 0(a0)\nj1: jr a0\nout: ret\n"
            + f".section {section}\n.align 2\nt: .word out, out, out\n",
        )
        f = program.function(program.graph("f"), "f")
        assert [o.address for o in f.open] == [program.at("j1")], (guard, section)


def test_traps(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "riscv",
        ".global trap\ntrap: csrr t0, mcause\nbltz t0, i\ne: ecall\nen: j done\ni: nop\n"
        "done: mret\n.global s\ns: ebreak\nsn: nop\n",
    )
    graph = program.graph("trap", "s")
    trap = program.function(graph, "trap")
    assert trap.exception_return
    assert ("e", "next", "en") in program.edges(trap)
    assert program.blocks(trap, trap.returns) == {"done"}
    s = program.function(graph, "s")
    assert program.blocks(s, s.stops) == {"s"}


def test_a_function_that_switches_threads_returns_to_its_caller(tmp_path: Path) -> None:
    """What it loads is what its thread put away; not so where it returns elsewhere than to that,
    and not in a function that loads the like without a switch."""
    program = built(
        tmp_path,
        "riscv",
        function("f")
        + "call switch\nback: nop\n1: j 1b\n"
        + function("switch")
        + "sw ra, 0(a1)\nsw sp, 4(a1)\nload: lw sp, 4(a0)\nlw ra, 0(a0)\nlast: ret\n"
        + function("g")
        + "call past\ncall other\n2: j 2b\n"
        + function("past")
        + "lw sp, 4(a0)\naddi ra, ra, 4\nret\n"
        + function("other")
        + "lw ra, 0(a0)\nret\n",
    )
    loads = [program.at("load"), program.at("past")]
    graph = program_graph(
        program.image, program.table, [program.at("f"), program.at("g")], switches=loads
    )
    switch = program.function(graph, "switch")
    assert not switch.open
    assert len(switch.returns) == 1
    assert ("f", "returned", "back") in program.edges(program.function(graph, "f"))
    for name in ("past", "other"):
        assert [end.kind for end in program.function(graph, name).open] == [OpenKind.JUMP]
    (end,) = program.function(program.graph("f"), "switch").open  # were it no switch
    assert end.address == program.at("last")
