"""Whether a trace can be characterized: of this image, with all that is needed, and nothing lost.

Each of these raises :class:`InputError`; a trace that passes is counted.
"""

from __future__ import annotations

from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.windows import WindowFinder
from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image
from wcetchar.model.trace import Knowledge, Trace


def check_origin(trace: Trace, image: Image) -> None:
    """The trace is of this image, as far as it says, and can show where its services run."""
    if not trace.info.knows(Knowledge.PROGRAM_COUNTERS):
        raise InputError(
            "the trace has no program counters, so no service can be found in it",
            where=Location(trace.info.path),
            expected="a trace that says where each instruction lies",
            hint="record it in another format of the same emulator",
        )
    if not trace.info.knows(Knowledge.ADDRESSES):
        raise InputError(
            "the trace has no data addresses, so neither the firmware's marks nor switches of "
            "threads can be seen in it",
            where=Location(trace.info.path),
            expected="a trace of a format that records the addresses of stores",
            hint="capture with wcetchar, or record execlog or a memory-access log",
        )
    if trace.info.image_sha256 not in (None, image.sha256):
        raise InputError(
            f"the trace was made with image {trace.info.image_sha256}, "
            f"but {image.path} is {image.sha256}",
            where=Location(trace.info.path),
            expected="a trace of this image",
            hint="capture again with this executable, or give the one that was traced",
        )


def check_filter(trace: Trace, resolved: Resolved) -> None:
    """A capture may leave out what it likes outside of services, except what lasts: writes of
    interrupt masks, and the entries of functions that lock the scheduler."""
    table = resolved.table.instructions
    lasting = [i.address for i in table if i.masks]
    lasting += [table[index].address for index in resolved.lock | resolved.unlock]
    hidden = [address for address in sorted(lasting) if not trace.info.filter.shows(address)]
    if hidden:
        raise InputError(
            f"the capture's filter may have left out {resolved.place(hidden[0])} and "
            f"{len(hidden) - 1} more instructions that mask interrupts or lock the scheduler, so "
            "what is blocked at the entry of a service is not known",
            where=Location(trace.info.path),
            expected="a trace that holds every one of them",
            hint="capture again with --marked and the services file, which keeps them",
        )


def check_code(trace: Trace, image: Image) -> None:
    """What the trace executed must be what the image holds at that address."""
    for code in trace.code:
        section = image.section_at(code.address)
        if section is None or not section.data:
            continue
        held = image.read(code.address, len(code.code))
        if held != code.code:
            raise InputError(
                f"at 0x{code.address:08x} the trace executed {code.code.hex()}, "
                f"but the image holds {held.hex()}",
                where=Location(trace.info.path),
                expected=f"a trace of {image.path}",
                hint="the code was changed at run time, or the trace is of another image",
            )


def check_totals(trace: Trace, finder: WindowFinder) -> None:
    """Conservation: every instruction that the reader yielded is in a window or in a bucket."""
    totals = trace.totals
    if totals.complete is False:
        raise InputError(
            "the trace is truncated: its end record is missing",
            where=Location(trace.info.path),
            expected="a trace of the whole run",
            hint="capture it again",
        )
    tallied = sum(finder.attributed.values()) + sum(finder.unattributed.values())
    for what, mine, theirs in (
        ("instructions", finder.traced, totals.instructions),
        ("instructions in windows and outside of them", tallied, totals.instructions),
        ("instructions left out by a filter", finder.filtered, totals.filtered),
    ):
        if mine != theirs:
            raise InputError(
                f"{mine} {what} were counted, but the trace's reader counted {theirs}",
                where=Location(trace.info.path),
                expected="equal totals",
                hint="this is a mistake of wcetchar; please report it with the trace",
            )
