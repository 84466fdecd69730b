"""What the page's evaluator finds over all paths: against the estimate at other numbers and values,
and against programs whose dearest time their structure says."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from evaluator_cases import QUICK, Both, Case, InMemory, paths_compared
from hypothesis import given
from hypothesis import strategies as st
from needs import need
from path_models import CHARACTERIZATION, PROFILE, Structured
from test_engine_paths import OF_TWO, of_a_parameter
from test_engine_prices import kernel, maps, profiles, vectors

from wcetchar.errors import InputError
from wcetchar.model.access import AccessVector, CoreEvent
from wcetchar.model.characterization import Characterization, Counts, ServiceCharacterization, Word
from wcetchar.model.hardware import HardwareProfile, Interference, Quantity, Unit
from wcetchar.model.path_model import PathModel, PathNode
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Parameter, ParameterKind, ServiceKind

PARAMETERS = (
    Parameter("N", ParameterKind.STATE, 0, 3, "how often"),
    Parameter("M", ParameterKind.CASE, 0, 2, "which"),
)


@pytest.fixture(autouse=True, scope="module")
def node() -> None:
    need("node", "nodejs")


def with_models(
    known: Characterization, models: list[PathModel], parameters: tuple[Parameter, ...] = ()
) -> Characterization:
    """A service of each, whose rows count nothing."""
    services = tuple(
        ServiceCharacterization(
            model.service, ServiceKind.CALL, Word.BOUND, parameters, Counts(), stretches_known=False
        )
        for model in models
    )
    return replace(known, services=services, paths=tuple(models))


@st.composite
def priced(draw: st.DrawFn, counted: bool) -> list[PathModel]:
    """What nodes count is drawn, and what is fetched more where a stretch begins or ends."""
    found = []
    for number in range(4):
        model = draw(of_a_parameter(OF_TWO))
        own = [draw(vectors) for _ in range(4)]
        if counted:  # successions, which these vectors have none of
            own = [
                AccessVector({k: n for k, n in one.items() if isinstance(k, CoreEvent)})
                for one in own
            ]
        runs = st.none() | st.integers(0, len(own) - 1)
        nodes = tuple(
            PathNode(draw(st.integers(0, 3)), node.blocking, run_in=draw(runs), run_out=draw(runs))
            for node in model.nodes
        )
        found.append(
            replace(
                model, service=f"s{number}", vectors=tuple(own), nodes=nodes, successions=counted
            )
        )
    return found


def agree(known: Characterization, profile: HardwareProfile, where: SectionMap, seed: int) -> int:
    try:
        both = Both(known, InMemory(profile), where)
    except InputError:
        return 0  # no estimate either
    inside, reasons = paths_compared(both, both.random_cases(16, random.Random(seed)))
    assert not [one for one in reasons if "defect" in one or "too long" in one]
    return inside


@given(priced(False), profiles(), maps, st.integers(0, 2), st.integers(0, 10**6))
@QUICK
def test_at_random_numbers_and_values(
    models: list[PathModel], profile: HardwareProfile, where: SectionMap, buffered: int, seed: int
) -> None:
    profile = replace(profile, core=replace(profile.core, write_buffer=buffered))
    agree(with_models(kernel(), models, PARAMETERS), profile, where, seed)


@given(
    priced(True),
    profiles(),
    maps,
    st.integers(0, 400),
    st.integers(500, 900),
    st.integers(0, 10**6),
)
@QUICK
def test_with_interference_that_comes_whole_times(
    models: list[PathModel],
    profile: HardwareProfile,
    where: SectionMap,
    takes: int,
    every: int,
    seed: int,
) -> None:
    def quantity(ns: int) -> Quantity:
        return Quantity.exactly(ns, Unit.NANOSECONDS)

    region = replace(profile.regions["r0"], refresh=Interference(quantity(takes), quantity(every)))
    profile = replace(profile, regions={**profile.regions, "r0": region})
    known = replace(kernel(), successions=True)
    agree(with_models(known, models, PARAMETERS), profile, where, seed)


@pytest.mark.parametrize("seed", range(4))
def test_structured_programs(seed: int) -> None:
    """Sequences, choices and loops: the recursion over these says what is the dearest."""
    draw = random.Random(seed)
    made = [Structured(draw).model(size, f"s{size}") for size in (3, 9, 20, 45, 120, 250)]
    known = with_models(CHARACTERIZATION, [model for model, _ in made])
    both = Both(known, InMemory(PROFILE), SectionMap("map", {}))
    (way,) = (one["way"] for one in both.document["numbers"] if one["way"] == "core.clock")
    for text, ns in (("1000 MHz", Fraction(1)), ("300 MHz", Fraction(10, 3))):
        cases = [Case(model.service, {}, {way: text}) for model, _ in made]
        for found, (_, cost) in zip(both.javascript_paths(cases), made, strict=True):
            assert found is not None
            assert found["outside"] is None
            time = found["time"]
            assert Fraction(int(time["num"]), int(time["den"])) == cost * ns


@pytest.mark.parametrize("seed", range(3))
def test_many_are_inside(seed: int) -> None:
    """Nearly all stretches of structured programs, so the tests above compare something."""
    draw = random.Random(seed)
    models = []
    for size in (9, 20, 45, 120):
        program = Structured(draw)
        model, _ = program.model(size, f"s{size}")
        held = {n for n in range(len(model.nodes)) if draw.random() < 0.5}
        nodes = tuple(replace(node, blocking=int(n in held)) for n, node in enumerate(model.nodes))
        models.append(replace(model, nodes=nodes))
    both = Both(with_models(CHARACTERIZATION, models), InMemory(PROFILE), SectionMap("map", {}))
    inside, reasons = paths_compared(both, both.random_cases(12, draw))
    assert inside >= 9, reasons
