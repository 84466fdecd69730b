"""GNU objdump as the second decoder for RISC-V, with its texts brought to our spelling."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PREFIX = "riscv64-unknown-elf-"
AS, OBJDUMP, OBJCOPY = (PREFIX + tool for tool in ("as", "objdump", "objcopy"))
MISSING = [tool for tool in (AS, OBJDUMP, OBJCOPY) if shutil.which(tool) is None]
REASON = f"not installed: {', '.join(MISSING)} (Debian package binutils-riscv64-unknown-elf)"

MARCH = "rv32imac_zicsr_zifencei"


@dataclass(frozen=True)
class Line:
    address: int
    length: int
    text: str

    @property
    def undefined(self) -> bool:
        return self.text.startswith((".", "unimp 0x")) or "unknown" in self.text

    @property
    def name(self) -> str:
        return self.text.partition(" ")[0]


def objdump_all(codes: Sequence[bytes], folder: Path, march: str = MARCH) -> list[Line]:
    """Each encoding as objdump prints it, one after the other from address 0 on."""
    lines = [".option norelax"]
    lines += [f".{len(code)}byte {int.from_bytes(code, 'little'):#x}" for code in codes]
    file = assemble("\n".join(lines) + "\n", folder, march)
    # Without the mapping symbols that call these bytes data.
    subprocess.run([OBJCOPY, "-w", "-N", "$*", file], check=True)
    listing = dump(file)
    found = []
    address = 0
    for code in codes:
        found.append(listing[address])
        address += len(code)
    return found


def assemble(source: str, folder: Path, march: str = MARCH) -> Path:
    """An object file."""
    (folder / "code.s").write_text(source)
    out = folder / "code.o"
    subprocess.run([AS, f"-march={march}", "-mabi=ilp32", "-o", out, folder / "code.s"], check=True)
    return out


_LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{4} ?|[0-9a-f]{8} ?)+?)\s*\t(.*)$")


def dump(file: Path) -> dict[int, Line]:
    out = subprocess.run(
        [OBJDUMP, "-d", "-z", "-M", "no-aliases", file], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for line in out.splitlines():
        match = _LINE.match(line)
        if match:
            address = int(match[1], 16)
            length = len(match[2].replace(" ", "")) // 2
            found[address] = Line(address, length, match[3].replace("\t", " ").strip())
    return found


def normal(text: str) -> list[str | int]:
    """Mnemonic and operands, numbers as numbers, without spaces and comments."""
    name, _, operands = text.partition("#")[0].partition("<")[0].strip().partition(" ")
    parts = re.findall(r"-?[\w.]+|[(),]", operands)
    return [name, *(_number(part) for part in parts)]


def _number(part: str) -> str | int:
    try:
        return int(part, 0)
    except ValueError:
        return part
