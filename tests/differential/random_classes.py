"""Which published service a random call belongs to, at which values of its parameters.

Rests on what the random driver said of the kernel's state before the call, what the call returned,
and whether another thread ran in between. A call that no published service describes has a
:class:`Gap`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Facts = Mapping[str, int]


@dataclass(frozen=True)
class Call:
    """``result`` is ``None`` where nothing was said; ``parts`` how many pieces switches cut it in;
    ``after`` the functions that it ran through when it had been switched away: what it found then,
    the driver could not say before."""

    name: str
    facts: Facts
    result: int | None
    parts: int
    after: frozenset[str] = frozenset()
    rounds: int = 0
    """How often it was woken in vain and waited again. These pieces are not among ``parts``."""


@dataclass(frozen=True)
class Known:
    """``service`` at ``values`` of its parameters."""

    service: str
    values: Mapping[str, int]


@dataclass(frozen=True)
class Gap:
    """No published service describes this state."""

    state: str


Class = Known | Gap

AGAIN = {
    **{
        name: f"{name}_blocks_again"
        for name in (
            "xQueueReceive",
            "xQueuePeek",
            "xQueueSend",
            "xSemaphoreTake",
            "xSemaphoreTake_mutex",
            "xSemaphoreTakeRecursive",
            "xQueueSelectFromSet",
        )
    },
    "xQueueSendToFront": "xQueueSend_blocks_again",
    "xStreamBufferSend": "xStreamBufferSend_blocks_again",
    "xMessageBufferSend": "xStreamBufferSend_blocks_again",
}
"""Where a call waits, the service that says what each further round costs."""
READY = 0
"""The fact ``where`` of a task that is ready."""
MASKED = "(interrupts masked)"
"""Among ``Call.after`` where interrupts were masked by the call after the switch."""


def classify(call: Call) -> Class:
    rule = RULES.get(call.name)
    if rule is None:
        return Known(call.name, {})
    return rule(call)


def _one_parameter(parameter: str, fact: str) -> Callable[[Call], Class]:
    return lambda call: Known(call.name, {parameter: call.facts[fact]})


def _create(call: Call) -> Class:
    return Known(call.name, {"N": call.facts["N"]})


def _malloc(call: Call) -> Class:
    return Known("pvPortMalloc", {"N": call.facts["N"]})


def _calloc(call: Call) -> Class:
    words, beyond = divmod(call.facts["bytes"], 4)
    return Known("pvPortCalloc", {"N": call.facts["N"], "W": words + beyond + 2 * (beyond > 0)})


def _delete_task(call: Call) -> Class:
    f = call.facts
    name = "vTaskDelete" if f["delayed"] else "vTaskDelete_none_delayed"
    return Known(name, {"N": max(f["stack_below"], f["control_below"] + 1)})


def _tick(call: Call) -> Class:
    facts = call.facts
    if facts["wrap"]:
        return Known("tick_interrupt_wrap", {"K": facts["K"]})
    return Known("tick_interrupt", {"K": facts["K"]})


def _switch(call: Call) -> Class:
    """Where ready tasks are not found by counting zeros, by how many lists were looked at."""
    return Known(call.name, {"E": call.facts["E"]})


# ---- tasks ---------------------------------------------------------------------------------------


def _create_task(call: Call) -> Class:
    if call.facts["new"] > call.facts["me"] and call.result != 0:
        return Known("xTaskCreate_switch", {"N": call.facts["N"]})
    return Known(call.name, {"N": call.facts["N"]})


def _create_static(call: Call) -> Class:
    if call.facts["new"] > call.facts["me"]:
        return Known("xTaskCreateStatic_switch", {})
    return Known(call.name, {})


def _set_priority(call: Call) -> Class:
    f = call.facts
    if f["own"] and f["new"] <= f["base"]:
        kept = f["his"] > f["base"] and call.parts == 1
        return Known("vTaskPrioritySet_own_inherited" if kept else "vTaskPrioritySet_own", {})
    if call.parts > 1:
        return Known("vTaskPrioritySet_switch", {})
    if not f["own"] and f["where"] != READY and f["new"] > max(f["base"], f["me"]):
        return Known("vTaskPrioritySet_waiting", {})
    return Known("vTaskPrioritySet", {})


def _suspend(call: Call) -> Class:
    name = "vTaskSuspend_own" if call.facts["own"] else "vTaskSuspend"
    return Known(name if call.facts["delayed"] else f"{name}_none_delayed", {})


def _resume(call: Call) -> Class:
    if call.parts > 1:
        return Known("vTaskResume_switch", {})
    return Known("vTaskResume", {})


# ---- time ----------------------------------------------------------------------------------------


def _delay(call: Call) -> Class:
    f = call.facts
    if f["ticks"] == 0:
        return Known("vTaskDelay_zero", {})
    beyond = "_wrap" if f["wrap"] else ""
    if f["D"] == 0:
        return Known("vTaskDelay_first" + ("_last_tick" if f["last"] else beyond), {})
    return Known("vTaskDelay" + beyond, {"D": f["D"]})


def _delay_until(call: Call) -> Class:
    f = call.facts
    if f["late"]:
        return Known("xTaskDelayUntil_late", {})
    if f["D"] == 0:
        last = "_last_tick" if f["last"] else ""
        return Known(f"xTaskDelayUntil_first{last}", {})
    return Known("xTaskDelayUntil", {"D": f["D"]})


def _catch_up(call: Call) -> Class:
    f = call.facts
    if f["wrap"]:
        return Known("xTaskCatchUpTicks_wrap" + _stays(call), {"P": f["P"], "K": f["K"]})
    return Known("xTaskCatchUpTicks" + _stays(call), {"P": f["P"], "K": f["K"] + 1})


def _stays(call: Call) -> str:
    """Where a switch is asked for, there is one; else no task that was woken was more urgent."""
    return "_less_urgent" if call.parts == 1 else ""


def _resume_all(call: Call) -> Class:
    f = call.facts
    if f["nested"]:
        return Known("xTaskResumeAll", {})
    if f["wrap"]:
        name = "xTaskResumeAll_wrap" + _stays(call)
        return Known(name, {"R": f["R"], "P": f["P"], "K": f["K"]})
    if f["P"]:
        name = "xTaskResumeAll_ticks" + _stays(call)
        return Known(name, {"R": f["R"], "P": f["P"], "K": f["K"]})
    if f["R"]:
        if call.result and f["most"] <= f["me"]:
            return Known("xTaskResumeAll_ready_yield", {"R": f["R"]})
        name = "xTaskResumeAll_ready" + _stays(call)
        return Known(name if f["stays"] else f"{name}_none_delayed", {"R": f["R"]})
    return Known("xTaskResumeAll_yield" if call.result else "xTaskResumeAll", {})


# ---- queues --------------------------------------------------------------------------------------


def _by_size(name: str, facts: Facts) -> Known:
    """Where whole words are copied, a service has figures of its own."""
    if name in ("xQueueSend", "xQueueReceive") and not (facts["unaligned"] or facts["S"] % 4):
        return Known(f"{name}_aligned", {"W": facts["S"] // 4})
    return Known(name, {"S": facts["S"]})


def _transfer(call: Call) -> Class:
    """Send, receive and peek, where the caller may wait."""
    f, name = call.facts, call.name
    sends = name.startswith("xQueueSend")
    possible = f["filled"] < f["length"] if sends else f["filled"] > 0
    if name == "xQueueOverwrite":
        possible = True
    if not possible:
        return _waits(call, sends)
    if sends and f["set"]:
        waiter = f"_waiter{_stays(call)}" if f["waiting"] else ""
        return Known(f"{name}_set{waiter}", {"S": f["S"]})
    if f["waiting"]:
        return Known(f"{name}_waiter{_stays(call)}", {"S": f["S"]})
    return _by_size(name, f)


def _waits(call: Call, sends: bool) -> Class:
    f, name = call.facts, call.name
    to_either_end = name.removesuffix("ToFront")
    if f["limit"] == 0:
        return Known(f"{to_either_end}_fails", {})
    if f["left"]:
        return Known(f"{to_either_end}_gives_up", {})
    if call.result == 0:
        return Known(f"{to_either_end}_{_in_vain(call)}", {"D": f["D"], "W": f["W"]})
    if sends and f["set"]:
        return Known(f"{name}_set_blocks", {"S": f["S"], "D": f["D"], "W": f["W"]})
    less = "_less_urgent" if call.parts == 2 and name != "xQueuePeek" else ""
    return Known(f"{name}_blocks{less}", {"S": f["S"], "D": f["D"], "W": f["W"]})


def _in_vain(call: Call) -> str:
    """The end of the name, where the caller got nothing: its time was over, or another task ended
    its waiting."""
    return "aborted" if call.facts.get("aborted") else "times_out"


def _only_counts(facts: Facts, sends: bool) -> bool:
    """A task has locked the queue: what comes or goes is counted. What comes to one that is in a
    set is told to that instead."""
    return bool(facts.get("qlocked")) and not (sends and facts["set"])


def _transfer_in_isr(call: Call) -> Class:
    f, name = call.facts, call.name
    sends = name.startswith("xQueueSend")
    if not (f["filled"] < f["length"] if sends else f["filled"] > 0):
        return Known(f"{name}_fails", {})
    if _only_counts(f, sends) and name != "xQueuePeekFromISR":
        return Known(f"{name}_locked", {"S": f["S"]})
    if f["waiting"] and name != "xQueuePeekFromISR":
        if sends and f["set"]:
            return Known(f"{name}_set_waiter", {"S": f["S"]})
        return Known(f"{name}_waiter", {"S": f["S"]})
    if sends and f["set"]:
        return Known(f"{name}_set", {"S": f["S"]})
    return Known(name, {"S": f["S"]})


def _create_queue(call: Call) -> Class:
    """Without items it is a semaphore."""
    name = "xQueueCreate" if call.facts["size"] else "xSemaphoreCreateBinary"
    return Known(name, {"N": call.facts["N"]})


def _queue_reset(call: Call) -> Class:
    if not call.facts["waiting"]:
        return Known("xQueueReset", {})
    return Known(f"xQueueReset_waiter{_stays(call)}", {})


# ---- semaphores ----------------------------------------------------------------------------------


def _give(call: Call) -> Class:
    f = call.facts
    if f["filled"] == f["length"]:
        return Known("xSemaphoreGive_fails", {})
    if f["set"]:
        waiter = f"_waiter{_stays(call)}" if f["waiting"] else ""
        return Known(f"xSemaphoreGive_set{waiter}", {})
    return Known(f"xSemaphoreGive_waiter{_stays(call)}" if f["waiting"] else "xSemaphoreGive", {})


def _give_in_isr(call: Call) -> Class:
    f = call.facts
    if f["filled"] == f["length"]:
        return Known("xSemaphoreGiveFromISR_fails", {})
    if _only_counts(f, sends=True):
        return Known("xSemaphoreGiveFromISR_locked", {})
    if f["set"]:
        name = "xSemaphoreGiveFromISR_set"
        return Known(f"{name}_waiter" if f["waiting"] else name, {})
    if not f["waiting"]:
        return Known("xSemaphoreGiveFromISR", {})
    name = "xSemaphoreGiveFromISR_waiter"
    return Known(name if f["first"] > f["me"] else f"{name}_less_urgent", {})


def _take_in_isr(call: Call) -> Class:
    if call.facts["filled"] == 0:
        return Known("xSemaphoreTakeFromISR_fails", {})
    if _only_counts(call.facts, sends=False):
        return Known("xSemaphoreTakeFromISR_locked", {})
    return Known("xSemaphoreTakeFromISR", {})


def _take(call: Call) -> Class:
    f = call.facts
    if f["filled"]:
        return Known("xSemaphoreTake", {})
    if f["limit"] == 0:
        return Known("xSemaphoreTake_fails", {})
    if f["left"]:
        return Known("xSemaphoreTake_gives_up", {})
    if call.result == 0:
        return Known(f"xSemaphoreTake_{_in_vain(call)}", {"D": f["D"], "W": f["W"]})
    return Known("xSemaphoreTake_blocks", {"D": f["D"], "W": f["W"]})


def _abort_delay(call: Call) -> Class:
    return Known("xTaskAbortDelay" if call.parts > 1 else "xTaskAbortDelay_less_urgent", {})


def _check_time_out(call: Call) -> Class:
    if call.facts["left"]:
        return Known("xTaskCheckForTimeOut_aborted", {})
    return Known("xTaskCheckForTimeOut_over" if call.result else "xTaskCheckForTimeOut", {})


def _delete_static(call: Call) -> Class:
    name = "vTaskDelete_static"
    return Known(name if call.facts["delayed"] else f"{name}_none_delayed", {})


def _take_mutex(call: Call) -> Class:
    f, name = call.facts, call.name
    if name == "xSemaphoreTakeRecursive" and f["own"]:
        return Known("xSemaphoreTakeRecursive_again", {})
    if not f["held"]:
        return Known(name, {})
    if f["limit"] == 0:
        return Known(f"{name}_fails", {})
    if f["left"]:
        return Known(f"{name}_gives_up", {})
    name += "_blocks" if call.result else f"_{_in_vain(call)}"
    if f["W"]:
        return Known(f"{name}_behind", {"D": f["D"], "W": f["W"]})
    return Known(name, {"D": f["D"]})


def _give_mutex(call: Call) -> Class:
    f, name = call.facts, call.name
    if f.get("depth", 1) > 1:
        return Known("xSemaphoreGiveRecursive_inner", {})
    if f.get("set"):
        return Known(f"{name}_set" + (f"_waiter{_stays(call)}" if f["waiting"] else ""), {})
    if f["waiting"]:
        return Known(f"{name}_waiter{_stays(call)}", {})
    if f["me"] == f["my_base"]:
        return Known(name, {})
    if f["mutexes"] == 1:
        return Known(f"{name}_inherited", {})
    return Known("xSemaphoreGive_mutex_kept" if name == "xSemaphoreGive_mutex" else name, {})


# ---- notifications -------------------------------------------------------------------------------

WAITS, HAS_COME = 1, 2
SETS_BITS, COUNTS, SETS_IF_NONE = 1, 2, 4


def _notify(call: Call) -> Class:
    name = "xTaskNotifyAndQuery" if call.name == "xTaskNotify" else call.name
    waits = call.facts["state"] == WAITS
    if call.facts.get("action") == SETS_IF_NONE and call.facts["state"] == HAS_COME:
        return Known(f"{name}_fails", {})
    if call.facts.get("action") in (SETS_BITS, COUNTS):
        name += "_bits"
    if not waits:
        return Known(name, {})
    return Known(f"{name}_waiter" + ("" if "ISR" in name else _stays(call)), {})


def _wait_for_notification(call: Call) -> Class:
    f, name = call.facts, call.name
    there = f["value"] if name == "ulTaskNotifyTake" else f["state"] == HAS_COME
    if there:
        return Known(name, {})
    return _blocks(call, Known(f"{name}_blocks", {"D": f.get("D", 0)}))


def _blocks(call: Call, known: Known) -> Class:
    if call.facts["limit"] == 0:
        name = call.name
        if name in ("ulTaskNotifyTake", "xTaskNotifyWait", "xEventGroupWaitBits"):
            return Known(f"{name}_none", {})
        return Gap(f"{name} that fails at once")
    if call.parts > 2:
        return Gap(f"{call.name} that blocks more than once")
    if call.result == 0:
        return Known(
            known.service.replace("_any", "").replace("_blocks", "_times_out"), known.values
        )
    return known


# ---- event groups --------------------------------------------------------------------------------


def _set_bits(call: Call) -> Class:
    f = call.facts
    if f["M"]:
        return Known("xEventGroupSetBits" + _stays(call), {"M": f["M"], "U": f["U"]})
    return Known("xEventGroupSetBits_none", {"U": f["U"]})


def _wait_for_bits(call: Call) -> Class:
    f = call.facts
    if f["set_already"]:
        return Known("xEventGroupWaitBits", {})
    name = "xEventGroupWaitBits" + ("" if f["all"] else "_any")
    if (
        MASKED in call.after and call.parts == 2
    ):  # it was not woken by bits, and looks for them once more
        return Known(f"{name}_times_out", {"D": f["D"]})
    return _blocks(call, Known(f"{name}_blocks", {"D": f.get("D", 0)}))


def _sync(call: Call) -> Class:
    f = call.facts
    if f["set_already"]:
        return Known("xEventGroupSync" + _stays(call), {"W": f["waiting"]})
    others = {"M": f["M"], "U": f["U"]} if f["M"] else {"U": f["U"]}
    name = "xEventGroupSync_wakes" if f["M"] else "xEventGroupSync"
    if f["limit"] == 0:
        return Known(f"{name}_none" + (_stays(call) if f["M"] else ""), others)
    if call.parts > 2:
        return Gap("xEventGroupSync that blocks more than once")
    name += "_times_out" if MASKED in call.after else "_blocks"
    if f["M"] and f["most"] <= f["me"]:
        name += "_less_urgent"
    return Known(name, {"D": f["D"], **others})


def _delete_group(call: Call) -> Class:
    f = call.facts
    if f["waiting"]:
        return Known("vEventGroupDelete" + _stays(call), {"N": f["below"], "W": f["waiting"]})
    return Known("vEventGroupDelete_none", {"N": f["below"]})


# ---- stream and message buffers ------------------------------------------------------------------

LENGTH = 4  # of a message's length


def _stream(call: Call) -> Class:
    f, name = call.facts, call.name
    sends, in_isr = "Send" in name, name.endswith("FromISR")
    message = name.startswith("xMessage")
    needed = f["S"] + LENGTH * message if sends else 1
    would_block = (f["room"] if sends else f["bytes"]) < needed
    if would_block and not in_isr and f["limit"]:
        return _stream_waits(call)
    if not call.result:
        return Known(f"{name}_fails", {})
    if not f["waiting"]:
        return Known(name, {"S": call.result})
    return Known(f"{name}_waiter" + ("" if in_isr else _stays(call)), {"S": call.result})


def _stream_waits(call: Call) -> Class:
    """Where it woke somebody more urgent in the end, a second switch followed."""
    if call.parts > 3:
        return Gap(f"{call.name} that blocks more than once")
    if not call.result:
        return Known(f"{call.name}_times_out", {"S": 0, "D": call.facts["D"]})
    name = f"{call.name}_times_out" if _comes_short(call) else f"{call.name}_blocks"
    name += "_less_urgent" if call.parts == 2 else ""
    return Known(name, {"S": call.result, "D": call.facts["D"]})


def _comes_short(call: Call) -> bool:
    """Its time was over: it sent the part of a stream that there was room for, or received fewer
    bytes than the trigger level. (Room for all that came with the end of the time counts as in
    time: nothing tells.)"""
    f = call.facts
    if call.name.startswith("xMessage"):
        return False
    wanted = f["S"] if "Send" in call.name else min(f["S"], f["trigger"])
    return (call.result or 0) < wanted


# ---- timers and sets -----------------------------------------------------------------------------


def _timer_command(call: Call) -> Class:
    in_isr = call.name.endswith("FromISR")
    pends = call.name.startswith(("xTimerPend", "xEventGroup"))
    name = "xTimerPendFunctionCall" if pends else "xTimerStart"
    if call.result == 0:
        return Known(f"{name}FromISR_fails" if in_isr else f"{name}_fails", {})
    if pends:
        return Known(call.name, {})
    return Known("xTimerStartFromISR" if in_isr else "xTimerStart", {})


def _select(call: Call) -> Class:
    f, name = call.facts, call.name
    if f["filled"]:
        return Known(name, {})
    if f.get("limit"):
        if f["left"]:
            return Known(f"{name}_gives_up", {})
        if call.result == 0 and f.get("aborted") and call.parts <= 2:
            return Known(f"{name}_aborted", {"D": f["D"], "W": f["W"]})
        return _blocks(call, Known(f"{name}_blocks", {"D": f["D"], "W": f["W"]}))
    return Known(f"{name}_fails", {})


def _below(call: Call) -> Class:
    return Known(call.name, {"N": call.facts["below"]})


RULES: dict[str, Callable[[Call], Class]] = {
    "pvPortMalloc": _malloc,
    "pvPortCalloc": _calloc,
    "vPortFree": _below,
    "vPortGetHeapStats": _create,
    "vListInsert": _one_parameter("L", "L"),
    "vTaskDelete": _delete_task,
    "tick": _tick,
    "context_switch": _switch,
    "xTaskCreate": _create_task,
    "xTaskCreateStatic": _create_static,
    "vTaskPrioritySet": _set_priority,
    "vTaskSuspend": _suspend,
    "vTaskResume": _resume,
    "vTaskDelay": _delay,
    "xTaskDelayUntil": _delay_until,
    "xTaskCatchUpTicks": _catch_up,
    "xTaskResumeAll": _resume_all,
    "xTaskAbortDelay": _abort_delay,
    "xTaskCheckForTimeOut": _check_time_out,
    "vTaskDelete_static": _delete_static,
    "xQueueSend": _transfer,
    "xQueueSendToFront": _transfer,
    "xQueueOverwrite": _transfer,
    "xQueueReceive": _transfer,
    "xQueuePeek": _transfer,
    "xQueueSendFromISR": _transfer_in_isr,
    "xQueueReceiveFromISR": _transfer_in_isr,
    "xQueuePeekFromISR": _transfer_in_isr,
    "xQueueReset": _queue_reset,
    "xQueueCreate": _create_queue,
    "vQueueDelete": _below,
    "xSemaphoreGive": _give,
    "xSemaphoreTake": _take,
    "xSemaphoreGiveFromISR": _give_in_isr,
    "xSemaphoreTakeFromISR": _take_in_isr,
    "xSemaphoreTake_mutex": _take_mutex,
    "xSemaphoreTakeRecursive": _take_mutex,
    "xSemaphoreGive_mutex": _give_mutex,
    "xSemaphoreGiveRecursive": _give_mutex,
    "xTaskNotifyGive": _notify,
    "xTaskNotify": _notify,
    "xTaskNotifyAndQuery": _notify,
    "xTaskNotifyFromISR": _notify,
    "vTaskNotifyGiveFromISR": _notify,
    "ulTaskNotifyTake": _wait_for_notification,
    "xTaskNotifyWait": _wait_for_notification,
    "xEventGroupSetBits": _set_bits,
    "xEventGroupWaitBits": _wait_for_bits,
    "xEventGroupSync": _sync,
    "vEventGroupDelete": _delete_group,
    "vStreamBufferDelete": _below,
    "xStreamBufferSend": _stream,
    "xStreamBufferReceive": _stream,
    "xStreamBufferSendFromISR": _stream,
    "xStreamBufferReceiveFromISR": _stream,
    "xMessageBufferSend": _stream,
    "xMessageBufferReceive": _stream,
    "xMessageBufferSendFromISR": _stream,
    "xMessageBufferReceiveFromISR": _stream,
    "xQueueSelectFromSet": _select,
    "xQueueSelectFromSetFromISR": _select,
    **dict.fromkeys(
        (
            "xSemaphoreCreateBinary",
            "xSemaphoreCreateCounting",
            "xSemaphoreCreateMutex",
            "xEventGroupCreate",
            "xStreamBufferCreate",
            "xMessageBufferCreate",
            "xTimerCreate",
            "xQueueCreateSet",
        ),
        _create,
    ),
    **dict.fromkeys(
        (
            "xTimerStart",
            "xTimerReset",
            "xTimerStop",
            "xTimerChangePeriod",
            "xTimerDelete",
            "xTimerPendFunctionCall",
            "xTimerStartFromISR",
            "xTimerStopFromISR",
            "xTimerPendFunctionCallFromISR",
            "xEventGroupSetBitsFromISR",
            "xEventGroupClearBitsFromISR",
        ),
        _timer_command,
    ),
}
