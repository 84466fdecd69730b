/* Direct notifications of tasks; the caller never blocks. */
#include "board.h"
#include "helpers.h"

static uint32_t previous CALLER_DATA;

/* Which of the actions, and of the ways to call, takes longest is the core's: those that set the value, and those
 * that change it, which are services of their own. */
static const eNotifyAction sets[] = {eSetValueWithoutOverwrite, eSetValueWithOverwrite, eNoAction};
static const eNotifyAction changes[] = {eSetBits, eIncrement};
#define WAYS_TO_SET 3u
#define WAYS_TO_CHANGE 2u
static unsigned now;

/* The same once more after those, and the former value is not asked for. */
#define NOT_ASKED 77u
static eNotifyAction action;
static uint32_t *asked; /* where the former value goes to, or a null pointer */

static void mark_way(unsigned way, const eNotifyAction *actions, unsigned ways)
{
    action = actions[way % ways];
    asked = way < ways ? &previous : NULL;
    previous = NOT_ASKED;
    wcet_param(0, way);
}

static int was_none(void)
{
    return previous == (asked != NULL ? 0 : NOT_ASKED);
}

/* As it is: not notified, of the value 0. */
static void forget(TaskHandle_t task)
{
    (void)xTaskNotifyStateClear(task);
    (void)ulTaskNotifyValueClear(task, UINT32_MAX);
}

static void measure_notify(void)
{
    BaseType_t result;

    for (unsigned way = 0; way < 2 * WAYS_TO_CHANGE; way++) {
        forget(driver_handle);
        mark_way(way, changes, WAYS_TO_CHANGE);
        MEASURE(SERVICE_XTASKNOTIFYANDQUERY_BITS,
                result = xTaskNotifyAndQuery(driver_handle, 5, action, asked));
        CHECK(result == pdPASS && was_none());
    }
    for (unsigned way = 0; way < 2 * WAYS_TO_SET; way++) {
        forget(driver_handle);
        mark_way(way, sets, WAYS_TO_SET);
        MEASURE(SERVICE_XTASKNOTIFYANDQUERY,
                result = xTaskNotifyAndQuery(driver_handle, 5, action, asked));
        CHECK(result == pdPASS && was_none());
    }
    (void)xTaskNotify(driver_handle, 5, eSetValueWithOverwrite);
    /* There is one now. */
    for (unsigned way = 0; way < 2; way++) {
        mark_way(way, sets, 1);
        MEASURE(SERVICE_XTASKNOTIFYANDQUERY_FAILS,
                result = xTaskNotifyAndQuery(driver_handle, 6, action, asked));
        CHECK(result == pdFAIL && previous == (way == 0 ? 5 : NOT_ASKED));
    }
    /* The caller would wait, or would not. */
    for (unsigned state = 0; state < 2; state++) {
        (void)xTaskNotify(driver_handle, 5, eSetValueWithOverwrite);
        wcet_param(0, state);
        MEASURE(SERVICE_XTASKNOTIFYWAIT,
                result = xTaskNotifyWait(0, UINT32_MAX, &previous, state == 0 ? 0 : portMAX_DELAY));
        CHECK(result == pdTRUE && previous == 5);
    }

    (void)xTaskNotify(driver_handle, 3, eSetBits);
    MEASURE(SERVICE_ULTASKNOTIFYVALUECLEAR, previous = ulTaskNotifyValueClear(NULL, 1));
    CHECK(previous == 3);
    /* There is one, then there is none any more. */
    for (unsigned state = 0; state < 2; state++) {
        wcet_param(0, state);
        MEASURE(SERVICE_XTASKNOTIFYSTATECLEAR, result = xTaskNotifyStateClear(NULL));
        CHECK(result == (state == 0));
    }
    (void)ulTaskNotifyValueClear(NULL, UINT32_MAX);
    MEASURE(SERVICE_ULTASKNOTIFYTAKE_NONE, previous = ulTaskNotifyTake(pdTRUE, 0));
    CHECK(previous == 0);
    previous = 1;
    MEASURE(SERVICE_XTASKNOTIFYWAIT_NONE, result = xTaskNotifyWait(0, UINT32_MAX, &previous, 0));
    CHECK(result == pdFALSE && previous == 0);
}

static BaseType_t waits(void *unused)
{
    (void)unused;
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    return pdTRUE;
}

/* A task waits for a notification, which is more urgent than the caller, or not: then no switch follows. */
static void wait_for_one(int urgent)
{
    helper_call(0, waits, NULL);
    forget(helper_handle(0));
    vTaskPrioritySet(helper_handle(0), urgent ? helper_priority(0) : PRIORITY_CREATED);
}

static void check_notified(int urgent)
{
    CHECK(helper_busy(0) == !urgent);
    vTaskPrioritySet(helper_handle(0), helper_priority(0));
    CHECK(!helper_busy(0));
}

static void measure_notify_waiter(void)
{
    BaseType_t result;

    for (int urgent = 0; urgent <= 1; urgent++) {
        for (unsigned way = 0; way < 2 * WAYS_TO_SET; way++) {
            wait_for_one(urgent);
            mark_way(way, sets, WAYS_TO_SET);
            if (urgent)
                MEASURE(SERVICE_XTASKNOTIFYANDQUERY_WAITER,
                        result = xTaskNotifyAndQuery(helper_handle(0), 5, action, asked));
            else
                MEASURE(SERVICE_XTASKNOTIFYANDQUERY_WAITER_LESS_URGENT,
                        result = xTaskNotifyAndQuery(helper_handle(0), 5, action, asked));
            CHECK(result == pdPASS && was_none());
            check_notified(urgent);
        }
        for (unsigned way = 0; way < 2 * WAYS_TO_CHANGE; way++) {
            wait_for_one(urgent);
            mark_way(way, changes, WAYS_TO_CHANGE);
            if (urgent)
                MEASURE(SERVICE_XTASKNOTIFYANDQUERY_BITS_WAITER,
                        result = xTaskNotifyAndQuery(helper_handle(0), 5, action, asked));
            else
                MEASURE(SERVICE_XTASKNOTIFYANDQUERY_BITS_WAITER_LESS_URGENT,
                        result = xTaskNotifyAndQuery(helper_handle(0), 5, action, asked));
            CHECK(result == pdPASS && was_none());
            check_notified(urgent);
        }
    }
    wait_for_one(0);
    MEASURE(SERVICE_XTASKNOTIFYGIVE_WAITER_LESS_URGENT, (void)xTaskNotifyGive(helper_handle(0)));
    check_notified(0);
}

static unsigned urgency; /* of the task that an interrupt wakes */

static void set_bits_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    mark_way(now, changes, WAYS_TO_CHANGE);
    wcet_param(1, urgency);
    MEASURE(SERVICE_XTASKNOTIFYFROMISR_BITS_WAITER,
            result = xTaskNotifyAndQueryFromISR(helper_handle(0), 5, action, asked, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD) && was_none());
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void notify_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    mark_way(now, sets, WAYS_TO_SET);
    wcet_param(1, urgency);
    MEASURE(SERVICE_XTASKNOTIFYFROMISR_WAITER,
            result = xTaskNotifyAndQueryFromISR(helper_handle(0), 5, action, asked, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD) && was_none());
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

/* The driver does not wait. */
static void plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    mark_way(now, sets, WAYS_TO_SET);
    MEASURE(SERVICE_XTASKNOTIFYFROMISR,
            result = xTaskNotifyAndQueryFromISR(driver_handle, 5, action, asked, &woken));
    CHECK(result == pdPASS && woken == pdFALSE && was_none());
}

static void change_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    mark_way(now, changes, WAYS_TO_CHANGE);
    MEASURE(SERVICE_XTASKNOTIFYFROMISR_BITS,
            result = xTaskNotifyAndQueryFromISR(driver_handle, 8, action, asked, &woken));
    CHECK(result == pdPASS && woken == pdFALSE && was_none());
}

/* There is one, of the value 1, to which one is added first. */
static void plain_fails_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_VTASKNOTIFYGIVEFROMISR, vTaskNotifyGiveFromISR(driver_handle, &woken));
    for (unsigned way = 0; way < 2; way++) {
        mark_way(way, sets, 1);
        MEASURE(SERVICE_XTASKNOTIFYFROMISR_FAILS,
                result = xTaskNotifyAndQueryFromISR(driver_handle, 6, action, asked, &woken));
        CHECK(result == pdFAIL && woken == pdFALSE && previous == (way == 0 ? 2 : NOT_ASKED));
    }
}

static void give_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);

    wcet_param(0, urgency);
    MEASURE(SERVICE_VTASKNOTIFYGIVEFROMISR_WAITER,
            vTaskNotifyGiveFromISR(helper_handle(0), told));
    CHECK(woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void wait_for_interrupt(void (*function)(void))
{
    wait_for_one(urgency != STAYS);
    in_interrupt(function);
    check_notified(urgency != STAYS);
}

static void measure_from_isr(void)
{
    helpers_start(1);
    for (urgency = 0; urgency < ISR_STATES; urgency++) {
        for (now = 0; now < 2 * WAYS_TO_SET; now++)
            wait_for_interrupt(notify_from_isr);
        for (now = 0; now < 2 * WAYS_TO_CHANGE; now++)
            wait_for_interrupt(set_bits_from_isr);
        wait_for_interrupt(give_from_isr);
    }
    for (now = 0; now < 2 * WAYS_TO_SET; now++) {
        forget(driver_handle);
        in_interrupt(plain_from_isr);
    }
    for (now = 0; now < 2 * WAYS_TO_CHANGE; now++) {
        forget(driver_handle);
        in_interrupt(change_from_isr);
    }
    in_interrupt(plain_fails_from_isr);
    forget(driver_handle);
    measure_notify_waiter();
    helpers_stop();
}

void measure_notifications(void)
{
    uint32_t count;

    MEASURE(SERVICE_XTASKNOTIFYGIVE, (void)xTaskNotifyGive(driver_handle));
    /* Is the count cleared, and would the caller wait? */
    for (unsigned state = 0; state < 4; state++) {
        wcet_param(0, state);
        MEASURE(SERVICE_ULTASKNOTIFYTAKE,
                count = ulTaskNotifyTake(state & 1 ? pdTRUE : pdFALSE, state & 2 ? portMAX_DELAY : 0));
        CHECK(count == 1);
        (void)xTaskNotifyGive(driver_handle);
    }
    (void)ulTaskNotifyTake(pdTRUE, 0);

    /* A more urgent task waits: it is readied and runs before the call returns. */
    for (unsigned readying = 0; readying < READYING_STATES; readying++) {
        helpers_start_readying(1, readying);
        MARK_READYING(0, readying);
        MEASURE(SERVICE_XTASKNOTIFYGIVE_WAITER, (void)xTaskNotifyGive(helper_handle(0)));
        helpers_stop();
    }

    if (DRIVER_WHOLE) {
        measure_notify();
        measure_from_isr();
    }
}
