"""Pictures of what numbers raise and lower, read back: places, order, names of strangers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from wcetchar.model.characterization import Word
from wcetchar.model.estimate import Estimate
from wcetchar.model.interval import Interval
from wcetchar.model.uncertainty import Contribution, NoRange, Uncertainties, Uncertainty
from wcetchar.report.tornado import svg
from wcetchar.report.uncertainty import NUMBERS
from wcetchar.report.view import view_of

F = Fraction
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert("x")</script>&amp;\x1b[31m\n=1+1' + "w" * 300
NOTHING = Uncertainty(F(0), F(0), F(0), F(0), F(0), F(0), ())


def number(name: str, lowers: int, raises: int, unit: str = "ns") -> Contribution:
    ends = F(1), F(2), F(3)
    return Contribution(name, *ends, unit, F(lowers), F(raises), F(raises), F(0))


def range_of(*numbers: Contribution, nominal: int = 1000) -> Uncertainty:
    down = sum((one.lowers for one in numbers), start=F(0))
    up = sum((one.raises for one in numbers), start=F(0))
    low, high = nominal - down, nominal + up
    return Uncertainty(low, F(nominal), low + down / 4, high - up / 4, F(0), high, numbers)


def drawn(total: Uncertainty, service: str = "svc", **figures: Uncertainty | NoRange) -> str:
    found = {"interrupts": NOTHING, "preemption": NOTHING, **figures}
    estimate = Estimate(
        service=service,
        profile="board",
        parameters={"N": 3},
        word=Word.BOUND,
        total=Interval(total.lowest, total.nominal, total.safe),
        core_clock_hz=F(10**8),
        rows=(),
        columns=(),
        blocking_interrupts=Interval(),
        blocking_preemption=Interval(),
        uncertainty=Uncertainties(total, **found),
    )
    return svg(view_of(estimate))


def bars(root: ElementTree.Element, kind: str) -> list[tuple[float, float]]:
    """Left and right ends, without the one of the legend."""
    found = [
        (float(rect.attrib["x"]), float(rect.attrib["x"]) + float(rect.attrib["width"]))
        for rect in root.iter(f"{SVG}rect")
        if rect.attrib["class"] == kind
    ]
    return found[1:]


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def test_bars_begin_at_nominal_and_are_as_long_as_the_numbers_say() -> None:
    root = ElementTree.fromstring(drawn(range_of(number("a", 100, 300), number("b", 50, 100))))
    lowers, raises = bars(root, "lowers"), bars(root, "raises")
    nominal = raises[0][0]
    begins = [right for _, right in lowers] + [left for left, _ in raises]
    assert begins == pytest.approx([nominal] * 6, abs=0.02)
    per_ns = (raises[0][1] - nominal) / 300
    assert raises[1][1] - nominal == pytest.approx(100 * per_ns, abs=0.05)
    assert [nominal - left for left, _ in lowers] == pytest.approx(
        [100 * per_ns, 50 * per_ns, 150 * per_ns], abs=0.05
    )
    safe = [line for line in root.iter(f"{SVG}line") if line.attrib["class"] == "safe"][1]
    assert float(safe.attrib["x1"]) == pytest.approx(raises[2][1], abs=0.05)
    assert {"a 1..3 ns", "b 1..3 ns", "75.0 %", "25.0 %"} <= set(texts(root))
    assert any("1,400 ns at most" in text for text in texts(root))


def test_the_largest_is_on_top_and_kinds_of_bars_differ_without_colours() -> None:
    root = ElementTree.fromstring(drawn(range_of(number("a", 1, 300), number("b", 2, 100))))
    rows = {text: at for at, text in enumerate(texts(root))}
    assert rows["a 1..3 ns"] < rows["b 1..3 ns"] < rows["all together"]
    style = root.findtext(f"{SVG}style") or ""
    assert ".lowers { fill: #fff;" in style
    assert "stroke-dasharray" in style


def test_each_figure_with_a_range_has_a_chart() -> None:
    total = range_of(number("a", 10, 10))
    blocked = range_of(number("b", 3, 3), nominal=100)
    text = drawn(total, interrupts=blocked, preemption=NoRange("why"), paths=NoRange("why"))
    found = texts(ElementTree.fromstring(text))
    assert any(one.startswith("total: nominally 1,000 ns") for one in found)
    assert any(one.startswith("blocking of interrupts: nominally 100 ns") for one in found)
    assert not any("preemption" in one or "paths" in one for one in found)
    assert found.count("all together") == 2


def test_many_numbers_are_counted() -> None:
    many = [number(f"n{n}", 1, 100 - n) for n in range(NUMBERS + 5)]
    found = texts(ElementTree.fromstring(drawn(range_of(*many))))
    assert "and 5 that raise it less" in found
    assert f"n{NUMBERS} 1..3 ns" not in found


def test_names_are_text() -> None:
    text = drawn(range_of(number(HOSTILE, 10, 10)), service=HOSTILE)
    assert "<script" not in text
    assert "\x1b" not in text
    root = ElementTree.fromstring(text)
    assert max(map(len, texts(root))) < 120
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert any('</text><script>alert("x")</script>&amp;\\x1b[31m\\n' in one for one in titles)


def test_the_same_figures_give_the_same_picture_and_none_gives_none() -> None:
    total = range_of(number("a", 1, 2))
    assert drawn(total) == drawn(replace(total))
    with pytest.raises(ValueError, match="no number"):
        drawn(replace(total, contributions=()))
