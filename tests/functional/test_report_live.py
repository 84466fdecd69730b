"""Sliders and numbers of the page of ``wcetchar report``: what ``wcetchar estimate`` prints there.

Figures that the page works out are held against pages that were made anew, with ``--set`` and with
other profiles, cell by cell.
"""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRASTS, Opened
from click.testing import CliRunner
from datasheet_files import ARGUMENTS
from test_cli_estimate import PROFILE

from wcetchar.cli import main

pytest_plugins = ("datasheet_fixtures",)
pytestmark = pytest.mark.usefixtures("datasheet_folder")

NAMES = ("walk", "copy", "cases", "table")
READ = """
(panel) => {
  const texts = (found) => [...found].map((e) => e.textContent);
  const cells = (table) => [...table.tBodies[0].rows].map((row) => texts(row.cells));
  const list = (key) => texts(panel.querySelectorAll(`[data-key=${key}] li`));
  return {
    total: panel.querySelector(".total").textContent,
    paths: texts(panel.querySelectorAll("[data-key=paths]")),
    ...Object.fromEntries(["sections", "memories", "classes"].map(
      (key) => [key, cells(panel.querySelector(`table[data-key=${key}]`))])),
    blocking: list("blocking"),
  };
}
"""


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(main, [*arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def made(*arguments: str, name: str = "sheet.html") -> Path:
    printed("report", *arguments, "-o", name)
    return Path(name)


def settled(page: Any) -> None:
    """All figures are worked out."""
    page.wait_for_function("() => !document.querySelector('#list').textContent.includes('…')")


def choose(page: Any, service: str) -> None:
    page.click(f"#list a:text-is('{service}')")
    page.locator(f"article:visible h3:text-is('{service}')").wait_for()  # a click is followed later


def set_value(page: Any, name: str, value: int | str) -> None:
    """Of a parameter of the service that is shown."""
    place = page.locator(f"article:visible [id$='-{name}']")
    if place.evaluate("e => e.tagName") == "SELECT":
        place.select_option(str(value))
    else:
        place.fill(str(value))


def set_number(page: Any, way: str, text: str, hardware: int = 0) -> None:
    page.locator("#edit").evaluate("e => { e.open = true }")
    page.fill(f"[id='number-{hardware}-{way}']", text)


def figures(page: Any, panel: int = 0) -> dict[str, Any]:
    """All that a panel says."""
    found: dict[str, Any] = page.locator("article:visible .panel:visible").nth(panel).evaluate(READ)
    return found


def as_made(browser: Any, service: str, *arguments: str) -> dict[str, Any]:
    """The same of a page that was made for it."""
    with Opened(browser, made(*arguments, name="other.html")) as found:
        choose(found.page, service)
        return figures(found.page)


def test_values_show_what_estimate_prints(browser: Any) -> None:
    """Also on the second hardware, whose map gives no value."""
    draw = random.Random(7)
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        for service, values in (
            ("walk", {"N": draw.randint(1, 16)}),
            ("copy", {"M": draw.randint(0, 8)}),
            ("cases", {"N": draw.randint(1, 8)}),
            ("cases", {"N": draw.randint(1, 8), "case": draw.randint(0, 2)}),
            ("table", {"N": 2}),
            ("table", {"N": 3}),
        ):
            choose(page, service)
            for name, value in values.items():
                set_value(page, name, value)
            options = [w for n, v in values.items() for w in ("--set", f"{n}={v}")]
            for hardware in (0, 1):
                page.select_option("#first", f"0-{hardware}")
                one = [*ARGUMENTS[:1], *ARGUMENTS[1 + 4 * hardware : 5 + 4 * hardware]]
                expected = as_made(browser, service, *one, "--service", service, *options)
                assert figures(page) == expected
                words = page.inner_text("article .command code >> visible=true")
                (told,) = json.loads(printed(*shlex.split(words)[1:], "--json"))["estimates"]
                assert f"{told['total_ns']:,} ns ({told['word']})" in expected["total"]
        assert found.complaints == []
        assert found.requests == []


def test_numbers_of_the_profile(browser: Any) -> None:
    """Every service, in the list and in its panel, on a profile that has these numbers."""
    profile = PROFILE.replace("clock: 100 MHz", "clock: 77.7 MHz").replace(
        "fetch: 30 ns", "fetch: {first: 41.25 ns, next: 30 ns}"
    )
    assert profile.count("77.7") == profile.count("41.25") == 1
    Path("changed.yaml").write_text(profile)
    changed = ("k.json", "--profile", "changed.yaml", "--map", "map.yaml", "--set", "M=8")
    with Opened(browser, made(*changed, name="other.html")) as other:
        rows = other.texts("#list tbody tr")
        tiles = [text.partition(", on ")[0] for text in other.texts(".tile")]
        panels = []
        for name in NAMES:
            choose(other.page, name)
            panels.append(figures(other.page))
    with Opened(browser, made(*ARGUMENTS[:5], "--set", "M=8")) as found:
        page = found.page
        set_number(page, "core.clock", "77.7 MHz")
        set_number(page, "regions.flash.fetch.first", "41.25 ns")
        settled(page)
        assert found.texts("#list tbody tr") == rows
        assert [t.partition(", on ")[0] for t in found.texts(".tile")] == tiles
        assert all("with what is changed on this page" in t for t in found.texts(".tile"))
        for name, expected in zip(NAMES, panels, strict=True):
            choose(page, name)
            assert figures(page) == expected
            told = page.inner_text(".changed >> visible=true")
            assert "core.clock 77.7 MHz (100 MHz in the file)" in told
        words = shlex.split(page.inner_text("article .command code >> visible=true"))
        assert words[1] == "sweep"
        (row,) = json.loads(printed(*words[1:], "--json"))["rows"]
        assert f"{row['total_ns']:,} ns" in panels[-1]["total"]
        page.click("#edit button")
        settled(page)
        assert page.locator(".changed:visible").count() == 0
        assert found.complaints == []


def test_sliders_and_keys(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        page.focus("article:visible input[type=range]")
        page.keyboard.press("ArrowRight")
        assert page.input_value("article:visible input[type=number]") == "5"
        assert figures(page)["total"].endswith("at N=5")
        page.keyboard.press("End")
        assert figures(page)["total"].endswith("at N=16")
        page.locator("#edit").evaluate("e => { e.open = true }")
        page.focus("[aria-label^='core.clock, slider']")
        page.keyboard.press("ArrowRight")
        assert page.input_value("[id='number-0-core.clock']") == "105 MHz"
        page.keyboard.press("ArrowLeft")
        assert page.input_value("[id='number-0-core.clock']") == "100 MHz"
        page.click("article:visible .what-if button")
        assert figures(page)["total"].endswith("at N=4")
        assert page.locator(".changed:visible").count() == 0


def test_a_changed_profile_beside_the_file_s(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        before = figures(page)
        page.select_option("#second", "0-0-as-published")
        set_number(page, "core.clock", "50 MHz")
        settled(page)
        assert figures(page, 1) == before
        assert found.texts(".panel h4") == ["board", "board, as in the file"]
        assert figures(page, 0)["total"] != before["total"]
        assert found.texts(".changed") == [
            "changed on this page: core.clock 50 MHz (100 MHz in the file)"
        ]


def test_what_the_page_does_not_work_out_says_so(browser: Any) -> None:
    """The formula belongs to the file's numbers."""
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        formula = "article .line[data-key=formula] >> visible=true"
        set_value(page, "N", 9)
        assert "not of what is shown" not in page.inner_text(formula)
        set_number(page, "core.clock", "50 MHz")
        assert "not of what is shown" in page.inner_text(formula)


def test_outside_of_what_it_knows_the_page_says_what_to_run(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        set_number(page, "regions.flash.fetch.first", "3 cycles")
        settled(page)
        said = page.inner_text(".outside >> visible=true")
        assert said.startswith("This page cannot say: ")
        assert page.locator(".panel:visible .total").count() == 0
        told = page.inner_text("article .command >> visible=true")
        assert "instead, run wcetchar sweep k.json" in told
        words = shlex.split(told.partition("run ")[2])
        assert json.loads(printed(*words[1:], "--json"))["rows"]
        assert page.inner_text("#list tbody tr:first-child td:nth-child(2)").startswith("–")
        set_number(page, "regions.flash.fetch.first", "fast")
        assert (
            page.get_attribute("[id='number-0-regions.flash.fetch.first']", "aria-invalid")
            == "true"
        )
        set_number(page, "regions.flash.fetch.first", "30 ns")
        settled(page)
        assert page.locator(".outside:visible").count() == 0
        page.fill("article:visible input[type=number]", "99")
        assert page.get_attribute("article:visible input[type=number]", "aria-invalid") == "true"
        assert figures(page)["total"].endswith("at N=4")


def test_pictures_follow(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        page.click("#ranking summary")
        page.wait_for_selector(".over svg")
        page.wait_for_selector(".sensitivity svg")
        assert page.locator("article:visible .over circle").count() == 16
        memories = page.get_attribute("article:visible .stacked svg.plot >> nth=0", "aria-label")
        for name, ns, _ in figures(page)["memories"]:
            assert f"{name} {ns} ns" in memories
        slowest = page.get_attribute("article:visible .sensitivity svg.plot", "aria-label")
        Path("dearer.yaml").write_text(
            PROFILE.replace("fetch: 30 ns", "fetch: {first: 33 ns, next: 30 ns}")
        )
        (told,) = json.loads(
            printed(
                *("estimate", "k.json", "--profile", "dearer.yaml", "--map", "map.yaml"),
                *("--service", "walk", "--json"),
            )
        )["estimates"]
        assert f"regions.flash.fetch.first: {told['total_ns']} ns" in slowest
        ranked = found.texts("#ranking li > a")
        assert sorted(ranked) == sorted(NAMES)
        assert ranked[0] == "cases"
        set_value(page, "N", 16)
        page.wait_for_function(
            "() => document.querySelector('#ranking li > a').textContent === 'walk'"
        )


def test_changed_figures_are_printed_of_every_service(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        set_number(page, "core.clock", "50 MHz")
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("article .changed:visible").count() == 4


def test_two_versions(browser: Any) -> None:
    """Values and numbers change in both."""
    arguments = ("k.json", "--against", "newer.json", *ARGUMENTS[1:5])
    profile = PROFILE.replace("clock: 100 MHz", "clock: 50 MHz")
    Path("changed.yaml").write_text(profile)
    files = ("--profile", "changed.yaml", "--map", "map.yaml", "--set", "N=7")
    here = as_made(browser, "walk", "k.json", *files, "--service", "walk")
    there = as_made(browser, "walk", "newer.json", *files, "--service", "walk")
    with Opened(browser, made(*arguments)) as found:
        page = found.page
        page.select_option("#second", "1-0")
        set_value(page, "N", 7)
        set_number(page, "core.clock", "50 MHz")
        settled(page)
        assert (figures(page, 0), figures(page, 1)) == (here, there)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_changed_figures(browser: Any, scheme: str) -> None:
    with Opened(browser, made(*ARGUMENTS), color_scheme=scheme) as found:
        page = found.page
        page.click("#ranking summary")
        set_number(page, "core.clock", "50 MHz")
        set_number(page, "core.events.alu", "x")
        settled(page)
        page.wait_for_selector(".sensitivity svg")
        ratios = dict(page.evaluate(CONTRASTS))
        assert {key: ratio for key, ratio in ratios.items() if ratio < 4.5} == {}
