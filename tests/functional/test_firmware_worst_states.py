"""Every worst state of the firmwares' services files says why it is the worst: what it makes the
kernel do, what others lack, that there is no other, or which service has the reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2] / "rtos_tests"
SERVICES = {"freertos": 400, "zephyr": 300}
"""Suites, and the least number of services that each has."""
REASONS = {
    "what it makes the kernel do": r"so that|because|for which|which is looked up",
    "what other states lack": (
        r"otherwise|whereas|while an|without one|either way|does not matter|only (where|after)"
        r"|if it were|were the|under a lock|a locked one|for a task that is not|for any other task"
        r"|where there is none|more than without"
    ),
    "what is driven to its end": r"longest|looked for last|which the search|one by one",
    "that there is no other": (
        r"one path only|nothing (else )?in this state|nothing but|no difference|only branch"
        r"|only the answer"
    ),
    "that the core decides, and all are driven": (
        r"depends on the (hardware|core)|the core's|(are|is a|both|all are) cases?\b"
    ),
}
REASON = re.compile("|".join(REASONS.values()))
AS_FOR = re.compile(r"\bas for ([^.;:(]*)", re.IGNORECASE)
NAME = re.compile(r"\b(?:[a-z]{1,3}[A-Z]\w+|[a-z]+(?:_[a-z]+)+)\b")


@cache
def said(suite: str) -> dict[tuple[str, str], str]:
    """Worst states by file and service; of an ``instead`` as well, where it says one."""
    found = {}
    for path in sorted((ROOT / suite).rglob("*.yaml")):
        document: dict[str, Any] = YAML(typ="safe").load(path)
        for part in ("services", "instead"):
            services = document.get(part)
            if not isinstance(services, dict):
                continue  # a campaign's list of files
            for name, service in services.items():
                if part == "services" or "worst state" in service:
                    text = " ".join(str(service["worst state"]).split())
                    found[str(path.relative_to(ROOT / suite)), name] = text
    return found


def referred(text: str) -> list[str]:
    """The services that a text says to be like."""
    return [name for after in AS_FOR.findall(text) for name in NAME.findall(after)]


def has_reason(text: str, of: dict[str, list[str]], seen: frozenset[str] = frozenset()) -> bool:
    """``of``: the texts of every service, one for each file that says one."""
    if REASON.search(text):
        return True
    names = set(referred(text)) - seen
    return any(
        name in of and all(has_reason(there, of, seen | {name}) for there in of[name])
        for name in names
    )


def by_name(suite: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for (_, name), text in said(suite).items():
        found.setdefault(name, []).append(text)
    return found


@pytest.mark.parametrize("suite", SERVICES)
def test_every_worst_state_says_why(suite: str) -> None:
    of = by_name(suite)
    assert len(of) >= SERVICES[suite]
    assert not {where for where, text in said(suite).items() if not has_reason(text, of)}


@pytest.mark.parametrize("suite", SERVICES)
def test_what_is_referred_to_is_a_service(suite: str) -> None:
    of = by_name(suite)
    unknown = {
        (*where, name)
        for where, text in said(suite).items()
        for name in referred(text)
        if name not in of
    }
    assert unknown == set()


@pytest.mark.parametrize(
    "text",
    [
        "The scheduler is not locked. Every woken task waits for an event as well.",
        "it is the outermost one",
        "the pointer is not null",
        "The name is longer than configMAX_TASK_NAME_LEN. The task is less urgent than the caller.",
        "The heap has been used before.",
        "As for nothing_known.",
        "As for like_itself.",
    ],
)
def test_a_state_alone_is_no_reason(text: str) -> None:
    assert not has_reason(text, {"like_itself": ["As for like_itself."]})


@pytest.mark.parametrize(
    "text",
    ["There is one path only.", "as for xFirst", "As for xSecond; nothing more."],
)
def test_a_reason_may_stand_elsewhere(text: str) -> None:
    assert has_reason(text, {"xFirst": ["so that it is searched"], "xSecond": ["as for xFirst"]})
