"""``wcetchar profile init``: a skeleton is refused until it is filled in, and then it prices."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from wcetchar.cli import main
from wcetchar.model.access import STALLS, EventKind, Operation
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.hardware import Quantity, RegionKind, Unit
from wcetchar.model.memory_map import LeftOut, MappedRange, MemoryMap
from wcetchar.store import load_characterization, load_profile, profile_names
from wcetchar.store.names import profile_path
from wcetchar.store.profile_skeleton import skeleton

DTS = """\
/dts-v1/;
/ {
	#address-cells = <1>;
	#size-cells = <1>;
	chosen { zephyr,flash = &flash0; zephyr,sram = &sram0; };
	sram0: memory@20000000 { device_type = "memory"; reg = <0x20000000 0x8000>; };
	flash-controller@40003000 {
		#address-cells = <1>;
		#size-cells = <1>;
		reg = <0x40003000 0x100>;
		flash0: flash@0 { compatible = "soc-nv-flash"; reg = <0x0 0x10000>; };
	};
	uart0: serial@40001000 { reg = <0x40001000 0x100>; };
	uart1: serial@40002000 { reg = <0x40002000 0x100>; };
};
"""
"""As Zephyr has it of STM32: a controller of flash without `ranges`."""


def _init(folder: Path, *options: str) -> Path:
    path = folder / "p.yaml"
    result = CliRunner().invoke(main, ["profile", "init", "my: board", *options, "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def dts(tmp_path: Path) -> str:
    path = tmp_path / "x.dts"
    path.write_text(DTS)
    return str(path)


@pytest.mark.parametrize("core", [None, "cortex-m3/flash-3ws", "rv32/two-stage"])
def test_each_todo_is_named_and_nothing_else(tmp_path: Path, dts: str, core: str | None) -> None:
    options = ("--core", core) if core else ()
    path = _init(tmp_path, "--clock", "72 MHz", "--devicetree", dts, *options)
    result = CliRunner().invoke(main, ["profile", "check", str(path)])
    assert result.exit_code == 3
    named = {int(n) for n in re.findall(r"p\.yaml:(\d+):", result.stderr)}
    lines = path.read_text().splitlines()
    open_lines = {
        n
        for n, line in enumerate(lines, start=1)
        if re.search(r": .*TODO", line.split("#")[0])
        and not re.match(r" *(description|name):", line)
    }
    assert named == open_lines
    path.write_text(path.read_text().replace("TODO", "1 cycle"))
    profile = load_profile(str(path))
    assert profile.name == "my: board"
    assert float(profile.core.clock.high) == 72e6
    if core:
        assert profile.core.events == load_profile(core).core.events
        assert profile.core.discarded_fetches == load_profile(core).core.discarded_fetches
    else:
        assert EventKind.LOAD in profile.core.events


def test_regions_of_a_devicetree(tmp_path: Path, dts: str) -> None:
    path = _init(tmp_path, "--clock", "8 MHz", "--devicetree", dts, "--to-fit")
    regions = load_profile(str(path)).regions
    assert {n: (r.base, r.size) for n, r in regions.items()} == {
        "flash0": (0, 0x10000),
        "sram0": (0x20000000, 0x8000),
        "peripherals 4": (0x40001000, 0x2100),
    }
    assert Operation.WRITE not in regions["flash0"].times
    assert set(regions["peripherals 4"].times) == {Operation.READ, Operation.WRITE}
    each = _init(tmp_path, "--clock", "8 MHz", "--devicetree", dts, "--to-fit", "--each-peripheral")
    peripherals = {"uart0", "uart1", "flash-controller@40003000"}
    assert set(load_profile(str(each)).regions) == {"flash0", "sram0", *peripherals}
    assert "# Assumed:\n#   flash0: /flash-controller@40003000 has no `ranges`" in each.read_text()


def test_a_skeleton_to_fit_can_be_fitted(tmp_path: Path) -> None:
    """From nothing: ranges everywhere, then measurements."""
    path = _init(tmp_path, "--clock", "72 MHz", "--to-fit", "--no-stalls")
    sections = load_characterization("renaux2010").sections
    board = tmp_path / "map.yaml"
    board.write_text(
        "schema: wcetchar/section-map/1\nname: m\nsections:\n"
        + "".join(f"  {section.name}: memory\n" for section in sections)
    )
    measured = tmp_path / "m.csv"
    rows = [f"CreateThread,{n},{20_000 + 2_400 * n}" for n in range(1, 21)]
    measured.write_text("\n".join(["service,N,ns", *rows, ""]))
    fitted = tmp_path / "fitted.yaml"
    hardware = ("--map", str(board), "--profile")
    fit = ["profile", "fit", str(measured), "--characterization", "renaux2010", *hardware]
    result = CliRunner().invoke(main, [*fit, str(path), "-o", str(fitted)])
    assert result.exit_code == 0, result.stderr
    check = ["validate", "renaux2010", "--measured", str(measured), *hardware, str(fitted)]
    again = CliRunner().invoke(main, check)
    assert again.exit_code == 0, again.output


def test_stalls_can_be_fitted_or_are_left_out(tmp_path: Path) -> None:
    """Without them the skeleton is for characterizations that do not count stalls."""
    fitted = {e for e in STALLS if not e.is_realigned}
    events = load_profile(str(_init(tmp_path, "--clock", "8 MHz", "--to-fit"))).core.events
    assert {e for e in events if e.is_stall} == fitted
    assert all(events[e].low < events[e].high for e in fitted)
    plain = load_profile(str(_init(tmp_path, "--clock", "8 MHz", "--to-fit", "--no-stalls")))
    assert set(plain.core.events) == set(events) - fitted


def test_a_file_that_is_not_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["profile", "init", "x", "--svd", str(tmp_path / "none")])
    assert result.exit_code == 3
    assert "cannot be read" in result.stderr


def _comments(text: str) -> set[str]:
    """Of the core's block but for its clock, line by line: no code is shared with init."""
    block = text[text.index("\ncore:") + 1 :]
    end = re.search(r"\n[a-z]", block)
    lines = block[: end.start() if end else None].splitlines()
    return {
        line.split("#", 1)[1].strip()
        for line in lines
        if line.startswith(" ") and "#" in line and not re.search("clock:|: none", line)
    }


@pytest.mark.parametrize("core", profile_names())
def test_the_core_of_each_shipped_profile(tmp_path: Path, core: str) -> None:
    """All of it, whichever files it stands in, with the clock that was asked for."""
    path = _init(tmp_path, "--core", core, "--clock", "37 MHz")
    path.write_text(path.read_text().replace("TODO", "9 cycles"))
    found, named = load_profile(str(path)).core, load_profile(core).core
    assert found == replace(named, clock=Quantity.exactly(37_000_000, Unit.HERTZ))
    shipped = Path(profile_path(core)).read_text()
    if "\ncore:" in shipped:  # others have all of it from another one
        known = _comments(path.read_text())
        missing = {c for c in _comments(shipped) if not any(k.startswith(c) for k in known)}
        assert not missing


def test_numbers_of_a_core_in_several_files_say_where_they_are_from(tmp_path: Path) -> None:
    text = _init(tmp_path, "--core", "vexriscv/imc-board-b-cached-shared").read_text()
    lines = [re.sub(" +", " ", line).strip() for line in text.splitlines()]
    at = lines.index("exception entry: 3..85 cycles # [vexriscv/imc-board-b-cached-shared]")
    assert lines[at - 1].startswith("# measured: as in imc-board-b-cached; a line takes")
    assert "3..77 cycles" not in text
    assert "in vain saves: 1 cycle # [vexriscv/imc-cached]" in lines
    assert (
        "divide: 34 cycles # RTL MulDivIterativePlugin: one bit a cycle, and two around it" in lines
    )
    # What the abbreviations mean stands at the head of the files.
    assert any(line.startswith('# Sources: "RTL" = the Verilog itself') for line in lines)
    assert "clock: TODO # vexriscv/imc-board-b-cached-shared has 100 MHz" in lines


BASE = """\
schema: wcetchar/hardware-profile/1
name: base
core: {name: c, clock: 8 MHz, events: {alu: 1 cycle, load: 2 cycles}}  # all of it, "data #1"
regions:
  ram: {kind: memory, bus width: 32, read: 3 cycles}
"""
OWN = """\
schema: wcetchar/hardware-profile/1
name: own
based on: base.yaml
"core":
    # Four spaces,
    # two lines.
    clock:  9 MHz +- 1 %   # chosen
    "events":              # some
        load: '5 cycles'   # it waits, manual #3
        # after the last
    other events: 1..2 cycles
    name: 'a: "b" #c'
"""


@pytest.mark.parametrize("clock", [None, "72 MHz", "9 MHz +- 1 %"])
def test_however_it_is_written(tmp_path: Path, clock: str | None) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    own = tmp_path / "own.yaml"
    own.write_text(OWN)
    path = _init(tmp_path, "--core", str(own), *(("--clock", clock) if clock else ()))
    text = path.read_text()
    assert f"  clock: {clock or 'TODO'}" in text
    assert ("# chosen" in text) == ("# two lines." in text) == (clock == "9 MHz +- 1 %")
    assert '# all of it, "data #1"' in text
    assert re.search(
        r"load: 5 cycles +# it waits, manual #3 \[.*own.yaml\]\n    # after the last", text
    )
    assert "alu: 1 cycle\n" in text
    text = text.replace("clock: TODO", "clock: 9 MHz").replace("TODO", "1 cycle")
    path.write_text(text)
    found, named = load_profile(str(path)).core, load_profile(str(own)).core
    assert replace(found, clock=named.clock) == named
    assert found.name == 'a: "b" #c'


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (OWN + "    overlap: [1 cycle]\n", (), "own.yaml:13:14: a list cannot stand here"),
        (OWN + '    "name": b\n', (), "own.yaml:13:5: the key `name` is given twice"),
        (OWN.split('"core"')[0].replace("base.yaml", "none.yaml"), (), "own.yaml:3:11: no such"),
        (OWN.split("based on")[0] + "core: 1\n", (), "own.yaml:3:7: has no block `core:`"),
        (OWN.split("based on")[0], (), "has no block `core:`"),
        (OWN, ("--clock", "72"), "the clock that was asked for: `72` has no unit"),
        (
            OWN + "    write buffer: 1\n",
            ("--to-fit",),
            "own.yaml:13:5: the core has `write buffer`, beside which no times can be found",
        ),
        (
            OWN + "    instruction cache: {line: 32, hides stalls: true}\n",
            ("--to-fit",),
            "own.yaml:13:35: the core has `hides stalls`, beside which no times can be found",
        ),
        (
            OWN + "    data cache: {line: 32}\n",
            ("--data-cache", "32,4 KiB,1"),
            "the core that is taken has a data cache of its own",
        ),
    ],
)
def test_a_core_that_cannot_be_taken(
    tmp_path: Path, text: str, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    own = tmp_path / "own.yaml"
    own.write_text(text)
    result = CliRunner().invoke(main, ["profile", "init", "x", "--core", str(own), *options])
    assert result.exit_code == 3
    assert message in result.stderr
    assert not result.stdout


SVD = """\
<?xml version="1.0"?>
<device><name>X</name><width>32</width><peripherals>
  <peripheral><name>memory</name><description>not one</description>
    <baseAddress>0x40000000</baseAddress>
    <addressBlock><offset>0</offset><size>0x400</size></addressBlock></peripheral>
  <peripheral><name>UART</name><baseAddress>0x50000000</baseAddress>
    <addressBlock><offset>0</offset><size>0x100</size></addressBlock></peripheral>
</peripherals></device>
"""
OF_FLASH = DTS.replace('sram0: memory@20000000 { device_type = "memory"; ', "x: x@20000000 { ")
OF_FLASH = OF_FLASH.replace(" zephyr,sram = &sram0;", "")
NO_MEMORY = OF_FLASH.replace('compatible = "soc-nv-flash"; ', "").replace("zephyr,flash", "z")


@pytest.mark.parametrize(
    ("kind", "text", "peripherals", "memory"),
    [
        ("svd", SVD, {"memory", "UART"}, "memory of the board"),
        ("devicetree", NO_MEMORY, {"flash0", "x", "peripherals 4"}, "memory"),
        ("devicetree", OF_FLASH, {"flash0", "x", "peripherals 4"}, "data memory"),
    ],
    ids=["svd", "devicetree", "flash"],
)
@pytest.mark.parametrize("to_fit", [False, True])
def test_there_is_a_place_for_code_and_data(
    tmp_path: Path, kind: str, text: str, peripherals: set[str], memory: str, to_fit: bool
) -> None:
    """Whatever the files name: what init writes can hold every section of a kernel."""
    file = tmp_path / "soc"
    file.write_text(text)
    fit = ("--to-fit",) if to_fit else ()
    path = _init(tmp_path, f"--{kind}", str(file), "--clock", "8 MHz", *fit)
    path.write_text(path.read_text().replace("TODO", "1 cycle"))
    regions = load_profile(str(path)).regions
    assert set(regions) == peripherals | {memory}
    assert regions[memory].kind is RegionKind.MEMORY
    assert set(regions[memory].times) == {Operation.FETCH, Operation.READ, Operation.WRITE}
    assert regions[memory].base is None
    assert "of which the files say nothing" in path.read_text()
    if to_fit:  # the help's own example
        assert "first: 1..200 cycles" in path.read_text()


def test_a_peripheral_may_be_called_memory(tmp_path: Path) -> None:
    file = tmp_path / "soc.svd"
    file.write_text(SVD)
    path = _init(tmp_path, "--svd", str(file), "--each-peripheral", "--clock", "8 MHz", "--to-fit")
    regions = load_profile(str(path)).regions
    assert set(regions) == {"memory", "UART", "memory of the board"}
    assert regions["memory"].kind is RegionKind.PERIPHERAL


def test_what_has_memories_gets_no_other(tmp_path: Path, dts: str) -> None:
    path = _init(tmp_path, "--devicetree", dts, "--clock", "8 MHz", "--to-fit")
    assert set(load_profile(str(path)).regions) == {"flash0", "sram0", "peripherals 4"}


def test_a_core_with_caches_asks_for_their_misses(tmp_path: Path, dts: str) -> None:
    core = "vexriscv/imac-board-d-cached"
    path = _init(tmp_path, "--devicetree", dts, "--clock", "8 MHz", "--core", core)
    path.write_text(path.read_text().replace("TODO", "9 cycles"))
    regions = load_profile(str(path)).regions
    nine = Quantity.exactly(9, Unit.CYCLES)
    assert {n: (r.line_refill, r.load_miss_penalty) for n, r in regions.items()} == {
        "flash0": (nine, nine),
        "sram0": (nine, nine),
        "peripherals 4": (None, None),
    }


def test_what_a_core_and_a_region_may_have_beside_is_in_the_comments(tmp_path: Path) -> None:
    path = _init(tmp_path)
    text = path.read_text()
    keys = re.findall(r"^  # +(\w[\w ]*): (\{.*\}|\d+)$", text, re.MULTILINE)
    names = [name for name, _ in keys]
    assert names[-3:] == ["clock divider", "refresh", "arbitration"]
    assert {"write buffer", "least width", "instruction cache", "data cache"} <= {*names}
    # Each can be written as it stands there.
    core = [f"  {name}: {value}" for name, value in keys[:-3] if name != "discarded fetches"]
    region = [f"    {name}: {value}" for name, value in keys[-3:]]
    text = text.replace("regions:\n", "\n".join([*core, "regions:", ""]), 1).replace(
        "TODO", "9 cycles"
    )
    text = text.replace("clock: 9 cycles", "clock: 9 MHz")
    path.write_text(
        text
        + "\n".join([*region, "    line refill: 9 cycles", "    load miss penalty: 9 cycles", ""])
    )
    found = load_profile(str(path))
    assert found.core.write_buffer == 1
    assert found.core.instruction_cache is not None
    assert found.core.data_cache is not None
    (memory,) = found.regions.values()
    assert memory.clock_divider == 2
    assert len(memory.interferences) == 2
    # What `profile fit` cannot find is not offered to it.
    assert "write buffer" not in _init(tmp_path, "--to-fit").read_text()


@pytest.mark.parametrize("to_fit", [False, True])
def test_caches_are_given_by_their_geometry(tmp_path: Path, dts: str, to_fit: bool) -> None:
    caches = ("--instruction-cache", "32,4 KiB,1", "--data-cache", "16, 1 KiB, 4")
    options = ("--clock", "8 MHz", "--devicetree", dts, *caches, *(["--to-fit"] if to_fit else []))
    path = _init(tmp_path, *options)
    text = path.read_text()
    assert text.count("instruction cache:") == text.count("data cache:") == 1
    path.write_text(text.replace("TODO", "1 cycle"))
    found = load_profile(str(path))
    assert found.core.instruction_cache == CacheGeometry(32, 128, 1)
    assert found.core.data_cache is not None
    assert found.core.data_cache.geometry == CacheGeometry(16, 16, 4)
    sram, uart = found.regions["sram0"], found.regions["peripherals 4"]
    assert sram.line_refill is not None
    assert sram.load_miss_penalty is not None
    assert sram.line_refill.is_exact != to_fit
    assert uart.line_refill is None
    assert uart.load_miss_penalty is None


@pytest.mark.parametrize(
    "text", ["32", "32,4 KiB", "32,4 KiB,0", "48,4 KiB,1", "32,4,1", "32,3 KiB,1", "32,4 KiB,1,2"]
)
def test_what_is_no_geometry_is_refused(text: str) -> None:
    command = ["profile", "init", "x", "--instruction-cache", text]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert "is no geometry of a cache" in result.stderr


@st.composite
def maps(draw: st.DrawFn) -> MemoryMap:
    """Peripherals, memories and what was left out, one after the other in 3 times 256 MiB."""
    ranges, left_out, base = [], [], 0x3FFF0000
    for number in range(draw(st.integers(1, 12))):
        base += draw(st.sampled_from([0, 4, 0x400, 0x10000, 0x10004, 0x8000000]))
        size = draw(st.sampled_from([4, 0x400, 0x20000]))
        kind = draw(st.sampled_from([*[RegionKind.PERIPHERAL] * 5, RegionKind.MEMORY, None]))
        if kind is None:
            left_out.append(LeftOut(f"x{number}", ((base, size),)))
        else:
            ranges.append(MappedRange(f"r{number}", base, size, kind, True, False, "s"))
        base += size
    return MemoryMap(tuple(ranges), tuple(left_out))


@settings(max_examples=150, deadline=None)
@given(maps())
def test_what_is_one_region_covers_nothing_else(memory_map: MemoryMap) -> None:
    """Each byte of a region is a range's, or lies in no more than 64 KiB between two of them where
    nothing was left out; and what could have been one region is."""
    text = skeleton("x", memory_map, []).replace("TODO", "1 us")
    regions = {
        name: (region["base"], _bytes(region["size"]))
        for name, region in YAML(typ="safe").load(text)["regions"].items()
        if "base" in region
    }
    by_base = sorted(regions.values())
    assert [name for name in regions if not name.startswith("peripherals ")] == [
        r.name for r in memory_map.ranges if (r.base, r.size) in by_base
    ]
    covered = [
        [r for r in memory_map.ranges if base <= r.base and r.base + r.size <= base + size]
        for base, size in by_base
    ]
    assert [r for group in covered for r in group] == list(memory_map.ranges)

    def is_one(left: MappedRange, right: MappedRange) -> bool:
        start, end = left.base + left.size, right.base
        return (
            {left.kind, right.kind} == {RegionKind.PERIPHERAL}
            and left.base // 2**28 == right.base // 2**28
            and end - start <= 65536
            and not any(start <= b < end for out in memory_map.left_out for b, _ in out.addresses)
        )

    for group, (base, size) in zip(covered, by_base, strict=True):
        assert (group[0].base, group[-1].base + group[-1].size) == (base, base + size)
        assert all(is_one(*pair) for pair in pairwise(group))
    assert not any(is_one(left[-1], right[0]) for left, right in pairwise(covered))


def _bytes(text: str) -> int:
    number, unit = text.split()
    return int(number) << {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]


def test_regions_of_one_part_of_the_address_space_have_names_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "soc.svd"
    blocks = "".join(
        f"<peripheral><name>P{base:x}</name><baseAddress>{base}</baseAddress><addressBlock>"
        f"<offset>0</offset><size>0x400</size><usage>{usage}</usage></addressBlock></peripheral>"
        for base, usage in (
            *((0x40000000, "registers"), (0x40000400, "registers"), (0x40000800, "reserved")),
            *((0x40000C00, "registers"), (0x40001000, "buffer"), (0x50000000, "registers")),
            *((0x50000400, "registers"), (0x60000000, "registers")),
        )
    )
    other = blocks[blocks.index("<peripheral><name>P40000400") :].partition("</peripheral>")[0]
    other = other.replace("P4", "ALTERNATE") + "</peripheral>"
    file.write_text(f"<device><peripherals>{blocks}{other}</peripherals></device>")
    path = _init(tmp_path, "--svd", str(file), "--clock", "8 MHz", "--to-fit")
    regions = load_profile(str(path)).regions
    assert {n: (r.base, r.size) for n, r in regions.items() if r.base is not None} == {
        "peripherals 40000000": (0x40000000, 0x800),
        "peripherals 40000c00": (0x40000C00, 0x800),
        "peripherals 5": (0x50000000, 0x800),
        "P60000000": (0x60000000, 0x400),
    }
    assert path.read_text().endswith(
        "# Left out:\n#   P40000800 at 0x40000800: reserved\n"
        "#   P40000400 at 0x40000400: shares addresses with ALTERNATE0000400\n"
    )


def test_both_files_may_call_different_things_the_same(tmp_path: Path, dts: str) -> None:
    file = tmp_path / "soc.svd"
    file.write_text(SVD.replace("UART", "uart0"))
    both = ("--devicetree", dts, "--svd", str(file), "--each-peripheral")
    regions = load_profile(str(_init(tmp_path, *both, "--clock", "8 MHz", "--to-fit"))).regions
    assert regions["uart0"].base == 0x40001000
    assert regions["uart0_1"].base == 0x50000000


def test_a_clock_that_the_devicetree_leaves_open_is_to_be_filled_in(tmp_path: Path) -> None:
    """Nothing about the option that was not given."""
    file = tmp_path / "x.dts"
    file.write_text("/dts-v1/; / { cpus { cpu@0 { clock-frequency = <0>; }; }; };")
    text = _init(tmp_path, "--devicetree", str(file)).read_text()
    assert "\n  clock: TODO\n" in text
    assert "#   clock-frequency of /cpus/cpu@0: 0 Hz says none" in text
    file.write_text("/dts-v1/; / { cpus { cpu@0 { clock-frequency = <1 0>; }; }; };")
    path = _init(tmp_path, "--devicetree", str(file), "--to-fit")
    assert load_profile(str(path)).core.clock.high == 2**32
