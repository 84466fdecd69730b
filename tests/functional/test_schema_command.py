"""``wcetchar schema``: the shipped schemas, by name, for whoever has no repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from editor_yaml import SCHEMAS, modeline
from jsonschema import Draft7Validator

from wcetchar.cli import main
from wcetchar.store.schema_files import FOLDER, schema_texts
from wcetchar.store.shipped_schemas import with_modeline


def run(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, ["schema", *arguments])
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_prints_each(name: str) -> None:
    text = run(name)
    assert text == schema_texts()[f"{name}.json"]
    Draft7Validator.check_schema(json.loads(text))


def test_it_prints_by_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    assert run("wcetchar/section-map/1", "-o", str(path)) == ""
    assert path.read_text() == run("section-map")
    assert Path(run("section-map", "--path").rstrip("\n")).samefile(FOLDER / "section-map.json")


def test_it_lists_all() -> None:
    listed = json.loads(run("--list", "--json"))
    assert listed["schema"] == "wcetchar/schemas/1"
    assert [row["name"] for row in listed["rows"]] == list(SCHEMAS)
    for row in listed["rows"]:
        assert json.loads(Path(row["path"]).read_text())["description"] == row["description"]
        if row["states"]:
            assert run(row["states"]) == run(row["name"].removesuffix("-part"))
    table = run("--list")
    assert all(name in table for name in SCHEMAS)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ((), 2, "give a schema's name or --list"),
        (("budget", "--list"), 2, "--list takes no name"),
        (("budget", "--json"), 2, "a schema is JSON as it is"),
        (("--list", "--path"), 2, "--path is of one schema"),
        (("budgt",), 3, "did you mean `budget`?"),
        (("wcetchar/budget/2",), 3, "there is no schema `wcetchar/budget/2`"),
        (("../../../etc/passwd",), 3, "there is no schema"),
        (("budget", "-o", "no/such/folder/x.json"), 3, "its folder does not exist"),
    ],
)
def test_what_it_refuses(arguments: tuple[str, ...], status: int, says: str) -> None:
    assert says in run(*arguments, status=status)


def test_a_modeline_leads_from_the_file_to_the_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    for output, folder in ((None, tmp_path), ("-", tmp_path), ("a/x.yaml", tmp_path / "a")):
        text = with_modeline("name: x\n", "runs", output)
        where = modeline(text)
        assert where is not None
        assert (folder / where).samefile(FOLDER / "runs.json")
        assert text.endswith("\nname: x\n")
        again = with_modeline(text, "budget", output)
        assert again.count("yaml-language-server") == 1
        assert "budget.json" in again
    assert with_modeline("name: x\n", "runs", None, add=False) == "name: x\n"


def test_a_skeleton_has_one_and_a_fitted_profile_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "board.yaml"
    result = CliRunner().invoke(main, ["profile", "init", "board", "-o", str(path)])
    assert result.exit_code == 0, result.output
    where = modeline(path.read_text())
    assert where is not None
    assert (tmp_path / where).samefile(FOLDER / "hardware-profile.json")
