"""``wcetchar doctor`` on machines that have this and that: folders of programs that say so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from needs import need

from wcetchar.capture.tools import TOOLS, USES
from wcetchar.cli import VERBS, main

ROOT = Path(__file__).parents[2]
QEMU = "QEMU emulator version {} (Debian 1:{}+dfsg-7)"
NO_PLUGIN = "qemu: Could not load plugin /dev/null: file too short"
GCC = "{0} (15:12.2.rel1-1) 12.2.1 20221205"
Machine = Callable[..., None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Gives PATH the programs that are named, each with what it answers."""
    for variable in ("WCETCHAR_PLUGIN", "FREERTOS_KERNEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def have(status: int = 0, plugin: str = NO_PLUGIN, **programs: str) -> None:
        for name, says in programs.items():
            file = tmp_path / name.replace("_", "-")
            file.write_text(
                "#!/bin/sh\n"
                f'case "$*" in *-plugin*) echo "{plugin}" >&2; exit 1;; esac\n'
                f'echo "{says}"\nexit {status}\n'
            )
            file.chmod(0o755)

    return have


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *arguments])


def document(*arguments: str, code: int = 0) -> dict[str, Any]:
    done = call(*arguments, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["schema"] == "wcetchar/doctor/1"
    return found


def tool(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [one for one in found["tools"] if one["name"] == name]
    return dict(one)


def test_nothing_installed(machine: Machine) -> None:
    """An estimate needs nothing; a capture lacks an emulator and a compiler, and each is said how
    to get."""
    found = document("--for", "estimate")
    assert found["ready"]
    done = call("--for", "capture")
    assert done.exit_code == 1
    assert "capture lacks qemu-system-arm or qemu-system-riscv32, cc" in done.stdout
    assert "apt-get install qemu-system-arm" in re.sub(r"\s+", " ", done.stdout)
    assert "next: " in done.stderr
    assert call().exit_code == 0  # nothing was asked for


def test_one_emulator_will_do(machine: Machine) -> None:
    machine(qemu_system_riscv32=QEMU.format("9.2.0", "9.2"), cc=GCC.format("cc"))
    found = document("--for", "capture")
    assert found["ready"]
    assert tool(found, "qemu-system-arm")["state"] == "missing"
    there = tool(found, "qemu-system-riscv32")
    assert (there["state"], there["version"]) == ("found", "9.2.0")
    assert there["needed_by"] == ["capture"]
    assert tool(found, "cc")["version"] == "12.2.1"


@pytest.mark.parametrize(
    ("version", "fits"),
    [("7.1.0", False), ("7.2.22", True), ("10.0.2", True), ("11.1.3", True), ("11.2.0", False)],
)
def test_versions_of_the_plugin_interface(machine: Machine, version: str, fits: bool) -> None:
    machine(qemu_system_arm=QEMU.format(version, version), cc=GCC.format("cc"))
    found = document("--for", "capture", code=0 if fits else 1)
    there = tool(found, "qemu-system-arm")
    assert there["state"] == ("found" if fits else "unfit")
    assert there["wanted"] == "7.2 to 11.1"
    assert (there["problem"] is None) == fits


@pytest.mark.parametrize(
    "says",
    ["qemu: -plugin: invalid option", "plugin interface not enabled in this build: disabled"],
)
def test_an_emulator_without_plugins(machine: Machine, says: str) -> None:
    machine(plugin=says, qemu_system_arm=QEMU.format("8.2.0", "8.2"), cc=GCC.format("cc"))
    there = tool(document("--for", "capture", code=1), "qemu-system-arm")
    assert there["state"] == "unfit"
    assert "no plugins" in there["problem"]


def test_a_compiler_without_headers(machine: Machine, tmp_path: Path) -> None:
    machine(qemu_system_arm=QEMU.format("7.2.1", "7.2"))
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\n[ "$1" = -E ] && exit 1\necho "cc (Debian 12.2.0-14) 12.2.0"\n')
    compiler.chmod(0o755)
    there = tool(document("--for", "capture", code=1), "cc")
    assert (there["state"], there["version"]) == ("unfit", "12.2.0")
    assert "libc6-dev" in there["get"]


def test_what_cannot_be_run_is_unfit(machine: Machine, tmp_path: Path) -> None:
    machine(status=1, cargo="")
    there = tool(document("--for", "make demo", code=1), "cargo")
    assert there["state"] == "unfit"


def test_cargo_is_not_needed_where_there_is_a_kernel(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(cargo="cargo 1.66.0 (d65d197ad 2022-11-15)")
    assert tool(document("--for", "make demo", code=1), "cargo")["state"] == "unfit"
    monkeypatch.setenv("FREERTOS_KERNEL", "/kernel")
    found = document("--for", "make demo", code=1)
    assert tool(found, "cargo")["state"] == "found"
    assert ["cargo"] not in found["uses"][0]["lacks"]


def test_an_unknown_verb() -> None:
    done = call("--for", "characterise")
    assert done.exit_code == 2
    assert "did you mean `characterize`?" in done.stderr


def test_the_emulator_of_this_machine() -> None:
    need("qemu-system-arm", "qemu-system-arm")
    need("cc", "gcc")
    assert tool(document("--for", "capture"), "qemu-system-arm")["state"] == "found"


def test_all_verbs_are_listed() -> None:
    """Against the command line itself."""
    found = {use["name"] for use in document()["uses"]}
    listed = set(VERBS)
    assert listed - {"measure"} <= found
    assert {f"measure {one}" for one in ("host", "target", "expect", "header")} <= found


def test_names_are_those_of_the_makefile_and_of_what_installs() -> None:
    """Against scripts/install_system.sh, which is written by hand as well."""
    script = (ROOT / "scripts/install_system.sh").read_text()
    needed = dict(re.findall(r"^need (\S+) (\S+)$", script, re.MULTILINE))
    known = {tool.name: tool.get for tool in TOOLS}
    tests = next(use for use in USES if use.name == "make test")
    assert set(needed) <= {name for group in tests.needs for name in group}
    for program, package in needed.items():
        assert package in known[program]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    made = {use.name.removeprefix("make ") for use in USES if use.name.startswith("make ")}
    assert made <= set(targets)


def test_every_program_that_a_test_needs_is_known() -> None:
    known = {tool.name for tool in TOOLS} | {"nm", "setpriv"}  # of binutils and util-linux
    known |= {"bash", "zsh", "fish"}  # shells whose completion is tried where they are
    known |= {name.replace("-objdump", part) for name in known for part in ("-objcopy", "-strip")}
    for file in (ROOT / "tests").rglob("*.py"):
        for program in re.findall(r'\bneed\("([^"]+)"', file.read_text()):
            assert program in known, file
