"""Which loops a line names, in flow graphs that are made by hand.

The program is one function of eight instructions, two bytes each, at 0x100; the line of each is
given, and what each block ends with.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from wcetchar.errors import InputError, Location
from wcetchar.model.access import EventKind
from wcetchar.model.flow import BasicBlock, Edge, EdgeKind, FunctionGraph, Loop
from wcetchar.model.flow_fact import CodePlace, PlaceKind
from wcetchar.model.image import CodeRange, Image, Section, SourceLine, Symbol
from wcetchar.model.instruction import Flow, Instruction, InstructionTable
from wcetchar.static.facts import Places
from wcetchar.static.facts.files import SourceFiles
from wcetchar.static.flow.loops import find_loops


def places(lines: list[int], jumps: dict[int, bool], files: tuple[str, ...] = ("a.c",)) -> Places:
    """``lines``: of each instruction; where it is the one before, the table has no entry of its
    own. ``jumps``: number of an instruction -> whether it is conditional."""
    count = len(lines)
    instructions = tuple(
        Instruction(
            0x100 + 2 * n,
            2,
            b"\0\0",
            "b" if n in jumps else "nop",
            EventKind.BRANCH
            if n in jumps and hasattr(EventKind, "BRANCH")
            else next(iter(EventKind)),
            Flow.JUMP if n in jumps else Flow.NEXT,
            jumps.get(n, False),
        )
        for n in range(count)
    )
    entries = [
        SourceLine(0x100 + 2 * n, files[0], line)
        for n, line in enumerate(lines)
        if not n or line != lines[n - 1]
    ]
    entries.append(SourceLine(0x100 + 2 * count, "", 0))
    section = Section(".text", 0x100, 2 * count, False, True, bytes(2 * count))
    image = Image(
        "a.elf",
        "arm",
        "armv7-m",
        32,
        0x100,
        (section,),
        (Symbol("f", 0x100, 2 * count, "function", ".text", False),),
        (CodeRange(0x100, 0x100 + 2 * count, "thumb"),),
        tuple(entries),
        "0" * 64,
    )
    return Places(image, InstructionTable(instructions), lambda name: None)


def graph(
    blocks: list[tuple[int, int]],
    edges: list[tuple[int, int, EdgeKind]],
    loops: list[tuple[int, set[int], int | None]],
    returns: tuple[int, ...],
) -> FunctionGraph:
    listed = tuple(Edge(*edge) for edge in edges)
    found = tuple(
        Loop(
            header,
            tuple(e for e in listed if e.target == header and e.source in members),
            tuple(e for e in listed if e.target == header and e.source not in members),
            frozenset(members),
            parent,
        )
        for header, members, parent in loops
    )
    return FunctionGraph(
        "f", 0x100, tuple(BasicBlock(*b) for b in blocks), listed, (0,), (), returns, loops=found
    )


def line(number: int) -> CodePlace:
    return CodePlace(PlaceKind.LINE, file="a.c", line=number)


NEXT, TAKEN = EdgeKind.NEXT, EdgeKind.TAKEN

# Block 0: before; 1: header of the outer loop, initializes the inner one; 2: inner loop, repeats
# itself; 3: repeats the outer one; 4: behind.
NESTED = graph(
    [(0, 0), (1, 2), (3, 4), (5, 6), (7, 7)],
    [(0, 1, NEXT), (1, 2, NEXT), (2, 2, TAKEN), (2, 3, NEXT), (3, 1, TAKEN), (3, 4, NEXT)],
    [(1, {1, 2, 3}, None), (2, {2}, 0)],
    (4,),
)


def test_the_first_part_of_an_inner_for_does_not_name_the_outer_loop() -> None:
    here = places([1, 11, 11, 12, 11, 10, 10, 1], {4: True, 6: True})
    assert here.loops(line(11), NESTED) == (1,)
    assert here.loops(line(10), NESTED) == (0,)
    assert here.loops(line(12), NESTED) == ()
    assert here.loops(line(1), NESTED) == ()


def test_a_line_that_steers_both_is_refused() -> None:
    here = places([1, 11, 11, 12, 11, 10, 11, 1], {4: True, 6: True})
    with pytest.raises(InputError, match="one inside of it") as caught:
        here.loops(line(11), NESTED)
    assert caught.value.details == ("outer: f+0x2 (a.c:11)", "inner: f+0x6 (a.c:11)")


def test_an_offset_names_the_innermost_loop() -> None:
    here = places([1, 11, 11, 12, 11, 10, 10, 1], {4: True, 6: True})
    for offset, loops in ((0, ()), (2, (0,)), (4, (0,)), (6, (1,)), (8, (1,)), (12, (0,))):
        place = CodePlace(PlaceKind.FUNCTION, name="f", offset=offset)
        assert here.loops(place, NESTED) == loops
        assert here.loops(CodePlace(PlaceKind.ADDRESS, address=0x100 + offset), NESTED) == loops


# Block 1 tests and leaves; block 2 is the body, and jumps back without a choice.
TESTED = graph(
    [(0, 0), (1, 2), (3, 6), (7, 7)],
    [(0, 1, NEXT), (1, 3, TAKEN), (1, 2, NEXT), (2, 1, TAKEN)],
    [(1, {1, 2}, None)],
    (3,),
)


def test_a_jump_back_without_an_entry_has_the_line_of_what_is_before_it() -> None:
    """What is left of an inner loop in line 11 that was unrolled must not name the outer one."""
    here = places([1, 10, 10, 12, 11, 11, 11, 1], {2: True, 6: False})
    assert here.loops(line(11), TESTED) == ()
    assert here.loops(line(10), TESTED) == (0,)


def test_a_jump_back_with_an_entry_names_its_loop() -> None:
    here = places([1, 15, 15, 12, 12, 12, 10, 1], {2: True, 6: False})
    assert here.loops(line(10), TESTED) == (0,)
    assert here.loops(line(15), TESTED) == (0,)


def test_a_body_that_falls_into_its_header_names_nothing() -> None:
    falls = graph(
        [(0, 0), (4, 6), (1, 3), (7, 7)],
        [(0, 1, NEXT), (1, 3, TAKEN), (1, 2, NEXT), (2, 1, NEXT)],
        [(1, {1, 2}, None)],
        (3,),
    )
    here = places([1, 11, 11, 11, 10, 10, 10, 1], {6: True})
    assert here.loops(line(11), falls) == ()
    assert here.loops(line(10), falls) == (0,)


def test_a_conditional_return_leaves_the_loop() -> None:
    returning = graph(
        [(0, 0), (1, 3), (4, 7)],
        [(0, 1, NEXT), (1, 2, NEXT), (2, 1, TAKEN)],
        [(1, {1, 2}, None)],
        (1,),
    )
    here = places([1, 5, 5, 5, 6, 6, 6, 6], {7: False})
    assert here.loops(line(5), returning) == (0,)


def test_what_is_said_where_no_loop_is_named() -> None:
    here = places([1, 11, 11, 12, 11, 10, 10, 1], {4: True, 6: True})
    said = str(here.no_loop(line(12), [NESTED]))
    assert "a.c:12 names no loop" in said
    assert "f+0x2 (a.c:10)" in said
    assert "f+0x6 (a.c:11)" in said


NOWHERE = Location("x.ff", 1, 1)


def test_files_by_the_last_parts_of_their_paths() -> None:
    files = SourceFiles(
        ["portable/MemMang/heap_4.c", "./a.c", "x/../a.c", "b/a.h", "c/a.h", "m.c", "n/m.c"]
    )
    assert files.find("heap_4.c", NOWHERE) == ["portable/MemMang/heap_4.c"]
    assert files.find("MemMang/heap_4.c", NOWHERE) == ["portable/MemMang/heap_4.c"]
    assert files.find("a.c", NOWHERE) == ["./a.c", "x/../a.c"]
    assert files.find("b/a.h", NOWHERE) == ["b/a.h"]
    assert files.find("./m.c", NOWHERE) == ["m.c"]
    for name, said in (
        ("a.h", "c/a.h"),
        ("m.c", "./"),
        ("heap_5.c", "heap_4.c"),
        ("p_4.c", "no code"),
    ):
        with pytest.raises(InputError) as caught:
            files.find(name, NOWHERE, {"x.c"})
        assert said in str(caught.value)


def test_a_cycle_with_two_entries_is_named_by_instructions_alone() -> None:
    """Block 0 goes to the first or to the second of two blocks that go to each other."""
    edges = [(0, 1, NEXT), (0, 2, TAKEN), (1, 2, NEXT), (2, 1, TAKEN), (2, 3, NEXT)]
    several = graph([(0, 1), (2, 3), (4, 5), (6, 7)], edges, [], (3,))
    several = replace(several, loops=find_loops(4, several.edges, (0,)))
    here = places([1, 1, 10, 11, 10, 10, 1, 1], {1: True, 5: True})
    for number in (1, 10, 11):
        assert here.loops(line(number), several) == ()
    for offset, loops in ((2, ()), (4, (0,)), (8, (0,)), (12, ())):
        place = CodePlace(PlaceKind.FUNCTION, name="f", offset=offset)
        assert here.loops(place, several) == loops
    assert here.name_loop(several, 0) == CodePlace(PlaceKind.FUNCTION, name="f", offset=4)
    assert here.no_loop(line(10), [several]).details == ("f+0x4 (with 2 entries; a.c:10)",)


def test_a_line_that_steers_a_cycle_with_two_entries_and_a_loop_around_it_is_refused() -> None:
    edges = [(0, 1, NEXT), (1, 2, NEXT), (1, 3, TAKEN), (2, 3, NEXT), (3, 2, TAKEN), (3, 1, TAKEN)]
    several = graph([(0, 1), (2, 3), (4, 4), (5, 6), (7, 7)], [*edges, (3, 4, NEXT)], [], (1, 4))
    several = replace(several, loops=find_loops(5, several.edges, (0,)))
    assert [loop.headers for loop in several.loops] == [{1}, {2, 3}]
    here = places([1, 1, 10, 10, 11, 11, 11, 1], {3: True, 6: True})
    assert here.loops(line(10), several) == (0,)
    here = places([1, 1, 11, 11, 11, 11, 11, 1], {3: True, 6: True})
    with pytest.raises(InputError, match="one inside of it"):
        here.loops(line(11), several)
