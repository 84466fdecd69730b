"""``wcetchar demo``: the published figures, from an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from wcetchar import __version__
from wcetchar.cli import BROKEN_PIPE, INTERRUPTED, VERBS, main
from wcetchar.pipeline import demo

PROGRAM = [sys.executable, "-c", "from wcetchar.cli import main; main()"]

PUBLISHED = [
    ("platform1", 56_728, 51_111, 11.0),
    ("platform2", 14_182, 14_137, 0.3),
    ("platform3", 148_988, 146_400, 1.8),
]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_json_document() -> None:
    result = CliRunner().invoke(main, ["demo", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["platforms"] == [
        {
            "name": name,
            "estimated_ns": estimated,
            "measured_ns": measured,
            "overestimation_percent": percent,
        }
        for name, estimated, measured, percent in PUBLISHED
    ]


def test_the_tables() -> None:
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0, result.output
    tables, comparison = result.stdout.split("overestimation")
    for name, estimated, measured, percent in PUBLISHED:
        assert f"total {estimated:,} ns (estimate)" in tables
        (line,) = [line for line in comparison.splitlines() if line.startswith(name)]
        assert line.split() == [name, f"{estimated:,}", f"{measured:,}", f"{percent}", "%"]
    # The counts of the published table at N = 13, and the times of its first platform.
    for cell in ("515", "21,000", "7,210", "3,430", "7,800", "7,200", "3,800", "5,000"):
        assert f" {cell}" in tables


def test_it_is_in_an_empty_folder_with_neither_decoder_nor_emulator() -> None:
    """The integrator's side needs no trace, no ELF file and no instruction set."""
    hidden = (
        "import sys\n"
        "for name in ('capstone', 'elftools', 'highspy'): sys.modules[name] = None\n"
        "from wcetchar.cli import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", hidden, "demo"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": "/nowhere"},
    )
    assert result.returncode == 0, result.stderr
    assert "148,988 ns" in result.stdout
    assert list(Path().iterdir()) == []


def test_a_reader_that_goes_away_is_no_error_message() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [*PROGRAM, "demo"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (BROKEN_PIPE, "")


def test_a_full_disk_is_an_error_message() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*PROGRAM, "demo"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 3
    assert "cannot be written" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_locale_does_not_matter() -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = subprocess.run([*PROGRAM, "demo"], capture_output=True, check=False, env=ascii_only)
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode() == CliRunner().invoke(main, ["demo"]).stdout


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == INTERRUPTED
    assert "Traceback" not in result.output


def test_version_help_and_usage() -> None:
    runner = CliRunner()
    assert __version__ in runner.invoke(main, ["--version"]).output
    helped = runner.invoke(main, ["--help"])
    assert helped.exit_code == 0
    for verb in VERBS:
        assert f"  {verb} " in helped.output
        assert runner.invoke(main, [verb, "--help"]).exit_code == 0
    for wrong in (["nothing"], ["demo", "--nothing"], ["demo", "extra"]):
        assert runner.invoke(main, wrong).exit_code == 2
