"""Budgets of services: figures held against them, and against those of an earlier version."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final, TypeVar

from wcetchar import store
from wcetchar.errors import InputError, did_you_mean, several
from wcetchar.model.budget import Baseline, Budget, Budgets, Checked, Figure, Held
from wcetchar.model.characterization import (
    Characterization,
    NotCharacterized,
    ServiceCharacterization,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.service import is_of, whole_of
from wcetchar.pipeline.all_paths import safe_notes
from wcetchar.pipeline.budget_figures import Figures, Sources, compared, figure_of, gaps_of
from wcetchar.pipeline.budget_values import Mistakes, refuse_strangers
from wcetchar.pipeline.estimate import map_of
from wcetchar.pipeline.service_notes import owners, told

_LOST: Final = "it has no bound any more, and had one"


@dataclass(frozen=True)
class Request:
    """What to check. Files are given by path or by the name of a shipped one.

    Attributes:
        file: the budget file.
        profile, section_map, baseline: in the place of those of the file; with a profile alone,
            the profile's own map.
        sources: folders in which source files are looked for, to name them from here.
    """

    characterization: str
    file: str
    profile: str | None = None
    section_map: str | None = None
    baseline: str | None = None
    sources: tuple[str, ...] = ()


def run(request: Request, progress: Callable[[int, int], None] | None = None) -> Checked:
    """As :func:`check`, with what a budget file says.

    Raises:
        InputError: a file cannot be used, with its place; and as of ``check``.
    """
    return check(request.characterization, _asked(request), request.sources, progress)


def _asked(request: Request) -> Budgets:
    """The budget file, with what stands in the place of its own names."""
    budgets = store.load_budgets(request.file)
    given: dict[str, str | None] = {}
    if request.profile is not None:
        given = {"profile": request.profile, "map": request.section_map}
    elif request.section_map is not None:
        given = {"map": request.section_map}
    if request.baseline is not None:
        given["baseline"] = request.baseline
    return replace(
        budgets,
        profile=given.get("profile", budgets.profile),
        section_map=given.get("map", budgets.section_map),
        baseline=given.get("baseline", budgets.baseline),
        places={key: place for key, place in budgets.places.items() if key not in given},
    )


_N = TypeVar("_N", str, str | None)
_T = TypeVar("_T")


def _named(budgets: Budgets, key: str, load: Callable[[_N], _T], name: _N) -> _T:
    """A file that the budget file names; that there is none is a mistake there."""
    try:
        return load(name)
    except InputError as error:
        for one in error.each:
            one.where = one.where or budgets.places.get(key)
        raise


def check(
    characterization: str,
    budgets: Budgets,
    sources: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
    load: Callable[[str], Characterization] = store.load_characterization,
) -> Checked:
    """Holds every service that a budget means against it.

    Args:
        progress: called with how many services are done, and of how many.
        load: reads a characterization.

    Raises:
        InputError: a file cannot be used; a budget means no service, or none that has a parameter
            of its; a value is missing or out of range; ``may grow`` without a baseline. Each at its
            place in the budget file.
    """
    _refuse_unsaid(budgets)
    assert budgets.profile is not None
    profile = _named(budgets, "profile", store.load_profile, budgets.profile)
    section_map = _named(
        budgets, "map", partial(map_of, profile, budgets.profile), budgets.section_map
    )
    found = load(characterization)
    meant = _meant(characterization, budgets, found)
    refuse_strangers(budgets, found, [services for services, _ in meant])
    before = None
    if budgets.baseline is not None:
        before = _named(budgets, "baseline", load, budgets.baseline)
    now = Figures(characterization, budgets, found, _names(meant))
    then = None
    if before is not None and budgets.baseline is not None:
        names = [n for one in budgets.budgets for n in _meant_names(one, before)]
        then = Figures(budgets.baseline, budgets, before, names)
    looked_for = Sources(sources)
    mistakes = Mistakes(budgets)
    held: list[Held] = []
    estimates: list[Estimate] = []
    done, whole = 0, sum(len(services) for services, _ in meant)
    for budget, (services, missing) in zip(budgets.budgets, meant, strict=True):
        before_this = len(held)
        for service in services:
            if progress is not None:
                progress(done, whole)
            done += 1
            one = now.of(service.name, budget, mistakes)
            assert one is not None  # it is among the names that were asked for
            if isinstance(one, Estimate):
                estimates.append(one)
            share = None if then is None else share_of(budgets, service.name)
            held += _held(service, budget, share, one, now, then, looked_for)
        for lost in missing:
            share = None if then is None else share_of(budgets, lost.name)
            held += _not_characterized(lost, budget, share, then)
        if len(held) == before_this:
            mistakes.nothing(budget, missing[0].name if missing else "")
    mistakes.raise_all()
    return Checked(
        f"{found.kernel.name} {found.kernel.version}".strip(),
        profile.name,
        section_map.name,
        characterization,
        budgets.baseline or "",
        budgets.path,
        _each_once(held),
        _gone(budgets, found, before),
        tuple(_notes(estimates)),
    )


def _refuse_unsaid(budgets: Budgets) -> None:
    if budgets.profile is None:
        raise InputError(
            "nothing says on which hardware",
            where=budgets.places.get(""),
            expected="`profile:`, and `map:` where it has no map of its own",
            hint="or --profile NAME --map NAME",
        )
    grows = [one.place("may grow") for one in budgets.budgets if one.may_grow is not None]
    if budgets.may_grow is not None:
        grows = [budgets.places.get("may grow")]
    if grows and budgets.baseline is None:
        raise InputError(
            "growth is held against a baseline, and there is none",
            where=grows[0],
            expected="`baseline:`, an earlier characterization",
            hint="or --baseline FILE",
        )


Meant = tuple[list[ServiceCharacterization], list[NotCharacterized]]


def _meant(path: str, budgets: Budgets, found: Characterization) -> list[Meant]:
    """What each budget means; of services that are not characterized, those as well."""
    known = _all_names(found)
    mistakes = []
    for budget in budgets.budgets:
        where = budget.place("service")
        if not any(means(budget, name) for name in known):
            what = "no service has a name like" if budget.is_pattern else "there is no service"
            left_out = [one for one in found.left_out if budget.service in one.calls]
            mistakes.append(
                InputError(
                    f"{what} {budget.service}"
                    + (f"; it is left out: {left_out[0].because}" if left_out else ""),
                    where=where,
                    expected=f"a service of {path}" + (", or several" * budget.is_pattern),
                    hint=did_you_mean(budget.service, known),
                )
            )
            continue
        like = replace(budget, but=())
        for name in budget.but:
            if not any(is_of(one, name) and means(like, one) for one in known):
                mistakes.append(
                    InputError(
                        f"{budget.service} does not mean {name} anyway",
                        where=budget.place(f"but {name}", "service"),
                        expected="a service that the pattern means",
                        hint=did_you_mean(name, [one for one in known if means(like, one)]),
                    )
                )
    if mistakes:
        raise several(mistakes)
    return [
        (
            [one for one in found.services if means(budget, one.name)],
            [one for one in found.not_characterized if means(budget, one.name)],
        )
        for budget in budgets.budgets
    ]


def means(budget: Budget, name: str) -> bool:
    """Whether a budget is of the service with this published name."""
    names = (name, whole_of(name))
    if any(one in budget.but for one in names):
        return False
    if budget.service in names:
        return True
    # Brackets are no part of patterns here.
    pattern = budget.service.replace("[", "[[]")
    return budget.is_pattern and any(fnmatch.fnmatchcase(one, pattern) for one in names)


def share_of(budgets: Budgets, name: str) -> Fraction | None:
    """By how much a service may grow: as a budget of its name says, else those of patterns, else
    the file; of several of a kind the least."""
    own = [one for one in budgets.budgets if one.may_grow is not None and means(one, name)]
    for is_pattern in (False, True):
        said = [one.may_grow for one in own if one.is_pattern == is_pattern]
        shares = [share for share in said if share is not None]
        if shares:
            return min(shares)
    return budgets.may_grow


def _all_names(found: Characterization) -> list[str]:
    services = [name for one in found.services for name in (one.name, whole_of(one.name))]
    return list(dict.fromkeys(services + [one.name for one in found.not_characterized]))


def _names(meant: Iterable[Meant]) -> list[str]:
    return [service.name for services, _ in meant for service in services]


def _meant_names(budget: Budget, found: Characterization) -> list[str]:
    return [one.name for one in found.services if means(budget, one.name)]


def _held(
    service: ServiceCharacterization,
    budget: Budget,
    share: Fraction | None,
    one: Estimate | str,
    now: Figures,
    then: Figures | None,
    sources: Sources,
) -> list[Held]:
    """``one``: its estimate, or why there is none."""
    before = None if then is None else then.of(service.name, budget)
    rows = []
    for figure in Figure:
        if figure not in budget.at_most and then is None:
            continue
        baseline = None if then is None else compared(figure, one, before)
        if isinstance(one, str):
            rows.append(Held(service.name, figure, budget, None, None, {}, baseline, share, one))
            continue
        found = figure_of(one, figure)
        gaps = gaps_of(one, figure)
        notes: tuple[str, ...] = ()
        if isinstance(before, Estimate) and baseline is not None:
            if gaps and not gaps_of(before, figure):
                baseline = replace(baseline, problem=_LOST)
            if baseline.time != figure_of(before, figure).time or baseline.compared != found.time:
                notes = (
                    "its change is that of the published rows: only one of both versions has a "
                    "bound over all paths",
                )
        place, stretch = now.places(service, one, figure)
        rows.append(
            Held(
                service.name,
                figure,
                budget,
                found.time,
                found.word,
                found.at,
                baseline,
                share,
                "; ".join(gaps),
                sources.found(place),
                sources.found(stretch),
                notes,
            )
        )
    return rows


def _not_characterized(
    service: NotCharacterized, budget: Budget, share: Fraction | None, then: Figures | None
) -> list[Held]:
    """Of what has a budget; or, where only growth is looked at, of what had figures before."""
    why = f"it is not characterized: {service.reason}"
    figures = list(budget.at_most)
    baseline = None if then is None else Baseline(problem=why)
    if then is not None and not then.has(service.name):
        baseline = Baseline()
    elif then is not None and not figures:
        figures = [Figure.TOTAL]
    return [
        Held(service.name, one, budget, None, None, {}, baseline, share, why) for one in figures
    ]


def _each_once(held: Sequence[Held]) -> tuple[Held, ...]:
    """Without growth that is looked at beside a budget already, or by an earlier one."""
    with_budget = {_point(one) for one in held if one.limit is not None}
    alone: dict[object, Held] = {}
    for one in held:
        if one.limit is None and _point(one) not in with_budget:
            alone.setdefault(_point(one), one)
    return tuple(one for one in held if one.limit is not None or alone.get(_point(one)) is one)


def _point(one: Held) -> object:
    parameters = tuple(sorted(one.parameters.items()))
    return one.service, one.figure, parameters, one.time


def _gone(
    budgets: Budgets, found: Characterization, before: Characterization | None
) -> tuple[str, ...]:
    if before is None:
        return ()
    known = set(_all_names(found))
    lost = [name for one in budgets.budgets for name in _meant_names(one, before)]
    return tuple(n for n in dict.fromkeys(lost) if n not in known and whole_of(n) not in known)


def _notes(estimates: Sequence[Estimate]) -> Iterable[str]:
    each = {(one.service, *sorted(one.parameters.items())): one for one in estimates}
    every = len({one.service for one in estimates})
    for note, of in owners(each.values()).items():
        yield told(note, of, every)
    yield from dict.fromkeys(note for one in each.values() for note in safe_notes(one))
