"""Values, addresses and bounds of small functions; graphs and expected values by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wcetchar.formula import to_text
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.flow import (
    BasicBlock,
    Edge,
    EdgeKind,
    FunctionGraph,
    Loop,
    OpenEnd,
    OpenKind,
)
from wcetchar.model.instruction import InstructionTable
from wcetchar.static.values import Values, analyse
from wcetchar.static.values.access_sections import AccessSections
from wcetchar.static.values.form import Form, Range, Tag, Value, of_tag
from wcetchar.static.values.interval import between, number
from wcetchar.static.values.loop_bounds import derive_bounds
from wcetchar.static.values.state import ANYTHING, State, covers

Assemble = Callable[..., Path]


def one_loop(table: InstructionTable, first: int, last: int, after: int) -> FunctionGraph:
    """Entry, a loop of one block, exit; numbers of instructions."""
    blocks = (BasicBlock(0, first - 1), BasicBlock(first, last), BasicBlock(last + 1, after))
    enter = Edge(0, 1, EdgeKind.NEXT)
    again, leave = Edge(1, 1, EdgeKind.TAKEN), Edge(1, 2, EdgeKind.NEXT)
    loop = Loop(1, (again,), (enter,), frozenset({1}))
    return FunctionGraph("f", 0, blocks, (enter, again, leave), (0,), returns=(2,), loops=(loop,))


def table_of(assemble: Assemble, body: str) -> InstructionTable:
    return decode_image(load_image(assemble(f".global f\n.type f, %function\nf:\n{body}\n")))


def straight(table: InstructionTable) -> Values:
    graph = FunctionGraph("f", 0, (BasicBlock(0, len(table) - 1),), (), (0,), returns=(0,))
    return analyse(graph, table)


def test_stack_slots_keep_what_was_stored(assemble: Assemble) -> None:
    table = table_of(
        assemble, "push {r4, lr}\nsub sp, #8\nmovs r4, #5\nstr r4, [sp, #4]\nmovs r4, #0\n"
        "strb r4, [sp, #7]\nldr r0, [sp, #4]\nstr r1, [sp, #4]\nldrb r0, [sp, #4]\n"
        "ldr r2, [sp, #4]\npop {r3, r5}\npop {r4, pc}"
    )  # fmt: skip
    values = straight(table)
    found = values.address_of(3)
    assert found is not None
    assert (found.stack, found.interval, found.size) == (True, number(-12), 4)
    # A byte in the middle of the word was overwritten.
    before = values.value_before(7, 0)
    assert before is not None
    assert before.interval == between(0, 0xFFFFFFFF)
    # The low byte of an argument.
    low = values.value_before(9, 0)
    assert low is not None
    assert low.interval == between(0, 255)
    pop = values.address_of(11)
    assert pop is not None
    assert (pop.interval, pop.size) == (number(-8), 8)


def test_unknown_pointers_and_calls(assemble: Assemble) -> None:
    """A store through a pointer leaves a slot alone, unless the frame's address got out."""
    text = "sub sp, #16\nmovs r3, #7\nstr r3, [sp, #4]\n{}\nstr r1, [r0]\nldr r2, [sp, #4]\nbx lr"
    values = straight(table_of(assemble, text.format("nop")))
    kept = values.value_before(6, 2)
    assert kept is not None
    assert kept.interval == number(7)
    assert any("unknown pointers" in name for name in values.assumptions)
    leaking = "add r2, sp, #4\nstr r2, [r1]"
    lost = straight(table_of(assemble, text.format(leaking))).value_before(7, 2)
    assert lost is not None
    assert lost.interval == between(0, 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("setup", "body", "expected"),
    [
        ("movs r3, #0", "adds r3, #1\ncmp r3, #10\nbne 1b", "9"),
        ("movs r3, #0", "adds r3, #1\ncmp r3, r0\nblo 1b", "max(0, n - 1)"),
        ("movs r3, #1", "adds r3, #3\ncmp r3, #20\nblt 1b", "6"),
        ("movs r3, #9", "subs r3, #1\nbpl 1b", "9"),
        ("uxtb r3, r0", "lsrs r3, r3, #1\nbne 1b", "7"),
        ("add r3, r0, r1, lsl #2", "adds r0, #4\ncmp r0, r3\nbne 1b", None),
        # It may be infinite.
        ("movs r3, #0", "adds r3, #1\ncmp r3, r0\nbls 1b", None),
        ("movs r3, #0", "adds r3, #3\ncmp r3, r0\nbne 1b", None),
        ("movs r3, #0", "adds r3, #2\ncmp r3, #9\nbne 1b", None),
        # What is added is not known.
        ("movs r3, #0", "ldr r2, [r1]\nadds r3, r3, r2\ncmp r3, #10\nblo 1b", None),
        # The limit varies.
        ("movs r3, #0", "adds r3, #1\nldr r2, [r1]\ncmp r3, r2\nblo 1b", None),
    ],
)  # fmt: skip
def test_bounds_of_one_block(
    assemble: Assemble, setup: str, body: str, expected: str | None
) -> None:
    table = table_of(assemble, f"{setup}\n1: {body}\nbx lr")
    graph = one_loop(table, 1, len(table) - 2, len(table) - 1)
    bounds = derive_bounds(analyse(graph, table), {0: "n", 1: "m"})
    assert (to_text(bounds[0].limit) if 0 in bounds else None) == expected


def test_arguments_with_known_values(assemble: Assemble) -> None:
    """With an argument from 1 to 100 the test at the bottom cannot wrap around."""
    table = table_of(assemble, "movs r3, #0\n1: adds r3, #1\ncmp r3, r0\nbls 1b\nbx lr")
    graph = one_loop(table, 1, 3, 4)
    values = analyse(graph, table, arguments={0: (1, 100)})
    assert to_text(derive_bounds(values)[0].limit) == "100"
    found = values.value_before(4, 3)
    assert found is not None
    assert found.interval == between(2, 101)


def test_variables_and_constants(assemble: Assemble) -> None:
    """What a variable holds at entry is known until something is stored somewhere."""
    table = table_of(
        assemble,
        "movw r0, #0x100\nldr r1, [r0]\nldr r2, [r0, #4]\nstr r1, [r3]\nldr r1, [r0]\nbx lr",
    )
    graph = FunctionGraph("f", 0, (BasicBlock(0, len(table) - 1),), (), (0,), returns=(0,))
    values = analyse(
        graph,
        table,
        read=lambda address, size: 77 if (address, size) == (0x104, 4) else None,
        variables={0x100: (4, 2, 5)},
    )
    found = [values.value_before(index, n) for index, n in ((2, 1), (3, 2), (5, 1))]
    assert [one.interval for one in found if one is not None] == [
        between(2, 5),
        number(77),
        between(0, 0xFFFFFFFF),
    ]
    data = frozenset({"data"})
    sections = AccessSections(
        values, frozenset({"stack"}), lambda low, high: data if low >= 0x100 else None
    )
    assert [sections.sections_at(n) for n in (0, 1, 3)] == [
        frozenset(),
        data,
        None,
    ]


def test_open_graphs_tell_nothing(assemble: Assemble) -> None:
    table = table_of(assemble, "movs r3, #0\n1: adds r3, #1\ncmp r3, #10\nbne 1b\nbx lr")
    graph = one_loop(table, 1, 3, 4)
    end = OpenEnd(OpenKind.JUMP, 0, "not known")
    graph = FunctionGraph(
        *(graph.name, graph.address, graph.blocks, graph.edges, graph.entries),
        loops=graph.loops,
        open=(end,),
    )
    values = analyse(graph, table)
    assert not values.settled
    assert derive_bounds(values) == {}
    found = values.value_before(2, 3)
    assert found is not None
    assert found.interval == between(0, 0xFFFFFFFF)


def test_what_a_state_covers() -> None:
    """One that says that two registers differ by 4 covers none where they need not."""

    def state(*forms: Form) -> State:
        values = {number: Value(form) for number, form in enumerate(forms)}
        ranges = {tag: ANYTHING for form in forms for tag in form.names()}
        return State(values, {}, ranges)

    one, two = (of_tag(Tag("met", 7, ("r", number))) for number in (0, 1))
    other = of_tag(Tag("set", 3, ("r", 0)))
    apart = state(one, one.plus(4))
    assert covers(apart, apart, 7)
    assert covers(apart, state(other, other.plus(4)), 7)
    assert covers(state(one, two), apart, 7)
    assert not covers(apart, state(one, two), 7)
    assert not covers(apart, state(other, other.plus(8)), 7)
    assert not covers(state(other, two), apart, 7)
    assert not covers(state(Form(5), two), state(Form(6), two), 7)
    narrow = state(one, two)
    narrow.ranges[Tag("met", 7, ("r", 0))] = Range(between(0, 9))
    assert not covers(narrow, apart, 7)
    assert covers(apart, state(Form(1), Form(5)), 7)


def test_aligned_stack_is_assumed_where_it_is_used(assemble: Assemble) -> None:
    used = straight(table_of(assemble, "mov r3, sp\nbic r3, r3, #3\nldr r0, [r3]\nbx lr"))
    assert any("stack pointer is a multiple of 4" in name for name in used.assumptions)
    unused = straight(table_of(assemble, "sub sp, #8\nldr r0, [sp]\nadd sp, #8\nbx lr"))
    assert not any("stack pointer is a multiple" in name for name in unused.assumptions)


@pytest.mark.parametrize(
    ("setup", "body", "expected"),
    [
        # From 5 up by one round the circle of 256 to 3: 254 steps, of which the last one leaves.
        ("movs r3, #5", "adds r3, #1\nuxtb r3, r3\ncmp r3, #3\nbne 1b", "253"),
        # 3 * 171 = 513 = 1 (mod 256): 1 is met in step 171.
        ("movs r3, #0", "adds r3, #3\nuxtb r3, r3\ncmp r3, #1\nbne 1b", "170"),
        # Even numbers only.
        ("movs r3, #0", "adds r3, #2\nuxtb r3, r3\ncmp r3, #7\nbne 1b", None),
        ("movs r3, #0", "adds r3, #6\nuxtb r3, r3\ncmp r3, #2\nbne 1b", "42"),
        ("uxtb r3, r0", "adds r3, #3\nuxtb r3, r3\ncmp r3, #1\nbne 1b", "255"),
        # -3 as a signed byte: from 2 down.
        ("movs r3, #2", "subs r3, #1\nsxtb r3, r3\ncmn r3, #3\nbne 1b", "4"),
        # 300 is no byte, so that they are never equal.
        ("movs r3, #0", "adds r3, #1\nuxtb r3, r3\ncmp r3, #300\nbne 1b", None),
        # A limit that varies, from 0 to 15.
        ("movs r3, #0", "ldr r2, [r1]\nand r2, r2, #15\nadds r3, #1\ncmp r3, r2\nblo 1b", "14"),
    ],
)  # fmt: skip
def test_narrow_counters(assemble: Assemble, setup: str, body: str, expected: str | None) -> None:
    table = table_of(assemble, f"{setup}\n1: {body}\nbx lr")
    graph = one_loop(table, 1, len(table) - 2, len(table) - 1)
    bounds = derive_bounds(analyse(graph, table), {0: "n", 1: "m"})
    assert (to_text(bounds[0].limit) if 0 in bounds else None) == expected


def test_both_ways_of_a_branch_to_the_next_instruction_are_one(assemble: Assemble) -> None:
    """Of an empty hook: nothing follows from its condition, which may hold or not."""
    table = table_of(
        assemble,
        "movs r1, #10\nmovs r2, #3\nloop: subs r1, #1\ncmp r2, r2\nbhi on\non: cmp r1, #0\n"
        "bne loop\nbx lr",
    )
    assert table.instructions[4].target == table.instructions[4].end
    blocks = tuple(BasicBlock(first, last) for first, last in ((0, 1), (2, 4), (5, 6), (7, 7)))
    edges = (
        Edge(0, 1, EdgeKind.NEXT),
        Edge(1, 2, EdgeKind.TAKEN),
        Edge(2, 1, EdgeKind.TAKEN),
        Edge(2, 3, EdgeKind.NEXT),
    )
    loop = Loop(1, (edges[2],), (edges[0],), frozenset({1, 2}))
    graph = FunctionGraph("f", 0, blocks, edges, (0,), returns=(3,), loops=(loop,))
    values = analyse(graph, table)
    bound = derive_bounds(values)[0]
    assert to_text(bound.limit) == "9"
