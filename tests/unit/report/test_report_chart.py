"""Charts: places of values, read back from the picture."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.report import picture
from wcetchar.report.chart import Chart, Line, Panel, svg

SVG = "{http://www.w3.org/2000/svg}"


def chart(*lines: Line, base: int | None = 10, logarithmic: bool = False) -> Chart:
    panel = Panel("loss", lines, lambda value: f"{value:g} %", logarithmic)
    return Chart("title <b>", "time slice", picture.nanoseconds, [panel], base)


def test_equal_ratios_are_equally_far_apart() -> None:
    root = ElementTree.fromstring(svg(chart(Line("one", [(10, 0), (100, 50), (1000, 100)]))))
    (line,) = root.iter(f"{SVG}polyline")
    places = [tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]
    (x1, y1), (x2, y2), (x3, y3) = places
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.02)
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.02)
    assert (x1, x3) == (picture.LEFT, picture.WIDTH - picture.RIGHT)
    titles = [dot.findtext(f"{SVG}title") for dot in root.iter(f"{SVG}circle")]
    assert titles == ["one: 0 % at 10 ns", "one: 50 % at 100 ns", "one: 100 % at 1 us"]
    assert "title <b>" in [text.text for text in root.iter(f"{SVG}text")]


def test_each_panel_has_its_own_scale_and_all_the_same_axis() -> None:
    small = Panel("a", [Line("one", [(1, 1), (100, 2)])], str, level=(1.5, "limit"))
    large = Panel("b", [Line("two", [(1, 1000), (100, 2000)], "dots")], str)
    root = ElementTree.fromstring(
        svg(Chart("t", "x", str, [small, large], None, at=[(50.0, "here")]))
    )
    dots = [
        [(float(d.attrib["cx"]), float(d.attrib["cy"])) for d in group.iter(f"{SVG}circle")]
        for group in root.iter(f"{SVG}g")
    ]
    (upper, lower) = dots
    assert [x for x, _ in upper] == [x for x, _ in lower]
    assert max(y for _, y in upper) < min(y for _, y in lower)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"limit", "a", "b"} <= set(texts)
    assert texts.count("here") == 2
    assert len(list(root.iter(f"{SVG}polyline"))) == 1


def test_a_long_line_has_no_dots() -> None:
    long = Line("long", [(1 + n, n) for n in range(1000)])
    root = ElementTree.fromstring(svg(chart(long)))
    assert not list(root.iter(f"{SVG}circle"))


def test_what_has_no_place_is_refused() -> None:
    with pytest.raises(ValueError, match="without a point"):
        svg(chart())
    with pytest.raises(ValueError, match="no place on a logarithmic scale"):
        svg(chart(Line("one", [(0, 1)])))
    with pytest.raises(ValueError, match="no place on a logarithmic scale"):
        svg(chart(Line("one", [(1, -1)]), logarithmic=True))


@given(st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=9), st.sampled_from([2, 10]))
def test_every_value_lies_between_the_ends(values: list[float], base: int) -> None:
    for scale in (
        picture.linear(values, 0, 100),
        picture.linear([-v for v in values], 0, 100),
        picture.logarithmic(values, 0, 100, base),
    ):
        for value in values if scale.low >= 0 else [-v for v in values]:
            assert -1e-6 <= scale(value) <= 100 + 1e-6
        assert scale(scale.low) == 0
        assert scale(scale.high) == pytest.approx(100)
        assert list(scale.ticks) == sorted(scale.ticks)
        assert len(scale.ticks) <= 200 if scale.logarithmic else len(scale.ticks) <= 12
        assert scale(scale.ticks[0]) == pytest.approx(0, abs=1e-6)
        assert scale(scale.ticks[-1]) == pytest.approx(100)
        assert all(math.isfinite(tick) for tick in scale.ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (1, "1 ns"), (1000, "1 us"), (2.5e6, "2.5 ms"), (1e9, "1 s"), (5e12, "5 ks")],
)
def test_times_have_a_prefix(value: float, text: str) -> None:
    assert picture.nanoseconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4096, "4.096 kB"), (-2e6, "-2 MB"), (1e15, "1000 TB"), (0.5, "500 mB")]
)
def test_other_units_too(value: float, text: str) -> None:
    assert picture.with_prefix(value, "B") == text
