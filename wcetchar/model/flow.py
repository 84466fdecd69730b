"""Control flow of a program: functions, basic blocks, edges, calls and loops, with addresses.

The vendor's side only: ``static/`` makes it of an image and its instruction table. What is
published of it is a :class:`~wcetchar.model.path_model.PathModel`, which has no addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


@dataclass(frozen=True)
class BasicBlock:
    """Instructions that follow one another in memory and are executed one after another.

    Attributes:
        first, last: table indices of the first and the last instruction, both included.
        skipped: table indices of predicated instructions in it that have no effect. Where what a
            predicated instruction does to memory or control depends on its condition, a block
            stands there twice or more, with each outcome that the conditions together can have.
    """

    first: int
    last: int
    skipped: frozenset[int] = frozenset()


class EdgeKind(StrEnum):
    NEXT = "next"
    """Control goes on at the next instruction in memory: also behind a supervisor call."""
    TAKEN = "taken"
    """A branch or a jump through a table sends it elsewhere in the function."""
    RETURNED = "returned"
    """Behind a call that has returned; the callee's own flow lies between."""


@dataclass(frozen=True, order=True)
class Edge:
    """From block ``source`` to block ``target``, numbers of blocks of one function."""

    source: int
    target: int
    kind: EdgeKind


class TransferKind(StrEnum):
    CALL = "call"
    TAIL_CALL = "tail call"
    """A jump to another function, which returns for this one."""


@dataclass(frozen=True)
class Transfer:
    """A block ends with control going to other functions.

    Attributes:
        targets: addresses of the functions that it can go to; empty where none is known.
        complete: it goes nowhere else. Where it is not, it is one of ``open`` ends, too.
    """

    block: int
    kind: TransferKind
    targets: tuple[int, ...]
    complete: bool = True


class OpenKind(StrEnum):
    """Why a graph is not complete."""

    CALL = "indirect call"
    JUMP = "indirect jump"
    UNDECODABLE = "code that is not decoded"
    NO_FUNCTION = "a target that is in no function"
    FALLS_OUT = "control that goes on behind the end of the function"


@dataclass(frozen=True)
class OpenEnd:
    """A place from which control goes to where is not known: nothing that reaches it is bounded.

    ``address`` is that of the instruction; ``why`` says for people what was tried.
    """

    kind: OpenKind
    address: int
    why: str


@dataclass(frozen=True)
class Loop:
    """A natural loop: what can reach a back edge without passing the header; or, where ``others``
    are given, a cycle with several entries.

    Attributes:
        header: number of the block that every entry and every back edge goes to; of a cycle with
            several entries the lowest of these blocks.
        back: edges from inside to the header, or to one of ``others``.
        entries: edges from outside to the header, or to one of ``others``. A loop whose header is
            the function's entry is entered by each call as well.
        members: numbers of its blocks, the header's and those of inner loops among them.
        parent: number of the innermost loop around it, ``None``: there is none.
        others: the other blocks that it is entered at; empty: it is a natural loop.
    """

    header: int
    back: tuple[Edge, ...]
    entries: tuple[Edge, ...]
    members: frozenset[int]
    parent: int | None = None
    others: frozenset[int] = frozenset()

    @property
    def headers(self) -> frozenset[int]:
        """Blocks that it is entered at."""
        return self.others | {self.header}


@dataclass(frozen=True)
class FunctionGraph:
    """The flow of one function.

    Attributes:
        name, address: of its symbol; a name that several symbols have is made unique by ``@0x...``.
        blocks: ``blocks[entry]`` is where it begins.
        edges: in order, each once.
        transfers: of blocks that end with a call or a tail call; a block behind a call that can
            return is reached by an edge RETURNED.
        returns: blocks that end with the function's return. A predicated return may go on as well.
        stops: blocks behind which nothing is executed (a breakpoint, a loop without exit is none).
        open: where its flow is not known; empty: the graph is complete.
        loops: outer ones before inner ones.
        exception_return: it returns from an exception rather than to a caller.
    """

    name: str
    address: int
    blocks: tuple[BasicBlock, ...]
    edges: tuple[Edge, ...]
    entries: tuple[int, ...]
    transfers: tuple[Transfer, ...] = ()
    returns: tuple[int, ...] = ()
    stops: tuple[int, ...] = ()
    open: tuple[OpenEnd, ...] = ()
    loops: tuple[Loop, ...] = ()
    exception_return: bool = False

    @cached_property
    def transfer_of(self) -> Mapping[int, Transfer]:
        """By number of the block."""
        return {transfer.block: transfer for transfer in self.transfers}

    @cached_property
    def successors(self) -> Mapping[int, tuple[Edge, ...]]:
        """Edges that leave each block."""
        found: dict[int, list[Edge]] = {n: [] for n in range(len(self.blocks))}
        for edge in self.edges:
            found[edge.source].append(edge)
        return {number: tuple(edges) for number, edges in found.items()}

    @cached_property
    def predecessors(self) -> Mapping[int, tuple[Edge, ...]]:
        """Edges that lead to each block."""
        found: dict[int, list[Edge]] = {n: [] for n in range(len(self.blocks))}
        for edge in self.edges:
            found[edge.target].append(edge)
        return {number: tuple(edges) for number, edges in found.items()}


@dataclass(frozen=True)
class ProgramGraph:
    """Functions by address; only those that were asked for and what they reach.

    ``recursive``: addresses of functions that can call themselves, directly or through others.
    """

    functions: Mapping[int, FunctionGraph]
    recursive: frozenset[int] = frozenset()

    @cached_property
    def returns(self) -> frozenset[int]:
        """Table indices of what returns from a function."""
        return frozenset(
            one.blocks[number].last for one in self.functions.values() for number in one.returns
        )

    @cached_property
    def passing(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """By table index: blocks that execute it, each by its function's address and its number."""
        found: dict[int, list[tuple[int, int]]] = {}
        for address, function in self.functions.items():
            for number, block in enumerate(function.blocks):
                for index in range(block.first, block.last + 1):
                    if index not in block.skipped:
                        found.setdefault(index, []).append((address, number))
        return found
