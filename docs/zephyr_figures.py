"""Prints the figures of the prose of docs/reference/zephyr.md that are no table's, from the folder
of a campaign over rtos_tests/zephyr (as many of its cells as there are).

wcetchar campaign rtos_tests/zephyr/campaign.yaml -o zephyr-cells
python docs/zephyr_figures.py zephyr-cells
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from generate_zephyr import NAMES

from wcetchar import formula

EITHER = "kernel.lists"
"""The section of what the state decides the place of."""
BOARDS = ("mps2-an385", "qemu_cortex_m3", "qemu_riscv32")
ONE, OTHER = BOARDS[:2]
MANY = 2000
"""Points that are tried of a service, at most: of more, every third value of a parameter."""

Json = dict[str, Any]


def read(path: Path) -> Json | None:
    found: Json | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def sections(service: Json) -> Iterator[str]:
    """Sections of all accesses that are published of a service."""
    counts = service["counts"]
    for rows in (counts.get("rows", ()), *(point["rows"] for point in counts.get("points", ()))):
        for row in rows:
            yield from (count["section"] for count in row["counts"] if "section" in count)


def points(parameters: list[str]) -> list[dict[str, int]]:
    """All values of parameters such as `R 1..11`."""
    ranges = {}
    for text in parameters:
        found = re.fullmatch(r"(\w+) (\d+)\.\.(\d+)", text)
        assert found, text
        ranges[found[1]] = range(int(found[2]), int(found[3]) + 1)
    size = 1
    for values in ranges.values():
        size *= len(values)
    step = 1 if size <= MANY else 3
    grids = [sorted({*values[::step], values[-1]}) for values in ranges.values()]
    return [dict(zip(ranges, values, strict=True)) for values in product(*grids)]


def instructions(service: Json, at: dict[str, int]) -> int:
    return sum(
        formula.evaluate(formula.parse(repetition), at) * count
        for repetition, _, count in service["sections"]
    )


def differing(one: Json, other: Json) -> tuple[int, int]:
    """Services and parts that execute another number of instructions somewhere, or, for tables, at
    the dearest point; and formulas that are written otherwise and count the same."""
    counts = written = 0
    there = {service["service"]: service for service in other["services"]}
    for service in one["services"]:
        twin = there[service["service"]]
        if service["sections"] == twin["sections"]:
            continue
        if "formula" in (service["form"], twin["form"]) and service["form"] == twin["form"]:
            tried = points(service["parameters"])
            same = all(instructions(service, at) == instructions(twin, at) for at in tried)
        else:
            dearest = [sum(n for _, _, n in found["sections"]) for found in (service, twin)]
            same = dearest[0] == dearest[1] and service["form"] == twin["form"]
        counts += not same
        written += same
    return counts, written


def main(folder: Path) -> None:
    summaries = {}
    for board, scheduler in product(BOARDS, NAMES):
        cell = folder / f"{board}+{scheduler}+services"
        record, published = read(cell / "cell.json"), read(cell / "characterization.json")
        summary = (record or {}).get("characterization", {}).get("summary")
        if summary is None or published is None:
            continue
        summaries[board, scheduler] = summary
        reached = sum(EITHER in sections(service) for service in published["services"])
        windows = sum(service["windows"] for service in summary["services"])
        print(
            f"{board}, {scheduler}: {published['conservation']['traced']:,} instructions; "
            f"{reached} of {len(published['services'])} services and parts access {EITHER}; "
            f"{windows:,} windows"
        )
    for scheduler in NAMES:
        if (ONE, scheduler) in summaries and (OTHER, scheduler) in summaries:
            one, other = summaries[ONE, scheduler], summaries[OTHER, scheduler]
            counts, written = differing(one, other)
            print(
                f"{scheduler}: {counts} of {len(one['services'])} services and parts have other "
                f"instructions on {OTHER} than on {ONE}, {written} are written otherwise"
            )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
