"""What the datasheet of a large kernel takes: to make, and to open and use in a browser.

The kernel is FreeRTOS as ``make demo`` characterizes it, its services several times under other
names until there are 200.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from growth import ROOT, WCETCHAR, Row

sys.path.insert(0, str(ROOT / "tests"))

SERVICES = 200
DEMO = ROOT / "build/demo/freertos.json"
SETTLED = "() => !document.querySelector('#list').textContent.includes('…')"
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def many(services: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """``count`` of them; those beyond the first ones have other names."""
    found = []
    for number in range(count):
        time_round, place = divmod(number, len(services))
        name, stroke, part = services[place]["name"].partition("/")
        other = f"{name}_{time_round}" if time_round else name
        found.append({**services[place], "name": f"{other}{stroke}{part}"})
    return found


def datasheet(folder: Path) -> list[Row]:
    """Of 200 services on two profiles."""
    from browser import Opened, chromium

    document = json.loads(DEMO.read_text())
    document["services"] = many(document["services"], SERVICES)
    kernel, page = folder / "many.json", folder / "many.html"
    kernel.write_text(json.dumps(document))
    words = [*WCETCHAR, "report", str(kernel), "-o", str(page)]
    for name in ("flash-3ws", "zero-wait-sram"):
        words += ["--profile", f"cortex-m3/{name}", "--map", f"cortex-m3/map-{name}"]
    begin = time.perf_counter()
    subprocess.run(words, check=True)
    rows: list[Row] = [
        (
            f"report of {SERVICES} services on 2 profiles",
            f"{time.perf_counter() - begin:.1f} s",
            "",
        ),
        ("  its page", f"{page.stat().st_size / 1e6:.1f} MB", ""),
    ]

    empty = folder / "empty.html"
    empty.write_text("<!DOCTYPE html><html lang='en'><title>empty</title><h1>empty</h1></html>")
    timing = "performance.getEntriesByType('navigation')[0].duration / 1000"
    with chromium() as browser:
        with Opened(browser, empty) as opened:
            nothing = opened.page.evaluate(timing)
        with Opened(browser, page) as opened:
            loaded = opened.page.evaluate(timing)
            rows.append(("opening it, until it is loaded", f"{loaded:.2f} s", "1 s"))
            rows.append(("  times an empty page", f"{loaded / nothing:.0f}", ""))
            rows += _used(opened.page)
    return rows


def _used(tab: Any) -> Iterator[Row]:
    """What a reader waits for."""

    def value() -> None:
        tab.evaluate(
            "(() => { const e = document.querySelector('#value-0-N'); e.value = 7;"
            " e.dispatchEvent(new Event('input')); })()"
        )
        tab.evaluate(FRAMES)

    def search() -> None:
        tab.fill("#search", "queue")
        tab.evaluate(FRAMES)

    def choose() -> None:
        tab.evaluate("document.querySelectorAll('#list a')[150].click()")
        tab.evaluate(FRAMES)

    def number() -> None:
        tab.locator("#edit").evaluate("e => { e.open = true }")
        tab.fill("[id='number-0-core.clock']", "80 MHz")
        tab.wait_for_function(SETTLED)

    actions: tuple[tuple[str, Callable[[], None]], ...] = (
        ("a parameter's slider, until the figures follow", value),
        ("search", search),
        ("another service", choose),
        ("a number of the profile, until all services follow", number),
    )
    for what, action in actions:
        begin = time.perf_counter()
        action()
        yield f"  {what}", f"{time.perf_counter() - begin:.2f} s", ""
