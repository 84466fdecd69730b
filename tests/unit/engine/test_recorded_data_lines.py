"""The page's evaluator against the estimate where a data cache is cold or warm, and the map says
where data lie: loads that miss are told by lines, and which way of telling them is the shorter one
hangs on prices."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from evaluator_cases import Both, Case, InMemory, compared
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from needs import need
from test_data_cache import LOAD, OWN, PROMISED, board, lines
from test_data_lines import SETS, at, line, uses
from test_pricing import kernel

from wcetchar.errors import InputError
from wcetchar.formula import parse
from wcetchar.model.access import AccessClass, AccessVector, CoreEvent, Operation
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    DataFootprint,
    Evidence,
    Joint,
    LineBehind,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
    UsedLine,
    UsedLines,
    Word,
)
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import Parameter, ParameterKind, Part, SectionKind, ServiceKind

SECTIONS = {"heap": 0x100, "table": 0x2000, "stack": 0x1000}
PLACES = {"heap": "ram", "table": "flash", "stack": "ram", ".text": "tcm"}
PARAMETERS = (
    Parameter("N", ParameterKind.STATE, 0, 3, "how many"),
    Parameter("c", ParameterKind.CASE, 0, 1, "which"),
)
POINTS = tuple((n, c) for n in range(4) for c in range(2))
FORMULAS = ("1", "N", "c + 1", "max(N - 1, 0)", "(c == 0)*N")
joints = st.none() | st.frozensets(st.sampled_from(Joint))
numbers = st.integers(0, 11)
"""Of lines; a set has those that are eight apart."""


@st.composite
def vectors(draw: st.DrawFn) -> AccessVector:
    """Reads of each section, and of these how many may miss: fewer with more ways."""
    found: dict[AccessClass | CoreEvent, int] = {LOAD: draw(st.integers(0, 9))}
    for section in draw(st.sets(st.sampled_from([*SECTIONS]), min_size=1)):
        counted = sorted((draw(st.integers(0, 6)) for _ in range(3)), reverse=True)
        found[AccessClass(section, Operation.READ, 32)] = counted[0] + draw(st.integers(0, 4))
        for ways, number in zip((1, 2, 4), counted, strict=True):
            found[lines(ways, section=section)] = number
            found[lines(ways, emptied=True, section=section)] = draw(st.integers(0, 2))
    return AccessVector(found)


@st.composite
def used(draw: st.DrawFn) -> UsedLines:
    """Some lines of each section, so that nothing is missing; how often one is loaded again behind
    another one is said of some."""
    found = {}
    for section in SECTIONS:
        for number in draw(st.sets(numbers, min_size=1, max_size=4)):
            loads = draw(st.integers(1, 5))
            one = UsedLine(32, section, number, loads, draw(st.integers(0, loads)))
            found[section, number] = one
    pairs = st.tuples(st.sampled_from(sorted(found)), st.sampled_from(sorted(found)))
    behind = {
        pair: LineBehind(32, *pair, draw(st.integers(0, 3)))
        for pair in draw(st.lists(pairs, max_size=3))
        if pair[0] != pair[1]
    }
    words = (("stack", draw(st.integers(1, 3))),) if draw(st.booleans()) else ()
    return UsedLines(tuple(found.values()), words, draw(st.integers(0, 1)), tuple(behind.values()))


@st.composite
def counts(draw: st.DrawFn) -> Counts:
    some = draw(st.lists(st.sampled_from(FORMULAS), min_size=1, max_size=3))
    blockings = st.sampled_from((Blocking(), Blocking(interrupts=True)))
    return Counts(tuple(TraceSection(draw(blockings), draw(vectors()), parse(one)) for one in some))


@st.composite
def kernels(draw: st.DrawFn) -> Characterization:
    """Services of which lines are told at some values, or at none; stretches with and without."""
    services = []
    for name in ("a", "b"):
        stretches = tuple(
            BlockingStretch(
                draw(st.sampled_from(StretchKind)),
                f"{name}+{place}",
                "its end",
                draw(counts()),
                goes_on_from=draw(joints),
                goes_on_in=draw(joints),
                data=draw(st.none() | used()),
            )
            for place in range(draw(st.integers(0, 2)))
        )
        points = draw(st.lists(st.sampled_from(POINTS), max_size=8, unique=True))
        cut = draw(st.integers(0, len(points)))
        footprints = tuple(
            DataFootprint(tuple(some), draw(used()))
            for some in (points[:cut], points[cut:])
            if some
        )
        services.append(
            ServiceCharacterization(
                name,
                ServiceKind.CALL,
                Word.HIGH_WATER_MARK,
                PARAMETERS,
                draw(counts()),
                stretches,
                evidence=Evidence(fitted=tuple(points)),
                stretches_known=draw(st.booleans()),
                part=draw(st.sampled_from(Part)),
                data=footprints,
            )
        )
    return replace(
        kernel(),
        services=tuple(services),
        stalls=STALL_EDITION,
        data_lines=(32,),
        sections=tuple(
            SectionInfo(name, SectionKind.DATA, "", begin) for name, begin in SECTIONS.items()
        ),
    )


placed = st.dictionaries(
    st.sampled_from([*SECTIONS]), st.integers(0, 40).map(lambda line: line * 32), max_size=3
)


@given(
    kernels(),
    placed,
    st.sampled_from([CacheState.WARM, CacheState.WARM, CacheState.COLD]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([None, 0, 3]),
    st.integers(0, 10**6),
)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate),
)
def test_the_page_finds_what_the_estimate_finds(
    known: Characterization,
    moved: dict[str, int],
    state: CacheState,
    ways: int,
    again: int | None,
    seed: int,
) -> None:
    need("node", "nodejs")
    # Each section may lie where it did, or lines further, and none over another.
    apart = {name: 0x10000 * place + by for place, (name, by) in enumerate(moved.items())}
    addresses = {name: SECTIONS[name] + by for name, by in apart.items()}
    where = SectionMap(
        "map",
        PLACES,
        assumptions=PROMISED,
        addresses=addresses,
        data_cache=state,
        parameters={"N": 2},
    )
    try:
        both = Both(known, InMemory(board(ways, again)), where)
    except InputError:
        return  # no estimate either
    inside, reasons = compared(both, both.random_cases(24, random.Random(seed), of_each=4))
    assert inside + len(reasons) == 24


@pytest.mark.parametrize(
    ("state", "found", "misses"),
    [
        (CacheState.COLD, (line(0, 3), line(1, 2)), 2),
        (CacheState.WARM, (line(0, 3), line(1, 2)), 0),
        (CacheState.COLD, (line(0, 3), line(SETS, 1)), 3),
        (CacheState.WARM, (line(0, 3), line(SETS, 1)), 3),
    ],
)
def test_misses_counted_by_hand(
    state: CacheState, found: tuple[UsedLine, ...], misses: int
) -> None:
    """At a miss that takes 20 cycles and not 14."""
    need("node", "nodejs")
    both = Both(uses(*found), InMemory(board()), at(state=state))
    numbers = {"regions.ram.load miss penalty": "20 cycles"}
    (page,) = both.javascript([Case("svc", {}, numbers)])
    assert page["outside"] is None
    assert (page["total"]["num"], page["total"]["den"]) == (str(OWN + misses * 200), "1")
