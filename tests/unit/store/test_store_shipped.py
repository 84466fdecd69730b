"""What is shipped reads, says what its sources say, and prices to the published figures."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from editor_yaml import mistakes, plain

import wcetchar
from wcetchar import store
from wcetchar.isa import arm_effects
from wcetchar.isa.riscv_effects import EFFECTS
from wcetchar.model.access import STALLS, AccessClass, EventKind, Operation
from wcetchar.model.characterization import Blocking, Word
from wcetchar.model.expression import Name, Number
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
from wcetchar.store import schema_files
from wcetchar.store.names import profile_path

ROOT = Path(wcetchar.__file__).resolve().parent
YAML_FILES = sorted([*ROOT.glob("hwprofiles/*/*.yaml"), *ROOT.glob("store/published/*.yaml")])

LINES = {kind for kind in EventKind if kind.is_line_entry or kind.is_of_data_cache}


def test_names() -> None:
    assert store.profile_names() == (
        "arm7tdmi/external-16bit",
        "arm7tdmi/zero-wait-sram",
        "cortex-m3/external-16bit",
        "cortex-m3/flash-3ws",
        "cortex-m3/zero-wait-sram",
        "cortex-m4/art-168mhz",
        "cortex-m4/art-168mhz-each-fetch",
        "cortex-m4/art-168mhz-prefetch",
        "cortex-m4/flash-3ws",
        "cortex-m4/zero-wait-sram",
        "muller2007/cached",
        "muller2007/expected",
        "muller2007/from-cache",
        "muller2007/uncached",
        "renaux2010/platform1",
        "renaux2010/platform2",
        "renaux2010/platform3",
        "rv32/two-stage",
        "vexriscv/cynthion-board-d",
        "vexriscv/imac-board-d",
        "vexriscv/imac-board-d-always-miss",
        "vexriscv/imac-board-d-cached",
        "vexriscv/imac-board-d-cached-shared",
        "vexriscv/imac-board-d-instruction-cached",
        "vexriscv/imac-board-d-instruction-cached-shared",
        "vexriscv/imac-board-d-shared",
        "vexriscv/imac-board-d-uncached",
        "vexriscv/imac-board-d-uncached-shared",
        "vexriscv/imc-board-b",
        "vexriscv/imc-board-b-cached",
        "vexriscv/imc-board-b-cached-shared",
        "vexriscv/imc-board-b-shared",
        "vexriscv/imc-board-c",
        "vexriscv/imc-board-c-cached",
        "vexriscv/imc-board-c-cached-jitter",
        "vexriscv/imc-board-c-cached-refresh",
        "vexriscv/imc-board-c-cached-shared",
        "vexriscv/imc-board-c-jitter",
        "vexriscv/imc-board-c-refresh",
        "vexriscv/imc-board-c-shared",
        "vexriscv/imc-cached",
        "vexriscv/imc-cached-shared",
        "vexriscv/imc-zero-wait",
        "vexriscv/imc-zero-wait-shared",
    )
    assert store.characterization_names() == ("muller2007", "renaux2010")
    assert [name.replace("map-", "") for name in store.map_names()][:10] == [
        name for name in store.profile_names() if name.startswith(("arm7tdmi", "cortex-m"))
    ]


@pytest.mark.parametrize("name", store.profile_names())
def test_every_profile_reads_and_bears_its_name(name: str) -> None:
    assert store.load_profile(name).name == name


@pytest.mark.parametrize("name", store.map_names())
def test_every_map_reads_and_fits_its_profiles(name: str) -> None:
    folder, _, file = name.rpartition("/")
    profiles = [profile for profile in store.profile_names() if name in store.maps_of(profile)]
    if folder == "renaux2010":
        profiles = [f"{folder}/platform{file.removeprefix('map')}"]
    found = store.load_map(name)
    assert found.name == name
    assert profiles
    for profile in profiles:
        assert set(found.sections.values()) <= set(store.load_profile(profile).regions)


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_maps_are_known_by_their_file_name(path: Path) -> None:
    text = path.read_text()
    schema = re.search(r"^schema: (.*)$", text, re.MULTILINE)
    assert schema
    assert path.name.startswith("map") == (schema[1] == "wcetchar/section-map/1")


def test_the_committed_schemas_are_those_of_the_documents() -> None:
    texts = schema_files.schema_texts()
    committed = {path.name: path.read_text() for path in schema_files.FOLDER.glob("*.json")}
    assert committed == texts
    for text in texts.values():
        assert json.loads(text)["$schema"].endswith("/draft-07/schema#")
    # Only where generated: the documents' own names stand in them.
    profile = json.loads(texts["hardware-profile.json"])
    whole, differs = (set(profile[which]["properties"]) for which in ("else", "then"))
    assert differs == whole | {"based on"}
    assert whole == {
        "schema",
        "name",
        "description",
        "core",
        "regions",
        "default map",
    }


def document_of(profile: str) -> dict[str, Any]:
    found = plain(Path(profile_path(profile)).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_an_editor_finds_mistakes_in_profiles() -> None:
    whole = document_of("vexriscv/imc-zero-wait")
    part = document_of("vexriscv/imc-board-c")
    wrong: dict[str, Any] = {"core": {"events": {"lood": "1 cycle"}}}
    for document in (
        {key: value for key, value in whole.items() if key != "core"},
        {key: value for key, value in part.items() if key != "based on"},
        {key: value for key, value in part.items() if key != "name"},
        {**part, **wrong},
        {**whole, **wrong},
        {**whole, "core": "none"},
        {**part, "regions": {"external": {"bus": 3}}},
        {**part, "regions": {"external": {"bus width": 7}}},
    ):
        assert mistakes("hardware-profile", document)
    assert not mistakes("hardware-profile", {**part, "core": {"write buffer": "none"}})


# The tables of the founding paper, section 5, typed in from there: counts per trace section, and
# nanoseconds per access on each platform, in the order of the columns.
COLUMNS = ("i", "t", "c", "s", "b", "r32", "w32", "r8", "w8")
COUNTS = (
    ("1", False, (3, 13, 1, 17, 4, 1, 0, 0, 0)),
    ("1", True, (49, 268, 7, 32, 54, 12, 36, 19, 25)),
    ("N", True, (0, 18, 0, 0, 2, 2, 0, 0, 0)),
)
NANOSECONDS = {
    "platform1": (14, 14, 70, 70, 250, 200, 200, 200, 200),
    "platform2": (14, 14, 14, 14, 45, 14, 14, 14, 14),
    "platform3": (14, 160, 160, 180, 450, 160, 200, 80, 120),
}
PUBLISHED = {"platform1": 56728, "platform2": 14182, "platform3": 148988}
MEASURED = {"platform1": 51111, "platform2": 14137, "platform3": 146400}
CLASS = {
    "i": (".iram_text", "fetch", 32),
    "t": (".text", "fetch", 32),
    "c": (".const", "read", 32),
    "s": (".stack", "access", 32),
    "r32": (".x_heap", "read", 32),
    "w32": (".x_heap", "write", 32),
    "r8": (".x_heap", "read", 16),
    "w8": (".x_heap", "write", 16),
}


def test_the_published_table_is_the_papers() -> None:
    found = store.load_characterization("renaux2010")
    assert [service.name for service in found.services] == ["CreateThread"]
    service = found.services[0]
    assert service.word is Word.ESTIMATE
    assert not service.stretches_known
    rows = []
    for row in service.counts.rows:
        repetition = {Number(1): "1", Name("N"): "N"}[row.repetition]
        assert row.blocking in (Blocking(), Blocking(interrupts=True))
        counted = {
            (k.section, k.operation.value, k.width) if isinstance(k, AccessClass) else k.kind: n
            for k, n in row.vector.items()
        }
        branches = counted.pop(EventKind.BRANCH_TAKEN, 0)
        values = {c: counted.pop(CLASS[c], 0) for c in COLUMNS if c != "b"} | {"b": branches}
        assert counted == {}
        rows.append((repetition, row.blocking.interrupts, tuple(values[c] for c in COLUMNS)))
    assert tuple(rows) == COUNTS


def nanoseconds(profile: HardwareProfile, region: str, operation: str, width: int) -> Fraction:
    """Full time of a single access, by the rule of the reference page, without the engine."""
    place = profile.regions[region]
    time = place.times[Operation(operation)]
    assert time.first.unit is time.next.unit is Unit.NANOSECONDS
    beats = -(-width // place.bus_width)
    return time.first.high + (beats - 1) * time.next.high


@pytest.mark.parametrize("platform", NANOSECONDS)
def test_profile_and_map_give_the_papers_access_times_and_totals(platform: str) -> None:
    profile = store.load_profile(f"renaux2010/{platform}")
    where = store.load_map(f"renaux2010/{platform.replace('platform', 'map')}")
    assert not profile.core.overlap
    assert not profile.core.discarded_fetches
    prices = {
        column: nanoseconds(profile, where.sections[section], operation, width)
        for column, (section, operation, width) in CLASS.items()
    }
    prices["b"] = profile.core.events[EventKind.BRANCH_TAKEN].high
    assert tuple(prices[column] for column in COLUMNS) == NANOSECONDS[platform]
    times = {"1": 1, "N": where.parameters["N"]}
    total = sum(
        times[repetition] * count * prices[column]
        for repetition, _, counts in COUNTS
        for column, count in zip(COLUMNS, counts, strict=True)
    )
    assert total == PUBLISHED[platform]


def test_the_measurements_are_the_papers() -> None:
    found = store.load_measurements("renaux2010")
    assert found.characterization == "renaux2010"
    assert {p.name: p.measured_ns for p in found.platforms} == MEASURED
    for platform in found.platforms:
        assert platform.profile == f"renaux2010/{platform.name}"
        assert platform.map in store.map_names()
        assert (platform.service, platform.parameters) == ("CreateThread", {"N": 13})


# ARM DDI 0337I, table 3-1, cycles at zero wait states, typed in from there: how an instruction is
# counted (issue event, data accesses, refill) and the largest figure that the table allows with
# P = 3. Where the manual's text gives more than its table (TBB: six), the text.
ZERO_WAIT = [
    ("alu", 0, 0, False, 1, 1),
    ("multiply", 0, 0, False, 1, 1),
    ("multiply accumulate", 0, 0, False, 2, 2),
    ("multiply long", 0, 0, False, 3, 7),
    ("divide", 0, 0, False, 2, 12),
    ("load", 1, 0, False, 2, 2),
    ("store", 0, 1, False, 2, 2),
    ("load", 1, 0, True, 3, 5),  # LDR to PC
    ("load multiple", 8, 0, False, 9, 9),
    ("load multiple", 8, 0, True, 10, 12),  # POP with PC
    ("store multiple", 0, 8, False, 9, 9),
    ("load exclusive", 1, 0, False, 2, 2),
    ("store exclusive", 0, 1, False, 2, 2),
    ("branch untaken", 0, 0, False, 1, 1),
    ("branch taken", 0, 0, True, 2, 4),
    ("branch table", 1, 0, True, 4, 6),
    ("call", 0, 0, True, 2, 4),
    ("call indirect", 0, 0, True, 2, 4),
    ("return", 0, 0, True, 2, 4),
    ("skipped", 0, 0, False, 1, 1),
    ("hint", 0, 0, False, 1, 1),
    ("wait", 0, 0, False, 1, 1),  # 1 + W, where W is asleep
    ("system register", 0, 0, False, 1, 2),
    ("interrupt mask", 0, 0, False, 1, 2),
    ("barrier", 0, 0, True, 2, 4),
    ("exception entry", 1, 8, False, 12, 12),
    ("exception exit", 8, 0, False, 12, 12),
]


# ARM 100166_0001, tables 3-1 and 7-1: what the Cortex-M4 has otherwise, or beside. The last column
# of arithmetic holds the cycle more that a result costs which the next instruction uses.
ZERO_WAIT_M4 = [
    *(row for row in ZERO_WAIT if row[0] not in ("multiply accumulate", "multiply long")),
    ("multiply accumulate", 0, 0, False, 1, 1),
    ("multiply long", 0, 0, False, 1, 1),
    ("float", 0, 0, False, 1, 2),
    ("float multiply accumulate", 0, 0, False, 3, 4),
    ("float divide", 0, 0, False, 14, 15),
    ("float square root", 0, 0, False, 14, 15),
    ("float transfer", 0, 0, False, 1, 2),
    ("float transfer pair", 0, 0, False, 2, 2),
    ("float load", 1, 0, False, 2, 2),
    ("float load", 2, 0, False, 3, 3),
    ("float store", 0, 1, False, 2, 2),
    ("float store", 0, 2, False, 3, 3),
    ("float load multiple", 16, 0, False, 17, 17),
    ("float store multiple", 0, 16, False, 17, 17),
    ("float context save", 0, 17, False, 17, 17),
    ("float context restore", 17, 0, False, 17, 17),
]


@pytest.mark.parametrize("name", [n for n in store.profile_names() if n.startswith("cortex-m4/")])
@pytest.mark.parametrize(("event", "reads", "writes", "refill", "least", "most"), ZERO_WAIT_M4)
def test_cortex_m4_at_zero_wait_is_never_below_its_manual(
    name: str, event: str, reads: int, writes: int, refill: bool, least: int, most: int
) -> None:
    check_zero_wait(name, event, reads, writes, refill, least, most)


@pytest.mark.parametrize("name", [n for n in store.profile_names() if n.startswith("cortex-m3/")])
@pytest.mark.parametrize(("event", "reads", "writes", "refill", "least", "most"), ZERO_WAIT)
def test_cortex_m3_at_zero_wait_is_never_below_its_manual(
    name: str, event: str, reads: int, writes: int, refill: bool, least: int, most: int
) -> None:
    check_zero_wait(name, event, reads, writes, refill, least, most)


def check_zero_wait(
    name: str, event: str, reads: int, writes: int, refill: bool, least: int, most: int
) -> None:
    core = store.load_profile(name).core
    price = core.events[EventKind(event)]
    p = core.events[EventKind.PIPELINE_REFILL]
    assert price.unit is p.unit is Unit.CYCLES
    assert (p.low, p.high) == (1, 3)
    low = price.low + reads + writes + (p.low if refill else 0)
    high = price.high + reads + writes + (p.high if refill else 0)
    assert high >= most
    assert low <= least


@pytest.mark.parametrize("name", [n for n in store.profile_names() if n.startswith("cortex-m3/")])
def test_cortex_m3_prices_whatever_has_an_end(name: str) -> None:
    core = store.load_profile(name).core
    older = {EventKind.SHIFT_BY_REGISTER, EventKind.MULTIPLY_ACCUMULATE_LONG, EventKind.SWAP}
    floats = {kind for kind in EventKind if kind.name.startswith("FLOAT")}
    # "Load/store timings" has one stall of an instruction by its neighbour, of one cycle.
    assert STALLS & set(core.events) == {EventKind.ADDRESS_USE_STALL}
    assert core.events[EventKind.ADDRESS_USE_STALL] == Quantity.exactly(1, Unit.CYCLES)
    unpriced = set(EventKind) - LINES - STALLS - set(core.events) - older - floats
    assert unpriced == {EventKind.BREAKPOINT, EventKind.SUPERVISOR_CALL_ENTRY}
    assert core.priced_as(EventKind.SUPERVISOR_CALL_ENTRY) is EventKind.EXCEPTION_ENTRY
    assert {op: q.high for op, q in core.overlap.items()} == {Operation.FETCH: 1}


@pytest.mark.parametrize("name", [n for n in store.profile_names() if n.startswith("cortex-m4/")])
def test_cortex_m4_prices_whatever_has_an_end(name: str) -> None:
    core = store.load_profile(name).core
    older = {EventKind.SHIFT_BY_REGISTER, EventKind.MULTIPLY_ACCUMULATE_LONG, EventKind.SWAP}
    assert STALLS & set(core.events) == {EventKind.ADDRESS_USE_STALL}
    assert core.events[EventKind.ADDRESS_USE_STALL] == Quantity.exactly(1, Unit.CYCLES)
    unpriced = set(EventKind) - LINES - STALLS - set(core.events) - older
    assert unpriced == {EventKind.BREAKPOINT, EventKind.SUPERVISOR_CALL_ENTRY}
    assert {op: q.high for op, q in core.overlap.items()} == {Operation.FETCH: 1}


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_zero_wait_sram_has_no_wait_states(core: str) -> None:
    profile = store.load_profile(f"{core}/zero-wait-sram")
    for region in ("code sram", "data sram"):
        for time in profile.regions[region].times.values():
            assert time.first.low == time.next.low == 1
            assert time.first.unit is Unit.CYCLES
    assert profile.regions["code sram"].times[Operation.FETCH].first.high == 1


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_flash_has_three_wait_states_and_cannot_be_written(core: str) -> None:
    flash = store.load_profile(f"{core}/flash-3ws").regions["flash"]
    assert Operation.WRITE not in flash.times
    assert flash.times[Operation.FETCH].first.low == flash.times[Operation.FETCH].next.low == 4
    assert flash.times[Operation.READ].first.low == 4


def test_external_sram_is_never_below_the_published_board() -> None:
    external = store.load_profile("cortex-m3/external-16bit").regions["external sram"]
    assert external.bus_width == 16
    fetch, read, write = (
        external.times[op] for op in (Operation.FETCH, Operation.READ, Operation.WRITE)
    )
    cycle = Fraction(1000, 72)
    assert read.first.high >= 80
    assert write.first.high >= 120
    # Whole cycles of the core, rounded up in the last digit. First in a burst, and next: both take
    # two beats for 32 bits.
    for time, cycles in (
        (fetch.first.high + fetch.next.high, 13),
        (2 * fetch.next.high, 13),
        (read.first.high, 6),
        (read.first.high + read.next.high, 12),
        (2 * read.next.high, 12),
        (write.first.high, 9),
        (2 * write.next.high, 15),
    ):
        assert 0 <= time - cycles * cycle < Fraction(2, 1000)
    assert write.first.high + write.next.high >= 200


def test_rv32_prices_whatever_has_an_end() -> None:
    """Everything that RV32IMC with Zicsr and Zifencei issues, and what is counted beside."""
    core = store.load_profile("rv32/two-stage").core
    atomic = {"zaamo", "zalrsc"}
    issued = {row.issue for row in EFFECTS.values() if row.extension not in atomic}
    beside = {
        EventKind.CALL,
        EventKind.CALL_INDIRECT,
        EventKind.RETURN,
        EventKind.PIPELINE_REFILL,
        EventKind.UNALIGNED_ACCESS,
        EventKind.EXCEPTION_ENTRY,
        EventKind.EXCEPTION_EXIT,
    }
    assert (issued | beside) - set(core.events) == {EventKind.BREAKPOINT}


@pytest.mark.parametrize(
    ("event", "accesses", "refill", "stalls"),
    [
        # Ibex Reference Guide, "Pipeline Details": most stall cycles where memory never waits.
        ("alu", 0, False, 0),
        ("multiply", 0, False, 2),
        ("multiply long", 0, False, 3),
        ("divide", 0, False, 37),
        ("load", 1, False, 1),
        ("store", 1, False, 1),
        ("branch untaken", 0, False, 0),
        ("branch taken", 0, True, 2),
        ("call indirect", 0, True, 1),
        ("return", 0, True, 1),
        ("system register", 0, False, 0),
    ],
)
def test_rv32_at_zero_wait_is_never_below_its_manual(
    event: str, accesses: int, refill: bool, stalls: int
) -> None:
    core = store.load_profile("rv32/two-stage").core
    price, p = core.events[EventKind(event)], core.events[EventKind.PIPELINE_REFILL]
    assert price.unit is p.unit is Unit.CYCLES
    assert price.high + accesses + (p.high if refill else 0) >= 1 + stalls


ARM7TDMI = [n for n in store.profile_names() if n.startswith("arm7tdmi/")]


@pytest.mark.parametrize("name", ARM7TDMI)
def test_arm7tdmi_prices_whatever_has_an_end(name: str) -> None:
    """Everything that the rows of Arm state issue, and what is counted beside."""
    core = store.load_profile(name).core
    beside = {
        EventKind.CALL_INDIRECT,
        EventKind.RETURN,
        EventKind.SKIPPED,
        EventKind.BRANCH_UNTAKEN,
        EventKind.PIPELINE_REFILL,
        EventKind.UNALIGNED_ACCESS,
        EventKind.EXCEPTION_ENTRY,
        EventKind.EXCEPTION_EXIT,
    }
    issued = {row.issue for row in arm_effects.ROWS}
    assert (issued | beside) - set(core.events) == {EventKind.BREAKPOINT}
    assert not core.overlap


@pytest.mark.parametrize("name", ARM7TDMI)
@pytest.mark.parametrize(
    ("event", "fetches", "accesses", "refill", "least", "most"),
    [
        # ARM DDI 0210C, table 6-20, "Instruction speed summary", with N = S = I = 1 and m = 1 to 4.
        ("alu", 1, 0, False, 1, 1),
        ("shift by register", 1, 0, False, 2, 2),
        ("branch taken", 1, 0, True, 3, 3),  # a data operation that writes pc is the same
        ("return", 1, 0, True, 3, 3),
        ("call", 1, 0, True, 3, 3),
        ("call", 2, 0, True, 4, 4),  # in Thumb state
        ("call indirect", 1, 0, True, 3, 3),
        ("load", 1, 1, False, 3, 3),
        ("load", 1, 1, True, 5, 5),
        ("store", 1, 1, False, 2, 2),
        ("load multiple", 1, 8, False, 10, 10),
        ("load multiple", 1, 8, True, 12, 12),
        ("store multiple", 1, 8, False, 9, 9),
        ("swap", 1, 2, False, 4, 4),
        ("multiply", 1, 0, False, 2, 5),
        ("multiply accumulate", 1, 0, False, 3, 6),
        ("multiply long", 1, 0, False, 3, 6),
        ("multiply accumulate long", 1, 0, False, 4, 7),
        ("branch untaken", 1, 0, False, 1, 1),
        ("skipped", 1, 0, False, 1, 1),
        ("system register", 1, 0, False, 1, 1),
    ],
)
def test_arm7tdmi_at_zero_wait_is_its_manual(
    name: str, event: str, fetches: int, accesses: int, refill: bool, least: int, most: int
) -> None:
    core = store.load_profile(name).core
    price, p = core.events[EventKind(event)], core.events[EventKind.PIPELINE_REFILL]
    assert price.unit is p.unit is Unit.CYCLES
    thrown = core.discarded_fetches[EventKind.PIPELINE_REFILL] if refill else 0
    rest = fetches + accesses + thrown + (p.high if refill else 0)
    assert (price.low + rest, price.high + rest) == (least, most)


def test_arm7tdmi_sequential_accesses_cost_no_less() -> None:
    """A fetch behind a data access is no sequential one, yet counted as the next of its run."""
    for name in ARM7TDMI:
        for region in store.load_profile(name).regions.values():
            for time in region.times.values():
                assert time.first == time.next, (name, region.name)
