"""Signals that end this program, while it starts another."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """What SIGINT, SIGTERM and SIGHUP raise is raised at the end of the block.

    Raised while a program is being started, it would leave one running that nobody has a name for.
    The block gives it its name; what ends it stands around the block::

        process = None
        try:
            with deferred_signals():
                process = subprocess.Popen(...)
            ...
        finally:
            end(process)

    Signals that raise nothing here (ignored, or left to the system) are left alone. A thread other
    than the main one gets none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before: dict[signal.Signals, Any] = {}
    try:
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for one in came:
            signal.raise_signal(one)
