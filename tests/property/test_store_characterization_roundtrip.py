"""Random characterizations: what is written reads back, and has one text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wcetchar.model.access import (
    LINE_LOADS,
    WAYS_OF_LINE_LOADS,
    WIDTHS,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    CodeRange,
    Conservation,
    Counts,
    DataFootprint,
    EnteredLine,
    Evidence,
    Footprint,
    LineAfter,
    LinesInVain,
    Place,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchCode,
    StretchKind,
    TablePoint,
    TraceProvenance,
    TraceSection,
    UsedLine,
    UsedLines,
    Word,
)
from wcetchar.model.expression import (
    ONE,
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Comparison,
    Expression,
    Function,
    Name,
    Number,
)
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.service import Kernel, Parameter, ParameterKind, Part, SectionKind, ServiceKind
from wcetchar.store import characterization_json, load_characterization

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
NAME = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6)
IDENTIFIER = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: name not in {f.value for f in Function}
)
COUNT = st.integers(1, 2**63 - 1)
NATURAL = st.integers(0, 2**40)
PLACES = st.integers(-(10**6), 10**12 - 10**7)
PLACE = st.builds(Place, NAME, NATURAL, TEXT, NATURAL, TEXT, NATURAL)
BLOCKING = st.builds(
    Blocking, st.booleans(), st.none() | st.integers(0, 255), st.booleans(), st.booleans()
)

# Those need all others of their size as well: `with_line_loads`.
WITHOUT_CACHES_OF_DATA = [kind for kind in EventKind if not kind.is_of_data_cache]


def few(strategy: st.SearchStrategy, most: int = 3) -> st.SearchStrategy:
    return st.lists(strategy, max_size=most).map(tuple)


def expressions(names: tuple[str, ...]) -> st.SearchStrategy[Expression]:
    leaves: st.SearchStrategy[Expression] = st.builds(Number, st.integers(0, 1000))
    if names:
        leaves |= st.builds(Name, st.sampled_from(names))
    plain = st.sampled_from([BinaryOperator.ADD, BinaryOperator.SUBTRACT, BinaryOperator.MULTIPLY])

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        divided = st.builds(
            Binary, st.just(BinaryOperator.DIVIDE), inner, st.builds(Number, st.integers(1, 64))
        )
        return (
            st.builds(Binary, plain, inner, inner)
            | st.builds(Compare, st.sampled_from(Comparison), inner, inner)
            | st.builds(
                lambda f, a, b: Call(f, (a, b)),
                st.sampled_from([Function.MIN, Function.MAX]),
                inner,
                inner,
            )
            | st.builds(
                lambda f, a: Call(f, (a,)),
                st.sampled_from([Function.CEIL, Function.FLOOR]),
                divided,
            )
        )

    return st.recursive(leaves, grow, max_leaves=6)


LOADS_AND_FRESH = st.just((0, 0)) | st.integers(1, 10**18 - 1).flatmap(
    lambda loads: st.tuples(st.just(loads), st.integers(1, loads))
)


def with_line_loads(vector: AccessVector, sizes: tuple[int, ...]) -> AccessVector:
    """What reads counts line loads of every size that the file names."""
    reads = (Operation.READ, Operation.ACCESS)
    section = next(
        (k.section for k in vector if isinstance(k, AccessClass) and k.operation in reads), None
    )
    if section is None:
        return vector
    loads = [LINE_LOADS[size, ways][0] for size in sizes for ways in WAYS_OF_LINE_LOADS]
    return vector + AccessVector({CoreEvent(section, kind): 1 for kind in loads})


def used_lines(placed: tuple[str, ...], sizes: tuple[int, ...]) -> st.SearchStrategy[UsedLines]:
    """Of sections with an address, and lines of sizes that the file names."""
    lines: st.SearchStrategy[tuple[UsedLine, ...]] = st.just(())
    if placed and sizes:
        where = st.tuples(
            st.sampled_from(sizes), st.sampled_from(placed), st.integers(0, 10**12 - 1)
        )
        lines = st.dictionaries(where, LOADS_AND_FRESH, min_size=1, max_size=5).map(
            lambda found: tuple(
                sorted(UsedLine(*line, *counted) for line, counted in found.items())
            )
        )
    words: st.SearchStrategy[tuple[tuple[str, int], ...]] = st.just(())
    if placed:
        words = st.dictionaries(st.sampled_from(placed), COUNT, max_size=2).map(
            lambda found: tuple(sorted(found.items()))
        )
    return st.builds(UsedLines, st.just(()) | lines, words, st.just(0) | COUNT)


def footprints(
    values: st.SearchStrategy[tuple[int, ...]], used: st.SearchStrategy[UsedLines]
) -> st.SearchStrategy[tuple[DataFootprint, ...]]:
    """No point is in two of them."""

    def dealt(points: list[tuple[int, ...]], most: list[UsedLines]) -> tuple[DataFootprint, ...]:
        return tuple(
            DataFootprint(tuple(points[number :: len(most)]), one)
            for number, one in enumerate(most)
        )

    return st.builds(dealt, st.lists(values, max_size=4, unique=True), st.lists(used, max_size=3))


@st.composite
def stretch_code(
    draw: st.DrawFn, values: st.SearchStrategy[tuple[int, ...]], placed: tuple[str, ...]
) -> StretchCode:
    """Of sections with an address; no point is in two footprints."""
    sizes = st.sampled_from(LINE_BYTES)
    chosen = sorted(draw(st.sets(st.sampled_from(placed), max_size=2))) if placed else []
    ranges = tuple(
        CodeRange(section, start, start + size)
        for section in chosen
        for start, size in [draw(st.tuples(PLACES, st.integers(1, 10**6)))]
    )

    def lines() -> Iterator[tuple[int, str, int]]:
        if chosen:
            of = st.tuples(sizes, st.sampled_from(chosen), PLACES)
            yield from sorted(draw(st.sets(of, max_size=3)))

    points = draw(st.lists(values, max_size=2, unique=True))
    footprints = tuple(
        Footprint(
            (point,),
            ranges,
            tuple(EnteredLine(*line, draw(st.integers(2, 10**9))) for line in lines()),
            draw(NATURAL),
            in_vain=tuple(
                LinesInVain(size, section, place % 1000, draw(st.integers(1, 9)))
                for size, section, place in lines()
            )[:1],
            after=tuple(LineAfter(*line) for line in lines()),
        )
        for point in points
    )
    masked_by = (draw(st.sampled_from(chosen)), draw(PLACES)) if chosen else None
    return StretchCode(ranges, draw(NATURAL), masked_by, footprints)


@st.composite
def services(
    draw: st.DrawFn,
    name: str,
    sections: tuple[str, ...],
    placed: tuple[str, ...],
    sizes: tuple[int, ...],
) -> ServiceCharacterization:
    """``placed``: sections with an address; ``sizes``: of lines of data that are counted."""
    names = tuple(draw(st.lists(IDENTIFIER, max_size=2, unique=True)))
    section = st.sampled_from(sections)
    accesses = st.builds(
        AccessClass,
        section,
        st.sampled_from(Operation),
        st.sampled_from(WIDTHS),
        st.sampled_from(Pattern),
    )
    events = st.builds(CoreEvent, section, st.sampled_from(WITHOUT_CACHES_OF_DATA))
    between = st.dictionaries(events, st.integers(1, 1000), max_size=3)
    successions = st.builds(
        Succession,
        st.none() | accesses,
        between.map(lambda found: tuple(found.items())),
        st.integers(0, 1000),
        st.booleans(),
        st.none() | accesses,
    )
    keys: st.SearchStrategy[Key] = accesses | events | successions
    vectors = st.dictionaries(keys, COUNT, max_size=4).map(
        lambda counts: with_line_loads(AccessVector(counts), sizes)
    )
    values = st.tuples(*(st.integers(-(2**40), 2**40) for _ in names))
    rows = few(st.builds(TraceSection, BLOCKING, vectors, expressions(names)))
    point_rows = few(st.builds(TraceSection, BLOCKING, vectors, st.just(ONE)), 2)
    points = st.dictionaries(values, point_rows, min_size=1, max_size=3).map(
        lambda table: Counts(points=tuple(TablePoint(v, table[v]) for v in sorted(table)))
    )
    counts = st.builds(Counts, rows) | points
    bounds = st.tuples(st.integers(-50, 50), st.integers(0, 50))
    used = used_lines(placed, sizes)
    data = draw(st.none() | footprints(values, used))  # first, while there is room for much
    stretches = st.builds(
        BlockingStretch,
        st.sampled_from(StretchKind),
        TEXT,
        TEXT,
        counts,
        code=st.none() | stretch_code(values, placed),
        data=st.none() | used,
    )
    return ServiceCharacterization(
        name=name,
        kind=draw(st.sampled_from(ServiceKind)),
        part=draw(st.sampled_from(Part)),
        word=draw(st.sampled_from(Word)),
        parameters=tuple(
            Parameter(n, draw(st.sampled_from(ParameterKind)), low, low + span, draw(TEXT))
            for n in names
            for low, span in [draw(bounds)]
        ),
        counts=draw(counts),
        stretches=draw(few(stretches, 2)),
        description=draw(TEXT),
        worst_state=draw(TEXT),
        evidence=draw(st.builds(Evidence, NATURAL, few(values), few(values))),
        notes=draw(few(TEXT)),
        stretches_known=draw(st.booleans()),
        data=data,
        place=draw(st.none() | PLACE),
    )


@st.composite
def characterizations(draw: st.DrawFn) -> Characterization:
    sections = tuple(draw(st.lists(NAME, min_size=1, max_size=4, unique=True)))
    placed = sections[: draw(st.integers(1, len(sections)))]
    addresses = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(placed, NATURAL)))
    sizes = tuple(draw(st.lists(st.sampled_from(LINE_BYTES), max_size=3, unique=True)))
    either = st.lists(st.sampled_from(placed), min_size=1, unique=True).map(tuple)
    parts = st.lists(st.tuples(TEXT, NATURAL), max_size=3).map(tuple)
    attributed, unattributed = draw(parts), draw(parts)
    traced = sum(n for _, n in (*attributed, *unattributed))
    conservation = Conservation(traced, draw(NATURAL), draw(NATURAL), attributed, unattributed)
    optional = st.none() | TEXT
    return Characterization(
        kernel=draw(st.builds(Kernel, TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3))),
        architecture=draw(TEXT),
        fetch_width=draw(st.sampled_from([8, 16, 32, 64])),
        sections=tuple(
            SectionInfo(
                name,
                draw(st.sampled_from(SectionKind)),
                draw(TEXT),
                addresses.get(name),
                either_of=() if name in placed else draw(either),
            )
            for name in draw(st.permutations(sections))
        ),
        services=tuple(
            draw(services(name, (*sections, "?"), tuple(addresses), sizes))
            for name in draw(st.lists(NAME, max_size=3, unique=True))
        ),
        provenance=draw(
            st.builds(
                Provenance,
                TEXT,
                st.none() | st.from_regex("[0-9a-f]{64}", fullmatch=True),
                optional,
                optional,
                few(st.builds(TraceProvenance, TEXT, optional, optional, few(TEXT), few(TEXT)), 2),
            )
        ),
        conservation=draw(st.sampled_from([None, conservation])),
        assumptions=draw(few(TEXT)),
        successions=True,
        data_lines=sizes,
        fetch_buffer=draw(st.none() | st.builds(FetchBuffer, NATURAL, NATURAL)),
    )


@st.composite
def characterizations_of_data(draw: st.DrawFn) -> Characterization:
    """With little else, so that there is room for many lines."""
    placed = tuple(draw(st.lists(NAME, min_size=1, max_size=3, unique=True)))
    sizes = draw(st.lists(st.sampled_from(LINE_BYTES), min_size=1, unique=True))
    used = used_lines(placed, tuple(sizes))
    names = ("N", "M")[: draw(st.integers(0, 2))]
    values = st.tuples(*(st.integers(-3, 3) for _ in names))
    blocked = st.builds(
        BlockingStretch, st.sampled_from(StretchKind), TEXT, TEXT, st.just(Counts()), data=used
    )
    service = ServiceCharacterization(
        "s",
        ServiceKind.CALL,
        Word.BOUND,
        tuple(Parameter(name, ParameterKind.STATE, -3, 3, "") for name in names),
        Counts(),
        draw(few(blocked, 2)),
        data=draw(footprints(values, used)),
    )
    return Characterization(
        kernel=Kernel("", "", {}),
        architecture="",
        fetch_width=32,
        sections=tuple(
            SectionInfo(name, SectionKind.DATA, address=draw(NATURAL)) for name in placed
        ),
        services=(service,),
        provenance=Provenance(""),
        data_lines=tuple(sizes),
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("roundtrip") / "c.json"


def check(characterization: Characterization, path: Path) -> None:
    text = characterization_json(characterization)
    assert text.endswith("}\n")
    assert json.loads(text)["schema_version"] == 1
    path.write_bytes(text.encode())
    again = load_characterization(str(path))
    assert again == characterization
    assert characterization_json(again) == text


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(characterization=characterizations())
def test_round_trip(path: Path, characterization: Characterization) -> None:
    check(characterization, path)


@settings(max_examples=200)
@given(characterization=characterizations_of_data())
def test_round_trip_of_what_is_used(path: Path, characterization: Characterization) -> None:
    check(characterization, path)
