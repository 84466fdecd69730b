"""How long services mask interrupts on the board: `wcetchar validate --metric interrupts`.

    python rtl_boards/masked.py RUN --program ELF --reference REFERENCE --services FILE ... \\
        -o MEASURED.csv

A stretch lasts from the retirement of the instruction that clears mstatus.MIE to that of the one
that sets it: as long, to the cycle, as an interrupt would have to wait if it came with the first.
Which instructions these are is read off the code that retired. Of each window it is the longest.

An interrupt that comes at the worst moment waits that long, and for what an entry takes: the price
of `exception entry`, which the measured times of handlers hold.

Whether interrupts are masked where a window begins is followed through the whole run: a trap masks
them; `mret` behind an `ecall` restores what held there; any other `mret` goes to what an interrupt
found, or to a thread that begins, and both let interrupts in. What a register holds is not seen, so
a write of it to mstatus or mie leaves the state unknown until the next instruction that tells; but
for one to which the bit was added right before, as the port starts its first thread (the context
of a thread holds it clear, as a trap leaves it).

A window is left out, and counted with the reason, where the stretch it is in goes on in other
code (it begins or ends with interrupts masked), or where the state is unknown: its measured time
would be too short. Handlers are masked as a whole, for the time that is measured of them anyway.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
from measurements import TRAP_HANDLER, Row, say_left_out, write
from windows import Codes, Program, Run, Window, cut, load, supervisor_call

from wcetchar import store
from wcetchar.errors import WcetcharError

MIE = 8
"""The bit of mstatus that lets interrupts in."""


class State(Enum):
    LET_IN = "interrupts are let in"
    MASKED = "interrupts are masked"
    UNKNOWN = "what a register holds is not seen"


RESTORED = "mret"
BEHIND_LET_IN = 2
"""Instructions behind the one that lets interrupts in which leave the decoder before the core stops
there for an interrupt that waits (RTL: mstatus is written in `execute`, and read by
CsrPlugin_interrupt_valid, a register, before the decoder is held)."""


def change(text: str) -> State | str | None:
    """What an instruction does to the state; ``RESTORED``: that hangs on who is returned to."""
    if text == "mret":
        return RESTORED
    name, _, operands = text.partition(" ")
    if name not in _WRITES:
        return None
    _, register, value = operands.split(", ")
    if register not in ("mstatus", "mie"):
        return None
    if name in ("csrrs", "csrrc") and value == "zero":
        return None  # a read
    if register == "mie" or (name in _OF_REGISTERS and value != "zero"):
        return State.UNKNOWN
    bit = value != "zero" and int(value, 0) & MIE
    if name in ("csrrw", "csrrwi"):
        return State.LET_IN if bit else State.MASKED
    return {"csrrsi": State.LET_IN, "csrrci": State.MASKED}[name] if bit else None


def adds_the_bit(text: str, write: str) -> bool:
    """An instruction adds MIE to the register that the next one, ``write``, moves to mstatus."""
    moved, register = write.rsplit(", ", 1) if ", " in write else ("", "")
    if not (moved.startswith("csrrw ") and moved.endswith(" mstatus")) or register == "zero":
        return False
    both = f"{register}, {register}, {MIE}"
    return text in (f"c.addi {register}, {MIE}", f"addi {both}", f"ori {both}")


_OF_REGISTERS = ("csrrw", "csrrs", "csrrc")
_WRITES = (*_OF_REGISTERS, "csrrwi", "csrrsi", "csrrci")


@dataclass(frozen=True)
class History:
    """``states[n]`` holds behind the instruction ``at[n]`` of the run, until the next one."""

    at: Codes
    states: list[State]

    def before(self, instruction: int) -> State:
        """A core masks interrupts when it is reset."""
        n = int(np.searchsorted(self.at, instruction))
        return self.states[n - 1] if n else State.MASKED

    def inside(self, window: Window) -> Iterator[tuple[int, State]]:
        first, behind = np.searchsorted(self.at, (window.first, window.last + 1))
        return zip(self.at[first:behind].tolist(), self.states[first:behind], strict=True)


def history(program: Program, run: Run) -> History:
    """Followed from the first instruction of the run to the last."""
    changes = {a: c for a in program.addresses() if (c := change(program.at(a).text)) is not None}
    at = np.flatnonzero(np.isin(run.address, [*changes, program.trap_handler]))
    states: list[State] = []
    now, of_callers = State.MASKED, defaultdict[int, set[State]](set)
    for i in at.tolist():
        address = int(run.address[i])
        if address == program.trap_handler:
            called = supervisor_call(program, program.at(int(run.address[i - 1]))) if i else None
            if called is not None:
                of_callers[called].add(now)
            now = State.MASKED
        elif changes[address] is not RESTORED:
            now = State(changes[address])
            before = program.at(int(run.address[i - 1])).text if i else ""
            if adds_the_bit(before, program.at(address).text):
                now = State.LET_IN
        elif i + 1 < len(run.address):
            known = of_callers.get(int(run.address[i + 1]), {State.LET_IN})
            now = next(iter(known)) if len(known) == 1 else State.UNKNOWN
        states.append(now)
    return History(at, states)


def goes_on(program: Program, run: Run, let_in: int, masks: int) -> bool:
    """No interrupt can be taken between two instructions of the run."""
    if run.address[masks] == program.trap_handler:
        if supervisor_call(program, program.at(int(run.address[masks - 1]))) is None:
            return False  # an interrupt was
    elif program.at(int(run.address[let_in])).text == RESTORED:
        return False  # the pipeline is filled anew
    return masks - let_in <= BEHIND_LET_IN


def longest(program: Program, run: Run, window: Window, states: History) -> int | str:
    """Cycles of the longest stretch of a window with interrupts masked, or why it has none that
    could be measured."""
    before = states.before(window.first)
    if before is State.MASKED:
        return "begins with interrupts masked"
    most, since, let_in, is_masked, ever = 0, 0, -1, False, False
    for i, state in [(window.first - 1, before), *states.inside(window)]:
        if state is State.UNKNOWN:
            return "takes what masks interrupts from a register"
        if state is State.MASKED and not is_masked:
            if let_in < 0 or not goes_on(program, run, let_in, i):
                since = i
            ever = True
        if state is State.LET_IN and is_masked:
            let_in = i
            most = max(most, int(run.cycle[i] - run.cycle[since]))
        is_masked = state is State.MASKED
    if is_masked:
        return "ends with interrupts masked"
    return most if ever else "masks no interrupts"


def masked(
    program: Program, run: Run, windows: list[Window], left_out: Counter[tuple[str, str]]
) -> Iterator[Row]:
    """``left_out``: counts why, by (service, reason)."""
    states = history(program, run)
    for window in windows:
        if int(run.address[window.first]) == program.trap_handler:
            found: int | str = "is a handler, masked as a whole"
        else:
            found = longest(program, run, window, states)
        if isinstance(found, str):
            left_out[window.service, found] += 1
        else:
            yield window.service, window.values, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="folder of a run")
    parser.add_argument("--services", action="append", required=True)
    parser.add_argument("--program", required=True, help="the ELF file that ran")
    parser.add_argument("--reference", help="folder of the run with ideal caches, no wait states")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    services = store.load_services(*options.services)
    program = Program(options.program, services, TRAP_HANDLER)
    run, reference = load(Path(options.run)), load(Path(options.reference or options.run))
    names = sorted({p.name for s in services.services for p in s.parameters})
    windows = cut(program, run, reference).windows
    left_out: Counter[tuple[str, str]] = Counter()  # `measurements.py` says what is no window
    write(options.output, masked(program, run, windows, left_out), names, [""])
    say_left_out(left_out)


if __name__ == "__main__":
    try:
        main()
    except WcetcharError as error:
        sys.exit(str(error))
