"""What the code ranges of an image have to be, whatever the instruction set."""

from __future__ import annotations

from wcetchar.errors import InputError, Location
from wcetchar.model.image import CodeRange, Image


def refuse_overlap(image: Image, code_range: CodeRange, before: CodeRange | None) -> None:
    """Raises InputError where a range begins inside the one before it."""
    if before is not None and before.end > code_range.start:
        raise InputError(
            f"the code at 0x{code_range.start:08x}..0x{code_range.end:08x} overlaps the code at "
            f"0x{before.start:08x}..0x{before.end:08x}",
            where=Location(image.path),
            expected="code ranges that do not overlap",
            hint="overlays cannot be characterized in one image; link them apart",
        )
