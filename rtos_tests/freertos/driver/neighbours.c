/* Tasks that calls take out of the suspended ones and put into a ready list, with other neighbours there than
 * elsewhere: alone in the one and the first in the other, or between two and beside another, where the index of the
 * ready list stands on its head or on that other task. So do new tasks. A neighbour is a task or the list's head, which lies
 * elsewhere. What is executed is the same, so that no state is added: these invocations show which instructions can access
 * both (`either of` in services.yaml). */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "heap.h"
#include "helpers.h"
#include "semphr.h"
#include "urgency.h"

#include "event_groups.h"
#include "timers.h"

enum around { ALONE, BETWEEN, BETWEEN_AT_INDEX };

#define TARGET 0u
#define BITS 1u

static StaticQueue_t control KERNEL_OBJECT, nobody_gives_control KERNEL_OBJECT;
static StaticEventGroup_t group_control KERNEL_OBJECT;
#if configUSE_TIMERS == 1
static StaticTimer_t timer_control KERNEL_OBJECT;
#endif
static SemaphoreHandle_t semaphore, nobody_gives;
static EventGroupHandle_t group;
static uint32_t previous CALLER_DATA;

static BaseType_t takes(void *which)
{
    return xSemaphoreTake(which, portMAX_DELAY);
}

static BaseType_t meets(void *unused)
{
    (void)unused;
    return xEventGroupSync(group, 0, BITS, portMAX_DELAY) == BITS;
}

/* The target waits by `how`, if it is to do more than to wait for a notification, and gets the priority of the
 * task that stands ready. */
static void start(enum around around, helper_function *how, void *argument)
{
    const unsigned ready = 2;

    suspended_in_front(around == ALONE ? NOBODY_IN_FRONT : ANOTHER_IN_FRONT);
    helpers_start(around == ALONE ? 1 : 3);
    if (how != NULL)
        helper_call(TARGET, how, argument);
    if (around != ALONE) {
        helper_call(1, takes, nobody_gives);
        urgency_stand(ready, PRIORITY_CREATED);
    }
    if (around == BETWEEN_AT_INDEX)
        put_index_on(helper_handle(ready));
    CHECK(listCURRENT_LIST_LENGTH(list_of(helper_handle(TARGET))) == (around == ALONE ? 1 : 3));
    vTaskPrioritySet(helper_handle(TARGET), PRIORITY_CREATED);
}

static void finish(enum around around, int waited)
{
    const List_t *const ready = list_of(helper_handle(TARGET));

    CHECK(listCURRENT_LIST_LENGTH(ready) == (around == ALONE ? 1 : 2));
    CHECK(eTaskGetState(helper_handle(TARGET)) == eReady);
    vTaskPrioritySet(helper_handle(TARGET), helper_priority(TARGET));
    CHECK(!helper_busy(TARGET) && (!waited || helper_result(TARGET) == pdTRUE));
    helpers_stop();
    suspended_as_before();
}

static void give_from_isr(void)
{
    BaseType_t woken = pdFALSE;

    wcet_param(0, STAYS);
    MEASURE(SERVICE_VTASKNOTIFYGIVEFROMISR_WAITER, vTaskNotifyGiveFromISR(helper_handle(TARGET), &woken));
    CHECK(woken == pdFALSE);
}

static void notify_from_isr(void)
{
    BaseType_t woken = pdFALSE, result;

    wcet_param(0, 0);
    wcet_param(1, STAYS);
    MEASURE(SERVICE_XTASKNOTIFYFROMISR_WAITER,
            result = xTaskNotifyAndQueryFromISR(helper_handle(TARGET), 5, eSetValueWithoutOverwrite, &previous,
                                                &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void wake_from_isr(void)
{
    BaseType_t woken = pdFALSE;

    CHECK(xSemaphoreGiveFromISR(semaphore, &woken) == pdTRUE && woken == pdFALSE);
}

static void resume_from_isr(void)
{
    BaseType_t needed;

    wcet_param(0, 1);
    MEASURE(SERVICE_XTASKRESUMEFROMISR, needed = xTaskResumeFromISR(helper_handle(TARGET)));
    CHECK(needed == pdFALSE);
}

static void measure_notifications_among(enum around around)
{
    start(around, NULL, NULL);
    MEASURE(SERVICE_XTASKNOTIFYGIVE_WAITER_LESS_URGENT, (void)xTaskNotifyGive(helper_handle(TARGET)));
    finish(around, 0);
    start(around, NULL, NULL);
    in_interrupt(give_from_isr);
    finish(around, 0);
    start(around, NULL, NULL);
    in_interrupt(notify_from_isr);
    finish(around, 0);
}

static void measure_events_among(enum around around)
{
    BaseType_t result;
    EventBits_t bits;

    start(around, takes, semaphore);
    MEASURE(SERVICE_XSEMAPHOREGIVE_WAITER_LESS_URGENT, result = xSemaphoreGive(semaphore));
    CHECK(result == pdTRUE);
    finish(around, 1);
    start(around, meets, NULL);
    wcet_param(0, 1);
    wcet_param(1, 0);
    MEASURE(SERVICE_XEVENTGROUPSYNC_LESS_URGENT, bits = xEventGroupSync(group, BITS, BITS, portMAX_DELAY));
    CHECK(bits == BITS);
    finish(around, 1);
    start(around, takes, semaphore);
    vTaskSuspendAll();
    in_interrupt(wake_from_isr);
    wcet_param(0, 1);
    MEASURE(SERVICE_XTASKRESUMEALL_READY_LESS_URGENT_NONE_DELAYED, result = xTaskResumeAll());
    CHECK(result == pdFALSE);
    finish(around, 1);
}

static void suspend(enum around around)
{
    start(around, NULL, NULL);
    vTaskSuspend(helper_handle(TARGET));
    if (around != ALONE) {
        /* Behind it again. */
        CHECK(xSemaphoreGive(nobody_gives) == pdTRUE);
        helper_call(1, takes, nobody_gives);
    }
}

static void measure_resumes_among(enum around around)
{
    suspend(around);
    MEASURE(SERVICE_VTASKRESUME, vTaskResume(helper_handle(TARGET)));
    finish(around, 0);
    suspend(around);
    in_interrupt(resume_from_isr);
    finish(around, 0);
#if INCLUDE_xTaskAbortDelay == 1
    {
        BaseType_t result;

        start(around, takes, semaphore);
        MEASURE(SERVICE_XTASKABORTDELAY_LESS_URGENT, result = xTaskAbortDelay(helper_handle(TARGET)));
        CHECK(result == pdPASS);
        finish(around, 0);
        CHECK(helper_result(TARGET) == pdFALSE);
    }
#endif
}

CALLER_TEXT static void never_runs(void *unused)
{
    (void)unused;
    CHECK(!"a task of lower priority ran");
}

/* As tasks.c and control.c have it: of the heap an odd number of words, and a name that is longer than can be kept. */
#define STACK_WORDS 129u
static const char longest_name[] CALLER_CONSTANT = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static StaticTask_t created_control KERNEL_OBJECT;
static StackType_t created_stack[configMINIMAL_STACK_SIZE] TASK_STACK;

/* The new task comes between two others: before the one on which the index stands. */
static void measure_creations(void)
{
    const unsigned first = 0, second = 1, blocks = 1, rounded_up = 0, no_new_minimum = 1;
    TaskHandle_t created;
    BaseType_t result;

    helpers_start(2);
    urgency_stand(first, PRIORITY_CREATED);
    urgency_stand(second, PRIORITY_CREATED);
    put_index_on(helper_handle(second));
    heap_minimum(no_new_minimum);
    CHECK(heap_free_blocks() == blocks);
    wcet_param(0, blocks);
    wcet_param(1, rounded_up);
    wcet_param(2, no_new_minimum);
    MEASURE(SERVICE_XTASKCREATE, result = xTaskCreate(never_runs, longest_name, STACK_WORDS, NULL, PRIORITY_CREATED,
                                                      &created));
    CHECK(result == pdPASS && listCURRENT_LIST_LENGTH(list_of(created)) == 3);
    vTaskDelete(created);
    put_index_on(helper_handle(second));
    MEASURE(SERVICE_XTASKCREATESTATIC,
            created = xTaskCreateStatic(never_runs, longest_name, configMINIMAL_STACK_SIZE, NULL, PRIORITY_CREATED,
                                        created_stack, &created_control));
    CHECK(created != NULL && listCURRENT_LIST_LENGTH(list_of(created)) == 3);
    vTaskDelete(created);
    helpers_stop();
}

#if configUSE_TIMERS == 1
CALLER_TEXT static void expires(TimerHandle_t unused)
{
    (void)unused;
}

/* The timers' task waits for commands in a list that is the kernel's own, alone: its neighbour there is the list's
 * head. */
static void measure_tick_for_timers(void)
{
    const unsigned woken = 1, more_urgent_than_the_only_one = 1, another_stays_delayed = 0;
    const TimerHandle_t timer = xTimerCreateStatic("timer", 1, pdFALSE, NULL, expires, &timer_control);

    helpers_start(1);
    helper_delay(0, 100);
    CHECK(xTimerStart(timer, 0) == pdPASS);
    wcet_param(0, woken);
    wcet_param(1, more_urgent_than_the_only_one);
    wcet_param(2, another_stays_delayed);
    MEASURE(SERVICE_TICK_INTERRUPT, board_tick());
    CHECK(xTimerIsTimerActive(timer) == pdFALSE);
    CHECK(helper_busy(0));
    helpers_stop();
}
#endif

void measure_neighbours(void)
{
    semaphore = xSemaphoreCreateBinaryStatic(&control);
    nobody_gives = xSemaphoreCreateBinaryStatic(&nobody_gives_control);
    group = xEventGroupCreateStatic(&group_control);
    for (enum around around = ALONE; around <= BETWEEN_AT_INDEX; around++) {
        measure_notifications_among(around);
        measure_events_among(around);
        measure_resumes_among(around);
    }
    measure_creations();
#if configUSE_TIMERS == 1
    measure_tick_for_timers();
#endif
}

#endif
