"""``until``: the trace is the beginning of the whole run's, up to where it was to end."""

from __future__ import annotations

import os

import pytest
from test_capture_filters import MARKED

from wcetchar.capture import CaptureFilter, Until
from wcetchar.errors import InputError
from wcetchar.model.service import AddressRange
from wcetchar.model.trace import Event

RISCV = """
 function reset
 li s0, 5
 la t0, trap
 csrw mtvec, t0
again:
 jal service
 ecall
 addi s0, s0, -1
 bnez s0, again
 j finish
 function service
 c.addi a0, 1
 ret
 function trap
 csrr t1, mepc
 addi t1, t1, 4
 csrw mepc, t1
 mret
"""
ARMV4T = """
 function reset
 mov r4, #5
again:
 bl service
 swi 1
 subs r4, r4, #1
 bne again
 b finish
 function service
 add r0, r0, #1
 bx lr
 function software
 movs pc, lr
"""


def beginning(whole: list[tuple[Event, int, int]], address: int, times: int):
    for at, (kind, where, _) in enumerate(whole):
        times -= kind is Event.INSTRUCTION and where == address
        if not times:
            return whole[:at]
    raise AssertionError("the whole run does not come by so often")


@pytest.mark.parametrize(
    ("function", "times"),
    [("reset", 1), ("idle", 1), ("idle", 4), ("service", 5), ("systick", 1), ("systick", 3)],
)
def test_the_run_ends_before_the_function(capture, assemble, function, times):
    where = assemble(MARKED)[function]
    whole = capture(MARKED)
    part = capture(MARKED, until=Until(function, where, times))
    assert part.events == beginning(whole.events, where, times)
    assert part.result.arguments[-1] == f"until={where:#x}:{times}"
    # A handler's entry is the last thing that is seen before the handler.
    assert function != "systick" or part.events[-1][0] is Event.EXCEPTION


def test_an_instruction_within_a_block_is_an_end_too(capture, assemble):
    whole = capture(MARKED)
    for label in ("begin", "end", "after"):
        where = assemble(MARKED)[label]
        part = capture(MARKED, until=Until(label, where, 2))
        assert part.events == beginning(whole.events, where, 2)


@pytest.mark.parametrize(("function", "times"), [("service", 2), ("trap", 1), ("trap", 5)])
def test_on_riscv(riscv_capture, riscv_assemble, function, times):
    where = riscv_assemble(RISCV)[function]
    whole = riscv_capture(RISCV)
    part = riscv_capture(RISCV, until=Until(function, where, times))
    assert part.events == beginning(whole.events, where, times)


@pytest.mark.parametrize(("function", "times"), [("service", 2), ("software", 1), ("software", 5)])
def test_on_armv4t(armv4t_capture, armv4t_assemble, function, times):
    where = armv4t_assemble(ARMV4T)[function]
    whole = armv4t_capture(ARMV4T)
    part = armv4t_capture(ARMV4T, until=Until(function, where, times))
    assert part.events == beginning(whole.events, where, times)


def test_totals_hold_with_a_filter(capture, assemble):
    firmware = assemble(MARKED)
    idle = AddressRange(firmware["idle"], firmware["idle_end"])
    until = Until("service", firmware["service"], 3)
    whole = capture(MARKED, until=until).result
    part = capture(MARKED, CaptureFilter(exclude=(idle,)), until=until)
    left_out = sum(n for kind, n, _ in part.events if kind is Event.GAP)
    assert part.result.filtered == left_out > 0
    assert part.result.instructions + left_out == whole.instructions
    assert part.result.accesses + part.result.filtered_accesses == whole.accesses


def test_a_run_that_does_not_come_by_so_often_is_an_error(capture, assemble, tmp_path):
    where = assemble(MARKED)["service"]
    old = tmp_path / "run.wct"
    old.write_bytes(b"the old trace")
    with pytest.raises(InputError) as caught:
        capture(MARKED, until=Until("service", where, 6))
    assert "ended before service is entered 6 times" in str(caught.value)
    never = Until("service", where + 0x1000)
    with pytest.raises(InputError) as caught:
        capture(" function reset\n b .\n", until=never, max_instructions=10_000)
    assert "a run until service is entered" in str(caught.value)
    assert "is called that often" in (caught.value.hint or "")
    assert old.read_bytes() == b"the old trace"
    assert os.listdir(tmp_path) == ["run.wct"]
