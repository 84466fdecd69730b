"""Summaries of small functions, and what calls make of them; expected values by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.instruction import Flow
from wcetchar.static.flow.graph import program_graph
from wcetchar.static.proofs import RESUMED, analysed, arguments_by_callers, values_by_callers
from wcetchar.static.values import Values
from wcetchar.static.values.calls import CONVENTION
from wcetchar.static.values.effects import Given, Summary, Written, either
from wcetchar.static.values.form import Form, Range, Tag
from wcetchar.static.values.interval import between, number
from wcetchar.static.values.loop_bounds import derive_bounds
from wcetchar.static.values.memory import UNSHARED
from wcetchar.static.values.summary import summary_of

Assemble = Callable[..., Path]


class Program:
    def __init__(self, elf: Path, *names: str, switches: bool = False) -> None:
        self.image = load_image(elf)
        self.table = decode_image(self.image)
        entries = [self.image.symbol(name).address for name in names]
        self.graph = program_graph(self.image, self.table, entries)
        rows = enumerate(self.table.instructions)
        calls = [n for n, row in rows if switches and row.flow is Flow.SUPERVISOR_CALL]
        self.values = analysed(self.graph, self.image, self.table, calls)

    def of(self, name: str) -> Values:
        return self.values[self.image.symbol(name).address]

    def summary(self, name: str) -> Summary:
        found = summary_of(self.of(name))
        assert found is not None
        return found

    def call_in(self, name: str) -> int:
        """Table index of the first call."""
        graph = self.of(name).graph
        return graph.blocks[graph.transfers[0].block].last


def program(assemble: Assemble, *, switches: bool = False, **functions: str) -> Program:
    text = "".join(
        f".global {name}\n.type {name}, %function\n{name}:\n{body}\n.size {name}, .-{name}\n"
        for name, body in functions.items()
    )
    return Program(assemble(text), *functions, switches=switches)


def test_what_a_leaf_does(assemble: Assemble) -> None:
    made = program(
        assemble,
        f="push {r4, r5}\nmov r4, r1\nstr r4, [r0, #8]\nldrb r5, [r2]\nstrb r5, [r3, #1]\n"
        "adds r0, #12\nmovs r1, #3\npop {r4, r5}\nbx lr",
    )
    found = made.summary("f")
    assert found.writes == {Written(0, number(8), 4), Written(3, number(1), 1)}
    assert not found.anywhere
    assert found.through == 0
    # r1 is stored outside; what r2 points to is none of the arguments.
    assert found.leaks == 1 << 1
    assert found.reads == 1 << 2
    assert not found.reads_stack
    # All but r0 and r1; the frame is given back.
    assert found.kept == 0x7FFF & ~0b11
    assert found.results[0].form == Form(12, ((Tag("entry", 0, ("r", 0)), 1),))
    assert found.results[1].form == Form(3)


def test_what_is_written_through_a_pointer_that_moves(assemble: Assemble) -> None:
    made = program(assemble, f="1: str r2, [r0]\nadds r0, #4\nsubs r1, #1\nbne 1b\nbx lr")
    found = made.summary("f")
    assert found.anywhere
    assert found.through == 1 << 0
    assert found.leaks == 1 << 2
    assert found.results[0] == Given(None, between(0, 0xFFFFFFFF), 1 << 0)


def test_arguments_on_the_stack(assemble: Assemble) -> None:
    made = program(
        assemble,
        f="ldr r3, [sp]\nstr r0, [r3]\nbx lr",
        g="str r0, [sp, #4]\nbx lr",
        h="sub sp, #8\nstr r0, [sp, #4]\nadd sp, #8\nbx lr",
    )
    assert made.summary("f").reads_stack
    assert made.summary("g").writes == {Written(13, number(4), 4)}
    assert made.summary("g").leaks == 1 << 0
    assert made.summary("h").writes == frozenset()
    assert made.summary("h").leaks == 0


def test_recursive_functions_have_none(assemble: Assemble) -> None:
    made = program(assemble, f="push {r4, lr}\ncmp r0, #0\nbeq 1f\nbl f\n1: pop {r4, pc}", g="b f")
    address = made.image.symbol("f").address
    assert address in made.graph.recursive
    assert made.of("f").calls == {}
    assert made.of("g").calls == {}


def test_either_of_two_functions() -> None:
    one = Summary(kept=0b110, results={0: Given(Form(1)), 3: Given(None, between(0, 3), 1)})
    two = Summary(kept=0b100, results={0: Given(Form(1)), 1: Given(None, number(9), 8)})
    found = either([one, two])
    assert found.kept == 0b100
    assert found.results[0].form == Form(1)
    # Kept in one of them, 9 in the other.
    assert found.results[1] == Given(None, between(0, 0xFFFFFFFF), 0b1010)


COUNTER = (
    "push {{r4, lr}}\nsub sp, #16\nmovs r0, #0\nstr r0, [sp, #4]\n"
    "1: {}\nldr r0, [sp, #4]\nadds r0, #1\nstr r0, [sp, #4]\ncmp r0, #10\nblo 1b\n"
    "add sp, #16\npop {{r4, pc}}"
)
WRITES = "str r1, [r0]\nbx lr"
KEEPS = "ldr r1, =0x20000000\nstr r0, [r1]\nbx lr\n.ltorg"
UNKNOWN = "ldr r1, =0x20000000\nldr r1, [r1]\nstr r1, [r1]\nbx lr\n.ltorg"


def test_counters_in_the_frame_across_calls(assemble: Assemble) -> None:
    """A slot is followed unless what is called writes to it, or may know where it is."""

    def bound(body: str) -> int | None:
        made = program(
            assemble,
            f=COUNTER.format(body),
            writes=WRITES,
            keeps=KEEPS,
            unknown=UNKNOWN,
        )
        bounds = derive_bounds(made.of("f"))
        return getattr(bounds[0].limit, "value", None) if bounds else None

    assert bound("add r0, sp, #8\nbl writes") == 9
    assert bound("add r0, sp, #4\nbl writes") is None
    # The lowest byte of the counter.
    assert bound("add r0, sp, #1\nbl writes") is None
    # It is known elsewhere; but nobody writes there.
    assert bound("add r0, sp, #8\nbl keeps") == 9
    assert bound("add r0, sp, #8\nbl keeps\nbl unknown") is None
    assert bound("bl unknown") == 9
    # A slot that holds the address, and somebody who gets to see the slot.
    held = "add r0, sp, #4\nstr r0, [sp, #8]\n"
    assert bound(held + "bl unknown") == 9
    assert bound(held + "ldr r0, [sp, #8]\nbl writes") is None
    assert bound(held + "ldr r0, [sp, #8]\nbl keeps\nbl unknown") is None


def test_a_slot_that_is_read_through_a_pointer(assemble: Assemble) -> None:
    """What is called may load the frame's address from a slot whose address it gets."""
    deep = "ldr r0, [r0]\nstr r1, [r0]\nbx lr"
    body = "add r0, sp, #4\nstr r0, [sp, #8]\nadd r0, sp, #8\nbl deep"
    made = program(assemble, f=COUNTER.format(body), deep=deep)
    assert derive_bounds(made.of("f")) == {}


def test_assumptions_only_where_they_are_used(assemble: Assemble) -> None:
    made = program(
        assemble,
        f=COUNTER.format("add r0, sp, #8\nbl keeps"),
        g="push {r4, lr}\nbl writes\npop {r4, pc}",
        h="mov r3, sp\nbic r3, r3, #3\nstr r0, [r3, #-4]\nbx lr",
        writes=WRITES,
        keeps=KEEPS,
    )
    assert UNSHARED in made.of("f").assumptions
    assert UNSHARED not in made.of("g").assumptions
    # The callee is proved to keep registers.
    assert CONVENTION not in made.of("g").assumptions
    assert any("multiple of 4" in one for one in made.of("h").assumptions)
    assert not any("multiple of 4" in one for one in made.of("g").assumptions)


def test_addresses_that_callers_hand_over(assemble: Assemble) -> None:
    """An address in the caller's frame is known relative to the callee's stack pointer."""
    made = program(
        assemble,
        f="push {r4, lr}\nsub sp, #16\nadd r0, sp, #4\nmovs r1, #3\nbl writes\nadd sp, #16\n"
        "pop {r4, pc}",
        g="push {r4, lr}\nsub sp, #32\nadd r0, sp, #12\nmovs r1, #5\nbl writes\nadd sp, #32\n"
        "pop {r4, pc}",
        writes=WRITES,
    )
    sites = [(made.of(name), made.call_in(name)) for name in ("f", "g")]
    given = arguments_by_callers(made.table, sites)
    assert given[0] == Range(between(4, 12, 8), stack=True)
    assert given[1] == Range(between(3, 5, 2))
    function = made.of("writes").graph
    values = values_by_callers(function, made.image, made.table, given, {})
    where = values.address_of(function.blocks[0].first)
    assert where is not None
    assert where.stack
    assert where.interval == between(4, 12, 8)


def test_a_switch_of_threads_keeps_registers_and_the_frame(assemble: Assemble) -> None:
    """And no memory that others know of: here a word of the frame whose address got out."""
    body = (
        "push {{r2, r3, r4, lr}}\nmovs r2, #7\nstr r2, [sp]\n{out}\nsvc 0\nldr r1, [sp]\n"
        "at{n}: nop\npop {{r2, r3, r4, pc}}"
    )
    made = program(
        assemble,
        switches=True,
        f=body.format(out="nop", n=1),
        g=body.format(out="mov r3, sp\nstr r3, [r0]", n=2),
    )
    rows = {row.address: number for number, row in enumerate(made.table.instructions)}
    for name, label, word in (("f", "at1", number(7)), ("g", "at2", between(0, 0xFFFFFFFF))):
        values = made.of(name)
        at = rows[made.image.symbol(label).address]
        assert values.value_before(at, 2) == Range(number(7))
        assert values.value_before(at, 1) == Range(word)
        assert RESUMED in values.assumptions
        assert made.summary(name).anywhere

    other = program(assemble, f=body.format(out="nop", n=1)).of("f")
    assert RESUMED not in other.assumptions
    at = next(
        n for n, row in enumerate(other.table.instructions) if row.flow is Flow.SUPERVISOR_CALL
    )
    assert other.value_before(at + 1, 2) == Range(between(0, 0xFFFFFFFF))


def test_any_register_that_need_not_be_preserved_may_hand_over_the_frame(
    assemble: Assemble,
) -> None:
    """As the static chain of a nested function does; of recursive ones there is no summary."""
    made = program(
        assemble,
        f="push {lr}\nsub sp, #12\nmovs r3, #7\nstr r3, [sp, #4]\nadd r12, sp, #4\nbl g\n"
        "ldr r2, [sp, #4]\nadd sp, #12\npop {pc}",
        g="push {lr}\ncbz r0, 1f\nsubs r0, #1\nbl g\n1: str r0, [r12]\npop {pc}",
        h="push {lr}\nsub sp, #12\nmovs r3, #7\nstr r3, [sp, #4]\nadd r4, sp, #4\nbl g\n"
        "ldr r2, [sp, #4]\nadd sp, #12\npop {pc}",
    )
    for name, expected in [("f", between(0, 0xFFFFFFFF)), ("h", number(7))]:
        behind = made.call_in(name) + 2  # the call, and the load behind it
        value = made.of(name).value_before(behind, 2)
        assert value is not None
        assert value.interval == expected
