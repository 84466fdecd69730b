"""What options say in the words of files: quantities, whose mistakes are the option's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, Literal

from wcetchar import store
from wcetchar.errors import InputError, Location

_READERS: Final[Mapping[str, Callable[[str], Fraction | int]]] = {
    "bandwidth": store.parse_bandwidth,
    "size": store.parse_size,
    "time": store.parse_time,
}


def read_option(option: str, what: Literal["bandwidth", "size", "time"], text: str) -> Fraction:
    """Bytes in a second, bytes, or nanoseconds at most; above zero.

    Raises:
        InputError: it is none.
    """
    try:
        found = Fraction(_READERS[what](text))
    except InputError as error:
        error.where = Location(option)
        raise
    if found <= 0:
        raise InputError(f"{text} is nothing", where=Location(option), expected=f"a {what} above 0")
    return found
