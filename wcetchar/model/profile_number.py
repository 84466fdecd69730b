"""Numbers of a hardware profile that a reader may change, by their way in its file."""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[str, ...]
"""Of a time or a clock in the model of a profile, in the words of its file: ``("regions", "flash",
"fetch", "first")``, ``("core", "events", "load")``."""


@dataclass(frozen=True)
class ProfileNumber:
    """``way``: as of ``sweep --vary``; ``text``: as it stands in the file; ``places``: all that it
    says, of which several may be numbers by themselves: ``fetch: 14 ns`` is first and next."""

    way: str
    text: str
    places: tuple[Place, ...]
