"""Measured times as CSV: what is read, and where each mistake is said to be."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.model.hardware import Unit
from wcetchar.store import load_measurement_table


def _file(folder: Path, text: str) -> str:
    path = folder / "m.csv"
    path.write_text(text)
    return str(path)


def test_a_table(tmp_path: Path) -> None:
    table = load_measurement_table(
        _file(
            tmp_path,
            '# board A\nservice,N,label,us,W\n\nf,3,cold,1.25,\n  g ,,"a, b",7,0\n',
        )
    )
    assert (table.unit, dict(table.columns)) == (Unit.NANOSECONDS, {"N": 9, "W": 20})
    first, second = table.measurements
    assert (first.service, first.parameters, first.time) == ("f", {"N": 3}, Fraction(1250))
    assert (first.line, first.label) == (4, "cold")
    assert (second.service, second.parameters, second.label) == ("g", {"W": 0}, "a, b")


@pytest.mark.parametrize(
    ("unit", "factor"), [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)]
)
def test_units_of_time(tmp_path: Path, unit: str, factor: int) -> None:
    (one,) = load_measurement_table(_file(tmp_path, f"service,{unit}\nf,0.5\n")).measurements
    assert (one.time, one.unit) == (Fraction(factor, 2), Unit.NANOSECONDS)


def test_cycles_stay_cycles(tmp_path: Path) -> None:
    (one,) = load_measurement_table(_file(tmp_path, "service,cycles\nf,12\n")).measurements
    assert (one.time, one.unit) == (Fraction(12), Unit.CYCLES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.csv:1: is empty"),
        ("# nothing\n", "m.csv:1: is empty"),
        ("service,ns\n", "m.csv:1: has a heading and no measurement"),
        ("N,ns\n1,2\n", "m.csv:1:1: no column has the heading `service`"),
        ("service,N\nf,2\n", "m.csv:1:1: no column has a time"),
        ("service,ns,us\nf,2,3\n", "m.csv:1:1: several columns have times"),
        ("service,N,N,ns\nf,1,1,2\n", "m.csv:1:11: column `N` is there twice"),
        ("service,,ns\nf,1,2\n", "m.csv:1:9: a column has no heading"),
        ("service,N,ns\nf,1\n", "m.csv:2:1: has 2 values"),
        ("service,N,ns\n,1,2\n", "m.csv:2:1: names no service"),
        ("service,N,ns\nf,1.5,2\n", "m.csv:2:3: `1.5` is not a value of `N`"),
        ("service,N,ns\nf,-1,2\n", "m.csv:2:3: `-1` is not a value of `N`"),
        ("service,N,ns\nf,1,-2\n", "m.csv:2:5: `-2` is not a measured time"),
        ("service,N,ns\nf,1,1e3\n", "m.csv:2:5: `1e3` is not a measured time"),
        ("service,N,ns\nf,1,nan\n", "m.csv:2:5: `nan` is not a measured time"),
        ("service,N,ns\nf,1,\n", "m.csv:2:5: `` is not a measured time"),
        ('service,ns\n"f,2\n', "m.csv:2:1: is no line of comma-separated values"),
        ('service,label,ns\n"f","a ""b""",x\n', "m.csv:2:15: `x` is not a measured time"),
    ],
)
def test_mistakes_have_places(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_measurement_table(_file(tmp_path, text))
    assert message in str(caught.value)


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_measurement_table(_file(tmp_path, "service,N,ns\nf,x,y\ng,1,z\n"))
    assert [line.split(" ")[0] for line in str(caught.value).splitlines()[::2]] == [
        f"{tmp_path}/m.csv:{place}:" for place in ("2:3", "2:5", "3:5")
    ]


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12),
            st.none() | st.integers(0, 10**9),
            st.decimals(0, 10**6, places=3),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:  # type: ignore[type-arg]
    import csv

    path = tmp_path_factory.mktemp("csv") / "m.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(["service", "N", "ns"])
        for service, n, time in rows:
            writer.writerow([service, "" if n is None else n, time])
    kept = [row for row in rows if row[0].strip()]
    if len(kept) < len(rows):
        with pytest.raises(InputError):
            load_measurement_table(path)
        return
    found = load_measurement_table(path).measurements
    assert [(m.service, m.parameters.get("N"), m.time) for m in found] == [
        (service.strip(), n, Fraction(time)) for service, n, time in rows
    ]
