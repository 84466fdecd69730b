/* Direct notifications of tasks; the caller never blocks. */
#include "helpers.h"

void measure_notifications(void)
{
    uint32_t count;

    MEASURE(SERVICE_XTASKNOTIFYGIVE, (void)xTaskNotifyGive(driver_handle));
    MEASURE(SERVICE_ULTASKNOTIFYTAKE, count = ulTaskNotifyTake(pdTRUE, 0));
    CHECK(count == 1);

    /* A more urgent task waits: it is readied and runs before the call returns. */
    helpers_start(1);
    MEASURE(SERVICE_XTASKNOTIFYGIVE_WAITER, (void)xTaskNotifyGive(helper_handle(0)));
    helpers_stop();
}
