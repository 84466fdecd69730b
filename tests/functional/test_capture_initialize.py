"""``wcetchar capture --initialize``: firmware that prints what its variables hold at the start."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from bad_input import need, process, refused

from wcetchar.image import load_image
from wcetchar.readers import open_trace

PROGRAM = """
const volatile unsigned char one = 1;
const volatile short two = -2;
static volatile unsigned four = 4;  /* in RAM; start-up code copies it there */
volatile unsigned long long eight = 8;
volatile unsigned cleared;
const volatile unsigned three[3] = {1, 2, 3};
extern unsigned data_start[], data_end[], data_load[];

static unsigned semihost(unsigned operation, const void *argument)
{
#if defined(__riscv)
    register unsigned a0 __asm("a0") = operation;
    register const void *a1 __asm("a1") = argument;
    __asm volatile(".balign 16; .option push; .option norvc; slli x0, x0, 0x1f; ebreak;"
                   "srai x0, x0, 7; .option pop" : "+r"(a0) : "r"(a1) : "memory");
    return a0;
#else
    register unsigned r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
#if defined(__thumb__)
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#else
    __asm volatile("swi 0x123456" : "+r"(r0) : "r"(r1) : "memory");
#endif
    return r0;
#endif
}

static void show(unsigned value)
{
    char text[10];
    for (int i = 0; i < 8; i++, value <<= 4)
        text[i] = "0123456789abcdef"[value >> 28];
    text[8] = ' ', text[9] = 0;
    semihost(4, text);
}

void program(void)
{
    for (unsigned *to = data_start, *from = data_load; to < data_end && to != data_load; )
        *to++ = *from++;
    show(one); show((unsigned short)two); show(four); show(eight >> 32); show(eight);
    const unsigned block[2] = {0x20026, 0};
    semihost(0x20, block);
}
"""
UNCHANGED = "00000001 0000fffe 00000004 00000000 00000008 "


@dataclass(frozen=True)
class Board:
    compiler: str
    options: tuple[str, ...]
    startup: str
    script: str


_START = '__asm(".section .start,\\"ax\\"; .globl start; start: {}; {}; .text");\n'
BOARDS = {
    "mps2-an385": Board(
        "arm-none-eabi-gcc",
        ("-mcpu=cortex-m3", "-mthumb"),
        "void program(void);\nstatic const struct { unsigned s; void (*r)(void); } vectors "
        '__attribute__((section(".vectors"), used)) = {0x20010000, program};\n',
        """ENTRY(program) SECTIONS { .vectors 0 : { KEEP(*(.vectors)) } .text : { *(.text*) }
        .rodata : { *(.rodata*) } data_load = LOADADDR(.data);
        .data 0x20000000 : AT(0x8000) { data_start = .; *(.data*) . = ALIGN(4); data_end = .; }
        .bss : { *(.bss*) } }""",
    ),
    "virt": Board(
        "riscv64-unknown-elf-gcc",
        ("-march=rv32imac", "-mabi=ilp32", "-mcmodel=medany"),
        _START.format("la sp, 0x80100000", "tail program"),
        """ENTRY(start) SECTIONS { .start 0x80000000 : { *(.start) } .text : { *(.text*) }
        .rodata : { *(.rodata* .srodata*) } data_load = LOADADDR(.data); .data : { data_start = .;
        *(.data* .sdata*) . = ALIGN(4); data_end = .; } .bss : { *(.bss* .sbss*) } }""",
    ),
    "versatilepb": Board(
        "arm-none-eabi-gcc",
        ("-mcpu=arm7tdmi", "-marm"),
        _START.format("ldr sp, =0x100000", "b program; .pool"),
        """ENTRY(start) SECTIONS { .start 0x0 : { *(.start) } .text 0x400 : { *(.text*) }
        .rodata : { *(.rodata*) } data_load = LOADADDR(.data);
        .data : { data_start = .; *(.data*) . = ALIGN(4); data_end = .; } .bss : { *(.bss*) } }""",
    ),
}


@pytest.fixture(scope="module", params=BOARDS)
def firmware(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ELF file whose name is that of its machine."""
    board = BOARDS[request.param]
    qemu = "qemu-system-riscv32" if request.param == "virt" else "qemu-system-arm"
    need(board.compiler, qemu)
    folder = tmp_path_factory.mktemp("initialize")
    (folder / "program.c").write_text(board.startup + PROGRAM)
    (folder / "link.ld").write_text(board.script)
    elf = folder / request.param
    options = ("-O1", "-ffreestanding", "-nostdlib", "-static", "-T", "link.ld")
    command = [board.compiler, *board.options, *options, "program.c", "-lgcc", "-o", str(elf)]
    subprocess.run(command, cwd=folder, check=True)
    return elf


def printed(elf: Path, *assignments: str) -> str:
    options = [word for text in assignments for word in ("--initialize", text)]
    output = str(elf) + ".trace"
    done = process("capture", str(elf), "--machine", elf.name, "-o", output, "--json", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    asked = [word for word in report["arguments"] if word.startswith("initialize=")]
    assert asked == ["initialize=" + "".join(text.split()) for text in decimal(assignments)]
    # The trace is one of the firmware as it is, whatever its variables held.
    image = load_image(str(elf))
    trace = open_trace(output, image=image)
    assert trace.info.image_sha256 == image.sha256
    return str(report["console"])


def decimal(assignments: tuple[str, ...]) -> list[str]:
    """Assignments with their values as the trace's header has them."""
    pairs = [text.split("=") for text in assignments]
    return [f"{name.strip()}={int(value, 0)}" for name, value in pairs]


def test_variables_hold_what_was_asked_for(firmware: Path) -> None:
    before = firmware.read_bytes()
    assert printed(firmware) == UNCHANGED
    found = printed(firmware, "one=0xff", "two=-32768", "four = 4294967295", "eight=0x123456789")
    assert found == "000000ff 00008000 ffffffff 00000001 23456789 "
    assert printed(firmware, "four=-1") == UNCHANGED.replace("00000004", "ffffffff")
    assert firmware.read_bytes() == before


@pytest.mark.parametrize(
    ("assignments", "code", "problem"),
    [
        (["one"], 2, "--initialize one: this is no assignment"),
        (["one=1.5"], 2, "--initialize one=1.5: this is no assignment"),
        (["one=256"], 3, "--initialize one: 256 does not fit"),
        (["two=-32769"], 3, "--initialize two: -32769 does not fit"),
        (["one=1", "one=2"], 2, "--initialize one=2: the variable was given a value before"),
        (["nothing=1"], 3, "--initialize nothing: there is no symbol 'nothing'"),
        (["program=1"], 3, "--initialize program: this is no variable"),
        (["three=1"], 3, "--initialize three: this variable has 12 bytes"),
        (["cleared=1"], 3, "--initialize cleared: this variable has no initial value in the file"),
    ],
)
def test_what_is_refused(
    firmware: Path, tmp_path: Path, assignments: list[str], code: int, problem: str
) -> None:
    options = [word for text in assignments for word in ("--initialize", text)]
    output = tmp_path / "run.trace"
    arguments = ("capture", str(firmware), "--machine", firmware.name, "-o", str(output))
    refused(process(*arguments, *options), code, problem)
    assert not output.exists()
