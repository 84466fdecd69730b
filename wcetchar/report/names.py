"""Names from files of strangers, as viewers are shown them: of one line, and of bounded length."""

from __future__ import annotations

import hashlib
from typing import Final

from wcetchar.errors import one_line

LONGEST: Final = 400
"""Characters of a name that are shown whole."""
LONGEST_NOTE: Final = 4000
"""The same of a sentence."""


def shown(name: str, longest: int = LONGEST) -> str:
    """What is not printable is written as an escape. One that is empty, or begins or ends with a
    space, stands in quotes. Of a longer name the beginning stands, how long it is, and a digest
    that tells it from others that begin so."""
    text = one_line(name)
    if not text or text != text.strip():
        text = f'"{text}"'
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{text[: longest - 50]}... ({len(text):,} characters, {digest})"
