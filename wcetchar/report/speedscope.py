"""Priced invocations in speedscope's own format: a profile of each, of calls and returns.

The format: https://www.speedscope.app/file-format-schema.json. Times are nanoseconds with three
decimals, as :class:`PricedInvocation` has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from wcetchar.model.invocation import Exported, Function, PricedInvocation
from wcetchar.report.execution import LOADED, check_size
from wcetchar.report.names import shown

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
_PICOSECONDS: Final = 1000
_LOADED: Final = Function(-1, LOADED)


def speedscope(exported: Exported, creator: str) -> str:
    """The document. ``creator``: the program and its version.

    Raises:
        ValueError: it is larger than can be shown.
    """
    check_size(exported)
    frames: dict[Function, int] = {}
    profiles = [_profile(one, frames) for one in exported.invocations]
    document = {
        "$schema": _SCHEMA,
        "name": f"{shown(exported.object)} on {shown(exported.profile)}, "
        f"map {shown(exported.section_map)}",
        "exporter": creator,
        "activeProfileIndex": 0,
        "shared": {"frames": [_frame(function) for function in frames]},
        "profiles": profiles,
    }
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")) + "\n"


def _frame(function: Function) -> dict[str, Any]:
    found: dict[str, Any] = {"name": shown(function.name)}
    if function.file:
        found["file"] = shown(function.file)
    if function.line:
        found["line"] = function.line
    return found


def _profile(one: PricedInvocation, frames: dict[Function, int]) -> dict[str, Any]:
    events = [
        {"type": what, "frame": frames.setdefault(function, len(frames)), "at": _ns(time)}
        for what, function, time in _events(one)
    ]
    return {
        "type": "evented",
        "name": shown(one.name),
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": _ns(int(one.until[-1])),
        "events": events,
    }


def _events(one: PricedInvocation) -> Iterator[tuple[str, Function, int]]:
    """Functions open and close, each where it does, in picoseconds."""
    until = one.until.tolist()
    opened: list[int] = []
    frames = one.traced.frames
    for number, frame in enumerate(frames):
        while opened and frames[opened[-1]].last < frame.first:
            closed = frames[opened.pop()]
            yield "C", closed.function, until[closed.last + 1]
        opened.append(number)
        yield "O", frame.function, until[frame.first]
    while opened:
        closed = frames[opened.pop()]
        yield "C", closed.function, until[closed.last + 1]
    if one.loaded_ps:
        yield "O", _LOADED, until[-2]
        yield "C", _LOADED, until[-1]


def _ns(picoseconds: int) -> int | float:
    whole, rest = divmod(picoseconds, _PICOSECONDS)
    return picoseconds / _PICOSECONDS if rest else whole
