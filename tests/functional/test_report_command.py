"""``wcetchar report``: the same figures as ``estimate``, and the same in every form."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from datasheet_files import ARGUMENTS, EVIL, write_files

from wcetchar.cli import main
from wcetchar.errors import one_line

TABLES = ("sections", "memories", "classes")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def printed(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed("report", *arguments, "--json"))
    return found


class Page(HTMLParser):
    """What a page shows: text of each panel's tables and lines, by service, hardware and key.

    Raises AssertionError where a tag is not closed in order.
    """

    VOID = ("meta", "input", "br", "wbr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: dict[tuple[str, str, str], list[list[str]]] = {}
        self.lines: dict[tuple[str, str, str], str] = {}
        self.texts: list[tuple[str, str]] = []
        self.names: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.setdefault(self._place(), []).append([])
        if tag in ("th", "td"):
            self.rows[self._place()][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self.open]
        self.texts.append((tags[-1] if tags else "", data))
        article = self._of("data-row")
        if tags[-2:] == ["article", "h3"]:
            self.names[article] = self.names.get(article, "") + data
        if {"th", "td"} & {*tags}:
            self.rows[self._place()][-1][-1] += data
        elif data.strip():
            self.lines[self._place()] = self.lines.get(self._place(), "") + data

    def _of(self, name: str) -> str:
        return next((a[name] or "" for _, a in reversed(self.open) if name in a), "")

    def _place(self) -> tuple[str, str, str]:
        side = f"{self._of('data-side')}-{self._of('data-hardware')}"
        return self._of("data-row"), side, self._of("data-key")


def sections_of(text: str) -> dict[str, str]:
    """Of Markdown: the text below each heading of the fourth level."""
    parts = re.split(r"^#### (.*)$", text, flags=re.MULTILINE)
    return {
        name: re.split(r"^#{1,3} ", body, flags=re.MULTILINE)[0]
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def table_in(text: str, label: str) -> list[list[str]]:
    """Of Markdown: cells of the table behind its label, without its heading."""
    _, _, behind = text.partition(f"{label}:\n")
    lines = behind.strip().splitlines()
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip().replace("\\", "") for cell in line.strip("| ").split(" | ")])
    return found[2:]


def test_figures_are_those_of_estimate() -> None:
    sheet = document(*ARGUMENTS)
    found = json.loads(printed("estimate", *ARGUMENTS, "--maximum", "--json"))["estimates"]
    own = [one for service in sheet["services"] for one in service["estimates"]]
    assert len(own) == len(found) == 8
    for mine, other in zip(own, found, strict=True):
        assert {key: mine[key] for key in other} == other


def test_its_commands_print_its_figures() -> None:
    for service in document(*ARGUMENTS, "--set", "M=3")["services"]:
        for one in service["estimates"]:
            program, *words = one["command"].split()
            assert program == "wcetchar"
            (found,) = json.loads(printed(*words, "--json"))["estimates"]
            assert found["total_ns"] == one["total_ns"]
            assert found["parameters"] == one["parameters"]
            assert found["blocking_ns"] == one["blocking_ns"]


def test_formulas_give_the_totals() -> None:
    """By Python, at every value: `estimate --set` prints what the formula comes to."""
    for service in document(*ARGUMENTS)["services"]:
        name = service["service"]
        for one in service["estimates"]:
            if name == "table":
                assert one["formula"] == []
                continue
            for value in (1, 4, 7):
                for case in (0, 1, 2):
                    values = dict.fromkeys(one["parameters"], value)
                    values |= {"case": case} if "case" in values else {}
                    total = sum(
                        Fraction(str(term["ns"]))
                        * int(eval(term["repetition"], {"max": max}, dict(values)))
                        for term in one["formula"]
                    )
                    words = one["command"].split()[1:]
                    words = [word for word in words if word != "--maximum"]
                    words += [w for n, v in values.items() for w in ("--set", f"{n}={v}")]
                    (found,) = json.loads(printed(*words, "--json"))["estimates"]
                    assert total == Fraction(str(found["total_ns"]))


def test_all_forms_agree_number_by_number() -> None:
    sheet = document(*ARGUMENTS)
    text = printed("report", *ARGUMENTS, "--format", "text")
    marked = sections_of(printed("report", *ARGUMENTS, "--format", "markdown"))
    page = Page(printed("report", *ARGUMENTS, "--format", "html"))
    lines = list(csv.DictReader(io.StringIO(printed("report", *ARGUMENTS, "--format", "csv"))))
    numbers = {name: place for place, name in page.names.items()}
    for service in sheet["services"]:
        name = service["service"]
        for number, one in enumerate(service["estimates"]):
            label = sheet["hardware"][number]["label"]
            own = [line for line in lines if (line["service"], line["profile"]) == (name, label)]
            below = marked[f"{name} on {label}"]
            place = (numbers[name], f"0-{number}")
            total = f"{grouped(one['total_ns'])} ns ({one['word']})"
            assert f"total: {total}" in text
            assert f"total: {total}" in below.replace("\\", "")
            assert total in page.lines[(*place, "total")]
            assert [plain(line["ns"]) for line in own if line["line"] == "total"] == [
                one["total_ns"]
            ]
            for kind, ns in one["blocking_ns"].items():
                assert f"{kind} for {grouped(ns)} ns" in page.lines[(*place, "blocking")]
                assert f"{kind} for {grouped(ns)} ns" in below
                assert [
                    plain(line["ns"])
                    for line in own
                    if (line["line"], line["blocking"]) == ("blocking", kind)
                ] == [ns]
            sections = [
                [
                    r["section"],
                    r["repetition"],
                    f"{r['repetitions']:,}",
                    r["blocking"],
                    grouped(r["ns"]),
                ]
                for r in one["rows"]
            ]
            classes = [
                [key, c["region"], f"{c['count']:,}", grouped(c["price_ns"]), grouped(c["ns"])]
                for key, c in one["columns"].items()
            ]
            memories = [[key, grouped(ns)] for key, ns in one["memories"].items()]
            for key, title, expected in (
                ("sections", "cost by trace section", sections),
                ("memories", "cost by memory", memories),
                ("classes", "cost by access and event", classes),
            ):
                width = len(expected[0])
                assert [r[:width] for r in page.rows[(*place, key)][1:]] == expected
                assert [r[:width] for r in table_in(below, title)] == expected
            assert [
                [line["section"], line["repetition"], plain(line["ns"])]
                for line in own
                if line["line"] == "section"
            ] == [[r["section"], r["repetition"], r["ns"]] for r in one["rows"]]
            assert [
                [line["class"], int(line["count"]), plain(line["ns"])]
                for line in own
                if line["line"] == "class"
            ] == [[key, c["count"], c["ns"]] for key, c in one["columns"].items()]
            listed = page.rows[numbers[name], "-", ""][0]
            if number == 0:
                at = ", ".join(f"{n}={v}" for n, v in one["parameters"].items())
                assert listed[:2] == [f"{name}{at}", f"{grouped(one['total_ns'])}{one['word']}"]
                held = [re.match("[0-9,.]+", cell) for cell in listed[2:]]
                assert [cell and cell[0] for cell in held] == [
                    grouped(ns) for ns in one["blocking_ns"].values()
                ]


def grouped(value: float) -> str:
    return f"{value:,}"


def plain(text: str) -> float:
    return float(text) if "." in text else int(text)


def test_memories_add_up() -> None:
    for service in document(*ARGUMENTS)["services"]:
        for one in service["estimates"]:
            assert sum(one["memories"].values()) == pytest.approx(one["total_ns"], abs=0.01)


def test_figures_at_other_values_than_the_total_say_so() -> None:
    """The dearest case is the second, which blocks nothing; the first blocks longest."""
    (cases,) = (s for s in document(*ARGUMENTS)["services"] if s["service"] == "cases")
    here = cases["estimates"][0]
    assert here["parameters"] == {"N": 4, "case": 1}
    assert here["at"] == {kind: {"N": 4, "case": 0} for kind in ("interrupts", "preemption")}
    said = rf"interrupts for {here['blocking_ns']['interrupts']} ns \(bound\), at N=4, case=0"
    for form in ("text", "markdown", "html"):
        assert re.search(said, printed("report", *ARGUMENTS, "--format", form))


def test_without_hardware_there_are_counts_alone() -> None:
    sheet = document("k.json")
    assert sheet["hardware"] == []
    assert [one["estimates"] for one in sheet["services"]] == [[]] * 4
    text = printed("report", "k.json", "--format", "text")
    assert "(case == 0)*N" in text
    assert " ns" not in text.replace(" ns,", "")
    Page(printed("report", "k.json", "--format", "html"))


def test_another_version_beside() -> None:
    arguments = ("k.json", "--against", "newer.json", *ARGUMENTS[1:], "--set", "M=3")
    sheet = document(*arguments)
    assert [one["service"] for one in sheet["services"]] == ["walk", "copy", "cases", "table"]
    other = [one["service"] for one in sheet["against"]["services"]]
    assert other == ["walk", "cases", "table", "added"]
    text = printed("report", *arguments, "--format", "text")
    here, there = (
        side["services"][0]["estimates"][0]["total_ns"] for side in (sheet, sheet["against"])
    )
    assert there - here == 3 * 30  # three turns with one fetch more
    assert re.search(rf"walk +board +total +{here} .* {there} .*\+90 +\+", text)
    assert text.count("not there") == 2 * 2 * 3  # two services, two boards, three figures
    page = Page(printed("report", *arguments, "--format", "html"))
    assert sorted(page.names.values()) == ["added", "cases", "copy", "table", "walk"]


def test_figures_at_different_values_have_no_difference() -> None:
    Path("other.json").write_text(
        Path("newer.json").read_text().replace('"maximum": 16', '"maximum": 12')
    )
    text = printed(
        "report", "k.json", "--against", "other.json", *ARGUMENTS[5:], "--format", "text"
    )
    assert "not at the same values" in re.sub(r"\s+", " ", text)


def test_the_format_follows_the_ending() -> None:
    for ending, begin in (
        ("html", "<!DOCTYPE html>"),
        ("json", '{\n  "schema_version": 1'),
        ("csv", "kernel,service"),
        ("md", "# k 1: datasheet"),
        ("txt", "\nk 1: datasheet"),
    ):
        assert printed("report", *ARGUMENTS, "-o", f"sheet.{ending}") == ""
        assert Path(f"sheet.{ending}").read_text().startswith(begin)
    done = run("report", *ARGUMENTS, "-o", "sheet.xyz")
    assert done.exit_code == 2
    assert "--format" in done.stderr
    assert run("report", *ARGUMENTS, "--json", "--format", "csv").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("k.json", "--map", "map.yaml"), 2, "a section map without a profile"),
        ((*ARGUMENTS, "--service", "wlak"), 3, "did you mean `walk`?"),
        ((*ARGUMENTS, "--set", "K=3"), 3, "--set: no selected service has a parameter K"),
        ((*ARGUMENTS, "--set", "N=99"), 3, "out of range"),
        ((*ARGUMENTS, "--against", "newer.json", "--service", "x"), 3, "no characterization has"),
        ((*ARGUMENTS, "--against", "newer.json", "--set", "K=1"), 3, "no service has a parameter"),
        ((*ARGUMENTS, "-o", "k.json"), 2, "also an input"),
    ],
)
def test_what_makes_no_sense(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run("report", *arguments)
    assert done.exit_code == code
    assert message in done.stderr
    assert done.stdout == ""


def test_what_strangers_wrote_is_text_everywhere() -> None:
    write_files(EVIL)
    text = printed("report", *ARGUMENTS, "--format", "html")
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert not {"img", "link", "iframe", "object", "base"} & {*tags}
    assert all(not name.startswith("on") for _, a in page.tags for name in a)
    assert "alert(" not in "".join(
        data for tag, data in page.texts if tag == "script" and not data.startswith(("{", "["))
    )
    assert one_line(f"cases{EVIL}") in page.names.values()
    (data,) = (data for tag, data in page.texts if tag == "script" and data.startswith('{"hard'))
    assert not re.search("[<>&]", data)
    assert one_line(f"cases{EVIL}") in [row["name"] for row in json.loads(data)["rows"]]
    for form in ("text", "markdown", "csv", "json"):
        assert "\x1b" not in printed("report", *ARGUMENTS, "--format", form)
    marked = printed("report", *ARGUMENTS, "--format", "markdown")
    assert not re.search(r"(?<!\\)<", marked)


def test_the_page_takes_nothing_from_outside() -> None:
    text = printed("report", *ARGUMENTS, "--format", "html")
    page = Page(text)
    for _, attributes in page.tags:
        assert not {"src", "style"} & attributes.keys()
        if "href" in attributes:
            assert re.fullmatch(r"#[a-z0-9-]+", attributes["href"] or "")
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len({*ids})
    assert not re.search(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]+\.", text)


def test_the_same_input_gives_the_same_bytes() -> None:
    found = set()
    for seed in ("0", "77"):
        command = [sys.executable, "-m", "wcetchar", "report", *ARGUMENTS, "--format", "html"]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, check=True, capture_output=True)
        found.add(done.stdout)
    assert len(found) == 1
