"""What a path model is built with: a program, where its parts lie, and what its accesses reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from wcetchar.counting.columns import Codes, Columns
from wcetchar.counting.stalls import Stalls
from wcetchar.model.characterization import Place
from wcetchar.model.flow import ProgramGraph
from wcetchar.model.instruction import InstructionTable


@dataclass(frozen=True)
class Program:
    """
    Attributes:
        graph: functions that the services reach.
        section_names: logical sections by number.
        code_section: by table index: number of the section that the instruction lies in, -1: none.
        target_section: the same of a direct branch's target, else the instruction's own.
        misaligned: table indices of accesses that may be misaligned; others are taken to be
            aligned.
        called: by table index of a call that jumps through a register (``flow.register_calls``):
            addresses of the functions that it calls, where that is said of this call.
        switches: table indices of loads that may switch threads (``analysis.switching_code``):
            what is behind one in memory may begin a part of a service, and go on behind it.
        place_of: where an address is, for people.
    """

    table: InstructionTable
    graph: ProgramGraph
    section_names: tuple[str, ...]
    code_section: Codes
    target_section: Codes
    place_of: Callable[[int], Place]
    misaligned: frozenset[int] = field(default=frozenset())
    called: Mapping[int, frozenset[int]] = field(default_factory=dict)
    switches: frozenset[int] = field(default=frozenset())

    @cached_property
    def columns(self) -> Columns:
        return Columns(self.table)

    @cached_property
    def stalls(self) -> Stalls:
        return Stalls(self.columns)
