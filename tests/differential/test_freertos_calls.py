"""Every public call of the kernel's headers is a service of the suite, or listed with a reason."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "rtos_tests" / "freertos"))

import public_calls
from public_calls import (
    Calls,
    characterized,
    left_out,
    listed,
    services,
    stands_for,
)

pytestmark = pytest.mark.firmware


def calls() -> Calls:
    if not (public_calls.KERNEL / "include" / "task.h").exists():
        pytest.skip("the kernel's source is not there (make kernel)")
    return public_calls.calls()


def test_the_headers_are_read() -> None:
    """Known cases by hand, and no fewer calls than the headers have."""
    known = calls()
    assert {"xTaskCreate", "vTaskDelay", "pvPortMalloc", "xQueueGenericSend"} <= known.functions
    assert not {"pxPortInitialiseStack", "xPortStartScheduler", "pvTaskCode"} & known.names
    assert known.macros["xQueueSend"] == {"xQueueGenericSend"}
    assert known.macros["xSemaphoreGive"] == {"xQueueGenericSend"}
    assert known.macros["xTaskNotifyGive"] == {"xTaskGenericNotify"}
    assert "xTimerGenericCommandFromISR" in known.macros["xTimerStopFromISR"]
    assert known.macros["taskENTER_CRITICAL"] == {"vPortEnterCritical"}
    assert known.constants["xQueueSend"] == known.constants["xQueueSendToBack"]
    assert known.constants["xQueueSend"] != known.constants["xQueueSendToFront"]
    atomic = {name for name in known.functions if name.startswith("Atomic_")}
    assert len(atomic) == 11
    assert "xCoRoutineCreate" in known.functions
    assert len(known.functions) > 150
    assert len(known.macros) > 90


def test_every_call_is_characterized_or_listed() -> None:
    known = calls()
    done = characterized(known, services())
    missing = known.names - done - stands_for().keys() - set(left_out())
    assert missing == set()


def test_no_call_is_listed_that_is_characterized_or_unknown() -> None:
    known = calls()
    done = characterized(known, services())
    names = [*stands_for(), *left_out()]
    assert len(names) == len(set(names))
    assert set(names) - known.names == set()
    assert set(names) & done == set()


def test_what_stands_for_a_call_has_its_function() -> None:
    known, entries = calls(), services()
    for call, service in stands_for().items():
        functions = known.macros.get(call, {call})
        assert entries[service] & functions, f"{call} by {service}"


def test_every_reason_is_given() -> None:
    for group in listed()["stands for"] + listed()["left out"]:
        assert len(group["because"].split()) >= 3
        assert group["calls"]


@pytest.mark.parametrize(
    "gone", ["xQueueGenericSend", "vTaskDelay", "xTimerGetPeriod", "application_taskYIELD"]
)
def test_a_service_that_is_gone_is_seen(gone: str) -> None:
    known = calls()
    fewer = {name: used - {gone} for name, used in services().items()}
    missing = known.names - characterized(known, fewer) - stands_for().keys() - set(left_out())
    assert gone.removeprefix("application_") in missing


def test_a_macro_of_instructions_alone_needs_a_function_that_holds_it() -> None:
    """Whatever else the service of its name has among its entries."""
    known = calls()
    assert known.macros["taskYIELD"] == set()
    assert "taskYIELD" in characterized(known, services())
    others = {**services(), "taskYIELD": {"application_taskENTER_CRITICAL", "vTaskDelay"}}
    assert "taskYIELD" not in characterized(known, others)


def test_the_matrix_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    calls()
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs))
    section = runpy.run_path(str(docs / "generate_matrix.py"))["counted"]()
    page = (docs / "reference" / "freertos-matrix.md").read_text(encoding="utf-8")
    assert section.strip() in page, "run: python docs/generate_matrix.py"
