"""A trace from its checks to its last window: what every use of traces begins with."""

from __future__ import annotations

from collections.abc import Iterator

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.runs import check_run
from wcetchar.analysis.trace_checks import check_code, check_filter, check_origin, check_totals
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.model.run import RunValues
from wcetchar.model.trace import Knowledge, Trace


class CutTrace:
    """One trace, cut into the windows of a services file.

    Attributes:
        finder: its tallies are whole when all windows have been taken.
    """

    def __init__(self, trace: Trace, resolved: Resolved, run: RunValues) -> None:
        """``run``: what is said about services without marks.

        Raises:
            InputError: a trace of another image, or one whose filter hides what is needed.
        """
        check_origin(trace, resolved.image)
        check_filter(trace, resolved)
        self._trace, self._resolved, self._run = trace, resolved, run
        self.finder = WindowFinder(
            resolved,
            trace.info.path,
            has_exceptions=trace.info.knows(Knowledge.EXCEPTIONS),
            has_addresses=trace.info.knows(Knowledge.ADDRESSES),
            run=run,
            registers_persist=trace.info.registers_persist,
        )

    def windows(self) -> Iterator[Window]:
        """All windows, once; behind the last one the whole trace is checked.

        Raises:
            InputError: a damaged trace, and everything that the window search refuses.
        """
        trace = self._trace
        registers = check_run(trace, self._resolved, self._run)
        batches = trace.batches(registers=True) if registers else trace.batches()
        yield from find_windows(batches, self.finder)
        check_code(trace, self._resolved.image)
        check_totals(trace, self.finder)
