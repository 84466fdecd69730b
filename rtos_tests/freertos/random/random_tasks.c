/* Tasks: creation and deletion of tasks that stand about, priorities, suspension. */
#include "random.h"

/* A task that is never measured: it waits for this or that. */
void stands_about(void *unused)
{
    (void)unused;
    for (;;) {
        switch (chance(6)) {
        case 0:
            vTaskSuspend(NULL);
            break;
        case 1:
            (void)ulTaskNotifyTake(pdTRUE, 1 + chance(10));
            break;
        case 2:
            (void)xSemaphoreTake(some_semaphore(), chance(3) ? 1 + chance(10) : portMAX_DELAY);
            break;
        default:
            vTaskDelay(1 + chance(12));
        }
    }
}

static const char long_name[] CALLER_CONSTANT = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char short_name[] CALLER_CONSTANT = "T";

static void create(void)
{
    TaskHandle_t *place = free_place(0);
    const char *name = chance(2) ? long_name : short_name;
    const UBaseType_t priority = 1 + chance(PRIORITY_WORKER_MAX);
    const configSTACK_DEPTH_TYPE words = configMINIMAL_STACK_SIZE + chance(3);
    BaseType_t result;
    unsigned number;

    if (place == NULL)
        return;
    number = say_call("xTaskCreate");
    say("N", free_blocks());
    say("new", (unsigned)priority);
    say("me", (unsigned)priority_of(NULL));
    MEASURED(number, result = xTaskCreate(stands_about, name, words, NULL, priority, place));
    if (result != pdPASS)
        *place = NULL;
    say_result(number, (unsigned)result);
}

static void create_static(void)
{
    TaskHandle_t *place = free_place(1);
    const char *name = chance(2) ? long_name : short_name;
    const UBaseType_t priority = 1 + chance(PRIORITY_WORKER_MAX);
    unsigned number;

    if (place == NULL)
        return;
    number = say_call("xTaskCreateStatic");
    say("new", (unsigned)priority);
    say("me", (unsigned)priority_of(NULL));
    /* The new task may run before the call returns. */
    *place = (TaskHandle_t)control_of(place);
    MEASURED(number, (void)xTaskCreateStatic(stands_about, name, configMINIMAL_STACK_SIZE, NULL,
                                             priority, stack_of(place), control_of(place)));
}

static void delete(void)
{
    TaskHandle_t *place = taken_place();
    TaskHandle_t task;
    unsigned number;

    if (place == NULL || chance(3))
        return;
    task = *place;
    if (place_is_static(place)) {
        number = say_call("vTaskDelete_static");
    } else {
        number = say_call("vTaskDelete");
        say("stack_below", free_blocks_below(((StaticTask_t *)task)->pxDummy6));
        say("control_below", free_blocks_below(task));
        say("N", free_blocks());
    }
    say("where", where_is(task));
    say("event", (unsigned)waits_for_event(task));
    say("delayed", delayed_beside(task));
    MEASURED(number, vTaskDelete(task));
    *place = NULL;
}

static void say_task(TaskHandle_t task)
{
    say("where", where_is(task));
    say("event", (unsigned)waits_for_event(task));
    say("delayed", delayed_beside(task));
    say("his", (unsigned)priority_of(task));
    say("base", (unsigned)base_priority_of(task));
    say("me", (unsigned)priority_of(NULL));
    say("ready", (unsigned)urgent_ready());
    say("own", task == NULL || task == xTaskGetCurrentTaskHandle());
}

static void set_priority(void)
{
    TaskHandle_t task = chance(3) ? some_task() : NULL;
    const UBaseType_t priority = 1 + chance(PRIORITY_WORKER_MAX);
    const unsigned number = say_call("vTaskPrioritySet");

    say_task(task);
    say("new", (unsigned)priority);
    MEASURED(number, vTaskPrioritySet(task, priority));
}

static void get_priority(void)
{
    const TaskHandle_t task = some_task();
    const unsigned number = say_call("uxTaskPriorityGet");

    MEASURED(number, (void)uxTaskPriorityGet(task));
}

static BaseType_t get_priority_from_isr(void)
{
    const TaskHandle_t task = some_task();
    const unsigned number = say_call("uxTaskPriorityGetFromISR");

    MEASURED(number, (void)uxTaskPriorityGetFromISR(task));
    return pdFALSE;
}

static void suspend(void)
{
    TaskHandle_t task = chance(4) ? some_task() : NULL;
    unsigned number;

    if (task == xTaskGetCurrentTaskHandle())
        task = NULL;
    if (task == NULL && chance(2))
        return;
    number = say_call("vTaskSuspend");
    say_task(task);
    MEASURED(number, vTaskSuspend(task));
}

static int is_suspended(TaskHandle_t task)
{
    return task != xTaskGetCurrentTaskHandle() && eTaskGetState(task) == eSuspended;
}

static TaskHandle_t suspended_task(void)
{
    for (unsigned i = 0; i < 12; i++) {
        const TaskHandle_t task = some_task();

        if (is_suspended(task))
            return task;
    }
    return NULL;
}

static void resume(void)
{
    const TaskHandle_t task = suspended_task();
    unsigned number;

    if (task == NULL)
        return;
    number = say_call("vTaskResume");
    say_task(task);
    MEASURED(number, vTaskResume(task));
}

static TaskHandle_t resumed;

BaseType_t isr_resume(void)
{
    BaseType_t needed = pdFALSE;
    unsigned number;

    resumed = some_task();
    if (where_is(resumed) != 2 || waits_for_event(resumed))
        return pdFALSE;
    number = say_call("xTaskResumeFromISR");
    say_task(resumed);
    say("locked", (unsigned)uxSchedulerSuspended);
    MEASURED(number, needed = xTaskResumeFromISR(resumed));
    say_result(number, (unsigned)needed);
    return needed;
}

static void abort_delay(void)
{
    const TaskHandle_t task = some_task();
    BaseType_t result;
    unsigned number;

    if (task == xTaskGetCurrentTaskHandle() || chance(2))
        return;
    number = say_call("xTaskAbortDelay");
    say_task(task);
    about_to_abort(task);
    MEASURED(number, result = xTaskAbortDelay(task));
    say_result(number, (unsigned)result);
}

static void ask(void)
{
    const TaskHandle_t task = some_task();
    unsigned number = say_call("eTaskGetState");

    MEASURED(number, (void)eTaskGetState(task));
    number = say_call("pcTaskGetName");
    MEASURED(number, (void)pcTaskGetName(task));
    number = say_call("uxTaskGetNumberOfTasks");
    MEASURED(number, (void)uxTaskGetNumberOfTasks());
    number = say_call("xTaskGetCurrentTaskHandle");
    MEASURED(number, (void)xTaskGetCurrentTaskHandle());
    switch_in_interrupt(get_priority_from_isr);
}

static void yield(void)
{
    taskYIELD();
}

const struct choice task_choices[] = {
    {create, 3},       {create_static, 3}, {delete, 5}, {set_priority, 5}, {get_priority, 1},
    {suspend, 3},      {resume, 5},        {ask, 1},    {abort_delay, 2},  {yield, 2},
    {NULL, 0},
};
