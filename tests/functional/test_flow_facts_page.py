"""The page of flow facts: its examples are read, and its mistakes are what the parser says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wcetchar.errors import InputErrors
from wcetchar.model.flow_fact import Fact, Relation
from wcetchar.static.facts import parse_facts, to_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "flow-facts.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```flow-facts\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
WRONG = """\
service s {
    loop at heap_4.c:3: at most size/4
nevr f
}
"""


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_are_read(number: int) -> None:
    facts = parse_facts(EXAMPLES[number], "page.ff").facts
    assert facts
    again = parse_facts(to_text(facts), "page.ff").facts
    assert [type(fact) for fact in again] == [type(fact) for fact in facts]


def test_every_kind_of_fact_has_an_example() -> None:
    shown = {type(f) for example in EXAMPLES for f in parse_facts(example, "page.ff").facts}
    assert shown == set(Fact.__subclasses__())
    assert Relation in shown


def test_mistakes_are_those_of_the_parser() -> None:
    with pytest.raises(InputErrors) as caught:
        parse_facts(WRONG, "kernel.ff")
    assert f"```\n{caught.value}\n```" in TEXT
