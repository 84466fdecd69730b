"""What the dearest flow through a path model takes, on one hardware and at parameter values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import StretchKind, Word
from wcetchar.model.path_model import Flow


@dataclass(frozen=True)
class PathBound:
    """Of one service, or of a part of it. Times are in nanoseconds and exact.

    Attributes:
        time: no path takes more.
        reached: what ``flow`` takes; less than ``time`` where the solver proved no more.
        flow: the dearest that was found.
        passed: number of a node -> how often the flow passes it; others are left out.
        node_times: what passing each node once takes, shares of interference included; what is
            under way when the path begins (``OfPaths``) is in ``time`` alone.
        vector: what the flow counts.
        unknown: how much less ``flow`` would take if all that it accesses in unknown sections lay
            in the cheapest region that permits it.
        binding: numbers of constraints that the flow leaves no room in.
        needed: numbers of constraints that the proof of ``time`` rests on.
        word: ``bound``, or ``estimate`` where what nobody has proved was used.
    """

    service: str
    profile: str
    section_map: str
    word: Word
    time: Fraction
    reached: Fraction
    flow: Flow
    passed: Mapping[int, int]
    node_times: tuple[Fraction, ...]
    vector: AccessVector
    unknown: Fraction
    binding: tuple[int, ...]
    needed: tuple[int, ...]
    notes: tuple[str, ...] = ()
    core_clock_hz: Fraction = Fraction(0)


@dataclass(frozen=True)
class PathStretch:
    """The longest stretch of all paths in which something is held off.

    Attributes:
        time, reached, word, vector, needed, notes: as of :class:`PathBound`.
        begin, end: numbers of the edges that it begins and ends with; an entry: it may have begun
            before, an exit: it may go on behind. ``None``: there is no stretch.
        flow: of the stretch alone, ``begin`` and ``end`` among its edges.
        passed: number of a node -> how often the stretch passes it.
    """

    kind: StretchKind
    word: Word
    time: Fraction
    reached: Fraction
    begin: int | None
    end: int | None
    flow: Flow
    passed: Mapping[int, int]
    vector: AccessVector
    needed: tuple[int, ...]
    notes: tuple[str, ...] = ()
