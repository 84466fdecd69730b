"""``--help`` of every verb, and command lines that make no sense."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from bad_input import process, refused, run
from click.testing import CliRunner

from wcetchar.capture import MACHINES
from wcetchar.cli import VERBS, main
from wcetchar.pipeline.characterize import FORMATS


def help_of(*verb: str) -> str:
    result = CliRunner().invoke(main, [*verb, "--help"], terminal_width=100)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_says_what_is_printed_and_how_to_call_it(verb: str) -> None:
    text = help_of(verb)
    assert re.search(r"^  Examples?:$", text, re.MULTILINE)
    assert f"    wcetchar {verb} " in text
    assert "\b" not in text
    assert all(len(line) <= 100 for line in text.splitlines())
    # Every option says what it is for.
    options = text.split("Options:\n")[1]
    for option in re.findall(r"^  (-.*)$", options, re.MULTILINE):
        assert re.search(r"  +[A-Z]", option) or f"{option}\n    " in text, option


@pytest.mark.parametrize(
    ("verb", "unit"),
    [
        ("demo", "in ns"),
        ("capture", "SECONDS"),
        ("characterize", "counts instructions"),
        ("campaign", "Counts are of services and instructions"),
        ("compare", "Times are in ns"),
        ("estimate", "in ns and core cycles"),
        ("sweep", "blocking in ns"),
    ],
)
def test_help_names_units(verb: str, unit: str) -> None:
    assert unit in " ".join(help_of(verb).split())


def test_help_warns_of_semihosting() -> None:
    text = " ".join(help_of("capture").split())
    assert "Semihosting lets firmware open, write and remove files of this machine" in text
    assert "run only firmware that you trust" in text


def test_help_lists_machines_and_formats() -> None:
    assert all(machine.name in help_of("capture") for machine in MACHINES)
    assert all(name in help_of("characterize") for name in FORMATS)


def test_help_of_all_verbs() -> None:
    text = help_of()
    for verb in VERBS:
        line = re.search(rf"^  {verb} +(.*)$", text, re.MULTILINE)
        assert line is not None
        assert not line[1].endswith("...")
    for code in ("0 done", "1 a check failed", "2 usage", "3 bad input", "4 no sound bound"):
        assert code in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("estimat",), "estimat"),
        (("--nonsense",), "--nonsense"),
        (("estimate",), "CHARACTERIZATION"),
        (("estimate", "k.json"), "--profile"),
        (("estimate", "k.json", "--profile", "p", "--nonsense"), "--nonsense"),
        (("estimate", "a", "b", "--profile", "p"), "b"),
        (("characterize", "a.elf"), "RUN"),
        (("characterize", "a.elf", "run", "-o", "x"), "--services"),
        (("characterize", "a.elf", "run", "--services", "s"), "--output"),
        (("capture", "--machine", "mps2-an385", "-o", "x"), "FIRMWARE"),
        (("capture", "a.elf", "--machine", "mps2-an385"), "--output"),
        (("campaign",), "CAMPAIGN"),
        (("compare",), "BASE"),
        (("demo", "more"), "more"),
    ],
)
def test_usage(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        refused(run(*arguments), 2, said, "--help")
    assert not list(tmp_path.iterdir())


def test_a_process_ends_with_the_same_status() -> None:
    refused(process("capture"), 2, "FIRMWARE")
    result = process("--version")
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(r"wcetchar, version \d+\.\d+\.\d+\n", result.stdout)


def test_an_interrupt_is_answered_from_the_start() -> None:
    """What is imported before main() runs cannot be interrupted without a traceback: little is."""
    code = (
        "import sys, wcetchar.cli\n"
        "heavy = {'numpy', 'pydantic', 'rich', 'ruamel', 'capstone', 'elftools', 'lark'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("estimat",), "estimate"),
        (("system", "chek"), "check"),
        (("measure", "hots"), "host"),
        (("zzzzz",), None),
    ],
)
def test_a_verb_that_there_is_none_of(words: tuple[str, ...], near: str | None) -> None:
    error = refused(run(*words), 2, f"No such command '{words[-1]}'")
    assert ("Did you mean" in error) == (near is not None)
    assert near is None or f"Did you mean `{near}`?" in error
