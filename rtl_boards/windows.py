"""Invocations of services in a run of the board, cut at retired instructions.

Marks tell which service is measured; where it begins and ends is read off the instructions that
retired, so that neither the marks nor the arguments count. Nothing of wcetchar's analysis is used:
entries are symbols, calls and returns are addresses, and a trap is an arrival at the trap handler.

A time of the window of instructions 1..n between the call 0 and what is returned to, n + 1::

    cycles = (retired(n) - retired(0)) - what the call takes + what the return takes

What a transfer of control takes until the next instruction can be measured where that next one is
an ordinary one: retired(1) - retired(0) - 1. In another state of caches it may have to wait for
lines, which is no property of the transfer; so these two are taken from a *reference*, the run of
the same program with ideal caches on a board without wait states, where an instruction that lies
across two words takes one cycle more. Where instruction 1 is not ordinary (an access of a system
register), the least that such a call was seen to take anywhere is subtracted, which never makes a
measured time too short.

An `ecall` does not retire. What it waits for until it would belongs to the service that it ends,
and not to the handler: the transfer of control before it, a line that is fetched in vain for that,
and its own line (``_until_supervisor_call``). What the trap takes is the handler's.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from wcetchar import isa, store
from wcetchar.image import load_image
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.model.service import Marks, Part, Service, ServiceKind, ServicesFile

Codes = npt.NDArray[np.int64]
T = TypeVar("T")
EVERY_ISSUE = 1
STAGES = 5
"""Cycles from the fetch of an instruction until it retires, where nothing waits."""
ECALL_BYTES = WORD = 4
FETCHED_IN_VAIN = 4 * WORD
"""Behind a branch, until that is decided in `memory`."""
LINE_BYTES = 32
UNTIL_ASKED = 1
"""From a fetch that has to wait for a line until that is asked for; the next fetch waits, too."""
AFTER_LOADED = 2
"""A line's last word is written in the cycle after its answer; then the next fetch begins."""


class Program:
    """What is known of the program that runs: its instructions and its services."""

    def __init__(self, elf: str, services: ServicesFile, trap_handler: str) -> None:
        image = load_image(elf)
        self._at: dict[int, Instruction] = {
            i.address: i for i in isa.decode_image(image).instructions
        }
        self.symbols = symbols = {symbol.name: symbol.address for symbol in image.symbols}
        self.services = {s.mark: s for s in services.services if s.mark is not None}
        self.marks = services.marks
        self.trap_handler = symbols[trap_handler]
        self.entries = {
            s.mark: np.array([symbols[e] for e in s.entries if e in symbols], dtype=np.int64)
            for s in services.services
        }

    def at(self, address: int) -> Instruction:
        return self._at[address]

    def addresses(self) -> Iterable[int]:
        """Of all instructions."""
        return self._at

    def find(self, address: int) -> Instruction | None:
        """``None``: no instruction begins there."""
        return self._at.get(address)

    def is_ordinary(self, address: int) -> bool:
        """Behind a transfer of control it waits for nothing but its second word."""
        return not self._at[address].text.startswith(("csr", "fence", "ecall", "c.ebreak"))

    def crosses(self, address: int) -> bool:
        """The instruction lies across two words."""
        return address % 4 + self._at[address].length > 4


class Run:
    """Retired instructions, and when."""

    def __init__(self, retired: str, marks: str, refills: str) -> None:
        both = np.fromfile(retired, dtype="<u4").reshape(-1, 2).astype(np.int64)
        self.address: Codes = both[:, 0]
        self.cycle: Codes = both[:, 1]
        lines = np.fromfile(refills, dtype="<u4").reshape(-1, 3).astype(np.int64)
        self.line, self.asked, self.loaded = lines.T
        """Of each line that was loaded: its address, and cycles."""
        with open(marks) as stream:
            rows = csv.DictReader(stream)
            self.marks = [(int(row["cycle"]), int(row["offset"])) for row in rows]

    def stored_in(self, cycle: int) -> int:
        """The instruction that stored in this cycle, where no memory waits: it retires in the next
        one."""
        return int(np.searchsorted(self.cycle, cycle + 1))

    def executions(self, addresses: Codes) -> dict[int, Codes]:
        """Of each of these instructions: where in the run it is."""
        wanted = np.unique(addresses)
        at = np.flatnonzero(np.isin(self.address, wanted))
        order = np.argsort(self.address[at], kind="stable")
        edges = np.searchsorted(self.address[at][order], wanted)
        parts = np.split(at[order], edges[1:])
        return dict(zip(wanted.tolist(), parts, strict=True))

    def took(self, i: int) -> int:
        return int(self.cycle[i] - self.cycle[i - 1])


@dataclass(frozen=True)
class Window:
    """Instructions first..last of a run, entered from first - 1, and followed by last + 1.

    ``number``: of the begin mark; runs of one program have the same marks in the same order.
    """

    number: int
    service: str
    values: Mapping[str, int]
    first: int
    last: int
    part: Part = Part.WHOLE


@dataclass
class Cut:
    """``left_out``: why, counted by (service, reason)."""

    windows: list[Window] = field(default_factory=list)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)


def invocations(
    marks: Marks, stores: Iterable[tuple[T, int]]
) -> Iterator[tuple[int, T, T, dict[int, int]]]:
    """What lies between marks: the service's number, where it begins and ends, parameter values by
    their place. ``stores``: into the marks, where and at which offset.

    Raises:
        ValueError: an end that does not belong to the begin before it.
    """
    values: dict[int, int] = {}
    begun: tuple[int, T] | None = None
    for where, offset in stores:
        channel, value = divmod(offset, marks.values)
        if channel == marks.begin:
            begun = value, where
        elif channel == marks.end:
            if begun is None or begun[0] != value:
                raise ValueError(f"mark {value} ends at {where} and never began")
            yield value, begun[1], where, values
            begun, values = None, {}
        else:
            values[channel - marks.first_parameter] = value


def mark_stores(run: Run, reference: Run) -> list[int]:
    """Which instructions of a run store its marks. In the reference that follows from the cycle;
    elsewhere a store may be written long after it has retired, but it is the same execution of
    the same instruction."""
    there = np.array([reference.stored_in(cycle) for cycle, _ in reference.marks], dtype=np.int64)
    stores = reference.address[there]
    before, after = reference.executions(stores), run.executions(stores)
    found = []
    for at, address in zip(there.tolist(), stores.tolist(), strict=True):
        ordinal = np.searchsorted(before[address], at)
        found.append(int(after[address][ordinal]))
    return found


def cut(program: Program, run: Run, reference: Run) -> Cut:
    """All windows of a run, in order."""
    found = Cut()
    handlers = np.flatnonzero(run.address == program.trap_handler)
    marks = program.marks
    assert marks is not None
    offsets = [offset for _, offset in run.marks]
    stores = zip(mark_stores(run, reference), offsets, strict=True)
    for number, (mark, begin, end, values) in enumerate(invocations(marks, stores), start=1):
        service = program.services.get(mark)
        if service is not None:
            named = {p.name: values[n] for n, p in enumerate(service.parameters)}
            _invocation(found, program, run, handlers, service, named, number, (begin, end))
    return found


def by_period(
    program: Program, run: Run, reference: Run, emptied: Codes
) -> Iterator[tuple[int, Window]]:
    """Windows, and how often the bench had emptied the caches when each began; ``emptied``: the
    cycles in which it did. It does so at the end of a cycle: what retires in it was before.

    Raises:
        ValueError: two windows since the caches were emptied; what the second one needs, the first
            one may have left there, or taken away.
    """
    before: tuple[int, Window] | None = None
    for window in cut(program, run, reference).windows:
        period = int(np.searchsorted(emptied, run.cycle[window.first - 1], side="right"))
        if before is not None and before[0] == period:
            raise ValueError(
                f"{before[1].service} and {window.service} (marks {before[1].number} and "
                f"{window.number}) with caches that were emptied {period} times before both"
            )
        before = period, window
        yield before


def _invocation(
    found: Cut,
    program: Program,
    run: Run,
    handlers: Codes,
    service: Service,
    values: Mapping[str, int],
    number: int,
    span: tuple[int, int],
) -> None:
    begin, end = span
    inside = handlers[(handlers >= begin) & (handlers <= end)]

    def leave_out(reason: str) -> None:
        found.left_out[service.name, reason] += 1

    if service.kind is ServiceKind.HANDLER:
        # The last trap before the end mark may be a later one; the first is what was provoked.
        if not len(inside):
            return leave_out("has no trap between its marks")
        first = int(inside[0])
        last = _next(run, program, first, lambda i: i.text == "mret")
        if last is None or last + 1 == len(run.address):
            return leave_out("does not return")
        if program.at(int(run.address[last + 1])).text.startswith(("div", "rem")):
            # What the return takes could not be told from it.
            return leave_out("goes back to a division")
        found.windows.append(Window(number, service.name, values, first, last))
        return None
    if service.kind is ServiceKind.ACTIVATION:
        return leave_out("is an activation of a thread")
    entered = np.flatnonzero(np.isin(run.address[begin:end], program.entries[service.mark]))
    if not len(entered):
        return leave_out("does not execute its entry between its marks")
    first = begin + int(entered[0])
    call = program.at(int(run.address[first - 1]))
    if call.flow not in (Flow.CALL, Flow.CALL_INDIRECT):
        return leave_out("is not reached by a call")
    traps = inside[inside > first]
    returned = np.flatnonzero(run.address[first : end + 8] == call.end)
    last = first + int(returned[0]) - 1 if len(returned) else None
    if service.kind is ServiceKind.CALL:
        if last is None:
            return leave_out("does not return")
        if len(traps) and traps[0] <= last:
            return leave_out("traps inside")
        found.windows.append(Window(number, service.name, values, first, last))
        return None
    if not len(traps):
        return leave_out("is not switched away")
    cut_at = int(traps[0])
    before = program.at(int(run.address[cut_at - 1]))
    resumed_at = supervisor_call(program, before)
    if resumed_at is None:
        return leave_out("is not switched away by ecall")
    name = Part.UNTIL_SWITCH.of(service.name)
    found.windows.append(Window(number, name, values, first, cut_at - 1, Part.UNTIL_SWITCH))
    if service.kind is ServiceKind.FINAL_CALL:
        return None
    if last is None:
        return leave_out("does not return")
    back = [
        i + 1
        for i in range(cut_at, last)
        if run.address[i + 1] == resumed_at and program.at(int(run.address[i])).text == "mret"
    ]
    if not back:
        return leave_out("is not seen to go on")
    first = back[-1]  # those before are of other threads that waited there, or of this one
    if np.any((traps > first) & (traps <= last)):
        return leave_out("is switched away twice")
    name = Part.UNTIL_RETURN.of(service.name)
    found.windows.append(Window(number, name, values, first, last, Part.UNTIL_RETURN))
    return None


def _next(
    run: Run, program: Program, start: int, wanted: Callable[[Instruction], bool]
) -> int | None:
    """``None``: the run ends before."""
    for i in range(start, len(run.address)):
        if wanted(program.at(int(run.address[i]))):
            return i
    return None


def supervisor_call(program: Program, before: Instruction) -> int | None:
    """Where the ecall ends that came behind ``before``; it does not retire."""
    for address in (before.end, before.target):
        if address is not None:
            found = program.find(address)
            if found is not None and found.text == "ecall":
                return found.end
    return None


def times(
    program: Program, run: Run, windows: list[Window], reference: Run, same: list[Window]
) -> Iterator[tuple[Window, int]]:
    """Cycles of each window; ``same``: the windows of the reference, one for one."""
    least = _least(program, reference, same)
    trapped = _trapped(program, reference, same)
    shortest = min(map(reference.took, trapped), default=0)
    for window, other in zip(windows, same, strict=True):
        assert (window.number, window.service) == (other.number, other.service)
        taken = int(run.cycle[window.last] - run.cycle[window.first - 1])
        if other.first in trapped:
            more = reference.took(other.first) - shortest
            taken -= _until_supervisor_call(program, run, window.first, more)
        else:
            call = _call(program, reference, other, least)
            taken -= call + _refill_under_way(program, run, window.first, call)
        if window.part is Part.UNTIL_SWITCH:
            more = reference.took(other.last + 1) - shortest
            taken += _until_supervisor_call(program, run, window.last + 1, more)
        else:
            back = _return(program, reference, other)
            taken += back + _refill_under_way(program, run, window.last + 1, back)
        yield window, taken


def _kind(program: Program, run: Run, window: Window) -> str:
    before = program.at(int(run.address[window.first - 1]))
    return "mret" if before.text == "mret" else before.flow.value


def _least(program: Program, run: Run, windows: list[Window]) -> dict[str, int]:
    found: dict[str, int] = {}
    for window in windows:
        if program.is_ordinary(int(run.address[window.first])):
            kind = _kind(program, run, window)
            found[kind] = min(found.get(kind, 1000), run.took(window.first) - EVERY_ISSUE)
    return found


def _call(program: Program, run: Run, window: Window, least: Mapping[str, int]) -> int:
    """What the transfer of control into the window takes."""
    kind = _kind(program, run, window)
    address = int(run.address[window.first])
    if address == program.trap_handler:
        return 0  # of an interrupt
    if program.is_ordinary(address):
        # A crossing of two words takes the service one cycle more, where no memory is slow.
        return run.took(window.first) - EVERY_ISSUE - program.crosses(address)
    return least[kind]


def _trapped(program: Program, run: Run, windows: list[Window]) -> set[int]:
    """Where the trap handler begins that a window ends or begins with, behind a supervisor call."""
    found = {window.last + 1 for window in windows if window.part is Part.UNTIL_SWITCH}
    for window in windows:
        if run.address[window.first] == program.trap_handler:
            before = program.at(int(run.address[window.first - 1]))
            if supervisor_call(program, before) is not None:
                found.add(window.first)
    return found


def _until_supervisor_call(program: Program, run: Run, trap: int, transfer: int) -> int:
    """Cycles from the instruction before a supervisor call until that would have retired.

    Args:
        trap: where the trap handler begins.
        transfer: what the transfer of control to the supervisor call takes, where no line is
            loaded: by so much the trap came later in the reference than behind an instruction
            that transfers nothing.
    """
    before = program.at(int(run.address[trap - 1]))
    end = supervisor_call(program, before)
    assert end is not None
    own, behind = _lines(end - ECALL_BYTES, end), _lines(end, end + WORD)
    vain = set() if before.flow is Flow.NEXT else _lines(before.end, before.end + FETCHED_IN_VAIN)
    due = fetched = int(run.cycle[trap - 1]) + transfer + EVERY_ISSUE - STAGES
    at = int(np.searchsorted(run.loaded, due - AFTER_LOADED, side="right"))
    while at < len(run.loaded) and run.asked[at] < run.cycle[trap]:
        line = int(run.line[at])
        if line not in own:
            # For what is behind it: that may be fetched while the instruction before it waits.
            if before.flow is Flow.NEXT or run.asked[at] > due + UNTIL_ASKED:
                break
            if line in behind and line not in vain:
                break
        fetched = int(run.loaded[at]) + AFTER_LOADED
        at += 1
    return transfer + EVERY_ISSUE + fetched - due


def _lines(begin: int, end: int) -> set[int]:
    """That the bytes from ``begin`` to before ``end`` lie in."""
    return {n // LINE_BYTES * LINE_BYTES for n in (begin, end - 1)}


def _refill_under_way(program: Program, run: Run, behind: int, transfer: int) -> int:
    """How long the fetch behind a transfer of control, which takes ``transfer`` cycles, has to wait
    for a line that was fetched in vain before: that is the transfer's. The line of what is fetched
    is not."""
    first = program.at(int(run.address[behind]))
    if first.address == program.trap_handler:
        return 0  # in the price of `exception entry`
    retires = int(run.cycle[behind - 1]) + transfer + EVERY_ISSUE
    fetched = retires - STAGES
    at = int(np.searchsorted(run.loaded, fetched - AFTER_LOADED, side="right"))
    if at == len(run.loaded) or run.asked[at] > fetched + UNTIL_ASKED:
        return 0
    begin = int(run.line[at])
    if begin < first.end and first.address < begin + LINE_BYTES:
        return 0
    return int(run.loaded[at]) + AFTER_LOADED - fetched


def _return(program: Program, run: Run, window: Window) -> int:
    """What the transfer of control out of the window takes."""
    behind = window.last + 1
    address = int(run.address[behind])
    return run.took(behind) - EVERY_ISSUE - program.crosses(address)


def measured(
    elf: str, services_files: list[str], trap_handler: str, run: Run, reference: Run
) -> tuple[Cut, list[tuple[Window, int]]]:
    """Windows of a run and their times."""
    program = Program(elf, store.load_services(*services_files), trap_handler)
    cut_here, cut_there = cut(program, run, reference), cut(program, reference, reference)
    here, there = cut_here.windows, cut_there.windows
    return cut_here, list(times(program, run, here, reference, there))


def load(folder: Path) -> Run:
    """The run that the bench left in a folder: ``retired``, ``marks.csv`` and ``refills``. Ends
    with a message where one is missing."""
    files = [folder / name for name in ("retired", "marks.csv", "refills")]
    for file in files:
        if not file.exists():
            option = "-o" if file.suffix else f"--{file.name}"
            sys.exit(f"{file}: No such file; next: run the bench with {option} {file}")
    return Run(*map(str, files))
