"""Whole numbers as people write them on a command line."""

import re
from typing import Final

# int() alone would take 1_000 and digits of any script.
_WHOLE: Final = re.compile(r"[-+]?(?:[0-9]{1,40}|0[xX][0-9a-fA-F]{1,32})")


def whole_number(text: str) -> int | None:
    """Decimal, where a leading zero means nothing, or 0x hexadecimal; ``None`` if it is neither."""
    digits = text.strip()
    if not _WHOLE.fullmatch(digits):
        return None
    return int(digits, 16 if "x" in digits.lower() else 10)
