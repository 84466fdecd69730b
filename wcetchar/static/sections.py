"""Which logical section each data access of a service goes to, and who says so.

Taken is the first of: the value analysis, where the address is a number or on the stack; a flow
fact; what traces of the service showed; what traces of others showed. What is left is unknown, and
priced at the dearest region that it may reach; so is what goes, as a fact says, to one of several
sections that no section is either of.

Which of a program's stacks a service runs on is a property of the service: who calls it. So the
stack is the section that its own accesses through the stack pointer went to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from wcetchar.model.path_model import Origin
from wcetchar.static.expand import Expanded

STACK: Final = "(stack)"
"""Stands for the stack that a service runs on."""


@dataclass(frozen=True)
class DataSections:
    """Of one service.

    Attributes:
        of: by table index.
        origins: by table index, who says so.
        stack: that the service is taken to run on; ``None``: that is not known, or does not matter.
    """

    of: Mapping[int, str] = field(default_factory=dict)
    origins: Mapping[int, Origin] = field(default_factory=dict)
    stack: str | None = None

    def told(self, indices: Iterable[int]) -> Counter[Origin | None]:
        """How many of these accesses are told by whom; ``None``: unknown."""
        return Counter(self.origins.get(index) for index in indices)


def data_sections(
    facts: Mapping[int, tuple[str, ...]],
    proved: Mapping[int, frozenset[str]],
    own: Mapping[int, frozenset[str]],
    others: Mapping[int, frozenset[str]],
    joint: Mapping[str, Collection[str]],
) -> DataSections:
    """
    Args:
        facts: by table index, the sections that a flow fact names.
        proved: by table index, the sections that the value analysis found; ``STACK`` may be one.
        own, others: by table index, sections that accesses went to in traces, of the service and of
            all.
        joint: sections that are either of others.
    """
    through_stack = [one for index, one in own.items() if proved.get(index) == frozenset({STACK})]
    stacks = frozenset[str]().union(*through_stack)
    found: dict[int, str] = {}
    origins: dict[int, Origin] = {}
    for index in {*facts, *proved, *own, *others}:
        for origin, sections in (
            (Origin.AUTOMATIC, _with_stack(proved.get(index, frozenset()), stacks)),
            (Origin.WRITTEN, frozenset(facts.get(index, ()))),
            (Origin.OBSERVED, own.get(index, frozenset())),
            (Origin.OBSERVED, others.get(index, frozenset())),
        ):
            if not sections:
                continue
            name = _one_of(sections, joint)
            if name is not None:
                found[index] = name
            elif origin is not Origin.WRITTEN:
                continue
            origins[index] = origin
            break
    used = any(STACK in one for one in proved.values())
    return DataSections(found, origins, next(iter(stacks)) if used and len(stacks) == 1 else None)


def sets_stack_pointer(found: Expanded) -> bool:
    """A service does, otherwise than by what it held before."""
    program = found.program
    rows, bit = program.table.instructions, program.table.registers.stack_pointer
    blocks = (program.graph.functions[at].blocks[n] for at, n in found.reached)
    return any(
        rows[index].defs >> bit & 1 and not rows[index].uses >> bit & 1
        for block in blocks
        for index in range(block.first, block.last + 1)
    )


def _with_stack(sections: frozenset[str], stacks: frozenset[str]) -> frozenset[str]:
    if STACK not in sections:
        return sections
    return frozenset[str]() if len(stacks) != 1 else sections - {STACK} | stacks


def _one_of(sections: frozenset[str], joint: Mapping[str, Collection[str]]) -> str | None:
    """The one section, or one that is either of all of these; ``None``: there is none."""
    if len(sections) == 1:
        return next(iter(sections))
    for name, parts in sorted(joint.items()):
        if sections <= {name, *parts}:
            return name
    return None
