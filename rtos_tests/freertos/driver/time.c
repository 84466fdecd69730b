/* What time does: delays and the tick interrupt. */
#include "board.h"
#include "helpers.h"
#include "semphr.h"
#include "switches.h"

static StaticQueue_t semaphore_control KERNEL_OBJECT;
static SemaphoreHandle_t semaphore;

/* Worst: D tasks wake no later than the caller, so that its place is behind them all; the caller
 * is the only ready task of its priority. It sleeps inside the call, on which the idle task makes
 * the ticks. */
static void measure_delay(void)
{
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++) {
        const TickType_t before = xTaskGetTickCount();

        helpers_start(delayed);
        for (unsigned i = 0; i < delayed; i++)
            helper_delay(i, 1 + i % 2);
        wcet_param(0, delayed);
        MEASURE(SERVICE_VTASKDELAY, vTaskDelay(2));
        CHECK(xTaskGetTickCount() == before + 2);
        for (unsigned i = 0; i < delayed; i++)
            CHECK(!helper_busy(i));
        helpers_stop();
    }
}

/* Where the caller wakes at the largest tick count, its place is found in another way. No task is
 * delayed. */
static void measure_delay_last_tick(void)
{
    const TickType_t before = xTickCount;

    xTickCount = portMAX_DELAY - 2;
    board_tick();
    MEASURE(SERVICE_VTASKDELAY_FIRST_LAST_TICK, vTaskDelay(1));
    CHECK(xTaskGetTickCount() == portMAX_DELAY);
    xTickCount = before;
}

/* The caller is the first to wake, so that the next unblock time is set as well. Or it is not, because it is that
 * of a task that was to wake earlier and was woken by an event. */
static void measure_delay_first(unsigned state)
{
    static StaticQueue_t control KERNEL_OBJECT;
    const SemaphoreHandle_t semaphore = xSemaphoreCreateBinaryStatic(&control);
    const TickType_t before = xTaskGetTickCount();

    helpers_start(2);
    helper_delay(0, 100);
    if (state == 1) {
        helper_take(1, semaphore, 1);
        CHECK(xSemaphoreGive(semaphore) == pdTRUE);
        CHECK(!helper_busy(1) && helper_result(1) == pdTRUE);
    }
    /* Nobody else is delayed, and the tick at which the other one was to wake has not come. */
    CHECK(listCURRENT_LIST_LENGTH(list_of(helper_handle(0))) == 1);
    CHECK(xTaskGetTickCount() == before);
    wcet_param(0, state);
    MEASURE(SERVICE_VTASKDELAY_FIRST, vTaskDelay(2));
    CHECK(xTaskGetTickCount() == before + 2 && helper_busy(0));
    helpers_stop();
}

/* Where the core decides which is dearest: the partner stands before the interrupted task at its priority, or
 * is not ready there, or stands behind it, so that the choice of the next task does not pass the end of their
 * list; and the woken tasks are more urgent than the interrupted one, or as urgent, or less; or the first or the
 * last of them alone is more urgent, the others as urgent as the partner, so that the list that each comes to
 * has a task already. */
enum place { BEFORE, NOWHERE, BEHIND };
enum woken { MORE_URGENT, AS_URGENT, LESS_URGENT, FIRST_URGENT, LAST_URGENT };

static const struct state {
    enum place partner;
    enum woken woken;
} states[] = {
    {BEFORE, MORE_URGENT}, {NOWHERE, MORE_URGENT}, {BEFORE, AS_URGENT},
    {BEHIND, AS_URGENT},   {NOWHERE, LESS_URGENT},   {BEFORE, FIRST_URGENT},
    {NOWHERE, FIRST_URGENT}, {BEFORE, LAST_URGENT}, {NOWHERE, LAST_URGENT},
};
#define WAYS 9u
#define MIXED_FROM 5u /* states in which some of those that are woken are more urgent, and others are not */

/* A single task that is woken is all of them: its state is that of the same partner. The first and those behind it
 * go other ways through the tick, so that what one of them alone costs is no point of the line over their number. */
static unsigned case_of(unsigned state, unsigned woken)
{
    return woken == 1 && state >= MIXED_FROM ? (state - MIXED_FROM) % 2 : state;
}

static UBaseType_t woken_priority(const struct state *state, unsigned i, unsigned woken)
{
    const unsigned urgent = state->woken == FIRST_URGENT ? 0 : woken - 1;

    if (state->woken == AS_URGENT)
        return PRIORITY_DRIVER;
    if (state->woken == LESS_URGENT)
        return PRIORITY_CREATED;
    if (i == urgent)
        return PRIORITY_URGENT;
    if (state->woken == MORE_URGENT)
        return helper_priority(i);
    return state->partner == NOWHERE ? PRIORITY_CREATED : PRIORITY_DRIVER;
}

static void place_partner(TaskHandle_t partner, enum place place)
{
    vTaskPrioritySet(partner, PRIORITY_CREATED);
    /* Puts the index of the ready list on the driver; what is added later stands before it. */
    taskYIELD();
    if (place != NOWHERE)
        vTaskPrioritySet(partner, PRIORITY_DRIVER);
    if (place == BEHIND) {
        /* The driver stands before the partner when it comes back. */
        vTaskPrioritySet(NULL, PRIORITY_DRIVER + 1);
        vTaskPrioritySet(NULL, PRIORITY_DRIVER);
    }
}

/* `woken` tasks wait for a semaphore until the next tick; one more is delayed beyond it, or none (`alone`). */
static void wait_for_tick(unsigned woken, const struct state *state, unsigned alone)
{
    helpers_start(woken + 2);
    if (!alone)
        helper_delay(woken, 100);
    if (woken == 0) {
        /* Nobody wakes, but the kernel looks: a task that was to wake got what it waited for, and
         * the kernel does not set the next unblock time anew then. */
        helper_take(1, semaphore, 1);
        CHECK(xSemaphoreGive(semaphore) == pdTRUE);
        CHECK(!helper_busy(1) && helper_result(1) == pdTRUE);
    }
    for (unsigned i = 0; i < woken; i++)
        helper_take(i, semaphore, 1);
    for (unsigned i = 0; i < woken; i++)
        vTaskPrioritySet(helper_handle(i), woken_priority(state, i, woken));
}

static void check_woken(unsigned woken, unsigned alone)
{
    for (unsigned i = 0; i < woken; i++) {
        vTaskPrioritySet(helper_handle(i), helper_priority(i));
        CHECK(!helper_busy(i) && helper_result(i) == pdFALSE);
    }
    CHECK(helper_busy(woken) == !alone);
    helpers_stop();
}

/* Worst: every woken task waits for an event as well and is more urgent than the interrupted one,
 * which also shares its priority; a further task stays delayed, or none, where the next unblock time is found in
 * another way. */
static void measure_tick_in(TaskHandle_t partner, unsigned woken, unsigned state, unsigned alone)
{
    const TickType_t before = xTaskGetTickCount();

    place_partner(partner, states[state].partner);
    wait_for_tick(woken, &states[state], alone);
    wcet_param(0, woken);
    wcet_param(1, case_of(state, woken));
    wcet_param(2, alone);
    MEASURE(SERVICE_TICK_INTERRUPT, board_tick());
    CHECK(xTaskGetTickCount() == before + 1);
    check_woken(woken, alone);
}

static void measure_tick(TaskHandle_t partner)
{
    for (unsigned woken = 0; woken <= WOKEN_MAX; woken++)
        for (unsigned state = 0; state < WAYS; state++)
            for (unsigned alone = 0; alone < 2; alone++)
                measure_tick_in(partner, woken, state, alone);
    place_partner(partner, BEFORE);
}

/* The same at the tick that takes the count from its largest value to 0, where the kernel swaps
 * its two lists of delayed tasks first. */
static void measure_tick_wrap_in(TaskHandle_t partner, unsigned woken, unsigned state, unsigned alone)
{
    place_partner(partner, states[state].partner);
    /* No task is delayed now. The tick sets the next unblock time. */
    xTickCount = portMAX_DELAY - 1;
    board_tick();
    CHECK(xTaskGetTickCount() == portMAX_DELAY);
    wait_for_tick(woken, &states[state], alone);
    wcet_param(0, woken);
    wcet_param(1, state);
    wcet_param(2, alone);
    MEASURE(SERVICE_TICK_INTERRUPT_WRAP, board_tick());
    CHECK(xTaskGetTickCount() == 0);
    check_woken(woken, alone);
}

static void measure_tick_wrap(TaskHandle_t partner)
{
    for (unsigned woken = 1; woken <= WOKEN_MAX; woken++)
        for (unsigned state = 0; state < WAYS; state++)
            for (unsigned alone = 0; alone < 2; alone++)
                measure_tick_wrap_in(partner, woken, state, alone);
    place_partner(partner, BEFORE);
}

void measure_time(void)
{
    TaskHandle_t partner;

    if (!DRIVER_INTERRUPTS_ALONE) {
        measure_delay();
        for (unsigned state = 0; state < 2; state++)
            measure_delay_first(state);
        if (DRIVER_WHOLE)
            measure_delay_last_tick();
    }

    semaphore = xSemaphoreCreateBinaryStatic(&semaphore_control);
    partner = partner_created();
    measure_switches(partner);
    if (!DRIVER_INTERRUPTS_ALONE) {
        measure_tick(partner);
        measure_tick_wrap(partner);
    }
    vTaskDelete(partner);
}
