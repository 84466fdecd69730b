"""YAML files as an editor sees them: another parser, the modeline, and the committed schemas."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from wcetchar.store.schema_files import FOLDER

ROOT: Final = Path(__file__).resolve().parents[1]
SCHEMAS: Final = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
MADE: Final = (".venv", "build", ".git", ".hypothesis")
NONE: Final = {
    "docs/howto/ci-example/wcet.yml": "a workflow, which its own program reads",
    "integrations/zephyr/west-commands.yml": "west's, which it reads by a schema of its own",
    "rtl_boards/boards/a.yaml": "of the boards in RTL, which only their own scripts read",
    "rtl_boards/boards/b.yaml": "of the boards in RTL, which only their own scripts read",
    "rtl_boards/boards/c.yaml": "of the boards in RTL, which only their own scripts read",
    "rtl_boards/boards/d.yaml": "of the boards in RTL, which only their own scripts read",
    "rtos_tests/freertos/stands-for.yaml": "names for a generated page, which its script reads",
    "rtos_tests/zephyr/stands-for.yaml": "names for a generated page, which its script reads",
    "rtos_tests/zephyr/testcase.yaml": "of Zephyr's own test runner",
    "zephyr/module.yml": "of Zephyr's own build, which reads it by a schema of its own",
}
"""YAML files of the repository that wcetchar does not read, and why they are there."""

_MODELINE: Final = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")
_SCHEMA: Final = re.compile(r"^schema: (wcetchar/\S+)$", re.MULTILINE)


def yaml_files() -> list[Path]:
    """All of the repository that wcetchar reads."""
    found = [*ROOT.rglob("*.yaml"), *ROOT.rglob("*.yml")]
    paths = {path.resolve() for path in found if path.relative_to(ROOT).parts[0] not in MADE}
    kept = {path for path in paths if not path.relative_to(ROOT).parts[0].startswith(".")}
    return sorted(kept - {ROOT / name for name in NONE})


def modeline(text: str) -> str | None:
    """Where the first line says that the schema is."""
    found = _MODELINE.match(text)
    return None if found is None else found[1]


def stated(text: str) -> str | None:
    """What the file says that it is."""
    found = _SCHEMA.search(text)
    return None if found is None else found[1]


def name_of(schema: str) -> str:
    """`wcetchar/budget/1` -> `budget`."""
    return schema.split("/")[1]


@functools.cache
def validator(name: str) -> Draft7Validator:
    return Draft7Validator(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def mistakes(name: str, document: object) -> list[str]:
    """What an editor underlines."""
    found = validator(name).iter_errors(document)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


def plain(text: str) -> Any:
    """The document, as YAML 1.2 has it, with keys as text, as JSON has them."""
    return _as_json(YAML(typ="safe", pure=True).load(text))


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_json(inner) for inner in value]
    return value.isoformat() if isinstance(value, date) else value  # no type of YAML 1.2


def quoted(page: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, text and whether it is a file of its own, of each document in a page: a fenced block,
    or a file that a command writes."""
    text = page.read_text(encoding="utf-8")
    fenced = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
    written = re.compile(r"<<'?(\w+)'?\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
    for match in fenced.finditer(text):
        if stated(match[1]):
            yield text.count("\n", 0, match.start()) + 2, match[1], True
    for match in written.finditer(text):
        if stated(match[2]):
            yield text.count("\n", 0, match.start()) + 2, match[2], False
