"""Which loops a place names.

A fact about one loop that was taken for another one would be a bound that is too low, and compilers
leave much of the code of a loop's line outside of it (the first part of a ``for``), or leave no
loop at all (they unroll it, or call ``memset``). So a line names a loop only where it *steers* it:
a block of the loop, but of no loop inside of it,

* ends at that line, and
* leaves the loop or repeats it, and can do something else as well;

or ends at that line with a jump back to the header for which the line table has an entry of its own
(``for (;;)``): of a jump without one the table says the line of what is before it.

Where a line steers a loop and another one inside of it (``for (...) for (...)`` in one line), which
of them is meant cannot be told, and that is an error.

A cycle with several entries is named by its instructions alone: what is counted in it are steps
between its headers, more than the source's loop has rounds.
"""

from __future__ import annotations

from collections.abc import Collection

from wcetchar.errors import InputError
from wcetchar.model.flow import EdgeKind, FunctionGraph
from wcetchar.model.flow_fact import CodePlace
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.static.facts.code_lines import CodeLines
from wcetchar.static.facts.printer import place_text


def innermost(graph: FunctionGraph) -> dict[int, int]:
    """The innermost loop around each block that is in one."""
    found: dict[int, int] = {}
    for number, loop in enumerate(graph.loops):
        for block in loop.members:
            if block not in found or len(loop.members) < len(graph.loops[found[block]].members):
                found[block] = number
    return found


def loops_of_instructions(indices: Collection[int], graph: FunctionGraph) -> tuple[int, ...]:
    """The innermost loops around instructions."""
    around = innermost(graph)
    found = {
        around[number]
        for number, block in enumerate(graph.blocks)
        if number in around and any(block.first <= index <= block.last for index in indices)
    }
    return tuple(sorted(found))


def steering(graph: FunctionGraph, table: InstructionTable) -> dict[int, dict[int, bool]]:
    """Of each loop: last instructions of the blocks that steer it; ``True``: it has a choice."""
    found: dict[int, dict[int, bool]] = {number: {} for number in range(len(graph.loops))}
    for number, loop in innermost(graph).items():
        after = graph.successors[number]
        members, back = graph.loops[loop].members, graph.loops[loop].back
        leaves = number in graph.returns or any(edge.target not in members for edge in after)
        repeats = any(edge in back for edge in after)
        last = graph.blocks[number].last
        choice = len({edge.target for edge in after}) + (number in graph.returns) > 1
        jumps = table.instructions[last].flow is Flow.JUMP and any(
            edge.kind is EdgeKind.TAKEN for edge in after
        )
        if (leaves or repeats) and (choice or jumps):
            found[loop][last] = choice or found[loop].get(last, False)
    return found


def loops_of_line(
    indices: Collection[int], graph: FunctionGraph, lines: CodeLines, place: CodePlace
) -> tuple[int, ...]:
    """The natural loops that a line steers, ``indices`` being its instructions; ``place`` for
    messages.

    Raises:
        InputError: one of them is inside another one.
    """
    found = [
        loop
        for loop, ends in steering(graph, lines.table).items()
        if any(
            index in indices and (choice or lines.explicit(index)) for index, choice in ends.items()
        )
    ]
    for outer in found:
        for inner in found:
            if inner != outer and graph.loops[inner].header in graph.loops[outer].members:
                raise _nested(place, graph, lines, (outer, inner))
    return tuple(loop for loop in found if not graph.loops[loop].others)


def described(graph: FunctionGraph, number: int, lines: CodeLines) -> str:
    """A place that names a loop, and the lines that steer it, for people."""
    loop = graph.loops[number]
    address = lines.table.instructions[graph.blocks[loop.header].first].address
    offset = address - graph.address
    name = f"{graph.name}+0x{offset:x}" if offset else f"0x{address:08x}"
    steered = {lines.line_of(index) for index in steering(graph, lines.table)[number]}
    also = ", ".join(f"{file}:{line}" for file, line in sorted(filter(None, steered)))
    if loop.others:
        also = f"with {len(loop.headers)} entries" + (f"; {also}" if also else "")
    return f"{name} ({also})" if also else name


def _nested(
    place: CodePlace, graph: FunctionGraph, lines: CodeLines, loops: tuple[int, int]
) -> InputError:
    outer, inner = (described(graph, loop, lines) for loop in loops)
    return InputError(
        f"{place_text(place)} stands for a loop and for one inside of it",
        where=place.where,
        details=(f"outer: {outer}", f"inner: {inner}"),
        expected="a place that names one of them",
        hint="name each by what stands first above, or by a line that steers only one",
    )
