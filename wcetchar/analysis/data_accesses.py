"""The data accesses of a window as access classes.

Inputs: the accesses of a trace, each with the instruction that made it, and the instructions
(:class:`Executed`). Output: rows, one for each access that a 32-bit bus makes, by the section of
its address; see ``accesses`` for what is counted. The accesses must be those that the instruction
table promises. Where a trace has no addresses they are taken from the table, of unknown section.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.executed import Executed, Program
from wcetchar.analysis.joint import JointSections
from wcetchar.analysis.labelled import Rows
from wcetchar.analysis.succession import impossible_table_jump
from wcetchar.counting.columns import (
    KIND,
    NO_SECTION,
    OPERATION,
    PATTERN,
    WIDTH_OF_BYTES,
    Codes,
    access_code,
    event_code,
)
from wcetchar.errors import InputError, Location
from wcetchar.model.access import EventKind, Operation, Pattern
from wcetchar.model.trace import Event


@dataclass(frozen=True)
class Accesses:
    """Data accesses of a window; ``owner`` is the instruction (0..n-1) that made them."""

    owner: Codes
    kind: Codes
    address: Codes
    size: Codes

    def select(self, mask: npt.NDArray[np.bool_]) -> Accesses:
        return Accesses(self.owner[mask], self.kind[mask], self.address[mask], self.size[mask])

    def split(self, element: Codes, doubled: npt.NDArray[np.bool_]) -> Accesses:
        """Accesses wider than one element of their instruction as several; ``doubled``: those of
        unknown width that are two."""
        parts = np.where(
            (self.size > element) & (self.size % element == 0), self.size // element, 1
        )
        parts[doubled] = 2
        if int(parts.max(initial=1)) == 1:
            return self
        again = np.repeat(np.arange(len(parts)), parts)
        return Accesses(
            self.owner[again],
            self.kind[again],
            self.address[again] + _order_within(again) * element[again],
            np.where(parts[again] > 1, element[again], self.size[again]),
        )


@dataclass(frozen=True)
class Seen:
    """Data accesses of a window, each with the section that it counts for, and of the size that its
    instruction says where the trace does not; none where the trace has no addresses. ``made``: how
    many each instruction made."""

    accesses: Accesses
    section: Codes
    made: Codes


class DataAccesses:
    """Labels data accesses of windows of one trace, by the sections that ``joint`` names."""

    def __init__(self, program: Program, joint: JointSections) -> None:
        self._joint = joint
        self._resolved = program.resolved
        self._columns = program.columns
        self._path = program.path
        self._has_addresses = program.has_addresses

    def add(self, window: Window, executed: Executed, accesses: Accesses, rows: Rows) -> Seen:
        """Adds data accesses.

        Raises:
            InputError: accesses that the table does not explain; an address that no logical
                section claims.
        """
        columns = self._columns
        count = len(executed.index)
        if not self._has_addresses:
            self._promised(executed, rows)
            nothing = np.zeros(0, dtype=np.int64)
            none = Accesses(nothing, nothing, nothing, nothing)
            return Seen(none, nothing, np.zeros(count, dtype=np.int64))
        owner_index = executed.index[accesses.owner]
        # QEMU carries out a store-exclusive as compare-and-swap, whose read is no access of the
        # instruction.
        phantom = (columns.issue[owner_index] == KIND[EventKind.STORE_EXCLUSIVE]) & (
            accesses.kind == Event.READ
        )
        accesses = accesses.select(~phantom)
        element = columns.bytes[executed.index[accesses.owner]]
        accesses = self._directed(accesses, executed)
        stray = np.flatnonzero(element == 0)
        if len(stray):
            self._complain(window, executed, int(accesses.owner[stray[0]]), "no access at all")
        # Some emulators report a transfer of two words as one access.
        accesses = accesses.split(element, self._doublewords(accesses, executed))
        element = columns.bytes[executed.index[accesses.owner]]
        wrong = np.flatnonzero((accesses.size != 0) & (accesses.size != element))
        if len(wrong):
            owner = int(accesses.owner[wrong[0]])
            self._complain(window, executed, owner, f"{element[wrong[0]]} bytes")
        self._check_numbers(window, executed, accesses)
        wrong_jump = impossible_table_jump(
            executed.index,
            executed.address,
            accesses.owner,
            accesses.address,
            columns,
            self._resolved,
        )
        if wrong_jump is not None:
            raise executed.goes_wrong(window, wrong_jump)
        section = self._resolved.sections_of(accesses.address.astype(np.uint64)).astype(np.int64)
        unclaimed = np.flatnonzero(section < 0)
        if len(unclaimed):
            at = int(accesses.address[unclaimed[0]])
            pc = int(executed.address[accesses.owner[unclaimed[0]]])
            linker = self._resolved.image.section_at(at)
            inside = f" in linker section {linker.name}" if linker else ""
            raise InputError(
                f"{window.service.name}: the access to 0x{at:08x}{inside} at "
                f"{self._resolved.place(pc)} belongs to no logical section",
                where=self._resolved.services.where("sections"),
                expected="a logical section for every address that a service touches",
                hint="add the linker section, symbol or address range to `sections`",
            )
        section = self._joint.named(section, executed.index[accesses.owner])
        made = np.bincount(accesses.owner, minlength=count)
        order = _order_within(accesses.owner)
        burst = columns.burst[executed.index[accesses.owner]] & (made[accesses.owner] > 1)
        pattern = np.where(
            burst,
            np.where(order == 0, PATTERN[Pattern.FIRST], PATTERN[Pattern.NEXT]),
            PATTERN[Pattern.SINGLE],
        )
        self._add_aligned(accesses, element, section, pattern, executed, rows)
        sized = np.where(accesses.size == 0, element, accesses.size)
        known = Accesses(accesses.owner, accesses.kind, accesses.address, sized)
        return Seen(known, section, made)

    def _doublewords(self, accesses: Accesses, executed: Executed) -> npt.NDArray[np.bool_]:
        """Accesses of unknown width that are two words each: a floating-point transfer shows half
        as many as it makes, where an emulator moves doubleword registers at once."""
        columns = self._columns
        made = np.bincount(accesses.owner, minlength=len(executed.index))
        promised = columns.reads[executed.index] + columns.writes[executed.index]
        halved = columns.floats[executed.index] & (2 * made == promised)
        found: npt.NDArray[np.bool_] = halved[accesses.owner] & (accesses.size == 0)
        return found

    def _directed(self, accesses: Accesses, executed: Executed) -> Accesses:
        """Directions that the trace leaves open, from what the instruction can do."""
        index = executed.index[accesses.owner]
        reads, writes = self._columns.reads[index] > 0, self._columns.writes[index] > 0
        open_ = accesses.kind == Event.ACCESS
        kind = np.where(open_ & reads & ~writes, Event.READ, accesses.kind)
        kind = np.where(open_ & writes & ~reads, Event.WRITE, kind)
        return Accesses(accesses.owner, kind, accesses.address, accesses.size)

    def _add_aligned(
        self,
        accesses: Accesses,
        element: Codes,
        section: Codes,
        pattern: Codes,
        executed: Executed,
        rows: Rows,
    ) -> None:
        """Adds accesses; misaligned ones as the aligned parts that a word-wide bus needs."""
        misaligned = accesses.address % np.maximum(element, 1) != 0
        for event, operation in (
            (Event.READ, Operation.READ),
            (Event.WRITE, Operation.WRITE),
            (Event.ACCESS, Operation.ACCESS),
        ):
            plain = np.flatnonzero((accesses.kind == event) & ~misaligned)
            rows.add(
                access_code(
                    section[plain],
                    OPERATION[operation],
                    WIDTH_OF_BYTES[element[plain]],
                    pattern[plain],
                ),
                accesses.owner[plain],
            )
            for i in np.flatnonzero((accesses.kind == event) & misaligned).tolist():
                parts = np.array(_parts(int(accesses.address[i]), int(element[i])))
                where = np.full(len(parts), accesses.owner[i])
                rows.add(
                    access_code(
                        np.full(len(parts), section[i]),
                        OPERATION[operation],
                        WIDTH_OF_BYTES[parts],
                        np.full(len(parts), PATTERN[Pattern.SINGLE]),
                    ),
                    where,
                )
                rows.add(
                    event_code(executed.section[where[:1]], KIND[EventKind.UNALIGNED_ACCESS]),
                    where[:1],
                )

    def _promised(self, executed: Executed, rows: Rows) -> None:
        """Without addresses: what the table says that each instruction accesses at most."""
        columns = self._columns
        for promised, operation in (
            (columns.reads, Operation.READ),
            (columns.writes, Operation.WRITE),
        ):
            where = np.repeat(np.arange(len(executed.index)), promised[executed.index])
            index = executed.index[where]
            order = _order_within(where)
            burst = columns.burst[index] & (promised[index] > 1)
            pattern = np.where(
                burst,
                np.where(order == 0, PATTERN[Pattern.FIRST], PATTERN[Pattern.NEXT]),
                PATTERN[Pattern.SINGLE],
            )
            rows.add(
                access_code(
                    np.full(len(where), NO_SECTION),
                    OPERATION[operation],
                    WIDTH_OF_BYTES[columns.bytes[index]],
                    pattern,
                ),
                where,
            )

    def _check_numbers(self, window: Window, executed: Executed, accesses: Accesses) -> None:
        columns, index = self._columns, executed.index
        count = len(index)
        reads = np.bincount(accesses.owner[accesses.kind == Event.READ], minlength=count)
        writes = np.bincount(accesses.owner[accesses.kind == Event.WRITE], minlength=count)
        either = np.bincount(accesses.owner[accesses.kind == Event.ACCESS], minlength=count)
        promised_reads, promised_writes = columns.reads[index], columns.writes[index]
        exact = (reads == promised_reads) & (writes == promised_writes) & (either == 0)
        exact |= (reads + writes == 0) & (either == promised_reads + promised_writes)
        nothing = reads + writes + either == 0
        may_fail = columns.issue[index] == KIND[EventKind.STORE_EXCLUSIVE]
        wrong = np.flatnonzero(~exact & ~(nothing & (columns.conditional[index] | may_fail)))
        if len(wrong):
            i = int(wrong[0])
            promised = f"{promised_reads[i]} reads and {promised_writes[i]} writes"
            self._complain(window, executed, i, promised)

    def _complain(self, window: Window, executed: Executed, i: int, promised: str) -> None:
        instruction = self._resolved.table.instructions[int(executed.index[i])]
        raise InputError(
            f"{window.service.name}: `{instruction.text}` at "
            f"{self._resolved.place(instruction.address)} has other accesses in the trace than "
            "in the table of effects",
            where=Location(self._path),
            expected=promised,
            hint="the trace is damaged, or it was not made with this image",
        )


def _order_within(owner: Codes) -> Codes:
    """0, 1, 2 ... within each run of equal owners (owners are in order)."""
    if not len(owner):
        return owner
    opens = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    return np.arange(len(owner)) - np.repeat(opens, np.diff(np.append(opens, len(owner))))


def _parts(address: int, size: int) -> list[int]:
    """Sizes in bytes of the aligned accesses that cover a misaligned one."""
    parts = []
    while size:
        part = min(4, size, address & -address)
        while part > size:
            part >>= 1
        part = 1 << (part.bit_length() - 1)
        parts.append(part)
        address += part
        size -= part
    return parts
