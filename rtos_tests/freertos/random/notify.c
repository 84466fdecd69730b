/* Notifications. */
#include "random.h"

static uint32_t values[WORKERS + 1] CALLER_DATA;

/* 0: nothing, 1: waits, 2: has come (taskNOT_WAITING_NOTIFICATION and so on, tasks.c). */
static void say_state(TaskHandle_t task)
{
    say("state", ((const StaticTask_t *)task)->ucDummy19[0]);
    say("value", ((const StaticTask_t *)task)->ulDummy18[0] != 0);
    say("his", (unsigned)priority_of(task));
    say("me", (unsigned)priority_of(NULL));
    say("where", where_is(task));
    say("locked", (unsigned)uxSchedulerSuspended);
}

static TaskHandle_t self(void)
{
    return xTaskGetCurrentTaskHandle();
}

static void notify(void)
{
    static const eNotifyAction actions[] = {eNoAction, eSetBits, eIncrement, eSetValueWithOverwrite,
                                            eSetValueWithoutOverwrite};
    const TaskHandle_t task = some_task();
    const eNotifyAction action = actions[chance(5)];
    BaseType_t result;
    unsigned number;

    switch (chance(3)) {
    case 0:
        number = say_call("xTaskNotifyGive");
        say_state(task);
        MEASURED(number, result = xTaskNotifyGive(task));
        break;
    case 1:
        number = say_call("xTaskNotify");
        say_state(task);
        say("action", action);
        MEASURED(number, result = xTaskNotify(task, 1 + chance(9), action));
        break;
    default:
        number = say_call("xTaskNotifyAndQuery");
        say_state(task);
        say("action", action);
        MEASURED(number, result = xTaskNotifyAndQuery(task, 1 + chance(9), action, &values[WORKERS]));
    }
    say_result(number, (unsigned)result);
}

static void take(void)
{
    const TickType_t limit = some_limit();
    const BaseType_t clear = chance(2) ? pdTRUE : pdFALSE;
    const unsigned number = say_call("ulTaskNotifyTake");
    uint32_t count;

    say_state(self());
    say_limit(limit, NULL);
    MEASURED(number, count = ulTaskNotifyTake(clear, limit));
    say_result(number, count != 0);
}

static void wait(void)
{
    const TickType_t limit = some_limit();
    const uint32_t before = chance(2) ? UINT32_MAX : 0;
    const uint32_t after = chance(2) ? UINT32_MAX : 0;
    const unsigned number = say_call("xTaskNotifyWait");
    uint32_t *value = chance(3) ? &values[chance(WORKERS)] : NULL;
    BaseType_t result;

    say_state(self());
    say_limit(limit, NULL);
    MEASURED(number, result = xTaskNotifyWait(before, after, value, limit));
    say_result(number, (unsigned)result);
}

static void clear(void)
{
    TaskHandle_t task = chance(2) ? NULL : some_task();
    unsigned number = say_call("xTaskNotifyStateClear");

    MEASURED(number, (void)xTaskNotifyStateClear(task));
    number = say_call("ulTaskNotifyValueClear");
    MEASURED(number, (void)ulTaskNotifyValueClear(task, 3));
}

const struct choice notify_choices[] = {{notify, 6}, {take, 3}, {wait, 3}, {clear, 1}, {NULL, 0}};

BaseType_t isr_notify(void)
{
    static const eNotifyAction actions[] = {eNoAction, eSetBits, eIncrement, eSetValueWithOverwrite,
                                            eSetValueWithoutOverwrite};
    const TaskHandle_t task = some_task();
    const eNotifyAction action = actions[chance(5)];
    BaseType_t woken = pdFALSE;
    unsigned number;

    switch (chance(3)) {
    case 0:
        number = say_call("vTaskNotifyGiveFromISR");
        say_state(task);
        MEASURED(number, vTaskNotifyGiveFromISR(task, &woken));
        break;
    case 1:
        number = say_call("xTaskNotifyFromISR");
        say_state(task);
        say("action", action);
        MEASURED(number, (void)xTaskNotifyFromISR(task, 1 + chance(9), action, &woken));
        break;
    default:
        number = say_call("xTaskNotifyFromISR");
        say_state(task);
        say("action", action);
        MEASURED(number, (void)xTaskNotifyAndQueryFromISR(task, 1 + chance(9), action,
                                                          &values[WORKERS], &woken));
    }
    return woken;
}
