"""Each slip in a sound profile is found where it stands, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from wcetchar.cli import main
from wcetchar.engine.plausibility import implausible
from wcetchar.store import load_profile, profile_names

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


CACHED = """\
schema: wcetchar/hardware-profile/1
name: cached
core:
  name: core
  clock: 50 MHz
  events:
    alu: 1 cycle
    load: 1 cycle
    store: 1 cycle
    branch untaken: 1 cycle
    branch taken: 1 cycle
    call: 1 cycle
    return: 3 cycles
    pipeline refill: 1 cycle
    exception entry: 3..99 cycles
    load-use stall: 2 cycles
    second load-use stall: 1 cycle
    consecutive access: 1 cycle
  overlap: {fetch: 1 cycle, read: 1 cycle, write: 1 cycle}
  write buffer: 1
  instruction cache:
    {line: 32, size: 4 KiB, ways: 2, replacement: lru, in vain saves: 1 cycle,
    fetches ahead: {behind: 22, speculative: 12}}
  data cache: {line: 32, size: 8 KiB, ways: 1, load behind store: 7 cycles}
regions:
  flash: {kind: memory, bus width: 32, fetch: 1 cycle, read: 2 cycles, line refill: 22 cycles,
    load miss penalty: 23 cycles}
  ram: {kind: memory, bus width: 16, clock divider: 2, read: 2 cycles, write: 3 cycles,
    load miss penalty: 20 cycles, refresh: {every: 512 cycles, takes: 6 cycles},
    arbitration: {every: 118 cycles, takes: 18 cycles}}
  timer: {kind: peripheral, bus width: 32, read: 4 cycles, write: 4 cycles}
"""
"""A cycle is 20 ns, one of the ram's 40. A line is 8 beats of flash, 160 ns; 16 of ram, 640."""


def _check(folder: Path, text: str, *options: str) -> dict:  # type: ignore[type-arg]
    path = folder / "p.yaml"
    path.write_text(text)
    result = CliRunner().invoke(main, ["profile", "check", str(path), "--json", *options])
    assert result.exit_code in (0, 1), result.output
    return {"exit": result.exit_code, **json.loads(result.stdout)}


def _is_found(
    folder: Path, sound: str, old: str, new: str, place: str, effect: str, text: str
) -> None:
    """One finding with this text, at this place, and a strict check fails."""
    assert sound.count(old) == 1
    found = _check(folder, sound.replace(old, new), "--strict")
    assert found["exit"] == 1
    mine = [f for f in found["findings"] if text in f["text"]]
    assert len(mine) == 1, found["findings"]
    changed = sound.replace(old, new)
    at = changed.index(place)
    line, column = changed.count("\n", 0, at) + 1, at - changed.rfind("\n", 0, at)
    assert mine[0]["place"].split("p.yaml:")[1] == f"{line}:{column}"
    assert mine[0]["if_wrong"] == effect
    assert mine[0]["hint"]


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


def test_times_in_ns_that_are_whole_cycles_are_none(tmp_path: Path) -> None:
    """20 ns are one. A hundredth more is how people write a cycle of 13.889 ns."""
    for time in ("60 ns", "20.1 ns", "80.2 ns"):
        assert _check(tmp_path, SOUND.replace("read: 4 cycles", f"read: {time}"))["findings"] == []
    own = SOUND.replace("width: 32, fetch", "width: 32, clock: 48 MHz, fetch")
    assert _check(tmp_path, own.replace("read: 4 cycles", "read: 70 ns"))["findings"] == []


def test_a_sound_one_with_caches_and_waits_has_none(tmp_path: Path) -> None:
    found = _check(tmp_path, CACHED, "--strict")
    assert found["findings"] == []
    assert found["exit"] == 0


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
        # A cycle is 20 ns: 200 of them are 4 us, half of one is 10 ns.
        ("alu: 1 cycle", "alu: 20 us", "20 us", "dear", "20 us beside its accesses, 1,000 cycles"),
        ("alu: 1 cycle", "alu: 9 ns", "9 ns", "too low", "9 ns are less than half a cycle of the"),
        ("2..38 cycles", "2..38 us", "2..38 us", "dear", "38 us beside its accesses, 1,900 cycles"),
        (
            "refill: 1..3 cycles",
            "refill: 3 ms",
            "3 ms",
            "dear",
            "3 ms beside its accesses, 150,000",
        ),
        ("refill: 1}", "refill: 17}", "17}", "dear", "17 fetches are thrown away"),
        ("{fetch: 1 cycle}", "{fetch: 1 ns}", "1 ns}", "dear", "hides 1 ns of each fetch, less"),
        ("read: 4 cycles}", "read: 4 ms}", "4 ms}", "dear", "takes 4 ms, 200,000 cycles of its"),
        ("read: 4 cycles}", "read: 4 us}", "4 us}", "dear", "takes 4 us, 200 cycles of its bus"),
        ("read: 4 cycles}", "read: 400 cycles}", "400 cycles}", "dear", "takes 8 us, 400 cycles"),
        ("next: 1 cycle}", "next: 3 us}", "3 us}", "dear", "takes 3 us, 150 cycles of its bus"),
        ("read: 4 cycles}", "read: 7 ns}", "7 ns}", "too low", "flash that answers in 7 ns"),
        ("read: 4 cycles}", "read: 70 ns}", "70 ns}", "too low", "70 ns are no whole number of"),
        (
            "    alu: 1 cycle\n",
            "    alu: 1 cycle\n    divide-use stall: 3 cycles\n",
            "3 cycles\n",
            "too low",
            "divide-use stall takes longer than a cycle",
        ),
        (
            "    alu: 1 cycle\n",
            "    alu: 1 cycle\n    load-use stall: 3 cycles\n",
            "3 cycles\n",
            "too low",
            "load-use stall takes longer than a cycle",
        ),
        ("read: 3 cycles, ", "read: 3 ms, ", "3 ms", "dear", "takes 3 ms, 150,000 cycles of its"),
        (
            "clock: 50 MHz",
            "clock: 50 kHz",
            "50 kHz",
            "dear",
            "a clock of 0.05 MHz, with which `fetch` of flash takes 80 us",
        ),
        ("clock: 25 MHz", "clock: 25 kHz", "25 kHz", "dear", "a bus of 0.025 MHz to a memory"),
        (
            "divide: 2..38 cycles",
            "unaligned access: 801 cycles",
            "801 cycles",
            "dear",
            "16.02 us beside its accesses, 801 cycles of the core",
        ),
        ("  overlap:", "  data width: 8\n  overlap:", "8\n", "dear", "moves 8 bits at most"),
    ],
)
def test_each_slip_is_found(
    tmp_path: Path, old: str, new: str, place: str, effect: str, text: str
) -> None:
    _is_found(tmp_path, SOUND, old, new, place, effect, text)


@pytest.mark.parametrize(
    ("old", "new", "place", "effect", "text"),
    [
        ("refill: 22 cycles", "refill: 0 cycles", "0 cycles,", "too low", "a line is loaded in no"),
        (
            "refill: 22 cycles",
            "refill: 7 cycles",
            "7 cycles,",
            "too low",
            "140 ns are less than a line's 8 beats over 32 bits take (160 ns)",
        ),
        (
            "refill: 22 cycles",
            "refill: 22 us",
            "22 us",
            "dear",
            "22000 ns are more than 100 cycles",
        ),
        ("refill: 22 cycles", "refill: 2..22 cycles", "2..22", "dear", "a range from 2 to 22"),
        (
            "penalty: 23 cycles",
            "penalty: 1 cycle",
            "1 cycle}\n  ram",
            "too low",
            "20 ns are less than one read of the region (40 ns)",
        ),
        ("penalty: 23 cycles", "penalty: 0 ns", "0 ns}", "too low", "a line is loaded in no time"),
        (
            "penalty: 20 cycles",
            "penalty: 15 cycles",
            "15 cycles",
            "too low",
            "600 ns are less than a line's 16 beats over 16 bits take (640 ns)",
        ),
        ("store: 7 cycles", "store: 0 cycles", "0 cycles}\nreg", "too low", "again in no time"),
        ("store: 7 cycles", "store: 7 ns", "7 ns", "too low", "less than half a cycle of the core"),
        ("store: 7 cycles", "store: 7 us", "7 us", "dear", "takes 350 cycles longer"),
        (
            "saves: 1 cycle",
            "saves: 22 cycles",
            "22 cycles,\n",
            "too low",
            "loaded in vain costs 440",
        ),
        ("size: 4 KiB", "size: 4 MiB", "4 MiB", "too low", "a cache of 4096 KiB"),
        ("size: 8 KiB", "size: 64 B", "64 B", "dear", "a cache of 64 bytes"),
        ("behind: 22", "behind: 176", "176", "dear", "fetches 176 bytes ahead"),
        ("speculative: 12", "speculative: 96", "96}", "dear", "fetches 96 bytes ahead"),
        ("ways: 2", "ways: 16", "16, repl", "too low", "sets of 16 lines of which the one used"),
        ("fetch: 1 cycle, read: 2", "fetch: 5 cycles, read: 2", "5 cycles", "dear", "hits takes 5"),
        (
            "divider: 2, read: 2",
            "divider: 2, read: 9",
            "9 cycles, write",
            "dear",
            "a read that hits takes 9 cycles of the core",
        ),
        (
            "read: 4 cycles",
            "read: 1 cycle, load miss penalty: 22 cycles",
            "22 cycles, write",
            "too low",
            "a cache holds what is read from a peripheral",
        ),
        ("buffer: 1", "buffer: 32", "32\n", "dear", "32 writes may be under way"),
        ("divider: 2", "divider: 50", "50, read", "dear", "50 cycles of the core in one"),
        ("every: 512 cycles", "every: 64 ms", "64 ms", "too low", "64000 us from one refresh"),
        ("takes: 6 cycles", "takes: 0 cycles", "0 cycles}", "too low", "refresh takes no time"),
        ("takes: 6 cycles", "takes: 6 ns", "6 ns", "too low", "refresh takes 6 ns, less than half"),
        ("every: 512 cycles", "every: 20 cycles", "20 cycles, t", "dear", "refreshes itself 30 %"),
        ("every: 118 cycles", "every: 24 cycles", "24 cycles", "dear", "76.2 % of the time others"),
        ("every: 118 cycles", "every: 118..9999 cycles", "118..", "dear", "from 118 to 9999"),
        ("{every: 118 cycles, takes: 18 cycles}", "{takes: 18 us}", "18 us", "dear", "for 18 us"),
        (
            "penalty: 23 cycles",
            "penalty: 23 cycles, arbitration: {every: 20 cycles, takes: 17 cycles}",
            "20 cycles, takes: 17",
            "dear",
            "comes to all of the time",
        ),
        (
            "clock: 50 MHz",
            "clock: 50 kHz",
            "50 kHz",
            "dear",
            "a clock of 0.05 MHz, with which `line refill` of flash takes 440 us",
        ),
        ("takes: 6 cycles", "takes: 6 us", "6 us", "dear", "a refresh takes 6 us"),
        ("{every: 512 cycles, takes: 6 cycles}", "{takes: 6 us}", "6 us", "dear", "for 6 us"),
        (
            "fetch: 1 cycle, read: 2",
            "fetch: {first: 1 cycle, next: 5 cycles}, read: 2",
            "5 cycles}",
            "dear",
            "a fetch that hits takes 5 cycles of the core",
        ),
        (
            "refill: 1 cycle",
            "refill: 0 cycles",
            "0 cycles",
            "too low",
            "0 ns are less than what is hidden of each fetch (20 ns)",
        ),
        (
            "3..99 cycles",
            "0 cycles",
            "0 cycles",
            "too low",
            "entry takes less than pipeline refill",
        ),
        ("    consecutive access: 1 cycle\n", "", "1 cycle, write", "too low", "of each read"),
        ("    consecutive access: 1 cycle\n", "", "1 cycle}\n  w", "too low", "of each write"),
        ("    load-use stall: 2 cycles\n", "", "1 cycle, write", "too low", "part of each read"),
    ],
)
def test_each_slip_of_caches_and_waits_is_found(
    tmp_path: Path, old: str, new: str, place: str, effect: str, text: str
) -> None:
    _is_found(tmp_path, CACHED, old, new, place, effect, text)


KNOWN = SOUND.replace("name: core", "name: Cortex-M3 r2p1").replace(
    "1..3 cycles\n  overlap", "1..3 cycles\n    exception entry: 3..23 cycles\n  overlap"
)


@pytest.mark.parametrize(
    ("old", "new", "place", "text"),
    [
        # Without `discarded fetches` the rule for any core would say it as well.
        ("refill: 1..3 cycles", "refill: 0 cycles", "0 cycles", "less than 20 ns, which a Cortex"),
        ("3..23 cycles", "0 cycles", "0 cycles", "less than 60 ns, which a Cortex-M3 takes"),
        ("3..23 cycles", "0..2 cycles", "0..2 cycles", "40 ns beside its accesses, less than 60"),
    ],
)
@pytest.mark.parametrize("discards", [True, False])
def test_what_the_manual_of_a_core_says_is_known(
    tmp_path: Path, old: str, new: str, place: str, text: str, discards: bool
) -> None:
    """Cortex-M3 TRM: P is 1 to 3 (3.3.1), 12 cycles are 9 accesses and 3 (3.9.1)."""
    sound = KNOWN if discards else KNOWN.replace("  discarded fetches: {pipeline refill: 1}\n", "")
    _is_found(tmp_path, sound, old, new, place, "too low", text)
    found = _check(tmp_path, sound.replace(old, new))["findings"]
    assert len(found) == 1
    assert _check(tmp_path, sound)["findings"] == []


@pytest.mark.parametrize(
    ("name", "refill", "discards", "findings"),
    [
        ("ARM7TDMI", "0 cycles", 2, 0),
        ("ARM7TDMI-S", "1 cycle", 1, 0),
        ("ARM7TDMI", "0 cycles", 1, 1),
        ("arm7tdmi", "0 cycles", 0, 1),
        ("Cortex-M4F", "0 cycles", 2, 1),
        ("Cortex-M33", "0 cycles", 2, 0),
        ("a core without a pipeline", "0 cycles", 0, 0),
    ],
)
def test_a_refill_is_time_or_fetches(
    tmp_path: Path, name: str, refill: str, discards: int, findings: int
) -> None:
    """ARM7TDMI TRM 6.2: 2S + 1N. A core that hides nothing of its fetches may refill nothing."""
    text = SOUND.replace("name: core", f"name: {name}").replace("  overlap: {fetch: 1 cycle}\n", "")
    text = text.replace("refill: 1..3 cycles", f"refill: {refill}")
    text = text.replace("{pipeline refill: 1}", f"{{pipeline refill: {discards}}}")
    assert len(_check(tmp_path, text)["findings"]) == findings


@pytest.mark.parametrize(
    "changes",
    [
        # Serial flash over one wire, in cycles of its bus; and one that is slow, with its clock.
        {"{first: 4 cycles, next: 1 cycle}": "100 cycles"},
        {"bus width: 32, fetch: {first: 4 cycles, next: 1 cycle}, read: 4 cycles}": (
            "bus width: 32, clock: 10 MHz, fetch: 72 cycles, read: 72 cycles}"
        )},
        {"read: 40 ns": "read: 1 us"},
        {"read: 3 cycles, write: 3 cycles": "read: 4 us, write: 4 us"},  # a UART
        {"bus width: 32, read: 3": "bus width: 32, clock: 32.768 kHz, read: 6"},  # a clock's
        # Modes of low power, without wait states.
        {
            "50 MHz": "32.768 kHz",
            "{first: 4 cycles, next: 1 cycle}, read: 4 cycles": "1 cycle, read: 2 cycles",
            "clock: 25 MHz, read: 40 ns, write: 40 ns": "read: 1 cycle, write: 1 cycle",
        },
        {
            "50 MHz": "131 kHz",
            "{first: 4 cycles, next: 1 cycle}, read: 4 cycles": "1 cycle, read: 2 cycles",
            "clock: 25 MHz, read: 40 ns, write: 40 ns": "read: 1 cycle, write: 1 cycle",
        },
        # What is no slip of a unit: a slow multiplier, waking up, software for what is unaligned.
        {"divide: 2..38 cycles": "divide: 72 cycles\n    wait: 100 us"},
        {"divide: 2..38 cycles": "divide: 72 cycles\n    unaligned access: 400 cycles"},
        # An exception from slow memory waits for what went before; a barrier for writes.
        {
            "read: 40 ns": "read: 1 us",
            "divide: 2..38 cycles": "divide: 72 cycles\n    exception entry: 600 cycles\n"
            "    barrier: 16 us",
        },
        # A refill is a fetch that is thrown away, or is in the prices of what transfers control.
        {"refill: 1..3 cycles": "refill: 0 cycles"},
        {
            "refill: 1..3 cycles": "refill: 0 cycles",
            "branch taken: 1": "branch taken: 2",
            "call: 1": "call: 2",
            "return: 1..3": "return: 2..3",
        },
    ],
)  # fmt: skip
def test_what_is_slow_is_left_in_peace(tmp_path: Path, changes: dict[str, str]) -> None:
    text = SOUND
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    assert _check(tmp_path, text)["findings"] == []


def test_a_refresh_of_all_rows_may_take_long(tmp_path: Path) -> None:
    """8192 rows of 60 ns at one go."""
    text = CACHED.replace("every: 512 cycles, takes: 6 cycles", "every: 64 ms, takes: 500 us")
    assert _check(tmp_path, text)["findings"] == []


@pytest.mark.parametrize("time", ["4 ms", "4..400 cycles"])
def test_one_slip_is_one_finding(tmp_path: Path, time: str) -> None:
    """It is the time of the first access and of the next; a range that is wide may be long."""
    path = tmp_path / "p.yaml"
    path.write_text(SOUND.replace("read: 4 cycles", f"read: {time}"))
    assert len(implausible(load_profile(str(path)))) == 1


def test_what_other_events_take_is_said_once(tmp_path: Path) -> None:
    """Where it stands, and not of each event that has it."""
    text = SOUND.replace("  events:\n", "  other events: 1 ns\n  events:\n")
    found = _check(tmp_path, text)["findings"]
    (mine,) = (one for one in found if "1 ns are less than half a cycle" in one["text"])
    line = text[: text.index("1 ns")].count("\n") + 1
    assert mine["place"].endswith(f"p.yaml:{line}:17")


@pytest.mark.parametrize(
    ("options", "todo"),
    [
        (("--clock", "72 MHz"), "1 cycle"),
        (("--clock", "168 MHz", "--core", "cortex-m4/flash-3ws"), "6 cycles"),
        (("--clock", "32.768 kHz", "--core", "cortex-m3/flash-3ws"), "1 cycle"),
        (("--clock", "50 MHz", "--core", "rv32/two-stage"), "1 us"),
    ],
)
def test_a_skeleton_that_is_filled_in_is_plausible(
    tmp_path: Path, options: tuple[str, ...], todo: str
) -> None:
    result = CliRunner().invoke(main, ["profile", "init", "board", *options])
    found = _check(tmp_path, result.stdout.replace("TODO", todo), "--strict")
    assert found["findings"] == []


@pytest.mark.parametrize(
    ("old", "new", "place", "text"),
    [
        ("every: 118 cycles", "every: 17 cycles", "17 cycles", "the region `ram` is never free"),
        ("every: 512 cycles", "every: 6 cycles", "6 cycles, t", "the region `ram` is never free"),
        ("size: 4 KiB", "size: 3 KiB", "3 KiB", "3072 bytes are no whole number of sets"),
        ("size: 8 KiB", "size: 8 B", "8 B", "8 bytes are no whole number of sets"),
    ],
)
def test_what_contradicts_itself_is_a_mistake(
    tmp_path: Path, old: str, new: str, place: str, text: str
) -> None:
    assert CACHED.count(old) == 1
    changed = CACHED.replace(old, new)
    path = tmp_path / "p.yaml"
    path.write_text(changed)
    result = CliRunner().invoke(main, ["profile", "check", str(path)])
    assert result.exit_code == 3
    at = changed.index(place)
    line, column = changed.count("\n", 0, at) + 1, at - changed.rfind("\n", 0, at)
    assert f"p.yaml:{line}:{column}: {text}" in result.stderr


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


@pytest.mark.parametrize("name", profile_names())
def test_shipped_profiles_are_plausible(name: str) -> None:
    result = CliRunner().invoke(main, ["profile", "check", name, "--strict"])
    assert "nothing implausible was found" in result.output
    assert result.exit_code == 0
