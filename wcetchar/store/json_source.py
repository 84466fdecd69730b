"""JSON text -> :class:`Source`, strictly: no duplicate keys, no floats, bounded size and depth."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from wcetchar.errors import InputError, Location
from wcetchar.store.source import MAX_MISTAKES, Source, Steps, read_text, refuse_surrogates, shown

_ADVICE: Final = "the file is generated: generate it again instead of mending it"
MAX_BYTES: Final = 256 << 20
"""A whole kernel with all cases of its services has some 30 MB; with large tables up to 160."""
MAX_DEPTH: Final = 32
_MAX_DIGITS: Final = 40

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_REFUSED = re.compile(rf'"(?:[^"\\]|\\.)*"?|NaN|-?Infinity|-?[0-9]{{{_MAX_DIGITS},}}', re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*")


def read_json(path: str) -> Source:
    """Read a JSON file. Raises :class:`InputError` where it is not JSON."""
    return parse_json(read_text(path, MAX_BYTES), path)


def parse_json(text: str, path: str) -> Source:
    """Read JSON text; ``path`` is only named in messages. Raises as :func:`read_json`."""
    _check_depth(text, path)
    duplicates: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            seen: set[str] = set()
            duplicates.extend(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return result

    def integer(digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            raise ValueError(f"a number of {len(digits)} digits")
        return int(digits)

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON value")

    try:
        # Floats stay text: nothing in these files is one, and the models then say so in place.
        data = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_int=integer,
            parse_float=str,
            parse_constant=constant,
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"not valid JSON: {error.msg}",
            where=Location(path, error.lineno, error.colno),
            expected="JSON",
            hint=_ADVICE,
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"not valid JSON: {error}",
            where=_unreadable(text, path),
            expected="JSON, with numbers of a sensible size",
            hint="the file is generated: generate it again instead of mending it",
        ) from error
    source = Source(path, data, _Places(text, path), advice=_ADVICE)
    if "\\u" in text or not text.isascii():
        refuse_surrogates(source)
    if duplicates:
        _report_duplicates(text, path, source)
    return source


def _unreadable(text: str, path: str) -> Location:
    """Place of the first value that the decoder hands back without saying where it stands."""
    for match in _REFUSED.finditer(text):
        found = match.group()
        if found[0] in "NI" or found[:2] == "-I" or (found[0] != '"' and len(found) > _MAX_DIGITS):
            return _location(text, path, match.start())
    return Location(path)


def _check_depth(text: str, path: str) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        sign = match.group()
        if sign in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InputError(
                    "is nested too deeply",
                    where=_location(text, path, match.start()),
                    expected=f"at most {MAX_DEPTH} levels",
                )
        elif sign in "]}":
            depth -= 1


def _location(text: str, path: str, offset: int) -> Location:
    line = text.count("\n", 0, offset) + 1
    return Location(path, line, offset - text.rfind("\n", 0, offset))


def _after_space(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


class _Places:
    """Finds places by walking the text anew: only mistakes need them. Containers on the way are
    remembered, so that many mistakes do not walk the text many times."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.known: dict[int, dict[str | int, tuple[int, int]]] = {}

    def __call__(self, steps: Steps, key: bool) -> Location | None:
        offset = _after_space(self.text, 0)
        key_offset = offset
        for step in steps:
            if offset not in self.known:
                self.known[offset] = self._children(offset)
            found = self.known[offset].get(step)
            if found is None:
                return None
            key_offset, offset = found
        return _location(self.text, self.path, key_offset if key else offset)

    def _children(self, offset: int) -> dict[str | int, tuple[int, int]]:
        """Offsets of key and value of everything in the container at ``offset``."""
        sign = self.text[offset : offset + 1]
        if sign == "{":
            return {key: (at, value) for key, at, value in members(self.text, offset)}
        if sign == "[":
            return {index: (at, at) for index, at in enumerate(elements(self.text, offset))}
        return {}


_decode = json.JSONDecoder(parse_int=len, parse_float=len).raw_decode


def members(text: str, offset: int) -> list[tuple[str, int, int]]:
    """(key, offset of key, offset of value) of the object at ``offset`` of valid JSON."""
    result = []
    offset = _after_space(text, offset + 1)
    while text[offset] != "}":
        key_offset = offset
        key, offset = _decode(text, offset)
        offset = _after_space(text, _after_space(text, offset) + 1)
        result.append((key, key_offset, offset))
        offset = _after_space(text, _decode(text, offset)[1])
        if text[offset] == ",":
            offset = _after_space(text, offset + 1)
    return result


def elements(text: str, offset: int) -> list[int]:
    """Offsets of the elements of the array at ``offset`` of valid JSON."""
    result = []
    offset = _after_space(text, offset + 1)
    while text[offset] != "]":
        result.append(offset)
        offset = _after_space(text, _decode(text, offset)[1])
        if text[offset] == ",":
            offset = _after_space(text, offset + 1)
    return result


def _report_duplicates(text: str, path: str, source: Source) -> None:
    """Every key that is given twice in one object, with both places."""
    todo = [_after_space(text, 0)]
    while todo:
        offset = todo.pop()
        if text[offset] == "[":
            todo.extend(elements(text, offset))
        elif text[offset] == "{":
            first: dict[str, int] = {}
            for key, key_offset, value_offset in members(text, offset):
                todo.append(value_offset)
                if key not in first:
                    first[key] = key_offset
                    continue
                if len(source.mistakes) > MAX_MISTAKES:
                    return
                source.mistakes.append(
                    InputError(
                        f"the key {shown(key)} is given twice; it first stands at "
                        f"{_location(text, path, first[key])}",
                        where=_location(text, path, key_offset),
                        expected="every key once",
                        hint="remove one of the two",
                    )
                )
