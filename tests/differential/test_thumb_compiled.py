"""Whole programs from GCC with its run-time library: nothing undecodable, and instruction by
instruction the same boundaries and names as objdump's listing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from thumb_objdump import MISSING, dump

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.instruction import Flow

GCC = "arm-none-eabi-gcc"
NEEDED = [*MISSING, *([] if shutil.which(GCC) else [GCC])]
pytestmark = pytest.mark.skipif(bool(NEEDED), reason=f"not installed: {', '.join(NEEDED)}")

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
u32 masked(u32 priority)
{
    u32 old;
    __asm volatile("mrs %0, primask\n\tcpsid i\n\tdsb\n\tisb" : "=r"(old) :: "memory");
#if __ARM_ARCH >= 7
    __asm volatile("msr basepri, %0" :: "r"(priority) : "memory");
    __atomic_fetch_add(&sink, priority, __ATOMIC_SEQ_CST);
#endif
    __asm volatile("svc 0\n\tmsr primask, %0" :: "r"(old) : "memory");
    return old;
}
#ifdef __ARM_FP
volatile float sinkf;
float hypotenuse(float a, float b) { return __builtin_sqrtf(a * a + b * b) / 3.0f; }
float polynomial(const float *c, float x, int n, float (*g)(float, float))
{
    float y = 0.25f;
    while (n--) y = y * x + *c++;
    float z = g(y, x) - g(x, c[1]) * y;
    return z > y ? -z : __builtin_fabsf(y) + (float)n * (float)(u32)z;
}
double moved(double a, float b, double *p) { p[1] = a; return p[0] + (b > a); }
int saturating(short a, short b, int c, u32 d, u32 e)
{
    int r;
    __asm("qadd %0, %1, %2\n\tssat16 %0, #9, %0" : "=r"(r) : "r"(c), "r"(d));
    __asm("sadd16 %0, %0, %1\n\tsel %0, %0, %1" : "+r"(r) : "r"(e));
    return a * b + c + r + (short)(d >> 16) * (short)e;
}
#endif
int main(void)
{
    static struct node list, item; static u32 space[64];
    insert(&list, &item); copy((void *)space, (void *)(space + 32));
    sink = divide(sink, 7) + sdivide(sink, 5) + choose(sink, &sink) + select(sink, 3, 4);
    sink += bits(sink, (void *)space, (void *)space) + many(1, 2, 3, 4, 5, 6, divide) + masked(64);
    sink64 = divide64(sink64, 10) + multiply64(sink64, sink64, sink);
    sinkd = real(sinkd, 3.0);
#ifdef __ARM_FP
    sinkf = polynomial((void *)space, sinkf, 4, hypotenuse);
    sinkd = moved(sinkd, sinkf, (void *)space);
    sink = saturating(sink, sink, sink, sink, sink);
#endif
    return 0;
}
"""


def build(folder: Path, cpu: str, optimization: str, *, whole: bool) -> Path:
    """The program with what it needs of libgcc, or with all of it: some 40 KiB of code."""
    source, program = folder / "program.c", folder / "program.elf"
    source.write_text(PROGRAM)
    command = [GCC, f"-mcpu={cpu}", "-mthumb", optimization, "-w", "-o", program, source]
    if cpu == "cortex-m4":
        command += ["-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
    library = ["-nostdlib", "-lgcc"]
    if whole:
        library = ["-nostdlib", "-Wl,--whole-archive", "-lgcc", "-Wl,--no-whole-archive"]
    subprocess.run(
        [*command, *library, "-Wl,--unresolved-symbols=ignore-all", "-Wl,-e,main"],
        check=True,
        capture_output=True,
    )
    return program


@pytest.mark.parametrize(
    ("cpu", "optimization", "whole"),
    [
        ("cortex-m0", "-Os", True),
        ("cortex-m0", "-O2", False),
        ("cortex-m3", "-Os", False),
        ("cortex-m3", "-O2", True),
        ("cortex-m4", "-O2", False),
        ("cortex-m4", "-Os", True),
    ],
)
def test_thumb_compiled_program(tmp_path: Path, cpu: str, optimization: str, whole: bool) -> None:
    program = build(tmp_path, cpu, optimization, whole=whole)
    image = load_image(str(program))
    table = decode_image(image)
    for refused in table.undecodable:
        # libgcc's unwinder saves coprocessor registers on cores that have them.
        function = image.function_at(refused.address)
        assert function is not None
        assert re.search("VFP|WMMX", function.name), refused
    assert bool(table.undecodable) == (whole and cpu != "cortex-m0")
    assert len(table) > (5_000 if whole else 500)
    listing = {
        address: line
        for address, line in dump(program).items()
        if any(r.start <= address < r.end for r in image.code)
    }
    refusals = {refused.address for refused in table.undecodable}
    assert {i.address for i in table.instructions} | refusals == set(listing)
    flows = set()
    for found in table.instructions:
        line = listing[found.address]
        assert found.length == line.length
        flows.add(found.flow)
        shown = re.search(r"^(?:b|cb)\S* (?:r\d, )?([0-9a-f]+) <", line.text)
        if shown:
            assert found.target == int(shown[1], 16), (found, line)
        else:
            assert found.target is None, (found, line)
        assert found.conditional == predicated(line.text), (found, line)
    assert {Flow.CALL, Flow.JUMP, Flow.RETURN, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL} <= flows
    if cpu != "cortex-m0":
        assert Flow.JUMP_TABLE in flows


CONDITION = "eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
NOT_PREDICATED = {
    # Names that end like a condition.
    "bls", "bics", "lsls", "muls", "mls", "teq", "svc", "adcs", "sbcs", "movs", "smlals", "smmls",
    "vmls", "vnmls",
}  # fmt: skip


def predicated(text: str) -> bool:
    name = text.split()[0].partition(".")[0]
    if name in ("cbz", "cbnz"):
        return True
    if re.fullmatch(f"b({CONDITION})", name):
        return True
    return name not in NOT_PREDICATED and bool(re.fullmatch(rf"\w\w+({CONDITION})", name))
