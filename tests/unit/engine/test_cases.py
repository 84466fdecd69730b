"""Of cases that are not given the dearest is taken: against every case priced on its own."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine import Following, estimate, estimate_given, price_vector
from wcetchar.engine.versus import Metric, Side, common_ranges, versus
from wcetchar.errors import InputError
from wcetchar.formula import parse
from wcetchar.model.access import AccessClass, AccessVector, Operation, Pattern
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Evidence,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
    Word,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import (
    AccessTime,
    Core,
    HardwareProfile,
    Quantity,
    Region,
    RegionKind,
    Unit,
)
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, Parameter, ParameterKind, SectionKind, ServiceKind

KEYS = tuple(AccessClass(s, Operation.READ, 32, Pattern.SINGLE) for s in (".near", ".far"))
N = Parameter("N", ParameterKind.STATE, 0, 3, "elements")
CASE = Parameter("case", ParameterKind.CASE, 0, 2, "0: below; 1: above; 2: nowhere")

Counted = dict[int, tuple[int, int, int]]
"""Of each case: accesses once to each section, and to the first for each element."""


def rows(cases: Counted) -> Counts:
    found = []
    for case, (near, far, each) in cases.items():
        vector = AccessVector({k: n for k, n in zip(KEYS, (near, far), strict=True) if n})
        found.append(TraceSection(Blocking(), vector, parse(f"case == {case}")))
        if each:
            vector = AccessVector({KEYS[0]: each})
            found.append(TraceSection(Blocking(), vector, parse(f"(case == {case})*N")))
    return Counts(rows=tuple(found))


def service(total: Counted, masked: Counted, name: str = "s") -> ServiceCharacterization:
    observed = tuple((case, n) for case in range(3) for n in range(4))
    return ServiceCharacterization(
        name,
        ServiceKind.CALL,
        Word.HIGH_WATER_MARK,
        (CASE, N),
        rows(total),
        (
            BlockingStretch(
                StretchKind.INTERRUPTS, "a", "b", rows(masked), None, None, frozenset(), frozenset()
            ),
        ),
        evidence=Evidence(12, observed),
    )


def kernel(*services: ServiceCharacterization) -> Characterization:
    sections = tuple(SectionInfo(key.section, SectionKind.DATA) for key in KEYS)
    return Characterization(Kernel("k", "1"), "armv4t", 32, sections, services, Provenance("t"))


def hardware(near: int, far: int) -> tuple[HardwareProfile, SectionMap]:
    def of(latency: int) -> dict[Operation, AccessTime]:
        time = Quantity.exactly(latency, Unit.NANOSECONDS)
        return {Operation.READ: AccessTime(time, time)}

    regions = {
        name: Region(name, RegionKind.MEMORY, 32, of(latency))
        for name, latency in (("near", near), ("far", far))
    }
    core = Core("c", Quantity.exactly(10**9, Unit.HERTZ), {})
    return HardwareProfile("h", "", core, regions), SectionMap(
        "m", {".near": "near", ".far": "far"}
    )


counted = st.fixed_dictionaries(
    {case: st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)) for case in range(3)}
)


@given(counted, counted, st.integers(1, 9), st.integers(1, 9), st.integers(0, 3))
def test_the_dearest_case(total: Counted, masked: Counted, near: int, far: int, n: int) -> None:
    kernel_ = kernel(service(total, masked))
    profile, section_map = hardware(near, far)

    def at(**values: int) -> Estimate:
        return estimate(kernel_, "s", profile, section_map, values)

    def price(cases: Counted, case: int) -> Fraction:
        once, beyond, each = cases[case]
        return Fraction(near * (once + each * n) + far * beyond)

    found, told = at(N=n), [at(N=n, case=case) for case in range(3)]
    assert [e.total.high for e in told] == [price(total, case) for case in range(3)]
    assert found.total.high == max(e.total.high for e in told)
    assert found.parameters["case"] == max(range(3), key=lambda c: told[c].total.high)
    assert found.blocking_interrupts.high == max(price(masked, case) for case in range(3))
    assert found.word is Word.HIGH_WATER_MARK
    assert sum(row.time.high for row in found.rows) == found.total.high
    # Rows of cases that do not hold are nobody's business.
    assert all(f"case == {found.parameters['case']}" in row.repetition for row in found.rows)
    assert any("is the dearest case of all (0: below" in note for note in found.notes)
    assert not any("dearest case" in note for note in told[0].notes)


def test_other_values_are_still_needed() -> None:
    only = dict.fromkeys(range(3), (1, 0, 0))
    profile, section_map = hardware(1, 1)
    with pytest.raises(InputError, match="needs a value for N"):
        estimate(kernel(service(only, only)), "s", profile, section_map, {})
    with pytest.raises(InputError, match=r"case of s .* is out of range: 3"):
        estimate(kernel(service(only, only)), "s", profile, section_map, {"N": 1, "case": 3})


@given(counted, counted, st.integers(1, 9), st.integers(1, 9))
def test_the_maximum_is_over_cases_too(
    total: Counted, masked: Counted, near: int, far: int
) -> None:
    kernel_ = kernel(service(total, masked))
    prices = price_vector(kernel_, *hardware(near, far))
    following = Following(kernel_, prices)
    found = estimate_given(kernel_.services[0], prices, {}, following, maximum=True)
    every = [
        estimate_given(kernel_.services[0], prices, {"N": n, "case": case}, following)
        for n in range(4)
        for case in range(3)
    ]
    assert found.total.high == max(e.total.high for e in every)
    assert found.blocking_interrupts.high == max(e.blocking_interrupts.high for e in every)


@given(counted, counted, st.integers(1, 9), st.integers(1, 9), st.none() | st.integers(0, 2))
def test_each_side_of_a_comparison_takes_its_dearest(
    one: Counted, other: Counted, near: int, far: int, fixed: int | None
) -> None:
    nothing = dict.fromkeys(range(3), (0, 0, 0))
    kernels = [kernel(service(counts, nothing)) for counts in (one, other)]
    sides = [Side(k.services[0], price_vector(k, *hardware(near, far))) for k in kernels]
    given_ = {} if fixed is None else {"case": fixed}
    ranges = common_ranges([side.service for side in sides], given_)
    assert [r.name for r in ranges] == (["N"] if fixed is None else ["case", "N"])
    total = next(m for m in versus(sides, ranges, 0) if m.metric is Metric.TOTAL)
    cases = range(3) if fixed is None else [fixed]

    def dearest(counts: Counted, n: int) -> int:
        return max(near * (counts[c][0] + counts[c][2] * n) + far * counts[c][1] for c in cases)

    pairs = [(dearest(one, n), dearest(other, n)) for n in range(4)]
    (against,) = total.against
    assert against.slower == sum(b > a for a, b in pairs)
    assert against.faster == sum(b < a for a, b in pairs)
