"""What the value analysis proves of a program: bounds of loops, and sections of data accesses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from wcetchar.model.flow import FunctionGraph, ProgramGraph
from wcetchar.model.image import Image
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.model.path_model import Origin
from wcetchar.model.service import Parameter
from wcetchar.static.constants import READ_ONLY, constants, note_stores, reads_constants
from wcetchar.static.loop_constraints import Bound, LoopKey
from wcetchar.static.sections import STACK
from wcetchar.static.values import interval as sets
from wcetchar.static.values.access_sections import AccessSections
from wcetchar.static.values.analysis import Values, analyse
from wcetchar.static.values.effects import Summary, either
from wcetchar.static.values.form import Range
from wcetchar.static.values.loop_bounds import DerivedBound, derive_bounds
from wcetchar.static.values.state import ANYTHING, joined_ranges
from wcetchar.static.values.summary import summary_of

_LARGEST: Final = (1 << 32) - 1
_WIDEST: Final = 1 << 20
"""Bytes of an address range that is looked at."""
_MOST_ROUNDS: Final = 4
"""Of all functions, after which a section that is stored to is not constant as a whole."""

SectionsOf = Callable[[int, int], frozenset[str] | None]


RESUMED: Final = "a thread that was switched away goes on with the registers that it had"


def analysed(
    graph: ProgramGraph,
    image: Image,
    table: InstructionTable,
    switches: Collection[int] = (),
) -> dict[int, Values]:
    """Values in each function, by its address: of those that are called before those that call
    them. ``switches``: table indices of what asks for a switch of threads, whoever executes it.

    What a store of known address goes to is not constant, whatever its section says. Stores are
    known by the values, so that these are calculated again without what such stores have changed.
    """
    rounds = 0
    while True:
        found = _analysed(graph, image, table, switches)
        rounds += 1
        if not note_stores(found.values(), image, whole=rounds > _MOST_ROUNDS):
            break
    read = constants(image)
    for one in found.values():
        if reads_constants(one, read):
            one.transfer.assumed.add(READ_ONLY)
    return found


def _analysed(
    graph: ProgramGraph, image: Image, table: InstructionTable, switches: Collection[int]
) -> dict[int, Values]:
    switched = _switched(table, switches)
    read = constants(image)
    found: dict[int, Values] = {}
    summaries: dict[int, Summary | None] = {}
    for address in _bottom_up(graph):
        one = graph.functions[address]
        inside = {n for block in one.blocks for n in range(block.first, block.last + 1)}
        calls = {index: switched[index] for index in inside & switched.keys()}
        for transfer in one.transfers:
            known = [summaries.get(target) for target in transfer.targets]
            if transfer.complete and known and None not in known:
                calls[one.blocks[transfer.block].last] = either([s for s in known if s is not None])
        found[address] = analyse(one, table, read=read, calls=calls)
        if address not in graph.recursive:
            summaries[address] = summary_of(found[address])
    return found


def _switched(table: InstructionTable, switches: Collection[int]) -> dict[int, Summary]:
    """What supervisor calls do that ask for a switch: other threads run, and may write wherever
    they know of; then this one goes on with its registers."""
    everything = (1 << len(table.registers.names)) - 1
    summary = Summary(anywhere=True, kept=everything, assumptions=frozenset({RESUMED}))
    rows = table.instructions
    return {n: summary for n in switches if rows[n].flow is Flow.SUPERVISOR_CALL}


def _bottom_up(graph: ProgramGraph) -> Iterator[int]:
    """Addresses of functions, each after those that it calls; recursive ones in any order."""
    done: set[int] = set()
    for first in sorted(graph.functions):
        work = [(first, iter(_called(graph, first)))]
        while work:
            address, left = work[-1]
            if address in done:
                work.pop()
                continue
            inside = {one for one, _ in work}
            following = next((one for one in left if one not in done and one not in inside), None)
            if following is None:
                work.pop()
                done.add(address)
                yield address
            else:
                work.append((following, iter(_called(graph, following))))


def _called(graph: ProgramGraph, address: int) -> list[int]:
    transfers = graph.functions[address].transfers
    return sorted({to for one in transfers for to in one.targets if to in graph.functions})


def proved_bounds(values: Mapping[int, Values]) -> dict[LoopKey, Sequence[Bound]]:
    """Of loops that count."""
    return {
        (address, loop): _bounds(bound)
        for address, one in values.items()
        for loop, bound in derive_bounds(one).items()
    }


def _bounds(derived: DerivedBound, where: str = "") -> list[Bound]:
    because = derived.why + where
    found = [Bound(derived.limit, Origin.AUTOMATIC, because)]
    if derived.total is not None:
        within, total = derived.total
        found.append(Bound(total, Origin.AUTOMATIC, because, within=within))
    return found


def bounds_by_arguments(
    function: FunctionGraph,
    image: Image,
    table: InstructionTable,
    arguments: Mapping[int, Parameter],
    calls: Mapping[int, Summary] | None = None,
) -> dict[LoopKey, list[Bound]]:
    """Of loops that count to an argument of their function; ``arguments``: by register that holds
    it at the entry; ``calls``: what its calls do, as of ``analyse``.

    Where the argument's range alone bounds a loop, there is a number; a formula is looked for with
    the range open above.
    """
    names = {register: p.name for register, p in arguments.items()}
    found: dict[LoopKey, list[Bound]] = {}
    for is_open in (True, False):
        ranges = {
            register: (p.minimum, _LARGEST if is_open else p.maximum)
            for register, p in arguments.items()
        }
        values = analyse(function, table, read=constants(image), arguments=ranges, calls=calls)
        for loop, bound in derive_bounds(values, names).items():
            known = found.setdefault((function.address, loop), [])
            known += [one for one in _bounds(bound) if one not in known]
    return found


def arguments_by_callers(
    table: InstructionTable, sites: Sequence[tuple[Values, int]]
) -> dict[int, Range]:
    """What argument registers hold wherever a function is called, of those that are known: numbers,
    or addresses in the callers' frames, relative to the stack pointer at the function's entry.

    ``sites``: all calls of it that there are: values of the caller, and table index of the call.
    """
    found: dict[int, Range] = {}
    for register in table.registers.arguments:
        held = [_handed_over(values, index, register) for values, index in sites]
        known = [one for one in held if one is not None]
        if sites and len(known) == len(held):
            together = joined_ranges(known)
            if together != ANYTHING:
                found[register] = together
    return found


def _handed_over(values: Values, index: int, register: int) -> Range | None:
    """What a function finds in a register. The instruction may set it itself: where control falls
    through into the function, any can be the last one before it."""
    defs = values.table.instructions[index].defs
    held = None if defs >> register & 1 else values.value_before(index, register)
    if held is None or not held.stack:
        return held
    stack_pointer = values.table.registers.stack_pointer
    pointer = values.value_before(index, stack_pointer)
    if pointer is None or not pointer.stack or defs >> stack_pointer & 1:
        return None
    away = sets.add(held.interval, sets.negative(pointer.interval))
    return Range(away, stack=True)


def values_by_callers(
    function: FunctionGraph,
    image: Image,
    table: InstructionTable,
    arguments: Mapping[int, Range],
    calls: Mapping[int, Summary],
) -> Values:
    """Values in a function that is entered with these arguments."""
    return analyse(function, table, read=constants(image), arguments=arguments, calls=calls)


def bounds_by_callers(values: Values) -> dict[LoopKey, list[Bound]]:
    """Of loops that count to an argument which is a number wherever the function is called;
    ``values`` as of :func:`values_by_callers`."""
    return {
        (values.graph.address, loop): _bounds(bound, ", for what its callers hand over")
        for loop, bound in derive_bounds(values).items()
    }


def wanted_arguments(values: Values, proved: Collection[int]) -> int:
    """Bit mask of registers that addresses of unknown section are the values of at the entry, and
    something bounded more; ``proved``: table indices of the others."""
    found = 0
    for block in values.graph.blocks:
        for index in range(block.first, block.last + 1):
            if index not in proved:
                for form in values.address_forms(index):
                    for tag, factor in form.tags:
                        if tag.kind == "entry" and tag.place[0] == "r" and factor == 1:
                            found |= 1 << tag.place[1]
    return found


def proved_sections(
    values: Mapping[int, Values], table: InstructionTable, sections_of: SectionsOf
) -> dict[int, frozenset[str]]:
    """By table index of an instruction that accesses data: the sections that these can be in;
    ``STACK`` stands for that of the stack. What is left out is not known."""

    def of(low: int, high: int) -> frozenset[str] | None:
        return None if high - low > _WIDEST else sections_of(low, high)

    proved: dict[int, frozenset[str]] = {}
    differing: set[int] = set()
    for one in values.values():
        sections = AccessSections(one, frozenset({STACK}), of)
        for block in one.graph.blocks:
            for index in range(block.first, block.last + 1):
                if table.instructions[index].memory is None:
                    continue
                found = sections.sections_at(index)
                if found is None:
                    differing.add(index)  # code that two functions share: unknown in one of them
                elif found:
                    proved[index] = proved.get(index, frozenset()) | found
    return {index: found for index, found in proved.items() if index not in differing}
