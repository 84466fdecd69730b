"""Comments of a YAML file by the node that they speak of.

A comment belongs to the key below it, or to the value that it stands behind; one that is indented
deeper than the key below it ends the block before. Those at the head of the file belong to none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    MappingStartEvent,
    ScalarEvent,
)

from wcetchar.store.source import Steps

_EDITOR = "# yaml-language-server:"
"""A line for editors, whose path holds for its own file alone."""


@dataclass(frozen=True)
class Comments:
    """Lines with their `#`. ``behind``: on the line of the node, or empty; ``below``: of a value
    that ends a block."""

    above: tuple[str, ...] = ()
    behind: str = ""
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commented:
    """``head``: the lines before the first key; ``of``: by the keys that lead to a node. Items of
    lists are not told apart."""

    head: tuple[str, ...]
    of: Mapping[Steps, Comments]


def read_comments(text: str) -> Commented:
    """Comments of a text that is YAML and a mapping (:func:`wcetchar.store.yaml_source`)."""
    lines = text.splitlines()
    first = next((n for n, line in enumerate(lines) if not _is_comment(line) and line.strip()), 0)
    head = [line for line in lines[:first] if line.strip() and not line.startswith(_EDITOR)]
    while head and not head[0].strip("# "):
        del head[0]
    return Commented(tuple(head), _Walk(lines, first).of)


class _Walk:
    def __init__(self, lines: list[str], head: int) -> None:
        self.lines, self.head = lines, head
        self.of: dict[Steps, Comments] = {}
        self._keys: list[str] = []
        self._last: Steps = ()
        self._open: list[tuple[CollectionStartEvent, bool]] = []
        """Collections, and whether a key of theirs comes next."""
        for event in YAML(pure=True).parse("\n".join(lines) + "\n"):
            self._take(event)

    def _take(self, event: object) -> None:
        if isinstance(event, CollectionStartEvent):
            self._open.append((event, isinstance(event, MappingStartEvent)))
        elif isinstance(event, CollectionEndEvent):
            start, _ = self._open.pop()
            if start.flow_style:
                self._behind(event.end_mark.line, event.end_mark.column)
            self._value_ends()
        elif isinstance(event, ScalarEvent) and self._open:
            start, of_key = self._open[-1]
            if of_key:
                self._key(str(event.value), event)
                self._open[-1] = (start, False)
                return
            if event.style not in ("|", ">"):  # these end where the next line begins
                self._behind(event.end_mark.line, event.end_mark.column)
            self._value_ends()

    def _value_ends(self) -> None:
        """The next one of a mapping is a key."""
        if self._open and isinstance(self._open[-1][0], MappingStartEvent):
            self._open[-1] = (self._open[-1][0], True)
            self._keys.pop()

    def _key(self, key: str, event: ScalarEvent) -> None:
        self._keys.append(key)
        number, column = event.start_mark.line, event.start_mark.column
        begin = number
        if not self.lines[number][:column].strip():
            while begin > self.head and _is_comment(self.lines[begin - 1]):
                begin -= 1
        middle = begin
        while middle < number and _indent(self.lines[middle]) > column:
            middle += 1
        if self._last in self.of:
            below = tuple(line.strip() for line in self.lines[begin:middle])
            self.of[self._last] = replace(self.of[self._last], below=below)
        above = tuple(line.strip() for line in self.lines[middle:number])
        rest = self.lines[event.end_mark.line][event.end_mark.column :].strip()
        behind = rest[1:].strip() if rest.startswith(":") else ""
        self._last = tuple(self._keys)
        self.of[self._last] = Comments(above, behind if _is_comment(behind) else "")

    def _behind(self, number: int, column: int) -> None:
        rest = self.lines[number][column:].strip() if number < len(self.lines) else ""
        rest = rest.removeprefix(",").strip()
        steps = tuple(self._keys)
        if _is_comment(rest) and steps in self.of:
            self.of[steps] = replace(self.of[steps], behind=rest)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
