"""Readings of a clock: what a file says, and its mistakes with their places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wcetchar
from wcetchar.errors import InputError, InputErrors
from wcetchar.model.hardware import Unit
from wcetchar.model.measuring import Reading
from wcetchar.store import load_readings, parse_readings

PAGE = Path(wcetchar.__file__).resolve().parents[1] / "docs" / "reference" / "readings.md"
HEADING = "operation,parameter,calls,start_outer_ns,start_inner_ns,end_inner_ns,end_outer_ns\n"


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text(
        "# machine: ours, the second\n# clock: 8 MHz +- 1 %\n# cache: L1, 32 KiB\n"
        "# cache: L2, 1 MiB\n# bits: 32\n# anything else\n\n"
        "operation,calls,start_outer_cycles,start_inner_cycles,end_inner_cycles,end_outer_cycles,"
        'parameter\n"a, b",2,0,1,5,6,3\n"a, b",2,4294967290,4294967295,4,5,3\nc,,1,1,1,1,\n'
    )
    found = load_readings(file)
    assert found.unit is Unit.CYCLES
    assert found.clock == (7_920_000, 8_000_000, 8_080_000)
    assert found.machine == "ours, the second"
    assert found.caches == (("L1", 32768), ("L2", 1 << 20))
    first, second = found.series
    assert (first.operation, first.parameter, first.calls, first.line) == ("a, b", 3, 2, 9)
    assert [one.inner for one in first.readings] == [4, 5]
    assert first.readings[1].overhead == 6
    assert (second.operation, second.parameter, second.calls) == ("c", None, 1)


@given(
    st.integers(8, 64),
    st.lists(st.integers(0, 255), min_size=3, max_size=3),
    st.integers(0, (1 << 64) - 1),
)
def test_a_counter_that_begins_anew(bits: int, gaps: list[int], start: int) -> None:
    places = [start % (1 << bits)]
    gaps = [gaps[0] // 2, gaps[1], gaps[2] // 2]  # with nothing between: less than half a round
    for gap in gaps:
        places.append((places[-1] + gap) % (1 << bits))
    text = f"# bits: {bits}\n{HEADING}x,,1,{','.join(map(str, places))}\n"
    (series,) = parse_readings(text, "r.csv").series
    (one,) = series.readings
    assert (*one.gaps, one.inner) == (gaps[0], gaps[2], gaps[1])


@pytest.mark.skipif(not PAGE.is_file(), reason="not run from a checkout")
def test_the_example_of_the_page_reads() -> None:
    (example,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    found = parse_readings(example, "r.csv")
    assert [one.inner for one in found.series[0].readings] == [206, 206]
    assert found.clock is not None


def test_order_of_repetitions_is_that_of_the_file() -> None:
    lines = "".join(f"{name},,1,0,0,{n},{n}\n" for n, name in enumerate("abab"))
    found = parse_readings(HEADING + lines, "r.csv").series
    assert [[one.inner for one in s.readings] for s in found] == [[0, 2], [1, 3]]
    assert found[0].readings[1] == Reading(0, 0, 2, 2)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "r.csv:1", "is empty"),
        (HEADING, "r.csv:1", "no reading"),
        ("operation,calls\nx,1\n", "r.csv:1:1", "no column has readings"),
        (HEADING.replace("end_inner_ns", "end_inner_cycles"), "r.csv:1:1", "of two units"),
        (HEADING.replace(",end_inner_ns", ""), "r.csv:1:1", "no column has the heading `end_inner"),
        (HEADING.replace("operation,", ""), "r.csv:1:1", "no column has the heading `operation`"),
        (HEADING.replace("calls", "count"), "r.csv:1:21", "`count` is not known"),
        (HEADING.replace("calls", "parameter"), "r.csv:1:21", "there twice"),
        (HEADING + "x,,1,0,1,2\n", "r.csv:2:1", "has 6 values"),
        (HEADING + ",,1,0,1,2,3\n", "r.csv:2:1", "names no operation"),
        (HEADING + "x,-1,1,0,1,2,3\n", "r.csv:2:3", "cannot stand under `parameter`"),
        (HEADING + "x,,0,0,1,2,3\n", "r.csv:2:4", "no call in a reading"),
        (HEADING + "x,,1,0,1.5,2,3\n", "r.csv:2:8", "no reading of a clock"),
        (HEADING + "x,,1,0,,2,3\n", "r.csv:2:8", "no reading of a clock"),
        (HEADING + "x,,1,5,6,4,7\n", "r.csv:2:10", "went backwards"),
        (HEADING + "x,,1,0,1,2,3\nx,,2,0,1,2,3\n", "r.csv:3:4", "had 1 in line 2"),
        ("# bits: 16\n" + HEADING + "x,,1,0,1,65536,3\n", "r.csv:3:10", "of 16 bits"),
        ("# bits: 24\n" + HEADING + "x,,1,1000,992,500,492\n", "r.csv:3:11", "does it count down"),
        (
            "# bits: 32\n" + HEADING + "x,,1,0,8,16777210,2\n",
            "r.csv:3:19",
            "is it narrower than `# bits: 32` says",
        ),
        ("# bits: 16\n# bits: 24\n" + HEADING, "r.csv:2", "where line 1 has 16"),
        ("# clock: 8 MHz\n# clock: 16 MHz\n" + HEADING, "r.csv:2", "a file of their own"),
        ("# bits: 7\n" + HEADING, "r.csv:1", "no width of a counter"),
        ("# clock: 8\n" + HEADING, "r.csv:1", "has no unit"),
        ("# cache: L1, 3\n" + HEADING, "r.csv:1", "has no unit"),
        (HEADING + 'x"y",,1,0,1,2,3\n"z,,1,0,1,2,3\n', "r.csv:3:1", "comma-separated"),
    ],
)
def test_mistakes_have_their_place(text: str, place: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_readings(text, "r.csv")
    lines = str(caught.value).splitlines()
    assert any(line.startswith(f"{place}: ") for line in lines), lines
    assert said in str(caught.value)


def test_all_mistakes_at_once() -> None:
    with pytest.raises(InputErrors) as caught:
        parse_readings(HEADING + "x,,1,5,4,6,7\n,a,1,0,1,2,3\n", "r.csv")
    assert [(e.where.line, e.where.column) for e in caught.value.errors if e.where] == [
        (2, 8),
        (3, 1),
        (3, 2),
    ]


@given(st.text(alphabet='x,#:\n"0123 -.bitsclok', max_size=120))
def test_any_text_reads_or_is_refused(text: str) -> None:
    for whole in (text, HEADING + text):
        said = "r.csv"
        try:
            parse_readings(whole, "r.csv")
        except InputError as error:
            said = str(error)
        assert "r.csv" in said
