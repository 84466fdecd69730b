"""Flow facts applied to graphs of hand-written programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import Program as Made
from flow_programs import analysed_in, built

from wcetchar import formula
from wcetchar.errors import InputError
from wcetchar.model.flow_fact import Targets
from wcetchar.model.path_model import OUTSIDE
from wcetchar.static.apply_facts import ServiceFacts
from wcetchar.static.expand import Cuts, Expanded, expand
from wcetchar.static.facts import Places, parse_facts
from wcetchar.static.facts.in_program import FactsInProgram
from wcetchar.static.split import split

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
    facts = ServiceFacts.of(facts_in(made, text), "s")
    (constraint,) = facts.constraints(graph_of(made, "straight"))
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
    facts = ServiceFacts.of(facts_in(made, f"count({text}program.c:100) <= N"), "s")
    found = [*facts.constraints(graph_of(made, "torn"))]
    values = [formula.evaluate(k, {}) for one in found for k in one.coefficients.values()]
    assert values == passed
    assert {formula.to_text(one.limit) for one in found} == {"0 - -N"}
    assert len(facts.used) == 1


MAY_ASK = """
.global f
.type f, @function
f:      csrci mstatus, 8
        beqz a0, wait
        sw a1, 0(a2)
.loc 1 7
        beqz a1, out
ask:    ecall
.loc 1 8
out:    csrsi mstatus, 8
        ret
wait:   ecall
behind: j out
"""


def first_instructions(made: Made, found: Expanded) -> set[int]:
    blocks = [found.function_of(step.context).blocks[step.block] for step in found.steps]
    return {made.table.instructions[block.first].address for block in blocks}


def test_a_request_for_a_switch_that_is_never_made(tmp_path: Path) -> None:
    """The line tests whether it is, which goes on being executed."""
    made = built(tmp_path, "riscv", '.file 1 "program.s"\n' + MAY_ASK)
    index = {row.address: number for number, row in enumerate(made.table.instructions)}
    asks = index[made.at("ask")]
    program = analysed_in(made, split(made.graph("f"), {asks - 1, asks}))
    for text, reached in [
        ("never switch at program.s:7", {"f", "wait", "out"}),
        ("never program.s:7", {"f", "wait", "out"}),
        (f"never switch at {made.at('wait'):#x}", {"f", "ask", "out"}),
    ]:
        facts = ServiceFacts.of(facts_in(made, text), "s")
        found = expand(program, made.at("f"), excluded=facts.excluded(program.graph))
        labels = {made.label(address) for address in first_instructions(made, found)}
        assert reached <= labels
        assert not {"ask", "wait"} - reached & labels


def test_facts_of_a_part_say_nothing_of_what_comes_before(tmp_path: Path) -> None:
    """Both requests lead into the part; what holds in the part alone excludes what follows it,
    and what holds before it as well leaves it one beginning."""
    made = built(tmp_path, "riscv", '.file 1 "program.s"\n' + MAY_ASK)
    index = {row.address: number for number, row in enumerate(made.table.instructions)}
    begins = frozenset({index[made.at("out")], index[made.at("behind")]})
    program = analysed_in(made, split(made.graph("f"), {n - 1 for n in begins}))
    parts = ("s/call", "s/between")

    def begun(text: str) -> set[str]:
        facts = ServiceFacts.of(facts_in(made, text), "s/resume", parts)
        found = expand(
            program,
            made.at("f"),
            Cuts(begins=begins),
            excluded=facts.excluded(program.graph),
            excluded_before=facts.excluded_before(program.graph),
        )
        first = [found.steps[link.target] for link in found.links if link.source == OUTSIDE]
        graph = program.graph.functions[made.at("f")]
        rows = made.table.instructions
        return {made.label(rows[graph.blocks[step.block].first].address) for step in first}

    wait = hex(made.at("wait"))
    assert begun("") == {"out", "behind"}
    assert begun(f"service s/resume {{ never {wait} }}") == {"out", "behind"}
    assert begun(f"service s/call {{ never {wait} }}") == {"out", "behind"}
    assert begun(f"service s, !s/resume {{ never {wait} }}") == {"out"}
    assert begun(f"service s {{ never {wait} }}") == {"out"}
    assert begun(f"service s/resume {{ never {made.at('behind'):#x} }}") == {"out"}
