"""Calls that were inlined, against ``addr2line -i`` of binutils at every instruction."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from needs import need

from wcetchar import isa
from wcetchar.image import load_image

HEADER = """
static inline __attribute__((always_inline)) int masked(volatile int *a)
{
    int before = *a;
    *a = before | 1;
    return before;
}
"""
SOURCE = """
#include "port.h"
volatile int mask, other;
static inline __attribute__((always_inline)) int enter(int a)
{
    int kept = masked(&mask);
    if (a > 3)
        kept += masked(&other);
    return kept;
}
int __attribute__((noinline)) called(int a)
{
    int sum = 0;
    for (int i = 0; i < a; i++)
        sum += enter(i) * enter(a);
    return sum;
}
void _start(void)
{
    for (;;)
        mask = called(mask);
}
"""
PREFIXES = {
    "arm": ("arm-none-eabi-", ("-mcpu=cortex-m3", "-mthumb"), "gcc-arm-none-eabi"),
    "riscv": (
        "riscv64-unknown-elf-",
        ("-march=rv32imc", "-mabi=ilp32"),
        "gcc-riscv64-unknown-elf",
    ),
}


def compiled(folder: Path, machine: str, *options: str) -> Path:
    prefix, flags, package = PREFIXES[machine]
    need(f"{prefix}gcc", package)
    (folder / "port.h").write_text(HEADER)
    (folder / "a.c").write_text(SOURCE)
    command = [f"{prefix}gcc", *flags, "-O2", "-nostdlib", *options, "a.c", "-o", "a.elf"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "a.elf"


@pytest.fixture(params=["arm-gdwarf-4", "arm-gdwarf-5", "riscv-gdwarf-5", "firmware"])
def elf(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "firmware":
        return Path(request.getfixturevalue("firmware"))
    machine, version = request.param.split("-", 1)
    return compiled(tmp_path, machine, f"-{version}")


def said(elf: Path, machine: str, addresses: list[int]) -> dict[int, list[tuple[str, int, str]]]:
    """(file without its folder, line, function) of each address, the innermost place first."""
    done = subprocess.run(
        [f"{PREFIXES[machine][0]}addr2line", "-a", "-f", "-i", "-e", elf],
        input="\n".join(map(hex, addresses)),
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[int, list[tuple[str, int, str]]] = {}
    lines = iter(done.stdout.splitlines())
    places: list[tuple[str, int, str]] = []
    for line in lines:
        if line.startswith("0x"):
            places = found.setdefault(int(line, 16), [])
            continue
        file, _, number = next(lines).partition(" (discriminator")[0].rpartition(":")
        places.append((file.rpartition("/")[2], int(number) if number.isdigit() else 0, line))
    return found


def test_calls_are_those_of_addr2line(elf: Path) -> None:
    """Wherever that knows the line itself: with every call that the code was inlined by."""
    image = load_image(str(elf))
    addresses = [i.address for i in isa.decode_image(image).instructions]
    depths = set()
    compared = 0
    for address, places in said(elf, image.machine, addresses).items():
        if not all(line for _, line, _ in places):
            continue
        line = image.line_at(address)
        assert line is not None
        calls = image.inlined_at(address)
        mine = [(line.file, line.line), *((call.file, call.line) for call in calls)]
        stated = [(file, number) for file, number, _ in places]
        assert [(file.rpartition("/")[2], number) for file, number in mine] == stated, hex(address)
        inlined = [function for _, _, function in places[:-1]]
        assert [call.name for call in calls] == inlined, hex(address)
        depths.add(len(calls))
        compared += 1
    assert compared > 0.9 * len(addresses)
    assert depths >= {0, 1, 2}


def test_without_debug_information_nothing_is_known(tmp_path: Path) -> None:
    image = load_image(str(compiled(tmp_path, "arm", "-g0")))
    assert image.inlined == ()
    assert image.inlined_at(image.entry) == ()
