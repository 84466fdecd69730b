"""Which times and clocks of a profile's file can be changed, and what each says."""

from __future__ import annotations

from pathlib import Path

import pytest

from wcetchar.engine.profile_inputs import inputs_of
from wcetchar.engine.recorded_prices import place_of
from wcetchar.store.profile_numbers import ProfileNumbers

BOARD = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  name: core
  clock: 100 MHz +- 1 %
  events: {alu: 1 cycle}
  other events: 2 cycles
  discarded fetches: {branch taken: 2}
regions:
  sram:
    kind: memory
    bus width: 32
    base: 0x20000000
    size: 4 KiB
    fetch: 10 ns
    read: {first: 20 ns, next: 10 ns}
    refresh: {takes: 3 cycles, every: 100 cycles}
    note: 5 ns
"""


def test_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "board.yaml").write_text(BOARD)
    held = {one.way: one for one in ProfileNumbers(str(tmp_path / "board.yaml")).held()}
    fetch = tuple(("regions", "sram", "fetch", end) for end in ("first", "next"))
    assert held["regions.sram.fetch"].places == fetch
    assert held["regions.sram.fetch.next"].places == fetch[1:]
    assert held["regions.sram.fetch.next"].text == "10 ns"
    assert "regions.sram.read" not in held
    assert held["regions.sram.read.first"].text == "20 ns"
    assert held["core.clock"].text == "100 MHz +- 1 %"
    others = held["core.other events"].places
    assert ("core", "events", "branch taken") in others
    assert ("core", "events", "alu") not in others
    assert not any("note" in way for way in held)


@pytest.mark.parametrize(
    "name",
    [
        "cortex-m3/flash-3ws",
        "muller2007/expected",
        "vexriscv/imac-board-d-cached-shared",
        "vexriscv/imc-board-c-cached-refresh",
    ],
)
def test_every_time_of_a_shipped_profile_can_be_changed(name: str) -> None:
    numbers = ProfileNumbers(name)
    known = {place for one in numbers.held() for place in one.places}
    for one in inputs_of(numbers.with_values({})):
        assert place_of(one) in known, one.name
