"""A run and its characterization from a cell of ``make campaign``, in the place of making both.

Taken only where ``cell.json`` says that they were made of exactly what is here: the firmware, the
services files, the code of wcetchar, the emulator, and nothing beside; and where the files are
still those that were written then. In all other cases they have to be made anew. Which services
file is named first decides in which order services are published, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from chain_made import ROOT, Firmware

from wcetchar import capture
from wcetchar.pipeline import cell as cells

CAMPAIGN = ROOT / "build" / "campaign"


def folder_of(firmware: Firmware) -> Path:
    return CAMPAIGN / f"{firmware.board}+{firmware.config}"


def taken(
    cell: Path, elf: Path, services: Sequence[str], machine: str, trace: Path, published: Path
) -> bool:
    """Whether the cell was up to date; ``trace`` and ``published`` are then its files."""
    base = {"tool": cells.tool_identity(), "firmware": _sha256(elf)}
    match cells.record_of(cell):
        case {
            "traces": {cells.TRACE: {"inputs": run, "sha256": str(of_trace)}, **other_runs},
            "characterization": {
                "inputs": {"services": list(files), **inputs},
                "sha256": str(of_characterization),
            },
        }:
            pass
        case _:
            return False
    wanted_run = {
        **base,
        "machine": machine,
        "emulator": capture.emulator_version(machine),
        "exclude": [],
        "marked": [],
        "initialize": [],
        "until": None,
    }
    wanted = {**base, "traces": {cells.TRACE: of_trace}, "values": [[]], "partial": False}
    here = sorted(_sha256(Path(name)) for name in services)
    if other_runs or run != wanted_run or inputs != wanted or sorted(map(str, files)) != here:
        return False
    # They are hashed where nobody changes them: a campaign may be at work.
    if not _same(cell / cells.TRACE, of_trace, trace):
        return False
    if not _same(cell / cells.CHARACTERIZATION, of_characterization, published):
        trace.unlink()
        return False
    return True


def _same(file: Path, sha256: str, to: Path) -> bool:
    """Whether it is there, and what it was; without another copy on the disk where that can be."""
    try:
        try:
            os.link(file, to)
        except OSError:  # on another disk, or nothing there
            shutil.copyfile(file, to)
        if _sha256(to) == sha256:
            return True
    except FileNotFoundError:
        pass
    to.unlink(missing_ok=True)
    return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
