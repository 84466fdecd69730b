"""Exact replay of a vendor's own traces through the caches of a profile, beside what models say."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from wcetchar import isa, store
from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.cache_lines import CodeLines, DataLines, LineSequence
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.cut_trace import CutTrace
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.published_lines import Places
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.engine.cache_models import CacheModels, cache_models
from wcetchar.engine.caches import fitting, replay, replay_loads
from wcetchar.engine.counts import check_values
from wcetchar.errors import InputError, Location, several
from wcetchar.image import load_image
from wcetchar.model.characterization import (
    Characterization,
    SectionInfo,
    ServiceCharacterization,
)
from wcetchar.model.image import Image
from wcetchar.model.replayed import CacheKind, Loads, Replay, Replayed, ReplayedRow
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Parameter
from wcetchar.pipeline import estimate as estimating
from wcetchar.pipeline.runs import run_values
from wcetchar.readers import open_trace

_KEPT = 1 << 16
"""Sequences whose replay is remembered: many windows use the same lines."""


@dataclass(frozen=True)
class Request:
    """What to replay through what.

    Attributes:
        section_map: ``None``: the profile's own.
        traces: of the ELF file that was characterized, each of any format that a reader knows.
        services_files: those that it was characterized with.
        services: only these; empty means all.
        values, runs, format, machine: as of ``wcetchar characterize``.
    """

    characterization: str
    profile: str
    section_map: str | None
    traces: tuple[str, ...]
    elf: str
    services_files: tuple[str, ...]
    services: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    runs: str | None = None
    format: str | None = None
    machine: str | None = None


def run(request: Request, progress: Callable[[int], None] | None = None) -> Replayed:
    """Replays every window of the chosen services, and asks the models.

    Raises:
        InputError: a file that cannot be used; files that do not belong together; a profile without
            caches; no window of any of the services.
    """
    characterization = store.load_characterization(request.characterization)
    asked = estimating.Request(
        request.characterization, (request.profile,), services=request.services
    )
    chosen = estimating.chosen_services(asked, characterization)
    platform = estimating.platform_of(
        asked, characterization, chosen, request.profile, request.section_map
    )
    profile, section_map = platform.prices.profile, platform.section_map
    models = cache_models(characterization, profile, section_map, chosen)
    if not models:
        raise InputError(
            f"profile {profile.name} has no cache that holds anything of this kernel",
            where=store.locate(request.profile, "core"),
            expected="an instruction cache and a region with `line refill`, or a data cache and a "
            "region with `load miss penalty`",
        )
    services = store.load_services(*request.services_files)
    runs = store.load_runs(request.runs) if request.runs is not None else None
    values = run_values(request.traces, services, request.values, runs)
    image = load_image(request.elf)
    resolved = resolve(services, image, isa.decode_image(image))
    _check_same(request, characterization, image, resolved)
    moved = _moved(characterization, section_map)
    found = _Found(chosen, [_Replayer(one, resolved, moved) for one in models])
    data = [one.geometry.line for one in models if one.kind is CacheKind.DATA]
    for path, of_run in zip(request.traces, values, strict=True):
        trace = open_trace(path, image=image, machine=request.machine, format=request.format)
        cut = CutTrace(trace, resolved, of_run)
        labeller = Labeller(resolved, path, data_lines=data)
        before = found.instructions
        for window in cut.windows():
            found.add(window, labeller)
            if progress is not None:
                progress(before + cut.finder.traced)
        found.instructions = before + cut.finder.traced
    if not found.most:
        raise InputError(
            "no trace shows a window of any of these services",
            where=Location(request.traces[0]),
            expected="a run of the firmware that calls them",
        )
    return Replayed(
        profile=profile.name,
        section_map=section_map.name,
        rows=tuple(_rows(request, found, models)),
        caches={one.kind: one.geometry for one in models},
        left_out=found.left_out,
        notes=tuple(_notes(models, moved, found, section_map, characterization.sections)),
    )


def _check_same(
    request: Request, characterization: Characterization, image: Image, resolved: Resolved
) -> None:
    """The files are those that were characterized.

    Raises:
        InputError: they are others.
    """
    known = characterization.provenance.image_sha256
    if known not in (None, image.sha256):
        raise InputError(
            f"the characterization was made of image {known}, but {image.path} is {image.sha256}",
            where=Location(request.elf),
            expected="the ELF file that was characterized: replay compares the same code",
            hint="characterize this one anew, or give the one that was",
        )
    begins = Places(resolved).begins
    own = {service.name: service for service in resolved.services.services}
    mistakes = [
        InputError(
            f"section {section.name} began at 0x{section.address:x} when it was characterized, and "
            + (
                f"by these services files begins at 0x{begins[section.name]:x}"
                if section.name in begins
                else "is none of these services files"
            ),
            where=Location(request.services_files[0]),
            expected="the services files that the kernel was characterized with",
        )
        for section in characterization.sections
        if section.address is not None and begins.get(section.name) != section.address
    ]
    for service in characterization.services:
        name = next((n for n in own if service.part.of(n) == service.name), None)
        if name is not None and _ranges(own[name].parameters) != _ranges(service.parameters):
            mistakes.append(
                InputError(
                    f"{service.name} has other parameters than where it was characterized",
                    where=resolved.services.where("services", name),
                    expected=f"{', '.join(p.name for p in service.parameters) or 'none'}, with the "
                    "same ranges",
                )
            )
    if mistakes:
        raise several(mistakes[:20])


def _ranges(parameters: Iterable[Parameter]) -> list[tuple[str, int, int]]:
    return [(p.name, p.minimum, p.maximum) for p in parameters]


def _moved(characterization: Characterization, section_map: SectionMap) -> dict[str, int]:
    """By how many bytes sections lie elsewhere now, of those of which the map says where."""
    return {
        section.name: section_map.addresses[section.name] - section.address
        for section in characterization.sections
        if section.address is not None and section.name in section_map.addresses
    }


class _Replayer:
    """Replays windows through one cache."""

    def __init__(self, models: CacheModels, resolved: Resolved, moved: Mapping[str, int]) -> None:
        self.kind, self._geometry = models.kind, models.geometry
        cached = [name for name in resolved.section_names if name in models.price]
        size = models.geometry.line
        self._price = [models.price.get(name, Fraction(0)) for name in resolved.section_names]
        self._code = self._data = None
        if self.kind is CacheKind.INSTRUCTIONS:
            self._code = CodeLines(resolved, size, moved, cached)
        else:
            self._data = DataLines(resolved, size, moved, cached)
        self._known: dict[bytes, Replay] = {}

    def of(self, labelled: Labelled) -> tuple[Replay, Replay | None]:
        """Without and with what is fetched in vain."""
        if self._code is not None:
            executed, in_vain = (
                self._replayed(self._code.of(labelled, in_vain=one)) for one in (False, True)
            )
            return executed, in_vain
        assert self._data is not None
        assert labelled.data is not None
        return self._replayed(self._data.of(labelled.data)), None

    def _replayed(self, sequence: LineSequence) -> Replay:
        columns = (sequence.line, sequence.section, sequence.stores, np.array(sequence.emptied))
        key = hashlib.blake2b(digest_size=16)
        for column in columns:
            key.update(len(column).to_bytes(8, "little") + column.tobytes())
        known = self._known.get(key.digest())
        if known is None:
            loaded = sequence.line[~sequence.stores]
            before = fitting(self._geometry, np.unique(loaded).tolist())
            known = Replay(self._loads(sequence, []), self._loads(sequence, before))
            if len(self._known) < _KEPT:
                self._known[key.digest()] = known
        return known

    def _loads(self, sequence: LineSequence, before: list[int]) -> Loads:
        """``before``: lines that are there."""
        lines = np.concatenate((np.array(before, dtype=np.int64), sequence.line))
        emptied = [at + len(before) for at in sequence.emptied]
        if self.kind is CacheKind.INSTRUCTIONS:
            return self._priced(sequence, replay(self._geometry, lines, emptied)[len(before) :])
        stores = np.concatenate((np.zeros(len(before), dtype=bool), sequence.stores))
        found = Loads()
        # Whether a store counts as a use is open; with one way it does not matter.
        for stores_use in (True, False)[: self._geometry.ways]:
            missed = replay_loads(self._geometry, lines, stores, emptied, stores_use=stores_use)
            found = found.most(self._priced(sequence, missed[len(before) :]))
        return found

    def _priced(self, sequence: LineSequence, missed: npt.NDArray[np.bool_]) -> Loads:
        each = Counter(sequence.section[missed].tolist())
        time = (self._price[section] * number for section, number in each.items())
        return Loads(each.total(), sum(time, start=Fraction(0)))


_Key = tuple[CacheKind, str, tuple[int, ...]]


@dataclass
class _Most:
    executed: Replay
    in_vain: Replay | None
    windows: int = 1


@dataclass
class _Found:
    """The most of all windows, by cache, service and values; ``words``: hardware read some by
    itself."""

    services: list[ServiceCharacterization]
    replayers: list[_Replayer]
    most: dict[_Key, _Most] = field(default_factory=dict)
    left_out: int = 0
    words: bool = False
    instructions: int = 0

    def __post_init__(self) -> None:
        self._names = {service.name for service in self.services}

    def add(self, window: Window, labeller: Labeller) -> None:
        if window.name not in self._names:
            self.left_out += 1
            return
        labelled = labeller.label(window)
        self.words |= labelled.data is not None and any(n for _, n, _ in labelled.data.words)
        for replayer in self.replayers:
            executed, in_vain = replayer.of(labelled)
            key = replayer.kind, window.name, window.values
            most = self.most.get(key)
            if most is None:
                self.most[key] = _Most(executed, in_vain)
                continue
            most.windows += 1
            most.executed = most.executed.most(executed)
            if most.in_vain is not None and in_vain is not None:
                most.in_vain = most.in_vain.most(in_vain)


def _rows(
    request: Request, found: _Found, models: tuple[CacheModels, ...]
) -> Iterator[ReplayedRow]:
    services = {service.name: service for service in found.services}
    order = {name: number for number, name in enumerate(services)}
    says = {one.kind: one.says for one in models}
    for key, most in sorted(found.most.items(), key=lambda one: (one[0][0], order[one[0][1]], one)):
        kind, name, values = key
        service = services[name]
        parameters = {p.name: v for p, v in zip(service.parameters, values, strict=True)}
        try:
            check_values(service, parameters)
            said = {state: of(service, values) for state, of in says[kind].items()}
        except InputError as error:
            for one in error.each:
                one.where = one.where or Location(request.characterization)
            raise
        yield ReplayedRow(kind, name, parameters, most.windows, most.executed, most.in_vain, said)


def _notes(
    models: tuple[CacheModels, ...],
    moved: Mapping[str, int],
    found: _Found,
    section_map: SectionMap,
    sections: Iterable[SectionInfo],
) -> Iterator[str]:
    for one in models:
        for state, why in one.unpriced.items():
            yield f"{one.kind.value}, {state.value}: not compared, for {why}"
        own = (
            section_map.instruction_cache
            if one.kind is CacheKind.INSTRUCTIONS
            else section_map.data_cache
        )
        yield f"the section map says of the {one.kind.value}: {own.value}"
    elsewhere = [f"{name} by {by:+#x}" for name, by in sorted(moved.items()) if by]
    if elsewhere:
        yield f"addresses of the trace were moved to where the map says: {', '.join(elsewhere)}"
    cached = {section for one in models for section in one.price}
    if any(s.name in cached and s.name not in moved for s in sections if s.address is not None):
        yield (
            "sections of which the map does not say where they lie are replayed where they lie in "
            "the ELF file: one place of all that a model holds for"
        )
    if any(one.kind is CacheKind.INSTRUCTIONS for one in models):
        yield (
            "replay of executed instructions is the floor; a core may also load lines that it "
            "fetches in vain, and fetches of no known code are in neither"
        )
    if found.words:
        yield (
            "what hardware reads by itself (exception frames, vectors) has no address in a trace: "
            "the models count it, the replay does not"
        )
    yield (
        "each window is replayed by itself: interrupts and other threads are activities of their "
        "own; where the models count with what a handler or another thread leaves, the replay goes "
        "on with an empty cache"
    )
    yield "times are lines at their full price: stalls that a refill hides are not counted off"
    shown = {name for _, name, _ in found.most}
    missing = [service.name for service in found.services if service.name not in shown]
    if missing:
        yield f"no trace shows {', '.join(missing)}"
    if found.left_out:
        yield f"{found.left_out} windows of other services were left out"
