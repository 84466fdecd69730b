"""The FreeRTOS firmware with its marks ignored: every window that a mark gives must be among those
that entries give, with the same counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from test_counts_firmware import SERVICES, trace

from wcetchar import isa, store
from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.repetition import packed_counts
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of, unpack
from wcetchar.image import load_image
from wcetchar.model.service import LogicalSection, SectionKind, ServicesFile
from wcetchar.model.trace import Trace

pytestmark = pytest.mark.firmware
__all__ = ["trace"]

Counts = dict[str, Counter[frozenset[object]]]
"""Entry and part -> counts of a window -> windows."""


def unmarked(services: ServicesFile, resolved: Resolved) -> ServicesFile:
    """A service without a mark for each entry and kind, named after the entry. The driver
    calls them in its preparations too, so what those touch has a section as well."""
    seen = {
        (service.kind, service.entries, service.exceptions): replace(
            service, name=f"{service.name} {number}", mark=None, parameters=()
        )
        for number, service in enumerate(services.services)
    }
    claimed = {name for section in services.sections for name in section.linker_sections}
    rest = [s for s in resolved.image.sections if s.address and s.name not in claimed]
    driver = (
        LogicalSection("code", SectionKind.CODE, tuple(s.name for s in rest if s.executable)),
        LogicalSection("data", SectionKind.DATA, tuple(s.name for s in rest if not s.executable)),
    )
    return replace(
        services,
        marks=None,
        services=tuple(seen.values()),
        sections=(*services.sections, *driver),
    )


def counted(resolved: Resolved, trace: Trace) -> Counts:
    labeller = Labeller(resolved, trace.info.path)
    finder = WindowFinder(resolved, trace.info.path)
    found: Counts = defaultdict(Counter)
    for window in find_windows(trace.batches(), finder):
        packed = packed_counts(labeller.label(window).packed)
        counts = frozenset(
            (str(labeller.blockings[blocking]), key_of(code, resolved.section_names), at, n)
            for (blocking, code, at), n in ((unpack(p), n) for p, n in packed.items())
        )
        found[window.part.of(window.service.entries[0])][counts] += 1
    tallied = finder.attributed.total() + finder.unattributed.total()
    assert tallied == finder.traced == trace.totals.instructions
    return found


@pytest.mark.long
def test_marked_windows_are_among_those_of_entries(firmware: Path, trace: Trace) -> None:
    image = load_image(str(firmware))
    table = isa.decode_image(image)
    services = store.load_services(*map(str, SERVICES))
    resolved = resolve(services, image, table)
    marked = counted(resolved, trace)
    found = counted(resolve(unmarked(services, resolved), image, table), trace)
    assert marked.keys() <= found.keys()
    for name, windows in marked.items():
        # The marked calls are made by the driver, so that none is inside another service.
        assert windows <= found[name], name
    assert sum(windows.total() for windows in marked.values()) > 400
