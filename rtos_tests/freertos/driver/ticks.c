/* Ticks that were missed, calls that only give the processor away, and what asks for a switch while the
 * scheduler is locked. In each another task has the driver's priority, so that its turn has come. */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "helpers.h"
#include "semphr.h"

/* Each of three parameters at once. */
#define RESUMED_MAX 5u
#define RESUMED_AT_WRAP 4u
#define WOKEN_AT_WRAP 5u
#define CAUGHT_UP_AT_WRAP 6u
#define LONG 100u

static StaticQueue_t controls[RESUMED_MAX] KERNEL_OBJECT;
static SemaphoreHandle_t semaphores[RESUMED_MAX];
static StaticQueue_t other_control KERNEL_OBJECT;
static SemaphoreHandle_t nobody_gives;
static StaticTask_t equal_control KERNEL_OBJECT;
static StackType_t equal_stack[configMINIMAL_STACK_SIZE] TASK_STACK;
static TaskHandle_t equal;
static unsigned to_give;

static void gives_way(void *unused)
{
    (void)unused;
    for (;;)
        taskYIELD();
}

/* Where the core decides which is dearest: another ready task has the caller's priority, or none has; the
 * woken tasks are more urgent than the caller, or not, or the first is, or the last, which wakes at the last tick; the
 * others are less urgent, or as urgent where another has the caller's priority, so that the list that each comes to
 * has a task already. In
 * the last state no switch follows: it is a service of its own. */
enum urgent { ALL_URGENT, FIRST_URGENT, LAST_URGENT, NONE_URGENT };

struct state {
    int shares;
    enum urgent urgent;
};

static const struct state states[] = {
    {1, ALL_URGENT},   {0, ALL_URGENT},  {1, NONE_URGENT},
    {0, FIRST_URGENT}, {0, LAST_URGENT}, {1, FIRST_URGENT},
    {1, LAST_URGENT},  {0, NONE_URGENT},
};

#define SWITCHES 7u
#define STAYS 7u

static void share_priority(unsigned state)
{
    vTaskPrioritySet(equal, states[state].shares ? PRIORITY_DRIVER : PRIORITY_CREATED);
}

/* Of the first `woken` helpers, which wait already. */
static void set_urgency(unsigned woken, unsigned state)
{
    const unsigned more = states[state].urgent == LAST_URGENT;
    const int mixed = states[state].shares && states[state].urgent != NONE_URGENT;

    for (unsigned i = states[state].urgent == FIRST_URGENT; i + more < woken; i++)
        if (states[state].urgent != ALL_URGENT)
            vTaskPrioritySet(helper_handle(i), mixed ? PRIORITY_DRIVER : PRIORITY_CREATED);
}

static void give_all(void)
{
    BaseType_t woken = pdFALSE;

    for (unsigned i = 0; i < to_give; i++)
        CHECK(xSemaphoreGiveFromISR(semaphores[i], &woken) == pdPASS);
}

/* `woken` tasks wait for a semaphore as well, one for each tick from `first` on, and those that are left
 * for the last one. Where the last of them alone is urgent, it waits for that too. */
static void wait_for_ticks(unsigned helper, unsigned woken, unsigned first, unsigned last,
                           unsigned state)
{
    const int late = states[state].urgent == LAST_URGENT;

    for (unsigned i = 0; i < woken; i++)
        helper_take(helper + i, nobody_gives,
                    first + i < last && !(late && i + 1 == woken) ? first + i : last);
}

static void lock_and_miss(unsigned ready, unsigned ticks)
{
    to_give = ready;
    vTaskSuspendAll();
    board_interrupt();
    pass_time(ticks);
}

/* `ready` of them were woken by an interrupt, `woken` by ticks; one is delayed still. */
static void check_woken(unsigned ready, unsigned woken, unsigned state)
{
    for (unsigned i = 0; i < ready + woken; i++) {
        CHECK(helper_busy(i) == (uxTaskPriorityGet(helper_handle(i)) == PRIORITY_CREATED));
        if (helper_busy(i)) {
            CHECK(states[state].urgent != ALL_URGENT);
            CHECK(eTaskGetState(helper_handle(i)) == eReady);
            vTaskPrioritySet(helper_handle(i), helper_priority(i));
        }
        CHECK(!helper_busy(i) && helper_result(i) == (i < ready ? pdTRUE : pdFALSE));
    }
    CHECK(helper_busy(ready + woken));
    helpers_stop();
}

/* Worst: an interrupt has woken R tasks, P ticks were missed, and of these as many as there can be
 * wake a task each, K tasks in all, which wait for an event as well; all are more urgent than the
 * caller, and some other task stays delayed. */
static void measure_resume(unsigned ready, unsigned ticks, unsigned woken, unsigned state)
{
    const TickType_t before = xTaskGetTickCount();
    BaseType_t yielded;

    share_priority(state);
    helpers_start(ready + woken + 1);
    for (unsigned i = 0; i < ready; i++)
        helper_take(i, semaphores[i], portMAX_DELAY);
    wait_for_ticks(ready, woken, 1, ticks, state);
    set_urgency(ready + woken, state);
    helper_delay(ready + woken, LONG);
    lock_and_miss(ready, ticks);
    wcet_param(0, ready);
    wcet_param(1, ticks);
    wcet_param(2, woken);
    if (state != STAYS)
        wcet_param(3, state);
    if (state == STAYS)
        MEASURE(SERVICE_XTASKRESUMEALL_TICKS_LESS_URGENT, yielded = xTaskResumeAll());
    else
        MEASURE(SERVICE_XTASKRESUMEALL_TICKS, yielded = xTaskResumeAll());
    CHECK(yielded == (state != STAYS) && xTaskGetTickCount() == before + ticks);
    check_woken(ready, woken, state);
}

/* The count wraps around. Tasks wake after that; the tick at the largest count looks for some in any
 * case, for that is also the next unblock time where nobody is delayed. One tick more than P is driven:
 * so there is one beside those that wake tasks, wherever the wrap lies among P of them, and what
 * lists are empty or not when they are looked at makes less of a difference than a tick. */
static void measure_resume_wrap(unsigned ready, unsigned ticks, unsigned woken, unsigned state)
{
    BaseType_t yielded;

    share_priority(state);
    xTickCount = portMAX_DELAY - 2;
    board_tick();
    helpers_start(ready + woken + 1);
    for (unsigned i = 0; i < ready; i++)
        helper_take(i, semaphores[i], portMAX_DELAY);
    wait_for_ticks(ready, woken, 2, ticks + 1, state);
    set_urgency(ready + woken, state);
    helper_delay(ready + woken, LONG);
    CHECK(xTaskGetTickCount() == portMAX_DELAY - 1);
    lock_and_miss(ready, ticks + 1);
    wcet_param(0, ready);
    wcet_param(1, ticks);
    wcet_param(2, woken);
    if (state != STAYS)
        wcet_param(3, state);
    if (state == STAYS)
        MEASURE(SERVICE_XTASKRESUMEALL_WRAP_LESS_URGENT, yielded = xTaskResumeAll());
    else
        MEASURE(SERVICE_XTASKRESUMEALL_WRAP, yielded = xTaskResumeAll());
    CHECK(yielded == (state != STAYS) && xTaskGetTickCount() == ticks - 1);
    check_woken(ready, woken, state);
}

/* A task that was to wake got what it waited for: the kernel looks for it at the next tick all the
 * same. */
static void leave_unblock_time(unsigned helper)
{
    helper_take(helper, semaphores[0], 1);
    CHECK(xSemaphoreGive(semaphores[0]) == pdTRUE);
    CHECK(!helper_busy(helper) && helper_result(helper) == pdTRUE);
}

/* Worst: the first tick looks for a task in vain, and each further one wakes a task, as long as there
 * are some. */
static void measure_catch_up(unsigned ticks, unsigned woken, unsigned state)
{
    const TickType_t before = xTaskGetTickCount();
    BaseType_t yielded;

    share_priority(state);
    helpers_start(woken + 2);
    wait_for_ticks(0, woken, 2, ticks, state);
    set_urgency(woken, state);
    helper_delay(woken, LONG);
    leave_unblock_time(woken + 1);
    wcet_param(0, ticks);
    wcet_param(1, woken + 1);
    if (state != STAYS)
        wcet_param(2, state);
    if (state == STAYS)
        MEASURE(SERVICE_XTASKCATCHUPTICKS_LESS_URGENT, yielded = xTaskCatchUpTicks(ticks));
    else
        MEASURE(SERVICE_XTASKCATCHUPTICKS, yielded = xTaskCatchUpTicks(ticks));
    CHECK(yielded == (state != STAYS) && xTaskGetTickCount() == before + ticks);
    check_woken(0, woken, state);
}

/* Worst: as for xTaskResumeAll_wrap; before that a tick looks for a task in vain, so that there are two
 * ticks more. */
static void measure_catch_up_wrap(unsigned ticks, unsigned woken, unsigned state)
{
    BaseType_t yielded;

    share_priority(state);
    xTickCount = portMAX_DELAY - 3;
    board_tick();
    helpers_start(woken + 2);
    wait_for_ticks(0, woken, 3, ticks + 2, state);
    set_urgency(woken, state);
    helper_delay(woken, LONG);
    leave_unblock_time(woken + 1);
    CHECK(xTaskGetTickCount() == portMAX_DELAY - 2);
    wcet_param(0, ticks);
    wcet_param(1, woken);
    if (state != STAYS)
        wcet_param(2, state);
    if (state == STAYS)
        MEASURE(SERVICE_XTASKCATCHUPTICKS_WRAP_LESS_URGENT, yielded = xTaskCatchUpTicks(ticks + 2));
    else
        MEASURE(SERVICE_XTASKCATCHUPTICKS_WRAP, yielded = xTaskCatchUpTicks(ticks + 2));
    CHECK(yielded == (state != STAYS) && xTaskGetTickCount() == ticks - 1);
    check_woken(0, woken, state);
}

static void tick_count_from_isr(void)
{
    TickType_t ticks;

    MEASURE(SERVICE_XTASKGETTICKCOUNTFROMISR, ticks = xTaskGetTickCountFromISR());
    CHECK(ticks == xTaskGetTickCount());
}

/* The other task runs, and gives the processor back. Since the time of the last waking neither the tick count nor
 * the time to wake has wrapped around, or the count alone has, or both have. */
static void measure_ways(void)
{
    static TickType_t wake CALLER_DATA;
    BaseType_t result;

    MEASURE(SERVICE_VTASKDELAY_ZERO, vTaskDelay(0));
    for (unsigned state = 0; state < 3; state++) {
        const TickType_t ago = state == 1 ? 10 : 5;

        xTickCount = state == 0 ? 1000 : 3;
        wake = xTickCount - ago;
        wcet_param(0, state);
        MEASURE(SERVICE_XTASKDELAYUNTIL_LATE, result = xTaskDelayUntil(&wake, 4));
        CHECK(result == pdFALSE && wake == xTickCount - ago + 4);
        CHECK(xTickCount == (state == 0 ? 1000 : 3) && (wake > xTickCount) == (state == 1));
    }
    clock_far_from_wrap();
    vTaskSuspendAll();
    taskYIELD();
    MEASURE(SERVICE_XTASKRESUMEALL_YIELD, result = xTaskResumeAll());
    CHECK(result == pdTRUE);
}

void measure_ticks(void)
{
    equal = xTaskCreateStatic(gives_way, "equal", configMINIMAL_STACK_SIZE, NULL, PRIORITY_DRIVER,
                              equal_stack, &equal_control);
    CHECK(equal != NULL);
    nobody_gives = xSemaphoreCreateBinaryStatic(&other_control);
    for (unsigned i = 0; i < RESUMED_MAX; i++)
        semaphores[i] = xSemaphoreCreateBinaryStatic(&controls[i]);
    driver_on_interrupt = give_all;
    for (unsigned ready = 1; ready <= RESUMED_MAX; ready++)
        for (unsigned ticks = 1; ticks <= RESUMED_MAX; ticks++)
            for (unsigned woken = 1; woken <= RESUMED_MAX; woken++) {
                for (unsigned state = 0; state < SWITCHES; state++)
                    measure_resume(ready, ticks, woken, state);
                measure_resume(ready, ticks, woken, STAYS);
            }
    for (unsigned ready = 1; ready <= RESUMED_AT_WRAP; ready++)
        for (unsigned ticks = 1; ticks <= RESUMED_AT_WRAP; ticks++)
            for (unsigned woken = 0; woken <= WOKEN_AT_WRAP; woken++) {
                for (unsigned state = 0; state < SWITCHES; state++)
                    measure_resume_wrap(ready, ticks, woken, state);
                measure_resume_wrap(ready, ticks, woken, STAYS);
            }
    in_interrupt(tick_count_from_isr);
    for (unsigned ticks = 1; ticks <= PENDED_MAX; ticks++)
        for (unsigned woken = 1; woken <= WOKEN_AT_WRAP; woken++) {
            for (unsigned state = 0; state < SWITCHES; state++)
                measure_catch_up(ticks, woken, state);
            measure_catch_up(ticks, woken, STAYS);
            for (unsigned state = 0; ticks <= CAUGHT_UP_AT_WRAP && state < SWITCHES; state++)
                measure_catch_up_wrap(ticks, woken, state);
            if (ticks <= CAUGHT_UP_AT_WRAP)
                measure_catch_up_wrap(ticks, woken, STAYS);
        }
    share_priority(0);
    measure_ways();
    vTaskDelete(equal);
}

#endif
