"""What the architecture page says of rooms, floors and libraries is what the code does."""

from __future__ import annotations

import ast
import configparser
import re
import sys
from collections import defaultdict
from pathlib import Path

import wcetchar

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(wcetchar.__file__).resolve().parent
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
NAMES = {"elftools": "pyelftools", "ruamel": "ruamel.yaml"}
EVERYWHERE = {"numpy", "pydantic_core", "markupsafe"}
"""numpy is where columns are; the others are parts of pydantic and jinja2."""


def contracts() -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def rooms() -> set[str]:
    found = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    return {*found, "errors", "pytest_plugin"}


def table() -> dict[str, set[str]]:
    """Room -> libraries that it uses."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|([^|]*)\|$", PAGE, re.MULTILINE)
    assert rows
    return {room: {one.strip() for one in used.split(",") if one.strip()} for room, used in rows}


def imported() -> dict[str, set[str]]:
    """The same, as the modules import; ``subprocess`` beside what is not Python's own."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                top = name.partition(".")[0]
                own = top in sys.stdlib_module_names or top in EVERYWHERE or top == "wcetchar"
                if not own or top == "subprocess":
                    found[room].add(NAMES.get(top, top))
    return found


def test_each_room_stands_in_the_table() -> None:
    assert set(table()) == rooms()


def test_each_room_uses_the_libraries_that_the_table_says() -> None:
    used = imported()
    assert {room: found for room, found in table().items() if found} == {
        room: found for room, found in used.items() if found and room in rooms()
    }


def test_the_floors_are_those_of_the_contract() -> None:
    layers = contracts()["importlinter:contract:floors"]["layers"]
    floors = [line.replace("wcetchar.", "") for line in layers.strip().splitlines()]
    shown = re.search(r"## The floors\n.*?```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    assert shown[1].strip().splitlines() == floors


def test_the_pure_core_is_that_of_the_contract() -> None:
    sources = contracts()["importlinter:contract:pure-core"]["source_modules"]
    core = {line.removeprefix("wcetchar.") for line in sources.split()}
    shown = re.search(r"\*pure core\* \(([^)]*?) do no I/O", PAGE)
    assert shown is not None
    assert set(re.findall(r"`(\w+)`", shown[1])) == core


def test_names_of_the_page_are_there() -> None:
    """Registries, files and folders that it sends to."""
    sources = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for name in re.findall(r"`([A-Z][A-Z_]+)`", PAGE):
        assert re.search(rf"^{name}\b", sources, re.MULTILINE), name
    for name in re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", PAGE):
        assert any((base / name).exists() for base in (ROOT, PACKAGE)), name
