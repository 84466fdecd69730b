"""Options of verbs that take measurements: what those of a label were made in, and what measuring
itself takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from wcetchar.errors import UsageError
from wcetchar.model.section_map import CacheState

if TYPE_CHECKING:
    from wcetchar.pipeline.situations import Situations

_F = TypeVar("_F", bound=Callable[..., Any])
_STATES: Final = tuple(state.value for state in CacheState)
_FORM: Final = "LABEL=STATE"
_UNDISTURBED: Final = click.option(
    "--undisturbed",
    multiple=True,
    metavar="LABEL",
    help="Measurements of this label were made without refresh and without other masters; "
    "repeatable.",
)


def overhead_options(function: _F) -> _F:
    """``--overhead`` and ``--marks-alone``."""
    function = click.option(
        "--marks-alone",
        is_flag=True,
        help="The lines of --overhead were measured with nothing at all between the marks, not "
        "even a call.",
    )(function)
    return click.option(
        "--overhead",
        metavar="SERVICE",
        help="Lines of this service show what measuring takes; the least of them is subtracted, "
        "less what the service itself takes. It does nothing, and is characterized.",
    )(function)


def situation_options(function: _F) -> _F:
    """``--instruction-cache``, ``--data-cache``, ``--undisturbed``, for :func:`situations_of`."""
    for name in ("data", "instruction"):
        function = click.option(
            f"--{name}-cache",
            multiple=True,
            metavar=_FORM,
            help=f"State of the {name} cache when a call of this label begins, in the place of the "
            f"map's: {', '.join(_STATES)}; repeatable.",
        )(_UNDISTURBED(function) if name == "data" else function)
    return function


def situations_of(
    instruction_cache: tuple[str, ...], data_cache: tuple[str, ...], undisturbed: tuple[str, ...]
) -> Situations:
    """Raises:
    UsageError: no label with a state, or a label that is given two.
    """
    from wcetchar.pipeline.situations import DATA_CACHE, INSTRUCTION_CACHE, Situations

    return Situations(
        _states(INSTRUCTION_CACHE, instruction_cache),
        _states(DATA_CACHE, data_cache),
        frozenset(undisturbed),
    )


def _states(option: str, given: tuple[str, ...]) -> dict[str, CacheState]:
    found: dict[str, CacheState] = {}
    for one in given:
        label, equals, state = one.rpartition("=")
        if not equals or state not in _STATES:
            raise UsageError(
                f"{option} {one!r} is no label with a state",
                expected=f"{_FORM}, with one of {', '.join(_STATES)}",
            )
        if label in found:
            raise UsageError(f"{option}: {label} has two states", expected="each label once")
        found[label] = CacheState(state)
    return found
