"""What registers and stack slots hold at one point of a function.

A :class:`Value` is a *token*, shifted left, plus a number. The token stands for something unknown
that stays the same: what a register held when the function was entered, what an instruction left
in its destination, bits of another token. So two registers with the same value are known to be
equal, and what a comparison says of one holds for the other, and for what was calculated from it.
The token ``None`` is zero: the value is the number.

A token stands for the latest execution of its instruction (or the latest passing of its junction);
of what still holds an older one nothing is known (``State.renew``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final, NamedTuple

from wcetchar.static.flow import value_sets as sets
from wcetchar.static.flow.steps import WORD
from wcetchar.static.flow.value_sets import (
    Numbers,
    highest,
    limited,
    lowest,
    moved,
    one,
    scaled,
)

Token = tuple[Hashable, ...]
Slot = tuple[Token, int]


class Value(NamedTuple):
    """``(token << shift) + number``, modulo 2**32."""

    token: Token | None
    number: int
    shift: int = 0


ZERO = Value(None, 0)
UNKNOWN = Value(("unknown",), 0)
"""Something, and nothing else is equal to it."""
ENTRY = "entry"


def at_entry(register: int) -> Value:
    """What a register held when the function was entered."""
    return Value((ENTRY, register), 0)


def plus(value: Value, number: int) -> Value:
    return Value(value.token, value.number + number & WORD, value.shift)


def shifted(value: Value, by: int) -> Value:
    """The value shifted left."""
    if value.token is None or value.shift + by > 31:
        return Value(None, value.number << by & WORD)
    return Value(value.token, value.number << by & WORD, value.shift + by)


def low_bits(value: Value, count: int) -> Value | None:
    """The lowest bits of a value; ``None``: there is no token for them."""
    if value.token is None:
        return Value(None, value.number & (1 << count) - 1)
    if value.shift or value.token == UNKNOWN.token or len(list(chain(value.token))) > _DEEPEST:
        return None
    return Value((_LOW, value.token, value.number & (1 << count) - 1, count), 0)


def shifted_right(value: Value, by: int) -> Value | None:
    """The value shifted right; ``None``: there is no token for it."""
    if value.token is None:
        return Value(None, value.number >> by)
    if value.token == UNKNOWN.token or len(list(chain(value.token))) > _DEEPEST:
        return None
    shift = value.shift
    if shift:
        # What was shifted out at the top is lost: the lowest bits of the token are left.
        if value.number & (1 << shift) - 1:
            return None
        low: Token = (_LOW, value.token, value.number >> shift, 32 - shift)
        if by <= shift:
            return Value(low, 0, shift - by)
        return Value((_RIGHT, low, 0, by - shift), 0)
    return Value((_RIGHT, value.token, value.number, by), 0)


_LOW: Final = "low"
"""``(_LOW, token, number, count)``: the lowest ``count`` bits of token + number."""
_RIGHT: Final = "right"
"""``(_RIGHT, token, number, by)``: token + number, shifted right."""
_DEEPEST: Final = 3


def chain(token: Token | None) -> Iterator[Token]:
    """A token, and those that it is calculated from."""
    while token is not None:
        yield token
        inner = token[1] if token[0] in (_LOW, _RIGHT) else None
        assert inner is None or isinstance(inner, tuple)
        token = inner


class State:
    """One point.

    Attributes:
        registers: by number.
        slots: words in memory, by address: token and number of a value.
        numbers: what a token can be; one that is not there can be anything.
        compared: the two values that the flags were last set by comparing.
        impossible: what was assumed contradicts what is known; control does not get here.
    """

    __slots__ = ("compared", "impossible", "numbers", "registers", "slots")

    def __init__(
        self,
        registers: list[Value],
        slots: dict[Slot, Value],
        numbers: dict[Token, Numbers],
        compared: tuple[Value, Value] | None,
    ) -> None:
        self.registers = registers
        self.slots = slots
        self.numbers = numbers
        self.compared = compared
        self.impossible = False

    def copy(self) -> State:
        found = State(self.registers[:], self.slots.copy(), self.numbers.copy(), self.compared)
        found.impossible = self.impossible
        return found

    def same(self, other: State) -> bool:
        return (
            self.registers == other.registers
            and self.slots == other.slots
            and self.numbers == other.numbers
            and self.compared == other.compared
        )

    def tokens(self) -> set[Token]:
        """Tokens that something still holds, and those that they are calculated from."""
        found = {value.token for value in self.registers}
        found.update(value.token for value in self.slots.values())
        found.update(slot[0] for slot in self.slots)
        if self.compared is not None:
            found.update(value.token for value in self.compared)
        found.discard(None)
        for token in list(found):
            if token is not None and token[0] in (_LOW, _RIGHT):
                found.update(chain(token))
        return found  # type: ignore[return-value]

    def of(self, value: Value) -> Numbers | None:
        """The numbers that a value can be."""
        if value.token is None:
            return one(value.number)
        numbers = self.of_token(value.token)
        if numbers is not None and value.shift:
            numbers = scaled(numbers, value.shift)
        return None if numbers is None else moved(numbers, value.number)

    def of_token(self, token: Token) -> Numbers | None:
        """The numbers that a token can be."""
        known = self.numbers.get(token)
        if token[0] not in (_LOW, _RIGHT):
            return known
        _, inner, number, count = token
        assert isinstance(inner, tuple)
        assert isinstance(number, int)
        assert isinstance(count, int)
        base = self.of_token(inner)
        if base is not None:
            base = moved(base, number)
        found: Numbers
        if token[0] == _LOW:
            most = (1 << count) - 1
            found = base if base is not None and highest(base) <= most else range(most + 1)
        else:
            found = sets.shifted_right(range(WORD + 1) if base is None else base, count)
        return found if known is None or len(found) < len(known) else known

    def renew(self, token: Token, used: set[Token]) -> None:
        """Before ``token`` is given anew: of what holds an older one nothing is known any more.

        ``used``: tokens that may be held.
        """
        if token not in used:
            return
        self.numbers = {held: n for held, n in self.numbers.items() if token not in chain(held)}
        self.registers = [
            UNKNOWN if token in chain(value.token) else value for value in self.registers
        ]
        self.slots = {
            slot: value
            for slot, value in self.slots.items()
            if token not in chain(slot[0]) and token not in chain(value.token)
        }
        if self.compared is not None and any(token in chain(v.token) for v in self.compared):
            self.compared = None

    def assume(self, condition: str) -> None:
        """A condition holds of what was compared last (unsigned ones and equality; others say
        nothing here)."""
        if self.compared is not None:
            self.assume_of(condition, *self.compared)

    def assume_of(self, condition: str, first: Value, second: Value) -> None:
        """``first`` and ``second`` compare so."""
        a, b = self.of(first), self.of(second)
        low_a, high_a = (0, WORD) if a is None else (lowest(a), highest(a))
        low_b, high_b = (0, WORD) if b is None else (lowest(b), highest(b))
        match condition:
            case "lo":
                self._limit(first, 0, high_b - 1)
                self._limit(second, low_a + 1, WORD)
            case "ls":
                self._limit(first, 0, high_b)
                self._limit(second, low_a, WORD)
            case "hi":
                self._limit(first, low_b + 1, WORD)
                self._limit(second, 0, high_a - 1)
            case "hs":
                self._limit(first, low_b, WORD)
                self._limit(second, 0, high_a)
            case "eq":
                self._limit(first, low_b, high_b)
                self._limit(second, low_a, high_a)

    def _limit(self, value: Value, low: int, high: int) -> None:
        """The value is from ``low`` to ``high``."""
        numbers = self.of(value)
        if low > high or (numbers is not None and limited(numbers, low, high) is None):
            self.impossible = True
            return
        token = value.token
        if token is None or token == UNKNOWN.token or value.shift:
            return
        if low <= 0 and high >= WORD:
            return
        base = self.of_token(token)
        # What the token is follows from what the value is, modulo 2**32.
        allowed = moved(range(low, high + 1), -value.number)
        if allowed is None:
            return
        if base is None:
            self.numbers[token] = allowed
        elif isinstance(allowed, range):
            found = limited(base, allowed[0], allowed[-1])
            if found is not None:
                self.numbers[token] = found
        else:
            kept = frozenset(number for number in allowed if number in base)
            if kept:
                self.numbers[token] = kept
