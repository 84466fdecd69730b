"""The line table (DWARF 2 to 5, section 6.2): address -> source file and line."""

from __future__ import annotations

from typing import Any

from wcetchar.model.image import SourceLine


def source_lines(elf: Any) -> tuple[SourceLine, ...]:
    """All line table entries sorted by address; line 0 ends a sequence. Empty without DWARF."""
    if not elf.has_dwarf_info():
        return ()
    dwarf = elf.get_dwarf_info()
    # Where two sequences meet, the start of the next wins over the end of the one before.
    found: dict[int, SourceLine] = {}
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        names = _file_names(program)
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
    return tuple(found[address] for address in sorted(found))


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
