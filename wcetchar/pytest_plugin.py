"""A pytest plugin: budgets of kernel services beside the tests of the code that calls them.

    @pytest.mark.wcet_budget(service="xQueueSend", at_most="15 us", set={"S": 16})
    def test_send(): ...

    def test_start(wcet_budget):
        wcet_budget("xTaskCreate", at_most="60 us", set={"N": 13})

What is not said there stands in the ini file, in the options of ``_INI``; files are named from its
folder. What cannot be checked fails.

pytest loads this in every run where wcetchar is installed, so what takes long is imported when a
budget is checked. wcetchar itself does not need pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import pytest

if TYPE_CHECKING:
    from wcetchar.model.budget import Budgets, Held
    from wcetchar.model.characterization import Characterization

MARK: Final = "wcet_budget"
_INI: Final[Mapping[str, tuple[Literal["string", "linelist"], str]]] = {
    "characterization": ("string", "characterization of the kernel, a name or a file"),
    "profile": ("string", "hardware profile, a name or a file"),
    "map": ("string", "section map, a name or a file; the profile's own if not said"),
    "set": ("linelist", "values of parameters, NAME=VALUE, of services that have them"),
    "baseline": ("string", "earlier characterization that growth is held against"),
    "may_grow": ("string", "by how much a figure may grow against it, such as `5 %`"),
    "word": ("string", "weakest word that passes: bound, high-water mark or estimate"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, (kind, text) in _INI.items():
        parser.addini(f"wcet_{name}", f"wcetchar: {text}", kind)


def pytest_configure(config: pytest.Config) -> None:
    names = ", ".join(_Asked.__dataclass_fields__)
    config.addinivalue_line(
        "markers",
        f"{MARK}({names}): fails where a kernel service takes longer than at_most, holds "
        "interrupts or preemption off for longer than said, or grew by more than it may.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """A mark is checked before the test's own code runs, as a part of it."""
    for mark in reversed(list(item.iter_markers(MARK))):
        _check(item.config, mark.args, mark.kwargs)


@pytest.fixture
def wcet_budget(request: pytest.FixtureRequest) -> Callable[..., tuple[Held, ...]]:
    """``wcet_budget(service, at_most="40 us", ...)``, arguments as of the mark: fails, or returns
    the figures that were held."""

    def check(*args: Any, **kwargs: Any) -> tuple[Held, ...]:
        return _check(request.config, args, kwargs)

    return check


@dataclass(frozen=True)
class _Asked:
    """Arguments of the mark and of the fixture: texts as in a budget file."""

    service: str
    at_most: str | None = None
    interrupts: str | None = None
    preemption: str | None = None
    characterization: str | Path | None = None
    profile: str | Path | None = None
    map: str | Path | None = None
    set: Mapping[str, int] = field(default_factory=dict)
    maximum: bool = False
    baseline: str | Path | None = None
    may_grow: str | None = None
    word: str | None = None


def _check(
    config: pytest.Config, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Held, ...]:
    from wcetchar.errors import WcetcharError
    from wcetchar.pipeline import budget as pipeline
    from wcetchar.report.budget_words import reasons, title

    try:
        asked = _Asked(*args, **kwargs)
    except TypeError as error:
        what = str(error).replace("_Asked.__init__()", "it")
        pytest.fail(f"{MARK}: {what}", pytrace=False)
    said: list[str] = []
    held: tuple[Held, ...] = ()
    try:
        characterization, budgets = _budgets(config, asked)
        load = config.stash.setdefault(_LOADED, _Loaded())
        checked = pipeline.check(characterization, budgets, load=load)
        held = checked.held
        where = f"on {checked.profile} (map {checked.section_map})"
        said = [f"{title(one)} {where} {text}" for one in held for _, text in reasons(one)]
    except WcetcharError as error:
        said = [f"{MARK} cannot be checked: {error}"]
    if said:
        pytest.fail("\n".join(said), pytrace=False)
    return held


class _Loaded:
    """Characterizations, each read once in a run."""

    def __init__(self) -> None:
        self._known: dict[str, Characterization] = {}

    def __call__(self, name_or_path: str) -> Characterization:
        from wcetchar import store

        if name_or_path not in self._known:
            self._known[name_or_path] = store.load_characterization(name_or_path)
        return self._known[name_or_path]


_LOADED = pytest.StashKey[_Loaded]()


def _budgets(config: pytest.Config, asked: _Asked) -> tuple[str, Budgets]:
    """The characterization, and what is held against it.

    Raises:
        InputError, UsageError: something cannot be used, or is not said.
    """
    from wcetchar import store
    from wcetchar.errors import UsageError
    from wcetchar.model.budget import Budget, Budgets, Figure
    from wcetchar.model.characterization import Word
    from wcetchar.pipeline.options import read_option

    if not isinstance(asked.service, str) or not asked.service:
        raise UsageError(f"{asked.service!r} is no service", expected="a name, or a pattern")
    characterization = _file(config, "characterization", asked.characterization)
    if characterization is None:
        raise UsageError(
            "nothing says of which characterization",
            expected="characterization=, or wcet_characterization in the ini file",
        )
    profile = _file(config, "profile", asked.profile)
    if profile is None:
        raise UsageError(
            "nothing says on which hardware", expected="profile=, or wcet_profile in the ini file"
        )
    given = (
        (Figure.TOTAL, "at_most", asked.at_most),
        (Figure.INTERRUPTS, "interrupts", asked.interrupts),
        (Figure.PREEMPTION, "preemption", asked.preemption),
    )
    at_most = {
        figure: read_option(name, store.parse_budget, text)
        for figure, name, text in given
        if text is not None
    }
    baseline = _file(config, "baseline", asked.baseline)
    share = _text(config, "may_grow", asked.may_grow)
    if baseline is None and asked.may_grow is None:
        share = None  # the ini file's is of whatever has a baseline
    may_grow = None if share is None else read_option("may_grow", store.parse_percent, share)
    if not at_most and may_grow is None:
        raise UsageError(
            "this budget permits everything",
            expected="at_most=, interrupts= or preemption=; or may_grow= and a baseline",
        )
    word = _text(config, "word", asked.word) or Word.ESTIMATE.value
    budget = Budget(
        asked.service,
        at_most,
        _values(asked.set),
        asked.maximum,
        may_grow,
        _one_of(Word, word),
    )
    return characterization, Budgets(
        "",
        (budget,),
        profile,
        _file(config, "map", asked.map),
        baseline,
        _values_of_lines(config.getini("wcet_set")),
    )


def _text(config: pytest.Config, option: str, given: str | Path | None) -> str | None:
    """What the mark says, else the ini file; ``None``: neither."""
    if given is not None:
        return str(given)
    return str(config.getini(f"wcet_{option}")) or None


def _file(config: pytest.Config, option: str, given: str | Path | None) -> str | None:
    """A path from the ini file's folder, where there is such a file; else a name, or a path."""
    from wcetchar.store.names import beside

    folder = config.rootpath if config.inipath is None else config.inipath.parent
    return beside(folder, _text(config, option, given))


def _values(given: object) -> dict[str, int]:
    from wcetchar.errors import UsageError

    is_one = isinstance(given, Mapping) and all(
        isinstance(name, str) and type(value) is int for name, value in given.items()
    )
    if not isinstance(given, Mapping) or not is_one:
        raise UsageError(f"set={given!r} is no mapping to whole numbers", expected="{'N': 13}")
    return dict(given)


def _values_of_lines(lines: Sequence[str]) -> dict[str, int]:
    from wcetchar.errors import UsageError
    from wcetchar.pipeline.assignments import whole_number

    found = {}
    for line in lines:
        name, _, digits = line.partition("=")
        value = whole_number(digits)
        if not name.strip() or value is None:
            raise UsageError(f"wcet_set: {line!r} is no NAME=VALUE", expected="such as N=13")
        found[name.strip()] = value
    return found


_E = TypeVar("_E", bound=StrEnum)


def _one_of(kind: type[_E], text: str) -> _E:
    from wcetchar.errors import UsageError

    for one in kind:
        if one.value == text:
            return one
    raise UsageError(
        f"{text!r} is not known here", expected=f"one of {', '.join(one.value for one in kind)}"
    )
