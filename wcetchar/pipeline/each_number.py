"""Services with each number of a profile a share dearer, one at a time: what hangs on which price.

Each value is read as a file that says it, so it is checked as one, and the services are priced as
``wcetchar estimate`` prices them on that file, but for path models, which a sweep does not price
either. What is refused stands in the result with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from wcetchar import store
from wcetchar.errors import InputError, Location
from wcetchar.model.each_number import (
    Changed,
    NotPriced,
    ServiceEffect,
    ServicesEach,
    ServiceTimes,
    largest_first,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import HardwareProfile
from wcetchar.pipeline import estimate
from wcetchar.pipeline.all_paths import safe_notes
from wcetchar.pipeline.options import read_option
from wcetchar.pipeline.service_notes import owners, told
from wcetchar.pipeline.sweep_axes import Advance
from wcetchar.store.dearer import Dearer
from wcetchar.store.document_numbers import way_of
from wcetchar.store.profile_numbers import ProfileNumbers
from wcetchar.store.quantity import parse_percent


@dataclass(frozen=True)
class Request:
    """``values``: parameters, before those of the map. ``services``: none means all."""

    characterization: str
    profile: str
    section_map: str | None
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)


def parse_share(text: str) -> Fraction:
    """``10%`` -> 1/10.

    Raises:
        InputError: it is no percentage, or as much as the whole number.
    """
    share = read_option("--each", parse_percent, text)
    if share >= 1:
        raise InputError(
            f"{text} less of a clock leaves nothing of it",
            where=Location("--each"),
            expected="a share below 100 %, such as 10%",
        )
    return share


def run(request: Request, share: Fraction, advance: Advance | None = None) -> ServicesEach:
    """Each selected service with each number of the profile dearer by ``share``.

    Raises:
        InputError: a file, a name or a value cannot be used, with its place.
    """
    priced = _Priced(request)
    numbers = ProfileNumbers(request.profile)
    dearer = numbers.dearer(share)
    profile = numbers.with_values({})
    estimates = priced.on(profile)
    before = {one.service: _times(one) for one in estimates}
    effects: dict[str, list[ServiceEffect]] = {service: [] for service in before}
    not_priced: list[NotPriced] = []
    for done, one in enumerate(dearer):
        if one.after is None:
            not_priced.append(left_out(one))
        else:
            number = changed(one)
            try:
                found = priced.on_each(numbers.with_values({one.steps: one.after}))
            except InputError as error:
                found = dict.fromkeys(before, error)  # a mistake for all of them
            mistakes = []
            for service, after in found.items():
                if isinstance(after, InputError):
                    mistakes.append(refused(one, after, service))
                else:
                    effects[service].append(ServiceEffect(number, before[service], after))
            if len(mistakes) == len(before) and len({each.why for each in mistakes}) == 1:
                mistakes = [replace(mistakes[0], of="")]
            not_priced += mistakes
        if advance is not None:
            advance(done + 1, len(dearer))
    return ServicesEach(
        profile.name,
        estimate.map_of(profile, request.profile, request.section_map).name,
        share,
        tuple(before.values()),
        tuple(one for each in effects.values() for one in largest_first(each)),
        tuple(not_priced),
        priced.notes(estimates),
    )


def changed(one: Dearer) -> Changed:
    assert one.after is not None
    return Changed(way_of(one.steps), one.before, one.after, one.change)


def left_out(one: Dearer) -> NotPriced:
    return NotPriced(way_of(one.steps), one.before, None, "", one.why)


def refused(one: Dearer, error: InputError, of: str = "") -> NotPriced:
    """With what the error says; its places are those of a file that says another value."""
    said = dict.fromkeys(
        each.message + (f" (expected: {each.expected})" if each.expected else "")
        for each in error.each
    )
    return NotPriced(way_of(one.steps), one.before, one.after, one.change, "; ".join(said), of)


class _Priced:
    """Services at one set of values, on one profile after the other."""

    def __init__(self, request: Request) -> None:
        self._characterization = store.load_characterization(request.characterization)
        self._asked = estimate.Request.on_one(
            request.characterization,
            request.profile,
            request.section_map,
            request.services,
            request.values,
        )
        prepared = estimate.prepare(self._asked, self._characterization)
        self._services = [service.name for service, _, _ in prepared.chosen]

    def notes(self, estimates: Sequence[Estimate]) -> tuple[str, ...]:
        """Those that all share, and those of single ones by name."""
        every = len(estimates)
        own = [
            told(note, of, every)
            for note, of in sorted(
                owners(estimates).items(), key=lambda item: len(item[1]) == every
            )
        ]
        return (*own, *(note for one in estimates for note in safe_notes(one)))

    def on(self, profile: HardwareProfile) -> list[Estimate]:
        """All services.

        Raises:
            InputError: one cannot be priced.
        """
        opened = estimate.Opened(self._asked, self._characterization, profile)
        return [one for service in self._services for one in opened.at(service, {})]

    def on_each(self, profile: HardwareProfile) -> Mapping[str, ServiceTimes | InputError]:
        """By service; why one cannot be priced."""
        try:
            return {one.service: _times(one) for one in self.on(profile)}
        except InputError:
            return {service: self._alone(service, profile) for service in self._services}

    def _alone(self, service: str, profile: HardwareProfile) -> ServiceTimes | InputError:
        asked = replace(self._asked, services=(service,))
        try:
            opened = estimate.Opened(asked, self._characterization, profile)
            (one,) = opened.at(service, {})
        except InputError as error:
            return error
        return _times(one)


def _times(one: Estimate) -> ServiceTimes:
    return ServiceTimes(
        one.service,
        one.safe_time,
        one.safe_interrupts,
        one.safe_preemption,
        one.safe_word,
    )
