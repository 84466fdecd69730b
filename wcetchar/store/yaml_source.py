"""YAML 1.2 text -> :class:`Source`, strictly.

The tree is built from ruamel.yaml's event stream rather than by its constructor: the stream names
line and column of every key and value, is bounded while it is read, and leaves nothing to be
guessed. What the versions of YAML read differently is refused where it stands: leading zeros
(`010` is 8 in YAML 1.1 and 10 in 1.2), sexagesimals (`12:30` is 750), digits with underscores,
binary numbers, empty values. Tags, anchors and aliases are refused: none of the files needs them,
and they are the way to constructors and to texts that grow without end.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from wcetchar.errors import InputError, Location
from wcetchar.store.source import PlainInt, Source, Steps, read_text, refuse_surrogates, shown

# Files that people write; the pure parser takes some seconds for the largest hostile ones.
MAX_BYTES: Final = 256 << 10
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 32

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+")
_REFUSED = (
    (
        re.compile(r"[-+]?0[0-9]+(?:\.[0-9]*)?"),
        "has a leading zero, which YAML 1.1 reads as octal and YAML 1.2 as decimal",
        "drop the zeros, write 0o17 for octal, or quote it if text is meant",
    ),
    (
        re.compile(r"[-+]?[0-9]+(?::[0-9]+)+(?:\.[0-9]*)?"),
        "looks like a base-60 number, which YAML 1.1 computes and YAML 1.2 reads as text",
        "quote it if text is meant",
    ),
    (
        re.compile(r"[-+]?[0-9][0-9]*_[0-9_]*|0x[0-9a-fA-F]*_[0-9a-fA-F_]*"),
        "has underscores between digits, which only YAML 1.1 reads as a number",
        "write the digits without underscores",
    ),
    (
        re.compile(r"[-+]?0b[01_]+|[-+]0[xo][0-9a-fA-F]+"),
        "is a number in YAML 1.1 and text in YAML 1.2",
        "write it in decimal, or quote it if text is meant",
    ),
)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_MAX_DIGITS: Final = 40


def read_yaml(path: str) -> Source:
    """Read a YAML file.

    Raises:
        InputError: it cannot be read or is no YAML at all. Mistakes that leave the rest of the
            file readable are collected in the result instead.
    """
    return parse_yaml(read_text(path, MAX_BYTES), path)


def parse_yaml(text: str, path: str) -> Source:
    """Read YAML text; ``path`` is only named in messages. Raises as :func:`read_yaml`."""
    builder = _Builder(path)
    try:
        for event in YAML(typ="rt", pure=True).parse(text):
            builder.take(event)
    except InputError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Location(path, mark.line + 1, mark.column + 1) if mark else Location(path)
        raise _not_yaml(where, error.problem or error.context or "cannot be parsed") from error
    except RecursionError as error:
        raise _not_yaml(Location(path), "is nested too deeply") from error
    except Exception as error:
        # The scanner lets ValueError, OverflowError and others escape on hostile escapes and
        # directives; whatever it is, the text is not YAML that this tool reads.
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise _not_yaml(Location(path), first) from error
    source = builder.finish()
    refuse_surrogates(source)
    return source


def _not_yaml(where: Location, problem: str) -> InputError:
    return InputError(
        f"not valid YAML: {problem}", where=where, expected="YAML 1.2", hint="correct the syntax"
    )


class _Container:
    """A mapping or list that is being filled."""

    def __init__(self, steps: Steps, value: dict[str, object] | list[object]) -> None:
        self.steps = steps
        self.value = value
        self.key: str | None = None
        self.skip = False


class _Builder:
    def __init__(self, path: str) -> None:
        self.path = path
        self.stack: list[_Container] = []
        self.places: dict[Steps, Location] = {}
        self.key_places: dict[Steps, Location] = {}
        self.documents = 0
        self.nodes = 0
        self.source = Source(path, None, self._place)

    def _place(self, steps: Steps, key: bool) -> Location | None:
        return (self.key_places.get(steps) if key else None) or self.places.get(steps)

    def finish(self) -> Source:
        if self.documents == 0:
            raise InputError(
                "is empty",
                where=Location(self.path, 1, 1),
                expected="a mapping",
                hint="begin it with a line `schema:`, which says what the file is",
            )
        return self.source

    def take(self, event: Any) -> None:
        if isinstance(event, DocumentStartEvent):
            self._document(event)
        elif isinstance(event, NodeEvent):
            self._node(event)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self.stack.pop()
        else:
            assert event is not None or isinstance(event, StreamEndEvent)

    def _document(self, event: Any) -> None:
        where = self._at(event)
        self.documents += 1
        if self.documents > 1:
            raise InputError(
                "a second document begins",
                where=where,
                expected="one document a file",
                hint="move it to a file of its own",
            )
        if event.version is not None and tuple(event.version) != (1, 2):
            version = ".".join(str(part) for part in event.version)
            raise InputError(
                f"asks to be read as YAML {version}",
                where=where,
                expected="YAML 1.2",
                hint="remove the %YAML line",
            )

    def _at(self, event: Any) -> Location:
        mark = event.start_mark
        return Location(self.path, mark.line + 1, mark.column + 1)

    def _node(self, event: Any) -> None:
        where = self._at(event)
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise InputError(
                "has too many values",
                where=where,
                expected=f"at most {MAX_NODES} values",
                hint="split the file",
            )
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(top, event, where)
            return
        steps, store = self._slot(top)
        if store:
            # An empty value is reported at its key: its own mark is at whatever follows.
            empty = isinstance(event, ScalarEvent) and event.style is None and not event.value
            self.places[steps] = self.key_places.get(steps, where) if empty else where
        problem = self._decoration(event)
        if problem:
            self.source.report(steps, problem[0], expected="the value itself", hint=problem[1])
            self.source.unreadable.add(steps)
        value: object = None
        if isinstance(event, ScalarEvent):
            value = self._scalar(event, steps)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            if len(self.stack) >= MAX_DEPTH:
                raise InputError(
                    "is nested too deeply",
                    where=where,
                    expected=f"at most {MAX_DEPTH} levels",
                    hint="nothing that can stand here is that deep",
                )
            container = _Container(steps, {} if isinstance(event, MappingStartEvent) else [])
            self.stack.append(container)
            value = container.value
        if top is None:
            self.source.data = value
        elif isinstance(top.value, list):
            top.value.append(value)
        elif store and top.key is not None:
            top.value[top.key] = value
        if top is not None:
            top.key = None

    def _slot(self, top: _Container | None) -> tuple[Steps, bool]:
        """Steps to the value that comes now, and whether it is kept (a duplicate is not)."""
        if top is None:
            return (), True
        if isinstance(top.value, list):
            return (*top.steps, len(top.value)), True
        assert top.key is not None
        if top.skip:
            # A child of a refused key gets steps that no key of a file can have.
            return (*top.steps, top.key, -1), False
        return (*top.steps, top.key), True

    def _key(self, top: _Container, event: Any, where: Location) -> None:
        assert isinstance(top.value, dict)
        problem = self._decoration(event)
        if problem or not isinstance(event, ScalarEvent):
            if not isinstance(event, (ScalarEvent, AliasEvent)):
                raise InputError(
                    "a key is not text", where=where, expected="a key: text", hint="quote it"
                )
            assert problem is not None
            raise InputError(problem[0], where=where, expected="a key: text", hint=problem[1])
        key = str(event.value)
        steps = (*top.steps, key)
        top.key, top.skip = key, False
        if key in top.value:
            first = self.key_places[steps]
            top.skip = True
            self.source.mistakes.append(
                InputError(
                    f"the key {shown(key)} is given twice; it first stands at {first}",
                    where=where,
                    expected="every key once",
                    hint="remove one of the two",
                )
            )
            self.source.unreadable.add((*steps, -1))
            return
        if event.style is None and (key in _NULL or key == "<<"):
            raise InputError(
                "a key is empty" if key != "<<" else "merge keys are not read",
                where=where,
                expected="a key: text",
                hint="write the keys out",
            )
        self.key_places[steps] = where

    @staticmethod
    def _decoration(event: Any) -> tuple[str, str] | None:
        if isinstance(event, AliasEvent):
            return f"the alias {shown('*' + str(event.anchor))} is not read", "write the value out"
        if event.anchor is not None:
            return f"the anchor {shown('&' + str(event.anchor))} is not read", "remove the anchor"
        if event.tag is not None:
            return f"the tag {shown(str(event.tag))} is not read", "remove the tag"
        return None

    def _scalar(self, event: Any, steps: Steps) -> object:
        text = str(event.value)
        if event.style == ">":
            # The round-trip scanner marks where it folded; YAML allows no such character in a text.
            return text.replace("\a", "")
        if event.style is not None:
            return text
        if text in _NULL:
            # `read:` with nothing behind it may mean "not possible" or "not filled in yet".
            self._refuse(steps, "there is no value", "write the value, or remove the key")
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if _INTEGER.fullmatch(text):
            if len(text) > _MAX_DIGITS:
                self._refuse(steps, "is a number of too many digits", f"at most {_MAX_DIGITS}")
                return None
            return PlainInt(int(text, 0), text)
        for pattern, why, hint in _REFUSED:
            if pattern.fullmatch(text):
                self._refuse(steps, f"{shown(text)} {why}", hint)
                return None
        return text

    def _refuse(self, steps: Steps, message: str, hint: str) -> None:
        self.source.report(steps, message, expected="a value that reads one way", hint=hint)
        self.source.unreadable.add(steps)
