"""The documentation's pages: links lead somewhere, and the generated page is current."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from editor_yaml import SCHEMAS
from ruamel.yaml import YAML

from wcetchar.store import load_campaign
from wcetchar.store.schema_files import FOLDER

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(plain.replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            broken.append(link)
    assert not broken, f"{page.relative_to(ROOT)}: {', '.join(broken)}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in _LINK.findall(index)}
    pages = {p for p in (ROOT / "docs").rglob("*.md") if p.name not in ("README.md", "site.md")}
    assert pages - linked == set()


def test_every_readme_is_in_the_site() -> None:
    """``make docs`` finds other pages by their folders, and refuses one that is in no list."""
    site = (ROOT / "docs" / "site.md").read_text(encoding="utf-8")
    folders = ("rtos_tests", "rtl_boards", "traces", "hwprofiles", "docs/howto", "docs/tutorials")
    for folder in folders:
        for page in (ROOT / folder).rglob("README.md"):
            assert f"../{page.relative_to(ROOT).with_suffix('')}\n" in site


def test_the_citation_is_of_this_version() -> None:
    """What https://citation-file-format.github.io/ asks for, version 1.2.0."""
    cited = YAML(typ="safe", pure=True).load(ROOT / "CITATION.cff")
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == version("wcetchar")
    assert cited["license"] == "Apache-2.0"
    for one in (cited, *cited["references"]):
        assert one["title"]
        assert all(a.get("name") or a["family-names"] for a in one["authors"])


def test_the_command_line_page_is_current() -> None:
    pinned = re.search(
        r"^click==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert pinned is not None
    if version("click") != pinned[1]:
        pytest.skip(f"help is formatted by click {version('click')}, the page by {pinned[1]}")
    generator = runpy.run_path(str(ROOT / "docs" / "generate_cli.py"))
    committed = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert committed == generator["page"](), "run: python docs/generate_cli.py"


def test_tables_of_keys_are_current() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "generate_keys.py"))
    written = dict(generator["pages"]())
    for page, text in written.items():
        assert page.read_text(encoding="utf-8") == text, "run: python docs/generate_keys.py"


def test_each_key_that_people_write_is_in_a_table() -> None:
    """Read from the pages, without what writes them."""
    pages = "".join(
        page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")
    )
    marked = re.findall(r"<!-- keys: ([\w-]+).*? -->(.*?)<!-- end of keys -->", pages, re.DOTALL)
    assert {name for name, _ in marked} == set(SCHEMAS) - {"characterization"}
    for name, text in marked:
        rows = set(re.findall(r"^\| `([^`]+)` \| .* \| .+ \|$", text, re.MULTILINE))
        schema = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
        keys = set(_keys(json.loads(schema)))
        if name == "services-part":
            assert {"instead", "configuration instead", "only services"} <= rows <= keys
        else:
            assert rows == keys


def _keys(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for one in schema.values():
            yield from _keys(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from _keys(one)


def test_the_matrix_page_names_cells_of_the_campaign() -> None:
    page = (ROOT / "docs" / "reference" / "freertos-matrix.md").read_text(encoding="utf-8")
    campaign = load_campaign(str(ROOT / "rtos_tests" / "freertos" / "campaign.yaml"))
    rows = re.findall(r"^\| (\S+\+\S+) \| done ", page, re.MULTILINE)
    shown = {name.replace("\\_", "_") for name in rows}
    assert shown
    assert shown <= {cell.name for cell in campaign.cells()}, "run: python docs/generate_matrix.py"


def test_the_changelog_has_this_version() -> None:
    metadata = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    (number,) = re.findall(r"^version = (\S+)$", metadata, re.MULTILINE)
    assert f"[{number}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_counts_of_services_in_text_are_those_of_the_files() -> None:
    """The tables of generated pages and of the FreeRTOS firmware have tests of their own; the
    changelog, which nobody counts again, has none."""
    stated = re.compile(r"([\d,]*\d) services")
    assert stated.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) == []
    zephyr = ROOT / "rtos_tests" / "zephyr"
    yaml = YAML(typ="safe", pure=True)
    (counted,) = stated.findall((zephyr / "README.md").read_text(encoding="utf-8"))
    assert int(counted) == len(yaml.load(zephyr / "services.yaml")["services"])


def test_zephyrs_page_says_of_which_stretches_it_has_not_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    place = {"function": "f", "file": "a/f.c", "line": 3}
    stretch = {
        "whole": 4360,
        "instructions": 4320,
        "service": "tick",
        "parameters": {"K": 2},
        "follows": [{"service": "switch", "instructions": 40}],
        "not_bounded": ["it goes on in the code that called such a service"],
        "begin": place,
        "end": place,
    }
    summary = {
        "longest_interrupts": [stretch],
        "longest_preemption": [stretch | {"not_bounded": []}],
    }
    lines = import_module("generate_zephyr").longest("board", "dumb", summary)
    rows = [line for line in lines if "tick" in line]
    assert [row.split("|")[1].strip() for row in rows] == [
        "at least 4,360 = 4,320 + 40 of switch",
        "4,360 = 4,320 + 40 of switch",
    ]
