"""Measures this machine, by the C program in ``host/``: readings of a clock around what Linux does.

The program is built on first use (:mod:`~wcetchar.capture.compiled`), pins itself to one CPU, is
told on its standard input what to measure, and prints readings; nothing is evaluated here.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wcetchar.capture.compiled import compiled
from wcetchar.errors import InputError, Location, ToolMissing

SOURCE: Final = Path(__file__).parent / "host" / "measure.c"
FLAGS: Final = ("-O2", "-std=gnu11", "-pthread", "-Wall")
HEADER: Final = Path(__file__).parent / "target" / "wcet_measure.h"
"""What firmware includes to make the same readings."""
_PARAMETERS: Final = {
    "procedure call": (0, 7, "0 to 7 arguments"),
    "process switch": (1, 4096, "1 to 4096 bytes, which a pipe takes at once"),
    "thread switch": (1, 4096, "1 to 4096 bytes, which a pipe takes at once"),
    "memory": (128, 1 << 38, "128 bytes (two lines of a cache) to 256 GiB"),
}
"""Of the operations that have one: least, largest, and what it is."""
OPERATIONS: Final = (
    "loop",
    "procedure call",
    "system call getpid",
    "system call getsid",
    "process",
    "thread",
    "process switch",
    "thread switch",
    "memory",
)
_REFUSED: Final = {
    "this processor has no counter that programs may read; use the clock": (
        "x86 or AArch64",
        "leave out --counter",
    ),
    "there is no memory for such a working set": (
        "sizes that fit into the memory that is free",
        "smaller `sizes` in a plan of your own",
    ),
    "there is no memory for so many readings": (
        "readings that fit into the memory that is free",
        "fewer repetitions: --repetitions N",
    ),
}
"""What the program says when it ends, and what to do next, where that is not to leave it out."""
_CACHES: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_CPUINFO: Final = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class HostRequest:
    """One operation; ``calls`` in each of ``repetitions`` readings."""

    operation: str
    parameter: int | None
    calls: int
    repetitions: int

    def __str__(self) -> str:
        parameter = "" if self.parameter is None else str(self.parameter)
        return f"{self.operation}\t{parameter}\t{self.calls}\t{self.repetitions}\n"


def host_readings(
    requests: Sequence[HostRequest], *, counter: bool, cpu: int | None, timeout: float
) -> str:
    """Readings as the text of a file of readings (docs/reference/readings.md).

    Args:
        counter: read the processor's counter of cycles, not CLOCK_MONOTONIC_RAW.
        cpu: the number of the one to pin to; ``None``: the first that is allowed.
        timeout: seconds.

    Raises:
        ToolMissing: there is no C compiler, and the program is not built yet.
        InputError: this is no Linux; the program cannot be built, run, or refuses what was asked.
    """
    if sys.platform != "linux":
        raise ToolMissing(
            f"this machine runs {platform.system()}, and only Linux can be measured here",
            expected="Linux",
            hint="measure a target: wcetchar measure header, wcetchar measure target",
        )
    if cpu is not None and cpu not in (allowed := os.sched_getaffinity(0)):
        raise InputError(
            f"CPU {cpu} is not there, or not allowed",
            where=Location("--cpu"),
            expected=f"one of {_ranges(sorted(allowed))}",
            hint="without --cpu the first that is allowed is taken",
        )
    program = compiled(SOURCE, FLAGS, "measure-*", "the program that measures this machine")
    command = [str(program), str(-1 if cpu is None else cpu), "cycles" if counter else "ns"]
    try:
        done = subprocess.run(
            command,
            input="".join(map(str, requests)),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"measuring did not end within {timeout:g} s",
            where=Location(str(program)),
            hint="fewer repetitions, or --timeout SECONDS",
        ) from error
    except OSError as error:
        raise InputError(
            f"the program that measures cannot be run: {error.strerror}",
            where=Location(str(program)),
            expected="a folder for caches from which programs may be run",
            hint="set XDG_CACHE_HOME to one",
        ) from error
    if done.returncode:
        number = -done.returncode
        last = done.stderr.strip().rpartition("\n")[2]
        if number < 0 and last in _REFUSED:
            expected, hint = _REFUSED[last]
            raise InputError(last, expected=expected, hint=hint)
        how = f"by signal {signal.Signals(number).name}" if number > 0 else "before its end"
        raise InputError(
            f"measuring ended {how}",
            where=Location(str(program)),
            expected="operations that this machine allows, and enough memory for them",
            hint="leave the operation out: --only NAME measures just that",
            details=tuple(done.stderr.strip()[-2000:].splitlines()),
        )
    return "".join(f"# {key}: {value}\n" for key, value in _facts()) + done.stdout


def _ranges(numbers: Sequence[int]) -> str:
    """``0-3, 8``: numbers in order, those that follow each other as one."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in found)


def unfit(request: HostRequest) -> str | None:
    """What of an operation's parameter or calls the program would refuse, or would not look at."""
    name, value = request.operation, request.parameter
    wanted = _PARAMETERS.get(name)
    if wanted is None:
        return None if value is None else f"{name} has no parameter"
    low, high, what = wanted
    if value is None or not low <= value <= high:
        return f"{name} is of {what}"
    if name.endswith(" switch") and request.calls % 2:
        return "switches come in pairs, there and back: an even number of calls"
    return None


def _facts() -> list[tuple[str, str]]:
    """What the machine says of itself: processor, and caches of data."""
    model = re.search(r"^model name\s*: (.+)$", _read(_CPUINFO), re.MULTILINE)
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    facts = [("machine", f"{model[1].strip()}, {system}" if model else system)]
    for folder in sorted(_CACHES.glob("index[0-9]*")):
        size = re.fullmatch(r"([0-9]+)K", _read(folder / "size"))
        level, kind = _read(folder / "level"), _read(folder / "type")
        if size and level and kind in ("Data", "Unified"):
            facts.append(("cache", f"L{level}, {size[1]} KiB"))
    return facts


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
