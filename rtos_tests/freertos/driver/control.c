/* Tasks that are there already: static ones, states, priorities with a switch, resumption from an
 * interrupt, and the time that a call may wait. */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "heap.h"
#include "helpers.h"

#define STACK_WORDS configMINIMAL_STACK_SIZE

static const char longest_name[] CALLER_CONSTANT = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static TaskHandle_t created CALLER_DATA;
static TimeOut_t since CALLER_DATA;
static TickType_t remaining CALLER_DATA;
static StaticTask_t control KERNEL_OBJECT;
static StackType_t stack[STACK_WORDS] TASK_STACK;
static StaticQueue_t empty_control KERNEL_OBJECT;
static uint8_t empty_storage[4] KERNEL_OBJECT;
static QueueHandle_t empty;

static void never_runs(void *unused)
{
    (void)unused;
    CHECK(!"a task of lower priority ran");
}

static void waits_for_ever(void *unused)
{
    uint32_t item;

    (void)unused;
    (void)xQueueReceive(empty, &item, portMAX_DELAY);
    CHECK(!"something was received from a queue that nobody sends to");
}

static void waits_long(void *unused)
{
    uint32_t item;

    (void)unused;
    (void)xQueueReceive(empty, &item, 1000);
    CHECK(!"the time was over");
}

static void suspends_itself(void *unused)
{
    (void)unused;
    for (;;)
        vTaskSuspend(NULL);
}

static void lifts_the_driver(void *unused)
{
    (void)unused;
    for (;;)
        vTaskPrioritySet(driver_handle, PRIORITY_DRIVER);
}

static TaskHandle_t create(TaskFunction_t function, UBaseType_t priority)
{
    TaskHandle_t task = xTaskCreateStatic(function, longest_name, STACK_WORDS, NULL, priority,
                                          stack, &control);

    CHECK(task != NULL);
    return task;
}

static void measure_static(void)
{
    MEASURE(SERVICE_XTASKCREATESTATIC,
            created = xTaskCreateStatic(never_runs, longest_name, STACK_WORDS, NULL,
                                        PRIORITY_CREATED, stack, &control));
    CHECK(created == (TaskHandle_t)&control);
    CHECK(uxTaskPriorityGet(created) == PRIORITY_CREATED);
    vTaskDelete(created);

    /* The task runs before the call returns, and suspends itself; and so when it is resumed. */
    MEASURE(SERVICE_XTASKCREATESTATIC_SWITCH,
            created = xTaskCreateStatic(suspends_itself, longest_name, STACK_WORDS, NULL,
                                        PRIORITY_DRIVER + 2, stack, &control));
    CHECK(created == (TaskHandle_t)&control && eTaskGetState(created) == eSuspended);
    MEASURE(SERVICE_VTASKRESUME_SWITCH, vTaskResume(created));
    CHECK(eTaskGetState(created) == eSuspended);
    vTaskDelete(created);

    /* Worst: as for vTaskDelete. */
    another_delayed(1);
    created = create(waits_for_ever, PRIORITY_DRIVER + 2);
    CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS + 2);
    MEASURE(SERVICE_VTASKDELETE_STATIC, vTaskDelete(created));
    CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS + 1);
    another_delayed(0);
    created = create(waits_long, PRIORITY_DRIVER + 2);
    MEASURE(SERVICE_VTASKDELETE_STATIC_NONE_DELAYED, vTaskDelete(created));
}

/* Worst: the task is alone in its ready list with the index on it, is lifted above the caller, and
 * runs before the call returns. */
static void measure_priority_switch(void)
{
    created = create(suspends_itself, PRIORITY_CREATED);
    put_index_on(created);
    MEASURE(SERVICE_VTASKPRIORITYSET_SWITCH, vTaskPrioritySet(created, PRIORITY_DRIVER + 2));
    CHECK(uxTaskPriorityGet(created) == PRIORITY_DRIVER + 2);
    CHECK(eTaskGetState(created) == eSuspended);
    vTaskDelete(created);

    /* The caller gives its priority away, and with it the processor. It gets both back. */
    created = create(lifts_the_driver, PRIORITY_DRIVER - 1);
    MEASURE(SERVICE_VTASKPRIORITYSET_OWN, vTaskPrioritySet(NULL, PRIORITY_CREATED));
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    vTaskDelete(created);
}

static unsigned less_urgent;

static void resume_from_isr(void)
{
    BaseType_t needed;
    UBaseType_t priority;

    if (!less_urgent) {
        MEASURE(SERVICE_UXTASKPRIORITYGETFROMISR, priority = uxTaskPriorityGetFromISR(NULL));
        CHECK(priority == PRIORITY_DRIVER);
    }
    wcet_param(0, less_urgent);
    MEASURE(SERVICE_XTASKRESUMEFROMISR, needed = xTaskResumeFromISR(created));
    CHECK(needed == !less_urgent);
    BOARD_YIELD_FROM_ISR(needed);
}

/* Worst: the task is more urgent than the interrupted one, or less, and the scheduler is not locked. */
static void measure_resume_from_isr(void)
{
    for (less_urgent = 0; less_urgent <= 1; less_urgent++) {
        created = create(suspends_itself, PRIORITY_DRIVER + 2);
        CHECK(eTaskGetState(created) == eSuspended);
        if (less_urgent)
            vTaskPrioritySet(created, PRIORITY_CREATED);
        driver_on_interrupt = resume_from_isr;
        board_interrupt();
        driver_on_interrupt = NULL;
        CHECK(eTaskGetState(created) == (less_urgent ? eReady : eSuspended));
        vTaskDelete(created);
    }
}

static void deletes_itself(void *unused)
{
    (void)unused;
    vTaskDelete(NULL);
}

static void waits_for_notification(void *unused)
{
    (void)unused;
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
}

static void is_delayed(void *unused)
{
    (void)unused;
    vTaskDelay(1000);
}

/* eTaskGetState compares the lists one after the other; which state takes longest to find is the core's: the
 * task waits for neither an event nor a notification; for a notification; for an event; is ready; has deleted
 * itself; is delayed. */
static void measure_states(void)
{
    static const struct {
        TaskFunction_t function;
        UBaseType_t priority;
        eTaskState state;
    } ways[] = {
        {suspends_itself, PRIORITY_DRIVER + 2, eSuspended},
        {waits_for_notification, PRIORITY_DRIVER + 2, eBlocked},
        {waits_for_ever, PRIORITY_DRIVER + 2, eBlocked},
        {never_runs, PRIORITY_CREATED, eReady},
        {deletes_itself, PRIORITY_DRIVER + 2, eDeleted},
        {is_delayed, PRIORITY_DRIVER + 2, eBlocked},
    };

    for (unsigned way = 0; way < 6; way++) {
        eTaskState state;

        created = create(ways[way].function, ways[way].priority);
        wcet_param(0, way);
        MEASURE(SERVICE_ETASKGETSTATE, state = eTaskGetState(created));
        CHECK(state == ways[way].state);
        if (state == eDeleted)
            vTaskDelay(1); /* the idle task takes its memory back */
        else
            vTaskDelete(created);
    }
}

static void measure_state(void)
{
    UBaseType_t count;
    const char *name;
    TaskHandle_t self;

    measure_states();
    created = create(suspends_itself, PRIORITY_DRIVER + 2);
    MEASURE(SERVICE_UXTASKGETNUMBEROFTASKS, count = uxTaskGetNumberOfTasks());
    CHECK(count == TASKS_ALWAYS + 1);
    MEASURE(SERVICE_PCTASKGETNAME, name = pcTaskGetName(NULL));
    CHECK(name[0] == 'd');
    vTaskDelete(created);
    MEASURE(SERVICE_XTASKGETCURRENTTASKHANDLE, self = xTaskGetCurrentTaskHandle());
    CHECK(self == driver_handle);
}

/* Worst: the tick count has wrapped around; time has passed and some remains, so that both have to be
 * brought up to date. */
static void measure_timeout(void)
{
    BaseType_t over;

    clock_wraps_in(1);
    MEASURE(SERVICE_VTASKSETTIMEOUTSTATE, vTaskSetTimeOutState(&since));
    pass_time(2);
    remaining = 10;
    MEASURE(SERVICE_XTASKCHECKFORTIMEOUT, over = xTaskCheckForTimeOut(&since, &remaining));
    CHECK(over == pdFALSE && remaining == 8);
    clock_wraps_in(1);
    vTaskSetTimeOutState(&since);
    pass_time(2);
    remaining = 1;
    MEASURE(SERVICE_XTASKCHECKFORTIMEOUT_OVER, over = xTaskCheckForTimeOut(&since, &remaining));
    CHECK(over == pdTRUE && remaining == 0);
    clock_far_from_wrap();
}

#if INCLUDE_xTaskAbortDelay == 1
/* Worst: the task waits for an event without a time limit and is more urgent than the caller, or not; another
 * task is delayed. */
static void measure_abort(void)
{
    BaseType_t result;

    helpers_start(2);
    helper_delay(0, 1000);
    helper_receive(1, empty, &remaining, portMAX_DELAY);
    MEASURE(SERVICE_XTASKABORTDELAY, result = xTaskAbortDelay(helper_handle(1)));
    CHECK(result == pdPASS && !helper_busy(1) && helper_result(1) == pdFALSE);
    helper_receive(1, empty, &remaining, portMAX_DELAY);
    vTaskPrioritySet(helper_handle(1), PRIORITY_DRIVER - 1);
    MEASURE(SERVICE_XTASKABORTDELAY_LESS_URGENT, result = xTaskAbortDelay(helper_handle(1)));
    CHECK(result == pdPASS && eTaskGetState(helper_handle(1)) == eReady && helper_busy(1));
    helpers_stop();
}
#endif

void measure_control(void)
{
    empty = xQueueCreateStatic(1, sizeof(uint32_t), empty_storage, &empty_control);
    measure_static();
    measure_priority_switch();
    measure_resume_from_isr();
    measure_state();
    measure_timeout();
#if INCLUDE_xTaskAbortDelay == 1
    measure_abort();
#endif
}

#endif
