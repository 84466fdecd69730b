"""Many small programs in one firmware, each called with every input between marks; one image for
each instruction set and degree of optimisation."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from needs import need
from path_programs import INPUTS, Program

from wcetchar import store
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.observed_paths import ObservedPaths
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.characterization import Characterization
from wcetchar.model.observed import Observed
from wcetchar.pipeline import capture
from wcetchar.readers import open_trace

ROOT = Path(__file__).resolve().parents[2]
MARK_VALUES = 64


@dataclass(frozen=True)
class Target:
    """An instruction set, and the machine that executes it."""

    name: str
    machine: str
    cpu: str
    code: int
    data: int
    start: str
    """Assembler text: sets the stack up, calls ``driver_main`` and ends the run."""

    @property
    def prefix(self) -> str:
        return "riscv64-unknown-elf-" if self.machine == "virt" else "arm-none-eabi-"


_M_PROFILE = """
    .syntax unified
    .thumb
    .section .vectors, "a"
    .word __stack_top, reset + 1
    .rept 14
    .word fault + 1
    .endr
    .section .start, "ax"
    .globl reset
    .type reset, %function
    .thumb_func
reset:
    bl driver_main
    movs r0, #0x18          @ SYS_EXIT (Arm, Semihosting for AArch32 and AArch64)
    ldr r1, =0x20026        @ ADP_Stopped_ApplicationExit
    bkpt 0xab
    b .
    .size reset, . - reset
    .globl fault
    .type fault, %function
    .thumb_func
fault:
    movs r0, #0x18
    movs r1, #1
    bkpt 0xab
    b .
    .pool
    .size fault, . - fault
"""

_ARM = """
    .syntax unified
    .arm
    .section .vectors, "ax"
    .globl reset
    .type reset, %function
reset:
    ldr pc, =start
    .rept 7
    b fault
    .endr
    .pool
    .size reset, . - reset
    .section .start, "ax"
    .globl start
    .type start, %function
start:
    ldr sp, =__stack_top
    ldr r0, =driver_main
    mov lr, pc
    bx r0
    mov r0, #0x18
    ldr r1, =0x20026
    swi 0x123456
    b .
    .pool
    .size start, . - start
    .globl fault
    .type fault, %function
fault:
    mov r0, #0x18
    mov r1, #1
    swi 0x123456
    b .
    .size fault, . - fault
"""

_RISCV = """
    .option norelax
    .section .vectors, "ax"
    .globl reset
    .type reset, @function
reset:
    la sp, __stack_top
    la t0, fault
    .option arch, +zicsr
    csrw mtvec, t0
    jal ra, driver_main
    li a1, 0
    j finish
    .size reset, . - reset
    .p2align 2
    .globl fault
    .type fault, @function
fault:
    li a1, 3
finish:
    la t0, exit_block
    sw a1, 4(t0)
    li a0, 0x20            /* SYS_EXIT_EXTENDED */
    mv a1, t0
    .p2align 4
    .option norvc
    slli x0, x0, 0x1f
    ebreak
    srai x0, x0, 7
    .option rvc
1:
    j 1b
    .size fault, . - fault
    .section .data.exit_block, "aw"
    .p2align 2
exit_block:
    .word 0x20026, 0
"""

TARGETS = (
    Target("thumb2", "mps2-an385", "-mcpu=cortex-m3 -mthumb", 0, 0x20000000, _M_PROFILE),
    Target("thumb1", "mps2-an385", "-mcpu=cortex-m0 -mthumb", 0, 0x20000000, _M_PROFILE),
    Target("arm", "versatilepb", "-mcpu=arm7tdmi -marm", 0, 0x400000, _ARM),
    Target(
        "thumb-armv4t",
        "versatilepb",
        "-mcpu=arm7tdmi -mthumb -mthumb-interwork",
        0,
        0x400000,
        _ARM,
    ),
    Target(
        "rv32imc",
        "virt",
        "-march=rv32imc -mabi=ilp32 -mcmodel=medany -msmall-data-limit=0 -mno-relax",
        0x80000000,
        0x80400000,
        _RISCV,
    ),
)

_SCRIPT = """
MEMORY
{{
    CODE (rwx) : ORIGIN = {code:#x}, LENGTH = 4M
    DATA (rw) : ORIGIN = {data:#x}, LENGTH = 4M
}}
ENTRY(reset)
SECTIONS
{{
    .vectors : {{ KEEP(*(.vectors)) }} > CODE
    .driver_text : ALIGN(16) {{ *(.start) *(.text.driver*) }} > CODE
    .text : ALIGN(16) {{ *(.text .text.*) }} > CODE
    .rodata : ALIGN(16) {{ *(.rodata .rodata.*) }} > CODE
    .data : ALIGN(16) {{ *(.data .data.* .bss .bss.* COMMON) . = ALIGN(16); }} > DATA
    .stack (NOLOAD) : ALIGN(16) {{ . = . + 65536; __stack_top = .; }} > DATA
    .wcet_mark (NOLOAD) : ALIGN(4096) {{ *(.noinit.wcet_mark) }} > DATA
    /DISCARD/ : {{ *(.eh_frame) *(.ARM.exidx* .ARM.extab*) }}
}}
"""
# Data is not copied: QEMU loads it to where it is.

_HEAD = """
#define WCET_CHANNELS 3u
#define WCET_VALUES 64u
#include "wcet_mark.h"
volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES]
    __attribute__((section(".noinit.wcet_mark"), aligned(4096)));
__attribute__((section(".text.driver"))) void wcet_value_out_of_range(unsigned a, unsigned b)
{
    for (;;) { (void)a; (void)b; }
}
#define hide(v) ({ unsigned hidden_ = (v); __asm volatile("" : "+r"(hidden_)); hidden_; })
#if defined(__riscv)
#define BARRIER() __asm volatile("fence" ::: "memory")
#elif defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_7M__)
#define BARRIER() __asm volatile("isb" ::: "memory")
#else
#define BARRIER() __asm volatile("" ::: "memory")
#endif
#include "path_masks.h"
/* Apart: of small functions that write masks a capture keeps all, and starts at no mark in them. */
__attribute__((section(".text.driver"), noipa)) static void unmask(void) { UNMASK(); }
#define APART static __attribute__((noinline))
#define ALONE static __attribute__((noipa))
#define ENTRY __attribute__((noipa))
volatile unsigned result;
__attribute__((used)) static const unsigned a_constant = 1;  /* there is a .rodata */
"""


@dataclass(frozen=True)
class Ran:
    """Programs that were built and run, and what the traces showed."""

    target: Target
    programs: Sequence[Program]
    elf: Path
    resolved: Resolved
    observed: Observed
    characterization: Characterization


def build(target: Target, optimisation: str, programs: Sequence[Program], folder: Path) -> Path:
    """Compiles and links; the ELF file."""
    need(f"{target.prefix}gcc", f"gcc-{target.prefix.removesuffix('-')}")
    text = [_HEAD]
    for program in programs:
        text.append(f'#line 1 "{program.file}"\n{program.text}')
        (folder / program.file).write_text(program.text)
    text.append('#line 1 "driver.c"')
    text.append('__attribute__((section(".text.driver"))) int driver_main(void)\n{\n')
    text.append("    unmask();\n")
    for number, program in enumerate(programs):
        value = "wcet_param(0, x); " if program.parameter else ""
        text.append(
            f"    for (unsigned x = 0; x < {INPUTS}u; x++) {{ {value}wcet_begin({number + 1});"
            f" result = {program.entry}(x); wcet_end({number + 1}); }}\n"
        )
    text.append("    return 0;\n}\n")
    (folder / "all.c").write_text("\n".join(text))
    (folder / "start.s").write_text(target.start)
    (folder / "link.ld").write_text(_SCRIPT.format(code=target.code, data=target.data))
    # Loops are not to become calls of memset: there is no C library.
    options = [
        *target.cpu.split(),
        *("-std=gnu11", optimisation, "-g", "-ffreestanding", "-fno-common", "-w"),
        *("-fno-tree-loop-distribute-patterns", "-nostdlib", "-static"),
        *("-Wl,--no-warn-rwx-segments", "-Wl,--no-relax", "-Wl,--build-id=none"),
        f"-I{ROOT / 'rtos_tests' / 'freertos'}",
        f"-I{Path(__file__).parent}",
    ]
    subprocess.run(
        [
            f"{target.prefix}gcc",
            *options,
            *("-T", "link.ld", "start.s", "all.c", "-lgcc", "-o", "all.elf"),
        ],
        check=True,
        cwd=folder,
    )
    return folder / "all.elf"


def services_text(programs: Sequence[Program]) -> str:
    lines = [
        "schema: wcetchar/services/1",
        'kernel: {name: random, version: "1"}',
        f"marks: {{symbol: wcet_mark, values: {MARK_VALUES}}}",
        "sections:",
        "  .text: {kind: code, linker sections: [.text]}",
        "  .rodata: {kind: data, linker sections: [.rodata]}",
        "  .data: {kind: data, linker sections: [.data]}",
        "  .stack: {kind: stack, linker sections: [.stack]}",
        "  .vectors: {kind: data, linker sections: [.vectors]}",
        "hardware: {vector section: .vectors, main stack: .stack, task stack: .stack}",
        "services:",
    ]
    for number, program in enumerate(programs):
        lines += [
            f"  {program.entry}:",
            f"    mark: {number + 1}",
            "    kind: call",
            f"    entries: [{program.entry}]",
        ]
        if program.parameter:
            lines += [
                "    parameters:",
                f"      X: {{kind: argument, range: 0..{INPUTS - 1}, meaning: the input}}",
            ]
    return "\n".join(lines) + "\n"


def run(target: Target, optimisation: str, programs: Sequence[Program], folder: Path) -> Ran:
    """Builds, executes and counts programs, each with all its inputs."""
    need("qemu-system-riscv32" if target.machine == "virt" else "qemu-system-arm", "qemu-system")
    elf = build(target, optimisation, programs, folder)
    trace = folder / "all.trace"
    services = folder / "services.yaml"
    services.write_text(services_text(programs))
    capture.run(capture.Request(str(elf), str(trace), target.machine, services=(str(services),)))
    image = load_image(str(elf))
    table = decode_image(image)
    read = store.load_services(str(services))
    paths = ObservedPaths(table)
    characterization = characterize(
        [open_trace(str(trace), image=image)], image, table, read, tool="test", paths=paths
    )
    return Ran(target, programs, elf, resolve(read, image, table), paths.observed, characterization)
