"""What the functions of a service know by what their callers in the service hand over.

A function that only others of the service call is looked at once more, entered with the numbers and
stack addresses that all of these calls have in argument registers, where that may bound a loop or
say where an access goes. Inputs: values of every function for any arguments. Outputs: bounds of
loops, and sections of accesses, which hold in this service alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from wcetchar.model.image import Image
from wcetchar.static.expand import Expanded
from wcetchar.static.loop_constraints import Bound, LoopKey, functions_begun
from wcetchar.static.program import Program
from wcetchar.static.proofs import (
    SectionsOf,
    arguments_by_callers,
    bounds_by_callers,
    proved_sections,
    values_by_callers,
    wanted_arguments,
)
from wcetchar.static.values.analysis import Values


class Callers:
    """Of one program; what was found for one service is kept for others with the same calls."""

    def __init__(
        self,
        program: Program,
        image: Image,
        values: Mapping[int, Values],
        bounded: Collection[LoopKey],
        sections: Mapping[int, frozenset[str]],
        sections_of: SectionsOf,
    ) -> None:
        """
        Args:
            values: in each function, by its address, whoever calls it.
            bounded: loops that these bound.
            sections: by table index, sections of accesses that these prove.
        """
        self._program, self._image, self._values = program, image, values
        self._bounded, self._sections, self._sections_of = bounded, sections, sections_of
        self._known: dict[tuple[int, tuple[tuple[int, int], ...]], Values | None] = {}
        self._wanted: dict[int, int] = {}

    def values(self, found: Expanded, entry: int) -> dict[int, Values]:
        """Of functions of a service, by address; ``entry``: that of its first one."""
        sites: dict[int, list[tuple[Values, int]]] = defaultdict(list)
        for address, number in sorted(found.reached):
            function = self._program.graph.functions[address]
            transfer = function.transfer_of.get(number)
            if transfer is not None:
                for target in transfer.targets:
                    sites[target].append((self._values[address], function.blocks[number].last))
        values: dict[int, Values] = {}
        begun = {entry, *functions_begun(found)}
        for target, calls in sites.items():
            one = None if target in begun else self._entered(target, calls)
            if one is not None:
                values[target] = one
        return values

    def _entered(self, target: int, calls: Sequence[tuple[Values, int]]) -> Values | None:
        """``calls``: values of each caller, and table index of the call; ``None``: these say
        nothing that is of use."""
        # Functions that share the code of a call may hand over other values.
        key = (target, tuple((caller.graph.address, index) for caller, index in calls))
        if key not in self._known:
            self._known[key] = None
            base, table = self._values[target], self._program.table
            given = arguments_by_callers(table, calls)
            loops = range(len(base.graph.loops))
            open_loops = any((target, n) not in self._bounded for n in loops)
            wanted = self._wanted_of(target)
            if given and (open_loops or any(wanted >> register & 1 for register in given)):
                self._known[key] = values_by_callers(
                    base.graph, self._image, table, given, base.calls
                )
        return self._known[key]

    def _wanted_of(self, target: int) -> int:
        wanted = self._wanted.get(target)
        if wanted is None:
            wanted = wanted_arguments(self._values[target], self._sections.keys())
            self._wanted[target] = wanted
        return wanted

    def bounds(self, values: Mapping[int, Values]) -> dict[LoopKey, Sequence[Bound]]:
        """Of loops; ``values`` as of :meth:`values`."""
        found: dict[LoopKey, Sequence[Bound]] = {}
        for one in values.values():
            found.update(bounds_by_callers(one))
        return found

    def sections(self, values: Mapping[int, Values]) -> Mapping[int, frozenset[str]]:
        """By table index, sections of accesses of the service's functions, with those that hold
        whoever calls; code that several of them share is left out. ``values`` as of
        :meth:`values`."""
        if not values:
            return self._sections
        more = proved_sections(values, self._program.table, self._sections_of)
        own = {index: one for index, one in more.items() if index not in self._shared}
        return {**own, **self._sections}

    @cached_property
    def _shared(self) -> frozenset[int]:
        """Table indices of code that several functions of the program share."""
        owners: dict[int, int] = {}
        shared = set()
        for address, function in self._program.graph.functions.items():
            for block in function.blocks:
                for index in range(block.first, block.last + 1):
                    if owners.setdefault(index, address) != address:
                        shared.add(index)
        return frozenset(shared)
