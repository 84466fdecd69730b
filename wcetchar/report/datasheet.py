"""Plain rows of a datasheet: a kernel, its services, and what they take on hardware.

The renderers (``datasheet_text``, ``datasheet_json``, ``datasheet_html``) only lay them out, so
that text, files and page say the same. Names come from files of strangers; here they lose whatever
a terminal would act on.

A service's total is written as a formula where each of its trace sections counts a fixed vector::

    total = sum over repetitions r of (sum over sections with r of vector . prices) * r

That needs prices that are the same at all values of the parameters: no cache whose lines are told
one by one, and no interference that comes whole times. It is held against the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar import formula
from wcetchar.errors import CheckFailed, one_line
from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    Counts,
    ServiceCharacterization,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.expression import Expression
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.section_map import SectionMap
from wcetchar.report.numbers import grouped
from wcetchar.report.paths_view import PathRows
from wcetchar.report.profile import ProfileView
from wcetchar.report.profile import view_of as profile_view
from wcetchar.report.view import EstimateView, class_name, view_of

Facts = tuple[tuple[str, str], ...]
"""Names and values, for people."""

CORE: Final = "core"
"""Where core events that belong to no memory are counted."""


@dataclass(frozen=True)
class ParameterRow:
    name: str
    kind: str
    minimum: int
    maximum: int
    meaning: str

    @property
    def range(self) -> str:
        if self.minimum == self.maximum:
            return f"{self.minimum}"
        return f"{self.minimum} to {self.maximum}"


@dataclass(frozen=True)
class PublishedRow:
    """A trace section as it was characterized; ``counts`` of one repetition."""

    section: str
    repetition: str
    blocking: str
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class StretchRow:
    """Something is held off from ``begin`` to ``end``; ``repetitions``: of its parts."""

    kind: str
    begin: str
    end: str
    repetitions: str


@dataclass(frozen=True)
class Term:
    """``ns`` of each repetition, times ``repetition``."""

    ns: Fraction
    repetition: str

    @property
    def text(self) -> str:
        ns = f"{grouped(self.ns)} ns"
        return ns if self.repetition == "1" else f"{ns} × {_factor(self.repetition)}"


@dataclass(frozen=True)
class RegionRow:
    """What a service takes in one memory, or in the core."""

    name: str
    ns: Fraction


@dataclass(frozen=True)
class Priced:
    """A service on one hardware.

    Attributes:
        regions: where the time goes, dearest first; they add up to the total.
        terms: of the total as a formula; empty where ``no_formula`` says why there is none.
        command: that prints the same figures.
        searched: parameters that nothing sets: the total is the largest of all their values, and so
            is each time that something is held off, and the bound of all paths.
        given: values that were asked for, as far as they count here.
    """

    view: EstimateView
    regions: tuple[RegionRow, ...]
    terms: tuple[Term, ...]
    no_formula: str
    command: str
    searched: tuple[str, ...] = ()
    given: tuple[tuple[str, int], ...] = ()

    @property
    def formula(self) -> str:
        return " + ".join(term.text for term in self.terms) or self.no_formula


@dataclass(frozen=True)
class Hardware:
    """``label`` tells it apart from the others; ``places``: logical section -> region."""

    label: str
    profile: str
    section_map: str
    description: str
    about: ProfileView
    places: Facts


@dataclass(frozen=True)
class ServiceRows:
    """A service, or a part of one that another thread cuts.

    Attributes:
        counts: what its counts are, in words.
        published: rows of formulas; empty where there is a table of observed points.
        priced: on each hardware.
        graphs: its flow graph on each hardware; ``None``: see ``no_graph``, of each, too.
    """

    name: str
    kind: str
    part: str
    word: str
    description: str
    worst_state: str
    place: str
    counts: str
    evidence: str
    parameters: tuple[ParameterRow, ...]
    published: tuple[PublishedRow, ...]
    stretches: tuple[StretchRow, ...]
    notes: tuple[str, ...]
    priced: tuple[Priced, ...]
    graphs: tuple[PathRows | None, ...] = ()
    no_graph: tuple[str, ...] = ()


@dataclass(frozen=True)
class Side:
    """A characterization. ``label`` tells it apart from the other one."""

    label: str
    kernel: str
    facts: Facts
    configuration: Facts
    provenance: Facts
    sections: tuple[tuple[str, str, str], ...]
    services: tuple[ServiceRows, ...]
    assumptions: tuple[str, ...]
    missing: Facts
    left_out: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Difference:
    """A service on one hardware, here and in the other characterization; ``None``: it is not
    there. ``values``: both are at the same values of parameters."""

    service: str
    hardware: int
    base: EstimateView | None
    other: EstimateView | None

    @property
    def same_values(self) -> bool:
        return (
            self.base is None
            or self.other is None
            or dict(self.base.parameters) == dict(self.other.parameters)
        )


@dataclass(frozen=True)
class Datasheet:
    """``against``: what the first is held against; ``None``: nothing."""

    base: Side
    hardware: tuple[Hardware, ...]
    against: Side | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.base,) if self.against is None else (self.base, self.against)

    @property
    def title(self) -> str:
        return self.base.kernel

    @property
    def views(self) -> tuple[EstimateView, ...]:
        """Of the first characterization, service by service."""
        return tuple(priced.view for service in self.base.services for priced in service.priced)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Services in the order of the first that has them, hardware by hardware."""
        if self.against is None:
            return ()
        here = {service.name: service for service in self.base.services}
        there = {service.name: service for service in self.against.services}
        return tuple(
            Difference(
                name,
                number,
                here[name].priced[number].view if name in here else None,
                there[name].priced[number].view if name in there else None,
            )
            for name in dict.fromkeys((*here, *there))
            for number in range(len(self.hardware))
        )


def side_of(
    label: str,
    characterization: Characterization,
    services: Sequence[ServiceRows],
) -> Side:
    kernel = characterization.kernel
    return Side(
        label=one_line(label),
        kernel=one_line(f"{kernel.name} {kernel.version}".strip()),
        facts=_facts(characterization, services),
        configuration=_pairs(kernel.configuration),
        provenance=_provenance(characterization),
        sections=tuple(
            (one_line(section.name), section.kind.value, one_line(section.meaning))
            for section in characterization.sections
        ),
        services=tuple(services),
        assumptions=tuple(map(one_line, characterization.assumptions)),
        missing=tuple(
            (one_line(one.name), one_line(one.reason)) for one in characterization.not_characterized
        ),
        left_out=tuple(
            (one_line(one.because), tuple(map(one_line, one.calls)))
            for one in characterization.left_out
        ),
    )


def hardware_of(label: str, profile: HardwareProfile, section_map: SectionMap) -> Hardware:
    places = {**profile.default_map, **section_map.sections}
    return Hardware(
        one_line(label),
        one_line(profile.name),
        one_line(section_map.name),
        one_line(profile.description),
        profile_view(profile, ()),
        _pairs(places),
    )


def service_of(
    service: ServiceCharacterization,
    priced: Sequence[Priced],
    graphs: Sequence[PathRows | None] = (),
    no_graph: Sequence[str] = (),
) -> ServiceRows:
    place = service.place
    return ServiceRows(
        name=one_line(service.name),
        kind=service.kind.value,
        part=service.part.value,
        word=service.word.value,
        description=one_line(service.description),
        worst_state=one_line(service.worst_state),
        place="" if place is None or not place.file else one_line(f"{place.file}:{place.line}"),
        counts=_counts(service.counts),
        evidence=_evidence(service),
        parameters=tuple(
            ParameterRow(one_line(p.name), p.kind.value, p.minimum, p.maximum, one_line(p.meaning))
            for p in service.parameters
        ),
        published=tuple(
            PublishedRow(
                section=str(number),
                repetition=one_line(formula.to_text(row.repetition)),
                blocking=one_line(str(row.blocking)),
                counts=tuple((class_name(key), count) for key, count in row.vector.items()),
            )
            for number, row in enumerate(service.counts.rows, start=1)
        ),
        stretches=tuple(_stretch(stretch) for stretch in service.stretches),
        notes=tuple(map(one_line, service.notes)),
        priced=tuple(priced),
        graphs=tuple(graphs),
        no_graph=tuple(no_graph),
    )


def priced_of(
    service: ServiceCharacterization,
    estimate: Estimate,
    price: Callable[[AccessVector], Fraction] | None,
    command: str,
    searched: Iterable[str] = (),
    given: Mapping[str, int] | None = None,
) -> Priced:
    """``price``: of a vector, at all values of the parameters; ``None``: it depends on them.
    ``command``, ``searched``, ``given``: as of :class:`Priced`.

    Raises:
        CheckFailed: a defect: the formula is not the estimate, or memories do not add up to it.
    """
    view = view_of(estimate)
    terms, why = _terms(service, estimate, price)
    return Priced(
        view,
        _regions(view),
        terms,
        why,
        command,
        tuple(map(one_line, searched)),
        tuple((one_line(name), value) for name, value in (given or {}).items()),
    )


def _terms(
    service: ServiceCharacterization,
    estimate: Estimate,
    price: Callable[[AccessVector], Fraction] | None,
) -> tuple[tuple[Term, ...], str]:
    """Of all trace sections, whatever case holds."""
    if not service.counts.is_formula:
        return (), "none: the counts are a table of observed values"
    if price is None:
        return (), "none: prices depend on what else is executed (caches, or others on the bus)"
    terms: dict[Expression, Fraction] = {}
    for row in service.counts.rows:
        terms[row.repetition] = terms.get(row.repetition, Fraction(0)) + price(row.vector)
    total = sum(
        (
            ns * formula.evaluate(repetition, estimate.parameters)
            for repetition, ns in terms.items()
        ),
        start=Fraction(0),
    )
    if total != estimate.total.high:
        raise CheckFailed(
            f"{service.name}: its formula comes to {total} ns, its estimate to "
            f"{estimate.total.high} ns; this is a defect of wcetchar"
        )
    return (
        tuple(Term(ns, one_line(formula.to_text(e))) for e, ns in terms.items() if ns),
        "0 ns",
    )


def _regions(view: EstimateView) -> tuple[RegionRow, ...]:
    found: dict[str, Fraction] = {}
    for column in view.columns:
        name = column.region or CORE
        found[name] = found.get(name, Fraction(0)) + column.ns
    if sum(found.values()) != view.total.high:
        raise CheckFailed(
            f"{view.service}: its memories come to {sum(found.values())} ns, its estimate to "
            f"{view.total.high} ns; this is a defect of wcetchar"
        )
    rows = (RegionRow(name, ns) for name, ns in found.items())
    return tuple(sorted(rows, key=lambda row: -row.ns))


def _factor(repetition: str) -> str:
    """In parentheses where that is a sum."""
    plain = repetition.replace("_", "").isalnum() or (
        repetition.endswith(")")
        and (repetition.count("(") == 1 and repetition.split("(")[0].isalnum())
    )
    return repetition if plain else f"({repetition})"


def _counts(counts: Counts) -> str:
    if counts.is_formula:
        rows = len(counts.rows)
        return f"formulas: {rows} trace section{'s' * (rows != 1)}"
    points = len(counts.points)
    return f"a table of {points:,} observed value{'s' * (points != 1)}"


def _evidence(service: ServiceCharacterization) -> str:
    found = service.evidence
    if not found.windows:
        return ""
    parts = [f"{found.windows:,} invocation{'s' * (found.windows != 1)} observed"]
    if found.fitted:
        parts.append(f"{len(found.fitted):,} values fitted")
    if found.held_out:
        parts.append(f"{len(found.held_out):,} values only to check the fit")
    return ", ".join(parts)


def _stretch(stretch: BlockingStretch) -> StretchRow:
    repetitions = dict.fromkeys(
        one_line(formula.to_text(row.repetition)) for row in stretch.counts.rows
    )
    return StretchRow(
        stretch.kind.value,
        one_line(stretch.begin),
        one_line(stretch.end),
        ", ".join(repetitions) or "observed values",
    )


def _facts(characterization: Characterization, services: Sequence[ServiceRows]) -> Facts:
    kernel = characterization.kernel
    words: dict[str, int] = {}
    for service in services:
        words[service.word] = words.get(service.word, 0) + 1
    return (
        ("kernel", one_line(f"{kernel.name} {kernel.version}".strip())),
        ("instruction set", one_line(characterization.architecture)),
        ("fetch width", f"{characterization.fetch_width} bits"),
        ("services and parts", f"{len(services):,}"),
        ("their counts", ", ".join(f"{number:,} {word}" for word, number in words.items())),
        ("path models", f"{len(characterization.paths):,}"),
    )


def _provenance(characterization: Characterization) -> Facts:
    made = characterization.provenance
    rows = [
        ("made by", made.tool),
        ("image, SHA-256", made.image_sha256),
        ("build id", made.build_id),
        ("source", made.source),
    ]
    for number, trace in enumerate(made.traces, start=1):
        of = f"trace {number}" if len(made.traces) > 1 else "trace"
        parts = (trace.format, trace.emulator, trace.machine)
        rows.append((of, ", ".join(part for part in parts if part)))
        rows.append((f"{of}, arguments", " ".join(trace.arguments)))
        rows.append((f"{of}, not known", "; ".join(trace.losses)))
    kept = characterization.conservation
    if kept is not None:
        unattributed = sum(count for _, count in kept.unattributed)
        rows.append(
            (
                "instructions",
                f"{kept.traced:,} traced, {unattributed:,} of them in no window, "
                f"{kept.undecoded:,} not decoded",
            )
        )
    return tuple((name, one_line(value)) for name, value in rows if value)


def _pairs(found: Mapping[str, str]) -> Facts:
    return tuple((one_line(name), one_line(str(value))) for name, value in found.items())


def words_of(views: Iterable[EstimateView]) -> str:
    """What figures are, each word once."""
    return " / ".join(dict.fromkeys(view.word.value for view in views))
