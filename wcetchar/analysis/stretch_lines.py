"""Lines of an instruction cache that a blocking stretch enters, and which of them is there before.

A stretch is taken as a window of its own: the cache may be empty when it begins, for an interrupt
may have run right before. So all that :mod:`line_entries` and :mod:`meanwhile` say of a window
holds of it, with its own successions, as they are counted in it.

*After*: what the few instructions behind it fetch may be loaded while it lasts
(``FETCHED_BEHIND``). All that the stretch executes has been fetched then, so that such a line holds
up nothing but data accesses to its own memory, and what goes on with the stretch. These lines are
told, but of stretches that something goes on with, or of so few instructions that the accesses
before them may be held up; nothing counts as hidden there.

One line is there: that in which the instruction ends that masks interrupts. It was fetched to be
executed, and an interrupt that comes right before it goes back to it, so that it is fetched again.
That holds where the stretch begins with the instruction behind it in memory, to which it goes on by
itself without fetching anything in vain. Not with a prefetch buffer, from which it may have come.

Kernels execute the same stretches over and over: each is looked at once (by its instructions, what
they wait for and what they access).
"""

from __future__ import annotations

from wcetchar.analysis.blocking import Stretch
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.line_entries import Entered, Hidden, LineEntries
from wcetchar.analysis.meanwhile import Meanwhile
from wcetchar.counting.columns import Codes
from wcetchar.model.access import EventKind
from wcetchar.model.characterization import StretchKind
from wcetchar.model.fetch_buffer import FETCHED_BEHIND


class StretchLines:
    """Looks at stretches of windows of one image.

    What it returns is not to be changed: other stretches have the same.
    """

    def __init__(self, lines: LineEntries) -> None:
        self._lines = lines
        self._known: dict[tuple[bytes | int | None, ...], Entered] = {}
        self._joined: dict[tuple[int, int], tuple[Entered, Entered, Entered]] = {}

    def masked_by(self, labelled: Labelled, stretch: Stretch) -> int | None:
        """Address of the last byte of the instruction that masks interrupts for a stretch.

        ``None``: another instruction does, or another activity, or its line need not be there.
        """
        first, waits = stretch.first, labelled.waits
        if (
            stretch.kind is not StretchKind.INTERRUPTS
            or stretch.goes_on_from is not None
            or self._lines.buffered
            or first == 0
            or first in waits.apart
            or labelled.taken[first - 1]
            or waits.end[first - 1] != waits.address[first]
            or self._lines.fetches_in_vain(2 * int(labelled.index[first - 1]))
        ):
            return None
        return int(waits.end[first - 1]) - 1

    def entered(
        self,
        labelled: Labelled,
        stretch: Stretch,
        successions: tuple[Codes, Codes],
        masked_by: int | None,
    ) -> Entered | None:
        """What a stretch enters; ``None`` with a prefetch buffer, which may hold what was fetched
        before.

        Args:
            successions: of the stretch, in positions of the window (``Labelled.successions``).
            masked_by: see :meth:`masked_by`; that line is not loaded first, and hides nothing.
        """
        if self._lines.buffered:
            return None
        waits, last = labelled.waits, stretch.last
        inside = slice(stretch.first, last + 1 + FETCHED_BEHIND)
        index, taken = labelled.index[inside], labelled.taken[inside]
        stalls = [(kind, _within(where, stretch, last)) for kind, where in waits.stalls]
        apart = _within(waits.apart, stretch, last + FETCHED_BEHIND)
        barriers = _within(waits.barriers, stretch, last)
        code, where = successions[0], successions[1] - stretch.first
        # Behind a shorter one a line may hold up what was written before it.
        ends_alone = stretch.goes_on_in is None and last - stretch.first >= FETCHED_BEHIND
        name = (
            *(one.tobytes() for one in (index, taken, apart, barriers, code, where)),
            *(part for kind, at in stalls for part in _named(kind, at)),
            masked_by,
            len(index) - (stretch.last + 1 - stretch.first),
            ends_alone,
        )
        found = self._known.get(name)
        if found is None:
            address, end = waits.address[inside], waits.end[inside]
            found = self._lines.count(index, address, end, taken, stalls, apart)
            if labelled.gaps is not None:
                meanwhile = Meanwhile.of(labelled.gaps.numbers, (code, where), apart, barriers)
                meanwhile.add_to(found)
            found.asked.clear()
            if ends_alone:
                own = slice(stretch.last + 1 - stretch.first)
                needed = self._lines.lines_of(index[own], address[own], end[own], taken[own])
                for size, lines in found.lines.items():
                    found.after[size] = frozenset(lines.keys() - needed[size])
            for size, hidden in found.first.items():
                hidden.update((line, Hidden()) for line in found.after.get(size, ()))
                if masked_by is not None:
                    hidden.pop(masked_by // size, None)
            self._known[name] = found
        return found

    def joined(self, one: Entered, other: Entered) -> Entered:
        """The largest of both, one by one."""
        if one is other:
            return one
        both = (id(one), id(other))
        if both not in self._joined:
            found = one.copy()
            found.include(other)
            # Both are kept, so that no other one gets their names.
            self._joined[both] = one, other, one if found == one else found
        return self._joined[both][2]


def _within(positions: Codes, stretch: Stretch, last: int) -> Codes:
    """Those of a stretch up to an instruction, counted from its first one."""
    inside = (positions >= stretch.first) & (positions <= last)
    return positions[inside] - stretch.first


def _named(kind: EventKind, at: Codes) -> tuple[bytes, ...]:
    return (kind.value.encode(), at.tobytes()) if len(at) else ()
