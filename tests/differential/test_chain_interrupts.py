"""An interrupt anywhere in a service: its own activity where the format shows it, else refused.

A handler's own instructions are put into a real window behind each of its instructions in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from chain_excerpt import Step, marked, steps
from chain_listing import Listing
from chain_made import Oracle
from chain_stream import Run
from chain_trial import Trial
from trace_writers import execlog, renode_binary

from wcetchar.errors import InputError

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

WINDOWS = [("xTaskNotifyGive", 0), ("xTaskResumeAll", 0)]
LONG = [
    ("ulTaskNotifyTake", 0),
    ("pvPortMalloc", 2),
    ("xTaskCreate", 3),
    ("vPortFree", 1),
    ("xQueueSend", 4),
]
each = pytest.mark.parametrize(
    "window",
    [*WINDOWS, *(pytest.param(row, marks=pytest.mark.long) for row in LONG)],
    indirect=True,
    ids=lambda row: row[0],
)


@pytest.fixture(scope="module")
def trial(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial.of(firmware, tmp_path_factory.mktemp("interrupts"))


@pytest.fixture(scope="module")
def parts(listing: Listing, run: Run, services: dict[str, Any]) -> dict[str, list[range]]:
    return marked(listing, run, services)


@pytest.fixture(scope="module")
def tick(listing: Listing, run: Run, parts: dict[str, list[range]]) -> list[Step]:
    """The tick interrupt that wakes nobody: some seventy instructions with calls of their own."""
    part = parts["tick_interrupt"][0]
    inside = [at for at, _, _ in run.exceptions if part.start < at <= part.stop]
    handler = steps(listing, run, [range(inside[0], inside[1])])
    assert handler[0].enters == handler[-1].leaves == 15
    return handler


@pytest.fixture(scope="module")
def urgent(listing: Listing, run: Run, oracle: Oracle) -> list[Step]:
    """A handler too urgent to be masked: the code of xTaskGetTickCount, entered by exception 17."""
    (window,) = oracle.of("xTaskGetTickCount")
    first, *middle, last = steps(listing, run, [window.steps])
    return [replace(first, enters=17), *middle, replace(last, leaves=17)]


@dataclass
class Window:
    """A real call between its marks; ``inside``: where its own instructions lie in ``whole``, the
    first excepted (before it, the call has not begun); ``unmasked``: before which steps of
    ``whole`` no interrupt is masked."""

    whole: list[Step]
    inside: range
    unmasked: list[int]


@pytest.fixture
def window(
    request: pytest.FixtureRequest,
    listing: Listing,
    run: Run,
    oracle: Oracle,
    parts: dict[str, list[range]],
) -> Window:
    name, number = request.param
    part = parts[name][number]
    counted = oracle.of(name)[number]
    begin, end = counted.steps[0] - part.start, counted.steps[-1] - part.start + 1
    assert counted.steps == list(part[begin:end])
    masks = [mask for mask, _ in counted.forms]
    unmasked = [*range(begin), *(begin + i for i, m in enumerate(masks) if m is None)]
    return Window(steps(listing, run, [part]), range(begin + 1, end + 1), unmasked)


@each
def test_an_interrupt_is_an_activity_of_its_own(
    trial: Trial, window: Window, tick: list[Step], urgent: list[Step]
) -> None:
    whole = window.whole
    expected = trial.of_steps(whole)
    assert len(expected) == 1
    for at in range(len(whole) + 1):
        assert trial.of_steps(whole[:at] + urgent + whole[at:]) == expected, at
    # The tick lets interrupts in when it ends, so it cannot come while they are masked.
    for at in window.unmasked[::3]:
        assert trial.of_steps(whole[:at] + tick + whole[at:]) == expected, at


@each
def test_nested_interrupts(
    trial: Trial, window: Window, tick: list[Step], urgent: list[Step]
) -> None:
    whole = window.whole
    expected = trial.of_steps(whole)
    at = next(at for at in window.unmasked if at in window.inside)
    for depth in range(1, len(tick), 5):
        nested = tick[:depth] + urgent + tick[depth:]
        assert trial.of_steps(whole[:at] + nested + whole[at:]) == expected, depth
    tail_chained = tick + urgent + tick
    assert trial.of_steps(whole[:at] + tail_chained + whole[at:]) == expected


@each
@pytest.mark.parametrize(
    ("write", "format"),
    [(execlog, "execlog-8.2"), (renode_binary(4), None)],
    ids=["execlog", "renode"],
)
def test_without_exceptions_an_interrupt_inside_is_refused(
    trial: Trial, window: Window, tick: list[Step], write: Any, format: str | None
) -> None:
    """Behind every instruction of the window, also behind returns, which can lead anywhere."""
    whole = window.whole
    expected = trial.of_bytes(write(whole), format)
    for at in range(len(whole) + 1):
        data = write(whole[:at] + tick + whole[at:])
        if at in window.inside:
            with pytest.raises(InputError) as error:
                trial.of_bytes(data, format)
            assert error.value.hint
        else:
            assert trial.of_bytes(data, format) == expected, at
