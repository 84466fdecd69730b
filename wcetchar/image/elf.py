"""Reads an executable ELF file into :class:`wcetchar.model.image.Image`.

Sources: System V ABI (ELF header, program headers); ELF for the Arm Architecture (IHI 0044),
4.5.5 mapping symbols, 4.3.6 and "Addenda to the ABI" (IHI 0045) for build attributes;
RISC-V ELF psABI, "Mapping symbols".
"""

from __future__ import annotations

import hashlib
import stat
import struct
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from wcetchar.errors import InputError, Location
from wcetchar.image.code import code_ranges
from wcetchar.image.lines import source_lines
from wcetchar.model.image import Image, Section, Symbol

MACHINES = {"EM_ARM": "arm", "EM_RISCV": "riscv"}

MAXIMUM_SIZE = 1 << 30
"""Files from strangers: nothing larger is read."""

_SAID = 200  # of an exception's text, which may quote the file

_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR, _SHF_TLS = 1, 2, 4, 0x400

# Tag_CPU_arch of the Addenda to the ABI for the Arm Architecture, table of CPU architectures.
_ARM_ARCHITECTURES = {
    0: "armv4",
    1: "armv4",
    2: "armv4t",
    3: "armv5t",
    4: "armv5te",
    5: "armv5tej",
    6: "armv6",
    7: "armv6kz",
    8: "armv6t2",
    9: "armv6k",
    10: "armv7",
    11: "armv6-m",
    12: "armv6s-m",
    13: "armv7e-m",
    14: "armv8-a",
    15: "armv8-r",
    16: "armv8-m.base",
    17: "armv8-m.main",
    21: "armv8.1-m.main",
    22: "armv9-a",
}


def load_image(path: str) -> Image:
    """Reads an executable.

    Raises:
        InputError: the file is missing, no ELF, damaged, not a little-endian executable, or for a
            machine other than Arm and RISC-V.
    """
    where = Location(path)
    file = Path(path)
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise InputError(
                "this is no file but a folder or a device",
                where=where,
                expected="the firmware as an executable ELF file",
                hint="name the linker's output",
            )
        if file.stat().st_size > MAXIMUM_SIZE:
            raise InputError(
                f"the file has {file.stat().st_size} bytes",
                where=where,
                expected=f"an executable of at most {MAXIMUM_SIZE} bytes",
            )
        with file.open("rb") as stream:
            if stream.read(4) != b"\x7fELF":
                raise InputError(
                    "this is no ELF file",
                    where=where,
                    expected="the firmware as an executable ELF file",
                    hint="give the linker's output, not a .bin or .hex made from it",
                )
            stream.seek(0)
            return _read(ELFFile(stream), path)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            where=where,
            expected="the firmware as an executable ELF file",
            hint="check the path and its permissions",
        ) from error
    except InputError:
        raise
    except Exception as error:
        # pyelftools fails in many ways on damaged files (construct errors, KeyError, struct.error,
        # AssertionError ...); whatever it was, the file is not one that can be trusted.
        kind = "" if isinstance(error, ELFError) else f"{type(error).__name__}: "
        said = ascii(f"{kind}{error}"[:_SAID])[1:-1]
        raise InputError(
            f"the ELF file is damaged ({said})",
            where=where,
            expected="a complete executable",
            hint="readelf -a names the damaged part; link the firmware again",
        ) from error


def _read(elf: Any, path: str) -> Image:
    where = Location(path)
    machine = MACHINES.get(elf["e_machine"])
    if machine is None:
        raise InputError(
            f"the file is for machine {elf['e_machine']}",
            where=where,
            expected="an ELF file for 32-bit Arm or RISC-V",
            hint="give the firmware that the cross compiler made, not a program of this machine",
        )
    if elf["e_type"] != "ET_EXEC":
        raise InputError(
            f"the file is of type {elf['e_type']}",
            where=where,
            expected="a linked executable (ET_EXEC)",
            hint="link the objects; addresses decide what every access costs",
        )
    if not elf.little_endian:
        raise InputError(
            "the file is big-endian",
            where=where,
            expected="a little-endian executable",
            hint="compile and link without -mbig-endian",
        )
    sections = tuple(_sections(elf, path))
    raw_symbols = [
        symbol
        for table in elf.iter_sections()
        if isinstance(table, SymbolTableSection) and table["sh_type"] == "SHT_SYMTAB"
        for symbol in table.iter_symbols()
    ]
    lines, inlined = source_lines(elf, path)
    return Image(
        path=path,
        machine=machine,
        architecture=_architecture(elf, machine),
        bits=elf.elfclass,
        entry=elf["e_entry"] & ~1 if machine == "arm" else elf["e_entry"],
        sections=sections,
        symbols=tuple(_symbols(elf, raw_symbols, machine)),
        code=code_ranges(sections, raw_symbols, machine, _executable(elf)),
        lines=lines,
        inlined=inlined,
        sha256=_loadable_hash(elf, path),
        build_id=_build_id(elf),
    )


def _sections(elf: Any, path: str) -> list[Section]:
    found = []
    for section in elf.iter_sections():
        if not section["sh_flags"] & _SHF_ALLOC or not section["sh_size"]:
            continue
        if section["sh_flags"] & _SHF_TLS and section["sh_type"] == "SHT_NOBITS":
            continue  # .tbss: a template, which takes no addresses; the next section begins there
        if section.compressed:
            raise InputError(
                f"section {section.name} is loaded, yet marked as compressed",
                where=Location(path),
                expected="compression of debug sections only (System V ABI, SHF_COMPRESSED)",
                hint="the file is damaged; link the firmware again",
            )
        data = b"" if section["sh_type"] == "SHT_NOBITS" else section.data()
        if section["sh_type"] != "SHT_NOBITS" and len(data) != section["sh_size"]:
            raise InputError(
                f"section {section.name} is cut off: {len(data)} of {section['sh_size']} bytes",
                where=Location(path),
                expected="a complete file",
                hint="link the firmware again",
            )
        found.append(
            Section(
                name=section.name,
                address=section["sh_addr"],
                size=section["sh_size"],
                writable=bool(section["sh_flags"] & _SHF_WRITE),
                executable=bool(section["sh_flags"] & _SHF_EXECINSTR),
                data=data,
                alignment=max(1, section["sh_addralign"]),
            )
        )
    return sorted(found, key=lambda s: (s.address, s.name))


def _executable(elf: Any) -> frozenset[int]:
    """Numbers of the sections that hold instructions at run time."""
    wanted = _SHF_ALLOC | _SHF_EXECINSTR
    return frozenset(
        i for i, section in enumerate(elf.iter_sections()) if section["sh_flags"] & wanted == wanted
    )


_KINDS = {"STT_FUNC": "function", "STT_OBJECT": "object", "STT_NOTYPE": "other"}


def _symbols(elf: Any, raw: list[Any], machine: str) -> list[Symbol]:
    names = {i: section.name for i, section in enumerate(elf.iter_sections())}
    found = []
    for symbol in raw:
        kind = _KINDS.get(symbol["st_info"]["type"])
        index = symbol["st_shndx"]
        if kind is None or not symbol.name or index == "SHN_UNDEF" or symbol.name.startswith("$"):
            continue
        address = symbol["st_value"]
        if machine == "arm" and kind == "function":
            address &= ~1
        found.append(
            Symbol(
                name=symbol.name,
                address=address,
                size=symbol["st_size"],
                kind=kind,
                section=names.get(index) if isinstance(index, int) else None,
                local=symbol["st_info"]["bind"] == "STB_LOCAL",
                weak=symbol["st_info"]["bind"] == "STB_WEAK",
            )
        )
    return sorted(found, key=lambda s: (s.address, s.name, s.local))


def _architecture(elf: Any, machine: str) -> str:
    if machine == "riscv":
        section = elf.get_section_by_name(".riscv.attributes")
        if section is not None:
            for attribute in section.iter_subsections():
                for sub in attribute.iter_subsubsections():
                    for item in sub.iter_attributes("TAG_ARCH"):
                        return str(item.value)
        return ""
    section = elf.get_section_by_name(".ARM.attributes")
    if section is None:
        return ""
    tags: dict[str, Any] = {}
    for attribute in section.iter_subsections():
        for sub in attribute.iter_subsubsections():
            for item in sub.iter_attributes():
                tags[str(item.tag)] = item.value
    code = tags.get("TAG_CPU_ARCH")
    if code is None:
        return ""
    name = _ARM_ARCHITECTURES.get(int(code), f"arm-architecture-{code}")
    profile = tags.get("TAG_CPU_ARCH_PROFILE")
    if name == "armv7" and profile:
        letter = chr(profile) if isinstance(profile, int) else str(profile)
        name = f"armv7-{letter.lower()}"
    if name == "armv7e-m":
        name += _floating_point(tags)
    return name


def _floating_point(tags: dict[str, Any]) -> str:
    """The floating-point extension of an Armv7E-M image, as GCC names those of ``-march``.

    Tag_FP_arch and Tag_ABI_HardFP_use (IHI 0045, 3.3.5.2 and 3.3.6.2); of M-profile cores FPv4
    (5, 6) has single precision only, whatever the tags say of it.
    """
    version = int(tags.get("TAG_FP_ARCH", 0) or 0)
    if not version:
        return ""
    double = int(tags.get("TAG_ABI_HARDFP_USE", 0) or 0) != 1
    if version in (7, 8):
        return "+fp.dp" if double else "+fpv5"
    return "+fp"


def _loadable_hash(elf: Any, path: str) -> str:
    """SHA-256 over (virtual address, physical address, size, bytes) of each PT_LOAD segment with
    contents, by physical address: the same for a stripped copy, different for any other load."""
    digest = hashlib.sha256()
    segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD" and s["p_filesz"]]
    if not segments:
        raise InputError(
            "the file has no loadable segment",
            where=Location(path),
            expected="a linked executable with PT_LOAD program headers",
            hint="give the linker's output; files of debug information alone load nothing",
        )
    for segment in sorted(segments, key=lambda s: (s["p_paddr"], s["p_vaddr"])):
        data = segment.data()
        if len(data) != segment["p_filesz"]:
            raise InputError(
                f"the segment at 0x{segment['p_paddr']:x} is cut off: "
                f"{len(data)} of {segment['p_filesz']} bytes",
                where=Location(path),
                expected="a complete file",
                hint="link the firmware again",
            )
        digest.update(struct.pack("<QQQ", segment["p_vaddr"], segment["p_paddr"], len(data)))
        digest.update(data)
    return digest.hexdigest()


def _build_id(elf: Any) -> str | None:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return None
