"""Prints the figures of the prose of docs/reference/zephyr.md that are no table's, from the folder
of a campaign over rtos_tests/zephyr, or from several (as many of its cells as there are).

wcetchar campaign rtos_tests/zephyr/campaign.yaml -o zephyr-cells
python docs/zephyr_figures.py zephyr-cells

With two characterizations: what that of a smaller sweep counts otherwise than the whole one.

python docs/zephyr_figures.py --smaller SMALLER.json WHOLE.json
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from generate_zephyr import NAMES, Summary, finished

from wcetchar import formula
from wcetchar.model.access import AccessClass, CoreEvent, Key, Operation
from wcetchar.model.characterization import Blocking, ServiceCharacterization
from wcetchar.report.summary import published, share
from wcetchar.store import load_characterization

EITHER = "kernel.lists"
"""The section of what the state decides the place of."""
BOARDS = ("mps2-an385", "qemu_cortex_m3", "qemu_riscv32")
ONE, OTHER = BOARDS[:2]
MANY = 2000
"""Points that are tried of a service, at most: of more, every third value of a parameter."""

Json = dict[str, Any]


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


Counted = tuple[Blocking, Key]


def counted_at(
    service: ServiceCharacterization, values: tuple[int, ...]
) -> Counter[Counted] | None:
    """What is published there by formula, or by a point of a table; not what depends on where the
    linker put the code, which is at another place when the driver is another one."""
    at = dict(zip((p.name for p in service.parameters), values, strict=True))
    rows = service.counts.rows
    if not service.counts.is_formula:
        points = {point.values: point.rows for point in service.counts.points}
        if values not in points:
            return None
        rows = points[values]
    found: Counter[Counted] = Counter()
    for row in rows:
        times = formula.evaluate(row.repetition, at)
        for key, number in row.vector.items():
            if not by_place(key):
                found[row.blocking, key] += times * number
    return +found


def by_place(key: Key) -> bool:
    """Whether a count depends on which halves of words the code begins in."""
    if isinstance(key, AccessClass):
        return key.operation is Operation.FETCH
    assert isinstance(key, CoreEvent)
    return key.kind.value.startswith(("crossing", "fetch held"))


def driven(service: ServiceCharacterization) -> list[tuple[int, ...]]:
    """Points that traces showed."""
    return [*service.evidence.fitted, *service.evidence.held_out]


def otherwise(
    one: ServiceCharacterization, other: ServiceCharacterization, points: list[tuple[int, ...]]
) -> bool:
    """Whether they count otherwise at one of the points that both have."""
    pairs = ((counted_at(one, at), counted_at(other, at)) for at in points)
    return any(a != b for a, b in pairs if a is not None and b is not None)


def smaller(less: str, whole: str) -> str:
    """What a smaller sweep counts otherwise."""
    there = {service.name: service for service in load_characterization(whole).services}
    pairs = [(service, there[service.name]) for service in load_characterization(less).services]
    formulas = [pair for pair in pairs if pair[0].counts.is_formula]
    at_its_own = sum(otherwise(one, other, driven(one)) for one, other in pairs)
    at_all = sum(otherwise(one, other, driven(other)) for one, other in formulas)
    return (
        f"{len(formulas)} of {len(pairs)} services and parts by formula; {at_its_own} count "
        f"otherwise at points of the smaller sweep; of the formulas, {at_all} do at points of the "
        "whole one"
    )


def all_cells(summaries: Iterable[Summary]) -> str:
    """How many services and parts, and how they are published."""
    forms: Counter[str] = Counter()
    cells = missing = 0
    for summary in summaries:
        cells += 1
        forms += Counter(published(s["form"], s["word"]) for s in summary["services"])
        missing += len(summary["not_characterized"])
    total, formulas = forms.total() + missing, forms["formula"]
    return (
        f"{cells} cells: {total:,} services and parts, {formulas:,} by exact formula "
        f"({share(formulas, total)}), {forms['table']:,} by table, {forms['estimate']:,} "
        f"estimates, {missing:,} not at all"
    )


def main(folders: list[Path]) -> None:
    cells = finished(folders)
    summaries = {}
    for board, scheduler in product(BOARDS, NAMES):
        name = f"{board}+{scheduler}+services"
        if name not in cells:
            continue
        summaries[board, scheduler] = summary = cells[name]
        (file, *_) = (
            path for f in folders if (path := f / name / "characterization.json").exists()
        )
        document: Json = json.loads(file.read_text(encoding="utf-8"))
        reached = sum(EITHER in sections(service) for service in document["services"])
        windows = sum(service["windows"] for service in summary["services"])
        print(
            f"{board}, {scheduler}: {document['conservation']['traced']:,} instructions; "
            f"{reached} of {len(document['services'])} services and parts access {EITHER}; "
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
    print(all_cells(cells.values()))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--smaller":
        print(smaller(*sys.argv[2:]))
    elif len(sys.argv) > 1 and sys.argv[1] != "--smaller":
        main([Path(folder) for folder in sys.argv[1:]])
    else:
        raise SystemExit(__doc__)
