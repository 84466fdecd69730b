"""What a build folder of Zephyr says: which board, what emulates it, which instruction set.

Read are `CMakeCache.txt` (the board), `zephyr/zephyr.dts` (the processor) and the header of
`zephyr/zephyr.elf`. With sysbuild the folder has one for each domain, and `domains.yaml` says which
is the default. Nothing is guessed: what is not there, or is not known, is a :class:`NotKnown`.

West runs this in its own Python: it needs west's dependencies alone, and of wcetchar the program.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import yaml

# Boards of Zephyr -> machines that `wcetchar capture` knows.
MACHINES = {
    "mps2/an385": "mps2-an385",
    "mps2_an385": "mps2-an385",  # before Zephyr 3.7
    "qemu_cortex_m3": "lm3s6965evb",
    "qemu_cortex_m3/ti_lm3s6965": "lm3s6965evb",
    "qemu_riscv32": "virt",
    "qemu_riscv32/qemu_virt_riscv32": "virt",
}
_ARM, _RISCV = 40, 243  # e_machine, System V ABI
_CACHED = re.compile(r"^(?P<key>[A-Za-z_][\w.-]*):[A-Z]+=(?P<value>.*)$", re.MULTILINE)
_CPU = re.compile(r'compatible\s*=\s*"(?P<first>[^"]+)"')


class NotKnown(Exception):
    """What was looked for, and what to do."""


@dataclass(frozen=True)
class BuildFolder:
    """Attributes:
    folder: of one domain.
    board: as CMake was told, with its qualifiers.
    rules: the shipped part of a services file that has Zephyr's linker sections.
    """

    folder: Path
    board: str
    rules: str

    @property
    def elf(self) -> Path:
        return self.folder / "zephyr" / "zephyr.elf"

    @property
    def linker_map(self) -> Path:
        return self.folder / "zephyr" / "zephyr.map"

    @property
    def devicetree(self) -> Path:
        return self.folder / "zephyr" / "zephyr.dts"

    @property
    def machine(self) -> str:
        """Raises:
        NotKnown: no machine of `wcetchar capture` is this board.
        """
        machine = MACHINES.get(self.board)
        if machine is None:
            raise NotKnown(
                f"no emulated machine is known for the board {self.board!r}: build for one of "
                f"{', '.join(sorted(MACHINES))}, or name the machine with --machine"
            )
        return machine


def read_build_folder(folder: Path, domain: str | None = None) -> BuildFolder:
    """Raises:
    NotKnown: it is no folder of a build that has ended, or the domain is not there.
    """
    if not folder.is_dir():
        raise NotKnown(f"there is no build folder {folder}: west build, or --build-dir FOLDER")
    folder = _domain(folder, domain)
    cache = _read(folder / "CMakeCache.txt", "a build folder of Zephyr has it")
    cached = {match["key"]: match["value"] for match in _CACHED.finditer(cache)}
    board = cached.get("CACHED_BOARD") or cached.get("BOARD")
    if not board:
        raise NotKnown(f"{folder}/CMakeCache.txt names no BOARD: it is no build of Zephyr")
    qualifiers = cached.get("BOARD_QUALIFIERS", "")
    if qualifiers and "/" not in board:
        board += "/" + qualifiers.lstrip("/")
    return BuildFolder(folder, board, _rules(folder / "zephyr"))


def _domain(folder: Path, domain: str | None) -> Path:
    """Of a build with sysbuild, the folder of a domain: the default one if none is named."""
    file = folder / "domains.yaml"
    if not file.is_file():
        if domain is not None:
            raise NotKnown(f"{folder} has no domains: it was built without sysbuild")
        return folder
    found = yaml.safe_load(_read(file, "sysbuild writes it"))
    if not isinstance(found, dict):
        raise NotKnown(f"{file} is no list of domains")
    wanted = domain or found.get("default")
    domains = [d for d in found.get("domains") or [] if isinstance(d, dict)]
    for one in domains:
        if one.get("name") == wanted and isinstance(one.get("build_dir"), str):
            path = Path(one["build_dir"])
            return path if path.is_absolute() else folder / path
    names = ", ".join(str(one.get("name")) for one in domains) or "none"
    raise NotKnown(f"{file} has no domain {wanted!r}; there are: {names}")


def _rules(zephyr: Path) -> str:
    """By the ELF header, and of Arm by the devicetree's processors as well."""
    elf = zephyr / "zephyr.elf"
    try:
        with elf.open("rb") as stream:
            header = stream.read(20)
    except OSError as error:
        raise NotKnown(f"{elf} cannot be read ({error.strerror}): west build first") from error
    if len(header) < 20 or header[:4] != b"\x7fELF":
        raise NotKnown(f"{elf} is no ELF file: build again")
    (machine,) = struct.unpack_from("<H", header, 18)
    if machine == _RISCV:
        return "zephyr-riscv"
    if machine != _ARM:
        raise NotKnown(f"{elf} is for machine {machine}: only Arm and RISC-V are known")
    devicetree = _read(zephyr / "zephyr.dts", "each build of Zephyr has it")
    found = devicetree.find("cpus {")
    match = _CPU.search(devicetree, found) if found >= 0 else None
    if match is None or not match["first"].startswith("arm,cortex-m"):
        what = match["first"] if match else "none that is named"
        raise NotKnown(f"{zephyr}/zephyr.dts: the processor is {what}; of Arm, Cortex-M is known")
    return "zephyr-cortex-m"


def _read(path: Path, why: str) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise NotKnown(f"{path} cannot be read ({error.strerror}): {why}") from error
