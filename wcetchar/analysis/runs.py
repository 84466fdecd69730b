"""Services without marks over the runs of a firmware: what a run must say before it is searched,
and what is told of calls that are no windows of their own.

Inputs: the :class:`RunValues` of a trace; the tallies of its window search. Nothing here changes a
count; it decides whether a trace can be searched at all, and words the notes.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from wcetchar.analysis.resolve import Resolved
from wcetchar.errors import InputError, Location
from wcetchar.model.run import RunValues
from wcetchar.model.service import Service, ServiceKind
from wcetchar.model.trace import Knowledge, Trace

_TOLD_APART = (
    {ServiceKind.CALL},
    {ServiceKind.BLOCKING_CALL, ServiceKind.FINAL_CALL},
    {ServiceKind.HANDLER},
    {ServiceKind.ACTIVATION},
)
"""Of these kinds one service each may have the same entry."""

Calls = Counter[tuple[str, str]]
"""(outer service, inner service) or (service, reason) -> calls."""


def check_run(trace: Trace, resolved: Resolved, run: RunValues) -> bool:
    """Whether registers have to be read for this run.

    Raises:
        InputError: two services that cannot be told apart, an argument in a trace without
            registers, or a filter that may hide calls.
    """
    path = trace.info.path
    table = resolved.table.instructions
    registers = False
    for index in resolved.entries:
        services = resolved.unmarked(index, run)
        for kinds in _TOLD_APART:
            same = _same([s for s in services if s.kind in kinds])
            if same:
                raise InputError(
                    f"{' and '.join(same)} are entered at the same place and have no marks, so "
                    "nothing tells them apart",
                    where=Location(path),
                    expected="one of them in this run",
                    hint="say in a runs file which services the run shows",
                )
        if services and not trace.info.filter.shows(table[index].address):
            raise InputError(
                f"the capture's filter may have left out calls of {services[0].name}, which has "
                "no marks",
                where=Location(path),
                expected="a trace that holds every one of them",
                hint="capture without --marked, and exclude nothing that a service executes",
            )
        registers |= any(p.argument is not None for s in services for p in s.parameters)
    lost = next((x for x in trace.info.losses if x.lacks is Knowledge.REGISTERS), None)
    if registers and lost is not None:
        named = next(
            f"{p.name} of {s.name}"
            for index in resolved.entries
            for s in resolved.unmarked(index, run)
            for p in s.parameters
            if p.argument is not None
        )
        raise InputError(
            f"parameter {named} is read from an argument register, but the trace has no "
            f"{Knowledge.REGISTERS.value}: {lost.consequence}",
            where=Location(path),
            expected="a trace that shows registers: Renode's with TrackRegisters, or execlog of "
            "QEMU 9 or later with reg=*",
            hint="or leave `argument` out of the services file and give the value for each run, "
            "with --set or a runs file",
        )
    return registers


def _same(services: list[Service]) -> list[str]:
    """Names of two services that nothing tells apart: handlers by their exceptions."""
    for one, two in combinations(services, 2):
        if not one.exceptions or not two.exceptions or {*one.exceptions} & {*two.exceptions}:
            return [one.name, two.name]
    return []


def why_not(service: Service, inside: Calls, given_up: Calls) -> str:
    """Why a service without a mark has no window."""
    if service.kind is ServiceKind.ACTIVATION:
        nothing = "no trace shows its thread from its start on and switched in again"
    else:
        nothing = "no trace shows a call of it"
    return "; ".join(_told(service, inside, given_up)) or nothing


def run_notes(service: Service, inside: Calls, given_up: Calls) -> list[str]:
    """What an integrator has to know of the calls of a service, and of calls inside its own."""
    found = _told(service, inside, given_up) if service.mark is None else []
    inner = [(name, n) for (outer, name), n in sorted(inside.items()) if outer == service.name]
    if inner:
        listed = ", ".join(f"{name} ({n:,})" for name, n in inner)
        found.append(f"calls of other services inside it are counted here: {listed}")
    if service.mark is None and any(p.argument is None for p in service.parameters):
        names = ", ".join(p.name for p in service.parameters if p.argument is None)
        found.append(f"the firmware does not mark {names}: the value was given for each run")
    return found


def _told(service: Service, inside: Calls, given_up: Calls) -> list[str]:
    name = service.name
    noun = "activation" if service.kind is ServiceKind.ACTIVATION else "call"
    outer = [(o, n) for (o, inner), n in sorted(inside.items()) if inner == name]
    found = []
    if outer:
        listed = ", ".join(f"{o} ({n:,})" for o, n in outer)
        found.append(f"its {noun}s inside other services are counted there: {listed}")
    for (given, reason), count in sorted(given_up.items()):
        if given == name:
            calls = f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
            found.append(f"{calls} not counted: {reason}")
    return found
