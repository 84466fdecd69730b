"""A campaign's cell is taken in the place of a run only if it is up to date in every respect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chain_cell
import pytest

from wcetchar.errors import Location
from wcetchar.pipeline import cell as cells


@dataclass
class Here:
    """A cell that ``wcetchar campaign`` made, but for capture and analysis; and what is here."""

    cell: Path
    elf: Path
    services: list[str]
    machine: str
    to: Path
    plan: cells.Plan

    def make(self, **changes: Any) -> None:
        outcome = cells.make(replace(self.plan, **changes), lambda stage: None)
        assert outcome.exit_code == 0, outcome.message

    def taken(self) -> bool:
        trace, published = self.to / "run.trace", self.to / "published.json"
        found = chain_cell.taken(self.cell, self.elf, self.services, self.machine, trace, published)
        assert not found or (trace.read_text(), published.read_text()) == ("a trace", "{}")
        return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    def captured(request: Any) -> Any:
        Path(request.output).write_text("a trace")
        return SimpleNamespace(
            console="", instructions=1, accesses=1, exceptions=1, size=1, emulator="QEMU 1"
        )

    def characterized(plan: cells.Plan, folder: Path) -> None:
        (folder / cells.CHARACTERIZATION).write_text("{}")

    monkeypatch.setattr(cells.capturing, "run", captured)
    monkeypatch.setattr(cells, "_characterize", characterized)
    monkeypatch.setattr(cells.summary, "render", lambda found: "")
    monkeypatch.setattr(cells.summary, "json_of", lambda found: "{}")
    monkeypatch.setattr(cells.capture, "emulator_version", lambda machine: f"QEMU 1 for {machine}")
    elf, services = tmp_path / "freertos.elf", [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for file in (elf, *services):
        file.write_text(file.name)
    where = Location("campaign.yaml")
    plan = cells.Plan(
        name="one",
        values=(),
        folder=str(tmp_path / "cell"),
        firmware=str(elf),
        services=tuple(map(str, services)),
        machine="virt",
        build_lock=str(tmp_path / "lock"),
        tool=cells.tool_identity(),
        where=(where, where),
    )
    to = tmp_path / "to"
    to.mkdir()
    found = Here(tmp_path / "cell", elf, [*plan.services], "virt", to, plan)
    found.make()
    return found


def test_a_cell_that_is_up_to_date_is_taken(here: Here) -> None:
    assert here.taken()


def test_services_files_may_be_named_in_another_order(here: Here) -> None:
    here.services.reverse()
    assert here.taken()


def test_what_was_taken_stays_when_the_cell_is_made_again(here: Here) -> None:
    assert here.taken()
    here.make(exclude=("0x0..0x10",))
    assert (here.to / "run.trace").read_text() == "a trace"
    assert (here.to / "published.json").read_text() == "{}"


def _append(text: str, *names: str) -> Callable[[Here], None]:
    """To a file, so that it is another one."""

    def change(here: Here) -> None:
        path = here.cell.parent.joinpath(*names)
        path.write_text(path.read_text() + text)

    return change


def _record(change: Callable[[dict[str, Any]], object]) -> Callable[[Here], None]:
    def changed(here: Here) -> None:
        path = here.cell / cells.RECORD
        record = json.loads(path.read_text())
        change(record)
        path.write_text(json.dumps(record))

    return changed


CHANGES: dict[str, Callable[[Here], object]] = {
    # what is here
    "firmware": _append("!", "freertos.elf"),
    "services": _append("!", "b.yaml"),
    "fewer services": lambda here: here.services.pop(),
    "more services": lambda here: here.services.append(here.services[0]),
    "machine": lambda here: setattr(here, "machine", "versatilepb"),
    # how the cell was made
    "left out": lambda here: here.make(exclude=("0x0..0x10",)),
    "marks by address": lambda here: here.make(marked=True),
    "initial values": lambda here: here.make(runs=(cells.Run(initialize=("n=1",)),)),
    "values by hand": lambda here: here.make(runs=(cells.Run(assignments=("a.N=1",)),)),
    "two runs": lambda here: here.make(runs=(cells.Run(), cells.Run("run-2.trace"))),
    "a run of another name": lambda here: here.make(runs=(cells.Run("run-2.trace"),)),
    "partial": lambda here: here.make(partial=True),
    "code": lambda here: here.make(tool="another"),
    # what became of it
    "trace changed": _append("!", "cell", cells.TRACE),
    "trace gone": lambda here: (here.cell / cells.TRACE).unlink(),
    "characterization changed": _append("!", "cell", cells.CHARACTERIZATION),
    "characterization gone": lambda here: (here.cell / cells.CHARACTERIZATION).unlink(),
    "not characterized": _record(lambda record: record.pop("characterization")),
    "not captured": _record(lambda record: record["traces"].clear()),
    "of another trace": _record(
        lambda record: record["characterization"]["inputs"]["traces"].update({cells.TRACE: "0"})
    ),
    "of another firmware": _record(
        lambda record: record["characterization"]["inputs"].update(firmware="0")
    ),
    "by other code": _record(lambda record: record["characterization"]["inputs"].update(tool="0")),
    "from what is not known": _record(
        lambda record: record["traces"][cells.TRACE]["inputs"].update(more=1)
    ),
    "another kind of record": _record(lambda record: record.update(schema_version=0)),
    "no record": lambda here: (here.cell / cells.RECORD).unlink(),
    "a record that is none": _append("!", "cell", cells.RECORD),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_cell_that_is_out_of_date_in_one_respect_is_not_taken(here: Here, change: str) -> None:
    CHANGES[change](here)
    assert not here.taken()
    assert not [*here.to.iterdir()]


@pytest.mark.parametrize("name", ["tool_identity", "emulator_version"])
def test_nor_one_that_other_code_or_another_emulator_made(
    here: Here, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(
        cells if name == "tool_identity" else cells.capture, name, lambda *_: "another"
    )
    assert not here.taken()


def test_nothing_is_taken_where_there_is_no_campaign(here: Here) -> None:
    here.cell = here.cell.with_name("nothing")
    assert not here.taken()
