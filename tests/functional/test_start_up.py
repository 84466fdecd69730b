"""What is imported at the start, which is what a short command takes its time for.

Held by names rather than by a clock: a module that creeps in is a failure on any machine.
``make bench`` has the times.
"""

import json
import subprocess
import sys

import pytest

from wcetchar.cli import VERBS
from wcetchar.cli.measure import VERBS as MEASURE
from wcetchar.cli.system import VERBS as SYSTEM

PROGRAM = """
import json, sys
before = set(sys.modules)
from wcetchar.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
ESTIMATE = ("estimate", "renaux2010", "--profile", "renaux2010/platform1")
ESTIMATE += ("--map", "renaux2010/map1", "--set", "N=13")

OF_HELP = {
    "wcetchar",
    "wcetchar.cli",
    "wcetchar.cli.common",
    "wcetchar.cli.completing",
    "wcetchar.errors",
    "wcetchar.pipeline",
    "wcetchar.pipeline.assignments",
}
READING = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions"}
READING |= {"typing_inspection", "ruamel", "lark"}
ROOMS = {"cli", "engine", "errors", "formula", "model", "pipeline", "report", "store"}
STORE = {
    *("access_doc", "based_on", "busy", "characterization", "characterization_doc", "checking"),
    "shapes",
    *("document", "fetched_lines", "files", "json_source", "line_pairs", "locator", "names"),
    *("parameter_names", "path_models", "profile", "quantity", "section_map", "source"),
    *("used_lines", "yaml_source"),
}
"""Of three kinds of files, out of twenty."""


def imported(*arguments: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    assert run.stdout
    found = set(json.loads(run.stderr))
    # Those of C, or made by Python code for itself, have no names that matter here.
    return {name for name in found if name.partition(".")[0] not in sys.stdlib_module_names}


def others(modules: set[str]) -> set[str]:
    """Packages of others, but for parts of them that are no packages of their own."""
    found = {name.partition(".")[0] for name in modules} - {"wcetchar"}
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["system", "--help"], {"wcetchar.cli.system"}),
        (["measure", "--help"], {"wcetchar.cli.measure"}),
        (["estimate", "--help"], {"wcetchar.cli.estimate"}),
    ],
)
def test_help_imports_nothing_but_click(arguments: list[str], more: set[str]) -> None:
    found = imported(*arguments)
    assert others(found) == {"click"}
    assert {name for name in found if name.startswith("wcetchar")} <= OF_HELP | more


@pytest.mark.parametrize(
    ("form", "drawing"), [("json", set()), ("csv", set()), ("markdown", set()), ("table", {"rich"})]
)
def test_an_estimate_imports_what_it_reads_and_no_more(form: str, drawing: set[str]) -> None:
    found = imported(*ESTIMATE, "--format", form)
    assert others(found) <= {"click"} | READING | drawing
    own = [name.split(".") for name in found if name.startswith("wcetchar.")]
    assert {parts[1] for parts in own} <= ROOMS
    assert {parts[2] for parts in own if parts[1] == "store" and len(parts) > 2} <= STORE
    assert "wcetchar.model.instruction" not in found


@pytest.mark.parametrize(
    ("group", "verbs"), [((), VERBS), (("system",), SYSTEM), (("measure",), MEASURE)]
)
def test_a_group_lists_its_verbs_without_importing_them(
    group: tuple[str, ...], verbs: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "wcetchar", *group, "--help"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 1) for line in listed.partition("Commands:\n")[2].splitlines()]
    assert [(name, what) for name, what in lines] == list(verbs.items())
