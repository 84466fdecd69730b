"""Every window of the FreeRTOS firmware's run against the oracle."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from count_oracle import Oracle
from test_counts_oracle import check

from wcetchar import isa, store
from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.resolve import resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.errors import InputError
from wcetchar.image import load_image
from wcetchar.model.trace import Trace
from wcetchar.pipeline import capture
from wcetchar.readers import open_trace

ROOT = Path(__file__).resolve().parents[3]
SUITE = ROOT / "rtos_tests" / "freertos"
SERVICES = tuple(
    str(SUITE / name)
    for name in ("services.yaml", "config/basic.yaml", "boards/mps2-an385/image.yaml")
)
DEMO = ROOT / "build" / "demo" / "freertos.trace"

pytestmark = pytest.mark.firmware


@pytest.fixture
def trace(firmware: Path, tmp_path: Path) -> Trace:
    """The demo's trace where it is one of this firmware, else a new one."""
    image = load_image(str(firmware))
    try:
        found = open_trace(str(DEMO), image=image, machine=None, format=None)
        if found.info.image_sha256 == image.sha256:
            return found
    except InputError:
        pass
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed (Debian package qemu-system-arm)")
    path = tmp_path / "freertos.trace"
    capture.run(capture.Request(str(firmware), str(path), "mps2-an385"))
    return open_trace(str(path), image=image, machine=None, format=None)


@pytest.mark.long
def test_every_window(firmware: Path, trace: Trace) -> None:
    image = load_image(str(firmware))
    table = isa.decode_image(image)
    services = store.load_services(*SERVICES)
    # A window alone does not tell which accesses the state decides.
    placed = tuple(s for s in services.sections if not s.either_of)
    services = replace(services, sections=placed)
    resolved = resolve(services, image, table)
    oracle = Oracle(image, table, services)
    labeller = Labeller(resolved, trace.info.path)
    finder = WindowFinder(resolved, trace.info.path)
    seen: Counter[str] = Counter()
    for window in find_windows(trace.batches(), finder):
        check(window, labeller, resolved, oracle)
        seen[window.service.name] += 1
    assert set(seen) == {service.name for service in services.services}
    assert finder.traced == trace.totals.instructions
    assert finder.attributed.total() + finder.unattributed.total() == finder.traced
