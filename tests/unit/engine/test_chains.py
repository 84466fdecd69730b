"""Chains of stretches: by hand, and against every chain there is, written down one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar import formula
from wcetchar.engine import Following, estimate_at, price_vector, worst_parameters
from wcetchar.engine.versus import Side, common_ranges, versus
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.chain import Candidate, Chains, Gap
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Evidence,
    Joint,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
    Word,
)
from wcetchar.model.estimate import Chain, Estimate
from wcetchar.model.hardware import Core, HardwareProfile, Quantity, Region, RegionKind, Unit
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, Parameter, ParameterKind, SectionKind, ServiceKind
from wcetchar.model.versus import Metric

H, T, C = Joint.HANDLER, Joint.THREAD, Joint.CALLER
NS = 10
"""What one instruction costs."""
Links = tuple[frozenset[Joint], frozenset[Joint]]
joints = st.frozensets(st.sampled_from(Joint))
candidates = st.lists(
    st.builds(Candidate, st.integers(), st.integers(0, 9).map(Fraction), joints, joints), max_size=5
)


def every(found: Sequence[Candidate[int]], goes_on_in: frozenset[Joint]) -> Iterator[Fraction]:
    """Lengths of all chains that pass no joint twice. A call whose handler nobody has is followed
    by what any thread goes on with."""

    def reach(joints: frozenset[Joint], passed: frozenset[Joint]) -> frozenset[Joint]:
        if H in joints - passed and not any(H in c.goes_on_from for c in found):
            return joints | {T}
        return joints

    def walk(joints: frozenset[Joint], passed: frozenset[Joint]) -> Iterator[Fraction]:
        yield Fraction(0)
        for joint in reach(joints, passed) - passed - {C}:
            for c in found:
                if joint in c.goes_on_from:
                    after = passed | {joint}
                    missing = {H} if joint is T and H in joints and joint not in joints else set()
                    for rest in walk(c.goes_on_in, after | missing):
                        yield c.length + rest

    return walk(goes_on_in, frozenset())


@given(candidates, joints)
def test_the_longest_of_every_chain(
    found: list[Candidate[int]], goes_on_in: frozenset[Joint]
) -> None:
    rest = Chains(found).after(goes_on_in)
    assert rest.length == max(every(found, goes_on_in))


@given(candidates, joints)
def test_what_goes_round_has_no_longest(
    found: list[Candidate[int]], goes_on_in: frozenset[Joint]
) -> None:
    """By the closure of a graph of joints: one that comes back to itself, and can be reached."""
    leads = {
        (a, b)
        for a, b in itertools.product((H, T), repeat=2)
        if any(a in c.goes_on_from and b in c.goes_on_in for c in found)
    }
    if not any(H in c.goes_on_from for c in found):
        leads.add((H, T))
    for _ in Joint:
        leads |= {(a, d) for (a, b), (c, d) in itertools.product(leads, repeat=2) if b == c}
    starts = goes_on_in & {H, T}
    reached = starts | {b for a, b in leads if a in starts}
    gaps = Chains(found).after(goes_on_in).gaps
    assert (Gap.ENDLESS in gaps) == any(
        (joint, joint) in leads and _has(found, joint) for joint in reached
    )
    assert (Gap.NO_HANDLER in gaps) == (H in reached and not _has(found, H))


def _has(found: Sequence[Candidate[int]], joint: Joint) -> bool:
    return any(joint in c.goes_on_from for c in found)


# --- priced ---------------------------------------------------------------------------------------


def counts(*parts: tuple[str, int], calls: int = 0) -> Counts:
    """Rows of (repetition, instructions); the first has ``calls`` supervisor calls more."""
    rows = []
    for repetition, number in parts:
        events = {
            CoreEvent(".text", EventKind.ALU): number,
            CoreEvent(".text", EventKind.SUPERVISOR_CALL): calls,
        }
        calls = 0
        vector = AccessVector(events)
        rows.append(TraceSection(Blocking(interrupts=True), vector, formula.parse(repetition)))
    return Counts(tuple(rows))


def stretch(
    held: Counts,
    goes_on_from: Joint | None = None,
    goes_on_in: Joint | None = None,
    kind: StretchKind = StretchKind.INTERRUPTS,
) -> BlockingStretch:
    return BlockingStretch(
        kind,
        "a",
        "b",
        held,
        goes_on_from=frozenset({goes_on_from} - {None}),  # type: ignore[arg-type]
        goes_on_in=frozenset({goes_on_in} - {None}),  # type: ignore[arg-type]
    )


def service(
    name: str,
    *stretches: BlockingStretch,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    observed: Sequence[tuple[int, ...]] = (),
    kind: ServiceKind = ServiceKind.CALL,
) -> ServiceCharacterization:
    return ServiceCharacterization(
        name=name,
        kind=kind,
        word=Word.HIGH_WATER_MARK,
        parameters=tuple(
            Parameter(n, ParameterKind.STATE, low, high, "m")
            for n, (low, high) in (ranges or {}).items()
        ),
        counts=counts(("1", 100)),
        stretches=stretches,
        evidence=Evidence(fitted=tuple(observed)),
    )


CALLS = service("calls", stretch(counts(("1", 4), calls=1), None, H))
"""4 instructions and the supervisor call."""
SWITCH = service("switch", stretch(counts(("1", 20)), H, T), kind=ServiceKind.HANDLER)
SHORT = service("short", stretch(counts(("1", 3)), T))
LONG = service("long", stretch(counts(("1", 2), ("N", 1)), T), ranges={"N": (0, 9)})


def made(*services: ServiceCharacterization) -> Characterization:
    sections = (SectionInfo(".text", SectionKind.CODE),)
    return Characterization(Kernel("k", "1"), "a", 32, sections, services, Provenance("t"))


def following(
    characterization: Characterization, values: Mapping[str, int] | None = None
) -> Following:
    cycle = Quantity.exactly(1, Unit.CYCLES)
    events = {EventKind.ALU: cycle, EventKind.SUPERVISOR_CALL: cycle}
    core = Core(name="c", clock=Quantity.exactly(10**8, Unit.HERTZ), events=events)
    region = Region("r", RegionKind.MEMORY, 32, {})
    profile = HardwareProfile(name="p", description="", core=core, regions={"r": region})
    prices = price_vector(characterization, profile, SectionMap("m", {".text": "r"}))
    return Following(characterization, prices, values)


def run(
    characterization: Characterization, name: str, values: Mapping[str, int] | None = None
) -> Estimate:
    known = following(characterization, values)
    (found,) = (s for s in characterization.services if s.name == name)
    at = tuple((values or {})[p.name] for p in found.parameters)
    return estimate_at(found, known.prices, at, known)


def chain(found: Estimate) -> tuple[Fraction, Word, list[str], tuple[str, ...]]:
    assert isinstance(found.interrupts_chain, Chain)
    links = [link.service for link in found.interrupts_chain.links]
    return (
        found.interrupts_chain.time.high,
        found.interrupts_chain.word,
        links,
        found.interrupts_chain.gaps,
    )


def test_own_stretch_handler_and_the_dearest_that_goes_on() -> None:
    """LONG takes 2 + N, at most 11 instructions; N = 9 was not observed."""
    kernel = made(CALLS, SWITCH, SHORT, LONG)
    found = run(kernel, "calls")
    assert found.blocking_interrupts.high == 5 * NS
    assert chain(found) == ((5 + 20 + 11) * NS, Word.ESTIMATE, ["calls", "switch", "long"], ())
    assert found.interrupts_held_off.high == found.preemption_held_off.high == 36 * NS
    assert found.word is Word.HIGH_WATER_MARK
    assert chain(run(kernel, "switch"))[0] == (20 + 11) * NS
    assert run(kernel, "short").interrupts_chain is None


def test_values_of_what_follows() -> None:
    """Those that are given count, the whole range of others; what was observed stays its word."""
    kernel = made(CALLS, SWITCH, SHORT, LONG)
    assert chain(run(kernel, "calls", {"N": 5}))[0] == (5 + 20 + 7) * NS
    assert chain(run(kernel, "calls", {"N": 0}))[2] == ["calls", "switch", "short"]
    assert chain(run(kernel, "calls", {"N": 0}))[1] is Word.HIGH_WATER_MARK
    strange = chain(run(kernel, "calls", {"N": 30}))
    assert strange[0] == 36 * NS
    assert strange[1:] == (
        Word.ESTIMATE,
        ["calls", "switch", "long"],
        ("long, which can follow, is not characterized for N=30",),
    )
    seen = replace(LONG, evidence=Evidence(fitted=((9,),)))
    assert chain(run(made(CALLS, SWITCH, seen), "calls"))[1] is Word.HIGH_WATER_MARK


def test_what_nobody_characterized_is_said_and_the_rest_still_counts() -> None:
    found = run(made(CALLS, SHORT), "calls")
    assert chain(found) == (
        8 * NS, Word.ESTIMATE, ["calls", "short"], (Gap.NO_HANDLER.value,),
    )  # fmt: skip
    found = run(made(CALLS, SWITCH), "calls")
    assert chain(found) == (
        25 * NS, Word.ESTIMATE, ["calls", "switch"], (Gap.NO_THREAD.value,),
    )  # fmt: skip
    alone = estimate_at(CALLS, following(made(CALLS)).prices, ())
    assert chain(alone) == (5 * NS, Word.ESTIMATE, ["calls"], (Gap.UNKNOWN.value,))


def test_a_circle_has_no_longest() -> None:
    """The thread that goes on calls again before it lets interrupts in."""
    again = service("again", stretch(counts(("1", 7), calls=1), T, H))
    found = run(made(CALLS, SWITCH, SHORT, again), "calls")
    assert chain(found) == (
        (5 + 20 + 8) * NS, Word.ESTIMATE, ["calls", "switch", "again"], (Gap.ENDLESS.value,),
    )  # fmt: skip


def test_a_thread_that_goes_on_right_away() -> None:
    """A switch in a function: no handler is in between."""
    leaves = service("leaves", stretch(counts(("1", 6)), None, T))
    assert chain(run(made(leaves, SWITCH, SHORT), "leaves"))[:3] == (
        9 * NS, Word.HIGH_WATER_MARK, ["leaves", "short"],
    )  # fmt: skip


def test_handlers_that_are_called_inside() -> None:
    """Two calls come back, the third ends the stretch; a handler counts as a whole: 100."""
    calls = service("calls", stretch(counts(("1", 4), calls=3), None, H))
    found = run(made(calls, SWITCH, SHORT), "calls")
    assert chain(found)[0] == (7 + 2 * 100 + 20 + 3) * NS
    assert chain(found)[2] == ["calls", "switch", "switch", "short"]
    inside = service("inside", stretch(counts(("1", 4), calls=1)))
    assert chain(run(made(inside, SWITCH), "inside"))[0] == (5 + 100) * NS
    assert chain(run(made(inside), "inside"))[3] == (Gap.NO_HANDLER.value,)


def test_where_a_stretch_is_empty_nothing_follows_it() -> None:
    """With no task that waits there is no switch."""
    wakes = service("wakes", stretch(counts(("W", 5)), None, H), ranges={"W": (0, 3)})
    assert run(made(wakes, SWITCH, SHORT), "wakes", {"W": 0}).interrupts_chain is None
    assert chain(run(made(wakes, SWITCH, SHORT), "wakes", {"W": 1}))[0] == (5 + 20 + 3) * NS


def test_what_an_old_file_leaves_open_is_said() -> None:
    old = BlockingStretch(StretchKind.INTERRUPTS, "a", "b", counts(("1", 4)))
    found = run(made(service("old", old), SWITCH, SHORT), "old")
    assert found.interrupts_chain is None
    assert any("is not known" in note for note in found.notes)


def test_masked_interrupts_lead_to_what_holds_off_preemption() -> None:
    locked = stretch(counts(("1", 50)), T, None, StretchKind.PREEMPTION)
    found = run(made(CALLS, SWITCH, SHORT, service("locked", locked)), "calls")
    assert found.interrupts_held_off.high == (5 + 20 + 3) * NS
    assert found.preemption_held_off.high == (5 + 20 + 50) * NS


stretches = st.builds(
    stretch,
    st.builds(
        lambda once, more, calls: counts(*once, ("N", more), calls=calls),
        st.sampled_from(((), (("1", 3),), (("1", 1),))),
        st.integers(0, 4),
        st.integers(0, 2),
    ),
    st.sampled_from((None, H, T)),
    st.sampled_from((None, H, T, C)),
    st.sampled_from(StretchKind),
)
kernels = st.lists(st.lists(stretches, max_size=3), min_size=1, max_size=4).map(
    lambda found: made(*(service(f"s{n}", *s, ranges={"N": (0, 3)}) for n, s in enumerate(found)))
)


@given(kernels)
def test_search_and_comparison_have_the_figures_of_the_estimate(kernel: Characterization) -> None:
    """And no chain is shorter than the stretch that it begins with."""
    known = following(kernel)
    for found in kernel.services:
        points = [(n,) for n in range(4)]
        estimates = [estimate_at(found, known.prices, point, known) for point in points]
        for one in estimates:
            assert one.interrupts_held_off.high >= one.blocking_interrupts.high
            assert one.preemption_held_off.high >= one.interrupts_held_off.high
        worst = worst_parameters(found, known.prices, {}, known)
        side = Side(found, known.prices, known)
        metrics = {m.metric: m for m in versus([side, side], common_ranges([found], {}), 0)}
        for metric, held, at in (
            (Metric.INTERRUPTS, [e.interrupts_held_off for e in estimates], worst.interrupts),
            (Metric.PREEMPTION, [e.preemption_held_off for e in estimates], worst.preemption),
        ):
            assert held[at["N"]].high == max(time.high for time in held)
            corners = {c.values: c.times[0] for c in metrics[metric].corners}
            assert corners == {(0,): held[0].high, (3,): held[3].high}


def test_intervals_add_up() -> None:
    assert chain(run(made(CALLS, SWITCH, SHORT), "calls"))[0] == 28 * NS
    found = run(made(CALLS, SWITCH, SHORT), "calls").interrupts_chain
    assert found is not None
    assert sum((link.time for link in found.links), start=Interval()) == found.time


@pytest.mark.parametrize("order", [*itertools.permutations((CALLS, SWITCH, SHORT))])
def test_the_order_of_services_does_not_matter(
    order: tuple[ServiceCharacterization, ...],
) -> None:
    assert chain(run(made(*order), "calls"))[0] == 28 * NS
