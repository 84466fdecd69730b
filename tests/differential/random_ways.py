"""Ways through the kernel that random calls take, and the suite's of the same service never:

    python tests/differential/random_ways.py [--board B] --seeds A..B --calls N

A price can be too low only where a state was not driven, and such a state shows on the way that the
call takes, long before it is the dearest of some run: as instructions that the suite never executes
in that service, or as branches that it takes in one direction alone. Most are cheaper than what is
driven; which are not, one has to read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from random_check import (
    MACHINES,
    called,
    make,
    run,
    runs_of_command,
    services_files,
    wcetchar,
)
from random_classes import AGAIN, Known, classify
from random_windows import suite_windows

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved
from wcetchar.image import load_image
from wcetchar.model.image import Image

Place = tuple[str, int]
"""A function's name, and how far an instruction lies behind its beginning: so in every image."""
Way = tuple[Place, Place]


class Places:
    def __init__(self, image: Image) -> None:
        self._image = image
        self._known: dict[int, Place] = {}

    def __call__(self, address: int) -> Place:
        place = self._known.get(address)
        if place is None:
            found = self._image.function_at(address)
            place = (found.name, address - found.address) if found else (hex(address), 0)
            self._known[address] = place
        return place


def steps(windows: Iterable[Window]) -> set[tuple[int, int]]:
    """Addresses of instructions, each with that of the one executed next."""
    found: set[tuple[int, int]] = set()
    for window in windows:
        for piece in window.pieces:
            executed = piece.address[piece.index >= 0].astype(np.int64)
            pairs = np.unique(np.stack([executed[:-1], executed[1:]], axis=1), axis=0)
            found.update(map(tuple, pairs.tolist()))
    return found


def suite_ways(board: str, folder: Path) -> tuple[Resolved, dict[str, set[Way]]]:
    elf, trace = folder / "suite" / "freertos.elf", folder / "suite.trace"
    make(board, elf.parent)
    wcetchar("capture", elf, "--machine", MACHINES[board], "-o", trace)
    resolved, windows = suite_windows(elf, trace, services_files(board, elf.parent))
    found: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for window in windows:
        found[window.service.name] |= steps([window])
    trace.unlink()
    of = Places(resolved.image)
    return resolved, {
        service: {(of(a), of(b)) for a, b in pairs} for service, pairs in found.items()
    }


Seen = dict[Way, tuple[int, int, int]]
"""How often, and the seed and number of the first call."""


def random_ways(
    board: str, folder: Path, seed: int, calls: int, suite: dict[str, set[Way]]
) -> Iterator[tuple[str, int, set[Way]]]:
    """Service, number of the call, and its ways through the kernel that the suite never takes."""
    kernel = {place[0] for ways in suite.values() for way in ways for place in way}
    console, found = run(board, folder, seed, calls, keep=range(calls * 2))
    (elf,) = folder.glob(f"random-{seed}-*.elf")
    of = Places(load_image(str(elf)))
    for invocation, call in called(console, found):
        known = classify(call)
        if not isinstance(known, Known) or invocation.number is None:
            continue
        driven = suite.get(known.service, set())
        if call.rounds:
            driven = driven | suite.get(AGAIN[call.name], set())
        ways = {(of(a), of(b)) for a, b in steps(invocation.windows)} - driven
        yield (
            known.service,
            invocation.number,
            {way for way in ways if way[0][0] in kernel and way[1][0] in kernel},
        )


def report(resolved: Resolved, suite: dict[str, set[Way]], seen: dict[str, Seen]) -> Iterator[str]:
    image = resolved.image
    functions = (image.function_at(symbol.address) for symbol in image.symbols)
    begins = {function.name: function.address for function in functions if function}

    def line(place: Place) -> str:
        return resolved.place(begins[place[0]] + place[1])

    for service in sorted(seen):
        driven = {place for way in suite.get(service, ()) for place in way}
        yield service
        for (a, b), (times, seed, number) in sorted(seen[service].items()):
            if a in driven and b in driven:
                what = "jumps"
            elif a in driven:
                what = "leaves"
            else:
                continue
            yield f"  {times:5} x {what:6} {line(a)} -> {line(b)} (seed {seed}, call {number})"


def main() -> None:
    board, folder, seeds, calls = runs_of_command(__doc__)
    resolved, suite = suite_ways(board, folder)
    seen: dict[str, Seen] = defaultdict(dict)
    for seed in seeds:
        for service, number, ways in random_ways(board, folder, seed, calls, suite):
            for way in ways:
                times, *first = seen[service].get(way, (0, seed, number))
                seen[service][way] = (times + 1, first[0], first[1])
    print("\n".join(report(resolved, suite, seen)))


if __name__ == "__main__":
    main()
