"""Single invocations: what each instruction costs against an oracle that counts one event at a
time; what interrupts them, and what is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from count_oracle import Oracle
from listing import BEGIN, END, SCRIPT, SERVICES, SOURCE, TICK, HandTrace, body, call, i, load, mark
from test_windows_random import events, found, kernel

from wcetchar import store
from wcetchar.analysis.characterize import heading
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.invocations import Invocations
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder
from wcetchar.engine.estimate import estimate_at
from wcetchar.engine.instructions import dearest, priced_invocation
from wcetchar.engine.pricing import price_vector
from wcetchar.errors import InputError
from wcetchar.model.access import AccessClass, CoreEvent, EventKind, Key, Operation, Pattern
from wcetchar.model.characterization import StretchKind
from wcetchar.model.invocation import Exported, Interruption, Invocation, PricedInvocation
from wcetchar.model.run import RunValues
from wcetchar.model.section_map import Assumption, SectionMap
from wcetchar.report.execution import Slice, Track, timeline

PLACED = {".text": "flash", ".vectors": "flash", "data": "sram", "stack": "sram", "scs": "scs"}
MAP = SectionMap("placed", PLACED, assumptions=frozenset({Assumption.CODE_ALIGNMENT}))


def collected(
    resolved: Resolved, rows: list[tuple[object, int, int]], wanted: str = "", **options: object
) -> list[Invocation]:
    """All invocations of the service ``wanted``; all of all, if it is empty."""

    def is_wanted(window: Window) -> bool:
        return wanted in ("", window.service.name)

    options = {"each": True, **options}
    found = Invocations(resolved, is_wanted, **options)  # type: ignore[arg-type]
    found.add(HandTrace(rows), RunValues())  # type: ignore[arg-type]
    return [*found.finished()]


def priced(resolved: Resolved, invocations: Sequence[Invocation]) -> list[PricedInvocation]:
    seen = replace(
        heading(resolved, tool="test"), services=tuple(one.counted for one in invocations)
    )
    prices = price_vector(seen, store.load_profile("cortex-m3/flash-3ws"), MAP)
    return [
        priced_invocation(one, estimate_at(one.counted, prices, one.values)) for one in invocations
    ]


def shown(invocations: Sequence[PricedInvocation]) -> tuple[Track, ...]:
    return timeline(Exported("test.elf", "p", "m", tuple(invocations), {}))


def key_of(words: tuple[str, ...]) -> Key:
    """Of an oracle's key."""
    if len(words) == 2:
        return CoreEvent(words[0], EventKind(words[1]))
    section, operation, width, pattern = words
    return AccessClass(section, Operation(operation), int(width), Pattern(pattern))


def with_ticks(*rows: list[tuple[object, int, int]]) -> list[tuple[object, int, int]]:
    """Rows in which the handler's activations are wanted."""
    inside = [row for some in rows for row in some]
    return [i(0x102), mark(BEGIN, 8), i(0x10A), *inside, i(0x108), mark(END, 8), i(0x10A)]


@pytest.fixture
def unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of random kernels end anywhere."""
    monkeypatch.setattr(WindowFinder, "finish", lambda finder: [])


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    return resolve(SERVICES, *load(assemble(SOURCE, SCRIPT)))


@pytest.mark.usefixtures("unfinished")
@pytest.mark.parametrize("seed", range(100, 108))
def test_each_instruction_against_the_oracle(seed: int, assemble: Callable[..., Path]) -> None:
    machine = kernel(seed, assemble, 600)
    resolved = resolve(SERVICES, machine.image, machine.table)
    oracle = Oracle(machine.image, machine.table, SERVICES)
    windows, _ = found(machine, 64)
    invocations = collected(resolved, machine.rows)
    assert [one.service for one in invocations] == [window.name for window in windows]
    seen = replace(
        heading(resolved, tool="test"), services=tuple(one.counted for one in invocations)
    )
    prices = price_vector(seen, store.load_profile("cortex-m3/flash-3ws"), MAP)
    for window, one in zip(windows[:8], priced(resolved, invocations), strict=False):
        done = oracle.executed(events(window))
        frame = None
        if window.exception is not None:
            frame = SERVICES.main_stack if window.from_handler else SERVICES.task_stack
        total = Fraction(0)
        until = one.until.tolist()
        for position in range(len(done)):
            counts = oracle.count(done, within=range(position, position + 1))
            total += sum(
                prices[key_of(words)].time.high * number for (_, words), number in counts.items()
            )
            if frame is None:  # a frame of hardware is the first and the last instruction's
                assert until[position + 1] == math.ceil(total * 1000)
        whole = oracle.count(done, frame)
        exact = sum(
            (prices[key_of(words)].time.high * number for (_, words), number in whole.items()),
            start=Fraction(0),
        )
        assert one.total == exact
        assert until[-1] == math.ceil(exact * 1000)
        assert one.loaded_ps == 0
        assert one.traced.address.tolist() == [step.instruction.address for step in done]


def test_an_interrupt_inside(resolved: Resolved) -> None:
    """It has a track of its own, and what it takes lies within the call, which it interrupts."""
    before = 10  # rows of the body: six, and the first turn of the loop
    rows = with_ticks(call(2, body(2, (before, TICK))))
    tick, service = priced(resolved, collected(resolved, rows))
    assert (tick.traced.service, service.traced.service) == ("tick", "service")
    assert service.traced.parameters == {"N": 2}
    (alone,) = priced(resolved, collected(resolved, call(2)))
    assert service.total == alone.total
    assert [(s.first, s.behind) for s in service.traced.segments] == [
        (0, None),
        (6, Interruption.INTERRUPT),
    ]
    thread, handlers = shown([tick, service])
    (called,), (handled,) = thread.slices, handlers.slices
    until = service.until.tolist()
    assert (called.begin, called.end) == (0, until[-1] + tick.until.tolist()[-1])
    assert (handled.begin, handled.end) == (until[6], until[6] + tick.until.tolist()[-1])
    (interrupted,) = thread.below["interrupted by"].slices
    assert (interrupted.name, interrupted.begin, interrupted.end) == (
        "interrupt", handled.begin, handled.end,
    )  # fmt: skip
    (function,) = called.inside
    assert [one.name for one in function.inside] == ["lock", "unlock"]
    assert function.inside[0].begin == until[11] + tick.until.tolist()[-1]
    # Masked from behind cpsid, whose own instruction is let in, up to cpsie.
    held = [one for one in service.traced.held if one.kind is StretchKind.INTERRUPTS]
    masked = thread.below["interrupts held off"].slices
    assert [(one.begin, one.end) for one in masked] == [
        (until[one.first], until[one.last + 1] + tick.until.tolist()[-1]) for one in held
    ]


def test_what_is_not_shown_takes_no_time(resolved: Resolved) -> None:
    rows = [*call(2, body(2, (10, TICK))), *call(1)]
    first, second = priced(resolved, collected(resolved, rows, "service"))
    (thread,) = shown([first, second])
    assert [(one.begin, one.end) for one in thread.slices] == [
        (0, first.until[-1]),
        (first.until[-1], first.until[-1] + second.until[-1]),
    ]
    (interrupted,) = thread.below["interrupted by"].slices
    assert interrupted == Slice(
        "interrupt, whose time is not shown", first.until[6], first.until[6]
    )


def test_handlers_inside_of_one_another(resolved: Resolved) -> None:
    nested = [*TICK[:3], *TICK, *TICK[3:]]
    rows = with_ticks(call(1, body(1, (10, nested))), TICK)
    made = priced(resolved, collected(resolved, rows))
    assert [one.traced.service for one in made] == ["tick", "tick", "service", "tick"]
    thread, handlers, inner = shown(made)
    assert (handlers.name, inner.name) == ("handlers", "handlers, nested 1")
    (deep,), (outer, later) = inner.slices, handlers.slices
    assert outer.begin < deep.begin < deep.end < outer.end < thread.slices[0].end <= later.begin
    (interrupted,) = handlers.below["interrupted by"].slices
    assert (interrupted.begin, interrupted.end) == (deep.begin, deep.end)


@pytest.mark.usefixtures("unfinished")
@pytest.mark.parametrize("seed", range(12))
def test_timelines_of_random_kernels(seed: int, assemble: Callable[..., Path]) -> None:
    """All of the time is one invocation's and no other's; a slice with what interrupts it is as
    long as the times of these together."""
    machine = kernel(seed, assemble)
    resolved = resolve(SERVICES, machine.image, machine.table)
    made = priced(resolved, collected(resolved, machine.rows))
    tracks = shown(made)
    assert sum(len(track.slices) for track in tracks) == len(made)
    spans = sorted((one.begin, one.end) for track in tracks for one in track.slices)
    whole = sum(int(one.until[-1]) for one in made)
    assert max((end for _, end in spans), default=0) == whole
    own = sorted(int(one.until[-1]) for one in made)
    lengths = []
    for track in tracks:
        for before, after in zip(track.slices, track.slices[1:], strict=False):
            assert before.end <= after.begin
        gaps = track.below["interrupted by"].slices if "interrupted by" in track.below else []
        for one in track.slices:
            nested(one)
            inner = [gap for gap in gaps if one.begin <= gap.begin and gap.end <= one.end]
            lengths.append(one.end - one.begin - sum(gap.end - gap.begin for gap in inner))
    assert sorted(lengths) == own


def nested(outer: Slice) -> None:
    """Slices inside of it lie within it, one behind the other."""
    at = outer.begin
    for one in outer.inside:
        assert at <= one.begin <= one.end <= outer.end
        at = one.end
        nested(one)


def test_equal_ones_are_left_out(resolved: Resolved) -> None:
    rows = [*call(2), *call(3), *call(2), *call(2, body(2, (10, TICK)))]
    every = collected(resolved, rows, "service")
    assert [one.values for one in every] == [(2,), (3,), (2,), (2,)]
    other = collected(resolved, rows, "service", each=False)
    assert [one.values for one in other] == [(2,), (3,)]
    (found,) = dearest(priced(resolved, other))
    assert found.traced.values == (3,)


def test_more_than_is_kept(resolved: Resolved) -> None:
    rows = [*call(2), *call(3)]
    number = sum(map(len, collected(resolved, rows)))
    assert len(collected(resolved, rows, most=number)) == 2
    with pytest.raises(InputError, match=f"more than {number - 1} instructions") as caught:
        collected(resolved, rows, most=number - 1)
    assert "--service" in str(caught.value)


def test_an_unfinished_trace_is_refused(resolved: Resolved) -> None:
    with pytest.raises(InputError, match="begin mark"):
        collected(resolved, call(2)[:-4])
    assert collected(resolved, [i(0x100), i(0x102)]) == []
