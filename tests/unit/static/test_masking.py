"""Masks along all paths of hand-written programs: which instructions are held off, by label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flow_programs import Program as Assembled
from flow_programs import analysed_in, built

from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import Blocking
from wcetchar.model.masks import MaskState
from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import OUTSIDE
from wcetchar.static import expand as expanding
from wcetchar.static.expand import Cuts, Expanded, expand
from wcetchar.static.masking.follow import Masking
from wcetchar.static.masking.forms import forms
from wcetchar.static.proofs import analysed
from wcetchar.static.replay import Astray, Replay
from wcetchar.static.split import split

FREE, ALL = Blocking(), Blocking(interrupts=True)
UNKNOWN = Blocking(unknown=True)


def held(
    made: Assembled,
    words: Mapping[str, int] | None = None,
    *,
    lock: tuple[str, ...] = (),
    unlock: tuple[str, ...] = (),
    switches: tuple[str, ...] = (),
    unnoticed: bool = False,
    depth: int | None = None,
) -> tuple[dict[str, set[Blocking]], Expanded]:
    """By label of an instruction: every form that it is executed under on some path from ``f``."""
    rows = made.table.instructions
    index = {row.address: number for number, row in enumerate(rows)}
    whole = made.graph("f")
    asks = [index[made.at(name)] for name in switches]
    values = analysed(whole, made.image, made.table, asks)
    graph = split(whole, {*asks, *(n for n, row in enumerate(rows) if row.masks)})
    program = analysed_in(made, graph)
    masking = Masking(
        program,
        values,
        [index[made.at(name)] for name in lock],
        [index[made.at(name)] for name in unlock],
        asks,
    )
    known = {made.at(name): value for name, value in (words or {}).items()}
    begin = masking.begin(made.at("f"), MaskState(), 0, False, known)
    found = expand(program, made.at("f"), masking=masking, holds=[begin], depth=depth)
    exceptions = made.table.exceptions
    of = (
        forms(found, exceptions)
        if unnoticed
        else [masking.blocking(step.hold) for step in found.steps]
    )
    result: dict[str, set[Blocking]] = defaultdict(set)
    for step, form in zip(found.steps, of, strict=True):
        block = found.function_of(step.context).blocks[step.block]
        for row in rows[block.first : block.last + 1]:
            label = made.label(row.address)
            if not label.startswith("0x"):
                result[label].add(form)
    return dict(result), found


SAVED = """
.global f
.type f, %function
f:      push {r4, lr}
        mrs r4, basepri
        mov r3, #0x40
        msr basepri, r3
in:     bl g
back:   str r4, [sp, #-8]!
        movs r4, #0
        ldr r1, [sp], #8
        msr basepri, r1
out:    pop {r4, pc}
.global g
.type g, %function
g:      push {r4, lr}
        mrs r4, basepri
        movs r0, #0x20
        msr basepri, r0
deep:   msr basepri, r4
again:  pop {r4, pc}
"""


def test_a_mask_that_is_saved_comes_back(tmp_path: Path) -> None:
    """Through registers that a call keeps, and through the stack."""
    found, _ = held(built(tmp_path, "v7m", SAVED))
    at = {
        "f": FREE,
        "in": Blocking(priority=0x40),
        "g": Blocking(priority=0x40),
        "deep": Blocking(priority=0x20),
        "again": Blocking(priority=0x40),
        "back": Blocking(priority=0x40),
        "out": FREE,
    }
    assert found == {label: {form} for label, form in at.items()}


OVERWRITTEN = """
.global f
.type f, %function
f:      push {r4, lr}
        sub sp, #16
        mrs r1, primask
        str r1, [sp, #8]
        cpsid i
        and r0, r0, #3
        movs r2, #1
        {}
        ldr r3, [sp, #8]
        msr primask, r3
maybe:  nop
        movs r2, #0
        msr primask, r2
end:    add sp, #16
        pop {r4, pc}
.global g
.type g, %function
g:      ldr r0, [sp, #0]
        movs r1, #1
        str r1, [r0]
        bx lr
"""


@pytest.mark.parametrize(
    ("between", "form"),
    [
        ("str r2, [sp, r0, lsl #2]", UNKNOWN),  # an array that it may be an element of
        ("str r2, [sp, #0]", FREE),
        # Its address is on the stack, where the fifth argument is.
        ("add r4, sp, #8\nstr r4, [sp, #0]\nmovs r4, #0\nmovs r0, #0\nbl g", UNKNOWN),
    ],
)
def test_a_mask_that_may_be_written_over_on_the_stack(
    tmp_path: Path, between: str, form: Blocking
) -> None:
    made = built(tmp_path, "v7m", OVERWRITTEN.replace("{}", between))
    found, _ = held(made)
    assert found["maybe"] == {form}
    assert found["end"] == {FREE}


def test_a_mask_that_is_not_followed_is_not_known(tmp_path: Path) -> None:
    source = """
    .global f
    .type f, %function
    f:      msr basepri, r0
    what:   movs r0, #0
            msr basepri, r0
    free:   bx lr
    """
    found, _ = held(built(tmp_path, "v7m", source))
    assert found == {"f": {FREE}, "what": {UNKNOWN}, "free": {FREE}}


NESTED = """
.global f
.type f, @function
f:      addi sp, sp, -16
        sw ra, 12(sp)
        jal enter
        jal enter
two:    jal leave
one:    jal leave
zero:   lw ra, 12(sp)
        addi sp, sp, 16
        ret
.global enter
.type enter, @function
enter:  csrci mstatus, 8
        la t0, nesting
        lw t1, 0(t0)
        addi t1, t1, 1
        sw t1, 0(t0)
        ret
.global leave
.type leave, @function
leave:  la t0, nesting
        lw t1, 0(t0)
        addi t1, t1, -1
        sw t1, 0(t0)
        bnez t1, stays
        csrsi mstatus, 8
stays:  ret
.data
.global nesting
.type nesting, @object
.size nesting, 4
nesting: .word 0
"""


def test_critical_sections_that_nest(tmp_path: Path) -> None:
    """With what the counter holds at entry the branch is decided; without, both ways are gone."""
    made = built(tmp_path, "riscv", NESTED)
    found, graph = held(made, {"nesting": 0})
    assert (found["two"], found["one"], found["zero"]) == ({ALL}, {ALL}, {FREE})
    without, all_ways = held(made)
    assert (without["one"], without["zero"]) == ({ALL, FREE}, {ALL, FREE})
    assert len(all_ways.steps) > len(graph.steps)
    # Locked once before: the last one that is left here is not the last one.
    found, _ = held(made, {"nesting": 1})
    assert found["zero"] == {ALL}


@pytest.mark.parametrize(
    ("store", "known"),
    [("sw t1, 0(t0)", True), ("sw t1, 4(t0)", True), ("sh t1, 2(t0)", False)],
)
def test_stores_to_a_variable_that_is_followed(tmp_path: Path, store: str, known: bool) -> None:
    """``nesting`` is 0 and has 1 stored, or what is behind it, or a half of it."""
    source = f"""
    .global f
    .type f, @function
    f:      csrci mstatus, 8
            la t0, nesting
            li t1, 1
            {store}
            lw t2, 0(t0)
            bnez t2, no
    yes:    nop
    no:     csrsi mstatus, 8
            ret
    .data
    .global nesting
    .type nesting, @object
    .size nesting, 4
    nesting: .word 0, 0
    """
    found, _ = held(built(tmp_path, "riscv", source), {"nesting": 0})
    assert ("yes" in found) == (not known or store.endswith(" 4(t0)"))
    assert "no" in found


def test_a_store_that_may_hit_it(tmp_path: Path) -> None:
    """One of 16 words around it: then nothing is known of it."""
    source = """
    .global f
    .type f, @function
    f:      la t0, around
            andi a0, a0, 60
            add t0, t0, a0
            sw zero, 0(t0)
            la t0, nesting
            lw t2, 0(t0)
            bnez t2, no
    yes:    nop
    no:     ret
    .data
    around: .word 0, 0, 0, 0
    .global nesting
    .type nesting, @object
    .size nesting, 4
    nesting: .word 0
            .fill 16, 4, 0
    """
    made = built(tmp_path, "riscv", source)
    assert "yes" in held(made, {"nesting": 1})[0]
    apart = source.replace("andi a0, a0, 60", "andi a0, a0, 12")
    (tmp_path / "apart").mkdir()
    assert "yes" not in held(built(tmp_path / "apart", "riscv", apart), {"nesting": 1})[0]


LOCKS = """
.global f
.type f, %function
f:      push {r3, lr}
        bl lock
        bl lock
two:    bl unlock
one:    bl unlock
none:   pop {r3, pc}
.global lock
.type lock, %function
lock:   bx lr
.global unlock
.type unlock, %function
unlock: bx lr
"""


def test_locks_of_the_scheduler_are_over_when_the_last_unlocking_returns(tmp_path: Path) -> None:
    locked = Blocking(preemption=True)
    made = built(tmp_path, "v7m", LOCKS)
    found, _ = held(made, lock=("lock",), unlock=("unlock",))
    assert found == {
        "f": {FREE},
        "lock": {locked},
        "two": {locked},
        "unlock": {locked},
        "one": {locked},
        "none": {FREE},
    }


@pytest.mark.parametrize(("between", "joined"), [(1, True), (2, False), (5, False)])
def test_what_a_core_may_not_notice(tmp_path: Path, between: int, joined: bool) -> None:
    """Interrupts are let in for so many instructions, and the one that masks again."""
    source = f"""
    .global f
    .type f, %function
    f:      cpsid i
    first:  cpsie i
    gap:    .rept {between}
            nop
            .endr
    last:   cpsid i
    second: cpsie i
    end:    bx lr
    """
    made = built(tmp_path, "v7m", source)
    assert made.table.exceptions.unnoticed == 1
    plain, _ = held(made)
    assert (plain["gap"], plain["last"]) == ({FREE}, {FREE})
    found, _ = held(made, unnoticed=True)
    assert found["gap"] == found["last"] == {ALL if joined else FREE}
    assert found["end"] == {FREE}


NESTING = """
    .data
    .global nesting
    .type nesting, @object
    .size nesting, 4
    nesting: .word 0
"""


def test_too_much_to_be_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter that a loop counts up: beyond some values it is not known, and the path is
    masked for all that is known."""
    source = (
        """
    .global f
    .type f, @function
    f:      csrci mstatus, 8
            la t0, nesting
    loop:   lw t1, 0(t0)
            addi t1, t1, 1
            sw t1, 0(t0)
            addi a0, a0, -1
            bnez a0, loop
            csrsi mstatus, 8
    end:    ret
    """
        + NESTING
    )
    made = built(tmp_path, "riscv", source)
    monkeypatch.setattr(expanding, "MOST_HOLDS", 4)
    found, graph = held(made, {"nesting": 0})
    assert len(graph.steps) < 40
    assert any(form.unknown for form in found["loop"])
    assert FREE in found["end"]
    assert not any(form.preemption for form in found["loop"])  # nothing can lock


def test_a_lock_that_is_not_counted_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind what was not told apart masks are known again where they are written; whether the
    scheduler is locked stays unknown, and a trace where it is not keeps to that."""
    source = (
        """
    .global f
    .type f, @function
    f:      la t0, nesting
    loop:   lw t1, 0(t0)
            addi t1, t1, 1
            sw t1, 0(t0)
            addi a0, a0, -1
            bnez a0, loop
            sw zero, 0(t0)
            csrci mstatus, 8
    in:     csrsi mstatus, 8
    end:    ret
    .global lock
    .type lock, @function
    lock:   ret
    """
        + NESTING
    )
    made = built(tmp_path, "riscv", source)
    monkeypatch.setattr(expanding, "MOST_HOLDS", 2)
    found, graph = held(made, {"nesting": 0}, lock=("lock",))
    locked = replace(ALL, preemption=True)
    assert found["in"] == {ALL, locked}
    index = {row.address: n for n, row in enumerate(made.table.instructions)}
    turn = [*range(index[made.at("loop")], index[made.at("loop")] + 5)]
    inside = index[made.at("in")]
    executed = [*range(turn[0]), *turn * 20, *range(turn[-1] + 1, inside + 2)]
    taken = [n == turn[-1] for n in executed]
    taken[-5], taken[-1] = False, True
    forms = [n == inside for n in executed]

    def trail(*held_off: Blocking) -> list[int] | Astray:
        path = ObservedPath(
            "f",
            (),
            np.array(executed),
            np.array(taken),
            np.zeros(len(executed), dtype=bool),
            AccessVector(),
            blocking=np.array(forms, dtype=int),
            forms=held_off,
        )
        return Replay(graph).trail(path)

    assert not isinstance(trail(FREE, ALL), Astray)
    assert not isinstance(trail(FREE, locked), Astray)
    assert isinstance(trail(FREE, FREE), Astray)
    assert isinstance(trail(ALL, ALL), Astray)


def test_recursion_in_contexts_that_share_their_callers(tmp_path: Path) -> None:
    """As deep as it may go, what each call saved is not told apart for ever."""
    source = """
.global f
.type f, %function
f:      push {r4, lr}
        mrs r4, primask
        cpsid i
in:     cmp r0, #0
        beq out
        subs r0, r0, #1
        bl f
        bl f
out:    msr primask, r4
back:   pop {r4, pc}
"""
    found, graph = held(built(tmp_path, "v7m", source), depth=0)
    assert {FREE, ALL} <= found["f"]
    assert ALL in found["in"]
    assert {FREE, ALL} <= found["back"]
    assert len(graph.steps) < 10_000


def parts(made: Assembled, ask: str) -> tuple[set[str], set[str]]:
    """Labels of what the part until the switch ends with, and what the one behind begins with."""
    rows = made.table.instructions
    index = {row.address: number for number, row in enumerate(rows)}
    whole = made.graph("f")
    masks = {n for n, row in enumerate(rows) if row.masks}
    asks = index[made.at(ask)]
    graph = split(whole, {asks, *masks})
    program = analysed_in(made, graph)
    masking = Masking(program, analysed(whole, made.image, made.table), requests=[asks])
    begin = masking.begin(made.at("f"), MaskState(), 0, False, {})
    where = frozenset({asks, *masks})
    behind = frozenset(n + 1 for n in where)
    result = []
    for cuts in (Cuts(ends=where, asked=True), Cuts(begins=behind, asked=True)):
        found = expand(program, made.at("f"), cuts, masking=masking, holds=[begin])
        ends = set()
        for link in found.links:
            number = link.source if cuts.ends else link.target
            if OUTSIDE in (link.source, link.target) and number != OUTSIDE:
                step = found.steps[number]
                block = found.function_of(step.context).blocks[step.block]
                ends.add(made.label(rows[block.last if cuts.ends else block.first].address))
        result.append(ends)
    return result[0], result[1]


SWITCH = """
.global f
.type f, %function
f:      push {{r4, lr}}
        ldr r0, =0xe000ed04
        movs r1, #1
        bl first
        {mask}
ask:    str r1, [r0]
next:   nop
        nop
        nop
let:    cpsie i
after:  {between}
mask:   cpsid i
        nop
again:  cpsie i
last:   pop {{r4, pc}}
.global first
.type first, %function
first:  cpsid i
        cpsie i
        bx lr
.pool
"""


@pytest.mark.parametrize(
    ("mask", "end", "begin"), [("cpsid i", "let", "after"), ("nop", "ask", "next")]
)
def test_a_switch_happens_when_it_is_asked_for_and_not_masked(
    tmp_path: Path, mask: str, end: str, begin: str
) -> None:
    """And not where interrupts are let in before it was asked for, or once it has happened."""
    made = built(tmp_path, "v7m", SWITCH.format(mask=mask, between="nop\n nop"))
    assert parts(made, "ask") == ({end}, {begin})


def test_a_switch_waits_on_where_a_core_may_not_notice_that_it_is_let_in(tmp_path: Path) -> None:
    """With one instruction less between letting interrupts in and masking them again, and where
    they are masked right behind the request."""
    made = built(tmp_path, "v7m", SWITCH.format(mask="cpsid i", between="nop"))
    assert parts(made, "ask") == ({"let", "again"}, {"after", "last"})
    source = SWITCH.format(mask="nop", between="nop\n nop").replace("next:   nop", "next: cpsid i")
    made = built(tmp_path, "v7m", source)
    assert parts(made, "ask") == ({"ask", "let"}, {"next", "after"})


def test_a_supervisor_call_switches_at_once(tmp_path: Path) -> None:
    source = """
    .global f
    .type f, @function
    f:      csrci mstatus, 8
    ask:    ecall
    next:   nop
            csrsi mstatus, 8
            ret
    """
    assert parts(built(tmp_path, "riscv", source), "ask") == ({"ask"}, {"next"})


ACROSS_A_SWITCH = """
.global f
.type f, @function
f:      csrci mstatus, 8
        la a5, nesting
        lw a4, 0(a5)
        addi a3, a4, 1
        sw a3, 0(a5)
        beqz a0, leave
ask:    ecall
        lw a4, 0(a5)
        addi a4, a4, -1
leave:  sw a4, 0(a5)
        bnez a4, out
let:    csrsi mstatus, 8
out:    ret
.section .bss
nesting: .space 4
"""


@pytest.mark.parametrize("switches", [("ask",), ()])
def test_registers_stay_where_a_supervisor_call_switches_threads(
    tmp_path: Path, switches: tuple[str, ...]
) -> None:
    """The critical section of RISC-V, left with the count's address in a register from before it.
    Of other supervisor calls nothing is said: then the store may go anywhere but to the count,
    which is taken to be as high as it was."""
    found, _ = held(built(tmp_path, "riscv", ACROSS_A_SWITCH), {"nesting": 0}, switches=switches)
    assert found["let"] == {ALL}
    assert found["out"] == ({FREE} if switches else {FREE, ALL})
