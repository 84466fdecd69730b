"""What holds where several ways of a function meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wcetchar.static.flow.state import State, Token, Value, chain
from wcetchar.static.flow.value_sets import Numbers, joined

_CHANGES: Final = 2
"""So often a set may grow at one junction before it counts as anything."""


def merge(
    states: Sequence[State],
    place: Token,
    sticky: set[object],
    grown: dict[Token, int],
) -> State:
    """What holds where several ways meet.

    Args:
        place: names the junction; tokens that it gave before are old ones now.
        sticky: registers and slots whose values differed before; changed.
        grown: how often the numbers of a token changed; changed by the caller.
    """
    first = states[0]
    numbers: dict[Token, Numbers] = {}

    def meet(key: object, values: list[Value]) -> Value:
        value = values[0]
        if (
            key not in sticky
            and all(other == value for other in values)
            and not _given_at(place, value.token)
        ):
            return value
        sticky.add(key)
        token: Token = (*place, key)
        if grown.get(token, 0) <= _CHANGES:
            found = states[0].of(values[0])
            for state, other in zip(states[1:], values[1:], strict=True):
                found = joined(found, state.of(other))
            if found is not None:
                numbers[token] = found
        return Value(token, 0)

    registers = [
        meet(number, list(values))
        for number, values in enumerate(zip(*(state.registers for state in states), strict=True))
    ]
    slots = {}
    for slot in first.slots:
        others = [state.slots.get(slot) for state in states]
        if not _given_at(place, slot[0]) and all(other is not None for other in others):
            slots[slot] = meet(slot, [other for other in others if other is not None])
    compared = first.compared
    if compared is not None:
        old = any(_given_at(place, value.token) for value in compared)
        if old or any(state.compared != compared for state in states):
            compared = None
    merged = State(registers, slots, numbers, compared)
    if not all(state.numbers for state in states):
        return merged
    for token in merged.tokens():
        if token[:-1] == place:
            continue
        held = first.numbers.get(token)
        for state in states[1:]:
            held = joined(held, state.numbers.get(token))
        if held is not None and grown.get((*place, token), 0) <= _CHANGES:
            numbers[token] = held
    return merged


def _given_at(place: Token, token: Token | None) -> bool:
    """A junction gave a token, or one that it is calculated from."""
    return token is not None and any(inner[:-1] == place for inner in chain(token))
