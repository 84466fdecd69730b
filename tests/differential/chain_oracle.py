"""An independent count of every service window: objdump's text, QEMU's log, addresses of accesses.

What is counted, and how, is stated by docs and model; the way here is another one than wcetchar's:

* A call's window ends where the program counter is back at the return address *and the stack
  pointer* is what it was. wcetchar's traces have no stack pointer, so it follows calls instead.
* Threads are told apart by which stack the stack pointer is in; wcetchar goes by the addresses that
  the context switch saves registers to.
* Values written to BASEPRI are read in the log; wcetchar follows them through registers and memory.
  PRIMASK is written by instructions that name its value.
* Which instructions access more than one section of a joint one (`either of`) is looked up in the
  addresses of all windows before anything is counted.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from itertools import groupby, islice, pairwise
from operator import itemgetter, or_
from typing import Any

import numpy as np
import numpy.typing as npt
import stall_text
from chain_listing import Line, Listing
from chain_log import Log
from chain_stream import Data, Run
from stall_count import StallCount

Blocking = tuple[int | None, bool]
"""(BASEPRI where it masks, or ALL_INTERRUPTS; whether preemption is held off)."""
Key = tuple[str, ...]
"""(section, operation, width, pattern) or (section, event)."""
Counts = Counter[tuple[Blocking, Key]]
Span = tuple[int, int]
"""Steps from the first to before the second, which one activity executed without a break."""
Place = tuple[str | int | None, ...]
Realigned = list[tuple[int, tuple[Key, ...]]]
"""(position in a window, what is counted there once more)."""
Apart = Counter[tuple[Blocking, int, Key]]
"""Counts by address of the instruction."""

MASKS = {"primask", "faultmask", "basepri", "basepri_max"}
ALL_INTERRUPTS = -1
"""In the place of a priority."""
CPS = {("cpsid", "i"), ("cpsie", "i"), ("cpsie", "f")}
"""What is understood of the instructions that change PRIMASK and FAULTMASK."""
NUMBERS = {**{f"r{n}": n for n in range(13)}, "sb": 9, "sl": 10, "fp": 11, "ip": 12, "lr": 14}
FETCH_BYTES = 4
HALFWORD = 2


@dataclass
class Window:
    """``steps``: indices of its own instructions in the run."""

    service: str
    values: tuple[int, ...]
    steps: list[int]
    exception: bool = False


@dataclass
class Executed:
    """A window step by step. ``does``: what is counted at each step, as a number of
    ``Machine.known``; ``runs``: those that the core fetches without a break, by position in the
    window; ``calls``: positions of calls."""

    pcs: list[int]
    forms: list[Blocking]
    does: list[int]
    runs: list[Span]
    calls: list[int]


@dataclass
class Stretch:
    """``entered``, ``left``: addresses of the window's last calls before its first and its last
    instruction, if they led to the functions that these lie in; ``at``: positions in the window;
    ``realigned``: fetches more at the worst address."""

    kind: str
    first: int
    last: int
    entered: int | None
    left: int | None
    led: tuple[bool, bool]
    at: Span
    realigned: Realigned
    counts: Counts

    @property
    def ends(self) -> Place:
        return (self.kind, self.first, self.entered, self.last, self.left)

    @property
    def by_key(self) -> Counter[Key]:
        found: dict[Key, int] = {}
        for (_, key), count in self.counts.items():
            found[key] = found.get(key, 0) + count
        return Counter(found)


@dataclass(frozen=True)
class Joined:
    """Part of a stretch, with the addresses of its instructions: whether a thread may be switched
    in to it, and whether it goes on in the handler of a supervisor call."""

    kind: str
    counts: Counter[Key]
    executed: frozenset[int]
    thread: bool
    handler: bool


@dataclass
class Counted:
    """One window as the oracle sees it.

    Attributes:
        number: of the exception that it was executed in, if any.
        forms: the blocking form at each of its steps.
        stretches: kind and counts of each.
        executed: the addresses of the instructions of each.
        places: where stretches begin and end, and the largest count of each instruction in those
            that begin and end there after the same calls.
        parts: the same of stretches up to a supervisor call inside of one, and from behind it.
        joined: of each of these kind and counts, and what it goes on from, and in.
        apart: all this by address of the instruction, where other windows of the service have the
            same values.
    """

    service: str
    values: tuple[int, ...]
    steps: list[int]
    number: int | None
    forms: list[Blocking]
    counts: Counts
    stretches: list[tuple[str, Counter[Key]]] = field(default_factory=list)
    executed: list[set[int]] = field(default_factory=list)
    places: list[tuple[Place, Counts]] = field(default_factory=list)
    parts: list[tuple[Place, Counts]] = field(default_factory=list)
    apart: InParts | None = None
    joined: list[Joined] = field(default_factory=list)


@dataclass
class InParts:
    """Counts of a window, and of its stretches, by address of the instruction. Two stretches are
    the same where their ends and the calls before these are (the first place); what is published
    names a call only where it leads to the function (the second place)."""

    counts: Apart
    whole: list[tuple[Place, Place, Apart]]
    parts: list[tuple[Place, Place, Apart]]


@dataclass(frozen=True)
class Segment:
    """Steps start..end-1 that one activity executed without being interrupted.

    ``owner``: the thread's stack, or the number of the exception's entry.
    """

    start: int
    end: int
    owner: str | int


class NeverReturns(AssertionError):
    """The run ends inside a call."""


class Machine:
    """The run, with everything that the windows need looked up once."""

    masks_in_handlers = False
    """The hardware enters them with interrupts masked."""
    supervisor_calls = frozenset({11})  # DDI 0403, B1.5.2: SVCall

    def __init__(self, listing: Listing, log: Log, run: Run, services: dict[str, Any]) -> None:
        self.listing, self.log, self.run = listing, log, run
        assert isinstance(run.data, Data)
        self.data = run.data
        self.pcs = np.frombuffer(run.pcs, dtype=np.uint32)  # type: ignore[call-overload]
        self.services = services["services"]
        self.marks = services["marks"]
        self.hardware = services.get("hardware", {})
        self.logical = _logical(listing, services["sections"])
        self.either = _either(services["sections"])
        self._section_at: dict[int, str] = {}
        self._sections = _Sections(self.logical)
        # What was found out once: see _executed, _realigned_in, _follows.
        self.known: list[tuple[Key, ...]] = []
        self._number: dict[tuple[Key, ...], int] = {}
        self._does: dict[tuple[tuple[int, ...], bytes], int] = {}
        self._more: dict[tuple[int, ...], tuple[Key, ...]] = {}
        self._goes_on: dict[tuple[int, int], bool] = {}
        lines = listing.lines.items()
        self._hints = {a for a, line in lines if line.event == "hint"}
        self._calls = {a for a, line in lines if line.event.startswith("call")}
        self._supervisor_calls = {a for a, line in lines if line.event == "supervisor call"}
        self._function_at: dict[int, int | None] = {}
        self.stacks = list(_stacks(listing))
        self.segments = list(self._segments())
        self._starts = [segment.start for segment in self.segments]
        self._ends: dict[str, list[int]] = {}
        self._of_owner: dict[str | int, list[int]] = {}
        for number, segment in enumerate(self.segments):
            self._of_owner.setdefault(segment.owner, []).append(number)
        self.masks = self._masks()
        self.preemption = self._preemption(services["scheduler lock"])

    # --- who executes, and where -------------------------------------------------------------

    def section(self, address: int) -> str:
        name = self._section_at.get(address)
        if name is None:
            names = [n for n, start, end in self.logical if start <= address < end]
            assert len(names) == 1, f"{address:#x}: {names}"
            name = self._section_at[address] = names[0]
        return name

    def section_of_data(self, line: Line, address: int) -> str:
        """Of an access that an instruction makes."""
        name = self.section(address)
        joint = self.either.get(name)
        return name if joint is None or (line.address, joint) not in self._joint else joint

    @cached_property
    def _joint(self) -> set[tuple[int, str]]:
        """(address of an instruction, joint section) where the instruction's accesses in all
        windows are to several of the sections that the joint one may be."""
        inside = np.zeros(len(self.pcs), dtype=bool)
        for window in self.windows():
            inside[window.steps] = True
        own = inside[self.data.steps]
        pairs = np.stack((self.pcs[self.data.steps[own]], self.data.addresses[own]), axis=1)
        reached: dict[tuple[int, str], set[str]] = {}
        for pc, address in np.unique(pairs, axis=0).tolist():
            name = self.section(address)
            if name in self.either:
                reached.setdefault((pc, self.either[name]), set()).add(name)
        return {which for which, names in reached.items() if len(names) > 1}

    def line(self, step: int) -> Line:
        return self.listing.lines[self.run.pcs[step]]

    def _segments(self) -> Iterator[Segment]:
        nested: list[int] = []
        bounds: list[tuple[int, bool | None]] = [e[:2] for e in self.run.exceptions]
        bounds += [(len(self.run.pcs), None), *((step, None) for step in self._first_threads())]
        order = sorted(range(len(bounds)), key=lambda number: bounds[number][0])
        start = 0
        for number in order:
            end, entered = bounds[number]
            if end > start:
                yield Segment(start, end, nested[-1] if nested else self._stack(start))
            start = end
            if entered is None:
                assert not nested
            elif entered:
                nested.append(number)
            else:
                nested.pop()

    def _first_threads(self) -> list[int]:
        """Steps at which a thread was started without an exception."""
        return []

    def _stack(self, step: int) -> str:
        """The stack that a thread uses at the start of a block."""
        assert self.log.starts_block(step)
        pointer = self.log.register(step, 13)
        for name, start, size in self.stacks:
            if start < pointer <= start + size:
                return name
        return "another"

    def number_of(self, segment: Segment) -> int | None:
        """Number of the exception that the segment is of."""
        if isinstance(segment.owner, str):
            return None
        return self.run.exceptions[segment.owner][2]

    def exception_of(self, window: Window) -> int | None:
        """Number of the one that it was executed in, if any."""
        return self.number_of(self.segment(window.steps[0]))

    def segment(self, step: int) -> Segment:
        return self.segments[bisect_right(self._starts, step) - 1]

    def follow(self, step: int) -> Iterator[Span]:
        """This step and those that the same activity executes after it."""
        number = bisect_right(self._starts, step) - 1
        owner = self.segments[number].owner
        yield step, self.segments[number].end
        own = self._of_owner[owner]
        for later in own[bisect_right(own, number) :]:
            yield self.segments[later].start, self.segments[later].end

    def back(self, step: int, address: int) -> Iterator[Span]:
        """The same steps up to where control and stack pointer are back: at ``address``, with the
        stack pointer of ``step``."""
        pointer = self.log.register(step, 13)
        for start, end in self.follow(step):
            at = start
            while True:
                try:
                    at = self.run.pcs.index(address, at, end)
                except ValueError:
                    yield start, end
                    break
                if self.log.register(at, 13) == pointer:
                    if at > start:
                        yield start, at
                    return
                at += 1
        raise NeverReturns(f"step {step}")

    def switched(self, before: Span, after: Span) -> bool:
        """A thread ran between these two spans of another one."""
        low = bisect_right(self._starts, before[1] - 1)
        high = bisect_right(self._starts, after[0]) - 1
        return any(isinstance(segment.owner, str) for segment in self.segments[low:high])

    # --- windows -----------------------------------------------------------------------------

    def windows(self) -> Iterator[Window]:
        """Every window, in the order of the marks."""
        base, size = self.listing.symbols[self.marks["symbol"]]
        channels = self.marks["channels"]
        names = {service["mark"]: name for name, service in self.services.items()}
        parameters: dict[tuple[str | int, int], int] = {}
        data = self.data
        marks = np.flatnonzero(
            (data.addresses >= base) & (data.addresses < base + size) & (data.words >= 8)
        )
        for step, address in zip(
            data.steps[marks].tolist(), data.addresses[marks].tolist(), strict=True
        ):
            channel, value = divmod(address - base, self.marks["values"])
            owner = self.segment(step).owner
            if channel == channels["begin"]:
                name = names[value]
                count = len(self.services[name].get("parameters", {}))
                values = tuple(parameters.pop((owner, number)) for number in range(count))
                others = {"handler": self._handler, "activation": self._activation}
                cut = others.get(self.services[name]["kind"], self._call)
                yield from cut(name, values, step)
            elif channel >= channels["first parameter"]:
                parameters[owner, channel - channels["first parameter"]] = value

    def _entry(self, name: str) -> int:
        (entry,) = self.services[name]["entries"]
        return self.listing.symbols[entry][0]

    def _ended(self, name: str, mark: int, *, own: bool = False) -> int:
        """Step of the end mark that follows a begin mark, or behind the run's last; ``own``: that
        the same activity leaves."""
        ends = self._ends.get(name)
        if ends is None:
            base, _ = self.listing.symbols[self.marks["symbol"]]
            end = base + self.marks["channels"]["end"] * self.marks["values"]
            at_end = self.data.addresses == end + self.services[name]["mark"]
            ends = self._ends[name] = self.data.steps[at_end].tolist()
        later = islice(ends, bisect_right(ends, mark), None)
        owner = self.segment(mark).owner
        found = (step for step in later if not own or self.segment(step).owner == owner)
        return next(found, len(self.pcs))

    def _entered(self, name: str, at: int, before: int) -> int | None:
        """Where the activity of step ``at`` enters a service next, behind that."""
        entry = self._entry(name)
        for start, end in self.follow(at):
            low, high = max(start, at + 1), min(end, before)
            if low >= before:
                break
            if entry in self.pcs[low:high]:
                return self.run.pcs.index(entry, low, high)
        return None

    def _call(self, name: str, values: tuple[int, ...], mark: int) -> Iterator[Window]:
        """The first behind the mark; where control comes back each time, all up to the end mark."""
        ended = self._ended(name, mark, own=True)
        first = self._entered(name, mark, ended)
        if first is None:
            raise NeverReturns(f"{name} is never entered")
        while first is not None:
            last = first
            for window in self._one_call(name, values, first):
                yield window
                last = window.steps[-1]
            plain = self.services[name]["kind"] == "call"
            first = self._entered(name, last, ended) if plain else None

    def _one_call(self, name: str, values: tuple[int, ...], first: int) -> Iterator[Window]:
        assert self.segment(first).owner != "another", f"{name}: whose stack is it?"
        kind = self.services[name]["kind"]
        spans: Iterator[Span]
        if kind == "final call":  # it never returns; its stack may be another thread's later
            spans = self.follow(first)
        else:
            spans = self.back(first, self.log.register(first, 14) & ~1)
        parts: list[list[int]] = [[]]
        before: Span | None = None
        unfinished = False
        try:
            for span in spans:
                if kind != "call" and before is not None and self.switched(before, span):
                    if kind == "final call":
                        break
                    parts.append([])
                parts[-1] += range(*span)
                before = span
        except NeverReturns:
            # The last part is one only if another thread went on behind it.
            unfinished = True
            own = self.segment(first).owner
            later = self.segments[bisect_right(self._starts, before[1] - 1) :] if before else []
            others = (s for s in later if isinstance(s.owner, str) and s.owner != own)
            if kind == "call" or not any(others):
                parts.pop()
        for number, steps in enumerate(parts):
            part = "/resume" if number == len(parts) - 1 and not unfinished else "/between"
            part = "" if kind == "call" else "/call" if number == 0 else part
            yield Window(name + part, values, steps)
        if unfinished:
            raise NeverReturns(name)
        assert (len(parts) > 1) == (kind == "blocking call"), f"{name} at {values}"

    def _handler(self, name: str, values: tuple[int, ...], mark: int) -> Iterator[Window]:
        """Every activation between the marks."""
        last = self._ended(name, mark)
        entry, numbers = self._entry(name), self.services[name].get("exceptions")
        seen = set()
        for segment in self.segments[bisect_right(self._starts, mark) :]:
            if segment.start > last:
                break
            number = self.number_of(segment)
            entered = number is not None and self.run.pcs[segment.start] == entry
            if not entered or (numbers and number not in numbers) or segment.owner in seen:
                continue
            seen.add(segment.owner)
            steps = [step for span in self.follow(segment.start) for step in range(*span)]
            window = Window(name, values, steps, exception=True)
            assert self._is_entry(window)
            yield window

    def _activation(self, name: str, values: tuple[int, ...], mark: int) -> Iterator[Window]:
        """The thread is the one whose stack its function was entered on first."""
        owner = self.segment(self.run.pcs.index(self._entry(name))).owner
        assert isinstance(owner, str)
        assert owner not in ("another", self.segment(mark).owner)
        own = self._of_owner[owner]
        begins = self.segments[own[bisect_right(own, bisect_right(self._starts, mark) - 1)]]
        steps: list[int] = []
        before: Span | None = None
        for span in self.follow(begins.start):
            if before is not None and self.switched(before, span):
                break
            steps += range(*span)
            before = span
        yield Window(name, values, steps)

    def _is_entry(self, window: Window) -> bool:
        """The window begins where the core enters a handler."""
        return True

    # --- blocking ----------------------------------------------------------------------------

    def _masks(self) -> npt.NDArray[np.int16]:
        """At each step, what BASEPRI and PRIMASK hold off (DDI 0403, B1.4.3)."""
        priority, all_interrupts = self._basepri(), self._primask()
        assert not (all_interrupts & (priority != 0)).any(), "a form of its own"
        return np.where(all_interrupts, ALL_INTERRUPTS, priority).astype(np.int16)

    def _primask(self) -> npt.NDArray[np.bool_]:
        """`cpsid i` sets it for what follows, `cpsie i` clears it (B5.2.1); exceptions leave it as
        it is. FAULTMASK is clear where no `cpsid f` was executed."""
        begins, values = [0], [False]
        changes = {a: line for a, line in self.listing.lines.items() if line.mnemonic[:3] == "cps"}
        for step in np.flatnonzero(np.isin(self.pcs, list(changes))).tolist():
            line = changes[self.run.pcs[step]]
            assert (line.mnemonic, line.operands) in CPS, line
            if line.operands == "i":
                begins.append(step + 1)
                values.append(line.mnemonic == "cpsid")
        return np.repeat(np.array(values), np.diff(begins, append=len(self.pcs)))

    def _basepri(self) -> npt.NDArray[np.int16]:
        lines = self.listing.lines
        writes = {}
        for address, line in lines.items():
            target, _, source = line.operands.lower().partition(", ")
            if line.mnemonic == "msr" and target in MASKS:
                assert target == "basepri", line
                writes[address] = NUMBERS[source]
        begins, values = [0], [0]
        for step in np.flatnonzero(np.isin(self.pcs, list(writes))).tolist():
            # The block that follows shows the register, which msr does not change.
            assert self.log.starts_block(step + 1)
            begins.append(step + 1)
            values.append(self.log.register(step + 1, writes[self.run.pcs[step]]) & 0xFF)
        return np.repeat(np.array(values, dtype=np.int16), np.diff(begins, append=len(self.pcs)))

    def _preemption(self, names: dict[str, list[str]]) -> npt.NDArray[np.bool_]:
        """At each step, whether the thread has locked the scheduler or a handler runs. A thread
        that was switched away when it was about to lock has not locked it for the others."""
        (lock,) = [self.listing.symbols[name][0] for name in names["lock"]]
        (unlock,) = [self.listing.symbols[name][0] for name in names["unlock"]]
        changes: dict[str | int, list[tuple[int, int]]] = {}
        for step in np.flatnonzero(self.pcs == lock).tolist():
            changes.setdefault(self.segment(step).owner, []).append((step, 1))
        for step in np.flatnonzero(self.pcs == unlock).tolist():
            changes.setdefault(self.segment(step).owner, []).append((self._unlocked(step), -1))
        self.deepest = 0
        found = np.zeros(len(self.pcs), dtype=bool)
        for owner, own in changes.items():
            own.sort()
            depth = 0
            for number, (step, change) in enumerate(own):
                depth += change
                assert depth >= 0, f"step {step}: unlocked more often than locked"
                self.deepest = max(depth, self.deepest)
                until = own[number + 1][0] if number + 1 < len(own) else len(self.pcs)
                if depth:
                    for start, end in self._within(owner, step, until):
                        found[start:end] = True
        for segment in self.segments:
            if isinstance(segment.owner, int):
                found[segment.start : segment.end] = True
        return found

    def _within(self, owner: str | int, low: int, high: int) -> Iterator[Span]:
        """What of the steps low..high-1 an activity executed."""
        own = self._of_owner[owner]
        at = bisect_left(own, bisect_right(self._starts, low) - 1)
        for segment in (self.segments[number] for number in islice(own, at, None)):
            if segment.start >= high:
                return
            yield max(segment.start, low), min(segment.end, high)

    def _unlocked(self, step: int) -> int:
        """Where the scheduler is locked once less: behind the function's return, or where another
        thread gets the processor, which shows that it is not locked any more."""
        before: Span | None = None
        for span in self.back(step, self.log.register(step, 14) & ~1):
            if before is not None and self.switched(before, span):
                break
            before = span
        assert before is not None
        return before[1]

    def blocking(self, steps: list[int]) -> list[Blocking]:
        masks, preemption = self.masks[steps].tolist(), self.preemption[steps].tolist()
        pairs = list(zip(masks, preemption, strict=True))
        forms = {pair: (pair[0] or None, pair[1]) for pair in set(pairs)}
        return [forms[pair] for pair in pairs]

    # --- counting ----------------------------------------------------------------------------

    def count(self, window: Window, apart: bool = False) -> Counted:
        """All counts of a window by blocking form, and its blocking stretches; these ``apart`` for
        each instruction if that is asked for."""
        own = self._executed(window)
        everything = 0, len(own.pcs)
        more = list(self._realigned_in(own, everything))
        counts = self._by_form(own, everything, more)
        number = self.exception_of(window)
        found = Counted(window.service, window.values, window.steps, number, own.forms, counts)
        whole: list[Stretch] = []
        parts: list[Stretch] = []
        supervisor_calls = [n for n, pc in enumerate(own.pcs) if pc in self._supervisor_calls]
        held = [*self._held(window.steps, own)]
        masked = [span for kind, span in held if kind == "interrupts"]
        for kind, (first, behind) in held:
            whole.append(self._stretch(kind, (first, behind), own))
            calls = [n + 1 for n in supervisor_calls if first <= n < behind]
            for begin in (first, *calls):
                # Behind a switch the scheduler is not locked, but interrupts may be masked.
                let_in = [b for a, b in masked if a <= begin < b] if begin in calls else [behind]
                until = min(behind, *let_in) if let_in else begin
                for end in sorted({*calls, until}):
                    if begin < end <= until and (begin, end) != (first, behind):
                        part = self._stretch(kind, (begin, end), own)
                        parts.append(part)
                        thread, handler = begin in calls, end in calls
                        executed = frozenset(own.pcs[begin:end])
                        found.joined.append(Joined(kind, part.by_key, executed, thread, handler))
        found.stretches = [(stretch.kind, stretch.by_key) for stretch in whole]
        found.executed = [set(own.pcs[slice(*stretch.at)]) for stretch in whole]
        found.places, found.parts = (list(self._places(one, own)) for one in (whole, parts))
        if apart:
            merged = self._merged(whole, own), self._merged(parts, own)
            found.apart = InParts(self._by_address(own, everything, more), *merged)
        return found

    def _by_form(self, own: Executed, span: Span, realigned: Realigned) -> Counts:
        """What is counted at these positions."""
        found: dict[tuple[Blocking, Key], int] = {}
        part = slice(*span)
        does = Counter(zip(own.forms[part], own.does[part], strict=True))
        for (form, number), times in does.items():
            for key in self.known[number]:
                found[form, key] = found.get((form, key), 0) + times
        for at, keys in realigned:
            for key in keys:
                found[own.forms[at], key] = found.get((own.forms[at], key), 0) + 1
        return Counter(found)

    def _by_address(self, own: Executed, span: Span, realigned: Realigned) -> Apart:
        """The same for each instruction."""
        found: dict[tuple[Blocking, int, Key], int] = {}
        part = slice(*span)
        does = Counter(zip(own.forms[part], own.pcs[part], own.does[part], strict=True))
        for (form, pc, number), times in does.items():
            for key in self.known[number]:
                found[form, pc, key] = found.get((form, pc, key), 0) + times
        for at, keys in realigned:
            for key in keys:
                entry = own.forms[at], own.pcs[at], key
                found[entry] = found.get(entry, 0) + 1
        return Counter(found)

    def _same_ends(self, stretches: list[Stretch]) -> Iterator[tuple[Place, Place, list[Stretch]]]:
        """Stretches with the same ends: these, as they are published, and the stretches."""
        same: dict[Place, list[Stretch]] = {}
        for stretch in stretches:
            same.setdefault(stretch.ends, []).append(stretch)
        for ends, those in same.items():
            kind, first, entered, last, left = ends
            to_first, to_last = (any(stretch.led[n] for stretch in those) for n in (0, 1))
            place = (kind, first, entered if to_first else None, last, left if to_last else None)
            yield ends, place, those

    def _merged(self, stretches: list[Stretch], own: Executed) -> list[tuple[Place, Place, Apart]]:
        """The largest count of each instruction in those that have the same ends."""
        found = []
        for ends, place, those in self._same_ends(stretches):
            each = [self._by_address(own, one.at, one.realigned) for one in those]
            found.append((ends, place, reduce(or_, each)))
        return found

    def _places(self, stretches: list[Stretch], own: Executed) -> Iterator[tuple[Place, Counts]]:
        """The same, all instructions together."""
        for _, place, those in self._same_ends(stretches):
            if len(those) == 1:
                yield place, those[0].counts
            else:
                ((_, _, largest),) = self._merged(those, own)
                yield place, summed(largest)

    def _executed(self, window: Window) -> Executed:
        """What a step counts depends on few others: the instructions up to two before it, whether
        the core fetched anew behind these and itself, and the sections of its accesses. What each
        such combination counts is found out once."""
        steps = window.steps
        pcs = self.pcs[steps].tolist()
        ends = [not self._follows(pc, after) for pc, after in pairwise(pcs)]
        last = self.listing.lines[pcs[-1]]
        ends.append(last.jumps or last.event == "barrier")
        # Addresses are even: the lowest bit is free to say that the core fetches anew behind it.
        codes = [pc | end for pc, end in zip(pcs, ends, strict=True)]
        accesses = self._accessed(steps)
        hints = self._hints
        does = []
        for at, step in enumerate(steps):
            low = max(at - 2, 0)
            while low and pcs[low] in hints:
                low -= 1
            done = tuple(codes[low : at + 1]), accesses[at]
            number = self._does.get(done)
            if number is None:
                number = self._does[done] = self._number_of((*self._rows(done[0], step),))
            does.append(number)
        if window.exception:
            for step, key in self._frame(window):
                at = bisect_left(steps, step)
                does[at] = self._number_of((*self.known[does[at]], key))
        cuts = [0, *(n + 1 for n, end in enumerate(ends[:-1]) if end), len(pcs)]
        calls = [n for n, pc in enumerate(pcs) if pc in self._calls]
        return Executed(pcs, self.blocking(steps), does, list(pairwise(cuts)), calls)

    def _number_of(self, keys: tuple[Key, ...]) -> int:
        number = self._number.setdefault(keys, len(self.known))
        if number == len(self.known):
            self.known.append(keys)
        return number

    def _accessed(self, steps: list[int]) -> list[bytes]:
        """Each step's accesses: directions, widths, sections, and what is misaligned."""
        low, high = self.data.bounds(np.array(steps, dtype=np.int64))
        behind = np.cumsum(high - low)
        total = int(behind[-1])
        which = np.arange(total) + np.repeat(high - behind, high - low)
        words, addresses = self.data.words[which], self.data.addresses[which]
        kinds = np.stack(
            (
                words.astype(np.int16),
                self._sections.of(addresses),
                (addresses & ((1 << (words & 7)) - 1)).astype(np.int16),
            ),
            axis=1,
        ).tobytes()
        ends = (behind * (len(kinds) // total if total else 0)).tolist()
        return [kinds[a:b] for a, b in pairwise([0, *ends])]

    def _follows(self, address: int, after: int) -> bool:
        """The instruction at ``after`` comes next without a transfer of control or a barrier."""
        found = self._goes_on.get((address, after))
        if found is None:
            found = self._goes_on[address, after] = _goes_on(self.listing.lines[address], after)
        return found

    def _rows(self, done: tuple[int, ...], step: int) -> Iterator[Key]:
        """What is counted once at a step, realigned fetches excepted. ``done``: addresses of the
        instructions up to this one, with 1 where the core fetches anew behind it."""
        line = self.line(step)
        ended = bool(done[-1] & 1)
        accesses = self.data.at(step)
        event = self._event(line, line.jumps and ended, bool(accesses))
        # A branch that falls through may have had its target fetched.
        to = target_of(line) if event == "branch untaken" else None
        yield self.section(line.address if to is None else to), event
        yield from self._accesses(line, accesses)
        where = self.section(line.address)
        if ended:
            yield where, "pipeline refill"
        anew = len(done) == 1 or bool(done[-2] & 1)
        yield from self._fetches(line, anew)
        program, count = self._stall_count
        those = [(program[code & ~1], bool(code & 1)) for code in done]
        yield from ((where, kind) for at, kind in count.of(those) if at == len(those) - 1)

    def _program(self) -> stall_text.Program:
        """What is to be known of each instruction to count stalls."""
        return stall_text.arm(self.listing.lines)

    @cached_property
    def _stall_count(self) -> tuple[stall_text.Program, StallCount]:
        program = self._program()
        return program, StallCount(program)

    def _fetches(self, line: Line, anew: bool) -> Iterator[Key]:
        """Of words that no instruction before it in the same run needed."""
        words = (line.end - 1) // FETCH_BYTES - line.address // FETCH_BYTES + 1
        if not anew and line.address % FETCH_BYTES:
            words -= 1
        for number in range(words):
            pattern = "next" if number or not anew else "first"
            yield self.section(line.address), "fetch", "32", pattern

    def _event(self, line: Line, jumped: bool, accessed: bool) -> str:
        if line.event == "branch untaken" and jumped:
            return "branch taken"
        if line.predicated:
            transfers = line.reads + line.writes > 0
            if (transfers and not accessed) or (line.always and not jumped):
                return "branch untaken" if line.mnemonic == "b" else "skipped"
        return line.event

    def _realigned_in(self, own: Executed, span: Span) -> Iterator[tuple[int, tuple[Key, ...]]]:
        """(position, keys) of the fetches more that runs, or what of them lies within the span,
        need at the worst address."""
        low, high = span
        at = bisect_right(own.runs, low, key=itemgetter(0)) - 1
        for start, end in islice(own.runs, at, None):
            if start >= high:
                return
            first, behind = max(start, low), min(end, high)
            # Where a run begins and how many instructions it has says all of them.
            which = own.pcs[start], end - start, first - start, behind - start
            keys = self._more.get(which)
            if keys is None:
                run = own.pcs[start:end]
                keys = self._more[which] = (*self._realigned(run, range(*which[2:])),)
            if keys:
                yield behind - 1, keys

    def _words(self, run: list[int], shift: int) -> Iterator[tuple[int, int]]:
        """(position that needs it first, word) that a run fetches, linked ``shift`` bytes
        higher."""
        last = -1
        for at, address in enumerate(run):
            line = self.listing.lines[address]
            low, high = line.address + shift, line.end - 1 + shift
            for word in range(low // FETCH_BYTES, high // FETCH_BYTES + 1):
                if word > last:
                    last = word
                    yield at, word

    def _realigned(self, run: list[int], part: range) -> list[Key]:
        """Fetches more that ``part`` of a run needs at the worst address."""
        needed = [
            sum(at in part for at, _ in self._words(run, shift))
            for shift in range(0, FETCH_BYTES, HALFWORD)
        ]
        where = self.section(run[part[-1]])
        return [(where, "fetch", "32", "realigned")] * (max(needed) - needed[0])

    def _accesses(self, line: Line, accesses: list[tuple[bool, int, int]]) -> Iterator[Key]:
        if line.predicated and not accesses:
            return
        assert len(accesses) == line.reads + line.writes, line
        for number, (write, size, address) in enumerate(accesses):
            assert (write, size) == (line.writes > 0, line.width), line
            assert address % size == 0, "a misaligned access"
            pattern = "single" if len(accesses) == 1 else "next" if number else "first"
            operation = "write" if write else "read"
            yield (self.section_of_data(line, address), operation, str(8 * size), pattern)

    def _entry_event(self, window: Window) -> str:
        """The event of its entry."""
        served = self.services[window.service].get("exceptions")
        calls = bool(served) and not set(served) - self.supervisor_calls
        return "supervisor call entry" if calls else "exception entry"

    def _frame(self, window: Window) -> Iterator[tuple[int, Key]]:
        """What the core does by itself around a handler that interrupted a thread (DDI 0403, B1.5.6
        to B1.5.8): eight registers saved and restored, one vector read."""
        steps = window.steps
        first, last = steps[0], steps[-1]
        stack = self.hardware["task stack"]
        yield first, ("?", self._entry_event(window))
        yield last, (self.section(self.run.pcs[last]), "exception exit")
        yield first, (self.hardware["vector section"], "read", "32", "single")
        for number in range(8):
            pattern = "next" if number else "first"
            yield first, (stack, "write", "32", pattern)
            yield last, (stack, "read", "32", pattern)
        yield from self._float_frame(steps)

    def _float_frame(self, steps: list[int]) -> Iterator[tuple[int, Key]]:
        """s0 to s15 and FPSCR (DDI 0403, B1.5.7), with lazy preservation: bit 4 of EXC_RETURN is
        clear where a frame has room for them; the handler's first floating-point instruction
        writes them, and what was written is read back."""
        first, last = steps[0], steps[-1]
        stack = self.hardware["task stack"]
        interrupted = self.log.register(first, 14)
        assert interrupted >> 8 == 0xFFFFFF
        goes_on = self.log.returns.get(last + 1, interrupted)
        floats = [s for s in steps if self._is_float(s)]
        words = ("first", *["next"] * 16)
        if floats and not interrupted & 0x10:
            yield floats[0], (self.section(self.run.pcs[floats[0]]), "float context save")
            yield from ((floats[0], (stack, "write", "32", pattern)) for pattern in words)
        # A handler without floating-point instructions leaves the registers where they are.
        if floats and not goes_on & 0x10:
            yield last, (self.section(self.run.pcs[last]), "float context restore")
            yield from ((last, (stack, "read", "32", pattern)) for pattern in words)

    def _is_float(self, step: int) -> bool:
        line = self.line(step)
        return line.mnemonic.startswith("v") and (not line.predicated or step in self.data)

    def _held(self, steps: list[int], own: Executed) -> Iterator[tuple[str, Span]]:
        """Longest unbroken sequences of own steps under a mask, or without preemption, by position;
        another thread breaks them, a handler that comes back does not."""
        switched = self._switches(steps)
        same = [(form, len(list(group))) for form, group in groupby(own.forms)]
        for kind in ("interrupts", "preemption"):
            holds: list[bool] = []
            for (mask, preemption), length in same:
                held = mask is not None or (preemption and kind == "preemption")
                holds += [held] * length
            self._too_shortly(holds, own, kind)
            changes = np.flatnonzero(np.diff(holds)) + 1
            cuts = sorted({0, *changes.tolist(), *switched, len(steps)})
            yield from ((kind, (a, b)) for a, b in pairwise(cuts) if holds[a])

    def _too_shortly(self, holds: list[bool], own: Executed, kind: str) -> None:
        """What is let in for one own step or two, of which the last one masks again, or calls a
        handler that is masked, still holds."""
        masked = kind == "interrupts" and self.masks_in_handlers
        begin = 0
        for held, group in groupby(holds[:]):
            end = begin + len(list(group))
            if begin and not held:  # something held before it
                called = [
                    n + 1
                    for n in range(begin, min(begin + 2, end))
                    if masked and own.pcs[n] in self._supervisor_calls
                ]
                short = end - begin <= 2 and end < len(holds)
                until = end if short else max(called, default=begin)
                holds[begin:until] = [True] * (until - begin)
            begin = end

    def _switches(self, steps: list[int]) -> list[int]:
        """Positions of the steps before which another thread ran."""
        behind = (np.flatnonzero(np.diff(steps) > 1) + 1).tolist()
        return [
            at
            for at in behind
            if self.switched((steps[at - 1], steps[at - 1] + 1), (steps[at], steps[at] + 1))
        ]

    def _stretch(self, kind: str, span: Span, own: Executed) -> Stretch:
        first, last = span[0], span[1] - 1
        realigned = list(self._realigned_in(own, span))
        entered, left = self._called(own, first), self._called(own, last)
        pcs = own.pcs
        return Stretch(
            kind,
            pcs[first],
            pcs[last],
            None if entered is None else pcs[entered],
            None if left is None else pcs[left],
            led=(self._led(own, entered, first), self._led(own, left, last)),
            at=span,
            realigned=realigned,
            counts=self._by_form(own, span, realigned),
        )

    def _called(self, own: Executed, at: int) -> int | None:
        """The window's last call before a position."""
        number = bisect_left(own.calls, at)
        return own.calls[number - 1] if number else None

    def _led(self, own: Executed, call: int | None, at: int) -> bool:
        """To the function that position ``at`` lies in, maybe through a veneer of three
        instructions."""
        if call is None:
            return False
        return self._function(own.pcs[at]) in own.pcs[call + 1 : call + 5]

    def _function(self, address: int) -> int | None:
        if address not in self._function_at:
            found = (s for _, s, size in self.listing.objects if s <= address < s + size)
            self._function_at[address] = next(found, None)
        return self._function_at[address]


def _goes_on(line: Line, after: int) -> bool:
    """Behind a line.

    A jump is one also where it leads to the very next instruction; of a conditional one that has it
    as its target nobody can tell whether it was taken, and that it was is the dearer.
    """
    if line.event == "barrier":
        return False
    if line.jumps and (after != line.end or (line.always and not line.predicated)):
        return False
    assert after == line.end, f"{line} is followed by {after:#x}"
    return not line.jumps or target_of(line) != line.end


def summed(apart: Apart) -> Counts:
    """Of all instructions together."""
    total: Counts = Counter()
    for (form, _, key), times in apart.items():
        total[form, key] += times
    return total


class TrapMachine(Machine):
    """One entry serves several exceptions, told by their number; no frame; masks are read from the
    status register and hold off all interrupts."""

    masks_in_handlers = True

    def _masks(self) -> npt.NDArray[np.int16]:
        return np.where(self._masked(), ALL_INTERRUPTS, 0).astype(np.int16)

    def _masked(self) -> npt.NDArray[np.bool_]:
        """At each step."""
        raise NotImplementedError

    def _frame(self, window: Window) -> Iterator[tuple[int, Key]]:
        first, last = window.steps[0], window.steps[-1]
        yield first, ("?", self._entry_event(window))
        yield last, (self.section(self.run.pcs[last]), "exception exit")


class _Sections:
    """Logical sections of many addresses at once, by number."""

    def __init__(self, logical: list[tuple[str, int, int]]) -> None:
        self._bounds = np.array(sorted({0, *(at for _, *ends in logical for at in ends)}))
        found: dict[tuple[str, ...], int] = {}
        names = [
            tuple(name for name, start, end in logical if start <= bound < end)
            for bound in self._bounds.tolist()
        ]
        numbers = [found.setdefault(one, len(found)) for one in names]
        self._numbers = np.array(numbers, dtype=np.int16)

    def of(self, addresses: npt.NDArray[np.uint32]) -> npt.NDArray[np.int16]:
        return self._numbers[np.searchsorted(self._bounds, addresses, side="right") - 1]


_TARGET = re.compile(r"\b([0-9a-f]+)(?: <[^>]*>)?$")


@cache
def target_of(line: Line) -> int | None:
    """Where a jump or call leads that names it; ``None``: it goes through a register."""
    if line.event not in ("call", "branch taken", "branch untaken") or "{" in line.operands:
        return None
    found = _TARGET.search(line.operands)
    return int(found[1], 16) if found else None


def _stacks(listing: Listing) -> Iterator[tuple[str, int, int]]:
    """(name, start, size). The helpers' are an array of stacks as large as the idle task's."""
    size_of_one = listing.symbols["idle_stack"][1]
    for name, start, size in listing.objects:
        if "stack" not in name or not size:
            continue
        one = size_of_one if name == "stacks" else size
        assert size % one == 0, name
        for number in range(size // one):
            at = start + number * one
            yield f"{name} {at:#x}", at, one


def _either(sections: dict[str, Any]) -> dict[str, str]:
    """Each section that a joint one names -> the joint one, which has no addresses of its own."""
    found: dict[str, str] = {}
    for joint, section in sections.items():
        names = section.get("either of", [])
        assert not names or section.keys() <= {"kind", "either of", "meaning"}, joint
        assert len(set(names)) == len(names) != 1, joint
        for name in names:
            assert "either of" not in sections[name], name
            assert name not in found, f"{name} is in {found[name]} and {joint}"
            found[name] = joint
    return found


def _logical(listing: Listing, sections: dict[str, Any]) -> list[tuple[str, int, int]]:
    """(logical section, start, end) by readelf's section headers."""
    units = {"": 1, "KiB": 1024, "MiB": 1 << 20}
    found = []
    for name, section in sections.items():
        assert "symbols" not in section
        optional = section.get("optional linker sections", [])
        there = [linker for linker in optional if linker in listing.sections]
        for linker in [*section.get("linker sections", []), *there]:
            start, size = listing.sections[linker]
            found.append((name, start, start + size))
        for span in section.get("address ranges", []):
            count, _, unit = str(span["size"]).partition(" ")
            found.append((name, span["base"], span["base"] + int(count) * units[unit]))
    return found
