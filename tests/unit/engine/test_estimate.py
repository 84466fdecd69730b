"""Estimates of the published CreateThread service and of small services, all worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from wcetchar.engine import PricingError, estimate, price_vector, worst_parameters
from wcetchar.engine.counts import count
from wcetchar.errors import InputError
from wcetchar.formula import parse
from wcetchar.model.access import AccessClass, AccessVector, CoreEvent, EventKind, Key, Operation
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Evidence,
    Provenance,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
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
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, Parameter, ParameterKind, ServiceKind

FETCH, READ, WRITE, ACCESS = (
    Operation.FETCH,
    Operation.READ,
    Operation.WRITE,
    Operation.ACCESS,
)
MASKED = Blocking(interrupts=True)
LOCKED = Blocking(preemption=True)


def ns(value: int) -> Quantity:
    return Quantity.exactly(value, Unit.NANOSECONDS)


def at(first: int, following: int | None = None) -> AccessTime:
    return AccessTime(ns(first), ns(first if following is None else following))


def parameter(name: str, minimum: int, maximum: int) -> Parameter:
    return Parameter(name, ParameterKind.STATE, minimum, maximum, f"the meaning of {name}")


def kernel(*services: ServiceCharacterization) -> Characterization:
    return Characterization(Kernel("k", "1"), "armv4t", 32, (), services, Provenance("test"))


# The published columns, in their order, as classes of the model.
PAPER_KEYS: tuple[Key, ...] = (
    AccessClass(".iram_text", FETCH, 32),
    AccessClass(".text", FETCH, 32),
    AccessClass(".const", READ, 32),
    AccessClass(".stack", ACCESS, 32),
    CoreEvent("", EventKind.BRANCH_TAKEN),
    AccessClass(".x_heap", READ, 32),
    AccessClass(".x_heap", WRITE, 32),
    AccessClass(".x_heap", READ, 8),
    AccessClass(".x_heap", WRITE, 8),
)
PAPER_ROWS = (
    ("1", Blocking(), (3, 13, 1, 17, 4, 1, 0, 0, 0)),
    ("1", MASKED, (49, 268, 7, 32, 54, 12, 36, 19, 25)),
    ("N", MASKED, (0, 18, 0, 0, 2, 2, 0, 0, 0)),
)
# Nanoseconds for each access, the total of each column, and the total, as printed.
PAPER_PLATFORMS = {
    "platform1": (
        (14, 14, 70, 70, 250, 200, 200, 200, 200),
        (728, 7210, 560, 3430, 21000, 7800, 7200, 3800, 5000),
        56_728,
    ),
    "platform2": (
        (14, 14, 14, 14, 45, 14, 14, 14, 14),
        (728, 7210, 112, 686, 3780, 546, 504, 266, 350),
        14_182,
    ),
    "platform3": (
        (14, 160, 160, 180, 450, 160, 200, 80, 120),
        (728, 82400, 1280, 8820, 37800, 6240, 7200, 1520, 3000),
        148_988,
    ),
}


def paper() -> Characterization:
    rows = tuple(
        TraceSection(blocking, AccessVector(zip(PAPER_KEYS, counts, strict=True)), parse(text))
        for text, blocking, counts in PAPER_ROWS
    )
    return kernel(
        ServiceCharacterization(
            "CreateThread",
            ServiceKind.CALL,
            Word.ESTIMATE,
            (parameter("N", 0, 100),),
            Counts(rows),
            stretches_known=False,
        )
    )


def paper_board(name: str) -> HardwareProfile:
    """One region for each section; the heap on a 16-bit bus, so that wide accesses are two."""
    i, t, c, s, b, r32, w32, r8, w8 = PAPER_PLATFORMS[name][0]
    regions = (
        Region("i", RegionKind.MEMORY, 32, {FETCH: at(i)}),
        Region("t", RegionKind.MEMORY, 32, {FETCH: at(t)}),
        Region("c", RegionKind.MEMORY, 32, {READ: at(c)}),
        Region("s", RegionKind.MEMORY, 32, {ACCESS: at(s)}),
        Region("x", RegionKind.MEMORY, 16, {READ: at(r8, r32 - r8), WRITE: at(w8, w32 - w8)}),
    )
    core = Core(
        "ARM7TDMI",
        Quantity.exactly(72_000_000, Unit.HERTZ),
        {EventKind.BRANCH_TAKEN: ns(b)},
    )
    return HardwareProfile(name, "", core, {r.name: r for r in regions})


PAPER_MAP = SectionMap(
    "paper", {".iram_text": "i", ".text": "t", ".const": "c", ".stack": "s", ".x_heap": "x"}
)


@pytest.mark.parametrize("name", PAPER_PLATFORMS)
def test_the_published_products_and_totals(name: str) -> None:
    each, products, total = PAPER_PLATFORMS[name]
    found = estimate(paper(), "CreateThread", paper_board(name), PAPER_MAP, {"N": 13})
    columns = {column.key: column for column in found.columns}
    assert len(columns) == len(PAPER_KEYS)
    counts = (52, 515, 8, 49, 84, 39, 36, 19, 25)
    for key, number, price, product in zip(PAPER_KEYS, counts, each, products, strict=True):
        assert columns[key].count == number, key
        assert columns[key].price == Interval(*[Fraction(price)] * 3), key
        assert columns[key].time.high == product, key
    assert found.total == Interval(*[Fraction(total)] * 3)
    assert found.total_cycles == Fraction(total * 72, 1000)
    assert found.word is Word.ESTIMATE


def test_the_published_rows() -> None:
    found = estimate(paper(), "CreateThread", paper_board("platform1"), PAPER_MAP, {"N": 13})
    # Platform 1, by hand: row 1 has 3*14 + 13*14 + 70 + 17*70 + 4*250 + 200.
    once = 3 * 14 + 13 * 14 + 70 + 17 * 70 + 4 * 250 + 200
    repeated = 13 * (18 * 14 + 2 * 250 + 2 * 200)
    assert [row.section for row in found.rows] == ["1", "2", "3"]
    assert [row.repetition for row in found.rows] == ["1", "1", "N"]
    assert [row.repetitions for row in found.rows] == [1, 1, 13]
    assert [row.blocking for row in found.rows] == ["none", "all interrupts", "all interrupts"]
    assert [row.time.high for row in found.rows] == [once, 56_728 - once - repeated, repeated]
    # Stretches were not published: everything that blocks, together.
    assert found.blocking_interrupts.high == 56_728 - once
    assert found.blocking_preemption.high == 56_728 - once
    assert any("sum of all blocking" in note for note in found.notes)


# Small services: one class of 10 ns, so that times are counts.

KEY = AccessClass("d", READ, 32)
OTHER = AccessClass("d", WRITE, 32)
BOARD = HardwareProfile(
    "board",
    "",
    Core("c", Quantity.exactly(100_000_000, Unit.HERTZ), {}),
    {"m": Region("m", RegionKind.MEMORY, 32, {READ: at(10), WRITE: at(1)})},
)
MAP = SectionMap("map", {"d": "m"})


def row(number: int, repetition: str = "1", blocking: Blocking = Blocking()) -> TraceSection:  # noqa: B008
    return TraceSection(blocking, AccessVector({KEY: number}), parse(repetition))


def service(
    counts: Counts,
    *parameters: Parameter,
    word: Word = Word.BOUND,
    stretches: tuple[BlockingStretch, ...] = (),
    fitted: tuple[tuple[int, ...], ...] = (),
    held_out: tuple[tuple[int, ...], ...] = (),
    stretches_known: bool = True,
) -> Characterization:
    return kernel(
        ServiceCharacterization(
            "svc",
            ServiceKind.CALL,
            word,
            parameters,
            counts,
            stretches,
            evidence=Evidence(fitted=fitted, held_out=held_out),
            stretches_known=stretches_known,
        )
    )


def run(characterization: Characterization, **values: int) -> Estimate:
    return estimate(characterization, "svc", BOARD, MAP, values)


def table(*points: tuple[tuple[int, ...], int]) -> Counts:
    return Counts(points=tuple(TablePoint(values, (row(number),)) for values, number in points))


def test_a_formula_is_evaluated_and_printed_back() -> None:
    found = run(service(Counts((row(2), row(3, "ceil(N/4)"))), parameter("N", 0, 9)), N=9)
    assert found.total.high == 10 * (2 + 3 * 3)
    assert found.rows[1].repetition == "ceil(N/4)"
    assert found.word is Word.BOUND


def test_a_negative_repetition_never_lowers_the_sum() -> None:
    small = service(Counts((row(100), row(3, "N - 5"))), parameter("N", 0, 9))
    assert run(small, N=5).total.high == 1000
    with pytest.raises(InputError, match="N - 5") as caught:
        run(small, N=4)
    assert "N=4" in caught.value.message


def test_a_negative_count_never_lowers_the_sum() -> None:
    with pytest.raises(InputError, match="-3"):
        run(service(Counts((row(100), row(-3)))))


@pytest.mark.parametrize("wrong", [{}, {"N": 0}, {"N": 10}, {"N": 1, "M": 1}])
def test_a_wrong_parameter_is_refused_with_its_range_and_meaning(wrong: dict[str, int]) -> None:
    small = service(Counts((row(1),)), parameter("N", 1, 9))
    with pytest.raises(PricingError) as caught:
        run(small, **wrong)
    assert caught.value.file == ("parameters" if wrong else "nothing")
    if "M" in wrong:
        assert "no parameter M" in caught.value.message
    else:
        assert "from 1 to 9" in str(caught.value)
        assert "the meaning of N" in str(caught.value)


def test_a_service_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError) as caught:
        estimate(paper(), "CreateTread", paper_board("platform1"), PAPER_MAP, {})
    assert "CreateThread" in str(caught.value)


@pytest.mark.parametrize(
    ("word", "value", "expected"),
    [
        (Word.BOUND, 3, Word.BOUND),
        (Word.BOUND, 7, Word.BOUND),
        (Word.HIGH_WATER_MARK, 3, Word.HIGH_WATER_MARK),
        (Word.HIGH_WATER_MARK, 5, Word.HIGH_WATER_MARK),  # held out
        (Word.HIGH_WATER_MARK, 7, Word.ESTIMATE),  # never observed
        (Word.ESTIMATE, 3, Word.ESTIMATE),
    ],
)
def test_the_word_of_a_formula(word: Word, value: int, expected: Word) -> None:
    small = service(
        Counts((row(1, "N"),)), parameter("N", 1, 9), word=word, fitted=((3,),), held_out=((5,),)
    )
    assert run(small, N=value).word is expected


@pytest.mark.parametrize(
    ("values", "beyond"),
    [
        ((4, 2), []),
        ((6, 2), ["N = 6 lies beyond what was observed, 3 to 5"]),
        ((2, 2), ["N = 2 lies beyond what was observed, 3 to 5"]),
        (
            (9, 3),
            [
                "N = 9 lies beyond what was observed, 3 to 5",
                "M = 3 lies beyond what was observed, 1 to 2",
            ],
        ),
    ],
)
def test_an_estimate_says_which_values_lie_beyond_the_observed(
    values: tuple[int, int], beyond: list[str]
) -> None:
    small = service(
        Counts((row(1, "N"),)),
        parameter("N", 1, 9),
        parameter("M", 1, 3),
        word=Word.HIGH_WATER_MARK,
        fitted=((3, 2), (5, 1)),
    )
    found = run(small, N=values[0], M=values[1])
    assert found.word is Word.ESTIMATE
    assert "not observed at these values: taken from the fitted formulas" in found.notes
    said = [note.partition(": ")[0] for note in found.notes if "lies beyond" in note]
    assert said == beyond


def test_nothing_is_beyond_where_it_is_not_known_what_was_observed() -> None:
    found = run(
        service(Counts((row(1, "N"),)), parameter("N", 1, 9), word=Word.HIGH_WATER_MARK), N=9
    )
    assert found.word is Word.ESTIMATE
    assert not any("lies beyond" in note for note in found.notes)


def test_a_high_water_mark_without_parameters_stays_one() -> None:
    assert run(service(Counts((row(1),)), word=Word.HIGH_WATER_MARK)).word is Word.HIGH_WATER_MARK


@pytest.mark.parametrize(
    ("value", "total", "word"),
    [
        (2, 50, Word.HIGH_WATER_MARK),
        (4, 40, Word.HIGH_WATER_MARK),  # an observed point is what was observed
        (8, 90, Word.HIGH_WATER_MARK),
        (1, 50, Word.ESTIMATE),
        (3, 50, Word.ESTIMATE),  # the larger one below is kept
        (5, 90, Word.ESTIMATE),
    ],
)
def test_a_table_and_its_envelope(value: int, total: int, word: Word) -> None:
    small = service(
        table(((2,), 5), ((4,), 4), ((8,), 9)), parameter("N", 0, 20), word=Word.HIGH_WATER_MARK
    )
    found = run(small, N=value)
    assert (found.total.high, found.word) == (total, word)


def test_a_table_does_not_reach_beyond_its_last_point() -> None:
    small = service(table(((2,), 5), ((8,), 9)), parameter("N", 0, 20))
    with pytest.raises(InputError, match="N=9") as caught:
        run(small, N=9)
    assert "N=8" in str(caught.value)


def test_between_points_even_a_bound_is_an_estimate() -> None:
    small = service(table(((2,), 5), ((8,), 9)), parameter("N", 0, 20))
    assert run(small, N=2).word is Word.BOUND
    assert run(small, N=3).word is Word.ESTIMATE


def test_the_envelope_is_taken_for_each_class_and_each_blocking_form() -> None:
    def point(value: int, reads: int, writes: int, masked: int) -> TablePoint:
        both = AccessVector({KEY: reads, OTHER: writes})
        return TablePoint((value,), (TraceSection(Blocking(), both), row(masked, "1", MASKED)))

    counts = Counts(points=(point(1, 5, 1, 2), point(3, 2, 7, 1), point(9, 99, 99, 99)))
    envelope = count(counts, ("N",), (2,), "svc")
    assert not envelope.exact
    assert {r.blocking: r.vector for r in envelope.rows} == {
        Blocking(): AccessVector({KEY: 5, OTHER: 7}),
        MASKED: AccessVector({KEY: 2}),
    }


def test_the_envelope_adds_rows_of_one_blocking_form() -> None:
    counts = Counts(points=(TablePoint((1,), (row(2), row(3))), TablePoint((3,), (row(4),))))
    (only,) = count(counts, ("N",), (2,), "svc").rows
    assert only.vector == AccessVector({KEY: 5})


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ((1, 1), 10),
        ((2, 3), 30),
        ((1, 2), 30),  # only (2, 3) is as large in both
        ((1, 3), 30),  # (1, 3) itself was not observed; (1, 1) alone would be too low
        ((3, 1), 70),  # (5, 1) is the next one
        ((2, 1), 70),  # both (2, 3) and (5, 1) lie above: the dearer of the two
    ],
)
def test_the_envelope_of_scattered_points(values: tuple[int, int], total: int) -> None:
    small = service(
        table(((1, 1), 1), ((2, 3), 3), ((5, 1), 7)), parameter("N", 0, 9), parameter("M", 0, 9)
    )
    assert run(small, N=values[0], M=values[1]).total.high == total


def test_scattered_points_do_not_reach_where_none_is_larger_in_both() -> None:
    small = service(table(((2, 3), 3), ((5, 1), 7)), parameter("N", 0, 9), parameter("M", 0, 9))
    with pytest.raises(InputError, match="N=3, M=2"):
        run(small, N=3, M=2)


def stretch(
    kind: StretchKind, number: int, repetition: str = "1", at: str = "a"
) -> BlockingStretch:
    return BlockingStretch(kind, f"{at}+0", f"{at}+9", Counts((row(number, repetition),)))


def test_blocking_is_the_longest_stretch_at_the_same_parameters() -> None:
    small = service(
        Counts((row(50, "1", MASKED), row(10, "N", MASKED))),
        parameter("N", 0, 20),
        stretches=(
            stretch(StretchKind.INTERRUPTS, 5, at="fixed"),
            stretch(StretchKind.INTERRUPTS, 1, "N", at="growing"),
        ),
    )
    assert run(small, N=3).blocking_interrupts.high == 50
    assert run(small, N=3).interrupts_stretch == "fixed+0 to fixed+9"
    assert run(small, N=7).blocking_interrupts.high == 70
    assert run(small, N=7).interrupts_stretch == "growing+0 to growing+9"


def test_masked_interrupts_hold_off_preemption_too_but_not_the_reverse() -> None:
    masked = service(Counts((row(9),)), stretches=(stretch(StretchKind.INTERRUPTS, 5),))
    assert run(masked).blocking_preemption.high == 50
    locked = service(Counts((row(9),)), stretches=(stretch(StretchKind.PREEMPTION, 5),))
    assert run(locked).blocking_interrupts == Interval()
    assert run(locked).blocking_preemption.high == 50


def test_known_to_be_without_stretches_is_no_blocking() -> None:
    found = run(service(Counts((row(9, "1", MASKED),))))
    assert found.blocking_interrupts == Interval()
    assert found.interrupts_stretch == ""


def test_unknown_stretches_are_the_sum_of_what_blocks_that() -> None:
    rows = (
        row(1),
        row(2, "1", LOCKED),
        row(4, "N", MASKED),
        row(8, "1", Blocking(priority=0x40)),
        row(16, "1", Blocking(unknown=True)),
    )
    found = run(service(Counts(rows), parameter("N", 0, 9), stretches_known=False), N=2)
    assert found.blocking_interrupts.high == 10 * (2 * 4 + 8 + 16)
    assert found.blocking_preemption.high == 10 * (2 + 2 * 4 + 8 + 16)


def test_blocking_between_observed_points_makes_the_whole_an_estimate() -> None:
    small = service(
        Counts((row(1, "N"),)),
        parameter("N", 0, 9),
        stretches=(BlockingStretch(StretchKind.INTERRUPTS, "a", "b", table(((2,), 1), ((5,), 2))),),
    )
    assert run(small, N=2).word is Word.BOUND
    assert run(small, N=3).word is Word.ESTIMATE
    assert run(small, N=3).blocking_interrupts.high == 20


def worst(characterization: Characterization, **fixed: int) -> dict[str, int]:
    prices = price_vector(characterization, BOARD, MAP)
    return worst_parameters(characterization.services[0], prices, fixed).total


def test_the_worst_values_may_lie_inside_the_range() -> None:
    # Rises to N = 6 and falls after it.
    bump = service(Counts((row(1, "min(N, 12 - N)"),)), parameter("N", 0, 12))
    assert worst(bump) == {"N": 6}
    assert worst(bump, N=2) == {"N": 2}


def test_the_worst_values_depend_on_the_prices() -> None:
    reads = TraceSection(Blocking(), AccessVector({KEY: 1}), parse("9 - N"))
    writes = TraceSection(Blocking(), AccessVector({OTHER: 5}), parse("N"))
    either = service(Counts((reads, writes)), parameter("N", 0, 9))
    assert worst(either) == {"N": 0}
    prices = price_vector(
        either,
        HardwareProfile(
            "b",
            "",
            BOARD.core,
            {"m": Region("m", RegionKind.MEMORY, 32, {READ: at(1), WRITE: at(10)})},
        ),
        MAP,
    )
    assert worst_parameters(either.services[0], prices, {}).total == {"N": 9}


def test_the_longest_blocking_may_lie_elsewhere() -> None:
    def stretch(kind: StretchKind, repetition: str) -> BlockingStretch:
        return BlockingStretch(kind, "a", "b", Counts((row(1, repetition),)))

    rising = service(
        Counts((row(3, "N"),)),
        parameter("N", 0, 9),
        stretches=(
            stretch(StretchKind.INTERRUPTS, "max(0, 5 - N)"),
            stretch(StretchKind.INTERRUPTS, "min(N, 3)"),
            stretch(StretchKind.PREEMPTION, "max(0, 7 - max(N - 2, 2 - N))"),
        ),
    )
    found = worst_parameters(rising.services[0], price_vector(rising, BOARD, MAP), {})
    assert (found.total, found.interrupts, found.preemption) == ({"N": 9}, {"N": 0}, {"N": 2})


def test_the_longest_blocking_where_stretches_are_not_known() -> None:
    """The blocking rows together stand in for them, and may be most elsewhere than the total."""
    masked = TraceSection(Blocking(interrupts=True), AccessVector({KEY: 1}), parse("9 - N"))
    either = service(Counts((row(3, "N"), masked)), parameter("N", 0, 9), stretches_known=False)
    found = worst_parameters(either.services[0], price_vector(either, BOARD, MAP), {})
    assert (found.total, found.interrupts, found.preemption) == ({"N": 9}, {"N": 0}, {"N": 0})


def test_of_equal_totals_the_smallest_values_are_taken() -> None:
    flat = service(Counts((row(1, "max(N, 3)"),)), parameter("N", 0, 3), parameter("M", 5, 9))
    assert worst(flat) == {"N": 0, "M": 5}


def test_the_worst_values_of_a_table() -> None:
    # Between the points 4 and 8 the envelope is 9; at 8 itself 6 was observed.
    small = service(table(((2,), 9), ((4,), 1), ((8,), 6)), parameter("N", 2, 8))
    assert worst(small) == {"N": 2}
    hump = Counts(
        points=(
            TablePoint((2,), (row(9),)),
            TablePoint((8,), (TraceSection(Blocking(), AccessVector({OTHER: 30, KEY: 6})),)),
        )
    )
    assert worst(service(hump, parameter("N", 2, 8))) == {"N": 3}


def test_a_search_that_would_be_too_long_is_refused() -> None:
    large = service(Counts((row(1),)), parameter("N", 1, 501), parameter("M", 1, 100))
    with pytest.raises(InputError, match="50100") as caught:
        worst(large)
    assert "--set N=VALUE" in str(caught.value)
    assert worst(large, N=7) == {"N": 7, "M": 1}


@pytest.mark.parametrize("fixed", [{"N": 99}, {"X": 1}])
def test_a_search_refuses_what_is_fixed_wrongly(fixed: dict[str, int]) -> None:
    with pytest.raises(InputError):
        worst(service(Counts((row(1),)), parameter("N", 0, 9)), **fixed)


def test_a_search_does_not_hide_a_table_that_ends_early_or_a_negative_count() -> None:
    with pytest.raises(InputError, match="beyond"):
        worst(service(table(((2,), 9)), parameter("N", 2, 3)))
    with pytest.raises(InputError, match="-1"):
        worst(service(Counts((row(1, "N - 1"),)), parameter("N", 0, 3)))


def test_cycles_are_at_the_slowest_clock() -> None:
    clock = Quantity(Fraction(90_000_000), Fraction(10**8), Fraction(110_000_000), Unit.HERTZ)
    twice = Quantity.exactly(2, Unit.CYCLES)
    board = HardwareProfile(
        "b",
        "",
        Core("c", clock, {}),
        {"m": Region("m", RegionKind.MEMORY, 32, {READ: AccessTime(twice, twice)})},
    )
    found = estimate(service(Counts((row(7),))), "svc", board, MAP, {})
    assert found.total_cycles == 14
    assert found.total.high == Fraction(14_000, 90)
