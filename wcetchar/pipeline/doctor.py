"""What of this machine verbs and targets need: programs, and the packages of Python."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from packaging.requirements import Requirement

from wcetchar import __version__
from wcetchar.capture.tools import TOOLS, USES, examine
from wcetchar.errors import UsageError, did_you_mean
from wcetchar.model.tool import Found, State, Use

_PYTHON: Final = "3.11"


@dataclass(frozen=True)
class Checkup:
    """
    Attributes:
        uses: what was asked for, all if nothing was; those without an entry of their own need no
            program.
        tools: what they need or what helps them; packages come last, and each use needs them all.
    """

    version: str
    uses: tuple[Use, ...]
    tools: tuple[Found, ...]

    def lacks(self, use: Use) -> tuple[tuple[str, ...], ...]:
        """What it needs and what is not there: of each, all that would do."""
        there = {tool.name for tool in self.tools if tool.state is State.FOUND}
        packages = [(one.name,) for one in self.tools if one.kind == "package"]
        return tuple(
            group for group in (*use.needs, *packages) if not any(name in there for name in group)
        )

    @property
    def ready(self) -> bool:
        return not any(map(self.lacks, self.uses))


def run(asked: Sequence[str], verbs: Sequence[str]) -> Checkup:
    """``verbs``: all that there are; ``asked``: of these, or of the targets of ``make``.

    Raises:
        UsageError: there is no such verb or target.
    """
    own = {use.name: use for use in USES}
    known = {**{verb: own.get(verb, Use(verb)) for verb in verbs}, **own}
    for name in asked:
        if name not in known:
            raise UsageError(
                f"there is no verb or target {name!r}",
                expected="one of " + ", ".join(known),
                hint=did_you_mean(name, known),
            )
    uses = tuple(known[name] for name in dict.fromkeys(asked)) or tuple(known.values())
    wanted = {name for use in uses for name in use.names()}
    wanted |= set() if asked else {tool.name for tool in TOOLS}
    return Checkup(__version__, uses, (*examine(wanted), _python(), *_packages()))


def _python() -> Found:
    return Found("Python", "program", State.FOUND, ".".join(map(str, sys.version_info[:3])),
                 sys.executable, f"{_PYTHON} or newer")  # fmt: skip


def _packages() -> tuple[Found, ...]:
    """Those that this package requires, whatever extras were asked for."""
    try:
        texts = importlib.metadata.requires("wcetchar") or []
    except importlib.metadata.PackageNotFoundError:
        return ()  # run from a folder; what it imports is there, or it would not run
    required = map(Requirement, texts)
    return tuple(_package(one) for one in required if one.marker is None)


def _package(required: Requirement) -> Found:
    wanted, get = str(required.specifier), f'pip install "{required}"'
    try:
        version = importlib.metadata.version(required.name)
    except importlib.metadata.PackageNotFoundError:
        return Found(required.name, "package", State.MISSING, wanted=wanted, get=get)
    fits = required.specifier.contains(version, prereleases=True)
    state, problem = (State.FOUND, "") if fits else (State.UNFIT, f"{version} is not {wanted}")
    return Found(required.name, "package", state, version, "", wanted, problem, get)
