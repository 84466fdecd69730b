"""The independent count of ``chain_oracle`` for RISC-V: other masks, other traps, no frame.

Stack pointers, link registers and masks are those of ``riscv_run``, which carried the run out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chain_listing import Listing
from chain_oracle import Blocking, Key, Machine, Segment, Window
from chain_published import ALL_INTERRUPTS
from chain_stream import Run
from riscv_run import Interpreter


class Registers:
    """What ``chain_oracle`` asks QEMU's log for, by the numbers of Arm."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._of = {13: interpreter.stack, 14: interpreter.link}

    def starts_block(self, step: int) -> bool:
        return True

    def register(self, step: int, number: int) -> int:
        return self._of[number][step]


class RiscvMachine(Machine):
    """One entry serves all traps; what they are is told by their number."""

    def __init__(
        self, listing: Listing, interpreter: Interpreter, run: Run, services: dict[str, Any]
    ) -> None:
        self._open = interpreter.mie
        log: Any = Registers(interpreter)
        super().__init__(listing, log, run, {"hardware": {}, **services})

    def _masks(self) -> Iterator[tuple[int, int]]:
        before = True
        for step, is_open in enumerate(self._open):
            if is_open != before:
                yield step, 0 if is_open else ALL_INTERRUPTS
            before = is_open

    def blocking(self, step: int) -> Blocking:
        masked, preemption = super().blocking(step)
        assert (masked is not None) != self._open[step]
        return masked, preemption

    def number_of(self, segment: Segment) -> int:
        """Number of the trap that the segment is of."""
        assert isinstance(segment.owner, int)
        return self.run.exceptions[segment.owner][2]

    def _handler(self, name: str, values: tuple[int, ...], mark: int) -> Window:
        numbers = self.services[name]["exceptions"]
        first = next(
            segment
            for segment in self.segments
            if segment.start > mark
            and isinstance(segment.owner, int)
            and self.number_of(segment) in numbers
        )
        assert self.run.pcs[first.start] == self._entry(name)
        return Window(name, values, list(self.follow(first.start)), exception=True)

    def _frame(self, steps: list[int]) -> Iterator[tuple[int, Key]]:
        first, last = steps[0], steps[-1]
        yield first, ("?", "exception entry")
        yield last, (self.section(self.run.pcs[last]), "exception exit")

    def _follows(self, step: int, after: int) -> bool:
        """A jump through a table may lead to the very next instruction: it is one all the same."""
        return not self.line(step).always and super()._follows(step, after)

    def _called(self, own: Iterable[int], step: int) -> int | None:
        """Calls go through a register: where to, no instruction says by itself."""
        return None
