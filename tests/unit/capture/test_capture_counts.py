"""Instructions and accesses of firmware whose listing was counted by hand."""

from __future__ import annotations

import subprocess

import pytest

from wcetchar.model.trace import Event
from wcetchar.readers.stream import StreamReader

BUF = 0x20000000

# Each labelled instruction with the accesses that the Armv7-M Architecture Reference Manual gives
# it. r4 = BUF, sp = 0x20010000, r6 = 0, r7 = 1.
ACCESSES = """
 function reset
l_literal: ldr r4, =0x20000000
 movs r6, #0
 movs r7, #1
l_strb: strb r7, [r4, #1]
l_strh: strh r7, [r4, #2]
l_str: str r7, [r4, #4]
l_ldrb: ldrb r0, [r4, #1]
l_ldrsb: ldrsb r0, [r4, r7]
l_ldrh: ldrh r0, [r4, #2]
l_ldr: ldr r0, [r4, #4]
l_unaligned: ldr.w r0, [r4, #5]
l_strd: strd r6, r7, [r4, #8]
l_ldrd: ldrd r2, r3, [r4, #8]
l_push: push {r0-r3, lr}
l_pop: pop {r0-r3}
 add sp, #4
 add r5, r4, #0x20
l_stm: stmia r5!, {r0, r1, r2, r3}
l_ldmdb: ldmdb r5!, {r0, r1, r2}
l_stmdb: stmdb r4, {r0}
 cmp r6, r7
 itte eq
l_skip_str: streq r0, [r4, #16]
l_skip_ldr: ldreq r0, [r4, #16]
l_taken_str: strne r0, [r4, #20]
 add r5, r4, #0x40
l_ldrex: ldrex r0, [r5]
l_strex: strex r1, r7, [r5]
l_strex_fails: strex r2, r7, [r5]
l_ldrexb: ldrexb r0, [r5]
l_strexb: strexb r3, r7, [r5]
l_ldrexh: ldrexh r0, [r5]
l_strexh: strexh r3, r7, [r5]
 movs r0, #1
l_tbb: tbb [pc, r0]
table:
 .byte 0, (after_tbb - table) / 2
after_tbb:
 movs r0, #0
l_tbh: tbh [pc, r0, lsl #1]
wide:
 .2byte (after_tbh - wide) / 2
after_tbh:
l_pushpc: bl called
l_post: ldr r0, [r4], #4
l_pre: strb r0, [r4, #3]!
 b finish
 function called
l_push2: push {r4, lr}
l_poppc: pop {r4, pc}
"""

EXPECTED = {
    "l_strb": [("WRITE", BUF + 1, 1)],
    "l_strh": [("WRITE", BUF + 2, 2)],
    "l_str": [("WRITE", BUF + 4, 4)],
    "l_ldrb": [("READ", BUF + 1, 1)],
    "l_ldrsb": [("READ", BUF + 1, 1)],
    "l_ldrh": [("READ", BUF + 2, 2)],
    "l_ldr": [("READ", BUF + 4, 4)],
    "l_unaligned": [("READ", BUF + 5, 4)],
    "l_strd": [("WRITE", BUF + 8, 4), ("WRITE", BUF + 12, 4)],
    "l_ldrd": [("READ", BUF + 8, 4), ("READ", BUF + 12, 4)],
    "l_push": [("WRITE", 0x20010000 - 20 + 4 * i, 4) for i in range(5)],
    "l_pop": [("READ", 0x20010000 - 20 + 4 * i, 4) for i in range(4)],
    "l_stm": [("WRITE", BUF + 0x20 + 4 * i, 4) for i in range(4)],
    "l_ldmdb": [("READ", BUF + 0x24 + 4 * i, 4) for i in range(3)],
    "l_stmdb": [("WRITE", BUF - 4, 4)],
    "l_skip_str": [],
    "l_skip_ldr": [],
    "l_taken_str": [("WRITE", BUF + 20, 4)],
    "l_ldrex": [("READ", BUF + 0x40, 4)],
    "l_strex": [("WRITE", BUF + 0x40, 4)],
    "l_strex_fails": [],
    "l_ldrexb": [("READ", BUF + 0x40, 1)],
    "l_strexb": [("WRITE", BUF + 0x40, 1)],
    "l_ldrexh": [("READ", BUF + 0x40, 2)],
    "l_strexh": [("WRITE", BUF + 0x40, 2)],
    "l_pushpc": [],
    "l_push2": [("WRITE", 0x20010000 - 8, 4), ("WRITE", 0x20010000 - 4, 4)],
    "l_poppc": [("READ", 0x20010000 - 8, 4), ("READ", 0x20010000 - 4, 4)],
    "l_post": [("READ", BUF, 4)],
    "l_pre": [("WRITE", BUF + 7, 1)],
}


@pytest.fixture
def safe_buffer() -> str:
    # stmdb below BUF would leave the RAM, so the buffer starts a little above it.
    return ACCESSES.replace("=0x20000000", "=0x20000100")


def moved(accesses: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    return [(op, a + 0x100 if a < 0x20001000 else a, w) for op, a, w in accesses]


def test_every_access_of_every_instruction(capture, assemble, safe_buffer):
    firmware, trace = assemble(safe_buffer), capture(safe_buffer)
    for label, expected in EXPECTED.items():
        assert trace.accesses_of(firmware[label]) == [moved(expected)], label
    assert trace.accesses_of(firmware["l_tbb"]) == [[("READ", firmware["table"] + 1, 1)]]
    assert trace.accesses_of(firmware["l_tbh"]) == [[("READ", firmware["wide"], 2)]]
    [[(operation, address, width)]] = trace.accesses_of(firmware["l_literal"])
    assert (operation, width) == ("READ", 4)
    assert firmware["l_poppc"] < address


def test_totals_by_hand(capture, safe_buffer):
    result = capture(safe_buffer).result
    # reset: 41 instructions up to `b finish`, one of them the IT; called: 2; finish: 3.
    assert result.instructions == 41 + 2 + 3
    # Those listed, and tbb, tbh, and a literal each here and in finish.
    expected = sum(len(accesses) for accesses in EXPECTED.values()) + 2 + 2
    assert result.accesses == expected
    assert (result.exceptions, result.filtered) == (0, 0)


def test_lengths_and_bytes_are_those_of_objdump(capture, assemble, safe_buffer):
    firmware = assemble(safe_buffer)
    listing = subprocess.run(
        ["arm-none-eabi-objdump", "-d", "--show-raw-insn", firmware.path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    known = {}
    for line in listing.splitlines():
        head, _, rest = line.partition(":\t")
        if rest:
            halves = rest.split("\t")[0].split()
            known[int(head, 16)] = b"".join(bytes.fromhex(h)[::-1] for h in halves)
    trace = capture(safe_buffer)
    opened = StreamReader().open(str(trace.result.output))
    list(opened.batches())
    assert {c.address for c in opened.code} == set(trace.pcs())
    for code in opened.code:
        assert known[code.address] == code.code
    sizes = {a: s for kind, a, s in trace.events if kind is Event.INSTRUCTION}
    assert sizes == {c.address: len(c.code) for c in opened.code}


LOOP = """
 function reset
 ldr r0, =0xE000E010
 ldr r5, =700
 ldr r4, =0x20000000
again:
 ldr r3, [r0, #8]
 str r3, [r4]
 ldr r2, [r0, #8]
 subs r5, #1
 bne again
 b finish
"""


def test_a_device_access_within_a_block_counts_once(capture, assemble):
    """QEMU executes such an instruction twice inside, to have it at a block's end."""
    firmware, trace = assemble(LOOP), capture(LOOP)
    again = firmware["again"]
    pcs = trace.pcs()
    body = [again, again + 2, again + 4, again + 6, again + 8]
    assert pcs[3 : 3 + 5 * 700] == body * 700
    assert len(pcs) == 3 + 5 * 700 + 1 + 3
    assert trace.accesses_of(again) == [[("READ", 0xE000E018, 4)]] * 700
    assert trace.accesses_of(again + 2) == [[("WRITE", 0x20000000, 4)]] * 700


def test_more_events_than_one_chunk_holds(capture):
    long = LOOP.replace("=700", "=30000")
    trace = capture(long)
    assert trace.result.instructions == 3 + 5 * 30000 + 1 + 3
    assert trace.result.accesses == 1 + 3 * 30000 + 1  # literals: 0xE000E010, 0x20026
    assert len(trace.events) == trace.result.instructions + trace.result.accesses


@pytest.mark.parametrize("offset", range(0xFF0, 0x1000, 2))
def test_lengths_before_the_end_of_a_page(capture, assemble, offset):
    """QEMU 7.2 reports a narrow instruction that ends one halfword before a page as wide."""
    source = f"""
 function reset
 b far
 .balign 4096
 .space {offset:#x}
 function far
 movs r0, #1
 movs r1, #2
 mov.w r2, #3
 movs r3, #4
 mov.w r4, #5
 movs r5, #6
 b finish
"""
    start = assemble(source)["far"]
    assert start % 4096 == offset
    events = capture(source).events
    lengths = {address: size for kind, address, size in events if kind is Event.INSTRUCTION}
    expected = [2, 2, 4, 2, 4, 2]
    at = start
    for length in expected:
        assert lengths[at] == length, hex(at)
        at += length
