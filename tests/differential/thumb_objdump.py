"""GNU objdump as the second decoder for Thumb, with its texts brought to one spelling."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

AS = "arm-none-eabi-as"
OBJDUMP = "arm-none-eabi-objdump"
OBJCOPY = "arm-none-eabi-objcopy"
MISSING = [tool for tool in (AS, OBJDUMP, OBJCOPY) if shutil.which(tool) is None]

PAD = 4
"""Halfwords of nop after each encoding: no IT instruction reaches the next one."""


@dataclass(frozen=True)
class Line:
    address: int
    length: int
    text: str

    @property
    def undefined(self) -> bool:
        return "UNDEFINED" in self.text or self.text.startswith(".")

    @property
    def unpredictable(self) -> bool:
        return "UNPREDICTABLE" in self.text


def objdump_all(codes: Sequence[bytes], folder: Path, cpu: str = "cortex-m3") -> list[Line]:
    """Each encoding by itself, as objdump prints it."""
    lines = [".syntax unified", f".cpu {cpu}", ".thumb"]
    for code in codes:
        halves = [code[i : i + 2] for i in range(0, len(code), 2)] + [b"\x00\xbf"] * PAD
        # One mapping symbol for all: objdump searches them one by one.
        lines.append(".inst.n " + ",".join(hex(int.from_bytes(h, "little")) for h in halves))
    listing = assemble_and_dump("\n".join(lines) + "\n", folder)
    found = []
    address = 0
    for code in codes:
        found.append(listing[address])
        address += len(code) + 2 * PAD
    return found


def assemble_and_dump(source: str, folder: Path) -> dict[int, Line]:
    (folder / "code.s").write_text(source)
    subprocess.run([AS, "-o", folder / "code.o", folder / "code.s"], check=True)
    return dump(folder / "code.o")


def assemble(source: str, folder: Path) -> bytes:
    """The bytes of one section's code."""
    (folder / "code.s").write_text(source)
    subprocess.run([AS, "-o", folder / "code.o", folder / "code.s"], check=True)
    subprocess.run([OBJCOPY, "-O", "binary", folder / "code.o", folder / "code.bin"], check=True)
    return (folder / "code.bin").read_bytes()


_LINE = re.compile(r"^\s*([0-9a-f]+):\t([0-9a-f]{4}(?: [0-9a-f]{4})?)\s*\t(.*)$")


def dump(file: Path) -> dict[int, Line]:
    out = subprocess.run(
        [OBJDUMP, "-d", "-z", "-M", "force-thumb", file], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for line in out.splitlines():
        match = _LINE.match(line)
        if match:
            address = int(match[1], 16)
            text = match[3].replace("\t", " ").strip()
            found[address] = Line(address, 2 * len(match[2].split()), text)
    return found
