"""A checkup of this machine as tables for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from wcetchar.model.tool import Found, State, Use
from wcetchar.report.sheet import Sheet, terminal, text_column

SCHEMA: Final = "wcetchar/doctor/1"
PYTHON: Final = "Python"
_MAKE: Final = "make "
Lacks = Sequence[Sequence[str]]
_COLUMNS: Final = tuple(
    text_column(heading, "") for heading in ("tool", "version", "state", "for", "what to do")
)


def table(
    tools: Sequence[Found], uses: Sequence[tuple[Use, Lacks]], width: int, color: bool
) -> str:
    """``uses``: each with what it lacks."""
    bad = [one for one in tools if one.kind == "package" and one.state is not State.FOUND]
    shown = [one for one in tools if one.kind != "package"]
    rows = tuple(_row(tool, uses) for tool in [*shown, *bad])
    good = [f"{one.name} {one.version}" for one in tools if one not in [*shown, *bad]]
    ready = [use.name for use, lacks in uses if not lacks]
    lines = [
        "In brackets: it can do without.",
        *([f"Python packages: {', '.join(good)}"] if good else []),
        *([f"Ready: {_together(ready)}"] if ready else []),
        *(
            f"{use.name} lacks {', '.join(' or '.join(group) for group in lacks)}"
            for use, lacks in uses
            if lacks
        ),
    ]
    return terminal([Sheet("", _COLUMNS, rows, tuple(lines))], width, color)


def _row(tool: Found, uses: Sequence[tuple[Use, Lacks]]) -> tuple[str, ...]:
    needed, helped = _of(tool, uses)
    what = [tool.problem] if tool.problem else []
    if tool.state is not State.FOUND:
        what += [f"wanted: {tool.wanted}"] if tool.wanted else []
        what += [tool.get]
    both = [_together(needed)] * bool(needed) + [f"({_together(helped)})"] * bool(helped)
    return tool.name, tool.version, tool.state.value, " ".join(both), "; ".join(what)


def _of(tool: Found, uses: Sequence[tuple[Use, Lacks]]) -> tuple[list[str], list[str]]:
    """Names of what needs it, and of what it helps."""
    if tool.kind == "package" or tool.name == PYTHON:
        return ["all"], []
    needed = [use.name for use, _ in uses if any(tool.name in group for group in use.needs)]
    return needed, [use.name for use, _ in uses if tool.name in (use.helps or {})]


def _together(names: Sequence[str]) -> str:
    """``capture, measure host; make demo, test``."""
    verbs = [name for name in names if not name.startswith(_MAKE)]
    targets = [name.removeprefix(_MAKE) for name in names if name.startswith(_MAKE)]
    made = [_MAKE + ", ".join(targets)] if targets else []
    return "; ".join([", ".join(verbs)] * bool(verbs) + made)


def document(version: str, tools: Sequence[Found], uses: Sequence[tuple[Use, Lacks]]) -> str:
    """One JSON document, with stable keys."""
    listed = []
    for tool in tools:
        needed, _ = _of(tool, uses)
        helped = {use.name: use.helps[tool.name] for use, _ in uses
                  if use.helps and tool.name in use.helps}  # fmt: skip
        listed.append(
            {
                "name": tool.name,
                "kind": tool.kind,
                "state": tool.state.value,
                "version": tool.version or None,
                "path": tool.path or None,
                "wanted": tool.wanted or None,
                "problem": tool.problem or None,
                "get": tool.get or None,
                "needed_by": needed,
                "helps": helped,
            }
        )
    return (
        json.dumps(
            {
                "schema": SCHEMA,
                "wcetchar": version,
                "ready": not any(lacks for _, lacks in uses),
                "tools": listed,
                "uses": [
                    {"name": use.name, "ready": not lacks, "lacks": [list(g) for g in lacks]}
                    for use, lacks in uses
                ],
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
