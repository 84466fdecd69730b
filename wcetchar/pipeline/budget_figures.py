"""Figures of services on one hardware, as budgets ask for them, and where their sources are."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import PurePath
from typing import Final

from wcetchar.errors import InputError, NoSoundBound
from wcetchar.model.budget import Baseline, Budget, Budgets, Figure
from wcetchar.model.characterization import (
    Characterization,
    Place,
    ServiceCharacterization,
    Word,
)
from wcetchar.model.estimate import Chain, Estimate
from wcetchar.model.path_model import PathModel
from wcetchar.model.service import is_of, whole_of
from wcetchar.pipeline.budget_values import Mistakes
from wcetchar.pipeline.estimate import Opened, Request


@dataclass(frozen=True)
class Safe:
    """The safe end of a figure, its word, and the values of parameters that it is for. ``bounded``:
    over all paths; ``published``: that of the published rows."""

    time: Fraction
    word: Word
    at: Mapping[str, int]
    bounded: bool
    published: Fraction


def figure_of(one: Estimate, figure: Figure) -> Safe:
    return _READ[figure](one)


def _total(one: Estimate) -> Safe:
    over = None if one.over_all_paths is None else one.over_all_paths.time
    at = _at(one, one.parameters, over, one.total.high)
    return Safe(one.safe_time, one.safe_word, at, over is not None, one.total.high)


def _interrupts(one: Estimate) -> Safe:
    over = None if one.over_all_paths is None else one.over_all_paths.interrupts
    published = one.interrupts_held_off.high
    at = _at(one, one.interrupts_at or one.parameters, over, published)
    return Safe(one.safe_interrupts, one.safe_interrupts_word, at, over is not None, published)


def _preemption(one: Estimate) -> Safe:
    over = None if one.over_all_paths is None else one.over_all_paths.preemption
    published = one.preemption_held_off.high
    at = _at(one, one.preemption_at or one.parameters, over, published)
    return Safe(one.safe_preemption, one.safe_preemption_word, at, over is not None, published)


def _at(
    one: Estimate, at: Mapping[str, int], over: Fraction | None, published: Fraction
) -> Mapping[str, int]:
    """Where the larger one of both is so large; of that over all paths it may be no single point
    that is known, and then there is none."""
    if over is None or over <= published or one.over_all_paths is None:
        return at
    return one.over_all_paths.at or {}


_READ: Final[Mapping[Figure, Callable[[Estimate], Safe]]] = {
    Figure.TOTAL: _total,
    Figure.INTERRUPTS: _interrupts,
    Figure.PREEMPTION: _preemption,
}


def gaps_of(one: Estimate, figure: Figure) -> tuple[str, ...]:
    """Why it may be longer than the figure says; empty: it is not."""
    chain = _chain(one, figure)
    return () if chain is None else chain.gaps


def _chain(one: Estimate, figure: Figure) -> Chain | None:
    if figure is Figure.TOTAL:
        return None
    return one.interrupts_chain if figure is Figure.INTERRUPTS else one.preemption_chain


def compared(figure: Figure, now: Estimate | str, before: Estimate | str | None) -> Baseline:
    """A figure beside that of an earlier version: like with like. ``str``: why there is none;
    ``before``: ``None``: there is no such service."""
    if before is None:
        return Baseline()
    if isinstance(before, str):
        return Baseline(problem=f"the baseline has no figure: {before}")
    here = figure_of(before, figure)
    if isinstance(now, str):
        return Baseline(here.time)
    there = figure_of(now, figure)
    if here.bounded != there.bounded:
        return Baseline(here.published, there.published)
    return Baseline(here.time, there.time)


class Figures:
    """A characterization on the hardware of a budget file."""

    def __init__(
        self, path: str, budgets: Budgets, found: Characterization, names: Sequence[str]
    ) -> None:
        """``names``: of the services that are asked for.

        Raises:
            InputError: they cannot be priced there, with a place.
        """
        self._services = {one.name: one for one in found.services if one.name in set(names)}
        self._models = {one.service: one for one in found.paths}
        self._opened: dict[bool, Opened] = {}
        self._known: dict[tuple[str, bool, tuple[tuple[str, int], ...]], Estimate] = {}
        assert budgets.profile is not None
        for maximum in {one.maximum for one in budgets.budgets} if self._services else ():
            request = Request.on_one(
                path,
                budgets.profile,
                budgets.section_map,
                tuple(self._services),
                budgets.values,
                maximum,
            )
            self._opened[maximum] = Opened(request, found)

    def has(self, service: str) -> bool:
        """The service, or parts of it, is among those that were asked for."""
        return any(is_of(name, service) for name in self._services)

    def of(
        self, service: str, budget: Budget, mistakes: Mistakes | None = None
    ) -> Estimate | str | None:
        """The estimate at the budget's values, or why there is none; ``None``: there is no such
        service. ``mistakes``: takes those of values and files, which are reasons without it."""
        if service not in self._services:
            return None
        having = {parameter.name for parameter in self._services[service].parameters}
        values = {name: value for name, value in budget.values.items() if name in having}
        key = service, budget.maximum, tuple(sorted(values.items()))
        try:
            if key not in self._known:
                every = self._opened[budget.maximum].at(service, values)
                self._known[key] = next(one for one in every if one.service == service)
            return self._known[key]
        except NoSoundBound as error:
            return error.message
        except InputError as error:
            if mistakes is None:
                return "; ".join(one.message for one in error.each)
            return mistakes.take(service, budget, error)

    def places(
        self, service: ServiceCharacterization, one: Estimate, figure: Figure
    ) -> tuple[Place | None, Place | None]:
        """Of the service, and of where what it holds off begins; ``None``: not known."""
        stretch = None if figure is Figure.TOTAL else _stretch(service, one, figure)
        own = _with_line(service.place) or _entry(self._models.get(service.name))
        own = own or _own(service)
        return own or stretch, stretch


def _stretch(service: ServiceCharacterization, one: Estimate, figure: Figure) -> Place | None:
    chain = _chain(one, figure)
    where = one.interrupts_stretch if figure is Figure.INTERRUPTS else one.preemption_stretch
    if chain is not None:
        where = chain.links[0].where
    for stretch in service.stretches:
        if f"{stretch.begin} to {stretch.end}" == where:
            return _with_line(stretch.begin_place)
    return None


def _entry(model: PathModel | None) -> Place | None:
    if model is None or not model.entries:
        return None
    return _with_line(model.nodes[model.edges[model.entries[0]].target].place)


def _own(service: ServiceCharacterization) -> Place | None:
    """Where a stretch begins in the function that has the service's name."""
    places = (one.begin_place for one in service.stretches)
    of_it = [one for one in places if one is not None and one.function == whole_of(service.name)]
    return _with_line(min(of_it, key=lambda place: place.offset)) if of_it else None


def _with_line(place: Place | None) -> Place | None:
    return place if place is not None and place.file and place.line else None


class Sources:
    """Source files as they are called from here."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self._known: dict[str, str] = {}

    def found(self, place: Place | None) -> Place | None:
        """The same place; its file in the first folder that has it, or from the current folder."""
        if place is None:
            return None
        if place.file not in self._known:
            self._known[place.file] = self._from_here(place.file)
        return replace(place, file=self._known[place.file])

    def _from_here(self, file: str) -> str:
        if PurePath(file).is_absolute():
            here = os.path.join(os.getcwd(), "")
            return file.removeprefix(here)
        for folder in self._folders:
            there = os.path.normpath(os.path.join(folder, file))
            try:
                if os.path.isfile(there):
                    return there
            except ValueError:  # a name with a NUL
                continue
        return file
