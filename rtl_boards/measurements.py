"""Times between the marks of a run as measurements: MARKS.csv of the bench -> service,N,...,cycles.

    python rtl_boards/measurements.py MARKS.csv --services FILE ... [--label TEXT] -o MEASURED.csv

Services that are cut at switches, and handlers, are left out: what lies between their marks is not
theirs alone.
"""

from __future__ import annotations

import argparse
import csv
import sys

from wcetchar import store
from wcetchar.errors import WcetcharError
from wcetchar.model.service import ServiceKind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("marks")
    parser.add_argument("--services", action="append", required=True)
    parser.add_argument("--label", default="")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    services = store.load_services(*options.services)
    marks = services.marks
    by_number = {s.mark: s for s in services.services if s.kind is ServiceKind.CALL}
    names = sorted({p.name for s in by_number.values() for p in s.parameters})
    rows = []
    parameters: dict[int, int] = {}
    begun = None
    with open(options.marks) as stream:
        for line in csv.DictReader(stream):
            channel, value = divmod(int(line["offset"]), marks.values)
            cycle = int(line["cycle"])
            if channel == marks.begin:
                begun = (value, cycle)
            elif channel == marks.end:
                if begun is None or begun[0] != value:
                    sys.exit(f"{options.marks}: mark {value} ends in cycle {cycle} and never began")
                service = by_number.get(value)
                if service is not None:
                    values = {p.name: parameters[n] for n, p in enumerate(service.parameters)}
                    rows.append((service.name, values, cycle - begun[1]))
                begun, parameters = None, {}
            else:
                parameters[channel - marks.first_parameter] = value
    with open(options.output, "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["service", *names, "label", "cycles"])
        for name, values, cycles in rows:
            writer.writerow([name, *(values.get(n, "") for n in names), options.label, cycles])


if __name__ == "__main__":
    try:
        main()
    except WcetcharError as error:
        sys.exit(str(error))
