"""What options of the command line say, read by what reads files."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from wcetchar.errors import InputError, Location

_T = TypeVar("_T")


def read_option(option: str, read: Callable[[str], _T], text: str) -> _T:
    """``read(text)``, whose mistakes are the option's unless a file has them."""
    try:
        return read(text)
    except InputError as error:
        error.where = error.where or Location(option)
        raise


def read_above_zero(option: str, read: Callable[[str], Fraction | int], text: str) -> Fraction:
    """As :func:`read_option`, of what is a quantity above zero."""
    found = Fraction(read_option(option, read, text))
    if found <= 0:
        raise InputError(
            f"{text} is nothing", where=Location(option), expected="a quantity above 0"
        )
    return found
