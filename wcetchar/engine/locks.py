"""Blocking by locks under priority inheritance.

Sha, Rajkumar, Lehoczky, Priority Inheritance Protocols: An Approach to Real-Time Synchronization,
IEEE Transactions on Computers 39(9), 1990. A resource's *ceiling* is the priority of the most
urgent task that locks it, or, where a task locks it while it holds another one, that one's ceiling
if it is higher (such a task inherits from whoever waits for the other one). A job of priority p can
be blocked by a critical section of a less urgent task on a resource whose ceiling is p or more::

    B_i = min( sum over resources k of        max over less urgent j of  z(j, k),
               sum over less urgent j of      max over resources k of    z(j, k) )

with z(j, k) the longest such section of j on k: each less urgent job blocks with one section at
most (their Theorem 5), and each resource with one at most (Theorem 6). Sections are nested
properly, and there is no circle in which a task may hold what another one waits for: that is a
deadlock, which :func:`circle` finds.

Soundness caveat: inheritance has to reach whoever the holder itself waits for. Where a kernel
raises the holder alone, nested sections are not covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import networkx as nx

from wcetchar.model.system import Cause, Part, Task


def circle(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Resources that are locked within each other in a circle, in order; empty: there is none."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for task in tasks:
        graph.add_edges_from((s.within, s.resource) for s in task.sections if s.within)
    try:
        return tuple(edge[0] for edge in nx.find_cycle(graph))
    except nx.NetworkXNoCycle:
        return ()


def ceilings(tasks: Sequence[Task]) -> dict[str, int]:
    """Of each resource. The tasks' resources have no circle."""
    found: dict[str, int] = {}
    inside: nx.DiGraph[str] = nx.DiGraph()
    for task in tasks:
        for section in task.sections:
            inside.add_node(section.resource)
            found[section.resource] = max(task.priority, found.get(section.resource, task.priority))
            if section.within:
                inside.add_edge(section.within, section.resource)
    for resource in nx.topological_sort(inside):
        for inner in inside.successors(resource):
            found[inner] = max(found[inner], found[resource])
    return found


def blocking(
    task: Task,
    tasks: Sequence[Task],
    resources: dict[str, int],
    switch: Fraction = Fraction(0),
) -> tuple[Part, ...]:
    """B_i of a task, a part for each section that it is made of; ``resources``: their ceilings;
    ``switch``: what a context switch takes, of which there are two more for each lock that a
    section may find taken inside. Whoever is in the section gets the processor for it, and once
    more behind each such lock, and so does its holder: their working sets come back."""
    longest: dict[tuple[str, str], Fraction] = {}
    for other in tasks:
        if other.priority >= task.priority or other is task:
            continue
        for section in other.sections:
            if resources[section.resource] >= task.priority:
                key = other.name, section.resource
                inside = _locks_within(other, tasks, section.resource)
                time = section.time + other.reload
                time += inside * (2 * switch + other.reload + largest_reload(tasks, other))
                longest[key] = max(time, longest.get(key, Fraction(0)))
    sides = []
    for side in (0, 1):
        best: dict[str, tuple[str, str]] = {}
        for key, time in longest.items():
            if key[side] not in best or time > longest[best[key[side]]]:
                best[key[side]] = key
        sides.append(list(best.values()))
    chosen = min(sides, key=lambda keys: sum((longest[k] for k in keys), start=Fraction(0)))
    return tuple(
        Part(Cause.LOCKED, f"{name} ({what})", longest[name, what]) for name, what in chosen
    )


def largest_reload(tasks: Iterable[Task], but: Task) -> Fraction:
    """Of all other tasks."""
    return max((one.reload for one in tasks if one is not but), default=Fraction(0))


def lock_switches(task: Task, tasks: Sequence[Task]) -> int:
    """Context switches of a job at most because it finds locks taken: to the holder and back, for
    each time that it locks what another task locks as well."""
    return 2 * _locks_within(task, tasks, "")


def _locks_within(task: Task, tasks: Sequence[Task], within: str) -> int:
    """How often a job locks what another task locks as well, while it holds a resource, or in all
    (``""``)."""
    shared = {section.resource for one in tasks if one is not task for section in one.sections}

    def locked(within: str) -> int:
        return sum(
            section.times * ((section.resource in shared) + locked(section.resource))
            for section in task.sections
            if section.within == within
        )

    return locked(within)
