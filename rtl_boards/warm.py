"""What warm caches hold when a service begins: bench --full and --warm-data.

    python rtl_boards/warm.py RUN --program ELF --reference REFERENCE --services FILE ...

RUN is the folder of a run of the bench with empty caches (`--caches cold`, or `--empty-data`) that
has `emptied`, and `data` where the data cache is to be warm. A *warm* cache holds what a service
fetches from, or loads, when it begins, but for sets in which more of its lines meet than there are
ways; what those hold depends on what ran before, and the bench leaves them empty. Written into RUN:

* `full`: how often the caches were emptied before the service began, and the number of such a set
  of the instruction cache. What a service fetches from is what it loads in RUN. Lines that the call
  had begun to load, and the line of what comes behind the service, are not its own.
* `lines`, where there is `data`: how often the data cache was emptied before, with the address of
  the service's first instruction, and then with that of each line that has its set for itself. Not
  of what goes on behind a switch: other threads ran before, and the bench leaves it an empty cache.

Both as pairs of little-endian words of 32 bits.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from measurements import TRAP_HANDLER
from windows import LINE_BYTES, Codes, Program, Run, Window, by_period, load

from wcetchar import store
from wcetchar.errors import WcetcharError
from wcetchar.model.service import Part

SETS = 128
"""Of one way, of 32 bytes: both caches of `imc`, `imac` and `imac-cached`, and that of data of
`cynthion`."""
WAYS = 1
CACHED_FROM = 0x80000000
"""`imac-cached`."""
STORES = 16


def fetched_lines(run: Run, window: Window, trap_handler: int) -> set[int]:
    """Numbers of the lines that are loaded for a window, in vain or not. What the call fetches in
    vain behind itself may be asked for in the cycle in which it retires; and what is loaded before
    a handler's own first line was fetched in vain for what it interrupts."""
    interrupts = int(run.address[window.first]) == trap_handler
    call, entry, behind = (
        int(run.address[i]) // LINE_BYTES for i in (window.first - 1, window.first, window.last + 1)
    )
    begin, end = int(run.cycle[window.first - 1]), int(run.cycle[window.last])
    at = slice(
        int(np.searchsorted(run.loaded, begin)), int(np.searchsorted(run.asked, end, side="right"))
    )
    lines = (run.line[at] // LINE_BYTES).tolist()
    own = lines.index(entry) if entry in lines else len(lines)
    return {
        line
        for n, line in enumerate(lines)
        if line != behind
        and (
            n >= own
            or (not interrupts and run.asked[at][n] >= begin and line not in (call, call + 1))
        )
    }


def loaded_lines(run: Run, window: Window, data: Codes) -> set[int]:
    """Numbers of the lines that a window loads from; ``data``: address, cycle and what it is (of
    stores ``STORES`` and more) of each access that retired. Stores take no line."""
    begin, end = run.cycle[window.first - 1], run.cycle[window.last]
    address, _, what = data[slice(*np.searchsorted(data[:, 1], (begin, end), side="right"))].T
    return set((address[(address >= CACHED_FROM) & (what < STORES)] // LINE_BYTES).tolist())


def by_set(lines: Iterable[int], sets: int = SETS) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for line in sorted(lines):
        found[line % sets].append(line)
    return found


def full_sets(lines: set[int], sets: int = SETS) -> list[int]:
    """Those in which more of these lines meet than there are ways."""
    together = by_set(lines, sets).items()
    return sorted(number for number, lines in together if len(lines) > WAYS)


def that_fit(lines: set[int]) -> list[int]:
    """Those of the other sets."""
    sets = by_set(lines).values()
    return sorted(line for together in sets if len(together) <= WAYS for line in together)


def of_fetches(
    windows: Iterable[tuple[int, Window]], run: Run, sets: int, trap_handler: int
) -> Iterator[tuple[int, int]]:
    for period, window in windows:
        for number in full_sets(fetched_lines(run, window, trap_handler), sets):
            yield period, number


def of_loads(
    windows: Iterable[tuple[int, Window]], run: Run, data: Codes
) -> Iterator[tuple[int, int]]:
    for period, window in windows:
        if window.part is Part.UNTIL_RETURN:
            continue
        yield period, int(run.address[window.first])
        for line in that_fit(loaded_lines(run, window, data)):
            yield period, line * LINE_BYTES


def words(path: Path, together: int) -> Codes:
    return np.fromfile(path, dtype="<u4").reshape(-1, together).astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="folder of a run with empty caches")
    parser.add_argument("--services", action="append", required=True)
    parser.add_argument("--program", required=True, help="the ELF file that ran")
    parser.add_argument("--reference", required=True, help="folder of the reference")
    parser.add_argument("--sets", type=int, default=SETS, help="of the instruction cache")
    options = parser.parse_args()
    program = Program(options.program, store.load_services(*options.services), TRAP_HANDLER)
    folder = Path(options.run)
    run, reference = load(folder), load(Path(options.reference))
    windows = [*by_period(program, run, reference, words(folder / "emptied", 1)[:, 0])]
    found = {"full": [*of_fetches(windows, run, options.sets, program.trap_handler)]}
    if (folder / "data").exists():
        found["lines"] = [*of_loads(windows, run, words(folder / "data", 3))]
    for name, pairs in found.items():
        np.array(pairs, dtype="<u4").tofile(folder / name)


if __name__ == "__main__":
    try:
        main()
    except (WcetcharError, ValueError) as error:
        sys.exit(str(error))
