"""The header that firmware measures with: compiled for its cores, and run on emulated ones.

An emulated machine that counts instructions as cycles says how many there are between two readings,
so what comes out can be checked exactly.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wcetchar import store
from wcetchar.capture import HEADER
from wcetchar.cli import main

PLAN = """\
schema: wcetchar/measure/1
question: does the header measure what is there?
circumstances: an emulated machine that does nothing else
accuracy: 5 %
operations:
  nothing: {parameters: [0]}
  nops:
    parameters: [101, 1000]
    expected: {hardware: 0 cycles, each: 1 cycle}
"""
MEASURED = """
#define NOPS(count) __asm__ volatile(".rept " #count "\\n nop\\n .endr" ::: "memory")
static struct wcet_reading readings[3][20];

static void all(void (*put)(char))
{
    wcet_measure_begin();
    for (int i = 0; i < 20; i++)
        WCET_MEASURE(readings[0][i], (void)0);
    for (int i = 0; i < 20; i++)
        WCET_MEASURE(readings[1][i], NOPS(101));
    for (int i = 0; i < 20; i++)
        WCET_MEASURE(readings[2][i], NOPS(1000));
    wcet_measure_heading(put);
    wcet_measure_print(put, "nothing", 0, 1, readings[0], 20);
    wcet_measure_print(put, "nops", 101, 1, readings[1], 20);
    wcet_measure_print(put, "nops", 1000, 1, readings[2], 20);
}
"""
RISCV = (
    '#include "wcet_measure.h"\n'
    + MEASURED
    + """
static void put(char c) { *(volatile uint8_t *)0x10000000 = (uint8_t)c; }
void run(void)
{
    all(put);
    *(volatile uint32_t *)0x100000 = 0x5555;
    for (;;)
        ;
}
__asm__(".section .start, \\"ax\\"\\n .globl start\\nstart:\\n li sp, 0x80100000\\n j run\\n");
"""
)
CORTEX = (
    """
#include <stdint.h>
/* Begins 50 before it begins anew. */
#define WCET_MEASURE_COUNTER() (0xffffffu - 50u + 0xffffffu - *(volatile uint32_t *)0xe000e018)
#define WCET_MEASURE_BITS 24
#include "wcet_measure.h"
"""
    + MEASURED
    + """
#define UART(offset) (*(volatile uint32_t *)(0x40004000 + (offset)))
static void put(char c)
{
    while (UART(4) & 1)
        ;
    UART(0) = (uint32_t)c;
}
void run(void)
{
    UART(0x10) = 16;
    UART(8) = 1;
    *(volatile uint32_t *)0xe000e014 = 0xffffff;
    *(volatile uint32_t *)0xe000e018 = 0;
    *(volatile uint32_t *)0xe000e010 = 5;
    all(put);
    __asm__ volatile("mov r0, #0x18\\n ldr r1, =0x20026\\n bkpt 0xab" ::: "r0", "r1");
    for (;;)
        ;
}
__attribute__((section(".vectors"))) const uint32_t vectors[] = {0x20010000, (uint32_t)run};
"""
)


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def built(folder: Path, source: str, compiler: str, *flags: str) -> Path:
    (folder / "run.c").write_text(source)
    made = folder / "run.elf"
    subprocess.run(
        [
            *(compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib"),
            *("-I", str(HEADER.parent), *flags, "-o", str(made), str(folder / "run.c")),
        ],
        check=True,
    )
    return made


def printed(*command: str | Path) -> str:
    """What an emulated machine sends through its serial line."""
    done = subprocess.run(
        [*command, "-display", "none", "-monitor", "none", "-serial", "stdio"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.replace("\r", "")


def rows(folder: Path, readings: str, clock: str) -> dict[tuple[str, int], dict[str, Any]]:
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "readings.csv").write_text(readings)
    done = CliRunner().invoke(
        main,
        [
            *("measure", "target", f"{folder}/plan.yaml", f"{folder}/readings.csv"),
            *("--clock", clock, "--json"),
        ],
    )
    assert done.exit_code == 1, done.output  # nothing is left of nothing
    found = json.loads(done.stdout)["rows"]
    return {(row["operation"], row["parameter"]): row for row in found}


def test_mcycle_counts_each_instruction_of_the_statement(tmp_path: Path) -> None:
    need("riscv64-unknown-elf-gcc", "qemu-system-riscv32")
    flags = ("-march=rv32imac_zicsr", "-mabi=ilp32", "-mcmodel=medany")
    script = tmp_path / "run.ld"
    script.write_text(
        "ENTRY(start)\nSECTIONS { . = 0x80000000; .text : { *(.start) *(.text*) } "
        ".data : { *(.rodata* .srodata* .data* .sdata* .bss* .sbss*) } }\n"
    )
    elf = built(tmp_path, RISCV, "riscv64-unknown-elf-gcc", *flags, "-T", str(script))
    text = printed(
        *("qemu-system-riscv32", "-M", "virt", "-bios", "none", "-icount", "shift=0"),
        *("-kernel", elf),
    )
    found = rows(tmp_path, text, "1GHz")
    assert found["nops", 101]["result_ns"] == 101
    assert found["nops", 1000]["result_ns"] == 1000
    assert found["nops", 1000]["verdict"] == "agrees"
    assert found["nops", 1000]["deviation_ns"] == 0
    assert found["nops", 101]["resolution_ns"] == 1
    assert found["nothing", 0]["verdict"] == "nothing is left"
    # A fence, the reading, and what the compiler puts between.
    assert 1 <= found["nops", 101]["subtracted_ns"] <= 5


def test_a_timer_of_24_bits_that_counts_down_and_begins_anew(tmp_path: Path) -> None:
    need("arm-none-eabi-gcc", "qemu-system-arm")
    script = tmp_path / "run.ld"
    script.write_text(
        "SECTIONS { . = 0; .vectors : { KEEP(*(.vectors)) } .text : { *(.text* .rodata*) } "
        ". = 0x20000000; .data : { *(.data* .bss*) } }\n"
    )
    flags = ("-mcpu=cortex-m3", "-mthumb", "-T", str(script))
    elf = built(tmp_path, CORTEX, "arm-none-eabi-gcc", *flags)
    text = printed(
        *("qemu-system-arm", "-M", "mps2-an385", "-semihosting-config", "enable=on,target=native"),
        *("-icount", "shift=0", "-kernel", elf),
    )
    assert "# bits: 24" in text
    raw = [list(map(int, line.split(",")[3:])) for line in text.splitlines()[2:]]
    assert all(value < 1 << 24 for line in raw for value in line)
    assert any(a > b for line in raw for a, b in itertools.pairwise(line))
    # The timer has 25 MHz and the core an instruction in each nanosecond: 40 to a tick.
    (tmp_path / "readings.csv").write_text(text)
    read = store.load_readings(tmp_path / "readings.csv")
    inner = [sum(one.inner for one in series.readings) / 20 for series in read.series]
    assert inner[2] - inner[1] == pytest.approx(899 / 40, abs=1)
    assert inner[1] - inner[0] == pytest.approx(101 / 40, abs=1)
    found = rows(tmp_path, text, "25MHz")
    assert found["nops", 1000]["result_ns"] == pytest.approx(1000, abs=80)
    assert found["nops", 1000]["verdict"] == "too coarse"
    assert found["nops", 1000]["resolution_ns"] == 40
    assert found["nops", 1000]["calls_needed"] > 1


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("arm-none-eabi-gcc", ("-mcpu=cortex-m3", "-mthumb")),
        ("arm-none-eabi-gcc", ("-mcpu=cortex-m4", "-mthumb", "-O0")),
        ("arm-none-eabi-gcc", ("-mcpu=cortex-m7", "-mthumb", "-Os")),
        ("arm-none-eabi-gcc", ("-mcpu=cortex-m33", "-mthumb")),
        ("riscv64-unknown-elf-gcc", ("-march=rv32imc_zicsr", "-mabi=ilp32")),
        ("riscv64-unknown-elf-gcc", ("-march=rv64imac_zicsr", "-mabi=lp64", "-O0")),
    ],
)
def test_compiles_without_a_warning(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    need(compiler)
    used = "void (*put_)(char);\nvoid use(void) { all(put_); }\n"
    built(
        tmp_path,
        '#include "wcet_measure.h"\n' + MEASURED + used,
        compiler,
        *("-std=c99", "-Wpedantic", *flags, "-c"),
    )


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m23", "arm7tdmi"])
def test_a_core_without_a_counter_is_refused(core: str, tmp_path: Path) -> None:
    need("arm-none-eabi-gcc")
    (tmp_path / "run.c").write_text('#include "wcet_measure.h"\n')
    command = ["arm-none-eabi-gcc", f"-mcpu={core}", "-I", str(HEADER.parent), "-c", "run.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "define WCET_MEASURE_COUNTER() before it is included" in done.stderr


@pytest.mark.parametrize(("bits", "fits"), [(7, False), (8, True), (32, True), (33, False)])
def test_a_width_that_its_readings_do_not_have_is_refused(
    bits: int, fits: bool, tmp_path: Path
) -> None:
    need("cc")
    (tmp_path / "run.c").write_text(
        "#include <stdint.h>\n#define WCET_MEASURE_COUNTER() 0u\n"
        f'#define WCET_MEASURE_BITS {bits}\n#include "wcet_measure.h"\n'
    )
    command = ["cc", "-I", str(HEADER.parent), "-c", "run.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == fits, done.stderr
    assert fits or "counters of 8 to 32 bits" in done.stderr


def test_what_it_prints_reads_back(tmp_path: Path) -> None:
    """With a counter that says itself how often it was read."""
    need("cc")
    source = """
#include <stdint.h>
#include <stdio.h>
static uint32_t reads = UINT32_MAX - 9;
#define WCET_MEASURE_COUNTER() (reads += 7)
#include "wcet_measure.h"
static void put(char c) { putchar(c); }
int main(void)
{
    struct wcet_reading readings[3];
    wcet_measure_begin();
    for (int i = 0; i < 3; i++)
        WCET_MEASURE(readings[i], reads += 1000);
    wcet_measure_heading(put);
    wcet_measure_print(put, "x", -1, 5, readings, 2);
    wcet_measure_print(put, "y", 2147483647, 1, readings + 2, 1);
}
"""
    (tmp_path / "run.c").write_text(source)
    flags = ("-Wall", "-Wextra", "-Werror", "-std=gnu99")
    program = tmp_path / "run"
    subprocess.run(
        ["cc", *flags, "-I", str(HEADER.parent), "-o", program, tmp_path / "run.c"], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    (tmp_path / "r.csv").write_text(done.stdout)
    found = store.load_readings(tmp_path / "r.csv").series
    assert [(s.operation, s.parameter, s.calls, len(s.readings)) for s in found] == [
        ("x", None, 5, 2),
        ("y", 2147483647, 1, 1),
    ]
    assert {one.gaps for s in found for one in s.readings} == {(7, 7)}
    assert {one.inner for s in found for one in s.readings} == {1007}
    assert found[0].readings[0].start_outer == 2**32 - 3


def test_the_verb_writes_the_header(tmp_path: Path) -> None:
    output = tmp_path / "wcet_measure.h"
    done = CliRunner().invoke(main, ["measure", "header", "-o", str(output)])
    assert done.exit_code == 0, done.output
    assert output.read_bytes() == HEADER.read_bytes()
    assert "SPDX-License-Identifier: Apache-2.0" in output.read_text()
