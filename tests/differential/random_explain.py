"""Where a random call went other ways than the suite's call of that service at the same values:

    python tests/differential/random_explain.py [--board B] SEED CALLS NUMBER SERVICE [VALUE ...]

prints each source line that the two executed unequally often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from random_check import MACHINES, parser_of_board, run, services_files, wcetchar
from random_windows import suite_windows

from wcetchar import isa, store
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.image import load_image
from wcetchar.model.image import Image

Lines = Counter[str]


def lines_of(image: Image, resolved: Resolved, windows: Iterable[Window]) -> Lines:
    found: Lines = Counter()
    for window in windows:
        for piece in window.pieces:
            for address in piece.address[piece.index >= 0].tolist():
                found[resolved.place(address)] += 1
    return found


def suite_lines(board: str, folder: Path, service: str, values: tuple[int, ...]) -> Lines:
    elf, trace = folder / "suite" / "freertos.elf", folder / "suite.trace"
    wcetchar("capture", elf, "--machine", MACHINES[board], "-o", trace)
    resolved, windows = suite_windows(elf, trace, services_files(board, folder / "suite"))
    wanted = [w for w in windows if w.service.name == service and w.values == values]
    trace.unlink()
    return lines_of(resolved.image, resolved, wanted)


def main() -> None:
    parser = parser_of_board(__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("calls", type=int)
    parser.add_argument("number", type=int)
    parser.add_argument("service")
    parser.add_argument("values", type=int, nargs="*")
    options = parser.parse_args()
    folder = options.folder / options.board
    build = folder / "random"
    _, found = run(options.board, folder, options.seed, options.calls, keep={options.number})
    windows = next(i.windows for i in [*found] if i.number == options.number)
    elf, files = build / "freertos.elf", services_files(options.board, build)
    image = load_image(str(elf))
    resolved = resolve(store.load_services(*map(str, files)), image, isa.decode_image(image))
    random = lines_of(image, resolved, windows)
    suite = suite_lines(options.board, folder, options.service, tuple(options.values))
    print(f"{sum(random.values())} instructions here, {sum(suite.values())} in the suite")
    for place in sorted(random | suite):
        if random[place] != suite[place]:
            print(f"  {random[place]:5} {suite[place]:5}  {place}")


if __name__ == "__main__":
    main()
