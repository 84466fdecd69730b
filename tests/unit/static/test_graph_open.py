"""Where control goes that nobody shows: an open end, and never fewer ways than there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import analysed_in, built

from wcetchar.model.flow import OpenKind
from wcetchar.static.callers import Callers
from wcetchar.static.expand import expand
from wcetchar.static.proofs import analysed, proved_bounds


def thumb(name: str) -> str:
    return f".global {name}\n.type {name}, %function\n.thumb_func\n{name}:\n"


def riscv(name: str) -> str:
    return f".global {name}\n.type {name}, @function\n{name}:\n"


TABLE = "tbb [pc, r3]\ntable: .byte (zero - table)/2, (one - table)/2\n.balign 2\n"
ARMS = "zero: pop {r0, r1, r4, pc}\none: pop {r0, r1, r4, pc}\n"


@pytest.mark.parametrize("calls", [True, False])
def test_an_argument_in_memory_may_change_where_its_address_is_known(
    calls: bool, tmp_path: Path
) -> None:
    """The index was compared before ``g``, which is handed its address, was called."""
    between = "mov r0, sp\nbl g\n" if calls else ""
    source = f"push {{r0, r1, r4, lr}}\ncmp r0, #1\nbhi zero\n{between}ldr r3, [sp]\n{TABLE}{ARMS}"
    program = built(tmp_path, "v7m", thumb("f") + source + thumb("g") + "bx lr\n")
    f = program.function(program.graph("f"), "f")
    assert [end.kind for end in f.open] == ([OpenKind.JUMP] if calls else [])


def test_an_argument_in_memory_may_change_by_a_store_through_a_pointer(tmp_path: Path) -> None:
    source = f"push {{r0, r1, r4, lr}}\ncmp r0, #1\nbhi zero\nstr r1, [r2]\nldr r3, [sp]\n{TABLE}"
    program = built(tmp_path, "v7m", thumb("f") + source + ARMS)
    f = program.function(program.graph("f"), "f")
    assert [end.kind for end in f.open] == [OpenKind.JUMP]


def test_a_load_tells_what_the_next_one_finds(tmp_path: Path) -> None:
    """Behind a call nothing is known of the slot, but two loads of it find the same."""
    source = (
        f"push {{r0, r1, r4, lr}}\nbl g\nldr r3, [sp]\ncmp r3, #1\nbhi zero\nldr r3, [sp]\n{TABLE}"
    )
    program = built(tmp_path, "v7m", thumb("f") + source + ARMS + thumb("g") + "bx lr\n")
    f = program.function(program.graph("f"), "f")
    assert not f.open


def test_the_same_place_by_another_stack_pointer(tmp_path: Path) -> None:
    """A word under the realigned stack pointer is written over from the old one."""
    source = """
        mov r3, sp
        sub sp, sp, #16
        mov r2, sp
        bic r2, r2, #7
        mov sp, r2
        cmp r0, #1
        bhi out
        str r0, [sp, #4]
        str r1, [r3, #-12]
        ldr r0, [sp, #4]
        tbb [pc, r0]
table:  .byte (out - table)/2, (one - table)/2
one:    nop
out:    mov sp, r3
        bx lr
    """
    program = built(tmp_path, "v7m", thumb("f") + source)
    f = program.function(program.graph("f"), "f")
    assert [end.kind for end in f.open] == [OpenKind.JUMP]


@pytest.mark.parametrize(
    ("target", "last"),
    [
        ("v7m", "bl h"),
        ("v7m", "blx r3"),
        ("v7m", "it eq\nbleq h"),
        ("v7m", "svc 0"),
        ("riscv", "call h"),
        ("arm", "bleq h"),
    ],
)
def test_a_call_before_another_function(target: str, last: str, tmp_path: Path) -> None:
    """It comes back to where ``g`` begins: that both run one after the other is not followed."""
    function = riscv if target == "riscv" else thumb
    back = "ret\n" if target == "riscv" else "bx lr\n"
    if target == "arm":
        source = ".arm\n" + "".join(
            f".global {name}\n.type {name}, %function\n{name}: {code}\n"
            for name, code in (("f", f"{last}\n.size f, .-f"), ("g", back), ("h", back))
        )
    else:
        source = function("f") + f"{last}\n.size f, .-f\n" + function("g") + back
        source += function("h") + back
    program = built(tmp_path, target, source)
    f = program.function(program.graph("f"), "f")
    assert OpenKind.FALLS_OUT in [end.kind for end in f.open]


@pytest.mark.parametrize(
    ("target", "saves", "call", "restores"),
    [
        ("v7m", "push {r4, lr}", "bl h", "pop {r4, pc}"),
        ("v7m", "push {r4, lr}", "svc 0", "pop {r4, pc}"),
        ("riscv", "mv s0, ra", "jal h", "mv ra, s0\nret"),
        ("riscv", "mv s0, ra", "ecall", "mv ra, s0\nret"),
    ],
)
def test_a_call_before_a_label_of_assembly_code(
    target: str, saves: str, call: str, restores: str, tmp_path: Path
) -> None:
    """Assembly code that nobody gave a size goes on at a global label behind a call, which others
    enter as a function: Zephyr's ``_isr_wrapper`` does, at ``z_riscv_thread_start``."""
    function = riscv if target == "riscv" else thumb
    back = "ret\n" if target == "riscv" else "bx lr\n"
    source = function("f") + f"{saves}\ncall: {call}\n"
    source += function("g") + f"{restores}\n" + function("h") + back
    program = built(tmp_path, target, source)
    f = program.function(program.graph("f"), "f")
    assert not f.open
    assert any(to == "g" for _, _, to in program.edges(f))
    assert len(f.returns) == 1


@pytest.mark.parametrize(
    ("target", "set_it", "falls"),
    [("v7m", "movs r0, #40", "movs r0, #3"), ("riscv", "li a0, 40", "li a0, 3")],
)
def test_what_the_last_instruction_hands_over(
    target: str, set_it: str, falls: str, tmp_path: Path
) -> None:
    """Control falls through into the loop of ``g``: with 40, not with the 3 before it."""
    function = riscv if target == "riscv" else thumb
    loop = (
        "addi a0, a0, -1\nbnez a0, g\nret\n" if target == "riscv" else "subs r0, #1\nbne g\nbx lr\n"
    )
    made = built(tmp_path, target, function("f") + f"{falls}\n{set_it}\n" + function("g") + loop)
    graph = made.graph("f")
    values = analysed(graph, made.image, made.table)
    program = analysed_in(made, graph)
    callers = Callers(program, made.image, values, proved_bounds(values), {}, lambda *_: None)
    found = callers.bounds(callers.values(expand(program, made.at("f")), made.at("f")))
    assert not found


@pytest.mark.parametrize(
    ("target", "code"),
    [
        # The saved return address is written over.
        ("v7m", "push {r4, lr}\nldr r3, =g + 1\nstr r3, [sp, #4]\npop {r4, pc}\n.ltorg\n"),
        (
            "riscv",
            "addi sp, sp, -16\nla t0, g\nsw t0, 12(sp)\nlw ra, 12(sp)\naddi sp, sp, 16\nret\n",
        ),
        # It is an argument, or comes from a variable.
        ("v7m", "mov lr, r1\nbx lr\n"),
        ("v7m", "ldr lr, [r1]\nbx lr\n"),
        ("riscv", "mv ra, a1\nret\n"),
    ],
)
def test_a_return_to_elsewhere_is_none(target: str, code: str, tmp_path: Path) -> None:
    function = riscv if target == "riscv" else thumb
    loop = "g2: j g2\n" if target == "riscv" else "b .\n"
    program = built(tmp_path, target, function("f") + code + function("g") + loop)
    graph = program.graph("f")
    f = program.function(graph, "f")
    goes_on = {callee for transfer in f.transfers for callee in transfer.targets}
    assert not f.returns
    assert f.open or goes_on == {program.at("g")}


def test_a_call_within_the_size_of_a_function_is_no_far_jump(tmp_path: Path) -> None:
    """Armv6-M has no branch but bl that goes far; another function's label says that it calls."""
    source = """
        push {r4, lr}
        bl sub
back:   pop {r4, pc}
.global sub
.thumb_func
sub:    bx lr
.size f, . - f
    """
    program = built(tmp_path, "v6m", thumb("f") + source)
    f = program.function(program.graph("f"), "f")
    assert program.calls(f) == {("f", "call", "sub")}
    assert ("f", "returned", "back") in program.edges(f)


def test_an_index_is_not_forgotten_with_the_slot_that_it_came_from(tmp_path: Path) -> None:
    """The index is scaled outside of the loop that compares it. At first its argument's slot is
    known, until the call that is handed its address is looked at."""
    source = """
        push {r0, r1, r2, r4, r5, r6, r7, lr}
    outer:
        ldr r3, [sp]
        and r4, r3, #15
        subs r4, #1
        lsls r5, r4, #2
        ldr r6, =words
    inner:
        cmp r4, #1
        bhi skip
        ldr pc, [r6, r5]
    zero:
        nop
        b skip
    one:
        nop
    skip:
        mov r0, sp
        bl g
        subs r7, #1
        bne inner
        cmp r0, #0
        bne outer
        pop {r0, r1, r2, r4, r5, r6, r7, pc}
        .pool
        .balign 4
    words:
        .word zero + 1, one + 1, other + 1, other + 1, other + 1, other + 1, other + 1, other + 1
        .word other + 1, other + 1, other + 1, other + 1, other + 1, other + 1, other + 1, other + 1
        .size f, . - f
    """
    elsewhere = thumb("g") + "push {r4, lr}\nother: pop {r4, pc}\n.size g, . - g\n"
    program = built(tmp_path, "v7m", thumb("f") + source + elsewhere)
    f = program.function(program.graph("f"), "f")
    assert not f.open
    rows = program.table.instructions
    assert max(rows[block.last].address for block in f.blocks) < program.at("g")


def test_a_return_behind_a_write_of_the_mode_stays_one_when_targets_become_known(
    tmp_path: Path,
) -> None:
    """A function is looked at once more when its calls are known to return."""
    source = """
        push {r4, lr}
        mov r4, r0
        tst r0, #4
        beq last
        ldr r3, [r1]
        mov lr, pc
    call:
        bx r3
    last:
        mrs r2, cpsr
        msr cpsr_c, r2
        pop {r4, lr}
        bx lr
        .size f, . - f
    """
    program = built(
        tmp_path,
        "arm",
        riscv("f").replace("@", "%") + source + riscv("g").replace("@", "%") + "bx lr\n",
    )
    graph = program.graph("f", targets={"call": ("g",)})
    f = program.function(graph, "f")
    assert not f.open
    assert len(f.returns) == 1
