"""Windows, access classes, blocking and conservation against a listing counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from listing import (
    BEGIN,
    END,
    MARK,
    PARAMETER,
    SCRIPT,
    SERVICES,
    SOURCE,
    STACK,
    TABLE,
    TICK,
    Row,
    batches,
    body,
    call,
    i,
    load,
    mark,
    r,
    w,
)

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import stretches
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of, unpack
from wcetchar.errors import InputError
from wcetchar.model.characterization import Blocking, StretchKind
from wcetchar.model.trace import Event


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    image, table = load(assemble(SOURCE, SCRIPT))
    assert [t.address for t in table.instructions][:5] == [0x100, 0x102, 0x104, 0x108, 0x10A]
    return resolve(SERVICES, image, table)


def windows(
    resolved: Resolved, rows: list[Row], size: int = 64
) -> tuple[list[Window], WindowFinder]:
    finder = WindowFinder(resolved, "hand")
    return list(find_windows(batches(rows, size), finder)), finder


def counted(
    resolved: Resolved, window: Window, data_lines: tuple[int, ...] = ()
) -> dict[tuple[str, str], int]:
    """(blocking, class) -> count."""
    labeller = Labeller(resolved, "hand", data_lines=data_lines)
    found: dict[tuple[str, str], int] = {}
    for packed in labeller.label(window).packed.tolist():
        blocking, code, _ = unpack(packed)
        key = (str(labeller.blockings[blocking]), str(key_of(code, resolved.section_names)))
        found[key] = found.get(key, 0) + 1
    return found


def expected(loops: int) -> dict[tuple[str, str], int]:
    """The service's counts, by hand from the listing."""
    free, masked, locked = "none", "all interrupts", "preemption"
    found = {
        # push, cpsid run unmasked; run 1 starts at 0x10c: word 0x10c (both); 0x110..0x116 masked
        (free, ".text store multiple"): 1,
        (free, "stack write 32 first"): 1,
        (free, "stack write 32 next"): 1,
        (free, ".text interrupt mask"): 1,
        (free, ".text fetch 32 first"): 1 + 1,  # 0x10c; after the return to 0x124
        (masked, ".text load"): 1,
        (masked, "data read 32 single"): 1,
        (masked, ".text store"): loops,
        (masked, "data write 32 single"): loops,
        (masked, ".text alu"): loops,
        (masked, ".text branch taken"): loops - 1,
        (masked, ".text pipeline refill"): loops - 1,
        (masked, ".text branch untaken"): 1,
        # straight on: words 0x110, 0x114; each further loop starts anew at 0x112: 0x110, 0x114
        (masked, ".text fetch 32 first"): loops - 1,
        (masked, ".text fetch 32 next"): 2 + (loops - 1) + 1,  # and word 0x118 for cpsie
        (masked, ".text interrupt mask"): 1,  # cpsie still runs masked
        # bl lock at 0x11a..0x11d: word 0x118 is there, word 0x11c is new
        (free, ".text call"): 1,
        (free, ".text fetch 32 next"): 1,
        (free, ".text pipeline refill"): 1 + 1,  # bl lock; pop
        # locked from lock's first instruction to the return of unlock
        (locked, ".text load"): 1,
        (locked, "data read 8 single"): 1,
        (locked, ".text return"): 2,
        (locked, ".text hint"): 1,
        (locked, ".text call"): 1,
        (locked, ".text store"): 1,
        (locked, "data write 8 single"): 1,
        (locked, ".text pipeline refill"): 3,
        # runs: 0x128..0x12b (1 word); 0x11e..0x123 (2); 0x12c..0x131 (2)
        (locked, ".text fetch 32 first"): 3,
        (locked, ".text fetch 32 next"): 2,
        (free, ".text load multiple"): 1,
        (free, "stack read 32 first"): 1,
        (free, "stack read 32 next"): 1,
        # realigned: ceil((bytes + 2) / 4) - words for each run, charged to its last instruction
        # 0x10c..0x117 (loops > 1): 12 bytes, 3 words, worst 4; loops 0x112..0x117: 6 bytes, 2, 2;
        # 0x128: 4 bytes, 1, worst 2; 0x11e: 6 bytes, 2, 2; 0x12c: 6 bytes, 2, 2;
        # 0x124: 2 bytes, 1, 1
        (locked, ".text fetch 32 realigned"): 1,
        # stalls. push uses sp, r4 and lr, which the caller may have loaded; cpsid is next to push,
        # cpsie next to bne, which fell through late
        (free, ".text second use stall behind a transfer"): 1,
        (free, ".text system register wait"): 1,
        (masked, ".text load-use stall of an access"): 1,  # str stores r2, in the first loop
        (masked, ".text backward branch untaken"): 1,
        # bne to 0x112 when it falls through: behind str, subs and bne share the word 0x114. When it
        # is taken, cpsie is behind it, alone in the word 0x118 but for half of bl
        (masked, ".text fetch held late"): 1,
        # bx lr at 0x12a: strb.w behind it would use r3, which ldrb has loaded; then bx lr and nop
        # share the word 0x130. bx lr at 0x130: the third behind it is msr, which ends in the word
        # 0x138, before movs
        (locked, ".text fetch held late"): 2,
        # bl unlock: pop and nop share the word 0x124; behind bl lock nop ends the word 0x11c
        (locked, ".text fetch held early"): 1,
        (locked, ".text crossing target realigned"): 1,  # strb.w at 0x12c has four bytes
    }
    if loops > 1:
        # the last loop runs on to 0x11d: 12 bytes, words 0x110..0x11c: 4, worst 4
        found[(masked, ".text fetch 32 realigned")] = 1
    else:
        # one run 0x10c..0x11d: 18 bytes, 5 words, worst 5
        pass
    return {key: count for key, count in found.items() if count}


@pytest.mark.parametrize("loops", [1, 2, 5, 16])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_counts_are_those_counted_by_hand(resolved: Resolved, loops: int, size: int) -> None:
    (window,), finder = windows(resolved, call(loops), size)
    assert window.values == (loops,)
    assert counted(resolved, window) == expected(loops)
    inside = sum(row[0] == Event.INSTRUCTION for row in body(loops))
    assert finder.attributed == {"service": inside}
    assert sum(finder.unattributed.values()) == 5
    assert finder.traced == inside + 5


@pytest.mark.parametrize("at", range(1, 20))
def test_an_interrupt_inside_changes_no_count(resolved: Resolved, at: int) -> None:
    rows = body(2)
    while rows[at][0] != Event.INSTRUCTION:  # interrupts come between instructions
        at += 1
    (window,), finder = windows(resolved, call(2, body(2, (at, TICK))), 5)
    assert counted(resolved, window) == expected(2)
    assert finder.unattributed["exception 15"] == 5


def test_a_handler_is_a_window_with_the_hardware_frame(resolved: Resolved) -> None:
    rows = [i(0x100), mark(BEGIN, 8), i(0x102), mark(PARAMETER, 0), *TICK, i(0x108), mark(END, 8)]
    (window,), finder = windows(resolved, rows)
    free, masked = "preemption", "interrupts up to priority 0x20 + preemption"
    assert counted(resolved, window) == {
        (free, "? exception entry"): 1,
        (free, "stack write 32 first"): 1,
        (free, "stack write 32 next"): 7,
        (free, ".vectors read 32 single"): 1,
        (free, ".text alu"): 1,
        (free, ".text system register"): 1,
        (masked, ".text alu"): 1,
        (masked, ".text system register"): 1,  # the write that lets them in again
        (free, ".text return"): 1,
        (free, ".text pipeline refill"): 1,
        # 0x134..0x141: words 0x134, 0x138 | 0x13c | 0x140; 14 bytes: 4 words, worst 4
        (free, ".text fetch 32 first"): 1,
        (free, ".text fetch 32 next"): 2,
        (masked, ".text fetch 32 next"): 1,
        (free, ".text exception exit"): 1,
        (free, "stack read 32 first"): 1,
        (free, "stack read 32 next"): 7,
        (free, ".text system register wait"): 1,
        (masked, ".text system register wait"): 1,
        # bx lr at 0x140: the third behind it, ldmia.w, ends the word 0x148. Two bytes further it
        # would begin in the middle of it and end in the one that bx lr is in
        (free, ".text fetch held late realigned"): 1,
    }
    assert finder.attributed == {"tick": 5}


WAYS = ("x1", "x2", "x4")


def test_loads_that_may_miss_are_counted_beside_all_else(resolved: Resolved) -> None:
    (window,), _ = windows(resolved, call(2))
    # ldr loads the table's line, and ldrb finds it there, unless an interrupt came before the lock;
    # pop loads the stack's, to which push has stored only.
    more = {
        **{("all interrupts", f"data line load 32 {ways}"): 1 for ways in WAYS},
        **{("preemption", f"data line load 32 {ways} emptied"): 1 for ways in WAYS},
        **{("none", f"stack line load 32 {ways}"): 1 for ways in WAYS},
    }
    assert counted(resolved, window, (32,)) == {**expected(2), **more}


def test_what_the_hardware_reads_by_itself_may_miss(resolved: Resolved) -> None:
    rows = [i(0x100), mark(BEGIN, 8), i(0x102), mark(PARAMETER, 0), *TICK, i(0x108), mark(END, 8)]
    (window,), _ = windows(resolved, rows)
    found = counted(resolved, window, (16, 64))
    more = {key: number for key, number in found.items() if "line load" in key[1]}
    assert more == {
        ("preemption", f"{section} line load {size} {ways}"): number
        for section, number in ((".vectors", 1), ("stack", 8))
        for size in (16, 64)
        for ways in WAYS
    }
    assert found == {**counted(resolved, window), **more}


@pytest.mark.parametrize("at", [6, 9, 14])
def test_an_interrupt_that_comes_back_replaces_nothing_in_the_figures(
    resolved: Resolved, at: int
) -> None:
    rows = body(2)
    while rows[at][0] != Event.INSTRUCTION:
        at += 1
    (plain,), _ = windows(resolved, call(2))
    (window,), _ = windows(resolved, call(2, body(2, (at, TICK))))
    assert counted(resolved, window, (32,)) == counted(resolved, plain, (32,))


def test_stretches(resolved: Resolved) -> None:
    (window,), _ = windows(resolved, call(3))
    labeller = Labeller(resolved, "hand")
    labelled = labeller.label(window)
    address = [resolved.table.instructions[k].address for k in labelled.index.tolist()]
    found = [
        (s.kind, address[s.first], address[s.last])
        for s in stretches(
            window, labelled, labeller.blockings, labeller.is_call, labeller.exceptions
        )
    ]
    assert found == [
        (StretchKind.INTERRUPTS, 0x110, 0x118),
        # Only the call of ``lock`` lies between.
        (StretchKind.PREEMPTION, 0x110, 0x130),
    ]


def switch(saved: int, restored: int) -> list[Row]:
    return [
        (Event.EXCEPTION, 14, 0),
        i(0x144),
        w(saved),
        w(saved + 4),
        i(0x148),
        r(restored),
        r(restored + 4),
        i(0x14C),
        (Event.EXCEPTION_EXIT, 14, 0),
    ]


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_threads_are_told_apart_by_their_frames(resolved: Resolved, size: int) -> None:
    """Thread A is switched away inside the service; B makes a whole call of its own meanwhile."""
    one, two = STACK - 64, STACK - 512
    meanwhile = [*switch(one, two), i(0x10A), *call(5), *switch(two, one)]
    found, finder = windows(resolved, call(2, body(2, (15, meanwhile))), size)
    assert [(f.values, f.switched) for f in found] == [((5,), False), ((2,), True)]
    assert counted(resolved, found[0]) == expected(5)
    assert counted(resolved, found[1]) == expected(2)
    total = sum(finder.attributed.values()) + sum(finder.unattributed.values())
    assert total == finder.traced


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (call(2)[:-3], "ends inside service"),
        ([mark(BEGIN, 9)], "service number 9"),
        ([mark(BEGIN, 7)], "parameter N was not marked"),
        ([mark(PARAMETER, 17), mark(BEGIN, 7)], r"N = 17"),
        ([i(0x100), mark(PARAMETER, 2), mark(BEGIN, 7), mark(END, 7)], "never entered"),
        ([i(0x100), mark(END, 7)], "without its begin mark"),
        (
            [i(0x100), mark(PARAMETER, 2), mark(BEGIN, 7), i(0x104), i(0x10C), mark(END, 7)],
            "before it returned",
        ),
        (call(2, [i(0x10C), (Event.GAP, 5, 0)]), "left out 5 instructions"),
        (call(2, [i(0x10C), i(0x111)]), "unknown instruction"),
        ([i(0x100), mark(PARAMETER, 2), mark(BEGIN, 7), i(0x10C)], "no call of it"),
    ],
)
def test_marks_that_make_no_sense(resolved: Resolved, rows: list[Row], message: str) -> None:
    with pytest.raises(InputError, match=message):
        windows(resolved, rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [x for x in rows if x != i(0x114)], "is followed by"),
        (lambda rows: [x for x in rows if x != r(TABLE)], "other accesses"),
        (lambda rows: [r(0x30000000) if x == r(TABLE) else x for x in rows], "no logical section"),
        (lambda rows: [r(TABLE, 2) if x == r(TABLE) else x for x in rows], "other accesses"),
        (lambda rows: [w(TABLE) if x == r(TABLE) else x for x in rows], "other accesses"),
    ],
)
def test_a_trace_that_the_table_cannot_explain(
    resolved: Resolved, change: Callable[[list[Row]], list[Row]], message: str
) -> None:
    (window,), _ = windows(resolved, call(2, change(body(2))))
    with pytest.raises(InputError, match=message):
        Labeller(resolved, "hand").label(window)


def test_misaligned_accesses_are_split(resolved: Resolved) -> None:
    rows = [r(TABLE + 1) if x == r(TABLE) else x for x in body(1)]
    (window,), _ = windows(resolved, call(1, rows))
    found = counted(resolved, window)
    masked = "all interrupts"
    assert found[(masked, "data read 8 single")] == 2
    assert found[(masked, "data read 16 single")] == 1
    assert found[(masked, ".text unaligned access")] == 1


def test_blocking_words() -> None:
    assert str(Blocking()) == "none"
    assert str(Blocking(priority=0x50, preemption=True)) == (
        "interrupts up to priority 0x50 + preemption"
    )


def test_mark_array_is_where_it_is(resolved: Resolved) -> None:
    assert (resolved.mark_start, resolved.mark_end) == (MARK, MARK + 1024)
