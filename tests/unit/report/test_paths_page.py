"""A worst path as a page, as DOT, as JSON and on a terminal: whole, valid and escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import path_samples as samples
import pytest
from lark import Lark
from needs import need

from wcetchar.model.characterization import Word
from wcetchar.model.path_model import Gap
from wcetchar.report import paths_dot, paths_html, paths_json, paths_text
from wcetchar.report.paths_boxes import groups_of
from wcetchar.report.paths_view import PathView, rows_of

EVIL = '</script></style></title><script>alert("1")</script><img src=x onerror=a> \\" \\'
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Raises AssertionError where a tag is not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)


def evil() -> PathView:
    b = samples.small()
    for key in list(b.sources):
        b.sources[key] = EVIL
    b.nodes = [
        replace(n, place=replace(n.place, function=n.place.function + EVIL)) for n in b.nodes
    ]
    view = b.view(gaps=[Gap(EVIL, EVIL, fact=EVIL)], notes=[EVIL], binding=[EVIL])
    return replace(view, service=EVIL, profile=EVIL, section_map=EVIL, parameters={EVIL: 1})


def every() -> dict[str, PathView]:
    return {
        "small": samples.small().view(high_water_mark_ns=Fraction(20)),
        "malloc": samples.malloc().view(samples.MALLOC_FACTS, beside=Fraction(38, 3)),
        "gap": samples.small().view(gaps=[Gap("loop", "a.c:3", fact="a\nb")], flow=False),
        "grown": samples.grown(1, 200).view(),
        "evil": evil(),
    }


@pytest.mark.parametrize("name", every())
def test_the_page_is_well_formed_and_has_nothing_from_outside(name: str) -> None:
    rows = rows_of(every()[name])
    text = paths_html.render(rows)
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in {"img", "link", "iframe", "object", "base"}
        for attribute, value in attributes.items():
            assert not attribute.startswith("on")
            assert attribute not in {"src", "style"}
            if attribute == "href":
                assert re.fullmatch(r"#[bcfr]\d+", value or "")
    assert not re.search(r"(?:https?:)?//(?!\s|w3\.org)[a-z]+\.", text.replace(EVIL, ""))
    scripts = [tag for tag, _ in page.tags if tag == "script"]
    assert len(scripts) == 1
    pictures = re.findall(r"<svg viewBox.*?</svg>", text, re.DOTALL)
    assert pictures
    for picture in pictures:
        ElementTree.fromstring(picture)


@pytest.mark.parametrize("name", every())
def test_links_lead_somewhere_and_every_block_has_its_row(name: str) -> None:
    rows = rows_of(every()[name])
    page = Page(paths_html.render(rows))
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    for _, attributes in page.tags:
        if "href" in attributes:
            assert (attributes["href"] or "")[1:] in names
    assert {f"r{n}" for n in range(len(rows.blocks))} <= set(names)


def test_the_policy_allows_the_page_s_own_style_and_script_only() -> None:
    page = Page(paths_html.render(rows_of(samples.malloc().view())))
    policy = next(a["content"] or "" for t, a in page.tags if "http-equiv" in a and t == "meta")
    assert policy.startswith("default-src 'none';")
    for part in ("style", "script"):
        digest = hashlib.sha256("".join(page.text[part]).encode()).digest()
        assert f"{part}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_what_strangers_wrote_is_text() -> None:
    text = paths_html.render(rows_of(evil()))
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert page.text["h1"] == [EVIL]
    assert page.text["pre"][0] == EVIL
    assert "alert" not in "".join(page.text["script"])


def test_the_page_says_the_figures_and_what_they_are() -> None:
    view = samples.small().view(high_water_mark_ns=Fraction(20), traced_path_ns=Fraction(70, 3))
    text = paths_html.render(rows_of(view))
    assert re.findall(r'<dd class="ns">(.*?)</dd>', text) == ["20 ns", "23.334 ns", "58 ns"]
    assert "2.9 × the high-water mark" in text
    assert "<dt>bound</dt>" in text
    estimate = paths_html.render(rows_of(replace(view, word=Word.ESTIMATE)))
    assert "<dt>bound</dt>" not in estimate
    assert "holds for every path" not in estimate
    above = paths_html.render(rows_of(replace(view, high_water_mark_ns=Fraction(59))))
    assert "ABOVE" in above


def test_marks_of_what_no_trace_took() -> None:
    text = paths_html.render(rows_of(samples.small().view()))
    picture = ElementTree.fromstring(re.findall(r"<svg viewBox.*?</svg>", text, re.DOTALL)[0])
    paths = [path.get("class") or "" for path in picture.iter("path")]
    # Five edges; those to and from g are drawn in two pieces.
    assert sum(kind.startswith("edge") and "never" in kind for kind in paths) == 5 + 2
    boxes = [a.get("class") or "" for a in picture.iter("a")]
    assert sum("never" in kind for kind in boxes) == 3
    counts = [t.text for t in picture.iter("text") if "count" in (t.get("class") or "")]
    assert sorted(counts) == ["×1"] * 6 + ["×2"]  # each edge once, however many its pieces
    heads = [path for path in picture.iter("path") if "marker-end" in path.attrib]
    assert len(heads) == 9 + 1  # the one in the cluster's heading goes on below it


def test_the_same_input_gives_the_same_bytes() -> None:
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1])\n"
        "import path_samples as s\n"
        "from wcetchar.report import paths_dot, paths_html, paths_json, paths_text\n"
        "from wcetchar.report.paths_view import rows_of\n"
        "r = rows_of(s.grown(5, 150).view())\n"
        "parts = paths_html.render(r), paths_dot.dot(r), paths_json.document([r])\n"
        "parts += (paths_text.terminal(r),)\n"
        "print([hashlib.sha256(p.encode()).hexdigest() for p in parts])\n"
    )
    found = set()
    for seed in ("0", "1", "77"):
        command = [sys.executable, "-c", code, str(Path(__file__).parent)]
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found.add(done.stdout)
    assert len(found) == 1


DOT = Lark(
    r"""
    start: "digraph" ID "{" statement* "}"
    ?statement: (node | edge | subgraph | assignment) ";"?
    node: ID attributes
    edge: ID "->" ID attributes
    subgraph: "subgraph" ID "{" statement* "}"
    assignment: ID "=" ID
    attributes: "[" (ID "=" ID ("," ID "=" ID)*)? "]"
    ID: /[a-zA-Z_][a-zA-Z_0-9]*/ | /-?[0-9]+(\.[0-9]+)?/ | /"(\\.|[^"\\])*"/s
    %ignore /\s+/
    """,
    parser="earley",
)
"""Of https://graphviz.org/doc/info/lang.html what is needed."""


@pytest.mark.parametrize("name", ["small", "malloc", "gap", "evil"])
def test_dot_is_valid_and_whole(name: str) -> None:
    rows = rows_of(every()[name])
    tree = DOT.parse(paths_dot.dot(rows))
    assert len(list(tree.find_data("subgraph"))) == len(rows.activations)
    groups, inner = groups_of(rows)
    assert len(list(tree.find_data("node"))) == len(groups) + 2 + 2  # entry, exit, defaults
    edges = [edge for edge in rows.edges if edge.number not in inner]
    drawn = [" ".join(map(str, edge.children)) for edge in tree.find_data("edge")]
    assert len(drawn) == len(edges)
    assert sum("penwidth" in text for text in drawn) == sum(edge.on_path for edge in edges)
    assert sum("dashed" in text for text in drawn) == sum(not edge.seen for edge in edges)


@pytest.mark.parametrize("name", every())
def test_graphviz_reads_it(name: str, tmp_path: Path) -> None:
    if shutil.which("nop") is None:
        pytest.skip("needs nop of graphviz")
    file = tmp_path / "a.dot"
    file.write_text(paths_dot.dot(rows_of(every()[name])))
    done = subprocess.run(["nop", "-p", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", every())
def test_graphviz_draws_it(name: str, tmp_path: Path) -> None:
    """Every node and edge is in the picture, and whatever a name says, that is XML."""
    need("dot", "graphviz")
    rows = rows_of(every()[name])
    file = tmp_path / "a.dot"
    file.write_text(paths_dot.dot(rows))
    done = subprocess.run(["dot", "-Tsvg", file], capture_output=True, check=True)
    assert done.stderr == b""
    drawn = [one.get("class") for one in ElementTree.fromstring(done.stdout).iter()]
    groups, inner = groups_of(rows)
    assert drawn.count("node") == len(groups) + 2  # entry, exit
    assert drawn.count("edge") == len([e for e in rows.edges if e.number not in inner])
    assert drawn.count("cluster") == len(rows.activations)


def test_json_by_hand() -> None:
    view = samples.small().view(high_water_mark_ns=Fraction(20), gaps=[Gap("a", "b", fact="c")])
    document = json.loads(paths_json.document([rows_of(view)]))
    assert list(document) == ["schema_version", "kind", "services"]
    (one,) = document["services"]
    assert one["word"] == "estimate"
    assert one["bound_ns"] is None
    assert one["worst_path_ns"] == 58
    assert one["worst_path_over_high_water_mark"] == 2.9
    assert one["coverage"] == {"blocks": 5, "blocks_seen": 2, "edges": 7, "edges_seen": 2}
    assert one["edges"][0] == {"source": None, "target": 0, "count": 1, "seen": True}
    assert one["blocks"][3]["count"] == 3
    assert one["blocks"][3]["lines"] == [
        {"place": "a.c:3", "line": 3, "text": "while (n--) work(n);"}
    ]
    assert one["differs"][0]["traces_come_here"] is True
    assert one["gaps"] == [{"what": "a", "where": "b", "fact": "c"}]
    bound = json.loads(paths_json.document([rows_of(samples.small().view())]))
    assert bound["services"][0]["bound_ns"] == 58


def test_terminal_by_hand() -> None:
    view = samples.small().view(high_water_mark_ns=Fraction(20), traced_path_ns=Fraction(23))
    text = paths_text.terminal(rows_of(view), shown=2)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "worst path of f on example-m3 (map flash-sram), N=5"
    assert lines[1] == "high-water mark ns traced path ns bound ns bound / mark"
    assert lines[3] == "20 23 58 2.9"
    assert "dearest blocks, the first 2 of 5" in lines
    assert "a.c:3 f while (n--) work(n); 3 7 21 36.2 % never" in lines
    assert "3 other blocks 17 29.3 %" in lines
    assert "traces exercised 2 of 5 blocks and 2 of 7 edges of the worst path" in lines
    assert "a.c:1 a.c:2 f if (n > limit) g(); 1" in lines
    assert "and 4 edges behind these" in lines
    assert "\x1b" not in text
    assert "\x1b[1m" in paths_text.terminal(rows_of(view), color=True)


def test_terminal_says_what_is_missing() -> None:
    gap = Gap("loop without a bound", "a.c:3 in f", fact="loop at a.c:3 in f: at most ?")
    text = paths_text.terminal(rows_of(samples.small().view(gaps=[gap], flow=False)))
    assert "no bound and no worst path: 1 fact is missing" in text
    assert "    loop at a.c:3 in f: at most ?" in text
    assert "bound ns" not in text
    unsafe = samples.small().view(high_water_mark_ns=Fraction(59))
    assert "UNSAFE" in paths_text.terminal(rows_of(unsafe))


def test_summary_has_a_line_for_each_service() -> None:
    text = paths_text.summary([rows_of(view) for view in every().values()], width=160)
    assert "pvPortMalloc" in text
    assert "27/33" in text
