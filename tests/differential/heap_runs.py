"""Windows of the firmware of one heap under random takes and gives, against what is published.

    python tests/differential/heap_runs.py --heap heap_2 --board virt --seeds 1..4

The driver (``rtos_tests/freertos/heaps/random_heap.c``) reads the list of free blocks itself and
marks the service and the values of its parameters before each call. What the call executed, and
each of its blocking stretches, may nowhere cost more than what is published there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import random_corners
from random_check import MACHINES, PROFILES, ROOT, Figures, make, seeds_of, services_files, wcetchar
from random_windows import Taken, _Counting, as_traced

from wcetchar import isa, store
from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.resolve import resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.image import load_image
from wcetchar.model.characterization import Characterization, StretchKind
from wcetchar.model.service import ParameterKind
from wcetchar.readers import open_trace

WHAT = ("total", *(kind.value for kind in StretchKind))
HEAPS = ("heap_1", "heap_2", "heap_3", "heap_5")


@dataclass(frozen=True)
class Compared:
    service: str
    values: tuple[int, ...]
    """Of the parameters that are no cases."""
    what: str
    prices: str
    taken: Fraction
    published: Fraction


def publish(board: str, heap: str, build: Path) -> Characterization:
    """The figures of the suite for a heap."""
    words = ("ONLY=heap",) if heap == "heap_4" else (f"HEAP={heap}",)
    make(board, build, *words)
    elf, trace, result = (build / name for name in ("freertos.elf", "suite.trace", "suite.json"))
    wcetchar("capture", elf, "--machine", MACHINES[board], "-o", trace)
    files = services_files(board, build, *words)
    services = [word for name in files for word in ("--services", name)]
    wcetchar("characterize", elf, trace, *services, "-o", result)
    trace.unlink()
    return store.load_characterization(str(result))


def windows(
    board: str, heap: str, build: Path, seed: int, calls: int
) -> Iterator[tuple[str, tuple[int, ...], Taken]]:
    """(service, values, what it took) of each call of a random run."""
    make(board, build, f"HEAP={heap}", "DRIVER=random", f"SEED={seed}", f"CALLS={calls}")
    elf, trace_file = build / "freertos.elf", build / f"random-{seed}.trace"
    wcetchar("capture", elf, "--machine", MACHINES[board], "-o", trace_file)
    files = services_files(board, build, f"HEAP={heap}")
    services = as_traced(store.load_services(*map(str, files)))
    image = load_image(str(elf))
    resolved = resolve(services, image, isa.decode_image(image))
    trace = open_trace(str(trace_file), image=image)
    finder = WindowFinder(resolved, str(trace_file), registers_persist=trace.info.registers_persist)
    counting = _Counting(Labeller(resolved, str(trace_file)), resolved)
    for window in find_windows(trace.batches(), finder):
        kinds = [p.kind for p in window.service.parameters]
        values = [
            value
            for value, kind in zip(window.values, kinds, strict=True)
            if kind is not ParameterKind.CASE
        ]
        yield window.service.name, tuple(values), counting.piece(window)
    trace_file.unlink()


def compared(
    published: Characterization,
    board: str,
    found: Iterator[tuple[str, tuple[int, ...], Taken]],
) -> Iterator[Compared]:
    figures = [Figures.on(published, *pair) for pair in PROFILES[board]]
    figures += [Figures.in_corner(published, corner) for corner in random_corners.CORNERS]
    for name, values, taken in found:
        for what in WHAT:
            if what == "total":
                vectors = [taken.total]
            else:
                vectors = [held.counts for held in taken.stretches.get(StretchKind(what), [])]
            for one in figures:
                most = max(map(one.of_run, vectors), default=Fraction(0))
                allowed = one.at(name, what, values)
                yield Compared(name, values, what, one.profile, most, allowed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heap", default="heap_2", choices=HEAPS)
    parser.add_argument("--board", default="mps2-an385", choices=PROFILES)
    parser.add_argument("--seeds", default="1..3", type=seeds_of)
    parser.add_argument("--calls", default=2000, type=int)
    parser.add_argument("--folder", default=ROOT / "build" / "random-heaps", type=Path)
    options = parser.parse_args()
    folder = options.folder / f"{options.board}-{options.heap}"
    published = publish(options.board, options.heap, folder / "suite")
    tightest: dict[str, Compared] = {}
    worst: dict[tuple[str, str, str], Compared] = {}
    count = 0
    for seed in options.seeds:
        found = windows(options.board, options.heap, folder / "random", seed, options.calls)
        for one in compared(published, options.board, found):
            count += 1
            if one.taken > one.published:
                key = (one.service, one.what, one.prices)
                worst[key] = max(worst.get(key, one), one, key=lambda c: c.taken - c.published)
            elif one.what == "total":
                before = tightest.get(one.service)
                if before is None or one.published - one.taken < before.published - before.taken:
                    tightest[one.service] = one
    print(f"compared {count:,}")
    for name, one in sorted(tightest.items()):
        print(f"  nearest {name}{one.values} on {one.prices}: {one.taken} of {one.published}")
    for one in worst.values():
        print(
            f"too low: {one.service}{one.values} {one.what} on {one.prices}: "
            f"{float(one.taken)} of {float(one.published)}"
        )


if __name__ == "__main__":
    main()
