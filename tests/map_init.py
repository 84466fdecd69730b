"""What tests of `wcetchar map init` share: characterizations of nothing but sections, and the
FreeRTOS firmware linked to where a map says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wcetchar.model.access import AccessClass, AccessVector, Operation, Pattern
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    Contents,
    Counts,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    TraceSection,
    Word,
)
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.service import Kernel, LogicalSection, SectionKind, ServiceKind
from wcetchar.store import characterization_json, load_section_rules

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "rtos_tests" / "freertos"
LINKERS = {
    "mps2-an385": ("arm-none-eabi-gcc", "-mcpu=cortex-m3 -mthumb"),
    "mps2-an386": (
        "arm-none-eabi-gcc",
        "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    ),
    "versatilepb": ("arm-none-eabi-gcc", "-mcpu=arm7tdmi -marm"),
    "virt": ("riscv64-unknown-elf-gcc", "-march=rv32im -mabi=ilp32 -mno-relax -Wl,--no-relax"),
}
"""Board -> compiler and flags of its board.mk."""


def built(board: str) -> Path:
    """The folder of a board's firmware."""
    return ROOT / "build/firmware" / ("freertos" + ("" if board == "mps2-an385" else f"-{board}"))


def services_of(board: str) -> list[str]:
    parts = ("services.yaml", "config/basic.yaml", f"boards/{board}/image.yaml")
    return [str(SUITE / part) for part in parts]


def touching(
    sections: Sequence[SectionInfo], sha256: str | None = None, untouched: Sequence[str] = ()
) -> str:
    """A characterization of one service that reads each of the sections once."""
    vector = AccessVector(
        {
            AccessClass(s.name, Operation.READ, 32, Pattern.SINGLE): 1
            for s in sections
            if s.name not in untouched
        }
    )
    service = ServiceCharacterization(
        name="s",
        kind=ServiceKind.CALL,
        word=Word.ESTIMATE,
        parameters=(),
        counts=Counts((TraceSection(Blocking(), vector),)),
    )
    return characterization_json(
        Characterization(
            kernel=Kernel("K", "1"),
            architecture="armv7-m",
            fetch_width=32,
            sections=tuple(sections),
            services=(service,),
            provenance=Provenance("test", image_sha256=sha256),
        )
    )


def infos(rules: Sequence[LogicalSection]) -> list[SectionInfo]:
    return [SectionInfo(s.name, s.kind, s.meaning, None, s.either_of) for s in rules]


def with_names(
    sections: Sequence[SectionInfo], rules: Sequence[LogicalSection], elf: Path
) -> list[SectionInfo]:
    """With the contents that the rules give them in an image, by what objdump says of it."""
    of = {linker: rule.name for rule in rules for linker in rule.linker_sections}
    names: dict[str, set[str]] = {}
    for linker, name in symbols_of(elf):
        if linker in of:
            names.setdefault(of[linker], set()).add(name)
    by_name = {rule.name: rule for rule in rules}
    return [
        s
        if s.either_of
        else replace(
            s,
            contents=Contents(
                by_name[s.name].linker_sections,
                by_name[s.name].ranges,
                tuple(sorted(names.get(s.name, ()))),
            ),
        )
        for s in sections
    ]


def symbols_of(elf: Path) -> list[tuple[str, str]]:
    """Linker section and name of each function and object, as binutils have them."""
    tool = "riscv64-unknown-elf-objdump" if "virt" in str(elf) else "arm-none-eabi-objdump"
    text = subprocess.run([tool, "-tw", str(elf)], capture_output=True, text=True, check=True)
    line = re.compile(r"[0-9a-f]{8} .{6}[FO] (\S+)\t[0-9a-f]{8} (?:\.hidden )?(\S+)")
    return [(m[1], m[2]) for m in map(line.fullmatch, text.stdout.splitlines()) if m]


def relinked(board: str, profile: HardwareProfile, places: Mapping[str, str], folder: Path) -> Path:
    """The objects of a board's firmware, linked so that each logical section lies in the region of
    the profile that ``places`` names; what belongs to the driver lies elsewhere."""
    rules = load_section_rules(*services_of(board)).sections
    of = {linker: s for s in rules for linker in s.linker_sections}
    text = (SUITE / "boards" / _script_of(board) / "link.ld").read_text()
    regions = {name: f"R{n}" for n, name in enumerate(profile.regions)}
    memory = [
        f"    {regions[name]} (rwx) : ORIGIN = {region.base:#x}, LENGTH = {region.size}"
        for name, region in profile.regions.items()
        if region.base is not None and region.kind.value == "memory"
    ]
    memory.append("    DRIVER (rwx) : ORIGIN = 0x90000000, LENGTH = 8M")
    text = re.sub(r"MEMORY\n\{.*?\n\}", "MEMORY\n{\n" + "\n".join(memory) + "\n}", text, flags=re.S)
    # Where something stands is the test's to say.
    text = re.sub(r"MAX\(0x[0-9a-f]+, (ALIGN\(\d+\))\) :", r": \1", text)
    # Callers that reach no further than a megabyte (boards/virt/start.S).
    near = (
        "    .near : { */driver/*.o(.text.behind_stores) } > " + regions[places[of[".text"].name]]
    )
    text = text.replace("    .driver_text", f"{near}\n    .driver_text", 1)
    lines, section, reads = [], "", None
    for line in text.splitlines():
        begins = re.match(r"    (\.[\w.-]+)\b.*:", line)
        if begins:
            section = begins[1]
        reads = of.get(section)
        place = "DRIVER" if reads is None else regions[places[reads.name]]
        line = re.sub(r"> (CODE|DATA)( AT > CODE)?", f"> {place}", line)
        lines.append(line)
    script = folder / "link.ld"
    script.write_text("\n".join(lines))
    compiler, flags = LINKERS[board]
    objects = sorted(str(p) for p in (built(board) / "measured").glob("*/*.o"))
    elf = folder / "application.elf"
    command = [compiler, *flags.split(), "-nostdlib", "-nostartfiles", "-static"]
    command += ["-Wl,-T," + str(script), "-Wl,-Map," + str(folder / "application.map")]
    subprocess.run([*command, *objects, "-lgcc", "-o", str(elf)], check=True, cwd=folder)
    return elf


def _script_of(board: str) -> str:
    return "mps2-an385" if board == "mps2-an386" else board


def section(name: str, kind: SectionKind = SectionKind.DATA, meaning: str = "") -> SectionInfo:
    return SectionInfo(name, kind, meaning)
