"""Missing facts as a file to fill in."""

from __future__ import annotations

import re

import pytest

from wcetchar.formula import parse, to_text
from wcetchar.model.flow_fact import Accesses, CodePlace, FactOrigin, LoopBound, PlaceKind, Targets
from wcetchar.static.facts import parse_facts
from wcetchar.static.facts.proposals import Observed, proposal
from wcetchar.static.facts.template import (
    FILL_IN,
    MissingAccess,
    MissingLoop,
    MissingRecursion,
    MissingTargets,
    template,
)

WHILE = CodePlace(PlaceKind.TEXT, file="heap_4.c", text="while", inside="pvPortMalloc")

FUNCTION = CodePlace(PlaceKind.FUNCTION, name="f")


def seen(counts: dict[int, int], name: str = "N") -> tuple[Observed, ...]:
    return tuple(Observed({name: value}, count) for value, count in counts.items())


@pytest.mark.parametrize(
    ("counts", "formula"),
    [
        ({0: 0, 1: 1, 5: 5, 9: 9}, "N"),
        ({1: 0, 2: 1, 5: 4, 9: 8}, "N - 1"),
        ({0: 1, 2: 3, 5: 6, 9: 10}, "N + 1"),
        ({0: 3, 2: 7, 5: 13, 9: 21}, "2*N + 3"),
        ({0: 0, 1: 1, 4: 1, 5: 2, 8: 2, 9: 3}, "ceil(N/4)"),
        ({0: 0, 1: 0, 2: 1, 5: 4, 9: 8}, "max(0, N - 1)"),
        ({0: 3, 1: 3}, "3"),
        ({4: 3}, "3"),
        ({0: 0, 1: 1, 5: 5, 9: 8}, None),
        ({0: 0, 1: 1, 2: 4, 3: 9}, None),
        ({1: 1, 2: 2, 3: 3}, None),  # three values are too few
        ({0: 3, 1: 2, 2: 1, 3: 0}, None),  # falls: below 0 it would go on
    ],
)
def test_proposals(counts: dict[int, int], formula: str | None) -> None:
    found = proposal(seen(counts))
    assert (None if found is None else to_text(found)) == formula


def test_a_proposal_is_of_the_greatest_over_other_parameters() -> None:
    points = [Observed({"N": n, "M": m}, min(n, m)) for n in range(6) for m in range(4)]
    points += [Observed({"N": n, "M": 9}, n) for n in range(6)]
    found = proposal(points)
    assert found is not None
    assert to_text(found) == "N"


MISSING = (
    MissingLoop(
        ("xTaskCreate", "kernel objects"),
        "pvPortMalloc",
        "while( pxBlock != NULL )",
        WHILE,
        seen({0: 0, 1: 1, 5: 5, 9: 9, 13: 13}),
    ),
    MissingLoop((), "f", "", CodePlace(PlaceKind.LINE, file="f.c", line=3), seen({0: 0, 1: 2})),
    MissingLoop((), "g", "\x1b[2J\n}", CodePlace(PlaceKind.FUNCTION, name="g", offset=4)),
    MissingRecursion(("s",), "walk"),
    MissingTargets(("s",), "h", "pxCode( 1 );", CodePlace(PlaceKind.LINE, file="h.c", line=9)),
    MissingTargets(
        (),
        "h",
        "",
        CodePlace(PlaceKind.ADDRESS, address=64),
        (CodePlace(PlaceKind.FUNCTION, name="f"),),
    ),
    MissingAccess((), "h", "", CodePlace(PlaceKind.ADDRESS, address=68), (".bss", "task stacks")),
    MissingAccess((), "h", "", CodePlace(PlaceKind.ADDRESS, address=72)),
)


def test_a_template_states_nothing() -> None:
    assert parse_facts(template(MISSING), "t.ff").facts == ()
    assert parse_facts(template(()), "t.ff").facts == ()


def test_a_template_states_every_fact_without_its_signs() -> None:
    text = re.sub(r"(?m)^( *)#(?: (?!#))?", r"\1", template(MISSING))
    facts = parse_facts(text, "t.ff").facts
    assert len(facts) == len(MISSING)
    loop = next(f for f in facts if isinstance(f, LoopBound) and f.place == WHILE)
    assert loop.limit == parse("N")
    assert loop.origin is FactOrigin.OBSERVED
    assert loop.services == ("xTaskCreate", "kernel objects")
    open_ = [f for f in facts if isinstance(f, LoopBound) and f.place.kind is PlaceKind.LINE]
    assert open_[0].limit == parse(FILL_IN)
    assert open_[0].origin is FactOrigin.WRITTEN
    targets = {f.place.kind: f for f in facts if isinstance(f, Targets)}
    assert targets[PlaceKind.ADDRESS].origin is FactOrigin.OBSERVED
    assert targets[PlaceKind.LINE].targets[0].name == FILL_IN
    assert {f.sections for f in facts if isinstance(f, Accesses)} == {
        (".bss", "task stacks"),
        (FILL_IN,),
    }


def test_what_is_said_of_a_loop() -> None:
    text = template(MISSING[:1])
    assert 'service xTaskCreate, "kernel objects" {\n    ## pvPortMalloc\n' in text
    assert "    ##   while( pxBlock != NULL )\n" in text
    assert (
        "    ##   observed: at most 13 (N = 13), 9 (N = 9), 5 (N = 5), 0 (N = 0), "
        "of 5 combinations of values\n"
        "    ##   N fits every value that was observed\n"
        '    # observed loop at heap_4.c:"while" in pvPortMalloc: at most N\n}\n'
    ) in text


def test_text_of_others_is_escaped() -> None:
    assert all(line.isprintable() for line in template(MISSING).splitlines())
