"""The longest stretches and the counts of the summary, over characterizations made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from wcetchar import formula
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Evidence,
    Joint,
    NotCharacterized,
    Place,
    Provenance,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
    TraceSection,
    Word,
)
from wcetchar.model.service import Kernel, LeftOut, Parameter, ParameterKind, ServiceKind
from wcetchar.report import summary
from wcetchar.report.longest import longest_stretches

MASKED = Blocking(interrupts=True)
N = Parameter("N", ParameterKind.STATE, 0, 10, "elements")


def row(instructions: int, repetition: str = "1") -> TraceSection:
    vector = AccessVector({CoreEvent(".text", EventKind.ALU): instructions})
    return TraceSection(MASKED, vector, formula.parse(repetition))


def stretch(
    counts: Counts, begin: str = "a", end: str = "b", kind: StretchKind = StretchKind.INTERRUPTS
) -> BlockingStretch:
    return BlockingStretch(kind, begin, end, counts, Place(begin, 0, "k.c", 3), None)


def service(
    name: str,
    *stretches: BlockingStretch,
    counts: Counts | None = None,
    evidence: Evidence | None = None,
    parameters: tuple[Parameter, ...] = (N,),
    known: bool = True,
) -> ServiceCharacterization:
    return ServiceCharacterization(
        name=name,
        kind=ServiceKind.CALL,
        word=Word.HIGH_WATER_MARK,
        parameters=parameters,
        counts=counts or Counts(rows=(row(1),)),
        stretches=stretches,
        evidence=evidence or Evidence(3, ((1,), (2,)), ((5,),)),
        stretches_known=known,
    )


def kernel(
    *services: ServiceCharacterization, missing: tuple[NotCharacterized, ...] = ()
) -> Characterization:
    return Characterization(
        Kernel("K", "1"), "a", 32, (), services, Provenance("t"), not_characterized=missing
    )


def test_a_stretch_counts_where_it_is_longest_not_where_the_parameter_is() -> None:
    falling = stretch(Counts(rows=(row(4, "10 - N"), row(3))))
    (found,) = longest_stretches(kernel(service("s", falling)), StretchKind.INTERRUPTS)
    assert (found.instructions, found.parameters) == (4 * 9 + 3, (("N", 1),))
    assert (found.begin.function, found.begin.file, found.begin.line) == ("a", "k.c", 3)
    assert (found.end.text, found.end.function, found.end.line) == ("b", None, None)


def test_without_evidence_the_corners_of_the_range_stand_for_it() -> None:
    falling = stretch(Counts(rows=(row(4, "10 - N"),)))
    bare = service("s", falling, evidence=Evidence())
    (found,) = longest_stretches(kernel(bare), StretchKind.INTERRUPTS)
    assert (found.instructions, found.parameters) == (40, (("N", 0),))
    fixed = service("s", stretch(Counts(rows=(row(4),))), evidence=Evidence(), parameters=())
    (found,) = longest_stretches(kernel(fixed), StretchKind.INTERRUPTS)
    assert (found.instructions, found.parameters) == (4, ())


def test_tables_count_at_their_points() -> None:
    points = (TablePoint((1,), (row(9), row(2))), TablePoint((2,), (row(7),)))
    (found,) = longest_stretches(
        kernel(service("s", stretch(Counts(points=points)))), StretchKind.INTERRUPTS
    )
    assert (found.instructions, found.parameters) == (11, (("N", 1),))


def test_one_place_is_one_stretch_and_five_are_shown() -> None:
    services = [
        service(f"s{n}", stretch(Counts(rows=(row(10 + n),)), begin=f"p{n % 7}")) for n in range(14)
    ]
    found = longest_stretches(kernel(*services), StretchKind.INTERRUPTS)
    assert [f.instructions for f in found] == [23, 22, 21, 20, 19]
    assert [f.also_in for f in found] == [(f"s{n - 7}",) for n in (13, 12, 11, 10, 9)]
    assert longest_stretches(kernel(*services), StretchKind.PREEMPTION) == ()


def test_the_summary_counts_calls_that_are_left_out_by_their_reasons() -> None:
    """They are none of the services that traces should show."""
    left_out = (LeftOut("it is \x1bodd", ("a", "b")), LeftOut("inline", ("c",)))
    made = summary.summary_of(replace(kernel(service("f")), left_out=left_out))
    assert made.wanted == 1
    assert json.loads(summary.json_of(made))["left_out"] == [
        {"because": "it is \\x1bodd", "calls": ["a", "b"]},
        {"because": "inline", "calls": ["c"]},
    ]
    lines = [line.strip() for line in summary.render(made).splitlines()]
    at = lines.index("calls of the kernel that are no services: 3")
    assert lines[at + 1 : at + 3] == ["2  it is \\x1bodd", "1  inline"]
    assert "no services" not in summary.render(summary.summary_of(kernel(service("f"))))


def test_the_largest_point_of_a_table_stands_for_it_not_the_last() -> None:
    points = tuple(
        TablePoint((n,), rows)
        for n, rows in ((1, (row(7),)), (2, (row(9), row(2))), (3, (row(10),)))
    )
    (found,) = summary.summary_of(kernel(service("t", counts=Counts(points=points)))).services
    assert [instructions for _, _, instructions in found.sections] == [9, 2]


def test_the_summary_counts_every_wanted_service() -> None:
    table = Counts(points=(TablePoint((1,), (row(9),)),))
    missing = (NotCharacterized("gone", "no \x1btrace shows it"),)
    made = summary.summary_of(
        kernel(
            service("f", stretch(Counts(rows=(row(8),)), kind=StretchKind.PREEMPTION)),
            service("g", known=False),
            service("t", counts=table),
            replace(service("u"), word=Word.ESTIMATE),
            missing=missing,
        )
    )
    assert (made.wanted, made.by_formula, made.by_table, made.estimates) == (5, 2, 1, 1)
    document = json.loads(summary.json_of(made))
    assert document["by_formula"] == 2
    assert document["by_table"] == 1
    assert document["estimates"] == 1
    assert document["not_characterized"] == [
        {"service": "gone", "reason": "no \\x1btrace shows it"}
    ]
    assert document["longest_interrupts"] == []
    (found,) = document["longest_preemption"]
    assert found["begin"] == {
        "text": "a",
        "function": "a",
        "offset": 0,
        "file": "k.c",
        "line": 3,
        "inlined_file": None,
        "inlined_line": None,
    }
    assert (found["service"], found["parameters"], found["instructions"]) == ("f", {"N": 1}, 8)
    text = summary.render(made)
    assert (
        "services: 5, 2 by exact formula (40.0 %), 1 by table of observed values, 1 estimates, "
        "1 not at all" in text
    )
    assert "not at all: gone: no \\x1btrace shows it" in text
    assert "longest stretches with interrupts masked: none" in text
    assert "        8  f at N=1" in text
    assert "of 1 services no stretches were published" in text


def joined(found: BlockingStretch, goes_on_from: str, goes_on_in: str) -> BlockingStretch:
    return replace(
        found,
        goes_on_from=frozenset(Joint(j) for j in goes_on_from.split()),
        goes_on_in=frozenset(Joint(j) for j in goes_on_in.split()),
    )


def test_what_goes_on_with_a_stretch_is_added_and_named() -> None:
    """Ranked by the whole: 3 + 100 + 9 * 5 before 60 alone. N was observed up to 5."""
    services = (
        service("calls", joined(stretch(Counts((row(3),)), "a"), "", "handler")),
        service("switch", joined(stretch(Counts((row(100),)), "b"), "handler", "thread")),
        service("short", joined(stretch(Counts((row(20),)), "c"), "thread", "")),
        service("long", joined(stretch(Counts((row(9, "N"),)), "d"), "thread", "")),
        service("alone", joined(stretch(Counts((row(60),)), "e"), "", "")),
    )
    found = longest_stretches(kernel(*services), StretchKind.INTERRUPTS)
    assert [(f.service, f.instructions, f.whole) for f in found] == [
        ("calls", 3, 148), ("switch", 100, 145), ("alone", 60, 60), ("long", 45, 45),
        ("short", 20, 20),
    ]  # fmt: skip
    assert [(f.service, f.instructions) for f in found[0].follows] == [
        ("switch", 100),
        ("long", 45),
    ]
    assert summary.sum_text(summary.stretch_json(found[0])) == "3 + 100 of switch + 45 of long"
    text = summary.render(summary.summary_of(kernel(*services)))
    assert "      148  calls" in text
    missing = longest_stretches(kernel(services[0]), StretchKind.INTERRUPTS)[0]
    assert missing.whole == 3
    assert missing.not_bounded == ("no handler of a supervisor call is characterized",)
    text = summary.render(summary.summary_of(kernel(services[0])))
    assert "        3  at least calls" in text


def test_handlers_inside_a_stretch_are_added() -> None:
    """Of two supervisor calls the first comes back, and its handler counts as a whole."""
    calls = AccessVector({CoreEvent(".text", EventKind.SUPERVISOR_CALL): 2})
    twice = Counts((TraceSection(MASKED, calls, formula.parse("1")),))
    services = (
        service("twice", joined(stretch(twice, "a"), "", "handler")),
        service(
            "switch",
            joined(stretch(Counts((row(100),)), "b"), "handler", ""),
            counts=Counts((row(130),)),
        ),
    )
    found = longest_stretches(kernel(*services), StretchKind.INTERRUPTS)[0]
    assert (found.service, found.whole) == ("twice", 2 + 130 + 100)
    assert [f.instructions for f in found.follows] == [130, 100]


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (9, 10, "90.0 %"),
        (8999, 10000, "89.9 %"),
        (1, 1, "100.0 %"),
        (999, 1000, "99.9 %"),
        (0, 3, "0.0 %"),
        (0, 0, "0.0 %"),
    ],
)
def test_a_share_is_never_more_than_the_truth(part: int, whole: int, text: str) -> None:
    assert summary.share(part, whole) == text
