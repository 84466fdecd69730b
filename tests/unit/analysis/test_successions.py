"""Which access follows which, against a walk through the instructions one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

from wcetchar.analysis.successions import REACH, Gaps, Successions, gaps
from wcetchar.counting.columns import (
    KIND,
    OPERATION,
    PATTERN,
    SUCCESSION,
    access_code,
    is_realigned,
    is_succession,
    key_of,
    pack,
    unpack,
)
from wcetchar.model.access import (
    AccessClass,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
    Succession,
)

NAMES = ("code", "data", "stack")
BEFORE_IT = {EventKind.LOAD_USE_STALL, EventKind.CONSECUTIVE_ACCESS, EventKind.CROSSING_TARGET}
BEHIND_IT = {EventKind.PIPELINE_REFILL, EventKind.FETCH_HELD_LATE, EventKind.INDIRECT_JUMP}


@dataclass(frozen=True)
class Executed:
    issue: EventKind
    beside: frozenset[EventKind]
    accesses: tuple[AccessClass, ...]
    late: bool


def read(section: str) -> AccessClass:
    return AccessClass(section, Operation.READ, 32, Pattern.SINGLE)


def write(section: str) -> AccessClass:
    return AccessClass(section, Operation.WRITE, 32, Pattern.SINGLE)


def behind_load(
    run: list[Executed], at: int, last: int, cuts: set[int]
) -> tuple[Counter[CoreEvent], int]:
    """What the core does behind a load until something else than a load accesses, and how many
    transfer control late."""
    events: Counter[CoreEvent] = Counter()
    late = 0
    for i in range(at + 1, last + 1):
        one = run[i]
        if i in cuts:
            break
        if one.accesses and not is_load(one):
            events.update(CoreEvent("code", kind) for kind in one.beside & BEFORE_IT)
            break
        if i > at + REACH:
            break
        events[CoreEvent(one.accesses[0].section if one.accesses else "code", one.issue)] += 1
        events.update(CoreEvent("code", kind) for kind in one.beside)
        late += one.late and EventKind.FETCH_HELD_LATE not in one.beside
    return events, late


def is_load(one: Executed) -> bool:
    reads = [access.operation is Operation.READ for access in one.accesses]
    return one.issue is EventKind.LOAD and reads == [True]


def walked(
    run: list[Executed], first: int, last: int, cuts: set[int], loads: bool
) -> Counter[tuple[int, str]]:
    """Position and text of each succession, by the definition."""
    found: Counter[tuple[int, str]] = Counter()
    before: AccessClass | None = None
    events: Counter[CoreEvent] = Counter()
    late, between, more = 1, 0, False
    open_one: tuple[int, Succession] | None = None

    def end(position: int, access: AccessClass | None) -> None:
        nonlocal open_one
        ordered = tuple(sorted(events.items(), key=lambda e: (e[0].section, e[0].kind.value)))
        if open_one is not None:
            behind, key = open_one
            found[behind, str(replace(key, then=ordered))] += 1
        key = Succession(before, ordered, late, more, access)
        behind_write = before is None or before.operation is Operation.WRITE
        if loads and access and is_load(run[position]) and behind_write and not more:
            then, late_then = behind_load(run, position, last, cuts)
            told = sorted(then.items(), key=lambda e: (e[0].section, e[0].kind.value))
            key = replace(key, then=tuple(told), late_then=late_then)
        writes = [one for one in (before, access) if one and one.operation is Operation.WRITE]
        open_one = (position, key) if len(writes) == 2 and not more else None
        if open_one is None:
            found[position, str(key)] += 1

    for i in range(first, last + 1):
        one = run[i]
        if i in cuts and i > first:
            end(i - 1, None)
            before, late, between, more = None, 1, 0, False
            events.clear()
        for number, access in enumerate(one.accesses):
            if number == 0:
                events.update(CoreEvent("code", k) for k in one.beside & BEFORE_IT)
            end(i, access)
            before, late, between, more = access, 0, 0, False
            events.clear()
        unheld = one.late and EventKind.FETCH_HELD_LATE not in one.beside
        if one.accesses:
            late, more = int(unheld), bool(one.beside & BEHIND_IT)
        elif between < REACH:
            events[CoreEvent("code", one.issue)] += 1
            events.update(CoreEvent("code", k) for k in one.beside)
            late += unheld
            between += 1
        else:
            more = True
    end(last, None)
    return found


def drawn(rng: np.random.Generator, count: int) -> list[Executed]:
    run = []
    for _ in range(count):
        kind = rng.integers(0, 10)
        accesses: tuple[AccessClass, ...] = ()
        if kind < 2:
            accesses = (read(NAMES[rng.integers(1, 3)]),)
        elif kind < 4:
            accesses = (write(NAMES[rng.integers(1, 3)]),)
        elif kind == 4:
            accesses = (read("data"), write("data"))
        issue = EventKind.LOAD if accesses and rng.integers(0, 5) else EventKind.ALU
        beside = {k for k in BEFORE_IT | BEHIND_IT if rng.integers(0, 5) == 0}
        run.append(Executed(issue, frozenset(beside), accesses, bool(rng.integers(0, 4) == 0)))
    return run


def of(
    run: list[Executed],
    cuts: set[int],
    settled: dict[int, int] | None = None,
    called: bool = False,
    loads: bool = False,
) -> tuple[Gaps, Successions]:
    numbers = Successions(NAMES)
    codes, owners, kinds, places = [], [], [], []
    for i, one in enumerate(run):
        for access in one.accesses:
            codes.append(
                int(
                    access_code(
                        np.array([NAMES.index(access.section)]),
                        OPERATION[access.operation],
                        np.array([3]),
                        np.array([PATTERN[access.pattern]]),
                    )[0]
                )
            )
            owners.append(i)
        for kind in (one.issue, *one.beside):
            kinds.append(KIND[kind])
            places.append(i)
    found = gaps(
        numbers,
        (np.array(codes, dtype=np.int64), np.array(owners, dtype=np.int64)),
        (np.array(kinds), np.array(places)),
        np.zeros(len(run), dtype=np.int64),
        np.array([one.late for one in run]),
        tuple(sorted(cuts)),
        settled,
        called,
        loads=loads,
    )
    return found, numbers


@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_successions_of_windows_and_of_stretches(seed: int, loads: bool) -> None:
    rng = np.random.default_rng(seed)
    run = drawn(rng, int(rng.integers(1, 90)))
    if seed % 3 == 0:  # long ways between accesses
        run = [e if i % 40 == 0 else Executed(e.issue, e.beside, (), e.late)
               for i, e in enumerate(run)]  # fmt: skip
    cuts = {int(c) for c in rng.integers(1, len(run) + 1, int(rng.integers(0, 4)))}
    cuts = {c for c in cuts if c < len(run)}
    found, numbers = of(run, cuts, loads=loads)
    for _ in range(6):
        first, last = sorted(rng.integers(0, len(run), 2).tolist())
        codes, positions = found.within(first, last)
        texts = Counter(
            (position, str(key_of(code, NAMES, numbers.keys)))
            for code, position in zip(codes.tolist(), positions.tolist(), strict=True)
        )
        assert texts == walked(run, first, last, cuts, loads)


def test_a_window_without_accesses() -> None:
    found, numbers = of([Executed(EventKind.ALU, frozenset(), (), False)] * 3, set())
    codes, positions = found.within(0, 2)
    assert positions.tolist() == [2]
    between = ((CoreEvent("code", EventKind.ALU), 3),)
    assert [numbers.keys[c & ~SUCCESSION] for c in codes.tolist()] == [
        Succession(None, between, 1, False, None)
    ]


def test_what_begins_behind_a_read_of_another_activity() -> None:
    """Once where the window begins, and where it goes on behind a cut, but at no other access."""
    stores = [Executed(EventKind.STORE, frozenset(), (write("data"),), False)] * 4

    def settled(first: int, known: set[int]) -> list[int]:
        found, numbers = of(stores, {1, 3}, {begin: begin + 5 for begin in known})
        codes, positions = found.within(first, 3)
        keys = [numbers.keys[code & ~SUCCESSION] for code in codes.tolist()]
        assert all(key.before is None for key in keys if key.settled)
        begun = [known_at for known_at in (first, 1, 3) if known_at in known and known_at >= first]
        told = [key.settled - 5 for key in keys if key.settled]
        assert told == sorted(set(begun))
        return [at for key, at in zip(keys, positions.tolist(), strict=True) if key.settled]

    assert settled(0, set()) == []
    assert settled(0, {0}) == [0]
    assert settled(0, {3}) == [3]
    assert settled(1, {0, 1, 3}) == [1, 3]
    assert settled(2, {0, 1, 3}) == [3]


@pytest.mark.parametrize("far", [0, 1, REACH - 1, REACH, REACH + 1, 40])
def test_that_a_handler_ends_is_told_however_far_behind_its_last_access(far: int) -> None:
    """Once: what it leaves on the bus is its own to wait for."""
    stored = Executed(EventKind.STORE, frozenset(), (write("data"),), False)
    other = Executed(EventKind.ALU, frozenset(), (), False)
    leaves = Executed(EventKind.RETURN, frozenset({EventKind.EXCEPTION_EXIT}), (), False)
    found, numbers = of([stored, *[other] * far, leaves], set())
    codes, _ = found.within(0, far + 1)
    last = numbers.keys[codes.tolist()[-1] & ~SUCCESSION]
    assert last.access is None
    assert dict(last.between).get(CoreEvent("code", EventKind.EXCEPTION_EXIT)) == 1
    assert dict(last.between).get(CoreEvent("code", EventKind.ALU), 0) == min(far, REACH)
    codes, _ = found.within(0, far)
    last = numbers.keys[codes.tolist()[-1] & ~SUCCESSION]
    assert CoreEvent("code", EventKind.EXCEPTION_EXIT) not in dict(last.between)


def test_packed_successions_are_no_other_classes() -> None:
    numbers = Successions(NAMES)
    keys = [
        Succession(None, ((CoreEvent("code", EventKind.ALU), n),), 0, False, read("data"))
        for n in range(1, 2000)
    ]
    codes = np.array([numbers.code(key) for key in keys])
    packed = pack(np.full(len(codes), 77), codes, np.full(len(codes), (1 << 24) - 1))
    assert is_succession(packed).all()
    assert not is_realigned(packed).any()
    assert [unpack(int(p)) for p in packed] == [(77, int(c), (1 << 24) - 1) for c in codes]
    assert [key_of(int(c), NAMES, numbers.keys) for c in codes] == keys
    dearest = numbers.dearest(int(codes[5]))
    assert numbers.keys[dearest & ~SUCCESSION] == Succession(None, (), 0, True, read("data"))


def test_what_begins_behind_a_call() -> None:
    """The window alone does: not what goes on behind a cut, nor a stretch that begins later."""
    stores = [Executed(EventKind.STORE, frozenset(), (write("data"),), False)] * 4

    def called(first: int, is_called: bool) -> list[int]:
        found, numbers = of(stores, {2}, called=is_called)
        codes, positions = found.within(first, 3)
        keys = [numbers.keys[code & ~SUCCESSION] for code in codes.tolist()]
        return [at for key, at in zip(keys, positions.tolist(), strict=True) if key.called]

    assert called(0, False) == []
    assert called(0, True) == [0]
    assert called(1, True) == []
    assert called(2, True) == []


def test_behind_a_load_goes_on_what_loads_and_from_where() -> None:
    """That section may not be cached where the others are."""
    stored = Executed(EventKind.STORE, frozenset(), (write("data"),), False)
    loaded, elsewhere = (
        Executed(EventKind.LOAD, frozenset(), (read(name),), False) for name in ("data", "stack")
    )
    other = Executed(EventKind.ALU, frozenset(), (), False)

    def behind(*run: Executed) -> list[dict[CoreEvent, int]]:
        found, numbers = of([stored, *run], set(), loads=True)
        codes = found.within(0, len(run))[0].tolist()
        return [dict(numbers.keys[code & ~SUCCESSION].then) for code in codes]

    alu = CoreEvent("code", EventKind.ALU)
    load, its_load = (CoreEvent(name, EventKind.LOAD) for name in ("data", "stack"))
    assert behind(loaded, other, loaded, other, elsewhere, other, stored, loaded) == [
        {},
        {alu: 3, load: 1, its_load: 1},
        *[{}] * 5,
    ]
    barrier = Executed(EventKind.BARRIER, frozenset(), (), False)
    assert behind(loaded, other, barrier, other) == [{}, {alu: 1}, {}]
