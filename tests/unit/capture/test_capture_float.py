"""A Cortex-M4 with floating point: accesses against a listing that is counted by hand."""

from __future__ import annotations

TOP, BUF = 0x20010000, 0x20000100

SOURCE = """
 .cpu cortex-m4
 .fpu fpv4-sp-d16
 function reset
 ldr r0, =0xE000ED88
 mov r1, #0xF00000
l_enable: str r1, [r0]
 dsb
 isb
 ldr r4, =0x20000100
l_vldr: vldr s1, [r4, #4]
l_vldr_d: vldr d1, [r4, #8]
l_literal: vldr s2, constant
l_vstr: vstr s1, [r4, #16]
l_vstr_d: vstr d1, [r4, #24]
l_vpush: vpush {d8, d9}
l_vpop: vpop {d8, d9}
l_vstm: vstmia r4, {s1-s3}
 add r5, r4, #64
l_vldm: vldmdb r5!, {s16-s31}
 cmp r4, r5
 itt hi
l_skipped: vstmdbhi r5!, {s16-s31}
l_skipped_d: vldrhi d1, [r4]
l_float: vmul.f32 s0, s1, s2
l_svc: svc 0
l_after: vadd.f32 s0, s0, s0
 b finish
 .balign 4
constant: .float 1.5
 .pool
 function svc
l_handler: vadd.f32 s3, s0, s0
l_handler_push: vpush {s3}
 add sp, #4
l_return: bx lr
"""


def words(operation: str, address: int, count: int) -> list[tuple[str, int, int]]:
    return [(operation, address + 4 * i, 4) for i in range(count)]


EXPECTED = {
    "l_enable": words("WRITE", 0xE000ED88, 1),
    "l_vldr": words("READ", BUF + 4, 1),
    "l_vldr_d": words("READ", BUF + 8, 2),
    "l_vstr": words("WRITE", BUF + 16, 1),
    "l_vstr_d": words("WRITE", BUF + 24, 2),
    "l_vpush": words("WRITE", TOP - 16, 4),
    "l_vpop": words("READ", TOP - 16, 4),
    "l_vstm": words("WRITE", BUF, 3),
    "l_vldm": words("READ", BUF, 16),
    "l_skipped": [],
    "l_skipped_d": [],
    "l_float": [],
    "l_svc": [],
    "l_after": [],
    # What the core itself saves of the interrupted context stands nowhere: 26 words, s0 to s15 and
    # FPSCR of them here.
    "l_handler": [],
    "l_handler_push": words("WRITE", TOP - 26 * 4 - 4, 1),
    "l_return": [],
}


def test_every_floating_point_access(capture, assemble) -> None:
    firmware, trace = assemble(SOURCE), capture(SOURCE, machine="mps2-an386")
    for label, expected in EXPECTED.items():
        assert trace.accesses_of(firmware[label]) == [expected], label
    literal = words("READ", firmware["constant"], 1)
    assert trace.accesses_of(firmware["l_literal"]) == [literal]
    assert trace.result.exceptions == 1
