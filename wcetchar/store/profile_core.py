"""The core of a hardware profile as text for another one, with its comments.

A profile may be based on others, so its core stands in several files. Written is what they say
together, key by key, each with the comments that it has where it stands: sources of numbers are
worth as much as the numbers. Values that do not stand in the lowest of the files have the name of
theirs behind them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wcetchar.errors import InputError, one_line
from wcetchar.store.based_on import profiles_of, with_base
from wcetchar.store.comments import Comments, read_comments
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.names import profile_path
from wcetchar.store.source import PlainInt, Source, Steps, read_text, shown
from wcetchar.store.yaml_source import MAX_BYTES, parse_yaml

_CORE: Final = "core"
_CLOCK: Final = (_CORE, "clock")
_COLUMN: Final = 38
"""Where comments behind values begin, if they can."""
_NOT_FITTED: Final = (
    ("write buffer",),
    ("instruction cache", "hides stalls"),
    ("instruction cache", "hides accesses"),
    ("instruction cache", "in vain saves"),
)
"""Beside what no time is found (:func:`wcetchar.engine.linear.linear_prices`)."""


@dataclass(frozen=True)
class CoreText:
    """``lines``: the block ``core:``, and what stands at the head of its files. ``cached_code``,
    ``cached_data``: the core has such a cache, so each region that it holds says what a line or a
    miss takes."""

    lines: tuple[str, ...]
    cached_code: bool
    cached_data: bool


def core_text(profile: str, clock: str | None, todo: str, *, to_fit: bool = False) -> CoreText:
    """The core of a profile, by shipped name or path.

    Args:
        clock: in the place of the profile's own; ``None``: ``todo``, since it is the board's.
        to_fit: for ``wcetchar profile fit``.

    Raises:
        InputError: a file cannot be read or has mistakes of form, says no `core:`, or has what
            cannot be fitted and is to be; ``InputErrors`` for several mistakes.
    """
    source = with_base(read_document(profile_path(profile), PROFILE))
    source.fail_on_mistakes()
    assert isinstance(source.data, dict)
    core = source.data.get(_CORE)
    if not isinstance(core, dict):
        raise InputError(
            "has no block `core:`",
            where=source.where((_CORE,)),
            expected="a hardware profile, or one that is based on one with a core",
        )
    for keys in _NOT_FITTED:
        value: object = core
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if to_fit and value:
            raise InputError(
                f"the core has `{keys[-1]}`, beside which no times can be found",
                where=source.where((_CORE, *keys), key=True),
                expected="the core of a profile without it",
                hint="leave it out: what it makes shorter is priced as if it did not",
            )
    lines = _Writer(source, profile, clock, todo).lines(core)
    return CoreText(tuple(lines), "instruction cache" in core, "data cache" in core)


class _Writer:
    def __init__(self, source: Source, profile: str, clock: str | None, todo: str) -> None:
        self.source, self.clock, self.todo = source, clock, todo
        self.files = dict(reversed([(p, name) for name, p in profiles_of(source, profile)]))
        """Path -> name, the lowest one first."""
        self.comments = {path: read_comments(read_text(path, MAX_BYTES)) for path in self.files}
        self._profile = one_line(profile)

    def lines(self, core: dict[str, object]) -> Iterator[str]:
        owners = self._owners((_CORE,), core)
        several = len(owners) > 1
        self.lowest = owners[0]
        yield f"# The core is that of {self._profile}; comments say where numbers come from."
        yield "# Where they name a board, numbers hold times of its memories: find them anew."
        if several:
            lowest = self._named(self.lowest)
            yield f"# Values with a name behind them are from that profile, others from {lowest}."
        for path in owners:
            head = self.comments[path].head
            if head:
                yield f"# {self._named(path)} says at its beginning:"
                yield from (f"#   {line[1:].strip()}".rstrip() for line in head)
        if "clock" not in core:
            core = {"clock": self.todo, **core}
        yield from self._node((_CORE,), core)

    def _named(self, path: str) -> str:
        return one_line(self.files[path])

    def _node(self, steps: Steps, value: object) -> Iterator[str]:
        indent = "  " * (len(steps) - 1)
        owners = self._owners(steps, value)
        notes = [self.comments[path].of.get(steps, Comments()) for path in owners]
        own = steps != _CLOCK or self.clock == value
        above = [line for note in notes for line in note.above if own]
        # Of a mapping that stands in several files, each may say something.
        above += [note.behind for note in notes[:-1] if note.behind]
        yield from (indent + line for line in dict.fromkeys(above))
        behind = notes[-1].behind if notes and own else ""
        key = f"{indent}{scalar(str(steps[-1]))}:"
        if isinstance(value, dict) and value:
            yield f"{key}  {behind}".rstrip()
            for name, inner in value.items():
                yield from self._node((*steps, name), inner)
        else:
            text = "{}" if value == {} else self._value(steps, value)
            if own and owners[0] != self.lowest:
                behind = f"{behind or '#'} [{self._named(owners[0])}]"
            if steps == _CLOCK and self.clock is None and value != self.todo:
                behind = f"# {self._profile} has {one_line(str(value))}"
            yield f"{key} {text}".ljust(_COLUMN if behind else 0) + (
                f"  {behind}" if behind else ""
            )
        for note in notes:
            yield from (indent + line for line in note.below)

    def _value(self, steps: Steps, value: object) -> str:
        if steps == _CLOCK:
            return self.todo if self.clock is None else self.clock
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, PlainInt):
            return value.text
        if isinstance(value, str):
            return scalar(value)
        raise InputError(
            f"{shown(value)} cannot stand here",
            where=self.source.where(steps),
            expected="a value, or a mapping",
        )

    def _owners(self, steps: Steps, value: object) -> list[str]:
        """Paths of the files that values here stand in, the lowest one first."""
        found = set()
        todo: list[tuple[Steps, object]] = [(steps, value)]
        while todo:
            at, one = todo.pop()
            if isinstance(one, dict) and one:
                todo += [((*at, key), inner) for key, inner in one.items()]
            else:
                found.add(self.source.where(at).file)
        return [path for path in self.files if path in found]


def scalar(text: str) -> str:
    """A text as YAML; quoted where it could be read as something else, or as several lines."""
    if _PLAIN.fullmatch(text) and _is_read_as(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


_PLAIN: Final = re.compile(r"[\w.][\w.@ +%±-]*")
"""Nothing that YAML takes for more than text; what may be a number is looked at again."""


def _is_read_as(text: str) -> bool:
    try:
        found = parse_yaml(f"key: {text}\n", "")
    except InputError:
        return False
    value = found.data.get("key") if isinstance(found.data, dict) else None
    return not found.mistakes and type(value) is str and value == text
