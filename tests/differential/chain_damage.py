"""What is published, with one thing changed: the comparison has to see it.

Each damage changes one service's published form in one dimension: a count, a formula, a section, an
operation, a width, a pattern, an event, a blocking form, the evidence; of a stretch its kind, its
ends, its counts, or whether it is there at all.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Service = dict[str, Any]
Damage = Callable[[Service], bool]
"""Changes a service in place; whether there was anything to change."""


def _rows(counts: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        counts["points"][-1]["rows"] if "points" in counts else counts["rows"]
    )
    return found


def _entry(of: Callable[[Service], list[Any]], change: Callable[[dict[str, Any]], bool]) -> Damage:
    """Changes the last entry of the last row that can be changed."""

    def damage(service: Service) -> bool:
        for counts in of(service):
            for row in reversed(_rows(counts)):
                if any(change(entry) for entry in reversed(row["counts"])):
                    return True
        return False

    return damage


def _whole(service: Service) -> list[Any]:
    return [service["counts"]]


def _held(service: Service) -> list[Any]:
    return [stretch["counts"] for stretch in service.get("stretches", [])]


def _other(key: str, values: dict[Any, Any]) -> Callable[[dict[str, Any]], bool]:
    def change(entry: dict[str, Any]) -> bool:
        if entry.get(key) not in values:
            return False
        entry[key] = values[entry[key]]
        return True

    return change


def _add(number: int) -> Callable[[dict[str, Any]], bool]:
    def change(entry: dict[str, Any]) -> bool:
        entry["count"] += number
        return entry["count"] >= 0

    return change


def _repetition(service: Service) -> bool:
    """Right at the smallest value of every parameter, wrong above it."""
    parameters = service.get("parameters", [])
    if not parameters or "points" in service["counts"]:
        return False
    row, first = service["counts"]["rows"][-1], parameters[0]
    row["repetition"] = f"{row.get('repetition', '1')} + {first['name']} - {first['minimum']}"
    return first["maximum"] > first["minimum"]


def _blocking(change: Callable[[dict[str, Any]], None]) -> Damage:
    def damage(service: Service) -> bool:
        row = _rows(service["counts"])[0]
        before = copy.deepcopy(row.get("blocking", {}))
        if "unknown" in before:
            return False
        change(row.setdefault("blocking", {}))
        return bool(row["blocking"] != before)

    return damage


def _masked(form: dict[str, Any]) -> None:
    if not (form.pop("priority", None) or form.pop("interrupts", None)):
        form["interrupts"] = True


def _locked(form: dict[str, Any]) -> None:
    form["preemption"] = not form.get("preemption", False)


def _stretch(change: Callable[[list[Any], dict[str, Any]], bool]) -> Damage:
    def damage(service: Service) -> bool:
        stretches = service.get("stretches", [])
        return bool(stretches) and change(stretches, stretches[-1])

    return damage


def _is_gone(stretches: list[Any], last: dict[str, Any]) -> bool:
    stretches.remove(last)
    return True


def _is_new(stretches: list[Any], last: dict[str, Any]) -> bool:
    stretches.append({**last, "begin": last["end"], "end": last["begin"]})
    return bool(last["begin"] != last["end"])


def _of_another_kind(stretches: list[Any], last: dict[str, Any]) -> bool:
    # Masks hold off preemption as well, so a stretch may be both.
    if any(s["begin"] == last["begin"] and s is not last for s in stretches):
        return False
    kinds = {"interrupts": "preemption", "preemption": "interrupts"}
    last["kind"] = kinds[last["kind"]]
    return True


def _without_code(stretches: list[Any], last: dict[str, Any]) -> bool:
    """Its longest range left out."""
    ranges = last["code"]["ranges"]
    size = {
        (section, one): int(one.partition("+")[2])
        for section, text in ranges.items()
        for one in text.split()
    }
    section, longest = max(size, key=lambda key: size[key])
    ranges[section] = " ".join(one for one in ranges[section].split() if one != longest)
    return True


def _windows(service: Service) -> bool:
    service["evidence"]["windows"] += 1
    return True


SECTIONS = {".text": ".fast_text", ".fast_text": ".text", "stack.task": "kernel.data"}
JOINT = {"kernel.lists": "kernel.objects", "kernel.objects": "kernel.lists"}
"""A section that is `either of` others, and one of these."""
WIDTHS = {8: 16, 16: 32, 32: 8}
PATTERNS = {"first": "single", "next": "first", "single": "first", "realigned": "next"}
OPERATIONS = {"read": "write", "write": "read", "fetch": "read"}
EVENTS = {
    "alu": "load",
    "load": "store",
    "pipeline refill": "alu",
    "branch taken": "branch untaken",
}

STALLS = {
    "load-use stall": "load-use stall of an access",
    "load-use stall of an access": "load-use stall",
    "second load-use stall": "second use stall behind a transfer",
    "consecutive access": "load-use stall of an access",
    "forward branch taken": "backward branch untaken",
    "fetch held early": "fetch held late",
    "fetch held late": "fetch held late realigned",
    "crossing target": "crossing target realigned",
}


def _stall(number: int) -> Callable[[dict[str, Any]], bool]:
    add = _add(number)
    return lambda entry: entry.get("event") in STALLS and add(entry)


DAMAGES: dict[str, Damage] = {
    "one more": _entry(_whole, _add(1)),
    "one less": _entry(_whole, _add(-1)),
    "another formula": _repetition,
    "another section": _entry(_whole, _other("section", SECTIONS)),
    "another joint section": _entry(_whole, _other("section", JOINT)),
    "another operation": _entry(_whole, _other("operation", OPERATIONS)),
    "another width": _entry(_whole, _other("width", WIDTHS)),
    "another pattern": _entry(_whole, _other("pattern", PATTERNS)),
    "another event": _entry(_whole, _other("event", EVENTS)),
    "another stall": _entry(_whole, _other("event", STALLS)),
    "a stall more": _entry(_whole, _stall(1)),
    "a stall less": _entry(_whole, _stall(-1)),
    "a stall in a stretch more": _entry(_held, _stall(1)),
    "a stall in a stretch less": _entry(_held, _stall(-1)),
    "another mask": _blocking(_masked),
    "another lock": _blocking(_locked),
    "another number of windows": _windows,
    "a stretch longer": _entry(_held, _add(1)),
    "a stretch shorter": _entry(_held, _add(-1)),
    "a stretch elsewhere": _entry(_held, _other("section", SECTIONS)),
    "a stretch elsewhere, jointly": _entry(_held, _other("section", JOINT)),
    "a stretch gone": _stretch(_is_gone),
    "a stretch without code": _stretch(_without_code),
    "a stretch more": _stretch(_is_new),
    "a stretch of another kind": _stretch(_of_another_kind),
}


def damaged(published: dict[str, Any], damage: Damage, every: int) -> Iterator[Service]:
    """One service in ``every`` that can be damaged so, changed."""
    number = 0
    for service in published["services"]:
        changed = copy.deepcopy(service)
        if damage(changed):
            if number % every == 0:
                yield changed
            number += 1
