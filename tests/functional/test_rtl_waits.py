"""The core in RTL on memories with wait states and divided clocks, against prices of accesses.

Instruction caches are ideal, so what is left beside the pipeline (test_rtl_stalls) are the waits of
data accesses. The run of a whole firmware is cut into many windows that begin and end anywhere,
and none may take longer than its price: what its instructions take where nothing waits, its
accesses, and what each access waits for the one before it. All the run together may not take much
less.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from random_rv32 import SCRIPT, program
from rtl_bench import BenchRun, Numbers, Pipeline, bench_run, firmware

from wcetchar import isa, store
from wcetchar.analysis.successions import Gaps, Successions, gaps
from wcetchar.counting.columns import (
    FLOW,
    KIND,
    OPERATION,
    PATTERN,
    SUCCESSION,
    WIDTH_OF_BYTES,
    access_code,
    event_code,
    key_of,
)
from wcetchar.engine import price_vector
from wcetchar.engine.interference import NO_INTERFERENCE, Rate
from wcetchar.image import load_image
from wcetchar.model.access import AccessVector, EventKind, Key, Operation, Pattern
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    Characterization,
    Counts,
    Provenance,
    ServiceCharacterization,
    TraceSection,
    Word,
)
from wcetchar.model.expression import ONE
from wcetchar.model.hardware import AccessTime, HardwareProfile, Quantity, Unit
from wcetchar.model.instruction import Flow
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, ServiceKind

NAMES = ("code", "external", "clint")
CODE, EXTERNAL, CLINT = range(3)
CYCLE_NS = 10
LONGEST = 300
WINDOWS = 4_000
WORDS, GAP = 4, 60
"""Of a second master: what it transfers, and cycles between."""


@dataclass(frozen=True)
class Timing:
    """Of the one memory of a board, as its file has it, and the core that it is on."""

    width: int
    first: int
    next: int
    divider: int
    core: str = "imc"

    def board(self, folder: Path) -> Path:
        path = folder / "board.yaml"
        path.write_text(
            "name: one memory\nmemories:\n  external: {base: 0x80000000, size: 0x800000, "
            f"width: {self.width}, first: {self.first}, next: {self.next}, "
            f"divider: {self.divider}}}\n"
            f"second master: {{memory: external, beats: {WORDS}, least gap: {GAP}, "
            f"gap: {2 * GAP}}}\n"
        )
        return path

    @property
    def second_master(self) -> Rate:
        """In cycles."""
        beats = WORDS * 32 // self.width
        takes = Fraction((self.first + (beats - 1) * self.next) * self.divider)
        return Rate(((takes, takes + GAP),))

    def profile(self) -> HardwareProfile:
        if self.core == "imac":
            return self._past_the_cache()
        profile = store.load_profile("vexriscv/imc-board-c")
        time = AccessTime(_cycles(self.first), _cycles(self.next))
        external = replace(
            profile.regions["external"],
            bus_width=self.width,
            clock_divider=self.divider,
            times={Operation.READ: time, Operation.WRITE: time},
        )
        return replace(profile, regions={**profile.regions, "external": external})

    def _past_the_cache(self) -> HardwareProfile:
        """A read takes a cycle until it begins and one behind its end."""
        assert (self.width, self.divider) == (32, 1)
        profile = store.load_profile("vexriscv/imac-board-d-uncached")
        times = {
            operation: AccessTime(_cycles(cycles), _cycles(cycles))
            for operation, cycles in (
                (Operation.READ, self.first + 2),
                (Operation.WRITE, self.first),
            )
        }
        external = replace(profile.regions["data"], name="external", times=times)
        return replace(profile, regions={**profile.regions, "external": external})


def _cycles(count: int) -> Quantity:
    return Quantity.exactly(Fraction(count), Unit.CYCLES)


BOARD_C = Timing(16, 3, 1, 2)
OTHERS = (
    Timing(32, 4, 4, 1),
    Timing(8, 2, 3, 1),
    Timing(32, 1, 1, 3),
    Timing(16, 2, 2, 5),
    Timing(32, 25, 1, 1),
)
PAST_THE_CACHE = tuple(Timing(32, first, 1, 1, "imac") for first in (1, 2, 3, 7, 25))
"""Of a core that posts two writes."""
OF_FIRMWARE = PAST_THE_CACHE[:3]
"""Behind slower memories an interrupt that the suite raises by a store, behind two others, comes
later than its driver expects it; random programs raise none."""


class Priced:
    """A run, and what each of its instructions is charged."""

    def __init__(self, elf: Path, run: BenchRun, profile: HardwareProfile) -> None:
        table = isa.decode_image(load_image(str(elf)))
        self.run = run
        self.pipeline = pipeline = Pipeline(table, run.address, profile.name)
        columns, index = pipeline.columns, pipeline.index
        count = len(index)
        owner = np.repeat(np.arange(count), (columns.reads + columns.writes)[index])
        assert len(owner) == len(run.word)
        write = run.lanes >> 4 == 1
        section = np.where(run.word >= 0x80000000, EXTERNAL, CLINT)
        operation = np.where(write, OPERATION[Operation.WRITE], OPERATION[Operation.READ])
        width = WIDTH_OF_BYTES[columns.bytes[index[owner]]]
        assert (columns.writes[index[owner]] == write).all()
        single = np.full(len(owner), PATTERN[Pattern.SINGLE])
        code = access_code(section, 0, width, single) | operation << 5
        cuts = np.flatnonzero(pipeline.trapped).tolist()
        cuts += (np.flatnonzero(pipeline.mret) + 1).tolist()
        self.cuts = np.array(sorted({cut for cut in cuts if cut < count}), dtype=np.int64)
        self.owner = owner
        self.numbers = Successions(NAMES)
        self.gaps = self._gaps(code)
        found, where = self.gaps.within(0, count - 1)
        keys = {int(c): key_of(int(c), NAMES) for c in np.unique(code)}
        self.profile = profile
        self.plain = self._prices(keys)
        self.waits = self._prices(dict(enumerate(self.numbers.keys)))
        self.cost = pipeline.allowed[:-1].copy()
        # A service is charged a refill behind each barrier, which these cores have not.
        refill = int(profile.core.events[EventKind.PIPELINE_REFILL].high)
        self.cost += refill * (columns.issue[index] == KIND[EventKind.BARRIER])
        np.add.at(self.cost, owner, np.array([self.plain[int(c)] for c in code]))
        self.wait = np.zeros(count, dtype=np.int64)
        price = np.array([self.waits[n] for n in range(len(self.numbers.keys))])
        np.add.at(self.wait, where, price[found & ~SUCCESSION])
        self.total = np.concatenate(([0], np.cumsum(self.cost + self.wait)))

    def _gaps(self, code: Numbers) -> Gaps:
        pipeline = self.pipeline
        columns, index, taken = pipeline.columns, pipeline.index, pipeline.taken
        issue = columns.issue[index].copy()
        branch = (columns.flow[index] == FLOW[Flow.JUMP]) & columns.conditional[index]
        issue[branch & taken] = KIND[EventKind.BRANCH_TAKEN]
        issue[branch & ~taken] = KIND[EventKind.BRANCH_UNTAKEN]
        kinds = [issue]
        places = [np.arange(len(index))]
        barrier = columns.issue[index] == KIND[EventKind.BARRIER]
        refills = np.flatnonzero(taken | barrier)
        for kind, where in (
            (EventKind.PIPELINE_REFILL, refills),
            (EventKind.EXCEPTION_EXIT, np.flatnonzero(pipeline.mret)),
            *pipeline.events,
        ):
            kinds.append(np.full(len(where), KIND[kind]))
            places.append(where)
        return gaps(
            self.numbers,
            (code, self.owner),
            (np.concatenate(kinds), np.concatenate(places)),
            np.full(len(index), CODE),
            pipeline.stalls.late(index, taken),
            tuple(self.cuts.tolist()),
        )

    def _prices(self, keys: Mapping[int, Key]) -> dict[int, int]:
        """In cycles. Fetches and events are among what is priced, as in any service."""
        fetch = key_of(
            int(
                access_code(
                    np.array([CODE]),
                    OPERATION[Operation.FETCH],
                    WIDTH_OF_BYTES[[4]],
                    np.array([PATTERN[Pattern.FIRST]]),
                )[0]
            ),
            NAMES,
        )
        issues = [
            key_of(int(event_code(np.array([CODE]), KIND[kind])[0]), NAMES)
            for kind in (EventKind.LOAD, EventKind.STORE)
        ]
        vector = AccessVector(dict.fromkeys((*keys.values(), fetch, *issues), 1))
        service = ServiceCharacterization(
            name="run",
            kind=ServiceKind.CALL,
            word=Word.HIGH_WATER_MARK,
            parameters=(),
            counts=Counts(rows=(TraceSection(Blocking(), vector, ONE),)),
        )
        kernel = Characterization(
            kernel=Kernel("run", "1", {}),
            architecture="riscv32",
            fetch_width=32,
            sections=(),
            services=(service,),
            provenance=Provenance("test"),
            stalls=STALL_EDITION,
            successions=True,
        )
        placed = SectionMap("map", {name: name for name in NAMES})
        prices = price_vector(kernel, self.profile, placed)
        found = {}
        for number, key in keys.items():
            cycles = prices[key].time.high / CYCLE_NS
            assert cycles.denominator == 1
            found[number] = int(cycles)
        return found

    def window(self, first: int, last: int) -> int:
        """What the instructions first..last are charged where they are all that is known. There is
        an access among them, and no cut before the first one."""
        low, high = np.searchsorted(self.owner, (first, last + 1))
        at, ends = int(self.owner[low]), int(self.owner[high - 1])
        own = int(self.total[last + 1] - self.total[first])
        before = int(self.wait[first : at + 1].sum())
        entry = self._wait(int(self.gaps.within(first, at)[0][0]))
        left = self._wait(int(self.gaps.within(ends, last)[0][-1]))
        return own - before + entry + left

    def _wait(self, code: int) -> int:
        number = code & ~SUCCESSION
        if number not in self.waits:
            self.waits.update(self._prices({number: self.numbers.keys[number]}))
        return self.waits[number]


@pytest.fixture(scope="module")
def board_c(tmp_path_factory: pytest.TempPathFactory) -> Priced:
    return _priced(BOARD_C, tmp_path_factory.mktemp("c"))


def _priced(timing: Timing, folder: Path, *options: str, elf: Path | None = None) -> Priced:
    elf = elf or firmware()
    run = bench_run(timing.board(folder), elf, folder, *options, core=timing.core)
    return Priced(elf, run, timing.profile())


def _check(priced: Priced, others: Rate = NO_INTERFERENCE) -> Fraction:
    """Many windows, and how much all of them are over in the sum."""
    run, pipeline = priced.run, priced.pipeline
    count = len(run.address)
    rng = np.random.default_rng(1)
    stops = np.flatnonzero(pipeline.breakpoints)
    tried = charged = taken = 0
    while tried < WINDOWS:
        first = int(rng.integers(1, count - LONGEST))
        last = first + int(rng.integers(1, rng.choice((12, 60, LONGEST))))
        if np.searchsorted(stops, first - 2) != np.searchsorted(stops, last + 1):
            continue  # semihosting lies inside
        at = int(priced.owner[np.searchsorted(priced.owner, first)])
        if at > last or np.searchsorted(priced.cuts, first) != np.searchsorted(
            priced.cuts, at, "right"
        ):
            continue
        took = int(run.cycle[last] - run.cycle[first - 1])
        own = priced.window(first, last)
        allowed = int(others.settled((own + others.once) * others.factor))
        assert took <= allowed, _told(priced, first, last, took, allowed)
        tried, charged, taken = tried + 1, charged + allowed, taken + took
    return Fraction(charged - taken, taken)


def _told(priced: Priced, first: int, last: int, took: int, allowed: int) -> str:
    run, pipeline = priced.run, priced.pipeline
    lines = [f"{took} cycles, priced {allowed}"]
    for i in itertools.islice(range(first - 2, last + 1), 60):
        lines.append(
            f"{run.address[i]:x} {pipeline.table.instructions[int(pipeline.index[i])].text}: took "
            f"{run.took[i]}, pipeline {pipeline.allowed[i]}, own {priced.cost[i]}, waits "
            f"{priced.wait[i]}"
        )
    return "\n".join(lines)


def test_no_window_takes_longer_than_its_price(board_c: Priced) -> None:
    over = _check(board_c)
    print(f"windows of up to {LONGEST} instructions: {float(over):.2%} over")
    assert over < Fraction(5, 100)


def test_the_whole_run_is_hardly_overpriced(board_c: Priced) -> None:
    run = board_c.run
    inside = ~board_c.pipeline.breakpoints & ~board_c.pipeline.trapped
    taken, charged = run.took[inside].sum(), (board_c.cost + board_c.wait)[inside].sum()
    print(f"{inside.sum():,} instructions, {charged / taken - 1:.2%} over")
    assert inside.sum() > 1_300_000
    assert taken <= charged < 1.02 * taken


@pytest.mark.parametrize(
    "timing",
    [pytest.param(t, marks=pytest.mark.long) for t in (*OTHERS, *OF_FIRMWARE)],
    ids=str,
)
def test_other_memories(timing: Timing, tmp_path: Path) -> None:
    priced = _priced(timing, tmp_path)
    over = _check(priced)
    inside = ~priced.pipeline.breakpoints & ~priced.pipeline.trapped
    whole = (priced.cost + priced.wait)[inside].sum() / priced.run.took[inside].sum() - 1
    print(f"{timing}: windows {float(over):.2%} over, the whole run {whole:.2%}")
    assert whole >= 0


@pytest.mark.parametrize(
    ("timing", "accesses"),
    [
        (timing, accesses)
        for timing in (BOARD_C, *OTHERS, *OF_FIRMWARE)
        for accesses in ("any", "waited")
    ],
    ids=str,
)
@pytest.mark.long
def test_a_second_master_that_is_in_the_way(timing: Timing, accesses: str, tmp_path: Path) -> None:
    priced = _priced(timing, tmp_path, "--second-master", "--busiest", accesses)
    over = _check(priced, timing.second_master)
    print(f"{timing}, {accesses}: windows {float(over):.2%} over")


SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))]


@pytest.mark.parametrize(
    "timing",
    [
        BOARD_C,
        OTHERS[0],
        *(pytest.param(t, marks=pytest.mark.long) for t in (*OTHERS[1:], *PAST_THE_CACHE)),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(
    seed: int, timing: Timing, assemble_riscv: Callable[[str, str], Path], tmp_path: Path
) -> None:
    priced = _priced(timing, tmp_path, elf=assemble_riscv(program(seed), SCRIPT))
    over = _check(priced)
    whole = (priced.cost + priced.wait)[1:-1].sum() / priced.run.took[1:-1].sum() - 1
    print(f"{timing}: windows {float(over):.2%} over, the whole run {whole:.2%}")
    assert 0 <= whole < 0.1
