"""``wcetchar system``: what services and hardware mean for a whole system; one module per verb."""

from __future__ import annotations

from typing import Final

import click

from wcetchar.cli.common import OnDemand

VERBS: Final = ("overhead", "loss", "slices", "slowdown", "device", "check", "sweep")


@click.group(
    "system",
    cls=OnDemand,
    package=__name__,
    verbs=VERBS,
    short_help="From services to systems: what switching takes.",
)
def command() -> None:
    """From services to systems.

    \b
    Example:
      wcetchar system overhead --switch 10us --switch 2us --rate 500 --rate 5000
    """
