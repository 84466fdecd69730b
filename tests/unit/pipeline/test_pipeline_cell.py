"""One cell of a campaign with a capture that is none: what is made again, and what is left."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wcetchar.errors import InputError, Location
from wcetchar.model.characterization import (
    Characterization,
    Conservation,
    Counts,
    NotCharacterized,
    Provenance,
    ServiceCharacterization,
    Word,
)
from wcetchar.model.service import Kernel, ServiceKind
from wcetchar.pipeline import cell as cells
from wcetchar.store import load_characterization

FILES = ["cell.json", "characterization.json", "firmware.elf", "log.txt", "run.trace"]


class Fake:
    """Stands for capture and analysis: writes what it was given, and counts."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.captured = self.characterized = 0
        self.values: list[str] = []
        self.emulator = "QEMU 1"
        self.fails: InputError | None = None
        self.conserved = True
        patch.setattr(cells.capturing, "run", self.capture)
        patch.setattr(cells.characterizing, "run", self.characterize)
        patch.setattr(cells.capture, "emulator_version", lambda machine: self.emulator)

    def capture(self, request: Any) -> Any:
        self.captured += 1
        if self.fails is not None:
            raise self.fails
        what = " ".join(("trace of", *request.initialize, Path(request.firmware).read_text()))
        Path(request.output).write_text(what)
        return SimpleNamespace(
            console="hello",
            instructions=1000,
            accesses=2,
            exceptions=3,
            size=4,
            emulator=self.emulator,
        )

    def characterize(self, request: Any) -> Characterization:
        self.characterized += 1
        if self.fails is not None:
            raise self.fails
        traces = "; ".join(Path(trace).read_text() for trace in request.traces)
        self.values = [value.rpartition("/")[2] for value in request.values]
        (services,) = request.services
        service = ServiceCharacterization(
            "s", ServiceKind.CALL, Word.HIGH_WATER_MARK, (), Counts(), description="d"
        )
        return Characterization(
            Kernel(Path(services).read_text(), traces),
            "armv7-m",
            32,
            (),
            (service,),
            Provenance("t"),
            conservation=Conservation(5, 0, 0, (("s", 5 if self.conserved else 4),), ()),
            not_characterized=(NotCharacterized("gone", "why"),),
        )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch)


@pytest.fixture
def plan(tmp_path: Path) -> cells.Plan:
    (tmp_path / "f.elf").write_text("one")
    (tmp_path / "s.yaml").write_text("services")
    return cells.Plan(
        name="a+b",
        values=(("x", "a"), ("y", "b")),
        folder=str(tmp_path / "out" / "a+b"),
        firmware=str(tmp_path / "f.elf"),
        services=(str(tmp_path / "s.yaml"),),
        machine="mps2-an385",
        build_lock=str(tmp_path / "lock"),
        tool="0",
        where=(Location("c.yaml", 3, 1), Location("c.yaml", 4, 1)),
    )


def made(plan: cells.Plan) -> tuple[str, ...]:
    outcome = cells.make(plan, lambda stage: None)
    assert (outcome.exit_code, outcome.message) == (0, "")
    return outcome.made


def content(plan: cells.Plan) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(plan.folder).iterdir())}


BOTH = ("trace", "characterization")


def test_a_cell_is_made_once(fake: Fake, plan: cells.Plan) -> None:
    stages: list[str] = []
    assert cells.make(plan, stages.append) == cells.Outcome(made=BOTH)
    assert stages == ["takes the firmware", "looks what is there", "captures", "characterizes"]
    first = content(plan)
    assert list(first) == FILES
    assert load_characterization(plan.folder + "/characterization.json").kernel == Kernel(
        "services", "trace of one"
    )
    assert b"hello" in first["log.txt"]
    record = cells.record_of(Path(plan.folder))
    summary = record["characterization"]["summary"]
    assert (summary["by_formula"], summary["not_characterized"]) == (
        1,
        [{"service": "gone", "reason": "why"}],
    )
    assert made(plan) == ()
    assert content(plan) == first
    assert (fake.captured, fake.characterized) == (1, 1)


@pytest.mark.parametrize(
    ("what", "again"),
    [
        ("firmware", BOTH),
        ("services", ("characterization",)),
        ("services of a marked capture", BOTH),
        ("machine", BOTH),
        ("exclude", BOTH),
        ("tool", BOTH),
        ("emulator", BOTH),
        ("partial", ("characterization",)),
        ("assignments", ("characterization",)),
        ("initialize", BOTH),
        ("trace damaged", BOTH),
        ("trace removed", BOTH),
        ("firmware copy damaged", BOTH),
        ("characterization damaged", ("characterization",)),
        ("record damaged", BOTH),
        ("record of another version", BOTH),
    ],
)
def test_what_changed_is_made_again(
    fake: Fake, plan: cells.Plan, what: str, again: tuple[str, ...]
) -> None:
    folder = Path(plan.folder)
    if what == "services of a marked capture":
        plan = replace(plan, marked=True)
    assert made(plan) == BOTH
    if what == "firmware":
        Path(plan.firmware).write_text("two")
    elif what.startswith("services"):
        Path(plan.services[0]).write_text("others")
    elif what == "emulator":
        fake.emulator = "QEMU 2"
    elif what in ("machine", "tool"):
        plan = replace(plan, **{what: "another"})  # type: ignore[arg-type]
    elif what == "exclude":
        plan = replace(plan, exclude=("idle",))
    elif what == "assignments":
        plan = replace(plan, runs=(cells.Run(assignments=("N=3",)),))
    elif what == "initialize":
        plan = replace(plan, runs=(cells.Run(initialize=("n=3",)),))
    elif what == "partial":
        plan = replace(plan, partial=True)
    elif what == "trace removed":
        (folder / "run.trace").unlink()
    elif what == "record of another version":
        record = json.loads((folder / "cell.json").read_text())
        (folder / "cell.json").write_text(json.dumps({**record, "schema_version": 99}))
    else:
        name = {
            "trace damaged": "run.trace",
            "firmware copy damaged": "firmware.elf",
            "characterization damaged": "characterization.json",
            "record damaged": "cell.json",
        }[what]
        with (folder / name).open("ab") as file:
            file.write(b"x")
    assert made(plan) == again
    assert made(plan) == ()


def swept(plan: cells.Plan, *values: int) -> cells.Plan:
    """The cell with a run for each value of N."""
    runs = [cells.Run(cells.trace_name({"N": str(n)}), (f"n={n}",), (f"s.N={n}",)) for n in values]
    return replace(plan, runs=tuple(runs))


def test_every_run_of_a_sweep_is_captured_once(fake: Fake, plan: cells.Plan) -> None:
    assert made(plan) == BOTH
    two = swept(plan, 1, 3)
    assert made(two) == ("trace", "trace", "characterization")
    assert sorted(name for name in content(two) if name.endswith(".trace")) == [
        "run-N=1.trace",
        "run-N=3.trace",
    ]
    assert fake.values == ["run-N=1.trace:s.N=1", "run-N=3.trace:s.N=3"]
    found = load_characterization(two.folder + "/characterization.json")
    assert found.kernel.version == "trace of n=1 one; trace of n=3 one"
    assert made(two) == ()
    more = swept(plan, 1, 2, 3)
    assert made(more) == ("trace", "characterization")
    assert [name.rpartition(":")[0] for name in fake.values] == [
        f"run-N={n}.trace" for n in (1, 2, 3)
    ]
    assert made(swept(plan, 3, 2)) == ("characterization",)
    assert "run-N=1.trace" not in content(more)


def test_a_sweep_goes_on_where_it_failed(fake: Fake, plan: cells.Plan) -> None:
    plan = swept(plan, 1, 2, 3)
    whole = fake.capture

    def capture(request: Any) -> Any:
        if "N=2" in request.output:
            raise InputError("no", where=Location("x", 1, 2))
        return whole(request)

    cells.capturing.run = capture  # type: ignore[assignment]  # fake's patch is undone later
    outcome = cells.make(plan, lambda stage: None)
    assert outcome.exit_code == 3
    assert "characterization.json" not in content(plan)
    cells.capturing.run = whole  # type: ignore[assignment]
    assert made(plan) == ("trace", "trace", "characterization")
    assert fake.captured == 3


def test_what_is_out_of_date_goes_before_anything_fails(fake: Fake, plan: cells.Plan) -> None:
    made(plan)
    Path(plan.firmware).write_text("two")
    fake.fails = InputError("no", where=Location("x", 1, 2))
    outcome = cells.make(plan, lambda stage: None)
    assert (outcome.exit_code, outcome.message) == (3, "x:1:2: no")
    assert list(content(plan)) == ["cell.json", "firmware.elf", "log.txt"]
    assert cells.record_of(Path(plan.folder))["traces"] == {}
    assert "x:1:2: no" in (Path(plan.folder) / "log.txt").read_text()
    fake.fails = None
    assert made(plan) == BOTH


def test_a_trace_outlives_a_characterization_that_fails(fake: Fake, plan: cells.Plan) -> None:
    fake.conserved = False
    outcome = cells.make(plan, lambda stage: None)
    assert (outcome.exit_code, outcome.made) == (1, BOTH)
    assert list(content(plan)) == ["cell.json", "firmware.elf", "log.txt", "run.trace"]
    fake.conserved = True
    assert made(plan) == ("characterization",)
    assert fake.captured == 1


def test_a_build_that_fails_leaves_the_cell_as_it_was(fake: Fake, plan: cells.Plan) -> None:
    made(plan)
    before = content(plan)
    failing = replace(
        plan, command=("sh", "-c", "echo first; echo last >&2; exit 3"), directory="/"
    )
    outcome = cells.make(failing, lambda stage: None)
    assert outcome.exit_code == 3
    assert outcome.message.startswith(
        "c.yaml:3:1: the build ended with status 3\n  first\n  last\n"
    )
    after = content(plan)
    assert b"$ sh -c" in after.pop("log.txt")
    del before["log.txt"]
    assert after == before


def test_a_build_sees_its_variables_and_makes_the_firmware(fake: Fake, plan: cells.Plan) -> None:
    folder = Path(plan.firmware).parent
    plan = replace(
        plan,
        command=("sh", "-c", 'printf "$WORD" > built.elf'),
        directory=str(folder),
        environment={"WORD": "three"},
        firmware=str(folder / "built.elf"),
    )
    assert made(plan) == BOTH
    assert content(plan)["run.trace"] == b"trace of three"
    assert made(plan) == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"command": ("wcetchar-no-such-program",)},
            "c.yaml:3:1: the build cannot be run: No such",
        ),
        (
            {"command": ("true",), "directory": "/no/such/folder"},
            "c.yaml:3:1: the build cannot be run: No such file or directory: /no/such/folder",
        ),
        (
            {"command": ("sleep", "60"), "build_timeout": 1},
            "c.yaml:3:1: the build did not end within 1 s",
        ),
        ({"command": ("sh", "-c", "kill -9 $$")}, "c.yaml:3:1: the build was ended by signal 9"),
        ({"firmware": "/no/such.elf"}, "c.yaml:4:1: there is no firmware /no/such.elf"),
        ({"services": ("/no/such.yaml",)}, "/no/such.yaml: cannot be read"),
        ({"folder": "/dev/null/x"}, "/dev/null/x: cannot be used"),
    ],
)
def test_what_cannot_be_done_is_told(
    fake: Fake, plan: cells.Plan, change: dict[str, Any], message: str
) -> None:
    outcome = cells.make(replace(plan, **{"directory": "/", **change}), lambda stage: None)
    assert outcome.exit_code == 3
    assert outcome.message.startswith(message), outcome.message
    assert fake.captured == 0


def test_the_tool_is_known_by_its_code() -> None:
    assert cells.tool_identity() == cells.tool_identity()
    assert len(cells.tool_identity()) == 64


@pytest.mark.parametrize("library", ["capstone", "numpy", "pyelftools"])
def test_the_tool_is_known_by_its_libraries(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    before = cells.tool_identity()
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda n: "99" if n == library else version(n))
    assert cells.tool_identity() != before
