"""Flow facts applied to graphs of hand-written programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import Program as Made
from flow_programs import analysed_in, built

from wcetchar import formula
from wcetchar.errors import InputError
from wcetchar.model.flow_fact import Targets
from wcetchar.static.apply_facts import FactsInProgram
from wcetchar.static.expand import Expanded, expand
from wcetchar.static.facts import Places, parse_facts

SOURCE = """
static int (*volatile table[2])(int);
volatile int port;
__attribute__((noinline)) int straight(void)
{
    port = 1; port = 2;
    port = 3;
    return port;
}
int entry(int n)
{
    straight();
    return 3 + table[n & 1](n);
}
"""


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return built(tmp_path, "v7m", SOURCE, c=True, more=["-O1", "-g"])


def facts_in(made: Made, text: str) -> FactsInProgram:
    places = Places(made.image, made.table, lambda _: None)
    return FactsInProgram(parse_facts(text, "a.ff").facts, places, lambda name, _: made.at(name))


def graph_of(made: Made, entry: str) -> Expanded:
    return expand(analysed_in(made, made.graph(entry)), made.at(entry))


@pytest.mark.parametrize(
    ("text", "passed", "limit"),
    [
        ("exclusive straight, straight+0x2", 2, 1),  # so it is not executed
        ("count(straight) + count(straight+0x2) <= 5", 2, 5),
        ("count(program.c:6) <= 5", 1, 5),
        ("count(program.c:6) + 2*count(program.c:7) <= 5", 3, 5),
    ],
)
def test_several_places_in_one_block(made: Made, text: str, passed: int, limit: int) -> None:
    (constraint,) = facts_in(made, text).of("s").constraints(graph_of(made, "straight"))
    values = {formula.evaluate(one, {}) for one in constraint.coefficients.values()}
    assert values == {passed}
    assert formula.evaluate(constraint.limit, {}) == limit


def test_a_line_is_its_indirect_calls(made: Made) -> None:
    facts = facts_in(made, "call at program.c:13: straight")
    (fact,) = facts.facts
    assert isinstance(fact, Targets)
    sources, to = facts.targets(fact)
    rows = made.table.instructions
    assert [rows[index].text.split()[0] for index in sources] == ["blx"]
    assert [rows[index].address for index in to] == [made.at("straight")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("call at program.c:6: straight", "no indirect call or jump"),
        ("call at straight: straight", "no indirect call or jump"),
        ("call at program.c:13 called from entry: straight", "cannot depend on who has called"),
    ],
)
def test_targets_of_what_goes_nowhere(made: Made, text: str, why: str) -> None:
    facts = facts_in(made, text)
    (fact,) = facts.facts
    assert isinstance(fact, Targets)
    with pytest.raises(InputError, match=why):
        facts.targets(fact)


TORN = """
volatile int port;
int torn(int n)
{
#line 100
    port = 1;
#line 101
    port = 2;
#line 100
    port = 3;
#line 102
    return n;
}
"""


@pytest.mark.parametrize(("text", "passed"), [("", [2]), ("each ", [1, 1])])
def test_a_line_in_pieces(tmp_path: Path, text: str, passed: list[int]) -> None:
    """Its pieces are counted together, or each by itself."""
    made = built(tmp_path, "v7m", TORN, c=True, more=["-O1", "-g"])
    facts = facts_in(made, f"count({text}program.c:100) <= N").of("s")
    found = [*facts.constraints(graph_of(made, "torn"))]
    values = [formula.evaluate(k, {}) for one in found for k in one.coefficients.values()]
    assert values == passed
    assert {formula.to_text(one.limit) for one in found} == {"0 - -N"}
    assert len(facts.used) == 1
