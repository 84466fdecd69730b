"""Filters leave events out and nothing else: totals hold, and what stays is unchanged."""

from __future__ import annotations

from itertools import pairwise

import pytest

from wcetchar.capture import CaptureFilter, CaptureRequest
from wcetchar.errors import UsageError
from wcetchar.model.service import AddressRange
from wcetchar.model.trace import Event

# Marks: wcet_mark[channel][value], 16 values; channel 0 begins, channel 1 ends.
MARK = 0x20000100
MARKED = """
 function reset
 ldr r0, =0xE000E010
 ldr r1, =211
 str r1, [r0, #4]
 movs r1, #7
 str r1, [r0]
 ldr r6, =0x20000100
 movs r7, #5
again:
 bl idle
begin: strb r7, [r6, r7]
 bl service
end: strd r7, r7, [r6, #16]
after: subs r7, #1
 bne again
 b finish
 function idle
 movs r2, #100
 ldr r3, =0x20000200
idle_loop:
 str r2, [r3]
 subs r2, #1
 bne idle_loop
 bx lr
idle_end:
 function service
 push {r4, lr}
 ldr r2, [r6, #64]
 pop {r4, pc}
 function systick
 push {r0, lr}
 pop {r0, pc}
"""


def everything_but(trace, kinds):
    return [event for event in trace.events if event[0] not in kinds]


def conserve(full, part):
    assert part.result.instructions + part.result.filtered == full.result.instructions
    assert part.result.accesses + part.result.filtered_accesses == full.result.accesses
    assert part.result.exceptions == full.result.exceptions
    gaps = [n for kind, n, _ in part.events if kind is Event.GAP]
    assert sum(gaps) == part.result.filtered
    assert all(gaps)


def groups(trace):
    """Each instruction with its accesses; other events alone."""
    found = []
    for event in trace.events:
        if event[0] in (Event.READ, Event.WRITE):
            found[-1].append(event)
        else:
            found.append([event])
    return found


def test_excluded_range(capture, assemble):
    firmware, full = assemble(MARKED), capture(MARKED)
    low, high = firmware["idle"], firmware["idle_end"]
    part = capture(MARKED, CaptureFilter(exclude=(AddressRange(low, high),)))
    conserve(full, part)
    assert part.result.filtered == 5 * (2 + 3 * 100 + 1)
    assert part.result.filtered_accesses >= 5 * 101
    kept = [
        event
        for group in groups(full)
        if not (group[0][0] is Event.INSTRUCTION and low <= group[0][1] < high)
        for event in group
    ]
    assert everything_but(part, (Event.GAP,)) == kept
    # Between two gaps something was recorded.
    kinds = [kind for kind, _, _ in part.events]
    assert not any(a is b is Event.GAP for a, b in pairwise(kinds))


def test_between_marks(capture, assemble):
    firmware, full = assemble(MARKED), capture(MARKED)
    part = capture(
        MARKED,
        CaptureFilter(
            start=(AddressRange(MARK, MARK + 16),), stop=(AddressRange(MARK + 16, MARK + 32),)
        ),
    )
    conserve(full, part)
    # The reference: walk the full trace and keep from the begin mark's instruction to the end's.
    kept, on = [], False
    for group in groups(full):
        is_instruction = group[0][0] is Event.INSTRUCTION
        if is_instruction and group[0][1] == firmware["begin"]:
            on = True
        if on or not is_instruction:
            kept += group
        if is_instruction and group[0][1] == firmware["end"]:
            on = False
    assert everything_but(part, (Event.GAP,)) == kept
    pcs = part.pcs()
    assert pcs[0] == firmware["begin"]
    assert pcs.count(firmware["begin"]) == pcs.count(firmware["end"]) == 5
    assert firmware["after"] not in pcs
    # The instruction that stores the end mark keeps both of its accesses.
    assert (
        part.accesses_of(firmware["end"])
        == [[("WRITE", MARK + 16, 4), ("WRITE", MARK + 20, 4)]] * 5
    )


def test_both_filters_at_once(capture, assemble):
    firmware, full = assemble(MARKED), capture(MARKED)
    part = capture(
        MARKED,
        CaptureFilter(
            exclude=(AddressRange(firmware["service"], firmware["systick"]),),
            start=(AddressRange(MARK, MARK + 16),),
            stop=(AddressRange(MARK + 16, MARK + 32),),
        ),
    )
    conserve(full, part)
    assert firmware["service"] not in part.pcs()


def test_a_start_mark_that_never_comes(capture):
    full = capture(MARKED)
    part = capture(MARKED, CaptureFilter(start=(AddressRange(0x30000000, 0x30000001),)))
    conserve(full, part)
    assert part.result.instructions == 0
    assert part.result.filtered == full.result.instructions


@pytest.mark.parametrize(("start", "end"), [(8, 8), (9, 8), (-1, 4), (0, (1 << 32) + 1)])
def test_impossible_ranges_are_refused(start, end):
    with pytest.raises(UsageError):
        CaptureFilter(exclude=(AddressRange(start, end),))


def test_as_many_ranges_as_there_is_room_for_in_any_order(capture, assemble):
    """Those that matter overlap, and stand among ranges where nothing executes."""
    firmware = assemble(MARKED)
    idle, idle_end = firmware["idle"], firmware["idle_end"]
    others = [AddressRange(0x40000000 + 4 * i, 0x40000002 + 4 * i) for i in range(4094)]
    overlapping = (AddressRange(idle + 4, idle_end), AddressRange(idle, idle + 8))
    ranges = (*others[2000:], *overlapping, *others[:2000])
    alone = capture(MARKED, CaptureFilter(exclude=(AddressRange(idle, idle_end),)))
    among = capture(MARKED, CaptureFilter(exclude=ranges))
    assert len(ranges) == 4096
    assert among.result.filtered == alone.result.filtered > 0
    assert among.events == alone.events


def test_too_many_ranges_are_refused():
    ranges = tuple(AddressRange(4 * i, 4 * i + 2) for i in range(4097))
    with pytest.raises(UsageError, match="4097"):
        CaptureFilter(start=ranges)


@pytest.mark.parametrize(
    "settings",
    [{"icount_shift": 11}, {"icount_shift": -1}, {"timeout": 0}, {"max_instructions": 0}],
)
def test_impossible_settings_are_refused(settings, tmp_path):
    with pytest.raises(UsageError):
        CaptureRequest(tmp_path / "f", "00", tmp_path / "o", **settings)
