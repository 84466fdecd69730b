"""Sets of the instruction cache that have no room for what a service fetches from: bench --full.

    python rtl_boards/full_sets.py RUN --program ELF --reference REFERENCE \\
        --services FILE ... -o FULL

RUN is the folder of a run of the bench with `--caches cold --emptied RUN/emptied`: what a service
fetches from is what it loads then. A *warm* cache holds that when the service begins, but for sets
in which more lines meet than there are ways; what those hold depends on what ran before, and the
bench leaves them empty. FULL: how often the caches were emptied before the service began, and the
number of the set, as two little-endian words of 32 bits.

Lines that the call had begun to load, and the line of what comes behind the service, are not its
own.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measurements import TRAP_HANDLER
from windows import LINE_BYTES, Program, Run, Window, cut, load

from wcetchar import store
from wcetchar.errors import WcetcharError

SETS = 128
"""Of one way, of 32 bytes: `imc` and `imac`."""
WAYS = 1


def lines_of(run: Run, window: Window) -> set[int]:
    """Numbers of the lines that are loaded for a window, in vain or not."""
    entry, behind = (int(run.address[i]) // LINE_BYTES for i in (window.first, window.last + 1))
    begin, end = int(run.cycle[window.first - 1]), int(run.cycle[window.last])
    at = slice(
        int(np.searchsorted(run.loaded, begin)), int(np.searchsorted(run.asked, end, side="right"))
    )
    lines = (run.line[at] // LINE_BYTES).tolist()
    own = lines.index(entry) if entry in lines else len(lines)
    return {
        line
        for n, line in enumerate(lines)
        if line != behind and (n >= own or run.asked[at][n] >= begin)
    }


def full_sets(lines: set[int]) -> list[int]:
    """Those in which more of these lines meet than there are ways."""
    sets: dict[int, int] = defaultdict(int)
    for line in lines:
        sets[line % SETS] += 1
    return sorted(number for number, together in sets.items() if together > WAYS)


def of_run(
    program: Program, run: Run, reference: Run, emptied: np.ndarray
) -> Iterator[tuple[int, int]]:
    for window in cut(program, run, reference).windows:
        period = int(np.searchsorted(emptied, run.cycle[window.first - 1]))
        for number in full_sets(lines_of(run, window)):
            yield period, number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="folder of a run with empty caches")
    parser.add_argument("--services", action="append", required=True)
    parser.add_argument("--program", required=True, help="the ELF file that ran")
    parser.add_argument("--reference", required=True, help="folder of the reference")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    program = Program(options.program, store.load_services(*options.services), TRAP_HANDLER)
    folder = Path(options.run)
    emptied = np.fromfile(folder / "emptied", dtype="<u4").astype(np.int64)
    pairs = [*of_run(program, load(folder), load(Path(options.reference)), emptied)]
    np.array(pairs, dtype="<u4").tofile(options.output)


if __name__ == "__main__":
    try:
        main()
    except WcetcharError as error:
        sys.exit(str(error))
