"""Targets that facts and traces give, of hand-written Thumb programs of Armv4T that call through
registers as GCC does: ``bl`` to a single ``bx r3``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from flow_programs import Program as Made
from flow_programs import analysed_in, built
from flow_programs import thumb_function as function

from wcetchar.model.flow import ProgramGraph
from wcetchar.model.flow_fact import CodePlace, PlaceKind
from wcetchar.static.expand import Expanded, expand
from wcetchar.static.facts.places import Places
from wcetchar.static.flow.graph import program_graph
from wcetchar.static.flow.register_calls import callers, register_calls
from wcetchar.static.given_targets import Given, is_said_by_calls

LEAVES = "".join(function(name, "bx lr") for name in "abcd")
SOURCE = (
    function("f", "push {r4, lr}\nc1: bl via\nc2: bl via\nbl g\npop {r4}\npop {r1}\nbx r1")
    + function("g", "push {r4, lr}\nc3: bl via\npop {r4}\npop {r1}\nbx r1")
    + function("h", "push {r4, lr}\nc4: bl via\nc5: bl other\npop {r4}\npop {r1}\nbx r1")
    + function("via", "bx r3")
    + function("other", "movs r0, #0\nbx r3")
    + LEAVES
)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return built(tmp_path, "thumb", SOURCE)


def index(made: Made, name: str) -> int:
    address = made.at(name)
    return next(i for i, row in enumerate(made.table.instructions) if row.address == address)


def test_what_calls_through_a_register(made: Made) -> None:
    """``other`` does something else before, and ``bx r1`` behind ``pop`` is a return."""
    via = index(made, "via")
    calls = register_calls(made.table)
    assert calls == {index(made, name): via for name in ("c1", "c2", "c3", "c4")}


def given(
    made: Made,
    entry: str,
    said: Mapping[str, str],
    seen: Mapping[str, str],
) -> tuple[Given, ProgramGraph]:
    """With facts by label, each a string of leaves."""
    one = Given(
        made.table,
        register_calls(made.table),
        {index(made, at): frozenset(made.at(to) for to in goals) for at, goals in said.items()},
        {made.at(at): tuple(made.at(to) for to in goals) for at, goals in seen.items()},
    )
    while True:
        graph = program_graph(made.image, made.table, [made.at(entry)], targets=one.targets)
        if not one.more(graph):
            return one, graph


def called(made: Made, one: Given, graph: ProgramGraph, entry: str) -> tuple[Expanded, set[str]]:
    """What each call through the register calls, as ``c1 a``."""
    found = expand(analysed_in(made, graph, one.called), made.at(entry))
    rows, pairs = made.table.instructions, set()
    for context in {step.context for step in found.steps}:
        string = found.contexts[context].string
        if string and string[-1][0] == made.at("via"):
            caller, block = string[-2]
            site = rows[graph.functions[caller].blocks[block].last].address
            pairs.add(f"{made.label(site)} {made.label(found.contexts[context].function)}")
    return found, pairs


def labels(made: Made, addresses: Iterable[int]) -> set[str]:
    return {made.label(address) for address in addresses}


def test_facts_at_all_calls_tell_these_apart(made: Made) -> None:
    one, graph = given(made, "f", {"c1": "a", "c2": "bc", "c3": "d"}, {"via": "abcd"})
    assert labels(made, one.targets[made.at("via")]) == {*"abcd"}
    assert not one.only_seen
    found, pairs = called(made, one, graph, "f")
    assert pairs == {"c1 a", "c2 b", "c2 c", "c3 d"}
    assert is_said_by_calls(found, made.at("via"))


def test_a_call_without_a_fact_goes_where_traces_showed_and_others_may_go(made: Made) -> None:
    one, graph = given(made, "f", {"c1": "a", "c2": "b"}, {"via": "d"})
    assert one.only_seen == {made.at("via")}
    found, pairs = called(made, one, graph, "f")
    assert pairs == {"c1 a", "c2 b", "c3 a", "c3 b", "c3 d"}
    assert not is_said_by_calls(found, made.at("via"))


def test_without_traces_it_is_open(made: Made) -> None:
    one, graph = given(made, "f", {"c1": "a", "c2": "b"}, {})
    assert not one.targets
    assert [end.address for end in graph.functions[made.at("via")].open] == [made.at("via")]


def test_a_call_that_comes_in_sight_later(made: Made) -> None:
    """c1 calls h, of which only then it is known that it calls through the register as well."""
    said = {"c1": "h", "c2": "a", "c3": "b"}
    one = Given(
        made.table,
        register_calls(made.table),
        {index(made, at): frozenset({made.at(to)}) for at, to in said.items()},
        {},
    )
    graph = program_graph(made.image, made.table, [made.at("f")], targets=one.targets)
    assert one.more(graph)
    assert labels(made, one.targets[made.at("via")]) == {"h", "a", "b"}
    graph = program_graph(made.image, made.table, [made.at("f")], targets=one.targets)
    assert one.more(graph)
    assert not one.targets
    graph = program_graph(made.image, made.table, [made.at("f")], targets=one.targets)
    assert not one.more(graph)


def test_a_fact_at_the_routine_holds_for_all_its_calls(made: Made) -> None:
    one, graph = given(made, "f", {"via": "ab", "c1": "a"}, {})
    assert not one.only_seen
    assert called(made, one, graph, "f")[1] == {"c1 a", "c2 a", "c2 b", "c3 a", "c3 b"}


def test_who_calls_a_routine(tmp_path: Path) -> None:
    """A jump to it, or code that goes on in it, is no call that a fact speaks of."""
    for more in ("b via", "beq via\nbx lr", "nop"):
        made = built(
            tmp_path,
            "thumb",
            function("f", "push {r4, lr}\nc1: bl via\nbl g\npop {r4}\npop {r1}\nbx r1")
            + function("g", more)
            + function("via", "bx r3")
            + LEAVES,
        )
        via = made.at("via")
        graph = made.graph("f", targets={"via": "a"})
        assert callers(graph, made.table, index(made, "via")) is None, more
        one, _ = given(made, "f", {"c1": "a"}, {})
        assert via not in one.targets


SHARED = """
int (*volatile p[2])(int);
int f(int x) { return p[0](x) + 1; }
int g(int x) { return p[1](x) + 2; }
"""


def test_a_line_before_the_routine_does_not_speak_of_it(tmp_path: Path) -> None:
    """GCC puts it behind the last function of a file, and the line table counts it to the line of
    that: a fact about the line would say of all other callers where they go."""
    made = built(tmp_path, "thumb", SHARED, c=True, more=("-Os", "-g"))
    places = Places(made.image, made.table, lambda _: None)
    calls = places.register_calls
    (via,) = set(calls.values())
    assert len(calls) == 2
    of_lines = [
        places.transferring(CodePlace(PlaceKind.LINE, file="program.c", line=line)) & {*calls, via}
        for line in (3, 4)
    ]
    assert sorted(map(len, of_lines)) == [1, 1]
    assert of_lines[0] | of_lines[1] == {*calls}
    # So it is for this compiler.
    (line,) = {line for line, there in places.lines.at_line.items() if via in there}
    assert line[1] == 4
