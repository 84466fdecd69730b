"""Runs an emulator and records what the firmware does.

:func:`run` takes a :class:`CaptureRequest` and writes one trace. The instrument is a QEMU plugin,
a program file of its own under the GPL-2.0-or-later, whose C source is in ``plugin/`` and which
:mod:`~wcetchar.capture.build` compiles on first use.
:func:`host_readings` measures this machine, by a C program in ``host/``; ``target/`` has what
firmware includes to make the same readings.
:func:`run_command` runs the build of a firmware.
"""

from wcetchar.capture.command import run_command
from wcetchar.capture.emulator import emulator_version, run
from wcetchar.capture.host import HEADER, OPERATIONS, HostRequest, host_readings, unfit
from wcetchar.capture.machines import MACHINES, find_machine
from wcetchar.capture.request import (
    CaptureFilter,
    CaptureRequest,
    CaptureResult,
    InitialValue,
    Until,
)

__all__ = [
    "HEADER",
    "MACHINES",
    "OPERATIONS",
    "CaptureFilter",
    "CaptureRequest",
    "CaptureResult",
    "HostRequest",
    "InitialValue",
    "Until",
    "emulator_version",
    "find_machine",
    "host_readings",
    "run",
    "run_command",
    "unfit",
]
