"""What the page of ``wcetchar report`` says over all paths: what ``wcetchar estimate`` prints."""

from __future__ import annotations

import random
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Opened
from datasheet_files import ARGUMENTS, SLOW, kernel
from path_models import constraint
from test_cli_estimate import PROFILE
from test_report_live import choose, made, printed, set_number, set_value

from wcetchar import formula
from wcetchar.model.characterization import Characterization
from wcetchar.model.path_model import Gap
from wcetchar.store import characterization_json

pytest_plugins = ("datasheet_fixtures",)
pytestmark = pytest.mark.usefixtures("datasheet_folder")

LINE = "article .panel:not([hidden]) .line[data-key='{}'] >> visible=true"
FASTER = PROFILE.replace("clock: 100 MHz", "clock: 77.7 MHz").replace(
    "fetch: 30 ns", "fetch: {first: 2.5 ns, next: 30 ns}"
)
assert FASTER.count("77.7") == FASTER.count("2.5 ns") == 1


def written(characterization: Characterization) -> None:
    Path("k.json").write_text(characterization_json(characterization))


def said(page: Any, key: str = "paths") -> str:
    text: str = page.inner_text(LINE.format(key))
    return text


def over_all_paths(*arguments: str) -> str:
    """As the command prints it."""
    (line,) = [
        line
        for line in printed("estimate", "k.json", *arguments).splitlines()
        if line.startswith("over all paths")
    ]
    return line.removeprefix("over all paths").strip()


def test_it_follows_values(browser: Any) -> None:
    """On both hardware; where a case is left open, it is the dearest path of all."""
    draw = random.Random(11)
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        for service, values in (
            ("walk", {"N": draw.randint(5, 16)}),
            *(("cases", {"N": n, "case": case}) for n, case in ((1, 0), (8, 0), (3, 1), (3, 2))),
            ("cases", {"N": draw.randint(1, 8), "case": ""}),
            ("cases", {"N": 8}),
        ):
            choose(page, service)
            for name, value in values.items():
                set_value(page, name, value)
            given = [w for n, v in values.items() if v != "" for w in ("--set", f"{n}={v}")]
            for number in (0, 1):
                page.select_option("#first", f"0-{number}")
                files = ARGUMENTS[1 + 4 * number : 5 + 4 * number]
                expected = over_all_paths(*files, "--service", service, *given)
                where = ", at all values of case" if service == "cases" and len(given) == 2 else ""
                assert said(page) == f"over all paths: {expected}{where}", (service, values)
        assert found.complaints == []


def test_it_follows_numbers_of_the_profile(browser: Any) -> None:
    """Another case has the dearest path there."""
    Path("faster.yaml").write_text(FASTER)
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        before = {}
        for service in ("walk", "cases"):
            choose(page, service)
            before[service] = said(page)
        set_number(page, "core.clock", "77.7 MHz")
        set_number(page, "regions.flash.fetch.first", "2.5 ns")
        for service in ("walk", "cases"):
            choose(page, service)
            values = ("--set", f"N={4 if service == 'walk' else page_value(page)}")
            files = ("--profile", "faster.yaml", "--map", "map.yaml", "--service", service)
            expected = over_all_paths(*files, *values)
            assert said(page).removesuffix(", at all values of case").endswith(f": {expected}")
            assert said(page) != before[service]
            # A sweep prints nothing of paths, so there is another command for them.
            command, _, profile = said(page, "paths command").partition(
                ", with a profile in which "
            )
            assert profile == "core.clock is 77.7 MHz, regions.flash.fetch.first is 2.5 ns"
            words = shlex.split(command.removeprefix("the same over all paths: "))
            assert words[:3] == ["wcetchar", "estimate", "k.json"]
            words[words.index("board.yaml")] = "faster.yaml"
            assert over_all_paths(*words[3:]) == expected
        page.click("#edit button")
        assert said(page) == before["cases"]
        assert page.locator(LINE.format("paths command")).count() == 0
        assert found.complaints == []


def page_value(page: Any) -> str:
    found: str = page.input_value("article:visible input[type=number]")
    return found


def test_the_file_s_own_stands_beside(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        before = said(page)
        page.select_option("#second", "0-0-as-published")
        set_number(page, "core.clock", "50 MHz")
        first, second = page.locator(LINE.format("paths")).all_inner_texts()
        assert first != second == before


def test_where_it_cannot_say_the_file_s_figure_is_marked(browser: Any) -> None:
    """More values than it solves the model at; all other figures follow."""
    walk, copy, cases, *others = kernel().services
    n, case = cases.parameters
    many = replace(cases, parameters=(replace(n, minimum=1), replace(case, maximum=300)))
    written(replace(kernel(), services=(walk, copy, many, *others)))
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        choose(page, "cases")
        before = said(page)
        set_value(page, "N", 3)
        assert said(page).startswith(before)
        assert "this page cannot say: its path model is to be solved at too many" in said(page)
        assert said(page).endswith("not of what is shown above)")
        command = shlex.split(page.inner_text("article .command code >> visible=true"))
        # The command knows no better than to look at one of them, and says so.
        assert "ns (estimate)" in over_all_paths(*command[3:])
        set_value(page, "case", 1)
        expected = over_all_paths(*ARGUMENTS[1:5], *command[7:], "--set", "case=1")
        assert said(page) == f"over all paths: {expected}"


def test_a_model_without_a_bound_says_so_at_all_values(browser: Any) -> None:
    """And one whose facts contradict each other does where they do."""
    (walk, cases) = kernel().paths
    open_ = replace(walk, gaps=(Gap("loop without a bound", "walk+4"),))
    never = constraint("not of three", {0: 1}, formula.parse("1 - (N == 3)"))
    cases = replace(cases, constraints=(*cases.constraints, never))
    written(replace(kernel(), paths=(open_, cases)))
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        set_value(page, "N", 9)
        assert (
            said(page)
            == "over all paths: no bound: walk has no bound: loop without a bound at walk+4"
        )
        choose(page, "cases")
        set_value(page, "N", 2)
        assert "cannot say" not in said(page)
        set_value(page, "N", 3)
        assert "this page cannot say: no path fulfils all facts at" in said(page)
        told = over_all_paths(*ARGUMENTS[1:5], "--service", "cases", "--set", "N=3")
        assert told.startswith("no bound: no path through cases fulfils all facts")


def test_services_without_a_model_have_no_line(browser: Any) -> None:
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        choose(page, "copy")
        set_value(page, "M", 3)
        assert page.locator(LINE.format("paths")).count() == 0


def test_flow_graphs_are_of_the_hardware_that_is_chosen(browser: Any) -> None:
    """And of its file's numbers, which the page says where others are shown above."""
    with Opened(browser, made(*ARGUMENTS)) as found:
        page = found.page
        graph = "details.graph >> visible=true"
        boxes = []
        for number, name in enumerate(("board", "slow")):
            page.select_option("#first", f"0-{number}")
            assert page.locator(graph).count() == 1
            assert page.inner_text(f"{graph} >> summary") == f"flow graph and worst path on {name}"
            page.click(f"{graph} >> summary")
            page.wait_for_selector("details.graph:not([hidden]) .figures svg a.box")
            words = ["paths", "k.json", *ARGUMENTS[1 + 4 * number : 5 + 4 * number]]
            text = printed(*words, "--service", "walk", "--maximum")
            hint = page.inner_text(f"{graph} >> .hint")
            ns = hint.removeprefix("The dearest path takes ").partition(" ns")[0]
            assert ns in text.split()
            boxes.append(page.locator(f"{graph} >> .figures svg a.box").all_text_contents())
        assert boxes[0] != boxes[1]  # other times
        page.select_option("#second", "0-0")
        assert page.locator(graph).count() == 2
        assert page.locator(f"{graph} >> .stale").count() == 0
        page.select_option("#second", "")
        set_value(page, "N", 9)
        assert "not of what is shown above" in page.inner_text(f"{graph} >> .hint")
        set_number(page, "core.clock", "50 MHz", hardware=1)
        told = page.inner_text(f"{graph} >> .hint code")
        command, _, profile = told.partition(", with a profile in which ")
        assert profile == "core.clock is 50 MHz"
        Path("slow.yaml").write_text(SLOW.replace("clock: 100 MHz", "clock: 50 MHz"))
        printed(*shlex.split(command)[1:])
        assert "<svg" in Path("worst-path.html").read_text()
        page.click("article:visible .what-if button")
        page.click("#edit button")
        assert page.locator(f"{graph} >> .stale").count() == 0
        assert found.complaints == []
