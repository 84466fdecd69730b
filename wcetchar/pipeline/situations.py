"""What measurements of a label were made in: the caches before each call, and with or without
refresh and other masters. Each situation has prices of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from wcetchar.engine import Following, price_vector
from wcetchar.errors import InputError, Location, did_you_mean, several
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.section_map import CacheState
from wcetchar.pipeline import estimate as estimating

INSTRUCTION_CACHE = "--instruction-cache"
DATA_CACHE = "--data-cache"
UNDISTURBED = "--undisturbed"


@dataclass(frozen=True)
class Situations:
    """By label of the measurements. What is not said of a label is as the section map says.

    Attributes:
        instruction_cache, data_cache: the state when a call begins.
        undisturbed: labels of measurements in which no memory refreshed itself and no other master
            had one.
    """

    instruction_cache: Mapping[str, CacheState] = field(default_factory=dict)
    data_cache: Mapping[str, CacheState] = field(default_factory=dict)
    undisturbed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.instruction_cache or self.data_cache or self.undisturbed)

    def check(self, profile: HardwareProfile, labels: Iterable[str]) -> None:
        """Raises:
        InputError: a label that no measurement has, the state of a cache that the profile does not
            describe, or measurements without what the profile does not have anyway.
        """
        known = set(labels)
        mistakes = []
        for option, named in (
            (INSTRUCTION_CACHE, self.instruction_cache.keys()),
            (DATA_CACHE, self.data_cache.keys()),
            (UNDISTURBED, self.undisturbed),
        ):
            mistakes += [_unknown(option, label, known) for label in sorted(set(named) - known)]
        core = profile.core
        for option, given, has in (
            (INSTRUCTION_CACHE, self.instruction_cache, core.instruction_cache),
            (DATA_CACHE, self.data_cache, core.data_cache),
        ):
            if given and has is None:
                mistakes.append(_no_cache(option, profile))
        if self.undisturbed and not any(r.interferences for r in profile.regions.values()):
            mistakes.append(
                InputError(
                    f"profile {profile.name} has neither refresh nor arbitration to be without",
                    where=Location(UNDISTURBED),
                    expected="a region with one, such as `refresh: {every: 512 cycles, takes: "
                    "1..20 cycles}`",
                )
            )
        if mistakes:
            raise several(mistakes)


def _unknown(option: str, label: str, known: set[str]) -> InputError:
    named = ", ".join(sorted(one for one in known if one))
    return InputError(
        f"no measurement has the label {label!r}",
        where=Location(option),
        expected=f"one of {named}" if named else "a column `label` in the measurements",
        hint=did_you_mean(label, known),
    )


def _no_cache(option: str, profile: HardwareProfile) -> InputError:
    name = option.removeprefix("--").replace("-", " ")
    price = "line refill" if option == INSTRUCTION_CACHE else "load miss penalty"
    return InputError(
        f"profile {profile.name} has no {name}, so nothing follows from its state",
        where=Location(option),
        expected=f"its geometry under `core`, `{name}: {{line: 32, size: 4 KiB, ways: 1}}`, and "
        f" `{price}` in the regions that it holds something of",
        hint="geometry is not found from times: take it from the core's manual",
    )


class Platforms:
    """A platform in each of its situations, each priced once."""

    def __init__(
        self,
        characterization: Characterization,
        services: Iterable[str],
        request: estimating.Request,
        plain: estimating.Platform,
        situations: Situations,
    ) -> None:
        self._characterization, self._services = characterization, list(services)
        self._request, self._plain, self._situations = request, plain, situations
        own = (plain.section_map.instruction_cache, plain.section_map.data_cache, False)
        self._known: dict[tuple[CacheState, CacheState, bool], estimating.Platform] = {own: plain}

    def of(self, label: str) -> estimating.Platform:
        """Raises:
        InputError: the platform cannot be priced in this situation.
        """
        plain, said = self._plain, self._situations
        instructions = said.instruction_cache.get(label, plain.section_map.instruction_cache)
        data = said.data_cache.get(label, plain.section_map.data_cache)
        key = instructions, data, label in said.undisturbed
        if key not in self._known:
            self._known[key] = self._priced(*key)
        return self._known[key]

    def _priced(
        self, instructions: CacheState, data: CacheState, undisturbed: bool
    ) -> estimating.Platform:
        plain = self._plain
        section_map = replace(plain.section_map, instruction_cache=instructions, data_cache=data)
        profile = plain.prices.profile
        if undisturbed:
            profile = without_interference(profile)
        try:
            prices = price_vector(self._characterization, profile, section_map, self._services)
        except InputError as error:
            files = plain.profile_file, plain.map_file
            raise estimating.located(error, *files, self._request, None) from None
        following = Following(self._characterization, prices, section_map.parameters)
        return replace(
            plain, section_map=section_map, prices=prices, following=following, path_prices=None
        )


def without_interference(profile: HardwareProfile) -> HardwareProfile:
    """The same hardware while no memory refreshes itself and no other master asks."""
    regions = {
        name: replace(region, refresh=None, arbitration=None)
        for name, region in profile.regions.items()
    }
    return replace(profile, regions=regions)
