"""Lines that a window uses, in order: by hand, and against the entries that are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from wcetchar.analysis.cache_lines import CodeLines, DataLines, LineSequence
from wcetchar.analysis.line_entries import LineEntries
from wcetchar.analysis.used_lines import DataUse, Touched
from wcetchar.counting.columns import Columns
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.model.service import SectionKind

BASE = 0x80000000
HEAD = ".text\n.p2align 1\n.global code\n.type code,%function\ncode:\n"
TAIL = "\n.size code, .-code\n"
STILL = (Flow.NEXT, Flow.SUPERVISOR_CALL, Flow.STOP)
Assemble = Callable[[str, str], Path]
NOPS = "\n".join(["c.nop"] * 8)
"""16 bytes."""
LINE = BASE // 16


def ints(values: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def program(assemble: Assemble, source: str, split: int = 1 << 20) -> Any:
    """Two sections of code; ``split``: bytes behind BASE at which the second one begins."""
    rows = [row.strip() for row in source.strip().splitlines()]
    labelled = "\n".join(f"i{n}: {row}" for n, row in enumerate(rows))
    script = f"SECTIONS {{ .text {BASE:#x} : {{ *(.text*) }} }}"
    table = decode_image(load_image(str(assemble(HEAD + labelled + TAIL, script))))
    sections = [SimpleNamespace(kind=SectionKind.CODE, name=name, meaning="") for name in "ab"]
    return SimpleNamespace(
        table=table,
        section_names=("a", "b"),
        services=SimpleNamespace(sections=sections),
        starts=np.array([BASE, BASE + split], dtype=np.uint64),
        owners=np.arange(2),
        code_section=(table.address >= BASE + split).astype(np.int32),
    )


def window(table: InstructionTable, executed: Sequence[int]) -> Any:
    found = [table.instructions[n] for n in executed]
    taken = [
        one.flow not in STILL and (not one.conditional or after.address != one.end)
        for one, after in pairwise(found)
    ]
    taken.append(found[-1].flow not in STILL)
    fetches = SimpleNamespace(
        start=ints([i.address for i in found]), end=ints([i.end for i in found])
    )
    return SimpleNamespace(index=ints(executed), taken=np.array(taken), fetches=fetches)


def told(sequence: LineSequence) -> list[int]:
    assert len(sequence.line) == len(sequence.section) == len(sequence.stores)
    return [line - LINE for line in sequence.line.tolist()]


def test_straight_code_uses_each_line_once(assemble_riscv: Assemble) -> None:
    resolved = program(assemble_riscv, f"{NOPS}\n{NOPS}\nc.nop")
    code = CodeLines(resolved, 16, {}, ["a", "b"])
    assert told(code.of(window(resolved.table, range(17)), in_vain=False)) == [0, 1, 2]


def test_an_instruction_across_two_lines_uses_both(assemble_riscv: Assemble) -> None:
    seven = "\n".join(["c.nop"] * 7)
    resolved = program(assemble_riscv, f"{seven}\nlui a0, 0x12345\nc.nop")
    code = CodeLines(resolved, 16, {}, ["a"])
    assert told(code.of(window(resolved.table, [7, 6, 7]), in_vain=False)) == [0, 1, 0, 1]


def test_sections_lie_where_the_map_says(assemble_riscv: Assemble) -> None:
    """The second one by eight bytes elsewhere: its 16 bytes lie in two lines then."""
    resolved = program(assemble_riscv, f"{NOPS}\n{NOPS}", split=16)
    code = CodeLines(resolved, 16, {"b": 0x1008}, ["a", "b"])
    found = code.of(window(resolved.table, range(16)), in_vain=False)
    assert told(found) == [0, 0x101, 0x102]
    assert found.section.tolist() == [0, 1, 1]


def test_what_is_not_cached_is_left_out(assemble_riscv: Assemble) -> None:
    resolved = program(assemble_riscv, f"{NOPS}\n{NOPS}", split=16)
    code = CodeLines(resolved, 16, {}, ["b"])
    for in_vain in (False, True):
        assert told(code.of(window(resolved.table, range(16)), in_vain=in_vain)) == [1]


def test_what_is_fetched_in_vain_comes_behind_what_fetches_it(assemble_riscv: Assemble) -> None:
    """A branch forwards takes effect two cycles later: three instructions behind it are fetched,
    which lie in lines 1, 1 and 2."""
    eight = "\n".join(["c.nop"] * 6)
    source = f"{eight}\nbeq a0, a1, i{6 + 8 + 1}\n" + f"{NOPS}\n{NOPS}"
    resolved = program(assemble_riscv, source)
    code = CodeLines(resolved, 16, {}, ["a"])
    one = window(resolved.table, [6, 15])
    assert told(code.of(one, in_vain=False)) == [0, 2]
    assert told(code.of(one, in_vain=True)) == [0, 1, 2]


def test_a_handler_that_was_called_may_leave_nothing(assemble_riscv: Assemble) -> None:
    resolved = program(assemble_riscv, "c.nop\necall\nc.nop\necall")
    code = CodeLines(resolved, 16, {}, ["a"])
    found = code.of(window(resolved.table, range(4)), in_vain=False)
    assert told(found) == [0, 0]
    assert found.emptied == (1,)  # behind the last one nothing comes


@pytest.mark.parametrize("size", [16, 32, 64])
def test_no_line_is_used_more_often_than_it_is_entered(size: int, assemble_riscv: Assemble) -> None:
    source = f"{NOPS}\nbeqz a0, i24\n{NOPS}\njal zero, i2\n{NOPS}\nbnez a1, i5\nret\n{NOPS}"
    resolved = program(assemble_riscv, source)
    executed = [*range(9), *range(9, 18), *range(2, 9), *range(24, 27), *range(5, 18)]
    one = window(resolved.table, executed)
    entered = LineEntries(Columns(resolved.table), np.zeros(len(resolved.table), dtype=np.int64))
    counted = entered.count(one.index, one.fetches.start, one.fetches.end, one.taken, [])
    code = CodeLines(resolved, size, {}, ["a"])
    for in_vain in (False, True):
        found = code.of(one, in_vain=in_vain).line.tolist()
        for line in set(found):
            assert found.count(line) <= counted.lines[size][line]
    # What is fetched in vain is counted as it is replayed.
    with_vain = code.of(one, in_vain=True).line.tolist()
    assert sorted(with_vain) == sorted(counted.lines[size].elements())


def data(
    *accesses: tuple[bool, int, int, int], apart: Sequence[int] = (), moved: int = 0
) -> LineSequence:
    """Each: does it store, address, bytes, section."""
    stores, address, size, section = zip(*accesses, strict=True) if accesses else ((),) * 4
    touched = Touched(
        ints(range(len(accesses))),
        ints(address),
        ints([a + n - 1 for a, n in zip(address, size, strict=True)]),
        np.array(stores, dtype=bool),
        ints(section),
    )
    resolved: Any = SimpleNamespace(section_names=("a", "b"))
    lines = DataLines(resolved, 16, {"b": moved}, ["a", "b"] if moved else ["a"])
    return lines.of(DataUse((16,), touched, apart, ()))


def test_loads_and_stores_in_their_order() -> None:
    found = data((True, 0, 4, 0), (False, 4, 4, 0), (True, 8, 4, 0), (False, 30, 4, 0))
    # The store behind the load changes nothing; the load behind the first store may miss.
    assert found.line.tolist() == [0, 0, 1, 2]
    assert found.stores.tolist() == [True, False, False, False]


def test_data_that_are_not_cached_are_left_out_and_others_lie_where_they_are_moved() -> None:
    accesses = ((False, 0, 4, 0), (False, 32, 4, 1), (False, 0, 4, 0))
    assert data(*accesses).line.tolist() == [0]
    found = data(*accesses, moved=-16)
    assert found.line.tolist() == [0, 1, 0]
    assert found.section.tolist() == [0, 1, 0]


def test_behind_another_thread_nothing_is_there() -> None:
    accesses = ((False, 0, 4, 0), (False, 4, 4, 0), (False, 8, 4, 0))
    found = data(*accesses, apart=[2])
    assert found.line.tolist() == [0, 0]
    assert found.emptied == (1,)
    assert data(*accesses, apart=[0, 3]).emptied == ()
    assert data().line.tolist() == []
