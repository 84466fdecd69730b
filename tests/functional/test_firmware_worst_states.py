"""Every worst state of the firmwares' services files says why it is the worst: what it makes the
kernel do, what others lack, that there is no other, or which service has the reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2] / "rtos_tests"
SERVICES = {"freertos": 400, "zephyr": 300}
"""Suites, and the least number of services that each has."""
REASONS = {
    "what it makes the kernel do": r"so that|because|for which|which is looked up",
    "what other states lack": (
        r"otherwise|whereas|while an|without one|either way|does not matter|only (where|after)"
        r"|if it were|were the|under a lock|a locked one|for a task that is not|for any other task"
        r"|where there is none|more than without"
    ),
    "what is driven to its end": r"longest|looked for last|which the search|one by one",
    "that there is no other": (
        r"one path only|nothing (else )?in this state|nothing but|no difference|only branch"
        r"|only the answer"
    ),
    "that the core decides, and all are driven": (
        r"depends on the (hardware|core)|the core's|(are|is a|both|all are) cases?\b"
    ),
}
REASON = re.compile("|".join(REASONS.values()))
AS_FOR = re.compile(r"\bas for ([^.;:(]*)", re.IGNORECASE)
NAME = re.compile(r"\b(?:[a-z]{1,3}[A-Z]\w+|[a-z]+(?:_[a-z]+)+)\b")
OPEN = {
    "a chunk is taken out of, and its rest put into, a list that holds others (heap.c:42, 72)": (
        "k_heap_alloc k_heap_aligned_alloc k_heap_alloc_block k_heap_alloc_again k_heap_realloc "
        "k_queue_alloc_append k_queue_alloc_prepend k_msgq_alloc_init k_pipe_alloc_init "
        "k_stack_alloc_init"
    ),
    "the queue is empty (list_gen.h:89)": "k_queue_prepend",
    "the element goes behind the last one (list_gen.h:153)": "k_queue_insert",
    "the element was allocated (queue.c:34)": "k_queue_peek_head k_queue_peek_tail",
    "the queue has elements already (queue.c:132)": (
        "k_queue_append_poller k_queue_append_poller_switch"
    ),
    "the priority was raised otherwise, and who waits goes behind others (mutex.c:254)": (
        "k_mutex_unlock_waiter k_mutex_unlock_inherited"
    ),
    "less urgent threads wait as well (priority_q.h:214, mutex.c:179)": (
        "k_mutex_lock_inherit k_mutex_lock_timeout"
    ),
    "a thread waits for the mutex that is unlocked (condvar.c:118)": (
        "k_condvar_wait k_condvar_wait_timeout"
    ),
    "the events are reset (events.c:263)": "k_event_wait_block k_event_wait_timeout",
    "what is left goes to both sides of the buffer's end (pipes.c:418)": (
        "k_pipe_put_waiter k_pipe_put_switch k_pipe_put_waiters k_pipe_put_waiters_switch"
    ),
    "threads wait to write (pipes.c:628)": "k_pipe_buffer_flush",
    "the bytes do not lie on both sides of the buffer's end (pipes.c:794)": "k_pipe_write_avail",
    "the sender named a semaphore (mailbox.c:183)": (
        "k_mbox_get k_mbox_data_get k_mbox_data_discard"
    ),
    "the sender waits (mailbox.c:192)": "k_mbox_get_block",
    "it has a stop function (timer.c:204)": "k_timer_stop k_timer_stop_waiter k_timer_stop_switch",
    "others wait for it already (timer.c:283)": "k_timer_status_sync_block",
    "an item submits itself when it runs (work.c:275)": "k_work_submit",
    "the item runs as well (work.c:522)": "k_work_cancel",
    "another thread waits for a cancellation (work.c:92)": "k_work_cancel_sync",
    "it is queued as well, as the last of N (work.c:974)": (
        "k_work_cancel_delayable k_work_cancel_delayable_sync"
    ),
    "N items are queued (work.c:195)": "k_work_flush_delayable",
    "the queue's thread waits for work and is woken (work.c:793)": "k_work_queue_drain",
    "the events are those of pipes (poll.c:92)": "k_poll k_poll_fail k_poll_block k_poll_timeout",
    "it waits for an object with a timeout (sched.c:1367)": "k_thread_abort_alone",
    "threads wait for its end (sched.c:1371)": "k_thread_abort_ready k_thread_abort_self",
    "it is alone at its priority, with CONFIG_SCHED_MULTIQ (priority_q.h:181)": (
        "k_thread_priority_set_switch"
    ),
    "a more urgent thread has become ready (exc_exit.c:63)": "interrupt",
    "others come before the timers that start again (timeout.c:125)": (
        "tick_periodic tick_timer_sync tick_timer_sync_switch"
    ),
    "a thread waits for the call to be over (irq_offload.c:21)": "irq_offload irq_offload_switch",
}
"""Services of Zephyr whose state is not the worst, by what makes the same call dearer (and where in
Zephyr 3.7.1): they have no reason until the driver brings that about, or another service does.
``k_thread_abort``, ``k_poll_behind``, ``k_work_poll_submit`` and ``k_work_queue_start`` have one
for a part of their state and are not seen here."""


@cache
def said(suite: str) -> dict[tuple[str, str], str]:
    """Worst states by file and service; of an ``instead`` as well, where it says one."""
    found = {}
    for path in sorted((ROOT / suite).rglob("*.yaml")):
        document: dict[str, Any] = YAML(typ="safe").load(path)
        for part in ("services", "instead"):
            services = document.get(part)
            if not isinstance(services, dict):
                continue  # a campaign's list of files
            for name, service in services.items():
                if part == "services" or "worst state" in service:
                    text = " ".join(str(service["worst state"]).split())
                    found[str(path.relative_to(ROOT / suite)), name] = text
    return found


def referred(text: str) -> list[str]:
    """The services that a text says to be like."""
    return [name for after in AS_FOR.findall(text) for name in NAME.findall(after)]


def has_reason(text: str, of: dict[str, list[str]], seen: frozenset[str] = frozenset()) -> bool:
    """``of``: the texts of every service, one for each file that says one."""
    if REASON.search(text):
        return True
    names = set(referred(text)) - seen
    return any(
        name in of and all(has_reason(there, of, seen | {name}) for there in of[name])
        for name in names
    )


def by_name(suite: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for (_, name), text in said(suite).items():
        found.setdefault(name, []).append(text)
    return found


@pytest.mark.parametrize("suite", SERVICES)
def test_every_worst_state_says_why(suite: str) -> None:
    of = by_name(suite)
    assert len(of) >= SERVICES[suite]
    without = {name for (_, name), text in said(suite).items() if not has_reason(text, of)}
    still_open = {name for names in OPEN.values() for name in names.split()}
    assert without == (still_open if suite == "zephyr" else set())


@pytest.mark.parametrize("suite", SERVICES)
def test_what_is_referred_to_is_a_service(suite: str) -> None:
    of = by_name(suite)
    unknown = {
        (*where, name)
        for where, text in said(suite).items()
        for name in referred(text)
        if name not in of
    }
    assert unknown == set()


@pytest.mark.parametrize(
    "text",
    [
        "The scheduler is not locked. Every woken task waits for an event as well.",
        "it is the outermost one",
        "the pointer is not null",
        "The name is longer than configMAX_TASK_NAME_LEN. The task is less urgent than the caller.",
        "The heap has been used before.",
        "As for nothing_known.",
        "As for like_itself.",
    ],
)
def test_a_state_alone_is_no_reason(text: str) -> None:
    assert not has_reason(text, {"like_itself": ["As for like_itself."]})


@pytest.mark.parametrize(
    "text",
    ["There is one path only.", "as for xFirst", "As for xSecond; nothing more."],
)
def test_a_reason_may_stand_elsewhere(text: str) -> None:
    assert has_reason(text, {"xFirst": ["so that it is searched"], "xSecond": ["as for xFirst"]})
