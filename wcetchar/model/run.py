"""What a user says about one run of firmware that has no marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RunValues:
    """Of one trace, about the services without marks.

    Attributes:
        shows: services whose calls are windows in this run; ``None``: all.
        values: service -> parameter -> value in every window of this run. A parameter that is read
            from an argument register needs none.
    """

    shows: frozenset[str] | None = None
    values: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def showing(self, service: str) -> bool:
        return self.shows is None or service in self.shows
