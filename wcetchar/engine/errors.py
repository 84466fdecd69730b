"""Errors of pricing. The engine reads no files; it says which value of which file is meant, and
whoever read the files (the pipeline) turns that into a line and a column."""

from __future__ import annotations

from typing import Literal

from wcetchar.errors import InputError

File = Literal["profile", "map", "parameters", "nothing"]
"""``nothing``: a value that no file gives."""


class PricingError(InputError):
    """``file`` and ``keys`` name the value that is wrong, or the place where one is missing."""

    def __init__(
        self,
        message: str,
        *,
        file: File,
        keys: tuple[str | int, ...],
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, expected=expected, hint=hint)
        self.file: File = file
        self.keys = keys


def not_a_time(profile: str, *keys: str) -> PricingError:
    """The error to raise if the quantity at ``keys`` of a profile turns out to be no time."""
    return PricingError(
        f"profile {profile}: {'.'.join(keys)} is not a time of zero or more",
        expected="ns or cycles, zero or more, and a clock above 0 Hz",
        file="profile",
        keys=keys,
    )
