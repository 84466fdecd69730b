"""What an editor shows of the files: by the language server for YAML that editors run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from editor_yaml import ROOT, name_of, stated, yaml_files
from language_server import LanguageServer, language_server

from wcetchar.cli import main
from wcetchar.store.shipped_schemas import SCHEMAS, with_modeline

PROGRAM = ROOT / "build/editors/node_modules/yaml-language-server/bin/yaml-language-server"


@pytest.fixture(scope="module")
def server() -> Iterator[LanguageServer]:
    if not PROGRAM.exists() or shutil.which("node") is None:
        pytest.skip("the YAML language server is not there (scripts/editors.sh; needs npm)")
    with language_server(PROGRAM) as one:
        yield one


def one_of_each() -> list[Path]:
    """The shortest file of each schema."""
    found: dict[str, Path] = {}
    for path in sorted(yaml_files(), key=lambda path: (path.stat().st_size, path)):
        found.setdefault(path.read_text(encoding="utf-8").partition("\n")[0].split("/")[-1], path)
    return list(found.values())


@pytest.mark.parametrize("path", one_of_each(), ids=lambda path: path.stem)
def test_nothing_is_underlined_in_a_shipped_file(server: LanguageServer, path: Path) -> None:
    assert server.open(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.long
def test_nothing_is_underlined_in_any_shipped_file(server: LanguageServer) -> None:
    found = {path: server.open(path, path.read_text(encoding="utf-8")) for path in yaml_files()}
    assert len(found) > 100
    assert {path: shown for path, shown in found.items() if shown} == {}


PROFILE = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  clock: 72 MHZ
  events:
    alu: 1 cycle
    @
regions:
  sram:
    kind: memory
    bus with: 32
    @
"""


def placed(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Without `@`, and where it stood."""
    lines = text.split("\n")
    places = [(number, line.index("@")) for number, line in enumerate(lines) if "@" in line]
    return text.replace("@", ""), places


def test_mistakes_are_underlined_and_said_in_words(server: LanguageServer, tmp_path: Path) -> None:
    path = tmp_path / "board.yaml"
    text, _ = placed(with_modeline(PROFILE, "hardware-profile", str(path)))
    shown = server.open(path, text)
    assert shown == [
        '4: Missing property "name".',
        "5: a frequency in Hz, kHz, MHz, GHz, such as `72 MHz`",
        '10: Missing property "bus width".',
        "12: Property bus with is not allowed.",
    ]


def test_keys_are_completed_and_explained(server: LanguageServer, tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    text, (event, key) = placed(with_modeline(PROFILE, "hardware-profile", str(path)))
    server.open(path, text)
    assert {"load", "pipeline refill"} <= set(server.completes(path, *event))
    assert "alu" not in server.completes(path, *event)
    assert not any("realigned" in one for one in server.completes(path, *event))
    assert {"bus width", "fetch", "load miss penalty"} <= set(server.completes(path, *key))
    lines = text.split("\n")
    where = next(n for n, line in enumerate(lines) if line.startswith("  clock:"))
    assert "of the core" in server.explains(path, where, 3)
    assert "72 MHz" in server.explains(path, where, 3)


def test_a_skeleton_finds_its_schema(server: LanguageServer, tmp_path: Path) -> None:
    """What is left to do is all that is underlined."""
    path = tmp_path / "skeleton.yaml"
    command = ["profile", "init", "board", "--core", "cortex-m3/flash-3ws", "-o", str(path)]
    assert CliRunner().invoke(main, command).exit_code == 0
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    shown = server.open(path, text)
    assert shown
    for one in shown:
        number, _, message = one.partition(": ")
        assert "TODO" in lines[int(number) - 1], one
        assert message.startswith(("a time in", "a frequency in")), one


def test_schemas_of_all_files_ship() -> None:
    names = {name_of(said) for path in yaml_files() if (said := stated(path.read_text()))}
    assert names <= {path.stem for path in SCHEMAS.glob("*.json")}
