"""A devicetree source with the places of what stands in it (Devicetree Specification v0.4, 6).

The library reads it; this module adds what it does not keep: line and column of every node and
property, and of each mistake. Modules import what they need of the library from here."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Final, NoReturn

from devicetree.dtlib import DT, DTError, Node, Property, Type

from wcetchar.errors import InputError, Location, one_line
from wcetchar.store.source import read_text

__all__ = ["DTError", "Devicetree", "Node", "Property", "Type"]

MAX_BYTES: Final = 4 << 20
_DIRECTIVE = re.compile(r"[ \t]*(#\s*(?:include|define|undef|if|ifdef|ifndef|else|elif|endif)\b)")
_NAMED = re.compile(r"(?<![\w/])/[\w,.+@/-]*")
_QUOTED = re.compile(r"'([^']+)'")
_HINT: Final = (
    "give what a build has made of its sources, such as build/zephyr/zephyr.dts; "
    "`dtc -I dtb -O dts` prints the source of a compiled one"
)


class Devicetree(DT):  # type: ignore[misc]
    """A tree that knows its places, and reads no file but the one that it was made from."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """
        Raises:
            InputError: the file cannot be read or is no preprocessed devicetree source.
        """
        text = read_text(path, MAX_BYTES)
        self._path = str(path)
        self._starts: dict[Node | Property, int] = {}
        self._references: dict[str, int] = {}
        self._before = 0
        # The library opens the file by itself; it gets the text that was read.
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "checked.dts"
            copy.write_text(text, encoding="utf-8", newline="\n")
            try:
                super().__init__(str(copy))
            except DTError as error:
                raise self._without_place(str(error)) from None
            except RecursionError:
                self._fail("lies too deep in what is around it", "less depth")
            except AttributeError:
                # Of None, in whose place the library looks for nodes.
                self._fail("asks for a root node that is not there", "a root node: / { ... };")
            except (ArithmeticError, MemoryError, ValueError) as error:
                # Numbers such as 08, shifts by less than nothing.
                self._fail(f"cannot be evaluated: {error}", "a number such as 0x40000000")

    def where(self, what: Node | Property) -> Location:
        """Of its name, where it was given last; of its node where a property has no value."""
        if what not in self._starts and isinstance(what, Property):
            return self.where(what.node)
        return self._location(self._starts.get(what, 0))

    def error(self, what: Node | Property, message: str, expected: str, hint: str) -> InputError:
        return InputError(
            one_line(message), where=self.where(what), expected=expected, hint=one_line(hint)
        )

    def _location(self, at: int) -> Location:
        text: str = self._file_contents
        return Location(self._path, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))

    def _fail(self, message: str, expected: str) -> NoReturn:
        where = self._location(self._tok_i)
        raise InputError(one_line(message), where=where, expected=expected, hint=_HINT) from None

    def _without_place(self, message: str) -> InputError:
        """The library's words on a tree that is read but wrong. They name labels and nodes."""
        message = message.replace(f" in {self.filename}", "")
        quoted = _QUOTED.findall(message)
        at = [self._references[q] for q in quoted if q in self._references]
        if not at or ("undefined" not in message and "does not exist" not in message):
            nodes = {node.path: node for node in self.node_iter()}
            node = next((nodes[n] for n in _NAMED.findall(message) if n in nodes), self.root)
            prop = next((node.props[q] for q in quoted if q in node.props), None)
            at = [self._starts.get(prop, self._starts.get(node, 0))]
        where = self._location(at[0])
        return InputError(
            one_line(message), where=where, expected="a devicetree source", hint=_HINT
        )

    # What follows has the library's names, and does more than the library's own.

    def _next_token(self):  # type: ignore[no-untyped-def]
        before, fresh = self._tok_i, self._saved_token is None
        token = super()._next_token()
        if fresh:
            self._before = before
        if self._file_contents[self._tok_i : self._tok_i + 1] == "&":
            self._references.setdefault(str(token.val).strip("{}"), self._tok_i)
        return token

    def _parse_node(self, node):  # type: ignore[no-untyped-def]
        # Of `name {` the brace was looked at already, of `/ {` and `&label {` it was not.
        self._starts.setdefault(node, self._before if self._saved_token else self._tok_i)
        return super()._parse_node(node)

    def _parse_assignment(self, prop):  # type: ignore[no-untyped-def]
        self._starts[prop] = self._before
        return super()._parse_assignment(prop)

    def _eval_add(self):  # type: ignore[no-untyped-def]
        # What stands behind `<<`: as many bits would be made as it says.
        shifted = not self._saved_token and self._file_contents.startswith("<<", self._tok_i)
        value = super()._eval_add()
        if shifted and value > 63:
            self._fail(f"shifts by {value} bits", "63 bits at most: a number has 64")
        return value

    def _open(self, filename, mode="r", **kwargs):  # type: ignore[no-untyped-def]
        self._fail(f"includes another file, {one_line(filename)}", "one whole devicetree source")

    def _parse_error(self, s):  # type: ignore[no-untyped-def]
        text = self._file_contents
        directive = _DIRECTIVE.match(text, text.rfind("\n", 0, self._tok_i) + 1)
        if directive:
            self._fail(f"is not preprocessed: {directive[1]}", "one whole devicetree source")
        other, _, expected = str(s).partition("expected ")
        if other:
            self._fail(str(s), "a devicetree source")
        self._fail("is no devicetree source from here on", expected)
