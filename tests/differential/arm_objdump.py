"""GNU objdump as the second decoder for Arm state."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

AS = "arm-none-eabi-as"
OBJDUMP = "arm-none-eabi-objdump"
GCC = "arm-none-eabi-gcc"
MISSING = [tool for tool in (AS, OBJDUMP) if shutil.which(tool) is None]


@dataclass(frozen=True)
class Line:
    """One line of a listing; ``length`` in bytes."""

    address: int
    length: int
    text: str

    @property
    def undefined(self) -> bool:
        return "undefined" in self.text.lower() or self.text.startswith((".", "\t."))

    @property
    def unpredictable(self) -> bool:
        return "UNPREDICTABLE" in self.text

    @property
    def name(self) -> str:
        return self.text.partition(" ")[0]


def objdump_all(codes: Sequence[int], folder: Path, cpu: str = "arm7tdmi") -> list[Line]:
    """Each A32 encoding as objdump prints it; the n-th stands at address 4 * n."""
    source = folder / "code.s"
    lines = [".syntax unified", f".cpu {cpu}", ".arm"]
    lines += [".inst " + hex(code) for code in codes]
    source.write_text("\n".join(lines) + "\n")
    subprocess.run([AS, "-o", folder / "code.o", source], check=True)
    listing = dump(folder / "code.o")
    return [listing[4 * number] for number in range(len(codes))]


_LINE = re.compile(r"^\s*([0-9a-f]+):\t([0-9a-f]{8}|[0-9a-f]{4}(?: [0-9a-f]{4})?)\s*\t(.*)$")


def dump(file: Path) -> dict[int, Line]:
    """Every instruction of a file by address, in the state that its mapping symbols say."""
    out = subprocess.run(
        [OBJDUMP, "-d", "-z", "-M", "reg-names-std", file],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = {}
    for line in out.splitlines():
        match = _LINE.match(line)
        if match:
            address = int(match[1], 16)
            text = match[3].replace("\t", " ").strip()
            found[address] = Line(address, len(match[2].replace(" ", "")) // 2, text)
    return found
