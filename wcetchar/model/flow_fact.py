"""Flow facts: what a vendor says of the paths that his program can take.

``static/facts`` parses them (its grammar is ``flow_facts.lark``) and looks their places up in a
program. docs/reference/flow-facts.md describes the language.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from wcetchar.errors import Location
from wcetchar.model.access import Operation
from wcetchar.model.expression import Expression


class PlaceKind(StrEnum):
    FUNCTION = "function"
    """``pvPortMalloc``, ``pvPortMalloc+0x12``: name and offset in bytes."""
    LINE = "line"
    """``heap_4.c:210``."""
    TEXT = "text"
    """``heap_4.c:"while"``: every line of the file that has the text."""
    ADDRESS = "address"
    """``0x80001234``."""


@dataclass(frozen=True)
class CodePlace:
    """Where something is in a program.

    Attributes:
        inside: only what lies in this function; empty: anywhere.
        called: only where these functions are on the call stack, the outermost first; not every
            function in between need be named.
    """

    kind: PlaceKind
    name: str = ""  # of a function
    offset: int = 0
    file: str = ""
    line: int = 0
    text: str = ""
    address: int = 0
    inside: str = ""
    called: tuple[str, ...] = ()
    where: Location = field(default_factory=lambda: Location(""), compare=False)


class FactOrigin(StrEnum):
    WRITTEN = "written"
    OBSERVED = "observed"
    """``observed`` stands before the fact: traces showed no more, and nobody has proved it."""


@dataclass(frozen=True)
class Fact:
    """Attributes that all facts have.

    Attributes:
        where: in its file.
        services: it holds in these services only, ``NAME`` or a part ``NAME/call``; empty: in all.
        because: why it holds.
        where_present: of a file that is shared: left out where the program lacks what it is about.
    """

    where: Location
    services: tuple[str, ...] = ()
    because: str = ""
    origin: FactOrigin = FactOrigin.WRITTEN
    where_present: bool = False


@dataclass(frozen=True)
class LoopBound(Fact):
    """``loop at PLACE: at most N``: each time that the loop is entered, its header is passed at
    most ``limit`` times more than that, so its back edges are taken at most so often. ``total``:
    of all times together, in one run of the service."""

    place: CodePlace = CodePlace(PlaceKind.ADDRESS)
    limit: Expression | None = None
    total: bool = False


@dataclass(frozen=True)
class Never(Fact):
    """``never PLACE``: it is not executed in this configuration, or in this service.

    ``switch``: of all that the place has, only what asks for a switch of threads is not
    (``never switch at PLACE``)."""

    place: CodePlace = CodePlace(PlaceKind.ADDRESS)
    switch: bool = False


@dataclass(frozen=True)
class Targets(Fact):
    """``call at PLACE: f, g`` or ``jump at PLACE: ...``: an indirect call or jump goes to these
    and nowhere else."""

    place: CodePlace = CodePlace(PlaceKind.ADDRESS)
    targets: tuple[CodePlace, ...] = ()


@dataclass(frozen=True)
class Recursion(Fact):
    """``recursion of f: at most N``: at most so many calls of it are active at once."""

    function: str = ""
    limit: Expression | None = None


@dataclass(frozen=True)
class Term:
    """``factor`` times how often ``place`` is passed; ``None``: the factor alone. ``edge``: how
    often control goes from ``place`` to ``edge``. ``each``: the relation holds for each of the
    instructions that ``place`` names by itself, and not for all together."""

    factor: Expression
    place: CodePlace | None = None
    edge: CodePlace | None = None
    each: bool = False


@dataclass(frozen=True)
class Relation(Fact):
    """``count(A) + 2 * count(B -> C) <= N``: sum of ``terms`` <= 0 after everything is on one side.
    ``count``s are of one run of the service. An ``==`` is two of these."""

    terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Exclusive(Fact):
    """``exclusive A, B, ...``: a run of the service passes at most one of these places."""

    places: tuple[CodePlace, ...] = ()


@dataclass(frozen=True)
class NoReturn(Fact):
    """``no return from f``."""

    function: str = ""


@dataclass(frozen=True)
class Accesses(Fact):
    """``access at PLACE: section, section``: what is read or written there lies in these logical
    sections. ``operation``: only what is read, ``read at PLACE: ...``, or only what is written."""

    place: CodePlace = CodePlace(PlaceKind.ADDRESS)
    sections: tuple[str, ...] = ()
    operation: Operation | None = None


@dataclass(frozen=True)
class SwitchedAway(Fact):
    """``switch at PLACE``: this asks for a switch of threads. Another one may run right behind it,
    or as soon as it is not masked: the part ``/call`` of a service ends there, and ``/resume``
    begins."""

    place: CodePlace = CodePlace(PlaceKind.ADDRESS)


@dataclass(frozen=True)
class EntryValue(Fact):
    """``at entry uxCriticalNesting == 0``: what a variable of 32 bits holds when a service begins:
    ``name`` of a symbol, ``offset`` bytes behind it. ``at_start``, written ``at thread start``: of
    activations, where their thread starts; what switches threads keeps its value for each."""

    name: str = ""
    offset: int = 0
    value: int = 0
    at_start: bool = False


@dataclass(frozen=True)
class FactsFile:
    """All facts of a file, in order."""

    path: str
    facts: tuple[Fact, ...]
