"""Calls of services, each at values of its own, on one hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wcetchar import store
from wcetchar.engine import PricingError
from wcetchar.errors import InputError, several
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.service import ServiceKind, whole_of
from wcetchar.model.workload import Call
from wcetchar.pipeline import estimate


@dataclass(frozen=True)
class Hardware:
    """``section_map``: ``None``: the profile's own. ``values``: of parameters, where a call does
    not say them. ``numbers``: the profile with other numbers than its file has; ``None``: as it
    is."""

    profile: str
    section_map: str | None
    values: Mapping[str, int]
    numbers: HardwareProfile | None = None


class Characterizations:
    """Files that many calls refer to, each read once."""

    def __init__(self) -> None:
        self._read: dict[str, Characterization] = {}
        self._parts: dict[str, dict[str, list[ServiceCharacterization]]] = {}

    def named(self, name_or_path: str) -> Characterization:
        """Raises:
        InputError: as of ``store.load_characterization``.
        """
        if name_or_path not in self._read:
            self._read[name_or_path] = store.load_characterization(name_or_path)
        return self._read[name_or_path]

    def parts(self, characterization: str, service: str) -> list[ServiceCharacterization]:
        """All parts of a service, or the one part that is named; empty: there is no such
        service."""
        if characterization not in self._parts:
            parts = self._parts[characterization] = {}
            for one in self.named(characterization).services:
                for name in dict.fromkeys((one.name, whole_of(one.name))):
                    parts.setdefault(name, []).append(one)
        return self._parts[characterization].get(service, [])


class CallPrices:
    """Prices of calls on one hardware, each found once."""

    def __init__(self, hardware: Hardware, files: Characterizations) -> None:
        self._hardware = hardware
        self._files = files
        self._opened: dict[tuple[str, tuple[str, ...]], estimate.Opened] = {}
        self._known: dict[tuple[str, str, tuple[tuple[str, int], ...]], tuple[Estimate, ...]] = {}

    def of(self, characterization: str, calls: Sequence[Call]) -> list[tuple[Estimate, ...]]:
        """Estimates of each call, of a service in two parts both.

        Raises:
            InputError: a file cannot be used, with its place; a call names a service or parameter
                that is not there, lacks a value or has one out of range, at the call's place. All
                calls' mistakes at once as ``InputErrors``.
        """
        services = tuple(dict.fromkeys(call.service for call in calls))
        opened = self._open(characterization, services)
        mistakes: list[InputError] = []
        found = []
        for call in calls:
            key = characterization, call.service, tuple(sorted(call.values.items()))
            try:
                if key not in self._known:
                    self._known[key] = opened.at(call.service, call.values)
                found.append(self._known[key])
            except InputError as error:
                mistakes += [_at_call(call, one) for one in error.each]
        if mistakes:
            raise several(mistakes)
        return found

    def parts(self, characterization: str, service: str) -> list[ServiceCharacterization]:
        """As of ``Characterizations``."""
        return self._files.parts(characterization, service)

    def has_handler(self, characterization: str, name: str) -> bool:
        """Whether there is a handler whose name begins so."""
        return any(
            one.kind is ServiceKind.HANDLER and one.name.startswith(name)
            for one in self._files.named(characterization).services
        )

    @property
    def caches(self) -> bool:
        """Whether the hardware that anything was priced on has any."""
        cores = [opened.profile.core for opened in self._opened.values()]
        return any(core.instruction_cache or core.data_cache for core in cores)

    def _open(self, characterization: str, services: tuple[str, ...]) -> estimate.Opened:
        key = characterization, services
        if key not in self._opened:
            here = self._hardware
            self._opened[key] = estimate.Opened(
                estimate.Request.on_one(
                    characterization, here.profile, here.section_map, services, here.values
                ),
                self._files.named(characterization),
                here.numbers,
            )
        return self._opened[key]


def _at_call(call: Call, error: InputError) -> InputError:
    """A mistake of what the call says is the call's; any other one stays where it is."""
    hint = error.hint
    of_options = error.where is None or error.where.file.startswith("--")
    of_options |= hint is not None and "--set" in hint
    if not of_options and not isinstance(error, PricingError):
        return error
    if hint is not None and "--set" in hint:
        hint = "values stand under `set:` of the call, or of the kernel"
    return InputError(error.message, where=call.place, expected=error.expected, hint=hint)
