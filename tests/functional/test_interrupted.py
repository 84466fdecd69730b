"""Long work shows a bar at a terminal, and Ctrl-C ends it cleanly: a real SIGINT to a real process,
sent once its bar is there.

What is tested elsewhere: captures, characterizations (test_bad_input_capture.py,
test_bad_input_outputs.py).
"""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import CHARACTERIZATION, MAP, PROFILE, PROGRAM, SERVICES, files, need, process, write

HARDWARE = ("--profile", "p.yaml", "--map", "m.yaml")
SYSTEM = """\
schema: wcetchar/system/1
name: long
kernel:
  {characterization: renaux2010, profile: renaux2010/platform1, map: renaux2010/map1,
   context switch: 1 us, set: {N: 5}}
tasks:
  fast: {priority: 3, period: 1 ms, wcet: 100 us}
  maker: {priority: 2, period: 5 ms, wcet: 1 ms, calls: [{service: CreateThread, times: 2}]}
  slow: {priority: 1, period: 20 ms, wcet: 5 ms}
"""
CAMPAIGN = """\
schema: wcetchar/campaign/1
name: sleeper
axes:
  way: {a: {}, b: {}}
build:
  command: [sh, -c, "echo $$ > pid; exec sleep 1000"]
firmware: none.elf
machine: mps2-an385
services: [services.yaml]
"""
VARY = ("--vary", "N=1..6", "--vary", "core.clock=8MHz..168MHz/99999")
LONG: dict[str, tuple[str, tuple[str, ...]]] = {
    "estimate": ("pricing", ("estimate", "many.json", *HARDWARE, "--maximum", "-o", "out")),
    "uncertainty": (
        "pricing",
        ("estimate", "many.json", *HARDWARE, "--uncertainty", "--json", "-o", "out"),
    ),
    "compare": ("comparing", ("compare", "many.json", "many.json", *HARDWARE, "-o", "out")),
    "sweep": (
        "pricing",
        ("sweep", "many.json", *HARDWARE, *VARY, "--format", "csv", "-o", "out"),
    ),
    "system sweep": (
        "analysing",
        ("system", "sweep", "system.yaml", "--vary", "core.clock=8MHz..168MHz/5000", "-o", "out"),
    ),
    "campaign": ("campaign", ("campaign", "campaign.yaml", "-o", "results", "--jobs", "2")),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    many: dict[str, Any] = json.loads(CHARACTERIZATION)
    (one,) = many["services"]
    many["services"] = [{**one, "name": f"walk{number}"} for number in range(3000)]
    many["conservation"]["attributed"] = [
        {"name": service["name"], "instructions": 1} for service in many["services"]
    ]
    many["conservation"]["traced"] = 3000
    write("many.json", json.dumps(many))
    write("p.yaml", PROFILE)
    write("m.yaml", MAP)
    write("system.yaml", SYSTEM)
    write("campaign.yaml", CAMPAIGN)
    write("services.yaml", SERVICES)
    write("out", "older")


def interrupted(title: str, *arguments: str, until: Path | None = None) -> tuple[int, str, str]:
    """(exit code, standard output, what the terminal got). ``until``: a file that has to be there
    as well before it is interrupted."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    child = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment,
        start_new_session=True,
        text=True,
    )
    os.close(slave)
    shown, sent, end = "", False, time.monotonic() + 300
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                part = os.read(master, 65536).decode(errors="replace")
            except OSError:
                break
            if not part:
                break
            shown += part
        if not sent and title in shown and (until is None or until.exists()):
            sent = True
            child.send_signal(signal.SIGINT)
    else:
        child.kill()
    os.close(master)
    output, _ = child.communicate(timeout=60)
    assert sent, (child.returncode, shown)
    gone(lambda: os.killpg(child.pid, 0))  # nothing that it began is left
    return child.returncode, output, shown


def gone(ask: Callable[[], None]) -> None:
    """Processes that end when they see that their parent has, soon."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            ask()
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("a process is left")


@pytest.mark.parametrize("name", [name for name in LONG if name != "campaign"])
def test_an_interrupt_leaves_nothing(name: str) -> None:
    title, arguments = LONG[name]
    before = files(Path())
    status, output, shown = interrupted(title, *arguments)
    assert (status, output) == (130, ""), shown
    assert "interrupted" in shown
    assert "Traceback" not in shown
    assert Path("out").read_text() == "older"
    assert files(Path()) == before


def test_an_interrupted_campaign_ends_its_builds() -> None:
    need("qemu-system-arm")
    title, arguments = LONG["campaign"]
    status, output, shown = interrupted(title, *arguments, until=Path("pid"))
    assert (status, output) == (130, ""), shown
    assert "Traceback" not in shown
    build = int(Path("pid").read_text())
    gone(lambda: os.kill(build, 0))


def test_elsewhere_it_is_quiet() -> None:
    done = process("estimate", "k.json", *HARDWARE)
    assert done.returncode == 3
    write("k.json", CHARACTERIZATION)
    done = process("estimate", "k.json", *HARDWARE)
    assert (done.returncode, done.stderr) == (0, "")
