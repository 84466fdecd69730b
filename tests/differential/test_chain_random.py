"""Random calls in random states against the published figures: none takes longer.

By `make test-long`, thousands of calls of several seeds: the figures take minutes. They are those
of the suite as it stands, made once and kept in ``build/random``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest
from needs import need
from random_check import (
    ROOT,
    Checker,
    Outcome,
    kernel_source,
    publish,
    read_console,
    report,
    run,
)
from random_classes import Call, Gap, Known, classify
from random_corners import CORNERS, of_run
from random_windows import TICK, Prices

from wcetchar.model.access import AccessClass, CoreEvent, EventKind, Operation, Pattern

pytest_plugins = ("chain_fixtures",)
pytestmark = [pytest.mark.firmware, pytest.mark.xdist_group("random")]
FEW = (11, 700)
MANY = ((6, 1500), (7, 1500))
OTHERS = (
    ("mps2-an386", 6, 1000),
    ("virt", 6, 1500),
    ("versatilepb", 6, 1000),
    ("versatilepb-thumb", 7, 1000),
)
CUT = ("versatilepb", 3, 150)


@pytest.fixture(scope="session")
def checked() -> Callable[[str, int, int], Outcome]:
    if kernel_source() is None:
        pytest.skip("the FreeRTOS source is not there (rtos_tests/freertos/fetch_kernel.sh)")

    @cache
    def checker(board: str) -> Checker:
        if board == "virt":
            need("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf")
        else:
            need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
        folder = ROOT / "build" / "random" / board
        folder.mkdir(parents=True, exist_ok=True)
        return Checker(publish(board, folder), board)

    @cache
    def check(board: str, seed: int, calls: int) -> Outcome:
        folder = ROOT / "build" / "random" / board
        return checker(board).check(seed, *run(board, folder, seed, calls))

    return check


@pytest.mark.long
def test_no_call_takes_longer_than_published(
    checked: Callable[[str, int, int], Outcome],
) -> None:
    outcome = checked("mps2-an385", *FEW)
    assert not outcome.unknown, "\n".join(report(outcome))
    assert outcome.compared > FEW[1] * 3 / 4
    assert len(outcome.services) > 100


@pytest.mark.long
def test_figures_that_are_too_low_are_found(
    checked: Callable[[str, int, int], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every price of the run is a hundredth higher, services that were met in their worst
    state exceed what is published."""
    dearer = Fraction(101, 100)
    priced = Prices.__call__
    monkeypatch.setattr(Prices, "__call__", lambda self, vector: dearer * priced(self, vector))
    seed, calls = FEW
    outcome = checked.__wrapped__("mps2-an385", seed, calls)  # type: ignore[attr-defined]
    assert len({finding.service for finding in outcome.findings}) > 50


@pytest.mark.long
@pytest.mark.parametrize(("seed", "calls"), MANY)
def test_none_of_many_calls_takes_longer(
    checked: Callable[[str, int, int], Outcome], seed: int, calls: int
) -> None:
    outcome = checked("mps2-an385", seed, calls)
    assert not outcome.unknown, "\n".join(report(outcome))


@pytest.mark.long
@pytest.mark.parametrize(("board", "seed", "calls"), OTHERS)
def test_none_on_other_boards(
    checked: Callable[[str, int, int], Outcome], board: str, seed: int, calls: int
) -> None:
    outcome = checked(board, seed, calls)
    assert not outcome.unknown, "\n".join(report(outcome))
    assert outcome.compared > calls * 3 / 4


def test_windows_where_interrupts_share_an_entry() -> None:
    """Every call, tick and switch is found, and no other interrupt is taken for a tick."""
    if kernel_source() is None:
        pytest.skip("the FreeRTOS source is not there (rtos_tests/freertos/fetch_kernel.sh)")
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    board, seed, number = CUT
    folder = ROOT / "build" / "random" / board
    folder.mkdir(parents=True, exist_ok=True)
    console, found = run(board, folder, seed, number)
    calls, _ = read_console(console)
    invocations = [*found]
    ticks = [i for i in invocations if i.service == TICK]
    seen = {i.number for i in invocations if i.number is not None}
    assert seen == {number for number, (name, _) in calls.items() if name != TICK}
    # The run ends with ticks that are not measured.
    assert len(ticks) >= sum(name == TICK for name, _ in calls.values()) > 0
    assert all("vTickISR" in tick.pieces[0].functions for tick in ticks)
    assert any("FromISR" in name for name, _ in calls.values())
    passed = {i.facts["E"] for i in invocations if i.service == "context_switch"}
    assert 0 in passed
    assert 5 < max(passed) < 20


# ---- corners by hand -----------------------------------------------------------------------------


def test_prices_in_corners() -> None:
    """Three instructions of five words, one of them a jump, with a double and a byte."""
    vector = Counter(
        {
            CoreEvent(".text", EventKind.LOAD): 1,
            CoreEvent(".text", EventKind.STORE): 1,
            CoreEvent(".text", EventKind.BRANCH_TAKEN): 1,
            CoreEvent(".text", EventKind.PIPELINE_REFILL): 1,
            AccessClass(".text", Operation.FETCH, 32, Pattern.FIRST): 1,
            AccessClass(".text", Operation.FETCH, 32, Pattern.NEXT): 3,
            AccessClass(".text", Operation.FETCH, 32, Pattern.REALIGNED): 1,
            AccessClass("heap", Operation.READ, 64): 1,
            AccessClass("heap", Operation.WRITE, 8): 1,
            AccessClass("kernel.data", Operation.READ, 32): 2,
            AccessClass("kernel.objects", Operation.WRITE, 32): 4,
            AccessClass("kernel.lists", Operation.WRITE, 32): 8,
        }
    )
    assert {corner: of_run(corner)(vector) for corner in CORNERS} == {
        "only instructions": 3,
        "only fetches": 5,
        "only data accesses": 17,
        "dear transfers": 7,
        "fetches in vain": 6,
        "only kernel.data": 10,
        "only kernel.objects": 12,
    }


# ---- classes by hand -----------------------------------------------------------------------------


def call(name: str, result: int | None = None, parts: int = 1, **facts: int) -> Call:
    return Call(name, facts, result, parts)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("pvPortMalloc", N=3, bytes=9), Known("pvPortMalloc", {"N": 3})),
        (call("pvPortCalloc", N=1, bytes=23), Known("pvPortCalloc", {"N": 1, "W": 10})),
        (
            call("vTaskDelete", stack_below=1, control_below=4, delayed=1),
            Known("vTaskDelete", {"N": 5}),
        ),
        (
            call("xTaskResumeAll", parts=2, nested=0, wrap=0, P=2, R=0, K=1, stays=1),
            Known("xTaskResumeAll_ticks", {"R": 0, "P": 2, "K": 1}),
        ),
        (
            call("xTaskResumeAll", nested=0, wrap=0, P=2, R=0, K=1, stays=1),
            Known("xTaskResumeAll_ticks_less_urgent", {"R": 0, "P": 2, "K": 1}),
        ),
        (
            call("xTaskResumeAll", 1, 2, nested=0, wrap=0, P=0, R=2, stays=1, most=5, me=4),
            Known("xTaskResumeAll_ready", {"R": 2}),
        ),
        (
            call("xTaskResumeAll", 1, 2, nested=0, wrap=0, P=0, R=2, stays=1, most=4, me=4),
            Known("xTaskResumeAll_ready_yield", {"R": 2}),
        ),
        (
            call("xTaskResumeAll", 1, 1, nested=0, wrap=0, P=0, R=2, stays=0, most=3, me=4),
            Known("xTaskResumeAll_ready_yield", {"R": 2}),
        ),
        (
            call("xTaskResumeAll", 0, 1, nested=0, wrap=0, P=0, R=2, stays=0, most=4, me=4),
            Known("xTaskResumeAll_ready_less_urgent_none_delayed", {"R": 2}),
        ),
        (
            call("vTaskPrioritySet", own=1, base=8, new=10),
            Known("vTaskPrioritySet", {}),
        ),
        (
            call("vTaskPrioritySet", own=0, where=0, base=2, me=4, new=3),
            Known("vTaskPrioritySet", {}),
        ),
        (
            call("vTaskPrioritySet", own=0, where=1, base=2, me=4, new=5),
            Known("vTaskPrioritySet_waiting", {}),
        ),
        (call("vTaskDelay", ticks=3, wrap=1, D=0, last=0), Known("vTaskDelay_first_wrap", {})),
        (call("vTaskDelay", ticks=3, wrap=1, D=2, last=0), Known("vTaskDelay_wrap", {"D": 2})),
        (call("vTaskDelay", ticks=3, wrap=0, D=0, last=0), Known("vTaskDelay_first", {})),
        (
            call("xTaskDelayUntil", late=0, D=0, last=0),
            Known("xTaskDelayUntil_first", {}),
        ),
        (
            call("xTaskDelayUntil", late=0, D=0, last=1),
            Known("xTaskDelayUntil_first_last_tick", {}),
        ),
        (call("xTaskDelayUntil", late=0, D=2, last=0), Known("xTaskDelayUntil", {"D": 2})),
        (call("xTaskResumeAll", nested=1, wrap=0, P=2, R=0, K=1), Known("xTaskResumeAll", {})),
        (
            call("xQueueSend", S=8, unaligned=0, filled=0, length=1, set=0, waiting=0),
            Known("xQueueSend_aligned", {"W": 2}),
        ),
        (
            call("xQueueSend", parts=2, S=8, unaligned=0, filled=0, length=1, set=0, waiting=2),
            Known("xQueueSend_waiter", {"S": 8}),
        ),
        (
            call("xQueueSend", S=8, unaligned=0, filled=0, length=1, set=0, waiting=2),
            Known("xQueueSend_waiter_less_urgent", {"S": 8}),
        ),
        (
            call("xQueueSendFromISR", S=3, filled=0, length=1, set=0, waiting=1, qlocked=1),
            Known("xQueueSendFromISR_locked", {"S": 3}),
        ),
        (
            call("xSemaphoreGive", filled=0, length=1, set=0, waiting=1),
            Known("xSemaphoreGive_waiter_less_urgent", {}),
        ),
        (
            call("xSemaphoreGiveFromISR", filled=0, length=1, set=0, waiting=1, first=3, me=3),
            Known("xSemaphoreGiveFromISR_waiter_less_urgent", {}),
        ),
        (
            call("xSemaphoreTakeFromISR", filled=1, set=0, qlocked=1),
            Known("xSemaphoreTakeFromISR_locked", {}),
        ),
        (
            call("xSemaphoreGive_mutex", waiting=0, me=5, my_base=3, mutexes=2),
            Known("xSemaphoreGive_mutex_kept", {}),
        ),
        (
            call("xSemaphoreGive_mutex", waiting=0, me=5, my_base=3, mutexes=1),
            Known("xSemaphoreGive_mutex_inherited", {}),
        ),
        (
            call("xSemaphoreGive_mutex", waiting=1, me=5, my_base=3, mutexes=1),
            Known("xSemaphoreGive_mutex_waiter_less_urgent", {}),
        ),
        (
            call("xSemaphoreGive_mutex", set=1, waiting=0, me=5, my_base=3, mutexes=1),
            Known("xSemaphoreGive_mutex_set", {}),
        ),
        (
            call("xSemaphoreGive_mutex", None, 2, set=1, waiting=1, me=5, my_base=5, mutexes=1),
            Known("xSemaphoreGive_mutex_set_waiter", {}),
        ),
        (
            call("xSemaphoreGive_mutex", None, 1, set=1, waiting=2, me=5, my_base=5, mutexes=1),
            Known("xSemaphoreGive_mutex_set_waiter_less_urgent", {}),
        ),
        (
            call("xSemaphoreGiveRecursive", waiting=0, me=5, my_base=3, mutexes=2, depth=1),
            Known("xSemaphoreGiveRecursive", {}),
        ),
        (
            call("xQueueSend", S=8, unaligned=0, filled=1, length=1, set=0, waiting=0, limit=0),
            Known("xQueueSend_fails", {}),
        ),
        (
            call("xSemaphoreTakeFromISR", filled=1, qlocked=1, set=1),
            Known("xSemaphoreTakeFromISR_locked", {}),
        ),
        (
            call("xSemaphoreGiveFromISR", filled=0, length=1, qlocked=1, set=1, waiting=0),
            Known("xSemaphoreGiveFromISR_set", {}),
        ),
        (
            call("xEventGroupSync", parts=2, set_already=0, M=2, U=1, limit=3, D=4, most=3, me=2),
            Known("xEventGroupSync_wakes_blocks", {"D": 4, "M": 2, "U": 1}),
        ),
        (
            call("xEventGroupSync", parts=2, set_already=0, M=2, U=1, limit=3, D=4, most=2, me=2),
            Known("xEventGroupSync_wakes_blocks_less_urgent", {"D": 4, "M": 2, "U": 1}),
        ),
        (
            call("xStreamBufferSend", result=8, parts=3, S=8, room=2, waiting=0, limit=3, D=4),
            Known("xStreamBufferSend_blocks", {"S": 8, "D": 4}),
        ),
        (
            call("xMessageBufferReceive", result=8, parts=2, S=9, bytes=0, waiting=0, limit=3, D=4),
            Known("xMessageBufferReceive_blocks_less_urgent", {"S": 8, "D": 4}),
        ),
        (
            call("xStreamBufferSend", result=3, parts=3, S=8, room=2, waiting=0, limit=3, D=4),
            Known("xStreamBufferSend_times_out", {"S": 3, "D": 4}),
        ),
        (
            call("xStreamBufferSend", result=2, parts=2, S=8, room=2, waiting=0, limit=3, D=4),
            Known("xStreamBufferSend_times_out_less_urgent", {"S": 2, "D": 4}),
        ),
        (
            call("xStreamBufferReceive", 2, 2, S=9, trigger=3, bytes=0, waiting=0, limit=3, D=4),
            Known("xStreamBufferReceive_times_out_less_urgent", {"S": 2, "D": 4}),
        ),
        (
            call("xStreamBufferReceive", 2, 3, S=2, trigger=3, bytes=0, waiting=0, limit=3, D=4),
            Known("xStreamBufferReceive_blocks", {"S": 2, "D": 4}),
        ),
        (
            call("xStreamBufferReceive", 3, 2, S=9, trigger=3, bytes=0, waiting=0, limit=3, D=4),
            Known("xStreamBufferReceive_blocks_less_urgent", {"S": 3, "D": 4}),
        ),
        (
            call("xStreamBufferReceive", result=0, parts=2, S=9, bytes=0, waiting=0, limit=3, D=4),
            Known("xStreamBufferReceive_times_out", {"S": 0, "D": 4}),
        ),
    ],
)
def test_classes(made: Call, expected: Known | Gap) -> None:
    assert classify(made) == expected
