"""RISC-V: instructions and accesses of firmware whose listing was counted by hand."""

from __future__ import annotations

import subprocess

import pytest

from wcetchar.model.trace import Event
from wcetchar.readers.stream import StreamReader

BUF = 0x80100000
STACK = 0x80200000
BOTH = ("rv32imac_zicsr_zifencei", "rv32ima_zicsr_zifencei")

# Each labelled instruction with the accesses that the Unprivileged ISA gives it. s0 = BUF,
# t1 = 0x12345678, s1 = BUF + 0x40.
ACCESSES = """
 function reset
 lui s0, 0x80100
 lui sp, 0x80200
 lui t1, 0x12345
 addi t1, t1, 0x678
l_sb: sb t1, 1(s0)
l_sh: sh t1, 2(s0)
l_sw: sw t1, 4(s0)
l_lb: lb a0, 1(s0)
l_lbu: lbu a0, 1(s0)
l_lh: lh a0, 2(s0)
l_lhu: lhu a0, 2(s0)
l_lw: lw a0, 4(s0)
l_negative: lw a0, -4(s0)
l_lw_misaligned: lw a0, 5(s0)
l_lh_misaligned: lh a0, 7(s0)
l_sw_misaligned: sw t1, 9(s0)
 lui a5, 0x80101
l_lw_pages: lw a0, -2(a5)
l_lh_pages: lhu a0, -1(a5)
l_sw_pages: sw t1, -3(a5)
l_swsp: sw t1, 12(sp)
l_lwsp: lw a0, 12(sp)
 addi s1, s0, 0x40
l_lr: lr.w a0, (s1)
l_sc: sc.w a1, t1, (s1)
l_sc_fails: sc.w a2, t1, (s1)
l_lr_aqrl: lr.w.aqrl a0, (s1)
l_sc_aqrl: sc.w.aqrl a1, t1, (s1)
l_amoswap: amoswap.w a0, t1, (s1)
l_amoadd: amoadd.w a0, t1, (s1)
l_amoxor: amoxor.w.aq a0, t1, (s1)
l_amoand: amoand.w.rl a0, t1, (s1)
l_amoor: amoor.w.aqrl a0, t1, (s1)
l_amomin: amomin.w a0, t1, (s1)
l_amomax: amomax.w a0, t1, (s1)
l_amominu: amominu.w a0, t1, (s1)
l_amomaxu: amomaxu.w a0, t1, (s1)
l_discarded: amoadd.w x0, t1, (s1)
l_load_x0: lw x0, 4(s0)
l_fence: fence
l_fence_i: fence.i
l_mul: mul a0, a0, t1
l_div: div a0, a0, x0
l_csr: csrr a0, mstatus
l_csr_write: csrw mscratch, t1
l_auipc: auipc a0, 0
l_jal: jal called
l_jalr: lla a0, called
 jalr a0
 beq a0, a0, over
 nop
over:
 bne a0, a0, over
 j finish
 function called
l_called: addi sp, sp, -16
l_save: sw ra, 12(sp)
l_restore: lw ra, 12(sp)
 addi sp, sp, 16
l_ret: ret
"""

ATOMIC = [("READ", BUF + 0x40, 4), ("WRITE", BUF + 0x40, 4)]
EXPECTED = {
    "l_sb": [("WRITE", BUF + 1, 1)],
    "l_sh": [("WRITE", BUF + 2, 2)],
    "l_sw": [("WRITE", BUF + 4, 4)],
    "l_lb": [("READ", BUF + 1, 1)],
    "l_lbu": [("READ", BUF + 1, 1)],
    "l_lh": [("READ", BUF + 2, 2)],
    "l_lhu": [("READ", BUF + 2, 2)],
    "l_lw": [("READ", BUF + 4, 4)],
    "l_negative": [("READ", BUF - 4, 4)],
    "l_lw_misaligned": [("READ", BUF + 5, 4)],
    "l_lh_misaligned": [("READ", BUF + 7, 2)],
    "l_sw_misaligned": [("WRITE", BUF + 9, 4)],
    "l_lw_pages": [("READ", BUF + 0x1000 - 2, 4)],
    "l_lh_pages": [("READ", BUF + 0x1000 - 1, 2)],
    "l_sw_pages": [("WRITE", BUF + 0x1000 - 3, 4)],
    "l_swsp": [("WRITE", STACK + 12, 4)],
    "l_lwsp": [("READ", STACK + 12, 4)],
    "l_lr": [("READ", BUF + 0x40, 4)],
    "l_sc": [("WRITE", BUF + 0x40, 4)],
    "l_sc_fails": [],
    "l_lr_aqrl": [("READ", BUF + 0x40, 4)],
    "l_sc_aqrl": [("WRITE", BUF + 0x40, 4)],
    **{
        f"l_{name}": ATOMIC
        for name in (
            *("amoswap", "amoadd", "amoxor", "amoand", "amoor"),
            *("amomin", "amomax", "amominu", "amomaxu", "discarded"),
        )
    },
    "l_load_x0": [("READ", BUF + 4, 4)],
    **{
        f"l_{name}": []
        for name in (
            *("fence", "fence_i", "mul", "div", "csr", "csr_write", "auipc", "jal", "jalr"),
        )
    },
}


@pytest.mark.parametrize("architecture", BOTH)
def test_every_access_of_every_instruction(riscv_capture, assemblers, architecture):
    firmware = assemblers[architecture](ACCESSES)
    trace = riscv_capture(firmware)
    for label, expected in EXPECTED.items():
        assert trace.accesses_of(firmware[label]) == [expected], label
    for label, expected in {
        "l_save": [("WRITE", STACK - 4, 4)],
        "l_restore": [("READ", STACK - 4, 4)],
        "l_ret": [],
    }.items():
        assert trace.accesses_of(firmware[label]) == [expected, expected], label


@pytest.mark.parametrize("architecture", BOTH)
def test_totals_by_hand(riscv_capture, assemblers, architecture):
    trace = riscv_capture(assemblers[architecture](ACCESSES))
    # reset: 4 to set up; 15 sb to sw_pages with a lui between; 2 on the stack; 1 and 15 from lr
    # to discarded; load_x0 to auipc 8; jal; lla is 2, jalr; beq taken over the nop, bne, j.
    reset = 4 + 16 + 2 + 1 + 5 + 10 + 8 + 1 + 3 + 3
    # called, twice: 5; finish: 2, or 3 where li takes lui and addi for 0x20026: 1 + 2; then slli
    # and ebreak.
    assert trace.result.instructions == reset + 2 * 5 + 3 + 2
    assert trace.result.accesses == sum(map(len, EXPECTED.values())) + 2 * 2
    assert (trace.result.exceptions, trace.result.filtered) == (0, 0)


COMPRESSED = """
 function reset
 lui s0, 0x80100
 lui sp, 0x80200
 .option push
 .option rvc
 c.li a1, 5
c_sw: c.sw a1, 124(s0)
c_lw: c.lw a2, 124(s0)
c_swsp: c.swsp a1, 252(sp)
c_lwsp: c.lwsp a3, 252(sp)
 c.addi16sp sp, -64
c_far: c.swsp s0, 0(sp)
 c.mv a4, a1
 c.nop
c_jal: c.jal c_function
 c.beqz a4, c_fault
 c.bnez a4, c_over
c_fault: j fault
c_over:
 lla a5, c_function
c_jalr: c.jalr a5
 c.j c_end
c_function:
 c.addi a4, 1
c_jr: c.jr ra
c_end:
 .option pop
 j finish
"""


def test_compressed_forms(riscv_capture, riscv_assemble):
    firmware, trace = riscv_assemble(COMPRESSED), riscv_capture(COMPRESSED)
    for label, expected in {
        "c_sw": [("WRITE", BUF + 124, 4)],
        "c_lw": [("READ", BUF + 124, 4)],
        "c_swsp": [("WRITE", STACK + 252, 4)],
        "c_lwsp": [("READ", STACK + 252, 4)],
        "c_far": [("WRITE", STACK - 64, 4)],
        "c_jal": [],
        "c_jalr": [],
    }.items():
        assert trace.accesses_of(firmware[label]) == [expected], label
        size = {a: s for kind, a, s in trace.events if kind is Event.INSTRUCTION}[firmware[label]]
        assert size == 2, label
    assert trace.accesses_of(firmware["c_jr"]) == [[], []]
    assert firmware["c_fault"] not in trace.pcs()
    # 2, c.li to c.nop 9, c.jal, c.beqz, c.bnez, lla 2, c.jalr, c.j, twice 2, j; finish 3 + 2.
    assert trace.result.instructions == 2 + 9 + 3 + 2 + 2 + 4 + 1 + 5


FLOATING = """
 .option arch, +d
 function reset
 lui s0, 0x80100
 lui t0, 2
 csrs mstatus, t0
 fcvt.d.w fa0, t0
l_fsd: fsd fa0, 8(s0)
l_fld: fld fa1, 8(s0)
l_fsw: fsw fa0, 16(s0)
l_flw: flw fa1, 16(s0)
 j finish
"""


def test_a_double_is_one_access(riscv_capture, riscv_assemble):
    """Unlike ldrd and strd of M-profile, which are two words."""
    firmware, trace = riscv_assemble(FLOATING), riscv_capture(FLOATING)
    assert trace.accesses_of(firmware["l_fsd"]) == [[("WRITE", BUF + 8, 8)]]
    assert trace.accesses_of(firmware["l_fld"]) == [[("READ", BUF + 8, 8)]]
    assert trace.accesses_of(firmware["l_fsw"]) == [[("WRITE", BUF + 16, 4)]]
    assert trace.accesses_of(firmware["l_flw"]) == [[("READ", BUF + 16, 4)]]


@pytest.mark.parametrize("architecture", BOTH)
def test_lengths_and_bytes_are_those_of_objdump(riscv_capture, assemblers, architecture):
    firmware = assemblers[architecture](ACCESSES)
    listing = subprocess.run(
        ["riscv64-unknown-elf-objdump", "-d", "--show-raw-insn", firmware.path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    known = {}
    for line in listing.splitlines():
        head, _, rest = line.partition(":\t")
        if rest:
            raw = rest.split("\t")[0].split()[0]  # one number, most significant digit first
            known[int(head, 16)] = bytes.fromhex(raw)[::-1]
    trace = riscv_capture(firmware)
    opened = StreamReader().open(str(trace.result.output))
    list(opened.batches())
    assert opened.info.machine == "virt"
    assert {c.address for c in opened.code} == set(trace.pcs())
    for code in opened.code:
        assert known[code.address] == code.code
    sizes = {a: s for kind, a, s in trace.events if kind is Event.INSTRUCTION}
    assert sizes == {c.address: len(c.code) for c in opened.code}
    assert set(sizes.values()) == ({2, 4} if "c" in architecture.split("_")[0] else {4})


LOOP = """
 function reset
 lui s0, 0x80100
 li s1, 0x0200bff8
 li s2, 700
again:
 lw a0, 0(s1)
 sw a0, 0(s0)
 lw a1, 0(s1)
 addi s2, s2, -1
 bnez s2, again
 j finish
"""


def test_a_device_access_within_a_block_counts_once(riscv_capture, riscv_assemble):
    """QEMU executes such an instruction twice inside, to have it at a block's end."""
    firmware, trace = riscv_assemble(LOOP), riscv_capture(LOOP)
    again = firmware["again"]
    pcs = trace.pcs()
    body = sorted({pc for pc in pcs if again <= pc < again + 20})[:5]
    start = len(pcs) - 1 - 5 - 5 * 700
    assert pcs[start : start + 5 * 700] == body * 700
    assert trace.accesses_of(again) == [[("READ", 0x0200BFF8, 4)]] * 700
    assert trace.accesses_of(body[1]) == [[("WRITE", BUF, 4)]] * 700
    assert trace.accesses_of(body[2]) == [[("READ", 0x0200BFF8, 4)]] * 700


@pytest.mark.parametrize("offset", range(0xFF0, 0x1000, 2))
def test_lengths_before_the_end_of_a_page(riscv_capture, riscv_assemble, offset):
    """QEMU looks past the end of a page, and some instructions here lie across it."""
    source = f"""
 function reset
 la a0, far
 jr a0
 .balign 4096
 .space {offset:#x}
far:
 .option push
 .option rvc
 c.li a0, 1
 c.li a1, 2
 .option norvc
 li a2, 3
 .option rvc
 c.li a3, 4
 .option norvc
 li a4, 5
 .option rvc
 c.li a5, 6
 .option pop
 j finish
"""
    at = riscv_assemble(source)["far"]
    assert at % 4096 == offset
    events = riscv_capture(source).events
    lengths = {address: size for kind, address, size in events if kind is Event.INSTRUCTION}
    for length in (2, 2, 4, 2, 4, 2):
        assert lengths[at] == length, hex(at)
        at += length


SELF_MODIFYING = """
 function reset
 la s0, patch
 la s1, new
 li s2, 2
again:
patch: .4byte 0x00100513  # li a0, 1
 lw a1, 0(s1)
 sw a1, 0(s0)
 fence.i
 addi s2, s2, -1
 bnez s2, again
 j finish
 .balign 4
new: .4byte 0x05d00593  # li a1, 93
"""


def test_code_that_changes_is_defined_again(riscv_capture, riscv_assemble):
    firmware, trace = riscv_assemble(SELF_MODIFYING), riscv_capture(SELF_MODIFYING)
    opened = StreamReader().open(str(trace.result.output))
    list(opened.batches())
    found = [c.code.hex() for c in opened.code if c.address == firmware["patch"]]
    assert sorted(found) == ["13051000", "9305d005"]
    assert trace.pcs().count(firmware["patch"]) == 2


CHANGED_BEHIND = """
 function reset
 lui s0, 0x80100
 li t1, 7
l_lr: lr.w a0, (s0)
l_sw: sw t1, 0(s0)
l_sc: sc.w a1, t1, (s0)
 beqz a1, fault
l_lw: lw a2, 0(s0)
 bne a2, t1, fault
 j finish
"""


def test_a_reserved_word_that_has_changed(riscv_capture, riscv_assemble):
    """QEMU compares values: a store of another value makes sc.w fail, and it writes that back."""
    firmware, trace = riscv_assemble(CHANGED_BEHIND), riscv_capture(CHANGED_BEHIND)
    assert trace.accesses_of(firmware["l_lr"]) == [[("READ", BUF, 4)]]
    assert trace.accesses_of(firmware["l_sc"]) == [[("WRITE", BUF, 4)]]
