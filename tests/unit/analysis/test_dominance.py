"""Which blocking stretches are published, where another one counts as much of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from listing import BEGIN, END, PARAMETER, SCRIPT, SERVICES, HandTrace, Row, i, load, mark, sections

from wcetchar import formula
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.dominance import published_as_much
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Counts,
    StretchKind,
    TablePoint,
    TraceSection,
)
from wcetchar.model.expression import Expression
from wcetchar.model.service import Parameter, ParameterKind

ROUNDS = f"""
.section .vectors,"a"
  .word 0x20021000, driver+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
{sections()}
.global driver, service, masked
.type driver,%function
driver:
  strb r0, [r4]    @ 0x100  parameter
  strb r0, [r5]    @ 0x102  begin
  bl service       @ 0x104
  strb r0, [r6]    @ 0x108  end
  b.n driver       @ 0x10a
.size driver, .-driver
.type service,%function
service:
  movs r0, #8      @ 0x10c
  bl masked        @ 0x10e
  mov r0, r7       @ 0x112
  bl masked        @ 0x114
  bx r8            @ 0x118
.size service, .-service
.type masked,%function
masked:
  cpsid i          @ 0x11a
again:
  subs r0, #1      @ 0x11c
  bne again        @ 0x11e
  cpsie i          @ 0x120
  bx lr            @ 0x122
.size masked, .-masked
"""


def rounds(number: int) -> list[Row]:
    return [i(0x11A), *(i(at) for _ in range(number) for at in (0x11C, 0x11E)), i(0x120), i(0x122)]


def called(n: int) -> list[Row]:
    return [
        i(0x100), mark(PARAMETER, n), i(0x102), mark(BEGIN, 7), i(0x104),
        i(0x10C), i(0x10E), *rounds(8), i(0x112), i(0x114), *rounds(n), i(0x118),
        i(0x108), mark(END, 7), i(0x10A),
    ]  # fmt: skip


def masked_stretches(elf: Path, most: int) -> list[BlockingStretch]:
    """Of N = 1..8, where N may be up to ``most``."""
    image, table = load(elf)
    (service, _) = SERVICES.services
    (n,) = service.parameters
    services = replace(
        SERVICES,
        services=(replace(service, parameters=(replace(n, maximum=most),)),),
        scheduler_lock=None,
    )
    rows = [row for n in range(1, 9) for row in called(n)]
    result = characterize((HandTrace(rows),), image, table, services, tool="test", partial=True)
    (found,) = result.services
    return [s for s in found.stretches if s.kind is StretchKind.INTERRUPTS]


def instructions(stretch: BlockingStretch, n: int) -> int:
    return sum(
        formula.evaluate(row.repetition, {"N": n}) * row.vector.instructions
        for row in stretch.counts.rows
    )


def test_a_stretch_that_is_the_longest_beyond_what_was_observed_is_published(
    assemble: Callable[..., Path],
) -> None:
    """The helper runs 8 rounds, then N. Up to N = 8 the first is as long as the second in every
    class, but at N = 16 the second is: two instructions each round, and cpsie (what masks is not
    yet behind the mask)."""
    found = masked_stretches(assemble(ROUNDS, SCRIPT), most=16)
    assert max(instructions(stretch, 16) for stretch in found) == 2 * 16 + 1
    assert max(instructions(stretch, 2) for stretch in found) == 2 * 8 + 1


def test_a_stretch_that_another_one_exceeds_at_every_declared_value_is_left_out(
    assemble: Callable[..., Path],
) -> None:
    (found,) = masked_stretches(assemble(ROUNDS, SCRIPT), most=8)
    assert [instructions(found, n) for n in range(1, 9)] == [2 * 8 + 1] * 8


PARAMETERS = (
    Parameter("A", ParameterKind.ARGUMENT, 0, 5, "a"),
    Parameter("B", ParameterKind.CASE, 0, 2, "b"),
)
REPETITIONS = ("1", "A", "ceil(A/2)", "A*A", "(A > 3)", "(B == 1)", "(B == 2)*A", "min(A, 2)")
KINDS = (EventKind.ALU, EventKind.LOAD, EventKind.STORE)

vectors = st.dictionaries(st.sampled_from(KINDS), st.integers(1, 4), min_size=1)
counts = st.lists(st.tuples(st.sampled_from(REPETITIONS), vectors), max_size=4)
Listed = list[tuple[str, dict[EventKind, int]]]


def expression(text: str) -> Expression:
    return formula.parse(text, names={"A", "B"})


def rows_of(listed: Listed) -> tuple[TraceSection, ...]:
    return tuple(
        TraceSection(
            Blocking(interrupts=True),
            AccessVector({CoreEvent(".text", kind): n for kind, n in vector.items()}),
            expression(text),
        )
        for text, vector in listed
    )


def at_point(listed: Listed, a: int, b: int) -> Counter[EventKind]:
    found: Counter[EventKind] = Counter()
    for text, vector in listed:
        times = formula.evaluate(expression(text), {"A": a, "B": b})
        found.update({kind: times * n for kind, n in vector.items()})
    return found


@given(counts, counts)
def test_formulas_are_compared_at_all_declared_values(one: Listed, two: Listed) -> None:
    holds = all(
        at_point(two, a, b)[kind] <= at_point(one, a, b)[kind]
        for a, b in product(range(6), range(3))
        for kind in KINDS
    )
    found = published_as_much(Counts(rows=rows_of(one)), Counts(rows=rows_of(two)), PARAMETERS)
    assert found == holds


def test_a_table_and_a_formula_are_not_compared_beyond_what_was_observed() -> None:
    """Two tables are priced at the same points; of the others nothing is known between them."""
    table = Counts(points=(TablePoint((5, 2), rows_of([("1", {EventKind.ALU: 9})])),))
    rows = Counts(rows=rows_of([("1", {EventKind.ALU: 1})]))
    assert published_as_much(table, table, PARAMETERS)
    assert not published_as_much(table, rows, PARAMETERS)
    assert not published_as_much(rows, table, PARAMETERS)
