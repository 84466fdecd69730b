/* Direct notifications of tasks; the caller never blocks. */
#include "board.h"
#include "helpers.h"

static uint32_t previous CALLER_DATA;

/* Worst of the actions, but for setting bits: the value is set only if the task has not been notified
 * before. */
static void measure_notify(void)
{
    BaseType_t result;

    (void)xTaskNotifyStateClear(driver_handle);
    MEASURE(SERVICE_XTASKNOTIFYANDQUERY_BITS,
            result = xTaskNotifyAndQuery(driver_handle, 5, eSetBits, &previous));
    CHECK(result == pdPASS);
    (void)xTaskNotify(driver_handle, 7, eSetValueWithOverwrite);
    (void)ulTaskNotifyTake(pdTRUE, 0);
    MEASURE(SERVICE_XTASKNOTIFYANDQUERY,
            result = xTaskNotifyAndQuery(driver_handle, 5, eSetValueWithoutOverwrite, &previous));
    CHECK(result == pdPASS && previous == 0);
    /* There is one now. */
    MEASURE(SERVICE_XTASKNOTIFYANDQUERY_FAILS,
            result = xTaskNotifyAndQuery(driver_handle, 6, eSetValueWithoutOverwrite, &previous));
    CHECK(result == pdFAIL && previous == 5);
    MEASURE(SERVICE_XTASKNOTIFYWAIT, result = xTaskNotifyWait(0, UINT32_MAX, &previous, 0));
    CHECK(result == pdTRUE && previous == 5);

    (void)xTaskNotify(driver_handle, 3, eSetBits);
    MEASURE(SERVICE_ULTASKNOTIFYVALUECLEAR, previous = ulTaskNotifyValueClear(NULL, 1));
    CHECK(previous == 3);
    MEASURE(SERVICE_XTASKNOTIFYSTATECLEAR, result = xTaskNotifyStateClear(NULL));
    CHECK(result == pdTRUE);
    if (MORE_STATES(2) == 2) {
        /* There is none any more. */
        MEASURE(SERVICE_XTASKNOTIFYSTATECLEAR, result = xTaskNotifyStateClear(NULL));
        CHECK(result == pdFALSE);
    }
    (void)ulTaskNotifyValueClear(NULL, UINT32_MAX);
    MEASURE(SERVICE_ULTASKNOTIFYTAKE_NONE, previous = ulTaskNotifyTake(pdTRUE, 0));
    CHECK(previous == 0);
    previous = 1;
    MEASURE(SERVICE_XTASKNOTIFYWAIT_NONE, result = xTaskNotifyWait(0, UINT32_MAX, &previous, 0));
    CHECK(result == pdFALSE && previous == 0);

    helpers_start(1);
    MEASURE(SERVICE_XTASKNOTIFYANDQUERY_WAITER,
            result = xTaskNotifyAndQuery(helper_handle(0), 5, eSetValueWithoutOverwrite,
                                         &previous));
    CHECK(result == pdPASS && previous == 0);
    MEASURE(SERVICE_XTASKNOTIFYANDQUERY_BITS_WAITER,
            result = xTaskNotifyAndQuery(helper_handle(0), 5, eSetBits, &previous));
    CHECK(result == pdPASS);
    helpers_stop();
}

static void set_bits_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XTASKNOTIFYFROMISR_BITS_WAITER,
            result = xTaskNotifyAndQueryFromISR(helper_handle(0), 5, eSetBits, &previous, &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

static void notify_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XTASKNOTIFYFROMISR_WAITER,
            result = xTaskNotifyAndQueryFromISR(helper_handle(0), 5, eSetValueWithoutOverwrite,
                                                &previous, &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

/* The driver does not wait. */
static void plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XTASKNOTIFYFROMISR,
            result = xTaskNotifyAndQueryFromISR(driver_handle, 5, eSetValueWithoutOverwrite,
                                                &previous, &woken));
    CHECK(result == pdPASS && previous == 0);
    MEASURE(SERVICE_XTASKNOTIFYFROMISR_FAILS,
            result = xTaskNotifyAndQueryFromISR(driver_handle, 6, eSetValueWithoutOverwrite,
                                                &previous, &woken));
    CHECK(result == pdFAIL && previous == 5);
    MEASURE(SERVICE_VTASKNOTIFYGIVEFROMISR, vTaskNotifyGiveFromISR(driver_handle, &woken));
    MEASURE(SERVICE_XTASKNOTIFYFROMISR_BITS,
            result = xTaskNotifyAndQueryFromISR(driver_handle, 8, eSetBits, &previous, &woken));
    CHECK(result == pdPASS && previous == 6 && woken == pdFALSE);
}

static void give_from_isr(void)
{
    BaseType_t woken = pdFALSE;

    MEASURE(SERVICE_VTASKNOTIFYGIVEFROMISR_WAITER,
            vTaskNotifyGiveFromISR(helper_handle(0), &woken));
    CHECK(woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

static void measure_from_isr(void)
{
    helpers_start(1);
    driver_on_interrupt = notify_from_isr;
    board_interrupt();
    driver_on_interrupt = set_bits_from_isr;
    board_interrupt();
    driver_on_interrupt = give_from_isr;
    board_interrupt();
    driver_on_interrupt = plain_from_isr;
    board_interrupt();
    CHECK(ulTaskNotifyTake(pdTRUE, 0) == 14);
    driver_on_interrupt = NULL;
    helpers_stop();
}

void measure_notifications(void)
{
    uint32_t count;

    MEASURE(SERVICE_XTASKNOTIFYGIVE, (void)xTaskNotifyGive(driver_handle));
    MEASURE(SERVICE_ULTASKNOTIFYTAKE, count = ulTaskNotifyTake(pdFALSE, 0));
    CHECK(count == 1);

    /* A more urgent task waits: it is readied and runs before the call returns. */
    helpers_start(1);
    MEASURE(SERVICE_XTASKNOTIFYGIVE_WAITER, (void)xTaskNotifyGive(helper_handle(0)));
    helpers_stop();

    if (DRIVER_WHOLE) {
        measure_notify();
        measure_from_isr();
    }
}
