"""Of the page's evaluator: bytes, seconds and milliseconds, and how many random edits are inside.

    .venv/bin/python tests/benchmarks/evaluator.py CHARACTERIZATION PROFILE MAP

Prices are recorded once; then, at random numbers of the profile (one to three of them, between a
tenth and ten times as large) and random values of parameters, what the page finds by node is held
against the estimate: equal, or outside; and the same over all paths, where there are path models.
Times are those of this machine.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evaluator_cases import Both, Case, compared, paths_compared

from wcetchar import store
from wcetchar.pipeline import estimate
from wcetchar.store.profile_numbers import ProfileNumbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("characterization")
    parser.add_argument("profile")
    parser.add_argument("map")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--services", type=int, help="so many, drawn at random; default: all")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    known = store.load_characterization(given.characterization)
    if given.services is not None:
        chosen = draw.sample(known.services, given.services)
        names = {service.name for service in chosen}
        paths = tuple(model for model in known.paths if model.service in names)
        known = replace(known, services=tuple(chosen), paths=paths)
    numbers = ProfileNumbers(given.profile)
    where = estimate.map_of(numbers.with_values({}), given.profile, given.map)
    begun = time.process_time()
    both = Both(known, numbers, where)
    recorded = time.process_time() - begun
    text = json.dumps(both.document, separators=(",", ":"))
    pieces = [len(piece["guards"]) for piece in both.document["pieces"]]
    of_profile = both.document["numbers"]
    print(f"{given.profile}: {len(known.services)} services, {len(of_profile)} numbers")
    print(f"recorded in {recorded:.1f} s: {len(text):,} bytes, guards of pieces: {pieces}")
    way, standing = of_profile[0]["way"], of_profile[0]["text"]
    values = {s.name: {p.name: p.minimum for p in s.parameters} for s in known.services}
    each = [Case(name, at, {}) for name, at in values.items()]
    moved = [Case(name, at, {way: f"1{standing}"}) for name, at in values.items()]
    print(f"all services: {both.milliseconds(each, len(each)):.0f} ms at first, ", end="")
    print(f"{both.milliseconds([*each, *moved], len(moved)):.0f} ms at another number")
    cases = both.random_cases(given.cases, draw)
    told("inside", given.cases, *compared(both, cases))
    if known.paths:
        longest = max(both.milliseconds([one], 1, "evaluatePaths") for one in each)
        print(f"over all paths: the longest takes {longest:.0f} ms")
        told("over all paths inside", given.cases, *paths_compared(both, cases))


def told(what: str, of: int, inside: int, reasons: list[str]) -> None:
    print(f"{what}: {inside} of {of}, equal to the estimate")
    for reason, count in Counter(reasons).most_common(5):
        print(f"  {count} {reason}")


if __name__ == "__main__":
    main()
