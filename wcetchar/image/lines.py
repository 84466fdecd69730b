"""Source places (DWARF 2 to 5): the line table (6.2), address -> file and line; inlined calls."""

from __future__ import annotations

from typing import Any, Final

from wcetchar.errors import InputError, Location
from wcetchar.image.inlined import inlined_calls
from wcetchar.model.image import InlinedCall, SourceLine

MAXIMUM_DEBUG: Final = 1 << 29


def source_lines(elf: Any, path: str) -> tuple[tuple[SourceLine, ...], tuple[InlinedCall, ...]]:
    """All line table entries sorted by address, where line 0 ends a sequence; all inlined calls.
    Both are empty without DWARF.

    Raises:
        InputError: the debug information unpacks to more than ``MAXIMUM_DEBUG`` bytes, or is
            compressed in the GNU format that does not say its size in the section header.
    """
    if not elf.has_dwarf_info():
        return (), ()
    _check_sizes(elf, path)
    # The linker has relocated an executable; where it kept the relocations as well (-q), a second
    # time would move every address. Links to further files are not followed.
    dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False, follow_links=False)
    # Where two sequences meet, the start of the next wins over the end of the one before.
    found: dict[int, SourceLine] = {}
    inlined: list[InlinedCall] = []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        names = {} if program is None else _file_names(program)
        inlined += inlined_calls(dwarf, unit, names)
        if program is None:
            continue
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                found.setdefault(state.address, SourceLine(state.address, "", 0))
            else:
                # Later rows for one address replace earlier ones, as in every debugger.
                name = names.get(state.file, "?")
                found[state.address] = SourceLine(state.address, name, state.line)
    return tuple(found[address] for address in sorted(found)), tuple(inlined)


def _check_sizes(elf: Any, path: str) -> None:
    """A few bytes can claim to unpack to gigabytes: look before anything is unpacked."""
    total = 0
    for section in elf.iter_sections():
        if section.name.startswith(".zdebug"):
            raise InputError(
                f"the debug information is compressed in an old GNU format ({section.name})",
                where=Location(path),
                expected="plain or ELF-compressed debug sections",
                hint="objcopy --decompress-debug-sections, or link with -gz=zlib",
            )
        if section.name.startswith(".debug_"):
            total += section.data_size
    if total > MAXIMUM_DEBUG:
        raise InputError(
            f"the debug information takes {total} bytes when unpacked",
            where=Location(path),
            expected=f"at most {MAXIMUM_DEBUG}",
            hint="the file is damaged, or strip it of debug information (strip -g)",
        )


def _file_names(program: Any) -> dict[int, str]:
    header = program.header
    # The line program's own version counts, not its unit's: GNU as writes version 3 programs for
    # version 5 units. Files and directories are numbered from 0 since version 5.
    from_zero = header["version"] >= 5
    directories = [_text(d) for d in header["include_directory"]]
    first = 0 if from_zero else 1
    names = {}
    for number, file in enumerate(header["file_entry"], start=first):
        name = _text(file.name)
        index = file.dir_index if from_zero else file.dir_index - 1
        # Directory 0 is the compilation directory; leaving it out keeps builds comparable.
        has_directory = index > 0 if from_zero else index >= 0
        if not name.startswith("/") and has_directory and index < len(directories):
            name = f"{directories[index]}/{name}"
        names[number] = name
    return names


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
