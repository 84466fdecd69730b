"""``wcetchar system``: what services and hardware mean for a whole system; one module per verb."""

from __future__ import annotations

from typing import Final

import click

from wcetchar.cli.common import OnDemand

VERBS: Final = {
    "overhead": "Share of the processor that context switches take.",
    "loss": "What is lost while a working set comes back, over the time.",
    "slices": "What partitions lose at which time slice, and how long they wait.",
    "slowdown": "Slowdown factor of services under bus load of others.",
    "device": "What a shared device or bus guarantees, slot by slot.",
    "check": "Do all tasks meet their deadlines, and what dominates.",
    "sweep": "Slack over clock, memories, periods; what deadlines allow.",
}
"""Verbs, and what `--help` lists of each."""


@click.group(
    "system",
    cls=OnDemand,
    package=__name__,
    verbs=VERBS,
)
def command() -> None:
    """From services to systems.

    \b
    Example:
      wcetchar system overhead --switch 10us --switch 2us --rate 500 --rate 5000
    """
