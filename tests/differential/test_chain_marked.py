"""Leaving out what lies between the marks must not make anything cheaper."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from chain_made import SERVICES, WCETCHAR, command

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

DEARER = {
    # Called with the scheduler locked: whether interrupts are masked before it is not in the trace.
    "xTaskResumeAll_ready/call",
    # What they return to is not in the trace either, and may go on with preemption held off.
    "tick_interrupt",
    "tick_interrupt_wrap",
    "context_switch",
}


@pytest.fixture(scope="module")
def marked(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marked")
    trace, result = folder / "marked.trace", folder / "marked.json"
    names = [word for name in SERVICES for word in ("--marked", name)]
    command("capture", firmware, "--machine", "mps2-an385", *names, "-o", trace)
    services = [word for name in SERVICES for word in ("--services", name)]
    command("characterize", firmware, trace, *services, "-o", result)
    return result


def priced(path: Path) -> dict[str, Any]:
    on = ("--profile", "cortex-m3/flash-3ws", "--map", "cortex-m3/map-flash-3ws", "--maximum")
    done = subprocess.run(
        [*WCETCHAR, "estimate", str(path), *on, "--json"], capture_output=True, check=True
    )
    return {e["service"]: e for e in json.loads(done.stdout)["estimates"]}


def test_a_marked_capture_counts_the_same(
    marked: Path, published: dict[str, Any], tmp_path: Path
) -> None:
    found = json.loads(marked.read_text())
    assert found["conservation"]["filtered"] > found["conservation"]["traced"] / 10
    full = {s["name"]: s for s in published["services"]}
    assert [s["name"] for s in found["services"]] == list(full)
    different = {
        s["name"]
        for s in found["services"]
        if (s["counts"], s.get("stretches"))
        != (full[s["name"]]["counts"], full[s["name"]].get("stretches"))
    }
    assert different <= DEARER
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps(published))
    here, there = priced(marked), priced(whole)
    for name in different:
        assert here[name]["total_ns"] == there[name]["total_ns"]
        for kind, ns in there[name]["blocking_ns"].items():
            assert here[name]["blocking_ns"][kind] >= ns
