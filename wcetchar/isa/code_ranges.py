"""What the code ranges of an image have to be, whatever the instruction set."""

from __future__ import annotations

from collections.abc import Mapping

from wcetchar.errors import InputError, Location
from wcetchar.model.image import CodeRange, Image

LINK_AGAIN = "the mapping symbols of the file are damaged; link it again"


def check_range(
    image: Image,
    code_range: CodeRange,
    before: CodeRange | None,
    granules: Mapping[str, int],
    *,
    states: str,
    hint: str = LINK_AGAIN,
) -> None:
    """Checks the state of a range, its alignment, and that it begins behind the one before it.

    Args:
        granules: by state, what addresses of instructions are multiples of.
        states, hint: what to say where the range is in none of these states.

    Raises:
        InputError: one of these does not hold.
    """
    where = Location(image.path)
    place = f"0x{code_range.start:08x}..0x{code_range.end:08x}"
    granule = granules.get(code_range.state)
    if granule is None:
        raise InputError(
            f"the code at {place} is in {code_range.state!r} state",
            where=where,
            expected=states,
            hint=hint,
        )
    if code_range.start % granule:
        raise InputError(
            f"the {code_range.state} code at {place} starts at an address that is no multiple of "
            f"{granule}",
            where=where,
            expected="code that is aligned to its instructions",
            hint=LINK_AGAIN,
        )
    if before is not None and before.end > code_range.start:
        raise InputError(
            f"the code at {place} overlaps the code at 0x{before.start:08x}..0x{before.end:08x}",
            where=where,
            expected="code ranges that do not overlap",
            hint="overlays cannot be characterized in one image; link them apart",
        )
