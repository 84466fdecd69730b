"""Hardware profiles: what is read, and that all mistakes of a file come at once, in place."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.access import STALLS, EventKind, Operation
from wcetchar.model.hardware import (
    AccessTime,
    Core,
    HardwareProfile,
    Interference,
    Quantity,
    Region,
    RegionKind,
    Unit,
)
from wcetchar.store import load_profile, locate

GOOD = """\
schema: wcetchar/hardware-profile/1
name: board
description: a board
core:
  name: Cortex-M3
  clock: 72 MHz +- 1 %
  events: {alu: 1 cycle, pipeline refill: 1..3 cycles, load: 5 ns}
  overlap: {fetch: 1 cycle}
  discarded fetches: {branch taken: 2}
regions:
  flash:
    kind: memory
    bus width: 16
    clock: 24 MHz
    base: 0x08000000
    size: 256 KiB
    fetch: {first: 4 cycles, next: 2 cycles}
    read: 40 ns
  scs: {kind: peripheral, bus width: 32, access: 10 ns, note: system control space}
default map: {.text: flash}
"""


@pytest.fixture
def write(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("profile")

    def write(text: str) -> str:
        path = folder / "p.yaml"
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize(
    "beside",
    [
        "refresh: {every: 84 ns, takes: 2 cycles}",  # 83.3 ns of the region's clock
        "arbitration: {every: 2 cycles, takes: 83 ns}",
        "arbitration: {takes: 5 ms}",
    ],
)
def test_a_memory_that_has_a_turn_left(write, beside: str) -> None:
    path = write(GOOD.replace("    read: 40 ns\n", f"    read: 40 ns\n    {beside}\n"))
    assert load_profile(path).regions["flash"].interferences


def test_times_have_errors_of_two_kinds(write) -> None:
    noisy = "40 ns +- 3 ns systematic +- 2 ns stochastic"
    path = write(GOOD.replace("    read: 40 ns\n", f"    read: {noisy}\n"))
    first = load_profile(path).regions["flash"].times[Operation.READ].first
    assert (first.low, first.nominal, first.high, first.stochastic) == (35, 40, 45, 2)


@pytest.mark.parametrize(
    "beside",
    [
        "refresh: {every: 9 us, takes: 20 ns +- 1 ns stochastic}",
        "arbitration: {every: 9 us +- 1 us stochastic, takes: 20 ns}",
    ],
)
def test_an_interference_has_no_stochastic_error(write, beside: str) -> None:
    path = write(GOOD.replace("    read: 40 ns\n", f"    read: 40 ns\n    {beside}\n"))
    ((_, message),) = mistakes(path)
    assert message == "an interference has no stochastic error"


def mistakes(path: str) -> list[tuple[str, str]]:
    """(place without the file's name, message) of every mistake of a profile."""
    with pytest.raises(InputError) as caught:
        load_profile(path)
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else [caught.value]
    return [(str(e.where).removeprefix(path + ":"), e.message) for e in errors]


def test_what_makes_accesses_wait_is_read(write) -> None:
    text = GOOD.replace("    clock: 24 MHz\n", "    clock divider: 3\n")
    text = text.replace(
        "    read: 40 ns\n",
        "    read: 40 ns\n    refresh: {every: 512 cycles, takes: 6 cycles}\n"
        "    arbitration: {takes: 90 ns}\n",
    )
    text = text.replace(
        "  overlap:",
        "  data width: 32\n  least width: {read: 32}\n  write buffer: 1\n  overlap:",
    )
    profile = load_profile(write(text))
    flash = profile.regions["flash"]
    assert flash.clock_divider == 3
    assert flash.refresh == Interference(
        Quantity.exactly(6, Unit.CYCLES), Quantity.exactly(512, Unit.CYCLES)
    )
    assert flash.arbitration == Interference(Quantity.exactly(90, Unit.NANOSECONDS))
    assert flash.interferences == (flash.refresh, flash.arbitration)
    core = profile.core
    assert (core.data_width, core.least_width, core.write_buffer) == (32, {Operation.READ: 32}, 1)
    plain = load_profile(write(GOOD))
    assert (plain.core.data_width, plain.core.least_width, plain.core.write_buffer) == (64, {}, 0)
    assert (plain.regions["flash"].clock_divider, plain.regions["flash"].interferences) == (1, ())


def test_everything_is_read(write) -> None:
    def exactly(value: int, unit: Unit) -> Quantity:
        return Quantity.exactly(value, unit)

    cycles, ns = Unit.CYCLES, Unit.NANOSECONDS
    assert load_profile(write(GOOD)) == HardwareProfile(
        name="board",
        description="a board",
        core=Core(
            name="Cortex-M3",
            clock=Quantity(
                Fraction(71_280_000), Fraction(72_000_000), Fraction(72_720_000), Unit.HERTZ
            ),
            events={
                EventKind.ALU: exactly(1, cycles),
                EventKind.PIPELINE_REFILL: Quantity(Fraction(1), Fraction(2), Fraction(3), cycles),
                EventKind.LOAD: exactly(5, ns),
            },
            overlap={Operation.FETCH: exactly(1, cycles)},
            discarded_fetches={EventKind.BRANCH_TAKEN: 2},
        ),
        regions={
            "flash": Region(
                name="flash",
                kind=RegionKind.MEMORY,
                bus_width=16,
                times={
                    Operation.FETCH: AccessTime(exactly(4, cycles), exactly(2, cycles)),
                    Operation.READ: AccessTime(exactly(40, ns), exactly(40, ns)),
                },
                clock=exactly(24_000_000, Unit.HERTZ),
                base=0x08000000,
                size=262_144,
            ),
            "scs": Region(
                name="scs",
                kind=RegionKind.PERIPHERAL,
                bus_width=32,
                times={Operation.ACCESS: AccessTime(exactly(10, ns), exactly(10, ns))},
                note="system control space",
            ),
        },
        default_map={".text": "flash"},
    )


def test_other_events_fill_the_rest(write) -> None:
    profile = load_profile(
        write(GOOD.replace("  overlap:", "  other events: 0 cycles\n  overlap:"))
    )
    priced_elsewhere = {k for k in EventKind if k.is_line_entry or k.is_of_data_cache}
    as_any = {EventKind.SUPERVISOR_CALL_ENTRY}  # has the price of `exception entry`
    assert set(profile.core.events) == set(EventKind) - priced_elsewhere - STALLS - as_any
    assert profile.core.events[EventKind.ALU].high == 1
    assert profile.core.events[EventKind.DIVIDE].high == 0
    others = GOOD.replace("  overlap:", "  other events: 0 cycles\n  overlap:")
    profile = load_profile(write(others.replace("{alu:", "{shift-use stall: 2 cycles, alu:")))
    assert profile.core.events[EventKind.SHIFT_USE_STALL].high == 2


def test_all_mistakes_come_at_once(write) -> None:
    text = """\
schema: wcetchar/hardware-profile/1
nmae: board
core:
  name: Cortex-M3
  clock: 0 MHz
  events: {alu: -1 cycle, alus: 1 cycle, load: 3..1 cycles, store: 4}
  overlap: {fetches: 1 cycle}
  discarded fetches: {branch taken: -1, call: 1.5}
  clock: 1 MHz
regions:
  a: {kind: memory, bus width: 24, base: 0x0, size: 64 KiB, fetch: 14 nanoseconds}
  b: {kind: memroy, bus width: 32, base: 0x8000, size: 64 KiB, read: 010}
  c: {kind: memory, bus width: 32, write: {first: 1 ns}, base: 0x900000}
  d: {kind: memory, bus width: 32}
  e: text
default map: {.text: flsh, .data: a}
"""
    assert mistakes(write(text)) == [
        ("1:1", "the key `name` is missing"),
        ("2:1", "the key `nmae` is not known here"),
        ("5:10", "the clock `0 MHz` can be zero"),
        ("6:17", "`-1 cycle` is negative"),
        ("6:27", "`alus` is not known here"),
        ("6:48", "the lower end of `3..1 cycles` is above its upper end"),
        ("6:68", "`4` has no unit"),
        ("7:13", "`fetches` is not known here"),
        ("8:37", "`-1` cannot stand here"),
        ("8:47", "`1.5` cannot stand here"),
        ("9:3", f"the key `clock` is given twice; it first stands at {write(text)}:5:3"),
        ("11:32", "a bus cannot be `24` bits wide"),
        ("11:68", "`nanoseconds` is not a unit of time"),
        ("12:13", "`memroy` is not known here"),
        (
            "12:42",
            "the region `b` (0x8000..0x17fff) overlaps the region `a` (0x0..0xffff, "
            f"{write(text)}:11:42)",
        ),
        (
            "12:70",
            "`010` has a leading zero, which YAML 1.1 reads as octal and YAML 1.2 as decimal",
        ),
        ("13:43", "the key `next` is missing"),
        ("13:58", "the region `c` has a base only"),
        ("14:6", "nothing can be done in the region `d`"),
        ("15:6", "`text` cannot stand here"),
        ("16:22", "there is no region `flsh`"),
    ]


def test_hints_name_what_was_meant(write) -> None:
    text = GOOD.replace("alu:", "aluu:").replace("bus width: 16", "buswidth: 16")
    with pytest.raises(InputErrors) as caught:
        load_profile(write(text))
    hints = {e.message: e.hint for e in caught.value.errors}
    assert hints["`aluu` is not known here"] == "did you mean `alu`?"
    assert hints["the key `buswidth` is not known here"] == "did you mean `bus width`?"


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("72 MHz +- 1 %", "72", "6:10", "`72` has no unit"),
        ("72 MHz +- 1 %", "72 ns", "6:10", "`ns` is not a unit of frequency"),
        ("256 KiB", "256 KB", "16:11", "`KB` is not a unit of size"),
        ("0x08000000", "-1", "15:11", "`-1` is not an address"),
        ("0x08000000", "8 MiB", "15:11", "`8 MiB` is not an address"),
        ("bus width: 16", "bus width: true", "13:16", "a bus cannot be `true` bits wide"),
        ("bus width: 16", "bus width: '16'", "13:16", "a bus cannot be `16` bits wide"),
        (
            "{.text: flash}",
            "{.text: [flash]}",
            "20:22",
            "a list cannot stand here",
        ),
        ("name: board", "name: true", "2:7", "`true` cannot stand here"),
        ("0x08000000", "0xFFFFFFFFFFFFFFFF", "16:11", "the region `flash` ends beyond"),
        ("    read: 40 ns\n", "    read:\n", "18:5", "there is no value"),
        (
            "load: 5 ns",
            "crossing target realigned: 5 ns",
            "7:56",
            "`crossing target realigned` has the price of `crossing target`",
        ),
        (
            "{branch taken: 2}",
            "{fetch held late realigned: 2}",
            "9:23",
            "`fetch held late realigned` has the price of `fetch held late`",
        ),
        (
            "clock: 24 MHz",
            "clock divider: 0",
            "14:20",
            "`0` cannot stand here",
        ),
        (
            "    clock: 24 MHz",
            "    clock divider: 2\n    clock: 24 MHz",
            "14:5",
            "the region `flash` has a clock of its own",
        ),
        (
            "    read: 40 ns\n",
            "    read: 40 ns\n    refresh: {every: 0 cycles, takes: 1 cycle}\n",
            "19:22",
            "a period cannot be zero",
        ),
        (
            "    read: 40 ns\n",
            "    read: 40 ns\n    refresh: {every: 6 cycles, takes: 6 cycles}\n",
            "19:22",
            "the region `flash` is never free: refresh can take 100 % of the time",
        ),
        (
            "    read: 40 ns\n",
            "    read: 40 ns\n    arbitration: {takes: 2 cycles, every: 83 ns}\n",  # 83.3 ns
            "19:43",
            "the region `flash` is never free: arbitration can take 100.4 % of the time",
        ),
        (
            "    read: 40 ns\n",
            "    read: 40 ns\n    refresh: {every: 60 ns, takes: 20 ns}\n"
            "    arbitration: {every: 60..90 ns, takes: 30..40 ns}\n",
            "20:26",
            "the region `flash` is never free: refresh and arbitration can take 100 % of the time",
        ),
        (
            "    read: 40 ns\n",
            "    read: 40 ns\n    arbitration: {every: 9 cycles}\n",
            "19:18",
            "the key `takes` is missing",
        ),
        (
            "  overlap: {fetch: 1 cycle}",
            "  overlap: {fetch: 1 cycle}\n  write buffer: 101",
            "9:17",
            "`101` cannot stand here",
        ),
        (
            "  overlap: {fetch: 1 cycle}",
            "  overlap: {fetch: 1 cycle}\n  least width: {read: 24}",
            "9:23",
            "a bus cannot be `24` bits wide",
        ),
    ],
)
def test_one_mistake(write, old: str, new: str, place: str, message: str) -> None:
    assert old in GOOD
    found = mistakes(write(GOOD.replace(old, new, 1)))
    assert len(found) == 1, found
    assert found[0][0] == place
    assert message in found[0][1]


def test_regions_that_touch_do_not_overlap(write) -> None:
    region = "  {}: {{kind: memory, bus width: 32, base: {}, size: 4 KiB, read: 1 ns}}\n"
    touching = region.format("a", "0x1000") + region.format("b", "0x2000")
    base = GOOD.replace("default map: {.text: flash}\n", "")
    assert len(load_profile(write(base + touching)).regions) == 4
    found = mistakes(write(base + touching + region.format("c", "0x1fff")))
    assert len(found) == 2  # c with a, and b with c


def test_a_region_inside_a_larger_one_overlaps_behind_a_third(write) -> None:
    region = "  {}: {{kind: memory, bus width: 32, base: {}, size: {}, read: 1 ns}}\n"
    base = GOOD.replace("default map: {.text: flash}\n", "")
    text = base + region.format("large", "0x0", "1 MiB")
    text += region.format("one", "0x1000", "1 KiB") + region.format("two", "0x8000", "1 KiB")
    assert len(mistakes(write(text))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the file is not a mapping"),
        ("name: x", "the file does not say what it is"),
        ("schema: wcetchar/section-map/1", "the file is of schema `wcetchar/section-map/1`"),
        ("schema: wcetchar/hardware-profile/2", "the file is of schema"),
        ("schema: 1", "the file is of schema `1`"),
        ("schema: [1]", "the file is of schema a list"),
    ],
)
def test_another_kind_of_file_gets_one_message(write, text: str, message: str) -> None:
    found = mistakes(write(text))
    assert len(found) == 1
    assert message in found[0][1]


def test_a_profile_without_regions(write) -> None:
    text = GOOD[: GOOD.index("regions:")] + "regions: {}\n"
    assert [m for _, m in mistakes(write(text))] == ["there is no region"]
    text = GOOD[: GOOD.index("regions:")]
    assert [m for _, m in mistakes(write(text))] == ["the key `regions` is missing"]


def test_an_unknown_name_is_answered_with_names(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(InputError) as caught:
        load_profile("renaux2010/platfrom1")
    assert caught.value.hint == "did you mean `renaux2010/platform1`?"
    assert "cortex-m3/flash-3ws" in (caught.value.expected or "")
    with pytest.raises(InputError, match="is a folder"):
        load_profile(str(tmp_path_factory.mktemp("folder")))
    for name in ("", "a" * 10_000, "a\x00b", "renaux2010/map1"):
        with pytest.raises(InputError, match="no such hardware profile"):
            load_profile(name)


def test_a_file_is_taken_before_a_name(
    write, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cwd")
    monkeypatch.chdir(folder)
    assert load_profile("renaux2010/platform1").name == "renaux2010/platform1"
    (folder / "renaux2010").mkdir()
    (folder / "renaux2010" / "platform1").write_text(Path(write(GOOD)).read_text())
    assert load_profile("renaux2010/platform1").name == "board"


def test_places_for_those_who_read_the_model(write) -> None:
    path = write(GOOD)
    assert str(locate(path, "core", "discarded_fetches")) == f"{path}:9:22"
    assert str(locate(path, "regions", "flash", "fetch", "next")) == f"{path}:17:36"
    assert str(locate(path, "regions", "none")) == f"{path}:11:3"
    assert str(locate("renaux2010", "services", 0, "name")).endswith("renaux2010.json:16:12")
    assert str(locate("renaux2010/map1", "sections", ".text")).endswith("map1.yaml:7:10")
