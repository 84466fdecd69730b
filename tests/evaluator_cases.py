"""The page's evaluator against the estimate of a profile that was written anew: what both find."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, Phase, settings

from wcetchar import store
from wcetchar.engine import Following, estimate_given, price_vector
from wcetchar.engine.parameter_box import narrowed
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.engine.recorded_document import evaluator_document
from wcetchar.engine.recorded_prices import place_of
from wcetchar.errors import InputError, one_line
from wcetchar.model.characterization import Characterization
from wcetchar.model.estimate import Estimate, OverAllPaths
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.model.profile_number import ProfileNumber
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import ParameterKind
from wcetchar.pipeline import estimate as pipeline
from wcetchar.pipeline.all_paths import PathPrices, box_of, over_all_paths, path_prices_of
from wcetchar.report.evaluator import script
from wcetchar.report.numbers import grouped
from wcetchar.report.view import class_name, view_of
from wcetchar.store.profile_numbers import ProfileNumbers
from wcetchar.store.quantity import Dimension, parse_quantity, quantity_text, scaled_text

# Each example starts node, so what fails is not made smaller.
QUICK = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate),
)

_READ = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const evaluator = require("vm").runInThisContext(given.script + "wcetcharEvaluator;");
const { document, cases, last } = given;
"""
_RUN = f"""{_READ}
const found = cases.map((one) => evaluator.evaluate(document, ...one));
process.stdout.write(JSON.stringify(found));
"""

_RUN_PATHS = f"""{_READ}
const found = cases.map((one) => evaluator.evaluatePaths(document, ...one));
process.stdout.write(JSON.stringify(found));
"""
_TIME = f"""{_READ}
for (const one of cases.slice(0, -last)) evaluator[given.what](document, ...one);
const begun = process.cpuUsage();
for (const one of cases.slice(-last)) evaluator[given.what](document, ...one);
const taken = process.cpuUsage(begun);
process.stdout.write(String((taken.user + taken.system) / 1000));
"""


@dataclass(frozen=True)
class Case:
    """``numbers``: text by way, ``parameters``: as of ``--set``."""

    service: str
    parameters: Mapping[str, int]
    numbers: Mapping[str, str]


class InMemory:
    """Numbers of a profile that is in no file, as of ``ProfileNumbers``."""

    def __init__(self, profile: HardwareProfile) -> None:
        self._profile = profile
        self._inputs = {".".join(place_of(one)): one for one in inputs_of(profile)}

    def held(self) -> tuple[ProfileNumber, ...]:
        """All that have a text."""
        found = []
        for way, one in self._inputs.items():
            with suppress(ValueError):
                text = quantity_text(one.quantity)
                found.append(ProfileNumber(way, text, (place_of(one),)))
        return tuple(found)

    def named(self, way: str) -> Any:
        return way

    def with_values(self, values: Mapping[Any, str]) -> HardwareProfile:
        def instead(one: ProfileInput) -> Quantity:
            text = values.get(".".join(place_of(one)))
            if text is None:
                return one.quantity
            clock = one.quantity.unit is Unit.HERTZ
            return parse_quantity(text, Dimension.FREQUENCY if clock else Dimension.TIME)

        return with_inputs(self._profile, instead)


class Both:
    """One characterization on one profile and map, in Python and in JavaScript."""

    @classmethod
    def of_files(cls, characterization: str, profile: str, section_map: str | None) -> Both:
        numbers = ProfileNumbers(profile)
        where = pipeline.map_of(numbers.with_values({}), profile, section_map)
        return cls(store.load_characterization(characterization), numbers, where)

    def __init__(
        self,
        characterization: Characterization,
        numbers: ProfileNumbers | InMemory,
        section_map: SectionMap,
    ) -> None:
        self.characterization = characterization
        self.numbers = numbers
        self.profile = numbers.with_values({})
        self.map = section_map
        self.document = evaluator_document(
            self.characterization, self.profile, self.map, self.numbers.held()
        )
        self._priced: dict[tuple[tuple[str, str], ...], Any] = {}
        self._paths_priced: dict[tuple[tuple[str, str], ...], PathPrices] = {}

    def random_cases(self, count: int, draw: random.Random, of_each: int = 4) -> list[Case]:
        """Several services at each of some sets of numbers, the profile's own first."""
        found: list[Case] = []
        while len(found) < count:
            numbers = self.random_numbers(draw) if found else {}
            for _ in range(of_each):
                service = draw.choice(self.characterization.services)
                values = {}
                for one in service.parameters:
                    if one.kind is ParameterKind.CASE and draw.random() < 0.5:
                        continue
                    inside = self.map.parameters.get(one.name)
                    if inside is not None and draw.random() < 0.3:
                        continue
                    values[one.name] = draw.choice(
                        [one.minimum, one.maximum, draw.randint(one.minimum, one.maximum)]
                    )
                found.append(Case(service.name, values, numbers))
        return found[:count]

    def random_numbers(self, draw: random.Random) -> dict[str, str]:
        """One to three numbers, each between a tenth and ten times as large, most near."""
        found = {}
        known = self.document["numbers"]
        for one in draw.sample(known, k=min(len(known), draw.choice([1, 1, 1, 2, 3]))):
            percent = draw.choice([50, 200, 125, draw.randint(10, 1000), draw.randint(80, 120)])
            text = scaled_text(one["text"], Fraction(percent, 100))
            if one["unit"] == "cycles" and draw.random() < 0.7:
                whole = draw.randint(0, 8)
                text = f"{whole} cycles" if one["exact"] else f"{whole}..{whole + 2} cycles"
            found[one["way"]] = text
        return found

    def milliseconds(self, cases: Sequence[Case], last: int, what: str = "evaluate") -> float:
        """What node takes for the last so many of these cases, one after the other."""
        return float(self._by_node(_TIME, cases, last, what))

    def javascript(self, cases: Sequence[Case]) -> list[dict[str, Any]]:
        """What the page finds, by node."""
        found: list[dict[str, Any]] = json.loads(self._by_node(_RUN, cases))
        return found

    def javascript_paths(self, cases: Sequence[Case]) -> list[dict[str, Any] | None]:
        """What it finds over all paths."""
        found: list[dict[str, Any] | None] = json.loads(self._by_node(_RUN_PATHS, cases))
        return found

    def _by_node(self, program: str, cases: Sequence[Case], last: int = 0, what: str = "") -> str:
        asked = [[c.service, c.parameters, c.numbers] for c in cases]
        given = {"script": script(), "document": self.document, "cases": asked}
        given |= {"last": last, "what": what}
        command = ["node", "-e", program]
        run = subprocess.run(
            command, input=json.dumps(given), capture_output=True, text=True, check=True
        )
        return run.stdout

    def python(self, case: Case) -> dict[str, Any]:
        """What the estimate finds; ``refused``: why there is none."""
        try:
            return _shown(self.estimate(case))
        except InputError as error:
            return {"refused": str(error)}

    def estimate(self, case: Case) -> Estimate:
        key = tuple(sorted(case.numbers.items()))
        if key not in self._priced:
            self._priced.clear()
            self._priced[key] = self._prices(case)
        prices = self._priced[key]
        if isinstance(prices, InputError):
            raise prices
        service = next(s for s in self.characterization.services if s.name == case.service)
        given = {**self.map.parameters, **case.parameters}
        uncertain = {n: c for n, c in self.map.uncertain.items() if n not in case.parameters}
        off = {n: range(c.low, c.high + 1) for n, c in uncertain.items()}
        own = {p.name: given[p.name] for p in service.parameters if p.name in given}
        searched = any(p.name in uncertain for p in service.parameters)
        following = Following(self.characterization, prices, {**off, **given})
        return estimate_given(narrowed(service, uncertain), prices, own, following, searched)

    def paths(self, case: Case, found: Estimate) -> OverAllPaths | None:
        """Beside ``found``."""
        key = tuple(sorted(case.numbers.items()))
        if key not in self._paths_priced:
            self._paths_priced.clear()
            self._paths_priced[key] = path_prices_of(
                self.characterization,
                self.characterization.services,
                self.edited(case.numbers),
                self.map,
            )
        service = next(s for s in self.characterization.services if s.name == case.service)
        model = next((m for m in self.characterization.paths if m.service == case.service), None)
        given = {**self.map.parameters, **case.parameters}
        uncertain = {n: c for n, c in self.map.uncertain.items() if n not in case.parameters}
        box = box_of(service, found.parameters, given, uncertain)
        return over_all_paths(model, self._paths_priced[key], box, found.parameters)

    def _prices(self, case: Case) -> Any:
        try:
            profile = self.edited(case.numbers)
            names = [service.name for service in self.characterization.services]
            return price_vector(self.characterization, profile, self.map, names)
        except InputError as error:
            return error

    def edited(self, numbers: Mapping[str, str]) -> HardwareProfile:
        return self.numbers.with_values(
            {self.numbers.named(way): text for way, text in numbers.items()}
        )


def _shown(found: Estimate) -> dict[str, Any]:
    """As the page shows it."""
    view = view_of(found)

    def time(value: Fraction) -> dict[str, str]:
        cycles = value * found.core_clock_hz / 1_000_000_000
        return {
            "num": str(value.numerator),
            "den": str(value.denominator),
            "ns": grouped(value),
            "cycles": grouped(cycles),
        }

    at = [found.interrupts_at or found.parameters, found.preemption_at or found.parameters]
    return {
        "outside": None,
        "total": {**time(found.total.high), "cycles": grouped(view.total_cycles)},
        "word": view.word.value,
        "parameters": dict(found.parameters),
        "sections": [
            {
                "section": row.section,
                "repetition": row.repetition,
                "repetitions": str(row.repetitions),
                "blocking": row.blocking,
                "time": time(row.ns),
            }
            for row in view.sections
        ],
        "columns": [
            {
                "key": class_name(column.key),
                "section": one_line(column.key.section),
                "region": one_line(column.region),
                "count": str(column.count),
                "price": time(column.price.high),
                "time": time(column.time.high),
            }
            for column in found.columns
        ],
        "blocking": [
            {
                "kind": part.kind,
                "time": time(part.ns),
                "word": part.word.value,
                "own": time(part.own_ns),
                "ownWhere": part.own_where,
                "where": part.where,
                "links": [
                    {
                        "service": link.service,
                        "where": link.where,
                        "parameters": dict(link.parameters),
                        "time": time(link.ns),
                    }
                    for link in part.links
                ],
                "gaps": list(part.gaps),
                "parameters": dict(values),
            }
            for part, values in zip(view.blocking, at, strict=True)
        ],
        "notes": list(view.notes),
    }


def compared(both: Both, cases: Sequence[Case]) -> tuple[int, list[str]]:
    """How many cases the page could compute, and the reasons of the others.

    Raises:
        AssertionError: it computed something else than the estimate.
    """
    inside, reasons = 0, []
    for case, page in zip(cases, both.javascript(cases), strict=True):
        if page["outside"] is not None:
            reasons.append(page["outside"])
            continue
        expected = both.python(case)
        assert "refused" not in expected, (case, expected, page["total"])
        mine = {name: page[name] for name in expected}
        for name, value in expected.items():
            assert mine[name] == value, (case, name, mine[name], value)
        inside += 1
    return inside, reasons


def paths_compared(both: Both, cases: Sequence[Case]) -> tuple[int, list[str]]:
    """The same of what holds over all paths."""
    inside, reasons = 0, []
    for case, page in zip(cases, both.javascript_paths(cases), strict=True):
        if page is not None and page["outside"] is not None:
            reasons.append(page["outside"])
            continue
        over = both.paths(case, both.estimate(case))
        if page is None or over is None:
            assert page is over is None, (case, page, over)
            continue
        mine = {key: page[key] for key in ("word", "why", "time", "interrupts", "preemption")}
        for key in ("time", "interrupts", "preemption"):
            value = mine[key]
            mine[key] = value and Fraction(int(value["num"]), int(value["den"]))
        expected = {key: getattr(over, key) for key in mine}
        expected |= {"word": over.word.value, "why": one_line(over.why)}
        assert mine == expected, (case, mine, expected)
        inside += 1
    return inside, reasons
