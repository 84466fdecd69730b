"""From the rules of the grammar to flow facts: those for files and blocks, above all others.

It goes through the parser's tree without recursion, so nothing is nested too deeply for it. What
the grammar says badly is checked here, and in the classes that this one builds on
(:mod:`~wcetchar.static.facts.place_rules`); mistakes are collected, so that a user sees all of
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from lark import Token, v_args

from wcetchar.model.flow_fact import CodePlace
from wcetchar.static.facts.fact_rules import FactRules, Stated
from wcetchar.static.facts.place_rules import MAX_CHAIN
from wcetchar.static.facts.scopes import Change, called_from, inside, with_places
from wcetchar.static.facts.source import Source, position_of

NO_FUNCTION: Final = "."


@dataclass(frozen=True)
class _Scope:
    position: int
    services: tuple[str, ...] = ()
    function: str = ""
    chains: tuple[tuple[str, ...], ...] = ()
    present: bool = False


@v_args(inline=True)
class Builder(FactRules):
    """``transform`` gives what is stated in the file; ``errors`` is what is wrong with it."""

    def __init__(self, source: Source, recovered: bool = False) -> None:
        """``recovered``: blocks in ``NO_FUNCTION`` stand for ones whose beginning is wrong."""
        super().__init__(source)
        self.recovered = recovered

    def start(self, *items: Any) -> tuple[Stated, ...]:
        return self._flat(items)

    def _flat(self, items: tuple[Any, ...]) -> tuple[Stated, ...]:
        found: list[Stated] = []
        for item in items:
            found += item if isinstance(item, tuple) else (item,)
        return tuple(found)

    def block(self, scope: _Scope, *items: Any) -> tuple[Stated, ...]:
        stated = tuple(one for one in self._flat(items) if one.facts)  # others have had a mistake
        for one in stated:
            if scope.services:
                self._limit_to_services(one, scope)
            elif scope.function:
                self._limit_to_function(one, scope)
            elif scope.chains:
                self._limit_to_calls(one, scope)
            elif scope.present:
                self.where_present(one)
        return stated

    def _limit_to_services(self, stated: Stated, scope: _Scope) -> None:
        if stated.service_block:
            self.error(
                scope.position,
                "a block of a service around another one",
                expected="facts, or blocks 'in' and 'called from'",
                hint="close the first one before the second",
            )
            return
        stated.service_block = True
        stated.facts = tuple(replace(fact, services=scope.services) for fact in stated.facts)

    def _limit_to_function(self, stated: Stated, scope: _Scope) -> None:
        if self.recovered and scope.function == NO_FUNCTION:
            return
        if stated.in_block:
            self.error(
                scope.position,
                "a block 'in' around another one",
                expected="one function that what is named by lines lies in",
                hint="name the innermost function, also where it is inlined",
            )
            return
        if self._narrowed(stated, inside(scope.function)):
            stated.in_block = True
        else:
            self.error(
                stated.position,
                f"the block 'in {scope.function}' says nothing of this fact",
                expected="a fact with a place that is a line, or a text, without an 'in'",
                hint="move it out of the block",
            )

    def _limit_to_calls(self, stated: Stated, scope: _Scope) -> None:
        changes = [called_from(chain) for chain in scope.chains]
        if not self._narrowed(stated, *changes):
            self.error(
                stated.position,
                "the block 'called from' says nothing of this fact",
                expected="a fact about a place",
                hint="move it out of the block: it holds wherever its function is called from",
            )

    def _narrowed(self, stated: Stated, *changes: Change) -> bool:
        """The facts with each of the changes, one behind the other."""
        facts = tuple(with_places(fact, change) for change in changes for fact in stated.facts)
        changed = facts != stated.facts * len(changes)
        stated.facts = facts
        long = False

        def look(place: CodePlace) -> CodePlace:
            nonlocal long
            long = long or len(place.called) > MAX_CHAIN
            return place

        for fact in facts:
            with_places(fact, look)
        if long:
            self.error(
                stated.position,
                "too long a chain of calls",
                expected=f"at most {MAX_CHAIN} functions",
            )
            stated.facts = ()
        return changed

    def in_services(self, word: Token, *services: str) -> _Scope:
        return _Scope(position_of(word), services=services)

    def in_function(self, word: Token, function: Token) -> _Scope:
        return _Scope(position_of(word), function=str(function))

    def in_calls(self, word: Token, *chain: Token) -> _Scope:
        return _Scope(position_of(word), chains=(tuple(map(str, chain)),))

    def in_either(self, word: Token, *functions: Token) -> _Scope:
        return _Scope(position_of(word), chains=tuple((str(one),) for one in functions))

    def in_present(self, word: Token) -> _Scope:
        return _Scope(position_of(word), present=True)
