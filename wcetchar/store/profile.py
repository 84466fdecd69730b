"""Hardware profile: YAML -> :class:`wcetchar.model.hardware.HardwareProfile`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic.annotated_handlers import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from wcetchar.errors import InputError, did_you_mean
from wcetchar.model.access import MOST_MEANWHILE, NO_MORE_THAN, EventKind, Operation
from wcetchar.model.cache import LINE_BYTES, CacheGeometry
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.hardware import (
    AccessTime,
    Core,
    DataCache,
    HardwareProfile,
    Interference,
    Quantity,
    Region,
    RegionKind,
)
from wcetchar.store.based_on import with_base
from wcetchar.store.busy import check_busy
from wcetchar.store.checking import (
    Boolean,
    Integer,
    Text,
    YamlModel,
    in_place,
    mapping_at,
    one_of,
    validate,
)
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.names import profile_path
from wcetchar.store.quantity import Dimension, parse_quantity, parse_size
from wcetchar.store.shapes import quantity_schema
from wcetchar.store.source import PlainInt, Source, shown
from wcetchar.store.yaml_source import parse_yaml

_ADDRESS_SPACE = 1 << 64


def _width(value: Any) -> int:
    if isinstance(value, bool) or value not in (8, 16, 32, 64):
        raise InputError(
            f"a bus cannot be {shown(value)} bits wide", expected="one of 8, 16, 32, 64"
        )
    return int(value)


def _line_bytes(value: Any) -> int:
    if isinstance(value, bool) or value not in LINE_BYTES:
        raise InputError(
            f"a line cannot be {shown(value)} bytes long",
            expected=f"one of {', '.join(map(str, LINE_BYTES))}",
        )
    return int(value)


def _address(value: Any) -> int:
    if not isinstance(value, PlainInt) or not 0 <= value < _ADDRESS_SPACE:
        raise InputError(
            f"{shown(value)} is not an address", expected="an address such as 0x20000000"
        )
    return int(value)


Time = Annotated[
    Quantity,
    PlainValidator(in_place(lambda value: parse_quantity(value, Dimension.TIME))),
    quantity_schema(
        Dimension.TIME,
        "14 ns",
        "2 cycles",
        "1..3 cycles",
        "14 ns +- 5 %",
        "14 ns +- 1 ns stochastic",
    ),
]
Frequency = Annotated[
    Quantity,
    PlainValidator(in_place(lambda value: parse_quantity(value, Dimension.FREQUENCY))),
    quantity_schema(Dimension.FREQUENCY, "72 MHz", "8 MHz +- 1 %"),
]
Size = Annotated[
    int, PlainValidator(in_place(parse_size)), quantity_schema(Dimension.SIZE, "256 KiB")
]
Width = Annotated[int, PlainValidator(in_place(_width)), WithJsonSchema({"enum": [8, 16, 32, 64]})]
Address = Annotated[
    int, PlainValidator(in_place(_address)), WithJsonSchema({"type": "integer", "minimum": 0})
]
LineBytes = Annotated[
    int, PlainValidator(in_place(_line_bytes)), WithJsonSchema({"enum": list(LINE_BYTES)})
]
Ways = Annotated[Integer, Field(ge=1, le=64)]
Replacement = Literal["lru"]
FetchCount = Annotated[Integer, Field(ge=0, le=1000)]
Divider = Annotated[Integer, Field(ge=1, le=1000)]
BytesAhead = Annotated[Integer, Field(ge=0, le=1000)]
WriteBuffer = Annotated[Integer, Field(ge=0, le=100)]


class AccessTimeDoc(YamlModel):
    """Time of an access; `fetch: 14 ns` is short for the same first and next access."""

    first: Time = Field(description="time of the first access of a burst, or of a single one")
    next: Time = Field(description="time of each further access of a burst")

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        # A list or a mapping is left alone so that the message speaks of a mapping.
        return value if isinstance(value, (dict, list)) else {"first": value, "next": value}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        long_form = handler.resolve_ref_schema(handler(schema))
        said = {"title", "description"}
        short = {k: v for k, v in long_form["properties"]["first"].items() if k not in said}
        return {"anyOf": [short, long_form], "description": long_form["description"]}

    def to_model(self) -> AccessTime:
        return AccessTime(self.first, self.next)


def _period(quantity: Quantity) -> Quantity:
    if quantity.low <= 0:
        raise InputError("a period cannot be zero", expected="the least time between beginnings")
    return quantity


def _limit(quantity: Quantity) -> Quantity:
    if quantity.stochastic:
        raise InputError(
            "an interference has no stochastic error",
            expected="how long it takes at most, and how often it comes at most",
            hint="leave out `stochastic`, for the largest error that there is",
        )
    return quantity


LimitTime = Annotated[Time, AfterValidator(in_place(_limit))]


class InterferenceDoc(YamlModel):
    """Time in which a memory serves somebody else."""

    takes: LimitTime = Field(description="how long at most, each time")
    every: Annotated[LimitTime, AfterValidator(in_place(_period))] | None = Field(
        None, description="from the beginning of one to that of the next, at least"
    )

    def to_model(self) -> Interference:
        return Interference(self.takes, self.every)


class RegionDoc(YamlModel):
    """A memory or a peripheral, and what an access to it takes."""

    kind: RegionKind = Field(description="memory or peripheral")
    bus_width: Width = Field(description="bits moved by one access: 8, 16, 32 or 64")
    clock: Frequency | None = Field(None, description="of the region's bus; the core's if absent")
    clock_divider: Divider = Field(
        1, description="cycles of the core in one of the region's, with which accesses begin"
    )
    refresh: InterferenceDoc | None = Field(None, description="when the memory is its own")
    arbitration: InterferenceDoc | None = Field(
        None, description="when another master has the memory"
    )
    base: Address | None = Field(None, description="first address")
    size: Size | None = Field(None, description="size in bytes")
    fetch: AccessTimeDoc | None = Field(
        None, description="full time of an instruction fetch; absent: code cannot lie here"
    )
    read: AccessTimeDoc | None = Field(
        None, description="full time of a data read; absent: it cannot be read"
    )
    write: AccessTimeDoc | None = Field(
        None, description="full time of a data write; absent: it cannot be written"
    )
    access: AccessTimeDoc | None = Field(
        None, description="for accesses of unknown direction; else the dearer of read and write"
    )
    line_refill: Time | None = Field(
        None,
        description="time to load a line from here into the instruction cache; absent: not cached",
    )
    load_miss_penalty: Time | None = Field(
        None,
        description="what a load from here takes more that misses in the data cache; absent: not "
        "cached",
    )
    note: Text = Field("", description="for people; shown where the region is explained")

    def to_model(self, name: str) -> Region:
        times = {
            Operation.FETCH: self.fetch,
            Operation.READ: self.read,
            Operation.WRITE: self.write,
            Operation.ACCESS: self.access,
        }
        return Region(
            name=name,
            kind=self.kind,
            bus_width=self.bus_width,
            times={operation: time.to_model() for operation, time in times.items() if time},
            clock=self.clock,
            base=self.base,
            size=self.size,
            note=self.note,
            clock_divider=self.clock_divider,
            refresh=self.refresh.to_model() if self.refresh else None,
            arbitration=self.arbitration.to_model() if self.arbitration else None,
            line_refill=self.line_refill,
            load_miss_penalty=self.load_miss_penalty,
        )


class CacheDoc(YamlModel):
    """Lines, size and ways of a cache."""

    line: LineBytes = Field(description="bytes of a line: 16, 32, 64 or 128")
    size: Size = Field(description="of the whole cache: `4 KiB`")
    ways: Ways = Field(description="lines that a set holds; 1: direct mapped")
    replacement: Replacement | None = Field(
        None, description="which line of a set goes; needed where there are several ways"
    )

    def geometry(self) -> CacheGeometry:
        return CacheGeometry(self.line, self.size // (self.line * self.ways), self.ways)


class DataCacheDoc(CacheDoc):
    """Loads fill it, stores go through it and load nothing."""

    load_behind_store: Time | None = Field(
        None,
        description="what a load takes more that hits and is carried out again, because a store to "
        "the same bytes goes right before it; absent: none is",
    )

    def to_model(self) -> DataCache:
        return DataCache(self.geometry(), self.load_behind_store)


class FetchesAheadDoc(YamlModel):
    """How far a core with a prefetch buffer fetches ahead, in bytes, at most."""

    behind: BytesAhead = Field(description="behind the instruction that executes")
    speculative: BytesAhead = Field(
        description="at the target of a direct branch that need not be taken; 0: not before it is"
    )

    def to_model(self) -> FetchBuffer:
        return FetchBuffer(self.behind, self.speculative)


class InstructionCacheDoc(CacheDoc):
    """A cache that instructions are fetched from."""

    hides_stalls: Boolean = Field(
        False,
        description="while a line is loaded, what its first instruction and the one before it wait "
        "for beside fetches arrives",
    )
    hides_accesses: Annotated[Integer, Field(ge=0, le=MOST_MEANWHILE)] = Field(
        0,
        description="of so many instructions before the one that a line is loaded for, the data "
        "accesses come when the line has been asked for, so that both are waited for at once; of "
        "other memories than the line's; writes around it go on meanwhile, too",
    )
    in_vain_saves: Time | None = Field(
        None,
        description="what a line that is loaded in vain costs less, beside the cycles that it "
        "began before control is transferred; without it, nothing",
    )
    fetches_ahead: FetchesAheadDoc | None = Field(
        None,
        description="of a core with a prefetch buffer, how far it fetches; lines are counted for "
        "as far as the characterization says",
    )


def _priced(kind: EventKind) -> EventKind:
    if kind.is_line_entry:
        raise InputError(
            f"`{kind.value}` has no price of its own",
            expected="`instruction cache` of the core and `line refill` of regions",
        )
    if kind.is_of_data_cache:
        raise InputError(
            f"`{kind.value}` has no price of its own",
            expected="`data cache` of the core and `load miss penalty` of regions",
        )
    if kind.is_realigned:
        raise InputError(
            f"`{kind.value}` has the price of `{kind.priced_as.value}`",
            expected=f"`{kind.priced_as.value}` alone",
            hint="leave it out",
        )
    return kind


PricedEvent = Annotated[
    EventKind,
    AfterValidator(in_place(_priced)),
    WithJsonSchema(
        {
            "type": "string",
            "enum": [
                kind.value for kind in EventKind if not (kind.is_of_cache or kind.is_realigned)
            ],
        }
    ),
]


OTHER_EVENTS: Final[tuple[EventKind, ...]] = tuple(
    kind
    for kind in EventKind
    if not (kind.is_stall or kind.is_of_cache)
    and kind not in NO_MORE_THAN  # has the price of another one
)
"""Events that have the time of `other events` where they have none of their own."""


class CoreDoc(YamlModel):
    """The core: its clock, and what its events take."""

    name: Text = Field(description="name of the core")
    clock: Frequency = Field(description="of the core")
    events: dict[PricedEvent, Time] = Field(
        default_factory=dict, description="time of each core event beside the accesses it makes"
    )
    other_events: Time | None = Field(
        None, description="time of every event that `events` does not name"
    )
    overlap: dict[Operation, Time] = Field(
        default_factory=dict,
        description="how much of each access is hidden behind the event that makes it",
    )
    discarded_fetches: dict[PricedEvent, FetchCount] = Field(
        default_factory=dict, description="fetches that an event may start and throw away"
    )
    least_width: dict[Operation, Width] = Field(
        default_factory=dict, description="bits that an access of the core moves at least"
    )
    data_width: Width = Field(64, description="bits that an access of the core moves at most")
    write_buffer: WriteBuffer = Field(
        0, description="writes that may be under way while the core goes on"
    )
    accesses_in_vain: Boolean = Field(
        True,
        description="an access that was fetched in vain, behind a transfer of control, may wait "
        "for a write that is under way, and hold the fetch unit",
    )
    instruction_cache: InstructionCacheDoc | None = Field(
        None, description="lines, size and ways; each region that it holds has a `line refill`"
    )
    data_cache: DataCacheDoc | None = Field(
        None,
        description="lines, size and ways of one that stores go through; each region that it holds "
        "has a `load miss penalty`",
    )

    def to_model(self) -> Core:
        events = dict(self.events)
        if self.other_events is not None:
            events = dict.fromkeys(OTHER_EVENTS, self.other_events) | events
        cache = self.instruction_cache
        return Core(
            self.name,
            self.clock,
            events,
            dict(self.overlap),
            dict(self.discarded_fetches),
            dict(self.least_width),
            self.write_buffer,
            self.data_width,
            None if cache is None else cache.geometry(),
            cache is not None and cache.hides_stalls,
            0 if cache is None else cache.hides_accesses,
            None if cache is None else cache.in_vain_saves,
            cache.fetches_ahead.to_model() if cache and cache.fetches_ahead else None,
            None if self.data_cache is None else self.data_cache.to_model(),
            self.accesses_in_vain,
        )


class ProfileDoc(YamlModel):
    """A hardware profile: what each access and each core event costs."""

    schema_: Literal["wcetchar/hardware-profile/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    name: Text = Field(description="name of the hardware")
    description: Text = Field("", description="what it describes, in words")
    core: CoreDoc = Field(description="the core's clock and timing")
    regions: dict[Text, RegionDoc] = Field(description="memories and peripherals by name")
    default_map: dict[Text, Text] = Field(
        default_factory=dict, description="logical section to region; a section map overrides it"
    )

    def to_model(self) -> HardwareProfile:
        return HardwareProfile(
            name=self.name,
            description=self.description,
            core=self.core.to_model(),
            regions={name: region.to_model(name) for name, region in self.regions.items()},
            default_map=dict(self.default_map),
        )


def load_profile(name_or_path: str) -> HardwareProfile:
    """Read a hardware profile by shipped name (``renaux2010/platform1``) or by path.

    Raises:
        InputError: no such profile, or mistakes in it or in one that it is based on; all of them at
            once as ``InputErrors``.
    """
    return profile_of(with_base(read_document(profile_path(name_or_path), PROFILE)))


def parse_profile(text: str, path: str) -> HardwareProfile:
    """The profile that a text says, of a file of that path. Raises as :func:`load_profile`."""
    return profile_of(with_base(parse_yaml(text, path)))


def profile_of(source: Source) -> HardwareProfile:
    """The profile that a document says. Raises as :func:`load_profile`."""
    checks = (_check_regions, _check_overlaps, _check_default_map, _check_caches, check_busy)
    document = validate(ProfileDoc, source, checks)
    source.fail_on_mistakes()
    assert document is not None
    return document.to_model()


def _check_regions(source: Source) -> None:
    regions = mapping_at(source.data, "regions")
    if "regions" in mapping_at(source.data) and regions == {}:
        source.report(("regions",), "there is no region", expected="at least one memory")
    for name, region in regions.items():
        if not isinstance(region, dict):
            continue
        if not region.keys() & {operation.value for operation in Operation}:
            source.report(
                ("regions", name),
                f"nothing can be done in the region {shown(name)}",
                expected="at least one of fetch, read, write, access",
            )
        if "clock divider" in region and "clock" in region:
            source.report(
                ("regions", name, "clock divider"),
                f"the region {shown(name)} has a clock of its own",
                expected="a clock, or a divider of the core's",
                key=True,
            )
        given = region.keys() & {"base", "size"}
        if len(given) == 1:
            (one,) = given
            source.report(
                ("regions", name, one),
                f"the region {shown(name)} has a {one} only",
                expected="base and size, or neither",
                key=True,
            )


def _check_caches(source: Source) -> None:
    _check_cache(source, "instruction cache", "line refill", "code", "fetch")
    _check_cache(source, "data cache", "load miss penalty", "data", "load")
    for name, region in mapping_at(source.data, "regions").items():
        if isinstance(region, dict) and {"access", "load miss penalty"} <= region.keys():
            source.report(
                ("regions", name, "access"),
                "an access of unknown direction may be a load that misses, and its time does not "
                "say so",
                expected="`read` and `write` alone where data are cached",
                hint="leave it out: the dearer of the two is taken",
                key=True,
            )


def _check_cache(source: Source, name: str, price: str, holds: str, access: str) -> None:
    core = mapping_at(source.data, "core")
    cache = mapping_at(core, name)
    filled = [
        region_name
        for region_name, region in mapping_at(source.data, "regions").items()
        if isinstance(region, dict) and price in region
    ]
    if name not in core:
        for region_name in filled:
            source.report(
                ("regions", region_name, price),
                f"the core has no {name}",
                expected=f"`{name}` under core, or no `{price}`",
                key=True,
            )
        return
    if not filled:
        source.report(
            ("core", name),
            f"no region says what {'loading a line takes' if holds == 'code' else 'a miss takes'}",
            expected=f"`{price}` in each region that the cache holds {holds} of",
            key=True,
        )
    line, ways = cache.get("line"), cache.get("ways")
    try:
        size = parse_size(cache.get("size"))
    except InputError:
        return
    if not isinstance(line, int) or line not in LINE_BYTES or not isinstance(ways, int):
        return
    sets, rest = divmod(size, line * ways) if ways > 0 else (0, 0)
    if rest or sets < 1 or sets & (sets - 1):
        source.report(
            ("core", name, "size"),
            f"{size} bytes are no whole number of sets of {ways} lines of {line} bytes that is a "
            "power of two",
            expected="size = line * ways * sets, with sets a power of two",
        )
    if ways > 1 and "replacement" not in cache:
        source.report(
            ("core", name, "ways"),
            "which line of a set is replaced is not said",
            expected="`replacement: lru`",
            hint=f"another policy than LRU is not known here: leave the cache out, and price each "
            f"{access} as one that misses",
        )


def _extents(source: Source) -> Iterator[tuple[int, int, str]]:
    """(first, end, name) of every region whose base and size can be read."""
    for name, region in mapping_at(source.data, "regions").items():
        try:
            base, size = _address(region["base"]), parse_size(region["size"])
        except (InputError, KeyError, TypeError):
            continue
        yield base, base + size, name


def _check_overlaps(source: Source) -> None:
    extents = sorted(_extents(source))
    # The region that reaches furthest so far: with it every overlap shows at least once.
    reach: tuple[int, int, str] | None = None
    for extent in extents:
        base, end, name = extent
        if end > _ADDRESS_SPACE:
            source.report(
                ("regions", name, "size"),
                f"the region {shown(name)} ends beyond the address space",
                expected="an end of at most 2^64",
            )
        if reach is not None and base < reach[1]:
            source.report(
                ("regions", name, "base"),
                f"the region {shown(name)} ({base:#x}..{end - 1:#x}) overlaps the region "
                f"{shown(reach[2])} ({reach[0]:#x}..{reach[1] - 1:#x}, "
                f"{source.where(('regions', reach[2], 'base'))})",
                expected="regions that do not share an address",
            )
        if reach is None or end > reach[1]:
            reach = extent


def _check_default_map(source: Source) -> None:
    regions = list(mapping_at(source.data, "regions"))
    for section, region in mapping_at(source.data, "default map").items():
        if isinstance(region, str) and region not in regions:
            source.report(
                ("default map", section),
                f"there is no region {shown(region)}",
                expected=one_of(regions),
                hint=did_you_mean(region, regions),
            )
