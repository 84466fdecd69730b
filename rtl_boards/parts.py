"""What figures of services are made of that is waited for, beside what was measured.

    python rtl_boards/parts.py STATE SERVICE[:NAME=VALUE,...] ... [--config NAME]

For services in a state that `validate.py` has measured (build/rtl/validate): how many cycles the
figure is over, at the rows with these values of parameters, and how many of its cycles are waits of
accesses for writes. A wait may have happened: these are the most that each can be of what is over.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from fractions import Fraction

import validate
from cells import CELLS

from wcetchar import store
from wcetchar.engine.counts import count
from wcetchar.engine.pricing import price_vector
from wcetchar.engine.time import periods
from wcetchar.model.access import CoreEvent, EventKind, Key, Succession

BEHIND_STORE = (
    EventKind.LOAD_BEHIND_STORE,
    EventKind.SECOND_LOAD_BEHIND_STORE,
    EventKind.LOAD_BEHIND_STORE_NEAR,
    EventKind.SECOND_LOAD_BEHIND_STORE_NEAR,
)
PARTS = ("load for a write", "write for a write", "writes at the begin", "load behind store")


def part_of(key: Key) -> str | None:
    if isinstance(key, CoreEvent):
        return PARTS[3] if key.kind in BEHIND_STORE else None
    if not isinstance(key, Succession) or key.access is None:
        return None
    if key.before is None:
        return PARTS[2]
    if not key.before.may_be_posted:
        return None
    return PARTS[1] if key.access.may_be_posted else PARTS[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", choices=[cell.name for cell in CELLS], metavar="STATE")
    parser.add_argument("services", nargs="+", metavar="SERVICE[:NAME=VALUE,...]")
    parser.add_argument("--config", default="basic")
    given = parser.parse_args()
    (cell,) = (cell for cell in CELLS if cell.name == given.state)
    published = validate.WORK / f"{given.config}{''.join(cell.counted)}.json"
    measured = validate.WORK / given.config / f"{cell.folder}-total.csv"
    for file in (published, measured):
        if not file.exists():
            sys.exit(f"{file}: not there; next: validate.py --only {cell.name!r}")
    section_map = validate.made_map(cell, published) if cell.makes_a_map else cell.section_map
    kernel, profile = store.load_characterization(published), store.load_profile(cell.profile)
    prices = price_vector(kernel, profile, store.load_map(str(section_map)))
    period = periods(profile.core.clock).high
    with measured.open(encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    print("| service | over | " + " | ".join(PARTS) + " |")
    print("|---|" + "--:|" * (1 + len(PARTS)))
    for wanted in given.services:
        name, _, values = wanted.partition(":")
        at = dict(one.split("=") for one in values.split(",")) if values else {}
        (service,) = (one for one in kernel.services if one.name == name)
        names = tuple(parameter.name for parameter in service.parameters)
        found = [r for r in rows if r["service"] == name and at.items() <= r.items()]
        if not found:
            sys.exit(f"{measured}: no row of {wanted}")
        for row in found:
            point = tuple(int(row[one]) for one in names)
            parts: Counter[str] = Counter()
            total = Fraction(0)
            for section in count(service.counts, names, point, name).rows:
                for key, number in section.vector.items():
                    cycles = prices[key].time.high * number * section.repetitions / period
                    total += cycles
                    part = part_of(key)
                    if part is not None:
                        parts[part] += round(cycles)
            total += prices.caches.of(service, point).total.high / period
            over = round(total) - int(row["cycles"])
            cells = (f"{parts[part]}" for part in PARTS)
            print(f"| `{wanted}` | {over} of {row['cycles']} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
