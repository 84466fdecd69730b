"""Completion of command lines: what the program answers a shell, and shells that ask it.

The shells are real ones: Bash and zsh at a terminal, where a key is pressed, fish by the command
that lists what it would complete.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner
from needs import need

from wcetchar import store
from wcetchar.cli import VERBS, main

NO_FILES = {(" profile init", "name")}
"""Arguments that are no files, nor names of any."""
PLATFORM = ("estimate", "renaux2010", "--profile", "renaux2010/platform1")


def complete(*words: str) -> list[tuple[str, str]]:
    """(type, value) of each completion of the last word."""
    *before, last = words
    shell = BashComplete(main, {}, "wcetchar", "_WCETCHAR_COMPLETE")
    return [(one.type, one.value) for one in shell.get_completions(list(before), last)]


def names(*words: str) -> list[str]:
    found = complete(*words)
    assert {kind for kind, _ in found} <= {"plain"}
    return [value for _, value in found]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_verbs() -> None:
    assert names("") == list(VERBS)
    assert names("es") == ["estimate"]
    assert names("system", "sl") == ["slices", "slowdown"]
    assert "--profile" in names("estimate", "--p")


def test_shipped_names() -> None:
    assert names("estimate", "ren") == ["renaux2010"]
    assert names("estimate", "--profile", "") == list(store.profile_names())
    assert names("paths", "x", "--map", "") == list(store.map_names())
    assert names("measure", "expect", "mul") == ["muller-arm9"]
    assert names("profile", "check", "cortex-m3/fl") == ["cortex-m3/flash-3ws"]
    assert names("schema", "section") == ["section-map"]


def test_maps_are_those_of_the_profile() -> None:
    found = names(*PLATFORM, "--map", "")
    assert found == list(store.maps_of("renaux2010/platform1"))
    assert set(found) < set(store.map_names())


def test_files_beside_shipped_names(folder: Path) -> None:
    (folder / "mine.json").write_text("{}")
    (folder / "board.yaml").write_text("")
    (folder / "sub").mkdir()
    (folder / "sub" / "other.json").write_text("{}")
    assert names("estimate", "")[-1] == "mine.json"
    assert names("estimate", "sub/o") == ["sub/other.json"]
    assert names("estimate", "x", "--profile", "b") == ["board.yaml"]
    # Any other path is completed by the shell.
    assert complete("estimate", "su") == [("file", "su")]


@pytest.mark.parametrize(
    "words",
    [
        ("estimate", "x", "-o", "fi"),
        ("capture", "fi"),
        ("campaign", "fi"),
        ("characterize", "a", "fi"),
        ("check", "a", "--budget", "fi"),
        ("validate", "a", "--plot", "fi"),
        ("system", "check", "fi"),
    ],
)
def test_what_is_a_file_is_left_to_the_shell(words: tuple[str, ...]) -> None:
    assert complete(*words) == [("file", "fi")]


def parameters(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Parameter]]:
    """Of a command and all below it, each with the command's name."""
    for parameter in command.params:
        yield name, parameter
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            inner = command.get_command(context, verb)
            assert inner is not None
            yield from parameters(inner, f"{name} {verb}")


def test_no_file_is_left_out() -> None:
    """Without a word from us a shell would complete nothing where it did before."""
    known = 0
    for name, parameter in parameters(main):
        if isinstance(parameter, click.Argument) or "FILE" in (parameter.metavar or ""):
            chosen = isinstance(parameter.type, click.Choice) or parameter._custom_shell_complete
            assert chosen or (name, parameter.name) in NO_FILES, (name, parameter.name)
            known += 1
    assert known > 60


def test_services_and_parameters_of_the_given_characterization() -> None:
    assert names("estimate", "renaux2010", "--service", "") == ["CreateThread"]
    assert names(*PLATFORM, "--service", "CreateThread", "--set", "") == ["N="]
    assert names("estimate", "renaux2010", "--set", "X") == []
    assert names("estimate", "--service", "") == []
    expected = [s.name for s in store.load_characterization("muller2007").services]
    found = names("compare", "muller2007", "renaux2010", "--service", "")
    assert found == [*expected, "CreateThread"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"services": 5}', '{"services": [5, {"name": 7}, {}]}', "\x00", "[" * 99],
)
def test_what_cannot_be_read_completes_nothing(folder: Path, text: str) -> None:
    (folder / "bad.json").write_text(text)
    assert names("estimate", "bad.json", "--service", "") == []
    assert names("estimate", "bad.json", "--set", "") == []


def test_names_of_strangers_are_no_commands(folder: Path) -> None:
    """A shell splits and expands what it is given; such names are left out."""
    bad = ["$(touch x)", "a b", "`x`", "*", "a,b", "\x1b[31m", "two\nlines"]
    services = ", ".join(f'{{"name": {name!r}}}'.replace("'", '"') for name in ["good", *bad])
    (folder / "odd.json").write_text(f'{{"services": [{services}]}}'.replace("\\x1b", "\\u001b"))
    assert names("estimate", "odd.json", "--service", "") == ["good"]


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with this program first."""
    own = tmp_path_factory.mktemp("bin")
    program = own / "wcetchar"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m wcetchar "$@"\n')
    program.chmod(0o755)
    return f"{own}:{os.environ['PATH']}"


def script(shell: str) -> str:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    return done.stdout


def typed(shell: list[str], path: str, lines: list[str], keys: str, expected: str) -> str:
    """What a terminal shows of a shell until ``expected`` is there, or for long."""
    process, terminal = pty.fork()
    if not process:  # the shell's own process
        environment = {**os.environ, "PATH": path, "PS1": "$ ", "TERM": "dumb"}
        os.execvpe(shell[0], shell, environment)
    shown = ""
    try:
        os.write(terminal, "".join(f"{line}\n" for line in [*lines, "echo rea''dy"]).encode())
        sent, end = False, time.monotonic() + 60
        while time.monotonic() < end and not re.search(expected, shown.rpartition("ready")[2]):
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 4096).decode(errors="replace")
            if not sent and "ready" in shown:
                sent = True
                os.write(terminal, keys.encode())
    except OSError:
        pass  # it ended
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)
    return shown.rpartition("ready")[2]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("wcetchar estimate renaux2010 --service Cr\t", "--service CreateThread "),
        # Behind = no space: a value follows.
        ("wcetchar estimate renaux2010 --set N\t7", "--set N=7"),
        ("wcetchar system ov\t", "wcetchar system overhead "),
        ("wcetchar capture firm\t", "wcetchar capture firmware.elf "),
    ],
)
def test_bash_completes(folder: Path, path: str, keys: str, expected: str) -> None:
    need("bash", "bash")
    (folder / "complete.sh").write_text(script("bash"))
    (folder / "firmware.elf").write_text("")
    bash = ["bash", "--norc", "--noprofile", "-i"]
    shown = typed(bash, path, ["source complete.sh"], keys, re.escape(expected))
    assert expected in shown


def test_zsh_completes(folder: Path, path: str) -> None:
    need("zsh", "zsh")
    (folder / "complete.zsh").write_text(script("zsh"))
    lines = ["autoload -U compinit", "compinit -u -D", "source ./complete.zsh"]
    keys = "wcetchar estimate renaux2010 --service Cr\t"
    assert "CreateThread" in typed(["zsh", "-f", "-i"], path, lines, keys, "CreateThread")


def test_fish_completes(folder: Path, path: str) -> None:
    need("fish", "fish")
    (folder / "complete.fish").write_text(script("fish"))
    asks = 'source complete.fish; complete -C "wcetchar estimate renaux2010 --service Cr"'
    done = subprocess.run(
        ["fish", "--no-config", "-c", asks],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, "HOME": str(folder)},
        check=True,
    )
    assert done.stdout.split() == ["CreateThread"]


def test_another_shell() -> None:
    done = CliRunner().invoke(main, ["completion", "csh"])
    assert done.exit_code == 2
    assert "fish" in done.stderr
