"""Response times of a system over numbers of its hardware, of its kernel and of itself.

With x_1 < x_2 < ... from the dearest value of a number to the cheapest one, and s_i(x) the slack of
each task and interrupt where the number is x::

    solved = the largest x_k with s_i(x_k) >= 0 for all i

Response times never fall where what they are made of never falls, so where all prices rise with k
(``solve_order``) that is found by halving, and whatever was evaluated on the way has to fall as
well; else, or where it does not, all values are evaluated. What is returned was evaluated in either
case, and so was the next cheaper value, with which a deadline is missed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from wcetchar.engine.response_time import analyse
from wcetchar.engine.sweep import followed_by
from wcetchar.errors import InputError, Location
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.service import ParameterKind
from wcetchar.model.sweep import Axis
from wcetchar.model.system import Response
from wcetchar.model.system_sweep import (
    SlackChange,
    SolvedSystem,
    SweptPoint,
    SweptResponse,
    SystemSolution,
    SystemSweep,
)
from wcetchar.model.workload import Call, Workload, calls_of
from wcetchar.pipeline import estimate
from wcetchar.pipeline.priced_calls import CallPrices, Characterizations
from wcetchar.pipeline.priced_system import PricedSystem, hardware_of, refuse_circle
from wcetchar.pipeline.solve_order import (
    EvenValues,
    last_that_holds,
    rises,
    smaller_is_cheaper,
)
from wcetchar.pipeline.sweep_axes import Advance, AskedAxis, asked_axis, refuse_twice
from wcetchar.store.dearer import PROFILE_RULES, SYSTEM_RULES, Dearer
from wcetchar.store.profile_numbers import ProfileNumbers
from wcetchar.store.source import Steps
from wcetchar.store.system_numbers import PARTS, SystemNumbers

MOST_POINTS: Final = 10_000
"""Each is a whole analysis: some minutes of work."""
_KEPT: Final = 64
"""Combinations of hardware whose prices are kept."""
_CASE: Final = "it is the number of a case, and no amount"
_Place = tuple[tuple[AskedAxis, Fraction], ...]
"""The value of each axis."""


@dataclass(frozen=True)
class Request:
    """``profile``, ``section_map``: in the place of those of the file. ``vary``: ``NAME=VALUES``,
    the first axis first."""

    file: str
    profile: str | None = None
    section_map: str | None = None
    vary: tuple[str, ...] = ()


def run(request: Request, advance: Advance | None = None) -> SystemSweep:
    """All responses at every combination of the axes.

    Raises:
        UsageError: an axis is given twice.
        InputError: a file, a name or a value cannot be used, with its place; there are too many
            combinations.
    """
    opened = OpenedSystem(request)
    axes = [opened.axis("--vary", text) for text in request.vary]
    opened.check(axes)
    found = opened.points(axes, advance)
    plain = tuple(asked.axis for asked in axes)
    return SystemSweep(
        *opened.names, plain, tuple(found), tuple(_changes(plain, found)), opened.notes(axes)
    )


def solve(request: Request, number: str, advance: Advance | None = None) -> SystemSolution:
    """The cheapest value of a number with which all deadlines are met, at each combination of the
    axes of ``request``.

    Args:
        number: ``NAME=VALUES``.

    Raises:
        UsageError, InputError: as of ``run``.
    """
    opened = OpenedSystem(request)
    axes = [opened.axis("--vary", text) for text in request.vary]
    asked = opened.axis("--solve", number)
    opened.check([*axes, asked])
    solver = _Solver(opened, axes, asked)
    step, found = None, None
    whole, finest = asked.values.whole, asked.values.finest
    if opened.rises(asked):
        if whole is not None:
            solver.values, step = EvenValues(*whole, finest), finest
        found = solver.by_halving()
    halved = found is not None
    if found is None:
        solver = _Solver(opened, axes, asked)
        step = None if whole is None else Fraction(1)
        found = solver.by_trying(advance)
    return SystemSolution(
        *opened.names,
        asked.axis,
        tuple(one.axis for one in axes),
        solver.smallest,
        halved,
        step,
        solver.tried,
        tuple(found),
        opened.notes([*axes, asked]),
    )


class _Files:
    """A system and a hardware profile whose numbers are replaced."""

    def __init__(self, file: str) -> None:
        self.system = SystemNumbers(file)
        self.profile: ProfileNumbers | None = None

    @property
    def kind(self) -> str:
        return "system" if self.profile is None else "profile or the system"

    def named(self, way: str) -> Steps:
        if self.profile is None or way.partition(".")[0].strip().lower() in PARTS:
            return self.system.named(way)
        return self.profile.named(way)


class OpenedSystem:
    """A system on hardware, both with numbers that are replaced."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._files = _Files(request.file)
        self._workload = self._files.system.with_values({})
        refuse_circle(self._workload)
        self._hardware = hardware_of(self._workload, request.profile, request.section_map)
        if self._hardware is not None:
            self._files.profile = ProfileNumbers(self._hardware.profile)
        self._characterizations = Characterizations()
        self._parameters = self._common_parameters()
        self._priced: dict[tuple[object, ...], CallPrices] = {}

    @property
    def names(self) -> tuple[str, str, str]:
        here = self._hardware
        if here is None:
            return self._workload.name, "", ""
        profile = self._profile({})
        assert profile is not None
        section_map = estimate.map_of(profile, here.profile, here.section_map)
        return self._workload.name, profile.name, section_map.name

    def axis(self, option: str, text: str) -> AskedAxis:
        return asked_axis(option, text, self._parameters, self._files)

    def check(self, axes: Sequence[AskedAxis]) -> None:
        """What can be said before anything is priced."""
        refuse_twice(axes, {})
        points = math.prod(len(a.axis.numbers) for a in axes if a.option == "--vary")
        if points > MOST_POINTS:
            raise InputError(
                f"{points:,} combinations are too many to analyse",
                where=Location("--vary"),
                expected=f"{MOST_POINTS:,} at most",
                hint="`/COUNT` behind a range takes so many values of it",
            )

    def points(self, axes: Sequence[AskedAxis], advance: Advance | None = None) -> list[SweptPoint]:
        """At all combinations; the last axis turns fastest."""
        # Prices once for each hardware: what the system itself says turns fastest here.
        ordered = sorted(axes, key=_of_system)
        every = list(itertools.product(*(range(len(one.axis.numbers)) for one in ordered)))
        found: dict[tuple[int, ...], SweptPoint] = {}
        for done, ks in enumerate(every):
            place = dict(zip((one.axis.name for one in ordered), ks, strict=True))
            numbers = tuple((one, one.axis.numbers[place[one.axis.name]]) for one in axes)
            found[tuple(place[one.axis.name] for one in axes)] = self.point(numbers)
            if advance is not None:
                advance(done + 1, len(every))
        return [found[key] for key in sorted(found)]

    def point(self, place: _Place) -> SweptPoint:
        """All responses with these numbers.

        Raises:
            InputError: they cannot be used, with the place and the numbers.
        """
        try:
            point = _analysed(self._system(place))
        except InputError as error:
            raise _located(error, place) from None
        return replace(point, numbers=tuple(number for _, number in place))

    def point_with(self, texts: Mapping[Steps, str]) -> SweptPoint:
        """All responses with numbers of the profile or of the system as a file would say them.

        Raises:
            InputError: they cannot be used.
        """
        return _analysed(self._with(texts, {}))

    def notes(self, axes: Sequence[AskedAxis] = ()) -> tuple[str, ...]:
        """At the first value of each axis."""
        return self._system(tuple((one, one.axis.numbers[0]) for one in axes)).notes()

    def dearer(self, share: Fraction) -> list[Dearer]:
        """Each number of the profile, and of the system, dearer by ``share``. Parameters that are
        cases are left out."""
        profile = self._files.profile
        of_system = self._files.system.dearer(share)
        cases = self._cases()
        return [
            *([] if profile is None else profile.dearer(share)),
            *(
                replace(one, after=None, why=_CASE)
                if one.steps[-2] == "set" and one.steps[-1] in cases
                else one
                for one in of_system
            ),
        ]

    def rises(self, asked: AskedAxis) -> bool:
        """No price falls from a value to the next cheaper one."""
        if asked.steps is None or _of_system(asked) or self._files.profile is None:
            return False
        profile = self._files.profile.with_values({})
        return all(
            rises(asked.steps, profile, self._characterizations.named(file))
            for file in dict.fromkeys(file for file, _ in _called(self._workload))
        )

    def _system(self, place: _Place) -> PricedSystem:
        texts = {a.steps: a.values.text(x) for a, x in place if a.steps is not None}
        return self._with(texts, {a.axis.name: int(x) for a, x in place if a.steps is None})

    def _with(self, texts: Mapping[Steps, str], values: Mapping[str, int]) -> PricedSystem:
        """``values``: of parameters that calls leave to the kernel."""
        of_system = {steps: text for steps, text in texts.items() if steps[0] in PARTS}
        of_profile = {steps: text for steps, text in texts.items() if steps[0] not in PARTS}
        workload = self._files.system.with_values(of_system)
        values = {**workload.kernel.values, **values}
        return PricedSystem(workload, self._prices(of_profile, values))

    def _prices(
        self, of_profile: Mapping[Steps, str], values: Mapping[str, int]
    ) -> CallPrices | None:
        if self._hardware is None:
            return None
        key = (*of_profile.items(), *sorted(values.items()))
        if key not in self._priced:
            here = replace(self._hardware, values=values, numbers=self._profile(of_profile))
            if len(self._priced) >= _KEPT:
                self._priced.pop(next(iter(self._priced)))
            self._priced[key] = CallPrices(here, self._characterizations)
        return self._priced[key]

    def _profile(self, values: Mapping[Steps, str]) -> HardwareProfile | None:
        return None if self._files.profile is None else self._files.profile.with_values(values)

    def _cases(self) -> frozenset[str]:
        """Parameters that are cases of all services called that have them."""
        kinds: dict[str, set[ParameterKind]] = {}
        for file, call in _called(self._workload):
            for service in self._characterizations.parts(file, call.service):
                for one in service.parameters:
                    kinds.setdefault(one.name, set()).add(one.kind)
        return frozenset(name for name, found in kinds.items() if found == {ParameterKind.CASE})

    def _common_parameters(self) -> frozenset[str]:
        """Parameters that a call leaves to the kernel's `set`, or that what goes on with it has."""
        found: set[str] = set()
        for file, call in _called(self._workload):
            characterization = self._characterizations.named(file)
            for service in self._characterizations.parts(file, call.service):
                found |= {p.name for p in service.parameters} - set(call.values)
                found |= followed_by(characterization, service, cached=True)
        return frozenset(found)


class _Solver:
    """Values go by their order from the dearest: ``k`` rises with what the machine saves, or with
    what is asked of it."""

    def __init__(self, opened: OpenedSystem, axes: Sequence[AskedAxis], asked: AskedAxis) -> None:
        self._opened, self._axes, self._asked = opened, axes, asked
        self.values: Sequence[Fraction] = asked.axis.numbers
        rules = SYSTEM_RULES if _of_system(asked) else PROFILE_RULES
        self.smallest = smaller_is_cheaper(asked.steps, rules)
        self.tried = 0

    def by_halving(self) -> list[SolvedSystem] | None:
        """``None``: slacks do not fall after all."""
        found = []
        for place in self._places():
            seen: dict[int, SweptPoint] = {}

            def point(
                k: int, seen: dict[int, SweptPoint] = seen, place: _Place = place
            ) -> SweptPoint:
                if k not in seen:
                    seen[k] = self._opened.point((*place, (self._asked, self._value(k))))
                    self.tried += 1
                return seen[k]

            def holds(k: int, point: Callable[[int], SweptPoint] = point) -> bool:
                return point(k).met

            best = last_that_holds(len(self.values), holds)
            if not _falling([seen[k] for k in sorted(seen)]):
                return None
            found.append(self._solved(place, best, point))
        return found

    def by_trying(self, advance: Advance | None) -> list[SolvedSystem]:
        """All values."""
        places = list(self._places())
        total = len(places) * len(self.values)
        if total > MOST_POINTS:
            raise InputError(
                f"{total:,} values are too many to try",
                where=Location("--solve"),
                expected=f"{MOST_POINTS:,} at most, of all combinations",
                hint="`/COUNT` behind a range takes so many values of it",
            )
        found = []
        for place in places:
            points = []
            for k in range(len(self.values)):
                points.append(self._opened.point((*place, (self._asked, self._value(k)))))
                self.tried += 1
                if advance is not None:
                    advance(self.tried, total)
            holding = [k for k, one in enumerate(points) if one.met]
            best = holding[-1] if holding else None
            solved = self._solved(place, best, points.__getitem__)
            failing = sorted(self._value(k) for k in range(best or 0) if not points[k].met)
            found.append(replace(solved, failing=tuple(failing)))
        return found

    def _value(self, k: int) -> Fraction:
        return self.values[len(self.values) - 1 - k if self.smallest else k]

    def _places(self) -> Iterator[_Place]:
        for numbers in itertools.product(*(one.axis.numbers for one in self._axes)):
            yield tuple(zip(self._axes, numbers, strict=True))

    def _solved(
        self, place: _Place, best: int | None, point: Callable[[int], SweptPoint]
    ) -> SolvedSystem:
        following = 0 if best is None else best + 1
        within = following < len(self.values)
        return SolvedSystem(
            tuple(number for _, number in place),
            None if best is None else self._value(best),
            None if best is None else point(best),
            self._value(following) if within else None,
            point(following) if within else None,
        )


def _falling(points: Sequence[SweptPoint]) -> bool:
    """Each response is as long as at the point before, or longer."""
    for before, after in itertools.pairwise(points):
        for one, other in zip(before.responses, after.responses, strict=True):
            if one.time is None and other.time is not None:
                return False
            if one.slack is not None and other.slack is not None and other.slack > one.slack:
                return False
    return True


def _changes(axes: Sequence[Axis], points: Sequence[SweptPoint]) -> Iterator[SlackChange]:
    at = {point.numbers: point for point in points}
    for place, axis in enumerate(axes):
        ends: dict[str, list[Fraction]] = {}
        for low, high in itertools.pairwise(axis.numbers):
            for numbers, before in at.items():
                if numbers[place] != low:
                    continue
                after = at[(*numbers[:place], high, *numbers[place + 1 :])]
                for one, other in zip(before.responses, after.responses, strict=True):
                    if one.slack is not None and other.slack is not None:
                        change = (other.slack - one.slack) / (high - low)
                        ends.setdefault(one.name, []).append(change)
        for name, found in ends.items():
            yield SlackChange(name, axis, min(found), max(found))


def _analysed(priced: PricedSystem) -> SweptPoint:
    analysis = analyse(priced.system())
    responses = (*analysis.interrupts, *analysis.tasks)
    return SweptPoint((), analysis.load, tuple(map(_swept, responses)), priced.word())


def _swept(one: Response) -> SweptResponse:
    return SweptResponse(one.name, one.deadline, one.time, one.dominant)


def _of_system(asked: AskedAxis) -> bool:
    return asked.steps is not None and asked.steps[0] in PARTS


def _called(workload: Workload) -> Iterator[tuple[str, Call]]:
    """All calls, with the characterization that each is of."""
    kernel = workload.kernel.characterization
    for one in (*workload.tasks, *workload.interrupts):
        if one.work.code is not None:
            yield one.work.code.characterization, one.work.code.call
        for call in calls_of(one):
            assert kernel is not None
            yield kernel, call
    for call in workload.kernel.deferred:
        assert kernel is not None
        yield kernel, call
    if isinstance(workload.kernel.switch, str) and kernel is not None:
        yield kernel, Call(workload.kernel.switch, {}, 1, workload.kernel.place)


def _located(error: InputError, place: _Place) -> InputError:
    """With the numbers that it is about."""
    at = ", ".join(f"{asked.axis.name} = {asked.values.text(number)}" for asked, number in place)
    for one in error.each:
        if one.where is None:
            one.where = Location(place[-1][0].option if place else "--vary")
        one.message = f"at {at}: {one.message}" if at else one.message
    return error
