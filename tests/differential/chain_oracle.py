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
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import groupby, islice
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
class Stretch:
    """``entered``, ``left``: addresses of the window's last calls before its first and its last
    instruction, if they led to the functions that these lie in; ``counts``: by address of the
    instruction."""

    kind: str
    first: int
    last: int
    entered: int | None
    left: int | None
    led: tuple[bool, bool]
    counts: Apart

    @property
    def ends(self) -> Place:
        return (self.kind, self.first, self.entered, self.last, self.left)

    @property
    def by_key(self) -> Counter[Key]:
        found: Counter[Key] = Counter()
        for (_, _, key), count in self.counts.items():
            found[key] += count
        return found


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
        return [(mask or None, held) for mask, held in zip(masks, preemption, strict=True)]

    # --- counting ----------------------------------------------------------------------------

    def count(self, window: Window, apart: bool = False) -> Counted:
        """All counts of a window by blocking form, and its blocking stretches; these ``apart`` for
        each instruction if that is asked for."""
        rows: dict[int, list[Key]] = {step: [] for step in window.steps}
        runs = list(self._runs(window.steps))
        for step, key in self._rows(window, runs):
            rows[step].append(key)
        forms = self.blocking(window.steps)
        at = dict(zip(window.steps, forms, strict=True))
        counts = Counter((at[step], key) for step, keys in rows.items() for key in keys)
        for run in runs:
            counts.update((at[run[-1]], key) for key in self._realigned(run, run))
        number = self.exception_of(window)
        found = Counted(window.service, window.values, window.steps, number, forms, counts)
        whole: list[Stretch] = []
        parts: list[Stretch] = []
        for kind, steps in self._held(at):
            whole.append(self._stretch(kind, steps, rows, runs, at))
            calls = [n for n, s in enumerate(steps) if self.line(s).event == "supervisor call"]
            for begin in (0, *(n + 1 for n in calls)):
                for end in (*(n + 1 for n in calls), len(steps)):
                    if begin < end and (begin, end) != (0, len(steps)):
                        parts.append(self._stretch(kind, steps[begin:end], rows, runs, at))
        found.stretches = [(stretch.kind, stretch.by_key) for stretch in whole]
        found.executed = [{address for _, address, _ in stretch.counts} for stretch in whole]
        merged = self._merged(whole), self._merged(parts)
        found.places, found.parts = ([(p, summed(c)) for _, p, c in one] for one in merged)
        if apart:
            pcs = self.run.pcs
            own = Counter((at[step], pcs[step], key) for step, keys in rows.items() for key in keys)
            for run in runs:
                own.update((at[run[-1]], pcs[run[-1]], key) for key in self._realigned(run, run))
            found.apart = InParts(own, *merged)
        return found

    def _merged(self, stretches: list[Stretch]) -> list[tuple[Place, Place, Apart]]:
        found: list[tuple[Place, Place, Apart]] = []
        merged: dict[Place, Apart] = {}
        led: dict[Place, tuple[bool, bool]] = {}
        for stretch in stretches:
            ends = stretch.ends
            merged[ends] = merged.get(ends, Counter()) | stretch.counts
            known = led.get(ends, (False, False))
            led[ends] = known[0] or stretch.led[0], known[1] or stretch.led[1]
        for ends, largest in merged.items():
            kind, first, entered, last, left = ends
            assert isinstance(first, int)
            assert isinstance(last, int)
            to_first, to_last = led[ends]
            place = (kind, first, entered if to_first else None, last, left if to_last else None)
            found.append((ends, place, largest))
        return found

    def _follows(self, step: int, after: int) -> bool:
        """The instruction at ``after`` comes next without a transfer of control or a barrier.

        A jump is one also where it leads to the very next instruction; of a conditional one that
        has it as its target nobody can tell whether it was taken, and that it was is the dearer.
        """
        line = self.line(step)
        if line.event == "barrier":
            return False
        if line.jumps and (after != line.end or (line.always and not line.predicated)):
            return False
        assert after == line.end, f"{line} is followed by {after:#x}"
        return not line.jumps or target_of(line) != line.end

    def _runs(self, steps: list[int]) -> Iterator[list[int]]:
        """Stretches of instructions that the core fetches one after the other."""
        run: list[int] = []
        for step in steps:
            if run and not self._follows(run[-1], self.run.pcs[step]):
                yield run
                run = []
            run.append(step)
        yield run

    def _rows(self, window: Window, runs: list[list[int]]) -> Iterator[tuple[int, Key]]:
        """(step, what is counted once there), realigned fetches excepted."""
        for run in runs:
            for step in run:
                line = self.line(step)
                accesses = self.data.at(step)
                jumped = line.jumps and step == run[-1]
                event = self._event(line, jumped, bool(accesses))
                # A branch that falls through may have had its target fetched.
                to = target_of(line) if event == "branch untaken" else None
                yield step, (self.section(line.address if to is None else to), event)
                yield from ((step, key) for key in self._accesses(line, accesses))
            last = self.line(run[-1])
            if last.jumps or last.event == "barrier":
                yield run[-1], (self.section(last.address), "pipeline refill")
            else:
                assert run is runs[-1], last
            yield from self._fetches(run)
        yield from self._stalls(runs)
        if window.exception:
            yield from self._frame(window.steps)

    def _program(self) -> stall_text.Program:
        """What is to be known of each instruction to count stalls."""
        return stall_text.arm(self.listing.lines)

    @cached_property
    def _stall_count(self) -> tuple[stall_text.Program, StallCount]:
        program = self._program()
        return program, StallCount(program)

    def _stalls(self, runs: list[list[int]]) -> Iterator[tuple[int, Key]]:
        program, count = self._stall_count
        ends = {run[-1] for run in runs[:-1]}
        last = self.line(runs[-1][-1])
        if last.jumps or last.event == "barrier":
            ends.add(runs[-1][-1])
        steps = [step for run in runs for step in run]
        done = [(program[self.run.pcs[step]], step in ends) for step in steps]
        for at, kind in count.of(done):
            yield steps[at], (self.section(self.run.pcs[steps[at]]), kind)

    def _fetches(self, run: list[int]) -> Iterator[tuple[int, Key]]:
        for number, (step, _) in enumerate(self._words(run, 0)):
            where = self.section(self.run.pcs[step])
            yield step, (where, "fetch", "32", "next" if number else "first")

    def _event(self, line: Line, jumped: bool, accessed: bool) -> str:
        if line.event == "branch untaken" and jumped:
            return "branch taken"
        if line.predicated:
            transfers = line.reads + line.writes > 0
            if (transfers and not accessed) or (line.always and not jumped):
                return "branch untaken" if line.mnemonic == "b" else "skipped"
        return line.event

    def _words(self, run: list[int], shift: int) -> Iterator[tuple[int, int]]:
        """(step that needs it first, word) that a run fetches, linked ``shift`` bytes higher."""
        last = -1
        for step in run:
            line = self.line(step)
            low, high = line.address + shift, line.end - 1 + shift
            for word in range(low // FETCH_BYTES, high // FETCH_BYTES + 1):
                if word > last:
                    last = word
                    yield step, word

    def _realigned(self, run: list[int], part: Collection[int]) -> list[Key]:
        """Fetches more that ``part`` of a run needs at the worst address."""
        needed = [
            sum(step in part for step, _ in self._words(run, shift))
            for shift in range(0, FETCH_BYTES, HALFWORD)
        ]
        where = self.section(self.run.pcs[max(part)])
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

    def _frame(self, steps: list[int]) -> Iterator[tuple[int, Key]]:
        """What the core does by itself around a handler that interrupted a thread (DDI 0403, B1.5.6
        to B1.5.8): eight registers saved and restored, one vector read."""
        first, last = steps[0], steps[-1]
        stack = self.hardware["task stack"]
        yield first, ("?", "exception entry")
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

    def _held(self, forms: dict[int, Blocking]) -> Iterator[tuple[str, list[int]]]:
        """Longest unbroken sequences of own steps under a mask, or without preemption; another
        thread breaks them, a handler that comes back does not."""
        parts = self._parts(forms)
        for kind in ("interrupts", "preemption"):
            holds = {
                step: mask is not None or (preemption and kind == "preemption")
                for step, (mask, preemption) in forms.items()
            }
            self._too_shortly(holds, kind)
            for _, group in groupby(forms, lambda step, holds=holds: (holds[step], parts[step])):
                steps = list(group)
                if holds[steps[0]]:
                    yield kind, steps

    def _too_shortly(self, holds: dict[int, bool], kind: str) -> None:
        """What is let in for one own step or two, of which the last one masks again, or calls a
        handler that is masked, still holds."""
        let_in: list[int] = []
        ever = False
        for step, held in list(holds.items()):
            if held:
                if ever and len(let_in) <= 2:
                    holds.update(dict.fromkeys(let_in, True))
                let_in, ever = [], True
                continue
            let_in.append(step)
            called = self.line(step).event == "supervisor call" and self.masks_in_handlers
            if ever and len(let_in) <= 2 and called and kind == "interrupts":
                holds.update(dict.fromkeys(let_in, True))

    def _parts(self, own: Collection[int]) -> dict[int, int]:
        """Each step with how often another thread ran before it."""
        parts: dict[int, int] = {}
        last, part = None, 0
        for step in own:
            if last is not None and step > last + 1:
                part += self.switched((last, last + 1), (step, step + 1))
            parts[step] = part
            last = step
        return parts

    def _stretch(
        self,
        kind: str,
        steps: list[int],
        rows: dict[int, list[Key]],
        runs: list[list[int]],
        forms: dict[int, Blocking],
    ) -> Stretch:
        counts = Counter(
            (forms[step], self.run.pcs[step], key) for step in steps for key in rows[step]
        )
        inside = set(steps)
        for run in runs:
            if run[-1] < steps[0] or run[0] > steps[-1]:
                continue
            part = {step for step in run if step in inside}
            last = max(part)
            counts.update(
                (forms[last], self.run.pcs[last], key) for key in self._realigned(run, part)
            )
        pcs = self.run.pcs
        entered, left = self._called(rows, steps[0]), self._called(rows, steps[-1])
        calls = [None if call is None else pcs[call] for call in (entered, left)]
        led = self._led(rows, entered, steps[0]), self._led(rows, left, steps[-1])
        return Stretch(kind, pcs[steps[0]], pcs[steps[-1]], *calls, led, counts)

    def _called(self, own: Collection[int], step: int) -> int | None:
        """The window's last call before a step."""
        before = (s for s in own if s < step and self.line(s).event.startswith("call"))
        return max(before, default=None)

    def _led(self, own: Collection[int], call: int | None, step: int) -> bool:
        """To the function that ``step`` lies in, maybe through a veneer of three instructions."""
        if call is None:
            return False
        behind = sorted(one for one in own if one > call)[:4]
        return self._function(self.run.pcs[step]) in (self.run.pcs[one] for one in behind)

    def _function(self, address: int) -> int | None:
        if address not in self._function_at:
            found = (s for _, s, size in self.listing.objects if s <= address < s + size)
            self._function_at[address] = next(found, None)
        return self._function_at[address]


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

    def _frame(self, steps: list[int]) -> Iterator[tuple[int, Key]]:
        first, last = steps[0], steps[-1]
        yield first, ("?", "exception entry")
        yield last, (self.section(self.run.pcs[last]), "exception exit")


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
