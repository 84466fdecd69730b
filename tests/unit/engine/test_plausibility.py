"""Each slip in a sound profile is found where it stands, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from wcetchar.cli import main

SOUND = """\
schema: wcetchar/hardware-profile/1
name: sound
core:
  name: core
  clock: 50 MHz
  events:
    alu: 1 cycle
    multiply: 1 cycle
    divide: 2..38 cycles
    load: 1..2 cycles
    store: 1 cycle
    branch untaken: 1 cycle
    branch taken: 1 cycle
    call: 1 cycle
    return: 1..3 cycles
    pipeline refill: 1..3 cycles
  overlap: {fetch: 1 cycle}
  discarded fetches: {pipeline refill: 1}
regions:
  flash: {kind: memory, bus width: 32, fetch: {first: 4 cycles, next: 1 cycle}, read: 4 cycles}
  sram: {kind: memory, bus width: 16, clock: 25 MHz, read: 40 ns, write: 40 ns}
  timer: {kind: peripheral, bus width: 32, read: 3 cycles, write: 3 cycles}
default map: {.text: flash}
"""


def _check(folder: Path, text: str, *options: str) -> dict:  # type: ignore[type-arg]
    path = folder / "p.yaml"
    path.write_text(text)
    result = CliRunner().invoke(main, ["profile", "check", str(path), "--json", *options])
    assert result.exit_code in (0, 1), result.output
    return {"exit": result.exit_code, **json.loads(result.stdout)}


def test_a_sound_profile_has_no_finding(tmp_path: Path) -> None:
    assert _check(tmp_path, SOUND, "--strict") | {"accesses": 0} == {
        "exit": 0,
        "schema_version": 1,
        "kind": "wcetchar profile",
        "profile": "sound",
        "core": "core",
        "cycle_ns": 20,
        "accesses": 0,
        "findings": [],
    }


@pytest.mark.parametrize(
    ("old", "new", "place", "effect", "text"),
    [
        ("clock: 50 MHz", "clock: 50 Hz", "50 Hz", "dear", "a clock of 5e-05 MHz"),
        ("clock: 50 MHz", "clock: 6 GHz", "6 GHz", "too low", "a clock of 6000 MHz"),
        (
            "clock: 25 MHz",
            "clock: 250 MHz",
            "250 MHz",
            "too low",
            "the bus is faster than the core",
        ),
        ("    load: 1..2 cycles\n", "", "alu:", "dear", "no time for load"),
        ("alu: 1 cycle", "alu: 0 cycles", "0 cycles", "too low", "the instruction takes no time"),
        ("multiply: 1 cycle", "multiply: 0.5 cycles", "0.5 cycles", "too low", "less than alu"),
        (
            "branch taken: 1",
            "branch taken: 0.5",
            "0.5 cycle",
            "too low",
            "less than branch untaken",
        ),
        ("load: 1..2 cycles", "load: 1..20 cycles", "1..20 cycles", "dear", "a range from 1 to 20"),
        (
            "{fetch: 1 cycle}",
            "{fetch: 3 cycles}",
            "3 cycles}\n  disc",
            "too low",
            "hides 60 ns of each fetch",
        ),
        (
            "{fetch: 1 cycle}",
            "{fetch: 1 cycle, read: 1 cycle}",
            "1 cycle}\n  disc",
            "too low",
            "each read",
        ),
        ("next: 1 cycle", "next: 9 cycles", "9 cycles", "dear", "takes longer than the first"),
        ("read: 40 ns", "read: 4 ns", "4 ns", "too low", "4 ns is less than half a cycle (40 ns)"),
        ("write: 40 ns", "write: 0 ns", "0 ns}\n", "too low", "an access takes no time"),
        (
            "read: 3 cycles, ",
            "fetch: 3 cycles, ",
            "3 cycles, write",
            "dear",
            "fetched from a peripheral",
        ),
        (
            ", read: 4 cycles}",
            "}",
            "{kind: memory, bus width: 32",
            "dear",
            "a memory that cannot be read",
        ),
        ("{.text: flash}", "{.text: sram}", "sram}", "dear", "from which nothing can be fetched"),
    ],
)
def test_each_slip_is_found(
    tmp_path: Path, old: str, new: str, place: str, effect: str, text: str
) -> None:
    assert SOUND.count(old) == 1
    found = _check(tmp_path, SOUND.replace(old, new), "--strict")
    assert found["exit"] == 1
    mine = [f for f in found["findings"] if text in f["text"]]
    assert len(mine) == 1, found["findings"]
    changed = SOUND.replace(old, new)
    at = changed.index(place)
    line, column = changed.count("\n", 0, at) + 1, at - changed.rfind("\n", 0, at)
    assert mine[0]["place"].split("p.yaml:")[1] == f"{line}:{column}"
    assert mine[0]["if_wrong"] == effect
    assert mine[0]["hint"]


def test_words_and_prices_of_a_word(tmp_path: Path) -> None:
    """A 32-bit word over 16 bits is two accesses: 80 ns, four cycles of 20 ns."""
    rows = {(a["region"], a["operation"]): a for a in _check(tmp_path, SOUND)["accesses"]}
    assert rows["sram", "read"]["word_ns"] == 80
    assert rows["flash", "fetch"] | {"region": ""} == {
        "region": "",
        "operation": "fetch",
        "word_ns": 80,
        "next_word_ns": 20,
    }
    path = tmp_path / "p.yaml"
    text = CliRunner().invoke(main, ["profile", "check", str(path)]).stdout
    assert "sound: core at 50 MHz, a cycle is 20 ns" in text
    assert "1 cycle of each fetch is hidden" in text
    assert "each pipeline refill may wait for one fetch" in text
    assert "nothing implausible was found" in text


@pytest.mark.parametrize("name", ["cortex-m3/flash-3ws", "cortex-m4/zero-wait-sram"])
def test_shipped_profiles_are_plausible(name: str) -> None:
    result = CliRunner().invoke(main, ["profile", "check", name, "--strict"])
    assert "range from 1 to 15" in result.output or result.exit_code == 0
