"""A section map as text: what was found, and for each line why.

What could not be placed stands in comments alone, so that an estimate that needs it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wcetchar.errors import one_line
from wcetchar.model.section_map import SectionMap
from wcetchar.store.document import SECTION_MAP
from wcetchar.store.profile_core import scalar
from wcetchar.store.section_map import ASSUMPTIONS

_COLUMN: Final = 30
"""Where comments behind regions begin, if they can."""


@dataclass(frozen=True)
class LeftOut:
    """A logical section that is not placed, and why."""

    section: str
    why: str


def section_map_text(
    section_map: SectionMap, head: Sequence[str], why: dict[str, str], left_out: Sequence[LeftOut]
) -> str:
    """The text of a section map, which reads as ``section_map``.

    Args:
        section_map: without parameters, and without states of caches.
        head: comment lines at the top.
        why: of sections, the comment behind their region.
        left_out: what stands in comments.
    """
    lines = [f"# {one_line(text)}" for text in head]
    lines += [f"schema: {SECTION_MAP}", f"name: {scalar(section_map.name)}", "sections:"]
    if not section_map.sections:
        lines[-1] += " {}"
    for section, region in section_map.sections.items():
        line = f"  {scalar(section)}: {scalar(region)}"
        comment = one_line(why.get(section, ""))
        lines.append(f"{line:<{_COLUMN}}  # {comment}" if comment else line)
    if left_out:
        lines.append("# Not placed: an estimate that needs one of these is refused.")
        lines += [f"#   {one_line(f'{one.section}: {one.why}')}" for one in left_out]
    if section_map.assumptions:
        words = [w for w, a in ASSUMPTIONS.items() if a in section_map.assumptions]
        lines.append(f"assumptions: [{', '.join(words)}]")
    if section_map.addresses:
        lines.append("addresses:")
        lines += [f"  {scalar(s)}: {a:#010x}" for s, a in section_map.addresses.items()]
    return "\n".join(lines) + "\n"
