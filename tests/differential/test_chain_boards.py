"""The published characterizations of the boards' firmware against an independent count of each run.

``chain_oracle`` says what is counted, ``armv4t_oracle`` and ``riscv_oracle`` where registers and
masks come from; ``chain_compare`` what is compared: every window of every service, and of every
part of one, at each combination of its parameters' values. The configurations beside ``basic``, and
Thumb code on Armv4T, are marked ``long``.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import chain_compare
import pytest
from chain_damage import DAMAGES, damaged
from chain_made import BOARDS, EVERY_TIME, FULL, LARGE, Firmware, Made
from chain_oracle import ALL_INTERRUPTS, Counted
from chain_published import by_key, counts_at

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

ARMV4T = [Firmware(board) for board in ("versatilepb", "versatilepb-thumb")]
BASIC = [*ARMV4T, Firmware("virt")]  # for those of Armv7-M see test_chain_counts, test_chain_float
CALLBACK = ("caller.text", "return")
TASKS = [Firmware(board, "timers") for board in BOARDS]
"""The rest of `timers` is in `basic` too, but for the commands that wait for the timers' task."""

TICKLESS = [Firmware(board, "tickless") for board in ("mps2-an385", "mps2-an386")]
"""The ports that have it; the only ones that mask by PRIMASK."""

WATCH = [Firmware(board, "watch") for board in BOARDS]
"""What watches, by functions of the application in the midst of services; and divisions by a
function of the compiler's."""


def each(firmware: list[Firmware]) -> Any:
    rows = [
        pytest.param(
            one,
            id=one.name,
            marks=[pytest.mark.xdist_group(one.name)]
            + ([pytest.mark.long] if one not in EVERY_TIME else []),
        )
        for one in firmware
    ]
    return pytest.mark.parametrize("made", rows, indirect=True)


def windows_of(made: Made, *beginnings: str) -> list[Counted]:
    """Of all services whose names begin so."""
    names = [name for name in made.oracle.counted if name.startswith(beginnings)]
    return [window for name in names for window in made.oracle.of(name)]


@each(BASIC + LARGE + TASKS + TICKLESS + WATCH)
def test_every_window_is_the_oracles(made: Made) -> None:
    """Counts under each blocking form, blocking stretches, instructions by service and exception;
    before them, that the second account of the run is of the same run."""
    assert chain_compare.all_of(made) == []
    assert made.oracle.instructions > 1_000_000


@each(BASIC + LARGE + TICKLESS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_what_is_published_is_seen(made: Made, damage: str) -> None:
    """In several services in turn."""
    tried = 0
    for changed in damaged(made.published, DAMAGES[damage], every=5):
        tried += 1
        assert chain_compare.of_service(made, changed) != [], changed["name"]
    assert tried > 1


@each(BASIC + LARGE + TICKLESS)
def test_instructions_that_are_put_elsewhere_are_seen(made: Made) -> None:
    """In conservation: from one service to another, from an exception to threads, and the sum."""
    stated = made.published["conservation"]
    changes = (("attributed", 0, 1), ("attributed", -1, 1), ("unattributed", 0, 1))
    for where, number, more in (*changes, ("unattributed", -1, -1)):
        changed = copy.deepcopy(stated)
        changed[where][number]["instructions"] += more
        assert list(chain_compare.conservation(made.oracle, {"conservation": changed}))
    assert list(
        chain_compare.conservation(
            made.oracle, {"conservation": {**stated, "traced": stated["traced"] + 1}}
        )
    )


@each(BASIC + LARGE + TICKLESS)
def test_a_window_that_is_missing_is_seen(made: Made) -> None:
    windows = made.oracle.windows
    for at in range(0, len(windows), len(windows) // 7):
        fewer = replace(made.oracle, windows=windows[:at] + windows[at + 1 :])
        assert list(chain_compare.values(fewer, made.services, made.published))


@each(LARGE)
def test_what_only_the_larger_configurations_have(made: Made) -> None:
    """Locks of the scheduler inside a lock, calls that block (once or twice) or never return, calls
    in handlers."""
    assert made.oracle.deepest == 2
    windows = made.oracle.windows
    assert {w.service.partition("/")[1:] for w in windows} == {
        ("", ""),
        ("/", "call"),
        ("/", "between"),
        ("/", "resume"),
    }
    handlers = {name for name, s in made.services["services"].items() if s["kind"] == "handler"}
    assert any(w.number is not None and w.service not in handlers for w in windows)


@each(FULL + TASKS)
def test_activations_of_the_timers_task(made: Made) -> None:
    """One for each combination of values; an expiry calls as many callbacks as timers expire."""
    found = windows_of(made, "timer_task_")
    assert len(found) in (560, 125)  # 8 * 5 * 5 and 3 * 6 * 5 * 4, or 5 * 4 * 5 and 5 * 5
    assert len({(w.service, w.values) for w in found}) == len(found)
    for window in found:
        if window.service == "timer_task_expiry":
            # The callback does nothing: one return for each timer.
            returns = [n for (_, key), n in window.counts.items() if key == CALLBACK]
            assert sum(returns) == window.values[0]


@each(TICKLESS)
def test_what_only_tickless_idle_masks(made: Made) -> None:
    """The sleep is called with PRIMASK set and lets the waking interrupt in once."""
    masks = {
        name: [mask for mask, _ in made.oracle.of(name)[-1].forms] for name in made.oracle.counted
    }
    sleep = masks["vPortSuppressTicksAndSleep"]
    assert sleep[0] == ALL_INTERRUPTS
    # cpsie lets interrupts in behind itself: dsb, isb, cpsid; and once more, for the return.
    assert sleep.count(None) == 4
    assert sleep[-1] is None
    assert set(sleep) == {ALL_INTERRUPTS, None}
    only = {name for name, found in masks.items() if ALL_INTERRUPTS in found}
    assert {name.partition("_")[0] for name in only} == {"vPortSuppressTicksAndSleep"}


@each(BASIC)
def test_handlers_are_masked_as_a_whole(made: Made) -> None:
    """From trap entry to return, both included."""
    found = windows_of(made, "tick_interrupt", "context_switch")
    # 17 ticks in each of nine cases, where a task stays delayed and where none does, and a switch
    # at each number of priorities that the port passes over, where it does.
    switches = [w.values for w in found if w.service == "context_switch"]
    assert switches in ([()], [(passed,) for passed in range(20)])
    assert len(found) == 17 * 9 * 2 + len(switches)
    for window in found:
        assert set(window.forms) == {(ALL_INTERRUPTS, True)}


@each(ARMV4T)
def test_armv4t_lock_by_hand(made: Made, request: pytest.FixtureRequest) -> None:
    """vTaskSuspendAll is, in either state: ldr r2, =...; ldr r3, [r2]; add; str; bx lr."""
    width = "16" if "thumb" in request.node.name else "32"
    service = chain_compare.service_of(made.published, "vTaskSuspendAll")
    assert by_key(counts_at(service["counts"], {})) == {
        (".text", "load"): 2,
        (".text", "alu"): 1,
        (".text", "store"): 1,
        (".text", "return"): 1,
        (".text", "pipeline refill"): 1,
        (".text", "fetch", width, "first"): 1,
        (".text", "fetch", width, "next"): 4,
        (".text", "read", "32", "single"): 1,
        ("kernel.data", "read", "32", "single"): 1,
        ("kernel.data", "write", "32", "single"): 1,
        # The second load is through what the first one loaded, and the addition uses its value. A
        # constant lies behind bx, or behind the nop after it.
        (".text", "load-use stall of an access"): 1,
        (".text", "load-use stall"): 1,
        (".text", "fetch held late"): 1,
    }
