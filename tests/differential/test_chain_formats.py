"""One part of the firmware's run, written in every trace format, through the whole pipeline.

What each format loses is listed in CASES. Widths and instruction bytes come back from the image, so
a format without them gives the very same characterization; one without exceptions does for windows
that no exception interrupts, and must refuse the others; one without data addresses shows no marks,
and one without program counters no services, so both must be refused.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chain_log
import numpy as np
import pytest
from chain_excerpt import Step, marked, steps
from chain_listing import Listing
from chain_made import SERVICES, Oracle
from chain_stream import Run
from trace_writers import execlog, qemu_log, renode_binary, renode_text, shown_an385, stream

from wcetchar import store
from wcetchar.errors import InputError
from wcetchar.image import load_image
from wcetchar.model.trace import Event, Knowledge
from wcetchar.pipeline import characterize as pipeline
from wcetchar.readers import open_trace

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

K = Knowledge
Write = Callable[[list[Step]], bytes]

UNDISTURBED = (
    "vTaskSuspendAll",
    "xTaskResumeAll",
    "xTaskGetTickCount",
    "pvPortMalloc",
    "vPortFree",
    "vListInsert",
    "vListInsertEnd",
    "uxListRemove",
    "xTaskCreate",
    "xQueueSend_aligned",
    "xSemaphoreGive",
    "xSemaphoreTake",
    "ulTaskNotifyTake",
)
"""Services whose windows no exception interrupts, and whose blocking does not depend on one."""

NEIGHBOURS_SHOWN_ELSEWHERE = {"vListInsert", "vListInsertEnd", "uxListRemove"}
"""Which of their accesses are of a section that is either of others, only other services show."""

INTERRUPTED: tuple[str, ...] = ()
CUT = (
    "vTaskDelay",
    "vTaskDelay_first",
    "xTaskNotifyGive_waiter",
    "xTaskResumeAll_ready",
    "xQueueSend_waiter",
    "xQueueReceive_waiter",
    "xSemaphoreGive_waiter",
    "xSemaphoreGive_mutex_waiter",
)
"""Interrupted as well, but published as what lies before and behind the interruption."""
HANDLERS = ("tick_interrupt", "tick_interrupt_wrap", "context_switch")


@dataclass(frozen=True)
class Case:
    """``refused``: part of the error, where no characterization can come of it."""

    name: str
    write: Write
    format: str | None = None
    machine: str | None = None
    losses: frozenset[Knowledge] = frozenset()
    refused: str | None = None


def execlog_72(run: list[Step]) -> bytes:
    return execlog(run, shown_an385, garbage=True)


def gzipped(write: Write) -> Write:
    return lambda run: gzip.compress(write(run), mtime=0)


TEXT = frozenset({K.WIDTHS, K.EXCEPTIONS, K.END})
NO_DATA = frozenset({K.ADDRESSES, K.WIDTHS, K.DIRECTIONS, K.END})
NO_MARKS = "no data addresses"
NO_PLACES = "program counters"

CASES = [
    Case("the plugin's stream", stream),
    Case("execlog 7.2", execlog_72, "execlog-7.2", "mps2-an385", TEXT),
    Case("execlog 7.2, recognised", execlog_72, None, "mps2-an385", TEXT),
    Case("execlog 8.2", execlog, "execlog-8.2", None, TEXT),
    Case("execlog 8.2, recognised", execlog, None, "mps2-an385", TEXT),
    Case("QEMU's log", qemu_log, None, None, NO_DATA, NO_MARKS),
    Case("Renode PC", renode_text("PC"), "renode-pc", None, TEXT | {K.OPCODES}),
    Case("Renode PC, recognised", renode_text("PC"), None, None, TEXT | {K.OPCODES}),
    Case(
        "Renode Opcode",
        renode_text("Opcode"),
        "renode-opcode",
        None,
        TEXT | {K.PROGRAM_COUNTERS},
        NO_PLACES,
    ),
    Case("Renode PCAndOpcode", renode_text("PCAndOpcode"), None, None, TEXT),
    Case("Renode Disassembly", renode_text("Disassembly"), None, None, TEXT),
]
for _version in (4, 5):
    CASES += [
        Case(f"Renode binary {_version}", renode_binary(_version), losses=TEXT),
        Case(f"Renode binary {_version}, gzipped", gzipped(renode_binary(_version)), losses=TEXT),
        Case(f"Renode binary {_version}, 64 bits", renode_binary(_version, 8), losses=TEXT),
        Case(
            f"Renode binary {_version}, multi-ISA", renode_binary(_version, multi=True), losses=TEXT
        ),
        Case(
            f"Renode binary {_version}, PC only",
            renode_binary(_version, opcodes=False),
            losses=TEXT | {K.OPCODES},
        ),
        Case(
            f"Renode binary {_version}, opcodes only",
            renode_binary(_version, pc_width=0),
            losses=TEXT | {K.PROGRAM_COUNTERS},
            refused=NO_PLACES,
        ),
    ]


@pytest.fixture(scope="module")
def parts(listing: Listing, run: Run, services: dict[str, Any]) -> dict[str, list[range]]:
    return marked(listing, run, services)


@pytest.fixture(scope="module")
def undisturbed(listing: Listing, run: Run, parts: dict[str, list[range]]) -> list[Step]:
    chosen = sorted((p for name in UNDISTURBED for p in parts[name]), key=lambda p: p.start)
    return steps(listing, run, chosen)


def characterized(
    firmware: Path, path: Path, format: str | None = None, machine: str | None = None
) -> dict[str, Any]:
    request = pipeline.Request(str(firmware), (str(path),), SERVICES, format, machine, True)
    document: dict[str, Any] = json.loads(store.characterization_json(pipeline.run(request)))
    return document


@pytest.fixture(scope="module")
def expected(
    firmware: Path, undisturbed: list[Step], published: dict[str, Any], tmp_path_factory: Any
) -> dict[str, Any]:
    """From the stream; and what it says is what the whole run gave."""
    path = tmp_path_factory.mktemp("formats") / "part.trace"
    path.write_bytes(stream(undisturbed))
    found = characterized(firmware, path)
    chosen = [s for s in published["services"] if s["name"] in UNDISTURBED]
    pairs = zip(found["services"], chosen, strict=True)
    assert {one["name"] for one, other in pairs if one != other} == NEIGHBOURS_SHOWN_ELSEWHERE
    return found


def test_the_services_are_rightly_chosen(oracle: Oracle, services: dict[str, Any]) -> None:
    """Interrupted are those whose own instructions are not one after the other in the run."""
    interrupted = {
        name
        for name in oracle.counted
        for window in oracle.of(name)
        if window.steps != list(range(window.steps[0], window.steps[-1] + 1))
    }
    assert interrupted == set(INTERRUPTED)
    kinds = {name for name, s in services["services"].items() if s["kind"] == "handler"}
    assert kinds == set(HANDLERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_run_in_every_format(
    case: Case, firmware: Path, undisturbed: list[Step], expected: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "trace"
    path.write_bytes(case.write(undisturbed))
    opened = open_trace(
        str(path), image=load_image(str(firmware)), machine=case.machine, format=case.format
    )
    assert {loss.lacks for loss in opened.info.losses} - {K.REGISTERS} == case.losses
    if case.refused is not None:
        with pytest.raises(InputError, match=case.refused):
            characterized(firmware, path, case.format, case.machine)
        return
    found = characterized(firmware, path, case.format, case.machine)
    stated = found.pop("provenance")["traces"][0].get("losses", [])
    assert {loss.split(":")[0] for loss in stated} == {loss.value for loss in case.losses}
    assert found == {key: value for key, value in expected.items() if key != "provenance"}


# ---- QEMU's real log ---------------------------------------------------------------------------


def test_qemus_real_log_has_the_same_instructions_and_exceptions(
    firmware: Path, run: Run, tmp_path: Path
) -> None:
    """The whole run, recorded by QEMU itself, against the plugin's stream."""
    path = tmp_path / "qemu.log"
    chain_log.record(firmware, path, "in_asm,exec,nochain,int")
    trace = open_trace(str(path), image=load_image(str(firmware)))
    batches = list(trace.batches())
    kind = np.concatenate([batch.kind for batch in batches])
    address = np.concatenate([batch.address for batch in batches])
    instruction = kind == Event.INSTRUCTION
    assert np.array_equal(address[instruction], np.array(run.pcs, dtype=np.uint64))
    others = np.flatnonzero(~instruction)
    before = np.cumsum(instruction)[others]
    assert [
        (int(at), int(kind[i]) == Event.EXCEPTION, int(address[i]))
        for at, i in zip(before, others, strict=True)
    ] == run.exceptions
    request = pipeline.Request(str(firmware), (str(path),), SERVICES)
    with pytest.raises(InputError, match=NO_MARKS):
        pipeline.run(request)


# ---- formats without exceptions ----------------------------------------------------------------

WITHOUT_EXCEPTIONS: list[tuple[str, Write, str | None]] = [
    ("execlog-8.2", execlog, "execlog-8.2"),
    ("renode-text", renode_text("PCAndOpcode"), None),
    ("renode-binary", renode_binary(5), None),
]
without_exceptions = pytest.mark.parametrize(
    ("write", "format"),
    [row[1:] for row in WITHOUT_EXCEPTIONS],
    ids=[r[0] for r in WITHOUT_EXCEPTIONS],
)


@without_exceptions
@pytest.mark.parametrize("name", INTERRUPTED + CUT + HANDLERS)
def test_an_interrupted_window_is_refused_without_exceptions(
    write: Write,
    format: str | None,
    name: str,
    firmware: Path,
    listing: Listing,
    run: Run,
    parts: dict[str, list[range]],
    tmp_path: Path,
) -> None:
    path = tmp_path / "trace"
    path.write_bytes(write(steps(listing, run, [parts[name][0]])))
    with pytest.raises(InputError) as error:
        characterized(firmware, path, format)
    assert name in str(error.value)
    assert error.value.hint


@without_exceptions
def test_a_service_within_a_handler_keeps_its_blocking_or_is_refused(
    write: Write,
    format: str | None,
    firmware: Path,
    listing: Listing,
    run: Run,
    parts: dict[str, list[range]],
    published: dict[str, Any],
    tmp_path: Path,
) -> None:
    """xSemaphoreGiveFromISR: preemption is held off all along, because a handler calls it."""
    name = "xSemaphoreGiveFromISR_waiter"
    (part,) = parts[name]
    entered = max(at for at, enters, _ in run.exceptions if enters and at <= part.start)
    left = min(at for at, enters, _ in run.exceptions if not enters and at >= part.stop)
    (expected,) = [s for s in published["services"] if s["name"] == name]
    path = tmp_path / "trace"
    path.write_bytes(stream(steps(listing, run, [range(entered - 1, left + 1)])))
    assert characterized(firmware, path)["services"] == [expected]
    path.write_bytes(write(steps(listing, run, [range(entered - 1, left + 1)])))
    try:
        found = characterized(firmware, path, format)["services"]
    except InputError:
        return
    assert found == [expected]
