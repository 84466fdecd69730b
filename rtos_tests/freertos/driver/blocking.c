/* Calls that block; the caller sleeps inside them. */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "helpers.h"

static BaseType_t resumes_the_driver(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    vTaskResume(driver_handle);
    return pdPASS;
}

/* Worst: the caller is alone at its priority; another task is delayed, so that the next unblock time
 * is set anew. */
static void measure_suspend(void)
{
    helpers_start(1);
    helper_call(0, resumes_the_driver, NULL);
    MEASURE(SERVICE_VTASKSUSPEND_OWN, vTaskSuspend(NULL));
    CHECK(!helper_busy(0));
    helpers_stop();
}

/* Worst: as for vTaskDelay. */
static void measure_delay_until(void)
{
    static TickType_t wake CALLER_DATA;
    BaseType_t delayed;

    for (unsigned others = 1; others <= DELAYED_MAX; others++) {
        const TickType_t before = xTaskGetTickCount();

        helpers_start(others);
        for (unsigned i = 0; i < others; i++)
            helper_delay(i, 1 + i % 2);
        wake = before - 1;
        wcet_param(0, others);
        MEASURE(SERVICE_XTASKDELAYUNTIL, delayed = xTaskDelayUntil(&wake, 3));
        CHECK(delayed == pdTRUE && xTaskGetTickCount() == before + 2 && wake == before + 2);
        for (unsigned i = 0; i < others; i++)
            CHECK(!helper_busy(i));
        helpers_stop();
    }
    wake = xTaskGetTickCount() - 5;
    MEASURE(SERVICE_XTASKDELAYUNTIL_LATE, delayed = xTaskDelayUntil(&wake, 3));
    CHECK(delayed == pdFALSE);
}

void measure_blocking(void)
{
    measure_suspend();
    measure_delay_until();
}

#endif
