"""Views and their renderers, over estimates put together by hand."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import one_line
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
)
from wcetchar.model.characterization import Word
from wcetchar.model.estimate import Chain, Estimate, EstimateColumn, EstimateRow, Link
from wcetchar.model.interval import Interval
from wcetchar.report import comparison, jsondoc, markdown, terminal
from wcetchar.report import csv as csv_report
from wcetchar.report.view import class_name, view_of


def exactly(value: int | Fraction) -> Interval:
    return Interval(*[Fraction(value)] * 3)


def made(
    counts: dict[Key, int],
    price: int | Fraction = 10,
    name: str = "svc",
    blocking: str = "none",
    notes: tuple[str, ...] = (),
) -> Estimate:
    """One row, once, with one price for everything."""
    vector = AccessVector(counts)
    total = exactly(Fraction(price) * sum(counts.values()))
    columns = tuple(
        EstimateColumn(key, "m", n, exactly(price), exactly(price * n)) for key, n in vector.items()
    )
    return Estimate(
        name,
        "board",
        {"N": 3},
        Word.HIGH_WATER_MARK,
        total,
        Fraction(10**8),
        (EstimateRow("1", "1", 1, blocking, vector, total),),
        columns,
        exactly(7),
        exactly(8),
        notes,
        "map",
        "a to b",
        "c to d",
    )


FEW: dict[Key, int] = {
    AccessClass(".text", Operation.FETCH, 32, Pattern.FIRST): 5,
    AccessClass(".data", Operation.READ, 0): 4,
    CoreEvent("", EventKind.BRANCH_TAKEN): 3,
}
MANY: dict[Key, int] = {
    AccessClass(section, operation, width): 100 * i + 10 * j + k
    for i, section in enumerate((".bss", ".data"), 1)
    for j, operation in enumerate((Operation.READ, Operation.WRITE), 1)
    for k, width in enumerate((0, 8, 16, 32), 1)
} | {CoreEvent(".text", EventKind.ALU): 7, CoreEvent("", EventKind.CALL): 2}


def test_few_classes_are_columns_of_their_own() -> None:
    view = view_of(made(FEW))
    assert not view.grouped
    assert [group.heading for group in view.groups] == [
        ("core", "branch", "taken"),
        (".data", "read", "?"),
        (".text", "fetch", "32", "first"),
    ]
    assert [group.price_ns for group in view.groups] == [10, 10, 10]


def test_many_classes_are_grouped_without_losing_any() -> None:
    view = view_of(made(MANY))
    assert view.grouped
    headings = [group.heading for group in view.groups]
    assert sorted(headings) == sorted(
        [(s, o) for s in (".bss", ".data") for o in ("read", "write")] + [("core", "events")]
    )
    by_heading = {group.heading: group for group in view.groups}
    assert by_heading[(".bss", "write")].count == 121 + 122 + 123 + 124
    assert by_heading[("core", "events")].count == 9
    assert sum(group.ns for group in view.groups) == view.total.high
    assert sum(view.sections[0].groups) == sum(MANY.values())
    assert len(view.columns) == len(MANY), "the other formats still have every class"


def test_the_dearest_come_first_and_nothing_that_costs_nothing() -> None:
    view = view_of(made(MANY))
    costs = [column.ns for column in view.contributors]
    assert costs == sorted((10 * n for n in MANY.values()), reverse=True)[:5]
    assert view_of(made(FEW, price=0)).contributors == ()


def test_names_of_classes() -> None:
    assert class_name(CoreEvent("", EventKind.BRANCH_TAKEN)) == "branch taken"
    assert class_name(AccessClass("?", Operation.READ, 0)) == "? read ? single"


def test_a_wide_table_goes_on_below_itself_and_keeps_every_column() -> None:
    for width in (60, 80, 100, 120, 300):
        text = terminal.render([view_of(made(MANY))], width=width)
        assert max(len(line) for line in text.splitlines()) <= width
        cells = text.split()
        for group in view_of(made(MANY)).groups:
            assert str(group.count) in cells, (width, group)


def test_every_figure_has_its_word_beside_it() -> None:
    text = terminal.render([view_of(made(FEW))])
    assert "total 120 ns (high-water mark)" in text
    assert "blocks interrupts for 7 ns (high-water mark): a to b" in text
    assert "blocks preemption for 8 ns (high-water mark): c to d" in text


def test_several_estimates_get_a_summary_with_words() -> None:
    text = terminal.render([view_of(made(FEW)), view_of(made(FEW, name="other"))])
    *_, one, two, _, interrupts, preemption = text.splitlines()
    summary = [one, two]
    assert all("high-water mark" in line and "120" in line for line in summary)
    assert "other" in summary[1]
    assert "interrupts are held off by these: 7 ns (high-water mark)" in interrupts
    assert "preemption is held off by these: 8 ns (high-water mark)" in preemption


def test_times_are_rounded_up_everywhere() -> None:
    view = view_of(made({AccessClass("d", Operation.READ, 8): 1}, price=Fraction(10_001, 3)))
    assert "total 3,333.667 ns" in terminal.render([view])
    assert "3,333.667 ns" in markdown.render([view])
    assert "3333.667" in csv_report.render([view])
    (found,) = json.loads(jsondoc.render([view]))["estimates"]
    assert found["total_ns"] == 3333.667
    assert found["range_ns"]["low"] == 3333.666


def test_tolerances_are_shown() -> None:
    wide = made(FEW)
    view = view_of(
        Estimate(
            **{
                **{f: getattr(wide, f) for f in wide.__dataclass_fields__},
                "total": Interval(Fraction(90), Fraction(100), Fraction(120)),
            }
        )
    )
    text = terminal.render([view])
    assert "from 90 ns, nominally 100 ns" in text
    assert "from" not in terminal.render([view_of(wide)]).split("total")[1].splitlines()[0]


@given(st.text(max_size=20))
def test_nothing_printable_can_drive_a_terminal(text: str) -> None:
    assert one_line(text).isprintable()


HOSTILE = "=1+1|<b>\x1b[2J\n`x`"


def test_hostile_names_stay_text() -> None:
    view = view_of(
        made({AccessClass(HOSTILE, Operation.READ, 8): 1}, name=HOSTILE, notes=(HOSTILE,))
    )
    for text in (
        terminal.render([view]),
        terminal.render([view], color=False, width=60),
        markdown.render([view]),
        csv_report.render([view]),
        jsondoc.render([view]),
    ):
        assert "\x1b" not in text
    rows = list(csv.reader(io.StringIO(csv_report.render([view]))))
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert len({len(row) for row in rows}) == 1
    table = markdown.render([view])
    assert "<b>" not in table.replace("\\<b\\>", "")
    assert "\\|" in table


def test_rich_markup_is_text_and_plain_output_is_plain() -> None:
    view = view_of(made(FEW, name="[bold]svc[/bold] :smile:"))
    text = terminal.render([view])
    assert "[bold]svc[/bold] :smile:" in text
    assert "\x1b[1m" in terminal.render([view], color=True)


def test_the_comparison_uses_the_nearest_tenth() -> None:
    platform = comparison.Compared("p", view_of(made(FEW)), Fraction(110), Fraction(1000, 110))
    found = json.loads(comparison.document([platform]))
    assert found["platforms"] == [
        {"name": "p", "estimated_ns": 120, "measured_ns": 110, "overestimation_percent": 9.1}
    ]
    assert "9.1 %" in comparison.render([platform], "somewhere", 100, False)


def chained(*gaps: str) -> Estimate:
    """7 ns of its own, 20 of the switch, 3 of what goes on."""
    links = (
        Link("svc", "a to b", {"N": 3}, exactly(7)),
        Link("switch", "c to d", {}, exactly(20)),
        Link("other", "e to f", {"S": 4}, exactly(3)),
    )
    return replace(made(FEW), interrupts_chain=Chain(exactly(30), Word.ESTIMATE, links, gaps))


def test_what_goes_on_after_a_stretch_is_told_apart_from_it() -> None:
    text = terminal.render([view_of(chained())]).splitlines()
    at = text.index("blocks interrupts for 30 ns (estimate), with what goes on after it:")
    assert text[at + 1 : at + 5] == [
        "  7 ns svc at N=3: a to b",
        "  20 ns switch: c to d",
        "  3 ns other at S=4: e to f",
        "  its own longest stretch: 7 ns: a to b",
    ]
    assert "total 120 ns (high-water mark), 12 core cycles" in text
    lines = markdown.render([view_of(chained())]).splitlines()
    at = lines.index("* interrupts blocked for 30 ns (estimate), with what goes on after it:")
    assert lines[at + 1] == "  * 7 ns svc at N=3: a to b"


def test_what_has_no_longest_is_at_least() -> None:
    text = terminal.render([view_of(chained("why")), view_of(made(FEW, name="other"))])
    assert "blocks interrupts for at least 30 ns (estimate)" in text
    assert "  not bounded: why" in text.splitlines()
    assert "are held off by these: at least 30 ns (estimate): svc, then switch, then other" in text
    assert "is held off by these: 8 ns" in text
    lines = markdown.render([view_of(chained("why"))]).splitlines()
    assert "  * not bounded: why" in lines


def test_chains_in_documents_and_tables() -> None:
    (found,) = json.loads(jsondoc.render([view_of(chained("why"))]))["estimates"]
    assert found["blocking_ns"] == {"interrupts": 30, "preemption": 8}
    assert found["blocking_where"]["interrupts"] == "a to b"
    assert set(found["blocking_chains"]) == {"interrupts"}
    chain = found["blocking_chains"]["interrupts"]
    assert (chain["word"], chain["own_ns"], chain["not_bounded"]) == ("estimate", 7, ["why"])
    assert [link["ns"] for link in chain["links"]] == [7, 20, 3]
    rows = list(csv.DictReader(io.StringIO(csv_report.render([view_of(chained())]))))
    blocking = [r for r in rows if r["blocking"] == "interrupts"]
    assert [(r["line"], r["class"], r["ns"]) for r in blocking] == [
        ("blocking", "", "30"),
        ("own", "", "7"),
        ("chain", "svc", "7"),
        ("chain", "switch", "20"),
        ("chain", "other", "3"),
    ]
    # The summary of several has what counts for an interrupt, which is the whole.
    line = next(x for x in terminal.summary([view_of(chained())]).splitlines() if " 30" in x)
    assert line.startswith("svc")
