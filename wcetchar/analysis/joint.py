"""Accesses whose section depends on the state: counted as of a section that is *either of* others.

Which memory an access to a neighbour in a list goes to depends on who the neighbour is: the list's
head lies among the kernel's variables, an item in another task's control block. What one state
shows of it is not what another one does, so that counts of each section alone would be too low in
some other state. A services file says which sections such accesses can lie in (``either of``).

Rule: a data access to one of these counts as of the joint section if the instruction that makes it
accessed more than one of them, in any window of any service; else as of the section of its address.

Soundness: of an instruction that can reach both, the traces show that it does. One window that
does is enough, in whatever service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wcetchar.analysis.repetition import Packed
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.successions import Successions
from wcetchar.counting.columns import CODE_BITS, SECTION_SHIFT, SUCCESSION, Codes, pack, unpack
from wcetchar.model.access import AccessClass


class JointSections:
    """What instructions accessed of sections that others are ``either of``; all accesses to such
    a section count as of the joint one, until :meth:`settled` tells those apart that can."""

    def __init__(self, resolved: Resolved) -> None:
        names = resolved.section_names
        self._parts = {
            number: [names.index(part) for part in section.either_of]
            for number, section in enumerate(resolved.services.sections)
            if section.either_of
        }
        self._names = names
        self._joint = np.arange(len(names))
        for number, parts in self._parts.items():
            self._joint[parts] = number
        self._met = np.zeros((len(names), len(resolved.table.instructions)), dtype=bool)
        self._known: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def named(self, section: Codes, index: Codes) -> Codes:
        """The sections that accesses count for at first. ``section``: of their addresses;
        ``index``: of the instructions in the table."""
        if not self._parts:
            return section
        self._met[section, index] = True
        found: Codes = self._joint[section]
        return found

    def made_by(self, code: Codes, index: Codes) -> Codes:
        """Packed classes of accesses with, above those of joint sections, what ``Gaps.code``
        wants."""
        if not self._parts:
            return code
        joint = np.isin(code >> SECTION_SHIFT, list(self._parts))
        return np.where(joint, code | (index + 1) << CODE_BITS, code)

    def settled(self, counts: Packed, successions: Successions | None) -> Packed:
        """With the section of their address where the instruction accessed no other one."""
        found: Packed = {}
        for packed, count in counts.items():
            known = self._known.get(packed)
            if known is None:
                known = self._known[packed] = self._settled(packed, successions)
            found[known] = found.get(known, 0) + count
        return found

    def settled_one(self, packed: int, successions: Successions | None) -> int:
        """The same of one packed class."""
        (found,) = self.settled({packed: 1}, successions)
        return found

    def _settled(self, packed: int, successions: Successions | None) -> int:
        blocking, code, index = unpack(packed)
        if code & SUCCESSION:
            assert successions is not None
            key, makers = successions.keys[code & ~SUCCESSION], successions.makers(code)
            before, access = (
                one if one is None or maker is None else self._of(one, maker)
                for one, maker in zip((key.before, key.access), makers, strict=True)
            )
            code = successions.code(replace(key, before=before, access=access))
        else:
            section = self._section(code >> SECTION_SHIFT, index)
            code = section << SECTION_SHIFT | code & (1 << SECTION_SHIFT) - 1
        return int(pack(np.int64(blocking), np.int64(code), np.int64(index)))  # type: ignore[arg-type]

    def _of(self, access: AccessClass, index: int) -> AccessClass:
        section = self._section(self._names.index(access.section), index)
        return replace(access, section=self._names[section])

    def _section(self, section: int, index: int) -> int:
        parts: Sequence[int] = self._parts.get(section, ())
        met = [part for part in parts if self._met[part, index]]
        return met[0] if len(met) == 1 else section
