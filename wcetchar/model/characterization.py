"""The published characterization: the only bridge from traces to estimates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from wcetchar.model.access import AccessVector, EventKind, Succession
from wcetchar.model.expression import ONE, Expression
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.service import (
    AddressRange,
    Kernel,
    LeftOut,
    Parameter,
    Part,
    SectionKind,
    ServiceKind,
)

if TYPE_CHECKING:
    from wcetchar.model.path_model import PathModel  # which is made of what is here

SCHEMA_VERSION = 1


class Word(StrEnum):
    """What a number is. The three are never mixed: a sum is only as good as its weakest part."""

    BOUND = "bound"  # holds for every path, under the listed assumptions
    HIGH_WATER_MARK = "high-water mark"  # the largest that was observed
    ESTIMATE = "estimate"  # neither

    def weakest(self, *others: Word) -> Word:
        """What a sum of these is."""
        return max((self, *others), key=list(Word).index)


@dataclass(frozen=True, order=True)
class Blocking:
    """What a stretch of execution holds off. All false: nothing.

    Attributes:
        interrupts: all maskable interrupts (PRIMASK or FAULTMASK).
        priority: interrupts of this priority value and less urgent ones (BASEPRI), ``None``: none.
        preemption: the scheduler is locked, or a handler runs.
        unknown: a mask was written whose value could not be followed; counted as blocking.
    """

    interrupts: bool = False
    priority: int | None = None
    preemption: bool = False
    unknown: bool = False

    def __str__(self) -> str:
        parts = []
        if self.interrupts:
            parts.append("all interrupts")
        if self.unknown:
            parts.append("interrupts (mask value unknown)")
        if self.priority is not None:
            parts.append(f"interrupts up to priority {self.priority:#04x}")
        if self.preemption:
            parts.append("preemption")
        return " + ".join(parts) or "none"

    @property
    def masks(self) -> bool:
        """Some interrupt is held off."""
        return self.interrupts or self.unknown or self.priority is not None

    @property
    def holds_preemption(self) -> bool:
        """No task switch can happen: the scheduler is locked or its interrupt is masked."""
        return self.preemption or self.masks


@dataclass(frozen=True)
class TraceSection:
    """A part of a service with one repetition and one blocking form: a row of the table."""

    blocking: Blocking
    vector: AccessVector
    repetition: Expression = ONE


@dataclass(frozen=True)
class TablePoint:
    """Counts observed at one set of parameter values; rows have repetition 1."""

    values: tuple[int, ...]
    rows: tuple[TraceSection, ...]


@dataclass(frozen=True)
class Counts:
    """Counts over parameters: as exact formulas (``rows``) or as observed values (``points``).

    Exactly one of the two is used. ``points`` are sorted by values; between them a safe monotone
    envelope is taken: the elementwise maximum over every point up to the next larger one.
    """

    rows: tuple[TraceSection, ...] = ()
    points: tuple[TablePoint, ...] = ()

    @property
    def is_formula(self) -> bool:
        return not self.points


class StretchKind(StrEnum):
    """What a stretch holds off."""

    INTERRUPTS = "interrupts"
    PREEMPTION = "preemption"


@dataclass(frozen=True)
class Place:
    """Where an instruction lies: bytes behind the start of a function, and the function's source
    line; where other code was inlined there (another line, another file), its line as well. What is
    not known is empty or 0."""

    function: str = ""
    offset: int = 0
    file: str = ""
    line: int = 0
    inlined_file: str = ""
    inlined_line: int = 0


class Joint(StrEnum):
    """Where a stretch goes on that is not over with its last instruction here, or where one comes
    from that had begun before its first."""

    # A supervisor call: the call ends one stretch, and the handler that it enters begins one.
    HANDLER = "handler"
    # A switch, or the return of a handler that was called: the thread that goes on begins one.
    THREAD = "thread"
    # The code that called the service.
    CALLER = "caller"


@dataclass(frozen=True, order=True)
class CodeRange:
    """Bytes start..end - 1, counted from the address of their logical section."""

    section: str
    start: int
    end: int


@dataclass(frozen=True, order=True)
class UsedLine:
    """A line of a data cache that is used: of ``size`` bytes, ``number`` lines behind the one that
    its section begins in, where that was characterized. ``loads``: how often it may have to be
    loaded where a set holds one line; ``fresh``: how often where all lines have room; 0: it is
    stored to alone."""

    size: int
    section: str
    number: int
    loads: int
    fresh: int


@dataclass(frozen=True, order=True)
class LineBehind:
    """Of two lines of ``size`` bytes, each a section and a number as of :class:`UsedLine` or
    :class:`EnteredLine`: how many ``times`` the line ``again`` is loaded from, or entered, where
    ``other`` was since the last time."""

    size: int
    again: tuple[str, int]
    other: tuple[str, int]
    times: int


@dataclass(frozen=True)
class UsedLines:
    """Data that are used.

    Attributes:
        lines: all of it, for each size of a line that was asked for, in order.
        words: that hardware reads by itself, at addresses that are not known: section, how many.
        apart: places behind which another thread or a handler ran, at most.
        behind: of two lines; where two are not told, the one may be loaded again behind each load
            of the other.
    """

    lines: tuple[UsedLine, ...]
    words: tuple[tuple[str, int], ...] = ()
    apart: int = 0
    behind: tuple[LineBehind, ...] = ()

    def holds(self, other: UsedLines) -> bool:
        """The other one uses nothing that this one does not, and nothing more often."""
        mine = {(x.size, x.section, x.number): x for x in self.lines}
        words = dict(self.words)
        its_behind = {(x.size, x.again, x.other): x.times for x in other.behind}
        its_loads = {(x.size, (x.section, x.number)): x.loads for x in other.lines}
        again = {(x.size, (x.section, x.number)) for x in other.lines if x.loads > x.fresh}
        return (
            self.apart >= other.apart
            and all(
                x.times
                >= its_behind.get((x.size, x.again, x.other), its_loads.get((x.size, x.other), 0))
                for x in self.behind
                if (x.size, x.again) in again
            )
            and all(words.get(section, 0) >= number for section, number in other.words)
            and all(
                known is not None and known.loads >= its.loads and known.fresh >= its.fresh
                for its in other.lines
                for known in (mine.get((its.size, its.section, its.number)),)
            )
        )


@dataclass(frozen=True)
class DataFootprint:
    """Data that are used at each of ``points`` (parameter values)."""

    points: tuple[tuple[int, ...], ...]
    used: UsedLines


@dataclass(frozen=True)
class HiddenStalls:
    """``lines`` lines of ``size`` bytes, each entered first by an instruction that is executed.

    Attributes:
        stalls: what this one and the one before it in memory wait for beside fetches; of a line
            that control is transferred to, nothing.
        accesses: of the ``AHEAD`` instructions before the line and its first one, in order: how
            many before it that is, and the access with what it waits for; of those that may come
            before the line is asked for ``NOT_MEANWHILE``. Behind these the last write before the
            line, as ``LAST_BEFORE``, and the first access behind it, as 0, if they are not told
            already: what they wait for is over when the line is there. Before them, where the
            window has fewer instructions before the line, its first access, as ``LAST_BEFORE``.
        in_vain: of lines that are loaded in vain, and not gone on in at once, how many cycles
            before control is transferred, at least; the instruction before such a line is what
            transfers it.
    """

    size: int
    section: str
    stalls: tuple[EventKind, ...]
    lines: int
    accesses: tuple[tuple[int, Succession], ...] = ()
    in_vain: int | None = None

    @property
    def order(self) -> tuple[int, str, tuple[EventKind, ...], int]:
        """Of groups; accesses have none that a file keeps."""
        in_vain = -1 if self.in_vain is None else self.in_vain
        return self.size, self.section, self.stalls, in_vain


@dataclass(frozen=True, order=True)
class LinesInVain:
    """``lines`` lines of ``size`` bytes that are loaded in vain, each at least ``before`` cycles
    before control is transferred, and with which nothing else goes on."""

    size: int
    section: str
    before: int
    lines: int


@dataclass(frozen=True, order=True)
class EnteredLine:
    """A line of a cache that is entered more than once: of ``size`` bytes, ``number`` lines behind
    the one that its section begins in, where that was characterized."""

    size: int
    section: str
    number: int
    entries: int


@dataclass(frozen=True, order=True)
class LineAfter:
    """A line of ``size`` bytes, ``number`` lines behind the one that its section begins in, where
    that was characterized."""

    size: int
    section: str
    number: int


@dataclass(frozen=True)
class Footprint:
    """Code that is fetched, in vain or not, at each of ``points`` (parameter values).

    Attributes:
        ranges: all of it, in order.
        repeated: how often lines are entered, where that is more than once.
        wild: lines that may be fetched from anywhere.
        hidden: what goes on while lines are loaded that were not there before, where the code was
            characterized; lines in which two sections meet are left out.
        in_vain: of such lines, those that are fetched from in vain alone.
        behind: of two lines that may share a set of a cache, how they take turns; of what is not
            told, each entry of the other may be in between.
        after: of a stretch, lines that are fetched for what comes after it alone: they hold up
            nothing but data accesses to their own memory.
    """

    points: tuple[tuple[int, ...], ...]
    ranges: tuple[CodeRange, ...]
    repeated: tuple[EnteredLine, ...] = ()
    wild: int = 0
    hidden: tuple[HiddenStalls, ...] = ()
    in_vain: tuple[LinesInVain, ...] = ()
    behind: tuple[LineBehind, ...] = ()
    after: tuple[LineAfter, ...] = ()


def holds(one: Iterable[CodeRange], other: Iterable[CodeRange]) -> bool:
    """Each of the other ranges lies in one of these."""
    ranges = tuple(one)
    return all(
        any(
            mine.section == its.section and mine.start <= its.start and its.end <= mine.end
            for mine in ranges
        )
        for its in other
    )


@dataclass(frozen=True)
class StretchCode:
    """What is fetched while a stretch lasts, in vain or not, at any values of the parameters.

    Attributes:
        ranges: all of it, in order.
        wild: lines that may be fetched from anywhere.
        masked_by: section and byte in it at which the instruction ends that masks interrupts for
            the stretch: that line was loaded before; ``None``: it need not have been.
        footprints: of it, what is fetched at observed points.
    """

    ranges: tuple[CodeRange, ...]
    wild: int = 0
    masked_by: tuple[str, int] | None = None
    footprints: tuple[Footprint, ...] = ()

    def holds(self, other: StretchCode) -> bool:
        """The other one loads nothing that this one does not."""
        return (
            self.wild >= other.wild
            and self.masked_by in (None, other.masked_by)
            and holds(self.ranges, other.ranges)
        )


@dataclass(frozen=True)
class BlockingStretch:
    """One uninterrupted stretch with interrupts masked, or with preemption held off.

    ``begin`` and ``end`` say where, for people ("vTaskSuspendAll+4 (tasks.c:3850)"), and
    ``begin_place`` and ``end_place`` for programs: the first and the last instruction.
    ``goes_on_from`` and ``goes_on_in`` say what may hold the same off right before and right after
    it, in another activity; empty: nothing, ``None``: not known. A handler that supervisor calls
    enter goes on from them whether or not its callers were seen to block. ``code``, and ``data``
    that are used at any values of the parameters: ``None`` where it is not known.
    """

    kind: StretchKind
    begin: str
    end: str
    counts: Counts
    begin_place: Place | None = None
    end_place: Place | None = None
    goes_on_from: frozenset[Joint] | None = None
    goes_on_in: frozenset[Joint] | None = None
    code: StretchCode | None = None
    data: UsedLines | None = None


@dataclass(frozen=True)
class Evidence:
    """What a service's counts rest on.

    Attributes:
        windows: invocations observed.
        fitted, held_out: parameter values used to fit, and those only used to check the fit.
    """

    windows: int = 0
    fitted: tuple[tuple[int, ...], ...] = ()
    held_out: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class FetchedLines:
    """What caches of instructions are priced by.

    Attributes:
        entries: line entries as core events, for lines of each size.
        footprints: every observed point is in one of them.
    """

    entries: Counts
    footprints: tuple[Footprint, ...]


@dataclass(frozen=True)
class ServiceCharacterization:
    name: str
    kind: ServiceKind
    word: Word
    parameters: tuple[Parameter, ...]
    counts: Counts
    stretches: tuple[BlockingStretch, ...] = ()
    description: str = ""
    worst_state: str = ""
    evidence: Evidence = field(default_factory=Evidence)
    notes: tuple[str, ...] = ()
    part: Part = Part.WHOLE
    stretches_known: bool = True
    """False where only totals were published: blocking time is then bounded by the sum of the
    blocking rows."""
    lines: FetchedLines | None = None
    """``None``: not known, and no cache can be priced."""
    data: tuple[DataFootprint, ...] | None = None
    """Every observed point is in one of them; ``None``: not known."""
    place: Place | None = None
    """Of the first instruction of its function, of the first of several; ``None``: not known."""


@dataclass(frozen=True)
class NotCharacterized:
    """A service of the vendor's list that has no counts, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Contents:
    """What belonged to a logical section in the image that was characterized, for whoever looks for
    it in another program.

    Attributes:
        linker_sections: of its rules, those that the image had.
        ranges: addresses that are its own whatever the program is.
        symbols: names of functions and objects in it, sorted.
    """

    linker_sections: tuple[str, ...] = ()
    ranges: tuple[AddressRange, ...] = ()
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True)
class SectionInfo:
    """A logical section that an integrator has to place. ``address``: where it began when it was
    characterized; of data, where lines of data are told. ``either_of``: it is not placed itself; an
    access to it goes to one of these. ``contents``: ``None`` where they were not published."""

    name: str
    kind: SectionKind
    meaning: str = ""
    address: int | None = None
    either_of: tuple[str, ...] = ()
    contents: Contents | None = None


@dataclass(frozen=True)
class Conservation:
    """Every traced instruction, once: in a window, in an interrupt, or named here.

    ``attributed`` and ``unattributed`` are (name, instructions); together with ``filtered`` they
    add up to ``traced`` + ``filtered``.
    """

    traced: int = 0
    filtered: int = 0
    undecoded: int = 0
    attributed: tuple[tuple[str, int], ...] = ()
    unattributed: tuple[tuple[str, int], ...] = ()

    @property
    def holds(self) -> bool:
        parts = (*self.attributed, *self.unattributed)
        return sum(count for _, count in parts) == self.traced


@dataclass(frozen=True)
class TraceProvenance:
    format: str
    emulator: str | None
    machine: str | None
    arguments: tuple[str, ...]
    losses: tuple[str, ...]


@dataclass(frozen=True)
class Provenance:
    tool: str
    image_sha256: str | None = None
    build_id: str | None = None
    source: str | None = None
    traces: tuple[TraceProvenance, ...] = ()


STALL_EDITION = 2
"""Of the definitions of stalls. 1: no ``divide-use stall``, and no stall where the result of a load
is overwritten, nor of a branch backwards that waits for anything else than what it compares. What
was counted by an older edition is too low where stalls are priced."""


@dataclass(frozen=True)
class Characterization:
    """A kernel on one instruction set.

    Attributes:
        fetch_width: in bits; the unit of fetch counts.
        not_characterized: services that traces should show and do not.
        left_out: what the vendor says of calls that are no services.
        stalls: the edition of the definitions by which stalls are counted as events of their own
            (``EventKind.is_stall``), at most ``STALL_EDITION``; 0: they are not counted, and each
            instruction is priced with all that it may cause.
        successions: which access follows which is counted (:class:`Succession`). Where it is not,
            an access is priced as if the dearest had just gone before it.
        data_lines: bytes of a data cache's line, for each of which loads that may miss are counted
            (``EventKind.is_of_data_cache``), and lines that are used are told.
        fetch_buffer: how far the core is taken to fetch ahead, in what lines are entered;
            ``None``: as a pipeline that predicts branches in its decoder.
        paths: of services, or of their parts, all paths that they can take; each name once.
    """

    kernel: Kernel
    architecture: str
    fetch_width: int
    sections: tuple[SectionInfo, ...]
    services: tuple[ServiceCharacterization, ...]
    provenance: Provenance
    conservation: Conservation | None = None
    assumptions: tuple[str, ...] = ()
    not_characterized: tuple[NotCharacterized, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    stalls: int = 0
    successions: bool = False
    data_lines: tuple[int, ...] = ()
    fetch_buffer: FetchBuffer | None = None
    paths: tuple[PathModel, ...] = ()

    @property
    def joint(self) -> dict[str, tuple[str, ...]]:
        """Sections that are not placed themselves -> those that each is either of."""
        return {s.name: s.either_of for s in self.sections if s.either_of}
