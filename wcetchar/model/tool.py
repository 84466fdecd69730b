"""Programs that the toolchain calls, and what an examination of this machine found of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Of a tool on this machine."""

    FOUND = "found"
    UNFIT = "unfit"  # it is there, and will not do
    MISSING = "missing"


@dataclass(frozen=True)
class Tool:
    """A program.

    Attributes:
        name: of the program.
        get: how to get it.
        ask: arguments with which it says its version.
        least, most: the versions between which it is known to work; of ``most`` every release.
            Empty: any.
    """

    name: str
    get: str
    ask: tuple[str, ...] = ("--version",)
    least: tuple[int, ...] = ()
    most: tuple[int, ...] = ()

    @property
    def wanted(self) -> str:
        """The versions in words, ``""`` for any."""
        low, high = (".".join(map(str, version)) for version in (self.least, self.most))
        return f"{low} to {high}" if high else f"{low} or newer" if low else ""

    def takes(self, version: tuple[int, ...]) -> bool:
        """Whether it is known to work."""
        below = bool(self.most) and version[: len(self.most)] > self.most
        return version >= self.least and not below


@dataclass(frozen=True)
class Use:
    """What needs tools: a verb, or a target of the project's Makefile.

    Attributes:
        name: ``capture``, ``measure host``, ``make test``.
        needs: each is one tool, or several of which one will do, by their names.
        helps: what it can do without, by name, and what it would do with it.
    """

    name: str
    needs: tuple[tuple[str, ...], ...] = ()
    helps: Mapping[str, str] | None = None

    def names(self) -> set[str]:
        """Of all tools that it needs or that help it."""
        return {name for group in self.needs for name in group} | set(self.helps or ())


@dataclass(frozen=True)
class Found:
    """What is there of one tool.

    Attributes:
        kind: ``program``, ``package`` of Python, or the ``system`` itself.
        version: as it says itself; ``""``: it is not there, or does not say.
        path: where the program is.
        wanted: the versions that are known to work, ``""`` for any.
        problem: why it is unfit, or what is not known of it.
        get: how to get what is missing or unfit.
    """

    name: str
    kind: str
    state: State
    version: str = ""
    path: str = ""
    wanted: str = ""
    problem: str = ""
    get: str = ""
