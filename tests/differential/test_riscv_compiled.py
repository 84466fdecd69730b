"""Whole RISC-V programs from GCC with its run-time library: nothing undecodable, and instruction by
instruction the same boundaries and texts as objdump's listing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from riscv_objdump import MISSING, Line, dump, normal

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.instruction import Flow, Instruction, MaskOperation, MaskRegister

GCC = "riscv64-unknown-elf-gcc"
NEEDED = [*MISSING, *([] if shutil.which(GCC) else [GCC])]
pytestmark = pytest.mark.skipif(
    bool(NEEDED),
    reason=f"not installed: {', '.join(NEEDED)} (Debian package gcc-riscv64-unknown-elf)",
)

PROGRAM = r"""
typedef unsigned int u32; typedef unsigned long long u64; typedef long long s64;
struct node { struct node *next, *previous; u32 value; void *owner; };
volatile u32 sink; volatile s64 sink64; volatile double sinkd;
u32 divide(u32 a, u32 b) { return a / b + a % b; }
int sdivide(int a, int b) { return a / b; }
u64 divide64(u64 a, u64 b) { return a / b; }
s64 multiply64(s64 a, s64 b, u32 s) { return (a * b << s) + (a >> s); }
double real(double a, double b) { return a / b + (double)(float)a; }
void insert(struct node *list, struct node *item)
{
    struct node *i = list;
    while (i->next->value <= item->value) i = i->next;
    item->next = i->next; item->next->previous = item; item->previous = i; i->next = item;
    item->owner = list;
}
u32 choose(u32 x, volatile u32 *p)
{
    switch (x) {
    case 0: return *p; case 1: *p = 7; return 2; case 2: return x * 3; case 3: return *p + 9;
    case 4: *p = x; return 11; case 5: return p[3]; case 6: return p[9] << 3; case 7: return ~*p;
    case 8: return p[1] ^ p[2]; case 9: return p[0] / 3; default: return 0;
    }
}
u32 bits(u32 a, signed char *c, short *s)
{
    struct { u32 a : 5, b : 7, c : 20; } f;
    __builtin_memcpy(&f, &a, 4); f.b = c[1]; s[3] = c[2]; f.c += s[4];
    __builtin_memcpy(&a, &f, 4);
    return a + (__builtin_clz(a | 1) ^ __builtin_bswap32(a));
}
u32 select(int a, int b, int c) { return (a > b ? c : b) + (a < 0 ? -a : a) + (b && c); }
struct block { u32 w[4]; };
void copy(struct block *to, const struct block *from) { *to = *from; }
u32 many(u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 (*g)(u32, u32))
{
    return g(a, b) + g(c, d) * g(e, f);
}
u32 masked(u32 enables)
{
    u32 old;
    __asm volatile("csrrci %0, mstatus, 8" : "=r"(old) :: "memory");
    __asm volatile("csrw mie, %0\n\tfence" :: "r"(enables) : "memory");
#ifdef __riscv_atomic
    __atomic_fetch_add(&sink, enables, __ATOMIC_SEQ_CST);
    u32 expected = 5;
    __atomic_compare_exchange_n(&sink, &expected, 6, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
#endif
    __asm volatile("ecall" ::: "a0", "memory");
    __asm volatile("csrs mstatus, %0" :: "r"(old & 8) : "memory");
    return old;
}
__attribute__((interrupt("machine"))) void handler(void) { sink++; }
int main(void)
{
    static struct node list, item; static u32 space[64];
    insert(&list, &item); copy((void *)space, (void *)(space + 32));
    sink = divide(sink, 7) + sdivide(sink, 5) + choose(sink, &sink) + select(sink, 3, 4);
    sink += bits(sink, (void *)space, (void *)space) + many(1, 2, 3, 4, 5, 6, divide) + masked(64);
    sink64 = divide64(sink64, 10) + multiply64(sink64, sink64, sink);
    sinkd = real(sinkd, 3.0);
    return 0;
}
"""


def build(folder: Path, march: str, options: list[str], *, whole: bool) -> Path:
    """The program with what it needs of libgcc, or with all of it."""
    source, object_file, program = (folder / f"program.{end}" for end in ("c", "o", "elf"))
    source.write_text(PROGRAM)
    compile_ = [GCC, f"-march={march}_zicsr", "-mabi=ilp32", *options, "-w", "-c"]
    subprocess.run([*compile_, "-o", object_file, source], check=True)
    # GCC finds its library by the name of the architecture without Zicsr.
    link = [GCC, f"-march={march}", "-mabi=ilp32", *options, "-o", program, object_file]
    library = ["-nostdlib", "-lgcc"]
    if whole:
        library = ["-nostdlib", "-Wl,--whole-archive", "-lgcc", "-Wl,--no-whole-archive"]
    subprocess.run(
        [*link, *library, "-Wl,--unresolved-symbols=ignore-all", "-Wl,-e,main"],
        check=True,
        capture_output=True,
    )
    return program


@pytest.mark.parametrize(
    ("march", "options", "whole"),
    [
        ("rv32imc", ["-Os"], False),
        ("rv32imc", ["-O2"], True),
        ("rv32imac", ["-O2"], False),
        ("rv32imac", ["-Os", "-msave-restore"], True),
        ("rv32i", ["-Os"], False),
        ("rv32ima", ["-O2", "-mno-relax"], False),
    ],
)
def test_riscv_compiled_program(
    tmp_path: Path, march: str, options: list[str], whole: bool
) -> None:
    program = build(tmp_path, march, options, whole=whole)
    image = load_image(str(program))
    table = decode_image(image)
    assert table.undecodable == ()
    compressed = "c" in march.removeprefix("rv32")
    assert table.granule == (2 if compressed else 4)
    assert ({i.length for i in table.instructions} == {2, 4}) == compressed
    assert len(table) > (3_000 if whole else 700)
    listing = {
        address: line
        for address, line in dump(program).items()
        if any(r.start <= address < r.end for r in image.code)
    }
    assert {i.address for i in table.instructions} == set(listing)
    for found in table.instructions:
        line = listing[found.address]
        assert found.length == line.length
        assert same_text(found, line), (found.text, line.text)
        assert found.conditional == bool(re.match(r"(c\.)?b", line.text)), (found, line)
    calls_and_returns(table.instructions, listing, "-msave-restore" in options)
    masks = {(w.register, w.operation) for i in table.instructions for w in i.masks}
    assert masks == {
        (MaskRegister.MSTATUS_MIE, MaskOperation.CLEAR),  # csrrci
        (MaskRegister.MSTATUS_MIE, MaskOperation.SET),  # csrrs
        (MaskRegister.MSTATUS_MPIE, MaskOperation.SET),
        (MaskRegister.MIE, MaskOperation.WRITE),
        (MaskRegister.MSTATUS_MIE, MaskOperation.WRITE),  # mret
        (MaskRegister.MSTATUS_MPIE, MaskOperation.WRITE),
    }


def same_text(found: Instruction, line: Line) -> bool:
    ours, theirs = normal(found.text), normal(line.text)
    if ours == ["c.nop"]:
        return theirs == ["c.addi", "zero", ",", 0]
    if found.target is not None:
        # objdump prints targets in hexadecimal without a prefix where there is a symbol.
        shown = re.search(r"([0-9a-f]+) <", line.text)
        assert shown, line.text
        return ours[:-1] == theirs[:-1] and found.target == int(shown[1], 16)
    return ours == theirs


def calls_and_returns(
    instructions: tuple[Instruction, ...], listing: dict[int, Line], millicode: bool
) -> None:
    """Flows by the texts of objdump: which jumps link, and through what they go."""
    flows = set()
    for found in instructions:
        text = re.sub(r"\s+", " ", listing[found.address].text.partition("#")[0]).strip()
        flows.add(found.flow)
        if re.match(r"(jal (ra|t0),|c\.jal )", text):
            expected = Flow.CALL
        elif re.match(r"(jal zero,|c\.j )", text):
            expected = Flow.JUMP
        elif re.match(r"(jalr (ra|t0),|c\.jalr )", text):
            expected = Flow.CALL_INDIRECT
        elif re.match(r"(c\.jr (ra|t0)$|jalr zero,0\((ra|t0)\)$|mret$)", text):
            expected = Flow.RETURN
        elif re.match(r"(c\.jr |jalr zero,)", text):
            expected = Flow.JUMP_INDIRECT
        elif re.match(r"(c\.)?b\w+ ", text):
            expected = Flow.JUMP
        elif text == "ecall":
            expected = Flow.SUPERVISOR_CALL
        elif text in ("ebreak", "c.ebreak", "c.unimp", "unimp"):
            expected = Flow.STOP
        else:
            expected = Flow.NEXT
        assert found.flow is expected, (found, text)
    assert {Flow.CALL, Flow.JUMP, Flow.RETURN, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL} <= flows
    assert Flow.JUMP_INDIRECT in flows, "the switch goes through a table"
    through_t0 = [i for i in instructions if i.flow is Flow.CALL and i.defs == 1 << 5]
    assert bool(through_t0) == millicode
