"""Programs and runs of the board that are written by hand, for the tests of what measures them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from rtl_bench import ROOT

from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.model.service import Marks, Service, ServiceKind

MARK = 0x1800
"""Stores into the marks."""
TRAP, MRET = 0x100, 0x104
CALL, RETURNED, OTHER = 0x1000, 0x1004, 0x1008
INDIRECT, INDIRECT_RETURNED = 0x1010, 0x1012
ENTRY, SECOND, BEFORE_ECALL, ECALL, RESUMED, RET = 0x2000, 0x2004, 0x2008, 0x200C, 0x2010, 0x2014
JUMPS_TO_ECALL = 0x2018
CROSSING, SYSTEM = 0x2022, 0x2028
"""First instructions of other services: across two words, and of a system register."""
THREAD = 0x3000
"""Of another thread, before an ecall."""
CLEARS, SETS, WRITES, ADDS, WRITES_ADDED, WRITES_MIE = range(0x4000, 0x4018, 4)


def instruction(
    address: int,
    text: str = "nop",
    length: int = 4,
    flow: Flow = Flow.NEXT,
    target: int | None = None,
) -> Instruction:
    return Instruction(address, length, b"", text, EventKind.ALU, flow=flow, target=target)


PROGRAM = [
    *(instruction(a) for a in (TRAP, RETURNED, OTHER, MARK, ENTRY, SECOND, BEFORE_ECALL, RESUMED)),
    instruction(MRET, "mret", flow=Flow.RETURN),
    instruction(CALL, "jal ra, 0x2000", flow=Flow.CALL, target=ENTRY),
    instruction(INDIRECT, "c.jalr a5", 2, Flow.CALL_INDIRECT),
    instruction(INDIRECT_RETURNED, "c.nop", 2),
    instruction(ECALL, "ecall", flow=Flow.SUPERVISOR_CALL),
    instruction(RET, "ret", flow=Flow.RETURN),
    instruction(JUMPS_TO_ECALL, "j 0x200c", flow=Flow.JUMP, target=ECALL),
    instruction(CROSSING),
    instruction(SYSTEM, "csrrci zero, mstatus, 8"),
    instruction(THREAD),
    instruction(THREAD + 4, "ecall", flow=Flow.SUPERVISOR_CALL),
    instruction(THREAD + 8),
    instruction(CLEARS, "csrrci zero, mstatus, 8"),
    instruction(SETS, "csrrsi zero, mstatus, 8"),
    instruction(WRITES, "csrrw zero, mstatus, t0"),
    instruction(ADDS, "ori t1, t1, 8"),
    instruction(WRITES_ADDED, "csrrw zero, mstatus, t1"),
    instruction(WRITES_MIE, "csrrs zero, mie, a5"),
]


def module(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    """One of rtl_boards."""
    monkeypatch.syspath_prepend(str(ROOT / "rtl_boards"))
    return import_module(name)


def service(kind: ServiceKind, mark: int = 7) -> Service:
    return Service("s", mark, kind, ("entry",))


def program(windows: Any, *services: Service) -> Any:
    made = object.__new__(windows.Program)
    made._at = {i.address: i for i in PROGRAM}
    made.services = {s.mark: s for s in services}
    made.marks = Marks("wcet_mark", 100)
    made.trap_handler = TRAP
    made.entries = {s.mark: np.array([ENTRY], dtype=np.int64) for s in services}
    return made


def run(
    windows: Any,
    addresses: Iterable[int],
    cycles: Iterable[int] | None = None,
    refills: Iterable[tuple[int, int, int]] = (),
    marks: Iterable[tuple[int, int]] = (),
) -> Any:
    """``refills``: line, asked and loaded of each; ``marks``: cycle and offset of each store.
    Without ``cycles`` an instruction retires in each."""
    made = object.__new__(windows.Run)
    made.address = np.array([*addresses], dtype=np.int64)
    made.cycle = np.array([*(range(len(made.address)) if cycles is None else cycles)])
    assert len(made.cycle) == len(made.address)
    made.line, made.asked, made.loaded = np.array([*refills], dtype=np.int64).reshape(-1, 3).T
    made.marks = [*marks]
    return made
