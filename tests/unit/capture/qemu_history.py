"""QEMU's own log of a run, against which captured events are compared."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from wcetchar.model.trace import Event

_BLOCK = re.compile(r"Trace 0: 0x(\w+) \[\w+/(\w+)/\w+/\w+\]")
_LISTED = re.compile(r"0x(\w+):  [0-9a-f]{4}")

Taken = Callable[[re.Match[str], list[int]], tuple[int | None, int | None]]
"""Of a line that says that an exception was taken, and the block that was being executed: the first
of its instructions that was not executed, and the number; ``None``: all were, and it is no
exception."""


def logged(qemu: str, machine: tuple[str, ...], elf: Path, log: Path, options: str) -> str:
    """The log of a run without the plugin."""
    subprocess.run(
        [
            *(qemu, *machine, "-m", "128M", "-nodefaults", "-nic", "none", "-display", "none"),
            *("-icount", "shift=5,sleep=off", "-semihosting-config", "enable=on,arg=f"),
            *("-d", options, "-D", str(log), "-device", f"loader,file={elf},cpu-num=0"),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    return log.read_text()


def history(log: str, exception: re.Pattern[str], taken: Taken) -> list[tuple[str, int]]:
    """Instructions and exceptions, from a log of in_asm, exec, nochain and int.

    A block is listed when it is translated, just before it is first executed. It is executed
    whole, but for three cases that the log tells: an exception of an instruction within it; an
    access to a device, for which QEMU goes back and executes what begins there as another block;
    and an interrupt that comes before its first instruction.
    """
    found: list[tuple[str, int]] = []
    blocks: dict[str, list[int]] = {}
    listing: list[int] = []
    block: list[int] = []
    rewound = False

    def executed(up_to: int | None = None) -> None:
        found.extend(("INSTRUCTION", pc) for pc in block if up_to is None or pc < up_to)
        block.clear()

    for line in log.splitlines():
        if line.startswith("IN:"):
            listing.clear()
        elif match := _LISTED.match(line):
            listing.append(int(match[1], 16))
        elif line.startswith("cpu_io_recompile: rewound execution"):
            rewound = True
        elif line.startswith("Stopped execution of TB chain before"):
            block.clear()
        elif match := exception.match(line):
            end, number = taken(match, block)
            executed(end)
            if number is not None:
                found.append(("EXCEPTION", number))
        elif match := _BLOCK.match(line):
            start = int(match[2], 16)
            assert not rewound or start in block
            executed(start if rewound else None)
            rewound = False
            if listing:
                blocks[match[1]] = listing.copy()
                listing.clear()
            block.extend(blocks[match[1]])
            assert block[0] == start
    executed()
    return found


def exceptions_of(trace) -> list[tuple[str, int]]:  # type: ignore[no-untyped-def]
    wanted = (Event.EXCEPTION, Event.EXCEPTION_EXIT)
    return [(kind.name, number) for kind, number, _ in trace.events if kind in wanted]


def check_nesting(trace) -> None:  # type: ignore[no-untyped-def]
    """Every exit names the newest exception that was not left, and all of them are left."""
    active = []
    for name, number in exceptions_of(trace):
        if name == "EXCEPTION":
            active.append(number)
        else:
            assert active.pop() == number
    assert not active
