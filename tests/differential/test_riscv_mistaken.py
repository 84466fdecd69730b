"""A RISC-V run in which threads or traps are mistaken must end in an error, or count the same.

Around each call that switches threads, in turn: an address that a stack pointer is saved to or
restored from is another, a trap's entry or exit is missing or has another number, an access of the
saved ``mstatus`` lies elsewhere. What is not seen may at most block longer.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from chain_made import Firmware

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import unpack
from wcetchar.errors import InputError
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.service import ServiceKind
from wcetchar.model.trace import Event, EventBatch
from wcetchar.readers import open_trace
from wcetchar.store import load_services

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

FIRMWARE = Firmware("virt")
BEFORE = 200
"""Events before a begin mark, at most: those since the mark before it."""
STACK_POINTER = 2

Rows = list[tuple[int, int, int]]
Result = Counter[tuple[str, int, bool]]
"""(service, access class or event, whether interrupts are masked) -> count."""


@pytest.fixture(scope="module")
def resolved(riscv_trace: Path) -> Resolved:
    image = load_image(str(FIRMWARE.elf))
    return resolve(load_services(*FIRMWARE.services), image, decode_image(image))


@pytest.fixture(scope="module")
def calls(resolved: Resolved, riscv_trace: Path) -> dict[str, Rows]:
    """The events around one call of each service that switches threads."""
    services, base = resolved.services, resolved.mark_start
    length = services.marks.values
    parts = list(open_trace(str(riscv_trace), image=resolved.image).batches())
    kind = np.concatenate([part.kind for part in parts])
    address = np.concatenate([part.address for part in parts])
    size = np.concatenate([part.size for part in parts])
    is_mark = (kind == Event.WRITE) & (address >= base) & (address < base + 2 * length)
    marks = np.flatnonzero(is_mark).tolist()
    kinds = (ServiceKind.CALL, ServiceKind.BLOCKING_CALL)
    names = {s.mark: s.name for s in services.services if s.kind in kinds}
    found: dict[str, Rows] = {}
    for before, begin, end in zip(marks, marks[1:], marks[2:], strict=False):
        name = names.get(int(address[begin]) - base)
        if name is None or name in found or not (kind[begin:end] == Event.EXCEPTION).any():
            continue
        first = max(before + 1, begin - BEFORE)
        part = slice(first, end + 1)
        columns = (kind[part].tolist(), address[part].tolist(), size[part].tolist())
        found[name] = list(zip(*columns, strict=True))
    return found


def counted(resolved: Resolved, rows: Rows) -> Result:
    columns = list(zip(*rows, strict=True))
    batch = EventBatch(
        np.array(columns[0], dtype=np.uint8),
        np.array(columns[1], dtype=np.uint64),
        np.array(columns[2], dtype=np.uint8),
    )
    finder, labeller = WindowFinder(resolved, "hand"), Labeller(resolved, "hand")
    found: Result = Counter()
    for window in find_windows([batch], finder):
        for packed in labeller.label(window).packed.tolist():
            blocking, code, _ = unpack(packed)
            found[window.service.name, code, labeller.blockings[blocking].masks] += 1
    return found


def not_less(found: Result, right: Result) -> bool:
    """The same counts, and nothing is open that was masked."""
    both = [Counter({(n, c): 0 for n, c, _ in right}) for _ in range(2)]
    for one, result in zip(both, (found, right), strict=True):
        for (name, code, _), count in result.items():
            one[name, code] += count
    masked = all(found[key] >= count for key, count in right.items() if key[2])
    return both[0] == both[1] and masked


def mistakes(resolved: Resolved, rows: Rows) -> Iterator[tuple[str, Rows]]:
    index = resolved.table.index_of(np.array([a for _, a, _ in rows], dtype=np.uint64)).tolist()
    stacks, words = set(), set()
    for i in range(1, len(rows)):
        kind, address, size = rows[i]
        if kind in (Event.EXCEPTION, Event.EXCEPTION_EXIT):
            yield f"without {Event(kind).name} {i}", rows[:i] + rows[i + 1 :]
            yield f"another number at {i}", [*rows[:i], (kind, address ^ 1, size), *rows[i + 1 :]]
        owner = rows[i - 1]
        if kind not in (Event.READ, Event.WRITE) or owner[0] != Event.INSTRUCTION:
            continue
        effect = resolved.table.instructions[index[i - 1]].memory
        assert effect is not None
        if any(transfer.register == STACK_POINTER for transfer in effect.transfers):
            stacks.add(address)
            for other in [*sorted(stacks - {address})[:3], address + 4]:
                changed = [*rows[:i], (kind, other, size), *rows[i + 1 :]]
                yield f"stack pointer at {i} from {other:#x}", changed
        elif "freertos_risc_v_trap" in str(resolved.place(owner[1])) and size == 4:
            words.add(address)
            for other in [*sorted(words - {address})[-2:], address + 8]:
                changed = [*rows[:i], (kind, other, size), *rows[i + 1 :]]
                yield f"word at {i} from {other:#x}", changed


TRIED = 24
"""Mistakes that are tried for each service, drawn from all; of words half as many."""

SWITCHING = (
    "xTaskResumeAll_ready",
    "xQueueSend_waiter",
    "xSemaphoreGive_waiter",
    "vTaskDelay",
    "xTaskNotifyGive_waiter",
)


@pytest.mark.parametrize("name", SWITCHING)
def test_mistaken_threads_are_errors(resolved: Resolved, calls: dict[str, Rows], name: str) -> None:
    rows = calls[name]
    right = counted(resolved, rows)
    assert {service for service, _, _ in right} == {name}
    refused = same = 0
    made = list(mistakes(resolved, rows))
    words = [mistake for mistake in made if mistake[0].startswith("word")]
    others = [mistake for mistake in made if not mistake[0].startswith("word")]
    draw = random.Random(7)
    tried = [*draw.sample(others, min(len(others), TRIED)), *draw.sample(words, TRIED // 2)]
    for what, changed in tried:
        try:
            found = counted(resolved, changed)
        except InputError:
            refused += 1
            continue
        assert not_less(found, right), what
        same += 1
    assert refused > 1
    assert same > 1
