"""Random kernels carried out with interrupts at random places, and counted in two ways.

The run is made by the interpreter of ``riscv_run``, on what objdump prints; ``chain_oracle`` counts
it with the interpreter's stack pointers, masks and memory. wcetchar gets the events alone.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from chain_listing import Listing
from chain_oracle import ALL_INTERRUPTS, Blocking, Counted, Counts, Key, NeverReturns, Span, Window
from chain_published import UNKNOWN
from chain_stream import Data, Run, numbers
from riscv_kernel import CALL, TIMER
from riscv_oracle import RiscvMachine
from riscv_run import MIE, Interpreter

from wcetchar.analysis import windows as analysis
from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import rows_of, stretches
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.counting.columns import key_of, unpack
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model import characterization
from wcetchar.model.access import AccessClass
from wcetchar.model.trace import Event, EventBatch
from wcetchar.store import load_services

MTIE = 1 << 7


class Simulator(Interpreter):
    """Goes its own way. ``often``: how probable an interrupt is before an instruction that can be
    interrupted."""

    def __init__(self, elf: Path, listing: Listing, seed: int, often: float) -> None:
        super().__init__(elf, listing)
        self._rng, self._often = random.Random(seed), often
        self._steps = numbers()
        """Of each access."""
        self.pcs = numbers()
        self.exceptions: list[tuple[int, bool, int]] = []
        self.interrupted: list[tuple[int, int]] = []
        """(step, stack pointer) of each thread that a trap interrupts, also of one that had the
        processor and executed nothing."""

    def go(self, length: int) -> Run:
        """At least so many instructions, and on until a thread has begun to run, and none is away
        that was interrupted right behind a return: where it goes on shows that it returned."""
        lines, csr, active = self.listing.lines, self.csr, list[int]()
        returned = set[int]()
        """Stack pointers of such threads."""
        operations = {address: self.operation(line) for address, line in lines.items()}
        pc = self.listing.symbols["_start"][0]
        while (
            len(self.pcs) < length or active or returned or lines[self.pcs[-1]].mnemonic == "mret"
        ):
            is_open = bool(csr["mstatus"] & MIE and csr["mie"] & MTIE)
            if is_open and self._rng.random() < self._often:
                if not active:
                    self.interrupted.append((len(self.pcs), self.x[2]))
                    if self.pcs and lines[self.pcs[-1]].mnemonic == "c.jr":
                        returned.add(self.x[2])
                active.append(TIMER)
                self.exceptions.append((len(self.pcs), True, TIMER))
                pc = self.trap(TIMER, pc)
                continue
            self.pcs.append(pc)
            self.stack.append(self.x[2])
            self.link.append(self.x[1])
            self.open.append(is_open)
            target = operations[pc]()
            self.x[0] = 0
            self._steps.extend([len(self.pcs) - 1] * (len(self._addresses) - len(self._steps)))
            name = lines[pc].mnemonic
            if name == "ecall":
                active.append(CALL)
                self.exceptions.append((len(self.pcs), True, CALL))
                target = self.trap(CALL, pc)
            elif name == "mret" and active:
                self.exceptions.append((len(self.pcs), False, active.pop()))
                if not active:
                    returned.discard(self.x[2])
            pc = lines[pc].end if target is None else target
        steps = np.frombuffer(self._steps, dtype=np.uint32)
        data = Data(len(self.pcs), steps, self._words, self._addresses)
        return Run(self.pcs, data, self.exceptions)


class Truth(RiscvMachine):
    """Leaves out what the run ends in. Knows of threads that were switched to and interrupted
    before their first instruction."""

    def __init__(
        self, listing: Listing, simulator: Simulator, run: Run, services: dict[str, Any]
    ) -> None:
        self._interrupted = simulator.interrupted
        super().__init__(listing, simulator, run, services)

    def switched(self, before: Span, after: Span) -> bool:
        if super().switched(before, after):
            return True
        owner = self.segment(before[1] - 1).owner
        low = bisect_left(self._interrupted, (before[1], 0))
        high = bisect_left(self._interrupted, (after[0] + 1, 0))
        return isinstance(owner, str) and any(
            not any(
                name == owner and start < pointer <= start + size
                for name, start, size in self.stacks
            )
            for _, pointer in self._interrupted[low:high]
        )

    def _unlocked(self, step: int) -> int:
        try:
            return super()._unlocked(step)
        except NeverReturns:
            return len(self.run.pcs)

    def _call(self, name: str, values: tuple[int, ...], mark: int) -> Iterator[Window]:
        with suppress(NeverReturns):
            yield from super()._call(name, values, mark)


def batches(run: Run, size: int) -> Iterator[EventBatch]:
    """The run as wcetchar reads it."""
    assert isinstance(run.data, Data)
    rows: list[tuple[int, int, int]] = []
    exceptions = iter([*run.exceptions, (len(run.pcs) + 1, True, 0)])
    at, entered, number = next(exceptions)
    for step, pc in enumerate([*run.pcs, 0]):
        while at == step:
            rows.append((Event.EXCEPTION if entered else Event.EXCEPTION_EXIT, number, 0))
            at, entered, number = next(exceptions)
        if step < len(run.pcs):
            rows.append((Event.INSTRUCTION, pc, 0))
            rows += [
                (Event.WRITE if write else Event.READ, address, width)
                for write, width, address in run.data.at(step)
            ]
    for start in range(0, len(rows), size):
        kind, address, width = zip(*rows[start : start + size], strict=True)
        yield EventBatch(
            np.array(kind, dtype=np.uint8),
            np.array(address, dtype=np.uint64),
            np.array(width, dtype=np.uint8),
        )


# --- wcetchar's windows in the words of the oracle ------------------------------------------------

Steps = tuple[tuple[int, tuple[int, ...]], ...]
"""Address of each instruction, and of its accesses."""
Name = tuple[str, tuple[int, ...], Steps]


def resolved_of(elf: Path, services: Path) -> Resolved:
    image = load_image(str(elf))
    return resolve(load_services(str(services)), image, decode_image(image))


def found_by_wcetchar(resolved: Resolved, parts: Iterator[EventBatch]) -> dict[Name, list[Counted]]:
    """Windows by what they executed."""
    finder = analysis.WindowFinder(resolved, "random")
    labeller = Labeller(resolved, "random")
    found: dict[Name, list[Counted]] = {}
    windows = [window for part in parts for window in finder.feed(part)]
    for window in windows:
        labelled = labeller.label(window)
        steps: list[tuple[int, list[int]]] = []
        for piece in window.pieces:
            for kind, address in zip(piece.kind.tolist(), piece.address.tolist(), strict=True):
                if kind == Event.INSTRUCTION:
                    steps.append((address, []))
                else:
                    steps[-1][1].append(address)
        forms = [_form(labeller.blockings[number]) for number in labelled.blocking.tolist()]
        name = window.part.of(window.service.name)
        counted = Counted(
            name, window.values, [], None, forms, _counts(labelled.packed, labeller, resolved)
        )
        for stretch in stretches(
            window, labelled, labeller.blockings, labeller.is_call, labeller.exceptions
        ):
            rows = _counts(
                rows_of(labelled, stretch),
                labeller,
                resolved,
            )
            by_key: Counter[Key] = Counter()
            for (_, key), count in rows.items():
                by_key[key] += count
            counted.stretches.append((stretch.kind.value, by_key))
        key = (name, window.values, tuple((pc, tuple(data)) for pc, data in steps))
        found.setdefault(key, []).append(counted)
    tallied = finder.attributed.total() + finder.unattributed.total()
    assert tallied == finder.traced
    return found


def _form(form: characterization.Blocking) -> Blocking:
    assert form.priority is None
    mask = UNKNOWN if form.unknown else ALL_INTERRUPTS if form.interrupts else None
    return mask, form.preemption


def _counts(packed: Any, labeller: Labeller, resolved: Resolved) -> Counts:
    found: Counts = Counter()
    for number, code, _ in (unpack(row) for row in packed.tolist()):
        key = key_of(code, resolved.section_names)
        if isinstance(key, AccessClass):
            shown: Key = (key.section, key.operation.value, str(key.width), key.pattern.value)
        else:
            shown = (key.section, key.kind.value)
        found[_form(labeller.blockings[number]), shown] += 1
    return found


def named(machine: Truth, window: Window) -> Name:
    return (
        window.service,
        window.values,
        tuple(
            (machine.run.pcs[step], tuple(address for _, _, address in machine.data.at(step)))
            for step in window.steps
        ),
    )
