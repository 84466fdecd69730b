"""The page of ``wcetchar report`` in a real browser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRASTS, Opened
from click.testing import CliRunner
from datasheet_files import ARGUMENTS, EVIL, kernel, write_files

from wcetchar.cli import main
from wcetchar.errors import one_line
from wcetchar.store import characterization_json

pytest_plugins = ("datasheet_fixtures",)
pytestmark = pytest.mark.usefixtures("datasheet_folder")


def made(*arguments: str) -> Path:
    done = CliRunner().invoke(main, ["report", *arguments, "-o", "sheet.html"])
    assert done.exit_code == 0, done.output
    return Path("sheet.html")


def sheet_of(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["report", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def grouped(value: float) -> str:
    return f"{value:,}"


def test_it_opens_from_disk_and_asks_for_nothing(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        for details in page.locator("details:visible").all():
            details.evaluate("e => { e.open = true }")
        page.wait_for_selector(".figures:visible svg")
        assert found.complaints == []
        assert found.requests == []
        assert page.title() == "k 1: datasheet"
        assert found.texts("#list tbody a") == ["walk", "copy", "cases", "table"]
        assert found.texts("article h3") == ["walk"]


def test_a_request_would_be_seen_and_is_forbidden(browser: Any) -> None:
    """The test above could see one, and the page's policy stops it."""
    path = made(*ARGUMENTS)
    path.write_text(path.read_text().replace("<footer>", '<footer><img src="other.png">'))
    with Opened(browser, path) as found:
        assert any("Content Security Policy" in said for said in found.complaints)
        assert not found.page.evaluate("document.querySelector('img').complete && 0")


def test_figures_are_the_same_with_and_without_the_script(browser: Any) -> None:
    path = made(*ARGUMENTS)
    sheet = sheet_of(*ARGUMENTS)
    with Opened(browser, path, java_script_enabled=False) as still:
        without = still.texts("#list tbody tr")
        panels = still.texts(".panel")
    assert len(panels) == 8
    with Opened(browser, path) as found:
        assert found.texts("#list tbody tr") == without
        for number, service in enumerate(sheet["services"]):
            found.page.click(f"#list a[href='#service-{number}']")
            for place, one in enumerate(service["estimates"]):
                found.page.select_option("#first", f"0-{place}")
                assert found.texts(".panel") == [panels[2 * number + place]]
                assert found.texts("article .total strong") == [f"{grouped(one['total_ns'])} ns"]


def test_search(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        page.fill("#search", "of THREE")
        assert found.texts("#list tbody a") == ["cases"]
        assert page.inner_text("#found") == "1 of 4 services"
        page.fill("#search", "nothing has this")
        assert found.texts("#list tbody a") == []
        page.press("#search", "Escape")
        assert len(found.texts("#list tbody a")) == 4


@pytest.mark.parametrize("width", [360, 1400])
def test_the_heading_of_what_is_chosen_is_seen(browser: Any, width: int) -> None:
    """Not behind the bar with the search, whether by a click or by the page's address."""
    bottom = "document.querySelector('#choose').getBoundingClientRect().bottom"
    top = "[...document.querySelectorAll('article h3')].find(e => e.offsetParent)"
    top += ".getBoundingClientRect().top"
    seen = f"scrollY > 100 && {top} >= {bottom} && {top} < innerHeight"
    path = made(*ARGUMENTS)
    viewport = {"width": width, "height": 700}
    with Opened(browser, path, viewport=viewport) as found:
        found.page.locator("#list tbody a", has_text="walk").click()
        found.page.wait_for_function(seen)
        assert found.texts("article h3") == ["walk"]
    with Opened(browser, path, "#service-1", viewport=viewport) as found:
        found.page.wait_for_function(seen)
        assert found.texts("article h3") == ["copy"]


def test_sort(browser: Any) -> None:
    services = sheet_of(*ARGUMENTS)["services"]
    totals = {s["service"]: s["estimates"][1]["total_ns"] for s in services}
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        page.select_option("#first", "0-1")
        for order in (True, False):
            page.click("#list thead button:text-is('total')")
            assert found.texts("#list tbody a") == sorted(totals, key=totals.get, reverse=order)
            said = page.get_attribute("#list thead th:nth-child(2)", "aria-sort")
            assert said == ("descending" if order else "ascending")
        page.click("#list thead button:text-is('total')")
        assert found.texts("#list tbody a") == [s["service"] for s in services]
        page.click("#list thead button:text-is('service')")
        assert found.texts("#list tbody a") == sorted(totals)
        shown = [text.split()[0] for text in found.texts("#list td.number:nth-child(2)")]
        assert shown == [grouped(totals[name]) for name in sorted(totals)]


def test_the_keyboard_reaches_all(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.keyboard.type("a")
        page.keyboard.press("ArrowDown")
        focused = "document.activeElement.textContent"
        assert page.evaluate(focused) == "walk"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert (page.evaluate(focused), found.texts("article h3")) == ("cases", ["cases"])
        page.keyboard.press("Home")
        page.keyboard.press("ArrowUp")
        assert page.evaluate(focused) == "walk"
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.tagName") == "ARTICLE"
        assert page.url.endswith("#service-3")
        # From the beginning, Tab comes to everything that is asked for, in the order of the page.
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        page.goto(page.url.partition("#")[0])
        seen = []
        for _ in range(40):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("document.activeElement.id || document.activeElement.name"))
        places = [seen.index(name) for name in ("theme", "search", "first", "second")]
        assert places == sorted(places)


def test_each_control_and_table_has_a_name(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        for role, name in (
            ("searchbox", "search"),
            ("combobox", "show"),
            ("combobox", "beside it"),
            ("radio", "dark"),
            ("table", "services, their figures in nanoseconds"),
            ("table", "cost by memory"),
            ("article", "walk"),
            ("button", "blocks interrupts"),
            ("link", "cases"),
            ("status", None),
        ):
            more = {} if name is None else {"name": name, "exact": True}
            assert page.get_by_role(role, **more).count() >= 1, (role, name)
        nameless = page.evaluate(
            "[...document.querySelectorAll('input, select, button')].filter(e => "
            "!e.labels?.length && !e.textContent.trim() && !e.ariaLabel).length"
        )
        assert nameless == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Any, scheme: str) -> None:
    """WCAG 2.2, 1.4.3 (AA): of each text 4.5 or more."""
    with Opened(browser, made(*ARGUMENTS), color_scheme=scheme) as found:
        page = found.page
        for details in page.locator("details:visible").all():
            details.evaluate("e => { e.open = true }")
        page.wait_for_selector(".figures:visible svg")
        found_ratios = dict(page.evaluate(CONTRASTS))
        assert len(found_ratios) > 15
        assert {key: ratio for key, ratio in found_ratios.items() if ratio < 4.5} == {}
        assert max(found_ratios.values()) > 10


def test_colours_are_chosen_and_kept(browser: Any) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    with Opened(browser, made(*ARGUMENTS), color_scheme="light") as found:
        page = found.page
        light = page.evaluate(back)
        page.check("input[value=dark]")
        dark = page.evaluate(back)
        assert light != dark
        page.reload()
        assert page.evaluate(back) == dark
        page.check("input[value=auto]")
        assert page.evaluate(back) == light
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(back) == dark


def test_on_paper_all_services_are_there_and_no_controls(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS), color_scheme="dark") as found:
        page = found.page
        page.emulate_media(media="print", color_scheme="dark")
        assert found.texts("article h3") == ["walk", "copy", "cases", "table"]
        assert not page.is_visible("#search")
        assert page.is_visible("[data-key=configuration]")
        inks = page.evaluate(
            "[...document.querySelectorAll('body, td:not(#list td)')]"
            ".map((e) => getComputedStyle(e).color)"
        )
        assert {*inks} == {"rgb(31, 35, 40)"}
        assert page.pdf()[:4] == b"%PDF"


def test_two_profiles_side_by_side(browser: Any) -> None:
    sheet = sheet_of(*ARGUMENTS)
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        page.select_option("#second", "0-1")
        assert found.texts(".panel h4") == ["board", "slow"]
        for service, row in zip(sheet["services"], found.texts("#list tbody tr"), strict=True):
            one, other = service["estimates"]
            at = [", ".join(f"{n}={v}" for n, v in e["parameters"].items()) for e in (one, other)]
            if one["parameters"] == other["parameters"]:
                change = (other["total_ns"] - one["total_ns"]) / one["total_ns"] * 100
                said = f"+{change:.1f} %"
            else:
                said = "other values"
            here, there = grouped(one["total_ns"]), grouped(other["total_ns"])
            other_at = "" if at[0] == at[1] else f", at {at[1]}"
            row_expected = f"{service['service']} {at[0]} {here} {one['word']} "
            assert row == row_expected + f"{there} {other['word']}{other_at} {said}"
        left, right = (box.bounding_box() for box in page.locator(".panel:visible").all())
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] <= right["x"]


def test_two_versions_side_by_side(browser: Any) -> None:
    arguments = ("k.json", "--against", "newer.json", *ARGUMENTS[1:5])
    with Opened(browser, made(*arguments)) as found:
        page = found.page
        page.select_option("#second", "1-0")
        rows = found.texts("#list tbody tr")
        assert rows[0].startswith("walk N=4 608 high-water mark 698 high-water mark +14.8 %")
        assert "not there" in rows[1]
        assert rows[4].startswith("added ")
        assert found.texts(".panel h4") == ["board, k", "board, newer"]
        page.click("text=added")
        assert found.texts("article [data-key=only]") == ["only in: newer"]


def test_what_strangers_wrote_stays_text(browser: Any) -> None:
    write_files(EVIL)
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        name = one_line(f"cases{EVIL}")
        page.fill("#search", "<script>alert(1)")
        assert page.locator("#list tbody tr:visible a").all_text_contents() == [name]
        page.click("#list tbody tr:visible a")
        assert page.locator("article:visible h3").text_content() == name
        assert page.locator("img, script[src]").count() == 0
        assert found.complaints == []
        assert found.requests == []


def test_a_flow_graph_with_hostile_places(browser: Any) -> None:
    found_kernel = kernel()
    model, *_ = found_kernel.paths
    place = replace(model.nodes[1].place, function=f"f{EVIL}", file=f"a{EVIL}.c", line=3)
    nodes = [replace(node, place=place) for node in model.nodes]
    evil = replace(found_kernel, paths=(replace(model, nodes=tuple(nodes)),))
    Path("k.json").write_text(characterization_json(evil))
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        page.click("details.graph:visible summary")
        page.wait_for_selector(".figures svg a.box")
        page.focus(".figures svg a.box >> nth=0")
        assert "alert(1)" in page.inner_text(".say >> visible=true")
        page.keyboard.press("Enter")
        assert page.locator(".figures img, .figures script").count() == 0
        assert found.complaints == []


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_window(browser: Any, width: int) -> None:
    viewport = {"width": width, "height": 800}
    with Opened(browser, made(*ARGUMENTS), viewport=viewport) as found:
        page = found.page
        page.select_option("#second", "0-1")
        for details in page.locator("details:visible").all():
            details.evaluate("e => { e.open = true }")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
