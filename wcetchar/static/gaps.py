"""Why a service has no bound, beside loops without one.

Its control flow is open somewhere, a function is recursive without a limit, or frames of
floating-point registers are moved at a place that models do not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from wcetchar.model.access import CoreEvent, EventKind
from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import Gap
from wcetchar.model.service import FloatContext, Service, ServiceKind
from wcetchar.static.expand import Expanded

_OF_FLOAT_FRAMES: Final = (EventKind.FLOAT_CONTEXT_SAVE, EventKind.FLOAT_CONTEXT_RESTORE)


def open_ends(
    found: Expanded, place: Callable[[int], str], fact: Callable[[int], str]
) -> Iterator[Gap]:
    """What the control flow of the service's functions leaves open.

    ``place``: an address for people; ``fact``: the fact that would say where control goes from
    there, without its targets; empty: there is none.
    """
    program = found.program
    rows = program.table.instructions
    for function in found.functions:
        held: dict[int, set[int]] = defaultdict(set)
        for number, block in enumerate(function.blocks):
            for index in range(block.first, block.last + 1):
                held[rows[index].address].add(number)
        for end in function.open:
            having = held.get(end.address)
            if having is None or any((function.address, n) in found.reached for n in having):
                at = end.address
                where = f"0x{at:08x}, {place(at)}: {end.why}"
                yield Gap(end.kind.value, where, program.place_of(at), fact(at))
    for address in sorted(found.missing):
        where = f"0x{address:08x}, {place(address)}"
        yield Gap("call of unknown code", where, program.place_of(address))


def recursions(found: Expanded, unlimited: frozenset[int]) -> Iterator[Gap]:
    """``unlimited``: addresses of recursive functions of which no fact says how deep they go."""
    for function in found.functions:
        if function.address in unlimited:
            yield Gap(
                "recursion without a bound",
                function.name,
                found.program.place_of(function.address),
                f"recursion of {function.name}",
            )


def float_frames(
    service: Service,
    found: Expanded,
    paths: Sequence[ObservedPath],
    context: FloatContext | None,
) -> list[Gap]:
    """Frames of floating-point registers are moved when a handler first uses these; models do not
    say where that is. ``paths``: of the service or part, that traces showed."""
    table, graph = found.program.table, found.program.graph
    if not table.exceptions.float_words:
        return []
    seen = any(
        isinstance(key, CoreEvent) and key.kind in _OF_FLOAT_FRAMES
        for path in paths
        for key in path.vector
    )
    at_entry = context is not FloatContext.LAZY
    if service.kind is ServiceKind.HANDLER and at_entry:
        return [Gap("floating-point frames, which entry may move", service.name)]
    if service.kind is ServiceKind.HANDLER and not seen:
        blocks = (graph.functions[at].blocks[n] for at, n in found.reached)
        seen = any(
            table.instructions[index].issue.is_float
            for block in blocks
            for index in range(block.first, block.last + 1)
        )
    return [Gap("floating-point frames", service.name)] if seen else []
