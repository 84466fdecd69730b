"""A machine whose prices are known, a characterization of services on it, and what these take.

What a service takes is computed here from the machine alone: nothing of the engine is used."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wcetchar.model.access import (
    LINE_ENTRIES,
    LINE_LOADS,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    Characterization,
    CodeRange,
    Counts,
    DataFootprint,
    FetchedLines,
    Footprint,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    TraceSection,
    UsedLine,
    UsedLines,
    Word,
)
from wcetchar.model.service import Kernel, SectionKind, ServiceKind
from wcetchar.store import characterization_json

LINE = 32
CODE, DATA = 0x1000, 0x8000
ALU = CoreEvent(".text", EventKind.ALU)
LOAD = CoreEvent(".text", EventKind.LOAD)
FETCHED = AccessClass(".text", Operation.FETCH, 32, Pattern.NEXT)
READ = AccessClass("heap", Operation.READ, 32)
BEGINS = Succession(None, (), 0, False, READ)


@dataclass(frozen=True)
class Machine:
    """Times in cycles of 10 ns. ``takes``, ``every``: of another master of the memory of data; 0:
    there is none."""

    alu: int = 1
    load: int = 1
    fetch: int = 1
    read: int = 2
    refill: int = 22
    penalty: int = 14
    takes: int = 0
    every: int = 0


@dataclass(frozen=True)
class Service:
    """What one does: numbers of instructions, fetches, lines of code, lines of data that it loads
    from; each of these lines is in a set of its own."""

    alu: int
    load: int
    fetch: int
    lines: int
    data: int


def cycles(machine: Machine, service: Service, label: str) -> int:
    """Of a call with ``cold`` or ``warm`` caches, or with the data cache ``off``."""
    m, s = machine, service
    own = s.alu * m.alu + s.load * (m.load + m.read) + s.fetch * m.fetch
    if label == "cold":
        return own + s.lines * m.refill + s.data * m.penalty
    if label == "off":
        return own + s.load * m.penalty
    return own


def disturbed(machine: Machine, work: int) -> int:
    """``work`` cycles of the core, cycle by cycle, with the other master as busy as he can be: he
    comes right at the beginning and whenever he may, and each time the core waits for him."""
    now = waits = 0
    while work:
        if now % machine.every == 0:
            waits += machine.takes
        if waits:
            waits -= 1
        else:
            work -= 1
        now += 1
    return now


def write_characterization(
    path: Path, services: Mapping[str, Service], *, successions: bool = False
) -> None:
    found = Characterization(
        Kernel("machine", "1"),
        "rv32imc",
        32,
        (
            SectionInfo(".text", SectionKind.CODE, address=CODE),
            SectionInfo("heap", SectionKind.DATA, address=DATA),
        ),
        tuple(_characterized(name, one, successions) for name, one in services.items()),
        Provenance("test"),
        stalls=STALL_EDITION,
        data_lines=(LINE,),
        successions=successions,
    )
    path.write_text(characterization_json(found), encoding="utf-8")


def _characterized(name: str, service: Service, successions: bool) -> ServiceCharacterization:
    counts = {ALU: service.alu, LOAD: service.load, FETCHED: service.fetch, READ: service.load}
    loads = {CoreEvent("heap", LINE_LOADS[LINE, ways][0]): service.data for ways in (1, 2, 4)}
    begins = {BEGINS: 1} if successions else {}
    entries = {CoreEvent(".text", LINE_ENTRIES[size][0]): service.lines for size in LINE_ENTRIES}

    def rows(numbers: Mapping[object, int]) -> Counts:
        found = AccessVector((key, n) for key, n in numbers.items() if n)  # type: ignore[misc]
        return Counts((TraceSection(Blocking(), found),))

    used = UsedLines(tuple(UsedLine(LINE, "heap", n, 1, 1) for n in range(service.data)))
    lines = Footprint(((),), (CodeRange(".text", 0, LINE * service.lines),))
    return ServiceCharacterization(
        name,
        ServiceKind.CALL,
        Word.BOUND,
        (),
        rows({**counts, **loads, **begins}),
        lines=FetchedLines(rows({**entries}), (lines,)),
        data=(DataFootprint(((),), used),),
    )


def profile_text(machine: Machine | None = None, *, caches: bool = True, master: str = "") -> str:
    """With the machine's times; without one, with ranges. ``master``: of the memory of data."""

    def of(name: str, low: int, high: int) -> str:
        return f"{low}..{high} cycles" if machine is None else f"{getattr(machine, name)} cycles"

    geometry = f"{{line: {LINE}, size: 4 KiB, ways: 1}}"
    lines = [
        "schema: wcetchar/hardware-profile/1",
        "name: machine",
        "core:",
        "  name: machine",
        "  clock: 100 MHz",
        "  events:",
        f"    alu: {of('alu', 0, 60)}",
        f"    load: {of('load', 0, 60) if machine else '1 cycle'}",
        *(
            [f"  instruction cache: {geometry}    # 4 KiB", f"  data cache: {geometry}"]
            if caches
            else []
        ),
        "regions:",
        "  flash:",
        "    kind: memory",
        "    bus width: 32",
        f"    fetch: {of('fetch', 0, 60)}",
        *([f"    line refill: {of('refill', 0, 200)}"] if caches else []),
        "  ram:",
        "    kind: memory",
        "    bus width: 32",
        f"    read: {of('read', 0, 60)}",
        *([f"    load miss penalty: {of('penalty', 0, 200)}"] if caches else []),
        *([f"    arbitration: {master}"] if master else []),
    ]
    return "\n".join(lines) + "\n"


MAP = f"""schema: wcetchar/section-map/1
name: machine
sections: {{.text: flash, heap: ram}}
assumptions: [data alignment]
addresses: {{.text: {CODE}, heap: {DATA}}}
"""
STATES = (
    *("--instruction-cache", "cold=cold", "--instruction-cache", "warm=warm"),
    *("--instruction-cache", "off=warm", "--data-cache", "cold=cold"),
    *("--data-cache", "warm=warm", "--data-cache", "off=always miss"),
)
"""Options that say what the labels of :func:`cycles` are."""


def write_measured(path: Path, rows: Sequence[tuple[str, str, int]]) -> None:
    """``rows``: service, label, cycles."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["service", "label", "cycles"])
        writer.writerows(rows)
