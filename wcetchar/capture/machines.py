"""The machines that can be captured: those of the model's table that say how to start them."""

from __future__ import annotations

from typing import Final

from wcetchar.errors import UsageError, did_you_mean
from wcetchar.model.machine import MACHINES as KNOWN
from wcetchar.model.machine import CapturedMachine

MACHINES: Final = tuple(machine for machine in KNOWN if isinstance(machine, CapturedMachine))


def find_machine(name: str) -> CapturedMachine:
    """The machine of that name.

    Raises:
        UsageError: there is none.
    """
    for machine in MACHINES:
        if machine.name == name:
            return machine
    raise UsageError(
        f"there is no machine {name!r}",
        expected="one of " + ", ".join(machine.name for machine in MACHINES),
        hint=did_you_mean(name, [machine.name for machine in MACHINES]),
    )
