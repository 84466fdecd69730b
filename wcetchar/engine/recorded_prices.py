"""Prices of a characterization on a profile as pieces of functions of the profile's numbers.

A *piece* is what the pricer (``pricing``) does with recorded numbers (``recorded``): prices as
polynomials, and the guards under which they hold. The first one is recorded at the numbers of the
profile. For each number that can be changed, others are recorded where it is smaller or larger, as
far as no piece so far holds there. Pieces share atoms and polynomials.

What lines of caches take is recorded with the prices, at values of the parameters (``LinesAt``):
which lines a service loads is told for these, and which way of counting them is the shorter one
depends on prices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import price_vector
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.engine.recorded import (
    Atom,
    End,
    Guard,
    Kind,
    Recording,
    Relation,
    Terms,
)
from wcetchar.errors import InputError, NoSoundBound
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.model.path_model import PathModel
from wcetchar.model.profile_number import Place, ProfileNumber
from wcetchar.model.section_map import SectionMap
from wcetchar.model.symbolic import longest

FACTORS: Final = (
    Fraction(1, 2),
    Fraction(2),
    Fraction(1, 4),
    Fraction(4),
    Fraction(0),
    Fraction(1, 10),
    Fraction(10),
)
"""How much larger a number is where a piece is recorded beside the first one."""
MOST_PIECES: Final = 24

Ends = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Editable:
    """A number that can be changed alone. ``steps``: of the model's, that it says; ``positive``: it
    cannot be zero."""

    way: str
    text: str
    quantity: Quantity
    steps: tuple[tuple[object, ...], ...]
    positive: bool

    @property
    def ends(self) -> Ends:
        return self.quantity.low, self.quantity.nominal, self.quantity.high


@dataclass(frozen=True)
class Piece:
    """``prices``: recorded; ``guards``: under which they hold."""

    prices: PriceVector
    guards: tuple[Guard, ...]


def place_of(one: ProfileInput) -> Place:
    """In the words of a profile's file."""
    if one.steps[0] == "regions":
        return "regions", *map(str, one.steps[1:2]), *_words(one.steps[2:])
    if one.steps[1] == "in_vain_saves":
        return "core", "instruction cache", "in vain saves"
    return tuple(_words(one.steps))


def _words(steps: Iterable[object]) -> Iterable[str]:
    return (str(step).replace("_", " ") for step in steps if step != "times")


def editable(
    profile: HardwareProfile, numbers: Sequence[ProfileNumber]
) -> tuple[tuple[Editable, ...], dict[str, tuple[str, ...]]]:
    """Numbers that can be changed, each place in one of them, and those that stand for several.

    Args:
        numbers: of the profile's file; of two that say the same place, the one with fewer counts.
    """
    inputs = {place_of(one): one for one in inputs_of(profile)}
    owner: dict[Place, ProfileNumber] = {}
    for number in sorted(numbers, key=lambda n: len(n.places)):
        for place in number.places:
            if place in inputs:
                owner.setdefault(place, number)
    found: dict[str, Editable] = {}
    for number in numbers:
        mine = [place for place in number.places if owner.get(place) is number]
        if not mine:
            continue
        steps = tuple(inputs[place].steps for place in mine)
        quantity = inputs[mine[0]].quantity
        positive = quantity.unit is Unit.HERTZ or mine[0][-1] == "every"
        found[number.way] = Editable(number.way, number.text, quantity, steps, positive)
    aliases = {
        number.way: tuple(dict.fromkeys(owner[p].way for p in number.places if p in owner))
        for number in numbers
        if number.way not in found and any(p in owner for p in number.places)
    }
    return tuple(found.values()), aliases


class RecordedPrices:
    """Pieces for one characterization, profile and map."""

    def __init__(
        self,
        characterization: Characterization,
        profile: HardwareProfile,
        section_map: SectionMap,
        numbers: Sequence[Editable],
        services: Sequence[str],
        recording: Recording | None = None,
    ) -> None:
        """``recording``: that of others, to share what both are made of; ``None``: a new one."""
        self.recording = Recording() if recording is None else recording
        self.numbers = tuple(numbers)
        self.pieces: list[Piece] = []
        self._characterization = characterization
        self._profile = profile
        self._map = section_map
        self._services = services
        self._at = {steps: n for n, one in enumerate(numbers) for steps in one.steps}

    def record(self, more: Callable[[PriceVector], None]) -> None:
        """All pieces. ``more``: what is recorded with the prices of each.

        Raises:
            InputError, NoSoundBound: the profile cannot be priced as it is.
        """
        present = [one.ends for one in self.numbers]
        self.pieces.append(self._piece(present, more))
        for factor in FACTORS:
            for place, one in enumerate(self.numbers):
                if len(self.pieces) >= MOST_PIECES or (one.positive and not factor):
                    continue
                low, nominal, high = (end * factor for end in one.ends)
                values = [*present[:place], (low, nominal, high), *present[place + 1 :]]
                if self.holding(values) is not None:
                    continue
                try:
                    self.pieces.append(self._piece(values, more))
                except (InputError, NoSoundBound):
                    continue  # the pricer refuses it, so does a reader of what no piece holds for

    def _piece(self, values: Sequence[Ends], more: Callable[[PriceVector], None]) -> Piece:
        self.recording.begin()
        prices = self._priced(self._symbolic(values))
        more(prices)
        return Piece(prices, tuple(self.recording.guards))

    def _priced(self, profile: HardwareProfile) -> PriceVector:
        return price_vector(self._characterization, profile, self._map, self._services)

    def holding(self, values: Sequence[Ends]) -> Piece | None:
        """The first piece that holds at these values of the numbers."""
        at = Evaluated(self.recording, values)
        return next((p for p in self.pieces if all(map(at.holds, p.guards))), None)

    def _symbolic(self, values: Sequence[Ends]) -> HardwareProfile:
        def instead(one: ProfileInput) -> Quantity:
            place = self._at.get(one.steps)
            if place is None:
                return one.quantity
            number, (low, nominal, high) = self.numbers[place], values[place]
            recorded = self.recording.number(place, End.LOW, low, positive=number.positive)
            if number.quantity.is_exact:
                return Quantity(recorded, recorded, recorded, one.quantity.unit)
            middle = recorded + self.recording.number(place, End.NOMINAL, nominal - low)
            upper = middle + self.recording.number(place, End.HIGH, high - nominal)
            return Quantity(recorded, middle, upper, one.quantity.unit)

        return with_inputs(self._profile, instead)


class RecordedPathPrices(RecordedPrices):
    """The same of what the path models of these services count (``path_prices``)."""

    @property
    def models(self) -> tuple[PathModel, ...]:
        paths = self._characterization.paths
        return tuple(model for model in paths if model.service in self._services)

    def _priced(self, profile: HardwareProfile) -> PriceVector:
        # Only here, so that a table is priced where no solver is installed.
        from wcetchar.engine.path_prices import path_prices

        # Which region is the cheapest hangs on prices, and no bound does on it.
        return path_prices(self._characterization, profile, self._map, self.models, cheapest=False)


class Evaluated:
    """Polynomials at values of the numbers."""

    def __init__(self, recording: Recording, values: Sequence[Ends]) -> None:
        self._recording = recording
        self._values = values
        self._atoms: dict[int, Fraction] = {}

    def holds(self, guard: Guard) -> bool:
        value = self.of(self._recording.polynomials[guard.polynomial])
        match guard.relation:
            case Relation.POSITIVE:
                return value > 0
            case Relation.NOT_NEGATIVE:
                return value >= 0
            case Relation.ZERO:
                return value == 0
            case Relation.NOT_ZERO:
                return value != 0
            case Relation.WHOLE:
                return value.denominator == 1
            case Relation.NOT_WHOLE:
                return value.denominator != 1

    def of(self, terms: Terms) -> Fraction:
        total = Fraction(0)
        for monomial, coefficient in terms:
            product = Fraction(coefficient)
            for atom, exponent in monomial:
                product *= self._atom(atom) ** exponent
            total += product
        return total

    def _atom(self, number: int) -> Fraction:
        if number not in self._atoms:
            self._atoms[number] = self._made(self._recording.atoms[number])
        return self._atoms[number]

    def _made(self, atom: Atom) -> Fraction:
        if atom.kind is Kind.NUMBER:
            low, nominal, high = self._values[atom.of[0]]
            return {End.LOW: low, End.NOMINAL: nominal - low, End.HIGH: high - nominal}[atom.end]
        inner = [self.of(self._recording.polynomials[number]) for number in atom.of]
        if atom.kind is Kind.MOST:
            return max(inner)
        if atom.kind is Kind.LONGEST:
            values: dict[Fraction, int] = {}
            for value, number in zip(inner, atom.times[1:], strict=True):
                values[value] = values.get(value, 0) + number
            return longest(values, atom.times[0])
        return Fraction(inner[0].__floor__()) if atom.kind is Kind.FLOOR else 1 / inner[0]
