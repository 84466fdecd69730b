"""Traced invocations of services, priced instruction by instruction, for viewers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from wcetchar import __version__, isa, store
from wcetchar.analysis.characterize import heading
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.invocations import Invocations
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.engine.errors import PricingError
from wcetchar.engine.estimate import estimate_at
from wcetchar.engine.instructions import dearest, priced_invocation
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import price_vector
from wcetchar.errors import InputError, Location, did_you_mean
from wcetchar.image import load_image
from wcetchar.model.characterization import Word
from wcetchar.model.invocation import Exported, Invocation, PricedInvocation
from wcetchar.model.service import PARTS, ServicesFile
from wcetchar.pipeline import estimate as estimating
from wcetchar.pipeline.runs import Chosen, divided, run_values
from wcetchar.readers import open_trace

_SEEN = 1000
"""Values of parameters that are told at most where none was asked for."""


@dataclass(frozen=True)
class Request:
    """What to show.

    Attributes:
        section_map: ``None``: the profile's own.
        traces, services_files, runs, format, machine, successions, data_lines: as of ``wcetchar
            characterize``.
        services: only these; of one that another thread cuts, all parts. Empty means all.
        values: assignments. One to a parameter that the firmware does not mark is its value, as of
            ``wcetchar characterize``; without a run it also chooses the invocations with it.
        each: all invocations, instead of the dearest of each service.
    """

    firmware: str
    traces: tuple[str, ...]
    services_files: tuple[str, ...]
    profile: str
    section_map: str | None = None
    services: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    runs: str | None = None
    format: str | None = None
    machine: str | None = None
    successions: bool = False
    data_lines: tuple[int, ...] = ()
    each: bool = False


def run(request: Request, progress: Callable[[int], None] | None = None) -> Exported:
    """Prices the invocations that are asked for.

    Raises:
        InputError: a file, a name or a value that cannot be used; no trace shows such an
            invocation; what is asked for is too long to be shown.
        UsageError: assignments that make no sense; a profile without a map.
        CheckFailed: the instructions of an invocation do not add up to its price.
    """
    services = store.load_services(*request.services_files)
    runs = store.load_runs(request.runs) if request.runs is not None else None
    traces = request.traces or (tuple(runs.runs) if runs is not None else ())
    given, chosen = divided(request.values, traces, services)
    of_runs = run_values(traces, services, given, runs)
    wanted = _Wanted(_named(request.services, services), chosen)
    profile = store.load_profile(request.profile)
    section_map = estimating.map_of(profile, request.profile, request.section_map)
    image = load_image(request.firmware)
    resolved = resolve(services, image, isa.decode_image(image))
    found = Invocations(
        resolved,
        wanted,
        each=request.each,
        successions=request.successions,
        data_lines=request.data_lines,
    )
    for path, of_run in zip(traces, of_runs, strict=True):
        trace = open_trace(path, image=image, machine=request.machine, format=request.format)
        found.add(trace, of_run, progress)
    invocations = [*found.finished()]
    wanted.check(traces)
    characterization = replace(
        heading(
            resolved,
            tool=f"wcetchar {__version__}",
            successions=request.successions,
            data_lines=request.data_lines,
        ),
        services=tuple(one.counted for one in invocations),
        assumptions=services.assumptions,
    )
    try:
        prices = price_vector(characterization, profile, section_map)
    except InputError as error:
        for one in error.each:
            if not isinstance(one, PricingError):
                one.where = one.where or Location(request.firmware)
        asked = estimating.Request(request.firmware, (request.profile,))
        raise estimating.located(error, request.profile, request.section_map, asked, None) from None
    every = (_priced(one, prices) for one in invocations)
    # One of several is no largest.
    priced = (
        tuple(replace(one, word=Word.ESTIMATE) for one in every) if request.each else dearest(every)
    )
    return Exported(
        object=PurePath(request.firmware).name,
        profile=profile.name,
        section_map=section_map.name,
        invocations=priced,
        lines=_lines(resolved, (one.traced for one in priced)),
        notes=prices.notes,
    )


def _priced(one: Invocation, prices: PriceVector) -> PricedInvocation:
    return priced_invocation(one, estimate_at(one.counted, prices, one.values))


@dataclass
class _Wanted:
    """Which windows are asked for, and what was seen of them.

    ``names``: of services or of their parts. ``seen``: values of what was not chosen, by service
    and names of its parameters.
    """

    names: Sequence[str]
    chosen: Sequence[Chosen]
    found: set[str] = field(default_factory=set)
    seen: dict[tuple[str, tuple[str, ...]], set[tuple[int, ...]]] = field(
        default_factory=lambda: defaultdict(set)
    )

    def __call__(self, window: Window) -> bool:
        mine = {window.name, window.service.name}.intersection(self.names)
        if self.names and not mine:
            return False
        service = window.service
        if not all(one.chooses(service, window.values) for one in self.chosen):
            values = self.seen[service.name, tuple(p.name for p in service.parameters)]
            if service.parameters and len(values) < _SEEN:
                values.add(window.values)
            return False
        self.found |= mine or {service.name}
        return True

    def check(self, traces: Sequence[str]) -> None:
        """Raises:
        InputError: nothing was found of one that is named, or nothing at all.
        """
        missing = [name for name in self.names if name not in self.found]
        if not missing and self.found:
            return
        values = [
            f"{service} with {_together(names)}: " + ", ".join(map(_together, sorted(seen)[:20]))
            for (service, names), seen in sorted((k, v) for k, v in self.seen.items() if v)[:5]
        ]
        raise InputError(
            "no trace shows an invocation of "
            + (", ".join(missing) or "any service")
            + (" with these values" if self.chosen else ""),
            where=Location(traces[0]) if traces else None,
            expected="a run of the firmware that calls it between its marks",
            hint="seen were " + "; ".join(values) if values else None,
        )


def _named(names: Sequence[str], services: ServicesFile) -> tuple[str, ...]:
    """Raises:
    InputError: a name that no service has.
    """
    known = {s.name: None for s in services.services}
    known |= {part.of(s.name): None for s in services.services for part in PARTS[s.kind]}
    for name in names:
        if name not in known:
            raise InputError(
                f"the services files have no service {name}",
                where=Location("--service"),
                hint=did_you_mean(name, known),
            )
    return tuple(dict.fromkeys(names))


def _together(words: Sequence[object]) -> str:
    return str(words[0]) if len(words) == 1 else f"({', '.join(map(str, words))})"


def _lines(resolved: Resolved, shown: Iterable[Invocation]) -> Mapping[int, tuple[str, int]]:
    """File and line of what was executed, where they are known: those of the code itself, where it
    was inlined."""
    found = {}
    for address in sorted({a for one in shown for a in one.address.tolist()}):
        line = resolved.image.line_at(address)
        if line is not None:
            found[address] = (line.file, line.line)
    return found
