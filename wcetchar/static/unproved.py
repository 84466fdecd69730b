"""Flow facts that are missing, though a figure can do without: what only traces say of a service.

Of data accesses, the logical section; of indirect calls and jumps, where they go. With the facts,
where they hold, an estimate is a bound, and an access is priced where it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from wcetchar.model.instruction import Flow
from wcetchar.model.path_model import Origin, Unproved
from wcetchar.static.build import accessing
from wcetchar.static.expand import Expanded
from wcetchar.static.given_targets import calls_of, is_said_by_calls
from wcetchar.static.sections import DataSections

Spell = Callable[[int], str]
"""An address as a place in a flow fact."""


def unproved_accesses(
    found: Expanded,
    sections: DataSections,
    own: Mapping[int, frozenset[str]],
    others: Mapping[int, frozenset[str]],
    spell: Spell,
) -> Iterator[Unproved]:
    """In order of addresses. ``own``, ``others``: as of ``data_sections``."""
    program = found.program
    for index in sorted(accessing(found)):
        if sections.origins.get(index) in (None, Origin.OBSERVED):
            address = program.table.instructions[index].address
            seen = own.get(index) or others.get(index, frozenset())
            fact = f"access at {spell(address)}"
            yield Unproved(fact, program.place_of(address), tuple(sorted(seen)))


def unproved_targets(
    found: Expanded,
    only_seen: frozenset[int],
    elsewhere: Collection[int],
    seen: Mapping[int, Collection[int]],
    through: Mapping[int, int],
    spell: Spell,
) -> Iterator[Unproved]:
    """In order of addresses; of a routine that calls through a register, its calls.

    Args:
        only_seen, elsewhere: as of ``seen_targets``.
        through: as of ``register_calls``.
        seen: where traces showed control to go, by address.
    """
    program = found.program
    rows, functions = program.table.instructions, program.graph.functions
    wanted: dict[int, Collection[int]] = {}
    for address, number in sorted(found.reached):
        index = functions[address].blocks[number].last
        at = rows[index].address
        if index in elsewhere:
            wanted[index] = seen.get(at, ())
        if at in only_seen and not is_said_by_calls(found, address):
            calls = [call for call in calls_of(found, address) if call in through]
            wanted.update(dict.fromkeys(calls or [index], seen.get(at, ())))
    for index in sorted(wanted.keys() - program.called.keys()):
        at = rows[index].address
        targets = tuple(spell(target) for target in sorted(wanted[index]))
        yield Unproved(fact_of_targets(rows[index].flow, spell(at)), program.place_of(at), targets)


def fact_of_targets(flow: Flow, place: str) -> str:
    """A fact about what goes somewhere there, without its targets."""
    return f"{'call' if flow in (Flow.CALL, Flow.CALL_INDIRECT) else 'jump'} at {place}"
