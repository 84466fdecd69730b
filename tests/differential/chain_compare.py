"""What is published against what was counted: each function says what differs, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from chain_made import Made, Oracle
from chain_oracle import Apart, Counted, Counts, InParts, Key, Place, summed
from chain_published import UNKNOWN, Published, by_key
from stall_count import KINDS

Symbols = dict[str, tuple[int, int]]
BESIDE = {
    *("pipeline refill", "exception entry", "supervisor call entry", "exception exit"),
    *("float context save", "float context restore"),
    *KINDS,
}
"""Core events that are no instruction's own."""


def service_of(published: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [s for s in published["services"] if s["name"] == name]
    assert isinstance(found, dict)
    return found


def values_of(service: dict[str, Any], values: tuple[int, ...]) -> dict[str, int]:
    names = [parameter["name"] for parameter in service.get("parameters", [])]
    return dict(zip(names, values, strict=True))


def instructions(counts: Counter[Key]) -> int:
    return sum(n for key, n in counts.items() if len(key) == 2 and key[1] not in BESIDE)


def parts_of(services: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(service, what is published of it)."""
    for name, service in services["services"].items():
        of = {"blocking call": ("/call", "/resume"), "final call": ("/call",)}
        for part in of.get(service["kind"], ("",)):
            yield name, name + part


def values(oracle: Oracle, services: dict[str, Any], published: dict[str, Any]) -> Iterator[str]:
    """Each service, or part, has as many windows as are published, at the points that are; each
    parameter reaches both ends of its range, and each case there is has some."""
    seen: dict[str, list[tuple[int, ...]]] = {}
    for window in oracle.windows:
        seen.setdefault(window.service, []).append(window.values)
    for service in published["services"]:
        name, evidence = service["name"], service["evidence"]
        points = {tuple(p) for key in ("fitted", "held_out") for p in evidence.get(key, ())}
        own = seen.pop(name, [])
        if set(own) != points or len(own) != evidence["windows"]:
            yield f"{name}: {len(own)} windows, or at other values than is published"
        stated = services["services"][name.partition("/")[0]].get("parameters", {})
        for number, (parameter, about) in enumerate(stated.items()):
            low, high = map(int, str(about["range"]).split(".."))
            found = {point[number] for point in own}
            every = set(range(low, high + 1)) if about["kind"] == "case" else {low, high}
            if not every <= found or min(found) < low or max(found) > high:
                yield f"{name}: {parameter} is not at all of {about['range']}"
    yield from (f"{name} is not published" for name in seen)
    shown = {service["name"] for service in published["services"]}
    for service, part in parts_of(services):
        if part not in shown:
            yield f"{part} of {service} is not published"


def conservation(oracle: Oracle, published: dict[str, Any]) -> Iterator[str]:
    """Instructions of each service, of each exception outside windows, and in all."""
    stated = published["conservation"]
    attributed = {entry["name"]: entry["instructions"] for entry in stated["attributed"]}
    elsewhere = {entry["name"]: entry["instructions"] for entry in stated["unattributed"]}
    expected: Counter[str] = Counter()
    rest = oracle.in_exceptions.copy()
    for window in oracle.windows:
        expected[window.service.partition("/")[0]] += window.instructions
        if window.number is not None:
            rest[window.number] -= window.instructions
    if attributed != expected:
        yield f"in services: {attributed}, counted {expected}"
    for number, count in rest.items():
        if elsewhere.pop(f"exception {number}", 0) != count:
            yield f"exception {number}: counted {count}"
    total = oracle.instructions
    if stated["traced"] != total:
        yield f"traced: {stated['traced']}, counted {total}"
    if sum(elsewhere.values()) != total - sum(expected.values()) - sum(rest.values()):
        yield f"in threads: {elsewhere}"


def counts(service: dict[str, Any], windows: list[Counted]) -> Iterator[str]:
    """Accesses by logical section, operation, width and pattern, core events by section, each under
    its own blocking form; and by the plainest of all counts, how many instructions there are."""
    if service["evidence"]["windows"] != len(windows):
        yield f"{service['name']}: {len(windows)} windows"
    published = Published.of(service["counts"])
    for at, states in by_values(windows).items():
        stated = published.at(values_of(service, at))
        counted = states[0].counts
        if len(states) > 1:
            counted = summed(_largest(_apart(state).counts for state in states))
        if service["name"] in UNTOLD:
            stated = _told(stated, counted)
        differing = {
            key: (stated[key], counted[key])
            for key in stated.keys() | counted.keys()
            if stated[key] != counted[key]
        }
        if differing:
            yield f"{service['name']} at {at}: (published, counted) {differing}"
        steps = [len(state.steps) for state in states]
        if not max(steps) <= instructions(by_key(stated)) <= sum(steps):
            yield f"{service['name']} at {at}: {steps} instructions"


def by_values(windows: list[Counted]) -> dict[tuple[int, ...], list[Counted]]:
    found: dict[tuple[int, ...], list[Counted]] = {}
    for window in windows:
        found.setdefault(window.values, []).append(window)
    return found


def _apart(window: Counted) -> InParts:
    assert window.apart is not None, window.service
    return window.apart


def _largest(counted: Iterable[Apart]) -> Apart:
    """Of each instruction and class."""
    found: Apart = Counter()
    for one in counted:
        found |= one
    return found


def _places(states: list[Counted], goes_on: bool) -> list[tuple[Place, Counts]]:
    """Stretches that one of ``stretches`` may be, in any of the states; with the largest count of
    each instruction in those states that have it."""
    if len(states) == 1:
        return [*states[0].places, *(states[0].parts if goes_on else ())]
    found = []
    whole = [entry for state in states for entry in _apart(state).whole]
    parts = [entry for state in states for entry in _apart(state).parts] if goes_on else []
    for choice in (whole, parts, whole + parts):
        merged: dict[tuple[Place, Place], Apart] = {}
        for ends, place, counted in choice:
            merged[ends, place] = merged.get((ends, place), Counter()) | counted
        found += [(place, summed(counted)) for (_, place), counted in merged.items()]
    return found


UNTOLD = {"vTaskDelete_own/call"}
"""What may have rows whose mask wcetchar could not tell, and that it counts as blocking: on Armv4T
the mask comes from the frame that the kernel made for a new thread."""


def _told(stated: Counts, counted: Counts) -> Counts:
    """Rows of an unknown mask under the masks that were counted, as far as they go."""
    found = stated.copy()
    for ((mask, preemption), key), count in stated.items():
        if mask != UNKNOWN:
            continue
        for (real, held), same in counted:
            if held == preemption and same == key:
                form = ((real, held), same)
                moved = min(count, counted[form] - found[form])
                found[form] += moved
                found[(mask, preemption), key] -= moved
                count -= moved
    return +found


def _place(stretch: dict[str, Any], symbols: Symbols) -> Place:
    """``function+offset (file:line), called at function+offset (file:line)`` as addresses."""
    ends: list[int | None] = []
    for end in (stretch["begin"], stretch["end"]):
        own, _, call = end.partition(", called at ")
        for text in (own, call):
            name, _, offset = text.partition(" ")[0].partition("+")
            ends.append(symbols[name][0] + int(offset or 0) if name else None)
    return (stretch["kind"], *ends)


def _code(stretch: dict[str, Any], begins: dict[str, int]) -> set[int]:
    """All even addresses of what is fetched in a stretch."""
    found: set[int] = set()
    for section, text in stretch["code"]["ranges"].items():
        for one in text.split():
            start, size = map(int, one.split("+"))
            found.update(range(begins[section] + start, begins[section] + start + size, 2))
    return found


def stretches(
    service: dict[str, Any], windows: list[Counted], symbols: Symbols, begins: dict[str, int]
) -> Iterator[str]:
    """Every real stretch is within a published one of its kind, class by class, and its
    instructions in the code of that one; so the longest are. Every part of one up to a supervisor
    call is within one that goes on in a handler, every part from behind such a call within one that
    a thread is switched in to.
    Each published one is a real one at every value where it has counts: between the same places, by
    the same calls, with the largest count of each instruction where a window has several of them
    there, or the value has several states. One that goes on in the handler of a supervisor call, or
    from it, may be the part of a real one up to the call, or from behind it."""
    published = [
        (
            _place(stretch, symbols),
            Published.of(stretch["counts"]),
            frozenset(stretch.get("goes_on_from", ())),
            frozenset(stretch.get("goes_on_in", ())),
            _code(stretch, begins),
        )
        for stretch in service.get("stretches", [])
    ]
    for values, states in by_values(windows).items():
        at = f"{service['name']} at {values}"
        given = values_of(service, values)
        stated = [(place, counts.at(given), *joints) for place, counts, *joints, _ in published]
        classes = [
            (place[0], by_key(held), code)
            for (place, held, *_), (*_, code) in zip(stated, published, strict=True)
        ]
        seen = [
            (*stretch, executed)
            for state in states
            for stretch, executed in zip(state.stretches, state.executed, strict=True)
        ]
        for kind, real, addresses in seen:
            if not any(k == kind and real <= held and addresses <= c for k, held, c in classes):
                yield f"{at}: {kind} for {instructions(real)} instructions is in none"
        for part in (one for state in states for one in state.joined):
            if not any(
                place[0] == part.kind
                and ("thread" in before or not part.thread)
                and ("handler" in after or not part.handler)
                and part.counts <= by_key(held)
                and part.executed <= code
                for (place, held, before, after), (*_, code) in zip(stated, published, strict=True)
            ):
                count = instructions(part.counts)
                yield f"{at}: part of {part.kind}, {count} instructions, goes on in none"
        real_ones = {goes_on: _places(states, goes_on) for goes_on in (False, True)}
        for place, held, before, after in stated:
            goes_on = bool(before or after)
            found = [counted for where, counted in real_ones[goes_on] if where == place]
            if service["name"] in UNTOLD and any(mask == UNKNOWN for (mask, _), _ in held):
                continue  # longer than what is real
            if held and held not in found:
                yield f"{at}: {place}, {instructions(by_key(held))} instructions, is none"


def of_service(made: Made, service: dict[str, Any]) -> list[str]:
    """What differs of one service, or part of one."""
    mine = made.oracle.of(service["name"])
    begins = begins_of(made.published)
    return [*counts(service, mine), *stretches(service, mine, made.symbols, begins)]


def begins_of(published: dict[str, Any]) -> dict[str, int]:
    """Where the logical sections of code begin."""
    return {s["name"]: s["address"] for s in published["sections"] if "address" in s}


def all_of(made: Made) -> list[str]:
    """Everything that differs."""
    oracle, published = made.oracle, made.published
    if oracle.differences:
        return oracle.differences
    found = [*values(oracle, made.services, published), *conservation(oracle, published)]
    for service in published["services"]:
        found += of_service(made, service)
    return found
