"""`make validate` goes on where it was ended: with a stand-in for the bench and what measures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rtl_by_hand import module

COLD = "imc, board A, caches cold, second master, busiest"
WARM = "imc, board A, caches warm"
EMPTY = "imac-cached, board D, caches ideal, empty data; by lines"
REFERENCE = "imc, board A, caches ideal"
NAMES = (REFERENCE, COLD, WARM, EMPTY)
RUNS = {
    "imc-a-ideal-0",
    "imc-a-cold--second-master--busiest-0",
    "imc-a-cold--second-master--busiest-1",
    "imc-a-warm-0",
    "imac-cached-d-ideal--empty-data-0",
}
"""Folders, with two runs of a state that varies."""
MASKED = {f"{folder}-masked" for folder in RUNS if "cold" in folder or "empty" in folder}
"""Of states in which a cache is empty where a service begins."""
BESIDE = {*MASKED, "imc-a-before-warm"}


class StandIn:
    """In the place of all programs that are run. All can be ended in one of them, with what it
    writes half written."""

    def __init__(self) -> None:
        self.benches: list[str] = []
        self.measured: list[tuple[str, str]] = []
        self.end_in(None)

    def end_in(self, command: tuple[str, str] | None) -> None:
        """A program, and the folder of a run."""
        self.last, self.is_over = command, False

    def run(self, command: list[str | Path], *, ok: tuple[int, ...] = (0,)) -> tuple[str, str]:
        if self.is_over:
            raise SystemExit("it was ended before")
        words = [Path(word) for word in command]
        options = [str(word) for word in words]
        if words[0].name.startswith("bench-"):
            folder = words[options.index("-o") + 1].parent
            self.benches.append(folder.name)
            for name in ("-o", "--retired", "--refills", "--emptied"):
                if name in options:
                    self._write(words[0].name, folder, words[options.index(name) + 1])
            return "", ""
        script, folder = words[1].name, words[2]
        if script == "warm.py":
            (folder / "full").write_bytes(b"")
            return "", ""
        assert (folder / "retired").exists()
        assert (words[options.index("--reference") + 1] / "retired").exists()
        self.measured.append((script, folder.name))
        self._write(script, folder, words[options.index("-o") + 1])
        return "", f"a warning\nleft out: s, 1 times: {script}, twice\n" * 2

    def _write(self, program: str, folder: Path, file: Path) -> None:
        if self.last == (program, folder.name):
            self.is_over = True
            file.write_text("service,cyc")
            raise SystemExit(f"{program} was ended")
        file.write_text(f"service,cycles\n{program},{folder.name}\n")


class Machine:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.validate = module(monkeypatch, "validate")
        self.cells = [c for c in module(monkeypatch, "cells").CELLS if c.name in NAMES]
        assert len(self.cells) == len(NAMES)
        built = folder / "rtl"
        built.mkdir()
        for name in ("bench-imc", "bench-imac-cached", "elf", "services", "script"):
            (built / name).write_text(name)
        self.program = self.validate.Program(
            "basic", built / "elf", ("--services", str(built / "services"))
        )
        monkeypatch.setattr(self.validate.Program, "driver", range(0x80006000, 0x80008000))
        monkeypatch.setattr(self.validate, "BUILT", built)
        monkeypatch.setattr(self.validate, "WORK", built / "validate")
        monkeypatch.setattr(self.validate, "SAYS", (built / "script",))
        self.stand_in = StandIn()
        monkeypatch.setattr(self.validate, "run", self.stand_in.run)

    def measured(self, anew: bool = False) -> tuple[dict[str, Any], set[str]]:
        """What it finds, and the folders of the runs that the bench made."""
        self.stand_in.benches.clear()
        found = self.validate.measured(self.program, self.cells, 2, 1, anew)
        made = self.stand_in.benches
        assert len(made) == len(set(made))
        return found, set(made)

    def of_run(self, name: str) -> Path:
        found: Path = self.program.work / name
        return found


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    return Machine(monkeypatch, tmp_path)


def test_what_was_measured_is_not_run_again(machine: Machine) -> None:
    found, made = machine.measured()
    assert made == RUNS | BESIDE
    assert {f"{folder}-{n}" for folder, runs in found.items() for n in range(len(runs))} == RUNS
    again, made = machine.measured()
    assert made == set()
    assert again == found
    [one] = again["imac-cached-d-ideal--empty-data"]
    # What is masked is measured where interrupts that are masked find the cache empty.
    assert one.files["total"].read_text().splitlines()[1] == (
        "measurements.py,imac-cached-d-ideal--empty-data-0"
    )
    assert one.files["interrupts"].read_text().splitlines()[1] == (
        "masked.py,imac-cached-d-ideal--empty-data-0-masked"
    )
    assert one.left_out == {
        "total": Counter({"measurements.py, twice": 2}),
        "interrupts": Counter({"masked.py, twice": 2}),
    }


def test_anew(machine: Machine) -> None:
    machine.measured()
    assert machine.measured(anew=True)[1] == RUNS | BESIDE


def test_what_retired_is_not_kept(machine: Machine) -> None:
    """A gigabyte for each run."""
    machine.measured()
    assert not [*machine.folder.rglob("retired"), *machine.folder.rglob("refills")]


@pytest.mark.parametrize(
    ("program", "folder", "left"),
    [
        # Half a run, half a table of either kind, and half of one that is measured beside.
        ("bench-imc", "imc-a-warm-0", {"imc-a-warm-0", "imac-cached-d-ideal--empty-data-0"}),
        ("measurements.py", "imc-a-ideal-0", RUNS),
        (
            "masked.py",
            "imc-a-cold--second-master--busiest-1",
            RUNS - {"imc-a-ideal-0", "imc-a-cold--second-master--busiest-0"},
        ),
        (
            "masked.py",
            "imac-cached-d-ideal--empty-data-0-masked",
            {"imac-cached-d-ideal--empty-data-0"},
        ),
    ],
)
@pytest.mark.parametrize("before", [False, True], ids=["first", "anew"])
def test_what_was_ended_goes_on_where_it_stopped(
    machine: Machine, program: str, folder: str, left: set[str], before: bool
) -> None:
    """In the order of the cells; what had been measured before it began anew is gone as well."""
    whole = machine.measured()[0] if before else None
    machine.stand_in.end_in((program, folder))
    with pytest.raises(SystemExit, match="was ended"):
        machine.measured(anew=before)
    machine.stand_in.end_in(None)
    found, made = machine.measured()
    if before:
        # What it had not come to is there from before.
        assert folder.removesuffix("-masked") in made
        assert made & RUNS <= left | {"imc-a-ideal-0"}
        assert found == whole
    else:
        assert made & RUNS == left | {"imc-a-ideal-0"}  # the reference is needed by all
    for runs in found.values():
        for one in runs:
            for file in one.files.values():
                assert re.fullmatch(r"service,cycles\n\S+,\S+\n", file.read_text())
    assert machine.measured()[1] == set()


@pytest.mark.parametrize(
    ("changed", "run"),
    [
        ("bench-imac-cached", {"imac-cached-d-ideal--empty-data-0"}),
        ("bench-imc", RUNS),  # the reference's core too
        ("elf", RUNS),
        ("services", RUNS),
        ("script", RUNS),
    ],
)
def test_what_a_run_hangs_on_has_changed(machine: Machine, changed: str, run: set[str]) -> None:
    machine.measured()
    (machine.folder / "rtl" / changed).write_text("another one")
    assert machine.measured()[1] & RUNS == run | {"imc-a-ideal-0"}


def test_the_board_of_a_run_has_changed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.measured()
    usual = machine.validate.on_board
    board = machine.folder / "d.yaml"
    board.write_text("another one")
    monkeypatch.setattr(
        machine.validate,
        "on_board",
        lambda cell: (usual(cell)[0], board) if cell.board == "d" else usual(cell),
    )
    found = machine.measured()[1]
    assert found & RUNS == {"imac-cached-d-ideal--empty-data-0", "imc-a-ideal-0"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "total.csv").write_text("service,cyc"),
        lambda folder: (folder / "interrupts.csv").unlink(),
        lambda folder: (folder / "kept.json").write_text('{"key": "'),
        lambda folder: (folder / "kept.json").write_text("[]"),
        lambda folder: (folder / "kept.json").write_text('{"key": 1, "tables": {}}'),
        lambda folder: (folder / "kept.json").unlink(),
    ],
)
def test_what_is_not_whole_is_run_again(machine: Machine, damage: Callable[[Path], Any]) -> None:
    found, _ = machine.measured()
    damage(machine.of_run("imc-a-cold--second-master--busiest-1"))
    again, made = machine.measured()
    again_made = "imc-a-cold--second-master--busiest-1"
    assert made == {again_made, f"{again_made}-masked", "imc-a-ideal-0"}
    assert again == found


def test_why_invocations_were_left_out(machine: Machine) -> None:
    """As `measurements.py` and `masked.py` say it."""
    from measurements import say_left_out

    said = StringIO()
    with redirect_stderr(said):
        say_left_out({("a", "is one, or two"): 12, ("b", "is one, or two"): 3, ("b", "traps"): 1})
    found = machine.validate._left_out(said.getvalue())
    assert found == {"is one, or two": 15, "traps": 1}


def test_each_run_of_a_state_has_a_key_of_its_own(machine: Machine) -> None:
    key = machine.validate._key
    keys = {key(cell, machine.program, n) for cell in machine.cells for n in range(3)}
    assert len(keys) == 3 * len(machine.cells)


def test_a_core_that_is_not_built(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.folder / "rtl" / "bench-imac-cached").unlink()
    with pytest.raises(
        SystemExit, match=r"No such file: bench-imac-cached; next: make .*imac-cached"
    ):
        machine.validate.validate("basic", machine.cells, 2, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((["ab"], []), (["a", "b"], [])),
        ((["a"], ["b"]), (["a", "b"], [])),
        ((["a"], []), ([], ["a"])),
    ],
)
def test_keys_tell_where_words_and_files_end(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    one: tuple[list[str], list[str]],
    other: tuple[list[str], list[str]],
) -> None:
    kept = module(monkeypatch, "kept")

    def key(words: list[str], texts: list[str]) -> str:
        files = []
        for n, text in enumerate(texts):
            files.append(tmp_path / str(n))
            files[-1].write_text(text)
        found: str = kept.key_of(words, files)
        return found

    assert key(*one) != key(*other)
    assert key(*one) == key(*one)
