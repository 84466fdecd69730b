"""Worst paths of services: a characterization with path models, a profile and a map in, views out.

Three figures of each service stand beside one another: the high-water mark (the published counts,
priced), the price of the dearest path that traces took, and the dearest path that there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from wcetchar import store
from wcetchar.engine import PriceVector, estimate_given
from wcetchar.engine.path_blocking import longest_blocking
from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.path_program import program_of
from wcetchar.engine.paths import bound_of
from wcetchar.errors import CheckFailed, InputError, Location, NoSoundBound, UsageError
from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import (
    Characterization,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.flow_fact import Accesses, LoopBound, Recursion, Targets
from wcetchar.model.path_bound import PathBound
from wcetchar.model.path_model import PathModel, Unproved
from wcetchar.pipeline import estimate as estimates
from wcetchar.pipeline.path_formulas import formula_of
from wcetchar.report.paths_formula import formula_rows
from wcetchar.report.paths_stretches import StretchRow, stretch_rows
from wcetchar.report.paths_view import PathView
from wcetchar.solver import lp_text
from wcetchar.static.facts import parse_facts
from wcetchar.static.facts.proposals import Observed
from wcetchar.static.facts.template import (
    FILL_IN,
    Missing,
    MissingAccess,
    MissingLoop,
    MissingRecursion,
    MissingTargets,
)
from wcetchar.static.facts.template import template as facts_template

_MOST_BYTES: Final = 1 << 22
_SEARCHED: Final = (
    "at the values at which the published counts cost most: at others the dearest path may cost "
    "more"
)


@dataclass(frozen=True)
class Request:
    """
    Attributes:
        section_map: file or name; ``None``: the profile's own.
        services: by name; empty means all that have a path model.
        values: parameter values, before those of the map.
        maximum: parameters that neither gives have the values at which the published counts cost
            most.
        sources: folders that source files are looked for in, to show their lines.
        formula: bounds as formulas of the parameters, too.
    """

    characterization: str
    profile: str
    section_map: str | None = None
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    maximum: bool = False
    sources: tuple[str, ...] = ()
    formula: bool = False


@dataclass(frozen=True)
class Priced:
    """What the paths of a service are solved with.

    Attributes:
        mark: the published counts, priced.
        searched: at the values where these cost most.
    """

    service: ServiceCharacterization
    model: PathModel
    prices: PriceVector
    mark: Estimate
    searched: bool


def run(request: Request) -> Iterator[PathView]:
    """A view of each service, in the order of the characterization.

    Raises:
        InputError: a file, a name or a value that cannot be used.
        NoSoundBound: the profile prices what path models do not count.
    """
    yield from views(priced(request), request)


def views(services: Iterable[Priced], request: Request) -> Iterator[PathView]:
    """The paths of services, solved.

    Raises:
        CheckFailed: a traced path is dearer than the bound, which is a defect.
    """
    lines = _Lines(request.sources)
    for one in services:
        mark = one.mark
        searched = (_SEARCHED,) if one.searched else ()
        view = _view(
            one.service, one.model, one.prices, mark.parameters, mark.total.high, lines, searched
        )
        found = None
        if request.formula and not one.model.gaps:
            found = formula_rows(formula_of(one.model, one.service.parameters, one.prices))
        yield replace(view, stretches=_stretches(one.model, one.prices, mark), formula=found)


def priced(request: Request) -> Iterator[Priced]:
    """Services with path models, in the order of the characterization.

    Raises:
        InputError, NoSoundBound: as of :func:`run`.
    """
    asked = estimates.Request.on_one(
        request.characterization,
        request.profile,
        request.section_map,
        request.services,
        request.values,
        request.maximum,
    )
    characterization = store.load_characterization(request.characterization)
    models = models_of(request.characterization, characterization, asked)
    services = {s.name: s for s in characterization.services}
    chosen = [services[name] for name in models]
    platform = estimates.platform_of(
        asked, characterization, chosen, request.profile, request.section_map
    )
    estimates.refuse_values_off(asked, platform)
    prices = path_prices(
        characterization,
        store.load_profile(request.profile),
        platform.section_map,
        models.values(),
    )
    for service in chosen:
        given = {**platform.section_map.parameters, **request.values}
        own = {p.name: given[p.name] for p in service.parameters if p.name in given}
        mark = estimate_given(service, platform.prices, own, platform.following, request.maximum)
        searched = request.maximum and len(own) < len(service.parameters)
        yield Priced(service, models[service.name], prices, mark, searched)


def program(request: Request) -> str:
    """The integer program of one service's worst path, in the LP format.

    Raises:
        InputError, NoSoundBound: as of :func:`run`, and where its model has gaps.
        UsageError: another number of services is asked for.
    """
    found = [*priced(request)]
    if len(found) != 1:
        raise UsageError(
            f"lp shows one service, and {len(found)} are asked for",
            hint="name it by --service; of one that another thread cuts, a part such as NAME/call",
        )
    one = found[0]
    return lp_text(program_of(one.model, one.prices, one.mark.parameters), maximise=True)


def template(request: Request) -> str:
    """The flow facts that are missing, as a file to fill in, with what traces showed.

    Raises:
        InputError: as of :func:`run`.
    """
    asked = estimates.Request(request.characterization, (), (), request.services)
    characterization = store.load_characterization(request.characterization)
    models = models_of(request.characterization, characterization, asked)
    missing: list[Missing] = []
    for name, model in models.items():
        for one in model.unproved:
            missing.append(_unproved(name, one, request.characterization))
        for gap in model.gaps:
            if not gap.fact:
                continue
            if gap.fact.startswith(("call at ", "jump at ")):
                one = Unproved(gap.fact, gap.place)
                missing.append(_unproved(name, one, request.characterization))
                continue
            (fact,) = parse_facts(f"{gap.fact}: at most 0", request.characterization).facts
            seen = tuple(Observed(dict(point), count) for point, count in gap.observed)
            if isinstance(fact, LoopBound):
                function = gap.place.function
                missing.append(MissingLoop((name,), function, place=fact.place, observed=seen))
            elif isinstance(fact, Recursion):
                missing.append(MissingRecursion((name,), fact.function, observed=seen))
    return facts_template(missing)


def _unproved(service: str, one: Unproved, path: str) -> Missing:
    function = one.place.function
    text = f"{one.fact}: {', '.join(one.seen or (FILL_IN,))}"
    (fact,) = parse_facts(text, path).facts
    if isinstance(fact, Targets):
        to = fact.targets if one.seen else ()
        return MissingTargets((service,), function, place=fact.place, seen=to)
    if isinstance(fact, Accesses):
        into = fact.sections if one.seen else ()
        return MissingAccess((service,), function, place=fact.place, seen=into)
    raise InputError(
        f"no fact about what goes somewhere: {one.fact}",
        where=Location(path),
        expected="`access at`, `call at` or `jump at` a place",
    )


def models_of(
    path: str, characterization: Characterization, asked: estimates.Request
) -> dict[str, PathModel]:
    """Path models of the services that are asked for, by name.

    Raises:
        InputError: one that is asked for has none, or there is none at all.
    """
    known = {model.service: model for model in characterization.paths}
    chosen = estimates.chosen_services(asked, characterization)
    if asked.services:
        without = [s.name for s in chosen if s.name not in known]
        if without:
            raise InputError(
                f"{', '.join(without)}: no path model is published",
                where=Location(path),
                expected="a characterization made with --paths",
            )
    found = {s.name: known[s.name] for s in chosen if s.name in known}
    if not found:
        raise InputError(
            "no path model is published",
            where=Location(path),
            expected="a characterization made with --paths",
            hint="wcetchar characterize --paths, with flow facts for loops that the analysis does "
            "not bound",
        )
    return found


def traced_price(
    model: PathModel,
    service: ServiceCharacterization,
    prices: PriceVector,
    values: Mapping[str, int],
) -> Fraction | None:
    """The dearest path that traces took at these values, in nanoseconds; ``None``: they took none
    there."""
    point = tuple(values[p.name] for p in service.parameters)
    found = [
        price_of(model.vectors[path.vector], prices)
        for path in model.traced
        if path.values == point
    ]
    return max(found, default=None)


def price_of(vector: AccessVector, prices: PriceVector) -> Fraction:
    """Upper end, with interference and with what is under way as the bound of a path has it."""
    own = sum((prices.prices[key].time.high * n for key, n in vector.items()), start=Fraction(0))
    return prices.rate.of_path(own + prices.under_way)


def _view(
    service: ServiceCharacterization,
    model: PathModel,
    prices: PriceVector,
    values: Mapping[str, int],
    mark: Fraction,
    lines: _Lines,
    searched: tuple[str, ...],
) -> PathView:
    bound: PathBound | None = None
    notes: tuple[str, ...] = ()
    if not model.gaps:
        try:
            bound = bound_of(model, prices, values)
        except NoSoundBound as error:
            notes = (str(error),)
    traced = traced_price(model, service, prices, values)
    if bound is not None and traced is not None and traced > bound.time:
        raise CheckFailed(
            f"{service.name}: a traced path takes {float(traced)} ns, and the bound is "
            f"{float(bound.time)} ns",
            expected="a bound that no path exceeds",
            hint="this is a defect of wcetchar, or a flow fact is wrong",
        )
    costs = (
        bound.node_times
        if bound is not None
        else tuple(
            sum(
                (prices.prices[key].time.high * n for key, n in model.vectors[node.vector].items()),
                start=Fraction(0),
            )
            for node in model.nodes
        )
    )
    return PathView(
        service=service.name,
        profile=prices.profile.name,
        section_map=prices.section_map.name,
        parameters=values,
        word=Word.ESTIMATE if bound is None else bound.word,
        model=model,
        node_costs=costs,
        high_water_mark_ns=mark,
        traced_path_ns=traced,
        bound_ns=None if bound is None else bound.time,
        flow=None if bound is None else bound.flow,
        sources=lines.of(model),
        notes=(*searched, *(notes if bound is None else bound.notes)),
        binding=()
        if bound is None
        else tuple(dict.fromkeys(model.constraints[n].label for n in bound.binding)),
    )


def _stretches(model: PathModel, prices: PriceVector, mark: Estimate) -> tuple[StretchRow, ...]:
    """The longest over all paths, beside those that are published; none without a bound."""
    if model.gaps or not model.follows_masks:
        return ()
    try:
        found = [
            (longest_blocking(model, prices, mark.parameters, kind), published.high)
            for kind, published in (
                (StretchKind.INTERRUPTS, mark.blocking_interrupts),
                (StretchKind.PREEMPTION, mark.blocking_preemption),
            )
        ]
    except NoSoundBound:
        return ()  # the whole has none either, and says why
    return stretch_rows(model, found)


class _Lines:
    """Source lines, file by file."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._folders = folders
        self._files: dict[str, list[str]] = {}

    def of(self, model: PathModel) -> dict[tuple[str, int], str]:
        if not self._folders:
            return {}
        found = {}
        for node in model.nodes:
            for place in (node.place, node.end):
                for name, line in (
                    (place.file, place.line),
                    (place.inlined_file, place.inlined_line),
                ):
                    text = self._file(name)
                    if 0 < line <= len(text):
                        found[name, line] = text[line - 1].strip()
        return found

    def _file(self, name: str) -> list[str]:
        if name not in self._files:
            self._files[name] = []
            for folder in self._folders:
                path = Path(folder) / name
                if path.is_file():
                    self._files[name] = store.read_text(path, _MOST_BYTES).splitlines()
                    break
        return self._files[name]
