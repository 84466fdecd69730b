"""``wcetchar profile fit`` where prices are no sums of times: machines with a write buffer or a
divided clock, stepped cycle by cycle. What is found is never below what they took."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_engine_waits import Bus, Step, kernel_of, keys_of, load, store, worst

from wcetchar.cli import main
from wcetchar.model.access import AccessClass, EventKind, Operation, Pattern
from wcetchar.model.characterization import SectionInfo
from wcetchar.model.service import SectionKind
from wcetchar.store import characterization_json, load_profile

FETCHED = 3
RUNS: dict[str, list[Step]] = {
    "reads": [load()] * 3,
    "read between work": [load(3), load(5)],
    "write read": [store(), load()],
    "writes": [store(), store(), store(), load()],
    "write hidden": [store(), load(12)],
    "write half hidden": [store(), load(2), store(), load(1)],
    "work": [load(9), store(), load(4), load(2)],
}


def _profile(bus: Bus, *, ranges: bool = True, fetch: int = FETCHED, more: str = "") -> str:
    def of(value: int) -> str:
        return "0..40 cycles" if ranges else f"{value} cycles"

    access = "{first: 1..30 cycles, next: 1 cycle}" if ranges else "7 cycles"
    return f"""schema: wcetchar/hardware-profile/1
name: machine
core:
  name: machine
  clock: 1 GHz
  events:
    alu: {of(1)}
    load: 1 cycle
    store: 1 cycle
    consecutive access: {bus.turnaround} cycles
    pipeline refill: 0 cycles
  overlap: {{read: 1 cycle, write: 1 cycle}}
  data width: 32
  write buffer: {bus.buffered}
regions:
  flash:
    kind: memory
    bus width: 32
    fetch: {fetch} cycles
  ram:
    kind: memory
    bus width: 32
    clock divider: {bus.divider[0]}
    read: {access}
    write: {access}
{more}"""


MAP = """schema: wcetchar/section-map/1
name: machine
sections: {code: flash, s0: ram}
"""


class Files:
    def __init__(self, folder: Path, bus: Bus, runs: dict[str, list[Step]] = RUNS) -> None:
        self.folder, self.bus = folder, bus
        fetch = AccessClass("code", Operation.FETCH, 32, Pattern.NEXT)
        kernels = {n: kernel_of([*keys_of(r, True), fetch], True) for n, r in runs.items()}
        services = tuple(replace(k.services[0], name=n) for n, k in kernels.items())
        (first, *_) = kernels.values()
        sections = (
            SectionInfo("code", SectionKind.CODE, address=0),
            SectionInfo("s0", SectionKind.DATA, address=0x8000),
        )
        whole = replace(first, services=services, sections=sections)
        (folder / "c.json").write_text(characterization_json(whole))
        self.took = {name: worst(bus, run, None) + FETCHED for name, run in runs.items()}
        rows = [f"{name},{cycles}" for name, cycles in self.took.items()]
        (folder / "m.csv").write_text("\n".join(["service,cycles", *rows, ""]))
        (folder / "map.yaml").write_text(MAP)
        self.profile(_profile(bus))

    def profile(self, text: str) -> None:
        (self.folder / "p.yaml").write_text(text)

    def _given(self, profile: str) -> list[str]:
        files = ("--profile", str(self.folder / profile), "--map", str(self.folder / "map.yaml"))
        return [*files, "--json"]

    def fit(self, *options: str) -> Result:
        command = ["profile", "fit", str(self.folder / "m.csv"), "--step", "1", "--hold-out", "0"]
        command += ["--characterization", str(self.folder / "c.json"), *self._given("p.yaml")]
        return CliRunner().invoke(
            main, [*command, "-o", str(self.folder / "fitted.yaml"), *options]
        )

    def validate(self) -> Result:
        command = ["validate", str(self.folder / "c.json"), *self._given("fitted.yaml")]
        return CliRunner().invoke(main, [*command, "--measured", str(self.folder / "m.csv")])


@pytest.mark.parametrize("buffered", [0, 1])
@pytest.mark.parametrize("first", [5])
def test_the_times_of_a_machine_with_a_write_buffer_are_found(
    tmp_path: Path, buffered: int, first: int
) -> None:
    files = Files(tmp_path, Bus((first, first), (1, 1), 1, buffered))
    result = files.fit()
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["after"]["unsafe"] == 0
    assert document["priced_above_the_sums"] == 0
    assert any("is no sum of times" in note for note in document["notes"]) == bool(buffered)
    found = load_profile(str(tmp_path / "fitted.yaml"))
    assert found.core.events[EventKind.ALU].high == 1
    assert found.core.write_buffer == buffered
    for operation in (Operation.READ, Operation.WRITE):
        assert found.regions["ram"].times[operation].first.high == first
    checked = files.validate()
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["overestimation_percent"]["maximum"] == 0


@pytest.mark.parametrize("buffered", [1, 2])
@pytest.mark.parametrize("first", [4])
def test_with_a_divided_clock_nothing_is_below_what_was_measured(
    tmp_path: Path, buffered: int, first: int
) -> None:
    """Edges are charged the longest where they are not known, so the times found may be less than
    the machine's; and none of them could be less."""
    files = Files(tmp_path, Bus((first, first), (2, 2), 1, buffered))
    result = files.fit("--hold-out", "0")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "fitted.yaml").read_text()
    checked = json.loads(files.validate().stdout)
    assert checked["unsafe"] == 0
    assert checked["overestimation_percent"]["median"] == 0
    found = load_profile(str(tmp_path / "fitted.yaml")).regions["ram"].times
    for operation, time in found.items():
        assert time.first.high <= first + 1
        line = f"    {operation.value}: {{first: {time.first.high} cycle"
        (whole,) = (one for one in text.splitlines() if one.startswith(line))
        lower = whole.replace(f"first: {time.first.high}", f"first: {time.first.high - 1}")
        if time.first.high > 1:
            (tmp_path / "fitted.yaml").write_text(text.replace(whole, lower))
            assert files.validate().exit_code == 1, operation
            (tmp_path / "fitted.yaml").write_text(text)


def test_a_write_that_no_row_waits_for_stays_as_high_as_that(tmp_path: Path) -> None:
    bus = Bus((3, 3), (1, 1), 1, 1)
    runs = {"read": [load()], "work": [load(1), load(5), load(9)], "hidden": [store(), load(12)]}
    files = Files(tmp_path, bus, runs)
    assert files.fit("--hold-out", "0").exit_code == 0
    found = load_profile(str(tmp_path / "fitted.yaml")).regions["ram"].times
    checked = json.loads(files.validate().stdout)
    assert checked["unsafe"] == 0
    assert found[Operation.WRITE].first.high >= 3


def test_what_would_jump_or_comes_beside_is_refused(tmp_path: Path) -> None:
    files = Files(tmp_path, Bus((3, 3), (2, 2), 1, 1))
    (tmp_path / "p.yaml").write_text(
        _profile(files.bus, fetch=1).replace("overlap: {", "overlap: {fetch: 1 cycle, ")
    )
    result = files.fit()
    assert result.exit_code == 3
    assert "fetches that may never wait" in result.stderr
    files.profile(_profile(files.bus, more="    refresh: {every: 90 cycles, takes: 5 cycles}\n"))
    result = files.fit()
    assert result.exit_code == 3
    assert "what refresh takes is looked for, or it comes now and then" in result.stderr
    assert not (tmp_path / "fitted.yaml").exists()
