"""The files of docs/howto/ci-example: budgets, and the workflow, whose commands are run.

A runner's environment is a repository of git here, with a kernel that got slower.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from needs import need
from ruamel.yaml import YAML
from test_check_budget import slower
from test_cli_estimate import MAP, PROFILE, published

from wcetchar.model.characterization import Characterization
from wcetchar.store import characterization_json, load_budgets, profile_names

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "ci-example"
BUDGETS = """\
schema: wcetchar/budget/1
profile: ../board.yaml
map: ../map.yaml
may grow: 1 %
budgets: [{service: walk, total: 1 ms}]
"""


@pytest.mark.parametrize("name", ["integrator.yaml", "vendor.yaml"])
def test_budgets_read(name: str) -> None:
    found = load_budgets(str(EXAMPLE / name))
    assert found.profile in profile_names()
    modeline = (EXAMPLE / name).read_text().splitlines()[0].partition("$schema=")[2]
    assert (EXAMPLE / modeline).resolve().name == "budget.json"
    assert (EXAMPLE / modeline).is_file()


@pytest.fixture
def workflow() -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(EXAMPLE / "wcet.yml")
    return found


def steps(workflow: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {s.get("name", s.get("uses")): s for s in workflow["jobs"]["budgets"]["steps"]}


def git(*arguments: str) -> None:
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *author, *arguments], check=True, capture_output=True)


def commit(found: Characterization) -> None:
    Path("kernel.json").write_text(characterization_json(found))
    git("add", "-A")
    git("commit", "-qm", "kernel", "--allow-empty")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    need("git", "git")
    folder = tmp_path / "repository"
    (folder / "ci").mkdir(parents=True)
    monkeypatch.chdir(folder)
    Path("ci/budgets.yaml").write_text(BUDGETS)
    Path("board.yaml").write_text(PROFILE)
    Path("map.yaml").write_text(MAP)
    git("init", "-q")
    commit(published())
    return folder


def job(workflow: Mapping[str, Any], temporary: Path) -> dict[str, int]:
    """Exit code of each of the workflow's own commands, as a runner runs them on a push."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        **workflow["jobs"]["budgets"]["env"],
        "BASE": "HEAD^",
    }
    codes = {}
    for name, step in steps(workflow).items():
        if "run" not in step or name == "Install":
            continue
        if not any(codes.values()) or "always()" in step.get("if", ""):
            command = ["bash", "-e", "-c", step["run"]]
            done = subprocess.run(command, env=environment, check=False, capture_output=True)
            codes[name] = done.returncode
    return codes


def test_a_kernel_that_grew(workflow: dict[str, Any], repository: Path, tmp_path: Path) -> None:
    commit(slower())
    assert job(workflow, tmp_path) == {"Baseline": 0, "Budgets": 1, "Summary": 0}
    assert "### Failed" in (tmp_path / "summary.md").read_text()
    results = json.loads((repository / "budgets.sarif").read_text())["runs"][0]["results"]
    assert {one["ruleId"] for one in results} == {"grown"}
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in results]
    assert {one["uri"] for one in places} == {"ci/budgets.yaml"}


def test_a_kernel_that_did_not(workflow: dict[str, Any], repository: Path, tmp_path: Path) -> None:
    commit(published())
    assert job(workflow, tmp_path) == {"Baseline": 0, "Budgets": 0, "Summary": 0}
    assert "None: every figure is as in the baseline." in (tmp_path / "summary.md").read_text()
    assert (repository / "budgets.xml").is_file()


def test_what_it_uploads_is_what_it_writes(workflow: dict[str, Any]) -> None:
    """And it takes no text of a pull request into a command."""
    named = steps(workflow)
    written = named["Budgets"]["run"]
    assert named["Places of failures"]["with"]["sarif_file"] in written
    for file in named["Results"]["with"]["path"].split():
        assert file in written
    assert all("${{" not in step.get("run", "") for step in named.values())
    assert workflow["jobs"]["budgets"]["permissions"]["security-events"] == "write"
    assert workflow["permissions"] == {"contents": "read"}
