"""Every access of the whole run against the registers: nothing of it comes from a plugin.

QEMU executes one instruction a block (``-singlestep``) and prints the registers before each. From
these and objdump's text follow the address of every access, and whether a predicated instruction
has an effect; the plugin's trace must say the same. The log has some 380 MB, so it is read as it is
written.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from chain_listing import Line, Listing, registers
from chain_log import ARGUMENTS
from chain_stream import Run

pytest_plugins = ("chain_fixtures",)
pytestmark = [pytest.mark.firmware, pytest.mark.long]

_STEP = re.compile(
    rb"Trace 0: 0x[0-9a-f]+ \[[0-9a-f]+/(?P<pc>[0-9a-f]{8})/.*\n"
    rb"(?P<cpu>(?:R\d\d=.*\n){4})XPSR=[0-9a-f]{8} (?P<flags>[NZCV-]{4}).*\n"
    rb"|(?P<stopped>Stopped execution|cpu_io_recompile).*\n"
    rb"|(?:Taking|Exception|Loaded|\.\.\.).*\n"
)
NUMBER = {**{f"r{n}": n for n in range(16)}, "sb": 9, "sl": 10, "fp": 11, "ip": 12, "sp": 13}
NUMBER |= {"lr": 14, "pc": 15}
_OPERAND = re.compile(
    r"\[(?P<base>\w+)(?:, (?:#(?P<offset>-?\d+)|(?P<index>\w+)(?:, lsl #(?P<shift>\d))?))?\]"
    r"(?P<before>!)?(?:, #(?P<after>-?\d+))?$"
)
Registers = list[int]


def executed(firmware: Path) -> Iterator[tuple[int, Registers, str]]:
    """(pc, r0..r15, flags) before every instruction that runs."""
    reading, writing = os.pipe()
    items = ("-singlestep", "-d", "exec,nochain,int,cpu", "-D", f"/proc/self/fd/{writing}")
    qemu = subprocess.Popen(
        ["qemu-system-arm", *ARGUMENTS, *items, "-kernel", str(firmware)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(writing,),
    )
    os.close(writing)
    pending: tuple[int, Registers, str] | None = None
    rest = b""
    with open(reading, "rb", buffering=0) as log:
        while piece := log.read(1 << 20):
            text, at = rest + piece, 0
            while found := _STEP.match(text, at):
                at = found.end()
                if found["pc"]:
                    if pending is not None:
                        yield pending
                    values = [int(word[4:], 16) for word in found["cpu"].split()]
                    pending = (int(found["pc"], 16), values, found["flags"].decode())
                elif found["stopped"]:
                    pending = None
            rest = text[at:]
            assert len(rest) < 2000, rest[:200]
    assert rest == b""
    assert pending is not None
    yield pending
    assert qemu.wait(60) == 0


def holds(condition: str, flags: str) -> bool:
    n, z, c, v = (flag != "-" for flag in flags)
    return {
        "eq": z,
        "ne": not z,
        "cs": c,
        "cc": not c,
        "mi": n,
        "pl": not n,
        "vs": v,
        "vc": not v,
        "hi": c and not z,
        "ls": not c or z,
        "ge": n == v,
        "lt": n != v,
        "gt": not z and n == v,
        "le": z or n != v,
    }[condition]


def addresses(line: Line, values: Registers) -> list[int]:
    """Addresses that an instruction accesses (DDI 0403, A7.7)."""
    count = line.reads + line.writes
    name, operands = line.mnemonic, line.operands
    if "{" in operands:
        assert len(registers(operands)) == count
        if name in ("push", "pop"):
            base, down = values[13], name == "push"
        else:
            base, down = values[NUMBER[re.split("[!,]", operands)[0]]], name.endswith("db")
        start = base - 4 * count if down else base
        return [start + 4 * n for n in range(count)]
    found = _OPERAND.search(operands)
    assert found is not None, line
    base = values[NUMBER[found["base"]]]
    if found["base"] == "pc":
        base = (line.address + 4) & (~0 if name.startswith("tb") else ~3)
    if found["index"]:
        base += values[NUMBER[found["index"]]] << int(found["shift"] or name == "tbh")
    base += int(found["offset"] or 0)
    return [(base + line.width * n) & 0xFFFFFFFF for n in range(count)]


def test_every_access_follows_from_the_registers(
    firmware: Path, listing: Listing, run: Run
) -> None:
    compared = skipped = step = 0
    for step, (pc, values, flags) in enumerate(executed(firmware)):
        assert pc == run.pcs[step], f"step {step}"
        line = listing.lines[pc]
        if line.reads + line.writes == 0:
            assert step not in run.data
            continue
        if line.predicated and not holds(line.condition, flags):
            assert step not in run.data, f"step {step}: {line}"
            skipped += 1
            continue
        found = [address for _, _, address in run.data[step]]
        assert found == addresses(line, values), f"step {step}: {line}"
        compared += len(found)
    assert step + 1 == len(run.pcs)
    assert compared == sum(map(len, run.data.values()))
    assert skipped > 1000
