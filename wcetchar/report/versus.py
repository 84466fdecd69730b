"""Characterizations against each other, as plain rows; renderers are in ``versus_text``.

Times are safe ends and printed rounded up; verdicts come from the exact times, so that two that
print alike may still differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.errors import one_line
from wcetchar.formula import to_text
from wcetchar.model.characterization import Characterization, Counts, ServiceCharacterization
from wcetchar.model.expression import ONE, Call, Expression, Name
from wcetchar.model.versus import Against, Basis, Hardware, Metric, ServiceVersus, Verdict

METRIC_TITLES = {
    Metric.TOTAL: "total ns",
    Metric.INTERRUPTS: "blocks interrupts, ns",
    Metric.PREEMPTION: "blocks preemption, ns",
}


@dataclass(frozen=True)
class Subject:
    """One characterization. ``settings``: of its kernel's configuration."""

    label: str
    kernel: str
    architecture: str
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Line:
    """One verdict: ``label`` against ``base``, at the point where it exceeds it most.

    ``change`` is relative to the base, ``None`` where the base is 0 and the other is not.
    ``where`` and ``base_where`` say where the longest stretch begins and ends, of blocking times.
    """

    service: str
    metric: Metric
    hardware: int
    base: str
    label: str
    verdict: Verdict
    basis: Basis
    claim: str
    size: int
    checked: int
    slower: int
    faster: int
    parameters: tuple[tuple[str, int], ...]
    base_ns: Fraction
    ns: Fraction
    change: Fraction | None
    base_word: str
    word: str
    base_where: str
    where: str

    @property
    def at(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.parameters)


@dataclass(frozen=True)
class Corner:
    """Times at one corner of the range, ``None`` where there is no figure."""

    parameters: tuple[tuple[str, int], ...]
    times: tuple[tuple[str, Fraction | None], ...]


@dataclass(frozen=True)
class MetricRows:
    """``best``: at how many of ``complete`` points no other is better."""

    metric: Metric
    hardware: int
    size: int
    complete: int
    best: tuple[tuple[str, int], ...]
    lines: tuple[Line, ...]
    corners: tuple[Corner, ...]


@dataclass(frozen=True)
class Form:
    """Counts of a service in one characterization. ``instructions`` is their formula, or says
    that there is a table, or nothing, and why."""

    label: str
    form: str
    instructions: str
    rows: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True)
class ServiceRows:
    service: str
    labels: tuple[str, ...]
    ranges: tuple[tuple[str, int, int], ...]
    problem: str
    notes: tuple[str, ...]
    forms: tuple[Form, ...]
    metrics: tuple[MetricRows, ...]

    @property
    def differs(self) -> bool:
        """Some figure does, or something cannot be compared."""
        lines = [line for metric in self.metrics for line in metric.lines]
        return (
            len(self.labels) < len(self.forms)
            or bool(self.problem)
            or any(line.verdict is not Verdict.EQUAL for line in lines)
            or any(len(m.lines) < len(self.labels) - 1 for m in self.metrics)
        )


@dataclass(frozen=True)
class View:
    """``hardware``: for each, (label, profile, section map). With ``only_changed`` those services
    are shown that are not equal everywhere; sums are over all."""

    subjects: tuple[Subject, ...]
    differing_settings: tuple[tuple[str, tuple[str, ...]], ...]
    hardware: tuple[tuple[tuple[str, str, str], ...], ...]
    services: tuple[ServiceRows, ...]
    only_changed: bool = False

    @property
    def shown(self) -> tuple[ServiceRows, ...]:
        return tuple(s for s in self.services if s.differs or not self.only_changed)

    def hardware_name(self, number: int) -> str:
        """One name if all are priced on the same, else each with its own."""
        of_each = self.hardware[number]
        if len({(profile, section_map) for _, profile, section_map in of_each}) == 1:
            _, profile, section_map = of_each[0]
            return f"{profile} (map {section_map})"
        return ", ".join(f"{label} on {p} (map {m})" for label, p, m in of_each)

    def hardware_short(self, number: int) -> str:
        """The profile alone, where it tells the hardware apart."""
        profiles = [{profile for _, profile, _ in of_each} for of_each in self.hardware]
        own = profiles[number]
        if len(own) == 1 and profiles.count(own) == 1:
            return next(iter(own))
        return self.hardware_name(number)


def view_of(
    labels: Sequence[str],
    characterizations: Sequence[Characterization],
    hardware: Sequence[Hardware],
    services: Sequence[ServiceVersus],
    only_changed: bool = False,
) -> View:
    """The rows of a comparison."""
    names = tuple(one_line(label) for label in labels)
    keys = sorted({key for c in characterizations for key in c.kernel.configuration})
    settings = {
        key: tuple(c.kernel.configuration.get(key, "") for c in characterizations) for key in keys
    }
    return View(
        subjects=tuple(
            Subject(
                label,
                one_line(f"{c.kernel.name} {c.kernel.version}".strip()),
                one_line(c.architecture),
                tuple((one_line(k), one_line(v)) for k, v in c.kernel.configuration.items()),
            )
            for label, c in zip(names, characterizations, strict=True)
        ),
        differing_settings=tuple(
            (one_line(key), tuple(one_line(value) for value in values))
            for key, values in settings.items()
            if len(set(values)) > 1
        ),
        hardware=tuple(
            tuple(
                (label, one_line(profile), one_line(section_map))
                for label, profile, section_map in zip(
                    names, h.profiles, h.section_maps, strict=True
                )
                if profile
            )
            for h in hardware
        ),
        services=tuple(_service(found, names, characterizations) for found in services),
        only_changed=only_changed,
    )


def _service(
    found: ServiceVersus, names: Sequence[str], characterizations: Sequence[Characterization]
) -> ServiceRows:
    service = one_line(found.service)
    labels = tuple(names[number] for number in found.sides)
    parameters = tuple(one_line(r.name) for r in found.ranges)

    def at(values: Sequence[int]) -> tuple[tuple[str, int], ...]:
        return tuple(zip(parameters, values, strict=True))

    metrics = []
    for metric in found.metrics:
        lines = []
        for against in metric.against:
            base, other = against.worst.times[0], against.worst.times[against.side]
            assert base is not None
            assert other is not None
            lines.append(
                Line(
                    service=service,
                    metric=metric.metric,
                    hardware=metric.hardware,
                    base=labels[0],
                    label=labels[against.side],
                    verdict=against.verdict,
                    basis=against.basis,
                    claim=claim(against, metric.size),
                    size=metric.size,
                    checked=against.checked,
                    slower=against.slower,
                    faster=against.faster,
                    parameters=at(against.worst.values),
                    base_ns=base,
                    ns=other,
                    change=_change(base, other),
                    base_word=against.words[0].value,
                    word=against.words[1].value,
                    base_where=one_line(against.where[0]),
                    where=one_line(against.where[1]),
                )
            )
        metrics.append(
            MetricRows(
                metric=metric.metric,
                hardware=metric.hardware,
                size=metric.size,
                complete=metric.complete,
                best=tuple(zip(labels, metric.best, strict=True)),
                lines=tuple(lines),
                corners=tuple(
                    Corner(at(corner.values), tuple(zip(labels, corner.times, strict=True)))
                    for corner in metric.corners
                ),
            )
        )
    return ServiceRows(
        service=service,
        labels=labels,
        ranges=tuple((one_line(r.name), r.minimum, r.maximum) for r in found.ranges),
        problem=one_line(found.problem),
        notes=tuple(one_line(note) for note in found.notes),
        forms=tuple(
            _form(label, found.service, c)
            for label, c in zip(names, characterizations, strict=True)
        ),
        metrics=tuple(metrics),
    )


def _change(base: Fraction, other: Fraction) -> Fraction | None:
    if base:
        return (other - base) / base
    return None if other else Fraction(0)


def claim(against: Against, size: int) -> str:
    """The verdict in words, and what it rests on. Only what was checked everywhere, or follows
    for everywhere, is said of the whole range."""
    if against.basis is Basis.FORMULAS:
        return f"{against.verdict.value}, by the formulas over the whole range"
    slower, faster = f"slower at {against.slower:,}", f"faster at {against.faster:,}"
    if against.basis is Basis.SOME_POINTS:
        checked = "point" if against.checked == 1 else "points"
        return f"{slower}, {faster} of {against.checked:,} {checked} checked, of {size:,}"
    if size == 1:
        return {
            Verdict.EQUAL: "equal",
            Verdict.NEVER_SLOWER: "faster",
            Verdict.NEVER_FASTER: "slower",
            Verdict.DEPENDS: "",
        }[against.verdict]
    if against.verdict is Verdict.EQUAL:
        return f"equal at all {size:,} points"
    for word, points in (("slower", against.slower), ("faster", against.faster)):
        if points == size:
            return f"{word} at all {size:,} points"
    if against.verdict is Verdict.NEVER_SLOWER:
        return f"never slower, {faster} of {size:,} points"
    if against.verdict is Verdict.NEVER_FASTER:
        return f"never faster, {slower} of {size:,} points"
    return f"{slower}, {faster} of {size:,} points"


def _form(label: str, name: str, characterization: Characterization) -> Form:
    for service in characterization.services:
        if service.name == name:
            return _form_of(label, service)
    for missing in characterization.not_characterized:
        if missing.name == name:
            return Form(label, "none", f"not characterized: {one_line(missing.reason)}")
    return Form(label, "none", "not there")


def _form_of(label: str, service: ServiceCharacterization) -> Form:
    counts = service.counts
    if not counts.is_formula:
        return Form(label, "table", f"table of {len(counts.points)} points")
    rows = tuple(
        (one_line(to_text(r.repetition)), one_line(str(r.blocking)), r.vector.instructions)
        for r in counts.rows
    )
    return Form(label, "formula", instructions_of(counts), rows)


def instructions_of(counts: Counts) -> str:
    """Executed instructions as one formula: ``116 + 6*N + 3*(N - 1)``."""
    sums: dict[Expression, int] = {}
    for row in counts.rows:
        sums[row.repetition] = sums.get(row.repetition, 0) + row.vector.instructions
    terms = []
    for repetition, number in sorted(sums.items(), key=lambda item: item[0] != ONE):
        if not number:
            continue
        text = one_line(to_text(repetition))
        if repetition == ONE:
            terms.append(f"{number}")
        elif isinstance(repetition, Name | Call):
            terms.append(text if number == 1 else f"{number}*{text}")
        else:
            terms.append(f"({text})" if number == 1 else f"{number}*({text})")
    return " + ".join(terms) or "0"


@dataclass(frozen=True)
class GateFindings:
    """What ``--fail-if-slower`` looks at. ``slower``: exceeds what is allowed; ``unknown``: both
    have it but no figures meet; ``partly``: not slower as far as checked, but not checked
    everywhere."""

    slower: tuple[Line, ...]
    unknown: tuple[str, ...]
    partly: tuple[str, ...]


def gate(view: View, percent: Fraction) -> GateFindings:
    """Services that are slower, or block longer, than the base by more than ``percent``."""
    slower, unknown, partly = [], [], []
    for service in view.services:
        if len(service.labels) < 2:
            continue
        if service.problem:
            unknown.append(f"{service.service}: {service.problem}")
        for metric in service.metrics:
            found = {line.label for line in metric.lines}
            unknown += [
                f"{service.service}: there is no point at which {service.labels[0]} and {label} "
                "both have a figure"
                for label in service.labels[1:]
                if label not in found
            ]
            for line in metric.lines:
                if exceeds(line, percent):
                    slower.append(line)
                elif not _everywhere(line, percent):
                    partly.append(
                        f"{service.service} of {line.label}, {METRIC_TITLES[line.metric]}: not "
                        f"slower at the {line.checked:,} points checked, of {line.size:,}"
                    )
    return GateFindings(tuple(slower), tuple(dict.fromkeys(unknown)), tuple(dict.fromkeys(partly)))


def exceeds(line: Line, percent: Fraction) -> bool:
    """Somewhere the other side is above the base by more than that."""
    if line.change is None or line.change * 100 > percent:
        return True
    by_formulas = line.basis is Basis.FORMULAS and line.verdict is Verdict.NEVER_FASTER
    return percent == 0 and by_formulas


def _everywhere(line: Line, percent: Fraction) -> bool:
    if line.basis is Basis.EVERY_POINT:
        return True
    never = line.verdict in (Verdict.NEVER_SLOWER, Verdict.EQUAL)
    return line.basis is Basis.FORMULAS and never and percent >= 0
