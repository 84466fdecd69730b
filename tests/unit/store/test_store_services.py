"""Services files: what is read and what is refused."""

from __future__ import annotations

import re

import pytest

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.service import (
    AddressRange,
    FloatContext,
    Kernel,
    LogicalSection,
    Marks,
    Parameter,
    ParameterKind,
    SchedulerLock,
    SectionKind,
    Service,
    ServiceKind,
    ServicesFile,
)
from wcetchar.store import load_services

GOOD = """\
schema: wcetchar/services/1
kernel: {name: FreeRTOS, version: 11.20, configuration: {PRIORITIES: 5, HZ: 0x3E8}}
marks: {symbol: wcet_mark, values: 64}
sections:
  .text: {kind: code, linker sections: [.text, .fini], meaning: code}
  heap: {kind: data, symbols: [ucHeap]}
  scs: {kind: peripheral, address ranges: [{base: 0xE000E000, size: 4 KiB}]}
  stack: {kind: stack, linker sections: [.stack]}
hardware: {vector section: .text, main stack: stack, task stack: heap}
scheduler lock: {lock: [vTaskSuspendAll], unlock: [xTaskResumeAll]}
services:
  xTaskCreate:
    mark: 1
    kind: call
    entries: [xTaskCreate]
    description: create a task
    worst state: fragmented heap
    parameters:
      N: {kind: state, range: 1..16, meaning: free blocks}
      size: {kind: argument, range: 0..63, meaning: bytes}
  tick: {mark: 2, kind: handler, entries: [SysTick_Handler, xPortSysTickHandler]}
"""


@pytest.fixture
def write(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("services") / "s.yaml"

    def write(text: str) -> str:
        path.write_text(text)
        return str(path)

    return write


def mistakes(path: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        load_services(path)
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else [caught.value]
    return [(str(e.where).removeprefix(path + ":"), e.message) for e in errors]


def test_everything_is_read(write) -> None:
    path = write(GOOD)
    assert load_services(path) == ServicesFile(
        path=path,
        kernel=Kernel("FreeRTOS", "11.20", {"PRIORITIES": "5", "HZ": "0x3E8"}),
        marks=Marks("wcet_mark", 64, 0, 1, 2),
        sections=(
            LogicalSection(".text", SectionKind.CODE, (".text", ".fini"), meaning="code"),
            LogicalSection("heap", SectionKind.DATA, symbols=("ucHeap",)),
            LogicalSection(
                "scs", SectionKind.PERIPHERAL, ranges=(AddressRange(0xE000E000, 0xE000F000),)
            ),
            LogicalSection("stack", SectionKind.STACK, (".stack",)),
        ),
        services=(
            Service(
                name="xTaskCreate",
                mark=1,
                kind=ServiceKind.CALL,
                entries=("xTaskCreate",),
                parameters=(
                    Parameter("N", ParameterKind.STATE, 1, 16, "free blocks"),
                    Parameter("size", ParameterKind.ARGUMENT, 0, 63, "bytes"),
                ),
                description="create a task",
                worst_state="fragmented heap",
            ),
            Service("tick", 2, ServiceKind.HANDLER, ("SysTick_Handler", "xPortSysTickHandler")),
        ),
        scheduler_lock=SchedulerLock(("vTaskSuspendAll",), ("xTaskResumeAll",)),
        vector_section=".text",
        main_stack="stack",
        task_stack="heap",
    )


def test_the_scheduler_lock_is_optional_and_channels_can_be_moved(write) -> None:
    text = re.sub("scheduler lock:.*\n", "", GOOD)
    text = text.replace("values: 64", "values: 64, channels: {begin: 5, first parameter: 6}")
    found = load_services(write(text))
    assert found.scheduler_lock is None
    assert found.marks == Marks("wcet_mark", 64, 5, 1, 6)


def test_linker_sections_may_be_optional(write) -> None:
    text = GOOD.replace("linker sections: [.stack]", "optional linker sections: [.stack, .more]")
    (stack,) = [s for s in load_services(write(text)).sections if s.name == "stack"]
    assert (stack.linker_sections, stack.optional) == ((), (".stack", ".more"))


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("mark: 2", "mark: 1", "21:16", "the mark 1 of `tick` is taken"),
        ("mark: 2", "mark: 64", "21:16", "the mark 64 does not fit"),
        ("mark: 2", "mark: -2", "21:16", "`-2` cannot stand here"),
        ("mark: 2, ", "", "21:9", "the key `mark` is missing"),
        ("kind: handler", "kind: interrupt", "21:25", "`interrupt` is not known here"),
        ("entries: [xTaskCreate]", "entries: []", "15:14", "cannot stand here"),
        ("entries: [xTaskCreate]", "entries: xTaskCreate", "15:14", "cannot stand here"),
        ("[SysTick_Handler, x", "[xPortSysTickHandler, x", "21:65", "is listed twice"),
        ("1..16", "16..1", "19:31", "lower end of `16..1` is above"),
        ("1..16", "1-16", "19:31", "`1-16` is not a range"),
        ("1..16", "1..064", "19:31", "is not a range"),
        ("1..16", "1..64", "19:31", "does not fit a channel of 64 values"),
        ("1..16", "-1..16", "19:31", "does not fit a channel of 64 values"),
        ("      N:", "      2N:", "19:7", "`2N` cannot name a parameter"),
        ("      N:", "      max:", "19:7", "`max` is the name of a function"),
        ("      N:", "      size:", "20:7", "the key `size` is given twice"),
        ("main stack: stack", "main stack: stak", "9:47", "there is no logical section `stak`"),
        ("[.stack]", "[.text]", "8:42", "the linker section `.text` is listed twice"),
        ("[.text, .fini]", "[.text, .text]", "5:48", "the linker section `.text` is listed"),
        ("linker sections: [.stack]", "meaning: empty", "8:10", "nothing belongs to"),
        ("linker sections: [.stack]", "optional linker sections: [.text]", "8:51", "listed twice"),
        ("size: 4 KiB", "size: 0 KiB", "7:69", "not a whole number of bytes above zero"),
        ("[xTaskResumeAll]", "[vTaskSuspendAll]", "10:52", "both locks and unlocks"),
        ("[xTaskResumeAll]", "[]", "10:51", "cannot stand here"),
        ("values: 64", "values: 64, channels: {end: 0}", "3:56", "begin and end share"),
        ("values: 64", "values: 64, channels: {end: 3}", "3:56", "also one of the parameters'"),
        ("values: 64", "values: 0", "3:36", "`0` cannot stand here"),
        ("version: 11.20", "verison: 11.20", "2:26", "`verison` is not known here"),
    ],
)
def test_one_mistake_is_found_in_place(write, old: str, new: str, place: str, message: str) -> None:
    assert GOOD.count(old) >= 1
    found = mistakes(write(GOOD.replace(old, new, 1)))
    assert any(at == place and message in text for at, text in found), found


def test_all_mistakes_come_at_once(write) -> None:
    text = GOOD.replace("mark: 2", "mark: 1").replace("1..16", "16..1").replace("HZ:", "HZ: &a")
    text = text.replace("task stack: heap", "task stack: heaps").replace("kind: call", "kind: cal")
    assert [at for at, _ in mistakes(write(text))] == ["2:77", "9:66", "14:11", "19:31", "21:16"]


@pytest.mark.parametrize("context", [*FloatContext, None])
def test_the_floating_point_context_is_optional(write, context: FloatContext | None) -> None:
    key = "" if context is None else f", floating point context: {context.value}"
    found = load_services(write(GOOD.replace("task stack: heap}", f"task stack: heap{key}}}")))
    assert found.float_context is context


def test_a_floating_point_context_that_there_is_not(write) -> None:
    text = GOOD.replace("task stack: heap}", "task stack: heap, floating point context: never}")
    ((place, message),) = mistakes(write(text))
    assert place == "9:96"
    assert "never" in message


def test_exceptions_of_a_handler(write) -> None:
    """In decimal or hexadecimal; a call has none, and a number has 32 bits."""
    tick = "entries: [SysTick_Handler, xPortSysTickHandler]"
    found = load_services(write(GOOD.replace(tick, f"{tick}, exceptions: [0x80000007, 11]")))
    assert found.services[1].exceptions == (0x80000007, 11)
    assert found.services[0].exceptions == ()
    call = GOOD.replace("entries: [xTaskCreate]", "entries: [xTaskCreate]\n    exceptions: [11]")
    for kind in ("call", "blocking call", "final call"):
        with pytest.raises(InputError, match="a call serves no exceptions"):
            load_services(write(call.replace("kind: call", f"kind: {kind}")))
    with pytest.raises(InputError, match="a thread serves no exceptions"):
        load_services(write(call.replace("kind: call", "kind: activation")))
    with pytest.raises(InputError):
        load_services(write(GOOD.replace(tick, f"{tick}, exceptions: [0x100000000]")))


def test_what_the_hardware_touches_may_be_nothing(write) -> None:
    lines = [line for line in GOOD.splitlines() if not line.startswith("hardware")]
    found = load_services(write("\n".join(lines) + "\n"))
    assert (found.vector_section, found.main_stack, found.task_stack) == (None, None, None)
