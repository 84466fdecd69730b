"""The pages of FreeRTOS services have every service in every state in which it is driven, and the
figures that its firmware gives."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chain_made import Shared, command
from needs import need_compiler_of_the_pages
from services_pages import PAGES, ROOT, boards, cells_of_the_page, generator, page, parts

from wcetchar.model.campaign import Campaign, Cell
from wcetchar.model.service import ServicesFile
from wcetchar.store import load_campaign, load_characterization, load_services

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.xdist_group("services page")

SUITE = ROOT / "rtos_tests" / "freertos"
KERNEL = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
BASIC = "mps2-an385+basic"

Sections = dict[str, list[str]]
"""By service: what is said of it, once for each place where it is listed."""


def rows(body: str) -> set[str]:
    """The services that the table of figures at the start of a cell names, without their parts."""
    table = body.partition("\n### ")[0]
    return {name.partition("/")[0] for name in re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)}


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return load_campaign(str(SUITE / "campaign.yaml"))


@pytest.fixture(scope="module")
def described(campaign: Campaign) -> dict[str, ServicesFile]:
    """By cell, what its services files say."""

    @cache
    def read(files: tuple[str, ...]) -> ServicesFile:
        return load_services(*(str(SUITE / name) for name in files))

    def files(cell: Cell) -> tuple[str, ...]:
        return tuple(name.format(**cell.variables) for name in campaign.services_of(cell))

    return {cell.name: read(files(cell)) for cell in campaign.cells()}


def states(services: ServicesFile) -> dict[str, str]:
    """By service, its worst state and its parameters, as the pages have them."""
    written = generator()["state"]
    return {s.name: "\n".join(written(s.worst_state, s.parameters)) for s in services.services}


def missing(sections: Sections, services: ServicesFile) -> set[str]:
    """Services that are not listed in this state."""
    return {
        name
        for name, state in states(services).items()
        if not any(f"\n{state}\n| |" in section for section in sections.get(name, []))
    }


def test_every_service_is_listed_in_every_state(described: dict[str, ServicesFile]) -> None:
    """Of every board, configuration, option and heap."""
    sections: Sections = {}
    for name in PAGES:
        for service, texts in parts(page(name), 3).items():
            sections.setdefault(service, []).extend(texts)
    assert len(sections) > 400
    assert {c: left for c, s in described.items() if (left := missing(sections, s))} == {}


def test_a_state_that_is_not_listed_is_seen(described: dict[str, ServicesFile]) -> None:
    """The page of the Cortex-M3 alone has not what others have."""
    sections = parts(page(PAGES[0]), 3)
    assert missing(sections, described["mps2-an385+full"]) == set()
    assert missing(sections, described["virt+full"]) == {
        "tick_interrupt",
        "context_switch",
        "interrupt_minimal",
        "context_switch_interrupt",
        "interrupt_switch",
    }


def test_what_is_listed_of_a_cell_is_said_in_its_files(described: dict[str, ServicesFile]) -> None:
    for cell, body in cells_of_the_page().items():
        known = states(described[cell])
        for name, texts in parts(body, 3).items():
            assert all(f"\n{known[name]}\n| |" in text for text in texts), f"{cell}: {name}"


def test_every_option_and_heap_has_figures(
    campaign: Campaign, described: dict[str, ServicesFile]
) -> None:
    """Of the Cortex-M3: of a heap and of `basic` all, of an option those that it changes."""
    figures = {cell: found for cell, body in cells_of_the_page().items() if (found := rows(body))}
    wanted = {
        cell.name
        for cell in campaign.cells()
        if cell.values["board"] == "mps2-an385"
        and cell.values["config"].startswith(("basic", "heap_"))
    }
    assert len(wanted) == 11
    assert figures.keys() == wanted
    for cell, found in figures.items():
        all_of_it = {service.name for service in described[cell].services}
        if cell.startswith(f"{BASIC}-"):
            assert found <= all_of_it
        else:
            assert found == all_of_it, cell


@pytest.mark.parametrize("board", boards()["PAGES"])
def test_the_figures_of_a_board_are_of_all_its_services(
    board: str, described: dict[str, ServicesFile]
) -> None:
    """Each once, with all parts of those that are cut; under the headings of its files."""
    text = page(f"freertos-figures-{board}.md")
    listed = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    services = described[f"{board}+full"].services
    assert {name.partition("/")[0] for name in listed} == {s.name for s in services}
    counted = f"{len(services)} services and activities, published as {len(listed)},"
    assert counted in " ".join(text.split())
    assert "## Others\n" not in text


def test_the_readme_counts_the_services_of_heaps(described: dict[str, ServicesFile]) -> None:
    readme = (SUITE / "README.md").read_text(encoding="utf-8")
    heaps = [name for name in described if name.startswith("mps2-an385+heap_")]
    for cell in heaps:
        heap = cell.partition("+")[2]
        assert f"| `{heap}` | {len(described[cell].services)} |" in readme


@pytest.mark.firmware
def test_the_figures_of_basic_are_current(published: dict[str, Any], shared: Shared) -> None:
    need_compiler_of_the_pages()
    assert published["services"]
    found = load_characterization(str(shared.folder / "freertos.json"))
    table = "\n".join(generator()["table"](found.services))
    assert cells_of_the_page()[BASIC].strip() == table, "run: python docs/generate_services.py"


@pytest.mark.firmware
@pytest.mark.long
def test_the_figures_of_options_are_current(firmware: Path, tmp_path: Path) -> None:
    need_compiler_of_the_pages()
    assert firmware.exists()
    cells = [cell for cell in cells_of_the_page() if cell.startswith(BASIC)]
    only = [word for cell in cells for word in ("--only", cell)]
    file = SUITE / "campaign.yaml"
    command("campaign", file, "-o", tmp_path, "--jobs", "1", *only)
    made = {
        cell: load_characterization(str(tmp_path / cell / "characterization.json"))
        for cell in cells
    }
    usual = made.pop(BASIC)
    assert len(made) == 5
    for cell, found in made.items():
        # Without states that are not listed before.
        own = generator()["states_of"](found)
        written = "\n".join(generator()["of_option"](cell, found, usual, own))
        heading, _, body = written.strip().partition("\n\n")
        assert heading == f"## {cell}"
        shown = cells_of_the_page()[cell].partition("\n### ")[0]
        assert shown.strip() == body.strip(), "run: python docs/generate_services.py --more"


@pytest.mark.firmware
@pytest.mark.long
def test_the_page_is_current(firmware: Path, tmp_path: Path) -> None:
    need_compiler_of_the_pages()
    make = ["make", "-s", "-C", str(SUITE), "CONFIG=full", f"BUILD={tmp_path}"]
    kernel = {"FREERTOS_KERNEL": os.environ.get("FREERTOS_KERNEL", str(KERNEL))}
    subprocess.run(make, check=True, capture_output=True, env={**os.environ, **kernel})
    listed = subprocess.run([*make, "services"], check=True, capture_output=True, text=True)
    elf, trace, result = (tmp_path / name for name in ("freertos.elf", "run.trace", "run.json"))
    command("capture", elf, "--machine", "mps2-an385", "-o", trace)
    services = [word for name in listed.stdout.split() for word in ("--services", ROOT / name)]
    command("characterize", elf, trace, *services, "-o", result)
    expected = generator()["page"](load_characterization(str(result)))
    assert page(PAGES[0]) == expected, "run: python docs/generate_services.py"


@pytest.mark.firmware
@pytest.mark.long
@pytest.mark.parametrize("board", boards()["PAGES"])
def test_the_figures_of_a_board_are_current(firmware: Path, tmp_path: Path, board: str) -> None:
    need_compiler_of_the_pages()
    assert firmware.exists()
    cell = f"{board}+full"
    command("campaign", SUITE / "campaign.yaml", "-o", tmp_path, "--jobs", "1", "--only", cell)
    found = load_characterization(str(tmp_path / cell / "characterization.json"))
    expected = boards()["page"](board, found)
    written = page(f"freertos-figures-{board}.md")
    assert written == expected, f"run: python docs/generate_figures.py build/campaign {board}"
