"""``wcetchar validate``: the published measurements, unsafe rows, overhead, mistakes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from wcetchar.cli import main

PAPER = [(1, 51_111, 11.0), (2, 14_137, 0.3), (3, 146_400, 1.8)]


def _run(folder: Path, text: str, *options: str, platform: int = 1) -> Result:
    path = folder / "m.csv"
    path.write_text(text)
    return CliRunner().invoke(
        main,
        [
            "validate",
            "renaux2010",
            "--profile",
            f"renaux2010/platform{platform}",
            "--map",
            f"renaux2010/map{platform}",
            "--measured",
            str(path),
            *options,
        ],
    )


@pytest.mark.parametrize(("platform", "measured", "percent"), PAPER)
def test_the_papers_overestimations(
    tmp_path: Path, platform: int, measured: int, percent: float
) -> None:
    text = f"service,N,ns\nCreateThread,13,{measured}\n"
    result = _run(tmp_path, text, "--json", platform=platform)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["unsafe"] == 0
    assert document["overestimation_percent"]["maximum"] == percent
    assert document["rows"][0]["measured_ns"] == measured


def test_a_measurement_above_the_estimate_is_exit_1(tmp_path: Path) -> None:
    text = "service,N,ns\nCreateThread,13,56729\nCreateThread,13,51111\nCreateThread,12,1000\n"
    result = _run(tmp_path, text)
    assert result.exit_code == 1
    assert result.stdout.startswith("1 UNSAFE of 2 rows (3 measurements)")
    assert "CreateThread at N=13: -0.1 %" in result.stderr
    rows = list(csv.DictReader(io.StringIO(_run(tmp_path, text, "--format", "csv").stdout)))
    assert [(r["parameters"], r["unsafe"], r["measurements"]) for r in rows] == [
        ("N=13", "yes", "2"),
        ("N=12", "no", "1"),
    ]
    assert rows[0]["overestimation_percent"] == "-0.1"


def test_blocking_is_held_against_blocking(tmp_path: Path) -> None:
    """54,044 ns of 56,728 are masked at N = 13: the rows 2 and 3 of the paper's table."""
    for time, code in ((54_044, 0), (54_045, 1)):
        text = f"service,N,ns\nCreateThread,13,{time}\n"
        result = _run(tmp_path, text, "--metric", "interrupts", "--json")
        assert result.exit_code == code, result.output
        document = json.loads(result.stdout)
        assert document["rows"][0]["estimated_ns"] == 54_044
        assert document["unsafe"] == code
        # What costs most is known of a total, not of a stretch.
        assert any("all blocking trace sections" in line for line in document["explanation"])
        shown = _run(tmp_path, text, "--metric", "interrupts").stdout
        assert "what costs most" not in shown


def test_cycles_are_of_the_cores_clock(tmp_path: Path) -> None:
    """72 MHz: 3,680 cycles are 51,111.1 ns."""
    result = _run(tmp_path, "service,N,cycles\nCreateThread,13,3680\n", "--json")
    document = json.loads(result.stdout)
    assert document["rows"][0]["measured_ns"] == pytest.approx(51_111.112)
    assert any("72 MHz" in note for note in document["notes"])


def test_overhead_is_subtracted_for_each_label(tmp_path: Path) -> None:
    text = (
        "service,N,ns,label\nnothing,,120,a\nnothing,,111,a\nnothing,,9,b\n"
        "CreateThread,13,51111,a\nCreateThread,13,51111,b\n"
    )
    result = _run(tmp_path, text, "--overhead", "nothing", "--marks-alone", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert {r["label"]: r["measured_ns"] for r in document["rows"]} == {"a": 51_000, "b": 51_102}
    assert document["measurements"] == 2


def test_what_a_function_takes_itself_is_no_overhead(tmp_path: Path) -> None:
    """A call measured 100 ns above its estimate, with marks of 30 ns and a function of 200 ns that
    does nothing: without that function's own estimate all 230 ns would be taken off, and the call
    would look safe."""
    text = "service,N,ns\nnothing,,230\nCreateThread,13,56858\n"
    refused = _run(tmp_path, text, "--overhead", "nothing")
    assert refused.exit_code == 3
    assert "--overhead: the characterization has no service nothing" in refused.stderr
    assert "would be subtracted from each measurement" in refused.stderr
    assert "--marks-alone" in refused.stderr
    alone = "service,N,ns\nnothing,,30\nCreateThread,13,56858\n"
    unsafe = _run(tmp_path, alone, "--overhead", "nothing", "--marks-alone")
    assert unsafe.exit_code == 1, unsafe.output
    both = _run(tmp_path, text, "--overhead", "CreateThread", "--marks-alone")
    assert both.exit_code == 2
    assert "CreateThread is characterized" in both.stderr
    assert _run(tmp_path, text, "--marks-alone").exit_code == 2


def test_each_row_is_shown_where_it_is_asked_for(tmp_path: Path) -> None:
    """In the order of the file, those of a service together."""
    text = "service,N,ns,label\nCreateThread,13,51111,b\nCreateThread,2,9000,a\n"
    for form in ("table", "markdown"):
        few = _run(tmp_path, text, "--format", form).stdout
        each = _run(tmp_path, text, "--each-row", "--format", form).stdout
        assert "9,000" not in few or "51,111" not in few  # the worst row alone
        rows = each[each.index("rows\n") :].split("worst row")[0]
        assert rows.index("51,111") < rows.index("9,000")
        assert len(each.splitlines()) > len(few.splitlines())


@pytest.mark.parametrize(
    ("text", "options", "messages"),
    [
        (
            "service,M,ns\nCreateThread,13,1\n",
            (),
            ["m.csv:1:9: no service of the characterization has a parameter M"],
        ),
        (
            "service,N,ns\nCreateThreads,13,1\nother,,2\n",
            (),
            ["m.csv:2:1: the characterization has no service CreateThreads", "m.csv:3:"],
        ),
        (
            "service,N,ns\nCreateThread,,1\n",
            (),
            ["m.csv:2:14: CreateThread needs a value for N", "next: give it in the column N"],
        ),
        (
            "service,ns\nCreateThread,1\n",
            (),
            ["m.csv:2: CreateThread needs a value for N", "next: add a column N"],
        ),
        ("service,N,ns\nCreateThread,99999,1\n", (), ["m.csv:2:14:", "99999"]),
        (
            "service,N,ns\nCreateThread,13,0\n",
            (),
            ["m.csv:2: CreateThread took no time at all\n", "too coarse"],
        ),
        (
            "service,N,ns\nnothing,,50\nCreateThread,13,50\n",
            ("--overhead", "nothing", "--marks-alone"),
            ["m.csv:3: CreateThread took no time at all, once what measuring takes is subtracted"],
        ),
        (
            "service,N,ns\nCreateThread,13,1\nnothing,,2\n",
            ("--overhead", "nothing", "--marks-alone"),
            ["m.csv:2: took less than what measuring nothing took"],
        ),
        (
            "service,N,ns\nCreateThread,13,1\n",
            ("--overhead", "nothing", "--marks-alone"),
            ["there is no measurement of nothing"],
        ),
        ("service,N,ns\nCreateThread,13,1\n", ("--service", "x"), ["has no service x"]),
    ],
)
def test_mistakes_have_places(
    tmp_path: Path, text: str, options: tuple[str, ...], messages: list[str]
) -> None:
    result = _run(tmp_path, text, *options)
    assert result.exit_code == 3, result.output
    for message in messages:
        assert message in result.stderr


def test_the_plot_has_a_dot_for_each_row(tmp_path: Path) -> None:
    text = (
        "service,N,ns,label\nCreateThread,13,51111,<&>\nCreateThread,12,40000,a\n"
        "CreateThread,11,990000,a\n"
    )
    plot = tmp_path / "plot.svg"
    result = _run(tmp_path, text, "--plot", str(plot))
    assert result.exit_code == 1
    root = ElementTree.parse(plot).getroot()
    dots = root.findall("{http://www.w3.org/2000/svg}circle")
    assert sorted(d.attrib["class"] for d in dots) == ["safe", "safe", "unsafe"]
    titles = [d[0].text or "" for d in dots]
    assert any("CreateThread at N=13 (<&>): measured 51,111 ns" in t for t in titles)
    assert "http" not in plot.read_text().replace("http://www.w3.org/2000/svg", "")


def test_text_and_markdown_have_the_same_figures(tmp_path: Path) -> None:
    text = "service,N,ns\nCreateThread,13,51111\n"
    plain = _run(tmp_path, text).stdout
    marked = _run(tmp_path, text, "--format", "markdown").stdout
    for figure in ("51,111", "56,728", "11.0 %", "none unsafe of 1 rows"):
        assert figure in plain
        assert figure in marked
