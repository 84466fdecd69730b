"""Hold estimates against measurements: three parties' files and one of measured times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from wcetchar import store
from wcetchar.engine import PriceVector, estimate_given
from wcetchar.engine.counts import check_values
from wcetchar.engine.errors import PricingError
from wcetchar.errors import (
    InputError,
    Location,
    NoSoundBound,
    UsageError,
    did_you_mean,
    several,
)
from wcetchar.model.characterization import (
    Characterization,
    ServiceCharacterization,
    StretchKind,
)
from wcetchar.model.estimate import Chain, Estimate
from wcetchar.model.hardware import HardwareProfile, Unit
from wcetchar.model.interval import Interval
from wcetchar.model.measurement import Measurement, MeasurementTable
from wcetchar.model.path_model import PathModel
from wcetchar.model.validation import Compared, Comparison, Explanation, Overhead
from wcetchar.model.versus import Metric
from wcetchar.pipeline import estimate as estimating
from wcetchar.pipeline.situations import Platforms, Situations
from wcetchar.validation import compare, explain, overhead_of

_MISTAKES = 20


@dataclass(frozen=True)
class Request:
    """What to hold against what. ``overhead``: the service whose measurements show what measuring
    takes; it is characterized, for what it takes itself is no overhead, unless there is nothing
    between its marks (``marks_alone``). ``services``: only these; empty means all. ``metric``: what
    was measured. ``paths``: the bounds of path models are held against it, in place of the
    published figures. ``situations``: what measurements of a label were made in."""

    characterization: str
    profile: str
    section_map: str | None
    measured: str
    overhead: str | None = None
    marks_alone: bool = False
    services: tuple[str, ...] = ()
    metric: Metric = Metric.TOTAL
    paths: bool = False
    situations: Situations = field(default_factory=Situations)


@dataclass(frozen=True)
class Validation:
    """``overheads``: by label of the measurements. ``clock_hz``: that turned cycles into time,
    ``None`` where times were measured. ``left_out``: measurements of services not asked for."""

    comparison: Comparison
    explanation: Explanation | None
    overheads: Mapping[str, Overhead]
    profile: str
    section_map: str
    clock_hz: Fraction | None
    left_out: int
    notes: tuple[str, ...]


def run(request: Request) -> Validation:
    """Compare every measurement with the estimate at its parameter values.

    Raises:
        InputError: a file that cannot be used; a measured service or parameter that the
            characterization does not have, with line and column; a measured time that is nothing,
            or less than the overhead; an overhead of a function that is not characterized; nothing
            to compare.
    """
    measured = measured_rows(request)
    nothing = [row for row in measured.rows if request.metric is Metric.TOTAL and not row.most]
    if nothing:
        raise several([_takes_time(request, row) for row in nothing[:_MISTAKES]])
    comparison = compare(measured.rows)
    return Validation(
        comparison=comparison,
        # What explains a total is its classes; of a stretch the estimate has the time alone.
        explanation=explain(comparison.worst, comparison.rows)
        if request.metric is Metric.TOTAL and not request.paths
        else None,
        overheads=measured.overheads,
        profile=measured.platform.prices.profile.name,
        section_map=measured.platform.section_map.name,
        clock_hz=measured.clock_hz,
        left_out=measured.left_out,
        notes=tuple(dict.fromkeys(n for row in measured.rows for n in row.estimate.notes)),
    )


def _takes_time(request: Request, row: Compared) -> InputError:
    """A row of nothing would stand there as one that is safe."""
    return InputError(
        f"{row.estimate.service} took no time at all"
        + (", once what measuring takes is subtracted" if request.overhead else ""),
        where=Location(request.measured, row.line),
        expected="more than 0: a call takes some time, which the timer may be too coarse to show",
        hint="measure many calls at once, or leave the line out",
    )


@dataclass(frozen=True)
class MeasuredRows:
    """Measurements beside estimates, and what both were made with; see :class:`Validation`.

    Attributes:
        platforms: of each row, in its situation.
        services: by name; ``used``: those that are priced.
    """

    rows: tuple[Compared, ...]
    platforms: tuple[estimating.Platform, ...]
    characterization: Characterization
    services: Mapping[str, ServiceCharacterization]
    used: tuple[str, ...]
    overheads: Mapping[str, Overhead]
    platform: estimating.Platform
    clock_hz: Fraction | None
    left_out: int


def measured_rows(request: Request, profile: HardwareProfile | None = None) -> MeasuredRows:
    """Every measurement beside the estimate at its parameter values. Raises as :func:`run`.

    ``profile``: in the place of what the request's file says.
    """
    if request.paths and request.situations:
        raise UsageError(
            "bounds of path models are those of one situation",
            expected="measurements of one situation, which the section map says",
        )
    characterization = store.load_characterization(request.characterization)
    table = store.load_measurement_table(request.measured)
    wanted = _wanted(request, characterization)
    chosen = [m for m in table.measurements if not wanted or m.service in wanted]
    empty = [m for m in table.measurements if m.service == request.overhead]
    measured = [m for m in chosen if m.service != request.overhead]
    services = {service.name: service for service in characterization.services}
    _check_overhead(request, services)
    _refuse_unknown(table, measured, services)
    if not measured:
        raise InputError(
            "holds no measurement of a service that was asked for", where=Location(table.path)
        )
    used = dict.fromkeys(m.service for m in (*measured, *empty) if m.service in services)
    platform = estimating.platform_of(
        estimating.Request(request.characterization, (request.profile,)),
        characterization,
        [services[name] for name in used],
        request.profile,
        request.section_map,
        profile=profile,
    )
    request.situations.check(platform.prices.profile, (m.label for m in table.measurements))
    asked = estimating.Request(request.characterization, (request.profile,))
    platforms = Platforms(characterization, used, asked, platform, request.situations)
    for label in dict.fromkeys(m.label for m in (*measured, *empty)):
        platforms.of(label)  # what is wrong with it is in no measurement
    clock = platform.prices.profile.core.clock.low
    models = {model.service: model for model in characterization.paths} if request.paths else None
    pricer = _Pricer(platforms, platform.path_prices, services, table, models, request.metric)
    overheads = _overheads(request, measured, empty, pricer, clock)
    rows = tuple(_rows(measured, overheads, pricer, clock, table, request.metric))
    return MeasuredRows(
        rows=rows,
        platforms=tuple(platforms.of(row.label) for row in rows),
        characterization=characterization,
        services=services,
        used=tuple(used),
        overheads=overheads,
        platform=platform,
        clock_hz=clock if table.unit is Unit.CYCLES else None,
        left_out=len(table.measurements) - len(measured) - len(empty),
    )


class _Pricer:
    """Estimates, each made once."""

    def __init__(
        self,
        platforms: Platforms,
        path_prices: PriceVector | NoSoundBound | None,
        services: Mapping[str, ServiceCharacterization],
        table: MeasurementTable,
        models: Mapping[str, PathModel] | None,
        metric: Metric,
    ) -> None:
        """``models``: path models whose bounds stand in the place of published figures."""
        self._models, self._metric = models, metric
        self._path_prices = path_prices
        self.known: dict[tuple[int, str, tuple[tuple[str, int], ...]], Estimate] = {}
        self._platforms = platforms
        self._services = services
        self._table = table

    def has(self, name: str) -> bool:
        return name in self._services

    def estimate(self, measurement: Measurement) -> Estimate:
        service = self._services[measurement.service]
        own = {p.name for p in service.parameters}
        strange = sorted(set(measurement.parameters) - own)
        if strange:
            raise InputError(
                f"{service.name} has no parameter {strange[0]}",
                where=Location(
                    self._table.path, measurement.line, measurement.columns.get(strange[0])
                ),
                expected=f"nothing in the column {strange[0]}"
                + (f"; it has {', '.join(sorted(own))}" if own else "; it has none"),
            )
        try:
            check_values(service, measurement.parameters)
            platform = self._platforms.of(measurement.label)
            values = tuple(sorted(measurement.parameters.items()))
            found = self.known.get((id(platform), service.name, values))
            if found is None:
                found = estimate_given(
                    service, platform.prices, measurement.parameters, platform.following
                )
                if self._models is not None:
                    found = self._over_all_paths(found, self._models.get(service.name))
                self.known[(id(platform), service.name, values)] = found
            return found
        except InputError as error:
            for one in error.each:
                self._place(one, measurement)
            raise

    def _place(self, error: InputError, measurement: Measurement) -> None:
        """In the file of measurements, and what to do there."""
        name = (
            str(error.keys[0]) if isinstance(error, PricingError) and len(error.keys) == 1 else ""
        )
        column = measurement.columns.get(name)
        error.where = Location(self._table.path, measurement.line, column)
        if isinstance(error, PricingError) and error.file == "nothing":
            error.hint = f"give it in the column {name}" if column else f"add a column {name}"

    def _over_all_paths(self, estimate: Estimate, model: PathModel | None) -> Estimate:
        """With the bound of the path model in the place of what was measured.

        Raises:
            InputError: there is no path model.
            NoSoundBound: there is no bound.
        """
        # Only here, so that a table is priced where no solver is installed.
        from wcetchar.engine.path_blocking import longest_blocking
        from wcetchar.engine.paths import bound_of

        prices = self._path_prices
        if isinstance(prices, NoSoundBound):
            raise prices
        if model is None or prices is None:
            raise InputError(
                f"{estimate.service} has no path model",
                expected="a characterization made with --paths",
            )
        if self._metric is Metric.TOTAL:
            bound = bound_of(model, prices, estimate.parameters)
            total = Interval(bound.time, bound.time, bound.time)
            return replace(estimate, total=total, word=bound.word, notes=bound.notes)
        interrupts = self._metric is Metric.INTERRUPTS
        kind = StretchKind.INTERRUPTS if interrupts else StretchKind.PREEMPTION
        stretch = longest_blocking(model, prices, estimate.parameters, kind)
        own = Interval(stretch.time, stretch.time, stretch.time)
        found = replace(estimate, word=stretch.word, notes=stretch.notes)
        if interrupts:
            chain = _longer(estimate.interrupts_chain, estimate.blocking_interrupts, own)
            return replace(found, blocking_interrupts=own, interrupts_chain=chain)
        chain = _longer(estimate.preemption_chain, estimate.blocking_preemption, own)
        return replace(found, blocking_preemption=own, preemption_chain=chain)


def _longer(chain: Chain | None, published: Interval, own: Interval) -> Chain | None:
    """A chain that begins with another stretch of the service's own."""
    if chain is None:
        return None
    more = max(own.high - published.high, Fraction(0))
    return replace(chain, time=chain.time.up_to(chain.time.high + more))


def _nanoseconds(measurement: Measurement, clock: Fraction) -> Fraction:
    if measurement.unit is Unit.CYCLES:
        return measurement.time * 10**9 / clock
    return measurement.time


def _check_overhead(request: Request, services: Mapping[str, ServiceCharacterization]) -> None:
    """What the function itself takes is no overhead: subtracted, it would be missing from each
    measurement, and figures that are too low would look safe."""
    name = request.overhead
    if request.marks_alone and name is None:
        raise UsageError("--marks-alone without --overhead", expected="--overhead SERVICE")
    if name is None or request.marks_alone != (name in services):
        return
    if request.marks_alone:
        raise UsageError(
            f"{name} is characterized, so it is something between the marks",
            expected="--overhead alone, which leaves out what the function itself takes",
        )
    raise InputError(
        f"the characterization has no service {name}, so what that takes itself is not known, and "
        "would be subtracted from each measurement",
        where=Location("--overhead"),
        expected="a function that does nothing, and is characterized",
        hint=did_you_mean(name, services)
        or "characterize it; or measure with nothing at all between the marks, not even a call, "
        "and say --marks-alone",
    )


def _overheads(
    request: Request,
    measured: list[Measurement],
    empty: list[Measurement],
    pricer: _Pricer,
    clock: Fraction,
) -> dict[str, Overhead]:
    """What measuring takes, for each label. Without measurements of it nothing is subtracted."""
    if request.overhead is None:
        return {}
    found: dict[str, Overhead] = {}
    for label in dict.fromkeys(m.label for m in measured):
        own = [m for m in empty if m.label == label]
        function = Fraction(0)
        if own and pricer.has(request.overhead):
            function = max(pricer.estimate(m).total.high for m in own)
        try:
            found[label] = overhead_of(
                request.overhead, [_nanoseconds(m, clock) for m in own], function
            )
        except InputError as error:
            error.where = Location(request.measured)
            if label:
                error.expected = f"at least one line of that service with the label {label}"
            raise
    return found


def _rows(
    measured: list[Measurement],
    overheads: Mapping[str, Overhead],
    pricer: _Pricer,
    clock: Fraction,
    table: MeasurementTable,
    metric: Metric,
) -> list[Compared]:
    """One row for each service, its values and the label, in the order of the file."""
    mistakes: list[InputError] = []
    groups: dict[tuple[str, tuple[tuple[str, int], ...], str], list[tuple[Fraction, int]]] = {}
    estimates: dict[tuple[str, tuple[tuple[str, int], ...], str], Estimate] = {}
    for one in measured:
        key = (one.service, tuple(sorted(one.parameters.items())), one.label)
        time = _nanoseconds(one, clock)
        if one.label in overheads:
            time -= overheads[one.label].time
        try:
            if time < 0:
                raise InputError(
                    "took less than what measuring nothing took",
                    where=Location(table.path, one.line),
                    expected="a time that holds the same overhead as all others",
                )
            estimates[key] = pricer.estimate(one)
        except InputError as error:
            mistakes.extend(error.each)
        if len(mistakes) > _MISTAKES:
            break
        groups.setdefault(key, []).append((time, -one.line))
    if mistakes:
        raise several(mistakes)
    return [
        Compared(
            estimate=estimates[key],
            label=key[2],
            count=len(times),
            least=min(times)[0],
            most=max(times)[0],
            line=-max(times)[1],
            metric=metric,
        )
        for key, times in groups.items()
    ]


def _wanted(request: Request, characterization: Characterization) -> frozenset[str]:
    known = [service.name for service in characterization.services]
    for name in request.services:
        if name not in known:
            raise InputError(
                f"the characterization has no service {name}",
                where=Location("--service"),
                hint=did_you_mean(name, known),
            )
    return frozenset(request.services)


def _refuse_unknown(
    table: MeasurementTable,
    measured: list[Measurement],
    services: Mapping[str, ServiceCharacterization],
) -> None:
    """Services and columns that the characterization does not have, all at once."""
    mistakes: list[InputError] = []
    known = {p.name for service in services.values() for p in service.parameters}
    for name, column in table.columns.items():
        if name not in known:
            mistakes.append(
                InputError(
                    f"no service of the characterization has a parameter {name}",
                    where=Location(table.path, 1, column),
                    expected="service, label, a time, or a parameter",
                    hint=did_you_mean(name, known),
                )
            )
    seen: set[str] = set()
    for one in measured:
        if one.service in services or one.service in seen:
            continue
        seen.add(one.service)
        parts = [name for name in services if name.startswith(f"{one.service}/")]
        mistakes.append(
            InputError(
                f"the characterization has no service {one.service}",
                where=Location(table.path, one.line, one.service_column),
                expected="a service that is characterized"
                + (f": this one is cut into {', '.join(parts)}" if parts else ""),
                hint="measure the parts, or leave these lines out"
                if parts
                else did_you_mean(one.service, services)
                or "--service NAME compares only what is named",
            )
        )
    if mistakes:
        raise several(mistakes[:_MISTAKES])
