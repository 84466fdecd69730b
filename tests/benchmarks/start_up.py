"""What starting the program takes, beside what Python and its libraries take anyway.

Processor time of whole processes, the least of several rounds in which they take turns: whatever
else the machine does meets all of them alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from growth import Row

ESTIMATE = ("estimate", "renaux2010", "--profile", "renaux2010/platform1")
ESTIMATE += ("--map", "renaux2010/map1", "--set", "N=13")
LIBRARIES = "import click, lark, pydantic, pydantic.fields, rich.console, rich.table, ruamel.yaml"
VERB = ("-m", "wcetchar")


def processor_time(arguments: Sequence[str]) -> float:
    """Seconds of one process of Python."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, *arguments], stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"python {' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def start_up(folder: Path) -> list[Row]:
    """Start-up of ``--help`` and of a small estimate."""
    # Without this the first of each would compile what it imports, or even each of them.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    processes = {
        "nothing": ("-c", "pass"),
        "libraries": ("-c", LIBRARIES),
        "help": (*VERB, "--help"),
        "verb": (*VERB, "estimate", "--help"),
        "json": (*VERB, *ESTIMATE, "--json"),
        "table": (*VERB, *ESTIMATE),
    }
    least = {name: processor_time(arguments) for name, arguments in processes.items()}
    for _ in range(9):
        for name, arguments in processes.items():
            least[name] = min(least[name], processor_time(arguments))

    def times(name: str, other: str) -> str:
        return f"{least[name] / least[other]:.1f}"

    return [
        ("`python -c pass`, processor time", f"{least['nothing'] * 1000:.0f} ms", ""),
        ("  `wcetchar --help`, times that", times("help", "nothing"), ""),
        ("  `wcetchar estimate --help`, times that", times("verb", "nothing"), ""),
        ("`wcetchar --help`", f"{least['help'] * 1000:.0f} ms", "300 ms"),
        ("importing the libraries of an estimate", f"{least['libraries'] * 1000:.0f} ms", ""),
        ("  `wcetchar estimate renaux2010`, times that", times("table", "libraries"), ""),
        ("  the same with `--json`, times that", times("json", "libraries"), ""),
        ("`wcetchar estimate renaux2010`", f"{least['table'] * 1000:.0f} ms", "500 ms"),
    ]
