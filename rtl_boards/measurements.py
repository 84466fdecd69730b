"""A run of the bench as measurements for `wcetchar validate`: service,N,...,label,cycles.

    python rtl_boards/measurements.py RUN --program ELF --reference REFERENCE --services FILE ... \\
        [--trap-handler SYMBOL] [--label TEXT ...] -o MEASURED.csv
    python rtl_boards/measurements.py MARKS.csv --services FILE ... [--label TEXT ...] \\
        -o MEASURED.csv

RUN and REFERENCE are folders with `marks.csv` and `retired` of the bench: the run, and the same
program with ideal caches on a board without wait states. Then the times are those of the services
alone, cut at retired instructions (`windows.py`), parts of services and handlers as well.

With marks alone the times are those between the marks: measuring takes a part of them, and services
that are cut at switches, and handlers, are left out, for what lies between their marks is not
theirs alone.

Several labels are those of the first, second ... measurement of the same service at the same
values, and the last one that of all further ones: `--label cold --label warm` for a driver that
does everything twice. `wcetchar validate` has a row for each label, so that what took less is not
hidden behind what took longer.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from windows import invocations, load, measured

from wcetchar import store
from wcetchar.errors import WcetcharError
from wcetchar.model.service import ServiceKind, ServicesFile

Row = tuple[str, Mapping[str, int], int]
TRAP_HANDLER = "freertos_risc_v_trap_handler"
"""Where all traps of the program arrive, if it is not said."""


def between_marks(path: str, services: ServicesFile) -> Iterator[Row]:
    marks = services.marks
    if marks is None:
        sys.exit("the services have no marks")
    by_number = {s.mark: s for s in services.services if s.kind is ServiceKind.CALL}
    with open(path) as stream:
        stores = [(int(line["cycle"]), int(line["offset"])) for line in csv.DictReader(stream)]
    try:
        for mark, begin, end, parameters in invocations(marks, stores):
            service = by_number.get(mark)
            if service is not None:
                values = {p.name: parameters[n] for n, p in enumerate(service.parameters)}
                yield service.name, values, end - begin
    except ValueError as error:
        sys.exit(f"{path}: {error}")


def between_retired(
    folder: str, program: str, reference: str, services_files: list[str], trap_handler: str
) -> Iterator[Row]:
    run, other = load(Path(folder)), load(Path(reference))
    cut, times = measured(program, services_files, trap_handler, run, other)
    say_left_out(cut.left_out)
    for window, cycles in times:
        yield window.service, window.values, cycles


def say_left_out(counts: Mapping[tuple[str, str], int]) -> None:
    for (service, reason), count in sorted(counts.items()):
        print(f"left out: {service}, {count} times: {reason}", file=sys.stderr)


def write(path: str, rows: Iterable[Row], names: list[str], labels: Sequence[str]) -> None:
    seen: Counter[tuple[object, ...]] = Counter()
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["service", *names, "label", "cycles"])
        for name, values, cycles in rows:
            same = (name, *sorted(values.items()))
            label = labels[min(seen[same], len(labels) - 1)]
            seen[same] += 1
            writer.writerow([name, *(values.get(n, "") for n in names), label, cycles])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="folder of a run, or its marks")
    parser.add_argument("--services", action="append", required=True)
    parser.add_argument("--program", help="the ELF file that ran")
    parser.add_argument("--reference", help="folder of the run with ideal caches, no wait states")
    parser.add_argument("--trap-handler", default=TRAP_HANDLER, help="symbol; default %(default)s")
    parser.add_argument("--label", action="append", help="of each measurement; see above")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    services = store.load_services(*options.services)
    if options.program:
        reference = options.reference or options.run
        rows = between_retired(
            options.run, options.program, reference, options.services, options.trap_handler
        )
    else:
        rows = between_marks(options.run, services)
    names = sorted({p.name for s in services.services for p in s.parameters})
    write(options.output, rows, names, options.label or [""])


if __name__ == "__main__":
    try:
        main()
    except WcetcharError as error:
        sys.exit(str(error))
