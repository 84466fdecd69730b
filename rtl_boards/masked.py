"""How long services mask interrupts on the board: `wcetchar validate --metric interrupts`.

    python rtl_boards/masked.py RUN --program ELF --reference REFERENCE --services FILE ... \\
        -o MEASURED.csv

A stretch lasts from the retirement of the instruction that clears mstatus.MIE to that of the one
that sets it: as long, to the cycle, as an interrupt would have to wait if it came with the first.
Which instructions these are is read off the code that retired. Of each window it is the longest.
Windows that begin or end with interrupts masked are left out, and counted: there other code goes on
with the stretch.

An interrupt that comes at the worst moment waits that long, and for what an entry takes: the price
of `exception entry`, which the measured times of handlers hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from measurements import TRAP_HANDLER, Row, write
from windows import Program, Run, Window, cut, load

from wcetchar import store
from wcetchar.errors import WcetcharError

CLEARS, SETS = "csrrci zero, mstatus, 8", "csrrsi zero, mstatus, 8"


def changes(program: Program, address: int) -> bool | None:
    """True: the instruction lets interrupts in; False: it masks them; else ``None``."""
    text = program.at(address).text
    return {CLEARS: False, SETS: True}.get(text)


def longest(
    program: Program, run: Run, window: Window, known: dict[int, bool | None]
) -> int | None:
    """Cycles of the longest stretch of a window with interrupts masked; ``None``: it is masked when
    it begins or when it ends."""
    most, since, ever = 0, None, False
    for i in range(window.first, window.last + 1):
        address = int(run.address[i])
        if address not in known:
            known[address] = changes(program, address)
        lets_in = known[address]
        if lets_in is None:
            continue
        if lets_in and since is not None:
            most, since = max(most, int(run.cycle[i] - run.cycle[since])), None
        elif lets_in and not ever:
            return None
        elif not lets_in and since is None:
            since = i
        ever = True
    return most if since is None else None


def masked(program: Program, run: Run, reference: Run) -> Iterator[Row]:
    known: dict[int, bool | None] = {}
    left_out = 0
    for window in cut(program, run, reference).windows:
        if int(run.address[window.first]) == program.trap_handler:
            continue  # masked from the trap on: that is its time as a whole
        cycles = longest(program, run, window, known)
        if cycles:
            yield window.service, window.values, cycles
        left_out += cycles is None
    if left_out:
        print(f"left out: windows, {left_out} times: masked at an end of it", file=sys.stderr)


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
    write(options.output, masked(program, run, reference), names, "")


if __name__ == "__main__":
    try:
        main()
    except WcetcharError as error:
        sys.exit(str(error))
