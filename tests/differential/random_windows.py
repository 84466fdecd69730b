"""Windows of a run of the random driver: every marked call by its number, cut where another thread
ran, with what each piece and each blocking stretch of it counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from wcetchar import isa, store
from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import Stretch, rows_of, stretches
from wcetchar.analysis.contexts import Context, Cut, Edge, Piece, Window
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.repetition import packed_counts
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of
from wcetchar.engine import price_vector
from wcetchar.image import load_image
from wcetchar.model.access import AccessVector, Key
from wcetchar.model.chain import FOLLOWED
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    Counts,
    Joint,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
    Word,
)
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import (
    Parameter,
    ParameterKind,
    Part,
    Service,
    ServiceKind,
    ServicesFile,
)
from wcetchar.model.trace import Event
from wcetchar.readers import open_trace

MARK_CALL = 1
TICK = "tick"
APPLICATION = "application_"
"""Functions of the measured firmware that hold what a compiler puts into the caller of the kernel.
The random one has none."""
_LIST = 20  # bytes of a List_t, which begins with its number of items
_NUMBER = tuple(Parameter(name, ParameterKind.STATE, 0, 4095, "number") for name in ("low", "high"))

Vector = Counter[Key]


@dataclass(frozen=True)
class Held:
    """What one blocking stretch counts. ``goes_on``: it does not end with this, for a handler or
    another thread goes on with what it holds off."""

    counts: Vector
    goes_on: bool


@dataclass
class Taken:
    """What was executed up to a switch, or all of it, in which ``functions``."""

    part: Part
    total: Vector
    stretches: dict[StretchKind, list[Held]]
    functions: frozenset[str]
    passed: int
    """List items that ``vListInsert`` passed: tasks that wait, or wake, before the caller does."""


@dataclass
class Invocation:
    """One call, tick or switch. ``number`` is ``None`` where the firmware does not mark it."""

    service: str
    number: int | None
    pieces: list[Taken] = field(default_factory=list)
    merged: Taken | None = None
    """All pieces as one, where there are several."""
    windows: list[Window] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)
    """What the trace says of the kernel's state."""


class Finder(WindowFinder):
    """Every call may be switched away, and none has to be. What leaves a mark is no tick: on some
    boards other interrupts enter at the same instruction."""

    def _arm(self, service: Service) -> None:
        context = self._context
        window = context.window
        if window is not None and window.service.name == TICK:
            self._give_up(window, "another interrupt")
            context.window = None
            del self._open_calls[id(window)]
        super()._arm(service)

    def _close(self, context: Context, end: Edge | None = None) -> None:
        window = context.window
        assert window is not None
        if window.service.kind is ServiceKind.BLOCKING_CALL and not window.cut:
            self._flush()
            context.window = None
            self._emit(window, Part.WHOLE, end or Edge(Joint.CALLER, self._form()))
        else:
            super()._close(context, end)


def suite_windows(
    elf: Path, trace_file: Path, files: list[Path]
) -> tuple[Resolved, Iterator[Window]]:
    """Windows of the suite's own run, as they are published."""
    image = load_image(str(elf))
    resolved = resolve(store.load_services(*map(str, files)), image, isa.decode_image(image))
    trace = open_trace(str(trace_file), image=image)
    finder = WindowFinder(resolved, str(trace_file), registers_persist=trace.info.registers_persist)
    return resolved, find_windows(trace.batches(), finder)


def as_traced(services: ServicesFile) -> ServicesFile:
    """Each access counts for the section that its address lies in: a run is one state."""
    return replace(services, sections=tuple(s for s in services.sections if not s.either_of))


def invocations(
    elf: Path, trace_file: Path, files: list[Path], keep: Collection[int | None] = ()
) -> Iterator[Invocation]:
    """In the order in which they end. ``keep``: numbers of the calls whose windows are
    kept."""
    services = as_traced(store.load_services(*map(str, files)))
    handlers = [s for s in services.services if s.kind is ServiceKind.HANDLER]
    tick = next(s for s in handlers if s.name == "tick_interrupt")
    switch = next(s for s in handlers if s.name == "context_switch")
    entries = dict.fromkeys(
        entry
        for service in services.services
        if service.kind is not ServiceKind.HANDLER
        for entry in service.entries
        if not entry.startswith(APPLICATION)
    )
    chosen = (
        Service("call", MARK_CALL, ServiceKind.BLOCKING_CALL, tuple(entries), _NUMBER),
        replace(tick, name=TICK, mark=None, parameters=()),
        replace(switch, mark=None, parameters=()),
    )
    image = load_image(str(elf))
    table = isa.decode_image(image)
    resolved = resolve(replace(services, services=chosen), image, table)
    trace = open_trace(str(trace_file), image=image)
    finder = Finder(resolved, str(trace_file), registers_persist=trace.info.registers_persist)
    labeller = Labeller(resolved, str(trace_file))
    counting = _Counting(labeller, resolved)
    ready = image.symbol("pxReadyTasksLists")

    def passed_over(window: Window) -> int:
        """Ready lists that were found empty: whose numbers of items were read, but for the last."""
        at = np.concatenate([p.address[p.kind == Event.READ] for p in window.pieces])
        inside = at[(at >= ready.address) & (at < ready.address + ready.size)] - ready.address
        return max(0, len(set(inside[inside % _LIST == 0].tolist())) - 1)

    counts = image.symbol("xTaskIncrementTick").address
    opened: dict[int, Invocation] = {}
    for window in find_windows(trace.batches(), finder):
        if window.service.name == TICK and not any(counts in p.address for p in window.pieces):
            continue  # another interrupt, without a mark
        number = window.values[0] + 4096 * window.values[1] if window.values else None
        name = window.service.name
        invocation = Invocation(name, number) if number is None else None
        if invocation is None:
            assert number is not None
            invocation = opened.setdefault(number, Invocation(name, number))
        elif name == "context_switch":
            invocation.facts["E"] = passed_over(window)
        invocation.pieces.append(counting.piece(window))
        invocation.windows.append(window)
        if window.part in (Part.WHOLE, Part.UNTIL_RETURN):
            if len(invocation.windows) > 1:
                invocation.merged = counting.piece(_merged(invocation.windows))
            if number not in keep:
                invocation.windows = []
            if number is not None:
                del opened[number]
            yield invocation
    assert not opened


def _merged(windows: list[Window]) -> Window:
    pieces: list[Piece] = []
    cuts: list[Cut] = []
    for window in windows:
        cuts += [replace(cut, pieces=cut.pieces + len(pieces)) for cut in window.cuts]
        pieces += window.pieces
        if window is not windows[-1]:
            cuts.append(Cut(len(pieces), window.end, switched=True))
    return replace(
        windows[0],
        pieces=tuple(pieces),
        part=Part.WHOLE,
        switched=True,
        end=windows[-1].end,
        cuts=tuple(cuts),
    )


class _Counting:
    def __init__(self, labeller: Labeller, resolved: Resolved) -> None:
        self._labeller = labeller
        self._names = resolved.section_names
        self._resolved = resolved
        self._known: dict[int, Key] = {}
        self._functions: dict[int, str] = {}

    def piece(self, window: Window) -> Taken:
        labelled = self._labeller.label(window)
        found: dict[StretchKind, list[Held]] = defaultdict(list)
        blockings, is_call = self._labeller.blockings, self._labeller.is_call
        for stretch in stretches(window, labelled, blockings, is_call, self._labeller.exceptions):
            stretch = self._trimmed(window, labelled, stretch)
            counts = self._vector(packed_counts(rows_of(labelled, stretch)))
            found[stretch.kind].append(Held(counts, stretch.goes_on_in in FOLLOWED))
        return Taken(
            window.part,
            self._vector(packed_counts(labelled.packed)),
            found,
            frozenset(self._function(index) for index in set(labelled.index.tolist())),
            self._passed(labelled),
        )

    def _passed(self, labelled: Labelled) -> int:
        """Its loop looks at one item more than it passes."""
        executed = Counter(labelled.index.tolist())
        times = {i: n for i, n in executed.items() if self._function(i) == "vListInsert"}
        return max(times.values()) - times[min(times)] if times else 0

    def _function(self, index: int) -> str:
        function = self._functions.get(index)
        if function is None:
            address = self._resolved.table.instructions[index].address
            found = self._resolved.image.function_at(address)
            function = self._functions[index] = found.name if found else hex(address)
        return function

    def _trimmed(self, window: Window, labelled: Labelled, stretch: Stretch) -> Stretch:
        """Without what comes after xTaskResumeAll's critical section. By definition the scheduler
        counts as locked until that function returns, but a switch that it makes comes before; where
        it makes none, the few instructions in between hold nothing off."""
        if window.exception is not None or stretch.kind is not StretchKind.PREEMPTION:
            return stretch
        if self._function(int(labelled.index[stretch.last])) != "xTaskResumeAll":
            return stretch
        blockings, last = self._labeller.blockings, stretch.last
        while last > stretch.first and not blockings[int(labelled.blocking[last])].masks:
            last -= 1
        return stretch if last == stretch.first else replace(stretch, last=last)

    def _vector(self, packed: Mapping[int, int]) -> Vector:
        vector: Vector = Counter()
        for code, count in packed.items():
            key = code >> 24 & ((1 << 21) - 1)
            if key not in self._known:
                self._known[key] = key_of(key, self._names)
            vector[self._known[key]] += count
        return vector


class Prices:
    """Prices of whatever a run touches, on one profile: the safe end, in nanoseconds."""

    def __init__(
        self, published: Characterization, profile: HardwareProfile, section_map: SectionMap
    ) -> None:
        self._published, self._profile, self._map = published, profile, section_map
        self._prices: dict[Key, Fraction] = {}

    def __call__(self, vector: Vector) -> Fraction:
        new = [key for key in vector if key not in self._prices]
        if new:
            self._price(new)
        return sum((self._prices[key] * n for key, n in vector.items()), start=Fraction(0))

    def _price(self, keys: list[Key]) -> None:
        row = TraceSection(Blocking(), AccessVector(dict.fromkeys(keys, 1)))
        service = ServiceCharacterization(
            "random", ServiceKind.CALL, Word.ESTIMATE, (), Counts(rows=(row,))
        )
        vector = price_vector(
            replace(self._published, services=(service,)), self._profile, self._map
        )
        for key in keys:
            self._prices[key] = vector[key].time.high
