"""The examples of the reference pages read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wcetchar
from wcetchar.errors import InputError
from wcetchar.model.access import EventKind
from wcetchar.store import (
    characterization_json,
    load_budgets,
    load_campaign,
    load_characterization,
    load_map,
    load_profile,
    load_services,
    load_shared_device,
    load_slowdowns,
)
from wcetchar.store.parameter_names import IDENTIFIER

PAGES = Path(wcetchar.__file__).resolve().parents[1] / "docs" / "reference"
pytestmark = pytest.mark.skipif(not PAGES.is_dir(), reason="not run from a checkout")


@pytest.mark.parametrize(
    ("page", "load"),
    [
        ("hardware-profile.md", load_profile),
        ("section-map.md", load_map),
        ("services-file.md", load_services),
        ("campaign-file.md", load_campaign),
        ("shared-device.md", load_shared_device),
        ("characterization.md", load_characterization),
    ],
)
def test_the_example_reads(page: str, load, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = (PAGES / page).read_text()
    match = re.search(r"```(yaml|json)\n(.*?)```", text, re.DOTALL)
    assert match
    path = tmp_path_factory.mktemp("docs") / f"example.{match[1]}"
    path.write_text(match[2])
    found = load(str(path))
    if page == "characterization.md":
        assert characterization_json(found) == match[2]
    path.write_text(match[2].replace("name", "nmae", 1))
    with pytest.raises(InputError):
        load(str(path))


def test_the_example_of_slowdowns_reads(tmp_path: Path) -> None:
    match = re.search(r"```yaml\n(.*?)```", (PAGES / "slowdowns.md").read_text(), re.DOTALL)
    assert match
    path = tmp_path / "example.yaml"
    path.write_text(match[1])
    assert [one.name for one in load_slowdowns(str(path)).applications] == ["copy", "control"]


def test_the_example_of_budgets_reads(tmp_path: Path) -> None:
    match = re.search(r"```yaml\n(.*?)```", (PAGES / "budget-file.md").read_text(), re.DOTALL)
    assert match
    path = tmp_path / "example.yaml"
    path.write_text(match[1])
    names = [one.service for one in load_budgets(str(path)).budgets]
    assert names == ["xTaskCreate", "xQueueSend", "xQueue*", "*"]


def test_the_page_names_every_core_event() -> None:
    text = (PAGES / "hardware-profile.md").read_text()
    section = text[text.index("## Core events") : text.index("## How prices add up")]
    assert {kind.value for kind in EventKind} <= set(re.findall(r"`([^`]+)`", section))


def test_links_between_pages_and_schemas_lead_somewhere() -> None:
    for page in (
        "hardware-profile",
        "section-map",
        "services-file",
        "campaign-file",
        "characterization",
        "slowdowns",
        "shared-device",
        "budget-file",
    ):
        text = (PAGES / f"{page}.md").read_text()
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert (PAGES / target).resolve().exists(), (page, target)


def test_identifiers_are_ascii() -> None:
    assert IDENTIFIER.fullmatch("N_1")
    assert not IDENTIFIER.fullmatch("é")
