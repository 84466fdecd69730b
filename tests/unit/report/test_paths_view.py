"""Rows of a worst path: figures by hand, and what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import path_samples as samples
import pytest

from wcetchar.model.characterization import Word
from wcetchar.model.path_model import OUTSIDE, Flow, Gap, Origin
from wcetchar.report.paths_view import Coverage, rows_of


def test_small_by_hand() -> None:
    rows = rows_of(samples.small().view())
    assert [row.count for row in rows.blocks] == [1, 1, 1, 3, 0, 1]
    assert [row.total_ns for row in rows.blocks] == [10, 20, 5, 21, 0, 2]
    assert rows.whole_ns == 58
    assert rows.blocks[3].share == Fraction(21, 58)
    assert [row.number for row in rows.dearest] == [3, 1, 0, 2, 5]
    assert rows.coverage == Coverage(blocks=5, blocks_seen=2, edges=7, edges_seen=2)
    assert [row.number for row in rows.never_passed] == [1, 2, 3]
    # 1 -> 2 is where traces turn off; the others lie behind it.
    assert [(row.edge, row.first) for row in rows.differs] == [
        (1, True),
        (2, False),
        (3, False),
        (4, False),
        (5, False),
    ]
    assert rows.differs[0].begin.place == "a.c:1"
    assert rows.differs[0].end.text == "if (n > limit) g();"


def test_shares_add_up_with_what_is_beside_the_blocks() -> None:
    for seed in range(5):
        view = samples.grown(seed, 60).view(beside=Fraction(1, 3))
        rows = rows_of(view)
        shares = sum((row.share or 0 for row in rows.blocks), start=rows.beside_ns / rows.whole_ns)
        assert shares == 1
        assert rows.beside_ns == Fraction(1, 3)
        own = sum((row.own_ns or 0 for row in rows.activations), start=Fraction(0))
        assert own + rows.beside_ns == view.bound_ns


def test_activations_of_small() -> None:
    rows = rows_of(samples.small().view())
    f, g = rows.activations
    assert (f.function, f.parent, f.entered, f.own_ns, f.total_ns) == ("f", None, 1, 53, 58)
    assert (g.calls, g.parent, g.entered, g.total_ns) == (("f", "g"), 0, 1, 5)
    assert g.share == Fraction(5, 58)


def test_calls_from_two_places_are_two_activations_of_nodes_in_contexts() -> None:
    b = samples.Builder()
    one = b.node("f", 1, offset=0)
    g1, g1b = b.node("g", 10, offset=0), b.node("g", 11)
    two = b.node("f", 2)
    g2, g2b = b.node("g", 10, offset=0), b.node("g", 11)
    three = b.node("f", 3)
    for a, z in ((OUTSIDE, one), (one, g1), (g1, g1b), (g1b, two), (two, g2), (g2, g2b)):
        b.edge(a, z, 1)
    b.edge(g2b, three, 1)
    b.edge(three, OUTSIDE, 1)
    rows = rows_of(b.view())
    assert [row.calls for row in rows.activations] == [("f",), ("f", "g"), ("f", "g")]
    assert [row.activation for row in rows.blocks] == [0, 1, 1, 0, 2, 2, 0]


def test_a_first_block_in_two_variants_is_one_activation() -> None:
    b = samples.Builder()
    one, two = b.node("f", 1, offset=0), b.node("f", 2)
    a, z = b.node("g", 10, offset=0), b.node("g", 10, offset=0)
    rest = b.node("g", 12)
    for source, target in ((OUTSIDE, one), (one, a), (one, z), (a, rest), (z, rest), (rest, two)):
        b.edge(source, target)
    b.edge(two, OUTSIDE)
    rows = rows_of(b.view(flow=False))
    assert len(rows.activations) == 2
    assert len({rows.blocks[n].activation for n in (a, z, rest)}) == 1


def test_a_part_that_begins_in_a_callee_returns_to_its_caller() -> None:
    b = samples.Builder("svc/resume")
    inside, caller = b.node("g", 20), b.node("f", 5)
    b.edge(OUTSIDE, inside, 1)
    b.edge(inside, caller, 1)
    b.edge(caller, OUTSIDE, 1)
    rows = rows_of(b.view())
    assert [(row.function, row.parent) for row in rows.activations] == [("g", None), ("f", None)]


def test_facts_and_what_binds() -> None:
    label = samples.MALLOC_FACTS[1].label
    rows = rows_of(samples.malloc().view(samples.MALLOC_FACTS, binding=[label, "not there"]))
    assert rows.facts == {Origin.AUTOMATIC: 1, Origin.WRITTEN: 1, Origin.OBSERVED: 1}
    assert [(row.label, row.origin) for row in rows.binding] == [
        (label, "observed"),
        ("not there", ""),
    ]


def test_without_a_flow_nothing_is_counted() -> None:
    rows = rows_of(samples.small().view(gaps=[Gap("loop", "a.c:3", fact="at most\n?")], flow=False))
    assert not rows.has_flow
    assert rows.coverage is None
    assert rows.differs == ()
    assert {row.count for row in rows.blocks} == {None}
    assert rows.gaps[0].fact == "at most\n?"


def test_a_mark_above_the_bound_is_said() -> None:
    assert rows_of(samples.small().view(high_water_mark_ns=Fraction(59))).below
    assert not rows_of(samples.small().view(high_water_mark_ns=Fraction(58))).below


def test_only_a_bound_is_called_one() -> None:
    assert rows_of(samples.small().view()).title == "bound"
    for word in (Word.ESTIMATE, Word.HIGH_WATER_MARK):
        assert "bound" not in rows_of(samples.small().view(word=word)).title


def test_what_does_not_fit_is_refused() -> None:
    view = samples.small().view()
    assert view.flow is not None
    wrong = {
        "cost more than the whole": replace(view, bound_ns=Fraction(57)),
        "costs, 6 nodes": replace(view, node_costs=view.node_costs[1:]),
        "less than nothing": replace(view, node_costs=[Fraction(-1)] * 6),
        "as often as it enters": replace(view, flow=Flow({}, {**view.flow.counts, 4: 2, 5: 2})),
        "edge 99": replace(view, flow=Flow({}, {99: 1})),
        "has no bound": replace(view, model=replace(view.model, gaps=(Gap("a", "b"),))),
    }
    for message, broken in wrong.items():
        with pytest.raises(ValueError, match=message):
            rows_of(broken)


def test_names_lose_what_a_terminal_acts_on() -> None:
    b = samples.small()
    b.sources["a.c", 1] = "\x1b[31mred"
    rows = rows_of(replace(b.view(notes=["a\nb"]), service="f\x1b[2J"))
    text = repr(rows)
    assert "\x1b" not in text
    assert rows.notes == ("a\\nb",)
    assert rows.blocks[0].source == "\\x1b[31mred"
