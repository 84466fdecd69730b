"""What design questions take: sweeps in columns, beside the same points one by one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from wcetchar import store
from wcetchar.engine import Following, estimate_given, price_vector
from wcetchar.pipeline import system_check, system_sweep

WCETCHAR = (sys.executable, "-m", "wcetchar")
Row = tuple[str, str, str]
ONE_BY_ONE = 3000
"""Points that are priced by themselves; a million of them take minutes."""
SYSTEM = """\
schema: wcetchar/system/1
name: benchmark
kernel:
  {characterization: renaux2010, profile: renaux2010/platform1, map: renaux2010/map1,
   context switch: 1 us, set: {N: 5}}
tasks:
  fast: {priority: 3, period: 1 ms, wcet: 100 us}
  maker: {priority: 2, period: 5 ms, wcet: 1 ms, calls: [{service: CreateThread, times: 2}]}
  slow: {priority: 1, period: 20 ms, wcet: 5 ms}
"""


def questions(folder: Path) -> list[Row]:
    """Of the published service, which has the longest range of a parameter."""
    million = 65_536 * 16
    words = ["sweep", "renaux2010", "--profile", "renaux2010/platform1", "--map", "renaux2010/map1"]
    axes = ["--vary", "N=0..65535", "--vary", "core.clock=8MHz..168MHz/16"]
    output = ["--format", "csv", "-o", str(folder / "million.csv")]
    begin = time.perf_counter()
    subprocess.run([*WCETCHAR, *words, *axes, *output], check=True, stdout=subprocess.DEVNULL)
    whole = time.perf_counter() - begin
    alone = _one_by_one()
    rows = [
        ("sweep 1,048,576 points to CSV, whole process", f"{whole:.1f} s", "seconds"),
        ("  points a second", f"{million / whole:,.0f}", ""),
        ("  times as many as one by one, already opened", f"{million / whole * alone:.0f}", ""),
    ]
    file = folder / "system.yaml"
    file.write_text(SYSTEM)
    asked = system_sweep.Request(str(file), vary=("tasks.maker.wcet=500..1499us",))
    begin = time.perf_counter()
    found = system_sweep.run(asked)
    each = (time.perf_counter() - begin) / len(found.points)
    begin = time.perf_counter()
    for _ in range(20):
        system_check.run(system_check.Request(str(file)))
    single = (time.perf_counter() - begin) / 20
    rows += [
        ("system sweep, 1,000 points, points a second", f"{1 / each:,.0f}", ""),
        ("  times as many as system check, with its simulated run", f"{single / each:.1f}", ""),
    ]
    return rows


def _one_by_one() -> float:
    """Seconds for each point."""
    characterization = store.load_characterization("renaux2010")
    (service,) = characterization.services
    profile = store.load_profile("renaux2010/platform1")
    section_map = store.load_map("renaux2010/map1")
    prices = price_vector(characterization, profile, section_map, [service.name])
    begin = time.perf_counter()
    for number in range(ONE_BY_ONE):
        following = Following(characterization, prices, {"N": number})
        estimate_given(service, prices, {"N": number}, following)
    return (time.perf_counter() - begin) / ONE_BY_ONE
