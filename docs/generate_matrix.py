"""Writes docs/reference/freertos-matrix.md: runs the FreeRTOS campaign and prints what came out.

python docs/generate_matrix.py

The campaign goes to build/campaign, as of `make campaign`; what is there is not made again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "rtos_tests" / "freertos"))

import public_calls  # noqa: E402
from counted_calls import BY_ANOTHER, CHARACTERIZED, NOT, Group, calls_table  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "freertos-matrix.md"

INTRODUCTION = """\
# The FreeRTOS matrix

<!-- Written by docs/generate_matrix.py; do not edit. -->

What `make campaign` makes of every board and configuration of
[`rtos_tests/freertos/`](../../rtos_tests/freertos/README.md), and of the kernel's other heaps
(`heap_1` to `heap_5`, in the configuration `full`, with what takes memory from them or gives it
back): services whose counts are exact formulas, those published by a table, those that are
estimates, and those not characterized with the reason; then, for each, the longest stretches with
interrupts masked and with preemption held off. Lengths are in instructions at the parameter
values where they are most; a stretch that occurs in several services stands once. Where another
activity goes on with what a stretch holds off, the longest that can follow is added, and named
([chains](../explanation/model.md#chains)). How to read and compare:
[characterize a matrix of firmware](../howto/campaign.md).

"""

CALLS = """\
## Public calls of the kernel

A service is a call, or a part of one, in one of its worst states, or an activity of the kernel's
own; most calls have several. *Not at all* in the table of the cells counts services that the
firmware of a cell should show and does not. Calls that no service drives stand in
[`not-characterized.yaml`](../../rtos_tests/freertos/not-characterized.yaml), each with its reason;
a test goes through the headers. All public functions and macros of these, counted:

"""


def counted() -> str:
    """The section about the public calls."""
    known = public_calls.calls()
    characterized = public_calls.characterized(known, public_calls.services())
    lists = public_calls.listed()
    groups = [Group(CHARACTERIZED, "a service of the suite calls it", len(characterized))]
    for fate, key in ((BY_ANOTHER, "stands for"), (NOT, "left out")):
        groups += [Group(fate, group["because"], len(group["calls"])) for group in lists[key]]
    return CALLS + calls_table(groups, len(known.names)) + "\n"


def main() -> int:
    (ROOT / "build").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "wcetchar", "campaign", "rtos_tests/freertos/campaign.yaml"]
    command += ["-o", "build/campaign", "--format", "markdown"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        PAGE.write_text(INTRODUCTION + counted() + done.stdout, encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
