"""What switching takes of a processor: times of a switch, given or priced, and rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from wcetchar import store
from wcetchar.engine.switching import load
from wcetchar.errors import UsageError
from wcetchar.model.characterization import Word
from wcetchar.model.estimate import Estimate
from wcetchar.model.service import whole_of
from wcetchar.model.switching import Load, LossModel, WorkingSet
from wcetchar.pipeline import estimate
from wcetchar.pipeline.all_paths import safe_notes
from wcetchar.pipeline.options import read_option

SWITCH = "context_switch"
"""The activity of a kernel's characterization that switches."""


@dataclass(frozen=True)
class Request:
    """What to find the load of.

    Attributes:
        switches: times of a switch in nanoseconds, as text of a quantity.
        rates: switches in a second.
        characterization, profiles, maps, service, values: where a switch is priced instead, or
            beside; as of ``estimate``.
        working_set: ``FILE:NAME`` of what comes back into caches behind each switch.
    """

    rates: tuple[Fraction, ...]
    switches: tuple[str, ...] = ()
    characterization: str | None = None
    profiles: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    service: str = SWITCH
    values: Mapping[str, int] = field(default_factory=dict)
    working_set: str | None = None
    model: LossModel = LossModel.FLOOD


@dataclass(frozen=True)
class Overhead:
    """One switch at one rate. ``switch``: whose it is; ``word``: ``None`` where its time was
    given, and not a figure of ours."""

    switch: str
    load: Load
    word: Word | None


@dataclass(frozen=True)
class Result:
    overheads: tuple[Overhead, ...]
    working_set: WorkingSet | None
    model: LossModel
    notes: tuple[str, ...]


def run(request: Request) -> Result:
    """Each switch at each rate, switch by switch.

    A switch that is priced takes what holds over all paths, where its path model says that.

    Raises:
        UsageError: nothing says how long a switch takes.
        InputError: as of ``estimate``; what is given is no time; there is no such working set.
    """
    if not request.switches and request.characterization is None:
        raise UsageError(
            "nothing says how long a switch takes",
            expected="--switch TIME, or a characterization with --profile",
        )
    if request.characterization is None and (request.profiles or request.maps):
        raise UsageError(
            "a profile prices a characterization, and there is none",
            expected="CHARACTERIZATION --profile NAME, or --switch TIME alone",
        )
    working_set = None
    if request.working_set is not None:
        working_set = read_option("--working-set", store.load_working_set, request.working_set)
    switches: list[tuple[str, Fraction, Word | None]] = [
        ("given", read_option("--switch", store.parse_time, text), None)
        for text in request.switches
    ]
    notes: list[str] = []
    if request.characterization is not None:
        asked = estimate.Request(
            request.characterization,
            request.profiles,
            request.maps,
            (request.service,),
            request.values,
        )
        found = estimate.run(asked)
        switches += _priced(found)
        notes += (note for one in found for note in (*one.notes, *safe_notes(one)))
    return Result(
        tuple(
            Overhead(name, load(rate, time, working_set, request.model), word)
            for name, time, word in switches
            for rate in request.rates
        ),
        working_set,
        request.model,
        tuple(dict.fromkeys(notes)),
    )


def _priced(found: Sequence[Estimate]) -> list[tuple[str, Fraction, Word | None]]:
    """Each on each hardware; of a service in parts all, and then their sum, which is what it takes
    of the processor."""
    priced: list[tuple[str, Fraction, Word | None]] = [
        (f"{one.service} on {one.profile}", one.safe_time, one.safe_word) for one in found
    ]
    hardware: dict[tuple[str, str], dict[str, Estimate]] = {}
    for one in found:
        hardware.setdefault((one.profile, one.section_map), {})[one.service] = one
    for (profile, _), parts in hardware.items():
        if len(parts) > 1:
            time = sum((one.safe_time for one in parts.values()), start=Fraction(0))
            words = [one.safe_word for one in parts.values()]
            whole = f"{whole_of(next(iter(parts)))}, one of each part, on {profile}"
            priced.append((whole, time, words[0].weakest(*words[1:])))
    return priced
