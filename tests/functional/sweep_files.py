"""Small files for ``wcetchar sweep``, and its output as a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from test_cli_estimate import MAP, PROFILE, published

from wcetchar.cli import main
from wcetchar.store import characterization_json


def write_files(board: str) -> None:
    """Into the current folder: kernel, board and map, and what estimates are tested with."""
    Path("k.json").write_text(characterization_json(published()))
    Path("board.yaml").write_text(board)
    Path("plain.yaml").write_text(PROFILE)
    Path("map.yaml").write_text(MAP.replace("flash", "code flash").replace("\n  N: 4", " {M: 3}"))
    Path("plain-map.yaml").write_text(MAP)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)])


def document(*arguments: object, code: int = 0) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found
