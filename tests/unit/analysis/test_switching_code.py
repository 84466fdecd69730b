"""Which loads of the stack pointer may switch threads: functions of several kernels, by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from listing import load, sections
from riscv_listing import SCRIPT, SERVICES

from wcetchar.analysis.resolve import resolve
from wcetchar.analysis.switching_code import put_away_before, switching_loads

MARKS = (
    sections(16, 16)
    + """
.global service, calm, trap, borrow, tested
.type service,%function
.type calm,%function
.type trap,%function
.type borrow,%function
.type tested,%function
service: ret
.size service, .-service
calm: ret
.size calm, .-calm
trap: mret
.size trap, .-trap
borrow: mret
.size borrow, .-borrow
tested:
"""
)

SWITCHES = {
    "registers in the control block": "sw sp, 0(a1); load: lw sp, 0(a0); lw ra, 4(a0); ret",
    "registers on the stack": (
        "addi sp, sp, -16; sw ra, 12(sp); sw sp, 0(a1); load: lw sp, 0(a0); lw ra, 12(sp); "
        "addi sp, sp, 16; ret"
    ),
    "a call in between": "load: lw sp, 0(a0); mv s0, a0; jal calm; lw ra, 4(s0); ret",
    "either return": "load: lw sp, 0(a0); beqz a1, 1f; mret; 1: ret",
    "a loop": "load: lw sp, 0(a0); 1: addi a1, a1, -1; bnez a1, 1b; j 2f; mret; 2: ret",
}
OTHERS = {
    "a handler": "sw sp, 0(a1); load: lw sp, 0(a0); lw t0, 0(sp); csrw mepc, t0; mret",
    "its own stack again, from a register": (
        "mv s0, sp; load: lw sp, 0(a0); jal calm; mv sp, s0; ret"
    ),
    "its own stack again, from where it is": "load: lw sp, 0(sp); ret",
    "two loads, the second through the first": (
        "load: lw sp, 0(a0); lw sp, 0(sp); lw ra, 0(sp); ret"
    ),
    "the start": "load: lw sp, 0(a0); jal calm; 1: j 1b",
    "to another function": "load: lw sp, 0(a0); j calm",
}


def found(assemble_riscv: Callable[[str, str], Path], code: str) -> tuple[list[int], int]:
    """Addresses of the loads that were found, and of the label."""
    source = MARKS + code.replace("; ", "\n").replace(";", "\n") + "\n.size tested, .-tested\n"
    image, table = load(assemble_riscv(source, SCRIPT))
    loads = switching_loads(resolve(SERVICES, image, table))
    addresses = [table.instructions[i].address for i in sorted(loads)]
    return addresses, next(s.address for s in image.symbols if s.name == "load")


@pytest.mark.parametrize("code", SWITCHES.values(), ids=SWITCHES)
def test_functions_that_switch(assemble_riscv: Callable[[str, str], Path], code: str) -> None:
    addresses, label = found(assemble_riscv, code)
    assert addresses == [label]


@pytest.mark.parametrize("code", OTHERS.values(), ids=OTHERS)
def test_functions_that_do_not(assemble_riscv: Callable[[str, str], Path], code: str) -> None:
    addresses, _ = found(assemble_riscv, code)
    assert addresses == []


@pytest.mark.parametrize(
    ("code", "stores"),
    [
        (SWITCHES["registers in the control block"], True),
        (SWITCHES["registers on the stack"], True),
        # As longjmp and the start of the first thread have it: nothing comes back to such a call.
        ("lw ra, 0(a0); lw s0, 4(a0); load: lw sp, 8(a0); mv a0, a1; ret", False),
        ("sw ra, 12(sp); load: lw sp, 0(a0); lw ra, 4(a0); ret", False),
    ],
)
def test_what_puts_its_own_stack_away_is_come_back_to(
    assemble_riscv: Callable[[str, str], Path], code: str, stores: bool
) -> None:
    source = MARKS + code.replace("; ", "\n").replace(";", "\n") + "\n.size tested, .-tested\n"
    resolved = resolve(SERVICES, *load(assemble_riscv(source, SCRIPT)))
    loads = switching_loads(resolved)
    assert len(loads) == 1
    assert put_away_before(resolved, loads) == (loads if stores else frozenset())
