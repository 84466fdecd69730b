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
static StaticTask_t beside_control KERNEL_OBJECT;
static StackType_t beside_stack[STACK_WORDS] TASK_STACK;
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
    for (;;) {
        vTaskPrioritySet(driver_handle, PRIORITY_DRIVER);
        taskYIELD(); /* where the driver is as urgent now */
    }
}

/* The driver is as urgent as this task; what it has inherited is written by hand, and so is its end. */
static void gives_priority_back(void *unused)
{
    (void)unused;
    CHECK(((StaticTask_t *)driver_handle)->uxDummy12[0] == PRIORITY_CREATED);
    for (;;) {
        ((StaticTask_t *)driver_handle)->uxDummy12[0] = PRIORITY_DRIVER;
        taskYIELD();
    }
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
    CHECK(listCURRENT_LIST_LENGTH(list_of(created)) == 1);
    MEASURE(SERVICE_VTASKDELETE_STATIC, vTaskDelete(created));
    CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS + 1);
    another_delayed(0);
    created = create(waits_long, PRIORITY_DRIVER + 2);
    CHECK(listCURRENT_LIST_LENGTH(list_of(created)) == 1);
    MEASURE(SERVICE_VTASKDELETE_STATIC_NONE_DELAYED, vTaskDelete(created));
}

/* In its ready list a task stands alone or before another (`shares`), which is `beside`, and the list's index
 * stands on it or does not. */
#define PLACES 4u

static void place_in_list(TaskHandle_t task, unsigned place, TaskFunction_t beside)
{
    List_t *const list = list_of(task);
    const int shares = place >= 2, indexed = place % 2 == 0;

    list->pxIndex = (ListItem_t *)&list->xListEnd;
    if (shares)
        CHECK(xTaskCreateStatic(beside, longest_name, STACK_WORDS, NULL, uxTaskPriorityGet(task),
                                beside_stack, &beside_control) != NULL);
    CHECK(listCURRENT_LIST_LENGTH(list) == (shares ? 2 : 1));
    if (indexed)
        put_index_on(task);
}

static void take_beside_away(unsigned place)
{
    if (place >= 2)
        vTaskDelete((TaskHandle_t)&beside_control);
}

/* A task is lifted above the caller and runs before the call returns. It has inherited a priority, above which it
 * goes too, or none; and its event item tells bits of an event group, as of a task that was woken from one and has
 * not run since, or does not. What it takes many calls to reach is written by hand, as in tasks.c. */
static void measure_priority_switch(unsigned change, unsigned place)
{
    const UBaseType_t before = PRIORITY_CREATED + 1, after = PRIORITY_DRIVER + 2;

    created = create(suspends_itself, before);
    place_in_list(created, place, never_runs);
    CHECK(control.uxDummy12[0] == before);
    if (change % 2 == 1)
        control.uxDummy12[0] = before - 1;
    if (change >= 2)
        control.xDummy3[1].xDummy2 |= ~(~(TickType_t)0 >> 1);
    wcet_param(0, change);
    wcet_param(1, place);
    MEASURE(SERVICE_VTASKPRIORITYSET_SWITCH, vTaskPrioritySet(created, after));
    CHECK(uxTaskPriorityGet(created) == after && control.uxDummy12[0] == after);
    CHECK(eTaskGetState(created) == eSuspended);
    take_beside_away(place);
    vTaskDelete(created);
}

/* The caller gives its priority away, and with it the processor: to a task that is less urgent than it was, or,
 * from place 2 on, to one that was as urgent. It gets both back. Or it keeps what it has inherited, and the
 * processor goes to a task that is as urgent. */
static void measure_priority_own(unsigned place, int inherited)
{
    created = create(lifts_the_driver, PRIORITY_DRIVER - 1);
    place_in_list(driver_handle, place, inherited ? gives_priority_back : lifts_the_driver);
    if (inherited)
        ((StaticTask_t *)driver_handle)->uxDummy12[0] = PRIORITY_DRIVER - 1;
    wcet_param(0, inherited ? place + 2 : place);
    MEASURE(SERVICE_VTASKPRIORITYSET_OWN, vTaskPrioritySet(NULL, PRIORITY_CREATED));
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(((StaticTask_t *)driver_handle)->uxDummy12[0] == PRIORITY_DRIVER);
    take_beside_away(place);
    vTaskDelete(created);
}

/* The task waits, and would be more urgent than the caller if it did not: the kernel asks for a switch that finds
 * the caller again. It has inherited no priority, or goes above it, or keeps it; its event item tells bits of an
 * event group for which it waits, or does not. */
static void measure_priority_waiting(unsigned change)
{
    const UBaseType_t before = change % 3 == 2 ? PRIORITY_DRIVER + 3 : PRIORITY_CREATED + 1;
    const UBaseType_t after = PRIORITY_DRIVER + 2;

    created = create(waits_for_ever, PRIORITY_DRIVER + 1);
    vTaskPrioritySet(created, before);
    CHECK(eTaskGetState(created) == eBlocked && control.uxDummy12[0] == before);
    if (change % 3 > 0)
        control.uxDummy12[0] = PRIORITY_CREATED;
    if (change >= 3)
        control.xDummy3[1].xDummy2 |= ~(~(TickType_t)0 >> 1);
    wcet_param(0, change);
    MEASURE(SERVICE_VTASKPRIORITYSET_WAITING, vTaskPrioritySet(created, after));
    CHECK(eTaskGetState(created) == eBlocked && control.uxDummy12[0] == after);
    CHECK(uxTaskPriorityGet(created) == (change % 3 == 2 ? before : after));
    vTaskDelete(created);
}

static void measure_priority_switches(void)
{
    for (unsigned change = 0; change < 4; change++)
        for (unsigned place = 0; place < PLACES; place++)
            measure_priority_switch(change, place);
    for (unsigned place = 0; place < PLACES; place++)
        measure_priority_own(place, 0);
    for (unsigned place = 2; place < PLACES; place++)
        measure_priority_own(place, 1);
    for (unsigned change = 0; change < 6; change++)
        measure_priority_waiting(change);
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
        in_interrupt(resume_from_isr);
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

/* Waiting began some ticks ago; the tick count has wrapped around since, or has not, or has, and has come past the
 * time at which it began. */
enum began { BEFORE_WRAP, NO_WRAP, LONG_AGO };

static void begin_waiting(enum began began)
{
    if (began == NO_WRAP)
        clock_far_from_wrap();
    else
        clock_wraps_in(1);
    vTaskSetTimeOutState(&since);
    pass_time(2);
    if (began == LONG_AGO)
        clock_wraps_in(1);
}

static void measure_timeout(void)
{
    BaseType_t over;

    MEASURE(SERVICE_VTASKSETTIMEOUTSTATE, vTaskSetTimeOutState(&since));
    /* Time has passed and some remains, so that both have to be brought up to date; or there is no limit. */
    for (unsigned state = 0; state < 3; state++) {
        const TickType_t limit = state == 2 ? portMAX_DELAY : 10;

        begin_waiting(state == 0 ? BEFORE_WRAP : NO_WRAP);
        remaining = limit;
        wcet_param(0, state);
        MEASURE(SERVICE_XTASKCHECKFORTIMEOUT, over = xTaskCheckForTimeOut(&since, &remaining));
        CHECK(over == pdFALSE && remaining == (state == 2 ? limit : limit - 2));
    }
    for (enum began began = BEFORE_WRAP; began <= LONG_AGO; began++) {
        begin_waiting(began);
        remaining = 1;
        wcet_param(0, began);
        MEASURE(SERVICE_XTASKCHECKFORTIMEOUT_OVER, over = xTaskCheckForTimeOut(&since, &remaining));
        CHECK(over == pdTRUE && remaining == 0);
    }
#if INCLUDE_xTaskAbortDelay == 1
    begin_waiting(NO_WRAP);
    remaining = 10;
    /* As xTaskAbortDelay leaves it, until the task looks. */
    ((StaticTask_t *)driver_handle)->ucDummy21 = pdTRUE;
    MEASURE(SERVICE_XTASKCHECKFORTIMEOUT_ABORTED, over = xTaskCheckForTimeOut(&since, &remaining));
    CHECK(over == pdTRUE && remaining == 10);
    CHECK(((StaticTask_t *)driver_handle)->ucDummy21 == pdFALSE);
#endif
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
    measure_priority_switches();
    measure_resume_from_isr();
    measure_state();
    measure_timeout();
#if INCLUDE_xTaskAbortDelay == 1
    measure_abort();
#endif
}

#endif
