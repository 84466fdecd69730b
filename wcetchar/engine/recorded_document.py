"""Everything that a program elsewhere needs to estimate services at other numbers of a profile and
at other values of parameters, as one plain document (lists, mappings, texts and whole numbers).

Prices are pieces of functions of the profile's numbers (``recorded_prices``). Path models stand in
it with prices of their own (``recorded_paths``). Counts are as they
are published: formulas of parameters as trees, or tables. What is made of the two (``estimate``,
``blocking``, ``chains``) is done again by whoever reads the document; the tests hold the one that
is shipped (``report/templates/evaluator*.js``) against :func:`estimate_given`.

What lines of caches take hangs on values of parameters in ways that are no formula, so it stands in
the document for single values: all of a service, where these are few, else those that are reached
from the present ones by changing one parameter, and those that were observed. At others the
document says nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Final

from wcetchar import formula
from wcetchar.engine.blocking import notes_of_stretch
from wcetchar.engine.counts import calls_inside, last_call, used_parameters
from wcetchar.engine.lines import Caches, LoadedLines
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import can_follow, leads_on
from wcetchar.engine.recorded import Guard, Kind, Monomial, Recording, terms_of
from wcetchar.engine.recorded_paths import Written, paths_document
from wcetchar.engine.recorded_prices import (
    Editable,
    RecordedPathPrices,
    RecordedPrices,
    editable,
)
from wcetchar.engine.refills import Loaded, Refills
from wcetchar.errors import InputError, one_line
from wcetchar.model.access import CoreEvent, EventKind, Key, Succession, key_order
from wcetchar.model.chain import Gap
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    ServiceCharacterization,
    TraceSection,
)
from wcetchar.model.expression import (
    Binary,
    Call,
    Compare,
    Expression,
    Name,
    Negate,
    Number,
)
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.interval import Interval
from wcetchar.model.profile_number import ProfileNumber
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Parameter, ParameterKind

SCHEMA: Final = "wcetchar/evaluator/1"
MOST_LINES: Final = 200
"""Values of the parameters of a service, at most, for which what lines of caches take is told."""
MOST_FOLLOWING: Final = 1000
"""The same of what goes on with a service: there is no telling which values are asked for."""
_EXACT_IN_JSON: Final = 2**53

Plain = Any
"""Of JSON."""
Values = tuple[int, ...]


def evaluator_document(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    numbers: Sequence[ProfileNumber],
    services: Sequence[str] | None = None,
) -> dict[str, Plain]:
    """The document.

    Args:
        numbers: of the profile's file, that a reader may change.
        services: by name; ``None``: all.

    Raises:
        InputError: as of :func:`price_vector`.
    """
    names = [s.name for s in characterization.services if services is None or s.name in services]
    changed, aliases = editable(profile, numbers)
    prices = RecordedPrices(characterization, profile, section_map, changed, names)
    writer = _Writer(characterization, section_map, names, prices)
    prices.record(writer.take)
    paths = RecordedPathPrices(
        characterization, profile, section_map, changed, names, prices.recording
    )
    over_all_paths = paths_document(paths, writer.written)
    return {
        "schema": SCHEMA,
        "kernel": one_line(characterization.kernel.name),
        "profile": one_line(profile.name),
        "map": one_line(section_map.name),
        "numbers": [_number(one) for one in changed],
        "aliases": {alias: list(of) for alias, of in aliases.items()},
        "given": dict(section_map.parameters),
        "off": {
            name: [count.low, count.nominal, count.high]
            for name, count in section_map.uncertain.items()
        },
        **writer.document(),
        "paths": over_all_paths,
    }


def _number(one: Editable) -> dict[str, Plain]:
    place = one.way.split(".")
    return {
        "way": one.way,
        "text": one.text,
        "unit": one.quantity.unit.value,
        "group": ".".join(place[:2]) if place[0] == "regions" else place[0],
        "ends": [_rational(end) for end in one.ends],
        "exact": one.quantity.is_exact,
        "positive": one.positive,
    }


def _rational(value: Fraction | int) -> Plain:
    """A whole number, or a text ``3/2``; large ones as text."""
    if value.denominator == 1 and abs(value.numerator) < _EXACT_IN_JSON:
        return value.numerator
    return f"{value.numerator}/{value.denominator}" if value.denominator != 1 else str(value)


class _Graph:
    """Polynomials and atoms that are needed, numbered as they are written."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._places: dict[int, int] = {}
        self._atoms: dict[int, int] = {}
        self.polynomials: list[Plain] = []
        self.atoms: list[Plain] = []

    def place(self, number: int) -> int:
        """Of a polynomial of the recording."""
        if number not in self._places:
            terms = [
                [_rational(coefficient), *self._monomial(monomial)]
                for monomial, coefficient in self._recording.polynomials[number]
            ]
            self._places[number] = len(self.polynomials)
            self.polynomials.append(terms)
        return self._places[number]

    def _monomial(self, monomial: Monomial) -> Iterator[int]:
        """Atoms, each with its exponent."""
        for atom, exponent in monomial:
            yield from (self._atom(atom), exponent)

    def _atom(self, number: int) -> int:
        if number not in self._atoms:
            atom = self._recording.atoms[number]
            made: list[Plain]
            if atom.kind is Kind.NUMBER:
                made = [atom.end.value, *atom.of]
            else:
                made = [atom.kind.value, *map(self.place, atom.of)]
            if atom.times:
                made.append(list(atom.times))
            self._atoms[number] = len(self.atoms)
            self.atoms.append(made)
        return self._atoms[number]


@dataclass
class _Interned:
    """Plain values, each once."""

    values: list[Plain] = field(default_factory=list)
    _known: dict[Any, int] = field(default_factory=dict)

    def place(self, key: Any, value: Plain) -> int:
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append(value)
        return self._known[key]


class _Writer:
    """Collects one piece after the other."""

    def __init__(
        self,
        characterization: Characterization,
        section_map: SectionMap,
        names: Sequence[str],
        prices: RecordedPrices,
    ) -> None:
        self._map = section_map
        self._recorded = prices
        self._recording = prices.recording
        self._graph = _Graph(prices.recording)
        chosen = set(names)
        leads = any(
            leads_on(stretch)
            for s in characterization.services
            if s.name in chosen
            for stretch in s.stretches
        )
        self._services = [
            s
            for s in characterization.services
            if s.name in chosen or (leads and any(map(can_follow, s.stretches)))
        ]
        self._chosen = chosen
        self._keys: dict[Key, int] = {}
        self._key_sections: dict[Key, int] = {}
        self._formulas = _Interned()
        self._blockings = _Interned()
        self._loaded = _Interned()
        self._pieces: list[dict[str, Plain]] = []
        self._clock: Fraction | None = None

    def take(self, prices: PriceVector) -> None:
        """What is written of a piece, while its guards are collected."""
        if not self._keys:
            ordered = sorted(prices, key=key_order)
            self._keys = {key: place for place, key in enumerate(ordered)}
        self._clock = prices.profile.core.clock.low
        lines: list[Plain] = []
        followers: list[Plain] = []
        if prices.caches:
            for service in self._services:
                chosen = service.name in self._chosen
                lines.append(self._lines(prices, service) if chosen else None)
                followers.append(self._followers(prices.caches.of_followers, service))
        self._pieces.append(
            {
                "prices": [self._polynomial(prices[key].time.high) for key in self._keys],
                "regions": [one_line(prices[key].region) for key in self._keys],
                "blocked": [
                    [self._keys[key], self._polynomial(price.time.high)]
                    for key, price in prices.blocked.items()
                ],
                "recurring": [
                    [self._polynomial(takes), self._polynomial(every)]
                    for takes, every in prices.rate.recurring
                ],
                "before": self._polynomial(prices.rate.before),
                "notes": list(map(one_line, prices.notes)),
                "left": self._left_out(prices),
                "caches": [self._cache(cache) for cache in prices.caches.of_core],
                "lines": lines,
                "followers": followers,
            }
        )

    def document(self) -> dict[str, Plain]:
        assert self._clock is not None
        clock = self._polynomial(self._clock)
        guards = [self._guards(piece.guards) for piece in self._recorded.pieces]
        services = [self._service(service) for service in self._services]
        pieces = [{"guards": its, **piece} for its, piece in zip(guards, self._pieces, strict=True)]
        return {
            "clock": clock,
            "atoms": self._graph.atoms,
            "polynomials": self._graph.polynomials,
            "keys": [_key(key) for key in self._keys],
            "gaps": {gap.name: gap.value for gap in Gap},
            "formulas": self._formulas.values,
            "blockings": self._blockings.values,
            "loaded": self._loaded.values,
            "pieces": pieces,
            "services": services,
        }

    @property
    def written(self) -> Written:
        """For what else stands in the document."""
        return Written(self._polynomial, self._formula, self._guards)

    def _guards(self, guards: Sequence[Guard]) -> Plain:
        return [[self._graph.place(guard.polynomial), guard.relation.value] for guard in guards]

    def _formula(self, expression: Expression) -> int:
        return self._formulas.place(expression, [formula.to_text(expression), tree(expression)])

    def _polynomial(self, number: Fraction) -> int:
        return self._graph.place(self._recording.polynomial(terms_of(number)))

    def _left_out(self, prices: PriceVector) -> list[int]:
        """Keys that no table shows, as they have no price of their own."""
        return [
            place
            for key, place in self._keys.items()
            if isinstance(key, CoreEvent)
            and key.kind.is_stall
            and not prices.profile.core.prices(key.kind)
        ]

    def _cache(self, cache: Any) -> dict[str, Plain]:
        return {
            section: [
                one_line(str(cache.key(section)).strip()),
                one_line(section),
                one_line(region),
                self._polynomial(time.high),
            ]
            for section, (region, time) in cache.price.items()
        }

    def _lines(self, prices: PriceVector, service: ServiceCharacterization) -> Plain:
        """By values of all parameters; what the service and each of its stretches loads."""
        stretches = [prices.caches.of_stretch(service, stretch) for stretch in service.stretches]

        def at(values: Values) -> Plain:
            try:
                each = [cache.ways(service, values) for cache in prices.caches.of_core]
                of = [[self._way(way) for way in ways] for ways in each]
                # Whichever of the ways it is.
                shortest = [
                    replace(ways[0], unhidden=reduce(Interval.shorter, (w.unhidden for w in ways)))
                    for ways in each
                ]
                lines = LoadedLines(tuple(shortest))
                own = [self._polynomial(time(values, lines).high) for time in stretches]
                return [of, self._polynomial(lines.unhidden.high), own]
            except InputError as error:
                return error.message

        return self._table(service.parameters, self._points(service), at)

    def _way(self, one: Refills) -> Plain:
        """Misses by section, what they take, whether that was observed, and the time by which one
        of several ways is chosen."""
        return [
            [[section, number] for section, number in one.misses.items()],
            {section: self._polynomial(time.high) for section, time in one.time.items()},
            int(one.exact),
            self._polynomial(one.unhidden.high),
        ]

    def _points(self, service: ServiceCharacterization) -> list[Values] | None:
        """``None``: all."""
        ranges = [range(p.minimum, p.maximum + 1) for p in service.parameters]
        if math.prod(map(len, ranges)) <= MOST_LINES:
            return None
        given = {**{n: c.nominal for n, c in self._map.uncertain.items()}, **self._map.parameters}
        present = tuple(
            min(max(given.get(p.name, p.minimum), p.minimum), p.maximum) for p in service.parameters
        )
        found: dict[Values, None] = {present: None}
        evidence = service.evidence
        found.update(dict.fromkeys([*evidence.fitted, *evidence.held_out]))
        for place, values in enumerate(ranges):
            for value in values[:MOST_LINES]:
                found[(*present[:place], value, *present[place + 1 :])] = None
        return list(found)[:MOST_LINES]

    def _followers(self, caches: Caches, service: ServiceCharacterization) -> Plain:
        """Of each stretch that can follow, and of the service as a whole where it is a handler."""
        found: list[Plain] = []
        for stretch in service.stretches:
            loaded = caches.of_follower(service, stretch) if can_follow(stretch) else None
            found.append(loaded and self._follower(loaded, service, stretch.counts))
        handler = any(Joint.HANDLER in (s.goes_on_from or ()) for s in service.stretches)
        loaded = caches.of_follower(service, None) if handler else None
        found.append(loaded and self._follower(loaded, service, service.counts))
        return found

    def _follower(self, loaded: Loaded, service: ServiceCharacterization, counts: Counts) -> Plain:
        """Names that it depends on, and what it takes at their values. ``counts``: of it."""

        def at(values: Values) -> Plain:
            by_name = dict(zip((p.name for p in used), values, strict=True))
            whole = tuple(by_name.get(p.name, p.minimum) for p in service.parameters)
            try:
                return self._polynomial(loaded.at(whole).high)
            except InputError as error:
                return error.message

        # What is loaded hangs on counts as well, so on what these hang on.
        names = tuple(p.name for p in service.parameters)
        hangs = loaded.used | used_parameters(counts, names)
        used = [p for p in service.parameters if p.name in hangs]
        size = math.prod(p.maximum - p.minimum + 1 for p in used)
        points: list[Values] | None = [] if size > MOST_FOLLOWING else None
        return [[p.name for p in used], self._table(used, points, at)]

    def _table(
        self, parameters: Sequence[Parameter], points: list[Values] | None, at: Any
    ) -> Plain:
        """A single entry; a list of one for all values, in order; or single values by text."""
        if points is not None:
            return {",".join(map(str, v)): self._entry(at(v)) for v in points}
        ranges = [range(p.minimum, p.maximum + 1) for p in parameters]
        found = [self._entry(at(values)) for values in itertools.product(*ranges)]
        return found[0] if len(set(found)) == 1 else found

    def _entry(self, value: Plain) -> int:
        return self._loaded.place(repr(value), value)

    def _service(self, service: ServiceCharacterization) -> dict[str, Plain]:
        evidence, points = service.evidence, service.counts.points
        seen = {*evidence.fitted, *evidence.held_out, *(point.values for point in points)}
        return {
            "name": one_line(service.name),
            "chosen": service.name in self._chosen,
            "word": service.word.value,
            "description": one_line(service.description),
            "parameters": [self._parameter(one) for one in service.parameters],
            "counts": self._counts(service.counts),
            "seen": sorted(map(list, seen)),
            "known": service.stretches_known,
            "notes": list(map(one_line, service.notes)),
            "stretches": [self._stretch(one) for one in service.stretches],
        }

    def _parameter(self, one: Parameter) -> dict[str, Plain]:
        return {
            "name": one.name,
            "minimum": one.minimum,
            "maximum": one.maximum,
            "meaning": one_line(one.meaning),
            "kind": one.kind.value,
            "case": one.kind is ParameterKind.CASE,
            "value": self._map.parameters.get(one.name),
        }

    def _stretch(self, one: BlockingStretch) -> dict[str, Plain]:
        return {
            "kind": one.kind.value,
            "where": one_line(f"{one.begin} to {one.end}"),
            "counts": self._counts(one.counts),
            "from": _joints(one.goes_on_from),
            "in": _joints(one.goes_on_in),
            "inside": calls_inside(one),
            "last": last_call(one),
            "notes": list(map(one_line, notes_of_stretch(one))),
        }

    def _counts(self, counts: Counts) -> Plain:
        if counts.is_formula:
            return {"rows": [self._row(row) for row in counts.rows]}
        return {
            "points": [
                [list(point.values), [self._row(row) for row in point.rows]]
                for point in counts.points
            ]
        }

    def _row(self, row: TraceSection) -> Plain:
        counted = [[self._keys[key], count] for key, count in row.vector.items()]
        return [
            self._formula(row.repetition),
            self._blocking(row.blocking),
            [number for pair in sorted(counted) for number in pair],
        ]

    def _blocking(self, one: Blocking) -> int:
        return self._blockings.place(one, [str(one), int(one.masks), int(one.holds_preemption)])


def _joints(joints: frozenset[Joint] | None) -> list[str] | None:
    return None if joints is None else [joint.value for joint in Joint if joint in joints]


def _key(key: Key) -> Plain:
    """Text, section, what it is: 0 an access, 1 an event, 2 a supervisor call, 3 one that no table
    shows where it costs nothing."""
    kind = 0
    if isinstance(key, Succession):
        kind = 3
    elif isinstance(key, CoreEvent):
        kind = 3 if key.kind.is_of_data_cache else 1
        kind = 2 if key.kind is EventKind.SUPERVISOR_CALL else kind
    return [one_line(str(key).strip()), one_line(key.section), kind]


def tree(expression: Expression) -> Plain:
    """A formula as nested lists: ``["+", "N", 1]``, ``["ceil", ["/", "size", 4]]``."""
    match expression:
        case Number(value):
            return value if abs(value) < _EXACT_IN_JSON else ["number", str(value)]
        case Name(name):
            return name
        case Negate(operand):
            return ["negate", tree(operand)]
        case Binary(operator, left, right):
            return [operator.value, tree(left), tree(right)]
        case Compare(comparison, left, right):
            return [comparison.value, tree(left), tree(right)]
        case Call(function, arguments):
            return [function.value, *map(tree, arguments)]
