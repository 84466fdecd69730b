"""Pictures of the page of ``wcetchar report`` for the documentation: after ``make demo``,

.venv/bin/python scripts/datasheet_pictures.py docs/explanation/pictures

They are made by whatever Chromium is installed, so no test compares them byte for byte.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import PATIENCE, Opened, chromium  # noqa: E402

WINDOW = {"width": 1300, "height": 860}
FORMAT = {"type": "jpeg", "quality": 68, "timeout": PATIENCE}
QUEUE = "xQueueSend"


def main() -> None:
    folder = Path(sys.argv[1])
    words = [sys.executable, "-m", "wcetchar", "report", "build/demo/freertos.json"]
    for name in ("flash-3ws", "zero-wait-sram"):
        words += ["--profile", f"cortex-m3/{name}", "--map", f"cortex-m3/map-{name}"]
    with tempfile.TemporaryDirectory() as place:
        page = Path(place) / "datasheet.html"
        subprocess.run([*words, "-o", str(page)], check=True, cwd=ROOT)
        with chromium() as browser:
            for scheme in ("light", "dark"):
                with Opened(browser, page, viewport=WINDOW, color_scheme=scheme) as opened:
                    tab = opened.page
                    tab.click(f"#list a:text-is('{QUEUE}')")
                    if scheme == "light":
                        tab.select_option("#second", "0-0-as-published")
                        tab.locator("#edit").evaluate("e => { e.open = true }")
                        tab.fill("[id='number-0-regions.flash.fetch.next']", "2 cycles")
                    tab.wait_for_selector("article:visible .sensitivity svg")
                    tab.evaluate("document.activeElement.blur()")
                    top = ".columns" if scheme == "light" else "article:visible .plots"
                    tab.locator(top).evaluate("e => scrollTo(0, e.offsetTop - 120)")
                    tab.screenshot(path=folder / f"datasheet-{scheme}.jpg", **FORMAT)


main()
