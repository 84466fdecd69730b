"""An independent count of every service window: objdump's text, QEMU's log, addresses of accesses.

What is counted, and how, is stated by docs and model; the way here is another one than wcetchar's:

* A call's window ends where the program counter is back at the return address *and the stack
  pointer* is what it was. wcetchar's traces have no stack pointer, so it follows calls instead.
* Threads are told apart by which stack the stack pointer is in; wcetchar goes by the addresses that
  the context switch saves registers to.
* Values written to BASEPRI are read in the log; wcetchar follows them through registers and memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from chain_listing import BARRIERS, Line, Listing
from chain_log import Log
from chain_stream import Run

Blocking = tuple[int | None, bool]
"""(BASEPRI where it masks, whether preemption is held off)."""
Key = tuple[str, ...]
"""(section, operation, width, pattern) or (section, event)."""
Counts = Counter[tuple[Blocking, Key]]

MASKS = {"primask", "faultmask", "basepri", "basepri_max"}
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
    kind: str
    first: int
    last: int
    """Addresses of its first and last instruction."""
    entered: int | None
    left: int | None
    """Addresses of the calls that led into the functions of the first and the last one, where the
    window's last call before them did."""
    counts: Counter[Key]

    @property
    def place(self) -> tuple[str | int | None, ...]:
        return (self.kind, self.first, self.entered, self.last, self.left)


@dataclass(frozen=True)
class Segment:
    """Steps start..end-1 that one activity executed without being interrupted.

    ``owner``: the thread's stack, or the number of the exception's entry.
    """

    start: int
    end: int
    owner: str | int


class Machine:
    """The run, with everything that the windows need looked up once."""

    def __init__(self, listing: Listing, log: Log, run: Run, services: dict[str, Any]) -> None:
        self.listing, self.log, self.run = listing, log, run
        self.services = services["services"]
        self.marks = services["marks"]
        self.hardware = services["hardware"]
        self.logical = _logical(listing, services["sections"])
        self._section_at: dict[int, str] = {}
        self.segments = list(self._segments())
        self._starts = [segment.start for segment in self.segments]
        self.masks = list(self._masks())
        self.locks = list(self._locks(services["scheduler lock"]))

    # --- who executes, and where -------------------------------------------------------------

    def section(self, address: int) -> str:
        name = self._section_at.get(address)
        if name is None:
            names = [n for n, start, end in self.logical if start <= address < end]
            assert len(names) == 1, f"{address:#x}: {names}"
            name = self._section_at[address] = names[0]
        return name

    def line(self, step: int) -> Line:
        return self.listing.lines[self.run.pcs[step]]

    def _segments(self) -> Iterator[Segment]:
        nested: list[int] = []
        bounds = [*self.run.exceptions, (len(self.run.pcs), True, 0)]
        start = 0
        for number, (end, entered, _) in enumerate(bounds):
            if end > start:
                yield Segment(start, end, nested[-1] if nested else self._stack(start))
            start = end
            if entered:
                nested.append(number)
            else:
                nested.pop()

    def _stack(self, step: int) -> str:
        """Name of the stack that a thread uses at the start of a block."""
        assert self.log.starts_block(step)
        pointer = self.log.register(step, 13)
        for name, (start, size) in self.listing.symbols.items():
            if "stack" in name and start < pointer <= start + size:
                return name
        return "another"

    def _segment(self, step: int) -> Segment:
        return self.segments[bisect_right(self._starts, step) - 1]

    def follow(self, step: int) -> Iterator[int]:
        """This step and those that the same activity executes after it."""
        number = bisect_right(self._starts, step) - 1
        owner = self.segments[number].owner
        yield from range(step, self.segments[number].end)
        for segment in islice(self.segments, number + 1, None):
            if segment.owner == owner:
                yield from range(segment.start, segment.end)

    def back(self, step: int, address: int) -> Iterator[int]:
        """The same steps up to where control and stack pointer are back: at ``address``, with the
        stack pointer of ``step``."""
        pointer = self.log.register(step, 13)
        for own in self.follow(step):
            if self.run.pcs[own] == address and self.log.register(own, 13) == pointer:
                return
            yield own
        raise AssertionError(f"step {step} never returns")

    # --- windows -----------------------------------------------------------------------------

    def windows(self) -> Iterator[Window]:
        """Every window, in the order of the marks."""
        base, size = self.listing.symbols[self.marks["symbol"]]
        channels = self.marks["channels"]
        names = {service["mark"]: name for name, service in self.services.items()}
        parameters: dict[int, int] = {}
        for step, accesses in self.run.data.items():
            for write, _, address in accesses:
                if not (write and base <= address < base + size):
                    continue
                channel, value = divmod(address - base, self.marks["values"])
                if channel == channels["begin"]:
                    name = names[value]
                    count = len(self.services[name].get("parameters", {}))
                    values = tuple(parameters.pop(number) for number in range(count))
                    handler = self.services[name]["kind"] == "handler"
                    yield (self._handler if handler else self._call)(name, values, step)
                elif channel >= channels["first parameter"]:
                    parameters[channel - channels["first parameter"]] = value

    def _entry(self, name: str) -> int:
        (entry,) = self.services[name]["entries"]
        return self.listing.symbols[entry][0]

    def _call(self, name: str, values: tuple[int, ...], mark: int) -> Window:
        entry = self._entry(name)
        first = next(step for step in self.follow(mark) if self.run.pcs[step] == entry)
        back = self.log.register(first, 14) & ~1
        return Window(name, values, list(self.back(first, back)))

    def _handler(self, name: str, values: tuple[int, ...], mark: int) -> Window:
        entry = self._entry(name)
        first = next(
            segment
            for segment in self.segments
            if segment.start > mark and self.run.pcs[segment.start] == entry
        )
        assert isinstance(first.owner, int)
        steps = list(self.follow(first.start))
        return Window(name, values, steps, exception=True)

    # --- blocking ----------------------------------------------------------------------------

    def _masks(self) -> Iterator[tuple[int, int]]:
        """(first step under it, BASEPRI)."""
        for step, pc in enumerate(self.run.pcs):
            line = self.listing.lines[pc]
            target, _, source = line.operands.lower().partition(", ")
            assert line.mnemonic != "cpsid", "the firmware masks by BASEPRI alone"
            if line.mnemonic == "msr" and target in MASKS:
                assert target == "basepri", line
                # The block that follows shows the register, which msr does not change.
                yield step + 1, self.log.register(step + 1, int(source[1:])) & 0xFF

    def _locks(self, names: dict[str, list[str]]) -> Iterator[tuple[int, int]]:
        """(first step under it, depth of the scheduler lock)."""
        (lock,) = [self.listing.symbols[name][0] for name in names["lock"]]
        (unlock,) = [self.listing.symbols[name][0] for name in names["unlock"]]
        changes: list[tuple[int, int]] = []
        for step, pc in enumerate(self.run.pcs):
            if pc == lock:
                changes.append((step, 1))
            elif pc == unlock:
                changes.append((self._unlocked(step), -1))
        depth = 0
        for step, change in sorted(changes):
            depth += change
            assert depth in (0, 1), "the firmware nests locks"
            yield step, depth

    def _unlocked(self, step: int) -> int:
        """Where the scheduler is no longer locked: behind the function's return, or where another
        thread gets the processor, which shows that it was not."""
        last = step
        for own in self.back(step, self.log.register(step, 14) & ~1):
            between = self.segments[
                bisect_right(self._starts, last) : bisect_right(self._starts, own) - 1
            ]
            if any(isinstance(segment.owner, str) for segment in between):
                break
            last = own
        return last + 1

    def blocking(self, step: int) -> Blocking:
        handler = isinstance(self._segment(step).owner, int)
        return (_at(self.masks, step) or None, handler or _at(self.locks, step) > 0)

    # --- counting ----------------------------------------------------------------------------

    def count(self, window: Window) -> tuple[Counts, list[Stretch]]:
        """All counts of a window by blocking form, and its blocking stretches."""
        rows: dict[int, list[Key]] = {step: [] for step in window.steps}
        runs = list(self._runs(window.steps))
        for step, key in self._rows(window, runs):
            rows[step].append(key)
        forms = {step: self.blocking(step) for step in window.steps}
        counts = Counter((forms[step], key) for step, keys in rows.items() for key in keys)
        for run in runs:
            counts.update((forms[run[-1]], key) for key in self._realigned(run, run))
        return counts, list(self._stretches(rows, runs, forms))

    def _follows(self, step: int, after: int) -> bool:
        """The instruction at ``after`` comes next without a transfer of control or a barrier."""
        line = self.line(step)
        if line.mnemonic in BARRIERS or (line.jumps and after != line.end):
            return False
        assert after == line.end, f"{line} is followed by {after:#x}"
        return True

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
                where = self.section(line.address)
                accesses = self.run.data.get(step, [])
                jumped = line.jumps and step == run[-1]
                yield step, (where, self._event(line, jumped, bool(accesses)))
                yield from ((step, key) for key in self._accesses(line, accesses))
            # Every run ends in a transfer of control (the last one returns) or a barrier.
            yield run[-1], (self.section(self.run.pcs[run[-1]]), "pipeline refill")
            for number, (step, _) in enumerate(self._words(run, 0)):
                where = self.section(self.run.pcs[step])
                yield step, (where, "fetch", "32", "next" if number else "first")
        if window.exception:
            yield from self._frame(window.steps)

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

    def _realigned(self, run: list[int], part: list[int]) -> list[Key]:
        """Fetches more that ``part`` of a run needs at the worst address."""
        needed = [
            sum(step in part for step, _ in self._words(run, shift))
            for shift in range(0, FETCH_BYTES, HALFWORD)
        ]
        where = self.section(self.run.pcs[part[-1]])
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
            yield (self.section(address), operation, str(8 * size), pattern)

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
        return line.mnemonic.startswith("v") and (not line.predicated or step in self.run.data)

    def _stretches(
        self, rows: dict[int, list[Key]], runs: list[list[int]], forms: dict[int, Blocking]
    ) -> Iterator[Stretch]:
        """Longest unbroken sequences of own steps under a mask, or without preemption."""
        for kind in ("interrupts", "preemption"):
            holds = {
                step: mask is not None or (preemption and kind == "preemption")
                for step, (mask, preemption) in forms.items()
            }
            for held, group in groupby(rows, holds.__getitem__):
                steps = list(group)
                if not held:
                    continue
                counts = Counter(key for step in steps for key in rows[step])
                inside = set(steps)
                for run in runs:
                    part = [step for step in run if step in inside]
                    if part:
                        counts.update(self._realigned(run, part))
                calls = (self._called(rows, steps[0]), self._called(rows, steps[-1]))
                ends = (self.run.pcs[steps[0]], self.run.pcs[steps[-1]])
                yield Stretch(kind, *ends, *calls, counts)

    def _called(self, own: Iterable[int], step: int) -> int | None:
        call = max((s for s in own if s < step and self.line(s).mnemonic == "bl"), default=-1)
        if call < 0:
            return None
        target = int(self.line(call).operands.split()[0], 16)
        for start, size in self.listing.symbols.values():
            if start == target:
                return self.run.pcs[call] if target <= self.run.pcs[step] < start + size else None
        return None


def _at(changes: list[tuple[int, int]], step: int) -> int:
    position = bisect_right(changes, (step, 1 << 32)) - 1
    return changes[position][1] if position >= 0 else 0


def _logical(listing: Listing, sections: dict[str, Any]) -> list[tuple[str, int, int]]:
    """(logical section, start, end) by readelf's section headers."""
    units = {"": 1, "KiB": 1024, "MiB": 1 << 20}
    found = []
    for name, section in sections.items():
        assert "symbols" not in section
        for linker in section.get("linker sections", []):
            start, size = listing.sections[linker]
            found.append((name, start, start + size))
        for span in section.get("address ranges", []):
            count, _, unit = str(span["size"]).partition(" ")
            found.append((name, span["base"], span["base"] + int(count) * units[unit]))
    return found
