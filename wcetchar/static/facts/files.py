"""Source files by the names that people use: the last parts of a path."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from posixpath import normpath

from wcetchar.errors import InputError, Location


class Absent(InputError):
    """The program lacks what a place names; a fact `where present` is left out then."""


def parts_of(name: str) -> tuple[str, ...]:
    return tuple(normpath(name.replace("\\", "/")).lstrip("/").split("/"))


class SourceFiles:
    """The files that the line table and inlined calls name."""

    def __init__(self, names: Iterable[str]) -> None:
        self._spellings: dict[tuple[str, ...], list[str]] = {}
        for name in dict.fromkeys(names):
            self._spellings.setdefault(parts_of(name), []).append(name)

    def find(
        self, name: str, where: Location, among: Collection[str] | None = None
    ) -> Sequence[str]:
        """How the image spells the one file that ``name`` stands for; where there are several, the
        one of them that is spelled as one of ``among``.

        Raises:
            InputError: there is none, or several.
        """
        wanted = parts_of(name)
        found = [p for p in self._spellings if p[-len(wanted) :] == wanted]
        if name.startswith("./"):
            found = [p for p in found if p == wanted]
        if len(found) > 1 and among is not None:
            held = [p for p in found if any(name in among for name in self._spellings[p])]
            found = held or found
        if len(found) == 1:
            return self._spellings[found[0]]
        listed = [self._spellings[parts][0] for parts in sorted(found)]
        if found:
            raise InputError(
                f"{name} stands for several source files",
                where=where,
                details=tuple(listed),
                expected="one of them",
                hint="write more of its path; ./ before it stands for the whole path",
            )
        names = sorted({parts[-1] for parts in self._spellings})
        near = difflib.get_close_matches(wanted[-1], names, 3)
        raise Absent(
            f"no code comes from a source file {name}",
            where=where,
            expected="a file that the program's line table names" if names else "a line table",
            hint=_hint(near, bool(names)),
        )


def _hint(near: Sequence[str], lines: bool) -> str | None:
    if not lines:
        return "build the program with -g, or name places by functions and addresses"
    return f"did you mean {' or '.join(near)}?" if near else None
