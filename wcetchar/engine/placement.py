"""Which region an access reaches: the one that its section is placed in, or any that permits it.

An unknown section may lie in every region that permits the operation, one that is either of others
where these lie. A discarded fetch of a core
event goes to the region of the event's section; where that has no fetches, or the section is not
known, to any that has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wcetchar.model.access import UNKNOWN_SECTION, Operation
from wcetchar.model.hardware import HardwareProfile, Region
from wcetchar.model.section_map import SectionMap


class Placement:
    """Regions of a profile by logical section; what the section map says goes first.

    Attributes:
        placed: section -> name of a region, whether or not the profile has it.
        joint: section -> those that it is either of; it lies where they do.
    """

    def __init__(
        self,
        profile: HardwareProfile,
        section_map: SectionMap,
        joint: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.placed = {**profile.default_map, **section_map.sections}
        self.joint = joint or {}
        self._all = profile.regions

    def region(self, section: str) -> Region | None:
        """``None``: it is not placed, or in a region that the profile does not have."""
        name = self.placed.get(section)
        return None if name is None else self._all.get(name)

    def reached(self, section: str, operation: Operation) -> list[Region]:
        """Regions that an access may reach; empty where there is none."""
        if section == UNKNOWN_SECTION:
            return self.permitting(operation)
        if section in self.joint:
            every = [r for part in self.joint[section] for r in self.reached(part, operation)]
            return list({region.name: region for region in every}.values())
        region = self.region(section)
        return [region] if region is not None and operations(region, operation) else []

    def fetched_from(self, section: str) -> list[Region]:
        """Regions that a discarded fetch of an event of this section may go to."""
        return self.reached(section, Operation.FETCH) or self.permitting(Operation.FETCH)

    def permitting(self, operation: Operation) -> list[Region]:
        """All regions that permit an operation."""
        return [region for region in self._all.values() if operations(region, operation)]


def operations(region: Region, operation: Operation) -> list[Operation]:
    """What an access then is, as the region has times for it: an access of unknown direction may be
    a read or a write, unless it has a time of its own. Empty: the region does not permit it."""
    if operation in region.times:
        return [operation]
    if operation is Operation.ACCESS:
        return [o for o in (Operation.READ, Operation.WRITE) if o in region.times]
    return []
