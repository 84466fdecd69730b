"""A real browser for tests of pages: Chromium without a window, driven from outside.

Pages are opened from disk. What the browser complains about, and what it asks for beside the page
itself, is collected; tests demand that there is nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import need

PATIENCE: int = 300_000
"""Milliseconds; a machine may have other things to do."""


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Skips the test where there is none."""
    need("chromium", "chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as play:
        # As root, and in containers, Chromium has no sandbox.
        browser = play.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"], timeout=PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A page from disk. ``complaints``: of the browser; ``requests``: beside the page."""

    def __init__(self, browser: Any, path: Path, fragment: str = "", **context: Any) -> None:
        self._context = browser.new_context(**context)
        self.page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.resolve().as_uri() + fragment, timeout=PATIENCE)
        self.requests = [u for u in self.requests if not u.startswith(path.resolve().as_uri())]

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def texts(self, selector: str) -> list[str]:
        """Of all elements that are shown, spaces made one."""
        found = self.page.locator(selector).locator("visible=true").all_inner_texts()
        return [re.sub(r"\s+", " ", text).strip() for text in found]


CONTRASTS = (Path(__file__).parent / "contrasts.js").read_text()
"""Says of each text on a page its contrast with what is behind it."""
