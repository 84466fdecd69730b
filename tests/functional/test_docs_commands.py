"""Every command that a page tells people to type is run by a test, or stands here with the reason
why not and with what runs it instead; and every option that a page names is one."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest
from page_commands import PAGES, PROGRAMS, ROOT, Command, in_blocks, in_text, words

from wcetchar.cli import main

BLOCKS = list(in_blocks())
TEXT = list(in_text())


@dataclass(frozen=True)
class NotRun:
    """Commands that no test runs as they stand. ``page``: a name or pattern; ``begins``: what the
    command begins with. ``by``: a file that runs the same elsewhere, and ``says`` so."""

    page: str
    begins: str
    why: str
    by: str
    says: str


CI = "continuous integration runs it by itself"
WORKSPACE = "needs a workspace of Zephyr and its SDK"
CAMPAIGN = "needs `make campaign`, which takes hours; the script that writes the page runs it"
NOT_RUN = (
    NotRun("*", "make demo", CI, ".ci/run", "make demo"),
    NotRun("*", "make test", CI, ".ci/run", "make test"),
    NotRun("*", "make lint", CI, ".ci/run", "make lint"),
    NotRun("*", "make docs", CI, ".ci/run", "make docs"),
    NotRun("*", "make bench", "takes about two hours", "Makefile", "tests/benchmarks/bench.py"),
    NotRun("*", ". .venv/bin/activate", "of the reader's shell", "Makefile", ".venv"),
    NotRun(
        "docs/reference/freertos-compare.md", "", CAMPAIGN, "docs/generate_compare.py", "compare"
    ),
    NotRun(
        "docs/reference/freertos-figures-*.md",
        "",
        "a campaign's cell of `full` takes a quarter of an hour; a long test makes it",
        "tests/differential/test_freertos_services_page.py",
        "generate_figures.py",
    ),
    NotRun("docs/reference/zephyr*.md", "", WORKSPACE, "rtos_tests/zephyr/README.md", "west"),
    NotRun(
        "docs/howto/zephyr-application.md",
        "",
        WORKSPACE,
        "tests/functional/test_zephyr_application.py",
        "west",
    ),
    NotRun(
        "docs/howto/build-systems.md",
        "cmake",
        "a build of the example, which a test makes by the same two commands",
        "tests/functional/test_build_systems.py",
        "app-wcet-estimate",
    ),
    NotRun(
        "docs/howto/build-systems.md",
        "west",
        "needs a workspace of Zephyr; a test calls the same in one that is made up",
        "tests/functional/test_west_wcet.py",
        "wcet",
    ),
    NotRun(
        "docs/explanation/design-questions.md",
        "wcetchar sweep renaux2010",
        "writes a million lines",
        "tests/benchmarks/questions.py",
        "core.clock=8MHz..168MHz/16",
    ),
    NotRun(
        "docs/explanation/measuring.md",
        "wcetchar measure host",
        "what it prints hangs on the machine, and on what else runs there",
        "tests/functional/test_measure_host.py",
        '"--only"',
    ),
    NotRun(
        "docs/explanation/rtl.md",
        "python rtl_boards/validate.py",
        "one state of a board in RTL takes minutes",
        "Makefile",
        "--config basic --runs 1 --paths",
    ),
    NotRun(
        "docs/explanation/validation.md",
        "python tests/differential/random_check.py",
        "takes minutes for each seed",
        "tests/differential/test_chain_random.py",
        "random_check",
    ),
    NotRun(
        "docs/howto/bounds.md",
        "wcetchar characterize",
        "path models of FreeRTOS take minutes",
        "tests/functional/test_paths_command.py",
        '"--paths"',
    ),
    NotRun(
        "docs/howto/bounds.md",
        "wcetchar paths",
        "needs path models of FreeRTOS, which take minutes",
        "tests/functional/test_paths_command.py",
        "--template",
    ),
    NotRun(
        "docs/howto/bounds.md",
        "wcetchar check",
        "needs path models of FreeRTOS, which take minutes",
        "tests/functional/test_paths_command.py",
        '"check"',
    ),
    NotRun(
        "docs/howto/viewers.md",
        "wcetchar paths",
        "needs path models of FreeRTOS, which take minutes",
        "tests/functional/test_export_command.py",
        "dot",
    ),
    NotRun(
        "docs/howto/viewers.md",
        "dot -Tsvg",
        "draws what the command before it writes",
        "tests/functional/test_export_command.py",
        "dot",
    ),
    NotRun(
        "docs/howto/editors.md",
        "check-jsonschema",
        "another program; a library checks the same files with the same schemas",
        "tests/unit/store/test_store_schemas.py",
        "Draft7Validator",
    ),
    NotRun(
        "docs/howto/foreign-traces.md",
        "qemu-system-arm",
        "Debian does not ship the plugin",
        "traces/README.md",
        "execlog of QEMU",
    ),
    NotRun(
        "docs/howto/foreign-traces.md",
        "wcetchar characterize firmware.elf",
        "needs a trace of a program that is not installed",
        "tests/readers/trace_writers.py",
        "execlog",
    ),
    NotRun(
        "docs/howto/hardware-designer.md",
        "wcetchar profile fit board.csv",
        "needs measurements of a board",
        "tests/functional/test_profile_fit_situations.py",
        '"fit"',
    ),
    NotRun(
        "docs/howto/hardware-designer.md",
        "wcetchar profile fit marks.csv",
        "needs the board in RTL, and `make fit` before",
        "tests/functional/test_rtl_fit.py",
        "marks",
    ),
    NotRun(
        "docs/howto/hardware-designer.md",
        "python rtl_boards/measurements.py",
        "needs the board in RTL, and `make fit` before",
        "rtl_boards/fit.py",
        "marks.csv",
    ),
    NotRun(
        "docs/howto/without-marks.md",
        "wcetchar characterize firmware.elf n1.trace",
        "needs runs that the reader's own firmware makes",
        "tests/functional/test_cli_unmarked.py",
        "--set",
    ),
)


def exempt(command: Command) -> NotRun | None:
    page = str(command.page.relative_to(ROOT))
    for one in NOT_RUN:
        if fnmatch(page, one.page) and command.text.startswith(one.begins):
            return one
    return None


def test_each_command_is_run_or_said_not_to_be() -> None:
    silent = [
        f"{one.where}: {one.text}" for one in BLOCKS if not one.marked and exempt(one) is None
    ]
    assert not silent, (
        "mark the block with <!-- run -->, or say in NOT_RUN why it cannot be:\n"
        + "\n".join(silent)
    )


def test_what_is_not_run_is_run_elsewhere() -> None:
    used = [exempt(one) for one in BLOCKS if not one.marked]
    for one in NOT_RUN:
        assert one in used, f"no page needs it any longer: {one}"
        assert one.why
        text = (ROOT / one.by).read_text(encoding="utf-8")
        assert one.says in text, f"{one.by} does not say {one.says}"


def test_most_commands_are_run() -> None:
    """Of the pages that are not written by a campaign of hours or in a workspace of Zephyr."""
    far = ("freertos-compare.md", "freertos-figures-*.md", "zephyr*.md")
    near = [one for one in BLOCKS if not any(fnmatch(one.page.name, page) for page in far)]
    run = [one for one in near if one.marked]
    assert len(run) / len(near) > 0.8


CONTEXT = click.Context(main, **main.context_settings)
"""A command keeps what it first took its own `--help` to be called."""


def command_of(arguments: list[str]) -> tuple[click.Command, list[str], list[str]]:
    """The command of a line, its name in parts, and what follows."""
    found: click.Command = main
    names = ["wcetchar"]
    while isinstance(found, click.Group) and arguments and not arguments[0].startswith("-"):
        inner = found.get_command(CONTEXT, arguments[0])
        assert inner is not None, f"{' '.join(names)} has no {arguments[0]}"
        found, names, arguments = inner, [*names, arguments[0]], arguments[1:]
    return found, names, arguments


PLACEHOLDERS = re.compile(r"[A-Z][A-Z_.]*(\.yaml)?|\.\.\.")


@pytest.mark.parametrize(
    "command",
    [one for one in BLOCKS if one.program == "wcetchar" and not one.marked],
    ids=lambda one: one.where,
)
def test_a_command_in_a_block_can_be_read(command: Command) -> None:
    """As the program itself reads it, up to where it would begin. Others are run."""
    found, names, arguments = command_of(words(command.text)[1:])
    arguments = [one for one in arguments if one != "..."]
    try:
        found.make_context(names[-1], arguments, parent=CONTEXT)
    except click.MissingParameter:
        assert "..." in command.text, command.where
    except click.UsageError as error:
        raise AssertionError(f"{command.where}: {command.text}\n{error.message}") from error


NO_COMMANDS = ("wcetchar comparison", "wcetchar characterization")
"""What JSON files say that they are."""


@pytest.mark.parametrize(
    "command", [one for one in TEXT if one.program == "wcetchar"], ids=lambda one: one.where
)
def test_a_command_in_the_text_has_the_options_that_it_names(command: Command) -> None:
    if command.text in NO_COMMANDS:
        return
    plain = command.text.replace("\\|", "|").partition("|")[0]
    found, names, arguments = command_of(shlex.split(plain)[1:])
    known = {option for one in found.params for option in (*one.opts, *one.secondary_opts)}
    known |= {"--help", "-h"}
    takes = {option: one for one in found.params for option in one.opts}
    for number, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if not option.startswith("-") or option == "-":
            continue
        assert option in known, f"{command.where}: {' '.join(names)} has no {option}"
        kind = takes[option].type if option in takes else None
        if not equals and number + 1 < len(arguments):
            value = arguments[number + 1]
        if isinstance(kind, click.Choice) and value and not PLACEHOLDERS.fullmatch(value):
            assert value in kind.choices, f"{command.where}: {option} {value}"


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return {
        name
        for line in re.findall(r"^([\w -]+):(?!=)", text, re.MULTILINE)
        for name in line.split()
    }


@pytest.mark.parametrize(
    "command",
    [one for one in (*BLOCKS, *TEXT) if one.program == "make"],
    ids=lambda one: f"{one.where}:{one.text}",
)
def test_a_target_of_make_is_one(command: Command) -> None:
    arguments = words(command.text)[1:]
    if "-C" in arguments:
        folder = arguments[arguments.index("-C") + 1]
        assert "$" in folder or (ROOT / folder / "Makefile").is_file()
        return
    for one in arguments:
        if not one.startswith("-") and "=" not in one:
            assert one in targets(), f"{command.where}: make {one}"


@pytest.mark.parametrize(
    "command",
    [one for one in (*BLOCKS, *TEXT) if one.program == "python"],
    ids=lambda one: f"{one.where}:{one.text[:60]}",
)
def test_a_script_is_there_and_knows_the_options(command: Command) -> None:
    arguments = words(command.text)[1:]
    if arguments[0] in ("-m", "-c", "-"):
        return
    script = ROOT / arguments[0]
    assert script.is_file(), f"{command.where}: {arguments[0]}"
    sources = [script, *script.parent.glob("*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    for one in arguments[1:]:
        if one.startswith("--"):
            assert f'"{one.partition("=")[0]}"' in text, f"{command.where}: {one}"


def test_commands_are_found(tmp_path: Path) -> None:
    """What the tests above would not notice: that there is nothing to look at."""
    programs = {one.program for one in BLOCKS}
    assert set(PROGRAMS) <= programs
    assert len(BLOCKS) > 150
    assert len(TEXT) > 100
    assert {page.name for page in PAGES} >= {"README.md", "CONTRIBUTING.md", "xTaskCreate.md"}
    assert words("a $(b $(c)) > d 2>&1 'e f'") == ["a", "X", "e f"]
