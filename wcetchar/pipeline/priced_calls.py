"""Calls of services, each at values of its own, on one hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wcetchar.engine import PricingError
from wcetchar.errors import InputError, several
from wcetchar.model.estimate import Estimate
from wcetchar.model.workload import Call
from wcetchar.pipeline import estimate


@dataclass(frozen=True)
class Hardware:
    """``values``: of parameters, where a call does not say them; ``section_map``: ``None``: the
    profile's own."""

    profile: str
    section_map: str | None
    values: Mapping[str, int]


def price_calls(
    characterization: str, hardware: Hardware, calls: Sequence[Call]
) -> list[tuple[Estimate, ...]]:
    """Estimates of each call, of a service in two parts both.

    Raises:
        InputError: a file cannot be used, with its place; a call names a service or parameter that
            is not there, lacks a value or has one out of range, at the call's place. All calls'
            mistakes at once as ``InputErrors``.
    """
    asked = estimate.Request.on_one(
        characterization,
        hardware.profile,
        hardware.section_map,
        tuple(dict.fromkeys(call.service for call in calls)),
        hardware.values,
    )
    mistakes: list[InputError] = []
    opened = estimate.Opened(asked)
    found = []
    for call in calls:
        try:
            found.append(opened.at(call.service, call.values))
        except InputError as error:
            mistakes += [_at_call(call, one) for one in error.each]
    if mistakes:
        raise several(mistakes)
    return found


def _at_call(call: Call, error: InputError) -> InputError:
    """A mistake of what the call says is the call's; any other one stays where it is."""
    hint = error.hint
    of_options = error.where is None or error.where.file.startswith("--")
    of_options |= hint is not None and "--set" in hint
    if not of_options and not isinstance(error, PricingError):
        return error
    if hint is not None and "--set" in hint:
        hint = "values stand under `set:` of the call, or of the kernel"
    return InputError(error.message, where=call.place, expected=error.expected, hint=hint)
