"""Prices as functions of the numbers of a profile, recorded from the pricer's own arithmetic.

The pricer is run with :class:`Recorded` numbers in the place of a profile's. Each is a value, which
every comparison is decided by, and beside it the polynomial that the value comes from::

    number     = sum of  coefficient * product of  atom ** exponent          exact rationals
    atom       = a number of the profile, the largest of several numbers, the sum of the largest
                 so many, floor of a number, or 1 / (a number that is a sum)

Numbers of a profile are never negative, and an interval low <= nominal <= high has the atoms low,
nominal - low and high - nominal. So many comparisons come out the same way at all values (``a <= a
+ b``), and these are decided without a word. Every other one is a *guard*: the sign of a
difference, or that a number is whole. What was recorded is what the pricer finds at any values at
which all guards come out the same: it asks nothing else of its numbers, takes the same way through
its code, and does the same arithmetic. So it cannot be too low there, nor too high; elsewhere it
says nothing.

A number that is asked for anything else, such as its numerator, fails: then a way would be taken
that no guard tells of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, NoReturn

from wcetchar.model.symbolic import Symbolic, longest

Monomial = tuple[tuple[int, int], ...]
"""Atoms and their exponents, in order; none: 1."""
Coefficient = Fraction | int
"""Whole ones as such: that is faster."""
Terms = tuple[tuple[Monomial, Coefficient], ...]
"""A polynomial: monomials in order, each with what it is multiplied by; none: 0."""
_DEEPEST: Final = 3
"""Of atoms that are looked into to see whether a number can be negative."""
_MOST_LARGEST: Final = 3
"""Of a number: with more that are largest ones, nothing is proved, for that takes long."""


class Kind(StrEnum):
    NUMBER = "number"
    MOST = "most"
    FLOOR = "floor"
    INVERSE = "inverse"
    LONGEST = "longest"


class End(StrEnum):
    """Of a number of the profile, what is added to the one before."""

    LOW = "low"
    NOMINAL = "nominal"
    HIGH = "high"


class Relation(StrEnum):
    """Of what is guarded."""

    POSITIVE = ">0"
    NOT_NEGATIVE = ">=0"
    ZERO = "=0"
    NOT_ZERO = "!=0"
    WHOLE = "whole"
    NOT_WHOLE = "not whole"


@dataclass(frozen=True)
class Atom:
    """``of``: polynomials, by number, that it is made of; a number of the profile: its place and
    end; ``times``: of the sum of the largest, how many these are, and how often each is there.
    ``positive``: never zero; ``signed``: may be negative."""

    kind: Kind
    of: tuple[int, ...] = ()
    end: End = End.LOW
    times: tuple[int, ...] = ()
    positive: bool = False
    signed: bool = False


@dataclass(frozen=True)
class Guard:
    polynomial: int
    relation: Relation


@dataclass
class Recording:
    """Atoms and polynomials that several pieces share, each once, and the guards of one piece."""

    atoms: list[Atom] = field(default_factory=list)
    polynomials: list[Terms] = field(default_factory=list)
    guards: dict[Guard, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._atoms: dict[Atom, int] = {}
        self._polynomials: dict[Terms, int] = {}
        self._proved: dict[Terms, bool] = {}
        self.decided: dict[tuple[int, int, Relation], bool] = {}
        """Of this piece: what came out of comparisons of two polynomials."""

    def begin(self) -> None:
        """Another piece."""
        self.guards, self.decided = {}, {}

    def number(self, place: int, end: End, value: Fraction, *, positive: bool = False) -> Fraction:
        """That of a profile at a place, or what its end is more than the one before."""
        atom = self.atom(Atom(Kind.NUMBER, (place,), end, positive=positive))
        return Recorded(self, ((((atom, 1),), 1),), value)

    def atom(self, one: Atom) -> int:
        return self._atoms.setdefault(one, self._added(self.atoms, one, self._atoms))

    def polynomial(self, terms: Terms) -> int:
        """Its number."""
        return self._polynomials.setdefault(
            terms, self._added(self.polynomials, terms, self._polynomials)
        )

    def plain(self, number: Fraction | int) -> int:
        """The polynomial of a number that is always the same."""
        return self.polynomial(terms_of(number))

    @staticmethod
    def _added(kept: list[Any], one: Any, known: dict[Any, int]) -> int:
        if one not in known:
            kept.append(one)
        return len(kept) - 1

    def made(self, terms: dict[Monomial, Coefficient], value: Fraction) -> Fraction:
        """A number of these terms; a plain one, where it is always the same."""
        kept = ordered(terms)
        if not kept:
            return Fraction(0)
        if kept[0][0] == () and len(kept) == 1:
            return Fraction(kept[0][1])
        return Recorded(self, kept, value)

    def of_atom(self, atom: Atom, value: Fraction) -> Fraction:
        return Recorded(self, ((((self.atom(atom), 1),), 1),), value)

    def guard(self, terms: Terms, value: Fraction, asked: Relation) -> bool:
        """Whether ``terms`` are as asked at the values; remembered, unless it is so at all."""
        if asked is Relation.NOT_NEGATIVE and self.is_never_negative(terms):
            return True
        if asked is Relation.POSITIVE and self.is_positive(terms):
            return True
        opposite = negated(terms)
        if asked is Relation.POSITIVE and self.is_never_negative(opposite):
            return False
        if asked is Relation.NOT_NEGATIVE and self.is_positive(opposite):
            return False
        if asked is Relation.ZERO and (self.is_positive(terms) or self.is_positive(opposite)):
            return False
        if asked is Relation.POSITIVE:
            holds = value > 0
        elif asked is Relation.NOT_NEGATIVE:
            holds = value >= 0
        elif asked is Relation.ZERO:
            holds = value == 0
        else:
            holds = value.denominator == 1
        if holds:
            self._remember(terms, asked)
        elif asked is Relation.POSITIVE:
            self._remember(opposite, Relation.NOT_NEGATIVE)
        elif asked is Relation.NOT_NEGATIVE:
            self._remember(opposite, Relation.POSITIVE)
        elif asked is Relation.ZERO:
            self._remember(terms, Relation.NOT_ZERO)
        else:
            self._remember(terms, Relation.NOT_WHOLE)
        return holds

    def _remember(self, terms: Terms, relation: Relation) -> None:
        if relation in (Relation.ZERO, Relation.NOT_ZERO) and terms[0][1] < 0:
            terms = negated(terms)
        # A positive factor changes no sign.
        if relation not in (Relation.WHOLE, Relation.NOT_WHOLE):
            factor = abs(Fraction(1) * terms[0][1])
            terms = tuple((m, _simple(c / factor)) for m, c in terms)
        self.guards[Guard(self.polynomial(terms), relation)] = None

    def is_positive(self, terms: Terms) -> bool:
        """At all values. Not known is no."""
        some = any(
            c > 0 and all(self.atoms[a].positive and not self.atoms[a].signed for a, _ in m)
            for m, c in terms
        )
        return some and all(c > 0 and self._plain(m) for m, c in terms)

    def is_never_negative(self, terms: Terms) -> bool:
        """At all values. Not known is no."""
        known = self._proved.get(terms)
        if known is None:
            known = self._proved[terms] = self._is_simple(terms) and self._not_negative(
                dict(terms), _DEEPEST
            )
        return known

    def _is_simple(self, terms: Terms) -> bool:
        if all(c > 0 for _, c in terms):
            return True
        return sum(self.largest_of(m) is not None for m, _ in terms) <= _MOST_LARGEST

    def _plain(self, monomial: Monomial) -> bool:
        return not any(self.atoms[a].signed for a, _ in monomial)

    def _not_negative(self, terms: dict[Monomial, Coefficient], depth: int) -> bool:
        """One of the largest is never below any of them, so it is enough that each of them can
        stand for what is taken off, and one of them for what is added."""
        less = [m for m, c in terms.items() if c < 0]
        if not less and all(map(self._plain, terms)):
            return True
        if not depth:
            return False
        for monomial in less:
            inner = self.largest_of(monomial)
            if inner is not None:
                each = (self._instead(terms, monomial, number) for number in inner)
                return all(self._not_negative(one, depth - 1) for one in each)
        for monomial, coefficient in terms.items():
            inner = self.largest_of(monomial) if coefficient > 0 else None
            if inner is not None:
                some = (self._instead(terms, monomial, number) for number in inner)
                if any(self._not_negative(one, depth - 1) for one in some):
                    return True
        return False

    def largest_of(self, monomial: Monomial) -> tuple[int, ...] | None:
        """Polynomials, by number, of which it is the largest; ``None``: it is something else."""
        if len(monomial) == 1 and monomial[0][1] == 1:
            atom = self.atoms[monomial[0][0]]
            if atom.kind is Kind.MOST:
                return atom.of
        return None

    def _instead(
        self, terms: dict[Monomial, Coefficient], monomial: Monomial, number: int
    ) -> dict[Monomial, Coefficient]:
        factor = terms[monomial]
        found = {m: c for m, c in terms.items() if m != monomial}
        for inner, coefficient in self.polynomials[number]:
            found[inner] = found.get(inner, 0) + coefficient * factor
        return {m: c for m, c in found.items() if c}


def negated(terms: Terms) -> Terms:
    return tuple((m, -c) for m, c in terms)


def terms_of(number: Fraction | int) -> Terms:
    """Of a number that may be recorded."""
    if isinstance(number, Recorded):
        return number.terms
    return (((), _simple(number)),) if number else ()


def _simple(number: Coefficient) -> Coefficient:
    return number.numerator if number.denominator == 1 else number


def ordered(terms: Mapping[Monomial, Coefficient]) -> Terms:
    """Without what is zero."""
    return tuple(sorted((m, _simple(c)) for m, c in terms.items() if c))


def value_of(number: Fraction | int) -> Fraction:
    """Where it was recorded."""
    return number.value if isinstance(number, Recorded) else Fraction(number)


def _product(one: Monomial, other: Monomial) -> Monomial:
    if not one or not other:
        return one or other
    exponents = dict(one)
    for atom, exponent in other:
        exponents[atom] = exponents.get(atom, 0) + exponent
    return tuple(sorted((a, e) for a, e in exponents.items() if e))


class Recorded(Symbolic):
    """See above. Not a constant: arithmetic that comes to one gives a plain fraction."""

    recording: Recording
    terms: Terms
    value: Fraction
    _place: int | None

    def __new__(cls, recording: Recording, terms: Terms, value: Fraction) -> Recorded:
        # Without the parts of a fraction, so that nothing can take them for the number.
        made: Recorded = object.__new__(cls)
        made.recording, made.terms, made.value = recording, terms, value
        made._place = None
        return made

    @property
    def place(self) -> int:
        """The number of its polynomial."""
        if self._place is None:
            self._place = self.recording.polynomial(self.terms)
        return self._place

    def __repr__(self) -> str:
        return f"Recorded({self.value})"

    def _unknown(self, *_: object) -> NoReturn:
        raise TypeError("this is asked of a recorded number, and no guard can tell of it")

    numerator = property(_unknown)
    denominator = property(_unknown)
    __int__ = __index__ = __float__ = __round__ = __trunc__ = __ceil__ = _unknown  # type: ignore[assignment]
    __pow__ = __rpow__ = __complex__ = __str__ = __reduce__ = __copy__ = _unknown
    __deepcopy__ = __divmod__ = __rdivmod__ = _unknown  # type: ignore[assignment]
    __format__ = as_integer_ratio = limit_denominator = _unknown  # type: ignore[assignment]

    def _sum(self, other: Any, factor: int) -> Any:
        if not isinstance(other, Fraction | int):
            return NotImplemented
        found = dict(self.terms)
        for monomial, coefficient in terms_of(other):
            found[monomial] = found.get(monomial, 0) + coefficient * factor
        return self.recording.made(found, self.value + value_of(other) * factor)

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __neg__(self) -> Any:
        return Recorded(self.recording, negated(self.terms), -self.value)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Fraction | int):
            return NotImplemented
        found: dict[Monomial, Coefficient] = {}
        for one, its in terms_of(other):
            for monomial, coefficient in self.terms:
                key = _product(one, monomial)
                found[key] = found.get(key, 0) + coefficient * its
        return self.recording.made(found, self.value * value_of(other))

    __rmul__ = __mul__

    def _inverse(self) -> Fraction:
        recording = self.recording
        positive = recording.guard(self.terms, self.value, Relation.POSITIVE)
        if not positive and not recording.guard(
            negated(self.terms), -self.value, Relation.POSITIVE
        ):
            raise ZeroDivisionError
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms
            turned = tuple((atom, -exponent) for atom, exponent in monomial)
            return Recorded(
                recording, ((turned, _simple(1 / Fraction(coefficient))),), 1 / self.value
            )
        of = recording.polynomial(self.terms)
        atom = Atom(Kind.INVERSE, (of,), positive=positive, signed=not positive)
        return recording.of_atom(atom, 1 / self.value)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Recorded):
            return self * other._inverse()
        return self * (1 / Fraction(other)) if isinstance(other, Fraction | int) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return self._inverse() * other

    def __floor__(self) -> Any:
        recording = self.recording
        signed = not recording.is_never_negative(self.terms)
        atom = Atom(Kind.FLOOR, (recording.polynomial(self.terms),), signed=signed)
        return recording.of_atom(atom, Fraction(self.value.__floor__()))

    def __floordiv__(self, other: Any) -> Any:
        ratio = self / other
        return ratio.__floor__()

    def __rfloordiv__(self, other: Any) -> Any:
        ratio = other / self
        return ratio.__floor__()

    def __mod__(self, other: Any) -> Any:
        return self - other * (self // other)

    def __rmod__(self, other: Any) -> Any:
        return other - self * (other // self)

    def _asked(self, other: Any, asked: Relation, turned: bool = False) -> Any:
        if not isinstance(other, Fraction | int):
            return NotImplemented
        its = other.place if isinstance(other, Recorded) else self.recording.plain(other)
        key = (its, self.place, asked) if turned else (self.place, its, asked)
        known = self.recording.decided.get(key)
        if known is None:
            known = self.recording.decided[key] = self._decided(other, asked, turned)
        return known

    def _decided(self, other: Fraction | int, asked: Relation, turned: bool) -> bool:
        difference = other - self if turned else self - other
        if isinstance(difference, Recorded):
            return self.recording.guard(difference.terms, difference.value, asked)
        if asked is Relation.ZERO:
            return bool(difference == 0)
        return bool(difference > 0 if asked is Relation.POSITIVE else difference >= 0)

    def __eq__(self, other: object) -> Any:
        return self._asked(other, Relation.ZERO)

    def __ne__(self, other: object) -> Any:
        same = self._asked(other, Relation.ZERO)
        return same if same is NotImplemented else not same

    def __lt__(self, other: Any) -> Any:
        return self._asked(other, Relation.POSITIVE, turned=True)

    def __le__(self, other: Any) -> Any:
        return self._asked(other, Relation.NOT_NEGATIVE, turned=True)

    def __gt__(self, other: Any) -> Any:
        return self._asked(other, Relation.POSITIVE)

    def __ge__(self, other: Any) -> Any:
        return self._asked(other, Relation.NOT_NEGATIVE)

    def __bool__(self) -> bool:
        return not self.recording.guard(self.terms, self.value, Relation.ZERO)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.place)

    def longest_of(self, values: Mapping[Fraction, int], count: int) -> Fraction:
        each = [(self.recording.polynomial(terms_of(v)), v, n) for v, n in values.items() if n]
        if count >= sum(number for _, _, number in each):
            return sum((value * number for _, value, number in each), start=Fraction(0))
        if len(each) <= 1 or not count:
            return each[0][1] * min(each[0][2], count) if each and count else Fraction(0)
        each.sort(key=lambda one: one[0])
        plain: dict[Fraction, int] = {}
        for _, value, number in each:
            plain[value_of(value)] = plain.get(value_of(value), 0) + number
        polynomials = self.recording.polynomials
        known = (self.recording.is_never_negative(polynomials[place]) for place, _, _ in each)
        atom = Atom(
            Kind.LONGEST,
            tuple(place for place, _, _ in each),
            times=(count, *(number for _, _, number in each)),
            signed=not all(known),
        )
        return self.recording.of_atom(atom, longest(plain, count))

    def is_whole(self) -> bool:
        return self.recording.guard(self.terms, self.value, Relation.WHOLE)

    def in_order(self, smaller: Fraction, larger: Fraction) -> bool:
        return value_of(smaller) <= value_of(larger)

    def most_of(self, values: Sequence[Fraction]) -> Fraction:
        recording = self.recording
        flat: dict[Terms, None] = {}
        for one in values:
            terms = terms_of(one)
            inner = None
            if len(terms) == 1 and terms[0][1] == 1:
                inner = recording.largest_of(terms[0][0])
            # The largest of several is one of all of them.
            flat.update(
                {terms: None}
                if inner is None
                else dict.fromkeys(recording.polynomials[number] for number in inner)
            )
        kept: list[Terms] = []
        for terms in flat:
            if any(recording.is_never_negative(_difference(k, terms)) for k in kept):
                continue
            kept = [k for k in kept if not recording.is_never_negative(_difference(terms, k))]
            kept.append(terms)
        value = max(map(value_of, values))
        if len(kept) == 1:
            return recording.made(dict(kept[0]), value)
        numbers = tuple(sorted(recording.polynomial(terms) for terms in kept))
        signed = not any(recording.is_never_negative(terms) for terms in kept)
        positive = any(recording.is_positive(terms) for terms in kept)
        return recording.of_atom(Atom(Kind.MOST, numbers, positive=positive, signed=signed), value)


def _difference(one: Terms, other: Terms) -> Terms:
    found = dict(one)
    for monomial, coefficient in other:
        found[monomial] = found.get(monomial, 0) - coefficient
    return ordered(found)
