"""``characterize``: from traces written by hand to the published table."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from listing import (
    BEGIN,
    END,
    PARAMETER,
    SCRIPT,
    SERVICES,
    SOURCE,
    TABLE,
    TICK,
    HandTrace,
    Row,
    body,
    call,
    i,
    load,
    mark,
    sections,
    w,
)

from wcetchar import formula, store
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.line_entries import LineEntries
from wcetchar.errors import InputError
from wcetchar.model.access import AccessClass, CoreEvent, EventKind, Key, Operation, Pattern
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    CodeRange,
    Counts,
    DataFootprint,
    EnteredLine,
    Footprint,
    LineAfter,
    ServiceCharacterization,
    StretchCode,
    StretchKind,
    UsedLine,
    UsedLines,
    Word,
)
from wcetchar.model.fetch_buffer import M_PROFILE_BUFFER
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import SectionKind, Service, ServicesFile
from wcetchar.model.trace import Event, Knowledge, Loss, TraceTotals

Loaded = tuple[Image, InstructionTable]
FREE, MASKED, LOCKED = Blocking(), Blocking(interrupts=True), Blocking(preemption=True)
TICKS: list[Row] = [i(0x100), mark(BEGIN, 8), i(0x102), *TICK, i(0x108), mark(END, 8)]


@pytest.fixture
def loaded(assemble: Callable[..., Path]) -> Loaded:
    return load(assemble(SOURCE, SCRIPT))


def pipelined(loaded: Loaded) -> Loaded:
    """As if the core fetched ahead like a pipeline that predicts branches in its decoder."""
    image, table = loaded
    return image, replace(table, buffer=None)


def characterized(
    loaded: Loaded,
    *traces: HandTrace,
    services: ServicesFile = SERVICES,
    partial: bool = False,
    data_lines: tuple[int, ...] = (),
) -> Characterization:
    image, table = loaded
    return characterize(
        traces, image, table, services, tool="test", partial=partial, data_lines=data_lines
    )


def all_calls(values: Sequence[int] = range(1, 17)) -> list[Row]:
    return [row for n in values for row in call(n)]


def only(result: Characterization, name: str) -> ServiceCharacterization:
    (found,) = [s for s in result.services if s.name == name]
    return found


def event(kind: EventKind) -> CoreEvent:
    return CoreEvent(".text", kind)


def fetch(pattern: Pattern) -> AccessClass:
    return AccessClass(".text", Operation.FETCH, 32, pattern)


def evaluated(counts: Counts, values: dict[str, int]) -> Counter[tuple[Blocking, object]]:
    found: Counter[tuple[Blocking, object]] = Counter()
    for row in counts.rows:
        times = formula.evaluate(row.repetition, values)
        assert times >= 0
        for key, count in row.vector.items():
            assert count > 0
            found[row.blocking, key] += times * count
    return +found


def test_rows_by_hand(loaded: Loaded) -> None:
    """Read off the listing: the loop of two to four instructions runs N times under cpsid."""
    result = characterized(loaded, HandTrace(all_calls() + TICKS))
    service = only(result, "service")
    assert service.word is Word.HIGH_WATER_MARK
    assert service.counts.is_formula
    assert service.notes == ()
    assert service.evidence.windows == 16
    assert sorted(service.evidence.fitted + service.evidence.held_out) == [
        (n,) for n in range(1, 17)
    ]
    texts = [(formula.to_text(row.repetition), row.blocking) for row in service.counts.rows]
    assert set(texts) >= {("1", FREE), ("1", MASKED), ("1", LOCKED), ("N", MASKED)}
    for n in range(1, 17):
        at = evaluated(service.counts, {"N": n})
        assert at[MASKED, event(EventKind.STORE)] == n
        assert at[MASKED, event(EventKind.ALU)] == n
        assert at[MASKED, event(EventKind.BRANCH_TAKEN)] == n - 1
        assert at[MASKED, event(EventKind.BRANCH_UNTAKEN)] == 1
        assert at[MASKED, AccessClass("data", Operation.WRITE, 32)] == n
        assert at[FREE, AccessClass("stack", Operation.WRITE, 32, Pattern.NEXT)] == 1
        assert at[LOCKED, event(EventKind.RETURN)] == 2
        assert at[MASKED, fetch(Pattern.FIRST)] == n - 1
        assert at[MASKED, fetch(Pattern.NEXT)] == 2 + n
        # A run of 12 bytes from 0x10c and, where the loop goes round, one from 0x112 on.
        assert at[MASKED, fetch(Pattern.REALIGNED)] == (n > 1)


def test_stretches_by_hand(loaded: Loaded) -> None:
    service = only(characterized(loaded, HandTrace(all_calls() + TICKS)), "service")
    kinds = [(s.kind, s.begin.split()[0], s.end.split()[0]) for s in service.stretches]
    assert kinds == [
        (StretchKind.INTERRUPTS, "service+4", "service+12"),
        # One instruction lies between what lets interrupts in and the lock: a switch that waits
        # can come too late for it.
        (StretchKind.PREEMPTION, "service+4", "unlock+4"),
    ]
    for n in range(1, 17):
        at = evaluated(service.stretches[0].counts, {"N": n})
        assert at[MASKED, event(EventKind.STORE)] == n
        assert at[MASKED, fetch(Pattern.FIRST)] == n - 1
        assert at[MASKED, fetch(Pattern.NEXT)] == 2 + n
        # The first run is entered before the stretch: 8 bytes (2 words) where the loop goes round,
        # else 10 bytes to 0x119 (3 words). Each other run of 6 bytes needs 2 words anywhere; the
        # last one, 8 bytes to 0x119, at most 3 and 3 here.
        assert at[MASKED, fetch(Pattern.REALIGNED)] == 0


def at_once(found: Loaded) -> Loaded:
    """The same for a core that takes what waits wherever it is let in."""
    image, table = found
    return image, replace(table, exceptions=replace(table.exceptions, unnoticed=-1))


def test_the_code_of_a_stretch_by_hand(loaded: Loaded) -> None:
    """``.text`` begins at 0x100. The masked stretch is ldr (0x110) to cpsie (0x118); then come
    ``bl lock``, which has nop (0x11e) fetched, and the two of ``lock`` (0x128), whose return has
    three instructions fetched, up to 0x133. The locked one goes from there by nop and ``bl unlock``
    to the return of ``unlock`` (0x130), which has those to 0x139 fetched; then comes pop (0x124),
    and three behind it.

    Of lines of 16 bytes the masked one executes what lies in 0x110 alone, and the instruction that
    masks ends at 0x10f. The locked one enters 0x120 for the return of ``lock``, for ``bl unlock``,
    and for pop behind it; and 0x130 behind the one return and for the other."""
    known = characterized(at_once(pipelined(loaded)), HandTrace(all_calls() + TICKS))
    found = only(known, "service")
    points = tuple((n,) for n in range(1, 17))
    ranges = (CodeRange(".text", 0x10, 0x20), CodeRange(".text", 0x28, 0x34))
    after = (
        LineAfter(16, ".text", 2),
        LineAfter(16, ".text", 3),
        LineAfter(32, ".text", 1),
    )
    held_off = StretchCode(ranges, footprints=(Footprint(points, ranges, after=after),))
    masked = replace(held_off, masked_by=(".text", 0x0F))
    ranges = (CodeRange(".text", 0x1E, 0x3A),)
    often = (
        EnteredLine(16, ".text", 2, 3),
        EnteredLine(16, ".text", 3, 2),
        EnteredLine(32, ".text", 1, 2),
    )
    locked = StretchCode(ranges, footprints=(Footprint(points, ranges, often),))
    assert [stretch.code for stretch in found.stretches] == [masked, held_off, locked]


def test_a_prefetch_buffer_has_more_under_way_when_a_stretch_begins(loaded: Loaded) -> None:
    """What the twelve instructions before it and behind it fetch, and may fetch in vain: all from
    the first one of ``service`` (0x10c) to 22 bytes behind the return of ``lock`` (0x12c)."""
    known = characterized(loaded, HandTrace(all_calls() + TICKS))
    assert known.fetch_buffer == M_PROFILE_BUFFER
    masked = only(known, "service").stretches[0].code
    assert masked is not None
    assert (masked.footprints, masked.masked_by) == ((), None)
    assert masked.ranges[0].start == 0x0C
    assert masked.ranges[0].end >= 0x12C + 22 - 0x100


FORKED = f"""
.section .vectors,"a"
  .word 0x20021000, driver+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
{sections()}
.global driver, service, lock, unlock, tick
.type driver,%function
driver:            @ 0x100
start:
  strb r0, [r4]    @ 0x100  parameter
  strb r0, [r5]    @ 0x102  begin
  bl service       @ 0x104
  strb r0, [r6]    @ 0x108  end
  b.n start        @ 0x10a
lock:
unlock:
tick:
.size driver, .-driver
.type service,%function
service:           @ 0x10c
  cpsid i          @ 0x10c
  cmp r0, #1       @ 0x10e
  beq near         @ 0x110
  b.n far          @ 0x112
  .space 0x160 - 0x114
near:              @ 0x160
  adds r1, #1      @ 0x160
  b.n join         @ 0x162
  .space 0x1a0 - 0x164
far:               @ 0x1a0
  adds r1, #1      @ 0x1a0
  b.n join         @ 0x1a2
  .space 0x200 - 0x1a4
join:              @ 0x200
  adds r1, #1      @ 0x200
  cpsie i          @ 0x202
  nop              @ 0x204
  nop              @ 0x206
  nop              @ 0x208
  b.n again        @ 0x20a
  .space 0x240 - 0x20c
again:             @ 0x240
  cpsid i          @ 0x240
  adds r1, #1      @ 0x242
  cpsie i          @ 0x244
  nop              @ 0x246
  nop              @ 0x248
  nop              @ 0x24a
  nop              @ 0x24c
  bx lr            @ 0x24e
.size service, .-service
"""


def forked_call(n: int) -> list[Row]:
    ways = {1: (0x110, 0x160, 0x162), 2: (0x110, 0x112, 0x1A0, 0x1A2)}
    path = (0x10C, 0x10E, *ways[n], *range(0x200, 0x20C, 2), *range(0x240, 0x250, 2))
    return [
        i(0x100), mark(PARAMETER, n), i(0x102), mark(BEGIN, 7), i(0x104),
        *map(i, path),
        i(0x108), mark(END, 7), i(0x10A),
    ]  # fmt: skip


def in_points(stretch: BlockingStretch) -> dict[tuple[int, ...], Counter[object]]:
    """All that it counts, at each point, where it was published as it was observed."""
    counts: dict[tuple[int, ...], Counter[object]] = {}
    for values in ((1,), (2,)):
        rows = [r for p in stretch.counts.points if p.values == values for r in p.rows]
        at = counts[values] = Counter[object]()
        for row in rows or stretch.counts.rows:
            at.update(dict(row.vector))
    return counts


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_code_of_all_windows_and_of_a_stretch_that_counts_less(
    assemble: Callable[..., Path], order: tuple[int, int]
) -> None:
    """Both ways lie in the code of the first stretch, whichever came last. The second one counts
    no more of anything, but lies elsewhere."""
    forked = load(assemble(FORKED, SCRIPT))
    calls = [row for n in order for row in forked_call(n)]
    found = only(characterized(pipelined(forked), HandTrace(calls), partial=True), "service")
    masked = [s for s in found.stretches if s.kind is StretchKind.INTERRUPTS]
    assert [s.begin.split()[0] for s in masked] == ["service+2", "service+310"]
    first, second = (s.code.ranges for s in masked if s.code is not None)
    for inside in ((0x60, 0x64), (0xA0, 0xA4), (0x100, 0x102)):
        assert any(r.start <= inside[0] and inside[1] <= r.end for r in first)
    assert not any(r.end > 0x140 for r in first)
    assert any(r.start <= 0x142 and r.end >= 0x146 for r in second)
    more, less = map(in_points, masked)
    assert all(less[values] <= more[values] for values in more)


def test_wild_transfers_of_a_stretch_are_those_of_its_longest_window(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the loop's branch (0x116) could fetch from anywhere when it goes round: 15 times of
    N = 16, in windows of any order."""
    _, table = loaded
    branch = next(n for n, one in enumerate(table.instructions) if one.address == 0x116)
    monkeypatch.setattr(LineEntries, "is_wild", lambda _, pair: pair == 2 * branch + 1)
    calls = [row for n in (16, *range(1, 16)) for row in call(n)]
    found = only(characterized(pipelined(loaded), HandTrace(calls + TICKS)), "service")
    assert [stretch.code.wild for stretch in found.stretches if stretch.code] == [15, 15]


def test_code_that_holds_other_code() -> None:
    def code(*ranges: tuple[int, int], wild: int = 0, section: str = "a") -> StretchCode:
        return StretchCode(tuple(CodeRange(section, *one) for one in ranges), wild)

    whole = code((0, 8), (16, 24), wild=1)
    for inner in (whole, code(), code((2, 4), (16, 18)), code((0, 8), wild=1)):
        assert whole.holds(inner)
    for other in (code((0, 10)), code((8, 16)), code((0, 8), wild=2), code((0, 8), section="b")):
        assert not whole.holds(other)


def test_the_order_of_traces_does_not_matter(loaded: Loaded) -> None:
    calls = [HandTrace(call(n), size) for n in range(1, 17) for size in (1 + n % 5,)]
    ticks = HandTrace(TICKS)
    rng = random.Random(1)
    first = characterized(loaded, *calls, ticks)
    whole = characterized(loaded, HandTrace(all_calls() + TICKS))
    for _ in range(3):
        traces = [*calls, ticks]
        rng.shuffle(traces)
        again = characterized(loaded, *traces)
        assert again.services == first.services == whole.services
        assert again.conservation == first.conservation == whole.conservation


def test_the_same_input_gives_the_same_bytes(loaded: Loaded) -> None:
    texts = {
        store.characterization_json(characterized(loaded, HandTrace(all_calls() + TICKS, size)))
        for size in (1, 7, 1000)
    }
    assert len(texts) == 1


def test_windows_that_differ(loaded: Loaded) -> None:
    """The elementwise maximum, not either of them."""
    tall = [w(TABLE + 8) if row == w(TABLE + 4) else row for row in body(3)]
    aligned = [(Event.READ, TABLE + 2, 4) if row == (Event.READ, TABLE, 4) else row for row in tall]
    rows = call(3) + call(3, aligned) + call(3)
    service = only(characterized(loaded, HandTrace(rows), partial=True), "service")
    assert "N was observed from 3 to 3 only, of 1..16" in service.notes
    assert any("differed at 1 of 1 points" in note for note in service.notes)
    (point,) = service.counts.points or [None]
    counts: Counter[object] = Counter()
    for row in service.counts.rows if point is None else point.rows:
        counts.update(dict(row.vector))
    assert counts[AccessClass("data", Operation.READ, 32)] == 1
    assert counts[AccessClass("data", Operation.READ, 16)] == 2


# ---- conservation ------------------------------------------------------------------------------


def test_conservation(loaded: Loaded) -> None:
    rows = all_calls([3]) + TICKS + [i(0x111), (Event.GAP, 7, 0), i(0x10A)]
    conservation = characterized(loaded, HandTrace(rows)).conservation
    assert conservation is not None
    assert conservation.holds
    assert (conservation.filtered, conservation.undecoded) == (7, 1)
    inside = sum(row[0] == Event.INSTRUCTION for row in body(3))
    assert dict(conservation.attributed) == {"service": inside, "tick": 5}
    assert conservation.traced == sum(row[0] == Event.INSTRUCTION for row in rows)


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ({"instructions": 1}, "instructions were counted, but the trace's reader counted 1"),
        ({"filtered": 3}, "0 instructions left out by a filter"),
        ({"complete": False}, "truncated"),
    ],
)
def test_a_readers_totals_must_be_met(loaded: Loaded, totals: dict[str, int], message: str) -> None:
    trace = HandTrace(all_calls([3]))
    trace.totals = replace(trace.totals, **totals)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        characterized(loaded, trace, partial=True)
    assert TraceTotals().complete is None


def test_what_no_trace_shows_is_named_with_the_reason(loaded: Loaded) -> None:
    part = characterized(loaded, HandTrace(all_calls()), partial=True)
    assert [missing.name for missing in part.not_characterized] == ["tick"]
    assert part.not_characterized[0].reason.startswith("no trace shows it")
    whole = characterized(loaded, HandTrace([*all_calls(), *TICKS]))
    assert whole.not_characterized == ()


def test_places_of_stretches_are_those_of_the_text(loaded: Loaded) -> None:
    for stretch in only(
        characterized(loaded, HandTrace(all_calls()), partial=True), "service"
    ).stretches:
        for text, place in (
            (stretch.begin, stretch.begin_place),
            (stretch.end, stretch.end_place),
        ):
            assert place is not None
            offset = f"+{place.offset}" if place.offset else ""
            assert text.startswith(f"{place.function}{offset} (")
            assert f"{place.file}:{place.line})" in text


@pytest.mark.parametrize(
    ("instead", "behind"), [("bl lock", []), ("blx r3\n  nop", []), ("bl lock - 2", [0x126])]
)
def test_the_call_that_a_stretch_was_reached_through(
    assemble: Callable[..., Path], instead: str, behind: list[int]
) -> None:
    """Also one through a pointer, or by way of another instruction, as where a linker puts a
    veneer."""
    found = load(assemble(SOURCE.replace("bl lock", instead), SCRIPT))
    rows = all_calls()
    for n in reversed([n for n, row in enumerate(rows) if row == i(0x128)]):
        if instead.startswith("blx"):
            rows.insert(rows.index(i(0x11E), n), i(0x11C))
        rows[n:n] = [i(one) for one in behind]
    service = only(characterized(at_once(found), HandTrace(rows), partial=True), "service")
    (locked,) = [s for s in service.stretches if s.begin.startswith("lock")]
    assert ", called at service+14 (" in locked.begin


# ---- what traces lack ----------------------------------------------------------------------------


def test_a_loss_concerns_only_the_services_of_its_trace(loaded: Loaded) -> None:
    undecoded = HandTrace([*TICKS, i(0x111), i(0x10A)])
    filtered = HandTrace([(Event.GAP, 9, 0), *all_calls()])
    result = characterized(loaded, undecoded, filtered)
    service, tick = only(result, "service"), only(result, "tick")
    assert (service.word, tick.word) == (Word.HIGH_WATER_MARK, Word.ESTIMATE)
    (note,) = service.notes
    assert note.startswith("the capture left out instructions outside of this service")
    assert len(tick.notes) == 1
    assert "not decoded" in tick.notes[0]


def test_a_trace_without_program_counters_is_refused(loaded: Loaded) -> None:
    lacking = HandTrace(all_calls(), losses=(Loss(Knowledge.PROGRAM_COUNTERS, "nothing"),))
    with pytest.raises(InputError, match="no program counters"):
        characterized(loaded, lacking, partial=True)


def test_a_trace_without_data_addresses_shows_no_service(loaded: Loaded) -> None:
    rows = [row for row in all_calls() if row[0] == Event.INSTRUCTION]
    lacking = HandTrace(rows, losses=(Loss(Knowledge.ADDRESSES, "nothing"),))
    with pytest.raises(InputError, match="no data addresses"):
        characterized(loaded, lacking, partial=True)


def test_a_characterization_says_which_lines_of_data_it_counts(loaded: Loaded) -> None:
    plain = characterized(loaded, HandTrace(all_calls()), partial=True)
    found = characterized(loaded, HandTrace(all_calls()), partial=True, data_lines=(64, 32))
    assert (plain.data_lines, found.data_lines) == ((), (32, 64))
    assert not any(key.section == "data" and isinstance(key, CoreEvent) for key in _keys(plain))
    counted = {key.kind.value for key in _keys(found) if isinstance(key, CoreEvent)}
    assert counted >= {f"line load {size} x{ways}" for size in (32, 64) for ways in (1, 2, 4)}
    assert not any(" 16 " in kind or " 128 " in kind for kind in counted)


def test_which_lines_of_data_are_used_by_hand(loaded: Loaded) -> None:
    """Of 32 bytes, the service loads that of the table, whatever it stores there, and at its end
    the one below the stack pointer; a handler reads a vector and its frame of eight words."""
    found = characterized(loaded, HandTrace(all_calls() + TICKS), data_lines=(32,))
    table, stack = UsedLine(32, "data", 0, 1, 1), UsedLine(32, "stack", 0x7F8 // 32, 1, 1)
    points = tuple((n,) for n in range(1, 17))
    assert only(found, "service").data == (DataFootprint(points, UsedLines((table, stack))),)
    masked, locked = (x.data for x in only(found, "service").stretches)
    assert masked == locked == UsedLines((table,))
    words = UsedLines((), ((".vectors", 1), ("stack", 8)))
    assert only(found, "tick").data == (DataFootprint(((),), words),)
    assert [x.data for x in only(found, "tick").stretches] == [UsedLines(()), words]
    begins = {section.name: section.address for section in found.sections}
    assert begins == {
        ".text": 0x100,
        ".vectors": 0,
        "data": TABLE,
        "stack": 0x20020000,
        "scs": 1 << 31,
    }
    plain = characterized(loaded, HandTrace(all_calls() + TICKS))
    assert {section.name for section in plain.sections if section.address is not None} == {".text"}
    for service in plain.services:
        assert service.data is None
        assert all(stretch.data is None for stretch in service.stretches)


def _keys(found: Characterization) -> Iterator[Key]:
    for service in found.services:
        counts = service.counts
        for row in (*counts.rows, *(row for point in counts.points for row in point.rows)):
            yield from row.vector


def test_interrupts_are_refused_where_they_cannot_be_seen(loaded: Loaded) -> None:
    interrupted = call(2, body(2, (13, TICK[1:-1])))
    lacking = HandTrace(interrupted, losses=(Loss(Knowledge.EXCEPTIONS, "nothing"),))
    with pytest.raises(InputError):
        characterized(loaded, lacking, partial=True)


def test_a_mask_that_is_not_known_is_said(assemble: Callable[..., Path]) -> None:
    """The tick's first msr writes a constant; without it the value is not known."""
    source = SOURCE.replace("movs r0, #0x20", "nop")
    result = characterized(load(assemble(source, SCRIPT)), HandTrace(TICKS), partial=True)
    service = only(result, "tick")
    assert "not known: counted as blocking" in service.notes[0]
    assert any(row.blocking.unknown for row in service.counts.rows)


def service_of(name: str, entry: str) -> ServicesFile:
    return replace(SERVICES, services=(Service(name, 7, SERVICES.services[0].kind, (entry,)),))


def test_a_service_that_leaves_the_scheduler_locked(loaded: Loaded) -> None:
    rows = [
        i(0x102), mark(BEGIN, 7), i(0x11A), i(0x128), (Event.READ, TABLE + 1, 1), i(0x12A),
        i(0x11E), mark(END, 7), i(0x120),
    ]  # fmt: skip
    services = service_of("locking", "lock")
    service = only(characterized(loaded, HandTrace(rows), services=services), "locking")
    assert [row.blocking for row in service.counts.rows] == [LOCKED]
    assert service.notes == ()  # all of it runs under the lock, its first instruction included


def test_code_in_a_section_of_data(loaded: Loaded) -> None:
    text, *others = SERVICES.sections
    wrong = replace(SERVICES, sections=(replace(text, kind=SectionKind.DATA), *others))
    with pytest.raises(InputError, match=r"lies in \.text, of kind data"):
        characterized(loaded, HandTrace(all_calls()), services=wrong, partial=True)
