"""Everything that the windows of all traces showed, before formulas are looked for.

Inputs: windows and their rows (:class:`Labelled`), trace by trace. Collected are the counts of each
service and of each of its blocking stretches at every point of its parameters, what a service's
notes must say about its windows, and what was left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import fetching, rows_of, stretches
from wcetchar.analysis.cases import Point
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.line_entries import Entered
from wcetchar.analysis.repetition import Observations, Packed, packed_counts
from wcetchar.analysis.runs import Calls
from wcetchar.analysis.used_lines import Used
from wcetchar.analysis.windows import WindowFinder
from wcetchar.model.characterization import Blocking, Joint, StretchKind
from wcetchar.model.service import Part, ServiceKind
from wcetchar.model.trace import Knowledge, Trace

StretchKey = tuple[StretchKind, int, int, int, int]
"""Kind, first and last instruction, and the calls that each was reached through."""


@dataclass
class Code:
    """What is fetched while a stretch lasts, over all windows.

    Attributes:
        pairs: as ``blocking.fetching``.
        wild: transfers in one that may fetch from anywhere, at most.
        masked_by: as ``StretchLines``, of each window.
        entered: which lines, at each point; nothing with a prefetch buffer.
    """

    pairs: set[int] = field(default_factory=set)
    wild: int = 0
    masked_by: set[int | None] = field(default_factory=set)
    entered: dict[Point, Entered] = field(default_factory=dict)


@dataclass
class Source:
    """What the windows of one trace rest on."""

    losses: dict[Knowledge, str]
    filtered: int = 0
    undecoded: int = 0


class Collector:
    """Everything observed so far, over all traces."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.shown_by: dict[str, set[int]] = defaultdict(set)
        """Service -> numbers of the traces that its windows are from."""
        self.incomplete: set[str] = set()
        """Services that do part of their work outside of their windows."""
        self.services: dict[str, Observations] = defaultdict(Observations)
        self.entered: dict[str, dict[Point, Entered]] = defaultdict(dict)
        self.used: dict[str, dict[Point, Used]] = defaultdict(lambda: defaultdict(Used))
        self.stretches: dict[str, dict[StretchKey, Observations]] = defaultdict(
            lambda: defaultdict(Observations)
        )
        self.code: dict[str, dict[StretchKey, Code]] = defaultdict(lambda: defaultdict(Code))
        self.used_blocked: dict[str, dict[StretchKey, Used]] = defaultdict(
            lambda: defaultdict(Used)
        )
        """Data that are used while a stretch lasts, over all windows."""
        self.goes_on: dict[str, dict[StretchKey, tuple[set[Joint], set[Joint]]]] = defaultdict(
            lambda: defaultdict(lambda: (set(), set()))
        )
        """Of each stretch, all that it was seen to go on from, and to go on in."""
        self.reached: dict[str, dict[StretchKey, tuple[set[int], set[int]]]] = defaultdict(
            lambda: defaultdict(lambda: (set(), set()))
        )
        """Of each stretch, what was executed behind the last call before its begin, and its end."""
        self.at_exit: set[tuple[str, StretchKey]] = set()
        """Stretches that end with a handler's return."""
        self.switching: set[tuple[int, int]] = set()
        self.resumed: set[Blocking] = set()
        self.longest: Counter[Joint] = Counter()
        self.outside: Counter[Joint] = Counter()
        """Instructions with interrupts masked at most, by what they went on from: in services, and
        outside of all."""
        self.leads_on = False
        """Some service's stretch with interrupts masked goes on in a handler or a thread."""
        self.notes: dict[str, set[str]] = defaultdict(set)
        self.cuts: dict[str, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
        """Of activations: table indices of first and of last instructions."""
        self.attributed: Counter[str] = Counter()
        self.unattributed: Counter[str] = Counter()
        self.inside: Calls = Counter()
        self.given_up: Calls = Counter()
        self.missed: set[str] = set()
        self.traced = self.filtered = self.undecoded = 0

    def sources_of(self, name: str) -> list[Source]:
        return [self.sources[number] for number in sorted(self.shown_by[name])]

    def begin(self, trace: Trace) -> None:
        """What follows is from this trace."""
        self.sources.append(Source({x.lacks: x.consequence for x in trace.info.losses}))

    def add(self, window: Window, labelled: Labelled, labeller: Labeller) -> None:
        """Counts a window of the current trace."""
        name = window.name
        self.shown_by[name].add(len(self.sources) - 1)
        self.services[name].add(window.values, packed_counts(labelled.packed))
        known = self.entered[name].setdefault(window.values, labelled.entered)
        if known is not labelled.entered:
            known.include(labelled.entered)
        if labelled.data is not None:
            used = labelled.data.used(0, len(labelled.index) - 1)
            self.used[name][window.values].include(used)
        _add_stretches(self, window, labelled, labeller)
        if window.switched:
            self.notes[name].add(
                "another thread ran in between; only the calling thread's part is counted, as one "
                "(a `blocking call` is cut there)"
            )
        if labeller.supervisor_calls(labelled) > window.yields:
            self.incomplete.add(name)
            self.notes[name].add(
                "it makes a supervisor call, whose handler is an activity of its own and is not "
                "counted here"
            )
        if labeller.calls_supervisor_masked(labelled):
            self.notes[name].add(
                "it makes a supervisor call with interrupts masked; they stay masked in the call's "
                "handler and in what that goes on with"
            )
        is_activation = window.service.kind is ServiceKind.ACTIVATION
        if is_activation:
            begins, ends = self.cuts[name]
            begins.add(int(labelled.index[0]))
            ends.add(int(labelled.index[-1]))
        if is_activation and not window.exact:
            self.notes[name].add(
                "it begins and ends where the emulator took the exceptions that switched; a core "
                "may take them some instructions earlier or later, which are then part of the "
                "activation before or after"
            )
        first, last = labeller.blockings[int(labelled.blocking[0])], window.end.blocking
        switch = is_activation or window.part in (Part.UNTIL_SWITCH, Part.BETWEEN_SWITCHES)
        if (
            window.exception is None
            and last.holds_preemption
            and not first.holds_preemption
            and not window.held
        ):
            self.notes[name].add(
                f"it leaves the processor with {last} held off; the switch adds to that stretch"
                if switch
                else f"it returns with {last} held off; what follows in the caller adds to that "
                "stretch"
            )
        for held in window.held:
            self.notes[name].add(
                f"a function switches threads with {held} held off; what the other thread does "
                "until it lets them in adds to that stretch"
            )
        if (
            window.exact
            and window.part in (Part.BETWEEN_SWITCHES, Part.UNTIL_RETURN)
            and first.holds_preemption
        ):
            self.notes[name].add(
                f"it goes on with {first} held off; what the other thread did since then adds to "
                "that stretch"
            )
        if window.part is not Part.WHOLE and not window.exact:
            self.notes[name].add(
                "the cut lies where the emulator took the exception that switched; a core may take "
                "it some instructions earlier or later, and the parts' sum stays the same"
            )

    def settle(self, labeller: Labeller) -> None:
        """What was counted for joint sections, now that all traces have been seen."""
        if not labeller.joint:
            return
        every = [*self.services.values()]
        every += [one for stretches in self.stretches.values() for one in stretches.values()]
        for observed in every:
            for point, counts in observed.points.items():
                observed.points[point] = labeller.joint.settled(counts, labeller.successions)

    def take(self, finder: WindowFinder) -> None:
        """What the whole of the current trace showed."""
        self.switching |= finder.switching
        self.resumed |= finder.resumed
        self.outside |= Counter(finder.outside)
        self.sources[-1].filtered = finder.filtered
        self.sources[-1].undecoded = finder.undecoded
        self.attributed.update(finder.attributed)
        self.unattributed.update(finder.unattributed)
        self.inside.update(finder.inside)
        self.given_up.update(finder.given_up)
        self.missed |= finder.missed
        self.traced += finder.traced
        self.filtered += finder.filtered
        self.undecoded += finder.undecoded


def _add_stretches(
    collector: Collector, window: Window, labelled: Labelled, labeller: Labeller
) -> None:
    """Counts each stretch of a window; equal ones within it by their elementwise maximum."""
    found: dict[StretchKey, Packed] = {}
    for stretch in stretches(
        window, labelled, labeller.blockings, labeller.is_call, labeller.exceptions
    ):
        successions = labelled.successions(stretch.first, stretch.last)
        counts = packed_counts(rows_of(labelled, stretch, successions))
        key = (stretch.kind, stretch.begin, stretch.end, stretch.entered, stretch.left)
        pairs = fetching(labelled, stretch, labeller.lines.buffered)
        code = collector.code[window.name][key]
        code.pairs |= pairs.keys()
        masked_by = labeller.stretch_lines.masked_by(labelled, stretch)
        code.masked_by.add(masked_by)
        entered = labeller.stretch_lines.entered(labelled, stretch, successions, masked_by)
        if entered is not None:
            before = code.entered.get(window.values, entered)
            code.entered[window.values] = labeller.stretch_lines.joined(before, entered)
        for known_behind, behind in zip(
            collector.reached[window.name][key], stretch.reached, strict=True
        ):
            known_behind.update(behind)
        wild = sum(often for pair, often in pairs.items() if labeller.lines.is_wild(pair))
        code.wild = max(code.wild, labeller.lines.wild_lines * wild)
        if labelled.data is not None:
            used = labelled.data.used(stretch.first, stretch.last)
            collector.used_blocked[window.name][key].include(used)
        if stretch.kind is StretchKind.INTERRUPTS:
            collector.leads_on |= stretch.goes_on_in in (Joint.HANDLER, Joint.THREAD)
        if stretch.goes_on_from is not None and stretch.kind is StretchKind.INTERRUPTS:
            length = Counter({stretch.goes_on_from: stretch.last - stretch.first + 1})
            collector.longest |= length
        goes_on = collector.goes_on[window.name][key]
        for joints, joint in zip(goes_on, (stretch.goes_on_from, stretch.goes_on_in), strict=True):
            if joint is not None:
                joints.add(joint)
        if window.exception is not None and stretch.last == len(labelled.index) - 1:
            collector.at_exit.add((window.name, key))
        known = found.get(key)
        if known is not None:
            counts = {c: max(known.get(c, 0), counts.get(c, 0)) for c in known | counts}
        found[key] = counts
    for key, counts in found.items():
        collector.stretches[window.name][key].add(window.values, counts)
